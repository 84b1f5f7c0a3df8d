/* Reading /proc/self/maps. */
#define _GNU_SOURCE
#include "host/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dimmnet.h"

/* A line of the list. */
struct mapping {
    uintptr_t start;
    uintptr_t end;
    int protection;
    bool shared;
    uint64_t offset;
    dev_t device;
    ino_t inode;
    const char *name; /* empty for most private memory */
};

void host_pieces_free(struct host_pieces *pieces)
{
    free(pieces->list);
    *pieces = (struct host_pieces){0};
}

static int pieces_add(struct host_pieces *pieces, struct host_piece piece)
{
    if (pieces->count == pieces->capacity) {
        size_t capacity = pieces->capacity ? 2 * pieces->capacity : 16;
        struct host_piece *grown = realloc(pieces->list, capacity * sizeof *grown);
        if (!grown) {
            return DN_ENOMEM;
        }
        pieces->list = grown;
        pieces->capacity = capacity;
    }
    pieces->list[pieces->count++] = piece;
    return 0;
}

int host_pieces_cut(struct host_pieces *pieces, uint64_t part_bytes)
{
    struct host_pieces cut = {0};
    int error = 0;
    for (size_t i = 0; i < pieces->count && !error; i++) {
        const struct host_piece whole = pieces->list[i];
        for (uint64_t at = 0; at < whole.bytes && !error;) {
            struct host_piece part = whole;
            uint64_t to_boundary = part_bytes - (whole.start + at) % part_bytes;
            part.start += at;
            part.file_offset += at;
            part.copy = whole.copy ? whole.copy + at : NULL;
            part.bytes = whole.bytes - at < to_boundary ? whole.bytes - at : to_boundary;
            at += part.bytes;
            error = pieces_add(&cut, part);
        }
    }
    if (error) {
        host_pieces_free(&cut);
        return error;
    }
    host_pieces_free(pieces);
    *pieces = cut;
    return 0;
}

static bool parse(char *line, struct mapping *mapping)
{
    char permissions[5];
    unsigned major;
    unsigned minor;
    uint64_t inode;
    int name_at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &mapping->start, &mapping->end, permissions, &mapping->offset, &major, &minor,
               &inode, &name_at) < 7) {
        return false;
    }
    mapping->protection = (permissions[0] == 'r' ? PROT_READ : 0) |
                          (permissions[1] == 'w' ? PROT_WRITE : 0) |
                          (permissions[2] == 'x' ? PROT_EXEC : 0);
    mapping->shared = permissions[3] == 's';
    mapping->device = makedev(major, minor);
    mapping->inode = (ino_t)inode;
    mapping->name = line + name_at;
    return true;
}

/* Gives `take` every mapping that touches [start, end), lowest first, until it returns an
 * error. */
static int walk(uintptr_t start, uintptr_t end, int (*take)(const struct mapping *, void *),
                void *context)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) {
        return DN_ESYSTEM;
    }
    char *line = NULL;
    size_t capacity = 0;
    int error = 0;
    struct mapping mapping;
    while (!error && getline(&line, &capacity, maps) > 0) {
        if (!parse(line, &mapping)) {
            errno = EPROTO;
            error = DN_ESYSTEM;
        } else if (mapping.start >= end) {
            break;
        } else if (mapping.end > start) {
            error = take(&mapping, context);
        }
    }
    free(line);
    (void)fclose(maps);
    return error;
}

/* ---- Memory that can be registered --------------------------------------------- */

struct wanted {
    uintptr_t start;
    uintptr_t end;
    uintptr_t reached; /* everything below is in the list */
    uint64_t file_offset;
    struct host_pieces *pieces;
};

struct span {
    uintptr_t start;
    uintptr_t end;
};

/* Whether an object's writable segment holds the whole span, in whole pages. */
static int segment_holds(struct dl_phdr_info *object, size_t size, void *context)
{
    const struct span *span = context;
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W)) {
            uintptr_t start = object->dlpi_addr + segment->p_vaddr;
            uintptr_t end = start + segment->p_memsz;
            if (span->start >= start - start % page_bytes &&
                span->end <= end + (page_bytes - end % page_bytes) % page_bytes) {
                return 1;
            }
        }
    }
    return 0;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Why a part of a mapping cannot be registered, or 0. */
static int judge(const struct mapping *mapping, struct span span)
{
    const int both = PROT_READ | PROT_WRITE;
    const char *name = mapping->name;
    if (starts_with(name, "[stack")) {
        return DN_ESTACK;
    }
    if (name[0] == '[' && !starts_with(name, "[heap]") && !starts_with(name, "[anon")) {
        return DN_ESPECIAL;
    }
    if (mapping->shared) {
        return DN_ESHARED;
    }
    if (starts_with(name, "/anon_hugepage")) {
        return DN_ESPECIAL;
    }
    if ((mapping->protection & both) != both) {
        return DN_EREADONLY;
    }
    if (mapping->inode != 0 && dl_iterate_phdr(segment_holds, &span) == 0) {
        return starts_with(name, "/dev/") ? DN_ESPECIAL : DN_EFILE;
    }
    return 0;
}

static int take_private(const struct mapping *mapping, void *context)
{
    struct wanted *wanted = context;
    if (mapping->start > wanted->reached) {
        return DN_EUNMAPPED;
    }
    struct span span = {wanted->reached, mapping->end < wanted->end ? mapping->end : wanted->end};
    int error = judge(mapping, span);
    if (!error) {
        error = pieces_add(wanted->pieces,
                           (struct host_piece){
                               .start = span.start,
                               .bytes = span.end - span.start,
                               .protection = mapping->protection,
                               .anonymous = mapping->inode == 0,
                               .file_offset = wanted->file_offset + (span.start - wanted->start),
                           });
    }
    wanted->reached = span.end;
    return error;
}

/* Whether the caller's own stack meets the range. The first thread's has a name in the
 * list; others are ordinary memory there. */
static bool own_stack_meets(uintptr_t start, uintptr_t end)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    if (gettid() == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return false;
    }
    bool known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
    (void)pthread_attr_destroy(&attributes);
    return known && start < (uintptr_t)low + bytes && (uintptr_t)low < end;
}

int host_mappings_private(uintptr_t start, uintptr_t end, uint64_t file_offset,
                          struct host_pieces *pieces)
{
    struct wanted wanted = {start, end, start, file_offset, pieces};
    if (own_stack_meets(start, end)) {
        return DN_ESTACK;
    }
    int error = walk(start, end, take_private, &wanted);
    return !error && wanted.reached < end ? DN_EUNMAPPED : error;
}

/* ---- Memory that was moved ------------------------------------------------------ */

struct moved {
    struct wanted wanted;
    struct stat file;
};

static int take_moved(const struct mapping *mapping, void *context)
{
    struct moved *moved = context;
    struct wanted *wanted = &moved->wanted;
    uintptr_t start = mapping->start > wanted->start ? mapping->start : wanted->start;
    uintptr_t end = mapping->end < wanted->end ? mapping->end : wanted->end;
    uint64_t file_offset = wanted->file_offset + (start - wanted->start);
    if (!mapping->shared || mapping->device != moved->file.st_dev ||
        mapping->inode != moved->file.st_ino ||
        mapping->offset + (start - mapping->start) != file_offset) {
        return 0;
    }
    return pieces_add(wanted->pieces, (struct host_piece){.start = start,
                                                          .bytes = end - start,
                                                          .protection = mapping->protection,
                                                          .file_offset = file_offset});
}

int host_mappings_of_group(uintptr_t start, uintptr_t end, int fd, uint64_t file_offset,
                           struct host_pieces *pieces)
{
    struct moved moved = {.wanted = {start, end, start, file_offset, pieces}};
    if (fstat(fd, &moved.file) != 0) {
        return DN_ESYSTEM;
    }
    return walk(start, end, take_moved, &moved);
}
