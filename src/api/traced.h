/* How entry points are recorded (host/trace.h).
 *
 * A function begins with API_TRACED: if calls are recorded and this thread is in none yet, it calls
 * itself between the two ends of a record. The call inside finds that the thread is in one and does
 * the work. Where nothing is recorded, all that is left is a test of a byte.
 *
 * The quickest functions have no test at all: while calls are recorded no lane has quick paths, and
 * the careful ones record. */
#ifndef API_TRACED_H
#define API_TRACED_H

#include "host/trace.h"
#include "message/message_context.h"
#include "team/team.h"

/* Records CALL, which gives an int, as `what` describes it; or goes on behind this. */
#define API_TRACED_AS(NAME, CALL, ...)                                        \
    if (UNLIKELY(host_trace_is_on) && host_trace_enter()) {                   \
        const struct host_trace_what what_ = __VA_ARGS__;                     \
        struct host_trace_record *record_ = host_trace_begin((NAME), &what_); \
        int result_ = (CALL);                                                 \
        host_trace_end(record_, result_);                                     \
        return result_;                                                       \
    }
#define API_TRACED(CALL, ...) API_TRACED_AS(__func__, CALL, __VA_ARGS__)

/* The same as a function of its own, for calls of some ten nanoseconds: in these the ordinary way
 * must not save registers for the sake of a record. CALL does the work in both. */
#define API_TRACED_TWIN(TWIN, PARAMETERS, NAME, CALL, ...)     \
    static __attribute__((noinline, cold)) int TWIN PARAMETERS \
    {                                                          \
        API_TRACED_AS(NAME, CALL, __VA_ARGS__)                 \
        return CALL;                                           \
    }

/* A call of a team's members. */
static inline struct host_trace_what api_trace_team(enum host_trace_kind kind,
                                                    const struct dn_team *team, uint64_t bytes)
{
    struct host_trace_what what = host_trace_call(kind);
    what.bytes = bytes;
    what.team = team_open(team) ? team->key : 0;
    return what;
}

static inline struct host_trace_what api_trace_message(enum host_trace_kind kind,
                                                       const struct dn_context *context, int peer,
                                                       uint64_t bytes)
{
    struct host_trace_what what = host_trace_call(kind);
    what.bytes = bytes;
    what.peer = peer >= 0 ? peer : HOST_TRACE_NOBODY;
    what.area = context ? context->channel : 0;
    return what;
}

#endif
