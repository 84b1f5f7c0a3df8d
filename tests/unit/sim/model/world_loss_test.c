/* Links that lose packets, under each of C-ARQ's ways to send them again. */
#include "world_by_hand.h"

enum { BYTES = 256 * 1024, LOSS_PPM = 20000 };

struct transfer {
    unsigned char data[BYTES];
    bool right; /* all of it came to the other node */
};

static void push(struct sim_host *host)
{
    struct transfer *mine = host->locals;
    SIM_BEGIN(host);
    for (uint32_t i = 0; i < BYTES; i++) {
        mine->data[i] = (unsigned char)(i * 7 + i / 256);
    }
    SIM_STEP(host, sim_push(host, sim_remote_bank(1, 0), mine->data, BYTES));
    assert_int_equal(host->result, 0);
    SIM_END(host);
}

/* After a while, which no transfer takes. */
static void look(struct sim_host *host)
{
    struct transfer *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 500000000 * NS));
    SIM_STEP(host, sim_switch_banks(host));
    mine->right = memcmp(sim_bank(host, 0), mine->data, BYTES) == 0;
    SIM_END(host);
}

static struct sim_world_counters run(enum sim_arq arq, uint64_t loss_ppm)
{
    static struct transfer transfer;
    struct sim_machine machine;
    struct sim_world_counters counters;
    fill(&machine);
    machine.carrier_kind = SIM_CARRIER_CD;
    machine.carrier_arq = arq;
    machine.packet_data_bytes = 2048;
    machine.bank_bytes = BYTES;
    machine.link_loss_ppm = loss_ppm;
    transfer.right = false;
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, push, &transfer, 0);
    sim_world_start(world, 1, 0, look, &transfer, 0);
    ends_well(world);
    assert_true(transfer.right);
    sim_world_counters(world, &counters);
    sim_world_close(world);
    return counters;
}

static void nothing_gets_lost_unless_it_is_said(void **state)
{
    (void)state;
    struct sim_world_counters counters = run(SIM_ARQ_GO_BACK_N, 0);
    assert_int_equal(counters.lost, 0);
    assert_int_equal(counters.retransmissions, 0);
}

static void what_is_lost_comes_again(void **state)
{
    (void)state;
    for (enum sim_arq arq = SIM_ARQ_GO_BACK_N; arq <= SIM_ARQ_STOP_AND_WAIT; arq++) {
        struct sim_world_counters counters = run(arq, LOSS_PPM);
        assert_true(counters.lost > 0);
        assert_true(counters.retransmissions > 0);
    }
}

/* Stop-and-wait is the only stage that it is held to; go-back-N sends what had come again. */
static void the_machine_says_how_far_to_climb(void **state)
{
    (void)state;
    struct sim_world_counters waiting = run(SIM_ARQ_STOP_AND_WAIT, LOSS_PPM);
    struct sim_world_counters back = run(SIM_ARQ_GO_BACK_N, LOSS_PPM);
    struct sim_world_counters selective = run(SIM_ARQ_SELECTIVE_REPEAT, LOSS_PPM);
    assert_int_equal(waiting.stop_and_wait, waiting.transmissions);
    assert_true(back.stop_and_wait < back.transmissions / 2);
    assert_true(back.retransmissions > 2 * back.lost);
    assert_true(selective.retransmissions <= 2 * selective.lost);
}

static void a_loss_is_the_same_each_time(void **state)
{
    (void)state;
    struct sim_world_counters one = run(SIM_ARQ_GO_BACK_N, LOSS_PPM);
    struct sim_world_counters other = run(SIM_ARQ_GO_BACK_N, LOSS_PPM);
    assert_memory_equal(&one, &other, sizeof one);
}

/* ---- A world ends when the last store has come ----------------------------------------------- */

enum { STORES = 40 };

static void store(struct sim_host *host)
{
    uint64_t *i = host->locals;
    SIM_BEGIN(host);
    for (*i = 0; *i < STORES; (*i)++) {
        SIM_STEP(host, sim_store(host, sim_kick(host, 1, 0) + 8 * *i, *i + 1, 8));
    }
    SIM_END(host);
}

static void look_at_nothing(struct sim_host *host)
{
    struct sim_host **seen = host->locals;
    SIM_BEGIN(host);
    *seen = host;
    SIM_END(host);
}

static void a_world_waits_for_what_was_lost(void **state)
{
    (void)state;
    struct sim_machine machine;
    uint64_t i;
    struct sim_host *target = NULL;
    fill(&machine);
    machine.carrier_kind = SIM_CARRIER_CD;
    machine.link_loss_ppm = 500000;
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, store, &i, 0);
    sim_world_start(world, 1, 0, look_at_nothing, &target, 0);
    ends_well(world);
    for (i = 0; i < STORES; i++) {
        uint64_t value;
        memcpy(&value, sim_memory(target, 8 * i), sizeof value);
        assert_int_equal(value, i + 1);
    }
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gets_lost_unless_it_is_said),
        cmocka_unit_test(what_is_lost_comes_again),
        cmocka_unit_test(the_machine_says_how_far_to_climb),
        cmocka_unit_test(a_loss_is_the_same_each_time),
        cmocka_unit_test(a_world_waits_for_what_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
