/* How an operation is to travel: what the NIC tells InfiniSWIF beside the bytes. */
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
    /* What carrying it out makes the target send back, at most. A packet's sum fits one
     * packet, so that its target needs one buffer to take it. */
    uint32_t reply_bytes;
    /* Not 0: given back when the target has carried it out. It shares no packet with
     * another cookie, nor with none. */
    uint64_t cookie;
    /* What nic_tag_next gave for it: for whoever models time, and on no wire. 0: nothing. */
    uint32_t tag;
};

#endif
