/* CRC-16: known answers, and what it promises to find. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/crc16.h"

static uint16_t bit_by_bit(const unsigned char *bytes, size_t count)
{
    uint32_t crc = UINT16_MAX;
    for (size_t i = 0; i < 8 * count; i++) {
        uint32_t bit = (crc ^ (uint32_t)(bytes[i / 8] >> i % 8)) & 1;
        crc = crc >> 1 ^ (bit != 0 ? 0xd008 : 0);
    }
    return (uint16_t)~crc;
}

static void known_answers(void **state)
{
    (void)state;
    assert_int_equal(wire_crc16(0, "", 0), 0);
    assert_int_equal(wire_crc16(0, "123456789", 9), 0x0a3d);
}

static void it_is_the_polynomial_and_can_be_had_in_parts(void **state)
{
    (void)state;
    struct base_random random = {.state = 16};
    unsigned char bytes[300];
    for (uint32_t round = 0; round < 2000; round++) {
        size_t count = base_random_below(&random, sizeof bytes + 1);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (unsigned char)base_random_next(&random);
        }
        uint16_t whole = wire_crc16(0, bytes, count);
        assert_int_equal(whole, bit_by_bit(bytes, count));
        size_t first = base_random_below(&random, count + 1);
        uint16_t parts = wire_crc16(wire_crc16(0, bytes, first), bytes + first, count - first);
        assert_int_equal(parts, whole);
    }
}

/* The difference that each wrong bit makes to the CRC of that many bytes; the CRC is linear, so
 * whether a pattern of wrong bits is found does not depend on the data. The last 16 bits are the
 * CRC itself. */
static void differences(uint16_t *difference, uint32_t bytes)
{
    unsigned char data[8192] = {0};
    assert_true(bytes <= sizeof data);
    uint16_t clean = wire_crc16(0, data, bytes);
    for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        difference[bit] = (uint16_t)(wire_crc16(0, data, bytes) ^ clean);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (uint32_t bit = 0; bit < 16; bit++) {
        difference[8 * bytes + bit] = (uint16_t)(1u << bit);
    }
}

/* Two wrong bits are found where no two make the same difference. */
static void two_wrong_bits_are_found_in_the_longest_packets(void **state)
{
    (void)state;
    enum { BYTES = 4112, BITS = 8 * BYTES + 16 };
    static uint16_t difference[BITS];
    static bool seen[65536];
    differences(difference, BYTES);
    for (uint32_t bit = 0; bit < BITS; bit++) {
        assert_true(difference[bit] != 0 && !seen[difference[bit]]);
        seen[difference[bit]] = true;
    }
}

/* 58 bytes with the CRC; in one more byte there are three bits that are not found. */
static void three_wrong_bits_are_found_in_short_packets(void **state)
{
    (void)state;
    enum { BYTES_MAX = 57, BITS_MAX = 8 * BYTES_MAX + 16 };
    static uint16_t difference[BITS_MAX];
    for (uint32_t bytes = BYTES_MAX - 1; bytes <= BYTES_MAX; bytes++) {
        static bool seen[65536];
        uint32_t bits = 8 * bytes + 16, missed = 0;
        memset(seen, 0, sizeof seen);
        differences(difference, bytes);
        for (uint32_t bit = 0; bit < bits; bit++) {
            seen[difference[bit]] = true;
        }
        for (uint32_t one = 0; one < bits; one++) {
            for (uint32_t two = 0; two < one; two++) {
                missed += seen[difference[one] ^ difference[two]];
            }
        }
        assert_true((missed == 0) == (bytes < BYTES_MAX));
    }
}

static void bursts_are_found(void **state)
{
    (void)state;
    enum { BYTES = 30, BITS = 8 * BYTES + 16 };
    static uint16_t difference[BITS];
    differences(difference, BYTES);
    for (uint32_t first = 0; first + 16 <= BITS; first++) {
        for (uint32_t pattern = 1; pattern < 65536; pattern += 2) {
            uint16_t sum = 0;
            for (uint32_t left = pattern; left != 0; left &= left - 1) {
                sum ^= difference[first + (uint32_t)__builtin_ctz(left)];
            }
            assert_true(sum != 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(it_is_the_polynomial_and_can_be_had_in_parts),
        cmocka_unit_test(two_wrong_bits_are_found_in_the_longest_packets),
        cmocka_unit_test(three_wrong_bits_are_found_in_short_packets),
        cmocka_unit_test(bursts_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
