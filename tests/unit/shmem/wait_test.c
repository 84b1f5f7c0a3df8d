/* Waiting for several words: which take part, which is found next, what wakes the waiter. */
#include "shmem/wait.h"

#include "unit/shmem/pe.h"

enum { WORDS = 4 };
static int32_t values[WORDS];

static struct shmem_words all_of(int cmp, int32_t value)
{
    return (struct shmem_words){.words = values,
                                .count = WORDS,
                                .type = {4, true},
                                .cmp = cmp,
                                .value = (uint64_t)value,
                                .call = "call"};
}

static void no_comparison(void)
{
    pe_start();
    struct shmem_words words = all_of(6, 0);
    (void)shmem_words_any(&words, false);
}

static void never_true(void)
{
    pe_start();
    shmem_int_wait_until(values, SHMEM_CMP_GT, INT32_MAX);
}

static void private_word(void)
{
    int32_t word = 0;
    pe_start_with_debug();
    shmem_wait_slowly(&word, 4, (struct base_range){1, 0}, "call");
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(no_comparison, "6 is no comparison");
    unit_child_fails(never_true, "no value is greater than the greatest");
    unit_child_fails(private_word, "is not symmetric: no other PE can write there");
}

static int set(void **unused)
{
    (void)unused;
    const int32_t start[WORDS] = {-2, 0, 7, -2};
    memcpy(values, start, sizeof values);
    return 0;
}

static void signed_order(void **unused)
{
    (void)unused;
    size_t found[WORDS];
    struct shmem_words negative = all_of(SHMEM_CMP_LT, 0);
    assert_int_equal(shmem_words_some(&negative, false, found), 2);
    assert_true(found[0] == 0 && found[1] == 3);
    struct shmem_words greater = all_of(SHMEM_CMP_GT, INT32_MAX);
    assert_int_equal(shmem_words_some(&greater, false, found), 0);
    struct shmem_words all = all_of(SHMEM_CMP_LE, 7);
    assert_int_equal(shmem_words_all(&all, false), 1);
    all.cmp = SHMEM_CMP_NE;
    assert_int_equal(shmem_words_all(&all, false), 0);
}

static void unsigned_order(void **unused)
{
    (void)unused;
    size_t found[WORDS];
    struct shmem_words words = all_of(SHMEM_CMP_GT, 7);
    words.type.is_signed = false;
    assert_int_equal(shmem_words_some(&words, false, found), 2);
}

static void those_with_a_status_stay_out(void **unused)
{
    (void)unused;
    const int status[WORDS] = {1, 1, 0, 1};
    const int nobody[WORDS] = {1, 1, 1, 1};
    struct shmem_words words = all_of(SHMEM_CMP_EQ, 7);
    words.status = status;
    assert_int_equal(shmem_words_all(&words, false), 1);
    assert_int_equal(shmem_words_any(&words, true), 2);
    words.status = nobody;
    assert_int_equal(shmem_words_any(&words, false), SIZE_MAX);
    assert_int_equal(shmem_words_all(&words, false), 1);
    (void)shmem_words_all(&words, true);
}

static void a_value_for_each(void **unused)
{
    (void)unused;
    const int32_t wanted[WORDS] = {-3, 1, 7, -1};
    size_t found[WORDS];
    struct shmem_words words = all_of(SHMEM_CMP_GE, 0);
    words.values = wanted;
    assert_int_equal(shmem_words_some(&words, true, found), 2);
    assert_true(found[0] == 0 && found[1] == 2);
}

/* No word that holds is passed over for ever. */
static void any_goes_round(void **unused)
{
    (void)unused;
    unsigned seen = 0;
    struct shmem_words words = all_of(SHMEM_CMP_NE, 99);
    for (int i = 0; i < WORDS; i++) {
        seen |= 1u << shmem_words_any(&words, false);
    }
    assert_int_equal(seen, (1u << WORDS) - 1);
}

static void *change_later(void *unused)
{
    struct timespec nap = {.tv_nsec = 20000000};
    (void)nanosleep(&nap, NULL);
    shmem_int_p(&values[1], 100, 0);
    return unused;
}

static void a_thread_ends_the_wait(void **unused)
{
    (void)unused;
    pthread_t thread;
    struct shmem_words words = all_of(SHMEM_CMP_EQ, 100);
    shmem_state.thread_level = SHMEM_THREAD_MULTIPLE;
    assert_int_equal(pthread_create(&thread, NULL, change_later, NULL), 0);
    assert_int_equal(shmem_words_any(&words, true), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    shmem_state.thread_level = SHMEM_THREAD_SINGLE;
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(signed_order, set),
        cmocka_unit_test_setup(unsigned_order, set),
        cmocka_unit_test_setup(those_with_a_status_stay_out, set),
        cmocka_unit_test_setup(a_value_for_each, set),
        cmocka_unit_test_setup(any_goes_round, set),
        cmocka_unit_test_setup(a_thread_ends_the_wait, set),
    };
    return PE_RUN(ending, tests);
}
