/* Who is held for dead when nodes do not hear each other. The test sets the time itself. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/launch/launcher.h"
#include "cli/remote/agent.h"
#include "cli/remote/fleet.h"
#include "group/life.h"

enum { NODES = 70 };

#define NEVER UINT64_MAX

static struct launch_request request = {.node_count = NODES};
static struct launch launch;
static uint32_t said_count;
static char passed_on[64];

void launch_say(struct launch *of, const char *format, ...)
{
    (void)of;
    (void)format;
    said_count++;
}

void remote_agent_tell_suspicion(struct launch *of, uint32_t by, uint32_t rank)
{
    (void)of;
    size_t at = strlen(passed_on);
    (void)snprintf(passed_on + at, sizeof passed_on - at, "%u-%u ", by, rank);
}

void remote_fleet_tell_verdict(struct launch *of, uint32_t rank)
{
    (void)of;
    (void)rank;
    fail(); /* there is one host */
}

static uint64_t ten_seconds(const uint64_t *settings)
{
    (void)settings;
    return UINT64_C(10000000000);
}

static const struct fabric_launch by_packets = {.silence_ns = ten_seconds};
static const struct fabric_launch in_place = {.silence_ns = NULL};

static int begin(void **state)
{
    const struct group_sizes sizes = {1, 1, 1, 1};
    (void)state;
    request.fabric = &by_packets;
    launch = (struct launch){.request = &request,
                             .rank_count = NODES,
                             .phase = LAUNCH_RUNNING,
                             .verdict = {.due_ns = NEVER}};
    said_count = 0;
    passed_on[0] = '\0';
    int error = host_group_create(NODES, &sizes, 1, HOST_NO_RANK, &launch.group);
    for (uint32_t rank = 0; rank < NODES && !error; rank++) {
        host_group_tell_life(&launch.group, rank, DN_ATTACHED);
    }
    return error;
}

static int end(void **state)
{
    (void)state;
    free(launch.verdict.suspected_by);
    host_group_unmap(&launch.group);
    return 0;
}

static struct group_view view_of(uint32_t rank)
{
    struct group_view view;
    group_view_make(launch.group.group, &launch.group.facts, rank, &view);
    return view;
}

static void both_ways(uint32_t one, uint32_t other)
{
    launch_verdict_suspect(&launch, one, other);
    launch_verdict_suspect(&launch, other, one);
}

/* Decides, and asserts who is dead afterwards, as "3 5 ". */
static void assert_dead(const char *expected)
{
    char dead[512] = "";
    assert_int_not_equal(launch.verdict.due_ns, NEVER);
    launch_verdict_on_time(&launch, launch.verdict.due_ns - 1);
    assert_int_equal(said_count, 0);
    launch_verdict_on_time(&launch, launch.verdict.due_ns);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        if (host_group_life(&launch.group, rank) == DN_DEAD) {
            size_t at = strlen(dead);
            (void)snprintf(dead + at, sizeof dead - at, "%u ", rank);
        }
    }
    assert_string_equal(dead, expected);
    assert_int_equal(launch.verdict.due_ns, NEVER);
}

static void who_is_not_heard_is_dead(void **state)
{
    (void)state;
    launch_verdict_suspect(&launch, 3, 66);
    assert_dead("66 ");
    assert_int_equal(said_count, 1);
}

static void of_two_that_do_not_hear_each_other_one_is_dead(void **state)
{
    (void)state;
    both_ways(3, 5);
    assert_dead("5 ");
}

static void who_hears_nobody_is_dead_and_not_all_the_others(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        if (rank != 2) {
            both_ways(2, rank);
        }
    }
    assert_dead("2 ");
}

static void the_smaller_part_of_a_divided_group_is_dead(void **state)
{
    (void)state;
    for (uint32_t rank = 3; rank < NODES; rank++) {
        for (uint32_t of_the_few = 0; of_the_few < 3; of_the_few++) {
            both_ways(of_the_few, rank);
        }
    }
    assert_dead("0 1 2 ");
}

/* Those that stand still say nothing, however many they are. */
static void who_stands_still_is_dead_and_not_those_who_say_so(void **state)
{
    (void)state;
    for (uint32_t rank = 2; rank < NODES; rank++) {
        launch_verdict_suspect(&launch, 0, rank);
        launch_verdict_suspect(&launch, 1, rank);
    }
    char expected[512] = "";
    for (uint32_t rank = 2; rank < NODES; rank++) {
        size_t at = strlen(expected);
        (void)snprintf(expected + at, sizeof expected - at, "%u ", rank);
    }
    assert_dead(expected);
}

static void cuts_in_two_places_take_one_each(void **state)
{
    (void)state;
    both_ways(3, 5);
    both_ways(10, 11);
    assert_dead("5 11 ");
}

/* Its process has ended before the verdict: nobody else need die. */
static void a_death_in_between_settles_it(void **state)
{
    (void)state;
    both_ways(3, 5);
    host_group_tell_life(&launch.group, 3, DN_DEAD);
    assert_dead("3 ");
    assert_int_equal(said_count, 0);
}

static void what_was_said_of_the_gone_does_not_count(void **state)
{
    (void)state;
    host_group_tell_life(&launch.group, 5, DN_LEFT);
    both_ways(3, 5);
    launch_verdict_suspect(&launch, 3, 3);
    launch_verdict_suspect(&launch, NODES, 3);
    launch_verdict_suspect(&launch, 3, NODES);
    assert_int_equal(launch.verdict.due_ns, NEVER);
}

static void a_suspicion_counts_for_one_verdict(void **state)
{
    (void)state;
    launch_verdict_suspect(&launch, 3, 5);
    assert_dead("5 ");
    said_count = 0;
    launch_verdict_suspect(&launch, 7, 8);
    assert_dead("5 8 ");
}

/* A node writes its life back, again and again: the verdict still ends. */
static void nobody_comes_back_by_writing_the_life(void **state)
{
    (void)state;
    both_ways(3, 5);
    launch_verdict_on_time(&launch, launch.verdict.due_ns);
    atomic_store(&view_of(5).ports[5].life, DN_ATTACHED);
    said_count = 0;
    launch_verdict_on_time(&launch, NEVER - 1);
    assert_int_equal(said_count, 0);
}

static void nodes_in_place_are_never_suspected(void **state)
{
    (void)state;
    request.fabric = &in_place;
    both_ways(3, 5);
    assert_int_equal(launch.verdict.due_ns, NEVER);
}

static void what_nodes_write_is_collected_and_cleared(void **state)
{
    (void)state;
    struct group_view three = view_of(3);
    struct group_view five = view_of(5);
    assert_true(group_life_suspect(&three, 5));
    assert_true(group_life_suspect(&five, 3));
    launch_verdict_collect(&launch);
    assert_true(group_life_suspect(&three, 5));
    assert_dead("5 ");
}

/* An agent speaks for its own nodes only, whatever stands in the group's words. */
static void an_agent_passes_on_what_its_nodes_say(void **state)
{
    (void)state;
    struct group_view three = view_of(3);
    struct group_view five = view_of(5);
    launch.agent = (struct agent *)&launch; /* only passed on */
    launch.rank_first = 3;
    launch.rank_count = 2;
    assert_true(group_life_suspect(&three, 9));
    assert_true(group_life_suspect(&five, 8));
    launch_verdict_collect(&launch);
    launch_verdict_collect(&launch);
    assert_string_equal(passed_on, "3-9 ");
    assert_int_equal(launch.verdict.due_ns, NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(who_is_not_heard_is_dead),
        TEST(of_two_that_do_not_hear_each_other_one_is_dead),
        TEST(who_hears_nobody_is_dead_and_not_all_the_others),
        TEST(the_smaller_part_of_a_divided_group_is_dead),
        TEST(who_stands_still_is_dead_and_not_those_who_say_so),
        TEST(cuts_in_two_places_take_one_each),
        TEST(a_death_in_between_settles_it),
        TEST(what_was_said_of_the_gone_does_not_count),
        TEST(a_suspicion_counts_for_one_verdict),
        TEST(nobody_comes_back_by_writing_the_life),
        TEST(nodes_in_place_are_never_suspected),
        TEST(what_nodes_write_is_collected_and_cleared),
        TEST(an_agent_passes_on_what_its_nodes_say),
    };
    return cmocka_run_group_tests_name("cli/launch/verdict", tests, NULL, NULL);
}
