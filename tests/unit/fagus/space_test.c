/* The space: two mappings of the same memory, places, and what collective calls agree on. */
#include "unit/fagus/node.h"

static void two_mappings(void **unused)
{
    (void)unused;
    uint64_t offset;
    unsigned char *bytes = node_alloc(4096);
    assert_int_equal(fagus_offset_of(bytes, 1, &offset), 0);
    unsigned char *unguarded = fagus_unguarded_at(offset);
    assert_ptr_not_equal(unguarded, bytes);
    *(volatile unsigned char *)bytes = 0x5a;
    assert_int_equal(*(volatile unsigned char *)unguarded, 0x5a);
    assert_int_equal((uintptr_t)fagus_state.base % FAGUS_HUGE_PAGE_BYTES, 0);
    assert_int_equal(fagus_free(bytes), 0);
}

static void places(void **unused)
{
    (void)unused;
    void *pointer = fagus_pool_alloc(8);
    uint64_t place = fagus_place_of(pointer);
    assert_ptr_equal(fagus_reach(0, place), pointer);
    struct dn_remote remote = fagus_remote_at(0, place);
    assert_true(remote.rank == 0 && remote.area == DN_HEAP && remote.offset == place);
    fagus_pool_free(pointer);
}

static void the_mode_is_the_environments(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_state.is_shared, strcmp(getenv("FAGUS_FORCE_REMOTE"), "0") == 0);
    assert_true(fagus_state.reaches_all);
}

static void agreement_of_one(void **unused)
{
    (void)unused;
    const uint64_t numbers[] = {1, 2};
    assert_int_equal(fagus_agree("call", numbers, 2), 0);
    assert_int_equal(fagus_agree("call", NULL, 0), 0);
    assert_int_equal(fagus_refuse(FAGUS_EOVERLAP), FAGUS_EOVERLAP);
    assert_int_equal(fagus_all_or_none(0), 0);
    assert_int_equal(fagus_all_or_none(FAGUS_ENOMEM), FAGUS_ENOMEM);
}

static void *take_a_turn(void *counter)
{
    fagus_collective_begin();
    uint64_t *count = counter;
    uint64_t before = *count;
    struct timespec nap = {.tv_nsec = 1000000};
    (void)nanosleep(&nap, NULL);
    *count = before + 1;
    fagus_collective_end();
    return NULL;
}

static void threads_take_turns(void **unused)
{
    (void)unused;
    uint64_t count = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_a_turn, &count), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(count, 4);
}

static void a_child_has_no_part(void **unused)
{
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        _exit(fagus_state.node == NULL && fagus_check_open() == FAGUS_ESTATE ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fagus_check_open(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_mappings),
        cmocka_unit_test(places),
        cmocka_unit_test(the_mode_is_the_environments),
        cmocka_unit_test(agreement_of_one),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(a_child_has_no_part),
    };
    return NODE_RUN(tests);
}
