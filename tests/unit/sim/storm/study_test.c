/* Studies meet their bars, and give the same figures every time. */
#include "unit/unit.h"

#include "sim/storm/study.h"

enum { ROWS_MAX = 32 };

struct rows {
    uint32_t count;
    double ratios[ROWS_MAX];
    double first[ROWS_MAX];
};

static void keep_row(void *context, const struct storm_row *row)
{
    struct rows *rows = context;
    assert_true(rows->count < ROWS_MAX && row->figures[0].name);
    rows->ratios[rows->count] = row->ratio;
    rows->first[rows->count++] = row->figures[0].value;
}

static void run_twice(const char *name)
{
    unsigned study = 0;
    while (strcmp(storm_studies[study].name, name) != 0) {
        study++;
    }
    struct rows one = {0};
    struct rows other = {0};
    const struct storm_printer to_one = {&one, keep_row};
    const struct storm_printer to_other = {&other, keep_row};
    assert_true(storm_study_run(study, &to_one));
    assert_true(storm_study_run(study, &to_other));
    assert_true(one.count > 0);
    assert_memory_equal(&one, &other, sizeof one);
}

static void goodput_meets_its_bars(void **state)
{
    (void)state;
    run_twice("goodput");
}

static void incast_is_fair_and_does_not_collapse(void **state)
{
    (void)state;
    run_twice("incast");
}

static void a_node_that_knows_all_fits_its_memory(void **state)
{
    (void)state;
    run_twice("state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goodput_meets_its_bars),
        cmocka_unit_test(incast_is_fair_and_does_not_collapse),
        cmocka_unit_test(a_node_that_knows_all_fits_its_memory),
    };
    return cmocka_run_group_tests_name("sim/storm_study", tests, NULL, NULL);
}
