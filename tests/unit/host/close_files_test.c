/* What is closed, and that it is the same on a kernel without the call for that. Each test runs in
 * a process of its own, as what it takes from itself does not come back. */
#define _GNU_SOURCE
#include "host/close_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/refuse_call.h"
#include "unit/unit.h"

enum { FIRST = 40, LAST = 49, HIGH = 200, LOW_LIMIT = 100 };

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* 0: what is between FIRST and LAST, and only that, gets closed. */
static int close_some(void)
{
    for (int fd = FIRST - 1; fd <= LAST + 2; fd += 2) {
        (void)dup2(STDERR_FILENO, fd);
    }
    (void)dup2(STDERR_FILENO, HIGH);
    host_close_files(FIRST, LAST);
    for (int fd = FIRST; fd <= LAST; fd++) {
        if (is_open(fd)) {
            return 1;
        }
    }
    if (!is_open(FIRST - 1) || !is_open(LAST + 2) || !is_open(HIGH)) {
        return 2;
    }
    /* One that is above the limit now. */
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = LOW_LIMIT;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    host_close_files(LAST + 1, ~0U);
    return is_open(LAST + 2) || is_open(HIGH) ? 3 : 0;
}

static int close_some_without_the_call(void)
{
    return unit_refuse_call(SYS_close_range, ENOSYS) ? close_some() : UNIT_SKIPS;
}

/* No number is free for the list of what is open. */
static int close_when_all_are_open(void)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = LOW_LIMIT;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    while (dup(STDERR_FILENO) >= 0) {
    }
    host_close_files(FIRST, ~0U);
    return !is_open(FIRST - 1) || is_open(FIRST) || is_open(LOW_LIMIT - 1);
}

static int close_when_all_are_open_without_the_call(void)
{
    return unit_refuse_call(SYS_close_range, ENOSYS) ? close_when_all_are_open() : UNIT_SKIPS;
}

static void expect_0(int (*run)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(run());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNIT_SKIPS) {
        skip(); /* nothing can be refused here */
    }
    assert_int_equal(status, 0);
}

static void only_the_range_is_closed(void **state)
{
    (void)state;
    expect_0(close_some);
}

static void only_the_range_is_closed_without_the_call(void **state)
{
    (void)state;
    expect_0(close_some_without_the_call);
}

static void a_full_table_is_closed(void **state)
{
    (void)state;
    expect_0(close_when_all_are_open);
}

static void a_full_table_is_closed_without_the_call(void **state)
{
    (void)state;
    expect_0(close_when_all_are_open_without_the_call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_range_is_closed),
        cmocka_unit_test(only_the_range_is_closed_without_the_call),
        cmocka_unit_test(a_full_table_is_closed),
        cmocka_unit_test(a_full_table_is_closed_without_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
