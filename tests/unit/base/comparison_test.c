/* Ranges agree with C's own comparisons: every operator, width and sign, at and around the
 * ends. */
#include "base/comparison.h"

#include "unit/unit.h"

#define ASSERT_AGREE(TYPE, IS_SIGNED, LEFT, RIGHT)                                             \
    do {                                                                                       \
        static const enum dn_comparison comparisons[] = {                                      \
            DN_EQ, DN_NE, DN_GT, DN_GE, DN_LT, DN_LE};                                         \
        TYPE left_ = (TYPE)(LEFT);                                                             \
        TYPE right_ = (TYPE)(RIGHT);                                                           \
        const bool meant[] = {left_ == right_, left_ != right_, left_ > right_,                \
                              left_ >= right_, left_ < right_,  left_ <= right_};              \
        for (int i_ = 0; i_ < 6; i_++) {                                                       \
            struct base_range range_;                                                          \
            struct base_word word_ = {sizeof(TYPE), IS_SIGNED};                                \
            bool can_ = base_range_make(comparisons[i_], (uint64_t)right_, word_, &range_);    \
            assert_int_equal(can_ &&base_word_holds(&left_, sizeof(TYPE), range_), meant[i_]); \
        }                                                                                      \
    } while (0)

/* Around zero, the ends and the middles of all widths. */
static uint64_t interesting(unsigned index)
{
    static const uint64_t centres[] = {
        0, UINT64_C(1) << 15, UINT64_C(1) << 16, INT32_MAX, UINT32_MAX, UINT64_C(1) << 63, 123456};
    return centres[index / 5] + index % 5 - 2;
}

enum { INTERESTING = 7 * 5 };

static void all_types(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < INTERESTING; i++) {
        for (unsigned j = 0; j < INTERESTING; j++) {
            uint64_t left = interesting(i);
            uint64_t right = interesting(j);
            ASSERT_AGREE(uint16_t, false, left, right);
            ASSERT_AGREE(int16_t, true, left, right);
            ASSERT_AGREE(uint32_t, false, left, right);
            ASSERT_AGREE(int32_t, true, left, right);
            ASSERT_AGREE(uint64_t, false, left, right);
            ASSERT_AGREE(int64_t, true, left, right);
        }
    }
}

static void what_no_value_meets(void **unused)
{
    (void)unused;
    struct base_range range;
    const struct base_word wide = {8, false};
    const struct base_word narrow = {4, true};
    assert_false(base_range_make(DN_GT, UINT64_MAX, wide, &range));
    assert_false(base_range_make(DN_LT, 0, wide, &range));
    assert_true(base_range_make(DN_GE, UINT64_MAX, wide, &range));
    assert_false(base_range_make(DN_GT, INT32_MAX, narrow, &range));
    assert_false(base_range_make(DN_LT, (uint64_t)INT32_MIN, narrow, &range));
    assert_true(base_range_make(DN_LT, (uint64_t)INT32_MIN + 1, narrow, &range));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),
        cmocka_unit_test(what_no_value_meets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
