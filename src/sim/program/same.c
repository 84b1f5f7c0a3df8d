/* Whether a run is the same as the first one: each step goes into the journal. */
#include "sim/program/state.h"

static bool has_threads(const struct sim_programs *programs)
{
    bool has = programs->is_threaded;
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        has |= atomic_load(&programs->config.pages[rank]->is_threaded) != 0;
    }
    return has;
}

static void stop(struct sim_programs *programs)
{
    journal_explain(programs->config.journal, has_threads(programs), programs->fault);
    programs->is_different = true;
    atomic_store(&programs->stops, true);
}

void sim_program_enter(struct program_seat *seat, enum turn_word word, uint64_t amount,
                       uint64_t print)
{
    struct sim_programs *programs = seat->programs;
    if (!programs->config.journal) {
        return;
    }
    const struct journal_entry entry = {
        .at_ps = sim_world_now(programs->world),
        .amount = amount,
        .print = (uint32_t)(print ^ print >> 32),
        .rank = (uint16_t)seat->rank,
        .word = (uint16_t)word,
    };
    if (!journal_add(programs->config.journal, &entry)) {
        stop(programs);
    }
}

void sim_program_enter_step(struct program_seat *seat, const struct program_step *step)
{
    bool is_in_value = step->word == TURN_BLOCK || step->word == TURN_COMPUTE;
    sim_program_enter(seat, (enum turn_word)step->word,
                      journal_amount(is_in_value ? step->value : step->detail, step->peer),
                      step->print);
}

void sim_program_enter_end(struct sim_programs *programs)
{
    if (programs->config.journal && !programs->is_different &&
        !journal_end(programs->config.journal, sim_world_now(programs->world), programs->hash,
                     has_threads(programs))) {
        stop(programs);
    }
}
