/* A job of one PE, in the test's own process or in a child that may end. */
#ifndef UNIT_SHMEM_PE_H
#define UNIT_SHMEM_PE_H

#include "shmem/state.h"
#include "unit/child.h"

/* Room for addresses is scarce in emulators and under sanitizers. */
static inline void pe_start(void)
{
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    shmem_init();
}

static inline void pe_start_with_debug(void)
{
    (void)setenv("SHMEM_DEBUG", "1", 1);
    pe_start();
}

/* For cmocka_run_group_tests. Tests that end children run before, in a group of their own. */
static inline int pe_group_start(void **unused)
{
    (void)unused;
    pe_start();
    return shmem_n_pes() == 1 ? 0 : -1;
}

static inline int pe_group_stop(void **unused)
{
    (void)unused;
    shmem_finalize();
    return 0;
}

/* Runs both groups; not 0: something failed. */
#define PE_RUN(ENDING, TESTS)                                   \
    (cmocka_run_group_tests_name(#ENDING, ENDING, NULL, NULL) + \
     cmocka_run_group_tests_name(#TESTS, TESTS, pe_group_start, pe_group_stop))

#endif
