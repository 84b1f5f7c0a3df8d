/* Handles: used again, never freed, valid under their own mark only. */
#include "fagus/handle.h"

#include "unit/fagus/node.h"

struct thing {
    struct fagus_handle handle;
    uint64_t content;
};

static struct fagus_handles handles = FAGUS_HANDLES(struct thing);

static void one_that_is_closed_is_used_again(void **unused)
{
    (void)unused;
    struct fagus_handle *first = fagus_handle_open(&handles, 7);
    struct fagus_handle *second = fagus_handle_open(&handles, 7);
    assert_ptr_not_equal(first, second);
    ((struct thing *)(void *)first)->content = 99;
    assert_true(fagus_handle_is_open(first, 7));
    assert_false(fagus_handle_is_open(first, 8));
    assert_false(fagus_handle_is_open(NULL, 7));
    assert_false(fagus_handle_close(first, 8));
    assert_true(fagus_handle_close(first, 7));
    assert_false(fagus_handle_close(first, 7));
    assert_false(fagus_handle_is_open(first, 7));
    assert_ptr_equal(fagus_handle_open(&handles, 7), first);
    assert_int_equal(((struct thing *)(void *)first)->content, 0);
    /* Under another mark the old handles are invalid. */
    assert_true(fagus_handle_open(&handles, 9) != NULL);
    assert_true(fagus_handle_open(&handles, 9) != NULL);
    assert_false(fagus_handle_is_open(first, 7) || fagus_handle_is_open(second, 7));
}

static int make_thing(void *opened, const void *arguments)
{
    struct thing *thing = opened;
    thing->content = *(const uint64_t *)arguments;
    return thing->content == 13 ? FAGUS_EFULL : 0;
}

static int end_thing(void *opened)
{
    struct thing *thing = opened;
    (void)fagus_handle_close(&thing->handle, fagus_state.generation);
    return 0;
}

static void before_the_beginning(void **unused)
{
    (void)unused;
    void *made = NULL;
    uint64_t content = 1;
    assert_int_equal(fagus_handle_create(&handles, true, make_thing, &content, &made),
                     FAGUS_ESTATE);
    assert_int_equal(fagus_handle_free(&handles, end_thing), FAGUS_ESTATE);
    assert_int_equal(fagus_handle_check(&handles), FAGUS_ESTATE);
}

static void made_and_freed_together(void **unused)
{
    (void)unused;
    void *made = NULL;
    uint64_t content = 4;
    assert_int_equal(fagus_handle_create(&handles, false, make_thing, &content, &made),
                     FAGUS_EINVAL);
    assert_null(made);
    assert_int_equal(fagus_handle_create(&handles, true, make_thing, &content, &made), 0);
    assert_int_equal(((struct thing *)made)->content, 4);
    assert_int_equal(fagus_handle_check(made), 0);
    /* A failed creation leaves no handle. */
    content = 13;
    void *other = NULL;
    assert_int_equal(fagus_handle_create(&handles, true, make_thing, &content, &other),
                     FAGUS_EFULL);
    assert_null(other);
    assert_int_equal(fagus_handle_free(made, end_thing), 0);
    assert_int_equal(fagus_handle_check(made), FAGUS_EINVAL);
    assert_int_equal(fagus_handle_free(made, end_thing), FAGUS_EINVAL);
    assert_int_equal(fagus_handle_free(NULL, end_thing), FAGUS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest before[] = {
        cmocka_unit_test(one_that_is_closed_is_used_again),
        cmocka_unit_test(before_the_beginning),
    };
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_and_freed_together)};
    return cmocka_run_group_tests(before, NULL, NULL) + NODE_RUN(tests);
}
