/* Engines outside a world: packets that wait for the link go as one where InfiniSWIF would have put
 * them into one, and a host reads that a service is done once the core processor has told it. */
#include "sim/model/outside.h"

#include <string.h>

#include "sim/model/world.h"
#include "unit/unit.h"
#include "wire/operation.h"
#include "wire/packet.h"

enum { PACKETS_MAX = 16, PACKET_BYTES_MAX = 4096 };

#define NS UINT64_C(1000)

static struct sim_machine machine;
static struct sim_world *world;
static uint64_t arrived[PACKETS_MAX], arrived_ps[PACKETS_MAX];
static uint32_t arrived_count;
static uint32_t drained_count;

/* ---- A world without programs -------------------------------------------------------------- */

static bool on_arrived(void *context, uint32_t node, const struct turn_packet *packet,
                       const unsigned char *data)
{
    (void)context;
    (void)data;
    assert_int_equal(node, 1);
    assert_int_equal(packet->peer, 0);
    assert_true(arrived_count < PACKETS_MAX);
    arrived_ps[arrived_count] = sim_world_now(world);
    arrived[arrived_count++] = packet->number;
    return true;
}

static void on_acked(void *context, uint32_t node, uint32_t peer, uint64_t number, uint64_t cookie)
{
    (void)context;
    (void)node;
    (void)peer;
    (void)number;
    (void)cookie;
    assert_true(false); /* nobody asks */
}

static void on_alarm(void *context, uint32_t node)
{
    (void)context;
    (void)node;
}

static void on_called(void *context, uint32_t node, uint64_t value)
{
    (void)context;
    (void)node;
    (void)value;
}

static bool goes_on(void *context, uint64_t next_ps)
{
    (void)context;
    (void)next_ps;
    return true;
}

static void on_drained(void *context, uint32_t node)
{
    (void)context;
    (void)node;
    drained_count++;
}

static const struct sim_outside outside = {.arrived = on_arrived,
                                           .acked = on_acked,
                                           .alarm = on_alarm,
                                           .called = on_called,
                                           .goes_on = goes_on,
                                           .drained = on_drained};

static void open_world(const char *name)
{
    char error[SIM_ERROR_BYTES];
    assert_true(sim_machine_load(&machine, name, error));
    const struct sim_world_config config = {
        .machine = &machine, .node_count = 2, .topology = SIM_ONE_SWITCH, .outside = &outside};
    world = sim_world_open(&config, error);
    assert_non_null(world);
    arrived_count = drained_count = 0;
}

static void close_world(void)
{
    sim_world_close(world);
    sim_machine_free(&machine);
}

/* Runs until nothing is under way; gives how many packets there were on the link. */
static uint64_t run(void)
{
    struct sim_world_counters counters;
    assert_int_equal(sim_world_run(world, UINT64_MAX), SIM_END_DONE);
    sim_world_counters(world, &counters);
    return counters.packets;
}

/* ---- Packets of InfiniSWIF ------------------------------------------------------------------ */

struct wish {
    uint32_t block_bytes; /* 0: no body, an acknowledgement alone */
    uint8_t channel;
    uint8_t wire_flags;
    uint16_t flags; /* besides TURN_IS_CD */
    enum wire_opcode opcode;
};

static struct sim_parcel *parcel_of(const struct wish *wish, uint32_t sequence)
{
    static const unsigned char block[WIRE_BOTF_BYTES_MAX];
    unsigned char packet[PACKET_BYTES_MAX] = {0};
    const struct wire_operation operation = {
        .opcode = wish->opcode, .bytes = (uint16_t)wish->block_bytes, .area = 1, .data = block};
    bool has_body = wish->block_bytes > 0;
    struct wire_header header = {
        .kind = has_body ? WIRE_CD : WIRE_CONTROL,
        .flags = wish->wire_flags,
        .channel = wish->channel,
        .target = 1,
        .source_incarnation = 1,
        .target_incarnation = 1,
        .sequence = has_body ? sequence : 0,
        .body_bytes = (uint16_t)(has_body ? wire_operation_bytes(&operation) : 0),
        .ack_bytes = has_body ? 0 : WIRE_ACK_BYTES,
        .counter = sequence,
    };
    wire_header_encode(&header, packet);
    if (has_body) {
        wire_operation_encode(&operation, packet + WIRE_PREFIX_BYTES);
    }
    const struct turn_packet head = {
        .peer = 1,
        .class = header.flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST,
        .channel = wish->channel,
        .flags = (uint16_t)(TURN_IS_CD | wish->flags),
        .bytes = (uint32_t)(WIRE_OVERHEAD_BYTES + header.ack_bytes + header.body_bytes),
        .number = sequence,
    };
    return sim_parcel_make(world, &head, packet);
}

/* Sends them at one moment; gives how many packets they became, and all of them come. */
static uint64_t packets_of(const struct wish *wishes, uint32_t count)
{
    struct sim_parcels parcels = {0};
    open_world("dimmnet2");
    for (uint32_t i = 0; i < count; i++) {
        sim_parcels_add(&parcels, parcel_of(&wishes[i], i + 1));
    }
    sim_outside_send(world, 0, &parcels);
    uint64_t packets = run();
    assert_int_equal(arrived_count, count);
    assert_int_equal(drained_count, 1);
    close_world();
    return packets;
}

enum { BLOCK = 464 };

static void blocks_that_wait_share_packets(void **state)
{
    (void)state;
    const struct wish block = {.block_bytes = BLOCK, .opcode = WIRE_BOTF};
    const struct wish blocks[] = {block, block, block, block, block, block};
    assert_int_equal(packets_of(blocks, 1), 1);
    assert_int_equal(packets_of(blocks, 2), 1);
    assert_true(arrived_ps[0] == arrived_ps[1]);
    /* A packet has room for four of them. */
    assert_int_equal(packets_of(blocks, 6), 2);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(arrived[i], i + 1);
        assert_true(arrived_ps[i] == arrived_ps[i < 4 ? 0 : 4]);
    }
    assert_true(arrived_ps[4] > arrived_ps[3]);
}

static void other_packets_go_alone(void **state)
{
    (void)state;
    const struct wish block = {.block_bytes = BLOCK, .opcode = WIRE_BOTF};
    struct wish others[] = {block, block, block, block, block};
    others[0].channel = 1;
    others[1].flags = TURN_IS_REPEAT;
    others[2].wire_flags = WIRE_FLAG_AFTER_ALL; /* behind a fence */
    others[3].opcode = WIRE_PUSH;               /* each has its own acknowledgement */
    others[4].opcode = WIRE_PULLED;             /* of another class */
    others[4].wire_flags = WIRE_FLAG_REPLY;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct wish wishes[] = {block, others[i]};
        assert_int_equal(packets_of(wishes, 2), 2);
    }
}

/* What does not fit in between is not overtaken by what would fit. */
static void packets_of_a_sequence_stay_in_order(void **state)
{
    (void)state;
    const struct wish block = {.block_bytes = BLOCK, .opcode = WIRE_BOTF};
    struct wish repeat = block;
    repeat.flags = TURN_IS_REPEAT;
    const struct wish wishes[] = {block, repeat, block};
    assert_int_equal(packets_of(wishes, 3), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(arrived[i], i + 1);
    }
}

static void acknowledgements_ride_along(void **state)
{
    (void)state;
    const struct wish block = {.block_bytes = BLOCK, .opcode = WIRE_BOTF};
    const struct wish ack = {.block_bytes = 0};
    const struct wish before[] = {ack, block};
    const struct wish behind[] = {block, ack};
    assert_int_equal(packets_of(before, 2), 1);
    uint64_t before_ps = arrived_ps[0];
    assert_int_equal(packets_of(behind, 2), 1);
    assert_int_equal(packets_of(&block, 1), 1);
    /* They make it no longer. */
    assert_true(arrived_ps[0] == before_ps);
    assert_int_equal(packets_of(&ack, 1), 1);
    assert_true(arrived_ps[0] < before_ps);
}

/* ---- Services ------------------------------------------------------------------------------- */

static bool asks;
static uint64_t looked_ps, read_ps;

/* Looks whether a service is done that it has asked for, or not. */
static void ask_and_look(struct sim_host *host)
{
    struct sim_parcels none = {0};
    SIM_BEGIN(host);
    if (asks) {
        SIM_STEP(host, sim_outside_service(host, &none));
    }
    looked_ps = host->now_ps;
    SIM_STEP(host, sim_outside_told(host, 4, UINT64_MAX));
    read_ps = host->now_ps;
    SIM_END(host);
}

static void the_end_of_a_service_is_read_when_it_is_told(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        open_world("dimmnet1-D");
        asks = round > 0;
        sim_world_start(world, 0, 0, ask_and_look, NULL, 0);
        (void)run();
        uint64_t work_ps = (machine.core_dispatch_cycles + machine.core_look_up_cycles +
                            machine.core_update_cycles + machine.core_notify_cycles) *
                           machine.clock_core;
        if (asks) {
            assert_true(read_ps - looked_ps > work_ps);
            assert_true(read_ps - looked_ps < work_ps + 3 * machine.host_read);
            assert_int_equal((read_ps - looked_ps) % machine.host_read, 0);
        } else {
            assert_int_equal(read_ps - looked_ps, machine.host_read);
        }
        close_world();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_wait_share_packets),
        cmocka_unit_test(other_packets_go_alone),
        cmocka_unit_test(packets_of_a_sequence_stay_in_order),
        cmocka_unit_test(acknowledgements_ride_along),
        cmocka_unit_test(the_end_of_a_service_is_read_when_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
