/* The keeper's life.
 *
 * It is forked from a program that may have threads, so it calls nothing that takes a lock: no
 * allocation but by the kernel, no stdio. */
#define _GNU_SOURCE
#include "host/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group/life.h"
#include "host/clock.h"
#include "host/close_files.h"
#include "host/group.h"
#include "host/pidfd.h"

#define NS_PER_MS UINT64_C(1000000)

/* As long as `dimmnet run` waits, but that a node is told to end before it is killed. */
#define GRACE_NS (200 * NS_PER_MS)
#define WANTED_NS (2000 * NS_PER_MS)
#define ENDING_NS (2000 * NS_PER_MS)

enum {
    STRANGERS_MAX = 64, /* connections that have not said who they are; others queue */
    FILES_OF_OUR_OWN = STRANGERS_MAX + 16,
};

enum phase { GATHERING, RUNNING, GRACE, ENDING, KILLING };

/* A rank. ABSENT -> PRESENT -> GONE. */
struct member {
    enum { ABSENT, PRESENT, GONE } state;
    int process;    /* its pidfd, from PRESENT on */
    int connection; /* its socket */
};

struct keeper {
    uint32_t size;
    struct group_sizes sizes;
    int listener;
    int starter; /* rank 0's process: if it ends before it comes, perhaps nobody comes */
    int notice;  /* the event by which nodes make us look at the group's words */
    struct host_group group;

    enum phase phase;
    uint64_t deadline_ns;  /* of the phase */
    enum keeper_word end;  /* by which the nodes are to end, from GRACE on */
    uint32_t end_number;   /* goes with it */
    uint32_t system_error; /* errno when the group could not be made */
    uint32_t present_count;
    cpu_set_t cores; /* of all that have come */

    struct member *members;
    uint32_t stranger_count;
    int strangers[STRANGERS_MAX];
    struct pollfd *polls;
};

/* ---- The socket ---------------------------------------------------------------------------- */

unsigned keeper_address(const struct host_job *job, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(job->name);
    _Static_assert(HOST_JOB_NAME_BYTES < sizeof address->sun_path, "the name has its room");
    memcpy(address->sun_path + 1, job->name, length); /* the first byte is 0: no file */
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int keeper_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool keeper_peer_is_ours(int fd, pid_t *process)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    *process = known ? peer.pid : 0;
    return known && peer.uid == geteuid();
}

/* Sends an answer, with the group's descriptors if it is a welcome. A rank that does not take it
 * has ended, or is about to notice that we have. */
static bool tell(const struct keeper *keeper, int connection, enum keeper_word word,
                 uint32_t number)
{
    struct keeper_answer answer = {
        .word = word,
        .number = number,
        .system_error = word == KEEPER_FAILED ? keeper->system_error : 0,
    };
    struct iovec bytes = {&answer, sizeof answer};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (word == KEEPER_WELCOME) {
        const int descriptors[2] = {keeper->group.fd, keeper->notice};
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof descriptors),
                                        .cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), descriptors, sizeof descriptors);
    }
    return connection >= 0 && sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

/* ---- Gathering ----------------------------------------------------------------------------- */

/* The group will not come to be: all who wait learn why. */
_Noreturn static void give_up(const struct keeper *keeper, enum keeper_word word, uint32_t number)
{
    /* Before anybody hears it and ends, and another program of the same job begins. */
    (void)close(keeper->listener);
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        if (keeper->members[rank].state == PRESENT) {
            (void)tell(keeper, keeper->members[rank].connection, word, number);
        }
    }
    _exit(1);
}

static void give_up_for_absence(const struct keeper *keeper)
{
    uint32_t rank = 0;
    while (keeper->members[rank].state != ABSENT) {
        rank++;
    }
    give_up(keeper, KEEPER_MISSING, rank);
}

/* Everybody is there. */
static void make_group(struct keeper *keeper)
{
    /* A machine with more cores than the set has room for does not tell which are a process's. */
    int cores = CPU_COUNT(&keeper->cores);
    int error = host_group_create(keeper->size, &keeper->sizes,
                                  cores > 0 ? (uint32_t)cores : (uint32_t)host_core_count(),
                                  HOST_NO_RANK, &keeper->group);
    if (!error) {
        keeper->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        error = keeper->notice < 0 ? DN_ESYSTEM : 0;
    }
    if (error) {
        keeper->system_error = (uint32_t)errno;
        give_up(keeper, KEEPER_FAILED, (uint32_t)-error);
    }
    /* Before anybody may end, and another program of the same job begin. */
    (void)close(keeper->listener);
    (void)close(keeper->starter);
    for (uint32_t i = 0; i < keeper->stranger_count; i++) {
        (void)close(keeper->strangers[i]);
    }
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        (void)tell(keeper, keeper->members[rank].connection, KEEPER_WELCOME, keeper->size);
    }
    keeper->phase = RUNNING;
    keeper->deadline_ns = UINT64_MAX;
}

/* What is wrong with a hello; 0: nothing. */
static enum keeper_word fault_of(const struct keeper *keeper, const struct keeper_hello *hello)
{
    if (hello->layout_version != GROUP_LAYOUT_VERSION) {
        return KEEPER_OTHER;
    }
    bool fits = hello->size == keeper->size && hello->rank < keeper->size &&
                keeper->members[hello->rank].state == ABSENT;
    return fits ? 0 : KEEPER_TAKEN;
}

static bool has_hung_up(int connection)
{
    struct pollfd look = {.fd = connection, .events = POLLRDHUP};
    return poll(&look, 1, 0) != 0;
}

/* Reads who has connected. False: nothing has come yet; else it is a member now, or hung up. */
static bool introduce(struct keeper *keeper, int connection)
{
    struct keeper_hello hello;
    pid_t process;
    ssize_t got = recv(connection, &hello, sizeof hello, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    bool knows = got == sizeof hello && hello.magic == KEEPER_MAGIC;
    enum keeper_word fault = knows ? fault_of(keeper, &hello) : KEEPER_TAKEN;
    if (!knows || fault || !keeper_peer_is_ours(connection, &process)) {
        (void)tell(keeper, connection, fault, knows ? hello.rank : 0);
        (void)close(connection);
        return true;
    }
    struct member *member = &keeper->members[hello.rank];
    *member = (struct member){
        .state = PRESENT, .process = host_pidfd_of(process), .connection = connection};
    /* In this order: should the process have ended, and another one have its number now, then its
     * connection has hung up. */
    if (member->process < 0 || has_hung_up(connection)) {
        give_up(keeper, KEEPER_LOST, hello.rank);
    }
    CPU_OR(&keeper->cores, &keeper->cores, &hello.cores);
    uint64_t deadline_ns = host_deadline_ns(fabric_now_ns(), hello.patience_ns);
    keeper->deadline_ns = deadline_ns < keeper->deadline_ns ? deadline_ns : keeper->deadline_ns;
    keeper->present_count++;
    return true;
}

static void take_stranger(struct keeper *keeper)
{
    pid_t process;
    int connection = accept4(keeper->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
        return;
    }
    if (!keeper_peer_is_ours(connection, &process)) {
        (void)close(connection);
    } else if (!introduce(keeper, connection)) {
        keeper->strangers[keeper->stranger_count++] = connection;
    }
}

static struct pollfd poll_for(int fd)
{
    return (struct pollfd){.fd = fd, .events = POLLIN | POLLRDHUP};
}

static int timeout_ms(const struct keeper *keeper)
{
    if (keeper->deadline_ns == UINT64_MAX) {
        return -1;
    }
    uint64_t now_ns = fabric_now_ns();
    uint64_t left_ms = keeper->deadline_ns <= now_ns
                           ? 0
                           : (keeper->deadline_ns - now_ns) / NS_PER_MS + 1;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Whoever has come waits for an answer, and says nothing more. */
static void gather(struct keeper *keeper)
{
    struct pollfd *polls = keeper->polls;
    uint32_t strangers = keeper->stranger_count;
    polls[0] = poll_for(strangers < STRANGERS_MAX ? keeper->listener : -1);
    polls[1] = poll_for(keeper->starter);
    struct pollfd *of_strangers = polls + 2;
    for (uint32_t i = 0; i < strangers; i++) {
        of_strangers[i] = poll_for(keeper->strangers[i]);
    }
    struct pollfd *of_members = of_strangers + strangers;
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        bool is_there = keeper->members[rank].state == PRESENT;
        of_members[2 * rank] = poll_for(is_there ? keeper->members[rank].connection : -1);
        of_members[2 * rank + 1] = poll_for(is_there ? keeper->members[rank].process : -1);
    }
    (void)poll(polls, 2 + strangers + 2 * (nfds_t)keeper->size, timeout_ms(keeper));
    if (polls[1].revents) {
        give_up(keeper, KEEPER_LOST, 0);
    }
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        if (of_members[2 * rank].revents || of_members[2 * rank + 1].revents) {
            give_up(keeper, KEEPER_LOST, rank);
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < strangers; i++) {
        if (!of_strangers[i].revents || !introduce(keeper, keeper->strangers[i])) {
            keeper->strangers[kept++] = keeper->strangers[i];
        }
    }
    keeper->stranger_count = kept;
    if (polls[0].revents) {
        take_stranger(keeper);
    }
    if (keeper->present_count == keeper->size) {
        make_group(keeper);
    } else if (fabric_now_ns() >= keeper->deadline_ns) {
        give_up_for_absence(keeper);
    }
}

/* ---- The group runs, and ends -------------------------------------------------------------- */

static void enter(struct keeper *keeper, enum phase phase, uint64_t duration_ns)
{
    keeper->phase = phase;
    keeper->deadline_ns = host_deadline_ns(fabric_now_ns(), duration_ns);
}

/* Tells all that are left to end. One that has left the group has hung up, and gets a signal. */
static void end_all(struct keeper *keeper)
{
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        struct member *member = &keeper->members[rank];
        if (member->state == PRESENT &&
            !tell(keeper, member->connection, keeper->end, keeper->end_number)) {
            (void)host_pidfd_kill(member->process, SIGTERM);
        }
    }
    enter(keeper, ENDING, ENDING_NS);
}

static void kill_all(struct keeper *keeper)
{
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        if (keeper->members[rank].state == PRESENT) {
            (void)host_pidfd_kill(keeper->members[rank].process, SIGKILL);
        }
    }
    enter(keeper, KILLING, UINT64_MAX);
}

/* The first reason to end is the one that all are told. */
static void begin_end(struct keeper *keeper, enum keeper_word word, uint32_t number)
{
    if (keeper->phase == RUNNING) {
        keeper->end = word;
        keeper->end_number = number;
        enter(keeper, GRACE, word == KEEPER_END ? WANTED_NS : GRACE_NS);
    }
}

/* A node wants the end, or one has overwritten the group's own words and may have overwritten
 * anything. */
static bool look_at_words(struct keeper *keeper)
{
    int status;
    if (!host_group_is_whole(&keeper->group)) {
        begin_end(keeper, KEEPER_END_SPOILT, 0);
        return true;
    }
    if (host_group_end_is_wanted(keeper->group.group, &status)) {
        begin_end(keeper, KEEPER_END, (uint32_t)status);
        return true;
    }
    return false;
}

/* A rank's process has ended. How, only its launcher knows: one that was at rest has left. */
static void on_end(struct keeper *keeper, uint32_t rank)
{
    struct member *member = &keeper->members[rank];
    bool wanted = look_at_words(keeper);
    bool well = host_group_life(&keeper->group, rank) != DN_STARTING;
    bool death = host_group_node_ended(&keeper->group, rank, well);
    member->state = GONE;
    (void)close(member->process);
    (void)close(member->connection);
    keeper->present_count--;
    if (wanted && keeper->phase == GRACE) {
        end_all(keeper);
    } else if (death && !host_group_goes_on(keeper->group.group)) {
        begin_end(keeper, KEEPER_END_DEATH, rank);
    }
}

static void watch(struct keeper *keeper)
{
    struct pollfd *polls = keeper->polls;
    polls[0] = poll_for(keeper->notice);
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        const struct member *member = &keeper->members[rank];
        polls[1 + rank] = poll_for(member->state == PRESENT ? member->process : -1);
    }
    (void)poll(polls, 1 + (nfds_t)keeper->size, timeout_ms(keeper));
    for (uint32_t rank = 0; rank < keeper->size; rank++) {
        if (polls[1 + rank].revents) {
            on_end(keeper, rank);
        }
    }
    if (polls[0].revents) {
        host_clear_notice(keeper->notice);
        (void)look_at_words(keeper);
    }
    if (fabric_now_ns() >= keeper->deadline_ns) {
        if (keeper->phase == GRACE) {
            end_all(keeper);
        } else {
            kill_all(keeper);
        }
    }
}

/* ---- Beginning and end --------------------------------------------------------------------- */

/* Keeps nothing else of the program's open: whoever waits for the end of a pipe must not wait for
 * this process. Closes before it opens, as the program may have no descriptor left. */
static void keep_only(int one, int other)
{
    unsigned low = (unsigned)(one < other ? one : other);
    unsigned high = (unsigned)(one < other ? other : one);
    if (low > 0) {
        host_close_files(0, low - 1);
    }
    host_close_files(low + 1, high - 1);
    host_close_files(high + 1, ~0U);
    int null = open("/dev/null", O_RDWR);
    while (null >= 0 && null < 2) {
        null = open("/dev/null", O_RDWR);
    }
}

static rlim_t files_wanted(uint32_t size)
{
    return 2 * (rlim_t)size + FILES_OF_OUR_OWN;
}

static void raise_file_limit(uint32_t size)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files_wanted(size)) {
        files.rlim_cur = files_wanted(size);
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static bool may_have_files(uint32_t size)
{
    struct rlimit files;
    bool may = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max >= files_wanted(size);
    errno = EMFILE;
    return may;
}

static void *allocate(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Begins with who is to come, by which socket, and whose process is rank 0's. */
_Noreturn static void keeper_main(struct keeper keeper)
{
    uint32_t size = keeper.size;
    keeper.deadline_ns = UINT64_MAX;
    /* No signal of the terminal, and none that a launcher sends to its processes' groups. */
    (void)setsid();
    (void)prctl(PR_SET_NAME, "dimmnet-keeper");
    (void)chdir("/");
    keep_only(keeper.listener, keeper.starter);
    raise_file_limit(size);
    keeper.members = allocate(size * sizeof *keeper.members);
    keeper.polls = allocate((2 + STRANGERS_MAX + 2 * (size_t)size) * sizeof *keeper.polls);
    if (!keeper.members || !keeper.polls) {
        _exit(1);
    }
    while (keeper.phase == GATHERING) {
        gather(&keeper);
    }
    while (keeper.present_count > 0) {
        watch(&keeper);
    }
    _exit(0);
}

/* Two forks: the keeper is not the program's child, for which it may wait one day. */
static int start_apart(const struct keeper *keeper)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            keeper_main(*keeper);
        }
        _exit(grandchild < 0);
    }
    int saved = errno;
    int status = 0;
    /* It is not there any more if the program leaves its children to the kernel. */
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = child < 0 ? saved : EAGAIN;
    return child < 0 || status != 0 ? DN_ESYSTEM : 0;
}

static int listen_as(const struct host_job *job, int listener)
{
    struct sockaddr_un address;
    socklen_t length = keeper_address(job, &address);
    if (bind(listener, (struct sockaddr *)&address, length) != 0) {
        return errno == EADDRINUSE ? DN_EGROUP : DN_ESYSTEM;
    }
    return listen(listener, (int)job->size) == 0 ? 0 : DN_ESYSTEM;
}

static void close_if_open(int fd)
{
    int saved = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = saved;
}

int keeper_start(const struct host_job *job, const struct group_sizes *sizes)
{
    if (!may_have_files(job->size)) {
        return DN_ESYSTEM;
    }
    struct keeper keeper = {.size = job->size, .sizes = *sizes, .listener = keeper_socket()};
    keeper.starter = keeper.listener < 0 ? -1 : host_pidfd_of(getpid());
    int error = keeper.starter < 0 ? DN_ESYSTEM : listen_as(job, keeper.listener);
    error = error ? error : start_apart(&keeper);
    close_if_open(keeper.listener);
    close_if_open(keeper.starter);
    return error;
}
