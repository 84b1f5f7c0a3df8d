/* The table of kinds, and words as bytes. */
#include "cli/remote/frame.h"

#include <string.h>

#include "base/base.h"
#include "base/little.h"

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

size_t remote_frame_bytes(enum frame_kind kind, size_t tail_bytes)
{
    return FRAME_HEADER_BYTES + 4 * (size_t)shapes[kind].words + tail_bytes;
}

unsigned char *remote_frame_put(unsigned char *to, enum frame_kind kind, const uint32_t *words,
                                const void *tail, size_t tail_bytes)
{
    INVARIANT(kind > FRAME_NONE && kind < FRAME_KIND_COUNT &&
              tail_bytes <= shapes[kind].tail_bytes_max);
    base_little_put(to, 4, remote_frame_bytes(kind, tail_bytes) - FRAME_HEADER_BYTES);
    base_little_put(to + 4, 4, kind);
    unsigned char *at = to + FRAME_HEADER_BYTES;
    for (unsigned i = 0; i < shapes[kind].words; i++, at += 4) {
        base_little_put(at, 4, words[i]);
    }
    if (tail && tail_bytes > 0) {
        memcpy(at, tail, tail_bytes);
    }
    return at;
}

enum frame_verdict remote_frame_take(const unsigned char *bytes, size_t available,
                                     enum frame_sender sender, struct frame *frame, size_t *whole)
{
    if (available < FRAME_HEADER_BYTES) {
        return FRAME_IS_CUT;
    }
    uint32_t payload_bytes = (uint32_t)base_little_get(bytes, 4);
    uint32_t kind = (uint32_t)base_little_get(bytes + 4, 4);
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
        frame->words[i] = (uint32_t)base_little_get(at, 4);
    }
    frame->tail = at;
    frame->tail_bytes = payload_bytes - words_bytes;
    *whole = FRAME_HEADER_BYTES + (size_t)payload_bytes;
    return FRAME_IS_WHOLE;
}
