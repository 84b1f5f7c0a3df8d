/* The retransmission of frames: see frames.h for the rules.
 *
 * Numbers wrap. The numbers of one link that matter at a time lie within 2 windows, at most 2^16,
 * so the difference of two of them tells which is older. */
#include "sim/frames.h"

/* Whether a number lies in [from, to), where to is at most 2^15 beyond from. */
static bool is_within(uint16_t number, uint16_t from, uint16_t to)
{
    return (uint16_t)(number - from) < (uint16_t)(to - from);
}

/* Whether a number is older than another. */
static bool is_before(uint16_t number, uint16_t other)
{
    return (uint16_t)(number - other) >= FRAMES_WINDOW_MAX;
}

uint32_t frames_round_trip_cycles(uint32_t frame_cycles, uint32_t link_cycles,
                                  const struct frames_config *config)
{
    /* The last of ack_frames frames goes out behind the others, or the ACK waits. */
    uint32_t others = (config->ack_frames - 1) * frame_cycles;
    uint32_t waits = others > config->ack_cycles ? others : config->ack_cycles;
    return frame_cycles + link_cycles + waits + link_cycles + 1;
}

uint32_t frames_window(uint32_t frame_cycles, uint32_t link_cycles, uint32_t ack_frames)
{
    uint64_t cycles = 2 * (uint64_t)link_cycles + 2;
    uint64_t frames = ack_frames + 1 + (cycles + frame_cycles - 1) / frame_cycles;
    uint32_t window = 1;
    while (window < frames && window < FRAMES_WINDOW_MAX) {
        window *= 2;
    }
    return window;
}

const char *frames_config_objection(const struct frames_config *config)
{
    if (!is_power_of_two(config->window) || config->window > FRAMES_WINDOW_MAX) {
        return "the window is no power of two of at most 32768 frames";
    }
    if (config->ack_frames == 0 || config->ack_frames > config->window) {
        return "an ACK is for at least 1 frame and no more than the window holds";
    }
    if (config->resend_cycles == 0) {
        return "a timer of 0 cycles would resend all the time";
    }
    if (config->doublings_most > FRAMES_DOUBLINGS_MAX) {
        return "the timer doubles at most 16 times";
    }
    return NULL;
}

/* ---- The end that sends ------------------------------------------------------------------ */

void frames_sender_init(struct frames_sender *sender, const struct frames_config *config,
                        uint16_t first)
{
    INVARIANT(!frames_config_objection(config));
    *sender = (struct frames_sender){
        .oldest = first,
        .next = first,
        .sent = first,
        .end = first,
        .window_mask = (uint16_t)(config->window - 1),
        .literal_rules = config->literal_rules,
        .resend_cycles = config->resend_cycles,
        .doublings_most = config->doublings_most,
        .timer_cycle = FRAMES_NEVER,
        .again = first,
        .again_end = first,
    };
}

static void set_timer(struct frames_sender *sender, uint64_t cycle)
{
    bool wanted = sender->oldest != sender->sent && !sender->literal_rules;
    uint64_t cycles = (uint64_t)sender->resend_cycles << sender->doublings;
    sender->timer_cycle = wanted ? cycle + cycles : FRAMES_NEVER;
}

/* Literal rules: begins the oldest resending that a NACK asked for. Those of frames that have been
 * acknowledged since are empty. */
static void begin_resending(struct frames_sender *sender)
{
    while (sender->again == sender->again_end && sender->nack_count > 0) {
        uint16_t nacked = sender->nacks[sender->nack_first];
        sender->nack_first = (uint16_t)((sender->nack_first + 1) % FRAMES_NACKS);
        sender->nack_count--;
        if (!is_before(nacked, sender->oldest)) {
            uint16_t end = (uint16_t)(nacked + 1);
            sender->again = sender->oldest;
            sender->again_end = is_before(sender->sent, end) ? sender->sent : end;
        }
    }
}

static bool next_literally(struct frames_sender *sender, uint16_t *number)
{
    if (sender->again != sender->again_end) {
        *number = sender->again++;
        sender->resent_count++;
        begin_resending(sender);
        return true;
    }
    if (sender->next == sender->end) {
        return false;
    }
    *number = sender->next++;
    sender->sent = sender->next;
    return true;
}

bool frames_sender_next(struct frames_sender *sender, uint64_t cycle, uint16_t *number)
{
    if (UNLIKELY(sender->literal_rules)) {
        return next_literally(sender, number);
    }
    if (UNLIKELY(cycle >= sender->timer_cycle)) {
        sender->timeout_count++;
        sender->doublings += sender->doublings < sender->doublings_most;
        sender->next = sender->oldest;
        set_timer(sender, cycle);
    }
    if (sender->next == sender->end) {
        return false;
    }
    *number = sender->next++;
    if (LIKELY(*number == sender->sent)) {
        sender->sent = sender->next;
        if (sender->timer_cycle == FRAMES_NEVER) {
            set_timer(sender, cycle);
        }
    } else {
        sender->resent_count++;
    }
    return true;
}

static void nacked_literally(struct frames_sender *sender, uint16_t number)
{
    if (sender->nack_count < FRAMES_NACKS) {
        sender->nacks[(sender->nack_first + sender->nack_count) % FRAMES_NACKS] = number;
        sender->nack_count++;
    }
    begin_resending(sender);
}

void frames_sender_answered(struct frames_sender *sender, uint64_t cycle,
                            struct frames_answer answer)
{
    /* All before `good` have come, whichever answer it is. */
    uint16_t good = (uint16_t)(answer.number + (answer.nack ? 0 : 1));
    if (sender->literal_rules) {
        /* From a NACK the paper's sender learns only what to send. */
        if (answer.nack) {
            nacked_literally(sender, answer.number);
        } else if (is_within(answer.number, sender->oldest, sender->sent)) {
            sender->oldest = good;
            if (sender->again != sender->again_end && is_before(sender->again, good)) {
                sender->again = is_before(sender->again_end, good) ? sender->again_end : good;
                begin_resending(sender);
            }
        }
        return;
    }
    /* An answer that is older than what is known is ignored. */
    if ((uint16_t)(good - sender->oldest) > (uint16_t)(sender->sent - sender->oldest)) {
        return;
    }
    bool has_news = good != sender->oldest;
    sender->doublings = has_news ? 0 : sender->doublings;
    sender->oldest = good;
    if (answer.nack && good != sender->sent) {
        sender->next = good;
        has_news = true;
    } else if (is_before(sender->next, good)) {
        sender->next = good;
    }
    if (has_news) {
        set_timer(sender, cycle);
    }
}

void frames_sender_restart(struct frames_sender *sender, uint64_t cycle)
{
    if (sender->literal_rules) {
        return; /* The paper says nothing about this. */
    }
    sender->next = sender->oldest;
    set_timer(sender, cycle);
}

/* ---- The end that receives --------------------------------------------------------------- */

void frames_receiver_init(struct frames_receiver *receiver, const struct frames_config *config,
                          uint16_t first)
{
    INVARIANT(!frames_config_objection(config));
    *receiver = (struct frames_receiver){
        .expected = first,
        .literal_rules = config->literal_rules,
        .ack_frames = config->ack_frames,
        .ack_cycles = config->ack_cycles,
        .answer_cycle = FRAMES_NEVER,
    };
}

static bool take_literally(struct frames_receiver *receiver, uint64_t cycle, uint16_t number)
{
    bool in_order = number == receiver->expected;
    if (in_order) {
        receiver->expected++;
        receiver->count++;
        if (receiver->count < receiver->ack_frames) {
            return true;
        }
    } else if (is_before(number, receiver->expected)) {
        receiver->duplicate_count++;
    } else {
        receiver->beyond_count++;
    }
    receiver->nack = !in_order;
    receiver->answer_cycle = cycle;
    return in_order;
}

static void answer_at(struct frames_receiver *receiver, uint64_t cycle)
{
    if (cycle < receiver->answer_cycle) {
        receiver->answer_cycle = cycle;
    }
}

bool frames_receiver_take(struct frames_receiver *receiver, uint64_t cycle, uint16_t number)
{
    if (UNLIKELY(receiver->literal_rules)) {
        return take_literally(receiver, cycle, number);
    }
    if (LIKELY(number == receiver->expected)) {
        receiver->expected++;
        receiver->in_gap = false;
        receiver->nack = false; /* the NACK has not been sent, and is no longer true */
        receiver->count++;
        answer_at(receiver,
                  receiver->count >= receiver->ack_frames ? cycle : cycle + receiver->ack_cycles);
        return true;
    }
    if (is_before(number, receiver->expected)) {
        /* Its ACK was lost, or is still under way. */
        receiver->duplicate_count++;
        answer_at(receiver, cycle);
        return false;
    }
    /* Frames come in the order in which they are sent. So one that is not above the newest shows
     * that the sender went back, and that the missing one was lost once more. */
    receiver->beyond_count++;
    if (!receiver->in_gap || !is_before(receiver->beyond, number)) {
        receiver->in_gap = true;
        receiver->nack = true;
        answer_at(receiver, cycle);
    }
    receiver->beyond = number;
    return false;
}

bool frames_receiver_answer(struct frames_receiver *receiver, uint64_t cycle,
                            struct frames_answer *answer)
{
    if (cycle < receiver->answer_cycle) {
        return false;
    }
    *answer = (struct frames_answer){
        .number = (uint16_t)(receiver->expected - (receiver->nack ? 0 : 1)),
        .nack = receiver->nack,
    };
    receiver->answer_cycle = FRAMES_NEVER;
    receiver->nack = false;
    if (!receiver->literal_rules) {
        receiver->count = 0;
    }
    return true;
}
