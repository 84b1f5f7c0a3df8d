/* The program's static data at fixed places. The library is linked in here, so its own
 * data moves along with the test's. */
#include "unit/unit.h"

#include <stdlib.h>

#include "host/node.h"
#include "host/program_data.h"

static uint64_t initialised[1000] = {1, 2, 3};
static uint64_t zeroed[100000];
static uint64_t *pointer_to_it = &zeroed[77];

static struct dn_node *node;
static struct host_program_range ranges[HOST_PROGRAM_RANGES];
static uint32_t range_count;

static int attach(void **state)
{
    (void)state;
    static const struct dn_options options = {.struct_bytes = sizeof options};
    return host_attach(&node, &options);
}

static int detach(void **state)
{
    (void)state;
    return host_detach(node);
}

/* The range that holds an object, or NULL. */
static const struct host_program_range *range_of(const void *object, uint64_t bytes)
{
    for (uint32_t i = 0; i < range_count; i++) {
        uintptr_t start = (uintptr_t)object;
        if (start >= ranges[i].start && start + bytes <= ranges[i].start + ranges[i].bytes) {
            return &ranges[i];
        }
    }
    return NULL;
}

static void data_is_found(void **state)
{
    (void)state;
    static const char text[] = "text";
    assert_int_equal(host_program_data(ranges, &range_count), 0);
    assert_true(range_count >= 1);
    assert_non_null(range_of(initialised, sizeof initialised));
    assert_non_null(range_of(zeroed, sizeof zeroed));
    assert_non_null(range_of(&pointer_to_it, sizeof pointer_to_it));
    assert_null(range_of(text, sizeof text));
    assert_null(range_of(&state, sizeof state));
    for (uint32_t i = 0; i < range_count; i++) {
        assert_true(ranges[i].bytes > 0 && ranges[i].start % 4096 == 0);
        assert_true(i == 0 || ranges[i].start >= ranges[i - 1].start + ranges[i - 1].bytes);
        assert_true(ranges[i].start - ranges[i].link_offset ==
                    ranges[0].start - ranges[0].link_offset);
    }
}

static void places_are_checked(void **state)
{
    (void)state;
    uint64_t fixed_bytes = node->process->memory.moved.fixed_bytes;
    assert_true(fixed_bytes > UINT64_C(1) << 30);
    assert_int_equal(host_memory_move(node->process, zeroed, 0, 0), DN_EINVAL);
    assert_int_equal(host_memory_move(node->process, zeroed, 8, fixed_bytes), DN_ERANGE);
    assert_int_equal(host_memory_move(node->process, zeroed, 8, 1), DN_ERANGE);
    assert_int_equal(host_memory_move(node->process, node->lane.ports, 8, 0), DN_ERANGE);
    assert_int_equal(host_memory_move(node->process, &state, 8, 0), DN_ESTACK);
}

/* TSan has a thread of its own, which takes no signal, and it delays handlers: nothing can be moved
 * there. */
#ifndef __SANITIZE_THREAD__
static void move_data(void)
{
    assert_int_equal(host_program_data(ranges, &range_count), 0);
    for (uint32_t i = 0; i < range_count; i++) {
        const void *start = (const void *)ranges[i].start;
        assert_int_equal(
            host_memory_move(node->process, start, ranges[i].bytes, ranges[i].link_offset), 0);
    }
}

static void move_data_back(void)
{
    assert_int_equal(host_memory_restore(node->process), 0);
}

/* Where a peer finds an object. */
static void *seen_by_others(const void *object, uint64_t bytes)
{
    const struct host_program_range *range = range_of(object, bytes);
    const struct group_view *view = &node->process->view;
    assert_non_null(range);
    return group_registered_memory(view, view->rank) + range->link_offset +
           ((uintptr_t)object - range->start);
}

static void data_moves_to_its_place(void **state)
{
    (void)state;
    unit_needs_true_mappings();
    uint64_t offset;
    initialised[500] = 5;
    move_data();
    assert_int_equal(initialised[1], 2);
    assert_int_equal(initialised[500], 5);
    assert_int_equal(zeroed[99999], 0);
    uint64_t *remote = seen_by_others(zeroed, sizeof zeroed);
    remote[77] = 99;
    assert_int_equal(*(volatile uint64_t *)pointer_to_it, 99);
    zeroed[78] = 98;
    assert_int_equal(*(volatile uint64_t *)&remote[78], 98);
    assert_true(host_memory_offset(node->process, &zeroed[77], 8, &offset));
    assert_ptr_equal(group_node_memory(&node->process->view, 0) + offset, &remote[77]);
    move_data_back();
    assert_int_equal(zeroed[77], 99);
    assert_int_equal(initialised[500], 5);
    assert_false(host_memory_offset(node->process, &zeroed[77], 8, &offset));
    remote[77] = 1;
    assert_int_equal(*(volatile uint64_t *)pointer_to_it, 99);
}

/* A registered variable is found by its name, and held by both. */
static void moved_data_can_be_registered(void **state)
{
    (void)state;
    unit_needs_true_mappings();
    uint32_t area;
    uint64_t offset;
    move_data();
    assert_int_equal(host_memory_register(node->process, zeroed, sizeof zeroed, 0, &area), 0);
    assert_true(host_memory_area_holding(node->process, &zeroed[7], &area, &offset));
    assert_int_equal(host_memory_deregister(node->process, area), 0);
    assert_true(host_memory_offset(node->process, zeroed, sizeof zeroed, &offset));
    assert_int_equal(host_memory_register(node->process, zeroed, sizeof zeroed, 0, &area), 0);
    move_data_back();
    assert_false(host_memory_offset(node->process, zeroed, 1, &offset));
    assert_int_equal(host_memory_deregister(node->process, area), DN_ESTALE);
}

static atomic_bool ends;

static void count_up(uint32_t number, void *context)
{
    (void)context;
    if (number == 0) {
        for (int turn = 0; turn < 100; turn++) {
            move_data();
            move_data_back();
        }
        atomic_store(&ends, true);
        return;
    }
    for (uint64_t round = 0; !atomic_load(&ends); round++) {
        for (size_t i = number; i < 100000; i += 500) {
            volatile uint64_t *word = &zeroed[i];
            unit_expect(round == 0 || *word == round - 1);
            *word = round;
        }
    }
}

static void threads_do_not_notice(void **state)
{
    (void)state;
    unit_needs_true_mappings();
    unit_run_threads(4, count_up, NULL);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_found),           cmocka_unit_test(places_are_checked),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(data_moves_to_its_place), cmocka_unit_test(moved_data_can_be_registered),
        cmocka_unit_test(threads_do_not_notice),
#endif
    };
    return cmocka_run_group_tests_name("host/memory", tests, attach, detach);
}
