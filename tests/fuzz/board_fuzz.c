/* Any bytes as what programs say to a board, and what a board says to a program. A byte chooses a
 * program and whether it leaves; the request's bytes follow. Whatever is said, each user has one
 * program, and each PGID, too; and the filter of such users has its bounds. */
#include "fabric/udp/board/filter.h"
#include "fabric/udp/board/users.h"
#include "fuzz.h"

enum { PROGRAMS = 8, STEP_BYTES = 1 + UDP_BOARD_REQUEST_BYTES };

static void check_users(const struct udp_board_users *users)
{
    uint64_t is_free = 0;
    FUZZ_ASSERT(users->free_count <= UDP_BOARD_USERS);
    for (uint32_t i = 0; i < users->free_count; i++) {
        FUZZ_ASSERT(users->free[i] < UDP_BOARD_USERS && (is_free >> users->free[i] & 1) == 0);
        is_free |= UINT64_C(1) << users->free[i];
    }
    for (uint32_t i = 0; i < UDP_BOARD_USERS; i++) {
        const struct udp_board_user *one = &users->users[i];
        FUZZ_ASSERT((one->state == UDP_BOARD_FREE) == (is_free >> i & 1));
        for (uint32_t j = 0; j < i && one->state == UDP_BOARD_CLAIMED; j++) {
            const struct udp_board_user *other = &users->users[j];
            bool is_claimed = other->state == UDP_BOARD_CLAIMED;
            FUZZ_ASSERT(!is_claimed ||
                        (one->pgid == other->pgid) == (one->program == other->program));
            FUZZ_ASSERT(!is_claimed || one->pgid != other->pgid || one->rank != other->rank);
        }
    }
}

/* Every way through the filter ends inside it, at a socket of the board. */
static void check_filter(const struct udp_board_users *users)
{
    struct sock_filter steps[UDP_BOARD_FILTER_STEPS_MAX];
    uint32_t count = udp_board_filter_make(users, steps);
    FUZZ_ASSERT(count <= UDP_BOARD_FILTER_STEPS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        bool is_jump = BPF_CLASS(steps[i].code) == BPF_JMP;
        FUZZ_ASSERT(!is_jump || (i + 1 + steps[i].jt < count && i + 1 + steps[i].jf < count));
        FUZZ_ASSERT(BPF_CLASS(steps[i].code) != BPF_RET || steps[i].k < UDP_BOARD_SOCKETS);
    }
    FUZZ_ASSERT(BPF_CLASS(steps[count - 1].code) == BPF_RET);
}

static void try_request(struct udp_board_users *users, uint32_t program, const unsigned char *bytes,
                        size_t length)
{
    struct udp_board_request request;
    struct udp_board_answer answer;
    struct udp_board_answer read;
    unsigned char again[UDP_BOARD_REQUEST_BYTES];
    unsigned char told[UDP_BOARD_ANSWER_BYTES];
    if (!udp_board_request_take(bytes, length, &request)) {
        return;
    }
    udp_board_request_put(&request, again);
    FUZZ_ASSERT(memcmp(again, bytes, length) == 0);
    udp_board_users_answer(users, program, program, &request, &answer);
    udp_board_answer_put(&answer, told);
    FUZZ_ASSERT(udp_board_answer_take(told, sizeof told, &read));
    FUZZ_ASSERT(memcmp(&read, &answer, sizeof read) == 0);
}

static void try_answer(const unsigned char *bytes, size_t length)
{
    struct udp_board_answer answer;
    unsigned char again[UDP_BOARD_ANSWER_BYTES];
    if (udp_board_answer_take(bytes, length, &answer)) {
        udp_board_answer_put(&answer, again);
        FUZZ_ASSERT(memcmp(again, bytes, length) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *copy = fuzz_copy(data, bytes);
    struct udp_board_users users;
    udp_board_users_init(&users);
    try_answer(copy, bytes);
    for (size_t at = 0; at < bytes; at += STEP_BYTES) {
        uint32_t program = copy[at] % PROGRAMS;
        size_t rest = bytes - at - 1;
        if (copy[at] >= 0x80) {
            (void)udp_board_users_leave(&users, program);
        } else {
            try_request(&users, program, copy + at + 1,
                        rest < UDP_BOARD_REQUEST_BYTES ? rest : UDP_BOARD_REQUEST_BYTES);
        }
        udp_board_users_stray(&users, copy + at, (uint32_t)(bytes - at));
        check_users(&users);
        check_filter(&users);
    }
    free(copy);
    return 0;
}
