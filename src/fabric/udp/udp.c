/* Starting and stopping the fabric; what it tells about itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/futex.h"
#include "fabric/udp/state.h"
#include "fabric/udp/vault.h"
#include "group/address.h"
#include "group/life.h"
#include "group/message.h"

#define SETTLE_NAP_NS UINT64_C(1000000)
#define VERDICT_MORE_NS UINT64_C(500000000) /* how much longer the launcher may take to decide */
#define NOW_AND_THEN_NS UINT64_C(100000000)
#define QUEUE_NS UINT64_C(200000)
#define LINGER_QUIET_NS UINT64_C(50000000) /* longer than a time-out of InfiniSWIF on a short way */
#define LINGER_LONGEST_NS UINT64_C(500000000)
#define ACKS_DUE_NS UINT64_C(50000) /* longer than InfiniSWIF lets one wait for company */

/* Of messages by Modified ACK/NACK: before one that was refused is sent again, so that a full
 * receiver is not drowned; and how long an answer may take where packets get lost. On a longer way
 * some are sent again in vain. */
#define MESSAGE_PAUSE_NS UINT64_C(100000)
#define MESSAGE_RESEND_NS UINT64_C(50000000)

enum {
    /* Memory for packets, of each class and for reordering; packets of 9 KiB are fewer. */
    REQUEST_BYTES = 16 << 20,
    REPLY_BYTES = 8 << 20,
    REORDER_BYTES = 4 << 20,
    LAST_BURSTS = 256, /* taken in before leaving, so that a flood does not hold us */
    LINGER_TRIPS = 3,  /* within so many a peer has sent again what it has no answer to */
};

struct udp_state udp_state = {.packets = {.carrier = &udp_carrier}, .socket = {.fd = -1}};

/* The address TLB's refill: where an area of this node lies in the group's memory. */
static int find_area(void *context, uint32_t area, struct nic_extent *extent)
{
    const struct udp_state *udp = context;
    return by_packets_find_area(udp->view, area, extent);
}

/* What a peer may do in FABRIC_AREA_GROUP. */
static bool permits(void *context, uint16_t source, const struct wire_operation *operation,
                    uint64_t address)
{
    const struct udp_state *udp = context;
    return fabric_grants_permit(udp->packets.grants, source, operation, address);
}
_Static_assert(FABRIC_AREA_GROUP == NIC_AREA_WHOLE, "the engine asks about it");

/* ---- Reports --------------------------------------------------------------------------- */

static void report(struct udp_state *udp, uint64_t now_ns)
{
    const struct swif_counters *swif = swif_counters(udp->packets.board.swif);
    const struct nic_engine_counters *engine = nic_engine_counters(udp->packets.board.engine);
    struct udp_report *report = udp_roster_report(udp->roster, udp->view->rank);
    const struct {
        _Atomic uint64_t *word;
        uint64_t value;
    } words[] = {
        {&report->packets_sent, swif->packets_sent},
        {&report->packets_received, swif->packets_received},
        {&report->bytes_sent, swif->bytes_sent},
        {&report->bytes_received, udp->bytes_received},
        {&report->retransmissions, swif->retransmissions},
        {&report->timeouts, swif->timeouts},
        {&report->duplicates, swif->duplicates},
        {&report->out_of_order, swif->out_of_order},
        {&report->malformed, swif->malformed},
        {&report->not_authentic, swif->not_authentic},
        {&report->not_ours, swif->not_ours},
        {&report->stale, swif->stale},
        {&report->acks_alone, swif->acks_alone},
        {&report->header_hits, engine->header_hits},
        {&report->header_misses, engine->header_misses},
        {&report->address_hits, engine->address_hits},
        {&report->address_misses, engine->address_misses},
        {&report->operations_refused, engine->refused},
        {&report->send_contexts_evicted, swif->ltee_evictions},
        {&report->receive_contexts_evicted, swif->rtee_evictions},
        {&report->peers_lost, swif->peers_lost},
        {&report->send_calls, udp->socket.send_calls},
        {&report->receive_calls, udp->socket.receive_calls},
        {&report->send_refused, udp->socket.send_refused},
        {&report->offload_send, udp->socket.offload_send},
        {&report->offload_receive, udp->socket.offload_receive},
        {&report->paths_narrowed, swif->paths_narrowed},
        {&report->paths_widened, swif->paths_widened},
        {&report->pieces_sent, swif->pieces_sent},
        {&report->process_id, (uint64_t)getpid()},
        {&report->updated_ns, now_ns},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        atomic_store_explicit(words[i].word, words[i].value, memory_order_relaxed);
    }
    _Atomic uint32_t *trips = udp_roster_trips(udp->roster, udp->view->rank);
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        struct swif_peer_state state;
        if (swif_peer_state(udp->packets.board.swif, (uint16_t)rank, &state)) {
            atomic_store_explicit(&trips[rank], (uint32_t)state.srtt_ns, memory_order_relaxed);
        }
    }
}

void udp_now_and_then(struct udp_state *udp, uint64_t now_ns)
{
    if (now_ns - udp->now_and_then_ns >= NOW_AND_THEN_NS) {
        udp->now_and_then_ns = now_ns;
        udp_vouch_for_starting(udp, now_ns);
        report(udp, now_ns);
    }
}

/* ---- Starting and stopping --------------------------------------------------------------- */

static uint32_t at_most(uint64_t count, uint32_t limit)
{
    return count < limit ? (uint32_t)count : limit;
}

/* For contexts with flags: they write their own rings. Of what is not used nothing is touched.
 * Records fit on every path, because datagrams do not travel in pieces. */
static void configure_messages(const struct udp_roster *roster,
                               struct nic_services_config *services)
{
    uint32_t room = at_most(UDP_PATH_BYTES_MIN, roster->packet_bytes_max) -
                    swif_packet_bytes(WIRE_OPERATION_BYTES);
    nic_services_config_messages(services);
    services->context_count = GROUP_MESSAGE_SLOTS;
    services->context_peer_count = roster->node_count;
    services->context_receive_bytes = 0;
    services->message_bytes_max = at_most(room / GROUP_UNIT_BYTES * GROUP_UNIT_BYTES,
                                          NIC_MESSAGE_BYTES_MAX);
    services->message_datagrams = true;
    services->message_asks_all = true;
    services->message_pause_ns = MESSAGE_PAUSE_NS;
    services->message_back_off_ns = MESSAGE_PAUSE_NS;
    services->message_resend_ns = MESSAGE_RESEND_NS;
}

static void configure(const struct udp_state *udp, struct board_config *config)
{
    const struct udp_roster *roster = udp->roster;
    struct swif_config *swif = &config->swif;
    board_config_default(config, roster->node_count);
    config->lock_names_offset = (uint64_t)(group_node_memory(udp->view, udp->view->rank) -
                                           (unsigned char *)udp->view->group);
    configure_messages(roster, &config->services);
    swif->node = (uint16_t)udp->view->rank;
    swif->pgid = roster->pgid;
    swif->incarnation = udp->incarnation;
    swif->lives_once = true;
    swif->packet_bytes_max = roster->packet_bytes_max;
    swif->path_bytes_min = UDP_PATH_BYTES_MIN;
    swif->peer_timeout_ns = roster->peer_timeout_ns;
    swif->verdict_ns = group_life_hearing_ns(roster->peer_timeout_ns) + VERDICT_MORE_NS;
    swif->queue_ns = QUEUE_NS;
    swif->watch_max = roster->node_count;
    swif->buffer_count[WIRE_REQUEST] = at_most(REQUEST_BYTES / roster->packet_bytes_max, 8192);
    swif->buffer_count[WIRE_REPLY] = at_most(REPLY_BYTES / roster->packet_bytes_max, 4096);
    swif->reorder_count = at_most(REORDER_BYTES / roster->packet_bytes_max, 2048);
}

/* The secret is in vaults only: in one of its own until the guard has it. */
static int make_guard(struct udp_state *udp)
{
    struct udp_guard_config config = {
        .cipher = (enum udp_cipher)udp->roster->cipher,
        .encrypt = udp->roster->encrypt != 0,
        .node_count = udp->roster->node_count,
        .incarnation = udp->incarnation,
        .node = (uint16_t)udp->view->rank,
    };
    struct udp_vault vault;
    uint64_t fd;
    if (!fabric_environment_number(UDP_ENV_SECRET_FD, INT32_MAX, &fd)) {
        return DN_EGROUP;
    }
    int error = udp_vault_open(&vault, UDP_SECRET_BYTES, 1);
    if (error) {
        return error;
    }
    unsigned char *secret = udp_vault_take(&vault);
    error = udp_secret_take((int)fd, secret);
    config.secret = secret;
    if (!error && config.cipher != UDP_CIPHER_NONE) {
        error = udp_guard_make(&config, &udp->guard);
    }
    udp_vault_close(&vault);
    return error;
}

static int make_board(struct udp_state *udp, uint64_t now_ns)
{
    struct board_config config;
    configure(udp, &config);
    udp->space_bytes = board_bytes(&config);
    if (udp->space_bytes == 0) {
        return DN_EGROUP;
    }
    udp->space = mmap(NULL, udp->space_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (udp->space == MAP_FAILED) {
        udp->space = NULL;
        return DN_ENOMEM;
    }
    (void)madvise(udp->space, udp->space_bytes, MADV_DONTFORK);
    struct nic_local_memory memory = {
        .context = udp,
        .base = (unsigned char *)udp->view->group,
        .bytes = udp->view->facts.geometry.total_bytes,
        .find = find_area,
        .permits = permits,
    };
    struct board_listener listener = {
        .context = udp,
        .peer_lost = udp_peer_lost,
        .peer_suspected = udp_peer_suspected,
    };
    struct swif_guard hooks;
    if (udp->guard) {
        hooks = udp_guard_hooks(udp->guard);
    }
    int error = board_init(&udp->packets.board, &config, &memory, udp->guard ? &hooks : NULL,
                           &listener, now_ns, udp->space);
    for (uint32_t rank = 0; rank < udp->view->node_count && !error; rank++) {
        if (rank != udp->view->rank) {
            udp_meet(udp, now_ns, rank);
            /* Somebody may wait for the peer while nothing is under way to it. */
            (void)swif_watch(udp->packets.board.swif, now_ns, (uint16_t)rank);
        }
    }
    return error ? DN_EGROUP
                 : nic_user_set(udp->packets.board.engine, BY_PACKETS_SYSTEM_USER,
                                BY_PACKETS_SYSTEM_CREDIT);
}

static void release(struct udp_state *udp)
{
    if (udp->space) {
        (void)munmap(udp->space, udp->space_bytes);
    }
    if (udp->guard) {
        udp_guard_free(udp->guard);
    }
    if (udp->packets.grants) {
        fabric_grants_free(udp->packets.grants);
    }
    free(udp->burst);
    free(udp->received);
    free(udp->peers);
    if (udp->socket.fd >= 0) {
        udp_socket_close(&udp->socket);
    }
    udp->space = NULL;
    udp->guard = NULL;
    udp->packets.grants = NULL;
    udp->burst = udp->received = NULL;
    udp->peers = NULL;
    udp->socket.fd = -1;
}

/* Everything starts anew: a process may attach to one group after another. */
static void reset(struct udp_state *udp, const struct fabric_start *start)
{
    udp->view = start->view;
    udp->control = start->control;
    udp->tell_launcher = start->tell_launcher;
    udp->core_is_free = start->view->node_count <= start->control->facts.core_count;
    udp->unsent = 0;
    udp->owes = udp->burst_waits = false;
    udp->burst_start = udp->burst_end = 0;
    udp->bytes_received = 0;
    udp->lives_seen = atomic_load(&udp->control->group->change_count) - 1;
    udp->starting_count = udp->parting_count = 0;
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        udp->starting_count += group_life(udp->view, rank) == DN_STARTING &&
                               rank != udp->view->rank;
    }
    udp->now_and_then_ns = 0;
    atomic_store(&udp->generation, 1);
    atomic_store(&udp->driven_ns, 0);
    atomic_store(&udp->napping, 0);
    atomic_store(&udp->stop, 0);
}

/* The launcher made these numbers, but a node that started earlier could have overwritten them. */
static bool terms_make_sense(const struct udp_roster *roster)
{
    return roster->packet_bytes_max != 0 && roster->packet_bytes_max <= WIRE_PACKET_BYTES_MAX &&
           roster->cipher <= UDP_CIPHER_CHACHA20 && roster->peer_timeout_ns != 0;
}

/* Every process sends by a key of its own, whatever became of others in its rank: this number goes
 * into the key. 0 means "not known" on the wire. */
static int choose_incarnation(uint32_t *incarnation)
{
    *incarnation = 0;
    while (*incarnation == 0) {
        /* Not by the C library, which makes it a cancellation point (base/uncancelled.h). */
        long bytes = syscall(SYS_getrandom, incarnation, sizeof *incarnation, 0);
        if (bytes != sizeof *incarnation && errno != EINTR) {
            return DN_ESYSTEM;
        }
    }
    return 0;
}

/* The roster says how large the memory is that this process makes. */
static int udp_join(uint32_t node_count, const struct group_sizes **own)
{
    struct udp_state *udp = &udp_state;
    uint64_t fd;
    int error = fabric_environment_number(UDP_ENV_ROSTER_FD, INT32_MAX, &fd)
                    ? udp_roster_map((int)fd, &udp->file)
                    : DN_EGROUP;
    if (error) {
        return error;
    }
    udp->roster = udp->file.roster;
    if (udp->roster->node_count != node_count || !terms_make_sense(udp->roster)) {
        return DN_EGROUP;
    }
    *own = &udp->roster->sizes;
    return 0;
}

static int udp_start(const struct fabric_start *start)
{
    struct udp_state *udp = &udp_state;
    uint64_t fd;
    if (!fabric_environment_number(UDP_ENV_SOCKET_FD, INT32_MAX, &fd)) {
        return DN_EGROUP;
    }
    int error = choose_incarnation(&udp->incarnation);
    if (error) {
        return error;
    }
    reset(udp, start);
    by_packets_mark_roads(udp->view, false);
    udp_socket_use(&udp->socket, (int)fd);
    /* A connected socket gets packets before the filter of a board is asked, other groups', too. */
    udp->may_connect = udp->view->node_count == 2 && !udp->socket.is_shared;
    udp->burst = malloc(UDP_BURST_BUFFER_BYTES);
    udp->received = malloc(UDP_BURST_BYTES_MAX);
    udp->peers = calloc(udp->view->node_count, sizeof *udp->peers);
    error = udp->burst && udp->received && udp->peers ? make_guard(udp) : DN_ENOMEM;
    error = error ? error : fabric_grants_make(udp->view, udp->control, &udp->packets.grants);
    error = error ? error : make_board(udp, fabric_now_ns());
    error = error ? error : fabric_thread_start(&udp->helper, udp_help, udp, start->stop_signal);
    if (error) {
        int saved = errno;
        release(udp);
        errno = saved;
        return error;
    }
    /* Release: pairs with the acquire in udp_meet. */
    atomic_store_explicit(&udp_roster_report(udp->roster, udp->view->rank)->incarnation,
                          udp->incarnation, memory_order_release);
    udp->running = true;
    return 0;
}

/* Waits until whoever has to know that this node released its locks knows it, or is gone, so that
 * nobody inherits a lock that we had released. */
static void settle_locks(struct udp_state *udp)
{
    bool is_marked = false;
    bool is_settled = false;
    uint64_t mark = 0;
    uint64_t seen = 0;
    while (!is_settled) {
        fabric_mutex_take(&udp->packets.lock);
        if (!is_marked) {
            nic_engine_run(udp->packets.board.engine, fabric_now_ns());
            is_marked = nic_packet_locks_are_told(udp->packets.board.services);
            mark = swif_mark(udp->packets.board.swif);
        }
        is_settled = is_marked && swif_mark_is_passed(udp->packets.board.swif, mark);
        fabric_mutex_give(&udp->packets.lock);
        if (!is_settled) {
            udp_nap(udp, SETTLE_NAP_NS, &seen);
        }
    }
}

/* The time in which all peers that are there would have sent again what they wait for, beyond
 * LINGER_QUIET_NS. */
static uint64_t long_ways_ns(struct udp_state *udp)
{
    uint64_t longest_ns = 0;
    fabric_mutex_take(&udp->packets.lock);
    for (uint32_t rank = 0; rank < udp->view->node_count; rank++) {
        struct swif_peer_state state;
        if (!group_life_gone(group_life(udp->view, rank)) &&
            swif_peer_state(udp->packets.board.swif, (uint16_t)rank, &state)) {
            longest_ns = state.srtt_ns > longest_ns ? state.srtt_ns : longest_ns;
        }
    }
    fabric_mutex_give(&udp->packets.lock);
    return LINGER_TRIPS * longest_ns;
}

/* On a network that loses packets the last acknowledgements may have been lost: whoever waits
 * for one sends again, and gets it, before this node is known to have left. */
static void linger(struct udp_state *udp)
{
    const struct swif_counters *counters = swif_counters(udp->packets.board.swif);
    uint64_t more_ns = long_ways_ns(udp);
    uint64_t now_ns = fabric_now_ns();
    uint64_t end_ns = now_ns + LINGER_LONGEST_NS + more_ns;
    uint64_t quiet_since_ns = now_ns;
    uint64_t known_bytes = 0;
    uint64_t seen = 0;
    bool is_over = false;
    while (!is_over) {
        fabric_mutex_take(&udp->packets.lock);
        bool is_clean = counters->retransmissions == 0 && counters->duplicates == 0;
        quiet_since_ns = udp->bytes_received == known_bytes ? quiet_since_ns : now_ns;
        known_bytes = udp->bytes_received;
        fabric_mutex_give(&udp->packets.lock);
        is_over = is_clean || now_ns - quiet_since_ns >= LINGER_QUIET_NS + more_ns ||
                  now_ns >= end_ns || group_peers_all_gone(udp->view);
        if (!is_over) {
            udp_nap(udp, SETTLE_NAP_NS, &seen);
            now_ns = fabric_now_ns();
        }
    }
}

static void leave(struct udp_state *udp)
{
    by_packets_settle_all(&udp->packets);
    settle_locks(udp);
    linger(udp);
    atomic_store_explicit(&udp->stop, 1, memory_order_release);
    futex_wake_all(&udp->stop);
    pthread_join(udp->helper, NULL);
    /* Peers get the acknowledgements that they wait for. */
    fabric_mutex_take(&udp->packets.lock);
    uint64_t now_ns = fabric_now_ns();
    for (int burst = 0; burst < LAST_BURSTS && udp_receive(udp); burst++) {
    }
    udp_transmit(udp, now_ns + ACKS_DUE_NS);
    report(udp, now_ns);
    udp->running = false;
    release(udp);
    fabric_mutex_give(&udp->packets.lock);
}

static void udp_stop(void)
{
    struct udp_state *udp = &udp_state;
    if (udp->running) {
        leave(udp);
    }
    if (udp->roster) {
        udp_roster_unmap(&udp->file);
        udp->roster = NULL;
    }
}

const struct fabric udp_fabric = {
    .variable = UDP_ENV_ROSTER_FD,
    .ops = &udp_ops,
    .join = udp_join,
    .start = udp_start,
    .stop = udp_stop,
};
