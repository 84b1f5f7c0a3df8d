/* Sizes and numbers as people write them. */
#include "unit/unit.h"

#include "base/size_text.h"

#define UNTOUCHED UINT64_C(0xdeadbeef)

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"131072", 131072},
        {"0000128", 128},
        {"1k", 1024},
        {"128K", UINT64_C(128) << 10},
        {"64M", UINT64_C(64) << 20},
        {"64m", UINT64_C(64) << 20},
        {"2G", UINT64_C(2) << 30},
        {"1T", UINT64_C(1) << 40},
        {"0T", 0},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", UINT64_C(16777215) << 40},
        {"18014398509481983K", UINT64_C(18014398509481983) << 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = UNTOUCHED;
        assert_true(base_size_parse(cases[i].text, &bytes));
        assert_true(bytes == cases[i].bytes);
    }
}

static void what_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "K",
        " 1",
        "1 ",
        "-1",
        "+1",
        "1KB",
        "1KK",
        "1P",
        "1.5G",
        "0x10",
        "1\n",
        "1e3",
        "\xd9\xa1",
        "18446744073709551616",
        "99999999999999999999999",
        "16777216T",
        "18014398509481984K",
        "17179869184G",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t bytes = UNTOUCHED;
        assert_false(base_size_parse(texts[i], &bytes));
        assert_true(bytes == UNTOUCHED);
    }
}

static void sizes_may_have_a_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
        uint64_t bytes;
    } cases[] = {
        {"7", true, 7},
        {"1.5G", true, UINT64_C(3) << 29},
        {"20.5m", true, (UINT64_C(41) << 20) / 2},
        {"0.5K", true, 512},
        {"1.999999999T", true, (UINT64_C(1) << 40) + (UINT64_C(999999) << 40) / 1000000},
        {"1.7", true, 1},
        {"16777214.5T", true, (UINT64_C(33554429) << 39)},
        {"16777216T", false, 0},
        {"1.", false, 0},
        {".5G", false, 0},
        {"1.5", true, 1},
        {"1.5.5G", false, 0},
        {"1.5GB", false, 0},
        {"1,5G", false, 0},
        {"-1.5G", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = UNTOUCHED;
        assert_int_equal(base_scaled_parse(cases[i].text, &bytes), cases[i].valid);
        assert_true(bytes == (cases[i].valid ? cases[i].bytes : UNTOUCHED));
    }
}

static void numbers_have_a_limit_and_no_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t limit;
        bool valid;
        uint64_t number;
    } cases[] = {
        {"0", 0, true, 0},
        {"1", 0, false, 0},
        {"4096", 4096, true, 4096},
        {"4097", 4096, false, 0},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"1K", UINT64_MAX, false, 0},
        {"", UINT64_MAX, false, 0},
        {"-1", UINT64_MAX, false, 0},
        {"1 ", UINT64_MAX, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = UNTOUCHED;
        assert_int_equal(base_number_parse(cases[i].text, cases[i].limit, &number), cases[i].valid);
        assert_true(number == (cases[i].valid ? cases[i].number : UNTOUCHED));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(sizes_may_have_a_fraction),
        cmocka_unit_test(numbers_have_a_limit_and_no_unit),
    };
    return cmocka_run_group_tests_name("base/size_text", tests, NULL, NULL);
}
