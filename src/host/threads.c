/* Stops happen in turns; an odd turn is a stop under way. A thread that gets the signal joins
 * the turn by one compare-swap of turn and count together, so that a thread too late for a turn
 * that was given up never counts in the next. It then stays until the turn is over.
 *
 * All are stopped when as many have joined as the kernel counts threads, less the caller:
 * those that joined cannot end, and nobody else is left to start one.
 *
 * Slowness is not refusal: on a busy machine a thread may wait for a core for many seconds. So the
 * caller waits by no clock alone, but judges one thread that has not come, the suspect, by what the
 * kernel tells of it. Every wait ends, because each suspect
 *  - comes, or ends;
 *  - blocks the signal, and goes on so for 2 s in which it slept or had a core;
 *  - neither runs nor moves in the kernel for 10 s;
 *  - or waits for a core, which the kernel gives it sooner or later. */
#define _GNU_SOURCE
#include "host/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "dimmnet.h"
#include "host/clock.h"

enum { THREADS_MAX = 1 << 16, YIELDS = 64 };

/* The caller waits for a core, too: time between two looks counts for 1 ms at most. */
#define LOOK_NS UINT64_C(1000000)
#define REFUSAL_NS UINT64_C(2000000000)
#define STUCK_NS UINT64_C(10000000000)
#define NAP_NS 20000L
#define STATUS_BYTES ((size_t)64 << 10) /* a line of it names all groups of the user */

/* How much of a stack is in use around where its thread's registers point: the frames of a
 * signal and of its handler below, at least some callers' above. */
#define STACK_MARGIN_BYTES (UINT64_C(16) << 10)
#define STACK_BYTES_MAX (UINT64_C(4) << 30)

/* A stopped thread. */
struct standing {
    uintptr_t stack_pointer;
    uintptr_t frame; /* of the handler, which may have a stack of its own */
    uintptr_t self;  /* its pthread_t: with glibc, the upper end of its stack */
    pid_t thread;
    _Atomic uint32_t turn; /* that the other fields are for; written last */
};

/* What the handler shares with the caller. The tables are mapped once and stay: a thread
 * may come late. */
static struct {
    _Atomic uint64_t joined; /* turn << 32 | threads that joined it */
    _Atomic uint32_t turn;   /* what stopped threads sleep on */
    struct standing *standing;
    pid_t *signalled;
    uint32_t signalled_count;
    bool queue_is_full; /* the kernel took no signal for some thread at the last look */
    char *text;         /* STATUS_BYTES */
} shared;

/* A thread that has not come, and what is held against it. */
struct suspect {
    pid_t thread; /* 0: none */
    uint64_t switches;
    uint64_t core_ticks;
    uint64_t refused_ns; /* it blocked the signal at every look */
    uint64_t stuck_ns;   /* it stood still in the kernel at every look */
};

/* The futex is private: its key is then the address, even if the page below is replaced while
 * threads sleep, as happens when the library's own data is registered. */
static void sleep_while(uint32_t turn)
{
    /* Acquire: pairs with the store in end_turn. */
    while (atomic_load_explicit(&shared.turn, memory_order_acquire) == turn) {
        (void)syscall(SYS_futex, &shared.turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0);
    }
}

static uintptr_t stack_pointer_of(const void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    (void)context;
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

/* Runs in the thread that is to stop, wherever it is. */
static void stand(int signal_number, siginfo_t *information, void *context)
{
    int saved = errno;
    uint64_t joined = atomic_load(&shared.joined);
    uint32_t turn;
    (void)signal_number;
    (void)information;
    do {
        turn = (uint32_t)(joined >> 32);
    } while (turn % 2 == 1 && !atomic_compare_exchange_weak(&shared.joined, &joined, joined + 1));
    if (turn % 2 == 1) {
        uint32_t index = (uint32_t)joined;
        if (index < THREADS_MAX) {
            struct standing *standing = &shared.standing[index];
            standing->stack_pointer = stack_pointer_of(context);
            standing->frame = (uintptr_t)__builtin_frame_address(0);
            standing->self = (uintptr_t)pthread_self();
            standing->thread = gettid();
            /* Release: pairs with the acquire in all_told. */
            atomic_store_explicit(&standing->turn, turn, memory_order_release);
        }
        sleep_while(turn);
    }
    errno = saved;
}

/* ---- Looking at the process from outside ------------------------------------------ */

/* A small file's text; false when it cannot be read. */
static bool read_text(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, capacity - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (got <= 0) {
        return false;
    }
    text[got] = '\0';
    return true;
}

/* The n-th field behind the name of a stat file, the state being the first. The name may
 * contain anything; its bracket is the last. */
static const char *stat_field(const char *text, unsigned number)
{
    const char *at = strrchr(text, ')');
    for (; at && number > 0; number--) {
        at = strchr(at + 1, ' ');
    }
    return at ? at + 1 : "";
}

/* The kernel's count of this process's threads; 0 when it cannot be had. */
static uint32_t thread_count(void)
{
    char text[1024];
    return read_text("/proc/self/stat", text, sizeof text)
               ? (uint32_t)strtoul(stat_field(text, 18), NULL, 10)
               : 0;
}

/* What the kernel does with a thread. */
struct course {
    char state; /* R, S, D, T, ...; Z or X: it has ended */
    uint64_t core_ticks;
};

static struct course course_of(pid_t thread)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    if (!read_text(path, text, sizeof text)) {
        return (struct course){.state = 'X'};
    }
    return (struct course){.state = stat_field(text, 1)[0],
                           .core_ticks = strtoull(stat_field(text, 12), NULL, 10) +
                                         strtoull(stat_field(text, 13), NULL, 10)};
}

static bool has_ended(pid_t thread)
{
    char state = course_of(thread).state;
    return state == 'Z' || state == 'X';
}

/* ---- Stopping ---------------------------------------------------------------------- */

static int map_tables(void)
{
    size_t standing_bytes = THREADS_MAX * sizeof *shared.standing;
    size_t signalled_bytes = THREADS_MAX * sizeof *shared.signalled;
    size_t bytes = standing_bytes + signalled_bytes + STATUS_BYTES;
    if (shared.standing) {
        return 0;
    }
    unsigned char *tables = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tables == MAP_FAILED) {
        return DN_ENOMEM;
    }
    shared.standing = (struct standing *)(void *)tables;
    shared.signalled = (pid_t *)(void *)(tables + standing_bytes);
    shared.text = (char *)tables + standing_bytes + signalled_bytes;
    return 0;
}

/* The handler stays: a thread that blocked the signal may let it through much later. It
 * takes no other signal meanwhile, whose handler might write. */
static int install(int signal_number)
{
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) != 0) {
        return DN_ESYSTEM;
    }
    if ((action.sa_flags & SA_SIGINFO) && action.sa_sigaction == stand) {
        return 0;
    }
    if ((action.sa_flags & SA_SIGINFO) ||
        (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)) {
        return DN_ETHREADS;
    }
    action = (struct sigaction){.sa_sigaction = stand,
                                .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    return sigaction(signal_number, &action, NULL) == 0 ? 0 : DN_ESYSTEM;
}

static bool was_signalled(pid_t thread)
{
    for (uint32_t i = 0; i < shared.signalled_count; i++) {
        if (shared.signalled[i] == thread) {
            return true;
        }
    }
    return false;
}

/* Signals every thread that was not signalled in this turn yet. The list may miss some
 * that come and go meanwhile; it is read again until the counts agree. */
static int signal_others(int signal_number)
{
    /* Not opendir, which allocates. */
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return DN_ESYSTEM;
    }
    _Alignas(struct dirent64) char entries[8192];
    long got;
    shared.queue_is_full = false;
    while ((got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
            at += entry->d_reclen;
            if (thread > 0 && thread != gettid() && shared.signalled_count < THREADS_MAX &&
                !was_signalled(thread)) {
                /* Its queue of signals may be full; then it is signalled at the next look. */
                bool sent = syscall(SYS_tgkill, getpid(), thread, signal_number) == 0;
                shared.signalled[shared.signalled_count] = thread;
                shared.signalled_count += sent;
                shared.queue_is_full = shared.queue_is_full || (!sent && errno == EAGAIN);
            }
        }
    }
    (void)close(fd);
    return 0;
}

/* Whether all that joined have told where their stacks are. */
static bool all_told(uint32_t turn, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load_explicit(&shared.standing[i].turn, memory_order_acquire) != turn) {
            return false;
        }
    }
    return true;
}

/* Whether nobody else runs; *count is how many are stopped. */
static bool all_stand(uint32_t turn, uint32_t *count)
{
    uint32_t joined = (uint32_t)atomic_load(&shared.joined);
    uint32_t threads = thread_count();
    /* A first thread that has ended is counted as long as the process lives. */
    bool all = joined + 1 == threads || (joined + 2 == threads && has_ended(getpid()));
    if (!all || joined > THREADS_MAX) {
        return false;
    }
    *count = joined;
    return all_told(turn, joined);
}

/* ---- Judging ------------------------------------------------------------------------ */

static bool has_joined(uint32_t turn, pid_t thread)
{
    uint32_t count = (uint32_t)atomic_load(&shared.joined);
    for (uint32_t i = 0; i < count && i < THREADS_MAX; i++) {
        const struct standing *standing = &shared.standing[i];
        if (atomic_load_explicit(&standing->turn, memory_order_acquire) == turn &&
            standing->thread == thread) {
            return true;
        }
    }
    return false;
}

/* A thread that was signalled and has neither come nor ended; 0: none. */
static pid_t find_suspect(uint32_t turn)
{
    for (uint32_t i = 0; i < shared.signalled_count; i++) {
        pid_t thread = shared.signalled[i];
        if (!has_joined(turn, thread) && !has_ended(thread)) {
            return thread;
        }
    }
    return 0;
}

/* A number behind a word at the start of a line; 0 when there is none. */
static uint64_t status_number(const char *text, const char *word, int base)
{
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, base) : 0;
}

/* Looks at the suspect, `passed_ns` after the look before; whether it refuses. */
static bool refuses(struct suspect *suspect, int signal_number, uint64_t passed_ns)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", suspect->thread);
    if (!read_text(path, shared.text, STATUS_BYTES)) {
        return false; /* it has ended */
    }
    struct course course = course_of(suspect->thread);
    uint64_t blocked = status_number(shared.text, "\nSigBlk:", 16);
    uint64_t switches = status_number(shared.text, "\nvoluntary_ctxt_switches:", 10) +
                        status_number(shared.text, "\nnonvoluntary_ctxt_switches:", 10);
    if (!(blocked >> (signal_number - 1) & 1)) {
        suspect->refused_ns = 0;
    } else if (course.state == 'S') {
        suspect->refused_ns += passed_ns;
    } else if (course.state == 'R' && course.core_ticks > suspect->core_ticks) {
        suspect->refused_ns += (course.core_ticks - suspect->core_ticks) * UINT64_C(1000000000) /
                               (uint64_t)sysconf(_SC_CLK_TCK);
    }
    bool moves = course.state == 'R' || switches != suspect->switches;
    suspect->stuck_ns = moves ? 0 : suspect->stuck_ns + passed_ns;
    suspect->switches = switches;
    suspect->core_ticks = course.core_ticks;
    return suspect->refused_ns >= REFUSAL_NS || suspect->stuck_ns >= STUCK_NS;
}

/* Whether the wait for those who have not come is in vain. */
static bool is_in_vain(uint32_t turn, struct suspect *suspect, int signal_number,
                       uint64_t passed_ns)
{
    if (suspect->thread == 0 || has_joined(turn, suspect->thread) || has_ended(suspect->thread)) {
        pid_t thread = find_suspect(turn);
        *suspect = (struct suspect){.thread = thread,
                                    .core_ticks = thread ? course_of(thread).core_ticks : 0};
        passed_ns = 0;
    }
    return suspect->thread != 0 && refuses(suspect, signal_number, passed_ns);
}

static void end_turn(uint32_t turn)
{
    atomic_store(&shared.joined, (uint64_t)(turn + 1) << 32);
    atomic_store(&shared.turn, turn + 1);
    (void)syscall(SYS_futex, &shared.turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Waits until all stand: 0, or why that is in vain. */
static int wait_for_all(int signal_number, uint32_t turn, struct host_stop *stop)
{
    struct suspect suspect = {0};
    uint64_t before_ns = fabric_now_ns();
    uint64_t full_ns = 0;
    for (uint32_t looks = 0;; looks++) {
        int error = signal_others(signal_number);
        if (error || all_stand(turn, &stop->thread_count)) {
            return error;
        }
        host_threads_serve(stop);
        if (looks < YIELDS) {
            sched_yield();
            continue;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        uint64_t now_ns = fabric_now_ns();
        uint64_t passed_ns = now_ns - before_ns < LOOK_NS ? now_ns - before_ns : LOOK_NS;
        before_ns = now_ns;
        full_ns = shared.queue_is_full ? full_ns + passed_ns : 0;
        if (full_ns >= STUCK_NS) {
            errno = EAGAIN;
            return DN_ESYSTEM;
        }
        if (is_in_vain(turn, &suspect, signal_number, passed_ns)) {
            return DN_ETHREADS;
        }
    }
}

static int stop_others(int signal_number, struct host_stop *stop)
{
    int error = map_tables();
    error = error ? error : install(signal_number);
    if (error) {
        return error;
    }
    uint32_t turn = atomic_load(&shared.turn) + 1;
    shared.signalled_count = 0;
    atomic_store(&shared.turn, turn);
    atomic_store(&shared.joined, (uint64_t)turn << 32);
    stop->began = true;
    return wait_for_all(signal_number, turn, stop);
}

int host_threads_stop(int signal_number, struct fabric_lane *lane, struct host_stop *stop)
{
    *stop = (struct host_stop){.served = lane && lane->ops->serve ? lane : NULL};
    /* A handler of the program must not run in the caller either, nor must the caller
     * vanish in between. */
    sigset_t all;
    sigfillset(&all);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &stop->cancel_state_before);
    (void)pthread_sigmask(SIG_SETMASK, &all, &stop->blocked_before);
    if (stop->served) {
        uint64_t now_ns;
        (void)fabric_services_take(stop->served, &now_ns);
    }
    uint32_t threads = thread_count();
    int error = threads == 0 ? DN_ESYSTEM : threads == 1 ? 0 : stop_others(signal_number, stop);
    if (error) {
        host_threads_go(stop);
    }
    return error;
}

void host_threads_serve(struct host_stop *stop)
{
    if (stop->served) {
        fabric_serve(stop->served);
    }
}

void host_threads_go(struct host_stop *stop)
{
    int saved = errno;
    if (stop->began) {
        end_turn(atomic_load(&shared.turn));
        stop->began = false;
    }
    if (stop->served) {
        fabric_services_give(stop->served);
        stop->served = NULL;
    }
    (void)pthread_sigmask(SIG_SETMASK, &stop->blocked_before, NULL);
    (void)pthread_setcancelstate(stop->cancel_state_before, NULL);
    errno = saved;
}

/* A stack in use reaches from a little below its pointer to its thread's own record, or,
 * where that is somewhere else, to a little above. */
static bool stack_meets(uintptr_t stack_pointer, uintptr_t self, uintptr_t start, uint64_t bytes)
{
    uintptr_t low = stack_pointer - STACK_MARGIN_BYTES;
    bool known = self > stack_pointer && self - stack_pointer < STACK_BYTES_MAX;
    uintptr_t high = known ? self : stack_pointer + STACK_MARGIN_BYTES;
    return start < high && low < start + bytes;
}

bool host_threads_stack_meets(const struct host_stop *stop, uintptr_t start, uint64_t bytes)
{
    if (stack_meets((uintptr_t)__builtin_frame_address(0), (uintptr_t)pthread_self(), start,
                    bytes)) {
        return true;
    }
    for (uint32_t i = 0; i < stop->thread_count; i++) {
        const struct standing *standing = &shared.standing[i];
        if (stack_meets(standing->stack_pointer, standing->self, start, bytes) ||
            stack_meets(standing->frame, 0, start, bytes)) {
            return true;
        }
    }
    return false;
}

void host_threads_forget(void)
{
    atomic_store(&shared.turn, 0);
    atomic_store(&shared.joined, 0);
}
