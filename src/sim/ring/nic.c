/* NICs at a network's edge: queues without limit on the way in, a sink on the way out. A NIC
 * sends the lines of one flit at a time, from its queues in turn, to those slack buffers that have
 * not said stop. */
#include "sim/ring/state.h"

/* The packet is forgotten, and deliveries of it have not been made. */
static void tell_lost(struct net *net, const struct packet *packet)
{
    const struct net_delivery delivery = {
        .tag = packet->tag,
        .source = packet->source,
        .target = UINT32_MAX,
        .virtual_network = packet->virtual_network,
        .flits = packet->flits,
        .injected_cycle = packet->injected_cycle,
        .entered_cycle = packet->entered_cycle,
    };
    uint32_t count = packet->wanted;
    net->counters.packets_lost += count;
    if (net->user.lost) {
        net->user.lost(net->user.context, net->cycle, &delivery, count);
    }
}

void net_packet_ended(struct net *net, uint32_t number)
{
    struct packet *packet = net_packet(net, number);
    if (--packet->ends > 0) {
        return;
    }
    if (UNLIKELY(packet->wanted > 0)) {
        tell_lost(net, packet);
    }
    sim_slots_give(&net->packets, number);
}

/* Something may be sent now that could not before. */
static inline void wake(struct net *net, uint32_t node)
{
    struct nic *nic = &net->nics[node];
    if (!nic->is_due && nic->waiting & ~nic->stopped) {
        nic->is_due = true;
        line_send(&net->nics_due, net->cycle, node, 0);
    }
}

static inline void begin_first(struct queue *queue, const struct packet *packet)
{
    queue->bytes = packet->content.bytes;
    queue->flits = packet->flits;
    queue->sent = 0;
}

static void enqueue(struct net *net, uint32_t number, uint32_t channel)
{
    struct packet *packet = net_packet(net, number);
    struct nic *nic = &net->nics[packet->source];
    struct queue *queue = &net->queues[packet->source * net->vcs + channel];
    if (nic->waiting >> channel & 1) {
        net_packet(net, queue->last)->next = number;
    } else {
        queue->first = number;
        begin_first(queue, packet);
        nic->waiting |= UINT64_C(1) << channel;
        wake(net, packet->source);
    }
    queue->last = number;
    nic->flits += packet->flits;
}

static void send_with(struct net *net, const struct wire_ring_header *header, uint32_t source,
                      uint32_t virtual_network, uint32_t bytes, uint64_t tag)
{
    INVARIANT(source < net->nodes && bytes > 0);
    INVARIANT(virtual_network < net->config.virtual_networks);
    uint32_t number;
    struct packet *packet = sim_slots_take(&net->packets, &number);
    *packet = (struct packet){
        .next = NO_PACKET,
        .flits = net_flits(bytes, net->config.flit_bytes),
        .tag = tag,
        .injected_cycle = net->cycle,
        .source = source,
        .ends = 1,
        .wanted = header->multicast ? net->group_members[header->router] : 1,
        .virtual_network = (uint8_t)virtual_network,
        .content = {.serial = ++net->counters.packets_sent, .bytes = bytes},
    };
    wire_ring_header_encode(header, packet->content.header);
    enqueue(net, number, net_first_channel(net, header, source, virtual_network));
}

/* ---- What a NIC writes into headers --------------------------------------------------------- */

static enum wire_swif_mode mode_of(const struct net *net)
{
    return net->config.swif == NET_OIP ? WIRE_OIP : WIRE_SW2;
}

/* The way round, or along the row, from one node to another. */
static enum wire_ring_direction direction_of(const struct net *net, uint32_t from, uint32_t to)
{
    uint32_t port;
    (void)net_way(&net->config, NET_ROW, from, to, &port);
    return port == PORT_RIGHT ? WIRE_RIGHT : WIRE_LEFT;
}

void net_send_bytes(struct net *net, uint32_t source, uint32_t target, uint32_t virtual_network,
                    uint32_t bytes, uint64_t tag)
{
    INVARIANT(source < net->nodes && target < net->nodes);
    const struct wire_ring_header header = {
        .mode = mode_of(net),
        .router = (uint16_t)target,
        .direction = direction_of(net, source, target),
        .return_router = (uint16_t)source,
        .return_direction = direction_of(net, target, source),
    };
    send_with(net, &header, source, virtual_network, bytes, tag);
}

void net_send(struct net *net, uint32_t source, uint32_t target, uint32_t virtual_network,
              uint32_t flits, uint64_t tag)
{
    net_send_bytes(net, source, target, virtual_network, flits * net->config.flit_bytes, tag);
}

void net_send_group(struct net *net, uint32_t source, uint32_t group, uint32_t virtual_network,
                    uint32_t flits, uint64_t tag)
{
    net_send_group_bytes(net, source, group, virtual_network, flits * net->config.flit_bytes, tag);
}

void net_send_group_bytes(struct net *net, uint32_t source, uint32_t group,
                          uint32_t virtual_network, uint32_t bytes, uint64_t tag)
{
    INVARIANT(group < NET_GROUPS_MAX && net->pass_enable[source] >> group & 1);
    const struct wire_ring_header header = {
        .mode = mode_of(net),
        .router = (uint16_t)group,
        .direction = WIRE_RIGHT,
        .multicast = true,
        .return_router = (uint16_t)source,
        .return_direction = WIRE_LEFT, /* the way on which it came */
    };
    send_with(net, &header, source, virtual_network, bytes, tag);
}

bool net_reply(struct net *net, uint32_t source, const unsigned char request[WIRE_LINE_DATA_BYTES],
               uint32_t bytes, uint64_t tag)
{
    struct wire_ring_header header;
    if (!wire_ring_header_decode(request, net->nodes, NET_GROUPS_MAX, &header)) {
        return false;
    }
    /* In OIP mode its router has turned the header round before the NIC saw it. */
    if (header.mode == WIRE_SW2) {
        header = wire_ring_header_reply(&header, (uint16_t)source);
    }
    if (header.multicast) {
        return false;
    }
    send_with(net, &header, source, net_replies(&net->config), bytes, tag);
    return true;
}

void net_group_set(struct net *net, uint32_t group, const uint32_t *members, uint32_t count)
{
    INVARIANT(group < NET_GROUPS_MAX && !net_multicast_objection(&net->config));
    uint64_t bit = UINT64_C(1) << group;
    for (uint32_t node = 0; node < net->nodes; node++) {
        net->multicast_enable[node] &= ~bit;
        net->pass_enable[node] = count ? net->pass_enable[node] | bit
                                       : net->pass_enable[node] & ~bit;
    }
    net->group_members[group] = 0;
    for (uint32_t i = 0; i < count; i++) {
        INVARIANT(members[i] < net->nodes);
        net->group_members[group] += !(net->multicast_enable[members[i]] & bit);
        net->multicast_enable[members[i]] |= bit;
    }
}

uint64_t net_waiting(const struct net *net, uint32_t node)
{
    return net->nics[node].flits;
}

bool net_is_behind(const struct net *net, uint32_t node, uint64_t tag)
{
    for (uint64_t waiting = net->nics[node].waiting; waiting; waiting &= waiting - 1) {
        uint32_t channel = (uint32_t)__builtin_ctzll(waiting);
        uint32_t first = net->queues[node * net->vcs + channel].first;
        for (uint32_t next = net_packet(net, first)->next; next != NO_PACKET;) {
            const struct packet *packet = net_packet(net, next);
            if (packet->tag == tag) {
                return true;
            }
            next = packet->next;
        }
    }
    return false;
}

void net_nics_signalled(struct net *net)
{
    struct burst *burst = line_burst(&net->signals, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t node = net_router_of(net, burst->events[i].where);
        uint64_t bit = UINT64_C(1) << burst->events[i].where % net->vcs;
        struct nic *nic = &net->nics[node];
        nic->stopped = burst->events[i].what ? nic->stopped | bit : nic->stopped & ~bit;
        wake(net, node);
    }
    burst->count = 0;
}

/* Sends the next flit; gives the cycles that its lines take. */
static inline uint32_t send_flit(struct net *net, uint32_t node)
{
    struct nic *nic = &net->nics[node];
    uint64_t ready = nic->waiting & ~nic->stopped;
    uint64_t later = ready & ~((UINT64_C(2) << nic->last) - 1);
    uint32_t channel = (uint32_t)__builtin_ctzll(later ? later : ready);
    nic->last = (uint16_t)channel;
    struct queue *queue = &net->queues[node * net->vcs + channel];
    uint32_t input = node * net->ports * net->vcs + channel;
    uint32_t what = BODY_FLIT;
    if (queue->sent == 0) {
        struct packet *packet = net_packet(net, queue->first);
        what = queue->first;
        packet->entered_cycle = net->cycle;
        net_lines_enter(net, packet);
        if (net->user.entered) {
            net->user.entered(net->user.context, node, packet->tag);
        }
    }
    uint32_t cycles = net_port_in(&net->port_rate, queue->bytes, queue->sent);
    line_send(&net->nic_flits, net->cycle + net->config.nic_cycles + cycles - 1, input, what);
    nic->flits--;
    if (++queue->sent == queue->flits) {
        queue->first = net_packet(net, queue->first)->next;
        if (queue->first == NO_PACKET) {
            nic->waiting &= ~(UINT64_C(1) << channel);
        } else {
            begin_first(queue, net_packet(net, queue->first));
        }
    }
    return cycles;
}

void net_nics_send(struct net *net)
{
    struct burst *burst = line_burst(&net->nics_due, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t node = burst->events[i].where;
        struct nic *nic = &net->nics[node];
        nic->is_due = (nic->waiting & ~nic->stopped) != 0;
        if (nic->is_due) {
            line_send(&net->nics_due, net->cycle + send_flit(net, node), node, 0);
        }
    }
    burst->count = 0;
}

void net_nic_deliver(struct net *net, uint32_t node, uint32_t number)
{
    struct packet *packet = net_packet(net, number);
    struct wire_ring_header header;
    INVARIANT(net_header_read(net, packet, &header));
    struct net_delivery delivery = {
        .tag = packet->tag,
        .source = packet->source,
        .target = node,
        .virtual_network = packet->virtual_network,
        .flits = packet->flits,
        .injected_cycle = packet->injected_cycle,
        .entered_cycle = packet->entered_cycle,
    };
    if (header.multicast) {
        uint32_t links = (node + net->nodes - packet->source) % net->nodes;
        delivery.hops = (links ? links : net->nodes) + 1;
    } else {
        delivery.hops = net_header_links(net, &header, packet->source) + 1;
    }
    header = wire_ring_header_deliver(&header, (uint16_t)node);
    wire_ring_header_encode(&header, delivery.header);
    if (UNLIKELY(!net_lines_leave(net, packet, &delivery))) {
        net_packet_ended(net, number);
        return;
    }
    /* A header that is wrong may lead to more nodes than its sender had meant. */
    packet->wanted -= packet->wanted > 0;
    net->counters.packets_delivered++;
    net->counters.flits_delivered += packet->flits;
    net_packet_ended(net, number);
    net->user.delivered(net->user.context, net->cycle, &delivery);
}
