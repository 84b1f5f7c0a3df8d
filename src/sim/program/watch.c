/* A process that has had the turn for a second of CPU time, and runs on one spot, may be looping
 * over memory that cannot change: virtual time passes in calls of the library only. */
#define _GNU_SOURCE
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/program/state.h"

enum {
    FIRST_NAPS = 50, /* most turns are over before, and are not watched */
    LOOKS_NAPS = 50, /* between two looks at the CPU time */
    SAMPLES = 8,
    SAMPLE_NAP_NS = 5000000,
    SPOT_BYTES = 512, /* a loop over plain loads is no longer */
    LINE_BYTES = 512,
    GENERATIONS = 16, /* shells between a launcher and a program */
};

#if defined(__x86_64__)
#define COUNTER(registers) ((registers).rip)
#else
#define COUNTER(registers) ((registers).pc)
#endif

/* Where the process runs now; false: nobody can tell. */
static bool sample(pid_t process, uint64_t *counter)
{
    struct user_regs_struct registers;
    struct iovec into = {.iov_base = &registers, .iov_len = sizeof registers};
    int status;
    if (ptrace(PTRACE_SEIZE, process, NULL, NULL) != 0) {
        return false;
    }
    bool is_known = ptrace(PTRACE_INTERRUPT, process, NULL, NULL) == 0 &&
                    waitpid(process, &status, __WALL) == process && WIFSTOPPED(status) &&
                    ptrace(PTRACE_GETREGSET, process, (void *)NT_PRSTATUS, &into) == 0;
    (void)ptrace(PTRACE_DETACH, process, NULL, NULL);
    *counter = is_known ? COUNTER(registers) : 0;
    return is_known;
}

/* The file that this address of the process belongs to, and where in it. */
static void find_place(pid_t process, uint64_t counter, char *text, size_t room)
{
    char path[64];
    char line[LINE_BYTES];
    (void)snprintf(text, room, "0x%" PRIx64, counter);
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        char *rest;
        uint64_t from = strtoull(line, &rest, 16);
        uint64_t to = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        char *name = strchr(line, '/');
        if (counter >= from && counter < to && name) {
            /* Permissions, then the offset in the file. */
            uint64_t offset = strtoull(rest + strlen(" r-xp "), NULL, 16);
            name[strcspn(name, "\n")] = '\0';
            const char *file = strrchr(name, '/') + 1;
            (void)snprintf(text, room, "%s+0x%" PRIx64, file, counter - from + offset);
            break;
        }
    }
    if (maps) {
        (void)fclose(maps);
    }
}

enum stat_field { STAT_PARENT = 4, STAT_USER = 14, STAT_SYSTEM = 15, STAT_THREADS = 20 };

/* A number that the kernel tells of a process (man 5 proc, /proc/pid/stat); 0: there is none. */
static uint64_t stat_of(int32_t process, enum stat_field wanted)
{
    char path[64];
    char line[LINE_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", process);
    FILE *file = fopen(path, "re");
    /* The name, field 2, stands in brackets and may hold anything; the state follows. */
    const char *rest = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file) {
        (void)fclose(file);
    }
    for (unsigned field = 2; rest && field < (unsigned)wanted; field++) {
        rest = strchr(rest + 1, ' ');
    }
    return rest ? strtoull(rest, NULL, 10) : 0;
}

uint32_t sim_program_threads(const struct program_seat *seat)
{
    return seat->process != 0 ? (uint32_t)stat_of(seat->process, STAT_THREADS) : 0;
}

int32_t sim_program_process(const struct program_seat *seat)
{
    uint32_t said = atomic_load(&seat->page->process_id);
    int32_t ancestor = said > 1 && said <= INT32_MAX ? (int32_t)said : 0;
    for (int i = 0; i < GENERATIONS && ancestor > 1; i++) {
        ancestor = (int32_t)stat_of(ancestor, STAT_PARENT);
        if (ancestor == (int32_t)getpid()) {
            return (int32_t)said;
        }
    }
    return 0;
}

/* Whether the process has computed for a second since its turn was young. On a busy machine that is
 * long after a second of real time; and one that sleeps does not loop. */
static bool has_computed(struct program_seat *seat, uint32_t naps)
{
    if (naps < FIRST_NAPS || naps % LOOKS_NAPS != 0) {
        return false;
    }
    uint64_t ticks = stat_of(seat->process, STAT_USER) + stat_of(seat->process, STAT_SYSTEM);
    seat->ticks_before = naps == FIRST_NAPS ? ticks : seat->ticks_before;
    return ticks - seat->ticks_before >= (uint64_t)sysconf(_SC_CLK_TCK);
}

void sim_program_watch(struct program_seat *seat, uint32_t naps)
{
    pid_t process = (pid_t)seat->process;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    if (seat->is_warned || process == 0 || seat->state == PROGRAM_ABSENT ||
        !has_computed(seat, naps)) {
        return;
    }
    seat->is_warned = true;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t counter;
        if (!sample(process, &counter)) {
            return;
        }
        least = counter < least ? counter : least;
        most = counter > most ? counter : most;
        (void)nanosleep(&(struct timespec){.tv_nsec = SAMPLE_NAP_NS}, NULL);
    }
    if (most - least < SPOT_BYTES) {
        char place[LINE_BYTES];
        find_place(process, least, place, sizeof place);
        (void)fprintf(stderr,
                      "dimmnet run: node %" PRIu32
                      " has looped at %s for a second without a call of the library. If it waits "
                      "there for memory, let it wait by dn_wait_until or shmem_wait_until: virtual "
                      "time passes in calls only\n",
                      seat->rank, place);
    }
}
