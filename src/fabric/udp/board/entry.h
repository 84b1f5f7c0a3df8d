/* A program's way onto a board: what a launcher asks, and what it holds while it is there. */
#ifndef FABRIC_UDP_BOARD_ENTRY_H
#define FABRIC_UDP_BOARD_ENTRY_H

#include "fabric/launch.h"
#include "fabric/udp/board/filter.h"
#include "fabric/udp/roster.h"

struct udp_board_entry {
    int control_fd; /* the program is on the board as long as it is open; -1: it is not */
    /* All of the board's: their numbers stay the same while one process has all open. */
    int sockets[UDP_BOARD_SOCKETS];
    union udp_address address;
    uint32_t count;
    uint32_t users[UDP_BOARD_USERS]; /* the program's own, in rank order */
};

/* All of these give 0, or a negative DN_E... and a sentence, within seconds. */

/* Enters the board at the address with so many users. */
int udp_board_enter(const union udp_address *address, uint32_t count, struct udp_board_entry *entry,
                    char *sentence);
/* From now on packets of this group reach the users, which have these ranks. */
int udp_board_claim(struct udp_board_entry *entry, uint32_t pgid, uint32_t rank_first,
                    char *sentence);
/* A descriptor of a user's socket, for the caller to close. */
int udp_board_socket(const struct udp_board_entry *entry, uint32_t index, int *fd, char *sentence);
/* Leaves the board. Does nothing for an entry that is not open. */
void udp_board_leave(struct udp_board_entry *entry);

/* Who is on the board, and what came for nobody. */
int udp_board_look(const union udp_address *address, struct udp_board_answer *answer,
                   char *sentence);

#endif
