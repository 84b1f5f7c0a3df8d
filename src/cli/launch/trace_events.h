/* The records of all nodes (host/trace.h) as one list of events, with their clocks aligned, and
 * with the arrows from what was sent to the call that it ended.
 *
 *     trace.c         the launcher's part: makes the nodes' files, and a trace of them at the end
 *     trace_events.c  reads the files, which nodes can write: nothing in them is believed
 *     trace_match.c   finds the arrows
 *     trace_json.c    writes it all as JSON
 *
 * Whoever wants something else of a trace (a report) takes struct trace_events, as the simulator's
 * part of the command does for schedules (cli/sim/trace_goal.c). */
#ifndef CLI_LAUNCH_TRACE_EVENTS_H
#define CLI_LAUNCH_TRACE_EVENTS_H

#include <stddef.h>
#include <stdio.h>

#include "host/trace.h"

#define TRACE_NO_EVENT SIZE_MAX

/* A call of a thread of a node. */
struct trace_event {
    uint64_t begin_ns; /* from the first event of the trace */
    uint64_t end_ns;   /* not before it; of an open one the node's end */
    uint64_t place;    /* as in struct host_trace_record, and so are the fields below */
    uint64_t bytes;
    uint64_t flag_place;
    uint64_t team;
    size_t cause; /* the event that ended this wait or receive; or TRACE_NO_EVENT */
    uint32_t rank;
    int32_t peer; /* a rank of the group; or HOST_TRACE_NOBODY */
    uint32_t area;
    uint32_t name; /* in the trace's names */
    int16_t result;
    uint16_t thread;
    enum host_trace_kind kind;
    bool is_open; /* it never ended: the node died or was ended in it */
};

/* A node's part: events [first, first + count), each thread's in the order in which they began. */
struct trace_node {
    size_t first;
    size_t count;
    uint64_t dropped; /* calls for which there was no record left */
    uint32_t thread_count;
};

struct trace_name {
    char text[HOST_TRACE_NAME_BYTES];
};

struct trace_events {
    struct trace_event *list;
    size_t count;
    struct trace_node *nodes;
    uint32_t node_count;
    struct trace_name *names;
    uint32_t name_count;
    uint64_t start_ns; /* of the first event, on the launcher's clock */
    uint64_t dropped;  /* of all nodes */
    size_t arrow_count;
    /* Over all that the records say, threads in order; neither process ids nor addresses are in
     * them. `hash` takes times in, from the start; `call_hash` only what was called. */
    uint64_t hash;
    uint64_t call_hash;
};

/* False: no memory. Released either way. */
bool trace_events_begin(struct trace_events *events, uint32_t node_count);
void trace_events_release(struct trace_events *events);

/* Adds the next rank's records: `bytes` of a file as the node left it. What makes no sense in it is
 * left out. Calls that are under way end at end_ns, or with the trace if that is 0. Both that time
 * and the node's clock are offset_ns behind ours. False: no memory. */
bool trace_events_add(struct trace_events *events, const void *file, uint64_t bytes,
                      uint64_t end_ns, int64_t offset_ns);

/* After the last node: counts time from the first event and makes the hashes. False: no
 * memory. */
bool trace_events_end(struct trace_events *events);

/* Finds the causes (trace_match.c). False: no memory. */
bool trace_match(struct trace_events *events);

/* "put", "wait"; never NULL. */
const char *trace_kind_text(enum host_trace_kind kind);
/* The name of an event's call. */
const char *trace_name(const struct trace_events *events, const struct trace_event *event);

/* Writes the trace events of Perfetto and chrome://tracing (trace_json.c). False: no memory. The
 * caller looks for errors of the file. */
bool trace_json_write(const struct trace_events *events, FILE *file);

/* Writes a GOAL schedule that does what the nodes did (cli/sim/trace_goal.h), and gives how many
 * operations it has. False: the error says why not. NULL in a build without the simulator. */
enum { TRACE_ERROR_BYTES = 320 };
bool trace_goal_write(const struct trace_events *events, FILE *file, uint64_t *operations,
                      char error[TRACE_ERROR_BYTES]) __attribute__((weak));

#endif
