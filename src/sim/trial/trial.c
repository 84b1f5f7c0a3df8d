/* The trials' programs, and how they are run. */
#include "sim/trial/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dimmnet.h"
#include "sim/model/host.h"

enum { TEAM = 1, LOCK = 1, PLACE = 64 };

/* The locals of a program, at every node. */
struct mine {
    const struct sim_trial_wish *wish;
    uint32_t nodes;
    uint64_t bytes;
    unsigned char *local; /* what is sent, or where it arrives */
    uint64_t kick;
    uint64_t ticket;
    uint64_t at; /* bytes of a stream sent so far */
    uint32_t round;
    uint64_t start_ps;
    uint64_t *round_ps; /* node 0's */
    int *fault;         /* common to all: of the first operation that failed */
};

static void begin_round(struct sim_host *host, struct mine *mine)
{
    mine->start_ps = host->now_ps;
}

/* Called after an operation that can fail. */
static void note_result(const struct sim_host *host, const struct mine *mine)
{
    if (host->result != 0 && *mine->fault == 0) {
        *mine->fault = host->result;
    }
}

static void end_round(struct sim_host *host, struct mine *mine)
{
    if (mine->round_ps) {
        mine->round_ps[mine->round] = host->now_ps - mine->start_ps;
    }
}

/* ---- Stores ------------------------------------------------------------------------------- */

static void run_loop(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, host->node, 0);
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        SIM_STEP(host, sim_store(host, mine->kick + PLACE, mine->round + 1, 8));
        SIM_STEP(host, sim_poll(host, PLACE, 8, UINT64_MAX, mine->round + 1));
        end_round(host, mine);
    }
    SIM_END(host);
}

/* Node 0 stores to all others by one multicast, and waits for the answer of each. */
static void run_multicast(struct sim_host *host)
{
    struct mine *mine = host->locals;
    const uint64_t place = PLACE + 8 * (uint64_t)host->node; /* of its answer */
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, host->node == 0 ? 1 : 0, host->node == 0 ? 0 : place / 4096 * 4096);
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        if (host->node == 0) {
            SIM_STEP(host, sim_store_all(host, mine->kick + PLACE, mine->round + 1, 8, 1,
                                         mine->nodes - 1));
            for (mine->at = 1; mine->at < mine->nodes; mine->at++) {
                SIM_STEP(host,
                         sim_poll(host, PLACE + 8 * mine->at, 8, UINT64_MAX, mine->round + 1));
            }
        } else {
            SIM_STEP(host, sim_poll(host, PLACE, 8, UINT64_MAX, mine->round + 1));
            SIM_STEP(host, sim_store(host, mine->kick + place % 4096, mine->round + 1, 8));
        }
        end_round(host, mine);
    }
    SIM_END(host);
}

/* ---- Blocks and RDMA ------------------------------------------------------------------- */

static uint32_t block_bytes(const struct mine *mine)
{
    uint64_t left = mine->bytes - mine->at;
    return left < WIRE_BOTF_BYTES_MAX ? (uint32_t)left : WIRE_BOTF_BYTES_MAX;
}

/* Node 0 sends blocks (a ping has none) to the node half-way round, then stores a flag there; that
 * node answers with a flag. */
static void run_stream(struct sim_host *host)
{
    struct mine *mine = host->locals;
    uint32_t far = mine->nodes / 2;
    SIM_BEGIN(host);
    if (host->node != 0 && host->node != far) {
        SIM_LEAVE(host);
    }
    mine->kick = sim_kick(host, far - host->node, 0);
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        for (mine->at = 0; host->node == 0 && mine->at < mine->bytes;
             mine->at += block_bytes(mine)) {
            SIM_STEP(host, sim_block(host, sim_remote(far, 4096 + mine->at), mine->local + mine->at,
                                     block_bytes(mine)));
        }
        if (host->node == 0) {
            SIM_STEP(host, sim_store(host, mine->kick + PLACE, mine->round + 1, 8));
        }
        SIM_STEP(host, sim_poll(host, PLACE, 8, UINT64_MAX, mine->round + 1));
        if (host->node != 0) {
            SIM_STEP(host, sim_store(host, mine->kick + PLACE, mine->round + 1, 8));
        }
        end_round(host, mine);
    }
    SIM_END(host);
}

static void run_transfer(struct sim_host *host)
{
    struct mine *mine = host->locals;
    bool pulls = strcmp(mine->wish->trial, "pull") == 0;
    uint32_t far = mine->nodes / 2;
    SIM_BEGIN(host);
    if (host->node != 0) {
        SIM_LEAVE(host);
    }
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        if (pulls) {
            SIM_STEP(host, sim_pull(host, sim_remote(far, 4096), mine->local, mine->bytes));
        } else {
            SIM_STEP(host, sim_push(host, sim_remote(far, 4096), mine->local, mine->bytes));
        }
        note_result(host, mine);
        end_round(host, mine);
    }
    SIM_END(host);
}

/* ---- Services -------------------------------------------------------------------------- */

static void run_barrier(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    sim_barrier_open(host, TEAM, NULL, mine->nodes, host->node);
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        SIM_STEP(host, sim_nic_barrier(host, TEAM));
        note_result(host, mine);
        end_round(host, mine);
    }
    SIM_END(host);
}

/* All nodes take one lock of node 0's in turn. */
static void run_lock(struct sim_host *host)
{
    struct mine *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->round = 0; mine->round < mine->wish->rounds; mine->round++) {
        begin_round(host, mine);
        SIM_STEP(host, sim_lock(host, 0, LOCK, &mine->ticket));
        note_result(host, mine);
        SIM_STEP(host, sim_unlock(host, mine->ticket));
        end_round(host, mine);
    }
    SIM_END(host);
}

/* ---- The list -------------------------------------------------------------------------- */

static void sum_up(const uint64_t *round_ps, struct sim_trial_result *result);

static bool run_messages(const struct sim_trial_wish *wish, struct sim_trial_result *result,
                         char error[SIM_ERROR_BYTES])
{
    struct sim_messages_wish messages = wish->messages;
    uint64_t *round_ps = calloc(wish->rounds, sizeof *round_ps);
    INVARIANT(round_ps);
    messages.machine = wish->machine;
    messages.topology = result->topology;
    messages.node_count = result->node_count;
    messages.rounds = wish->rounds;
    messages.bytes = result->bytes;
    messages.limit_ps = wish->limit_ps;
    messages.timeline = wish->timeline;
    bool done = sim_messages_run(&messages, round_ps, &result->messages, error);
    if (done) {
        sum_up(round_ps, result);
        result->bytes *= result->node_count - 1;
        result->virtual_ps = result->messages.virtual_ps;
        result->counters = result->messages.counters;
    }
    free(round_ps);
    return done;
}

static const struct trial {
    const char *name;
    const char *text;
    sim_program *program;
    uint32_t nodes_least;
    uint64_t bytes_usual; /* 0: it moves too few to speak of */
    bool services;
    bool locks; /* all nodes may wait for one lock */
    bool (*run)(const struct sim_trial_wish *wish, struct sim_trial_result *result,
                char error[SIM_ERROR_BYTES]); /* where the nodes do not all run one program */
    bool multicasts;
} trials[] = {
    {.name = "loop",
     .text = "8 bytes by AOTF round a board",
     .program = run_loop,
     .nodes_least = 1},
    {.name = "ping",
     .text = "8 bytes by AOTF from node 0 half-way round and back",
     .program = run_stream,
     .nodes_least = 2},
    {.name = "stream",
     .text = "blocks by BOTF half-way round, and an answer",
     .program = run_stream,
     .nodes_least = 2,
     .bytes_usual = 46400},
    {.name = "push",
     .text = "RDMA into the memory of the node half-way round",
     .program = run_transfer,
     .nodes_least = 2,
     .bytes_usual = 65536},
    {.name = "pull",
     .text = "RDMA out of it",
     .program = run_transfer,
     .nodes_least = 2,
     .bytes_usual = 65536},
    {.name = "barrier",
     .text = "all nodes in the core processor's binary tree",
     .program = run_barrier,
     .nodes_least = 2,
     .services = true},
    {.name = "lock",
     .text = "all nodes take one lock in turn",
     .program = run_lock,
     .nodes_least = 2,
     .services = true,
     .locks = true},
    {.name = "multicast",
     .text = "8 bytes to all others by one packet, and their answers",
     .program = run_multicast,
     .nodes_least = 2,
     .multicasts = true},
    {.name = "message",
     .text = "all nodes send messages to node 0, by Modified ACK/NACK",
     .run = run_messages,
     .nodes_least = 2,
     .bytes_usual = 2048},
};

enum { TRIALS = sizeof trials / sizeof trials[0] };

const char *sim_trial_name(unsigned number)
{
    return number < TRIALS ? trials[number].name : NULL;
}

const char *sim_trial_text(unsigned number)
{
    return number < TRIALS ? trials[number].text : NULL;
}

static const struct trial *find(const char *name)
{
    for (unsigned i = 0; i < TRIALS; i++) {
        if (strcmp(trials[i].name, name) == 0) {
            return &trials[i];
        }
    }
    return NULL;
}

/* ---- Running --------------------------------------------------------------------------- */

static void sum_up(const uint64_t *round_ps, struct sim_trial_result *result)
{
    result->first_ps = round_ps[0];
    result->least_ps = UINT64_MAX;
    for (uint32_t i = result->rounds > 1 ? 1 : 0; i < result->rounds; i++) {
        result->total_ps += round_ps[i];
        result->least_ps = round_ps[i] < result->least_ps ? round_ps[i] : result->least_ps;
        result->most_ps = round_ps[i] > result->most_ps ? round_ps[i] : result->most_ps;
    }
}

static bool run_world(struct sim_world *world, const struct sim_trial_wish *wish,
                      const struct trial *trial, struct sim_trial_result *result,
                      char error[SIM_ERROR_BYTES])
{
    struct mine *mine = calloc(result->node_count, sizeof *mine);
    uint64_t *round_ps = calloc(wish->rounds, sizeof *round_ps);
    unsigned char *local = calloc(1, result->bytes > 0 ? result->bytes : 1);
    int fault = 0;
    INVARIANT(mine && round_ps && local);
    for (uint32_t i = 0; i < result->node_count; i++) {
        mine[i] = (struct mine){.wish = wish,
                                .nodes = result->node_count,
                                .bytes = result->bytes,
                                .local = local,
                                .round_ps = i == 0 ? round_ps : NULL,
                                .fault = &fault};
        sim_world_start(world, i, 0, trial->program, &mine[i], 0);
    }
    enum sim_end end = sim_world_run(world, wish->limit_ps);
    bool done = end == SIM_END_DONE && fault == 0;
    if (done) {
        sum_up(round_ps, result);
        result->virtual_ps = sim_world_now(world);
        result->hops = sim_world_hops(world, 0, result->node_count / 2);
        sim_world_counters(world, &result->counters);
    } else if (fault != 0) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s: an operation failed: %s", trial->name,
                       dn_strerror(fault));
    } else {
        sim_world_why(world, end, error);
    }
    free(mine);
    free(round_ps);
    free(local);
    return done;
}

bool sim_trial_run(const struct sim_trial_wish *wish, struct sim_trial_result *result,
                   char error[SIM_ERROR_BYTES])
{
    const struct trial *trial = find(wish->trial);
    *result = (struct sim_trial_result){.rounds = wish->rounds, .topology = wish->topology};
    if (!trial) {
        (void)snprintf(error, SIM_ERROR_BYTES, "there is no trial \"%s\"", wish->trial);
        return false;
    }
    result->node_count = wish->node_count > 0 ? wish->node_count : trial->nodes_least;
    result->bytes = wish->bytes > 0 && trial->bytes_usual > 0 ? wish->bytes : trial->bytes_usual;
    if (result->node_count < trial->nodes_least) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s needs %" PRIu32 " nodes", trial->name,
                       trial->nodes_least);
        return false;
    }
    if (trial->multicasts && PLACE + 8 * (uint64_t)result->node_count > wish->machine->llcm_bytes) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "%s: the answers of %" PRIu32 " nodes do not fit into the %" PRIu64
                       " of [llcm] bytes",
                       wish->machine->name, result->node_count, wish->machine->llcm_bytes);
        return false;
    }
    if (!trial->run && result->bytes + 4096 > wish->machine->llcm_bytes) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "%s: %" PRIu64 " bytes do not fit behind the first page of the %" PRIu64
                       " of [llcm] bytes",
                       wish->machine->name, result->bytes, wish->machine->llcm_bytes);
        return false;
    }
    if (wish->topology == SIM_TOPOLOGIES) {
        result->topology = sim_topology_suiting(wish->machine, result->node_count);
    }
    if (trial->run) {
        return trial->run(wish, result, error);
    }
    const struct sim_world_config config = {.machine = wish->machine,
                                            .node_count = result->node_count,
                                            .topology = result->topology,
                                            .timeline = wish->timeline,
                                            .services = trial->services,
                                            .locks = wish->locks,
                                            .lock_waiters = trial->locks ? result->node_count : 0};
    struct sim_world *world = sim_world_open(&config, error);
    if (!world) {
        return false;
    }
    const char *refusal = trial->multicasts ? sim_world_multicast_refusal(world) : NULL;
    bool done = false;
    if (refusal) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s on %s: %s", trial->name, wish->machine->name,
                       refusal);
    } else {
        done = run_world(world, wish, trial, result, error);
    }
    sim_world_close(world);
    return done;
}
