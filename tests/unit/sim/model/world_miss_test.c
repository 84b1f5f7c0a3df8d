/* Misses: whatever misses pays once, and nothing else does. */
#include "world_by_hand.h"

/* Dispatch and refill, at 20 ns: 10 + 50 clocks. */
#define REFILL_PS (1200 * NS)

static uint64_t stage_ps(const struct sim_passage *passage, enum sim_stage_name stage)
{
    return passage->to_ps[stage] - passage->from_ps[stage];
}

static void assert_refills(uint64_t ps, uint64_t hit_ps, uint32_t refills)
{
    /* CorePU begins at an edge of its own clock. */
    assert_in_range(ps, hit_ps + refills * REFILL_PS, hit_ps + refills * REFILL_PS + 20 * NS);
}

/* ---- Header TLB ---------------------------------------------------------------------------- */

/* One store to a page of each of many nodes, in rounds; notes how long the header TLB took. */
enum { NODES_MAX = 1400 };

struct scatter {
    uint32_t first, last; /* nodes that are stored to in this round */
    uint32_t round, rounds;
    uint32_t node;
    uint64_t pause_ps;
    uint64_t kicks[NODES_MAX];
    uint64_t missed[8][NODES_MAX]; /* by round */
};

static void scatter(struct sim_host *host)
{
    struct scatter *mine = host->locals;
    SIM_BEGIN(host);
    for (uint32_t node = 1; node <= mine->last; node++) {
        mine->kicks[node] = sim_kick(host, node, 0);
    }
    for (mine->round = 0; mine->round < mine->rounds; mine->round++) {
        for (mine->node = mine->first; mine->node <= mine->last; mine->node++) {
            SIM_STEP(host, sim_store(host, mine->kicks[mine->node], mine->round + 1, 8));
            if (mine->pause_ps > 0) {
                SIM_STEP(host, sim_work(host, mine->pause_ps));
            }
        }
        SIM_STEP(host, sim_work(host, 5000000 * NS));
        for (uint32_t node = mine->first; node <= mine->last; node++) {
            mine->missed[mine->round][node] = stage_ps(sim_world_passage(host->world, node),
                                                       SIM_STAGE_HEADER_TLB);
        }
    }
    SIM_END(host);
}

static void run_scatter(struct sim_machine *machine, struct scatter *locals)
{
    machine->switch_ports = NODES_MAX;
    struct sim_world *world = open_world(machine, locals->last + 1, SIM_ONE_SWITCH, false);
    sim_world_start(world, 0, 0, scatter, locals, 0);
    ends_well(world);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    uint64_t paid = 0;
    for (uint32_t round = 0; round < locals->rounds; round++) {
        for (uint32_t node = locals->first; node <= locals->last; node++) {
            paid += locals->missed[round][node] >= REFILL_PS;
        }
    }
    assert_int_equal(paid, counters.header_misses);
    sim_world_close(world);
}

/* 1,024 pages fit, 4 to a set; then every store hits. Both at full speed and one at a time. */
static void as_many_pages_as_the_header_tlb_holds_miss_once(void **state)
{
    (void)state;
    static struct scatter locals;
    struct sim_machine machine;
    for (unsigned paced = 0; paced < 2; paced++) {
        locals = (struct scatter){
            .first = 1, .last = 1024, .rounds = 3, .pause_ps = paced ? 3000 * NS : 0};
        fill(&machine);
        run_scatter(&machine, &locals);
        for (uint32_t node = 1; node <= 1024; node++) {
            assert_refills(locals.missed[0][node], 30 * NS, 1);
            assert_int_equal(locals.missed[1][node], 30 * NS);
            assert_int_equal(locals.missed[2][node], 30 * NS);
        }
    }
}

/* 256 more: every set gets 5 pages in turn and drops the one that was used longest ago, so each
 * page is gone when it is used again. */
static void one_page_more_in_a_set_misses_always(void **state)
{
    (void)state;
    static struct scatter locals;
    struct sim_machine machine;
    locals = (struct scatter){.first = 1, .last = 1280, .rounds = 3};
    fill(&machine);
    run_scatter(&machine, &locals);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t node = 1; node <= 1280; node++) {
            assert_refills(locals.missed[round][node], 30 * NS, 1);
        }
    }
}

/* Two sets have 5 pages, the others 4. */
static void only_the_sets_that_have_too_many_miss(void **state)
{
    (void)state;
    static struct scatter locals;
    struct sim_machine machine;
    locals = (struct scatter){.first = 1, .last = 1026, .rounds = 2};
    fill(&machine);
    run_scatter(&machine, &locals);
    for (uint32_t node = 1; node <= 1026; node++) {
        uint32_t set = (node - 1) % 256;
        assert_refills(locals.missed[1][node], 30 * NS, set < 2 ? 1 : 0);
    }
}

/* ---- Whose miss it is -------------------------------------------------------------------- */

struct two_pages {
    uint64_t known, fresh;
    uint32_t i;
};

/* They meet in the FIFO behind a long block, the one that hits before the one that misses. */
static void hit_then_miss(struct sim_host *host)
{
    struct two_pages *mine = host->locals;
    static unsigned char block[464];
    SIM_BEGIN(host);
    mine->known = sim_kick(host, 1, 0);
    mine->fresh = sim_kick(host, 2, 0);
    SIM_STEP(host, sim_store(host, mine->known, 1, 8));
    SIM_STEP(host, sim_work(host, 50000 * NS));
    SIM_STEP(host, sim_block(host, sim_remote(3, 4096), block, 464));
    SIM_STEP(host, sim_block(host, sim_remote(3, 4096), block, 464));
    SIM_STEP(host, sim_store(host, mine->known, 2, 8));
    SIM_STEP(host, sim_store(host, mine->fresh, 3, 8));
    SIM_END(host);
}

static void the_one_that_misses_is_charged(void **state)
{
    (void)state;
    struct two_pages locals = {0};
    struct sim_machine machine;
    fill(&machine);
    machine.send_buffers = 1;
    machine.link_mb_per_s = 50000000;
    struct sim_world *world = open_world(&machine, 4, SIM_ONE_SWITCH, false);
    sim_world_start(world, 0, 0, hit_then_miss, &locals, 0);
    ends_well(world);
    assert_int_equal(stage_ps(sim_world_passage(world, 1), SIM_STAGE_HEADER_TLB), 30 * NS);
    assert_refills(stage_ps(sim_world_passage(world, 2), SIM_STAGE_HEADER_TLB), 30 * NS, 1);
    sim_world_close(world);
}

/* ---- Address TLB ------------------------------------------------------------------------- */

struct blocks {
    uint32_t i;
    uint64_t refills_ps[4]; /* what the address TLB took, by block */
    unsigned char bytes[8];
};

static void send_short_blocks(struct sim_host *host)
{
    struct blocks *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 4; mine->i++) {
        SIM_STEP(host,
                 sim_block(host, sim_remote(1, 4096 + 8 * (uint64_t)mine->i), mine->bytes, 8));
    }
    SIM_END(host);
}

/* The blocks are 40 ns apart: the others come while the first one's refill is under way, and wait
 * for that refill only. */
static void an_area_is_refilled_once_for_all_that_wait_for_it(void **state)
{
    (void)state;
    struct blocks locals = {.bytes = {1}};
    struct sim_machine machine;
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, send_short_blocks, &locals, 0);
    ends_well(world);
    const struct sim_passage *last = sim_world_passage(world, 1);
    assert_int_equal(stage_ps(last, SIM_STAGE_ADDRESS_TLB), 20 * NS);
    /* Behind the refill they follow each other clock by clock. */
    assert_in_range(last->from_ps[SIM_STAGE_ADDRESS_TLB] - last->to_ps[SIM_STAGE_SWIF_RECEIVE],
                    REFILL_PS / 2, REFILL_PS + 50 * NS);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.address_misses, 1);
    sim_world_close(world);
}

/* ---- CD ---------------------------------------------------------------------------------- */

static void fill_cd(struct sim_machine *machine)
{
    fill(machine);
    machine->carrier_kind = SIM_CARRIER_CD;
    machine->carrier_contexts = 64;
    machine->carrier_ways = 4;
    machine->packet_data_bytes = 2048;
    machine->clock_nic = 10 * NS;
    machine->clock_tp = 10 * NS;
    machine->stages[SIM_STAGE_CORE_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_NIC, .word_cycles = 1, .gap_cycles = 7, .cd_gap_cycles = 11};
    machine->stages[SIM_STAGE_TRANSPORT_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_TP, .cycles = 6, .cd_cycles = 5, .miss_cycles = 4};
}

/* A burst to many peers: InfiniSWIF makes all their contexts at once, and the first packet to each
 * peer has missed, and so has its header. */
static void each_new_peer_of_a_burst_misses(void **state)
{
    (void)state;
    enum { PEERS = 32 };
    static struct scatter locals;
    struct sim_machine machine;
    locals = (struct scatter){.first = 1, .last = PEERS, .rounds = 2};
    fill_cd(&machine);
    machine.switch_ports = NODES_MAX;
    struct sim_world *world = open_world(&machine, PEERS + 1, SIM_ONE_SWITCH, false);
    sim_world_start(world, 0, 0, scatter, &locals, 0);
    /* Into the pause behind the first round. */
    assert_int_equal(sim_world_run(world, 200000 * NS), SIM_END_LIMIT);
    for (uint32_t node = 1; node <= PEERS; node++) {
        const struct sim_passage *passage = sim_world_passage(world, node);
        assert_int_equal(stage_ps(passage, SIM_STAGE_TRANSPORT_SEND), 150 * NS);
    }
    ends_well(world);
    for (uint32_t node = 1; node <= PEERS; node++) {
        assert_refills(locals.missed[0][node], 30 * NS, 1);
        assert_int_equal(locals.missed[1][node], 30 * NS);
        const struct sim_passage *passage = sim_world_passage(world, node);
        assert_int_equal(stage_ps(passage, SIM_STAGE_TRANSPORT_SEND), 110 * NS);
    }
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.context_misses, PEERS);
    assert_int_equal(counters.retransmissions, 0);
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_pages_as_the_header_tlb_holds_miss_once),
        cmocka_unit_test(one_page_more_in_a_set_misses_always),
        cmocka_unit_test(only_the_sets_that_have_too_many_miss),
        cmocka_unit_test(the_one_that_misses_is_charged),
        cmocka_unit_test(an_area_is_refilled_once_for_all_that_wait_for_it),
        cmocka_unit_test(each_new_peer_of_a_burst_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
