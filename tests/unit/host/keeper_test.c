/* The keeper's end: it goes when nobody will come, and keeps neither the job's name nor a rank
 * waiting. Keepers become children of this process, which so sees how they end. */
#define _GNU_SOURCE
#include "host/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "unit/unit.h"

static const struct group_sizes sizes = {
    .llcm_bytes = 4096, .bank_bytes = 4096, .heap_bytes = 4096, .registered_bytes = 4096};

/* A name that no other test has. */
static struct host_job job_of(uint32_t size)
{
    static unsigned count;
    struct host_job job = {.launcher = "a test", .size = size};
    (void)snprintf(job.name, sizeof job.name, "dimmnet-job-test-%d-%u", (int)getpid(), count++);
    return job;
}

static int adopt_keepers(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The next child that ends. 0: none does. */
static pid_t next_end(void)
{
    uint64_t until_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    pid_t ended = 0;
    while (ended == 0 && unit_now_ns() < until_ns) {
        ended = waitpid(-1, NULL, WNOHANG);
        base_nap_ns(UNIT_MS);
    }
    return ended;
}

static void expect_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* A socket to the keeper; -1: there is none. */
static int connect_to(const struct host_job *job)
{
    struct sockaddr_un address;
    socklen_t length = keeper_address(job, &address);
    int fd = keeper_socket();
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, length) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int come(const struct host_job *job, uint32_t rank, uint64_t patience_ns)
{
    struct keeper_hello hello = {
        .magic = KEEPER_MAGIC,
        .layout_version = GROUP_LAYOUT_VERSION,
        .rank = rank,
        .size = job->size,
        .patience_ns = patience_ns,
    };
    int fd = connect_to(job);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    return fd;
}

static struct keeper_answer answer_at(int fd)
{
    struct keeper_answer answer = {0};
    struct pollfd look = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&look, 1, (int)(UNIT_PATIENCE_NS / UNIT_MS)), 1);
    assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
    return answer;
}

/* ---- Tests ------------------------------------------------------------------------------- */

static void a_keeper_goes_when_rank_0_ends_before_it_comes(void **state)
{
    struct host_job job = job_of(2);
    (void)state;
    pid_t rank_0 = fork();
    if (rank_0 == 0) {
        _exit(keeper_start(&job, &sizes) != 0);
    }
    assert_int_equal(next_end(), rank_0);
    assert_true(next_end() > 0);
    expect_no_child();
    assert_int_equal(connect_to(&job), -1);
}

/* Opens files until none is free but so many. */
static void leave_free(unsigned count)
{
    int fds[64];
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = sizeof fds / sizeof fds[0];
    (void)setrlimit(RLIMIT_NOFILE, &files);
    size_t opened = 0;
    int fd;
    while (opened < files.rlim_cur && (fd = open("/dev/zero", O_RDONLY)) >= 0) {
        fds[opened++] = fd;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)close(fds[--opened]);
    }
}

/* The keeper answers whoever starts it, however few files that may open, or does not begin. With
 * ENOUGH it begins. */
static void a_program_may_have_nearly_all_files_open(void **state)
{
    enum { ENOUGH = 4 };
    (void)state;
    for (unsigned count = 0; count <= ENOUGH + 1; count++) {
        struct host_job job = job_of(2);
        pid_t rank_0 = fork();
        if (rank_0 == 0) {
            leave_free(count);
            (void)alarm(60); /* should the test fail */
            _exit(keeper_start(&job, &sizes) != 0 ? 2 : pause());
        }
        int fd = -1;
        int status = 0;
        uint64_t until_ns = unit_now_ns() + UNIT_PATIENCE_NS;
        while (fd < 0 && waitpid(rank_0, &status, WNOHANG) == 0 && unit_now_ns() < until_ns) {
            fd = connect_to(&job);
            base_nap_ns(UNIT_MS);
        }
        if (fd < 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
            assert_true(count < ENOUGH);
            continue;
        }
        (void)close(fd);
        fd = come(&job, 1, 0);
        assert_int_equal(answer_at(fd).word, KEEPER_MISSING);
        (void)close(fd);
        assert_true(next_end() > 0);
        assert_int_equal(kill(rank_0, SIGKILL), 0);
        assert_int_equal(next_end(), rank_0);
        expect_no_child();
    }
}

static void a_job_that_failed_has_given_its_name_back(void **state)
{
    struct host_job job = job_of(2);
    (void)state;
    for (int round = 0; round < 200; round++) {
        assert_int_equal(keeper_start(&job, &sizes), 0);
        int fd = come(&job, 0, 0);
        struct keeper_answer answer = answer_at(fd);
        assert_int_equal(answer.word, KEEPER_MISSING);
        assert_int_equal(answer.number, 1);
        (void)close(fd);
    }
    for (int round = 0; round < 200; round++) {
        assert_true(next_end() > 0);
    }
    expect_no_child();
}

/* The one child that there is. */
static pid_t only_child(void)
{
    pid_t child = 0;
    FILE *children = fopen("/proc/thread-self/children", "r");
    if (children) {
        (void)!fscanf(children, "%d", &child);
        (void)fclose(children);
    }
    return child;
}

static void the_last_rank_hangs_up_unseen(void **state)
{
    struct host_job job = job_of(2);
    (void)state;
    assert_int_equal(keeper_start(&job, &sizes), 0);
    pid_t keeper = only_child();
    if (keeper == 0) {
        skip(); /* the kernel does not tell */
    }
    int status;
    assert_int_equal(kill(keeper, SIGSTOP), 0);
    assert_int_equal(waitpid(keeper, &status, WUNTRACED), keeper);
    assert_true(WIFSTOPPED(status));
    int stays = come(&job, 0, DN_FOREVER);
    (void)close(come(&job, 1, DN_FOREVER));
    assert_int_equal(kill(keeper, SIGCONT), 0);
    struct keeper_answer answer = answer_at(stays);
    assert_int_equal(answer.word, KEEPER_LOST);
    assert_int_equal(answer.number, 1);
    (void)close(stays);
    assert_int_equal(next_end(), keeper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_keeper_goes_when_rank_0_ends_before_it_comes),
        cmocka_unit_test(a_program_may_have_nearly_all_files_open),
        cmocka_unit_test(a_job_that_failed_has_given_its_name_back),
        cmocka_unit_test(the_last_rank_hangs_up_unseen),
    };
    return cmocka_run_group_tests(tests, adopt_keepers, NULL);
}
