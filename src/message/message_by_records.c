/* The way to a peer by packets of a context with flags: paper 004's Modified ACK/NACK
 * (nic/message_protocol.h), as the NIC's services carry it.
 *
 * Boxes, rings and how a sender finds them are as by packets (message_by_packets.c), but no sender
 * writes into a ring. It puts each entry into its send buffer SB, and the services carry the entry
 * as a record to the receiver, where they are the one that writes the ring: the ring stands for the
 * receive buffer RB. An entry that finds no room there is refused, and sent again as the flags say.
 *
 *   sender      reserve      room in SB and a line of SENDTBL (get_send_buf)
 *               publish      the kick
 *   receiver    store_take   the services write the entry into the source's ring, and send ACK; or
 *                            there is no room, and they send NACK or STOP
 *               tell_of_room the program has read a quarter of the ring: who was stopped is asked
 *
 * A context's number in the services is that of its slot, at both ends. SEQIDs are those of the
 * box: a closed context leaves the next one with the ring's words (`tail`), and the next context of
 * the same channel goes on from there, once all that was sent before is acknowledged.
 *
 * Entries are at most as long as a record, and none names a place in the sender's memory, so large
 * messages go in pieces. With loss detection records go by UD, and else by CD. */
#include <stdlib.h>
#include <string.h>

#include "group/service_memory.h"
#include "message/message_way.h"
#include "nic/message_protocol.h"
#include "nic/services.h"

static uint32_t number_of(const struct dn_context *context)
{
    const struct group_service *service = group_service(context->view, context->view->rank);
    return (uint32_t)(context->slot - service->message_slots);
}

/* ---- The receiver's side: with the services ------------------------------------------------ */

/* Whether the entry is one that a sender writes, of just these bytes. */
static bool makes_sense(uint64_t header, uint32_t bytes)
{
    bool is_whole = (header & GROUP_ENTRY_WHOLE) == GROUP_ENTRY_WHOLE;
    uint64_t length = header & GROUP_ENTRY_ABORT ? GROUP_WHOLE_HEADER_BYTES
                      : is_whole ? GROUP_WHOLE_HEADER_BYTES + group_entry_bytes(header)
                                 : GROUP_PIECE_HEADER_BYTES + group_entry_bytes(header);
    return header & GROUP_ENTRY_THERE && !(header & (GROUP_ENTRY_PAD | GROUP_ENTRY_PLACE)) &&
           group_units_of(length) * GROUP_UNIT_BYTES == bytes;
}

/* One that no sender of ours sends is dropped, and so is all that comes after the close. */
static bool store_take(void *argument, uint32_t index, const struct px_packet *packet)
{
    struct dn_context *context = argument;
    struct message_source *source = context->by_records[index];
    uint64_t header = 0;
    if (packet->bytes >= GROUP_UNIT_BYTES) {
        memcpy(&header, packet->data, sizeof header);
    }
    uint64_t units = packet->bytes / GROUP_UNIT_BYTES;
    if (!atomic_load_explicit(&context->box->open, memory_order_relaxed) ||
        !makes_sense(header, packet->bytes) || units > source->writer.entry_units_max) {
        return true;
    }
    struct group_entry *entry = group_ring_reserve(&source->writer, units);
    if (!entry) {
        KILL_POINT("records: entry refused, not said");
        return false;
    }
    KILL_POINT("records: room in the ring, entry not written");
    memcpy(&entry->total_bytes, (const unsigned char *)packet->data + sizeof header,
           packet->bytes - sizeof header);
    KILL_POINT("records: entry written, not published");
    group_ring_publish(&source->writer, header, units);
    KILL_POINT("records: entry published, not acknowledged");
    return true;
}

static bool store_has_room(void *argument, uint32_t index, uint32_t bytes)
{
    const struct dn_context *context = argument;
    struct group_ring_out *ring = &context->by_records[index]->writer;
    uint64_t units = group_units_of(bytes);
    return group_ring_has_room(ring, group_ring_skipped(ring, units) + units + GROUP_RING_RESERVE);
}

static void open_ring(struct dn_context *context, struct message_source *source)
{
    message_packets_open_ring(context, source);
    atomic_fetch_or_explicit(&source->ring.words->wants_room, GROUP_ROOM_RECORDS,
                             memory_order_relaxed);
    source->writer = (struct group_ring_out){
        .start = source->ring.start,
        .words = source->ring.words,
        .unit_count = source->ring.unit_count,
        .entry_units_max = group_ring_entry_units_max(source->ring.unit_count),
    };
}

static void tell_of_room(struct dn_context *context, const struct message_source *source)
{
    uint64_t now_ns;
    (void)source;
    if (context->flags & DN_CONTEXT_RESEND_REQUEST) {
        KILL_POINT("records: room given back, nobody asked");
        struct nic_services *services = fabric_services_take(context->lane, &now_ns);
        (void)nic_packet_message_room(services, number_of(context));
        fabric_services_give(context->lane);
    }
}

/* The store takes no entry that names a place. */
static int copy_from(struct dn_context *context, const struct message_source *source,
                     uint64_t place, void *target, uint64_t bytes)
{
    (void)context;
    (void)source;
    (void)place;
    (void)target;
    (void)bytes;
    return DN_EINVAL;
}

/* ---- Contexts ------------------------------------------------------------------------------ */

/* Lists the peers that are reached by records; `ranks` has room for all. */
static struct nic_message_lists list_peers(struct dn_context *context, uint16_t *ranks)
{
    struct nic_message_lists lists = {.destinations = ranks,
                                      .sources = ranks + context->destination_count};
    for (uint32_t i = 0; i < context->destination_count; i++) {
        if (context->destinations[i].way == &message_by_records) {
            ranks[lists.destination_count++] = (uint16_t)context->destinations[i].rank;
        }
    }
    for (uint32_t i = 0; i < context->source_count; i++) {
        struct message_source *source = &context->sources[i];
        if (source->way == &message_by_records) {
            context->by_records[lists.source_count] = source;
            ranks[context->destination_count + lists.source_count++] = (uint16_t)source->rank;
        }
    }
    return lists;
}

int message_records_open(struct dn_context *context)
{
    const struct px_store store = {
        .context = context, .take = store_take, .has_room = store_has_room};
    uint16_t *ranks = calloc(context->destination_count + context->source_count + 1, sizeof *ranks);
    if (!ranks) {
        return DN_ENOMEM;
    }
    struct nic_message_lists lists = list_peers(context, ranks);
    int error = DN_ENOTSUP; /* the fabric may have no services at all */
    if (lists.destination_count + lists.source_count != 0) {
        uint64_t now_ns;
        struct nic_services *services = fabric_services_take(context->lane, &now_ns);
        error = nic_packet_message_open(services, number_of(context), &lists,
                                        context->flags & ~(uint32_t)DN_CONTEXT_ACK_NACK, &store);
        fabric_services_give(context->lane);
        KILL_POINT("records: services know the context, box not offered");
    }
    free(ranks);
    return error;
}

void message_records_close(struct dn_context *context)
{
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    nic_packet_message_close(services, now_ns, number_of(context));
    fabric_services_give(context->lane);
    KILL_POINT("records: services know the context no more, its memory is there");
}

/* ---- The sender's side --------------------------------------------------------------------- */

/* What a closed context of ours has sent goes first. */
static int hold(struct dn_context *context, struct message_destination *destination,
                struct message_held *held)
{
    return message_is_owed_by_another(context, destination->rank)
               ? DN_EBUSY
               : message_packets_hold(context, destination, held);
}

static int connect_to(struct dn_context *context, struct message_destination *destination)
{
    const struct group_service *service = group_service(context->view, destination->rank);
    uint64_t now_ns;
    KILL_POINT("records: box held, not connected");
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    uint64_t units = nic_packet_message_bytes_max(services) / GROUP_UNIT_BYTES;
    int error = nic_packet_message_connect(
        services, number_of(context), (uint16_t)destination->rank,
        (uint32_t)(destination->slot - service->message_slots), (uint32_t)destination->ring.tail);
    fabric_services_give(context->lane);
    if (destination->ring.entry_units_max > units) {
        destination->ring.entry_units_max = units;
    }
    return error;
}

/* What a receiver that has closed did not take must not find its next context. */
static void disconnect(struct dn_context *context, struct message_destination *destination)
{
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    (void)nic_packet_message_disconnect(services, now_ns, number_of(context),
                                        (uint16_t)destination->rank);
    fabric_services_give(context->lane);
    KILL_POINT("records: disconnected, box held");
}

/* Room in SB for a record of so many units; NULL: none now. */
static struct group_entry *get_room(struct dn_context *context,
                                    struct message_destination *destination, uint64_t units)
{
    void *room = NULL;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    int error = nic_packet_message_get(services, number_of(context), (uint16_t)destination->rank,
                                       (uint32_t)(units * GROUP_UNIT_BYTES), &room,
                                       &destination->record);
    fabric_services_give(context->lane);
    if (error == DN_EPEER) {
        destination->unreachable = true;
    }
    KILL_POINT("records: asked for room in SB");
    return error ? NULL : room;
}

static void kick(struct dn_context *context, struct message_destination *destination,
                 struct group_entry *entry, uint64_t header, uint64_t units)
{
    uint64_t now_ns;
    atomic_store_explicit(&entry->header, header, memory_order_relaxed);
    KILL_POINT("records: entry in SB, not kicked");
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    nic_packet_message_kick(services, now_ns, number_of(context), destination->record,
                            (uint32_t)(units * GROUP_UNIT_BYTES));
    KILL_POINT("records: entry kicked, not sent");
    fabric_services_give(context->lane);
    KILL_POINT("records: entry sent, not counted");
    destination->ring.tail++; /* the next SEQID */
}

/* Ends a message that was begun and not finished, when there is room for that. */
static bool end_begun(struct dn_context *context, struct message_destination *destination)
{
    struct group_entry *entry = destination->owes_abort ? get_room(context, destination, 1) : NULL;
    if (entry) {
        destination->owes_abort = false;
        kick(context, destination, entry, GROUP_ENTRY_THERE | GROUP_ENTRY_ABORT, 1);
    }
    return !destination->owes_abort;
}

static struct group_entry *reserve(struct dn_context *context,
                                   struct message_destination *destination, uint64_t units)
{
    if (!end_begun(context, destination)) {
        return NULL;
    }
    destination->reserved = get_room(context, destination, units);
    return destination->reserved;
}

static void publish(struct dn_context *context, struct message_destination *destination,
                    uint64_t header, uint64_t units)
{
    struct group_entry *entry = destination->reserved;
    if (!entry) {
        INVARIANT(header & GROUP_ENTRY_ABORT); /* all others were reserved */
        destination->owes_abort = true;
        (void)end_begun(context, destination);
        return;
    }
    destination->reserved = NULL;
    kick(context, destination, entry, header, units);
}

/* Nothing is ever offered. */
static bool withdraw(struct dn_context *context, struct message_destination *destination,
                     struct group_entry *entry)
{
    (void)context;
    (void)destination;
    (void)entry;
    return false;
}

/* All is acknowledged, or the peer is lost. */
static bool is_delivered(struct dn_context *context, struct message_destination *destination)
{
    uint64_t now_ns;
    uint32_t count = 0;
    struct nic_services *services = fabric_services_take(context->lane, &now_ns);
    int error = nic_packet_message_outstanding(services, number_of(context),
                                               (uint16_t)destination->rank, &count);
    fabric_services_give(context->lane);
    return error || (count == 0 && end_begun(context, destination));
}

const struct message_way message_by_records = {
    .is_by_records = true,
    .lends_to_others = true,
    .hold = hold,
    .connect = connect_to,
    .disconnect = disconnect,
    .let_go = message_packets_let_go,
    .reserve = reserve,
    .publish = publish,
    .withdraw = withdraw,
    .is_delivered = is_delivered,
    .open_ring = open_ring,
    .tell_of_box = message_packets_tell_of_box,
    .tell_of_close = message_packets_tell_of_close,
    .tell_of_room = tell_of_room,
    .copy_from = copy_from,
};
