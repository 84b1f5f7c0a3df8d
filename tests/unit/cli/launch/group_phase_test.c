/* How a group comes to its end: which signal the nodes get, and when. The test sets the time
 * itself, so a busy machine does not matter. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/remote/fleet.h"
#include "cli/launch/launcher.h"

enum { OBEDIENT, STUBBORN, NODES };

void launch_say(struct launch *launch, const char *format, ...)
{
    (void)launch;
    (void)format;
}

void remote_fleet_signal(struct launch *launch, int signal_number)
{
    (void)launch;
    (void)signal_number;
    fail(); /* the nodes are this test's own */
}

/* Starts a process in a group of its own that waits. It ignores `ignored` from the beginning. */
static pid_t start_one(int ignored)
{
    void (*before)(int) = ignored ? signal(ignored, SIG_IGN) : SIG_DFL;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setpgid(0, 0);
        for (;;) {
            (void)pause();
        }
    }
    (void)setpgid(pid, pid);
    if (ignored) {
        (void)signal(ignored, before);
    }
    return pid;
}

struct group {
    struct launch_request request;
    struct group_memory memory;
    struct launch launch;
    struct node nodes[NODES];
};

static void begin(struct group *group, int ignored)
{
    *group = (struct group){
        .nodes = {[OBEDIENT] = {.state = NODE_RUNNING, .pid = start_one(0)},
                  [STUBBORN] = {.state = NODE_RUNNING, .pid = start_one(ignored)}}};
    group->launch = (struct launch){.request = &group->request,
                                    .rank_count = NODES,
                                    .phase = LAUNCH_RUNNING,
                                    .phase_deadline_ns = UINT64_MAX,
                                    .timeout_deadline_ns = UINT64_MAX,
                                    .group = {.group = &group->memory},
                                    .nodes = group->nodes,
                                    .live_count = NODES};
}

/* Asserts that the node ends, and by this signal. */
static void assert_ends_by(struct group *group, int node, int signal_number)
{
    int status;
    assert_int_equal(waitpid(group->nodes[node].pid, &status, 0), group->nodes[node].pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal_number);
    group->nodes[node].state = NODE_ENDED;
    group->launch.live_count--;
}

static void assert_lives(const struct group *group, int node)
{
    assert_int_equal(waitpid(group->nodes[node].pid, NULL, WNOHANG), 0);
}

/* Asserts that the stubborn node lives in that phase until the time is up, and no longer. */
static void assert_killed_at(struct group *group, enum launch_phase phase, uint64_t end_ns)
{
    launch_phase_on_time(&group->launch, end_ns - 1);
    assert_int_equal(group->launch.phase, phase);
    assert_lives(group, STUBBORN);
    launch_phase_on_time(&group->launch, end_ns);
    assert_ends_by(group, STUBBORN, SIGKILL);
}

static void end(struct group *group, int status)
{
    assert_int_equal(group->launch.phase, LAUNCH_KILLING);
    assert_int_equal(group->launch.phase_deadline_ns, UINT64_MAX);
    launch_phase_on_all_ended(&group->launch);
    assert_int_equal(group->launch.phase, LAUNCH_DRAINING);
    assert_int_equal(group->launch.status, status);
}

static void after_a_failure_the_others_have_time(void **state)
{
    struct group group;
    (void)state;
    begin(&group, SIGTERM);
    launch_phase_on_failure(&group.launch, 3, 1000 * UNIT_MS);
    launch_phase_on_failure(&group.launch, 4, 1100 * UNIT_MS);
    launch_phase_on_time(&group.launch, 1200 * UNIT_MS - 1);
    assert_int_equal(group.launch.phase, LAUNCH_GRACE);
    assert_lives(&group, OBEDIENT);
    assert_lives(&group, STUBBORN);
    launch_phase_on_time(&group.launch, 1200 * UNIT_MS);
    assert_ends_by(&group, OBEDIENT, SIGTERM);
    assert_killed_at(&group, LAUNCH_TERMINATING, 1400 * UNIT_MS);
    end(&group, 3);
}

static void assert_are_left_alone(struct group *group)
{
    launch_phase_on_failure(&group->launch, 3, 1000 * UNIT_MS);
    launch_phase_on_time(&group->launch, 1000000 * UNIT_MS);
    assert_int_equal(group->launch.phase, LAUNCH_RUNNING);
    assert_lives(group, OBEDIENT);
    assert_lives(group, STUBBORN);
    launch_phase_on_start_failure(&group->launch, 2);
    assert_ends_by(group, OBEDIENT, SIGKILL);
    assert_ends_by(group, STUBBORN, SIGKILL);
    end(group, 3);
}

static void others_that_keep_going_are_left_alone(void **state)
{
    struct group group;
    (void)state;
    begin(&group, SIGTERM);
    group.request.keep_going = true;
    assert_are_left_alone(&group);
}

static void others_whose_program_goes_on_are_left_alone(void **state)
{
    struct group group;
    (void)state;
    begin(&group, SIGTERM);
    atomic_store(&group.memory.goes_on, 1);
    assert_are_left_alone(&group);
}

static void a_signal_is_passed_on_and_has_its_time(void **state)
{
    struct group group;
    (void)state;
    begin(&group, SIGINT);
    launch_phase_on_signal(&group.launch, SIGINT, 1000 * UNIT_MS);
    assert_ends_by(&group, OBEDIENT, SIGINT);
    assert_killed_at(&group, LAUNCH_SIGNALLED, 3000 * UNIT_MS);
    end(&group, 128 + SIGINT);
}

static void a_time_out_terminates_at_once(void **state)
{
    struct group group;
    (void)state;
    begin(&group, SIGTERM);
    group.launch.timeout_deadline_ns = 1000 * UNIT_MS;
    launch_phase_on_time(&group.launch, 1000 * UNIT_MS);
    assert_ends_by(&group, OBEDIENT, SIGTERM);
    assert_killed_at(&group, LAUNCH_TERMINATING, 1200 * UNIT_MS);
    end(&group, 124);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_failure_the_others_have_time),
        cmocka_unit_test(others_that_keep_going_are_left_alone),
        cmocka_unit_test(others_whose_program_goes_on_are_left_alone),
        cmocka_unit_test(a_signal_is_passed_on_and_has_its_time),
        cmocka_unit_test(a_time_out_terminates_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
