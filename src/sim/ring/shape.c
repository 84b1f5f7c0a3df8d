/* Rings, meshes and tori: neighbours, distances, ways. Dimension 0 is left and right,
 * dimension 1 up and down; a node's number is y * width + x. */
#include "sim/ring/state.h"

const char *const net_shape_names[NET_SHAPES] = {"ring", "mesh", "torus"};
const char *const net_routing_names[NET_ROUTINGS] = {"dateline", "structured", "broken",
                                                     "dimension"};

const char *net_port_name(uint32_t port)
{
    static const char *const names[PORTS_MAX] = {"NIC", "right", "left", "up", "down"};
    return names[port];
}

uint32_t net_ports(const struct net_config *config)
{
    return config->shape == NET_RING ? 3 : PORTS_MAX;
}

static uint32_t step(uint32_t at, uint32_t size, bool upwards, bool round)
{
    if (upwards) {
        return at + 1 < size ? at + 1 : round ? 0 : NO_CHANNEL;
    }
    return at > 0 ? at - 1 : round ? size - 1 : NO_CHANNEL;
}

uint32_t net_neighbour(const struct net_config *config, uint32_t node, uint32_t port)
{
    bool round = config->shape != NET_MESH;
    uint32_t x = node % config->width, y = node / config->width;
    bool upwards = port == PORT_RIGHT || port == PORT_UP;
    if (port == PORT_RIGHT || port == PORT_LEFT) {
        x = step(x, config->width, upwards, round);
    } else {
        y = step(y, config->height, upwards, round);
    }
    return x == NO_CHANNEL || y == NO_CHANNEL ? NO_CHANNEL : y * config->width + x;
}

uint32_t net_diameter(const struct net_config *config)
{
    if (config->shape == NET_MESH) {
        return config->width - 1 + config->height - 1;
    }
    return config->width / 2 + (config->shape == NET_TORUS ? config->height / 2 : 0);
}

uint32_t net_way(const struct net_config *config, enum net_dimension dimension, uint32_t source,
                 uint32_t target, uint32_t *port)
{
    bool is_row = dimension == NET_ROW;
    uint32_t size = is_row ? config->width : config->height;
    uint32_t from = is_row ? source % config->width : source / config->width;
    uint32_t to = is_row ? target % config->width : target / config->width;
    uint32_t up = to >= from ? to - from : to + size - from;
    uint32_t down = up == 0 ? 0 : size - up;
    bool upwards = up < down || (up == down && from % 2 == 0);
    if (config->shape == NET_MESH) {
        upwards = to >= from;
    }
    *port = is_row ? upwards ? PORT_RIGHT : PORT_LEFT : upwards ? PORT_UP : PORT_DOWN;
    return upwards ? up : down;
}

uint32_t net_hops(const struct net_config *config, uint32_t source, uint32_t target)
{
    uint32_t port;
    return net_way(config, NET_ROW, source, target, &port) +
           net_way(config, NET_COLUMN, source, target, &port) + 1;
}
