/* The way to a peer whose memory is mirrored here.
 *
 * The box with its rings lies in the receiver's memory, as in place. A sender works on a mirror
 * of it at the same place and reflects what it wrote; the receiver does so with what it owes its
 * senders. A node's reflections take effect at another node in the order they were made. Pulls
 * and atomics take effect at any time, so we wait for each of them.
 *
 *   who writes           word                      who is told, and when
 *   receiver             box, words, slot          each of its sources, when it opens, the key
 *                                                  last; the same when it closes
 *   sender               entries                   the receiver, when they are published
 *   receiver             head                      the sender, by quarters of the ring; at once
 *                                                  for data it has fetched, or once the sender
 *                                                  has closed (wants_room)
 *   sender, receiver     state of an offer         nobody: one compare-swap at the receiver
 *   many senders         users                     nobody: atomics at the receiver
 *   many senders         summary                   nobody: the bit is always set
 *
 * Publishing an entry takes two steps. The receiver's head may already be at the sender's tail,
 * where it finds zero until the second step.
 *   1. One reflection brings the payload and, behind it, the zero at the next tail. These units
 *      are the sender's, and the receiver does not look at them yet. If the next tail is the
 *      start of the ring, the zero takes a reflection of its own.
 *   2. Another reflection brings the header by a single store. Now the receiver sees the whole
 *      entry, and at the next tail the zero of step 1.
 * A sender that dies in between leaves a zero at its tail for ever. Clearing further ahead, as
 * in place, would gain nothing: both reflections go in one packet.
 *
 * Room. The receiver tells the sender nothing while it owes less than a quarter of the ring. When
 * it has passed everything, the sender thus sees at least three quarters free. No entry needs
 * more: a quarter, as much to skip, and the reserve.
 *
 * Holding a box. A source finds the box in its mirror of the slot. It sets its bit at the owner
 * and then reads the key there. The owner withdraws the key first and looks at the bits then, so
 * either it sees the bit or the source sees that the box is withdrawn. A source lets go after all
 * its reflections are in place, so nothing late falls into memory that has a new use.
 *
 * Not being told. The owner tells nobody who had not attached when it offered the box, nor nodes
 * that are not its sources. So a sender that waits for a channel asks, at once and then with ever
 * longer pauses, and itself brings a box that it was not told of into its mirror. */
#include <stddef.h>
#include <string.h>

#include "message/message_way.h"
#include "host/clock.h"
#include "group/service_memory.h"

enum {
    ASK_RANKS = 256,         /* at a time */
    ROW_BYTES_MAX = 1 << 20, /* each fetch costs a round trip */
};

#define ASK_PAUSE_FIRST_NS UINT64_C(1000000)
#define ASK_PAUSE_LONGEST_NS UINT64_C(1000000000)

/* A place in the group's memory, at that rank. */
static struct dn_remote at(const struct dn_context *context, uint32_t rank, const void *place)
{
    const unsigned char *group = (const unsigned char *)context->view->group;
    return (struct dn_remote){.rank = (int)rank,
                              .area = FABRIC_AREA_GROUP,
                              .offset = (uint64_t)((const unsigned char *)place - group)};
}

static bool op_is_done(void *op)
{
    bool done = false;
    (void)fabric_op_state(op, &done);
    return done;
}

/* A transfer ends by itself when its target dies. */
static int await_bytes(struct dn_context *context, struct dn_op *op)
{
    bool done;
    struct host_condition condition = {op_is_done, NULL, op, GROUP_WATCH_NOTHING};
    int error = host_wait(context->node->process->default_lane, &condition, DN_FOREVER);
    return error ? error : fabric_op_state(op, &done);
}

static int pull(struct dn_context *context, uint32_t rank, const void *place, void *target,
                uint64_t bytes)
{
    struct fabric_lane *lane = context->lane;
    struct dn_op op;
    int error = lane->ops->pull(lane, at(context, rank, place), target, bytes, &op);
    return error ? error : await_bytes(context, &op);
}

/* A fetching atomic, so it is done at return. */
static int apply(struct dn_context *context, uint32_t rank, _Atomic uint64_t *word,
                 enum wire_atomic operation, uint64_t operand, uint64_t expected, uint64_t *old)
{
    struct fabric_lane *lane = context->lane;
    return lane->ops->atomic(lane, at(context, rank, word), operation, sizeof *word, operand,
                             expected, old);
}

/* ---- The receiver's side ------------------------------------------------------------------- */

void message_packets_open_ring(struct dn_context *context, struct message_source *source)
{
    bool untold = group_life(context->view, source->rank) == DN_STARTING;
    atomic_store_explicit(&source->ring.words->wants_room,
                          GROUP_ROOM_BY_PACKETS | (untold ? GROUP_ROOM_UNTOLD : 0),
                          memory_order_relaxed);
}

void message_packets_tell_of_box(struct dn_context *context, const struct message_source *source)
{
    struct group_message_slot *slot = context->slot;
    const struct group_ring_words *words = source->ring.words;
    if (atomic_load_explicit(&words->wants_room, memory_order_relaxed) & GROUP_ROOM_UNTOLD) {
        return;
    }
    atomic_store_explicit(&slot->index, (uint32_t)(source - context->sources),
                          memory_order_relaxed);
    /* In this order, so that a source that finds the key finds the rest. A source that is gone
     * needs none of it. */
    (void)fabric_reflect(context->lane, source->rank, context->box, sizeof *context->box);
    (void)fabric_reflect(context->lane, source->rank, words, sizeof *words);
    (void)fabric_reflect(context->lane, source->rank, &slot->offset,
                         offsetof(struct group_message_slot, users) -
                             offsetof(struct group_message_slot, offset));
    KILL_POINT("message: box made, source not told");
    (void)fabric_reflect(context->lane, source->rank, &slot->key, sizeof slot->key);
}

void message_packets_tell_of_close(struct dn_context *context, const struct message_source *source)
{
    if (group_life(context->view, source->rank) != DN_STARTING) {
        (void)fabric_reflect(context->lane, source->rank, &context->slot->key,
                             sizeof context->slot->key);
        (void)fabric_reflect(context->lane, source->rank, &context->box->open,
                             sizeof context->box->open);
    }
}

static void tell_of_room(struct dn_context *context, const struct message_source *source)
{
    (void)fabric_reflect(context->lane, source->rank, &source->ring.words->head,
                         sizeof source->ring.words->head);
}

static int copy_from(struct dn_context *context, const struct message_source *source,
                     uint64_t place, void *target, uint64_t bytes)
{
    const unsigned char *from = group_node_memory(context->view, source->rank) + place;
    return pull(context, source->rank, from, target, bytes);
}

/* ---- Finding a box ------------------------------------------------------------------------- */

void message_packets_let_go(struct dn_context *context, uint32_t rank,
                            struct group_message_slot *slot)
{
    uint32_t own = context->view->rank;
    uint64_t old;
    if (!group_life_gone(group_life(context->view, rank))) {
        (void)fabric_settle(context->lane);
        KILL_POINT("message: settled, box not let go");
        /* Fetching, so that our next claim cannot overtake it. */
        (void)apply(context, rank, &slot->users[own / 64], WIRE_AND, ~(UINT64_C(1) << (own % 64)),
                    0, &old);
    }
    KILL_POINT("message: box let go");
}

static int claim(struct dn_context *context, uint32_t rank, struct group_message_slot *slot,
                 uint64_t key)
{
    uint32_t own = context->view->rank;
    uint64_t bit = UINT64_C(1) << (own % 64);
    uint64_t before = 0;
    uint64_t now = 0;
    int error = apply(context, rank, &slot->users[own / 64], WIRE_OR, bit, 0, &before);
    KILL_POINT("message: box held, not looked at again");
    error = error ? error : apply(context, rank, &slot->key, WIRE_READ, 0, 0, &now);
    if (error || now == key) {
        return error;
    }
    /* If the bit was set before, a closed context of ours holds the box, and will let go. */
    if (!(before & bit)) {
        message_packets_let_go(context, rank, slot);
    }
    /* The owner's word is still under way. No key is used twice, so 0 may go before it. */
    (void)atomic_compare_exchange_strong(&slot->key, &key, 0);
    return DN_EBUSY;
}

/* A box as its owner has it. */
struct found {
    uint64_t key;
    uint64_t offset;
    uint32_t index; /* of this node among the sources; source_count: it is not listed */
    struct group_message_box box;
    struct group_box_layout layout;
    struct group_ring_words words; /* of this node's ring */
};

/* Finds this node among the sources of a box. False: there is no box any more, or *error. */
static bool find_self(struct dn_context *context, uint32_t rank, struct found *found, int *error)
{
    const struct group_view *view = context->view;
    const unsigned char *place = group_node_memory(view, rank) + found->offset;
    uint32_t ranks[ASK_RANKS];
    uint32_t count = 0;
    if (found->offset > view->node_stride_bytes - sizeof found->box) {
        return false;
    }
    *error = pull(context, rank, place, &found->box, sizeof found->box);
    if (*error || !group_box_read(view, found->offset, &found->box, &found->layout)) {
        return false;
    }
    uint32_t sources = found->layout.source_count;
    found->index = sources;
    for (uint32_t i = 0; i < sources && !*error && found->index == sources; i += count) {
        count = sources - i < ASK_RANKS ? sources - i : ASK_RANKS;
        *error = pull(context, rank, place + found->layout.ranks_offset + i * sizeof *ranks, ranks,
                      count * sizeof *ranks);
        uint32_t at = group_message_find_rank(ranks, count, view->rank);
        found->index = at < count ? i + at : found->index;
    }
    return !*error;
}

/* Brings a box that its owner does not tell us of into the mirror. */
static void bring(struct dn_context *context, uint32_t rank, struct group_message_slot *slot,
                  const struct found *found)
{
    struct group_message_box *box = group_box_at(context->view, rank, found->offset);
    struct group_ring_out ring;
    memcpy((void *)box, &found->box, sizeof found->box);
    group_message_ring_out(box, &found->layout, found->index, &ring);
    memcpy((void *)ring.words, &found->words, sizeof found->words);
    atomic_store_explicit(&slot->offset, found->offset, memory_order_relaxed);
    atomic_store_explicit(&slot->index, found->index, memory_order_relaxed);
    atomic_store_explicit(&slot->key, found->key, memory_order_release);
}

static int ask_box(struct dn_context *context, uint32_t rank, struct group_message_slot *slot,
                   struct found *found)
{
    int error = 0;
    uint64_t now = 0;
    if (!find_self(context, rank, found, &error)) {
        return error;
    }
    bool listed = found->index < found->layout.source_count;
    if (listed) {
        const unsigned char *words = group_node_memory(context->view, rank) + found->offset +
                                     found->layout.words_offset +
                                     found->index * sizeof found->words;
        error = pull(context, rank, words, &found->words, sizeof found->words);
    }
    /* If the key is still the same, all that we read belongs to that box. */
    error = error ? error : apply(context, rank, &slot->key, WIRE_READ, 0, 0, &now);
    if (error || now != found->key) {
        return error;
    }
    if (listed && (atomic_load_explicit(&found->words.wants_room, memory_order_relaxed) &
                   GROUP_ROOM_UNTOLD)) {
        bring(context, rank, slot, found);
    }
    return listed ? 0 : DN_ERANK;
}

/* What a slot says of its box: key and offset. */
struct slot_head {
    uint64_t key;
    uint64_t offset;
};

_Static_assert(offsetof(struct group_message_slot, key) == offsetof(struct slot_head, key) &&
                   offsetof(struct group_message_slot, offset) ==
                       offsetof(struct slot_head, offset),
               "a slot begins with its head");

/* Each head by itself: the owner may be changing it, and only short blocks are read word by word
 * (nic_load_block). All under way together, so that they take one round trip. */
static int pull_heads(struct dn_context *context, uint32_t rank,
                      const struct group_message_slot *slots, struct slot_head *heads)
{
    struct fabric_lane *lane = context->lane;
    struct dn_op ops[GROUP_MESSAGE_SLOTS];
    uint32_t begun = 0;
    int error = 0;
    while (begun < GROUP_MESSAGE_SLOTS && !error) {
        error = lane->ops->pull(lane, at(context, rank, &slots[begun]), &heads[begun],
                                sizeof heads[begun], &ops[begun]);
        begun += !error;
    }
    for (uint32_t i = 0; i < begun; i++) {
        int ended = await_bytes(context, &ops[i]);
        error = error ? error : ended;
    }
    return error;
}

static int ask(struct dn_context *context, uint32_t rank)
{
    struct slot_head heads[GROUP_MESSAGE_SLOTS];
    struct group_message_slot *slots = group_service(context->view, rank)->message_slots;
    int error = pull_heads(context, rank, slots, heads);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS && !error; i++) {
        if (heads[i].key != 0 && (uint32_t)heads[i].key == context->channel) {
            struct found found = {.key = heads[i].key, .offset = heads[i].offset};
            return ask_box(context, rank, &slots[i], &found);
        }
    }
    return error;
}

static int ask_now_and_then(struct dn_context *context, struct message_destination *destination)
{
    uint64_t now_ns = host_now_ns();
    if (now_ns < destination->ask_at_ns) {
        return 0;
    }
    uint64_t pause_ns = destination->ask_pause_ns ? destination->ask_pause_ns : ASK_PAUSE_FIRST_NS;
    destination->ask_at_ns = now_ns + pause_ns;
    destination->ask_pause_ns = pause_ns < ASK_PAUSE_LONGEST_NS ? 2 * pause_ns : pause_ns;
    /* A node that has not attached has no context. */
    bool asks = group_life(context->view, destination->rank) == DN_ATTACHED;
    return asks ? ask(context, destination->rank) : 0;
}

/* Holds a box that the mirror knows of; DN_EBUSY: it knows of none that is open. */
static int hold_known(struct dn_context *context, uint32_t rank, struct message_held *held)
{
    struct group_service *service = group_service(context->view, rank);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS; i++) {
        struct group_message_slot *slot = &service->message_slots[i];
        /* Acquire: pairs with the release by which the key's reflection is stored, the last one
         * of tell_of_box. */
        uint64_t key = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (key == 0 || (uint32_t)key != context->channel) {
            continue;
        }
        uint64_t offset = atomic_load_explicit(&slot->offset, memory_order_relaxed);
        struct group_message_box *box = group_box_at(context->view, rank, offset);
        held->index = atomic_load_explicit(&slot->index, memory_order_relaxed);
        if (!group_box_read(context->view, offset, box, &held->layout) ||
            held->index >= held->layout.source_count) {
            continue;
        }
        int error = claim(context, rank, slot, key);
        if (!error) {
            held->slot = slot;
            held->box = box;
        }
        if (error != DN_EBUSY) {
            return error;
        }
    }
    return DN_EBUSY;
}

int message_packets_hold(struct dn_context *context, struct message_destination *destination,
                         struct message_held *held)
{
    int error = hold_known(context, destination->rank, held);
    if (error == DN_EBUSY) {
        error = ask_now_and_then(context, destination);
        error = error ? error : hold_known(context, destination->rank, held);
    }
    return error;
}

/* From now on the receiver tells us each time its head moves. */
static void await_end(struct dn_context *context, struct message_destination *destination)
{
    _Atomic uint32_t *wants_room = &destination->ring.words->wants_room;
    atomic_store_explicit(wants_room, GROUP_ROOM_BY_PACKETS | GROUP_ROOM_AWAITED,
                          memory_order_relaxed);
    (void)fabric_reflect(context->lane, destination->rank, wants_room, sizeof *wants_room);
}

/* ---- Entries ------------------------------------------------------------------------------- */

static void reflect(struct dn_context *context, struct message_destination *destination,
                    const void *place, uint64_t bytes)
{
    if (bytes && fabric_reflect(context->lane, destination->rank, place, bytes) != 0) {
        destination->unreachable = true;
    }
}

static void publish(struct dn_context *context, struct message_destination *destination,
                    uint64_t header, uint64_t units)
{
    struct group_ring_out *ring = &destination->ring;
    struct group_entry *entry = group_ring_entry(ring->start, ring->unit_count, ring->tail);
    struct group_entry *next = group_ring_entry(ring->start, ring->unit_count, ring->tail + units);
    uint64_t filled = header & GROUP_ENTRY_PAD ? 0
                                               : units * GROUP_UNIT_BYTES - sizeof entry->header;
    group_ring_clear(ring, ring->tail + units);
    if (next > entry) {
        reflect(context, destination, &entry->total_bytes, filled + sizeof next->header);
    } else {
        reflect(context, destination, &entry->total_bytes, filled);
        reflect(context, destination, &next->header, sizeof next->header);
    }
    KILL_POINT("message: entry filled, not published");
    atomic_store_explicit(&entry->header, header, memory_order_relaxed);
    reflect(context, destination, &entry->header, sizeof entry->header);
    ring->tail += units;
}

static struct group_entry *reserve(struct dn_context *context,
                                   struct message_destination *destination, uint64_t units)
{
    struct group_ring_out *ring = &destination->ring;
    uint64_t skipped = group_ring_skipped(ring, units);
    if (!group_ring_has_room(ring, skipped + units + GROUP_RING_RESERVE)) {
        return NULL;
    }
    if (skipped) {
        publish(context, destination, GROUP_ENTRY_THERE | GROUP_ENTRY_PAD, skipped);
    }
    return group_ring_entry(ring->start, ring->unit_count, ring->tail);
}

static bool withdraw(struct dn_context *context, struct message_destination *destination,
                     struct group_entry *entry)
{
    uint64_t old = GROUP_OFFERED;
    /* The entry must be in place before we change it there. */
    (void)fabric_settle(context->lane);
    KILL_POINT("message: about to withdraw");
    /* A receiver that is gone counts as one that has not fetched it. */
    int error = apply(context, destination->rank, &entry->state, WIRE_COMPARE_SWAP, GROUP_WITHDRAWN,
                      GROUP_OFFERED, &old);
    KILL_POINT("message: withdrawn or fetched");
    return error || old == GROUP_OFFERED;
}

const struct message_way message_by_packets = {
    .lends_to_others = true,
    .hold = message_packets_hold,
    .let_go = message_packets_let_go,
    .reserve = reserve,
    .publish = publish,
    .withdraw = withdraw,
    .await_end = await_end,
    .row_bytes_max = ROW_BYTES_MAX,
    .open_ring = message_packets_open_ring,
    .tell_of_box = message_packets_tell_of_box,
    .tell_of_close = message_packets_tell_of_close,
    .tell_of_room = tell_of_room,
    .copy_from = copy_from,
};
