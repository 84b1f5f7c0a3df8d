/* The guardian's life. */
#define _GNU_SOURCE
#include "cli/launch/guardian.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/launch/sweep.h"
#include "host/close_files.h"
#include "host/pidfd.h"

/* From the launcher's end until its agent's: the agent kills its nodes and sweeps meanwhile. */
enum { HUNG_UP_MS = 5000 };

bool launch_guardian_make_id(char id[GUARDIAN_ID_BYTES])
{
    unsigned char random[(GUARDIAN_ID_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        return false;
    }
    for (unsigned i = 0; i < sizeof random; i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", random[i]);
    }
    return true;
}

bool launch_guardian_open(struct guardian *guardian, uint32_t count, const char *name,
                          const char *value)
{
    *guardian = (struct guardian){.launcher_fd = -1, .lifeline_fd = -1, .count = count};
    int length = snprintf(guardian->mark, sizeof guardian->mark, "%s=%s", name, value);
    INVARIANT(length > 0 && (size_t)length < sizeof guardian->mark);
    void *shared = mmap(NULL, count * sizeof *guardian->process_groups, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return false;
    }
    guardian->process_groups = shared;
    guardian->launcher_fd = host_pidfd_of(getpid());
    return guardian->launcher_fd >= 0;
}

/* Keeps nothing else of the launcher's open: a process that waits for the end of a pipe must not
 * wait for this one. The second may be -1; gives how many are kept, from 0 on. */
static int keep_only(int first, int second)
{
    (void)dup2(first, 0);
    int count = second < 0 ? 1 : 2;
    if (count == 2) {
        (void)dup2(second, 1);
    }
    host_close_files((unsigned)count, ~0U);
    return count;
}

/* Waits for the end of the process at 0. When the other end of 1 hangs up that process has to end
 * as well; if it does not, perhaps because somebody has stopped it, it is killed. */
static void await_end(int count)
{
    struct pollfd polls[] = {{.fd = 0, .events = POLLIN}, {.fd = 1, .events = POLLRDHUP}};
    int timeout_ms = -1;
    for (;;) {
        int ready = poll(polls, (nfds_t)count, timeout_ms);
        if (ready > 0 && polls[0].revents) {
            return;
        }
        if (ready > 0) {
            count = 1;
            timeout_ms = HUNG_UP_MS;
        } else if (ready == 0) {
            (void)host_pidfd_kill(0, SIGKILL);
            timeout_ms = -1;
        }
    }
}

_Noreturn static void guardian_main(const struct guardian *guardian)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "dimmnet-guard");
    await_end(keep_only(guardian->launcher_fd, guardian->lifeline_fd));
    for (uint32_t rank = 0; rank < guardian->count; rank++) {
        pid_t group = atomic_load(&guardian->process_groups[rank]);
        if (group > 0) {
            (void)kill(-group, SIGKILL);
        }
    }
    launch_sweep_marked(guardian->mark);
    _exit(0);
}

bool launch_guardian_start(struct guardian *guardian)
{
    pid_t pid = fork();
    if (pid == 0) {
        guardian_main(guardian);
    }
    guardian->pid = pid > 0 ? pid : 0;
    return pid > 0;
}

void launch_guardian_close(struct guardian *guardian)
{
    if (guardian->pid > 0) {
        (void)kill(guardian->pid, SIGKILL);
        while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (guardian->launcher_fd >= 0) {
        (void)close(guardian->launcher_fd);
    }
    if (guardian->process_groups) {
        (void)munmap(guardian->process_groups, guardian->count * sizeof *guardian->process_groups);
    }
    *guardian = (struct guardian){.launcher_fd = -1, .lifeline_fd = -1};
}
