/* The port between a NIC and its router: how long lines take there, and how much slack it needs.
 *
 * A packet's bytes are its lines', 8 to a line, and its flits' at the same time. A router that gets
 * lines has a flit when the line with the flit's last byte has come; a router that sends lines can
 * send one as soon as it has the flit with the line's last byte. With flits of 12 bytes two flits
 * are three lines: on the way in they take two lines and one, on the way out one and two. */
#ifndef SIM_RING_PORT_H
#define SIM_RING_PORT_H

#include "sim/ring/net.h"
#include "wire/line.h"

/* Lines, flits and time, ready for use. */
struct net_port_rate {
    uint32_t line_cycles; /* net_line_cycles */
    uint32_t flit_bytes;
};

static inline uint32_t net_lines(uint32_t bytes)
{
    return (bytes + WIRE_LINE_DATA_BYTES - 1) / WIRE_LINE_DATA_BYTES;
}

static inline uint32_t net_flits(uint32_t bytes, uint32_t flit_bytes)
{
    return (bytes + flit_bytes - 1) / flit_bytes;
}

/* The cycles of `lines` that come or go with a flit. A router makes at most one flit in a cycle,
 * even when the same line ends two. */
static inline uint32_t net_port_time(const struct net_port_rate *rate, uint32_t lines)
{
    uint32_t cycles = lines * rate->line_cycles;
    return cycles > 0 ? cycles : 1;
}

/* How long flit number `flit` of a packet of `bytes` keeps the port busy, NIC to router. */
static inline uint32_t net_port_in(const struct net_port_rate *rate, uint32_t bytes, uint32_t flit)
{
    uint32_t begin = flit * rate->flit_bytes;
    uint32_t end = bytes - begin > rate->flit_bytes ? begin + rate->flit_bytes : bytes;
    return net_port_time(rate, net_lines(end) - net_lines(begin));
}

/* Router to NIC. */
static inline uint32_t net_port_out(const struct net_port_rate *rate, uint32_t bytes, uint32_t flit)
{
    uint32_t begin = flit * rate->flit_bytes;
    bool is_last = bytes - begin <= rate->flit_bytes;
    uint32_t end = is_last ? net_lines(bytes) : (begin + rate->flit_bytes) / WIRE_LINE_DATA_BYTES;
    return net_port_time(rate, end - begin / WIRE_LINE_DATA_BYTES);
}

struct net_port_rate net_port_rate(const struct net_config *config);
/* Flits that may still come into a slack buffer behind the one with which it says stop. */
uint32_t net_overshoot(const struct net_config *config);
/* The slack buffer's size, said or derived. */
uint32_t net_slack(const struct net_config *config);

#endif
