/* The table of moved pages against a plain list of pages. */
#include "unit/unit.h"

#include "base/random.h"
#include "dimmnet.h"
#include "host/moved.h"

enum { PAGE = 4096, MODEL_PAGES = 64, ROUNDS = 20000, HELD_MAX = 24 };

#define TOTAL_BYTES (UINT64_C(1) << 30)
#define FIXED_BYTES (TOTAL_BYTES / 4)
#define BASE ((uintptr_t)0x7f0000000000)

static struct host_moved moved;

static uintptr_t page(uint64_t number)
{
    return BASE + number * PAGE;
}

static uint64_t hold(uint64_t first, uint64_t count)
{
    uint64_t place = 0;
    assert_int_equal(host_moved_place(&moved, page(first), count * PAGE, &place), 0);
    host_moved_hold(&moved, page(first), count * PAGE, place);
    return place;
}

static void neighbours_lie_side_by_side(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t low = hold(10, 4);
    /* They share page 13, as two arrays in one block of memory do. */
    uint64_t high = hold(13, 4);
    assert_true(high == low + UINT64_C(3) * PAGE);
    assert_true(low >= FIXED_BYTES);
    assert_int_equal(moved.count, 3);
    host_moved_release(&moved, page(10), 4 * PAGE);
    assert_int_equal(moved.count, 1);
    assert_true(moved.ranges[0].start == page(13) && moved.ranges[0].bytes == 4 * PAGE);
    host_moved_release(&moved, page(13), 4 * PAGE);
    assert_int_equal(moved.count, 0);
}

static void whoever_comes_second_gives_way(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t apart = (TOTAL_BYTES - FIXED_BYTES) / PAGE; /* the same lower bits */
    uint64_t first = hold(5, 3);
    uint64_t second = hold(5 + apart, 3);
    assert_true(second >= first + 3 * PAGE || second + UINT64_C(3) * PAGE <= first);
    assert_true(second >= FIXED_BYTES && second + UINT64_C(3) * PAGE <= TOTAL_BYTES);
    /* A page that only touches the second moves with it. */
    assert_true(hold(7 + apart, 2) == second + UINT64_C(2) * PAGE);
}

static void what_lies_apart_cannot_be_one_piece(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t place = 77;
    assert_int_equal(host_moved_check_place(&moved, page(4), PAGE, 0), 0);
    host_moved_hold(&moved, page(4), PAGE, 0);
    (void)hold(6, 1);
    assert_int_equal(host_moved_place(&moved, page(4), 3 * PAGE, &place), DN_EBUSY);
    assert_true(place == 77);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t place = 77;
    assert_int_equal(host_moved_place(&moved, BASE, TOTAL_BYTES - FIXED_BYTES + PAGE, &place),
                     DN_ENOMEM);
    assert_int_equal(host_moved_place(&moved, BASE, UINT64_C(1) << 46, &place), DN_ENOMEM);
    for (uint64_t i = 0; i < HOST_MOVED_HOLDS; i++) {
        (void)hold(i % 3, 1 + i % 7);
    }
    assert_int_equal(host_moved_place(&moved, page(0), PAGE, &place), DN_EFULL);
    assert_int_equal(host_moved_check_place(&moved, page(0), PAGE, 0), DN_EFULL);
    assert_true(place == 77);
}

static void fixed_places_are_kept(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t place;
    assert_int_equal(host_moved_check_place(&moved, page(0), PAGE, 1), DN_ERANGE);
    assert_int_equal(host_moved_check_place(&moved, page(0), 2 * PAGE, FIXED_BYTES - PAGE),
                     DN_ERANGE);
    assert_int_equal(host_moved_check_place(&moved, page(0), 2 * PAGE, UINT64_MAX - PAGE + 1),
                     DN_ERANGE);
    assert_int_equal(host_moved_check_place(&moved, page(0), 2 * PAGE, 8 * PAGE), 0);
    host_moved_hold(&moved, page(0), 2 * PAGE, 8 * PAGE);
    /* The same place again is fine, another is not, and nobody else may be there. */
    assert_int_equal(host_moved_check_place(&moved, page(1), PAGE, 9 * PAGE), 0);
    assert_int_equal(host_moved_check_place(&moved, page(1), PAGE, 10 * PAGE), DN_EBUSY);
    assert_int_equal(host_moved_check_place(&moved, page(7), PAGE, 9 * PAGE), DN_EBUSY);
    assert_int_equal(host_moved_place(&moved, page(1), 2 * PAGE, &place), 0);
    assert_true(place == 9 * PAGE);
}

static void pieces_are_found(void **state)
{
    (void)state;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    uint64_t place;
    uint64_t low = hold(10, 4);
    (void)hold(12, 4); /* three ranges with different counts */
    assert_true(host_moved_find(&moved, page(10), 6 * PAGE, &place) && place == low);
    assert_true(host_moved_find(&moved, page(13) + 5, 3 * PAGE - 5, &place));
    assert_true(place == low + UINT64_C(3) * PAGE + 5);
    assert_false(host_moved_find(&moved, page(13) + 5, 3 * PAGE - 4, &place));
    assert_false(host_moved_find(&moved, page(10) - 1, 1, &place));
    assert_false(host_moved_find(&moved, page(16), 1, &place));
    assert_false(host_moved_find(&moved, page(10), UINT64_MAX, &place));
}

/* ---- Against a model ------------------------------------------------------------- */

struct held {
    uint64_t first;
    uint64_t count;
};

static void compare(const uint32_t counts[MODEL_PAGES])
{
    uint32_t index = 0;
    for (uint64_t number = 0; number < MODEL_PAGES; number++) {
        uint64_t place;
        bool found = host_moved_find(&moved, page(number), PAGE, &place);
        assert_int_equal(found, counts[number] > 0);
        while (index < moved.count &&
               moved.ranges[index].start + moved.ranges[index].bytes <= page(number)) {
            index++;
        }
        if (found) {
            assert_true(moved.ranges[index].start <= page(number));
            assert_int_equal(moved.ranges[index].count, counts[number]);
        }
    }
    for (uint32_t i = 0; i + 1 < moved.count; i++) {
        assert_true(moved.ranges[i].start + moved.ranges[i].bytes <= moved.ranges[i + 1].start);
    }
}

/* Checks gaps, and parts with at most one hold, through the questions that callers ask. */
static void compare_questions(const uint32_t counts[MODEL_PAGES], uint64_t first, uint64_t count)
{
    uintptr_t end = page(first + count);
    uintptr_t gap_start;
    uintptr_t gap_end;
    struct host_moved_range part;
    bool is_gap[MODEL_PAGES] = {false};
    bool is_last[MODEL_PAGES] = {false};
    for (uintptr_t at = page(first); host_moved_gap(&moved, at, end, &gap_start, &gap_end);
         at = gap_end) {
        for (uintptr_t address = gap_start; address < gap_end; address += PAGE) {
            is_gap[(address - BASE) / PAGE] = true;
        }
    }
    for (uintptr_t at = page(first); host_moved_held(&moved, at, end, 1, &part);
         at = part.start + part.bytes) {
        for (uintptr_t address = part.start; address < part.start + part.bytes; address += PAGE) {
            is_last[(address - BASE) / PAGE] = true;
        }
    }
    for (uint64_t number = 0; number < MODEL_PAGES; number++) {
        bool inside = number >= first && number < first + count;
        assert_int_equal(is_gap[number], inside && counts[number] == 0);
        assert_int_equal(is_last[number], inside && counts[number] == 1);
    }
}

static void agrees_with_a_list_of_pages(void **state)
{
    (void)state;
    struct base_random random = {.state = unit_now_ns()};
    print_message("seed %llu\n", (unsigned long long)random.state);
    uint32_t counts[MODEL_PAGES] = {0};
    struct held held[HELD_MAX];
    uint32_t held_count = 0;
    host_moved_init(&moved, TOTAL_BYTES, PAGE);
    for (int round = 0; round < ROUNDS; round++) {
        struct held one;
        bool takes = held_count == 0 ||
                     (held_count < HELD_MAX && base_random_below(&random, 2) == 0);
        uint32_t chosen = (uint32_t)base_random_below(&random, held_count + !held_count);
        if (takes) {
            one.first = base_random_below(&random, MODEL_PAGES);
            one.count = 1 + base_random_below(&random, MODEL_PAGES - one.first);
            held[held_count++] = one;
            (void)hold(one.first, one.count);
        } else {
            one = held[chosen];
            held[chosen] = held[--held_count];
            host_moved_release(&moved, page(one.first), one.count * PAGE);
        }
        for (uint64_t i = 0; i < one.count; i++) {
            counts[one.first + i] += takes ? 1u : UINT32_MAX;
        }
        compare(counts);
        compare_questions(counts, one.first, one.count);
        assert_int_equal(moved.hold_count, held_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_lie_side_by_side),
        cmocka_unit_test(whoever_comes_second_gives_way),
        cmocka_unit_test(what_lies_apart_cannot_be_one_piece),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(fixed_places_are_kept),
        cmocka_unit_test(pieces_are_found),
        cmocka_unit_test(agrees_with_a_list_of_pages),
    };
    return cmocka_run_group_tests_name("host/moved", tests, NULL, NULL);
}
