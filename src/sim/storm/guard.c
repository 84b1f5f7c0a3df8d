/* A keyed check of 128 bits over the packet, with one key for each group, source and incarnation.
 * It has two chains of multiplications; each step is a bijection of its chain, so a change of any
 * one word always changes both. */
#include "sim/storm/guard.h"

#include <string.h>

static uint64_t scramble(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static uint64_t turn(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void compute(const struct storm_guard *guard, const struct wire_header *header,
                    const unsigned char *packet, uint32_t bytes, unsigned char tag[WIRE_TAG_BYTES])
{
    uint64_t key = scramble(guard->secret ^ header->pgid);
    key = scramble(key ^ header->source_incarnation ^ (uint64_t)header->source << 32);
    uint64_t one = key ^ bytes;
    uint64_t other = scramble(key + 1);
    uint32_t at = 0;
    uint64_t word;
    for (; at + sizeof word <= bytes; at += (uint32_t)sizeof word) {
        memcpy(&word, packet + at, sizeof word);
        one = turn(one ^ word, 29) * UINT64_C(0x9e3779b97f4a7c15);
        other = turn(other + word, 41) * UINT64_C(0xd6e8feb86659fd93);
    }
    word = 0;
    memcpy(&word, packet + at, bytes - at);
    one = scramble(one ^ word);
    other = scramble((other + word) ^ turn(one, 32));
    memcpy(tag, &one, sizeof one);
    memcpy(tag + sizeof one, &other, sizeof other);
}

void storm_guard_seal(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes)
{
    compute(context, header, packet, bytes - WIRE_TAG_BYTES, packet + bytes - WIRE_TAG_BYTES);
}

bool storm_guard_open(void *context, const struct wire_header *header, unsigned char *packet,
                      uint32_t bytes)
{
    unsigned char tag[WIRE_TAG_BYTES];
    compute(context, header, packet, bytes - WIRE_TAG_BYTES, tag);
    return memcmp(tag, packet + bytes - WIRE_TAG_BYTES, WIRE_TAG_BYTES) == 0;
}
