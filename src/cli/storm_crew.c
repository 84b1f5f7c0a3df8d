/* The storm's worker processes. */
#define _GNU_SOURCE
#include "cli/storm_crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CPU_SECONDS_MAX = 60, /* for one run; they take milliseconds */
    LINES_SHOWN = 40,
    LINE_BYTES = 512,
    PIPE_BYTES = 1 << 20,
};

static volatile sig_atomic_t caught;
static sigset_t waiting_mask; /* while waiting, the signals are let in */

static void on_signal(int number)
{
    caught = number;
}

void crew_take_signals(void)
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

int crew_signal(void)
{
    return caught;
}

/* ---- In a worker ----------------------------------------------------------------------- */

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

static void write_all(int fd, const void *bytes, size_t count)
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

/* Runs seeds and writes their results; the clock of the process limits each run. */
static void work(const struct crew *crew, uint64_t seed, int fd)
{
    const struct itimerval limit = {.it_value = {.tv_sec = CPU_SECONDS_MAX}};
    struct storm_world *world = storm_world_new();
    struct storm_choice choice = crew->choice;
    while (world && seed <= crew->seed_last) {
        struct storm_plan plan;
        struct storm_result result;
        choice.seed = seed;
        (void)setitimer(ITIMER_VIRTUAL, &limit, NULL);
        if (!storm_plan_choose(&plan, &choice)) {
            break;
        }
        storm_world_run(world, &plan, crew->trace, &result);
        if (crew->trace) {
            (void)fflush(crew->trace);
        }
        write_all(fd, &result, sizeof result);
        if (crew->seed_last - seed < crew->jobs) {
            break;
        }
        seed += crew->jobs;
    }
    if (world) {
        storm_world_free(world);
    }
}

/* ---- In the parent --------------------------------------------------------------------- */

static bool start_worker(const struct crew *crew, uint64_t seed, struct crew_worker *worker)
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
        work(crew, seed, fds[1]);
        _exit(0);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return false;
    }
    *worker = (struct crew_worker){pid, fds[0]};
    return true;
}

/* Its wait status. */
static int end_worker(struct crew_worker *worker)
{
    int status = 0;
    (void)close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker->pid = 0;
    return status;
}

bool crew_start(struct crew *crew)
{
    crew->seed_next = crew->seed_first;
    memset(crew->workers, 0, sizeof crew->workers);
    uint64_t seeds = crew->seed_last - crew->seed_first;
    if (seeds < crew->jobs - 1) {
        crew->jobs = (unsigned)seeds + 1;
    }
    for (unsigned i = 0; i < crew->jobs; i++) {
        if (!start_worker(crew, crew->seed_first + i, &crew->workers[i])) {
            crew_end(crew);
            return false;
        }
    }
    return true;
}

void crew_end(struct crew *crew)
{
    for (unsigned i = 0; i < crew->jobs; i++) {
        if (crew->workers[i].pid) {
            (void)kill(crew->workers[i].pid, SIGKILL);
            (void)end_worker(&crew->workers[i]);
        }
    }
}

/* 1: readable, 0: not within that time, -1: a signal came. */
static int await(int fd, int patience_ms)
{
    struct pollfd wanted = {fd, POLLIN, 0};
    struct timespec patience = {patience_ms / 1000, patience_ms % 1000 * 1000000L};
    for (;;) {
        if (caught) {
            return -1;
        }
        int ready = ppoll(&wanted, 1, patience_ms < 0 ? NULL : &patience, &waiting_mask);
        if (ready >= 0 || errno != EINTR) {
            return ready != 0;
        }
    }
}

/* How a run ended that could not say so itself. */
static void describe_death(int status, struct storm_result *result)
{
    memset(result, 0, sizeof *result);
    result->failed = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM) {
        (void)snprintf(result->failure, sizeof result->failure,
                       "the run did not end within %d s of CPU time", CPU_SECONDS_MAX);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(result->failure, sizeof result->failure, "the run died by %s%s",
                       strsignal(WTERMSIG(status)),
                       WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP
                           ? " (a broken invariant)"
                           : "");
    } else {
        (void)snprintf(result->failure, sizeof result->failure,
                       "the run ended its process with status %d", WEXITSTATUS(status));
    }
}

/* False: the worker died before it had told the result. */
static bool read_result(int fd, struct storm_result *result)
{
    char *to = (char *)result;
    size_t left = sizeof *result;
    while (left > 0) {
        ssize_t count = read(fd, to, left);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return false;
        }
        to += count > 0 ? count : 0;
        left -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

enum crew_news crew_next(struct crew *crew, int patience_ms, uint64_t *seed,
                         struct storm_result *result)
{
    if (crew->seed_next > crew->seed_last || crew->seed_next < crew->seed_first) {
        return CREW_END;
    }
    struct crew_worker *worker = &crew->workers[(crew->seed_next - crew->seed_first) % crew->jobs];
    INVARIANT(worker->pid);
    int ready = await(worker->fd, patience_ms);
    if (ready <= 0) {
        return ready < 0 ? CREW_INTERRUPTED : CREW_NOTHING;
    }
    if (!read_result(worker->fd, result)) {
        describe_death(end_worker(worker), result);
        if (crew->seed_last - crew->seed_next >= crew->jobs &&
            !start_worker(crew, crew->seed_next + crew->jobs, worker)) {
            return CREW_INTERRUPTED;
        }
    }
    *seed = crew->seed_next++;
    return CREW_RESULT;
}

bool crew_run_one(const struct storm_choice *choice, struct storm_result *result)
{
    struct crew crew = {
        .choice = *choice, .seed_first = choice->seed, .seed_last = choice->seed, .jobs = 1};
    uint64_t seed;
    if (!crew_start(&crew)) {
        return false;
    }
    enum crew_news news = crew_next(&crew, -1, &seed, result);
    crew_end(&crew);
    return news == CREW_RESULT;
}

void crew_print_trace_end(const struct storm_choice *choice, const char *indent)
{
    static char lines[LINES_SHOWN][LINE_BYTES];
    struct storm_result result;
    struct crew crew = {
        .choice = *choice, .seed_first = choice->seed, .seed_last = choice->seed, .jobs = 1};
    uint64_t count = 0;
    uint64_t seed;
    /* A file and not a pipe: the worker's last words stay, whatever happens to it. */
    crew.trace = tmpfile();
    if (!crew.trace || setvbuf(crew.trace, NULL, _IOLBF, BUFSIZ) != 0 || !crew_start(&crew)) {
        printf("%s(no trace: %s)\n", indent, strerror(errno));
        return;
    }
    (void)crew_next(&crew, -1, &seed, &result);
    crew_end(&crew);
    rewind(crew.trace);
    while (fgets(lines[count % LINES_SHOWN], LINE_BYTES, crew.trace)) {
        count++;
    }
    (void)fclose(crew.trace);
    for (uint64_t i = count < LINES_SHOWN ? 0 : count - LINES_SHOWN; i < count; i++) {
        printf("%s%s", indent, lines[i % LINES_SHOWN]);
    }
}
