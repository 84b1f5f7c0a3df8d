/* Work stealing: at the beginning PE 0 has all tasks; a PE that has nothing to do takes half of
 * what another one has left.
 *
 * What a PE has left is an interval of task numbers, [first, end), in one 64-bit word:
 *
 *     |  end, 32 bits  |  first, 32 bits  |
 *
 * Its owner takes the first task and a thief the upper half, both by compare-and-swap, so
 * each task is done once. A thief needs no help from its victim, which may be busy with a task.
 *
 *     oshcc -O2 steal.c -o steal && oshrun -n 4 ./steal */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 10000, NUMBERS = 50 };

static uint64_t interval;        /* what this PE has left */
static long tasks_done;          /* at PE 0: by all together */
static long result, all_results; /* the sum of what tasks gave */

static uint64_t pack(uint64_t first, uint64_t end)
{
    return end << 32 | first;
}

static uint64_t first_of(uint64_t word)
{
    return word & UINT32_MAX;
}

static uint64_t end_of(uint64_t word)
{
    return word >> 32;
}

/* A task whose length cannot be guessed: the steps until each of some numbers becomes 1. */
static long do_task(uint64_t task)
{
    long steps = 0;
    for (uint64_t i = 1; i <= NUMBERS; i++) {
        for (uint64_t n = task * NUMBERS + i; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) {
            steps++;
        }
    }
    return steps;
}

/* The first task of this PE's interval, or -1. */
static long take_own(int me)
{
    uint64_t seen = shmem_uint64_atomic_fetch(&interval, me);
    while (first_of(seen) < end_of(seen)) {
        uint64_t rest = pack(first_of(seen) + 1, end_of(seen));
        uint64_t before = shmem_uint64_atomic_compare_swap(&interval, seen, rest, me);
        if (before == seen) {
            return (long)first_of(seen);
        }
        seen = before; /* a thief was here */
    }
    return -1;
}

/* Takes the upper half of another PE's interval. False: there was none. */
static int steal(int me, int victim)
{
    uint64_t seen = shmem_uint64_atomic_fetch(&interval, victim);
    if (first_of(seen) >= end_of(seen)) {
        return 0;
    }
    uint64_t middle = (first_of(seen) + end_of(seen)) / 2;
    uint64_t left = pack(first_of(seen), middle);
    if (shmem_uint64_atomic_compare_swap(&interval, seen, left, victim) != seen) {
        return 0;
    }
    /* A swap, not a set: it has taken effect when it returns. */
    (void)shmem_uint64_atomic_swap(&interval, pack(middle, end_of(seen)), me);
    return 1;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    int done = 0;
    int stolen = 0;
    if (me == 0) {
        interval = pack(0, TASKS);
    }
    shmem_barrier_all();

    srand((unsigned)me + 1);
    while (shmem_long_atomic_fetch(&tasks_done, 0) < TASKS) {
        for (long task; (task = take_own(me)) >= 0; done++) {
            result += do_task((uint64_t)task);
            shmem_long_atomic_inc(&tasks_done, 0);
        }
        stolen += steal(me, rand() % count);
    }

    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_results, &result, 1);
    printf("PE %d: %d tasks, stole %d times\n", me, done, stolen);
    int good = 1;
    if (me == 0) {
        long expected = 0;
        for (uint64_t i = 0; i < TASKS; i++) {
            expected += do_task(i);
        }
        printf("%ld tasks, %ld steps, expected %ld\n", tasks_done, all_results, expected);
        good = tasks_done == TASKS && all_results == expected;
    }
    shmem_finalize();
    return good ? 0 : 1;
}
