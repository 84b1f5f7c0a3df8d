/* Making and mapping rosters; handing the secret over. */
#define _GNU_SOURCE
#include "fabric/udp/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t up(uint64_t value, uint64_t multiple)
{
    bool fits = round_up(value, multiple, &value);
    INVARIANT(fits);
    return value;
}

static void lay_out(uint32_t node_count, struct udp_roster_layout *layout)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t trips_bytes = node_count * sizeof(_Atomic uint32_t);
    layout->addresses_offset = up(sizeof(struct udp_roster), CACHE_LINE_BYTES);
    layout->reports_offset = up(layout->addresses_offset + node_count * sizeof(union udp_address),
                                page_bytes);
    /* Each report has cache lines of its own, because all nodes write theirs at once. */
    layout->report_stride_bytes = up(sizeof(struct udp_report) + trips_bytes, CACHE_LINE_BYTES);
    layout->file_bytes = up(layout->reports_offset + node_count * layout->report_stride_bytes,
                            page_bytes);
}

/* Keeps the mapping out of core files and forked children. */
static int map_file(int fd, uint64_t bytes, int protection, struct udp_roster **roster)
{
    void *map = mmap(NULL, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        return errno == ENOMEM ? DN_ENOMEM : DN_ESYSTEM;
    }
    (void)madvise(map, bytes, MADV_DONTFORK);
    (void)madvise(map, bytes, MADV_DONTDUMP);
    *roster = map;
    return 0;
}

int udp_roster_create(uint32_t node_count, struct udp_roster_file *made)
{
    INVARIANT(node_count >= 1 && node_count <= GROUP_NODES_MAX);
    int fd = memfd_create("dimmnet-roster", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return DN_ESYSTEM;
    }
    struct udp_roster_layout layout;
    lay_out(node_count, &layout);
    struct udp_roster *roster;
    int error;
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)layout.file_bytes) != 0) {
        error = DN_ESYSTEM;
    } else {
        error = map_file(fd, layout.file_bytes, PROT_READ | PROT_WRITE, &roster);
    }
    if (error) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
        return error;
    }
    roster->version = UDP_ROSTER_VERSION;
    roster->node_count = node_count;
    roster->layout = layout;
    *made = (struct udp_roster_file){.fd = fd, .roster = roster};
    return 0;
}

int udp_roster_seal(struct udp_roster_file *made)
{
    if (fcntl(made->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return DN_ESYSTEM;
    }
    /* Pairs with the acquire in check. */
    __atomic_store_n(&made->roster->magic, UDP_ROSTER_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

/* Nodes believe what the launcher wrote, but a launcher of another build may lay it out
 * differently. */
static int check(const struct udp_roster *roster, uint64_t file_bytes)
{
    if (__atomic_load_n(&roster->magic, __ATOMIC_ACQUIRE) != UDP_ROSTER_MAGIC) {
        return DN_EGROUP;
    }
    if (roster->version != UDP_ROSTER_VERSION) {
        return DN_EVERSION;
    }
    if (roster->node_count < 1 || roster->node_count > GROUP_NODES_MAX) {
        return DN_EGROUP;
    }
    struct udp_roster_layout layout;
    lay_out(roster->node_count, &layout);
    bool fits = layout.file_bytes == file_bytes &&
                memcmp(&roster->layout, &layout, sizeof layout) == 0;
    return fits ? 0 : DN_EGROUP;
}

int udp_roster_map(int fd, struct udp_roster_file *mapped)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return DN_EGROUP;
    }
    /* Only a sealed memory file cannot shrink under us. */
    int seals = fcntl(fd, F_GET_SEALS);
    uint64_t bytes = (uint64_t)status.st_size;
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || bytes < sizeof(struct udp_roster)) {
        return DN_EGROUP;
    }
    struct udp_roster *roster;
    int error = map_file(fd, bytes, PROT_READ, &roster);
    if (error) {
        return error == DN_ENOMEM ? error : DN_EGROUP;
    }
    error = check(roster, bytes);
    /* A process that only looks may have a descriptor for reading alone (EACCES). */
    if (!error &&
        mprotect((unsigned char *)roster + roster->layout.reports_offset,
                 bytes - roster->layout.reports_offset, PROT_READ | PROT_WRITE) != 0 &&
        errno != EACCES) {
        error = DN_ENOMEM;
    }
    /* Do this last: a descriptor that is no roster belongs to somebody else. */
    if (!error && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        error = DN_EGROUP;
    }
    if (error) {
        (void)munmap(roster, bytes);
        return error;
    }
    *mapped = (struct udp_roster_file){.fd = fd, .roster = roster};
    return 0;
}

void udp_roster_unmap(struct udp_roster_file *mapped)
{
    (void)munmap(mapped->roster, mapped->roster->layout.file_bytes);
    (void)close(mapped->fd);
    *mapped = (struct udp_roster_file){.fd = -1};
}

int udp_secret_leave(const unsigned char secret[UDP_SECRET_BYTES], int *fd)
{
    int ends[2];
    /* Nobody ever waits at it: whoever comes too late finds it empty. */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return DN_ESYSTEM;
    }
    bool is_left = write(ends[1], secret, UDP_SECRET_BYTES) == UDP_SECRET_BYTES;
    int saved = errno;
    (void)close(ends[1]);
    if (!is_left) {
        (void)close(ends[0]);
        errno = saved;
        return DN_ESYSTEM;
    }
    *fd = ends[0];
    return 0;
}

int udp_secret_take(int fd, unsigned char secret[UDP_SECRET_BYTES])
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)) {
        return DN_EGROUP;
    }
    bool is_whole = read(fd, secret, UDP_SECRET_BYTES) == UDP_SECRET_BYTES;
    (void)close(fd);
    return is_whole ? 0 : DN_EGROUP;
}
