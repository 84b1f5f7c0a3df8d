/* Many senders to one receiver, through a shared line: the line is used to the full, and every
 * sender gets a fair part of it. */
#include "pair.h"

enum { FULL_NS = 2000, DELAY_NS = 50000, BURST = 64 };

static struct pair pair;
static uint64_t line_free_ns;
static uint64_t queue_worst_ns;
static uint32_t got[PAIR_NODES_MAX];

/* Packets to node 0 wait for the line; packets from it do not. */
static bool go_through_line(struct pair *of, const struct pair_packet *packet)
{
    of->delay_ns = DELAY_NS;
    if (packet->header.target == 0) {
        uint64_t start_ns = swif_most(line_free_ns, of->now_ns);
        line_free_ns = start_ns + FULL_NS * packet->bytes / of->nodes[0].config.packet_bytes_max;
        of->delay_ns += line_free_ns - of->now_ns;
        queue_worst_ns = swif_most(queue_worst_ns, line_free_ns - of->now_ns);
    }
    return true;
}

static bool count(struct pair_node *node, const struct swif_delivery *delivery)
{
    node->record_count = 0;
    got[delivery->source]++;
    return true;
}

/* Gives the node as much to send as it takes. */
static void feed(uint16_t node)
{
    struct swif *swif = pair.nodes[node].swif;
    uint32_t bytes = swif_body_bytes_max(swif);
    struct wire_route route = {.target = 0};
    struct wire_operation operation = {.opcode = WIRE_PUSH,
                                       .bytes = (uint16_t)(bytes - WIRE_OPERATION_BYTES)};
    unsigned char *room;
    for (uint32_t i = 0; i < BURST && swif_append(swif, pair.now_ns, &route, bytes, &room) == 0;
         i++) {
        memset(room, 0, bytes);
        wire_operation_encode(&operation, room);
    }
}

static void run(uint64_t span_ns)
{
    uint64_t end_ns = pair.now_ns + span_ns;
    while (pair.now_ns < end_ns) {
        for (uint16_t i = 1; i < pair.count; i++) {
            feed(i);
        }
        pair_run(&pair, 20 * PAIR_US);
    }
}

static void assert_fair(uint32_t senders, double least_share, double most_share)
{
    pair_make(&pair, senders + 1, NULL);
    pair_acquaint(&pair);
    pair.watch = go_through_line;
    pair.nodes[0].accept = count;
    line_free_ns = 0;
    run(40 * PAIR_MS);
    memset(got, 0, sizeof got);
    queue_worst_ns = 0;
    uint64_t begin_ns = pair.now_ns;
    run(80 * PAIR_MS);
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint32_t i = 1; i <= senders; i++) {
        sum += got[i];
        least = got[i] < least ? got[i] : least;
        most = got[i] > most ? got[i] : most;
    }
    double mean = (double)sum / senders;
    double used = (double)(sum * FULL_NS) / (double)(pair.now_ns - begin_ns);
    print_message("%u senders: %.3f of the line, shares %.2f to %.2f, queue %llu packets\n",
                  senders, used, least / mean, most / mean,
                  (unsigned long long)(queue_worst_ns / FULL_NS));
    assert_true(used > 0.95);
    assert_true(least > least_share * mean);
    assert_true(most < most_share * mean);
    assert_true(queue_worst_ns < 100 * FULL_NS);
    pair_free(&pair);
}

static void one_sender_has_the_line(void **state)
{
    (void)state;
    assert_fair(1, 0.99, 1.01);
}

static void few_senders_share_the_line(void **state)
{
    (void)state;
    assert_fair(2, 0.7, 1.3);
    assert_fair(8, 0.7, 1.3);
}

static void many_senders_share_the_line_by_the_receivers_grants(void **state)
{
    (void)state;
    assert_fair(PAIR_NODES_MAX - 1, 0.8, 1.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sender_has_the_line),
        cmocka_unit_test(few_senders_share_the_line),
        cmocka_unit_test(many_senders_share_the_line_by_the_receivers_grants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
