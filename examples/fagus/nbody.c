/* Bodies that all attract each other.
 *
 * Each node moves its share of the bodies, and needs to know where all of them are. That is what a
 * barrier with a variable is for: fagus_barrier(picture) waits for all nodes, and then all of them
 * see what any node has written in the picture. No node acquires anything, and only what
 * was written travels.
 *
 *     picture[0]  | bodies of node 0 | of node 1 | ...    step 0 reads it and writes [1],
 *     picture[1]  | bodies of node 0 | of node 1 | ...    step 1 reads that and writes [0], ...
 *
 * With two pictures in turn one barrier a step is enough: no node writes what a slow neighbour
 * still reads. Other nodes do not need the velocities, which lie in ordinary memory.
 *
 * The result is that of a serial run to the last bit.
 *
 *     dimmnet run -n 2 build/examples/fagus/nbody [bodies steps] */
#include <stdbool.h>
#include <string.h>

#include "example.h"
#include "kernels.h"

struct space {
    size_t bodies;
    size_t first, end; /* this node's */
    struct body *picture[2];
    struct fagus_sync *sync[2];
    struct velocity *velocity; /* of all bodies; this node knows those of its own */
};

static void make_space(struct space *space)
{
    size_t bytes = space->bodies * sizeof(struct body);
    for (int i = 0; i < 2; i++) {
        space->picture[i] = shared(bytes, FAGUS_BLOCK);
        space->sync[i] = variable();
        must(fagus_bind(space->sync[i], space->picture[i], bytes));
        must(fagus_barrier(space->sync[i])); /* from now on it is for barriers */
    }
    space->first = share(space->bodies, fagus_rank(), fagus_size());
    space->end = share(space->bodies, fagus_rank() + 1, fagus_size());
    space->velocity = must_have(calloc(space->bodies, sizeof(struct velocity)));
    nbody_start(space->picture[0], space->first, space->end);
    must(fagus_barrier(space->sync[0])); /* now all nodes have all bodies */
}

static void move(struct space *space, size_t steps)
{
    for (size_t step = 0; step < steps; step++) {
        size_t now = step % 2;
        nbody_step(space->picture[1 - now], space->velocity, space->picture[now], space->bodies,
                   space->first, space->end);
        must(fagus_barrier(space->sync[1 - now]));
    }
}

/* The same on one node. Gives its time, and whether every body is at the same place. */
static double move_alone(const struct space *space, size_t steps, bool *is_same)
{
    struct body *picture[2];
    struct velocity *velocity = must_have(calloc(space->bodies, sizeof(struct velocity)));
    for (int i = 0; i < 2; i++) {
        picture[i] = must_have(calloc(space->bodies, sizeof(struct body)));
    }
    nbody_start(picture[0], 0, space->bodies);
    double start_s = now_s();
    for (size_t step = 0; step < steps; step++) {
        nbody_step(picture[1 - step % 2], velocity, picture[step % 2], space->bodies, 0,
                   space->bodies);
    }
    double seconds = now_s() - start_s;
    *is_same = memcmp(space->picture[steps % 2], picture[steps % 2],
                      space->bodies * sizeof(struct body)) == 0;
    free(picture[0]);
    free(picture[1]);
    free(velocity);
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {{"bodies", 1, MOST, 2000},
                                                  {"steps", 1, MOST, 30}};
    size_t value[2];
    read_arguments(argc, argv, "Bodies that attract each other, step by step.", parameters, 2,
                   value);
    struct space space = {.bodies = value[0]};
    size_t steps = value[1];
    must(fagus_init());
    make_space(&space);

    double start_s = now_s();
    move(&space, steps);
    double seconds = now_s() - start_s;

    int status = 0;
    if (fagus_rank() == 0) {
        bool is_same;
        double alone_seconds = move_alone(&space, steps, &is_same);
        status = report("nbody", seconds, alone_seconds, is_same);
    }
    must(fagus_finalize());
    free(space.velocity);
    return status;
}
