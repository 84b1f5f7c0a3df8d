/* SEND/RECEIVE by rings in the receiver's memory, and how they are found.
 *
 * The receiver's box holds one ring per declared source, so that a sender killed anywhere
 * spoils nothing but its own. A ring is made of units of 16 bytes; an entry is some of them
 * in a row and starts with a header word, which says what it is and, by not being zero,
 * that it is there:
 *
 *     | header | payload ....... |                       a whole message
 *     | header | total | payload ... |                   a piece of a longer one
 *     | header | total | place | bytes | state |         data in the sender's own memory
 *
 * Payload goes into units that only the sender touches, and the header is stored last; so
 * a small message is one cache line that travels once, several in a stream share one, and
 * an entry is there whole or not at all. Between a sender's steps the header words of the
 * four units from its tail on are zero: the sender clears ahead, after it has published,
 * in units that the receiver has given back, and old payload is never taken for a header.
 *
 * Positions count units and never wrap; the receiver gives units back by storing its head,
 * which the sender reads only when its copy says that the ring is full.
 *
 * Where the sender cannot reach the receiver's memory it writes a mirror of it, and both
 * sides send what they wrote: message/message_by_packets.c. By packets, fabric/grants.c lets a
 * sender write its own words of a box and no others: a new word here needs a rule there. */
#ifndef GROUP_MESSAGE_H
#define GROUP_MESSAGE_H

#include "group/life.h"

enum {
    GROUP_MESSAGE_SLOTS = 64, /* contexts of a node at a time */
    GROUP_MESSAGE_MTU_BYTES = 2048,
    GROUP_RING_BYTES_MIN = 1024,
    GROUP_RING_BYTES_MAX = 64 << 20,
    /* Up to here a receiver looks into every ring; beyond, senders set summary bits. */
    GROUP_MESSAGE_FEW_SOURCES = 8,
};

/* ---- Entries -------------------------------------------------------------------- */

#define GROUP_ENTRY_THERE UINT64_C(1)
#define GROUP_ENTRY_FIRST UINT64_C(2)
#define GROUP_ENTRY_LAST UINT64_C(4)
#define GROUP_ENTRY_PLACE UINT64_C(8)  /* the data lie in the sender's memory */
#define GROUP_ENTRY_PAD UINT64_C(16)   /* nothing up to the end of the ring */
#define GROUP_ENTRY_ABORT UINT64_C(32) /* the message begun before will not come */
#define GROUP_ENTRY_WHOLE (GROUP_ENTRY_THERE | GROUP_ENTRY_FIRST | GROUP_ENTRY_LAST)
#define GROUP_ENTRY_BYTES_SHIFT 16

enum {
    GROUP_UNIT_BYTES = 16,
    GROUP_WHOLE_HEADER_BYTES = 8,
    GROUP_PIECE_HEADER_BYTES = 16,
    GROUP_PLACE_UNITS = 3,
};

/* A piece's words; a whole message has its payload at `total`. */
struct group_entry {
    _Atomic uint64_t header;
    uint64_t total_bytes;
    uint64_t place; /* from the start of the sender's node memory; PLACE only, as below */
    uint64_t bytes;
    /* OFFERED -> FETCHED by the receiver after it has copied, or -> WITHDRAWN by a sender
     * that waits no longer: whichever comes first decides whether the message was. */
    _Atomic uint64_t state;
};

_Static_assert(sizeof(struct group_entry) <= GROUP_PLACE_UNITS * GROUP_UNIT_BYTES, "it fits");

enum group_offer_state { GROUP_OFFERED = 1, GROUP_FETCHED, GROUP_WITHDRAWN };

static inline uint64_t group_entry_bytes(uint64_t header)
{
    return header >> GROUP_ENTRY_BYTES_SHIFT & 0xffff;
}

static inline uint64_t group_units_of(uint64_t bytes)
{
    return (bytes + GROUP_UNIT_BYTES - 1) / GROUP_UNIT_BYTES;
}

/* ---- Rings ---------------------------------------------------------------------- */

/* The words beside a ring, in cache lines by their writer. */
struct group_ring_words {
    /* By the receiver: units before this one are the sender's again. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t head;
    /* An enum group_room, by the sender: whether it is to be told when the head moves. */
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t wants_room;
    /* By the sender when it lets go of the ring; where the next one goes on. */
    _Atomic uint64_t tail;
};

enum group_room {
    GROUP_ROOM_AWAITED = 1,    /* somebody there sleeps until the head moves, or has closed */
    GROUP_ROOM_BY_PACKETS = 2, /* by the owner: the sender has but a mirror of the head */
    GROUP_ROOM_UNTOLD = 4,     /* by the owner: and had not attached when the box was offered */
    GROUP_ROOM_RECORDS = 8,    /* by the owner: entries come as records (message_by_records.c) */
};

/* The sender's side. Private. */
struct group_ring_out {
    unsigned char *start;
    struct group_ring_words *words;
    uint64_t unit_count; /* a power of two */
    uint64_t entry_units_max;
    uint64_t tail;
    uint64_t head; /* as last read */
};

/* The receiver's side. Private. */
struct group_ring_in {
    unsigned char *start;
    struct group_ring_words *words;
    uint64_t unit_count;
    _Atomic uint64_t head; /* written with the turn held, peeked at without */
    uint64_t published;    /* the head that the sender knows */
};

/* Room that an entry needs beyond its own units: those cleared ahead, and one so that a
 * message that was begun can always be aborted. */
enum { GROUP_RING_AHEAD = 4, GROUP_RING_RESERVE = GROUP_RING_AHEAD + 1 };

static inline struct group_entry *group_ring_entry(unsigned char *start, uint64_t unit_count,
                                                   uint64_t position)
{
    return (struct group_entry *)(void *)(start + (position & (unit_count - 1)) * GROUP_UNIT_BYTES);
}

/* The longest entry: two of them and the reserve fit even when the first must skip the
 * end of the ring. */
static inline uint64_t group_ring_entry_units_max(uint64_t unit_count)
{
    uint64_t wanted = group_units_of(GROUP_PIECE_HEADER_BYTES + GROUP_MESSAGE_MTU_BYTES);
    return wanted < unit_count / 4 ? wanted : unit_count / 4;
}

/* The most payload that an entry with this much header holds. */
static inline uint64_t group_ring_payload_max(const struct group_ring_out *ring,
                                              uint64_t header_bytes)
{
    uint64_t bytes = ring->entry_units_max * GROUP_UNIT_BYTES - header_bytes;
    return bytes < GROUP_MESSAGE_MTU_BYTES ? bytes : GROUP_MESSAGE_MTU_BYTES;
}

static inline bool group_ring_has_room(struct group_ring_out *ring, uint64_t units)
{
    if (LIKELY(ring->tail + units - ring->head <= ring->unit_count)) {
        return true;
    }
    /* Acquire: the receiver has read what we are about to write over. */
    uint64_t head = atomic_load_explicit(&ring->words->head, memory_order_acquire);
    /* Others can write there: a head that goes back or passes our tail is none. */
    ring->head = head - ring->head <= ring->tail - ring->head ? head : ring->head;
    return ring->tail + units - ring->head <= ring->unit_count;
}

static inline void group_ring_clear(const struct group_ring_out *ring, uint64_t position)
{
    atomic_store_explicit(&group_ring_entry(ring->start, ring->unit_count, position)->header, 0,
                          memory_order_relaxed);
}

/* Makes the entry at the tail, filled by the caller, the receiver's. */
static inline void group_ring_publish(struct group_ring_out *ring, uint64_t header, uint64_t units)
{
    uint64_t next = ring->tail + units;
    uint64_t cleared = ring->tail + GROUP_RING_AHEAD; /* up to here */
    if (UNLIKELY(next >= cleared)) {
        group_ring_clear(ring, next);
        cleared = next + 1;
    }
    KILL_POINT("message: entry filled, not published");
    /* Release: who sees the header sees the payload and the zero behind it. */
    atomic_store_explicit(&group_ring_entry(ring->start, ring->unit_count, ring->tail)->header,
                          header, memory_order_release);
    KILL_POINT("message: entry published, nobody woken");
    ring->tail = next;
    /* Off the path of this message; the next one publishes it. */
    for (; cleared != next + GROUP_RING_AHEAD; cleared++) {
        group_ring_clear(ring, cleared);
    }
}

/* The units at the end of the ring that an entry must skip to lie in a row. */
static inline uint64_t group_ring_skipped(const struct group_ring_out *ring, uint64_t units)
{
    uint64_t to_end = ring->unit_count - (ring->tail & (ring->unit_count - 1));
    return UNLIKELY(units > to_end) ? to_end : 0;
}

/* Room in a row for an entry, skipping the end of the ring if it must; NULL: none now. */
static inline struct group_entry *group_ring_reserve(struct group_ring_out *ring, uint64_t units)
{
    uint64_t skipped = group_ring_skipped(ring, units);
    if (UNLIKELY(!group_ring_has_room(ring, skipped + units + GROUP_RING_RESERVE))) {
        return NULL;
    }
    if (UNLIKELY(skipped)) {
        group_ring_publish(ring, GROUP_ENTRY_THERE | GROUP_ENTRY_PAD, skipped);
    }
    return group_ring_entry(ring->start, ring->unit_count, ring->tail);
}

/* The units from a position to the end of the ring; an entry does not reach beyond. */
static inline uint64_t group_ring_row(const struct group_ring_in *ring, uint64_t position)
{
    return ring->unit_count - (position & (ring->unit_count - 1));
}

/* The header at the receiver's head; 0: nothing there. */
static inline uint64_t group_ring_look(const struct group_ring_in *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return atomic_load_explicit(&group_ring_entry(ring->start, ring->unit_count, head)->header,
                                memory_order_acquire);
}

static inline struct group_entry *group_ring_at_head(const struct group_ring_in *ring)
{
    return group_ring_entry(ring->start, ring->unit_count,
                            atomic_load_explicit(&ring->head, memory_order_relaxed));
}

static inline void group_ring_advance(struct group_ring_in *ring, uint64_t units)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + units, memory_order_relaxed);
}

/* Gives the units passed over back to the sender; true when it is to be told. */
static inline bool group_ring_give_back(struct group_ring_in *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    KILL_POINT("message: taken, room not given back");
    /* Release: pairs with the acquire in group_ring_has_room. */
    atomic_store_explicit(&ring->words->head, head, memory_order_release);
    KILL_POINT("message: room given back, sender not woken");
    ring->published = head;
    return atomic_load_explicit(&ring->words->wants_room, memory_order_relaxed) != 0;
}

/* ---- Boxes ---------------------------------------------------------------------- */

/* The start of a context's shared memory, in its node's service memory. */
struct group_message_box {
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t open; /* by the owner: 1, then 0 */
    _Atomic uint32_t source_count;                   /* constant, as below */
    _Atomic uint64_t unit_count;                     /* of each ring */
};

/* Where the parts of a box lie, from its start. Private: others can write into a box, so its two
 * numbers are read once and the rest follows from them. */
struct group_box_layout {
    uint32_t source_count;
    uint64_t unit_count;
    uint64_t summary_offset; /* a bit per source */
    uint64_t ranks_offset;   /* the sources, sorted */
    uint64_t words_offset;   /* struct group_ring_words per source */
    uint64_t rings_offset;
    uint64_t bytes; /* of the whole box */
};

static inline struct group_message_box *group_box_at(const struct group_view *view, uint32_t rank,
                                                     uint64_t offset)
{
    return (struct group_message_box *)(void *)(group_node_memory(view, rank) + offset);
}

struct group_box_layout group_box_layout(uint32_t source_count, uint64_t unit_count);

/* The layout of a box, or of a copy of its start, that lies at this offset of a node's memory;
 * false: what lies there is no box. */
bool group_box_read(const struct group_view *view, uint64_t offset,
                    const struct group_message_box *box, struct group_box_layout *layout);

/* Whether the senders set summary bits: a receiver looks into a few rings by itself. */
static inline bool group_message_has_summary(uint32_t source_count)
{
    return source_count > GROUP_MESSAGE_FEW_SOURCES;
}

static inline uint32_t *group_box_ranks(struct group_message_box *box,
                                        const struct group_box_layout *layout)
{
    return (uint32_t *)(void *)((unsigned char *)box + layout->ranks_offset);
}

static inline _Atomic uint64_t *group_box_summary(struct group_message_box *box,
                                                  const struct group_box_layout *layout)
{
    return (_Atomic uint64_t *)(void *)((unsigned char *)box + layout->summary_offset);
}

/* The place of a rank in a sorted list, by binary search; `count`: not there. */
uint32_t group_message_find_rank(const uint32_t *ranks, uint32_t count, uint32_t rank);

void group_message_ring_in(struct group_message_box *box, const struct group_box_layout *layout,
                           uint32_t index, struct group_ring_in *ring);
void group_message_ring_out(struct group_message_box *box, const struct group_box_layout *layout,
                            uint32_t index, struct group_ring_out *ring);

/* ---- Meeting: how a sender finds a box -------------------------------------------- */

/* One context of a node. A box may be used again once nobody can write into it: senders
 * are counted here, in memory that never goes away, each by a bit of its own, so that one
 * that died is known and left out. */
struct group_message_slot {
    /* By the owner: generation << 32 | channel, stored last; 0: no context. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t key;
    _Atomic uint64_t offset; /* of the box, from the start of the node's memory */
    _Atomic uint32_t index;  /* in a mirror: the reader's place among the sources */
    _Atomic uint64_t users[GROUP_NODES_MAX / 64]; /* a bit per sender, by itself */
};

/* The owner's side. The slot's senders are all gone or have let go: group_message_unused. */
void group_message_offer(struct group_message_slot *slot, uint32_t generation, uint32_t channel,
                         uint64_t offset);
void group_message_withdraw(struct group_message_slot *slot);
bool group_message_unused(const struct group_view *view, const struct group_message_slot *slot);

/* The sender's side: the box of that rank's context, held until group_message_let_go; NULL:
 * it has none open. One thread of a process at a time. */
struct group_message_box *group_message_hold(const struct group_view *view, uint32_t rank,
                                             uint32_t channel, struct group_message_slot **slot,
                                             struct group_box_layout *layout);
void group_message_let_go(const struct group_view *view, struct group_message_slot *slot);

#endif
