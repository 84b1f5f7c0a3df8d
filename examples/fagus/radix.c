/* Radix sort: keys are ordered by their lowest digit, then by the next one, and so on, each time
 * keeping the order of equal digits. Each node has an equal part of the array.
 *
 *     1  every node counts the digits of its keys; a barrier with the table of `counts` gives
 *        all counts to all nodes, so that every node knows where each key belongs
 *     2  every node writes a list of keys for each part: list[from][to]
 *     3  every node acquires the lists that are for it, and puts the keys into its part
 *
 * A list has another length in every pass, so its binding changes too (fagus_rebind): what is
 * behind the list's end does not travel.
 *
 * The result is that of a serial run exactly.
 *
 *     dimmnet run -n 2 build/examples/fagus/radix [keys] */
#include <stdbool.h>
#include <string.h>

#include "example.h"
#include "kernels.h"

struct list {
    uint64_t count;
    uint32_t keys[];
};

struct sorting {
    size_t count; /* of all keys */
    size_t part;  /* of each node, at most */
    int nodes;
    uint64_t (*counts)[RADIX_DIGITS]; /* shared, of each node */
    struct fagus_sync *counts_sync;
    uint64_t (*offset)[RADIX_DIGITS]; /* where the keys of a node and digit begin in the array */
    uint32_t **keys;                  /* each node's part */
    struct fagus_sync **keys_sync;
    struct list **list; /* [from * nodes + to] */
    struct fagus_sync **list_sync;
};

static size_t part_begin(const struct sorting *sorting, int node)
{
    size_t begin = sorting->part * (size_t)node;
    return begin < sorting->count ? begin : sorting->count;
}

static size_t part_count(const struct sorting *sorting, int node)
{
    return part_begin(sorting, node + 1) - part_begin(sorting, node);
}

static int list_index(const struct sorting *sorting, int from, int to)
{
    return from * sorting->nodes + to;
}

static void make_sorting(struct sorting *sorting)
{
    size_t nodes = (size_t)sorting->nodes;
    size_t list_bytes = sizeof(struct list) + sorting->part * sizeof(uint32_t);
    sorting->counts = shared(nodes * sizeof *sorting->counts, FAGUS_BLOCK);
    sorting->counts_sync = variable();
    must(fagus_bind(sorting->counts_sync, sorting->counts, nodes * sizeof *sorting->counts));
    must(fagus_barrier(sorting->counts_sync)); /* from now on it is for barriers */
    sorting->offset = must_have(calloc(nodes, sizeof *sorting->offset));
    sorting->keys = must_have(calloc(nodes, sizeof(uint32_t *)));
    sorting->keys_sync = must_have(calloc(nodes, sizeof(struct fagus_sync *)));
    sorting->list = must_have(calloc(nodes * nodes, sizeof(struct list *)));
    sorting->list_sync = must_have(calloc(nodes * nodes, sizeof(struct fagus_sync *)));
    for (int node = 0; node < sorting->nodes; node++) {
        sorting->keys[node] = shared(sorting->part * sizeof(uint32_t), node);
        sorting->keys_sync[node] = variable();
        must(fagus_bind(sorting->keys_sync[node], sorting->keys[node],
                        sorting->part * sizeof(uint32_t)));
        for (int to = 0; to < sorting->nodes; to++) {
            int i = list_index(sorting, node, to);
            sorting->list[i] = shared(list_bytes, node);
            sorting->list_sync[i] = variable();
            must(fagus_bind(sorting->list_sync[i], sorting->list[i], sizeof(struct list)));
        }
    }
    int me = fagus_rank();
    must(fagus_acquire(sorting->keys_sync[me], FAGUS_WRITE)); /* until all is sorted */
    radix_start(sorting->keys[me], part_begin(sorting, me), part_begin(sorting, me + 1));
    /* Touch memory before the clock runs, as when one node sorts alone. */
    for (int to = 0; to < sorting->nodes; to++) {
        memset(sorting->list[list_index(sorting, me, to)]->keys, 0,
               sorting->part * sizeof(uint32_t));
    }
    must(fagus_barrier(NULL));
}

/* Step 1. The offsets are kept for step 3, because a fast node's next counts may come before. */
static void count_digits(struct sorting *sorting, int pass)
{
    int me = fagus_rank();
    uint64_t offset = 0;
    radix_count(sorting->counts[me], sorting->keys[me], part_count(sorting, me), pass);
    must(fagus_barrier(sorting->counts_sync));
    for (int digit = 0; digit < RADIX_DIGITS; digit++) {
        for (int node = 0; node < sorting->nodes; node++) {
            sorting->offset[node][digit] = offset;
            offset += sorting->counts[node][digit];
        }
    }
}

/* Step 2. */
static void write_lists(struct sorting *sorting, int pass)
{
    int me = fagus_rank();
    struct list **list = &sorting->list[list_index(sorting, me, 0)];
    struct fagus_sync **sync = &sorting->list_sync[list_index(sorting, me, 0)];
    uint32_t **keys = must_have(calloc((size_t)sorting->nodes, sizeof *keys));
    size_t *lengths = must_have(calloc((size_t)sorting->nodes, sizeof *lengths));
    for (int to = 0; to < sorting->nodes; to++) {
        must(fagus_acquire(sync[to], FAGUS_WRITE));
        keys[to] = list[to]->keys;
    }
    radix_route(keys, lengths, sorting->offset[me], sorting->keys[me], part_count(sorting, me),
                pass, sorting->part);
    for (int to = 0; to < sorting->nodes; to++) {
        struct fagus_range range = {list[to], sizeof(struct list) + lengths[to] * sizeof(uint32_t)};
        list[to]->count = lengths[to];
        must(fagus_rebind(sync[to], &range, 1));
        must(fagus_release(sync[to]));
    }
    free(keys);
    free(lengths);
}

/* Step 3. The first of a node's keys with some digit may belong to the part before. */
static void read_lists(struct sorting *sorting, int pass)
{
    int me = fagus_rank();
    uint64_t begin = part_begin(sorting, me);
    uint64_t places[RADIX_DIGITS];
    for (int from = 0; from < sorting->nodes; from++) {
        int i = list_index(sorting, from, me);
        for (int digit = 0; digit < RADIX_DIGITS; digit++) {
            uint64_t offset = sorting->offset[from][digit];
            places[digit] = offset > begin ? offset - begin : 0;
        }
        must(fagus_acquire(sorting->list_sync[i], FAGUS_READ));
        radix_place(sorting->keys[me], places, sorting->list[i]->keys, sorting->list[i]->count,
                    pass);
        must(fagus_release(sorting->list_sync[i]));
    }
}

static void sort(struct sorting *sorting)
{
    for (int pass = 0; pass < RADIX_PASSES; pass++) {
        count_digits(sorting, pass);
        write_lists(sorting, pass);
        must(fagus_barrier(NULL)); /* all lists are written */
        read_lists(sorting, pass);
    }
    must(fagus_release(sorting->keys_sync[fagus_rank()]));
    must(fagus_barrier(NULL));
}

/* The same on one node, directly from one array to another. Gives its time, and whether all keys
 * are the same. */
static double sort_alone(const struct sorting *sorting, bool *is_same)
{
    uint32_t *keys = must_have(malloc(2 * sorting->count * sizeof(uint32_t)));
    uint32_t *other = keys + sorting->count;
    radix_start(keys, 0, sorting->count);
    memset(other, 0, sorting->count * sizeof(uint32_t));
    double start_s = now_s();
    for (int pass = 0; pass < RADIX_PASSES; pass += 2) {
        radix_pass(other, keys, sorting->count, pass);
        radix_pass(keys, other, sorting->count, pass + 1);
    }
    double seconds = now_s() - start_s;
    *is_same = true;
    for (int node = 0; node < sorting->nodes; node++) {
        must(fagus_acquire(sorting->keys_sync[node], FAGUS_READ));
        *is_same &= memcmp(sorting->keys[node], keys + part_begin(sorting, node),
                           part_count(sorting, node) * sizeof(uint32_t)) == 0;
        must(fagus_release(sorting->keys_sync[node]));
    }
    free(keys);
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct parameter parameters[] = {{"keys", 1, MOST, 10000000}};
    struct sorting sorting = {0};
    read_arguments(argc, argv, "Radix sort of keys of 32 bits.", parameters, 1, &sorting.count);
    must(fagus_init());
    sorting.nodes = fagus_size();
    sorting.part = (sorting.count + (size_t)sorting.nodes - 1) / (size_t)sorting.nodes;
    make_sorting(&sorting);

    double start_s = now_s();
    sort(&sorting);
    double seconds = now_s() - start_s;

    int status = 0;
    if (fagus_rank() == 0) {
        bool is_same;
        double alone_seconds = sort_alone(&sorting, &is_same);
        status = report("radix", seconds, alone_seconds, is_same);
    }
    must(fagus_finalize());
    free(sorting.offset);
    free(sorting.keys);
    free(sorting.keys_sync);
    free(sorting.list);
    free(sorting.list_sync);
    return status;
}
