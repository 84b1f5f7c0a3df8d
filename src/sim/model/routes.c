/* Tables and source routes: real header bits decide, and are changed on the way. */
#include "sim/model/routes.h"

#include <stdlib.h>
#include <string.h>

struct sim_routes {
    enum sim_routing routing;
    uint32_t switch_count, node_count;
    uint16_t *ports; /* tables: of each switch, by RRID */
};

struct sim_routes *sim_routes_open(enum sim_routing routing, uint32_t switch_count,
                                   uint32_t node_count)
{
    struct sim_routes *routes = calloc(1, sizeof *routes);
    INVARIANT(routes);
    *routes = (struct sim_routes){routing, switch_count, node_count, NULL};
    if (routing == SIM_ROUTING_TABLE) {
        routes->ports = calloc((size_t)switch_count * node_count, sizeof *routes->ports);
        INVARIANT(routes->ports);
    }
    return routes;
}

void sim_routes_close(struct sim_routes *routes)
{
    if (routes) {
        free(routes->ports);
        free(routes);
    }
}

enum sim_routing sim_routes_kind(const struct sim_routes *routes)
{
    return routes->routing;
}

void sim_routes_set(struct sim_routes *routes, uint32_t switch_number, uint32_t target,
                    uint32_t port)
{
    INVARIANT(routes->ports && switch_number < routes->switch_count &&
              target < routes->node_count && port <= UINT16_MAX);
    routes->ports[(size_t)switch_number * routes->node_count + target] = (uint16_t)port;
}

void sim_routes_begin(const struct sim_routes *routes, uint32_t source, uint32_t target,
                      const uint8_t *ports, uint32_t hops,
                      unsigned char header[WIRE_LINE_DATA_BYTES])
{
    if (routes->routing == SIM_ROUTING_TABLE) {
        const struct wire_sw2_header sw2 = {.rrid = (uint16_t)target, .irid = (uint16_t)source};
        wire_sw2_header_encode(&sw2, header);
        return;
    }
    struct wire_oip_header oip = {.hops = (uint8_t)hops};
    INVARIANT(hops >= 1 && hops <= WIRE_OIP_HOPS_MAX);
    memcpy(oip.ports, ports, hops);
    wire_oip_header_encode(&oip, header);
}

void sim_routes_begin_back(const struct sim_routes *routes,
                           const unsigned char request[WIRE_LINE_DATA_BYTES],
                           unsigned char header[WIRE_LINE_DATA_BYTES])
{
    struct wire_oip_header there;
    struct wire_oip_header back;
    INVARIANT(routes->routing == SIM_ROUTING_SOURCE);
    bool turned = wire_oip_header_decode(request, &there) && wire_oip_header_reply(&there, &back);
    INVARIANT(turned);
    wire_oip_header_encode(&back, header);
}

uint32_t sim_routes_next(const struct sim_routes *routes, uint32_t switch_number, uint32_t port_in,
                         unsigned char header[WIRE_LINE_DATA_BYTES])
{
    if (routes->routing == SIM_ROUTING_TABLE) {
        struct wire_sw2_header sw2;
        bool decoded = wire_sw2_header_decode(header, &sw2);
        INVARIANT(decoded && sw2.rrid < routes->node_count);
        return routes->ports[(size_t)switch_number * routes->node_count + sw2.rrid];
    }
    struct wire_oip_header oip;
    uint8_t port_out;
    bool goes_on = wire_oip_header_decode(header, &oip) &&
                   wire_oip_header_hop(&oip, (uint8_t)port_in, &port_out);
    INVARIANT(goes_on);
    wire_oip_header_encode(&oip, header);
    return port_out;
}
