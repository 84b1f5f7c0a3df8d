/* A schedule on a simulated machine. A rank is a node of a sim_world; a cpu of a rank is a user of
 * that node's NIC with a program of its own. All NICs of a rank are the node's one.
 *
 *     calc      the cpu computes so long.
 *     send      up to 4 bytes go along with the flag; up to `push_bytes` in blocks of 464 by BOTF;
 *               more by PUSH, whose completion the cpu waits for. Behind them comes the flag: an
 *               AOTF store of 8 bytes, the number of messages from this cpu to that rank. The send
 *               has then finished, whether it is received or not.
 *     recv      starts as soon as its needs allow it, whatever its cpu does. It has finished when
 *               the cpu has read the flag and the message is among those that it counts.
 *
 * A cpu does one thing at a time: what it can compute and send, in the order in which needs
 * allowed it, and only when there is nothing of that, it polls the flags of all receives that have
 * started, one after the other. So a message may be seen late, but no receive holds up another.
 * Receiving copies nothing: data stay in LLCM, where all messages to a rank go to the same place
 * behind the flags, as nobody reads them. There is no flow control, and a send to the own rank is
 * written to LLCM by the cpu. */
#ifndef SIM_GOAL_GOAL_REPLAY_H
#define SIM_GOAL_GOAL_REPLAY_H

#include "sim/goal/goal.h"
#include "sim/model/world.h"

enum { GOAL_PUSH_USUAL = 464 };

struct goal_replay_wish {
    const struct goal *goal; /* goal_check has found nothing */
    const struct sim_machine *machine;
    enum sim_topology topology; /* SIM_TOPOLOGIES: what suits the ranks */
    uint64_t push_bytes;
    uint64_t limit_ps;
    uint64_t loss_ppm; /* 0: the machine's */
    uint64_t seed;
    struct sim_timeline *timeline; /* may be NULL */
};

struct goal_replay_result {
    enum sim_topology topology;
    uint64_t *end_ps;    /* by rank: when its last operation had finished; the caller frees it */
    uint64_t virtual_ps; /* the last of these */
    uint64_t messages, bytes;
    uint64_t unreceived; /* messages that no receive is there for */
    /* Of all cpus, each until its rank's end. */
    uint32_t cpus;
    uint64_t compute_ps, communicate_ps, wait_ps;
    struct sim_world_counters counters;
};

/* False: it cannot be run like this, or did not come to its end; the error says why in one line,
 * and the result is not set. */
bool goal_replay(const struct goal_replay_wish *wish, struct goal_replay_result *result,
                 char error[SIM_ERROR_BYTES]);

#endif
