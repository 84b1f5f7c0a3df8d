/* Frames between launcher and agent: what is put can be taken, and nothing else can. */
#include "cli/remote/frame.h"

#include <stdlib.h>

#include "unit/unit.h"
#include "base/random.h"

static const uint32_t numbers[FRAME_WORDS_MAX] = {1, 0xffffffff, 0x12345678, 4, 5, 6, 7, 8};

static const enum frame_sender senders[FRAME_KIND_COUNT] = {
#define KIND(name, sender, words, tail_bytes_max) [FRAME_##name] = sender,
    FRAME_KINDS(KIND)
#undef KIND
};

static const uint32_t tails[FRAME_KIND_COUNT] = {
#define KIND(name, sender, words, tail_bytes_max) [FRAME_##name] = tail_bytes_max,
    FRAME_KINDS(KIND)
#undef KIND
};

static uint32_t words_bytes(enum frame_kind kind)
{
    return (uint32_t)remote_frame_bytes(kind, 0) - FRAME_HEADER_BYTES;
}

static enum frame_verdict take(const unsigned char *bytes, size_t available,
                               enum frame_sender sender, struct frame *frame, size_t *whole)
{
    /* A block of exactly that size, so that a read behind it is a fault. */
    unsigned char *copy = malloc(available + 1);
    memcpy(copy, bytes, available);
    enum frame_verdict verdict = remote_frame_take(copy, available, sender, frame, whole);
    if (verdict == FRAME_IS_WHOLE) {
        assert_true(frame->tail >= copy && frame->tail + frame->tail_bytes <= copy + available);
        frame->tail = bytes + (frame->tail - copy);
    }
    free(copy);
    return verdict;
}

static void what_is_put_is_taken(void **state)
{
    (void)state;
    for (enum frame_kind kind = FRAME_NONE + 1; kind < FRAME_KIND_COUNT; kind++) {
        size_t tail_bytes = tails[kind] < 100 ? tails[kind] : 100;
        unsigned char tail[100];
        unsigned char bytes[256];
        memset(tail, (int)kind, sizeof tail);
        (void)remote_frame_put(bytes, kind, numbers, tail, tail_bytes);
        size_t length = remote_frame_bytes(kind, tail_bytes);
        struct frame frame;
        size_t whole = 0;
        for (size_t cut = 0; cut < length; cut++) {
            assert_int_equal(take(bytes, cut, senders[kind], &frame, &whole), FRAME_IS_CUT);
        }
        assert_int_equal(take(bytes, length + 9, senders[kind], &frame, &whole), FRAME_IS_WHOLE);
        assert_int_equal(whole, length);
        assert_int_equal(frame.kind, kind);
        assert_memory_equal(frame.words, numbers, words_bytes(kind));
        assert_int_equal(frame.tail_bytes, tail_bytes);
        assert_memory_equal(frame.tail, tail, tail_bytes);
    }
}

static void a_tail_may_be_filled_in_afterwards(void **state)
{
    (void)state;
    unsigned char bytes[64];
    struct frame frame;
    size_t whole;
    unsigned char *tail = remote_frame_put(bytes, FRAME_OUTPUT, numbers, NULL, 5);
    memcpy(tail, "hello", 5);
    assert_int_equal(take(bytes, sizeof bytes, FRAME_OF_AGENT, &frame, &whole), FRAME_IS_WHOLE);
    assert_int_equal(whole, FRAME_HEADER_BYTES + 8 + 5);
    assert_memory_equal(frame.tail, "hello", 5);
}

static void nobody_speaks_for_the_other_side(void **state)
{
    (void)state;
    for (enum frame_kind kind = FRAME_NONE + 1; kind < FRAME_KIND_COUNT; kind++) {
        enum frame_sender other = senders[kind] == FRAME_OF_AGENT ? FRAME_OF_LAUNCHER
                                                                  : FRAME_OF_AGENT;
        unsigned char bytes[256] = {0};
        struct frame frame;
        size_t whole;
        (void)remote_frame_put(bytes, kind, numbers, NULL, 0);
        assert_int_equal(take(bytes, sizeof bytes, other, &frame, &whole),
                         senders[kind] == FRAME_OF_BOTH ? FRAME_IS_WHOLE : FRAME_IS_BAD);
    }
}

static void lengths_and_kinds_are_checked(void **state)
{
    (void)state;
    unsigned char bytes[FRAME_HEADER_BYTES + 64] = {0};
    struct frame frame;
    size_t whole;
    for (uint32_t kind = 0; kind < 300; kind++) {
        for (uint32_t length = 0; length < 64; length++) {
            memcpy(bytes, &length, 4);
            memcpy(bytes + 4, &kind, 4);
            bool known = kind > FRAME_NONE && kind < FRAME_KIND_COUNT &&
                         (senders[kind] & FRAME_OF_AGENT);
            uint32_t words = known ? words_bytes((enum frame_kind)kind) : 0;
            bool good = known && length >= words && length - words <= tails[kind];
            assert_int_equal(take(bytes, sizeof bytes, FRAME_OF_AGENT, &frame, &whole),
                             good ? FRAME_IS_WHOLE : FRAME_IS_BAD);
        }
    }
    /* A frame that is too long is bad at once: it is not gathered first. */
    const uint32_t header[2] = {0xffffffff, FRAME_ORDER};
    assert_int_equal(take((const unsigned char *)header, 8, FRAME_OF_LAUNCHER, &frame, &whole),
                     FRAME_IS_BAD);
}

static void any_bytes_are_bad_or_lie_inside(void **state)
{
    (void)state;
    struct base_random random = {4711};
    for (unsigned round = 0; round < 20000; round++) {
        unsigned char bytes[48];
        for (size_t i = 0; i < sizeof bytes; i++) {
            uint64_t value = base_random_next(&random);
            bytes[i] = value % 3 ? 0 : (unsigned char)(value >> 8);
        }
        bytes[4] = (unsigned char)(round % (FRAME_KIND_COUNT + 1));
        struct frame frame;
        size_t whole;
        size_t available = round % sizeof bytes;
        if (take(bytes, available, FRAME_OF_BOTH, &frame, &whole) == FRAME_IS_WHOLE) {
            assert_true(whole <= available && whole >= FRAME_HEADER_BYTES);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_taken),
        cmocka_unit_test(a_tail_may_be_filled_in_afterwards),
        cmocka_unit_test(nobody_speaks_for_the_other_side),
        cmocka_unit_test(lengths_and_kinds_are_checked),
        cmocka_unit_test(any_bytes_are_bad_or_lie_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
