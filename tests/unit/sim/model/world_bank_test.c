/* The SO-DIMM banks as programs see them: who faces whom, who switches, and what a switch does to
 * copies and arrivals. */
#include "unit/sim/model/world_by_hand.h"

enum { BANK_BYTES = 4096, SWITCH_NS = 5000 };

static struct sim_world *open_users(struct sim_machine *machine, uint32_t nodes,
                                    enum sim_topology topology, uint32_t users)
{
    char error[SIM_ERROR_BYTES];
    const struct sim_world_config config = {
        .machine = machine, .node_count = nodes, .topology = topology, .user_count = users};
    fill(machine);
    machine->bank_bytes = BANK_BYTES;
    struct sim_world *world = sim_world_open(&config, error);
    assert_non_null(world);
    return world;
}

static struct sim_world_counters counters_of(const struct sim_world *world)
{
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    return counters;
}

/* ---- Who faces whom ----------------------------------------------------------------------- */

static void switch_twice(struct sim_host *host)
{
    uint32_t *first = host->locals;
    SIM_BEGIN(host);
    *first = sim_bank_facing(host);
    memset(sim_bank(host, 0), 1, BANK_BYTES);
    assert_false(sim_bank_is_switching(host));
    SIM_STEP(host, sim_switch_banks(host));
    assert_int_equal(host->result, 0);
    assert_int_equal(host->now_ps, SWITCH_NS * NS);
    assert_int_equal(sim_bank_facing(host), 1 - *first);
    assert_int_equal(*(unsigned char *)sim_bank(host, 0), 0);
    SIM_STEP(host, sim_switch_banks(host));
    assert_int_equal(sim_bank_facing(host), *first);
    assert_int_equal(*(unsigned char *)sim_bank(host, 0), 1);
    SIM_END(host);
}

static void a_program_sees_which_bank_faces_it(void **state)
{
    (void)state;
    struct sim_machine machine;
    uint32_t first;
    struct sim_world *world = open_users(&machine, 1, SIM_LOOP_OUTSIDE, 1);
    sim_world_start(world, 0, 0, switch_twice, &first, 0);
    ends_well(world);
    assert_int_equal(counters_of(world).bank_switches, 2);
    assert_int_equal(counters_of(world).bank_switch_ps, 2 * SWITCH_NS * NS);
    sim_world_close(world);
}

/* ---- Who switches ------------------------------------------------------------------------- */

static void switch_once(struct sim_host *host)
{
    SIM_BEGIN(host);
    SIM_STEP(host, sim_switch_banks(host));
    assert_int_equal(host->result, 0);
    SIM_END(host);
}

/* Begins when the other user is half-way through its switch. */
static void meet_a_switch(struct sim_host *host)
{
    unsigned char *into = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, SWITCH_NS / 2 * NS));
    assert_true(sim_bank_is_switching(host));
    SIM_STEP(host, sim_switch_banks(host));
    assert_int_equal(host->result, DN_EBUSY);
    SIM_STEP(host, sim_bank_read(host, 0, into, 8));
    assert_int_equal(host->result, DN_EBUSY);
    assert_true(sim_bank_is_switching(host));
    SIM_STEP(host, sim_work(host, SWITCH_NS * NS));
    assert_false(sim_bank_is_switching(host));
    SIM_STEP(host, sim_bank_read(host, 0, into, 8));
    assert_int_equal(host->result, 0);
    SIM_END(host);
}

static void one_user_switches_at_a_time(void **state)
{
    (void)state;
    struct sim_machine machine;
    unsigned char into[8];
    struct sim_world *world = open_users(&machine, 1, SIM_LOOP_OUTSIDE, 2);
    sim_world_start(world, 0, 0, switch_once, NULL, 0);
    sim_world_start(world, 0, 1, meet_a_switch, into, 0);
    ends_well(world);
    assert_int_equal(counters_of(world).bank_switches, 1);
    sim_world_close(world);
}

/* ---- Copies ------------------------------------------------------------------------------- */

/* 4,096 bytes at the bus' rate take 5,120 ns, longer than a switch. */
static void copy_all(struct sim_host *host)
{
    unsigned char *into = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_bank_read(host, 0, into, BANK_BYTES));
    assert_int_equal(host->now_ps, (BANK_BYTES / 8) * BUS_NS * NS);
    assert_int_equal(host->result, DN_ESTALE);
    assert_int_equal(into[0], 7);
    memset(into, 9, BANK_BYTES);
    SIM_STEP(host, sim_bank_write(host, 0, into, BANK_BYTES));
    assert_int_equal(host->result, 0);
    into[0] = 0;
    SIM_STEP(host, sim_bank_read(host, 0, into, 8));
    assert_int_equal(host->result, 0);
    assert_int_equal(into[0], 9);
    SIM_END(host);
}

static void a_switch_spoils_a_copy(void **state)
{
    (void)state;
    struct sim_machine machine;
    static unsigned char into[BANK_BYTES];
    memset(into, 7, sizeof into);
    struct sim_world *world = open_users(&machine, 1, SIM_LOOP_OUTSIDE, 2);
    sim_world_start(world, 0, 0, copy_all, into, 0);
    sim_world_start(world, 0, 1, switch_once, NULL, 0);
    ends_well(world);
    sim_world_close(world);
}

/* ---- Arrivals ----------------------------------------------------------------------------- */

static void send_block(struct sim_host *host)
{
    const uint64_t *start_ps = host->locals;
    static const unsigned char block[64] = {1};
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, *start_ps));
    SIM_STEP(host, sim_block(host, sim_remote_bank(1, 0), block, sizeof block));
    SIM_END(host);
}

static void blocks_that_come_in_a_switch_are_counted(void **state)
{
    static const struct {
        uint64_t start_ps;
        uint64_t arrivals;
    } cases[] = {{0, 1}, {2 * SWITCH_NS * NS, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_machine machine;
        uint64_t start_ps = cases[i].start_ps;
        struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, 1);
        sim_world_start(world, 0, 0, send_block, &start_ps, 0);
        sim_world_start(world, 1, 0, switch_once, NULL, 0);
        ends_well(world);
        assert_int_equal(counters_of(world).bank_arrivals, cases[i].arrivals);
        sim_world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_sees_which_bank_faces_it),
        cmocka_unit_test(one_user_switches_at_a_time),
        cmocka_unit_test(a_switch_spoils_a_copy),
        cmocka_unit_test(blocks_that_come_in_a_switch_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
