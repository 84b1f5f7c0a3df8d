/* Heat spreads over a plate. Every PE has a strip of its rows, with one more row above and
 * below (the halo) for the neighbours' outer rows:
 *
 *     PE 0:  [halo]                     PE 1:  [halo] <- last row of PE 0
 *            [row 1 ]                          [row 1 ] -> lower halo of PE 0
 *            [ ...  ]                          [ ...  ]
 *            [row 64] -> upper halo of PE 1    [row 64]
 *            [halo  ] <- first row of PE 1     [halo  ]
 *
 * In each step a PE puts its outer rows into the neighbours' halos, each with a signal that
 * arrives behind the data, and computes when both of its own signals have come. Two plates,
 * for even and odd steps, are enough: a neighbour that sends step n + 1 no longer needs
 * anything of step n - 1. No barrier is needed.
 *
 *     oshcc -O2 stencil.c -o stencil && oshrun -n 4 ./stencil */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 256, STEPS = 500 };

typedef double row[COLUMNS];

static row plates[2][ROWS + 2];
static uint64_t steps_above, steps_below; /* which halos have come, counted from 1 */

/* Computes the next state of `rows` rows, with one more on each side. No heat leaves the plate:
 * beyond its edge a row or a column is as warm as the last one. */
static void compute(row *next, row *now, int rows, int is_first, int is_last)
{
    for (int i = 1; i <= rows; i++) {
        const double *above = now[is_first && i == 1 ? i : i - 1];
        const double *below = now[is_last && i == rows ? i : i + 1];
        for (int j = 0; j < COLUMNS; j++) {
            double left = now[i][j > 0 ? j - 1 : j];
            double right = now[i][j < COLUMNS - 1 ? j + 1 : j];
            next[i][j] = now[i][j] + 0.2 * (above[j] + below[j] + left + right - 4 * now[i][j]);
        }
    }
}

static void spread(int me, int count)
{
    for (int step = 0; step < STEPS; step++) {
        row *now = plates[step % 2];
        uint64_t stamp = (uint64_t)step + 1;
        if (me > 0) {
            shmem_double_put_signal(now[ROWS + 1], now[1], COLUMNS, &steps_below, stamp,
                                    SHMEM_SIGNAL_SET, me - 1);
            shmem_signal_wait_until(&steps_above, SHMEM_CMP_GE, stamp);
        }
        if (me < count - 1) {
            shmem_double_put_signal(now[0], now[ROWS], COLUMNS, &steps_above, stamp,
                                    SHMEM_SIGNAL_SET, me + 1);
            shmem_signal_wait_until(&steps_below, SHMEM_CMP_GE, stamp);
        }
        compute(plates[1 - step % 2], now, ROWS, me == 0, me == count - 1);
    }
}

/* Computes the whole plate on one PE: every cell must come out the same, to the last bit. */
static int differs_from_alone(int count, row start)
{
    int rows = count * ROWS;
    row *alone[2];
    row theirs;
    int different = 0;
    for (int i = 0; i < 2; i++) {
        alone[i] = calloc((size_t)rows + 2, sizeof(row));
        if (!alone[i]) {
            return 1;
        }
    }
    memcpy(alone[0][1], start, sizeof(row));
    for (int step = 0; step < STEPS; step++) {
        compute(alone[1 - step % 2], alone[step % 2], rows, 1, 1);
    }
    for (int i = 0; i < rows; i++) {
        shmem_double_get(theirs, plates[STEPS % 2][1 + i % ROWS], COLUMNS, i / ROWS);
        different += memcmp(theirs, alone[STEPS % 2][1 + i], sizeof theirs) != 0;
    }
    free(alone[0]);
    free(alone[1]);
    return different;
}

int main(void)
{
    row start = {[10] = 1000, [200] = 500}; /* two warm cells in the first row */
    shmem_init();
    int me = shmem_my_pe();
    int count = shmem_n_pes();
    if (me == 0) {
        memcpy(plates[0][1], start, sizeof start);
    }

    spread(me, count);

    shmem_barrier_all(); /* all rows are ready to be read */
    int different = 0;
    if (me == 0) {
        different = differs_from_alone(count, start);
        printf("%d PEs, %d x %d cells, %d steps: %d rows differ\n", count, count * ROWS, COLUMNS,
               STEPS, different);
    }
    shmem_finalize();
    return different ? 1 : 0;
}
