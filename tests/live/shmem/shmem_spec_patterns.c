/* What the specification's examples do, in programs of our own: transfers, atomics, locks,
 * collectives and teams. shmem_spec_patterns.sh
 * compiles it in C99, C11 and C++. */
#include "shmem_spec_patterns.h"

/* ---- Transfers ------------------------------------------------------------------------- */

/* A local array goes into a static one of the last PE; nobody else's changes. */
static void an_array_goes_to_one_pe(void)
{
    static short target[10];
    short source[10];
    for (short i = 0; i < 10; i++) {
        source[i] = (short)(i + 1);
        target[i] = 0;
    }
    shmem_barrier_all();
    if (me == 0) {
        ON(short, put)(target, source, 10, pes - 1);
    }
    shmem_barrier_all();
    for (short i = 0; i < 10; i++) {
        require(target[i] == (me == pes - 1 ? i + 1 : 0));
    }
}

/* Each gives its number to the right, and looks up what its left neighbour was given. */
static void single_elements_go_round(void)
{
    static double given;
    given = -1;
    shmem_barrier_all();
    ON(double, p)(&given, me, right());
    shmem_barrier_all();
    require(given == left());
    require(ON(double, g)(&given, right()) == me);
    shmem_barrier_all();
}

/* Every second element, three apart at the target. */
static void elements_with_strides(void)
{
    static int target[16];
    int source[10];
    for (int i = 0; i < 10; i++) {
        source[i] = 100 * me + i;
    }
    memset(target, 0, sizeof target);
    shmem_barrier_all();
    ON(int, iput)(target, source, 3, 2, 5, right());
    shmem_barrier_all();
    for (int i = 0; i < 16; i++) {
        require(target[i] == (i % 3 == 0 && i < 13 ? 100 * left() + i / 3 * 2 : 0));
    }
}

/* What comes after the fence is not seen before what went ahead of it. */
static void a_flag_comes_behind_its_data(void)
{
    static long data[50];
    static int flag;
    long source[50];
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 50; i++) {
            source[i] = 1000L * round + i;
        }
        ON(long, put)(data, source, 50, right());
        shmem_fence();
        ON(int, atomic_set)(&flag, round, right());
        ON(int, wait_until)(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < 50; i++) {
            require(data[i] == source[i]);
        }
        shmem_barrier_all();
    }
}

/* After quiet others see both arrays, whoever tells them. */
static void a_third_pe_reads_what_is_complete(void)
{
    static long first[20];
    static long second[20];
    static int told;
    long source[20];
    long got[20];
    int reader = (me + 2) % pes;
    int writer = (me + 2 * pes - 2) % pes;
    for (int i = 0; i < 20; i++) {
        source[i] = 10L * me + i;
    }
    told = 0;
    shmem_barrier_all();
    ON(long, put_nbi)(first, source, 20, right());
    ON(long, put)(second, source, 20, right());
    shmem_quiet();
    ON(int, atomic_add)(&told, 1, reader);
    ON(int, wait_until)(&told, SHMEM_CMP_EQ, 1);
    ON(long, get)(got, first, 20, (writer + 1) % pes);
    require(got[0] == 10L * writer && got[19] == 10L * writer + 19);
    ON(long, get)(got, second, 20, (writer + 1) % pes);
    require(got[0] == 10L * writer && got[19] == 10L * writer + 19);
    shmem_barrier_all();
}

/* PE 0 sends data and a signal to the right, and everybody sends them on. */
static void a_signal_takes_data_round(void)
{
    static uint64_t data[100];
    static uint64_t signal;
    uint64_t source[100];
    for (int i = 0; i < 100; i++) {
        source[i] = 7;
        data[i] = 0;
    }
    signal = 0;
    shmem_barrier_all();
    if (me == 0) {
        ON(uint64, put_signal)(data, source, 100, &signal, 1, SHMEM_SIGNAL_SET, right());
    }
    require(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1) == 1);
    if (me != 0) {
        ON(uint64, put_signal)(data, data, 100, &signal, 1, SHMEM_SIGNAL_SET, right());
    }
    require(data[0] == 7 && data[99] == 7);
    shmem_barrier_all();
}

/* Loads and stores by a pointer, where there is one. */
static void a_pointer_reaches_an_array(void)
{
    static int array[8];
    memset(array, 0, sizeof array);
    shmem_barrier_all();
    int *there = (int *)shmem_ptr(array, right());
    for (int i = 0; i < 8; i++) {
        if (there) {
            there[i] = me + i;
        } else {
            ON(int, p)(&array[i], me + i, right());
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < 8; i++) {
        require(array[i] == left() + i);
    }
    shmem_barrier_all();
}

/* ---- Atomics and locks ------------------------------------------------------------------- */

/* One PE is the first to put its number there, and all of them hear of the same. */
static void one_of_all_is_first(void)
{
    static int race;
    race = -1;
    shmem_barrier_all();
    int before = ON(int, atomic_compare_swap)(&race, -1, me, 0);
    shmem_barrier_all();
    int winner = ON(int, g)(&race, 0);
    require(winner >= 0 && winner < pes);
    require(before == (winner == me ? -1 : winner));
    shmem_barrier_all();
}

static void neighbours_swap_and_count(void)
{
    static long swapped;
    static int counted;
    static int drawn;
    static long added;
    static long summed;
    swapped = me;
    counted = drawn = 0;
    summed = 0;
    added = 22;
    shmem_barrier_all();
    require(ON(long, atomic_swap)(&swapped, 1000L + me, right()) == right());
    ON(int, atomic_inc)(&counted, right());
    require(ON(int, atomic_fetch_inc)(&drawn, right()) == 0);
    require(ON(long, atomic_fetch_add)(&added, 44, right()) == 22);
    ON(long, atomic_add)(&summed, me, 0);
    shmem_barrier_all();
    require(swapped == 1000L + left() && counted == 1 && drawn == 1);
    require(added == 66 && summed == (me == 0 ? pes * (pes - 1) / 2 : 0));
    shmem_barrier_all();
}

/* The same word by contexts of two teams, one after the other. */
static void teams_take_turns_at_a_word(void)
{
    static uint64_t word;
    shmem_ctx_t world;
    shmem_ctx_t shared;
    word = 0;
    shmem_barrier_all();
    require(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &world) == 0);
    require(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &shared) == 0);
    ON_CTX(uint64, atomic_inc)(world, &word, right());
    shmem_ctx_quiet(world);
    shmem_barrier_all();
    int its_place = shmem_team_translate_pe(SHMEM_TEAM_WORLD, right(), SHMEM_TEAM_SHARED);
    if (its_place >= 0) {
        ON_CTX(uint64, atomic_inc)(shared, &word, its_place);
        shmem_ctx_quiet(shared);
    } else {
        ON_CTX(uint64, atomic_inc)(world, &word, right());
        shmem_ctx_quiet(world);
    }
    shmem_barrier_all();
    require(word == 2);
    shmem_ctx_destroy(shared);
    shmem_ctx_destroy(world);
}

/* A number that is read and written back, by one PE at a time. */
static void a_lock_guards_a_number(void)
{
    static long lock;
    static int number;
    number = 0;
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(&lock);
        int read = ON(int, g)(&number, 0);
        ON(int, p)(&number, read + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    require(ON(int, g)(&number, 0) == 10 * pes);
    shmem_barrier_all();
}

/* ---- Collectives -------------------------------------------------------------------------- */

/* Two elements from each to each; then every second one. */
static void all_exchange_with_all(void)
{
    int64_t *source = (int64_t *)zeros((size_t)pes * 4, sizeof *source);
    int64_t *target = (int64_t *)zeros((size_t)pes * 4, sizeof *target);
    for (int i = 0; i < 4 * pes; i++) {
        source[i] = 100 * me + i;
    }
    require(ON(int64, alltoall)(SHMEM_TEAM_WORLD, target, source, 2) == 0);
    for (int pe = 0; pe < pes; pe++) {
        require(target[2 * pe] == 100 * pe + 2 * me && target[2 * pe + 1] == 100 * pe + 2 * me + 1);
    }
    shmem_sync_all();
    memset(target, 0, (size_t)pes * 4 * sizeof *target);
    shmem_barrier_all();
    require(ON(int64, alltoalls)(SHMEM_TEAM_WORLD, target, source, 1, 2, 2) == 0);
    for (int pe = 0; pe < pes; pe++) {
        require(target[2 * pe] == 100 * pe + 4 * me && target[2 * pe + 1] == 100 * pe + 4 * me + 2);
    }
    shmem_free(target);
    shmem_free(source);
}

/* What PE 0 has everybody has; then as much of each as its number says. */
static void arrays_are_spread_and_collected(void)
{
    long *source = (long *)zeros((size_t)pes, sizeof *source);
    long *target = (long *)zeros((size_t)(pes * pes), sizeof *target);
    for (int i = 0; i < pes; i++) {
        source[i] = me == 0 ? i + 5 : -1;
    }
    require(ON(long, broadcast)(SHMEM_TEAM_WORLD, target, source, (size_t)pes, 0) == 0);
    for (int i = 0; i < pes; i++) {
        require(target[i] == i + 5);
        source[i] = 10L * me + i;
    }
    shmem_sync_all();
    require(ON(long, collect)(SHMEM_TEAM_WORLD, target, source, (size_t)me + 1) == 0);
    long *at = target;
    for (int pe = 0; pe < pes; pe++) {
        for (int i = 0; i <= pe; i++) {
            require(*at++ == 10L * pe + i);
        }
    }
    shmem_sync_all();
    require(ON(long, fcollect)(SHMEM_TEAM_WORLD, target, source, 1) == 0);
    require(target[pes - 1] == 10L * (pes - 1));
    shmem_free(target);
    shmem_free(source);
}

static void arrays_are_reduced(void)
{
    static int source[3];
    static int target[3];
    static unsigned bits;
    static unsigned all_bits;
    for (int i = 0; i < 3; i++) {
        source[i] = me + i;
    }
    bits = 1U << me;
    require(ON(int, max_reduce)(SHMEM_TEAM_WORLD, target, source, 3) == 0);
    require(target[0] == pes - 1 && target[2] == pes + 1);
    shmem_sync_all();
    require(ON(int, sum_reduce)(SHMEM_TEAM_WORLD, target, source, 3) == 0);
    require(target[1] == pes * (pes - 1) / 2 + pes);
    require(ON(uint, or_reduce)(SHMEM_TEAM_WORLD, &all_bits, &bits, 1) == 0);
    require(all_bits == (1U << pes) - 1);
    require(ON(uint, xor_reduce)(SHMEM_TEAM_WORLD, &bits, &bits, 1) == 0);
    require(bits == all_bits);
}

/* One PE gets what all have, one behind the other; a sum over those before says where. */
static void one_pe_collects(void)
{
    static size_t place;
    unsigned char mine[PES_MOST];
    unsigned char *target = (unsigned char *)zeros((size_t)(pes * (pes + 1) / 2), 1);
    place = (size_t)me + 1;
    memset(mine, me + 1, sizeof mine);
    shmem_sync_all();
    require(ON(size, sum_exscan)(SHMEM_TEAM_WORLD, &place, &place, 1) == 0);
    require(place == (size_t)(me * (me + 1) / 2));
    shmem_putmem(target + place, mine, (size_t)me + 1, pes - 1);
    shmem_barrier_all();
    for (int pe = 0, at = 0; me == pes - 1 && pe < pes; pe++) {
        for (int i = 0; i <= pe; i++) {
            require(target[at++] == pe + 1);
        }
    }
    shmem_free(target);
}

/* ---- Teams ---------------------------------------------------------------------------------- */

/* Every step-th PE from `first` on; SHMEM_TEAM_INVALID where there are none. */
static shmem_team_t every(int first, int step)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    if (first < pes) {
        int size = (pes - 1 - first) / step + 1;
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, first, step, size, NULL, 0, &team) == 0);
    }
    return team;
}

/* The numbers 2 and 3 go round in teams that share PEs. */
static void teams_overlap(void)
{
    static int number;
    int steps[2] = {2, 3};
    number = 1;
    shmem_barrier_all();
    for (int i = 0; i < 2; i++) {
        shmem_team_t team = every(steps[i], steps[i]);
        int place = shmem_team_my_pe(team);
        int size = shmem_team_n_pes(team);
        require((place == -1) == (team == SHMEM_TEAM_INVALID) && (place == -1) == (size == -1));
        if (team != SHMEM_TEAM_INVALID) {
            require(shmem_team_translate_pe(team, place, SHMEM_TEAM_WORLD) == me);
            ON(int, p)
            (&number, steps[i],
             shmem_team_translate_pe(team, (place + 1) % size, SHMEM_TEAM_WORLD));
            shmem_quiet();
            require(SYNC_TEAM(team) == 0);
        }
        require(SYNC_TEAM(SHMEM_TEAM_WORLD) == 0);
        shmem_team_destroy(team);
    }
    require(number == (me > 0 && me % 3 == 0 ? 3 : me > 0 && me % 2 == 0 ? 2 : 1));
}

/* PEs on the points of a box, by two splits. */
static void a_box_of_pes(void)
{
    shmem_team_t x_team;
    shmem_team_t yz_team;
    shmem_team_t y_team;
    shmem_team_t z_team;
    require(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x_team, NULL, 0, &yz_team) == 0);
    require(shmem_team_split_2d(yz_team, 2, NULL, 0, &y_team, NULL, 0, &z_team) == 0);
    shmem_team_destroy(yz_team);
    int width = pes < 2 ? pes : 2;
    require(shmem_team_my_pe(x_team) == me % width);
    require(shmem_team_my_pe(y_team) == me / width % 2);
    require(shmem_team_my_pe(z_team) == me / width / 2);
    shmem_team_destroy(x_team);
    shmem_team_destroy(y_team);
    shmem_team_destroy(z_team);
}

/* A context of every team; those that are in no team have invalid handles, which do nothing. */
static void contexts_of_teams(void)
{
    static int from_twos;
    static int from_threes;
    static int sum;
    shmem_team_t twos = every(0, 2);
    shmem_team_t threes = every(0, 3);
    shmem_ctx_t by_twos;
    shmem_ctx_t by_threes;
    shmem_team_t found;
    from_twos = from_threes = sum = 0;
    shmem_barrier_all();
    require((shmem_team_create_ctx(twos, 0, &by_twos) == 0) == (twos != SHMEM_TEAM_INVALID));
    require((shmem_team_create_ctx(threes, 0, &by_threes) == 0) == (threes != SHMEM_TEAM_INVALID));
    require((by_twos == SHMEM_CTX_INVALID) == (twos == SHMEM_TEAM_INVALID));
    require((shmem_ctx_get_team(by_twos, &found) == 0) == (twos != SHMEM_TEAM_INVALID));
    require(found == twos);
    if (by_twos != SHMEM_CTX_INVALID) {
        int next = (shmem_team_my_pe(twos) + 1) % shmem_team_n_pes(twos);
        ON_CTX(int, p)(by_twos, &from_twos, 20, next);
    }
    if (by_threes != SHMEM_CTX_INVALID) {
        int next = (shmem_team_my_pe(threes) + 1) % shmem_team_n_pes(threes);
        ON_CTX(int, p)(by_threes, &from_threes, 300, next);
    }
    shmem_ctx_quiet(by_twos);
    shmem_ctx_quiet(by_threes);
    require(SYNC_TEAM(SHMEM_TEAM_WORLD) == 0);
    /* The last PE of both teams gets the sum of all that are in both. */
    int last = shmem_team_translate_pe(SHMEM_TEAM_WORLD, (pes - 1) / 6 * 6, twos);
    if (twos != SHMEM_TEAM_INVALID && threes != SHMEM_TEAM_INVALID) {
        ON_CTX(int, atomic_add)(by_twos, &sum, from_twos + from_threes, last);
    }
    shmem_ctx_quiet(by_twos);
    require(SYNC_TEAM(SHMEM_TEAM_WORLD) == 0);
    require(sum == (me == (pes - 1) / 6 * 6 ? 320 * ((pes - 1) / 6 + 1) : 0));
    shmem_ctx_destroy(by_twos);
    shmem_ctx_destroy(by_threes);
    shmem_team_destroy(threes);
    shmem_team_destroy(twos);
}

/* ---- All ------------------------------------------------------------------------------ */

int main(void)
{
    static const struct pattern patterns[] = {
        PATTERN(an_array_goes_to_one_pe),
        PATTERN(single_elements_go_round),
        PATTERN(elements_with_strides),
        PATTERN(a_flag_comes_behind_its_data),
        PATTERN(a_third_pe_reads_what_is_complete),
        PATTERN(a_signal_takes_data_round),
        PATTERN(a_pointer_reaches_an_array),
        PATTERN(one_of_all_is_first),
        PATTERN(neighbours_swap_and_count),
        PATTERN(teams_take_turns_at_a_word),
        PATTERN(a_lock_guards_a_number),
        PATTERN(all_exchange_with_all),
        PATTERN(arrays_are_spread_and_collected),
        PATTERN(arrays_are_reduced),
        PATTERN(one_pe_collects),
        PATTERN(teams_overlap),
        PATTERN(a_box_of_pes),
        PATTERN(contexts_of_teams),
    };
    return patterns_main(patterns, sizeof patterns / sizeof patterns[0]);
}
