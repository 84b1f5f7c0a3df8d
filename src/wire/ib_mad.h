/* Management datagrams, 256 bytes each: InfiniBand's common header, and behind it what a
 * management class says. Subnet management packets (SMPs) are those of two classes: the one goes
 * by addresses, the other by a list of ports, which works before anybody has an address.
 *
 *     0                            24      32      34      40     64             128    192
 * | header, see wire_mad       | M_Key | DrSLID | DrDLID |     | data 64      | path | way back |
 *
 * All numbers are big endian. */
#ifndef WIRE_IB_MAD_H
#define WIRE_IB_MAD_H

#include "base/base.h"

enum {
    WIRE_MAD_BYTES = 256,
    WIRE_MAD_AT_MKEY = 24,
    WIRE_MAD_AT_DATA = 64,
    WIRE_MAD_DATA_BYTES = 64, /* of an SMP; performance management has more */
    WIRE_MAD_AT_PATH = 128,
    WIRE_MAD_AT_RETURN_PATH = 192,
    WIRE_MAD_HOPS_MAX = 63,
    /* Vendors' classes from 0x30 on: whose, and the data. */
    WIRE_MAD_AT_OUI = 37,
    WIRE_MAD_AT_VENDOR_DATA = 40,
    WIRE_MAD_BASE_VERSION = 1,
    WIRE_MAD_CLASS_VERSION = 1,
    WIRE_MAD_SA_CLASS_VERSION = 2,
};

enum wire_mad_class {
    WIRE_MAD_SUBNET = 0x01,
    WIRE_MAD_SUBNET_ADMINISTRATION = 0x03,
    WIRE_MAD_PERFORMANCE = 0x04,
    WIRE_MAD_OPENIB_PING = 0x32,
    WIRE_MAD_SUBNET_DIRECTED = 0x81,
};

enum wire_mad_method {
    WIRE_MAD_GET = 0x01,
    WIRE_MAD_SET = 0x02,
    WIRE_MAD_SEND = 0x03,
    WIRE_MAD_TRAP = 0x05,
    WIRE_MAD_REPORT = 0x06,
    WIRE_MAD_TRAP_REPRESS = 0x07,
    WIRE_MAD_RESPONSE = 0x80, /* this bit */
    WIRE_MAD_GET_RESPONSE = 0x81,
};

enum wire_mad_attribute {
    WIRE_MAD_CLASS_PORT_INFO = 0x01,
    WIRE_MAD_NOTICE = 0x02,
    WIRE_MAD_NODE_DESCRIPTION = 0x10,
    WIRE_MAD_NODE_INFO = 0x11,
    WIRE_MAD_SWITCH_INFO = 0x12,
    WIRE_MAD_GUID_INFO = 0x14,
    WIRE_MAD_PORT_INFO = 0x15,
    WIRE_MAD_PKEY_TABLE = 0x16,
    WIRE_MAD_SL_TO_VL = 0x17,
    WIRE_MAD_VL_ARBITRATION = 0x18,
    WIRE_MAD_LINEAR_TABLE = 0x19,
    WIRE_MAD_MULTICAST_TABLE = 0x1b,
    WIRE_MAD_SM_INFO = 0x20,
    /* The performance class's own numbers. */
    WIRE_MAD_PORT_COUNTERS = 0x12,
    WIRE_MAD_PORT_COUNTERS_EXTENDED = 0x1d,
};

enum wire_mad_status {
    WIRE_MAD_GOOD = 0,
    WIRE_MAD_BUSY = 0x01,
    WIRE_MAD_BAD_VERSION = 0x04,
    WIRE_MAD_BAD_METHOD = 0x08,
    WIRE_MAD_BAD_ATTRIBUTE = 0x0c, /* or one that the method does not fit */
    WIRE_MAD_BAD_FIELD = 0x1c,     /* a value, or the modifier, is not valid */
};

/* The header that all classes share. */
struct wire_mad {
    uint8_t base_version, class, class_version, method;
    uint16_t status; /* of a directed SMP 15 bits */
    bool is_return;  /* of a directed SMP: D, the status's highest bit */
    uint8_t hop_pointer, hop_count;
    uint64_t tid;
    uint16_t attribute;
    uint32_t modifier;
};

/* Writes the first 24 bytes, and reads them. Every 24 bytes are a header. */
void wire_mad_encode(const struct wire_mad *mad, unsigned char *to);
void wire_mad_decode(const unsigned char *from, struct wire_mad *mad);

/* What an SMP has besides. The paths are in their place: port 1 .. hop count, byte 0 unused. */
struct wire_smp {
    uint64_t mkey;
    uint16_t dr_slid, dr_dlid; /* 0xffff: the directed part begins, ends, at the end of the way */
};
void wire_smp_encode(const struct wire_smp *smp, unsigned char *to);
void wire_smp_decode(const unsigned char *from, struct wire_smp *smp);

uint64_t wire_mad_tid(const unsigned char *mad);
void wire_mad_tid_set(unsigned char *mad, uint64_t tid);

static inline bool wire_mad_is_smp(uint8_t class)
{
    return class == WIRE_MAD_SUBNET || class == WIRE_MAD_SUBNET_DIRECTED;
}

/* For messages: "PortInfo", "Get". NULL: it has no name here. */
const char *wire_mad_class_name(uint8_t class);
const char *wire_mad_method_name(uint8_t method);
const char *wire_mad_attribute_name(uint8_t class, uint16_t attribute);

#endif
