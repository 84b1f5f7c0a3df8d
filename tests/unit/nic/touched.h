/* Fresh memory, and how much of it has been touched: the cost of a node. */
#ifndef TESTS_UNIT_NIC_TOUCHED_H
#define TESTS_UNIT_NIC_TOUCHED_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/unit.h"

static inline unsigned char *touched_new(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    /* A huge page would count as touched as a whole. */
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

static inline uint64_t touched_pages(unsigned char *memory, uint64_t bytes)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
    unsigned char *present = malloc(pages);
    uint64_t count = 0;
    assert_non_null(present);
    assert_int_equal(mincore(memory, bytes, present), 0);
    for (uint64_t i = 0; i < pages; i++) {
        count += present[i] & 1;
    }
    free(present);
    return count;
}

static inline void touched_free(unsigned char *memory, uint64_t bytes)
{
    assert_int_equal(munmap(memory, bytes), 0);
}

#endif
