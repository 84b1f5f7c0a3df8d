/* The programs of examples/fagus with plain threads, for comparison: the same arithmetic
 * (kernels.h), dealt to threads as it is dealt to nodes there, in ordinary memory, with mutexes,
 * conditions and barriers of pthreads. Threads are pinned as `dimmnet run` pins nodes.
 *
 *     fagus_threads PROGRAM THREADS [argument...]      as the example of that name
 *
 * It prints the line that the example prints, with "threads" for "nodes". */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../examples/fagus/kernels.h"
#include "bench.h"

enum { THREADS_MAX = 64 };

static int threads;
static pthread_barrier_t everybody;
static size_t arguments[3];

static void *memory(size_t count, size_t bytes)
{
    void *pointer = calloc(count, bytes);
    if (!pointer) {
        fprintf(stderr, "fagus_threads: no memory\n");
        exit(1);
    }
    return pointer;
}

static void wait_for_all(void)
{
    (void)pthread_barrier_wait(&everybody);
}

static size_t share(size_t count, int rank)
{
    return count * (size_t)rank / (size_t)threads;
}

/* ---- sor ------------------------------------------------------------------------------- */

static double *plate;

static void sor_set_up(void)
{
    plate = memory(arguments[0] + 2, (arguments[1] + 2) * sizeof(double));
}

static void sor_prepare(int rank)
{
    size_t cells = arguments[1] + 2;
    size_t end = share(arguments[0], rank + 1) + (rank == threads - 1 ? 2 : 1);
    for (size_t i = rank == 0 ? 0 : share(arguments[0], rank) + 1; i < end; i++) {
        sor_start(plate + i * cells, i, cells);
    }
}

static void sor_phase(double *cell, size_t phase, size_t first, size_t end)
{
    size_t cells = arguments[1] + 2;
    for (size_t i = first; i < end; i++) {
        double *row = cell + i * cells;
        sor_row(row, row - cells, row + cells, cells, 1 + (i + phase) % 2);
    }
}

static void sor_compute(int rank)
{
    for (size_t phase = 0; phase < 2 * arguments[2]; phase++) {
        sor_phase(plate, phase, share(arguments[0], rank) + 1, share(arguments[0], rank + 1) + 1);
        wait_for_all();
    }
}

static bool sor_check(double *alone_ns)
{
    size_t cells = arguments[1] + 2;
    double *alone = memory(arguments[0] + 2, cells * sizeof(double));
    for (size_t i = 0; i < arguments[0] + 2; i++) {
        sor_start(alone + i * cells, i, cells);
    }
    uint64_t start_ns = bench_now_ns();
    for (size_t phase = 0; phase < 2 * arguments[2]; phase++) {
        sor_phase(alone, phase, 1, arguments[0] + 1);
    }
    *alone_ns = (double)(bench_now_ns() - start_ns);
    bool is_same = memcmp(alone, plate, (arguments[0] + 2) * cells * sizeof(double)) == 0;
    free(alone);
    return is_same;
}

/* ---- lu -------------------------------------------------------------------------------- */

static lu_row *panels;
static size_t finished; /* panels, from the left */
static pthread_mutex_t finished_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished_changed = PTHREAD_COND_INITIALIZER;

static lu_row *panel_of(lu_row *first, size_t index)
{
    return first + index * arguments[0];
}

static void lu_set_up(void)
{
    panels = memory(arguments[0], arguments[0] * sizeof(double));
}

static bool panel_is_of(size_t panel, int rank)
{
    return panel % (size_t)threads == (size_t)rank;
}

static void lu_prepare(int rank)
{
    for (size_t k = (size_t)rank; k < arguments[0] / LU_WIDTH; k += (size_t)threads) {
        lu_start(panel_of(panels, k), k, arguments[0]);
    }
}

static void lu_finish(size_t panel)
{
    lu_factor(panel_of(panels, panel), panel, arguments[0]);
    (void)pthread_mutex_lock(&finished_mutex);
    finished = panel + 1;
    (void)pthread_cond_broadcast(&finished_changed);
    (void)pthread_mutex_unlock(&finished_mutex);
}

static void lu_await(size_t panel)
{
    (void)pthread_mutex_lock(&finished_mutex);
    while (finished <= panel) {
        (void)pthread_cond_wait(&finished_changed, &finished_mutex);
    }
    (void)pthread_mutex_unlock(&finished_mutex);
}

static void lu_compute(int rank)
{
    if (rank == 0) {
        lu_finish(0);
    }
    for (size_t k = 0; k < arguments[0] / LU_WIDTH; k++) {
        lu_await(k);
        for (size_t j = k + 1; j < arguments[0] / LU_WIDTH; j++) {
            if (panel_is_of(j, rank)) {
                lu_update(panel_of(panels, j), panel_of(panels, k), k, arguments[0]);
                if (j == k + 1) {
                    lu_finish(j);
                }
            }
        }
    }
}

static bool lu_check(double *alone_ns)
{
    lu_row *alone = memory(arguments[0], arguments[0] * sizeof(double));
    for (size_t k = 0; k < arguments[0] / LU_WIDTH; k++) {
        lu_start(panel_of(alone, k), k, arguments[0]);
    }
    uint64_t start_ns = bench_now_ns();
    for (size_t k = 0; k < arguments[0] / LU_WIDTH; k++) {
        lu_factor(panel_of(alone, k), k, arguments[0]);
        for (size_t j = k + 1; j < arguments[0] / LU_WIDTH; j++) {
            lu_update(panel_of(alone, j), panel_of(alone, k), k, arguments[0]);
        }
    }
    *alone_ns = (double)(bench_now_ns() - start_ns);
    bool is_same = memcmp(alone, panels, arguments[0] * arguments[0] * sizeof(double)) == 0;
    free(alone);
    return is_same;
}

/* ---- matrix ---------------------------------------------------------------------------- */

static double *left, *right, *product;

static void matrix_set_up(void)
{
    left = memory(arguments[0], arguments[0] * sizeof(double));
    right = memory(arguments[0], arguments[0] * sizeof(double));
    product = memory(arguments[0], arguments[0] * sizeof(double));
}

static void matrix_prepare(int rank)
{
    size_t size = arguments[0];
    for (size_t i = share(size, rank); i < share(size, rank + 1); i++) {
        matrix_start(left + i * size, i, size);
        matrix_start(right + i * size, 1000 + i, size);
    }
}

static void matrix_compute(int rank)
{
    size_t size = arguments[0];
    size_t first = share(size, rank);
    size_t rows = share(size, rank + 1) - first;
    size_t bands = (size + MATRIX_BAND - 1) / MATRIX_BAND;
    size_t begin = bands * (size_t)rank / (size_t)threads;
    for (size_t i = 0; i < bands; i++) {
        size_t k = (begin + i) % bands * MATRIX_BAND;
        matrix_multiply(product + first * size, left + first * size, right + k * size, rows, size,
                        k);
    }
}

static bool matrix_check(double *alone_ns)
{
    size_t size = arguments[0];
    double *alone = memory(size, size * sizeof(double));
    memset(alone, 0, size * size * sizeof(double));
    uint64_t start_ns = bench_now_ns();
    for (size_t k = 0; k < size; k += MATRIX_BAND) {
        matrix_multiply(alone, left, right + k * size, size, size, k);
    }
    *alone_ns = (double)(bench_now_ns() - start_ns);
    bool is_same = memcmp(alone, product, size * size * sizeof(double)) == 0;
    free(alone);
    return is_same;
}

/* ---- nbody ----------------------------------------------------------------------------- */

static struct body *pictures[2];
static struct velocity *velocities;

static void nbody_set_up(void)
{
    pictures[0] = memory(arguments[0], sizeof(struct body));
    pictures[1] = memory(arguments[0], sizeof(struct body));
    velocities = memory(arguments[0], sizeof(struct velocity));
}

static void nbody_prepare(int rank)
{
    nbody_start(pictures[0], share(arguments[0], rank), share(arguments[0], rank + 1));
}

static void nbody_compute(int rank)
{
    for (size_t step = 0; step < arguments[1]; step++) {
        nbody_step(pictures[1 - step % 2], velocities, pictures[step % 2], arguments[0],
                   share(arguments[0], rank), share(arguments[0], rank + 1));
        wait_for_all();
    }
}

static bool nbody_check(double *alone_ns)
{
    struct body *before = pictures[arguments[1] % 2];
    nbody_set_up();
    nbody_start(pictures[0], 0, arguments[0]);
    uint64_t start_ns = bench_now_ns();
    for (size_t step = 0; step < arguments[1]; step++) {
        nbody_step(pictures[1 - step % 2], velocities, pictures[step % 2], arguments[0], 0,
                   arguments[0]);
    }
    *alone_ns = (double)(bench_now_ns() - start_ns);
    return memcmp(before, pictures[arguments[1] % 2], arguments[0] * sizeof(struct body)) == 0;
}

/* ---- radix ----------------------------------------------------------------------------- */

static size_t part; /* of each thread, at most */
static uint32_t *keys;
static uint32_t *lists[THREADS_MAX][THREADS_MAX]; /* from, to */
static size_t lengths[THREADS_MAX][THREADS_MAX];
static uint64_t counts[THREADS_MAX][RADIX_DIGITS];

static size_t part_begin(int rank)
{
    size_t begin = part * (size_t)rank;
    return begin < arguments[0] ? begin : arguments[0];
}

static void radix_set_up(void)
{
    part = (arguments[0] + (size_t)threads - 1) / (size_t)threads;
    keys = memory(arguments[0], sizeof(uint32_t));
}

static void radix_prepare(int rank)
{
    radix_start(keys + part_begin(rank), part_begin(rank), part_begin(rank + 1));
    for (int to = 0; to < threads; to++) {
        lists[rank][to] = memory(part, sizeof(uint32_t));
        memset(lists[rank][to], 0, part * sizeof(uint32_t));
    }
}

static void radix_compute(int rank)
{
    static uint64_t offsets[THREADS_MAX][THREADS_MAX][RADIX_DIGITS]; /* each thread's own */
    uint32_t *mine = keys + part_begin(rank);
    size_t count = part_begin(rank + 1) - part_begin(rank);
    for (int pass = 0; pass < RADIX_PASSES; pass++) {
        uint64_t(*offset)[RADIX_DIGITS] = offsets[rank];
        uint64_t sum = 0;
        radix_count(counts[rank], mine, count, pass);
        wait_for_all();
        for (int digit = 0; digit < RADIX_DIGITS; digit++) {
            for (int from = 0; from < threads; from++) {
                offset[from][digit] = sum;
                sum += counts[from][digit];
            }
        }
        memset(lengths[rank], 0, sizeof lengths[rank]);
        radix_route(lists[rank], lengths[rank], offset[rank], mine, count, pass, part);
        wait_for_all();
        for (int from = 0; from < threads; from++) {
            uint64_t begin = part_begin(rank);
            for (int digit = 0; digit < RADIX_DIGITS; digit++) {
                uint64_t *place = &offset[from][digit];
                *place = *place > begin ? *place - begin : 0;
            }
            radix_place(mine, offset[from], lists[from][rank], lengths[from][rank], pass);
        }
    }
}

static bool radix_check(double *alone_ns)
{
    uint32_t *alone = memory(2 * arguments[0], sizeof(uint32_t));
    uint32_t *other = alone + arguments[0];
    radix_start(alone, 0, arguments[0]);
    memset(other, 0, arguments[0] * sizeof(uint32_t));
    uint64_t start_ns = bench_now_ns();
    for (int pass = 0; pass < RADIX_PASSES; pass += 2) {
        radix_pass(other, alone, arguments[0], pass);
        radix_pass(alone, other, arguments[0], pass + 1);
    }
    *alone_ns = (double)(bench_now_ns() - start_ns);
    bool is_same = memcmp(alone, keys, arguments[0] * sizeof(uint32_t)) == 0;
    free(alone);
    return is_same;
}

/* ---- tsp ------------------------------------------------------------------------------- */

enum { QUEUE_PLACES = 16, SPLIT_COUNT = 4 }; /* as in the example */

static struct tsp_map map;
static struct tsp_trip queue[QUEUE_PLACES];
static int queue_count, working;
static struct tsp_trip best = {.length = INT32_MAX};
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t best_mutex = PTHREAD_MUTEX_INITIALIZER;

static void tsp_set_up(void)
{
    tsp_start(&map, (int)arguments[0]);
    queue[queue_count++] = (struct tsp_trip){.count = 1};
}

static void tsp_prepare(int rank)
{
    (void)rank;
}

static bool tsp_split(const struct tsp_trip *work)
{
    uint32_t visited = tsp_visited(work);
    (void)pthread_mutex_lock(&queue_mutex);
    bool is_room = queue_count + map.cities - work->count <= QUEUE_PLACES;
    for (int city = map.cities - 1; city > 0 && is_room; city--) {
        if (!(visited & UINT32_C(1) << city)) {
            queue[queue_count++] = tsp_with(&map, work, city);
        }
    }
    (void)pthread_mutex_unlock(&queue_mutex);
    return is_room;
}

static void tsp_do(const struct tsp_trip *work)
{
    (void)pthread_mutex_lock(&best_mutex);
    struct tsp_trip mine = best;
    (void)pthread_mutex_unlock(&best_mutex);
    int before = mine.length;
    tsp_search(&map, work, &mine);
    if (mine.length < before) {
        (void)pthread_mutex_lock(&best_mutex);
        best = mine.length < best.length ? mine : best;
        (void)pthread_mutex_unlock(&best_mutex);
    }
}

static void tsp_compute(int rank)
{
    (void)rank;
    for (;;) {
        (void)pthread_mutex_lock(&queue_mutex);
        while (queue_count == 0 && working > 0) {
            (void)pthread_cond_wait(&queue_changed, &queue_mutex);
        }
        if (queue_count == 0) {
            (void)pthread_mutex_unlock(&queue_mutex);
            return;
        }
        struct tsp_trip work = queue[--queue_count];
        working++;
        (void)pthread_mutex_unlock(&queue_mutex);
        if (work.count >= SPLIT_COUNT || !tsp_split(&work)) {
            tsp_do(&work);
        }
        (void)pthread_mutex_lock(&queue_mutex);
        working--;
        (void)pthread_cond_broadcast(&queue_changed);
        (void)pthread_mutex_unlock(&queue_mutex);
    }
}

static bool tsp_check(double *alone_ns)
{
    const struct tsp_trip begin = {.count = 1};
    struct tsp_trip alone = {.length = INT32_MAX};
    uint64_t start_ns = bench_now_ns();
    tsp_search(&map, &begin, &alone);
    *alone_ns = (double)(bench_now_ns() - start_ns);
    return alone.length == best.length;
}

/* ---- The command ----------------------------------------------------------------------- */

static const struct program {
    const char *name;
    void (*set_up)(void);
    void (*prepare)(int rank); /* each thread what is its own */
    void (*compute)(int rank); /* this is timed */
    bool (*check)(double *alone_ns);
    size_t defaults[3];
} programs[] = {
    {"sor", sor_set_up, sor_prepare, sor_compute, sor_check, {1000, 1000, 300}},
    {"lu", lu_set_up, lu_prepare, lu_compute, lu_check, {1280}},
    {"matrix", matrix_set_up, matrix_prepare, matrix_compute, matrix_check, {900}},
    {"nbody", nbody_set_up, nbody_prepare, nbody_compute, nbody_check, {2000, 30}},
    {"radix", radix_set_up, radix_prepare, radix_compute, radix_check, {10000000}},
    {"tsp", tsp_set_up, tsp_prepare, tsp_compute, tsp_check, {15}},
};

static const struct program *chosen;
static double compute_ns;

/* Where there is a core for each, or equally many on each core. */
static void pin(int rank)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    int cores = CPU_COUNT(&allowed);
    if (threads > cores && threads % cores != 0) {
        return;
    }
    int left_out = rank % cores;
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && left_out-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        }
    }
}

static void *run(void *argument)
{
    int rank = (int)(intptr_t)argument;
    pin(rank);
    chosen->prepare(rank);
    wait_for_all();
    uint64_t start_ns = bench_now_ns();
    chosen->compute(rank);
    wait_for_all();
    if (rank == 0) {
        compute_ns = (double)(bench_now_ns() - start_ns);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof programs / sizeof programs[0]; i++) {
        chosen = strcmp(argv[1], programs[i].name) == 0 ? &programs[i] : chosen;
    }
    threads = argc > 2 ? atoi(argv[2]) : 0;
    if (!chosen || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: fagus_threads sor|lu|matrix|nbody|radix|tsp THREADS [size...]\n");
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        arguments[i] = i + 3 < argc ? strtoul(argv[i + 3], NULL, 10) : chosen->defaults[i];
    }
    pthread_t others[THREADS_MAX];
    if (pthread_barrier_init(&everybody, NULL, (unsigned)threads) != 0) {
        return 1;
    }
    chosen->set_up();
    for (int rank = 1; rank < threads; rank++) {
        if (pthread_create(&others[rank], NULL, run, (void *)(intptr_t)rank) != 0) {
            return 1;
        }
    }
    (void)run((void *)0);
    for (int rank = 1; rank < threads; rank++) {
        (void)pthread_join(others[rank], NULL);
    }
    double alone_ns;
    bool is_right = chosen->check(&alone_ns);
    printf("%s, %d threads: %.3f s, alone %.3f s, speed-up %.2f; %s\n", chosen->name, threads,
           compute_ns * 1e-9, alone_ns * 1e-9, alone_ns / compute_ns,
           is_right ? "the same as alone" : "WRONG, not the same as alone");
    return is_right ? 0 : 1;
}
