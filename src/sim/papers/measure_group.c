/* Tables 7 and 8: barrier and global sum of two nodes, driven by their hosts. Node 0 is the home
 * and waits; the time is node 1's, from its arrival to its release. */
#include "sim/papers/measure.h"

#include "sim/model/host.h"

/* The nodes; also the place of a node's flag in the word of LLCM that others write into. */
enum { HOME = 0, CHILD = 1 };

/* A program's locals. */
struct member {
    const struct sim_machine *machine;
    bool mmx;              /* of a barrier */
    enum papers_type type; /* of a sum */
    uint64_t kick;
    uint32_t round;
    uint64_t more; /* reads to come */
    uint64_t result;
    uint64_t start_ps;
    uint64_t total_ps;
};

static bool run_group(const char *machine, const struct member *how, sim_program *home_program,
                      sim_program *child_program, double *ns, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    struct member home = *how;
    home.machine = &bench.machine;
    struct member child = home;
    bool ok = papers_bench_load(&bench, machine, error) &&
              papers_bench_run(&bench, SIM_BACK_TO_BACK, home_program, &home, child_program, &child,
                               error);
    *ns = papers_ns(child.total_ps) / PAPERS_ROUNDS;
    return ok;
}

/* ---- Barrier ------------------------------------------------------------------------------ */

static uint64_t phase_of(const struct member *mine)
{
    return mine->round & 0xff;
}

static void child_program(struct sim_host *host)
{
    struct member *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, HOME, 0);
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        SIM_STEP(host, papers_begin_round(host, mine->round));
        mine->start_ps = host->now_ps;
        SIM_STEP(host, sim_work(host, machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick + CHILD, phase_of(mine), 1));
        SIM_STEP(host, sim_work(host, papers_spread(mine->round, 1, machine->host_read)));
        SIM_STEP(host, sim_poll(host, CHILD, 1, 0xff, phase_of(mine)));
        mine->total_ps += host->now_ps - mine->start_ps;
    }
    SIM_END(host);
}

/* With MMX one read brings all 8 flags, and leaving MMX may cost time. Without it they are two
 * words, and the second is read only once the first has all of its phases. */
static void home_program(struct sim_host *host)
{
    struct member *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, CHILD, 0);
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        if (mine->mmx) {
            SIM_STEP(host, papers_begin_polls(host, mine->round, machine->host_read8));
            SIM_STEP(host, sim_poll(host, 0, 8, 0xff << 8 * CHILD, phase_of(mine) << 8 * CHILD));
            SIM_STEP(host, sim_work(host, machine->software_leave_mmx));
        } else {
            SIM_STEP(host, papers_begin_polls(host, mine->round, machine->host_read));
            SIM_STEP(host, sim_poll(host, 0, 4, 0xff << 8 * CHILD, phase_of(mine) << 8 * CHILD));
            SIM_STEP(host, sim_load(host, 4, 4));
        }
        SIM_STEP(host, sim_work(host, sim_machine_turn(machine) + machine->software_barrier));
        SIM_STEP(host, sim_work(host, machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick + CHILD, phase_of(mine), 1));
    }
    SIM_END(host);
}

bool papers_measure_barrier(const char *machine, bool mmx, double *ns, char error[SIM_ERROR_BYTES])
{
    const struct member how = {.mmx = mmx};
    return run_group(machine, &how, home_program, child_program, ns, error);
}

/* ---- Global sum --------------------------------------------------------------------------- */

/* What a node brings in a round, or a sum, as words that travel. */
union operand {
    unsigned whole;
    unsigned long long long_whole;
    float single;
    double twice;
    uint64_t word;
};

static unsigned bytes_of(enum papers_type type)
{
    return type == PAPERS_UNSIGNED || type == PAPERS_FLOAT ? 4 : 8;
}

static uint64_t operand_of(enum papers_type type, uint32_t node, uint32_t round)
{
    union operand operand = {.word = 0};
    unsigned number = (node + 1) * round + node;
    switch (type) {
    case PAPERS_UNSIGNED: operand.whole = number; break;
    case PAPERS_LONG: operand.long_whole = (unsigned long long)number << 20; break;
    case PAPERS_FLOAT: operand.single = (float)number / 4; break;
    case PAPERS_DOUBLE:
    case PAPERS_TYPES: operand.twice = (double)number / 8; break;
    }
    return operand.word;
}

static uint64_t add(enum papers_type type, uint64_t one, uint64_t other)
{
    union operand sum = {.word = one};
    union operand with = {.word = other};
    switch (type) {
    case PAPERS_UNSIGNED: sum.whole += with.whole; break;
    case PAPERS_LONG: sum.long_whole += with.long_whole; break;
    case PAPERS_FLOAT: sum.single += with.single; break;
    case PAPERS_DOUBLE:
    case PAPERS_TYPES: sum.twice += with.twice; break;
    }
    return sum.word;
}

static uint64_t mask_of(const struct member *mine)
{
    return bytes_of(mine->type) == 4 ? UINT32_MAX : UINT64_MAX;
}

/* `unsigned long long` takes further reads, for a reason that the paper does not know: half of
 * them at each node, an odd one at the home. */
static uint64_t more_reads(const struct member *mine, uint32_t node)
{
    uint64_t odd = node == HOME ? 1 : 0;
    return mine->type == PAPERS_LONG ? (mine->machine->software_sum_long_reads + odd) / 2 : 0;
}

/* The child polls for the right sum: with any other it would wait for ever. */
static void child_sum_program(struct sim_host *host)
{
    struct member *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, HOME, 0);
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        SIM_STEP(host, papers_begin_round(host, mine->round));
        mine->start_ps = host->now_ps;
        mine->result = add(mine->type, operand_of(mine->type, HOME, mine->round),
                           operand_of(mine->type, CHILD, mine->round));
        SIM_STEP(host, sim_work(host, machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick, operand_of(mine->type, CHILD, mine->round),
                                 bytes_of(mine->type)));
        SIM_STEP(host, sim_work(host, papers_spread(mine->round, 1, machine->host_read8)));
        SIM_STEP(host, sim_poll(host, 0, 8, mask_of(mine), mine->result));
        for (mine->more = more_reads(mine, host->node); mine->more > 0; mine->more--) {
            SIM_STEP(host, sim_load(host, 0, 8));
        }
        mine->total_ps += host->now_ps - mine->start_ps;
    }
    SIM_END(host);
}

static void home_sum_program(struct sim_host *host)
{
    struct member *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, CHILD, 0);
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        SIM_STEP(host, papers_begin_polls(host, mine->round, machine->host_read8));
        SIM_STEP(host,
                 sim_poll(host, 0, 8, mask_of(mine), operand_of(mine->type, CHILD, mine->round)));
        for (mine->more = more_reads(mine, host->node); mine->more > 0; mine->more--) {
            SIM_STEP(host, sim_load(host, 0, 8));
        }
        mine->result = add(mine->type, host->value & mask_of(mine),
                           operand_of(mine->type, HOME, mine->round));
        SIM_STEP(host, sim_work(host, sim_machine_turn(machine) + machine->software_sum));
        SIM_STEP(host, sim_work(host, machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick, mine->result, bytes_of(mine->type)));
    }
    SIM_END(host);
}

bool papers_measure_sum(const char *machine, enum papers_type type, double *ns,
                        char error[SIM_ERROR_BYTES])
{
    const struct member how = {.type = type};
    return run_group(machine, &how, home_sum_program, child_sum_program, ns, error);
}
