/* The journal of a run: a second run that does the same finds nothing, and the first step that is
 * another one is named with its node, its time and what it was. */
#define _GNU_SOURCE
#include "sim/program/journal.h"

#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dimmnet.h"
#include "unit/unit.h"
#include "wire/turn.h"

enum { MANY = 10000, HASH = 4711 };

static char sentence[JOURNAL_SENTENCE_BYTES];

static struct journal_entry entry(uint64_t at_ns, uint16_t rank, enum turn_word word,
                                  uint64_t amount, uint32_t peer)
{
    return (struct journal_entry){.at_ps = at_ns * 1000,
                                  .amount = journal_amount(amount, peer),
                                  .print = 1,
                                  .rank = rank,
                                  .word = (uint16_t)word};
}

/* Two nodes that store, wait and compute in turn, so many steps of them. */
static struct journal_entry step(unsigned number)
{
    static const enum turn_word words[] = {TURN_STORE, TURN_WAIT, TURN_COMPUTE};
    return entry(12000 + number, number % 2, words[number % 3], 8,
                 number % 3 == 0 ? 1 : JOURNAL_NOBODY);
}

/* A first run of so many steps; gives the file. */
static int run_first(unsigned count, bool is_threaded)
{
    int fd = memfd_create("journal", MFD_CLOEXEC);
    assert_true(fd >= 0);
    struct journal *journal = journal_open(fd, false);
    assert_non_null(journal);
    for (unsigned i = 0; i < count; i++) {
        struct journal_entry one = step(i);
        assert_true(journal_add(journal, &one));
    }
    assert_true(journal_end(journal, 99000000, HASH, is_threaded));
    journal_close(journal);
    return fd;
}

/* A second run whose step `other` is `instead`; gives whether it was the same. */
static bool run_second(int fd, unsigned count, unsigned other, struct journal_entry instead,
                       uint64_t hash)
{
    struct journal *journal = journal_open(fd, true);
    assert_non_null(journal);
    bool is_same = true;
    for (unsigned i = 0; i < count && is_same; i++) {
        struct journal_entry one = i == other ? instead : step(i);
        is_same = journal_add(journal, &one);
        assert_true(is_same || i == other || i >= count - 1);
    }
    is_same = is_same && journal_end(journal, 99000000, hash, false);
    if (!is_same) {
        journal_explain(journal, false, sentence);
        /* It is said once. */
        assert_true(journal_add(journal, &instead));
        assert_true(journal_end(journal, 1, 1, false));
    }
    journal_close(journal);
    (void)close(fd);
    return is_same;
}

static void has(const char *part)
{
    if (!strstr(sentence, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, sentence);
    }
}

static void equal_runs_are_equal(void **state)
{
    static const unsigned counts[] = {0, 1, 4095, 4096, 4097, MANY};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int fd = run_first(counts[i], false);
        assert_true(run_second(fd, counts[i], UINT_MAX, step(0), HASH));
    }
}

static void other_content_is_named(void **state)
{
    static const unsigned places[] = {0, 6, 4095, 4098, MANY - 1};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char when[64];
        struct journal_entry other = step(places[i]);
        other.print = 2;
        assert_false(run_second(run_first(MANY, false), MANY, places[i], other, HASH));
        (void)snprintf(when, sizeof when, "at %u,%03u ns of virtual time node %u ",
                       (12000 + places[i]) / 1000, (12000 + places[i]) % 1000, places[i] % 2);
        has(when);
    }
    struct journal_entry store = step(6);
    store.print = 2;
    assert_false(run_second(run_first(10, false), 10, 6, store, HASH));
    has("node 0 stored 8 bytes to node 1 with other content (the time of day");
}

static void another_amount_or_deed_is_named(void **state)
{
    (void)state;
    assert_false(run_second(run_first(10, false), 10, 2,
                            entry(12002, 0, TURN_COMPUTE, 12, JOURNAL_NOBODY), HASH));
    has("at 12,002 ns of virtual time node 0 computed 12 ns; in the first run it computed 8 ns");
    assert_false(
        run_second(run_first(10, false), 10, 2, entry(12002, 0, TURN_PACKET, 24, 1), HASH));
    has("node 0 sent a packet of 24 bytes to node 1; in the first run it computed 8 ns");
    assert_false(run_second(run_first(10, false), 10, 2,
                            entry(12002, 0, TURN_LIFE, DN_DEAD, JOURNAL_NOBODY), HASH));
    has("node 0 died; in the first run it computed");
}

static void the_earlier_of_two_times_counts(void **state)
{
    (void)state;
    struct journal_entry early = step(3);
    early.at_ps -= 500;
    assert_false(run_second(run_first(10, false), 10, 3, early, HASH));
    has("at 12,002.500 ns of virtual time node 1 stored 8 bytes to node 1, and in the first run it "
        "did not");
    struct journal_entry late = entry(15000, 0, TURN_WAIT, 0, JOURNAL_NOBODY);
    assert_false(run_second(run_first(10, false), 10, 3, late, HASH));
    has("at 12,003 ns of virtual time node 1 stored 8 bytes to node 1 in the first run only");
    has("node 0, which waited at 15,000 ns");
}

static void more_and_fewer_steps_are_named(void **state)
{
    (void)state;
    assert_false(run_second(run_first(10, false), 9, UINT_MAX, step(0), HASH));
    has("at 12,009 ns of virtual time node 1 stored 8 bytes to node 1 in the first run only; the "
        "second ended at 99,000 ns");
    assert_false(run_second(run_first(10, false), 11, UINT_MAX, step(0), HASH));
    has("at 12,010 ns of virtual time node 0 waited, and the first run had ended");
}

static void another_hash_is_a_difference(void **state)
{
    (void)state;
    assert_false(run_second(run_first(10, false), 10, UINT_MAX, step(0), HASH + 1));
    has("the same up to 12,009 ns");
}

static void threads_are_the_likely_reason(void **state)
{
    (void)state;
    struct journal_entry other = step(3);
    other.print = 2;
    assert_false(run_second(run_first(10, true), 10, 3, other, HASH));
    has("several of its threads call the library");
}

static void a_file_without_a_journal_is_refused(void **state)
{
    (void)state;
    int fd = memfd_create("journal", MFD_CLOEXEC);
    assert_null(journal_open(fd, true));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_are_equal),
        cmocka_unit_test(other_content_is_named),
        cmocka_unit_test(another_amount_or_deed_is_named),
        cmocka_unit_test(the_earlier_of_two_times_counts),
        cmocka_unit_test(more_and_fewer_steps_are_named),
        cmocka_unit_test(another_hash_is_a_difference),
        cmocka_unit_test(threads_are_the_likely_reason),
        cmocka_unit_test(a_file_without_a_journal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
