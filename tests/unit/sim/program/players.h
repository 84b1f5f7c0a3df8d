/* Threads of a test as programs on a simulated machine: each says its steps on its page of turns,
 * as a process does, and keeps what it was told. */
#ifndef UNIT_SIM_PROGRAM_PLAYERS_H
#define UNIT_SIM_PROGRAM_PLAYERS_H

#include "sim/program/program.h"

#include "dimmnet.h"
#include "unit/unit.h"

enum { NODES_MAX = 4, BODY_BYTES = 24, LIVES = 4, SPANS_MAX = 32 };

#define PS_PER_NS UINT64_C(1000)

/* A node's program: what it does, and what it was told. */
struct player {
    struct sim_programs *programs;
    struct turn_page *page;
    void (*play)(struct player *player);
    uint32_t rank;
    uint64_t attached_ps; /* virtual time when it first went on */
    uint64_t arrived_ps, acked_ps, life_ps;
    uint32_t arrived, acked, wakes;
    uint64_t last_number, last_cookie;
    unsigned char body[BODY_BYTES];
    uint32_t lives[NODES_MAX][LIVES]; /* how often each life of each rank was told */
    bool is_over;                     /* the run has ended */
    bool dies;                        /* it ends badly */
};

static const char *machine_text; /* NULL: dimmnet1-D */
static struct player players[NODES_MAX];
static uint32_t node_count;
static _Atomic bool run_is_over;
static char error[SIM_PROGRAMS_ERROR_BYTES];
static struct sim_programs_result result;
static struct sim_program_times times[NODES_MAX];
static struct sim_nic_use uses[NODES_MAX];
static struct sim_program_span spans[NODES_MAX][SPANS_MAX];
static uint32_t span_counts[NODES_MAX];

/* ---- A program's side ------------------------------------------------------------------------ */

static void say(struct player *player, enum turn_word word, uint16_t detail, uint64_t value)
{
    struct turn_page *page = player->page;
    unit_expect(turn_put(page->from_program, &page->from_program_bytes, word, detail, value, 0));
}

static void say_packet(struct player *player, uint16_t peer, uint16_t flags, uint64_t number)
{
    struct turn_page *page = player->page;
    const struct turn_packet packet = {.peer = peer,
                                       .class = WIRE_REQUEST,
                                       .flags = flags,
                                       .bytes = BODY_BYTES,
                                       .number = number,
                                       .cookie = 1000 + number};
    unsigned char *load = turn_put(page->from_program, &page->from_program_bytes, TURN_PACKET, 0, 0,
                                   sizeof packet + BODY_BYTES);
    unit_expect(load);
    memcpy(load, &packet, sizeof packet);
    memset(load + sizeof packet, (int)number, BODY_BYTES);
}

static void hear(struct player *player)
{
    struct turn_page *page = player->page;
    struct turn_record record;
    struct turn_packet packet;
    const unsigned char *load;
    const unsigned char *data;
    uint32_t at = 0;
    while (turn_next(page->from_simulator, page->from_simulator_bytes, &at, &record, &load)) {
        if (record.word == TURN_ARRIVED) {
            unit_expect(turn_packet_read(&record, load, &packet, &data));
            unit_expect(packet.bytes == BODY_BYTES);
            memcpy(player->body, data, BODY_BYTES);
            player->arrived++;
            player->arrived_ps = page->now_ps;
            player->last_number = packet.number;
        } else if (record.word == TURN_ACKED) {
            player->acked++;
            player->acked_ps = page->now_ps;
            player->last_number = record.value;
            memcpy(&player->last_cookie, load, sizeof player->last_cookie);
        } else if (record.word == TURN_LIFE && record.detail < NODES_MAX && record.value < LIVES) {
            player->lives[record.detail][record.value]++;
            player->life_ps = page->now_ps;
        } else {
            unit_expect(false);
        }
    }
    unit_expect(at == page->from_simulator_bytes);
    page->from_simulator_bytes = 0;
    page->from_program_bytes = 0;
}

/* Gives the turn and stands until it is back. False: the run is over. */
static bool stand(struct player *player)
{
    struct turn_page *page = player->page;
    atomic_store(&page->turn, TURN_SIMULATOR);
    while (atomic_load(&page->turn) != TURN_PROGRAM) {
        if (atomic_load(&run_is_over)) {
            player->is_over = true;
            return false;
        }
        (void)sched_yield();
    }
    return true;
}

/* Says the closing word and lets the NIC serve until the program itself goes on. */
static bool close_turn(struct player *player, enum turn_word word, uint64_t value)
{
    say(player, word, 0, value);
    while (stand(player)) {
        hear(player);
        if (player->page->reason != TURN_SERVE) {
            return true;
        }
        say(player, TURN_SERVED, 0, 0);
    }
    return false;
}

static bool attach(struct player *player)
{
    atomic_store(&player->page->process_id, 0); /* a thread of this test shall not be killed */
    bool goes_on = close_turn(player, TURN_ATTACH, 0);
    player->attached_ps = player->page->now_ps;
    return goes_on;
}

/* Waits until that many packets and acknowledgements have come in all. */
static void wait_for(struct player *player, const uint32_t *count, uint32_t wanted)
{
    while (*count < wanted && close_turn(player, TURN_WAIT, UINT64_MAX)) {
        player->wakes++;
    }
}

static void leave(struct player *player)
{
    say(player, TURN_LEAVE, 0, 0);
    (void)stand(player);
}

/* ---- Running them ---------------------------------------------------------------------------- */

static void *play(void *context)
{
    struct player *player = context;
    player->play(player);
    sim_programs_ended(player->programs, player->rank, !player->dies);
    return NULL;
}

static struct sim_programs_config config_of(const struct sim_machine *machine,
                                            struct turn_page **pages)
{
    return (struct sim_programs_config){
        .machine = machine,
        .topology = SIM_ONE_SWITCH,
        .node_count = node_count,
        .pages = pages,
        .limit_ps = UINT64_MAX,
        .notice_ps = 5000000,
        .keeps_spans = true,
    };
}

static void keep_accounts(const struct sim_programs *programs)
{
    for (uint32_t rank = 0; rank < node_count; rank++) {
        const struct sim_program_spans *kept = sim_programs_spans(programs, rank);
        assert_true(kept->count <= SPANS_MAX);
        sim_programs_times(programs, rank, &times[rank]);
        sim_world_use(sim_programs_world(programs), rank, &uses[rank]);
        span_counts[rank] = kept->count;
        for (uint32_t i = 0; i < kept->count; i++) {
            spans[rank][i] = kept->spans[i];
        }
    }
}

static enum sim_programs_end run_within(uint64_t limit_ps)
{
    struct sim_machine machine;
    struct turn_page *pages[NODES_MAX];
    pthread_t threads[NODES_MAX];
    assert_true(machine_text ? sim_machine_load_bytes(&machine, "players.ini", machine_text,
                                                      strlen(machine_text), error)
                             : sim_machine_load(&machine, "dimmnet1-D", error));
    for (uint32_t rank = 0; rank < node_count; rank++) {
        pages[rank] = calloc(1, sizeof *pages[rank]);
        assert_non_null(pages[rank]);
        pages[rank]->deadline_ns = UINT64_MAX;
    }
    struct sim_programs_config config = config_of(&machine, pages);
    config.limit_ps = limit_ps;
    struct sim_programs *programs = sim_programs_open(&config, error);
    assert_non_null(programs);
    atomic_store(&run_is_over, false);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        players[rank].programs = programs;
        players[rank].page = pages[rank];
        players[rank].rank = rank;
        assert_int_equal(pthread_create(&threads[rank], NULL, play, &players[rank]), 0);
    }
    enum sim_programs_end end = sim_programs_run(programs, error);
    atomic_store(&run_is_over, true);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        assert_int_equal(pthread_join(threads[rank], NULL), 0);
    }
    sim_programs_result(programs, &result);
    keep_accounts(programs);
    sim_programs_close(programs);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        free(pages[rank]);
    }
    sim_machine_free(&machine);
    unit_assert_no_faults();
    return end;
}

static enum sim_programs_end run(void)
{
    return run_within(UINT64_MAX);
}

static void cast(uint32_t count, void (*first)(struct player *), void (*others)(struct player *))
{
    node_count = count;
    memset(players, 0, sizeof players);
    for (uint32_t rank = 0; rank < count; rank++) {
        players[rank].play = rank == 0 ? first : others;
    }
}

#endif
