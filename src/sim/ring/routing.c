/* Where a packet goes from a router, and on which channel: decided by the bits of its routing
 * header (wire/ring_header.h) and the channel on which it has come, and by nothing else. A packet's
 * way and channels depend on its source and target alone, so what leaves first arrives first.
 *
 * RRouterID names the target and R-L/R the way round. In meshes and tori that is the way along the
 * row; the header has no bit for the column, where all take the shorter way from the row of
 * IRouterID, the source, to that of the target.
 *
 * DATELINE: the channels of a virtual network are two halves. A packet that is going to pass
 * through the dateline's router starts in the lower half and climbs there; any other packet takes
 * the half that its source's number says, and stays. So the lower channels wait for each other only
 * as far as that router, and for the upper ones beyond it; the upper ones wait for each other only
 * as far as that router, which no packet in them passes. If all started in the lower half, as the
 * paper has it, the upper half would be empty before the dateline and the lower half after it: with
 * NICs that could fill it, a ring of 8 would saturate at 80 % of what its links carry, not at 92. A
 * half may have more than one channel; again the source's number chooses.
 *
 * Multicast: with R-Multicast, RRouterID is the line of two bits in the table of each router:
 * MulticastEnable, the NIC gets a copy; PassEnable, it goes on. The packet ends when it is back at
 * IRouterID, its source, so one table serves every source, and each member gets it exactly once, a
 * source that is a member last. Why that cannot lock up: copies go to the NIC on the channel on
 * which the packet came, so the only packet with a copy that can hold the NIC's channel is the one
 * in front of that input; any other that waits for it waits for a channel further on, or for a
 * packet that is being delivered.
 *
 * A header that leads nowhere (it was damaged on its way from the NIC) ends where it is. */
#include "sim/ring/state.h"

bool net_header_read(const struct net *net, const struct packet *packet,
                     struct wire_ring_header *header)
{
    return wire_ring_header_decode(packet->content.header, net->nodes, NET_GROUPS_MAX, header);
}

/* The port by which a packet leaves a router: its NIC's, if it is for that. */
static uint32_t port_of(const struct net *net, const struct wire_ring_header *header,
                        uint32_t router)
{
    const struct net_config *config = &net->config;
    if (!header->multicast && header->router == router) {
        return PORT_NIC;
    }
    if (config->shape == NET_RING || header->router % config->width != router % config->width) {
        return header->direction == WIRE_RIGHT ? PORT_RIGHT : PORT_LEFT;
    }
    uint32_t port;
    (void)net_way(config, NET_COLUMN, header->return_router, header->router, &port);
    return port;
}

/* A number's place in the rings that a port leads round, and their size. */
static uint32_t place_of(const struct net *net, uint32_t router, uint32_t port, uint32_t *size)
{
    const struct net_config *config = &net->config;
    bool is_row = port == PORT_RIGHT || port == PORT_LEFT;
    *size = is_row ? config->width : config->height;
    return config->shape == NET_RING ? router
           : is_row                  ? router % config->width
                                     : router / config->width;
}

/* Links from one place to another by a port's direction; 0: it is there. */
static uint32_t links_to(uint32_t from, uint32_t to, uint32_t size, uint32_t port)
{
    bool upwards = port == PORT_RIGHT || port == PORT_UP;
    uint32_t links = upwards ? to + size - from : from + size - to;
    return links < size ? links : links - size;
}

uint32_t net_header_links(const struct net *net, const struct wire_ring_header *header,
                          uint32_t router)
{
    uint32_t links = 0;
    uint32_t port;
    while ((port = port_of(net, header, router)) != PORT_NIC) {
        uint32_t size, there;
        uint32_t here = place_of(net, router, port, &size);
        there = place_of(net, header->router, port, &size);
        uint32_t taken = links_to(here, there, size, port);
        bool is_row = port == PORT_RIGHT || port == PORT_LEFT;
        links += taken;
        router = is_row ? router - here + there : header->router;
    }
    return links;
}

uint32_t net_first_channel(const struct net *net, const struct wire_ring_header *header,
                           uint32_t source, uint32_t virtual_network)
{
    uint32_t port = port_of(net, header, source);
    /* Packets that leave by different ports need not wait for each other at the NIC. */
    return virtual_network * net->network_vcs +
           (port == PORT_NIC ? 0 : port - 1) % net->network_vcs;
}

static uint32_t dateline_channel(const struct net *net, const struct wire_ring_header *header,
                                 uint32_t input, uint32_t first, uint32_t port)
{
    uint32_t router = net_router_of(net, input);
    uint32_t in_port = net_port_of(net, input);
    uint32_t lanes = net->network_vcs / 2;
    bool is_in_ring = in_port != PORT_NIC && (in_port - 1) / 2 == (port - 1) / 2;
    uint32_t size;
    uint32_t here = place_of(net, router, port, &size);
    uint32_t ahead = links_to(here, net->config.dateline, size, port);
    uint32_t level;
    if (is_in_ring) {
        level = ahead == 0 || net->places[input].channel >= first + lanes;
    } else {
        uint32_t there = place_of(net, header->router, port, &size);
        uint32_t left = header->multicast ? size : links_to(here, there, size, port);
        bool will_pass = ahead > 0 && ahead < left;
        level = will_pass ? 0 : header->return_router / lanes % 2;
    }
    return first + level * lanes + header->return_router % lanes;
}

static uint32_t channel_of(const struct net *net, const struct wire_ring_header *header,
                           uint32_t input, uint32_t port)
{
    uint32_t channels = net->network_vcs;
    uint32_t channel = net->places[input].channel;
    uint32_t first = channel / channels * channels; /* of its virtual network */
    switch (net->config.routing) {
    case NET_DATELINE: return dateline_channel(net, header, input, first, port);
    case NET_STRUCTURED:
        channel = net_port_of(net, input) == PORT_NIC ? first + 1 : channel + 1;
        return channel < first + channels ? channel : NO_CHANNEL;
    case NET_BROKEN: return first;
    case NET_DIMENSION: return first + header->return_router % channels;
    case NET_ROUTINGS: break;
    }
    INVARIANT(false);
}

void net_route(const struct net *net, const struct packet *packet, uint32_t input,
               uint32_t branch[2])
{
    struct wire_ring_header header;
    uint32_t router = net_router_of(net, input);
    uint32_t to_nic = router * net->ports * net->vcs + net->places[input].channel;
    branch[0] = SINK_CHANNEL;
    branch[1] = NO_CHANNEL;
    if (UNLIKELY(!net_header_read(net, packet, &header))) {
        return;
    }
    if (header.multicast) {
        bool from_nic = net_port_of(net, input) == PORT_NIC;
        bool is_back = !from_nic && router == header.return_router;
        bool deliver = !from_nic && net->multicast_enable[router] >> header.router & 1;
        bool pass = !is_back && net->pass_enable[router] >> header.router & 1;
        if (!pass) {
            branch[0] = deliver ? to_nic : SINK_CHANNEL;
            return;
        }
        branch[1] = deliver ? to_nic : NO_CHANNEL;
    }
    uint32_t port = port_of(net, &header, router);
    if (port == PORT_NIC) {
        branch[0] = to_nic;
        return;
    }
    uint32_t channel = channel_of(net, &header, input, port);
    uint32_t output = (router * net->ports + port) * net->vcs + channel;
    if (UNLIKELY(channel == NO_CHANNEL || net->outputs[output].peer == NO_CHANNEL)) {
        branch[1] = NO_CHANNEL;
        return;
    }
    branch[0] = output;
}
