/* The port layer to oneself: lengths, pieces, both ways to notice an arrival, errno. */
#include "fagus/state.h"

#include <errno.h>
#include <sys/uio.h>

#include "unit/fagus/node.h"

static void datagrams_stay_whole(void **unused)
{
    (void)unused;
    char buffer[64];
    int from = -1;
    for (int on = 0; on <= 1; on++) {
        assert_int_equal(dimmnet_detect_thread(on), 0);
        assert_int_equal(dimmnet_sendto(0, "first", 5), 5);
        assert_int_equal(dimmnet_sendto(0, "", 0), 0);
        assert_int_equal(dimmnet_recvfrom(buffer, sizeof buffer, &from, UNIT_PATIENCE_NS), 5);
        assert_int_equal(from, 0);
        assert_memory_equal(buffer, "first", 5);
        assert_int_equal(dimmnet_recvfrom(buffer, sizeof buffer, NULL, UNIT_PATIENCE_NS), 0);
    }
    assert_int_equal(dimmnet_detect_thread(0), 0);
}

static void pieces_are_one_datagram(void **unused)
{
    (void)unused;
    char words[] = "one two ";
    static char body[5000];
    memset(body, 'x', sizeof body);
    struct iovec pieces[] = {{words, 4}, {words + 4, 4}, {body, 0}, {body, sizeof body}};
    static char buffer[6000];
    assert_int_equal(dimmnet_sendmsg(0, pieces, 2), 8);
    assert_int_equal(dimmnet_sendmsg(0, pieces, 4), 8 + sizeof body);
    assert_int_equal(dimmnet_recvfrom(buffer, sizeof buffer, NULL, UNIT_PATIENCE_NS), 8);
    assert_memory_equal(buffer, "one two ", 8);
    assert_int_equal(dimmnet_recvfrom(buffer, sizeof buffer, NULL, UNIT_PATIENCE_NS),
                     8 + sizeof body);
    assert_int_equal(buffer[8 + sizeof body - 1], 'x');
}

#define assert_refused(CALL, ERROR)        \
    do {                                   \
        errno = 0;                         \
        assert_int_equal((int)(CALL), -1); \
        assert_int_equal(errno, ERROR);    \
    } while (0)

static void mistakes(void **unused)
{
    (void)unused;
    char buffer[4];
    assert_refused(dimmnet_recvfrom(buffer, sizeof buffer, NULL, 0), EAGAIN);
    assert_refused(dimmnet_recvfrom(buffer, sizeof buffer, NULL, 5 * UNIT_MS), EAGAIN);
    assert_refused(dimmnet_sendto(1, buffer, 1), EINVAL);
    assert_refused(dimmnet_sendto(-1, buffer, 1), EINVAL);
    assert_refused(dimmnet_sendmsg(0, NULL, 1), EINVAL);
    assert_int_equal(dimmnet_sendto(0, "longer", 6), 6);
    /* The message stays until there is room for it. */
    assert_refused(dimmnet_recvfrom(buffer, sizeof buffer, NULL, UNIT_PATIENCE_NS), EMSGSIZE);
    char more[6];
    assert_int_equal(dimmnet_recvfrom(more, sizeof more, NULL, UNIT_PATIENCE_NS), 6);
}

static void without_a_group(void **unused)
{
    (void)unused;
    char buffer[4] = {0};
    assert_refused(dimmnet_sendto(0, buffer, 1), ENOTCONN);
    assert_refused(dimmnet_recvfrom(buffer, sizeof buffer, NULL, 0), ENOTCONN);
    assert_int_equal(comm_sync(), FAGUS_ESTATE);
}

int main(void)
{
    const struct CMUnitTest outside[] = {cmocka_unit_test(without_a_group)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_stay_whole),
        cmocka_unit_test(pieces_are_one_datagram),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(outside, NULL, NULL) + NODE_RUN(tests) +
           cmocka_run_group_tests(outside, NULL, NULL);
}
