/* Where the nodes of a subnet stand in a picture. The shape is found from the cables, not from
 * names: switches that form a ring stand on a circle; those of a torus or mesh of up to 3
 * dimensions, if they are numbered along it, in a grid; those of a tree in levels, boards below;
 * all others where repelling nodes and pulling cables bring them, in a fixed number of steps.
 * Boards stand around their first switch. The same subnet always gives the same picture. */
#ifndef CLI_SIM_SUBNET_LAYOUT_H
#define CLI_SIM_SUBNET_LAYOUT_H

#include "sim/subnet/topology.h"

enum subnet_shape { SUBNET_STAR, SUBNET_RING, SUBNET_GRID, SUBNET_LEVELS, SUBNET_NET };

enum { SUBNET_LAYOUT_DIMENSIONS = 3 };

struct subnet_place {
    double x, y;
};

struct subnet_layout {
    enum subnet_shape shape;
    double width, height;       /* of the picture, a board being 12 wide */
    struct subnet_place *nodes; /* by node; inside the picture */
    /* Of a grid: the first switch's number, how many there are in each dimension, and how far away
     * the next one stands. */
    uint32_t first, sizes[SUBNET_LAYOUT_DIMENSIONS];
    struct subnet_place steps[SUBNET_LAYOUT_DIMENSIONS];
};

void subnet_layout_make(struct subnet_layout *layout, const struct topology *topology);
void subnet_layout_free(struct subnet_layout *layout);

/* Whether a cable goes round a torus, so that it is drawn as two pieces that leave the grid; `away`
 * is where the piece at `from` leads, half a step long. */
bool subnet_layout_wraps(const struct subnet_layout *layout, uint32_t from, uint32_t to,
                         struct subnet_place *away);

#endif
