/* Order: stores and blocks of one user take effect in the order they were given, whichever of them
 * misses; and one user's operations are not taken for another's. */
#include "world_by_hand.h"

enum { FLAG = 0, DATA = 4096, WORDS = 3 };

/* ---- One user's order ------------------------------------------------------------------- */

/* The steps of a sender: each puts its number into a word of its own at node 1. */
enum step { STORE_NEW_PAGE, STORE, SHORT_BLOCK, LONG_BLOCK };

struct sender {
    enum step steps[WORDS];
    uint64_t kick, kick_new;
    uint32_t i;
    unsigned char blocks[WORDS][464];
};

static uint64_t place_of(uint32_t i)
{
    return DATA + 512 * (uint64_t)i;
}

static void step(struct sim_host *host)
{
    struct sender *mine = host->locals;
    uint64_t value = mine->i + 1;
    mine->blocks[mine->i][0] = (unsigned char)value;
    switch (mine->steps[mine->i]) {
    case STORE_NEW_PAGE:
        sim_store(host, mine->kick_new + place_of(mine->i) - DATA, value, 8);
        break;
    case STORE: sim_store(host, mine->kick + 16 + 8 * (uint64_t)mine->i, value, 8); break;
    case SHORT_BLOCK:
    case LONG_BLOCK:
        sim_block(host, sim_remote(1, place_of(mine->i)), mine->blocks[mine->i],
                  mine->steps[mine->i] == SHORT_BLOCK ? 8 : 464);
        break;
    }
}

static void send_steps(struct sim_host *host)
{
    struct sender *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, FLAG);
    mine->kick_new = sim_kick(host, 1, DATA);
    /* Its header is in the TLB from now on, the other one's is not. */
    SIM_STEP(host, sim_store(host, mine->kick + 8, 1, 8));
    SIM_STEP(host, sim_work(host, 100000 * NS));
    for (mine->i = 0; mine->i < WORDS; mine->i++) {
        SIM_STEP(host, step(host));
    }
    SIM_END(host);
}

static uint64_t word_of(struct sim_host *host, uint32_t i, enum step step)
{
    uint64_t word;
    memcpy(&word, sim_memory(host, step == STORE ? 16 + 8 * (uint64_t)i : place_of(i)), 8);
    return word;
}

/* Looks at all words whenever the last one may have come. */
static void watch_last(struct sim_host *host)
{
    struct sender *sent = host->locals;
    SIM_BEGIN(host);
    if (sent->steps[WORDS - 1] == STORE) {
        SIM_STEP(host, sim_poll(host, 16 + 8 * (WORDS - 1), 8, UINT64_MAX, WORDS));
    } else {
        SIM_STEP(host, sim_poll(host, place_of(WORDS - 1), 1, 0xff, WORDS));
    }
    for (uint32_t i = 0; i < WORDS; i++) {
        assert_int_equal(word_of(host, i, sent->steps[i]), i + 1);
    }
    SIM_END(host);
}

static void in_order(struct sim_machine *machine, enum step one, enum step two, enum step three)
{
    struct sender sender = {.steps = {one, two, three}};
    struct sim_world *world = open_world(machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, send_steps, &sender, 0);
    sim_world_start(world, 1, 0, watch_last, &sender, 0);
    ends_well(world);
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    assert_int_equal(counters.retransmissions, 0);
    sim_world_close(world);
}

/* All orders of operations that use the TLBs and operations that bypass them, on links of several
 * speeds. */
static void all_orders(struct sim_machine *machine)
{
    static const uint64_t rates[] = {250000000, 500000000, 8000000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        machine->link_mb_per_s = rates[i];
        for (unsigned steps = 0; steps < 4 * 4 * 4; steps++) {
            in_order(machine, (enum step)(steps / 16), (enum step)(steps / 4 % 4),
                     (enum step)(steps % 4));
        }
    }
}

static void nothing_overtakes_a_miss(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    all_orders(&machine);
    machine.tlb_refill = SIM_REFILL_HOST;
    machine.host_refill = 2000 * NS;
    all_orders(&machine);
}

static void nothing_overtakes_what_is_padded(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    machine.packet_pad_bytes = 128;
    /* The host is faster than the padding. */
    machine.host_write = machine.host_write8 = 1 * NS;
    machine.host_burst_cycles = 0;
    all_orders(&machine);
}

/* CD numbers its packets: an overtaken one would have to be resent. */
static void no_packet_of_cd_is_overtaken(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    machine.carrier_kind = SIM_CARRIER_CD;
    machine.carrier_contexts = 16;
    machine.carrier_ways = 4;
    machine.packet_data_bytes = 2048;
    machine.clock_nic = 10 * NS;
    machine.clock_tp = 10 * NS;
    machine.stages[SIM_STAGE_CORE_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_NIC, .word_cycles = 1, .gap_cycles = 7};
    machine.stages[SIM_STAGE_TRANSPORT_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_TP, .cycles = 6, .miss_cycles = 400};
    all_orders(&machine);
}

/* ---- A block is what was written --------------------------------------------------------- */

static void reuse_source(struct sim_host *host)
{
    struct sender *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 100; mine->i++) {
        memset(mine->blocks[0], (int)mine->i, sizeof mine->blocks[0]);
        SIM_STEP(host, sim_block(host, sim_remote(1, DATA + 512 * (uint64_t)mine->i),
                                 mine->blocks[0], 464));
        memset(mine->blocks[0], 0xff, sizeof mine->blocks[0]);
    }
    SIM_END(host);
}

static void a_source_can_be_used_again_behind_its_block(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct sender sender = {0};
    fill(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, reuse_source, &sender, 0);
    ends_well(world);
    struct sim_host reader = {.world = world, .node = 1};
    for (uint32_t i = 0; i < 100; i++) {
        const unsigned char *block = sim_memory(&reader, DATA + 512 * (uint64_t)i);
        assert_int_equal(block[0], i);
        assert_int_equal(block[463], i);
    }
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overtakes_a_miss),
        cmocka_unit_test(nothing_overtakes_what_is_padded),
        cmocka_unit_test(no_packet_of_cd_is_overtaken),
        cmocka_unit_test(a_source_can_be_used_again_behind_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
