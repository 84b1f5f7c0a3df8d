/* Jobs in processes: results in the order of the numbers whatever the number of workers, deaths
 * that cost only their own job, memory that is never promised twice, and an end in order. */
#include "unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/jobs.h"

enum { COUNT = 24, TEXT_BYTES = 4096, NEVER = 100000 };

struct result {
    uint64_t number;
    uint64_t value;
    char text[40];
};

/* What the jobs share with each other. */
struct shared {
    _Atomic uint32_t running, running_max;
    _Atomic uint32_t processes; /* that have done a job */
    _Atomic uint32_t done[COUNT];
};

struct series {
    struct shared *shared;
    unsigned waits;   /* this job waits for the one behind it */
    unsigned aborts;  /* this one dies by a signal */
    unsigned exits;   /* this one ends its process */
    unsigned signals; /* this one has its parent interrupted */
    unsigned hangs;   /* this one does not end */
    unsigned enough;  /* stop after this many results */
    char text[TEXT_BYTES];
    size_t used;
    unsigned taken;
};

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
}

static void run(void *context, uint64_t number, void *result)
{
    struct series *series = context;
    struct shared *shared = series->shared;
    struct result *own = result;
    static bool is_old; /* this process has done one before */
    if (!is_old) {
        is_old = true;
        atomic_fetch_add(&shared->processes, 1);
    }
    uint32_t running = atomic_fetch_add(&shared->running, 1) + 1;
    uint32_t most = atomic_load(&shared->running_max);
    while (running > most && !atomic_compare_exchange_weak(&shared->running_max, &most, running)) {
    }
    uint64_t begin_ns = unit_now_ns();
    while (number == series->waits && !atomic_load(&shared->done[number + 1]) &&
           unit_now_ns() - begin_ns < UNIT_PATIENCE_NS) {
        nap();
    }
    if (number == series->aborts) {
        abort();
    }
    if (number == series->exits) {
        _exit(7);
    }
    while (number == series->hangs) {
    }
    if (number == series->signals) {
        (void)kill(getppid(), SIGTERM);
        for (;;) {
            nap();
        }
    }
    struct base_random random = {number};
    own->number = number;
    own->value = base_random_next(&random);
    (void)snprintf(own->text, sizeof own->text, "job %u", (unsigned)number);
    atomic_store(&shared->done[number], 1);
    atomic_fetch_sub(&shared->running, 1);
}

static bool take(void *context, uint64_t number, const void *result, const char *death)
{
    struct series *series = context;
    const struct result *own = result;
    assert_int_equal(number, series->taken);
    series->taken++;
    if (death) {
        assert_int_equal(own->number, 0);
        series->used += (size_t)snprintf(series->text + series->used, TEXT_BYTES - series->used,
                                         "%u %s\n", (unsigned)number, death);
    } else {
        assert_int_equal(own->number, number);
        series->used += (size_t)snprintf(series->text + series->used, TEXT_BYTES - series->used,
                                         "%u %s %llx\n", (unsigned)number, own->text,
                                         (unsigned long long)own->value);
    }
    return series->taken != series->enough;
}

static uint64_t bytes_of(void *context, uint64_t number)
{
    (void)context;
    return number % 3 == 0 ? 1000 : 60; /* a large one fits only alone */
}

static struct series *begin(void)
{
    struct series *series = calloc(1, sizeof *series);
    assert_non_null(series);
    void *shared = mmap(NULL, sizeof *series->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    series->shared = shared;
    series->waits = series->aborts = series->exits = series->signals = series->hangs = NEVER;
    return series;
}

static struct jobs jobs_of(struct series *series, unsigned at_once, bool lasting)
{
    return (struct jobs){.context = series,
                         .count = COUNT,
                         .at_once = at_once,
                         .lasting = lasting,
                         .result_bytes = sizeof(struct result),
                         .run = run,
                         .take = take};
}

static void end(struct series *series)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(munmap(series->shared, sizeof *series->shared), 0);
    free(series);
}

static void the_number_of_workers_does_not_matter(void **state)
{
    enum { COUNTS = 4 };
    static const unsigned at_once[COUNTS] = {1, 3, 7, 40};
    char first[TEXT_BYTES];
    (void)state;
    for (unsigned i = 0; i < 2 * COUNTS; i++) {
        struct series *series = begin();
        struct jobs jobs = jobs_of(series, at_once[i / 2], i % 2);
        assert_int_equal(jobs_run(&jobs), JOBS_DONE);
        assert_int_equal(series->taken, COUNT);
        assert_true(series->shared->running_max <= at_once[i / 2]);
        assert_int_equal(series->shared->processes,
                         jobs.lasting && jobs.at_once < COUNT ? jobs.at_once : COUNT);
        if (i == 0) {
            memcpy(first, series->text, sizeof first);
        }
        assert_string_equal(series->text, first);
        end(series);
    }
}

static void one_that_is_late_keeps_its_place(void **state)
{
    (void)state;
    struct series *series = begin();
    struct jobs jobs = jobs_of(series, 2, false);
    series->waits = 0;
    assert_int_equal(jobs_run(&jobs), JOBS_DONE);
    assert_int_equal(series->taken, COUNT);
    assert_true(atomic_load(&series->shared->done[1]) == 1);
    end(series);
}

static void a_death_is_its_own_jobs_result(void **state)
{
    (void)state;
    for (int lasting = 0; lasting < 2; lasting++) {
        struct series *series = begin();
        struct jobs jobs = jobs_of(series, 3, lasting);
        series->aborts = 2;
        series->exits = 5; /* the next one of the same worker, if it lasts */
        series->hangs = COUNT - 1;
        jobs.cpu_seconds_max = 1;
        assert_int_equal(jobs_run(&jobs), JOBS_DONE);
        assert_int_equal(series->taken, COUNT);
        assert_non_null(strstr(series->text, "\n2 died by Aborted\n"));
        assert_non_null(strstr(series->text, "\n5 ended its process with status 7\n"));
        assert_non_null(strstr(series->text, "\n6 job 6 "));
        assert_non_null(strstr(series->text, "\n8 job 8 "));
        assert_non_null(strstr(series->text, "\n23 did not end within 1 s of CPU time\n"));
        end(series);
    }
}

static void enough_is_enough(void **state)
{
    (void)state;
    for (int lasting = 0; lasting < 2; lasting++) {
        struct series *series = begin();
        struct jobs jobs = jobs_of(series, 3, lasting);
        series->enough = 5;
        assert_int_equal(jobs_run(&jobs), JOBS_DONE);
        assert_int_equal(series->taken, 5);
        end(series);
    }
}

static void memory_limits_how_many_run_together(void **state)
{
    (void)state;
    struct series *series = begin();
    struct jobs jobs = jobs_of(series, 8, false);
    jobs.bytes = bytes_of;
    jobs.bytes_max = 100;
    assert_int_equal(jobs_run(&jobs), JOBS_DONE);
    assert_int_equal(series->taken, COUNT);
    assert_int_equal(series->shared->running_max, 1);
    end(series);
}

static void no_jobs_are_done_at_once(void **state)
{
    (void)state;
    struct series *series = begin();
    struct jobs jobs = jobs_of(series, 2, false);
    jobs.count = 0;
    assert_int_equal(jobs_run(&jobs), JOBS_DONE);
    assert_int_equal(series->taken, 0);
    end(series);
}

/* The last one: the signal stays caught. */
static void a_signal_ends_all_in_order(void **state)
{
    (void)state;
    struct series *series = begin();
    struct jobs jobs = jobs_of(series, 3, true);
    series->signals = 1;
    assert_int_equal(jobs_run(&jobs), JOBS_INTERRUPTED);
    assert_int_equal(jobs_conclude("test", JOBS_INTERRUPTED), 128 + SIGTERM);
    assert_true(series->taken <= 1);
    end(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_workers_does_not_matter),
        cmocka_unit_test(one_that_is_late_keeps_its_place),
        cmocka_unit_test(a_death_is_its_own_jobs_result),
        cmocka_unit_test(enough_is_enough),
        cmocka_unit_test(memory_limits_how_many_run_together),
        cmocka_unit_test(no_jobs_are_done_at_once),
        cmocka_unit_test(a_signal_ends_all_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
