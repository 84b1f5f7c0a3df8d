/* The order in which users' operations become records, and what waits for what. */
#include "engine_network.h"

/* ---- Order ----------------------------------------------------------------------------- */

static void a_full_target_blocks_itself_only(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t first = 1;
    uint64_t second = 2;
    uint64_t other = 3;
    net->full[1] = true;
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &first, 8), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(2, 0), &other, 8), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &second, 8), 0);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 0), 0);
    assert_int_equal(net_word(net, 2, 0), 3);
    net->full[1] = false;
    nic_engine_run(engine, 0);
    struct wire_operation record;
    net_carry_out(net, net_oldest(net, &record));
    assert_int_equal(net_word(net, 1, 0), 1);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 0), 2);
}

static void a_user_whose_target_is_full_does_not_stop_another(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t value = 5;
    assert_int_equal(nic_user_set(engine, 15, 4), 0); /* the same channel as user 0 */
    net->full[1] = true;
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &value, 8), 0);
    assert_int_equal(nic_fence(engine, 0), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(2, 0), &value, 8), 0);
    assert_int_equal(nic_botf(engine, 15, net_at(2, 8), &value, 8), 0);
    net_settle(net);
    assert_int_equal(net_word(net, 2, 0), 0); /* nothing passes a fence of its user */
    assert_int_equal(net_word(net, 2, 8), 5);
    net->full[1] = false;
    net_settle(net);
    assert_int_equal(net_word(net, 2, 0), 5);
}

static void a_store_looks_its_header_up_once_however_long_it_waits(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick;
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &kick), 0);
    net->full[1] = true;
    assert_int_equal(nic_aotf(engine, 0, kick, 7, 8), 0);
    for (unsigned i = 0; i < 3; i++) {
        nic_engine_run(engine, 0);
    }
    assert_int_equal(net_counters(net, 0)->header_misses, 0);
    assert_int_equal(net_counters(net, 0)->header_hits, 0);
    net->full[1] = false;
    nic_engine_run(engine, 0);
    assert_int_equal(net_counters(net, 0)->header_misses, 1);
    assert_int_equal(net_counters(net, 0)->header_hits, 0);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 0), 7);
}

/* Two stores that differ only in their tags; the first one waits. Each record has its own tag. */
static void a_record_tells_which_store_it_was_made_from(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t value = 9;
    struct wire_operation record;
    assert_int_equal(nic_user_set(engine, 15, 4), 0);
    net->full[1] = true;
    nic_tag_next(engine, 11);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &value, 8), 0);
    nic_tag_next(engine, 12);
    assert_int_equal(nic_botf(engine, 0, net_at(2, 0), &value, 8), 0);
    assert_int_equal(nic_botf(engine, 15, net_at(2, 0), &value, 8), 0); /* nobody asked for it */
    nic_engine_run(engine, 0);
    struct net_packet *packet = net_oldest(net, &record);
    assert_int_equal(packet->route.tag, 12);
    net_carry_out(net, packet);
    packet = net_oldest(net, &record);
    assert_int_equal(packet->route.tag, 0);
    net_carry_out(net, packet);
    net->full[1] = false;
    nic_engine_run(engine, 0);
    assert_int_equal(net_oldest(net, &record)->route.tag, 11);
}

static void a_fence_is_told_for_every_target_sent_to_since_the_last(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    const struct net_node *node = &net->nodes[0];
    uint64_t value = 5;
    assert_int_equal(nic_user_set(engine, 16, 8), 0);
    assert_int_equal(nic_fence(engine, 16), 0);
    assert_int_equal(nic_botf(engine, 16, net_at(1, 0), &value, 8), 0);
    assert_int_equal(nic_atomic(engine, 16, net_at(2, 0), WIRE_ADD, 8, 1, 0, NULL), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(node->fence_count[1][1] + node->fence_count[2][1], 0);
    assert_int_equal(nic_fence(engine, 16), 0);
    assert_int_equal(nic_fence(engine, 16), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(node->fence_count[0][1], 0);
    assert_int_equal(node->fence_count[1][1], 1);
    assert_int_equal(node->fence_count[2][1], 1);
    assert_int_equal(nic_push(engine, 16, net_at(2, 0), &value, 8, NULL), 0);
    assert_int_equal(nic_fence(engine, 16), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(node->fence_count[1][1], 1);
    assert_int_equal(node->fence_count[2][1], 2);
    for (uint32_t channel = 0; channel < WIRE_CHANNELS; channel++) {
        assert_true(channel == 1 || node->fence_count[2][channel] == 0);
    }
}

static void a_fence_waits_for_the_records_of_transfers(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static unsigned char bytes[NET_LONG_BYTES];
    uint64_t flag = 1;
    struct nic_completion completion;
    net->room = 2;
    assert_int_equal(nic_push(engine, 0, net_at(1, 64), bytes, sizeof bytes, &completion), 0);
    assert_int_equal(nic_fence(engine, 0), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &flag, 8), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 2);
    assert_int_equal(net->nodes[0].fence_count[1][0], 0);
    while (net->nodes[0].fence_count[1][0] == 0) {
        assert_true(net_step(net));
        nic_engine_run(engine, 0);
    }
    /* All of its records are appended; the last ones may still be under way. */
    assert_int_equal(completion.state, NIC_PENDING);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 0), 1);
    assert_int_equal(completion.state, NIC_DONE);
}

static void a_quiet_completes_when_all_before_has_taken_effect(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t value = 5;
    struct nic_completion quiet;
    struct nic_completion after;
    struct nic_completion atomic;
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), &value, 8), 0);
    assert_int_equal(nic_atomic(engine, 0, net_at(2, 0), WIRE_ADD, 8, 1, 0, &atomic), 0);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 8), &value, 8), 0);
    assert_int_equal(nic_quiet(engine, 0, &after), 0);
    assert_int_equal(nic_quiet(engine, 0, NULL), DN_EINVAL);
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 2); /* nothing passes */
    struct net_packet *block = net_oldest(net, NULL);
    net_carry_out(net, block);
    struct net_packet *request = net_oldest(net, NULL);
    net_carry_out(net, request);
    net_acknowledge(net, request);
    net_carry_out(net, net_oldest(net, NULL)); /* the reply */
    assert_int_equal(atomic.state, NIC_DONE);
    nic_engine_run(engine, 0);
    assert_int_equal(quiet.state, NIC_PENDING); /* the block is not acknowledged */
    net_acknowledge(net, block);
    nic_engine_run(engine, 0);
    assert_int_equal(quiet.state, NIC_DONE);
    assert_int_equal(quiet.result, 0);
    assert_int_equal(after.state, NIC_PENDING);
    net_settle(net);
    assert_int_equal(after.state, NIC_DONE);
}

static void a_quiet_waits_for_replies_too(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char byte = 0;
    struct nic_completion quiet;
    assert_int_equal(nic_pull(engine, 0, net_at(1, 0), &byte, 1, NULL), 0);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    nic_engine_run(engine, 0);
    struct net_packet *request = net_oldest(net, NULL);
    net_carry_out(net, request);
    net_acknowledge(net, request);
    nic_engine_run(engine, 0);
    assert_int_equal(quiet.state, NIC_PENDING);
    net_settle(net);
    assert_int_equal(quiet.state, NIC_DONE);
}

static void one_free_place_goes_round(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static unsigned char bytes[20 * NET_CHUNK_BYTES];
    struct nic_completion completions[2];
    uint64_t value = 1;
    assert_int_equal(nic_user_set(engine, 1, 64), 0);
    net->room = 1;
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(nic_botf(engine, 0, net_at(1, 8 * i), &value, 8), 0);
        assert_int_equal(nic_botf(engine, 1, net_at(1, 8 * i), &value, 8), 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(nic_push(engine, i, net_at(1, 4096), bytes, sizeof bytes, &completions[i]),
                         0);
    }
    uint32_t by_user[2] = {0};
    uint32_t by_cookie[2] = {0};
    uint64_t cookies[2] = {0};
    for (uint32_t i = 0; i < 40; i++) {
        nic_engine_run(engine, 0);
        struct wire_operation record;
        struct net_packet *packet = net_oldest(net, &record);
        if (record.opcode == WIRE_BOTF) {
            by_user[packet->route.channel]++;
        } else {
            uint32_t which = cookies[0] == 0 || cookies[0] == packet->route.cookie ? 0 : 1;
            cookies[which] = packet->route.cookie;
            by_cookie[which]++;
        }
        net_carry_out(net, packet);
        net_acknowledge(net, packet);
    }
    /* Blocks and transfers get half of the places each, and share them among users and transfers.
     * The pushes stand behind the blocks in their queues, so the transfers begin late. */
    assert_int_equal(by_user[0], 8);
    assert_int_equal(by_user[1], 8);
    assert_true(by_cookie[0] >= 11 && by_cookie[1] >= 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_CASE(a_full_target_blocks_itself_only),
        NET_CASE(a_user_whose_target_is_full_does_not_stop_another),
        NET_CASE(a_store_looks_its_header_up_once_however_long_it_waits),
        NET_CASE(a_record_tells_which_store_it_was_made_from),
        NET_CASE(a_fence_is_told_for_every_target_sent_to_since_the_last),
        NET_CASE(a_fence_waits_for_the_records_of_transfers),
        NET_CASE(a_quiet_completes_when_all_before_has_taken_effect),
        NET_CASE(a_quiet_waits_for_replies_too),
        NET_CASE(one_free_place_goes_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
