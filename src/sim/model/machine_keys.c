/* The slots' table, and their values as text. */
#include "sim/model/machine_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size_text.h"
#include "nic/engine.h"
#include "sim/model/machine_file.h"
#include "wire/line.h"

/* ---- The table ---------------------------------------------------------------------------- */

const char *const sim_stage_names[SIM_STAGES] = {
#define STAGE_NAME(upper, lower, text) #lower,
    SIM_STAGES_LIST(STAGE_NAME)
#undef STAGE_NAME
};

const char *const sim_stage_texts[SIM_STAGES] = {
#define STAGE_TEXT(upper, lower, text) text,
    SIM_STAGES_LIST(STAGE_TEXT)
#undef STAGE_TEXT
};

static const char *const stage_sections[SIM_STAGES] = {
#define STAGE_SECTION(upper, lower, text) "stage " #lower,
    SIM_STAGES_LIST(STAGE_SECTION)
#undef STAGE_SECTION
};

/* The unit that a file adds to a key's name. */
#define UNIT_OF_SIM_KEY_MHZ "_mhz"
#define UNIT_OF_SIM_KEY_NS "_ns"
#define UNIT_OF_SIM_KEY_COUNT ""
#define UNIT_OF_SIM_KEY_MB_PER_S ""
#define UNIT_OF_SIM_KEY_CHOICE ""
#define UNIT_OF_SIM_KEY_CLOCK ""

static const struct sim_slot machine_slots[SIM_MACHINE_KEY_COUNT] = {
#define MACHINE_SLOT(section, key, kind, optional, help)      \
    {#section, #key UNIT_OF_##kind,                           \
     kind,     optional,                                      \
     help,     offsetof(struct sim_machine, section##_##key), \
     NULL,     0},
    SIM_MACHINE_KEYS(MACHINE_SLOT)
#undef MACHINE_SLOT
};

static const struct sim_slot stage_slots[SIM_STAGE_KEY_COUNT] = {
#define STAGE_SLOT(key, kind, optional, help) \
    {"stage", #key UNIT_OF_##kind, kind, optional, help, offsetof(struct sim_stage, key), NULL, 0},
    SIM_STAGE_KEYS(STAGE_SLOT)
#undef STAGE_SLOT
};

static const char *const clock_words[SIM_CLOCKS] = {
    [SIM_CLOCK_DIMM] = "dimm", [SIM_CLOCK_SWIF] = "swif", [SIM_CLOCK_CORE] = "core",
    [SIM_CLOCK_NIC] = "nic",   [SIM_CLOCK_TP] = "tp",     [SIM_CLOCK_DL] = "dl",
    [SIM_CLOCK_MAC] = "mac",
};
static const char *const refill_words[] = {[SIM_REFILL_HOST] = "host", [SIM_REFILL_CORE] = "core"};
static const char *const carrier_words[] = {
    [SIM_CARRIER_PLAIN] = "plain", [SIM_CARRIER_UD] = "ud", [SIM_CARRIER_CD] = "cd"};
static const char *const arq_words[] = {[SIM_ARQ_GO_BACK_N] = "go-back-n",
                                        [SIM_ARQ_SELECTIVE_REPEAT] = "selective-repeat",
                                        [SIM_ARQ_STOP_AND_WAIT] = "stop-and-wait"};
static const char *const port_words[] = {[SIM_PORT_SW2] = "sw2", [SIM_PORT_OIP] = "oip"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The words of the keys that are choices. */
static const struct {
    enum sim_machine_key key;
    const char *const *words;
    unsigned count;
} choices[] = {
    {SIM_tlb_refill, refill_words, COUNT_OF(refill_words)},
    {SIM_carrier_kind, carrier_words, COUNT_OF(carrier_words)},
    {SIM_carrier_arq, arq_words, COUNT_OF(arq_words)},
    {SIM_port_mode, port_words, COUNT_OF(port_words)},
};

struct sim_slot sim_slot_get(unsigned number)
{
    INVARIANT(number < SIM_SLOTS);
    struct sim_slot slot;
    if (number < SIM_MACHINE_KEY_COUNT) {
        slot = machine_slots[number];
        for (unsigned i = 0; i < COUNT_OF(choices); i++) {
            if (choices[i].key == number) {
                slot.words = choices[i].words;
                slot.word_count = choices[i].count;
            }
        }
    } else {
        unsigned stage = (number - SIM_MACHINE_KEY_COUNT) / SIM_STAGE_KEY_COUNT;
        slot = stage_slots[(number - SIM_MACHINE_KEY_COUNT) % SIM_STAGE_KEY_COUNT];
        slot.section = stage_sections[stage];
        slot.offset += offsetof(struct sim_machine, stages) + stage * sizeof(struct sim_stage);
        slot.words = clock_words;
        slot.word_count = SIM_CLOCKS;
    }
    return slot;
}

bool sim_slot_is_said(unsigned number)
{
    return !(number >= sim_stage_slot(SIM_STAGE_LINK, 0) &&
             number < sim_stage_slot(SIM_STAGE_LINK + 1, 0)) &&
           !(number >= sim_stage_slot(SIM_STAGE_PADDING, 0) &&
             number < sim_stage_slot(SIM_STAGE_PADDING + 1, 0));
}

unsigned sim_slot_find(const char *section, const char *key)
{
    for (unsigned i = 0; i < SIM_SLOTS; i++) {
        struct sim_slot slot = sim_slot_get(i);
        if (sim_slot_is_said(i) && strcmp(slot.section, section) == 0 &&
            (!key || strcmp(slot.key, key) == 0)) {
            return i;
        }
    }
    return SIM_SLOTS;
}

uint64_t *sim_slot_field(struct sim_machine *machine, unsigned number)
{
    return (uint64_t *)(void *)((char *)machine + sim_slot_get(number).offset);
}

uint64_t sim_slot_value(const struct sim_machine *machine, unsigned number)
{
    uint64_t value;
    memcpy(&value, (const char *)machine + sim_slot_get(number).offset, sizeof value);
    return value;
}

/* ---- Text to value --------------------------------------------------------------------- */

/* Decimals are kept as whole billionths, so that no rounding depends on the machine or its
 * locale, and a file's value is kept exactly. */
#define ONE UINT64_C(1000000000)
enum { DECIMALS_MAX = 9 };

/* Limits that keep every product of a time and a count inside 64 bits. */
#define DECIMAL_MAX (UINT64_C(1000000000) * ONE)
#define PERIOD_PS_MAX UINT64_C(1000000000) /* 1 kHz */
#define PERIOD_PS_MIN UINT64_C(10)         /* 100 GHz */
#define CYCLES_MAX UINT64_C(1000000)
#define COUNT_MAX (UINT64_C(1) << 20)
#define SEND_BUFFERS_MAX (UINT64_C(1) << 16)
#define BYTES_PER_S_MIN UINT64_C(1000)
#define LLCM_BYTES_MIN UINT64_C(4096)        /* a page that remote nodes map */
#define MEMORY_BYTES_MAX (UINT64_C(1) << 30) /* the largest of the papers' SO-DIMMs */

/* Counts with limits of their own. */
static const struct {
    enum sim_machine_key key;
    uint64_t least, most;
} count_limits[] = {
    {SIM_llcm_bytes, LLCM_BYTES_MIN, MEMORY_BYTES_MAX},
    {SIM_bank_bytes, 0, MEMORY_BYTES_MAX},
    {SIM_fifo_entries, 1, NIC_TRANSACTIONS},
    {SIM_fifo_users, 1, NIC_USERS},
    {SIM_send_buffers, 1, SEND_BUFFERS_MAX},
    {SIM_packet_data_bytes, WIRE_BOTF_BYTES_MAX, WIRE_PACKET_BYTES_MAX / 2},
    {SIM_packet_overhead_bytes, 0, WIRE_PACKET_BYTES_MAX},
    {SIM_packet_ack_bytes, 0, WIRE_PACKET_BYTES_MAX},
    {SIM_packet_pad_bytes, 0, WIRE_PACKET_BYTES_MAX},
    {SIM_carrier_contexts, 0, WIRE_NODES_MAX},
    {SIM_carrier_ways, 0, WIRE_NODES_MAX},
    {SIM_link_loss_ppm, 0, 999999},
    {SIM_switch_ports, 0, WIRE_NODES_MAX},
    {SIM_switch_multicast, 0, 1},
    {SIM_switch_tables, 0, 1},
    {SIM_switch_source_routes, 0, 1},
    {SIM_switch_resend, 0, 1},
    {SIM_switch_infiniband, 0, 1},
    {SIM_port_frame_bits, 0, WIRE_LINE_BITS},
};

static bool fault_is(char *fault, const char *what)
{
    (void)snprintf(fault, SIM_FAULT_BYTES, "%s", what);
    return false;
}

static bool read_decimal(const char *text, uint64_t *billionths, char *fault)
{
    bool negative = *text == '-';
    uint64_t value = 0;
    unsigned digits = 0;
    unsigned decimals = 0;
    bool point = false;
    for (const char *at = text + negative; *at; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9') {
            return fault_is(fault, "is no number");
        }
        if (point && ++decimals > DECIMALS_MAX) {
            return fault_is(fault, "has more than 9 decimals");
        }
        digits++;
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > DECIMAL_MAX) {
            return fault_is(fault, "is too large");
        }
    }
    if (digits == 0) {
        return fault_is(fault, "is no number");
    }
    if (negative && value > 0) {
        return fault_is(fault, "is negative");
    }
    for (; decimals < DECIMALS_MAX; decimals++) {
        value *= 10;
        if (value > DECIMAL_MAX) {
            return fault_is(fault, "is too large");
        }
    }
    *billionths = value;
    return true;
}

static uint64_t divide_rounded(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor >= divisor - divisor / 2);
}

static bool read_clock_rate(const char *text, uint64_t *period_ps, char *fault)
{
    uint64_t billionths;
    if (!read_decimal(text, &billionths, fault)) {
        return false;
    }
    if (billionths == 0) {
        return fault_is(fault, "is not above 0");
    }
    /* 1 MHz is 10^6 ps, so the period is 10^15 over the billionths. */
    *period_ps = divide_rounded(UINT64_C(1000000) * ONE, billionths);
    if (*period_ps < PERIOD_PS_MIN || *period_ps > PERIOD_PS_MAX) {
        return fault_is(fault, "is not between 0.001 and 100000 MHz");
    }
    return true;
}

static bool read_count(unsigned number, const struct sim_slot *slot, const char *text,
                       uint64_t *value, char *fault)
{
    size_t length = strlen(slot->key);
    bool cycles = length >= 6 && strcmp(slot->key + length - 6, "cycles") == 0;
    uint64_t least = 0;
    uint64_t most = cycles ? CYCLES_MAX : COUNT_MAX;
    for (unsigned i = 0; i < sizeof count_limits / sizeof count_limits[0]; i++) {
        if ((unsigned)count_limits[i].key == number) {
            least = count_limits[i].least;
            most = count_limits[i].most;
        }
    }
    if (!base_number_parse(text, most, value) || *value < least) {
        (void)snprintf(fault, SIM_FAULT_BYTES, "is no whole number from %" PRIu64 " to %" PRIu64,
                       least, most);
        return false;
    }
    return true;
}

bool sim_value_read(unsigned number, const char *text, uint64_t *value, char fault[SIM_FAULT_BYTES])
{
    struct sim_slot slot = sim_slot_get(number);
    uint64_t billionths;
    switch (slot.kind) {
    case SIM_KEY_MHZ: return read_clock_rate(text, value, fault);
    case SIM_KEY_NS:
        if (!read_decimal(text, &billionths, fault)) {
            return false;
        }
        *value = divide_rounded(billionths, ONE / 1000);
        /* A polling host reads again and again, so each read must take virtual time. */
        if (*value == 0 && (number == SIM_host_read || number == SIM_host_read8)) {
            return fault_is(fault, "is not above 0");
        }
        return true;
    case SIM_KEY_MB_PER_S:
        if (!read_decimal(text, &billionths, fault)) {
            return false;
        }
        *value = divide_rounded(billionths, ONE / 1000000);
        return *value >= BYTES_PER_S_MIN ||
               fault_is(fault, *value > 0 ? "is below 0.001" : "is not above 0");
    case SIM_KEY_COUNT: return read_count(number, &slot, text, value, fault);
    case SIM_KEY_CHOICE:
    case SIM_KEY_CLOCK:
        return sim_file_word(slot.words, slot.word_count, text, value, fault, SIM_FAULT_BYTES);
    }
    INVARIANT(false);
}

/* ---- Value to text --------------------------------------------------------------------- */

/* Writes as many decimals as are needed, at most `decimals`. */
static void write_decimal(char *text, size_t room, uint64_t value, uint64_t one, unsigned decimals)
{
    int length = snprintf(text, room, "%" PRIu64 ".%0*" PRIu64, value / one, (int)decimals,
                          value % one);
    INVARIANT(length > 0 && (size_t)length < room);
    while (text[length - 1] == '0') {
        length--;
    }
    length -= text[length - 1] == '.';
    text[length] = '\0';
}

void sim_value_write(unsigned number, uint64_t value, char *text, size_t room)
{
    struct sim_slot slot = sim_slot_get(number);
    switch (slot.kind) {
    case SIM_KEY_MHZ:
        /* Four decimals give the same period again for all clocks below 1 GHz. */
        write_decimal(text, room, value ? divide_rounded(UINT64_C(10000000000), value) : 0, 10000,
                      4);
        return;
    case SIM_KEY_NS: write_decimal(text, room, value, 1000, 3); return;
    case SIM_KEY_MB_PER_S: write_decimal(text, room, value, 1000000, 6); return;
    case SIM_KEY_COUNT: (void)snprintf(text, room, "%" PRIu64, value); return;
    case SIM_KEY_CHOICE:
    case SIM_KEY_CLOCK: (void)snprintf(text, room, "%s", slot.words[value]); return;
    }
}
