/* What the random tester of entry consistency (fagus_random.c) and its replay (fagus_replay.c)
 * share: where the pieces of memory lie, which follows from the seed, and the log.
 *
 * A piece is bound to one variable at a time. A tiny variable has one piece of 1 to 8 bytes for
 * ever. A headed variable has a header, which says which of the movable pieces are bound to it
 * as well: those move from one variable to another. All kinds of pieces lie side by side, mostly
 * without a gap, so that unrelated variables share lines, words and pages; others lie across the
 * edges of packets and pages.
 *
 * Every grant is a record in its thread's own file. All nodes run on one machine, so its clock
 * puts the grants in order: a time after acquire and one before release. */
#ifndef LIVE_FAGUS_RANDOM_H
#define LIVE_FAGUS_RANDOM_H

#include "live/live.h"

enum {
    TINY = 40,
    HEADED = 16,
    VARIABLES = TINY + HEADED, /* tiny ones first; piece v is variable v's own */
    MOVABLE = 64,              /* a header has a bit for each */
    PIECES = VARIABLES + MOVABLE,
    ARENAS = 3,
    PAGE = 4096,
    THREADS_MAX = 4,
    /* The pieces of one variable: its own and all movable ones. */
    VARIABLE_PIECES_MAX = 1 + MOVABLE,
    WRITES_MAX = 256,
};

struct header {
    uint64_t sequence;
    uint64_t movable; /* a bit for each movable piece that is also bound to it */
    uint64_t check;
};

struct piece {
    uint32_t arena;
    uint32_t bytes;
    uint64_t at;
};

struct plan {
    uint64_t seed;
    uint64_t arena_bytes[ARENAS];
    struct piece pieces[PIECES];
    uint64_t movable[HEADED]; /* at the beginning */
};

static inline uint64_t header_check(uint32_t variable, uint64_t sequence, uint64_t movable)
{
    return live_mix(live_mix(sequence + variable) ^ movable);
}

static inline struct header header_of(uint32_t variable, uint64_t sequence, uint64_t movable)
{
    return (struct header){sequence, movable, header_check(variable, sequence, movable)};
}

/* ---- The plan --------------------------------------------------------------------------- */

static inline uint32_t plan_size(uint32_t piece, uint64_t *random)
{
    static const uint32_t tiny[] = {1, 1, 1, 2, 2, 3, 4, 4, 5, 7, 8, 8};
    static const uint32_t middle[] = {9,   15,  16,  17,  31,  63,  64,  65, 100,
                                      200, 439, 440, 447, 448, 449, 455, 456};
    static const uint32_t large[] = {463,  464,  465,  511,  512,  513,  928,  1499, 1500,
                                     1501, 4095, 4096, 4097, 8192, 9215, 9216, 9217, 20000};
    if (piece >= TINY && piece < VARIABLES) {
        return sizeof(struct header);
    }
    if (piece == PIECES - 1) {
        return 150000;
    }
    uint64_t kind = piece < TINY ? 0 : live_random(random, 10);
    return kind < 5   ? tiny[live_random(random, LIVE_COUNT(tiny))]
           : kind < 8 ? middle[live_random(random, LIVE_COUNT(middle))]
                      : large[live_random(random, LIVE_COUNT(large))];
}

/* Where to put a piece that may begin at `cursor`. */
static inline uint64_t plan_place(uint64_t cursor, uint32_t bytes, uint64_t *random)
{
    uint64_t kind = live_random(random, 20);
    if (kind == 0 && bytes > 1) {
        uint64_t before = 1 + live_random(random, bytes - 1 < 40 ? bytes - 1 : 40);
        return (cursor + before + PAGE - 1) / PAGE * PAGE - before; /* across an edge */
    }
    if (kind == 1) {
        return (cursor + 63) / 64 * 64;
    }
    return kind < 4 ? cursor + live_random(random, 12) : cursor;
}

static inline void plan_make(struct plan *plan, uint64_t seed)
{
    uint64_t random = live_mix(seed ^ UINT64_C(0xfa905));
    uint32_t order[PIECES];
    *plan = (struct plan){.seed = seed};
    for (uint32_t i = 0; i < PIECES; i++) {
        uint64_t other = live_random(&random, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        uint32_t arena = (uint32_t)live_random(&random, ARENAS);
        uint32_t bytes = plan_size(order[i], &random);
        uint64_t at = plan_place(plan->arena_bytes[arena], bytes, &random);
        plan->pieces[order[i]] = (struct piece){.arena = arena, .bytes = bytes, .at = at};
        plan->arena_bytes[arena] = at + bytes;
    }
    for (uint32_t i = 0; i < ARENAS; i++) {
        plan->arena_bytes[i] += 1; /* none is empty */
    }
    for (uint32_t i = 0; i < MOVABLE; i++) {
        /* The first ones get more: a list of ranges may be long. */
        uint64_t variable = live_random(&random, 1 + live_random(&random, HEADED));
        plan->movable[variable] |= UINT64_C(1) << i;
    }
}

/* Gives the pieces of a variable with these movable ones, and how many there are. */
static inline uint32_t pieces_of(uint32_t variable, uint64_t movable,
                                 uint32_t pieces[VARIABLE_PIECES_MAX])
{
    uint32_t count = 0;
    pieces[count++] = variable;
    for (uint32_t i = 0; i < MOVABLE && variable >= TINY; i++) {
        if (movable >> i & 1) {
            pieces[count++] = VARIABLES + i;
        }
    }
    return count;
}

static inline uint64_t piece_hash(const unsigned char *bytes, uint32_t count)
{
    uint64_t hash = count;
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; i < count; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return live_mix(hash);
}

/* ---- The log ---------------------------------------------------------------------------- */

enum kind {
    GRANT = 1,   /* a thread held a variable */
    EQUAL = 2,   /* what a node saw after a barrier with the variable */
    WRITTEN = 3, /* what this node wrote between two barriers */
};

struct seen {
    uint32_t piece;
    uint32_t bytes;
    uint64_t hash;
    uint64_t first; /* bytes, up to 8 */
};

struct written {
    uint32_t piece;
    uint32_t at;
    uint32_t bytes;
    uint32_t is_void; /* it writes again what was there */
    uint64_t seed;    /* of live_fill */
};

/* Followed by `seen` of each piece as acquire left it, the same before release, and writes. */
struct record {
    uint32_t kind;
    uint32_t variable;
    uint32_t phase;
    uint32_t step; /* in a phase; of EQUAL and WRITTEN its number among those of a phase */
    uint32_t node;
    uint32_t thread;
    uint32_t mode;       /* FAGUS_READ or FAGUS_WRITE */
    uint32_t is_touched; /* a headed one: the header was written anew */
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t sequence; /* as the header said at first */
    uint64_t movable;
    uint64_t movable_after;
    uint32_t seen_count; /* at first; */
    uint32_t left_count; /* before release */
    uint32_t written_count;
    uint32_t unused;
};

/* The first bytes of a file. */
struct preface {
    uint64_t seed;
    uint32_t nodes;
    uint32_t threads;
    uint32_t phases;
    uint32_t unused;
};

static inline void apply_write(unsigned char *piece, const struct written *write)
{
    if (!write->is_void) {
        live_fill(piece + write->at, write->bytes, write->seed);
    }
}

#endif
