/* CRC-16 as InfiniBand's VCRC and its link packets have it: polynomial 0x100b, reflected, initial
 * value and final XOR all ones. It finds every error of 1 or 2 bits in packets of up to 8,191
 * bytes, every error of 3 bits in up to 58 bytes, and every burst of up to 16 bits. */
#ifndef WIRE_CRC16_H
#define WIRE_CRC16_H

#include "base/base.h"

/* `crc` is that of the bytes before, 0 at the beginning. */
uint16_t wire_crc16(uint16_t crc, const void *bytes, size_t count);

#endif
