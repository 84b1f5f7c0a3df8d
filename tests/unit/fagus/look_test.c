/* Waiting by looking: when it ends and with what. */
#include "fagus/look.h"

#include "unit/fagus/node.h"

struct looked {
    uint64_t looks;
    uint64_t wanted; /* the number of looks after which it is there */
    int error;       /* instead */
};

static int look(void *context)
{
    struct looked *looked = context;
    if (++looked->looks < looked->wanted) {
        return 0;
    }
    return looked->error ? looked->error : 1;
}

static void it_is_there(void **unused)
{
    (void)unused;
    struct looked at_once = {.wanted = 1};
    assert_int_equal(fagus_wait(look, &at_once, 0), 0);
    assert_int_equal(at_once.looks, 1);
    struct looked later = {.wanted = 500};
    assert_int_equal(fagus_wait(look, &later, FAGUS_FOREVER), 0);
    assert_int_equal(later.looks, 500);
}

static void it_will_not_be(void **unused)
{
    (void)unused;
    struct looked lost = {.wanted = 3, .error = FAGUS_ELOST};
    assert_int_equal(fagus_wait(look, &lost, FAGUS_FOREVER), FAGUS_ELOST);
    assert_int_equal(lost.looks, 3);
}

static void the_time_is_up(void **unused)
{
    (void)unused;
    struct looked never = {.wanted = UINT64_MAX};
    uint64_t before_ns = unit_now_ns();
    assert_int_equal(fagus_wait(look, &never, 30 * UNIT_MS), FAGUS_ETIMEOUT);
    assert_true(unit_now_ns() - before_ns >= 30 * UNIT_MS);
    assert_true(never.looks >= 2);
    never.looks = 0;
    assert_int_equal(fagus_wait(look, &never, 0), FAGUS_ETIMEOUT);
    assert_true(never.looks >= 1);
}

static void what_is_left(void **unused)
{
    (void)unused;
    uint64_t now_ns = inner_now_ns();
    assert_int_equal(fagus_left_ns(UINT64_MAX), FAGUS_FOREVER);
    assert_int_equal(fagus_left_ns(now_ns - 1), 0);
    uint64_t left_ns = fagus_left_ns(now_ns + UNIT_PATIENCE_NS);
    assert_true(left_ns > 0 && left_ns <= UNIT_PATIENCE_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_there),
        cmocka_unit_test(it_will_not_be),
        cmocka_unit_test(the_time_is_up),
        cmocka_unit_test(what_is_left),
    };
    return NODE_RUN(tests);
}
