/* Spans of what a node did: exact while they are few; when they are many, short neighbours become
 * one, long ones stay as they are, and nothing is lost. */
#include "sim/program/spans.h"

#include "base/random.h"
#include "unit/unit.h"

enum { MOST = 64 };

static uint64_t sum_of(const struct sim_program_spans *spans, enum sim_program_doing doing)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        sum += spans->spans[i].ps[doing];
    }
    return sum;
}

static void assert_span(const struct sim_program_spans *spans, uint32_t number,
                        enum sim_program_doing doing, uint64_t ps)
{
    assert_true(number < spans->count);
    assert_int_equal(spans->spans[number].ps[doing], ps);
    assert_int_equal(sim_program_span_ps(&spans->spans[number]), ps);
}

static void a_few_stay_as_they_are(void **state)
{
    struct sim_program_spans spans;
    (void)state;
    sim_program_spans_init(&spans, MOST);
    sim_program_spans_add(&spans, SIM_PROGRAM_COMPUTES, 100);
    sim_program_spans_add(&spans, SIM_PROGRAM_WORKS, 0);
    sim_program_spans_add(&spans, SIM_PROGRAM_COMPUTES, 50);
    sim_program_spans_add(&spans, SIM_PROGRAM_WAITS, 7);
    sim_program_spans_add(&spans, SIM_PROGRAM_WORKS, 1);
    assert_int_equal(spans.count, 3);
    assert_span(&spans, 0, SIM_PROGRAM_COMPUTES, 150);
    assert_span(&spans, 1, SIM_PROGRAM_WAITS, 7);
    assert_span(&spans, 2, SIM_PROGRAM_WORKS, 1);
    assert_int_equal(spans.passed_ps, 158);
    assert_int_equal(spans.grain_ps, 0);
    sim_program_spans_free(&spans);
}

static void none_are_kept_unless_wanted(void **state)
{
    struct sim_program_spans spans;
    (void)state;
    sim_program_spans_init(&spans, 0);
    sim_program_spans_add(&spans, SIM_PROGRAM_WAITS, 7);
    assert_int_equal(spans.count, 0);
    assert_null(spans.spans);
    sim_program_spans_free(&spans);
}

static void many_become_coarser_and_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct base_random chance = {seed};
        struct sim_program_spans spans;
        uint64_t sums[SIM_PROGRAM_DOINGS] = {0};
        uint64_t all = 0;
        sim_program_spans_init(&spans, MOST);
        for (uint32_t i = 0; i < 20000; i++) {
            enum sim_program_doing doing = (enum sim_program_doing)(i % SIM_PROGRAM_DOINGS);
            uint64_t ps = base_random_below(&chance, 100) == 0 ? base_random_below(&chance, 1000000)
                                                               : base_random_below(&chance, 1000);
            sim_program_spans_add(&spans, doing, ps);
            sums[doing] += ps;
            all += ps;
            assert_true(spans.count <= MOST && spans.room <= MOST);
        }
        assert_int_equal(spans.passed_ps, all);
        for (unsigned doing = 0; doing < SIM_PROGRAM_DOINGS; doing++) {
            assert_int_equal(sum_of(&spans, (enum sim_program_doing)doing), sums[doing]);
        }
        /* A mixture is no longer than the grain, and that is a small part of the whole. */
        assert_in_range(spans.grain_ps, 1, 4 * all / MOST + 1);
        for (uint32_t i = 0; i < spans.count; i++) {
            const uint64_t *ps = spans.spans[i].ps;
            uint64_t length_ps = sim_program_span_ps(&spans.spans[i]);
            bool is_mixed = ps[0] != length_ps && ps[1] != length_ps && ps[2] != length_ps;
            assert_true(length_ps > 0 && (!is_mixed || length_ps <= spans.grain_ps));
        }
        sim_program_spans_free(&spans);
    }
}

/* A long wait in the middle of thousands of short steps begins and ends where it did. */
static void a_long_one_keeps_its_place(void **state)
{
    enum { SHORT = 5000, LONG_PS = 10000000 };
    struct sim_program_spans spans;
    uint64_t from_ps = 0;
    uint32_t found = 0;
    (void)state;
    sim_program_spans_init(&spans, MOST);
    for (uint32_t i = 0; i < 2 * SHORT; i++) {
        sim_program_spans_add(&spans, i % 2 ? SIM_PROGRAM_WORKS : SIM_PROGRAM_COMPUTES, 10);
        if (i + 1 == SHORT) {
            sim_program_spans_add(&spans, SIM_PROGRAM_WAITS, LONG_PS);
        }
    }
    for (uint32_t i = 0; i < spans.count; i++) {
        if (spans.spans[i].ps[SIM_PROGRAM_WAITS] > 0) {
            assert_span(&spans, i, SIM_PROGRAM_WAITS, LONG_PS);
            assert_int_equal(from_ps, 10 * SHORT);
            found++;
        }
        from_ps += sim_program_span_ps(&spans.spans[i]);
    }
    assert_int_equal(found, 1);
    assert_int_equal(from_ps, 2 * 10 * SHORT + LONG_PS);
    sim_program_spans_free(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_stay_as_they_are),
        cmocka_unit_test(none_are_kept_unless_wanted),
        cmocka_unit_test(many_become_coarser_and_lose_nothing),
        cmocka_unit_test(a_long_one_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
