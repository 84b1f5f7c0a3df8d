/* BOTF's windows: one user holds each, the NIC stamps it, and no user gets all. */
#include "unit/unit.h"

#include "base/random.h"
#include "nic/window.h"

enum { PGID = 0x12345678 };

static struct nic_windows windows;
static struct nic_window memory[NIC_WINDOWS];

/* In memory that held something else before. */
static void make(void)
{
    memset(&windows, 0xff, sizeof windows);
    memset(memory, 0xff, sizeof memory);
    nic_window_init(&windows, memory);
}

static uint32_t take(uint32_t user)
{
    uint32_t window = UINT32_MAX;
    assert_int_equal(nic_window_take(&windows, user, PGID, &window), 0);
    assert_true(window < NIC_WINDOWS);
    return window;
}

static uint32_t take_all_it_gets(uint32_t user)
{
    uint32_t window;
    uint32_t count = 0;
    while (nic_window_take(&windows, user, PGID, &window) == 0) {
        count++;
    }
    return count;
}

static bool is_drained(uint32_t window)
{
    return windows.free >> window & 1;
}

static void a_window_is_drained_until_taken_and_once_given_back(void **state)
{
    (void)state;
    make();
    for (uint32_t i = 0; i < NIC_WINDOWS; i++) {
        assert_true(is_drained(i));
    }
    uint32_t first = take(3);
    uint32_t second = take(3);
    assert_int_not_equal(first, second);
    assert_false(is_drained(first));
    nic_window_give(&windows, first);
    assert_true(is_drained(first));
    assert_false(is_drained(second));
}

static void the_stamp_is_the_nics_whatever_the_data(void **state)
{
    (void)state;
    make();
    uint32_t index[NIC_WINDOWS];
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        index[user] = take(user);
        memset(nic_window_at(&windows, index[user])->data, (int)user, WIRE_BOTF_BYTES_MAX);
    }
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        const struct nic_window *window = nic_window_at(&windows, index[user]);
        assert_int_equal(window->pgid, PGID);
        assert_int_equal(window->user, user);
        for (uint32_t i = 0; i < WIRE_BOTF_BYTES_MAX; i++) {
            assert_int_equal(window->data[i], user);
        }
    }
}

static void a_window_is_stamped_anew_each_time(void **state)
{
    (void)state;
    make();
    uint32_t window = take(3);
    uint32_t again;
    nic_window_at(&windows, window)->pgid = 0;
    nic_window_give(&windows, window);
    assert_int_equal(nic_window_take(&windows, 4, PGID + 1, &again), 0);
    assert_int_equal(again, window);
    assert_int_equal(nic_window_at(&windows, window)->pgid, PGID + 1);
    assert_int_equal(nic_window_at(&windows, window)->user, 4);
}

static void one_user_alone_gets_half(void **state)
{
    (void)state;
    make();
    assert_int_equal(take_all_it_gets(0), NIC_WINDOWS / 2);
    uint32_t window = 12345;
    assert_int_equal(nic_window_take(&windows, 0, PGID, &window), DN_EFULL);
    assert_int_equal(window, 12345);
}

static void every_user_can_have_one(void **state)
{
    (void)state;
    make();
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        take(user);
    }
    uint32_t window;
    assert_int_equal(nic_window_take(&windows, 0, PGID, &window), DN_EFULL);
}

/* The first user took half when it was alone; as its windows drain it falls back to the others'
 * share, though it asks before them every time. */
static void greedy_users_come_to_equal_shares(void **state)
{
    (void)state;
    make();
    uint32_t held[NIC_WINDOWS];
    uint32_t count = 0;
    while (nic_window_take(&windows, 0, PGID, &held[count]) == 0) {
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        nic_window_give(&windows, held[i]);
        for (uint32_t user = 0; user < 3; user++) {
            take_all_it_gets(user);
        }
    }
    for (uint32_t user = 0; user < 3; user++) {
        assert_in_range(windows.held[user], 15, 17);
    }
}

static void random_use_keeps_the_rule(void **state)
{
    (void)state;
    const uint64_t seed = 464;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct base_random random = {seed};
    uint32_t holder[NIC_WINDOWS];
    uint32_t held[NIC_USERS] = {0};
    uint32_t free_count = NIC_WINDOWS;
    make();
    for (uint32_t i = 0; i < NIC_WINDOWS; i++) {
        holder[i] = NIC_USERS;
    }
    for (uint32_t step = 0; step < 200000; step++) {
        /* Few users are busy at a time; later it is others. */
        uint32_t user = (uint32_t)(step / 1000 + base_random_below(&random, 1 + step / 5000 % 20));
        user %= NIC_USERS;
        uint32_t window = (uint32_t)base_random_below(&random, NIC_WINDOWS);
        if (base_random_below(&random, 2) == 0) {
            bool due = held[user] < free_count;
            assert_int_equal(nic_window_take(&windows, user, PGID, &window), due ? 0 : DN_EFULL);
            if (due) {
                assert_int_equal(holder[window], NIC_USERS);
                holder[window] = user;
                held[user]++;
                free_count--;
            }
        } else if (holder[window] != NIC_USERS) {
            assert_int_equal(nic_window_at(&windows, window)->user, holder[window]);
            nic_window_give(&windows, window);
            held[holder[window]]--;
            holder[window] = NIC_USERS;
            free_count++;
        }
        assert_int_equal(is_drained(window), holder[window] == NIC_USERS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_drained_until_taken_and_once_given_back),
        cmocka_unit_test(the_stamp_is_the_nics_whatever_the_data),
        cmocka_unit_test(a_window_is_stamped_anew_each_time),
        cmocka_unit_test(one_user_alone_gets_half),
        cmocka_unit_test(every_user_can_have_one),
        cmocka_unit_test(greedy_users_come_to_equal_shares),
        cmocka_unit_test(random_use_keeps_the_rule),
    };
    return cmocka_run_group_tests_name("nic/window", tests, NULL, NULL);
}
