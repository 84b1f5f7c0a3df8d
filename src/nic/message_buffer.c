/* RB, the receive buffer of Modified ACK/NACK: one ring for all sources. */
#include <string.h>

#include "nic/message_protocol.h"

#define SKIPPED UINT32_MAX /* as a length: nothing up to the end of RB */

enum { WORD_BYTES = 8 };
_Static_assert(sizeof(struct px_stored) == WORD_BYTES, "it fits wherever a message may start");

static struct px_stored *stored_at(const struct px_buffer *buffer, uint64_t position)
{
    return (struct px_stored *)(void *)(buffer->bytes + position % buffer->byte_count);
}

static uint64_t room_of(uint32_t bytes)
{
    return sizeof(struct px_stored) + ((uint64_t)bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
}

/* Where a message would be stored; false: no room. A message lies in a row. In an empty buffer
 * nothing keeps it from the start, so every message fits that can fit at all. */
static bool find_room(const struct px_buffer *buffer, uint32_t bytes, uint64_t *position)
{
    uint64_t room = room_of(bytes);
    uint64_t to_end = buffer->byte_count - buffer->head % buffer->byte_count;
    *position = buffer->head + (room > to_end ? to_end : 0);
    uint64_t tail = buffer->head == buffer->tail ? *position : buffer->tail;
    return room <= buffer->byte_count && *position + room - tail <= buffer->byte_count;
}

bool px_buffer_has_room(void *context, uint32_t index, uint32_t bytes)
{
    uint64_t unused;
    (void)index;
    return find_room(context, bytes, &unused);
}

uint64_t px_buffer_free_bytes(void *context)
{
    const struct px_buffer *buffer = context;
    return buffer->byte_count - (buffer->head - buffer->tail);
}

bool px_buffer_take(void *context, uint32_t index, const struct px_packet *packet)
{
    struct px_buffer *buffer = context;
    uint64_t position;
    (void)index;
    if (!find_room(buffer, packet->bytes, &position)) {
        return false;
    }
    if (position != buffer->head) {
        stored_at(buffer, buffer->head)->bytes = SKIPPED;
    }
    if (buffer->head == buffer->tail) {
        buffer->tail = position;
    }
    struct px_stored *stored = stored_at(buffer, position);
    *stored = (struct px_stored){packet->from, packet->bytes};
    if (packet->bytes) {
        memcpy(stored + 1, packet->data, packet->bytes);
    }
    buffer->head = position + room_of(packet->bytes);
    return true;
}

/* The position of the oldest message. */
static uint64_t first_position(const struct px_buffer *buffer)
{
    uint64_t position = buffer->tail;
    if (position != buffer->head && stored_at(buffer, position)->bytes == SKIPPED) {
        position += buffer->byte_count - position % buffer->byte_count;
    }
    return position;
}

const struct px_stored *px_buffer_first(const struct px_buffer *buffer)
{
    uint64_t position = first_position(buffer);
    return position == buffer->head ? NULL : stored_at(buffer, position);
}

void px_buffer_pass(struct px_buffer *buffer)
{
    uint64_t position = first_position(buffer);
    INVARIANT(position != buffer->head);
    buffer->tail = position + room_of(stored_at(buffer, position)->bytes);
}
