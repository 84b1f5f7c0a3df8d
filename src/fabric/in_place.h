/* The road in place, on every fabric that has it: this CPU reaches the peer's memory and runs the
 * NIC's part itself.
 *
 * Each operation resolves the address, does its work with C11 atomics or one copy,
 * and then looks whether somebody sleeps at the target. Inline, because a call costs
 * as much as the work. */
#ifndef FABRIC_IN_PLACE_H
#define FABRIC_IN_PLACE_H

#include <string.h>

#include "base/killpoint.h"
#include "fabric/fabric.h"
#include "group/address.h"
#include "group/call.h"
#include "nic/memory_access.h"

/* Where a remote address lies here, for an operation that needs a right (enum dn_right; 0: none).
 * The caller's mistakes come before DN_EPEER. */
static inline int in_place_reach(const struct fabric_lane *lane, struct dn_remote remote,
                                 uint64_t bytes, uint32_t right, unsigned char **pointer)
{
    uint32_t rank = (uint32_t)remote.rank;
    if (UNLIKELY(rank >= lane->node_count)) {
        return DN_ERANK;
    }
    if (LIKELY(group_area_is_built_in(remote.area))) {
        const struct fabric_segment *segment =
            &lane->segments[rank * (uint64_t)FABRIC_SEGMENTS + remote.area];
        if (UNLIKELY(bytes > segment->bytes || remote.offset > segment->bytes - bytes)) {
            return DN_ERANGE;
        }
        *pointer = segment->base + remote.offset;
    } else {
        uint64_t offset;
        int error = group_area_find(lane->view, remote, bytes, right, &offset);
        if (error) {
            return error;
        }
        *pointer = group_node_memory(lane->view, rank) + offset;
    }
    uint64_t call = atomic_load_explicit(&lane->ports[rank].call, memory_order_relaxed);
    if (UNLIKELY((call & (GROUP_CALL_RESTRICTED | GROUP_CALL_BY_PACKETS)) &&
                 group_area_is_built_in(remote.area) &&
                 group_area_denies(lane->view, rank, remote.area, right))) {
        return DN_ERIGHTS;
    }
    return UNLIKELY(call & GROUP_CALL_GONE) ? DN_EPEER : 0;
}

/* The same for a word. Also DN_EALIGN. */
static inline int in_place_reach_word(const struct fabric_lane *lane, struct dn_remote remote,
                                      unsigned bytes, uint32_t right, void **word)
{
    unsigned char *pointer;
    int error = in_place_reach(lane, remote, bytes, right, &pointer);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY((uintptr_t)pointer % bytes != 0)) {
        return DN_EALIGN;
    }
    *word = pointer;
    return 0;
}

/* As in_place_reach, also for the group's memory: addresses there, which only the library names,
 * are right. */
static inline int in_place_reach_any(const struct fabric_lane *lane, struct dn_remote remote,
                                     uint64_t bytes, uint32_t right, unsigned char **pointer)
{
    if (LIKELY(remote.area != FABRIC_AREA_GROUP)) {
        return in_place_reach(lane, remote, bytes, right, pointer);
    }
    *pointer = (unsigned char *)lane->view->group + remote.offset;
    uint64_t call = atomic_load_explicit(&lane->ports[remote.rank].call, memory_order_relaxed);
    return call & GROUP_CALL_GONE ? DN_EPEER : 0;
}

/* Where a quick operation works, and the port to look at afterwards. */
struct in_place_target {
    unsigned char *pointer;
    const struct group_port *port;
};

/* The ordinary case of in_place_reach without a call, a spilled register or a branch too
 * many (before a locked instruction each shows). False: it is not the ordinary case, and
 * in_place_reach decides. */
static inline bool in_place_quick(const struct fabric_lane *lane, struct dn_remote remote,
                                  uint64_t bytes, struct in_place_target *place)
{
    uint32_t rank = (uint32_t)remote.rank;
    if (UNLIKELY(rank >= lane->quick_count || !group_area_is_built_in(remote.area))) {
        return false;
    }
    const struct fabric_segment *segment =
        &lane->segments[rank * (uint64_t)FABRIC_SEGMENTS + remote.area];
    place->port = &lane->ports[rank];
    /* A segment has at least a page, so for a word the compiler drops the first test. */
    if (UNLIKELY((bytes > FABRIC_SEGMENT_BYTES_MIN && bytes > segment->bytes) ||
                 remote.offset > segment->bytes - bytes ||
                 (atomic_load_explicit(&place->port->call, memory_order_relaxed) &
                  (GROUP_CALL_GONE | GROUP_CALL_BY_PACKETS | GROUP_CALL_RESTRICTED)))) {
        return false;
    }
    place->pointer = segment->base + remote.offset;
    return true;
}

/* After a write: wakes the target's sleepers, if any watches what was written. */
static inline void in_place_notify(const struct fabric_lane *lane, int rank, const void *written,
                                   uint64_t bytes)
{
    if (UNLIKELY(atomic_load_explicit(&lane->ports[rank].call, memory_order_relaxed) &
                 GROUP_CALL_WATCHING)) {
        fabric_wake_watching(lane->view, (uint32_t)rank, written, bytes);
    }
}

static inline int in_place_put_signal(struct fabric_lane *lane, struct dn_remote remote,
                                      const void *source, size_t bytes, struct dn_remote flag,
                                      uint64_t value)
{
    unsigned char *target;
    unsigned char *signal;
    int error = in_place_reach(lane, remote, bytes, DN_WRITE, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    error = in_place_reach(lane, flag, sizeof value, DN_WRITE, &signal);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY((uintptr_t)signal % sizeof value != 0)) {
        return DN_EALIGN;
    }
    KILL_POINT("put_signal: nothing written");
    nic_store_block(target, source, bytes);
    KILL_POINT("put_signal: body written, flag not");
    nic_store_word(signal, value, sizeof value);
    KILL_POINT("put_signal: flag written, nobody woken");
    in_place_notify(lane, remote.rank, target, bytes);
    in_place_notify(lane, flag.rank, signal, sizeof value);
    return 0;
}

/* Fence and quiet for all that was done in place: a full fence, since what comes after may be a
 * read, which a release fence lets pass. Whoever sleeps where kicks were stored to is woken. */
static inline int in_place_fence(struct fabric_lane *lane)
{
    atomic_thread_fence(memory_order_seq_cst);
    fabric_wake_stored_to(lane);
    return 0;
}

/* Every operation on this road, done when its call returns. */
extern const struct fabric_ops in_place_ops;

#endif
