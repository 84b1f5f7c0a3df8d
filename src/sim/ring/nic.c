/* NICs at a network's edge: queues without limit on the way in, a sink on the way out. A NIC
 * sends at most one flit in a cycle, from its queues in turn, to those slack buffers that have
 * not said stop. */
#include "sim/ring/state.h"

void net_packet_ended(struct net *net, uint32_t packet)
{
    if (--net_packet(net, packet)->ends == 0) {
        sim_slots_give(&net->packets, packet);
    }
}

static void note_sending(struct net *net, uint32_t node)
{
    const struct nic *nic = &net->nics[node];
    if (nic->waiting & ~nic->stopped) {
        bits_set(&net->sending_nics, node);
    } else {
        bits_clear(&net->sending_nics, node);
    }
}

static struct packet *new_packet(struct net *net, uint32_t source, uint32_t virtual_network,
                                 uint32_t flits, uint64_t tag, uint32_t *number)
{
    INVARIANT(source < net->nodes && flits > 0);
    INVARIANT(virtual_network < net->config.virtual_networks);
    struct packet *packet = sim_slots_take(&net->packets, number);
    uint32_t channels = net->vcs / net->config.virtual_networks;
    *packet = (struct packet){
        .next = NO_PACKET,
        .flits = flits,
        .tag = tag,
        .injected_cycle = net->cycle,
        .source = source,
        .ends = 1,
        .first_channel = (uint8_t)(virtual_network * channels),
    };
    net->counters.packets_sent++;
    return packet;
}

static void enqueue(struct net *net, const struct packet *packet, uint32_t number)
{
    struct nic *nic = &net->nics[packet->source];
    uint32_t channel = net_first_channel(net, packet);
    struct queue *queue = &net->queues[packet->source * net->vcs + channel];
    if (nic->waiting >> channel & 1) {
        net_packet(net, queue->last)->next = number;
    } else {
        queue->first = number;
        queue->left = packet->flits;
        nic->waiting |= UINT64_C(1) << channel;
        note_sending(net, packet->source);
    }
    queue->last = number;
    nic->flits += packet->flits;
}

void net_send(struct net *net, uint32_t source, uint32_t target, uint32_t virtual_network,
              uint32_t flits, uint64_t tag)
{
    INVARIANT(target < net->nodes);
    uint32_t number;
    struct packet *packet = new_packet(net, source, virtual_network, flits, tag, &number);
    packet->target = target;
    net_way(&net->config, source, target, packet->left, packet->direction);
    packet->hops = packet->left[0] + packet->left[1] + 1u;
    enqueue(net, packet, number);
}

void net_send_group(struct net *net, uint32_t source, uint32_t group, uint32_t virtual_network,
                    uint32_t flits, uint64_t tag)
{
    INVARIANT(group < NET_GROUPS_MAX && net->pass_enable[source] >> group & 1);
    uint32_t number;
    struct packet *packet = new_packet(net, source, virtual_network, flits, tag, &number);
    packet->target = group;
    packet->to_group = true;
    packet->left[0] = (uint16_t)net->nodes;
    packet->direction[0] = PORT_RIGHT;
    enqueue(net, packet, number);
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
    for (uint32_t i = 0; i < count; i++) {
        INVARIANT(members[i] < net->nodes);
        net->multicast_enable[members[i]] |= bit;
    }
}

uint64_t net_waiting(const struct net *net, uint32_t node)
{
    return net->nics[node].flits;
}

void net_nics_signalled(struct net *net)
{
    struct burst *burst = &net->signals.bursts[net->signals.now];
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t node = net_router_of(net, burst->events[i].where);
        uint64_t bit = UINT64_C(1) << burst->events[i].where % net->vcs;
        struct nic *nic = &net->nics[node];
        nic->stopped = burst->events[i].what ? nic->stopped | bit : nic->stopped & ~bit;
        note_sending(net, node);
    }
    burst->count = 0;
}

static void send_flit(struct net *net, uint32_t node)
{
    struct nic *nic = &net->nics[node];
    uint64_t ready = nic->waiting & ~nic->stopped;
    uint64_t later = ready & ~((UINT64_C(2) << nic->last) - 1);
    uint32_t channel = (uint32_t)__builtin_ctzll(later ? later : ready);
    nic->last = (uint8_t)channel;
    struct queue *queue = &net->queues[node * net->vcs + channel];
    struct packet *packet = net_packet(net, queue->first);
    uint32_t input = node * net->ports * net->vcs + channel;
    bool is_head = queue->left == packet->flits;
    if (is_head) {
        packet->entered_cycle = net->cycle;
    }
    line_send(&net->nic_flits, input, is_head ? queue->first : BODY_FLIT);
    nic->flits--;
    if (--queue->left == 0) {
        queue->first = packet->next;
        if (queue->first == NO_PACKET) {
            nic->waiting &= ~(UINT64_C(1) << channel);
            note_sending(net, node);
        } else {
            queue->left = net_packet(net, queue->first)->flits;
        }
    }
}

void net_nics_send(struct net *net)
{
    for (uint32_t s = 0; s < net->sending_nics.summary_words; s++) {
        for (uint64_t words = net->sending_nics.summary[s]; words; words &= words - 1) {
            uint32_t word = s * 64 + (uint32_t)__builtin_ctzll(words);
            for (uint64_t nodes = net->sending_nics.words[word]; nodes; nodes &= nodes - 1) {
                send_flit(net, word * 64 + (uint32_t)__builtin_ctzll(nodes));
            }
        }
    }
}

void net_nics_receive(struct net *net)
{
    /* The user may send when it is told: that adds to queues, not to this line. */
    struct burst *burst = &net->deliveries.bursts[net->deliveries.now];
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t node = burst->events[i].where, number = burst->events[i].what;
        const struct packet *packet = net_packet(net, number);
        struct net_delivery delivery = {
            .tag = packet->tag,
            .source = packet->source,
            .target = node,
            .flits = packet->flits,
            .hops = packet->hops,
            .injected_cycle = packet->injected_cycle,
            .entered_cycle = packet->entered_cycle,
        };
        if (packet->to_group) {
            uint32_t way = (node + net->nodes - packet->source) % net->nodes;
            delivery.hops = (way ? way : net->nodes) + 1;
        }
        net->counters.packets_delivered++;
        net->counters.flits_delivered += packet->flits;
        net_packet_ended(net, number);
        net->user.delivered(net->user.context, net->cycle, &delivery);
    }
    burst->count = 0;
}
