/* The attributes of performance management: what the class can do, and a port's counters in two
 * widths. Those of the old width stop at the most that they can show and never begin again;
 * InfiniBand says so.
 *
 * They begin at byte 64 of a MAD and may fill it. */
#ifndef WIRE_IB_PERFORMANCE_H
#define WIRE_IB_PERFORMANCE_H

#include "wire/ib_mad.h"

enum {
    WIRE_IB_PERFORMANCE_BYTES = WIRE_MAD_BYTES - WIRE_MAD_AT_DATA,
    WIRE_IB_ALL_PORTS = 0xff, /* a PortSelect: the sum of all ports */
};

/* Bits of ClassPortInfo's CapabilityMask, for this class. */
enum {
    WIRE_IB_CAN_SELECT_ALL_PORTS = 1 << 8,
    WIRE_IB_CAN_COUNT_WIDELY = 1 << 9, /* PortCountersExtended */
    WIRE_IB_CAN_COUNT_WAIT = 1 << 12,  /* PortXmitWait */
};

struct wire_ib_class_port_info {
    uint8_t base_version, class_version;
    uint16_t capability_mask;
    uint8_t response_time; /* 4.096 us << this */
};

/* Bits of CounterSelect: which counters a Set writes. */
enum {
    WIRE_IB_COUNT_SYMBOL_ERRORS = 1 << 0,
    WIRE_IB_COUNT_LINK_RECOVERIES = 1 << 1,
    WIRE_IB_COUNT_LINK_DOWNED = 1 << 2,
    WIRE_IB_COUNT_RCV_ERRORS = 1 << 3,
    WIRE_IB_COUNT_XMIT_DISCARDS = 1 << 6,
    WIRE_IB_COUNT_VL15_DROPPED = 1 << 11,
    WIRE_IB_COUNT_XMIT_WORDS = 1 << 12,
    WIRE_IB_COUNT_RCV_WORDS = 1 << 13,
    WIRE_IB_COUNT_XMIT_PACKETS = 1 << 14,
    WIRE_IB_COUNT_RCV_PACKETS = 1 << 15,
    WIRE_IB_COUNT2_XMIT_WAIT = 1 << 0, /* of CounterSelect2 */
};

/* Members hold the full count; the encoder writes the most that fits. */
struct wire_ib_port_counters {
    uint8_t port;
    uint16_t select;
    uint8_t select2;
    uint64_t symbol_errors, link_recoveries, link_downed, rcv_errors, rcv_remote_errors,
        rcv_relay_errors, xmit_discards, xmit_constraint_errors, rcv_constraint_errors,
        link_integrity_errors, buffer_overruns, vl15_dropped;
    uint64_t xmit_words, rcv_words, xmit_packets, rcv_packets, xmit_wait;
};

enum {
    WIRE_IB_WIDE_XMIT_WORDS = 1 << 0,
    WIRE_IB_WIDE_RCV_WORDS = 1 << 1,
    WIRE_IB_WIDE_XMIT_PACKETS = 1 << 2,
    WIRE_IB_WIDE_RCV_PACKETS = 1 << 3,
    WIRE_IB_WIDE_UNICAST_XMIT = 1 << 4,
    WIRE_IB_WIDE_UNICAST_RCV = 1 << 5,
    WIRE_IB_WIDE_MULTICAST_XMIT = 1 << 6,
    WIRE_IB_WIDE_MULTICAST_RCV = 1 << 7,
};

struct wire_ib_port_counters_extended {
    uint8_t port;
    uint16_t select;
    uint64_t xmit_words, rcv_words, xmit_packets, rcv_packets;
    uint64_t unicast_xmit, unicast_rcv, multicast_xmit, multicast_rcv;
};

void wire_ib_class_port_info_encode(const struct wire_ib_class_port_info *info, unsigned char *to);
void wire_ib_class_port_info_decode(const unsigned char *from,
                                    struct wire_ib_class_port_info *info);
void wire_ib_port_counters_encode(const struct wire_ib_port_counters *counters, unsigned char *to);
void wire_ib_port_counters_decode(const unsigned char *from,
                                  struct wire_ib_port_counters *counters);
void wire_ib_port_counters_extended_encode(const struct wire_ib_port_counters_extended *counters,
                                           unsigned char *to);
void wire_ib_port_counters_extended_decode(const unsigned char *from,
                                           struct wire_ib_port_counters_extended *counters);

#endif
