/* malloc, calloc, align, realloc and free of symmetric memory. All are collective; dn_alloc
 * and dn_free compare the PEs' arguments and are barriers. */
#include "shmem/collective.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What SHMEM_DEBUG knows of the heap: every allocation that has not been freed, sorted by
 * address. Threads may allocate and look at the same time. */
struct allocation {
    uintptr_t start;
    size_t bytes;
};

static struct {
    pthread_rwlock_t lock;
    struct allocation *list;
    size_t count;
    size_t capacity;
} known = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* The index of the first allocation that starts behind an address. */
static size_t first_behind(uintptr_t address)
{
    size_t low = 0;
    size_t high = known.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (known.list[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void remember(void *pointer, size_t bytes, const char *call)
{
    if (!shmem_state.debug) {
        return;
    }
    pthread_rwlock_wrlock(&known.lock);
    if (known.count == known.capacity) {
        size_t capacity = known.capacity ? known.capacity * 2 : 64;
        struct allocation *list = realloc(known.list, capacity * sizeof *list);
        if (!list) {
            shmem_fail(call, "no memory is left for what SHMEM_DEBUG remembers");
        }
        known.list = list;
        known.capacity = capacity;
    }
    size_t at = first_behind((uintptr_t)pointer);
    memmove(&known.list[at + 1], &known.list[at], (known.count - at) * sizeof *known.list);
    known.list[at] = (struct allocation){(uintptr_t)pointer, bytes};
    known.count++;
    pthread_rwlock_unlock(&known.lock);
}

static void forget(const void *pointer)
{
    if (!shmem_state.debug) {
        return;
    }
    pthread_rwlock_wrlock(&known.lock);
    size_t behind = first_behind((uintptr_t)pointer);
    if (behind > 0 && known.list[behind - 1].start == (uintptr_t)pointer) {
        memmove(&known.list[behind - 1], &known.list[behind],
                (known.count - behind) * sizeof *known.list);
        known.count--;
    }
    pthread_rwlock_unlock(&known.lock);
}

void shmem_debug_memory(const void *address, size_t bytes, const char *call)
{
    const struct shmem_segment *heap = &shmem_state.segments[SHMEM_HEAP];
    if ((uintptr_t)address - heap->base >= heap->bytes) {
        return;
    }
    pthread_rwlock_rdlock(&known.lock);
    size_t behind = first_behind((uintptr_t)address);
    struct allocation held = behind > 0 ? known.list[behind - 1] : (struct allocation){0};
    pthread_rwlock_unlock(&known.lock);
    size_t offset = (uintptr_t)address - held.start;
    if (offset >= held.bytes) {
        shmem_fail(call,
                   "address %p is in the symmetric heap, but in no allocation: it has been freed, "
                   "or was never allocated",
                   address);
    }
    if (bytes > held.bytes - offset) {
        shmem_fail(call,
                   "%zu bytes from address %p on leave their allocation of %zu bytes, which "
                   "has %zu left",
                   bytes, address, held.bytes, held.bytes - offset);
    }
}

void shmem_memory_end(void)
{
    free(known.list);
    known.list = NULL;
    known.count = 0;
    known.capacity = 0;
}

/* ---- Allocating ------------------------------------------------------------------------ */

/* False: a PE has died. */
static bool meet(const char *call)
{
    inner_trace_as(shmem_state.node, call);
    int error = dn_barrier(dn_team_all(shmem_state.node), DN_FOREVER);
    return !shmem_collective_end(&shmem_state.world, call, error);
}

/* NULL when the heap is too small, or a PE has died; every other error ends the job. */
static void *allocate(size_t alignment, size_t bytes, const char *call)
{
    void *pointer;
    shmem_require_initialised(call);
    if (bytes == 0) {
        return NULL;
    }
    inner_trace_as(shmem_state.node, call);
    int error = dn_alloc_aligned(shmem_state.node, alignment, bytes, &pointer);
    if (error == DN_ENOMEM) {
        errno = ENOMEM;
        return NULL;
    }
    if (error == DN_EMISMATCH) {
        shmem_fail(call,
                   "the PEs asked for different sizes (this one for %zu bytes), or called "
                   "different functions: all call in the same order with the same arguments",
                   bytes);
    }
    if (shmem_collective_end(&shmem_state.world, call, error)) {
        errno = EHOSTDOWN;
        return NULL;
    }
    remember(pointer, bytes, call);
    return pointer;
}

void *pshmem_malloc(size_t size)
{
    return allocate(CACHE_LINE_BYTES, size, "shmem_malloc");
}

/* Where atomics and signals are fast is everywhere. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints;
    return allocate(CACHE_LINE_BYTES, size, "shmem_malloc_with_hints");
}

/* What is wrong, errno says; all PEs see it alike, and nobody waits. */
void *pshmem_align(size_t alignment, size_t size)
{
    static const char call[] = "shmem_align";
    shmem_require_initialised(call);
    if (!is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment > inner_heap_alignment(shmem_state.node)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate(alignment, size, call);
}

void *pshmem_calloc(size_t count, size_t size)
{
    static const char call[] = "shmem_calloc";
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *pointer = allocate(CACHE_LINE_BYTES, bytes, call);
    if (pointer) {
        memset(pointer, 0, bytes);
        (void)meet(call);
    }
    return pointer;
}

static _Noreturn void fail_unallocated(const void *pointer, const char *call)
{
    shmem_fail(call,
               "%p is not the start of an allocation in the symmetric heap, or has been freed "
               "already",
               pointer);
}

static void release(void *pointer, const char *call)
{
    shmem_require_initialised(call);
    forget(pointer);
    inner_trace_as(shmem_state.node, call);
    int error = dn_free(shmem_state.node, pointer);
    if (error == DN_EINVAL) {
        fail_unallocated(pointer, call);
    }
    (void)shmem_collective_end(&shmem_state.world, call, error);
}

void pshmem_free(void *ptr)
{
    if (ptr) {
        release(ptr, "shmem_free");
    }
}

/* Whole grains that the allocation at a pointer has; ends the job when there is none. */
static uint64_t bytes_held(const void *pointer, const char *call)
{
    const struct shmem_segment *heap = &shmem_state.segments[SHMEM_HEAP];
    uint64_t bytes;
    if (!inner_heap_find(shmem_state.node, (uintptr_t)pointer - heap->base, &bytes)) {
        fail_unallocated(pointer, call);
    }
    return bytes;
}

/* An allocation that stays large enough stays where it is, unless that would keep more than
 * twice of what is needed. All PEs have the same table and decide alike. */
void *pshmem_realloc(void *ptr, size_t size)
{
    static const char call[] = "shmem_realloc";
    if (!ptr) {
        return allocate(CACHE_LINE_BYTES, size, call);
    }
    if (size == 0) {
        release(ptr, call);
        return NULL;
    }
    shmem_require_initialised(call);
    if (!meet(call)) {
        errno = EHOSTDOWN;
        return NULL;
    }
    uint64_t held = bytes_held(ptr, call);
    void *moved = NULL;
    if (size > held || size <= held / 2) {
        moved = allocate(CACHE_LINE_BYTES, size, call);
    }
    if (moved) {
        memcpy(moved, ptr, size < held ? size : held);
        release(ptr, call);
        return moved;
    }
    if (size > held) {
        return NULL;
    }
    forget(ptr);
    remember(ptr, size, call);
    (void)meet(call);
    return ptr;
}

SHMEM_ALIAS(malloc)
SHMEM_ALIAS(malloc_with_hints)
SHMEM_ALIAS(align)
SHMEM_ALIAS(calloc)
SHMEM_ALIAS(realloc)
SHMEM_ALIAS(free)

/* ---- Deprecated names --------------------------------------------------------------------- */

void *shmalloc(size_t size)
{
    return pshmem_malloc(size);
}

void *shmemalign(size_t alignment, size_t size)
{
    return pshmem_align(alignment, size);
}

void *shrealloc(void *ptr, size_t size)
{
    return pshmem_realloc(ptr, size);
}

void shfree(void *ptr)
{
    pshmem_free(ptr);
}
