#include "sim/subnet/barrier.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/ib_frame.h"

enum {
    CHILDREN = 8,
    DATA_BYTES = 8,
    HEADER_BYTES = 24, /* of a DIMMnet packet */
    ARRIVES = 0,
    RELEASES = 1,
};

struct barrier {
    struct subnet *subnet;
    struct flow *flow;
    struct sim_events events;
    uint16_t group;
    uint32_t boards;
    uint32_t *ports;    /* by board */
    uint32_t *board_of; /* by port */
    uint32_t *missing;  /* by board: words that have not come in this round, its own included */
    uint32_t released;
    uint64_t now_ps;
    uint64_t packets;
    uint32_t lost_port; /* SUBNET_NONE: nothing was lost */
    enum flow_loss why;
};

static uint32_t parent_of(uint32_t board)
{
    return (board - 1) / CHILDREN;
}

static uint32_t child_count(const struct barrier *barrier, uint32_t board)
{
    uint64_t first = (uint64_t)board * CHILDREN + 1;
    uint64_t left = first < barrier->boards ? barrier->boards - first : 0;
    return (uint32_t)(left < CHILDREN ? left : CHILDREN);
}

static void send(struct barrier *barrier, uint32_t from, uint16_t lid, uint64_t tag)
{
    const struct flow_packet packet = {
        .dlid = lid,
        .bytes = wire_ib_frame_bytes((DATA_BYTES + HEADER_BYTES) / WIRE_LINE_DATA_BYTES),
        .tag = tag,
    };
    barrier->packets++;
    flow_send(barrier->flow, barrier->now_ps, barrier->ports[from], &packet);
}

static uint16_t lid_of(const struct barrier *barrier, uint32_t board)
{
    return barrier->subnet->ports[barrier->ports[board]].lid;
}

/* A board has passed; without a group it tells its children. */
static void release(struct barrier *barrier, uint32_t board)
{
    barrier->released++;
    if (barrier->group == 0) {
        for (uint32_t i = 0; i < child_count(barrier, board); i++) {
            send(barrier, board, lid_of(barrier, board * CHILDREN + 1 + i), RELEASES);
        }
    } else if (board == 0) {
        send(barrier, 0, barrier->group, RELEASES);
    }
}

/* A word has come to a board, or it has arrived itself. */
static void count_down(struct barrier *barrier, uint32_t board)
{
    if (--barrier->missing[board] > 0) {
        return;
    }
    if (board > 0) {
        send(barrier, board, lid_of(barrier, parent_of(board)), ARRIVES);
    } else {
        release(barrier, 0);
    }
}

static void delivered(void *context, const struct flow_delivery *delivery)
{
    struct barrier *barrier = context;
    uint32_t board = barrier->board_of[delivery->target];
    if (delivery->tag == ARRIVES) {
        count_down(barrier, board);
    } else if (board != 0) {
        release(barrier, board);
    }
}

static void lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    struct barrier *barrier = context;
    (void)tag;
    barrier->lost_port = port;
    barrier->why = why;
}

static void run_round(struct barrier *barrier)
{
    struct sim_event event;
    barrier->released = 0;
    for (uint32_t i = 0; i < barrier->boards; i++) {
        barrier->missing[i] = child_count(barrier, i) + 1;
    }
    for (uint32_t i = 0; i < barrier->boards; i++) {
        count_down(barrier, i);
    }
    while (barrier->released < barrier->boards && sim_events_take(&barrier->events, &event)) {
        barrier->now_ps = event.at;
        flow_event(barrier->flow, &event);
    }
}

static void open_boards(struct barrier *barrier)
{
    struct subnet *subnet = barrier->subnet;
    uint32_t room = subnet->topology.board_count;
    barrier->ports = calloc(room, sizeof *barrier->ports);
    barrier->missing = calloc(room, sizeof *barrier->missing);
    barrier->board_of = calloc(subnet->port_count, sizeof *barrier->board_of);
    INVARIANT(barrier->ports && barrier->missing && barrier->board_of);
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (!subnet_is_switch(subnet, node)) {
            uint32_t port = subnet_port_index(subnet, node, 1);
            barrier->board_of[port] = barrier->boards;
            barrier->ports[barrier->boards++] = port;
        }
    }
}

bool barrier_run(struct subnet *subnet, const struct flow_config *config, uint16_t group,
                 uint32_t rounds, struct barrier_result *result, char text[TOPOLOGY_ERROR_BYTES])
{
    struct barrier barrier = {.subnet = subnet, .group = group, .lost_port = SUBNET_NONE};
    const struct flow_user user = {
        .context = &barrier,
        .events = &barrier.events,
        .delivered = delivered,
        .lost = lost,
    };
    uint64_t sum_ps = 0;
    open_boards(&barrier);
    barrier.flow = flow_open(subnet, config, &user);
    *result = (struct barrier_result){.least_ns = UINT64_MAX};
    while (result->rounds < rounds) {
        uint64_t began_ps = barrier.now_ps;
        run_round(&barrier);
        if (barrier.released < barrier.boards || barrier.lost_port != SUBNET_NONE) {
            break;
        }
        uint64_t took_ps = barrier.now_ps - began_ps;
        uint64_t took_ns = took_ps / 1000;
        sum_ps += took_ps;
        result->rounds++;
        result->least_ns = took_ns < result->least_ns ? took_ns : result->least_ns;
        result->most_ns = took_ns > result->most_ns ? took_ns : result->most_ns;
    }
    result->mean_ns = result->rounds > 0 ? (double)sum_ps / result->rounds / 1e3 : 0;
    result->packets = barrier.packets;
    bool is_good = result->rounds == rounds;
    if (!is_good) {
        char name[2 * TOPOLOGY_NAME_BYTES];
        uint32_t port = barrier.lost_port;
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES,
                       "after %u rounds %u of %u boards passed: a packet was lost (%s) at %s",
                       result->rounds, barrier.released, barrier.boards,
                       port == SUBNET_NONE ? "no member" : flow_loss_names[barrier.why],
                       port == SUBNET_NONE ? "some switch"
                                           : subnet_port_name(subnet, port, name, sizeof name));
    }
    flow_close(barrier.flow);
    sim_events_free(&barrier.events);
    free(barrier.ports);
    free(barrier.missing);
    free(barrier.board_of);
    return is_good;
}
