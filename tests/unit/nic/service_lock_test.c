/* Locks by records: mutual exclusion, first come first served, no request left waiting. Requests
 * are given up; holders, waiters and managers die at any step; pairs of requesters cannot reach
 * each other. */
#include "services_group.h"

/* ---- By hand: node 0 manages, 1, 2 and 3 ask ----------------------------------------- */

struct use {
    struct nic_completion completion;
    uint64_t ticket;
};

static void begin_by_hand(void)
{
    struct nic_services_config config = cluster_config();
    cluster_begin(1, 4, &config);
    group.wire_room = CLUSTER_WIRE_MAX;
}

static void ask(uint32_t node, struct use *use, bool try)
{
    assert_int_equal(nic_packet_lock_request(group.nodes[node].services, group.now_ns, 0, 1, try,
                                             NULL, &use->completion, &use->ticket),
                     0);
    cluster_settle(NULL);
}

static int give(uint32_t node, const struct use *use)
{
    int error = nic_packet_lock_release(group.nodes[node].services, group.now_ns, use->ticket);
    return error;
}

static enum nic_packet_lock_state state_of(uint32_t node, const struct use *use)
{
    return nic_packet_lock_state(group.nodes[node].services, use->ticket);
}

static void assert_done(const struct use *use, int result)
{
    assert_int_equal(use->completion.state, NIC_DONE);
    assert_int_equal(use->completion.result, result);
}

static void a_lock_goes_to_those_who_asked_in_their_order(void **state)
{
    struct use uses[4];
    (void)state;
    begin_by_hand();
    for (uint32_t node = 0; node < 4; node++) {
        ask(node, &uses[node], false);
    }
    for (uint32_t node = 0; node < 4; node++) {
        assert_done(&uses[node], 0);
        assert_int_equal(state_of(node, &uses[node]), NIC_PACKET_LOCK_HELD);
        for (uint32_t later = node + 1; later < 4; later++) {
            assert_int_equal(uses[later].completion.state, NIC_PENDING);
        }
        assert_int_equal(give(node, &uses[node]), 0);
        assert_int_equal(state_of(node, &uses[node]), NIC_PACKET_LOCK_OVER);
        cluster_settle(NULL);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

static void a_holder_gives_the_lock_to_the_next_without_the_manager(void **state)
{
    struct use first;
    struct use second;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    assert_int_equal(give(1, &first), 0);
    cluster_run(1);
    cluster_deliver(1, 2);
    assert_done(&second, 0);
    assert_int_equal(nic_services_counters(group.nodes[1].services)->grants_direct, 1);
    cluster_settle(NULL);
    cluster_end();
}

static void a_next_that_cannot_be_reached_gets_the_lock_from_the_manager(void **state)
{
    struct use first;
    struct use second;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    cluster_cut(1, 2);
    assert_int_equal(give(1, &first), 0);
    cluster_settle(NULL);
    assert_done(&second, 0);
    cluster_end();
}

static void trying_a_lock_that_somebody_has_finds_it_busy(void **state)
{
    struct use first;
    struct use second;
    (void)state;
    begin_by_hand();
    ask(1, &first, true);
    assert_done(&first, 0);
    ask(2, &second, true);
    assert_done(&second, DN_EBUSY);
    assert_int_equal(give(2, &second), DN_ENOTHELD);
    assert_int_equal(give(1, &first), 0);
    cluster_settle(NULL);
    ask(2, &second, true);
    assert_done(&second, 0);
    cluster_end();
}

static void who_gave_up_is_passed_over(void **state)
{
    struct use uses[4];
    (void)state;
    begin_by_hand();
    for (uint32_t node = 1; node < 4; node++) {
        ask(node, &uses[node], false);
    }
    struct nic_services *second = group.nodes[2].services;
    assert_int_equal(nic_packet_lock_abandon(group.nodes[1].services, 1, uses[1].ticket), DN_EBUSY);
    assert_int_equal(nic_packet_lock_abandon(second, 1, uses[2].ticket), 0);
    assert_done(&uses[2], DN_ETIMEOUT);
    assert_int_equal(nic_packet_lock_abandon(second, 1, uses[2].ticket), DN_ENOTHELD);
    /* The holder has not heard of that yet, and gives the lock to the node that gave up. */
    assert_int_equal(give(1, &uses[1]), 0);
    cluster_settle(NULL);
    assert_done(&uses[3], 0);
    cluster_end();
}

static void a_dead_holders_lock_is_inherited(void **state)
{
    struct use first;
    struct use second;
    struct use third;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    ask(3, &third, false);
    cluster_kill(1);
    cluster_settle(NULL);
    assert_done(&second, DN_EOWNERDEAD);
    assert_int_equal(third.completion.state, NIC_PENDING);
    assert_int_equal(give(2, &second), 0);
    cluster_settle(NULL);
    assert_done(&third, 0);
    cluster_end();
}

static void an_inheritance_that_nobody_took_passes_to_the_next(void **state)
{
    struct use first;
    struct use second;
    struct use third;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    ask(3, &third, false);
    cluster_kill(1);
    cluster_tell_loss(0, 1);
    assert_int_equal(nic_packet_lock_abandon(group.nodes[2].services, 1, second.ticket), 0);
    cluster_settle(NULL);
    assert_done(&second, DN_ETIMEOUT);
    assert_done(&third, DN_EOWNERDEAD);
    cluster_end();
}

static void a_dead_managers_locks_are_lost(void **state)
{
    struct use first;
    struct use second;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    cluster_kill(0);
    cluster_settle(NULL);
    assert_int_equal(state_of(1, &first), NIC_PACKET_LOCK_LOST);
    assert_done(&second, DN_EPEER);
    assert_int_equal(give(1, &first), DN_EPEER);
    assert_int_equal(give(1, &first), DN_ENOTHELD);
    cluster_assert_nobody_watches();
    cluster_end();
}

static void a_grant_to_an_earlier_life_is_not_taken(void **state)
{
    struct use first;
    struct use second;
    struct use anew;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    ask(2, &second, false);
    assert_int_equal(give(1, &first), 0);
    cluster_kill(2);
    cluster_restart(2);
    cluster_tell_loss(1, 2);
    assert_int_equal(nic_packet_lock_request(group.nodes[2].services, 1, 0, 1, false, NULL,
                                             &anew.completion, &anew.ticket),
                     0);
    assert_int_not_equal(anew.ticket, second.ticket);
    /* As if the old life's grant arrived in the new one. */
    struct wire_operation grant = {.opcode = WIRE_SERVICE,
                                   .detail = WIRE_LOCK,
                                   .area = NIC_LOCK_RECORD_GRANT << 24,
                                   .offset = second.ticket};
    nic_services_deliver(group.nodes[2].services, 1, 1, &grant);
    assert_int_equal(anew.completion.state, NIC_PENDING);
    cluster_settle(NULL);
    assert_int_equal(anew.completion.state, NIC_DONE);
    cluster_end();
}

static void a_full_manager_refuses_and_says_so(void **state)
{
    enum { ASKED = 4 };
    struct use uses[ASKED];
    struct nic_services_config config = cluster_config();
    (void)state;
    config.lock_waiter_count = 1;
    cluster_begin(1, 3, &config);
    struct nic_services *services = group.nodes[1].services;
    for (uint32_t i = 0; i < ASKED; i++) {
        assert_int_equal(nic_packet_lock_request(services, 1, 0, 0, i == 3, NULL,
                                                 &uses[i].completion, &uses[i].ticket),
                         0);
    }
    struct use more;
    assert_int_equal(
        nic_packet_lock_request(services, 1, 0, 0, false, NULL, &more.completion, &more.ticket),
        DN_EFULL);
    cluster_settle(NULL);
    assert_done(&uses[0], 0);
    for (uint32_t i = 1; i < ASKED; i++) {
        assert_done(&uses[i], DN_EFULL);
    }
    assert_int_equal(nic_services_counters(group.nodes[0].services)->refused, 3);
    assert_int_equal(give(1, &uses[0]), 0);
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    cluster_end();
}

static void a_manager_that_does_not_exist_is_no_lock(void **state)
{
    struct use use;
    (void)state;
    begin_by_hand();
    assert_int_equal(nic_packet_lock_request(group.nodes[1].services, 1, 4, 0, false, NULL,
                                             &use.completion, &use.ticket),
                     DN_ERANK);
    cluster_end();
}

/* The manager here has lines for two locks at a time, and uses them for one after the other. */
static void any_number_is_a_locks_name(void **state)
{
    static const uint64_t names[] = {0, 8, UINT64_C(1) << 40, UINT64_MAX - 7, UINT64_MAX};
    struct use held;
    struct use use;
    struct use third;
    (void)state;
    begin_by_hand();
    ask(2, &held, false); /* the lock named 1 */
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t name = names[i % 5] + i;
        name += name == 1;
        assert_int_equal(nic_packet_lock_request(group.nodes[1].services, 1, 0, name, i % 2, NULL,
                                                 &use.completion, &use.ticket),
                         0);
        cluster_settle(NULL);
        assert_done(&use, 0);
        if (i % 10 == 0) {
            assert_int_equal(nic_packet_lock_request(group.nodes[3].services, 1, 0, name + 1000,
                                                     false, NULL, &third.completion, &third.ticket),
                             0);
            cluster_settle(NULL);
            assert_done(&third, DN_EFULL);
        }
        assert_int_equal(give(1, &use), 0);
        cluster_settle(NULL);
        assert_null(nic_lock_queue_find(group.nodes[0].services, name));
    }
    assert_non_null(nic_lock_queue_find(group.nodes[0].services, 1));
    assert_int_equal(group.nodes[0].services->queues.touched, 2);
    assert_int_equal(give(2, &held), 0);
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    cluster_end();
}

/* A lock that a dead holder left keeps its line until somebody has been told. */
static void a_lock_that_a_dead_holder_left_is_inherited_later(void **state)
{
    struct use first;
    struct use second;
    struct use third;
    (void)state;
    begin_by_hand();
    ask(1, &first, false);
    cluster_kill(1);
    cluster_settle(NULL);
    assert_non_null(nic_lock_queue_find(group.nodes[0].services, 1));
    ask(2, &second, true);
    assert_done(&second, DN_EOWNERDEAD);
    assert_int_equal(give(2, &second), 0);
    cluster_settle(NULL);
    assert_null(nic_lock_queue_find(group.nodes[0].services, 1));
    ask(3, &third, true);
    assert_done(&third, 0);
    cluster_end();
}

/* One packet, one way: a waiter has the lock when the first record that the holder sent it arrives,
 * whether the manager is the holder, the waiter or a third node. */
static void a_hand_over_is_one_record_whoever_manages(void **state)
{
    static const struct {
        uint32_t from, to;
    } hands[] = {{0, 2}, {2, 0}, {1, 2}};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct use first;
        struct use second;
        begin_by_hand();
        ask(hands[i].from, &first, false);
        ask(hands[i].to, &second, false);
        assert_int_equal(give(hands[i].from, &first), 0);
        cluster_run(hands[i].from);
        assert_int_equal(second.completion.state, NIC_PENDING);
        cluster_deliver(hands[i].from, hands[i].to);
        assert_done(&second, 0);
        cluster_settle(NULL);
        cluster_end();
    }
}

/* ---- At random ----------------------------------------------------------------------- */

enum {
    LOCKS = 2,
    MANAGERS = 2, /* nodes 0 and 1 */
    USES = 4,
    SEEN_MAX = 4096,
    STEPS = 1500,
    SEEDS = 1500,
};

enum stage { IDLE, WAITING, HOLDING };

struct player_use {
    enum stage stage;
    struct nic_completion completion;
    uint64_t ticket;
    uint32_t manager;
    uint32_t lock;
    bool abandoned;
};

struct name {
    uint32_t node;
    uint64_t ticket;
};

/* What must be true of a lock in one life of its manager. */
struct truth {
    uint32_t life;
    bool is_held;
    struct name holder;
    bool died_holding;          /* and nobody has inherited it since */
    struct name seen[SEEN_MAX]; /* requests in the order in which the manager took them in */
    uint32_t seen_count;
};

static struct {
    struct player_use uses[CLUSTER_NODES_MAX][USES];
    struct truth truths[MANAGERS][LOCKS];
    uint64_t grants;
    uint64_t inherited;
    uint32_t deaths;
} play;

static bool same_name(struct name one, struct name other)
{
    return one.node == other.node && one.ticket == other.ticket;
}

static struct truth *truth_of(uint32_t manager, uint32_t lock)
{
    struct truth *truth = &play.truths[manager][lock];
    if (truth->life != group.nodes[manager].life) {
        truth->life = group.nodes[manager].life;
        truth->is_held = false;
        truth->died_holding = false;
        truth->seen_count = 0;
    }
    return truth;
}

/* Looks for new requests in the managers' queues. */
static void look_at_queues(void)
{
    for (uint32_t i = 0; i < MANAGERS * LOCKS; i++) {
        const struct nic_services *services = group.nodes[i / LOCKS].services;
        struct truth *truth = truth_of(i / LOCKS, i % LOCKS);
        if (!services) {
            continue;
        }
        const struct nic_lock_queue *queue = nic_lock_queue_find(services, i % LOCKS);
        for (const struct nic_lock_waiter *waiter = queue ? queue->first : NULL; waiter;
             waiter = waiter->behind) {
            struct name name = {waiter->node, waiter->ticket};
            uint32_t at = 0;
            while (at < truth->seen_count && !same_name(truth->seen[at], name)) {
                at++;
            }
            if (at == truth->seen_count) {
                cluster_check(truth->seen_count < SEEN_MAX);
                truth->seen[truth->seen_count++] = name;
            }
        }
    }
}

static bool is_waiting(struct name name)
{
    for (uint32_t i = 0; group.nodes[name.node].alive && i < USES; i++) {
        const struct player_use *use = &play.uses[name.node][i];
        if (use->stage == WAITING && use->ticket == name.ticket &&
            use->completion.state == NIC_PENDING) {
            return true;
        }
    }
    return false;
}

/* A manager that is dead, or that a node has lost, promises nothing any more. */
static bool is_promised(uint32_t node, uint32_t manager)
{
    return group.nodes[manager].alive && (node == manager || cluster_knows(node, manager));
}

static void granted(uint32_t node, struct player_use *use)
{
    struct name name = {node, use->ticket};
    use->stage = HOLDING;
    if (!is_promised(node, use->manager)) {
        return;
    }
    struct truth *truth = truth_of(use->manager, use->lock);
    cluster_check(!truth->is_held);
    cluster_check(!truth->died_holding || use->completion.result == DN_EOWNERDEAD);
    cluster_check(use->completion.result == 0 || play.deaths > 0);
    for (uint32_t i = 0; i < truth->seen_count && !same_name(truth->seen[i], name); i++) {
        cluster_check(!is_waiting(truth->seen[i]));
    }
    truth->is_held = true;
    truth->died_holding = false;
    truth->holder = name;
    play.grants++;
    play.inherited += use->completion.result == DN_EOWNERDEAD;
}

/* Looks at what has completed, right after it has. */
static void look_at_uses(void)
{
    look_at_queues();
    for (uint32_t i = 0; i < group.count * USES; i++) {
        uint32_t node = i / USES;
        struct player_use *use = &play.uses[node][i % USES];
        if (!group.nodes[node].alive || use->stage != WAITING ||
            use->completion.state != NIC_DONE) {
            continue;
        }
        switch (use->completion.result) {
        case 0:
        case DN_EOWNERDEAD: granted(node, use); break;
        case DN_EPEER:
            cluster_check(play.deaths > 0);
            use->stage = IDLE;
            break;
        default:
            cluster_check(use->completion.result == DN_EBUSY ||
                          use->completion.result == DN_EFULL ||
                          (use->completion.result == DN_ETIMEOUT && use->abandoned));
            use->stage = IDLE;
        }
    }
}

static void stop_holding(uint32_t node, struct player_use *use, bool dies)
{
    struct truth *truth = truth_of(use->manager, use->lock);
    struct name name = {node, use->ticket};
    if (truth->is_held && same_name(truth->holder, name)) {
        truth->is_held = false;
        truth->died_holding = dies;
    }
    use->stage = IDLE;
}

static void release_use(uint32_t node, struct player_use *use)
{
    struct nic_services *services = group.nodes[node].services;
    bool is_lost = nic_packet_lock_state(services, use->ticket) == NIC_PACKET_LOCK_LOST;
    cluster_check(!is_lost || play.deaths > 0);
    stop_holding(node, use, false);
    int error = nic_packet_lock_release(services, group.now_ns, use->ticket);
    cluster_check(error == (is_lost ? DN_EPEER : 0));
}

static void host_acts(uint32_t node)
{
    struct nic_services *services = group.nodes[node].services;
    struct player_use *use = &play.uses[node][cluster_below(USES)];
    switch (use->stage) {
    case IDLE:
        use->manager = (uint32_t)cluster_below(MANAGERS);
        use->lock = (uint32_t)cluster_below(LOCKS);
        use->abandoned = false;
        if (nic_packet_lock_request(services, group.now_ns, (uint16_t)use->manager, use->lock,
                                    cluster_percent(20), NULL, &use->completion,
                                    &use->ticket) == 0) {
            use->stage = WAITING;
        }
        break;
    case WAITING:
        if (cluster_percent(20)) {
            use->abandoned = true;
            int error = nic_packet_lock_abandon(services, group.now_ns, use->ticket);
            cluster_check(error == 0 || use->completion.state == NIC_DONE);
        }
        break;
    case HOLDING: release_use(node, use); break;
    }
}

static void host_finishes(uint32_t node)
{
    for (uint32_t i = 0; i < USES; i++) {
        look_at_uses();
        if (play.uses[node][i].stage == HOLDING) {
            release_use(node, &play.uses[node][i]);
        }
    }
}

static void kill_player(uint32_t node)
{
    play.deaths++;
    for (uint32_t i = 0; i < USES; i++) {
        struct player_use *use = &play.uses[node][i];
        if (use->stage == HOLDING) {
            stop_holding(node, use, true);
        }
        use->stage = IDLE;
    }
    cluster_kill(node);
}

static void disturb(uint32_t deadly)
{
    uint32_t node = (uint32_t)cluster_below(group.count);
    uint32_t other = (uint32_t)cluster_below(group.count);
    if (!cluster_percent(deadly)) {
        return;
    }
    if (!group.nodes[node].alive) {
        cluster_restart(node);
    } else if (node >= MANAGERS && other >= MANAGERS && node != other && cluster_percent(50)) {
        /* Never from a manager: a node cut off from its manager may hold what another inherited. */
        if (group.nodes[other].alive) {
            play.deaths++;
            cluster_cut(node, other);
        }
    } else {
        kill_player(node);
    }
}

static void all_is_over(void)
{
    for (uint32_t node = 0; node < group.count; node++) {
        const struct nic_services *services = group.nodes[node].services;
        if (!services) {
            continue;
        }
        for (uint32_t i = 0; i < USES; i++) {
            cluster_check(play.uses[node][i].stage == IDLE);
        }
        for (uint32_t i = 0; i < services->uses.touched; i++) {
            const struct nic_lock_use *use = base_pool_line(&services->uses, i);
            cluster_check(use->state == NIC_USE_FREE);
        }
        for (uint32_t i = 0; i < LOCKS; i++) {
            const struct nic_lock_queue *queue = nic_lock_queue_find(services, i);
            cluster_check(!queue || (queue->is_left && !queue->first && !queue->last));
        }
        cluster_check(services->counters.malformed == 0);
    }
}

static void play_locks(uint64_t seed, bool deadly)
{
    struct nic_services_config config = cluster_config();
    memset(&play, 0, sizeof play);
    uint32_t count = 2 + (uint32_t)(seed % (CLUSTER_NODES_MAX - 1));
    config.lock_count = seed % 5 == 0 ? 1 : LOCKS;
    config.lock_waiter_count = seed % 3 == 0 ? 3 : 32;
    cluster_begin(seed, count, &config);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t node = (uint32_t)cluster_below(group.count);
        cluster_step();
        look_at_uses();
        if (group.nodes[node].alive && cluster_percent(30)) {
            host_acts(node);
            look_at_uses();
        }
        if (deadly && step % 8 == 0) {
            disturb(8);
        }
    }
    do {
        cluster_settle(host_finishes);
        for (uint32_t node = 0; node < group.count; node++) {
            if (group.nodes[node].alive) {
                host_finishes(node);
            }
        }
    } while (!cluster_is_quiet());
    all_is_over();
    cluster_assert_nobody_watches();
    cluster_end();
}

static void locks_exclude_and_are_fair_in_any_interleaving(void **state)
{
    uint64_t grants = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_locks(seed, false);
        grants += play.grants;
    }
    assert_true(grants > SEEDS * 10);
}

static void locks_exclude_and_nobody_is_left_when_nodes_die(void **state)
{
    uint64_t grants = 0;
    uint64_t inherited = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_locks(1000000 + seed, true);
        grants += play.grants;
        inherited += play.inherited;
    }
    assert_true(grants > SEEDS * 5);
    assert_true(inherited > SEEDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_goes_to_those_who_asked_in_their_order),
        cmocka_unit_test(a_holder_gives_the_lock_to_the_next_without_the_manager),
        cmocka_unit_test(a_next_that_cannot_be_reached_gets_the_lock_from_the_manager),
        cmocka_unit_test(trying_a_lock_that_somebody_has_finds_it_busy),
        cmocka_unit_test(who_gave_up_is_passed_over),
        cmocka_unit_test(a_dead_holders_lock_is_inherited),
        cmocka_unit_test(an_inheritance_that_nobody_took_passes_to_the_next),
        cmocka_unit_test(a_dead_managers_locks_are_lost),
        cmocka_unit_test(a_grant_to_an_earlier_life_is_not_taken),
        cmocka_unit_test(a_full_manager_refuses_and_says_so),
        cmocka_unit_test(a_manager_that_does_not_exist_is_no_lock),
        cmocka_unit_test(any_number_is_a_locks_name),
        cmocka_unit_test(a_lock_that_a_dead_holder_left_is_inherited_later),
        cmocka_unit_test(a_hand_over_is_one_record_whoever_manages),
        cmocka_unit_test(locks_exclude_and_are_fair_in_any_interleaving),
        cmocka_unit_test(locks_exclude_and_nobody_is_left_when_nodes_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
