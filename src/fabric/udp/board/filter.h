/* The filter by which the kernel gives each packet that comes to a board's port to the socket of
 * the user it is meant for: what Martini's receive logic does by the packet's PGID and process. It
 * is a classic BPF program of the sockets that share the port (SO_ATTACH_REUSEPORT_CBPF), needs no
 * privilege, and sees the bytes of the packet. It gives a socket's number, which counts the sockets
 * in the order in which they were bound. Number 0 is the board's own and gets what nobody has
 * claimed: other PGIDs, other targets, other versions, and what is too short to tell. */
#ifndef FABRIC_UDP_BOARD_FILTER_H
#define FABRIC_UDP_BOARD_FILTER_H

#include <linux/filter.h>

#include "fabric/udp/board/users.h"

enum {
    UDP_BOARD_SOCKETS = 1 + UDP_BOARD_USERS,
    /* Version and PGID, three steps for a program, two for a user, and the end. */
    UDP_BOARD_FILTER_STEPS_MAX = 4 + 3 * UDP_BOARD_USERS + 2 * UDP_BOARD_USERS + 1,
};

static inline uint32_t udp_board_socket_of(uint32_t user)
{
    return 1 + user;
}

/* Gives how many steps it has. */
uint16_t udp_board_filter_make(const struct udp_board_users *users,
                               struct sock_filter steps[UDP_BOARD_FILTER_STEPS_MAX]);

/* Makes it the filter of the port of this socket, in the place of the one before. DN_ESYSTEM and
 * errno. */
int udp_board_filter_attach(int fd, const struct udp_board_users *users);

#endif
