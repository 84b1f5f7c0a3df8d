/* What programs and a board say to each other, as bytes.
 *
 * A board is one UDP port that several programs share. A program is one launcher's or agent's part
 * of a group; each of its nodes is a user of the board. It asks by requests of one size, and gets
 * one answer of one size to each:
 *
 *     ENTER count             gives that many users' numbers, and all sockets of the board
 *     CLAIM pgid rank_first   from now on packets of this group reach these users, in rank order
 *     LOOK                    gives all users, and counts what came for nobody
 *
 * A program's users are its own until the connection ends. All numbers are little endian. */
#ifndef FABRIC_UDP_BOARD_WORDS_H
#define FABRIC_UDP_BOARD_WORDS_H

#include "base/base.h"

enum {
    UDP_BOARD_VERSION = 1,
    UDP_BOARD_USERS = 64, /* as Martini has */
    UDP_BOARD_REQUEST_BYTES = 4 * 4,
    UDP_BOARD_ANSWER_BYTES = 4 * 4 + 3 * 8 + UDP_BOARD_USERS * 4 * 4,
    UDP_BOARD_NO_RANK = UINT16_MAX,
};

enum udp_board_kind { UDP_BOARD_ENTER = 1, UDP_BOARD_CLAIM = 2, UDP_BOARD_LOOK = 3 };

struct udp_board_request {
    enum udp_board_kind kind;
    uint32_t count;      /* ENTER: 1..UDP_BOARD_USERS */
    uint32_t pgid;       /* CLAIM */
    uint16_t rank_first; /* CLAIM: a node's number */
};

enum udp_board_verdict {
    UDP_BOARD_YES = 0,
    UDP_BOARD_FULL = 1,     /* `count` users are free, and these are too few */
    UDP_BOARD_TAKEN = 2,    /* another program has this PGID */
    UDP_BOARD_DISORDER = 3, /* a program enters once, and then claims once */
    UDP_BOARD_FAULT = 4,    /* the board's kernel refused */
};

/* Packets that no user has claimed. */
enum udp_board_stray { UDP_BOARD_MALFORMED, UDP_BOARD_NO_GROUP, UDP_BOARD_NO_TARGET };
enum { UDP_BOARD_STRAYS = 3 };

struct udp_board_seat {
    uint32_t user;    /* below UDP_BOARD_USERS; its socket is the one after the board's own */
    uint32_t process; /* of the program, when it connected; 0: outside this board's view */
    uint32_t pgid;    /* 0 before it is claimed */
    uint32_t rank;    /* UDP_BOARD_NO_RANK before it is claimed */
};

struct udp_board_answer {
    enum udp_board_verdict verdict;
    uint32_t count; /* of seats; FULL: of users that are free, and there are no seats */
    uint64_t strays[UDP_BOARD_STRAYS];
    struct udp_board_seat seats[UDP_BOARD_USERS]; /* ENTER: the program's own, in rank order */
};

void udp_board_request_put(const struct udp_board_request *request,
                           unsigned char to[UDP_BOARD_REQUEST_BYTES]);
/* False: not a request of this version, or a field out of range. */
bool udp_board_request_take(const unsigned char *from, size_t bytes,
                            struct udp_board_request *request);

void udp_board_answer_put(const struct udp_board_answer *answer,
                          unsigned char to[UDP_BOARD_ANSWER_BYTES]);
/* False: not an answer of this version, a field out of range, or a user twice. */
bool udp_board_answer_take(const unsigned char *from, size_t bytes,
                           struct udp_board_answer *answer);

#endif
