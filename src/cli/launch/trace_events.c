/* Reading the nodes' files. A node can write all of its file: every number is checked, and a record
 * that makes no sense is left out. */
#include "cli/launch/trace_events.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_texts[] = {
    [HOST_TRACE_OTHER] = "other",     [HOST_TRACE_STORE] = "store",
    [HOST_TRACE_PUT] = "put",         [HOST_TRACE_PUT_SIGNAL] = "put with signal",
    [HOST_TRACE_GET] = "get",         [HOST_TRACE_ATOMIC] = "atomic",
    [HOST_TRACE_ORDER] = "order",     [HOST_TRACE_WAIT] = "wait",
    [HOST_TRACE_BARRIER] = "barrier", [HOST_TRACE_COLLECTIVE] = "collective",
    [HOST_TRACE_LOCK] = "lock",       [HOST_TRACE_SEND] = "send",
    [HOST_TRACE_RECEIVE] = "receive",
};
_Static_assert(sizeof kind_texts / sizeof kind_texts[0] == HOST_TRACE_KINDS, "a text for each");

const char *trace_kind_text(enum host_trace_kind kind)
{
    return kind_texts[kind];
}

const char *trace_name(const struct trace_events *events, const struct trace_event *event)
{
    return events->names[event->name].text;
}

bool trace_events_begin(struct trace_events *events, uint32_t node_count)
{
    *events = (struct trace_events){.nodes = calloc(node_count, sizeof *events->nodes)};
    return events->nodes != NULL;
}

void trace_events_release(struct trace_events *events)
{
    free(events->list);
    free(events->nodes);
    free(events->names);
    *events = (struct trace_events){0};
}

/* ---- Names -------------------------------------------------------------------------------- */

/* The number of a name in the trace, which may be new; UINT32_MAX: no memory. */
static uint32_t name_number(struct trace_events *events, const char *text)
{
    for (uint32_t i = 0; i < events->name_count; i++) {
        if (strncmp(events->names[i].text, text, HOST_TRACE_NAME_BYTES - 1) == 0) {
            return i;
        }
    }
    /* As many more as there are: names are few, and memory is asked for rarely. */
    uint32_t count = events->name_count;
    if ((count & (count - 1)) == 0) {
        struct trace_name *names = realloc(events->names,
                                           (count ? 2 * (size_t)count : 1) * sizeof *names);
        if (!names) {
            return UINT32_MAX;
        }
        events->names = names;
    }
    struct trace_name *made = &events->names[events->name_count];
    memset(made, 0, sizeof *made);
    memcpy(made->text, text, strnlen(text, HOST_TRACE_NAME_BYTES - 1));
    return events->name_count++;
}

/* The numbers of a node's names. A name that it has not gets that of the record's kind. */
struct naming {
    uint32_t of_name[HOST_TRACE_NAMES];
    uint32_t of_kind[HOST_TRACE_KINDS];
    uint32_t count;
};

static bool read_names(struct trace_events *events, const struct host_trace_file *file,
                       struct naming *naming)
{
    bool has_memory = true;
    naming->count = file->name_count < HOST_TRACE_NAMES ? file->name_count : HOST_TRACE_NAMES;
    for (uint32_t i = 1; i < naming->count && has_memory; i++) {
        naming->of_name[i] = name_number(events, file->names[i]);
        has_memory = naming->of_name[i] != UINT32_MAX;
    }
    for (unsigned kind = 0; kind < HOST_TRACE_KINDS && has_memory; kind++) {
        naming->of_kind[kind] = name_number(events, kind_texts[kind]);
        has_memory = naming->of_kind[kind] != UINT32_MAX;
    }
    return has_memory;
}

/* ---- Records ------------------------------------------------------------------------------ */

static bool makes_sense(const struct host_trace_record *record, enum host_trace_state state)
{
    return (state == HOST_TRACE_OPEN ||
            (state == HOST_TRACE_DONE && record->end_ns >= record->begin_ns)) &&
           record->kind < HOST_TRACE_KINDS && record->peer >= HOST_TRACE_NOBODY;
}

static struct trace_event event_of(const struct host_trace_record *record,
                                   const struct naming *naming)
{
    return (struct trace_event){
        .begin_ns = record->begin_ns,
        .end_ns = record->end_ns,
        .place = record->place,
        .bytes = record->bytes,
        .flag_place = record->flag_place,
        .team = record->team,
        .cause = TRACE_NO_EVENT,
        .peer = record->peer,
        .area = record->area,
        .name = record->name > 0 && record->name < naming->count ? naming->of_name[record->name]
                                                                 : naming->of_kind[record->kind],
        .result = record->result,
        .thread = record->thread,
        .kind = (enum host_trace_kind)record->kind,
    };
}

/* Room for so many more events. */
static bool make_room(struct trace_events *events, uint64_t count)
{
    if (count == 0) {
        return true;
    }
    size_t bytes;
    if (count > SIZE_MAX - events->count ||
        __builtin_mul_overflow(events->count + count, sizeof *events->list, &bytes)) {
        return false;
    }
    struct trace_event *list = realloc(events->list, bytes);
    events->list = list ? list : events->list;
    return list != NULL;
}

static void add_record(struct trace_events *events, struct trace_node *node,
                       const struct host_trace_record *shared, const struct naming *naming,
                       uint64_t end_ns, int64_t offset_ns)
{
    /* Acquire: pairs with the release by which the node published it. */
    enum host_trace_state state = atomic_load_explicit(&shared->state, memory_order_acquire);
    struct host_trace_record record;
    memcpy(&record, (const void *)shared, sizeof record);
    if (!makes_sense(&record, state)) {
        return;
    }
    struct trace_event event = event_of(&record, naming);
    event.rank = events->node_count;
    event.is_open = state == HOST_TRACE_OPEN;
    if (event.is_open) {
        event.end_ns = end_ns > event.begin_ns ? end_ns : event.begin_ns;
    }
    event.begin_ns += (uint64_t)offset_ns;
    event.end_ns += (uint64_t)offset_ns;
    if (event.thread >= node->thread_count) {
        node->thread_count = (uint32_t)event.thread + 1;
    }
    events->list[events->count++] = event;
    node->count++;
}

bool trace_events_add(struct trace_events *events, const void *file, uint64_t bytes,
                      uint64_t end_ns, int64_t offset_ns)
{
    struct naming *naming = malloc(sizeof *naming);
    const struct host_trace_file *head = file;
    struct trace_node *node = &events->nodes[events->node_count];
    node->first = events->count;
    if (bytes < HOST_TRACE_HEAD_BYTES || !naming || !read_names(events, head, naming)) {
        free(naming);
        return false;
    }
    uint64_t room = (bytes - HOST_TRACE_HEAD_BYTES) / sizeof(struct host_trace_record);
    uint64_t claimed = atomic_load_explicit(&head->claimed, memory_order_relaxed);
    uint64_t count = claimed < room ? claimed : room;
    bool has_memory = make_room(events, count);
    const struct host_trace_record *records = (const void *)((const unsigned char *)file +
                                                             HOST_TRACE_HEAD_BYTES);
    for (uint64_t i = 0; i < count && has_memory; i++) {
        add_record(events, node, &records[i], naming, end_ns, offset_ns);
    }
    node->dropped = claimed - count;
    events->dropped += node->dropped;
    events->node_count++;
    free(naming);
    return has_memory;
}

/* ---- Time and hashes ---------------------------------------------------------------------- */

/* FNV-1a. */
#define HASH_FIRST UINT64_C(0xcbf29ce484222325)
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    return hash_bytes(hash, bytes, sizeof bytes);
}

static uint64_t hash_call(uint64_t hash, const struct trace_events *events,
                          const struct trace_event *event)
{
    const char *name = trace_name(events, event);
    const uint64_t numbers[] = {
        event->kind,   (uint64_t)event->peer, event->area, event->place,
        event->bytes,  event->flag_place,     event->team, (uint64_t)event->result,
        event->is_open};
    hash = hash_bytes(hash, name, strlen(name) + 1);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hash = hash_number(hash, numbers[i]);
    }
    return hash;
}

/* Threads are hashed one by one: how they took turns is the machine's affair. */
struct thread_hash {
    uint64_t calls;
    uint64_t all;
};

static bool hash_node(struct trace_events *events, const struct trace_node *node)
{
    struct thread_hash *hashes = malloc((node->thread_count + (size_t)1) * sizeof *hashes);
    if (!hashes) {
        return false;
    }
    for (uint32_t i = 0; i < node->thread_count; i++) {
        hashes[i] = (struct thread_hash){HASH_FIRST, HASH_FIRST};
    }
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct trace_event *event = &events->list[i];
        struct thread_hash *hash = &hashes[event->thread];
        hash->calls = hash_call(hash->calls, events, event);
        hash->all = hash_call(hash->all, events, event);
        hash->all = hash_number(hash_number(hash->all, event->begin_ns), event->end_ns);
    }
    for (uint32_t i = 0; i < node->thread_count; i++) {
        events->call_hash = hash_number(events->call_hash, hashes[i].calls);
        events->hash = hash_number(events->hash, hashes[i].all);
    }
    /* Where the next node begins. */
    events->call_hash = hash_number(events->call_hash, node->count);
    events->hash = hash_number(events->hash, node->count);
    free(hashes);
    return true;
}

bool trace_events_end(struct trace_events *events)
{
    uint64_t start_ns = UINT64_MAX;
    uint64_t last_ns = 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->list[i];
        start_ns = event->begin_ns < start_ns ? event->begin_ns : start_ns;
        last_ns = event->end_ns > last_ns ? event->end_ns : last_ns;
    }
    events->start_ns = events->count > 0 ? start_ns : 0;
    for (size_t i = 0; i < events->count; i++) {
        struct trace_event *event = &events->list[i];
        if (event->is_open && event->end_ns == event->begin_ns) {
            event->end_ns = last_ns;
        }
        event->begin_ns -= events->start_ns;
        event->end_ns -= events->start_ns;
    }
    events->hash = HASH_FIRST;
    events->call_hash = HASH_FIRST;
    bool has_memory = true;
    for (uint32_t rank = 0; rank < events->node_count && has_memory; rank++) {
        has_memory = hash_node(events, &events->nodes[rank]);
    }
    return has_memory;
}
