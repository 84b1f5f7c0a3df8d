/* UDP as the kernel of a Linux host does it. */
#define _GNU_SOURCE
#include "fabric/udp/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 4.18 and 5.0; older C libraries do not name them. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
    /* A few ms at full speed: as long as a helper thread may take to wake. */
    BUFFER_BYTES = 8 << 20,
    PACKET_BYTES_MAX_V4 = 65535 - UDP_HEADERS_BYTES_V4,
    /* The kernel counts the header here as well, though IPv6 itself does not. */
    PACKET_BYTES_MAX_V6 = 65535 - UDP_HEADERS_BYTES_V6,
    MTU_BYTES_UNKNOWN = 1280, /* what every path of IPv6 carries, and of IPv4 in practice */
    /* Empty, cut or failed receives in a row before somebody else gets a turn. */
    SKIPS_MAX = 64,
    HEARSAY_MAX = 32, /* calls that fail one behind the other before their error is believed */
};
_Static_assert((int)PACKET_BYTES_MAX_V4 == (int)UDP_BURST_BYTES_MAX, "see fabric/udp/socket.h");

/* ---- Making ----------------------------------------------------------------------- */

/* Enlarges a buffer beyond the system's limit where that is allowed, else up to the limit. */
static void enlarge(int fd, int forced, int plain)
{
    int bytes = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
    }
}

/* Packets travel whole or not at all: one lost fragment would lose the whole packet, and an
 * attacker could flood the buffers in which fragments are put together. The kernel compares their
 * length with the link's MTU alone and not with what ICMP says of the path, which anybody can
 * forge. Under IPv4 no other setting does both. */
static int forbid_fragments(int fd, int family)
{
    const int probe_v4 = IP_PMTUDISC_PROBE, link_v6 = IPV6_PMTUDISC_INTERFACE, on = 1;
    if (family == AF_INET) {
        return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe_v4, sizeof probe_v4);
    }
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof on);
    return setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &link_v6, sizeof link_v6);
}

static int share(int fd)
{
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

/* With `joins` the address may be that of other shared sockets. */
static int bind_socket(const union udp_address *wanted, bool joins, union udp_address *bound,
                       int *fd)
{
    int family = wanted->any.sa_family;
    int made = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return DN_ESYSTEM;
    }
    const int on = 1;
    union udp_address where = {0};
    socklen_t where_bytes = sizeof where;
    if (forbid_fragments(made, family) != 0 || (joins && share(made) != 0) ||
        (family == AF_INET6 && setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(made, &wanted->any, udp_address_bytes(wanted)) != 0 ||
        getsockname(made, &where.any, &where_bytes) != 0) {
        int saved = errno;
        (void)close(made);
        errno = saved;
        return DN_ESYSTEM;
    }
    enlarge(made, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge(made, SO_SNDBUFFORCE, SO_SNDBUF);
    *bound = where;
    *fd = made;
    return 0;
}

int udp_socket_bind(const union udp_address *wanted, union udp_address *bound, int *fd)
{
    return bind_socket(wanted, false, bound, fd);
}

int udp_socket_bind_shared(const union udp_address *wanted, union udp_address *bound, int *fds,
                           uint32_t count)
{
    union udp_address where;
    uint32_t made = 0;
    /* The first one is bound alone, so that we never join sockets of others. */
    int error = bind_socket(wanted, false, &where, &fds[0]);
    if (!error) {
        made = 1;
        error = share(fds[0]) == 0 ? 0 : DN_ESYSTEM;
    }
    for (; made < count && !error; made += !error) {
        error = bind_socket(&where, true, bound, &fds[made]);
    }
    if (error) {
        int saved = errno;
        while (made > 0) {
            (void)close(fds[--made]);
        }
        errno = saved;
        return error;
    }
    *bound = where;
    return 0;
}

void udp_socket_use(struct udp_socket *socket, int fd)
{
    const int on = 1;
    int value;
    socklen_t value_bytes = sizeof value;
    *socket = (struct udp_socket){.fd = fd};
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* an inherited one was not, and is ours from now on */
    /* Ask first: a kernel that does not know the option would not refuse a message with it, but
     * send one large datagram. */
    socket->offload_send = getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &value_bytes) == 0;
    socket->is_shared = getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, &value_bytes) == 0 &&
                        value != 0;
    /* The kernel joins packets between the same two ports, and only the first one's header decides
     * whose they are: at a shared port packets of several groups would come in one piece. */
    socket->offload_receive = !socket->is_shared &&
                              setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
}

void udp_socket_close(struct udp_socket *socket)
{
    (void)close(socket->fd);
    socket->fd = -1;
}

/* Sending and receiving call the kernel directly: the C library's functions are cancellation points
 * (base/uncancelled.h), which also adds a tenth to a look that finds nothing. */

/* ---- Sending ---------------------------------------------------------------------- */

/* Whether the error of a call may be what ICMP said since the last one. A connected socket reports
 * that once, and sends nothing; but anybody can forge it, and the same call works when it is made
 * again, unless more has come meanwhile. An error of the host itself is there every time. */
static bool may_be_hearsay(const struct udp_socket *socket, unsigned tries)
{
    return socket->is_connected && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM &&
           tries < HEARSAY_MAX;
}

/* One packet, the cheapest way. */
static ssize_t send_one(struct udp_socket *socket, const union udp_address *to,
                        const unsigned char *packet, uint32_t bytes)
{
    socket->send_calls++;
    if (!socket->is_connected) {
        return syscall(SYS_sendto, socket->fd, packet, bytes, 0, &to->any, udp_address_bytes(to));
    }
    ssize_t sent = syscall(SYS_sendto, socket->fd, packet, bytes, 0, NULL, 0);
    for (unsigned tries = 1; UNLIKELY(sent < 0 && may_be_hearsay(socket, tries)); tries++) {
        sent = syscall(SYS_sendto, socket->fd, packet, bytes, 0, NULL, 0);
    }
    return sent;
}

/* Several packets, which the kernel or the network card takes apart. */
static ssize_t send_several(struct udp_socket *socket, const union udp_address *to,
                            const unsigned char *packets, uint32_t bytes, uint32_t packet_bytes)
{
    union {
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr aligned;
    } control = {{0}};
    union udp_address target = *to;
    struct iovec piece = {(void *)(uintptr_t)packets, bytes};
    struct msghdr message = {
        .msg_name = socket->is_connected ? NULL : &target,
        .msg_namelen = socket->is_connected ? 0 : udp_address_bytes(to),
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    const uint16_t segment_bytes = (uint16_t)packet_bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof segment_bytes);
    memcpy(CMSG_DATA(header), &segment_bytes, sizeof segment_bytes);
    socket->send_calls++;
    ssize_t sent = syscall(SYS_sendmsg, socket->fd, &message, 0);
    for (unsigned tries = 1; UNLIKELY(sent < 0 && may_be_hearsay(socket, tries)); tries++) {
        sent = syscall(SYS_sendmsg, socket->fd, &message, 0);
    }
    return sent;
}

/* What a failed call means for its packets: 0, they are lost; DN_EBUSY; DN_ETOOLONG. */
static int judge(struct udp_socket *socket, int fault, uint32_t packet_count)
{
    switch (fault) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM: return DN_EBUSY;
    case EMSGSIZE: return DN_ETOOLONG;
    /* There is no route, a firewall forbids it, or an interface is down. Trying again at once
     * would change nothing, and the protocol tries again anyway. */
    default: socket->send_refused += packet_count; return 0;
    }
}

/* Whether the error may mean that the kernel cannot offload to this target. It may also mean
 * that even one such packet is too long. */
static bool may_mean_no_offload(int fault)
{
    return fault == EIO || fault == EINVAL || fault == ENOPROTOOPT || fault == EOPNOTSUPP ||
           fault == EMSGSIZE;
}

static uint32_t burst_bytes_max(const union udp_address *to, uint32_t packet_bytes)
{
    uint32_t limit = to->any.sa_family == AF_INET6 ? PACKET_BYTES_MAX_V6 : PACKET_BYTES_MAX_V4;
    uint32_t count = limit / packet_bytes;
    return packet_bytes * (count < UDP_BURST_PACKETS_MAX ? count : UDP_BURST_PACKETS_MAX);
}

static int send_burst(struct udp_socket *socket, const union udp_address *to,
                      const unsigned char *packets, uint32_t bytes, uint32_t packet_bytes,
                      uint32_t *done_bytes)
{
    uint32_t at = 0;
    uint32_t most = burst_bytes_max(to, packet_bytes);
    bool doubted = false; /* this kernel's offload */
    int error = 0;
    while (at < bytes && !error) {
        uint32_t rest = bytes - at;
        uint32_t one = rest < packet_bytes ? rest : packet_bytes;
        uint32_t now = socket->offload_send && !doubted && most > one ? most : one;
        now = now < rest ? now : rest;
        ssize_t sent = now > one ? send_several(socket, to, packets + at, now, packet_bytes)
                                 : send_one(socket, to, packets + at, one);
        if (sent >= 0) {
            /* One goes where several did not. */
            socket->offload_send = socket->offload_send && !doubted;
            at += now;
        } else if (now > one && may_mean_no_offload(errno)) {
            doubted = true;
        } else {
            error = judge(socket, errno, (now + packet_bytes - 1) / packet_bytes);
            at += error ? 0 : now;
        }
    }
    *done_bytes = at;
    return error;
}

int udp_socket_send(struct udp_socket *socket, const union udp_address *to,
                    const unsigned char *packets, uint32_t bytes, uint32_t packet_bytes,
                    uint32_t *done_bytes)
{
    INVARIANT(packet_bytes > 0 && bytes > 0);
    if (UNLIKELY(bytes > packet_bytes)) {
        return send_burst(socket, to, packets, bytes, packet_bytes, done_bytes);
    }
    int error = 0;
    if (UNLIKELY(send_one(socket, to, packets, bytes) < 0)) {
        error = judge(socket, errno, 1);
    }
    *done_bytes = error ? 0 : bytes;
    return error;
}

/* ---- Receiving -------------------------------------------------------------------- */

void udp_socket_connect(struct udp_socket *socket, const union udp_address *peer)
{
    socket->is_connected = syscall(SYS_connect, socket->fd, &peer->any, udp_address_bytes(peer)) ==
                           0;
}

uint32_t udp_socket_receive_from(struct udp_socket *socket, unsigned char *packets,
                                 union udp_address *from)
{
    socklen_t from_bytes = sizeof *from;
    socket->receive_calls++;
    long bytes = syscall(SYS_recvfrom, socket->fd, packets, UDP_BURST_BYTES_MAX, MSG_TRUNC,
                         &from->any, &from_bytes);
    return bytes > 0 && bytes <= UDP_BURST_BYTES_MAX ? (uint32_t)bytes : 0;
}

uint32_t udp_socket_receive(struct udp_socket *socket, unsigned char *packets)
{
    for (int skips = 0; skips < SKIPS_MAX; skips++) {
        socket->receive_calls++;
        long bytes = syscall(SYS_recvfrom, socket->fd, packets, UDP_BURST_BYTES_MAX, MSG_TRUNC,
                             NULL, NULL);
        if (LIKELY(bytes > 0 && bytes <= UDP_BURST_BYTES_MAX)) {
            return (uint32_t)bytes;
        }
        if (bytes < 0 && errno == EAGAIN) {
            return 0;
        }
        /* The datagram was empty or cut, or this is the error of an earlier packet. */
    }
    return 0;
}
/* ---- Paths and addresses ---------------------------------------------------------- */

/* The MTU of the link that has the address; 0: not known. */
static int link_mtu_bytes(int fd, const union udp_address *own)
{
    struct ifaddrs *all;
    struct ifreq link = {0};
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        union udp_address its = {0};
        if (one->ifa_addr && one->ifa_addr->sa_family == own->any.sa_family) {
            memcpy(&its, one->ifa_addr, udp_address_bytes(own));
            if (udp_address_is_same_host(&its, own)) {
                (void)snprintf(link.ifr_name, sizeof link.ifr_name, "%s", one->ifa_name);
            }
        }
    }
    freeifaddrs(all);
    return link.ifr_name[0] && ioctl(fd, SIOCGIFMTU, &link) == 0 ? link.ifr_mtu : 0;
}

uint32_t udp_path_bytes(const union udp_address *to)
{
    bool is_v6 = to->any.sa_family == AF_INET6;
    int fd = socket(to->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    int mtu_bytes;
    socklen_t value_bytes = sizeof mtu_bytes;
    union udp_address own = {0};
    socklen_t own_bytes = sizeof own;
    bool is_there = connect(fd, &to->any, udp_address_bytes(to)) == 0;
    int saved = errno;
    if (getsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MTU : IP_MTU, &mtu_bytes,
                   &value_bytes) != 0) {
        mtu_bytes = MTU_BYTES_UNKNOWN; /* emulators of Linux do not know the option */
    }
    /* The route may know less than the link carries: ICMP said so, perhaps a forged one. It may
     * know more, because what a host sends to itself never leaves it. */
    int link_bytes = is_there && getsockname(fd, &own.any, &own_bytes) == 0
                         ? link_mtu_bytes(fd, &own)
                         : 0;
    mtu_bytes = link_bytes > mtu_bytes ? link_bytes : mtu_bytes;
    (void)close(fd);
    int headers_bytes = is_v6 ? UDP_HEADERS_BYTES_V6 : UDP_HEADERS_BYTES_V4;
    int packet_bytes_max = is_v6 ? PACKET_BYTES_MAX_V6 : PACKET_BYTES_MAX_V4;
    if (!is_there || mtu_bytes <= headers_bytes) {
        errno = is_there ? EMSGSIZE : saved;
        return 0;
    }
    int bytes = mtu_bytes - headers_bytes;
    return (uint32_t)(bytes < packet_bytes_max ? bytes : packet_bytes_max);
}

bool udp_address_is_same_host(const union udp_address *one, const union udp_address *other)
{
    if (one->any.sa_family != other->any.sa_family) {
        return false;
    }
    if (one->any.sa_family == AF_INET6) {
        return memcmp(&one->v6.sin6_addr, &other->v6.sin6_addr, sizeof one->v6.sin6_addr) == 0;
    }
    return one->v4.sin_addr.s_addr == other->v4.sin_addr.s_addr;
}

bool udp_address_is_same(const union udp_address *one, const union udp_address *other)
{
    bool is_v6 = one->any.sa_family == AF_INET6;
    return udp_address_is_same_host(one, other) && (is_v6 ? one->v6.sin6_port == other->v6.sin6_port
                                                          : one->v4.sin_port == other->v4.sin_port);
}

union udp_address udp_address_with_port(const union udp_address *host, uint32_t port)
{
    union udp_address address = *host;
    if (address.any.sa_family == AF_INET6) {
        address.v6.sin6_port = htons((uint16_t)port);
    } else {
        address.v4.sin_port = htons((uint16_t)port);
    }
    return address;
}

const char *udp_address_text(const union udp_address *address, char text[UDP_ADDRESS_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN];
    if (address->any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
        (void)snprintf(text, UDP_ADDRESS_TEXT_BYTES, "[%s]:%u", host, ntohs(address->v6.sin6_port));
    } else {
        (void)inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
        (void)snprintf(text, UDP_ADDRESS_TEXT_BYTES, "%s:%u", host, ntohs(address->v4.sin_port));
    }
    return text;
}
