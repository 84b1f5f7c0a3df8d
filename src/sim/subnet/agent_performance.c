/* The agent for performance management: a port's counters, read and set. Counters of both widths
 * are one register in these devices, so setting one sets the other. */
#include <string.h>

#include "sim/subnet/agent_state.h"
#include "wire/ib_performance.h"

enum { RESPONSE_TIME = 16 };

/* A counter of subnet_counters, its bit in CounterSelect, and where its value is. */
struct counter_row {
    uint32_t select; /* CounterSelect2 begins at bit 16 */
    size_t place;    /* in struct subnet_counters */
    size_t narrow;   /* in struct wire_ib_port_counters */
};

#define ROW(bit, counter)                                                    \
    {                                                                        \
        .select = (bit), .place = offsetof(struct subnet_counters, counter), \
        .narrow = offsetof(struct wire_ib_port_counters, counter)            \
    }

static const struct counter_row rows[] = {
    ROW(WIRE_IB_COUNT_SYMBOL_ERRORS, symbol_errors),
    ROW(WIRE_IB_COUNT_LINK_DOWNED, link_downed),
    ROW(WIRE_IB_COUNT_RCV_ERRORS, rcv_errors),
    ROW(WIRE_IB_COUNT_XMIT_DISCARDS, xmit_discards),
    ROW(WIRE_IB_COUNT_VL15_DROPPED, vl15_dropped),
    ROW(WIRE_IB_COUNT_XMIT_WORDS, xmit_words),
    ROW(WIRE_IB_COUNT_RCV_WORDS, rcv_words),
    ROW(WIRE_IB_COUNT_XMIT_PACKETS, xmit_packets),
    ROW(WIRE_IB_COUNT_RCV_PACKETS, rcv_packets),
    ROW((uint32_t)WIRE_IB_COUNT2_XMIT_WAIT << 16, xmit_wait),
};

#undef ROW

enum { ROWS = sizeof rows / sizeof rows[0] };

static uint64_t *counter_at(void *counters, size_t place)
{
    return (uint64_t *)(void *)((unsigned char *)counters + place);
}

/* The ports that a PortSelect names, as numbers. False: the node has none such. */
static bool ports_selected(const struct agent *agent, const struct agent_request *request,
                           uint8_t select, uint32_t *first, uint32_t *last)
{
    uint32_t least = subnet_is_switch(agent->subnet, request->node) ? 0 : 1;
    uint32_t most = agent->subnet->nodes[request->node].port_count;
    *first = select == WIRE_IB_ALL_PORTS ? least : select;
    *last = select == WIRE_IB_ALL_PORTS ? most : select;
    return *first >= least && *last <= most;
}

static uint16_t answer_class_port_info(struct agent_request *request)
{
    if (request->header.method == WIRE_MAD_SET) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    const struct wire_ib_class_port_info info = {
        .base_version = WIRE_MAD_BASE_VERSION,
        .class_version = WIRE_MAD_CLASS_VERSION,
        .capability_mask = WIRE_IB_CAN_SELECT_ALL_PORTS | WIRE_IB_CAN_COUNT_WIDELY |
                           WIRE_IB_CAN_COUNT_WAIT,
        .response_time = RESPONSE_TIME,
    };
    wire_ib_class_port_info_encode(&info, request->data);
    return WIRE_MAD_GOOD;
}

static uint16_t answer_counters(struct agent *agent, struct agent_request *request)
{
    struct wire_ib_port_counters asked;
    uint32_t first;
    uint32_t last;
    wire_ib_port_counters_decode(request->data, &asked);
    if (!ports_selected(agent, request, asked.port, &first, &last)) {
        return WIRE_MAD_BAD_FIELD;
    }
    struct wire_ib_port_counters shown = {
        .port = asked.port, .select = asked.select, .select2 = asked.select2};
    uint32_t select = asked.select | (uint32_t)asked.select2 << 16;
    for (uint32_t number = first; number <= last; number++) {
        uint32_t port = subnet_port_index(agent->subnet, request->node, number);
        struct subnet_counters *counters = &agent->subnet->ports[port].counters;
        for (uint32_t i = 0; i < ROWS; i++) {
            uint64_t *counter = counter_at(counters, rows[i].place);
            if (request->header.method == WIRE_MAD_SET && (select & rows[i].select)) {
                *counter = *counter_at(&asked, rows[i].narrow);
            }
            *counter_at(&shown, rows[i].narrow) += *counter;
        }
        if (request->header.method == WIRE_MAD_SET && (select & WIRE_IB_COUNT_LINK_DOWNED)) {
            /* agent_changed finds links that went down by this count. */
            agent->ports[port].downed_before = counters->link_downed;
        }
    }
    wire_ib_port_counters_encode(&shown, request->data);
    return WIRE_MAD_GOOD;
}

static void set_wide(struct subnet_counters *counters,
                     const struct wire_ib_port_counters_extended *asked)
{
    const struct {
        uint32_t select;
        uint64_t *counter;
        uint64_t value;
    } wide[] = {
        {WIRE_IB_WIDE_XMIT_WORDS, &counters->xmit_words, asked->xmit_words},
        {WIRE_IB_WIDE_RCV_WORDS, &counters->rcv_words, asked->rcv_words},
        {WIRE_IB_WIDE_XMIT_PACKETS, &counters->xmit_packets, asked->xmit_packets},
        {WIRE_IB_WIDE_RCV_PACKETS, &counters->rcv_packets, asked->rcv_packets},
        {WIRE_IB_WIDE_MULTICAST_XMIT, &counters->multicast_xmit_packets, asked->multicast_xmit},
        {WIRE_IB_WIDE_MULTICAST_RCV, &counters->multicast_rcv_packets, asked->multicast_rcv},
    };
    for (uint32_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        if (asked->select & wide[i].select) {
            *wide[i].counter = wide[i].value;
        }
    }
}

static uint64_t unicast(uint64_t all, uint64_t multicast)
{
    return all > multicast ? all - multicast : 0;
}

static uint16_t answer_counters_extended(struct agent *agent, struct agent_request *request)
{
    struct wire_ib_port_counters_extended asked;
    uint32_t first;
    uint32_t last;
    wire_ib_port_counters_extended_decode(request->data, &asked);
    if (!ports_selected(agent, request, asked.port, &first, &last)) {
        return WIRE_MAD_BAD_FIELD;
    }
    struct wire_ib_port_counters_extended shown = {.port = asked.port, .select = asked.select};
    for (uint32_t number = first; number <= last; number++) {
        uint32_t port = subnet_port_index(agent->subnet, request->node, number);
        struct subnet_counters *of = &agent->subnet->ports[port].counters;
        if (request->header.method == WIRE_MAD_SET) {
            set_wide(of, &asked);
        }
        shown.xmit_words += of->xmit_words;
        shown.rcv_words += of->rcv_words;
        shown.xmit_packets += of->xmit_packets;
        shown.rcv_packets += of->rcv_packets;
        shown.multicast_xmit += of->multicast_xmit_packets;
        shown.multicast_rcv += of->multicast_rcv_packets;
    }
    shown.unicast_xmit = unicast(shown.xmit_packets, shown.multicast_xmit);
    shown.unicast_rcv = unicast(shown.rcv_packets, shown.multicast_rcv);
    wire_ib_port_counters_extended_encode(&shown, request->data);
    return WIRE_MAD_GOOD;
}

uint16_t agent_performance_answer(struct agent *agent, struct agent_request *request)
{
    switch (request->header.attribute) {
    case WIRE_MAD_CLASS_PORT_INFO: return answer_class_port_info(request);
    case WIRE_MAD_PORT_COUNTERS: return answer_counters(agent, request);
    case WIRE_MAD_PORT_COUNTERS_EXTENDED: return answer_counters_extended(agent, request);
    default: return WIRE_MAD_BAD_ATTRIBUTE;
    }
}
