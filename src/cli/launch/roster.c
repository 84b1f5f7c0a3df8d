/* Sizes, secret, sockets. */
#define _GNU_SOURCE
#include "cli/launch/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "board/board.h"
#include "cli/cli.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/socket.h"
#include "host/group.h"

#define NS_PER_MS UINT64_C(1000000)

/* The headers around a packet. */
enum { IPV4_UDP_BYTES = 28, IPV6_UDP_BYTES = 48 };

const struct launch_udp launch_udp_default = {.peer_timeout_ns = 10000 * NS_PER_MS};

/* ---- Terms --------------------------------------------------------------------------- */

/* Whether this process could map so much: its nodes have the same limits. */
static bool is_mappable(uint64_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return false;
    }
    (void)munmap(room, bytes);
    return true;
}

static bool lay_out(uint32_t node_count, const struct group_sizes *sizes,
                    struct group_geometry *geometry)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return group_geometry(node_count, sizes, page_bytes, geometry) == 0 &&
           is_mappable(geometry->total_bytes);
}

static int refuse_sizes(const char *command, uint32_t node_count)
{
    return cli_refuse(command, "%u nodes of these sizes are too much memory to map", node_count);
}

int roster_check_room(const char *command, uint32_t node_count, const struct group_sizes *sizes)
{
    struct group_geometry geometry;
    return lay_out(node_count, sizes, &geometry) ? 0 : refuse_sizes(command, node_count);
}

/* Every node lays the whole group's memory out for itself, all in the same manner: nothing is
 * left to choose. */
static int decide_sizes(const struct launch_request *request, struct group_sizes *decided)
{
    struct group_sizes sizes = request->sizes;
    struct group_geometry geometry;
    bool fits = lay_out(request->node_count, &sizes, &geometry);
    if (!fits && sizes.registered_bytes == 0) {
        sizes.registered_bytes = HOST_REGISTERED_BYTES_MODEST;
        fits = lay_out(request->node_count, &sizes, &geometry);
    }
    if (!fits) {
        return refuse_sizes(request->command, request->node_count);
    }
    *decided = geometry.sizes;
    return 0;
}

int roster_decide(struct roster_terms *terms, const struct launch_request *request)
{
    const struct launch_udp *udp = request->udp;
    *terms = (struct roster_terms){
        .peer_timeout_ns = udp->peer_timeout_ns,
        .cipher = udp->no_auth ? UDP_CIPHER_NONE : udp_cipher_best(),
        .encrypt = udp->encrypt,
    };
    if (getrandom(&terms->pgid, sizeof terms->pgid, 0) != sizeof terms->pgid ||
        getrandom(terms->secret, sizeof terms->secret, 0) != sizeof terms->secret) {
        cli_say(request->command, "cannot make the group's secret: %s", strerror(errno));
        return CLI_FAULT;
    }
    if (udp->no_auth) {
        cli_say(request->command, "packets are not authenticated: whoever reaches the nodes' "
                                  "ports can write their memory");
    }
    return decide_sizes(request, &terms->sizes);
}

int roster_decide_packets(struct roster_terms *terms, const struct launch_request *request,
                          uint32_t path_bytes, bool is_v6)
{
    struct board_config config;
    board_config_default(&config, request->node_count);
    uint32_t least = board_packet_bytes_min(&config);
    uint32_t headers = is_v6 ? IPV6_UDP_BYTES : IPV4_UDP_BYTES;
    uint32_t bytes = path_bytes < WIRE_PACKET_BYTES_MAX ? path_bytes : WIRE_PACKET_BYTES_MAX;
    uint32_t mtu_bytes = request->udp->mtu_bytes;
    if (mtu_bytes && mtu_bytes < bytes + headers) {
        bytes = mtu_bytes > headers ? mtu_bytes - headers : 0;
    }
    if (bytes < least) {
        return cli_refuse(request->command, "an MTU of %u bytes is too small, %u is the least",
                          bytes + headers, least + headers);
    }
    terms->packet_bytes_max = bytes;
    return 0;
}

/* ---- Sockets ------------------------------------------------------------------------- */

static union udp_address with_port(const union udp_address *host, uint32_t port)
{
    union udp_address address = *host;
    if (address.any.sa_family == AF_INET6) {
        address.v6.sin6_port = htons((uint16_t)port);
    } else {
        address.v4.sin_port = htons((uint16_t)port);
    }
    return address;
}

int roster_bind(struct roster *roster, const char *command, const union udp_address *host,
                uint16_t port, uint16_t relay_port)
{
    char text[UDP_ADDRESS_TEXT_BYTES];
    uint32_t node_count = roster->file.roster->node_count;
    uint32_t first = port > relay_port ? port : relay_port;
    if (first && first + node_count - 1 > UINT16_MAX) {
        return cli_refuse(command, "there are no %u ports from %u on", node_count, first);
    }
    for (uint32_t i = 0; i < roster->rank_count; i++) {
        uint32_t rank = roster->rank_first + i;
        union udp_address *address = udp_roster_address(roster->file.roster, rank);
        union udp_address wanted = with_port(host, port ? port + rank : 0);
        if (udp_socket_bind(&wanted, address, &roster->socket_fds[i]) != 0) {
            roster->socket_fds[i] = -1;
            cli_say(command, "cannot bind node %u to %s: %s", rank, udp_address_text(&wanted, text),
                    strerror(errno));
            return CLI_FAULT;
        }
        if (relay_port) {
            *address = with_port(host, relay_port + rank);
        }
    }
    return 0;
}

/* ---- The roster ---------------------------------------------------------------------- */

int roster_open(struct roster *roster, const char *command, uint32_t node_count,
                uint32_t rank_first, uint32_t rank_count)
{
    *roster = (struct roster){.file = {.fd = -1}, .rank_first = rank_first};
    roster->socket_fds = calloc(rank_count + 1, sizeof *roster->socket_fds);
    int error = roster->socket_fds ? udp_roster_create(node_count, &roster->file) : DN_ENOMEM;
    if (error) {
        cli_say(command, "cannot make the group's roster: %s",
                error == DN_ESYSTEM ? strerror(errno) : dn_strerror(error));
        return CLI_FAULT;
    }
    roster->rank_count = rank_count;
    for (uint32_t i = 0; i < rank_count; i++) {
        roster->socket_fds[i] = -1;
    }
    return 0;
}

int roster_seal(struct roster *roster, const char *command, const struct roster_terms *terms)
{
    struct udp_roster *made = roster->file.roster;
    made->sizes = terms->sizes;
    made->pgid = terms->pgid;
    made->packet_bytes_max = terms->packet_bytes_max;
    made->peer_timeout_ns = terms->peer_timeout_ns;
    made->cipher = terms->cipher;
    made->encrypt = terms->encrypt;
    memcpy(made->secret, terms->secret, sizeof made->secret);
    if (udp_roster_seal(&roster->file) != 0) {
        cli_say(command, "cannot seal the group's roster: %s", strerror(errno));
        return CLI_FAULT;
    }
    return 0;
}

int roster_make(struct roster *roster, const struct launch_request *request)
{
    const char *command = request->command;
    const struct launch_udp *udp = request->udp;
    const union udp_address here = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    union udp_address target = with_port(&here, 1);
    struct roster_terms terms;
    int status = roster_decide(&terms, request);
    if (!status) {
        uint32_t path_bytes = udp_path_bytes(&target);
        if (path_bytes == 0) {
            cli_say(command, "there is no way to 127.0.0.1: %s", strerror(errno));
            status = CLI_FAULT;
        } else {
            status = roster_decide_packets(&terms, request, path_bytes, false);
        }
    }
    status = status ? status
                    : roster_open(roster, command, request->node_count, 0, request->node_count);
    status = status ? status : roster_bind(roster, command, &here, udp->port, udp->relay_port);
    status = status ? status : roster_seal(roster, command, &terms);
    explicit_bzero(&terms, sizeof terms);
    return status;
}

void roster_hand_over(struct roster *roster, uint32_t index)
{
    if (index < roster->rank_count && roster->socket_fds[index] >= 0) {
        (void)close(roster->socket_fds[index]);
        roster->socket_fds[index] = -1;
    }
}

void roster_release(struct roster *roster)
{
    for (uint32_t i = 0; i < roster->rank_count; i++) {
        roster_hand_over(roster, i);
    }
    free(roster->socket_fds);
    if (roster->file.fd >= 0) {
        udp_roster_unmap(&roster->file);
    }
    *roster = (struct roster){.file = {.fd = -1}};
}
