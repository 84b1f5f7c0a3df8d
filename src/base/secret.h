/* Handling bytes that nobody may find in memory later. explicit_bzero wipes them. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>

/* Copies byte by byte, upwards, so `to` may overlap `from` from below. memcpy would leave the bytes
 * in vector registers, and the dynamic linker saves these on the stack whenever it looks up a
 * function. */
static inline void base_secret_copy(void *to, const void *from, size_t bytes)
{
    volatile unsigned char *target = to;
    const volatile unsigned char *source = from;
    for (size_t i = 0; i < bytes; i++) {
        target[i] = source[i];
    }
}

#endif
