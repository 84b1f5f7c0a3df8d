/* Paper 004's SEND/RECEIVE as programs of a host see it.
 *
 * SB and RB are the host's memory, which the NIC reads and writes by DMA; SENDTBL and the tables of
 * SEQIDs are the NIC's. A host keeps a copy of how far SENDTBL and SB are free, and reads the NIC
 * again only when the copy says that they are full: the first of the ways that the paper names.
 *
 *     sim_send      copy into SB, three words that say what and to whom, the kick
 *     CorePU        numbers the message, enters it in SENDTBL, makes the packet; DMA from SB
 *     CorePU        at the receiver: compares SEQIDs, DMA into RB, ACK or NACK
 *     sim_receive   polls RB, copies out, then tells the NIC by one write that there is room
 *
 * A message is visible when its DMA has ended; its ACK does not wait for that. */
#include <stdlib.h>
#include <string.h>

#include "sim/model/state.h"

enum { CHANNEL = 0, DESCRIPTOR_WORDS = 4, WORD_BYTES = 8 };

struct sim_messages {
    struct px_buffer buffer; /* RB, as the NIC knows it */
    struct px_buffer read;   /* the same, as far as the host has read it */
    uint64_t *visible_ps;    /* by words of RB: where a message starts, when it is there */
};

/* ---- RB -------------------------------------------------------------------------------- */

static bool take(void *context, uint32_t index, const struct px_packet *packet)
{
    struct sim_node *node = context;
    struct sim_messages *messages = node->messages;
    struct px_buffer *buffer = &messages->buffer;
    if (!px_buffer_take(buffer, index, packet)) {
        return false;
    }
    uint64_t words = 1 + (packet->bytes + WORD_BYTES - 1) / WORD_BYTES;
    uint64_t start = (buffer->head - words * WORD_BYTES) % buffer->byte_count;
    messages->visible_ps[start / WORD_BYTES] = sim_dma_write(node->world, node, node->world->now_ps,
                                                             packet->bytes);
    return true;
}

static bool has_room(void *context, uint32_t index, uint32_t bytes)
{
    struct sim_node *node = context;
    return px_buffer_has_room(&node->messages->buffer, index, bytes);
}

static uint64_t free_bytes(void *context)
{
    struct sim_node *node = context;
    return px_buffer_free_bytes(&node->messages->buffer);
}

/* The oldest message that the host has not read; NULL: none has come. */
static const struct px_stored *unread(struct sim_messages *messages)
{
    messages->read.head = messages->buffer.head;
    return px_buffer_first(&messages->read);
}

/* ---- Opening --------------------------------------------------------------------------- */

void sim_message_open(struct sim_host *host, const struct nic_message_lists *lists, uint32_t flags)
{
    struct sim_node *node = sim_node_of(host);
    struct sim_messages *messages = calloc(1, sizeof *messages);
    uint64_t bytes = host->world->config.messages.receive_bytes;
    INVARIANT(messages && node->services && bytes > 0 && !node->messages);
    messages->buffer = (struct px_buffer){.bytes = calloc(1, bytes), .byte_count = bytes};
    messages->read = messages->buffer;
    messages->visible_ps = calloc(bytes / WORD_BYTES, sizeof *messages->visible_ps);
    INVARIANT(messages->buffer.bytes && messages->visible_ps);
    node->messages = messages;
    for (uint32_t i = 0; i < lists->destination_count; i++) {
        sim_carrier_introduce(host->world, host->node, lists->destinations[i]);
    }
    const struct px_store store = {.context = node,
                                   .take = take,
                                   .has_room = has_room,
                                   .free_bytes = free_bytes,
                                   .total_bytes = bytes};
    int error = nic_packet_message_open(node->services, CHANNEL, lists, flags, &store);
    error = error ? error : nic_packet_message_ask_all(node->services, CHANNEL);
    INVARIANT(!error);
    node->stirred = true;
    sim_pump_at(host->world, node, host->now_ps);
}

void sim_messages_free(struct sim_node *node)
{
    if (node->messages) {
        free(node->messages->buffer.bytes);
        free(node->messages->visible_ps);
        free(node->messages);
    }
}

const struct px_sender *sim_world_message_sender(const struct sim_world *world, uint32_t node)
{
    return nic_packet_message_sender(world->nodes[node].services, CHANNEL);
}

const struct px_receiver *sim_world_message_receiver(const struct sim_world *world, uint32_t node)
{
    return nic_packet_message_receiver(world->nodes[node].services, CHANNEL);
}

/* ---- Sending --------------------------------------------------------------------------- */

static void begin_send(struct sim_host *host, uint64_t at_ps)
{
    struct sim_world *world = host->world;
    struct sim_node *node = sim_node_of(host);
    const struct sim_message_step *step = &host->message;
    uint64_t written_ps = at_ps + sim_copy_ps(world, step->bytes) +
                          (DESCRIPTOR_WORDS - 1) * world->machine->host_write;
    uint32_t entry;
    void *room;
    int error = nic_packet_message_get(node->services, CHANNEL, (uint16_t)step->peer, step->bytes,
                                       &room, &entry);
    INVARIANT(!error);
    memcpy(room, step->data, step->bytes);
    sim_host_kick(
        host, written_ps,
        &(struct sim_kick){.kind = SIM_KICK_SEND, .address = entry, .bytes = step->bytes});
    sim_host_go_on(host, "send", written_ps + world->machine->host_write);
}

static bool fits(const struct sim_host *host, uint64_t entry_tail, uint64_t buffer_tail)
{
    return px_sender_has_room(sim_world_message_sender(host->world, host->node),
                              host->message.bytes, entry_tail, buffer_tail);
}

void sim_send(struct sim_host *host, uint32_t to, const void *data, uint32_t bytes)
{
    INVARIANT(bytes > 0 && bytes <= host->world->config.messages.bytes_max);
    host->message.peer = to;
    host->message.data = data;
    host->message.bytes = bytes;
    if (fits(host, host->message.entry_tail, host->message.buffer_tail)) {
        begin_send(host, host->now_ps);
    } else {
        sim_host_poll(host, SIM_POLL_SEND_ROOM, host->world->machine->host_read);
    }
}

void sim_send_wait(struct sim_host *host)
{
    sim_host_poll(host, SIM_POLL_SENT, host->world->machine->host_read);
}

/* ---- Receiving ------------------------------------------------------------------------- */

void sim_receive(struct sim_host *host, void *buffer, uint32_t capacity)
{
    host->message.into = buffer;
    host->message.bytes = capacity;
    sim_host_poll(host, SIM_POLL_MESSAGE, host->world->machine->host_read);
}

static void end_receive(struct sim_host *host, uint64_t at_ps)
{
    struct sim_world *world = host->world;
    struct sim_messages *messages = sim_node_of(host)->messages;
    const struct px_stored *stored = unread(messages);
    INVARIANT(stored->bytes <= host->message.bytes);
    memcpy(host->message.into, stored + 1, stored->bytes);
    host->message.bytes = stored->bytes;
    host->message.peer = stored->from;
    px_buffer_pass(&messages->read);
    uint64_t copied_ps = at_ps + sim_copy_ps(world, stored->bytes);
    sim_host_kick(host, copied_ps, &(struct sim_kick){.kind = SIM_KICK_READ});
    sim_host_go_on(host, "receive", copied_ps + world->machine->host_write);
}

/* ---- The NIC's side of a kick ---------------------------------------------------------- */

bool sim_message_stirs_core(const struct sim_node *node)
{
    const struct px_receiver *receiver = sim_world_message_receiver(node->world, node->number);
    for (uint32_t i = 0; i < receiver->source_count; i++) {
        if (receiver->sources[i].stopped) {
            return true;
        }
    }
    return false;
}

void sim_message_kicked(struct sim_node *node, const struct sim_kick *kick)
{
    if (kick->kind == SIM_KICK_SEND) {
        nic_packet_message_kick(node->services, sim_now_ns(node->world), CHANNEL,
                                (uint32_t)kick->address, (uint32_t)kick->bytes);
    } else {
        px_buffer_pass(&node->messages->buffer);
        (void)nic_packet_message_room(node->services, CHANNEL);
    }
}

/* ---- Polls ----------------------------------------------------------------------------- */

uint64_t sim_message_poll_ps(const struct sim_host *host)
{
    const struct px_sender *sender = sim_world_message_sender(host->world, host->node);
    struct sim_messages *messages = sim_node_of(host)->messages;
    const struct px_stored *stored;
    switch (host->polls) {
    case SIM_POLL_SEND_ROOM:
        return fits(host, sender->entry_tail, sender->buffer_tail) ? 0 : UINT64_MAX;
    case SIM_POLL_SENT: return px_sender_is_idle(sender) ? 0 : UINT64_MAX;
    case SIM_POLL_MESSAGE:
        stored = unread(messages);
        return stored ? messages->visible_ps[(uint64_t)((const unsigned char *)stored -
                                                        messages->read.bytes) /
                                             WORD_BYTES]
                      : UINT64_MAX;
    default: return UINT64_MAX;
    }
}

void sim_message_polled(struct sim_host *host, unsigned kind, uint64_t done_ps)
{
    const struct px_sender *sender = sim_world_message_sender(host->world, host->node);
    switch (kind) {
    case SIM_POLL_SEND_ROOM:
        host->message.entry_tail = sender->entry_tail;
        host->message.buffer_tail = sender->buffer_tail;
        begin_send(host, done_ps);
        break;
    case SIM_POLL_SENT: sim_host_go_on(host, "wait", done_ps); break;
    default: end_receive(host, done_ps); break;
    }
}
