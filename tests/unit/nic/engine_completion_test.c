/* How operations end: replies, acknowledgements and lost peers. */
#include "engine_network.h"

/* ---- Replies that are not what they should be -------------------------------------------- */

static void replies_are_checked_against_their_requests(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 1);
    assert_int_equal(nic_user_set(engine, 0, 8), 0);
    struct nic_completion completion;
    unsigned char target[24];
    memset(target, 0xee, sizeof target);
    unsigned char data[64] = {0};
    assert_int_equal(nic_pull(engine, 0, net_at(0, 0), target + 8, 8, &completion), 0);
    nic_engine_run(engine, 0);
    struct wire_operation request;
    net_oldest(net, &request);
    struct wire_operation answer = {
        .opcode = WIRE_PULLED, .bytes = 8, .offset = request.tag, .data = data};
    net_hand_over(net, 2, WIRE_REPLY, &answer, 1); /* not from the node that was asked */
    answer.offset = request.tag + (UINT64_C(1) << 32);
    net_hand_over(net, 0, WIRE_REPLY, &answer, 1); /* another generation */
    answer.offset = request.tag + 1;
    net_hand_over(net, 0, WIRE_REPLY, &answer, 1); /* a line that is not in use */
    answer.offset = (request.tag & ~(uint64_t)UINT32_MAX) | 32;
    net_hand_over(net, 0, WIRE_REPLY, &answer, 1); /* no line at all */
    assert_int_equal(net_counters(net, 1)->replies_unexpected, 4);
    assert_int_equal(completion.state, NIC_PENDING);

    /* The right answer with the wrong length ends it, and writes nothing. */
    answer.offset = request.tag;
    answer.bytes = 16;
    net_hand_over(net, 0, WIRE_REPLY, &answer, 1);
    assert_int_equal(completion.state, NIC_DONE);
    assert_int_equal(completion.result, DN_EPEER);
    for (uint32_t i = 0; i < sizeof target; i++) {
        assert_int_equal(target[i], 0xee);
    }
    answer.bytes = 8;
    net_hand_over(net, 0, WIRE_REPLY, &answer, 1); /* too late */
    assert_int_equal(target[8], 0xee);
    assert_int_equal(net_counters(net, 1)->replies_unexpected, 6);
}

static void answers_of_the_wrong_kind_end_an_operation(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 1);
    assert_int_equal(nic_user_set(engine, 0, 8), 0);
    unsigned char data[8] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct nic_completion completion;
        assert_int_equal(nic_atomic(engine, 0, net_at(0, 0), WIRE_ADD, 8, 1, 0, &completion), 0);
        nic_engine_run(engine, 0);
        struct wire_operation request;
        struct net_packet *packet = net_oldest(net, &request);
        packet->state = NET_FREE;
        struct wire_operation answers[] = {
            {.opcode = WIRE_PULLED, .bytes = 8, .offset = request.tag, .data = data},
            {.opcode = WIRE_FETCHED, .bytes = 4, .offset = request.tag},
            {.opcode = WIRE_REFUSED, .detail = 200, .offset = request.tag},
        };
        net_hand_over(net, 0, WIRE_REPLY, &answers[i], 1);
        assert_int_equal(completion.state, NIC_DONE);
        assert_int_equal(completion.result, DN_EPEER);
    }
    struct wire_operation served = {.opcode = WIRE_SERVED, .detail = WIRE_LOCK};
    net_hand_over(net, 0, WIRE_REPLY, &served, 1);
    assert_int_equal(net_counters(net, 1)->replies_unexpected, 3);
}

static void a_wrong_acknowledgement_does_nothing(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char byte = 1;
    struct nic_completion completion;
    assert_int_equal(nic_push(engine, 0, net_at(1, 0), &byte, 1, &completion), 0);
    nic_engine_acknowledged(engine, 0, 1, 1); /* it waits in the FIFO */
    nic_engine_run(engine, 0);
    uint64_t cookie = net_oldest(net, NULL)->route.cookie;
    nic_engine_acknowledged(engine, 0, 2, cookie);
    nic_engine_acknowledged(engine, 0, 1, cookie + (UINT64_C(1) << 32));
    nic_engine_acknowledged(engine, 0, 1, cookie + 1);
    nic_engine_acknowledged(engine, 0, 1, 9); /* there are 8 descriptors */
    nic_engine_acknowledged(engine, 0, 1, 0);
    assert_int_equal(completion.state, NIC_PENDING);
    nic_engine_acknowledged(engine, 0, 1, cookie);
    assert_int_equal(completion.state, NIC_DONE);
}

/* ---- Lost peers -------------------------------------------------------------------------- */

/* Which operations of one round wait for node 1, and which for node 2. */
struct round {
    struct nic_completion push[2], pull[2], atomic[2];
    unsigned char source[2][2000];
    unsigned char target[2][2000];
};

static void begin_round(struct nic_engine *engine, struct round *round)
{
    memset(round->target, 0xee, sizeof round->target);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            nic_push(engine, 0, net_at(i + 1, 4096), round->source[i], 2000, &round->push[i]), 0);
        assert_int_equal(
            nic_pull(engine, 0, net_at(i + 1, 0), round->target[i], 2000, &round->pull[i]), 0);
        assert_int_equal(
            nic_atomic(engine, 0, net_at(i + 1, 0), WIRE_ADD, 8, 1, 0, &round->atomic[i]), 0);
    }
}

static void expect_round(const struct round *round, int which, enum nic_completion_state expected,
                         int result)
{
    const struct nic_completion *all[] = {&round->push[which], &round->pull[which],
                                          &round->atomic[which]};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(all[i]->state, expected);
        assert_int_equal(all[i]->result, result);
    }
}

static void a_lost_peer_ends_what_waits_and_what_is_under_way(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static struct round out;
    static struct round waiting;
    begin_round(engine, &out);
    nic_engine_run(engine, 0);
    net->full[1] = true;
    begin_round(engine, &waiting);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), "block", 5), 0);
    nic_engine_run(engine, 0);
    net_kill(net, 1);
    expect_round(&out, 0, NIC_DONE, DN_EPEER);
    expect_round(&waiting, 0, NIC_DONE, DN_EPEER);
    expect_round(&out, 1, NIC_PENDING, 0);
    assert_int_equal(net_counters(net, 0)->lost_operations, 1); /* the block */
    net_settle(net);
    expect_round(&out, 1, NIC_DONE, 0);
    expect_round(&waiting, 1, NIC_DONE, 0);

    struct nic_completion quiet;
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_settle(net);
    assert_int_equal(quiet.state, NIC_DONE);
    assert_int_equal(quiet.result, DN_EPEER);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_settle(net);
    assert_int_equal(quiet.result, 0); /* the loss is told once */

    /* Windows, descriptors and lines are there again. */
    static struct round rounds[2];
    net->full[1] = false;
    net_start(net, 1, &net_sizes);
    for (uint32_t i = 0; i < 20; i++) {
        begin_round(engine, &rounds[0]);
        begin_round(engine, &rounds[1]);
        net_settle(net);
        expect_round(&rounds[0], 0, NIC_DONE, 0);
        expect_round(&rounds[1], 1, NIC_DONE, 0);
    }
}

static void late_replies_find_nothing(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 1);
    assert_int_equal(nic_user_set(engine, 0, 8), 0);
    unsigned char target[8];
    memset(target, 0xee, sizeof target);
    struct nic_completion old;
    struct nic_completion new;
    assert_int_equal(nic_pull(engine, 0, net_at(0, 0), target, 8, &old), 0);
    nic_engine_run(engine, 0);
    struct wire_operation request;
    net_oldest(net, &request)->state = NET_FREE;
    nic_engine_peer_lost(engine, 0, 0);
    assert_int_equal(old.result, DN_EPEER);
    /* The next request takes the same line of the table. */
    assert_int_equal(nic_pull(engine, 0, net_at(0, 0), target, 8, &new), 0);
    nic_engine_run(engine, 0);
    struct wire_operation again;
    net_oldest(net, &again);
    assert_int_equal((uint32_t)again.tag, (uint32_t)request.tag);
    unsigned char data[8] = {0};
    struct wire_operation late = {
        .opcode = WIRE_PULLED, .bytes = 8, .offset = request.tag, .data = data};
    net_hand_over(net, 0, WIRE_REPLY, &late, 1);
    assert_int_equal(target[0], 0xee);
    assert_int_equal(new.state, NIC_PENDING);
    assert_int_equal(net_counters(net, 1)->replies_unexpected, 1);
    net_settle(net);
    assert_int_equal(new.state, NIC_DONE);
}

static void operations_for_a_dead_peer_end_at_once(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static struct round round;
    uint64_t kick = 0;
    struct nic_completion quiet;
    net_kill(net, 1);
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick, 1, 8), 0);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), "block", 5), 0);
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 0), WIRE_ADD, 8, 1, 0, NULL), 0);
    begin_round(engine, &round);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_settle(net);
    expect_round(&round, 0, NIC_DONE, DN_EPEER);
    expect_round(&round, 1, NIC_DONE, 0);
    assert_int_equal(net_counters(net, 0)->lost_operations, 3);
    assert_int_equal(quiet.state, NIC_DONE);
    assert_int_equal(quiet.result, DN_EPEER);
}

static void a_peer_lost_in_the_middle_of_a_push_ends_it(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    static unsigned char bytes[NET_LONG_BYTES];
    struct nic_completion push;
    struct nic_completion quiet;
    net->room = 2;
    assert_int_equal(nic_push(engine, 0, net_at(1, 0), bytes, sizeof bytes, &push), 0);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    nic_engine_run(engine, 0);
    struct net_packet *packet = net_oldest(net, NULL);
    uint64_t cookie = packet->route.cookie;
    net_carry_out(net, packet);
    net_acknowledge(net, packet);
    /* The network knows of the death before the engine is told. */
    net->nodes[1].dead = true;
    nic_engine_run(engine, 0);
    assert_int_equal(push.state, NIC_DONE);
    assert_int_equal(push.result, DN_EPEER);
    nic_engine_acknowledged(engine, 0, 1, cookie);
    net_kill(net, 1);
    net_settle(net);
    assert_int_equal(push.result, DN_EPEER);
    assert_int_equal(quiet.state, NIC_DONE);
    assert_int_equal(quiet.result, DN_EPEER);
}

/* What it acknowledged and answered is done, even if more is under way to others. */
static void a_peer_that_left_with_everything_done_fails_nobody(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    struct nic_completion old;
    struct nic_completion quiet;
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), "block", 5), 0);
    assert_false(nic_engine_forget_peer(engine, 1)); /* it waits in the FIFO */
    assert_int_equal(nic_atomic(engine, 0, net_at(1, 0), WIRE_ADD, 8, 1, 0, &old), 0);
    nic_engine_run(engine, 0);
    assert_false(nic_engine_forget_peer(engine, 1)); /* the atomic's answer is awaited */
    net_settle(net);
    assert_int_equal(old.state, NIC_DONE);
    assert_int_equal(nic_botf(engine, 0, net_at(2, 0), "other", 5), 0);
    nic_engine_run(engine, 0);
    assert_true(nic_engine_forget_peer(engine, 1));
    net_kill(net, 1);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_settle(net);
    assert_int_equal(quiet.state, NIC_DONE);
    assert_int_equal(quiet.result, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_CASE(replies_are_checked_against_their_requests),
        NET_CASE(answers_of_the_wrong_kind_end_an_operation),
        NET_CASE(a_wrong_acknowledgement_does_nothing),
        NET_CASE(a_lost_peer_ends_what_waits_and_what_is_under_way),
        NET_CASE(late_replies_find_nothing),
        NET_CASE(operations_for_a_dead_peer_end_at_once),
        NET_CASE(a_peer_lost_in_the_middle_of_a_push_ends_it),
        NET_CASE(a_peer_that_left_with_everything_done_fails_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
