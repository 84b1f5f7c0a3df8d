/* Sockets, packet size, secret and cipher of a group, laid down in the roster. */
#define _GNU_SOURCE
#include "fabric/udp/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/little.h"
#include "board/board.h"
#include "fabric/udp/board/entry.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/socket.h"

#define NS_PER_MS UINT64_C(1000000)
#define PEER_TIMEOUT_MS_MAX (UINT64_C(3600) * 1000)

enum { SET_ENCRYPT, SET_NO_AUTH, SET_MTU, SET_PEER_TIMEOUT, SET_PORT, SET_RELAY_PORT, SET_BOARD };

static const struct fabric_option options[] = {
    [SET_ENCRYPT] = {"encrypt", NULL, NULL, 0, 1, 0,
                     "hide the content of packets, too; they are authenticated anyway. A stream of "
                     "64 KiB transfers over loopback falls from 2.1 to 1.05 GB/s"},
    [SET_NO_AUTH] = {"no-auth", NULL, NULL, 0, 1, 0,
                     "believe packets without proof of who sent them"},
    [SET_MTU] = {"mtu", "BYTES", "number of bytes", 1, UINT16_MAX, 0,
                 "make packets that fit this MTU, if it is smaller than the path's"},
    [SET_PEER_TIMEOUT] = {"peer-timeout", "MS", "number of milliseconds", 1, PEER_TIMEOUT_MS_MAX,
                          10000, "treat a node as dead after this silence (default 10000)"},
    [SET_PORT] = {"port", "P", "port", 1, UINT16_MAX, 0,
                  "node R gets port P + R; otherwise any free port"},
    [SET_RELAY_PORT] = {"relay-port", "Q", "port", 1, UINT16_MAX, 0,
                        "tell peers that node R is at port Q + R, where a program of yours passes "
                        "packets on to it"},
    [SET_BOARD] = {"board", "P", "port", 1, UINT16_MAX, 0,
                   "the nodes use the board at port P of their host, beside other groups; "
                   "`dimmnet board` makes one"},
    {.name = NULL},
};

/* What is open here for one node until it has started; -1: not yet, or no more. */
struct node_files {
    int socket_fd;
    int secret_fd;
};

/* The roster of this host and the nodes' descriptors, a fabric_roster's state. */
struct making {
    struct udp_roster_file file;  /* .fd -1: not sealed yet */
    struct udp_board_entry entry; /* to the board that the nodes use, if they use one */
    struct node_files nodes[];    /* from rank_first on */
};

static int check(const uint64_t *settings, char *sentence)
{
    if (settings[SET_BOARD] && (settings[SET_PORT] || settings[SET_RELAY_PORT])) {
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "at a --board all nodes of a host have one port, and --port "
                                    "and --relay-port give each its own; choose one");
    }
    return settings[SET_NO_AUTH] && settings[SET_ENCRYPT]
               ? fabric_launch_refuse(
                     sentence, DN_EINVAL,
                     "--encrypt hides from nobody what --no-auth lets all write; choose one")
               : 0;
}

static uint64_t silence_ns(const uint64_t *settings)
{
    return settings[SET_PEER_TIMEOUT] * NS_PER_MS;
}

/* ---- Bytes that hosts tell each other ------------------------------------------------ */

/* Places in a finding, and in terms: 8 bytes each, and then the secret. */
enum { FOUND_CIPHERS, FOUND_PATH_BYTES, FOUND_COUNT };
enum { TERM_PGID, TERM_PACKET_BYTES, TERM_PEER_TIMEOUT_NS, TERM_CIPHER, TERM_ENCRYPT, TERM_COUNT };

_Static_assert(8 * FOUND_COUNT <= FABRIC_FINDING_BYTES &&
                   8 * TERM_COUNT + UDP_SECRET_BYTES <= FABRIC_TERMS_BYTES,
               "there is room");

/* ---- Sockets ------------------------------------------------------------------------- */

static int open_making(struct fabric_roster *roster, char *sentence)
{
    struct making *making = malloc(sizeof *making + roster->rank_count * sizeof making->nodes[0]);
    if (!making) {
        return fabric_launch_refuse(sentence, DN_ENOMEM, "no memory");
    }
    making->file.fd = -1;
    making->entry.control_fd = -1;
    for (uint32_t i = 0; i < roster->rank_count; i++) {
        making->nodes[i] = (struct node_files){-1, -1};
    }
    roster->state = making;
    return 0;
}

/* The nodes use the sockets of a board, and have one address. */
static int enter_board(struct fabric_roster *roster, const union udp_address *host, char *sentence)
{
    struct making *making = roster->state;
    union udp_address board = udp_address_with_port(host, (uint32_t)roster->settings[SET_BOARD]);
    int error = udp_board_enter(&board, roster->rank_count, &making->entry, sentence);
    for (uint32_t i = 0; i < roster->rank_count && !error; i++) {
        error = udp_board_socket(&making->entry, i, &making->nodes[i].socket_fd, sentence);
        udp_contact_put(&roster->contacts[roster->rank_first + i], &board);
    }
    return error;
}

static int bind_nodes(struct fabric_roster *roster, const struct fabric_contact *contact,
                      char *sentence)
{
    char text[UDP_ADDRESS_TEXT_BYTES];
    union udp_address host;
    uint32_t port = (uint32_t)roster->settings[SET_PORT];
    uint32_t relay_port = (uint32_t)roster->settings[SET_RELAY_PORT];
    uint32_t first = port > relay_port ? port : relay_port;
    if (first && first + roster->node_count - 1 > UINT16_MAX) {
        return fabric_launch_refuse(sentence, DN_EINVAL, "there are no %u ports from %u on",
                                    roster->node_count, first);
    }
    if (!udp_contact_take(contact, &host)) {
        return fabric_launch_refuse(sentence, DN_EINVAL, "this host's address is unknown");
    }
    int error = open_making(roster, sentence);
    struct making *making = roster->state;
    if (!error && roster->settings[SET_BOARD]) {
        return enter_board(roster, &host, sentence);
    }
    for (uint32_t i = 0; i < roster->rank_count && !error; i++) {
        uint32_t rank = roster->rank_first + i;
        union udp_address wanted = udp_address_with_port(&host, port ? port + rank : 0);
        union udp_address bound;
        if (udp_socket_bind(&wanted, &bound, &making->nodes[i].socket_fd) != 0) {
            making->nodes[i].socket_fd = -1;
            return fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot bind node %u to %s: %s", rank,
                                        udp_address_text(&wanted, text), strerror(errno));
        }
        bound = relay_port ? udp_address_with_port(&host, relay_port + rank) : bound;
        udp_contact_put(&roster->contacts[rank], &bound);
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

static void hand_over(struct fabric_roster *roster, uint32_t index)
{
    struct making *making = roster->state;
    close_fd(&making->nodes[index].socket_fd);
    close_fd(&making->nodes[index].secret_fd);
}

static void descriptors(const struct fabric_roster *roster, uint32_t index, int *fds)
{
    const struct making *making = roster->state;
    fds[0] = making->file.fd;
    /* A launcher without nodes of its own has the roster alone. */
    fds[1] = index < roster->rank_count ? making->nodes[index].socket_fd : -1;
    fds[2] = index < roster->rank_count ? making->nodes[index].secret_fd : -1;
}

static void release(struct fabric_roster *roster)
{
    struct making *making = roster->state;
    if (!making) {
        return;
    }
    for (uint32_t i = 0; i < roster->rank_count; i++) {
        hand_over(roster, i);
    }
    udp_board_leave(&making->entry);
    if (making->file.fd >= 0) {
        udp_roster_unmap(&making->file);
    }
    free(making);
    roster->state = NULL;
}

/* ---- Terms --------------------------------------------------------------------------- */

static struct fabric_finding make_finding(uint64_t ciphers, uint64_t path_bytes)
{
    struct fabric_finding finding = {{0}};
    base_little_put(finding.bytes + 8 * FOUND_CIPHERS, 8, ciphers);
    base_little_put(finding.bytes + 8 * FOUND_PATH_BYTES, 8, path_bytes);
    return finding;
}

static int survey(const struct fabric_roster *roster, struct fabric_finding *finding,
                  uint32_t *rank)
{
    uint32_t least = UINT32_MAX;
    uint32_t ciphers = 0;
    union udp_address address;
    union udp_address before = {0};
    for (uint32_t i = 0; i < roster->node_count; i++, before = address) {
        (void)udp_contact_take(&roster->contacts[i], &address);
        /* Nodes of a host are neighbours: one look at its path is enough. */
        if (i > 0 && udp_address_is_same_host(&address, &before)) {
            continue;
        }
        uint32_t bytes = udp_path_bytes(&address);
        if (bytes == 0) {
            *rank = i;
            return DN_EPEER;
        }
        least = bytes < least ? bytes : least;
    }
    for (uint32_t cipher = UDP_CIPHER_AES_256_GCM; cipher <= UDP_CIPHER_CHACHA20; cipher++) {
        ciphers |= (uint32_t)udp_cipher_is_possible((enum udp_cipher)cipher) << cipher;
    }
    *finding = make_finding(ciphers, least);
    return 0;
}

static uint64_t found(const struct fabric_finding *finding, unsigned place)
{
    return base_little_get(finding->bytes + 8 * (size_t)place, 8);
}

static void merge(struct fabric_finding *all, const struct fabric_finding *one)
{
    uint64_t ciphers = found(all, FOUND_CIPHERS) & found(one, FOUND_CIPHERS);
    uint64_t one_bytes = found(one, FOUND_PATH_BYTES);
    uint64_t path_bytes = found(all, FOUND_PATH_BYTES);
    *all = make_finding(ciphers, one_bytes < path_bytes ? one_bytes : path_bytes);
}

static uint64_t packet_bytes_min(const struct fabric_roster *roster)
{
    struct board_config config;
    board_config_default(&config, roster->node_count);
    return board_packet_bytes_min(&config);
}

/* How long packets may be on a path that takes path_bytes. */
static int agree_packet_bytes(const struct fabric_roster *roster, uint64_t path_bytes,
                              uint64_t *packet_bytes, char *sentence)
{
    union udp_address first;
    uint64_t least = packet_bytes_min(roster);
    (void)udp_contact_take(&roster->contacts[0], &first);
    uint64_t headers = first.any.sa_family == AF_INET6 ? UDP_HEADERS_BYTES_V6
                                                       : UDP_HEADERS_BYTES_V4;
    uint64_t bytes = path_bytes < WIRE_PACKET_BYTES_MAX ? path_bytes : WIRE_PACKET_BYTES_MAX;
    uint64_t mtu_bytes = roster->settings[SET_MTU];
    if (mtu_bytes && mtu_bytes < bytes + headers) {
        bytes = mtu_bytes > headers ? mtu_bytes - headers : 0;
    }
    if (bytes < least) {
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "an MTU of %u bytes is too small, %u is the least",
                                    (unsigned)(bytes + headers), (unsigned)(least + headers));
    }
    *packet_bytes = bytes;
    return 0;
}

/* The fastest that all hosts can do. */
static int agree_cipher(const struct fabric_roster *roster, uint64_t possible, uint64_t *cipher,
                        char *sentence)
{
    if (roster->settings[SET_NO_AUTH]) {
        *cipher = UDP_CIPHER_NONE;
        (void)fabric_launch_refuse(
            sentence, 0,
            "packets are not authenticated: whoever reaches the nodes' ports "
            "can write their memory");
    } else if (possible & 1u << UDP_CIPHER_AES_256_GCM) {
        *cipher = UDP_CIPHER_AES_256_GCM;
    } else if (possible & 1u << UDP_CIPHER_CHACHA20) {
        *cipher = UDP_CIPHER_CHACHA20;
    } else {
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "there is no cipher that all hosts can do");
    }
    return 0;
}

static int agree(const struct fabric_roster *roster, const struct fabric_finding *finding,
                 struct fabric_terms *terms, char *sentence)
{
    uint64_t numbers[TERM_COUNT] = {
        [TERM_PEER_TIMEOUT_NS] = silence_ns(roster->settings),
        [TERM_ENCRYPT] = roster->settings[SET_ENCRYPT],
    };
    uint32_t pgid;
    int error = agree_packet_bytes(roster, found(finding, FOUND_PATH_BYTES),
                                   &numbers[TERM_PACKET_BYTES], sentence);
    error = error ? error
                  : agree_cipher(roster, found(finding, FOUND_CIPHERS), &numbers[TERM_CIPHER],
                                 sentence);
    if (error) {
        return error;
    }
    if (getrandom(&pgid, sizeof pgid, 0) != sizeof pgid ||
        getrandom(terms->bytes + 8 * TERM_COUNT, UDP_SECRET_BYTES, 0) != UDP_SECRET_BYTES) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot make the group's secret: %s",
                                    strerror(errno));
    }
    numbers[TERM_PGID] = pgid;
    for (unsigned i = 0; i < TERM_COUNT; i++) {
        base_little_put(terms->bytes + 8 * (size_t)i, 8, numbers[i]);
    }
    return 0;
}

/* The secret goes from the terms to the kernel, without a copy in this process. */
static int leave_secret(struct fabric_roster *roster, const struct fabric_terms *terms,
                        char *sentence)
{
    struct making *making = roster->state;
    for (uint32_t i = 0; i < roster->rank_count; i++) {
        if (udp_secret_leave(terms->bytes + 8 * TERM_COUNT, &making->nodes[i].secret_fd) != 0) {
            return fabric_launch_refuse(sentence, DN_ESYSTEM,
                                        "cannot leave the group's secret for node %u: %s",
                                        roster->rank_first + i, strerror(errno));
        }
    }
    return 0;
}

static int seal(struct fabric_roster *roster, const struct fabric_terms *terms, char *sentence)
{
    uint64_t numbers[TERM_COUNT];
    for (unsigned i = 0; i < TERM_COUNT; i++) {
        numbers[i] = base_little_get(terms->bytes + 8 * (size_t)i, 8);
    }
    uint64_t cipher = numbers[TERM_CIPHER];
    if (numbers[TERM_PGID] > UINT32_MAX || numbers[TERM_PACKET_BYTES] < packet_bytes_min(roster) ||
        numbers[TERM_PACKET_BYTES] > WIRE_PACKET_BYTES_MAX || numbers[TERM_PEER_TIMEOUT_NS] == 0 ||
        numbers[TERM_ENCRYPT] > 1) {
        return fabric_launch_refuse(sentence, DN_EINVAL, "the group's terms make no sense");
    }
    /* A launcher without nodes of its own need not be able to do it. */
    if (cipher > UDP_CIPHER_CHACHA20 || (cipher != UDP_CIPHER_NONE && roster->rank_count > 0 &&
                                         !udp_cipher_is_possible((enum udp_cipher)cipher))) {
        return fabric_launch_refuse(sentence, DN_EINVAL, "unknown cipher %llu",
                                    (unsigned long long)cipher);
    }
    int error = roster->state ? 0 : open_making(roster, sentence);
    if (error) {
        return error;
    }
    struct making *making = roster->state;
    struct udp_roster_file *file = &making->file;
    if (making->entry.control_fd >= 0) {
        error = udp_board_claim(&making->entry, (uint32_t)numbers[TERM_PGID], roster->rank_first,
                                sentence);
        if (error) {
            return error;
        }
    }
    error = udp_roster_create(roster->node_count, file);
    if (error) {
        file->fd = -1;
        return fabric_launch_refuse(sentence, error, "cannot make the group's roster: %s",
                                    error == DN_ESYSTEM ? strerror(errno) : dn_strerror(error));
    }
    struct udp_roster *made = file->roster;
    for (uint32_t rank = 0; rank < roster->node_count; rank++) {
        (void)udp_contact_take(&roster->contacts[rank], udp_roster_address(made, rank));
    }
    made->sizes = roster->sizes;
    made->pgid = (uint32_t)numbers[TERM_PGID];
    made->packet_bytes_max = (uint32_t)numbers[TERM_PACKET_BYTES];
    made->peer_timeout_ns = numbers[TERM_PEER_TIMEOUT_NS];
    made->cipher = (uint32_t)cipher;
    made->encrypt = numbers[TERM_ENCRYPT] != 0;
    if (udp_roster_seal(file) != 0) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot seal the group's roster: %s",
                                    strerror(errno));
    }
    return leave_secret(roster, terms, sentence);
}

/* All nodes are on the loopback. */
static int make(struct fabric_roster *roster, char *sentence)
{
    const union udp_address here = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    struct fabric_contact contact;
    struct fabric_finding finding;
    struct fabric_terms terms;
    char text[FABRIC_CONTACT_TEXT_BYTES];
    uint32_t rank;
    udp_contact_put(&contact, &here);
    int error = bind_nodes(roster, &contact, sentence);
    if (!error && survey(roster, &finding, &rank) != 0) {
        error = fabric_launch_refuse(sentence, DN_ESYSTEM, "there is no way to %s: %s",
                                     udp_contact_text(&roster->contacts[rank], text),
                                     strerror(errno));
    }
    error = error ? error : agree(roster, &finding, &terms, sentence);
    error = error ? error : seal(roster, &terms, sentence);
    explicit_bzero(&terms, sizeof terms);
    return error;
}

extern const struct fabric_launch udp_launch;
const struct fabric_launch udp_launch = {
    .name = "udp",
    .help = "packets over UDP",
    .options = options,
    .check = check,
    .make = make,
    .release = release,
    .files_by_node = 2,
    .variables = {UDP_ENV_ROSTER_FD, UDP_ENV_SOCKET_FD, UDP_ENV_SECRET_FD},
    .descriptors = descriptors,
    .hand_over = hand_over,
    .spans_hosts = true,
    .version = UDP_ROSTER_VERSION,
    .silence_ns = silence_ns,
    .find_host = udp_contact_find_host,
    .match_hosts = udp_contact_match_hosts,
    .contact_is_sound = udp_contact_is_sound,
    .contact_text = udp_contact_text,
    .bind = bind_nodes,
    .survey = survey,
    .merge = merge,
    .agree = agree,
    .seal = seal,
    .tell_machine = udp_show_machine,
    .file_name = "dimmnet-roster",
    .look = udp_show_look,
    .look_away = udp_show_look_away,
    .tell_group = udp_show_group,
    .tell_node = udp_show_node,
    .node_text = udp_show_address,
    .trip_ns = udp_show_trip_ns,
};
