/* What is made for a group on the `udp` fabric before its nodes start: a bound socket for
 * each that starts here, and the roster that tells all of them where the others are. */
#ifndef CLI_LAUNCH_ROSTER_H
#define CLI_LAUNCH_ROSTER_H

#include "cli/launch/run.h"
#include "fabric/udp/roster.h"

struct roster {
    struct udp_roster_file file; /* .fd -1: none */
    uint32_t rank_first;         /* of the nodes that start here */
    uint32_t rank_count;
    int *socket_fds; /* from rank_first on; -1: the node has it */
};

/* What the launcher decides for the whole group. */
struct roster_terms {
    struct group_sizes sizes;
    uint32_t pgid;
    uint32_t packet_bytes_max;
    uint64_t peer_timeout_ns;
    uint32_t cipher;
    bool encrypt;
    unsigned char secret[UDP_SECRET_BYTES];
};

/* All of these give 0, or an exit status after having said why. */

/* Everything for nodes that all start here, on the loopback. roster_release either way. */
int roster_make(struct roster *roster, const struct launch_request *request);

/* The same by steps. All but packet_bytes_max is decided, the cipher for this CPU. */
int roster_decide(struct roster_terms *terms, const struct launch_request *request);
/* What packets may be on a path that takes path_bytes. */
int roster_decide_packets(struct roster_terms *terms, const struct launch_request *request,
                          uint32_t path_bytes, bool is_v6);
/* Whether nodes of these sizes can be mapped here. */
int roster_check_room(const char *command, uint32_t node_count, const struct group_sizes *sizes);
int roster_open(struct roster *roster, const char *command, uint32_t node_count,
                uint32_t rank_first, uint32_t rank_count);
/* Sockets at that address and, unless it is 0, these ports, counted from node 0's. The nodes'
 * addresses are then in the roster. */
int roster_bind(struct roster *roster, const char *command, const union udp_address *host,
                uint16_t port, uint16_t relay_port);
/* With all addresses in it. */
int roster_seal(struct roster *roster, const char *command, const struct roster_terms *terms);

/* The process has its socket; this one's is closed, so that the port is free when the node
 * ends. Nothing where there are no sockets. */
void roster_hand_over(struct roster *roster, uint32_t index);

void roster_release(struct roster *roster);

#endif
