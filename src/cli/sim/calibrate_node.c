/* The node's side of `dimmnet sim calibrate`: loops over the library's calls, timed by node 0 with
 * the group's own clock, which is virtual on a simulated machine. */
#include "cli/sim/calibrate.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "dimmnet.h"

#define COMMAND "dimmnet sim calibrate"

enum { WORD_AT = 0, BLOCK_AT = 4096, ROW_AT = 8192, LOCK_AT = 64 << 10, LINE_BYTES = 64 };
enum { BLOCKS_LIVE = 31, BLOCKS_SIMULATED = 5, ROW_WORDS = 256, TABLE_WORDS = 1000 };

struct meter_world {
    struct dn_node *node;
    struct dn_team *all;
    struct dn_kick kick; /* node 0: to node 1, and the other way round */
    struct dn_lock *lock;
    int rank, size;
    bool is_virtual; /* fewer rounds: each takes longer in real time */
    uint64_t turn;   /* of ping-pongs so far */
    unsigned char *data;
};

const char *const calibrate_texts[CALIBRATE_METER_COUNT] = {
#define CALIBRATE_TEXT(upper, text) text,
    CALIBRATE_METERS(CALIBRATE_TEXT)
#undef CALIBRATE_TEXT
};

/* ---- The loops: all nodes run them, and only nodes 0 and 1 do something in those for two ---- */

static struct dn_remote there(const struct meter_world *world, uint32_t area, uint64_t offset)
{
    return (struct dn_remote){1 - world->rank, area, offset};
}

static int store(struct meter_world *world, unsigned rounds)
{
    for (unsigned i = 0; i < rounds && world->rank == 0; i++) {
        dn_store_u64(&world->kick, BLOCK_AT, i);
    }
    return 0;
}

static int see(struct meter_world *world, unsigned rounds)
{
    const uint64_t *word = (const uint64_t *)dn_llcm(world->node, NULL);
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank < 2; i++) {
        uint64_t turn = ++world->turn;
        if (world->rank == 0) {
            dn_store_u64(&world->kick, WORD_AT, turn);
            error = dn_wait_until_u64(world->node, word, DN_EQ, turn, DN_FOREVER);
        } else {
            error = dn_wait_until_u64(world->node, word, DN_EQ, turn, DN_FOREVER);
            dn_store_u64(&world->kick, WORD_AT, turn);
        }
    }
    return error;
}

/* Node 1 has written a row of words before (`prepare`). */
static int look(struct meter_world *world, unsigned rounds)
{
    const unsigned char *row = (const unsigned char *)dn_llcm(world->node, NULL) + ROW_AT;
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        const void *word = row + (uint64_t)(i % ROW_WORDS) * LINE_BYTES;
        error = dn_wait_until_u64(world->node, word, DN_NE, 0, DN_FOREVER);
    }
    return error;
}

static int block(struct meter_world *world, unsigned rounds)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        error = dn_botf(world->node, there(world, DN_LLCM, BLOCK_AT), world->data,
                        CALIBRATE_SMALL_BYTES);
    }
    return error;
}

static int put_bytes(struct meter_world *world, unsigned rounds, size_t bytes)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        error = dn_put(world->node, there(world, DN_BANK, 0), world->data, bytes);
    }
    return error;
}

static int put(struct meter_world *world, unsigned rounds)
{
    return put_bytes(world, rounds, CALIBRATE_SMALL_BYTES);
}

static int copy(struct meter_world *world, unsigned rounds)
{
    return put_bytes(world, rounds, CALIBRATE_COPY_BYTES);
}

static int far(struct meter_world *world, unsigned rounds)
{
    return put_bytes(world, rounds, CALIBRATE_FAR_BYTES);
}

static int get(struct meter_world *world, unsigned rounds)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        error = dn_get(world->node, there(world, DN_BANK, 0), world->data, CALIBRATE_SMALL_BYTES);
    }
    return error;
}

/* Counters that several nodes use at once are what atomics are for: so both nodes add to the words
 * of one table, in an order that neither shares with the other. */
static int atomic(struct meter_world *world, unsigned rounds)
{
    uint64_t old;
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank < 2; i++) {
        uint64_t word = (uint64_t)i * (world->rank == 0 ? 389 : 641) % TABLE_WORDS;
        struct dn_remote place = {1, DN_LLCM, ROW_AT + word * sizeof(uint64_t)};
        error = dn_fetch_add_u64(world->node, place, 1, &old);
    }
    return error;
}

static int fence(struct meter_world *world, unsigned rounds)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        dn_store_u64(&world->kick, BLOCK_AT, i);
        error = dn_fence(world->node);
    }
    return error;
}

static int quiet(struct meter_world *world, unsigned rounds)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank == 0; i++) {
        dn_store_u64(&world->kick, BLOCK_AT, i);
        error = dn_quiet(world->node);
    }
    return error;
}

static int take_and_give(struct meter_world *world, unsigned rounds, int of_nodes)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error && world->rank < of_nodes; i++) {
        error = dn_lock_take(world->lock, DN_FOREVER);
        error = error ? error : dn_lock_give(world->lock);
    }
    return error;
}

static int lock(struct meter_world *world, unsigned rounds)
{
    return take_and_give(world, rounds, 1);
}

static int hand_over(struct meter_world *world, unsigned rounds)
{
    return take_and_give(world, rounds, 2);
}

static int barrier(struct meter_world *world, unsigned rounds)
{
    int error = 0;
    for (unsigned i = 0; i < rounds && !error; i++) {
        error = dn_barrier(world->all, DN_FOREVER);
    }
    return error;
}

static int sum(struct meter_world *world, unsigned rounds)
{
    double one = 1;
    double result;
    int error = 0;
    for (unsigned i = 0; i < rounds && !error; i++) {
        error = dn_allreduce(world->all, &one, &result, 1, DN_DOUBLE, DN_SUM);
    }
    return error;
}

/* ---- Which, and how often -------------------------------------------------------------------- */

static const struct meter {
    int (*run)(struct meter_world *world, unsigned rounds);
    unsigned rounds_live, rounds_virtual;
    double steps;    /* of one round */
    bool is_for_all; /* also measured with more nodes than cores */
} meters[CALIBRATE_METER_COUNT] = {
    [CALIBRATE_STORE] = {store, 100000, 2000, 1, false},
    [CALIBRATE_SEE] = {see, 3000, 300, 2, false},
    [CALIBRATE_LOOK] = {look, ROW_WORDS, ROW_WORDS, 1, false},
    [CALIBRATE_BLOCK] = {block, 20000, 1000, 1, false},
    [CALIBRATE_PUT] = {put, 20000, 300, 1, false},
    [CALIBRATE_GET] = {get, 20000, 300, 1, false},
    [CALIBRATE_COPY] = {copy, 200, 20, 1, false},
    [CALIBRATE_FAR] = {far, 2, 2, 1, false},
    [CALIBRATE_ATOMIC] = {atomic, 50000, 300, 1, false},
    [CALIBRATE_FENCE] = {fence, 50000, 1000, 1, false},
    [CALIBRATE_QUIET] = {quiet, 50000, 300, 1, false},
    [CALIBRATE_LOCK] = {lock, 50000, 300, 1, false},
    [CALIBRATE_BARRIER] = {barrier, 2000, 200, 1, true},
    [CALIBRATE_SUM] = {sum, 2000, 200, 1, true},
    [CALIBRATE_HAND_OVER] = {hand_over, 2000, 200, 2, false},
};

/* Node 1 writes the words that node 0 will look at, so that they come from its cache. */
static int prepare(struct meter_world *world, enum calibrate_meter which)
{
    unsigned char *row = (unsigned char *)dn_llcm(world->node, NULL) + ROW_AT;
    if (which == CALIBRATE_LOOK && world->rank == 0) {
        memset(row, 0, (size_t)ROW_WORDS * LINE_BYTES);
    }
    int error = dn_barrier(world->all, DN_FOREVER);
    for (uint64_t i = 0; which == CALIBRATE_LOOK && world->rank == 1 && i < ROW_WORDS; i++) {
        dn_store_u64(&world->kick, ROW_AT + i * LINE_BYTES, 1);
    }
    error = error ? error : dn_quiet(world->node);
    return error ? error : dn_barrier(world->all, DN_FOREVER);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of blocks, the first of which is to warm up. */
static int measure(struct meter_world *world, enum calibrate_meter which, double *ns)
{
    const struct meter *meter = &meters[which];
    unsigned rounds = world->is_virtual ? meter->rounds_virtual : meter->rounds_live;
    unsigned blocks = world->is_virtual ? BLOCKS_SIMULATED : BLOCKS_LIVE;
    double each[BLOCKS_LIVE];
    for (unsigned i = 0; i <= blocks; i++) {
        int error = prepare(world, which);
        uint64_t from_ns = dn_time_ns(world->node);
        error = error ? error : meter->run(world, rounds);
        double passed_ns = (double)(dn_time_ns(world->node) - from_ns);
        if (error) {
            return error;
        }
        if (i > 0) {
            each[i - 1] = passed_ns / rounds / meter->steps;
        }
    }
    qsort(each, blocks, sizeof each[0], by_size);
    *ns = each[blocks / 2];
    return dn_barrier(world->all, DN_FOREVER);
}

static int open_world(struct meter_world *world)
{
    int error = dn_attach(&world->node, NULL);
    if (error) {
        return error;
    }
    world->rank = dn_rank(world->node);
    world->size = dn_size(world->node);
    world->all = dn_team_all(world->node);
    world->data = calloc(1, CALIBRATE_FAR_BYTES);
    if (!world->data) {
        return DN_ENOMEM;
    }
    memset(world->data, 1, CALIBRATE_FAR_BYTES);
    struct dn_remote word = {1, DN_LLCM, LOCK_AT};
    if (world->rank < 2) {
        error = dn_kick_map(world->node, there(world, DN_LLCM, 0), LOCK_AT, &world->kick);
    }
    return error ? error : dn_lock_open(world->node, word, &world->lock);
}

static int measure_all(struct meter_world *world, double ns[CALIBRATE_METER_COUNT])
{
    int error = 0;
    for (unsigned i = 0; i < CALIBRATE_METER_COUNT && !error; i++) {
        ns[i] = 0;
        if (meters[i].is_for_all || world->size == 2) {
            error = measure(world, (enum calibrate_meter)i, &ns[i]);
        }
    }
    return error;
}

/* calibrate-node FILE live|virtual: node 0 writes the figures into the file. */
int cli_calibrate_node(int argc, char **argv)
{
    struct meter_world world = {0};
    double ns[CALIBRATE_METER_COUNT];
    if (argc < 3) {
        return cli_refuse(COMMAND, "its nodes are started by itself");
    }
    world.is_virtual = strcmp(argv[2], "virtual") == 0;
    int error = open_world(&world);
    error = error ? error : measure_all(&world, ns);
    if (!error && world.rank == 0) {
        FILE *file = fopen(argv[1], "we");
        if (!file || fwrite(ns, sizeof ns, 1, file) != 1 || fclose(file) != 0) {
            return cli_fail(COMMAND, "cannot write the figures");
        }
    }
    error = error ? error : dn_lock_close(world.lock);
    error = error ? error : dn_detach(world.node);
    free(world.data);
    return error ? cli_fail(COMMAND, "%s", dn_strerror(error)) : CLI_OK;
}
