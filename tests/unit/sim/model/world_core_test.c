/* The core processor: what it does first, programs of its own, and SRAM for its tables. */
#include "unit/sim/model/world_by_hand.h"

#include "sim/model/core_memory.h"
#include "sim/model/state.h"

enum { CORE_NS = 20, TASK_CYCLES = 10 + 5 + 5, REFILL_CYCLES = 10 + 50 };

/* ---- What it does first ------------------------------------------------------------------- */

enum { LOCKERS = 10 };

static void ask_for_lock(struct sim_host *host)
{
    uint64_t *ticket = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_lock(host, 1, 7, ticket));
    SIM_STEP(host, sim_unlock(host, *ticket));
    SIM_END(host);
}

static void ask_own_lock(struct sim_host *host)
{
    uint64_t *ticket = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_lock(host, 0, 7, ticket));
    SIM_END(host);
}

static void store_once(struct sim_host *host)
{
    uint64_t *kick = host->locals;
    SIM_BEGIN(host);
    *kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_work(host, 50 * NS));
    SIM_STEP(host, sim_store(host, *kick + 64, 1, 8));
    SIM_END(host);
}

/* Ten kicks wait for the core processor when a header is missed. The refill waits for the kick that
 * is being served, and perhaps for what that sends, but not for the others. */
static void a_refill_does_not_wait_for_requests(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    struct sim_machine machine;
    uint64_t tickets[LOCKERS];
    uint64_t kick;
    fill(&machine);
    const struct sim_world_config config = {.machine = &machine,
                                            .node_count = 2,
                                            .topology = SIM_BACK_TO_BACK,
                                            .user_count = LOCKERS + 1,
                                            .services = true};
    struct sim_world *world = sim_world_open(&config, error);
    assert_non_null(world);
    for (uint32_t user = 0; user < LOCKERS; user++) {
        sim_world_start(world, 0, user, ask_for_lock, &tickets[user], 0);
    }
    sim_world_start(world, 0, LOCKERS, store_once, &kick, 0);
    ends_well(world);
    const struct sim_passage *passage = sim_world_passage(world, 1);
    uint64_t kept_ps = passage->to_ps[SIM_STAGE_HEADER_TLB] -
                       passage->from_ps[SIM_STAGE_HEADER_TLB];
    uint64_t refill_ps = REFILL_CYCLES * CORE_NS * NS + 3 * BUS_NS * NS;
    uint64_t task_ps = TASK_CYCLES * CORE_NS * NS;
    /* It does one thing at a time, so the kick is waited for by more than its own next edge. */
    assert_in_range(kept_ps, refill_ps + 2 * CORE_NS * NS, refill_ps + 2 * task_ps);
    sim_world_close(world);
}

/* When node 0, alone, gets its own lock, with so many alarms before the kick. */
static uint64_t locked_ps(unsigned alarms)
{
    struct sim_machine machine;
    uint64_t ticket;
    fill(&machine);
    struct sim_world *world = open_world(&machine, 1, SIM_LOOP_OUTSIDE, true);
    for (unsigned i = 0; i < alarms; i++) {
        sim_core_request(world, &world->nodes[0], SIM_REQUEST_ALARM, 0, 0, 0);
    }
    sim_world_start(world, 0, 0, ask_own_lock, &ticket, 0);
    ends_well(world);
    uint64_t now_ps = sim_world_now(world);
    sim_world_close(world);
    return now_ps;
}

/* The alarm that is being served delays a kick, those that wait do not; each takes 15 clocks. */
static void a_kick_goes_before_alarms(void **state)
{
    (void)state;
    uint64_t without_ps = locked_ps(0);
    uint64_t with_ps = locked_ps(4);
    assert_true(with_ps > without_ps);
    assert_in_range(with_ps - without_ps, 1, (15 * CORE_NS + 173) * NS);
}

/* ---- Programs ----------------------------------------------------------------------------- */

struct answering {
    uint64_t kick;
    uint64_t seen_ps, answered_ps;
};

/* Host 0 stores to node 1, whose core processor answers; host 1 does nothing. */
static void ask(struct sim_host *host)
{
    struct answering *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_store(host, mine->kick + 8, 5, 8));
    SIM_STEP(host, sim_poll(host, 16, 8, UINT64_MAX, 6));
    mine->seen_ps = host->now_ps;
    SIM_END(host);
}

static void answer(struct sim_host *host)
{
    struct answering *mine = host->locals;
    SIM_BEGIN(host);
    assert_true(host->is_core);
    mine->kick = sim_kick(host, 0, 0);
    SIM_STEP(host, sim_poll(host, 8, 8, UINT64_MAX, 5));
    assert_int_equal(host->value, 5);
    mine->seen_ps = host->now_ps;
    SIM_STEP(host, sim_store(host, mine->kick + 16, 6, 8));
    mine->answered_ps = host->now_ps;
    SIM_END(host);
}

static void the_core_processor_answers_for_its_host(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    struct sim_machine machine;
    struct answering asking = {0};
    struct answering answering = {0};
    fill(&machine);
    machine.core_load_cycles = 3;
    machine.core_store_cycles = 2;
    machine.core_loop_cycles = 4;
    machine.tlb_refill = SIM_REFILL_HOST; /* a refill by itself would go first */
    const struct sim_world_config config = {
        .machine = &machine, .node_count = 2, .topology = SIM_BACK_TO_BACK, .core_programs = true};
    struct sim_world *world = sim_world_open(&config, error);
    assert_non_null(world);
    sim_world_start(world, 0, 0, ask, &asking, 0);
    sim_world_start_core(world, 1, answer, &answering, 0);
    ends_well(world);
    /* Two stores of 32 bits, and no bus on the way: the queue takes it at the next edge. */
    assert_int_equal(answering.answered_ps - answering.seen_ps, 2 * 2 * CORE_NS * NS);
    const struct sim_passage *passage = sim_world_passage(world, 0);
    assert_int_equal(passage->kicked_ps, answering.seen_ps);
    assert_in_range(passage->from_ps[SIM_STAGE_TRANSACTION_QUEUE], answering.seen_ps,
                    answering.seen_ps + BUS_NS * NS - 1);
    /* One read of 64 bits with its loop, and the store. */
    assert_int_equal(sim_world_busy(world, 1, true), (2 * 3 + 4 + 2 * 2) * CORE_NS * NS);
    assert_int_equal(sim_world_busy(world, 1, false), 0);
    sim_world_close(world);
}

static void tell_core(struct sim_host *host)
{
    uint64_t *told_ps = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_write(host, 8, 9, 8));
    SIM_STEP(host, sim_poll(host, 16, 8, UINT64_MAX, 9));
    *told_ps = host->now_ps;
    SIM_END(host);
}

static void echo_to_host(struct sim_host *host)
{
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, 8, 8, UINT64_MAX, 9));
    SIM_STEP(host, sim_write(host, 16, 9, 8));
    SIM_END(host);
}

static void host_and_core_processor_talk_by_llcm(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    struct sim_machine machine;
    uint64_t told_ps = 0;
    fill(&machine);
    machine.core_load_cycles = machine.core_store_cycles = machine.core_loop_cycles = 1;
    const struct sim_world_config config = {
        .machine = &machine, .node_count = 1, .core_programs = true};
    struct sim_world *world = sim_world_open(&config, error);
    assert_non_null(world);
    sim_world_start(world, 0, 0, tell_core, &told_ps, 0);
    sim_world_start_core(world, 0, echo_to_host, NULL, 0);
    ends_well(world);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.packets, 0);
    /* 10 clocks to the chip and 3 into it; a read each. */
    assert_in_range(told_ps, (130 + 173) * NS, (130 + 3 * CORE_NS + 2 * CORE_NS + 2 * 173) * NS);
    sim_world_close(world);
}

static void a_machine_must_say_what_loads_cost(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    struct sim_machine machine;
    fill(&machine);
    const struct sim_world_config config = {
        .machine = &machine, .node_count = 1, .core_programs = true};
    assert_null(sim_world_open(&config, error));
    assert_non_null(strstr(error, "[core] load_cycles"));
}

/* ---- SRAM --------------------------------------------------------------------------------- */

static bool opens(const char *name, uint32_t waiters, char error[SIM_ERROR_BYTES])
{
    struct sim_machine machine;
    assert_true(sim_machine_load(&machine, name, error));
    const struct sim_world_config config = {.machine = &machine,
                                            .node_count = 2,
                                            .topology = SIM_BACK_TO_BACK,
                                            .services = true,
                                            .lock_waiters = waiters};
    struct sim_world *world = sim_world_open(&config, error);
    sim_world_close(world);
    sim_machine_free(&machine);
    return world != NULL;
}

/* 128 KB hold some 7,000 requests for locks, and not 65,534. */
static void tables_must_fit_into_the_data_sram(void **state)
{
    char error[SIM_ERROR_BYTES] = "";
    (void)state;
    assert_true(opens("dimmnet1-D", 0, error));
    assert_true(opens("dimmnet1-D", 7000, error));
    assert_false(opens("dimmnet1-D", 65534, error));
    assert_non_null(strstr(error, "65534 requests for locks"));
    assert_non_null(strstr(error, "its data SRAM has 114688 for them"));
    assert_false(opens("dimmnet2", 65534, error));
}

static void waiters_get_what_the_other_tables_leave(void **state)
{
    struct sim_machine machine = {.core_data_bytes = 10000, .core_reserved_bytes = 2000};
    struct nic_services_config config = {.team_count = 10};
    char error[SIM_ERROR_BYTES];
    (void)state;
    uint32_t most = sim_core_waiters_max(&machine, &config);
    assert_true(most > 0);
    config.lock_waiter_count = most;
    assert_true(sim_core_tables_fit(&machine, &config, error));
    config.lock_waiter_count = most + 1;
    assert_false(sim_core_tables_fit(&machine, &config, error));
    config.team_count = 100000;
    assert_int_equal(sim_core_waiters_max(&machine, &config), 0);
    machine.core_data_bytes = 0; /* not said */
    assert_true(sim_core_tables_fit(&machine, &config, error));
}

static void message_tables_grow_with_contexts_and_peers(void **state)
{
    struct nic_services_config config = {
        .context_count = 1, .context_peer_count = 10, .context_entry_count = 64};
    (void)state;
    uint64_t one = sim_core_table_bytes(&config);
    config.context_count = 2;
    assert_int_equal(sim_core_table_bytes(&config), 2 * one);
    config.context_peer_count = 11;
    assert_int_equal(sim_core_table_bytes(&config), 2 * (one + 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refill_does_not_wait_for_requests),
        cmocka_unit_test(a_kick_goes_before_alarms),
        cmocka_unit_test(the_core_processor_answers_for_its_host),
        cmocka_unit_test(host_and_core_processor_talk_by_llcm),
        cmocka_unit_test(a_machine_must_say_what_loads_cost),
        cmocka_unit_test(tables_must_fit_into_the_data_sram),
        cmocka_unit_test(waiters_get_what_the_other_tables_leave),
        cmocka_unit_test(message_tables_grow_with_contexts_and_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
