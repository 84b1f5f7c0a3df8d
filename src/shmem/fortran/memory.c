/* SHPALLOC, SHPDEALLC and SHPCLMOVE: blocks of the symmetric heap, in words of 32 bits.
 *
 * A wrong address is an error code and not the end of the job, so a table knows the blocks. All
 * PEs make the same calls and have the same table; each finds a mistake by itself, without waiting
 * for the others. */
#include "shmem/fortran/fortran.h"

#include <pthread.h>
#include <stdlib.h>

enum { WORD_BYTES = 4 };

/* As the specification numbers them. */
enum {
    IN_PLACE = 0,
    MOVED = 1,
    NO_LENGTH = -1,
    NO_MEMORY = -2,
    NOT_IN_HEAP = -3,
    IS_FREE = -4,
    NOT_AT_START = -5,
};

struct block {
    uintptr_t start;
    size_t bytes;
    struct block *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* never held while a PE waits */
static struct block *blocks;
/* Around all blocks that there have ever been. */
static uintptr_t lowest = UINTPTR_MAX;
static uintptr_t behind_highest;

/* With the lock held, here and in the next four. */
static void widen(const struct block *block)
{
    if (block->start < lowest) {
        lowest = block->start;
    }
    if (block->start + block->bytes > behind_highest) {
        behind_highest = block->start + block->bytes;
    }
}

static struct block *find(uintptr_t start)
{
    struct block *block = blocks;
    while (block && block->start != start) {
        block = block->next;
    }
    return block;
}

static bool is_inside_a_block(uintptr_t address)
{
    for (const struct block *block = blocks; block; block = block->next) {
        if (address - block->start < block->bytes) {
            return true;
        }
    }
    return false;
}

static int fault_of(uintptr_t start)
{
    if (find(start)) {
        return 0;
    }
    if (is_inside_a_block(start)) {
        return NOT_AT_START;
    }
    return start >= lowest && start < behind_highest ? IS_FREE : NOT_IN_HEAP;
}

static void forget(uintptr_t start)
{
    struct block **at = &blocks;
    while (*at && (*at)->start != start) {
        at = &(*at)->next;
    }
    if (*at) {
        struct block *gone = *at;
        *at = gone->next;
        free(gone);
    }
}

/* 0, or what is wrong with the address of a block. */
static int check(uintptr_t start)
{
    pthread_mutex_lock(&lock);
    int fault = fault_of(start);
    pthread_mutex_unlock(&lock);
    return fault;
}

/* Puts a block into the table in the place of the one that was at `old`, if there was one. */
static void note(uintptr_t old, uintptr_t start, size_t bytes, const char *call)
{
    struct block *block = malloc(sizeof *block);
    if (!block) {
        fortran_fail(call, "no memory for the table of blocks");
    }
    pthread_mutex_lock(&lock);
    forget(old);
    *block = (struct block){start, bytes, blocks};
    blocks = block;
    widen(block);
    pthread_mutex_unlock(&lock);
}

void fortran_memory_end(void)
{
    pthread_mutex_lock(&lock);
    while (blocks) {
        forget(blocks->start);
    }
    lowest = UINTPTR_MAX;
    behind_highest = 0;
    pthread_mutex_unlock(&lock);
}

/* Gives the code to the program, or ends the job if it has asked for that. */
static int report(int code, const int *abort, const char *call)
{
    static const char *const sentences[] = {
        [-NO_LENGTH] = "a length is at least 1 word of 32 bits",
        [-NO_MEMORY] =
            "the symmetric heap has no room for it; SHMEM_SYMMETRIC_SIZE makes it larger",
        [-NOT_IN_HEAP] = "the address is not in the symmetric heap",
        [-IS_FREE] = "the block has been freed already",
        [-NOT_AT_START] = "the address is not the beginning of a block",
    };
    if (code < 0 && *abort) {
        fortran_fail(call, "%s", sentences[-code]);
    }
    return code;
}

static int allocate(uintptr_t *addr, int length)
{
    if (length < 1) {
        return NO_LENGTH;
    }
    size_t bytes = (size_t)length * WORD_BYTES;
    void *start = shmem_malloc(bytes);
    if (!start) {
        return NO_MEMORY;
    }
    *addr = (uintptr_t)start;
    note(*addr, *addr, bytes, "SHPALLOC");
    return 0;
}

static int release(uintptr_t addr)
{
    int fault = check(addr);
    if (!fault) {
        pthread_mutex_lock(&lock);
        forget(addr);
        pthread_mutex_unlock(&lock);
        shmem_free((void *)addr);
    }
    return fault;
}

static int change(uintptr_t *addr, int length)
{
    if (length < 1) {
        return NO_LENGTH;
    }
    int fault = check(*addr);
    if (fault) {
        return fault;
    }
    size_t bytes = (size_t)length * WORD_BYTES;
    uintptr_t start = (uintptr_t)shmem_realloc((void *)*addr, bytes);
    if (!start) {
        return NO_MEMORY;
    }
    bool moved = start != *addr;
    note(*addr, start, bytes, "SHPCLMOVE");
    *addr = start;
    return moved ? MOVED : IN_PLACE;
}

FORTRAN_DEFINE(void, shpalloc,
               (uintptr_t * addr, const int *length, int *errcode, const int *abort),
               *errcode = report(allocate(addr, *length), abort, "SHPALLOC"))
FORTRAN_DEFINE(void, shpdeallc, (const uintptr_t *addr, int *errcode, const int *abort),
               *errcode = report(release(*addr), abort, "SHPDEALLC"))
FORTRAN_DEFINE(void, shpclmove,
               (uintptr_t * addr, const int *length, int *status, const int *abort),
               *status = report(change(addr, *length), abort, "SHPCLMOVE"))
