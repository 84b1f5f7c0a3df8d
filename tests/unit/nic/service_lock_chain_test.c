/* Paper 004's lock: one holder at a time, in the order in which the manager heard of them, and
 * nobody waits for ever. */
#include "services_group.h"

enum { NAMES = 2, STEPS = 3000, SEEDS = 400 };

/* What a node does with a lock. */
struct user {
    struct nic_completion completion;
    uint64_t ticket;
    bool wants, holds;
};

static struct {
    struct user users[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX][NAMES]; /* node, manager, name */
    uint64_t taken;
    bool asks;
} play;

static struct nic_services_config config_of(void)
{
    struct nic_services_config config = cluster_config();
    config.chain = &nic_chain_service;
    config.chain_count = CLUSTER_NODES_MAX * NAMES;
    config.chain_forward_count = CLUSTER_NODES_MAX * CLUSTER_NODES_MAX * NAMES;
    return config;
}

static struct nic_chain_member *member_of(uint32_t node, const struct user *user)
{
    return base_pool_line(&group.nodes[node].services->chain_members, (uint32_t)user->ticket);
}

/* The node that has the lock, by what the structures say: at most one. */
static void one_at_a_time(uint32_t manager, uint32_t name)
{
    uint32_t here = 0;
    uint32_t holders = 0;
    for (uint32_t node = 0; node < group.count; node++) {
        const struct user *user = &play.users[node][manager][name];
        if (user->wants || user->holds) {
            here += member_of(node, user)->here;
        }
        holders += user->holds;
    }
    cluster_check(here <= 1 && holders <= 1);
}

static void look(uint32_t node, uint32_t manager, uint32_t name)
{
    struct user *user = &play.users[node][manager][name];
    if (user->wants && !user->holds && nic_completion_is_done(&user->completion)) {
        cluster_check(user->completion.result == 0);
        user->holds = true;
        play.taken++;
        one_at_a_time(manager, name);
    }
}

static void host_acts(uint32_t node)
{
    uint32_t manager = (uint32_t)cluster_below(group.count);
    uint32_t name = (uint32_t)cluster_below(NAMES);
    struct nic_services *services = group.nodes[node].services;
    struct user *user = &play.users[node][manager][name];
    look(node, manager, name);
    if (user->holds) {
        if (cluster_percent(60)) {
            user->holds = user->wants = false;
            cluster_check(nic_chain_lock_release(services, user->ticket) == 0);
            cluster_check(nic_chain_lock_release(services, user->ticket) == DN_ENOTHELD);
        }
        return;
    }
    if (user->wants) {
        struct nic_completion other;
        uint64_t ticket;
        cluster_check(nic_chain_lock_request(services, (uint16_t)manager, name, &other, &ticket) ==
                      DN_EBUSY);
        return;
    }
    if (play.asks && cluster_percent(50)) {
        cluster_check(nic_chain_lock_request(services, (uint16_t)manager, name, &user->completion,
                                             &user->ticket) == 0);
        user->wants = true;
    }
}

static bool somebody_wants(void)
{
    for (uint32_t i = 0; i < group.count * group.count * NAMES; i++) {
        if (play.users[i / NAMES / group.count][i / NAMES % group.count][i % NAMES].wants) {
            return true;
        }
    }
    return false;
}

static void play_locks(uint64_t seed)
{
    struct nic_services_config config = config_of();
    memset(&play, 0, sizeof play);
    play.asks = true;
    cluster_begin(seed, 1 + (uint32_t)(seed % CLUSTER_NODES_MAX), &config);
    for (uint32_t step = 0; step < STEPS; step++) {
        cluster_step();
        host_acts((uint32_t)cluster_below(group.count));
    }
    play.asks = false;
    for (uint32_t steps = 0; somebody_wants(); steps++) {
        cluster_check(steps < CLUSTER_QUIET_STEPS); /* else they wait for each other */
        cluster_step();
        host_acts((uint32_t)cluster_below(group.count));
    }
    cluster_settle(host_acts);
    for (uint32_t node = 0; node < group.count; node++) {
        cluster_check(nic_services_counters(group.nodes[node].services)->malformed == 0);
        cluster_check(group.nodes[node].services->chain_forwards.taken == 0);
    }
    cluster_end();
}

static void everybody_gets_the_lock_and_one_at_a_time(void **state)
{
    uint64_t taken = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_locks(seed);
        taken += play.taken;
    }
    assert_true(taken > SEEDS * 100);
}

/* ---- By hand ------------------------------------------------------------------------- */

enum { LOCK = 7 };

static struct user hands[CLUSTER_NODES_MAX];

static void ask(uint32_t node)
{
    assert_int_equal(nic_chain_lock_request(group.nodes[node].services, 0, LOCK,
                                            &hands[node].completion, &hands[node].ticket),
                     0);
}

static void give(uint32_t node)
{
    assert_int_equal(nic_chain_lock_release(group.nodes[node].services, hands[node].ticket), 0);
}

static const struct nic_chain_member *hand(uint32_t node)
{
    return member_of(node, &hands[node]);
}

static void begin(uint32_t count)
{
    struct nic_services_config config = config_of();
    cluster_begin(1, count, &config);
    group.wire_room = CLUSTER_WIRE_MAX;
}

/* The paper's Figure 1: P1 has the lock, P2 and P3 ask, P1 and P2 release. */
static void the_queue_of_the_papers_figure(void **state)
{
    (void)state;
    begin(4);
    ask(1);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[1].completion));
    assert_int_equal(hand(1)->condition, NIC_CHAIN_LOCK);
    ask(2);
    cluster_settle(NULL);
    assert_int_equal(hand(1)->condition, NIC_CHAIN_QUEUED);
    assert_int_equal(hand(1)->next.node, 2);
    assert_int_equal(hand(2)->condition, NIC_CHAIN_WAIT);
    ask(3);
    cluster_settle(NULL);
    const struct nic_chain_lock *lock = base_pool_line(&group.nodes[0].services->chain_locks, 0);
    assert_int_equal(lock->last.node, 3);
    assert_int_equal(hand(2)->condition, NIC_CHAIN_QUEUED);
    assert_false(hand(2)->here);
    uint64_t heard = nic_services_counters(group.nodes[0].services)->records;
    give(1);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[2].completion));
    assert_int_equal(hand(2)->condition, NIC_CHAIN_QUEUED);
    assert_true(hand(2)->here);
    give(2);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[3].completion));
    give(3);
    cluster_settle(NULL);
    assert_int_equal(hand(3)->condition, NIC_CHAIN_LAST);
    /* The manager heard of none of the three. */
    assert_int_equal(nic_services_counters(group.nodes[0].services)->records, heard);
    ask(1);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[1].completion));
    assert_int_equal(hand(3)->condition, NIC_CHAIN_NONE);
    give(1);
    cluster_end();
}

/* The last holder asks again while another one's request is under way to it: the other one goes
 * first, and neither waits for ever. */
static void the_last_one_asks_again(void **state)
{
    (void)state;
    begin(3);
    ask(1);
    cluster_settle(NULL);
    give(1);
    assert_int_equal(hand(1)->condition, NIC_CHAIN_LAST);
    ask(2);
    cluster_run(2);
    cluster_deliver(2, 0);
    cluster_run(0); /* lock_forw for node 2 is on its way to node 1 */
    ask(1);
    assert_int_equal(hand(1)->condition, NIC_CHAIN_WAIT);
    assert_true(hand(1)->here);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[2].completion));
    assert_false(nic_completion_is_done(&hands[1].completion));
    give(2);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[1].completion));
    /* And alone: its own request comes back to it. */
    give(1);
    ask(1);
    cluster_settle(NULL);
    assert_true(nic_completion_is_done(&hands[1].completion));
    give(1);
    cluster_end();
}

static void deliver(unsigned kind, uint64_t offset, uint16_t bytes, uint64_t first)
{
    unsigned char data[16] = {0};
    wire_put64(data, first);
    struct wire_operation operation = {.opcode = WIRE_SERVICE,
                                       .detail = WIRE_LOCK,
                                       .area = (uint32_t)kind << 24,
                                       .offset = offset,
                                       .bytes = bytes,
                                       .data = data};
    nic_services_deliver(group.nodes[0].services, group.now_ns, 1, &operation);
}

static void records_that_make_no_sense_change_nothing(void **state)
{
    (void)state;
    begin(2);
    ask(0);
    cluster_settle(NULL);
    const struct nic_services_counters *counters = nic_services_counters(group.nodes[0].services);
    deliver(NIC_LOCK_RECORD_CHAIN_REQUEST, 0, 16, 0);
    deliver(NIC_LOCK_RECORD_CHAIN_REQUEST, UINT64_C(1) << 32, 8, 0);
    deliver(NIC_LOCK_RECORD_CHAIN_FORWARD, 0, 16, 1); /* not from its manager */
    deliver(NIC_LOCK_RECORD_CHAIN_FORWARD, 9, 16, 1); /* no such structure */
    deliver(NIC_LOCK_RECORD_CHAIN_REPLY, 0, 0, 0);    /* it has the lock */
    deliver(NIC_LOCK_RECORD_CHAIN_REPLY, 9, 0, 0);
    deliver(NIC_LOCK_RECORD_CHAIN_REPLY + 1, 0, 0, 0);
    assert_int_equal(counters->malformed, 7);
    assert_int_equal(hand(0)->condition, NIC_CHAIN_LOCK);
    assert_true(cluster_is_quiet());
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queue_of_the_papers_figure),
        cmocka_unit_test(the_last_one_asks_again),
        cmocka_unit_test(records_that_make_no_sense_change_nothing),
        cmocka_unit_test(everybody_gets_the_lock_and_one_at_a_time),
    };
    return cmocka_run_group_tests_name("nic/service_lock_chain", tests, NULL, NULL);
}
