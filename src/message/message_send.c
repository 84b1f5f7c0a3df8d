/* Sending.
 *
 *   up to 2 KB      we copy it into the ring, as one entry
 *   up to 32 KB     we copy it in several entries, and the receiver puts them together
 *   larger          if the receiver can reach the data, we tell it the place; it copies them
 *                   once, and then the send is over. Otherwise they go through staging memory,
 *                   piece by piece: the receiver copies one while we copy the next. By records,
 *                   in several entries, however large they are
 *
 * A send that cannot be published whole at once waits in its destination's list. */
#include "message/message_way.h"

#include <string.h>

#include "group/address.h"
#include "host/arena.h"

enum {
    LARGE_BYTES = 32 * 1024, /* from here on the receiver fetches the data itself */
    POLLED_BYTES = 1 << 20,
};

/* ---- The kinds of entries ------------------------------------------------------------------ */

/* Each publishes as much as there is room for; true: the message is published whole. */
static bool publish_whole(struct dn_context *context, struct message_destination *destination,
                          struct message_op *op)
{
    uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + op->bytes);
    struct group_entry *entry = destination->way->reserve(context, destination, units);
    if (!entry) {
        return false;
    }
    if (op->bytes) {
        memcpy(&entry->total_bytes, op->data, op->bytes);
    }
    destination->way->publish(context, destination,
                              GROUP_ENTRY_WHOLE | op->bytes << GROUP_ENTRY_BYTES_SHIFT, units);
    return true;
}

static uint64_t piece_flags(const struct message_op *op, uint64_t bytes)
{
    return GROUP_ENTRY_THERE | (op->position == 0 ? GROUP_ENTRY_FIRST : 0) |
           (op->position + bytes == op->bytes ? GROUP_ENTRY_LAST : 0);
}

static bool publish_pieces(struct dn_context *context, struct message_destination *destination,
                           struct message_op *op)
{
    uint64_t most = group_ring_payload_max(&destination->ring, GROUP_PIECE_HEADER_BYTES);
    while (op->position < op->bytes) {
        uint64_t left = op->bytes - op->position;
        uint64_t bytes = left < most ? left : most;
        uint64_t units = group_units_of(GROUP_PIECE_HEADER_BYTES + bytes);
        struct group_entry *entry = destination->way->reserve(context, destination, units);
        if (!entry) {
            return false;
        }
        entry->total_bytes = op->bytes;
        memcpy(&entry->place, op->data + op->position, bytes);
        uint64_t header = piece_flags(op, bytes) | bytes << GROUP_ENTRY_BYTES_SHIFT;
        op->position += bytes;
        destination->way->publish(context, destination, header, units);
    }
    return true;
}

static struct group_entry *publish_place(struct dn_context *context,
                                         struct message_destination *destination, uint64_t flags,
                                         uint64_t total_bytes, uint64_t place, uint64_t bytes)
{
    struct group_entry *entry = destination->way->reserve(context, destination, GROUP_PLACE_UNITS);
    if (entry) {
        entry->total_bytes = total_bytes;
        entry->place = place;
        entry->bytes = bytes;
        atomic_store_explicit(&entry->state, GROUP_OFFERED, memory_order_relaxed);
        destination->way->publish(context, destination, flags | GROUP_ENTRY_PLACE,
                                  GROUP_PLACE_UNITS);
    }
    return entry;
}

static bool publish_stages(struct dn_context *context, struct message_destination *destination,
                           struct message_op *op)
{
    struct host_process *process = context->node->process;
    while (op->position < op->bytes) {
        uint64_t *position = &destination->stage_position[destination->next_stage];
        uint64_t left = op->bytes - op->position;
        uint64_t bytes = left < MESSAGE_STAGE_BYTES ? left : MESSAGE_STAGE_BYTES;
        if (!message_is_passed(destination, *position)) {
            return false;
        }
        uint64_t place = destination->stages +
                         destination->next_stage * (uint64_t)MESSAGE_STAGE_BYTES;
        memcpy(group_node_memory(&process->view, process->view.rank) + place,
               op->data + op->position, bytes);
        KILL_POINT("message: staged, not published");
        if (!publish_place(context, destination, piece_flags(op, bytes), op->bytes, place, bytes)) {
            return false;
        }
        op->position += bytes;
        *position = destination->place_position = destination->ring.tail;
        destination->next_stage = (destination->next_stage + 1) % MESSAGE_STAGES;
    }
    return true;
}

/* Where in our memory the receiver finds these bytes; UINT64_MAX: it cannot reach them, or may not
 * read them. */
static uint64_t place_of(const struct group_view *view, const void *data, uint64_t bytes)
{
    const struct group_port *port = &view->ports[view->rank];
    uintptr_t start = (uintptr_t)group_node_memory(view, view->rank);
    uint64_t offset = (uintptr_t)data - start;
    bool inside = (uintptr_t)data >= start && offset < view->node_stride_bytes &&
                  bytes <= view->node_stride_bytes - offset;
    uint32_t denied = 0;
    if (inside && offset < view->facts.geometry.service_offset) {
        uint64_t within;
        uint32_t area = group_area_holding(view, data, bytes, &within);
        denied = area ? atomic_load_explicit(&port->areas[area].denied, memory_order_relaxed)
                      : DN_READ;
    }
    return inside && !(denied & DN_READ) ? offset : UINT64_MAX;
}

/* ---- Going on with an operation ------------------------------------------------------------ */

/* An offer counts as pending until its owner has seen how it ended, so that the context stays
 * open. */
static void finish_offer(struct message_op *op, int error)
{
    atomic_fetch_sub_explicit(&op->context->pending_count, 1, memory_order_relaxed);
    message_op_finish(op, error);
}

static bool is_gone(const struct dn_context *context, const struct message_destination *destination)
{
    return group_life_gone(group_life(context->view, destination->rank)) ||
           destination->unreachable ||
           (destination->box &&
            !atomic_load_explicit(&destination->box->open, memory_order_acquire));
}

static int connect_it(struct dn_context *context, struct message_destination *destination)
{
    if (is_gone(context, destination)) {
        return DN_EPEER;
    }
    return destination->box ? 0 : message_destination_connect(context, destination);
}

static bool publish_large(struct dn_context *context, struct message_destination *destination,
                          struct message_op *op)
{
    uint64_t place = place_of(context->view, op->data, op->bytes);
    if (place != UINT64_MAX) {
        if (!publish_place(context, destination, GROUP_ENTRY_WHOLE, op->bytes, place, op->bytes)) {
            return false;
        }
        op->position = destination->ring.tail;
        atomic_fetch_add_explicit(&context->pending_count, 1, memory_order_relaxed);
        atomic_store_explicit(&op->state, MESSAGE_OP_OFFERED, memory_order_release);
        return true;
    }
    if (!destination->stages &&
        !host_arena_take(context->node->process, (uint64_t)MESSAGE_STAGES * MESSAGE_STAGE_BYTES,
                         &destination->stages)) {
        message_op_finish(op, DN_ENOMEM);
        return true;
    }
    return publish_stages(context, destination, op);
}

/* With the turn: true when nothing is left to publish; the operation is then DONE or OFFERED. */
static bool advance(struct dn_context *context, struct message_destination *destination,
                    struct message_op *op)
{
    int error = connect_it(context, destination);
    if (error) {
        if (error == DN_EBUSY) {
            return false;
        }
        message_op_finish(op, error);
        return true;
    }
    bool published;
    if (op->bytes <= group_ring_payload_max(&destination->ring, GROUP_WHOLE_HEADER_BYTES)) {
        published = publish_whole(context, destination, op);
    } else if (op->bytes < LARGE_BYTES || destination->way->is_by_records) {
        published = publish_pieces(context, destination, op);
    } else {
        published = publish_large(context, destination, op);
    }
    if (published && atomic_load_explicit(&op->state, memory_order_relaxed) == MESSAGE_OP_QUEUED) {
        message_op_finish(op, destination->unreachable ? DN_EPEER : 0);
    }
    return published;
}

/* To be called after anything that changes what the quick path may do. */
static void set_quick(struct message_destination *destination)
{
    bool quick = destination->box && !destination->first && !destination->lent &&
                 destination->way->is_quick;
    destination->quick_bytes =
        quick ? group_ring_payload_max(&destination->ring, GROUP_WHOLE_HEADER_BYTES) + 1 : 0;
}

static void enqueue(struct dn_context *context, struct message_destination *destination,
                    struct message_op *op)
{
    op->next = NULL;
    if (destination->last) {
        destination->last->next = op;
    } else {
        destination->first = op;
    }
    destination->last = op;
    destination->pending_count++;
    atomic_fetch_add_explicit(&context->pending_count, 1, memory_order_relaxed);
}

static void dequeue(struct dn_context *context, struct message_destination *destination,
                    struct message_op *op)
{
    struct message_op **link = &destination->first;
    struct message_op *before = NULL;
    while (*link != op) {
        before = *link;
        link = &before->next;
    }
    *link = op->next;
    destination->last = destination->last == op ? before : destination->last;
    destination->pending_count--;
    atomic_fetch_sub_explicit(&context->pending_count, 1, memory_order_relaxed);
}

static void drive(struct dn_context *context, struct message_destination *destination)
{
    while (destination->first) {
        struct message_op *op = destination->first;
        /* After advance the operation may be gone: its owner may have seen DONE. */
        struct message_op *next = op->next;
        if (!advance(context, destination, op)) {
            break;
        }
        destination->first = next;
        destination->last = next ? destination->last : NULL;
        destination->pending_count--;
        atomic_fetch_sub_explicit(&context->pending_count, 1, memory_order_relaxed);
    }
    set_quick(destination);
}

void message_send_progress(struct dn_context *context)
{
    if (atomic_load_explicit(&context->pending_count, memory_order_relaxed) == 0 ||
        !base_turn_try(&context->send_turn)) {
        return;
    }
    for (uint32_t i = 0; i < context->destination_count; i++) {
        if (context->destinations[i].first) {
            drive(context, &context->destinations[i]);
        }
    }
    base_turn_end(&context->send_turn);
}

bool message_send_is_done(struct message_op *op)
{
    uint8_t state = atomic_load_explicit(&op->state, memory_order_acquire);
    struct message_destination *destination = op->destination;
    if (state == MESSAGE_OP_QUEUED) {
        message_send_progress(op->context);
        state = atomic_load_explicit(&op->state, memory_order_acquire);
    }
    if (state == MESSAGE_OP_OFFERED) {
        if (message_is_passed(destination, op->position)) {
            finish_offer(op, 0);
        } else if (is_gone(op->context, destination)) {
            /* It may have fetched the data just before it went. */
            finish_offer(op, message_is_passed(destination, op->position) ? 0 : DN_EPEER);
        }
        state = atomic_load_explicit(&op->state, memory_order_relaxed);
    }
    return state == MESSAGE_OP_DONE;
}

/* ---- Taking an operation back -------------------------------------------------------------- */

/* Tells the receiver to drop a message that was begun. GROUP_RING_RESERVE keeps room for it. */
static void abort_message(struct dn_context *context, struct message_destination *destination)
{
    INVARIANT(destination->way->is_by_records ||
              group_ring_has_room(&destination->ring, 1 + GROUP_RING_AHEAD));
    destination->way->publish(context, destination, GROUP_ENTRY_THERE | GROUP_ENTRY_ABORT, 1);
}

static bool withdraw(struct dn_context *context, struct message_destination *destination,
                     struct message_op *op)
{
    struct group_entry *entry = group_ring_entry(
        destination->ring.start, destination->ring.unit_count, op->position - GROUP_PLACE_UNITS);
    /* The entry is still this message's: only we write there, after the head has passed. */
    return !message_is_passed(destination, op->position) &&
           destination->way->withdraw(context, destination, entry);
}

int message_send_cancel(struct message_op *op)
{
    struct dn_context *context = op->context;
    struct message_destination *destination = op->destination;
    message_turn_get(context, &context->send_turn);
    uint8_t state = atomic_load_explicit(&op->state, memory_order_relaxed);
    bool taken_back = false;
    if (state == MESSAGE_OP_QUEUED) {
        dequeue(context, destination, op);
        if (op->position > 0) {
            abort_message(context, destination);
        }
        message_op_finish(op, DN_ETIMEOUT);
        taken_back = true;
    } else if (state == MESSAGE_OP_OFFERED) {
        taken_back = withdraw(context, destination, op);
        finish_offer(op, taken_back ? DN_ETIMEOUT : 0);
    }
    set_quick(destination);
    base_turn_end(&context->send_turn);
    return taken_back ? 0 : DN_EBUSY;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static bool is_done(void *argument)
{
    return message_send_is_done(argument);
}

/* The receiver needs a while to fetch a large message, and giving the core away meanwhile would
 * cost more than that. So we poll longer for each kilobyte, up to 200 us. */
static uint64_t polls_of(uint64_t bytes)
{
    uint64_t large = bytes < POLLED_BYTES ? bytes : POLLED_BYTES;
    return HOST_CLOSE_POLLS + large / 64;
}

static bool wait_closely(struct message_op *op, uint64_t timeout_ns)
{
    if (host_close_polls_fit(op->context->node, timeout_ns)) {
        for (uint64_t polls = polls_of(op->bytes); polls > 0; polls--) {
            if (message_send_is_done(op)) {
                return true;
            }
            cpu_relax_briefly();
        }
    }
    return message_send_is_done(op);
}

int message_send_wait(struct message_op *op, uint64_t timeout_ns)
{
    struct dn_context *context = op->context;
    struct message_destination *destination = op->destination;
    if (wait_closely(op, timeout_ns)) {
        return op->error;
    }
    /* If several threads wait, one that ends clears wants_room for the others; they find room
     * at the end of a nap at the latest. Deaths are the operation's own: a peer's ends it. */
    struct host_condition condition = {is_done, NULL, op, GROUP_WATCH_ANYTHING};
    struct group_ring_words *words = NULL;
    if (destination->way->asks_for_room) {
        condition.watch = GROUP_WATCH_NOTHING;
        message_turn_get(context, &context->send_turn);
        words = destination->box ? destination->ring.words : NULL;
        base_turn_end(&context->send_turn);
    }
    if (words) {
        atomic_store_explicit(&words->wants_room, GROUP_ROOM_AWAITED, memory_order_relaxed);
    }
    fabric_wake_stored_to(&context->node->lane);
    int error = host_wait(context->node, &condition, timeout_ns);
    if (words) {
        atomic_store_explicit(&words->wants_room, 0, memory_order_relaxed);
    }
    return error ? error : op->error;
}

/* ---- Calls --------------------------------------------------------------------------------- */

static int find_destination(const struct dn_context *context, int rank,
                            struct message_destination **destination)
{
    if (UNLIKELY((uint32_t)rank >= context->node_count || !context->destination_of[rank])) {
        return DN_ERANK;
    }
    *destination = context->destination_of[rank];
    return 0;
}

/* What went to nodes that are gone need not be waited for. */
static __attribute__((noinline)) int complete_lane(struct fabric_lane *lane)
{
    int error = lane->ops->quiet(lane);
    return error == DN_EPEER ? 0 : error;
}

/* Earlier stores must be in place before the receiver can see the message. Where stores are
 * prompt, the release of the header orders them already. */
static int complete_stores(const struct dn_context *context)
{
    struct fabric_lane *lane = &context->node->lane;
    return LIKELY(lane->is_prompt) ? 0 : complete_lane(lane);
}

/* The ordinary case: a small message, a connected ring with room, nobody before us. */
static inline __attribute__((always_inline)) bool send_quickly(
    struct dn_context *context, struct message_destination *destination, const void *data,
    size_t bytes)
{
    struct group_entry *entry = NULL;
    if (UNLIKELY(!base_turn_try(&context->send_turn))) {
        return false;
    }
    if (LIKELY(
            bytes < destination->quick_bytes &&
            atomic_load_explicit(&destination->box->open, memory_order_relaxed) &&
            !(atomic_load_explicit(destination->call, memory_order_relaxed) & GROUP_CALL_GONE))) {
        uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes);
        entry = group_ring_reserve(&destination->ring, units);
        if (LIKELY(entry != NULL)) {
            if (bytes == 8) {
                memcpy(&entry->total_bytes, data, 8);
            } else if (bytes) {
                memcpy(&entry->total_bytes, data, bytes);
            }
            group_ring_publish(&destination->ring,
                               GROUP_ENTRY_WHOLE | bytes << GROUP_ENTRY_BYTES_SHIFT, units);
        }
    }
    base_turn_end(&context->send_turn);
    if (UNLIKELY(!entry)) {
        return false;
    }
    message_announce(context, destination, entry);
    return true;
}

static struct message_op make_op(struct dn_context *context,
                                 struct message_destination *destination, const void *data,
                                 size_t bytes)
{
    struct message_op op = {
        .magic = MESSAGE_OP_MAGIC,
        .kind = MESSAGE_OP_SEND,
        .state = MESSAGE_OP_QUEUED,
        .peer = (int32_t)destination->rank,
        .context = context,
        .bytes = bytes,
        .destination = destination,
    };
    memcpy(&op.data, &data, sizeof data); /* only read from */
    return op;
}

/* Publishes the message or puts it into the list; DN_EBUSY: the list is full, or a buffer lent. */
static int begin(struct dn_context *context, struct message_destination *destination,
                 struct message_op *op, uint32_t entries)
{
    int error = 0;
    message_turn_get(context, &context->send_turn);
    if (destination->lent || destination->pending_count >= entries) {
        error = DN_EBUSY;
    } else {
        enqueue(context, destination, op);
        drive(context, destination);
    }
    base_turn_end(&context->send_turn);
    return error;
}

static __attribute__((noinline)) int send_slowly(struct dn_context *context,
                                                 struct message_destination *destination,
                                                 const void *data, size_t bytes,
                                                 uint64_t timeout_ns)
{
    struct message_op op = make_op(context, destination, data, bytes);
    /* A thread that waits needs no entry of the queue. */
    int error = begin(context, destination, &op, UINT32_MAX);
    if (error) {
        return error;
    }
    error = message_send_wait(&op, timeout_ns);
    if (error && atomic_load_explicit(&op.state, memory_order_relaxed) != MESSAGE_OP_DONE &&
        message_send_cancel(&op) != 0) {
        return op.error; /* it was received after all */
    }
    return error;
}

int message_send(struct dn_context *context, int rank, const void *data, size_t bytes,
                 uint64_t timeout_ns)
{
    struct message_destination *destination;
    int error = find_destination(context, rank, &destination);
    error = error ? error : complete_stores(context);
    if (UNLIKELY(error)) {
        return error;
    }
    if (LIKELY(send_quickly(context, destination, data, bytes))) {
        return 0;
    }
    return send_slowly(context, destination, data, bytes, timeout_ns);
}

int message_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
                  struct message_op *op)
{
    struct message_destination *destination;
    int error = find_destination(context, rank, &destination);
    error = error ? error : complete_stores(context);
    if (error) {
        return error;
    }
    struct message_op made = make_op(context, destination, data, bytes);
    if (send_quickly(context, destination, data, bytes)) {
        atomic_store_explicit(&made.state, MESSAGE_OP_DONE, memory_order_relaxed);
        *op = made;
        return 0;
    }
    *op = made;
    return begin(context, destination, op, context->queue_entries);
}

/* ---- Buffers ------------------------------------------------------------------------------- */

/* By records: how far the large send buffer has come. */
static enum message_state large_state(const struct message_destination *destination)
{
    return atomic_load_explicit(&destination->large_op.state, memory_order_relaxed);
}

/* Memory beside the ring for a message that does not fit into one entry. */
static int lend_large(struct dn_context *context, struct message_destination *destination,
                      uint64_t bytes)
{
    struct host_process *process = context->node->process;
    if (destination->large &&
        (destination->way->is_by_records
             ? large_state(destination) == MESSAGE_OP_QUEUED
             : !message_is_passed(destination, destination->large_position))) {
        return DN_EBUSY;
    }
    if (destination->large && destination->large_bytes < bytes) {
        host_arena_give(process, destination->large);
        destination->large = 0;
    }
    if (!destination->large) {
        if (!host_arena_take(process, bytes, &destination->large)) {
            destination->large = 0;
            return DN_ENOMEM;
        }
        destination->large_bytes = bytes;
        destination->large_position = 0;
    }
    destination->lent = (struct group_entry *)(void *)(group_node_memory(&process->view,
                                                                         process->view.rank) +
                                                       destination->large);
    destination->lent_units = 0;
    atomic_store_explicit(&destination->large_op.state, MESSAGE_OP_NONE, memory_order_relaxed);
    return 0;
}

static int lend(struct dn_context *context, struct message_destination *destination, uint64_t bytes,
                void **buffer)
{
    int error = connect_it(context, destination);
    if (error || destination->first || destination->lent) {
        return error ? error : DN_EBUSY;
    }
    if (bytes > group_ring_payload_max(&destination->ring, GROUP_WHOLE_HEADER_BYTES)) {
        error = lend_large(context, destination, bytes);
        *buffer = destination->lent;
    } else {
        uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes);
        destination->lent = destination->way->reserve(context, destination, units);
        error = destination->lent ? 0 : DN_EBUSY;
        destination->lent_units = units;
        *buffer = error ? NULL : &destination->lent->total_bytes;
    }
    destination->lent_bytes = bytes;
    return error;
}

int message_send_buffer_get(struct dn_context *context, int rank, size_t bytes, void **buffer)
{
    struct message_destination *destination;
    void *lent = NULL;
    int error = find_destination(context, rank, &destination);
    if (error) {
        return error;
    }
    message_turn_get(context, &context->send_turn);
    error = lend(context, destination, bytes, &lent);
    set_quick(destination);
    base_turn_end(&context->send_turn);
    if (!error) {
        *buffer = lent;
    } else if (error == DN_EBUSY) {
        fabric_progress(context->lane); /* a program that tries again and again drives the NIC */
    }
    return error;
}

static int send_lent(struct dn_context *context, struct message_destination *destination,
                     uint64_t bytes)
{
    struct group_entry *lent = destination->lent;
    if (!lent || bytes > destination->lent_bytes) {
        return DN_EINVAL;
    }
    if (is_gone(context, destination)) {
        destination->lent = NULL;
        if (destination->way->is_by_records && destination->lent_units) {
            abort_message(context, destination); /* its room in SB is free again */
        }
        return DN_EPEER;
    }
    if (destination->lent_units) {
        destination->way->publish(context, destination,
                                  GROUP_ENTRY_WHOLE | bytes << GROUP_ENTRY_BYTES_SHIFT,
                                  group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes));
    } else if (destination->way->is_by_records) {
        /* The caller tries again until the last piece is in SB, from where the NIC goes on. In
         * between other calls may bring it there, too. */
        if (large_state(destination) == MESSAGE_OP_NONE) {
            destination->large_op = make_op(context, destination, lent, bytes);
            enqueue(context, destination, &destination->large_op);
        }
        drive(context, destination);
        if (large_state(destination) == MESSAGE_OP_QUEUED) {
            return DN_EBUSY;
        }
        destination->lent = NULL;
        return destination->large_op.error;
    } else {
        if (!publish_place(context, destination, GROUP_ENTRY_WHOLE, bytes, destination->large,
                           bytes)) {
            return DN_EBUSY;
        }
        destination->large_position = destination->place_position = destination->ring.tail;
    }
    destination->lent = NULL;
    return destination->unreachable ? DN_EPEER : 0;
}

int message_send_buffer_send(struct dn_context *context, int rank, size_t bytes)
{
    struct message_destination *destination;
    int error = find_destination(context, rank, &destination);
    error = error ? error : complete_stores(context);
    if (error) {
        return error;
    }
    message_turn_get(context, &context->send_turn);
    error = send_lent(context, destination, bytes);
    set_quick(destination);
    base_turn_end(&context->send_turn);
    if (error == DN_EBUSY) {
        fabric_progress(context->lane);
    }
    return error;
}
