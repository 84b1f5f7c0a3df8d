/* The examples' arithmetic, which does not know who has which memory: the same functions serve
 * Fagus, the serial run that it is compared with, and bench/fagus_threads.c. None is inlined, so
 * that all run the same instructions: results agree to the last bit, and times differ by what the
 * sharing costs. */
#ifndef KERNELS_H
#define KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define KERNEL static __attribute__((noinline, unused))

/* ---- sor: successive over-relaxation of a plate --------------------------------------------- */

/* Moves every other cell of a row, from `first` on, towards the mean of its four neighbours, and
 * beyond it. The outermost cells stay as they are. */
KERNEL void sor_row(double *row, const double *above, const double *below, size_t cells,
                    size_t first)
{
    const double omega = 1.5;
    for (size_t j = first; j < cells - 1; j += 2) {
        double mean = (above[j] + below[j] + row[j - 1] + row[j + 1]) / 4;
        row[j] += omega * (mean - row[j]);
    }
}

/* The plate at the beginning: cells of all temperatures. */
KERNEL void sor_start(double *row, size_t index, size_t cells)
{
    for (size_t j = 0; j < cells; j++) {
        row[j] = (double)((index * 31 + j * 17) % 101);
    }
}

/* ---- lu: a matrix in panels of columns, each stored row by row ------------------------------ */

enum { LU_WIDTH = 32 };

typedef double lu_row[LU_WIDTH];

/* A matrix that needs no pivoting: its diagonal outweighs the rest. */
KERNEL void lu_start(lu_row *panel, size_t index, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < LU_WIDTH; j++) {
            size_t column = index * LU_WIDTH + j;
            panel[i][j] = i == column ? (double)size : (double)((i * 13 + column * 7) % 17) / 17;
        }
    }
}

/* Factors the panel's own columns: L below the diagonal, U above it. */
KERNEL void lu_factor(lu_row *panel, size_t index, size_t size)
{
    lu_row *diagonal = panel + index * LU_WIDTH;
    for (size_t k = 0; k < LU_WIDTH; k++) {
        for (size_t i = index * LU_WIDTH + k + 1; i < size; i++) {
            double factor = panel[i][k] / diagonal[k][k];
            panel[i][k] = factor;
            for (size_t j = k + 1; j < LU_WIDTH; j++) {
                panel[i][j] -= factor * diagonal[k][j];
            }
        }
    }
}

/* Applies a factored panel on the left to another panel. */
KERNEL void lu_update(lu_row *restrict panel, const lu_row *restrict factored, size_t index,
                      size_t size)
{
    lu_row *top = panel + index * LU_WIDTH; /* becomes rows of U, from the first one on */
    for (size_t i = index * LU_WIDTH; i < size; i++) {
        size_t in_top = i - index * LU_WIDTH;
        size_t above = in_top < LU_WIDTH ? in_top : LU_WIDTH;
        for (size_t k = 0; k < above; k++) {
            double factor = factored[i][k];
            for (size_t j = 0; j < LU_WIDTH; j++) {
                panel[i][j] -= factor * top[k][j];
            }
        }
    }
}

/* ---- matrix: rows of a product, of as many rows of the right factor as a band has ----------- */

enum { MATRIX_BAND = 64 };

/* Whole numbers, so that every order of adding gives the same sum. */
KERNEL void matrix_start(double *row, size_t index, size_t size)
{
    for (size_t j = 0; j < size; j++) {
        row[j] = (double)((index * 5 + j * 3) % 11) - 5;
    }
}

/* product += left[, first .. first + rows of the band] x band */
KERNEL void matrix_multiply(double *restrict product, const double *restrict left,
                            const double *restrict band, size_t rows, size_t size, size_t first)
{
    size_t depth = size - first < MATRIX_BAND ? size - first : MATRIX_BAND;
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < depth; k++) {
            double factor = left[i * size + first + k];
            for (size_t j = 0; j < size; j++) {
                product[i * size + j] += factor * band[k * size + j];
            }
        }
    }
}

/* ---- nbody: all attract all ----------------------------------------------------------------- */

struct body {
    double at[3];
    double mass;
};

struct velocity {
    double of[3];
};

KERNEL void nbody_start(struct body *body, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        double turn = (double)i * 2.399963; /* so that no two lie at the same place */
        double height = (double)(i * 37 % 1000) / 1000;
        body[i] = (struct body){{cos(turn), sin(turn), height}, 1 + (double)(i % 3)};
    }
}

/* One step of the bodies from `first` to `end`: where they are in the next picture. */
KERNEL void nbody_step(struct body *next, struct velocity *velocity, const struct body *now,
                       size_t count, size_t first, size_t end)
{
    const double step = 1e-5, softening = 1e-3;
    for (size_t i = first; i < end; i++) {
        double pull[3] = {0, 0, 0};
        for (size_t j = 0; j < count; j++) {
            double x = now[j].at[0] - now[i].at[0];
            double y = now[j].at[1] - now[i].at[1];
            double z = now[j].at[2] - now[i].at[2];
            double square = x * x + y * y + z * z + softening;
            double weight = now[j].mass / (square * sqrt(square));
            pull[0] += weight * x;
            pull[1] += weight * y;
            pull[2] += weight * z;
        }
        for (int k = 0; k < 3; k++) {
            velocity[i].of[k] += step * pull[k];
            next[i].at[k] = now[i].at[k] + step * velocity[i].of[k];
        }
        next[i].mass = now[i].mass;
    }
}

/* ---- radix: keys by one digit after the other ----------------------------------------------- */

enum { RADIX_BITS = 8, RADIX_DIGITS = 1 << RADIX_BITS, RADIX_PASSES = 32 / RADIX_BITS };

static inline uint32_t radix_digit(uint32_t key, int pass)
{
    return key >> (pass * RADIX_BITS) & (RADIX_DIGITS - 1);
}

/* Keys that look random, the same in every run. */
KERNEL void radix_start(uint32_t *keys, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        keys[i - first] = (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
    }
}

KERNEL void radix_count(uint64_t *counts, const uint32_t *keys, size_t count, int pass)
{
    for (size_t digit = 0; digit < RADIX_DIGITS; digit++) {
        counts[digit] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        counts[radix_digit(keys[i], pass)]++;
    }
}

/* Puts each key where the next one with its digit belongs; `places` move on. */
KERNEL void radix_place(uint32_t *into, uint64_t *places, const uint32_t *keys, size_t count,
                        int pass)
{
    for (size_t i = 0; i < count; i++) {
        into[places[radix_digit(keys[i], pass)]++] = keys[i];
    }
}

/* A whole pass over one array. */
KERNEL void radix_pass(uint32_t *into, const uint32_t *keys, size_t count, int pass)
{
    uint64_t places[RADIX_DIGITS];
    uint64_t place = 0;
    radix_count(places, keys, count, pass);
    for (size_t digit = 0; digit < RADIX_DIGITS; digit++) {
        uint64_t of_digit = places[digit];
        places[digit] = place;
        place += of_digit;
    }
    radix_place(into, places, keys, count, pass);
}

/* Like radix_place, where the places lie in several parts of equal size (except the last): appends
 * each key to the list of the part that it goes to. Gives how long the lists are. */
KERNEL void radix_route(uint32_t *const *lists, size_t *lengths, const uint64_t *places,
                        const uint32_t *keys, size_t count, int pass, size_t part)
{
    size_t part_of[RADIX_DIGITS]; /* where the next key goes; `left` is how many more go there */
    size_t left[RADIX_DIGITS];
    for (size_t digit = 0; digit < RADIX_DIGITS; digit++) {
        part_of[digit] = places[digit] / part;
        left[digit] = part - places[digit] % part;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t digit = radix_digit(keys[i], pass);
        if (left[digit] == 0) {
            part_of[digit]++;
            left[digit] = part;
        }
        size_t to = part_of[digit];
        left[digit]--;
        lists[to][lengths[to]++] = keys[i];
    }
}

/* ---- tsp: the shortest round trip ----------------------------------------------------------- */

enum { TSP_CITIES_MAX = 16 };

struct tsp_map {
    int cities;
    int distance[TSP_CITIES_MAX][TSP_CITIES_MAX];
    int nearest[TSP_CITIES_MAX]; /* the least distance from a city to any other */
};

/* The beginning of a trip, or a whole one. */
struct tsp_trip {
    int length;
    int count; /* of cities so far */
    unsigned char city[TSP_CITIES_MAX];
};

KERNEL void tsp_start(struct tsp_map *map, int cities)
{
    uint32_t random = 12345;
    int x[TSP_CITIES_MAX], y[TSP_CITIES_MAX];
    map->cities = cities;
    for (int i = 0; i < cities; i++) {
        random = random * 1664525 + 1013904223;
        x[i] = (int)(random >> 16) % 1000;
        random = random * 1664525 + 1013904223;
        y[i] = (int)(random >> 16) % 1000;
    }
    for (int i = 0; i < cities; i++) {
        map->nearest[i] = INT32_MAX;
        for (int j = 0; j < cities; j++) {
            int distance = abs(x[i] - x[j]) + abs(y[i] - y[j]);
            map->distance[i][j] = distance;
            if (i != j && distance < map->nearest[i]) {
                map->nearest[i] = distance;
            }
        }
    }
}

/* The trip with one more city. */
static inline struct tsp_trip tsp_with(const struct tsp_map *map, const struct tsp_trip *trip,
                                       int city)
{
    struct tsp_trip longer = *trip;
    longer.length += map->distance[trip->city[trip->count - 1]][city];
    longer.city[longer.count++] = (unsigned char)city;
    return longer;
}

static inline uint32_t tsp_visited(const struct tsp_trip *trip)
{
    uint32_t visited = 0;
    for (int i = 0; i < trip->count; i++) {
        visited |= UINT32_C(1) << trip->city[i];
    }
    return visited;
}

/* The best end of a trip, if it is shorter than *best. */
KERNEL void tsp_search(const struct tsp_map *map, const struct tsp_trip *trip,
                       struct tsp_trip *best)
{
    int last = trip->city[trip->count - 1];
    if (trip->count == map->cities) {
        int length = trip->length + map->distance[last][trip->city[0]];
        if (length < best->length) {
            *best = *trip;
            best->length = length;
        }
        return;
    }
    uint32_t visited = tsp_visited(trip);
    int least = trip->length + map->nearest[last];
    for (int city = 0; city < map->cities; city++) {
        least += visited & UINT32_C(1) << city ? 0 : map->nearest[city];
    }
    for (int city = 0; city < map->cities && least < best->length; city++) {
        if (!(visited & UINT32_C(1) << city)) {
            struct tsp_trip longer = tsp_with(map, trip, city);
            tsp_search(map, &longer, best);
        }
    }
}

#endif
