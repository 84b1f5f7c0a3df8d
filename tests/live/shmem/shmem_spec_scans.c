/* Version 1.6: inclusive and exclusive sums over the PEs of a team, of every type, in place and
 * not, under their own, their pshmem_ and their generic names. */
#include "shmem_spec.h"
#include "shmem_spec_tables.h"

enum { PLACES = 5, PES_MAX = 8 };

/* Sums of these over 8 PEs fit a signed char, and are exact in every type. */
static int operand(int number, int place)
{
    return (number * 3 + place * 5) % 7 + 1;
}

static int sum_below(int number, int place)
{
    int sum = 0;
    for (int i = 0; i < number; i++) {
        sum += operand(i, place);
    }
    return sum;
}

#define SCAN(WAY, NAME, TYPE, INSCAN, EXSCAN)                                                     \
    static void WAY##_##NAME(shmem_team_t team)                                                   \
    {                                                                                             \
        static TYPE source[PLACES];                                                               \
        static TYPE dest[PLACES];                                                                 \
        int mine = shmem_team_my_pe(team);                                                        \
        for (int i = 0; i < PLACES; i++) {                                                        \
            source[i] = (TYPE)operand(mine, i);                                                   \
            dest[i] = (TYPE)99;                                                                   \
        }                                                                                         \
        require(shmem_team_sync(team) == 0);                                                      \
        require(INSCAN(team, dest, source, PLACES - 1) == 0);                                     \
        for (int i = 0; i < PLACES; i++) {                                                        \
            TYPE wanted = (TYPE)(i == PLACES - 1 ? 99 : sum_below(mine + 1, i));                  \
            require_else(dest[i] == wanted, "%s, %s inscan: place %d", #WAY, #NAME, i);           \
            require_else(source[i] == (TYPE)operand(mine, i), "%s, %s: source", #WAY, #NAME);     \
            dest[i] = (TYPE)99;                                                                   \
        }                                                                                         \
        require(shmem_team_sync(team) == 0);                                                      \
        require(EXSCAN(team, dest, source, PLACES - 1) == 0);                                     \
        for (int i = 0; i < PLACES; i++) {                                                        \
            TYPE wanted = (TYPE)(i == PLACES - 1 ? 99 : sum_below(mine, i));                      \
            require_else(dest[i] == wanted, "%s, %s exscan: place %d", #WAY, #NAME, i);           \
            require_else(source[i] == (TYPE)operand(mine, i), "%s, %s: source", #WAY, #NAME);     \
            dest[i] = source[i];                                                                  \
        }                                                                                         \
        require(shmem_team_sync(team) == 0);                                                      \
        require(INSCAN(team, source, source, PLACES) == 0);                                       \
        require(EXSCAN(team, dest, dest, PLACES) == 0);                                           \
        for (int i = 0; i < PLACES; i++) {                                                        \
            require_else(source[i] == (TYPE)sum_below(mine + 1, i), "%s, %s inscan in place: %d", \
                         #WAY, #NAME, i);                                                         \
            require_else(dest[i] == (TYPE)sum_below(mine, i), "%s, %s exscan in place: %d", #WAY, \
                         #NAME, i);                                                               \
        }                                                                                         \
        require(shmem_team_sync(team) == 0);                                                      \
    }

#define TYPED(NAME, TYPE, P, B) \
    SCAN(P, NAME, TYPE, P##_##NAME##_sum_inscan, P##_##NAME##_sum_exscan)
SPEC_REDUCE_ARITHMETIC(TYPED, shmem, )
SPEC_REDUCE_ARITHMETIC(TYPED, pshmem, )

#define GENERIC(NAME, TYPE, A, B) SCAN(generic, NAME, TYPE, shmem_sum_inscan, shmem_sum_exscan)
SPEC_REDUCE_ARITHMETIC(GENERIC, , )

#define RUN(NAME, TYPE, WAY, B) WAY##_##NAME(team);

static void scans_of_every_type(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    SPEC_REDUCE_ARITHMETIC(RUN, shmem, )
    SPEC_REDUCE_ARITHMETIC(RUN, pshmem, )
}

static void scans_without_a_type_in_the_name(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    SPEC_REDUCE_ARITHMETIC(RUN, generic, )
}

/* Members have their sums, in the order of the team. */
static void scan_on(int start, int stride, int size)
{
    shmem_team_t team;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
    if (team != SHMEM_TEAM_INVALID) {
        shmem_long(team);
        shmem_complexd(team);
        generic_float(team);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

static void scans_on_other_teams(void)
{
    scan_on(0, 2, (me.size + 1) / 2);
    scan_on(me.size - 1, -1, me.size);
    scan_on(me.size / 2, 1, me.size - me.size / 2);
    if (me.size > 1) {
        scan_on(1, 2, me.size / 2);
    }
    shmem_long(SHMEM_TEAM_SHARED);
}

/* The inclusive sum is the operand, and the exclusive one nothing. */
static void scans_on_teams_of_one(void)
{
    static double source[2];
    static double dest[2];
    for (int pe = 0; pe < me.size; pe++) {
        scan_on(pe, 0, 1);
        shmem_team_t team;
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, NULL, 0, &team) == 0);
        source[0] = source[1] = 7.5;
        dest[0] = dest[1] = -1;
        if (team != SHMEM_TEAM_INVALID) {
            require(shmem_double_sum_inscan(team, dest, source, 2) == 0);
            require(dest[0] == 7.5 && dest[1] == 7.5);
            require(shmem_double_sum_exscan(team, dest, source, 2) == 0);
            require(dest[0] == 0 && dest[1] == 0);
            require(shmem_double_sum_exscan(team, source, source, 1) == 0);
            require(source[0] == 0 && source[1] == 7.5);
            shmem_team_destroy(team);
        }
        shmem_barrier_all();
    }
}

static void scans_of_nothing(void)
{
    static int source = 3;
    static int dest = 4;
    require(shmem_int_sum_inscan(SHMEM_TEAM_WORLD, &dest, &source, 0) == 0);
    require(shmem_int_sum_exscan(SHMEM_TEAM_WORLD, &dest, &source, 0) == 0);
    require(shmem_int_sum_exscan(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    require(source == 3 && dest == 4);
}

/* More than any buffer below holds at once. */
static void long_scans(void)
{
    enum { LENGTH = 50000 };
    int *source = shmem_malloc(sizeof *source * LENGTH);
    int *dest = shmem_malloc(sizeof *dest * LENGTH);
    require(source && dest);
    for (int i = 0; i < LENGTH; i++) {
        source[i] = i + me.rank;
    }
    int n = me.rank + 1;
    require(shmem_int_sum_inscan(SHMEM_TEAM_WORLD, dest, source, LENGTH) == 0);
    for (int i = 0; i < LENGTH; i++) {
        require_else(dest[i] == i * n + n * (n - 1) / 2, "inscan: place %d", i);
    }
    shmem_sync_all();
    require(shmem_int_sum_exscan(SHMEM_TEAM_WORLD, source, source, LENGTH) == 0);
    for (int i = 0; i < LENGTH; i++) {
        require_else(source[i] == dest[i] - i - me.rank, "exscan: place %d", i);
    }
    shmem_free(source);
    shmem_free(dest);
}

/* One after the other without any other call between: the source may be used again at once, and a
 * round's result is not that of the next. */
static void scans_in_a_row(void)
{
    static long source;
    static long dest[2];
    for (long round = 1; round <= 200; round++) {
        source = round * (me.rank + 1);
        require(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, &dest[0], &source, 1) == 0);
        source = -1;
        long n = me.rank + 1;
        require_else(dest[0] == round * n * (n + 1) / 2, "inscan of round %ld: %ld", round,
                     dest[0]);
        source = 1;
        require(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, &dest[1], &source, 1) == 0);
        require_else(dest[1] == me.rank, "exscan of round %ld: %ld", round, dest[1]);
    }
}

/* What a program uses it for: each PE's place among records of varying number. */
static void records_find_their_places(void)
{
    static size_t mine;
    static size_t place;
    static int all[PES_MAX * PES_MAX];
    mine = (size_t)(me.rank + 1);
    require(shmem_size_sum_exscan(SHMEM_TEAM_WORLD, &place, &mine, 1) == 0);
    for (size_t i = 0; i < mine; i++) {
        shmem_int_p(&all[place + i], me.rank, 0);
    }
    shmem_barrier_all();
    int at = 0;
    for (int pe = 0; me.rank == 0 && pe < me.size; pe++) {
        for (int i = 0; i <= pe; i++) {
            require(all[at++] == pe);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, scans_of_every_type),  LIVE_CHECK(1, scans_without_a_type_in_the_name),
        LIVE_CHECK(1, scans_on_other_teams), LIVE_CHECK(1, scans_on_teams_of_one),
        LIVE_CHECK(1, scans_of_nothing),     LIVE_CHECK(1, long_scans),
        LIVE_CHECK(1, scans_in_a_row),       LIVE_CHECK(1, records_find_their_places),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
