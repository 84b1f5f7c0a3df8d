/* Messages to oneself: every form of sending and receiving, and the checks of arguments. */
#include "unit/api/node.h"

static const int self[] = {0};
static struct dn_context *context;

static int open_context(void **unused)
{
    (void)unused;
    return dn_context_open(node, 7, self, 1, self, 1, NULL, &context);
}

static int close_context(void **unused)
{
    (void)unused;
    return dn_context_close(context);
}

static void sent_and_received(void **unused)
{
    (void)unused;
    char buffer[8];
    int sender = -1;
    size_t bytes = 0;
    assert_int_equal(dn_send(context, 0, "one", 3, DN_FOREVER), 0);
    assert_int_equal(dn_send(context, 0, "second", 6, DN_FOREVER), 0);
    assert_int_equal(dn_probe(context, DN_ANY, DN_FOREVER, &sender, &bytes), 0);
    assert_true(sender == 0 && bytes == 3);
    assert_int_equal(dn_recv(context, 0, buffer, sizeof buffer, DN_FOREVER, &sender, &bytes), 0);
    assert_int_equal(bytes, 3);
    assert_memory_equal(buffer, "one", 3);
    assert_int_equal(dn_recv(context, DN_ANY, buffer, 5, DN_FOREVER, NULL, NULL), DN_ETOOLONG);
    assert_int_equal(dn_recv(context, DN_ANY, buffer, 6, DN_FOREVER, NULL, &bytes), 0);
    assert_int_equal(bytes, 6);
    assert_int_equal(dn_recv(context, DN_ANY, buffer, 6, 0, NULL, NULL), DN_ETIMEOUT);
    assert_int_equal(dn_probe(context, 0, 0, NULL, NULL), DN_ETIMEOUT);
}

static void without_waiting(void **unused)
{
    (void)unused;
    char buffers[2][8];
    struct dn_message_op receives[2];
    struct dn_message_op send;
    size_t bytes = 0;
    int done = 1;
    assert_int_equal(dn_irecv(context, DN_ANY, buffers[0], 8, &receives[0]), 0);
    assert_int_equal(dn_irecv(context, 0, buffers[1], 8, &receives[1]), 0);
    assert_int_equal(dn_message_test(&receives[0], &done, NULL, NULL), 0);
    assert_int_equal(done, 0);
    assert_int_equal(dn_context_close(context), DN_EBUSY);
    assert_int_equal(dn_message_cancel(&receives[1]), 0);
    assert_int_equal(dn_isend(context, 0, "later", 5, &send), 0);
    assert_int_equal(dn_message_wait(&send, DN_FOREVER, NULL, NULL), 0);
    assert_int_equal(dn_message_wait(&receives[0], DN_FOREVER, NULL, &bytes), 0);
    assert_int_equal(bytes, 5);
    assert_memory_equal(buffers[0], "later", 5);
    assert_int_equal(dn_message_cancel(&receives[0]), DN_EBUSY);
}

static void without_a_copy(void **unused)
{
    (void)unused;
    void *into;
    const void *data;
    size_t bytes = 0;
    assert_int_equal(dn_send_buffer_get(context, 0, 16, &into), 0);
    memcpy(into, "in place", 8);
    assert_int_equal(dn_send(context, 0, "x", 1, 0), DN_EBUSY);
    assert_int_equal(dn_send_buffer_send(context, 0, 8), 0);
    assert_int_equal(dn_recv_in_place(context, 0, DN_FOREVER, &data, NULL, &bytes), 0);
    assert_int_equal(bytes, 8);
    assert_memory_equal(data, "in place", 8);
    assert_int_equal(dn_recv_release(context, 0), 0);
    assert_int_not_equal(dn_recv_release(context, 0), 0);
    assert_int_not_equal(dn_send_buffer_send(context, 0, 8), 0);
}

static void mistakes(void **unused)
{
    (void)unused;
    struct dn_context *other = NULL;
    struct dn_message_op op = {{0}};
    const int nobody[] = {5};
    char byte = 0;
    assert_int_equal(dn_context_open(node, 7, self, 1, self, 1, NULL, &other), DN_EBUSY);
    assert_int_equal(dn_context_open(node, 8, nobody, 1, self, 1, NULL, &other), DN_ERANK);
    assert_int_equal(dn_context_open(node, 8, NULL, 1, self, 1, NULL, &other), DN_EINVAL);
    assert_int_equal(dn_context_open(node, 8, self, 1, self, 1, NULL, NULL), DN_EINVAL);
    assert_null(other);
    assert_int_equal(dn_send(context, 1, &byte, 1, 0), DN_ERANK);
    assert_int_equal(dn_send(context, 0, NULL, 1, 0), DN_EINVAL);
    assert_int_equal(dn_send(NULL, 0, &byte, 1, 0), DN_EINVAL);
    assert_int_equal(dn_recv(context, 1, &byte, 1, 0, NULL, NULL), DN_ERANK);
    assert_int_equal(dn_recv(context, 0, NULL, 1, 0, NULL, NULL), DN_EINVAL);
    assert_int_equal(dn_isend(context, 0, &byte, 1, NULL), DN_EINVAL);
    assert_int_equal(dn_message_wait(&op, 0, NULL, NULL), DN_EINVAL);
    assert_int_equal(dn_message_wait(NULL, 0, NULL, NULL), DN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sent_and_received, open_context, close_context),
        cmocka_unit_test_setup_teardown(without_waiting, open_context, close_context),
        cmocka_unit_test_setup_teardown(without_a_copy, open_context, close_context),
        cmocka_unit_test_setup_teardown(mistakes, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
