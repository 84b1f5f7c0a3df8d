/* The report: the longest waits first, then what moved most; ten rows and no more. */
#include "fagus/report.h"

#include "unit/fagus/node.h"

static void print_three(void)
{
    struct fagus_report_row rows[] = {
        {.name = "moved little", .stats = {.acquires = 1, .bytes_whole = 5}},
        {.name = "never used", .stats = {.wait_ns = 1}},
        {.name = "moved much", .stats = {.acquires = 7, .bytes_differences = 6}},
        {.name = "waited", .stats = {.acquires = 2, .wait_ns = 2500000}},
    };
    if (node_start_as("0") != 0) {
        abort();
    }
    fagus_report(rows, sizeof rows / sizeof rows[0]);
    (void)fagus_finalize();
}

static void print_many(void)
{
    struct fagus_report_row rows[12];
    for (int i = 0; i < 12; i++) {
        rows[i] = (struct fagus_report_row){.name = "row",
                                            .stats = {.acquires = 1, .wait_ns = (uint64_t)i}};
    }
    if (node_start_as("0") != 0) {
        abort();
    }
    fagus_report(rows, 12);
    (void)fagus_finalize();
}

static void hottest_first(void **unused)
{
    (void)unused;
    char text[UNIT_CHILD_BYTES];
    assert_int_equal(unit_child_run(print_three, text), 0);
    assert_non_null(strstr(text, "fagus: 1 node, 4 variables, of them 3 acquired"));
    const char *waited = strstr(text, "\nwaited");
    const char *much = strstr(text, "\nmoved much");
    const char *little = strstr(text, "\nmoved little");
    assert_true(waited && much && little && waited < much && much < little);
    assert_null(strstr(text, "never used"));
    assert_non_null(strstr(waited, " 2.500 ")); /* milliseconds */
}

static void ten_rows(void **unused)
{
    (void)unused;
    char text[UNIT_CHILD_BYTES];
    assert_int_equal(unit_child_run(print_many, text), 0);
    int rows = 0;
    for (const char *row = text; (row = strstr(row, "\nrow")) != NULL; row++) {
        rows++;
    }
    assert_int_equal(rows, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hottest_first),
        cmocka_unit_test(ten_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
