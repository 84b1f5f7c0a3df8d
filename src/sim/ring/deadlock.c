/* Deadlock: a circle of output channels of which none can send before the next one does.
 *
 * A channel cannot send while the buffer that it feeds is full, and that buffer loses nothing
 * until the packet in front of it goes on, by the channel that it holds or the one that it
 * waits for. A packet with two branches also waits for the slower one. A channel that has a
 * place to send to is not in a circle, whatever it lacks now: what it lacks is behind it and
 * will come. So a circle found here never opens; and packets that wait for each other for ever
 * are in one as soon as all that can still move has moved. */
#include "sim/ring/state.h"

#include <stdarg.h>
#include <stdio.h>

/* The branches that must send before the packet in front of an input can give up a place. */
static uint32_t slowest_branches(const struct net *net, uint32_t number, uint32_t waits[2])
{
    const struct input *input = &net->inputs[number];
    if (input->count == 0 || input->routed == 0 || input->branch[0] == SINK_CHANNEL) {
        return 0;
    }
    uint32_t count = 0;
    uint32_t flits = net_packet(net, input->packet)->flits;
    bool both = input->branch[0] != NO_CHANNEL && input->branch[1] != NO_CHANNEL;
    for (uint32_t branch = 0; branch < 2; branch++) {
        if (input->branch[branch] != NO_CHANNEL &&
            (!both || net_sent_by(net, number, branch, flits) <=
                          net_sent_by(net, number, 1 - branch, flits))) {
            waits[count++] = input->branch[branch];
        }
    }
    return count;
}

/* The channels that have to send before this one can. */
static uint32_t waits_of(const struct net *net, uint32_t number, uint32_t waits[2])
{
    const struct output *output = &net->outputs[number];
    if (output->owner == NO_CHANNEL) {
        return 0;
    }
    if (output->peer != NO_CHANNEL) {
        if (net->inputs[output->peer].fill == net->config.buffer_flits) {
            return slowest_branches(net, output->peer, waits);
        }
    }
    const struct input *owner = &net->inputs[output->owner / 2];
    uint32_t other = owner->branch[1 - output->owner % 2];
    bool is_full = owner->peer != NO_CHANNEL && owner->fill == net->config.buffer_flits;
    if (other != NO_CHANNEL && is_full && output->available == 0) {
        waits[0] = other;
        return 1;
    }
    return 0;
}

struct search {
    uint8_t *state; /* of each channel: 0 not seen, 1 on the way, 2 in no circle */
    uint32_t *way;
    uint8_t *tried; /* of each channel on the way, how many of its waits */
    uint32_t depth;
};

/* Follows waits from a channel. True: the end of the way waits for `first`, a channel on it. */
static bool follow(const struct net *net, struct search *search, uint32_t start, uint32_t *first)
{
    search->way[0] = start;
    search->tried[0] = 0;
    search->state[start] = 1;
    search->depth = 1;
    while (search->depth > 0) {
        uint32_t top = search->depth - 1;
        uint32_t waits[2];
        uint32_t count = waits_of(net, search->way[top], waits);
        if (search->tried[top] == count) {
            search->state[search->way[top]] = 2;
            search->depth--;
            continue;
        }
        uint32_t next = waits[search->tried[top]++];
        if (search->state[next] == 1) {
            *first = next;
            return true;
        }
        if (search->state[next] == 0) {
            search->state[next] = 1;
            search->way[search->depth] = next;
            search->tried[search->depth++] = 0;
        }
    }
    return false;
}

static bool add(char *text, size_t bytes, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* False, and nothing added: no room. */
static bool add(char *text, size_t bytes, size_t *used, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text + *used, bytes - *used, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= bytes - *used) {
        text[*used] = 0;
        return false;
    }
    *used += (size_t)length;
    return true;
}

static bool add_channel(const struct net *net, char *text, size_t bytes, size_t *used,
                        uint32_t number, const char *before)
{
    const struct output *output = &net->outputs[number];
    const struct packet *packet = net_packet(net, output->packet);
    struct wire_ring_header header;
    INVARIANT(net_header_read(net, packet, &header));
    return add(text, bytes, used, "%srouter %u %s VC %u (packet %llu, %u -> %s%u)", before,
               output->port / net->ports, net_port_name(output->port % net->ports),
               (unsigned)output->channel, (unsigned long long)packet->tag, packet->source,
               header.multicast ? "group " : "", (unsigned)header.router);
}

static void describe(const struct net *net, const uint32_t *circle, uint32_t count, char *text,
                     size_t bytes)
{
    enum { END_BYTES = 64 }; /* for how the text ends, also when the circle is too long to tell */
    size_t used = 0;
    size_t room = bytes > END_BYTES ? bytes - END_BYTES : bytes;
    uint32_t said = 0;
    while (said < count &&
           add_channel(net, text, room, &used, circle[said], said ? " waits for " : "")) {
        said++;
    }
    if (said < count) {
        add(text, bytes, &used, " waits for %u more, the last of them for the first", count - said);
    } else {
        const struct output *first = &net->outputs[circle[0]];
        add(text, bytes, &used, " waits for router %u %s VC %u", first->port / net->ports,
            net_port_name(first->port % net->ports), (unsigned)first->channel);
    }
}

bool net_is_deadlocked(const struct net *net, char *text, size_t bytes)
{
    uint32_t channels = net->nodes * net->ports * net->vcs;
    struct search search = {
        .state = calloc(channels, sizeof *search.state),
        .way = calloc(channels, sizeof *search.way),
        .tried = calloc(channels, sizeof *search.tried),
    };
    INVARIANT(search.state && search.way && search.tried);
    bool found = false;
    if (bytes) {
        text[0] = 0;
    }
    for (uint32_t number = 0; number < channels && !found; number++) {
        uint32_t first;
        if (search.state[number] == 0 && follow(net, &search, number, &first)) {
            found = true;
            uint32_t start = 0;
            while (search.way[start] != first) {
                start++;
            }
            if (bytes) {
                describe(net, search.way + start, search.depth - start, text, bytes);
            }
        }
    }
    free(search.state);
    free(search.way);
    free(search.tried);
    return found;
}
