/* The roster: what the launcher tells every node of a group on the `udp` fabric before it
 * starts, and what nodes tell whoever asks (`dimmnet info`). One memory file without a name
 * per host, handed to the nodes as an inherited descriptor. Made by the launcher; the nodes write
 * nothing but their own reports.
 *
 *     | roster | address 0 | address 1 | ... | report 0 | trips 0 | report 1 | trips 1 | ...
 *
 * The group's secret is not in it, because many can read a roster, and for as long as the group
 * runs. Each node gets a pipe of its own with the secret in it, which it reads once. */
#ifndef FABRIC_UDP_ROSTER_H
#define FABRIC_UDP_ROSTER_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "group/memory.h"

/* How the launcher tells a node of the roster, of its own bound socket and of the pipe with the
 * secret. The group's memory that it hands out then holds nothing but the nodes' lives. */
#define UDP_ENV_ROSTER_FD "DIMMNET_ROSTER_FD"
#define UDP_ENV_SOCKET_FD "DIMMNET_SOCKET_FD"
#define UDP_ENV_SECRET_FD "DIMMNET_SECRET_FD"

#define UDP_ROSTER_MAGIC UINT64_C(0x3130545352444e44) /* "DNDRST01" */

enum {
    UDP_ROSTER_VERSION = 2,
    UDP_SECRET_BYTES = 32,
};

/* IPv4 or IPv6. */
union udp_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static inline socklen_t udp_address_bytes(const union udp_address *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

/* What a node tells about itself now and then, each word by itself. */
#define UDP_REPORT_WORDS(word)                                                                     \
    word(packets_sent) word(packets_received) word(bytes_sent) word(bytes_received)                \
        word(retransmissions) word(timeouts) word(duplicates) word(out_of_order) word(malformed)   \
            word(not_authentic) word(not_ours) word(stale) word(acks_alone) word(header_hits)      \
                word(header_misses) word(address_hits) word(address_misses)                        \
                    word(send_contexts_evicted) word(receive_contexts_evicted) word(peers_lost)    \
                        word(send_calls) word(receive_calls) word(send_refused) word(offload_send) \
                            word(offload_receive) word(paths_narrowed) word(paths_widened)         \
                                word(pieces_sent) word(process_id) word(updated_ns)                \
                                    word(operations_refused)

struct udp_report {
    /* What the node's process chose when it began, before it attached; 0: nobody has begun. Peers
     * on the same host read it here, others learn it from the first packet. */
    _Atomic uint64_t incarnation;
#define WORD(name) _Atomic uint64_t name;
    UDP_REPORT_WORDS(WORD)
#undef WORD
};

/* Where everything lies. On one machine this follows from the node count alone. */
struct udp_roster_layout {
    uint64_t file_bytes;
    uint64_t addresses_offset;    /* union udp_address for each rank: where its peers send to */
    uint64_t reports_offset;      /* the start of a page: nodes must not write what is before it */
    uint64_t report_stride_bytes; /* a udp_report, then for each rank the round trip to it in
                                     ns, _Atomic uint32_t, 0: not known */
};

struct udp_roster {
    uint64_t magic; /* written last */
    uint32_t version;
    uint32_t node_count;
    struct group_sizes sizes; /* of each node's memory */
    struct udp_roster_layout layout;
    uint32_t pgid;
    uint32_t packet_bytes_max; /* the largest datagram that all hosts' links take */
    uint64_t peer_timeout_ns;
    uint32_t cipher; /* enum udp_cipher, of fabric/udp/guard.h; 0: not authenticated */
    uint32_t encrypt;
};

struct udp_roster_file {
    int fd;
    struct udp_roster *roster;
    uint64_t bytes; /* at `roster`. Private: nodes can write the file */
};

/* Makes a file for so many nodes and maps it. It sets version, count and layout, udp_roster_seal
 * sets the magic, and the caller fills in the rest. Close-on-exec. DN_ESYSTEM, DN_ENOMEM. */
int udp_roster_create(uint32_t node_count, struct udp_roster_file *made);
/* Ends the making: the size is fixed from now on. DN_ESYSTEM. */
int udp_roster_seal(struct udp_roster_file *made);
/* Takes a sealed roster from a descriptor, which becomes close-on-exec: the reports are the
 * file's, for writing; all before them is a checked copy of this process's own, for reading. On
 * DN_EGROUP, DN_EVERSION and DN_ENOMEM the descriptor is as before. */
int udp_roster_map(int fd, struct udp_roster_file *mapped);
/* Copies all of it, for a reader that is not of the group; the descriptor may be
 * read-only. The same errors. */
int udp_roster_look(int fd, struct udp_roster_file *copied);
/* Closes the descriptor, too. */
void udp_roster_unmap(struct udp_roster_file *mapped);

/* Makes a pipe that holds the secret and nothing else; *fd is its end for reading, close-on-exec.
 * DN_ESYSTEM and errno. */
int udp_secret_leave(const unsigned char secret[UDP_SECRET_BYTES], int *fd);
/* Takes the secret out of such a pipe and closes it. DN_EGROUP: another process has taken it, or
 * the descriptor is something else and is left alone. */
int udp_secret_take(int fd, unsigned char secret[UDP_SECRET_BYTES]);

static inline union udp_address *udp_roster_address(const struct udp_roster *roster, uint32_t rank)
{
    unsigned char *file = (unsigned char *)(uintptr_t)roster;
    return (union udp_address *)(void *)(file + roster->layout.addresses_offset) + rank;
}

static inline struct udp_report *udp_roster_report(const struct udp_roster *roster, uint32_t rank)
{
    unsigned char *file = (unsigned char *)(uintptr_t)roster;
    return (struct udp_report *)(void *)(file + roster->layout.reports_offset +
                                         rank * roster->layout.report_stride_bytes);
}

static inline _Atomic uint32_t *udp_roster_trips(const struct udp_roster *roster, uint32_t rank)
{
    return (_Atomic uint32_t *)(void *)(udp_roster_report(roster, rank) + 1);
}

#endif
