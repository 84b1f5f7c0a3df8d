#include "sim/ring/bound.h"

#include <string.h>

/* How many channels are modelled together; more of them drain no less. */
enum { DRAIN_CHANNELS_MAX = 4, DRAIN_STEPS = 2000 };

/* Packets over the fullest link of one direction when every node sends one to each of its N - 1
 * targets. Where both ways are as long, even nodes go right, odd ones left. */
static double links_taken(uint32_t nodes)
{
    uint32_t half = (nodes - 1) / 2;
    double sum = (double)half * (half + 1) / 2;
    if (nodes % 2 == 0) {
        sum += (nodes / 2 + 1) / 2; /* the even ones, or the odd ones, of N / 2 nodes in a row */
    }
    return sum;
}

/* The rate at which each front is served: bit 2n + d of a state says that the packet in front
 * of channel n, on its way in direction d, wants to leave the ring. */
static void serve(unsigned state, unsigned channels, double *rates)
{
    unsigned leaving_channels = 0;
    unsigned staying[2] = {0, 0};
    for (unsigned n = 0; n < channels; n++) {
        leaving_channels += (state >> 2 * n & 3) != 0;
        staying[0] += !(state >> 2 * n & 1);
        staying[1] += !(state >> 2 * n & 2);
    }
    for (unsigned i = 0; i < 2 * channels; i++) {
        bool both = (state >> i / 2 * 2 & 3) == 3;
        rates[i] = state >> i & 1 ? 1.0 / leaving_channels / (both ? 2 : 1) : 1.0 / staying[i % 2];
    }
}

/* What a router passes on in each direction when its inputs are never empty, in flits per cycle.
 * The fronts of the channels are a Markov chain; each step is one of its events. */
static double drain_of(double leaving_share, unsigned channels)
{
    unsigned states = 1u << 2 * channels;
    double now[1 << 2 * DRAIN_CHANNELS_MAX] = {1};
    double next[1 << 2 * DRAIN_CHANNELS_MAX];
    double rates[2 * DRAIN_CHANNELS_MAX];
    double steps_per_cycle = 2 * (double)channels + 1; /* more than all rates together */
    double drained = 0;
    for (unsigned step = 0; step < DRAIN_STEPS; step++) {
        memset(next, 0, sizeof next);
        drained = 0;
        for (unsigned state = 0; state < states; state++) {
            double stays = 1;
            serve(state, channels, rates);
            for (unsigned i = 0; i < 2 * channels; i++) {
                double share = rates[i] / steps_per_cycle;
                next[state | 1u << i] += now[state] * share * leaving_share;
                next[state & ~(1u << i)] += now[state] * share * (1 - leaving_share);
                stays -= share;
                drained += now[state] * rates[i];
            }
            next[state] += now[state] * stays;
        }
        memcpy(now, next, sizeof now);
    }
    return drained / 2;
}

double net_bound_port(const struct net_config *network, const struct net_traffic_config *traffic)
{
    const struct {
        uint32_t flits;
        double share;
    } packets[] = {{traffic->flits, 1 - traffic->long_share},
                   {traffic->long_flits, traffic->long_share},
                   {traffic->reply_flits, traffic->reply_flits > 0 ? 1 : 0}};
    double flits = 0;
    double cycles = 0;
    for (unsigned i = 0; i < sizeof packets / sizeof *packets; i++) {
        uint32_t bytes = packets[i].flits * network->flit_bytes;
        flits += packets[i].share * packets[i].flits;
        cycles += packets[i].share * (double)net_port_cycles(network, bytes);
    }
    return flits / cycles;
}

bool net_bound_get(const struct net_experiment *experiment, struct net_bound *bound)
{
    const struct net_config *network = &experiment->network;
    const struct net_traffic_config *traffic = &experiment->traffic;
    if (network->shape != NET_RING || network->routing != NET_DATELINE ||
        traffic->pattern != NET_UNIFORM || network->width < 3) {
        return false;
    }
    uint32_t nodes = network->width;
    uint32_t used = traffic->networks ? traffic->networks : network->virtual_networks;
    /* Packets use one channel of each half of their network's channels. */
    unsigned channels = 2 * used < DRAIN_CHANNELS_MAX ? 2 * used : DRAIN_CHANNELS_MAX;
    double links = links_taken(nodes);
    /* A packet takes its links in one direction, and half of a node's packets take that one. */
    double leaving_share = (double)(nodes - 1) / 2 / links;
    double round_trip = (double)network->switch_cycles + network->link_cycles +
                        network->route_cycles + network->credit_cycles;
    double port = net_bound_port(network, traffic);
    double drain = drain_of(leaving_share < 1 ? leaving_share : 1, channels);
    /* On the link before the dateline, the upper half carries only half of the packets that leave
     * there. */
    double lower_share = 1 - leaving_share / 2;
    double credit = used * (double)network->buffer_flits / round_trip / lower_share;
    double frame_cycles = (double)network->frame_flits + net_frame_overhead(network);
    *bound = (struct net_bound){
        .channel = (nodes - 1) / links,
        .port = port,
        .drain = drain < 1 ? drain : 1,
        .credit = credit < 1 ? credit : 1,
        .frame = network->bit_error_rate > 0 ? network->frame_flits / frame_cycles : 1,
    };
    double share = bound->drain < bound->credit ? bound->drain : bound->credit;
    share = share < bound->frame ? share : bound->frame;
    double rate = bound->channel * share;
    bound->rate = rate < bound->port ? rate : bound->port;
    return true;
}
