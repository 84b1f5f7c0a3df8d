/* Waiting for words: when a condition holds, what ends a wait, which of several words is found. */
#include "unit/api/node.h"

static void looks_at_once(void **unused)
{
    (void)unused;
    uint64_t *word = dn_llcm(node, NULL);
    uint32_t *narrow = (uint32_t *)(void *)(word + 1);
    *word = UINT64_MAX;
    *narrow = 5;
    assert_int_equal(dn_wait_until_u64(node, word, DN_GT, 7, 0), 0);
    assert_int_equal(dn_wait_until_u64(node, word, DN_LT, UINT64_MAX, 0), DN_ETIMEOUT);
    assert_int_equal(dn_wait_until_u32(node, narrow, DN_LE, 5, 0), 0);
    assert_int_equal(dn_wait_until_u32(node, narrow, DN_NE, 5, 0), DN_ETIMEOUT);
    assert_int_equal(dn_wait_until_u32(node, narrow, DN_GE, UINT32_MAX, UNIT_MS), DN_ETIMEOUT);
}

static void mistakes(void **unused)
{
    (void)unused;
    uint64_t *word = dn_llcm(node, NULL);
    uint32_t *crooked = (uint32_t *)(void *)((unsigned char *)word + 2);
    assert_int_equal(dn_wait_until_u64(node, NULL, DN_EQ, 0, 0), DN_EINVAL);
    assert_int_equal(dn_wait_until_u64(NULL, word, DN_EQ, 0, 0), DN_EINVAL);
    assert_int_equal(dn_wait_until_u64(node, word, (enum dn_comparison)6, 0, 0), DN_EINVAL);
    assert_int_equal(dn_wait_until_u64(node, word, DN_GT, UINT64_MAX, 0), DN_EINVAL);
    assert_int_equal(dn_wait_until_u64(node, word, DN_LT, 0, 0), DN_EINVAL);
    assert_int_equal(dn_wait_until_u32(node, crooked, DN_EQ, 0, 0), DN_EALIGN);
    assert_int_equal(dn_wait_until_u32(node, (uint32_t *)(void *)word, DN_GT, UINT32_MAX, 0),
                     DN_EINVAL);
}

static void any_of_several(void **unused)
{
    (void)unused;
    uint64_t *words = dn_llcm(node, NULL);
    size_t index = 9;
    words[0] = 1;
    words[1] = 2;
    struct dn_condition conditions[] = {
        {.word = &words[0], .bytes = 8, .comparison = DN_EQ, .value = 7},
        {.word = &words[1], .bytes = 4, .comparison = DN_GE, .value = 2},
    };
    assert_int_equal(dn_wait_until_any(node, conditions, 2, 0, &index), 0);
    assert_int_equal(index, 1);
    assert_int_equal(dn_wait_until_any(node, conditions, 1, UNIT_MS, &index), DN_ETIMEOUT);
    conditions[1].value = UINT64_C(1) << 32;
    assert_int_equal(dn_wait_until_any(node, conditions, 2, 0, &index), DN_EINVAL);
    conditions[1] = (struct dn_condition){&words[1], 2, DN_EQ, 0};
    assert_int_equal(dn_wait_until_any(node, conditions, 2, 0, &index), DN_EINVAL);
    assert_int_equal(dn_wait_until_any(node, conditions, 0, 0, &index), DN_EINVAL);
    assert_int_equal(dn_wait_until_any(node, conditions, 1, 0, NULL), DN_EINVAL);
}

static void *store_later(void *unused)
{
    struct timespec nap = {.tv_nsec = 20000000};
    (void)nanosleep(&nap, NULL);
    unit_expect(dn_set_u64(node, node_llcm(128), 3) == 0);
    return unused;
}

static void a_thread_ends_the_wait(void **unused)
{
    (void)unused;
    uint64_t *words = dn_llcm(node, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, store_later, NULL), 0);
    assert_int_equal(dn_wait_until_u64(node, &words[16], DN_EQ, 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    unit_assert_no_faults();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_at_once),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(any_of_several),
        cmocka_unit_test(a_thread_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
