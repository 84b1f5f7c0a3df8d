/* Running jobs: starts them in the order of their numbers, takes results as they come, and
 * hands them on in order. */
#include "cli/jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/worker.h"
#include "host/clock.h"

enum { PROGRESS_MS = 250, DEATH_BYTES = 128 };

enum job_state { JOB_WAITS, JOB_RUNS, JOB_DONE, JOB_DEAD };

struct slot {
    struct worker worker;
    unsigned number;
};

struct series {
    const struct jobs *jobs;
    unsigned char *results; /* of all jobs */
    enum job_state *states;
    int *statuses; /* DEAD: its wait status */
    struct slot slots[JOBS_AT_ONCE_MAX];
    unsigned running;
    unsigned started, done, taken;
    uint64_t running_bytes;
};

unsigned jobs_usual(void)
{
    unsigned cores = worker_cores();
    return cores < JOBS_AT_ONCE_MAX ? cores : JOBS_AT_ONCE_MAX;
}

static void *result_of(const struct series *series, unsigned number)
{
    return series->results + number * series->jobs->result_bytes;
}

static uint64_t bytes_of(const struct series *series, unsigned number)
{
    const struct jobs *jobs = series->jobs;
    return jobs->bytes ? jobs->bytes(jobs->context, number) : 0;
}

/* ---- In a worker ------------------------------------------------------------------------ */

struct task {
    const struct series *series;
    unsigned number;
};

static void work(void *context, int fd)
{
    const struct task *task = context;
    const struct jobs *jobs = task->series->jobs;
    void *result = result_of(task->series, task->number);
    jobs->run(jobs->context, task->number, result);
    worker_write(fd, result, jobs->result_bytes);
}

/* ---- In the parent ---------------------------------------------------------------------- */

static bool may_start(const struct series *series)
{
    const struct jobs *jobs = series->jobs;
    if (series->started == jobs->count || series->running == jobs->at_once) {
        return false;
    }
    return series->running == 0 || !jobs->bytes ||
           series->running_bytes + bytes_of(series, series->started) <= jobs->bytes_max;
}

static bool start_next(struct series *series)
{
    struct slot *slot = series->slots;
    struct task task = {series, series->started};
    while (slot->worker.pid) {
        slot++;
    }
    slot->number = series->started;
    if (!worker_start(&slot->worker, work, &task)) {
        return false;
    }
    series->states[slot->number] = JOB_RUNS;
    series->running_bytes += bytes_of(series, slot->number);
    series->running++;
    series->started++;
    return true;
}

/* Its pipe is readable: its result is there, or it has died. */
static void finish(struct series *series, struct slot *slot)
{
    unsigned number = slot->number;
    bool is_whole = worker_read(&slot->worker, result_of(series, number),
                                series->jobs->result_bytes);
    series->statuses[number] = worker_end(&slot->worker);
    series->states[number] = is_whole ? JOB_DONE : JOB_DEAD;
    series->running_bytes -= bytes_of(series, number);
    series->running--;
    series->done++;
}

static void hand_on(struct series *series)
{
    const struct jobs *jobs = series->jobs;
    while (series->taken < jobs->count && series->states[series->taken] >= JOB_DONE) {
        unsigned number = series->taken++;
        char death[DEATH_BYTES];
        bool is_dead = series->states[number] == JOB_DEAD;
        if (is_dead) {
            worker_describe_death(series->statuses[number], death, sizeof death);
        }
        jobs->take(jobs->context, number, result_of(series, number), is_dead ? death : NULL);
    }
}

/* Waits for news of any worker. */
static enum jobs_end await_news(struct series *series)
{
    struct pollfd wanted[JOBS_AT_ONCE_MAX];
    struct slot *slots[JOBS_AT_ONCE_MAX];
    unsigned count = 0;
    for (unsigned i = 0; count < series->running; i++) {
        if (series->slots[i].worker.pid) {
            slots[count] = &series->slots[i];
            wanted[count++] = (struct pollfd){series->slots[i].worker.fd, POLLIN, 0};
        }
    }
    int ready = worker_await(wanted, count, series->jobs->progress ? PROGRESS_MS : -1);
    if (ready < 0) {
        return JOBS_INTERRUPTED;
    }
    for (unsigned i = 0; ready > 0 && i < count; i++) {
        if (wanted[i].revents) {
            finish(series, slots[i]);
        }
    }
    return JOBS_DONE;
}

static enum jobs_end run_all(struct series *series)
{
    const struct jobs *jobs = series->jobs;
    uint64_t begin_ns = host_now_ns();
    while (series->taken < jobs->count) {
        while (may_start(series)) {
            if (!start_next(series)) {
                return JOBS_FAULT;
            }
        }
        enum jobs_end end = await_news(series);
        if (end != JOBS_DONE) {
            return end;
        }
        hand_on(series);
        if (jobs->progress && host_now_ns() - begin_ns >= UINT64_C(1000000000)) {
            jobs->progress(jobs->context, series->done, series->running);
        }
    }
    return JOBS_DONE;
}

enum jobs_end jobs_run(const struct jobs *jobs)
{
    enum jobs_end end = JOBS_FAULT;
    struct series *series = calloc(1, sizeof *series);
    unsigned count = jobs->count > 0 ? jobs->count : 1;
    if (series) {
        series->jobs = jobs;
        series->results = calloc(count, jobs->result_bytes);
        series->states = calloc(count, sizeof *series->states);
        series->statuses = calloc(count, sizeof *series->statuses);
    }
    if (series && series->results && series->states && series->statuses) {
        end = run_all(series);
        int error = errno;
        for (unsigned i = 0; i < JOBS_AT_ONCE_MAX; i++) {
            worker_kill(&series->slots[i].worker);
        }
        errno = error;
    }
    if (series) {
        free(series->results);
        free(series->states);
        free(series->statuses);
    }
    free(series);
    return end;
}
