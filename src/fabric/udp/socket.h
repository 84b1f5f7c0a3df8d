/* One UDP socket: many packets in one system call where the kernel can (GSO, GRO), one by
 * one where it cannot. */
#ifndef FABRIC_UDP_SOCKET_H
#define FABRIC_UDP_SOCKET_H

#include "fabric/udp/roster.h"

enum {
    UDP_BURST_BYTES_MAX = 65507, /* what one call can send, and receive */
    UDP_BURST_PACKETS_MAX = 64,
    UDP_HEADERS_BYTES_V4 = 20 + 8, /* around a packet */
    UDP_HEADERS_BYTES_V6 = 40 + 8,
    /* What every path carries: IPv6 promises 1,280 bytes, and IPv4 does it in practice. */
    UDP_PATH_BYTES_MIN = 1280 - UDP_HEADERS_BYTES_V6,
};

struct udp_socket {
    int fd;
    bool offload_send;    /* GSO */
    bool offload_receive; /* GRO */
    bool is_shared;       /* the port is a board's, with sockets of other groups */
    bool is_connected;    /* to the only peer, so that the kernel looks up the route once */
    uint64_t send_calls, receive_calls;
    uint64_t send_refused; /* packets that the kernel did not take (no route, forbidden): lost */
};

/* A socket bound to the address (port 0: any) with large buffers, close-on-exec and
 * non-blocking; *bound is where. What it sends is never cut into fragments, and what ICMP says
 * about paths is not believed. DN_ESYSTEM and errno. */
int udp_socket_bind(const union udp_address *wanted, union udp_address *bound, int *fd);

/* Binds so many sockets to one address, which nobody else had. The kernel numbers them as the
 * array does, and gives each packet to the one that a filter names. All must stay open: the kernel
 * puts the last one in the place of one that is closed. DN_ESYSTEM and errno. */
int udp_socket_bind_shared(const union udp_address *wanted, union udp_address *bound, int *fds,
                           uint32_t count);

/* Takes a bound descriptor over and asks the kernel what it can do. If the kernel then refuses
 * to offload sending, the flag is cleared. Tests may clear either flag. */
void udp_socket_use(struct udp_socket *socket, int fd);
void udp_socket_close(struct udp_socket *socket);

/* Sends packets that stand one behind the other, all of packet_bytes but the last, which may
 * be shorter: any number of them, in as many calls as the kernel needs. 0; DN_EBUSY: the
 * kernel has no room now, try again later; DN_ETOOLONG: packets of this size do not fit this
 * host's own link any more. *done_bytes, set in any case, is how far it came, in whole packets:
 * what is behind that is still to be sent. What cannot reach its target is counted and lost, as
 * the network may lose it. */
int udp_socket_send(struct udp_socket *socket, const union udp_address *to,
                    const unsigned char *packets, uint32_t bytes, uint32_t packet_bytes,
                    uint32_t *done_bytes);

/* Receives what is there: one packet, or several that came together, at most UDP_BURST_BYTES_MAX
 * bytes. A packet's own header says where it ends (wire_packet_bytes); asking the kernel would
 * make each look cost half as much again. 0: there was nothing, or only empty datagrams. */
uint32_t udp_socket_receive(struct udp_socket *socket, unsigned char *packets);
/* The same, and where it came from. */
uint32_t udp_socket_receive_from(struct udp_socket *socket, unsigned char *packets,
                                 union udp_address *from);

/* Connects the socket to its only peer: sending costs less, and the kernel drops what others
 * send. If it cannot be done, nothing changes. */
void udp_socket_connect(struct udp_socket *socket, const union udp_address *peer);
bool udp_address_is_same(const union udp_address *one, const union udp_address *other);
/* The same but for the port. */
bool udp_address_is_same_host(const union udp_address *one, const union udp_address *other);

/* The largest datagram that this host's own link takes on the way to the address without cutting it
 * (a cautious guess where that is not known); 0 and errno: there is no route. What lies beyond may
 * carry less: InfiniSWIF finds that out. What ICMP told this host about it does not count. */
uint32_t udp_path_bytes(const union udp_address *to);

union udp_address udp_address_with_port(const union udp_address *host, uint32_t port);

/* "192.0.2.1:7000", "[2001:db8::1]:7000". */
enum { UDP_ADDRESS_TEXT_BYTES = 64 };
const char *udp_address_text(const union udp_address *address, char text[UDP_ADDRESS_TEXT_BYTES]);

#endif
