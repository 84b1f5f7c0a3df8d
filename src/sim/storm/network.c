/* The network's packets and faults. */
#include "sim/storm/network.h"

#include <stdlib.h>
#include <string.h>

#include "sim/storm/trace.h"
#include "sim/storm/traffic.h"
#include "sim/storm/world.h"

enum { MILLION = 1000000 };

struct storm_network *storm_network_new(void)
{
    struct storm_network *network = calloc(1, sizeof *network);
    INVARIANT(network);
    sim_slots_init(&network->packets, sizeof(struct sim_packet));
    return network;
}

void storm_network_free(struct storm_network *network)
{
    sim_slots_free(&network->packets);
    free(network);
}

void storm_network_begin(struct storm_world *world)
{
    struct storm_network *network = world->network;
    INVARIANT(world->plan.board.swif.packet_bytes_max + STORM_EXTENSION_BYTES <=
              SIM_PACKET_BYTES_MAX);
    sim_slots_clear(&network->packets);
    network->record_count = 0;
    memset(network->in_burst, 0, sizeof network->in_burst);
    memset(network->partitions, 0, sizeof network->partitions);
    memset(network->width_bytes, 0, sizeof network->width_bytes);
    memset(network->replayers, 0, sizeof network->replayers);
}

static void copy_packet(struct sim_packet *to, const struct sim_packet *from)
{
    to->source = from->source;
    to->target = from->target;
    to->bytes = from->bytes;
    memcpy(to->data, from->data, from->bytes);
}

static void trace(struct storm_world *world, enum storm_step step, const struct sim_packet *packet)
{
    storm_trace_packet(world, step, packet->source, packet->target, packet->data, packet->bytes);
}

/* ---- Faults of single packets -------------------------------------------------------- */

static bool happens(struct storm_world *world, uint32_t ppm)
{
    return ppm > 0 && world->faults_on && base_random_below(&world->random, MILLION) < ppm;
}

/* Draws a time from one unit to `most`, each doubling as likely as the next. */
static uint64_t far(struct storm_world *world, uint64_t unit_ns, uint64_t most_ns)
{
    unsigned doublings = 0;
    while (unit_ns << (doublings + 1) <= most_ns) {
        doublings++;
    }
    uint64_t from = unit_ns << base_random_below(&world->random, doublings + 1);
    return from + base_random_below(&world->random, from);
}

static void change(struct storm_world *world, struct sim_packet *packet)
{
    struct base_random *random = &world->random;
    uint64_t kind = base_random_below(random, 8);
    if (kind == 0 && packet->bytes > 0) {
        packet->bytes = (uint32_t)base_random_below(random, packet->bytes);
        return;
    }
    if (kind == 1) {
        uint32_t more = 1 + (uint32_t)base_random_below(random, STORM_EXTENSION_BYTES);
        for (uint32_t i = 0; i < more && packet->bytes < SIM_PACKET_BYTES_MAX; i++) {
            packet->data[packet->bytes++] = (unsigned char)base_random_next(random);
        }
        return;
    }
    /* Half of the flips hit the first bytes, where every bit means something. */
    uint64_t flips = 1 + base_random_below(random, 4);
    for (uint64_t i = 0; i < flips && packet->bytes > 0; i++) {
        uint32_t span = packet->bytes;
        if (base_random_below(random, 2) == 0 && span > WIRE_PREFIX_BYTES) {
            span = WIRE_PREFIX_BYTES;
        }
        packet->data[base_random_below(random, span)] ^= (unsigned char)(1u << i % 8);
    }
}

/* Sends one copy of a packet off at the given time; it arrives unless the node is dead by then. */
static void fly(struct storm_world *world, const struct sim_packet *packet, uint64_t from_ns)
{
    const struct storm_plan *plan = &world->plan;
    uint64_t at_ns = from_ns + plan->latency_ns;
    uint32_t slot;
    struct sim_packet *copy = sim_slots_take(&world->network->packets, &slot);
    copy_packet(copy, packet);
    if (happens(world, plan->reorder_ppm)) {
        world->result.fault_counts[STORM_REORDER]++;
        at_ns += 1 + base_random_below(&world->random, 8 * plan->latency_ns);
        trace(world, STORM_STEP_OVERTAKEN, copy);
    }
    if (happens(world, plan->delay_ppm)) {
        world->result.fault_counts[STORM_DELAY]++;
        at_ns += far(world, 4 * plan->latency_ns, plan->board.swif.peer_timeout_ns);
        trace(world, STORM_STEP_DELAYED, copy);
    }
    if (happens(world, plan->corrupt_ppm)) {
        world->result.fault_counts[STORM_CORRUPT]++;
        trace(world, STORM_STEP_CORRUPTED, copy);
        change(world, copy);
    }
    sim_events_put(&world->events, at_ns, STORM_ARRIVAL, copy->target, slot);
}

/* A node is never cut off from itself. */
static bool is_cut_off(const struct storm_world *world, uint16_t source, uint16_t target)
{
    for (unsigned i = 0; i < STORM_PARTITIONS; i++) {
        const struct storm_partition *partition = &world->network->partitions[i];
        if (source != target && world->now_ns < partition->until_ns &&
            (partition->from >> source & 1) && (partition->to >> target & 1)) {
            return true;
        }
    }
    return false;
}

/* The Gilbert-Elliott model: in a burst four of five packets are lost. */
static bool is_lost_in_burst(struct storm_world *world, uint16_t source, uint16_t target)
{
    uint64_t *bursts = &world->network->in_burst[source];
    uint64_t bit = UINT64_C(1) << target;
    if (!(*bursts & bit)) {
        *bursts |= happens(world, world->plan.burst_ppm) ? bit : 0;
    } else if (base_random_below(&world->random, world->plan.burst_length) == 0) {
        *bursts &= ~bit;
    }
    return (*bursts & bit) && base_random_below(&world->random, 5) != 0;
}

static bool is_too_long(const struct storm_world *world, const struct sim_packet *packet)
{
    uint32_t width_bytes = world->network->width_bytes[packet->source][packet->target];
    return width_bytes != 0 && packet->bytes > width_bytes;
}

/* What becomes of the packet; SENT: it passes. */
static enum storm_step fate(struct storm_world *world, const struct sim_packet *packet)
{
    if (is_too_long(world, packet)) {
        return STORM_STEP_TOO_LONG;
    }
    if (!world->faults_on) {
        return STORM_STEP_SENT;
    }
    if (is_cut_off(world, packet->source, packet->target)) {
        return STORM_STEP_CUT_OFF;
    }
    if (is_lost_in_burst(world, packet->source, packet->target)) {
        world->result.fault_counts[STORM_BURST]++;
        return STORM_STEP_LOST_IN_BURST;
    }
    if (happens(world, world->plan.loss_ppm)) {
        world->result.fault_counts[STORM_LOSS]++;
        return STORM_STEP_LOST;
    }
    return STORM_STEP_SENT;
}

/* ---- Replays ------------------------------------------------------------------------- */

/* Whether an acknowledgement aboard says that there was no room: whoever believes it again waits
 * again. */
static bool is_refusal(const struct sim_packet *packet)
{
    struct wire_header header;
    struct wire_ack ack;
    uint32_t at = 0;
    bool refused = false;
    if (!wire_header_decode(packet->data, packet->bytes, &header)) {
        return false;
    }
    while (wire_ack_decode(packet->data + WIRE_PREFIX_BYTES, header.ack_bytes, &at, &ack)) {
        refused = refused || ack.refused;
    }
    return refused;
}

/* Somebody has recorded the packet, and may begin to repeat it: for longer than a sender has
 * patience with a peer that takes nothing. */
static void record_for_replay(struct storm_world *world, const struct sim_packet *packet)
{
    const struct swif_config *swif = &world->plan.board.swif;
    if (!world->plan.fault[STORM_REPLAY] || !world->faults_on ||
        (!is_refusal(packet) && !happens(world, world->plan.replay_ppm))) {
        return;
    }
    for (uint32_t i = 0; i < STORM_REPLAYERS; i++) {
        struct storm_replayer *replayer = &world->network->replayers[i];
        if (replayer->until_ns <= world->now_ns) {
            copy_packet(&replayer->packet, packet);
            replayer->gap_ns = swif->rto_min_ns / 8;
            replayer->until_ns = world->now_ns + 10 * swif->peer_timeout_ns;
            sim_events_put(&world->events, world->now_ns + replayer->gap_ns, STORM_REPEAT, i, 0);
            return;
        }
    }
}

void storm_network_repeat(struct storm_world *world, uint32_t number)
{
    struct storm_replayer *replayer = &world->network->replayers[number];
    const struct swif_config *swif = &world->plan.board.swif;
    bool is_over = !world->faults_on && storm_traffic_is_done(world->traffic);
    if (world->now_ns >= replayer->until_ns || is_over) {
        replayer->until_ns = 0;
        return;
    }
    world->result.fault_counts[STORM_REPLAY]++;
    trace(world, STORM_STEP_REPLAYED, &replayer->packet);
    fly(world, &replayer->packet, world->now_ns);
    uint64_t longest_ns = swif->rto_max_ns / 4;
    replayer->gap_ns = replayer->gap_ns * 5 / 4 < longest_ns ? replayer->gap_ns * 5 / 4
                                                             : longest_ns;
    sim_events_put(&world->events, world->now_ns + replayer->gap_ns, STORM_REPEAT, number, 0);
}

/* ---- Sending ------------------------------------------------------------------------- */

/* Gives when the packet has left the node; false: there is no room for it on the link. */
static bool pass_link(struct storm_world *world, struct storm_node *node, uint32_t bytes,
                      uint64_t *left_ns)
{
    const struct storm_plan *plan = &world->plan;
    uint64_t start_ns = node->link_free_ns > world->now_ns ? node->link_free_ns : world->now_ns;
    uint64_t waiting_bytes = (start_ns - world->now_ns) * plan->link_bits_per_s / 8000000000;
    if (waiting_bytes + bytes > plan->link_queue_bytes) {
        return false;
    }
    node->link_free_ns = start_ns + bytes * UINT64_C(8000000000) / plan->link_bits_per_s;
    *left_ns = node->link_free_ns;
    return true;
}

void storm_network_send(struct storm_world *world, struct storm_node *node, uint16_t target,
                        const unsigned char *packet, uint32_t bytes)
{
    struct storm_network *network = world->network;
    INVARIANT(target < world->node_count && bytes <= world->plan.board.swif.packet_bytes_max);
    struct sim_packet *record = &network->records[network->record_count % STORM_RECORDS];
    record->source = node->number;
    record->target = target;
    record->bytes = bytes;
    memcpy(record->data, packet, bytes);
    trace(world, STORM_STEP_SENT, record);
    uint64_t left_ns;
    if (!pass_link(world, node, bytes, &left_ns)) {
        world->result.fault_counts[STORM_FULL]++;
        trace(world, STORM_STEP_LINK_FULL, record);
        return;
    }
    enum storm_step step = fate(world, record);
    if (step != STORM_STEP_SENT) {
        trace(world, step, record);
    } else {
        fly(world, record, left_ns);
    }
    if (step != STORM_STEP_TOO_LONG && happens(world, world->plan.duplicate_ppm)) {
        const struct storm_plan *plan = &world->plan;
        uint64_t most_ns = base_random_below(&world->random, 4) == 0
                               ? 2 * plan->board.swif.peer_timeout_ns
                               : 4 * plan->latency_ns;
        world->result.fault_counts[STORM_DUPLICATE]++;
        trace(world, STORM_STEP_DUPLICATED, record);
        fly(world, record, left_ns + far(world, plan->latency_ns / 4 + 1, most_ns));
    }
    record_for_replay(world, record);
    /* Records some packets only, so that older ones stay. */
    network->record_count += base_random_below(&world->random, 4) == 0;
}

/* ---- Faults over time ------------------------------------------------------------------ */

void storm_network_cut(struct storm_world *world, uint64_t from, uint64_t to, uint64_t until_ns)
{
    struct storm_partition *oldest = &world->network->partitions[0];
    for (unsigned i = 1; i < STORM_PARTITIONS; i++) {
        if (world->network->partitions[i].until_ns < oldest->until_ns) {
            oldest = &world->network->partitions[i];
        }
    }
    *oldest = (struct storm_partition){from, to, until_ns};
}

void storm_network_heal(struct storm_world *world)
{
    memset(world->network->partitions, 0, sizeof world->network->partitions);
    memset(world->network->in_burst, 0, sizeof world->network->in_burst);
}

/* Chooses a packet that was recorded in this run; false: there is none. */
static bool choose_record(struct storm_world *world, struct sim_packet *packet)
{
    const struct storm_network *network = world->network;
    uint32_t count = network->record_count < STORM_RECORDS ? network->record_count : STORM_RECORDS;
    if (count == 0) {
        return false;
    }
    const struct sim_packet *record = &network->records[base_random_below(&world->random, count)];
    copy_packet(packet, record);
    return true;
}

void storm_network_haunt(struct storm_world *world, const struct storm_node *node)
{
    struct sim_packet packet;
    if (!world->plan.fault[STORM_DUPLICATE]) {
        return;
    }
    for (unsigned i = 0; i < 6 && choose_record(world, &packet); i++) {
        if (packet.source != node->number && packet.target != node->number) {
            continue;
        }
        uint64_t from_ns = world->now_ns + far(world, world->plan.latency_ns / 4 + 1,
                                               world->plan.board.swif.peer_timeout_ns);
        world->result.fault_counts[STORM_DUPLICATE]++;
        trace(world, STORM_STEP_REPLAYED, &packet);
        fly(world, &packet, from_ns);
    }
}

/* Bytes that mean nothing. */
static void make_noise(struct storm_world *world, struct sim_packet *packet)
{
    struct base_random *random = &world->random;
    packet->source = (uint16_t)base_random_below(random, world->node_count);
    packet->target = (uint16_t)base_random_below(random, world->node_count);
    packet->bytes = (uint32_t)base_random_below(random,
                                                world->plan.board.swif.packet_bytes_max + 1);
    for (uint32_t i = 0; i < packet->bytes; i++) {
        packet->data[i] = (unsigned char)base_random_next(random);
    }
}

/* Makes a packet as another group would send it, with numbers near those that are awaited here. */
static void make_stranger(struct storm_world *world, struct sim_packet *packet,
                          struct wire_header *header)
{
    struct base_random *random = &world->random;
    header->pgid++;
    header->sequence += header->kind == WIRE_CD ? (uint32_t)base_random_below(random, 4) : 0;
    header->counter += base_random_below(random, 64);
    wire_header_encode(header, packet->data);
    storm_guard_seal(&world->network->guard, header, packet->data, packet->bytes);
}

/* Changes a packet as a forger would who has no key, or another group's key. */
static void imitate(struct storm_world *world, struct sim_packet *packet)
{
    struct base_random *random = &world->random;
    struct wire_header header;
    if (!wire_header_decode(packet->data, packet->bytes, &header)) {
        make_noise(world, packet);
        return;
    }
    switch (base_random_below(random, 7)) {
    case 0: make_noise(world, packet); return;
    case 1: make_stranger(world, packet, &header); return;
    case 2: /* another group's packet under this group's name */
        make_stranger(world, packet, &header);
        header.pgid--;
        break;
    case 3: /* an old packet that comes to another node */
        packet->target = (uint16_t)base_random_below(random, world->node_count);
        return;
    case 4: /* and is addressed to that node */
        header.target = (uint16_t)base_random_below(random, world->node_count);
        packet->target = header.target;
        break;
    case 5: /* as if it were new */
        header.sequence += header.kind == WIRE_CD ? 1 + (uint32_t)base_random_below(random, 4) : 0;
        header.counter += 1 + base_random_below(random, 64);
        break;
    default: /* of a life that never was */
        header.source_incarnation += 1 + (uint32_t)base_random_below(random, 4);
        break;
    }
    wire_header_encode(&header, packet->data);
}

void storm_network_forge(struct storm_world *world)
{
    struct sim_packet packet;
    if (choose_record(world, &packet)) {
        imitate(world, &packet);
    } else {
        make_noise(world, &packet);
    }
    world->result.fault_counts[STORM_STRANGER]++;
    trace(world, STORM_STEP_FORGED, &packet);
    fly(world, &packet, world->now_ns);
}
