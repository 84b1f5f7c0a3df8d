/* Running jobs: starts workers in the order of their numbers, reads results as they come, and
 * hands them on in order. A worker writes its results into a pipe, whose end tells of its death. */
#define _GNU_SOURCE
#include "cli/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/clock.h"
#include "host/group.h"

#define NS_PER_MS UINT64_C(1000000)

enum { PROGRESS_MS = 250, PROGRESS_FROM_MS = 1000, DEATH_BYTES = 128, PIPE_BYTES = 1 << 20 };

struct worker {
    pid_t pid;     /* 0: there is none */
    int fd;        /* its results */
    uint64_t next; /* the job whose result comes next */
};

/* What has come for one number. */
enum cell_state { CELL_EMPTY, CELL_RESULT, CELL_DEATH };

struct series {
    const struct jobs *jobs;
    /* The distance from one job of a worker to its next, and the number of cells: the result of
     * job n waits in cell n % step for those before it. Without lasting workers this is the count
     * of jobs, so that a worker has one job. */
    uint64_t step;
    unsigned char *results;
    enum cell_state *states;
    int *statuses; /* DEATH: the wait status */
    struct worker workers[JOBS_AT_ONCE_MAX];
    unsigned running;
    uint64_t started; /* the first number that no worker has been started with */
    uint64_t done, taken;
    uint64_t running_bytes;
    uint64_t begin_ns, shown_ns;
};

static volatile sig_atomic_t caught;
static sigset_t waiting_mask; /* while waiting, the signals are let in */

unsigned jobs_usual(void)
{
    uint32_t cores = host_core_count();
    return cores < JOBS_AT_ONCE_MAX ? cores : JOBS_AT_ONCE_MAX;
}

static void *result_of(const struct series *series, uint64_t number)
{
    return series->results + number % series->step * series->jobs->result_bytes;
}

static uint64_t bytes_of(const struct series *series, uint64_t number)
{
    const struct jobs *jobs = series->jobs;
    return jobs->bytes ? jobs->bytes(jobs->context, number) : 0;
}

/* ---- Signals ---------------------------------------------------------------------------- */

static void on_signal(int number)
{
    caught = number;
}

static void take_signals(void)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    static bool are_taken;
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    if (are_taken) {
        return;
    }
    are_taken = true;
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

static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written <= 0 && errno != EINTR) {
            _exit(1);
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
}

/* Does the job and those of this worker behind it; the clock of the process limits each. */
static void work(const struct series *series, uint64_t number, int fd)
{
    const struct jobs *jobs = series->jobs;
    const struct itimerval limit = {.it_value = {.tv_sec = jobs->cpu_seconds_max}};
    for (; number < jobs->count; number += series->step) {
        void *result = result_of(series, number);
        memset(result, 0, jobs->result_bytes);
        (void)setitimer(ITIMER_VIRTUAL, &limit, NULL);
        jobs->run(jobs->context, number, result);
        write_all(fd, result, jobs->result_bytes);
    }
}

/* ---- In the parent ---------------------------------------------------------------------- */

/* False: no process could be started. */
static bool start_worker(struct series *series, struct worker *worker, uint64_t number)
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
        work(series, number, fds[1]);
        _exit(0);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return false;
    }
    *worker = (struct worker){pid, fds[0], number};
    series->running++;
    series->running_bytes += bytes_of(series, number);
    return true;
}

/* Waits for its end; gives its wait status. */
static int end_worker(struct series *series, struct worker *worker)
{
    int status = 0;
    (void)close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker->pid = 0;
    series->running--;
    series->running_bytes -= bytes_of(series, worker->next);
    return status;
}

static bool may_start(const struct series *series)
{
    const struct jobs *jobs = series->jobs;
    if (series->started == series->step || series->running == jobs->at_once) {
        return false;
    }
    return series->running == 0 || !jobs->bytes ||
           series->running_bytes + bytes_of(series, series->started) <= jobs->bytes_max;
}

static bool start_next(struct series *series)
{
    struct worker *worker = series->workers;
    while (worker->pid) {
        worker++;
    }
    return start_worker(series, worker, series->started++);
}

/* False: the worker died before it had written a whole result. */
static bool read_result(const struct series *series, const struct worker *worker)
{
    char *to = result_of(series, worker->next);
    size_t count = series->jobs->result_bytes;
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

/* Its pipe is readable: a result is there, or it has died and another goes on in its place.
 * False: no process could be started. */
static bool take_news(struct series *series, struct worker *worker)
{
    uint64_t number = worker->next;
    uint64_t cell = number % series->step;
    bool is_last = series->jobs->count - number <= series->step;
    bool is_whole = read_result(series, worker);
    series->states[cell] = is_whole ? CELL_RESULT : CELL_DEATH;
    series->done++;
    if (is_last || !is_whole) {
        series->statuses[cell] = end_worker(series, worker);
    }
    if (!is_whole) {
        memset(result_of(series, number), 0, series->jobs->result_bytes);
    }
    worker->next = number + series->step;
    return is_last || is_whole || start_worker(series, worker, number + series->step);
}

static void describe_death(const struct jobs *jobs, int status, char text[DEATH_BYTES])
{
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (by == SIGVTALRM && jobs->cpu_seconds_max > 0) {
        (void)snprintf(text, DEATH_BYTES, "did not end within %u s of CPU time",
                       jobs->cpu_seconds_max);
    } else if (by) {
        (void)snprintf(text, DEATH_BYTES, "died by %s%s", strsignal(by),
                       by == SIGILL || by == SIGTRAP ? " (a broken invariant)" : "");
    } else {
        (void)snprintf(text, DEATH_BYTES, "ended its process with status %d", WEXITSTATUS(status));
    }
}

/* Hands on the results up to the first gap. False: the caller has enough. */
static bool hand_on(struct series *series)
{
    const struct jobs *jobs = series->jobs;
    bool more = true;
    while (more && series->taken < jobs->count) {
        uint64_t number = series->taken;
        uint64_t cell = number % series->step;
        enum cell_state state = series->states[cell];
        char death[DEATH_BYTES];
        if (state == CELL_EMPTY) {
            break;
        }
        if (state == CELL_DEATH) {
            describe_death(jobs, series->statuses[cell], death);
        }
        more = jobs->take(jobs->context, number, result_of(series, number),
                          state == CELL_DEATH ? death : NULL);
        series->states[cell] = CELL_EMPTY;
        series->taken++;
    }
    return more;
}

/* Waits for news of any worker whose next result has a free cell. */
static enum jobs_end await_news(struct series *series)
{
    struct pollfd wanted[JOBS_AT_ONCE_MAX];
    struct worker *workers[JOBS_AT_ONCE_MAX];
    const struct timespec patience = {.tv_nsec = PROGRESS_MS * (long)NS_PER_MS};
    unsigned count = 0;
    for (unsigned i = 0; i < JOBS_AT_ONCE_MAX; i++) {
        struct worker *worker = &series->workers[i];
        if (worker->pid && worker->next - series->taken < series->step) {
            workers[count] = worker;
            wanted[count++] = (struct pollfd){worker->fd, POLLIN, 0};
        }
    }
    int ready = -1;
    while (ready < 0) {
        ready = caught ? 0
                       : ppoll(wanted, count, series->jobs->progress ? &patience : NULL,
                               &waiting_mask);
        if (caught) {
            return JOBS_INTERRUPTED;
        }
        if (ready < 0 && errno != EINTR) {
            return JOBS_FAULT;
        }
    }
    for (unsigned i = 0; ready > 0 && i < count; i++) {
        if (wanted[i].revents && !take_news(series, workers[i])) {
            return JOBS_FAULT;
        }
    }
    return JOBS_DONE;
}

static void show_progress(struct series *series)
{
    const struct jobs *jobs = series->jobs;
    uint64_t now_ns = host_now_ns();
    if (jobs->progress && now_ns - series->begin_ns >= PROGRESS_FROM_MS * NS_PER_MS &&
        now_ns - series->shown_ns >= PROGRESS_MS * NS_PER_MS) {
        series->shown_ns = now_ns;
        jobs->progress(jobs->context, series->done, series->running);
    }
}

static enum jobs_end run_all(struct series *series)
{
    enum jobs_end end = JOBS_DONE;
    bool more = series->jobs->count > 0;
    while (end == JOBS_DONE && more && series->taken < series->jobs->count) {
        while (may_start(series)) {
            if (!start_next(series)) {
                return JOBS_FAULT;
            }
        }
        end = await_news(series);
        more = end == JOBS_DONE && hand_on(series);
        show_progress(series);
    }
    return end;
}

enum jobs_end jobs_run(const struct jobs *jobs)
{
    enum jobs_end end = JOBS_FAULT;
    struct series *series = calloc(1, sizeof *series);
    if (!series) {
        return end;
    }
    take_signals();
    series->jobs = jobs;
    series->begin_ns = host_now_ns();
    series->step = jobs->lasting && jobs->at_once < jobs->count ? jobs->at_once : jobs->count;
    size_t cells = series->step > 0 ? series->step : 1;
    series->results = calloc(cells, jobs->result_bytes);
    series->states = calloc(cells, sizeof *series->states);
    series->statuses = calloc(cells, sizeof *series->statuses);
    if (series->results && series->states && series->statuses) {
        end = run_all(series);
    }
    int error = errno;
    for (unsigned i = 0; i < JOBS_AT_ONCE_MAX; i++) {
        if (series->workers[i].pid) {
            (void)kill(series->workers[i].pid, SIGKILL);
            (void)end_worker(series, &series->workers[i]);
        }
    }
    free(series->results);
    free(series->states);
    free(series->statuses);
    free(series);
    errno = error;
    return end;
}

int jobs_conclude(const char *command, enum jobs_end end)
{
    int error = errno;
    cli_clear_progress();
    switch (end) {
    case JOBS_DONE: return CLI_OK;
    case JOBS_INTERRUPTED: return 128 + caught;
    case JOBS_FAULT: break;
    }
    return cli_fail(command, "cannot start a process: %s", strerror(error));
}
