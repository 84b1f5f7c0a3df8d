/* InfiniSWIF by hand: paper 002's equations to the cycle. All clocks have 10 ns, so no time is lost
 * between them. Also BOTF's windows, whose status is read. */
#include "world_by_hand.h"

enum { CYCLE_NS = 10, A = 6, B = 4, D = 7, E = 2, MAC = 30, GAP = 7, CD_GAP = 11 };
enum { CD_A = 5, CD_E = 5, MISS_A = 4, OVERHEAD_WORDS = 3 };

static void fill_infiniswif(struct sim_machine *machine, enum sim_carrier carrier)
{
    fill(machine);
    machine->carrier_kind = carrier;
    machine->carrier_contexts = 16;
    machine->carrier_ways = 4;
    machine->packet_data_bytes = 2048;
    machine->packet_ack_bytes = 24;
    machine->clock_nic = machine->clock_tp = machine->clock_dl = machine->clock_mac = CYCLE_NS * NS;
    machine->link_mb_per_s = 1000000000;
    machine->link_wire = 0;
    struct sim_stage *stages = machine->stages;
    stages[SIM_STAGE_CORE_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_NIC, .word_cycles = 1, .gap_cycles = GAP, .cd_gap_cycles = CD_GAP};
    stages[SIM_STAGE_TRANSPORT_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_TP, .cycles = A, .cd_cycles = CD_A, .miss_cycles = MISS_A};
    stages[SIM_STAGE_DATA_LINK_SEND] = (struct sim_stage){
        .clock = SIM_CLOCK_DL, .cycles = B, .word_cycles = 1};
    stages[SIM_STAGE_MAC_SEND] = (struct sim_stage){.clock = SIM_CLOCK_MAC, .cycles = MAC};
    stages[SIM_STAGE_MAC_RECEIVE] = (struct sim_stage){.clock = SIM_CLOCK_MAC, .cycles = MAC};
    stages[SIM_STAGE_DATA_LINK_RECEIVE] = (struct sim_stage){.clock = SIM_CLOCK_DL, .cycles = D};
    stages[SIM_STAGE_TRANSPORT_RECEIVE] = (struct sim_stage){
        .clock = SIM_CLOCK_TP, .cycles = E, .cd_cycles = CD_E};
    stages[SIM_STAGE_SWIF_SEND] = stages[SIM_STAGE_SWIF_RECEIVE] = (struct sim_stage){0};
}

/* ---- One store at a time --------------------------------------------------------------- */

enum { STORES = 3 };

struct stores {
    uint64_t kick;
    uint32_t i;
    uint64_t transit_ps[STORES], header_ps[STORES];
};

static void store_and_look(struct sim_host *host)
{
    struct stores *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->i = 0; mine->i < STORES; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick, mine->i + 1, 8));
        SIM_STEP(host, sim_work(host, 100000 * NS));
        const struct sim_passage *passage = sim_world_passage(host->world, 1);
        mine->transit_ps[mine->i] = passage->to_ps[SIM_STAGE_TRANSPORT_RECEIVE] -
                                    passage->from_ps[SIM_STAGE_CORE_SEND];
        mine->header_ps[mine->i] = passage->to_ps[SIM_STAGE_HEADER_TLB] -
                                   passage->from_ps[SIM_STAGE_HEADER_TLB];
    }
    SIM_END(host);
}

/* n/NIC + (A + E)/TP + (B + D + n)/DL + C/MAC, with n = 4. */
static void eight_bytes_take_what_the_equation_says(void **state)
{
    (void)state;
    const uint64_t n = OVERHEAD_WORDS + 1;
    for (unsigned cd = 0; cd < 2; cd++) {
        struct sim_machine machine;
        struct stores stores = {0};
        fill_infiniswif(&machine, cd ? SIM_CARRIER_CD : SIM_CARRIER_UD);
        struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
        sim_world_start(world, 0, 0, store_and_look, &stores, 0);
        ends_well(world);
        sim_world_close(world);
        uint64_t ud = n + A + E + B + D + n + 2 * MAC;
        uint64_t hit = ud + CD_A + CD_E;
        uint64_t clocks[STORES] = {cd ? hit + MISS_A : ud, cd ? hit : ud, cd ? hit : ud};
        for (unsigned i = 0; i < STORES; i++) {
            assert_int_equal(stores.transit_ps[i], clocks[i] * CYCLE_NS * NS);
        }
        /* The header misses once, too: 3 clocks, and CorePU's 60 of 20 ns from its edge on. */
        assert_in_range(stores.header_ps[0], 1230 * NS, 1240 * NS);
        assert_int_equal(stores.header_ps[1], 30 * NS);
        assert_int_equal(stores.header_ps[2], 30 * NS);
    }
}

/* ---- Packets that follow each other ------------------------------------------------------ */

enum { PACKETS = 6, DATA_BYTES = 2048 };

static void push_packets(struct sim_host *host)
{
    SIM_BEGIN(host);
    /* The context exists, and the peer has granted more than one packet at a time. */
    SIM_STEP(host, sim_push(host, sim_remote(1, 4096), host->locals, 8));
    SIM_STEP(host, sim_work(host, 50000 * NS));
    SIM_STEP(host, sim_push(host, sim_remote(1, 4096), host->locals, 8));
    SIM_STEP(host, sim_work(host, 50000 * NS));
    SIM_STEP(host, sim_push(host, sim_remote(1, 4096), host->locals, PACKETS * DATA_BYTES));
    SIM_STEP(host, sim_work(host, 100000 * NS));
    SIM_END(host);
}

struct gaps {
    uint32_t i, count;
    uint64_t from_ps[PACKETS + 2];
};

/* Reads more often than packets come. */
static void note_packets(struct sim_host *host)
{
    struct gaps *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 1500; mine->i++) {
        SIM_STEP(host, sim_load(host, 0, 8));
        uint64_t from_ps = sim_world_passage(host->world, 1)->from_ps[SIM_STAGE_CORE_SEND];
        if (from_ps > 0 && (mine->count == 0 || from_ps != mine->from_ps[mine->count - 1])) {
            assert_true(mine->count < PACKETS + 2);
            mine->from_ps[mine->count++] = from_ps;
        }
    }
    SIM_END(host);
}

/* 256 words of data and 3 more, and the gap: 7 clocks, or 18 with CD. */
static void packets_follow_after_their_words_and_the_gap(void **state)
{
    (void)state;
    static unsigned char data[PACKETS * DATA_BYTES];
    for (unsigned cd = 0; cd < 2; cd++) {
        struct sim_machine machine;
        struct gaps gaps = {0};
        fill_infiniswif(&machine, cd ? SIM_CARRIER_CD : SIM_CARRIER_UD);
        struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
        sim_world_start(world, 0, 0, push_packets, data, 0);
        sim_world_start(world, 1, 0, note_packets, &gaps, 0);
        ends_well(world);
        sim_world_close(world);
        assert_int_equal(gaps.count, PACKETS + 2);
        uint64_t clocks = DATA_BYTES / 8 + OVERHEAD_WORDS + GAP + (cd ? CD_GAP : 0);
        for (unsigned i = 3; i < PACKETS + 2; i++) {
            assert_int_equal(gaps.from_ps[i] - gaps.from_ps[i - 1], clocks * CYCLE_NS * NS);
        }
    }
}

/* ---- Several senders ----------------------------------------------------------------------- */

enum { SENDERS = 3, WORD_GAP = 2, TARGET = SENDERS };

static void push_to_target(struct sim_host *host)
{
    SIM_BEGIN(host);
    SIM_STEP(host, sim_push(host, sim_remote(TARGET, 4096), host->locals, PACKETS * DATA_BYTES));
    SIM_END(host);
}

/* The links bring more than the receiver's CoreLogic takes, a word in two clocks; a single packet
 * is not later for it. */
static void a_receiver_takes_the_words_of_all_senders_one_by_one(void **state)
{
    (void)state;
    static unsigned char data[PACKETS * DATA_BYTES];
    for (unsigned bound = 0; bound < 2; bound++) {
        struct sim_machine machine;
        fill_infiniswif(&machine, SIM_CARRIER_UD);
        machine.stages[SIM_STAGE_TRANSPORT_RECEIVE].word_gap_cycles = bound ? WORD_GAP : 0;
        struct sim_world *world = open_world(&machine, SENDERS + 1, SIM_ONE_SWITCH, false);
        for (uint32_t i = 0; i < SENDERS; i++) {
            sim_world_start(world, i, 0, push_to_target, data, 0);
        }
        ends_well(world);
        const struct sim_passage *last = sim_world_passage(world, TARGET);
        uint64_t begun_ps = last->from_ps[SIM_STAGE_TRANSPORT_RECEIVE];
        assert_int_equal(last->to_ps[SIM_STAGE_TRANSPORT_RECEIVE] - begun_ps, E * CYCLE_NS * NS);
        uint64_t words = (uint64_t)(SENDERS * PACKETS - 1) * (DATA_BYTES / 8 + OVERHEAD_WORDS);
        bool is_slow = begun_ps >= words * WORD_GAP * CYCLE_NS * NS;
        assert_int_equal(is_slow, bound);
        sim_world_close(world);
    }
}

/* ---- Windows ----------------------------------------------------------------------------- */

enum { BLOCKS = 150, BLOCK_NS = 610, READ_NS = 173 };

struct windows {
    uint32_t i;
    uint64_t ended_ps[BLOCKS];
    unsigned char block[464];
};

static void write_blocks(struct sim_host *host)
{
    struct windows *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < BLOCKS; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(1, 4096), mine->block, 464));
        mine->ended_ps[mine->i] = host->now_ps;
    }
    SIM_END(host);
}

/* A block takes 61 words of 10 ns, and the link takes 9,760 ns for it: four have left when all 64
 * windows have been written. From then on a host that knows of no free window reads the status,
 * again and again while there is none. */
static void a_host_reads_the_status_when_it_knows_of_no_free_window(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct windows windows = {.block = {1}};
    fill(&machine);
    machine.link_mb_per_s = 50000000;
    struct sim_world *world = open_world(&machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, write_blocks, &windows, 0);
    ends_well(world);
    sim_world_close(world);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t from_ps = i > 0 ? windows.ended_ps[i - 1] : 0;
        uint64_t reads_ps = windows.ended_ps[i] - from_ps - BLOCK_NS * NS;
        assert_int_equal(reads_ps % (READ_NS * NS), 0);
        uint64_t reads = reads_ps / (READ_NS * NS);
        if (i < 64) {
            assert_int_equal(reads, 0);
        } else if (i == 64) {
            assert_int_equal(reads, 1);
        } else if (i < 64 + 4) {
            assert_int_equal(reads, 0);
        }
        /* In the end one window becomes free for each packet time on the link. */
        if (i > 80) {
            uint64_t ps = windows.ended_ps[i] - from_ps;
            assert_in_range(ps, (9760 - READ_NS) * NS, (9760 + READ_NS) * NS);
        }
    }
}

/* ---- Contexts that are kept -------------------------------------------------------------- */

enum { FETCH_NS = 500, PEERS = 8 };

struct turns {
    uint64_t kicks[PEERS];
    uint32_t i;
    uint64_t transit_ps[2 * PEERS];
};

/* Twice round all peers, of which the chip has room for half. */
static void store_in_turn(struct sim_host *host)
{
    struct turns *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < PEERS; mine->i++) {
        mine->kicks[mine->i] = sim_kick(host, 1 + mine->i, 0);
    }
    for (mine->i = 0; mine->i < 2 * PEERS; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kicks[mine->i % PEERS], mine->i + 1, 8));
        SIM_STEP(host, sim_work(host, 100000 * NS));
        const struct sim_passage *passage = sim_world_passage(host->world, 1 + mine->i % PEERS);
        mine->transit_ps[mine->i] = passage->to_ps[SIM_STAGE_TRANSPORT_SEND] -
                                    passage->from_ps[SIM_STAGE_TRANSPORT_SEND];
    }
    SIM_END(host);
}

/* A context that is not on the chip is fetched, and no packet goes by stop-and-wait for it. */
static void a_context_that_is_kept_is_fetched(void **state)
{
    (void)state;
    for (unsigned kept = 0; kept <= 1; kept++) {
        struct sim_machine machine;
        struct turns turns = {0};
        struct sim_world_counters counters;
        fill_infiniswif(&machine, SIM_CARRIER_CD);
        machine.carrier_contexts = PEERS / 2;
        machine.carrier_kept = kept;
        machine.carrier_fetch = FETCH_NS * NS;
        machine.switch_ports = PEERS + 1;
        struct sim_world *world = open_world(&machine, PEERS + 1, SIM_ONE_SWITCH, false);
        sim_world_start(world, 0, 0, store_in_turn, &turns, 0);
        ends_well(world);
        sim_world_counters(world, &counters);
        assert_int_equal(counters.context_misses, 2 * PEERS);
        for (uint32_t i = PEERS; i < 2 * PEERS; i++) {
            uint64_t cycles_ps = (uint64_t)(A + CD_A + (kept ? 0 : MISS_A)) * CYCLE_NS * NS;
            assert_int_equal(turns.transit_ps[i], cycles_ps + (kept ? FETCH_NS * NS : 0));
        }
        sim_world_close(world);
    }
}

/* ---- One message at a time ----------------------------------------------------------------- */

struct serial {
    bool serialises;
    uint32_t i;
    uint64_t bytes;
};

static void send_three(struct sim_host *host)
{
    struct serial *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 3; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(1 + mine->i, 0), &mine->bytes, 8));
        if (mine->serialises) {
            sim_serialise(host);
        }
    }
    SIM_END(host);
}

/* To different nodes: without it they follow at once; with it each one waits until the one before
 * has arrived and its acknowledgement has come back. */
static void a_serial_sender_waits_for_acknowledgements(void **state)
{
    (void)state;
    for (unsigned serialises = 0; serialises <= 1; serialises++) {
        struct sim_machine machine;
        struct serial serial = {.serialises = serialises};
        fill_infiniswif(&machine, SIM_CARRIER_CD);
        struct sim_world *world = open_world(&machine, 4, SIM_ONE_SWITCH, false);
        sim_world_start(world, 0, 0, send_three, &serial, 0);
        ends_well(world);
        for (uint32_t node = 2; node < 4; node++) {
            const struct sim_passage *before = sim_world_passage(world, node - 1);
            const struct sim_passage *passage = sim_world_passage(world, node);
            bool waited = passage->from_ps[SIM_STAGE_TRANSPORT_SEND] > before->visible_ps;
            assert_int_equal(waited, serialises);
        }
        sim_world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bytes_take_what_the_equation_says),
        cmocka_unit_test(packets_follow_after_their_words_and_the_gap),
        cmocka_unit_test(a_receiver_takes_the_words_of_all_senders_one_by_one),
        cmocka_unit_test(a_host_reads_the_status_when_it_knows_of_no_free_window),
        cmocka_unit_test(a_context_that_is_kept_is_fetched),
        cmocka_unit_test(a_serial_sender_waits_for_acknowledgements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
