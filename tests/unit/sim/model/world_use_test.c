/* What a node's NIC says of its stages and tables: sums that one can follow. */
#include "world_by_hand.h"

enum { ROUNDS = 10 };

static struct sim_world *open_counting(struct sim_machine *machine, uint32_t nodes,
                                       enum sim_topology topology)
{
    char error[SIM_ERROR_BYTES] = "";
    const struct sim_world_config config = {
        .machine = machine, .node_count = nodes, .topology = topology, .counts_use = true};
    struct sim_world *world = sim_world_open(&config, error);
    assert_string_equal(error, "");
    assert_non_null(world);
    return world;
}

static struct sim_nic_use use_of(const struct sim_world *world, uint32_t node)
{
    struct sim_nic_use use;
    sim_world_use(world, node, &use);
    return use;
}

struct ping {
    uint64_t kick;
    uint32_t round;
};

static void ping(struct sim_host *host)
{
    struct ping *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1 - host->node, 0);
    for (mine->round = 1; mine->round <= ROUNDS; mine->round++) {
        if (host->node == 0) {
            SIM_STEP(host, sim_store(host, mine->kick, mine->round, 8));
        }
        SIM_STEP(host, sim_poll(host, 0, 8, UINT64_MAX, mine->round));
        if (host->node == 1) {
            SIM_STEP(host, sim_store(host, mine->kick, mine->round, 8));
        }
    }
    SIM_END(host);
}

/* One packet at a time: nobody waits but for an edge, and a stage is busy while it is inside. */
static void stages_of_lone_packets_are_their_cycles(void **state)
{
    (void)state;
    static const struct {
        enum sim_stage_name stage;
        uint64_t ns;
    } expected[] = {
        {SIM_STAGE_HOST_WRITE, 30},    {SIM_STAGE_TRANSACTION_QUEUE, 20},
        {SIM_STAGE_SIZE_DECISION, 10}, {SIM_STAGE_SEND_BUFFER, 10},
        {SIM_STAGE_SWIF_SEND, 40},     {SIM_STAGE_LINK, 100},
        {SIM_STAGE_SWIF_RECEIVE, 70},  {SIM_STAGE_LLCM_WRITE, 10},
    };
    struct sim_machine machine;
    struct ping pings[2] = {{0}};
    fill(&machine);
    struct sim_world *world = open_counting(&machine, 2, SIM_BACK_TO_BACK);
    sim_world_start(world, 0, 0, ping, &pings[0], 0);
    sim_world_start(world, 1, 0, ping, &pings[1], 0);
    ends_well(world);
    for (uint32_t node = 0; node < 2; node++) {
        struct sim_nic_use use = use_of(world, node);
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
            const struct sim_stage_use *stage = &use.stages[expected[i].stage];
            assert_int_equal(stage->count, ROUNDS);
            assert_int_equal(stage->inside_ps, ROUNDS * expected[i].ns * NS);
            assert_int_equal(stage->busy_ps, stage->inside_ps);
            assert_true(stage->waited_ps < (uint64_t)ROUNDS * BUS_NS * NS);
        }
        /* The first one's header had to be brought: 60 cycles of CorePU from its next edge on. */
        uint64_t tlb_ps = use.stages[SIM_STAGE_HEADER_TLB].inside_ps;
        assert_in_range(tlb_ps, (ROUNDS * 30 + 1200) * NS, (ROUNDS * 30 + 1220) * NS);
        assert_int_equal(use.stages[SIM_STAGE_PADDING].count, 0);
        assert_int_equal(use.stages[SIM_STAGE_MAC_SEND].count, 0);
        assert_int_equal(use.sent, ROUNDS);
        assert_int_equal(use.received, ROUNDS);
        assert_int_equal(use.sent_bytes, ROUNDS * (24 + 8)); /* a header of 24 and a word */
        assert_int_equal(use.received_bytes, use.sent_bytes);
        assert_int_equal(use.header_lookups, ROUNDS);
        assert_int_equal(use.header_misses, 1);
        assert_int_equal(use.address_lookups, 0); /* LLCM needs none */
        assert_int_equal(use.core_requests, 1);
        assert_int_equal(use.context_lookups, 0);
        assert_int_equal(use.lost, 0);
        assert_int_equal(use.under_way, 0);
    }
    sim_world_close(world);
}

struct burst {
    uint64_t kick;
    uint32_t sent;
};

static void store_all(struct sim_host *host)
{
    struct burst *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->sent = 0; mine->sent < ROUNDS; mine->sent++) {
        SIM_STEP(host, sim_store(host, mine->kick, mine->sent, 8));
    }
    SIM_END(host);
}

/* Packets that follow each other closely are in a stage together: it is busy for less than the sum
 * of their times. The link carries 32 bytes in 64 ns, its wire takes 100. */
static void what_overlaps_is_busy_once(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct burst burst;
    fill(&machine);
    machine.host_write8 = 10 * NS;
    machine.host_kick_cycles = 1;
    machine.link_mb_per_s = 500000000;
    struct sim_world *world = open_counting(&machine, 2, SIM_BACK_TO_BACK);
    sim_world_start(world, 0, 0, store_all, &burst, 0);
    ends_well(world);
    struct sim_nic_use use = use_of(world, 0);
    const struct sim_stage_use *link = &use.stages[SIM_STAGE_LINK];
    assert_int_equal(link->count, ROUNDS);
    assert_int_equal(link->inside_ps, ROUNDS * 100 * NS);
    assert_int_equal(link->busy_ps, ((ROUNDS - 1) * 64 + 100) * NS);
    assert_true(link->waited_ps > 0);
    const struct sim_stage_use *write = &use.stages[SIM_STAGE_HOST_WRITE];
    assert_int_equal(write->inside_ps, ROUNDS * 30 * NS);
    assert_true(write->busy_ps < write->inside_ps);
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        assert_true(use.stages[stage].busy_ps <= use.stages[stage].inside_ps);
        assert_true(use.stages[stage].busy_ps <= sim_world_now(world));
    }
    sim_world_close(world);
}

static void push(struct sim_host *host)
{
    static unsigned char data[64 * 1024];
    SIM_BEGIN(host);
    SIM_STEP(host, sim_push(host, sim_remote_bank(1, 0), data, sizeof data));
    assert_int_equal(host->result, 0);
    SIM_END(host);
}

/* What is lost is counted at its sender, and what was sent again, too. */
static void losses_and_repeats_are_the_senders(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct sim_world_counters counters;
    fill(&machine);
    machine.carrier_kind = SIM_CARRIER_CD;
    machine.packet_data_bytes = 2048;
    machine.bank_bytes = 64 * 1024;
    machine.bank_mb_per_s = 500000000;
    machine.link_loss_ppm = 50000;
    struct sim_world *world = open_counting(&machine, 2, SIM_BACK_TO_BACK);
    sim_world_start(world, 0, 0, push, NULL, 0);
    ends_well(world);
    sim_world_counters(world, &counters);
    struct sim_nic_use use = use_of(world, 0);
    struct sim_nic_use other = use_of(world, 1);
    assert_true(counters.lost > 0 && use.repeats > 0);
    assert_int_equal(use.lost + other.lost, counters.lost);
    assert_int_equal(use.sent + other.sent, counters.packets);
    assert_int_equal(use.sent, other.received + use.lost);
    assert_int_equal(other.sent, use.received + other.lost);
    assert_true(use.context_lookups >= 32);
    assert_true(use.context_misses >= 1 && use.context_misses <= use.context_lookups);
    assert_true(use.dma_busy_ps >= 64 * 1024 * 2 * NS);
    assert_int_equal(other.context_lookups, 0);
    assert_true(other.address_lookups >= 32);
    assert_int_equal(other.address_misses, 1);
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_of_lone_packets_are_their_cycles),
        cmocka_unit_test(what_overlaps_is_busy_once),
        cmocka_unit_test(losses_and_repeats_are_the_senders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
