/* Starting worker processes, reading from them, ending them. */
#define _GNU_SOURCE
#include "cli/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 };

static volatile sig_atomic_t caught;
static sigset_t waiting_mask; /* while waiting, the signals are let in */

unsigned worker_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}

/* ---- Signals ---------------------------------------------------------------------------- */

static void on_signal(int number)
{
    caught = number;
}

void worker_take_signals(void)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    for (unsigned i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        struct sigaction old;
        if (sigaction(taken[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            (void)sigaction(taken[i], &action, NULL);
            (void)sigaddset(&blocked, taken[i]);
        }
    }
    (void)sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
}

int worker_signal(void)
{
    return caught;
}

/* ---- In a worker ------------------------------------------------------------------------ */

/* A worker dies with its parent, by its parent's will, or by its own fault. */
static void become_worker(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
}

void worker_write(int fd, const void *bytes, size_t count)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t written = write(fd, from, count);
        if (written <= 0 && errno != EINTR) {
            _exit(1);
        }
        from += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
}

/* ---- In the parent ---------------------------------------------------------------------- */

bool worker_start(struct worker *worker, void (*work)(void *context, int fd), void *context)
{
    int fds[2];
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return false;
    }
    (void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        become_worker(parent);
        (void)close(fds[0]);
        work(context, fds[1]);
        _exit(0);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return false;
    }
    *worker = (struct worker){pid, fds[0]};
    return true;
}

int worker_await(struct pollfd *wanted, unsigned count, int patience_ms)
{
    struct timespec patience = {patience_ms / 1000, patience_ms % 1000 * 1000000L};
    for (;;) {
        if (caught) {
            return -1;
        }
        int ready = ppoll(wanted, count, patience_ms < 0 ? NULL : &patience, &waiting_mask);
        if (ready >= 0 || errno != EINTR) {
            return ready != 0;
        }
    }
}

bool worker_read(const struct worker *worker, void *bytes, size_t count)
{
    char *to = bytes;
    while (count > 0) {
        ssize_t got = read(worker->fd, to, count);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        to += got > 0 ? got : 0;
        count -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

int worker_end(struct worker *worker)
{
    int status = 0;
    (void)close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker->pid = 0;
    return status;
}

void worker_kill(struct worker *worker)
{
    if (worker->pid) {
        (void)kill(worker->pid, SIGKILL);
        (void)worker_end(worker);
    }
}

void worker_describe_death(int status, char *text, size_t room)
{
    if (WIFSIGNALED(status)) {
        bool is_invariant = WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP;
        (void)snprintf(text, room, "died by %s%s", strsignal(WTERMSIG(status)),
                       is_invariant ? " (a broken invariant)" : "");
    } else {
        (void)snprintf(text, room, "ended its process with status %d", WEXITSTATUS(status));
    }
}
