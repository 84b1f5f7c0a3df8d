/* A walk through /proc. */
#define _GNU_SOURCE
#include "cli/info/groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process.h"

enum {
    ANY_FILE = 0, /* a file's number is above this */
    /* Files of groups that are looked at in one process. A node has three at most, and one more
     * for each launcher further up; whoever has many wants to keep us busy. */
    FILES_BY_PROCESS = 64,
};

/* One file in one process. */
struct holding {
    pid_t process;
    int fd; /* its number there */
    ino_t file;
    const struct fabric_launch *fabric; /* whose file it is; NULL: the group itself */
    uint64_t started;                   /* when the process was, in ticks */
};

struct holdings {
    struct holding *all;
    size_t count;
    size_t capacity;
};

/* ---- What there is ----------------------------------------------------------------- */

static bool note(struct holdings *holdings, const struct holding *holding)
{
    if (holdings->count == holdings->capacity) {
        size_t capacity = 2 * holdings->capacity + 64;
        struct holding *all = realloc(holdings->all, capacity * sizeof *all);
        if (!all) {
            return false;
        }
        holdings->all = all;
        holdings->capacity = capacity;
    }
    holdings->all[holdings->count++] = *holding;
    return true;
}

/* Whether a link of /proc leads to the memory file of this name. */
static bool is_memory_file(const char *target, const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof full, "/memfd:%s (deleted)", name);
    return strcmp(target, full) == 0;
}

/* The fabric whose file this is; NULL: none has such a file. */
static const struct fabric_launch *fabric_of_file(const char *target)
{
    const struct fabric_launch *const *fabric = fabric_launches;
    while (*fabric && !((*fabric)->file_name && is_memory_file(target, (*fabric)->file_name))) {
        fabric++;
    }
    return *fabric;
}

/* Notes what one process holds. A process that we may not look at counts as holding nothing. The
 * names of files are the kernel's word; what is in the files is their owner's, and not believed. */
static bool look_at_process(pid_t process, struct holdings *holdings)
{
    char path[96];
    char target[64];
    struct stat status;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *files = opendir(path);
    bool noted = true;
    size_t end = holdings->count + FILES_BY_PROCESS;
    for (struct dirent *entry;
         files && noted && holdings->count < end && (entry = readdir(files)) != NULL;) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)process, entry->d_name);
        ssize_t bytes = readlink(path, target, sizeof target - 1);
        target[bytes > 0 ? bytes : 0] = '\0';
        const struct fabric_launch *fabric = fabric_of_file(target);
        if ((fabric || is_memory_file(target, "dimmnet")) && stat(path, &status) == 0) {
            const struct holding holding = {
                .process = process,
                .fd = (int)strtol(entry->d_name, NULL, 10),
                .file = status.st_ino,
                .fabric = fabric,
                .started = cli_process_number(process, PROCESS_START),
            };
            noted = note(holdings, &holding);
        }
    }
    if (files) {
        (void)closedir(files);
    }
    return noted;
}

static bool look_at_all(struct holdings *holdings)
{
    DIR *processes = opendir("/proc");
    bool noted = processes != NULL;
    for (struct dirent *entry; noted && (entry = readdir(processes)) != NULL;) {
        struct stat status;
        bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (is_process && fstatat(dirfd(processes), entry->d_name, &status, 0) == 0 &&
            status.st_uid == geteuid()) {
            noted = look_at_process((pid_t)strtol(entry->d_name, NULL, 10), holdings);
        }
    }
    if (processes) {
        (void)closedir(processes);
    }
    return noted;
}

/* ---- What belongs together --------------------------------------------------------- */

/* Opens the file anew, for reading only, and looks at the group, or at the fabric's part of it.
 * DN_EPEER: it is not there any more. DN_EGROUP, DN_EVERSION: what it holds makes no sense. */
static int look_at_file(const struct holding *holding, struct host_group *group,
                        struct fabric_look *look)
{
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)holding->process, holding->fd);
    /* The number may stand for anything by now, such as a pipe that nobody writes to. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return DN_EPEER;
    }
    int error = fstat(fd, &status) != 0 || status.st_ino != holding->file ? DN_EPEER : 0;
    if (!error) {
        error = holding->fabric ? holding->fabric->look(fd, look) : host_group_look(fd, group);
    }
    if (error) {
        (void)close(fd);
    }
    return error;
}

/* Whether the process holds the file; ANY_FILE: some file. */
static bool has(const struct holdings *holdings, pid_t process, ino_t file)
{
    for (size_t i = 0; i < holdings->count; i++) {
        const struct holding *holding = &holdings->all[i];
        if (holding->process == process && (file == ANY_FILE || holding->file == file)) {
            return true;
        }
    }
    return false;
}

/* The first holding of each file stands for it. */
static bool is_first(const struct holdings *holdings, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        if (holdings->all[i].file == holdings->all[number].file) {
            return false;
        }
    }
    return true;
}

/* The oldest process that holds a file has made it; the others are its descendants. */
static pid_t leader_of(const struct holdings *holdings, ino_t file, uint32_t *process_count)
{
    uint64_t earliest = UINT64_MAX;
    pid_t leader = 0;
    *process_count = 0;
    for (size_t i = 0; i < holdings->count; i++) {
        const struct holding *holding = &holdings->all[i];
        if (holding->file != file) {
            continue;
        }
        ++*process_count;
        if (holding->started < earliest ||
            (holding->started == earliest && holding->process < leader)) {
            earliest = holding->started;
            leader = holding->process;
        }
    }
    return leader;
}

/* Finds the fabric's file that belongs to a group: the same process made both. Where nodes share
 * no memory, each also holds a group file of its own, which nobody else has and which is no
 * group to be shown: then this gives false. */
static bool find_fabric(const struct holdings *holdings, ino_t file, struct groups_entry *entry)
{
    const struct group_geometry *geometry = &entry->group.facts.geometry;
    for (size_t i = 0; i < holdings->count; i++) {
        const struct holding *holding = &holdings->all[i];
        struct fabric_look look;
        uint32_t process_count;
        if (!holding->fabric || !has(holdings, holding->process, file) ||
            look_at_file(holding, NULL, &look) != 0) {
            continue;
        }
        /* Whoever prints goes through the ranks of both. */
        bool has_as_many = geometry->node_count == look.node_count;
        if (has_as_many && leader_of(holdings, holding->file, &process_count) == entry->leader) {
            entry->fabric = holding->fabric;
            entry->look = look;
            return true;
        }
        bool is_alike = has_as_many &&
                        memcmp(&geometry->sizes, &look.sizes, sizeof look.sizes) == 0;
        holding->fabric->look_away(&look);
        if (is_alike && entry->process_count == 1) {
            return false;
        }
    }
    return true;
}

/* The fabric of groups that hold no fabric's file. */
static const struct fabric_launch *fabric_without_file(void)
{
    const struct fabric_launch *const *fabric = fabric_launches;
    while (*fabric && (*fabric)->file_name) {
        fabric++;
    }
    return *fabric;
}

static void release_entry(struct groups_entry *entry)
{
    host_group_unmap(&entry->group);
    if (entry->look.state) {
        entry->fabric->look_away(&entry->look);
    }
}

static bool add_group(struct groups *groups, const struct holdings *holdings, size_t number)
{
    const struct holding *holding = &holdings->all[number];
    struct groups_entry entry = {.fabric = fabric_without_file()};
    int error = look_at_file(holding, &entry.group, NULL);
    if (error) {
        groups->senseless_count += error == DN_EGROUP || error == DN_EVERSION;
        return true;
    }
    entry.leader = leader_of(holdings, holding->file, &entry.process_count);
    if (!find_fabric(holdings, holding->file, &entry)) {
        host_group_unmap(&entry.group);
        return true;
    }
    struct groups_entry *entries = realloc(groups->entries, (groups->count + 1) * sizeof *entries);
    if (!entries) {
        release_entry(&entry);
        return false;
    }
    groups->entries = entries;
    groups->entries[groups->count++] = entry;
    return true;
}

static int by_leader(const void *one, const void *other)
{
    pid_t left = ((const struct groups_entry *)one)->leader;
    pid_t right = ((const struct groups_entry *)other)->leader;
    return (left > right) - (left < right);
}

bool info_groups_find(pid_t process, struct groups *groups)
{
    struct holdings holdings = {0};
    *groups = (struct groups){0};
    bool found = look_at_all(&holdings);
    /* The process may be another user's, if we are allowed to look. */
    if (found && process > 0 && !has(&holdings, process, ANY_FILE)) {
        found = look_at_process(process, &holdings);
    }
    for (size_t i = 0; found && i < holdings.count; i++) {
        const struct holding *holding = &holdings.all[i];
        if (!holding->fabric && is_first(&holdings, i) &&
            (process <= 0 || has(&holdings, process, holding->file))) {
            found = add_group(groups, &holdings, i);
        }
    }
    free(holdings.all);
    if (!found) {
        info_groups_release(groups);
        return false;
    }
    if (groups->count > 1) {
        qsort(groups->entries, groups->count, sizeof *groups->entries, by_leader);
    }
    return true;
}

void info_groups_release(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        release_entry(&groups->entries[i]);
    }
    free(groups->entries);
    *groups = (struct groups){0};
}

static bool is_node(const struct groups_entry *entry, pid_t process)
{
    uint32_t count = entry->group.facts.geometry.node_count;
    for (uint32_t rank = 0; rank < count; rank++) {
        if (host_group_process(&entry->group, rank) == (uint32_t)process) {
            return true;
        }
    }
    return false;
}

const struct groups_entry *info_groups_of(const struct groups *groups, pid_t process)
{
    const struct groups_entry *found = groups->count > 0 ? &groups->entries[0] : NULL;
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->entries[i].leader == process) {
            return &groups->entries[i];
        }
        if (is_node(&groups->entries[i], process)) {
            found = &groups->entries[i];
        }
    }
    return found;
}
