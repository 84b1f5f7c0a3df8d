/* LU decomposition: a matrix is replaced by a lower and an upper triangle, whose product it is.
 *
 *       panel 0   panel 1   panel 2   panel 3  ...
 *     |         |         |         |         |
 *     | node 0  | node 1  | node 0  | node 1  |      panels are dealt like cards
 *     |         |         |         |         |
 *
 * Each panel of columns is bound to a variable. Its node holds it for writing from the beginning
 * until it is finished: when all panels to its left have changed it and it is factored itself.
 * A node that needs a panel acquires it for reading, and so waits until its node has finished and
 * released it; the content comes with the grant, once to each node. No barrier is needed.
 *
 * The result is that of a serial run to the last bit.
 *
 *     dimmnet run -n 2 build/examples/fagus/lu [size], a multiple of 32 */
#include <stdbool.h>
#include <string.h>

#include "example.h"
#include "kernels.h"

struct matrix {
    size_t size;
    size_t panels;
    lu_row **panel;
    struct fagus_sync **sync;
};

static bool is_mine(size_t panel)
{
    return panel % (size_t)fagus_size() == (size_t)fagus_rank();
}

/* Each panel lies at its node, which fills it. */
static void make_matrix(struct matrix *matrix)
{
    size_t bytes = matrix->size * sizeof(lu_row);
    matrix->panel = must_have(calloc(matrix->panels, sizeof(lu_row *)));
    matrix->sync = must_have(calloc(matrix->panels, sizeof(struct fagus_sync *)));
    for (size_t k = 0; k < matrix->panels; k++) {
        matrix->panel[k] = shared(bytes, (int)(k % (size_t)fagus_size()));
        matrix->sync[k] = variable();
        must(fagus_bind(matrix->sync[k], matrix->panel[k], bytes));
    }
    for (size_t k = 0; k < matrix->panels; k++) {
        if (is_mine(k)) {
            must(fagus_acquire(matrix->sync[k], FAGUS_WRITE));
            lu_start(matrix->panel[k], k, matrix->size);
        }
    }
    must(fagus_barrier(NULL)); /* every node holds its panels before any node asks */
}

/* Finishes a panel whose left neighbours are all done. */
static void finish_panel(struct matrix *matrix, size_t k)
{
    lu_factor(matrix->panel[k], k, matrix->size);
    must(fagus_release(matrix->sync[k]));
}

static void decompose(struct matrix *matrix)
{
    if (is_mine(0)) {
        finish_panel(matrix, 0);
    }
    for (size_t k = 0; k < matrix->panels; k++) {
        must(fagus_acquire(matrix->sync[k], FAGUS_READ));
        for (size_t j = k + 1; j < matrix->panels; j++) {
            if (!is_mine(j)) {
                continue;
            }
            lu_update(matrix->panel[j], matrix->panel[k], k, matrix->size);
            if (j == k + 1) {
                finish_panel(matrix, j); /* before the others, because other nodes wait for it */
            }
        }
        must(fagus_release(matrix->sync[k]));
    }
    must(fagus_barrier(NULL));
}

/* The same on one node. Gives its time, and whether every number is the same. */
static double decompose_alone(const struct matrix *matrix, bool *is_same)
{
    size_t bytes = matrix->size * sizeof(lu_row);
    lu_row *alone = must_have(malloc(matrix->panels * bytes));
    for (size_t k = 0; k < matrix->panels; k++) {
        lu_start(alone + k * matrix->size, k, matrix->size);
    }
    double start_s = now_s();
    for (size_t k = 0; k < matrix->panels; k++) {
        const lu_row *factored = alone + k * matrix->size;
        lu_factor(alone + k * matrix->size, k, matrix->size);
        for (size_t j = k + 1; j < matrix->panels; j++) {
            lu_update(alone + j * matrix->size, factored, k, matrix->size);
        }
    }
    double seconds = now_s() - start_s;
    *is_same = true;
    for (size_t k = 0; k < matrix->panels; k++) {
        must(fagus_acquire(matrix->sync[k], FAGUS_READ));
        *is_same &= memcmp(matrix->panel[k], alone + k * matrix->size, bytes) == 0;
        must(fagus_release(matrix->sync[k]));
    }
    free(alone);
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {{"size", LU_WIDTH, MOST, 1280}};
    struct matrix matrix = {0};
    read_arguments(argc, argv, "LU decomposition of a square matrix; its size is a multiple of 32.",
                   parameters, 1, &matrix.size);
    matrix.panels = matrix.size / LU_WIDTH;
    if (matrix.size % LU_WIDTH != 0) {
        fprintf(stderr, "%s: the size must be a multiple of %d (--help)\n", argv[0], LU_WIDTH);
        return 2;
    }
    must(fagus_init());
    make_matrix(&matrix);

    double start_s = now_s();
    decompose(&matrix);
    double seconds = now_s() - start_s;

    int status = 0;
    if (fagus_rank() == 0) {
        bool is_same;
        double alone_seconds = decompose_alone(&matrix, &is_same);
        status = report("lu", seconds, alone_seconds, is_same);
    }
    must(fagus_finalize());
    free(matrix.panel);
    free(matrix.sync);
    return status;
}
