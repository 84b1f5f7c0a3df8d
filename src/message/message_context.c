/* Opening and closing contexts, and finding the box of a destination.
 *
 * A closed context keeps its memory until every sender has let go of its box and every receiver
 * has passed what it sent: until then somebody may still touch that memory. */
#include "message/message_way.h"

#include <stdlib.h>
#include <string.h>

#include "host/arena.h"
#include "group/service_memory.h"

/* A node that leaves waits so long for its receivers to fetch what it has sent. */
#define LINGER_NS UINT64_C(10000000000)

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct dn_context *handles;
static uint32_t generation;

static bool turn_is_free(void *argument)
{
    return atomic_load_explicit((_Atomic uint32_t *)argument, memory_order_relaxed) == 0;
}

void message_turn_get(struct dn_context *context, _Atomic uint32_t *turn)
{
    while (UNLIKELY(atomic_exchange_explicit(turn, 1, memory_order_acquire) != 0)) {
        struct host_condition condition = {turn_is_free, NULL, turn, GROUP_WATCH_NOTHING};
        (void)host_wait(context->node, &condition, DN_FOREVER);
    }
}

/* ---- Letting go ---------------------------------------------------------------------------- */

static bool is_held_by_another(const struct dn_context *context,
                               const struct group_message_slot *slot)
{
    for (const struct dn_context *other = handles; other; other = other->next) {
        for (uint32_t i = 0; other != context && i < other->destination_count; i++) {
            if (other->destinations[i].box && other->destinations[i].slot == slot) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the receiver reads nothing more of what this context sent it. */
static bool is_over(struct dn_context *context, struct message_destination *destination)
{
    return group_life_gone(group_life(context->view, destination->rank)) ||
           !atomic_load_explicit(&destination->box->open, memory_order_acquire) ||
           (destination->way->is_delivered
                ? destination->way->is_delivered(context, destination)
                : message_is_passed(destination, destination->ring.tail));
}

bool message_is_owed_by_another(const struct dn_context *context, uint32_t rank)
{
    for (struct dn_context *other = handles; other; other = other->next) {
        bool is_before = other != context && other->slot && other->view == context->view &&
                         other->channel == context->channel;
        struct message_destination *destination = is_before ? other->destination_of[rank] : NULL;
        if (destination && destination->box && !is_over(other, destination)) {
            return true;
        }
    }
    return false;
}

static void let_go_of_box(struct dn_context *context, const struct message_destination *destination,
                          struct group_message_slot *slot)
{
    if (is_held_by_another(context, slot)) {
        return;
    }
    destination->way->let_go(context, destination->rank, slot);
}

/* Lets go of the boxes whose owners have read everything; false: there are others. */
static bool let_go(struct dn_context *context)
{
    struct host_process *process = context->node->process;
    bool all = true;
    for (uint32_t i = 0; i < context->destination_count; i++) {
        struct message_destination *destination = &context->destinations[i];
        if (!destination->box) {
            continue;
        }
        if (!is_over(context, destination)) {
            all = false;
            continue;
        }
        destination->box = NULL;
        if (destination->way->disconnect) {
            destination->way->disconnect(context, destination);
        }
        let_go_of_box(context, destination, destination->slot);
        if (destination->stages) {
            host_arena_give(process, destination->stages);
        }
        if (destination->large) {
            host_arena_give(process, destination->large);
        }
    }
    return all;
}

/* Frees what lies in ordinary memory; the handle may be used again. */
static void forget(struct dn_context *context)
{
    for (uint32_t i = 0; context->sources && i < context->source_count; i++) {
        free(context->sources[i].own);
    }
    free(context->destinations);
    free(context->sources);
    free(context->destination_of);
    free(context->source_of);
    free(context->by_records);
    struct dn_context *next = context->next;
    memset(context, 0, sizeof *context);
    context->next = next;
}

/* Lets go of each box as soon as its owner has read everything, even while somebody still holds
 * ours: otherwise two closed contexts would wait for each other. */
static void reclaim(void)
{
    for (struct dn_context *context = handles; context; context = context->next) {
        if (context->slot && !context->open && let_go(context) &&
            group_message_unused(context->view, context->slot)) {
            if (context->flags) {
                message_records_close(context);
            }
            /* What we told our senders must arrive before this memory gets a new use. */
            (void)fabric_settle(context->lane);
            fabric_revoke(context->lane, context->box_offset);
            host_arena_give(context->node->process, context->box_offset);
            forget(context);
        }
    }
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* Marks each rank of a list: DN_ERANK, DN_EINVAL for a rank named twice. */
static int mark(const struct group_view *view, const int *ranks, size_t count, bool *marks)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = (uint32_t)ranks[i]; /* a negative one becomes larger than any */
        if (rank >= view->node_count) {
            return DN_ERANK;
        }
        if (marks[rank]) {
            return DN_EINVAL;
        }
        marks[rank] = true;
    }
    return 0;
}

static const struct message_way *way_to(const struct dn_context *context, uint32_t rank)
{
    return fabric_road(context->lane, rank) == FABRIC_IN_PLACE ? &message_in_place
           : context->flags                                    ? &message_by_records
                                                               : &message_by_packets;
}

/* The peers, by rank. */
static int make_tables(struct dn_context *context, const bool *is_destination,
                       const bool *is_source)
{
    uint32_t nodes = context->node_count;
    context->destinations = calloc(context->destination_count + 1, sizeof *context->destinations);
    context->sources = calloc(context->source_count + 1, sizeof *context->sources);
    context->destination_of = calloc(nodes, sizeof *context->destination_of);
    context->source_of = calloc(nodes, sizeof *context->source_of);
    context->by_records = calloc(context->source_count + 1, sizeof *context->by_records);
    if (!context->destinations || !context->sources || !context->destination_of ||
        !context->source_of || !context->by_records) {
        return DN_ENOMEM;
    }
    struct message_destination *destination = context->destinations;
    struct message_source *source = context->sources;
    for (uint32_t rank = 0; rank < nodes; rank++) {
        if (is_destination[rank]) {
            destination->rank = rank;
            destination->way = way_to(context, rank);
            destination->call = &context->view->ports[rank].call;
            context->destination_of[rank] = destination++;
        }
        if (is_source[rank]) {
            source->rank = rank;
            source->way = way_to(context, rank);
            context->source_of[rank] = source++;
        }
    }
    return 0;
}

/* The bits of sources that set none are always set. */
static void make_summary(struct dn_context *context, _Atomic uint64_t *summary)
{
    bool is_used = false;
    for (uint32_t i = 0; i < context->source_count; i++) {
        if (context->sources[i].way->sets_summary) {
            is_used = true;
        } else {
            atomic_fetch_or(&summary[i / 64], UINT64_C(1) << (i % 64));
        }
    }
    context->summary = is_used && group_message_has_summary(context->source_count) ? summary : NULL;
}

/* Lets the sources that are reached by packets write into their rings. */
static int grant_box(struct dn_context *context, uint64_t unit_count)
{
    uint32_t *ranks = malloc((context->source_count + 1) * sizeof *ranks);
    for (uint32_t i = 0; ranks && i < context->source_count; i++) {
        ranks[i] = context->sources[i].rank;
    }
    const struct fabric_grant grant = {
        .kind = FABRIC_GRANT_BOX,
        .offset = context->box_offset,
        .ranks = ranks,
        .count = context->source_count,
        .unit_count = unit_count,
    };
    int error = ranks ? fabric_grant(context->lane, &grant) : DN_ENOMEM;
    free(ranks);
    if (error) {
        host_arena_give(context->node->process, context->box_offset);
    }
    return error;
}

static int make_box(struct dn_context *context, uint64_t ring_bytes)
{
    uint64_t unit_count = GROUP_RING_BYTES_MIN / GROUP_UNIT_BYTES;
    while (unit_count * GROUP_UNIT_BYTES < ring_bytes) {
        unit_count *= 2;
    }
    struct group_box_layout layout = group_box_layout(context->source_count, unit_count);
    struct group_message_box *box = host_arena_take(context->node->process, layout.bytes,
                                                    &context->box_offset);
    int error = box ? grant_box(context, unit_count) : DN_ENOMEM;
    if (error) {
        return error;
    }
    atomic_store_explicit(&box->source_count, context->source_count, memory_order_relaxed);
    atomic_store_explicit(&box->unit_count, unit_count, memory_order_relaxed);
    for (uint32_t i = 0; i < context->source_count; i++) {
        struct message_source *source = &context->sources[i];
        /* Atomic: a node that looks for a box which lay here before may be reading it. */
        __atomic_store_n(&group_box_ranks(box, &layout)[i], source->rank, __ATOMIC_RELAXED);
        group_message_ring_in(box, &layout, i, &source->ring);
        if (source->way->open_ring) {
            source->way->open_ring(context, source);
        }
    }
    make_summary(context, group_box_summary(box, &layout));
    atomic_store_explicit(&box->open, 1, memory_order_relaxed);
    context->box = box;
    return 0;
}

/* With handles_lock: a slot that no context of this node has. */
static struct group_message_slot *free_slot(const struct group_view *view)
{
    struct group_service *service = group_service(view, view->rank);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS; i++) {
        struct group_message_slot *slot = &service->message_slots[i];
        const struct dn_context *user = handles;
        while (user && user->slot != slot) {
            user = user->next;
        }
        if (!user) {
            return slot;
        }
    }
    return NULL;
}

/* With handles_lock: an unused handle, aligned so that each turn has a cache line of its own. */
static struct dn_context *take_handle(void)
{
    struct dn_context *context = handles;
    while (context && context->slot) {
        context = context->next;
    }
    if (!context) {
        context = aligned_alloc(CACHE_LINE_BYTES, sizeof *context);
        if (context) {
            memset(context, 0, sizeof *context);
            context->next = handles;
            handles = context;
        }
    }
    return context;
}

static int open_locked(struct dn_node *node, const struct message_context_request *request,
                       const bool *is_destination, const bool *is_source, struct dn_context **made)
{
    const struct group_view *view = &node->process->view;
    fabric_progress(&node->process->default_lane->lane); /* learns who is alive now */
    reclaim();
    for (const struct dn_context *other = handles; other; other = other->next) {
        if (other->open && other->view == view && other->channel == request->channel) {
            return DN_EBUSY;
        }
    }
    struct group_message_slot *slot = free_slot(view);
    struct dn_context *context = slot ? take_handle() : NULL;
    if (!context) {
        return slot ? DN_ENOMEM : DN_EFULL;
    }
    context->node = node;
    context->view = view;
    context->lane = &node->process->default_lane->lane;
    context->node_count = view->node_count;
    context->destination_count = (uint32_t)request->destination_count;
    context->source_count = (uint32_t)request->source_count;
    context->queue_entries = request->options.send_queue_entries;
    context->channel = request->channel;
    context->flags = request->options.flags;
    int error = make_tables(context, is_destination, is_source);
    error = error ? error : make_box(context, request->options.ring_bytes);
    if (error) {
        forget(context);
        return error;
    }
    context->slot = slot;
    error = context->flags ? message_records_open(context) : 0;
    if (error) {
        fabric_revoke(context->lane, context->box_offset);
        host_arena_give(node->process, context->box_offset);
        forget(context);
        return error;
    }
    context->open = MESSAGE_CONTEXT_OPEN;
    /* Never 0, so no key is 0. */
    generation = generation + 1 ? generation + 1 : 1;
    group_message_offer(slot, generation, request->channel, context->box_offset);
    for (uint32_t i = 0; i < context->source_count; i++) {
        context->sources[i].way->tell_of_box(context, &context->sources[i]);
    }
    /* Settle, so that whoever hears of the context from this node finds its box. */
    (void)fabric_settle(context->lane);
    *made = context;
    return 0;
}

int message_context_open(struct dn_node *node, const struct message_context_request *request,
                         struct dn_context **context)
{
    const struct group_view *view = &node->process->view;
    bool *marks = calloc(2 * (size_t)view->node_count, sizeof *marks);
    bool *is_source = marks ? marks + view->node_count : NULL;
    int error = marks ? 0 : DN_ENOMEM;
    error = error ? error : mark(view, request->destinations, request->destination_count, marks);
    error = error ? error : mark(view, request->sources, request->source_count, is_source);
    if (!error) {
        pthread_mutex_lock(&handles_lock);
        error = open_locked(node, request, marks, is_source, context);
        pthread_mutex_unlock(&handles_lock);
    }
    free(marks);
    return error;
}

/* Either both ends have flags, or none has. */
static int check_kind(const struct message_destination *destination)
{
    uint32_t wants_room = atomic_load_explicit(&destination->ring.words->wants_room,
                                               memory_order_relaxed);
    bool wants_records = wants_room & GROUP_ROOM_RECORDS;
    return wants_records == destination->way->is_by_records ? 0 : DN_ENOTSUP;
}

int message_destination_connect(struct dn_context *context, struct message_destination *destination)
{
    struct message_held held = {0};
    pthread_mutex_lock(&handles_lock);
    int error = destination->way->hold(context, destination, &held);
    if (!error) {
        group_message_ring_out(held.box, &held.layout, held.index, &destination->ring);
        destination->slot = held.slot;
        destination->summary = held.summary ? held.summary + held.index / 64 : NULL;
        destination->summary_bit = UINT64_C(1) << (held.index % 64);
        error = check_kind(destination);
    }
    if (!error && destination->way->connect) {
        error = destination->way->connect(context, destination);
    }
    if (!error) {
        destination->box = held.box;
    } else if (held.slot) {
        let_go_of_box(context, destination, held.slot);
    }
    pthread_mutex_unlock(&handles_lock);
    return error;
}

/* ---- Closing ------------------------------------------------------------------------------- */

static void let_go_of_rings(struct dn_context *context)
{
    for (uint32_t i = 0; i < context->destination_count; i++) {
        struct message_destination *destination = &context->destinations[i];
        if (destination->box) {
            atomic_store_explicit(&destination->ring.words->tail, destination->ring.tail,
                                  memory_order_relaxed);
        }
        if (destination->box && destination->way->await_end && !is_over(context, destination)) {
            destination->way->await_end(context, destination);
        }
    }
}

int message_context_close(struct dn_context *context)
{
    message_send_progress(context); /* of a send buffer on its way, whose end nobody waits for */
    /* The turns before the lock: a thread that connects takes them in this order, too. */
    message_turn_get(context, &context->send_turn);
    message_turn_get(context, &context->recv_turn);
    pthread_mutex_lock(&handles_lock);
    int error = 0;
    if (context->open != MESSAGE_CONTEXT_OPEN) {
        error = DN_ESTATE;
    } else if (atomic_load(&context->pending_count) || atomic_load(&context->posted)) {
        error = DN_EBUSY;
    } else {
        context->open = 0;
        let_go_of_rings(context);
        group_message_withdraw(context->slot);
        /* Release: pairs with the senders' acquire; one that sees it waits for us no more. */
        atomic_store_explicit(&context->box->open, 0, memory_order_release);
        for (uint32_t i = 0; i < context->source_count; i++) {
            context->sources[i].way->tell_of_close(context, &context->sources[i]);
        }
        (void)fabric_settle(context->lane);
    }
    base_turn_end(&context->recv_turn);
    base_turn_end(&context->send_turn);
    if (!error) {
        reclaim();
    }
    pthread_mutex_unlock(&handles_lock);
    return error;
}

/* ---- Leaving ------------------------------------------------------------------------------- */

/* Whether a receiver still has to fetch a message from memory that goes with this process. Its
 * sender was told that the message is sent. */
static bool is_awaited(struct dn_context *context, struct message_destination *destination)
{
    return destination->box && destination->way->lends_to_others &&
           (destination->way->is_delivered ||
            !message_is_passed(destination, destination->place_position)) &&
           !is_over(context, destination);
}

static bool nothing_is_awaited(void *argument)
{
    const struct dn_node *node = argument;
    for (struct dn_context *context = handles; context; context = context->next) {
        for (uint32_t i = 0; i < context->destination_count; i++) {
            if (context->view == node->lane.view &&
                is_awaited(context, &context->destinations[i])) {
                return false;
            }
        }
    }
    return true;
}

void message_end(struct dn_node *node)
{
    struct host_condition condition = {nothing_is_awaited, NULL, node, GROUP_WATCH_ANYTHING};
    pthread_mutex_lock(&handles_lock);
    (void)host_wait(node, &condition, LINGER_NS);
    /* All that we have told anybody is in place before this node leaves. */
    (void)fabric_settle(&node->lane);
    for (struct dn_context *context = handles; context; context = context->next) {
        if (context->slot) {
            if (context->open) {
                group_message_withdraw(context->slot);
                atomic_store_explicit(&context->box->open, 0, memory_order_release);
            }
            if (context->flags) {
                message_records_close(context);
            }
            forget(context);
        }
    }
    pthread_mutex_unlock(&handles_lock);
}
