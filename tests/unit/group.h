/* A group in ordinary memory; its nodes are views of it in one process. */
#ifndef UNIT_GROUP_H
#define UNIT_GROUP_H

#include <sys/mman.h>

#include "group/memory.h"
#include "unit.h"

enum { UNIT_NODES_MAX = 80, UNIT_PAGE_BYTES = 4096 };

struct unit_group {
    struct group_memory *group;
    struct group_geometry geometry;
    struct group_view views[UNIT_NODES_MAX]; /* by rank */
};

static inline void unit_group_make_sized(struct unit_group *made, uint32_t node_count,
                                         uint32_t core_count, struct group_sizes sizes)
{
    assert_true(node_count <= UNIT_NODES_MAX);
    /* Room for addresses is scarce in emulators and under sanitizers. */
    sizes.registered_bytes = sizes.registered_bytes ? sizes.registered_bytes : UNIT_PAGE_BYTES;
    assert_int_equal(group_geometry(node_count, &sizes, UNIT_PAGE_BYTES, &made->geometry), 0);
    /* Zeros, and committed only where touched: segments lie megabytes apart. */
    void *memory = mmap(NULL, made->geometry.total_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    made->group = memory;
    const struct group_facts facts = {core_count, made->geometry};
    group_group_init(made->group, &facts);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        group_view_make(made->group, &facts, rank, &made->views[rank]);
    }
}

static inline void unit_group_make(struct unit_group *made, uint32_t node_count,
                                   uint32_t core_count)
{
    struct group_sizes sizes = {UNIT_PAGE_BYTES, UNIT_PAGE_BYTES, UNIT_PAGE_BYTES, 0};
    unit_group_make_sized(made, node_count, core_count, sizes);
}

static inline void unit_group_free(struct unit_group *made)
{
    assert_int_equal(munmap(made->group, made->geometry.total_bytes), 0);
}

#endif
