/* Handles on locks where other nodes' memory is a mirror: three nodes in one process, their
 * services joined by a carrier that moves on whenever a node waits. */
#include "unit/group.h"
#include "unit/nic/services_group.h"

#include "lock/lock.h"
#include "host/node.h"

enum {
    NODES = 3,
    MANAGER = 0,
    STEPS = 20, /* of the carrier, each time that it moves */
    SLOW = 200, /* looks of a waiter between two moves of a slow carrier */
};

static struct {
    struct unit_group made;
    struct host_process processes[NODES];
    struct dn_node nodes[NODES];
    uint32_t delay;    /* looks of a waiter between two moves of the carrier */
    uint32_t looks;    /* of waiters, so far */
    void (*act)(void); /* called at a waiter's tenth look */
    struct dn_lock *of_others;
    uint32_t quiets;
    uint32_t quiets_too_late; /* the lock was not held any more */
    int quiet_result;
} world;

/* ---- A fabric ------------------------------------------------------------------------ */

static struct nic_services *services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    *now_ns = group.now_ns;
    return group.nodes[lane->view->rank].services;
}

static void services_give(struct fabric_lane *lane)
{
    cluster_run(lane->view->rank);
}

static bool progress(struct fabric_lane *lane)
{
    (void)lane;
    if (++world.looks == 10 && world.act) {
        world.act();
    }
    for (uint32_t i = 0; world.looks % (world.delay + 1) == 0 && i < STEPS; i++) {
        cluster_step();
    }
    return false;
}

static void nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)timeout_ns;
    (void)seen;
    (void)progress(lane);
}

static void *word_of(uint32_t manager)
{
    return group_segment(&world.processes[0].view, manager, DN_LLCM);
}

static const struct nic_lock_queue *queue_of(uint32_t manager)
{
    const struct group_view *view = &world.processes[0].view;
    return nic_lock_queue_find(group.nodes[manager].services,
                               (uintptr_t)word_of(manager) -
                                   (uintptr_t)group_node_memory(view, manager));
}

static int quiet(struct fabric_lane *lane)
{
    const struct nic_lock_queue *queue = group.nodes[MANAGER].alive ? queue_of(MANAGER) : NULL;
    world.quiets++;
    world.quiets_too_late += queue && queue->first->node != lane->view->rank;
    return world.quiet_result;
}

static const struct fabric_ops ops = {
    .services_take = services_take,
    .services_give = services_give,
    .progress = progress,
    .nap = nap,
    .quiet = quiet,
};

static int make(void **state)
{
    struct nic_services_config config = cluster_config();
    (void)state;
    memset(&world, 0, sizeof world);
    unit_group_make(&world.made, NODES, 1);
    config.lock_waiter_count = 64;
    config.lock_request_count = 64;
    cluster_begin(1, NODES, &config);
    group.wire_room = CLUSTER_WIRE_MAX;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        struct host_process *process = &world.processes[rank];
        struct dn_node *node = &world.nodes[rank];
        process->view = world.made.views[rank];
        process->default_lane = node;
        node->process = process;
        node->lane = (struct fabric_lane){.open = FABRIC_LANE_OPEN,
                                          .node_count = NODES,
                                          .ops = &ops,
                                          .ports = process->view.ports,
                                          .sleeping = process->view.group->sleeping,
                                          .stored_to = process->stored_to,
                                          .view = &process->view};
        atomic_store(&process->view.ports[rank].life, DN_ATTACHED);
    }
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    lock_end();
    cluster_end();
    unit_group_free(&world.made);
    return 0;
}

/* A handle of that node on the lock at the start of a manager's LLCM. */
static struct dn_lock *open_at(uint32_t rank, uint32_t manager)
{
    struct dn_lock *lock = NULL;
    assert_int_equal(lock_open(&world.nodes[rank], manager, word_of(manager), &lock), 0);
    return lock;
}

static struct dn_lock *open_handle(uint32_t rank)
{
    return open_at(rank, MANAGER);
}

/* Asserts that no node has the lock, waits for it, or watches another for it. */
static void assert_all_is_over(void)
{
    cluster_settle(NULL);
    assert_null(queue_of(MANAGER));
    cluster_assert_nobody_watches();
}

/* ---- Taking and giving --------------------------------------------------------------- */

static void a_lock_is_taken_wherever_its_word_lies(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        struct dn_lock *lock = open_at(i / NODES, i % NODES);
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
        assert_int_equal(*(uint64_t *)word_of(i % NODES), 0); /* not used */
    }
    assert_all_is_over();
}

static void who_finds_it_taken_goes_away_or_gives_up(void **state)
{
    (void)state;
    struct dn_lock *held = open_handle(1);
    assert_int_equal(lock_take(held, DN_FOREVER), 0);
    for (uint32_t rank = 0; rank < NODES; rank++) {
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
    cluster_settle(NULL);
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
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        struct dn_lock *lock = open_handle(i % NODES);
        world.of_others = open_handle(i / NODES); /* perhaps another thread of the same node */
        assert_int_equal(lock_take(world.of_others, DN_FOREVER), 0);
        world.act = give_of_others;
        world.looks = 0;
        assert_int_equal(lock_take(lock, UNIT_PATIENCE_NS), 0);
        assert_int_equal(lock_give(world.of_others), DN_ENOTHELD);
        assert_int_equal(lock_give(lock), 0);
        assert_int_equal(lock_close(world.of_others), 0);
        assert_int_equal(lock_close(lock), 0);
        world.act = NULL;
        cluster_settle(NULL);
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
        cluster_settle(NULL);
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
        cluster_settle(NULL);
    }
    assert_int_equal(world.quiets_too_late, 0);
    /* A node that was sent to has died: that is told, and keeps no node from the lock. */
    world.quiet_result = DN_EPEER;
    assert_int_equal(lock_take(lock, DN_FOREVER), 0);
    assert_int_equal(lock_give(lock), DN_EPEER);
    assert_int_equal(lock_give(lock), DN_ENOTHELD);
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
    assert_int_equal(lock_open(&world.nodes[1], MANAGER, word_of(MANAGER), &more), DN_EFULL);
    assert_null(more);
    assert_int_equal(lock_close(locks[7]), 0);
    assert_non_null(open_handle(1));
}

/* ---- Deaths -------------------------------------------------------------------------- */

static void kill_one(void)
{
    cluster_kill(1);
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
    cluster_kill(MANAGER);
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
    cluster_settle(NULL);
    assert_int_equal(lock_give(held), DN_EPEER);
    assert_int_equal(lock_give(held), DN_ENOTHELD);
    assert_int_equal(lock_take(held, DN_FOREVER), DN_EPEER);
    assert_int_equal(lock_try(held), DN_EPEER);
    assert_int_equal(lock_close(held), 0);
    assert_int_equal(lock_close(lock), 0);
    cluster_assert_nobody_watches();
}

static void announce_manager(void)
{
    atomic_store(&world.processes[0].view.ports[MANAGER].life, DN_DEAD);
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
    cluster_settle(NULL);
    assert_ptr_equal(queue_of(MANAGER)->first, queue_of(MANAGER)->last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lock_is_taken_wherever_its_word_lies, make, unmake),
        cmocka_unit_test_setup_teardown(who_finds_it_taken_goes_away_or_gives_up, make, unmake),
        cmocka_unit_test_setup_teardown(who_waits_has_it_when_the_holder_gives_it, make, unmake),
        cmocka_unit_test_setup_teardown(a_free_lock_is_had_however_short_the_time, make, unmake),
        cmocka_unit_test_setup_teardown(what_was_sent_is_in_place_before_the_lock_is_given, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(handles_run_out_and_come_back, make, unmake),
        cmocka_unit_test_setup_teardown(a_dead_holders_lock_is_inherited, make, unmake),
        cmocka_unit_test_setup_teardown(a_lock_ends_with_its_manager, make, unmake),
        cmocka_unit_test_setup_teardown(a_manager_that_is_said_to_be_gone_is_not_waited_for, make,
                                        unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
