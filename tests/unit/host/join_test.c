/* How a rank comes to the keeper, and how it fails to. Each rank is a process of its own, because a
 * process joins once; keepers become children of this one. */
#define _GNU_SOURCE
#include "host/join.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "unit/unit.h"

static const struct group_sizes sizes = {
    .llcm_bytes = 4096, .bank_bytes = 4096, .heap_bytes = 4096, .registered_bytes = 4096};

static int adopt_keepers(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* One of two ranks of a job of that name. */
static struct host_job job_of(const char *name, uint32_t rank)
{
    struct host_job job = {.launcher = "a test", .rank = rank, .size = 2};
    (void)snprintf(job.name, sizeof job.name, "dimmnet-job-test-%d-%s", (int)getpid(), name);
    return job;
}

/* In a child: ends it with 0 if the error and a part of the sentence are these. */
static int join_and_expect(const struct host_job *job, uint64_t patience_ms, int error,
                           const char *because)
{
    struct host_join_terms terms = {.sizes = &sizes, .patience_ms = patience_ms};
    struct host_joined joined;
    char sentence[HOST_SENTENCE_BYTES] = "";
    int got = host_join(job, &terms, &joined, sentence);
    if (got != error || !strstr(sentence, because)) {
        (void)fprintf(stderr, "%d: %s\n", got, sentence);
        return 1;
    }
    return 0;
}

/* Waits for that child; its status. */
static int status_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The process that is a child and a keeper; 0: none is there yet. */
static pid_t find_keeper(void)
{
    static const char name[] = "dimmnet-keeper\n";
    pid_t child = 0;
    pid_t found = 0;
    FILE *children = fopen("/proc/thread-self/children", "r");
    while (found == 0 && children && fscanf(children, "%d", &child) == 1) {
        char path[64];
        char text[sizeof name] = "";
        (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)child);
        FILE *file = fopen(path, "r");
        if (file) {
            (void)!fgets(text, sizeof text, file);
            (void)fclose(file);
        }
        found = strcmp(text, name) == 0 ? child : 0;
    }
    if (children) {
        (void)fclose(children);
    }
    return found;
}

static void rank_0_learns_that_the_keeper_was_killed(void **state)
{
    struct host_job job = job_of("killed", 0);
    (void)state;
    if (access("/proc/thread-self/children", R_OK) != 0) {
        skip(); /* the kernel does not tell */
    }
    pid_t rank_0 = fork();
    if (rank_0 == 0) {
        _exit(join_and_expect(&job, 5000, DN_EPEER, "the job's keeper has ended"));
    }
    pid_t keeper = 0;
    uint64_t until_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    while (keeper == 0 && unit_now_ns() < until_ns) {
        keeper = find_keeper();
        base_nap_ns(UNIT_MS);
    }
    assert_true(keeper > 0);
    assert_int_equal(kill(keeper, SIGKILL), 0);
    assert_int_equal(status_of(rank_0), 0);
    assert_int_equal(status_of(keeper), SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_learns_that_the_keeper_was_killed),
    };
    return cmocka_run_group_tests(tests, adopt_keepers, NULL);
}
