/* Routing headers to bytes and back. As with packets, each has one encoding: what has no
 * meaning is 0, and anything else is refused. */
#include "wire/ring_header.h"

#include <string.h>

enum {
    AT_MODE = 0,
    AT_PATH = 1, /* OIP through switches: hops, and in the upper half those passed; else 0 */
    AT_R = 2,    /* RRID */
    AT_I = 4,    /* IRID */
    AT_UNUSED = 6,
    AT_PORTS = 2, /* rt0 .. rt5 */

    ROUTER_MASK = WIRE_RING_ROUTERS_MAX - 1,
    MULTICAST_BIT = 1 << 14,
    DIRECTION_BIT = 1 << 15,
};

/* ---- In the ring --------------------------------------------------------------------------- */

static uint16_t way(uint16_t router, bool multicast, enum wire_ring_direction direction)
{
    INVARIANT(router < WIRE_RING_ROUTERS_MAX);
    return (uint16_t)(router | (multicast ? MULTICAST_BIT : 0) |
                      (direction == WIRE_RIGHT ? DIRECTION_BIT : 0));
}

static enum wire_ring_direction direction_of(uint16_t field)
{
    return (field & DIRECTION_BIT) != 0 ? WIRE_RIGHT : WIRE_LEFT;
}

void wire_ring_header_encode(const struct wire_ring_header *header,
                             unsigned char to[WIRE_LINE_DATA_BYTES])
{
    INVARIANT(header->mode == WIRE_SW2 || header->mode == WIRE_OIP);
    memset(to, 0, WIRE_LINE_DATA_BYTES);
    to[AT_MODE] = (unsigned char)header->mode;
    wire_put16(to + AT_R, way(header->router, header->multicast, header->direction));
    wire_put16(to + AT_I, way(header->return_router, false, header->return_direction));
}

bool wire_ring_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES], uint32_t routers,
                             uint32_t multicast_lines, struct wire_ring_header *header)
{
    uint16_t r = wire_get16(from + AT_R);
    uint16_t i = wire_get16(from + AT_I);
    bool multicast = (r & MULTICAST_BIT) != 0;
    if ((from[AT_MODE] != WIRE_SW2 && from[AT_MODE] != WIRE_OIP) || from[AT_PATH] != 0 ||
        wire_get16(from + AT_UNUSED) != 0 || (i & MULTICAST_BIT) != 0 ||
        (r & ROUTER_MASK) >= (multicast ? multicast_lines : routers) ||
        (i & ROUTER_MASK) >= routers) {
        return false;
    }
    *header = (struct wire_ring_header){
        .mode = (enum wire_swif_mode)from[AT_MODE],
        .router = r & ROUTER_MASK,
        .direction = direction_of(r),
        .multicast = multicast,
        .return_router = i & ROUTER_MASK,
        .return_direction = direction_of(i),
    };
    return true;
}

struct wire_ring_header wire_ring_header_reply(const struct wire_ring_header *request,
                                               uint16_t self)
{
    return (struct wire_ring_header){
        .mode = request->mode,
        .router = request->return_router,
        .direction = request->return_direction,
        .multicast = false,
        .return_router = self,
        .return_direction = request->direction,
    };
}

struct wire_ring_header wire_ring_header_deliver(const struct wire_ring_header *header,
                                                 uint16_t self)
{
    return header->mode == WIRE_OIP ? wire_ring_header_reply(header, self) : *header;
}

/* ---- Through switches ---------------------------------------------------------------------- */

void wire_sw2_header_encode(const struct wire_sw2_header *header,
                            unsigned char to[WIRE_LINE_DATA_BYTES])
{
    memset(to, 0, WIRE_LINE_DATA_BYTES);
    to[AT_MODE] = WIRE_SW2;
    wire_put16(to + AT_R, header->rrid);
    wire_put16(to + AT_I, header->irid);
}

bool wire_sw2_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES],
                            struct wire_sw2_header *header)
{
    if (from[AT_MODE] != WIRE_SW2 || from[AT_PATH] != 0 || wire_get16(from + AT_UNUSED) != 0) {
        return false;
    }
    *header = (struct wire_sw2_header){
        .rrid = wire_get16(from + AT_R),
        .irid = wire_get16(from + AT_I),
    };
    return true;
}

struct wire_sw2_header wire_sw2_header_reply(const struct wire_sw2_header *request,
                                             uint16_t own_irid)
{
    return (struct wire_sw2_header){.rrid = request->irid, .irid = own_irid};
}

static bool path_is_well_formed(const struct wire_oip_header *header)
{
    if (header->hops == 0 || header->hops > WIRE_OIP_HOPS_MAX || header->passed > header->hops) {
        return false;
    }
    for (uint32_t i = header->hops; i < WIRE_OIP_HOPS_MAX; i++) {
        if (header->ports[i] != 0) {
            return false;
        }
    }
    return true;
}

void wire_oip_header_encode(const struct wire_oip_header *header,
                            unsigned char to[WIRE_LINE_DATA_BYTES])
{
    INVARIANT(path_is_well_formed(header));
    to[AT_MODE] = WIRE_OIP;
    to[AT_PATH] = (unsigned char)(header->hops | header->passed << 4);
    memcpy(to + AT_PORTS, header->ports, WIRE_OIP_HOPS_MAX);
}

bool wire_oip_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES],
                            struct wire_oip_header *header)
{
    struct wire_oip_header read = {
        .hops = from[AT_PATH] & 15,
        .passed = from[AT_PATH] >> 4,
    };
    memcpy(read.ports, from + AT_PORTS, WIRE_OIP_HOPS_MAX);
    if (from[AT_MODE] != WIRE_OIP || !path_is_well_formed(&read)) {
        return false;
    }
    *header = read;
    return true;
}

bool wire_oip_header_hop(struct wire_oip_header *header, uint8_t port_in, uint8_t *port_out)
{
    if (header->passed >= header->hops) {
        return false;
    }
    uint8_t *port = &header->ports[header->passed++];
    *port_out = *port;
    *port = port_in;
    return true;
}

bool wire_oip_header_reply(const struct wire_oip_header *request, struct wire_oip_header *reply)
{
    if (request->passed != request->hops) {
        return false;
    }
    *reply = (struct wire_oip_header){.hops = request->hops};
    for (uint32_t i = 0; i < request->hops; i++) {
        reply->ports[i] = request->ports[request->hops - 1 - i];
    }
    return true;
}
