/* Packets bit by bit. Nothing but the routing header of a packet is kept: its other bytes follow
 * from its serial number, so that they can be made where they are looked at, which is where an
 * error hits them. */
#ifndef SIM_RING_LINES_H
#define SIM_RING_LINES_H

#include "base/base.h"
#include "wire/line.h"

struct net_content {
    uint64_t serial;
    uint32_t bytes;
    unsigned char header[WIRE_LINE_DATA_BYTES]; /* the first line's data: all that routers read */
};

/* The packet's bytes from one of them on; those behind its end are 0. */
void net_content_get(const struct net_content *content, uint32_t from, uint32_t count,
                     unsigned char *to);

/* A line of it, as it passes a port; of a broken packet the last one says so. */
struct wire_line net_content_line(const struct net_content *content, uint32_t number,
                                  bool is_broken);

#endif
