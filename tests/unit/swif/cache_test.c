/* Context caches: a taken line is found again, the least recently used goes first, and one that its
 * owner keeps never goes. */
#include "unit/unit.h"

#include "base/random.h"
#include "swif/cache.h"

enum { COUNT = 64, WAYS = 4, PEERS = 500, STEPS = 200000, NOBODY = -1 };

/* What the cache should hold. */
struct model {
    int32_t peer[COUNT]; /* by line */
    uint64_t used[COUNT];
    bool kept[COUNT];
    uint64_t clock;
};

static struct model model;
static struct swif_cache cache;
static struct swif_cache_line lines[1024];

static bool may_evict(void *owner, uint32_t index)
{
    const struct model *of = owner;
    return !of->kept[index];
}

static bool may_evict_any(void *owner, uint32_t index)
{
    (void)owner;
    (void)index;
    return true;
}

static void clear(uint32_t count, uint32_t ways)
{
    memset(lines, 0, sizeof lines);
    swif_cache_init(&cache, lines, count, ways);
    model = (struct model){.clock = 0};
    for (uint32_t i = 0; i < COUNT; i++) {
        model.peer[i] = NOBODY;
    }
}

static uint32_t line_of(uint16_t peer)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        if (model.peer[i] == peer) {
            return i;
        }
    }
    return SWIF_NO_CONTEXT;
}

/* Takes a line and checks that it is the one that it should be. */
static void take(uint16_t peer)
{
    int32_t evicted = -2;
    uint32_t index = swif_cache_take(&cache, peer, may_evict, &model, &evicted);
    if (index == SWIF_NO_CONTEXT) {
        return;
    }
    assert_true(index < COUNT);
    assert_int_equal(evicted, model.peer[index]);
    uint32_t first = index / WAYS * WAYS;
    for (uint32_t i = first; i < first + WAYS && evicted != NOBODY; i++) {
        assert_true(model.peer[i] != NOBODY); /* a free line would have been taken */
        assert_true(i == index || model.kept[i] || model.used[i] > model.used[index]);
    }
    assert_false(model.kept[index]);
    model.peer[index] = peer;
    model.used[index] = ++model.clock;
}

static void random_use_agrees_with_a_model(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    clear(COUNT, WAYS);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint16_t peer = (uint16_t)base_random_below(&random, PEERS);
        uint32_t line = line_of(peer);
        assert_int_equal(swif_cache_peek(&cache, peer), line);
        switch (base_random_below(&random, 4)) {
        case 0:
        case 1:
            assert_int_equal(swif_cache_find(&cache, peer), line);
            if (line == SWIF_NO_CONTEXT) {
                take(peer);
            } else {
                assert_int_equal(cache.lines[line].key, peer + 1);
                model.used[line] = ++model.clock;
            }
            break;
        case 2:
            if (line != SWIF_NO_CONTEXT) {
                model.kept[line] = !model.kept[line];
            }
            break;
        default:
            if (line != SWIF_NO_CONTEXT && base_random_below(&random, 4) == 0) {
                swif_cache_free(&cache, line);
                model.peer[line] = NOBODY;
                model.kept[line] = false;
            }
        }
    }
}

static void none_is_given_while_the_owner_keeps_the_whole_set(void **state)
{
    (void)state;
    int32_t evicted;
    clear(4, 4);
    for (uint16_t peer = 0; peer < 4; peer++) {
        uint32_t index = swif_cache_take(&cache, peer, may_evict, &model, &evicted);
        assert_int_equal(evicted, -1);
        model.kept[index] = true;
    }
    assert_int_equal(swif_cache_take(&cache, 4, may_evict, &model, &evicted), SWIF_NO_CONTEXT);
    model.kept[swif_cache_peek(&cache, 2)] = false;
    uint32_t index = swif_cache_take(&cache, 4, may_evict, &model, &evicted);
    assert_int_equal(evicted, 2);
    assert_int_equal(swif_cache_peek(&cache, 4), index);
    assert_int_equal(swif_cache_peek(&cache, 2), SWIF_NO_CONTEXT);
}

static void looking_without_using_leaves_the_order(void **state)
{
    (void)state;
    int32_t evicted;
    clear(2, 2);
    (void)swif_cache_take(&cache, 10, may_evict, &model, &evicted);
    (void)swif_cache_take(&cache, 11, may_evict, &model, &evicted);
    (void)swif_cache_peek(&cache, 10);
    (void)swif_cache_take(&cache, 12, may_evict, &model, &evicted);
    assert_int_equal(evicted, 10);
    (void)swif_cache_find(&cache, 11);
    (void)swif_cache_take(&cache, 13, may_evict, &model, &evicted);
    assert_int_equal(evicted, 12);
}

static void the_clock_may_come_round(void **state)
{
    (void)state;
    int32_t evicted;
    clear(2, 2);
    cache.clock = UINT32_MAX - 1;
    (void)swif_cache_take(&cache, 10, may_evict, &model, &evicted);
    (void)swif_cache_take(&cache, 11, may_evict, &model, &evicted);
    (void)swif_cache_take(&cache, 12, may_evict, &model, &evicted);
    assert_int_equal(evicted, 10);
}

/* With a context for every peer none is ever evicted. */
static void as_many_lines_as_peers_are_enough(void **state)
{
    (void)state;
    for (uint32_t count = 4; count <= 1024; count *= 2) {
        clear(count, WAYS);
        for (uint32_t peer = 0; peer < count; peer++) {
            int32_t evicted = 0;
            (void)swif_cache_take(&cache, (uint16_t)peer, may_evict_any, NULL, &evicted);
            assert_int_equal(evicted, -1);
        }
    }
}

static void peers_at_power_of_two_distances_spread(void **state)
{
    (void)state;
    for (uint32_t stride = 1; stride <= 1024; stride *= 2) {
        uint32_t evictions = 0;
        clear(64, WAYS);
        for (uint32_t i = 0; i < 32; i++) {
            int32_t evicted = 0;
            (void)swif_cache_take(&cache, (uint16_t)(i * stride), may_evict_any, NULL, &evicted);
            evictions += evicted >= 0;
        }
        assert_true(evictions <= 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_agrees_with_a_model),
        cmocka_unit_test(none_is_given_while_the_owner_keeps_the_whole_set),
        cmocka_unit_test(looking_without_using_leaves_the_order),
        cmocka_unit_test(the_clock_may_come_round),
        cmocka_unit_test(as_many_lines_as_peers_are_enough),
        cmocka_unit_test(peers_at_power_of_two_distances_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
