/* Remote memory that this CPU can reach: the initiator runs the NIC's part in place.
 *
 * Each operation resolves the address, does its work with C11 atomics or one copy,
 * and then looks whether somebody sleeps at the target. Inline, because a call costs
 * as much as the work. */
#ifndef FABRIC_DIRECT_H
#define FABRIC_DIRECT_H

#include <string.h>

#include "base/killpoint.h"
#include "fabric/fabric.h"
#include "nic/address.h"
#include "nic/call.h"

/* Where a remote address lies here. The caller's mistakes come before DN_EPEER. */
static inline int direct_reach(const struct fabric_lane *lane, struct dn_remote remote,
                               uint64_t bytes, unsigned char **pointer)
{
    uint32_t rank = (uint32_t)remote.rank;
    if (UNLIKELY(rank >= lane->node_count)) {
        return DN_ERANK;
    }
    if (LIKELY(nic_area_is_built_in(remote.area))) {
        const struct fabric_segment *segment =
            &lane->segments[rank * (uint64_t)FABRIC_SEGMENTS + remote.area];
        if (UNLIKELY(bytes > segment->bytes || remote.offset > segment->bytes - bytes)) {
            return DN_ERANGE;
        }
        *pointer = segment->base + remote.offset;
    } else {
        uint64_t offset;
        int error = nic_area_find(lane->view, remote, bytes, &offset);
        if (error) {
            return error;
        }
        *pointer = nic_node_memory(lane->view, rank) + offset;
    }
    if (UNLIKELY(atomic_load_explicit(&lane->ports[rank].call, memory_order_relaxed) &
                 NIC_CALL_GONE)) {
        return DN_EPEER;
    }
    return 0;
}

/* Where a quick operation works, and the port to look at afterwards. */
struct direct_place {
    unsigned char *pointer;
    const struct nic_port *port;
};

/* The ordinary case of direct_reach without a call, a spilled register or a branch too
 * many (before a locked instruction each shows): false when there is anything to say,
 * and then direct_reach says what. */
static inline bool direct_quick(const struct fabric_lane *lane, struct dn_remote remote,
                                uint64_t bytes, struct direct_place *place)
{
    uint32_t rank = (uint32_t)remote.rank;
    if (UNLIKELY(rank >= lane->quick_count || !nic_area_is_built_in(remote.area))) {
        return false;
    }
    const struct fabric_segment *segment =
        &lane->segments[rank * (uint64_t)FABRIC_SEGMENTS + remote.area];
    place->port = &lane->ports[rank];
    /* A segment has at least a page; for a word the first test is not there. */
    if (UNLIKELY((bytes > FABRIC_SEGMENT_BYTES_MIN && bytes > segment->bytes) ||
                 remote.offset > segment->bytes - bytes ||
                 (atomic_load_explicit(&place->port->call, memory_order_relaxed) &
                  NIC_CALL_GONE))) {
        return false;
    }
    place->pointer = segment->base + remote.offset;
    return true;
}

/* After a write: wakes the target's sleepers, if any watches what was written. */
static inline void direct_notify(const struct fabric_lane *lane, int rank, const void *written,
                                 uint64_t bytes)
{
    if (UNLIKELY(atomic_load_explicit(&lane->ports[rank].call, memory_order_relaxed) &
                 NIC_CALL_WATCHING)) {
        fabric_wake_watching(lane->view, (uint32_t)rank, written, bytes);
    }
}

static inline void direct_store(unsigned char *target, uint64_t value, unsigned bytes)
{
    switch (bytes) {
    case 1: __atomic_store_n(target, (uint8_t)value, __ATOMIC_RELEASE); break;
    case 2: __atomic_store_n((uint16_t *)(void *)target, (uint16_t)value, __ATOMIC_RELEASE); break;
    case 4: __atomic_store_n((uint32_t *)(void *)target, (uint32_t)value, __ATOMIC_RELEASE); break;
    default: __atomic_store_n((uint64_t *)(void *)target, value, __ATOMIC_RELEASE); break;
    }
}

/* A block takes effect after everything before it on the lane: the release fence (no
 * instruction on x86). An aligned word goes by one store, so that a reader who polls
 * it never sees half of it. memmove, because a node may send to itself. */
static inline void direct_block(unsigned char *target, const void *source, size_t bytes)
{
    if (bytes == 8 && (uintptr_t)target % 8 == 0) {
        uint64_t value;
        memcpy(&value, source, 8);
        direct_store(target, value, 8);
    } else if (bytes == 4 && (uintptr_t)target % 4 == 0) {
        uint32_t value;
        memcpy(&value, source, 4);
        direct_store(target, value, 4);
    } else if (bytes != 0) {
        atomic_thread_fence(memory_order_release);
        memmove(target, source, bytes);
    }
}

static inline int direct_botf(const struct fabric_lane *lane, struct dn_remote remote,
                              const void *source, size_t bytes)
{
    unsigned char *target;
    int error = direct_reach(lane, remote, bytes, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    KILL_POINT("botf: nothing written");
    direct_block(target, source, bytes);
    KILL_POINT("botf: written, nobody woken");
    direct_notify(lane, remote.rank, target, bytes);
    return 0;
}

static inline int direct_put_signal(const struct fabric_lane *lane, struct dn_remote remote,
                                    const void *source, size_t bytes, struct dn_remote flag,
                                    uint64_t value)
{
    unsigned char *target;
    unsigned char *signal;
    int error = direct_reach(lane, remote, bytes, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    error = direct_reach(lane, flag, sizeof value, &signal);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY((uintptr_t)signal % sizeof value != 0)) {
        return DN_EALIGN;
    }
    KILL_POINT("put_signal: nothing written");
    direct_block(target, source, bytes);
    KILL_POINT("put_signal: body written, flag not");
    direct_store(signal, value, sizeof value);
    KILL_POINT("put_signal: flag written, nobody woken");
    direct_notify(lane, remote.rank, target, bytes);
    direct_notify(lane, flag.rank, signal, sizeof value);
    return 0;
}

static inline int direct_push(const struct fabric_lane *lane, struct dn_remote remote,
                              const void *source, size_t bytes)
{
    unsigned char *target;
    int error = direct_reach(lane, remote, bytes, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    KILL_POINT("push: nothing written");
    if (LIKELY(bytes != 0)) {
        memmove(target, source, bytes);
    }
    KILL_POINT("push: written, nobody woken");
    direct_notify(lane, remote.rank, target, bytes);
    return 0;
}

static inline int direct_pull(const struct fabric_lane *lane, struct dn_remote remote,
                              void *target, size_t bytes)
{
    unsigned char *source;
    int error = direct_reach(lane, remote, bytes, &source);
    if (UNLIKELY(error)) {
        return error;
    }
    if (LIKELY(bytes != 0)) {
        memmove(target, source, bytes);
    }
    return 0;
}

/* An atomic's word; DN_EALIGN too. */
static inline int direct_reach_word(const struct fabric_lane *lane, struct dn_remote remote,
                                    unsigned bytes, void **word)
{
    unsigned char *pointer;
    int error = direct_reach(lane, remote, bytes, &pointer);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY((uintptr_t)pointer % bytes != 0)) {
        return DN_EALIGN;
    }
    *word = pointer;
    return 0;
}

/* One operation on a word that this CPU can reach; gives the old value. Acquire and
 * release: a fetch that sees a value acquires what was ordered before it. Inlined
 * with a constant operation it is a single instruction. */
#define DIRECT_DEFINE_APPLY(suffix, type)                                                       \
    static inline type direct_apply_##suffix(type *word, enum fabric_atomic operation,          \
                                             type operand, type expected)                       \
    {                                                                                           \
        switch (operation) {                                                                    \
        case FABRIC_ADD: return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);            \
        case FABRIC_AND: return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);            \
        case FABRIC_OR: return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);              \
        case FABRIC_XOR: return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);            \
        case FABRIC_SWAP: return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);          \
        case FABRIC_COMPARE_SWAP:                                                               \
            (void)__atomic_compare_exchange_n(word, &expected, operand, 0, __ATOMIC_ACQ_REL,    \
                                              __ATOMIC_ACQUIRE);                                \
            return expected;                                                                    \
        default: return __atomic_load_n(word, __ATOMIC_ACQUIRE);                                \
        }                                                                                       \
    }

DIRECT_DEFINE_APPLY(u32, uint32_t)
DIRECT_DEFINE_APPLY(u64, uint64_t)

#endif
