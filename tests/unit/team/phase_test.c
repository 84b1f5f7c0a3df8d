/* What a member that waits concludes from the words of others: who gave up, who died, who left. */
#include "unit/group.h"

#include "team/barrier.h"
#include "team/way.h"

enum { NODES = 4, MILLISECOND_NS = 1000000 };

/* What the others' blocks say: of what was agreed, and of arrivals. */
static uint64_t answer;
static uint64_t seen_arrival;
static int reflections;
static int questions;

static int count_reflection(struct fabric_lane *lane, uint32_t rank, const void *place,
                            uint64_t bytes)
{
    (void)lane;
    (void)rank;
    (void)place;
    (void)bytes;
    reflections++;
    return 0;
}

/* A compare-swap fails if there is an answer. */
static int answer_question(struct fabric_lane *lane, struct dn_remote remote,
                           enum wire_atomic operation, unsigned bytes, uint64_t operand,
                           uint64_t expected, uint64_t *old)
{
    (void)lane;
    (void)remote;
    (void)bytes;
    (void)operand;
    questions++;
    *old = operation != WIRE_COMPARE_SWAP ? seen_arrival : answer ? answer : expected;
    return 0;
}

static int refresh_nothing(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes)
{
    (void)lane;
    (void)rank;
    (void)place;
    (void)bytes;
    return 0;
}

static int do_nothing(struct fabric_lane *lane)
{
    (void)lane;
    return 0;
}

static bool come_nothing(struct fabric_lane *lane)
{
    (void)lane;
    return false;
}

static void nap_not(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)lane;
    (void)timeout_ns;
    (void)seen;
}

static const struct fabric_ops ops = {
    .atomic = answer_question,
    .quiet = do_nothing,
    .reflect = count_reflection,
    .refresh = refresh_nothing,
    .settle = do_nothing,
    .progress = come_nothing,
    .nap = nap_not,
};

static struct unit_group made;
static struct host_process process;
static struct dn_node node;

/* Rank 0 of a group whose other ranks are all in place, or all away. */
static struct dn_team *make_team(bool in_place)
{
    answer = 0;
    seen_arrival = 0;
    reflections = 0;
    questions = 0;
    memset(&process, 0, sizeof process);
    unit_group_make(&made, NODES, NODES);
    process.view = made.views[0];
    process.default_lane = &node;
    (void)pthread_mutex_init(&process.table_lock, NULL);
    (void)pthread_mutex_init(&process.sleep_lock, NULL);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        if (rank != 0 && !in_place) {
            atomic_fetch_or(&process.view.ports[rank].call, GROUP_CALL_BY_PACKETS);
        }
        atomic_store(&process.view.ports[rank].life, DN_ATTACHED);
    }
    node = (struct dn_node){
        .lane = {.open = FABRIC_LANE_OPEN,
                 .node_count = NODES,
                 .all_in_place = in_place,
                 .is_prompt = in_place,
                 .ports = process.view.ports,
                 .ops = &ops,
                 .stored_to = process.stored_to,
                 .sleeping = process.view.group->sleeping,
                 .view = &process.view},
        .process = &process,
        .is_default = true,
    };
    assert_int_equal(team_all_make(&node), 0);
    return team_all(&node);
}

static void end_team(void)
{
    team_all_end(&node);
    unit_group_free(&made);
}

static void arrives(const struct dn_team *team, uint32_t index, uint32_t phase)
{
    atomic_store(group_team_arrived_word(&team->nic, index), phase);
}

static void gives_up(const struct dn_team *team, uint32_t index, uint32_t passed)
{
    atomic_store(&team->nic.revoked[index], GROUP_TEAM_SAID | passed);
}

static void expect_given_up(struct dn_team *team)
{
    bool passed;
    assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
    assert_int_equal(team_barrier_arrive(team), DN_EPEER);
    assert_int_equal(team_barrier_wait(team, DN_FOREVER), DN_EPEER);
    assert_int_equal(team_barrier_test(team, &passed), DN_EPEER);
    assert_int_equal(team_exchange(team, 0, 0), DN_EPEER);
    assert_int_equal(team_revoke(team), 0);
    assert_int_equal(team_barrier(team, 0), DN_EPEER);
}

/* ---- Giving up ------------------------------------------------------------------------------ */

static void whoever_gives_up_says_what_it_passed(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int arrived = 0; arrived < 2; arrived++) {
            struct dn_team *team = make_team(in_place);
            for (uint32_t i = 1; i < NODES; i++) {
                arrives(team, i, 1);
            }
            assert_int_equal(team_barrier(team, MILLISECOND_NS), 0);
            if (arrived) {
                assert_int_equal(team_barrier_arrive(team), 0);
            }
            reflections = 0;
            assert_int_equal(team_revoke(team), 0);
            assert_true(atomic_load(&team->nic.revoked[0]) == (GROUP_TEAM_SAID | 1));
            /* An arrival that was not passed is taken back. */
            assert_false(group_team_has_arrived(&team->nic, 0, 2));
            assert_int_equal(reflections, in_place ? 0 : 2 * (NODES - 1));
            assert_int_equal(team_has_passed(team), !arrived);
            expect_given_up(team);
            assert_int_equal(reflections, in_place ? 0 : 2 * (NODES - 1));
            end_team();
        }
    }
}

static void whoever_notices_stops_and_tells_it_again(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct dn_team *team = make_team(in_place);
        gives_up(team, 2, 0);
        assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
        assert_true(atomic_load(&team->nic.revoked[0]) == GROUP_TEAM_SAID);
        assert_false(group_team_has_arrived(&team->nic, 0, 1));
        /* The arrival, and what followed from noticing. */
        assert_int_equal(reflections, in_place ? 0 : 3 * (NODES - 1));
        expect_given_up(team);
        end_team();
    }
}

static void what_the_giver_passed_goes_on(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct dn_team *team = make_team(in_place);
        arrives(team, 2, 1);
        gives_up(team, 2, 1);
        /* Its word overtook the arrivals of others. */
        assert_int_equal(team_barrier(team, MILLISECOND_NS), DN_ETIMEOUT);
        arrives(team, 1, 1);
        arrives(team, 3, 1);
        assert_int_equal(team_barrier(team, MILLISECOND_NS), 0);
        assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
        assert_true(atomic_load(&team->nic.revoked[0]) == (GROUP_TEAM_SAID | 1));
        end_team();
    }
}

/* Member 1 took its arrival back, but member 3 had passed. */
static void an_arrival_taken_back_counts_where_somebody_passed(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct dn_team *team = make_team(in_place);
        gives_up(team, 1, 0);
        arrives(team, 2, 1);
        arrives(team, 3, 1);
        gives_up(team, 3, 1);
        assert_int_equal(team_barrier(team, DN_FOREVER), 0);
        assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
        end_team();
    }
}

static void *revoke(void *team)
{
    return (void *)(intptr_t)team_revoke(team);
}

/* Another thread has passed a phase, and is in its next call without having arrived there. */
static void what_another_thread_passed_is_said(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct dn_team *team = make_team(in_place);
        pthread_t thread;
        void *result;
        for (uint32_t i = 1; i < NODES; i++) {
            arrives(team, i, 1);
        }
        assert_int_equal(team_barrier(team, MILLISECOND_NS), 0);
        assert_int_equal(team_turn_take_patiently(team), 0);
        assert_int_equal(pthread_create(&thread, NULL, revoke, team), 0);
        while (atomic_load(&team->nic.revoked[0]) == 0) {
            sched_yield();
        }
        assert_true(atomic_load(&team->nic.revoked[0]) == (GROUP_TEAM_SAID | 1));
        team_turn_give(team);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_null(result);
        assert_true(atomic_load(&team->nic.revoked[0]) == (GROUP_TEAM_SAID | 1));
        expect_given_up(team);
        end_team();
    }
}

/* ---- Leaving and dying, by packets ----------------------------------------------------------- */

/* Node 2 has died, and this one has not seen it arrive; node 1 has arrived and is gone, too; node 3
 * has arrived, lives and knows nothing. */
static struct dn_team *doubt(enum dn_life life, enum group_team_left left)
{
    struct dn_team *team = make_team(false);
    arrives(team, 1, 1);
    arrives(team, 3, 1);
    atomic_store(&team->nic.members[1].left, left);
    group_life_conclude(&process.view, 1, life);
    group_life_conclude(&process.view, 2, DN_DEAD);
    return team;
}

static void a_barrier_that_a_node_passed_and_left_is_passed(void **state)
{
    (void)state;
    struct dn_team *team = doubt(DN_LEFT, GROUP_TEAM_STAYS);
    assert_int_equal(team_barrier(team, DN_FOREVER), 0);
    assert_true(atomic_load(&team->nic.last[2]) == (GROUP_TEAM_SAID | 1));
    assert_true(questions > 0);
    assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
    end_team();
}

static void who_left_before_it_passed_proves_nothing(void **state)
{
    (void)state;
    struct dn_team *team = doubt(DN_LEFT, GROUP_TEAM_LEFT_WAITING);
    assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
    end_team();
    team = doubt(DN_DEAD, GROUP_TEAM_STAYS);
    assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
    end_team();
}

static void data_that_left_is_missed(void **state)
{
    (void)state;
    struct dn_team *team = doubt(DN_LEFT, GROUP_TEAM_STAYS);
    assert_int_equal(team_exchange(team, 0, 0), DN_EPEER);
    end_team();
}

/* What the others have agreed on counts, whatever this member has seen. */
static void what_was_agreed_counts(void **state)
{
    (void)state;
    struct dn_team *team = doubt(DN_LEFT, GROUP_TEAM_STAYS);
    answer = GROUP_TEAM_SAID;
    assert_int_equal(team_barrier(team, DN_FOREVER), DN_EPEER);
    end_team();
    team = doubt(DN_DEAD, GROUP_TEAM_STAYS);
    answer = GROUP_TEAM_SAID | 1;
    atomic_store(&team->nic.last[2], answer); /* whoever said it came by this block */
    assert_int_equal(team_barrier(team, DN_FOREVER), 0);
    end_team();
}

/* Another member is a phase ahead, and has seen the dead one there. */
static void what_others_saw_later_is_agreed_on(void **state)
{
    (void)state;
    struct dn_team *team = doubt(DN_LEFT, GROUP_TEAM_STAYS);
    seen_arrival = 2;
    assert_int_equal(team_barrier(team, DN_FOREVER), 0);
    assert_true(atomic_load(&team->nic.last[2]) == (GROUP_TEAM_SAID | 2));
    end_team();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_gives_up_says_what_it_passed),
        cmocka_unit_test(whoever_notices_stops_and_tells_it_again),
        cmocka_unit_test(what_the_giver_passed_goes_on),
        cmocka_unit_test(an_arrival_taken_back_counts_where_somebody_passed),
        cmocka_unit_test(what_another_thread_passed_is_said),
        cmocka_unit_test(a_barrier_that_a_node_passed_and_left_is_passed),
        cmocka_unit_test(who_left_before_it_passed_proves_nothing),
        cmocka_unit_test(data_that_left_is_missed),
        cmocka_unit_test(what_was_agreed_counts),
        cmocka_unit_test(what_others_saw_later_is_agreed_on),
    };
    return cmocka_run_group_tests_name("team/phase", tests, NULL, NULL);
}
