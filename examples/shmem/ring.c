/* A token goes round the PEs; each adds its number to it and passes it on.
 *
 *     PE 0 -> PE 1 -> PE 2 -> ... -> PE 0
 *
 * The token is a static variable. A program's static variables are symmetric: every PE
 * has its own, at a place that the others can name.
 *
 * An argument says how many rounds it makes.
 *
 *     oshcc -O2 ring.c -o ring && oshrun -n 4 ./ring */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 1000 };

static long token = -1; /* nothing has come yet */

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : ROUNDS;
    shmem_init();
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    int next = (me + 1) % count;
    long sum = 0;

    for (long round = 0; round < rounds; round++) {
        if (me == 0) {
            shmem_long_p(&token, sum, next); /* one store, straight into the other's memory */
        }
        shmem_long_wait_until(&token, SHMEM_CMP_NE, -1);
        sum = token + me;
        token = -1; /* before it is passed on: the next one may come at once */
        if (me != 0) {
            shmem_long_p(&token, sum, next);
        }
    }

    int status = 0;
    if (me == 0) {
        long expected = rounds * count * (count - 1) / 2;
        printf("%d PEs, %ld rounds: %ld, expected %ld\n", count, rounds, sum, expected);
        status = sum == expected ? 0 : 1;
    }
    shmem_finalize();
    return status;
}
