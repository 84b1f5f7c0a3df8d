/* The heartbeat of a link: each side sends a BEAT now and then, and a side from which nothing has
 * come for too long is gone, even if the link has no end: its host may have lost power, and then
 * nobody is left to close anything.
 *
 * Time is an argument, in ns of a clock that stands still while a host sleeps (CLOCK_MONOTONIC). */
#ifndef CLI_REMOTE_PULSE_H
#define CLI_REMOTE_PULSE_H

#include <stdbool.h>
#include <stdint.h>

struct pulse {
    uint64_t silence_ns;   /* how long the other side may be silent */
    uint64_t next_beat_ns; /* UINT64_MAX: we do not beat (yet, or any more) */
    uint64_t silent_at_ns; /* UINT64_MAX: we do not listen (yet, or any more) */
};

/* In the time of silence. So many that a side which stands still for nine tenths of that time is
 * not given up: its last beat may be as old as the pause between two beats. */
enum { PULSE_BEATS = 16 };

/* A remote shell that has to send lost packets again is slow for seconds, so no link is given up
 * sooner than this, however short the nodes' own time-out. */
#define PULSE_SILENCE_NS_MIN UINT64_C(5000000000)

/* Neither beats nor listens. */
void remote_pulse_init(struct pulse *pulse);
/* Begins both; `timeout_ns` is the nodes' own (--peer-timeout). */
void remote_pulse_begin(struct pulse *pulse, uint64_t timeout_ns, uint64_t now_ns);
/* Only waits, this long, for the other side's first words. */
void remote_pulse_await(struct pulse *pulse, uint64_t silence_ns, uint64_t now_ns);
/* Something has come. */
void remote_pulse_heard(struct pulse *pulse, uint64_t now_ns);
/* Whether it is time to send a BEAT; if so, the next one is due a fraction of the silence later. */
bool remote_pulse_beats(struct pulse *pulse, uint64_t now_ns);
/* Whether the other side has been silent for too long. `fd` is where it speaks, -1: nowhere. What
 * waits there to be read has been said, and it was this process that did not listen: it may have
 * been stopped. */
bool remote_pulse_is_silent(struct pulse *pulse, uint64_t now_ns, int fd);
/* When there is something to do next; UINT64_MAX: never. */
uint64_t remote_pulse_due_ns(const struct pulse *pulse);

#endif
