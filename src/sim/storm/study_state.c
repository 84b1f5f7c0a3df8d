/* How much memory a node needs that knows all others, and what it costs to reach many of them
 * through few contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/board.h"
#include "sim/storm/study_net.h"

#define US UINT64_C(1000)

/* ---- State -------------------------------------------------------------------------- */

enum { HOT = 1024 };

static int find_nothing(void *context, uint32_t area, struct nic_extent *extent)
{
    (void)context;
    (void)area;
    (void)extent;
    return DN_EAREA;
}

/* Makes every peer known and sends to as many at once as there are contexts; gives how many are
 * known and how many have a context. (Not every choice of HOT peers fits: a set of the cache holds
 * only as many as it has ways.) */
static void fill(struct board *board, uint32_t node_count, uint32_t *known, uint32_t *hot)
{
    const uint64_t now_ns = 1;
    struct swif_peer_state state;
    unsigned char *room;
    uint32_t sent = 0;
    *known = *hot = 0;
    for (uint32_t peer = 1; peer < node_count; peer++) {
        swif_peer_is(board->swif, now_ns, (uint16_t)peer, peer);
    }
    for (uint32_t peer = 1; peer < node_count && sent < HOT; peer++) {
        struct wire_route route = {.target = (uint16_t)peer, .class = WIRE_REQUEST};
        if (swif_append(board->swif, now_ns, &route, WIRE_OPERATION_BYTES, &room) == 0) {
            memset(room, 0, WIRE_OPERATION_BYTES);
            sent++;
        }
    }
    for (uint32_t peer = 1; peer < node_count; peer++) {
        *known += swif_peer_incarnation(board->swif, (uint16_t)peer) == peer;
        *hot += swif_peer_state(board->swif, (uint16_t)peer, &state);
    }
}

bool storm_study_state(const struct storm_printer *printer)
{
    const double limit_bytes = 64.0 * 1024 * 1024;
    struct board_config config;
    struct board board;
    unsigned char memory[64] = {0};
    const struct nic_local_memory local = {
        .base = memory, .bytes = sizeof memory, .find = find_nothing};
    const struct board_listener nobody = {0};
    board_config_default(&config, WIRE_NODES_MAX);
    config.swif.incarnation = 1;
    uint64_t bytes = board_bytes(&config);
    void *space = aligned_alloc(CACHE_LINE_BYTES, bytes);
    INVARIANT(space && bytes > 0);
    memset(space, 0, bytes);
    int error = board_init(&board, &config, &local, NULL, &nobody, 0, space);
    INVARIANT(error == 0);
    uint32_t known;
    uint32_t hot;
    fill(&board, WIRE_NODES_MAX, &known, &hot);
    free(space);
    struct storm_row row = {
        .study = "state",
        .detail = "one node",
        .nodes = WIRE_NODES_MAX,
        .figures = {{"known_peers", known},
                    {"hot_peers", hot},
                    {"board_bytes", (double)bytes},
                    {"swif_bytes", (double)swif_bytes(&config.swif)},
                    {"bar_bytes", limit_bytes}},
        .ratio = (double)bytes / limit_bytes,
        .bar = "<= 1",
        .missed = (double)bytes > limit_bytes || known != WIRE_NODES_MAX - 1 || hot < HOT,
    };
    printer->row(printer->context, &row);
    return !row.missed;
}

/* ---- Contexts --------------------------------------------------------------------------- */

enum { BODY_BYTES = 24 }; /* one small operation */

struct load {
    uint32_t in_flight_max;
    bool all_send;
    uint64_t appended[2]; /* by whether the context was at stop-and-wait */
};

/* Starts single operations to peers drawn at random, as many at a time as the load says. */
static void feed_uniform(struct study_node *node)
{
    struct study_net *net = node->net;
    struct load *load = net->context;
    struct swif_peer_state state;
    if (node->number != 0 && !load->all_send) {
        return;
    }
    while (node->appended_count - node->acknowledged_count < load->in_flight_max) {
        uint16_t target = (uint16_t)base_random_below(&net->random, net->node_count - 1);
        target = (uint16_t)(target + (target >= node->number));
        if (study_append(node, target, BODY_BYTES, 1) != 0) {
            return;
        }
        bool known = swif_peer_state(node->swif, target, &state);
        load->appended[known && state.stage != WIRE_STOP_AND_WAIT]++;
    }
}

struct outcome {
    double operation_ns; /* of one node */
    double miss_share, evictions_per_operation, stop_and_wait_share;
};

struct shape {
    uint32_t peers;
    bool all_send;
    const uint32_t *in_flight; /* operations of a node at a time; 0 ends them */
    uint64_t operations;       /* of node 0, measured after as many unmeasured ones */
};

/* Nodes that only answer need not know numbers above their own, nor hold more than a packet or
 * two. */
static void add_nodes(struct study_net *net, const struct shape *shape, uint32_t contexts)
{
    struct swif_config config;
    swif_config_default(&config, net->node_count);
    config.packet_bytes_max = 256;
    config.ltee_count = config.rtee_count = contexts;
    config.buffer_count[WIRE_REQUEST] = config.buffer_count[WIRE_REPLY] = 1024;
    config.reorder_count = 256;
    study_net_add(net, 0, &config);
    if (!shape->all_send) {
        config.ltee_count = config.rtee_count = 4;
        config.buffer_count[WIRE_REQUEST] = config.buffer_count[WIRE_REPLY] = 4;
        config.reorder_count = 4;
    }
    for (uint32_t i = 1; i < net->node_count; i++) {
        config.node_count = shape->all_send ? net->node_count : i + 1;
        study_net_add(net, (uint16_t)i, &config);
        for (uint32_t j = 0; j < (shape->all_send ? i : 1); j++) {
            study_net_introduce(net, (uint16_t)i, (uint16_t)j);
        }
    }
}

static struct outcome measure_load(struct study_net *net, struct load *load, uint64_t operations)
{
    const struct study_node *node = &net->nodes[0];
    for (uint32_t i = 0; i < (load->all_send ? net->node_count : 1); i++) {
        study_net_start(net, (uint16_t)i);
    }
    study_net_run_operations(net, node, operations);
    struct swif_counters before = *swif_counters(node->swif);
    uint64_t begin_ns = net->now_ns;
    load->appended[0] = load->appended[1] = 0;
    study_net_run_operations(net, node, operations);
    const struct swif_counters *after = swif_counters(node->swif);
    double misses = (double)(after->ltee_misses - before.ltee_misses);
    double hits = (double)(after->ltee_hits - before.ltee_hits);
    double evictions = (double)(after->ltee_evictions - before.ltee_evictions);
    double appended = (double)(load->appended[0] + load->appended[1]);
    return (struct outcome){
        .operation_ns = (double)(net->now_ns - begin_ns) / (double)operations,
        .miss_share = misses / (hits + misses),
        .evictions_per_operation = evictions / (double)operations,
        .stop_and_wait_share = (double)load->appended[0] / appended,
    };
}

/* All loads of a shape, one after the other on the same nodes. */
static void measure_shape(const struct shape *shape, uint32_t contexts, struct outcome *outcomes)
{
    struct study_net net;
    struct load load = {.all_send = shape->all_send};
    study_net_init(&net, shape->peers + 1);
    net.bits_per_s = UINT64_C(10000000000);
    net.latency_ns = 10 * US;
    net.port_bytes = 512 * 1024;
    net.feed = feed_uniform;
    net.context = &load;
    add_nodes(&net, shape, contexts);
    for (unsigned i = 0; shape->in_flight[i]; i++) {
        load.in_flight_max = shape->in_flight[i];
        outcomes[i] = measure_load(&net, &load, shape->operations);
    }
    study_net_free(&net);
}

enum { LOADS_MAX = 4 };

static void print_outcome(const struct storm_printer *printer, const struct shape *shape,
                          uint32_t in_flight, uint32_t contexts, const struct outcome *outcome,
                          double raw_ns)
{
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%s to %u peers, %u at a time, %u contexts",
                   shape->all_send ? "all" : "one", shape->peers, in_flight, contexts);
    struct storm_row row = {
        .study = "cache",
        .detail = detail,
        .nodes = shape->peers + 1,
        .figures = {{"op_ns", outcome->operation_ns},
                    {"raw_ns", raw_ns},
                    {"miss_share", outcome->miss_share},
                    {"evictions_per_op", outcome->evictions_per_operation},
                    {"stop_and_wait_share", outcome->stop_and_wait_share}},
        .ratio = outcome->operation_ns / raw_ns,
        .bar = "none",
    };
    printer->row(printer->context, &row);
}

static void compare(const struct storm_printer *printer, const struct shape *shape, uint32_t few,
                    uint32_t enough)
{
    struct outcome with_few[LOADS_MAX];
    struct outcome with_enough[LOADS_MAX];
    measure_shape(shape, enough, with_enough);
    measure_shape(shape, few, with_few);
    for (unsigned i = 0; shape->in_flight[i]; i++) {
        double raw_ns = with_enough[i].operation_ns;
        print_outcome(printer, shape, shape->in_flight[i], enough, &with_enough[i], raw_ns);
        print_outcome(printer, shape, shape->in_flight[i], few, &with_few[i], raw_ns);
    }
}

bool storm_study_cache(const struct storm_printer *printer)
{
    static const uint32_t one_in_flight[LOADS_MAX] = {1, 64, 512};
    static const uint32_t all_in_flight[LOADS_MAX] = {16};
    const struct shape one = {4096, false, one_in_flight, 16384};
    compare(printer, &one, 256, 8192);
    /* All nodes send, in the same proportion of peers to contexts; 4,097 such nodes would need
     * gigabytes. */
    const struct shape all = {255, true, all_in_flight, 1024};
    compare(printer, &all, 16, 512);
    return true;
}
