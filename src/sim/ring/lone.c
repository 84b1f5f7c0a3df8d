/* A lone packet in an empty net: when each of its flits leaves the NIC, each router and the last
 * one's port. It may have to wait for the lines of the flits before it, for its own credits, for
 * its own slack buffer, and, where links carry frames, for its own frames:
 *
 *  - flits that leave in cycles one behind the other, at most frame_flits of them, make a frame;
 *  - behind the last of them its number and CRC go out, for which the link is busy;
 *  - all of them are in the next router when those are.
 *
 * What happens to a flit depends on what has happened to flits before it further on (credits) and
 * to flits behind it in the same router (frames). So all of it is computed again, NIC first, until
 * nothing changes: each cause is earlier than its effect, so the times become right one after the
 * other. */
#include "sim/ring/state.h"

struct lone {
    const struct net_config *config;
    struct net_port_rate rate;
    uint32_t bytes, flits, routers;
    uint64_t *from_nic; /* [flit] */
    uint64_t *arrives;  /* [flit], in the router that is looked at */
    uint64_t *sent;     /* [router][flit]; behind the last router, its port */
};

static uint64_t *sent_at(const struct lone *lone, uint32_t router, uint32_t flit)
{
    return &lone->sent[(size_t)router * lone->flits + flit];
}

static uint64_t later_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Sets a time; returns whether it was another one before. */
static bool set(uint64_t *at, uint64_t cycle)
{
    bool is_new = *at != cycle;
    *at = cycle;
    return is_new;
}

/* The first cycle, not before `cycle`, in which the NIC has not been told to stop. The NIC knows
 * the slack buffer's fill of nic_cycles earlier. */
static uint64_t when_not_stopped(const struct lone *lone, uint32_t flit, uint64_t cycle,
                                 uint32_t *in, uint32_t *out)
{
    const struct net_config *config = lone->config;
    uint32_t stop_fill = net_slack(config) - net_overshoot(config);
    for (;; cycle++) {
        while (*in < flit && lone->arrives[*in] + config->nic_cycles <= cycle) {
            (*in)++;
        }
        while (*out < flit && *sent_at(lone, 0, *out) + config->nic_cycles <= cycle) {
            (*out)++;
        }
        if (*in < *out + stop_fill) {
            return cycle;
        }
    }
}

static bool pass_nic(struct lone *lone)
{
    bool is_new = false;
    uint32_t in = 0, out = 0;
    uint64_t next = 0;
    for (uint32_t flit = 0; flit < lone->flits; flit++) {
        uint32_t cycles = net_port_in(&lone->rate, lone->bytes, flit);
        uint64_t leaves = when_not_stopped(lone, flit, next, &in, &out);
        is_new |= set(&lone->from_nic[flit], leaves);
        lone->arrives[flit] = leaves + cycles - 1 + lone->config->nic_cycles;
        next = leaves + cycles;
    }
    return is_new;
}

/* When a flit could leave a router, if its link carried no frames. */
static uint64_t may_leave(const struct lone *lone, uint32_t router, uint32_t flit)
{
    const struct net_config *config = lone->config;
    bool is_last = router + 1 == lone->routers;
    uint32_t room = is_last ? config->leave_flits : config->buffer_flits;
    /* The port's credits are in the same router. */
    uint32_t credit_cycles = is_last ? 1 : config->credit_cycles;
    uint64_t leaves = lone->arrives[flit];
    if (flit == 0) {
        leaves += config->route_cycles;
    } else {
        leaves = later_of(leaves, *sent_at(lone, router, flit - 1) + 1);
    }
    if (flit >= room) {
        leaves = later_of(leaves, *sent_at(lone, router + 1, flit - room) + credit_cycles);
    }
    return leaves;
}

/* All flits from `first` to before `end` have come to the next router. */
static void arrive(struct lone *lone, uint32_t first, uint32_t end, uint64_t cycle)
{
    for (uint32_t flit = first; flit < end; flit++) {
        lone->arrives[flit] = cycle;
    }
}

static bool pass_router(struct lone *lone, uint32_t router)
{
    const struct net_config *config = lone->config;
    uint32_t there = config->switch_cycles + config->link_cycles;
    uint32_t overhead = net_frame_overhead(config);
    bool is_framed = config->bit_error_rate > 0 && router + 1 < lone->routers;
    uint32_t first = 0; /* of the open frame */
    bool is_new = false;
    for (uint32_t flit = 0; flit < lone->flits; flit++) {
        uint64_t leaves = may_leave(lone, router, flit);
        if (is_framed && flit > 0) {
            uint64_t before = *sent_at(lone, router, flit - 1);
            if (leaves > before + 1 || flit - first == config->frame_flits) {
                arrive(lone, first, flit, before + overhead + there);
                leaves = later_of(leaves, before + 1 + overhead);
                first = flit;
            }
        }
        is_new |= set(sent_at(lone, router, flit), leaves);
        if (!is_framed) {
            lone->arrives[flit] = leaves + there;
        }
    }
    if (is_framed) {
        uint64_t last = *sent_at(lone, router, lone->flits - 1);
        arrive(lone, first, lone->flits, last + overhead + there);
    }
    return is_new;
}

/* The last router's flits go through its switch to its port. */
static bool pass_port(struct lone *lone)
{
    bool is_new = false;
    uint64_t next = 0;
    for (uint32_t flit = 0; flit < lone->flits; flit++) {
        uint64_t comes = *sent_at(lone, lone->routers - 1, flit) + lone->config->switch_cycles;
        uint64_t leaves = later_of(comes, next);
        is_new |= set(sent_at(lone, lone->routers, flit), leaves);
        next = leaves + net_port_out(&lone->rate, lone->bytes, flit);
    }
    return is_new;
}

uint64_t net_zero_load_bytes(const struct net_config *config, uint32_t source, uint32_t target,
                             uint32_t bytes)
{
    uint32_t flits = net_flits(bytes, config->flit_bytes);
    struct lone lone = {
        .config = config,
        .rate = net_port_rate(config),
        .bytes = bytes,
        .flits = flits,
        .routers = net_hops(config, source, target),
    };
    lone.from_nic = calloc(flits, sizeof *lone.from_nic);
    lone.arrives = calloc(flits, sizeof *lone.arrives);
    lone.sent = calloc((size_t)flits * (lone.routers + 1), sizeof *lone.sent);
    INVARIANT(lone.from_nic && lone.arrives && lone.sent);
    bool is_new;
    do {
        is_new = pass_nic(&lone);
        for (uint32_t router = 0; router < lone.routers; router++) {
            is_new |= pass_router(&lone, router);
        }
        is_new |= pass_port(&lone);
    } while (is_new);
    uint64_t cycles = *sent_at(&lone, lone.routers, flits - 1) +
                      net_port_out(&lone.rate, bytes, flits - 1) - 1 + config->nic_cycles;
    free(lone.from_nic);
    free(lone.arrives);
    free(lone.sent);
    return cycles;
}

uint64_t net_zero_load_cycles(const struct net_config *config, uint32_t source, uint32_t target,
                              uint32_t flits)
{
    return net_zero_load_bytes(config, source, target, flits * config->flit_bytes);
}
