/* One loop over the control socket, the programs and the packets that nobody claimed. */
#define _GNU_SOURCE
#include "fabric/udp/board/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/udp/socket.h"
#include "wire/packet.h"

enum {
    STRAYS_AT_A_TIME = 256,
    SHORT_PAUSE_MS = 20,
    /* More than a socket's buffer holds, so that a flood does not hold us. */
    DRAINED_MAX = 1 << 16,
    POLL_STOP = 0,
    POLL_CONTROL,
    POLL_STRAYS,
    POLL_CONNECTIONS, /* and those after it */
    POLLS = POLL_CONNECTIONS + UDP_BOARD_CONNECTIONS,
};

/* ---- Opening ------------------------------------------------------------------------- */

socklen_t udp_board_name(const union udp_address *address, struct sockaddr_un *name)
{
    char text[UDP_ADDRESS_TEXT_BYTES];
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* A name that begins with a zero has no file. */
    int bytes = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "dimmnet-board-%s",
                         udp_address_text(address, text));
    INVARIANT(bytes > 0 && (size_t)bytes < sizeof name->sun_path - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
}

bool udp_board_peer_is_ours(int fd, uint32_t *process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != geteuid()) {
        return false;
    }
    if (process) {
        *process = (uint32_t)peer.pid;
    }
    return true;
}

static int open_control(struct udp_board *board, char *sentence)
{
    struct sockaddr_un name;
    char text[UDP_ADDRESS_TEXT_BYTES];
    socklen_t bytes = udp_board_name(&board->address, &name);
    board->control_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (board->control_fd < 0 ||
        bind(board->control_fd, (const struct sockaddr *)&name, bytes) != 0 ||
        listen(board->control_fd, UDP_BOARD_CONNECTIONS) != 0) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot open the board's door at %s: %s",
                                    udp_address_text(&board->address, text), strerror(errno));
    }
    return 0;
}

int udp_board_open(struct udp_board *board, const union udp_address *wanted, char *sentence)
{
    char text[UDP_ADDRESS_TEXT_BYTES];
    board->control_fd = -1;
    board->programs = board->entered = 0;
    for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS; i++) {
        board->connections[i] = (struct udp_board_connection){.fd = -1};
    }
    udp_board_users_init(&board->users);
    if (udp_socket_bind_shared(wanted, &board->address, board->sockets, UDP_BOARD_SOCKETS) != 0) {
        return fabric_launch_refuse(
            sentence, DN_ESYSTEM, "cannot bind %s: %s%s", udp_address_text(wanted, text),
            strerror(errno),
            errno == EADDRINUSE ? "; programs of a board that has ended may still be there" : "");
    }
    int error = 0;
    if (udp_board_filter_attach(board->sockets[0], &board->users) != 0) {
        error = fabric_launch_refuse(sentence, DN_ESYSTEM,
                                     "the kernel does not take the board's filter: %s",
                                     strerror(errno));
    }
    error = error ? error : open_control(board, sentence);
    if (error) {
        udp_board_close(board);
    }
    return error;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

void udp_board_close(struct udp_board *board)
{
    for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS; i++) {
        close_fd(&board->connections[i].fd);
    }
    close_fd(&board->control_fd);
    for (uint32_t i = 0; i < UDP_BOARD_SOCKETS; i++) {
        close_fd(&board->sockets[i]);
    }
}

uint32_t udp_board_program_count(const struct udp_board *board)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS; i++) {
        count += board->connections[i].fd >= 0 && board->connections[i].has_entered;
    }
    return count;
}

/* ---- Programs ------------------------------------------------------------------------ */

/* What came for the one who had the socket before. */
static void drain(int fd)
{
    char nothing;
    for (int i = 0; i < DRAINED_MAX && recv(fd, &nothing, sizeof nothing, MSG_DONTWAIT) >= 0; i++) {
    }
}

static void hang_up(struct udp_board *board, struct udp_board_connection *connection)
{
    uint64_t freed = udp_board_users_leave(&board->users, connection->program);
    close_fd(&connection->fd);
    connection->has_entered = false;
    if (freed != 0) {
        /* The filter first: nothing more comes for them then. It has become shorter, and if the
         * kernel has no memory even for that, their packets are refused by whoever gets them. */
        (void)udp_board_filter_attach(board->sockets[0], &board->users);
    }
    for (uint32_t user = 0; user < UDP_BOARD_USERS; user++) {
        if (freed >> user & 1) {
            drain(board->sockets[udp_board_socket_of(user)]);
        }
    }
}

/* With all sockets, if the program has entered by this. */
static bool send_answer(const struct udp_board *board, int fd,
                        const struct udp_board_answer *answer, bool with_sockets)
{
    union {
        char bytes[CMSG_SPACE(sizeof board->sockets)];
        struct cmsghdr aligned;
    } control = {{0}};
    unsigned char bytes[UDP_BOARD_ANSWER_BYTES];
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    udp_board_answer_put(answer, bytes);
    if (with_sockets) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof board->sockets);
        memcpy(CMSG_DATA(header), board->sockets, sizeof board->sockets);
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

/* Carries one request out; false: the connection is over. */
static bool take_request(struct udp_board *board, struct udp_board_connection *connection)
{
    unsigned char bytes[UDP_BOARD_REQUEST_BYTES + 1]; /* one more, so that a longer one shows */
    struct udp_board_request request;
    struct udp_board_answer answer;
    ssize_t got = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (got <= 0 || !udp_board_request_take(bytes, (size_t)got, &request)) {
        return false;
    }
    udp_board_users_answer(&board->users, connection->program, connection->process, &request,
                           &answer);
    bool is_yes = answer.verdict == UDP_BOARD_YES;
    bool enters = is_yes && request.kind == UDP_BOARD_ENTER;
    if (enters) {
        connection->has_entered = true;
        board->entered++;
        /* A packet may have passed the filter just before its last user went. */
        for (uint32_t i = 0; i < answer.count; i++) {
            drain(board->sockets[udp_board_socket_of(answer.seats[i].user)]);
        }
    }
    bool is_fault = is_yes && request.kind == UDP_BOARD_CLAIM &&
                    udp_board_filter_attach(board->sockets[0], &board->users) != 0;
    if (is_fault) {
        answer.verdict = UDP_BOARD_FAULT;
    }
    return send_answer(board, connection->fd, &answer, enters) && !is_fault;
}

/* False: there is no descriptor to be had for a newcomer, who stays in the kernel's queue. */
static bool welcome(struct udp_board *board)
{
    int fd = accept4(board->control_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    uint32_t process;
    if (fd < 0) {
        return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    }
    for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS && udp_board_peer_is_ours(fd, &process); i++) {
        if (board->connections[i].fd < 0) {
            board->connections[i] = (struct udp_board_connection){
                .fd = fd, .program = ++board->programs, .process = process};
            return true;
        }
    }
    (void)close(fd);
    return true;
}

/* ---- The loop ------------------------------------------------------------------------ */

static void count_strays(struct udp_board *board)
{
    unsigned char packet[WIRE_PACKET_BYTES_MAX + 1];
    for (int i = 0; i < STRAYS_AT_A_TIME; i++) {
        ssize_t bytes = recv(board->sockets[0], packet, sizeof packet, MSG_DONTWAIT);
        if (bytes < 0) {
            return;
        }
        udp_board_users_stray(&board->users, packet, (uint32_t)bytes);
    }
}

int udp_board_serve(struct udp_board *board, int stop_fd)
{
    struct pollfd polls[POLLS];
    /* While no descriptor is to be had, newcomers are looked at now and then: their socket stays
     * readable. */
    bool is_short = false;
    for (;;) {
        polls[POLL_STOP] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
        polls[POLL_CONTROL] = (struct pollfd){.fd = is_short ? -1 : board->control_fd,
                                              .events = POLLIN};
        polls[POLL_STRAYS] = (struct pollfd){.fd = board->sockets[0], .events = POLLIN};
        for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS; i++) {
            polls[POLL_CONNECTIONS + i] = (struct pollfd){.fd = board->connections[i].fd,
                                                          .events = POLLIN};
        }
        int ready = poll(polls, POLLS, is_short ? SHORT_PAUSE_MS : -1);
        if (ready < 0 && errno != EINTR) {
            return DN_ESYSTEM;
        }
        if (ready < 0) {
            continue;
        }
        if (polls[POLL_STRAYS].revents) {
            count_strays(board);
        }
        for (uint32_t i = 0; i < UDP_BOARD_CONNECTIONS; i++) {
            struct udp_board_connection *connection = &board->connections[i];
            if (polls[POLL_CONNECTIONS + i].revents && !take_request(board, connection)) {
                hang_up(board, connection);
            }
        }
        /* Newcomers last: a place that has just become free is theirs. */
        is_short = (is_short || polls[POLL_CONTROL].revents) && !welcome(board);
        if (polls[POLL_STOP].revents) {
            return 0;
        }
    }
}
