/* Handles on locks where some node is away: several nodes in one process, whose services are joined
 * by a fabric that moves on whenever a node waits. */
#include "unit/fake_fabric.h"

#include "lock/lock.h"
#include "nic/services_state.h"

struct nodes {
    uint32_t count;
    uint32_t hosts[FAKE_NODES_MAX];
};

static struct nodes apart = {3, {0, 1, 2}};
static struct nodes two_and_one = {3, {0, 0, 1}};
static struct nodes crossed = {4, {0, 1, 0, 1}};

enum {
    MANAGER = 0,
    MOVES = 8,  /* of the fabric, each time that it moves */
    SLOW = 200, /* looks of a waiter between two moves of a slow fabric */
};

static struct {
    uint32_t delay;    /* looks of a waiter between two moves of the fabric */
    uint32_t looks;    /* of waiters, so far */
    void (*act)(void); /* called at a waiter's tenth look */
    struct dn_lock *of_others;
    uint32_t quiets;
    uint32_t quiets_too_late; /* the lock was not held any more */
    int quiet_result;
} world;

/* ---- The fabric, with an ear at it ------------------------------------------------------- */

static bool progress(struct fabric_lane *lane)
{
    if (++world.looks == 10 && world.act) {
        world.act();
    }
    for (uint32_t i = 0; world.looks % (world.delay + 1) == 0 && i < MOVES; i++) {
        (void)fake_ops.progress(lane);
    }
    return false;
}

static void nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)timeout_ns;
    (void)seen;
    (void)progress(lane);
}

/* The word of a lock at the start of a manager's LLCM, as that node sees it. */
static void *word_at(uint32_t rank, uint32_t manager)
{
    return group_segment(&fake_nodes[rank].process.view, manager, DN_LLCM);
}

static const struct nic_lock_queue *queue_of(uint32_t manager)
{
    const struct group_view *view = &fake_nodes[manager].process.view;
    return nic_lock_queue_find(fake_nodes[manager].services,
                               (uintptr_t)word_at(manager, manager) -
                                   (uintptr_t)group_node_memory(view, manager));
}

static int quiet(struct fabric_lane *lane)
{
    const struct nic_lock_queue *queue = fake->silent[MANAGER] ? NULL : queue_of(MANAGER);
    world.quiets++;
    world.quiets_too_late += queue && queue->first->node != lane->view->rank;
    int error = fake_ops.quiet(lane);
    return error ? error : world.quiet_result;
}

static int make(void **state)
{
    const struct nodes *nodes = *state;
    struct nic_services_config services;
    static struct fabric_ops ops;
    memset(&world, 0, sizeof world);
    nic_services_config_default(&services, nodes->count);
    services.lock_count = 2;
    services.lock_waiter_count = 64;
    services.lock_request_count = 64;
    fake_make(&(struct fake_settings){
        .node_count = nodes->count, .hosts = nodes->hosts, .seed = 1, .services = &services});
    fake_attach();
    ops = fake_ops;
    ops.progress = progress;
    ops.nap = nap;
    ops.quiet = quiet;
    for (uint32_t rank = 0; rank < nodes->count; rank++) {
        fake_nodes[rank].node.lane.ops = &ops;
    }
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    lock_end();
    fake_free();
    return 0;
}

/* A handle of that node on the lock at the start of a manager's LLCM. */
static struct dn_lock *open_at(uint32_t rank, uint32_t manager)
{
    struct dn_lock *lock = NULL;
    assert_int_equal(lock_open(&fake_nodes[rank].node, manager, word_at(rank, manager), &lock), 0);
    return lock;
}

static struct dn_lock *open_handle(uint32_t rank)
{
    return open_at(rank, MANAGER);
}

/* Asserts that no node has the lock, waits for it, or watches another for it. */
static void assert_all_is_over(void)
{
    fake_deliver_all();
    assert_null(queue_of(MANAGER));
    fake_assert_nobody_watches();
}

/* ---- Taking and giving --------------------------------------------------------------- */

static void a_lock_is_taken_wherever_its_word_lies(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fake->node_count * fake->node_count; i++) {
        struct dn_lock *lock = open_at(i / fake->node_count, i % fake->node_count);
        assert_int_equal(lock_take(lock, DN_FOREVER), 0);
        assert_int_equal(lock_take(lock, DN_FOREVER), DN_EBUSY);
        assert_int_equal(lock_try(lock), DN_EBUSY);
        assert_int_equal(lock_close(lock), DN_EBUSY);
        assert_int_equal(lock_give(lock), 0);
        assert_int_equal(lock_give(lock), DN_ENOTHELD);
        assert_int_equal(lock_try(lock), 0);
        assert_int_equal(lock_give(lock), 0);
        assert_int_equal(lock_close(lock), 0);
        assert_int_equal(lock_close(lock), DN_ESTATE);
        assert_int_equal(*(uint64_t *)word_at(i % fake->node_count, i % fake->node_count),
                         0); /* not used */
    }
    assert_all_is_over();
}

static void who_finds_it_taken_goes_away_or_gives_up(void **state)
{
    (void)state;
    struct dn_lock *held = open_handle(1);
    assert_int_equal(lock_take(held, DN_FOREVER), 0);
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        struct dn_lock *lock = open_handle(rank);
        assert_int_equal(lock_try(lock), DN_EBUSY);
        assert_int_equal(lock_take(lock, 0), DN_ETIMEOUT);
        assert_int_equal(lock_take(lock, 1), DN_ETIMEOUT);
        uint64_t start_ns = unit_now_ns();
        assert_int_equal(lock_take(lock, 3 * UNIT_MS), DN_ETIMEOUT);
        assert_true(unit_now_ns() - start_ns >= 3 * UNIT_MS);
        assert_int_equal(lock_give(lock), DN_ENOTHELD);
        assert_int_equal(lock_close(lock), 0);
    }
    fake_deliver_all();
    assert_ptr_equal(queue_of(MANAGER)->first, queue_of(MANAGER)->last);
    assert_int_equal(lock_give(held), 0);
    assert_all_is_over();
}

static void give_of_others(void)
{
    assert_int_equal(lock_give(world.of_others), 0);
}

static void who_waits_has_it_when_the_holder_gives_it(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fake->node_count * fake->node_count; i++) {
        struct dn_lock *lock = open_handle(i % fake->node_count);
        world.of_others = open_handle(
            i / fake->node_count); /* perhaps another thread of the same node */
        assert_int_equal(lock_take(world.of_others, DN_FOREVER), 0);
        world.act = give_of_others;
        world.looks = 0;
        assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), 0);
        assert_int_equal(lock_give(world.of_others), DN_ENOTHELD);
        assert_int_equal(lock_give(lock), 0);
        assert_int_equal(lock_close(world.of_others), 0);
        assert_int_equal(lock_close(lock), 0);
        world.act = NULL;
        fake_deliver_all();
    }
    assert_all_is_over();
}

/* Otherwise a program that polls with a time-out shorter than the network's round trip would never
 * get a lock that nobody has. */
static void a_free_lock_is_had_however_short_the_time(void **state)
{
    (void)state;
    world.delay = SLOW;
    struct dn_lock *lock = open_handle(2);
    for (uint64_t timeout_ns = 0; timeout_ns < 3; timeout_ns++) {
        assert_int_equal(lock_take(lock, timeout_ns), 0);
        assert_int_equal(lock_give(lock), 0);
        fake_deliver_all();
    }
    assert_all_is_over();
}

static void what_was_sent_is_in_place_before_the_lock_is_given(void **state)
{
    (void)state;
    struct dn_lock *lock = open_handle(1);
    for (uint32_t i = 1; i <= 5; i++) {
        assert_int_equal(lock_take(lock, DN_FOREVER), 0);
        assert_int_equal(world.quiets, i - 1);
        assert_int_equal(lock_give(lock), 0);
        assert_int_equal(world.quiets, i);
        fake_deliver_all();
    }
    assert_int_equal(world.quiets_too_late, 0);
    /* A node that was sent to has died: that is told, and keeps no node from the lock. */
    world.quiet_result = DN_EPEER;
    assert_int_equal(lock_take(lock, DN_FOREVER), 0);
    assert_int_equal(lock_give(lock), DN_EPEER);
    assert_int_equal(lock_give(lock), DN_ENOTHELD);
    assert_all_is_over();
}

/* ---- Several nodes at once ---------------------------------------------------------------- */

enum { ROUNDS = 40 };

/* Counts up, in every node's LLCM behind the lock's word, with a load and a store. */
static void count_under_lock(uint32_t rank, void *context)
{
    struct fabric_lane *lane = &fake_nodes[rank].node.lane;
    struct dn_lock *lock = ((struct dn_lock **)context)[rank];
    lane->ops = &fake_ops; /* the ear is for one thread */
    for (uint32_t i = 0; i < ROUNDS; i++) {
        unit_expect(lock_take(lock, UNIT_PATIENCE_NS) == 0);
        for (uint32_t at = 0; at < fake->node_count; at++) {
            struct dn_remote remote = {.rank = (int)at, .area = DN_LLCM, .offset = 64};
            uint64_t count = 0;
            unit_expect(lane->ops->pull(lane, remote, &count, sizeof count, NULL) == 0);
            unit_expect(lane->ops->store(lane, remote, count + 1, sizeof count) == 0);
        }
        unit_expect(lock_give(lock) == 0);
    }
}

/* The next holder finds what the last one has written, in place and by packets. */
static void a_lock_orders_what_is_written_under_it(void **state)
{
    struct dn_lock *locks[FAKE_NODES_MAX];
    (void)state;
    for (uint32_t manager = 0; manager < fake->node_count; manager++) {
        for (uint32_t rank = 0; rank < fake->node_count; rank++) {
            locks[rank] = open_at(rank, manager);
        }
        unit_run_threads(fake->node_count, count_under_lock, locks);
        for (uint32_t rank = 0; rank < fake->node_count; rank++) {
            const uint64_t *count = word_at(rank, rank);
            assert_int_equal(count[8], (manager + 1) * fake->node_count * ROUNDS);
            assert_int_equal(lock_close(locks[rank]), 0);
        }
    }
    assert_all_is_over();
}

static void handles_run_out_and_come_back(void **state)
{
    static struct dn_lock *locks[GROUP_LOCK_RECORDS];
    struct dn_lock *more = NULL;
    (void)state;
    for (uint32_t i = 0; i < GROUP_LOCK_RECORDS; i++) {
        locks[i] = open_handle(1);
    }
    assert_int_equal(lock_open(&fake_nodes[1].node, MANAGER, word_at(1, MANAGER), &more), DN_EFULL);
    assert_null(more);
    assert_int_equal(lock_close(locks[7]), 0);
    assert_non_null(open_handle(1));
}

/* ---- Deaths -------------------------------------------------------------------------- */

static void kill_one(void)
{
    fake_silence(1, true);
}

static void a_dead_holders_lock_is_inherited(void **state)
{
    (void)state;
    struct dn_lock *held = open_handle(1);
    struct dn_lock *lock = open_handle(2);
    assert_int_equal(lock_take(held, DN_FOREVER), 0);
    world.act = kill_one;
    world.looks = 0;
    assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), DN_EOWNERDEAD);
    assert_int_equal(lock_give(lock), 0);
    assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), 0);
    assert_int_equal(lock_give(lock), 0);
    assert_all_is_over();
}

static void kill_manager(void)
{
    fake_silence(MANAGER, true);
}

static void a_lock_ends_with_its_manager(void **state)
{
    (void)state;
    struct dn_lock *held = open_handle(1);
    struct dn_lock *lock = open_handle(2);
    assert_int_equal(lock_take(held, DN_FOREVER), 0);
    world.act = kill_manager;
    world.looks = 0;
    assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), DN_EPEER);
    assert_int_equal(lock_give(lock), DN_ENOTHELD);
    fake_deliver_all();
    assert_int_equal(lock_give(held), DN_EPEER);
    assert_int_equal(lock_give(held), DN_ENOTHELD);
    assert_int_equal(lock_take(held, DN_FOREVER), DN_EPEER);
    assert_int_equal(lock_try(held), DN_EPEER);
    assert_int_equal(lock_close(held), 0);
    assert_int_equal(lock_close(lock), 0);
    fake_assert_nobody_watches();
}

static void announce_manager(void)
{
    fake_announce(MANAGER, false, NULL);
}

/* The launcher says it before the network notices the silence. */
static void a_manager_that_is_said_to_be_gone_is_not_waited_for(void **state)
{
    (void)state;
    struct dn_lock *held = open_handle(1);
    struct dn_lock *lock = open_handle(2);
    assert_int_equal(lock_take(held, DN_FOREVER), 0);
    world.act = announce_manager;
    world.looks = 0;
    assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), DN_EPEER);
    assert_int_equal(lock_try(lock), DN_EPEER);
    fake_deliver_all();
    assert_ptr_equal(queue_of(MANAGER)->first, queue_of(MANAGER)->last);
}

#define TEST(name, nodes)                                   \
    {                                                       \
#name " (" #nodes ")", name, make, unmake, &(nodes) \
    }
#define TEST_ON_ALL(name) TEST(name, apart), TEST(name, two_and_one), TEST(name, crossed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_ON_ALL(a_lock_is_taken_wherever_its_word_lies),
        TEST_ON_ALL(who_finds_it_taken_goes_away_or_gives_up),
        TEST_ON_ALL(who_waits_has_it_when_the_holder_gives_it),
        TEST_ON_ALL(a_free_lock_is_had_however_short_the_time),
        TEST_ON_ALL(what_was_sent_is_in_place_before_the_lock_is_given),
        TEST_ON_ALL(a_lock_orders_what_is_written_under_it),
        TEST(handles_run_out_and_come_back, apart),
        TEST_ON_ALL(a_dead_holders_lock_is_inherited),
        TEST_ON_ALL(a_lock_ends_with_its_manager),
        TEST_ON_ALL(a_manager_that_is_said_to_be_gone_is_not_waited_for),
    };
    return cmocka_run_group_tests_name("lock/lock_by_packets", tests, NULL, NULL);
}
