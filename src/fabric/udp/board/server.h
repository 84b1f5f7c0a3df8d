/* A board: the sockets of its port, the filter before them, and the control socket by which
 * programs enter. It is driven by one thread, and allocates nothing.
 *
 * The control socket has a name without a file, in the network namespace, where the port is, too:
 * so nothing remains of a board that was killed. Each end checks that the other is the same user's.
 *
 * A program that enters gets all of the board's sockets and keeps them open as long as it runs.
 * So the sockets keep their numbers, and the filter stays true, when the board dies before it. */
#ifndef FABRIC_UDP_BOARD_SERVER_H
#define FABRIC_UDP_BOARD_SERVER_H

#include <sys/un.h>

#include "fabric/launch.h"
#include "fabric/udp/board/filter.h"
#include "fabric/udp/roster.h"

/* More than there are users: others look, and one that is not wanted is told so. */
enum { UDP_BOARD_CONNECTIONS = UDP_BOARD_USERS + 16 };

struct udp_board_connection {
    int fd;           /* -1: none */
    uint32_t program; /* its number, never used twice */
    uint32_t process;
    bool has_entered;
};

struct udp_board {
    union udp_address address;
    int control_fd;
    int sockets[UDP_BOARD_SOCKETS];
    struct udp_board_users users;
    struct udp_board_connection connections[UDP_BOARD_CONNECTIONS];
    uint32_t programs; /* connections so far */
    uint32_t entered;  /* programs that entered so far */
};

/* Opens a board at the address; port 0: any. 0, or a negative DN_E... and a sentence. */
int udp_board_open(struct udp_board *board, const union udp_address *wanted, char *sentence);
void udp_board_close(struct udp_board *board);

/* Serves programs until the descriptor can be read. DN_ESYSTEM and errno. */
int udp_board_serve(struct udp_board *board, int stop_fd);

/* How many programs are on it now. */
uint32_t udp_board_program_count(const struct udp_board *board);

/* The control socket's name, for both ends; gives the length for bind and connect. */
socklen_t udp_board_name(const union udp_address *address, struct sockaddr_un *name);

/* Whether the other end of a connection is of this user; and which process it is, if wanted. */
bool udp_board_peer_is_ours(int fd, uint32_t *process);

#endif
