/* SEND/RECEIVE by records: drives Modified ACK/NACK (nic/message_protocol.h).
 *
 * Only with loss detection may records go by a carrier that loses some: data by the sender's flag,
 * the answers to them as the data came. Without it NACK means "full". What is sent to a channel
 * that its receiver has not opened yet is dropped there; whoever opens one where that may be asks
 * all sources to start over. A lost peer's lines go back to SEQID 0, where its next life will
 * start: as a source at once, as a destination when the host has noted the loss.
 *
 * A message to ourselves waits in SB until there is room for it, since a NACK would come
 * back at once, for ever. */
#include "nic/services_state.h"

enum {
    FLAGS = DN_CONTEXT_BACK_OFF | DN_CONTEXT_RESEND_REQUEST | DN_CONTEXT_LOSS_DETECTION,
    ENTRY_SHIFT = 32, /* in a record's offset, above the SEQID */
};

/* Both ends of a line have it as the same channel, until one says otherwise. */
static void make_lines(struct nic_message_context *context, struct nic_message_line *lines,
                       uint32_t count, enum nic_due_kind kind, bool may_get_lost)
{
    for (uint32_t i = 0; i < count; i++) {
        lines[i] = (struct nic_message_line){.due.kind = kind,
                                             .context = context,
                                             .remote_channel = context->sender.options.channel,
                                             .may_get_lost = may_get_lost};
    }
}

static void init(struct nic_services *services)
{
    const struct nic_services_config *config = &services->config;
    for (uint32_t channel = 0; channel < config->context_count; channel++) {
        struct nic_message_context *context = &services->contexts[channel];
        struct px_options options = {.channel = channel,
                                     .back_off_ns = config->message_back_off_ns,
                                     .pause_ns = config->message_pause_ns,
                                     .resend_timeout_ns = config->message_resend_ns,
                                     .asks_all = config->message_asks_all,
                                     .ask_bytes = config->message_ask_bytes};
        context->sender.options = options;
        context->sender.rank = config->node;
        context->sender.entry_count = config->context_entry_count;
        context->sender.buffer_bytes = config->context_send_bytes;
        context->receiver.options = options;
        context->receiver.rank = config->node;
        context->buffer.byte_count = config->context_receive_bytes;
    }
}

/* NULL: not open. */
static struct nic_message_context *find(const struct nic_services *services, uint32_t channel)
{
    if (channel >= services->config.context_count || !services->contexts[channel].open) {
        return NULL;
    }
    return &services->contexts[channel];
}

/* The destination's place in S_SEQTBL; destination_count: not declared. */
static uint32_t find_destination(const struct nic_message_context *context, uint16_t node)
{
    return px_find_rank(context->sender.destinations, sizeof *context->sender.destinations,
                        context->sender.destination_count, node);
}

static uint32_t find_source(const struct nic_message_context *context, uint16_t node)
{
    return px_find_rank(context->receiver.sources, sizeof *context->receiver.sources,
                        context->receiver.source_count, node);
}

static uint32_t outstanding(const struct nic_message_context *context, uint32_t index)
{
    const struct px_destination *destination = &context->sender.destinations[index];
    return destination->next_seqid - destination->acked_seqid;
}

/* After anything that happened to a destination's line. */
static void line_changed(struct nic_services *services, uint64_t now_ns,
                         struct nic_message_context *context, uint32_t index)
{
    struct nic_message_line *line = &context->destinations[index];
    uint16_t node = (uint16_t)context->sender.destinations[index].rank;
    bool is_waited_for = outstanding(context, index) != 0;
    nic_due_add(services, &line->due);
    if (is_waited_for != line->watched) {
        line->watched = is_waited_for;
        nic_services_watch(services, now_ns, node, is_waited_for);
    }
}

/* ---- The host ------------------------------------------------------------------------ */

static int check_list(const struct nic_services *services, const uint16_t *nodes, uint32_t count)
{
    if (count > services->config.context_peer_count) {
        return DN_EFULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i] >= services->config.node_count) {
            return DN_ERANK;
        }
        if (i > 0 && nodes[i - 1] >= nodes[i]) {
            return DN_EINVAL;
        }
    }
    return 0;
}

int nic_packet_message_open(struct nic_services *services, uint32_t channel,
                            const struct nic_message_lists *lists, uint32_t flags,
                            const struct px_store *store)
{
    const struct nic_services_config *config = &services->config;
    if (channel >= config->context_count || flags & ~(uint32_t)FLAGS ||
        (!store && config->context_receive_bytes == 0)) {
        return DN_EINVAL;
    }
    struct nic_message_context *context = &services->contexts[channel];
    if (context->open) {
        return DN_EBUSY;
    }
    int error = check_list(services, lists->destinations, lists->destination_count);
    error = error ? error : check_list(services, lists->sources, lists->source_count);
    if (error) {
        return error;
    }
    const struct px_store buffer = {.context = &context->buffer,
                                    .take = px_buffer_take,
                                    .has_room = px_buffer_has_room,
                                    .free_bytes = px_buffer_free_bytes,
                                    .total_bytes = context->buffer.byte_count};
    context->open = true;
    make_lines(context, context->destinations, lists->destination_count, NIC_DUE_DATA,
               config->message_datagrams && flags & DN_CONTEXT_LOSS_DETECTION);
    make_lines(context, context->sources, lists->source_count, NIC_DUE_ANSWER, false);
    context->sender.options.flags = flags;
    context->receiver.options.flags = flags;
    context->receiver.store = store ? *store : buffer;
    for (uint32_t i = 0; i < lists->destination_count; i++) {
        context->sender.destinations[i].rank = lists->destinations[i];
    }
    for (uint32_t i = 0; i < lists->source_count; i++) {
        context->receiver.sources[i].rank = lists->sources[i];
    }
    px_sender_init(&context->sender, lists->destination_count);
    px_receiver_init(&context->receiver, lists->source_count);
    return 0;
}

int nic_packet_message_ask_all(struct nic_services *services, uint32_t channel)
{
    struct nic_message_context *context = find(services, channel);
    if (!context) {
        return DN_EINVAL;
    }
    px_receiver_ask_all(&context->receiver);
    for (uint32_t i = 0; i < context->receiver.source_count; i++) {
        nic_due_add(services, &context->sources[i].due);
    }
    return 0;
}

void nic_packet_message_close(struct nic_services *services, uint64_t now_ns, uint32_t channel)
{
    struct nic_message_context *context = find(services, channel);
    if (!context) {
        return;
    }
    for (uint32_t i = 0; i < context->sender.destination_count; i++) {
        if (context->destinations[i].watched) {
            nic_services_watch(services, now_ns, (uint16_t)context->sender.destinations[i].rank,
                               false);
        }
        nic_due_remove(services, &context->destinations[i].due);
    }
    for (uint32_t i = 0; i < context->receiver.source_count; i++) {
        nic_due_remove(services, &context->sources[i].due);
    }
    context->open = false;
}

uint32_t nic_packet_message_bytes_max(const struct nic_services *services)
{
    return services->config.message_bytes_max;
}

/* The destination's line; DN_EINVAL: the channel is not open. DN_ERANK: not declared. */
static int find_line(const struct nic_services *services, uint32_t channel, uint16_t to,
                     struct nic_message_context **context, uint32_t *index)
{
    *context = find(services, channel);
    if (!*context) {
        return DN_EINVAL;
    }
    *index = find_destination(*context, to);
    return *index == (*context)->sender.destination_count ? DN_ERANK : 0;
}

/* The same, or the error that says why nothing can be sent on it. */
static int find_open_line(const struct nic_services *services, uint32_t channel, uint16_t to,
                          struct nic_message_context **context, uint32_t *index)
{
    int error = find_line(services, channel, to, context, index);
    if (!error && (*context)->destinations[*index].undeclared) {
        return DN_ERANK;
    }
    return !error && (*context)->sender.destinations[*index].lost ? DN_EPEER : error;
}

int nic_packet_message_get(struct nic_services *services, uint32_t channel, uint16_t to,
                           uint32_t bytes, void **room, uint32_t *entry)
{
    struct nic_message_context *context;
    uint32_t index;
    if (bytes > services->config.message_bytes_max) {
        return DN_ETOOLONG;
    }
    int error = find_open_line(services, channel, to, &context, &index);
    if (error) {
        return error;
    }
    void *found = px_get_send_buf(&context->sender, to, bytes, entry);
    if (!found) {
        return DN_EFULL;
    }
    *room = found;
    return 0;
}

void nic_packet_message_kick(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                             uint32_t entry, uint32_t bytes)
{
    struct nic_message_context *context = find(services, channel);
    INVARIANT(context && entry < context->sender.entry_count &&
              bytes <= context->sender.entries[entry].bytes);
    context->sender.entries[entry].bytes = bytes;
    px_on_kick(&context->sender, entry);
    line_changed(services, now_ns, context, context->sender.entries[entry].destination);
}

int nic_packet_message_send(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                            uint16_t to, const void *data, uint32_t bytes)
{
    void *room;
    uint32_t entry;
    int error = nic_packet_message_get(services, channel, to, bytes, &room, &entry);
    if (error) {
        return error;
    }
    if (bytes) {
        memcpy(room, data, bytes);
    }
    nic_packet_message_kick(services, now_ns, channel, entry, bytes);
    return 0;
}

const struct px_sender *nic_packet_message_sender(const struct nic_services *services,
                                                  uint32_t channel)
{
    const struct nic_message_context *context = find(services, channel);
    return context ? &context->sender : NULL;
}

const struct px_receiver *nic_packet_message_receiver(const struct nic_services *services,
                                                      uint32_t channel)
{
    const struct nic_message_context *context = find(services, channel);
    return context ? &context->receiver : NULL;
}

/* After anything that may have made room for those who wait. */
static void add_asked(struct nic_services *services, struct nic_message_context *context)
{
    struct px_receiver *receiver = &context->receiver;
    for (uint32_t i = 0; receiver->has_asked && i < receiver->source_count; i++) {
        if (receiver->sources[i].resend_due) {
            nic_due_add(services, &context->sources[i].due);
        }
    }
    receiver->has_asked = false;
}

static void room_changed(struct nic_services *services, struct nic_message_context *context)
{
    px_on_room(&context->receiver);
    add_asked(services, context);
}

int nic_packet_message_room(struct nic_services *services, uint32_t channel)
{
    struct nic_message_context *context = find(services, channel);
    if (!context) {
        return DN_EINVAL;
    }
    room_changed(services, context);
    return 0;
}

int nic_packet_message_receive(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                               void *buffer, uint32_t capacity, uint16_t *from, uint32_t *bytes)
{
    struct nic_message_context *context = find(services, channel);
    (void)now_ns;
    if (!context) {
        return DN_EINVAL;
    }
    const struct px_stored *stored = px_buffer_first(&context->buffer);
    if (!stored) {
        return DN_EBUSY;
    }
    if (stored->bytes > capacity) {
        *bytes = stored->bytes;
        return DN_ETOOLONG;
    }
    if (stored->bytes) {
        memcpy(buffer, stored + 1, stored->bytes);
    }
    *from = (uint16_t)stored->from;
    *bytes = stored->bytes;
    px_buffer_pass(&context->buffer);
    room_changed(services, context);
    return 0;
}

int nic_packet_message_outstanding(const struct nic_services *services, uint32_t channel,
                                   uint16_t to, uint32_t *count)
{
    struct nic_message_context *context;
    uint32_t index;
    int error = find_open_line(services, channel, to, &context, &index);
    if (!error) {
        *count = outstanding(context, index);
    }
    return error;
}

int nic_packet_message_connect(struct nic_services *services, uint32_t channel, uint16_t to,
                               uint32_t remote_channel, uint32_t seqid)
{
    struct nic_message_context *context;
    uint32_t index;
    int error = remote_channel > NIC_MESSAGE_CHANNEL_MASK
                    ? DN_EINVAL
                    : find_line(services, channel, to, &context, &index);
    if (!error) {
        context->destinations[index].remote_channel = remote_channel;
        px_sender_connect(&context->sender, to, seqid);
    }
    return error;
}

int nic_packet_message_disconnect(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                                  uint16_t to)
{
    struct nic_message_context *context;
    uint32_t index;
    int error = find_line(services, channel, to, &context, &index);
    if (!error) {
        px_sender_peer_lost(&context->sender, to);
        line_changed(services, now_ns, context, index);
    }
    return error;
}

int nic_packet_message_reconnect(struct nic_services *services, uint32_t channel, uint16_t to)
{
    struct nic_message_context *context;
    uint32_t index;
    int error = find_line(services, channel, to, &context, &index);
    if (!error) {
        context->destinations[index].undeclared = false;
        px_sender_reconnect(&context->sender, to);
    }
    return error;
}

/* ---- Events -------------------------------------------------------------------------- */

static void on_data(struct nic_services *services, uint32_t channel, uint32_t remote_channel,
                    const struct px_packet *packet)
{
    struct nic_message_context *context = find(services, channel);
    if (!context) {
        return; /* asked for again when it opens */
    }
    uint32_t index = find_source(context, (uint16_t)packet->from);
    if (index == context->receiver.source_count) {
        struct nic_refusal *refusal = &services->refusals[packet->from];
        refusal->undeclared |= UINT64_C(1) << channel;
        nic_due_add(services, &refusal->due);
        return;
    }
    context->sources[index].remote_channel = remote_channel;
    context->sources[index].may_get_lost = packet->may_get_lost;
    px_on_data(&context->receiver, packet);
    nic_due_add(services, &context->sources[index].due);
    add_asked(services, context);
}

static void on_answer(struct nic_services *services, uint64_t now_ns,
                      struct nic_message_context *context, unsigned kind, uint32_t remote_channel,
                      const struct px_packet *packet)
{
    uint32_t index = find_destination(context, (uint16_t)packet->from);
    if (index == context->sender.destination_count ||
        context->destinations[index].remote_channel != remote_channel) {
        return;
    }
    if (kind != NIC_MESSAGE_RECORD_UNDECLARED) {
        px_on_answer(&context->sender, now_ns, packet);
    } else if (!context->sender.destinations[index].lost) {
        context->destinations[index].undeclared = true;
        px_sender_peer_lost(&context->sender, packet->from);
    }
    line_changed(services, now_ns, context, index);
}

static bool deliver(struct nic_services *services, uint64_t now_ns, uint16_t source, unsigned kind,
                    uint32_t number, const struct wire_operation *operation, bool may_get_lost)
{
    uint32_t channel = number & NIC_MESSAGE_CHANNEL_MASK;
    uint32_t remote_channel = number >> NIC_SERVICE_CHANNEL_BITS;
    uint32_t entry = (uint32_t)(operation->offset >> ENTRY_SHIFT);
    bool is_data = kind == PX_DATA;
    if (channel >= services->config.context_count || kind < PX_DATA ||
        kind > NIC_MESSAGE_RECORD_UNDECLARED || (is_data && entry == PX_NO_ENTRY) ||
        operation->bytes > (is_data ? services->config.message_bytes_max : 0)) {
        return false;
    }
    struct px_packet packet = {
        .type = (enum px_packet_type)kind,
        .from = source,
        .to = services->config.node,
        .channel = channel,
        .seqid = (uint32_t)operation->offset,
        .entry = entry,
        .bytes = operation->bytes,
        .data = operation->data,
        .may_get_lost = may_get_lost,
    };
    if (is_data) {
        on_data(services, channel, remote_channel, &packet);
    } else if (find(services, channel)) {
        on_answer(services, now_ns, find(services, channel), kind, remote_channel, &packet);
    }
    return true;
}

static void peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer)
{
    for (uint32_t channel = 0; channel < services->config.context_count; channel++) {
        struct nic_message_context *context = find(services, channel);
        if (!context) {
            continue;
        }
        uint32_t index = find_destination(context, peer);
        if (index < context->sender.destination_count) {
            context->destinations[index].undeclared = false;
            px_sender_peer_lost(&context->sender, peer);
            line_changed(services, now_ns, context, index);
        }
        px_receiver_peer_lost(&context->receiver, peer);
        room_changed(services, context);
    }
}

/* ---- What goes out ------------------------------------------------------------------- */

static uint64_t ready_ns(uint64_t now_ns, struct nic_due *due)
{
    const struct nic_message_line *line = NIC_DUE_OWNER(due, struct nic_message_line, due);
    uint32_t index = (uint32_t)(line - line->context->destinations);
    return px_sender_ready_ns(&line->context->sender, now_ns, index);
}

static enum nic_readiness peek_data(struct nic_services *services, uint64_t now_ns,
                                    struct nic_message_line *line, struct px_packet *packet)
{
    struct nic_message_context *context = line->context;
    uint32_t index = (uint32_t)(line - context->destinations);
    if (!px_sender_peek(&context->sender, now_ns, index, packet)) {
        bool later = px_sender_ready_ns(&context->sender, now_ns, index) != UINT64_MAX;
        return later ? NIC_READY_LATER : NIC_READY_NEVER;
    }
    const struct px_store *store = &context->receiver.store;
    uint32_t own = packet->to == services->config.node ? find_source(context, services->config.node)
                                                       : context->receiver.source_count;
    bool waits = own < context->receiver.source_count &&
                 !store->has_room(store->context, own, packet->bytes);
    return waits ? NIC_READY_LATER : NIC_READY_NOW;
}

static enum nic_readiness peek(struct nic_services *services, uint64_t now_ns, struct nic_due *due,
                               struct nic_service_packet *packet)
{
    struct nic_message_line *line = NIC_DUE_OWNER(due, struct nic_message_line, due);
    struct px_packet px;
    enum nic_readiness readiness = NIC_READY_NEVER;
    if (due->kind == NIC_DUE_DATA) {
        readiness = peek_data(services, now_ns, line, &px);
    } else if (px_receiver_peek(&line->context->receiver, (uint32_t)(line - line->context->sources),
                                &px)) {
        readiness = NIC_READY_NOW;
    }
    if (readiness == NIC_READY_NOW) {
        nic_service_record(packet, (uint16_t)px.to, WIRE_MESSAGE, px.type,
                           px.channel << NIC_SERVICE_CHANNEL_BITS | line->remote_channel,
                           (uint64_t)px.entry << ENTRY_SHIFT | px.seqid);
        packet->may_get_lost = line->may_get_lost;
        packet->operation.bytes = (uint16_t)px.bytes;
        packet->operation.data = px.bytes ? px.data : packet->small;
    }
    return readiness;
}

static void sent(uint64_t now_ns, struct nic_due *due, const struct nic_service_packet *packet)
{
    struct nic_message_line *line = NIC_DUE_OWNER(due, struct nic_message_line, due);
    struct nic_message_context *context = line->context;
    if (due->kind == NIC_DUE_DATA) {
        px_sender_sent(&context->sender, now_ns, (uint32_t)(line - context->destinations));
        return;
    }
    struct px_packet px = {.type = (enum px_packet_type)(packet->operation.area >> 24)};
    px_receiver_sent(&context->receiver, (uint32_t)(line - context->sources), &px);
}

/* ---- The service ------------------------------------------------------------------------- */

const struct nic_message_service nic_message_service = {
    .init = init,
    .deliver = deliver,
    .peer_lost = peer_lost,
    .peek = peek,
    .sent = sent,
    .ready_ns = ready_ns,
};

void nic_services_config_messages(struct nic_services_config *config)
{
    config->messages = &nic_message_service;
    config->context_count = 4;
    config->context_peer_count = config->node_count < 256 ? config->node_count : 256;
    config->context_entry_count = 64;
    config->context_send_bytes = 65536;
    config->context_receive_bytes = 65536;
    config->message_bytes_max = 1024;
    config->message_back_off_ns = 10000;
    config->message_resend_ns = 1000000;
}
