/* Frames to bytes and back. */
#include "wire/ib_frame.h"

#include <string.h>

enum {
    AT_HEADER = WIRE_IB_LRH_BYTES + WIRE_IB_RWH_BYTES,
    AT_KIND = AT_HEADER,      /* and the flow in the upper half */
    AT_PLACE = AT_HEADER + 1, /* in the packet; and the bytes of the last line in the upper half */
    AT_NUMBER = AT_HEADER + 2,
    AT_COUNT = AT_HEADER + 4,
    AT_ZERO = AT_HEADER + 6,
    AT_LINES = AT_HEADER + WIRE_IB_FRAME_HEADER_BYTES,

    KIND_MASK = 15,
    FLOW_SHIFT = 4,
    BEGINS_BIT = 1 << 0,
    ENDS_BIT = 1 << 1,
    PLACE_ZERO = 3 << 2,
    BYTES_SHIFT = 4,
};

/* Where a frame is in its packet, and how much of its last line is used: 8 bytes, or if it is a
 * TAIL fewer. From these the kinds of all its lines follow. */
struct place {
    bool begins, ends;
    uint8_t last_bytes;
};

static bool is_frame(const struct wire_ib_frame *frame)
{
    if (frame->flow >= WIRE_IB_FLOWS) {
        return false;
    }
    switch (frame->kind) {
    case WIRE_IB_FRAME_DATA: return frame->count > 0 && frame->count <= WIRE_IB_FRAME_LINES_MAX;
    case WIRE_IB_FRAME_ACK:
    case WIRE_IB_FRAME_NACK: return frame->count == 0;
    }
    return false;
}

static enum wire_line_kind kind_at(const struct place *place, uint32_t index, uint32_t count)
{
    bool is_first = place->begins && index == 0;
    bool is_last = place->ends && index == count - 1;
    if (is_first) {
        return is_last ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER;
    }
    return is_last ? WIRE_LINE_TAIL : WIRE_LINE_DATA;
}

/* False: no line of a packet can be there with these bytes. */
static bool line_read(const struct wire_ib_frame *frame, const struct place *place,
                      const unsigned char *from, uint32_t index, struct wire_line *line)
{
    const struct wire_line type = {
        .kind = kind_at(place, index, frame->count),
        .bytes = index == frame->count - 1u ? place->last_bytes : WIRE_LINE_DATA_BYTES,
    };
    const unsigned char *data = from + AT_LINES + (size_t)index * WIRE_LINE_DATA_BYTES;
    return wire_line_from_type(wire_line_type(&type), data, line);
}

static uint32_t crc_at(uint32_t bytes)
{
    return bytes - WIRE_IB_VCRC_BYTES - WIRE_IB_FRAME_CRC_BYTES;
}

void wire_ib_frame_encode(const struct wire_ib_frame *frame, const struct wire_line *lines,
                          unsigned char *to)
{
    INVARIANT(is_frame(frame));
    uint32_t bytes = wire_ib_frame_bytes(frame->count);
    const struct wire_ib_raw raw = {
        .vl = frame->vl,
        .sl = frame->sl,
        .dlid = frame->dlid,
        .slid = frame->slid,
        .payload_bytes = bytes - WIRE_IB_RAW_OVERHEAD_BYTES,
    };
    wire_ib_raw_begin(&raw, to);
    struct place place = {0};
    if (frame->count > 0) {
        const struct wire_line *last = &lines[frame->count - 1];
        place.begins = lines[0].kind == WIRE_LINE_HEADER || lines[0].kind == WIRE_LINE_SINGLE;
        place.ends = last->kind == WIRE_LINE_TAIL || last->kind == WIRE_LINE_SINGLE;
        place.last_bytes = last->bytes;
    }
    to[AT_KIND] = (unsigned char)((uint32_t)frame->kind | (uint32_t)frame->flow << FLOW_SHIFT);
    to[AT_PLACE] = (unsigned char)((place.begins ? BEGINS_BIT : 0) | (place.ends ? ENDS_BIT : 0) |
                                   place.last_bytes << BYTES_SHIFT);
    wire_put16(to + AT_NUMBER, frame->number);
    wire_put16(to + AT_COUNT, frame->count);
    wire_put16(to + AT_ZERO, 0);
    for (uint32_t i = 0; i < frame->count; i++) {
        struct wire_line read;
        memcpy(to + AT_LINES + (size_t)i * WIRE_LINE_DATA_BYTES, lines[i].data,
               WIRE_LINE_DATA_BYTES);
        INVARIANT(line_read(frame, &place, to, i, &read) && read.kind == lines[i].kind &&
                  read.bytes == lines[i].bytes);
    }
    wire_put32(to + crc_at(bytes), wire_ib_raw_crc32(to, crc_at(bytes)));
    wire_ib_vcrc_put(to, bytes);
}

bool wire_ib_frame_crc32_fits(const unsigned char *from, uint32_t bytes)
{
    INVARIANT(bytes >= WIRE_IB_FRAME_OVERHEAD_BYTES);
    return wire_get32(from + crc_at(bytes)) == wire_ib_raw_crc32(from, crc_at(bytes));
}

/* The header; false: it is none. */
static bool header_read(const unsigned char *from, uint32_t bytes, struct wire_ib_frame *frame,
                        struct place *place)
{
    struct wire_ib_raw raw;
    if (!wire_ib_raw_read(from, bytes, &raw)) {
        return false;
    }
    *frame = (struct wire_ib_frame){
        .kind = (enum wire_ib_frame_kind)(from[AT_KIND] & KIND_MASK),
        .vl = raw.vl,
        .sl = raw.sl,
        .flow = from[AT_KIND] >> FLOW_SHIFT,
        .dlid = raw.dlid,
        .slid = raw.slid,
        .number = wire_get16(from + AT_NUMBER),
        .count = wire_get16(from + AT_COUNT),
    };
    *place = (struct place){
        .begins = (from[AT_PLACE] & BEGINS_BIT) != 0,
        .ends = (from[AT_PLACE] & ENDS_BIT) != 0,
        .last_bytes = from[AT_PLACE] >> BYTES_SHIFT,
    };
    return is_frame(frame) && bytes == wire_ib_frame_bytes(frame->count) &&
           (from[AT_PLACE] & PLACE_ZERO) == 0 && wire_get16(from + AT_ZERO) == 0 &&
           (frame->count > 0 || from[AT_PLACE] == 0);
}

enum wire_ib_result wire_ib_frame_decode(const unsigned char *from, uint32_t bytes,
                                         struct wire_ib_frame *frame, struct wire_line *lines,
                                         uint32_t room)
{
    if (bytes < WIRE_IB_FRAME_OVERHEAD_BYTES || bytes > WIRE_IB_FRAME_BYTES_MAX) {
        return WIRE_IB_MALFORMED;
    }
    if (!wire_ib_vcrc_fits(from, bytes)) {
        return WIRE_IB_VCRC_WRONG;
    }
    if (!wire_ib_frame_crc32_fits(from, bytes)) {
        return WIRE_IB_CRC32_WRONG;
    }
    struct wire_ib_frame read;
    struct place place;
    if (!header_read(from, bytes, &read, &place) || read.count > room) {
        return WIRE_IB_MALFORMED;
    }
    /* All lines but the last are whole, and any 8 bytes are one. So is the last, or it is refused
     * before anything is set. */
    struct wire_line last;
    if (read.count > 0 && !line_read(&read, &place, from, read.count - 1u, &last)) {
        return WIRE_IB_MALFORMED;
    }
    for (uint32_t i = 0; i < read.count; i++) {
        INVARIANT(line_read(&read, &place, from, i, &lines[i]));
    }
    *frame = read;
    return WIRE_IB_GOOD;
}
