/* Atomics: what each does in both widths; every mistake is refused before anything changes. */
#include "unit/api/node.h"

static void wide(void **unused)
{
    (void)unused;
    uint64_t *word = dn_llcm(node, NULL);
    uint64_t old = 0;
    *word = 0xf0;
    assert_int_equal(dn_fetch_add_u64(node, node_llcm(0), 0x0f, &old), 0);
    assert_int_equal(old, 0xf0);
    assert_int_equal(dn_fetch_and_u64(node, node_llcm(0), 0x3c, &old), 0);
    assert_int_equal(old, 0xff);
    assert_int_equal(dn_fetch_or_u64(node, node_llcm(0), 0x01, &old), 0);
    assert_int_equal(old, 0x3c);
    assert_int_equal(dn_fetch_xor_u64(node, node_llcm(0), UINT64_MAX, &old), 0);
    assert_int_equal(old, 0x3d);
    assert_int_equal(dn_swap_u64(node, node_llcm(0), 7, &old), 0);
    assert_int_equal(old, ~UINT64_C(0x3d));
    assert_int_equal(dn_compare_swap_u64(node, node_llcm(0), 8, 9, &old), 0);
    assert_true(old == 7 && *word == 7);
    assert_int_equal(dn_compare_swap_u64(node, node_llcm(0), 7, 9, &old), 0);
    assert_true(old == 7 && *word == 9);
    assert_int_equal(dn_read_u64(node, node_llcm(0), &old), 0);
    assert_int_equal(old, 9);
}

static void narrow(void **unused)
{
    (void)unused;
    uint32_t *words = dn_llcm(node, NULL);
    uint32_t old = 0;
    words[0] = words[1] = words[2] = UINT32_MAX;
    assert_int_equal(dn_fetch_add_u32(node, node_llcm(4), 2, &old), 0);
    assert_int_equal(old, UINT32_MAX);
    assert_int_equal(dn_add_u32(node, node_llcm(4), 5), 0);
    assert_int_equal(dn_xor_u32(node, node_llcm(4), 1), 0);
    assert_int_equal(dn_quiet(node), 0);
    assert_true(words[0] == UINT32_MAX && words[1] == 7 && words[2] == UINT32_MAX);
    assert_int_equal(dn_and_u32(node, node_llcm(4), 3), 0);
    assert_int_equal(dn_or_u32(node, node_llcm(4), 8), 0);
    assert_int_equal(dn_quiet(node), 0);
    assert_int_equal(words[1], 11);
    assert_int_equal(dn_set_u32(node, node_llcm(4), 1), 0);
    assert_int_equal(dn_read_u32(node, node_llcm(4), &old), 0);
    assert_int_equal(old, 1);
}

static void mistakes(void **unused)
{
    (void)unused;
    uint64_t old = 77;
    struct dn_remote away = {.rank = 1, .area = DN_LLCM};
    struct dn_remote nowhere = {.rank = 0, .area = 0};
    struct dn_remote unknown = {.rank = 0, .area = 4000};
    assert_int_equal(dn_fetch_add_u64(node, node_llcm(0), 1, NULL), DN_EINVAL);
    assert_int_equal(dn_fetch_add_u64(NULL, node_llcm(0), 1, &old), DN_EINVAL);
    assert_int_equal(dn_fetch_add_u64(node, away, 1, &old), DN_ERANK);
    assert_int_equal(dn_fetch_add_u64(node, nowhere, 1, &old), DN_EAREA);
    assert_int_equal(dn_fetch_add_u64(node, unknown, 1, &old), DN_EAREA);
    assert_int_equal(dn_fetch_add_u64(node, node_llcm(NODE_LLCM_BYTES - 4), 1, &old), DN_ERANGE);
    assert_int_equal(dn_fetch_add_u64(node, node_llcm(UINT64_MAX - 3), 1, &old), DN_ERANGE);
    assert_int_equal(dn_fetch_add_u64(node, node_llcm(4), 1, &old), DN_EALIGN);
    assert_int_equal(old, 77);
    struct dn_node *lane;
    assert_int_equal(dn_lane_open(node, &lane), 0);
    assert_int_equal(dn_lane_close(lane), 0);
    assert_int_equal(dn_add_u64(lane, node_llcm(0), 1), DN_ESTATE);
}

/* Registered memory is reached by the careful way. */
static void registered_words(void **unused)
{
    (void)unused;
    uint64_t *words = dn_llcm(node, NULL);
    uint64_t old = 0;
    struct dn_remote remote = {.rank = 0};
    words[8] = 5;
    assert_int_equal(dn_register(node, &words[8], 8, &remote.area), 0);
    assert_int_equal(dn_fetch_add_u64(node, remote, 1, &old), 0);
    assert_true(old == 5 && words[8] == 6);
    remote.offset = 8;
    assert_int_equal(dn_fetch_add_u64(node, remote, 1, &old), DN_ERANGE);
    remote.offset = 0;
    assert_int_equal(dn_deregister(node, remote.area), 0);
    assert_int_equal(dn_fetch_add_u64(node, remote, 1, &old), DN_ESTALE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide),
        cmocka_unit_test(narrow),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(registered_words),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
