/* Requests and answers to bytes and back. What has no meaning is 0, and nothing else is taken. */
#include "fabric/udp/board/words.h"

#include <string.h>

#include "wire/packet.h"

enum { ANSWER_AT_STRAYS = 16, ANSWER_AT_SEATS = ANSWER_AT_STRAYS + 8 * UDP_BOARD_STRAYS };
enum { SEAT_BYTES = 16 };
_Static_assert(ANSWER_AT_SEATS + UDP_BOARD_USERS * SEAT_BYTES == UDP_BOARD_ANSWER_BYTES, "it fits");
_Static_assert((int)UDP_BOARD_NO_RANK >= (int)WIRE_NODES_MAX, "no node has this number");

/* ---- Requests ------------------------------------------------------------------------ */

void udp_board_request_put(const struct udp_board_request *request,
                           unsigned char to[UDP_BOARD_REQUEST_BYTES])
{
    bool is_claim = request->kind == UDP_BOARD_CLAIM;
    wire_put32(to, UDP_BOARD_VERSION);
    wire_put32(to + 4, request->kind);
    wire_put32(to + 8, is_claim ? request->pgid : request->count);
    wire_put32(to + 12, is_claim ? request->rank_first : 0);
}

bool udp_board_request_take(const unsigned char *from, size_t bytes,
                            struct udp_board_request *request)
{
    if (bytes != UDP_BOARD_REQUEST_BYTES || wire_get32(from) != UDP_BOARD_VERSION) {
        return false;
    }
    uint32_t first = wire_get32(from + 8);
    uint32_t second = wire_get32(from + 12);
    switch (wire_get32(from + 4)) {
    case UDP_BOARD_ENTER:
        *request = (struct udp_board_request){.kind = UDP_BOARD_ENTER, .count = first};
        return first >= 1 && first <= UDP_BOARD_USERS && second == 0;
    case UDP_BOARD_CLAIM:
        *request = (struct udp_board_request){
            .kind = UDP_BOARD_CLAIM, .pgid = first, .rank_first = (uint16_t)second};
        return second < WIRE_NODES_MAX;
    case UDP_BOARD_LOOK:
        *request = (struct udp_board_request){.kind = UDP_BOARD_LOOK};
        return first == 0 && second == 0;
    default: return false;
    }
}

/* ---- Answers ------------------------------------------------------------------------- */

static uint32_t count_seats(const struct udp_board_answer *answer)
{
    return answer->verdict == UDP_BOARD_FULL ? 0 : answer->count;
}

void udp_board_answer_put(const struct udp_board_answer *answer,
                          unsigned char to[UDP_BOARD_ANSWER_BYTES])
{
    INVARIANT(answer->count <= UDP_BOARD_USERS);
    memset(to, 0, UDP_BOARD_ANSWER_BYTES);
    wire_put32(to, UDP_BOARD_VERSION);
    wire_put32(to + 4, answer->verdict);
    wire_put32(to + 8, answer->count);
    for (uint32_t i = 0; i < UDP_BOARD_STRAYS; i++) {
        wire_put64(to + ANSWER_AT_STRAYS + 8 * (size_t)i, answer->strays[i]);
    }
    for (uint32_t i = 0; i < count_seats(answer); i++) {
        const struct udp_board_seat *seat = &answer->seats[i];
        unsigned char *at = to + ANSWER_AT_SEATS + SEAT_BYTES * (size_t)i;
        wire_put32(at, seat->user);
        wire_put32(at + 4, seat->process);
        wire_put32(at + 8, seat->pgid);
        wire_put32(at + 12, seat->rank);
    }
}

bool udp_board_answer_take(const unsigned char *from, size_t bytes, struct udp_board_answer *answer)
{
    if (bytes != UDP_BOARD_ANSWER_BYTES || wire_get32(from) != UDP_BOARD_VERSION ||
        wire_get32(from + 4) > UDP_BOARD_FAULT || wire_get32(from + 8) > UDP_BOARD_USERS) {
        return false;
    }
    struct udp_board_answer read = {
        .verdict = (enum udp_board_verdict)wire_get32(from + 4),
        .count = wire_get32(from + 8),
    };
    uint64_t seen = 0; /* a bit for each user */
    for (uint32_t i = 0; i < UDP_BOARD_STRAYS; i++) {
        read.strays[i] = wire_get64(from + ANSWER_AT_STRAYS + 8 * (size_t)i);
    }
    for (uint32_t i = 0; i < count_seats(&read); i++) {
        const unsigned char *at = from + ANSWER_AT_SEATS + SEAT_BYTES * (size_t)i;
        struct udp_board_seat seat = {wire_get32(at), wire_get32(at + 4), wire_get32(at + 8),
                                      wire_get32(at + 12)};
        if (seat.user >= UDP_BOARD_USERS || (seen >> seat.user & 1) != 0 ||
            (seat.rank >= WIRE_NODES_MAX && (seat.rank != UDP_BOARD_NO_RANK || seat.pgid != 0))) {
            return false;
        }
        seen |= UINT64_C(1) << seat.user;
        read.seats[i] = seat;
    }
    unsigned char again[UDP_BOARD_ANSWER_BYTES];
    udp_board_answer_put(&read, again);
    if (memcmp(again, from, sizeof again) != 0) {
        return false; /* it says something where nothing is meant */
    }
    *answer = read;
    return true;
}
