/* Headers of management datagrams to bytes and back. */
#include "wire/ib_mad.h"

#include <string.h>

#include "base/big.h"
#include "wire/ib_field.h"

enum { AT_STATUS = 4, AT_TID = 8, TID_BYTES = 8, RETURN_BIT = 1 << 15 };

#define FIELD(byte, bits, member) WIRE_IB_FIELD(struct wire_mad, byte, 0, bits, member)

static const struct wire_ib_field header_fields[] = {
    FIELD(0, 8, base_version),
    FIELD(1, 8, class),
    FIELD(2, 8, class_version),
    FIELD(3, 8, method),
    FIELD(4, 16, status),
    FIELD(6, 8, hop_pointer),
    FIELD(7, 8, hop_count),
    FIELD(8, 64, tid),
    FIELD(16, 16, attribute),
    FIELD(20, 32, modifier),
    {0},
};

#undef FIELD

static const struct wire_ib_field smp_fields[] = {
    WIRE_IB_FIELD(struct wire_smp, WIRE_MAD_AT_MKEY, 0, 64, mkey),
    WIRE_IB_FIELD(struct wire_smp, 32, 0, 16, dr_slid),
    WIRE_IB_FIELD(struct wire_smp, 34, 0, 16, dr_dlid),
    {0},
};

void wire_mad_encode(const struct wire_mad *mad, unsigned char *to)
{
    memset(to, 0, WIRE_MAD_AT_MKEY); /* also what is reserved */
    wire_ib_fields_encode(header_fields, mad, to);
    if (mad->class == WIRE_MAD_SUBNET_DIRECTED) {
        uint32_t status = mad->status & (RETURN_BIT - 1u);
        base_big_put(to + AT_STATUS, 2, mad->is_return ? status | RETURN_BIT : status);
    }
}

void wire_mad_decode(const unsigned char *from, struct wire_mad *mad)
{
    *mad = (struct wire_mad){0};
    wire_ib_fields_decode(header_fields, from, mad);
    if (mad->class == WIRE_MAD_SUBNET_DIRECTED) {
        mad->is_return = (mad->status & RETURN_BIT) != 0;
        mad->status &= (uint16_t)~RETURN_BIT;
    }
}

void wire_smp_encode(const struct wire_smp *smp, unsigned char *to)
{
    wire_ib_fields_encode(smp_fields, smp, to);
}

void wire_smp_decode(const unsigned char *from, struct wire_smp *smp)
{
    wire_ib_fields_decode(smp_fields, from, smp);
}

uint64_t wire_mad_tid(const unsigned char *mad)
{
    return base_big_get(mad + AT_TID, TID_BYTES);
}

void wire_mad_tid_set(unsigned char *mad, uint64_t tid)
{
    base_big_put(mad + AT_TID, TID_BYTES, tid);
}

const char *wire_mad_class_name(uint8_t class)
{
    switch ((enum wire_mad_class) class) {
    case WIRE_MAD_SUBNET: return "subnet management";
    case WIRE_MAD_SUBNET_ADMINISTRATION: return "subnet administration";
    case WIRE_MAD_PERFORMANCE: return "performance";
    case WIRE_MAD_OPENIB_PING: return "ping";
    case WIRE_MAD_SUBNET_DIRECTED: return "directed subnet management";
    }
    return NULL;
}

const char *wire_mad_method_name(uint8_t method)
{
    switch ((enum wire_mad_method)method) {
    case WIRE_MAD_GET: return "Get";
    case WIRE_MAD_SET: return "Set";
    case WIRE_MAD_SEND: return "Send";
    case WIRE_MAD_TRAP: return "Trap";
    case WIRE_MAD_REPORT: return "Report";
    case WIRE_MAD_TRAP_REPRESS: return "TrapRepress";
    case WIRE_MAD_RESPONSE: return NULL;
    case WIRE_MAD_GET_RESPONSE: return "GetResp";
    }
    return NULL;
}

struct attribute_name {
    uint16_t attribute;
    const char *name;
};

static const struct attribute_name subnet_names[] = {
    {WIRE_MAD_NOTICE, "Notice"},
    {WIRE_MAD_NODE_DESCRIPTION, "NodeDescription"},
    {WIRE_MAD_NODE_INFO, "NodeInfo"},
    {WIRE_MAD_SWITCH_INFO, "SwitchInfo"},
    {WIRE_MAD_GUID_INFO, "GUIDInfo"},
    {WIRE_MAD_PORT_INFO, "PortInfo"},
    {WIRE_MAD_PKEY_TABLE, "P_KeyTable"},
    {WIRE_MAD_SL_TO_VL, "SLtoVLMappingTable"},
    {WIRE_MAD_VL_ARBITRATION, "VLArbitrationTable"},
    {WIRE_MAD_LINEAR_TABLE, "LinearForwardingTable"},
    {WIRE_MAD_MULTICAST_TABLE, "MulticastForwardingTable"},
    {WIRE_MAD_SM_INFO, "SMInfo"},
    {0, NULL},
};

static const struct attribute_name performance_names[] = {
    {WIRE_MAD_CLASS_PORT_INFO, "ClassPortInfo"},
    {WIRE_MAD_PORT_COUNTERS, "PortCounters"},
    {WIRE_MAD_PORT_COUNTERS_EXTENDED, "PortCountersExtended"},
    {0, NULL},
};

const char *wire_mad_attribute_name(uint8_t class, uint16_t attribute)
{
    const struct attribute_name *row = wire_mad_is_smp(class)          ? subnet_names
                                       : class == WIRE_MAD_PERFORMANCE ? performance_names
                                                                       : NULL;
    for (; row && row->name; row++) {
        if (row->attribute == attribute) {
            return row->name;
        }
    }
    return NULL;
}
