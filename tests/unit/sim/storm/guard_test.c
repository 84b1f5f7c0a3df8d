/* The storm's authentication: every byte of the packet counts, and so does the node that seals. */
#include "unit/unit.h"

#include "sim/storm/guard.h"

enum { BYTES = WIRE_OVERHEAD_BYTES + 152 };

static struct storm_guard guard = {UINT64_C(0x1234567890abcdef)};

static struct wire_header make_packet(unsigned char *packet)
{
    struct wire_header header = {
        .kind = WIRE_UD,
        .source = 3,
        .target = 4,
        .pgid = 77,
        .source_incarnation = 5,
        .target_incarnation = 6,
        .body_bytes = BYTES - WIRE_OVERHEAD_BYTES,
        .counter = 8,
    };
    for (unsigned i = 0; i < BYTES; i++) {
        packet[i] = (unsigned char)(i * 37);
    }
    wire_header_encode(&header, packet);
    storm_guard_seal(&guard, &header, packet, BYTES);
    return header;
}

static void what_was_sealed_opens(void **state)
{
    (void)state;
    unsigned char packet[BYTES];
    struct wire_header header = make_packet(packet);
    assert_true(storm_guard_open(&guard, &header, packet, BYTES));
}

static void every_changed_bit_is_noticed(void **state)
{
    (void)state;
    unsigned char packet[BYTES];
    struct wire_header header = make_packet(packet);
    for (unsigned bit = 0; bit < 8 * BYTES; bit++) {
        packet[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_false(storm_guard_open(&guard, &header, packet, BYTES));
        packet[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

static void a_shorter_or_longer_packet_is_noticed(void **state)
{
    (void)state;
    unsigned char packet[BYTES + 8] = {0};
    struct wire_header header = make_packet(packet);
    for (uint32_t bytes = WIRE_OVERHEAD_BYTES; bytes < sizeof packet; bytes++) {
        assert_true(storm_guard_open(&guard, &header, packet, bytes) == (bytes == BYTES));
    }
}

static void group_source_incarnation_and_secret_have_their_own_keys(void **state)
{
    (void)state;
    unsigned char packet[BYTES];
    struct wire_header header = make_packet(packet);
    struct wire_header other = header;
    struct storm_guard stranger = {guard.secret + 1};
    other.pgid++;
    assert_false(storm_guard_open(&guard, &other, packet, BYTES));
    other = header;
    other.source++;
    assert_false(storm_guard_open(&guard, &other, packet, BYTES));
    other = header;
    other.source_incarnation++;
    assert_false(storm_guard_open(&guard, &other, packet, BYTES));
    assert_false(storm_guard_open(&stranger, &header, packet, BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_opens),
        cmocka_unit_test(every_changed_bit_is_noticed),
        cmocka_unit_test(a_shorter_or_longer_packet_is_noticed),
        cmocka_unit_test(group_source_incarnation_and_secret_have_their_own_keys),
    };
    return cmocka_run_group_tests_name("sim/storm_guard", tests, NULL, NULL);
}
