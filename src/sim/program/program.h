/* Real programs on a simulated machine. Each node of a world is a process, which takes turns with
 * this simulator (wire/turn.h): it runs until it stands in a call of the library, and then virtual
 * time goes on. At any moment either the simulator or one process runs, and which one follows from
 * the events alone; so a run is repeated exactly, whatever the cores do. */
#ifndef SIM_PROGRAM_PROGRAM_H
#define SIM_PROGRAM_PROGRAM_H

#include "sim/model/outside.h"
#include "sim/model/world.h"
#include "sim/program/journal.h"
#include "sim/program/spans.h"

/* A death of the plan. */
struct sim_death {
    uint32_t rank;
    uint64_t at_ps;
};

struct sim_programs_config {
    const struct sim_machine *machine;
    enum sim_topology topology;
    uint32_t node_count;
    struct turn_page **pages;      /* one for each node */
    struct sim_timeline *timeline; /* may be NULL */
    uint64_t seed;                 /* of what the network loses */
    uint64_t limit_ps;             /* virtual time; UINT64_MAX: none */
    const struct sim_death *deaths;
    uint32_t death_count;
    uint64_t notice_ps;      /* from a death until the others know of it */
    bool keeps_spans;        /* sim_programs_spans is wanted */
    struct journal *journal; /* of the steps; NULL: none is kept */
};

struct sim_programs;

/* NULL: no such machine can be made; the error says why. */
struct sim_programs *sim_programs_open(const struct sim_programs_config *config,
                                       char error[SIM_ERROR_BYTES]);
void sim_programs_close(struct sim_programs *programs);

enum sim_programs_end {
    SIM_PROGRAMS_DONE,     /* every process has left, or has ended */
    SIM_PROGRAMS_DEADLOCK, /* they all wait, and nothing is under way */
    SIM_PROGRAMS_LIMIT,    /* virtual time is up */
    SIM_PROGRAMS_STOPPED,  /* sim_programs_stop or sim_programs_cut; or a second run differs */
};
/* Runs to the end; the error says why it is not DONE. */
enum { SIM_PROGRAMS_ERROR_BYTES = JOURNAL_SENTENCE_BYTES };
enum sim_programs_end sim_programs_run(struct sim_programs *programs,
                                       char error[SIM_PROGRAMS_ERROR_BYTES]);

/* These may be called from another thread. The process of a rank has ended, well or not. */
void sim_programs_ended(struct sim_programs *programs, uint32_t rank, bool well);
void sim_programs_stop(struct sim_programs *programs);
/* Processes that end from now on are made to: a run that ends with them is not DONE. */
void sim_programs_cut(struct sim_programs *programs);

/* ---- What became of it ----------------------------------------------------------------------- */

/* Where a node's time went. */
struct sim_program_times {
    uint64_t compute_ps; /* as declared or measured */
    uint64_t waiting_ps; /* for what others do */
    uint64_t working_ps; /* the CPU's steps: stores, blocks, requests, looks */
    uint64_t end_ps;     /* when it left, or the run ended */
};

struct sim_programs_result {
    uint64_t virtual_ps;
    uint64_t calls;        /* steps of the CPUs, and waits */
    uint64_t turns;        /* that programs were given */
    uint64_t hash;         /* of all that happened; equal runs have equal ones */
    bool is_different;     /* from the first run, of which the journal is */
    bool is_deterministic; /* no program has several threads, and no time was measured */
    struct sim_world_counters counters;
    struct sim_network_worst worst;
};
void sim_programs_result(const struct sim_programs *programs, struct sim_programs_result *result);
void sim_programs_times(const struct sim_programs *programs, uint32_t rank,
                        struct sim_program_times *times);
/* What it did when, from the beginning to its end. */
const struct sim_program_spans *sim_programs_spans(const struct sim_programs *programs,
                                                   uint32_t rank);
/* With counts of use and load. */
const struct sim_world *sim_programs_world(const struct sim_programs *programs);
/* Packets and bytes of them from a node to another one, so far. */
void sim_programs_traffic(const struct sim_programs *programs, uint32_t from, uint32_t to,
                          uint64_t *packets, uint64_t *bytes);

#endif
