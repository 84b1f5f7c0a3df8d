/* Which event ended a wait or a receive.
 *
 * A wait was ended by the last write to its word that began before it ended, whoever wrote: what a
 * program polls for is there once. A sweep over all writes and ends of waits, in the order of time,
 * finds that: each word that is waited for somewhere remembers its last write. So a write costs a
 * search among the words that are waited for, however many bytes it has.
 *
 * Messages of a node arrive in order: the n-th receive from a source on a channel got the n-th
 * message that was sent. */
#include "cli/launch/trace_events.h"

#include <stdlib.h>

/* ---- Words -------------------------------------------------------------------------------- */

/* A place that somebody waits for. */
struct word {
    uint64_t place;
    uint64_t bytes;
    uint32_t rank;
    size_t last_write; /* so far; or TRACE_NO_EVENT */
};

/* A write begins, or a wait ends. */
struct moment {
    uint64_t time_ns;
    size_t event;
    bool is_end;
};

struct sweep {
    struct trace_events *events;
    struct word *words; /* sorted by rank and place */
    size_t word_count;
    uint64_t longest_bytes; /* of a word */
    struct moment *moments;
    size_t moment_count;
};

static bool is_write(const struct trace_events *events, const struct trace_event *event)
{
    switch (event->kind) {
    case HOST_TRACE_STORE:
    case HOST_TRACE_PUT:
    case HOST_TRACE_PUT_SIGNAL:
    case HOST_TRACE_ATOMIC:
        return event->result == 0 && event->peer >= 0 &&
               (uint32_t)event->peer < events->node_count &&
               (event->place != HOST_TRACE_NOWHERE || event->flag_place != HOST_TRACE_NOWHERE);
    default: return false;
    }
}

static bool is_wait(const struct trace_event *event)
{
    return event->kind == HOST_TRACE_WAIT && event->result == 0 && !event->is_open &&
           event->place != HOST_TRACE_NOWHERE && event->bytes > 0;
}

static int compare_places(uint32_t rank, uint64_t place, const struct word *word)
{
    if (rank != word->rank) {
        return rank < word->rank ? -1 : 1;
    }
    return (place > word->place) - (place < word->place);
}

static int compare_words(const void *left, const void *right)
{
    const struct word *first = left;
    const struct word *second = right;
    int order = compare_places(first->rank, first->place, second);
    return order ? order : (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

/* Of equal times writes come first: a write may end a wait in the moment in which it begins. */
static int compare_moments(const void *left, const void *right)
{
    const struct moment *first = left;
    const struct moment *second = right;
    if (first->time_ns != second->time_ns) {
        return first->time_ns < second->time_ns ? -1 : 1;
    }
    if (first->is_end != second->is_end) {
        return first->is_end - second->is_end;
    }
    return (first->event > second->event) - (first->event < second->event);
}

/* The first word at or behind a place of a rank. */
static size_t find_word(const struct sweep *sweep, uint32_t rank, uint64_t place)
{
    size_t low = 0;
    size_t high = sweep->word_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_places(rank, place, &sweep->words[middle]) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void collect(struct sweep *sweep)
{
    const struct trace_events *events = sweep->events;
    size_t unsorted = 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->list[i];
        if (is_write(events, event)) {
            sweep->moments[sweep->moment_count++] = (struct moment){event->begin_ns, i, false};
        } else if (is_wait(event)) {
            sweep->moments[sweep->moment_count++] = (struct moment){event->end_ns, i, true};
            sweep->words[unsorted++] = (struct word){event->place, event->bytes, event->rank,
                                                     TRACE_NO_EVENT};
            if (event->bytes > sweep->longest_bytes) {
                sweep->longest_bytes = event->bytes;
            }
        }
    }
    qsort(sweep->moments, sweep->moment_count, sizeof *sweep->moments, compare_moments);
    qsort(sweep->words, unsorted, sizeof *sweep->words, compare_words);
    for (size_t i = 0; i < unsorted; i++) {
        struct word *last = sweep->word_count ? &sweep->words[sweep->word_count - 1] : NULL;
        if (!last || compare_words(last, &sweep->words[i]) != 0) {
            sweep->words[sweep->word_count++] = sweep->words[i];
        }
    }
}

/* Whether [place, place + bytes) and the word have a byte in common; places may be anything. */
static bool meets(const struct word *word, uint64_t place, uint64_t bytes)
{
    return place >= word->place ? place - word->place < word->bytes : word->place - place < bytes;
}

/* The write reaches these bytes of its peer. */
static void write_range(struct sweep *sweep, size_t write, uint64_t place, uint64_t bytes)
{
    uint32_t rank = (uint32_t)sweep->events->list[write].peer;
    uint64_t from = place > sweep->longest_bytes ? place - sweep->longest_bytes : 0;
    if (place == HOST_TRACE_NOWHERE) {
        return;
    }
    for (size_t i = find_word(sweep, rank, from); i < sweep->word_count; i++) {
        struct word *word = &sweep->words[i];
        if (word->rank != rank || (word->place > place && word->place - place >= bytes)) {
            return;
        }
        if (meets(word, place, bytes)) {
            word->last_write = write;
        }
    }
}

static void end_wait(const struct sweep *sweep, size_t wait)
{
    struct trace_event *event = &sweep->events->list[wait];
    size_t at = find_word(sweep, event->rank, event->place);
    while (sweep->words[at].bytes != event->bytes) {
        at++; /* of the same place; it is there, since collect has entered it */
    }
    event->cause = sweep->words[at].last_write;
}

static bool match_words(struct trace_events *events)
{
    size_t room = events->count ? events->count : 1;
    struct sweep sweep = {
        .events = events,
        .words = malloc(room * sizeof *sweep.words),
        .moments = malloc(room * sizeof *sweep.moments),
    };
    bool has_memory = sweep.words && sweep.moments;
    if (has_memory) {
        collect(&sweep);
    }
    for (size_t i = 0; i < sweep.moment_count; i++) {
        size_t at = sweep.moments[i].event;
        const struct trace_event *event = &events->list[at];
        if (sweep.moments[i].is_end) {
            end_wait(&sweep, at);
        } else {
            write_range(&sweep, at, event->place, event->bytes);
            write_range(&sweep, at, event->flag_place, sizeof(uint64_t));
        }
    }
    free(sweep.words);
    free(sweep.moments);
    return has_memory;
}

/* ---- Messages ----------------------------------------------------------------------------- */

/* One end of a message. */
struct message {
    uint32_t channel;
    uint32_t from;
    uint32_t to;
    uint64_t time_ns; /* of a send when it began, of a receive when it ended */
    size_t event;
};

static int compare_channels(const struct message *first, const struct message *second)
{
    if (first->channel != second->channel) {
        return first->channel < second->channel ? -1 : 1;
    }
    if (first->from != second->from) {
        return first->from < second->from ? -1 : 1;
    }
    return (first->to > second->to) - (first->to < second->to);
}

static int compare_messages(const void *left, const void *right)
{
    const struct message *first = left;
    const struct message *second = right;
    int order = compare_channels(first, second);
    if (order == 0 && first->time_ns != second->time_ns) {
        order = first->time_ns < second->time_ns ? -1 : 1;
    }
    return order ? order : (first->event > second->event) - (first->event < second->event);
}

/* All sends, or all receives, that came to something; gives how many. */
static size_t list_messages(const struct trace_events *events, enum host_trace_kind kind,
                            struct message *list)
{
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->list[i];
        if (event->kind != kind || event->result != 0 || event->peer < 0) {
            continue;
        }
        bool is_send = kind == HOST_TRACE_SEND;
        uint32_t peer = (uint32_t)event->peer;
        if (is_send || !event->is_open) {
            list[count++] = (struct message){
                .channel = event->area,
                .from = is_send ? event->rank : peer,
                .to = is_send ? peer : event->rank,
                .time_ns = is_send ? event->begin_ns : event->end_ns,
                .event = i,
            };
        }
    }
    qsort(list, count, sizeof *list, compare_messages);
    return count;
}

static bool match_messages(struct trace_events *events)
{
    size_t room = events->count ? events->count : 1;
    struct message *sends = malloc(room * sizeof *sends);
    struct message *receives = malloc(room * sizeof *receives);
    bool has_memory = sends && receives;
    size_t send_count = has_memory ? list_messages(events, HOST_TRACE_SEND, sends) : 0;
    size_t receive_count = has_memory ? list_messages(events, HOST_TRACE_RECEIVE, receives) : 0;
    size_t send = 0;
    size_t receive = 0;
    while (send < send_count && receive < receive_count) {
        int order = compare_channels(&sends[send], &receives[receive]);
        if (order == 0) {
            events->list[receives[receive].event].cause = sends[send].event;
        }
        send += order <= 0;
        receive += order >= 0;
    }
    free(sends);
    free(receives);
    return has_memory;
}

bool trace_match(struct trace_events *events)
{
    bool has_memory = match_words(events) && match_messages(events);
    for (size_t i = 0; i < events->count; i++) {
        events->arrow_count += events->list[i].cause != TRACE_NO_EVENT;
    }
    return has_memory;
}
