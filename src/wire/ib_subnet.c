/* Attributes of subnet management to bytes and back. */
#include "wire/ib_subnet.h"

#include <string.h>

#include "base/big.h"
#include "wire/ib_field.h"

#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_node_info, byte, bit, bits, member)

static const struct wire_ib_field node_info_fields[] = {
    FIELD(0, 0, 8, base_version),
    FIELD(1, 0, 8, class_version),
    FIELD(2, 0, 8, node_type),
    FIELD(3, 0, 8, port_count),
    FIELD(4, 0, 64, system_image_guid),
    FIELD(12, 0, 64, node_guid),
    FIELD(20, 0, 64, port_guid),
    FIELD(28, 0, 16, partition_cap),
    FIELD(30, 0, 16, device_id),
    FIELD(32, 0, 32, revision),
    FIELD(36, 0, 8, local_port),
    FIELD(37, 0, 24, vendor_id),
    {0},
};

#undef FIELD
#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_switch_info, byte, bit, bits, member)

static const struct wire_ib_field switch_info_fields[] = {
    FIELD(0, 0, 16, linear_cap),
    FIELD(2, 0, 16, random_cap),
    FIELD(4, 0, 16, multicast_cap),
    FIELD(6, 0, 16, linear_top),
    FIELD(8, 0, 8, default_port),
    FIELD(9, 0, 8, default_multicast_primary_port),
    FIELD(10, 0, 8, default_multicast_other_port),
    FIELD(11, 0, 5, life_time_value),
    FIELD(11, 5, 1, port_state_change),
    FIELD(11, 6, 2, optimized_sl_to_vl),
    FIELD(12, 0, 16, lids_per_port),
    FIELD(14, 0, 16, partition_enforcement_cap),
    FIELD(16, 0, 1, inbound_enforcement),
    FIELD(16, 1, 1, outbound_enforcement),
    FIELD(16, 2, 1, filter_raw_inbound),
    FIELD(16, 3, 1, filter_raw_outbound),
    FIELD(16, 4, 1, enhanced_port_0),
    FIELD(18, 0, 16, multicast_top),
    {0},
};

#undef FIELD
#define FIELD(byte, bit, bits, member) \
    WIRE_IB_FIELD(struct wire_ib_port_info, byte, bit, bits, member)

static const struct wire_ib_field port_info_fields[] = {
    FIELD(0, 0, 64, mkey),
    FIELD(8, 0, 64, gid_prefix),
    FIELD(16, 0, 16, lid),
    FIELD(18, 0, 16, sm_lid),
    FIELD(20, 0, 32, capability_mask),
    FIELD(24, 0, 16, diag_code),
    FIELD(26, 0, 16, mkey_lease_s),
    FIELD(28, 0, 8, local_port),
    FIELD(29, 0, 8, width_enabled),
    FIELD(30, 0, 8, width_supported),
    FIELD(31, 0, 8, width_active),
    FIELD(32, 0, 4, speed_supported),
    FIELD(32, 4, 4, state),
    FIELD(33, 0, 4, physical_state),
    FIELD(33, 4, 4, down_default_state),
    FIELD(34, 0, 2, mkey_protect),
    FIELD(34, 5, 3, lmc),
    FIELD(35, 0, 4, speed_active),
    FIELD(35, 4, 4, speed_enabled),
    FIELD(36, 0, 4, neighbor_mtu),
    FIELD(36, 4, 4, sm_sl),
    FIELD(37, 0, 4, vl_cap),
    FIELD(37, 4, 4, init_type),
    FIELD(38, 0, 8, vl_high_limit),
    FIELD(39, 0, 8, arbitration_high_cap),
    FIELD(40, 0, 8, arbitration_low_cap),
    FIELD(41, 0, 4, init_type_reply),
    FIELD(41, 4, 4, mtu_cap),
    FIELD(42, 0, 3, vl_stall_count),
    FIELD(42, 3, 5, hoq_life),
    FIELD(43, 0, 4, operational_vls),
    FIELD(43, 4, 1, enforce_inbound),
    FIELD(43, 5, 1, enforce_outbound),
    FIELD(43, 6, 1, filter_raw_inbound),
    FIELD(43, 7, 1, filter_raw_outbound),
    FIELD(44, 0, 16, mkey_violations),
    FIELD(46, 0, 16, pkey_violations),
    FIELD(48, 0, 16, qkey_violations),
    FIELD(50, 0, 8, guid_cap),
    FIELD(51, 0, 1, client_reregister),
    FIELD(51, 1, 2, multicast_pkey_trap_suppression),
    FIELD(51, 3, 5, subnet_timeout),
    FIELD(52, 3, 5, response_time),
    FIELD(53, 0, 4, local_phy_errors),
    FIELD(53, 4, 4, overrun_errors),
    FIELD(54, 0, 16, max_credit_hint),
    FIELD(57, 0, 24, round_trip_latency),
    FIELD(60, 0, 16, capability_mask2),
    FIELD(62, 0, 4, speed_ext_active),
    FIELD(62, 4, 4, speed_ext_supported),
    FIELD(63, 3, 5, speed_ext_enabled),
    {0},
};

#undef FIELD

static const struct wire_ib_field sm_info_fields[] = {
    WIRE_IB_FIELD(struct wire_ib_sm_info, 0, 0, 64, guid),
    WIRE_IB_FIELD(struct wire_ib_sm_info, 8, 0, 64, sm_key),
    WIRE_IB_FIELD(struct wire_ib_sm_info, 16, 0, 32, act_count),
    WIRE_IB_FIELD(struct wire_ib_sm_info, 20, 0, 4, priority),
    WIRE_IB_FIELD(struct wire_ib_sm_info, 20, 4, 4, state),
    {0},
};

#define FIELD(byte, bit, bits, member) WIRE_IB_FIELD(struct wire_ib_notice, byte, bit, bits, member)

static const struct wire_ib_field notice_fields[] = {
    FIELD(0, 0, 1, is_generic),  FIELD(0, 1, 7, type),
    FIELD(1, 0, 24, producer),   FIELD(4, 0, 16, trap),
    FIELD(6, 0, 16, issuer_lid), FIELD(8, 0, 1, toggle),
    FIELD(8, 1, 15, count),      {0},
};

/* Details begin at byte 10, and are those of the trap. */
static const struct wire_ib_field trap_128_fields[] = {FIELD(10, 0, 16, lid), {0}};
static const struct wire_ib_field trap_144_fields[] = {
    FIELD(12, 0, 16, lid), FIELD(16, 0, 32, capability_mask), {0}};

#undef FIELD

static void encode(const struct wire_ib_field *fields, const void *from, unsigned char *to)
{
    memset(to, 0, WIRE_MAD_DATA_BYTES);
    wire_ib_fields_encode(fields, from, to);
}

void wire_ib_node_info_encode(const struct wire_ib_node_info *info, unsigned char *to)
{
    encode(node_info_fields, info, to);
}

void wire_ib_node_info_decode(const unsigned char *from, struct wire_ib_node_info *info)
{
    wire_ib_fields_decode(node_info_fields, from, info);
}

void wire_ib_switch_info_encode(const struct wire_ib_switch_info *info, unsigned char *to)
{
    encode(switch_info_fields, info, to);
}

void wire_ib_switch_info_decode(const unsigned char *from, struct wire_ib_switch_info *info)
{
    wire_ib_fields_decode(switch_info_fields, from, info);
}

void wire_ib_port_info_encode(const struct wire_ib_port_info *info, unsigned char *to)
{
    encode(port_info_fields, info, to);
}

void wire_ib_port_info_decode(const unsigned char *from, struct wire_ib_port_info *info)
{
    wire_ib_fields_decode(port_info_fields, from, info);
}

void wire_ib_sm_info_encode(const struct wire_ib_sm_info *info, unsigned char *to)
{
    encode(sm_info_fields, info, to);
}

void wire_ib_sm_info_decode(const unsigned char *from, struct wire_ib_sm_info *info)
{
    wire_ib_fields_decode(sm_info_fields, from, info);
}

void wire_ib_notice_encode(const struct wire_ib_notice *notice, unsigned char *to)
{
    encode(notice_fields, notice, to);
    if (notice->is_generic && notice->trap == WIRE_IB_TRAP_LINK_STATE) {
        wire_ib_fields_encode(trap_128_fields, notice, to);
    } else if (notice->is_generic && notice->trap == WIRE_IB_TRAP_CAPABILITY) {
        wire_ib_fields_encode(trap_144_fields, notice, to);
    }
}

void wire_ib_notice_decode(const unsigned char *from, struct wire_ib_notice *notice)
{
    *notice = (struct wire_ib_notice){0};
    wire_ib_fields_decode(notice_fields, from, notice);
    if (notice->is_generic && notice->trap == WIRE_IB_TRAP_LINK_STATE) {
        wire_ib_fields_decode(trap_128_fields, from, notice);
    } else if (notice->is_generic && notice->trap == WIRE_IB_TRAP_CAPABILITY) {
        wire_ib_fields_decode(trap_144_fields, from, notice);
    }
}

void wire_ib_description_encode(const char *text, unsigned char *to)
{
    memset(to, 0, WIRE_IB_NODE_DESCRIPTION_BYTES);
    for (uint32_t i = 0; i < WIRE_IB_NODE_DESCRIPTION_BYTES && text[i]; i++) {
        to[i] = (unsigned char)text[i];
    }
}

void wire_ib_description_decode(const unsigned char *from,
                                char text[WIRE_IB_NODE_DESCRIPTION_BYTES + 1])
{
    memcpy(text, from, WIRE_IB_NODE_DESCRIPTION_BYTES);
    text[WIRE_IB_NODE_DESCRIPTION_BYTES] = '\0';
}

void wire_ib_guids_encode(const uint64_t guids[WIRE_IB_GUID_BLOCK], unsigned char *to)
{
    for (uint32_t i = 0; i < WIRE_IB_GUID_BLOCK; i++) {
        base_big_put(to + (size_t)8 * i, 8, guids[i]);
    }
}

void wire_ib_guids_decode(const unsigned char *from, uint64_t guids[WIRE_IB_GUID_BLOCK])
{
    for (uint32_t i = 0; i < WIRE_IB_GUID_BLOCK; i++) {
        guids[i] = base_big_get(from + (size_t)8 * i, 8);
    }
}

void wire_ib_words_encode(const uint16_t words[WIRE_IB_PKEY_BLOCK], unsigned char *to)
{
    for (uint32_t i = 0; i < WIRE_IB_PKEY_BLOCK; i++) {
        base_big_put(to + (size_t)2 * i, 2, words[i]);
    }
}

void wire_ib_words_decode(const unsigned char *from, uint16_t words[WIRE_IB_PKEY_BLOCK])
{
    for (uint32_t i = 0; i < WIRE_IB_PKEY_BLOCK; i++) {
        words[i] = (uint16_t)base_big_get(from + (size_t)2 * i, 2);
    }
}

void wire_ib_sl_to_vl_encode(const uint8_t vls[WIRE_IB_SL_COUNT], unsigned char *to)
{
    memset(to, 0, WIRE_MAD_DATA_BYTES);
    for (uint32_t i = 0; i < WIRE_IB_SL_COUNT; i++) {
        to[i / 2] |= (unsigned char)((vls[i] & 15) << (i % 2 ? 0 : 4));
    }
}

void wire_ib_sl_to_vl_decode(const unsigned char *from, uint8_t vls[WIRE_IB_SL_COUNT])
{
    for (uint32_t i = 0; i < WIRE_IB_SL_COUNT; i++) {
        vls[i] = from[i / 2] >> (i % 2 ? 0 : 4) & 15;
    }
}

void wire_ib_arbitration_encode(
    const struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK], unsigned char *to)
{
    for (uint32_t i = 0; i < WIRE_IB_ARBITRATION_BLOCK; i++) {
        to[2 * i] = rows[i].vl & 15;
        to[2 * i + 1] = rows[i].weight;
    }
}

void wire_ib_arbitration_decode(const unsigned char *from,
                                struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK])
{
    for (uint32_t i = 0; i < WIRE_IB_ARBITRATION_BLOCK; i++) {
        rows[i] = (struct wire_ib_arbitration_row){from[2 * i] & 15, from[2 * i + 1]};
    }
}

/* ---- Codes -------------------------------------------------------------------------------- */

enum { CODES = 5, MTU_LEAST = 256 };

static const uint8_t lanes[CODES + 1] = {0, 1, 2, 4, 8, 15};

uint8_t wire_ib_mtu_code(uint32_t bytes)
{
    for (uint8_t code = 1; code <= CODES; code++) {
        if (wire_ib_mtu_bytes(code) == bytes) {
            return code;
        }
    }
    return 0;
}

uint32_t wire_ib_mtu_bytes(uint8_t code)
{
    return code >= 1 && code <= CODES ? (uint32_t)MTU_LEAST << (code - 1) : 0;
}

uint8_t wire_ib_vls_code(uint32_t vls)
{
    for (uint8_t code = 1; code <= CODES; code++) {
        if (lanes[code] == vls) {
            return code;
        }
    }
    return 0;
}

uint32_t wire_ib_vls(uint8_t code)
{
    return code <= CODES ? lanes[code] : 0;
}

uint8_t wire_ib_width_code(uint32_t width)
{
    return width == 1 ? 1 : width == 4 ? 2 : width == 12 ? 8 : 0;
}
