/* Link packets to bytes and back. */
#include "wire/ib_link.h"

#include "base/big.h"
#include "wire/crc16.h"
#include "wire/packet.h"

enum {
    AT_SENT = 0,  /* Op and FCTBS */
    AT_LIMIT = 2, /* VL and FCCL */
    AT_LPCRC = 4,
    UPPER_SHIFT = 12,
    COUNT_MASK = WIRE_IB_BLOCKS_MODULO - 1,
};

static bool is_well_formed(const struct wire_ib_link *link)
{
    return (link->op == WIRE_IB_LINK_NORMAL || link->op == WIRE_IB_LINK_INIT) &&
           link->vl < WIRE_IB_MANAGEMENT_VL && link->fctbs <= COUNT_MASK &&
           link->fccl <= COUNT_MASK;
}

void wire_ib_link_encode(const struct wire_ib_link *link, unsigned char to[WIRE_IB_LINK_BYTES])
{
    INVARIANT(is_well_formed(link));
    base_big_put(to + AT_SENT, 2, (uint32_t)link->op << UPPER_SHIFT | link->fctbs);
    base_big_put(to + AT_LIMIT, 2, (uint32_t)link->vl << UPPER_SHIFT | link->fccl);
    wire_put16(to + AT_LPCRC, wire_crc16(0, to, AT_LPCRC));
}

enum wire_ib_result wire_ib_link_decode(const unsigned char *from, uint32_t bytes,
                                        struct wire_ib_link *link)
{
    if (bytes != WIRE_IB_LINK_BYTES) {
        return WIRE_IB_MALFORMED;
    }
    if (wire_get16(from + AT_LPCRC) != wire_crc16(0, from, AT_LPCRC)) {
        return WIRE_IB_VCRC_WRONG;
    }
    uint32_t sent = (uint32_t)base_big_get(from + AT_SENT, 2);
    uint32_t limit = (uint32_t)base_big_get(from + AT_LIMIT, 2);
    struct wire_ib_link read = {
        .op = (enum wire_ib_link_op)(sent >> UPPER_SHIFT),
        .vl = (uint8_t)(limit >> UPPER_SHIFT),
        .fctbs = sent & COUNT_MASK,
        .fccl = limit & COUNT_MASK,
    };
    if (!is_well_formed(&read)) {
        return WIRE_IB_MALFORMED;
    }
    *link = read;
    return WIRE_IB_GOOD;
}
