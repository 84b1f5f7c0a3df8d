/* One table, and the words by bytes. */
#include "cli/remote/frame.h"

#include <string.h>

#include "base/base.h"

static const struct {
    enum frame_sender sender;
    unsigned words;
    uint32_t tail_bytes_max;
} shapes[FRAME_KIND_COUNT] = {
#define KIND(name, sender, words, tail_bytes_max) \
    [FRAME_##name] = {sender, words, (uint32_t)(tail_bytes_max)},
    FRAME_KINDS(KIND)
#undef KIND
};

static void put_word(unsigned char *to, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++) {
        to[i] = (unsigned char)(word >> 8 * i);
    }
}

static uint32_t get_word(const unsigned char *from)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++) {
        word |= (uint32_t)from[i] << 8 * i;
    }
    return word;
}

unsigned frame_words(enum frame_kind kind)
{
    return shapes[kind].words;
}

size_t frame_bytes(enum frame_kind kind, size_t tail_bytes)
{
    return FRAME_HEADER_BYTES + 4 * (size_t)shapes[kind].words + tail_bytes;
}

unsigned char *frame_put(unsigned char *to, enum frame_kind kind, const uint32_t *words,
                         const void *tail, size_t tail_bytes)
{
    INVARIANT(kind > FRAME_NONE && kind < FRAME_KIND_COUNT &&
              tail_bytes <= shapes[kind].tail_bytes_max);
    put_word(to, (uint32_t)(frame_bytes(kind, tail_bytes) - FRAME_HEADER_BYTES));
    put_word(to + 4, kind);
    unsigned char *at = to + FRAME_HEADER_BYTES;
    for (unsigned i = 0; i < shapes[kind].words; i++, at += 4) {
        put_word(at, words[i]);
    }
    if (tail && tail_bytes > 0) {
        memcpy(at, tail, tail_bytes);
    }
    return at;
}

enum frame_verdict frame_take(const unsigned char *bytes, size_t available,
                              enum frame_sender sender, struct frame *frame, size_t *whole)
{
    if (available < FRAME_HEADER_BYTES) {
        return FRAME_IS_CUT;
    }
    uint32_t payload_bytes = get_word(bytes);
    uint32_t kind = get_word(bytes + 4);
    if (kind == FRAME_NONE || kind >= FRAME_KIND_COUNT || !(shapes[kind].sender & sender)) {
        return FRAME_IS_BAD;
    }
    uint32_t words_bytes = 4 * shapes[kind].words;
    if (payload_bytes < words_bytes || payload_bytes - words_bytes > shapes[kind].tail_bytes_max) {
        return FRAME_IS_BAD;
    }
    if (available - FRAME_HEADER_BYTES < payload_bytes) {
        return FRAME_IS_CUT;
    }
    *frame = (struct frame){.kind = (enum frame_kind)kind};
    const unsigned char *at = bytes + FRAME_HEADER_BYTES;
    for (unsigned i = 0; i < shapes[kind].words; i++, at += 4) {
        frame->words[i] = get_word(at);
    }
    frame->tail = at;
    frame->tail_bytes = payload_bytes - words_bytes;
    *whole = FRAME_HEADER_BYTES + (size_t)payload_bytes;
    return FRAME_IS_WHOLE;
}
