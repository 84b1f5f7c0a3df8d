/* InfiniBand packets to bytes and back. */
#include "wire/ib_packet.h"

#include <string.h>

#include "base/big.h"
#include "wire/crc16.h"
#include "wire/crc32.h"
#include "wire/packet.h"

enum {
    LRH_AT_LANE = 0, /* VL and LVer */
    LRH_AT_NEXT = 1, /* SL, 2 bits reserved, LNH */
    LRH_AT_DLID = 2,
    LRH_AT_WORDS = 4, /* 5 bits reserved, PktLen */
    LRH_AT_SLID = 6,
    VL_SHIFT = 4,
    LVER_MASK = 15,
    SL_SHIFT = 4,
    NEXT_MASK = 3,
    NEXT_RESERVED = 12,
    WORDS_MASK = 0x7ff,

    RWH_AT_TYPE = 2, /* behind 16 reserved bits */

    BTH_AT_OPCODE = 0,
    BTH_AT_P_KEY = 2,
    BTH_AT_VARIANT = 4, /* resv8a, which routers may change */
    BTH_AT_DEST_QP = 5,
    BTH_AT_PSN = 9,
    DETH_AT_Q_KEY = 0,
    DETH_AT_SOURCE_QP = 5,
    QP_BYTES = 3,
    QP_MAX = 0xffffff,

    AT_RWH = WIRE_IB_LRH_BYTES,
    AT_PAYLOAD = AT_RWH + WIRE_IB_RWH_BYTES,
    AT_BTH = WIRE_IB_LRH_BYTES,
    AT_DETH = AT_BTH + WIRE_IB_BTH_BYTES,
    AT_MAD = AT_DETH + WIRE_IB_DETH_BYTES,
    AT_ICRC = AT_MAD + WIRE_IB_MAD_BYTES,
    WORD_BYTES = 4,
};

const char *wire_ib_result_name(enum wire_ib_result result)
{
    switch (result) {
    case WIRE_IB_GOOD: return "good";
    case WIRE_IB_VCRC_WRONG: return "VCRC wrong";
    case WIRE_IB_ICRC_WRONG: return "ICRC wrong";
    case WIRE_IB_CRC32_WRONG: return "CRC-32 wrong";
    case WIRE_IB_MALFORMED: return "malformed";
    }
    return "?";
}

/* ---- Local route header ------------------------------------------------------------------- */

void wire_ib_lrh_encode(const struct wire_ib_lrh *lrh, unsigned char to[WIRE_IB_LRH_BYTES])
{
    INVARIANT(lrh->vl < WIRE_IB_VLS && lrh->sl < WIRE_IB_SLS && lrh->words <= WORDS_MASK);
    INVARIANT((uint32_t)lrh->next <= NEXT_MASK);
    to[LRH_AT_LANE] = (unsigned char)(lrh->vl << VL_SHIFT);
    to[LRH_AT_NEXT] = (unsigned char)((uint32_t)lrh->sl << SL_SHIFT | (uint32_t)lrh->next);
    base_big_put(to + LRH_AT_DLID, 2, lrh->dlid);
    base_big_put(to + LRH_AT_WORDS, 2, lrh->words);
    base_big_put(to + LRH_AT_SLID, 2, lrh->slid);
}

bool wire_ib_lrh_decode(const unsigned char from[WIRE_IB_LRH_BYTES], struct wire_ib_lrh *lrh)
{
    uint16_t words = (uint16_t)base_big_get(from + LRH_AT_WORDS, 2);
    if ((from[LRH_AT_LANE] & LVER_MASK) != 0 || (from[LRH_AT_NEXT] & NEXT_RESERVED) != 0 ||
        words > WORDS_MASK) {
        return false;
    }
    *lrh = (struct wire_ib_lrh){
        .vl = from[LRH_AT_LANE] >> VL_SHIFT,
        .sl = from[LRH_AT_NEXT] >> SL_SHIFT,
        .next = (enum wire_ib_next)(from[LRH_AT_NEXT] & NEXT_MASK),
        .dlid = (uint16_t)base_big_get(from + LRH_AT_DLID, 2),
        .slid = (uint16_t)base_big_get(from + LRH_AT_SLID, 2),
        .words = words,
    };
    return true;
}

static bool is_unicast(uint16_t lid)
{
    return lid > 0 && lid <= WIRE_IB_LID_UNICAST_LAST;
}

/* ---- CRCs --------------------------------------------------------------------------------- */

void wire_ib_vcrc_put(unsigned char *packet, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_VCRC_BYTES);
    bytes -= WIRE_IB_VCRC_BYTES;
    wire_put16(packet + bytes, wire_crc16(0, packet, bytes));
}

bool wire_ib_vcrc_fits(const unsigned char *packet, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_VCRC_BYTES);
    bytes -= WIRE_IB_VCRC_BYTES;
    return wire_get16(packet + bytes) == wire_crc16(0, packet, bytes);
}

void wire_ib_vl_set(unsigned char *packet, uint32_t bytes, uint8_t vl)
{
    INVARIANT(vl < WIRE_IB_VLS);
    packet[LRH_AT_LANE] = (unsigned char)((packet[LRH_AT_LANE] & LVER_MASK) | (uint32_t)vl
                                                                                  << VL_SHIFT);
    wire_ib_vcrc_put(packet, bytes);
}

/* The CRC-32 up to the end of the LRH, whose VL counts as ones. */
static uint32_t lrh_crc32(const unsigned char *packet)
{
    unsigned char lane = packet[LRH_AT_LANE] | 0xf0;
    return wire_crc32(wire_crc32(0, &lane, 1), packet + 1, WIRE_IB_LRH_BYTES - 1);
}

uint32_t wire_ib_icrc(const unsigned char *packet, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_BTH_BYTES);
    const unsigned char ones = 0xff;
    const uint32_t variant = AT_BTH + BTH_AT_VARIANT;
    uint32_t crc = wire_crc32(lrh_crc32(packet), packet + AT_BTH, BTH_AT_VARIANT);
    crc = wire_crc32(crc, &ones, 1);
    return wire_crc32(crc, packet + variant + 1, bytes - variant - 1);
}

uint32_t wire_ib_raw_crc32(const unsigned char *packet, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_IB_LRH_BYTES);
    return wire_crc32(lrh_crc32(packet), packet + WIRE_IB_LRH_BYTES, bytes - WIRE_IB_LRH_BYTES);
}

/* ---- Raw packets --------------------------------------------------------------------------- */

static uint32_t filled_up(uint32_t bytes)
{
    return (bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
}

uint32_t wire_ib_raw_bytes(uint32_t payload_bytes)
{
    return WIRE_IB_RAW_OVERHEAD_BYTES + filled_up(payload_bytes);
}

/* Whether data may go that way. */
static bool is_data_way(uint8_t vl, uint16_t dlid, uint16_t slid)
{
    return vl != WIRE_IB_MANAGEMENT_VL && dlid != 0 && dlid != WIRE_IB_LID_PERMISSIVE &&
           is_unicast(slid);
}

void wire_ib_raw_begin(const struct wire_ib_raw *raw, unsigned char *to)
{
    INVARIANT(is_data_way(raw->vl, raw->dlid, raw->slid) && raw->payload_bytes <= WIRE_IB_MTU_MAX);
    const struct wire_ib_lrh lrh = {
        .vl = raw->vl,
        .sl = raw->sl,
        .next = WIRE_IB_RAW,
        .dlid = raw->dlid,
        .slid = raw->slid,
        .words = (uint16_t)((AT_PAYLOAD + filled_up(raw->payload_bytes)) / WORD_BYTES),
    };
    wire_ib_lrh_encode(&lrh, to);
    base_big_put(to + AT_RWH, WIRE_IB_RWH_BYTES, WIRE_IB_ETHERTYPE);
}

void wire_ib_raw_encode(const struct wire_ib_raw *raw, const void *payload, unsigned char *to)
{
    wire_ib_raw_begin(raw, to);
    memset(to + AT_PAYLOAD, 0, filled_up(raw->payload_bytes));
    if (raw->payload_bytes > 0) {
        memcpy(to + AT_PAYLOAD, payload, raw->payload_bytes);
    }
    wire_ib_vcrc_put(to, wire_ib_raw_bytes(raw->payload_bytes));
}

bool wire_ib_raw_read(const unsigned char *from, uint32_t bytes, struct wire_ib_raw *raw)
{
    struct wire_ib_lrh lrh;
    if (bytes < WIRE_IB_RAW_OVERHEAD_BYTES || bytes > WIRE_IB_RAW_BYTES_MAX ||
        !wire_ib_lrh_decode(from, &lrh) || lrh.next != WIRE_IB_RAW ||
        bytes != (uint32_t)lrh.words * WORD_BYTES + WIRE_IB_VCRC_BYTES ||
        !is_data_way(lrh.vl, lrh.dlid, lrh.slid) ||
        base_big_get(from + AT_RWH, WIRE_IB_RWH_BYTES) != WIRE_IB_ETHERTYPE) {
        return false;
    }
    *raw = (struct wire_ib_raw){
        .vl = lrh.vl,
        .sl = lrh.sl,
        .dlid = lrh.dlid,
        .slid = lrh.slid,
        .payload_bytes = bytes - WIRE_IB_RAW_OVERHEAD_BYTES,
    };
    return true;
}

enum wire_ib_result wire_ib_raw_decode(const unsigned char *from, uint32_t bytes,
                                       struct wire_ib_raw *raw, const unsigned char **payload)
{
    if (bytes < WIRE_IB_RAW_OVERHEAD_BYTES || bytes > WIRE_IB_RAW_BYTES_MAX) {
        return WIRE_IB_MALFORMED;
    }
    if (!wire_ib_vcrc_fits(from, bytes)) {
        return WIRE_IB_VCRC_WRONG;
    }
    if (!wire_ib_raw_read(from, bytes, raw)) {
        return WIRE_IB_MALFORMED;
    }
    *payload = from + AT_PAYLOAD;
    return WIRE_IB_GOOD;
}

/* ---- Management packets ------------------------------------------------------------------- */

static bool is_management(const struct wire_ib_management *management)
{
    return (management->vl == WIRE_IB_MANAGEMENT_VL) == (management->dest_qp == 0) &&
           management->dlid != 0 &&
           (is_unicast(management->slid) || management->slid == WIRE_IB_LID_PERMISSIVE) &&
           management->dest_qp <= QP_MAX && management->source_qp <= QP_MAX &&
           management->psn <= QP_MAX;
}

/* All but the MAD and the CRCs. */
static void management_begin(const struct wire_ib_management *management, unsigned char *to)
{
    memset(to, 0, AT_MAD);
    const struct wire_ib_lrh lrh = {
        .vl = management->vl,
        .sl = management->sl,
        .next = WIRE_IB_LOCAL,
        .dlid = management->dlid,
        .slid = management->slid,
        .words = (WIRE_IB_MANAGEMENT_BYTES - WIRE_IB_VCRC_BYTES) / WORD_BYTES,
    };
    wire_ib_lrh_encode(&lrh, to);
    unsigned char *bth = to + AT_BTH, *deth = to + AT_DETH;
    bth[BTH_AT_OPCODE] = WIRE_IB_UD_SEND_ONLY;
    base_big_put(bth + BTH_AT_P_KEY, 2, management->p_key);
    base_big_put(bth + BTH_AT_DEST_QP, QP_BYTES, management->dest_qp);
    base_big_put(bth + BTH_AT_PSN, QP_BYTES, management->psn);
    base_big_put(deth + DETH_AT_Q_KEY, 4, management->q_key);
    base_big_put(deth + DETH_AT_SOURCE_QP, QP_BYTES, management->source_qp);
}

void wire_ib_management_encode(const struct wire_ib_management *management,
                               const unsigned char mad[WIRE_IB_MAD_BYTES], unsigned char *to)
{
    INVARIANT(is_management(management));
    management_begin(management, to);
    memcpy(to + AT_MAD, mad, WIRE_IB_MAD_BYTES);
    wire_put32(to + AT_ICRC, wire_ib_icrc(to, AT_ICRC));
    wire_ib_vcrc_put(to, WIRE_IB_MANAGEMENT_BYTES);
}

enum wire_ib_result wire_ib_management_decode(const unsigned char *from, uint32_t bytes,
                                              struct wire_ib_management *management,
                                              const unsigned char **mad)
{
    if (bytes != WIRE_IB_MANAGEMENT_BYTES) {
        return WIRE_IB_MALFORMED;
    }
    if (!wire_ib_vcrc_fits(from, bytes)) {
        return WIRE_IB_VCRC_WRONG;
    }
    if (wire_get32(from + AT_ICRC) != wire_ib_icrc(from, AT_ICRC)) {
        return WIRE_IB_ICRC_WRONG;
    }
    struct wire_ib_lrh lrh;
    if (!wire_ib_lrh_decode(from, &lrh)) {
        return WIRE_IB_MALFORMED;
    }
    const unsigned char *bth = from + AT_BTH, *deth = from + AT_DETH;
    struct wire_ib_management read = {
        .vl = lrh.vl,
        .sl = lrh.sl,
        .dlid = lrh.dlid,
        .slid = lrh.slid,
        .p_key = (uint16_t)base_big_get(bth + BTH_AT_P_KEY, 2),
        .dest_qp = (uint32_t)base_big_get(bth + BTH_AT_DEST_QP, QP_BYTES),
        .source_qp = (uint32_t)base_big_get(deth + DETH_AT_SOURCE_QP, QP_BYTES),
        .psn = (uint32_t)base_big_get(bth + BTH_AT_PSN, QP_BYTES),
        .q_key = (uint32_t)base_big_get(deth + DETH_AT_Q_KEY, 4),
    };
    if (!is_management(&read)) {
        return WIRE_IB_MALFORMED;
    }
    /* Whatever else is in the headers has one value: that which the encoder writes. */
    unsigned char headers[AT_MAD];
    management_begin(&read, headers);
    if (memcmp(from, headers, AT_MAD) != 0) {
        return WIRE_IB_MALFORMED;
    }
    *management = read;
    *mad = from + AT_MAD;
    return WIRE_IB_GOOD;
}
