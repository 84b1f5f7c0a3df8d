/* What bank switches cost, and both remedies that paper 001 names and did not try: one switch for
 * n messages, and data by AOTF into LLCM, which needs no switch.
 *
 * A node sends messages to another without a pause. The kinds are
 *
 *     banks          as the paper's dimmnet_recvfrom does it, for n = 1: BOTF into the receiver's
 *                    SO-DIMM, an AOTF flag behind n messages, a barrier, the switch, the messages
 *                    are copied out, another barrier
 *     banks+overlap  no barriers: behind the switch the receiver says go, and the sender fills one
 *                    bank while the receiver empties the other
 *     llcm+aotf      8 bytes a store into a ring in LLCM: the flag is the tail, and the receiver
 *                    stores the head back (paper 000, section 4.2)
 *     llcm+botf      the same ring, filled by blocks
 *
 * With more messages to a switch or a flag, each of them waits for the others. The delay is that of
 * the first batch, which meets an idle receiver; the rate is that of the batches behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/studies/parts.h"

enum { SENDER, RECEIVER, NODES };
enum kind { BANKS, OVERLAP, AOTF, BOTF, KINDS };
static const char *const kind_names[KINDS] = {"banks", "banks+overlap", "llcm+aotf", "llcm+botf"};

/* Words of LLCM that the other node stores into; the ring lies behind the first page. */
enum { FLAG = 0, ENTRY = 8, GO = 16, HEAD = 24, RING = 4096, PAGE_BYTES = 4096 };

enum {
    WORD_BYTES = 8,
    HEADER_BYTES = 16, /* of a message: size and flag, as in paper 001 */
    BARRIERS = 2,
    BATCHES = 4, /* the first one is not counted */
    PAGES_MAX = 32,
};

struct exchange {
    const struct sim_machine *machine;
    enum kind kind;
    uint32_t per_switch;   /* messages to a switch, or to a flag */
    uint32_t bytes;        /* of a message, with its header */
    uint32_t depth;        /* batches for which the ring has room */
    unsigned char *data;   /* of one message */
    uint64_t *begun_ps;    /* by message: its send began */
    uint64_t first_end_ps; /* the receiver has the first batch */
    uint64_t last_end_ps;
    uint64_t switch_ps; /* between these two */
    uint64_t delay_ps, delay_max_ps;
    uint32_t delay_count;
    bool wrong; /* something else was received than was sent */
};

/* A program's locals. */
struct mine {
    struct exchange *exchange;
    uint64_t kick;
    uint64_t ring[PAGES_MAX]; /* kicks to the ring's pages */
    uint32_t batch, message, barrier, phase;
    uint32_t at; /* bytes of the message */
};

/* ---- Messages ----------------------------------------------------------------------------- */

static void fill(const struct mine *mine)
{
    struct exchange *exchange = mine->exchange;
    for (uint32_t i = 0; i < exchange->bytes; i++) {
        exchange->data[i] = (unsigned char)(i + 3 * mine->message + 5 * mine->batch);
    }
}

static uint64_t word_of(const struct mine *mine)
{
    uint64_t word;
    memcpy(&word, mine->exchange->data + mine->at, sizeof word);
    return word;
}

/* Where the message lies in its bank, or behind the ring's first byte. */
static uint64_t place_of(const struct mine *mine)
{
    const struct exchange *exchange = mine->exchange;
    uint32_t batch = exchange->depth > 0 ? mine->batch % exchange->depth : 0;
    return (uint64_t)(batch * exchange->per_switch + mine->message) * exchange->bytes + mine->at;
}

static uint64_t *begun_of(const struct mine *mine)
{
    const struct exchange *exchange = mine->exchange;
    return &exchange->begun_ps[mine->batch * exchange->per_switch + mine->message];
}

static void begin_message(struct sim_host *host)
{
    const struct mine *mine = host->locals;
    *begun_of(mine) = host->now_ps;
    fill(mine);
}

/* The receiver has the message. */
static void end_message(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct exchange *exchange = mine->exchange;
    if (mine->batch == 0) {
        uint64_t delay_ps = host->now_ps - *begun_of(mine);
        exchange->delay_ps += delay_ps;
        exchange->delay_max_ps = delay_ps > exchange->delay_max_ps ? delay_ps
                                                                   : exchange->delay_max_ps;
        exchange->delay_count++;
    }
}

static void end_batch(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct exchange *exchange = mine->exchange;
    struct sim_world_counters counters;
    sim_world_counters(host->world, &counters);
    if (mine->batch == 0) {
        exchange->first_end_ps = host->now_ps;
        exchange->switch_ps = counters.bank_switch_ps;
    }
    exchange->last_end_ps = host->now_ps;
    if (mine->batch + 1 == BATCHES) {
        exchange->switch_ps = counters.bank_switch_ps - exchange->switch_ps;
    }
}

static uint32_t block_bytes(const struct mine *mine)
{
    uint32_t left = mine->exchange->bytes - mine->at;
    return left < WIRE_BOTF_BYTES_MAX ? left : WIRE_BOTF_BYTES_MAX;
}

/* Half of libFagus' work for a message is on either side. */
static uint64_t software_ps(const struct mine *mine)
{
    return mine->exchange->machine->software_message / 2;
}

/* ---- Banks -------------------------------------------------------------------------------- */

/* The sender is the home node of a barrier as the library makes it. */
static uint64_t home_work_ps(const struct mine *mine)
{
    const struct sim_machine *machine = mine->exchange->machine;
    return sim_machine_turn(machine) + machine->software_pass + machine->software_library_barrier;
}

static void send_to_bank(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct exchange *exchange = mine->exchange;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, RECEIVER, 0);
    for (mine->batch = 0; mine->batch < BATCHES; mine->batch++) {
        if (exchange->kind == OVERLAP && mine->batch > 0) {
            SIM_STEP(host, sim_poll(host, GO, 4, UINT32_MAX, mine->batch));
        }
        for (mine->message = 0; mine->message < exchange->per_switch; mine->message++) {
            begin_message(host);
            SIM_STEP(host, sim_work(host, software_ps(mine)));
            SIM_STEP(host, sim_bank_write(host, 0, exchange->data, exchange->bytes));
            for (mine->at = 0; mine->at < exchange->bytes; mine->at += block_bytes(mine)) {
                SIM_STEP(host, sim_block(host, sim_remote_bank(RECEIVER, place_of(mine)),
                                         exchange->data + mine->at, block_bytes(mine)));
            }
        }
        SIM_STEP(host, sim_store(host, mine->kick + FLAG, mine->batch + 1, 4));
        for (mine->barrier = 0; exchange->kind == BANKS && mine->barrier < BARRIERS;
             mine->barrier++) {
            mine->phase++;
            SIM_STEP(host, sim_poll(host, ENTRY, 4, UINT32_MAX, mine->phase));
            SIM_STEP(host, sim_work(host, home_work_ps(mine)));
            SIM_STEP(host, sim_store(host, mine->kick + ENTRY, mine->phase, 4));
        }
    }
    SIM_END(host);
}

static void check_message(struct mine *mine, const unsigned char *got)
{
    struct exchange *exchange = mine->exchange;
    for (uint32_t i = 0; i < exchange->bytes; i++) {
        unsigned char sent = (unsigned char)(i + 3 * mine->message + 5 * mine->batch);
        exchange->wrong = exchange->wrong || got[i] != sent;
    }
}

static void receive_from_bank(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct exchange *exchange = mine->exchange;
    unsigned char *got = exchange->data + exchange->bytes;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, SENDER, 0);
    for (mine->batch = 0; mine->batch < BATCHES; mine->batch++) {
        SIM_STEP(host, sim_poll(host, FLAG, 4, UINT32_MAX, mine->batch + 1));
        SIM_STEP(host, sim_work(host, exchange->machine->host_write)); /* clears the flag */
        for (mine->barrier = 0; mine->barrier < BARRIERS; mine->barrier++) {
            mine->phase++;
            if (exchange->kind == BANKS) {
                SIM_STEP(host, sim_work(host, exchange->machine->software_pass));
                SIM_STEP(host, sim_store(host, mine->kick + ENTRY, mine->phase, 4));
                SIM_STEP(host, sim_poll(host, ENTRY, 4, UINT32_MAX, mine->phase));
            }
            if (mine->barrier > 0) {
                break;
            }
            SIM_STEP(host, sim_switch_banks(host));
            if (exchange->kind == OVERLAP) {
                SIM_STEP(host, sim_store(host, mine->kick + GO, mine->batch + 1, 4));
            }
            for (mine->message = 0; mine->message < exchange->per_switch; mine->message++) {
                SIM_STEP(host, sim_work(host, exchange->machine->host_read8)); /* the header */
                SIM_STEP(host, sim_work(host, software_ps(mine)));
                SIM_STEP(host, sim_bank_read(host, place_of(mine), got, exchange->bytes));
                check_message(mine, got);
                end_message(host);
            }
        }
        end_batch(host);
    }
    SIM_END(host);
}

/* ---- LLCM --------------------------------------------------------------------------------- */

/* All of LLCM behind its first page, but no more than the sender has kick pages for. */
static uint64_t ring_bytes_of(const struct sim_machine *machine)
{
    uint64_t behind = machine->llcm_bytes - RING;
    uint64_t most = (uint64_t)PAGES_MAX * PAGE_BYTES;
    return behind < most ? behind : most;
}

static uint64_t ring_kick(const struct mine *mine)
{
    uint64_t place = place_of(mine);
    return mine->ring[place / PAGE_BYTES] + place % PAGE_BYTES;
}

static void open_ring(struct sim_host *host)
{
    struct mine *mine = host->locals;
    uint64_t ring_bytes = ring_bytes_of(mine->exchange->machine);
    mine->kick = sim_kick(host, RECEIVER, 0);
    for (uint32_t page = 0; page * PAGE_BYTES < ring_bytes; page++) {
        mine->ring[page] = sim_kick(host, RECEIVER, RING + (uint64_t)page * PAGE_BYTES);
    }
}

static void send_to_llcm(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const struct exchange *exchange = mine->exchange;
    SIM_BEGIN(host);
    open_ring(host);
    for (mine->batch = 0; mine->batch < BATCHES; mine->batch++) {
        do {
            SIM_STEP(host, sim_load(host, HEAD, 4));
        } while (host->value + exchange->depth <= mine->batch);
        for (mine->message = 0; mine->message < exchange->per_switch; mine->message++) {
            begin_message(host);
            SIM_STEP(host, sim_work(host, software_ps(mine)));
            for (mine->at = 0; exchange->kind == AOTF && mine->at < exchange->bytes;
                 mine->at += WORD_BYTES) {
                SIM_STEP(host, sim_store(host, ring_kick(mine), word_of(mine), WORD_BYTES));
            }
            for (; mine->at < exchange->bytes; mine->at += block_bytes(mine)) {
                SIM_STEP(host, sim_block(host, sim_remote(RECEIVER, RING + place_of(mine)),
                                         exchange->data + mine->at, block_bytes(mine)));
            }
        }
        SIM_STEP(host, sim_store(host, mine->kick + FLAG, mine->batch + 1, 4));
    }
    SIM_END(host);
}

/* The tail may already be further on than this batch. */
static void receive_from_llcm(struct sim_host *host)
{
    struct mine *mine = host->locals;
    struct exchange *exchange = mine->exchange;
    unsigned char *got = exchange->data + exchange->bytes;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, SENDER, 0);
    for (mine->batch = 0; mine->batch < BATCHES; mine->batch++) {
        do {
            SIM_STEP(host, sim_load(host, FLAG, 4));
        } while (host->value <= mine->batch);
        for (mine->message = 0; mine->message < exchange->per_switch; mine->message++) {
            for (mine->at = 0; mine->at < exchange->bytes; mine->at += WORD_BYTES) {
                SIM_STEP(host, sim_load(host, RING + place_of(mine), WORD_BYTES));
                memcpy(got + mine->at, &host->value, WORD_BYTES);
            }
            SIM_STEP(host, sim_work(host, software_ps(mine)));
            mine->at = 0;
            check_message(mine, got);
            end_message(host);
        }
        SIM_STEP(host, sim_store(host, mine->kick + HEAD, mine->batch + 1, 4));
        end_batch(host);
    }
    SIM_END(host);
}

/* ---- Rows --------------------------------------------------------------------------------- */

enum column { PER_SWITCH, KIND, BYTES, SWITCH, RATE, DELAY, DELAY_MAX, SHARE, EVENTS, COLUMNS };

static const struct sim_study_column columns[COLUMNS] = {
    [PER_SWITCH] = {"per_switch", 10, 0, "messages to a bank switch, or to a flag"},
    [KIND] = {"kind", 13, -1, "where the data go; see dimmnet-sim(1)"},
    [BYTES] = {"bytes", 6, 0, "of a message"},
    [SWITCH] = {"switch_us", 10, 1, "what a bank switch takes"},
    [RATE] = {"mb_per_s", 9, 3, "of data, received"},
    [DELAY] = {"delay_us", 10, 1, "mean, from the call until an idle receiver has it"},
    [DELAY_MAX] = {"delay_max_us", 12, 1, "of the message that waits longest"},
    [SHARE] = {"switch_pct", 10, 2, "share of the receiver's time in bank switches"},
    [EVENTS] = {"events", 9, 0, "of the simulation"},
};

/* A point's case; a switch of 0 is the machine's own. */
struct banks_case {
    enum kind kind;
    uint32_t per_switch, bytes;
    uint32_t switch_us;
};

enum { LARGE = 10000, SMALL = 64, FASTER_US = 20 };

static const struct banks_case cases[] = {
    {BANKS, 1, LARGE, 0},
    {BANKS, 4, LARGE, 0},
    {BANKS, 16, LARGE, 0},
    {BANKS, 64, LARGE, 0},
    {BANKS, 256, LARGE, 0},
    {BANKS, 1024, LARGE, 0},
    {OVERLAP, 1, LARGE, 0},
    {OVERLAP, 4, LARGE, 0},
    {OVERLAP, 16, LARGE, 0},
    {OVERLAP, 64, LARGE, 0},
    {OVERLAP, 256, LARGE, 0},
    {OVERLAP, 1024, LARGE, 0},
    {OVERLAP, 1, LARGE, FASTER_US},
    {OVERLAP, 4, LARGE, FASTER_US},
    {OVERLAP, 16, LARGE, FASTER_US},
    {OVERLAP, 64, LARGE, FASTER_US},
    {AOTF, 1, LARGE, 0},
    {AOTF, 4, LARGE, 0},
    {BOTF, 1, LARGE, 0},
    {BOTF, 4, LARGE, 0},
    {OVERLAP, 1, SMALL, 0},
    {OVERLAP, 16, SMALL, 0},
    {OVERLAP, 256, SMALL, 0},
    {OVERLAP, 1, SMALL, FASTER_US},
    {OVERLAP, 16, SMALL, FASTER_US},
    {OVERLAP, 256, SMALL, FASTER_US},
    {AOTF, 1, SMALL, 0},
    {AOTF, 16, SMALL, 0},
    {AOTF, 256, SMALL, 0},
    {BOTF, 1, SMALL, 0},
    {BOTF, 16, SMALL, 0},
    {BOTF, 256, SMALL, 0},
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

/* ---- Running ------------------------------------------------------------------------------ */

static double us(uint64_t ps)
{
    return (double)ps / (double)SIM_PS_PER_NS / 1000;
}

static void read_figures(const struct exchange *exchange, uint32_t data_bytes,
                         const struct sim_world *world, struct sim_study_row *row)
{
    struct sim_world_counters counters;
    uint64_t time_ps = exchange->last_end_ps - exchange->first_end_ps;
    uint64_t bytes = (uint64_t)(BATCHES - 1) * exchange->per_switch * data_bytes;
    sim_world_counters(world, &counters);
    sim_study_set_number(row, RATE, (double)bytes / us(time_ps));
    sim_study_set_number(row, DELAY, us(exchange->delay_ps) / exchange->delay_count);
    sim_study_set_number(row, DELAY_MAX, us(exchange->delay_max_ps));
    sim_study_set_number(row, SHARE, 100 * (double)exchange->switch_ps / (double)time_ps);
    sim_study_set_number(row, EVENTS, (double)counters.events);
    if (exchange->wrong || counters.bank_arrivals > 0) {
        (void)snprintf(row->error, sizeof row->error, "%s: what was received is not what was sent",
                       exchange->machine->name);
    }
}

static void run_world(struct exchange *exchange, uint32_t data_bytes, struct sim_study_row *row)
{
    const struct sim_world_config config = {
        .machine = exchange->machine, .node_count = NODES, .topology = SIM_BACK_TO_BACK};
    bool banks = exchange->kind == BANKS || exchange->kind == OVERLAP;
    struct mine mine[NODES] = {{.exchange = exchange}, {.exchange = exchange}};
    struct sim_world *world = sim_world_open(&config, row->error);
    if (!world) {
        return;
    }
    sim_world_start(world, SENDER, 0, banks ? send_to_bank : send_to_llcm, &mine[SENDER], 0);
    sim_world_start(world, RECEIVER, 0, banks ? receive_from_bank : receive_from_llcm,
                    &mine[RECEIVER], 0);
    enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
    if (end == SIM_END_DONE) {
        read_figures(exchange, data_bytes, world, row);
    } else {
        sim_world_why(world, end, row->error);
    }
    sim_world_close(world);
}

/* Gives the banks or the ring their room; false: the ring has none for one batch. */
static bool make_room(struct exchange *exchange, struct sim_machine *machine,
                      struct sim_study_row *row)
{
    uint64_t batch_bytes = (uint64_t)exchange->per_switch * exchange->bytes;
    if (exchange->kind == BANKS || exchange->kind == OVERLAP) {
        machine->bank_bytes = batch_bytes > machine->bank_bytes ? batch_bytes : machine->bank_bytes;
        return true;
    }
    exchange->depth = (uint32_t)(ring_bytes_of(machine) / batch_bytes);
    if (exchange->depth == 0) {
        (void)snprintf(row->error, sizeof row->error,
                       "%s: %u messages of %u bytes do not fit into LLCM", machine->name,
                       exchange->per_switch, exchange->bytes);
    }
    return exchange->depth > 0;
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    const struct banks_case *of = &cases[point->variant];
    struct sim_machine machine = *choice->machine;
    if (machine.host_bank_switch == 0) {
        (void)snprintf(row->error, sizeof row->error,
                       "%s: [host] bank_switch_ns is 0: it is not known what a switch takes",
                       machine.name);
        return;
    }
    if (of->switch_us > 0) {
        machine.host_bank_switch = of->switch_us * UINT64_C(1000) * SIM_PS_PER_NS;
    }
    struct exchange exchange = {
        .machine = &machine,
        .kind = of->kind,
        .per_switch = of->per_switch,
        .bytes = of->bytes + HEADER_BYTES,
        .data = calloc(2, of->bytes + HEADER_BYTES),
        .begun_ps = calloc((size_t)BATCHES * of->per_switch, sizeof *exchange.begun_ps),
    };
    INVARIANT(exchange.data && exchange.begun_ps);
    sim_study_set_number(row, PER_SWITCH, of->per_switch);
    sim_study_set_text(row, KIND, kind_names[of->kind]);
    sim_study_set_number(row, BYTES, of->bytes);
    if (of->kind == BANKS || of->kind == OVERLAP) {
        sim_study_set_number(row, SWITCH, us(machine.host_bank_switch));
    }
    if (make_room(&exchange, &machine, row)) {
        run_world(&exchange, of->bytes, row);
    }
    free(exchange.data);
    free(exchange.begun_ps);
}

const struct sim_study sim_study_banks = {
    .name = "banks",
    .text = "bank switches, one for n messages, against data into LLCM: delay and throughput",
    .machine = "fagus-p3",
    .columns = columns,
    .column_count = COLUMNS,
    .x = PER_SWITCH,
    .series = {KIND, BYTES, SWITCH},
    .series_count = 3,
    .y = {RATE, DELAY, SHARE},
    .y_count = 3,
    .list = list,
    .run = run,
};
