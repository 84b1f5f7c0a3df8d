/* The network: without faults packets come whole, in order and in time; with a fault, it does what
 * the fault's name says and nothing else. There is no board: the test sends and receives packets by
 * hand. */
#include "unit/unit.h"

#include "sim/storm/network.h"
#include "sim/storm/trace.h"
#include "sim/storm/world.h"
#include "storm_by_hand.h"

enum { PACKETS = 4000, PACKET_BYTES = WIRE_OVERHEAD_BYTES + 72 };

static const uint64_t GAP_NS = 1000;

struct seen {
    uint32_t arrived;
    uint32_t again;     /* second copies */
    uint32_t changed;   /* bytes differ from those sent */
    uint32_t overtaken; /* a younger one came first */
    uint64_t latest_ns; /* the longest way */
};

static struct storm_world *make_world(const char *scenario, uint64_t seed)
{
    struct storm_world *world = storm_world_new();
    assert_non_null(world);
    assert_true(make_plan(&world->plan, scenario, seed, 4));
    world->plan.board.swif.pgid = 99;
    world->node_count = 4;
    world->random.state = seed;
    world->faults_on = true;
    for (uint16_t i = 0; i < 4; i++) {
        world->nodes[i] = (struct storm_node){.world = world, .number = i, .alive = true};
    }
    storm_trace_begin(world, NULL);
    storm_network_begin(world);
    return world;
}

/* An authentic packet whose counter is its number. */
static void make_packet(struct storm_world *world, uint16_t source, uint16_t target,
                        uint32_t number, unsigned char *packet)
{
    struct wire_header header = {
        .kind = WIRE_CD,
        .source = source,
        .target = target,
        .pgid = 99,
        .source_incarnation = 1,
        .target_incarnation = 1,
        .sequence = number,
        .body_bytes = PACKET_BYTES - WIRE_OVERHEAD_BYTES,
        .counter = number,
    };
    memset(packet, 0x5a, PACKET_BYTES);
    wire_header_encode(&header, packet);
    storm_guard_seal(&world->network->guard, &header, packet, PACKET_BYTES);
}

/* Sends from 0 to 1, a packet each GAP_NS, and takes what arrives. */
static struct seen pass_packets(struct storm_world *world)
{
    static uint8_t copies[PACKETS];
    struct seen seen = {0};
    struct sim_event event;
    uint32_t youngest = 0;
    unsigned char packet[PACKET_BYTES];
    memset(copies, 0, sizeof copies);
    for (uint32_t i = 0; i < PACKETS; i++) {
        world->now_ns = i * GAP_NS;
        make_packet(world, 0, 1, i, packet);
        storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    }
    while (sim_events_take(&world->events, &event)) {
        const struct sim_packet *came = sim_slots_at(&world->network->packets,
                                                     (uint32_t)event.value);
        assert_int_equal(event.kind, STORM_ARRIVAL);
        assert_int_equal(event.subject, 1);
        assert_int_equal(came->source, 0);
        uint64_t number = wire_get64(came->data + WIRE_HEADER_BYTES);
        make_packet(world, 0, 1, number < PACKETS ? (uint32_t)number : 0, packet);
        seen.arrived++;
        if (came->bytes != PACKET_BYTES || memcmp(came->data, packet, PACKET_BYTES) != 0) {
            seen.changed++;
        } else {
            seen.again += copies[number]++ > 0;
            seen.overtaken += number < youngest;
            youngest = number > youngest ? (uint32_t)number : youngest;
            uint64_t way_ns = event.at - number * GAP_NS;
            seen.latest_ns = way_ns > seen.latest_ns ? way_ns : seen.latest_ns;
        }
        sim_slots_give(&world->network->packets, (uint32_t)event.value);
    }
    assert_int_equal(world->network->packets.taken, 0);
    return seen;
}

static void without_faults_all_come_whole_in_order_and_in_time(void **state)
{
    (void)state;
    struct storm_world *world = make_world("calm", 1);
    uint64_t link_ns = PACKET_BYTES * UINT64_C(8000000000) / world->plan.link_bits_per_s;
    struct seen seen = pass_packets(world);
    assert_int_equal(seen.arrived, PACKETS);
    assert_int_equal(seen.again + seen.changed + seen.overtaken, 0);
    assert_true(seen.latest_ns == world->plan.latency_ns + link_ns);
    storm_world_free(world);
}

static void losses_are_as_many_as_planned(void **state)
{
    (void)state;
    struct storm_world *world = make_world("loss", 2);
    world->plan.loss_ppm = 100000;
    struct seen seen = pass_packets(world);
    assert_in_range(PACKETS - seen.arrived, PACKETS / 10 - 100, PACKETS / 10 + 100);
    assert_int_equal(world->result.fault_counts[STORM_LOSS], PACKETS - seen.arrived);
    assert_int_equal(seen.changed + seen.overtaken + seen.again, 0);
    storm_world_free(world);
}

static void losses_in_bursts_come_together(void **state)
{
    (void)state;
    struct storm_world *world = make_world("burst", 3);
    world->plan.burst_ppm = 10000;
    world->plan.burst_length = 20;
    struct seen seen = pass_packets(world);
    /* A burst each hundred packets, sixteen lost in each. */
    assert_in_range(PACKETS - seen.arrived, PACKETS / 20, PACKETS / 4);
    assert_int_equal(world->result.fault_counts[STORM_BURST], PACKETS - seen.arrived);
    storm_world_free(world);
}

static void duplicates_are_the_same_bytes_again(void **state)
{
    (void)state;
    struct storm_world *world = make_world("duplicate", 4);
    world->plan.duplicate_ppm = 200000;
    struct seen seen = pass_packets(world);
    assert_in_range(seen.again, PACKETS / 5 - 150, PACKETS / 5 + 150);
    assert_int_equal(seen.arrived, PACKETS + seen.again);
    assert_int_equal(seen.changed, 0);
    /* Some come after a peer would have been given up. */
    assert_true(seen.latest_ns > world->plan.board.swif.peer_timeout_ns);
    storm_world_free(world);
}

static void reordered_and_delayed_packets_are_overtaken(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"reorder", "delay"};
    for (unsigned i = 0; i < 2; i++) {
        struct storm_world *world = make_world(scenarios[i], 5);
        world->plan.reorder_ppm = i == 0 ? 100000 : 0;
        world->plan.delay_ppm = i == 1 ? 100000 : 0;
        struct seen seen = pass_packets(world);
        assert_int_equal(seen.arrived, PACKETS);
        assert_int_equal(seen.changed + seen.again, 0);
        assert_in_range(seen.overtaken, PACKETS / 20, PACKETS / 5);
        storm_world_free(world);
    }
}

static void corruption_is_never_authentic(void **state)
{
    (void)state;
    struct storm_world *world = make_world("corrupt", 6);
    struct wire_header header;
    struct sim_event event;
    unsigned char packet[PACKET_BYTES];
    uint32_t believed = 0;
    world->plan.corrupt_ppm = 1000000;
    for (uint32_t i = 0; i < PACKETS; i++) {
        world->now_ns = i * GAP_NS;
        make_packet(world, 0, 1, i, packet);
        storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    }
    while (sim_events_take(&world->events, &event)) {
        struct sim_packet *came = sim_slots_at(&world->network->packets, (uint32_t)event.value);
        believed += wire_header_decode(came->data, came->bytes, &header) &&
                    storm_guard_open(&world->network->guard, &header, came->data, came->bytes);
    }
    /* Two flips of one bit leave a packet as it was. */
    assert_in_range(believed, 0, PACKETS / 100);
    storm_world_free(world);
}

static void a_partition_cuts_one_way_and_heals(void **state)
{
    (void)state;
    struct storm_world *world = make_world("partition", 7);
    unsigned char packet[PACKET_BYTES];
    storm_network_cut(world, 1u << 0, 1u << 1 | 1u << 0, 500);
    for (uint16_t source = 0; source < 2; source++) {
        make_packet(world, source, (uint16_t)(1 - source), 1, packet);
        storm_network_send(world, &world->nodes[source], (uint16_t)(1 - source), packet,
                           PACKET_BYTES);
    }
    assert_int_equal(world->events.count, 1);
    struct sim_event arrival;
    assert_true(sim_events_take(&world->events, &arrival));
    assert_int_equal(arrival.subject, 0);
    /* A node always gets through to itself, and to nodes outside the set. */
    storm_network_send(world, &world->nodes[0], 0, packet, PACKET_BYTES);
    storm_network_send(world, &world->nodes[0], 2, packet, PACKET_BYTES);
    assert_int_equal(world->events.count, 2);
    world->now_ns = 500;
    storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    assert_int_equal(world->events.count, 3);
    storm_network_cut(world, 1u << 0, 1u << 1, 5000);
    storm_network_heal(world);
    storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    assert_int_equal(world->events.count, 4);
    storm_world_free(world);
}

static void a_full_link_drops(void **state)
{
    (void)state;
    struct storm_world *world = make_world("full", 8);
    unsigned char packet[PACKET_BYTES];
    world->plan.link_queue_bytes = 3 * PACKET_BYTES;
    for (uint32_t i = 0; i < 10; i++) {
        make_packet(world, 0, 1, i, packet);
        storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    }
    assert_in_range(world->events.count, 3, 4);
    assert_int_equal(world->result.fault_counts[STORM_FULL], 10 - world->events.count);
    storm_world_free(world);
}

/* Whatever a stranger sends is from another group, for another node, or not authentic; or it is an
 * old packet, unchanged, to the node that it was meant for. */
static void forged_packets_are_not_to_be_believed(void **state)
{
    (void)state;
    struct storm_world *world = make_world("stranger", 9);
    struct wire_header header;
    struct sim_event event;
    unsigned char packet[PACKET_BYTES];
    uint32_t authentic_of_others = 0;
    for (uint32_t i = 0; i < 500; i++) {
        make_packet(world, 0, 1, i, packet);
        storm_network_send(world, &world->nodes[0], 1, packet, PACKET_BYTES);
    }
    sim_events_clear(&world->events);
    for (uint32_t i = 0; i < PACKETS; i++) {
        storm_network_forge(world);
    }
    assert_int_equal(world->result.fault_counts[STORM_STRANGER], PACKETS);
    while (sim_events_take(&world->events, &event)) {
        struct sim_packet *came = sim_slots_at(&world->network->packets, (uint32_t)event.value);
        if (!wire_header_decode(came->data, came->bytes, &header) ||
            !storm_guard_open(&world->network->guard, &header, came->data, came->bytes)) {
            continue;
        }
        authentic_of_others += header.pgid != 99;
        make_packet(world, 0, 1, (uint32_t)header.counter, packet);
        assert_true(header.pgid != 99 || memcmp(packet, came->data, PACKET_BYTES) == 0);
    }
    assert_true(authentic_of_others > PACKETS / 20);
    storm_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_faults_all_come_whole_in_order_and_in_time),
        cmocka_unit_test(losses_are_as_many_as_planned),
        cmocka_unit_test(losses_in_bursts_come_together),
        cmocka_unit_test(duplicates_are_the_same_bytes_again),
        cmocka_unit_test(reordered_and_delayed_packets_are_overtaken),
        cmocka_unit_test(corruption_is_never_authentic),
        cmocka_unit_test(a_partition_cuts_one_way_and_heals),
        cmocka_unit_test(a_full_link_drops),
        cmocka_unit_test(forged_packets_are_not_to_be_believed),
    };
    return cmocka_run_group_tests_name("sim/storm_network", tests, NULL, NULL);
}
