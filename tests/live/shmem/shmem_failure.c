/* Going on after deaths: every call that a death makes impossible returns, says whose death it was,
 * and brings ones in all bits where it reads.
 *
 *     shmem_failure CASE     the last PE dies, or others; each survivor says "ok survivor" */
#include <math.h>
#include <shmemx.h>

#include "live/live.h"

enum { WORDS = 40 };

static int victim;
static long words[WORDS];
static double numbers[WORDS];
static uint64_t signals[2];
static long locks[8];
static long from[WORDS * 8], to[WORDS * 8];
static long sync_words[SHMEM_SYNC_SIZE];

/* ---- Tools --------------------------------------------------------------------------- */

static _Noreturn void die(void)
{
    (void)raise(SIGKILL);
    abort();
}

/* The survivors wait until the death is known; here, to this PE. */
static void await_death(int pe)
{
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (shmem_pe_accessible(pe)) {
        require_else(live_now_ns() < deadline_ns, "PE %d does not die", pe);
        live_sleep_ns(LIVE_MS);
    }
}

/* All meet, the victim dies, and the survivors know it. */
static void lose_victim(void)
{
    shmem_barrier_all();
    if (me.rank == victim) {
        die();
    }
    await_death(victim);
}

/* The call before has failed, because of that PE; it is said once. */
static void require_failed(const char *call, int pe)
{
    int failed = shmemx_failed_pe();
    require_else(failed == pe, "%s: PE %d is said to have failed, not %d", call, failed, pe);
    require(shmemx_failed_pe() == -1);
}

#define FAILS(CALL)                    \
    do {                               \
        CALL;                          \
        require_failed(#CALL, victim); \
    } while (0)

/* The first of all the dead is named. */
#define FAILS_ALONE(CALL)         \
    do {                          \
        CALL;                     \
        require_failed(#CALL, 1); \
    } while (0)

#define GIVES_ONES(CALL)               \
    do {                               \
        long long got_ = (CALL);       \
        require_failed(#CALL, victim); \
        require(got_ == -1);           \
    } while (0)

#define PASSES(CALL)               \
    do {                           \
        CALL;                      \
        require_failed(#CALL, -1); \
    } while (0)

static void require_ones(const long *array, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        require_else(array[i] == -1, "word %zu is %ld", i, array[i]);
    }
}

/* ---- Transfers ------------------------------------------------------------------------ */

/* A write may have gone before anybody knew; in the end, with quiet, it fails. */
static void transfers_on(shmem_ctx_t ctx, int pe)
{
    long here[WORDS] = {0};
    double number;
    FAILS(shmem_ctx_long_p(ctx, words, 1, pe));
    FAILS(shmem_ctx_long_put(ctx, words, here, 1, pe));
    FAILS(shmem_ctx_long_put(ctx, words, here, WORDS, pe));
    FAILS(shmem_ctx_long_iput(ctx, words, here, 2, 1, 3, pe));
    FAILS(shmem_ctx_long_put_signal(ctx, words, here, 3, signals, 1, SHMEM_SIGNAL_SET, pe));
    FAILS(shmem_ctx_long_put_signal(ctx, words, here, 3, signals, 1, SHMEM_SIGNAL_ADD, pe));
    FAILS(shmem_ctx_signal_add(ctx, signals, 1, pe));
    GIVES_ONES(shmem_ctx_long_g(ctx, words, pe));
    GIVES_ONES(shmem_ctx_short_g(ctx, (short *)words, pe));
    FAILS(number = shmem_ctx_double_g(ctx, numbers, pe));
    require(isnan(number));
    FAILS(shmem_ctx_long_get(ctx, here, words, 1, pe));
    require_ones(here, 1);
    memset(here, 0, sizeof here);
    FAILS(shmem_ctx_long_get(ctx, here, words, WORDS, pe));
    require_ones(here, WORDS);
    memset(here, 0, sizeof here);
    FAILS(shmem_ctx_long_iget(ctx, here, words, 2, 1, 3, pe));
    require(here[0] == -1 && here[1] == 0 && here[2] == -1 && here[3] == 0 && here[4] == -1);
    memset(here, 0, sizeof here);
    FAILS(shmem_ctx_long_get_nbi(ctx, here, words, WORDS, pe); shmem_ctx_quiet(ctx));
    require_ones(here, WORDS);
    PASSES(shmem_ctx_long_put(ctx, words, here, 0, pe));
}

static void atomics_on(shmem_ctx_t ctx, int pe)
{
    long fetched = 0;
    GIVES_ONES(shmem_ctx_long_atomic_fetch(ctx, words, pe));
    GIVES_ONES(shmem_ctx_long_atomic_fetch_add(ctx, words, 1, pe));
    GIVES_ONES(shmem_ctx_long_atomic_swap(ctx, words, 1, pe));
    GIVES_ONES(shmem_ctx_long_atomic_compare_swap(ctx, words, 0, 1, pe));
    GIVES_ONES(shmem_ctx_int_atomic_fetch_inc(ctx, (int *)words, pe));
    FAILS(shmem_ctx_long_atomic_add(ctx, words, 1, pe));
    FAILS(shmem_ctx_long_atomic_set(ctx, words, 1, pe));
    FAILS(shmem_ctx_long_atomic_fetch_add_nbi(ctx, &fetched, words, 1, pe); shmem_ctx_quiet(ctx));
    require(fetched == -1);
}

/* Contexts from before the mode and the death, and from after them. */
static void transfers(void)
{
    shmem_ctx_t before;
    shmem_ctx_t after;
    (void)shmemx_failure_mode(SHMEMX_END);
    require(shmem_ctx_create(0, &before) == 0);
    (void)shmemx_failure_mode(SHMEMX_CONTINUE);
    lose_victim();
    require(shmem_ctx_create(0, &after) == 0);
    require(shmem_ptr(words, victim) == NULL);
    transfers_on(SHMEM_CTX_DEFAULT, victim);
    atomics_on(SHMEM_CTX_DEFAULT, victim);
    transfers_on(before, victim);
    atomics_on(before, victim);
    transfers_on(after, victim);
    /* The living are reached as before. */
    int next = (me.rank + 1) % victim;
    PASSES(shmem_long_p(&words[1 + me.rank], 100 + me.rank, next));
    PASSES(shmem_quiet());
    PASSES(require(shmem_long_g(&words[1 + me.rank], next) == 100 + me.rank));
    shmem_ctx_destroy(before);
    shmem_ctx_destroy(after);
}

/* ---- Waits ---------------------------------------------------------------------------- */

/* A wait ends once with the death, whatever its form; when it is accepted waits go on. */
static void waits(void)
{
    size_t indices[2];
    int dead[8];
    lose_victim();
    FAILS(shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, 5));
    FAILS(shmem_long_wait_until_all(words, 2, NULL, SHMEM_CMP_EQ, 5));
    FAILS(require(shmem_long_wait_until_any(words, 2, NULL, SHMEM_CMP_EQ, 5) == SIZE_MAX));
    FAILS(require(shmem_long_wait_until_some(words, 2, indices, NULL, SHMEM_CMP_EQ, 5) == 0));
    FAILS(require(shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 5) == 0));
    PASSES(shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, 0));
    require(shmemx_failure_ack(dead, 8) == 1 && dead[0] == victim);
    require(shmemx_failure_ack(dead, 8) == 0);
    int next = (me.rank + 1) % victim;
    PASSES(shmem_long_p(&words[2], 5, next));
    PASSES(shmem_quiet());
    PASSES(shmem_long_wait_until(&words[2], SHMEM_CMP_EQ, 5));
    PASSES(shmem_signal_add(&signals[1], 1, next));
    PASSES(shmem_quiet());
    PASSES(require(shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, 1) == 1));
}

/* Sleepers are woken by the death. */
static void sleepers(void)
{
    shmem_barrier_all();
    if (me.rank == victim) {
        live_sleep_ns(200 * LIVE_MS);
        die();
    }
    FAILS(shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, 5));
}

/* With nobody left who could store the word, a wait ends although the deaths are accepted. */
static void left_alone(void)
{
    size_t indices[2];
    shmem_barrier_all();
    if (me.rank != 0) {
        die();
    }
    for (int pe = 1; pe < me.size; pe++) {
        await_death(pe);
    }
    (void)shmemx_failed_pe(); /* of the barrier, perhaps */
    require(shmemx_failure_ack(NULL, 0) == me.size - 1);
    FAILS_ALONE(shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, 5));
    FAILS_ALONE(shmem_long_wait_until_all(words, 2, NULL, SHMEM_CMP_EQ, 5));
    FAILS_ALONE(require(shmem_long_wait_until_any(words, 2, NULL, SHMEM_CMP_EQ, 5) == SIZE_MAX));
    FAILS_ALONE(require(shmem_long_wait_until_some(words, 2, indices, NULL, SHMEM_CMP_EQ, 5) == 0));
    FAILS_ALONE(require(shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 5) == 0));
    PASSES(shmem_long_p(&words[0], 5, 0); shmem_quiet());
    PASSES(shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, 5));
}

/* ---- Collectives ----------------------------------------------------------------------- */

static void collectives_of(shmem_team_t team, bool fails)
{
    int pe = fails ? victim : -1;
    shmem_team_t part = SHMEM_TEAM_WORLD;
    const struct {
        const char *name;
        int result;
    } calls[] = {
        {"sync", shmem_team_sync(team)},
        {"broadcast", shmem_long_broadcast(team, to, from, 3, 0)},
        {"collect", shmem_long_collect(team, to, from, 3)},
        {"fcollect", shmem_long_fcollect(team, to, from, 3)},
        {"alltoall", shmem_long_alltoall(team, to, from, 3)},
        {"alltoalls", shmem_long_alltoalls(team, to, from, 1, 1, 3)},
        {"sum", shmem_long_sum_reduce(team, to, from, 3)},
        {"long sum", shmem_long_sum_reduce(team, to, from, WORDS)},
        {"inscan", shmem_long_sum_inscan(team, to, from, 3)},
        {"exscan", shmem_long_sum_exscan(team, to, from, 3)},
        {"split", shmem_team_split_strided(team, 0, 1, 2, NULL, 0, &part)},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        require_else((calls[i].result != 0) == fails, "%s gave %d", calls[i].name, calls[i].result);
    }
    require_failed("collectives", pe);
    if (fails) {
        require(part == SHMEM_TEAM_INVALID);
    } else {
        shmem_team_destroy(part);
    }
}

/* Nobody has memory from a call that a PE did not make; what was there before stays. */
static void allocations_fail(long *held)
{
#define GIVES_NOTHING(CALL)            \
    do {                               \
        errno = 0;                     \
        require((CALL) == NULL);       \
        require(errno == EHOSTDOWN);   \
        require_failed(#CALL, victim); \
    } while (0)
    GIVES_NOTHING(shmem_malloc(8));
    GIVES_NOTHING(shmem_malloc_with_hints(8, SHMEM_MALLOC_ATOMICS_REMOTE));
    GIVES_NOTHING(shmem_calloc(1, 8));
    GIVES_NOTHING(shmem_align(64, 8));
    GIVES_NOTHING(shmem_realloc(NULL, 8));
    GIVES_NOTHING(shmem_realloc(held, 1 << 20));
    GIVES_NOTHING(shmem_realloc(held, 1));
    require(*held == 5);
    FAILS(shmem_free(held));
}

static void collectives(void)
{
    shmem_team_t pair;
    shmem_team_t survivors;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair) == 0);
    long *held = shmem_malloc(sizeof *held);
    *held = 5;
    lose_victim();
    collectives_of(SHMEM_TEAM_WORLD, true);
    FAILS(shmem_barrier_all());
    FAILS(shmem_sync_all());
    FAILS(shmem_barrier(0, 0, me.size, sync_words));
    FAILS(shmem_long_sum_to_all(to, from, 1, 0, 0, me.size, from, sync_words));
    allocations_fail(held);
    /* A team without the dead one goes on. */
    if (pair != SHMEM_TEAM_INVALID && victim > 1) {
        collectives_of(pair, false);
    }
    require(shmemx_team_shrink(SHMEM_TEAM_WORLD, &survivors) == 0);
    require(shmem_team_n_pes(survivors) == victim);
    require(shmem_team_my_pe(survivors) == me.rank);
    if (victim > 1) {
        collectives_of(survivors, false);
    }
    shmem_team_destroy(survivors);
    shmem_team_destroy(pair);
}

/* The last one of those that are left dies, again and again, at any step of sums and transfers. */
static void until_one_is_left(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    for (int left = me.size; left > 1; left--) {
        int last = left - 1;
        uint64_t steps = live_mix(me.seed + (uint64_t)left) % 200;
        for (uint64_t step = 0;; step++) {
            if (me.rank == last && step == steps) {
                die();
            }
            from[0] = 1L << me.rank;
            shmem_ctx_long_p(ctx, &words[me.rank], (long)step, (me.rank + 1) % left);
            if (shmem_long_sum_reduce(team, to, from, 1) != 0) {
                break;
            }
            require_else(to[0] == (1L << left) - 1, "%d left: the sum is %#lx", left, to[0]);
        }
        require_failed("sum", last);
        shmem_team_t survivors;
        require(shmemx_team_shrink(team, &survivors) == 0);
        require(shmem_team_n_pes(survivors) == last && shmem_team_my_pe(survivors) == me.rank);
        shmem_team_destroy(team == SHMEM_TEAM_WORLD ? SHMEM_TEAM_INVALID : team);
        team = survivors;
        require(shmem_team_create_ctx(team, 0, &ctx) == 0);
    }
    if (me.rank == 0) {
        PASSES(shmem_ctx_long_p(ctx, words, 3, 0); shmem_ctx_quiet(ctx));
        require(shmem_ctx_long_g(ctx, words, 0) == 3);
    }
}

/* ---- Any step --------------------------------------------------------------------------- */

enum { ROUNDS = 24 };

/* What PEs do to each other in a round. Nobody looks whether it went well. */
static void disturb(shmem_team_t team, int round)
{
    int size = shmem_team_n_pes(team);
    int my_place = shmem_team_my_pe(team);
    int next = shmem_team_translate_pe(team, (my_place + 1) % size, SHMEM_TEAM_WORLD);
    long here[WORDS] = {0};
    shmem_long_p(&words[0], round, next);
    shmem_long_put(words, here, WORDS, next);
    shmem_long_put_nbi(words, here, WORDS, next);
    shmem_long_put_signal(words, here, 3, &signals[0], (uint64_t)round, SHMEM_SIGNAL_SET, next);
    shmem_signal_add(&signals[1], 1, next);
    shmem_long_get(here, words, WORDS, next);
    (void)shmem_long_atomic_fetch_add(&words[1], 1, next);
    shmem_quiet();
    for (int i = 0; i < 2; i++) {
        long *lock = &locks[(round + i) % 8];
        shmem_set_lock(lock);
        if (shmemx_lock_held(lock)) {
            shmem_clear_lock(lock);
        }
    }
}

/* What they do together, with their team's sum last. False: somebody has died. */
static bool meet(shmem_team_t team)
{
    shmem_team_t part = SHMEM_TEAM_INVALID;
    int size = shmem_team_n_pes(team);
    bool is_whole = true;
    if (size == me.size) {
        /* The heap is for all PEs together. */
        long *memory = shmem_malloc(sizeof *memory);
        is_whole = memory != NULL;
        if (is_whole) {
            shmem_free(memory);
        }
    }
    is_whole = is_whole && shmem_team_split_strided(team, 0, 1, size, NULL, 0, &part) == 0;
    if (part != SHMEM_TEAM_INVALID) {
        is_whole = shmem_team_sync(part) == 0 && is_whole;
        shmem_team_destroy(part);
    }
    for (int i = 0; i < WORDS; i++) {
        from[i] = 1L << me.rank;
    }
    is_whole = is_whole && shmem_long_broadcast(team, to, from, WORDS, 0) == 0 &&
               shmem_long_sum_inscan(team, to, from, 3) == 0 &&
               shmem_long_max_reduce(team, to, from, WORDS) == 0;
    return is_whole && shmem_long_sum_reduce(team, to, from, 1) == 0;
}

/* Some PE dies wherever DN_KILL says, and the others come to the end together. */
static void rounds(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_barrier_all();
    (void)dprintf(STDOUT_FILENO, "begun\n");
    for (int round = 0; round < ROUNDS; round++) {
        disturb(team, round);
        if (meet(team)) {
            require((to[0] & 1L << me.rank) != 0);
            continue;
        }
        shmem_team_t survivors;
        require(shmemx_team_shrink(team, &survivors) == 0);
        if (team != SHMEM_TEAM_WORLD) {
            shmem_team_destroy(team);
        }
        team = survivors;
        /* What the dead one took part in has come to an end at all of the others, or at none. */
        from[0] = round;
        from[1] = -round;
        require(shmem_long_max_reduce(team, to, from, 2) == 0);
        require_else(to[0] == round && to[1] == -round, "rounds %ld to %ld", -to[1], to[0]);
        round--;
    }
    (void)shmemx_failed_pe();
    shmem_team_destroy(team == SHMEM_TEAM_WORLD ? SHMEM_TEAM_INVALID : team);
}

/* ---- Locks ------------------------------------------------------------------------------ */

/* One lock has its home at the dead PE (they lie on all PEs in turn), the others do not; the dead
 * one held all of them. */
static void locks_of_the_dead(void)
{
    shmem_team_t survivors;
    if (me.rank == victim) {
        for (int i = 0; i < 8; i++) {
            shmem_set_lock(&locks[i]);
        }
    }
    lose_victim();
    require(shmemx_team_shrink(SHMEM_TEAM_WORLD, &survivors) == 0);
    (void)shmemx_failed_pe();
    for (int i = 0; i < 8; i++) {
        /* Its first holder is told, the others are not; without its home nobody gets it. */
        shmem_set_lock(&locks[i]);
        int failed = shmemx_failed_pe();
        require_else(failed == -1 || failed == victim, "PE %d failed", failed);
        shmem_clear_lock(&locks[i]);
        failed = shmemx_failed_pe();
        require_else(failed == -1 || failed == victim, "PE %d failed", failed);
        (void)shmem_team_sync(survivors);
        int busy = shmem_test_lock(&locks[i]);
        failed = shmemx_failed_pe();
        if (busy == 0) {
            shmem_clear_lock(&locks[i]);
        }
        (void)shmemx_failed_pe();
        (void)shmem_team_sync(survivors);
    }
    shmem_team_destroy(survivors);
}

/* A fetch from the living fails because of an earlier put to the dead, if it tells that. */
static void strided_get_after_a_put(void)
{
    long here[WORDS];
    int next = (me.rank + 1) % victim;
    for (int i = 0; i < WORDS; i++) {
        words[i] = 7;
    }
    shmem_barrier_all();
    if (me.rank == victim) {
        die();
    }
    while (shmem_pe_accessible(victim)) {
        shmem_long_put_nbi(words, from, WORDS, victim);
        shmem_long_iget(here, words, 1, 2, WORDS / 2, next);
        require(here[0] == 7 && here[WORDS / 2 - 1] == 7);
    }
    int failed = shmemx_failed_pe();
    require_else(failed == -1 || failed == victim, "PE %d failed", failed);
}

/* Somebody waits for a lock whose holder dies. */
static void lock_is_left(void)
{
    shmem_team_t survivors;
    if (me.rank == victim) {
        shmem_set_lock(&locks[0]);
    }
    shmem_barrier_all();
    if (me.rank == victim) {
        live_sleep_ns(100 * LIVE_MS);
        die();
    }
    shmem_set_lock(&locks[0]);
    int failed = shmemx_failed_pe();
    require_else(failed == -1 || failed == victim, "PE %d failed", failed);
    shmem_clear_lock(&locks[0]);
    (void)shmemx_failed_pe();
    require(shmemx_team_shrink(SHMEM_TEAM_WORLD, &survivors) == 0);
    shmem_team_destroy(survivors);
}

/* A lock on the dead PE is lost to all of the others, also to one that has used it before. */
static void locks_without_a_home(void)
{
    shmem_team_t survivors;
    for (int i = 0; i < 8 && me.rank == 0; i++) {
        shmem_set_lock(&locks[i]);
        shmem_clear_lock(&locks[i]);
    }
    lose_victim();
    require(shmemx_team_shrink(SHMEM_TEAM_WORLD, &survivors) == 0);
    (void)shmemx_failed_pe();
    for (int i = 0; i < 8; i++) {
        shmem_set_lock(&locks[i]);
        from[i] = shmemx_lock_held(&locks[i]);
        require_failed("set_lock", from[i] ? -1 : victim);
        if (from[i]) {
            shmem_clear_lock(&locks[i]);
        }
        from[8] += from[i];
    }
    require(from[8] > 0 && from[8] < 8);
    require(shmem_long_sum_reduce(survivors, to, from, 8) == 0);
    for (int i = 0; i < 8; i++) {
        require_else(to[i] == from[i] * victim, "lock %d: %ld of %d PEs have had it", i, to[i],
                     victim);
    }
    shmem_team_destroy(survivors);
}

/* ---- Modes ------------------------------------------------------------------------------ */

/* Back in the ordinary mode the next call that needs the dead PE ends the job. */
static void no_more(void)
{
    lose_victim();
    FAILS(shmem_long_p(words, 1, victim));
    if (me.rank == 0) {
        require(shmemx_failure_mode(SHMEMX_END) == SHMEMX_CONTINUE);
        shmem_long_p(words, 1, victim);
        shmem_quiet();
        live_fail(__FILE__, __LINE__, "the job goes on");
    }
    shmem_long_wait_until(words, SHMEM_CMP_EQ, 77);
    live_sleep_ns(LIVE_PATIENCE_NS);
}

/* The library does not begin again without all PEs, and says whose death it was, though that had
 * been accepted. */
static void begin_again(void)
{
    lose_victim();
    shmem_finalize();
    shmem_init();
    live_fail(__FILE__, __LINE__, "the job goes on");
}

/* Each shmem_finalize is a barrier of those who live, not the last one only. */
static void ends_within(void)
{
    shmem_init();
    shmem_init();
    lose_victim();
    if (me.rank == 0) {
        live_sleep_ns(200 * LIVE_MS);
        for (int pe = 1; pe < victim; pe++) {
            shmem_long_p(&words[0], 3, pe);
        }
    }
    shmem_finalize();
    require(me.rank == 0 || words[0] == 3);
    shmem_finalize();
}

/* The end itself: PEs die while the others are in shmem_finalize. */
static void in_the_end(void)
{
    shmem_barrier_all();
    if (me.rank == victim || (me.rank > 0 && me.rank == victim - 1)) {
        live_sleep_ns((uint64_t)(1 + me.rank) * 30 * LIVE_MS);
        die();
    }
}

static const struct live_check cases[] = {
    LIVE_CHECK(2, transfers),
    LIVE_CHECK(2, waits),
    LIVE_CHECK(2, sleepers),
    LIVE_CHECK(2, collectives),
    LIVE_CHECK(2, no_more),
    LIVE_CHECK(2, until_one_is_left),
    LIVE_CHECK(2, locks_of_the_dead),
    LIVE_CHECK(2, in_the_end),
    LIVE_CHECK(2, lock_is_left),
    LIVE_CHECK(2, rounds),
    LIVE_CHECK(2, begin_again),
    LIVE_CHECK(2, left_alone),
    LIVE_CHECK(2, ends_within),
    LIVE_CHECK(2, locks_without_a_home),
    LIVE_CHECK(2, strided_get_after_a_put),
};

int main(int argc, char **argv)
{
    const char *seed = getenv("DN_TEST_SEED");
    const struct live_check *check = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && argc == 2; i++) {
        check = strcmp(cases[i].name, argv[1]) == 0 ? &cases[i] : check;
    }
    if (!check) {
        (void)fprintf(stderr, "usage: shmem_failure CASE\n");
        return 2;
    }
    shmem_init();
    require(shmemx_failure_mode(SHMEMX_CONTINUE) == SHMEMX_END);
    me.check = check->name;
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    me.rank = shmem_my_pe();
    me.size = shmem_n_pes();
    victim = me.size - 1;
    check->run();
    shmem_finalize();
    (void)printf("ok survivor %d\n", me.rank);
    return 0;
}
