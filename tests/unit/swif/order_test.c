/* Order: a packet names exactly what it has to come after, and a receiver carries out
 * every packet as soon as that is done and never before.
 *
 * Node 0 appends ordered and unordered operations and fences at random; the packets are
 * caught and handed to node 1 in any order. */
#include "pair.h"

enum { OPERATIONS = 120, CHANNELS = 3, ROUNDS = 200 };

struct operation {
    uint8_t channel;
    bool ordered;
    uint32_t fences; /* fences on its channel before it */
    uint32_t packet;
};

struct caught {
    struct wire_header header;
    unsigned char bytes[2048];
    uint32_t count;
    bool came;
    bool done;
};

static struct pair pair;
static struct operation operations[OPERATIONS];
static struct caught caught[OPERATIONS];
static uint32_t caught_count;
static uint32_t first_sequence;

static bool catch_packets(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    if (packet->header.kind != WIRE_CD) {
        return true;
    }
    struct caught *entry = &caught[caught_count++];
    assert_int_equal(packet->header.sequence, first_sequence + caught_count - 1);
    memset(entry, 0, sizeof *entry);
    entry->header = packet->header;
    entry->count = packet->bytes;
    memcpy(entry->bytes, packet->packet, packet->bytes);
    uint32_t at = 0;
    struct wire_operation operation;
    while (wire_operation_decode(packet->body, packet->header.body_bytes, WIRE_REQUEST, &at,
                                 &operation)) {
        operations[operation.operand].packet = caught_count - 1;
    }
    return false;
}

static void make(void)
{
    struct swif_config config;
    pair_config(&config, 2);
    config.congestion_control = false;
    pair_make(&pair, 2, &config);
    pair_acquaint(&pair);
    struct wire_route route = {.target = 1};
    assert_int_equal(pair_append(&pair, 0, &route, 1000), 0);
    pair_settle(&pair); /* beyond stop-and-wait */
    pair.nodes[1].record_count = 0;
    first_sequence = pair.nodes[0].swif->stubs[1].send_next[WIRE_REQUEST];
    caught_count = 0;
    pair.watch = catch_packets;
}

static void append_at_random(struct base_random *random, uint32_t fence_one_in)
{
    uint32_t fences[CHANNELS] = {0};
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        struct operation *operation = &operations[i];
        uint8_t channel = (uint8_t)base_random_below(random, CHANNELS);
        if (base_random_below(random, fence_one_in) == 0) {
            swif_fence(pair.nodes[0].swif, 1, channel);
            fences[channel]++;
            channel = (uint8_t)base_random_below(random, CHANNELS);
        }
        *operation = (struct operation){channel, base_random_below(random, 2), fences[channel], 0};
        /* Most get packets of their own. */
        struct wire_route route = {.target = 1,
                                   .channel = channel,
                                   .ordered = operation->ordered,
                                   .cookie = base_random_below(random, 3) ? i + 1 : 0};
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
        if (base_random_below(random, 4) == 0) {
            pair_call(&pair, 0);
        }
    }
    pair_call(&pair, 0);
}

static bool must_precede(const struct operation *one, const struct operation *other)
{
    return one->channel == other->channel &&
           ((one->ordered && other->ordered) || one->fences != other->fences);
}

/* Whether all that the packet names, as wire/packet.h defines it, is done. */
static bool may_be_done(uint32_t index)
{
    const struct wire_header *header = &caught[index].header;
    if (header->after == 0) {
        return true;
    }
    uint32_t named = index - header->after;
    assert_true(header->after <= index);
    if (!(header->flags & WIRE_FLAG_AFTER_ALL)) {
        return caught[named].done;
    }
    for (uint32_t i = 0; i <= named; i++) {
        if (!caught[i].done) {
            return false;
        }
    }
    return true;
}

/* What the receiver should have carried out by now. */
static uint32_t carry_out(void)
{
    uint32_t done = 0;
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < caught_count; i++) {
            if (caught[i].came && !caught[i].done && may_be_done(i)) {
                caught[i].done = more = true;
            }
        }
    }
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        done += caught[operations[i].packet].done;
    }
    return done;
}

static void hand_over_at_random(struct base_random *random)
{
    uint32_t left = caught_count;
    while (left) {
        struct caught *entry = &caught[base_random_below(random, caught_count)];
        unsigned char packet[sizeof entry->bytes];
        left -= !entry->came;
        entry->came = true;
        memcpy(packet, entry->bytes, entry->count);
        swif_receive(pair.nodes[1].swif, pair.now_ns, packet, entry->count);
        assert_int_equal(pair.nodes[1].record_count, carry_out());
    }
    assert_int_equal(pair.nodes[1].record_count, OPERATIONS);
}

static void assert_order(void)
{
    uint32_t place[OPERATIONS];
    bool found[OPERATIONS] = {false};
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        uint64_t value = pair.nodes[1].records[i].value;
        assert_false(found[value]);
        found[value] = true;
        place[value] = i;
    }
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        for (uint32_t j = i + 1; j < OPERATIONS; j++) {
            assert_true(!must_precede(&operations[i], &operations[j]) || place[i] < place[j]);
        }
    }
}

static void packets_take_effect_in_every_allowed_order_and_in_no_other(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        make();
        append_at_random(&random, round % 2 ? 10 : 1000);
        hand_over_at_random(&random);
        assert_order();
        pair_free(&pair);
    }
}

/* ---- The headers, one by one --------------------------------------------------------------- */

static uint32_t next_value;

static void append(uint8_t channel, bool ordered)
{
    struct wire_route route = {
        .target = 1, .channel = channel, .ordered = ordered, .cookie = next_value + 1};
    assert_int_equal(pair_append(&pair, 0, &route, next_value++), 0);
}

static void assert_after(uint32_t index, uint8_t after, bool all)
{
    assert_int_equal(caught[index].header.after, after);
    assert_int_equal((caught[index].header.flags & WIRE_FLAG_AFTER_ALL) != 0, all);
}

static void a_packet_names_what_it_comes_after(void **state)
{
    (void)state;
    make();
    next_value = 0;
    append(0, true);  /* 0: the first */
    append(0, false); /* 1: unordered */
    append(1, true);  /* 2: the first of its channel */
    append(0, true);  /* 3: after 0 */
    append(1, true);  /* 4: after 2 */
    swif_fence(pair.nodes[0].swif, 1, 0);
    append(0, false); /* 5: after all up to 4 */
    append(1, false); /* 6: no fence on this channel */
    append(0, true);  /* 7: after all up to 4; what was ordered is among them */
    append(0, true);  /* 8: after 7, which is after the fence */
    append(0, false); /* 9: after all up to 4 */
    append(1, true);  /* 10: after 4 */
    pair_call(&pair, 0);
    assert_int_equal(caught_count, 11);
    assert_after(0, 0, false);
    assert_after(1, 0, false);
    assert_after(2, 0, false);
    assert_after(3, 3, false);
    assert_after(4, 2, false);
    assert_after(5, 1, true);
    assert_after(6, 0, false);
    assert_after(7, 3, true);
    assert_after(8, 1, false);
    assert_after(9, 5, true);
    assert_after(10, 6, false);
    pair_free(&pair);
}

static void an_ordered_operation_makes_the_packet_that_it_joins_ordered(void **state)
{
    (void)state;
    make();
    struct wire_route route = {.target = 1, .ordered = true};
    assert_int_equal(pair_append(&pair, 0, &route, 0), 0);
    pair_call(&pair, 0);
    route.ordered = false;
    assert_int_equal(pair_append(&pair, 0, &route, 1), 0);
    route.ordered = true;
    assert_int_equal(pair_append(&pair, 0, &route, 2), 0);
    route.ordered = false;
    assert_int_equal(pair_append(&pair, 0, &route, 3), 0);
    pair_call(&pair, 0);
    route.ordered = true;
    assert_int_equal(pair_append(&pair, 0, &route, 4), 0);
    pair_call(&pair, 0);
    assert_int_equal(caught_count, 3);
    assert_after(1, 1, false);
    assert_after(2, 1, false);
    pair_free(&pair);
}

static void what_is_acknowledged_is_not_named(void **state)
{
    (void)state;
    make();
    pair.watch = NULL;
    struct wire_route route = {.target = 1, .ordered = true};
    assert_int_equal(pair_append(&pair, 0, &route, 0), 0);
    swif_fence(pair.nodes[0].swif, 1, 0);
    pair_settle(&pair);
    first_sequence++;
    pair.watch = catch_packets;
    assert_int_equal(pair_append(&pair, 0, &route, 1), 0);
    pair_call(&pair, 0);
    assert_after(0, 0, false);
    pair_free(&pair);
}

static void a_fence_with_nothing_before_it_orders_nothing(void **state)
{
    (void)state;
    make();
    swif_fence(pair.nodes[0].swif, 1, 0);
    next_value = 0;
    append(0, false);
    append(0, false);
    pair_call(&pair, 0);
    assert_after(0, 0, false);
    assert_after(1, 0, false);
    pair_free(&pair);
}

/* The queue is as long as `after` can express. */
static void the_longest_queue_can_be_named(void **state)
{
    (void)state;
    make();
    pair.watch = NULL;
    pair.cut[0][1] = true;
    next_value = 0;
    append(0, true);
    swif_fence(pair.nodes[0].swif, 1, 1);
    for (uint32_t i = 1; i < SWIF_WINDOW_MAX - 1; i++) {
        append(2, false);
    }
    append(1, false);
    struct wire_route route = {.target = 1, .ordered = true, .cookie = 9999};
    assert_int_equal(pair_append(&pair, 0, &route, 0), DN_EFULL);
    pair.cut[0][1] = false;
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].record_count, SWIF_WINDOW_MAX);
    pair_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_take_effect_in_every_allowed_order_and_in_no_other),
        cmocka_unit_test(a_packet_names_what_it_comes_after),
        cmocka_unit_test(an_ordered_operation_makes_the_packet_that_it_joins_ordered),
        cmocka_unit_test(what_is_acknowledged_is_not_named),
        cmocka_unit_test(a_fence_with_nothing_before_it_orders_nothing),
        cmocka_unit_test(the_longest_queue_can_be_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
