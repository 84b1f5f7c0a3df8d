/* Differences: exact at every alignment and length, bounded, and refused when malformed. */
#include "fagus/diff.h"

#include <stdlib.h>

#include "base/random.h"
#include "unit/unit.h"

enum { ROOM = 4096, GUARD = 0xa5 };

struct memory {
    _Alignas(64) unsigned char now[ROOM];
    _Alignas(64) unsigned char twin[ROOM];
    _Alignas(64) unsigned char target[ROOM];
    _Alignas(64) unsigned char differences[2 * ROOM];
};

static struct memory memory;

static void fill(struct base_random *random)
{
    for (size_t i = 0; i < ROOM; i++) {
        memory.twin[i] = (unsigned char)base_random_next(random);
    }
    memcpy(memory.now, memory.twin, ROOM);
    memcpy(memory.target, memory.twin, ROOM);
}

static void equal_memory_has_none(void **unused)
{
    (void)unused;
    struct base_random random = {1};
    fill(&random);
    assert_int_equal(fagus_diff_make(memory.now, memory.twin, ROOM, memory.differences, 0), 0);
    assert_int_equal(fagus_diff_make(memory.now + 3, memory.twin + 3, 0, memory.differences, 0), 0);
    assert_true(fagus_diff_apply(memory.target, ROOM, memory.differences, 0));
}

/* Random ranges, random changes in and around them: exactly the range is applied, and only words
 * that changed are sent. */
static void what_changed_inside_goes_and_nothing_else(void **unused)
{
    (void)unused;
    struct base_random random = {20261};
    for (int round = 0; round < 20000; round++) {
        fill(&random);
        uint64_t start = base_random_next(&random) % 600;
        uint64_t bytes = base_random_next(&random) % (round % 3 ? 40 : ROOM - 600);
        uint64_t changes = base_random_next(&random) % (round % 7 ? 6 : 2000);
        for (uint64_t i = 0; i < changes; i++) {
            memory.now[base_random_next(&random) % ROOM] ^=
                (unsigned char)(1u << base_random_next(&random) % 8);
        }
        uint64_t length = fagus_diff_make(memory.now + start, memory.twin + start, bytes,
                                          memory.differences, sizeof memory.differences);
        assert_true(length <= fagus_diff_bound(bytes));
        assert_true(fagus_diff_apply(memory.target + start, bytes, memory.differences, length));
        assert_memory_equal(memory.target + start, memory.now + start, bytes);
        assert_memory_equal(memory.target, memory.twin, start);
        assert_memory_equal(memory.target + start + bytes, memory.twin + start + bytes,
                            ROOM - start - bytes);
        if (length > 0) {
            assert_int_equal(fagus_diff_make(memory.now + start, memory.twin + start, bytes,
                                             memory.differences, length - 1),
                             FAGUS_DIFF_TOO_LONG);
        }
    }
}

static void a_word_costs_a_header_and_itself(void **unused)
{
    (void)unused;
    struct base_random random = {5};
    fill(&random);
    memory.now[1000] ^= 1;
    assert_int_equal(fagus_diff_make(memory.now, memory.twin, ROOM, memory.differences, 24), 24);
    memory.now[1001] ^= 1;
    assert_int_equal(fagus_diff_make(memory.now, memory.twin, ROOM, memory.differences, 24), 24);
    memory.now[0] ^= 1;
    assert_int_equal(fagus_diff_make(memory.now, memory.twin, ROOM, memory.differences, 48), 48);
}

/* Two writers of neighbouring words: neither's differences hold the other's word. */
static void writers_of_neighbouring_words_merge(void **unused)
{
    (void)unused;
    struct base_random random = {7};
    fill(&random);
    unsigned char second[512];
    uint64_t start = 4; /* the first word is cut */
    memory.now[8] ^= 0xff;
    memory.target[15 + 1] ^= 0xff;
    uint64_t length = fagus_diff_make(memory.now + start, memory.twin + start, 64,
                                      memory.differences, sizeof memory.differences);
    uint64_t second_length = fagus_diff_make(memory.target + start, memory.twin + start, 64, second,
                                             sizeof second);
    unsigned char expected[ROOM];
    memcpy(expected, memory.twin, ROOM);
    expected[8] ^= 0xff;
    expected[16] ^= 0xff;
    assert_true(fagus_diff_apply(memory.twin + start, 64, second, second_length));
    assert_true(fagus_diff_apply(memory.twin + start, 64, memory.differences, length));
    assert_memory_equal(memory.twin, expected, ROOM);
}

static void the_longest_fit_their_bound(void **unused)
{
    (void)unused;
    memset(memory.twin, 0, ROOM);
    memset(memory.now, 0xff, ROOM);
    for (uint64_t start = 0; start < 8; start++) {
        for (uint64_t bytes = 0; bytes < 1600; bytes++) {
            uint64_t length = fagus_diff_make(memory.now + start, memory.twin + start, bytes,
                                              memory.differences, sizeof memory.differences);
            assert_true(length <= fagus_diff_bound(bytes));
        }
    }
}

/* ---- Malformed ------------------------------------------------------------------------- */

struct one_block {
    uint64_t block;
    uint64_t bitmap;
    uint64_t words[2];
};

static bool refused(const void *differences, uint64_t length)
{
    memset(memory.target, GUARD, ROOM);
    bool applied = fagus_diff_apply(memory.target, 1024, differences, length);
    for (size_t i = 0; i < ROOM; i++) {
        if (memory.target[i] != GUARD) {
            return false;
        }
    }
    return !applied;
}

static void what_is_malformed_changes_nothing(void **unused)
{
    (void)unused;
    struct one_block good = {1, 3, {1, 2}};
    assert_false(refused(&good, sizeof good));
    for (uint64_t length = 1; length < sizeof good; length++) {
        assert_true(refused(&good, length));
    }
    assert_true(refused(&(struct one_block){2, 3, {1, 2}}, sizeof good));
    assert_true(refused(&(struct one_block){UINT64_MAX, 3, {1, 2}}, sizeof good));
    assert_true(refused(&(struct one_block){UINT64_MAX / 64 + 1, 3, {1, 2}}, sizeof good));
    assert_true(refused(&(struct one_block){1, 0, {1, 2}}, sizeof good));
    assert_true(refused(&(struct one_block){1, 7, {1, 2}}, sizeof good));
    struct one_block twice[2] = {good, good};
    assert_true(refused(twice, sizeof twice));
    struct one_block falling[2] = {good, {0, 3, {1, 2}}};
    assert_true(refused(falling, sizeof falling));
    /* A bit behind the range's last word. */
    memset(memory.target, GUARD, ROOM);
    struct one_block last = {1, UINT64_C(1) << 63 | 1, {1, 2}};
    assert_false(fagus_diff_apply(memory.target, 1016, &last, sizeof last));
    assert_true(fagus_diff_apply(memory.target, 1017, &last, sizeof last));
    assert_int_equal(memory.target[1016], 2);
    assert_int_equal(memory.target[1017], GUARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_memory_has_none),
        cmocka_unit_test(what_changed_inside_goes_and_nothing_else),
        cmocka_unit_test(a_word_costs_a_header_and_itself),
        cmocka_unit_test(writers_of_neighbouring_words_merge),
        cmocka_unit_test(the_longest_fit_their_bound),
        cmocka_unit_test(what_is_malformed_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
