/* Red-black relaxation: the temperatures of a plate settle. Each node has a strip of rows:
 *
 *                    ...
 *     node 0  | inner rows    `inner[0]`, held for writing all the time
 *             | last row      `edge[row]`, acquired whenever a row beside it is computed
 *     --------+
 *     node 1  | first row     `edge[row]`
 *             | inner rows    `inner[1]`
 *                    ...
 *
 * A cell needs only its four neighbours, and those have the other colour, as on a chessboard:
 * in one phase all nodes change the red cells, in the next the black cells, with a barrier
 * between them. The nodes only need to tell each other every other cell of the edges, and
 * Fagus sends no more than that: the program compares the bytes that came with those that change
 * in the serial run.
 *
 * The result is that of a serial run to the last bit.
 *
 *     dimmnet run -n 2 build/examples/fagus/sor [rows columns rounds] */
#include <stdbool.h>
#include <string.h>

#include "example.h"
#include "kernels.h"

struct plate {
    size_t rows;               /* plus one above and one below that never change */
    size_t cells;              /* of a row, plus one at each end that never changes */
    double **row;              /* 0 .. rows + 1 */
    struct fagus_sync **edge;  /* for rows that two nodes use, else NULL */
    struct fagus_sync **inner; /* a node's other rows */
    size_t first, end;         /* this node's */
};

static bool is_edge(const struct plate *plate, size_t row)
{
    for (int node = 1; node < fagus_size(); node++) {
        size_t first = 1 + share(plate->rows, node, fagus_size());
        if (row == first || row + 1 == first) {
            return true;
        }
    }
    return false;
}

/* A strip belongs to its node, so that its bindings are managed there. The outermost rows belong to
 * the strips beside them. */
static void make_strip(struct plate *plate, int node)
{
    size_t first = node == 0 ? 0 : 1 + share(plate->rows, node, fagus_size());
    size_t end = 1 + share(plate->rows, node + 1, fagus_size());
    end += node == fagus_size() - 1;
    double *cells = shared((end - first) * plate->cells * sizeof(double), node);
    plate->inner[node] = variable();
    for (size_t i = first; i < end; i++) {
        plate->row[i] = cells + (i - first) * plate->cells;
        if (is_edge(plate, i)) {
            plate->edge[i] = variable();
            must(fagus_bind(plate->edge[i], plate->row[i], plate->cells * sizeof(double)));
        }
    }
    /* What lies between the edges is one range. */
    first += plate->edge[first] != NULL;
    end -= plate->edge[end - 1] != NULL && end > first;
    if (end > first) {
        must(fagus_bind(plate->inner[node], plate->row[first],
                        (end - first) * plate->cells * sizeof(double)));
    }
}

static void make_plate(struct plate *plate)
{
    size_t rows = plate->rows + 2;
    plate->row = must_have(calloc(rows, sizeof(double *)));
    plate->edge = must_have(calloc(rows, sizeof(struct fagus_sync *)));
    plate->inner = must_have(calloc((size_t)fagus_size(), sizeof(struct fagus_sync *)));
    for (int node = 0; node < fagus_size(); node++) {
        make_strip(plate, node);
    }
    plate->first = 1 + share(plate->rows, fagus_rank(), fagus_size());
    plate->end = 1 + share(plate->rows, fagus_rank() + 1, fagus_size());

    must(fagus_acquire(plate->inner[fagus_rank()], FAGUS_WRITE));
    size_t first = plate->first - (plate->first == 1);
    size_t end = plate->end + (plate->end == plate->rows + 1);
    for (size_t i = first; i < end; i++) {
        if (plate->edge[i]) {
            must(fagus_acquire(plate->edge[i], FAGUS_WRITE));
        }
        sor_start(plate->row[i], i, plate->cells);
        if (plate->edge[i]) {
            must(fagus_release(plate->edge[i]));
        }
    }
    must(fagus_barrier(NULL));
}

/* Computes one row. All nodes acquire edges from the top of the plate to its bottom, so they never
 * wait in a circle. */
static void relax_row(struct plate *plate, size_t i, size_t colour)
{
    for (size_t k = i - 1; k <= i + 1; k++) {
        if (plate->edge[k]) {
            must(fagus_acquire(plate->edge[k], k == i ? FAGUS_WRITE : FAGUS_READ));
        }
    }
    sor_row(plate->row[i], plate->row[i - 1], plate->row[i + 1], plate->cells,
            1 + (i + colour) % 2);
    for (size_t k = i - 1; k <= i + 1; k++) {
        if (plate->edge[k]) {
            must(fagus_release(plate->edge[k]));
        }
    }
}

static void relax(struct plate *plate, size_t rounds)
{
    for (size_t phase = 0; phase < 2 * rounds; phase++) {
        for (size_t i = plate->first; i < plate->end; i++) {
            relax_row(plate, i, phase % 2);
        }
        must(fagus_barrier(NULL));
    }
}

/* How many bytes of the edges the protocol brought to all nodes together. */
static uint64_t bytes_brought(const struct plate *plate)
{
    struct fagus_flag *sum;
    uint64_t brought;
    must(fagus_flag_create(&sum, 0));
    for (size_t i = 1; i <= plate->rows; i++) {
        struct fagus_stats stats;
        if (plate->edge[i]) {
            must(fagus_stats(plate->edge[i], &stats));
            must(fagus_flag_add(sum, stats.bytes_whole + stats.bytes_differences, NULL));
        }
    }
    must(fagus_barrier(NULL));
    must(fagus_flag_read(sum, &brought));
    return brought;
}

struct alone {
    double *cells;
    double seconds;
    uint64_t edge_bytes_changed;
};

/* Computes one row, and counts what has changed in it if it is an edge. */
static void relax_row_alone(struct alone *alone, const struct plate *plate, size_t i, size_t colour,
                            double *before)
{
    double *row = alone->cells + i * plate->cells;
    if (plate->edge[i]) {
        memcpy(before, row, plate->cells * sizeof(double));
    }
    sor_row(row, row - plate->cells, row + plate->cells, plate->cells, 1 + (i + colour) % 2);
    for (size_t j = 0; plate->edge[i] && j < plate->cells; j++) {
        alone->edge_bytes_changed += memcmp(&row[j], &before[j], sizeof(double)) ? sizeof(double)
                                                                                 : 0;
    }
}

/* The whole plate on one node. */
static void relax_alone(struct alone *alone, const struct plate *plate, size_t rounds)
{
    double *before = must_have(malloc(plate->cells * sizeof(double)));
    alone->cells = must_have(malloc((plate->rows + 2) * plate->cells * sizeof(double)));
    for (size_t i = 0; i < plate->rows + 2; i++) {
        sor_start(alone->cells + i * plate->cells, i, plate->cells);
        alone->edge_bytes_changed += plate->edge[i] ? plate->cells * sizeof(double) : 0;
    }
    double start_s = now_s();
    for (size_t phase = 0; phase < 2 * rounds; phase++) {
        for (size_t i = 1; i <= plate->rows; i++) {
            relax_row_alone(alone, plate, i, phase % 2, before);
        }
    }
    alone->seconds = now_s() - start_s;
    free(before);
}

/* Whether every cell is the same. */
static bool is_same(const struct plate *plate, const struct alone *alone)
{
    bool are_same = true;
    for (int node = 0; node < fagus_size(); node++) {
        must(fagus_acquire(plate->inner[node], FAGUS_READ));
    }
    for (size_t i = 1; i <= plate->rows; i++) {
        if (plate->edge[i]) {
            must(fagus_acquire(plate->edge[i], FAGUS_READ));
        }
        are_same &= memcmp(plate->row[i], alone->cells + i * plate->cells,
                           plate->cells * sizeof(double)) == 0;
        if (plate->edge[i]) {
            must(fagus_release(plate->edge[i]));
        }
    }
    for (int node = 0; node < fagus_size(); node++) {
        must(fagus_release(plate->inner[node]));
    }
    return are_same;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {
        {"rows", 1, MOST, 1000}, {"columns", 1, MOST, 1000}, {"rounds", 1, MOST, 300}};
    size_t value[3];
    read_arguments(argc, argv,
                   "Red-black relaxation of a plate that has at least one row for each node.",
                   parameters, 3, value);
    struct plate plate = {.rows = value[0], .cells = value[1] + 2};
    size_t rounds = value[2];
    must(fagus_init());
    if (plate.rows < (size_t)fagus_size()) {
        if (fagus_rank() == 0) {
            fprintf(stderr, "%s: %zu rows are too few for %d nodes (--help)\n", argv[0], plate.rows,
                    fagus_size());
        }
        must(fagus_finalize());
        return 2;
    }
    make_plate(&plate);

    double start_s = now_s();
    relax(&plate, rounds);
    double seconds = now_s() - start_s;

    uint64_t brought = bytes_brought(&plate);
    must(fagus_release(plate.inner[fagus_rank()]));
    int status = 0;
    if (fagus_rank() == 0) {
        struct alone alone = {0};
        relax_alone(&alone, &plate, rounds);
        status = report("sor", seconds, alone.seconds, is_same(&plate, &alone));
        if (brought) {
            printf("sor: %llu bytes changed in the edges, %llu came, ratio %.3f\n",
                   (unsigned long long)alone.edge_bytes_changed, (unsigned long long)brought,
                   (double)brought / (double)alone.edge_bytes_changed);
        }
        free(alone.cells);
    }
    must(fagus_finalize());
    free(plate.row);
    free(plate.edge);
    free(plate.inner);
    return status;
}
