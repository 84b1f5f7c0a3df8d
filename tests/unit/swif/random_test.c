/* Random nodes with random traffic under random faults: in the end every operation has had its
 * effect, once and in order, and nothing is left over. Each round draws a configuration, then
 * faults and traffic, then lets the faults stop. SWIF_SEED=N repeats one round. */
#include "pair.h"

enum {
    CHANNELS = 2,
    OPERATIONS_MAX = 2000, /* of one flow */
    NODES_MAX = 5,
    MARKS_MAX = 8,
};

#define SPAN_NS (2000 * UNIT_MS) /* of real time */

/* What one node sends to another on a channel in one class. */
struct flow {
    uint32_t sent;
    uint32_t came;
    uint32_t epoch;          /* fences so far */
    uint32_t newest_ordered; /* the newest ordered one that came, plus 1 */
    uint16_t epoch_of[OPERATIONS_MAX];
    bool ordered[OPERATIONS_MAX];
    bool done[OPERATIONS_MAX];
    uint32_t sent_in[OPERATIONS_MAX]; /* by epoch */
    uint32_t came_in[OPERATIONS_MAX];
    uint32_t first_open; /* the first epoch of which some are missing */
};

struct mark {
    uint64_t mark;
    uint32_t sent[NODES_MAX][CHANNELS]; /* by target: requests before it */
};

static struct pair pair;
static struct flow flows[NODES_MAX][NODES_MAX][WIRE_CLASSES][CHANNELS];
static struct mark marks[NODES_MAX][MARKS_MAX];
static uint32_t mark_count[NODES_MAX];
static bool datagram_came[NODES_MAX][NODES_MAX][OPERATIONS_MAX];
static uint32_t datagrams_sent[NODES_MAX][NODES_MAX];
static uint64_t cookies_wanted[NODES_MAX];
static uint64_t seed;
static bool finished;
static uint32_t refuse_permille;

static uint64_t below(uint64_t limit)
{
    return base_random_below(&pair.random, limit);
}

/* ---- Carrying out ------------------------------------------------------------------------- */

static void came(struct flow *flow, uint32_t number)
{
    assert_true(number < flow->sent);
    assert_false(flow->done[number]);
    flow->done[number] = true;
    flow->came++;
    if (flow->ordered[number]) {
        assert_true(number + 1 > flow->newest_ordered);
        for (uint32_t i = flow->newest_ordered; i < number; i++) {
            assert_false(flow->ordered[i]); /* an earlier one would still be to come */
        }
        flow->newest_ordered = number + 1;
    }
    uint32_t epoch = flow->epoch_of[number];
    while (flow->first_open < epoch &&
           flow->came_in[flow->first_open] == flow->sent_in[flow->first_open]) {
        flow->first_open++;
    }
    assert_int_equal(flow->first_open, epoch); /* all before the fence came */
    flow->came_in[epoch]++;
}

static bool carry_out(struct pair_node *node, const struct swif_delivery *delivery)
{
    uint16_t me = node->config.node;
    if (delivery->kind == WIRE_UD) {
        struct wire_operation operation;
        uint32_t at = 0;
        assert_true(
            wire_operation_decode(delivery->body, delivery->bytes, WIRE_REQUEST, &at, &operation));
        assert_false(datagram_came[delivery->source][me][operation.operand]);
        datagram_came[delivery->source][me][operation.operand] = true;
        return true;
    }
    if (delivery->class == WIRE_REQUEST && below(1000) < refuse_permille) {
        return false;
    }
    struct flow *flow = &flows[delivery->source][me][delivery->class][delivery->channel];
    struct wire_operation operation;
    uint32_t at = 0;
    while (
        wire_operation_decode(delivery->body, delivery->bytes, delivery->class, &at, &operation)) {
        came(flow, (uint32_t)operation.operand);
    }
    node->record_count = 0;
    return true;
}

/* ---- Traffic ------------------------------------------------------------------------------ */

static void append(uint16_t from)
{
    uint16_t to = (uint16_t)below(pair.count);
    enum wire_class class = below(3) ? WIRE_REQUEST : WIRE_REPLY;
    uint8_t channel = (uint8_t)below(CHANNELS);
    struct flow *flow = &flows[from][to][class][channel];
    if (flow->sent == OPERATIONS_MAX) {
        return;
    }
    if (class == WIRE_REQUEST && below(20) == 0) {
        swif_fence(pair.nodes[from].swif, to, channel);
        flow->epoch++;
    }
    uint32_t number = flow->sent;
    struct wire_route route = {
        .target = to, .class = class, .channel = channel, .ordered = below(2), .cookie = below(2)};
    flow->sent++; /* it may be carried out at once */
    flow->epoch_of[number] = (uint16_t)flow->epoch;
    flow->ordered[number] = route.ordered;
    int error = pair_append(&pair, from, &route, number);
    if (error) {
        assert_int_equal(error, DN_EFULL);
        flow->sent--;
        return;
    }
    flow->sent_in[flow->epoch]++;
    cookies_wanted[from] += route.cookie;
}

static void remember_mark(uint16_t node)
{
    if (mark_count[node] == MARKS_MAX) {
        return;
    }
    struct mark *mark = &marks[node][mark_count[node]++];
    mark->mark = swif_mark(pair.nodes[node].swif);
    for (uint32_t to = 0; to < pair.count; to++) {
        for (uint32_t channel = 0; channel < CHANNELS; channel++) {
            mark->sent[to][channel] = flows[node][to][WIRE_REQUEST][channel].sent;
        }
    }
}

static void check_marks(uint16_t node)
{
    for (uint32_t i = 0; i < mark_count[node]; i++) {
        const struct mark *mark = &marks[node][i];
        if (!swif_mark_is_passed(pair.nodes[node].swif, mark->mark)) {
            continue;
        }
        for (uint32_t to = 0; to < pair.count; to++) {
            for (uint32_t channel = 0; channel < CHANNELS; channel++) {
                const struct flow *flow = &flows[node][to][WIRE_REQUEST][channel];
                for (uint32_t j = 0; j < mark->sent[to][channel]; j++) {
                    assert_true(flow->done[j]);
                }
            }
        }
        marks[node][i--] = marks[node][--mark_count[node]];
    }
}

static void act(void)
{
    uint16_t node = (uint16_t)below(pair.count);
    switch (below(40)) {
    case 0: remember_mark(node); break;
    case 1: check_marks(node); break;
    case 2: {
        uint16_t to = (uint16_t)below(pair.count);
        uint32_t *sent = &datagrams_sent[node][to];
        if (*sent < OPERATIONS_MAX) {
            (void)pair_datagram(&pair, node, to, (*sent)++);
        }
        break;
    }
    case 3:
        if (below(10) == 0) {
            pair.cut[node][below(pair.count)] = below(3) == 0;
        }
        break;
    case 4:
        if (below(5) == 0) {
            pair.nodes[node].paused = !pair.nodes[node].paused;
        }
        break;
    default:
        for (uint64_t burst = 1 + below(5); burst > 0; burst--) {
            append(node);
        }
    }
}

/* ---- A round ------------------------------------------------------------------------------ */

static void draw_config(struct swif_config *config, uint32_t nodes)
{
    pair_config(config, nodes);
    config->packet_bytes_max = below(2) ? 192 + (uint32_t)below(300) : 1472;
    config->ways = 1u << below(3);
    config->ltee_count = config->ways << below(3);
    config->rtee_count = config->ways << below(3);
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        config->buffer_count[class] = 1 + (uint32_t)below(below(2) ? 10 : 300);
    }
    config->reorder_count = (uint32_t)below(below(2) ? 5 : 300);
    config->queue_max = 1 + (uint32_t)below(SWIF_WINDOW_MAX);
    config->window_max = 1 + (uint32_t)below(SWIF_WINDOW_MAX);
    config->receive_budget = 1 + (uint32_t)below(300);
    config->stage_max = below(3) ? WIRE_SELECTIVE_REPEAT : (enum wire_stage)below(3);
    config->congestion_control = below(2);
    config->peer_timeout_ns = 1000 * PAIR_S; /* nobody dies here */
}

static void begin_round(void)
{
    struct base_random random = {.state = seed};
    pair.random = random;
    uint32_t nodes = 1 + (uint32_t)below(NODES_MAX);
    struct swif_config config;
    draw_config(&config, nodes);
    random = pair.random;
    pair_make(&pair, nodes, &config);
    pair.random = random;
    memset(flows, 0, sizeof flows);
    memset(mark_count, 0, sizeof mark_count);
    memset(datagram_came, 0, sizeof datagram_came);
    memset(datagrams_sent, 0, sizeof datagrams_sent);
    memset(cookies_wanted, 0, sizeof cookies_wanted);
    if (below(2)) {
        pair.loss_permille = (uint32_t)below(300);
        pair.double_permille = (uint32_t)below(300);
    }
    pair.jitter_ns = below(2) ? below(PAIR_MS) : 0;
    refuse_permille = below(2) ? (uint32_t)below(600) : 0;
    for (uint16_t i = 0; i < nodes; i++) {
        struct pair_node *node = &pair.nodes[i];
        node->accept = carry_out;
        node->late_ns = below(3) ? 0 : below(PAIR_MS);
        /* The two ends may support different things. */
        if (below(4) == 0) {
            node->config.stage_max = (enum wire_stage)below(3);
        }
        pair_start(&pair, i, 1);
        node->swif->counter = below(2) ? below(UINT64_C(1) << 34) : 0;
        for (uint32_t j = 0; j < nodes; j++) {
            node->swif->stubs[j].send_next[0] = node->swif->stubs[j].receive_next[0] =
                (uint32_t)seed * 2654435761u | 0xffffff00u;
        }
    }
}

static void end_round(void)
{
    pair.loss_permille = refuse_permille = 0;
    memset(pair.cut, 0, sizeof pair.cut);
    for (uint32_t i = 0; i < pair.count; i++) {
        pair.nodes[i].paused = false;
    }
    pair_settle(&pair);
    for (uint16_t i = 0; i < pair.count; i++) {
        struct swif *swif = pair.nodes[i].swif;
        check_marks(i);
        assert_int_equal(mark_count[i], 0);
        assert_true(swif_mark_is_passed(swif, swif_mark(swif)));
        for (uint32_t j = 0; j < pair.count; j++) {
            assert_int_equal(pair.nodes[i].lost_count[j], 0);
            for (uint32_t k = 0; k < WIRE_CLASSES * CHANNELS; k++) {
                const struct flow *flow = &flows[i][j][k / CHANNELS][k % CHANNELS];
                assert_int_equal(flow->came, flow->sent);
            }
        }
        for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
            assert_int_equal(base_pool_left(&swif->pools[class]), swif->config.buffer_count[class]);
        }
        assert_int_equal(base_pool_left(&swif->reorder), swif->config.reorder_count);
        assert_int_equal(swif->timers.count, 0);
        assert_true((cookies_wanted[i] == 0) == (pair.nodes[i].cookie_count == 0));
    }
    pair_free(&pair);
}

static void run_round(void)
{
    begin_round();
    uint64_t actions = 200 + below(1500);
    for (uint64_t i = 0; i < actions; i++) {
        act();
        if (below(3) == 0) {
            pair_run(&pair, below(below(20) ? 50 * PAIR_US : 20 * PAIR_MS));
        }
    }
    end_round();
}

static void everything_happens_once_and_in_order(void **state)
{
    (void)state;
    const char *wanted = getenv("SWIF_SEED");
    seed = wanted ? strtoull(wanted, NULL, 0) : (uint64_t)time(NULL) * 1000;
    uint64_t end_ns = unit_now_ns() + SPAN_NS;
    uint32_t rounds = 0;
    print_message("seeds from %llu\n", (unsigned long long)seed);
    do {
        run_round();
        rounds++;
        seed++;
    } while (!wanted && unit_now_ns() < end_ns);
    finished = true;
    print_message("%u rounds\n", rounds);
}

static int tell_seed(void **state)
{
    (void)state;
    if (!finished) {
        print_error("SWIF_SEED=%llu repeats it\n", (unsigned long long)seed);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(everything_happens_once_and_in_order, tell_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
