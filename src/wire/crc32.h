/* CRC-32 as Ethernet and zlib have it: polynomial 0x04c11db7, reflected, initial value and final
 * XOR all ones. It finds every error of 1, 2 or 3 bits in transfers of any length that we have
 * (up to 11,450 bytes), and every burst of up to 32 bits. */
#ifndef WIRE_CRC32_H
#define WIRE_CRC32_H

#include "base/base.h"

/* `crc` is that of the bytes before, 0 at the beginning: the parts of a transfer may be given one
 * after the other. */
uint32_t wire_crc32(uint32_t crc, const void *bytes, size_t count);

#endif
