/* Making, mapping and ending groups. */
#define _GNU_SOURCE
#include "host/group.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "group/life.h"

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned char *map_nothing(uintptr_t at, uint64_t bytes, int flags)
{
    void *room = mmap((void *)at, bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

/* Room in which the byte at `offset` has an address that is a multiple of the alignment; NULL:
 * there is none. */
static unsigned char *reserve(uint64_t bytes, uint64_t offset, uint64_t alignment)
{
    unsigned char *room = map_nothing(0, bytes, 0);
    uint64_t above = room ? ((uintptr_t)room + offset) % alignment : 0;
    if (above == 0) {
        return room;
    }
    /* The kernel gives the highest addresses that are free, and those below are so, too, as a rule.
     * That spares addresses, which may be limited. */
    uintptr_t wanted = (uintptr_t)room - above;
    (void)munmap(room, bytes);
    room = map_nothing(wanted, bytes, MAP_FIXED_NOREPLACE);
    if ((uintptr_t)room == wanted) {
        return room;
    }
    if (room) {
        (void)munmap(room, bytes);
    }
    room = map_nothing(0, bytes + alignment, 0);
    if (!room) {
        return NULL;
    }
    uint64_t before = -((uintptr_t)room + offset) % alignment;
    if (before > 0) {
        (void)munmap(room, before);
    }
    (void)munmap(room + before + bytes, alignment - before);
    return room + before;
}

/* Maps the whole file. A forked child gets no mapping: it may not call, and must not
 * keep the memory alive. */
static int map_whole(int fd, const struct group_geometry *geometry, uint32_t rank,
                     struct group_memory **group)
{
    uint64_t bytes = geometry->total_bytes;
    uint64_t heap = geometry->nodes_offset + geometry->segment_offset[DN_HEAP];
    bool is_node = rank < geometry->node_count;
    unsigned char *start = is_node ? reserve(bytes, heap + rank * geometry->node_stride_bytes,
                                             geometry->heap_alignment)
                                   : reserve(bytes, 0, HUGE_PAGE_BYTES);
    if (!start) {
        return DN_ENOMEM;
    }
    void *map = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                     fd, 0);
    if (map == MAP_FAILED) {
        int saved = errno;
        (void)munmap(start, bytes);
        errno = saved;
        return saved == ENOMEM ? DN_ENOMEM : DN_ESYSTEM;
    }
    (void)madvise(map, bytes, MADV_DONTFORK);
    (void)madvise(map, bytes, MADV_DONTDUMP);
    *group = map;
    return 0;
}

/* Asks for huge pages behind banks and heaps. The kernel gives them to shared memory
 * only where shmem_enabled allows; elsewhere this changes nothing. */
static void ask_for_huge_pages(const struct host_group *mapped)
{
    const struct group_geometry *geometry = &mapped->facts.geometry;
    unsigned char *file = (unsigned char *)mapped->group;
    (void)madvise(file + geometry->nodes_offset, geometry->total_bytes - geometry->nodes_offset,
                  MADV_HUGEPAGE);
}

static int create(uint32_t node_count, const struct group_sizes *sizes, uint32_t core_count,
                  uint32_t rank, struct host_group *made)
{
    struct group_facts facts = {.core_count = core_count};
    int error = group_geometry(node_count, sizes, page_bytes(), &facts.geometry);
    if (error) {
        return error;
    }
    uint64_t bytes = facts.geometry.total_bytes;
    int fd = memfd_create("dimmnet", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return DN_ESYSTEM;
    }
    struct group_memory *group;
    /* The mode matters only to those who can reach the descriptor: it is the second lock on
     * the door. The seals keep a node from cutting the file under its peers. */
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        error = DN_ESYSTEM;
    } else {
        error = map_whole(fd, &facts.geometry, rank, &group);
    }
    if (error) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
        return error;
    }
    group_group_init(group, &facts);
    *made = (struct host_group){.fd = fd, .group = group, .bytes = bytes, .facts = facts};
    ask_for_huge_pages(made);
    return 0;
}

int host_group_create(uint32_t node_count, const struct group_sizes *sizes, uint32_t core_count,
                      uint32_t rank, struct host_group *made)
{
    int error = create(node_count, sizes, core_count, rank, made);
    if (error == DN_ENOMEM && sizes->registered_bytes == 0) {
        /* There are too few addresses, by a limit or on a small machine: the rest can still
         * work. */
        struct group_sizes modest = *sizes;
        modest.registered_bytes = HOST_REGISTERED_BYTES_MODEST;
        error = create(node_count, &modest, core_count, rank, made);
    }
    return error;
}

/* The size of what may be a group's file. */
static int measure(int fd, uint64_t *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return DN_EGROUP;
    }
    /* Only a sealed memory file cannot shrink under us. */
    int seals = fcntl(fd, F_GET_SEALS);
    *bytes = (uint64_t)status.st_size;
    return seals < 0 || !(seals & F_SEAL_SHRINK) || *bytes < sizeof(struct group_memory) ||
                   *bytes % page_bytes() != 0
               ? DN_EGROUP
               : 0;
}

/* Reads the start of a file, all of it or nothing. Unlike a mapping this neither costs its owner
 * memory nor ends in a signal when the file has no pages to give. */
static bool read_start(int fd, void *to, uint64_t bytes)
{
    uint64_t at = 0;
    ssize_t got = 1;
    while (at < bytes && got > 0) {
        got = pread(fd, (unsigned char *)to + at, bytes - at, (off_t)at);
        at += got > 0 ? (uint64_t)got : 0;
    }
    return at == bytes;
}

/* What a group's file says of itself, checked. */
static int read_facts(int fd, struct group_facts *facts)
{
    uint64_t file_bytes;
    struct group_memory head;
    int error = measure(fd, &file_bytes);
    if (!error && !read_start(fd, &head, sizeof head)) {
        error = DN_EGROUP;
    }
    return error ? error : group_group_check(&head, file_bytes, facts);
}

int host_group_look(int fd, struct host_group *copied)
{
    struct group_facts facts;
    int error = read_facts(fd, &facts);
    if (error) {
        return error;
    }
    uint64_t bytes = facts.geometry.nodes_offset;
    void *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) {
        return DN_ENOMEM;
    }
    uint64_t used = facts.geometry.ports_offset +
                    facts.geometry.node_count * sizeof(struct group_port);
    if (!read_start(fd, words, used)) {
        (void)munmap(words, bytes);
        return DN_EGROUP;
    }
    *copied = (struct host_group){.fd = fd, .group = words, .bytes = bytes, .facts = facts};
    return 0;
}

int host_group_map(int fd, uint32_t rank, struct host_group *mapped)
{
    struct group_memory *group;
    struct group_facts facts;
    int error = read_facts(fd, &facts);
    if (error) {
        return error;
    }
    uint64_t bytes = facts.geometry.total_bytes;
    error = map_whole(fd, &facts.geometry, rank, &group);
    if (error) {
        return error;
    }
    /* Do this last: a descriptor that is no group belongs to somebody else. */
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        (void)munmap(group, bytes);
        return DN_EGROUP;
    }
    *mapped = (struct host_group){.fd = fd, .group = group, .bytes = bytes, .facts = facts};
    ask_for_huge_pages(mapped);
    return 0;
}

void host_group_unmap(struct host_group *mapped)
{
    (void)munmap(mapped->group, mapped->bytes);
    (void)close(mapped->fd);
    *mapped = (struct host_group){.fd = -1};
}

static struct group_view view_of(const struct host_group *mapped, uint32_t rank)
{
    struct group_view view;
    group_view_make(mapped->group, &mapped->facts, rank, &view);
    return view;
}

/* Somebody may sleep for a node that has left or died, and must wake to learn it. */
static void wake_others(const struct group_view *view)
{
    for (uint32_t other = 0; other < view->node_count; other++) {
        if (other != view->rank) {
            fabric_wake(view, other);
        }
    }
}

bool host_group_node_ended(const struct host_group *mapped, uint32_t rank, bool well)
{
    struct group_view view = view_of(mapped, rank);
    bool death = group_life_end(&view, rank, well);
    wake_others(&view);
    return death;
}

void host_group_tell_life(const struct host_group *mapped, uint32_t rank, enum dn_life life)
{
    struct group_view view = view_of(mapped, rank);
    enum dn_life before = group_life(&view, rank);
    if (group_life_gone(before) || life == before) {
        return;
    }
    switch (life) {
    case DN_STARTING: return; /* nobody goes back there */
    case DN_ATTACHED:
        /* Its process is on another host, and is not watched here. */
        (void)group_life_attach(&view);
        return;
    case DN_LEFT:
    case DN_DEAD: group_life_conclude(&view, rank, life); break;
    }
    wake_others(&view);
}

bool host_group_take_suspicion(const struct host_group *mapped, uint32_t rank, uint32_t *by)
{
    struct group_view view = view_of(mapped, rank);
    return group_life_take_suspicion(&view, rank, by);
}

uint32_t host_group_process(const struct host_group *mapped, uint32_t rank)
{
    struct group_view view = view_of(mapped, rank);
    return atomic_load(&view.ports[rank].process_id);
}

enum dn_life host_group_life(const struct host_group *mapped, uint32_t rank)
{
    struct group_view view = view_of(mapped, rank);
    return group_life(&view, rank);
}

bool host_group_is_whole(const struct host_group *mapped)
{
    return group_head_is_whole(mapped->group, &mapped->facts);
}

bool host_group_want_end(struct group_memory *group, int status)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(&group->end, &nobody, GROUP_END_WANTED | (uint8_t)status);
}

bool host_group_end_is_wanted(const struct group_memory *group, int *status)
{
    uint32_t end = atomic_load(&group->end);
    *status = (uint8_t)end;
    /* Any other value is no wish of a node's, but something that was written over the word. */
    return (end & ~UINT32_C(0xff)) == GROUP_END_WANTED;
}

void host_group_go_on(struct group_memory *group)
{
    atomic_store(&group->goes_on, 1);
}

static int notify_fd = -1; /* unless a variable names it */

void host_notify_by(int fd)
{
    notify_fd = fd;
}

/* The event by which the launcher is told; -1: there is no launcher. */
static int find_notify_fd(void)
{
    uint64_t fd;
    return fabric_environment_number(HOST_ENV_NOTIFY_FD, INT32_MAX, &fd) ? (int)fd : notify_fd;
}

void host_keep_from_programs(void)
{
    int fd = find_notify_fd();
    if (fd >= 0) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

void host_tell_launcher(void)
{
    const uint64_t one = 1;
    int fd = find_notify_fd();
    if (fd >= 0) {
        /* It can only fail when the launcher is gone, and then this process is too. */
        (void)syscall(SYS_write, fd, &one, sizeof one);
    }
}

void host_clear_notice(int fd)
{
    uint64_t count;
    struct iovec room = {&count, sizeof count};
    /* Nodes have the event, too, and may have made it blocking. Before Linux 5.8 events know no
     * read that does not wait in spite of that: then a node that takes the count between these two
     * calls holds the launcher up, but none that leaves the event as it is. */
    (void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
    if (preadv2(fd, &room, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP) {
        ssize_t bytes = read(fd, &count, sizeof count);
        (void)bytes;
    }
}

uint32_t host_core_count(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
        return (uint32_t)CPU_COUNT(&cores);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
