/* Where each node's time goes, and what became of a run. */
#include "sim/program/state.h"

enum {
    SPANS_MAX = 4096, /* of a node */
    SPANS_MIN = 64,
    SPANS_IN_ALL = 1 << 18, /* or more, where there are very many nodes: 6 MiB */
};

void sim_program_accounts_open(struct sim_programs *programs)
{
    uint32_t nodes = programs->config.node_count;
    uint32_t each = SPANS_IN_ALL / nodes;
    each = each > SPANS_MAX ? SPANS_MAX : each < SPANS_MIN ? SPANS_MIN : each;
    for (uint32_t rank = 0; rank < nodes; rank++) {
        sim_program_spans_init(&programs->seats[rank].spans,
                               programs->config.keeps_spans ? each : 0);
    }
}

void sim_program_account(struct program_seat *seat, enum sim_program_doing next)
{
    struct sim_program_times *times = &seat->times;
    uint64_t now_ps = sim_world_now(seat->programs->world);
    uint64_t passed_ps = now_ps - seat->account_from_ps;
    switch (seat->account) {
    case SIM_PROGRAM_COMPUTES: times->compute_ps += passed_ps; break;
    case SIM_PROGRAM_WAITS: times->waiting_ps += passed_ps; break;
    case SIM_PROGRAM_WORKS: times->working_ps += passed_ps; break;
    }
    sim_program_spans_add(&seat->spans, seat->account, passed_ps);
    seat->account_from_ps = now_ps;
    seat->account = next;
    times->end_ps = now_ps;
}

void sim_program_accounts_close(struct sim_programs *programs)
{
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        struct program_seat *seat = &programs->seats[rank];
        if (seat->state == PROGRAM_STEPS || seat->state == PROGRAM_WAITS) {
            sim_program_account(seat, seat->account);
        }
    }
}

void sim_programs_result(const struct sim_programs *programs, struct sim_programs_result *result)
{
    *result = (struct sim_programs_result){
        .virtual_ps = sim_world_now(programs->world),
        .calls = programs->calls,
        .turns = programs->turns,
        .hash = programs->hash,
        .is_different = programs->is_different,
        .is_deterministic = !programs->is_threaded &&
                            programs->config.pages[0]->terms.compute == TURN_COMPUTE_DECLARED,
    };
    sim_world_counters(programs->world, &result->counters);
    sim_world_worst(programs->world, &result->worst);
}

void sim_programs_times(const struct sim_programs *programs, uint32_t rank,
                        struct sim_program_times *times)
{
    *times = programs->seats[rank].times;
}

const struct sim_program_spans *sim_programs_spans(const struct sim_programs *programs,
                                                   uint32_t rank)
{
    return &programs->seats[rank].spans;
}

const struct sim_world *sim_programs_world(const struct sim_programs *programs)
{
    return programs->world;
}

void sim_programs_traffic(const struct sim_programs *programs, uint32_t from, uint32_t to,
                          uint64_t *packets, uint64_t *bytes)
{
    const struct program_traffic *traffic =
        &programs->traffic[(uint64_t)from * programs->config.node_count + to];
    *packets = traffic->packets;
    *bytes = traffic->bytes;
}
