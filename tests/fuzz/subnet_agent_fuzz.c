/* Any datagrams to the agents of a small subnet, and deaths between them. Whatever they ask,
 * registers stay such as the rest of the simulator may rely on, and an answer is an answer.
 *
 * A step of the input: what to do, where from, a DLID of 2 bytes, then 48 bytes of the datagram:
 * its first 40 without the TID, and 16 of its data; path and data's rest follow from them. */
#include "fuzz.h"
#include "sim/subnet/agent.h"

enum { BOARDS = 3, STEP_BYTES = 52 };

static struct topology topology;

static void build(void)
{
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 4, 4, 0x100, "one");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 20, 12, 0x200, "two");
    for (uint32_t i = 0; i < BOARDS; i++) {
        (void)topology_add(&topology, TOPOLOGY_BOARD, 1 + i % 2, i == 2 ? 12 : 4, 0x1000 * (i + 1),
                           "board");
    }
    topology_join(&topology, 0, 1, 2, 1);
    topology_join(&topology, 0, 2, 3, 1);
    topology_join(&topology, 0, 3, 3, 2);
    topology_join(&topology, 1, 17, 4, 1);
}

static void check(const struct subnet *subnet)
{
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        const struct subnet_port *port = &subnet->ports[i];
        bool has_link = port->peer != SUBNET_NONE && !port->is_cut;
        FUZZ_ASSERT(port->state >= SUBNET_DOWN && port->state <= SUBNET_ACTIVE);
        FUZZ_ASSERT(port->number == 0 || has_link || port->state == SUBNET_DOWN);
        FUZZ_ASSERT(port->oper_vls >= 1 && port->oper_vls <= subnet->config.data_vls);
        FUZZ_ASSERT(port->mtu >= 256 && port->mtu <= subnet->config.mtu);
        FUZZ_ASSERT(port->lid < SUBNET_LIDS && port->lmc <= 7 && port->sm_lid < SUBNET_LIDS);
        FUZZ_ASSERT(port->lid == 0 || subnet->lid_owner[port->lid] == i);
    }
    for (uint32_t n = 0; n < subnet->node_count; n++) {
        const struct subnet_node *node = &subnet->nodes[n];
        for (uint32_t i = 0; node->linear && i < subnet->config.linear_entries; i++) {
            FUZZ_ASSERT(node->linear[i] <= node->port_count || node->linear[i] == SUBNET_NO_PORT);
        }
        FUZZ_ASSERT(node->linear_top < subnet->config.linear_entries);
    }
}

static void try_datagram(struct agent *agent, uint32_t from, uint16_t dlid, const uint8_t *step)
{
    unsigned char *mad = fuzz_copy(step, WIRE_MAD_BYTES);
    struct wire_mad before;
    struct wire_mad after;
    uint32_t at = SUBNET_NONE;
    wire_mad_decode(mad, &before);
    enum agent_result result = agent_send(agent, from, dlid, mad, &at);
    wire_mad_decode(mad, &after);
    FUZZ_ASSERT(result == AGENT_LOST || at < agent_subnet(agent)->port_count);
    if (result == AGENT_ANSWERED) {
        FUZZ_ASSERT((after.method & WIRE_MAD_RESPONSE) && !(before.method & WIRE_MAD_RESPONSE));
        FUZZ_ASSERT(after.tid == before.tid && after.attribute == before.attribute);
        FUZZ_ASSERT(after.class == before.class && after.modifier == before.modifier);
    }
    free(mad);
}

static void take_step(struct agent *agent, const uint8_t *step)
{
    struct subnet *subnet = agent_subnet(agent);
    unsigned char mad[WIRE_MAD_BYTES] = {0};
    uint32_t node = 2 + step[1] % BOARDS;
    uint32_t from = subnet_port_index(subnet, node, 1);
    uint32_t to;
    memcpy(mad, step + 4, 8);
    memcpy(mad + 16, step + 12, 24);
    memcpy(mad + WIRE_MAD_AT_DATA + step[0] % 49, step + 36, 16);
    for (uint32_t i = 0; i < 8; i++) {
        mad[WIRE_MAD_AT_PATH + 1 + i] = step[44 + i] % 22;
    }
    switch (step[0] >> 5) {
    case 0: subnet_cable_set(subnet, from, step[2] & 1); break;
    case 1: subnet_node_set(subnet, step[2] % subnet->node_count, step[3] & 1); break;
    case 2: agent_sm_set(agent, from, step[2] & 1, NULL); break;
    default: try_datagram(agent, from, (uint16_t)(step[2] << 8 | step[3]), mad); break;
    }
    if (step[0] >> 5 < 2) {
        agent_changed(agent);
    }
    for (uint32_t i = 0; i < 100 && agent_trap_next(agent, &from, &to, mad); i++) {
        FUZZ_ASSERT(agent_is_sm(agent, to));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct subnet_config config;
    if (topology.node_count == 0) {
        build();
    }
    subnet_config_default(&config);
    config.linear_entries = 200;
    struct subnet *subnet = subnet_open(&topology, &config);
    struct agent *agent = agent_open(subnet);
    for (size_t at = 0; at + STEP_BYTES <= bytes; at += STEP_BYTES) {
        take_step(agent, data + at);
        check(subnet);
    }
    agent_close(agent);
    subnet_close(subnet);
    return 0;
}
