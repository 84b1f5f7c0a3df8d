/* Tables 5 and 6: 4 bytes round one board and between two, and where the time goes. */
#include "sim/papers/measure.h"

#include <math.h>
#include <string.h>

#include "sim/model/host.h"

/* A store goes round this board, or to another one and back. */
struct ping {
    const struct sim_machine *machine;
    uint32_t partner;             /* this node itself: a loop */
    uint64_t answer_ps, reset_ps; /* see papers_bench_ping */
    uint64_t kick;
    uint32_t round;
    uint64_t start_ps;
    uint64_t total_ps;
    struct papers_way *way; /* NULL: only the time is wanted */
};

static double shorter(double one, double other)
{
    return other < one ? other : one;
}

static void note_passage(struct ping *mine, const struct sim_passage *passage)
{
    struct papers_way *way = mine->way;
    uint64_t end_ps = passage->from_ps[SIM_STAGE_HOST_WRITE];
    way->software_ns += papers_ns(passage->kicked_ps - mine->start_ps);
    way->write_ns += papers_ns(end_ps - passage->kicked_ps);
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        way->between_ns[stage] += papers_ns(passage->from_ps[stage] - end_ps);
        way->stage_ns[stage] += papers_ns(passage->to_ps[stage] - passage->from_ps[stage]);
        end_ps = passage->to_ps[stage];
    }
    way->visible_ns += papers_ns(passage->visible_ps - end_ps);
    way->missed_ns += papers_ns(passage->read_ps - passage->visible_ps);
    way->read_ns += papers_ns(passage->seen_ps - passage->read_ps);
    way->send_ns = shorter(way->send_ns, papers_ns(passage->to_ps[SIM_STAGE_SWIF_SEND] -
                                                   passage->from_ps[SIM_STAGE_HOST_WRITE]));
    way->receive_ns = shorter(way->receive_ns, papers_ns(passage->to_ps[SIM_STAGE_LLCM_WRITE] -
                                                         passage->from_ps[SIM_STAGE_SWIF_RECEIVE]));
    way->stored_ns = shorter(way->stored_ns, papers_ns(end_ps - passage->kicked_ps));
}

/* A round begins in any phase of the clocks, and its polls in any phase to its arrival. In a loop,
 * an extra first round fills the header TLB. */
static void ping_program(struct sim_host *host)
{
    struct ping *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, mine->partner, 0);
    if (mine->partner == host->node) {
        SIM_STEP(host, sim_store(host, mine->kick, UINT32_MAX, 4));
        SIM_STEP(host, sim_poll(host, 0, 4, UINT32_MAX, UINT32_MAX));
    }
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        SIM_STEP(host, papers_begin_round(host, mine->round));
        mine->start_ps = host->now_ps;
        SIM_STEP(host, sim_work(host, machine->software_pass));
        SIM_STEP(host, sim_store(host, mine->kick, mine->round, 4));
        SIM_STEP(host, sim_work(host, papers_spread(mine->round, 1, machine->host_read)));
        SIM_STEP(host, sim_poll(host, 0, 4, UINT32_MAX, mine->round));
        if (mine->way) {
            note_passage(mine, sim_world_passage(host->world, host->node));
        }
        SIM_STEP(host, sim_work(host, mine->reset_ps));
        mine->total_ps += host->now_ps - mine->start_ps;
    }
    SIM_END(host);
}

static void pong_program(struct sim_host *host)
{
    struct ping *mine = host->locals;
    const struct sim_machine *machine = mine->machine;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, mine->partner, 0);
    for (mine->round = 1; mine->round <= PAPERS_ROUNDS; mine->round++) {
        SIM_STEP(host, papers_begin_polls(host, mine->round, machine->host_read));
        SIM_STEP(host, sim_poll(host, 0, 4, UINT32_MAX, mine->round));
        SIM_STEP(host, sim_work(host, sim_machine_turn(machine) + machine->software_pass +
                                          mine->answer_ps));
        SIM_STEP(host, sim_store(host, mine->kick, mine->round, 4));
        SIM_STEP(host, sim_work(host, mine->reset_ps));
    }
    SIM_END(host);
}

static bool run_loop(const char *machine, enum sim_topology topology, struct papers_way *way,
                     double *ns, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    struct ping locals = {.machine = &bench.machine, .way = way};
    bool ok = papers_bench_load(&bench, machine, error) &&
              papers_bench_run(&bench, topology, ping_program, &locals, NULL, NULL, error);
    *ns = papers_ns(locals.total_ps) / PAPERS_ROUNDS;
    return ok;
}

bool papers_bench_ping(struct papers_bench *bench, uint64_t answer_ps, uint64_t reset_ps,
                       double *ns, char error[SIM_ERROR_BYTES])
{
    struct ping pong = {
        .machine = &bench->machine, .partner = 1, .answer_ps = answer_ps, .reset_ps = reset_ps};
    struct ping ping = pong;
    ping.partner = 0;
    bool ok = papers_bench_run(bench, SIM_BACK_TO_BACK, pong_program, &pong, ping_program, &ping,
                               error);
    *ns = papers_ns(ping.total_ps) / PAPERS_ROUNDS;
    return ok;
}

bool papers_measure_way(const char *machine, enum sim_topology topology, struct papers_way *way,
                        char error[SIM_ERROR_BYTES])
{
    memset(way, 0, sizeof *way);
    way->send_ns = way->receive_ns = way->stored_ns = INFINITY;
    if (!run_loop(machine, topology, way, &way->total_ns, error)) {
        return false;
    }
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        way->stage_ns[stage] /= PAPERS_ROUNDS;
        way->between_ns[stage] /= PAPERS_ROUNDS;
    }
    way->software_ns /= PAPERS_ROUNDS;
    way->write_ns /= PAPERS_ROUNDS;
    way->visible_ns /= PAPERS_ROUNDS;
    way->missed_ns /= PAPERS_ROUNDS;
    way->read_ns /= PAPERS_ROUNDS;
    return true;
}

bool papers_measure_round(const char *machine, struct papers_round *round,
                          char error[SIM_ERROR_BYTES])
{
    struct papers_bench boards;
    return run_loop(machine, SIM_LOOP_INSIDE, NULL, &round->inside_ns, error) &&
           run_loop(machine, SIM_LOOP_OUTSIDE, NULL, &round->outside_ns, error) &&
           papers_bench_load(&boards, machine, error) &&
           papers_bench_ping(&boards, 0, 0, &round->boards_ns, error);
}
