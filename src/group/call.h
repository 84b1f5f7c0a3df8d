/* The call word of a port: how a sender learns that somebody sleeps there.
 *
 *     63   32 31      5       4            3           2        1       0
 *     | watch | sequence | restricted | by packets | sleeping | gone | watching |
 *
 * A sleeper sets `sleeping`, and `watching` too if a store into its memory may be what
 * it waits for; `watch` is then the cache line it looks at. It looks once more at what
 * it waits for and sleeps until the lower half changes. A sender writes its data, then
 * looks at the word; if a sleeper watches what it wrote, it takes both bits away and
 * raises the sequence in one compare-swap, and the one who succeeded wakes everybody
 * who sleeps on the word. The watch keeps senders from waking a node again and again
 * that waits for something else.
 *
 * On x86 the sender's look may pass its own data store; the sleeper's membarrier
 * closes that gap where the kernel has it, and the sleeper's time-out closes it
 * everywhere. A sleeper that wakes by itself leaves the bits: the next sender takes
 * them away with one needless wake, or the next sleeper overwrites them.
 *
 * Three bits tell a sender at the same look that it must not just write here: the node is gone;
 * what is mapped here is its mirror, and packets carry what is written (fabric/fabric.h sets that);
 * others do not have all rights in one of its built-in areas (group_area_restrict).
 *
 * The sleeping itself is the host's; nothing here enters the kernel. */
#ifndef GROUP_CALL_H
#define GROUP_CALL_H

#include "base/killpoint.h"
#include "group/memory.h"

#define GROUP_CALL_WATCHING UINT64_C(1)
#define GROUP_CALL_GONE UINT64_C(2)
#define GROUP_CALL_SLEEPING UINT64_C(4)
#define GROUP_CALL_BY_PACKETS UINT64_C(8)
#define GROUP_CALL_RESTRICTED UINT64_C(16)
#define GROUP_CALL_SEQUENCE UINT64_C(32)
#define GROUP_CALL_LOWER UINT64_C(0xffffffff)

/* Watches: a line's number in the node's memory, or one of these. */
#define GROUP_WATCH_ANYTHING UINT32_C(0xffffffff)
#define GROUP_WATCH_NOTHING UINT32_C(0xfffffffe) /* the barrier wakes it, stores do not */

/* The half that sleepers sleep on lies first in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");

static inline _Atomic uint32_t *group_call_lower(const struct group_view *view, uint32_t rank)
{
    return (_Atomic uint32_t *)&view->ports[rank].call;
}

static inline _Atomic uint64_t *group_sleeping_word(const struct group_view *view, uint32_t rank)
{
    return &view->group->sleeping[rank / 64];
}

/* The watch for a word at this address: its line if it is in this node's memory. */
static inline uint32_t group_watch_of(const struct group_view *view, const void *word)
{
    uint64_t offset = (uint64_t)((uintptr_t)word - (uintptr_t)group_node_memory(view, view->rank));
    uint64_t line = offset / CACHE_LINE_BYTES;
    if (offset >= view->node_stride_bytes) {
        return GROUP_WATCH_NOTHING;
    }
    return line < GROUP_WATCH_NOTHING ? (uint32_t)line : GROUP_WATCH_ANYTHING;
}

/* What covers both watches. */
static inline uint32_t group_watch_join(uint32_t one, uint32_t other)
{
    if (one == other || other == GROUP_WATCH_NOTHING) {
        return one;
    }
    return one == GROUP_WATCH_NOTHING ? other : GROUP_WATCH_ANYTHING;
}

/* Publishes that this node sleeps, its threads together watching `watch`; gives the
 * lower half to sleep on. One thread of the node at a time. The port comes first: a
 * waker clears the hint first, so a hint may be stale, but bits without a hint last
 * only until the next publication. */
uint32_t group_call_publish(const struct group_view *view, uint32_t watch);

/* Whether the caller is the one to wake the sleepers of that rank: whoever sleeps. */
bool group_call_claim(const struct group_view *view, uint32_t rank);

/* The same, but only sleepers that watch one of the lines first..last, or, with
 * first > last, that watch any line. */
bool group_call_claim_watching(const struct group_view *view, uint32_t rank, uint32_t first,
                               uint32_t last);

#endif
