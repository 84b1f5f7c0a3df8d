/* One call, or where the kernel lacks it (before Linux 5.9) its list of what is open. */
#define _GNU_SOURCE
#include "host/close_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"

/* As many as the kernel gives a process unless somebody has raised fs.nr_open. */
enum { FILES_MAX = 1 << 20 };

/* False: the name is no number. */
static bool number_of(const char *name, unsigned *number)
{
    *number = 0;
    for (const char *at = name; *at >= '0' && *at <= '9'; at++) {
        *number = 10 * *number + (unsigned)(*at - '0');
    }
    return *name >= '0' && *name <= '9';
}

/* The list is read by the kernel's own call, as opendir allocates. Its order is that of the
 * numbers, so closing what has been read does not make it skip others. */
static void close_listed(int list, unsigned first, unsigned last)
{
    _Alignas(struct dirent64) char room[1024];
    ssize_t bytes;
    while ((bytes = getdents64(list, room, sizeof room)) > 0) {
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(room + at);
            unsigned fd;
            if (number_of(entry->d_name, &fd) && fd >= first && fd <= last &&
                fd != (unsigned)list) {
                (void)close((int)fd);
            }
            at += entry->d_reclen;
        }
    }
}

/* Tries each number below the limit. That may be as good as none, and then trying takes minutes:
 * so this ends where a kernel's own bound usually is. What lies above the limit, opened before
 * somebody lowered it, stays open. */
static void close_each(unsigned first, unsigned last)
{
    struct rlimit files;
    rlim_t limit = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : FILES_MAX;
    limit = limit < FILES_MAX ? limit : FILES_MAX;
    for (rlim_t fd = first; fd <= last && fd < limit; fd++) {
        (void)close((int)fd);
    }
}

void host_close_files(unsigned first, unsigned last)
{
    if (first > last || close_range(first, last, 0) == 0) {
        return;
    }
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) {
        /* No number is free, or there is no /proc. */
        close_each(first, last);
        return;
    }
    close_listed(list, first, last);
    (void)close(list);
}
