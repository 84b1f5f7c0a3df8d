/* Benches, and the time of the CPU's own accesses. */
#define _GNU_SOURCE
#include "sim/papers/measure.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/model/host.h"

/* No measurement here takes this long. */
#define LIMIT_PS (UINT64_C(60) * 1000000000000)

/* ---- Bench ------------------------------------------------------------------------------ */

static const char *machines_folder;

void papers_machines_from(const char *folder)
{
    machines_folder = folder;
}

bool papers_machine_load(struct sim_machine *machine, const char *name, char error[SIM_ERROR_BYTES])
{
    char path[PATH_MAX];
    if (machines_folder) {
        int length = snprintf(path, sizeof path, "%s/%s.ini", machines_folder, name);
        if (length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0) {
            return sim_machine_load(machine, path, error);
        }
    }
    return sim_machine_load(machine, name, error);
}

bool papers_bench_load(struct papers_bench *bench, const char *machine, char error[SIM_ERROR_BYTES])
{
    *bench = (struct papers_bench){0};
    return papers_machine_load(&bench->machine, machine, error);
}

/* Runs until every program has ended. */
static bool run_world(struct papers_bench *bench, struct sim_world *world,
                      char error[SIM_ERROR_BYTES])
{
    enum sim_end end = sim_world_run(world, LIMIT_PS);
    if (end == SIM_END_DONE) {
        return true;
    }
    char why[SIM_ERROR_BYTES];
    sim_world_why(world, end, why);
    (void)snprintf(error, SIM_ERROR_BYTES, "%s: %.*s", bench->machine.name,
                   SIM_ERROR_BYTES - SIM_MACHINE_NAME_BYTES - 4, why);
    return false;
}

bool papers_bench_run(struct papers_bench *bench, enum sim_topology topology, sim_program *first,
                      void *first_locals, sim_program *second, void *second_locals,
                      char error[SIM_ERROR_BYTES])
{
    bool is_loop = topology == SIM_LOOP_INSIDE || topology == SIM_LOOP_OUTSIDE;
    const struct sim_world_config config = {
        .machine = &bench->machine,
        .node_count = is_loop ? 1 : 2,
        .topology = topology,
    };
    struct sim_world *world = NULL;
    bool ok = false;
    if (bench->machine.bank_bytes < bench->bank_bytes) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "%s: [bank] bytes is %" PRIu64 ", but %" PRIu64 " are sent",
                       bench->machine.name, bench->machine.bank_bytes, bench->bank_bytes);
    } else {
        world = sim_world_open(&config, error);
    }
    if (world) {
        sim_world_start(world, 0, 0, first, first_locals, bench->start_ps);
        if (second) {
            sim_world_start(world, 1, 0, second, second_locals, bench->start_ps);
        }
        ok = run_world(bench, world, error);
        for (uint32_t node = 0; node < config.node_count; node++) {
            bench->last[node] = *sim_world_passage(world, node);
        }
        sim_world_close(world);
    }
    sim_machine_free(&bench->machine);
    return ok;
}

/* The steps are the powers of 1 / 1.2207..., the root of x^4 = x + 1, as shares of 2^32: no
 * other constants keep three directions apart for longer. */
uint64_t papers_spread(uint32_t n, unsigned direction, uint64_t span_ps)
{
    static const uint32_t steps[3] = {UINT32_C(3518319155), UINT32_C(2882110345),
                                      UINT32_C(2360945575)};
    uint32_t share = n * steps[direction];
    return (uint64_t)share * (span_ps >> 8) >> 24;
}

/* A multiple of every clock's period; ten of them leave the partner time to begin its polls. */
#define EDGES_PS UINT64_C(240000)
enum { EDGES_BETWEEN_ROUNDS = 10 };

uint64_t papers_until_edge(const struct sim_host *host, uint64_t period_ps)
{
    return period_ps - host->now_ps % period_ps;
}

void papers_begin_round(struct sim_host *host, uint32_t n)
{
    sim_work(host, papers_until_edge(host, EDGES_PS) + EDGES_BETWEEN_ROUNDS * EDGES_PS +
                       papers_spread(n, 0, EDGES_PS));
}

void papers_begin_polls(struct sim_host *host, uint32_t n, uint64_t read_ps)
{
    sim_work(host, papers_until_edge(host, EDGES_PS) + papers_spread(n, 2, read_ps));
}

/* ---- Table 4 ----------------------------------------------------------------------------- */

/* Few enough that the NIC takes them in as they come: we want the CPU's time, not the link's. */
enum { ACCESSES = 16 };

struct accesses {
    const struct sim_machine *machine;
    uint64_t kick;
    enum papers_access kind;
    unsigned i;
    uint64_t start_ps;
    uint64_t total_ps[PAPERS_ACCESSES];
};

/* Without MMX, 8 bytes take two reads of 4. */
static unsigned count_of(enum papers_access kind)
{
    return kind == PAPERS_READ_PLAIN ? 2 * ACCESSES : ACCESSES;
}

static void access_once(struct sim_host *host, const struct accesses *mine)
{
    switch (mine->kind) {
    case PAPERS_WRITE: sim_store(host, mine->kick, mine->i, 8); break;
    case PAPERS_WRITE_PLAIN: sim_store(host, mine->kick, mine->i, 4); break;
    case PAPERS_READ: sim_load(host, 0, 8); break;
    default: sim_load(host, mine->i % 2 * 4, 4); break;
    }
}

/* Reads the counter before and after, and subtracts what that takes. */
static void access_program(struct sim_host *host)
{
    struct accesses *mine = host->locals;
    uint64_t counter_ps = mine->machine->host_counter;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 0, 0);
    for (mine->kind = 0; mine->kind < PAPERS_ACCESSES; mine->kind++) {
        mine->start_ps = host->now_ps;
        for (mine->i = 0; mine->i < count_of(mine->kind); mine->i++) {
            SIM_STEP(host, access_once(host, mine));
        }
        SIM_STEP(host, sim_work(host, counter_ps));
        mine->total_ps[mine->kind] = host->now_ps - mine->start_ps - counter_ps;
    }
    SIM_END(host);
}

bool papers_measure_access(const char *machine, double ns[PAPERS_ACCESSES],
                           char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    struct accesses locals = {.machine = &bench.machine};
    bool ok = papers_bench_load(&bench, machine, error) &&
              papers_bench_run(&bench, SIM_LOOP_INSIDE, access_program, &locals, NULL, NULL, error);
    for (unsigned kind = 0; kind < PAPERS_ACCESSES; kind++) {
        ns[kind] = papers_ns(locals.total_ps[kind]) / ACCESSES;
    }
    return ok;
}
