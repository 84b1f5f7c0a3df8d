/* Copying by the kernel, replacing mappings whole. */
#define _GNU_SOURCE
#include "host/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/killpoint.h"
#include "dimmnet.h"

#define COPY_BYTES_MAX (UINT64_C(1) << 30)
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)

/* Bare system calls below: a sanitizer would look at all the bytes of a page, also at
 * those that belong to nobody, and would forget what it knows of a replaced page. */

static int error_of_errno(void)
{
    return errno == ENOMEM || errno == ENOSPC ? DN_ENOMEM
           : errno == EFAULT                  ? DN_EUNMAPPED
                                              : DN_ESYSTEM;
}

/* Shows the file in a piece's place. */
static bool map_shared(int fd, const struct host_piece *piece)
{
    return syscall(SYS_mmap, piece->start, piece->bytes, piece->protection, MAP_SHARED | MAP_FIXED,
                   fd, piece->file_offset) != -1;
}

/* Reads or writes the file by SYS_pread64 or SYS_pwrite64. The kernel copies, so that missing
 * memory is an error instead of a fault. */
static bool copy(long call, int fd, uintptr_t memory, uint64_t bytes, uint64_t offset)
{
    while (bytes > 0) {
        uint64_t part = bytes < COPY_BYTES_MAX ? bytes : COPY_BYTES_MAX;
        long done = syscall(call, fd, memory, part, offset);
        if (done <= 0) {
            return false;
        }
        memory += (uint64_t)done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return true;
}

static int write_file(int fd, uintptr_t from, uint64_t bytes, uint64_t offset)
{
    return copy(SYS_pwrite64, fd, from, bytes, offset) ? 0 : error_of_errno();
}

static int read_file(int fd, uintptr_t to, uint64_t bytes, uint64_t offset)
{
    return copy(SYS_pread64, fd, to, bytes, offset) ? 0 : DN_ESYSTEM;
}

void host_pages_clear(int fd, uint64_t file_offset, uint64_t bytes)
{
    int saved = errno;
    (void)syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, file_offset,
                  bytes);
    errno = saved;
}

/* ---- Private to shared ---------------------------------------------------------- */

/* Copies those pages of an anonymous piece that were ever touched; the others are zeros, as the
 * file is there. So a large array of which little is used costs little. */
static int write_touched(int fd, int pagemap, const struct host_piece *piece)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[512];
    for (uint64_t at = 0; at < piece->bytes;) {
        uint64_t left = (piece->bytes - at) / page_bytes;
        uint64_t count = left < 512 ? left : 512;
        ssize_t wanted = (ssize_t)(count * sizeof entries[0]);
        off_t where = (off_t)((piece->start + at) / page_bytes * sizeof entries[0]);
        if (pread(pagemap, entries, (size_t)wanted, where) != wanted) {
            return write_file(fd, piece->start + at, piece->bytes - at, piece->file_offset + at);
        }
        for (uint64_t first = 0, last; first < count; first = last) {
            bool touched = entries[first] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED);
            last = first + 1;
            while (last < count &&
                   touched == !!(entries[last] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))) {
                last++;
            }
            uint64_t from = at + first * page_bytes;
            int error = touched ? write_file(fd, piece->start + from, (last - first) * page_bytes,
                                             piece->file_offset + from)
                                : 0;
            if (error) {
                return error;
            }
        }
        at += count * page_bytes;
    }
    return 0;
}

static int write_piece(int fd, int pagemap, const struct host_piece *piece)
{
    host_pages_clear(fd, piece->file_offset, piece->bytes);
    return piece->anonymous && pagemap >= 0
               ? write_touched(fd, pagemap, piece)
               : write_file(fd, piece->start, piece->bytes, piece->file_offset);
}

/* Undoes what was replaced before the kernel refused. This takes no more mappings than there
 * are, so the kernel has no reason to refuse it, too. */
static void take_back(int fd, const struct host_pieces *pieces, size_t replaced)
{
    for (size_t i = 0; i < replaced; i++) {
        const struct host_piece *piece = &pieces->list[i];
        bool mapped = syscall(SYS_mmap, piece->start, piece->bytes, piece->protection,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
        INVARIANT(mapped && read_file(fd, piece->start, piece->bytes, piece->file_offset) == 0);
    }
}

/* Piece by piece, for the fabric's threads write the program's memory, too, and the caller does
 * their work between two pieces. */
int host_pages_share(int fd, struct host_pieces *pieces, struct host_stop *stop)
{
    int error = 0;
    size_t shared = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (; shared < pieces->count; shared++) {
        error = write_piece(fd, pagemap, &pieces->list[shared]);
        KILL_POINT("register: pages copied, still private");
        if (!error && !map_shared(fd, &pieces->list[shared])) {
            error = error_of_errno();
        }
        if (error) {
            break;
        }
        host_threads_serve(stop);
    }
    if (pagemap >= 0) {
        (void)close(pagemap);
    }
    if (error) {
        take_back(fd, pieces, shared);
        for (size_t i = 0; i < pieces->count; i++) {
            host_pages_clear(fd, pieces->list[i].file_offset, pieces->list[i].bytes);
        }
    }
    KILL_POINT("register: pages shared, no name yet");
    return error;
}

/* ---- Shared to private ---------------------------------------------------------- */

int host_pages_reserve(struct host_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        void *copy = mmap(NULL, pieces->list[i].bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED) {
            host_pages_drop(pieces);
            return DN_ENOMEM;
        }
        pieces->list[i].copy = copy;
    }
    return 0;
}

/* A part of the file that holds pages. The kernel looks at each of them to find the end, which
 * must not happen again for each of many pieces. */
struct run {
    uint64_t from;
    uint64_t to;
};

/* The first run that ends behind `at`; an empty one at the end of the file. (lseek changes the
 * file's position, which nobody uses.) */
static int find_run(int fd, uint64_t at, struct run *run)
{
    off_t from = lseek(fd, (off_t)at, SEEK_DATA);
    off_t to = from < 0 ? from : lseek(fd, from, SEEK_HOLE);
    if (from < 0 && errno == ENXIO) {
        *run = (struct run){UINT64_MAX, UINT64_MAX};
        return 0;
    }
    *run = (struct run){(uint64_t)from, (uint64_t)to};
    return to < 0 ? DN_ESYSTEM : 0;
}

/* Reads only what is in the file; the rest of the copy is zeros already. *run is the last one that
 * was found, at first empty. */
static int read_piece(int fd, const struct host_piece *piece, struct run *run)
{
    uint64_t end = piece->file_offset + piece->bytes;
    for (uint64_t at = piece->file_offset; at < end; at = run->to) {
        int error = at >= run->from && at < run->to ? 0 : find_run(fd, at, run);
        if (error || run->from >= end) {
            return error;
        }
        uint64_t from = at > run->from ? at : run->from;
        uint64_t to = end < run->to ? end : run->to;
        error = read_file(fd, (uintptr_t)piece->copy + (from - piece->file_offset), to - from,
                          from);
        if (error) {
            return error;
        }
    }
    return 0;
}

int host_pages_copy(int fd, const struct host_pieces *pieces)
{
    int error = 0;
    struct run run = {0};
    for (size_t i = 0; i < pieces->count && !error; i++) {
        error = read_piece(fd, &pieces->list[i], &run);
    }
    return error;
}

/* Puts a piece's private memory in its place. */
static bool put_in_place(const struct host_piece *piece)
{
    if (piece->protection != (PROT_READ | PROT_WRITE)) {
        (void)syscall(SYS_mprotect, piece->copy, piece->bytes, piece->protection);
    }
    return syscall(SYS_mremap, piece->copy, piece->bytes, piece->bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED, piece->start) != -1;
}

/* Undoes what was made private before the kernel refused; see take_back. */
static void give_again(int fd, const struct host_pieces *pieces, size_t replaced)
{
    for (size_t i = 0; i < replaced; i++) {
        const struct host_piece *piece = &pieces->list[i];
        bool shared = write_file(fd, piece->start, piece->bytes, piece->file_offset) == 0 &&
                      map_shared(fd, piece);
        INVARIANT(shared);
    }
}

int host_pages_unshare(int fd, struct host_pieces *pieces, struct host_stop *stop)
{
    struct run run = {0};
    for (size_t i = 0; i < pieces->count; i++) {
        int error = read_piece(fd, &pieces->list[i], &run);
        KILL_POINT("deregister: pages copied, still shared");
        if (!error && !put_in_place(&pieces->list[i])) {
            error = DN_ESYSTEM;
        }
        if (error) {
            give_again(fd, pieces, i);
            return error;
        }
        pieces->list[i].copy = NULL;
        host_threads_serve(stop);
    }
    return 0;
}

/* Shows the file in a piece's place, too, but what is written there stays in this process. */
static void map_private(int fd, const struct host_piece *piece)
{
    (void)syscall(SYS_mmap, piece->start, piece->bytes, piece->protection, MAP_PRIVATE | MAP_FIXED,
                  fd, piece->file_offset);
}

void host_pages_replace(int fd, struct host_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        const struct host_piece *piece = &pieces->list[i];
        if (!piece->copy || !put_in_place(piece)) {
            map_private(fd, piece);
        }
    }
    for (size_t i = 0; i < pieces->count; i++) {
        pieces->list[i].copy = NULL;
    }
}

void host_pages_drop(struct host_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        if (pieces->list[i].copy) {
            (void)munmap(pieces->list[i].copy, pieces->list[i].bytes);
            pieces->list[i].copy = NULL;
        }
    }
}
