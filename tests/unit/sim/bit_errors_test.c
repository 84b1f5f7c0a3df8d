/* Wrong bits: as many as the rate says, wherever bits are, however they are cut. */
#include "unit/unit.h"

#include "sim/bit_errors.h"

static void as_many_bits_are_wrong_as_the_rate_says(void **state)
{
    (void)state;
    static const double rates[] = {0.5, 0.1, 1e-3, 1e-4, 1e-6};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct bit_errors errors;
        bit_errors_init(&errors, rates[i], 9 + i);
        const uint64_t bits = (uint64_t)(100000 / rates[i]);
        uint64_t at = 0, place, last = UINT64_MAX, neighbours = 0, count = 0;
        while (bit_errors_next(&errors, bits, &at, &place)) {
            assert_true(place < bits && (last == UINT64_MAX || place > last));
            neighbours += last != UINT64_MAX && place == last + 1;
            last = place;
            count++;
        }
        assert_int_equal(at, bits);
        /* The mean is 10^5, and 6 deviations are less than 2 %. */
        assert_in_range(count, 98000, 102000);
        /* One error says nothing about the next. */
        double expected = 100000 * rates[i];
        assert_true((double)neighbours > 0.9 * expected - 40);
        assert_true((double)neighbours < 1.1 * expected + 40);
    }
}

/* Taken in pieces, bits are wrong in the same places. */
static void pieces_are_parts_of_one_stream(void **state)
{
    (void)state;
    enum { BITS = 1000000 };
    struct bit_errors whole, pieces;
    struct base_random random = {4};
    bit_errors_init(&whole, 1e-3, 77);
    bit_errors_init(&pieces, 1e-3, 77);
    uint64_t at = 0, place, begin = 0, count = 0;
    uint64_t piece = 0, within = 0;
    while (bit_errors_next(&whole, BITS, &at, &place)) {
        uint64_t found = UINT64_MAX;
        while (found == UINT64_MAX) {
            if (within == piece) {
                begin += piece;
                piece = 1 + base_random_below(&random, 3000);
                within = 0;
                if (bit_errors_pass(&pieces, piece)) {
                    within = piece;
                    continue;
                }
            }
            if (!bit_errors_next(&pieces, piece, &within, &found)) {
                found = UINT64_MAX;
            }
        }
        assert_int_equal(begin + found, place);
        count++;
    }
    assert_true(count > 900);
}

static void without_errors_everything_is_right(void **state)
{
    (void)state;
    struct bit_errors errors;
    bit_errors_init(&errors, 0, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(bit_errors_pass(&errors, UINT64_MAX / 3));
    }
    /* 10^-20 is not 0, but here it is. */
    bit_errors_init(&errors, 1e-20, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(bit_errors_pass(&errors, 1000000000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_bits_are_wrong_as_the_rate_says),
        cmocka_unit_test(pieces_are_parts_of_one_stream),
        cmocka_unit_test(without_errors_everything_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
