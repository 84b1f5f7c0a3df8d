/* Version 1.6: transfers of blocks with strides, shmem_ibput and shmem_ibget, of every type and
 * size, with and without a context, under their own, their pshmem_ and their generic names.
 *
 * Each PE writes to the next one of the ring and reads from it. */
#include "shmem_spec.h"
#include "shmem_spec_tables.h"

enum { PLACES = 120, PLACES_MAX_BYTES = 16 };

/* What a transfer has to do with its blocks. */
struct shape {
    ptrdiff_t dst;
    ptrdiff_t sst;
    size_t block;
    size_t count;
};

static const struct shape shapes[] = {
    {1, 1, 1, 7},   /* elements in a row */
    {3, 2, 1, 9},   /* single elements */
    {4, 4, 4, 5},   /* blocks in a row */
    {7, 5, 3, 6},   /* blocks on both sides */
    {5, 3, 3, 4},   /* from a row of blocks */
    {2, 9, 2, 5},   /* into a row of blocks */
    {40, 30, 1, 1}, /* one block: strides do not matter */
    {17, 16, 16, 7},
};

static shmem_ctx_t context;

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

/* The index in the other array of what belongs at an index, or -1: nothing does. */
static ptrdiff_t source_of(ptrdiff_t at, ptrdiff_t to_stride, ptrdiff_t from_stride,
                           const struct shape *shape)
{
    ptrdiff_t block = at / to_stride;
    ptrdiff_t within = at % to_stride;
    bool hit = (size_t)block < shape->count && (size_t)within < shape->block;
    return hit ? block * from_stride + within : -1;
}

/* ---- Of every type ----------------------------------------------------------------- */

static int number(int pe, ptrdiff_t place)
{
    return (pe * 29 + (int)place) % 100 + 1;
}

/* PUT(dest, source, strides, block, blocks, pe) and GET are one pair of functions. */
#define TRANSFER(WAY, NAME, TYPE, PUT, GET, QUIET)                                    \
    static void WAY##_##NAME(const struct shape *shape)                               \
    {                                                                                 \
        static TYPE box[PLACES];                                                      \
        TYPE from[PLACES];                                                            \
        TYPE back[PLACES];                                                            \
        for (int i = 0; i < PLACES; i++) {                                            \
            from[i] = (TYPE)number(me.rank, i);                                       \
            box[i] = back[i] = (TYPE)0;                                               \
        }                                                                             \
        shmem_barrier_all();                                                          \
        PUT(box, from, shape->dst, shape->sst, shape->block, shape->count, right());  \
        for (int i = 0; i < PLACES; i++) {                                            \
            from[i] = (TYPE)0; /* the source is the caller's again */                 \
        }                                                                             \
        QUIET;                                                                        \
        shmem_barrier_all();                                                          \
        for (ptrdiff_t i = 0; i < PLACES; i++) {                                      \
            ptrdiff_t place = source_of(i, shape->dst, shape->sst, shape);            \
            TYPE wanted = place < 0 ? (TYPE)0 : (TYPE)number(left(), place);          \
            require_else(box[i] == wanted, "%s, %s put: place %td", #WAY, #NAME, i);  \
        }                                                                             \
        GET(back, box, shape->sst, shape->dst, shape->block, shape->count, right());  \
        for (ptrdiff_t i = 0; i < PLACES; i++) {                                      \
            ptrdiff_t place = source_of(i, shape->sst, shape->dst, shape);            \
            TYPE wanted = place < 0 ? (TYPE)0 : (TYPE)number(me.rank, i);             \
            require_else(back[i] == wanted, "%s, %s get: place %td", #WAY, #NAME, i); \
        }                                                                             \
        shmem_barrier_all();                                                          \
    }

#define GENERIC_CTX_PUT(...) shmem_ibput(context, __VA_ARGS__)
#define GENERIC_CTX_GET(...) shmem_ibget(context, __VA_ARGS__)

#define TYPED(NAME, TYPE, P, B)                                                                  \
    static void P##_ctx_put_##NAME(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                                   size_t bsize, size_t nblocks, int pe)                         \
    {                                                                                            \
        P##_ctx_##NAME##_ibput(context, dest, source, dst, sst, bsize, nblocks, pe);             \
    }                                                                                            \
    static void P##_ctx_get_##NAME(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                                   size_t bsize, size_t nblocks, int pe)                         \
    {                                                                                            \
        P##_ctx_##NAME##_ibget(context, dest, source, dst, sst, bsize, nblocks, pe);             \
    }                                                                                            \
    TRANSFER(P##_plain, NAME, TYPE, P##_##NAME##_ibput, P##_##NAME##_ibget, (void)0)             \
    TRANSFER(P##_on_ctx, NAME, TYPE, P##_ctx_put_##NAME, P##_ctx_get_##NAME,                     \
             shmem_ctx_quiet(context))

SPEC_ALL(TYPED, shmem, )
SPEC_ALL(TYPED, pshmem, )

#define GENERIC(NAME, TYPE, A, B)                                    \
    TRANSFER(generic, NAME, TYPE, shmem_ibput, shmem_ibget, (void)0) \
    TRANSFER(generic_on_ctx, NAME, TYPE, GENERIC_CTX_PUT, GENERIC_CTX_GET, shmem_ctx_quiet(context))

SPEC_ALL(GENERIC, , )

#define RUN_TYPED(NAME, TYPE, P, B) \
    P##_plain_##NAME(&shapes[i]);   \
    P##_on_ctx_##NAME(&shapes[i]);

#define RUN_GENERIC(NAME, TYPE, A, B) \
    generic_##NAME(&shapes[3]);       \
    generic_on_ctx_##NAME(&shapes[3]);

static void blocks_of_every_type(void)
{
    for (size_t i = 0; i < LIVE_COUNT(shapes); i++) {
        SPEC_ALL(RUN_TYPED, shmem, )
    }
    size_t i = 3;
    SPEC_ALL(RUN_TYPED, pshmem, )
}

static void blocks_without_a_type_in_the_name(void)
{
    SPEC_ALL(RUN_GENERIC, , )
}

/* ---- Of every size ----------------------------------------------------------------- */

/* A put and the get of the same blocks, as shmem.h declares both for a size. */
typedef void transfer(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                      size_t nblocks, int pe);

static void by_size(const struct shape *shape, size_t bytes, transfer *put, transfer *get)
{
    static unsigned char box[PLACES * PLACES_MAX_BYTES];
    unsigned char from[PLACES * PLACES_MAX_BYTES];
    unsigned char theirs[PLACES * PLACES_MAX_BYTES];
    unsigned char back[PLACES * PLACES_MAX_BYTES];
    unsigned char empty[PLACES_MAX_BYTES] = {0};
    live_fill(from, sizeof from, me.seed + (uint64_t)me.rank);
    live_fill(theirs, sizeof theirs, me.seed + (uint64_t)left());
    memset(box, 0, sizeof box);
    memset(back, 0, sizeof back);
    shmem_barrier_all();
    put(box, from, shape->dst, shape->sst, shape->block, shape->count, right());
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    for (ptrdiff_t i = 0; i < PLACES; i++) {
        ptrdiff_t place = source_of(i, shape->dst, shape->sst, shape);
        const unsigned char *wanted = place < 0 ? empty : &theirs[(size_t)place * bytes];
        require_else(memcmp(&box[(size_t)i * bytes], wanted, bytes) == 0,
                     "%zu bytes put: place %td", bytes, i);
    }
    get(back, box, shape->sst, shape->dst, shape->block, shape->count, right());
    for (ptrdiff_t i = 0; i < PLACES; i++) {
        bool hit = source_of(i, shape->sst, shape->dst, shape) >= 0;
        const unsigned char *wanted = hit ? &from[(size_t)i * bytes] : empty;
        require_else(memcmp(&back[(size_t)i * bytes], wanted, bytes) == 0,
                     "%zu bytes got: place %td", bytes, i);
    }
    shmem_barrier_all();
}

#define SIZED(SIZE, P)                                                                             \
    static void P##_ctx_ibput_##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                                     size_t bsize, size_t nblocks, int pe)                         \
    {                                                                                              \
        P##_ctx_ibput##SIZE(context, dest, source, dst, sst, bsize, nblocks, pe);                  \
    }                                                                                              \
    static void P##_ctx_ibget_##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                                     size_t bsize, size_t nblocks, int pe)                         \
    {                                                                                              \
        P##_ctx_ibget##SIZE(context, dest, source, dst, sst, bsize, nblocks, pe);                  \
    }

#define EVERY_SIZE(X, P) X(8, P) X(16, P) X(32, P) X(64, P) X(128, P)
EVERY_SIZE(SIZED, shmem)
EVERY_SIZE(SIZED, pshmem)

#define RUN_SIZED(SIZE, P)                                             \
    by_size(&shapes[i], (SIZE) / 8, P##_ibput##SIZE, P##_ibget##SIZE); \
    by_size(&shapes[i], (SIZE) / 8, P##_ctx_ibput_##SIZE, P##_ctx_ibget_##SIZE);

static void blocks_of_every_size(void)
{
    for (size_t i = 0; i < LIVE_COUNT(shapes); i++) {
        EVERY_SIZE(RUN_SIZED, shmem)
        EVERY_SIZE(RUN_SIZED, pshmem)
    }
}

/* ---- The rest ---------------------------------------------------------------------- */

static void blocks_of_one_are_iput_and_iget(void)
{
    enum { COUNT = 30, ROOM = 200 };
    static int box[2][ROOM];
    int from[ROOM];
    int back[2][ROOM] = {{0}};
    for (int i = 0; i < ROOM; i++) {
        from[i] = i + me.rank * 1000;
    }
    memset(box, 0, sizeof box);
    shmem_barrier_all();
    shmem_int_iput(box[0], from, 5, 3, COUNT, right());
    shmem_int_ibput(box[1], from, 5, 3, 1, COUNT, right());
    shmem_barrier_all();
    require(memcmp(box[0], box[1], sizeof box[0]) == 0);
    require(box[1][5] == 3 + left() * 1000);
    shmem_int_iget(back[0], box[0], 2, 5, COUNT, right());
    shmem_int_ibget(back[1], box[1], 2, 5, 1, COUNT, right());
    require(memcmp(back[0], back[1], sizeof back[0]) == 0);
    require(back[1][2] == from[3]);
}

/* No blocks, or blocks of nothing: null pointers are fine, and nothing is written. */
static void no_blocks_and_empty_blocks(void)
{
    static long box[2] = {1, 2};
    long from[2] = {3, 4};
    shmem_long_ibput(box, from, 2, 2, 2, 0, right());
    shmem_long_ibput(box, from, 1, 1, 0, 2, right());
    shmem_long_ibput(NULL, NULL, 1, 1, 1, 0, right());
    shmem_ibput64(NULL, NULL, 1, 1, 0, 5, right());
    shmem_long_ibget(from, box, 2, 2, 2, 0, right());
    shmem_long_ibget(from, box, 1, 1, 0, 2, right());
    shmem_long_ibget(NULL, NULL, 1, 1, 1, 0, right());
    shmem_ctx_ibget8(context, NULL, NULL, 1, 1, 0, 5, right());
    shmem_barrier_all();
    require(box[0] == 1 && box[1] == 2 && from[0] == 3 && from[1] == 4);
}

/* A matrix on the heap: its columns' halves go to the neighbour's, at places that differ. */
static void many_large_blocks(void)
{
    enum { ROWS = 60, WIDTH = 3000, BLOCK = 2011, SHIFT = 700 };
    double *matrix = shmem_malloc(sizeof(double) * ROWS * WIDTH);
    double *from = malloc(sizeof(double) * ROWS * BLOCK);
    double *back = malloc(sizeof(double) * ROWS * BLOCK);
    require(matrix && from && back);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++) {
        matrix[i] = -1;
    }
    for (size_t i = 0; i < (size_t)ROWS * BLOCK; i++) {
        from[i] = (double)i + me.rank * 1e7;
    }
    shmem_barrier_all();
    shmem_double_ibput(matrix + SHIFT, from, WIDTH, BLOCK, BLOCK, ROWS, right());
    shmem_barrier_all();
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t column = 0; column < WIDTH; column++) {
            bool hit = column >= SHIFT && column < SHIFT + BLOCK;
            double wanted = hit ? (double)(row * BLOCK + column - SHIFT) + left() * 1e7 : -1;
            require_else(matrix[row * WIDTH + column] == wanted, "row %zu, column %zu", row,
                         column);
        }
    }
    shmem_double_ibget(back, matrix + SHIFT, BLOCK, WIDTH, BLOCK, ROWS, right());
    require(memcmp(back, from, sizeof(double) * ROWS * BLOCK) == 0);
    shmem_free(matrix);
    free(from);
    free(back);
}

/* A context's PEs are numbered in its team, which here has them the other way round. */
static void a_contexts_pes_are_those_of_its_team(void)
{
    static int box[10];
    shmem_team_t team;
    shmem_ctx_t reversed;
    int from[6] = {1, 2, 3, 4, 5, 6};
    int back[6] = {0};
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0, &team) ==
            0);
    require(shmem_team_create_ctx(team, 0, &reversed) == 0);
    int there = me.size - 1 - me.rank; /* this PE's number in the team, as others see it */
    memset(box, 0, sizeof box);
    shmem_barrier_all();
    for (int i = 0; i < 6; i++) {
        from[i] += me.rank * 10;
    }
    /* Number n of the team is PE size - 1 - n. */
    shmem_ctx_int_ibput(reversed, box, from, 4, 2, 2, 3, me.size - 1 - right());
    shmem_ctx_quiet(reversed);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) {
        int wanted = i % 4 < 2 ? i / 4 * 2 + i % 4 + 1 + left() * 10 : 0;
        require_else(box[i] == wanted, "place %d", i);
    }
    shmem_ctx_int_ibget(reversed, back, box, 2, 4, 2, 3, me.size - 1 - right());
    require(memcmp(back, from, sizeof from) == 0);
    require(shmem_team_my_pe(team) == there);
    shmem_barrier_all();
    shmem_ctx_destroy(reversed);
    shmem_team_destroy(team);
}

static void a_context_for_what_follows(void)
{
    require(shmem_ctx_create(0, &context) == 0 && context != SHMEM_CTX_INVALID);
}

static void the_context_goes(void)
{
    shmem_ctx_destroy(context);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, a_context_for_what_follows),
        LIVE_CHECK(1, blocks_of_every_type),
        LIVE_CHECK(1, blocks_without_a_type_in_the_name),
        LIVE_CHECK(1, blocks_of_every_size),
        LIVE_CHECK(1, blocks_of_one_are_iput_and_iget),
        LIVE_CHECK(1, no_blocks_and_empty_blocks),
        LIVE_CHECK(1, many_large_blocks),
        LIVE_CHECK(1, a_contexts_pes_are_those_of_its_team),
        LIVE_CHECK(1, the_context_goes),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
