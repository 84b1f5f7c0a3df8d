/* The machine's own stalls: times at which nobody's program ran, whatever the tests did.
 *
 *     heartbeat               beats until it is told to end
 *     heartbeat --busy 1      computes instead, as a neighbour of the tests that wants a core
 *
 * A thread for each core sleeps for 1 ms, over and over, in real time before all ordinary processes
 * if that is allowed. When it wakes 20 ms late the core stood still: the hypervisor had it, or the
 * kernel did. Each such gap is a line, "gap CORE BEGIN_NS END_NS", by CLOCK_MONOTONIC. Without the
 * right to run in real time the gaps hold the machine's load as well; the first line says which it
 * is. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool.h"

#define BEAT_NS (1 * TOOL_MS)
#define GAP_NS (20 * TOOL_MS)

static uint64_t busy;

static void *beat(void *argument)
{
    size_t core = (size_t)(uintptr_t)argument;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    (void)sched_setaffinity(0, sizeof cores, &cores);
    for (uint64_t before_ns = tool_now_ns();;) {
        struct timespec nap = {.tv_nsec = (long)BEAT_NS};
        (void)nanosleep(&nap, NULL);
        uint64_t now_ns = tool_now_ns();
        if (now_ns - before_ns > GAP_NS) {
            (void)dprintf(STDOUT_FILENO, "gap %zu %llu %llu\n", core,
                          (unsigned long long)(before_ns + BEAT_NS), (unsigned long long)now_ns);
        }
        before_ns = now_ns;
    }
    return NULL;
}

static void parse(int argc, char **argv)
{
    const struct tool_number numbers[] = {{"--busy", &busy, 1}};
    for (int i = 1; i < argc; i += 2) {
        if (!tool_take_number("heartbeat", numbers, 1, argv[i], argv[i + 1])) {
            tool_die("heartbeat", "unknown option", argv[i]);
        }
    }
}

int main(int argc, char **argv)
{
    cpu_set_t allowed;
    struct sched_param first = {.sched_priority = 50};
    tool_end_with_parent("heartbeat");
    parse(argc, argv);
    for (volatile uint64_t sum = 0; busy;) {
        sum++;
    }
    bool is_first = sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        tool_die("heartbeat", "cannot tell", "its cores");
    }
    (void)dprintf(STDOUT_FILENO, "heartbeat: %s\n", is_first ? "real time" : "ordinary");
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        pthread_t thread;
        if (CPU_ISSET(core, &allowed) &&
            pthread_create(&thread, NULL, beat, (void *)(uintptr_t)core) != 0) {
            tool_die("heartbeat", "cannot start", "a thread");
        }
    }
    for (;;) {
        (void)pause();
    }
}
