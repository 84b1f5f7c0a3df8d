/* Matrix multiplication: product = left x right.
 *
 *     left     strips of rows, one for each node      product  the same
 *     right    bands of 64 rows, dealt to the nodes in turn; each node fills its own
 *
 * A node's strips of left and product are bound to one variable, two ranges, which the node
 * holds for writing. Every band has a variable of its own, and all nodes acquire all of them
 * for reading, each beginning at a different one: a band comes to each node once, while others
 * compute.
 *
 * All numbers are whole, so the result is that of a serial run exactly, in whatever order the
 * bands are added.
 *
 *     dimmnet run -n 2 build/examples/fagus/matrix [size] */
#include <stdbool.h>
#include <string.h>

#include "example.h"
#include "kernels.h"

struct strip {
    size_t first, rows;
    double *left;
    double *product;
    struct fagus_sync *sync;
};

struct problem {
    size_t size;
    size_t bands;
    double **band;
    struct fagus_sync **band_sync;
    struct strip *strip; /* of each node */
};

static void make_strip(struct problem *problem, int node)
{
    struct strip *strip = &problem->strip[node];
    strip->first = share(problem->size, node, fagus_size());
    strip->rows = share(problem->size, node + 1, fagus_size()) - strip->first;
    strip->sync = variable();
    if (strip->rows > 0) {
        size_t bytes = strip->rows * problem->size * sizeof(double);
        strip->left = shared(bytes, node);
        strip->product = shared(bytes, node);
        must(fagus_bind(strip->sync, strip->left, bytes));
        must(fagus_bind(strip->sync, strip->product, bytes));
    }
}

static size_t band_rows(const struct problem *problem, size_t band)
{
    size_t left = problem->size - band * MATRIX_BAND;
    return left < MATRIX_BAND ? left : MATRIX_BAND;
}

static void make_band(struct problem *problem, size_t band)
{
    size_t bytes = band_rows(problem, band) * problem->size * sizeof(double);
    problem->band[band] = shared(bytes, (int)(band % (size_t)fagus_size()));
    problem->band_sync[band] = variable();
    must(fagus_bind(problem->band_sync[band], problem->band[band], bytes));
}

static void make_problem(struct problem *problem)
{
    size_t size = problem->size;
    problem->strip = must_have(calloc((size_t)fagus_size(), sizeof *problem->strip));
    problem->bands = (size + MATRIX_BAND - 1) / MATRIX_BAND;
    problem->band = must_have(calloc(problem->bands, sizeof(double *)));
    problem->band_sync = must_have(calloc(problem->bands, sizeof(struct fagus_sync *)));
    for (int node = 0; node < fagus_size(); node++) {
        make_strip(problem, node);
    }
    for (size_t band = 0; band < problem->bands; band++) {
        make_band(problem, band);
    }

    /* Every node fills its own part. */
    struct strip *mine = &problem->strip[fagus_rank()];
    must(fagus_acquire(mine->sync, FAGUS_WRITE));
    for (size_t i = 0; i < mine->rows; i++) {
        matrix_start(mine->left + i * size, mine->first + i, size);
    }
    for (size_t band = (size_t)fagus_rank(); band < problem->bands; band += (size_t)fagus_size()) {
        must(fagus_acquire(problem->band_sync[band], FAGUS_WRITE));
        for (size_t i = 0; i < band_rows(problem, band); i++) {
            matrix_start(problem->band[band] + i * size, 1000 + band * MATRIX_BAND + i, size);
        }
        must(fagus_release(problem->band_sync[band]));
    }
    must(fagus_barrier(NULL));
}

static void multiply(struct problem *problem)
{
    struct strip *mine = &problem->strip[fagus_rank()];
    size_t begin = problem->bands * (size_t)fagus_rank() / (size_t)fagus_size();
    for (size_t i = 0; i < problem->bands; i++) {
        size_t band = (begin + i) % problem->bands;
        must(fagus_acquire(problem->band_sync[band], FAGUS_READ));
        matrix_multiply(mine->product, mine->left, problem->band[band], mine->rows, problem->size,
                        band * MATRIX_BAND);
        must(fagus_release(problem->band_sync[band]));
    }
    must(fagus_release(mine->sync)); /* now all nodes can get the product */
    must(fagus_barrier(NULL));
}

/* The same on one node, from its own numbers. Gives its time, and whether every number is the
 * same. */
static double multiply_alone(const struct problem *problem, bool *is_same)
{
    size_t size = problem->size;
    double *left = must_have(calloc(3 * size * size, sizeof(double)));
    double *right = left + size * size;
    double *product = right + size * size;
    for (size_t i = 0; i < size; i++) {
        matrix_start(left + i * size, i, size);
        matrix_start(right + i * size, 1000 + i, size);
        memset(product + i * size, 0, size * sizeof(double));
    }
    double start_s = now_s();
    for (size_t first = 0; first < size; first += MATRIX_BAND) {
        matrix_multiply(product, left, right + first * size, size, size, first);
    }
    double seconds = now_s() - start_s;
    *is_same = true;
    for (int node = 0; node < fagus_size(); node++) {
        const struct strip *strip = &problem->strip[node];
        must(fagus_acquire(strip->sync, FAGUS_READ));
        *is_same &= strip->rows == 0 || memcmp(strip->product, product + strip->first * size,
                                               strip->rows * size * sizeof(double)) == 0;
        must(fagus_release(strip->sync));
    }
    free(left);
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {{"size", 1, MOST, 900}};
    struct problem problem = {0};
    read_arguments(argc, argv, "The product of two square matrices.", parameters, 1, &problem.size);
    must(fagus_init());
    make_problem(&problem);

    double start_s = now_s();
    multiply(&problem);
    double seconds = now_s() - start_s;

    int status = 0;
    if (fagus_rank() == 0) {
        bool is_same;
        double alone_seconds = multiply_alone(&problem, &is_same);
        status = report("matrix", seconds, alone_seconds, is_same);
    }
    must(fagus_finalize());
    free(problem.strip);
    free(problem.band);
    free(problem.band_sync);
    return status;
}
