/* Who uses a board, without I/O: which program has which users, and what it has claimed for them.
 *
 * A user is FREE, then ENTERED by a program, then CLAIMED as a rank of that program's group; when
 * the program leaves, it is FREE again. A program is all in one state. PGIDs of programs differ. */
#ifndef FABRIC_UDP_BOARD_USERS_H
#define FABRIC_UDP_BOARD_USERS_H

#include "fabric/udp/board/words.h"

enum udp_board_state { UDP_BOARD_FREE, UDP_BOARD_ENTERED, UDP_BOARD_CLAIMED };

struct udp_board_user {
    enum udp_board_state state;
    uint32_t program;
    uint32_t process;
    uint32_t pgid;
    uint16_t rank;
};

struct udp_board_users {
    struct udp_board_user users[UDP_BOARD_USERS];
    /* The free ones, who was freed longest ago first: a node of a launcher that was killed may
     * live a moment longer than its program, and read what comes for the socket's next user. */
    uint8_t free[UDP_BOARD_USERS];
    uint32_t free_count;
    uint64_t strays[UDP_BOARD_STRAYS];
};

void udp_board_users_init(struct udp_board_users *users);

/* What a program, known by its number, is answered. Changes nothing unless the verdict is YES. */
void udp_board_users_answer(struct udp_board_users *users, uint32_t program, uint32_t process,
                            const struct udp_board_request *request,
                            struct udp_board_answer *answer);

/* The program's users are free; gives a bit for each. */
uint64_t udp_board_users_leave(struct udp_board_users *users, uint32_t program);

/* Counts a packet that no user had claimed. */
void udp_board_users_stray(struct udp_board_users *users, const unsigned char *packet,
                           uint32_t bytes);

#endif
