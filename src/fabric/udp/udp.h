/* The `udp` fabric: a board (Martini and InfiniSWIF) per process on one UDP socket.
 *
 * The board is driven by whoever waits; when nobody does, by a helper thread that sleeps in
 * the kernel until a packet comes or a timer is due. One lock guards it. */
#ifndef FABRIC_UDP_UDP_H
#define FABRIC_UDP_UDP_H

#include "fabric/fabric.h"
#include "fabric/udp/roster.h"

extern const struct fabric_ops udp_ops;

struct udp_config {
    int socket_fd; /* bound; the fabric's own from now on */
    const struct udp_roster *roster;
    const struct group_view *view; /* this process's memory: its node and its mirrors */
    /* The lives of the group as the launcher tells them, in memory shared with it; their
     * changes are brought into `view`. */
    const struct group_view *control;
    int stop_signal; /* by which the host stops whoever may write the program's memory; 0: none */
};

/* Starts the fabric of this process, before its first lane is opened. The node is attached
 * (group_life_attach) by the caller afterwards. DN_ENOMEM, DN_ESYSTEM, DN_EVERSION. */
int udp_start(const struct udp_config *config);

/* Ends it; every lane has been closed. What peers were sent is in place. */
void udp_stop(void);

/* After group_area_register or group_area_deregister: every peer knows the slot's new state when
 * this returns. Nothing where no such fabric runs. */
int udp_tell_area(uint32_t area);

#endif
