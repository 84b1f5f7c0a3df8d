/* Nodes that want a lock again and again: our manager's queue and paper 004's chain of requesters
 * (section 3), which is there to keep load from the manager.
 *
 * The manager is node 0 and takes no part. Each other node asks, holds the lock for a while,
 * releases it, works for a while and asks again. There are three uses: in one nearly all others
 * wait while the holder works (contended); in one nodes work so long that hardly anybody waits
 * (free); in one each node has a lock of its own, all of the same manager (own). All nodes are at
 * one switch, however many ports that takes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "sim/model/clock.h"
#include "sim/model/host.h"
#include "sim/studies/parts.h"

enum { MANAGER = 0, TAKES = 2048, ROUNDS_MIN = 8 };

enum use { CONTENDED, FREE, OWN, USES };
static const char *const use_names[USES] = {"contended", "free", "own"};

/* A contended lock is held for a moment, so that the next one is known when it is released. */
#define HOLD_PS (UINT64_C(2000) * SIM_PS_PER_NS)
/* Work between two uses of a free lock, for each contender: at random up to twice that. */
#define WORK_PS (UINT64_C(40000) * SIM_PS_PER_NS)

/* ---- The program -------------------------------------------------------------------------- */

struct ring {
    enum use use;
    uint32_t contenders;
    uint32_t rounds;
    uint32_t holders;     /* now */
    uint32_t taken;       /* times */
    uint32_t handed_over; /* of them, while the taker waited */
    uint64_t released_ps; /* the last release began */
    uint64_t handover_ps; /* from there until the next holder goes on, all together */
    uint64_t take_ps;     /* from the request, all together */
    uint32_t wrong;
};

struct contender {
    struct ring *ring;
    uint32_t round;
    uint64_t asked_ps;
    uint64_t ticket;
    struct base_random random;
};

static void note_taken(const struct sim_host *host, const struct contender *contender)
{
    struct ring *ring = contender->ring;
    ring->wrong += host->result != 0 || (ring->holders != 0 && ring->use != OWN);
    ring->holders++;
    ring->taken++;
    ring->take_ps += host->now_ps - contender->asked_ps;
    if (contender->asked_ps < ring->released_ps && ring->use != OWN) {
        ring->handed_over++;
        ring->handover_ps += host->now_ps - ring->released_ps;
    }
}

static void note_released(const struct sim_host *host, struct ring *ring)
{
    ring->holders--;
    ring->released_ps = host->now_ps;
}

static uint64_t pause_ps(struct contender *contender)
{
    const struct ring *ring = contender->ring;
    uint64_t mean_ps = ring->use == FREE ? WORK_PS * ring->contenders : HOLD_PS / 8;
    return base_random_below(&contender->random, 2 * mean_ps);
}

static uint64_t name_of(const struct sim_host *host, const struct ring *ring)
{
    return ring->use == OWN ? host->node : 0;
}

static void contend(struct sim_host *host)
{
    struct contender *contender = host->locals;
    struct ring *ring = contender->ring;
    SIM_BEGIN(host);
    for (contender->round = 0; contender->round < ring->rounds; contender->round++) {
        SIM_STEP(host, sim_work(host, pause_ps(contender)));
        contender->asked_ps = host->now_ps;
        SIM_STEP(host, sim_lock(host, MANAGER, name_of(host, ring), &contender->ticket));
        note_taken(host, contender);
        SIM_STEP(host, sim_work(host, HOLD_PS));
        note_released(host, ring);
        SIM_STEP(host, sim_unlock(host, contender->ticket));
    }
    SIM_END(host);
}

/* ---- Points and rows ---------------------------------------------------------------------- */

enum column {
    CONTENDERS,
    KIND,
    USE,
    HANDOVER,
    TAKE,
    MANAGER_NS,
    MANAGER_REQUESTS,
    MANAGER_SHARE,
    PACKETS,
    RATE,
    COLUMNS,
};

static const struct sim_study_column columns[COLUMNS] = {
    [CONTENDERS] = {"contenders", 10, 0, "nodes that want the lock"},
    [KIND] = {"kind", 5, -1, "queue: the manager keeps it; chain: paper 004's"},
    [USE] = {"use", 9, -1, "contended: nearly all wait; free: hardly one; own: a lock for each"},
    [HANDOVER] = {"handover_ns", 11, 1, "from a release until the next holder goes on"},
    [TAKE] = {"take_ns", 11, 1, "from a request until then, waiting included"},
    [MANAGER_NS] = {"manager_ns", 10, 1, "of the manager's CorePU for each time the lock is taken"},
    [MANAGER_REQUESTS] = {"manager_records", 15, 2, "records that it handles for that"},
    [MANAGER_SHARE] = {"manager_share", 13, 4, "of the time that its CorePU is busy"},
    [PACKETS] = {"packets", 7, 2, "for each time the lock is taken"},
    [RATE] = {"takes_per_ms", 12, 2, "of all together"},
};

enum { VARIANTS = SIM_LOCKS * USES };

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    /* A manager has lines for as many locks. */
    enum { CONTENDERS_MAX = 512, OWN_MAX = 64 };
    unsigned count = 0;
    for (uint32_t contenders = 1; contenders <= CONTENDERS_MAX && contenders < choice->nodes_max;
         contenders *= 2) {
        for (unsigned variant = 0; variant < VARIANTS; variant++) {
            if (variant % USES != OWN || contenders <= OWN_MAX) {
                points[count++] = (struct sim_study_point){.nodes = contenders + 1,
                                                           .variant = variant};
            }
        }
    }
    return count;
}

static void sum_up(const struct ring *ring, struct sim_world *world, struct sim_study_row *row)
{
    struct sim_world_counters counters;
    double taken = ring->taken;
    uint64_t busy_ps = sim_world_busy(world, MANAGER, true);
    sim_world_counters(world, &counters);
    if (ring->handed_over > 0) {
        sim_study_set_number(row, HANDOVER,
                             (double)ring->handover_ps / ring->handed_over / SIM_PS_PER_NS);
    }
    sim_study_set_number(row, TAKE, (double)ring->take_ps / taken / SIM_PS_PER_NS);
    sim_study_set_number(row, MANAGER_NS, (double)busy_ps / taken / SIM_PS_PER_NS);
    sim_study_set_number(row, MANAGER_REQUESTS,
                         (double)sim_world_core_requests(world, MANAGER) / taken);
    sim_study_set_number(row, MANAGER_SHARE, (double)busy_ps / (double)sim_world_now(world));
    sim_study_set_number(row, PACKETS, (double)counters.packets / taken);
    sim_study_set_number(row, RATE, taken * 1e9 / (double)sim_world_now(world));
}

static void run_world(struct ring *ring, struct sim_world *world, struct sim_study_row *row)
{
    struct contender *contenders = calloc(ring->contenders, sizeof *contenders);
    INVARIANT(contenders);
    for (uint32_t i = 0; i < ring->contenders; i++) {
        contenders[i] = (struct contender){.ring = ring, .random = {i + 1}};
        sim_world_start(world, i + 1, 0, contend, &contenders[i], 0);
    }
    enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
    if (end != SIM_END_DONE) {
        sim_world_why(world, end, row->error);
    } else if (ring->wrong > 0) {
        (void)snprintf(row->error, sizeof row->error, "%u times two nodes held the lock",
                       ring->wrong);
    } else {
        sum_up(ring, world, row);
    }
    free(contenders);
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct sim_machine machine = *choice->machine;
    uint32_t rounds = TAKES / (point->nodes - 1);
    struct ring ring = {
        .use = (enum use)(point->variant % USES),
        .contenders = point->nodes - 1,
        .rounds = rounds > ROUNDS_MIN ? rounds : ROUNDS_MIN,
    };
    const struct sim_world_config config = {
        .machine = &machine,
        .node_count = point->nodes,
        .topology = SIM_ONE_SWITCH,
        .services = true,
        .locks = (enum sim_locks)(point->variant / USES),
    };
    machine.switch_ports = point->nodes;
    sim_study_set_number(row, CONTENDERS, ring.contenders);
    sim_study_set_text(row, KIND, sim_locks_names[config.locks]);
    sim_study_set_text(row, USE, use_names[ring.use]);
    struct sim_world *world = sim_world_open(&config, row->error);
    if (world) {
        run_world(&ring, world, row);
        sim_world_close(world);
    }
}

const struct sim_study sim_study_lock = {
    .name = "lock",
    .text = "1 to 512 nodes that want a lock: the manager's queue, and paper 004's chain",
    .machine = "rhinet2-ni",
    .columns = columns,
    .column_count = COLUMNS,
    .x = CONTENDERS,
    .series = {KIND},
    .series_count = 1,
    .splits = SIM_STUDY_SPLIT,
    .split = USE,
    .y = {MANAGER_NS, MANAGER_SHARE, HANDOVER, RATE},
    .y_count = 4,
    .list = list,
    .run = run,
};
