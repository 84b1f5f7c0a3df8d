/* Shared memory and the protocol's: allocations, their homes, control and pool memory.
 *
 * Every node runs dn_alloc in step, so that offsets are equal everywhere. What is not allocated
 * is zeros on every node: it starts so, and whoever frees clears its own first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/extents.h"
#include "fagus/state.h"
#include "fagus/sync.h"
#include "fagus/traced.h"

#define CLEAR_BY_HAND_BYTES (UINT64_C(1) << 20)
/* The pool's part of the heap; large heaps are wanted for what programs allocate. */
#define POOL_PART 4
#define POOL_BYTES_MAX (UINT64_C(64) << 30)

/* A piece of shared memory from fagus_alloc. */
struct allocation {
    uint64_t offset;
    uint64_t bytes; /* as asked for */
    int placement;
    /* FAGUS_FIRST_TOUCH: a word per page, home + 1, or 0 while nobody has asked. The word of page
     * p that counts is at rank p % size; in a node's other words it keeps answers, which never
     * change. */
    uint32_t *homes;
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct allocation *table; /* by offset; guarded by table_lock */
static size_t table_count;
static size_t table_capacity;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct base_extents pool_extents; /* guarded by pool_lock */
static unsigned char *pool;

int fagus_memory_open(void)
{
    uint64_t bytes = fagus_state.bytes / POOL_PART;
    bytes = bytes < POOL_BYTES_MAX ? bytes : POOL_BYTES_MAX;
    void *start;
    int error = dn_alloc(fagus_state.node, bytes, &start);
    if (error) {
        return fagus_error_of(error);
    }
    bool is_made = base_extents_init(&pool_extents, bytes);
    error = fagus_all_or_none(is_made ? 0 : FAGUS_ENOMEM);
    if (error && is_made) {
        base_extents_release(&pool_extents);
    } else {
        pool = start;
    }
    return error;
}

void fagus_memory_close(void)
{
    base_extents_release(&pool_extents);
    pool = NULL;
    free(table);
    table = NULL;
    table_count = 0;
    table_capacity = 0;
}

/* Makes zeros of a piece of a node's heap that this process has the file of, and gives whole
 * pages of it back to the system. */
static void clear(unsigned char *start, uint64_t bytes)
{
    uint64_t offset;
    int fd = inner_file_of(fagus_state.node, start, &offset);
    if (bytes < CLEAR_BY_HAND_BYTES ||
        syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) !=
            0) {
        memset(start, 0, bytes);
    }
}

/* ---- Control memory ------------------------------------------------------------------------- */

int fagus_control_alloc(size_t bytes, void **pointer)
{
    return fagus_error_of(dn_alloc(fagus_state.node, bytes, pointer));
}

int fagus_control_free(void *pointer)
{
    uint64_t bytes;
    uint64_t place = fagus_place_of(pointer);
    if (!inner_heap_find(fagus_state.node, place, &bytes)) {
        return fagus_refuse(FAGUS_EINVAL);
    }
    /* From here on nobody writes to it any more. */
    int error = fagus_agree("control_free", &place, 1);
    if (error) {
        return error;
    }
    clear(pointer, bytes);
    return fagus_error_of(dn_free(fagus_state.node, pointer));
}

/* ---- The pool ------------------------------------------------------------------------------- */

void *fagus_pool_alloc(size_t bytes)
{
    uint64_t offset;
    (void)pthread_mutex_lock(&pool_lock);
    bool taken = base_extents_take(&pool_extents, bytes, CACHE_LINE_BYTES, &offset);
    (void)pthread_mutex_unlock(&pool_lock);
    return taken ? pool + offset : NULL;
}

void fagus_pool_free(void *pointer)
{
    if (!pointer) {
        return;
    }
    (void)pthread_mutex_lock(&pool_lock);
    bool given = base_extents_give(&pool_extents, (uint64_t)((unsigned char *)pointer - pool));
    (void)pthread_mutex_unlock(&pool_lock);
    INVARIANT(given);
}

/* ---- The table ------------------------------------------------------------------------------ */

/* How many allocations begin at or before the offset. With the lock held. */
static size_t count_up_to(uint64_t offset)
{
    size_t low = 0;
    size_t high = table_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The allocation that holds the range; false: none does. */
static bool find(const void *pointer, uint64_t bytes, struct allocation *found, uint64_t *offset)
{
    uint64_t at = (uint64_t)((uintptr_t)pointer - (uintptr_t)fagus_state.base);
    bool is_found = false;
    (void)pthread_rwlock_rdlock(&table_lock);
    size_t count = count_up_to(at);
    if (count > 0) {
        const struct allocation *last = &table[count - 1];
        uint64_t before = at - last->offset;
        is_found = bytes <= last->bytes && before <= last->bytes - bytes;
        *found = *last;
        *offset = at;
    }
    (void)pthread_rwlock_unlock(&table_lock);
    return is_found;
}

int fagus_offset_of(const void *pointer, size_t bytes, uint64_t *offset)
{
    struct allocation found;
    uint64_t at;
    if (!fagus_state.node) {
        return FAGUS_ESTATE;
    }
    if (bytes == 0 || !find(pointer, bytes, &found, &at)) {
        return FAGUS_ERANGE;
    }
    *offset = at;
    return 0;
}

static bool make_room_in_table(void)
{
    bool has_room = true;
    (void)pthread_rwlock_wrlock(&table_lock);
    if (table_count == table_capacity) {
        size_t capacity = table_capacity ? 2 * table_capacity : 64;
        struct allocation *larger = realloc(table, capacity * sizeof *larger);
        has_room = larger != NULL;
        if (larger) {
            table = larger;
            table_capacity = capacity;
        }
    }
    (void)pthread_rwlock_unlock(&table_lock);
    return has_room;
}

static void enter(const struct allocation *made)
{
    (void)pthread_rwlock_wrlock(&table_lock);
    size_t at = count_up_to(made->offset);
    memmove(&table[at + 1], &table[at], (table_count - at) * sizeof *table);
    table[at] = *made;
    table_count++;
    (void)pthread_rwlock_unlock(&table_lock);
}

static void strike_out(uint64_t offset)
{
    (void)pthread_rwlock_wrlock(&table_lock);
    size_t at = count_up_to(offset) - 1;
    table_count--;
    memmove(&table[at], &table[at + 1], (table_count - at) * sizeof *table);
    (void)pthread_rwlock_unlock(&table_lock);
}

/* ---- Allocating ----------------------------------------------------------------------------- */

static uint64_t page_count(uint64_t bytes)
{
    return (bytes - 1) / fagus_state.page_bytes + 1;
}

static int alloc_agreed(struct allocation *made)
{
    uint64_t rounded;
    void *own;
    if (!round_up(made->bytes, fagus_state.page_bytes, &rounded)) {
        return FAGUS_ENOMEM;
    }
    /* Large ones where huge pages fit. */
    uint64_t alignment = rounded >= FAGUS_HUGE_PAGE_BYTES ? FAGUS_HUGE_PAGE_BYTES
                                                          : fagus_state.page_bytes;
    int error = dn_alloc_aligned(fagus_state.node, alignment, rounded, &own);
    if (error) {
        return fagus_error_of(error);
    }
    made->offset = fagus_place_of(own);
    if (made->placement == FAGUS_FIRST_TOUCH) {
        void *homes;
        error = fagus_control_alloc(page_count(made->bytes) * sizeof *made->homes, &homes);
        if (error) {
            (void)dn_free(fagus_state.node, own);
            return error;
        }
        made->homes = homes;
    }
    return 0;
}

int fagus_alloc(size_t bytes, int placement, void **pointer)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, bytes, fagus_alloc(bytes, placement, pointer));
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    struct allocation made = {.bytes = bytes, .placement = placement};
    const uint64_t numbers[] = {bytes, (uint64_t)(int64_t)placement};
    fagus_collective_begin();
    if (!pointer || bytes == 0 || placement < FAGUS_FIRST_TOUCH || placement >= fagus_state.size) {
        error = fagus_refuse(FAGUS_EINVAL);
    } else if (!make_room_in_table()) {
        error = fagus_refuse(FAGUS_ENOMEM);
    } else {
        error = fagus_agree("fagus_alloc", numbers, 2);
        error = error ? error : alloc_agreed(&made);
        if (!error) {
            enter(&made);
            *pointer = fagus_pointer_at(made.offset);
        }
    }
    fagus_collective_end();
    return error;
}

/* All nodes are here: nobody uses it any more. */
static int free_agreed(const struct allocation *freed)
{
    strike_out(freed->offset);
    uint64_t bytes = page_count(freed->bytes) * fagus_state.page_bytes;
    if (!fagus_state.is_shared || fagus_state.rank == 0) {
        clear(fagus_unguarded_at(freed->offset), bytes);
    }
    int error = freed->homes ? fagus_control_free(freed->homes) : 0;
    int also = fagus_error_of(dn_free(fagus_state.node, fagus_state.heap + freed->offset));
    return error ? error : also;
}

int fagus_free(void *pointer)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, 0, fagus_free(pointer));
    struct allocation freed;
    uint64_t offset;
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    fagus_collective_begin();
    if (!find(pointer, 1, &freed, &offset) || offset != freed.offset) {
        error = fagus_refuse(FAGUS_ERANGE);
    } else if (fagus_is_bound(freed.offset, freed.bytes)) {
        error = fagus_refuse(FAGUS_EBUSY);
    } else {
        error = fagus_agree("fagus_free", &offset, 1);
        error = error ? error : free_agreed(&freed);
    }
    fagus_collective_end();
    return error;
}

/* ---- Homes ---------------------------------------------------------------------------------- */

/* Whoever asks first becomes the home. */
static int first_touch_home(const struct allocation *of, uint64_t page)
{
    uint32_t *word = &of->homes[page];
    uint32_t known = __atomic_load_n(word, __ATOMIC_RELAXED); /* a number by itself */
    if (known == 0) {
        int keeper = (int)(page % (uint64_t)fagus_state.size);
        uint32_t mine = (uint32_t)fagus_state.rank + 1;
        int error = dn_compare_swap_u32(fagus_lane(), fagus_remote_of(keeper, word), 0, mine,
                                        &known);
        if (error) {
            return fagus_error_of(error);
        }
        known = known ? known : mine;
        __atomic_store_n(word, known, __ATOMIC_RELAXED);
    }
    /* The words of homes are the nodes' to write. */
    return known <= (uint32_t)fagus_state.size ? (int)known - 1 : FAGUS_EPEER;
}

int fagus_home(const void *pointer)
{
    struct allocation found;
    uint64_t offset;
    if (!fagus_state.node) {
        return FAGUS_ESTATE;
    }
    if (!find(pointer, 1, &found, &offset)) {
        return FAGUS_ERANGE;
    }
    uint64_t size = (uint64_t)fagus_state.size;
    uint64_t page = (offset - found.offset) / fagus_state.page_bytes;
    switch (found.placement) {
    case FAGUS_ROUND_ROBIN: return (int)(page % size);
    case FAGUS_BLOCK: return (int)(page / ((page_count(found.bytes) - 1) / size + 1));
    case FAGUS_FIRST_TOUCH: return first_touch_home(&found, page);
    default: return found.placement;
    }
}
