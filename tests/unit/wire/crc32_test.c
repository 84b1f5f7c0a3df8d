/* CRC-32: known answers, and what it promises to find. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/crc32.h"

static uint32_t bit_by_bit(const unsigned char *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * count; i++) {
        uint32_t bit = (crc ^ (uint32_t)(bytes[i / 8] >> i % 8)) & 1;
        crc = crc >> 1 ^ (bit != 0 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void known_answers(void **state)
{
    (void)state;
    unsigned char bytes[32];
    assert_int_equal(wire_crc32(0, "", 0), 0);
    assert_int_equal(wire_crc32(0, "a", 1), 0xe8b7be43);
    assert_int_equal(wire_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(wire_crc32(0, "The quick brown fox jumps over the lazy dog", 43), 0x414fa339);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(wire_crc32(0, bytes, sizeof bytes), 0x190a55ad);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(wire_crc32(0, bytes, sizeof bytes), 0xff6cab0b);
}

static void it_is_the_polynomial_and_can_be_had_in_parts(void **state)
{
    (void)state;
    struct base_random random = {.state = 32};
    unsigned char bytes[300];
    for (uint32_t round = 0; round < 2000; round++) {
        size_t count = base_random_below(&random, sizeof bytes + 1);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (unsigned char)base_random_next(&random);
        }
        uint32_t whole = wire_crc32(0, bytes, count);
        assert_int_equal(whole, bit_by_bit(bytes, count));
        size_t first = base_random_below(&random, count + 1);
        uint32_t parts = wire_crc32(wire_crc32(0, bytes, first), bytes + first, count - first);
        assert_int_equal(parts, whole);
    }
}

/* All patterns of one and two wrong bits, in the CRC too, and all bursts of 32 bits. */
static void it_finds_what_it_promises(void **state)
{
    (void)state;
    enum { BYTES = 60, BITS = 8 * BYTES };
    /* The CRC is linear: whether a pattern of wrong bits is found does not depend on the data.
     * These are the differences that each wrong bit makes. */
    uint32_t difference[BITS];
    unsigned char bytes[BYTES] = {0};
    uint32_t clean = wire_crc32(0, bytes, BYTES);
    for (uint32_t bit = 0; bit < BITS; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        difference[bit] = wire_crc32(0, bytes, BYTES) ^ clean;
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (uint32_t one = 0; one < BITS; one++) {
        assert_true(!is_power_of_two(difference[one])); /* with one of the CRC's bits */
        for (uint32_t two = 0; two < one; two++) {
            uint32_t both = difference[one] ^ difference[two];
            assert_true(both != 0 && !is_power_of_two(both));
            for (uint32_t three = 0; three < two; three += 1 + one % 3) {
                assert_true((both ^ difference[three]) != 0);
            }
        }
    }
    struct base_random random = {.state = 33};
    for (uint32_t first = 0; first + 32 <= BITS; first++) {
        for (uint32_t round = 0; round < 100; round++) {
            uint32_t burst = (uint32_t)base_random_next(&random) | 1;
            uint32_t sum = 0;
            for (uint32_t i = 0; i < 32; i++) {
                sum ^= (burst >> i & 1) != 0 ? difference[first + i] : 0;
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
        cmocka_unit_test(it_finds_what_it_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
