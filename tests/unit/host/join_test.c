/* How a rank comes to the keeper, and how it fails to. Each rank is a process of its own, because a
 * process joins once; keepers become children of this one. */
#define _GNU_SOURCE
#include "host/join.h"

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
#include "dimmnet.h"
#include "host/group.h"
#include "host/keeper.h"
#include "unit/refuse_call.h"
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
    int group_fd;
    char sentence[HOST_SENTENCE_BYTES] = "";
    int got = host_join(job, &terms, &group_fd, sentence);
    if (got != error || !strstr(sentence, because)) {
        (void)fprintf(stderr, "%d: %s\n", got, sentence);
        return 1;
    }
    return 0;
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void allow_files(int count)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = (rlim_t)count;
    (void)setrlimit(RLIMIT_NOFILE, &files);
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
        _exit(join_and_expect(&job, 60000, DN_EPEER, "the job's keeper has ended"));
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

/* In a child: rank 1 with only so many descriptors free. They are free again afterwards. */
static int fail_for_descriptors(const struct host_job *job, int free)
{
    int lowest = dup(0);
    if (lowest < 0) {
        return 2;
    }
    (void)close(lowest);
    for (int fd = lowest + free; fd < lowest + 8; fd++) {
        (void)close(fd); /* whoever starts this test may have left some open */
    }
    unsigned before = open_files();
    allow_files(lowest + free);
    int wrong = join_and_expect(job, 60000, DN_ESYSTEM, "Too many open files");
    return wrong ? wrong : open_files() != before;
}

static void a_rank_that_has_too_few_descriptors_keeps_none(void **state)
{
    static const char *const names[] = {"free 0", "free 1", "free 2"};
    (void)state;
    for (int free = 0; free < 3; free++) {
        struct host_job jobs[] = {job_of(names[free], 0), job_of(names[free], 1)};
        pid_t ranks[2];
        for (int rank = 0; rank < 2; rank++) {
            ranks[rank] = fork();
            if (ranks[rank] == 0) {
                /* Rank 1 does not come if it has no descriptor at all. */
                struct host_join_terms terms = {.sizes = &sizes,
                                                .patience_ms = free == 0 ? 2000 : 60000};
                char sentence[HOST_SENTENCE_BYTES];
                int fd;
                _exit(rank == 1 ? fail_for_descriptors(&jobs[1], free)
                                : host_join(&jobs[0], &terms, &fd, sentence) == DN_EGROUP);
            }
        }
        assert_int_equal(status_of(ranks[1]), 0);
        assert_int_equal(status_of(ranks[0]), 0);
        while (waitpid(-1, NULL, 0) > 0) {
        }
    }
}

static void a_process_joins_once(void **state)
{
    struct host_job job = job_of("once", 1);
    (void)state;
    pid_t rank = fork();
    if (rank == 0) {
        int wrong = join_and_expect(&job, 1, DN_ETIMEOUT, "rank 0 has not come, or gave up");
        _exit(wrong ? wrong : join_and_expect(&job, 1, DN_EGROUP, "or tried to"));
    }
    assert_int_equal(status_of(rank), 0);
}

/* In a child: either rank of a job whose keeper may not make the group's memory. */
static int fail_to_make(const struct host_job *job)
{
    if (job->rank == 0 && !unit_refuse_call(SYS_memfd_create, EPERM)) {
        return UNIT_SKIPS;
    }
    int wrong = join_and_expect(job, 10000, DN_ESYSTEM,
                                "cannot make the group's memory: Operation not permitted");
    return wrong ? wrong : errno != EPERM;
}

static void ranks_learn_why_the_system_refused(void **state)
{
    pid_t ranks[2];
    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct host_job job = job_of("refused", rank);
        ranks[rank] = fork();
        if (ranks[rank] == 0) {
            _exit(fail_to_make(&job));
        }
    }
    int status = status_of(ranks[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNIT_SKIPS) {
        (void)kill(ranks[1], SIGKILL);
        (void)status_of(ranks[1]);
        skip(); /* an emulator */
    }
    assert_int_equal(status, 0);
    assert_int_equal(status_of(ranks[1]), 0);
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

/* A listening socket of the job's name, as a keeper has. */
static int listen_as_keeper(const struct host_job *job)
{
    struct sockaddr_un address;
    socklen_t length = keeper_address(job, &address);
    int listener = keeper_socket();
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    return listener;
}

static void expect_input(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&look, 1, (int)(UNIT_PATIENCE_NS / UNIT_MS)), 1);
}

/* Answers whoever comes to it next. */
static void answer_as_keeper(int listener, const struct keeper_answer *answer)
{
    struct keeper_hello hello;
    expect_input(listener);
    int fd = accept(listener, NULL, NULL);
    expect_input(fd);
    assert_int_equal(recv(fd, &hello, sizeof hello, 0), sizeof hello);
    assert_int_equal(send(fd, answer, sizeof *answer, MSG_NOSIGNAL), sizeof *answer);
    (void)close(fd);
}

static void a_keeper_must_know_its_errors(void **state)
{
    static const uint32_t numbers[] = {0, 1000, UINT32_C(1) << 31, UINT32_MAX};
    struct host_job job = job_of("language", 1);
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct keeper_answer answer = {.word = KEEPER_FAILED, .number = numbers[i]};
        int listener = listen_as_keeper(&job);
        pid_t rank = fork();
        if (rank == 0) {
            _exit(join_and_expect(&job, 10000, DN_EGROUP, "speaks another language"));
        }
        answer_as_keeper(listener, &answer);
        (void)close(listener);
        assert_int_equal(status_of(rank), 0);
    }
}

/* As many wait as there is room for, and nobody hears them. */
static void a_rank_says_that_too_many_wait(void **state)
{
    struct host_job job = job_of("busy", 1);
    struct sockaddr_un address;
    socklen_t length = keeper_address(&job, &address);
    int listener = listen_as_keeper(&job);
    int waiting[16];
    size_t count = 0;
    (void)state;
    do {
        assert_true(count < sizeof waiting / sizeof waiting[0]);
        waiting[count] = keeper_socket();
    } while (connect(waiting[count++], (struct sockaddr *)&address, length) == 0);
    pid_t rank = fork();
    if (rank == 0) {
        _exit(join_and_expect(&job, 1, DN_ETIMEOUT, "more callers than it can hear"));
    }
    assert_int_equal(status_of(rank), 0);
    while (count > 0) {
        (void)close(waiting[--count]);
    }
    (void)close(listener);
}

/* ---- Whole attaches ---------------------------------------------------------------------- */

static void be_rank(const char *name, int rank)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%d", rank);
    (void)setenv("OMPI_COMM_WORLD_RANK", text, 1);
    (void)setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    (void)setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    (void)snprintf(text, sizeof text, "%s %d", name, (int)getppid());
    (void)setenv("PMIX_NAMESPACE", text, 1);
}

static int attach_and_leave(unsigned files)
{
    struct dn_node *node;
    int error = dn_attach(&node, NULL);
    error = error ? error : dn_barrier(dn_team_all(node), DN_FOREVER);
    error = error ? error : dn_detach(node);
    return error ? -error : open_files() != files;
}

/* Has not enough addresses for the group, which needs more than this. */
static int fail_to_map(unsigned files)
{
    const struct rlimit addresses = {UINT64_C(2) << 30, UINT64_C(2) << 30};
    struct dn_node *node;
    (void)setrlimit(RLIMIT_AS, &addresses);
    int error = dn_attach(&node, NULL);
    return error != DN_ENOMEM ? -error : open_files() != files;
}

/* Gives how each has ended. */
static void run_ranks(const char *name, int (*of_0)(unsigned), int (*of_1)(unsigned), int ended[2])
{
    pid_t ranks[2];
    for (int rank = 0; rank < 2; rank++) {
        ranks[rank] = fork();
        if (ranks[rank] == 0) {
            be_rank(name, rank);
            _exit((rank == 0 ? of_0 : of_1)(open_files()));
        }
    }
    for (int rank = 0; rank < 2; rank++) {
        ended[rank] = status_of(ranks[rank]);
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

static void expect_of_ranks(const char *name, int (*of_0)(unsigned), int (*of_1)(unsigned))
{
    int ended[2];
    run_ranks(name, of_0, of_1, ended);
    assert_int_equal(ended[0], 0);
    assert_int_equal(ended[1], 0);
}

static void a_rank_that_has_left_keeps_no_file(void **state)
{
    (void)state;
    expect_of_ranks("left", attach_and_leave, attach_and_leave);
}

static void a_rank_that_cannot_map_the_group_keeps_no_file(void **state)
{
    int ended[2];
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it needs addresses, too */
#endif
    /* Rank 0 meets a death, and is ended because of it unless it is quick. */
    run_ranks("unmapped", attach_and_leave, fail_to_map, ended);
    assert_int_equal(ended[1], 0);
}

static int fork_and_leave(unsigned files)
{
    struct dn_node *node;
    int status = 0;
    int error = dn_attach(&node, NULL);
    pid_t child = error ? -1 : fork();
    if (child == 0) {
        _exit(open_files() != files);
    }
    bool ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    error = error ? error : dn_detach(node);
    return error ? -error : !ended;
}

static void a_forked_child_keeps_no_file(void **state)
{
    (void)state;
    expect_of_ranks("forked", fork_and_leave, fork_and_leave);
}

/* ---- Being ended ------------------------------------------------------------------------- */

/* Attaches and meets the other one. */
static struct dn_node *come_in(void)
{
    struct dn_node *node;
    (void)alarm(60); /* should the test fail */
    if (dn_attach(&node, NULL) != 0 || dn_barrier(dn_team_all(node), DN_FOREVER) != 0) {
        _exit(3);
    }
    return node;
}

static int stay(unsigned files)
{
    (void)files;
    (void)come_in();
    return pause();
}

static int end_without_leaving(unsigned files)
{
    (void)files;
    (void)come_in();
    return 0;
}

/* Where this process has mapped the group's memory. */
static void *find_group(void)
{
    char line[256];
    uintptr_t start = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (start == 0 && maps && fgets(line, sizeof line, maps)) {
        start = strstr(line, "/memfd:dimmnet ") ? strtoul(line, NULL, 16) : 0;
    }
    return (void *)start; /* NOLINT: an address that was text */
}

static int spoil(unsigned files)
{
    (void)files;
    (void)come_in();
    *(uint64_t *)find_group() = 0; /* a word that says what it is */
    host_tell_launcher();
    return pause();
}

static int want_the_end(unsigned files)
{
    (void)files;
    (void)come_in();
    (void)host_group_want_end(find_group(), 17);
    host_tell_launcher();
    return 17;
}

/* Both ranks' words until they have ended; *of_0 is how rank 0 has. */
static void run_to_the_end(const char *name, int (*rank_0)(unsigned), int (*rank_1)(unsigned),
                           int *of_0, char said[1024])
{
    int words[2];
    pid_t ranks[2];
    assert_int_equal(pipe(words), 0);
    for (int rank = 0; rank < 2; rank++) {
        ranks[rank] = fork();
        if (ranks[rank] == 0) {
            (void)dup2(words[1], STDERR_FILENO);
            be_rank(name, rank);
            _exit((rank == 0 ? rank_0 : rank_1)(0));
        }
    }
    (void)close(words[1]);
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0) {
        got = read(words[0], said + length, 1023 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    said[length] = '\0';
    (void)close(words[0]);
    *of_0 = status_of(ranks[0]);
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

static void a_rank_that_is_ended_says_why(void **state)
{
    char said[1024];
    int status;
    (void)state;
    run_to_the_end("ended", stay, end_without_leaving, &status, said);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_string_equal(said,
                        "dimmnet: rank 1 has ended without leaving the group: this process ends\n");
    run_to_the_end("spoilt", stay, spoil, &status, said);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(said, "dimmnet: a rank has overwritten the group's own words: "));
}

static void an_end_that_a_rank_wants_needs_no_words(void **state)
{
    char said[1024];
    int status;
    (void)state;
    run_to_the_end("wanted", stay, want_the_end, &status, said);
    assert_int_equal(WEXITSTATUS(status), 17);
    assert_string_equal(said, "");
}

static void save(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, "saved\n", 6);
}

/* Handles SIGTERM, and does not end by it. */
static int save_and_stay(unsigned files)
{
    const struct sigaction action = {.sa_handler = save};
    (void)files;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)come_in();
    while (pause() < 0) {
    }
    return 0;
}

/* Several times, as a busy machine may not give the handler a core in time, nor the process before
 * it is killed. */
static void a_rank_that_is_ended_may_save_its_state(void **state)
{
    bool has_saved = false;
    (void)state;
    for (int round = 0; round < 5 && !has_saved; round++) {
        char said[1024];
        char name[32];
        int status;
        (void)snprintf(name, sizeof name, "saved %d", round);
        run_to_the_end(name, save_and_stay, end_without_leaving, &status, said);
        has_saved = WIFEXITED(status) && strstr(said, "saved\n");
        assert_true(!has_saved || WEXITSTATUS(status) == 1);
    }
    assert_true(has_saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_learns_that_the_keeper_was_killed),
        cmocka_unit_test(a_rank_that_has_too_few_descriptors_keeps_none),
        cmocka_unit_test(a_process_joins_once),
        cmocka_unit_test(ranks_learn_why_the_system_refused),
        cmocka_unit_test(a_keeper_must_know_its_errors),
        cmocka_unit_test(a_rank_says_that_too_many_wait),
        cmocka_unit_test(a_rank_that_has_left_keeps_no_file),
        cmocka_unit_test(a_forked_child_keeps_no_file),
        cmocka_unit_test(a_rank_that_cannot_map_the_group_keeps_no_file),
        cmocka_unit_test(a_rank_that_is_ended_says_why),
        cmocka_unit_test(an_end_that_a_rank_wants_needs_no_words),
        cmocka_unit_test(a_rank_that_is_ended_may_save_its_state),
    };
    return cmocka_run_group_tests(tests, adopt_keepers, NULL);
}
