/* The users' calls: what each becomes, and what it returns. */
#include "engine_network.h"

/* ---- Stores ---------------------------------------------------------------------------- */

static void a_store_is_its_seed_low_bits_and_length(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    assert_int_equal(nic_user_set(engine, 17, 4), 0);
    uint64_t kick = 0;
    assert_int_equal(nic_kick_open(engine, 17, net_at(1, 0x3000), false, &kick), 0);
    assert_int_equal(kick & 0xfff, 0);
    assert_int_equal(nic_aotf(engine, 17, kick + 0xabc, 0x1122334455667788, 4), 0);
    nic_engine_run(engine, 0);
    struct wire_operation record;
    struct net_packet *packet = net_oldest(net, &record);
    assert_non_null(packet);
    assert_int_equal(packet->route.target, 1);
    assert_int_equal(packet->route.channel, 17 % 15);
    assert_int_equal(packet->route.class, WIRE_REQUEST);
    assert_true(packet->route.ordered);
    assert_int_equal(packet->route.cookie, 0);
    assert_int_equal(packet->route.reply_bytes, 0);
    assert_int_equal(record.opcode, WIRE_AOTF);
    assert_int_equal(record.detail, 0);
    assert_int_equal(record.bytes, 4);
    assert_int_equal(record.area, NET_AREA);
    assert_int_equal(record.offset, 0x3abc);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 0x3ab8), UINT64_C(0x5566778800000000));
    assert_int_equal(net->nodes[1].written_offset, NET_AREA_OFFSET + 0x3abc);
    assert_int_equal(net->nodes[1].written_bytes, 4);
    assert_int_equal(net_counters(net, 0)->header_misses, 1);
    assert_int_equal(net_counters(net, 1)->carried_out, 1);
}

static void a_store_with_skip_is_not_translated(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick = 0;
    struct dn_remote page = {.rank = 1, .area = 99, .offset = 0x1000};
    assert_int_equal(nic_kick_open(engine, 0, page, true, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick + 8, 0x55, 1), 0);
    net_settle(net);
    assert_int_equal(net->nodes[1].memory[0x1008], 0x55);
    assert_int_equal(net->nodes[1].find_count, 0);
    assert_int_equal(net_counters(net, 1)->address_skips, 1);

    /* Without skip the area would have to be there. */
    assert_int_equal(nic_kick_open(engine, 0, page, false, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick + 8, 0x66, 1), 0);
    /* And the end of the memory bounds a physical offset. */
    uint64_t outside = 0;
    page.offset = NET_MEMORY_BYTES;
    assert_int_equal(nic_kick_open(engine, 0, page, true, &outside), 0);
    assert_int_equal(nic_aotf(engine, 0, outside, 0x77, 8), 0);
    net_settle(net);
    assert_int_equal(net->nodes[1].memory[0x1008], 0x55);
    assert_int_equal(net_counters(net, 1)->refused, 2);
}

static void mistakes_of_a_store_are_answered(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick = 0;
    assert_int_equal(nic_kick_open(engine, NIC_USERS, net_at(1, 0), false, &kick), DN_EINVAL);
    assert_int_equal(nic_kick_open(engine, 0, net_at(NET_NODES, 0), false, &kick), DN_ERANK);
    assert_int_equal(nic_kick_open(engine, 0, net_at(-1, 0), false, &kick), DN_ERANK);
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 8), false, &kick), DN_EALIGN);
    assert_int_equal(nic_aotf(engine, 0, 0, 1, 8), DN_EINVAL); /* nothing is open */
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &kick), 0);
    static const unsigned lengths[] = {0, 9, 16};
    for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_int_equal(nic_aotf(engine, 0, kick, 1, lengths[i]), DN_EINVAL);
    }
    assert_int_equal(nic_aotf(engine, 0, kick + 1, 1, 2), DN_EALIGN);
    assert_int_equal(nic_aotf(engine, 0, kick + 4, 1, 8), DN_EALIGN);
    assert_int_equal(nic_aotf(engine, 0, kick + 6, 1, 3), DN_EALIGN); /* beyond its 8 bytes */
    assert_int_equal(nic_aotf(engine, 0, kick + 4096, 1, 8), DN_EINVAL); /* the next page */
    assert_int_equal(nic_aotf(engine, 0, UINT64_MAX - 7, 1, 8), DN_EINVAL);
    assert_int_equal(nic_user_set(engine, 1, 4), 0);
    assert_int_equal(nic_aotf(engine, 1, kick, 1, 8), DN_EINVAL); /* another user's page */
    assert_int_equal(nic_aotf(engine, NIC_USERS, kick, 1, 8), DN_EINVAL);
    assert_int_equal(net_counters(net, 0)->transactions, 0);
}

static void a_kick_with_waiting_stores_is_not_closed(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick = 0;
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick + 16, 5, 8), 0);
    assert_int_equal(nic_kick_close(engine, kick), DN_EBUSY);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 16), 5);
    assert_int_equal(nic_kick_close(engine, kick), 0);
    assert_int_equal(nic_kick_close(engine, kick), DN_EINVAL);
    assert_int_equal(nic_aotf(engine, 0, kick, 1, 8), DN_EINVAL);
    assert_int_equal(nic_kick_close(engine, UINT64_MAX), DN_EINVAL);
}

static void credit_bounds_what_a_user_may_have_waiting(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    struct nic_completion completion = {.state = 99};
    assert_int_equal(nic_user_set(engine, NIC_USERS, 1), DN_EINVAL);
    assert_int_equal(nic_user_set(engine, 3, 2), 0);
    assert_int_equal(nic_user_set(engine, 4, NIC_TRANSACTIONS), DN_EFULL);
    assert_int_equal(nic_fence(engine, 3), 0);
    assert_int_equal(nic_fence(engine, 3), 0);
    assert_int_equal(nic_quiet(engine, 3, &completion), DN_EFULL);
    assert_int_equal(completion.state, 99); /* outputs are set on success only */
    unsigned char byte = 7;
    assert_int_equal(nic_botf(engine, 3, net_at(1, 0), &byte, 1), DN_EFULL);
    assert_int_equal(nic_push(engine, 3, net_at(1, 0), &byte, 1, &completion), DN_EFULL);
    net_settle(net);
    /* The refused calls took neither a window nor a descriptor. */
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(nic_botf(engine, 3, net_at(1, i), &byte, 1), 0);
        assert_int_equal(nic_push(engine, 3, net_at(1, 100 + i), &byte, 1, &completion), 0);
        net_settle(net);
        assert_int_equal(completion.state, NIC_DONE);
    }
    assert_int_equal(nic_user_set(engine, 3, 0), 0);
    assert_int_equal(nic_fence(engine, 3), DN_EFULL);
}

/* ---- Blocks ---------------------------------------------------------------------------- */

static void a_block_is_taken_at_the_call(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char block[WIRE_BOTF_BYTES_MAX];
    memset(block, 'a', sizeof block);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 3), block, sizeof block), 0);
    memset(block, 'b', sizeof block);
    nic_engine_run(engine, 0);
    struct wire_operation record;
    struct net_packet *packet = net_oldest(net, &record);
    assert_int_equal(record.opcode, WIRE_BOTF);
    assert_true(packet->route.ordered);
    net_settle(net);
    const unsigned char *area = net_area(net, 1);
    assert_int_equal(area[2], 0);
    assert_int_equal(area[3], 'a');
    assert_int_equal(area[3 + sizeof block - 1], 'a');
    assert_int_equal(area[3 + sizeof block], 0);

    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), block, 0), DN_EINVAL);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), block, sizeof block + 1), DN_EINVAL);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), NULL, 1), DN_EINVAL);
    assert_int_equal(nic_botf(engine, 0, net_at(NET_NODES, 0), block, 1), DN_ERANK);
    assert_int_equal(nic_botf(engine, NIC_USERS, net_at(1, 0), block, 1), DN_EINVAL);
}

static void windows_come_back_when_their_blocks_are_sent(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char block[8] = {1};
    net->full[1] = true;
    uint32_t taken = 0;
    while (nic_botf(engine, 0, net_at(1, 8 * taken), block, sizeof block) == 0) {
        taken++;
        nic_engine_run(engine, 0);
    }
    assert_in_range(taken, 1, NIC_WINDOWS);
    net->full[1] = false;
    net_settle(net);
    for (uint32_t i = 0; i < taken; i++) {
        assert_int_equal(net_word(net, 1, 8 * i), 1);
        assert_int_equal(nic_botf(engine, 0, net_at(1, 0), block, sizeof block), 0);
    }
}

/* ---- Transfers ------------------------------------------------------------------------- */

static void a_push_is_done_when_all_is_acknowledged(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char source[NET_LONG_BYTES];
    struct nic_completion completion;
    net_fill(source, sizeof source, 1);
    assert_int_equal(nic_push(engine, 0, net_at(1, 11), source, sizeof source, &completion), 0);
    assert_int_equal(completion.state, NIC_PENDING);
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct wire_operation record;
        struct net_packet *packet = net_oldest(net, &record);
        assert_int_equal(record.opcode, WIRE_PUSH);
        assert_false(packet->route.ordered);
        assert_true(packet->route.cookie != 0);
        assert_true(net_carry_out(net, packet));
    }
    assert_memory_equal(net_area(net, 1) + 11, source, sizeof source);
    uint32_t left = 4;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        if (net->packets[i].state == NET_CARRIED_OUT) {
            assert_int_equal(completion.state, NIC_PENDING);
            net_acknowledge(net, &net->packets[i]);
            left--;
        }
    }
    assert_int_equal(left, 0);
    assert_int_equal(completion.state, NIC_DONE);
    assert_int_equal(completion.result, 0);
}

static void a_pull_brings_the_bytes_by_few_requests_at_a_time(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    enum { BYTES = 100 * NET_CHUNK_BYTES + 1 };
    static unsigned char target[BYTES + 1];
    struct nic_completion completion;
    memset(target, 0, sizeof target);
    net_fill(net_area(net, 1), BYTES + 64, 2);
    assert_int_equal(nic_pull(engine, 0, net_at(1, 5), target, BYTES, &completion), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 16);
    struct wire_operation record;
    struct net_packet *packet = net_oldest(net, &record);
    assert_int_equal(record.opcode, WIRE_PULL);
    assert_int_equal(packet->route.reply_bytes, NET_BODY_BYTES);
    assert_false(packet->route.ordered);
    uint32_t steps = 0;
    while (completion.state == NIC_PENDING && steps++ < 1000) {
        net_run_engines(net);
        assert_true(net_count(net, NET_QUEUED) <= 16);
        assert_true(net_step(net));
    }
    assert_int_equal(completion.result, 0);
    assert_memory_equal(target, net_area(net, 1) + 5, BYTES);
    assert_int_equal(target[BYTES], 0);
    net_settle(net);
    assert_int_equal(net_counters(net, 0)->replies_unexpected, 0);
}

static void pulls_share_the_table_of_outstanding_requests(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static unsigned char targets[4][20 * NET_CHUNK_BYTES];
    struct nic_completion completions[5];
    for (uint32_t i = 0; i < 4; i++) {
        net_fill(net_area(net, 1) + i * sizeof targets[i], sizeof targets[i], 30 + i);
        assert_int_equal(nic_pull(engine, 0, net_at(1, i * sizeof targets[i]), targets[i],
                                  sizeof targets[i], &completions[i]),
                         0);
    }
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 32); /* outstanding_count */
    /* A fetching atomic waits for a line of the table, and gets one. */
    assert_int_equal(nic_atomic(engine, 0, net_at(2, 0), WIRE_ADD, 8, 1, 0, &completions[4]), 0);
    nic_engine_run(engine, 0);
    assert_int_equal(net_count(net, NET_QUEUED), 32);
    net_settle(net);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(completions[i].state, NIC_DONE);
        assert_int_equal(completions[i].result, 0);
    }
    assert_memory_equal(targets, net_area(net, 1), sizeof targets);
    assert_int_equal(net_word(net, 2, 0), 1);
}

static void transfers_end_with_what_the_target_says(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static unsigned char bytes[40 * NET_CHUNK_BYTES];
    struct nic_completion completion;
    struct dn_remote nowhere = {.rank = 1, .area = 50, .offset = 0};
    assert_int_equal(nic_pull(engine, 0, nowhere, bytes, 8, &completion), 0);
    net_settle(net);
    assert_int_equal(completion.state, NIC_DONE);
    assert_int_equal(completion.result, DN_EAREA);
    net->nodes[1].stale_area = 51;
    nowhere.area = 51;
    assert_int_equal(nic_pull(engine, 0, nowhere, bytes, 8, &completion), 0);
    net_settle(net);
    assert_int_equal(completion.result, DN_ESTALE);

    /* One whose end leaves the area is refused in the middle, and stops asking. */
    uint64_t start = NET_AREA_BYTES - 2 * NET_CHUNK_BYTES;
    uint64_t before = net->appended;
    assert_int_equal(nic_pull(engine, 0, net_at(1, start), bytes, sizeof bytes, &completion), 0);
    net_settle(net);
    assert_int_equal(completion.state, NIC_DONE);
    assert_int_equal(completion.result, DN_ERANGE);
    assert_true(net->appended - before < 80);

    /* All lines and descriptors are there again. */
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(nic_pull(engine, 0, net_at(1, 0), bytes, 1, NULL), 0);
    }
    assert_int_equal(nic_pull(engine, 0, net_at(1, 0), bytes, 1, NULL), DN_EFULL);
    net_settle(net);
    assert_int_equal(net_counters(net, 0)->replies_unexpected, 0);
}

static void mistakes_of_transfers_are_answered(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char byte = 0;
    struct nic_completion completion = {.state = 99};
    assert_int_equal(nic_push(engine, NIC_USERS, net_at(1, 0), &byte, 1, &completion), DN_EINVAL);
    assert_int_equal(nic_push(engine, 0, net_at(NET_NODES, 0), &byte, 1, &completion), DN_ERANK);
    assert_int_equal(nic_push(engine, 0, net_at(1, 0), NULL, 1, &completion), DN_EINVAL);
    assert_int_equal(nic_pull(engine, 0, net_at(1, 2), &byte, UINT64_MAX, &completion), DN_EINVAL);
    assert_int_equal(completion.state, 99);
    assert_int_equal(nic_push(engine, 0, net_at(1, 0), NULL, 0, &completion), 0);
    assert_int_equal(completion.state, NIC_DONE); /* a transfer of nothing is soon done */
    assert_int_equal(nic_pull(engine, 0, net_at(1, 0), NULL, 0, NULL), 0);
    assert_int_equal(net_counters(net, 0)->transactions, 0);
}

/* ---- Atomics --------------------------------------------------------------------------- */

struct atomic_case {
    enum wire_atomic function;
    uint64_t before, operand, expected, after;
};

static const struct atomic_case atomic_cases[] = {
    {WIRE_ADD, 5, 7, 0, 12},         {WIRE_ADD, UINT64_MAX, 2, 0, 1},
    {WIRE_AND, 0xff, 0x0f, 0, 0x0f}, {WIRE_OR, 0xf0, 0x0f, 0, 0xff},
    {WIRE_XOR, 0xff, 0x0f, 0, 0xf0}, {WIRE_SWAP, 3, 4, 0, 4},
    {WIRE_COMPARE_SWAP, 3, 4, 3, 4}, {WIRE_COMPARE_SWAP, 3, 4, 5, 3},
    {WIRE_READ, 9, 4, 0, 9},
};

static void atomics_change_the_word_and_bring_its_old_value(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    for (uint32_t i = 0; i < 2 * sizeof atomic_cases / sizeof atomic_cases[0]; i++) {
        const struct atomic_case *one = &atomic_cases[i / 2];
        unsigned bytes = i % 2 ? 4 : 8;
        uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
        uint64_t before[2] = {one->before, 0x123456789abcdef0};
        memcpy(net_area(net, 1) + 64, before, sizeof before);
        if (bytes == 4) {
            memcpy(net_area(net, 1) + 68, &before[1], 4);
        }
        for (uint32_t fetching = 0; fetching < 2; fetching++) {
            struct nic_completion completion;
            if (!fetching && one->function == WIRE_READ) {
                continue;
            }
            memcpy(net_area(net, 1) + 64, &one->before, bytes);
            uint64_t written = net->nodes[1].written_count;
            assert_int_equal(nic_atomic(engine, 0, net_at(1, 64), one->function, bytes,
                                        one->operand, one->expected, fetching ? &completion : NULL),
                             0);
            nic_engine_run(engine, 0);
            assert_int_equal(net_oldest(net, NULL)->route.reply_bytes, fetching ? 24 : 0);
            net_settle(net);
            if (fetching) {
                assert_int_equal(completion.state, NIC_DONE);
                assert_int_equal(completion.result, 0);
                assert_true(completion.value == (one->before & mask));
            }
            uint64_t after = net_word(net, 1, 64);
            assert_true((after & mask) == (one->after & mask));
            assert_int_equal(net->nodes[1].written_count - written, one->function != WIRE_READ);
        }
        uint64_t beside = net_word(net, 1, 68);
        assert_memory_equal(&beside, &before[1], 4 * (bytes == 4));
    }
}

static void bad_atomics_are_refused(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    struct nic_completion completion;
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 4), WIRE_ADD, 8, 1, 0, &completion), 0);
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 2), WIRE_ADD, 4, 1, 0, NULL), 0);
    net_settle(net);
    assert_int_equal(completion.state, NIC_DONE);
    assert_int_equal(completion.result, DN_EALIGN);
    assert_int_equal(net_counters(net, 1)->refused, 2);
    assert_int_equal(net_word(net, 1, 0), 0);
    assert_int_equal(
        nic_atomic(engine, 0, net_at(1, NET_AREA_BYTES), WIRE_ADD, 4, 1, 0, &completion), 0);
    net_settle(net);
    assert_int_equal(completion.result, DN_ERANGE);

    assert_int_equal(nic_atomic(engine, 0, net_at(1, 0), WIRE_ATOMICS, 4, 1, 0, NULL), DN_EINVAL);
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 0), WIRE_ADD, 2, 1, 0, NULL), DN_EINVAL);
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 0), WIRE_READ, 8, 0, 0, NULL), DN_EINVAL);
    assert_int_equal(nic_atomic(engine, 0, net_at(9, 0), WIRE_ADD, 8, 0, 0, NULL), DN_ERANK);
    assert_int_equal(nic_atomic(engine, 64, net_at(1, 0), WIRE_ADD, 8, 0, 0, NULL), DN_EINVAL);
}

/* ---- Sizes ------------------------------------------------------------------------------- */

static void a_config_without_sense_has_no_size(void **state)
{
    (void)state;
    struct nic_engine_config config = net_sizes;
    assert_true(nic_engine_bytes(&config) != 0);
    config.node_count = WIRE_NODES_MAX;
    assert_true(nic_engine_bytes(&config) < 4 << 20);
    config.node_count = WIRE_NODES_MAX + 1;
    assert_int_equal(nic_engine_bytes(&config), 0);
    config.node_count = 0;
    assert_int_equal(nic_engine_bytes(&config), 0);
    config = net_sizes;
    config.node = NET_NODES;
    assert_int_equal(nic_engine_bytes(&config), 0);
    config = net_sizes;
    config.kick_page_count = (1 << 17) + 1;
    assert_int_equal(nic_engine_bytes(&config), 0);
    config = net_sizes;
    config.transfer_count = 0;
    assert_int_equal(nic_engine_bytes(&config), 0);
    config = net_sizes;
    config.outstanding_count = 0;
    assert_int_equal(nic_engine_bytes(&config), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_CASE(a_store_is_its_seed_low_bits_and_length),
        NET_CASE(a_store_with_skip_is_not_translated),
        NET_CASE(mistakes_of_a_store_are_answered),
        NET_CASE(a_kick_with_waiting_stores_is_not_closed),
        NET_CASE(credit_bounds_what_a_user_may_have_waiting),
        NET_CASE(a_block_is_taken_at_the_call),
        NET_CASE(windows_come_back_when_their_blocks_are_sent),
        NET_CASE(a_push_is_done_when_all_is_acknowledged),
        NET_CASE(a_pull_brings_the_bytes_by_few_requests_at_a_time),
        NET_CASE(pulls_share_the_table_of_outstanding_requests),
        NET_CASE(transfers_end_with_what_the_target_says),
        NET_CASE(mistakes_of_transfers_are_answered),
        NET_CASE(atomics_change_the_word_and_bring_its_old_value),
        NET_CASE(bad_atomics_are_refused),
        cmocka_unit_test(a_config_without_sense_has_no_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
