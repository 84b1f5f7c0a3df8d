#include "sim/subnet/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/latency.h"
#include "wire/ib_frame.h"

enum { FLOW_EVENTS, BRIDGE_EVENTS, SEND_EVENTS };

const char *const load_pattern_names[LOAD_PATTERNS] = {
    [LOAD_UNIFORM] = "uniform",       [LOAD_SHIFT] = "shift",
    [LOAD_NEIGHBOUR] = "neighbour",   [LOAD_PERMUTATION] = "permutation",
    [LOAD_ALL_TO_ALL] = "all-to-all", [LOAD_HOT_SPOT] = "hot-spot",
};
const char *const load_carrier_names[LOAD_CARRIERS] = {
    [LOAD_BRIDGES] = "bridge",
    [LOAD_DATAGRAMS] = "datagram",
};
const char *const load_outcome_names[LOAD_OUTCOMES] = {
    [LOAD_DONE] = "done",
    [LOAD_SATURATED] = "saturated",
    [LOAD_DEADLOCKED] = "deadlocked",
    [LOAD_STUCK] = "stuck",
};

struct board {
    uint32_t port;
    uint32_t turn;   /* of all-to-all */
    uint32_t target; /* of a permutation */
    uint64_t gap_ps; /* the mean */
};

struct load {
    struct subnet *subnet;
    struct load_config config;
    struct load_watch watch;
    struct sim_events events;
    struct flow *flow;       /* datagrams' own, or the bridges' */
    struct bridges *bridges; /* NULL: datagrams */
    struct board *boards;
    uint32_t *board_of; /* by port */
    uint32_t board_count;
    uint32_t *sent_of, *seen_of; /* by source, target and flow: packets sent, the next expected */
    struct base_random random;
    uint64_t now_ps, event_count, look_next;
    uint64_t stop_ps; /* sending has ended */
    uint64_t sent, delivered, doubled, swapped;
    uint64_t window_sent, window_delivered; /* packets */
    uint64_t waiting_before, waiting_after; /* at boards, when the window began and ended */
    bool window_began, window_ended, is_over;
    uint64_t hops;
    struct sim_latency latency;
    enum load_outcome outcome;
    char circle[LOAD_CIRCLE_BYTES];
};

void load_config_default(struct load_config *config)
{
    *config = (struct load_config){
        .pattern = LOAD_UNIFORM,
        .carrier = LOAD_BRIDGES,
        .rate = 0.1,
        .hot_share = 0.1,
        .bytes = 256,
        .flows = BRIDGE_FLOWS,
        .warm_ps = 100000000,
        .window_ps = 1000000000,
        .drain_ps = 100000000000,
        .look_events = 200000,
        .seed = 1,
    };
}

const char *load_config_objection(const struct load_config *config, const struct subnet *subnet,
                                  char text[TOPOLOGY_ERROR_BYTES])
{
    const char *what = subnet->topology.board_count < 2 ? "there are fewer than two boards"
                       : !(config->rate > 0 && config->rate <= 1)
                           ? "the rate is not above 0 and up to 1"
                       : !(config->hot_share >= 0 && config->hot_share <= 1)
                           ? "the hot share is not from 0 to 1"
                       : config->flows < 1 || config->flows > BRIDGE_FLOWS
                           ? "there are 1 to 4 flows"
                       : config->window_ps == 0 ? "the window is empty"
                                                : NULL;
    if (!what && (config->bytes == 0 || config->bytes > BRIDGE_PACKET_BYTES_MAX ||
                  (config->carrier == LOAD_DATAGRAMS && config->bytes > subnet->config.mtu))) {
        (void)snprintf(
            text, TOPOLOGY_ERROR_BYTES,
            "a packet has %u bytes; a bridge takes 1 to %d, a datagram up to the MTU of %u",
            config->bytes, BRIDGE_PACKET_BYTES_MAX, subnet->config.mtu);
        return text;
    }
    if (what) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s", what);
    }
    return what ? text : NULL;
}

/* ---- What comes ------------------------------------------------------------------------- */

static size_t pair_of(const struct load *load, uint32_t source, uint32_t target, uint32_t flow)
{
    return ((size_t)source * load->board_count + target) * BRIDGE_FLOWS + flow;
}

static bool is_in_window(const struct load *load, uint64_t at_ps)
{
    return at_ps >= load->config.warm_ps && at_ps < load->config.warm_ps + load->config.window_ps;
}

static void count_delivery(struct load *load, uint32_t source, uint32_t target, uint32_t flow,
                           uint32_t number, uint64_t sent_ps)
{
    uint32_t *seen = &load->seen_of[pair_of(load, source, target, flow)];
    load->delivered++;
    if (number + 1 == *seen) {
        load->doubled++;
    } else if (number < *seen) {
        load->swapped++;
    } else {
        *seen = number + 1;
    }
    if (is_in_window(load, sent_ps)) {
        sim_latency_add(&load->latency, (load->now_ps - sent_ps) / 1000);
    }
    load->window_delivered += is_in_window(load, load->now_ps);
}

static void bridge_delivered(void *context, const struct bridge_delivery *delivery)
{
    count_delivery(context, delivery->source, delivery->target, delivery->flow,
                   (uint32_t)delivery->tag, delivery->sent_ps);
}

static void flow_delivered(void *context, const struct flow_delivery *delivery)
{
    struct load *load = context;
    load->hops += delivery->hops;
    count_delivery(load, load->board_of[delivery->source], load->board_of[delivery->target],
                   (uint32_t)(delivery->tag >> 32), (uint32_t)delivery->tag, delivery->sent_ps);
}

static uint8_t level_of(void *context, uint32_t source, uint32_t target, uint32_t flow)
{
    const struct load *load = context;
    return load->watch.level ? load->watch.level(load->watch.context, source, target, flow)
                             : (uint8_t)flow;
}

static void sight(void *context, const struct flow_sight *seen)
{
    const struct load *load = context;
    load->watch.sight(load->watch.context, seen);
}

/* ---- What is sent ----------------------------------------------------------------------- */

static uint32_t any_other(struct load *load, uint32_t board)
{
    uint32_t target = (uint32_t)base_random_below(&load->random, load->board_count - 1);
    return target + (target >= board);
}

static uint32_t choose_target(struct load *load, uint32_t board)
{
    uint32_t count = load->board_count;
    switch (load->config.pattern) {
    case LOAD_SHIFT: return (board + count / 2) % count;
    case LOAD_NEIGHBOUR: return (board + 1) % count;
    case LOAD_PERMUTATION: return load->boards[board].target;
    case LOAD_ALL_TO_ALL: return (board + 1 + load->boards[board].turn++ % (count - 1)) % count;
    case LOAD_HOT_SPOT: {
        enum { MILLION = 1000000 };
        bool is_hot = (double)base_random_below(&load->random, MILLION) <
                      load->config.hot_share * MILLION;
        return is_hot && board != 0 ? 0 : any_other(load, board);
    }
    default: return any_other(load, board);
    }
}

static uint32_t datagram_bytes(uint32_t bytes)
{
    return wire_ib_frame_bytes((bytes + WIRE_LINE_DATA_BYTES - 1) / WIRE_LINE_DATA_BYTES);
}

static void send_packet(struct load *load, uint32_t source)
{
    uint32_t target = choose_target(load, source);
    uint32_t flow = (uint32_t)(load->sent % load->config.flows);
    uint32_t number = load->sent_of[pair_of(load, source, target, flow)]++;
    load->sent++;
    load->window_sent += is_in_window(load, load->now_ps);
    if (load->bridges) {
        bridges_send(load->bridges, load->now_ps, source, target, flow, load->config.bytes, number);
        return;
    }
    const struct flow_packet packet = {
        .dlid = load->subnet->ports[load->boards[target].port].lid,
        .sl = level_of(load, source, target, flow),
        .bytes = datagram_bytes(load->config.bytes),
        .tag = (uint64_t)flow << 32 | number,
    };
    flow_send(load->flow, load->now_ps, load->boards[source].port, &packet);
}

/* Gaps are from nothing to twice the mean, in whole picoseconds: the same on every machine. */
static void put_next(struct load *load, uint32_t board)
{
    uint64_t at_ps = load->now_ps +
                     base_random_below(&load->random, 2 * load->boards[board].gap_ps + 1);
    bool is_enough = load->config.packets > 0 && load->sent >= load->config.packets;
    if (is_enough || at_ps >= load->config.warm_ps + load->config.window_ps) {
        load->stop_ps = load->now_ps;
        return;
    }
    sim_events_put(&load->events, at_ps, SEND_EVENTS, board, 0);
}

/* Draws until no board sends to itself. */
static void draw_permutation(struct load *load)
{
    bool is_good = false;
    for (uint32_t i = 0; i < load->board_count; i++) {
        load->boards[i].target = i;
    }
    while (!is_good) {
        is_good = true;
        for (uint32_t i = load->board_count - 1; i > 0; i--) {
            uint32_t other = (uint32_t)base_random_below(&load->random, i + 1);
            uint32_t target = load->boards[i].target;
            load->boards[i].target = load->boards[other].target;
            load->boards[other].target = target;
        }
        for (uint32_t i = 0; i < load->board_count; i++) {
            is_good = is_good && load->boards[i].target != i;
        }
    }
}

/* ---- Opening and closing ---------------------------------------------------------------- */

static void open_carrier(struct load *load, const struct flow_config *flow_config,
                         const struct bridge_config *bridge_config)
{
    if (load->config.carrier == LOAD_BRIDGES) {
        const struct bridge_user user = {
            .context = load,
            .events = &load->events,
            .event_kind = FLOW_EVENTS,
            .delivered = bridge_delivered,
            .level = level_of,
            .sight = load->watch.sight ? sight : NULL,
        };
        load->bridges = bridges_open(load->subnet, flow_config, bridge_config, &user);
        load->flow = bridges_flow(load->bridges);
        return;
    }
    const struct flow_user user = {
        .context = load,
        .events = &load->events,
        .event_kind = FLOW_EVENTS,
        .delivered = flow_delivered,
        .sight = load->watch.sight ? sight : NULL,
    };
    load->flow = flow_open(load->subnet, flow_config, &user);
}

struct load *load_open(struct subnet *subnet, const struct flow_config *flow_config,
                       const struct bridge_config *bridge_config, const struct load_config *config,
                       const struct load_watch *watch)
{
    struct load *load = calloc(1, sizeof *load);
    uint32_t count = subnet->topology.board_count;
    INVARIANT(load);
    load->subnet = subnet;
    load->config = *config;
    load->random.state = config->seed;
    load->look_next = config->look_events;
    if (watch) {
        load->watch = *watch;
    }
    load->boards = calloc(count, sizeof *load->boards);
    load->board_of = calloc(subnet->port_count, sizeof *load->board_of);
    size_t pairs = (size_t)count * count * BRIDGE_FLOWS;
    load->sent_of = calloc(pairs, sizeof *load->sent_of);
    load->seen_of = calloc(pairs, sizeof *load->seen_of);
    INVARIANT(load->boards && load->board_of && load->sent_of && load->seen_of);
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (!subnet_is_switch(subnet, node)) {
            struct board *board = &load->boards[load->board_count];
            board->port = subnet_port_index(subnet, node, 1);
            board->gap_ps = (uint64_t)(config->bytes * (double)FLOW_CYCLE_PS /
                                       (subnet->ports[board->port].width * config->rate));
            load->board_of[board->port] = load->board_count++;
        }
    }
    open_carrier(load, flow_config, bridge_config);
    draw_permutation(load);
    for (uint32_t i = 0; i < load->board_count; i++) {
        put_next(load, i);
    }
    return load;
}

void load_close(struct load *load)
{
    if (!load) {
        return;
    }
    if (load->bridges) {
        bridges_close(load->bridges);
    } else {
        flow_close(load->flow);
    }
    sim_events_free(&load->events);
    free(load->boards);
    free(load->board_of);
    free(load->sent_of);
    free(load->seen_of);
    free(load);
}

/* ---- Running ---------------------------------------------------------------------------- */

static uint64_t waiting(const struct load *load)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < load->board_count; i++) {
        count += load->bridges ? bridges_waiting(load->bridges, i)
                               : flow_waiting(load->flow, load->boards[i].port);
    }
    return count;
}

static uint64_t under_way(const struct load *load)
{
    return load->bridges ? bridges_under_way(load->bridges) : flow_under_way(load->flow);
}

static void watch_window(struct load *load)
{
    if (!load->window_began && load->now_ps >= load->config.warm_ps) {
        load->window_began = true;
        load->waiting_before = waiting(load);
    }
    if (!load->window_ended && load->now_ps >= load->config.warm_ps + load->config.window_ps) {
        load->window_ended = true;
        load->waiting_after = waiting(load);
    }
}

/* More and more waits if it grew by more than a tenth of what was sent meanwhile. */
static bool is_saturated(const struct load *load)
{
    return load->window_ended && load->waiting_after > load->waiting_before &&
           (load->waiting_after - load->waiting_before) * 10 > load->window_sent;
}

static void end(struct load *load, enum load_outcome outcome)
{
    load->is_over = true;
    load->outcome = outcome;
}

static void look_for_circle(struct load *load)
{
    load->look_next = load->event_count + load->config.look_events;
    if (flow_is_deadlocked(load->flow, load->circle, sizeof load->circle)) {
        end(load, LOAD_DEADLOCKED);
    }
}

static void handle(struct load *load, const struct sim_event *event)
{
    if (event->kind == SEND_EVENTS) {
        send_packet(load, event->subject);
        put_next(load, event->subject);
    } else if (load->bridges) {
        bridges_event(load->bridges, event);
    } else {
        flow_event(load->flow, event);
    }
}

bool load_step(struct load *load, uint64_t events, uint64_t until_ps)
{
    uint64_t end_ps = load->config.warm_ps + load->config.window_ps + load->config.drain_ps;
    struct sim_event event;
    while (!load->is_over && events-- > 0) {
        if (load->events.count > 0 && sim_events_next(&load->events) > until_ps) {
            load->now_ps = until_ps;
            break;
        }
        if (!sim_events_take(&load->events, &event)) {
            look_for_circle(load);
            if (!load->is_over) {
                end(load, under_way(load) > 0 ? LOAD_STUCK
                                              : (is_saturated(load) ? LOAD_SATURATED : LOAD_DONE));
            }
            break;
        }
        load->now_ps = event.at;
        load->event_count++;
        watch_window(load);
        handle(load, &event);
        if (load->event_count >= load->look_next) {
            look_for_circle(load);
        }
        if (load->now_ps > end_ps && !load->is_over) {
            end(load, LOAD_STUCK);
        }
    }
    return !load->is_over;
}

void load_changed(struct load *load)
{
    if (load->bridges) {
        bridges_changed(load->bridges, load->now_ps);
    } else {
        flow_changed(load->flow, load->now_ps);
    }
}

uint64_t load_now_ps(const struct load *load)
{
    return load->now_ps;
}

/* ---- For reports ------------------------------------------------------------------------ */

void load_result(const struct load *load, struct load_result *result)
{
    /* After so many packets, sending may have ended within the window. */
    uint64_t sent_ps = load->stop_ps > load->config.warm_ps ? load->stop_ps - load->config.warm_ps
                                                            : load->config.window_ps;
    bool is_cut_short = load->config.packets > 0 && sent_ps < load->config.window_ps;
    double window_cycles = (double)(is_cut_short ? sent_ps : load->config.window_ps) /
                           FLOW_CYCLE_PS;
    double lanes = load->subnet->ports[load->boards[0].port].width;
    double whole = window_cycles * lanes * load->board_count;
    *result = (struct load_result){
        .outcome = load->outcome,
        .offered = (double)load->window_sent * load->config.bytes / whole,
        .accepted = (double)load->window_delivered * load->config.bytes / whole,
        .sent = load->sent,
        .delivered = load->delivered,
        .lost = load->sent - load->delivered,
        .doubled = load->doubled,
        .swapped = load->swapped,
        .mean_ns = sim_latency_mean(&load->latency),
        .p50_ns = sim_latency_at(&load->latency, 0.5),
        .p99_ns = sim_latency_at(&load->latency, 0.99),
        .p999_ns = sim_latency_at(&load->latency, 0.999),
        .most_ns = load->latency.most,
        .hops_mean = load->delivered > 0 ? (double)load->hops / (double)load->delivered : NAN,
        .now_ps = load->now_ps,
        .events = load->event_count,
    };
    result->mb_per_s = result->accepted * lanes * 1e6 / FLOW_CYCLE_PS;
    flow_counters(load->flow, &result->flow);
    if (load->bridges) {
        bridge_counters(load->bridges, &result->bridge);
    }
    memcpy(result->circle, load->circle, sizeof result->circle);
}

uint64_t load_busy_ps(const struct load *load, uint32_t port)
{
    return flow_busy_ps(load->flow, port);
}

uint32_t load_bytes(const struct load *load, const struct flow_sight *seen, unsigned char *to)
{
    if (load->bridges) {
        return bridges_bytes(load->bridges, seen, to);
    }
    /* A datagram's lines hold its number. */
    struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    uint32_t count = (load->config.bytes + WIRE_LINE_DATA_BYTES - 1) / WIRE_LINE_DATA_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        lines[i] = (struct wire_line){
            .kind = count == 1      ? WIRE_LINE_SINGLE
                    : i == 0        ? WIRE_LINE_HEADER
                    : i < count - 1 ? WIRE_LINE_DATA
                                    : WIRE_LINE_TAIL,
            .bytes = WIRE_LINE_DATA_BYTES,
        };
        memcpy(lines[i].data, &seen->tag, sizeof lines[i].data);
    }
    const struct wire_ib_frame frame = {
        .kind = WIRE_IB_FRAME_DATA,
        .vl = seen->vl,
        .sl = seen->sl,
        .flow = (uint8_t)(seen->tag >> 32),
        .dlid = seen->dlid,
        .slid = seen->slid,
        .number = (uint16_t)seen->tag,
        .count = (uint16_t)count,
    };
    wire_ib_frame_encode(&frame, lines, to);
    return wire_ib_frame_bytes(count);
}
