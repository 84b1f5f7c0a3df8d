/* The address side of a port: registered areas by name and generation, and the check
 * that every remote address passes. An area's name is generation << 8 | slot; the
 * built-in areas are slots 1 to 3 of generation 0. */
#ifndef GROUP_ADDRESS_H
#define GROUP_ADDRESS_H

#include "group/memory.h"

#define GROUP_AREA_SLOT_BITS 8
#define GROUP_AREA_GENERATIONS (UINT32_C(1) << (32 - GROUP_AREA_SLOT_BITS))
_Static_assert(GROUP_AREAS == 1 << GROUP_AREA_SLOT_BITS, "a slot number fills its bits");

static inline bool group_area_is_built_in(uint32_t area)
{
    return area - 1 < GROUP_AREA_FIRST_FREE - 1;
}

/* The owner's side; offset is from the start of the node's memory, and others do not have the
 * rights in `denied`. One caller at a time. DN_EFULL: no slot is free. */
int group_area_register(const struct group_view *view, uint64_t offset, uint64_t bytes,
                        uint32_t denied, uint32_t *area);
/* Whether group_area_register would return DN_EFULL. */
bool group_area_table_is_full(const struct group_view *view);
/* DN_EAREA for a name that was never given out, DN_ESTALE for one taken back. */
int group_area_deregister(const struct group_view *view, uint32_t area);

/* The owner takes rights away from others, or gives them back, in a built-in area or a registered
 * one. One caller at a time. DN_EAREA, DN_ESTALE. */
int group_area_restrict(const struct group_view *view, uint32_t area, uint32_t denied);

/* ---- The side of everybody else ------------------------------------------------------- */

/* What a registered area is. */
struct group_area_extent {
    uint64_t offset; /* from the start of the node's memory */
    uint64_t bytes;
    uint32_t denied;
};

/* DN_EAREA, DN_ESTALE, or DN_EGROUP when the entry makes no sense. */
int group_area_look(const struct group_view *view, uint32_t rank, uint32_t area,
                    struct group_area_extent *extent);

/* Where a remote address of a registered area lies, from the start of the node's memory, for an
 * operation that needs a right (0: none). As group_area_look;
 * DN_ERANGE or DN_ERIGHTS. */
int group_area_find(const struct group_view *view, struct dn_remote remote, uint64_t bytes,
                    uint32_t right, uint64_t *offset);

/* Whether others are denied a right in a built-in area of that rank. The rank itself never is. */
static inline bool group_area_denies(const struct group_view *view, uint32_t rank, uint32_t area,
                                     uint32_t right)
{
    const struct group_area *entry = &view->ports[rank].areas[area];
    return (atomic_load_explicit(&entry->denied, memory_order_relaxed) & right) != 0 &&
           rank != view->rank;
}

/* The built-in area of this node that holds all of [pointer, pointer + bytes): its number and
 * the offset within it, or 0. */
uint32_t group_area_holding(const struct group_view *view, const void *pointer, uint64_t bytes,
                            uint64_t *offset);

#endif
