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
    bench->world = NULL;
    return papers_machine_load(&bench->machine, machine, error);
}

bool papers_bench_start(struct papers_bench *bench, enum sim_topology topology,
                        char error[SIM_ERROR_BYTES])
{
    bool loop = topology == SIM_LOOP_INSIDE || topology == SIM_LOOP_OUTSIDE;
    const struct sim_world_config config = {
        .machine = &bench->machine,
        .node_count = loop ? 1 : 2,
        .topology = topology,
    };
    bench->world = sim_world_open(&config, error);
    return bench->world != NULL;
}

bool papers_bench_has_banks(const struct papers_bench *bench, uint64_t bytes,
                            char error[SIM_ERROR_BYTES])
{
    if (bench->machine.bank_bytes >= bytes) {
        return true;
    }
    (void)snprintf(error, SIM_ERROR_BYTES,
                   "%s: [bank] bytes is %" PRIu64 ", but %" PRIu64 " are sent", bench->machine.name,
                   bench->machine.bank_bytes, bytes);
    return false;
}

bool papers_bench_run(struct papers_bench *bench, char error[SIM_ERROR_BYTES])
{
    enum sim_end end = sim_world_run(bench->world, LIMIT_PS);
    if (end == SIM_END_DONE) {
        return true;
    }
    char why[SIM_ERROR_BYTES];
    sim_world_why(bench->world, end, why);
    (void)snprintf(error, SIM_ERROR_BYTES, "%s: %.*s", bench->machine.name,
                   SIM_ERROR_BYTES - SIM_MACHINE_NAME_BYTES - 4, why);
    return false;
}

void papers_bench_close(struct papers_bench *bench)
{
    if (bench->world) {
        sim_world_close(bench->world);
    }
    sim_machine_free(&bench->machine);
}

bool papers_bench_run_pair(struct papers_bench *bench, sim_program *first, void *first_locals,
                           sim_program *second, void *second_locals, char error[SIM_ERROR_BYTES])
{
    bool ok = papers_bench_start(bench, SIM_BACK_TO_BACK, error);
    if (ok) {
        sim_world_start(bench->world, 0, 0, first, first_locals, 0);
        sim_world_start(bench->world, 1, 0, second, second_locals, 0);
        ok = papers_bench_run(bench, error);
    }
    papers_bench_close(bench);
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

static uint64_t until_edges(const struct sim_host *host)
{
    return EDGES_PS - host->now_ps % EDGES_PS;
}

void papers_begin_round(struct sim_host *host, uint32_t n)
{
    sim_work(host,
             until_edges(host) + EDGES_BETWEEN_ROUNDS * EDGES_PS + papers_spread(n, 0, EDGES_PS));
}

void papers_begin_polls(struct sim_host *host, uint32_t n, uint64_t read_ps)
{
    sim_work(host, until_edges(host) + papers_spread(n, 2, read_ps));
}

/* ---- Table 4 ----------------------------------------------------------------------------- */

/* Few enough that the NIC takes them in as they come: we want the CPU's time, not the link's. */
enum { ACCESSES = 16 };

struct accesses {
    const struct sim_machine *machine;
    uint64_t kick;
    unsigned i;
    uint64_t start_ps;
    uint64_t write_ps, write_plain_ps, read_ps, read_plain_ps;
};

/* Reads the counter before and after, and subtracts what that takes. */
static void access_program(struct sim_host *host)
{
    struct accesses *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 0, 0);
    mine->start_ps = host->now_ps;
    for (mine->i = 0; mine->i < ACCESSES; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick, mine->i, 8));
    }
    SIM_STEP(host, sim_work(host, mine->machine->host_counter));
    mine->write_ps = host->now_ps - mine->start_ps - mine->machine->host_counter;
    mine->start_ps = host->now_ps;
    for (mine->i = 0; mine->i < ACCESSES; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick, mine->i, 4));
    }
    SIM_STEP(host, sim_work(host, mine->machine->host_counter));
    mine->write_plain_ps = host->now_ps - mine->start_ps - mine->machine->host_counter;
    mine->start_ps = host->now_ps;
    for (mine->i = 0; mine->i < ACCESSES; mine->i++) {
        SIM_STEP(host, sim_load(host, 0, 8));
    }
    SIM_STEP(host, sim_work(host, mine->machine->host_counter));
    mine->read_ps = host->now_ps - mine->start_ps - mine->machine->host_counter;
    mine->start_ps = host->now_ps;
    for (mine->i = 0; mine->i < ACCESSES; mine->i++) {
        SIM_STEP(host, sim_load(host, 0, 4));
        SIM_STEP(host, sim_load(host, 4, 4));
    }
    SIM_STEP(host, sim_work(host, mine->machine->host_counter));
    mine->read_plain_ps = host->now_ps - mine->start_ps - mine->machine->host_counter;
    SIM_END(host);
}

bool papers_measure_access(const char *machine, struct papers_access *access,
                           char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    if (!papers_bench_load(&bench, machine, error)) {
        return false;
    }
    struct accesses locals = {.machine = &bench.machine};
    bool ok = papers_bench_start(&bench, SIM_LOOP_INSIDE, error);
    if (ok) {
        sim_world_start(bench.world, 0, 0, access_program, &locals, 0);
        ok = papers_bench_run(&bench, error);
    }
    papers_bench_close(&bench);
    access->write_ns = papers_ns(locals.write_ps) / ACCESSES;
    access->write_plain_ns = papers_ns(locals.write_plain_ps) / ACCESSES;
    access->read_ns = papers_ns(locals.read_ps) / ACCESSES;
    access->read_plain_ns = papers_ns(locals.read_plain_ps) / ACCESSES;
    return ok;
}
