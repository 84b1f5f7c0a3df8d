/* Receiving.
 *
 * Every call is an operation: it takes the next message if there is one, or stands in the
 * context's list until there is. A message in pieces is put together in the buffer of the first
 * operation that can take it, or in memory of the source's own. If the operation ends early it
 * gets its buffer back, and the pieces move to that memory. */
#include <string.h>

#include "message/message_pieces.h"
#include "message/message_way.h"

enum {
    SCANS_PER_LOOK = 64,    /* one look into every ring for so many at the summary */
    POLLS_BEFORE_ROOM = 64, /* a receive that waits longer gives room back first */
};

/* ---- Giving room back ---------------------------------------------------------------------- */

/* A sender by packets has room enough without the last quarter. We spend a packet only on one
 * that has closed and waits until we have passed everything. */
static inline bool awaits_room(const struct message_source *source)
{
    uint32_t wants_room = atomic_load_explicit(&source->ring.words->wants_room,
                                               memory_order_relaxed);
    return !(wants_room & GROUP_ROOM_BY_PACKETS) || (wants_room & GROUP_ROOM_AWAITED);
}

/* Before this node waits: gives all room back to the senders that need it. */
static void give_all_back(struct dn_context *context)
{
    if (!context->owes_room) {
        return;
    }
    context->owes_room = false;
    for (uint32_t i = 0; i < context->source_count; i++) {
        struct message_source *source = &context->sources[i];
        if (atomic_load_explicit(&source->ring.head, memory_order_relaxed) ==
            source->ring.published) {
            continue;
        }
        if (awaits_room(source)) {
            message_give_back(context, source);
        } else {
            context->owes_room = true;
        }
    }
}

/* ---- Whether there is a whole message ------------------------------------------------------ */

enum readiness { NOTHING, IN_RING, AT_PLACE, ASSEMBLED, NO_MEMORY, BROKEN };

static void pass_offer(struct dn_context *context, struct message_source *source)
{
    group_ring_advance(&source->ring, GROUP_PLACE_UNITS);
    message_give_back(context, source);
}

/* Where a whole message is. NOTHING: its sender has taken it back. */
static enum readiness find_whole(struct dn_context *context, struct message_source *source,
                                 uint64_t header)
{
    if (!(header & GROUP_ENTRY_PLACE)) {
        return IN_RING;
    }
    /* Acquire: pairs with the sender's exchange. */
    switch (atomic_load_explicit(&group_ring_at_head(&source->ring)->state, memory_order_acquire)) {
    case GROUP_OFFERED: return AT_PLACE;
    case GROUP_WITHDRAWN: pass_offer(context, source); return NOTHING;
    default: return BROKEN;
    }
}

/* Takes the entry at the head, unless it is a whole message. NOTHING: go on with the next one. */
static enum readiness take_entry(struct dn_context *context, struct message_source *source,
                                 struct message_op *op, struct message_entry *entry)
{
    uint64_t header = entry->header;
    if (header & GROUP_ENTRY_PAD) {
        message_pass(context, source, entry->units);
        return NOTHING;
    }
    if (header & GROUP_ENTRY_ABORT) {
        message_pieces_drop(context, source, op);
        message_pass(context, source, entry->units);
        return NOTHING;
    }
    if ((header & GROUP_ENTRY_FIRST) && source->assembly != MESSAGE_NONE) {
        return BROKEN;
    }
    if ((header & GROUP_ENTRY_WHOLE) == GROUP_ENTRY_WHOLE) {
        return find_whole(context, source, header);
    }
    if ((header & GROUP_ENTRY_FIRST) && !message_pieces_begin(source, op, entry->total_bytes)) {
        return NO_MEMORY;
    }
    return message_pieces_take(context, source, op, entry) ? NOTHING : BROKEN;
}

/* Looks for a whole message, up to the position `end`, one lap of the ring away: a sender that
 * fills its ring with entries that are no messages must not keep us here. *entry then tells the
 * message's length. */
static enum readiness find_message(struct dn_context *context, struct message_source *source,
                                   struct message_op *op, uint64_t end, struct message_entry *entry)
{
    enum readiness found = NOTHING;
    while (found == NOTHING) {
        uint64_t head = atomic_load_explicit(&source->ring.head, memory_order_relaxed);
        if (source->assembly == MESSAGE_COMPLETE) {
            entry->total_bytes = source->total_bytes;
            return ASSEMBLED;
        }
        if (source->assembly == MESSAGE_BROKEN) {
            return BROKEN;
        }
        uint64_t header = source->assembly == MESSAGE_ENDED ? 0 : group_ring_look(&source->ring);
        if (!header || (int64_t)(end - head) <= 0) {
            return NOTHING;
        }
        found = message_entry_read(context, source, head, header, entry)
                    ? take_entry(context, source, op, entry)
                    : BROKEN;
    }
    if (found == BROKEN) {
        message_pieces_drop(context, source, op);
        source->assembly = MESSAGE_BROKEN;
    }
    return found;
}

/* ---- Delivering ---------------------------------------------------------------------------- */

/* Copies from the sender's memory; false: the sender took the message back meanwhile, or died, or
 * does not let us read it. In the last case nothing more is received from it, and a receive that
 * names it ends. */
static bool fetch(struct dn_context *context, struct message_source *source,
                  const struct message_entry *entry, unsigned char *target)
{
    _Atomic uint64_t *state = &group_ring_at_head(&source->ring)->state;
    uint64_t offered = GROUP_OFFERED;
    int error = message_copy_from(context, source, entry, target);
    KILL_POINT("message: copied, not acknowledged");
    bool fetched = !error && atomic_compare_exchange_strong(state, &offered, GROUP_FETCHED);
    KILL_POINT("message: acknowledged, head not moved");
    if (error && atomic_load_explicit(state, memory_order_acquire) != GROUP_WITHDRAWN) {
        source->assembly = error == DN_EPEER ? MESSAGE_ENDED : MESSAGE_BROKEN;
    }
    pass_offer(context, source);
    return fetched;
}

static void end_assembly(struct message_source *source, struct message_op *op)
{
    if (source->target == source->own) {
        memcpy(op->data, source->own, source->total_bytes);
    } else {
        INVARIANT(op->borrower == source);
        op->borrower = NULL;
    }
    source->assembly = MESSAGE_NONE;
    message_pieces_drop_own(source);
}

/* Copies the message into the operation's buffer, which is large enough; false: taken back. */
static bool deliver(struct dn_context *context, struct message_source *source,
                    enum readiness readiness, struct message_op *op,
                    const struct message_entry *entry)
{
    if (op->borrower && op->borrower != source) {
        message_pieces_return_buffer(op);
    }
    switch (readiness) {
    case IN_RING:
        if (entry->bytes) {
            memcpy(op->data, &group_ring_at_head(&source->ring)->total_bytes, entry->bytes);
        }
        message_pass(context, source, entry->units);
        return true;
    case AT_PLACE: return fetch(context, source, entry, op->data);
    default: end_assembly(source, op); return true;
    }
}

/* Lends the message where it lies in the ring. A message that lies elsewhere, or that its sender
 * could take back, is copied first. */
static int lend(struct dn_context *context, struct message_source *source, enum readiness readiness,
                struct message_op *op, const struct message_entry *entry)
{
    if (readiness == IN_RING) {
        memcpy(&op->data, &(void *){&group_ring_at_head(&source->ring)->total_bytes},
               sizeof op->data);
        source->lent_units = entry->units;
    } else {
        if (readiness == AT_PLACE) {
            if (!message_pieces_own(source, entry->bytes ? entry->bytes : 1)) {
                return DN_ENOMEM;
            }
            if (!fetch(context, source, entry, source->own)) {
                return DN_EBUSY; /* taken back: look again */
            }
        }
        source->assembly = MESSAGE_NONE;
        op->data = source->own;
        source->lent_units = 0;
    }
    source->lent = true;
    return 0;
}

/* ---- One source, any source ---------------------------------------------------------------- */

/* Gives the operation the message that was found; DN_EBUSY: it was taken back. */
static int give(struct dn_context *context, struct message_source *source, enum readiness readiness,
                struct message_op *op, const struct message_entry *entry)
{
    switch (op->kind) {
    case MESSAGE_OP_RECV:
        if (entry->total_bytes > op->bytes) {
            return DN_ETOOLONG;
        }
        return deliver(context, source, readiness, op, entry) ? 0 : DN_EBUSY;
    case MESSAGE_OP_IN_PLACE: return lend(context, source, readiness, op, entry);
    default: return 0;
    }
}

/* With the turn: whether the operation is done by this source's next message. */
static bool try_source(struct dn_context *context, struct message_source *source,
                       struct message_op *op)
{
    uint64_t end = atomic_load_explicit(&source->ring.head, memory_order_relaxed) +
                   source->ring.unit_count;
    bool is_named = op->peer != DN_ANY;
    struct message_entry entry;
    int error = DN_EBUSY;
    if (source->lent) {
        if (is_named) {
            message_op_finish(op, DN_EBUSY);
        }
        return is_named;
    }
    while (error == DN_EBUSY) {
        enum readiness readiness = find_message(context, source, op, end, &entry);
        switch (readiness) {
        case NOTHING: return false;
        case NO_MEMORY: error = DN_ENOMEM; break;
        case BROKEN:
            if (!is_named) {
                return false;
            }
            error = DN_EPEER;
            break;
        default: error = give(context, source, readiness, op, &entry);
        }
    }
    if (!error) {
        op->bytes = entry.total_bytes;
        op->peer = (int32_t)source->rank;
    }
    if (op->borrower) {
        message_pieces_return_buffer(op);
    }
    message_op_finish(op, error);
    return true;
}

/* Whether to look at a source: its bit is set, or it is time to look at every one. If its ring is
 * empty, clears the bit, looks again, and sets it again if something has come in between. */
static bool is_worth_a_look(struct dn_context *context, uint32_t index, bool every)
{
    if (!context->summary || every) {
        return true;
    }
    _Atomic uint64_t *summary = context->summary + index / 64;
    const struct message_source *source = &context->sources[index];
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (!(atomic_load_explicit(summary, memory_order_relaxed) & bit)) {
        return false;
    }
    if (group_ring_look(&source->ring)) {
        return true;
    }
    if (source->way->sets_summary) {
        atomic_fetch_and(summary, ~bit);
        KILL_POINT("message: summary bit cleared");
        if (group_ring_look(&source->ring)) {
            atomic_fetch_or(summary, bit);
            return true;
        }
    }
    return source->assembly != MESSAGE_NONE;
}

static bool try_any(struct dn_context *context, struct message_op *op, bool every)
{
    every = every || context->scan_count++ % SCANS_PER_LOOK == 0;
    for (uint32_t i = 0; i < context->source_count; i++) {
        uint32_t index = context->next_source + i;
        index = index < context->source_count ? index : index - context->source_count;
        if (is_worth_a_look(context, index, every) &&
            try_source(context, &context->sources[index], op)) {
            /* Next time begin with the others; but a message that stayed is the next one. */
            if (op->error == 0 && op->kind != MESSAGE_OP_PROBE) {
                context->next_source = index + 1 < context->source_count ? index + 1 : 0;
            } else {
                context->next_source = index;
            }
            return true;
        }
    }
    return false;
}

static bool try_op(struct dn_context *context, struct message_op *op, bool every)
{
    return op->peer == DN_ANY ? try_any(context, op, every)
                              : try_source(context, context->source_of[op->peer], op);
}

/* ---- The list ------------------------------------------------------------------------------ */

static bool overlap(const struct message_op *one, const struct message_op *other)
{
    return one->peer == DN_ANY || other->peer == DN_ANY || one->peer == other->peer;
}

static void post(struct dn_context *context, struct message_op *op)
{
    struct message_op *last = atomic_load_explicit(&context->posted, memory_order_relaxed);
    op->next = NULL;
    if (!last) {
        atomic_store_explicit(&context->posted, op, memory_order_relaxed);
        return;
    }
    while (last->next) {
        last = last->next;
    }
    last->next = op;
}

static void unpost(struct dn_context *context, struct message_op *op)
{
    struct message_op *at = atomic_load_explicit(&context->posted, memory_order_relaxed);
    if (at == op) {
        atomic_store_explicit(&context->posted, op->next, memory_order_relaxed);
        return;
    }
    while (at->next != op) {
        at = at->next;
    }
    at->next = op->next;
}

/* With the turn: serves the list. Operations behind one that still waits do not get messages
 * that it could take. */
static void serve_posted(struct dn_context *context, bool every)
{
    struct message_op *op = atomic_load_explicit(&context->posted, memory_order_relaxed);
    while (op) {
        struct message_op *next = op->next;
        struct message_op *before = atomic_load_explicit(&context->posted, memory_order_relaxed);
        while (before != op && !overlap(before, op)) {
            before = before->next;
        }
        if (before == op) {
            struct message_op copy = *op;
            if (try_op(context, &copy, every)) {
                /* Leave the list before the owner can see that the operation is done. */
                unpost(context, op);
                op->data = copy.data;
                op->bytes = copy.bytes;
                op->peer = copy.peer;
                op->borrower = NULL;
                message_op_finish(op, copy.error);
            } else {
                op->borrower = copy.borrower;
            }
        }
        op = next;
    }
}

/* The same, if nobody else does. */
static void serve(struct dn_context *context, bool every)
{
    if (base_turn_try(&context->recv_turn)) {
        serve_posted(context, every);
        give_all_back(context);
        base_turn_end(&context->recv_turn);
    }
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static bool is_done(struct message_op *op, bool every)
{
    if (atomic_load_explicit(&op->state, memory_order_acquire) != MESSAGE_OP_DONE) {
        serve(op->context, every);
        message_send_progress(op->context);
    }
    return atomic_load_explicit(&op->state, memory_order_acquire) == MESSAGE_OP_DONE;
}

bool message_recv_is_done(struct message_op *op)
{
    return is_done(op, false);
}

static bool is_acknowledged(struct host_process *process, uint32_t rank)
{
    pthread_mutex_lock(&process->acknowledge_lock);
    bool known = process->acknowledged[rank / 64] >> (rank % 64) & 1;
    pthread_mutex_unlock(&process->acknowledge_lock);
    return known;
}

struct waiting {
    struct message_op *op;
    int source; /* as asked for; op->peer changes when the operation is done */
    struct host_condition condition;
};

/* Whether nothing more will come: the source is gone. For DN_ANY: all are gone, or one has died
 * and the program has not acknowledged it. */
static bool nobody_sends(const struct dn_node *node, void *argument, bool forever)
{
    const struct waiting *waiting = argument;
    const struct dn_context *context = waiting->op->context;
    (void)forever;
    if (waiting->source != DN_ANY) {
        return group_life_gone(group_life(context->view, (uint32_t)waiting->source));
    }
    bool all_gone = true;
    bool news = host_death_is_news(node);
    for (uint32_t i = 0; i < context->source_count; i++) {
        uint32_t rank = context->sources[i].rank;
        enum dn_life life = group_life(context->view, rank);
        if (news && life == DN_DEAD && !is_acknowledged(node->process, rank)) {
            return true;
        }
        all_gone = all_gone && group_life_gone(life);
    }
    return all_gone;
}

/* Watches the line where the source's next entry will start. A nap that has begun with an earlier
 * line is not cut short. */
static bool watched_is_done(void *argument)
{
    struct waiting *waiting = argument;
    struct message_op *op = waiting->op;
    if (is_done(op, true)) {
        return true;
    }
    if (waiting->source != DN_ANY) {
        const struct message_source *source = op->context->source_of[waiting->source];
        waiting->condition.watch = group_watch_of(op->context->view,
                                                  group_ring_at_head(&source->ring));
    }
    return false;
}

int message_recv_wait(struct message_op *op, uint64_t timeout_ns)
{
    struct dn_context *context = op->context;
    if (host_close_polls_fit(context->node, timeout_ns)) {
        for (int poll = 0; poll < HOST_CLOSE_POLLS; poll++) {
            if (message_recv_is_done(op)) {
                return op->error;
            }
            cpu_relax_briefly();
        }
    }
    message_turn_get(context, &context->recv_turn);
    int source = op->peer;
    base_turn_end(&context->recv_turn);
    struct waiting waiting = {
        op, source, {watched_is_done, nobody_sends, &waiting, GROUP_WATCH_ANYTHING}};
    fabric_wake_stored_to(&context->node->lane);
    int error = host_wait(context->node, &waiting.condition, timeout_ns);
    return error ? error : op->error;
}

int message_recv_cancel(struct message_op *op)
{
    struct dn_context *context = op->context;
    message_turn_get(context, &context->recv_turn);
    bool taken_back = atomic_load_explicit(&op->state, memory_order_relaxed) == MESSAGE_OP_QUEUED;
    if (taken_back) {
        unpost(context, op);
        message_pieces_return_buffer(op);
        message_op_finish(op, DN_ETIMEOUT);
    }
    base_turn_end(&context->recv_turn);
    return taken_back ? 0 : DN_EBUSY;
}

/* ---- Calls --------------------------------------------------------------------------------- */

static int check_source(const struct dn_context *context, int source)
{
    if (source == DN_ANY) {
        return context->source_count ? 0 : DN_ERANK;
    }
    return LIKELY((uint32_t)source < context->node_count && context->source_of[source]) ? 0
                                                                                        : DN_ERANK;
}

/* Where the next message of a source, or of any, will appear; NULL: there are several places.
 * Another thread may move on meanwhile, and then we look at the wrong place, which does no harm. */
static inline const _Atomic uint64_t *place_to_poll(const struct dn_context *context, int source)
{
    if (LIKELY(source != DN_ANY)) {
        return &group_ring_at_head(&context->source_of[source]->ring)->header;
    }
    return context->source_count == 1 ? &group_ring_at_head(&context->sources[0].ring)->header
                                      : NULL;
}

/* Whether something has come, without the turn. If another thread has moved on, payload may be
 * written to this place; so the caller must look again, with the turn. */
static inline MEANT_TO_RACE bool peek(const struct dn_context *context,
                                      const _Atomic uint64_t *place)
{
    if (LIKELY(place != NULL)) {
        return atomic_load_explicit(place, memory_order_relaxed) != 0;
    }
    if (context->source_count > GROUP_MESSAGE_FEW_SOURCES) {
        return true;
    }
    for (uint32_t i = 0; i < context->source_count; i++) {
        const struct group_entry *entry = group_ring_at_head(&context->sources[i].ring);
        if (atomic_load_explicit(&entry->header, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* The ordinary case: a whole message in the ring, and it fits the buffer. */
static inline bool take_small(struct dn_context *context, struct message_source *source,
                              struct message_op *op, uint64_t header)
{
    uint64_t bytes = group_entry_bytes(header);
    uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes);
    uint64_t head = atomic_load_explicit(&source->ring.head, memory_order_relaxed);
    if (UNLIKELY((header & (GROUP_ENTRY_WHOLE | GROUP_ENTRY_PLACE)) != GROUP_ENTRY_WHOLE ||
                 op->kind != MESSAGE_OP_RECV || bytes > op->bytes || source->lent ||
                 source->assembly != MESSAGE_NONE || units > group_ring_row(&source->ring, head))) {
        return false;
    }
    const struct group_ring_in *ring = &source->ring;
    const void *payload = &group_ring_entry(ring->start, ring->unit_count, head)->total_bytes;
    if (bytes == 8) {
        memcpy(op->data, payload, 8);
    } else if (bytes) {
        memcpy(op->data, payload, bytes);
    }
    message_pass(context, source, units);
    op->bytes = bytes;
    op->error = 0;
    return true;
}

/* With the turn: whether the operation is done. If it has begun to take a message in pieces, it
 * joins the list. */
static __attribute__((noinline)) bool try_now(struct dn_context *context, struct message_op *op,
                                              bool *posted)
{
    if (try_op(context, op, false)) {
        return true;
    }
    if (op->borrower) {
        post(context, op);
        *posted = true;
    }
    return false;
}

/* Something has come, and the turn is ours. */
static inline bool take_quickly(struct dn_context *context, struct message_op *op, bool *posted)
{
    if (UNLIKELY(atomic_load_explicit(&context->posted, memory_order_relaxed) != NULL)) {
        return false;
    }
    if (LIKELY(op->peer != DN_ANY)) {
        struct message_source *source = context->source_of[op->peer];
        if (LIKELY(take_small(context, source, op, group_ring_look(&source->ring)))) {
            return true;
        }
    }
    return try_now(context, op, posted);
}

/* Takes what has come if nobody is in the list, polling closely for a while. */
static inline bool receive_quickly(struct dn_context *context, struct message_op *op,
                                   uint64_t timeout_ns, bool *posted)
{
    int polls = host_close_polls_fit(context->node, timeout_ns) ? HOST_CLOSE_POLLS : 1;
    const _Atomic uint64_t *place = place_to_poll(context, op->peer);
    for (int poll = 0; poll < polls; poll++) {
        if (peek(context, place)) {
            if (LIKELY(base_turn_try(&context->recv_turn))) {
                bool done = take_quickly(context, op, posted);
                base_turn_end(&context->recv_turn);
                if (LIKELY(done) || *posted) {
                    return done;
                }
                place = place_to_poll(context, op->peer); /* a pad was passed, say */
            }
        } else if (poll == POLLS_BEFORE_ROOM && base_turn_try(&context->recv_turn)) {
            give_all_back(context);
            base_turn_end(&context->recv_turn);
        }
        cpu_relax_briefly();
    }
    return false;
}

static __attribute__((noinline)) int receive_slowly(struct dn_context *context,
                                                    struct message_op *op, uint64_t timeout_ns,
                                                    bool posted)
{
    if (!posted) {
        message_turn_get(context, &context->recv_turn);
        post(context, op);
        base_turn_end(&context->recv_turn);
    }
    int error = message_recv_wait(op, timeout_ns);
    if (error && message_recv_cancel(op) != 0) {
        return op->error;
    }
    return error;
}

static int make_op(struct dn_context *context, enum message_kind kind, int source,
                   struct message_op *op)
{
    int error = check_source(context, source);
    if (LIKELY(!error)) {
        op->magic = MESSAGE_OP_MAGIC;
        op->kind = (uint8_t)kind;
        op->peer = source;
        op->context = context;
        op->borrower = NULL;
        atomic_store_explicit(&op->state, MESSAGE_OP_QUEUED, memory_order_relaxed);
    }
    return error;
}

int message_recv(struct dn_context *context, enum message_kind kind, int source,
                 struct message_op *op, uint64_t timeout_ns)
{
    bool posted = false;
    int error = make_op(context, kind, source, op);
    if (UNLIKELY(error)) {
        return error;
    }
    if (LIKELY(receive_quickly(context, op, timeout_ns, &posted))) {
        return op->error;
    }
    return receive_slowly(context, op, timeout_ns, posted);
}

int message_irecv(struct dn_context *context, int source, struct message_op *op)
{
    int error = make_op(context, MESSAGE_OP_RECV, source, op);
    if (error) {
        return error;
    }
    message_turn_get(context, &context->recv_turn);
    post(context, op);
    serve_posted(context, true);
    base_turn_end(&context->recv_turn);
    return 0;
}

int message_recv_release(struct dn_context *context, int rank)
{
    int error = rank == DN_ANY ? DN_ERANK : check_source(context, rank);
    if (error) {
        return error;
    }
    struct message_source *source = context->source_of[rank];
    message_turn_get(context, &context->recv_turn);
    if (!source->lent) {
        error = DN_EINVAL;
    } else {
        source->lent = false;
        if (source->lent_units) {
            message_pass(context, source, source->lent_units);
        } else {
            message_pieces_drop_own(source);
        }
    }
    base_turn_end(&context->recv_turn);
    return error;
}
