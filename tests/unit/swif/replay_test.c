/* The window of counters: each is new once, and what has left the window is not new. */
#include "unit/unit.h"

#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "swif/replay.h"

enum { COUNTERS = 1 << 17 };

/* A window, and what it should say. */
static struct {
    struct swif_replay window;
    uint64_t newest;
    bool came[COUNTERS];
} world;

static void begin(void)
{
    memset(&world, 0, sizeof world);
    swif_replay_widen(&world.window, 0, 0);
}

static bool comes(uint64_t counter)
{
    bool is_new = swif_replay_is_new(&world.window, world.newest, counter);
    if (is_new) {
        assert_false(world.came[counter]);
        world.newest = swif_replay_note(&world.window, world.newest, counter);
        world.came[counter] = true;
    }
    assert_false(swif_replay_is_new(&world.window, world.newest, counter));
    return is_new;
}

static void counters_in_turn_are_new_once(void **state)
{
    (void)state;
    begin();
    assert_false(comes(0)); /* nobody begins with it */
    for (uint64_t counter = 1; counter < 3 * SWIF_REPLAY_BITS; counter++) {
        assert_true(comes(counter));
    }
    for (uint64_t counter = 1; counter < 3 * SWIF_REPLAY_BITS; counter++) {
        assert_false(comes(counter));
    }
}

static void the_window_reaches_as_far_as_it_says(void **state)
{
    (void)state;
    assert_true(SWIF_REPLAY_REACH >= 1024);
    for (uint64_t newest = SWIF_REPLAY_BITS; newest < SWIF_REPLAY_BITS + 130; newest++) {
        for (uint64_t back = 1; back <= 2 * SWIF_REPLAY_BITS && back < newest; back += 7) {
            begin();
            assert_true(comes(newest));
            bool is_new = comes(newest - back);
            assert_true(is_new || back > SWIF_REPLAY_REACH);
            assert_true(!is_new || back < SWIF_REPLAY_BITS);
        }
    }
}

/* Gaps of every size, with old counters in between. */
static void random_counters_are_new_once(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int round = 0; round < 20; round++) {
        uint64_t spread = 1 + base_random_below(&random, 2 * SWIF_REPLAY_BITS);
        begin();
        while (world.newest + spread < COUNTERS) {
            uint64_t low = world.newest > spread ? world.newest - spread : 0;
            uint64_t counter = low + base_random_below(&random, 2 * spread);
            bool should_be_new = counter > world.newest ||
                                 (!world.came[counter] && counter > 0 &&
                                  world.newest - counter <= SWIF_REPLAY_REACH);
            bool is_new = comes(counter);
            assert_true(is_new || !should_be_new);
        }
    }
}

/* Evicted and brought back at any time, a window forgets nothing that came; and the short one says
 * the same of what it reaches. */
static void a_window_is_short_for_a_while_and_forgets_nothing(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    begin();
    world.came[0] = true; /* nobody begins with it */
    while (world.newest + 100 < COUNTERS) {
        uint64_t low = world.newest > 60 ? world.newest - 60 : 0;
        (void)comes(low + base_random_below(&random, 64));
        if (base_random_below(&random, 4) == 0) {
            uint32_t bits = swif_replay_shorten(&world.window, world.newest);
            for (uint64_t counter = low; counter < world.newest + 3; counter++) {
                bool is_new = swif_replay_is_new_to_short(bits, world.newest, counter);
                bool is_near = counter + SWIF_REPLAY_SHORT_BITS >= world.newest;
                assert_int_equal(is_new, is_near && !world.came[counter]);
            }
            swif_replay_widen(&world.window, world.newest, bits);
            for (uint64_t counter = low; counter < world.newest + 3; counter++) {
                assert_int_equal(swif_replay_is_new(&world.window, world.newest, counter),
                                 swif_replay_is_new_to_short(bits, world.newest, counter));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_in_turn_are_new_once),
        cmocka_unit_test(the_window_reaches_as_far_as_it_says),
        cmocka_unit_test(random_counters_are_new_once),
        cmocka_unit_test(a_window_is_short_for_a_while_and_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
