/* The table of users. */
#include "fabric/udp/board/users.h"

#include <string.h>

#include "wire/packet.h"

void udp_board_users_init(struct udp_board_users *users)
{
    memset(users, 0, sizeof *users);
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        users->free[users->free_count++] = (uint8_t)user;
    }
}

/* How many users the program has in this state. */
static uint32_t count_of(const struct udp_board_users *users, uint32_t program,
                         enum udp_board_state state)
{
    uint32_t count = 0;
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        const struct udp_board_user *one = &users->users[user];
        count += one->state == state && one->program == program;
    }
    return count;
}

static bool has_pgid(const struct udp_board_users *users, uint32_t pgid)
{
    bool found = false;
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        const struct udp_board_user *one = &users->users[user];
        found = found || (one->state == UDP_BOARD_CLAIMED && one->pgid == pgid);
    }
    return found;
}

static void tell(const struct udp_board_users *users, uint32_t user,
                 struct udp_board_answer *answer)
{
    const struct udp_board_user *one = &users->users[user];
    bool is_claimed = one->state == UDP_BOARD_CLAIMED;
    answer->seats[answer->count++] = (struct udp_board_seat){
        .user = user,
        .process = one->process,
        .pgid = is_claimed ? one->pgid : 0,
        .rank = is_claimed ? one->rank : UDP_BOARD_NO_RANK,
    };
}

static enum udp_board_verdict enter(struct udp_board_users *users, uint32_t program,
                                    uint32_t process, uint32_t count,
                                    struct udp_board_answer *answer)
{
    if (count_of(users, program, UDP_BOARD_ENTERED) != 0 ||
        count_of(users, program, UDP_BOARD_CLAIMED) != 0) {
        return UDP_BOARD_DISORDER;
    }
    if (count > users->free_count) {
        answer->count = users->free_count;
        return UDP_BOARD_FULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t user = users->free[i];
        users->users[user] = (struct udp_board_user){.state = UDP_BOARD_ENTERED,
                                                     .program = program,
                                                     .process = process,
                                                     .rank = (uint16_t)i};
        tell(users, user, answer);
    }
    users->free_count -= count;
    memmove(users->free, users->free + count, users->free_count);
    return UDP_BOARD_YES;
}

static enum udp_board_verdict claim(struct udp_board_users *users, uint32_t program, uint32_t pgid,
                                    uint32_t rank_first)
{
    uint32_t count = count_of(users, program, UDP_BOARD_ENTERED);
    if (count == 0 || rank_first + count > WIRE_NODES_MAX) {
        return UDP_BOARD_DISORDER;
    }
    if (has_pgid(users, pgid)) {
        return UDP_BOARD_TAKEN;
    }
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        struct udp_board_user *one = &users->users[user];
        if (one->state == UDP_BOARD_ENTERED && one->program == program) {
            one->state = UDP_BOARD_CLAIMED;
            one->pgid = pgid;
            one->rank = (uint16_t)(one->rank + rank_first); /* it held its place until now */
        }
    }
    return UDP_BOARD_YES;
}

static enum udp_board_verdict look(const struct udp_board_users *users,
                                   struct udp_board_answer *answer)
{
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        if (users->users[user].state != UDP_BOARD_FREE) {
            tell(users, user, answer);
        }
    }
    memcpy(answer->strays, users->strays, sizeof answer->strays);
    return UDP_BOARD_YES;
}

void udp_board_users_answer(struct udp_board_users *users, uint32_t program, uint32_t process,
                            const struct udp_board_request *request,
                            struct udp_board_answer *answer)
{
    *answer = (struct udp_board_answer){.verdict = UDP_BOARD_DISORDER};
    switch (request->kind) {
    case UDP_BOARD_ENTER:
        answer->verdict = enter(users, program, process, request->count, answer);
        break;
    case UDP_BOARD_CLAIM:
        answer->verdict = claim(users, program, request->pgid, request->rank_first);
        break;
    case UDP_BOARD_LOOK: answer->verdict = look(users, answer); break;
    }
}

uint64_t udp_board_users_leave(struct udp_board_users *users, uint32_t program)
{
    uint64_t freed = 0;
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        struct udp_board_user *one = &users->users[user];
        if (one->state != UDP_BOARD_FREE && one->program == program) {
            *one = (struct udp_board_user){.state = UDP_BOARD_FREE};
            users->free[users->free_count++] = (uint8_t)user;
            freed |= UINT64_C(1) << user;
        }
    }
    return freed;
}

void udp_board_users_stray(struct udp_board_users *users, const unsigned char *packet,
                           uint32_t bytes)
{
    struct wire_header header;
    enum udp_board_stray kind = UDP_BOARD_MALFORMED;
    if (wire_header_decode(packet, bytes, &header)) {
        kind = has_pgid(users, header.pgid) ? UDP_BOARD_NO_TARGET : UDP_BOARD_NO_GROUP;
    }
    users->strays[kind]++;
}
