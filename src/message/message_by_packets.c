/* The way to a peer whose memory is mirrored here.
 *
 * The box with its rings lies in the receiver's memory as everywhere. A sender has a mirror of
 * it at the same place, works on that, and reflects what it wrote; so does the receiver with
 * what it owes its senders. Reflections of a node take effect at another in the order they
 * were made; pulls and atomics take effect at any time, so each of them is waited for.
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
 *   many senders         summary                   there is none: the receiver looks into all
 *
 * Publishing an entry. Before it the receiver's head may have come up to the sender's tail,
 * where the receiver finds zero, because
 *   1. one reflection brings the payload and, behind it, the zero at the next tail, all of it
 *      in units that the receiver has given back and does not look at yet. Where the next
 *      tail is the start of the ring the zero is a reflection of its own;
 *   2. the next one brings the header, by a single store. From here on the receiver sees the
 *      entry, whole, and at the next tail the zero of step 1.
 * A sender that dies in between leaves a zero at its tail for ever. Clearing further ahead, as
 * in shared memory, would gain nothing: both reflections go in one packet.
 *
 * Room. Everything passed over but less than a quarter of the ring is the sender's again
 * without a word from it. With all passed over it thus sees three quarters free, and no entry
 * needs more: a quarter, as much to be skipped, and the reserve.
 *
 * Holding a box. A source finds the box in its mirror of the slot. It sets its bit at the
 * owner and then reads the key there: either the owner, which withdraws first and looks then,
 * sees the bit, or the source sees that it has withdrawn. It lets go after all that it
 * reflected is in place, so nothing late falls into memory that is used again.
 *
 * Not being told. A source that had not attached when the box was offered is never told, and
 * neither is who is no source. A sender that waits for a channel therefore asks, at once and
 * then with ever longer pauses, and brings a box it was not told of into its mirror itself. */
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

/* What lies here in the mirror of that rank's memory, there: area 0 is the whole group. */
static struct dn_remote at(const struct dn_context *context, uint32_t rank, const void *place)
{
    const unsigned char *group = (const unsigned char *)context->view->group;
    return (struct dn_remote){
        .rank = (int)rank, .area = 0, .offset = (uint64_t)((const unsigned char *)place - group)};
}

static bool op_is_done(void *op)
{
    bool done = false;
    (void)fabric_op_state(op, &done);
    return done;
}

/* A transfer ends by itself when its target dies. */
static int pull(struct dn_context *context, uint32_t rank, const void *place, void *target,
                uint64_t bytes)
{
    struct fabric_lane *lane = context->lane;
    struct dn_op op;
    bool done;
    struct host_condition condition = {op_is_done, message_never, &op, GROUP_WATCH_NOTHING};
    int error = lane->ops->pull(lane, at(context, rank, place), target, bytes, &op);
    error = error ? error : host_wait(context->node->process->default_lane, &condition, DN_FOREVER);
    return error ? error : fabric_op_state(&op, &done);
}

/* A fetching atomic: done at return. */
static int apply(struct dn_context *context, uint32_t rank, _Atomic uint64_t *word,
                 enum fabric_atomic operation, uint64_t operand, uint64_t expected, uint64_t *old)
{
    struct fabric_lane *lane = context->lane;
    return lane->ops->atomic(lane, at(context, rank, word), operation, sizeof *word, operand,
                             expected, old);
}

/* ---- The receiver's side ------------------------------------------------------------------- */

static void open_ring(struct dn_context *context, struct message_source *source)
{
    bool untold = group_life(context->view, source->rank) == DN_STARTING;
    atomic_store_explicit(&source->ring.words->wants_room,
                          GROUP_ROOM_BY_PACKETS | (untold ? GROUP_ROOM_UNTOLD : 0),
                          memory_order_relaxed);
}

static void tell_of_box(struct dn_context *context, const struct message_source *source)
{
    struct group_message_slot *slot = context->slot;
    const struct group_ring_words *words = source->ring.words;
    if (atomic_load_explicit(&words->wants_room, memory_order_relaxed) & GROUP_ROOM_UNTOLD) {
        return;
    }
    atomic_store_explicit(&slot->index, (uint32_t)(source - context->sources),
                          memory_order_relaxed);
    /* In order, so that who finds the key finds the rest. One that is gone needs none. */
    (void)fabric_reflect(context->lane, source->rank, context->box, sizeof *context->box);
    (void)fabric_reflect(context->lane, source->rank, words, sizeof *words);
    (void)fabric_reflect(context->lane, source->rank, &slot->offset,
                         offsetof(struct group_message_slot, users) -
                             offsetof(struct group_message_slot, offset));
    KILL_POINT("message: box made, source not told");
    (void)fabric_reflect(context->lane, source->rank, &slot->key, sizeof slot->key);
}

static void tell_of_close(struct dn_context *context, const struct message_source *source)
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

static bool copy_from(struct dn_context *context, const struct message_source *source,
                      uint64_t place, void *target, uint64_t bytes)
{
    const unsigned char *from = group_node_memory(context->view, source->rank) + place;
    return pull(context, source->rank, from, target, bytes) == 0;
}

/* ---- Finding a box ------------------------------------------------------------------------- */

static void let_go(struct dn_context *context, uint32_t rank, struct group_message_slot *slot)
{
    uint32_t own = context->view->rank;
    uint64_t old;
    if (!group_life_gone(group_life(context->view, rank))) {
        (void)fabric_settle(context->lane);
        KILL_POINT("message: settled, box not let go");
        /* Fetching: it must not be overtaken by the next claim. */
        (void)apply(context, rank, &slot->users[own / 64], FABRIC_AND, ~(UINT64_C(1) << (own % 64)),
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
    int error = apply(context, rank, &slot->users[own / 64], FABRIC_OR, bit, 0, &before);
    KILL_POINT("message: box held, not looked at again");
    error = error ? error : apply(context, rank, &slot->key, FABRIC_READ, 0, 0, &now);
    if (error || now == key) {
        return error;
    }
    /* Held already for what a closed context of ours has sent: that one lets go. */
    if (!(before & bit)) {
        let_go(context, rank, slot);
    }
    /* The word of it is under way; keys do not come again. */
    (void)atomic_compare_exchange_strong(&slot->key, &key, 0);
    return DN_EBUSY;
}

/* A box of another node, as it is there. */
struct found {
    uint64_t key;
    uint64_t offset;
    uint32_t index; /* of this node among the sources; source_count: it is none of them */
    struct group_message_box box;
    struct group_box_layout layout;
    struct group_ring_words words; /* of this node's ring */
};

/* Finds this node among the sources of a box. False: what lies there is no box, or not any
 * more. */
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

/* Brings a box into the mirror that its owner does not tell of. */
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
    /* What was read is that box's if it is still there. */
    error = error ? error : apply(context, rank, &slot->key, FABRIC_READ, 0, 0, &now);
    if (error || now != found->key) {
        return error;
    }
    if (listed && (atomic_load_explicit(&found->words.wants_room, memory_order_relaxed) &
                   GROUP_ROOM_UNTOLD)) {
        bring(context, rank, slot, found);
    }
    return listed ? 0 : DN_ERANK;
}

static int ask(struct dn_context *context, uint32_t rank)
{
    static struct group_message_slot there[GROUP_MESSAGE_SLOTS]; /* one asks at a time */
    struct group_message_slot *slots = group_service(context->view, rank)->message_slots;
    int error = pull(context, rank, slots, there, sizeof there);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS && !error; i++) {
        struct found found = {
            .key = atomic_load_explicit(&there[i].key, memory_order_relaxed),
            .offset = atomic_load_explicit(&there[i].offset, memory_order_relaxed),
        };
        if (found.key != 0 && (uint32_t)found.key == context->channel) {
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
    /* Who has not attached has no context. */
    bool asks = group_life(context->view, destination->rank) == DN_ATTACHED;
    return asks ? ask(context, destination->rank) : 0;
}

/* 0, and the box is held; DN_EBUSY: the mirror knows of none that is open. */
static int hold_known(struct dn_context *context, uint32_t rank, struct message_held *held)
{
    struct group_service *service = group_service(context->view, rank);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS; i++) {
        struct group_message_slot *slot = &service->message_slots[i];
        /* Acquire: pairs with the release of the key's reflection, the last of several. */
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

static int hold(struct dn_context *context, struct message_destination *destination,
                struct message_held *held)
{
    int error = hold_known(context, destination->rank, held);
    if (error == DN_EBUSY) {
        error = ask_now_and_then(context, destination);
        error = error ? error : hold_known(context, destination->rank, held);
    }
    return error;
}

/* The receiver says from now on how far it has come. */
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
    /* The entry is in place before what is to change it. */
    (void)fabric_settle(context->lane);
    KILL_POINT("message: about to withdraw");
    /* A receiver that is gone has not received it, as far as anybody can tell. */
    int error = apply(context, destination->rank, &entry->state, FABRIC_COMPARE_SWAP,
                      GROUP_WITHDRAWN, GROUP_OFFERED, &old);
    KILL_POINT("message: withdrawn or fetched");
    return error || old == GROUP_OFFERED;
}

const struct message_way message_by_packets = {
    .lends_to_others = true,
    .hold = hold,
    .let_go = let_go,
    .reserve = reserve,
    .publish = publish,
    .withdraw = withdraw,
    .await_end = await_end,
    .row_bytes_max = ROW_BYTES_MAX,
    .open_ring = open_ring,
    .tell_of_box = tell_of_box,
    .tell_of_close = tell_of_close,
    .tell_of_room = tell_of_room,
    .copy_from = copy_from,
};
