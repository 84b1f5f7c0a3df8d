/* Lines that pass ports, and what wrong bits do to them.
 *
 * One wrong bit of a line is corrected, two are noticed. A router that cannot read a packet's
 * header swallows the packet. One that cannot read another line lets the packet go on, since its
 * head may be far away, and says in its tail that it is broken; its target's NIC drops it then. A
 * NIC also drops a packet of which it cannot read a line itself. More wrong bits in one line may
 * look like one: then a header leads elsewhere, or data is wrong, and nobody notices. */
#include "sim/ring/lines.h"

#include <string.h>

#include "sim/ring/state.h"

void net_content_get(const struct net_content *content, uint32_t from, uint32_t count,
                     unsigned char *to)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t line = (from + done) / WIRE_LINE_DATA_BYTES;
        uint32_t at = (from + done) % WIRE_LINE_DATA_BYTES;
        unsigned char data[WIRE_LINE_DATA_BYTES];
        if (line == 0) {
            memcpy(data, content->header, sizeof data);
        } else {
            struct base_random random = {content->serial ^ (uint64_t)line << 40};
            wire_put64(data, base_random_next(&random));
        }
        for (; at < sizeof data && done < count; at++, done++) {
            to[done] = from + done < content->bytes ? data[at] : 0;
        }
    }
}

struct wire_line net_content_line(const struct net_content *content, uint32_t number,
                                  bool is_broken)
{
    uint32_t lines = net_lines(content->bytes);
    uint32_t begin = number * WIRE_LINE_DATA_BYTES;
    struct wire_line line = {.kind = WIRE_LINE_DATA, .bytes = WIRE_LINE_DATA_BYTES};
    if (number == 0) {
        line.kind = lines == 1 ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER;
    } else if (number + 1 == lines) {
        line.kind = WIRE_LINE_TAIL;
        line.bytes = is_broken ? 0 : (uint8_t)(content->bytes - begin);
    }
    if (line.bytes > 0) {
        net_content_get(content, begin, WIRE_LINE_DATA_BYTES, line.data);
    }
    return line;
}

/* ---- Over a port ---------------------------------------------------------------------------- */

/* What has become of a packet's lines. */
struct crossing {
    struct net *net;
    const struct net_content *content;
    bool is_broken;
    bool header_is_lost;
    unsigned char header[WIRE_LINE_DATA_BYTES];
};

/* Takes a line with wrong bits at the port's other end. */
static void take_line(struct crossing *crossing, uint32_t number,
                      const unsigned char bytes[WIRE_LINE_BYTES])
{
    struct net_counters *counters = &crossing->net->counters;
    struct wire_line sent = net_content_line(crossing->content, number, crossing->is_broken);
    struct wire_line line;
    enum wire_line_result result = wire_line_decode(bytes, &line);
    bool is_read = result == WIRE_LINE_GOOD || result == WIRE_LINE_CORRECTED;
    counters->lines_corrected += result == WIRE_LINE_CORRECTED;
    if (!is_read || line.kind != sent.kind) {
        /* It cannot be read, or a line of that kind does not belong here. */
        counters->lines_damaged++;
        crossing->header_is_lost = crossing->header_is_lost || number == 0;
        crossing->is_broken = true;
        return;
    }
    if (memcmp(line.data, sent.data, sizeof line.data) != 0 || line.bytes != sent.bytes) {
        counters->lines_wrong++;
        if (number == 0) {
            memcpy(crossing->header, line.data, sizeof line.data);
        }
    }
}

/* All lines of a packet pass a port; true: without a wrong bit. */
static bool cross(struct crossing *crossing)
{
    struct bit_errors *errors = &crossing->net->port_errors;
    uint64_t bits = (uint64_t)net_lines(crossing->content->bytes) * WIRE_LINE_BITS;
    if (LIKELY(bit_errors_pass(errors, bits))) {
        return true;
    }
    unsigned char bytes[WIRE_LINE_BYTES];
    uint64_t at = 0;
    uint64_t place;
    uint32_t number = UINT32_MAX;
    memcpy(crossing->header, crossing->content->header, sizeof crossing->header);
    while (bit_errors_next(errors, bits, &at, &place)) {
        if (place / WIRE_LINE_BITS != number) {
            if (number != UINT32_MAX) {
                take_line(crossing, number, bytes);
            }
            number = (uint32_t)(place / WIRE_LINE_BITS);
            struct wire_line line = net_content_line(crossing->content, number,
                                                     crossing->is_broken);
            wire_line_encode(&line, bytes);
        }
        uint32_t bit = (uint32_t)(place % WIRE_LINE_BITS);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    take_line(crossing, number, bytes);
    return false;
}

void net_lines_enter(struct net *net, struct packet *packet)
{
    struct crossing crossing = {.net = net, .content = &packet->content};
    if (LIKELY(cross(&crossing))) {
        return;
    }
    packet->is_broken = crossing.is_broken;
    memcpy(packet->content.header, crossing.header, sizeof crossing.header);
    if (crossing.header_is_lost) {
        memset(packet->content.header, 0, sizeof packet->content.header);
    }
}

bool net_lines_leave(struct net *net, const struct packet *packet, struct net_delivery *delivery)
{
    struct net_content content = packet->content;
    struct crossing crossing = {.net = net, .content = &content, .is_broken = packet->is_broken};
    memcpy(content.header, delivery->header, sizeof content.header);
    if (UNLIKELY(!cross(&crossing))) {
        memcpy(delivery->header, crossing.header, sizeof crossing.header);
    }
    return !crossing.is_broken;
}
