/* CRC-16 with a table of 32 bytes, half a byte at a time, as crc32.c has it. */
#include "wire/crc16.h"

static const uint16_t remainders[16] = {
    0x0000, 0x1a01, 0x3402, 0x2e03, 0x6804, 0x7205, 0x5c06, 0x4607,
    0xd008, 0xca09, 0xe40a, 0xfe0b, 0xb80c, 0xa20d, 0x8c0e, 0x960f,
};

uint16_t wire_crc16(uint16_t crc, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    uint32_t rest = crc ^ 0xffffu;
    for (size_t i = 0; i < count; i++) {
        rest ^= from[i];
        rest = rest >> 4 ^ remainders[rest & 15];
        rest = rest >> 4 ^ remainders[rest & 15];
    }
    return (uint16_t)(rest ^ 0xffff);
}
