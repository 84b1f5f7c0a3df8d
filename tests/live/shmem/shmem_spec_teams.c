/* Teams, contexts of teams, and all collectives: on the world, on teams of every shape, and in
 * their old form on active sets. Typed collectives are called through the tables of types. */
#include "shmem_spec.h"

enum { PES_MAX = 16 };

static int right(void)
{
    return live_neighbour(1);
}

/* ---- Teams ------------------------------------------------------------------------- */

static void predefined_teams(void)
{
    require(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me.rank);
    require(shmem_team_n_pes(SHMEM_TEAM_WORLD) == me.size);
    /* All PEs of this test are on one host, but over packets they share no memory. */
    require(shmem_team_n_pes(SHMEM_TEAM_SHARED) == (live_shares_nothing() ? 1 : me.size));
    int mine = shmem_team_my_pe(SHMEM_TEAM_SHARED);
    require(shmem_team_translate_pe(SHMEM_TEAM_SHARED, mine, SHMEM_TEAM_WORLD) == me.rank);
    require(shmem_team_sync(SHMEM_TEAM_WORLD) == 0 && shmem_team_sync(SHMEM_TEAM_SHARED) == 0);
}

static void the_invalid_team(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_team_t other = SHMEM_TEAM_WORLD;
    shmem_team_config_t config;
    shmem_ctx_t context = SHMEM_CTX_DEFAULT;
    require(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
    require(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    require(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
    require(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    require(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    require(team == SHMEM_TEAM_INVALID);
    team = SHMEM_TEAM_WORLD;
    require(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    require(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
    require(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context) != 0);
    require(context == SHMEM_CTX_INVALID);
    require(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* Makes a team by triple; checks that its members are those that the triple says. */
static shmem_team_t split(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    require(shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team) == 0);
    int mine = -1;
    for (int i = 0; i < size; i++) {
        if (start + i * stride == shmem_team_my_pe(parent)) {
            mine = i;
        }
    }
    require((team != SHMEM_TEAM_INVALID) == (mine >= 0));
    require(shmem_team_my_pe(team) == mine);
    if (mine >= 0) {
        require(shmem_team_n_pes(team) == size);
        for (int i = 0; i < size; i++) {
            require(shmem_team_translate_pe(team, i, parent) == start + i * stride);
            require(shmem_team_translate_pe(parent, start + i * stride, team) == i);
        }
        require(shmem_team_translate_pe(team, size, parent) == -1);
        require(shmem_team_translate_pe(team, -1, parent) == -1);
        require(shmem_team_sync(team) == 0);
    }
    return team;
}

static void teams_by_triple(void)
{
    for (int start = 0; start < me.size; start++) {
        for (int stride = -2; stride <= 3; stride++) {
            for (int size = 1; size <= me.size; size += 2) {
                int last = start + stride * (size - 1);
                if ((stride != 0 || size == 1) && last >= 0 && last < me.size) {
                    shmem_team_t team = split(SHMEM_TEAM_WORLD, start, stride, size);
                    shmem_team_destroy(team);
                }
            }
        }
    }
}

static void impossible_triples_are_refused(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    static const int triples[][3] = {{0, 1, 1000}, {-1, 1, 1}, {1000, 1, 1}, {0, -1, 2}, {0, 1, 0}};
    for (size_t i = 0; i < LIVE_COUNT(triples); i++) {
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, triples[i][0], triples[i][1],
                                         triples[i][2], NULL, 0, &team) != 0);
        require(team == SHMEM_TEAM_INVALID);
    }
}

/* Teams of teams, and PEs that belong to neither of two. */
static void teams_are_split_again(void)
{
    shmem_team_t even = split(SHMEM_TEAM_WORLD, 0, 2, (me.size + 1) / 2);
    shmem_team_t first = split(SHMEM_TEAM_WORLD, 0, 1, 1);
    if (even != SHMEM_TEAM_INVALID) {
        int count = shmem_team_n_pes(even);
        shmem_team_t backwards = split(even, count - 1, -1, count);
        require(shmem_team_my_pe(backwards) == count - 1 - shmem_team_my_pe(even));
        for (int pe = 0; pe < me.size; pe++) {
            int there = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, even);
            require(there == (pe % 2 ? -1 : pe / 2));
        }
        if (first != SHMEM_TEAM_INVALID) {
            require(shmem_team_translate_pe(even, 0, first) == 0);
            require(count < 2 || shmem_team_translate_pe(even, 1, first) == -1);
        }
        shmem_team_destroy(backwards);
        shmem_team_destroy(even);
    }
    shmem_team_destroy(first);
}

static void teams_in_two_dimensions(void)
{
    for (int xrange = 1; xrange <= me.size + 2; xrange++) {
        shmem_team_t x_team;
        shmem_team_t y_team;
        require(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x_team, NULL, 0, &y_team) ==
                0);
        int x = me.rank % xrange;
        int y = me.rank / xrange;
        require(shmem_team_my_pe(x_team) == x && shmem_team_my_pe(y_team) == y);
        for (int i = 0; i < shmem_team_n_pes(x_team); i++) {
            require(shmem_team_translate_pe(x_team, i, SHMEM_TEAM_WORLD) == y * xrange + i);
        }
        for (int i = 0; i < shmem_team_n_pes(y_team); i++) {
            require(shmem_team_translate_pe(y_team, i, SHMEM_TEAM_WORLD) == i * xrange + x);
        }
        int row_end = (y + 1) * xrange < me.size ? (y + 1) * xrange : me.size;
        require(shmem_team_n_pes(x_team) == row_end - y * xrange);
        require(shmem_team_n_pes(y_team) == (me.size - x + xrange - 1) / xrange);
        require(shmem_team_sync(x_team) == 0 && shmem_team_sync(y_team) == 0);
        shmem_team_destroy(x_team);
        shmem_team_destroy(y_team);
    }
}

static void configurations_are_kept(void)
{
    shmem_team_t team;
    shmem_team_config_t config = {.num_contexts = 3};
    shmem_team_config_t got = {.num_contexts = -1};
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, &config,
                                     SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    require(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    require(got.num_contexts == 3);
    shmem_team_destroy(team);
    /* Without the mask the configuration is not looked at. */
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, &config, 0, &team) == 0);
    require(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    require(got.num_contexts == 0);
    shmem_team_destroy(team);
}

/* Many teams come and go. */
static void teams_are_destroyed(void)
{
    for (int round = 0; round < 200; round++) {
        shmem_team_t team;
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, NULL, 0, &team) == 0);
        shmem_team_sync(team);
        shmem_team_destroy(team);
    }
}

/* ---- Contexts of teams ------------------------------------------------------------- */

/* PE numbers of a context are those of its team. */
static void contexts_use_the_numbers_of_their_team(void)
{
    static long box;
    static long counter;
    shmem_team_config_t config = {.num_contexts = 2};
    shmem_team_t team;
    shmem_team_t found;
    shmem_ctx_t context;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, &config,
                                     SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    require(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &context) == 0);
    require(shmem_ctx_get_team(context, &found) == 0 && found == team);
    int mine = shmem_team_my_pe(team);
    int next = (mine + 1) % me.size;
    box = -1;
    shmem_sync_all();
    shmem_ctx_long_p(context, &box, mine, next);
    shmem_ctx_long_atomic_inc(context, &counter, 0);
    shmem_ctx_quiet(context);
    shmem_sync_all();
    require(box == (mine + me.size - 1) % me.size);
    require(shmem_ctx_long_g(context, &box, next) == mine);
    require(counter == (me.rank == me.size - 1 ? me.size : 0));
    require(shmem_ctx_long_atomic_fetch(context, &counter, 0) == me.size);
    shmem_sync_all();
    shmem_ctx_destroy(context);
    /* A context that is not destroyed before goes with its team. */
    require(shmem_team_create_ctx(team, 0, &context) == 0);
    shmem_ctx_long_put_nbi(context, &box, &(long){77}, 1, next);
    shmem_ctx_quiet(context);
    shmem_team_destroy(team);
    shmem_sync_all();
    require(box == 77);
}

static void contexts_of_the_world(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t context;
    require(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    for (size_t i = 0; i < LIVE_COUNT(options); i++) {
        require(shmem_ctx_create(options[i], &context) == 0);
        require(shmem_ctx_get_team(context, &team) == 0 && team == SHMEM_TEAM_WORLD);
        shmem_ctx_fence(context);
        shmem_ctx_quiet(context);
        shmem_ctx_destroy(context);
    }
    shmem_ctx_t many[20];
    static long box[20];
    for (size_t i = 0; i < LIVE_COUNT(many); i++) {
        require_else(shmem_ctx_create(0, &many[i]) == 0, "context %zu", i);
        shmem_ctx_long_p(many[i], &box[i], (long)i + 1, right());
    }
    for (size_t i = 0; i < LIVE_COUNT(many); i++) {
        shmem_ctx_destroy(many[i]);
    }
    shmem_sync_all();
    for (size_t i = 0; i < LIVE_COUNT(many); i++) {
        require(box[i] == (long)i + 1);
    }
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_ctx_fence(SHMEM_CTX_DEFAULT);
}

/* ---- Collectives on teams ---------------------------------------------------------- */

#define PAIR(NAME, TYPE, A, B)              \
    static TYPE source_##NAME[3 * PES_MAX]; \
    static TYPE dest_##NAME[4 * PES_MAX * 4];
SHMEM_REDUCE_ARITHMETIC_TYPES(PAIR, , )

/* The team of the checks below: all PEs in reverse order, or the world. */
static shmem_team_t current;
static int mine;
static int count;

static void use_team(shmem_team_t team)
{
    current = team;
    mine = shmem_team_my_pe(team);
    count = shmem_team_n_pes(team);
}

/* Three elements of each member, which follow from its number. */
static int element(int pe, int place)
{
    return pe * 7 + place;
}

#define COLLECTIVES(NAME, TYPE, P, B)                                                        \
    static void collectives_##P##_##NAME(void)                                               \
    {                                                                                        \
        TYPE *dest = dest_##NAME;                                                            \
        TYPE *source = source_##NAME;                                                        \
        for (int i = 0; i < 3 * count; i++) {                                                \
            source[i] = (TYPE)element(mine, i);                                              \
        }                                                                                    \
        shmem_team_sync(current);                                                            \
        for (int root = 0; root < count; root += 3) {                                        \
            dest[0] = dest[2] = 0;                                                           \
            shmem_team_sync(current);                                                        \
            require(P##_##NAME##_broadcast(current, dest, source, 3, root) == 0);            \
            require(dest[0] == (TYPE)element(root, 0) && dest[2] == (TYPE)element(root, 2)); \
        }                                                                                    \
        shmem_team_sync(current);                                                            \
        require(P##_##NAME##_fcollect(current, dest, source, 3) == 0);                       \
        for (int i = 0; i < 3 * count; i++) {                                                \
            require(dest[i] == (TYPE)element(i / 3, i % 3));                                 \
        }                                                                                    \
        shmem_team_sync(current);                                                            \
        /* Members give 0, 1 or 2 elements. */                                               \
        require(P##_##NAME##_collect(current, dest, source, (size_t)(mine % 3)) == 0);       \
        for (int pe = 0, at = 0; pe < count; pe++) {                                         \
            for (int i = 0; i < pe % 3; i++) {                                               \
                require(dest[at++] == (TYPE)element(pe, i));                                 \
            }                                                                                \
        }                                                                                    \
        shmem_team_sync(current);                                                            \
        require(P##_##NAME##_alltoall(current, dest, source, 3) == 0);                       \
        for (int i = 0; i < 3 * count; i++) {                                                \
            require(dest[i] == (TYPE)element(i / 3, mine * 3 + i % 3));                      \
        }                                                                                    \
        memset(dest, 0, sizeof dest_##NAME);                                                 \
        shmem_team_sync(current);                                                            \
        /* One element of every three goes to every second place. */                         \
        require(P##_##NAME##_alltoalls(current, dest, source, 2, 3, 1) == 0);                \
        for (int pe = 0; pe < count; pe++) {                                                 \
            require(dest[2 * pe] == (TYPE)element(pe, 3 * mine) && dest[2 * pe + 1] == 0);   \
        }                                                                                    \
        shmem_team_sync(current);                                                            \
    }
SHMEM_RMA_TYPES(COLLECTIVES, shmem, )
SHMEM_RMA_TYPES(COLLECTIVES, pshmem, )

#define RUN_COLLECTIVES(NAME, TYPE, P, B) collectives_##P##_##NAME();

static void collectives_of_every_type(void)
{
    use_team(SHMEM_TEAM_WORLD);
    SHMEM_RMA_TYPES(RUN_COLLECTIVES, shmem, )
    SHMEM_RMA_TYPES(RUN_COLLECTIVES, pshmem, )
}

/* ---- Reductions -------------------------------------------------------------------- */

/* What the C operators give over all members. */
#define FOLD_and(a, b) ((a) & (b))
#define FOLD_or(a, b) ((a) | (b))
#define FOLD_xor(a, b) ((a) ^ (b))
#define FOLD_min(a, b) ((a) < (b) ? (a) : (b))
#define FOLD_max(a, b) ((a) > (b) ? (a) : (b))
#define FOLD_sum(a, b) ((a) + (b))
#define FOLD_prod(a, b) ((a) * (b))

/* Small numbers, so that all types hold the product of 8 of them: 1, 2, 1, 1, 2 ... */
static int operand(int pe, int place)
{
    return (pe + place) % 3 == 1 ? 2 : 1;
}

#define REDUCE(NAME, TYPE, P, OPERATION)                                                  \
    {                                                                                     \
        TYPE *dest = dest_##NAME;                                                         \
        TYPE *source = source_##NAME;                                                     \
        for (int i = 0; i < 3; i++) {                                                     \
            source[i] = (TYPE)operand(mine, i);                                           \
        }                                                                                 \
        shmem_team_sync(current);                                                         \
        require(P##_##NAME##_##OPERATION##_reduce(current, dest, source, 3) == 0);        \
        for (int i = 0; i < 3; i++) {                                                     \
            TYPE wanted = (TYPE)operand(0, i);                                            \
            for (int pe = 1; pe < count; pe++) {                                          \
                wanted = (TYPE)FOLD_##OPERATION(wanted, (TYPE)operand(pe, i));            \
            }                                                                             \
            require_else(dest[i] == wanted, "%s of %s", #OPERATION, #NAME);               \
            require_else(source[i] == (TYPE)operand(mine, i), "the source of %s", #NAME); \
        }                                                                                 \
        /* In place. */                                                                   \
        shmem_team_sync(current);                                                         \
        TYPE before = dest[0];                                                            \
        require(P##_##NAME##_##OPERATION##_reduce(current, source, source, 3) == 0);      \
        require_else(source[0] == before, "%s of %s in place", #OPERATION, #NAME);        \
    }

#define REDUCTIONS_BY(P)                               \
    static void bitwise_reductions_##P(void)           \
    {                                                  \
        SHMEM_REDUCE_BITWISE_TYPES(REDUCE, P, and)     \
        SHMEM_REDUCE_BITWISE_TYPES(REDUCE, P, or)      \
        SHMEM_REDUCE_BITWISE_TYPES(REDUCE, P, xor)     \
    }                                                  \
    static void other_reductions_##P(void)             \
    {                                                  \
        SHMEM_REDUCE_MINMAX_TYPES(REDUCE, P, min)      \
        SHMEM_REDUCE_MINMAX_TYPES(REDUCE, P, max)      \
        SHMEM_REDUCE_ARITHMETIC_TYPES(REDUCE, P, sum)  \
        SHMEM_REDUCE_ARITHMETIC_TYPES(REDUCE, P, prod) \
    }
REDUCTIONS_BY(shmem)
REDUCTIONS_BY(pshmem)

static void reductions_of_every_type(void)
{
    use_team(SHMEM_TEAM_WORLD);
    bitwise_reductions_shmem();
    other_reductions_shmem();
    bitwise_reductions_pshmem();
    other_reductions_pshmem();
}

/* Numbers with a sign, the ends of the types, and imaginary parts. */
static void reductions_at_the_ends_of_types(void)
{
    static int64_t wide[2];
    static int8_t narrow[2];
    static unsigned long natural[2];
    static double _Complex complex_numbers[2];
    static double real[2];
    narrow[0] = (int8_t)(me.rank == 0 ? INT8_MIN : me.rank);
    require(shmem_int8_min_reduce(SHMEM_TEAM_WORLD, &narrow[1], &narrow[0], 1) == 0);
    require(narrow[1] == INT8_MIN);
    wide[0] = me.rank == me.size - 1 ? INT64_MIN : -me.rank - 1;
    require(shmem_int64_max_reduce(SHMEM_TEAM_WORLD, &wide[1], &wide[0], 1) == 0);
    require(wide[1] == (me.size == 1 ? INT64_MIN : -1));
    natural[0] = me.rank == 0 ? UINT64_MAX : (unsigned long)me.rank;
    require(shmem_ulong_max_reduce(SHMEM_TEAM_WORLD, &natural[1], &natural[0], 1) == 0);
    require(natural[1] == UINT64_MAX);
    real[0] = -0.5 * me.rank;
    require(shmem_double_min_reduce(SHMEM_TEAM_WORLD, &real[1], &real[0], 1) == 0);
    require(real[1] == -0.5 * (me.size - 1));
    complex_numbers[0] = __builtin_complex(0.0, 1.0);
    require(shmem_complexd_prod_reduce(SHMEM_TEAM_WORLD, &complex_numbers[1], &complex_numbers[0],
                                       1) == 0);
    double _Complex wanted = 1;
    for (int pe = 0; pe < me.size; pe++) {
        wanted *= __builtin_complex(0.0, 1.0);
    }
    require(complex_numbers[1] == wanted);
}

/* ---- The same on other teams, and with long data ----------------------------------- */

static void collectives_on_other_teams(void)
{
    shmem_team_t backwards = split(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size);
    shmem_team_t even = split(SHMEM_TEAM_WORLD, 0, 2, (me.size + 1) / 2);
    shmem_team_t odd = split(SHMEM_TEAM_WORLD, me.size > 1, 2, me.size > 1 ? me.size / 2 : 1);
    use_team(backwards);
    collectives_shmem_int();
    collectives_shmem_longdouble();
    other_reductions_shmem();
    /* Two teams work at the same time, each in its own way. */
    if (even != SHMEM_TEAM_INVALID) {
        use_team(even);
        collectives_shmem_short();
        bitwise_reductions_shmem();
    } else if (odd != SHMEM_TEAM_INVALID) {
        use_team(odd);
        bitwise_reductions_shmem();
        collectives_shmem_double();
    }
    shmem_team_destroy(odd);
    shmem_team_destroy(even);
    shmem_team_destroy(backwards);
}

/* Bytes, and more of them than any buffer between holds. */
static void collectives_of_many_bytes(void)
{
    size_t bytes = 100001;
    size_t all = bytes * (size_t)me.size;
    unsigned char *source = shmem_malloc(all);
    unsigned char *dest = shmem_malloc(2 * all);
    require(source && dest);
    for (int round = 0; round < 3; round++) {
        for (int pe = 0; pe < me.size; pe++) {
            live_fill(source + bytes * (size_t)pe, bytes, (uint64_t)(me.rank * 100 + pe + round));
        }
        shmem_sync_all();
        int root = round % me.size;
        require(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, root) == 0);
        require(live_first_other(dest, bytes, (uint64_t)(root * 100 + round)) == bytes);
        shmem_sync_all();
        require(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes) == 0);
        for (int pe = 0; pe < me.size; pe++) {
            require(live_first_other(dest + bytes * (size_t)pe, bytes,
                                     (uint64_t)(pe * 100 + round)) == bytes);
        }
        shmem_sync_all();
        require(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes) == 0);
        for (int pe = 0; pe < me.size; pe++) {
            require(live_first_other(dest + bytes * (size_t)pe, bytes,
                                     (uint64_t)(pe * 100 + me.rank + round)) == bytes);
        }
        shmem_sync_all();
        size_t less = bytes - (size_t)me.rank * 1000;
        require(shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, less) == 0);
        for (int pe = 0, at = 0; pe < me.size; pe++) {
            size_t its = bytes - (size_t)pe * 1000;
            require(live_first_other(dest + at, its / 8 * 8, (uint64_t)(pe * 100 + round)) >=
                    its / 8 * 8);
            at += (int)its;
        }
        shmem_sync_all();
        require(shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, source, 2, 1, 1000) == 0);
        for (int pe = 0; pe < me.size; pe++) {
            unsigned char wanted[1000];
            shmem_getmem(wanted, source + 1000 * me.rank, sizeof wanted, pe);
            for (int i = 0; i < 1000; i++) {
                require(dest[2000 * pe + 2 * i] == wanted[i]);
            }
        }
        shmem_sync_all();
    }
    shmem_free(dest);
    shmem_free(source);
}

static void long_reductions(void)
{
    enum { LENGTH = 50000 };
    static int source[LENGTH];
    static int dest[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        source[i] = i + me.rank;
    }
    require(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, dest, source, LENGTH) == 0);
    for (int i = 0; i < LENGTH; i++) {
        require(dest[i] == i * me.size + me.size * (me.size - 1) / 2);
    }
    /* A call with nothing to do is made by all. */
    require(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 0) == 0);
    require(shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, 0) == 0);
    require(shmem_int_collect(SHMEM_TEAM_WORLD, dest, source, 0) == 0);
    require(shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, 0, 0) == 0);
    require(shmem_int_alltoall(SHMEM_TEAM_WORLD, dest, source, 0) == 0);
}

/* ---- Active sets, deprecated ------------------------------------------------------- */

static long sync_work[SHMEM_SYNC_SIZE];

static void prepare_work(void)
{
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++) {
        sync_work[i] = SHMEM_SYNC_VALUE;
    }
    shmem_barrier_all();
}

static void work_is_restored(void)
{
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++) {
        require(sync_work[i] == SHMEM_SYNC_VALUE);
    }
}

#define OLD_COLLECTIVES(SIZE, TYPE)                                                       \
    static void old_collectives_##SIZE(int start, int log_stride, int size)               \
    {                                                                                     \
        static TYPE source[4 * PES_MAX];                                                  \
        static TYPE dest[4 * PES_MAX];                                                    \
        int index = (me.rank - start) >> log_stride;                                      \
        for (int i = 0; i < 3 * size; i++) {                                              \
            source[i] = (TYPE)(index * 1000 + i);                                         \
            dest[i] = 7777777;                                                            \
        }                                                                                 \
        int root = size - 1;                                                              \
        shmem_sync(start, log_stride, size, sync_work);                                   \
        shmem_broadcast##SIZE(dest, source, 2, root, start, log_stride, size, sync_work); \
        /* The root's own dest is left alone. */                                          \
        require(dest[1] == (TYPE)(index == root ? 7777777 : root * 1000 + 1));            \
        shmem_sync(start, log_stride, size, sync_work);                                   \
        shmem_fcollect##SIZE(dest, source, 3, start, log_stride, size, sync_work);        \
        for (int i = 0; i < 3 * size; i++) {                                              \
            require(dest[i] == (TYPE)(i / 3 * 1000 + i % 3));                             \
        }                                                                                 \
        shmem_sync(start, log_stride, size, sync_work);                                   \
        shmem_collect##SIZE(dest, source, (size_t)(index % 3), start, log_stride, size,   \
                            sync_work);                                                   \
        for (int pe = 0, at = 0; pe < size; pe++) {                                       \
            for (int i = 0; i < pe % 3; i++) {                                            \
                require(dest[at++] == (TYPE)(pe * 1000 + i));                             \
            }                                                                             \
        }                                                                                 \
        shmem_sync(start, log_stride, size, sync_work);                                   \
        shmem_alltoall##SIZE(dest, source, 2, start, log_stride, size, sync_work);        \
        for (int i = 0; i < 2 * size; i++) {                                              \
            require(dest[i] == (TYPE)(i / 2 * 1000 + index * 2 + i % 2));                 \
        }                                                                                 \
        shmem_sync(start, log_stride, size, sync_work);                                   \
        shmem_alltoalls##SIZE(dest, source, 2, 1, 1, start, log_stride, size, sync_work); \
        for (int i = 0; i < size; i++) {                                                  \
            require(dest[2 * i] == (TYPE)(i * 1000 + index));                             \
        }                                                                                 \
        shmem_barrier(start, log_stride, size, sync_work);                                \
    }
OLD_COLLECTIVES(32, uint32_t)
OLD_COLLECTIVES(64, uint64_t)

static void collectives_on_active_sets(void)
{
    prepare_work();
    for (int start = 0; start < me.size; start++) {
        for (int log_stride = 0; log_stride < 2; log_stride++) {
            int size = (me.size - start + (1 << log_stride) - 1) >> log_stride;
            int distance = me.rank - start;
            if (distance >= 0 && distance % (1 << log_stride) == 0) {
                old_collectives_32(start, log_stride, size);
                old_collectives_64(start, log_stride, size);
            }
            shmem_barrier_all();
        }
    }
    work_is_restored();
}

#define OLD_REDUCE(NAME, TYPE, P, OPERATION)                                                  \
    {                                                                                         \
        static TYPE work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2];                                  \
        for (int i = 0; i < 3; i++) {                                                         \
            source_##NAME[i] = (TYPE)operand(me.rank, i);                                     \
        }                                                                                     \
        shmem_barrier_all();                                                                  \
        P##_##NAME##_##OPERATION##_to_all(dest_##NAME, source_##NAME, 3, 0, 0, me.size, work, \
                                          sync_work);                                         \
        for (int i = 0; i < 3; i++) {                                                         \
            TYPE wanted = (TYPE)operand(0, i);                                                \
            for (int pe = 1; pe < me.size; pe++) {                                            \
                wanted = (TYPE)FOLD_##OPERATION(wanted, (TYPE)operand(pe, i));                \
            }                                                                                 \
            require_else(dest_##NAME[i] == wanted, "%s_to_all of %s", #OPERATION, #NAME);     \
        }                                                                                     \
    }

#define OLD_REDUCTIONS(P)                             \
    SHMEM_TO_ALL_BITWISE_TYPES(OLD_REDUCE, P, and)    \
    SHMEM_TO_ALL_BITWISE_TYPES(OLD_REDUCE, P, or)     \
    SHMEM_TO_ALL_BITWISE_TYPES(OLD_REDUCE, P, xor)    \
    SHMEM_TO_ALL_MINMAX_TYPES(OLD_REDUCE, P, min)     \
    SHMEM_TO_ALL_MINMAX_TYPES(OLD_REDUCE, P, max)     \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(OLD_REDUCE, P, sum) \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(OLD_REDUCE, P, prod)

static void reductions_on_active_sets(void)
{
    prepare_work();
    OLD_REDUCTIONS(shmem)
    OLD_REDUCTIONS(pshmem)
    work_is_restored();
}

/* shmem_barrier completes the default context for the set; shmem_sync does not need to. */
static void a_barrier_of_a_set_completes(void)
{
    static long box;
    prepare_work();
    for (long round = 1; round <= 100; round++) {
        shmem_long_put_nbi(&box, &round, 1, right());
        shmem_barrier(0, 0, me.size, sync_work);
        require(box == round);
        shmem_sync(0, 0, me.size, sync_work);
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, predefined_teams),
        LIVE_CHECK(1, the_invalid_team),
        LIVE_CHECK(1, teams_by_triple),
        LIVE_CHECK(1, impossible_triples_are_refused),
        LIVE_CHECK(1, teams_are_split_again),
        LIVE_CHECK(1, teams_in_two_dimensions),
        LIVE_CHECK(1, configurations_are_kept),
        LIVE_CHECK(1, teams_are_destroyed),
        LIVE_CHECK(1, contexts_use_the_numbers_of_their_team),
        LIVE_CHECK(1, contexts_of_the_world),
        LIVE_CHECK(1, collectives_of_every_type),
        LIVE_CHECK(1, reductions_of_every_type),
        LIVE_CHECK(1, reductions_at_the_ends_of_types),
        LIVE_CHECK(1, collectives_on_other_teams),
        LIVE_CHECK(1, collectives_of_many_bytes),
        LIVE_CHECK(1, long_reductions),
        LIVE_CHECK(1, collectives_on_active_sets),
        LIVE_CHECK(1, reductions_on_active_sets),
        LIVE_CHECK(1, a_barrier_of_a_set_completes),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
