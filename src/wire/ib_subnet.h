/* The attributes of subnet management, 64 bytes each: what a subnet manager reads and writes in
 * the devices. Names, units and codes are InfiniBand's; where a table fills all of its 64 bytes,
 * the struct is one block of it, and the MAD's modifier says which.
 *
 * Encoding writes all 64 bytes; what is reserved is 0. Decoding takes any bytes: whether a value
 * makes sense only the device knows. */
#ifndef WIRE_IB_SUBNET_H
#define WIRE_IB_SUBNET_H

#include "wire/ib_mad.h"

enum {
    WIRE_IB_NODE_DESCRIPTION_BYTES = 64,
    WIRE_IB_LINEAR_BLOCK = 64,    /* LIDs in a block */
    WIRE_IB_MULTICAST_BLOCK = 32, /* multicast LIDs in a block */
    WIRE_IB_MULTICAST_PORTS = 16, /* ports in a block: its position is that of 16 ports */
    WIRE_IB_PKEY_BLOCK = 32,
    WIRE_IB_GUID_BLOCK = 8,
    WIRE_IB_ARBITRATION_BLOCK = 32,
    WIRE_IB_SL_COUNT = 16,
};

enum wire_ib_node_type { WIRE_IB_CHANNEL_ADAPTER = 1, WIRE_IB_SWITCH = 2, WIRE_IB_ROUTER = 3 };

enum wire_ib_port_state {
    WIRE_IB_STATE_NOP = 0,
    WIRE_IB_STATE_DOWN = 1,
    WIRE_IB_STATE_INIT = 2,
    WIRE_IB_STATE_ARMED = 3,
    WIRE_IB_STATE_ACTIVE = 4,
};

enum wire_ib_physical_state {
    WIRE_IB_PHYSICAL_NOP = 0,
    WIRE_IB_PHYSICAL_SLEEP = 1,
    WIRE_IB_PHYSICAL_POLLING = 2,
    WIRE_IB_PHYSICAL_DISABLED = 3,
    WIRE_IB_PHYSICAL_LINK_UP = 5,
};

/* Bits of PortInfo's CapabilityMask. */
enum {
    WIRE_IB_CAN_BE_SM = 1 << 1, /* IsSM: a subnet manager is at work here */
    WIRE_IB_CAN_NOTICE = 1 << 2,
    WIRE_IB_CAN_TRAP = 1 << 3,
    WIRE_IB_CAN_SL_MAPPING = 1 << 6,
    WIRE_IB_CAN_SYSTEM_IMAGE_GUID = 1 << 11,
    WIRE_IB_CAN_VENDOR_CLASS = 1 << 20,
    WIRE_IB_CAN_CAPABILITY_NOTICE = 1 << 22,
    WIRE_IB_CAN_CLIENT_REREGISTER = 1 << 25,
};

struct wire_ib_node_info {
    uint8_t base_version, class_version;
    uint8_t node_type; /* enum wire_ib_node_type */
    uint8_t port_count;
    uint64_t system_image_guid, node_guid, port_guid;
    uint16_t partition_cap;
    uint16_t device_id;
    uint32_t revision;
    uint8_t local_port; /* by which the MAD came in */
    uint32_t vendor_id; /* 24 bits */
};

struct wire_ib_switch_info {
    uint16_t linear_cap, random_cap, multicast_cap;
    uint16_t linear_top;
    uint8_t default_port, default_multicast_primary_port, default_multicast_other_port;
    uint8_t life_time_value;   /* 5 bits */
    uint8_t port_state_change; /* a link of it came or went; writing 1 clears it */
    uint8_t optimized_sl_to_vl;
    uint16_t lids_per_port, partition_enforcement_cap;
    uint8_t inbound_enforcement, outbound_enforcement, filter_raw_inbound, filter_raw_outbound;
    uint8_t enhanced_port_0;
    uint16_t multicast_top;
};

struct wire_ib_port_info {
    uint64_t mkey, gid_prefix;
    uint16_t lid, sm_lid;
    uint32_t capability_mask;
    uint16_t diag_code, mkey_lease_s;
    uint8_t local_port; /* by which the MAD came in */
    uint8_t width_enabled, width_supported, width_active; /* bits: 1X, 4X, 8X, 12X */
    uint8_t speed_supported, speed_active, speed_enabled; /* bits: 2.5, 5, 10 Gbps */
    uint8_t state;                                        /* enum wire_ib_port_state */
    uint8_t physical_state;                               /* enum wire_ib_physical_state */
    uint8_t down_default_state;
    uint8_t mkey_protect, lmc;
    uint8_t neighbor_mtu, mtu_cap; /* codes: see wire_ib_mtu_code */
    uint8_t sm_sl;
    uint8_t vl_cap, operational_vls; /* codes: see wire_ib_vls_code */
    uint8_t init_type, init_type_reply;
    uint8_t vl_high_limit, arbitration_high_cap, arbitration_low_cap;
    uint8_t vl_stall_count, hoq_life;
    uint8_t enforce_inbound, enforce_outbound, filter_raw_inbound, filter_raw_outbound;
    uint16_t mkey_violations, pkey_violations, qkey_violations;
    uint8_t guid_cap;
    uint8_t client_reregister, multicast_pkey_trap_suppression, subnet_timeout;
    uint8_t response_time;
    uint8_t local_phy_errors, overrun_errors;
    uint16_t max_credit_hint;
    uint32_t round_trip_latency; /* 24 bits */
    uint16_t capability_mask2;
    uint8_t speed_ext_active, speed_ext_supported, speed_ext_enabled;
};

enum wire_ib_sm_state {
    WIRE_IB_SM_NOT_ACTIVE = 0,
    WIRE_IB_SM_DISCOVERING = 1,
    WIRE_IB_SM_STANDBY = 2,
    WIRE_IB_SM_MASTER = 3,
};

struct wire_ib_sm_info {
    uint64_t guid, sm_key;
    uint32_t act_count;
    uint8_t priority, state;
};

enum {
    WIRE_IB_TRAP_LINK_STATE = 128, /* a switch: a link of mine came or went */
    WIRE_IB_TRAP_CAPABILITY = 144, /* my CapabilityMask is another now */
    WIRE_IB_NOTICE_URGENT = 1,
    WIRE_IB_NOTICE_INFORMATIONAL = 4,
};

/* A generic notice; of its details those that the two traps have. */
struct wire_ib_notice {
    uint8_t is_generic, type;
    uint32_t producer; /* enum wire_ib_node_type */
    uint16_t trap;
    uint16_t issuer_lid;
    uint8_t toggle;
    uint16_t count;
    uint16_t lid;             /* of the node that it is about */
    uint32_t capability_mask; /* of trap 144 */
};

struct wire_ib_arbitration_row {
    uint8_t vl, weight;
};

void wire_ib_node_info_encode(const struct wire_ib_node_info *info, unsigned char *to);
void wire_ib_node_info_decode(const unsigned char *from, struct wire_ib_node_info *info);
void wire_ib_switch_info_encode(const struct wire_ib_switch_info *info, unsigned char *to);
void wire_ib_switch_info_decode(const unsigned char *from, struct wire_ib_switch_info *info);
void wire_ib_port_info_encode(const struct wire_ib_port_info *info, unsigned char *to);
void wire_ib_port_info_decode(const unsigned char *from, struct wire_ib_port_info *info);
void wire_ib_sm_info_encode(const struct wire_ib_sm_info *info, unsigned char *to);
void wire_ib_sm_info_decode(const unsigned char *from, struct wire_ib_sm_info *info);
void wire_ib_notice_encode(const struct wire_ib_notice *notice, unsigned char *to);
void wire_ib_notice_decode(const unsigned char *from, struct wire_ib_notice *notice);

/* NodeDescription is text without an end, filled up with 0. A longer one is cut. */
void wire_ib_description_encode(const char *text, unsigned char *to);
void wire_ib_description_decode(const unsigned char *from,
                                char text[WIRE_IB_NODE_DESCRIPTION_BYTES + 1]);

/* One block of a table. A linear block is its 64 bytes. */
void wire_ib_guids_encode(const uint64_t guids[WIRE_IB_GUID_BLOCK], unsigned char *to);
void wire_ib_guids_decode(const unsigned char *from, uint64_t guids[WIRE_IB_GUID_BLOCK]);
/* Partition keys, or masks of 16 ports for 32 multicast LIDs. */
void wire_ib_words_encode(const uint16_t words[WIRE_IB_PKEY_BLOCK], unsigned char *to);
void wire_ib_words_decode(const unsigned char *from, uint16_t words[WIRE_IB_PKEY_BLOCK]);
void wire_ib_sl_to_vl_encode(const uint8_t vls[WIRE_IB_SL_COUNT], unsigned char *to);
void wire_ib_sl_to_vl_decode(const unsigned char *from, uint8_t vls[WIRE_IB_SL_COUNT]);
void wire_ib_arbitration_encode(
    const struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK], unsigned char *to);
void wire_ib_arbitration_decode(const unsigned char *from,
                                struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK]);

/* Codes: 256 .. 4,096 bytes are 1 .. 5; 1, 2, 4, 8 and 15 lanes are 1 .. 5; 1X, 4X, 12X are bits.
 * 0: there is none. */
uint8_t wire_ib_mtu_code(uint32_t bytes);
uint32_t wire_ib_mtu_bytes(uint8_t code);
uint8_t wire_ib_vls_code(uint32_t vls);
uint32_t wire_ib_vls(uint8_t code);
uint8_t wire_ib_width_code(uint32_t width);

#endif
