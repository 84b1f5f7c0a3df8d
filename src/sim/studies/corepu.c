/* Should the host do a service's work, as paper 000 has it for barrier and sum, or the core
 * processor, as paper 004 has it? Each service is done by
 *
 *     host   the hosts' CPUs: AOTF stores into LLCM, and polls there
 *     core   the same program on the core processors, which poll LLCM themselves (paper 000,
 *            section 5.3.1, names that and did not try it); a host stores into its own LLCM and
 *            polls there
 *     nic    paper 004's handlers, for which packets and kicks interrupt the core processor
 *
 * once with hosts that do nothing but wait, and once with hosts that compute and look only between
 * two pieces of their work. Nodes are at one switch; node 0 is home.
 *
 *     LLCM:   0  what the home node stores to a node: phase, result, grant or acknowledgement
 *             8  from the host to its own core processor; 16: back
 *            24  a byte for each node: barrier's phases, or requests of a lock
 *            32  a byte for each node: releases of a lock
 *            64  a word for each node: what it brings to a sum
 *          1024  a message, and behind it its number */
#include <stdio.h>
#include <string.h>

#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/studies/parts.h"

enum { DOWN = 0, IN = 8, OUT = 16, BYTES_UP = 24, RELEASES = 32, WORDS_UP = 64, BLOCK = 1024 };
enum { NODES_MAX = 8, ROUNDS = 65, TEAM = 1, LOCK = 1, HOME = 0 };
enum { WORD_BYTES = 8, MESSAGE_BYTES = 64, BUFFER_BYTES = 8192, FLAG = BLOCK + MESSAGE_BYTES };

#define PHASE_MASK (UINT64_MAX << 32) /* of a word: the phase, and below it a value */

/* What a host computes between two looks. */
#define PIECE_PS (UINT64_C(10000) * SIM_PS_PER_NS)

enum service { BARRIER, SUM, FLOAT_SUM, LOCKING, MESSAGE, SERVICES };
static const char *const service_names[SERVICES] = {"barrier", "sum", "sum float", "lock",
                                                    "message"};
enum by { BY_HOST, BY_CORE, BY_NIC, BYS };
static const char *const by_names[BYS] = {"host", "core", "nic"};

struct group {
    const struct sim_machine *machine;
    enum service service;
    enum by by;
    uint32_t node_count;
    uint64_t piece_ps;         /* 0: hosts do nothing but wait */
    uint64_t begun_ps[ROUNDS]; /* of a round: when the last node began it */
    uint64_t wait_ps;          /* from there, or from a request, to the end; the sum */
    uint32_t waits;
    uint32_t wrong; /* results, or messages */
};

/* A program's locals. */
struct mine {
    struct group *group;
    uint32_t round, node;
    uint64_t total;
    uint64_t kicks[NODES_MAX];
    uint64_t start_ps;
    uint64_t ticket;
    /* A lock's manager: */
    uint64_t requests;        /* bytes, as they were read */
    uint8_t given[NODES_MAX]; /* times that each node got the lock */
    uint32_t given_all;
    uint32_t holder; /* NODES_MAX: nobody */
    unsigned char block[MESSAGE_BYTES];
};

/* ---- Phases and values ---------------------------------------------------------------------- */

static uint64_t phase_of(const struct mine *mine)
{
    return mine->round + 1;
}

static uint64_t phase_byte(const struct mine *mine)
{
    return phase_of(mine) & 0xff;
}

static uint64_t operand_of(const struct mine *mine, uint32_t node)
{
    return 100 * (uint64_t)mine->round + node;
}

static uint64_t word_of(const struct mine *mine, uint64_t value)
{
    return phase_of(mine) << 32 | value;
}

/* The right result of the round. */
static uint64_t sum_of(const struct mine *mine)
{
    uint64_t sum = 0;
    for (uint32_t node = 0; node < mine->group->node_count; node++) {
        sum += operand_of(mine, node);
    }
    return mine->group->service == BARRIER ? 0 : sum;
}

static void open_kicks(struct sim_host *host)
{
    struct mine *mine = host->locals;
    host->poll_pause_ps = host->is_core ? 0 : mine->group->piece_ps;
    for (uint32_t node = 0; node < mine->group->node_count; node++) {
        if (node != host->node && (node == HOME || host->node == HOME)) {
            mine->kicks[node] = sim_kick(host, node, 0);
        }
    }
}

/* Up to one read, or one piece, so that looks and arrivals meet in every phase. */
static uint64_t pause_ps(const struct sim_host *host)
{
    const struct mine *mine = host->locals;
    uint64_t span_ps = mine->group->machine->host_read8 + host->poll_pause_ps;
    return (uint64_t)(mine->round * 37 + host->node * 11) % 64 * (span_ps / 64);
}

/* Events come in the order of time, so the last to write began last. The first round, which fills
 * TLBs, is not counted. */
static void begin(struct sim_host *host)
{
    const struct mine *mine = host->locals;
    mine->group->begun_ps[mine->round] = host->now_ps;
}

static void count_wait(const struct mine *mine, uint64_t ps)
{
    if (mine->round > 0) {
        mine->group->wait_ps += ps;
        mine->group->waits++;
    }
}

static void leave(struct sim_host *host, uint64_t result)
{
    const struct mine *mine = host->locals;
    count_wait(mine, host->now_ps - mine->group->begun_ps[mine->round]);
    mine->group->wrong += result != sum_of(mine);
}

/* ---- What software costs -------------------------------------------------------------------- */

static uint64_t cycles_ps(const struct sim_host *host, uint64_t cycles)
{
    const struct mine *mine = host->locals;
    return cycles * mine->group->machine->clock_core;
}

/* From having read what one waited for to the next store. */
static uint64_t turn_ps(const struct sim_host *host)
{
    const struct mine *mine = host->locals;
    const struct sim_machine *machine = mine->group->machine;
    if (host->is_core) {
        return cycles_ps(host, machine->core_update_cycles);
    }
    return machine->software_pass + sim_machine_turn(machine) +
           (mine->group->service == BARRIER ? machine->software_barrier : 0);
}

static uint64_t add_ps(const struct sim_host *host)
{
    const struct mine *mine = host->locals;
    const struct sim_machine *machine = mine->group->machine;
    if (host->is_core) {
        return cycles_ps(host, mine->group->service == FLOAT_SUM ? machine->core_float_add_cycles
                                                                 : machine->core_add_cycles);
    }
    return machine->software_sum;
}

/* ---- Barrier and sum ------------------------------------------------------------------------ */

/* The bytes of all nodes but home. */
static uint64_t others_mask(const struct mine *mine)
{
    return mine->group->node_count == NODES_MAX
               ? ~UINT64_C(0xff)
               : ((UINT64_C(1) << 8 * mine->group->node_count) - 1) & ~UINT64_C(0xff);
}

static void poll_word(struct sim_host *host, uint64_t offset)
{
    const struct mine *mine = host->locals;
    sim_poll(host, offset, WORD_BYTES, PHASE_MASK, word_of(mine, 0));
}

static void poll_bytes(struct sim_host *host)
{
    const struct mine *mine = host->locals;
    uint64_t mask = others_mask(mine);
    sim_poll(host, BYTES_UP, WORD_BYTES, mask,
             mask & UINT64_C(0x0101010101010101) * phase_byte(mine));
}

/* The home node: one read of 8 bytes tells a barrier that all have come; a sum takes a word of each
 * node. Run by its host or by its core processor. */
static void be_home(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct group *group = mine->group;
    SIM_BEGIN(host);
    open_kicks(host);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        mine->total = operand_of(mine, HOME);
        if (host->is_core) {
            SIM_STEP(host, poll_word(host, IN));
            mine->total = host->value & UINT32_MAX;
        } else {
            SIM_STEP(host, sim_compute(host, pause_ps(host)));
            begin(host);
        }
        if (group->service == BARRIER) {
            mine->total = 0;
            SIM_STEP(host, poll_bytes(host));
        }
        for (mine->node = 1; group->service != BARRIER && mine->node < group->node_count;
             mine->node++) {
            SIM_STEP(host, poll_word(host, WORDS_UP + (uint64_t)WORD_BYTES * mine->node));
            mine->total += host->value & UINT32_MAX;
            SIM_STEP(host, sim_work(host, add_ps(host)));
        }
        SIM_STEP(host, sim_work(host, turn_ps(host)));
        for (mine->node = 1; mine->node < group->node_count; mine->node++) {
            SIM_STEP(host, sim_store(host, mine->kicks[mine->node] + DOWN,
                                     word_of(mine, mine->total), WORD_BYTES));
        }
        if (host->is_core) {
            SIM_STEP(host, sim_write(host, OUT, word_of(mine, mine->total), WORD_BYTES));
        } else {
            leave(host, mine->total);
        }
    }
    SIM_END(host);
}

static void store_up(struct sim_host *host, uint64_t operand)
{
    const struct mine *mine = host->locals;
    if (mine->group->service == BARRIER) {
        sim_store(host, mine->kicks[HOME] + BYTES_UP + host->node, phase_byte(mine), 1);
    } else {
        sim_store(host, mine->kicks[HOME] + WORDS_UP + (uint64_t)WORD_BYTES * host->node,
                  word_of(mine, operand), WORD_BYTES);
    }
}

static void be_child(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    open_kicks(host);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        mine->total = operand_of(mine, host->node);
        if (host->is_core) {
            SIM_STEP(host, poll_word(host, IN));
            mine->total = host->value & UINT32_MAX;
        } else {
            SIM_STEP(host, sim_compute(host, pause_ps(host)));
            begin(host);
        }
        SIM_STEP(host, store_up(host, mine->total));
        SIM_STEP(host, poll_word(host, DOWN));
        mine->total = host->value & UINT32_MAX;
        if (host->is_core) {
            SIM_STEP(host, sim_write(host, OUT, word_of(mine, mine->total), WORD_BYTES));
        } else {
            SIM_STEP(host, sim_work(host, mine->group->machine->software_pass));
            leave(host, mine->total);
        }
    }
    SIM_END(host);
}

/* A host that leaves the work to its core processor. */
static void ask_core(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    open_kicks(host);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_compute(host, pause_ps(host)));
        begin(host);
        SIM_STEP(host,
                 sim_write(host, IN, word_of(mine, operand_of(mine, host->node)), WORD_BYTES));
        SIM_STEP(host, poll_word(host, OUT));
        mine->total = host->value & UINT32_MAX;
        SIM_STEP(host, sim_work(host, mine->group->machine->software_pass));
        leave(host, mine->total);
    }
    SIM_END(host);
}

static void meet_by_nics(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    host->poll_pause_ps = mine->group->piece_ps;
    sim_barrier_open(host, TEAM, NULL, mine->group->node_count, host->node);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_compute(host, pause_ps(host)));
        begin(host);
        SIM_STEP(host, sim_nic_barrier(host, TEAM));
        SIM_STEP(host, sim_work(host, mine->group->machine->software_pass));
        leave(host, 0);
    }
    SIM_END(host);
}

/* ---- Lock ----------------------------------------------------------------------------------- */

static uint8_t byte_at(uint64_t word, uint32_t node)
{
    return (uint8_t)(word >> 8 * node);
}

/* The next node behind the holder, in turn, that wants the lock; NODES_MAX: none does. */
static uint32_t next_holder(const struct mine *mine, uint32_t behind)
{
    for (uint32_t i = 1; i <= NODES_MAX; i++) {
        uint32_t node = (behind + i) % NODES_MAX;
        if (node != HOME && byte_at(mine->requests, node) != mine->given[node]) {
            return node;
        }
    }
    return NODES_MAX;
}

/* The manager reads all requests and all releases again and again. */
static void manage(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct group *group = mine->group;
    SIM_BEGIN(host);
    open_kicks(host);
    mine->holder = NODES_MAX;
    while (mine->given_all < (group->node_count - 1) * ROUNDS) {
        if (!host->is_core && group->piece_ps > 0) {
            SIM_STEP(host, sim_compute(host, group->piece_ps));
        }
        SIM_STEP(host, sim_load(host, BYTES_UP, WORD_BYTES));
        mine->requests = host->value;
        if (mine->holder < NODES_MAX) {
            SIM_STEP(host, sim_load(host, RELEASES, WORD_BYTES));
            if (byte_at(host->value, mine->holder) != mine->given[mine->holder]) {
                continue;
            }
        }
        mine->node = next_holder(mine, mine->holder % NODES_MAX);
        mine->holder = mine->node;
        if (mine->node < NODES_MAX) {
            SIM_STEP(host, sim_work(host, turn_ps(host)));
            mine->given[mine->node]++;
            mine->given_all++;
            SIM_STEP(host, sim_store(host, mine->kicks[mine->node] + DOWN, mine->given[mine->node],
                                     WORD_BYTES));
        }
    }
    SIM_END(host);
}

static void take_lock(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    open_kicks(host);
    host->poll_pause_ps = 0; /* whoever wants a lock waits for it */
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_compute(host, pause_ps(host)));
        mine->start_ps = host->now_ps;
        if (mine->group->by == BY_NIC) {
            SIM_STEP(host, sim_lock(host, HOME, LOCK, &mine->ticket));
            mine->group->wrong += host->result != 0;
        } else {
            SIM_STEP(host, sim_store(host, mine->kicks[HOME] + BYTES_UP + host->node,
                                     phase_byte(mine), 1));
            SIM_STEP(host, sim_poll(host, DOWN, WORD_BYTES, UINT64_MAX, phase_byte(mine)));
        }
        count_wait(mine, host->now_ps - mine->start_ps);
        if (mine->group->by == BY_NIC) {
            SIM_STEP(host, sim_unlock(host, mine->ticket));
        } else {
            SIM_STEP(host, sim_store(host, mine->kicks[HOME] + RELEASES + host->node,
                                     phase_byte(mine), 1));
        }
    }
    SIM_END(host);
}

/* ---- Message -------------------------------------------------------------------------------- */

/* 64 bytes by BOTF, then their number; the time is that until the sender may reuse the place. */
static void send_messages(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    open_kicks(host);
    host->poll_pause_ps = 0;
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_compute(host, pause_ps(host)));
        mine->start_ps = host->now_ps;
        memset(mine->block, (int)phase_byte(mine), sizeof mine->block);
        SIM_STEP(host, sim_block(host, sim_remote(HOME, BLOCK), mine->block, MESSAGE_BYTES));
        SIM_STEP(host, sim_store(host, mine->kicks[HOME] + FLAG, phase_of(mine), WORD_BYTES));
        SIM_STEP(host, sim_poll(host, DOWN, WORD_BYTES, UINT64_MAX, phase_of(mine)));
        count_wait(mine, host->now_ps - mine->start_ps);
    }
    SIM_END(host);
}

/* Takes messages out of their place. A core processor puts them into another one, from where the
 * host takes them in its own time. */
static void take_messages(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct sim_machine *machine = mine->group->machine;
    SIM_BEGIN(host);
    open_kicks(host);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_poll(host, FLAG, WORD_BYTES, UINT64_MAX, phase_of(mine)));
        for (mine->node = 0; mine->node < MESSAGE_BYTES / WORD_BYTES; mine->node++) {
            SIM_STEP(host, sim_load(host, BLOCK + (uint64_t)WORD_BYTES * mine->node, WORD_BYTES));
            mine->group->wrong += host->value != UINT64_C(0x0101010101010101) * phase_byte(mine);
            if (host->is_core) {
                SIM_STEP(host, sim_write(host, 2 * BLOCK + (uint64_t)WORD_BYTES * mine->node,
                                         host->value, WORD_BYTES));
            }
        }
        SIM_STEP(host,
                 sim_work(host, host->is_core ? cycles_ps(host, machine->core_look_up_cycles +
                                                                    machine->core_update_cycles)
                                              : turn_ps(host)));
        SIM_STEP(host, sim_store(host, mine->kicks[1] + DOWN, phase_of(mine), WORD_BYTES));
        if (host->is_core) {
            SIM_STEP(host, sim_write(host, OUT, phase_of(mine), WORD_BYTES));
        }
    }
    SIM_END(host);
}

/* The host behind a core processor that takes messages: it sees how many there are, and reads the
 * last one. */
static void read_messages(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    open_kicks(host);
    while (mine->total < ROUNDS) {
        if (mine->group->piece_ps > 0) {
            SIM_STEP(host, sim_compute(host, mine->group->piece_ps));
        }
        SIM_STEP(host, sim_load(host, OUT, WORD_BYTES));
        if (host->value != mine->total) {
            mine->total = host->value;
            for (mine->node = 0; mine->node < MESSAGE_BYTES / WORD_BYTES; mine->node++) {
                SIM_STEP(host,
                         sim_load(host, 2 * BLOCK + (uint64_t)WORD_BYTES * mine->node, WORD_BYTES));
            }
        }
    }
    SIM_END(host);
}

/* Paper 004's SEND/RECEIVE: CorePU numbers, acknowledges and puts messages into the host's RB. */
static const uint16_t home_list[] = {HOME};
static const uint16_t sender_list[] = {1};

static void send_by_nic(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct nic_message_lists lists = {home_list, 1, NULL, 0};
    SIM_BEGIN(host);
    sim_message_open(host, &lists, 0);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_compute(host, pause_ps(host)));
        mine->start_ps = host->now_ps;
        memset(mine->block, (int)phase_byte(mine), sizeof mine->block);
        SIM_STEP(host, sim_send(host, HOME, mine->block, MESSAGE_BYTES));
        SIM_STEP(host, sim_send_wait(host));
        count_wait(mine, host->now_ps - mine->start_ps);
    }
    SIM_END(host);
}

static void receive_by_nic(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct nic_message_lists lists = {NULL, 0, sender_list, 1};
    SIM_BEGIN(host);
    host->poll_pause_ps = mine->group->piece_ps;
    sim_message_open(host, &lists, 0);
    for (mine->round = 0; mine->round < ROUNDS; mine->round++) {
        SIM_STEP(host, sim_receive(host, mine->block, MESSAGE_BYTES));
        mine->group->wrong += mine->block[0] != phase_byte(mine);
    }
    SIM_END(host);
}

/* ---- Who runs what -------------------------------------------------------------------------- */

/* NULL: nothing. */
static sim_program *host_program(const struct group *group, uint32_t node)
{
    bool by_core = group->by == BY_CORE;
    switch (group->service) {
    case LOCKING: return node != HOME ? take_lock : group->by == BY_HOST ? manage : NULL;
    case MESSAGE:
        if (group->by == BY_NIC) {
            return node != HOME ? send_by_nic : receive_by_nic;
        }
        return node != HOME ? send_messages : by_core ? read_messages : take_messages;
    default: break;
    }
    if (group->by == BY_NIC) {
        return meet_by_nics;
    }
    return by_core ? ask_core : node == HOME ? be_home : be_child;
}

static sim_program *core_program(const struct group *group, uint32_t node)
{
    if (group->by != BY_CORE) {
        return NULL;
    }
    switch (group->service) {
    case LOCKING: return node == HOME ? manage : NULL;
    case MESSAGE: return node == HOME ? take_messages : NULL;
    default: return node == HOME ? be_home : be_child;
    }
}

/* ---- Rows ----------------------------------------------------------------------------------- */

enum column { NODES, SERVICE, BY, NS, BUSY_NS, HOST_NS, CORE_NS, EVENTS, COLUMNS };

static const struct sim_study_column columns[COLUMNS] = {
    [NODES] = {"nodes", 6, 0, "that take part"},
    [SERVICE] = {"service", 9, -1, "a lock: request to grant; a message: until it is acknowledged"},
    [BY] = {"by", 5, -1, "who does the work; see dimmnet-sim(1)"},
    [NS] = {"ns", 9, 1, "of one operation, with hosts that only wait"},
    [BUSY_NS] = {"busy_ns", 9, 1, "with hosts that look every 10 us and compute meanwhile"},
    [HOST_NS] = {"host_ns", 8, 1, "the home host's own time for it, while it computes"},
    [CORE_NS] = {"core_ns", 8, 1, "the home core processor's time for it"},
    [EVENTS] = {"events", 8, 0, "of the simulation"},
};

static bool is_done_so(enum service service, enum by by)
{
    return by != BY_NIC || (service != SUM && service != FLOAT_SUM);
}

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    static const uint32_t node_counts[] = {2, 4, 8};
    unsigned count = 0;
    for (unsigned service = 0; service < SERVICES; service++) {
        for (unsigned i = 0; i < sizeof node_counts / sizeof node_counts[0]; i++) {
            for (unsigned by = 0; by < BYS; by++) {
                bool wanted = node_counts[i] <= choice->nodes_max &&
                              (service != MESSAGE || node_counts[i] == 2);
                if (wanted && is_done_so((enum service)service, (enum by)by)) {
                    points[count++] = (struct sim_study_point){.nodes = node_counts[i],
                                                               .variant = service * BYS + by};
                }
            }
        }
    }
    return count;
}

/* ---- Running -------------------------------------------------------------------------------- */

static double ns_of(uint64_t ps)
{
    return (double)ps / (double)SIM_PS_PER_NS;
}

static void read_figures(const struct group *group, const struct sim_world *world,
                         struct sim_study_row *row)
{
    struct sim_world_counters counters;
    uint64_t operations = group->service == LOCKING ? (group->node_count - 1) * ROUNDS : ROUNDS;
    sim_world_counters(world, &counters);
    sim_study_set_number(row, group->piece_ps > 0 ? BUSY_NS : NS,
                         ns_of(group->wait_ps) / group->waits);
    if (group->piece_ps > 0) {
        sim_study_set_number(row, HOST_NS,
                             ns_of(sim_world_busy(world, HOME, false)) / (double)operations);
        sim_study_set_number(row, CORE_NS,
                             ns_of(sim_world_busy(world, HOME, true)) / (double)operations);
    }
    sim_study_set_number(row, EVENTS, row->values[EVENTS].number + (double)counters.events);
    if (group->wrong > 0) {
        (void)snprintf(row->error, sizeof row->error, "%u results are wrong", group->wrong);
    }
}

static void run_world(struct group *group, struct sim_study_row *row)
{
    const struct sim_world_config config = {
        .machine = group->machine,
        .node_count = group->node_count,
        .topology = SIM_ONE_SWITCH,
        .services = group->by == BY_NIC,
        .core_programs = group->by == BY_CORE,
        .messages = {.entries = group->by == BY_NIC && group->service == MESSAGE ? 64 : 0,
                     .send_bytes = BUFFER_BYTES,
                     .receive_bytes = BUFFER_BYTES,
                     .bytes_max = MESSAGE_BYTES},
    };
    struct mine mine[2 * NODES_MAX] = {{0}};
    struct sim_world *world = sim_world_open(&config, row->error);
    if (!world) {
        return;
    }
    for (uint32_t node = 0; node < group->node_count; node++) {
        mine[2 * node].group = mine[2 * node + 1].group = group;
        if (host_program(group, node)) {
            sim_world_start(world, node, 0, host_program(group, node), &mine[2 * node], 0);
        }
        if (core_program(group, node)) {
            sim_world_start_core(world, node, core_program(group, node), &mine[2 * node + 1], 0);
        }
    }
    enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
    if (end == SIM_END_DONE) {
        read_figures(group, world, row);
    } else {
        sim_world_why(world, end, row->error);
    }
    sim_world_close(world);
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    static const uint64_t pieces_ps[] = {0, PIECE_PS};
    for (unsigned i = 0; i < 2 && !row->error[0]; i++) {
        struct group group = {
            .machine = choice->machine,
            .service = (enum service)(point->variant / BYS),
            .by = (enum by)(point->variant % BYS),
            .node_count = point->nodes,
            .piece_ps = pieces_ps[i],
        };
        sim_study_set_number(row, NODES, point->nodes);
        sim_study_set_text(row, SERVICE, service_names[group.service]);
        sim_study_set_text(row, BY, by_names[group.by]);
        run_world(&group, row);
    }
}

const struct sim_study sim_study_corepu = {
    .name = "corepu",
    .text = "lock, barrier, sum and message by the hosts or by the core processors",
    .machine = "dimmnet1-D",
    .columns = columns,
    .column_count = COLUMNS,
    .x = NODES,
    .series = {SERVICE, BY},
    .series_count = 2,
    .y = {NS, BUSY_NS, HOST_NS, CORE_NS},
    .y_count = 4,
    .list = list,
    .run = run,
};
