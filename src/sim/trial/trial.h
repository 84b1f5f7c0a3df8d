/* Trials: small programs that try a machine, for `dimmnet sim run`. */
#ifndef SIM_TRIAL_TRIAL_H
#define SIM_TRIAL_TRIAL_H

#include "sim/trial/messages.h"

/* The n-th trial's name and what it does, or NULL. */
const char *sim_trial_name(unsigned number);
const char *sim_trial_text(unsigned number);

struct sim_trial_wish {
    const char *trial;
    const struct sim_machine *machine;
    enum sim_topology topology; /* SIM_TOPOLOGIES: what suits the trial and the nodes */
    uint32_t node_count;        /* 0: the fewest that the trial needs */
    uint64_t bytes;             /* of a transfer; 0: the trial's usual */
    uint32_t rounds;
    uint64_t limit_ps;
    struct sim_timeline *timeline; /* may be NULL */
    enum sim_locks locks;          /* for "lock" */
    /* For "message": how senders and receiver behave, losses and buffers. The fields above hold for
     * it, too. */
    struct sim_messages_wish messages;
};

struct sim_trial_result {
    enum sim_topology topology;
    uint32_t node_count;
    uint64_t bytes; /* of one round; 0: too few to speak of */
    uint32_t rounds;
    uint64_t total_ps, least_ps, most_ps; /* of node 0's rounds, the first one left out */
    uint64_t first_ps;                    /* the first one, with its misses */
    uint64_t virtual_ps;                  /* of the whole run */
    uint32_t hops; /* switches or routers between node 0 and the one half-way round */
    struct sim_world_counters counters;
    struct sim_messages_result messages; /* of "message"; else no pieces */
};

/* False: it cannot be run like this, or did not end; the error says why in one line. */
bool sim_trial_run(const struct sim_trial_wish *wish, struct sim_trial_result *result,
                   char error[SIM_ERROR_BYTES]);

#endif
