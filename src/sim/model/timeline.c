/* Traces in the JSON trace event format, which Perfetto and chrome://tracing open.
 *
 * A node is a process, each of its tracks a thread. Viewers want the spans of a thread to be
 * nested or apart and drop spans that overlap; but a pipelined stage has several packets in it at
 * once. So a track has lanes, each a thread of its own: a span goes into the first free lane, and
 * there are as many lanes as there were spans at a time. No thread number is used twice, even in
 * different processes, because some viewers find names by thread number alone.
 *
 * The spans of a packet are joined by a flow, which its first span starts. Times are in
 * microseconds with all digits; Perfetto cuts them to nanoseconds when it reads them. */
#include "sim/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 1 << 20,
    MAP_ROOM_FIRST = 256,
    LANES_MAX = 64, /* of a track; more spans at a time overlap */
    PROCESS_NODE = 100000,
    PROCESS_SWITCH = 200000,
    PROCESS_ROUTER = 300000,
    THREAD_FIRST = 1000000, /* no thread has the number of a process */
};
#define NO_LANE UINT32_MAX

/* Keys seen so far, each with a number. */
struct map {
    struct {
        uint64_t key; /* 0: the place is free */
        uint32_t value;
    } * places;
    uint32_t room; /* a power of two */
    uint32_t count;
};

struct lane {
    uint64_t end_ps; /* of its last span */
    uint32_t thread;
    uint32_t next; /* of the same track, or NO_LANE */
};

struct sim_timeline {
    FILE *file;
    char *buffer;
    uint64_t from_ps, to_ps;
    bool is_begun;      /* the list is not empty */
    struct map tracks;  /* to the first lane */
    struct map packets; /* whose flow has started */
    struct lane *lanes;
    uint32_t lane_count, lane_room;
};

/* ---- What was seen already ------------------------------------------------------------- */

static uint32_t map_place(const struct map *map, uint64_t key)
{
    uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t place = (uint32_t)(mixed >> 32) & (map->room - 1);
    while (map->places[place].key != 0 && map->places[place].key != key) {
        place = (place + 1) & (map->room - 1);
    }
    return place;
}

static void map_grow(struct map *map)
{
    struct map old = *map;
    map->room = old.room ? 2 * old.room : MAP_ROOM_FIRST;
    map->places = calloc(map->room, sizeof *map->places);
    INVARIANT(map->places);
    for (uint32_t i = 0; i < old.room; i++) {
        if (old.places[i].key != 0) {
            map->places[map_place(map, old.places[i].key)] = old.places[i];
        }
    }
    free(old.places);
}

/* The key's value; a new key gets `value`, and then `is_new` is true. */
static uint32_t map_put(struct map *map, uint64_t key, uint32_t value, bool *is_new)
{
    if (map->count >= map->room / 2) {
        map_grow(map);
    }
    uint32_t place = map_place(map, key);
    *is_new = map->places[place].key == 0;
    if (*is_new) {
        map->places[place].key = key;
        map->places[place].value = value;
        map->count++;
    }
    return map->places[place].value;
}

/* ---- Writing --------------------------------------------------------------------------- */

static void begin_record(struct sim_timeline *timeline)
{
    (void)fputs(timeline->is_begun ? ",\n" : "\n", timeline->file);
    timeline->is_begun = true;
}

static void write_text(FILE *file, const char *text)
{
    (void)putc('"', file);
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f) {
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

static uint32_t process_of(uint32_t node)
{
    return node >= SIM_TIMELINE_ROUTER   ? PROCESS_ROUTER + (node - SIM_TIMELINE_ROUTER)
           : node >= SIM_TIMELINE_SWITCH ? PROCESS_SWITCH + (node - SIM_TIMELINE_SWITCH)
                                         : PROCESS_NODE + node;
}

/* Begins a record that says something of a process or, with its number, of a thread. */
static void begin_about(struct sim_timeline *timeline, uint32_t node, uint32_t thread,
                        const char *what)
{
    begin_record(timeline);
    (void)fprintf(timeline->file, "{\"ph\":\"M\",\"pid\":%" PRIu32, process_of(node));
    if (thread > 0) {
        (void)fprintf(timeline->file, ",\"tid\":%" PRIu32, thread);
    }
    (void)fprintf(timeline->file, ",\"name\":\"%s\",\"args\":{", what);
}

static void name_process(struct sim_timeline *timeline, uint32_t node)
{
    bool is_router = node >= SIM_TIMELINE_ROUTER;
    bool is_switch = node >= SIM_TIMELINE_SWITCH && !is_router;
    const char *kind = is_router ? "router" : is_switch ? "switch" : "node";
    uint32_t first = is_router ? SIM_TIMELINE_ROUTER : is_switch ? SIM_TIMELINE_SWITCH : 0;
    begin_about(timeline, node, 0, "process_name");
    (void)fprintf(timeline->file, "\"name\":\"%s %" PRIu32 "\"}}", kind, node - first);
    begin_about(timeline, node, 0, "process_sort_index");
    (void)fprintf(timeline->file, "\"sort_index\":%" PRIu32 "}}", process_of(node));
}

static void track_text(uint32_t track, char *text, size_t room)
{
    if (track < SIM_STAGES) {
        (void)snprintf(text, room, "%s", sim_stage_texts[track]);
    } else if (track < SIM_TRACK_CORE) {
        (void)snprintf(text, room, "host, user %" PRIu32, track - SIM_TRACK_HOST);
    } else if (track == SIM_TRACK_CORE) {
        (void)snprintf(text, room, "core processor");
    } else if (track == SIM_TRACK_BANK) {
        (void)snprintf(text, room, "SO-DIMM banks");
    } else if (track < SIM_TRACK_CHANNEL) {
        (void)snprintf(text, room, "port %" PRIu32, track - SIM_TRACK_PORT);
    } else if (track >= SIM_TRACK_LANE) {
        (void)snprintf(text, room, "port %" PRIu32 " VL %" PRIu32,
                       (track - SIM_TRACK_LANE) / SIM_TRACK_CHANNELS,
                       (track - SIM_TRACK_LANE) % SIM_TRACK_CHANNELS);
    } else {
        static const char *const ports[] = {"NIC", "right", "left", "up", "down"};
        uint32_t port = (track - SIM_TRACK_CHANNEL) / SIM_TRACK_CHANNELS;
        INVARIANT(port < sizeof ports / sizeof ports[0]);
        (void)snprintf(text, room, "%s VC %" PRIu32, ports[port],
                       (track - SIM_TRACK_CHANNEL) % SIM_TRACK_CHANNELS);
    }
}

static void name_lane(struct sim_timeline *timeline, uint32_t node, uint32_t track, uint32_t number,
                      uint32_t thread)
{
    char text[64];
    track_text(track, text, sizeof text);
    begin_about(timeline, node, thread, "thread_name");
    (void)fprintf(timeline->file, "\"name\":\"%s", text);
    if (number > 0) {
        (void)fprintf(timeline->file, " (%" PRIu32 ")", number + 1);
    }
    (void)fputs("\"}}", timeline->file);
    begin_about(timeline, node, thread, "thread_sort_index");
    (void)fprintf(timeline->file, "\"sort_index\":%" PRIu32 "}}", track * LANES_MAX + number);
}

/* ---- Lanes ----------------------------------------------------------------------------- */

static uint32_t open_lane(struct sim_timeline *timeline, uint32_t node, uint32_t track,
                          uint32_t number)
{
    if (timeline->lane_count == timeline->lane_room) {
        timeline->lane_room = timeline->lane_room ? 2 * timeline->lane_room : MAP_ROOM_FIRST;
        timeline->lanes = realloc(timeline->lanes, timeline->lane_room * sizeof *timeline->lanes);
        INVARIANT(timeline->lanes);
    }
    uint32_t lane = timeline->lane_count++;
    uint32_t thread = THREAD_FIRST + lane;
    timeline->lanes[lane] = (struct lane){.thread = thread, .next = NO_LANE};
    name_lane(timeline, node, track, number, thread);
    return lane;
}

/* The thread of the first lane that is free for the span. */
static uint32_t thread_for(struct sim_timeline *timeline, uint32_t node, uint32_t track,
                           uint64_t from_ps, uint64_t to_ps)
{
    /* `mark` is a bit that neither needs, so that no key is 0. The key of the process is that of
     * a track that no node has. */
    const uint64_t mark = UINT64_C(1) << 31;
    bool is_new;
    INVARIANT(track < mark - 1);
    (void)map_put(&timeline->tracks, (uint64_t)node << 32 | mark | (mark - 1), 0, &is_new);
    if (is_new) {
        name_process(timeline, node);
    }
    uint32_t lane = map_put(&timeline->tracks, (uint64_t)node << 32 | mark | track,
                            timeline->lane_count, &is_new);
    if (is_new) {
        (void)open_lane(timeline, node, track, 0);
    }
    uint32_t number = 0;
    while (timeline->lanes[lane].end_ps > from_ps && number < LANES_MAX - 1) {
        number++;
        if (timeline->lanes[lane].next == NO_LANE) {
            uint32_t next = open_lane(timeline, node, track, number);
            timeline->lanes[lane].next = next;
        }
        lane = timeline->lanes[lane].next;
    }
    if (to_ps > timeline->lanes[lane].end_ps) {
        timeline->lanes[lane].end_ps = to_ps;
    }
    return timeline->lanes[lane].thread;
}

/* ---- The trace ------------------------------------------------------------------------- */

struct sim_timeline *sim_timeline_open(const char *path, uint64_t from_ps, uint64_t to_ps,
                                       char error[SIM_ERROR_BYTES])
{
    FILE *file = fopen(path, "we");
    if (!file) {
        (void)snprintf(error, SIM_ERROR_BYTES, "cannot write the trace %s: %s", path,
                       strerror(errno));
        return NULL;
    }
    struct sim_timeline *timeline = calloc(1, sizeof *timeline);
    INVARIANT(timeline);
    *timeline = (struct sim_timeline){.file = file, .from_ps = from_ps, .to_ps = to_ps};
    timeline->buffer = malloc(BUFFER_BYTES);
    INVARIANT(timeline->buffer);
    (void)setvbuf(file, timeline->buffer, _IOFBF, BUFFER_BYTES);
    (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
    return timeline;
}

static void write_us(FILE *file, const char *key, uint64_t ps)
{
    (void)fprintf(file, ",\"%s\":%" PRIu64 ".%06" PRIu64, key, ps / 1000000, ps % 1000000);
}

void sim_timeline_span(struct sim_timeline *timeline, uint32_t node, uint32_t track,
                       const char *name, uint64_t from_ps, uint64_t to_ps, uint64_t packet)
{
    INVARIANT(to_ps >= from_ps);
    /* A span that ends where the window begins is outside, unless it begins there, too. */
    bool is_early = to_ps <= timeline->from_ps && from_ps < timeline->from_ps;
    if (is_early || from_ps >= timeline->to_ps) {
        return;
    }
    FILE *file = timeline->file;
    uint32_t thread = thread_for(timeline, node, track, from_ps, to_ps);
    begin_record(timeline);
    (void)fprintf(file, "{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, process_of(node),
                  thread);
    write_us(file, "ts", from_ps);
    write_us(file, "dur", to_ps - from_ps);
    (void)fputs(",\"name\":", file);
    write_text(file, name);
    if (packet != 0) {
        bool is_first;
        (void)map_put(&timeline->packets, packet, 0, &is_first);
        (void)fprintf(file,
                      ",\"args\":{\"packet\":%" PRIu64 "},\"bind_id\":\"0x%" PRIx64
                      "\",%s\"flow_out\":true",
                      packet, packet, is_first ? "" : "\"flow_in\":true,");
    }
    (void)putc('}', file);
}

bool sim_timeline_close(struct sim_timeline *timeline)
{
    (void)fputs("\n]}\n", timeline->file);
    /* Any write before may have met a full disk. */
    bool is_written = fflush(timeline->file) == 0 && !ferror(timeline->file);
    is_written = fclose(timeline->file) == 0 && is_written;
    free(timeline->buffer);
    free(timeline->tracks.places);
    free(timeline->packets.places);
    free(timeline->lanes);
    free(timeline);
    return is_written;
}
