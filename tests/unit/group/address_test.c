/* Areas: names, generations, ranges, and readers that race with the owner. */
#include "unit/group.h"

#include "group/address.h"
#include "group/call.h"

enum { SLOTS = GROUP_AREAS - GROUP_AREA_FIRST_FREE };

static int find(const struct group_view *view, int rank, uint32_t area, uint64_t offset,
                uint64_t bytes, uint64_t *found)
{
    struct dn_remote remote = {.rank = rank, .area = area, .offset = offset};
    return group_area_find(view, remote, bytes, 0, found);
}

static void a_registered_area_is_found_by_everybody(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    uint32_t area = 0;
    uint64_t found = 0;
    assert_int_equal(group_area_register(&made.views[1], 1000, 100, 0, &area), 0);
    assert_false(group_area_is_built_in(area));
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(find(&made.views[rank], 1, area, 7, 93, &found), 0);
        assert_true(found == 1007);
    }
    /* The name means nothing at another rank. */
    found = 5;
    assert_int_equal(find(&made.views[1], 0, area, 0, 1, &found), DN_EAREA);
    assert_true(found == 5);
    unit_group_free(&made);
}

static void ranges_are_checked_without_overflow(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    uint32_t area = 0;
    assert_int_equal(group_area_register(&made.views[0], 64, 100, 0, &area), 0);
    static const struct {
        uint64_t offset;
        uint64_t bytes;
        int error;
    } cases[] = {
        {0, 0, 0},
        {0, 100, 0},
        {100, 0, 0},
        {99, 1, 0},
        {0, 101, DN_ERANGE},
        {1, 100, DN_ERANGE},
        {100, 1, DN_ERANGE},
        {101, 0, DN_ERANGE},
        {UINT64_MAX, 1, DN_ERANGE},
        {1, UINT64_MAX, DN_ERANGE},
        {UINT64_MAX, UINT64_MAX, DN_ERANGE},
        {UINT64_MAX - 99, 100, DN_ERANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t found = 5;
        assert_int_equal(find(&made.views[0], 0, area, cases[i].offset, cases[i].bytes, &found),
                         cases[i].error);
        assert_true(found == (cases[i].error ? 5 : 64 + cases[i].offset));
    }
    unit_group_free(&made);
}

static void a_name_is_stale_once_taken_back(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    uint32_t first = 0;
    uint32_t second = 0;
    uint64_t found = 0;
    assert_int_equal(group_area_register(view, 0, 64, 0, &first), 0);
    assert_int_equal(group_area_deregister(view, first), 0);
    assert_int_equal(find(view, 0, first, 0, 1, &found), DN_ESTALE);
    assert_int_equal(group_area_deregister(view, first), DN_ESTALE);
    /* The same slot, another name. */
    assert_int_equal(group_area_register(view, 128, 64, 0, &second), 0);
    assert_int_equal(second % GROUP_AREAS, first % GROUP_AREAS);
    assert_int_not_equal(second, first);
    assert_int_equal(find(view, 0, first, 0, 1, &found), DN_ESTALE);
    assert_int_equal(group_area_deregister(view, first), DN_ESTALE);
    assert_int_equal(find(view, 0, second, 0, 1, &found), 0);
    assert_true(found == 128);
    unit_group_free(&made);
}

static void names_never_given_are_unknown(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    uint32_t area = 0;
    assert_int_equal(group_area_register(view, 0, 64, 0, &area), 0);
    const uint32_t unknown[] = {
        0,
        DN_LLCM,
        DN_BANK,
        DN_HEAP,
        4,
        GROUP_AREAS - 1,
        area + 1,
        area - 1,
        UINT32_MAX,
        area + GROUP_AREAS, /* a generation to come */
        1 << GROUP_AREA_SLOT_BITS | DN_LLCM,
    };
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        uint64_t found = 5;
        assert_int_equal(find(view, 0, unknown[i], 0, 0, &found), DN_EAREA);
        assert_int_equal(group_area_deregister(view, unknown[i]), DN_EAREA);
        assert_true(found == 5);
    }
    assert_true(group_area_is_built_in(DN_LLCM) && group_area_is_built_in(DN_BANK) &&
                group_area_is_built_in(DN_HEAP));
    assert_false(group_area_is_built_in(0) || group_area_is_built_in(4) ||
                 group_area_is_built_in(UINT32_MAX));
    unit_group_free(&made);
}

static void the_table_fills_and_empties(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    uint32_t areas[SLOTS];
    uint32_t extra = 77;
    uint64_t found = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_false(group_area_table_is_full(view));
        assert_int_equal(group_area_register(view, i * 64, 64, 0, &areas[i]), 0);
    }
    assert_true(group_area_table_is_full(view));
    assert_int_equal(group_area_register(view, 0, 64, 0, &extra), DN_EFULL);
    assert_int_equal(extra, 77);
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_int_equal(find(view, 0, areas[i], 0, 64, &found), 0);
        assert_true(found == i * 64);
    }
    assert_int_equal(group_area_deregister(view, areas[100]), 0);
    assert_false(group_area_table_is_full(view));
    assert_int_equal(group_area_register(view, 0, 64, 0, &extra), 0);
    assert_int_equal(extra % GROUP_AREAS, areas[100] % GROUP_AREAS);
    unit_group_free(&made);
}

static void a_worn_out_slot_retires(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    struct group_area *slot = &view->ports[0].areas[GROUP_AREA_FIRST_FREE];
    uint32_t last = 0;
    uint32_t next = 0;
    uint64_t found = 0;
    atomic_store(&slot->state, (GROUP_AREA_GENERATIONS - 2) << 1);
    assert_int_equal(group_area_register(view, 0, 64, 0, &last), 0);
    assert_int_equal(last, UINT32_MAX << GROUP_AREA_SLOT_BITS | GROUP_AREA_FIRST_FREE);
    assert_int_equal(find(view, 0, last, 0, 64, &found), 0);
    assert_int_equal(group_area_deregister(view, last), 0);
    assert_int_equal(group_area_register(view, 0, 64, 0, &next), 0);
    assert_int_equal(next % GROUP_AREAS, GROUP_AREA_FIRST_FREE + 1);
    assert_int_equal(find(view, 0, last, 0, 64, &found), DN_ESTALE);
    unit_group_free(&made);
}

static void pointers_are_traced_to_their_area(void **state)
{
    (void)state;
    struct unit_group made;
    /* An LLCM that ends where the bank starts. */
    struct group_sizes sizes = {UINT64_C(2) << 20, 4096, 4096, 0};
    unit_group_make_sized(&made, 2, 2, sizes);
    const struct group_view *view = &made.views[1];
    unsigned char *llcm = group_segment(view, 1, DN_LLCM);
    unsigned char *bank = group_segment(view, 1, DN_BANK);
    unsigned char *heap = group_segment(view, 1, DN_HEAP);
    uint64_t offset = 5;
    assert_int_equal(group_area_holding(view, llcm + 9, 1, &offset), DN_LLCM);
    assert_true(offset == 9);
    assert_int_equal(group_area_holding(view, llcm, sizes.llcm_bytes, &offset), DN_LLCM);
    assert_ptr_equal(llcm + sizes.llcm_bytes, bank);
    assert_int_equal(group_area_holding(view, bank, 0, &offset), DN_BANK);
    assert_true(offset == 0);
    assert_int_equal(group_area_holding(view, heap + 4095, 1, &offset), DN_HEAP);
    assert_true(offset == 4095);

    offset = 5;
    const struct {
        const void *pointer;
        uint64_t bytes;
    } outside[] = {
        {llcm - 1, 1},
        {llcm, sizes.llcm_bytes + 1},
        {bank + 4095, 2},
        {bank + 4096, 0},
        {heap + 4096, 1},
        {heap, UINT64_MAX},
        {NULL, 0},
        {&made, 1},
        {group_segment(view, 0, DN_HEAP), 1}, /* another node's */
    };
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(group_area_holding(view, outside[i].pointer, outside[i].bytes, &offset),
                         0);
    }
    assert_true(offset == 5);
    unit_group_free(&made);
}

/* ---- Readers against the owner --------------------------------------------
 *
 * The owner registers and takes back one slot again and again; offset and length
 * follow from the generation alone. A reader that is told "found" must have been
 * given exactly what belongs to the generation it asked for. */

struct race {
    struct group_view *owner;
    struct group_view *reader;
    _Atomic uint32_t newest; /* a name; relaxed, so that only the table itself orders */
    _Atomic uint32_t found_count;
    _Atomic uint32_t stale_count;
    _Atomic bool over;
};

static uint64_t length_of(uint32_t area)
{
    return 64 + area / GROUP_AREAS % 1021;
}

/* Inside the node's memory, however many rounds there are: other entries are refused. */
static uint64_t offset_of(uint32_t area)
{
    return (uint64_t)(area / GROUP_AREAS % 65536) * 4096;
}

/* Whether readers have met both outcomes; otherwise the race has shown nothing. */
static bool is_met(struct race *race)
{
    return atomic_load(&race->found_count) > 10 && atomic_load(&race->stale_count) > 10;
}

static void own(struct race *race)
{
    uint64_t start_ns = unit_now_ns();
    uint64_t spent_ns = 0;
    uint32_t next = 1 << GROUP_AREA_SLOT_BITS | GROUP_AREA_FIRST_FREE;
    for (uint32_t round = 1;
         spent_ns < 400 * UNIT_MS || (!is_met(race) && spent_ns < UNIT_PATIENCE_NS); round++) {
        uint32_t area = 0;
        unit_expect(group_area_register(race->owner, offset_of(next), length_of(next), 0, &area) ==
                    0);
        unit_expect(area == next);
        atomic_store_explicit(&race->newest, area, memory_order_relaxed);
        /* Pauses of all lengths, including none, for readers to fall into. */
        for (uint32_t i = 0; i < round % 32; i++) {
            cpu_relax();
        }
        /* On one core, readers run at both times only with this. */
        if (round % 64 == 32) {
            sched_yield();
        }
        unit_expect(group_area_deregister(race->owner, area) == 0);
        if (round % 64 == 0) {
            sched_yield();
            spent_ns = unit_now_ns() - start_ns;
        }
        next += GROUP_AREAS;
    }
    atomic_store(&race->over, true);
}

static void read_area(struct race *race, uint32_t area)
{
    uint64_t found = 0;
    uint64_t length = length_of(area);
    int error = find(race->reader, 0, area, length - 1, 1, &found);
    unit_expect(error == 0 || error == DN_ESTALE);
    if (error == 0) {
        unit_expect(found == offset_of(area) + length - 1);
        atomic_fetch_add_explicit(&race->found_count, 1, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&race->stale_count, 1, memory_order_relaxed);
    }
    error = find(race->reader, 0, area, length, 1, &found);
    unit_expect(error == DN_ERANGE || error == DN_ESTALE);
    /* One ahead: it is not made yet, or has just been made. */
    error = find(race->reader, 0, area + GROUP_AREAS, 0, 1, &found);
    unit_expect(error == 0 || error == DN_EAREA || error == DN_ESTALE);
    if (error == 0) {
        unit_expect(found == offset_of(area + GROUP_AREAS));
    }
}

static void race_run(uint32_t number, void *context)
{
    struct race *race = context;
    if (number == 0) {
        own(race);
        return;
    }
    while (!atomic_load(&race->over)) {
        uint32_t area = atomic_load_explicit(&race->newest, memory_order_relaxed);
        if (area != 0) {
            read_area(race, area);
        }
    }
}

static void fields_always_belong_to_their_generation(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    struct race race = {.owner = &made.views[0], .reader = &made.views[1]};
    unit_run_threads(3, race_run, &race);
    assert_true(is_met(&race));
    unit_group_free(&made);
}

static void rights_are_the_owners_to_set(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    const struct group_view *owner = &made.views[1];
    const struct group_view *other = &made.views[0];
    struct dn_remote remote = {.rank = 1};
    struct group_area_extent extent;
    uint64_t found = 5;
    assert_int_equal(group_area_register(owner, 1000, 100, DN_WRITE, &remote.area), 0);
    assert_int_equal(group_area_find(other, remote, 8, DN_WRITE, &found), DN_ERIGHTS);
    assert_int_equal(group_area_find(other, remote, 101, DN_WRITE, &found), DN_ERANGE);
    assert_true(found == 5);
    assert_int_equal(group_area_find(other, remote, 8, DN_READ, &found), 0);
    assert_int_equal(group_area_find(other, remote, 8, 0, &found), 0);
    assert_int_equal(group_area_find(owner, remote, 8, DN_WRITE, &found), 0);
    assert_int_equal(group_area_restrict(owner, remote.area, DN_READ), 0);
    assert_int_equal(group_area_find(other, remote, 8, DN_WRITE, &found), 0);
    assert_int_equal(group_area_find(other, remote, 8, DN_READ, &found), DN_ERIGHTS);
    assert_int_equal(group_area_look(other, 1, remote.area, &extent), 0);
    assert_true(extent.offset == 1000 && extent.bytes == 100 && extent.denied == DN_READ);
    /* The slot's next area begins with its own. */
    uint32_t stale = remote.area;
    assert_int_equal(group_area_deregister(owner, stale), 0);
    assert_int_equal(group_area_restrict(owner, stale, 0), DN_ESTALE);
    assert_int_equal(group_area_restrict(owner, stale + 256, 0), DN_EAREA);
    assert_int_equal(group_area_restrict(owner, 0, 0), DN_EAREA);
    assert_int_equal(group_area_register(owner, 0, 100, 0, &remote.area), 0);
    assert_int_equal(remote.area % GROUP_AREAS, stale % GROUP_AREAS);
    assert_int_equal(group_area_find(other, remote, 8, DN_READ, &found), 0);
    unit_group_free(&made);
}

static void a_port_tells_that_a_built_in_area_is_restricted(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    const struct group_view *owner = &made.views[1];
    const _Atomic uint64_t *call = &owner->ports[1].call;
    for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
        uint32_t next = area % DN_HEAP + 1;
        assert_false(atomic_load(call) & GROUP_CALL_RESTRICTED);
        assert_int_equal(group_area_restrict(owner, area, DN_WRITE | DN_ATOMIC), 0);
        assert_true(atomic_load(call) & GROUP_CALL_RESTRICTED);
        assert_true(group_area_denies(&made.views[0], 1, area, DN_WRITE));
        assert_false(group_area_denies(&made.views[0], 1, area, DN_READ));
        assert_false(group_area_denies(&made.views[0], 0, area, DN_WRITE));
        assert_false(group_area_denies(owner, 1, area, DN_WRITE));
        assert_int_equal(group_area_restrict(owner, next, DN_READ), 0);
        assert_int_equal(group_area_restrict(owner, area, 0), 0);
        assert_true(atomic_load(call) & GROUP_CALL_RESTRICTED);
        assert_int_equal(group_area_restrict(owner, next, 0), 0);
    }
    assert_false(atomic_load(call) & GROUP_CALL_RESTRICTED);
    unit_group_free(&made);
}

/* Whatever is written over an entry, nobody leaves the owner's memory. */
static void an_entry_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    uint64_t stride = made.geometry.node_stride_bytes;
    const struct {
        uint64_t offset;
        uint64_t bytes;
    } entries[] = {
        {stride, 1},
        {stride - 63, 64},
        {0, stride + 1},
        {0, UINT64_MAX},
        {UINT64_MAX, 64},
        {UINT64_MAX - 63, 128},
        {UINT64_C(1) << 63, UINT64_C(1) << 63},
        {64, UINT64_MAX - 32},
    };
    uint32_t area;
    uint64_t found;
    assert_int_equal(group_area_register(&made.views[0], 4096, 64, 0, &area), 0);
    struct group_area *entry = &made.views[1].ports[0].areas[area % GROUP_AREAS];
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        atomic_store(&entry->offset, entries[i].offset);
        atomic_store(&entry->bytes, entries[i].bytes);
        assert_int_equal(find(&made.views[1], 0, area, 0, 1, &found), DN_EGROUP);
        assert_int_equal(find(&made.views[1], 0, area, UINT64_MAX - 64, 1, &found), DN_EGROUP);
    }
    atomic_store(&entry->offset, 0);
    atomic_store(&entry->bytes, stride);
    assert_int_equal(find(&made.views[1], 0, area, stride - 1, 1, &found), 0);
    assert_true(found == stride - 1);
    unit_group_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights_are_the_owners_to_set),
        cmocka_unit_test(a_port_tells_that_a_built_in_area_is_restricted),
        cmocka_unit_test(a_registered_area_is_found_by_everybody),
        cmocka_unit_test(ranges_are_checked_without_overflow),
        cmocka_unit_test(a_name_is_stale_once_taken_back),
        cmocka_unit_test(names_never_given_are_unknown),
        cmocka_unit_test(the_table_fills_and_empties),
        cmocka_unit_test(a_worn_out_slot_retires),
        cmocka_unit_test(an_entry_that_makes_no_sense_is_refused),
        cmocka_unit_test(pointers_are_traced_to_their_area),
        cmocka_unit_test(fields_always_belong_to_their_generation),
    };
    return cmocka_run_group_tests_name("nic/address", tests, NULL, NULL);
}
