/* A network's configuration: the ring board's values, and what makes no sense. */
#include "sim/ring/state.h"

#include <stdarg.h>
#include <stdio.h>

#include "wire/transfer.h"

enum {
    DELAY_MAX = 4096, /* cycles; a line has a place for each */
    BUFFER_FLITS_MAX = 32768,
};

void net_config_default(struct net_config *config, uint32_t nodes)
{
    /* Paper 003 gives the clock (62.5 MHz), the 4 channels in 2 virtual networks and the three
     * lanes of 4 bytes in a cycle. It gives no delays: a transceiver of that kind takes some 14
     * cycles from one parallel side to the other, and 7 m of cable take 2; a credit comes back
     * by the same kind of lane. Buffers hold what a full link needs while a credit goes round,
     * rounded up; slack and leave buffers are doc/ring.md's. The port is SW2(B)'s; OIP's is as
     * fast. The paper says nothing about arbitration; with this patience a NIC gets at least
     * its share of a full ring in packets of up to 64 flits (doc/ring.md). */
    *config = (struct net_config){
        .shape = NET_RING,
        .routing = NET_DATELINE,
        .width = nodes,
        .height = 1,
        .virtual_networks = 2,
        .vcs = 4,
        .buffer_flits = 64,
        .slack_flits = 32,
        .leave_flits = 256,
        .patience_cycles = 32 * nodes,
        .route_cycles = 2,
        .switch_cycles = 1,
        .link_cycles = 16,
        .credit_cycles = 17,
        .nic_cycles = 4,
        .flit_bytes = 12,
        .clock_khz = 62500,
        .frame_flits = 16,
        .resend_cycles = 512,
        .seed = 1,
    };
    net_config_swif(config, NET_SW2B);
}

/* ---- What makes no sense --------------------------------------------------------------------- */

const char *net_object(char text[NET_ERROR_BYTES], const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(text, NET_ERROR_BYTES, format, values);
    va_end(values);
    return text;
}

static const char *object_to_shape(const struct net_config *config, char *text)
{
    if ((unsigned)config->shape >= NET_SHAPES) {
        return net_object(text, "shape: there is no shape number %u", (unsigned)config->shape);
    }
    if ((unsigned)config->routing >= NET_ROUTINGS) {
        return net_object(text, "routing: there is no routing number %u",
                          (unsigned)config->routing);
    }
    uint32_t width = config->width, height = config->height;
    if (width == 0 || height == 0) {
        return net_object(text, "%s: is 0, a %s has at least 1", width == 0 ? "width" : "height",
                          net_shape_names[config->shape]);
    }
    if (config->shape == NET_RING && height != 1) {
        return net_object(text, "height: is %u, a ring's is 1", height);
    }
    if (config->shape == NET_RING && width < 2) {
        return net_object(text, "width: is %u, a ring has at least 2 nodes", width);
    }
    if (config->shape == NET_TORUS && (width < 2 || height < 2)) {
        return net_object(text, "%s: is 1, each ring of a torus has at least 2 nodes",
                          width < 2 ? "width" : "height");
    }
    if (config->shape == NET_MESH && width == 1 && height == 1) {
        return net_object(text, "width, height: a mesh of 1 x 1 has no link");
    }
    if ((uint64_t)width * height > NET_NODES_MAX) {
        return net_object(text, "width, height: %u x %u nodes, at most %d", width, height,
                          NET_NODES_MAX);
    }
    return NULL;
}

static const char *object_to_routing(const struct net_config *config, char *text)
{
    const char *shape = net_shape_names[config->shape];
    const char *routing = net_routing_names[config->routing];
    if (config->shape == NET_MESH &&
        (config->routing == NET_DATELINE || config->routing == NET_BROKEN)) {
        return net_object(text,
                          "routing: %s is for rings and tori, a mesh has no ring to close; "
                          "take dimension or structured",
                          routing);
    }
    if (config->shape != NET_MESH && config->routing == NET_DIMENSION) {
        return net_object(text,
                          "routing: dimension closes the rings of a %s; take dateline or "
                          "structured",
                          shape);
    }
    if (config->routing == NET_DATELINE) {
        uint32_t size = config->shape == NET_TORUS && config->height < config->width
                            ? config->height
                            : config->width;
        if (config->dateline >= size) {
            return net_object(text, "dateline: router %u is outside a ring of %u", config->dateline,
                              size);
        }
    }
    return NULL;
}

static const char *object_to_channels(const struct net_config *config, char *text)
{
    if (config->virtual_networks == 0) {
        return net_object(text, "virtual_networks: is 0, there has to be one");
    }
    if (config->vcs == 0 || config->vcs > NET_VCS_MAX) {
        return net_object(text, "vcs: is %u, a port has 1 to %d", config->vcs, NET_VCS_MAX);
    }
    if (config->vcs % config->virtual_networks != 0) {
        return net_object(text, "vcs: %u channels cannot be shared equally by %u virtual networks",
                          config->vcs, config->virtual_networks);
    }
    uint32_t channels = config->vcs / config->virtual_networks;
    if (config->routing == NET_DATELINE && channels % 2 != 0) {
        return net_object(text,
                          "vcs: dateline routing needs an even number of channels in each virtual "
                          "network, %u in %u leave %u",
                          config->vcs, config->virtual_networks, channels);
    }
    uint32_t needed = net_diameter(config) + 1;
    if (config->routing == NET_STRUCTURED && channels < needed) {
        return net_object(
            text,
            "vcs: structured routing needs diameter + 1 = %u channels in each virtual "
            "network, %u in %u leave %u",
            needed, config->vcs, config->virtual_networks, channels);
    }
    return NULL;
}

static const char *object_to_delays(const struct net_config *config, char *text)
{
    const struct {
        const char *key;
        uint32_t cycles, least;
    } delays[] = {
        {"route_cycles", config->route_cycles, 0}, {"switch_cycles", config->switch_cycles, 0},
        {"link_cycles", config->link_cycles, 1},   {"credit_cycles", config->credit_cycles, 1},
        {"nic_cycles", config->nic_cycles, 1},
    };
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        if (delays[i].cycles < delays[i].least || delays[i].cycles > DELAY_MAX) {
            return net_object(text, "%s: is %u, takes %u to %d cycles", delays[i].key,
                              delays[i].cycles, delays[i].least, DELAY_MAX);
        }
    }
    return NULL;
}

static const char *object_to_buffers(const struct net_config *config, char *text)
{
    if (config->buffer_flits == 0 || config->buffer_flits > BUFFER_FLITS_MAX) {
        return net_object(text, "buffer_flits: is %u, a channel holds 1 to %d flits",
                          config->buffer_flits, BUFFER_FLITS_MAX);
    }
    if (config->leave_flits == 0 || config->leave_flits > BUFFER_FLITS_MAX) {
        return net_object(text, "leave_flits: is %u, a channel to a NIC holds 1 to %d flits",
                          config->leave_flits, BUFFER_FLITS_MAX);
    }
    if (config->slack_flits > BUFFER_FLITS_MAX) {
        return net_object(text, "slack_flits: is %u, at most %d", config->slack_flits,
                          BUFFER_FLITS_MAX);
    }
    /* One flit says stop; those behind it still come. */
    uint32_t least = net_overshoot(config) + 1;
    if (net_slack(config) < least) {
        return net_object(text,
                          "slack_flits: is %u, but with those that still come after stop the "
                          "port's round trip needs at least %u",
                          config->slack_flits, least);
    }
    if (net_slack(config) > BUFFER_FLITS_MAX) {
        return net_object(text, "slack_flits: the port's round trip needs %u, at most are %d",
                          net_slack(config), BUFFER_FLITS_MAX);
    }
    return NULL;
}

static const char *object_to_port(const struct net_config *config, char *text)
{
    if ((unsigned)config->swif >= NET_SWIFS) {
        return net_object(text, "mode: there is no SWIF mode number %u", (unsigned)config->swif);
    }
    if (config->port_frame_bits == 0 || WIRE_LINE_BITS % config->port_frame_bits != 0) {
        return net_object(text, "frame_bits: is %u, a line is %d bits in whole frames",
                          config->port_frame_bits, WIRE_LINE_BITS);
    }
    if (!(config->port_bit_error_rate >= 0 && config->port_bit_error_rate <= 1e-3)) {
        return net_object(text, "port_bit_error_rate: is %g, takes 0 to 1e-3",
                          config->port_bit_error_rate);
    }
    if (config->port_frame_khz == 0) {
        return net_object(text, "frame_mhz: is 0, no line would ever come");
    }
    if (config->port_take_cycles > DELAY_MAX || net_line_cycles(config) > DELAY_MAX) {
        return net_object(text, "%s: a line takes %u cycles, at most %d",
                          config->port_take_cycles > DELAY_MAX ? "take_cycles" : "frame_mhz",
                          config->port_take_cycles > DELAY_MAX ? config->port_take_cycles
                                                               : net_line_cycles(config),
                          DELAY_MAX);
    }
    return NULL;
}

static const char *object_to_links(const struct net_config *config, char *text)
{
    if (config->flit_bytes == 0 || config->flit_bytes > WIRE_FLIT_BYTES_MAX) {
        return net_object(text, "flit_bytes: is %u, a flit has 1 to %d bytes", config->flit_bytes,
                          WIRE_FLIT_BYTES_MAX);
    }
    if (config->frame_flits == 0 || config->frame_flits > WIRE_TRANSFER_FLITS_MAX) {
        return net_object(text, "frame_flits: is %u, a frame has 1 to %d", config->frame_flits,
                          WIRE_TRANSFER_FLITS_MAX);
    }
    if (config->clock_khz == 0) {
        return net_object(text, "clock_khz: is 0, nothing would ever happen");
    }
    if (!(config->bit_error_rate >= 0 && config->bit_error_rate <= 1e-4)) {
        return net_object(text, "bit_error_rate: is %g, takes 0 to 1e-4", config->bit_error_rate);
    }
    uint32_t least = net_least_resend_cycles(config);
    if (config->bit_error_rate > 0 && config->resend_cycles < least) {
        return net_object(text, "resend_cycles: is %u, but an answer takes up to %u cycles",
                          config->resend_cycles, least);
    }
    return NULL;
}

const char *net_config_objection(const struct net_config *config, char text[NET_ERROR_BYTES])
{
    const char *(*const objections[])(const struct net_config *, char *) = {
        object_to_shape, object_to_routing, object_to_channels, object_to_delays,
        object_to_links, object_to_port,    object_to_buffers,
    };
    for (size_t i = 0; i < sizeof objections / sizeof *objections; i++) {
        const char *objection = objections[i](config, text);
        if (objection) {
            return objection;
        }
    }
    return NULL;
}

const char *net_multicast_objection(const struct net_config *config)
{
    if (config->shape != NET_RING) {
        return "shape: multicast goes round a ring";
    }
    if (config->routing == NET_STRUCTURED) {
        return "routing: structured has channels for the diameter, multicast goes all the way "
               "round; take dateline";
    }
    return NULL;
}
