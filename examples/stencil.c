/* A stencil with barriers: heat spreads along a rod that is split between the nodes.
 *
 *     node 0:  [edge | cells ... | edge]   node 1:  [edge | cells ... | edge]   ...
 *
 * In each step a node stores its outer cells into its neighbours' edges, waits at the
 * barrier until all have come, and computes its next cells. With two rods, one for even
 * and one for odd steps, one barrier a step is enough: while a slow neighbour still
 * reads one rod, the other is written.
 *
 *     dimmnet run -n 4 build/examples/stencil */
#include <dimmnet.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000, STEPS = 2000 };

static void must(int error)
{
    if (error) {
        fprintf(stderr, "stencil: %s\n", dn_strerror(error));
        exit(1);
    }
}

/* Stores one cell into the same place of another node's rod. */
static void put_cell(struct dn_node *node, const double *cell, double *edge, int rank)
{
    struct dn_remote place;
    if (rank >= 0 && rank < dn_size(node)) {
        must(dn_remote_of(node, edge, rank, &place));
        must(dn_botf(node, place, cell, sizeof *cell));
    }
}

int main(void)
{
    struct dn_node *node;
    struct dn_team *all;
    double(*rods)[CELLS + 2];
    void *memory;
    must(dn_attach(&node, NULL));
    all = dn_team_all(node);
    must(dn_alloc(node, 2 * sizeof *rods, &memory));
    rods = memory;
    int rank = dn_rank(node);
    for (int i = 0; i < CELLS + 2; i++) {
        rods[0][i] = rods[1][i] = 0;
    }
    if (rank == 0) {
        rods[0][CELLS / 2] = 1000; /* all the heat is in one cell */
    }
    must(dn_barrier(dn_team_all(node), DN_FOREVER)); /* all edges are cold */

    for (int step = 0; step < STEPS; step++) {
        double *now = rods[step % 2];
        double *next = rods[1 - step % 2];
        put_cell(node, &now[1], &now[CELLS + 1], rank - 1);
        put_cell(node, &now[CELLS], &now[0], rank + 1);
        must(dn_barrier(all, DN_FOREVER));
        for (int i = 1; i <= CELLS; i++) {
            double left = rank == 0 && i == 1 ? now[1] : now[i - 1];
            double right = rank == dn_size(node) - 1 && i == CELLS ? now[i] : now[i + 1];
            next[i] = now[i] + 0.25 * (left - 2 * now[i] + right);
        }
    }

    double heat = 0;
    for (int i = 1; i <= CELLS; i++) {
        heat += rods[STEPS % 2][i];
    }
    must(dn_allreduce(all, &heat, &heat, 1, DN_DOUBLE, DN_SUM));
    if (rank == 0) {
        printf("%d nodes, %d steps: heat %.6f\n", dn_size(node), STEPS, heat);
    }
    must(dn_detach(node));
    return heat > 999.999 && heat < 1000.001 ? 0 : 1;
}
