/* Nodes that share cores: one of them runs, the others stand in a row. Who waits for something
 * leaves its core to the next, as the library's waits do by yielding; who computes does so after
 * a slice. Going from one node to another takes [call] switch_ns. */
#include "sim/program/state.h"

static struct program_core *core_of(const struct program_seat *seat)
{
    return &seat->programs->cores[seat->rank % seat->programs->core_count];
}

void sim_program_cores_open(struct sim_programs *programs)
{
    uint64_t cores = programs->config.machine->call_cores;
    if (cores == 0 || cores >= programs->config.node_count) {
        return;
    }
    programs->core_count = (uint32_t)cores;
    programs->cores = calloc(cores, sizeof *programs->cores);
    INVARIANT(programs->cores);
    for (uint32_t i = 0; i < cores; i++) {
        programs->cores[i] = (struct program_core){.holder = PROGRAM_NOBODY,
                                                   .last = PROGRAM_NOBODY,
                                                   .first = PROGRAM_NOBODY,
                                                   .tail = PROGRAM_NOBODY};
    }
}

static void stand_in_row(struct program_core *core, struct program_seat *seat)
{
    seat->is_in_row = true;
    seat->core_next = PROGRAM_NOBODY;
    if (core->tail == PROGRAM_NOBODY) {
        core->first = seat->rank;
    } else {
        seat->programs->seats[core->tail].core_next = seat->rank;
    }
    core->tail = seat->rank;
}

/* The core goes to the seat; true: at once, since it was the last one there. */
static bool give_core(struct program_core *core, struct program_seat *seat)
{
    struct sim_programs *programs = seat->programs;
    uint64_t now_ps = sim_world_now(programs->world);
    bool is_at_once = core->last == seat->rank || core->last == PROGRAM_NOBODY;
    uint64_t from_ps = now_ps + (is_at_once ? 0 : programs->config.machine->call_switch);
    core->holder = core->last = seat->rank;
    core->since_ps = from_ps;
    if (!is_at_once) {
        sim_outside_call(programs->world, seat->rank, from_ps, PROGRAM_CALL_CORE);
    }
    return is_at_once;
}

static void give_to_next(struct sim_programs *programs, struct program_core *core)
{
    core->holder = PROGRAM_NOBODY;
    if (core->first == PROGRAM_NOBODY) {
        return;
    }
    struct program_seat *next = &programs->seats[core->first];
    core->first = next->core_next;
    core->tail = core->first == PROGRAM_NOBODY ? PROGRAM_NOBODY : core->tail;
    next->is_in_row = false;
    if (give_core(core, next)) {
        sim_outside_call(programs->world, next->rank, core->since_ps, PROGRAM_CALL_CORE);
    }
}

bool sim_program_core_is_its(struct program_seat *seat)
{
    struct sim_programs *programs = seat->programs;
    if (!programs->cores) {
        return true;
    }
    struct program_core *core = core_of(seat);
    if (core->holder == seat->rank) {
        uint64_t ran_ps = sim_world_now(programs->world) - core->since_ps;
        if (core->first == PROGRAM_NOBODY || ran_ps < programs->config.machine->call_slice) {
            return true;
        }
        stand_in_row(core, seat);
        give_to_next(programs, core);
        return false;
    }
    if (core->holder == PROGRAM_NOBODY) {
        return give_core(core, seat);
    }
    if (!seat->is_in_row) {
        stand_in_row(core, seat);
    }
    return false;
}

bool sim_program_core_came(struct program_seat *seat)
{
    if (seat->state == PROGRAM_STEPS) {
        return true;
    }
    sim_outside_end(seat->programs->world, seat->rank);
    sim_program_core_leave(seat);
    return false;
}

void sim_program_core_leave(struct program_seat *seat)
{
    if (seat->programs->cores && core_of(seat)->holder == seat->rank) {
        give_to_next(seat->programs, core_of(seat));
    }
}

uint64_t sim_program_core_slice_ps(const struct program_seat *seat, uint64_t compute_ps)
{
    uint64_t slice_ps = seat->programs->config.machine->call_slice;
    return seat->programs->cores && slice_ps > 0 && compute_ps > slice_ps ? slice_ps : compute_ps;
}
