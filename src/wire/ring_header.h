/* Routing headers: the first line of a DIMMnet packet (paper 003, figures 9 and 10).
 * doc/wire.md gives every byte.
 *
 *     0      1      2      4      6      8
 *     | mode | path | RRID | IRID | 0    |     SW2: RRID indexes the switches' routing tables,
 *                                              IRID is what a reply puts there
 *     | mode | path | rt0 .. rt5         |     OIP: the output port of each switch on the way;
 *                                              each switch writes the way back in its place
 *
 * In the ring both have the same meaning, in the places of RRID and IRID:
 *
 *     RRouterID 14 bits, R-Multicast, R-L/R | IRouterID 14 bits, 0, I-L/R
 *
 * R is the way to go: the destination's number (or with R-Multicast the line of the 2-bit tables
 * in the routers) and which way round. I is the way back. The modes differ in who turns the header
 * round: in SW2 mode the NIC copies I to R; in OIP mode the destination's router does, just before
 * it hands the packet to its NIC, which replies with the header as it came.
 *
 * The paper only says that I is copied; here the copy also puts the replier's own way in I, so that
 * in any header I is the way to its sender. */
#ifndef WIRE_RING_HEADER_H
#define WIRE_RING_HEADER_H

#include "wire/line.h"

enum wire_swif_mode { WIRE_SW2 = 1, WIRE_OIP = 2 };

enum {
    WIRE_RING_ROUTERS_MAX = 1 << 14, /* router numbers and multicast lines are 14 bits wide */
    WIRE_OIP_HOPS_MAX = 6,           /* rt0 .. rt5 */
};

/* ---- In the ring --------------------------------------------------------------------------- */

/* L/R. Right is towards the next higher number. */
enum wire_ring_direction { WIRE_LEFT = 0, WIRE_RIGHT = 1 };

struct wire_ring_header {
    enum wire_swif_mode mode;
    uint16_t router; /* RRouterID; with multicast the line of the tables */
    enum wire_ring_direction direction;
    bool multicast;
    uint16_t return_router; /* IRouterID */
    enum wire_ring_direction return_direction;
};

void wire_ring_header_encode(const struct wire_ring_header *header,
                             unsigned char to[WIRE_LINE_DATA_BYTES]);

/* False: malformed, or it names a router or a line of the tables that is not there. */
bool wire_ring_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES], uint32_t routers,
                             uint32_t multicast_lines, struct wire_ring_header *header);

/* The header of the reply to a request that has come to router `self`: what the NIC does in SW2
 * mode, and the destination's router in OIP mode. */
struct wire_ring_header wire_ring_header_reply(const struct wire_ring_header *request,
                                               uint16_t self);

/* What the destination's router hands to its NIC: in OIP mode the header turned round, in SW2 mode
 * as it came. */
struct wire_ring_header wire_ring_header_deliver(const struct wire_ring_header *header,
                                                 uint16_t self);

/* ---- Through switches ---------------------------------------------------------------------- */

struct wire_sw2_header {
    uint16_t rrid, irid;
};

void wire_sw2_header_encode(const struct wire_sw2_header *header,
                            unsigned char to[WIRE_LINE_DATA_BYTES]);
bool wire_sw2_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES],
                            struct wire_sw2_header *header);
/* What the NIC does: IRID goes to RRID, and its own to IRID. */
struct wire_sw2_header wire_sw2_header_reply(const struct wire_sw2_header *request,
                                             uint16_t own_irid);

/* A path of `hops` switches, `passed` of which are behind: their ports are those on which the
 * packet came in, the others those on which it goes out. Unused ports are 0. */
struct wire_oip_header {
    uint8_t hops; /* 1 .. 6 */
    uint8_t passed;
    uint8_t ports[WIRE_OIP_HOPS_MAX];
};

void wire_oip_header_encode(const struct wire_oip_header *header,
                            unsigned char to[WIRE_LINE_DATA_BYTES]);
bool wire_oip_header_decode(const unsigned char from[WIRE_LINE_DATA_BYTES],
                            struct wire_oip_header *header);
/* What a switch does with a packet that came in on that port; false: the path has ended. */
bool wire_oip_header_hop(struct wire_oip_header *header, uint8_t port_in, uint8_t *port_out);
/* The way back from the end of the path; false: it is not the end. */
bool wire_oip_header_reply(const struct wire_oip_header *request, struct wire_oip_header *reply);

#endif
