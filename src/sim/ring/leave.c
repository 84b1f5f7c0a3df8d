/* The way out: from a router's switch over the port into a NIC.
 *
 * The switch puts flits into a leave buffer for each channel of the port, for whose places the
 * router's channel has credits. The port takes them from the channels in turn, a flit's lines at a
 * time. A NIC takes lines at once; or, if it is slow, out of slack buffers, which stop the port's
 * channels when they are nearly full: what is on its way by then still finds a place. So leave
 * buffers and slack buffers are the same thing, emptied by a port and by a NIC.
 *
 * A flit takes switch_cycles from the switch into its leave buffer. Instead of keeping it until
 * then, everything here runs that much ahead of the rest of the net: the flit is in the buffer at
 * once, and what comes out of this file, credits and deliveries, waits for as long. */
#include "sim/ring/state.h"

/* One channel's buffer. */
struct channel {
    uint32_t *packets; /* those here, a circular buffer */
    uint32_t first, count;
    uint32_t fill;         /* flits */
    uint32_t bytes, flits; /* of the packet in front */
    uint32_t taken;        /* of its flits */
    uint32_t node;
    uint8_t number; /* of the port's channels */
};

/* What takes flits out of a node's buffers. */
struct taker {
    uint64_t filled;  /* a bit for each channel with flits */
    uint64_t stopped; /* a bit for each channel from which nothing is taken */
    uint16_t last;    /* the channel that was taken from last */
    bool is_due;      /* it looks for a flit, now or when the lines of one have gone */
};

/* A buffer for each channel of each NIC's port, and one taker for all of a node's. */
struct drain {
    struct channel *channels; /* [output]; those of other ports are not used */
    struct taker *takers;     /* [node] */
    struct net_port_rate rate;
    uint32_t room_flits;
    struct line due; /* takers that look for a flit: (node, -) */
};

struct leave {
    struct drain port; /* leave buffers, emptied by ports */
    struct drain nic;  /* slack buffers, emptied by slow NICs */
    bool nics_are_slow;
    uint32_t stop_fill;   /* of a NIC's slack buffer */
    struct line arrivals; /* (output, packet of a head or BODY_FLIT) into a NIC's slack buffer */
    struct line signals;  /* NIC to router: (output, 1 stop or 0 go) */
    struct line tails;    /* into a NIC's memory: (node, packet) */
};

/* ---- Buffers and their takers ---------------------------------------------------------------- */

static uint32_t longest(const struct net_port_rate *rate)
{
    return net_port_time(rate, net_lines(rate->flit_bytes) + 1);
}

static void open_drain(struct net *net, struct drain *drain, uint32_t room_flits,
                       uint32_t line_cycles)
{
    size_t channels = (size_t)net->nodes * net->vcs;
    uint32_t *packets = net_table(net, channels * room_flits, sizeof *packets);
    drain->rate = (struct net_port_rate){line_cycles, net->config.flit_bytes};
    drain->room_flits = room_flits;
    drain->channels = net_table(net, channels * net->ports, sizeof *drain->channels);
    drain->takers = net_table(net, net->nodes, sizeof *drain->takers);
    net_line_open(net, &drain->due, longest(&drain->rate));
    for (size_t i = 0; !net->lacks_memory && i < channels; i++) {
        size_t node = i / net->vcs;
        drain->channels[(node * net->ports + PORT_NIC) * net->vcs + i % net->vcs] =
            (struct channel){
                .packets = packets + i * room_flits,
                .node = (uint32_t)node,
                .number = (uint8_t)(i % net->vcs),
            };
    }
}

/* Something may be taken now that could not before. */
static inline void wake(struct net *net, struct drain *drain, uint32_t node)
{
    struct taker *taker = &drain->takers[node];
    if (!taker->is_due && taker->filled & ~taker->stopped) {
        taker->is_due = true;
        line_send(&drain->due, net->cycle, node, 0);
    }
}

/* Another packet is in front. */
static inline void begin_front(const struct net *net, struct channel *channel)
{
    const struct packet *packet = net_packet(net, channel->packets[channel->first]);
    channel->bytes = packet->content.bytes;
    channel->flits = packet->flits;
    channel->taken = 0;
}

/* A flit comes; returns the fill with it. */
static inline uint32_t put(struct net *net, struct drain *drain, uint32_t output, uint32_t what)
{
    struct channel *channel = &drain->channels[output];
    INVARIANT(channel->fill < drain->room_flits);
    if (what != BODY_FLIT) {
        uint32_t at = channel->first + channel->count++;
        channel->packets[at < drain->room_flits ? at : at - drain->room_flits] = what;
        if (channel->count == 1) {
            begin_front(net, channel);
        }
    }
    drain->takers[channel->node].filled |= UINT64_C(1) << channel->number;
    wake(net, drain, channel->node);
    return ++channel->fill;
}

static void stop(struct net *net, struct drain *drain, uint32_t output, bool stopped)
{
    const struct channel *channel = &drain->channels[output];
    struct taker *taker = &drain->takers[channel->node];
    uint64_t bit = UINT64_C(1) << channel->number;
    taker->stopped = stopped ? taker->stopped | bit : taker->stopped & ~bit;
    wake(net, drain, channel->node);
}

/* A flit that was taken: of which channel and packet, and how long its lines keep the taker
 * busy. */
struct taken {
    uint32_t output, node, packet;
    bool is_head, is_tail;
    uint32_t cycles;
};

static inline __attribute__((always_inline)) struct taken take(struct net *net, struct drain *drain,
                                                               uint32_t node)
{
    struct taker *taker = &drain->takers[node];
    uint64_t filled = taker->filled & ~taker->stopped;
    uint64_t later = filled & ~((UINT64_C(2) << taker->last) - 1);
    taker->last = (uint16_t)__builtin_ctzll(later ? later : filled);
    uint32_t output = (node * net->ports + PORT_NIC) * net->vcs + taker->last;
    struct channel *channel = &drain->channels[output];
    struct taken taken = {output, node, channel->packets[channel->first], false, false, 0};
    taken.cycles = net_port_out(&drain->rate, channel->bytes, channel->taken);
    taken.is_head = channel->taken == 0;
    taken.is_tail = ++channel->taken == channel->flits;
    taker->filled &= ~((uint64_t)(--channel->fill == 0) << taker->last);
    if (taken.is_tail) {
        channel->first++;
        if (--channel->count == 0 || channel->first == drain->room_flits) {
            /* Also when it is empty: few of its places then stay in the cache. */
            channel->first = 0;
        }
        if (channel->count > 0) {
            begin_front(net, channel);
        }
    }
    return taken;
}

static inline __attribute__((always_inline)) void each_due(struct net *net, struct drain *drain,
                                                           void (*took)(struct net *net,
                                                                        const struct taken *taken))
{
    struct burst *burst = line_burst(&drain->due, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t node = burst->events[i].where;
        struct taker *taker = &drain->takers[node];
        taker->is_due = (taker->filled & ~taker->stopped) != 0;
        if (taker->is_due) {
            struct taken taken = take(net, drain, node);
            line_send(&drain->due, net->cycle + taken.cycles, node, 0);
            took(net, &taken);
        }
    }
    burst->count = 0;
}

/* ---- The way --------------------------------------------------------------------------------- */

bool net_leave_open(struct net *net)
{
    const struct net_config *config = &net->config;
    struct leave *leave = net_table(net, 1, sizeof *leave);
    if (!leave) {
        return false;
    }
    open_drain(net, &leave->port, config->leave_flits, net_line_cycles(config));
    uint32_t port_longest = longest(&leave->port.rate);
    leave->nics_are_slow = config->port_take_cycles > 0;
    if (leave->nics_are_slow) {
        open_drain(net, &leave->nic, net->slack_flits, config->port_take_cycles);
        leave->stop_fill = net->slack_flits - net_overshoot(config);
        net_line_open(net, &leave->arrivals, config->nic_cycles + port_longest - 1);
        net_line_open(net, &leave->signals, config->nic_cycles);
        net_line_open(net, &leave->tails, config->switch_cycles + longest(&leave->nic.rate) + 1);
    } else {
        net_line_open(net, &leave->tails,
                      config->switch_cycles + config->nic_cycles + port_longest - 1);
    }
    net->leave = leave;
    return !net->lacks_memory;
}

void net_leave_close(struct net *net)
{
    struct leave *leave = net->leave;
    if (leave) {
        struct line *lines[] = {&leave->port.due, &leave->nic.due, &leave->arrivals,
                                &leave->signals, &leave->tails};
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            net_line_close(lines[i]);
        }
    }
}

uint32_t net_leave_fill(const struct net *net, uint32_t output)
{
    return net->leave->port.channels[output].fill;
}

void net_leave_receive(struct net *net)
{
    /* The user may send when it is told: that adds to queues of NICs, not to this line. */
    struct burst *burst = line_burst(&net->leave->tails, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        net_nic_deliver(net, burst->events[i].where, burst->events[i].what);
    }
    burst->count = 0;
}

/* A port has taken a flit out of a leave buffer: its lines go to the NIC. */
static inline void port_took(struct net *net, const struct taken *taken)
{
    struct leave *leave = net->leave;
    uint64_t comes_cycle = net->cycle + net->config.nic_cycles + taken->cycles - 1;
    line_send(&net->credits, net->cycle + net->config.switch_cycles + 1, taken->output, 0);
    if (leave->nics_are_slow) {
        line_send(&leave->arrivals, comes_cycle, taken->output,
                  taken->is_head ? taken->packet : BODY_FLIT);
    } else if (taken->is_tail) {
        line_send(&leave->tails, comes_cycle + net->config.switch_cycles, taken->node,
                  taken->packet);
    }
}

static inline void nic_took(struct net *net, const struct taken *taken)
{
    struct leave *leave = net->leave;
    if (leave->nic.channels[taken->output].fill == leave->stop_fill - 1) {
        line_send(&leave->signals, net->cycle + net->config.nic_cycles, taken->output, 0);
    }
    if (taken->is_tail) {
        line_send(&leave->tails, net->cycle + net->config.switch_cycles + taken->cycles + 1,
                  taken->node, taken->packet);
    }
}

static void slow_nics_receive(struct net *net)
{
    struct leave *leave = net->leave;
    struct burst *burst = line_burst(&leave->signals, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        stop(net, &leave->port, burst->events[i].where, burst->events[i].what);
    }
    burst->count = 0;
    burst = line_burst(&leave->arrivals, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        uint32_t output = burst->events[i].where;
        if (put(net, &leave->nic, output, burst->events[i].what) == leave->stop_fill) {
            line_send(&leave->signals, net->cycle + net->config.nic_cycles, output, 1);
        }
    }
    burst->count = 0;
}

void net_leave_step(struct net *net)
{
    struct leave *leave = net->leave;
    for (uint32_t i = 0; i < net->leaving.count; i++) {
        (void)put(net, &leave->port, net->leaving.events[i].where, net->leaving.events[i].what);
    }
    net->leaving.count = 0;
    if (leave->nics_are_slow) {
        slow_nics_receive(net);
    }
    each_due(net, &leave->port, port_took);
    if (leave->nics_are_slow) {
        each_due(net, &leave->nic, nic_took);
    }
}
