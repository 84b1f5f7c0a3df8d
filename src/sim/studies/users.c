/* Many users on one board, each in a group of its own (paper 000: up to 64, with 2,048 entries of
 * the transaction FIFO, 64 windows and 1,024 headers between them). Users of node 0 reach their
 * group's region of LLCM at node 1, and nothing else there.
 *
 *     aotf       each user stores 8 bytes again and again
 *     botf       each user sends blocks of 464 bytes
 *     pages      the stores go to so many kick pages in turn: header TLB and CPU TLB
 *     ping       one user's round trip while all others do the same
 *     ping+aotf  while they store, +botf: while they send blocks
 *     intruders  while they send blocks into the region of the first one, which are refused
 *     read       8 bytes read by a store to a page for reads; read+botf: by a packet that the user
 *                made itself; read+rdma: by a PULL
 *     sleep      the round trip of users that PEMM's interrupt wakes, if boards had its signals
 *
 * The rate of stores is counted when each page has had one, which fills the header TLB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/studies/parts.h"
#include "wire/operation.h"

enum { NODES = 2, USERS_MAX = 64, REGION_BYTES = 2048, PAGES_MAX = 1024, LLCM_AREA = 1 };
enum { STORES = 256, PAGE_ROUNDS = 32, BLOCKS = 64, PINGS = 64, FIRST_GROUP = 100, WORD_BYTES = 8 };

/* Of one user, beside round trips: several times as many as these take on any of our machines. */
enum { STORES_BESIDE_MAX = 4096 };

/* From a PEMM interrupt to the program: no board has one. */
#define INTERRUPT_PS (UINT64_C(5000) * SIM_PS_PER_NS)

enum kind {
    AOTF,
    BOTF,
    PAGES,
    PING,
    PING_AOTF,
    PING_BOTF,
    INTRUDERS,
    READ,
    READ_BOTF,
    READ_RDMA,
    SLEEP,
    KINDS,
};
static const char *const kind_names[KINDS] = {
    "aotf",      "botf", "pages",     "ping",      "ping+aotf", "ping+botf",
    "intruders", "read", "read+botf", "read+rdma", "sleep",
};

/* Where a region's words lie: a flag, an answer, and behind them blocks. */
enum { FLAG = 0, BLOCK = 512, ANSWER = 1024 };

/* In the words of a stream, once each page has had one. */
#define IS_WARM (UINT64_C(1) << 32)

struct board_use {
    const struct sim_machine *machine;
    enum kind kind;
    uint32_t users, pages;
    uint32_t areas[USERS_MAX]; /* of node 1's regions */
    uint32_t backs[USERS_MAX]; /* of node 0's */
    /* When its partner saw the first word that came when each page had had one (0: blocks) and
     * that word's number; and when its last word. */
    uint64_t warm_ps[USERS_MAX];
    uint32_t warm[USERS_MAX];
    uint64_t seen_ps[USERS_MAX];
    uint64_t ping_ps;
    uint32_t pings;
    uint32_t wrong;
    bool is_over;    /* the first user has done all its round trips */
    bool is_flooded; /* it had not when another one had made STORES_BESIDE_MAX stores */
};

/* A program's locals. */
struct mine {
    struct board_use *use;
    uint32_t i;
    uint64_t start_ps;
    uint64_t kick, back;
    uint64_t *kicks; /* of `pages` */
    unsigned char block[WIRE_BOTF_BYTES_MAX];
};

/* ---- Set-up: the kernels' ----------------------------------------------------------------- */

static uint64_t region_at(uint32_t user)
{
    return (uint64_t)user * REGION_BYTES;
}

/* A page holds two regions, and a kick is to a page: what is beyond the user's own region would be
 * its neighbour's, so the receiver translates, and checks. */
static void join(struct sim_host *host)
{
    struct mine *mine = host->locals;
    int error = sim_group_join(host, FIRST_GROUP + host->user);
    INVARIANT(!error);
    uint32_t area = sim_region_open(host, region_at(host->user), REGION_BYTES);
    *(host->node == 0 ? &mine->use->backs[host->user] : &mine->use->areas[host->user]) = area;
}

static void open_page(struct sim_host *host, uint64_t *kick)
{
    const struct mine *mine = host->locals;
    uint32_t far = 1 - host->node;
    uint32_t area = host->node == 0 ? mine->use->areas[host->user] : mine->use->backs[host->user];
    int error = sim_kick_open(host, sim_remote_region(far, area, 0), false, kick);
    INVARIANT(!error);
}

/* How many stores a user makes: several to each of its pages. */
static uint32_t stores_of(const struct board_use *use)
{
    return use->kind == PAGES ? PAGE_ROUNDS * use->pages : STORES;
}

/* ---- Streams --------------------------------------------------------------------------------- */

static uint64_t stream_word(const struct board_use *use, uint32_t number)
{
    return number | (number > use->pages ? IS_WARM : 0);
}

/* What one store takes of the slowest thing that all share: the link, or the receiver's DMA. */
static uint64_t store_ps(const struct sim_machine *machine)
{
    uint64_t bytes = (machine->packet_overhead_bytes + WORD_BYTES + 7) / 8 * 8;
    uint64_t sent_bytes = bytes > machine->packet_pad_bytes ? bytes : machine->packet_pad_bytes;
    uint64_t link_ps = sent_bytes * UINT64_C(1000000000000) / machine->link_mb_per_s;
    uint64_t dma_cycles = machine->dma_word_cycles > 0
                              ? machine->dma_setup_cycles + machine->dma_word_cycles
                              : 0;
    uint64_t dma_ps = dma_cycles * machine->clock_dimm;
    return link_ps > dma_ps ? link_ps : dma_ps;
}

/* Whether there is another store to make. */
static bool stores_on(struct mine *mine)
{
    struct board_use *use = mine->use;
    if (mine->i <= stores_of(use)) {
        return true;
    }
    if (use->kind != PING_AOTF || use->is_over) {
        return false;
    }
    use->is_flooded = use->is_flooded || mine->i > STORES_BESIDE_MAX;
    return !use->is_flooded;
}

static void stream_stores(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < mine->use->pages; mine->i++) {
        open_page(host, &mine->kicks[mine->i]);
    }
    for (mine->i = 1; stores_on(mine); mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kicks[mine->i % mine->use->pages] + FLAG,
                                 stream_word(mine->use, mine->i), WORD_BYTES));
        if (mine->use->kind == PING_AOTF) {
            /* No faster than they arrive: else more and more of them would wait. */
            SIM_STEP(host, sim_work(host, mine->use->users * store_ps(mine->use->machine)));
        }
    }
    SIM_END(host);
}

/* Intruders name the first user's region. */
static void stream_blocks(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct board_use *use = mine->use;
    bool goes_on = use->kind == PING_BOTF || use->kind == INTRUDERS;
    uint32_t owner = use->kind == INTRUDERS ? 0 : host->user;
    SIM_BEGIN(host);
    open_page(host, &mine->kick);
    for (mine->i = 1; mine->i <= BLOCKS || (goes_on && !use->is_over); mine->i++) {
        memset(mine->block, (int)host->user + 1, sizeof mine->block);
        SIM_STEP(host, sim_block(host, sim_remote_region(1, use->areas[owner], BLOCK), mine->block,
                                 sizeof mine->block));
    }
    SIM_STEP(host,
             sim_store(host, mine->kick + FLAG, stream_word(use, stores_of(use)), WORD_BYTES));
    SIM_END(host);
}

/* Waits at node 1 for the words of a stream that its rate is counted from and to. */
static void watch(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    if (mine->use->kind != BOTF) {
        SIM_STEP(host, sim_poll(host, region_at(host->user) + FLAG, WORD_BYTES, IS_WARM, IS_WARM));
        mine->use->warm_ps[host->user] = host->now_ps;
        mine->use->warm[host->user] = (uint32_t)host->value;
    }
    SIM_STEP(host, sim_poll(host, region_at(host->user) + FLAG, WORD_BYTES, UINT64_MAX,
                            stream_word(mine->use, stores_of(mine->use))));
    mine->use->seen_ps[host->user] = host->now_ps;
    SIM_END(host);
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static void await_word(struct sim_host *host, uint64_t word)
{
    const struct mine *mine = host->locals;
    uint64_t place = region_at(host->user) + ANSWER;
    if (mine->use->kind == SLEEP) {
        sim_wait(host, place, WORD_BYTES, UINT64_MAX, word);
    } else {
        sim_poll(host, place, WORD_BYTES, UINT64_MAX, word);
    }
}

static void ping(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct board_use *use = mine->use;
    SIM_BEGIN(host);
    open_page(host, &mine->kick);
    for (mine->i = 1; mine->i <= PINGS; mine->i++) {
        /* In every phase of the partner's polls. */
        SIM_STEP(host, sim_work(host, mine->i * 7 % 16 * use->machine->host_read / 16));
        mine->start_ps = host->now_ps;
        SIM_STEP(host, sim_store(host, mine->kick + ANSWER, mine->i, WORD_BYTES));
        SIM_STEP(host, await_word(host, mine->i));
        if (mine->i > 1) { /* the first one fills TLBs */
            use->ping_ps += host->now_ps - mine->start_ps;
            use->pings++;
        }
    }
    use->is_over = use->is_over || host->user == 0;
    SIM_END(host);
}

static void answer(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct sim_machine *machine = mine->use->machine;
    SIM_BEGIN(host);
    open_page(host, &mine->kick);
    for (mine->i = 1; mine->i <= PINGS; mine->i++) {
        SIM_STEP(host, await_word(host, mine->i));
        SIM_STEP(host, sim_work(host, sim_machine_turn(machine) + machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick + ANSWER, mine->i, WORD_BYTES));
    }
    SIM_END(host);
}

/* ---- Reads ----------------------------------------------------------------------------------- */

/* The place of a region that is read changes with each round, so that an answer can be told. */
static void fill_place(struct sim_host *host, uint64_t value)
{
    struct sim_host *far = sim_world_host(host->world, 1, host->user);
    memcpy(sim_memory(far, region_at(host->user) + BLOCK), &value, sizeof value);
}

static uint32_t make_read(struct sim_host *host, unsigned char *packet)
{
    const struct mine *mine = host->locals;
    uint64_t place = (uint64_t)mine->use->backs[host->user] << 32 | ANSWER;
    const struct wire_operation read = {.opcode = WIRE_PULL,
                                        .bytes = WORD_BYTES,
                                        .area = mine->use->areas[host->user],
                                        .offset = BLOCK,
                                        .tag = place};
    wire_operation_encode(&read, packet);
    return wire_operation_bytes(&read);
}

static void read_far(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct board_use *use = mine->use;
    uint64_t page = region_at(host->user) & ~UINT64_C(4095);
    uint64_t within = region_at(host->user) & 4095;
    SIM_BEGIN(host);
    INVARIANT(sim_kick_read(host, sim_remote_region(1, use->areas[host->user], 0), page,
                            &mine->back) == 0);
    for (mine->i = 1; mine->i <= PINGS; mine->i++) {
        SIM_STEP(host, sim_work(host, mine->i * 7 % 16 * use->machine->host_read / 16));
        fill_place(host, mine->i);
        mine->start_ps = host->now_ps;
        if (use->kind == READ) {
            SIM_STEP(host, sim_store(host, mine->back + BLOCK, within + ANSWER, WORD_BYTES));
            SIM_STEP(host, await_word(host, mine->i));
        } else if (use->kind == READ_BOTF) {
            SIM_STEP(host, sim_packet(host, 1, mine->block, make_read(host, mine->block)));
            SIM_STEP(host, await_word(host, mine->i));
        } else {
            SIM_STEP(host, sim_pull(host, sim_remote_region(1, use->areas[host->user], BLOCK),
                                    mine->block, WORD_BYTES));
            use->wrong += host->result != 0 || mine->block[0] != mine->i;
        }
        if (mine->i > 1) {
            use->ping_ps += host->now_ps - mine->start_ps;
            use->pings++;
        }
    }
    SIM_END(host);
}

/* ---- Who runs what --------------------------------------------------------------------------- */

static sim_program *near_program(const struct board_use *use, uint32_t user)
{
    switch (use->kind) {
    case AOTF:
    case PAGES: return stream_stores;
    case BOTF: return stream_blocks;
    case PING:
    case SLEEP: return ping;
    case PING_AOTF: return user == 0 ? ping : stream_stores;
    case PING_BOTF:
    case INTRUDERS: return user == 0 ? ping : stream_blocks;
    default: return read_far;
    }
}

static sim_program *far_program(const struct board_use *use, uint32_t user)
{
    switch (use->kind) {
    case AOTF:
    case PAGES:
    case BOTF: return watch;
    case PING:
    case SLEEP: return answer;
    case PING_AOTF:
    case PING_BOTF:
    case INTRUDERS: return user == 0 ? answer : NULL;
    default: return NULL;
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum column {
    USERS,
    KIND,
    PAGES_EACH,
    RATE,
    BANDWIDTH,
    FAIRNESS,
    ROUND_TRIP,
    HOST_NS,
    HEADER_MISSES,
    CPU_MISSES,
    REFUSED,
    EVENTS,
    COLUMNS,
};

static const struct sim_study_column columns[COLUMNS] = {
    [USERS] = {"users", 5, 0, "of the board, each in its own group"},
    [KIND] = {"kind", 9, -1, "what they do; see dimmnet-sim(1)"},
    [PAGES_EACH] = {"pages", 5, 0, "kick pages of each user"},
    [RATE] = {"mops", 7, 3, "million stores (TLBs filled) or blocks a second, of all users"},
    [BANDWIDTH] = {"mb_per_s", 8, 1, "of their data"},
    [FAIRNESS] = {"slowest", 7, 3, "rate of the slowest user over the mean"},
    [ROUND_TRIP] = {"trip_ns", 9, 1, "a round trip, or a read"},
    [HOST_NS] = {"host_ns", 8, 1, "of it, the CPU's own time"},
    [HEADER_MISSES] = {"header_pct", 10, 2,
                       "stores that miss the header TLB, but for the first ones"},
    [CPU_MISSES] = {"cpu_pct", 7, 2, "stores that miss the CPU's TLB"},
    [REFUSED] = {"refused", 7, 0, "operations, for their group"},
    [EVENTS] = {"events", 8, 0, "of the simulation"},
};

static const struct {
    enum kind kind;
    uint32_t users, pages;
} cases[] = {
    {AOTF, 1, 1},       {AOTF, 4, 1},       {AOTF, 16, 1},      {AOTF, 64, 1},
    {BOTF, 1, 1},       {BOTF, 4, 1},       {BOTF, 16, 1},      {BOTF, 64, 1},
    {PAGES, 1, 16},     {PAGES, 1, 64},     {PAGES, 1, 128},    {PAGES, 1, 1024},
    {PAGES, 16, 16},    {PAGES, 16, 64},    {PAGES, 16, 128},   {PAGES, 64, 16},
    {PAGES, 64, 64},    {PING, 1, 1},       {PING, 4, 1},       {PING, 16, 1},
    {PING, 64, 1},      {PING_AOTF, 4, 1},  {PING_AOTF, 16, 1}, {PING_AOTF, 64, 1},
    {PING_BOTF, 4, 1},  {PING_BOTF, 16, 1}, {PING_BOTF, 64, 1}, {INTRUDERS, 4, 1},
    {INTRUDERS, 16, 1}, {INTRUDERS, 64, 1}, {READ, 1, 1},       {READ, 16, 1},
    {READ_BOTF, 1, 1},  {READ_RDMA, 1, 1},  {SLEEP, 1, 1},      {SLEEP, 16, 1},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    (void)choice;
    for (unsigned i = 0; i < CASES; i++) {
        points[i] = (struct sim_study_point){.nodes = NODES, .variant = i};
    }
    return CASES;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void read_stream(const struct board_use *use, const struct sim_world_counters *counters,
                        struct sim_study_row *row)
{
    uint64_t first_ps = UINT64_MAX;
    uint64_t last_ps = 0;
    uint64_t longest_ps = 0;
    double sum = 0;
    uint64_t counted = 0;
    uint32_t each = use->kind == BOTF ? BLOCKS : stores_of(use);
    uint32_t bytes = use->kind == BOTF ? WIRE_BOTF_BYTES_MAX : WORD_BYTES;
    for (uint32_t user = 0; user < use->users; user++) {
        uint64_t taken_ps = use->seen_ps[user] - use->warm_ps[user];
        first_ps = use->warm_ps[user] < first_ps ? use->warm_ps[user] : first_ps;
        last_ps = use->seen_ps[user] > last_ps ? use->seen_ps[user] : last_ps;
        counted += each - use->warm[user];
        longest_ps = taken_ps > longest_ps ? taken_ps : longest_ps;
        sum += 1.0 / (double)taken_ps;
    }
    double per_us = (double)counted * 1e6 / (double)(last_ps - first_ps);
    sim_study_set_number(row, RATE, per_us);
    sim_study_set_number(row, BANDWIDTH, per_us * bytes);
    sim_study_set_number(row, FAIRNESS, use->users / (sum * (double)longest_ps));
    if (use->kind != BOTF) {
        /* The first store to a page always misses the header TLB. */
        double first = (double)use->pages * use->users;
        double stores = (double)each * use->users;
        double misses = (double)counters->header_misses - first;
        sim_study_set_number(row, HEADER_MISSES, 100 * misses / (stores - first));
        sim_study_set_number(row, CPU_MISSES, 100 * (double)counters->cpu_misses / stores);
    }
}

static void read_figures(const struct board_use *use, const struct sim_world *world,
                         struct sim_study_row *row)
{
    struct sim_world_counters counters;
    sim_world_counters(world, &counters);
    if (use->pings > 0) {
        sim_study_set_number(row, ROUND_TRIP,
                             (double)use->ping_ps / use->pings / (double)SIM_PS_PER_NS);
    } else {
        read_stream(use, &counters, row);
    }
    if (use->kind == PING || use->kind == SLEEP) {
        sim_study_set_number(row, HOST_NS,
                             (double)sim_world_busy(world, 0, false) / use->users / PINGS /
                                 (double)SIM_PS_PER_NS);
    }
    sim_study_set_number(row, REFUSED, (double)counters.foreign);
    sim_study_set_number(row, EVENTS, (double)counters.events);
    if (use->is_flooded) {
        (void)snprintf(row->error, sizeof row->error,
                       "%s: the other users' stores come faster than they are taken, so a round "
                       "trip has no end",
                       use->machine->name);
    }
    if (use->wrong > 0 || counters.refused != counters.foreign ||
        (counters.foreign > 0) != (use->kind == INTRUDERS)) {
        (void)snprintf(row->error, sizeof row->error, "%s: somebody reached what is not its own",
                       use->machine->name);
    }
}

/* Joining takes no time, so all have joined before the first one opens a page. */
static void join_all(struct sim_world *world, struct mine *mine, uint32_t users)
{
    for (uint32_t i = 0; i < NODES * users; i++) {
        struct sim_host *host = sim_world_host(world, i / users, i % users);
        host->locals = &mine[i];
        join(host);
    }
}

static void run_world(struct board_use *use, struct sim_study_row *row)
{
    const struct sim_world_config config = {.machine = use->machine,
                                            .node_count = NODES,
                                            .topology = SIM_BACK_TO_BACK,
                                            .user_count = use->users};
    struct sim_world *world = sim_world_open(&config, row->error);
    if (!world) {
        return;
    }
    struct mine *mine = calloc(NODES * (size_t)use->users, sizeof *mine);
    uint64_t *kicks = calloc((size_t)use->users * use->pages, sizeof *kicks);
    INVARIANT(mine && kicks);
    for (uint32_t i = 0; i < NODES * use->users; i++) {
        mine[i].use = use;
        mine[i].kicks = i < use->users ? kicks + (size_t)i * use->pages : NULL;
    }
    join_all(world, mine, use->users);
    for (uint32_t user = 0; user < use->users; user++) {
        sim_world_start(world, 0, user, near_program(use, user), &mine[user], 0);
        if (far_program(use, user)) {
            sim_world_start(world, 1, user, far_program(use, user), &mine[use->users + user], 0);
        }
    }
    enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
    if (end == SIM_END_DONE) {
        read_figures(use, world, row);
    } else {
        sim_world_why(world, end, row->error);
    }
    sim_world_close(world);
    free(mine);
    free(kicks);
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct sim_machine machine = *choice->machine;
    struct board_use use = {.machine = &machine,
                            .kind = cases[point->variant].kind,
                            .users = cases[point->variant].users,
                            .pages = cases[point->variant].pages};
    if (use.kind == SLEEP && machine.host_pemm == 0) {
        machine.host_pemm = 1;
        machine.host_interrupt = INTERRUPT_PS;
    }
    sim_study_set_number(row, USERS, use.users);
    sim_study_set_text(row, KIND, kind_names[use.kind]);
    sim_study_set_number(row, PAGES_EACH, use.pages);
    if (machine.carrier_kind == SIM_CARRIER_CD) {
        (void)snprintf(row->error, sizeof row->error, "%s: InfiniSWIF's packets are of one group",
                       machine.name);
        return;
    }
    if ((uint64_t)use.users * REGION_BYTES > machine.llcm_bytes) {
        (void)snprintf(row->error, sizeof row->error,
                       "%s: [llcm] bytes = %llu has no room for %u users with %u each",
                       machine.name, (unsigned long long)machine.llcm_bytes, use.users,
                       (unsigned)REGION_BYTES);
        return;
    }
    run_world(&use, row);
}

const struct sim_study sim_study_users = {
    .name = "users",
    .text = "up to 64 users in groups of their own share a board: rates, round trips, protection",
    .machine = "dimmnet1-D",
    .columns = columns,
    .column_count = COLUMNS,
    .x = USERS,
    .series = {KIND, PAGES_EACH},
    .series_count = 2,
    .y = {RATE, ROUND_TRIP, HEADER_MISSES, FAIRNESS},
    .y_count = 4,
    .list = list,
    .run = run,
};
