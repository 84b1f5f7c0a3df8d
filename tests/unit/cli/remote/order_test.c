/* An agent's order: taken as it was put, and refused where it makes no sense. */
#include "cli/remote/order.h"

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
        .no_pin = true,
        .settings = {1, UINT64_MAX, [FABRIC_OPTIONS_MAX - 1] = 65535},
        .fabric = "carrier-pigeon",
        .command = "dimmnet run",
        .group_id = "0123abcd",
        .host_id = "0123abcd.1",
        .folder = "/some/where",
        .argv = arguments,
        .environment = variables,
    };
    for (unsigned i = 0; i < FABRIC_CONTACT_BYTES; i++) {
        order.contact.bytes[i] = (unsigned char)(3 * i);
    }
    return order;
}

static unsigned char *put(const struct order *order, size_t *bytes)
{
    *bytes = remote_order_bytes(order);
    unsigned char *made = malloc(*bytes);
    assert_non_null(made);
    remote_order_put(made, order);
    return made;
}

static void it_is_taken_as_it_was_put(void **state)
{
    (void)state;
    struct order order = sample();
    struct order_read read;
    size_t bytes;
    unsigned char *made = put(&order, &bytes);
    assert_true(remote_order_take(made, bytes, &read));
    const struct order *taken = &read.order;
    assert_int_equal(taken->node_count, 8);
    assert_int_equal(taken->rank_first, 2);
    assert_int_equal(taken->rank_count, 3);
    assert_memory_equal(&taken->sizes, &order.sizes, sizeof order.sizes);
    assert_true(taken->no_pin);
    assert_memory_equal(taken->settings, order.settings, sizeof order.settings);
    assert_memory_equal(&taken->contact, &order.contact, sizeof order.contact);
    assert_string_equal(taken->fabric, "carrier-pigeon");
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
    remote_order_release(&read);
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
        assert_false(remote_order_take(cut, length, &read));
        free(cut);
    }
    unsigned char *longer = calloc(1, bytes + 1);
    memcpy(longer, made, bytes);
    assert_false(remote_order_take(longer, bytes + 1, &read));
    free(longer);
    free(made);
}

/* Each field alone is out of its range. */
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
        assert_false(remote_order_take(made, bytes, &read));
        free(made);
    }
    /* These bytes cannot come from any struct. */
    struct order order = sample();
    size_t bytes;
    unsigned char *made = put(&order, &bytes);
    for (unsigned number = 0; number < 10 + FABRIC_OPTIONS_MAX; number++) {
        unsigned char kept[8];
        struct order_read read;
        memcpy(kept, made + 8 * number, 8);
        memset(made + 8 * number, 0xff, 8);
        /* group_geometry judges sizes, and the fabric settings. */
        bool is_free = (number >= 3 && number <= 6) || number >= 10;
        bool taken = remote_order_take(made, bytes, &read);
        assert_int_equal(taken, is_free);
        if (taken) {
            remote_order_release(&read);
        }
        memcpy(made + 8 * number, kept, 8);
    }
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_taken_as_it_was_put),
        cmocka_unit_test(it_is_taken_whole_or_not_at_all),
        cmocka_unit_test(numbers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
