/* Records on a page of turns: each is found again, none is put where there is no room, and whoever
 * reads never looks outside what was written, whatever stands there. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/turn.h"

enum { HEAD_BYTES = sizeof(struct turn_record), GUARD_BYTES = 64, GUARD = 0xa5 };

static struct {
    unsigned char room[TURN_ROOM_BYTES];
    unsigned char guard[GUARD_BYTES];
} part;
static uint32_t used_bytes;

static int clear(void **state)
{
    (void)state;
    memset(&part, GUARD, sizeof part);
    used_bytes = 0;
    return 0;
}

static unsigned char *put(enum turn_word word, uint16_t detail, uint64_t value, uint32_t load_bytes)
{
    return turn_put(part.room, &used_bytes, word, detail, value, load_bytes);
}

static void assert_guard_is_whole(void)
{
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(part.guard[i], GUARD);
    }
}

static void records_are_found_in_their_order(void **state)
{
    static const uint32_t loads[] = {0, 1, 7, 8, 9, 480, 0};
    enum { RECORDS = sizeof loads / sizeof loads[0] };
    (void)state;
    for (uint32_t i = 0; i < RECORDS; i++) {
        unsigned char *load = put(TURN_STORE, (uint16_t)(100 + i), UINT64_MAX - i, loads[i]);
        assert_non_null(load);
        assert_int_equal((load - part.room) % 8, 0);
        memset(load, (int)i, loads[i]);
    }
    uint32_t at = 0;
    struct turn_record record;
    const unsigned char *load;
    for (uint32_t i = 0; i < RECORDS; i++) {
        assert_true(turn_next(part.room, used_bytes, &at, &record, &load));
        assert_int_equal(record.word, TURN_STORE);
        assert_int_equal(record.detail, 100 + i);
        assert_true(record.value == UINT64_MAX - i);
        assert_int_equal(record.bytes, turn_record_bytes(loads[i]));
        for (uint32_t byte = 0; byte < loads[i]; byte++) {
            assert_int_equal(load[byte], i);
        }
    }
    assert_int_equal(at, used_bytes);
    assert_false(turn_next(part.room, used_bytes, &at, &record, &load));
    assert_int_equal(at, used_bytes);
}

static void a_full_room_takes_no_more(void **state)
{
    (void)state;
    uint32_t count = 0;
    while (put(TURN_LOOK, 0, 0, 0)) {
        count++;
    }
    assert_int_equal(count, TURN_ROOM_BYTES / HEAD_BYTES);
    assert_int_equal(used_bytes, TURN_ROOM_BYTES);
    assert_guard_is_whole();
}

static void the_last_load_that_fits_is_taken_to_the_byte(void **state)
{
    (void)state;
    assert_non_null(put(TURN_LOOK, 0, 0, 0));
    uint32_t most = TURN_ROOM_BYTES - 2 * HEAD_BYTES;
    assert_null(put(TURN_PACKET, 0, 0, most + 1));
    assert_int_equal(used_bytes, HEAD_BYTES);
    unsigned char *load = put(TURN_PACKET, 0, 0, most);
    assert_non_null(load);
    memset(load, 1, most);
    assert_int_equal(used_bytes, TURN_ROOM_BYTES);
    assert_guard_is_whole();
}

/* Sums of lengths do not wrap round. */
static void no_length_is_too_long_to_be_refused(void **state)
{
    static const uint32_t lengths[] = {TURN_ROOM_BYTES, TURN_ROOM_BYTES + 1, UINT32_MAX,
                                       UINT32_MAX - 6,  UINT32_MAX - 7,      UINT32_MAX - 8,
                                       UINT32_MAX - 22, UINT32_MAX - 23,     UINT32_MAX / 2};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_null(put(TURN_PACKET, 0, 0, lengths[i]));
        assert_int_equal(used_bytes, 0);
    }
}

/* Whether a record with this length is read from so many bytes. */
static bool is_read(uint32_t length, uint32_t written_bytes)
{
    struct turn_record record = {.bytes = length, .word = TURN_STORE};
    const unsigned char *load;
    uint32_t at = 0;
    memcpy(part.room, &record, sizeof record);
    bool is_sound = turn_next(part.room, written_bytes, &at, &record, &load);
    assert_int_equal(at, is_sound ? length : 0);
    return is_sound;
}

static void malformed_lengths_are_not_read(void **state)
{
    (void)state;
    assert_true(is_read(HEAD_BYTES, 64));
    assert_true(is_read(64, 64));
    assert_false(is_read(0, 64)); /* else a reader would never end */
    assert_false(is_read(8, 64));
    assert_false(is_read(HEAD_BYTES - 1, 64));
    assert_false(is_read(HEAD_BYTES + 1, 64));
    assert_false(is_read(HEAD_BYTES + 4, 64));
    assert_false(is_read(72, 64));
    assert_false(is_read(UINT32_MAX - 7, 64));
    assert_false(is_read(UINT32_MAX, 64));
}

static void truncated_records_are_not_read(void **state)
{
    (void)state;
    for (uint32_t written = 0; written < HEAD_BYTES; written++) {
        assert_false(is_read(HEAD_BYTES, written));
    }
    assert_false(is_read(32, 31));
    assert_true(is_read(32, 32));
}

static void places_outside_the_room_are_not_read(void **state)
{
    struct turn_record record;
    const unsigned char *load;
    (void)state;
    assert_non_null(put(TURN_LOOK, 0, 0, 0));
    uint32_t at = used_bytes + 8;
    assert_false(turn_next(part.room, used_bytes, &at, &record, &load));
    at = UINT32_MAX;
    assert_false(turn_next(part.room, used_bytes, &at, &record, &load));
    at = 0;
    assert_false(turn_next(part.room, TURN_ROOM_BYTES + 1, &at, &record, &load));
    assert_false(turn_next(part.room, UINT32_MAX, &at, &record, &load));
    assert_int_equal(at, 0);
}

static void packets_are_read_with_their_bytes(void **state)
{
    (void)state;
    for (uint32_t bytes = 0; bytes < 20; bytes++) {
        const struct turn_packet said = {.peer = 3, .class = 1, .bytes = bytes, .number = 77};
        struct turn_packet found;
        const unsigned char *data;
        unsigned char *load = put(TURN_PACKET, 0, 0, (uint32_t)sizeof said + bytes);
        struct turn_record record = {.bytes = turn_record_bytes((uint32_t)sizeof said + bytes)};
        memcpy(load, &said, sizeof said);
        assert_true(turn_packet_read(&record, load, &found, &data));
        assert_memory_equal(&found, &said, sizeof said);
        assert_ptr_equal(data, load + sizeof said);
    }
}

static void packets_longer_than_their_record_are_not_read(void **state)
{
    static const uint32_t lengths[] = {17, 24, UINT32_MAX, UINT32_MAX - sizeof(struct turn_packet),
                                       UINT32_MAX - sizeof(struct turn_packet) + 1};
    struct turn_record record = {.bytes = turn_record_bytes(sizeof(struct turn_packet) + 16)};
    struct turn_packet packet = {.bytes = 16};
    const unsigned char *data;
    unsigned char load[sizeof packet + 16] = {0};
    (void)state;
    memcpy(load, &packet, sizeof packet);
    assert_true(turn_packet_read(&record, load, &packet, &data));
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        packet.bytes = lengths[i];
        memcpy(load, &packet, sizeof packet);
        assert_false(turn_packet_read(&record, load, &packet, &data));
    }
    for (uint32_t bytes = HEAD_BYTES; bytes < HEAD_BYTES + sizeof packet; bytes += 8) {
        record.bytes = bytes;
        assert_false(turn_packet_read(&record, load, &packet, &data));
    }
}

/* Every reader ends, within what was written, on any bytes whatever. */
static void random_bytes_are_read_within_their_bounds(void **state)
{
    struct base_random chance = {.state = 20260101};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint32_t written = (uint32_t)base_random_below(&chance, 4096);
        for (uint32_t i = 0; i < written; i += HEAD_BYTES) {
            struct turn_record record = {.bytes = (uint32_t)base_random_below(&chance, 16) * 8,
                                         .word = (uint16_t)base_random_below(&chance, 20)};
            memcpy(part.room + i, &record, sizeof record);
        }
        uint32_t at = 0;
        uint32_t before = 0;
        struct turn_record record;
        const unsigned char *load;
        while (turn_next(part.room, written, &at, &record, &load)) {
            struct turn_packet packet;
            const unsigned char *data;
            assert_true(at > before && at <= written);
            assert_ptr_equal(load, part.room + before + HEAD_BYTES);
            if (turn_packet_read(&record, load, &packet, &data)) {
                assert_true(data + packet.bytes <= part.room + at);
            }
            before = at;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_are_found_in_their_order, clear),
        cmocka_unit_test_setup(a_full_room_takes_no_more, clear),
        cmocka_unit_test_setup(the_last_load_that_fits_is_taken_to_the_byte, clear),
        cmocka_unit_test_setup(no_length_is_too_long_to_be_refused, clear),
        cmocka_unit_test_setup(malformed_lengths_are_not_read, clear),
        cmocka_unit_test_setup(truncated_records_are_not_read, clear),
        cmocka_unit_test_setup(places_outside_the_room_are_not_read, clear),
        cmocka_unit_test_setup(packets_are_read_with_their_bytes, clear),
        cmocka_unit_test_setup(packets_longer_than_their_record_are_not_read, clear),
        cmocka_unit_test_setup(random_bytes_are_read_within_their_bounds, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
