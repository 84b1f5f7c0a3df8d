/* Round trips, delivery rate and the window that follows from them. */
#include "swif/congestion.h"

enum {
    WINDOW_FIRST = 10, /* packets, before anything is known */
    QUEUED_TARGET = 3, /* packets of ours that may stand in queues */
    QUEUED_MAX = 6,    /* more than that are too many */
    FLAT_ROUNDS_MAX = 3,
};

#define WINDOW_MIN (SWIF_WINDOW_ONE / 8)
/* Pauses beyond it are of no use to others, and a packet that is lost again and again on a long way
 * would wait for seconds each time. */
#define PAUSE_LONGEST_NS UINT64_C(250000000)
#define SHORTEST_LASTS_NS UINT64_C(10000000000)
#define NS_PER_S UINT64_C(1000000000)

void swif_congestion_init(struct swif_congestion *congestion, uint64_t now_ns)
{
    *congestion = (struct swif_congestion){
        .window = WINDOW_FIRST * SWIF_WINDOW_ONE,
        .starting = true,
        .round_at_ns = now_ns,
        .delivered_at_ns = now_ns,
    };
}

void swif_congestion_sent(struct swif_congestion *congestion, uint64_t now_ns,
                          struct swif_sent *sent)
{
    *sent = (struct swif_sent){now_ns, congestion->delivered_bytes, congestion->delivered_at_ns};
    if (congestion->window < SWIF_WINDOW_ONE && congestion->srtt_ns) {
        uint64_t srtt_ns = congestion->srtt_ns;
        uint64_t longest_ns = srtt_ns > PAUSE_LONGEST_NS ? srtt_ns : PAUSE_LONGEST_NS;
        uint64_t pause_ns = srtt_ns * SWIF_WINDOW_ONE / congestion->window;
        congestion->pace_ns = now_ns + (pause_ns < longest_ns ? pause_ns : longest_ns);
    }
}

/* A peer that stood still for seconds, or came late to its socket, answers late once: that is not
 * the length of the way, and the time-outs and pauses that follow from it would last for seconds as
 * well. A way that has become longer is learnt in some round trips. */
static void smooth(struct swif_congestion *congestion, uint64_t rtt_ns, uint64_t usual_ns)
{
    uint64_t most_ns = 4 * congestion->srtt_ns > usual_ns ? 4 * congestion->srtt_ns : usual_ns;
    if (usual_ns && rtt_ns > most_ns) {
        rtt_ns = most_ns;
    }
    if (congestion->srtt_ns == 0) {
        congestion->srtt_ns = rtt_ns;
        congestion->rttvar_ns = rtt_ns / 2;
    } else {
        uint64_t off = rtt_ns > congestion->srtt_ns ? rtt_ns - congestion->srtt_ns
                                                    : congestion->srtt_ns - rtt_ns;
        congestion->rttvar_ns = (3 * congestion->rttvar_ns + off) / 4;
        congestion->srtt_ns = (7 * congestion->srtt_ns + rtt_ns) / 8;
    }
}

static void measure_round_trip(struct swif_congestion *congestion, uint64_t now_ns, uint64_t rtt_ns)
{
    if (congestion->shortest_ns == 0 || rtt_ns <= congestion->shortest_ns ||
        now_ns - congestion->shortest_at_ns > SHORTEST_LASTS_NS) {
        congestion->shortest_ns = rtt_ns;
        congestion->shortest_at_ns = now_ns;
    }
    if (congestion->round_rtt_ns == 0 || rtt_ns < congestion->round_rtt_ns) {
        congestion->round_rtt_ns = rtt_ns;
    }
}

static void measure_rate(struct swif_congestion *congestion, uint64_t now_ns,
                         const struct swif_sent *sent)
{
    uint64_t bytes = congestion->delivered_bytes - sent->delivered_bytes;
    uint64_t elapsed_ns = now_ns - sent->delivered_at_ns;
    if (elapsed_ns == 0 || elapsed_ns < congestion->shortest_ns / 2 ||
        bytes > UINT64_MAX / NS_PER_S) {
        return;
    }
    uint64_t rate = bytes * NS_PER_S / elapsed_ns;
    congestion->rate = rate > congestion->rate ? rate : (7 * congestion->rate + rate) / 8;
}

/* Starting: doubles, until that brings nothing more. */
static void grow_at_start(struct swif_congestion *congestion, uint32_t queued, bool too_many)
{
    if (congestion->rate > congestion->best_rate + congestion->best_rate / 4) {
        congestion->best_rate = congestion->rate;
        congestion->flat_rounds = 0;
    } else {
        congestion->flat_rounds++;
    }
    if (!too_many && congestion->flat_rounds < FLAT_ROUNDS_MAX) {
        congestion->window *= 2;
        return;
    }
    congestion->starting = false;
    /* Keep what fills the path without queueing, and what may queue. */
    congestion->window -= queued;
    congestion->window += QUEUED_TARGET * SWIF_WINDOW_ONE;
}

static void end_round(struct swif_congestion *congestion, uint32_t window_max, uint64_t queue_ns)
{
    uint64_t rtt_ns = congestion->round_rtt_ns;
    uint32_t window = congestion->window;
    uint64_t over_ns = rtt_ns > congestion->shortest_ns ? rtt_ns - congestion->shortest_ns : 0;
    uint32_t queued = (uint32_t)(window * over_ns / rtt_ns);
    /* What queues in queue_ns, or a few packets if that is more. */
    uint32_t target = (uint32_t)(window * queue_ns / (queue_ns + rtt_ns));
    target = target > QUEUED_TARGET * SWIF_WINDOW_ONE ? target : QUEUED_TARGET * SWIF_WINDOW_ONE;
    bool too_many = queued > QUEUED_MAX * SWIF_WINDOW_ONE && over_ns > 2 * queue_ns;
    if (congestion->starting && congestion->limited) {
        grow_at_start(congestion, queued, too_many);
    } else if (too_many) {
        uint32_t less = queued > target ? queued - target : 0;
        congestion->window -= less < window / 2 ? less : window / 2;
    } else if ((queued < QUEUED_TARGET * SWIF_WINDOW_ONE || over_ns < queue_ns) &&
               congestion->limited) {
        congestion->window += window / 16 > SWIF_WINDOW_ONE ? window / 16 : SWIF_WINDOW_ONE;
    }
    if (congestion->window > window_max * SWIF_WINDOW_ONE) {
        congestion->window = window_max * SWIF_WINDOW_ONE;
    }
    if (congestion->window < WINDOW_MIN) {
        congestion->window = WINDOW_MIN;
    }
}

void swif_congestion_acked(struct swif_congestion *congestion, uint64_t now_ns,
                           const struct swif_feedback *feedback)
{
    congestion->window_before = 0;
    congestion->delivered_bytes += feedback->bytes;
    congestion->delivered_at_ns = now_ns;
    /* A pause between packets holds back a context even if it never has two packets. */
    congestion->limited = congestion->limited || feedback->limited ||
                          congestion->window < SWIF_WINDOW_ONE;
    if (feedback->rtt_ns == 0) {
        return;
    }
    smooth(congestion, feedback->rtt_ns, feedback->rtt_usual_ns);
    measure_round_trip(congestion, now_ns, feedback->rtt_ns);
    measure_rate(congestion, now_ns, &feedback->sent);
    /* A round ends when a packet comes back that was sent after it began. */
    if (feedback->sent.at_ns >= congestion->round_at_ns) {
        end_round(congestion, feedback->window_max, feedback->queue_ns);
        congestion->round_at_ns = now_ns;
        congestion->round_rtt_ns = 0;
        congestion->limited = false;
    }
}

void swif_congestion_silence(struct swif_congestion *congestion)
{
    if (congestion->window_before == 0) {
        congestion->window_before = congestion->window;
        congestion->starting_before = congestion->starting;
    }
    congestion->starting = false;
    congestion->window = congestion->window / 2 > WINDOW_MIN ? congestion->window / 2 : WINDOW_MIN;
}

void swif_congestion_was_no_silence(struct swif_congestion *congestion)
{
    if (congestion->window_before != 0) {
        congestion->window = congestion->window_before;
        congestion->starting = congestion->starting_before;
        congestion->pace_ns = 0; /* it followed from the smaller window */
    }
}
