/* Adding up. */
#include "cli/sim/program_sums.h"

#include <stdlib.h>
#include <string.h>

static void add_times(const struct program_report *report, struct program_sums *sums)
{
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        sums->times.compute_ps += times.compute_ps;
        sums->times.waiting_ps += times.waiting_ps;
        sums->times.working_ps += times.working_ps;
        if (times.end_ps > sums->times.end_ps) {
            sums->times.end_ps = times.end_ps;
        }
        for (uint32_t to = 0; to < report->node_count; to++) {
            uint64_t packets;
            uint64_t bytes;
            sim_programs_traffic(report->programs, rank, to, &packets, &bytes);
            sums->bytes += bytes;
        }
    }
}

static void add_stage(struct program_stage_sum *sum, const struct sim_stage_use *use, uint32_t rank)
{
    sum->use.count += use->count;
    sum->use.inside_ps += use->inside_ps;
    sum->use.waited_ps += use->waited_ps;
    sum->use.busy_ps += use->busy_ps;
    if (use->busy_ps > sum->busiest_ps) {
        sum->busiest_ps = use->busy_ps;
        sum->busiest = rank;
    }
}

static void add_use(const struct program_report *report, struct program_sums *sums)
{
    struct sim_nic_use *all = &sums->use;
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_nic_use use;
        sim_world_use(sim_programs_world(report->programs), rank, &use);
        for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
            add_stage(&sums->stages[stage], &use.stages[stage], rank);
        }
        all->sent += use.sent;
        all->sent_bytes += use.sent_bytes;
        all->received += use.received;
        all->received_bytes += use.received_bytes;
        all->lost += use.lost;
        all->repeats += use.repeats;
        all->header_lookups += use.header_lookups;
        all->header_misses += use.header_misses;
        all->address_lookups += use.address_lookups;
        all->address_misses += use.address_misses;
        all->context_lookups += use.context_lookups;
        all->context_misses += use.context_misses;
        all->core_requests += use.core_requests;
        all->core_busy_ps += use.core_busy_ps;
        all->dma_busy_ps += use.dma_busy_ps;
    }
}

/* The busiest first; equally busy ones by name, so that the order is always the same. */
static int by_heat(const void *one, const void *other)
{
    const struct sim_network_load *first = one;
    const struct sim_network_load *second = other;
    if (first->busy_ps != second->busy_ps) {
        return first->busy_ps > second->busy_ps ? -1 : 1;
    }
    return strcmp(first->where, second->where);
}

static bool take_loads(const struct program_report *report, struct program_sums *sums)
{
    const struct sim_world *world = sim_programs_world(report->programs);
    size_t count = sim_world_load_count(world);
    sums->loads = calloc(count + 1, sizeof *sums->loads);
    for (size_t i = 0; i < count && sums->loads; i++) {
        struct sim_network_load *load = &sums->loads[sums->load_count];
        sim_world_load(world, i, load);
        sums->load_count += load->packets > 0;
    }
    if (sums->load_count > 0) {
        qsort(sums->loads, sums->load_count, sizeof *sums->loads, by_heat);
    }
    return sums->loads != NULL;
}

bool cli_program_sums_make(const struct program_report *report, struct program_sums *sums)
{
    *sums = (struct program_sums){.load_count = 0};
    sim_programs_result(report->programs, &sums->result);
    add_times(report, sums);
    add_use(report, sums);
    return take_loads(report, sums);
}

void cli_program_sums_free(struct program_sums *sums)
{
    free(sums->loads);
}

double cli_program_share(const struct program_sums *sums, uint64_t busy_ps)
{
    uint64_t whole_ps = sums->result.virtual_ps;
    return busy_ps >= whole_ps ? busy_ps > 0 : (double)busy_ps / (double)whole_ps;
}

const char *cli_program_stage_text(unsigned stage)
{
    return stage == SIM_STAGE_LINK ? "links and switches" : sim_stage_texts[stage];
}
