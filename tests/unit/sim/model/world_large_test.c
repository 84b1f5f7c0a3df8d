/* Worlds as a whole: the same every time, wherever they lie in memory; as large as they can be, and
 * gone when they are closed; copies of a multicast; banks that change sides under traffic. */
#include "world_by_hand.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/resource.h>

#include "base/random.h"

/* ---- Determinism ------------------------------------------------------------------------- */

enum { NODES = 24, STEPS = 40 };

struct wanderer {
    struct base_random random;
    uint64_t kicks[NODES];
    uint32_t i;
    uint64_t sum; /* of all that it saw, and when */
    unsigned char block[464];
};

static void see(struct sim_host *host, struct wanderer *mine, uint64_t what)
{
    mine->sum = (mine->sum ^ what ^ host->now_ps) * UINT64_C(0x100000001b3);
}

/* Takes some step to some node, which follows from the random numbers alone. */
static void step(struct sim_host *host)
{
    struct wanderer *mine = host->locals;
    uint32_t target = (uint32_t)base_random_below(&mine->random, NODES);
    uint64_t place = 8 * base_random_below(&mine->random, 400);
    switch (base_random_below(&mine->random, 6)) {
    case 0: sim_store(host, mine->kicks[target] + place, mine->i, 8); break;
    case 1: sim_load(host, place, 8); break;
    case 2: sim_block(host, sim_remote(target, place), mine->block, 1 + mine->i * 11 % 464); break;
    case 3: sim_push(host, sim_remote(target, place), mine->block, 200); break;
    case 4: sim_pull(host, sim_remote(target, place), mine->block, 200); break;
    default: sim_work(host, base_random_below(&mine->random, 2000 * NS)); break;
    }
}

static void wander(struct sim_host *host)
{
    struct wanderer *mine = host->locals;
    SIM_BEGIN(host);
    for (uint32_t node = 0; node < NODES; node++) {
        mine->kicks[node] = sim_kick(host, node, 0);
    }
    for (mine->i = 0; mine->i < STEPS; mine->i++) {
        SIM_STEP(host, step(host));
        see(host, mine, host->value);
    }
    SIM_END(host);
}

static uint64_t run_wanderers(struct sim_machine *machine, enum sim_topology topology)
{
    struct wanderer *wanderers = calloc(NODES, sizeof *wanderers);
    assert_non_null(wanderers);
    struct sim_world *world = open_world(machine, NODES, topology, false);
    for (uint32_t node = 0; node < NODES; node++) {
        wanderers[node].random = (struct base_random){node + 1};
        sim_world_start(world, node, 0, wander, &wanderers[node], 0);
    }
    ends_well(world);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    uint64_t sum = sim_world_now(world) ^ counters.events << 20 ^ counters.packets << 40;
    for (uint32_t node = 0; node < NODES; node++) {
        sum = (sum ^ wanderers[node].sum) * UINT64_C(0x100000001b3);
    }
    sim_world_close(world);
    free(wanderers);
    return sum;
}

static void fill_cd(struct sim_machine *machine)
{
    fill(machine);
    machine->carrier_kind = SIM_CARRIER_CD;
    machine->carrier_contexts = 16;
    machine->carrier_ways = 4;
    machine->packet_data_bytes = 2048;
    machine->clock_nic = 10 * NS;
    machine->stages[SIM_STAGE_CORE_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_NIC, .word_cycles = 1, .gap_cycles = 7, .cd_gap_cycles = 11};
}

/* Other allocations in between give the next world other addresses. */
static void a_run_does_not_depend_on_addresses(void **state)
{
    (void)state;
    static const enum sim_topology topologies[] = {SIM_SWITCH_TREE, SIM_FAT_TREE};
    for (unsigned i = 0; i < 4; i++) {
        struct sim_machine machine;
        (i % 2 ? fill_cd : fill)(&machine);
        uint64_t first = run_wanderers(&machine, topologies[i / 2]);
        void *moved[8];
        for (unsigned j = 0; j < 8; j++) {
            moved[j] = malloc(1000 + 70000 * (size_t)j);
            assert_non_null(moved[j]);
            memset(moved[j], 0xa5, 1000);
        }
        assert_int_equal(run_wanderers(&machine, topologies[i / 2]), first);
        for (unsigned j = 0; j < 8; j++) {
            free(moved[j]);
        }
    }
}

/* ---- Size -------------------------------------------------------------------------------- */

static size_t memory_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

static void do_nothing(struct sim_host *host)
{
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 1));
    SIM_END(host);
}

static void as_many_nodes_as_there_can_be(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    size_t before = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct sim_world *world = open_world(&machine, WIRE_NODES_MAX, SIM_FAT_TREE, false);
        sim_world_start(world, WIRE_NODES_MAX - 1, 0, do_nothing, NULL, 0);
        ends_well(world);
        sim_world_close(world);
        before = i == 0 ? memory_in_use() : before;
    }
    /* What the allocator keeps for itself counts as used. */
    assert_true(memory_in_use() <= before + 4096);
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    /* In KiB; an idle node has some pages. Sanitizers and emulators have memory of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (!getenv("DN_TEST_EMULATED")) {
        assert_true(usage.ru_maxrss < 2L * 1024 * 1024);
    }
#endif
}

static void one_node_more_is_refused(void **state)
{
    (void)state;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    fill(&machine);
    const struct sim_world_config config = {
        .machine = &machine, .node_count = WIRE_NODES_MAX + 1, .topology = SIM_FAT_TREE};
    assert_null(sim_world_open(&config, error));
    assert_non_null(strstr(error, "65,534"));
}

/* ---- Multicast --------------------------------------------------------------------------- */

enum { FIRST = 3, COUNT = 90, ALL = 100 };

static void tell_most(struct sim_host *host)
{
    uint64_t *kick = host->locals;
    SIM_BEGIN(host);
    *kick = sim_kick(host, FIRST, 4096);
    SIM_STEP(host, sim_store_all(host, *kick + 24, 77, 8, FIRST, COUNT));
    SIM_STEP(host, sim_store_all(host, *kick + 24, 78, 8, FIRST, COUNT));
    SIM_END(host);
}

/* The sender is one of the nodes, and gets a copy, too. */
static void a_multicast_reaches_its_nodes_and_no_others(void **state)
{
    (void)state;
    static const enum sim_topology topologies[] = {SIM_SWITCH_TREE, SIM_FAT_TREE};
    for (unsigned i = 0; i < 2; i++) {
        struct sim_machine machine;
        uint64_t kick;
        fill(&machine);
        struct sim_world *world = open_world(&machine, ALL, topologies[i], false);
        sim_world_start(world, 50, 0, tell_most, &kick, 0);
        ends_well(world);
        for (uint32_t node = 0; node < ALL; node++) {
            struct sim_host reader = {.world = world, .node = node};
            uint64_t word;
            memcpy(&word, sim_memory(&reader, 4096 + 24), sizeof word);
            assert_int_equal(word, node >= FIRST && node < FIRST + COUNT ? 78 : 0);
        }
        struct sim_world_counters counters;
        sim_world_counters(world, &counters);
        assert_int_equal(counters.packets, 2);
        sim_world_close(world);
    }
}

/* ---- Banks ------------------------------------------------------------------------------- */

enum { BLOCKS = 60 };

struct banks {
    uint32_t i;
    uint32_t first, second; /* blocks that were found in each bank */
    uint64_t block[8];
};

static void fill_banks(struct sim_host *host)
{
    struct banks *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < BLOCKS; mine->i++) {
        mine->block[0] = mine->i + 1;
        SIM_STEP(host,
                 sim_block(host, sim_remote_bank(1, 64 * (uint64_t)mine->i), mine->block, 64));
    }
    SIM_END(host);
}

static uint32_t count_blocks(struct sim_host *host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t word;
        memcpy(&word, sim_bank(host, 64 * (uint64_t)i), sizeof word);
        assert_true(word == 0 || word == i + 1);
        count += word != 0;
    }
    return count;
}

/* Switches in the midst of the blocks. The first bank has all that came before its end, the other
 * the rest: none is lost, none is in both. */
static void switch_in_between(struct sim_host *host)
{
    struct banks *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 4000 * NS));
    SIM_STEP(host, sim_switch_banks(host));
    mine->first = count_blocks(host);
    SIM_STEP(host, sim_work(host, 100000 * NS));
    assert_int_equal(count_blocks(host), mine->first); /* nothing comes into it any more */
    SIM_STEP(host, sim_switch_banks(host));
    mine->second = count_blocks(host);
    SIM_END(host);
}

static void blocks_are_in_one_bank_or_the_other(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct banks sender = {0};
    struct banks receiver = {0};
    fill(&machine);
    machine.bank_bytes = 4096;
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, fill_banks, &sender, 0);
    sim_world_start(world, 1, 0, switch_in_between, &receiver, 0);
    ends_well(world);
    assert_true(receiver.first > 5 && receiver.second > 5);
    assert_int_equal(receiver.first + receiver.second, BLOCKS);
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_does_not_depend_on_addresses),
        cmocka_unit_test(as_many_nodes_as_there_can_be),
        cmocka_unit_test(one_node_more_is_refused),
        cmocka_unit_test(a_multicast_reaches_its_nodes_and_no_others),
        cmocka_unit_test(blocks_are_in_one_bank_or_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
