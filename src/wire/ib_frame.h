/* Frames: what the InfiniBand bridge of paper 003 (5.4.2, 5.4.4) makes of a DIMMnet packet.
 * doc/wire.md gives every byte.
 *
 *     0     8     12             20
 *     | LRH | RWH | frame header | data of the lines, 8 each | CRC-32 | VCRC |
 *
 * The bridge decodes the ECC of each line (wire/line.h), keeps the data, and cuts the packet into
 * frames, so that it need not hold a whole one before the first leaves. Each frame is an InfiniBand
 * raw packet of its own (wire/ib_packet.h). At the other end the lines' kinds follow from the frame
 * header: whether the frame begins and ends a packet, and how many bytes its last line uses. The
 * lines of a frame are of one packet; those of one flow come in order, so frames of one packet are
 * behind each other.
 *
 * The paper's CRC-32 covers LRH and data. Here it covers all from the LRH on, but takes the VL for
 * ones as InfiniBand's ICRC does: each switch on the way chooses the VL anew by its SL-to-VL table,
 * and a CRC over it would have to be made anew there, which is where damage must not go unseen. The
 * VL of the last cable is guarded by the VCRC alone, and nothing but the cable's flow control
 * depends on it.
 *
 * Frames are numbered for each pair of boards and flow; answers say which have come. The LRH's SLID
 * says who sent a frame, its DLID who gets it; an answer goes the other way. */
#ifndef WIRE_IB_FRAME_H
#define WIRE_IB_FRAME_H

#include "wire/ib_packet.h"
#include "wire/line.h"

enum {
    WIRE_IB_FRAME_HEADER_BYTES = 8,
    WIRE_IB_FRAME_CRC_BYTES = 4,
    /* All but the lines, from LRH to VCRC: an answer. */
    WIRE_IB_FRAME_OVERHEAD_BYTES = WIRE_IB_RAW_OVERHEAD_BYTES + WIRE_IB_FRAME_HEADER_BYTES +
                                   WIRE_IB_FRAME_CRC_BYTES,
    WIRE_IB_FRAME_LINES_MAX = (WIRE_IB_MTU_MAX - WIRE_IB_FRAME_HEADER_BYTES -
                               WIRE_IB_FRAME_CRC_BYTES) /
                              WIRE_LINE_DATA_BYTES,
    WIRE_IB_FRAME_BYTES_MAX = WIRE_IB_FRAME_OVERHEAD_BYTES +
                              WIRE_IB_FRAME_LINES_MAX * WIRE_LINE_DATA_BYTES,
    WIRE_IB_FLOWS = 16,
};

enum wire_ib_frame_kind { WIRE_IB_FRAME_DATA = 1, WIRE_IB_FRAME_ACK = 2, WIRE_IB_FRAME_NACK = 3 };

struct wire_ib_frame {
    enum wire_ib_frame_kind kind;
    uint8_t vl, sl; /* the VL is that of the cable, 0 .. 14 */
    /* Whose numbers these are, 0 .. 15: the virtual channel at the frames' sender, by its SL or its
     * VL there. An answer repeats it, whatever lane it takes itself. */
    uint8_t flow;
    uint16_t dlid, slid;
    uint16_t number; /* ACK: the newest frame that has come; NACK: the first that is missing */
    uint16_t count;  /* lines: 1 .. WIRE_IB_FRAME_LINES_MAX; in an answer 0 */
};

/* From LRH to VCRC. */
static inline uint32_t wire_ib_frame_bytes(uint32_t lines)
{
    return WIRE_IB_FRAME_OVERHEAD_BYTES + lines * WIRE_LINE_DATA_BYTES;
}

/* How many lines a frame may have on a path with that MTU, 256 .. WIRE_IB_MTU_MAX. */
static inline uint32_t wire_ib_frame_lines_max(uint32_t mtu)
{
    return (mtu - WIRE_IB_FRAME_HEADER_BYTES - WIRE_IB_FRAME_CRC_BYTES) / WIRE_LINE_DATA_BYTES;
}

/* Writes wire_ib_frame_bytes. The `count` lines are in a row of one packet: a HEADER or SINGLE can
 * only be the first, a TAIL or SINGLE only the last. For an answer they may be NULL. */
void wire_ib_frame_encode(const struct wire_ib_frame *frame, const struct wire_line *lines,
                          unsigned char *to);

/* GOOD, VCRC_WRONG, CRC32_WRONG or MALFORMED; only of a GOOD one the frame and its lines are set.
 * `lines` has room for `room` of them; a frame of more is MALFORMED. With wire_ib_frame_lines_max
 * of the path's MTU there is none: a longer frame does not come through. */
enum wire_ib_result wire_ib_frame_decode(const unsigned char *from, uint32_t bytes,
                                         struct wire_ib_frame *frame, struct wire_line *lines,
                                         uint32_t room);

/* Whether the CRC-32 of a packet fits which begins as a frame does, whatever its VCRC says; for who
 * wants to know of both. It is at least as long as an answer. */
bool wire_ib_frame_crc32_fits(const unsigned char *from, uint32_t bytes);

#endif
