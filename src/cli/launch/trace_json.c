/* A trace in the JSON trace event format, which Perfetto and chrome://tracing open.
 *
 * A node is a process, each of its threads a thread with its calls as slices. No thread has the
 * number of another one or of a process, because some viewers find names by number alone.
 *
 * An arrow begins in the slice that sent and ends at the end of the slice that waited. Viewers want
 * its end behind its beginning, and each inside its slice: so a slice lasts at least a nanosecond,
 * and those of a thread do not overlap. Where a clock has not moved between two calls, the second
 * one is drawn a nanosecond later. */
#include "cli/launch/trace_events.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dimmnet.h"

enum {
    PROCESS_FIRST = 100000,
    THREAD_FIRST = 1000000,
};

/* Where a slice is drawn. */
struct span {
    uint64_t begin_ns;
    uint64_t end_ns;
};

struct writer {
    const struct trace_events *events;
    FILE *file;
    bool is_begun;      /* the list is not empty */
    struct span *spans; /* of the events */
    uint32_t *threads;  /* by rank: the number of its first thread */
};

static void begin_record(struct writer *writer)
{
    (void)fputs(writer->is_begun ? ",\n" : "\n", writer->file);
    writer->is_begun = true;
}

/* Names come from nodes, which may write anything there. */
static void write_text(FILE *file, const char *text)
{
    (void)putc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte >= 0x7f) {
            (void)fprintf(file, "\\u%04x", byte);
        } else {
            if (byte == '"' || byte == '\\') {
                (void)putc('\\', file);
            }
            (void)putc(byte, file);
        }
    }
    (void)putc('"', file);
}

static void write_us(FILE *file, const char *key, uint64_t ns)
{
    (void)fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static uint32_t process_of(uint32_t rank)
{
    return PROCESS_FIRST + rank;
}

/* ---- Names -------------------------------------------------------------------------------- */

static void name_process(struct writer *writer, uint32_t rank)
{
    begin_record(writer);
    (void)fprintf(writer->file,
                  "{\"ph\":\"M\",\"pid\":%" PRIu32
                  ",\"name\":\"process_name\",\"args\":{\"name\":\"node %" PRIu32 "\"}}",
                  process_of(rank), rank);
    begin_record(writer);
    (void)fprintf(writer->file,
                  "{\"ph\":\"M\",\"pid\":%" PRIu32
                  ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
                  process_of(rank), rank);
}

static void name_thread(struct writer *writer, uint32_t rank, uint32_t thread)
{
    begin_record(writer);
    (void)fprintf(writer->file,
                  "{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
                  ",\"name\":\"thread_name\",\"args\":{\"name\":\"thread %" PRIu32 "\"}}",
                  process_of(rank), writer->threads[rank] + thread, thread);
}

/* ---- Slices and arrows -------------------------------------------------------------------- */

static void write_arguments(struct writer *writer, const struct trace_event *event)
{
    FILE *file = writer->file;
    const char *name = trace_name(writer->events, event);
    (void)fprintf(file, ",\"args\":{\"bytes\":%" PRIu64, event->bytes);
    if (event->peer != HOST_TRACE_NOBODY) {
        (void)fprintf(file, ",\"peer\":%" PRId32, event->peer);
    }
    if (event->place != HOST_TRACE_NOWHERE) {
        (void)fprintf(file, ",\"place\":\"0x%" PRIx64 "\"", event->place);
    }
    if (event->flag_place != HOST_TRACE_NOWHERE) {
        (void)fprintf(file, ",\"flag\":\"0x%" PRIx64 "\"", event->flag_place);
    }
    if (event->kind == HOST_TRACE_SEND || event->kind == HOST_TRACE_RECEIVE) {
        (void)fprintf(file, ",\"channel\":%" PRIu32, event->area);
    }
    if (event->result != 0) {
        /* Other libraries have codes of their own. */
        (void)fprintf(file, ",\"result\":%d", event->result);
        if (name[0] == 'd' && name[1] == 'n') {
            (void)fprintf(file, ",\"error\":\"%s\"", dn_errname(event->result));
        }
    }
    (void)fprintf(file, "%s}", event->is_open ? ",\"unfinished\":true" : "");
}

static uint32_t thread_of(const struct writer *writer, const struct trace_event *event)
{
    return writer->threads[event->rank] + event->thread;
}

static void write_slice(struct writer *writer, const struct trace_event *event,
                        const struct span *span)
{
    FILE *file = writer->file;
    begin_record(writer);
    (void)fprintf(file, "{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
                  process_of(event->rank), thread_of(writer, event));
    write_us(file, "ts", span->begin_ns);
    write_us(file, "dur", span->end_ns - span->begin_ns);
    (void)fprintf(file, ",\"cat\":\"%s\",\"name\":", trace_kind_text(event->kind));
    write_text(file, trace_name(writer->events, event));
    write_arguments(writer, event);
    (void)putc('}', file);
}

/* The beginning ("s") or the end ("f") of an arrow, which has the number of the event that it ends
 * at. */
static void write_end(struct writer *writer, const struct trace_event *event, const char *phase,
                      size_t number, uint64_t time_ns)
{
    begin_record(writer);
    (void)fprintf(writer->file,
                  "{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"id\":%zu,\"bp\":\"e\"",
                  phase, process_of(event->rank), thread_of(writer, event), number);
    write_us(writer->file, "ts", time_ns);
    (void)fputs(",\"cat\":\"flow\",\"name\":\"ends\"}", writer->file);
}

static void write_arrow(struct writer *writer, size_t number)
{
    const struct trace_event *event = &writer->events->list[number];
    uint64_t from_ns = writer->spans[event->cause].begin_ns;
    uint64_t to_ns = writer->spans[number].end_ns - 1;
    write_end(writer, &writer->events->list[event->cause], "s", number, from_ns);
    write_end(writer, event, "f", number, to_ns > from_ns ? to_ns : from_ns);
}

/* ---- The whole ---------------------------------------------------------------------------- */

/* Draws a node's slices: none before the last one of its thread has ended. False: no memory. */
static bool draw(struct writer *writer, const struct trace_node *node)
{
    uint64_t *ends_ns = calloc((size_t)node->thread_count + 1, sizeof *ends_ns);
    for (size_t i = node->first; ends_ns && i < node->first + node->count; i++) {
        const struct trace_event *event = &writer->events->list[i];
        uint64_t *end_ns = &ends_ns[event->thread];
        struct span *span = &writer->spans[i];
        span->begin_ns = event->begin_ns > *end_ns ? event->begin_ns : *end_ns;
        span->end_ns = event->end_ns > span->begin_ns ? event->end_ns : span->begin_ns + 1;
        *end_ns = span->end_ns;
    }
    free(ends_ns);
    return ends_ns != NULL;
}

static bool draw_all(struct writer *writer)
{
    const struct trace_events *events = writer->events;
    uint32_t thread = THREAD_FIRST;
    bool has_memory = true;
    for (uint32_t rank = 0; rank < events->node_count && has_memory; rank++) {
        writer->threads[rank] = thread;
        thread += events->nodes[rank].thread_count;
        has_memory = draw(writer, &events->nodes[rank]);
    }
    return has_memory;
}

static void write_node(struct writer *writer, uint32_t rank)
{
    const struct trace_node *node = &writer->events->nodes[rank];
    name_process(writer, rank);
    for (uint32_t thread = 0; thread < node->thread_count; thread++) {
        name_thread(writer, rank, thread);
    }
    for (size_t i = node->first; i < node->first + node->count; i++) {
        write_slice(writer, &writer->events->list[i], &writer->spans[i]);
        if (writer->events->list[i].cause != TRACE_NO_EVENT) {
            write_arrow(writer, i);
        }
    }
}

static void write_all(struct writer *writer)
{
    const struct trace_events *events = writer->events;
    (void)fprintf(writer->file,
                  "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"trace_hash\":\"%016" PRIx64
                  "\",\"call_hash\":\"%016" PRIx64 "\",\"nodes\":%" PRIu32
                  ",\"records\":%zu,\"dropped\":%" PRIu64 ",\"arrows\":%zu},\"traceEvents\":[",
                  events->hash, events->call_hash, events->node_count, events->count,
                  events->dropped, events->arrow_count);
    for (uint32_t rank = 0; rank < events->node_count; rank++) {
        write_node(writer, rank);
    }
    (void)fputs("\n]}\n", writer->file);
}

bool trace_json_write(const struct trace_events *events, FILE *file)
{
    struct writer writer = {
        .events = events,
        .file = file,
        .spans = malloc((events->count + 1) * sizeof *writer.spans),
        .threads = malloc(((size_t)events->node_count + 1) * sizeof *writer.threads),
    };
    bool has_memory = writer.spans && writer.threads && draw_all(&writer);
    if (has_memory) {
        write_all(&writer);
    }
    free(writer.spans);
    free(writer.threads);
    return has_memory;
}
