/* The modelled machine: times are the sums of the stages, and memory is what the programs wrote. */
#include "world_by_hand.h"

/* ---- One store ------------------------------------------------------------------------- */

struct ping {
    uint64_t kick;
    uint32_t round, rounds;
    uint64_t ended_ps;
};

static void loop_back(struct sim_host *host)
{
    struct ping *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 0, 0);
    for (mine->round = 1; mine->round <= mine->rounds; mine->round++) {
        SIM_STEP(host, sim_store(host, mine->kick + 8, mine->round, 4));
        SIM_STEP(host, sim_poll(host, 8, 4, UINT32_MAX, mine->round));
    }
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void a_store_takes_the_sum_of_its_stages(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct ping ping = {.rounds = 2}; /* the first one misses in the header TLB */
    fill(&machine);
    struct sim_world *world = open_world(&machine, 1, SIM_LOOP_INSIDE, false);
    sim_world_start(world, 0, 0, loop_back, &ping, 0);
    ends_well(world);
    const struct sim_passage *passage = sim_world_passage(world, 0);
    static const struct {
        enum sim_stage_name stage;
        uint64_t ns;
    } expected[] = {
        {SIM_STAGE_HOST_WRITE, 30},   {SIM_STAGE_TRANSACTION_QUEUE, 20},
        {SIM_STAGE_HEADER_TLB, 30},   {SIM_STAGE_SIZE_DECISION, 10},
        {SIM_STAGE_SEND_BUFFER, 10},  {SIM_STAGE_SWIF_SEND, 40},
        {SIM_STAGE_SWIF_RECEIVE, 70}, {SIM_STAGE_LLCM_WRITE, 10},
    };
    uint64_t sum_ps = 0;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        uint64_t ps = passage->to_ps[expected[i].stage] - passage->from_ps[expected[i].stage];
        assert_int_equal(ps, expected[i].ns * NS);
        sum_ps += ps;
    }
    assert_int_equal(sum_ps, 220 * NS);
    /* From the bus to LLCM no time is lost between the stages: all clocks have 10 ns. */
    assert_int_equal(passage->to_ps[SIM_STAGE_LLCM_WRITE] - passage->from_ps[SIM_STAGE_HOST_WRITE],
                     220 * NS);
    /* The poll's reads begin when the write is done, and follow each other. */
    uint64_t first_read_ps = passage->kicked_ps + machine.host_write;
    uint64_t reads = (passage->visible_ps - first_read_ps + machine.host_read - 1) /
                     machine.host_read;
    assert_int_equal(ping.ended_ps, first_read_ps + (reads + 1) * machine.host_read);
    sim_world_close(world);
}

static void a_header_miss_costs_its_refill(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct ping ping = {.rounds = 1};
    fill(&machine);
    struct sim_world *world = open_world(&machine, 1, SIM_LOOP_INSIDE, false);
    sim_world_start(world, 0, 0, loop_back, &ping, 0);
    ends_well(world);
    const struct sim_passage *passage = sim_world_passage(world, 0);
    uint64_t ps = passage->to_ps[SIM_STAGE_HEADER_TLB] - passage->from_ps[SIM_STAGE_HEADER_TLB];
    /* 3 bus clocks, and CorePU from its next edge on. */
    uint64_t core_ps = (machine.core_dispatch_cycles + machine.tlb_refill_cycles) *
                       machine.clock_core;
    assert_in_range(ps, 30 * NS + core_ps, 30 * NS + core_ps + machine.clock_core);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.header_misses, 1);
    sim_world_close(world);
}

/* ---- Two boards ------------------------------------------------------------------------ */

static void ping(struct sim_host *host)
{
    struct ping *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1 - host->node, 0);
    for (mine->round = 1; mine->round <= mine->rounds; mine->round++) {
        if (host->node == 0) {
            SIM_STEP(host, sim_store(host, mine->kick, mine->round, 8));
        }
        SIM_STEP(host, sim_poll(host, 0, 8, UINT64_MAX, mine->round));
        if (host->node == 1) {
            SIM_STEP(host, sim_store(host, mine->kick, mine->round, 8));
        }
    }
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void two_boards_answer_each_other(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct ping pings[2] = {{.rounds = 100}, {.rounds = 100}};
    uint64_t ended_ps[2];
    fill(&machine);
    for (unsigned run = 0; run < 2; run++) {
        struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
        sim_world_start(world, 0, 0, ping, &pings[0], 0);
        sim_world_start(world, 1, 0, ping, &pings[1], 0);
        ends_well(world);
        ended_ps[run] = pings[0].ended_ps;
        sim_world_close(world);
    }
    assert_int_equal(ended_ps[0], ended_ps[1]);
    /* Twice: kick 100, stages 220, wire 100, 1 to 2 reads, and the bus clock's edge. */
    uint64_t least_ps = 100 * 2 * (100 + 220 + 100 + 173) * NS;
    assert_in_range(ended_ps[0], least_ps, least_ps + 100 * 2 * (173 + 10) * NS + 2000 * NS);
}

static void who_is_not_answered_is_named(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct ping alone = {.rounds = 1};
    char why[SIM_ERROR_BYTES];
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, ping, &alone, 0);
    enum sim_end end = sim_world_run(world, UINT64_MAX - 1);
    assert_int_equal(end, SIM_END_DEADLOCK);
    sim_world_why(world, end, why);
    assert_non_null(strstr(why, "deadlock"));
    assert_non_null(strstr(why, "node 0, user 0: polls the 8 bytes at offset 0 for 1"));
    sim_world_close(world);
}

/* ---- Blocks and RDMA ------------------------------------------------------------------- */

enum { BLOCK_BYTES = 464, BLOCKS = 200, TRANSFER_BYTES = 10000 };

struct stream {
    unsigned char source[TRANSFER_BYTES];
    unsigned char target[TRANSFER_BYTES];
    uint64_t kick;
    uint32_t i;
    uint64_t ended_ps;
};

static void send_blocks(struct sim_host *host)
{
    struct stream *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->i = 0; mine->i < BLOCKS; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(1, 4096 + (uint64_t)mine->i * BLOCK_BYTES),
                                 mine->source + mine->i, BLOCK_BYTES));
    }
    SIM_STEP(host, sim_store(host, mine->kick, 1, 1));
    SIM_END(host);
}

static void wait_for_blocks(struct sim_host *host)
{
    struct stream *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, 0, 1, 0xff, 1));
    mine->ended_ps = host->now_ps;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_memory_equal(sim_memory(host, 4096 + (uint64_t)i * BLOCK_BYTES), mine->source + i,
                            BLOCK_BYTES);
    }
    SIM_END(host);
}

static void fill_source(struct stream *stream)
{
    for (uint32_t i = 0; i < TRANSFER_BYTES; i++) {
        stream->source[i] = (unsigned char)(i * 7 + (i >> 8));
    }
}

static void blocks_flow_at_the_slowest_rate(void **state)
{
    (void)state;
    struct sim_machine machine;
    static struct stream stream;
    fill_source(&stream);
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, send_blocks, &stream, 0);
    sim_world_start(world, 1, 0, wait_for_blocks, &stream, 0);
    ends_well(world);
    sim_world_close(world);
    /* The link: 61 words of 16 ns each; the host's bus would take 10. */
    uint64_t link_ps = (uint64_t)BLOCKS * 61 * 16 * NS;
    assert_in_range(stream.ended_ps, link_ps, link_ps + link_ps / 20);
}

static void push_and_pull(struct sim_host *host)
{
    struct stream *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_push(host, sim_remote(1, 8192), mine->source, TRANSFER_BYTES));
    assert_int_equal(host->result, 0);
    SIM_STEP(host, sim_pull(host, sim_remote(1, 8192), mine->target, TRANSFER_BYTES));
    assert_int_equal(host->result, 0);
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void what_is_pushed_can_be_pulled(void **state)
{
    (void)state;
    struct sim_machine machine;
    static struct stream stream;
    fill_source(&stream);
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, push_and_pull, &stream, 0);
    ends_well(world);
    assert_memory_equal(stream.source, stream.target, TRANSFER_BYTES);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.address_misses, 1);
    sim_world_close(world);
}

enum { BANK_BYTES = 4096 };

static void send_into_bank(struct sim_host *host)
{
    struct stream *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_block(host, sim_remote_bank(1, 100), mine->source, 300));
    SIM_STEP(host, sim_store(host, mine->kick, 1, 1));
    SIM_END(host);
}

static void switch_and_look(struct sim_host *host)
{
    struct stream *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, 0, 1, 0xff, 1));
    /* It is in the other bank. */
    assert_memory_not_equal(sim_bank(host, 100), mine->source, 300);
    mine->ended_ps = host->now_ps;
    SIM_STEP(host, sim_switch_banks(host));
    assert_int_equal(host->now_ps - mine->ended_ps, 5000 * NS);
    assert_memory_equal(sim_bank(host, 100), mine->source, 300);
    SIM_END(host);
}

static void a_bank_is_seen_after_it_was_switched(void **state)
{
    (void)state;
    struct sim_machine machine;
    static struct stream stream;
    fill_source(&stream);
    fill(&machine);
    machine.bank_bytes = BANK_BYTES;
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, send_into_bank, &stream, 0);
    sim_world_start(world, 1, 0, switch_and_look, &stream, 0);
    ends_well(world);
    sim_world_close(world);
}

/* ---- Many users ------------------------------------------------------------------------ */

enum { USERS = 64, STORES = 40 };

struct user {
    uint64_t kick;
    uint64_t i;
};

static void store_much(struct sim_host *host)
{
    struct user *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, (uint64_t)host->user % 16 * 4096);
    for (mine->i = 1; mine->i <= STORES; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick + 8 * (uint64_t)host->user, mine->i, 8));
    }
    SIM_END(host);
}

/* More than the FIFO holds: the rest waits, and nothing is lost. */
static void users_share_a_nic(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct user users[USERS] = {0};
    char error[SIM_ERROR_BYTES];
    fill(&machine);
    machine.fifo_entries = USERS;
    const struct sim_world_config config = {
        .machine = &machine, .node_count = 2, .topology = SIM_BACK_TO_BACK, .user_count = USERS};
    struct sim_world *world = sim_world_open(&config, error);
    assert_non_null(world);
    for (uint32_t i = 0; i < USERS; i++) {
        sim_world_start(world, 0, i, store_much, &users[i], 0);
    }
    struct sim_host reader = {.world = world, .node = 1};
    ends_well(world);
    for (uint32_t i = 0; i < USERS; i++) {
        uint64_t word;
        memcpy(&word, sim_memory(&reader, (uint64_t)i % 16 * 4096 + 8 * (uint64_t)i), sizeof word);
        assert_int_equal(word, STORES);
    }
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.packets, USERS * STORES);
    sim_world_close(world);
}

/* ---- Services -------------------------------------------------------------------------- */

enum { NODES = 8, TURNS = 5 };

struct member {
    uint32_t turn;
    uint64_t ticket;
    uint64_t arrived_ps[TURNS], passed_ps[TURNS];
    uint64_t held_ps[TURNS], given_ps[TURNS];
};

static void meet(struct sim_host *host)
{
    struct member *mine = host->locals;
    SIM_BEGIN(host);
    sim_barrier_open(host, 3, NULL, NODES, host->node);
    for (mine->turn = 0; mine->turn < TURNS; mine->turn++) {
        SIM_STEP(host, sim_work(host, (uint64_t)(host->node * 37 % 11) * 1000 * NS));
        mine->arrived_ps[mine->turn] = host->now_ps;
        SIM_STEP(host, sim_nic_barrier(host, 3));
        assert_int_equal(host->result, 0);
        mine->passed_ps[mine->turn] = host->now_ps;
    }
    SIM_END(host);
}

static void nobody_passes_before_all_have_arrived(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct member members[NODES] = {0};
    fill(&machine);
    struct sim_world *world = open_world(&machine, NODES, SIM_ONE_SWITCH, true);
    for (uint32_t i = 0; i < NODES; i++) {
        sim_world_start(world, i, 0, meet, &members[i], 0);
    }
    ends_well(world);
    sim_world_close(world);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < NODES; i++) {
            for (uint32_t j = 0; j < NODES; j++) {
                assert_true(members[i].arrived_ps[turn] < members[j].passed_ps[turn]);
            }
        }
    }
}

static void exclude(struct sim_host *host)
{
    struct member *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->turn = 0; mine->turn < TURNS; mine->turn++) {
        SIM_STEP(host, sim_lock(host, 0, 99, &mine->ticket));
        assert_int_equal(host->result, 0);
        mine->held_ps[mine->turn] = host->now_ps;
        SIM_STEP(host, sim_work(host, 700 * NS));
        mine->given_ps[mine->turn] = host->now_ps;
        SIM_STEP(host, sim_unlock(host, mine->ticket));
    }
    SIM_END(host);
}

static void one_at_a_time_holds_a_lock(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct member members[NODES] = {0};
    fill(&machine);
    struct sim_world *world = open_world(&machine, NODES, SIM_ONE_SWITCH, true);
    for (uint32_t i = 0; i < NODES; i++) {
        sim_world_start(world, i, 0, exclude, &members[i], 0);
    }
    ends_well(world);
    sim_world_close(world);
    for (uint32_t i = 0; i < NODES * TURNS; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct member *one = &members[i / TURNS];
            const struct member *other = &members[j / TURNS];
            assert_true(one->given_ps[i % TURNS] < other->held_ps[j % TURNS] ||
                        other->given_ps[j % TURNS] < one->held_ps[i % TURNS]);
        }
    }
}

struct locker {
    uint32_t turn, turns;
    uint64_t ticket;
};

static void lock_and_unlock(struct sim_host *host)
{
    struct locker *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->turn = 0; mine->turn < mine->turns; mine->turn++) {
        SIM_STEP(host, sim_lock(host, 0, 99, &mine->ticket));
        SIM_STEP(host, sim_unlock(host, mine->ticket));
        SIM_STEP(host, sim_work(host, 100000 * NS));
    }
    SIM_STEP(host, sim_lock(host, 0, 99, &mine->ticket));
    SIM_STEP(host, sim_unlock(host, mine->ticket));
    SIM_END(host);
}

static uint64_t packets_of_locks(uint32_t turns)
{
    struct sim_machine machine;
    struct locker locker = {.turns = turns - 1};
    struct sim_world_counters counters;
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, true);
    sim_world_start(world, 1, 0, lock_and_unlock, &locker, 0);
    ends_well(world);
    sim_world_counters(world, &counters);
    sim_world_close(world);
    return counters.packets;
}

/* The last release is still to be sent when its program ends. */
static void a_world_is_done_when_nothing_is_left_to_send(void **state)
{
    (void)state;
    assert_int_equal(packets_of_locks(5), 5 * packets_of_locks(1));
}

/* ---- Multicast ------------------------------------------------------------------------- */

static void tell_all(struct sim_host *host)
{
    struct ping *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_store_all(host, mine->kick + 16, 77, 8, 1, NODES - 1));
    SIM_END(host);
}

static void hear(struct sim_host *host)
{
    struct ping *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, 16, 8, UINT64_MAX, 77));
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void one_store_reaches_all(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct ping pings[NODES] = {0};
    fill(&machine);
    struct sim_world *world = open_world(&machine, NODES, SIM_ONE_SWITCH, false);
    for (uint32_t i = 0; i < NODES; i++) {
        sim_world_start(world, i, 0, i == 0 ? tell_all : hear, &pings[i], 0);
    }
    ends_well(world);
    for (uint32_t i = 2; i < NODES; i++) {
        assert_int_equal(pings[i].ended_ps, pings[1].ended_ps);
    }
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.packets, 1);
    sim_world_close(world);
}

/* ---- Refusals -------------------------------------------------------------------------- */

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    fill(&machine);
    struct sim_world_config config = {
        .machine = &machine, .node_count = 2, .topology = SIM_BACK_TO_BACK, .user_count = 65};
    assert_null(sim_world_open(&config, error));
    assert_non_null(strstr(error, "[fifo] users"));
    config.user_count = 1;
    machine.send_buffers = 0;
    assert_null(sim_world_open(&config, error));
    assert_non_null(strstr(error, "[send] buffers"));
    fill(&machine);
    config.node_count = 3;
    assert_null(sim_world_open(&config, error));
    config.node_count = 0;
    assert_null(sim_world_open(&config, error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_takes_the_sum_of_its_stages),
        cmocka_unit_test(a_header_miss_costs_its_refill),
        cmocka_unit_test(two_boards_answer_each_other),
        cmocka_unit_test(who_is_not_answered_is_named),
        cmocka_unit_test(blocks_flow_at_the_slowest_rate),
        cmocka_unit_test(what_is_pushed_can_be_pulled),
        cmocka_unit_test(a_bank_is_seen_after_it_was_switched),
        cmocka_unit_test(users_share_a_nic),
        cmocka_unit_test(nobody_passes_before_all_have_arrived),
        cmocka_unit_test(one_at_a_time_holds_a_lock),
        cmocka_unit_test(a_world_is_done_when_nothing_is_left_to_send),
        cmocka_unit_test(one_store_reaches_all),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
