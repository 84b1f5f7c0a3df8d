/* Set-up and queries, the symmetric heap, static variables as symmetric objects, shmem_ptr,
 * and the transfers that the typed tests leave out. */
#include <stddef.h>

#include "shmem_spec.h"

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

/* ---- Constants and queries --------------------------------------------------------- */

/* All of them are there and are constants. */
static void constants(void)
{
    static const long values[] = {SHMEM_THREAD_SINGLE,
                                  SHMEM_THREAD_FUNNELED,
                                  SHMEM_THREAD_SERIALIZED,
                                  SHMEM_THREAD_MULTIPLE,
                                  SHMEM_CMP_EQ,
                                  SHMEM_CMP_NE,
                                  SHMEM_CMP_LT,
                                  SHMEM_CMP_LE,
                                  SHMEM_CMP_GT,
                                  SHMEM_CMP_GE,
                                  _SHMEM_CMP_EQ,
                                  _SHMEM_CMP_NE,
                                  _SHMEM_CMP_LT,
                                  _SHMEM_CMP_LE,
                                  _SHMEM_CMP_GT,
                                  _SHMEM_CMP_GE,
                                  SHMEM_SIGNAL_SET,
                                  SHMEM_SIGNAL_ADD,
                                  SHMEM_SYNC_VALUE,
                                  _SHMEM_SYNC_VALUE,
                                  SHMEM_CTX_SERIALIZED,
                                  SHMEM_CTX_PRIVATE,
                                  SHMEM_CTX_NOSTORE,
                                  SHMEM_TEAM_NUM_CONTEXTS,
                                  SHMEM_MALLOC_ATOMICS_REMOTE,
                                  SHMEM_MALLOC_SIGNAL_REMOTE};
    require(sizeof values > 0);
    enum {
        WORK = SHMEM_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE +
               SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE +
               SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_REDUCE_MIN_WRKDATA_SIZE +
               _SHMEM_BARRIER_SYNC_SIZE + _SHMEM_BCAST_SYNC_SIZE + _SHMEM_COLLECT_SYNC_SIZE +
               _SHMEM_REDUCE_SYNC_SIZE + _SHMEM_REDUCE_MIN_WRKDATA_SIZE
    };
    require(WORK >= 13);
    require(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED);
    require(SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED);
    require(SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
    require(SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 6);
    require(_SHMEM_MAJOR_VERSION == 1 && _SHMEM_MINOR_VERSION == 6);
    require(strlen(SHMEM_VENDOR_STRING) < SHMEM_MAX_NAME_LEN);
    require(strcmp(_SHMEM_VENDOR_STRING, SHMEM_VENDOR_STRING) == 0);
    require(_SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN);
    require(SHMEM_CTX_DEFAULT != SHMEM_CTX_INVALID);
    require(SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID && SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID);
    require((SHMEM_CTX_SERIALIZED & SHMEM_CTX_PRIVATE) == 0);
    require((SHMEM_CTX_SERIALIZED & SHMEM_CTX_NOSTORE) == 0);
    require((SHMEM_CTX_PRIVATE & SHMEM_CTX_NOSTORE) == 0);
}

static int global;

static void queries(void)
{
    int major = 0;
    int minor = 0;
    int on_stack = 0;
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    require(major == 1 && minor == 6);
    require(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    require(shmem_my_pe() >= 0 && shmem_my_pe() < shmem_n_pes());
    require(_my_pe() == shmem_my_pe() && _num_pes() == shmem_n_pes());
    require(!shmem_pe_accessible(-1) && !shmem_pe_accessible(me.size));
    char *heap = shmem_malloc(100);
    for (int pe = 0; pe < me.size; pe++) {
        require(shmem_pe_accessible(pe) == 1);
        require(shmem_addr_accessible(heap, pe) == 1);
        require(shmem_addr_accessible(heap + 99, pe) == 1);
        require(shmem_addr_accessible(&global, pe) == 1);
        require(!shmem_addr_accessible(&on_stack, pe));
        require(!shmem_addr_accessible(NULL, pe));
    }
    void *private = malloc(100);
    require(!shmem_addr_accessible(private, 0));
    free(private);
    shmem_free(heap);
}

/* The specification leaves this open; programs of several parts do it. */
static void a_second_init_wants_a_finalize_of_its_own(void)
{
    int is_initialised = 0;
    shmem_init();
    require(shmem_my_pe() == me.rank && shmem_n_pes() == me.size);
    shmem_finalize();
    shmem_query_initialized(&is_initialised);
    require(is_initialised);
}

static void cache_management_under_deprecated_names(void)
{
    static long box;
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(&box);
    shmem_long_p(&box, me.rank + 1, right());
    shmem_barrier_all();
    shmem_udcflush();
    shmem_udcflush_line(&box);
    require(box == left() + 1);
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(&box);
}

/* ---- The heap ---------------------------------------------------------------------- */

/* No PE waits for another here, so one alone may call. */
static void nothing_to_do_is_no_barrier(void)
{
    if (me.rank == 0) {
        require(!shmem_malloc(0) && !shmem_calloc(0, 8) && !shmem_calloc(8, 0));
        require(!shmem_align(64, 0) && !shmem_malloc_with_hints(0, 0));
        require(!shmem_realloc(NULL, 0));
        shmem_free(NULL);
    }
}

static void allocations_are_aligned(void)
{
    for (size_t bytes = 1; bytes < 300; bytes += 13) {
        void *some = shmem_malloc(bytes);
        void *more = shmem_malloc_with_hints(bytes, SHMEM_MALLOC_ATOMICS_REMOTE |
                                                        SHMEM_MALLOC_SIGNAL_REMOTE);
        require(some && (uintptr_t)some % _Alignof(max_align_t) == 0);
        require(more && (uintptr_t)more % _Alignof(max_align_t) == 0);
        shmem_free(some);
        shmem_free(more);
    }
    for (size_t alignment = sizeof(void *); alignment <= (size_t)1 << 20; alignment *= 2) {
        void *aligned = shmem_align(alignment, 24);
        require_else(aligned && (uintptr_t)aligned % alignment == 0, "alignment %zu", alignment);
        shmem_free(aligned);
    }
    require(!shmem_align(3, 8) && !shmem_align(48, 8));
}

static void calloc_clears_what_was_used(void)
{
    for (int round = 0; round < 4; round++) {
        unsigned char *dirty = shmem_malloc(10000);
        memset(dirty, 0xa5, 10000);
        shmem_free(dirty);
        unsigned char *clean = shmem_calloc(1000, 10);
        require(clean && live_all_are(clean, 10000, 0));
        shmem_barrier_all();
        /* No clearing comes after another PE's first store. */
        shmem_uchar_p(&clean[5], 9, right());
        shmem_barrier_all();
        require(clean[5] == 9);
        shmem_free(clean);
    }
    require(!shmem_calloc(SIZE_MAX / 2, 4));
}

static void realloc_keeps_the_content(void)
{
    uint64_t seed = me.seed + (uint64_t)me.rank;
    unsigned char *memory = shmem_realloc(NULL, 1000);
    require(memory);
    live_fill(memory, 1000, seed);
    static const size_t sizes[] = {1000, 5000, 200000, 199999, 3000, 100, 4000000, 64};
    size_t kept = 1000;
    for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
        void *between = shmem_malloc(64);
        memory = shmem_realloc(memory, sizes[i]);
        kept = sizes[i] < kept ? sizes[i] : kept;
        require(memory && live_first_other(memory, kept / 8 * 8, seed) >= kept / 8 * 8);
        shmem_free(between);
    }
    /* It is symmetric memory after the move as well. */
    shmem_uchar_p(memory, (unsigned char)me.rank, right());
    shmem_barrier_all();
    require(memory[0] == (unsigned char)left());
    require(!shmem_realloc(memory, 0));
}

static void freed_memory_is_used_again(void)
{
    size_t third = (size_t)300 << 20; /* of a heap of 1 GB */
    for (int round = 0; round < 50; round++) {
        char *memory = shmem_malloc(third);
        char *more = shmem_malloc(third);
        require_else(memory && more, "round %d", round);
        memory[0] = more[third - 1] = 1;
        shmem_free(more);
        shmem_free(memory);
    }
    void *many[200];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < LIVE_COUNT(many); i++) {
            many[i] = shmem_malloc(i * 37 + 1);
            require(many[i]);
        }
        for (size_t i = 0; i < LIVE_COUNT(many); i++) {
            shmem_free(many[(i * 7 + 3) % LIVE_COUNT(many)]);
        }
    }
}

static void a_full_heap_gives_null(void)
{
    unsigned char *memory = shmem_malloc(1000);
    live_fill(memory, 1000, 1);
    require(!shmem_malloc((size_t)1 << 45));
    require(!shmem_realloc(memory, (size_t)1 << 45));
    require(live_first_other(memory, 1000, 1) == 1000);
    shmem_free(memory);
    memory = shmem_malloc(1000);
    require(memory);
    shmem_free(memory);
}

/* Each of these calls completes what the default context has under way. */
static void allocating_is_a_barrier(void)
{
    static long box[5];
    for (int round = 1; round <= 20; round++) {
        long value = round;
        shmem_long_put_nbi(&box[0], &value, 1, right());
        void *first = shmem_malloc(100);
        require(box[0] == round);
        shmem_long_put_nbi(&box[1], &value, 1, right());
        void *second = shmem_calloc(10, 10);
        require(box[1] == round);
        shmem_long_put_nbi(&box[2], &value, 1, right());
        first = shmem_realloc(first, 300000);
        require(box[2] == round);
        shmem_long_put_nbi(&box[3], &value, 1, right());
        shmem_free(first);
        require(box[3] == round);
        shmem_long_put_nbi(&box[4], &value, 1, right());
        void *third = shmem_align(4096, 10);
        require(box[4] == round);
        shmem_free(second);
        shmem_free(third);
    }
}

static void allocating_under_deprecated_names(void)
{
    char *memory = shmalloc(100);
    char *aligned = shmemalign(256, 100);
    require(memory && aligned && (uintptr_t)aligned % 256 == 0);
    memory[99] = 7;
    memory = shrealloc(memory, 100000);
    require(memory && memory[99] == 7);
    shfree(memory);
    shfree(aligned);
}

/* ---- Static variables -------------------------------------------------------------- */

/* One of each kind of storage; all are written by the left neighbour. */
static int initialised = 5;
static int zeroed;
int visible_initialised = 6;
int visible_zeroed;
static unsigned char large[3 << 20];
static _Alignas(4096) long aligned_one = 7;
static int *initialised_pointer = &initialised;
static struct {
    char first;
    double second;
} record = {'a', 1.5};
static volatile long changing = 3;

static int *static_local(void)
{
    static int inside = 8;
    return &inside;
}

static void static_variables_are_symmetric(void)
{
    /* What they were initialised with is there, on this PE and on others. */
    require(shmem_int_g(&initialised, right()) == 5 && shmem_int_g(&zeroed, right()) == 0);
    require(shmem_int_g(&visible_initialised, right()) == 6);
    require(shmem_long_g(&aligned_one, right()) == 7);
    require(shmem_int_g(static_local(), right()) == 8);
    require(initialised_pointer == &initialised && record.second == 1.5);
    shmem_barrier_all();
    int value = me.rank + 100;
    shmem_int_p(&initialised, value, right());
    shmem_int_p(&zeroed, value, right());
    shmem_int_p(&visible_initialised, value, right());
    shmem_int_p(&visible_zeroed, value, right());
    shmem_int_p(static_local(), value, right());
    shmem_long_p(&aligned_one, value, right());
    shmem_double_p(&record.second, value, right());
    long changed = value;
    shmem_putmem((void *)(uintptr_t)&changing, &changed, sizeof changed, right());
    shmem_uchar_p(&large[sizeof large - 1], (unsigned char)value, right());
    shmem_barrier_all();
    int wanted = left() + 100;
    require(initialised == wanted && *initialised_pointer == wanted && zeroed == wanted);
    require(visible_initialised == wanted && visible_zeroed == wanted);
    require(*static_local() == wanted && aligned_one == wanted);
    require(record.second == wanted && record.first == 'a' && changing == wanted);
    require(large[sizeof large - 1] == (unsigned char)wanted);
}

/* The same symmetric address means the same variable, wherever the loader has put it. */
static void addresses_may_differ_between_pes(void)
{
    static uintptr_t addresses[64];
    for (int pe = 0; pe < me.size; pe++) {
        shmem_putmem(&addresses[me.rank], &(uintptr_t){(uintptr_t)&zeroed}, sizeof(uintptr_t), pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < me.size; pe++) {
        shmem_int_p(&zeroed, 1000 + me.rank, pe);
        shmem_quiet();
        require(shmem_int_g(&zeroed, pe) >= 1000);
        require(addresses[pe] != 0);
    }
}

/* Static memory takes long transfers and atomics as the heap does. */
static void static_variables_take_large_transfers(void)
{
    unsigned char *source = malloc(sizeof large);
    require(source);
    live_fill(source, sizeof large, me.seed + (uint64_t)me.rank);
    shmem_barrier_all();
    shmem_putmem(large, source, sizeof large, right());
    shmem_barrier_all();
    require(live_first_other(large, sizeof large, me.seed + (uint64_t)left()) == sizeof large);
    memset(source, 0, sizeof large);
    shmem_getmem_nbi(source, large, sizeof large, right());
    shmem_quiet();
    require(live_first_other(source, sizeof large, me.seed + (uint64_t)me.rank) == sizeof large);
    free(source);
    static long counter;
    for (int i = 0; i < 1000; i++) {
        shmem_long_atomic_inc(&counter, 0);
    }
    shmem_barrier_all();
    require(me.rank != 0 || counter == 1000L * me.size);
}

/* ---- shmem_ptr --------------------------------------------------------------------- */

/* Where memory is not shared there is no pointer except to a PE's own; DN_RELAX imitates a fabric
 * that has none at all. */
static bool without_pointers(void)
{
    static long variable;
    bool none = live_is_relaxed() || (live_shares_nothing() && me.size > 1);
    if (none) {
        require(!shmem_ptr(&variable, right()));
        require(live_is_relaxed() || shmem_ptr(&variable, me.rank) == &variable);
    }
    return none;
}

static void pointers_reach_other_pes(void)
{
    static long variable;
    if (without_pointers()) {
        return;
    }
    long *heap = shmem_calloc(8, sizeof *heap);
    int on_stack = 0;
    for (int pe = 0; pe < me.size; pe++) {
        long *there = shmem_ptr(&heap[me.rank % 8], pe);
        require_else(there, "the heap of PE %d", pe);
        *there = me.rank + 1;
    }
    long *theirs = shmem_ptr(&variable, right());
    require_else(theirs, "a static variable of PE %d", right());
    *theirs = me.rank + 1;
    require(!shmem_ptr(&on_stack, right()));
    require(!shmem_ptr(&variable, me.size) && !shmem_ptr(&variable, -1));
    shmem_barrier_all();
    require(variable == left() + 1);
    for (int pe = 0; pe < me.size; pe++) {
        require(heap[pe % 8] == pe + 1);
    }
    shmem_barrier_all();
    /* What a transfer has written is seen through the pointer, and the other way round. */
    shmem_long_p(&variable, 50, right());
    shmem_quiet();
    require(*(volatile long *)theirs == 50);
    *theirs = 51;
    require(shmem_long_g(&variable, right()) == 51);
    shmem_free(heap);
}

/* A waiter wakes up for a store through a pointer too. */
static void a_store_through_a_pointer_is_waited_for(void)
{
    static long flag;
    if (without_pointers()) {
        return;
    }
    long *theirs = shmem_ptr(&flag, right());
    require(theirs);
    live_sleep_ns((uint64_t)me.rank % 3 * 5 * LIVE_MS);
    __atomic_store_n(theirs, 1, __ATOMIC_RELEASE);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
}

/* ---- Transfers --------------------------------------------------------------------- */

static void nothing_is_transferred_from_nowhere(void)
{
    static long box[2];
    shmem_long_put(box, NULL, 0, right());
    shmem_long_get(NULL, box, 0, right());
    shmem_putmem(NULL, NULL, 0, right());
    shmem_getmem(NULL, NULL, 0, right());
    shmem_putmem_nbi(NULL, NULL, 0, right());
    shmem_getmem_nbi(NULL, NULL, 0, right());
    shmem_long_iput(NULL, NULL, 1, 1, 0, right());
    shmem_long_iget(NULL, NULL, 1, 1, 0, right());
    require(box[0] == 0 && box[1] == 0);
}

/* Any length, source and target at any byte. */
static void transfers_of_any_length_and_place(void)
{
    size_t room = 300000;
    unsigned char *target = shmem_malloc(room);
    unsigned char *source = malloc(room);
    unsigned char *back = malloc(room);
    require(target && source && back);
    uint64_t random = me.seed;
    for (int round = 0; round < 100; round++) {
        size_t bytes = live_random(&random, round % 4 ? 600 : 250000);
        size_t to = live_random(&random, 64);
        size_t from = live_random(&random, 64);
        memset(target, 0xee, to + bytes + 8);
        live_fill(source + from, bytes, random + (uint64_t)me.rank);
        shmem_barrier_all();
        shmem_putmem(target + to, source + from, bytes, right());
        shmem_barrier_all();
        require(live_first_other(target + to, bytes, random + (uint64_t)left()) == bytes);
        require(live_all_are(target, to, 0xee) && live_all_are(target + to + bytes, 8, 0xee));
        memset(back, 0xdd, from + bytes + 8);
        shmem_getmem(back + from, target + to, bytes, right());
        require(live_first_other(back + from, bytes, random + (uint64_t)me.rank) == bytes);
        require(live_all_are(back, from, 0xdd) && live_all_are(back + from + bytes, 8, 0xdd));
        shmem_barrier_all();
    }
    shmem_free(target);
    free(source);
    free(back);
}

static void strides_on_both_sides(void)
{
    enum { COUNT = 100, ROOM = 1000 };
    static short box[ROOM];
    short from[ROOM];
    short back[ROOM];
    for (ptrdiff_t dst = 1; dst < 9; dst += 2) {
        for (ptrdiff_t sst = 1; sst < 9; sst += 3) {
            for (short i = 0; i < ROOM; i++) {
                from[i] = (short)(i + me.rank);
                box[i] = back[i] = -1;
            }
            shmem_barrier_all();
            shmem_short_iput(box, from, dst, sst, COUNT, right());
            shmem_barrier_all();
            for (ptrdiff_t i = 0; i < ROOM; i++) {
                bool hit = i % dst == 0 && i / dst < COUNT;
                require(box[i] == (hit ? (short)(i / dst * sst + left()) : -1));
            }
            shmem_short_iget(back, box, sst, dst, COUNT, right());
            for (ptrdiff_t i = 0; i < ROOM; i++) {
                bool hit = i % sst == 0 && i / sst < COUNT;
                require(back[i] == (hit ? from[i] : -1));
            }
            shmem_barrier_all();
        }
    }
}

/* The source of a blocking put may be used again when it returns. */
static void the_source_of_a_put_is_free_again(void)
{
    static long box[1000];
    for (long i = 0; i < 1000; i++) {
        long value = i * 3 + me.rank;
        shmem_long_put(&box[i], &value, 1, right());
        value = -1;
    }
    shmem_barrier_all();
    for (long i = 0; i < 1000; i++) {
        require(box[i] == i * 3 + left());
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, constants),
        LIVE_CHECK(1, queries),
        LIVE_CHECK(1, a_second_init_wants_a_finalize_of_its_own),
        LIVE_CHECK(1, cache_management_under_deprecated_names),
        LIVE_CHECK(1, nothing_to_do_is_no_barrier),
        LIVE_CHECK(1, allocations_are_aligned),
        LIVE_CHECK(1, calloc_clears_what_was_used),
        LIVE_CHECK(1, realloc_keeps_the_content),
        LIVE_CHECK(1, freed_memory_is_used_again),
        LIVE_CHECK(1, a_full_heap_gives_null),
        LIVE_CHECK(1, allocating_is_a_barrier),
        LIVE_CHECK(1, allocating_under_deprecated_names),
        LIVE_CHECK(1, static_variables_are_symmetric),
        LIVE_CHECK(1, addresses_may_differ_between_pes),
        LIVE_CHECK(1, static_variables_take_large_transfers),
        LIVE_CHECK(1, pointers_reach_other_pes),
        LIVE_CHECK(1, a_store_through_a_pointer_is_waited_for),
        LIVE_CHECK(1, nothing_is_transferred_from_nowhere),
        LIVE_CHECK(1, transfers_of_any_length_and_place),
        LIVE_CHECK(1, strides_on_both_sides),
        LIVE_CHECK(1, the_source_of_a_put_is_free_again),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
