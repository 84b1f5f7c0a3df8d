/* Which node is dead when nodes no longer hear each other, though all their processes run.
 *
 * A path may be cut between some nodes only, or a process may stand still. Each node then tells
 * whom it does not hear (group_life_suspect). If every node decided for itself who is dead, some
 * would go on with a node that others have given up, and would wait for those for ever. So the
 * launcher decides, once and for all of them. It gathers suspicions for a moment, since nodes
 * notice silence at different times, and then ends the life of the node that most others do not
 * hear; of equal ones, that of the highest rank. So it goes on until no two living nodes are left
 * of which one does not hear the other. */
#ifndef CLI_LAUNCH_VERDICT_H
#define CLI_LAUNCH_VERDICT_H

#include "base/base.h"

struct launch;

struct verdict {
    uint64_t due_ns;        /* UINT64_MAX: nobody is suspected */
    uint64_t *suspected_by; /* a row of bits for each rank; NULL: nobody ever was */
};

/* Hears one node's suspicion of another; both may be any ranks of the group. */
void launch_verdict_suspect(struct launch *launch, uint32_t by, uint32_t rank);

/* Reads what the nodes of this host suspect: hears it, or passes it on to the launcher. */
void launch_verdict_collect(struct launch *launch);

void launch_verdict_on_time(struct launch *launch, uint64_t now_ns);

#endif
