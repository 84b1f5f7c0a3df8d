/* Links that damage what they carry, or are dead. Flits go in frames (wire/transfer.h), which
 * are resent until they have come (frames.h). Links that are alive and make no errors do without
 * this: a link that dies begins to count its frames then, with what is on it, and stops when all
 * has come after its return.
 *
 * Flits go out as they come, one in a cycle. A frame ends when it is full or a cycle brings no
 * flit; its number and CRC follow. The receiver has the frame when those have come, and its flits
 * enter their buffers together: they had their credits when they were sent. While frames are
 * resent the port sends nothing new.
 *
 * Credits come back as the sums of all channels since the beginning, with ACKs and NACKs, so the
 * next message, or a repetition after resend_cycles, repeats what a damaged one said. Lost credits
 * are owed until then.
 *
 * The bits of a transfer are made only where one of them is wrong; its CRC decides what comes of
 * that. */
#include "sim/ring/state.h"

#include <string.h>

#include "wire/transfer.h"

enum {
    ACK_FRAMES = 2,
    ACK_CYCLES = 16,
    DAMAGED_BIT = 1 << 16,
    NACK_BIT = 1 << 17,
    EPOCH_SHIFT = 18, /* counts a link's deaths: what was on it before is lost */
    EPOCHS = 1 << (32 - EPOCH_SHIFT),
};

uint32_t net_frame_overhead(const struct net_config *config)
{
    return (WIRE_TRANSFER_OVERHEAD_BYTES + config->flit_bytes - 1) / config->flit_bytes;
}

static uint32_t longest_way(const struct net_config *config)
{
    uint32_t there = config->switch_cycles + config->link_cycles;
    return there > config->credit_cycles ? there : config->credit_cycles;
}

static struct frames_config frames_of(const struct net_config *config)
{
    uint32_t shortest = 1 + net_frame_overhead(config);
    return (struct frames_config){
        .window = frames_window(shortest, longest_way(config), ACK_FRAMES),
        .ack_frames = ACK_FRAMES,
        .ack_cycles = ACK_CYCLES,
        .resend_cycles = config->resend_cycles,
        .literal_rules = config->literal_rules,
    };
}

uint32_t net_least_resend_cycles(const struct net_config *config)
{
    struct frames_config frames = frames_of(config);
    /* An answer may have to wait for another on the lane, and a frame for another on the link. */
    uint32_t frame_cycles = config->frame_flits + net_frame_overhead(config);
    return frames_round_trip_cycles(frame_cycles, longest_way(config), &frames) + frame_cycles + 1;
}

/* ---- Bits ------------------------------------------------------------------------------------ */

/* Whether a transfer comes without damage. Its bits are made only if one of them is wrong. */
static bool comes_whole(struct net *net, const struct wire_transfer *transfer,
                        const struct link *link, const struct framed *flits)
{
    uint64_t bits = 8 * (uint64_t)wire_transfer_bytes(transfer);
    if (LIKELY(bit_errors_pass(&net->link_errors, bits))) {
        return true;
    }
    unsigned char *bytes = net->transfer;
    wire_transfer_begin(transfer, bytes);
    for (uint32_t i = 0; i < transfer->count; i++) {
        if (!flits) {
            wire_transfer_credits_encode(transfer, bytes, i, link->given[i]);
            continue;
        }
        const struct net_content *content = &flits[i].content;
        uint32_t begin = flits[i].flit * transfer->flit_bytes;
        struct wire_flit flit = {
            .channel = (uint8_t)(flits[i].event.where % net->vcs),
            .is_head = flits[i].flit == 0,
            .is_tail = content->bytes - begin <= transfer->flit_bytes,
            .bytes = transfer->flit_bytes,
        };
        if (flit.is_tail) {
            flit.bytes = flits[i].is_broken ? 0 : (uint8_t)(content->bytes - begin);
        }
        unsigned char data[WIRE_FLIT_BYTES_MAX];
        net_content_get(content, begin, flit.bytes, data);
        wire_transfer_flit_encode(transfer, bytes, i, &flit, data);
    }
    wire_transfer_seal(transfer, bytes);
    uint64_t at = 0;
    uint64_t place;
    while (bit_errors_next(&net->link_errors, bits, &at, &place)) {
        bytes[place / 8] ^= (unsigned char)(1u << place % 8);
    }
    struct wire_transfer read;
    bool is_read = wire_transfer_decode(bytes, (uint32_t)(bits / 8), &read);
    net->counters.frames_wrong += is_read;
    return is_read;
}

/* Whether an answer, or a credit alone, comes. */
static bool answer_comes(struct net *net, const struct link *link, uint16_t number, bool nack)
{
    const struct wire_transfer transfer = {
        .kind = nack ? WIRE_FRAME_NACK : WIRE_FRAME_ACK,
        .count = (uint8_t)net->vcs,
        .number = number,
    };
    return comes_whole(net, &transfer, link, NULL);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void begin_frames(struct net *net, struct link *link)
{
    struct frames_config frames = frames_of(&net->config);
    uint32_t least = net_least_resend_cycles(&net->config);
    if (frames.resend_cycles < least) {
        frames.resend_cycles = least;
    }
    if (!link->contents) {
        link->contents = calloc((size_t)frames.window * net->config.frame_flits,
                                sizeof *link->contents);
        link->lengths = calloc(frames.window, sizeof *link->lengths);
        link->open = calloc(net->config.frame_flits, sizeof *link->open);
        link->owed = calloc(net->vcs, sizeof *link->owed);
        link->given = calloc(net->vcs, sizeof *link->given);
        INVARIANT(link->contents && link->lengths && link->open && link->owed && link->given);
    }
    net->resent_before += link->sender.resent_count;
    frames_sender_init(&link->sender, &frames, 0);
    frames_receiver_init(&link->receiver, &frames, 0);
    link->epoch = (link->epoch + 1) % EPOCHS;
    link->ends_cycle = FRAMES_NEVER;
    net->port_state[link->port].framed = true;
    net->framed_links++;
}

bool net_links_open(struct net *net)
{
    bit_errors_init(&net->link_errors, net->config.bit_error_rate, net->config.seed);
    bit_errors_init(&net->port_errors, net->config.port_bit_error_rate, ~net->config.seed);
    net->links = net_table(net, net->link_count, sizeof *net->links);
    net->transfer = net_table(net, WIRE_TRANSFER_BYTES_MAX, 1);
    if (net->lacks_memory) {
        return false;
    }
    for (uint32_t number = 0; number < net->link_count; number++) {
        struct link *link = &net->links[number];
        link->port = net->link_ports[number];
        link->alive = true;
        net->port_state[link->port].link = number;
        if (net->config.bit_error_rate > 0) {
            begin_frames(net, link);
        }
    }
    return true;
}

void net_links_close(struct net *net)
{
    for (uint32_t number = 0; net->links && number < net->link_count; number++) {
        free(net->links[number].contents);
        free(net->links[number].lengths);
        free(net->links[number].open);
        free(net->links[number].owed);
        free(net->links[number].given);
    }
}

uint64_t net_links_resent(const struct net *net)
{
    uint64_t count = net->resent_before;
    for (uint32_t number = 0; number < net->link_count; number++) {
        count += net->links[number].sender.resent_count;
    }
    return count;
}

/* ---- The end that sends ---------------------------------------------------------------------- */

static uint32_t number_of(const struct net *net, const struct link *link)
{
    return (uint32_t)(link - net->links);
}

static struct framed frame_flit(const struct net *net, struct event event, uint32_t number,
                                uint32_t flit)
{
    const struct packet *packet = net_packet(net, number);
    return (struct framed){event, packet->content, flit, packet->is_broken};
}

void net_link_add(struct net *net, uint32_t number, uint32_t output_number, uint32_t what)
{
    struct link *link = &net->links[number];
    const struct output *output = &net->outputs[output_number];
    uint32_t flit = net_packet(net, output->packet)->flits - output->left - 1;
    link->open[link->open_count++] = frame_flit(net, (struct event){output->peer, what},
                                                output->packet, flit);
    link->added_cycle = net->cycle;
    bits_set_if(&net->busy_links, true, number);
}

static uint16_t close_frame(struct net *net, struct link *link)
{
    uint16_t frame = frames_sender_push(&link->sender);
    uint32_t slot = frames_slot(&link->sender, frame);
    memcpy(link->contents + (size_t)slot * net->config.frame_flits, link->open,
           link->open_count * sizeof *link->open);
    link->lengths[slot] = (uint16_t)link->open_count;
    link->open_count = 0;
    return frame;
}

static void frame_ends(struct net *net, struct link *link)
{
    uint32_t slot = frames_slot(&link->sender, link->sending);
    uint32_t what = link->sending | link->epoch << EPOCH_SHIFT;
    const struct wire_transfer transfer = {
        .kind = WIRE_FRAME,
        .count = (uint8_t)link->lengths[slot],
        .number = link->sending,
        .flit_bytes = (uint8_t)net->config.flit_bytes,
    };
    if (!comes_whole(net, &transfer, link,
                     link->contents + (size_t)slot * net->config.frame_flits)) {
        what |= DAMAGED_BIT;
        net->counters.frames_damaged++;
    }
    line_send(&net->frames, net->cycle + net->config.switch_cycles + net->config.link_cycles,
              number_of(net, link), what);
    link->ends_cycle = FRAMES_NEVER;
}

/* Sends what the link carries in this cycle besides new flits, and decides whether it takes a new
 * one in the next. */
static void send_frames(struct net *net, struct link *link)
{
    uint32_t cycles = net_frame_overhead(&net->config);
    if (link->ends_cycle == FRAMES_NEVER &&
        !(link->open_count && link->added_cycle == net->cycle)) {
        uint16_t closed = 0;
        bool is_closed = link->open_count > 0;
        if (is_closed) {
            closed = close_frame(net, link);
        }
        if (frames_sender_due(&link->sender) <= net->cycle &&
            frames_sender_next(&link->sender, net->cycle, &link->sending)) {
            /* The flits of a frame that was just closed have already gone out. */
            if (!is_closed || link->sending != closed) {
                cycles += link->lengths[frames_slot(&link->sender, link->sending)];
            }
            link->ends_cycle = net->cycle + cycles - 1;
        }
    }
    if (link->ends_cycle == net->cycle) {
        frame_ends(net, link);
    }
    bool has_place = link->open_count ? link->open_count < net->config.frame_flits
                                      : frames_sender_has_room(&link->sender);
    net->port_state[link->port].blocked = link->ends_cycle != FRAMES_NEVER || !has_place ||
                                          frames_sender_due(&link->sender) <= net->cycle + 1;
}

/* ---- Credits --------------------------------------------------------------------------------- */

/* A message with all sums has come: gives back what is owed. */
static void pay_owed(struct net *net, struct link *link)
{
    for (uint32_t channel = 0; link->owed_count && channel < net->vcs; channel++) {
        for (; link->owed[channel]; link->owed[channel]--, link->owed_count--) {
            net_output_credit(net, link->port * net->vcs + channel);
        }
    }
}

void net_link_credit(struct net *net, uint32_t output)
{
    struct link *link = &net->links[net->port_state[output / net->vcs].link];
    link->given[output % net->vcs]++;
    if (link->alive && answer_comes(net, link, link->receiver.expected, false)) {
        net_output_credit(net, output);
        pay_owed(net, link);
        return;
    }
    if (link->owed_count++ == 0) {
        link->pay_cycle = net->cycle + net->config.resend_cycles;
    }
    link->owed[output % net->vcs]++;
    bits_set_if(&net->busy_links, true, number_of(net, link));
}

/* ---- The end that receives ------------------------------------------------------------------- */

static void take_frame(struct net *net, struct link *link, uint16_t frame)
{
    bits_set_if(&net->busy_links, true, number_of(net, link)); /* so that its answer goes out */
    if (!frames_receiver_take(&link->receiver, net->cycle, frame)) {
        return;
    }
    uint32_t slot = frames_slot(&link->sender, frame);
    const struct framed *flits = link->contents + (size_t)slot * net->config.frame_flits;
    for (uint32_t i = 0; i < link->lengths[slot]; i++) {
        net_input_receive(net, flits[i].event.where, flits[i].event.what);
    }
}

static bool is_on_link(const struct net *net, const struct link *link, uint32_t what)
{
    return net->port_state[link->port].framed && link->alive && what >> EPOCH_SHIFT == link->epoch;
}

void net_links_receive(struct net *net)
{
    struct burst *burst = line_burst(&net->frames, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        struct link *link = &net->links[burst->events[i].where];
        uint32_t what = burst->events[i].what;
        if (is_on_link(net, link, what) && !(what & DAMAGED_BIT)) {
            take_frame(net, link, (uint16_t)what);
        }
    }
    burst->count = 0;
    burst = line_burst(&net->answers, net->cycle);
    for (uint32_t i = 0; i < burst->count; i++) {
        struct link *link = &net->links[burst->events[i].where];
        uint32_t what = burst->events[i].what;
        if (is_on_link(net, link, what) && !(what & DAMAGED_BIT)) {
            struct frames_answer answer = {.number = (uint16_t)what, .nack = what & NACK_BIT};
            frames_sender_answered(&link->sender, net->cycle, answer);
            pay_owed(net, link);
        }
    }
    burst->count = 0;
}

static void send_answer(struct net *net, struct link *link)
{
    struct frames_answer answer;
    if (frames_receiver_due(&link->receiver) <= net->cycle &&
        frames_receiver_answer(&link->receiver, net->cycle, &answer)) {
        uint32_t what = answer.number | link->epoch << EPOCH_SHIFT;
        what |= answer.nack ? NACK_BIT : 0;
        what |= answer_comes(net, link, answer.number, answer.nack) ? 0 : DAMAGED_BIT;
        line_send(&net->answers, net->cycle + net->config.credit_cycles, number_of(net, link),
                  what);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* A link rests when nothing is on its way and nothing has to be said. */
static void rest(struct net *net, struct link *link)
{
    bool is_idle = link->open_count == 0 && link->ends_cycle == FRAMES_NEVER &&
                   link->owed_count == 0 && frames_sender_is_idle(&link->sender) &&
                   frames_receiver_due(&link->receiver) == FRAMES_NEVER;
    if (!is_idle || net->port_state[link->port].blocked) {
        return;
    }
    bits_clear_if(&net->busy_links, true, number_of(net, link));
    if (net->config.bit_error_rate == 0) {
        net->port_state[link->port].framed = false;
        net->framed_links--;
    }
}

static void send_on_link(struct net *net, struct link *link)
{
    if (!link->alive) {
        return;
    }
    if (link->owed_count && net->cycle >= link->pay_cycle) {
        if (answer_comes(net, link, link->receiver.expected, false)) {
            pay_owed(net, link);
        } else {
            link->pay_cycle = net->cycle + net->config.resend_cycles;
        }
    }
    send_answer(net, link);
    send_frames(net, link);
    rest(net, link);
}

void net_links_send(struct net *net)
{
    for (uint32_t word = 0; word < net->busy_links.word_count; word++) {
        for (uint64_t links = net->busy_links.words[word]; links; links &= links - 1) {
            send_on_link(net, &net->links[word * 64 + (uint32_t)__builtin_ctzll(links)]);
        }
    }
}

/* ---- Death and return ------------------------------------------------------------------------ */

/* The packet whose flits come into an input now, and how many have come; NO_PACKET: a head is
 * next. */
static uint32_t coming_in(const struct net *net, uint32_t number, uint32_t *arrived)
{
    const struct input *input = &net->inputs[number];
    if (input->count == 0) {
        return NO_PACKET;
    }
    struct record last = {input->packet, input->arrived};
    if (input->count > 1) {
        last = *net_record(net, number, input->count - 1u);
    }
    *arrived = last.arrived;
    return last.arrived < net_packet(net, last.packet)->flits ? last.packet : NO_PACKET;
}

/* The flits on a link that had no frames until now become frames that have not come. */
static void take_back(struct net *net, struct link *link)
{
    uint32_t first = net->outputs[link->port * net->vcs].peer; /* of the inputs that it feeds */
    uint32_t packets[NET_VCS_MAX];
    uint32_t next[NET_VCS_MAX];
    for (uint32_t channel = 0; channel < net->vcs; channel++) {
        packets[channel] = coming_in(net, first + channel, &next[channel]);
    }
    for (uint32_t i = 0; i <= net->flits.mask; i++) {
        struct burst *burst = line_burst(&net->flits, net->cycle + i);
        uint32_t kept = 0;
        for (uint32_t e = 0; e < burst->count; e++) {
            struct event event = burst->events[e];
            if (event.where / net->vcs != first / net->vcs) {
                burst->events[kept++] = event;
                continue;
            }
            uint32_t channel = event.where % net->vcs;
            if (event.what != BODY_FLIT) {
                packets[channel] = event.what;
                next[channel] = 0;
            }
            link->open[link->open_count++] = frame_flit(net, event, packets[channel],
                                                        next[channel]++);
            if (link->open_count == net->config.frame_flits) {
                close_frame(net, link);
            }
        }
        burst->count = kept;
    }
}

static void die(struct net *net, struct link *link)
{
    if (!net->port_state[link->port].framed) {
        begin_frames(net, link);
        take_back(net, link);
    }
    if (link->open_count) {
        close_frame(net, link);
    }
    link->alive = false;
    link->epoch = (link->epoch + 1) % EPOCHS;
    link->ends_cycle = FRAMES_NEVER;
    net->port_state[link->port].blocked = true;
}

static void come_back(struct net *net, struct link *link)
{
    link->alive = true;
    link->pay_cycle = net->cycle + net->config.credit_cycles;
    frames_sender_restart(&link->sender, net->cycle);
    bits_set_if(&net->busy_links, true, number_of(net, link));
}

void net_link_set(struct net *net, uint32_t from, uint32_t to, bool alive)
{
    bool found = false;
    for (uint32_t number = 0; number < net->link_count; number++) {
        struct link *link = &net->links[number];
        uint32_t peer = net->outputs[link->port * net->vcs].peer;
        if (link->port / net->ports != from || net_router_of(net, peer) != to) {
            continue;
        }
        found = true;
        if (link->alive && !alive) {
            die(net, link);
        } else if (!link->alive && alive) {
            come_back(net, link);
        }
    }
    INVARIANT(found);
}
