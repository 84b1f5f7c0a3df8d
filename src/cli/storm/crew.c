/* The storm's worker processes. */
#define _GNU_SOURCE
#include "cli/storm/crew.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
    CPU_SECONDS_MAX = 60, /* for one run; they take milliseconds */
    LINES_SHOWN = 40,
    LINE_BYTES = 512,
};

/* ---- In a worker ----------------------------------------------------------------------- */

struct task {
    const struct crew *crew;
    uint64_t seed; /* the first */
};

/* Runs seeds and writes their results; the clock of the process limits each run. */
static void work(void *context, int fd)
{
    const struct task *task = context;
    const struct crew *crew = task->crew;
    uint64_t seed = task->seed;
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
        worker_write(fd, &result, sizeof result);
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

static bool start_worker(const struct crew *crew, uint64_t seed, struct worker *worker)
{
    struct task task = {crew, seed};
    return worker_start(worker, work, &task);
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
        worker_kill(&crew->workers[i]);
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
    } else {
        char death[128];
        worker_describe_death(status, death, sizeof death);
        (void)snprintf(result->failure, sizeof result->failure, "the run %s", death);
    }
}

enum crew_news crew_next(struct crew *crew, int patience_ms, uint64_t *seed,
                         struct storm_result *result)
{
    if (crew->seed_next > crew->seed_last || crew->seed_next < crew->seed_first) {
        return CREW_END;
    }
    struct worker *worker = &crew->workers[(crew->seed_next - crew->seed_first) % crew->jobs];
    INVARIANT(worker->pid);
    struct pollfd wanted = {worker->fd, POLLIN, 0};
    int ready = worker_await(&wanted, 1, patience_ms);
    if (ready <= 0) {
        return ready < 0 ? CREW_INTERRUPTED : CREW_NOTHING;
    }
    if (!worker_read(worker, result, sizeof *result)) {
        describe_death(worker_end(worker), result);
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
