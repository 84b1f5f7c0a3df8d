/* Programs on simulated hosts, as the papers' authors ran them on theirs. Each function loads
 * a machine, runs a world to its end and gives what a program saw there. False: the error says
 * in one line what went wrong. */
#ifndef SIM_PAPERS_MEASURE_H
#define SIM_PAPERS_MEASURE_H

#include "sim/model/world.h"

enum { PAPERS_ROUNDS = 2000 };

/* ---- Bench ------------------------------------------------------------------------------ */

/* From now on a machine of this folder, NAME.ini, goes before the one of that name that comes
 * with the program; NULL: none does. The text stays the caller's. For trying other values. */
void papers_machines_from(const char *folder);
/* By that rule. */
bool papers_machine_load(struct sim_machine *machine, const char *name,
                         char error[SIM_ERROR_BYTES]);

struct papers_bench {
    struct sim_machine machine;
    struct sim_world *world;
};

/* The machine alone; what is changed in it before papers_bench_start counts. */
bool papers_bench_load(struct papers_bench *bench, const char *machine,
                       char error[SIM_ERROR_BYTES]);
/* 1 node for loops, 2 for everything else. */
bool papers_bench_start(struct papers_bench *bench, enum sim_topology topology,
                        char error[SIM_ERROR_BYTES]);
/* Whether its machine has SO-DIMMs of that many bytes. */
bool papers_bench_has_banks(const struct papers_bench *bench, uint64_t bytes,
                            char error[SIM_ERROR_BYTES]);
/* Until every program has ended. */
bool papers_bench_run(struct papers_bench *bench, char error[SIM_ERROR_BYTES]);
void papers_bench_close(struct papers_bench *bench);
/* All of it, from start to close: two boards back to back, a program on each. */
bool papers_bench_run_pair(struct papers_bench *bench, sim_program *first, void *first_locals,
                           sim_program *second, void *second_locals, char error[SIM_ERROR_BYTES]);

/* Spreads moments evenly: the n-th of a sequence that fills the whole span, and so in three
 * directions at once. The papers took the mean of thousands of rounds, in which polls and
 * arrivals met in every phase; rounds without it would all meet in the same one. */
uint64_t papers_spread(uint32_t n, unsigned direction, uint64_t span_ps);

/* Steps: a round of the one who measures begins, well after its partner has begun to poll with
 * reads that take so long. Both begin some way behind a moment at which all clocks have an
 * edge, so that a round knows nothing of the one before. */
void papers_begin_round(struct sim_host *host, uint32_t n);
void papers_begin_polls(struct sim_host *host, uint32_t n, uint64_t read_ps);

static inline double papers_ns(uint64_t ps)
{
    return (double)ps / 1000.0;
}

/* ---- Paper 000 -------------------------------------------------------------------------- */

struct papers_access {
    double write_ns;       /* 8 bytes, with MMX */
    double write_plain_ns; /* the store that goes without */
    double read_ns;        /* 8 bytes, with MMX */
    double read_plain_ns;  /* 8 bytes, without */
};
bool papers_measure_access(const char *machine, struct papers_access *access,
                           char error[SIM_ERROR_BYTES]);

/* 4 bytes round one board, or from one to another and back. */
struct papers_round {
    double inside_ns, outside_ns, boards_ns;
};
bool papers_measure_round(const char *machine, struct papers_round *round,
                          char error[SIM_ERROR_BYTES]);

/* A store's way round a board, stage by stage: means of all phases. */
struct papers_way {
    double stage_ns[SIM_STAGES];
    double between_ns[SIM_STAGES]; /* waiting before the stage, for an edge or for its place */
    double write_ns;               /* from the store to the NIC's first signal */
    double visible_ns;             /* from the write into LLCM to the host's port */
    double missed_ns;              /* from there to the read that brings it */
    double read_ns;                /* that read */
    double software_ns;            /* before the store */
    double total_ns;
    /* The shortest of all phases, as the papers count them: Martini's two halves, and from the
     * store to the end of the write into LLCM. */
    double send_ns, receive_ns, stored_ns;
};
bool papers_measure_way(const char *machine, enum sim_topology topology, struct papers_way *way,
                        char error[SIM_ERROR_BYTES]);

bool papers_measure_barrier(const char *machine, bool mmx, double *ns, char error[SIM_ERROR_BYTES]);

enum papers_type { PAPERS_UNSIGNED, PAPERS_LONG, PAPERS_FLOAT, PAPERS_DOUBLE, PAPERS_TYPES };
bool papers_measure_sum(const char *machine, enum papers_type type, double *ns,
                        char error[SIM_ERROR_BYTES]);

/* A stream of BOTF packets, from one node to the other or both ways at once: bytes of data
 * that arrive in a second, of both directions together. */
bool papers_measure_blocks(const char *machine, bool both_ways, double *mb_per_s,
                           char error[SIM_ERROR_BYTES]);
/* What the host writes into windows while nothing holds it up. */
bool papers_measure_windows(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);
/* PUSH from one SO-DIMM into the other node's, the link as fast as it takes. */
bool papers_measure_bank(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);
/* The cable alone, packets without a pause. */
bool papers_measure_link(const char *machine, double *mb_per_s, char error[SIM_ERROR_BYTES]);

/* ---- Paper 001 -------------------------------------------------------------------------- */

struct papers_send {
    double total_ns;
    double bank_ns, internal_ns, block_ns, rest_ns; /* which add to it */
};
bool papers_measure_send(const char *machine, bool detect_thread, struct papers_send *send,
                         char error[SIM_ERROR_BYTES]);
bool papers_measure_library_barrier(const char *machine, double *ns, char error[SIM_ERROR_BYTES]);
bool papers_measure_comm_sync(const char *machine, double *ns, char error[SIM_ERROR_BYTES]);

/* ---- Paper 002 -------------------------------------------------------------------------- */

struct papers_transit {
    double ns;               /* through InfiniSWIF, from CoreLogic to CoreLogic */
    double send_clocks;      /* A */
    double link_send_clocks; /* B */
    double link_clocks;      /* D */
    double receive_clocks;   /* E */
    double clock_mhz[4];     /* NIC, TP, DL, MAC: from the moments at which stages begin and end */
};
/* 8 bytes, by UD or CD; with CD the contexts are cached or, miss, not yet there. */
bool papers_measure_transit(const char *machine, enum sim_carrier carrier, bool miss,
                            struct papers_transit *transit, char error[SIM_ERROR_BYTES]);
/* A message of that many bytes, from its first word into InfiniSWIF to its last out of it. */
bool papers_measure_message(const char *machine, enum sim_carrier carrier, uint64_t bytes,
                            double *ns, char error[SIM_ERROR_BYTES]);

#endif
