/* Groups on one board: regions, physical pages, remote reads, packets of users, the CPU's TLB and
 * PEMM's signals. */
#include "unit/sim/model/world_by_hand.h"

#include "wire/operation.h"

enum { USERS = 3, REGION = 8192, OTHERS = 16384, PLACE = 4096 };

static struct sim_world *open_groups(struct sim_machine *machine, uint32_t users)
{
    char error[SIM_ERROR_BYTES];
    const struct sim_world_config config = {
        .machine = machine, .node_count = 2, .topology = SIM_BACK_TO_BACK, .user_count = users};
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

static uint64_t word_at(struct sim_world *world, uint32_t node, uint64_t offset)
{
    struct sim_host reader = {.world = world, .node = node};
    uint64_t word;
    memcpy(&word, sim_memory(&reader, offset), sizeof word);
    return word;
}

/* ---- Groups ------------------------------------------------------------------------------- */

/* What the programs share: each user of node 1 has a region for its group, 100 + its number. */
struct groups {
    uint32_t areas[USERS];
    uint32_t opened;
};

static void own_region(struct sim_host *host)
{
    struct groups *groups = host->locals;
    SIM_BEGIN(host);
    assert_int_equal(sim_group_join(host, 100 + host->user), 0);
    groups->areas[host->user] = sim_region_open(host, REGION + host->user * UINT64_C(4096), 4096);
    groups->opened++;
    SIM_END(host);
}

struct trying {
    struct groups *groups;
    uint64_t own, physical, foreign;
    unsigned char block[16];
};

/* Reaches its own region in every way, and the next user's in none. */
static void try_regions(struct sim_host *host)
{
    struct trying *mine = host->locals;
    uint32_t own = mine->groups->areas[host->user];
    uint32_t foreign = mine->groups->areas[(host->user + 1) % USERS];
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 1000 * NS));
    assert_int_equal(mine->groups->opened, USERS);
    assert_int_equal(sim_group_join(host, 100 + host->user), 0);
    memset(mine->block, 0x11, sizeof mine->block);
    own = mine->groups->areas[host->user];
    foreign = mine->groups->areas[(host->user + 1) % USERS];
    assert_int_equal(sim_kick_open(host, sim_remote_region(1, own, 0), false, &mine->own), 0);
    assert_int_equal(sim_kick_open(host, sim_remote_region(1, own, 0), true, &mine->physical), 0);
    assert_int_equal(sim_kick_open(host, sim_remote_region(1, foreign, 0), true, &mine->foreign),
                     DN_ERIGHTS);
    assert_int_equal(sim_kick_open(host, sim_remote(1, 0), true, &mine->foreign), DN_ERIGHTS);
    assert_int_equal(sim_kick_open(host, sim_remote_region(1, foreign, 0), false, &mine->foreign),
                     0);
    SIM_STEP(host, sim_store(host, mine->own + 8, 1 + host->user, 8));
    SIM_STEP(host, sim_store(host, mine->physical + 16, 11 + host->user, 8));
    SIM_STEP(host, sim_store(host, mine->foreign + 24, 21, 8));
    SIM_STEP(host, sim_block(host, sim_remote_region(1, foreign, 32), mine->block, 16));
    SIM_STEP(host, sim_block(host, sim_remote(1, 64), mine->block, 16));
    SIM_STEP(host, sim_block(host, sim_remote_region(1, own, 4088), mine->block, 16));
    SIM_END(host);
}

static void groups_do_not_reach_each_other(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct groups groups = {0};
    struct trying trying[USERS];
    fill(&machine);
    struct sim_world *world = open_groups(&machine, USERS);
    for (uint32_t user = 0; user < USERS; user++) {
        trying[user] = (struct trying){.groups = &groups};
        sim_world_start(world, 1, user, own_region, &groups, 0);
        sim_world_start(world, 0, user, try_regions, &trying[user], 0);
    }
    ends_well(world);
    for (uint32_t user = 0; user < USERS; user++) {
        uint64_t region = REGION + user * UINT64_C(4096);
        assert_int_equal(word_at(world, 1, region + 8), 1 + user);
        assert_int_equal(word_at(world, 1, region + 16), 11 + user);
        assert_int_equal(word_at(world, 1, region + 24), 0);
        assert_int_equal(word_at(world, 1, region + 32), 0);
        assert_int_equal(word_at(world, 1, region + 4088), 0);
    }
    assert_int_equal(word_at(world, 1, 64), 0);
    /* Each user made a store and a block into a foreign region, one into the LLCM as a whole, and
     * one that leaves its own region. */
    assert_int_equal(counters_of(world).refused, 4 * USERS);
    assert_int_equal(counters_of(world).foreign, 3 * USERS);
    sim_world_close(world);
}

static void join_a_group(struct sim_host *host)
{
    SIM_BEGIN(host);
    assert_int_equal(sim_group_join(host, 5), DN_ENOTSUP);
    SIM_END(host);
}

static void infiniswif_has_one_group(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    machine.carrier_kind = SIM_CARRIER_CD;
    machine.carrier_contexts = 16;
    machine.carrier_ways = 4;
    struct sim_world *world = open_groups(&machine, 1);
    sim_world_start(world, 0, 0, join_a_group, NULL, 0);
    ends_well(world);
    sim_world_close(world);
}

/* ---- Widths, reads, packets --------------------------------------------------------------- */

struct reading {
    uint64_t store, read;
    uint64_t start_ps, took_ps;
    unsigned char packet[64];
};

/* 7 bytes there, 5 of them back by a store, and all 8 by a packet of its own. */
static void store_and_read(struct sim_host *host)
{
    struct reading *mine = host->locals;
    struct wire_operation read;
    SIM_BEGIN(host);
    mine->store = sim_kick(host, 1, 0);
    assert_int_equal(sim_kick_read(host, sim_remote(1, 0), PLACE, &mine->read), 0);
    SIM_STEP(host, sim_store(host, mine->store + 65, UINT64_C(0x07060504030201), 7));
    mine->start_ps = host->now_ps;
    SIM_STEP(host, sim_store(host, mine->read + 66, 16, 5));
    SIM_STEP(host, sim_poll(host, PLACE + 16, 8, UINT64_MAX, UINT64_C(0x0605040302)));
    mine->took_ps = host->now_ps - mine->start_ps;
    read = (struct wire_operation){.opcode = WIRE_PULL,
                                   .bytes = 8,
                                   .area = 1,
                                   .offset = 64,
                                   .tag = UINT64_C(1) << 32 | (PLACE + 32)};
    wire_operation_encode(&read, mine->packet);
    SIM_STEP(host, sim_packet(host, 1, mine->packet, wire_operation_bytes(&read)));
    SIM_STEP(host, sim_poll(host, PLACE + 32, 8, UINT64_MAX, UINT64_C(0x0706050403020100)));
    SIM_END(host);
}

static void reads_come_back_to_the_local_page(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct reading reading = {0};
    fill(&machine);
    struct sim_world *world = open_groups(&machine, 1);
    sim_world_start(world, 0, 0, store_and_read, &reading, 0);
    ends_well(world);
    assert_int_equal(word_at(world, 1, 64), UINT64_C(0x0706050403020100));
    /* Longer than one way, and no longer than two ways, two refills and a read. */
    assert_in_range(reading.took_ps, 600 * NS, 6000 * NS);
    assert_int_equal(counters_of(world).refused, 0);
    sim_world_close(world);
}

struct mailing {
    unsigned char packet[32];
    uint64_t seen_ps;
};

static void send_unknown(struct sim_host *host)
{
    struct mailing *mine = host->locals;
    SIM_BEGIN(host);
    mine->packet[0] = 77;
    mine->packet[16] = 99;
    SIM_STEP(host, sim_packet(host, 1, mine->packet, sizeof mine->packet));
    SIM_END(host);
}

static void get_unknown(struct sim_host *host)
{
    struct mailing *mine = host->locals;
    SIM_BEGIN(host);
    sim_mailbox_open(host, PLACE, 64);
    SIM_STEP(host, sim_poll(host, PLACE, 8, UINT64_MAX, 1));
    mine->seen_ps = host->now_ps;
    SIM_STEP(host, sim_load(host, PLACE + 8 + 16, 1));
    assert_int_equal(host->value, 99);
    SIM_END(host);
}

/* It interrupts the core processor, which copies it, word by word. */
static void an_unknown_packet_goes_to_the_core_processor(void **state)
{
    (void)state;
    for (unsigned copy_cycles = 0; copy_cycles <= 100; copy_cycles += 100) {
        static uint64_t without_ps;
        struct sim_machine machine;
        struct mailing sender = {{0}, 0};
        struct mailing receiver = {{0}, 0};
        fill(&machine);
        machine.core_copy_word_cycles = copy_cycles;
        struct sim_world *world = open_groups(&machine, 1);
        sim_world_start(world, 0, 0, send_unknown, &sender, 0);
        sim_world_start(world, 1, 0, get_unknown, &receiver, 0);
        ends_well(world);
        assert_int_equal(counters_of(world).unknown, 1);
        assert_int_equal(counters_of(world).unknown_dropped, 0);
        assert_int_equal(counters_of(world).core_requests, 1);
        if (copy_cycles == 0) {
            without_ps = receiver.seen_ps;
        } else { /* two words, at 100 clocks of 20 ns; then the next read */
            assert_in_range(receiver.seen_ps - without_ps, 4000 * NS - 173 * NS,
                            4000 * NS + 173 * NS);
        }
        sim_world_close(world);
    }
}

static void an_unknown_packet_without_a_place_is_dropped(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct mailing sender = {{0}, 0};
    fill(&machine);
    struct sim_world *world = open_groups(&machine, 1);
    sim_world_start(world, 0, 0, send_unknown, &sender, 0);
    ends_well(world);
    assert_int_equal(counters_of(world).unknown_dropped, 1);
    sim_world_close(world);
}

/* ---- The CPU's TLB ------------------------------------------------------------------------ */

enum { ENTRIES = 16, MISS_NS = 40, PAGES_MAX = 32 };

struct paging {
    uint32_t pages, i;
    uint64_t kicks[PAGES_MAX];
    uint64_t took_ps;
};

/* Two rounds over its pages. */
static void store_round(struct sim_host *host)
{
    struct paging *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < mine->pages; mine->i++) {
        mine->kicks[mine->i] = sim_kick(host, 1, 0);
    }
    mine->took_ps = host->now_ps;
    for (mine->i = 0; mine->i < 2 * mine->pages; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kicks[mine->i % mine->pages], 1, 8));
    }
    mine->took_ps = host->now_ps - mine->took_ps;
    SIM_END(host);
}

/* As many pages as entries never miss; twice as many, in turn, always do. */
static void kick_pages_beyond_the_cpus_tlb_cost_time(void **state)
{
    static const struct {
        uint32_t pages;
        uint64_t misses;
    } cases[] = {{ENTRIES, 0}, {2 * ENTRIES, 4 * ENTRIES}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_machine machine;
        struct paging paging = {.pages = cases[i].pages};
        fill(&machine);
        machine.host_tlb_entries = ENTRIES;
        machine.host_tlb_miss = MISS_NS * NS;
        struct sim_world *world = open_groups(&machine, 1);
        sim_world_start(world, 0, 0, store_round, &paging, 0);
        ends_well(world);
        assert_int_equal(counters_of(world).cpu_misses, cases[i].misses);
        assert_int_equal(paging.took_ps,
                         (2 * cases[i].pages * 53 + cases[i].misses * MISS_NS) * NS);
        sim_world_close(world);
    }
}

/* ---- PEMM --------------------------------------------------------------------------------- */

static void wait_for_word(struct sim_host *host)
{
    uint64_t *seen_ps = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_wait(host, 8, 8, UINT64_MAX, 5));
    *seen_ps = host->now_ps;
    SIM_END(host);
}

static void store_late(struct sim_host *host)
{
    uint64_t *kick = host->locals;
    SIM_BEGIN(host);
    *kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_work(host, 20000 * NS));
    SIM_STEP(host, sim_store(host, *kick + 8, 5, 8));
    SIM_END(host);
}

/* Asleep, a host is busy only with the interrupt and one read; without the signal it polls. */
static void a_host_with_pemm_sleeps(void **state)
{
    (void)state;
    for (unsigned pemm = 0; pemm <= 1; pemm++) {
        struct sim_machine machine;
        uint64_t kick;
        uint64_t seen_ps;
        fill(&machine);
        machine.host_pemm = pemm;
        machine.host_interrupt = 3000 * NS;
        struct sim_world *world = open_groups(&machine, 1);
        sim_world_start(world, 0, 0, store_late, &kick, 0);
        sim_world_start(world, 1, 0, wait_for_word, &seen_ps, 0);
        ends_well(world);
        uint64_t visible_ps = sim_world_passage(world, 1)->visible_ps;
        assert_int_equal(sim_world_busy(world, 1, false), (pemm ? 3173 * NS : 173 * NS));
        if (pemm) {
            assert_int_equal(seen_ps, visible_ps + (3000 + 173) * NS);
        } else {
            assert_in_range(seen_ps, visible_ps + 173 * NS, visible_ps + 2 * 173 * NS);
        }
        sim_world_close(world);
    }
}

static void switch_banks(struct sim_host *host)
{
    SIM_BEGIN(host);
    memset(sim_bank(host, 0), 1, 8);
    SIM_STEP(host, sim_switch_banks(host));
    SIM_END(host);
}

static void read_in_a_switch(struct sim_host *host)
{
    unsigned char *into = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 1000 * NS));
    SIM_STEP(host, sim_bank_read(host, 0, into, 8));
    assert_int_equal(host->result, 0);
    assert_int_equal(host->now_ps, (5000 + BUS_NS) * NS);
    SIM_END(host);
}

/* PEMM's other signal: the read stands still until the banks have changed sides. */
static void a_host_with_pemm_waits_for_a_switch(void **state)
{
    (void)state;
    struct sim_machine machine;
    unsigned char into[8];
    memset(into, 9, sizeof into);
    fill(&machine);
    machine.bank_bytes = 4096;
    machine.host_pemm = 1;
    struct sim_world *world = open_groups(&machine, 2);
    sim_world_start(world, 0, 0, switch_banks, NULL, 0);
    sim_world_start(world, 0, 1, read_in_a_switch, into, 0);
    ends_well(world);
    assert_int_equal(into[0], 0); /* of the bank that faced the network */
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_do_not_reach_each_other),
        cmocka_unit_test(infiniswif_has_one_group),
        cmocka_unit_test(reads_come_back_to_the_local_page),
        cmocka_unit_test(an_unknown_packet_goes_to_the_core_processor),
        cmocka_unit_test(an_unknown_packet_without_a_place_is_dropped),
        cmocka_unit_test(kick_pages_beyond_the_cpus_tlb_cost_time),
        cmocka_unit_test(a_host_with_pemm_sleeps),
        cmocka_unit_test(a_host_with_pemm_waits_for_a_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
