/* What the programs with the patterns of the specification's examples share: names that are without
 * a type in C11 and C++, and typed in C99; and a table of checks. */
#ifndef LIVE_SHMEM_SPEC_PATTERNS_H
#define LIVE_SHMEM_SPEC_PATTERNS_H

#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define ON(TYPE, NAME) shmem_##NAME
#define ON_CTX(TYPE, NAME) shmem_##NAME
#define SYNC_TEAM shmem_sync
#else
#define ON(TYPE, NAME) shmem_##TYPE##_##NAME
#define ON_CTX(TYPE, NAME) shmem_ctx_##TYPE##_##NAME
#define SYNC_TEAM shmem_team_sync
#endif

enum { PES_MOST = 16 };

static int me;
static int pes;
static const char *check;

static inline void require_at(int holds, int line, const char *what)
{
    if (!holds) {
        printf("FAIL %s: PE %d of %d, line %d: %s\n", check, me, pes, line, what);
        fflush(stdout);
        shmem_global_exit(1);
    }
}
#define require(...) require_at((__VA_ARGS__) ? 1 : 0, __LINE__, #__VA_ARGS__)

static inline int right(void)
{
    return (me + 1) % pes;
}

static inline int left(void)
{
    return (me + pes - 1) % pes;
}

/* Symmetric memory of zeros. */
static inline void *zeros(size_t count, size_t size)
{
    void *memory = shmem_calloc(count, size);
    require(memory != NULL);
    return memory;
}

struct pattern {
    const char *name;
    void (*run)(void);
};
#define PATTERN(NAME) \
    {                 \
#NAME, NAME   \
    }

static inline int patterns_main(const struct pattern *patterns, size_t count)
{
    int level;
    check = "start";
    require(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0);
    require(level == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    require(pes <= PES_MOST);
    for (size_t i = 0; i < count; i++) {
        check = patterns[i].name;
        shmem_barrier_all();
        patterns[i].run();
        shmem_barrier_all();
    }
    if (me == 0) {
        printf("ok all patterns\n");
    }
    shmem_finalize();
    return 0;
}

#endif
