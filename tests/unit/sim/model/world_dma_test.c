/* A card: what arrives goes by DMA into host memory, where its host polls in its cache. */
#include "world_by_hand.h"

enum { SETUP = 5, WORD = 2, READ_NS = 70, CACHED_NS = 4, FILL_NS = 90, STRUCTURE_BYTES = 32 };

static void fill_card(struct sim_machine *machine)
{
    fill(machine);
    machine->dma_setup_cycles = SETUP;
    machine->dma_word_cycles = WORD;
    machine->dma_read = READ_NS * NS;
    machine->dma_structure_bytes = STRUCTURE_BYTES;
    machine->host_cached = CACHED_NS * NS;
    machine->host_fill = FILL_NS * NS;
}

static uint64_t dma_ps(uint64_t words)
{
    return (SETUP + WORD * words) * BUS_NS * NS;
}

/* ---- Stores -------------------------------------------------------------------------------- */

struct stores {
    uint64_t kick, i, count, pause_ps;
    struct sim_passage passages[8];
};

static void store(struct sim_host *host)
{
    struct stores *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->i = 0; mine->i < mine->count; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick, mine->i + 1, 8));
        SIM_STEP(host, sim_work(host, mine->pause_ps));
    }
    SIM_END(host);
}

static void poll(struct sim_host *host)
{
    struct stores *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < mine->count; mine->i++) {
        SIM_STEP(host, sim_poll(host, 0, 8, UINT64_MAX, mine->i + 1));
        mine->passages[mine->i] = *sim_world_passage(host->world, 1);
    }
    SIM_END(host);
}

static void run_stores(struct sim_machine *machine, struct stores *seen, uint64_t pause_ps)
{
    struct stores sent = {.count = 8, .pause_ps = pause_ps};
    *seen = (struct stores){.count = 8};
    struct sim_world *world = open_world(machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, store, &sent, 0);
    sim_world_start(world, 1, 0, poll, seen, 3);
    ends_well(world);
    sim_world_close(world);
}

/* From LLCM's write buffer on: set-up and one word; then the poll's next read, which brings the
 * line anew. */
static void a_store_is_polled_in_host_memory(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct stores seen;
    fill_card(&machine);
    run_stores(&machine, &seen, 5000 * NS);
    for (unsigned i = 0; i < 8; i++) {
        const struct sim_passage *passage = &seen.passages[i];
        assert_int_equal(passage->visible_ps, passage->to_ps[SIM_STAGE_LLCM_WRITE] + dma_ps(1));
        assert_int_equal(passage->seen_ps, passage->read_ps + FILL_NS * NS);
        assert_in_range(passage->read_ps - passage->visible_ps, 0, CACHED_NS * NS - 1);
    }
}

/* However often its host reads, nothing comes later; and a read costs the bus nothing. */
static void polls_do_not_hold_up_what_arrives(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct stores rare, often;
    fill_card(&machine);
    run_stores(&machine, &often, 2000 * NS);
    machine.host_cached = 150 * NS;
    run_stores(&machine, &rare, 2000 * NS);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(often.passages[i].visible_ps, rare.passages[i].visible_ps);
    }
}

/* ---- Loads --------------------------------------------------------------------------------- */

static void load_twice(struct sim_host *host)
{
    struct stores *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, 100000 * NS));
    mine->pause_ps = host->now_ps;
    SIM_STEP(host, sim_load(host, 0, 8));
    assert_int_equal(host->value, 8);
    assert_int_equal(host->now_ps - mine->pause_ps, FILL_NS * NS);
    mine->pause_ps = host->now_ps;
    SIM_STEP(host, sim_load(host, 0, 8));
    assert_int_equal(host->now_ps - mine->pause_ps, CACHED_NS * NS);
    SIM_END(host);
}

static void a_line_is_brought_once(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct stores sent = {.count = 8};
    struct stores loads = {0};
    fill_card(&machine);
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, store, &sent, 0);
    sim_world_start(world, 1, 0, load_twice, &loads, 0);
    ends_well(world);
    sim_world_close(world);
}

/* ---- Transfers ----------------------------------------------------------------------------- */

enum { BYTES = 46400 };

struct transfer {
    unsigned char data[BYTES];
    bool pulls;
    uint64_t ps;
};

static void transfer(struct sim_host *host)
{
    struct transfer *mine = host->locals;
    SIM_BEGIN(host);
    if (mine->pulls) {
        SIM_STEP(host, sim_pull(host, sim_remote(1, 4096), mine->data, BYTES));
    } else {
        SIM_STEP(host, sim_push(host, sim_remote(1, 4096), mine->data, BYTES));
    }
    mine->ps = sim_world_now(host->world);
    SIM_END(host);
}

/* 100 packets of 464 bytes: each takes the bus for its set-up, the memory's answer where it is
 * read, and 58 words. The link is four times as quick. */
static void transfers_take_the_bus(void **state)
{
    (void)state;
    struct sim_machine machine;
    static struct transfer mine;
    enum { PACKETS = BYTES / 464, WORDS = 464 / 8 };
    const uint64_t read_ps = dma_ps(WORDS) + READ_NS * NS;
    for (unsigned pulls = 0; pulls < 2; pulls++) {
        fill_card(&machine);
        machine.link_mb_per_s = 4000000000;
        mine.pulls = pulls;
        struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
        sim_world_start(world, 0, 0, transfer, &mine, 0);
        ends_well(world);
        assert_in_range(mine.ps, PACKETS * read_ps, (PACKETS + 8) * read_ps);
        sim_world_close(world);
    }
}

/* ---- Services ------------------------------------------------------------------------------ */

struct locking {
    uint64_t ticket, from_ps, ps;
};

static void lock(struct sim_host *host)
{
    struct locking *mine = host->locals;
    SIM_BEGIN(host);
    mine->from_ps = host->now_ps;
    SIM_STEP(host, sim_lock(host, 0, 64, &mine->ticket));
    assert_int_equal(host->result, 0);
    mine->ps = host->now_ps - mine->from_ps;
    SIM_STEP(host, sim_unlock(host, mine->ticket));
    SIM_END(host);
}

static uint64_t lock_ps(struct sim_machine *machine)
{
    struct locking mine = {0};
    struct sim_world *world = open_world(machine, 2, SIM_BACK_TO_BACK, true);
    sim_world_start(world, 1, 0, lock, &mine, 0);
    ends_well(world);
    sim_world_close(world);
    return mine.ps;
}

/* A request, its grant and their kick: three times CorePU reads what it keeps and writes it back,
 * and then tells its host by DMA, in place of the host's uncached read. */
static void what_a_lock_keeps_is_in_host_memory(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill_card(&machine);
    machine.host_read = machine.host_read8 = FILL_NS * NS; /* so that only DMA differs */
    machine.host_cached = FILL_NS * NS;
    machine.core_copy_word_cycles = 0;
    uint64_t card_ps = lock_ps(&machine);
    machine.dma_structure_bytes = 0;
    uint64_t without_ps = lock_ps(&machine);
    uint64_t round_ps = 2 * dma_ps(STRUCTURE_BYTES / 8) + READ_NS * NS;
    assert_true(without_ps > 0 && card_ps > without_ps);
    assert_in_range(card_ps - without_ps, 3 * round_ps - 400 * NS, 3 * round_ps + 200 * NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_polled_in_host_memory),
        cmocka_unit_test(polls_do_not_hold_up_what_arrives),
        cmocka_unit_test(a_line_is_brought_once),
        cmocka_unit_test(transfers_take_the_bus),
        cmocka_unit_test(what_a_lock_keeps_is_in_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
