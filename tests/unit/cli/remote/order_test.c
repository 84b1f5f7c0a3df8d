/* An agent's order: taken as it was put, and refused where it makes no sense. */
#include "cli/remote/order.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "unit/unit.h"

static char program[] = "./program";
static char empty[] = "";
static char word[] = "a b";
static char *const arguments[] = {program, empty, word, NULL};
static char one[] = "DN_RELAX=1";
static char *const variables[] = {one, NULL};

static struct order sample(void)
{
    struct order order = {
        .node_count = 8,
        .rank_first = 2,
        .rank_count = 3,
        .sizes = {4096, 8192, UINT64_C(1) << 40, 12288},
        .pgid = 0xfedcba98,
        .peer_timeout_ns = UINT64_C(10000000000),
        .encrypt = true,
        .port = 65535,
        .relay_port = 1,
        .command = "dimmnet run",
        .group_id = "0123abcd",
        .host_id = "0123abcd.1",
        .folder = "/some/where",
        .argv = arguments,
        .environment = variables,
    };
    order.address.v6.sin6_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::7", &order.address.v6.sin6_addr), 1);
    for (unsigned i = 0; i < UDP_SECRET_BYTES; i++) {
        order.secret[i] = (unsigned char)(3 * i);
    }
    return order;
}

static unsigned char *put(const struct order *order, size_t *bytes)
{
    *bytes = order_bytes(order);
    unsigned char *made = malloc(*bytes);
    assert_non_null(made);
    order_put(made, order);
    return made;
}

static void it_is_taken_as_it_was_put(void **state)
{
    (void)state;
    struct order order = sample();
    struct order_read read;
    size_t bytes;
    unsigned char *made = put(&order, &bytes);
    assert_true(order_take(made, bytes, &read));
    const struct order *taken = &read.order;
    assert_int_equal(taken->node_count, 8);
    assert_int_equal(taken->rank_first, 2);
    assert_int_equal(taken->rank_count, 3);
    assert_memory_equal(&taken->sizes, &order.sizes, sizeof order.sizes);
    assert_int_equal(taken->pgid, order.pgid);
    assert_int_equal(taken->peer_timeout_ns, order.peer_timeout_ns);
    assert_true(taken->encrypt);
    assert_false(taken->no_pin);
    assert_int_equal(taken->port, 65535);
    assert_int_equal(taken->relay_port, 1);
    assert_int_equal(taken->address.any.sa_family, AF_INET6);
    assert_memory_equal(&taken->address.v6.sin6_addr, &order.address.v6.sin6_addr, 16);
    assert_memory_equal(taken->secret, order.secret, UDP_SECRET_BYTES);
    assert_string_equal(taken->command, "dimmnet run");
    assert_string_equal(taken->group_id, "0123abcd");
    assert_string_equal(taken->host_id, "0123abcd.1");
    assert_string_equal(taken->folder, "/some/where");
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(taken->argv[i], arguments[i]);
    }
    assert_null(taken->argv[3]);
    assert_string_equal(taken->environment[0], one);
    assert_null(taken->environment[1]);
    order_release(&read);
    free(made);
}

static void it_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    struct order order = sample();
    struct order_read read;
    size_t bytes;
    unsigned char *made = put(&order, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        unsigned char *cut = malloc(length + 1);
        memcpy(cut, made, length);
        assert_false(order_take(cut, length, &read));
        free(cut);
    }
    unsigned char *longer = calloc(1, bytes + 1);
    memcpy(longer, made, bytes);
    assert_false(order_take(longer, bytes + 1, &read));
    free(longer);
    free(made);
}

/* Each field out of its range by itself. */
static void numbers_are_checked(void **state)
{
    (void)state;
    enum { FIELDS = 12 };
    struct order orders[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++) {
        orders[i] = sample();
    }
    orders[0].node_count = 0;
    orders[1].node_count = GROUP_NODES_MAX + 1;
    orders[2].rank_first = 8;
    orders[3].rank_count = 0;
    orders[4].rank_count = 7;
    orders[5].rank_count = UINT32_MAX;
    static char *const none[] = {NULL};
    orders[6].argv = none;
    for (unsigned i = 0; i < 7; i++) {
        struct order_read read;
        size_t bytes;
        unsigned char *made = put(&orders[i], &bytes);
        assert_false(order_take(made, bytes, &read));
        free(made);
    }
    /* What no struct can say. */
    struct order order = sample();
    size_t bytes;
    unsigned char *made = put(&order, &bytes);
    for (unsigned number = 0; number < 15; number++) {
        unsigned char kept[8];
        struct order_read read;
        memcpy(kept, made + 8 * number, 8);
        memset(made + 8 * number, 0xff, 8);
        bool is_free = number >= 3 && number <= 6; /* sizes are group_geometry's to judge */
        is_free = is_free || number == 8;
        bool taken = order_take(made, bytes, &read);
        assert_int_equal(taken, is_free);
        if (taken) {
            order_release(&read);
        }
        memcpy(made + 8 * number, kept, 8);
    }
    struct order_read read;
    made[8 * 15] = 5; /* neither IPv4 nor IPv6 */
    assert_false(order_take(made, bytes, &read));
    free(made);
}

static void addresses_are_taken_as_they_were_put(void **state)
{
    (void)state;
    unsigned char bytes[FRAME_ADDRESS_BYTES];
    union udp_address address = {.v4 = {.sin_family = AF_INET, .sin_port = htons(7001)}};
    union udp_address taken;
    assert_int_equal(inet_pton(AF_INET, "192.0.2.7", &address.v4.sin_addr), 1);
    order_put_address(bytes, &address);
    assert_true(order_take_address(bytes, &taken));
    assert_int_equal(taken.v4.sin_family, AF_INET);
    assert_int_equal(taken.v4.sin_port, htons(7001));
    assert_int_equal(taken.v4.sin_addr.s_addr, address.v4.sin_addr.s_addr);
    bytes[0] = 0;
    assert_false(order_take_address(bytes, &taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_taken_as_it_was_put),
        cmocka_unit_test(it_is_taken_whole_or_not_at_all),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(addresses_are_taken_as_they_were_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
