/* Ordering, signals, waiting and testing, atomics under contention, and locks. */
#include <limits.h>

#include "shmem_spec.h"

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

/* ---- Ordering ---------------------------------------------------------------------- */

enum { ROUNDS = 300, DATA = 200 };

/* What a PE finds after the flag: all of the data of that round. */
static void expect_round(const long *data, long round)
{
    for (int i = 0; i < DATA; i++) {
        require_else(data[i] == round, "word %d is %ld in round %ld", i, data[i], round);
    }
}

static void fence_orders_puts_to_one_pe(void)
{
    static long data[DATA];
    static long flag;
    static long seen;
    long from[DATA];
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < DATA; i++) {
            from[i] = round;
        }
        shmem_long_wait_until(&seen, SHMEM_CMP_GE, round - 1);
        if (round % 2) {
            shmem_long_put(data, from, DATA, right());
        } else {
            shmem_long_put_nbi(data, from, DATA, right());
        }
        shmem_fence();
        shmem_long_p(&flag, round, right());
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        expect_round(data, round);
        shmem_quiet();
        shmem_long_atomic_set(&seen, round, left());
    }
    shmem_barrier_all();
}

static void fence_orders_atomics_and_puts(void)
{
    static long counter;
    static long flag;
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_long_atomic_add(&counter, 1, right());
        shmem_fence();
        shmem_long_atomic_set(&flag, round, right());
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        require(shmem_long_atomic_fetch(&counter, me.rank) >= round);
    }
    shmem_barrier_all();
}

static void fence_of_a_context_orders_it(void)
{
    static long data[DATA];
    static long flag;
    static long seen;
    long from[DATA];
    shmem_ctx_t context;
    require(shmem_ctx_create(0, &context) == 0);
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < DATA; i++) {
            from[i] = round;
        }
        shmem_long_wait_until(&seen, SHMEM_CMP_GE, round - 1);
        shmem_ctx_long_put_nbi(context, data, from, DATA, right());
        shmem_ctx_fence(context);
        shmem_ctx_long_p(context, &flag, round, right());
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        expect_round(data, round);
        shmem_ctx_quiet(context);
        shmem_long_atomic_set(&seen, round, left());
    }
    shmem_barrier_all();
    shmem_ctx_destroy(context);
}

/* The flag is at another PE than the data: only quiet orders the two. */
static void quiet_orders_puts_to_all_pes(void)
{
    static long data[DATA];
    static long flag;
    static long seen;
    long from[DATA];
    long got[DATA];
    int second = live_neighbour(2);
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < DATA; i++) {
            from[i] = round;
        }
        shmem_long_wait_until(&seen, SHMEM_CMP_GE, round - 1);
        shmem_long_put_nbi(data, from, DATA, right());
        shmem_quiet();
        shmem_long_p(&flag, round, second);
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        shmem_long_get(got, data, DATA, left());
        expect_round(got, round);
        /* Our left neighbour has read what the PE two steps back put there; that one may go on. */
        shmem_long_atomic_set(&seen, round, live_neighbour(-2));
        shmem_quiet();
    }
    shmem_barrier_all();
}

/* A barrier completes the default context, and orders nothing of another one. */
static void a_barrier_completes_the_default_context(void)
{
    static long data[DATA];
    long from[DATA];
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < DATA; i++) {
            from[i] = round;
        }
        shmem_long_put_nbi(data, from, DATA, right());
        shmem_barrier_all();
        expect_round(data, round);
        shmem_sync_all();
    }
}

/* Destroying a context completes what it has under way. */
static void destroying_a_context_is_quiet(void)
{
    static long data[DATA];
    long from[DATA];
    for (long round = 1; round <= 30; round++) {
        shmem_ctx_t context;
        require(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
        for (int i = 0; i < DATA; i++) {
            from[i] = round;
        }
        shmem_ctx_long_put_nbi(context, data, from, DATA, right());
        shmem_ctx_destroy(context);
        shmem_sync_all();
        expect_round(data, round);
        shmem_sync_all();
    }
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

/* ---- Signals ----------------------------------------------------------------------- */

static void the_signal_comes_after_the_data(void)
{
    static unsigned char data[100000];
    static uint64_t signal;
    static uint64_t seen;
    static const size_t sizes[] = {1, 8, 100, 464, 5000, 100000};
    unsigned char *from = malloc(sizeof data);
    require(from);
    uint64_t round = 0;
    for (int repeat = 0; repeat < 20; repeat++) {
        for (size_t i = 0; i < LIVE_COUNT(sizes); i++) {
            round++;
            live_fill(from, sizes[i], round + (uint64_t)me.rank);
            shmem_uint64_wait_until(&seen, SHMEM_CMP_GE, round - 1);
            if (repeat % 2) {
                shmem_putmem_signal(data, from, sizes[i], &signal, round, SHMEM_SIGNAL_SET,
                                    right());
            } else {
                shmem_putmem_signal_nbi(data, from, sizes[i], &signal, 1, SHMEM_SIGNAL_ADD,
                                        right());
            }
            require(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, round) == round);
            require(shmem_signal_fetch(&signal) == round);
            require(live_first_other(data, sizes[i], round + (uint64_t)left()) == sizes[i]);
            shmem_quiet();
            shmem_uint64_atomic_set(&seen, round, left());
        }
    }
    free(from);
    shmem_barrier_all();
}

/* All PEs add to one signal; none of them is lost. */
static void signals_add_up(void)
{
    static uint64_t signal;
    static long box[64];
    long value = me.rank + 1;
    for (int i = 0; i < 500; i++) {
        shmem_long_put_signal(&box[me.rank], &value, 1, &signal, 3, SHMEM_SIGNAL_ADD, 0);
    }
    if (me.rank == 0) {
        require(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1500U * (unsigned)me.size) ==
                1500U * (unsigned)me.size);
        for (int pe = 0; pe < me.size; pe++) {
            require(box[pe] == pe + 1);
        }
    }
}

/* A signal without data is a signal. */
static void a_signal_needs_no_data(void)
{
    static uint64_t signal;
    shmem_putmem_signal(NULL, NULL, 0, &signal, 7, SHMEM_SIGNAL_SET, right());
    require(shmem_signal_wait_until(&signal, SHMEM_CMP_NE, 0) == 7);
}

/* ---- Waiting and testing ----------------------------------------------------------- */

static bool compares(int cmp, int64_t left_side, int64_t right_side)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return left_side == right_side;
    case SHMEM_CMP_NE: return left_side != right_side;
    case SHMEM_CMP_GT: return left_side > right_side;
    case SHMEM_CMP_GE: return left_side >= right_side;
    case SHMEM_CMP_LT: return left_side < right_side;
    default: return left_side <= right_side;
    }
}

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                  SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};

static void comparisons_of_signed_words(void)
{
    static const int64_t values[] = {INT64_MIN, INT32_MIN, -2, -1, 0, 1, 2, INT32_MAX, INT64_MAX};
    static int64_t word;
    static int word32;
    size_t found;
    for (size_t i = 0; i < LIVE_COUNT(values); i++) {
        for (size_t j = 0; j < LIVE_COUNT(values); j++) {
            for (size_t c = 0; c < LIVE_COUNT(comparisons); c++) {
                bool wanted = compares(comparisons[c], values[i], values[j]);
                shmem_int64_atomic_set(&word, values[i], me.rank);
                shmem_quiet();
                require(shmem_int64_test(&word, comparisons[c], values[j]) == wanted);
                require(shmem_int64_test_all(&word, 1, NULL, comparisons[c], values[j]) == wanted);
                found = shmem_int64_test_any(&word, 1, NULL, comparisons[c], values[j]);
                require(found == (wanted ? 0 : SIZE_MAX));
                if (wanted) {
                    shmem_int64_wait_until(&word, comparisons[c], values[j]);
                    shmem_int64_wait_until_all(&word, 1, NULL, comparisons[c], values[j]);
                }
                if (values[i] == (int)values[i] && values[j] == (int)values[j]) {
                    shmem_int_atomic_set(&word32, (int)values[i], me.rank);
                    shmem_quiet();
                    require(shmem_int_test(&word32, comparisons[c], (int)values[j]) == wanted);
                    require(shmem_int_test_all(&word32, 1, NULL, comparisons[c], (int)values[j]) ==
                            wanted);
                }
            }
        }
    }
}

static void comparisons_of_unsigned_words(void)
{
    static const uint64_t values[] = {0, 1, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static uint64_t word;
    for (size_t i = 0; i < LIVE_COUNT(values); i++) {
        for (size_t j = 0; j < LIVE_COUNT(values); j++) {
            shmem_uint64_atomic_set(&word, values[i], me.rank);
            shmem_quiet();
            require(shmem_uint64_test(&word, SHMEM_CMP_GT, values[j]) == (values[i] > values[j]));
            require(shmem_uint64_test(&word, SHMEM_CMP_GE, values[j]) == (values[i] >= values[j]));
            require(shmem_uint64_test(&word, SHMEM_CMP_LT, values[j]) == (values[i] < values[j]));
            require(shmem_uint64_test(&word, SHMEM_CMP_LE, values[j]) == (values[i] <= values[j]));
            require((shmem_uint64_test_any(&word, 1, NULL, SHMEM_CMP_GT, values[j]) == 0) ==
                    (values[i] > values[j]));
        }
    }
}

/* Waits with each comparison, which a store from another PE makes true. */
static void every_comparison_is_waited_for(void)
{
    static long words[6];
    static const long at_first[] = {0, 5, 5, 0, 9, 9};
    static const long later[] = {5, 6, 6, 5, 4, 5};
    for (int repeat = 0; repeat < 20; repeat++) {
        for (int i = 0; i < 6; i++) {
            shmem_long_atomic_set(&words[i], at_first[i], me.rank);
        }
        shmem_barrier_all();
        for (int i = 0; i < 6; i++) {
            shmem_long_atomic_set(&words[i], later[i], right());
            shmem_long_wait_until(&words[i], comparisons[i], 5);
            require(words[i] == later[i]);
        }
        shmem_barrier_all();
    }
}

static void empty_sets_are_not_waited_for(void)
{
    static long words[3] = {1, 1, 1};
    long wanted[3] = {2, 2, 2};
    size_t found[3];
    int none[3] = {1, 1, 1};
    shmem_long_wait_until_all(words, 0, NULL, SHMEM_CMP_EQ, 2);
    shmem_long_wait_until_all(words, 3, none, SHMEM_CMP_EQ, 2);
    shmem_long_wait_until_all_vector(words, 0, NULL, SHMEM_CMP_EQ, wanted);
    shmem_long_wait_until_all_vector(words, 3, none, SHMEM_CMP_EQ, wanted);
    require(shmem_long_wait_until_any(words, 0, NULL, SHMEM_CMP_EQ, 2) == SIZE_MAX);
    require(shmem_long_wait_until_any(words, 3, none, SHMEM_CMP_EQ, 2) == SIZE_MAX);
    require(shmem_long_wait_until_any_vector(words, 3, none, SHMEM_CMP_EQ, wanted) == SIZE_MAX);
    require(shmem_long_wait_until_some(words, 0, found, NULL, SHMEM_CMP_EQ, 2) == 0);
    require(shmem_long_wait_until_some(words, 3, found, none, SHMEM_CMP_EQ, 2) == 0);
    require(shmem_long_wait_until_some_vector(words, 3, found, none, SHMEM_CMP_EQ, wanted) == 0);
    require(shmem_long_test_all(words, 0, NULL, SHMEM_CMP_EQ, 2) == 1);
    require(shmem_long_test_all_vector(words, 0, NULL, SHMEM_CMP_EQ, wanted) == 1);
    require(shmem_long_test_any(words, 0, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    require(shmem_long_test_any(words, 3, none, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    require(shmem_long_test_some(words, 3, found, none, SHMEM_CMP_EQ, 1) == 0);
    require(shmem_long_test_some_vector(words, 0, found, NULL, SHMEM_CMP_EQ, wanted) == 0);
}

/* The PEs' flags arrive in any order, and each is taken once. */
static void any_of_many_flags(void)
{
    static long flags[64];
    int taken[64] = {0};
    for (int pe = 0; pe < me.size; pe++) {
        shmem_long_atomic_set(&flags[me.rank], me.rank + 1, pe);
    }
    for (int i = 0; i < me.size; i++) {
        size_t at = shmem_long_wait_until_any(flags, (size_t)me.size, taken, SHMEM_CMP_NE, 0);
        require(at < (size_t)me.size && !taken[at] && flags[at] == (long)at + 1);
        taken[at] = 1;
    }
    require(shmem_long_wait_until_any(flags, (size_t)me.size, taken, SHMEM_CMP_NE, 0) == SIZE_MAX);
}

static void some_of_many_flags(void)
{
    static long flags[64];
    int taken[64] = {0};
    size_t found[64];
    size_t total = 0;
    for (int pe = 0; pe < me.size; pe++) {
        shmem_long_atomic_set(&flags[me.rank], me.rank + 1, pe);
    }
    while (total < (size_t)me.size) {
        size_t count = shmem_long_wait_until_some(flags, (size_t)me.size, found, taken,
                                                  SHMEM_CMP_GT, 0);
        require(count >= 1 && count <= (size_t)me.size - total);
        for (size_t i = 0; i < count; i++) {
            require(found[i] < (size_t)me.size && !taken[found[i]]);
            taken[found[i]] = 1;
        }
        total += count;
    }
}

/* Every word has a value of its own to wait for. */
static void vectors_of_values(void)
{
    static int words[64];
    int wanted[64];
    int status[64] = {0};
    size_t found[64];
    size_t count = (size_t)me.size;
    for (int pe = 0; pe < me.size; pe++) {
        wanted[pe] = pe * 3 - 4;
    }
    status[me.size - 1] = 1;
    require(shmem_int_test_any_vector(words, count, status, SHMEM_CMP_GT, wanted) < count ||
            me.size == 1);
    shmem_sync_all();
    for (int pe = 0; pe < me.size; pe++) {
        shmem_int_atomic_set(&words[me.rank], me.rank * 3 - 4, pe);
    }
    shmem_int_wait_until_all_vector(words, count, status, SHMEM_CMP_EQ, wanted);
    shmem_int_wait_until_all_vector(words, count, NULL, SHMEM_CMP_EQ, wanted);
    require(shmem_int_wait_until_some_vector(words, count, found, NULL, SHMEM_CMP_EQ, wanted) > 0);
    require(shmem_int_test_all_vector(words, count, NULL, SHMEM_CMP_GE, wanted) == 1);
    require(shmem_int_test_some_vector(words, count, found, status, SHMEM_CMP_EQ, wanted) ==
            count - 1);
    require(shmem_int_test_any_vector(words, count, NULL, SHMEM_CMP_LT, wanted) == SIZE_MAX);
}

/* When all hold, a series of calls gives each of them, not the first for ever. */
static void a_series_of_calls_gives_every_index(void)
{
    static long words[5] = {1, 1, 1, 1, 1};
    unsigned seen = 0;
    unsigned tested = 0;
    for (int i = 0; i < 1000; i++) {
        seen |= 1U << shmem_long_wait_until_any(words, 5, NULL, SHMEM_CMP_EQ, 1);
        tested |= 1U << shmem_long_test_any(words, 5, NULL, SHMEM_CMP_EQ, 1);
    }
    require(seen == 31 && tested == 31);
}

/* A loop of tests makes progress: the others get to run. */
static void testing_in_a_loop_comes_to_an_end(void)
{
    static long word;
    uint64_t start = live_now_ns();
    for (long round = 1; round <= 20; round++) {
        shmem_long_atomic_set(&word, round, right());
        while (!shmem_long_test(&word, SHMEM_CMP_GE, round)) {
        }
        shmem_sync_all();
    }
    require(live_now_ns() - start < 20 * LIVE_SECOND);
}

/* ---- Atomics under contention ------------------------------------------------------ */

enum { TIMES = 2000 };

static void every_ticket_is_drawn_once(void)
{
    static unsigned next;
    static unsigned char drawn[8 * TIMES];
    unsigned last = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        unsigned ticket = i % 2 ? shmem_uint_atomic_fetch_inc(&next, 0)
                                : shmem_uint_atomic_fetch_add(&next, 1, 0);
        require(i == 0 || ticket > last);
        require(ticket < sizeof drawn);
        last = ticket;
        shmem_uchar_p(&drawn[ticket], 1, 0);
    }
    shmem_barrier_all();
    require(me.rank != 0 || (next == (unsigned)me.size * TIMES && live_all_are(drawn, next, 1)));
}

static void sums_are_exact(void)
{
    static long sum;
    static uint32_t small[2]; /* neighbours in one word of 64 bits */
    static long long by_swap;
    for (long i = 0; i < TIMES; i++) {
        shmem_long_atomic_add(&sum, i, 0);
        shmem_uint32_atomic_inc(&small[0], 0);
        shmem_uint32_atomic_add(&small[1], UINT32_MAX, 0);
        long long found = shmem_longlong_atomic_fetch(&by_swap, 0);
        long long old;
        while ((old = shmem_longlong_atomic_compare_swap(&by_swap, found, found + 1, 0)) != found) {
            found = old;
        }
    }
    shmem_barrier_all();
    if (me.rank == 0) {
        require(sum == (long)TIMES * (TIMES - 1) / 2 * me.size);
        require(small[0] == (uint32_t)(TIMES * me.size));
        require(small[1] == (uint32_t) - (TIMES * me.size));
        require(by_swap == (long long)TIMES * me.size);
    }
}

static void bits_are_each_ones_own(void)
{
    static uint64_t word;
    static unsigned other = UINT_MAX;
    uint64_t mine = UINT64_C(1) << me.rank;
    for (int i = 0; i < TIMES; i++) {
        require((shmem_uint64_atomic_fetch_or(&word, mine, 0) & mine) == 0);
        require((shmem_uint64_atomic_fetch_and(&word, ~mine, 0) & mine) != 0);
        require((shmem_uint64_atomic_fetch_xor(&word, mine, 0) & mine) == 0);
        shmem_uint64_atomic_xor(&word, mine, 0);
        shmem_quiet();
    }
    shmem_uint_atomic_and(&other, ~(1U << me.rank), 0);
    shmem_uint64_atomic_or(&word, mine, 0);
    shmem_barrier_all();
    if (me.rank == 0) {
        require(word == (UINT64_C(1) << me.size) - 1);
        require(other == (unsigned)~((1U << me.size) - 1));
    }
}

/* Values are passed on from PE to PE: none is lost, none is there twice. */
static void swapped_values_stay_unique(void)
{
    static double place;
    static long total;
    double hand = me.rank + 1;
    for (int i = 0; i < TIMES; i++) {
        hand = shmem_double_atomic_swap(&place, hand, 0);
    }
    shmem_long_atomic_add(&total, (long)hand, 0);
    shmem_barrier_all();
    require(me.rank != 0 || total + (long)place == me.size * (me.size + 1L) / 2);
}

static void non_blocking_atomics_happen_once(void)
{
    static unsigned counter;
    static unsigned fetched[TIMES]; /* symmetric memory is allowed for the result */
    for (int i = 0; i < TIMES; i++) {
        shmem_uint_atomic_fetch_add_nbi(&fetched[i], &counter, 1, 0);
    }
    shmem_quiet();
    unsigned char *seen = calloc((size_t)me.size, TIMES);
    require(seen);
    for (int i = 0; i < TIMES; i++) {
        require(fetched[i] < (unsigned)me.size * TIMES && !seen[fetched[i]]);
        seen[fetched[i]] = 1;
    }
    free(seen);
    shmem_barrier_all();
    require(me.rank != 0 || counter == (unsigned)me.size * TIMES);
}

/* ---- Locks ------------------------------------------------------------------------- */

static void a_lock_keeps_others_out(void)
{
    static long lock;
    static long inside;
    static long total;
    for (int i = 0; i < 300; i++) {
        shmem_set_lock(&lock);
        require(shmem_long_atomic_fetch_inc(&inside, 0) == 0);
        /* Not atomic, and completed only by what clear_lock does. */
        long value = shmem_long_g(&total, 0) + 1;
        shmem_long_put_nbi(&total, &value, 1, 0);
        require(shmem_long_atomic_fetch_add(&inside, -1, 0) == 1);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    require(me.rank != 0 || total == 300L * me.size);
}

static void a_lock_is_tried(void)
{
    long *lock = shmem_calloc(1, sizeof *lock);
    static long held_by;
    static long total;
    for (int i = 0; i < 100; i++) {
        while (shmem_test_lock(lock) != 0) {
        }
        require(shmem_long_atomic_swap(&held_by, me.rank + 1, 0) == 0);
        shmem_long_p(&total, shmem_long_g(&total, 0) + 1, 0);
        shmem_quiet();
        require(shmem_long_atomic_swap(&held_by, 0, 0) == me.rank + 1);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    require(me.rank != 0 || total == 100L * me.size);
    if (me.rank == 0) {
        require(shmem_test_lock(lock) == 0);
    }
    shmem_barrier_all();
    require(me.rank == 0 || shmem_test_lock(lock) == 1);
    shmem_barrier_all();
    if (me.rank == 0) {
        shmem_clear_lock(lock);
    }
    shmem_free(lock);
}

/* Locks are independent of each other, also several in one array, and may be nested. */
static void many_locks(void)
{
    static long locks[20];
    static long totals[20];
    uint64_t random = me.seed + (uint64_t)me.rank;
    for (int i = 0; i < 200; i++) {
        uint64_t first = live_random(&random, 19);
        uint64_t second = first + 1 + live_random(&random, 19 - first);
        shmem_set_lock(&locks[first]);
        shmem_set_lock(&locks[second]);
        shmem_long_p(&totals[first], shmem_long_g(&totals[first], 0) + 1, 0);
        shmem_long_p(&totals[second], shmem_long_g(&totals[second], 0) + 1, 0);
        shmem_clear_lock(&locks[first]);
        shmem_clear_lock(&locks[second]);
    }
    shmem_barrier_all();
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += totals[i];
    }
    require(me.rank != 0 || sum == 400L * me.size);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, fence_orders_puts_to_one_pe),
        LIVE_CHECK(1, fence_orders_atomics_and_puts),
        LIVE_CHECK(1, fence_of_a_context_orders_it),
        LIVE_CHECK(1, quiet_orders_puts_to_all_pes),
        LIVE_CHECK(1, a_barrier_completes_the_default_context),
        LIVE_CHECK(1, destroying_a_context_is_quiet),
        LIVE_CHECK(1, the_signal_comes_after_the_data),
        LIVE_CHECK(1, signals_add_up),
        LIVE_CHECK(1, a_signal_needs_no_data),
        LIVE_CHECK(1, comparisons_of_signed_words),
        LIVE_CHECK(1, comparisons_of_unsigned_words),
        LIVE_CHECK(1, every_comparison_is_waited_for),
        LIVE_CHECK(1, empty_sets_are_not_waited_for),
        LIVE_CHECK(1, any_of_many_flags),
        LIVE_CHECK(1, some_of_many_flags),
        LIVE_CHECK(1, vectors_of_values),
        LIVE_CHECK(1, a_series_of_calls_gives_every_index),
        LIVE_CHECK(1, testing_in_a_loop_comes_to_an_end),
        LIVE_CHECK(1, every_ticket_is_drawn_once),
        LIVE_CHECK(1, sums_are_exact),
        LIVE_CHECK(1, bits_are_each_ones_own),
        LIVE_CHECK(1, swapped_values_stay_unique),
        LIVE_CHECK(1, non_blocking_atomics_happen_once),
        LIVE_CHECK(1, a_lock_keeps_others_out),
        LIVE_CHECK(1, a_lock_is_tried),
        LIVE_CHECK(1, many_locks),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
