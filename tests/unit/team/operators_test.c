/* The arithmetic of reductions, against the same in wider or simpler types. */
#include "unit/unit.h"

#include <math.h>

#include "team/operators.h"

enum { TYPES = DN_DOUBLE + 1, OPERATIONS = DN_XOR + 1, ELEMENTS = 67 };

static const struct {
    const char *name;
    size_t bytes;
    bool is_signed;
    bool is_float;
} types[TYPES] = {
    [DN_INT8] = {"int8", 1, true, false},      [DN_INT16] = {"int16", 2, true, false},
    [DN_INT32] = {"int32", 4, true, false},    [DN_INT64] = {"int64", 8, true, false},
    [DN_UINT8] = {"uint8", 1, false, false},   [DN_UINT16] = {"uint16", 2, false, false},
    [DN_UINT32] = {"uint32", 4, false, false}, [DN_UINT64] = {"uint64", 8, false, false},
    [DN_FLOAT] = {"float", 4, false, true},    [DN_DOUBLE] = {"double", 8, false, true},
};

/* Element i of an array of this type, widened to 64 bits with its sign. */
static uint64_t load(unsigned type, const void *array, size_t i)
{
    size_t bytes = types[type].bytes;
    uint64_t word = 0;
    memcpy(&word, (const unsigned char *)array + i * bytes, bytes);
    unsigned shift = (unsigned)(64 - 8 * bytes);
    return types[type].is_signed ? (uint64_t)((int64_t)(word << shift) >> shift) : word;
}

static bool is_less(unsigned type, uint64_t left, uint64_t right)
{
    return types[type].is_signed ? (int64_t)left < (int64_t)right : left < right;
}

/* In 64 bits; the caller cuts it to the type's size. */
static uint64_t expected_integer(unsigned type, unsigned operation, uint64_t left, uint64_t right)
{
    switch (operation) {
    case DN_SUM: return left + right;
    case DN_PRODUCT: return left * right;
    case DN_MIN: return is_less(type, right, left) ? right : left;
    case DN_MAX: return is_less(type, left, right) ? right : left;
    case DN_AND: return left & right;
    case DN_OR: return left | right;
    default: return left ^ right;
    }
}

static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state ^ random_state >> 29;
}

/* Patterns with the ends of every range in them, so that sums and products wrap. */
static void fill(unsigned type, void *array, int salt)
{
    static const uint64_t ends[] = {0,          1,         UINT64_MAX,       0x7f,
                                    0x80,       0x7fff,    0x8000,           0x7fffffff,
                                    0x80000000, INT64_MAX, UINT64_C(1) << 63};
    size_t bytes = types[type].bytes;
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t end = (i * 3 + (size_t)salt * 5) % (sizeof ends / sizeof ends[0]);
        uint64_t word = i < 40 ? ends[end] : next_random();
        memcpy((unsigned char *)array + i * bytes, &word, bytes);
    }
}

static void integers_wrap_and_compare_by_their_sign(void **state)
{
    (void)state;
    for (unsigned type = DN_INT8; type <= DN_UINT64; type++) {
        for (unsigned operation = 0; operation < OPERATIONS; operation++) {
            uint64_t result[ELEMENTS];
            uint64_t operand[ELEMENTS];
            uint64_t before[ELEMENTS];
            size_t bytes = 0;
            team_operator operate = team_find_operator(type, operation, &bytes);
            assert_non_null(operate);
            assert_int_equal(bytes, types[type].bytes);
            for (int salt = 0; salt < 11; salt++) {
                fill(type, before, 0);
                fill(type, operand, salt);
                memcpy(result, before, sizeof result);
                operate(result, operand, ELEMENTS, NULL);
                for (size_t i = 0; i < ELEMENTS; i++) {
                    uint64_t wide = expected_integer(type, operation, load(type, before, i),
                                                     load(type, operand, i));
                    uint64_t cut[1] = {wide};
                    if (load(type, result, i) != load(type, cut, 0)) {
                        fail_msg("%s, operation %u, element %zu: %llx and %llx gave %llx",
                                 types[type].name, operation, i,
                                 (unsigned long long)load(type, before, i),
                                 (unsigned long long)load(type, operand, i),
                                 (unsigned long long)load(type, result, i));
                    }
                }
            }
        }
    }
}

/* Bit for bit what the language gives, in the order result (op) operand. */
#define CHECK_FLOATS(name, type, number)                                                    \
    static void name(void **state)                                                          \
    {                                                                                       \
        (void)state;                                                                        \
        static const type values[] = {0,         -0.0,       1,           -1,               \
                                      (type)0.1, (type)1e30, (type)-1e30, (type)3.5,        \
                                      INFINITY,  -INFINITY,  (type)1e-30};                  \
        enum { COUNT = sizeof values / sizeof values[0] };                                  \
        for (unsigned operation = DN_SUM; operation <= DN_MAX; operation++) {               \
            size_t bytes = 0;                                                               \
            team_operator operate = team_find_operator(number, operation, &bytes);          \
            assert_non_null(operate);                                                       \
            assert_int_equal(bytes, sizeof(type));                                          \
            for (int shift = 0; shift < COUNT; shift++) {                                   \
                type result[COUNT];                                                         \
                type operand[COUNT];                                                        \
                for (int i = 0; i < COUNT; i++) {                                           \
                    result[i] = values[i];                                                  \
                    operand[i] = values[(i + shift) % COUNT];                               \
                }                                                                           \
                operate(result, operand, COUNT, NULL);                                      \
                for (int i = 0; i < COUNT; i++) {                                           \
                    volatile type left = values[i];                                         \
                    volatile type right = operand[i];                                       \
                    type wanted = operation == DN_SUM       ? left + right                  \
                                  : operation == DN_PRODUCT ? left * right                  \
                                  : operation == DN_MIN     ? (right < left ? right : left) \
                                                            : (right > left ? right : left);    \
                    if (isnan(wanted)) {                                                    \
                        assert_true(isnan(result[i]));                                      \
                    } else {                                                                \
                        assert_memory_equal(&result[i], &wanted, sizeof wanted);            \
                    }                                                                       \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
    }

CHECK_FLOATS(floats_are_the_languages_own, float, DN_FLOAT)
CHECK_FLOATS(doubles_are_the_languages_own, double, DN_DOUBLE)

/* Their padding has no meaning, so values are compared. */
static void wide_numbers_are_the_languages_own(void **state)
{
    (void)state;
    static const long double values[] = {0, 1.5L, -2.25L, 1e300L, 1e-300L};
    for (int i = 0; i < 25; i++) {
        long double left = values[i / 5];
        long double right = values[i % 5];
        double _Complex pair = (double)left + 1;
        size_t bytes = 0;
        long double result = left;
        team_find_operator(DN_LONG_DOUBLE, DN_SUM, &bytes)(&result, &right, 1, NULL);
        assert_int_equal(bytes, sizeof result);
        assert_true(result == left + right);
        team_find_operator(DN_LONG_DOUBLE, DN_MIN, &bytes)(&result, &right, 1, NULL);
        assert_true(result == (right < left + right ? right : left + right));
        double _Complex product = pair;
        double _Complex factor = __builtin_complex(2.0, (double)i);
        team_find_operator(DN_DOUBLE_COMPLEX, DN_PRODUCT, &bytes)(&product, &factor, 1, NULL);
        assert_int_equal(bytes, sizeof product);
        assert_true(product == pair * factor);
        float _Complex sum = 1;
        float _Complex summand = __builtin_complex(1.0F, (float)i);
        team_find_operator(DN_FLOAT_COMPLEX, DN_SUM, &bytes)(&sum, &summand, 1, NULL);
        assert_int_equal(bytes, sizeof sum);
        assert_true(sum == 1 + summand);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    size_t bytes = 99;
    for (unsigned operation = DN_AND; operation <= DN_XOR; operation++) {
        assert_null(team_find_operator(DN_FLOAT, operation, &bytes));
        assert_null(team_find_operator(DN_DOUBLE, operation, &bytes));
        assert_null(team_find_operator(DN_LONG_DOUBLE, operation, &bytes));
    }
    for (unsigned operation = DN_MIN; operation <= DN_XOR; operation++) {
        assert_null(team_find_operator(DN_FLOAT_COMPLEX, operation, &bytes));
        assert_null(team_find_operator(DN_DOUBLE_COMPLEX, operation, &bytes));
    }
    static const int wrong_types[] = {DN_DOUBLE_COMPLEX + 1, -1, INT32_MAX, INT32_MIN};
    static const int wrong_operations[] = {DN_XOR + 1, -1, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        assert_null(team_find_operator((enum dn_type)wrong_types[i], DN_SUM, &bytes));
        assert_null(team_find_operator(DN_INT32, (enum dn_reduction)wrong_operations[i], &bytes));
    }
}

static void nothing_is_touched_beyond_the_count(void **state)
{
    (void)state;
    for (unsigned type = 0; type < TYPES; type++) {
        size_t bytes = 0;
        team_operator operate = team_find_operator(type, DN_SUM, &bytes);
        for (size_t count = 0; count < 40; count++) {
            unsigned char result[ELEMENTS * 8];
            unsigned char operand[ELEMENTS * 8];
            memset(result, 0x11, sizeof result);
            memset(operand, 0x11, sizeof operand);
            operate(result, operand, count, NULL);
            for (size_t i = count * bytes; i < sizeof result; i++) {
                assert_int_equal(result[i], 0x11);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_and_compare_by_their_sign),
        cmocka_unit_test(floats_are_the_languages_own),
        cmocka_unit_test(doubles_are_the_languages_own),
        cmocka_unit_test(wide_numbers_are_the_languages_own),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(nothing_is_touched_beyond_the_count),
    };
    return cmocka_run_group_tests_name("coll/operators", tests, NULL, NULL);
}
