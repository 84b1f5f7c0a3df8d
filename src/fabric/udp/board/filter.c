/* The filter, step by step. */
#define _GNU_SOURCE
#include "fabric/udp/board/filter.h"

#include <sys/socket.h>

#include "dimmnet.h"
#include "wire/packet.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF /* since Linux 4.5 */
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

/* BPF reads numbers with their highest byte first; packets have them the other way round. */
static uint32_t as_read_16(uint16_t value)
{
    return __builtin_bswap16(value);
}

static uint32_t as_read_32(uint32_t value)
{
    return __builtin_bswap32(value);
}

struct writing {
    struct sock_filter *steps;
    uint16_t count;
};

static void step(struct writing *to, uint16_t code, uint32_t value)
{
    INVARIANT(to->count < UDP_BOARD_FILTER_STEPS_MAX);
    to->steps[to->count++] = (struct sock_filter)BPF_STMT(code, value);
}

/* Passes over so many steps if the last number read is this one, and so many if it is not. */
static void branch(struct writing *to, uint32_t value, uint32_t over_if, uint32_t over_else)
{
    INVARIANT(to->count < UDP_BOARD_FILTER_STEPS_MAX);
    INVARIANT(over_if <= UINT8_MAX && over_else <= UINT8_MAX);
    to->steps[to->count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value,
                                                          (uint8_t)over_if, (uint8_t)over_else);
}

static bool is_of(const struct udp_board_user *user, const struct udp_board_user *other)
{
    return user->state == UDP_BOARD_CLAIMED && user->pgid == other->pgid;
}

/* One program's users. A packet of its group ends here. */
static void write_program(struct writing *to, const struct udp_board_users *users, uint32_t first)
{
    const struct udp_board_user *one = &users->users[first];
    uint32_t count = 0;
    for (uint32_t user = first; user < UDP_BOARD_USERS; user++) {
        count += is_of(&users->users[user], one);
    }
    branch(to, as_read_32(one->pgid), 0, 1 + 2 * count + 1);
    step(to, BPF_LD | BPF_H | BPF_ABS, WIRE_AT_TARGET);
    for (uint32_t user = first; user < UDP_BOARD_USERS; user++) {
        if (is_of(&users->users[user], one)) {
            branch(to, as_read_16(users->users[user].rank), 0, 1);
            step(to, BPF_RET | BPF_K, udp_board_socket_of(user));
        }
    }
    step(to, BPF_RET | BPF_K, 0);
}

/* A look behind the packet's end makes the filter give 0 by itself. */
uint16_t udp_board_filter_make(const struct udp_board_users *users,
                               struct sock_filter steps[UDP_BOARD_FILTER_STEPS_MAX])
{
    struct writing to = {.steps = steps};
    step(&to, BPF_LD | BPF_B | BPF_ABS, WIRE_AT_VERSION);
    branch(&to, WIRE_VERSION, 1, 0);
    step(&to, BPF_RET | BPF_K, 0);
    step(&to, BPF_LD | BPF_W | BPF_ABS, WIRE_AT_PGID);
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        bool is_first = users->users[user].state == UDP_BOARD_CLAIMED;
        for (uint32_t before = 0; before < user && is_first; before++) {
            is_first = !is_of(&users->users[before], &users->users[user]);
        }
        if (is_first) {
            write_program(&to, users, user);
        }
    }
    step(&to, BPF_RET | BPF_K, 0);
    return to.count;
}

int udp_board_filter_attach(int fd, const struct udp_board_users *users)
{
    struct sock_filter steps[UDP_BOARD_FILTER_STEPS_MAX];
    struct sock_fprog program = {.filter = steps};
    program.len = udp_board_filter_make(users, steps);
    int status = setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
    return status == 0 ? 0 : DN_ESYSTEM;
}
