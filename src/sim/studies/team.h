/* A team: all nodes of a world do the same together, round after round. The studies of barriers
 * and of global sums share it. */
#ifndef SIM_STUDIES_TEAM_H
#define SIM_STUDIES_TEAM_H

#include "sim/model/host.h"
#include "sim/studies/parts.h"

/* ---- Rounds ------------------------------------------------------------------------------ */

enum { SIM_TEAM_ROUNDS_MAX = 16 };

/* When the last node began a round, and when the first and the last left it. */
struct sim_team_round {
    uint64_t begun_ps, left_first_ps, left_last_ps;
    uint32_t begun, left; /* nodes */
};

/* ---- The team ---------------------------------------------------------------------------- */

struct sim_team {
    const struct sim_machine *machine;
    uint32_t node_count;
    bool multicast; /* the home node tells all nodes by one packet */
    uint32_t round_count;
    struct sim_team_round rounds[SIM_TEAM_ROUNDS_MAX];
    uint32_t results[SIM_TEAM_ROUNDS_MAX]; /* the right results of a sum */
    uint32_t wrong;                        /* results that differ from these */
    uint16_t *members; /* in order, where that is not the order of their numbers */
    uint64_t *up;      /* by node: its kick to its parent in the tree of groups of eight */
    uint64_t *down;    /* by node: its parent's kick to it */
};

/* A program's locals. */
struct sim_member {
    struct sim_team *team;
    uint32_t parent_levels;       /* in the tree */
    uint32_t team_place;          /* this one is members[team_place] */
    uint32_t round, level, place; /* where its program is */
    uint32_t total;
    uint64_t kick_all;
};

/* Opens the member's kick pages to its parent and, without multicast, to its children. */
void sim_member_open_kicks(struct sim_host *host);

/* How much later than it could the member begins its round: up to one read. So polls and arrivals
 * meet in every phase, as in the papers' means of thousands of rounds. */
uint64_t sim_member_pause_ps(const struct sim_host *host);
void sim_member_begin(const struct sim_host *host);
void sim_member_leave(const struct sim_host *host);

/* The CPU's work of a child that has seen what came down; a child that passes it on must untwist
 * the data lines. */
uint64_t sim_member_child_work_ps(const struct sim_member *member);

/* ---- The studies ------------------------------------------------------------------------- */

struct sim_team_variant {
    const char *name;
    sim_program *program;
    bool multicast;
    bool services;  /* uses CorePU's */
    bool is_binary; /* its tree is */
    bool is_near;   /* members are ordered so that neighbours in the tree have near numbers */
};

enum { SIM_TEAM_COLUMNS = 9 };
extern const struct sim_study_column sim_team_columns[SIM_TEAM_COLUMNS];
unsigned sim_team_list(const struct sim_study_choice *choice, struct sim_study_point *points);
/* The prediction for a variant with multicast is made from the first variant's time with two nodes
 * back to back. */
void sim_team_run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                  struct sim_study_row *row);

/* What all studies of teams have: charts over the nodes, a series for each kind, of the time and
 * of its ratio to the paper's prediction. */
#define SIM_TEAM_STUDY                                                                    \
    .columns = sim_team_columns, .column_count = SIM_TEAM_COLUMNS, .x = 0, .series = {1}, \
    .series_count = 1, .y = {3, 5}, .y_count = 2, .list = sim_team_list, .run = sim_team_run

#endif
