/* Comparing by words, and putting the words back. */
#include "fagus/diff.h"

#include <string.h>

#include "base/base.h"

enum {
    WORD = FAGUS_DIFF_WORD_BYTES,
    BLOCK_BYTES = FAGUS_DIFF_BLOCK_WORDS * WORD,
};

struct header {
    uint64_t block;
    uint64_t bitmap;
};
_Static_assert(sizeof(struct header) == FAGUS_DIFF_HEADER_BYTES, "as the format says");

/* A range as words: its first word begins `lead` bytes before it. */
struct frame {
    uint64_t lead;
    uint64_t bytes;
    uint64_t words;
    uint64_t blocks;
};

static struct frame frame_of(const void *start, uint64_t bytes)
{
    uint64_t lead = (uintptr_t)start % WORD;
    uint64_t words = bytes ? (lead + bytes + WORD - 1) / WORD : 0;
    return (struct frame){lead, bytes, words,
                          (words + FAGUS_DIFF_BLOCK_WORDS - 1) / FAGUS_DIFF_BLOCK_WORDS};
}

/* The part of a word that lies in the range: offset in the range, offset in the word, length. */
struct part {
    uint64_t at;
    uint64_t skip;
    uint64_t bytes;
};

static struct part part_of(const struct frame *frame, uint64_t word)
{
    uint64_t skip = word == 0 ? frame->lead : 0;
    uint64_t at = word * WORD + skip - frame->lead;
    uint64_t left = frame->bytes - at;
    uint64_t room = WORD - skip;
    return (struct part){at, skip, left < room ? left : room};
}

static uint64_t load(const unsigned char *place)
{
    uint64_t value;
    memcpy(&value, place, sizeof value);
    return value;
}

/* The bytes of a word that are in the range; the others are 0. */
static uint64_t load_part(const struct frame *frame, const unsigned char *start, uint64_t word)
{
    struct part part = part_of(frame, word);
    uint64_t value = 0;
    memcpy((unsigned char *)&value + part.skip, start + part.at, part.bytes);
    return value;
}

uint64_t fagus_diff_bound(uint64_t bytes)
{
    uint64_t words = bytes / WORD + 2; /* both ends may be cut */
    uint64_t blocks = words / FAGUS_DIFF_BLOCK_WORDS + 1;
    return bytes ? words * WORD + blocks * FAGUS_DIFF_HEADER_BYTES : 0;
}

/* Whether the block's words all lie in the range whole. */
static bool block_is_whole(const struct frame *frame, uint64_t block)
{
    uint64_t end = (block + 1) * BLOCK_BYTES;
    return (block > 0 || frame->lead == 0) && end <= frame->lead + frame->bytes;
}

static uint64_t compare_whole(const unsigned char *now, const unsigned char *twin)
{
    uint64_t bitmap = 0;
    if (memcmp(now, twin, BLOCK_BYTES) == 0) {
        return 0;
    }
    for (unsigned i = 0; i < FAGUS_DIFF_BLOCK_WORDS; i++) {
        bitmap |= (uint64_t)(load(now + i * WORD) != load(twin + i * WORD)) << i;
    }
    return bitmap;
}

static uint64_t compare(const struct frame *frame, const unsigned char *now,
                        const unsigned char *twin, uint64_t block)
{
    uint64_t first = block * FAGUS_DIFF_BLOCK_WORDS;
    if (LIKELY(block_is_whole(frame, block))) {
        uint64_t at = first * WORD - frame->lead;
        return compare_whole(now + at, twin + at);
    }
    uint64_t bitmap = 0;
    for (unsigned i = 0; i < FAGUS_DIFF_BLOCK_WORDS && first + i < frame->words; i++) {
        struct part part = part_of(frame, first + i);
        bool differs = memcmp(now + part.at, twin + part.at, part.bytes) != 0;
        bitmap |= (uint64_t)differs << i;
    }
    return bitmap;
}

uint64_t fagus_diff_make(const void *now, const void *twin, uint64_t bytes, void *differences,
                         uint64_t capacity)
{
    INVARIANT((uintptr_t)now % WORD == (uintptr_t)twin % WORD);
    struct frame frame = frame_of(now, bytes);
    unsigned char *out = differences;
    uint64_t used = 0;
    for (uint64_t block = 0; block < frame.blocks; block++) {
        struct header header = {block, compare(&frame, now, twin, block)};
        uint64_t words = (uint64_t)__builtin_popcountll(header.bitmap);
        if (words == 0) {
            continue;
        }
        if (capacity - used < sizeof header + words * WORD) {
            return FAGUS_DIFF_TOO_LONG;
        }
        memcpy(out + used, &header, sizeof header);
        used += sizeof header;
        for (uint64_t left = header.bitmap; left; left &= left - 1) {
            uint64_t word = block * FAGUS_DIFF_BLOCK_WORDS + (unsigned)__builtin_ctzll(left);
            uint64_t value = load_part(&frame, now, word);
            memcpy(out + used, &value, sizeof value);
            used += sizeof value;
        }
    }
    return used;
}

bool fagus_diff_fits(const void *target, uint64_t bytes, const void *differences,
                     uint64_t differences_bytes)
{
    struct frame frame = frame_of(target, bytes);
    const unsigned char *in = differences;
    uint64_t next_block = 0;
    uint64_t at = 0;
    while (at < differences_bytes) {
        struct header header;
        if (differences_bytes - at < sizeof header) {
            return false;
        }
        memcpy(&header, in + at, sizeof header);
        at += sizeof header;
        uint64_t words = (uint64_t)__builtin_popcountll(header.bitmap);
        if (header.block < next_block || header.block >= frame.blocks || words == 0 ||
            (differences_bytes - at) / WORD < words) {
            return false;
        }
        unsigned highest = 63u - (unsigned)__builtin_clzll(header.bitmap);
        if (header.block * FAGUS_DIFF_BLOCK_WORDS + highest >= frame.words) {
            return false;
        }
        at += words * WORD;
        next_block = header.block + 1;
    }
    return true;
}

bool fagus_diff_apply(void *target, uint64_t bytes, const void *differences,
                      uint64_t differences_bytes)
{
    if (!fagus_diff_fits(target, bytes, differences, differences_bytes)) {
        return false;
    }
    struct frame frame = frame_of(target, bytes);
    unsigned char *start = target;
    const unsigned char *in = differences;
    uint64_t at = 0;
    while (at < differences_bytes) {
        struct header header;
        memcpy(&header, in + at, sizeof header);
        at += sizeof header;
        for (uint64_t left = header.bitmap; left; left &= left - 1, at += WORD) {
            uint64_t word = header.block * FAGUS_DIFF_BLOCK_WORDS + (unsigned)__builtin_ctzll(left);
            struct part part = part_of(&frame, word);
            memcpy(start + part.at, in + at + part.skip, part.bytes);
        }
    }
    return true;
}

uint64_t fagus_diff_words(const void *differences, uint64_t differences_bytes)
{
    const unsigned char *in = differences;
    uint64_t count = 0;
    for (uint64_t at = 0; at < differences_bytes;) {
        struct header header;
        memcpy(&header, in + at, sizeof header);
        uint64_t words = (uint64_t)__builtin_popcountll(header.bitmap);
        count += words;
        at += sizeof header + words * WORD;
    }
    return count;
}
