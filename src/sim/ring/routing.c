/* Where a packet goes from a router, and on which channel. A packet's way and channels depend on
 * its source and target alone, so what leaves first arrives first.
 *
 * DATELINE: the channels of a virtual network are two halves. A packet that is going to pass
 * through the dateline's router starts in the lower half and climbs there; any other packet takes
 * the half that its source's number says, and stays. So the lower channels wait for each other
 * only as far as that router, and for the upper ones beyond it; the upper ones wait for each
 * other only as far as that router, which no packet in them passes. If all started in the
 * lower half, as the paper has it, the upper half would be empty before the dateline and the
 * lower half after it: a ring of 8 would saturate at 80 % of what its links carry, not at 92.
 * A half may have more than one channel; again the source's number chooses.
 *
 * Multicast: a packet for a group goes to the right. In each router the group is the index of
 * two bits: MulticastEnable, the NIC gets a copy; PassEnable, it goes on. The packet carries its
 * source (IRouterID) and ends when it is back there, so one table serves every source, and each
 * member gets it exactly once, a source that is a member last. Why that cannot lock up: copies
 * go to the NIC on the channel on which the packet came, so the only packet with a copy
 * that can hold the NIC's channel is the one in front of that input; any other that waits for it
 * waits for a channel further to the right, or for a packet that is being delivered. */
#include "sim/ring/state.h"

uint32_t net_first_channel(const struct net *net, const struct packet *packet)
{
    uint32_t channels = net->vcs / net->config.virtual_networks;
    uint32_t direction = packet->left[0] ? packet->direction[0] : packet->direction[1];
    /* Packets that leave by different ports need not wait for each other at the NIC. */
    return packet->first_channel + (direction - 1) % channels;
}

/* How many links ahead the dateline is when a packet is about to take its first link of a ring. */
static uint32_t links_to_dateline(const struct net *net, uint32_t router, uint32_t port)
{
    bool is_row = port == PORT_RIGHT || port == PORT_LEFT;
    uint32_t size = is_row ? net->config.width : net->config.height;
    uint32_t at = is_row ? router % net->config.width : router / net->config.width;
    bool upwards = port == PORT_RIGHT || port == PORT_UP;
    return (upwards ? net->config.dateline + size - at : at + size - net->config.dateline) % size;
}

static uint32_t dateline_channel(const struct net *net, struct packet *packet, uint32_t router,
                                 uint32_t in_port, uint32_t dimension)
{
    uint32_t lanes = net->vcs / net->config.virtual_networks / 2;
    bool is_in_ring = in_port != PORT_NIC && (in_port - 1) / 2 == dimension;
    uint32_t ahead = links_to_dateline(net, router, packet->direction[dimension]);
    if (!is_in_ring) {
        bool will_pass = ahead > 0 && ahead < packet->left[dimension];
        packet->level = will_pass ? 0 : packet->source / lanes % 2;
    } else if (ahead == 0) {
        INVARIANT(packet->level == 0);
        packet->level = 1;
    }
    return packet->first_channel + packet->level * lanes + packet->source % lanes;
}

static uint32_t channel_of(const struct net *net, struct packet *packet, uint32_t router,
                           uint32_t in_port, uint32_t dimension)
{
    uint32_t channels = net->vcs / net->config.virtual_networks;
    switch (net->config.routing) {
    case NET_DATELINE: return dateline_channel(net, packet, router, in_port, dimension);
    case NET_STRUCTURED: return packet->first_channel + packet->taken + 1;
    case NET_BROKEN: return packet->first_channel;
    case NET_DIMENSION: return packet->first_channel + packet->source % channels;
    case NET_ROUTINGS: break;
    }
    INVARIANT(false);
}

void net_route(const struct net *net, struct packet *packet, uint32_t input, uint32_t branch[2])
{
    uint32_t router = net_router_of(net, input);
    uint32_t in_port = net_port_of(net, input);
    uint32_t to_nic = router * net->ports * net->vcs + input % net->vcs;
    branch[0] = branch[1] = NO_CHANNEL;
    if (packet->to_group) {
        bool is_back = in_port != PORT_NIC && router == packet->source;
        bool deliver = in_port != PORT_NIC && net->multicast_enable[router] >> packet->target & 1;
        bool pass = !is_back && net->pass_enable[router] >> packet->target & 1;
        if (!pass) {
            branch[0] = deliver ? to_nic : SINK_CHANNEL;
            return;
        }
        branch[1] = deliver ? to_nic : NO_CHANNEL;
    } else if (packet->left[0] == 0 && packet->left[1] == 0) {
        branch[0] = to_nic;
        return;
    }
    uint32_t dimension = packet->left[0] ? 0 : 1;
    uint32_t port = packet->direction[dimension];
    uint32_t channel = channel_of(net, packet, router, in_port, dimension);
    branch[0] = (router * net->ports + port) * net->vcs + channel;
    packet->left[dimension]--;
    packet->taken++;
}
