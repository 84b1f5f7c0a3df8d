/* Area tables: registering, taking back, looking up. */
#include "group/address.h"

#include "base/killpoint.h"
#include "group/call.h"

#define IN_USE 1u

/* A slot whose generations are used up retires: a name is never given twice. */
static bool is_usable(uint32_t state)
{
    return !(state & IN_USE) && (state >> 1) + 1 != GROUP_AREA_GENERATIONS;
}

bool group_area_table_is_full(const struct group_view *view)
{
    struct group_area *areas = view->ports[view->rank].areas;
    for (uint32_t slot = GROUP_AREA_FIRST_FREE; slot < GROUP_AREAS; slot++) {
        if (is_usable(atomic_load_explicit(&areas[slot].state, memory_order_relaxed))) {
            return false;
        }
    }
    return true;
}

int group_area_register(const struct group_view *view, uint64_t offset, uint64_t bytes,
                        uint32_t denied, uint32_t *area)
{
    struct group_area *areas = view->ports[view->rank].areas;
    for (uint32_t slot = GROUP_AREA_FIRST_FREE; slot < GROUP_AREAS; slot++) {
        uint32_t state = atomic_load_explicit(&areas[slot].state, memory_order_relaxed);
        uint32_t generation = (state >> 1) + 1;
        if (!is_usable(state)) {
            continue;
        }
        KILL_POINT("register: slot found");
        /* Pairs with the fence in group_area_look: a reader of these fields also finds that
         * the registration before them was taken back. The fence stands here and not in
         * group_area_deregister, because another thread may have called that. */
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&areas[slot].denied, denied, memory_order_relaxed);
        atomic_store_explicit(&areas[slot].offset, offset, memory_order_relaxed);
        KILL_POINT("register: offset written");
        atomic_store_explicit(&areas[slot].bytes, bytes, memory_order_relaxed);
        KILL_POINT("register: fields written");
        /* Release: pairs with the acquire in group_area_look. */
        atomic_store_explicit(&areas[slot].state, generation << 1 | IN_USE, memory_order_release);
        KILL_POINT("register: published");
        *area = generation << GROUP_AREA_SLOT_BITS | slot;
        return 0;
    }
    return DN_EFULL;
}

/* 0, DN_EAREA or DN_ESTALE for a name, given its slot's state. */
static int judge(uint32_t area, uint32_t state)
{
    uint32_t slot = area % GROUP_AREAS;
    uint32_t generation = area >> GROUP_AREA_SLOT_BITS;
    if (slot < GROUP_AREA_FIRST_FREE || generation == 0 || generation > state >> 1) {
        return DN_EAREA;
    }
    return state == (generation << 1 | IN_USE) ? 0 : DN_ESTALE;
}

int group_area_deregister(const struct group_view *view, uint32_t area)
{
    struct group_area *entry = &view->ports[view->rank].areas[area % GROUP_AREAS];
    uint32_t state = atomic_load_explicit(&entry->state, memory_order_relaxed);
    int error = judge(area, state);
    if (error == 0) {
        KILL_POINT("deregister: still published");
        atomic_store_explicit(&entry->state, state & ~IN_USE, memory_order_relaxed);
        KILL_POINT("deregister: taken back");
    }
    return error;
}

/* Tells senders in place, by a bit of the call word, to look at the rights before they write.
 * Relaxed: whoever hears of the change from the owner sees it. */
static void mark_restricted(const struct group_view *view)
{
    struct group_port *port = &view->ports[view->rank];
    uint32_t denied = 0;
    for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
        denied |= atomic_load_explicit(&port->areas[area].denied, memory_order_relaxed);
    }
    if (denied) {
        atomic_fetch_or_explicit(&port->call, GROUP_CALL_RESTRICTED, memory_order_relaxed);
    } else {
        atomic_fetch_and_explicit(&port->call, ~GROUP_CALL_RESTRICTED, memory_order_relaxed);
    }
}

int group_area_restrict(const struct group_view *view, uint32_t area, uint32_t denied)
{
    struct group_area *entry = &view->ports[view->rank].areas[area % GROUP_AREAS];
    bool is_built_in = group_area_is_built_in(area);
    int error = is_built_in
                    ? 0
                    : judge(area, atomic_load_explicit(&entry->state, memory_order_relaxed));
    if (!error) {
        atomic_store_explicit(&entry->denied, denied, memory_order_relaxed);
        KILL_POINT("rights: changed, not marked");
    }
    if (is_built_in) {
        mark_restricted(view);
    }
    return error;
}

int group_area_look(const struct group_view *view, uint32_t rank, uint32_t area,
                    struct group_area_extent *extent)
{
    struct group_area *entry = &view->ports[rank].areas[area % GROUP_AREAS];
    /* A seqlock's reader: the fields belong to the generation when the state is the
     * same before and after. The acquire pairs with the release in
     * group_area_register, the fence with the fence there. */
    uint32_t state = atomic_load_explicit(&entry->state, memory_order_acquire);
    int error = judge(area, state);
    if (error) {
        return error;
    }
    *extent = (struct group_area_extent){
        .offset = atomic_load_explicit(&entry->offset, memory_order_relaxed),
        .bytes = atomic_load_explicit(&entry->bytes, memory_order_relaxed),
        .denied = atomic_load_explicit(&entry->denied, memory_order_relaxed),
    };
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->state, memory_order_relaxed) != state) {
        return DN_ESTALE;
    }
    /* The owner keeps areas in its own memory; others can write the entry. */
    uint64_t stride = view->node_stride_bytes;
    return LIKELY(extent->bytes <= stride && extent->offset <= stride - extent->bytes) ? 0
                                                                                       : DN_EGROUP;
}

int group_area_find(const struct group_view *view, struct dn_remote remote, uint64_t bytes,
                    uint32_t right, uint64_t *offset)
{
    struct group_area_extent extent;
    int error = group_area_look(view, (uint32_t)remote.rank, remote.area, &extent);
    if (error) {
        return error;
    }
    if (bytes > extent.bytes || remote.offset > extent.bytes - bytes) {
        return DN_ERANGE;
    }
    if ((extent.denied & right) != 0 && (uint32_t)remote.rank != view->rank) {
        return DN_ERIGHTS;
    }
    *offset = extent.offset + remote.offset;
    return 0;
}

uint32_t group_area_holding(const struct group_view *view, const void *pointer, uint64_t bytes,
                            uint64_t *offset)
{
    for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
        uintptr_t start = (uintptr_t)group_segment(view, view->rank, area);
        uint64_t length = group_segment_bytes(view, area);
        uintptr_t distance = (uintptr_t)pointer - start;
        /* The end of a segment may be the start of the next one, and belongs to that one. */
        if ((uintptr_t)pointer >= start && distance < length && bytes <= length - distance) {
            *offset = distance;
            return area;
        }
    }
    return 0;
}
