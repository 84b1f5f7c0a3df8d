/* What members agree on by packets, step by step: the test delivers what they send, and lets them
 * die, at the worst moments. */
#define _GNU_SOURCE
#include "unit/fake_fabric.h"

#include "group/service_memory.h"
#include "team/barrier.h"
#include "team/team_by_packets.h"

enum { STAGED_BYTES = 1 << 20 };

/* ---- A phase -------------------------------------------------------------------------------- */

/* Members of a team of all nodes, all in this process, where the test delivers what they send. */
static struct dn_team members[FAKE_NODES_MAX];
static uint32_t member_ranks[FAKE_NODES_MAX];
static uint64_t member_blocks[FAKE_NODES_MAX];

static void make_members(uint32_t count)
{
    fake_make(&(struct fake_settings){.node_count = count});
    fake_attach();
    fake->held = true;
    memset(members, 0, sizeof members);
    for (uint32_t rank = 0; rank < count; rank++) {
        const struct group_view *view = &fake_nodes[rank].process.view;
        struct dn_team *team = &members[rank];
        member_ranks[rank] = rank;
        member_blocks[rank] = group_service_team_of_all(view);
        team->node = &fake_nodes[rank].node;
        team->way = &team_by_packets;
        team->ranks = member_ranks;
        team->blocks = member_blocks;
        group_team_make(view, member_ranks, count, rank,
                        group_node_memory(view, rank) + member_blocks[rank], &team->nic);
        group_team_use_lines(&team->nic);
    }
}

static void deliver(uint32_t from, uint32_t to)
{
    while (fake_deliver(from, to)) {
    }
}

/* Node 2 arrives and dies. Its arrival comes to node 1 after node 0 has asked for it there. */
static void who_sees_an_arrival_late_asks_what_was_agreed(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        make_members(3);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(team_barrier_arrive(&members[rank]), 0);
        }
        deliver(0, 1);
        deliver(1, 0);
        fake_announce(2, false, NULL);
        if (!is_late) {
            deliver(2, 1);
        }
        int expected = is_late ? DN_EPEER : 0;
        assert_int_equal(team_barrier_wait(&members[0], DN_FOREVER), expected);
        deliver(2, 1);
        assert_int_equal(team_barrier_wait(&members[1], DN_FOREVER), expected);
        assert_int_equal(team_barrier(&members[0], DN_FOREVER), DN_EPEER);
        assert_int_equal(team_barrier(&members[1], DN_FOREVER), DN_EPEER);
        assert_int_equal(atomic_load(&fake->refused), 0);
        fake_free();
    }
}

/* Node 1 asks. Node 3 has seen node 2 arrive, says so in node 0's block, and dies. Node 0 may leave
 * when it has passed, so that node 1 does not come to its block any more. */
static void who_passes_carries_on_what_was_said(void **state)
{
    (void)state;
    make_members(4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(team_barrier_arrive(&members[rank]), 0);
        for (uint32_t to = 0; to < 4; to++) {
            deliver(rank, to);
        }
    }
    fake_kill(2);
    fake_kill(3);
    atomic_store(&members[1].nic.last[2], GROUP_TEAM_ASKED);
    atomic_store(&members[0].nic.last[2], GROUP_TEAM_SAID | 1);
    assert_int_equal(team_barrier_wait(&members[0], DN_FOREVER), 0);
    assert_true(atomic_load(&members[1].nic.last[2]) == (GROUP_TEAM_SAID | 1));
    fake_free();
}

/* The root, node 0, has heard of node 3's arrival and releases node 2, which computes; then both
 * die. Node 1, which was not released, finds nobody who has seen node 3. */
static void who_was_released_late_asks_what_was_agreed(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        make_members(4);
        for (uint32_t rank = 4; rank-- > 0;) {
            members[rank].kind = DN_BARRIER_HOST;
            for (uint32_t from = rank + 1; from < 4; from++) {
                deliver(from, rank);
            }
            assert_int_equal(team_barrier_arrive(&members[rank]), 0);
        }
        deliver(0, 2);
        fake_kill(0);
        fake_kill(3);
        int expected = is_late ? DN_EPEER : 0;
        if (!is_late) {
            assert_int_equal(team_barrier_wait(&members[2], DN_FOREVER), 0);
        }
        assert_int_equal(team_barrier_wait(&members[1], DN_FOREVER), expected);
        if (is_late) {
            assert_int_equal(team_barrier_wait(&members[2], DN_FOREVER), DN_EPEER);
        }
        fake_free();
    }
}

/* Node 1 arrives, and leaves the group before its child in the tree has come: as in place, it has
 * arrived for all. */
static void who_leaves_an_open_tree_barrier_has_arrived(void **state)
{
    (void)state;
    make_members(FAKE_NODES_MAX);
    for (uint32_t rank = 0; rank < FAKE_NODES_MAX; rank++) {
        members[rank].kind = DN_BARRIER_HOST;
    }
    struct dn_team *leaver = &members[1];
    assert_int_equal(team_barrier_arrive(leaver), 0);
    leaver->way->leave(leaver);
    team_note_left(leaver);
    leaver->way->tell_left(leaver);
    fake_deliver_all();
    fake_announce(1, true, NULL);
    for (uint32_t rank = 0; rank < FAKE_NODES_MAX; rank++) {
        assert_int_equal(rank == 1 ? 0 : team_barrier_arrive(&members[rank]), 0);
    }
    fake_deliver_all();
    for (uint32_t rank = 0; rank < FAKE_NODES_MAX; rank++) {
        assert_int_equal(rank == 1 ? 0 : team_barrier_wait(&members[rank], DN_FOREVER), 0);
    }
    fake_free();
}

/* Node 1 gives node 0 data for a phase. Should it die, node 0 may hear of its next arrival from
 * others; so the data is there before that, but does not hold up the arrival that it belongs to. */
static void what_was_given_is_in_place_before_the_next_arrival(void **state)
{
    (void)state;
    for (int is_small = 0; is_small < 2; is_small++) {
        make_members(2);
        struct dn_team *giver = &members[1];
        const struct group_view *view = giver->nic.view;
        uint64_t offset = view->facts.geometry.service_offset + group_service_free_offset(view);
        unsigned char *place = group_node_memory(view, 1) + offset;
        const unsigned char *there = group_node_memory(members[0].nic.view, 1) + offset;
        /* What all get in the small buffers can be taken over from others. */
        giver->staging = is_small ? offset : offset + STAGED_BYTES;
        giver->way->give_all(giver, place, "data", 5);
        assert_int_equal(team_arrive(giver), 0);
        assert_true(fake_is_under_way(1, 0));
        assert_int_equal(team_arrive(&members[0]), 0);
        deliver(0, 1);
        assert_int_equal(team_pass(giver, DN_FOREVER), 0);
        assert_int_equal(team_arrive(giver), 0);
        assert_int_equal(memcmp(there, "data", 5) == 0, !is_small);
        deliver(1, 0);
        assert_memory_equal(there, "data", 5);
        fake_free();
    }
}

/* ---- A new team ------------------------------------------------------------------------------ */

/* Node 3 hears that the team was made, from node 0, which dies. Node 1 asks all, and node 3 dies
 * before node 2 asks. */
static void who_asks_later_hears_the_same_of_a_new_team(void **state)
{
    (void)state;
    for (int made = 0; made < 2; made++) {
        make_members(4);
        assert_int_equal(team_by_packets.decide(&members[3], made), made);
        fake_kill(0);
        assert_int_equal(team_by_packets.decide(&members[1], !made), made);
        fake_kill(3);
        assert_int_equal(team_by_packets.decide(&members[2], !made), made);
        assert_int_equal(atomic_load(&fake->refused), 0);
        fake_free();
    }
}

/* Node 1 had heard node 0's word, and not noted it yet, when node 2 found nothing. */
static void who_has_noted_nothing_goes_by_what_others_agree_on(void **state)
{
    (void)state;
    make_members(3);
    fake_kill(0);
    assert_false(team_by_packets.decide(&members[2], false));
    assert_false(team_by_packets.decide(&members[1], true));
    fake_free();
}

static void *create_named(void *node)
{
    static const int ranks[] = {0, 1, 2};
    struct dn_team *team;
    return (void *)(intptr_t)team_create_named(node, ranks, 3, 1, &team);
}

/* Node 2 has no memory. Node 0 has seen that, and has taken its own offer back before node 1 found
 * it. */
static void who_misses_an_offer_hears_of_the_refusal(void **state)
{
    (void)state;
    fake_make(&(struct fake_settings){.node_count = 3});
    fake_attach();
    const struct group_view *view = &fake_nodes[1].process.view;
    struct group_team_slot *own = group_service(view, 1)->team_slots;
    struct group_team_slot *refusal = group_service(view, 2)->team_slots;
    struct timespec patience;
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, create_named, &fake_nodes[1].node), 0);
    while (atomic_load(&own->key) == 0) {
        sched_yield();
    }
    atomic_store(&refusal->key, atomic_load(&own->key));
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &patience), 0);
    patience.tv_sec += 30;
    assert_int_equal(pthread_timedjoin_np(thread, &result, &patience), 0);
    assert_int_equal((intptr_t)result, DN_ENOMEM);
    fake_free();
}

/* Takes all memory that a node could hand out. */
static void exhaust(struct base_extents *arena)
{
    uint64_t taken;
    for (uint64_t bytes = GROUP_SERVICE_BYTES; bytes >= 64;) {
        bytes = base_extents_take(arena, bytes, 64, &taken) ? bytes : bytes / 2;
    }
}

/* However often a node without memory has refused, the others hear of the next refusal. */
static void every_refusal_is_told(void **state)
{
    static const int ranks[] = {0, 1};
    (void)state;
    fake_make(&(struct fake_settings){.node_count = 2});
    fake_attach();
    fake->held = true;
    struct dn_node *node = &fake_nodes[1].node;
    const struct group_team_slot *slots = group_service(&node->process->view, 1)->team_slots;
    struct dn_team *team;
    exhaust(&node->process->arena);
    for (uint32_t name = 0; name < 3 * GROUP_TEAM_SLOTS; name++) {
        uint64_t before = atomic_load(&slots[name % GROUP_TEAM_SLOTS].key);
        assert_int_equal(team_create_named(node, ranks, 2, name, &team), DN_ENOMEM);
        uint64_t after = atomic_load(&slots[name % GROUP_TEAM_SLOTS].key);
        assert_true(after != before && after != 0);
        deliver(1, 0);
    }
    fake_free();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sees_an_arrival_late_asks_what_was_agreed),
        cmocka_unit_test(who_passes_carries_on_what_was_said),
        cmocka_unit_test(who_was_released_late_asks_what_was_agreed),
        cmocka_unit_test(who_leaves_an_open_tree_barrier_has_arrived),
        cmocka_unit_test(what_was_given_is_in_place_before_the_next_arrival),
        cmocka_unit_test(who_asks_later_hears_the_same_of_a_new_team),
        cmocka_unit_test(who_has_noted_nothing_goes_by_what_others_agree_on),
        cmocka_unit_test(every_refusal_is_told),
        cmocka_unit_test(who_misses_an_offer_hears_of_the_refusal), /* keeps a block: the last */
    };
    return cmocka_run_group_tests_name("team/agreement", tests, NULL, NULL);
}
