/* A waiter on a core that others want: a yield may cost it as much time as they like. */
#include "host/wait.h"

#include <sched.h>

#include "unit/unit.h"

#define MS UINT64_C(1000000)

/* The kernel's, as on a core with many runners: whoever yields has it back after their turns. */
static unsigned yields;
static uint64_t turn_ns;

int sched_yield(void)
{
    struct timespec time = {.tv_nsec = (long)turn_ns};
    yields++;
    (void)nanosleep(&time, NULL);
    return 0;
}

static int attach(void **state)
{
    struct dn_node *node;
    yields = 0;
    int error = dn_attach(&node, NULL);
    *state = node;
    return error;
}

static int detach(void **state)
{
    return dn_detach(*state);
}

/* It looks at the clock before it gives the core away once more. (Before the first yield it may
 * spin, but not for 10 ms.) */
static void a_time_out_is_not_many_turns_late(void **state)
{
    size_t bytes;
    uint64_t *word = dn_llcm(*state, &bytes);
    turn_ns = 20 * MS;
    assert_int_equal(dn_wait_until_u64(*state, word, DN_NE, 0, 10 * MS), DN_ETIMEOUT);
    assert_in_range(yields, 0, 1);
}

/* A death ends the wait as soon, and nothing else has to be looked at. */
static bool never(void *context)
{
    (void)context;
    return false;
}

static bool is_hopeless(const struct dn_node *node, void *context, bool forever)
{
    (void)node;
    (void)forever;
    const uint64_t *died = context;
    return *died != 0 && yields > 0;
}

static void a_death_is_not_many_turns_late(void **state)
{
    uint64_t died = 1;
    struct host_condition condition = {never, is_hopeless, &died, GROUP_WATCH_NOTHING};
    turn_ns = 20 * MS;
    assert_int_equal(host_wait(*state, &condition, DN_FOREVER), DN_EPEER);
    assert_int_equal(yields, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_time_out_is_not_many_turns_late, attach, detach),
        cmocka_unit_test_setup_teardown(a_death_is_not_many_turns_late, attach, detach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
