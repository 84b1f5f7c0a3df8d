/* Runs a call that ends its process in a child, and watches it.
 *
 * The parent must not have joined a group: a forked child has no part in it. */
#ifndef UNIT_CHILD_H
#define UNIT_CHILD_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/unit.h"

enum { UNIT_CHILD_BYTES = 4096 };

/* Runs `call` in a child; gives its wait status, and what it printed to standard error. */
static inline int unit_child_run(void (*call)(void), char text[UNIT_CHILD_BYTES])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        call();
        exit(EXIT_SUCCESS);
    }
    (void)close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, UNIT_CHILD_BYTES - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Asserts that the call ends its process with a failure and these words. */
static inline void unit_child_fails(void (*call)(void), const char *words)
{
    char text[UNIT_CHILD_BYTES];
    int status = unit_child_run(call, text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_FAILURE || !strstr(text, words)) {
        fail_msg("wait status %#x, and it said: %s", (unsigned)status, text);
    }
}

/* Asserts that the call returns and its process ends well. */
static inline void unit_child_passes(void (*call)(void))
{
    char text[UNIT_CHILD_BYTES];
    int status = unit_child_run(call, text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
        fail_msg("wait status %#x, and it said: %s", (unsigned)status, text);
    }
}

#endif
