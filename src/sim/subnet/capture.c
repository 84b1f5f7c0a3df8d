/* Blocks of pcapng, and the verdicts in their comments. */
#include "sim/subnet/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/big.h"
#include "base/little.h"
#include "wire/ib_frame.h"
#include "wire/ib_link.h"

/* pcapng; the file is little endian. */
enum {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 6,
    BYTE_ORDER = 0x1a2b3c4d,
    VERSION_MAJOR = 1,
    VERSION_MINOR = 0,

    OPTION_END = 0,
    OPTION_COMMENT = 1,
    SECTION_PROGRAM = 4,
    INTERFACE_NAME = 2,
    INTERFACE_RESOLUTION = 9,
    PACKET_FLAGS = 2,

    RESOLUTION_PS = 12, /* units of 10^-12 s */
    FLAG_OUTBOUND = 2,
    FLAG_CRC_ERROR = 1 << 24,
};

/* Exported PDUs; their tags are big endian. */
enum {
    LINK_TYPE = 252,
    TAG_DISSECTOR = 12,
    TAG_END = 0,
    TAG_BYTES = 4,
    DISSECTOR_BYTES = 16, /* its name, filled up with 0 */
    PREFIX_BYTES = TAG_BYTES + DISSECTOR_BYTES + TAG_BYTES,
};

enum {
    /* For its address columns Wireshark's dissector takes a link packet for an LRH, two bytes
     * longer than it is, and where the last bits of FCTBS look like an LNH also for what would
     * follow. With this many bytes it calls none malformed; what it says of addresses means
     * nothing. */
    LINK_CAPTURED_BYTES = 48,
    PACKET_BYTES_MAX = WIRE_IB_RAW_BYTES_MAX,
    BLOCK_BYTES_MAX = PACKET_BYTES_MAX + PREFIX_BYTES + CAPTURE_COMMENT_BYTES + 128,
};

/* ---- Blocks ------------------------------------------------------------------------------- */

struct block {
    uint32_t bytes;
    unsigned char data[BLOCK_BYTES_MAX];
};

static void put(struct block *block, uint32_t bytes, uint64_t number)
{
    INVARIANT(block->bytes + bytes <= BLOCK_BYTES_MAX);
    base_little_put(block->data + block->bytes, bytes, number);
    block->bytes += bytes;
}

/* Filled up to a multiple of 4 with 0. */
static void put_bytes(struct block *block, const void *from, uint32_t bytes)
{
    uint32_t whole = (bytes + 3) / 4 * 4;
    INVARIANT(block->bytes + whole <= BLOCK_BYTES_MAX);
    memset(block->data + block->bytes, 0, whole);
    if (bytes > 0) {
        memcpy(block->data + block->bytes, from, bytes);
    }
    block->bytes += whole;
}

static void put_option(struct block *block, uint16_t option, const void *value, uint32_t bytes)
{
    put(block, 2, option);
    put(block, 2, bytes);
    put_bytes(block, value, bytes);
}

static void block_begin(struct block *block, uint32_t type)
{
    block->bytes = 0;
    put(block, 4, type);
    put(block, 4, 0); /* its length, which is known at the end */
}

/* A block has its length at both ends. */
static void block_write(struct capture *capture, struct block *block)
{
    put_option(block, OPTION_END, NULL, 0);
    put(block, 4, block->bytes + 4);
    base_little_put(block->data + 4, 4, block->bytes);
    if (capture->error == 0 &&
        fwrite(block->data, 1, block->bytes, capture->file) != block->bytes) {
        capture->error = errno != 0 ? errno : EIO;
    }
}

void capture_begin(struct capture *capture, FILE *file)
{
    static const char program[] = "DIMMnet simulator";
    struct block block;
    *capture = (struct capture){.file = file};
    block_begin(&block, BLOCK_SECTION);
    put(&block, 4, BYTE_ORDER);
    put(&block, 2, VERSION_MAJOR);
    put(&block, 2, VERSION_MINOR);
    put(&block, 8, UINT64_MAX); /* how long the section is: up to the end */
    put_option(&block, SECTION_PROGRAM, program, sizeof program - 1);
    block_write(capture, &block);
}

uint32_t capture_port(struct capture *capture, const char *name)
{
    const unsigned char resolution = RESOLUTION_PS;
    struct block block;
    block_begin(&block, BLOCK_INTERFACE);
    put(&block, 2, LINK_TYPE);
    put(&block, 2, 0); /* reserved */
    put(&block, 4, 0); /* packets are captured whole */
    put_option(&block, INTERFACE_NAME, name, (uint32_t)strnlen(name, CAPTURE_NAME_BYTES_MAX));
    put_option(&block, INTERFACE_RESOLUTION, &resolution, 1);
    block_write(capture, &block);
    return capture->port_count++;
}

/* `captured_bytes` may be more than there are: the rest is 0. */
static void packet_write(struct capture *capture, uint64_t time_ps, uint32_t port,
                         const char *dissector, const unsigned char *packet, uint32_t bytes,
                         uint32_t captured_bytes, const char *comment, bool is_right)
{
    unsigned char data[PREFIX_BYTES + PACKET_BYTES_MAX] = {0};
    unsigned char flags[4];
    struct block block;
    INVARIANT(port < capture->port_count && captured_bytes <= PACKET_BYTES_MAX);
    base_big_put(data, 2, TAG_DISSECTOR);
    base_big_put(data + 2, 2, DISSECTOR_BYTES);
    memcpy(data + TAG_BYTES, dissector, strlen(dissector));
    base_big_put(data + TAG_BYTES + DISSECTOR_BYTES, 4, TAG_END);
    memcpy(data + PREFIX_BYTES, packet, bytes);
    block_begin(&block, BLOCK_PACKET);
    put(&block, 4, port);
    put(&block, 4, time_ps >> 32);
    put(&block, 4, (uint32_t)time_ps);
    put(&block, 4, PREFIX_BYTES + captured_bytes);
    put(&block, 4, PREFIX_BYTES + captured_bytes);
    put_bytes(&block, data, PREFIX_BYTES + captured_bytes);
    put_option(&block, OPTION_COMMENT, comment, (uint32_t)strlen(comment));
    base_little_put(flags, 4, FLAG_OUTBOUND | (is_right ? 0 : FLAG_CRC_ERROR));
    put_option(&block, PACKET_FLAGS, flags, sizeof flags);
    block_write(capture, &block);
}

void capture_packet(struct capture *capture, uint64_t time_ps, uint32_t port,
                    const unsigned char *packet, uint32_t bytes, uint32_t changed_bits)
{
    char comment[CAPTURE_COMMENT_BYTES];
    bool is_right = capture_verdict(packet, bytes, changed_bits, comment);
    packet_write(capture, time_ps, port, "infiniband", packet, bytes, bytes, comment, is_right);
}

void capture_link_packet(struct capture *capture, uint64_t time_ps, uint32_t port,
                         const unsigned char *packet, uint32_t changed_bits)
{
    char comment[CAPTURE_COMMENT_BYTES];
    bool is_right = capture_link_verdict(packet, changed_bits, comment);
    packet_write(capture, time_ps, port, "infiniband_link", packet, WIRE_IB_LINK_BYTES,
                 LINK_CAPTURED_BYTES, comment, is_right);
}

int capture_end(struct capture *capture)
{
    /* What was written so far may still be in the file's buffer. */
    if (fflush(capture->file) != 0 && capture->error == 0) {
        capture->error = errno != 0 ? errno : EIO;
    }
    return capture->error;
}

/* ---- What a packet's comment says --------------------------------------------------------- */

struct text {
    char *text;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = CAPTURE_COMMENT_BYTES - text->length;
    int length = vsnprintf(text->text + text->length, room, format, arguments);
    va_end(arguments);
    INVARIANT(length >= 0 && (size_t)length < room);
    text->length += (size_t)length;
}

static const char *word(bool fits)
{
    return fits ? "good" : "wrong";
}

/* The end of a verdict on CRCs. */
static void say_changed(struct text *text, bool is_right, uint32_t changed_bits)
{
    if (changed_bits > 0) {
        say(text, "%s%" PRIu32 " bit%s changed on the cable", is_right ? ", although " : ": ",
            changed_bits, changed_bits == 1 ? " was" : "s were");
    }
}

/* What a good frame is. */
static void say_frame(struct text *text, const struct wire_ib_frame *frame,
                      const struct wire_line *lines)
{
    static const char *const names[] = {
        [WIRE_IB_FRAME_DATA] = "frame",
        [WIRE_IB_FRAME_ACK] = "ACK of frame",
        [WIRE_IB_FRAME_NACK] = "NACK, missing is frame",
    };
    say(text, "; %s %u of flow %u", names[frame->kind], frame->number, frame->flow);
    if (frame->kind != WIRE_IB_FRAME_DATA) {
        return;
    }
    const struct wire_line *last = &lines[frame->count - 1];
    bool begins = lines[0].kind == WIRE_LINE_HEADER || lines[0].kind == WIRE_LINE_SINGLE;
    bool ends = last->kind == WIRE_LINE_TAIL || last->kind == WIRE_LINE_SINGLE;
    say(text, ", %u line%s", frame->count, frame->count == 1 ? "" : "s");
    say(text, "%s%s%s%s", begins || ends ? ", " : "", begins ? "begins " : "",
        begins && ends ? "and " : "", ends ? "ends " : "");
    if (begins || ends) {
        say(text, "%s", ends && last->bytes == 0 ? "a broken packet" : "a packet");
    }
}

/* With the CRC-32 of frames. */
static bool frame_verdict(struct text *text, const unsigned char *packet, uint32_t bytes,
                          uint32_t changed_bits)
{
    struct wire_ib_frame frame;
    struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    bool is_whole = wire_ib_frame_crc32_fits(packet, bytes);
    bool is_right = wire_ib_vcrc_fits(packet, bytes) && is_whole;
    say(text, ", CRC-32 %s", word(is_whole));
    say_changed(text, is_right, changed_bits);
    if (!is_right) {
        return false;
    }
    if (wire_ib_frame_decode(packet, bytes, &frame, lines, WIRE_IB_FRAME_LINES_MAX) ==
        WIRE_IB_GOOD) {
        say_frame(text, &frame, lines);
    } else {
        say(text, "; malformed");
    }
    return true;
}

/* With the ICRC of management packets. */
static bool management_verdict(struct text *text, const unsigned char *packet,
                               uint32_t changed_bits)
{
    struct wire_ib_management management;
    const unsigned char *mad;
    const uint32_t bytes = WIRE_IB_MANAGEMENT_BYTES;
    const uint32_t at = bytes - WIRE_IB_VCRC_BYTES - WIRE_IB_ICRC_BYTES;
    bool is_whole = wire_get32(packet + at) == wire_ib_icrc(packet, at);
    bool is_right = wire_ib_vcrc_fits(packet, bytes) && is_whole;
    say(text, ", ICRC %s", word(is_whole));
    say_changed(text, is_right, changed_bits);
    if (is_right &&
        wire_ib_management_decode(packet, bytes, &management, &mad) == WIRE_IB_MALFORMED) {
        say(text, "; malformed");
    }
    return is_right;
}

bool capture_verdict(const unsigned char *packet, uint32_t bytes, uint32_t changed_bits,
                     char text[CAPTURE_COMMENT_BYTES])
{
    struct text said = {.text = text};
    struct wire_ib_lrh lrh;
    INVARIANT(bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_VCRC_BYTES && bytes <= PACKET_BYTES_MAX);
    bool fits = wire_ib_vcrc_fits(packet, bytes);
    say(&said, "VCRC %s", word(fits));
    /* Where its bits do not even say any more what follows the LRH, the VCRC is all there is. */
    if (wire_ib_lrh_decode(packet, &lrh)) {
        if (lrh.next == WIRE_IB_RAW && bytes >= WIRE_IB_FRAME_OVERHEAD_BYTES) {
            return frame_verdict(&said, packet, bytes, changed_bits);
        }
        if (lrh.next == WIRE_IB_LOCAL && bytes == WIRE_IB_MANAGEMENT_BYTES) {
            return management_verdict(&said, packet, changed_bits);
        }
    }
    say_changed(&said, fits, changed_bits);
    return fits;
}

bool capture_link_verdict(const unsigned char *packet, uint32_t changed_bits,
                          char text[CAPTURE_COMMENT_BYTES])
{
    struct text said = {.text = text};
    struct wire_ib_link link;
    enum wire_ib_result result = wire_ib_link_decode(packet, WIRE_IB_LINK_BYTES, &link);
    bool fits = result != WIRE_IB_VCRC_WRONG;
    say(&said, "LPCRC %s", word(fits));
    say_changed(&said, fits, changed_bits);
    if (result == WIRE_IB_MALFORMED) {
        say(&said, "; malformed");
    }
    return fits;
}
