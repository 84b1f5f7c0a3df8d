/* Ending children, and whoever has become one. */
#define _GNU_SOURCE
#include "cli/launch/sweep.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/unit.h"

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static bool is_there(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void one_child_is_spared(void **state)
{
    (void)state;
    pid_t spared = start_child();
    pid_t other = start_child();
    launch_sweep_children(spared);
    assert_true(is_there(spared));
    assert_false(is_there(other));
    launch_sweep_children(0);
    assert_false(is_there(spared));
    assert_false(launch_sweep_has_children());
}

/* The middle of three goes with its parent, and the last one with that. */
static void descendants_are_swept(void **state)
{
    (void)state;
    int ends[2];
    pid_t last;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t first = fork();
    if (first == 0) {
        if (fork() == 0) {
            last = fork();
            if (last > 0 && write(ends[1], &last, sizeof last) != sizeof last) {
                _exit(1);
            }
        }
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
    assert_true(launch_sweep_descends(first));
    assert_true(launch_sweep_descends(last));
    assert_false(launch_sweep_descends(getpid()));
    assert_false(launch_sweep_descends(getppid()));
    assert_false(launch_sweep_descends(1));
    launch_sweep_children(0);
    assert_false(is_there(last));
    assert_false(launch_sweep_descends(last));
    assert_false(launch_sweep_has_children());
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_child_is_spared),
        cmocka_unit_test(descendants_are_swept),
    };
    return cmocka_run_group_tests_name("cli/launch/sweep", tests, NULL, NULL);
}
