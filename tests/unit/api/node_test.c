/* Joining, lanes, lives, versions and sentences. */
#include "unit/api/node.h"

static void one_node_at_a_time(void **unused)
{
    (void)unused;
    struct dn_node *second = NULL;
    struct dn_options strange = {.struct_bytes = 0};
    assert_int_equal(dn_attach(NULL, NULL), DN_EINVAL);
    assert_int_equal(dn_attach(&second, &strange), DN_EINVAL);
    assert_int_equal(node_attach(NULL), 0);
    assert_int_equal(dn_attach(&second, NULL), DN_ESTATE);
    assert_null(second);
    assert_int_equal(dn_rank(node), 0);
    assert_int_equal(dn_size(node), 1);
    struct dn_node *gone = node;
    assert_int_equal(dn_detach(node), 0);
    assert_int_equal(dn_detach(gone), DN_ESTATE);
    assert_int_equal(dn_rank(gone), DN_ESTATE);
    assert_int_equal(dn_rank(NULL), DN_EINVAL);
    assert_int_equal(dn_detach(NULL), DN_EINVAL);
    /* A group of one can be made again. */
    assert_int_equal(node_attach(NULL), 0);
    assert_int_equal(dn_detach(node), 0);
}

static void lanes(void **unused)
{
    (void)unused;
    struct dn_node *lanes[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dn_lane_open(i ? lanes[i - 1] : node, &lanes[i]), 0);
        assert_int_equal(dn_rank(lanes[i]), 0);
    }
    assert_int_equal(dn_lane_close(lanes[1]), 0);
    assert_int_equal(dn_lane_close(lanes[1]), DN_ESTATE);
    assert_int_equal(dn_lane_close(node), DN_EINVAL);
    assert_int_equal(dn_lane_open(node, NULL), DN_EINVAL);
    struct dn_node *again;
    assert_int_equal(dn_lane_open(node, &again), 0);
    assert_ptr_equal(again, lanes[1]);
    assert_int_equal(dn_lane_close(again), 0);
    assert_int_equal(dn_lane_close(lanes[0]), 0);
    assert_int_equal(dn_lane_close(lanes[2]), 0);
}

static void lives(void **unused)
{
    (void)unused;
    enum dn_life life = DN_DEAD;
    size_t count = 9;
    assert_int_equal(dn_peer_life(node, 0, &life), 0);
    assert_int_equal(life, DN_ATTACHED);
    assert_int_equal(dn_peer_life(node, 1, &life), DN_ERANK);
    assert_int_equal(dn_peer_life(node, -1, &life), DN_ERANK);
    assert_int_equal(dn_peer_life(node, 0, NULL), DN_EINVAL);
    assert_int_equal(dn_failure_ack(node, NULL, 0, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(dn_failure_ack(node, NULL, 0, NULL), DN_EINVAL);
}

static void words(void **unused)
{
    (void)unused;
    char version[32];
    (void)snprintf(version, sizeof version, "%d.%d.%d", DN_VERSION_MAJOR, DN_VERSION_MINOR,
                   DN_VERSION_PATCH);
    assert_string_equal(dn_version(), version);
    assert_string_equal(dn_errname(DN_EPEER), "DN_EPEER");
    assert_int_equal(strncmp(dn_strerror(DN_EPEER), "DN_EPEER: ", 10), 0);
    assert_non_null(dn_strerror(12345));
}

int main(void)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(one_node_at_a_time)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes),
        cmocka_unit_test(lives),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(alone, NULL, NULL) +
           cmocka_run_group_tests(tests, node_attach, node_detach);
}
