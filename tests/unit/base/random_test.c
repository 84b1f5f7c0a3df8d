/* The seeded generator: known values, repeatable, evenly spread. */
#include "unit/unit.h"

#include "base/random.h"

/* Splitmix64's published outputs for seed 1234567. */
static void it_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t published[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    struct base_random random = {1234567};
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        assert_true(base_random_next(&random) == published[i]);
    }
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    struct base_random one = {42};
    struct base_random same = {42};
    struct base_random other = {43};
    int equal_count = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t value = base_random_next(&one);
        assert_true(value == base_random_next(&same));
        equal_count += value == base_random_next(&other);
    }
    assert_int_equal(equal_count, 0);
}

static void below_stays_below_and_reaches_everything(void **state)
{
    (void)state;
    enum { LIMIT = 10, DRAWS = 100000 };
    struct base_random random = {7};
    int counts[LIMIT] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t value = base_random_below(&random, LIMIT);
        assert_true(value < LIMIT);
        counts[value]++;
    }
    /* Ten standard deviations: never by chance, always by a broken shift. */
    for (int i = 0; i < LIMIT; i++) {
        assert_in_range(counts[i], DRAWS / LIMIT - 950, DRAWS / LIMIT + 950);
    }
    for (int i = 0; i < 100; i++) {
        assert_true(base_random_below(&random, 1) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_splitmix64),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(below_stays_below_and_reaches_everything),
    };
    return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
