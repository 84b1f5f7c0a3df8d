/* What fuzz targets share: the entry point, and assertions that libFuzzer sees. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define FUZZ_ASSERT(condition)                                                      \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* Traces for a person who looks into a finding: build with -DFUZZ_TRACES. */
#ifdef FUZZ_TRACES
#define FUZZ_TRACE(...) fprintf(stderr, __VA_ARGS__)
#else
#define FUZZ_TRACE(...) (void)0
#endif

/* A copy of exactly that length, so that a read behind it is outside a heap block. */
static inline unsigned char *fuzz_copy(const void *from, size_t bytes)
{
    unsigned char *copy = calloc(1, bytes > 0 ? bytes : 1);
    FUZZ_ASSERT(copy != NULL);
    if (bytes > 0) {
        memcpy(copy, from, bytes);
    }
    return copy;
}

#endif
