/* Joining, starting and stopping. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/seat/state.h"
#include "group/message.h"

enum {
    INCARNATION = 1, /* a rank lives once in a run */
    PGID = 1,
    CD_BUFFERS = 1024, /* packets that wait for their acknowledgement */
};

/* Of messages by Modified ACK/NACK, as on `udp`. */
#define MESSAGE_PAUSE_NS UINT64_C(100000)
#define MESSAGE_RESEND_NS UINT64_C(50000000)

struct seat_state seat_state = {.packets = {.carrier = &seat_carrier, .kicks_are_physical = true}};

static int find_area(void *context, uint32_t area, struct nic_extent *extent)
{
    const struct seat_state *seat = context;
    int error = by_packets_find_area(seat->view, area, extent);
    if (!error && seat->page->terms.is_loop) {
        extent->denied = 0; /* all that comes is the owner's own */
    }
    return error;
}

static bool permits(void *context, uint16_t source, const struct wire_operation *operation,
                    uint64_t address)
{
    const struct seat_state *seat = context;
    const struct group_geometry *geometry = &seat->view->facts.geometry;
    if (operation->opcode == WIRE_AOTF && operation->detail == WIRE_SKIP) {
        /* The sender's kernel has checked the right when it mapped the page. */
        uint64_t node = geometry->nodes_offset + seat->view->rank * geometry->node_stride_bytes;
        return address >= node && address - node < geometry->service_offset;
    }
    return fabric_grants_permit(seat->packets.grants, source, operation, address);
}

/* ---- The board ------------------------------------------------------------------------------- */

static void configure_messages(const struct seat_state *seat, struct nic_services_config *services)
{
    uint32_t room = seat->page->terms.body_bytes_max - WIRE_OPERATION_BYTES;
    nic_services_config_messages(services);
    services->context_count = GROUP_MESSAGE_SLOTS;
    services->context_peer_count = seat->view->node_count;
    services->context_receive_bytes = 0;
    room = room < NIC_MESSAGE_BYTES_MAX ? room : NIC_MESSAGE_BYTES_MAX;
    services->message_bytes_max = room / GROUP_UNIT_BYTES * GROUP_UNIT_BYTES;
    services->message_datagrams = true;
    services->message_asks_all = true;
    services->message_pause_ns = MESSAGE_PAUSE_NS;
    services->message_back_off_ns = MESSAGE_PAUSE_NS;
    services->message_resend_ns = MESSAGE_RESEND_NS;
}

static void configure(const struct seat_state *seat, struct board_config *config)
{
    const struct turn_terms *terms = &seat->page->terms;
    struct swif_config *swif = &config->swif;
    board_config_default(config, seat->view->node_count);
    config->lock_names_offset = (uint64_t)(group_node_memory(seat->view, seat->view->rank) -
                                           (unsigned char *)seat->view->group);
    configure_messages(seat, &config->services);
    swif->node = (uint16_t)seat->view->rank;
    swif->pgid = PGID;
    swif->incarnation = INCARNATION;
    swif->lives_once = true;
    swif->packet_bytes_max = swif_packet_bytes(terms->body_bytes_max);
    swif->ltee_count = terms->context_count > 0 ? terms->context_count : swif->ltee_count;
    swif->rtee_count = terms->context_count > 0 ? terms->context_count : swif->rtee_count;
    swif->ways = terms->ways > 0 ? terms->ways : swif->ways;
    swif->buffer_count[WIRE_REQUEST] = CD_BUFFERS;
    swif->buffer_count[WIRE_REPLY] = CD_BUFFERS;
    swif->stage_max = (enum wire_stage)terms->stage_max;
    /* The papers' hardware has only a window. The simulator tells deaths. */
    swif->congestion_control = false;
    swif->peer_timeout_ns = UINT64_MAX >> 10;
}

static int make_board(struct seat_state *seat)
{
    struct by_packets *packets = &seat->packets;
    struct board_config config;
    configure(seat, &config);
    seat->space_bytes = board_bytes(&config);
    if (seat->space_bytes == 0) {
        return DN_EGROUP;
    }
    seat->space = mmap(NULL, seat->space_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (seat->space == MAP_FAILED) {
        seat->space = NULL;
        return DN_ENOMEM;
    }
    (void)madvise(seat->space, seat->space_bytes, MADV_DONTFORK);
    struct nic_local_memory memory = {
        .context = seat,
        .base = (unsigned char *)seat->view->group,
        .bytes = seat->view->facts.geometry.total_bytes,
        .find = find_area,
        .permits = permits,
    };
    int error;
    if (seat->page->terms.is_cd) {
        const struct board_listener nobody = {0};
        error = board_init(&packets->board, &config, &memory, NULL, &nobody, 0, seat->space);
    } else {
        struct nic_network network = seat_plain_network(seat);
        error = board_init_plain(&packets->board, &config, &memory, &network, seat->space);
    }
    return error ? DN_EGROUP
                 : nic_user_set(packets->board.engine, BY_PACKETS_SYSTEM_USER,
                                BY_PACKETS_SYSTEM_CREDIT);
}

static void release(struct seat_state *seat)
{
    if (seat->space) {
        (void)munmap(seat->space, seat->space_bytes);
    }
    if (seat->packets.grants) {
        fabric_grants_free(seat->packets.grants);
    }
    if (seat->counter_fd >= 0) {
        /* Not by the C library, which makes it a cancellation point (base/uncancelled.h). */
        (void)syscall(SYS_close, seat->counter_fd);
        seat->counter_fd = -1;
    }
    free(seat->ways);
    free(seat->parting_ns);
    free(seat->packet);
    seat->space = NULL;
    seat->packets.grants = NULL;
    seat->ways = NULL;
    seat->parting_ns = NULL;
    seat->packet = NULL;
}

/* ---- Joining --------------------------------------------------------------------------------- */

static int seat_join(uint32_t node_count, const struct group_sizes **own)
{
    struct seat_state *seat = &seat_state;
    uint64_t fd;
    if (!fabric_environment_number(SEAT_ENV_PAGE_FD, INT32_MAX, &fd)) {
        return DN_EGROUP;
    }
    struct turn_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd,
                                  0);
    if (page == MAP_FAILED) {
        return errno == ENOMEM ? DN_ENOMEM : DN_EGROUP;
    }
    (void)madvise(page, sizeof *page, MADV_DONTFORK);
    seat->page = page;
    if (page->magic != TURN_MAGIC) {
        return DN_EGROUP;
    }
    if (page->version != TURN_VERSION) {
        return DN_EVERSION;
    }
    const uint64_t *sizes = page->terms.sizes;
    seat->sizes = (struct group_sizes){sizes[0], sizes[1], sizes[2], sizes[3]};
    *own = &seat->sizes;
    return page->node_count == node_count ? 0 : DN_EGROUP;
}

static void reset(struct seat_state *seat, const struct fabric_start *start)
{
    seat->view = start->view;
    seat->control = start->control;
    seat->turn_is_here = true;
    seat->is_kicked = false;
    seat->now_ns = 0;
    seat->step_count = 0;
    seat->vain_looks = seat->clock_reads = 0;
    seat->packet_count = 0;
    seat->last_packet = NULL;
    seat->parting_count = 0;
    seat->header_misses = seat->context_misses = seat->retransmissions = seat->arrivals = 0;
    seat->counter_fd = -1;
    atomic_store(&seat->generation, 1);
}

/* Counts the instructions of this thread and its children, outside the kernel. */
static int open_counter(struct seat_state *seat)
{
    struct perf_event_attr wanted = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof wanted,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    if (seat->page->terms.compute != TURN_COMPUTE_INSTRUCTIONS) {
        return 0;
    }
    seat->counter_fd = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return seat->counter_fd >= 0 ? 0 : DN_ESYSTEM;
}

static int seat_start(const struct fabric_start *start)
{
    struct seat_state *seat = &seat_state;
    reset(seat, start);
    by_packets_mark_roads(seat->view, seat->page->terms.is_loop);
    uint32_t nodes = seat->view->node_count;
    seat->ways = calloc(nodes, sizeof *seat->ways);
    seat->parting_ns = calloc(nodes, sizeof *seat->parting_ns);
    seat->packet = malloc(swif_packet_bytes(seat->page->terms.body_bytes_max));
    int error = seat->ways && seat->parting_ns && seat->packet ? 0 : DN_ENOMEM;
    error = error ? error : fabric_grants_make(seat->view, seat->control, &seat->packets.grants);
    error = error ? error : make_board(seat);
    error = error ? error : open_counter(seat);
    if (error) {
        release(seat);
        return error;
    }
    seat->running = true;
    atomic_store(&seat->page->process_id, (uint32_t)getpid());
    fabric_mutex_take(&seat->packets.lock);
    seat_close_turn(seat, TURN_ATTACH, 0);
    fabric_mutex_give(&seat->packets.lock);
    return 0;
}

/* Waits until whoever has to know that this node released its locks knows it, or is gone, so that
 * nobody inherits a lock that we had released. */
static void settle_locks(struct seat_state *seat)
{
    const struct nic_network *network = &seat->packets.board.network;
    uint64_t seen = atomic_load(&seat->generation);
    bool is_marked = false;
    uint64_t mark = 0;
    for (;;) {
        fabric_mutex_take(&seat->packets.lock);
        seat_want_turn(seat);
        seat_send(seat);
        if (!is_marked) {
            is_marked = nic_packet_locks_are_told(seat->packets.board.services);
            mark = network->mark(network->context);
        }
        bool is_settled = is_marked && network->mark_is_passed(network->context, mark);
        fabric_mutex_give(&seat->packets.lock);
        if (is_settled) {
            return;
        }
        seat_nap(seat, UINT64_MAX, &seen);
    }
}

static void seat_stop(void)
{
    struct seat_state *seat = &seat_state;
    if (seat->running) {
        by_packets_settle_all(&seat->packets);
        settle_locks(seat);
        fabric_mutex_take(&seat->packets.lock);
        seat_send_last(seat);
        seat_close_turn(seat, TURN_LEAVE, 0);
        seat->running = false;
        release(seat);
        fabric_mutex_give(&seat->packets.lock);
    }
    if (seat->page) {
        (void)munmap(seat->page, sizeof *seat->page);
        seat->page = NULL;
    }
}

static uint64_t now_ns(void)
{
    return seat_now_ns(&seat_state);
}

const struct fabric seat_fabric = {
    .variable = SEAT_ENV_PAGE_FD,
    .ops = &seat_ops,
    .join = seat_join,
    .start = seat_start,
    .stop = seat_stop,
    .now_ns = now_ns,
    .meters = seat_meters,
    .entered_call = seat_entered_call,
    .left_call = seat_left_call,
};
