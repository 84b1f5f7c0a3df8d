/* The range allocator against a map of every grain, and its promises one by one. */
#include "unit/unit.h"

#include <stdlib.h>

#include "base/extents.h"
#include "base/random.h"

enum { GRAIN = BASE_EXTENTS_GRAIN_BYTES };

#define MIB (UINT64_C(1) << 20)

static uint64_t take(struct base_extents *extents, uint64_t bytes, uint64_t alignment)
{
    uint64_t offset = UINT64_MAX;
    assert_true(base_extents_take(extents, bytes, alignment, &offset));
    assert_true(offset % alignment == 0 && offset % GRAIN == 0);
    assert_true(offset < extents->total_bytes && bytes <= extents->total_bytes - offset);
    return offset;
}

static void refused(struct base_extents *extents, uint64_t bytes, uint64_t alignment)
{
    uint64_t offset = 12345;
    assert_false(base_extents_take(extents, bytes, alignment, &offset));
    assert_true(offset == 12345);
}

/* ---- The reference: which grains are taken, looked through one by one ----- */

enum { REFERENCE_GRAINS = 4096, REFERENCE_RANGES = 512 };

struct reference {
    bool taken[REFERENCE_GRAINS];
    struct {
        uint64_t start;
        uint64_t grains;
    } ranges[REFERENCE_RANGES];
    uint32_t range_count;
};

static bool reference_is_free(const struct reference *reference, uint64_t start, uint64_t grains)
{
    for (uint64_t i = 0; i < grains; i++) {
        if (start + i >= REFERENCE_GRAINS || reference->taken[start + i]) {
            return false;
        }
    }
    return true;
}

static bool reference_has_room(const struct reference *reference, uint64_t grains,
                               uint64_t alignment)
{
    for (uint64_t start = 0; start < REFERENCE_GRAINS; start += alignment) {
        if (reference_is_free(reference, start, grains)) {
            return true;
        }
    }
    return false;
}

static void reference_set(struct reference *reference, uint64_t start, uint64_t grains, bool taken)
{
    for (uint64_t i = 0; i < grains; i++) {
        assert_true(reference->taken[start + i] != taken);
        reference->taken[start + i] = taken;
    }
}

/* Mostly small, now and then as large as everything. */
static uint64_t random_bytes(struct base_random *random)
{
    uint64_t limit = base_random_below(random, 8) == 0 ? REFERENCE_GRAINS * GRAIN : 40 * GRAIN;
    return base_random_below(random, 1 + base_random_below(random, limit + 1));
}

static void step_take(struct base_extents *extents, struct reference *reference,
                      struct base_random *random)
{
    uint64_t bytes = random_bytes(random);
    uint64_t alignment = UINT64_C(1) << base_random_below(random, 16);
    uint64_t grains = bytes == 0 ? 1 : (bytes + GRAIN - 1) / GRAIN;
    uint64_t alignment_grains = alignment < GRAIN ? 1 : alignment / GRAIN;
    if (!reference_has_room(reference, grains, alignment_grains)) {
        refused(extents, bytes, alignment);
        return;
    }
    uint64_t start = take(extents, bytes, alignment) / GRAIN;
    assert_true(reference_is_free(reference, start, grains));
    reference_set(reference, start, grains, true);
    reference->ranges[reference->range_count].start = start;
    reference->ranges[reference->range_count].grains = grains;
    reference->range_count++;
}

static void step_give(struct base_extents *extents, struct reference *reference,
                      struct base_random *random)
{
    uint32_t i = (uint32_t)base_random_below(random, reference->range_count);
    uint64_t start = reference->ranges[i].start;
    uint64_t grains = reference->ranges[i].grains;
    uint64_t bytes = 0;
    assert_true(base_extents_find(extents, start * GRAIN, &bytes));
    assert_true(bytes == grains * GRAIN);
    assert_true(base_extents_give(extents, start * GRAIN));
    assert_false(base_extents_find(extents, start * GRAIN, &bytes));
    assert_false(base_extents_give(extents, start * GRAIN));
    reference_set(reference, start, grains, false);
    reference->ranges[i] = reference->ranges[--reference->range_count];
}

static void run_against_reference(uint64_t seed)
{
    struct base_random random = {seed};
    struct base_extents extents;
    static struct reference reference;
    memset(&reference, 0, sizeof reference);
    print_message("seed %llu\n", (unsigned long long)seed);
    assert_true(base_extents_init(&extents, REFERENCE_GRAINS * GRAIN));
    for (int step = 0; step < 4000; step++) {
        /* In waves, so that it is nearly full and nearly empty in turn. */
        bool filling = step / 300 % 2 == 0;
        bool taking = base_random_below(&random, 10) < (filling ? 8 : 2);
        if (reference.range_count == 0 || (taking && reference.range_count < REFERENCE_RANGES)) {
            step_take(&extents, &reference, &random);
        } else {
            step_give(&extents, &reference, &random);
        }
    }
    while (reference.range_count > 0) {
        step_give(&extents, &reference, &random);
    }
    assert_true(take(&extents, REFERENCE_GRAINS * GRAIN, 1) == 0);
    base_extents_release(&extents);
}

static void it_agrees_with_a_naive_map(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        run_against_reference(seed);
    }
    run_against_reference(unit_now_ns());
}

/* ---- The promises ---------------------------------------------------------- */

static void two_instances_give_the_same_ranges(void **state)
{
    (void)state;
    enum { STEPS = 20000, KEPT = 300 };
    struct base_random random = {99};
    struct base_extents one;
    struct base_extents other;
    uint64_t kept[KEPT];
    uint32_t kept_count = 0;
    assert_true(base_extents_init(&one, 16 * MIB));
    assert_true(base_extents_init(&other, 16 * MIB));
    for (int step = 0; step < STEPS; step++) {
        if (kept_count < KEPT && base_random_below(&random, 2) == 0) {
            uint64_t bytes = base_random_below(&random, 300000);
            uint64_t alignment = UINT64_C(1) << base_random_below(&random, 22);
            uint64_t offset = 0;
            uint64_t other_offset = 0;
            bool taken = base_extents_take(&one, bytes, alignment, &offset);
            assert_int_equal(base_extents_take(&other, bytes, alignment, &other_offset), taken);
            assert_true(offset == other_offset);
            if (taken) {
                kept[kept_count++] = offset;
            }
        } else if (kept_count > 0) {
            uint32_t i = (uint32_t)base_random_below(&random, kept_count);
            assert_true(base_extents_give(&one, kept[i]));
            assert_true(base_extents_give(&other, kept[i]));
            kept[i] = kept[--kept_count];
        }
    }
    base_extents_release(&one);
    base_extents_release(&other);
}

static void every_alignment_up_to_the_whole_is_kept(void **state)
{
    (void)state;
    struct base_extents extents;
    assert_true(base_extents_init(&extents, 64 * MIB));
    for (uint64_t alignment = 32 * MIB; alignment > 0; alignment /= 2) {
        (void)take(&extents, 1, alignment);
    }
    /* With an alignment larger than the memory only offset 0 would do, and that is taken. */
    refused(&extents, 1, 64 * MIB);
    refused(&extents, 1, UINT64_C(1) << 63);
    base_extents_release(&extents);
    assert_true(base_extents_init(&extents, 64 * MIB));
    assert_true(take(&extents, 1, UINT64_C(1) << 63) == 0);
    base_extents_release(&extents);
}

static void the_whole_can_be_taken_whatever_its_size(void **state)
{
    (void)state;
    /* Include sizes in the middle of a class, where no class above has a range. */
    static const uint64_t grain_counts[] = {
        1,        2,       15,   16,   17,    31,      33,
        1000,     1023,    1024, 1025, 99999, 1 << 20, (1 << 20) + 1,
        16777216, 16777217};
    for (size_t i = 0; i < sizeof grain_counts / sizeof grain_counts[0]; i++) {
        struct base_extents extents;
        uint64_t bytes = grain_counts[i] * GRAIN;
        assert_true(base_extents_init(&extents, bytes + GRAIN - 1));
        assert_true(extents.total_bytes == bytes);
        refused(&extents, bytes + 1, 1);
        assert_true(take(&extents, bytes, 2 * MIB) == 0);
        refused(&extents, 0, 1);
        assert_true(base_extents_give(&extents, 0));
        assert_true(take(&extents, bytes - GRAIN + 1, 1) == 0);
        base_extents_release(&extents);
    }
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    struct base_extents extents;
    assert_true(base_extents_init(&extents, GRAIN - 1));
    refused(&extents, 0, 1);
    refused(&extents, 1, 1);
    assert_false(base_extents_give(&extents, 0));
    base_extents_release(&extents);
}

static void the_largest_sizes_do_not_overflow(void **state)
{
    (void)state;
    struct base_extents extents;
    assert_true(base_extents_init(&extents, UINT64_MAX));
    refused(&extents, UINT64_MAX, 1);
    assert_true(take(&extents, 1, 1) == 0);
    assert_true(take(&extents, 1, UINT64_C(1) << 63) == UINT64_C(1) << 63);
    refused(&extents, 1, UINT64_C(1) << 63);
    refused(&extents, UINT64_C(1) << 63, UINT64_C(1) << 62);
    (void)take(&extents, UINT64_C(1) << 62, UINT64_C(1) << 62);
    assert_true(base_extents_give(&extents, 0));
    assert_true(base_extents_give(&extents, UINT64_C(1) << 63));
    base_extents_release(&extents);
}

static void it_fills_up_and_joins_back_to_one(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct base_extents extents;
    struct base_random random = {5};
    static uint64_t offsets[COUNT];
    assert_true(base_extents_init(&extents, COUNT * GRAIN));
    for (uint32_t i = 0; i < COUNT; i++) {
        offsets[i] = take(&extents, 1 + base_random_below(&random, GRAIN), 1);
    }
    refused(&extents, 0, 1);
    /* Free every second one first, so that none has a free neighbour; then the rest at random, so
     * that joins happen before, behind and on both sides. */
    for (uint32_t i = 0; i < COUNT; i++) {
        if (offsets[i] / GRAIN % 2 == 0) {
            assert_true(base_extents_give(&extents, offsets[i]));
        }
    }
    refused(&extents, GRAIN + 1, 1);
    for (uint32_t i = COUNT - 1; i > 0; i--) {
        uint32_t j = (uint32_t)base_random_below(&random, i + 1);
        uint64_t swapped = offsets[i];
        offsets[i] = offsets[j];
        offsets[j] = swapped;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        if (offsets[i] / GRAIN % 2 != 0) {
            assert_true(base_extents_give(&extents, offsets[i]));
        }
    }
    assert_true(take(&extents, COUNT * GRAIN, 1) == 0);
    base_extents_release(&extents);
}

static void only_the_start_of_a_range_names_it(void **state)
{
    (void)state;
    struct base_extents extents;
    uint64_t bytes = 7;
    assert_true(base_extents_init(&extents, MIB));
    uint64_t offset = take(&extents, 3 * GRAIN, 4096);
    const uint64_t wrong[] = {offset + 1, offset + GRAIN, offset + 3 * GRAIN,
                              MIB,        UINT64_MAX,     offset + GRAIN - 1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(base_extents_find(&extents, wrong[i], &bytes));
        assert_false(base_extents_give(&extents, wrong[i]));
    }
    assert_true(bytes == 7);
    assert_true(base_extents_find(&extents, offset, &bytes));
    assert_true(bytes == 3 * GRAIN);
    assert_true(base_extents_give(&extents, offset));
    base_extents_release(&extents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_a_naive_map),
        cmocka_unit_test(two_instances_give_the_same_ranges),
        cmocka_unit_test(every_alignment_up_to_the_whole_is_kept),
        cmocka_unit_test(the_whole_can_be_taken_whatever_its_size),
        cmocka_unit_test(nothing_gives_nothing),
        cmocka_unit_test(the_largest_sizes_do_not_overflow),
        cmocka_unit_test(it_fills_up_and_joins_back_to_one),
        cmocka_unit_test(only_the_start_of_a_range_names_it),
    };
    return cmocka_run_group_tests_name("base/extents", tests, NULL, NULL);
}
