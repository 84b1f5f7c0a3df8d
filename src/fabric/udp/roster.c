/* Making and mapping rosters; handing the secret over. */
#define _GNU_SOURCE
#include "fabric/udp/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger than the file of the largest group. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

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

/* Maps a file, or with fd -1 memory without one; keeps the mapping out of core files and forked
 * children. */
static int map_memory(int fd, uint64_t bytes, int protection, struct udp_roster **roster)
{
    int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *map = mmap(NULL, bytes, protection, kind | MAP_NORESERVE, fd, 0);
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
        error = map_memory(fd, layout.file_bytes, PROT_READ | PROT_WRITE, &roster);
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
    *made = (struct udp_roster_file){.fd = fd, .roster = roster, .bytes = layout.file_bytes};
    return 0;
}

int udp_roster_seal(struct udp_roster_file *made)
{
    if (fcntl(made->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return DN_ESYSTEM;
    }
    made->roster->magic = UDP_ROSTER_MAGIC;
    return 0;
}

/* Nodes believe what the launcher wrote, but a launcher of another build may lay it out
 * differently, and any node of this host can write the file. So the roster is checked in a copy,
 * and no offset of it is believed: all follow from the node count. */
static int check(const struct udp_roster *roster, uint64_t file_bytes,
                 struct udp_roster_layout *layout)
{
    if (roster->magic != UDP_ROSTER_MAGIC) {
        return DN_EGROUP;
    }
    if (roster->version != UDP_ROSTER_VERSION) {
        return DN_EVERSION;
    }
    if (roster->node_count < 1 || roster->node_count > GROUP_NODES_MAX) {
        return DN_EGROUP;
    }
    lay_out(roster->node_count, layout);
    bool fits = layout->file_bytes == file_bytes &&
                memcmp(&roster->layout, layout, sizeof *layout) == 0;
    return fits ? 0 : DN_EGROUP;
}

/* The size of what may be a roster. Only a sealed memory file cannot shrink under us. */
static int measure(int fd, uint64_t *bytes)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) != 0) {
        return DN_EGROUP;
    }
    *bytes = (uint64_t)status.st_size;
    return *bytes < sizeof(struct udp_roster) || *bytes > FILE_BYTES_MAX ? DN_EGROUP : 0;
}

static bool read_all(int fd, unsigned char *to, uint64_t bytes, uint64_t offset)
{
    ssize_t got = 1;
    while (bytes > 0 && got > 0) {
        got = pread(fd, to, bytes, (off_t)offset);
        uint64_t more = got > 0 ? (uint64_t)got : 0;
        to += more;
        offset += more;
        bytes -= more;
    }
    return bytes == 0;
}

/* Copies the file, or what stands before the reports, into memory of this process alone, which
 * has room for the whole, and checks the copy. */
static int copy(int fd, bool with_reports, struct udp_roster_file *copied)
{
    uint64_t bytes;
    struct udp_roster *roster;
    struct udp_roster_layout layout;
    int error = measure(fd, &bytes);
    error = error ? error : map_memory(-1, bytes, PROT_READ | PROT_WRITE, &roster);
    if (error) {
        return error;
    }
    bool is_read = pread(fd, roster, sizeof *roster, 0) == (ssize_t)sizeof *roster;
    error = is_read ? check(roster, bytes, &layout) : DN_EGROUP;
    if (!error) {
        uint64_t wanted = with_reports ? bytes : layout.reports_offset;
        unsigned char *rest = (unsigned char *)roster + sizeof *roster;
        is_read = read_all(fd, rest, wanted - sizeof *roster, sizeof *roster);
        error = is_read ? 0 : DN_EGROUP;
    }
    if (error) {
        (void)munmap(roster, bytes);
        return error;
    }
    *copied = (struct udp_roster_file){.fd = fd, .roster = roster, .bytes = bytes};
    return 0;
}

int udp_roster_look(int fd, struct udp_roster_file *copied)
{
    return copy(fd, true, copied);
}

int udp_roster_map(int fd, struct udp_roster_file *mapped)
{
    struct udp_roster_file file;
    int error = copy(fd, false, &file);
    if (error) {
        return error;
    }
    uint64_t reports = file.roster->layout.reports_offset;
    unsigned char *start = (unsigned char *)file.roster;
    if (mprotect(start, reports, PROT_READ) != 0 ||
        mmap(start + reports, file.bytes - reports, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, (off_t)reports) == MAP_FAILED) {
        error = errno == ENOMEM ? DN_ENOMEM : DN_EGROUP;
    } else {
        (void)madvise(start + reports, file.bytes - reports, MADV_DONTFORK);
        (void)madvise(start + reports, file.bytes - reports, MADV_DONTDUMP);
    }
    /* Do this last: a descriptor that is no roster belongs to somebody else. */
    if (!error && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        error = DN_EGROUP;
    }
    if (error) {
        (void)munmap(file.roster, file.bytes);
        return error;
    }
    *mapped = file;
    return 0;
}

void udp_roster_unmap(struct udp_roster_file *mapped)
{
    (void)munmap(mapped->roster, mapped->bytes);
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
