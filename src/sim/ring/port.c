#include "sim/ring/port.h"

const char *const net_swif_names[NET_SWIFS] = {"sw2a", "sw2b", "oip"};

void net_config_swif(struct net_config *config, enum net_swif swif)
{
    static const struct {
        uint32_t frame_bits;
        uint64_t frame_khz;
    } modes[NET_SWIFS] = {
        [NET_SW2A] = {80, 100000},
        [NET_SW2B] = {80, 31250},
        [NET_OIP] = {40, 62500},
    };
    config->swif = swif;
    config->port_frame_bits = modes[swif].frame_bits;
    config->port_frame_khz = modes[swif].frame_khz;
}

uint32_t net_line_cycles(const struct net_config *config)
{
    uint64_t of_line = WIRE_LINE_BITS * config->clock_khz;
    uint64_t of_cycle = config->port_frame_bits * config->port_frame_khz;
    if (of_line * config->flit_bytes <= of_cycle * WIRE_LINE_DATA_BYTES) {
        return 0;
    }
    return (uint32_t)((of_line + of_cycle - 1) / of_cycle);
}

struct net_port_rate net_port_rate(const struct net_config *config)
{
    return (struct net_port_rate){net_line_cycles(config), config->flit_bytes};
}

uint64_t net_port_cycles(const struct net_config *config, uint32_t bytes)
{
    struct net_port_rate rate = net_port_rate(config);
    uint64_t cycles = 0;
    for (uint32_t flit = 0; flit < net_flits(bytes, rate.flit_bytes); flit++) {
        cycles += net_port_in(&rate, bytes, flit);
    }
    return cycles;
}

double net_port_asked_mb_per_s(const struct net_config *config)
{
    double lines_per_ms = (double)config->port_frame_bits * (double)config->port_frame_khz /
                          WIRE_LINE_BITS;
    return lines_per_ms * WIRE_LINE_DATA_BYTES / 1000;
}

double net_port_mb_per_s(const struct net_config *config)
{
    uint32_t bytes = WIRE_LINE_DATA_BYTES * config->flit_bytes; /* whole lines and whole flits */
    return (double)bytes * (double)config->clock_khz / 1000 /
           (double)net_port_cycles(config, bytes);
}

uint32_t net_overshoot(const struct net_config *config)
{
    /* The flits that begin in the cycles after the one that filled the buffer, up to the last one
     * before stop is heard. They begin no closer to each other than lines do, but for a flit that
     * ends with the line before it, behind which there is a longer one. */
    uint32_t cycles = 2 * config->nic_cycles - 1;
    uint32_t apart = net_line_cycles(config);
    if (apart == 0 || config->flit_bytes < WIRE_LINE_DATA_BYTES) {
        return cycles;
    }
    return (cycles - 1 + apart - 1) / apart + 1;
}

uint32_t net_slack_flits(const struct net_config *config)
{
    /* After go it takes the round trip and a flit's lines until a flit comes. A buffer that is
     * emptied at the port's rate must last until then. */
    struct net_port_rate rate = net_port_rate(config);
    uint32_t cycles = 2 * config->nic_cycles + net_port_in(&rate, rate.flit_bytes, 0);
    uint32_t flits = cycles;
    if (rate.line_cycles > 0) {
        uint32_t lines = (cycles + rate.line_cycles - 1) / rate.line_cycles;
        flits = net_flits(lines * WIRE_LINE_DATA_BYTES, rate.flit_bytes);
    }
    return net_overshoot(config) + flits;
}

uint32_t net_slack(const struct net_config *config)
{
    return config->slack_flits ? config->slack_flits : net_slack_flits(config);
}
