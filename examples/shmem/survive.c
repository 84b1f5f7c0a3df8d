/* A sum that survives deaths: the work is cut into pieces, and whenever all PEs have summed up one
 * piece each, they add these to the total, which every PE has. When a PE dies, its piece is lost
 * with it, and the survivors do that round again among themselves. A sum of a team comes to an end
 * at all members or at none, so they never disagree about which rounds are done.
 *
 * The numbers of PEs that shall die on the way are the program's arguments:
 *
 *     oshrun -n 4 ./survive 1 2
 *
 *     oshcc -O2 survive.c -o survive && oshrun -n 4 ./survive */
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECES = 240, NUMBERS = 1000 };

static long piece, sum; /* symmetric: a round's pieces, and what they give together */

/* Steps until each number of a piece becomes 1. */
static long do_piece(long which)
{
    long steps = 0;
    for (long i = 1; i <= NUMBERS; i++) {
        for (long n = which * NUMBERS + i; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) {
            steps++;
        }
    }
    return steps;
}

/* The first argument's PE dies after a part of the work, the next one's after the next part. */
static void die_if_asked(int me, long done, int count, char **victims)
{
    for (int i = 1; i < count; i++) {
        if (atoi(victims[i]) == me && done >= (long)PIECES * i / count) {
            raise(SIGKILL);
        }
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a PE said is out before it dies */
    shmem_init();
    shmemx_failure_mode(SHMEMX_CONTINUE);
    shmem_barrier_all(); /* from here on all PEs go on */

    int me = shmem_my_pe();
    shmem_team_t team = SHMEM_TEAM_WORLD;
    long total = 0;
    long done = 0;
    while (done < PIECES) {
        long mine = done + shmem_team_my_pe(team);
        piece = mine < PIECES ? do_piece(mine) : 0;
        die_if_asked(me, done, argc, argv);
        if (shmem_long_sum_reduce(team, &sum, &piece, 1) == 0) {
            total += sum;
            done += shmem_team_n_pes(team);
            continue;
        }
        int dead = shmemx_failed_pe();
        shmem_team_t survivors;
        if (shmemx_team_shrink(team, &survivors) != 0) {
            fprintf(stderr, "PE %d: cannot go on\n", me);
            shmem_global_exit(1);
        }
        if (shmem_team_my_pe(survivors) == 0) {
            printf("PE %d has died after %ld pieces; %d PEs go on\n", dead, done,
                   shmem_team_n_pes(survivors));
        }
        if (team != SHMEM_TEAM_WORLD) {
            shmem_team_destroy(team);
        }
        team = survivors;
    }

    int good = 1;
    if (shmem_team_my_pe(team) == 0) {
        long expected = 0;
        for (long i = 0; i < PIECES; i++) {
            expected += do_piece(i);
        }
        printf("%d PEs left: %ld steps, expected %ld\n", shmem_team_n_pes(team), total, expected);
        good = total == expected;
    }
    shmem_finalize();
    return good ? 0 : 1;
}
