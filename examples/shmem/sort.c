/* Sorts integers that lie scattered over the PEs (a bucket sort).
 *
 * PE p shall have the keys of the p-th part of the range. Every PE puts its keys in order of
 * their owners, asks each owner by one fetch-and-add for room in its bucket, and puts them
 * there. After a barrier every PE sorts its bucket.
 *
 *     oshcc -O2 sort.c -o sort && oshrun -n 4 ./sort */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 100000, KEY_RANGE = 1 << 24 };

static long filled;                   /* how many keys of this PE's bucket have been given room */
static long totals[2], all_totals[2]; /* how many keys, and their sum */

static int owner_of(int key, int count)
{
    return (int)((long)key * count / KEY_RANGE);
}

static int compare(const void *left, const void *right)
{
    int a = *(const int *)left;
    int b = *(const int *)right;
    return (a > b) - (a < b);
}

/* Arranges keys in the order of their owners; `starts` says where each owner's begin, and
 * starts[count] is the end. */
static void arrange(const int *keys, int *arranged, long *starts, int count)
{
    long *next = calloc((size_t)count + 1, sizeof *next);
    if (!next) {
        shmem_global_exit(1);
    }
    for (int i = 0; i < KEYS; i++) {
        next[owner_of(keys[i], count) + 1]++;
    }
    for (int pe = 0; pe < count; pe++) {
        next[pe + 1] += next[pe];
    }
    for (int pe = 0; pe <= count; pe++) {
        starts[pe] = next[pe];
    }
    for (int i = 0; i < KEYS; i++) {
        arranged[next[owner_of(keys[i], count)]++] = keys[i];
    }
    free(next);
}

/* Whether the bucket is in order and holds only this PE's keys. */
static int is_sorted(const int *bucket, int me, int count)
{
    for (long i = 0; i < filled; i++) {
        if (owner_of(bucket[i], count) != me || (i > 0 && bucket[i - 1] > bucket[i])) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    static int keys[KEYS], arranged[KEYS];
    shmem_init();
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    long room = 2 * KEYS; /* keys are spread evenly: a bucket gets about KEYS of them */
    int *bucket = shmem_malloc((size_t)room * sizeof *bucket);
    long *starts = malloc(((size_t)count + 1) * sizeof *starts);
    if (!bucket || !starts) {
        shmem_global_exit(1);
    }
    srand((unsigned)me + 1);
    for (int i = 0; i < KEYS; i++) {
        keys[i] = rand() % KEY_RANGE;
        totals[0]++;
        totals[1] -= keys[i]; /* subtracted here, added below: the sum is 0 if no key is lost */
    }

    arrange(keys, arranged, starts, count);
    for (int i = 0; i < count; i++) {
        int pe = (me + i) % count; /* every PE begins with another one */
        long length = starts[pe + 1] - starts[pe];
        long place = shmem_long_atomic_fetch_add(&filled, length, pe);
        if (place + length > room) {
            printf("PE %d's bucket is full\n", pe);
            shmem_global_exit(1);
        }
        shmem_int_put(bucket + place, arranged + starts[pe], (size_t)length, pe);
    }
    shmem_barrier_all(); /* all keys have arrived */
    qsort(bucket, (size_t)filled, sizeof *bucket, compare);

    int sorted = is_sorted(bucket, me, count);
    totals[0] -= filled;
    for (long i = 0; i < filled; i++) {
        totals[1] += bucket[i];
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all_totals, totals, 2);
    int good = sorted && all_totals[0] == 0 && all_totals[1] == 0;
    printf("PE %d: %ld keys, %s\n", me, filled, good ? "in order" : "WRONG");
    free(starts);
    shmem_free(bucket);
    shmem_finalize();
    return good ? 0 : 1;
}
