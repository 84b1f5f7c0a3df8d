/* What the files of a fleet share: fleet_start.c until the nodes run, fleet.c from then on. */
#ifndef CLI_REMOTE_FLEET_STATE_H
#define CLI_REMOTE_FLEET_STATE_H

#include "cli/remote/fleet.h"
#include "cli/remote/link.h"

enum { FLEET_START_S = 60 }; /* for all hosts to be ready */

#define FLEET_LAST_WORDS_NS UINT64_C(200000000) /* from a remote shell's end to its link's */

struct fleet {
    struct link *links; /* by ranks: node 0's is the first */
    uint32_t count;
    char **rsh;           /* the remote shell's words */
    char *words;          /* the memory of those words */
    char *remote_dimmnet; /* the command on the other hosts */
    char **environment;   /* the variables that nodes there get from us; NULL ends it */
    uint32_t input_credit_bytes;
    uint64_t start_deadline_ns; /* UINT64_MAX: all have started */
    uint64_t kill_deadline_ns;  /* UINT64_MAX: none */

    struct fabric_finding finding; /* of the hosts that have looked, */
    bool has_finding;              /* if any has */
};

/* The conversation until the nodes run. False: this is not what an agent says now. */
bool remote_fleet_on_starting_frame(struct launch *launch, struct link *link,
                                    const struct frame *frame);

#endif
