/* What a launcher is told of ranks on other hosts becomes their lives here. */
#include "host/group.h"

#include "unit/unit.h"
#include "group/life.h"

static int make(void **state)
{
    static struct host_group group;
    const struct group_sizes sizes = {1, 1, 1, 1};
    *state = &group;
    return host_group_create(3, &sizes, 1, &group);
}

static int unmake(void **state)
{
    host_group_unmap(*state);
    return 0;
}

static uint32_t deaths(const struct host_group *group)
{
    return atomic_load(&group->group->death_count);
}

static uint32_t changes(const struct host_group *group)
{
    return atomic_load(&group->group->change_count);
}

static bool senders_are_told(const struct host_group *group, uint32_t rank)
{
    struct group_view view;
    group_view_make(group->group, rank, &view);
    return atomic_load(&view.ports[rank].call) & GROUP_CALL_GONE;
}

static void a_rank_attaches_and_leaves(void **state)
{
    struct host_group *group = *state;
    uint32_t before = changes(group);
    host_group_tell_life(group, 1, DN_ATTACHED);
    assert_int_equal(host_group_life(group, 1), DN_ATTACHED);
    assert_int_equal(host_group_process(group, 1), 0); /* it is another host's */
    assert_int_not_equal(changes(group), before);
    before = changes(group);
    host_group_tell_life(group, 1, DN_LEFT);
    assert_int_equal(host_group_life(group, 1), DN_LEFT);
    assert_int_not_equal(changes(group), before);
    assert_true(senders_are_told(group, 1));
    assert_int_equal(deaths(group), 0);
    assert_int_equal(host_group_life(group, 0), DN_STARTING);
}

static void a_rank_dies(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 2, DN_ATTACHED);
    host_group_tell_life(group, 2, DN_DEAD);
    assert_int_equal(host_group_life(group, 2), DN_DEAD);
    assert_true(senders_are_told(group, 2));
    assert_int_equal(deaths(group), 1);
    /* Also before it attached. */
    host_group_tell_life(group, 0, DN_DEAD);
    assert_int_equal(host_group_life(group, 0), DN_DEAD);
    assert_int_equal(deaths(group), 2);
}

static void a_rank_leaves_without_having_attached(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 0, DN_LEFT);
    assert_int_equal(host_group_life(group, 0), DN_LEFT);
    assert_int_equal(deaths(group), 0);
}

static void nothing_changes_a_life_that_is_over(void **state)
{
    struct host_group *group = *state;
    host_group_tell_life(group, 1, DN_DEAD);
    uint32_t before = changes(group);
    host_group_tell_life(group, 1, DN_LEFT);
    host_group_tell_life(group, 1, DN_ATTACHED);
    host_group_tell_life(group, 1, DN_DEAD);
    host_group_tell_life(group, 1, DN_STARTING);
    assert_int_equal(host_group_life(group, 1), DN_DEAD);
    assert_int_equal(deaths(group), 1);
    assert_int_equal(changes(group), before);
    host_group_tell_life(group, 2, DN_ATTACHED);
    host_group_tell_life(group, 2, DN_STARTING);
    assert_int_equal(host_group_life(group, 2), DN_ATTACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rank_attaches_and_leaves, make, unmake),
        cmocka_unit_test_setup_teardown(a_rank_dies, make, unmake),
        cmocka_unit_test_setup_teardown(a_rank_leaves_without_having_attached, make, unmake),
        cmocka_unit_test_setup_teardown(nothing_changes_a_life_that_is_over, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
