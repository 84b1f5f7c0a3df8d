/* What every test of the OpenSHMEM specification starts with: live.h's table of checks, run
 * by PEs. A program is written against shmem.h alone. */
#ifndef LIVE_SHMEM_SPEC_H
#define LIVE_SHMEM_SPEC_H

#include <shmem.h>

#include "live/live.h"

static inline void spec_run(const struct live_check *check)
{
    me.check = check->name;
    shmem_barrier_all();
    check->run();
    shmem_barrier_all();
    live_say_ok();
}

static inline void spec_begin(void)
{
    const char *seed = getenv("DN_TEST_SEED");
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    me.rank = shmem_my_pe();
    me.size = shmem_n_pes();
}

/* Waits until a PE has complained; live_late_group of live.bash says so by a file. */
static inline void spec_come_late(void)
{
    const char *said = getenv("LIVE_SAID");
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (said && access(said, F_OK) != 0 && live_now_ns() < deadline_ns) {
        live_sleep_ns(10 * LIVE_MS);
    }
}

/* All checks, or the one that the command line names. */
static inline int spec_main(int argc, char **argv, const struct live_check *checks, size_t count)
{
    if (live_list(argc, argv, checks, count)) {
        return 0;
    }
    shmem_init();
    spec_begin();
    for (size_t i = 0; i < count; i++) {
        if (live_applies(&checks[i], me.size) &&
            (argc < 2 || strcmp(argv[1], checks[i].name) == 0)) {
            spec_run(&checks[i]);
        }
    }
    me.check = "end";
    shmem_finalize();
    return 0;
}

#endif
