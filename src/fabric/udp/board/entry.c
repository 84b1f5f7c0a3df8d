/* One connection, a request at a time. */
#define _GNU_SOURCE
#include "fabric/udp/board/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "fabric/udp/board/server.h"
#include "fabric/udp/socket.h"

enum { PATIENCE_S = 10 }; /* with a board that stands still */

/* ---- Asking -------------------------------------------------------------------------- */

static int connect_to(const union udp_address *address, int *fd, char *sentence)
{
    struct sockaddr_un name;
    char text[UDP_ADDRESS_TEXT_BYTES];
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    socklen_t bytes = udp_board_name(address, &name);
    (void)udp_address_text(address, text);
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
        connect(made, (const struct sockaddr *)&name, bytes) != 0) {
        int saved = errno;
        if (made >= 0) {
            (void)close(made);
        }
        return saved == ECONNREFUSED
                   ? fabric_launch_refuse(sentence, DN_EPEER,
                                          "there is no board at %s; `dimmnet board` makes one",
                                          text)
                   : fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot reach the board at %s: %s",
                                          text, strerror(saved));
    }
    if (!udp_board_peer_is_ours(made, NULL)) {
        (void)close(made);
        return fabric_launch_refuse(sentence, DN_EPEER, "the board at %s is another user's", text);
    }
    *fd = made;
    return 0;
}

/* Takes the descriptors out of a message, however many there are. */
static uint32_t take_descriptors(struct msghdr *message, int *fds)
{
    uint32_t count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            count = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(header), count * sizeof(int));
        }
    }
    return count;
}

static void close_all(int *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

/* Asks, and waits for the answer. `sockets` are filled if the program enters by this; else NULL. */
static int ask(int fd, const union udp_address *address, const struct udp_board_request *request,
               struct udp_board_answer *answer, int *sockets, char *sentence)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * UDP_BOARD_SOCKETS)];
        struct cmsghdr aligned;
    } control;
    unsigned char asked[UDP_BOARD_REQUEST_BYTES];
    unsigned char told[UDP_BOARD_ANSWER_BYTES + 1]; /* one more, so that a longer one shows */
    char text[UDP_ADDRESS_TEXT_BYTES];
    int fds[UDP_BOARD_SOCKETS + 1]; /* the room for descriptors is filled up to its alignment */
    struct iovec piece = {told, sizeof told};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    (void)udp_address_text(address, text);
    udp_board_request_put(request, asked);
    ssize_t got = send(fd, asked, sizeof asked, MSG_NOSIGNAL) == (ssize_t)sizeof asked
                      ? recvmsg(fd, &message, MSG_CMSG_CLOEXEC)
                      : -1;
    if (got < 0) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "the board at %s does not answer: %s",
                                    text, strerror(errno));
    }
    uint32_t count = take_descriptors(&message, fds);
    if (got == 0) {
        return fabric_launch_refuse(sentence, DN_EPEER,
                                    "the board at %s hung up; is it of another version?", text);
    }
    bool enters = false;
    bool is_sound = udp_board_answer_take(told, (size_t)got, answer);
    if (is_sound) {
        enters = sockets && answer->verdict == UDP_BOARD_YES;
        is_sound = count == (enters ? UDP_BOARD_SOCKETS : 0) &&
                   (!enters || answer->count == request->count);
    }
    if (!is_sound) {
        close_all(fds, count);
        return message.msg_flags & MSG_CTRUNC
                   ? fabric_launch_refuse(sentence, DN_ESYSTEM,
                                          "this process may not open the %u sockets of the board",
                                          UDP_BOARD_SOCKETS)
                   : fabric_launch_refuse(
                         sentence, DN_EPEER,
                         "the board at %s makes no sense; is it of another version?", text);
    }
    if (enters) {
        memcpy(sockets, fds, sizeof(int) * UDP_BOARD_SOCKETS);
    }
    return 0;
}

/* ---- Entering ------------------------------------------------------------------------ */

/* What the board answered, as a sentence; 0 if it said yes. */
static int judge(const struct udp_board_answer *answer, const union udp_address *address,
                 const struct udp_board_request *request, char *sentence)
{
    char text[UDP_ADDRESS_TEXT_BYTES];
    (void)udp_address_text(address, text);
    switch (answer->verdict) {
    case UDP_BOARD_YES: return 0;
    case UDP_BOARD_FULL:
        return fabric_launch_refuse(sentence, DN_EBUSY,
                                    "the board at %s is full: %u of its %u users are free, and %u "
                                    "nodes are to start",
                                    text, answer->count, UDP_BOARD_USERS, request->count);
    case UDP_BOARD_TAKEN:
        return fabric_launch_refuse(
            sentence, DN_EBUSY,
            "another program at the board at %s has the PGID %08x; start the group again", text,
            request->pgid);
    case UDP_BOARD_FAULT:
        return fabric_launch_refuse(sentence, DN_ESYSTEM,
                                    "the kernel does not take the filter of the board at %s", text);
    default:
        return fabric_launch_refuse(sentence, DN_EPEER, "the board at %s is in disorder", text);
    }
}

int udp_board_enter(const union udp_address *address, uint32_t count, struct udp_board_entry *entry,
                    char *sentence)
{
    struct udp_board_request request = {.kind = UDP_BOARD_ENTER, .count = count};
    struct udp_board_answer answer;
    int fd;
    if (count > UDP_BOARD_USERS) {
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "a board has %u users; %u nodes do not fit", UDP_BOARD_USERS,
                                    count);
    }
    int error = connect_to(address, &fd, sentence);
    if (error) {
        return error;
    }
    error = ask(fd, address, &request, &answer, entry->sockets, sentence);
    error = error ? error : judge(&answer, address, &request, sentence);
    if (error) {
        (void)close(fd);
        return error;
    }
    entry->control_fd = fd;
    entry->address = *address;
    entry->count = count;
    for (uint32_t i = 0; i < count; i++) {
        entry->users[i] = answer.seats[i].user;
    }
    return 0;
}

int udp_board_claim(struct udp_board_entry *entry, uint32_t pgid, uint32_t rank_first,
                    char *sentence)
{
    struct udp_board_request request = {
        .kind = UDP_BOARD_CLAIM, .pgid = pgid, .rank_first = (uint16_t)rank_first};
    struct udp_board_answer answer;
    int error = ask(entry->control_fd, &entry->address, &request, &answer, NULL, sentence);
    return error ? error : judge(&answer, &entry->address, &request, sentence);
}

int udp_board_socket(const struct udp_board_entry *entry, uint32_t index, int *fd, char *sentence)
{
    INVARIANT(index < entry->count);
    int copy = fcntl(entry->sockets[udp_board_socket_of(entry->users[index])], F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "no descriptor for a board's socket: %s",
                                    strerror(errno));
    }
    *fd = copy;
    return 0;
}

void udp_board_leave(struct udp_board_entry *entry)
{
    if (entry->control_fd >= 0) {
        close_all(entry->sockets, UDP_BOARD_SOCKETS);
        (void)close(entry->control_fd);
        entry->control_fd = -1;
    }
}

int udp_board_look(const union udp_address *address, struct udp_board_answer *answer,
                   char *sentence)
{
    struct udp_board_request request = {.kind = UDP_BOARD_LOOK};
    int fd;
    int error = connect_to(address, &fd, sentence);
    if (!error) {
        error = ask(fd, address, &request, answer, NULL, sentence);
        error = error ? error : judge(answer, address, &request, sentence);
        (void)close(fd);
    }
    return error;
}
