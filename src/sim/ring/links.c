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
 * On a real link credits come back as the sums of all channels since the beginning, with ACKs
 * and NACKs, so the next message, or a repetition after resend_cycles, repeats what a damaged
 * one said. The model has the same effect without the sums: lost credits are owed until then. */
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

static uint32_t overhead_cycles(const struct net_config *config)
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
    uint32_t shortest = 1 + overhead_cycles(config);
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
    uint32_t frame_cycles = config->frame_flits + overhead_cycles(config);
    return frames_round_trip_cycles(frame_cycles, longest_way(config), &frames) + frame_cycles + 1;
}

/* ---- Chance ---------------------------------------------------------------------------------- */

static bool is_damaged(struct net *net, uint64_t chance)
{
    return base_random_next(&net->random) < chance;
}

/* The chance that any bit is wrong once `bits` more have been added, from the chance before. */
static double add_bits(double chance, double bit_error_rate, uint32_t bits)
{
    for (uint32_t i = 0; i < bits; i++) {
        chance += (1 - chance) * bit_error_rate;
    }
    return chance;
}

/* In 2^64ths. With a rate of at most 1e-4 even the longest frame has a chance below 1. */
static uint64_t as_threshold(double chance)
{
    return chance >= 1 ? UINT64_MAX : (uint64_t)(chance * 18446744073709549568.0);
}

static void set_chances(struct net *net)
{
    const struct net_config *config = &net->config;
    double chance = add_bits(0, config->bit_error_rate, WIRE_TRANSFER_OVERHEAD_BYTES * 8);
    net->answer_chance = as_threshold(
        add_bits(chance, config->bit_error_rate, 2 * config->vcs * 8));
    for (uint32_t flits = 1; flits <= config->frame_flits; flits++) {
        chance = add_bits(chance, config->bit_error_rate, config->flit_bytes * 8);
        net->frame_chances[flits] = as_threshold(chance);
    }
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
        INVARIANT(link->contents && link->lengths && link->open && link->owed);
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
    net->random.state = net->config.seed;
    net->links = net_table(net, net->link_count, sizeof *net->links);
    net->frame_chances = net_table(net, net->config.frame_flits + 1, sizeof *net->frame_chances);
    if (net->lacks_memory) {
        return false;
    }
    set_chances(net);
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

void net_link_add(struct net *net, uint32_t number, uint32_t input, uint32_t what)
{
    struct link *link = &net->links[number];
    link->open[link->open_count++] = (struct event){input, what};
    link->added_cycle = net->cycle;
    bits_set(&net->busy_links, number);
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
    uint32_t flits = link->lengths[frames_slot(&link->sender, link->sending)];
    uint32_t what = link->sending | link->epoch << EPOCH_SHIFT;
    if (is_damaged(net, net->frame_chances[flits])) {
        what |= DAMAGED_BIT;
        net->counters.frames_damaged++;
    }
    line_send(&net->frames, number_of(net, link), what);
    link->ends_cycle = FRAMES_NEVER;
}

/* Sends what the link carries in this cycle besides new flits, and decides whether it takes a new
 * one in the next. */
static void send_frames(struct net *net, struct link *link)
{
    uint32_t cycles = overhead_cycles(&net->config);
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
    if (link->alive && !is_damaged(net, net->answer_chance)) {
        net_output_credit(net, output);
        pay_owed(net, link);
        return;
    }
    if (link->owed_count++ == 0) {
        link->pay_cycle = net->cycle + net->config.resend_cycles;
    }
    link->owed[output % net->vcs]++;
    bits_set(&net->busy_links, number_of(net, link));
}

/* ---- The end that receives ------------------------------------------------------------------- */

static void take_frame(struct net *net, struct link *link, uint16_t frame)
{
    bits_set(&net->busy_links, number_of(net, link)); /* so that its answer goes out */
    if (!frames_receiver_take(&link->receiver, net->cycle, frame)) {
        return;
    }
    uint32_t slot = frames_slot(&link->sender, frame);
    const struct event *flits = link->contents + (size_t)slot * net->config.frame_flits;
    for (uint32_t i = 0; i < link->lengths[slot]; i++) {
        net_input_receive(net, flits[i].where, flits[i].what);
    }
}

static bool is_on_link(const struct net *net, const struct link *link, uint32_t what)
{
    return net->port_state[link->port].framed && link->alive && what >> EPOCH_SHIFT == link->epoch;
}

void net_links_receive(struct net *net)
{
    struct burst *burst = &net->frames.bursts[net->frames.now];
    for (uint32_t i = 0; i < burst->count; i++) {
        struct link *link = &net->links[burst->events[i].where];
        uint32_t what = burst->events[i].what;
        if (is_on_link(net, link, what) && !(what & DAMAGED_BIT)) {
            take_frame(net, link, (uint16_t)what);
        }
    }
    burst->count = 0;
    burst = &net->answers.bursts[net->answers.now];
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
        what |= is_damaged(net, net->answer_chance) ? DAMAGED_BIT : 0;
        line_send(&net->answers, number_of(net, link), what);
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
    bits_clear(&net->busy_links, number_of(net, link));
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
        if (is_damaged(net, net->answer_chance)) {
            link->pay_cycle = net->cycle + net->config.resend_cycles;
        } else {
            pay_owed(net, link);
        }
    }
    send_answer(net, link);
    send_frames(net, link);
    rest(net, link);
}

void net_links_send(struct net *net)
{
    for (uint32_t s = 0; s < net->busy_links.summary_words; s++) {
        for (uint64_t words = net->busy_links.summary[s]; words; words &= words - 1) {
            uint32_t word = s * 64 + (uint32_t)__builtin_ctzll(words);
            for (uint64_t links = net->busy_links.words[word]; links; links &= links - 1) {
                send_on_link(net, &net->links[word * 64 + (uint32_t)__builtin_ctzll(links)]);
            }
        }
    }
}

/* ---- Death and return ------------------------------------------------------------------------ */

/* The flits on a link that had no frames until now become frames that have not come. */
static void take_back(struct net *net, struct link *link)
{
    uint32_t peer_port = net->outputs[link->port * net->vcs].peer / net->vcs;
    for (uint32_t i = 0; i < net->flits.delay; i++) {
        struct burst *burst = &net->flits.bursts[(net->flits.now + i) % net->flits.delay];
        uint32_t kept = 0;
        for (uint32_t e = 0; e < burst->count; e++) {
            struct event event = burst->events[e];
            if (event.where / net->vcs != peer_port) {
                burst->events[kept++] = event;
                continue;
            }
            link->open[link->open_count++] = event;
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
    bits_set(&net->busy_links, number_of(net, link));
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
