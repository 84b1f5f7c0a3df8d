/* What every test of Fagus starts with: live.h's table of checks, run by nodes that share
 * memory. A program is written against fagus.h alone. */
#ifndef LIVE_FAGUS_LIVE_H
#define LIVE_FAGUS_LIVE_H

#include <fagus.h>

#include "live/live.h"

static inline void fagus_expect_at(const char *file, int line, const char *call, int error,
                                   int wanted)
{
    if (error != wanted) {
        live_fail(file, line, "%s gave \"%s\", not \"%s\"", call, fagus_strerror(error),
                  fagus_strerror(wanted));
    }
}

/* A call that must return just this. */
#define fagus_expect(call, wanted) fagus_expect_at(__FILE__, __LINE__, #call, (call), (wanted))

/* Whether the nodes have one memory: no protocol. */
static inline bool fagus_nodes_share(void)
{
    const char *forced = getenv("FAGUS_FORCE_REMOTE");
    return !(forced && strcmp(forced, "1") == 0) && (!live_shares_nothing() || me.size == 1);
}

static inline void *fagus_get(size_t bytes, int placement)
{
    void *pointer = NULL;
    fagus_expect(fagus_alloc(bytes, placement, &pointer), 0);
    require(pointer != NULL);
    return pointer;
}

/* A variable that is bound to these bytes, if any. */
static inline struct fagus_sync *fagus_bound_to(void *pointer, size_t bytes)
{
    struct fagus_sync *sync = NULL;
    fagus_expect(fagus_sync_create(&sync), 0);
    if (bytes) {
        fagus_expect(fagus_bind(sync, pointer, bytes), 0);
    }
    return sync;
}

static inline void fagus_meet(void)
{
    fagus_expect(fagus_barrier(NULL), 0);
}

static inline void fagus_begin(void)
{
    const char *seed = getenv("DN_TEST_SEED");
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    fagus_expect(fagus_init(), 0);
    me.rank = fagus_rank();
    me.size = fagus_size();
}

static inline void fagus_run(const struct live_check *check)
{
    me.check = check->name;
    fagus_expect(comm_sync(), 0);
    check->run();
    fagus_expect(comm_sync(), 0);
    live_say_ok();
}

/* All checks, or the one that the command line names. */
static inline int fagus_main(int argc, char **argv, const struct live_check *checks, size_t count)
{
    if (live_list(argc, argv, checks, count)) {
        return 0;
    }
    fagus_begin();
    for (size_t i = 0; i < count; i++) {
        if (live_applies(&checks[i], me.size) &&
            (argc < 2 || strcmp(argv[1], checks[i].name) == 0)) {
            fagus_run(&checks[i]);
        }
    }
    me.check = "end";
    fagus_expect(fagus_finalize(), 0);
    return 0;
}

#endif
