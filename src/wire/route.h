/* How an operation travels: what the NIC tells InfiniSWIF besides the bytes. */
#ifndef WIRE_ROUTE_H
#define WIRE_ROUTE_H

#include "wire/packet.h"

struct wire_route {
    uint16_t target;
    enum wire_class class;
    uint8_t channel; /* VC# */
    /* Takes effect after all ordered operations before it on its channel and class to this
     * target. Otherwise only after what was before the channel's last fence. */
    bool ordered;
    /* How many bytes the target sends back after carrying it out, at most. The sum over a packet
     * fits one packet, so that its target needs one buffer to take it. */
    uint32_t reply_bytes;
    /* Not 0: given back when the target has carried it out. Operations with different cookies,
     * or with and without one, never share a packet. */
    uint64_t cookie;
    /* Shares its packet with no other, and so gives its cookie back by itself. */
    bool alone;
    uint32_t pgid; /* of the user or service that sends; InfiniSWIF puts its own into packets */
    /* The tag from nic_tag_next, for simulators; it is on no wire. 0: none. */
    uint32_t tag;
};

#endif
