/* A board on the loopback: which socket the kernel gives a packet to, and a board in a thread of
 * its own with programs that enter, leave, and say nonsense. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fabric/udp/board/entry.h"
#include "fabric/udp/board/server.h"
#include "fabric/udp/socket.h"
#include "wire/packet.h"

static const union udp_address loopback = {
    .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK)}};
static char sentence[FABRIC_SENTENCE_BYTES];

/* ---- Packets ------------------------------------------------------------------------- */

static uint32_t make_packet(uint32_t pgid, uint16_t target, uint32_t mark, unsigned char *packet)
{
    struct wire_header header = {
        .kind = WIRE_CONTROL, .target = target, .pgid = pgid, .source_incarnation = 1 + mark};
    memset(packet, 0, WIRE_OVERHEAD_BYTES);
    wire_header_encode(&header, packet);
    return WIRE_OVERHEAD_BYTES;
}

static void send_bytes(const union udp_address *to, const void *bytes, size_t count)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(sendto(fd, bytes, count, 0, &to->any, udp_address_bytes(to)), count);
    (void)close(fd);
}

static void send_packet(const union udp_address *to, uint32_t pgid, uint16_t target, uint32_t mark)
{
    unsigned char packet[WIRE_OVERHEAD_BYTES];
    send_bytes(to, packet, make_packet(pgid, target, mark, packet));
}

/* The mark of the next packet in the socket; -1: there is none. Loopback delivers within the call
 * that sends. */
static int64_t receive(int fd)
{
    unsigned char packet[WIRE_OVERHEAD_BYTES];
    struct wire_header header;
    ssize_t bytes = recv(fd, packet, sizeof packet, MSG_DONTWAIT);
    if (bytes < 0) {
        return -1;
    }
    assert_true(wire_header_decode(packet, (uint32_t)bytes, &header));
    return header.source_incarnation - 1;
}

/* ---- The filter ---------------------------------------------------------------------- */

static struct udp_board_users users;

static void enter(uint32_t program, uint32_t count, uint32_t pgid, uint16_t rank_first)
{
    struct udp_board_request request = {.kind = UDP_BOARD_ENTER, .count = count};
    struct udp_board_answer answer;
    udp_board_users_answer(&users, program, 1, &request, &answer);
    assert_int_equal(answer.verdict, UDP_BOARD_YES);
    request = (struct udp_board_request){
        .kind = UDP_BOARD_CLAIM, .pgid = pgid, .rank_first = rank_first};
    udp_board_users_answer(&users, program, 1, &request, &answer);
    assert_int_equal(answer.verdict, UDP_BOARD_YES);
}

/* The socket that gets a packet, and only this one. */
static int64_t socket_of(const int *sockets, const union udp_address *at, uint32_t pgid,
                         uint16_t target)
{
    static uint32_t mark;
    int64_t found = -1;
    send_packet(at, pgid, target, ++mark);
    for (uint32_t i = 0; i < UDP_BOARD_SOCKETS; i++) {
        int64_t got = receive(sockets[i]);
        if (got >= 0) {
            assert_int_equal(got, mark);
            assert_int_equal(found, -1);
            found = i;
        }
    }
    return found;
}

static void packets_reach_the_user_that_they_name(void **state)
{
    (void)state;
    static const uint32_t pgids[] = {0, 1, 0x01000000, 0xfeedface, UINT32_MAX};
    enum { PROGRAMS = 5, NODES = 12 };
    int sockets[UDP_BOARD_SOCKETS];
    union udp_address at;
    assert_int_equal(udp_socket_bind_shared(&loopback, &at, sockets, UDP_BOARD_SOCKETS), 0);
    udp_board_users_init(&users);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        enter(i, NODES, pgids[i], (uint16_t)(i * 0x3000));
    }
    assert_int_equal(udp_board_filter_attach(sockets[0], &users), 0);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        for (uint32_t node = 0; node < NODES; node++) {
            uint16_t rank = (uint16_t)(i * 0x3000 + node);
            assert_int_equal(socket_of(sockets, &at, pgids[i], rank),
                             udp_board_socket_of(i * NODES + node));
        }
        assert_int_equal(socket_of(sockets, &at, pgids[i], (uint16_t)(i * 0x3000 + NODES)), 0);
        /* Another group's rank. */
        assert_int_equal(socket_of(sockets, &at, pgids[i], (uint16_t)((i + 1) % 5 * 0x3000)), 0);
    }
    assert_int_equal(socket_of(sockets, &at, 0xcefaedfe, 0), 0); /* bytes the other way round */
    /* One leaves: its packets go to the board, and the others' to where they went. */
    (void)udp_board_users_leave(&users, 1);
    assert_int_equal(udp_board_filter_attach(sockets[0], &users), 0);
    assert_int_equal(socket_of(sockets, &at, pgids[1], 0x3000), 0);
    assert_int_equal(socket_of(sockets, &at, pgids[4], 4 * 0x3000), udp_board_socket_of(4 * NODES));
    for (uint32_t i = 0; i < UDP_BOARD_SOCKETS; i++) {
        (void)close(sockets[i]);
    }
}

static void the_longest_filter_is_taken(void **state)
{
    (void)state;
    int sockets[UDP_BOARD_SOCKETS];
    union udp_address at;
    struct sock_filter steps[UDP_BOARD_FILTER_STEPS_MAX];
    assert_int_equal(udp_socket_bind_shared(&loopback, &at, sockets, UDP_BOARD_SOCKETS), 0);
    udp_board_users_init(&users);
    for (uint32_t i = 0; i < UDP_BOARD_USERS; i++) {
        enter(i, 1, 7000 + i, (uint16_t)i);
    }
    assert_int_equal(udp_board_filter_make(&users, steps), UDP_BOARD_FILTER_STEPS_MAX);
    assert_int_equal(udp_board_filter_attach(sockets[0], &users), 0);
    for (uint32_t i = 0; i < UDP_BOARD_USERS; i++) {
        assert_int_equal(socket_of(sockets, &at, 7000 + i, (uint16_t)i), udp_board_socket_of(i));
    }
    for (uint32_t i = 0; i < UDP_BOARD_SOCKETS; i++) {
        (void)close(sockets[i]);
    }
}

static void malformed_packets_reach_the_board_alone(void **state)
{
    (void)state;
    int sockets[UDP_BOARD_SOCKETS];
    union udp_address at;
    unsigned char packet[WIRE_OVERHEAD_BYTES];
    assert_int_equal(udp_socket_bind_shared(&loopback, &at, sockets, UDP_BOARD_SOCKETS), 0);
    udp_board_users_init(&users);
    enter(1, 1, 0, 0); /* what is not there must not count as 0 */
    assert_int_equal(udp_board_filter_attach(sockets[0], &users), 0);
    (void)make_packet(0, 0, 0, packet);
    for (uint32_t length = 0; length < WIRE_AT_PGID + 4; length++) {
        send_bytes(&at, packet, length);
    }
    packet[WIRE_AT_VERSION]++;
    send_bytes(&at, packet, sizeof packet);
    for (uint32_t i = 1; i < UDP_BOARD_SOCKETS; i++) {
        assert_int_equal(recv(sockets[i], packet, sizeof packet, MSG_DONTWAIT), -1);
    }
    for (uint32_t i = 0; i < WIRE_AT_PGID + 4 + 1; i++) {
        assert_true(recv(sockets[0], packet, sizeof packet, MSG_DONTWAIT) >= 0);
    }
    for (uint32_t i = 0; i < UDP_BOARD_SOCKETS; i++) {
        (void)close(sockets[i]);
    }
}

/* A port that another board has, or a socket that would share, is not joined. */
static void a_board_joins_nobody(void **state)
{
    (void)state;
    int sockets[2];
    int more[2];
    union udp_address at;
    union udp_address there;
    assert_int_equal(udp_socket_bind_shared(&loopback, &at, sockets, 2), 0);
    assert_int_equal(udp_socket_bind_shared(&at, &there, more, 2), DN_ESYSTEM);
    assert_int_equal(errno, EADDRINUSE);
    (void)close(sockets[0]);
    assert_int_equal(udp_socket_bind_shared(&at, &there, more, 2), DN_ESYSTEM);
    (void)close(sockets[1]);
    assert_int_equal(udp_socket_bind_shared(&at, &there, more, 2), 0);
    (void)close(more[0]);
    (void)close(more[1]);
}

/* ---- A board that serves ------------------------------------------------------------- */

static struct udp_board board;
static int stop_fd;
static pthread_t server;

static void *serve(void *context)
{
    (void)context;
    unit_expect(udp_board_serve(&board, stop_fd) == 0);
    return NULL;
}

static int open_board(void **state)
{
    (void)state;
    sentence[0] = '\0';
    stop_fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(udp_board_open(&board, &loopback, sentence), 0);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    return 0;
}

static void stop_board(void)
{
    assert_int_equal(eventfd_write(stop_fd, 1), 0);
    assert_int_equal(pthread_join(server, NULL), 0);
    assert_int_equal(unit_faults, 0);
    (void)close(stop_fd);
    udp_board_close(&board);
}

static int close_board(void **state)
{
    (void)state;
    stop_board();
    return 0;
}

/* A program that has entered, and descriptors of its users' sockets. */
struct program {
    struct udp_board_entry entry;
    int sockets[UDP_BOARD_USERS];
};

static void program_enter(struct program *program, uint32_t count, uint32_t pgid,
                          uint32_t rank_first)
{
    assert_int_equal(udp_board_enter(&board.address, count, &program->entry, sentence), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(udp_board_socket(&program->entry, i, &program->sockets[i], sentence), 0);
    }
    assert_int_equal(udp_board_claim(&program->entry, pgid, rank_first, sentence), 0);
}

static void program_leave(struct program *program)
{
    for (uint32_t i = 0; i < program->entry.count; i++) {
        (void)close(program->sockets[i]);
    }
    udp_board_leave(&program->entry);
}

/* The board hears of a departure by itself. */
static void wait_for_users(uint32_t count)
{
    struct udp_board_answer answer = {.count = UINT32_MAX};
    while (answer.count != count) {
        assert_int_equal(udp_board_look(&board.address, &answer, sentence), 0);
    }
}

static void programs_get_their_own_packets(void **state)
{
    (void)state;
    struct program one;
    struct program other;
    program_enter(&one, 2, 111, 0);
    program_enter(&other, 3, 222, 5);
    for (uint32_t i = 0; i < 2; i++) {
        send_packet(&board.address, 111, (uint16_t)i, 10 + i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        send_packet(&board.address, 222, (uint16_t)(5 + i), 20 + i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(receive(one.sockets[i]), 10 + i);
        assert_int_equal(receive(one.sockets[i]), -1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(receive(other.sockets[i]), 20 + i);
        assert_int_equal(receive(other.sockets[i]), -1);
    }
    program_leave(&one);
    program_leave(&other);
    wait_for_users(0);
}

static void a_socket_goes_to_its_next_user_empty(void **state)
{
    (void)state;
    struct program first;
    struct program all;
    program_enter(&first, 1, 111, 0);
    uint32_t user = first.entry.users[0];
    for (uint32_t mark = 0; mark < 9; mark++) {
        send_packet(&board.address, 111, 0, mark);
    }
    program_leave(&first);
    wait_for_users(0);
    send_packet(&board.address, 111, 0, 9);
    program_enter(&all, UDP_BOARD_USERS, 333, 0);
    bool is_among = false;
    for (uint32_t i = 0; i < UDP_BOARD_USERS; i++) {
        is_among = is_among || all.entry.users[i] == user;
        assert_int_equal(receive(all.sockets[i]), -1);
    }
    assert_true(is_among);
    program_leave(&all);
}

static void what_is_refused_is_said(void **state)
{
    (void)state;
    struct program one;
    struct udp_board_entry entry;
    program_enter(&one, UDP_BOARD_USERS - 1, 111, 0);
    assert_int_equal(udp_board_enter(&board.address, 2, &entry, sentence), DN_EBUSY);
    assert_non_null(strstr(sentence, "is full: 1 of its 64 users are free, and 2 nodes"));
    assert_int_equal(udp_board_enter(&board.address, 65, &entry, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "a board has 64 users; 65 nodes do not fit"));
    assert_int_equal(udp_board_enter(&board.address, 1, &entry, sentence), 0);
    assert_int_equal(udp_board_claim(&entry, 111, 70, sentence), DN_EBUSY);
    assert_non_null(strstr(sentence, "has the PGID 0000006f"));
    udp_board_leave(&entry);
    program_leave(&one);
    union udp_address nowhere = udp_address_with_port(&loopback, 1);
    assert_int_equal(udp_board_enter(&nowhere, 1, &entry, sentence), DN_EPEER);
    assert_non_null(strstr(sentence, "there is no board at 127.0.0.1:1"));
}

static void strays_are_counted(void **state)
{
    (void)state;
    struct program one;
    struct udp_board_answer answer = {0};
    program_enter(&one, 1, 111, 0);
    send_packet(&board.address, 222, 0, 0);
    send_packet(&board.address, 111, 1, 0);
    send_bytes(&board.address, "garbage", 7);
    while (answer.strays[0] + answer.strays[1] + answer.strays[2] < 3) {
        assert_int_equal(udp_board_look(&board.address, &answer, sentence), 0);
    }
    assert_int_equal(answer.strays[UDP_BOARD_NO_GROUP], 1);
    assert_int_equal(answer.strays[UDP_BOARD_NO_TARGET], 1);
    assert_int_equal(answer.strays[UDP_BOARD_MALFORMED], 1);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.seats[0].process, getpid());
    program_leave(&one);
}

static int make_raw(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static void connect_it(int fd)
{
    struct sockaddr_un name;
    socklen_t bytes = udp_board_name(&board.address, &name);
    assert_int_equal(connect(fd, (const struct sockaddr *)&name, bytes), 0);
}

static int connect_raw(void)
{
    int fd = make_raw();
    connect_it(fd);
    return fd;
}

/* Garbage, half messages, and who hangs up in the middle: the others stay, and nothing leaks. */
static void nonsense_leaves_the_board_up(void **state)
{
    (void)state;
    struct program one;
    unsigned char bytes[64];
    program_enter(&one, 2, 111, 0);
    for (uint32_t round = 0; round < 300; round++) {
        int fd = connect_raw();
        struct udp_board_request request = {.kind = UDP_BOARD_ENTER, .count = 1 + round % 70};
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (unsigned char)(round * 31 + i * 7);
        }
        if (round % 3 != 0) {
            udp_board_request_put(&request, bytes);
        }
        /* Whole ones, halves, longer ones, and none at all; nobody reads the answer. */
        (void)send(fd, bytes, round % 5 == 0 ? 16 : round % 33, MSG_NOSIGNAL);
        (void)close(fd);
    }
    wait_for_users(2);
    send_packet(&board.address, 111, 1, 77);
    assert_int_equal(receive(one.sockets[1]), 77);
    program_leave(&one);
    program_enter(&one, UDP_BOARD_USERS, 111, 0);
    program_leave(&one);
}

/* More connections than there is room for: the last ones are hung up, and the board goes on. */
static void silent_connections_are_bounded(void **state)
{
    (void)state;
    enum { MANY = UDP_BOARD_CONNECTIONS + 4 };
    int fds[MANY];
    struct udp_board_answer answer;
    for (uint32_t i = 0; i < MANY; i++) {
        fds[i] = connect_raw();
    }
    assert_int_not_equal(udp_board_look(&board.address, &answer, sentence), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        (void)close(fds[i]);
    }
    while (udp_board_look(&board.address, &answer, sentence) != 0) {
    }
    assert_int_equal(answer.count, 0);
}

static double server_cpu_s(void)
{
    clockid_t clock;
    struct timespec time;
    assert_int_equal(pthread_getcpuclockid(server, &clock), 0);
    assert_int_equal(clock_gettime(clock, &time), 0);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A newcomer for whom there is no descriptor waits, and the board sleeps meanwhile. */
static void a_board_without_descriptors_rests(void **state)
{
    (void)state;
    enum { FILES = 256 }; /* poll wants to be allowed as many as it looks at */
    int taken[FILES];
    int count = 0;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit scarce = {.rlim_cur = FILES, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &scarce), 0);
    int fd = make_raw();
    while ((taken[count] = dup(fd)) >= 0) {
        count++;
    }
    double start_s = server_cpu_s();
    connect_it(fd);
    const struct timespec pause = {.tv_nsec = 300 * UNIT_MS};
    (void)nanosleep(&pause, NULL);
    double used_s = server_cpu_s() - start_s;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(used_s < 0.03); /* a loop without a pause takes all that it gets */
    while (count > 0) {
        (void)close(taken[--count]);
    }
    (void)close(fd);
    wait_for_users(0);
}

static void another_board_at_the_port_is_refused(void **state)
{
    (void)state;
    static struct udp_board second;
    assert_int_equal(udp_board_open(&second, &board.address, sentence), DN_ESYSTEM);
    assert_non_null(strstr(sentence, "cannot bind 127.0.0.1:"));
}

/* The board is gone, and one of two programs: the other's packets come as before, because a program
 * keeps all sockets open. */
static void programs_go_on_without_the_board(void **state)
{
    (void)open_board(state);
    struct program one;
    struct program other;
    union udp_address at = board.address;
    program_enter(&one, 3, 111, 0);
    program_enter(&other, 2, 222, 0);
    stop_board();
    for (uint32_t i = 0; i < 3; i++) {
        send_packet(&at, 111, (uint16_t)i, 10 + i);
        assert_int_equal(receive(one.sockets[i]), 10 + i);
    }
    program_leave(&one);
    for (uint32_t i = 0; i < 2; i++) {
        send_packet(&at, 222, (uint16_t)i, 20 + i);
        assert_int_equal(receive(other.sockets[i]), 20 + i);
    }
    assert_int_equal(udp_board_open(&board, &at, sentence), DN_ESYSTEM);
    assert_non_null(strstr(sentence, "programs of a board that has ended may still be there"));
    program_leave(&other);
    assert_int_equal(udp_board_open(&board, &at, sentence), 0);
    udp_board_close(&board);
}

static void a_shared_socket_is_known(void **state)
{
    (void)state;
    int fds[2];
    int alone;
    union udp_address at;
    struct udp_socket used;
    assert_int_equal(udp_socket_bind_shared(&loopback, &at, fds, 2), 0);
    for (uint32_t i = 0; i < 2; i++) {
        udp_socket_use(&used, fds[i]);
        assert_true(used.is_shared);
        assert_false(used.offload_receive);
        udp_socket_close(&used);
    }
    assert_int_equal(udp_socket_bind(&loopback, &at, &alone), 0);
    udp_socket_use(&used, alone);
    assert_false(used.is_shared);
    udp_socket_close(&used);
}

#define WITH_BOARD(test) cmocka_unit_test_setup_teardown(test, open_board, close_board)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_reach_the_user_that_they_name),
        cmocka_unit_test(the_longest_filter_is_taken),
        cmocka_unit_test(malformed_packets_reach_the_board_alone),
        cmocka_unit_test(a_board_joins_nobody),
        cmocka_unit_test(a_shared_socket_is_known),
        WITH_BOARD(programs_get_their_own_packets),
        WITH_BOARD(a_socket_goes_to_its_next_user_empty),
        WITH_BOARD(what_is_refused_is_said),
        WITH_BOARD(strays_are_counted),
        WITH_BOARD(nonsense_leaves_the_board_up),
        WITH_BOARD(silent_connections_are_bounded),
        WITH_BOARD(a_board_without_descriptors_rests),
        WITH_BOARD(another_board_at_the_port_is_refused),
        cmocka_unit_test(programs_go_on_without_the_board),
    };
    /* Emulators of Linux do not know the filter. */
    return getenv("DN_TEST_EMULATED") ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
