/* A group of one node, with shared memory or (FAGUS_FORCE_REMOTE=1) with the whole protocol. */
#ifndef UNIT_FAGUS_NODE_H
#define UNIT_FAGUS_NODE_H

#include "fagus/state.h"
#include "unit/child.h"

static inline int node_start_as(const char *force_remote)
{
    /* Room for addresses is scarce in emulators and under sanitizers. */
    (void)setenv("DN_HEAP_BYTES", "67108864", 1);
    (void)setenv("FAGUS_FORCE_REMOTE", force_remote, 1);
    return fagus_init();
}

static inline int node_start_shared(void **unused)
{
    (void)unused;
    return node_start_as("0");
}

static inline int node_start_remote(void **unused)
{
    (void)unused;
    return node_start_as("1");
}

static inline int node_stop(void **unused)
{
    (void)unused;
    return fagus_finalize();
}

/* Runs the tests in both modes; not 0: something failed. */
#define NODE_RUN(TESTS)                                                           \
    (cmocka_run_group_tests_name("shared", TESTS, node_start_shared, node_stop) + \
     cmocka_run_group_tests_name("remote", TESTS, node_start_remote, node_stop))

/* Some pages of shared memory. */
static inline unsigned char *node_alloc(size_t bytes)
{
    void *pointer = NULL;
    assert_int_equal(fagus_alloc(bytes, 0, &pointer), 0);
    return pointer;
}

#endif
