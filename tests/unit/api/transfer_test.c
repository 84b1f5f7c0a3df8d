/* Blocks and RDMA: bytes and completion; mistakes are refused before anything is written. */
#include "unit/api/node.h"

static const unsigned char source[256] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void blocks(void **unused)
{
    (void)unused;
    unsigned char *llcm = dn_llcm(node, NULL);
    for (size_t bytes = 0; bytes <= sizeof source; bytes += 5) {
        memset(llcm, 0xee, 512);
        assert_int_equal(dn_botf(node, node_llcm(3), source, bytes), 0);
        assert_int_equal(dn_quiet(node), 0);
        assert_memory_equal(llcm + 3, source, bytes);
        assert_true(llcm[2] == 0xee && llcm[3 + bytes] == 0xee);
    }
}

static void signals(void **unused)
{
    (void)unused;
    uint64_t *words = dn_llcm(node, NULL);
    assert_int_equal(dn_put_signal(node, node_llcm(800), source, 9, node_llcm(1024), 42), 0);
    assert_int_equal(dn_wait_until_u64(node, &words[128], DN_EQ, 42, DN_FOREVER), 0);
    assert_memory_equal(&words[100], source, 9);
    /* A signal without a body. */
    assert_int_equal(dn_put_signal(node, node_llcm(1024), NULL, 0, node_llcm(1024), 43), 0);
    assert_int_equal(dn_wait_until_u64(node, &words[128], DN_EQ, 43, DN_FOREVER), 0);
    assert_int_equal(dn_put_signal(node, node_llcm(800), source, 9, node_llcm(1028), 1), DN_EALIGN);
    struct dn_remote away = {.rank = 1, .area = DN_LLCM};
    assert_int_equal(dn_put_signal(node, node_llcm(800), source, 9, away, 1), DN_EINVAL);
    assert_int_equal(dn_put_signal(node, away, source, 9, away, 1), DN_ERANK);
}

static void pushed_and_pulled(void **unused)
{
    (void)unused;
    unsigned char into[256] = {0};
    struct dn_op op;
    int done = 0;
    assert_int_equal(dn_push(node, node_llcm(2048), source, sizeof source, &op), 0);
    assert_int_equal(dn_op_wait(&op, DN_FOREVER), 0);
    assert_int_equal(dn_op_test(&op, &done), 0);
    assert_int_equal(done, 1);
    assert_int_equal(dn_pull(node, node_llcm(2048), into, sizeof into, &op), 0);
    assert_int_equal(dn_op_wait(&op, DN_FOREVER), 0);
    assert_memory_equal(into, source, sizeof into);
    assert_int_equal(dn_push(node, node_llcm(2048), into + 8, 8, NULL), 0);
    assert_int_equal(dn_fence(node), 0);
    assert_int_equal(dn_quiet(node), 0);
    assert_int_equal(((unsigned char *)dn_llcm(node, NULL))[2048], 9);
}

static void mistakes(void **unused)
{
    (void)unused;
    unsigned char byte = 0;
    int done;
    struct dn_op none = {{0}};
    struct dn_remote away = {.rank = 1, .area = DN_LLCM};
    struct dn_remote nowhere = {.rank = 0, .area = 0};
    assert_int_equal(dn_botf(node, away, &byte, 1), DN_ERANK);
    assert_int_equal(dn_botf(node, nowhere, &byte, 1), DN_EAREA);
    assert_int_equal(dn_botf(node, node_llcm(NODE_LLCM_BYTES), &byte, 1), DN_ERANGE);
    assert_int_equal(dn_botf(node, node_llcm(0), NULL, 1), DN_EINVAL);
    assert_int_equal(dn_botf(NULL, node_llcm(0), &byte, 1), DN_EINVAL);
    assert_int_equal(dn_push(node, node_llcm(1), &byte, NODE_LLCM_BYTES, NULL), DN_ERANGE);
    assert_int_equal(dn_pull(node, node_llcm(0), NULL, 1, NULL), DN_EINVAL);
    assert_int_equal(dn_pull(node, away, &byte, 1, NULL), DN_ERANK);
    assert_int_equal(dn_op_wait(&none, 0), DN_EINVAL);
    assert_int_equal(dn_op_wait(NULL, 0), DN_EINVAL);
    assert_int_equal(dn_op_test(&none, &done), DN_EINVAL);
    assert_int_equal(dn_fence(NULL), DN_EINVAL);
    assert_int_equal(dn_quiet(NULL), DN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(signals),
        cmocka_unit_test(pushed_and_pulled),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
