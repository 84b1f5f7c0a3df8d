/* The differences of a range of memory from its twin, the copy of what it was.
 *
 * They are counted in words of 8 bytes at aligned addresses, so that two nodes that write
 * neighbouring words of one range do not write each other's. A word that the range's end cuts
 * stands for its bytes inside the range only. A sequence of
 *
 *     block number 8, bitmap 8, a word for each bit from the lowest on
 *
 * with rising numbers; a block is 64 words, counted from the word that the range begins in.
 * Blocks without a difference are left out. All is in this machine's byte order, as the memory
 * itself. Pure code: no memory of its own, no errors but the lengths'. */
#ifndef FAGUS_DIFF_H
#define FAGUS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAGUS_DIFF_WORD_BYTES = 8, FAGUS_DIFF_BLOCK_WORDS = 64, FAGUS_DIFF_HEADER_BYTES = 16 };

#define FAGUS_DIFF_TOO_LONG UINT64_MAX

/* No differences of a range of this length are longer, wherever it begins. */
uint64_t fagus_diff_bound(uint64_t bytes);

/* The differences of `now` from `twin`, which begin at the same address modulo 8. Their length, 0
 * when there are none, or FAGUS_DIFF_TOO_LONG when they do not fit `capacity`; what was written
 * of them then is undefined. */
uint64_t fagus_diff_make(const void *now, const void *twin, uint64_t bytes, void *differences,
                         uint64_t capacity);

/* Whether they are well formed and stay inside a range of this length that begins at this
 * address modulo 8. */
bool fagus_diff_fits(const void *target, uint64_t bytes, const void *differences,
                     uint64_t differences_bytes);

/* Writes the words that differ into `target`. False: they do not fit, and nothing was
 * written. */
bool fagus_diff_apply(void *target, uint64_t bytes, const void *differences,
                      uint64_t differences_bytes);

/* How many words well-formed differences hold. */
uint64_t fagus_diff_words(const void *differences, uint64_t differences_bytes);

#endif
