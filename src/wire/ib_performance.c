/* Attributes of performance management to bytes and back. */
#include "wire/ib_performance.h"

#include <string.h>

#include "wire/ib_field.h"

#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_class_port_info, byte, bit, bits, member)

static const struct wire_ib_field class_port_info_fields[] = {
    FIELD(0, 0, 8, base_version),
    FIELD(1, 0, 8, class_version),
    FIELD(2, 0, 16, capability_mask),
    FIELD(7, 3, 5, response_time),
    {0},
};

#undef FIELD
#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_port_counters, byte, bit, bits, member)

static const struct wire_ib_field port_counters_fields[] = {
    FIELD(1, 0, 8, port),
    FIELD(2, 0, 16, select),
    FIELD(4, 0, 16, symbol_errors),
    FIELD(6, 0, 8, link_recoveries),
    FIELD(7, 0, 8, link_downed),
    FIELD(8, 0, 16, rcv_errors),
    FIELD(10, 0, 16, rcv_remote_errors),
    FIELD(12, 0, 16, rcv_relay_errors),
    FIELD(14, 0, 16, xmit_discards),
    FIELD(16, 0, 8, xmit_constraint_errors),
    FIELD(17, 0, 8, rcv_constraint_errors),
    FIELD(18, 0, 8, select2),
    FIELD(19, 0, 4, link_integrity_errors),
    FIELD(19, 4, 4, buffer_overruns),
    FIELD(22, 0, 16, vl15_dropped),
    FIELD(24, 0, 32, xmit_words),
    FIELD(28, 0, 32, rcv_words),
    FIELD(32, 0, 32, xmit_packets),
    FIELD(36, 0, 32, rcv_packets),
    FIELD(40, 0, 32, xmit_wait),
    {0},
};

#undef FIELD
#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_port_counters_extended, byte, bit, bits, member)

static const struct wire_ib_field port_counters_extended_fields[] = {
    FIELD(1, 0, 8, port),
    FIELD(2, 0, 16, select),
    FIELD(8, 0, 64, xmit_words),
    FIELD(16, 0, 64, rcv_words),
    FIELD(24, 0, 64, xmit_packets),
    FIELD(32, 0, 64, rcv_packets),
    FIELD(40, 0, 64, unicast_xmit),
    FIELD(48, 0, 64, unicast_rcv),
    FIELD(56, 0, 64, multicast_xmit),
    FIELD(64, 0, 64, multicast_rcv),
    {0},
};

#undef FIELD

void wire_ib_class_port_info_encode(const struct wire_ib_class_port_info *info, unsigned char *to)
{
    memset(to, 0, WIRE_IB_PERFORMANCE_BYTES);
    wire_ib_fields_encode(class_port_info_fields, info, to);
}

void wire_ib_class_port_info_decode(const unsigned char *from, struct wire_ib_class_port_info *info)
{
    wire_ib_fields_decode(class_port_info_fields, from, info);
}

/* Every counter of 64 bits is cut to what its field can show. */
static void saturate(struct wire_ib_port_counters *counters)
{
    for (const struct wire_ib_field *field = port_counters_fields; field->bits; field++) {
        uint64_t most = (UINT64_C(1) << field->bits) - 1;
        uint64_t value;
        unsigned char *place = (unsigned char *)counters + field->place;
        if (field->bytes == sizeof value) {
            memcpy(&value, place, sizeof value);
            value = value < most ? value : most;
            memcpy(place, &value, sizeof value);
        }
    }
}

void wire_ib_port_counters_encode(const struct wire_ib_port_counters *counters, unsigned char *to)
{
    struct wire_ib_port_counters shown = *counters;
    saturate(&shown);
    memset(to, 0, WIRE_IB_PERFORMANCE_BYTES);
    wire_ib_fields_encode(port_counters_fields, &shown, to);
}

void wire_ib_port_counters_decode(const unsigned char *from, struct wire_ib_port_counters *counters)
{
    wire_ib_fields_decode(port_counters_fields, from, counters);
}

void wire_ib_port_counters_extended_encode(const struct wire_ib_port_counters_extended *counters,
                                           unsigned char *to)
{
    memset(to, 0, WIRE_IB_PERFORMANCE_BYTES);
    wire_ib_fields_encode(port_counters_extended_fields, counters, to);
}

void wire_ib_port_counters_extended_decode(const unsigned char *from,
                                           struct wire_ib_port_counters_extended *counters)
{
    wire_ib_fields_decode(port_counters_extended_fields, from, counters);
}
