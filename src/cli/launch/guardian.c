/* The guardian's life. */
#define _GNU_SOURCE
#include "cli/launch/guardian.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/launch/pidfd.h"
#include "cli/launch/sweep.h"

bool launch_guard_make_id(char id[GUARD_ID_BYTES])
{
    unsigned char random[(GUARD_ID_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        return false;
    }
    for (unsigned i = 0; i < sizeof random; i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", random[i]);
    }
    return true;
}

bool launch_guard_open(struct guard *guard, uint32_t count, const char *name, const char *value)
{
    *guard = (struct guard){.launcher_fd = -1, .count = count};
    int length = snprintf(guard->mark, sizeof guard->mark, "%s=%s", name, value);
    INVARIANT(length > 0 && (size_t)length < sizeof guard->mark);
    void *shared = mmap(NULL, count * sizeof *guard->process_groups, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return false;
    }
    guard->process_groups = shared;
    guard->launcher_fd = launch_pidfd_of(getpid());
    return guard->launcher_fd >= 0;
}

/* Keeps nothing of the launcher's: whoever waits for the end of a pipe must not wait for
 * this process. */
static void keep_only(int fd)
{
    (void)dup2(fd, 0);
    if (close_range(1, ~0U, 0) != 0) {
        long limit = sysconf(_SC_OPEN_MAX);
        for (int other = 1; other < limit; other++) {
            (void)close(other);
        }
    }
}

_Noreturn static void guard_main(const struct guard *guard)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "dimmnet-guard");
    keep_only(guard->launcher_fd);
    struct pollfd launcher = {.fd = 0, .events = POLLIN};
    while (poll(&launcher, 1, -1) < 0 && errno == EINTR) {
    }
    for (uint32_t rank = 0; rank < guard->count; rank++) {
        pid_t group = atomic_load(&guard->process_groups[rank]);
        if (group > 0) {
            (void)kill(-group, SIGKILL);
        }
    }
    launch_sweep_marked(guard->mark);
    _exit(0);
}

bool launch_guard_start(struct guard *guard)
{
    pid_t pid = fork();
    if (pid == 0) {
        guard_main(guard);
    }
    guard->pid = pid > 0 ? pid : 0;
    return pid > 0;
}

void launch_guard_close(struct guard *guard)
{
    if (guard->pid > 0) {
        (void)kill(guard->pid, SIGKILL);
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (guard->launcher_fd >= 0) {
        (void)close(guard->launcher_fd);
    }
    if (guard->process_groups) {
        (void)munmap(guard->process_groups, guard->count * sizeof *guard->process_groups);
    }
    *guard = (struct guard){.launcher_fd = -1};
}
