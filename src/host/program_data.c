/* Reading the executable's program headers. */
#define _GNU_SOURCE
#include "host/program_data.h"

#include <link.h>
#include <unistd.h>

#include "dimmnet.h"

struct search {
    struct host_program_range *ranges;
    uint32_t count;
    uintptr_t page_bytes;
    uintptr_t read_only_start; /* RELRO; empty when there is none */
    uintptr_t read_only_end;
    uintptr_t first; /* the executable's first writable page */
    int error;
};

static uintptr_t page_of(const struct search *search, uintptr_t address)
{
    return address - address % search->page_bytes;
}

static uintptr_t page_behind(const struct search *search, uintptr_t address)
{
    return page_of(search, address + search->page_bytes - 1);
}

static void add(struct search *search, uintptr_t start, uintptr_t end)
{
    struct host_program_range *last = search->count > 0 ? &search->ranges[search->count - 1] : NULL;
    if (start >= end) {
        return;
    }
    /* Segments that meet in a page both claim it. */
    if (last && start < last->start + last->bytes) {
        start = last->start + last->bytes;
        if (start >= end) {
            return;
        }
    }
    if (last && start == last->start + last->bytes) {
        last->bytes += end - start;
    } else if (search->count == HOST_PROGRAM_RANGES) {
        search->error = DN_EFULL;
    } else {
        search->ranges[search->count++] = (struct host_program_range){start, end - start,
                                                                      start - search->first};
    }
}

/* The loader protects whole pages, the last one only if RELRO fills it. */
static void find_read_only(struct search *search, const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_RELRO) {
            uintptr_t start = object->dlpi_addr + segment->p_vaddr;
            search->read_only_start = page_of(search, start);
            search->read_only_end = page_of(search, start + segment->p_memsz);
        }
    }
}

/* The first object is the program itself, and the headers are sorted by address. */
static int look(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;
    bool any = false;
    (void)size;
    find_read_only(search, object);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) || segment->p_memsz == 0) {
            continue;
        }
        uintptr_t start = page_of(search, object->dlpi_addr + segment->p_vaddr);
        uintptr_t end = page_behind(search,
                                    object->dlpi_addr + segment->p_vaddr + segment->p_memsz);
        search->first = any ? search->first : start;
        any = true;
        if (search->read_only_start < search->read_only_end && search->read_only_start < end &&
            start < search->read_only_end) {
            add(search, start, search->read_only_start);
            add(search, search->read_only_end, end);
        } else {
            add(search, start, end);
        }
    }
    return 1;
}

int host_program_data(struct host_program_range ranges[HOST_PROGRAM_RANGES], uint32_t *count)
{
    struct search search = {.ranges = ranges, .page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE)};
    (void)dl_iterate_phdr(look, &search);
    if (!search.error) {
        *count = search.count;
    }
    return search.error;
}
