/* OpenSM as the manager of a simulated subnet: started, waited for, asked for service levels,
 * ended. */
#ifndef CLI_SIM_SUBNET_OPENSM_H
#define CLI_SIM_SUBNET_OPENSM_H

#include "cli/sim/subnet_attach.h"
#include "cli/sim/subnet_session.h"

enum { SUBNET_OPENSM_ENGINE_BYTES = 32 };

struct subnet_opensm {
    pid_t process;   /* 0: it does not run */
    uint8_t *levels; /* by source and target board, in the order of nodes; NULL: not asked for */
    uint32_t board_count;
    char engine[SUBNET_OPENSM_ENGINE_BYTES]; /* whose tables it has written, which may be another
                                              * than was asked for */
};

/* Starts it with a routing engine (NULL: its usual one; updn gets the first switch as its root
 * where it finds none by itself) and waits until all ports with a living
 * cable are active and nothing has changed for a while. False: it failed, and has said why. */
bool subnet_opensm_start(struct subnet_opensm *opensm, struct subnet_session *session,
                         struct subnet_attach *attach, const char *engine, const char *command);

/* Asks OpenSM's administration for the service level of the path between each two boards. */
bool subnet_opensm_levels(struct subnet_opensm *opensm, struct subnet_session *session,
                          const char *command);

/* Makes a multicast group of all boards, as they would ask for it themselves; gives its LID. 0: it
 * failed, and has said why. */
uint16_t subnet_opensm_group(struct subnet_opensm *opensm, struct subnet_session *session,
                             const char *command);

/* Whether it still runs; if not, says how it ended. */
bool subnet_opensm_runs(struct subnet_opensm *opensm, const char *command);
void subnet_opensm_end(struct subnet_opensm *opensm, struct subnet_session *session);

#endif
