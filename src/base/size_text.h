/* Sizes as people write them: 131072, 128K, 64M, 2G, 1T (powers of 1024). */
#ifndef BASE_SIZE_TEXT_H
#define BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* False, and *bytes untouched, when the text is not a size or does not fit. */
bool base_size_parse(const char *text, uint64_t *bytes);

/* The same with a fraction before the letter (20.5M), cut to whole bytes. */
bool base_scaled_parse(const char *text, uint64_t *bytes);

/* A plain decimal number up to limit, nothing around it. */
bool base_number_parse(const char *text, uint64_t limit, uint64_t *number);

#endif
