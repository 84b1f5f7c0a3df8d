/* When to beat, and when to give up. */
#include "cli/remote/pulse.h"

#include <poll.h>

#include "host/clock.h"

void remote_pulse_init(struct pulse *pulse)
{
    *pulse = (struct pulse){.next_beat_ns = UINT64_MAX, .silent_at_ns = UINT64_MAX};
}

void remote_pulse_begin(struct pulse *pulse, uint64_t timeout_ns, uint64_t now_ns)
{
    pulse->silence_ns = timeout_ns > PULSE_SILENCE_NS_MIN ? timeout_ns : PULSE_SILENCE_NS_MIN;
    pulse->next_beat_ns = now_ns;
    pulse->silent_at_ns = host_deadline_ns(now_ns, pulse->silence_ns);
}

void remote_pulse_await(struct pulse *pulse, uint64_t silence_ns, uint64_t now_ns)
{
    pulse->silence_ns = silence_ns;
    pulse->next_beat_ns = UINT64_MAX;
    pulse->silent_at_ns = host_deadline_ns(now_ns, silence_ns);
}

void remote_pulse_heard(struct pulse *pulse, uint64_t now_ns)
{
    if (pulse->silent_at_ns != UINT64_MAX) {
        pulse->silent_at_ns = host_deadline_ns(now_ns, pulse->silence_ns);
    }
}

bool remote_pulse_beats(struct pulse *pulse, uint64_t now_ns)
{
    bool is_time = now_ns >= pulse->next_beat_ns;
    if (is_time) {
        pulse->next_beat_ns = host_deadline_ns(now_ns, pulse->silence_ns / PULSE_BEATS);
    }
    return is_time;
}

bool remote_pulse_is_silent(struct pulse *pulse, uint64_t now_ns, int fd)
{
    struct pollfd other = {.fd = fd, .events = POLLIN};
    if (now_ns < pulse->silent_at_ns) {
        return false;
    }
    if (poll(&other, 1, 0) == 0) {
        return true;
    }
    remote_pulse_heard(pulse, now_ns);
    return false;
}

uint64_t remote_pulse_due_ns(const struct pulse *pulse)
{
    return pulse->next_beat_ns < pulse->silent_at_ns ? pulse->next_beat_ns : pulse->silent_at_ns;
}
