/* A group with a lock in it. Includes the lock's source itself, so that the test can step in at
 * every kill point: a requester dies there, or another takes its turn. */
#ifndef UNIT_NIC_LOCK_GROUP_H
#define UNIT_NIC_LOCK_GROUP_H

#define BASE_KILLPOINT_H
#define KILL_POINT(name) step(name)
static void step(const char *name);

#include "unit/group.h"

#include <stdlib.h>

#include "group/lock.c"

enum { NODES = 6 };

static struct unit_group made;
static _Atomic uint64_t *word; /* the lock, in node 0's LLCM */
static struct group_lock locks[NODES];

static inline struct group_lock make_requester(uint32_t rank, uint32_t index)
{
    return (struct group_lock){.view = &made.views[rank],
                               .last_proc = word,
                               .record = group_lock_record(&made.views[rank], rank, index),
                               .record_index = index};
}

static inline int make_group(void **state)
{
    (void)state;
    unit_group_make(&made, NODES, 2);
    word = (_Atomic uint64_t *)(void *)group_segment(&made.views[0], 0, DN_LLCM);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        locks[rank] = make_requester(rank, 3 * rank);
        assert_true(group_life_attach(&made.views[rank]));
    }
    return 0;
}

static inline int free_group(void **state)
{
    (void)state;
    unit_group_free(&made);
    return 0;
}

#endif
