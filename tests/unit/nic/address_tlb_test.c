/* The address TLB: areas found by name, ranges checked, nothing reachable after forget. */
#include "unit/unit.h"

#include "base/random.h"
#include "nic/address_tlb.h"

enum { SLOTS = 512, MEMORY_BYTES = SLOTS * 1000 };

/* A node's areas: slot s of generation g has the name g << 9 | s. */
struct areas {
    struct nic_extent extents[SLOTS];
    uint32_t generations[SLOTS];
    bool registered[SLOTS];
    uint32_t finds;
};

static struct areas areas;
static struct nic_address_tlb tlb;
static struct nic_address_way ways[NIC_ADDRESS_SETS * NIC_ADDRESS_WAYS];

static int find(void *context, uint32_t area, struct nic_extent *extent)
{
    struct areas *of = context;
    of->finds++;
    uint32_t slot = area % SLOTS;
    uint32_t generation = area / SLOTS;
    if (generation > of->generations[slot]) {
        return DN_EAREA;
    }
    if (generation < of->generations[slot] || !of->registered[slot]) {
        return DN_ESTALE;
    }
    *extent = of->extents[slot];
    return 0;
}

static const struct nic_local_memory memory = {
    .context = &areas,
    .bytes = MEMORY_BYTES,
    .find = find,
};

static void make(void)
{
    memset(&areas, 0, sizeof areas);
    memset(&tlb, 0xff, sizeof tlb);
    memset(ways, 0, sizeof ways);
    nic_address_tlb_init(&tlb, ways);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        areas.extents[slot] = (struct nic_extent){.offset = slot * 1000, .bytes = 1000};
        areas.registered[slot] = true;
    }
}

static uint32_t name_of(uint32_t slot)
{
    return areas.generations[slot] * SLOTS + slot;
}

static int translate(uint32_t area, uint64_t offset, uint64_t bytes, uint64_t *address)
{
    return nic_address_tlb_translate(&tlb, &memory, area, offset, bytes, (struct nic_access){0},
                                     address);
}

static int translate_for(uint32_t area, uint64_t offset, uint32_t right, uint64_t *address)
{
    return nic_address_tlb_translate(&tlb, &memory, area, offset, 8,
                                     (struct nic_access){.right = right}, address);
}

static void assert_lies_at(uint32_t area, uint64_t offset, uint64_t expected)
{
    uint64_t address = UINT64_MAX;
    assert_int_equal(translate(area, offset, 8, &address), 0);
    assert_int_equal(address, expected);
}

static void assert_refused(int error, uint32_t area, uint64_t offset, uint64_t bytes)
{
    uint64_t address = 12345;
    assert_int_equal(translate(area, offset, bytes, &address), error);
    assert_int_equal(address, 12345);
}

static void an_area_is_asked_for_once(void **state)
{
    (void)state;
    make();
    assert_lies_at(5, 16, 5016);
    assert_lies_at(5, 24, 5024);
    assert_lies_at(5, 0, 5000);
    assert_int_equal(areas.finds, 1);
    assert_int_equal(tlb.misses, 1);
    assert_int_equal(tlb.hits, 2);
}

static void ranges_are_checked_without_overflow(void **state)
{
    (void)state;
    make();
    uint64_t address;
    /* The first round misses, the second hits. */
    for (uint32_t round = 0; round < 2; round++) {
        assert_int_equal(translate(3, 0, 1000, &address), 0);
        assert_int_equal(address, 3000);
        assert_int_equal(translate(3, 999, 1, &address), 0);
        assert_int_equal(address, 3999);
        assert_int_equal(translate(3, 1000, 0, &address), 0);
        assert_refused(DN_ERANGE, 3, 1000, 1);
        assert_refused(DN_ERANGE, 3, 1001, 0);
        assert_refused(DN_ERANGE, 3, 993, 8);
        assert_refused(DN_ERANGE, 3, 0, 1001);
        assert_refused(DN_ERANGE, 3, UINT64_MAX, 1);
        assert_refused(DN_ERANGE, 3, UINT64_MAX - 7, 8);
        assert_refused(DN_ERANGE, 3, 8, UINT64_MAX);
        assert_refused(DN_ERANGE, 3, 8, UINT64_MAX - 7);
        assert_refused(DN_ERANGE, 3, UINT64_MAX, UINT64_MAX);
    }
}

static void skipping_is_bounded_by_the_memory_alone(void **state)
{
    (void)state;
    make();
    uint64_t address = 12345;
    assert_int_equal(nic_address_tlb_translate_skip(&tlb, &memory, MEMORY_BYTES - 7, 8, &address),
                     DN_ERANGE);
    assert_int_equal(nic_address_tlb_translate_skip(&tlb, &memory, UINT64_MAX - 7, 8, &address),
                     DN_ERANGE);
    assert_int_equal(nic_address_tlb_translate_skip(&tlb, &memory, UINT64_MAX, 1, &address),
                     DN_ERANGE);
    assert_int_equal(address, 12345);
    assert_int_equal(nic_address_tlb_translate_skip(&tlb, &memory, MEMORY_BYTES - 8, 8, &address),
                     0);
    assert_int_equal(address, MEMORY_BYTES - 8);
    /* Across the border of two areas. */
    assert_int_equal(nic_address_tlb_translate_skip(&tlb, &memory, 996, 8, &address), 0);
    assert_int_equal(address, 996);
    assert_int_equal(tlb.skips, 5);
    assert_int_equal(tlb.hits + tlb.misses, 0);
    assert_int_equal(areas.finds, 0);
}

static void refusals_are_passed_on_and_not_remembered(void **state)
{
    (void)state;
    make();
    uint32_t future = name_of(7) + SLOTS;
    assert_refused(DN_EAREA, future, 0, 8);
    assert_refused(DN_EAREA, future, 0, 8);
    assert_int_equal(areas.finds, 2);
    areas.generations[7]++;
    assert_lies_at(future, 0, 7000);
    assert_refused(DN_ESTALE, 7, 0, 8);
}

static void a_forgotten_area_is_unreachable(void **state)
{
    (void)state;
    make();
    assert_lies_at(9, 0, 9000);
    assert_lies_at(9 + NIC_ADDRESS_SETS, 0, (9 + NIC_ADDRESS_SETS) * 1000);
    areas.registered[9] = false;
    nic_address_tlb_forget(&tlb, 9);
    assert_refused(DN_ESTALE, 9, 0, 8);
    /* The other area of the set is still there. */
    assert_lies_at(9 + NIC_ADDRESS_SETS, 0, (9 + NIC_ADDRESS_SETS) * 1000);
    assert_int_equal(tlb.hits, 1);
    nic_address_tlb_forget(&tlb, 9);
    nic_address_tlb_forget(&tlb, 10);
}

/* Older and younger names of the same slot are other areas, also while one of them is held. */
static void generations_are_told_apart(void **state)
{
    (void)state;
    make();
    uint32_t old_name = name_of(4);
    assert_lies_at(old_name, 0, 4000);
    areas.generations[4]++;
    areas.extents[4] = (struct nic_extent){.offset = 100, .bytes = 50};
    nic_address_tlb_forget(&tlb, old_name);
    assert_lies_at(name_of(4), 8, 108);
    assert_refused(DN_ESTALE, old_name, 8, 8);
    assert_refused(DN_EAREA, name_of(4) + SLOTS, 8, 8);
    assert_lies_at(name_of(4), 8, 108);
}

static void a_set_keeps_the_four_used_last(void **state)
{
    (void)state;
    make();
    for (uint32_t i = 0; i < 4; i++) {
        assert_lies_at(2 + i * NIC_ADDRESS_SETS, 0, (2 + i * NIC_ADDRESS_SETS) * 1000);
    }
    assert_lies_at(2, 0, 2000);
    assert_lies_at(2 + 4 * NIC_ADDRESS_SETS, 0, (2 + 4 * NIC_ADDRESS_SETS) * 1000);
    assert_int_equal(tlb.misses, 5);
    assert_lies_at(2, 0, 2000);
    assert_int_equal(tlb.misses, 5);
    assert_lies_at(2 + NIC_ADDRESS_SETS, 0, (2 + NIC_ADDRESS_SETS) * 1000);
    assert_int_equal(tlb.misses, 6);
}

/* Areas come and go; an answer from the TLB is always the answer of the memory. */
static void random_use_agrees_with_the_memory(void **state)
{
    (void)state;
    const uint64_t seed = 77001;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct base_random random = {seed};
    make();
    for (uint32_t step = 0; step < 300000; step++) {
        uint32_t slot = (uint32_t)base_random_below(&random, SLOTS);
        if (base_random_below(&random, 10) == 0) {
            areas.registered[slot] = !areas.registered[slot];
            if (areas.registered[slot]) {
                areas.generations[slot]++;
                uint64_t offset = base_random_below(&random, MEMORY_BYTES);
                uint64_t bytes = base_random_below(&random, MEMORY_BYTES - offset + 1);
                areas.extents[slot] = (struct nic_extent){.offset = offset, .bytes = bytes};
            } else {
                nic_address_tlb_forget(&tlb, name_of(slot));
            }
        }
        /* Two areas of each set are asked for often, so that there are hits. */
        slot = base_random_below(&random, 2) ? slot : slot % (2 * NIC_ADDRESS_SETS);
        uint32_t back = base_random_below(&random, 4) == 0 && areas.generations[slot] > 0;
        uint32_t area = name_of(slot) - back * SLOTS;
        uint64_t offset = base_random_below(&random, MEMORY_BYTES);
        struct nic_extent extent;
        int expected = find(&areas, area, &extent);
        if (expected == 0 && (offset > extent.bytes || extent.bytes - offset < 8)) {
            expected = DN_ERANGE;
        }
        uint64_t address;
        assert_int_equal(translate(area, offset, 8, &address), expected);
        if (expected == 0) {
            assert_int_equal(address, extent.offset + offset);
        }
    }
    assert_true(tlb.hits > 10000 && tlb.misses > 10000);
}

static void rights_are_remembered_until_forgotten(void **state)
{
    (void)state;
    uint64_t address = 0;
    make();
    areas.extents[3].denied = DN_WRITE;
    for (int round = 0; round < 2; round++) {
        uint32_t finds = areas.finds;
        assert_int_equal(translate_for(3, 8, DN_WRITE, &address), DN_ERIGHTS);
        assert_int_equal(address, 0);
        /* Leaving the area is the first mistake. */
        assert_int_equal(translate_for(3, 993, DN_WRITE, &address), DN_ERANGE);
        assert_int_equal(areas.finds, finds + (round == 0));
    }
    assert_int_equal(translate_for(3, 8, DN_READ, &address), 0);
    assert_int_equal(address, 3008);
    areas.extents[3].denied = DN_READ;
    nic_address_tlb_forget(&tlb, 3);
    assert_int_equal(translate_for(3, 8, DN_READ, &address), DN_ERIGHTS);
    assert_int_equal(translate_for(3, 8, DN_WRITE, &address), 0);
}

/* An area of a group is nobody else's; this node's kernel may go anywhere. */
static void an_area_is_its_groups(void **state)
{
    (void)state;
    uint64_t address;
    make();
    areas.extents[3].pgid = 7;
    for (unsigned i = 0; i < 2; i++) { /* a miss, then a hit */
        struct nic_access access = {DN_WRITE, 7};
        assert_int_equal(nic_address_tlb_translate(&tlb, &memory, 3, 8, 8, access, &address), 0);
        assert_int_equal(address, 3008);
        access.pgid = 8;
        assert_int_equal(nic_address_tlb_translate(&tlb, &memory, 3, 8, 8, access, &address),
                         DN_ERIGHTS);
        assert_int_equal(tlb.foreign, i + 1);
    }
    assert_int_equal(translate_for(3, 8, DN_WRITE, &address), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights_are_remembered_until_forgotten),
        cmocka_unit_test(an_area_is_asked_for_once),
        cmocka_unit_test(ranges_are_checked_without_overflow),
        cmocka_unit_test(skipping_is_bounded_by_the_memory_alone),
        cmocka_unit_test(refusals_are_passed_on_and_not_remembered),
        cmocka_unit_test(a_forgotten_area_is_unreachable),
        cmocka_unit_test(generations_are_told_apart),
        cmocka_unit_test(a_set_keeps_the_four_used_last),
        cmocka_unit_test(random_use_agrees_with_the_memory),
        cmocka_unit_test(an_area_is_its_groups),
    };
    return cmocka_run_group_tests_name("nic/address_tlb", tests, NULL, NULL);
}
