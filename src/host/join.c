/* Coming to the keeper, and hearing it. */
#define _GNU_SOURCE
#include "host/join.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/uncancelled.h"
#include "fabric/fabric.h"
#include "host/clock.h"
#include "host/group.h"
#include "host/keeper.h"

#define NS_PER_MS UINT64_C(1000000)
#define NAP_NS (5 * NS_PER_MS)
/* The keeper's answer to the time-out is on its way. */
#define ANSWER_NS (10000 * NS_PER_MS)
/* For the program's handler of SIGTERM; the keeper kills after 2 s. */
#define SAVING_NS (1000 * NS_PER_MS)

enum { STATUS_OF_FAILURE = 1 };

/* Guarded by the caller's lock. */
static bool has_come;
static int connection = -1;
static int notice = -1; /* the launcher's event, while there is a connection */
static pthread_t listener;
/* For the thread: what it does not hear any more is no loss. */
static _Atomic bool is_heard;

/* What a node of `dimmnet run` inherits. */
struct received {
    int group_fd;
    int notice;
};

/* One try to join. */
struct attempt {
    const struct host_job *job;
    const struct host_join_terms *terms;
    uint64_t deadline_ns;
    char *sentence;
};

static __attribute__((format(printf, 3, 4))) int refuse(const struct attempt *attempt, int error,
                                                        const char *format, ...)
{
    va_list arguments;
    int saved = errno;
    va_start(arguments, format);
    (void)vsnprintf(attempt->sentence, HOST_SENTENCE_BYTES, format, arguments);
    va_end(arguments);
    errno = saved;
    return error;
}

static int refuse_for_system(const struct attempt *attempt, const char *what)
{
    return refuse(attempt, DN_ESYSTEM, "%s: %s", what, strerror(errno));
}

static int refuse_for_language(const struct attempt *attempt)
{
    return refuse(attempt, DN_EGROUP, "the job's keeper speaks another language");
}

/* The keeper could not make the group. Only it knows errno, which this process gets as if it had
 * failed itself. */
static int refuse_for_failure(const struct attempt *attempt, const struct keeper_answer *answer)
{
    int error = answer->number > 0 && answer->number <= INT_MAX ? -(int)answer->number : 1;
    if (!base_error_is_known(error)) {
        return refuse_for_language(attempt);
    }
    errno = (int)answer->system_error;
    if (error == DN_ESYSTEM) {
        return refuse_for_system(attempt, "cannot make the group's memory");
    }
    return refuse(attempt, error, "cannot make the group's memory: %s", dn_strerror(error));
}

static int refuse_for_absence(const struct attempt *attempt, uint32_t rank)
{
    return refuse(attempt, DN_ETIMEOUT,
                  "rank %u of %u has not come within %g s: every process of the job must come "
                  "(DN_JOIN_TIMEOUT_MS)",
                  rank, attempt->job->size, (double)attempt->terms->patience_ms / 1e3);
}

/* A rank that comes when the gathering is over cannot tell whether there has been one. */
static int refuse_for_solitude(const struct attempt *attempt, int last_error)
{
    const char *why = last_error == DN_EBUSY
                          ? "the job's keeper has more callers than it can hear"
                          : "rank 0 has not come, or gave up before this process came";
    return refuse(attempt, DN_ETIMEOUT,
                  "the ranks of the job have not met within %g s: %s (DN_JOIN_TIMEOUT_MS)",
                  (double)attempt->terms->patience_ms / 1e3, why);
}

/* ---- Coming -------------------------------------------------------------------------------- */

/* 0; DN_EBUSY: the keeper has no room yet; DN_ESTATE: it is not there. */
static int knock(const struct attempt *attempt, int fd)
{
    struct sockaddr_un address;
    socklen_t length = keeper_address(attempt->job, &address);
    pid_t keeper;
    if (connect(fd, (struct sockaddr *)&address, length) != 0) {
        switch (errno) {
        case EAGAIN:
        case EINTR: return DN_EBUSY;
        case ECONNREFUSED: return DN_ESTATE;
        default: return refuse_for_system(attempt, "cannot reach the other ranks");
        }
    }
    if (!keeper_peer_is_ours(fd, &keeper)) {
        return refuse(attempt, DN_EGROUP, "a process of another user has taken the job's name");
    }
    struct keeper_hello hello = {
        .magic = KEEPER_MAGIC,
        .layout_version = GROUP_LAYOUT_VERSION,
        .rank = attempt->job->rank,
        .size = attempt->job->size,
    };
    uint64_t now_ns = fabric_now_ns();
    hello.patience_ns = attempt->deadline_ns > now_ns ? attempt->deadline_ns - now_ns : 0;
    (void)sched_getaffinity(0, sizeof hello.cores, &hello.cores);
    return send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello ? 0 : DN_ESTATE;
}

/* What the kernel put beside an answer: both descriptors, or one if there was room for no more. */
static void take_descriptors(struct msghdr *message, struct received *received)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int descriptors[2];
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
        return;
    }
    if (head->cmsg_len == CMSG_LEN(sizeof descriptors)) {
        memcpy(descriptors, CMSG_DATA(head), sizeof descriptors);
        *received = (struct received){.group_fd = descriptors[0], .notice = descriptors[1]};
    } else if (head->cmsg_len == CMSG_LEN(sizeof descriptors[0])) {
        memcpy(descriptors, CMSG_DATA(head), sizeof descriptors[0]);
        (void)close(descriptors[0]);
    }
}

/* 0: there is an answer; DN_ESTATE: the keeper was another program's, which has ended. */
static int hear_answer(const struct attempt *attempt, int fd, struct keeper_answer *answer,
                       struct received *received)
{
    struct iovec bytes = {answer, sizeof *answer};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    uint64_t until_ns = host_deadline_ns(attempt->deadline_ns, ANSWER_NS);
    for (;;) {
        struct msghdr message = {.msg_iov = &bytes,
                                 .msg_iovlen = 1,
                                 .msg_control = control.room,
                                 .msg_controllen = sizeof control.room};
        ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got == (ssize_t)sizeof *answer) {
            take_descriptors(&message, received);
            return 0;
        }
        if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
            return DN_ESTATE;
        }
        uint64_t now_ns = fabric_now_ns();
        if (now_ns >= until_ns) {
            return refuse(attempt, DN_ETIMEOUT, "the job's keeper does not answer");
        }
        uint64_t left_ms = (until_ns - now_ns) / NS_PER_MS + 1;
        struct pollfd look = {.fd = fd, .events = POLLIN};
        (void)poll(&look, 1, left_ms < 1000 ? (int)left_ms : 1000);
    }
}

static int judge(const struct attempt *attempt, const struct keeper_answer *answer,
                 const struct received *received)
{
    switch ((enum keeper_word)answer->word) {
    case KEEPER_WELCOME:
        if (received->group_fd >= 0) {
            return 0;
        }
        errno = EMFILE; /* the kernel had no descriptor for what was sent */
        return refuse_for_system(attempt, "cannot take the group's memory");
    case KEEPER_MISSING: return refuse_for_absence(attempt, answer->number);
    case KEEPER_LOST:
        return refuse(attempt, DN_EPEER, "rank %u ended or gave up before all ranks had come",
                      answer->number);
    case KEEPER_TAKEN:
        return refuse(attempt, DN_EGROUP, "another process of the job has come as rank %u",
                      attempt->job->rank);
    case KEEPER_OTHER:
        return refuse(attempt, DN_EVERSION, "rank 0 has another version of the library");
    case KEEPER_FAILED: return refuse_for_failure(attempt, answer);
    case KEEPER_END:
    case KEEPER_END_DEATH:
    case KEEPER_END_SPOILT: break;
    }
    return refuse_for_language(attempt);
}

/* Comes to the keeper, however long that takes to be there; gives the socket in *fd. */
static int meet(const struct attempt *attempt, int *fd, struct received *received)
{
    for (;;) {
        struct keeper_answer answer;
        *received = (struct received){-1, -1};
        *fd = keeper_socket();
        if (*fd < 0) {
            return refuse_for_system(attempt, "cannot make a socket");
        }
        int error = knock(attempt, *fd);
        error = error ? error : hear_answer(attempt, *fd, &answer, received);
        if (error == DN_ESTATE && attempt->job->rank == 0) {
            /* There will be no other one: this rank has started it. */
            error = refuse(attempt, DN_EPEER,
                           "the job's keeper has ended before all ranks had come");
        }
        if (error != DN_ESTATE && error != DN_EBUSY) {
            error = error ? error : judge(attempt, &answer, received);
            if (error) {
                (void)close(*fd);
            }
            return error;
        }
        (void)close(*fd);
        if (fabric_now_ns() >= attempt->deadline_ns) {
            return refuse_for_solitude(attempt, error);
        }
        base_nap_ns(NAP_NS);
    }
}

/* ---- Hearing ------------------------------------------------------------------------------- */

/* As `dimmnet run` does, which sends SIGTERM first: a program may save its state then. The signal
 * is for the program's threads, as this one blocks all. */
static void let_program_end(void)
{
    struct sigaction action;
    if (sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN && kill(getpid(), SIGTERM) == 0) {
        uint64_t until_ns = fabric_now_ns() + SAVING_NS;
        while (fabric_now_ns() < until_ns) {
            base_nap_ns(NAP_NS);
        }
    }
}

/* Ends the process, and says why if the program has not asked for it. This is the last thing that
 * happens here, so it goes round stdio, whose locks the program's threads may hold. */
static __attribute__((noreturn, format(printf, 2, 3))) void end_process(int status,
                                                                        const char *format, ...)
{
    char line[HOST_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0) {
        ssize_t written = write(STDERR_FILENO, line, (size_t)length);
        (void)written;
    }
    let_program_end();
    _exit(status);
}

static void obey(const struct keeper_answer *answer)
{
    switch ((enum keeper_word)answer->word) {
    case KEEPER_END: end_process((int)answer->number, "%s", "");
    case KEEPER_END_DEATH:
        end_process(STATUS_OF_FAILURE,
                    "dimmnet: rank %u has ended without leaving the group: this process ends\n",
                    answer->number);
    case KEEPER_END_SPOILT:
        end_process(STATUS_OF_FAILURE, "dimmnet: a rank has overwritten the group's own words: "
                                       "this process ends\n");
    case KEEPER_WELCOME:
    case KEEPER_MISSING:
    case KEEPER_LOST:
    case KEEPER_TAKEN:
    case KEEPER_OTHER:
    case KEEPER_FAILED: break; /* they belong to the gathering */
    }
}

/* Ends the process when the keeper says so, or is gone: then nobody would notice deaths any more.
 * A thread does that because the program may be computing, and because only the process itself can
 * give its launcher the status that the job is to have. */
static void *hear(void *context)
{
    int fd = (int)(intptr_t)context;
    struct keeper_answer answer;
    for (;;) {
        struct pollfd look = {.fd = fd, .events = POLLIN};
        (void)poll(&look, 1, -1);
        ssize_t got = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof answer) {
            obey(&answer);
        }
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            break;
        }
    }
    /* host_join_end shuts this side down, which looks the same. */
    if (atomic_load(&is_heard)) {
        end_process(STATUS_OF_FAILURE, "dimmnet: the job's keeper was killed: this process ends\n");
    }
    return NULL;
}

static int start_to_hear(const struct attempt *attempt, int fd)
{
    atomic_store(&is_heard, true);
    int error = fabric_thread_start(&listener, hear, (void *)(intptr_t)fd,
                                    attempt->terms->stop_signal);
    if (error) {
        atomic_store(&is_heard, false);
        return refuse(attempt, error, "cannot start a thread that listens to the job's keeper");
    }
    connection = fd;
    return 0;
}

int host_join(const struct host_job *job, const struct host_join_terms *terms, int *group_fd,
              char sentence[HOST_SENTENCE_BYTES])
{
    struct attempt attempt = {
        .job = job,
        .terms = terms,
        .deadline_ns = host_deadline_ns(fabric_now_ns(), terms->patience_ms * NS_PER_MS),
        .sentence = sentence,
    };
    if (has_come) {
        return refuse(&attempt, DN_EGROUP,
                      "this process has joined its job's group before, or tried to: a process "
                      "joins once");
    }
    has_come = true;
    int error = job->rank == 0 ? keeper_start(job, terms->sizes) : 0;
    if (error == DN_EGROUP) {
        return refuse(&attempt, error, "another process has taken the job's name");
    }
    if (error) {
        return refuse_for_system(&attempt, "cannot start the job's keeper");
    }
    int fd;
    struct received received;
    error = meet(&attempt, &fd, &received);
    if (error) {
        return error;
    }
    error = start_to_hear(&attempt, fd);
    if (error) {
        (void)close(fd);
        (void)close(received.group_fd);
        (void)close(received.notice);
        return error;
    }
    notice = received.notice;
    host_notify_by(notice);
    *group_fd = received.group_fd;
    return 0;
}

static void close_all(void)
{
    if (connection >= 0) {
        host_notify_by(-1);
        (void)close(notice);
        (void)close(connection);
        connection = -1;
    }
}

void host_join_end(void)
{
    if (connection >= 0) {
        atomic_store(&is_heard, false);
        (void)shutdown(connection, SHUT_RDWR);
        (void)pthread_join(listener, NULL);
        close_all();
    }
}

void host_join_forget(void)
{
    close_all();
    atomic_store(&is_heard, false);
}
