/* Laying out the group's memory, and refusing a layout that does not fit. */
#include "unit/group.h"

#include "base/random.h"

#define HUGE_BYTES (UINT64_C(2) << 20)
#define LIMIT_BYTES (UINT64_C(1) << 46)
#define GIB (UINT64_C(1) << 30)

static void check_layout(uint32_t node_count, const struct group_sizes *sizes, uint64_t page_bytes)
{
    struct group_geometry made;
    assert_int_equal(group_geometry(node_count, sizes, page_bytes, &made), 0);
    assert_int_equal(made.node_count, node_count);
    const uint64_t asked[] = {sizes->llcm_bytes, sizes->bank_bytes, sizes->heap_bytes};
    const uint64_t given[] = {made.sizes.llcm_bytes, made.sizes.bank_bytes, made.sizes.heap_bytes};
    for (int i = 0; i < 3; i++) {
        assert_true(given[i] >= asked[i] && given[i] - asked[i] < page_bytes);
        assert_true(given[i] % page_bytes == 0);
    }
    /* In this order, without overlap, with huge pages where they help. */
    assert_true(made.ports_offset >= sizeof(struct group_memory));
    assert_true(made.ports_offset % page_bytes == 0);
    assert_true(made.nodes_offset >= made.ports_offset + node_count * sizeof(struct group_port));
    assert_true(made.segment_offset[DN_LLCM] == 0);
    assert_true(made.segment_offset[DN_BANK] >= given[0]);
    assert_true(made.segment_offset[DN_HEAP] >= made.segment_offset[DN_BANK] + given[1]);
    assert_true(made.service_offset >= made.segment_offset[DN_HEAP] + given[2]);
    assert_true(made.registered_offset >= made.service_offset + GROUP_SERVICE_BYTES);
    assert_true(made.node_stride_bytes >= made.registered_offset + made.sizes.registered_bytes);
    assert_true(made.total_bytes == made.nodes_offset + node_count * made.node_stride_bytes);
    assert_true(made.nodes_offset % HUGE_BYTES == 0);
    assert_true(made.segment_offset[DN_BANK] % HUGE_BYTES == 0);
    /* The heap's size decides what its own node maps it at a multiple of. */
    uint64_t alignment = made.heap_alignment;
    assert_true(alignment >= HUGE_BYTES && (alignment & (alignment - 1)) == 0);
    assert_true(alignment <= given[2] || alignment == HUGE_BYTES);
    assert_true(alignment > given[2] / 2 || alignment == LIMIT_BYTES / 2);
    assert_true(made.segment_offset[DN_HEAP] % HUGE_BYTES == 0);
    assert_true(made.registered_offset % HUGE_BYTES == 0);
    /* The same place of two nodes near each other differs below bit 28. */
    assert_true(made.node_stride_bytes % (2 * HUGE_BYTES) == HUGE_BYTES);
    assert_true(made.sizes.registered_bytes >=
                (sizes->registered_bytes ? sizes->registered_bytes : HUGE_BYTES));
    assert_true(made.sizes.registered_bytes % page_bytes == 0);
}

/* Lays out what is chosen there, and checks that a checker of the group chooses the same. */
static void choose(uint32_t node_count, const struct group_sizes *sizes, uint64_t page_bytes,
                   struct group_geometry *made)
{
    struct group_memory group = {0};
    struct group_facts facts = {.core_count = 1};
    assert_int_equal(group_geometry(node_count, sizes, page_bytes, &facts.geometry), 0);
    group_group_init(&group, &facts);
    *made = facts.geometry;
    assert_int_equal(group_group_check(&group, made->total_bytes, &facts), 0);
    assert_memory_equal(&facts.geometry.sizes, &made->sizes, sizeof made->sizes);
    assert_true(facts.geometry.heap_alignment == made->heap_alignment);
    assert_true(facts.geometry.total_bytes == made->total_bytes);
}

static uint64_t chosen_bytes(uint32_t node_count, uint64_t bank_bytes)
{
    const struct group_sizes sizes = {4096, bank_bytes, 4096, 0};
    struct group_geometry made;
    choose(node_count, &sizes, 4096, &made);
    return made.sizes.registered_bytes;
}

static void registered_memory_takes_what_the_others_leave(void **state)
{
    (void)state;
    assert_true(chosen_bytes(1, 4096) == GROUP_REGISTERED_BYTES);
    assert_true(chosen_bytes(256, UINT64_C(1) << 30) == GROUP_REGISTERED_BYTES);
    uint64_t of_many = chosen_bytes(GROUP_NODES_MAX, UINT64_C(1) << 30);
    assert_true(of_many > UINT64_C(4) << 30 && of_many < GROUP_REGISTERED_BYTES);
    assert_true(chosen_bytes(1, LIMIT_BYTES / 2) == HUGE_BYTES);
}

static void large_heaps_leave_registered_memory_alone(void **state)
{
    (void)state;
    static const struct {
        uint32_t node_count;
        uint64_t heap_bytes;
        uint64_t registered_bytes; /* at least */
    } cases[] = {
        {1, 16384 * GIB - HUGE_BYTES, GROUP_REGISTERED_BYTES},
        {32, 511 * GIB, GROUP_REGISTERED_BYTES},
        {72, 198 * GIB, GROUP_REGISTERED_BYTES},
        {128, 127 * GIB, GROUP_REGISTERED_BYTES},
        {256, 63 * GIB, 62 * GIB},
        {GROUP_NODES_MAX, GIB, 4 * GIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct group_sizes sizes = {128 << 10, GIB, cases[i].heap_bytes, 0};
        struct group_geometry made;
        choose(cases[i].node_count, &sizes, 4096, &made);
        assert_in_range(made.sizes.registered_bytes, cases[i].registered_bytes,
                        GROUP_REGISTERED_BYTES);
        check_layout(cases[i].node_count, &sizes, 4096);
    }
}

/* Whoever attaches finds what whoever made the group has chosen, whatever the sizes are. */
static void whoever_attaches_lays_out_the_same(void **state)
{
    (void)state;
    const char *given = getenv("DN_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : unit_now_ns();
    struct base_random random = {seed};
    print_message("DN_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 100000; i++) {
        uint64_t shift = base_random_below(&random, 13);
        uint32_t node_count = 1 + (uint32_t)(base_random_below(&random, GROUP_NODES_MAX) >> shift);
        struct group_sizes sizes;
        uint64_t *const each[] = {&sizes.llcm_bytes, &sizes.bank_bytes, &sizes.heap_bytes,
                                  &sizes.registered_bytes};
        for (size_t j = 0; j < sizeof each / sizeof each[0]; j++) {
            shift = 18 + base_random_below(&random, 46);
            *each[j] = 1 + (base_random_next(&random) >> shift);
        }
        sizes.registered_bytes = i % 2 == 0 ? 0 : sizes.registered_bytes;
        uint64_t page_bytes = UINT64_C(4096) << base_random_below(&random, 5);
        struct group_geometry made;
        if (group_geometry(node_count, &sizes, page_bytes, &made) == 0) {
            choose(node_count, &sizes, page_bytes, &made);
            check_layout(node_count, &sizes, page_bytes);
        }
    }
}

static void segments_lie_apart(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 64, 65, GROUP_NODES_MAX};
    static const struct group_sizes sizes[] = {
        {1, 1, 1, 0},
        {4096, 4097, 65536, 0},
        {UINT64_C(128) << 10, UINT64_C(1) << 30, UINT64_C(1) << 30, 0},
        {HUGE_BYTES, HUGE_BYTES, HUGE_BYTES, 0},
        {HUGE_BYTES + 1, HUGE_BYTES - 1, UINT64_C(5) << 30, 0},
        {4096, 4096, 4096, 1},
        {1, 1, 1, HUGE_BYTES + 1},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            for (uint64_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 4) {
                check_layout(counts[i], &sizes[j], page_bytes);
            }
        }
    }
}

static void impossible_groups_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t node_count;
        struct group_sizes sizes;
        int error;
    } cases[] = {
        {0, {1, 1, 1, 0}, DN_EINVAL},
        {GROUP_NODES_MAX + 1, {1, 1, 1, 0}, DN_EINVAL},
        {UINT32_MAX, {1, 1, 1, 0}, DN_EINVAL},
        {1, {0, 1, 1, 0}, DN_EINVAL},
        {1, {1, 0, 1, 0}, DN_EINVAL},
        {1, {1, 1, 0, 0}, DN_EINVAL},
        {1, {UINT64_MAX, 1, 1, 0}, DN_ERANGE},
        {1, {1, UINT64_MAX, 1, 0}, DN_ERANGE},
        {1, {1, 1, UINT64_MAX, 0}, DN_ERANGE},
        {1, {LIMIT_BYTES, LIMIT_BYTES, LIMIT_BYTES, 0}, DN_ERANGE},
        {1, {1, LIMIT_BYTES, 1, 0}, DN_ERANGE},
        {GROUP_NODES_MAX, {1, LIMIT_BYTES / GROUP_NODES_MAX, 1, 0}, DN_ERANGE},
        {1, {1, 1, 1, UINT64_MAX}, DN_ERANGE},
        {2, {1, 1, 1, LIMIT_BYTES / 2}, DN_ERANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct group_geometry made;
        struct group_geometry before;
        memset(&made, 0x5a, sizeof made);
        before = made;
        assert_int_equal(group_geometry(cases[i].node_count, &cases[i].sizes, 4096, &made),
                         cases[i].error);
        assert_memory_equal(&made, &before, sizeof made);
    }
    struct group_sizes sizes = {1, LIMIT_BYTES / 2, 1, 0};
    check_layout(1, &sizes, 4096);
    sizes.bank_bytes = LIMIT_BYTES / GROUP_NODES_MAX / 2;
    check_layout(GROUP_NODES_MAX, &sizes, 4096);
}

static void a_fresh_group_is_believed(void **state)
{
    (void)state;
    struct unit_group made;
    struct group_facts facts;
    unit_group_make(&made, 3, 2);
    uint64_t bytes = made.geometry.total_bytes;
    assert_int_equal(group_group_check(made.group, bytes, &facts), 0);
    assert_int_equal(group_group_check(made.group, bytes - 1, &facts), DN_EGROUP);
    assert_int_equal(group_group_check(made.group, bytes + 1, &facts), DN_EGROUP);
    assert_int_equal(group_group_check(made.group, 0, &facts), DN_EGROUP);
    assert_int_equal(made.group->core_count, 2);
    unit_group_free(&made);
}

static void a_changed_group_is_not_believed(void **state)
{
    (void)state;
    struct unit_group made;
    struct group_facts facts;
    unit_group_make(&made, 3, 2);
    struct group_geometry *geometry = &made.group->geometry;
    uint64_t bytes = made.geometry.total_bytes;

    made.group->magic++;
    assert_int_equal(group_group_check(made.group, bytes, &facts), DN_EGROUP);
    made.group->magic--;
    made.group->layout_version++;
    assert_int_equal(group_group_check(made.group, bytes, &facts), DN_EVERSION);
    made.group->layout_version--;
    geometry->node_count++;
    assert_int_equal(group_group_check(made.group, bytes, &facts), DN_EGROUP);
    geometry->node_count--;

    uint64_t *const fields[] = {
        &geometry->sizes.llcm_bytes,
        &geometry->sizes.bank_bytes,
        &geometry->sizes.heap_bytes,
        &geometry->ports_offset,
        &geometry->nodes_offset,
        &geometry->node_stride_bytes,
        &geometry->segment_offset[DN_LLCM],
        &geometry->segment_offset[DN_BANK],
        &geometry->segment_offset[DN_HEAP],
        &geometry->sizes.registered_bytes,
        &geometry->service_offset,
        &geometry->registered_offset,
        &geometry->heap_alignment,
        &geometry->total_bytes,
    };
    /* A huge page more may fit before the next node. */
    static const uint64_t changes[] = {1, (uint64_t)-1, 64, 2 * HUGE_BYTES, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        for (size_t j = 0; j < sizeof changes / sizeof changes[0]; j++) {
            *fields[i] += changes[j];
            assert_int_equal(group_group_check(made.group, bytes, &facts), DN_EGROUP);
            *fields[i] -= changes[j];
        }
    }
    assert_int_equal(group_group_check(made.group, bytes, &facts), 0);
    unit_group_free(&made);
}

/* No alignment but the one that follows from the sizes, be it a power of two or not. */
static void an_alignment_that_does_not_follow_is_not_believed(void **state)
{
    (void)state;
    const struct group_sizes sizes = {4096, 4096, GIB, 0};
    struct group_memory group = {0};
    struct group_facts facts = {.core_count = 1};
    assert_int_equal(group_geometry(1, &sizes, 4096, &facts.geometry), 0);
    uint64_t bytes = facts.geometry.total_bytes;
    group_group_init(&group, &facts);
    assert_true(group.geometry.heap_alignment == GIB);
    assert_int_equal(group_group_check(&group, bytes, &facts), 0);
    static const uint64_t others[] = {0, 1, 4096, HUGE_BYTES, 3 * HUGE_BYTES, GIB / 2, GIB - 1};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        group.geometry.heap_alignment = others[i];
        assert_int_equal(group_group_check(&group, bytes, &facts), DN_EGROUP);
    }
    for (uint64_t large = 2 * GIB; large; large *= 2) {
        group.geometry.heap_alignment = large;
        assert_int_equal(group_group_check(&group, bytes, &facts), DN_EGROUP);
    }
}

/* Nodes can write the head at any time: whoever has looked at it once does not look again. */
static void a_view_keeps_what_the_head_said(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 3, 2);
    const struct group_view *view = &made.views[1];
    const struct group_view before = *view;
    unsigned char *service = group_service_memory(view, 2);
    unsigned char *registered = group_registered_memory(view, 2);
    unsigned char *heap = group_segment(view, 2, DN_HEAP);
    uint64_t heap_bytes = group_segment_bytes(view, DN_HEAP);
    const struct group_facts facts = view->facts;
    assert_true(group_head_is_whole(made.group, &facts));
    static const uint64_t hostile[] = {0, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40, 7};
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        uint64_t *word = (uint64_t *)(void *)made.group;
        uint64_t *end = (uint64_t *)(void *)(&made.group->geometry + 1);
        while (word < end) {
            *word++ = hostile[i];
        }
        assert_memory_equal(view, &before, sizeof before);
        assert_ptr_equal(group_service_memory(view, 2), service);
        assert_ptr_equal(group_registered_memory(view, 2), registered);
        assert_ptr_equal(group_segment(view, 2, DN_HEAP), heap);
        assert_true(group_segment_bytes(view, DN_HEAP) == heap_bytes);
        assert_false(group_head_is_whole(made.group, &facts));
    }
    unit_group_free(&made);
}

/* Whether [start, start + bytes) lies in the group's file and touches no byte that
 * was claimed before; claims it. */
static void claim(unsigned char *claimed, const struct unit_group *made, const void *start,
                  uint64_t bytes)
{
    uint64_t first = (uint64_t)((const unsigned char *)start - (unsigned char *)made->group);
    assert_true(first < made->geometry.total_bytes && bytes <= made->geometry.total_bytes - first);
    assert_true(first % CACHE_LINE_BYTES == 0);
    for (uint64_t line = first / 64; line < (first + bytes + 63) / 64; line++) {
        assert_int_equal(claimed[line], 0);
        claimed[line] = 1;
    }
}

static void views_give_every_node_memory_of_its_own(void **state)
{
    (void)state;
    enum { NODES = 3 };
    struct unit_group made;
    unit_group_make(&made, NODES, 2);
    unsigned char *claimed = test_calloc(made.geometry.total_bytes / 64 + 1, 1);
    claim(claimed, &made, made.group, sizeof *made.group);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        const struct group_view *view = &made.views[rank];
        assert_int_equal(view->rank, rank);
        assert_int_equal(view->node_count, NODES);
        claim(claimed, &made, &view->ports[rank], sizeof view->ports[rank]);
        claim(claimed, &made, group_service_memory(view, rank), GROUP_SERVICE_BYTES);
        claim(claimed, &made, group_registered_memory(view, rank),
              made.geometry.sizes.registered_bytes);
        assert_true((uintptr_t)&view->ports[rank] % alignof(struct group_port) == 0);
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            claim(claimed, &made, group_segment(view, rank, area), group_segment_bytes(view, area));
            /* All views agree on where it is. */
            assert_ptr_equal(group_segment(&made.views[0], rank, area),
                             group_segment(view, rank, area));
        }
    }
    test_free(claimed);
    unit_group_free(&made);
}

static void segment_sizes_are_told_by_area(void **state)
{
    (void)state;
    struct unit_group made;
    struct group_sizes sizes = {4096, 8192, 12288, 0};
    unit_group_make_sized(&made, 1, 1, sizes);
    assert_true(group_segment_bytes(&made.views[0], DN_LLCM) == 4096);
    assert_true(group_segment_bytes(&made.views[0], DN_BANK) == 8192);
    assert_true(group_segment_bytes(&made.views[0], DN_HEAP) == 12288);
    unit_group_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_lie_apart),
        cmocka_unit_test(registered_memory_takes_what_the_others_leave),
        cmocka_unit_test(large_heaps_leave_registered_memory_alone),
        cmocka_unit_test(whoever_attaches_lays_out_the_same),
        cmocka_unit_test(impossible_groups_are_refused),
        cmocka_unit_test(a_fresh_group_is_believed),
        cmocka_unit_test(a_changed_group_is_not_believed),
        cmocka_unit_test(an_alignment_that_does_not_follow_is_not_believed),
        cmocka_unit_test(a_view_keeps_what_the_head_said),
        cmocka_unit_test(views_give_every_node_memory_of_its_own),
        cmocka_unit_test(segment_sizes_are_told_by_area),
    };
    return cmocka_run_group_tests_name("nic/memory", tests, NULL, NULL);
}
