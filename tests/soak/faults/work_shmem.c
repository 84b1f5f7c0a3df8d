/* The work of the fault run on shmem.h: PEs put with signals, add, reduce, lock and wait, and
 * compare every result. OpenSHMEM has no way to go on after a death: the job ends, with the
 * sentence of the first PE that met it.
 *
 * All PEs choose the same step from the same seed. A wrong result is "FAIL ..." and status 1. */
#define _GNU_SOURCE
#include <shmem.h>

#include "board.h"

enum { BYTES_MAX = 100000, ELEMENTS_MAX = 3000, ADDS = 8 };

/* Symmetric: static data, and memory of the heap. */
static uint64_t signal_word;
static long word;
static long counter;
static long lock_word;
static long guarded[2];
static long wishes[2];
static unsigned char *block;
static unsigned char *source;
static long *elements[2];

static uint64_t step;
static uint64_t random_state; /* the same at all PEs */
static long added_by_all;

static int right(void)
{
    return (me.rank + 1) % me.size;
}

static int left(void)
{
    return (me.rank + me.size - 1) % me.size;
}

static uint64_t tag_of(int rank)
{
    return live_mix(live_mix(me.seed + step) + (uint64_t)rank) >> 1;
}

static void barrier(void)
{
    ON_BOARD_VOID("shmem_barrier_all", shmem_barrier_all());
}

static void step_put_signal(void)
{
    size_t bytes = 8 + live_random(&random_state, live_random(&random_state, 2) ? 500 : BYTES_MAX);
    bytes = bytes < BYTES_MAX ? bytes : BYTES_MAX;
    live_fill(source, bytes, tag_of(me.rank));
    ON_BOARD_VOID("shmem_put_signal",
                  shmem_putmem_signal(block, source, bytes, &signal_word, tag_of(me.rank),
                                      SHMEM_SIGNAL_SET, right()));
    uint64_t wanted = tag_of(left());
    (void)ON_BOARD("shmem_signal_wait_until",
                   shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, wanted));
    size_t other = live_first_other(block, bytes, wanted);
    require_else(other == bytes, "byte %zu of %zu before a signal is wrong", other, bytes);
}

static void step_store(void)
{
    ON_BOARD_VOID("shmem_long_p", shmem_long_p(&word, (long)tag_of(me.rank), right()));
    ON_BOARD_VOID("shmem_long_wait_until",
                  shmem_long_wait_until(&word, SHMEM_CMP_EQ, (long)tag_of(left())));
    barrier();
    long found = ON_BOARD("shmem_long_g", shmem_long_g(&word, right()));
    require_else(found == (long)tag_of(me.rank), "a word that was put is wrong");
}

/* Everybody adds at PE 0; after a barrier nothing is missing and nothing came twice. */
static void step_atomics(void)
{
    for (int i = 0; i < ADDS; i++) {
        long old = ON_BOARD("shmem_fetch_add", shmem_long_atomic_fetch_add(&counter, 1, 0));
        require_else(old >= added_by_all && old < added_by_all + 2 * ADDS * me.size,
                     "%ld was there before an addition", old);
        ON_BOARD_VOID("shmem_add", shmem_long_atomic_add(&counter, 1, 0));
    }
    barrier();
    added_by_all += 2L * ADDS * me.size;
    long found = ON_BOARD("shmem_fetch", shmem_long_atomic_fetch(&counter, 0));
    require_else(found == added_by_all, "%ld additions, %ld took effect", added_by_all, found);
    barrier();
}

static void step_lock(void)
{
    for (int i = 0; i < 3; i++) {
        ON_BOARD_VOID("shmem_set_lock", shmem_set_lock(&lock_word));
        long one = ON_BOARD("shmem_long_g in a lock", shmem_long_g(&guarded[0], 0));
        long other = ON_BOARD("shmem_long_g in a lock", shmem_long_g(&guarded[1], 0));
        require_else(one == other, "a lock guards %ld and %ld", one, other);
        shmem_long_p(&guarded[0], one + 1, 0);
        ON_BOARD_VOID("shmem_quiet", shmem_quiet());
        shmem_long_p(&guarded[1], one + 1, 0);
        ON_BOARD_VOID("shmem_clear_lock", shmem_clear_lock(&lock_word));
    }
}

static void step_reduce(void)
{
    size_t length = live_random(&random_state, 2) ? 10 : ELEMENTS_MAX;
    for (size_t i = 0; i < length; i++) {
        elements[0][i] = (long)(tag_of(me.rank) % 1000000 + i);
    }
    int error = ON_BOARD("shmem_sum_reduce",
                         shmem_long_sum_reduce(SHMEM_TEAM_WORLD, elements[1], elements[0], length));
    require(error == 0);
    for (size_t i = 0; i < length; i++) {
        long sum = 0;
        for (int rank = 0; rank < me.size; rank++) {
            sum += (long)(tag_of(rank) % 1000000 + i);
        }
        require_else(elements[1][i] == sum, "element %zu of a sum is wrong", i);
    }
}

static void step_collect(void)
{
    size_t length = 100;
    for (size_t i = 0; i < length; i++) {
        elements[0][i] = (long)(tag_of(me.rank) + i);
    }
    int error = ON_BOARD("shmem_fcollect",
                         shmem_long_fcollect(SHMEM_TEAM_WORLD, elements[1], elements[0], length));
    require(error == 0);
    for (size_t i = 0; i < length * (size_t)me.size; i++) {
        require_else(elements[1][i] == (long)(tag_of((int)(i / length)) + i % length),
                     "element %zu of a collection is wrong", i);
    }
}

static void (*const steps[])(void) = {
    step_put_signal, step_store, step_atomics, step_lock, step_reduce, step_collect,
};

static void *symmetric(size_t bytes)
{
    void *memory = ON_BOARD("shmem_malloc", shmem_malloc(bytes));
    require(memory != NULL);
    return memory;
}

static void start(void)
{
    const char *seed = getenv("DN_TEST_SEED");
    const char *rank = getenv("DIMMNET_RANK");
    me.check = "soak";
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    me.rank = rank ? atoi(rank) : 0;
    require(me.rank >= 0 && me.rank < BOARD_NODES_MAX);
    board_open();
    atomic_store(&board_slot()->pid, (uint64_t)getpid());
    ON_BOARD_VOID("shmem_init", shmem_init());
    me.size = shmem_n_pes();
    require(me.size <= BOARD_NODES_MAX);
    random_state = live_mix(me.seed);
    block = symmetric(BYTES_MAX);
    source = symmetric(BYTES_MAX);
    elements[0] = symmetric(ELEMENTS_MAX * sizeof(long));
    elements[1] = symmetric(ELEMENTS_MAX * sizeof(long));
}

int main(void)
{
    start();
    do {
        steps[live_random(&random_state, LIVE_COUNT(steps))]();
        wishes[0] = board_finish_is_wanted();
        int error = ON_BOARD("shmem_max_reduce",
                             shmem_long_max_reduce(SHMEM_TEAM_WORLD, &wishes[1], &wishes[0], 1));
        require(error == 0);
        barrier(); /* the sources may be written again */
        step++;
        board_step(1);
    } while (wishes[1] == 0);
    ON_BOARD_VOID("shmem_finalize", shmem_finalize());
    board_ended();
    return 0;
}
