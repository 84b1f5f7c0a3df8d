/* Measuring as a ratio to the physical limit.
 *
 * Raw and ours run in short blocks, raw - ours - raw - ours - raw ..., on the same
 * cache lines. Each "raw, ours, raw" is a triple; it counts only when its two raws
 * agree within a tenth, because the cores of a virtual machine move and change their
 * speed. The figure is the median ratio of at least 300 triples. */
#ifndef CLI_PERF_PERF_MEASURE_H
#define CLI_PERF_PERF_MEASURE_H

#include "dimmnet.h"

/* A piece of work of `count` operations, which all nodes run in step. */
typedef void (*perf_block)(void *context, uint64_t count);

struct perf_pair {
    perf_block raw;
    perf_block ours;
    void *context;
    uint64_t count;  /* operations in a block; 0: as many as take about block_ns raw */
    double block_ns; /* where the count is 0 */
    double apart_ns; /* taken off each operation, raw or ours: a part that is not measured */
};

struct perf_figure {
    double ours_ns; /* median of one operation, over blocks that counted */
    double p99_ns;  /* of the blocks' means */
    double raw_ns;
    double ratio; /* median of ours / raw by triple */
    uint64_t triples;
};

/* Runs on every node of the group at once; rank 0 keeps the time and gets the figure (the
 * others get zeros). Nodes that take no part in the blocks pass empty ones. Work that needs no
 * group has the node NULL. Returns a negative DN_E... when a peer fails. */
int perf_measure(struct dn_node *node, const struct perf_pair *pair, struct perf_figure *figure);

/* Sorts the values. 0 if there are none. */
double perf_median(double *values, uint64_t count);

#endif
