/* Finding descendants by parenthood and by environment. Both go round until nobody is
 * left, because a process may fork between being listed and being killed; and both give
 * up in the end, because the kernel may hold a process that cannot be killed. */
#define _GNU_SOURCE
#include "cli/launch/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/process.h"
#include "host/pidfd.h"

enum {
    SWEEP_ROUNDS = 2000,
    SWEEP_LOOKS = 2, /* while it is read, the kernel's list may miss one that has just come */
    SWEEP_PAUSE_NS = 1000000,
    ENVIRONMENT_READ_BYTES = 64 * 1024,
    MARK_BYTES_MAX = 256,
    ANCESTORS_MAX = 4096,
};

static void pause_shortly(void)
{
    const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_NS};
    (void)nanosleep(&pause, NULL);
}

bool launch_sweep_has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kills all children but one, and reaps those that have ended. Gives whether there were any. */
static bool kill_children(pid_t spared)
{
    FILE *list = fopen("/proc/thread-self/children", "re");
    bool found = false;
    long pid;
    while (list && fscanf(list, "%ld", &pid) == 1) {
        if (pid != spared) {
            found = true;
            (void)kill((pid_t)pid, SIGKILL);
            (void)waitpid((pid_t)pid, NULL, WNOHANG);
        }
    }
    if (list) {
        (void)fclose(list);
    }
    return found;
}

void launch_sweep_children(pid_t spared)
{
    unsigned looks_in_vain = 0;
    for (unsigned round = 0; looks_in_vain < SWEEP_LOOKS && round < SWEEP_ROUNDS; round++) {
        if (kill_children(spared)) {
            looks_in_vain = 0;
            pause_shortly();
        } else {
            looks_in_vain++;
        }
    }
}

bool launch_sweep_descends(pid_t process)
{
    pid_t at = process;
    for (unsigned steps = 0; at > 1 && steps < ANCESTORS_MAX; steps++) {
        at = (pid_t)cli_process_number(at, PROCESS_PARENT);
        if (at == getpid()) {
            return true;
        }
    }
    return false;
}

/* Whether the bytes of an environment hold the mark. */
static bool holds_mark(int fd, const char *mark)
{
    static char bytes[MARK_BYTES_MAX + ENVIRONMENT_READ_BYTES];
    size_t mark_bytes = strlen(mark);
    size_t kept = 0;
    for (;;) {
        ssize_t got = read(fd, bytes + kept, ENVIRONMENT_READ_BYTES);
        if (got <= 0) {
            return false;
        }
        size_t length = kept + (size_t)got;
        if (memmem(bytes, length, mark, mark_bytes)) {
            return true;
        }
        /* The mark may lie across two reads. */
        kept = length < mark_bytes ? length : mark_bytes - 1;
        memmove(bytes, bytes + length - kept, kept);
    }
}

static bool kill_if_marked(const char *pid_text, const char *mark)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%.20s/environ", pid_text);
    /* Open it before looking: its number may become another process's. */
    int process = host_pidfd_of((pid_t)strtol(pid_text, NULL, 10));
    if (process < 0) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool found = fd >= 0 && holds_mark(fd, mark);
    if (fd >= 0) {
        (void)close(fd);
    }
    found = found && host_pidfd_kill(process, SIGKILL) == 0;
    (void)close(process);
    return found;
}

void launch_sweep_marked(const char *mark)
{
    /* Everybody has the empty mark. */
    bool found = mark[0] != '\0' && strlen(mark) < MARK_BYTES_MAX;
    for (unsigned round = 0; found && round < SWEEP_ROUNDS; round++) {
        DIR *processes = opendir("/proc");
        if (!processes) {
            return;
        }
        found = false;
        for (struct dirent *entry; (entry = readdir(processes)) != NULL;) {
            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
                found = kill_if_marked(entry->d_name, mark) || found;
            }
        }
        (void)closedir(processes);
        if (found) {
            pause_shortly();
        }
    }
}
