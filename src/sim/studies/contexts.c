/* CD's context cache at thousands of peers, which paper 002 left open: one node with C contexts
 * sends 8 bytes to each of P peers in turn, or to peers chosen at random.
 *
 * The operations are BOTF: AOTF would need a header for each peer, and misses of the header TLB
 * would hide misses of contexts. All nodes are at one switch, however many ports that takes, so
 * that the way is the same to all.
 *
 * Each point is two worlds. In the first, an operation begins long after the one before was
 * acknowledged; it gives the latency and the share of operations that find their context. In the
 * second, operations follow as fast as host and NIC can; it gives their rate, and how many of
 * their packets go by stop-and-wait.
 *
 * A second study sets CD beside InfiniBand's services (paper 002, section 2), as InfiniSWIF would
 * have them:
 *
 *     UD  no contexts, and nothing repairs a loss
 *     CD  contexts in a cache; of other peers only a stub is kept, with their sequence numbers
 *     RC  a queue pair for each peer: a context of each peer is kept in the board's memory, and
 *         those in use are on the chip
 *     RD  one queue pair and a context for each peer, kept like RC's; the next message waits until
 *         the last one, to whomever, is acknowledged */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/studies/parts.h"
#include "swif/state.h"

enum { OPERATION_BYTES = 8, OPERATIONS_MIN = 4096 };

#define PACE_PS (UINT64_C(10000) * SIM_PS_PER_NS)

enum variant { IN_TURN, AT_RANDOM, VARIANTS };
static const char *const variant_names[VARIANTS] = {"in turn", "random"};

/* ---- The program -------------------------------------------------------------------------- */

struct sender {
    uint32_t peer_count; /* the nodes 0 .. peer_count - 1; the sender is the last node */
    bool at_random;
    bool serialises;  /* RD: an operation waits for the acknowledgement of the one before */
    uint64_t pace_ps; /* between operations; 0: none */
    uint32_t warm;    /* the first ones, which are not counted */
    uint32_t operations;
    uint32_t number; /* of the operation */
    uint32_t peer;
    struct base_random random;
    struct sim_world_counters warm_counters;
    uint64_t warm_ps;
    uint32_t *last; /* by node: the last operation to it, from 1 on; 0: none, or already counted */
    uint64_t latency_ps;
    uint32_t latency_count;
    uint64_t payload;
};

/* The peer's last passage is that of `last`, since it arrived before the next one is sent. */
static void take_latency(const struct sim_world *world, struct sender *sender, uint32_t peer)
{
    const struct sim_passage *passage = sim_world_passage(world, peer);
    if (sender->last[peer] > sender->warm && passage->visible_ps > 0) {
        sender->latency_ps += passage->visible_ps - passage->kicked_ps;
        sender->latency_count++;
    }
    sender->last[peer] = 0;
}

static void choose_peer(const struct sim_host *host)
{
    struct sender *sender = host->locals;
    /* The uncounted operations reach every peer: misses of the receivers' TLBs have nothing to do
     * with contexts. */
    sender->peer = sender->at_random && sender->number >= sender->warm
                       ? (uint32_t)base_random_below(&sender->random, sender->peer_count)
                       : sender->number % sender->peer_count;
    if (sender->number == sender->warm) {
        sim_world_counters(host->world, &sender->warm_counters);
        sender->warm_ps = host->now_ps;
    }
    if (sender->pace_ps > 0) {
        take_latency(host->world, sender, sender->peer);
    }
    sender->last[sender->peer] = sender->number + 1;
}

static void send_to_peers(struct sim_host *host)
{
    struct sender *sender = host->locals;
    SIM_BEGIN(host);
    for (sender->number = 0; sender->number < sender->operations; sender->number++) {
        choose_peer(host);
        SIM_STEP(host,
                 sim_block(host, sim_remote(sender->peer, 0), &sender->payload, OPERATION_BYTES));
        if (sender->serialises) {
            sim_serialise(host);
        }
        if (sender->pace_ps > 0) {
            SIM_STEP(host, sim_work(host, sender->pace_ps));
        }
    }
    SIM_END(host);
}

/* ---- Rows --------------------------------------------------------------------------------- */

/* The second study has its first three columns otherwise, and three more behind the rest. */
enum column {
    CONTEXTS,
    PEERS,
    ORDER,
    LATENCY,
    HITS,
    RATE,
    BANDWIDTH,
    STOP_AND_WAIT,
    PACKETS,
    EVENTS,
    COLUMNS,
    STATE = COLUMNS,
    STUBS,
    STATE_KB,
    TRANSPORT_COLUMNS,
    TRANSPORT = ORDER,
};

static const struct sim_study_column columns[COLUMNS] = {
    [CONTEXTS] = {"contexts", 8, 0, "LTEEs of the sender"},
    [PEERS] = {"peers", 6, 0, "that it sends to"},
    [ORDER] = {"order", 8, -1, "in which it sends to them"},
    [LATENCY] = {"latency_ns", 10, 1, "of 8 bytes, from the kick to memory, one at a time"},
    [HITS] = {"hit_share", 9, 4, "of operations that find their context, one at a time"},
    [RATE] = {"mops", 7, 4, "million operations in a second, as fast as they go"},
    [BANDWIDTH] = {"mb_per_s", 8, 2, "of data, as fast as they go"},
    [STOP_AND_WAIT] = {"stop_and_wait_share", 19, 4, "of packets, as fast as they go"},
    [PACKETS] = {"packets", 8, 0, "in both worlds together"},
    [EVENTS] = {"events", 9, 0, "of the simulation"},
};

/* ---- Running ------------------------------------------------------------------------------ */

/* Adds to a number of the row. */
static void add_number(struct sim_study_row *row, unsigned column, uint64_t number)
{
    sim_study_set_number(row, column, row->values[column].number + (double)number);
}

static void read_figures(const struct sim_world *world, struct sender *sender,
                         struct sim_study_row *row)
{
    struct sim_world_counters all;
    const struct sim_world_counters *warm = &sender->warm_counters;
    double operations = sender->operations - sender->warm;
    sim_world_counters(world, &all);
    add_number(row, PACKETS, all.packets);
    add_number(row, EVENTS, all.events);
    if (sender->pace_ps > 0) {
        for (uint32_t peer = 0; peer < sender->peer_count; peer++) {
            take_latency(world, sender, peer);
        }
        uint64_t misses = all.context_misses - warm->context_misses;
        sim_study_set_number(row, LATENCY,
                             (double)sender->latency_ps / sender->latency_count /
                                 (double)SIM_PS_PER_NS);
        if (all.transmissions > 0) { /* UD has no contexts */
            sim_study_set_number(row, HITS, 1 - (double)misses / operations);
        }
    } else {
        uint64_t ps = sim_world_now(world) - sender->warm_ps;
        uint64_t transmissions = all.transmissions - warm->transmissions;
        uint64_t singly = all.stop_and_wait - warm->stop_and_wait;
        double per_s = operations * 1e12 / (double)ps;
        sim_study_set_number(row, RATE, per_s / 1e6);
        sim_study_set_number(row, BANDWIDTH, per_s * OPERATION_BYTES / 1e6);
        if (transmissions > 0) {
            sim_study_set_number(row, STOP_AND_WAIT, (double)singly / (double)transmissions);
        }
    }
}

struct way {
    bool at_random;
    bool serialises;
};

static bool measure(const struct sim_machine *machine, uint32_t nodes, struct way way,
                    uint64_t pace_ps, struct sim_study_row *row)
{
    const struct sim_world_config config = {
        .machine = machine, .node_count = nodes, .topology = SIM_ONE_SWITCH};
    uint32_t peers = nodes - 1;
    uint32_t round = peers > OPERATIONS_MIN ? peers : OPERATIONS_MIN / peers * peers;
    struct sender sender = {
        .peer_count = peers,
        .at_random = way.at_random,
        .serialises = way.serialises,
        .pace_ps = pace_ps,
        .warm = round,
        .operations = 2 * round,
        .random = {1},
        .last = calloc(nodes, sizeof *sender.last),
    };
    INVARIANT(sender.last);
    struct sim_world *world = sim_world_open(&config, row->error);
    if (world) {
        sim_world_start(world, peers, 0, send_to_peers, &sender, 0);
        enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
        if (end == SIM_END_DONE) {
            read_figures(world, &sender, row);
        } else {
            sim_world_why(world, end, row->error);
        }
        sim_world_close(world);
    }
    free(sender.last);
    return row->error[0] == '\0';
}

/* ---- Points ------------------------------------------------------------------------------- */

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    static const uint32_t contexts[] = {16, 64, 256, 1024};
    static const uint32_t peers[] = {16, 64, 256, 1024, 4096, 16384};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        for (unsigned j = 0; j < sizeof contexts / sizeof contexts[0]; j++) {
            for (unsigned variant = 0; variant < VARIANTS; variant++) {
                if (peers[i] < choice->nodes_max) {
                    points[count++] = (struct sim_study_point){
                        .nodes = peers[i] + 1, .variant = variant, .contexts = contexts[j]};
                }
            }
        }
    }
    return count;
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct sim_machine machine = *choice->machine;
    machine.carrier_contexts = point->contexts;
    machine.switch_ports = point->nodes;
    sim_study_set_number(row, CONTEXTS, point->contexts);
    sim_study_set_number(row, PEERS, point->nodes - 1);
    sim_study_set_text(row, ORDER, variant_names[point->variant]);
    if (machine.carrier_kind != SIM_CARRIER_CD) {
        (void)snprintf(row->error, sizeof row->error, "%s: [carrier] kind is not cd", machine.name);
        return;
    }
    const struct way way = {.at_random = point->variant == AT_RANDOM};
    if (measure(&machine, point->nodes, way, PACE_PS, row)) {
        (void)measure(&machine, point->nodes, way, 0, row);
    }
}

const struct sim_study sim_study_contexts = {
    .name = "contexts",
    .text = "CD's context cache: 8 bytes to 16 ... 16,384 peers with 16 ... 1,024 contexts",
    .machine = "dimmnet2",
    .columns = columns,
    .column_count = COLUMNS,
    .x = PEERS,
    .series = {CONTEXTS, ORDER},
    .series_count = 2,
    .y = {LATENCY, HITS, RATE, STOP_AND_WAIT},
    .y_count = 4,
    .list = list,
    .run = run,
};

/* ---- Beside InfiniBand's services --------------------------------------------------------- */

enum transport { UD, CD, RC, RD, TRANSPORTS };
static const char *const transport_names[TRANSPORTS] = {"UD", "CD", "RC", "RD"};

/* What InfiniBand's adapters of those years keep of a queue pair or of an end-to-end context; CD's
 * are taken to be as large. RC's and RD's hold the peer's sequence numbers: they need no stubs. */
enum { CONTEXT_BYTES = 256 };

static const struct sim_study_column transport_columns[TRANSPORT_COLUMNS] = {
    [CONTEXTS] = {"contexts", 8, 0, "on the chip"},
    [PEERS] = {"peers", 6, 0, "that it sends to, at random"},
    [TRANSPORT] = {"service", 7, -1, "UD, CD, RC or RD; see dimmnet-sim(1)"},
    [LATENCY] = {"latency_ns", 10, 1, "of 8 bytes, from the kick to memory, one at a time"},
    [HITS] = {"hit_share", 9, 4, "of operations that find their context on the chip"},
    [RATE] = {"mops", 7, 4, "million operations in a second, as fast as they go"},
    [BANDWIDTH] = {"mb_per_s", 8, 2, "of data, as fast as they go"},
    [STOP_AND_WAIT] = {"stop_and_wait_share", 19, 4, "of packets, as fast as they go"},
    [PACKETS] = {"packets", 8, 0, "in both worlds together"},
    [EVENTS] = {"events", 9, 0, "of the simulation"},
    [STATE] = {"state", 6, 0, "contexts that a node keeps, on the chip and elsewhere"},
    [STUBS] = {"stubs", 6, 0, "of 32 bytes, which CD keeps of each peer for good"},
    [STATE_KB] = {"state_kb", 8, 1, "both, with contexts of 256 bytes (assumed)"},
};

static unsigned list_transports(const struct sim_study_choice *choice,
                                struct sim_study_point *points)
{
    static const uint32_t peers[] = {16, 256, 1024, 4096, 16384};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        for (unsigned transport = 0; transport < TRANSPORTS; transport++) {
            if (peers[i] < choice->nodes_max) {
                points[count++] = (struct sim_study_point){.nodes = peers[i] + 1,
                                                           .variant = transport};
            }
        }
    }
    return count;
}

static void set_state(struct sim_study_row *row, const struct sim_machine *machine,
                      enum transport transport, uint64_t peers)
{
    uint64_t cached = machine->carrier_contexts < peers ? machine->carrier_contexts : peers;
    uint64_t contexts = transport == UD ? 0 : transport == CD ? cached : peers;
    uint64_t stubs = transport == CD ? peers : 0;
    uint64_t bytes = contexts * CONTEXT_BYTES + stubs * sizeof(struct swif_stub);
    sim_study_set_number(row, STATE, (double)contexts);
    sim_study_set_number(row, STUBS, (double)stubs);
    sim_study_set_number(row, STATE_KB, (double)bytes / 1024);
}

static void run_transport(const struct sim_study_choice *choice,
                          const struct sim_study_point *point, struct sim_study_row *row)
{
    struct sim_machine machine = *choice->machine;
    enum transport transport = (enum transport)point->variant;
    const struct way way = {.at_random = true, .serialises = transport == RD};
    if (machine.carrier_kind != SIM_CARRIER_CD) {
        (void)snprintf(row->error, sizeof row->error, "%s: [carrier] kind is not cd", machine.name);
        return;
    }
    machine.carrier_kind = transport == UD ? SIM_CARRIER_UD : SIM_CARRIER_CD;
    machine.carrier_kept = transport == RC || transport == RD;
    machine.switch_ports = point->nodes;
    if (transport != UD) {
        sim_study_set_number(row, CONTEXTS, (double)machine.carrier_contexts);
    }
    sim_study_set_number(row, PEERS, point->nodes - 1);
    sim_study_set_text(row, TRANSPORT, transport_names[transport]);
    set_state(row, &machine, transport, point->nodes - 1);
    if (measure(&machine, point->nodes, way, PACE_PS, row)) {
        (void)measure(&machine, point->nodes, way, 0, row);
    }
}

const struct sim_study sim_study_transports = {
    .name = "transports",
    .text = "UD and CD beside InfiniBand's RC and RD: state, latency and rate by peers",
    .machine = "dimmnet2",
    .columns = transport_columns,
    .column_count = TRANSPORT_COLUMNS,
    .x = PEERS,
    .series = {TRANSPORT},
    .series_count = 1,
    .y = {LATENCY, RATE, STATE_KB},
    .y_count = 3,
    .list = list_transports,
    .run = run_transport,
};
