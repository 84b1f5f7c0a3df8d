/* All nodes of a world doing the same together, round after round: what the studies of barriers
 * and of global sums share. */
#ifndef SIM_STUDIES_TEAM_H
#define SIM_STUDIES_TEAM_H

#include "sim/model/host.h"
#include "sim/studies/parts.h"

/* ---- Rounds ------------------------------------------------------------------------------ */

enum { SIM_TEAM_ROUNDS_MAX = 16 };

/* When the last node has begun a round, and the first and the last have left it. */
struct sim_team_round {
    uint64_t begun_ps, left_first_ps, left_last_ps;
    uint32_t begun, left; /* nodes */
};

/* ---- The team ---------------------------------------------------------------------------- */

struct sim_team {
    const struct sim_machine *machine;
    uint32_t node_count;
    bool multicast; /* what the home node says to all is one packet */
    uint32_t round_count;
    struct sim_team_round rounds[SIM_TEAM_ROUNDS_MAX];
    uint32_t results[SIM_TEAM_ROUNDS_MAX]; /* of a sum: what it has to be */
    uint32_t wrong;                        /* results that differ from what they should be */
    uint16_t *members; /* in their order, where that is not the order of their numbers */
    uint64_t *up;      /* by node: its kick to its parent in the tree of groups of eight */
    uint64_t *down;    /* by node: its parent's kick to it */
};

/* A program's locals. */
struct sim_member {
    struct sim_team *team;
    uint32_t parent_levels;       /* in the tree */
    uint32_t team_place;          /* members[team_place] is this one */
    uint32_t round, level, place; /* where its program is */
    uint32_t total;
    uint64_t kick_all;
};

/* Opens the kick pages to its parent and, without multicast, to its children. */
void sim_member_open_kicks(struct sim_host *host);

/* When it begins its round, after what it may have to do otherwise: up to one read later than
 * it could. Polls and arrivals meet so in every phase, as in the papers' means of thousands of
 * rounds. */
uint64_t sim_member_pause_ps(const struct sim_host *host);
void sim_member_begin(const struct sim_host *host);
void sim_member_leave(const struct sim_host *host);

/* The CPU's work of a child that has seen what came down; one that passes it on has to untwist
 * the data lines. */
uint64_t sim_member_child_work_ps(const struct sim_member *member);

/* ---- The studies ------------------------------------------------------------------------- */

struct sim_team_variant {
    const char *name;
    sim_program *program;
    bool multicast;
    bool services;  /* CorePU's */
    bool is_binary; /* its tree */
    bool is_near;   /* its members stand so that neighbours in the tree have near numbers */
};

enum { SIM_TEAM_COLUMNS = 9 };
extern const struct sim_study_column sim_team_columns[SIM_TEAM_COLUMNS];
/* By nodes, a series for each kind: the time, and its ratio to the paper's prediction. */
#define SIM_TEAM_CHARTS .x = 0, .series = {1}, .series_count = 1, .y = {3, 5}, .y_count = 2

unsigned sim_team_list(const struct sim_study_choice *choice,
                       const struct sim_team_variant *variants, unsigned variant_count,
                       struct sim_study_point *points);
/* The first variant is the one whose time with two nodes back to back the prediction for that
 * with multicast is made from. */
void sim_team_run(const struct sim_study_choice *choice, const struct sim_team_variant *variants,
                  const struct sim_study_point *point, struct sim_study_row *row);

#endif
