/* How fast a context sends: a window driven by delay and delivery rate, not by loss.
 *
 * Once in a round trip the context computes how many of its own packets stand in queues: the
 * window times the share of the round trip that exceeds the shortest one seen. If they are very
 * few, or wait for less than queue_ns, the window grows; if they are many, it shrinks by the
 * excess. (Hosts that handle packets in bursts need some to wait, and a round trip through
 * their schedulers is never quite the shortest one.) So senders that share a queue keep equally
 * many packets in it and get equal shares of what it drains, and random loss changes nothing.
 * At the start the window doubles each round trip until packets queue or the delivery rate
 * stops growing, and then begins at what the rate and the shortest round trip say is enough.
 * Below one packet the window is a pause between packets. */
#ifndef SWIF_CONGESTION_H
#define SWIF_CONGESTION_H

#include "base/base.h"

enum { SWIF_WINDOW_ONE = 256 }; /* the window counts 256ths of a packet */

struct swif_congestion {
    uint64_t srtt_ns; /* 0: nothing measured yet */
    uint64_t rttvar_ns;
    uint64_t shortest_ns; /* round trip, of the last ten seconds */
    uint64_t shortest_at_ns;
    uint32_t window;      /* in 256ths of a packet */
    uint32_t flat_rounds; /* starting: round trips in which the rate did not grow */
    bool starting;
    bool limited;          /* the window was used up in this round trip */
    uint64_t round_at_ns;  /* when the current round trip began */
    uint64_t round_rtt_ns; /* the shortest in it; 0: none yet */
    uint64_t best_rate;    /* of the start */
    uint64_t rate;         /* bytes per second delivered lately */
    uint64_t delivered_bytes;
    uint64_t delivered_at_ns;
    uint64_t pace_ns;       /* nothing goes out before */
    uint32_t window_before; /* the silence, and the next: 0 when nothing has been silent */
    bool starting_before;
};

void swif_congestion_init(struct swif_congestion *congestion, uint64_t now_ns);

/* What is remembered with each transmission, for the rate. */
struct swif_sent {
    uint64_t at_ns;
    uint64_t delivered_bytes;
    uint64_t delivered_at_ns;
};

/* Called for each packet that goes out. */
void swif_congestion_sent(struct swif_congestion *congestion, uint64_t now_ns,
                          struct swif_sent *sent);

/* What an acknowledgement says. */
struct swif_feedback {
    uint32_t bytes;        /* newly known to have arrived */
    uint64_t rtt_ns;       /* 0: not measured by it */
    uint64_t rtt_usual_ns; /* a longer one is believed step by step; 0: at once */
    struct swif_sent sent; /* with rtt_ns: the packet that measured it */
    uint32_t window_max;   /* packets */
    uint64_t queue_ns;     /* swif_config's */
    bool limited;          /* the window held packets back */
};
void swif_congestion_acked(struct swif_congestion *congestion, uint64_t now_ns,
                           const struct swif_feedback *feedback);

/* Nothing came back for a whole time-out. */
void swif_congestion_silence(struct swif_congestion *congestion);
/* But something was under way: the way is longer than the time-outs. Called before what came is. */
void swif_congestion_was_no_silence(struct swif_congestion *congestion);

/* Whole packets that may be under way, at least 1. */
static inline uint32_t swif_congestion_window(const struct swif_congestion *congestion)
{
    return congestion->window < SWIF_WINDOW_ONE ? 1 : congestion->window / SWIF_WINDOW_ONE;
}

#endif
