/* Frames over a link that damages some of them: each is resent until it has come once, in order.
 *
 * The rules are paper 003's frame retransmission (section 5.4.4), repaired. The sender numbers
 * each frame and keeps it until it is acknowledged. The receiver takes frames in order, drops
 * damaged ones, and answers over the link's flow control lane: ACK n, all through n have come;
 * NACK n, all before n have come and n is missing. Taken literally the paper's rules livelock;
 * the repairs:
 *
 *     what comes                literal                        repaired
 *     a frame that came before  NACK                           dropped, an ACK again
 *     a frame beyond a gap      NACK, each of them             one NACK for the gap
 *     NACK n                    resend acknowledged + 1 .. n   resend n .. the newest
 *     nothing for a while       nothing                        a timer: resend the oldest .. newest
 *     ack_frames in order       ACK; the count runs on         ACK; the count begins anew
 *
 * and the last frames before a pause, too few to fill the count, are acknowledged after
 * ack_cycles. If a gap is there again after the sender went back (a number came that is not
 * above those seen beyond the gap), it counts as a new gap with its own NACK. Frames, ACKs and
 * NACKs may each be lost; what arrives is what was sent (the CRC-32 of wire/transfer.h sees to
 * that), in the order in which it was sent.
 *
 * Kept true: the receiver takes a frame exactly once, in order of its number; the sender drops a
 * frame from its buffer only after it has been taken; the numbers of two frames that are not
 * acknowledged differ by less than the window, which is at most half of all numbers, so old and
 * new are told apart when numbers wrap.
 *
 * The module holds numbers, no content, and no memory of its own. A link (links.c) has a sender at
 * one end and a receiver at the other, a pair for each direction, for all its virtual channels
 * together: a frame in order can always be taken, as its flits had their credits when they were
 * first sent, so no channel waits for another one here. A resent frame takes no new credit.
 * Credits go over the same lane as answers; a lost one does no harm if each tells the sum since the
 * beginning, and every answer repeats it. A link that dies loses what is on it and calls nothing
 * until it is back.
 *
 * A link without errors needs none of this: nothing is ever sent twice, and the answers take
 * no time from the data. Nothing here does I/O or reads a clock; a call takes nanoseconds. */
#ifndef SIM_FRAMES_H
#define SIM_FRAMES_H

#include "base/base.h"

enum {
    FRAMES_WINDOW_MAX = 32768, /* half of the 2^16 numbers */
    FRAMES_DOUBLINGS_MAX = 16,
    FRAMES_NACKS = 32, /* literal rules: NACKs that wait at a busy sender */
};

#define FRAMES_NEVER UINT64_MAX

struct frames_config {
    uint32_t window;        /* frames that the send buffer holds: a power of two */
    uint32_t ack_frames;    /* this many frames in order make an ACK; 1 .. window */
    uint32_t ack_cycles;    /* if fewer come, the first waits this long for its ACK */
    uint32_t resend_cycles; /* the timer; at least 1 */
    /* Each time that the timer fires before any frame is acknowledged it takes twice as long, up to
     * so many times: 0 on a cable, which nobody shares. */
    uint32_t doublings_most;
    bool literal_rules; /* the paper's rules, which livelock; no timers */
};

/* A timer longer than this does not fire while all goes well. */
uint32_t frames_round_trip_cycles(uint32_t frame_cycles, uint32_t link_cycles,
                                  const struct frames_config *config);

/* The smallest window that keeps a link busy: the frames that go out until the first is
 * acknowledged. */
uint32_t frames_window(uint32_t frame_cycles, uint32_t link_cycles, uint32_t ack_frames);

/* NULL, or why the config makes no sense, for "frames: %s". */
const char *frames_config_objection(const struct frames_config *config);

struct frames_answer {
    uint16_t number;
    bool nack;
};

/* ---- The end that sends ------------------------------------------------------------------ */

/* In order of their numbers: oldest <= next <= sent <= end. */
struct frames_sender {
    uint16_t oldest; /* the oldest that is not acknowledged */
    uint16_t next;   /* goes out next */
    uint16_t sent;   /* behind all that ever went out */
    uint16_t end;    /* behind all that are buffered: the next new number */
    uint16_t window_mask;
    bool literal_rules;
    uint32_t resend_cycles;
    uint32_t doublings, doublings_most;
    uint64_t timer_cycle; /* FRAMES_NEVER: nothing waits for an acknowledgement */

    uint64_t resent_count;  /* frames that went out again */
    uint64_t timeout_count; /* times that the timer fired */

    /* Literal rules: the resending under way, [again, again_end), and what follows it. */
    uint16_t again, again_end;
    uint16_t nack_first, nack_count;
    uint16_t nacks[FRAMES_NACKS];
};

/* The config has no objection; the first frame gets the given number (any). */
void frames_sender_init(struct frames_sender *sender, const struct frames_config *config,
                        uint16_t first);

static inline bool frames_sender_has_room(const struct frames_sender *sender)
{
    return (uint16_t)(sender->end - sender->oldest) <= sender->window_mask;
}

/* Where the caller keeps a frame's content: 0 .. window - 1. */
static inline uint32_t frames_slot(const struct frames_sender *sender, uint16_t number)
{
    return number & sender->window_mask;
}

/* Adds a new frame; there must be room. */
static inline uint16_t frames_sender_push(struct frames_sender *sender)
{
    INVARIANT(frames_sender_has_room(sender));
    return sender->end++;
}

/* Whether all that was pushed is acknowledged. */
static inline bool frames_sender_is_idle(const struct frames_sender *sender)
{
    return sender->oldest == sender->end;
}

/* The cycle from which on frames_sender_next has something; 0: now. An answer, a push or a restart
 * makes it earlier or later. */
static inline uint64_t frames_sender_due(const struct frames_sender *sender)
{
    if (sender->next != sender->end || sender->again != sender->again_end) {
        return 0;
    }
    return sender->timer_cycle;
}

/* Gives the frame that begins to go out at this cycle; false: none. */
bool frames_sender_next(struct frames_sender *sender, uint64_t cycle, uint16_t *number);

/* Takes an answer; one that is out of date or makes no sense changes nothing. */
void frames_sender_answered(struct frames_sender *sender, uint64_t cycle,
                            struct frames_answer answer);

/* The link is back: everything not acknowledged goes out again. */
void frames_sender_restart(struct frames_sender *sender, uint64_t cycle);

/* ---- The end that receives --------------------------------------------------------------- */

struct frames_receiver {
    uint16_t expected;
    uint16_t beyond; /* in a gap: the newest number that came beyond it */
    bool in_gap;     /* `expected` is missing, and a NACK was made for it */
    bool nack;       /* the answer that is due is a NACK */
    bool literal_rules;
    uint32_t ack_frames;
    uint32_t ack_cycles;
    uint32_t count;        /* taken since the last ACK; literal rules: since the beginning */
    uint64_t answer_cycle; /* when the next answer is due; FRAMES_NEVER: none */

    uint64_t duplicate_count; /* frames that had come before */
    uint64_t beyond_count;    /* frames dropped beyond a gap */
};

void frames_receiver_init(struct frames_receiver *receiver, const struct frames_config *config,
                          uint16_t first);

/* Takes an undamaged frame. True: it is the next in order, and its content is taken now. False: it
 * is dropped. */
bool frames_receiver_take(struct frames_receiver *receiver, uint64_t cycle, uint16_t number);

/* The cycle from which on frames_receiver_answer has something. */
static inline uint64_t frames_receiver_due(const struct frames_receiver *receiver)
{
    return receiver->answer_cycle;
}

/* Gives the answer to send at this cycle; false: none. There is never more than one: it also
 * answers the frames that come while it waits. */
bool frames_receiver_answer(struct frames_receiver *receiver, uint64_t cycle,
                            struct frames_answer *answer);

#endif
