/* Whether another user or process can get at a group's memory.
 *
 *     privacy hold               a node that has something to hide; says "holding INODE FD",
 *                                INODE being the memory's, FD its descriptor here
 *     privacy attack PID...      tries every way into those processes; a line for each
 *                                that succeeds, status 3 if any did
 *     privacy inherit            a node that looks at what its children get
 *     privacy look INODE         status 3 if this process has that memory, or a descriptor that
 *                                only nodes have
 *     privacy keep               a node with a forked child; says "node PID" and "child PID". When
 *                                there is a file "detach" it detaches and says "detached"; when
 *                                there is a file "enough" it ends, by "crash" it aborts */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "live/live.h"

#define SECRET UINT64_C(0x7365637265742121)

/* ---- The group --------------------------------------------------------------- */

/* The descriptor of the group's memory, found as any program could. */
static int group_fd(void)
{
    for (int fd = 0; fd < 1000; fd++) {
        char path[64];
        char name[256] = {0};
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, name, sizeof name - 1) > 0 && strstr(name, "memfd:dimmnet")) {
            return fd;
        }
    }
    live_fail(__FILE__, __LINE__, "there is no memfd:dimmnet");
}

static unsigned long long inode_of(int fd)
{
    struct stat status;
    require(fstat(fd, &status) == 0);
    return (unsigned long long)status.st_ino;
}

static void hold(void)
{
    live_attach();
    memcpy(me.bank, &(uint64_t){SECRET}, 8);
    live_barrier();
    int fd = group_fd();
    (void)dprintf(STDOUT_FILENO, "holding %llu %d\n", inode_of(fd), fd);
    (void)dn_wait_until_u64(me.node, live_u64(0), DN_NE, 0, DN_FOREVER);
}

/* ---- The attack -------------------------------------------------------------- */

static int reached;

static void report(bool success, int pid, const char *way)
{
    if (success) {
        (void)dprintf(STDOUT_FILENO, "reached %d by %s\n", pid, way);
        reached++;
    }
}

/* Opens what a path names, and maps it if possible. */
static bool can_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    fd = fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

/* Tries any file of a folder of /proc/PID, as listed; descriptors are also guessed. */
static bool can_open_any(int pid, const char *folder)
{
    char path[400];
    bool success = false;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, folder);
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "/proc/%d/%s/%s", pid, folder, entry->d_name);
            success = success || can_open(path);
        }
    }
    if (list) {
        (void)closedir(list);
    }
    for (int fd = 0; fd < 64 && strcmp(folder, "fd") == 0; fd++) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        success = success || can_open(path);
    }
    return success;
}

static bool can_take_descriptor(int pid)
{
    bool success = false;
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    for (int fd = 0; fd < 64 && process >= 0; fd++) {
        int taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        success = success || taken >= 0;
        if (taken >= 0) {
            (void)close(taken);
        }
    }
    if (process >= 0) {
        (void)close(process);
    }
    return success;
}

/* Any mapped address will do: this program has the same one only by chance, so what counts is the
 * error. */
static bool can_read_memory(int pid)
{
    char byte;
    struct iovec local = {&byte, 1};
    struct iovec remote = {&byte, 1};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno != EPERM;
}

static bool can_trace(int pid)
{
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) {
        return false;
    }
    (void)ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    (void)waitpid(pid, NULL, __WALL);
    (void)ptrace(PTRACE_DETACH, pid, 0, 0);
    return true;
}

static int attack(int count, char **pids)
{
    for (int i = 0; i < count; i++) {
        int pid = atoi(pids[i]);
        char path[64];
        require(pid > 1 && (kill(pid, 0) == 0 || errno == EPERM));
        report(can_open_any(pid, "fd"), pid, "/proc/PID/fd");
        report(can_open_any(pid, "map_files"), pid, "/proc/PID/map_files");
        (void)snprintf(path, sizeof path, "/proc/%d/mem", pid);
        report(can_open(path), pid, "/proc/PID/mem");
        (void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
        report(can_open(path), pid, "/proc/PID/maps");
        (void)snprintf(path, sizeof path, "/proc/%d/environ", pid);
        report(can_open(path), pid, "/proc/PID/environ");
        report(can_take_descriptor(pid), pid, "pidfd_getfd");
        report(can_read_memory(pid), pid, "process_vm_readv");
        report(can_trace(pid), pid, "ptrace");
    }
    return reached ? 3 : 0;
}

/* ---- What a process has ------------------------------------------------------ */

static bool has_descriptor(unsigned long long inode)
{
    for (int fd = 0; fd < 1000; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0 && (unsigned long long)status.st_ino == inode &&
            fcntl(fd, F_GET_SEALS) >= 0) {
            return true;
        }
    }
    return false;
}

static bool has_mapping(unsigned long long inode)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    require(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        unsigned long long mapped = 0;
        (void)sscanf(line, "%*s %*s %*s %*s %llu", &mapped);
        found = found || (mapped == inode && strstr(line, "dimmnet"));
    }
    (void)fclose(maps);
    return found;
}

/* Whether this is a descriptor that a launcher gives to nodes, or that a node opens for itself. The
 * first three are everybody's, and others may have been there before the launcher. */
static bool is_a_nodes(int fd)
{
    static const char *const kinds[] = {"socket:", "anon_inode:", "/memfd:"};
    static const char *const names[] = {"DIMMNET_GROUP_FD", "DIMMNET_NOTIFY_FD",
                                        "DIMMNET_ROSTER_FD", "DIMMNET_SOCKET_FD",
                                        "DIMMNET_SECRET_FD"};
    char path[64];
    char link[256] = {0};
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, link, sizeof link - 1) <= 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strncmp(link, kinds[i], strlen(kinds[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) && atoi(getenv(names[i])) == fd) {
            return true;
        }
    }
    return false;
}

static int look(unsigned long long inode)
{
    int found = has_descriptor(inode) || has_mapping(inode);
    for (int fd = 3; fd < 1000; fd++) {
        if (is_a_nodes(fd)) {
            (void)dprintf(STDOUT_FILENO, "a node's program has descriptor %d\n", fd);
            found = 1;
        }
    }
    return found ? 3 : 0;
}

static int wait_for_child(pid_t child)
{
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A child that becomes another program has nothing of the memory; one that does not has no mapping
 * of it. */
static void inherit(const char *self)
{
    live_attach();
    unsigned long long inode = inode_of(group_fd());
    require(has_descriptor(inode) && has_mapping(inode));
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", inode);
    pid_t child = fork();
    if (child == 0) {
        (void)execl(self, self, "look", text, (char *)NULL);
        _exit(9);
    }
    require(wait_for_child(child) == 0);
    child = fork();
    if (child == 0) {
        _exit(has_mapping(inode) ? 3 : 0);
    }
    require(wait_for_child(child) == 0);
    expect(dn_detach(me.node), 0);
    require(!has_descriptor(inode) && !has_mapping(inode));
    puts("ok inherit");
}

/* ---- A node that keeps a secret ---------------------------------------------- */

static void wait_for_file(const char *one, const char *other)
{
    while (access(one, F_OK) != 0 && access(other, F_OK) != 0) {
        live_sleep_ns(LIVE_SECOND / 50);
    }
}

static void keep(void)
{
    /* So that a core file can be told from an empty one. */
    static volatile uint64_t word_for_core;
    word_for_core = SECRET;
    live_attach();
    live_barrier();
    pid_t child = fork();
    require(child >= 0);
    while (child == 0) {
        (void)pause();
    }
    (void)dprintf(STDOUT_FILENO, "node %d\nchild %d\n", (int)getpid(), (int)child);
    wait_for_file("detach", "crash");
    if (access("crash", F_OK) == 0 && word_for_core == SECRET) {
        abort();
    }
    expect(dn_detach(me.node), 0);
    (void)dprintf(STDOUT_FILENO, "detached\n");
    wait_for_file("enough", "enough");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    me.check = what;
    if (strcmp(what, "hold") == 0) {
        hold();
    } else if (strcmp(what, "attack") == 0 && argc > 2) {
        /* Not through exit: a leak checker wants to trace, too. */
        _exit(attack(argc - 2, argv + 2));
    } else if (strcmp(what, "inherit") == 0) {
        inherit(argv[0]);
    } else if (strcmp(what, "look") == 0 && argc > 2) {
        return look(strtoull(argv[2], NULL, 10));
    } else if (strcmp(what, "keep") == 0) {
        keep();
    } else {
        return 2;
    }
    return 0;
}
