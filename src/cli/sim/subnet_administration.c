#include "cli/sim/subnet_administration.h"

#include <string.h>

#include "base/big.h"

/* Where things are in a datagram, and which bits of the component mask say that they are given. */
enum {
    AT_MASK = 48,
    AT_RECORD = 56,

    PATH_RECORD = 0x35,
    PATH_DLID = AT_RECORD + 40,
    PATH_SLID = AT_RECORD + 42,
    PATH_COUNT = AT_RECORD + 49,
    PATH_LEVEL = AT_RECORD + 52,
    PATH_GIVES_DLID = 1 << 4,
    PATH_GIVES_SLID = 1 << 5,
    PATH_GIVES_COUNT = 1 << 12,

    MEMBER_RECORD = 0x38,
    MEMBER_GROUP_GID = AT_RECORD,
    MEMBER_PORT_GID = AT_RECORD + 16,
    MEMBER_QKEY = AT_RECORD + 32,
    MEMBER_LID = AT_RECORD + 36,
    MEMBER_PKEY = AT_RECORD + 40,
    MEMBER_STATE = AT_RECORD + 48,
    /* Group, port, Q_Key, traffic class, P_Key, service level, flow label, state: what it takes to
     * make a group. */
    MEMBER_GIVES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16,
    FULL_MEMBER = 1,
    DEFAULT_PKEY = 0xffff,
    ANY_QKEY = 0x00d133,
};

#define LOCAL_PREFIX UINT64_C(0xfe80000000000000)
/* A transient group of this subnet alone. */
#define GROUP_PREFIX UINT64_C(0xff12d13300000000)

static void begin(unsigned char *mad, uint8_t method, uint16_t attribute, uint64_t tid,
                  uint64_t mask)
{
    const struct wire_mad header = {
        .base_version = 1,
        .class = WIRE_MAD_SUBNET_ADMINISTRATION,
        .class_version = 2,
        .method = method,
        .attribute = attribute,
        .tid = tid,
    };
    memset(mad, 0, WIRE_MAD_BYTES);
    wire_mad_encode(&header, mad);
    base_big_put(mad + AT_MASK, 8, mask);
}

bool administration_is_good(const unsigned char *mad)
{
    struct wire_mad header;
    wire_mad_decode(mad, &header);
    return header.status == 0;
}

void administration_path(unsigned char mad[WIRE_MAD_BYTES], uint64_t tid, uint16_t from_lid,
                         uint16_t to_lid)
{
    begin(mad, WIRE_MAD_GET, PATH_RECORD, tid,
          PATH_GIVES_DLID | PATH_GIVES_SLID | PATH_GIVES_COUNT);
    base_big_put(mad + PATH_DLID, 2, to_lid);
    base_big_put(mad + PATH_SLID, 2, from_lid);
    mad[PATH_COUNT] = 1;
}

uint8_t administration_path_level(const unsigned char *mad)
{
    return (uint8_t)(base_big_get(mad + PATH_LEVEL, 2) & 15);
}

void administration_join(unsigned char mad[WIRE_MAD_BYTES], uint64_t tid, uint64_t port_guid)
{
    begin(mad, WIRE_MAD_SET, MEMBER_RECORD, tid, MEMBER_GIVES);
    base_big_put(mad + MEMBER_GROUP_GID, 8, GROUP_PREFIX);
    base_big_put(mad + MEMBER_GROUP_GID + 8, 8, 1);
    base_big_put(mad + MEMBER_PORT_GID, 8, LOCAL_PREFIX);
    base_big_put(mad + MEMBER_PORT_GID + 8, 8, port_guid);
    base_big_put(mad + MEMBER_QKEY, 4, ANY_QKEY);
    base_big_put(mad + MEMBER_PKEY, 2, DEFAULT_PKEY);
    mad[MEMBER_STATE] = FULL_MEMBER;
}

uint16_t administration_group_lid(const unsigned char *mad)
{
    return (uint16_t)base_big_get(mad + MEMBER_LID, 2);
}
