/* Counts random values in a table that is spread over the PEs: bin b is entry b / count of
 * PE b % count. All PEs count in all parts at once; the additions are atomic, so none is
 * lost.
 *
 *     oshcc -O2 histogram.c -o histogram && oshrun -n 4 ./histogram */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS_PER_PE = 1000, VALUES = 200000 };

static long bins[BINS_PER_PE];

/* A small generator of random numbers: the same start gives the same numbers everywhere. */
static unsigned next_random(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static unsigned start_of(int pe)
{
    return 12345u + 977u * (unsigned)pe;
}

/* Counts all PEs' values again, but only for the bins of this PE and without help. */
static int count_wrong_bins(int me, int count)
{
    static long expected[BINS_PER_PE];
    int wrong = 0;
    for (int pe = 0; pe < count; pe++) {
        unsigned state = start_of(pe);
        for (int i = 0; i < VALUES; i++) {
            unsigned bin = next_random(&state) % (BINS_PER_PE * (unsigned)count);
            expected[bin / (unsigned)count] += bin % (unsigned)count == (unsigned)me;
        }
    }
    for (int i = 0; i < BINS_PER_PE; i++) {
        wrong += bins[i] != expected[i];
    }
    return wrong;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    unsigned state = start_of(me);
    for (int i = 0; i < VALUES; i++) {
        unsigned bin = next_random(&state) % (BINS_PER_PE * (unsigned)count);
        shmem_long_atomic_inc(&bins[bin / (unsigned)count], (int)(bin % (unsigned)count));
    }
    shmem_barrier_all(); /* all have been counted, at all PEs */

    int wrong = count_wrong_bins(me, count);
    printf("PE %d: %d bins, %d wrong\n", me, BINS_PER_PE, wrong);
    shmem_finalize();
    return wrong ? 1 : 0;
}
