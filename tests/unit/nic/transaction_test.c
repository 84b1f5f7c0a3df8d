/* The transaction FIFO: order within a user, credits, and turns between users. */
#include "unit/unit.h"

#include "base/random.h"
#include "nic/transaction.h"

static struct nic_transaction_fifo fifo;
static struct nic_transaction pool[NIC_TRANSACTIONS];

/* In memory that held something else before. */
static void make(void)
{
    memset(&fifo, 0xff, sizeof fifo);
    memset(pool, 0xff, sizeof pool);
    nic_transaction_init(&fifo, pool);
}

static int set_credit(uint32_t user, uint32_t credit)
{
    return nic_transaction_set_credit(&fifo, user, credit);
}

/* Pushes an entry that its value tells from others. */
static int push(uint32_t user, uint64_t value)
{
    struct nic_transaction transaction = {
        .kind = NIC_AOTF, .user = (uint8_t)user, .bytes = 8, .operand = value};
    return nic_transaction_push(&fifo, &transaction);
}

static struct nic_transaction *find(uint32_t user, uint64_t value)
{
    struct nic_transaction *entry = nic_transaction_first(&fifo, user);
    while (entry && entry->operand != value) {
        entry = nic_transaction_next(&fifo, entry);
    }
    return entry;
}

static void assert_queue(uint32_t user, const uint64_t *values, uint32_t count)
{
    struct nic_transaction *entry = nic_transaction_first(&fifo, user);
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(entry);
        assert_int_equal(entry->user, user);
        assert_int_equal(entry->operand, values[i]);
        entry = nic_transaction_next(&fifo, entry);
    }
    assert_null(entry);
    assert_int_equal(nic_transaction_count(&fifo, user), count);
}

static void an_entry_keeps_what_was_given(void **state)
{
    (void)state;
    make();
    struct nic_completion completion;
    struct nic_transaction given = {.kind = NIC_ATOMIC,
                                    .user = 63,
                                    .function = WIRE_COMPARE_SWAP,
                                    .target = 65533,
                                    .area = UINT32_MAX,
                                    .index = 5,
                                    .offset = UINT64_MAX - 7,
                                    .bytes = 8,
                                    .operand = 11,
                                    .expected = 22,
                                    .completion = &completion};
    assert_int_equal(set_credit(63, 1), 0);
    assert_int_equal(nic_transaction_push(&fifo, &given), 0);
    const struct nic_transaction *entry = nic_transaction_first(&fifo, 63);
    assert_int_equal(entry->kind, NIC_ATOMIC);
    assert_int_equal(entry->function, WIRE_COMPARE_SWAP);
    assert_int_equal(entry->target, 65533);
    assert_int_equal(entry->area, UINT32_MAX);
    assert_int_equal(entry->index, 5);
    assert_int_equal(entry->offset, UINT64_MAX - 7);
    assert_int_equal(entry->bytes, 8);
    assert_int_equal(entry->operand, 11);
    assert_int_equal(entry->expected, 22);
    assert_ptr_equal(entry->completion, &completion);
}

static void a_queue_keeps_its_order_through_removals_anywhere(void **state)
{
    (void)state;
    make();
    assert_int_equal(set_credit(1, 8), 0);
    assert_int_equal(set_credit(2, 8), 0);
    for (uint64_t value = 10; value < 15; value++) {
        assert_int_equal(push(1, value), 0);
        assert_int_equal(push(2, value + 100), 0);
    }
    assert_queue(1, (uint64_t[]){10, 11, 12, 13, 14}, 5);
    nic_transaction_remove(&fifo, find(1, 12));
    assert_queue(1, (uint64_t[]){10, 11, 13, 14}, 4);
    nic_transaction_remove(&fifo, find(1, 10));
    assert_queue(1, (uint64_t[]){11, 13, 14}, 3);
    nic_transaction_remove(&fifo, find(1, 14));
    assert_queue(1, (uint64_t[]){11, 13}, 2);
    assert_int_equal(push(1, 15), 0);
    assert_queue(1, (uint64_t[]){11, 13, 15}, 3);
    assert_queue(2, (uint64_t[]){110, 111, 112, 113, 114}, 5);
}

static void credit_bounds_what_a_user_holds(void **state)
{
    (void)state;
    make();
    assert_int_equal(push(0, 1), DN_EFULL);
    assert_int_equal(set_credit(0, 2), 0);
    assert_int_equal(push(0, 1), 0);
    assert_int_equal(push(0, 2), 0);
    assert_int_equal(push(0, 3), DN_EFULL);
    nic_transaction_remove(&fifo, find(0, 2));
    assert_int_equal(push(0, 4), 0);
    assert_queue(0, (uint64_t[]){1, 4}, 2);
}

static void credits_are_bounded_by_the_pool(void **state)
{
    (void)state;
    make();
    assert_int_equal(set_credit(0, NIC_TRANSACTIONS + 1), DN_EFULL);
    assert_int_equal(set_credit(0, UINT32_MAX), DN_EFULL);
    assert_int_equal(set_credit(0, NIC_TRANSACTIONS), 0);
    assert_int_equal(set_credit(1, 1), DN_EFULL);
    assert_int_equal(set_credit(0, NIC_TRANSACTIONS - 1), 0);
    assert_int_equal(set_credit(1, 1), 0);
    assert_int_equal(set_credit(1, 2), DN_EFULL);
    assert_int_equal(set_credit(1, 1), 0);
}

static void a_user_within_its_credit_is_never_refused(void **state)
{
    (void)state;
    make();
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        assert_int_equal(set_credit(user, NIC_TRANSACTIONS / NIC_USERS), 0);
    }
    for (uint64_t i = 0; i < NIC_TRANSACTIONS; i++) {
        assert_int_equal(push((uint32_t)(i / (NIC_TRANSACTIONS / NIC_USERS)), i), 0);
    }
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        assert_int_equal(push(user, 0), DN_EFULL);
    }
}

/* What a user holds above a lowered credit is promised to others only after it leaves. */
static void a_credit_may_be_lowered_below_what_is_held(void **state)
{
    (void)state;
    make();
    assert_int_equal(set_credit(0, NIC_TRANSACTIONS), 0);
    for (uint64_t i = 0; i < NIC_TRANSACTIONS; i++) {
        assert_int_equal(push(0, i), 0);
    }
    assert_int_equal(set_credit(0, 1), 0);
    assert_int_equal(push(0, 0), DN_EFULL);
    assert_int_equal(set_credit(1, 1), DN_EFULL);
    nic_transaction_remove(&fifo, nic_transaction_first(&fifo, 0));
    assert_int_equal(push(0, 0), DN_EFULL);
    assert_int_equal(set_credit(1, 2), DN_EFULL);
    assert_int_equal(set_credit(1, 1), 0);
    assert_int_equal(push(1, 0), 0);
    while (nic_transaction_count(&fifo, 0) > 0) {
        assert_int_equal(push(0, 0), DN_EFULL);
        nic_transaction_remove(&fifo, nic_transaction_first(&fifo, 0));
    }
    assert_int_equal(push(0, 7), 0);
    assert_int_equal(push(0, 8), DN_EFULL);
    assert_int_equal(set_credit(1, NIC_TRANSACTIONS - 1), 0);
    assert_int_equal(set_credit(0, 2), DN_EFULL);
}

static void turns_go_round_the_users_that_have_entries(void **state)
{
    (void)state;
    make();
    assert_int_equal(nic_transaction_turn(&fifo, 0), NIC_USERS);
    const uint32_t users[] = {0, 5, 31, 32, 63};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(set_credit(users[i], 2), 0);
        assert_int_equal(push(users[i], 1), 0);
    }
    for (uint32_t i = 0; i < 15; i++) {
        assert_int_equal(nic_transaction_turn(&fifo, 0), users[i % 5]);
    }
    /* Leave out users whose operations cannot move, and those that have none. */
    assert_int_equal(nic_transaction_turn(&fifo, UINT64_C(1) << 0), 5);
    assert_int_equal(nic_transaction_turn(&fifo, UINT64_C(3) << 31), 63);
    nic_transaction_remove(&fifo, nic_transaction_first(&fifo, 0));
    assert_int_equal(nic_transaction_turn(&fifo, 0), 5);
    assert_int_equal(nic_transaction_turn(&fifo, ~(UINT64_C(1) << 5)), 5);
    assert_int_equal(nic_transaction_turn(&fifo, UINT64_MAX), NIC_USERS);
    assert_int_equal(nic_transaction_turn(&fifo, 0), 31);
}

/* Against plain arrays of values, one for each user. */
struct plain {
    uint32_t credit;
    uint32_t count;
    uint64_t values[NIC_TRANSACTIONS];
};
static struct plain plains[NIC_USERS];

/* Removes the entry at `place` of the user's queue. */
static void remove_at(uint32_t user, uint32_t place)
{
    struct plain *plain = &plains[user];
    struct nic_transaction *entry = find(user, plain->values[place]);
    assert_non_null(entry);
    nic_transaction_remove(&fifo, entry);
    plain->count--;
    memmove(&plain->values[place], &plain->values[place + 1],
            (plain->count - place) * sizeof plain->values[0]);
}

static uint32_t promised(void)
{
    uint32_t sum = 0;
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        const struct plain *plain = &plains[user];
        sum += plain->count > plain->credit ? plain->count : plain->credit;
    }
    return sum;
}

static void random_credit(uint32_t user, uint32_t credit)
{
    struct plain *plain = &plains[user];
    uint32_t before = plain->credit;
    plain->credit = credit;
    bool fits = promised() <= NIC_TRANSACTIONS;
    assert_int_equal(set_credit(user, credit), fits ? 0 : DN_EFULL);
    if (!fits) {
        plain->credit = before;
    }
}

static void random_use_agrees_with_plain_queues(void **state)
{
    (void)state;
    const uint64_t seed = 4711;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct base_random random = {seed};
    memset(plains, 0, sizeof plains);
    make();
    for (uint64_t step = 0; step < 100000; step++) {
        uint32_t user = (uint32_t)base_random_below(&random, NIC_USERS);
        struct plain *plain = &plains[user];
        uint64_t choice = base_random_below(&random, 100);
        if (choice == 0) {
            random_credit(user, (uint32_t)base_random_below(&random, 200));
        } else if (choice < 55) {
            bool fits = plain->count < plain->credit;
            assert_int_equal(push(user, step), fits ? 0 : DN_EFULL);
            if (fits) {
                plain->values[plain->count++] = step;
            }
        } else if (plain->count > 0) {
            remove_at(user, (uint32_t)base_random_below(&random, plain->count));
        }
        assert_queue(user, plain->values, plain->count);
        assert_int_equal(fifo.busy_users >> user & 1, plain->count > 0);
        assert_int_equal(fifo.promised, promised());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_keeps_what_was_given),
        cmocka_unit_test(a_queue_keeps_its_order_through_removals_anywhere),
        cmocka_unit_test(credit_bounds_what_a_user_holds),
        cmocka_unit_test(credits_are_bounded_by_the_pool),
        cmocka_unit_test(a_user_within_its_credit_is_never_refused),
        cmocka_unit_test(a_credit_may_be_lowered_below_what_is_held),
        cmocka_unit_test(turns_go_round_the_users_that_have_entries),
        cmocka_unit_test(random_use_agrees_with_plain_queues),
    };
    return cmocka_run_group_tests_name("nic/transaction", tests, NULL, NULL);
}
