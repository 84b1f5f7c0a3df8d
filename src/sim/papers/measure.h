/* The papers' programs on simulated hosts. Each function loads a machine, runs a world to its
 * end and gives what a program saw there. False: the error says in one line what went wrong. */
#ifndef SIM_PAPERS_MEASURE_H
#define SIM_PAPERS_MEASURE_H

#include "sim/model/world.h"

enum { PAPERS_ROUNDS = 2000 };

/* ---- Bench ------------------------------------------------------------------------------ */

/* For trying other values: from now on NAME.ini in this folder replaces the machine NAME that
 * comes with the program; NULL: none does. The caller keeps the text alive. */
void papers_machines_from(const char *folder);
/* Loads a machine by that rule. */
bool papers_machine_load(struct sim_machine *machine, const char *name,
                         char error[SIM_ERROR_BYTES]);

struct papers_bench {
    struct sim_machine machine; /* changes made before the run take effect */
    uint64_t bank_bytes;        /* that its SO-DIMMs must have */
    uint64_t start_ps;          /* when the programs start */
    struct sim_passage last[2]; /* after a run: of the last packet into each node's memory */
};

/* Loads the machine alone. */
bool papers_bench_load(struct papers_bench *bench, const char *machine,
                       char error[SIM_ERROR_BYTES]);
/* Runs the first program on node 0 and the second one, unless it is NULL, on node 1, until both
 * have ended. A loop has only node 0. Lets go of the machine's file; its values stay. */
bool papers_bench_run(struct papers_bench *bench, enum sim_topology topology, sim_program *first,
                      void *first_locals, sim_program *second, void *second_locals,
                      char error[SIM_ERROR_BYTES]);

/* The mean time of a store to the other board and back. The partner's answer takes so much
 * software beyond that of turning round, and either host then resets what it received. */
bool papers_bench_ping(struct papers_bench *bench, uint64_t answer_ps, uint64_t reset_ps,
                       double *ns, char error[SIM_ERROR_BYTES]);

/* Spreads moments evenly: the n-th of a sequence that fills the whole span, in three directions
 * at once. The papers took the mean of thousands of rounds, in which polls and arrivals met in
 * every phase; without it, all our rounds would meet in the same phase. */
uint64_t papers_spread(uint32_t n, unsigned direction, uint64_t span_ps);

/* Steps: the partner begins to poll with reads of `read_ps`; well after that, the measuring host
 * begins its round. Both begin some way behind a moment at which all clocks have an edge, so that
 * a round does not depend on the one before. */
void papers_begin_round(struct sim_host *host, uint32_t n);
void papers_begin_polls(struct sim_host *host, uint32_t n, uint64_t read_ps);
/* The time until the next edge of a clock with that period. */
uint64_t papers_until_edge(const struct sim_host *host, uint64_t period_ps);

static inline double papers_ns(uint64_t ps)
{
    return (double)ps / 1000.0;
}

/* ---- Paper 000 -------------------------------------------------------------------------- */

/* Accesses of 8 bytes. PLAIN: without MMX, where a read takes two. */
enum papers_access {
    PAPERS_WRITE,
    PAPERS_WRITE_PLAIN,
    PAPERS_READ,
    PAPERS_READ_PLAIN,
    PAPERS_ACCESSES,
};
bool papers_measure_access(const char *machine, double ns[PAPERS_ACCESSES],
                           char error[SIM_ERROR_BYTES]);

/* 4 bytes round one board, or from one to another and back. */
struct papers_round {
    double inside_ns, outside_ns, boards_ns;
};
bool papers_measure_round(const char *machine, struct papers_round *round,
                          char error[SIM_ERROR_BYTES]);

/* A store's way round a board, stage by stage: means over all phases. */
struct papers_way {
    double stage_ns[SIM_STAGES];
    double between_ns[SIM_STAGES]; /* waiting before the stage, for an edge or for its place */
    double write_ns;               /* from the store to the NIC's first signal */
    double visible_ns;             /* from the write into LLCM to the host's port */
    double missed_ns;              /* from there to the start of the read that brings it */
    double read_ns;                /* that read */
    double software_ns;            /* before the store */
    double total_ns;
    /* The shortest over all phases, as the papers count: Martini's two halves, and the time from
     * the store to the end of the write into LLCM. */
    double send_ns, receive_ns, stored_ns;
};
bool papers_measure_way(const char *machine, enum sim_topology topology, struct papers_way *way,
                        char error[SIM_ERROR_BYTES]);

bool papers_measure_barrier(const char *machine, bool mmx, double *ns, char error[SIM_ERROR_BYTES]);

enum papers_type { PAPERS_UNSIGNED, PAPERS_LONG, PAPERS_FLOAT, PAPERS_DOUBLE, PAPERS_TYPES };
bool papers_measure_sum(const char *machine, enum papers_type type, double *ns,
                        char error[SIM_ERROR_BYTES]);

/* A stream of BOTF packets, one way or both ways at once: the data that arrives in a second, both
 * directions together. */
bool papers_measure_blocks(const char *machine, bool both_ways, double *mb_per_s,
                           char error[SIM_ERROR_BYTES]);
/* How fast the host writes into windows while nothing holds it up. */
bool papers_measure_windows(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);
/* PUSH from one node's SO-DIMM into the other's, with a link fast enough not to matter. */
bool papers_measure_bank(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);
/* The cable alone: packets without a pause. */
bool papers_measure_link(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);

/* ---- Paper 001 -------------------------------------------------------------------------- */

struct papers_send {
    double total_ns;
    double bank_ns, internal_ns, block_ns, rest_ns; /* their sum is total_ns */
};
bool papers_measure_send(const char *machine, bool detect_thread, struct papers_send *send,
                         char error[SIM_ERROR_BYTES]);
bool papers_measure_library_barrier(const char *machine, double *ns, char error[SIM_ERROR_BYTES]);
bool papers_measure_comm_sync(const char *machine, double *ns, char error[SIM_ERROR_BYTES]);

/* ---- Paper 002 -------------------------------------------------------------------------- */

struct papers_transit {
    double ns;                 /* through InfiniSWIF, from CoreLogic to CoreLogic */
    double overhead_clocks[4]; /* A, B, D, E */
    double clock_mhz[4];       /* NIC, TP, DL, MAC: derived from when stages begin and end */
};
/* 8 bytes, by UD or CD; with CD the contexts are cached or (miss) not yet there. */
bool papers_measure_transit(const char *machine, enum sim_carrier carrier, bool miss,
                            struct papers_transit *transit, char error[SIM_ERROR_BYTES]);
/* A message of that many bytes: from its first word into InfiniSWIF to its last word out. */
bool papers_measure_message(const char *machine, enum sim_carrier carrier, uint64_t bytes,
                            double *ns, char error[SIM_ERROR_BYTES]);

#endif
