/* Messages between simulated machines: they take the time that their steps take, and arrive once
 * and in order whatever the receiver lacks and the network loses. */
#include "sim/model/host.h"
#include "sim/trial/messages.h"
#include "unit/unit.h"

#define NS UINT64_C(1000)

static struct sim_machine machine;

static struct sim_messages_wish wish_for(const char *name, uint32_t nodes)
{
    char error[SIM_ERROR_BYTES];
    assert_true(sim_machine_load(&machine, name, error));
    machine.switch_ports = nodes;
    return (struct sim_messages_wish){
        .machine = &machine,
        .topology = SIM_ONE_SWITCH,
        .node_count = nodes,
        .rounds = 40,
        .bytes = 256,
        .limit_ps = UINT64_C(10000000000000),
    };
}

static struct sim_messages_result run(const struct sim_messages_wish *wish)
{
    char error[SIM_ERROR_BYTES];
    struct sim_messages_result result;
    bool done = sim_messages_run(wish, NULL, &result, error);
    if (!done) {
        print_error("%s\n", error);
    }
    assert_true(done);
    return result;
}

/* With one message under way nothing waits: its time is the sum of what each part takes. */
static void a_message_takes_the_sum_of_its_steps(void **state)
{
    (void)state;
    struct sim_messages_wish wish = wish_for("rhinet2-ni", 2);
    wish.topology = SIM_BACK_TO_BACK;
    wish.rounds = 1;
    wish.send_ps = 50000 * NS; /* so that nothing of the start is still under way */
    uint64_t least_ps[2];
    for (unsigned i = 0; i < 2; i++) {
        wish.bytes = i == 0 ? 256 : 2048;
        struct sim_messages_result result = run(&wish);
        assert_int_equal(result.pieces, 1);
        assert_int_equal(result.packets, 1);
        assert_int_equal(result.counters.packets, 3); /* "resend from 0" at the start, DATA, ACK */
        least_ps[i] = result.latency_ps;
    }
    /* More bytes: DMA into RB and the copy out of it; the packet itself streams, but the receive
     * stages take its head, and the link is not what the message waits for. */
    uint64_t more = 2048 - 256;
    uint64_t dma_ps = more / 8 * machine.dma_word_cycles * machine.clock_dimm;
    uint64_t copy_ps = more / 8 * machine.host_burst_cycles * machine.clock_dimm;
    uint64_t polls_ps = machine.host_read; /* the first read that finds it */
    assert_in_range(least_ps[1] - least_ps[0], dma_ps + copy_ps - polls_ps,
                    dma_ps + copy_ps + polls_ps);
    /* At least CorePU's work at both ends. */
    uint64_t core_cycles = 2 * (machine.core_dispatch_cycles + machine.core_look_up_cycles +
                                machine.core_update_cycles) +
                           machine.core_send_cycles;
    assert_true(least_ps[0] > core_cycles * machine.clock_core);
    sim_machine_free(&machine);
}

/* A sender knows how much of its tables is free without asking until its copy says "full". */
static void the_nic_is_read_only_when_tables_seem_full(void **state)
{
    (void)state;
    struct sim_messages_wish wish = wish_for("rhinet2-ni", 2);
    wish.rounds = 16;
    wish.buffers.entries = 16;
    struct sim_messages_result free_run = run(&wish);
    wish.buffers.entries = 1;
    struct sim_messages_result full_run = run(&wish);
    assert_true(full_run.virtual_ps > free_run.virtual_ps);
    /* One entry: the next message is kicked after the ACK of the one before has come. */
    assert_true(full_run.latency_most_ps < free_run.latency_most_ps);
    sim_machine_free(&machine);
}

/* Every choice, with a receiver that has room for two messages and takes its time. */
static void nothing_is_lost_when_the_receiver_is_full(void **state)
{
    (void)state;
    for (uint32_t resend = 0; resend < SIM_RESENDS; resend++) {
        struct sim_messages_wish wish = wish_for("rhinet2-ni", 6);
        wish.resend = resend;
        wish.buffers.receive_bytes = sim_messages_room(2, wish.bytes);
        wish.read_ps = 5000 * NS;
        struct sim_messages_result result = run(&wish);
        assert_int_equal(result.pieces, 5 * 40);
        assert_true(result.refused > 0 && result.dropped > 0);
        assert_int_equal(result.packets, result.pieces + result.repeated);
        assert_int_equal(result.silences, 0);
        struct sim_messages_result again = run(&wish);
        assert_memory_equal(&again, &result, sizeof result);
        sim_machine_free(&machine);
    }
}

/* CorePU serves kicks, packets that come, and the alarm of each time-out. */
static void a_time_out_is_the_core_processors_alarm(void **state)
{
    (void)state;
    uint64_t silences = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_messages_wish wish = wish_for("rhinet2-ni", 2);
        wish.rounds = 1;
        wish.detects_loss = true;
        wish.loss_ppm = 300000;
        wish.seed = seed;
        struct sim_messages_result result = run(&wish);
        uint64_t come = result.counters.packets - result.counters.lost;
        uint64_t alarms = result.counters.core_requests - come - 1; /* and one kick */
        assert_true(result.silences > 0 ? alarms >= result.silences : alarms == 0);
        silences += result.silences;
        sim_machine_free(&machine);
    }
    assert_true(silences > 0);
}

/* RHiNET-3's links need no detection of losses; on paper 003's routers such a board does. */
static void links_that_resend_lose_nothing(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES] = "";
    uint64_t last_ps = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct sim_messages_wish wish = wish_for("dimmnet1-o3", 3);
        wish.loss_ppm = 100000;
        wish.seed = seed;
        struct sim_messages_result result = run(&wish);
        assert_int_equal(result.counters.lost, 0);
        assert_true(result.counters.resends > 0);
        assert_true(result.last_ps != last_ps); /* each seed damages others */
        last_ps = result.last_ps;
        wish.topology = SIM_RING;
        assert_false(sim_messages_run(&wish, NULL, &result, error));
        assert_non_null(strstr(error, "nobody detects it"));
        wish.detects_loss = true;
        result = run(&wish);
        assert_true(result.counters.lost > 0);
        sim_machine_free(&machine);
    }
}

static void nothing_is_lost_when_packets_are(void **state)
{
    static const uint32_t losses[] = {1000, 50000, 200000};
    (void)state;
    for (unsigned i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        for (uint32_t resend = 0; resend < SIM_RESENDS; resend++) {
            struct sim_messages_wish wish = wish_for("rhinet2-ni", 4);
            wish.resend = resend;
            wish.detects_loss = true;
            wish.loss_ppm = losses[i];
            wish.seed = i + 1;
            wish.rounds = 200;
            wish.buffers.receive_bytes = sim_messages_room(4, wish.bytes);
            struct sim_messages_result result = run(&wish);
            assert_int_equal(result.pieces, 3 * 200);
            assert_true(result.counters.lost > 0);
            sim_machine_free(&machine);
        }
    }
}

/* InfiniSWIF repairs losses below. */
static void messages_go_over_cd(void **state)
{
    (void)state;
    struct sim_messages_wish wish = wish_for("dimmnet2", 4);
    wish.loss_ppm = 20000;
    wish.bytes = 1000;
    struct sim_messages_result result = run(&wish);
    assert_int_equal(result.pieces, 3 * 40);
    assert_true(result.counters.lost > 0 && result.counters.retransmissions > 0);
    sim_machine_free(&machine);
}

static void a_long_message_is_sent_in_pieces(void **state)
{
    (void)state;
    struct sim_messages_wish wish = wish_for("rhinet2-ni", 3);
    wish.bytes = 5000;
    wish.rounds = 10;
    struct sim_messages_result result = run(&wish);
    assert_int_equal(result.pieces, 2 * 10 * 3);
    sim_machine_free(&machine);
}

/* The one that waits for half of RB repeats less than the one that asks all senders at once. */
static void asking_in_turn_and_late_saves_packets(void **state)
{
    uint64_t repeated[SIM_RESENDS];
    (void)state;
    for (uint32_t resend = 0; resend < SIM_RESENDS; resend++) {
        struct sim_messages_wish wish = wish_for("rhinet2-ni", 5);
        wish.resend = resend;
        wish.bytes = 2048;
        wish.read_ps = 10000 * NS;
        repeated[resend] = run(&wish).repeated;
        sim_machine_free(&machine);
    }
    assert_true(repeated[SIM_RESEND_REQUEST_HALF] * 2 < repeated[SIM_RESEND_REQUEST_ALL]);
    assert_true(repeated[SIM_RESEND_REQUEST_HALF] * 2 < repeated[SIM_RESEND_NACK]);
}

static void what_cannot_work_is_refused(void **state)
{
    char error[SIM_ERROR_BYTES];
    struct sim_messages_result result;
    (void)state;
    struct sim_messages_wish wish = wish_for("rhinet2-ni", 3);
    wish.loss_ppm = 1000;
    assert_false(sim_messages_run(&wish, NULL, &result, error));
    assert_non_null(strstr(error, "nobody detects it"));
    wish.loss_ppm = 0;
    wish.buffers.receive_bytes = 256;
    assert_false(sim_messages_run(&wish, NULL, &result, error));
    assert_non_null(strstr(error, "no room for one message"));
    wish.buffers.receive_bytes = 264;
    wish.buffers.entries = 3;
    assert_false(sim_messages_run(&wish, NULL, &result, error));
    wish.buffers.entries = 4;
    assert_int_equal(run(&wish).pieces, 2 * 40);
    sim_machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_takes_the_sum_of_its_steps),
        cmocka_unit_test(the_nic_is_read_only_when_tables_seem_full),
        cmocka_unit_test(nothing_is_lost_when_the_receiver_is_full),
        cmocka_unit_test(a_time_out_is_the_core_processors_alarm),
        cmocka_unit_test(links_that_resend_lose_nothing),
        cmocka_unit_test(nothing_is_lost_when_packets_are),
        cmocka_unit_test(messages_go_over_cd),
        cmocka_unit_test(a_long_message_is_sent_in_pieces),
        cmocka_unit_test(asking_in_turn_and_late_saves_packets),
        cmocka_unit_test(what_cannot_work_is_refused),
    };
    return cmocka_run_group_tests_name("sim/trial/messages", tests, NULL, NULL);
}
