/* Showing and taking streams. */
#include "team/stream.h"

#include "team/way.h"

enum state {
    WHOLE_COPY, /* all of it is in staging memory */
    IN_PLACE,   /* where the caller has it */
    WINDOWS,    /* a chunk at a time is in staging memory */
};

/* What a member tells in a phase. The operand is its stream's length and state. The place is the
 * stream's or, when parts have sizes of their own, that of a table: the stream's place, then
 * where each member's part begins, and the end. */
struct shown {
    uint64_t place;
    uint64_t operand;
};

/* Another member's stream, and this one's part of it. */
struct part {
    const unsigned char *data;
    uint64_t total;
    uint64_t from;
    uint64_t to;
    enum state state;
};

static uint64_t table_bytes(const struct dn_team *team, const struct team_streams *streams)
{
    uint64_t bytes = 0;
    if (streams->sizes) {
        (void)round_up((team->nic.count + UINT64_C(2)) * sizeof(uint64_t), CACHE_LINE_BYTES,
                       &bytes);
    }
    return bytes;
}

/* How much of a stream a chunk holds beside the table. */
static uint64_t window_bytes(const struct dn_team *team, const struct team_streams *streams)
{
    return TEAM_CHUNK_BYTES - table_bytes(team, streams);
}

static void write_table(const struct dn_team *team, const struct team_streams *streams,
                        uint64_t place, uint64_t data)
{
    uint64_t *table = (uint64_t *)(void *)team_memory(team, team->nic.index, place);
    uint64_t position = 0;
    table[0] = data;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        table[1 + index] = position;
        position += streams->sizes[index];
    }
    table[1 + team->nic.count] = position;
}

/* Which of a stream's bytes are for a member, when it has no table: [*from, *to). */
static void part_without_table(const struct dn_team *team, const struct team_streams *streams,
                               uint64_t total, uint32_t index, uint64_t *from, uint64_t *to)
{
    uint64_t each = total / team->nic.count;
    *from = streams->for_each_the_same ? each * index : 0;
    *to = streams->for_each_the_same ? *from + each : total;
}

/* Puts a window of the stream where peers can read it: at `data` in this member's staging
 * memory. Its own part it takes from the source. */
static void fill_window(struct dn_team *team, const struct team_streams *streams, uint64_t data,
                        uint64_t window)
{
    uint64_t bytes = window_bytes(team, streams);
    uint64_t start = window * bytes;
    uint64_t stop = streams->bytes - start < bytes ? streams->bytes : start + bytes;
    unsigned char *place = team_memory(team, team->nic.index, data);
    if (!streams->sizes && !streams->for_each_the_same) {
        team->way->give_all(team, place, streams->source + start, stop - start);
        return;
    }
    uint64_t from = 0;
    uint64_t to = 0;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (streams->sizes) {
            from = to;
            to += streams->sizes[index];
        } else {
            part_without_table(team, streams, streams->bytes, index, &from, &to);
        }
        uint64_t first = from < start ? start : from;
        uint64_t end = to > stop ? stop : to;
        if (first < end && index != team->nic.index) {
            team->way->give(team, index, place + (first - start), streams->source + first,
                            end - first);
        }
    }
}

/* Puts a stream where peers can read it. A small one is copied whole, together with its table. */
static struct shown show(struct dn_team *team, const struct team_streams *streams)
{
    uint64_t table = table_bytes(team, streams);
    enum state state = IN_PLACE;
    uint64_t data = TEAM_NOWHERE;
    uint64_t staging = TEAM_NOWHERE;
    if (table + streams->bytes <= TEAM_SMALL_BYTES) {
        state = WHOLE_COPY;
        staging = team_staging_small(team, team->phase + 1);
    } else {
        data = team_place_of(team, streams->source, streams->bytes);
        state = data == TEAM_NOWHERE ? WINDOWS : IN_PLACE;
        if (table != 0 || state == WINDOWS) {
            staging = team_staging_in(team);
        }
    }
    bool needs_staging = table != 0 || state != IN_PLACE;
    if (needs_staging && staging == TEAM_NOWHERE) {
        return (struct shown){TEAM_NOWHERE, 0};
    }
    unsigned char *own = team_memory(team, team->nic.index, needs_staging ? staging : 0);
    data = state == IN_PLACE ? data : staging + table;
    if (state == WHOLE_COPY) {
        team_copy(own + table, streams->source, streams->bytes);
    } else if (state == WINDOWS) {
        fill_window(team, streams, data, 0);
    }
    if (table != 0) {
        write_table(team, streams, staging, data);
    }
    team->way->give_all(team, own, own, state == WHOLE_COPY ? table + streams->bytes : table);
    return (struct shown){table != 0 ? staging : data, streams->bytes << 2 | state};
}

/* This member's part of its own stream. */
static struct part own_part(const struct dn_team *team, const struct team_streams *streams)
{
    struct part part = {.data = streams->source, .total = streams->bytes, .state = IN_PLACE};
    if (streams->sizes) {
        for (uint32_t index = 0; index < team->nic.index; index++) {
            part.from += streams->sizes[index];
        }
        part.to = part.from + streams->sizes[team->nic.index];
    } else {
        part_without_table(team, streams, part.total, team->nic.index, &part.from, &part.to);
    }
    return part;
}

/* Reads what a table says of this member's part; false: there is no table in that place. */
static bool read_table(const struct dn_team *team, const struct team_streams *streams,
                       uint32_t index, uint64_t *place, struct part *part)
{
    const uint64_t *table = (const uint64_t *)(void *)team_reach(
        team, index, *place, table_bytes(team, streams), sizeof(uint64_t));
    if (!table) {
        return false;
    }
    uint32_t mine = team->nic.index;
    *place = __atomic_load_n(&table[0], __ATOMIC_RELAXED);
    part->from = __atomic_load_n(&table[1 + mine], __ATOMIC_RELAXED);
    part->to = __atomic_load_n(&table[2 + mine], __ATOMIC_RELAXED);
    return true;
}

/* This member's part of a stream. All that another member tells is read here, once for each use,
 * and checked: DN_EGROUP when it makes no sense. */
static int part_of(const struct dn_team *team, const struct team_streams *streams, uint32_t index,
                   struct part *found)
{
    if (index == team->nic.index) {
        *found = own_part(team, streams);
        return 0;
    }
    uint64_t operand = team_operand_of(team, index);
    uint64_t place = team_source_of(team, index);
    struct part part = {.total = operand >> 2, .state = (enum state)(operand & 3)};
    if (part.total > TEAM_STREAM_BYTES_MAX || part.state > WINDOWS) {
        return DN_EGROUP;
    }
    if (!streams->sizes) {
        part_without_table(team, streams, part.total, team->nic.index, &part.from, &part.to);
    } else if (!read_table(team, streams, index, &place, &part)) {
        return DN_EGROUP;
    }
    /* Two windows lie a chunk apart. */
    uint64_t bytes = part.state == WINDOWS ? TEAM_CHUNK_BYTES + window_bytes(team, streams)
                                           : part.total;
    part.data = team_reach(team, index, place, bytes, 1);
    if (!part.data || part.from > part.to || part.to > part.total) {
        return DN_EGROUP;
    }
    *found = part;
    return 0;
}

/* What the first phase told about all streams together. */
struct summary {
    uint64_t received_bytes; /* UINT64_MAX: that many or more */
    uint64_t windows;        /* at least 1 */
    bool all_copied;
};

static int sum_up(const struct dn_team *team, const struct team_streams *streams,
                  struct summary *summary)
{
    uint64_t window = window_bytes(team, streams);
    int error = 0;
    *summary = (struct summary){.windows = 1, .all_copied = true};
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        /* A member's own part is told to the others as its state was. */
        uint64_t state = team_operand_of(team, index) & 3;
        struct part part;
        error = part_of(team, streams, index, &part);
        if (error) {
            break;
        }
        if (__builtin_add_overflow(summary->received_bytes, part.to - part.from,
                                   &summary->received_bytes)) {
            summary->received_bytes = UINT64_MAX;
        }
        summary->all_copied = summary->all_copied && state == WHOLE_COPY;
        if (state == WINDOWS && (part.total + window - 1) / window > summary->windows) {
            summary->windows = (part.total + window - 1) / window;
        }
    }
    return error;
}

static int tell_sizes(const struct dn_team *team, const struct team_streams *streams)
{
    uint64_t room = streams->capacity;
    int error = 0;
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        struct part part;
        error = part_of(team, streams, index, &part);
        /* It fitted before, so that member has told something else since. */
        if (!error && part.to - part.from > room) {
            error = DN_EGROUP;
        }
        if (!error) {
            streams->received_sizes[index] = part.to - part.from;
            room -= part.to - part.from;
        }
    }
    return error;
}

/* Takes what this window brings: with the first one all whole streams, and with each one a
 * chunk's worth of the others. */
static int take(const struct dn_team *team, const struct team_streams *streams, uint64_t window)
{
    uint64_t bytes = window_bytes(team, streams);
    unsigned char *to = streams->result;
    uint64_t room = streams->capacity;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        struct part part;
        int error = part_of(team, streams, index, &part);
        if (error || part.to - part.from > room) {
            return DN_EGROUP;
        }
        uint64_t first = part.from;
        uint64_t end = part.to;
        if (part.state == WINDOWS) {
            uint64_t start = window * bytes;
            first = first < start ? start : first;
            end = end > start + bytes ? start + bytes : end;
            part.data += (window & 1) * TEAM_CHUNK_BYTES;
            if (first < end) {
                team_copy(to + (first - part.from), part.data + (first - start), end - first);
            }
        } else if (window == 0) {
            team_copy(to, part.data + first, end - first);
        }
        to += part.to - part.from;
        room -= part.to - part.from;
    }
    return 0;
}

/* Fills the chunk that nobody reads: the window before this one is in the other chunk, and all
 * have finished with the window before that. */
static void show_window(struct dn_team *team, const struct team_streams *streams,
                        struct shown shown, uint64_t window)
{
    if ((shown.operand & 3) == WINDOWS && window * window_bytes(team, streams) < streams->bytes) {
        uint64_t chunk = team_staging_in(team) + (window & 1) * TEAM_CHUNK_BYTES;
        fill_window(team, streams, chunk + table_bytes(team, streams), window);
    }
}

int team_streams_exchange(struct dn_team *team, const struct team_streams *streams)
{
    struct shown shown = show(team, streams);
    KILL_POINT("stream: shown, not told");
    int error = team_exchange_places(team, shown.place, shown.operand, streams->argument);
    if (error) {
        return error;
    }
    struct summary summary;
    error = sum_up(team, streams, &summary);
    bool fits = !error && summary.received_bytes <= streams->capacity;
    if (fits && streams->received_sizes) {
        error = tell_sizes(team, streams);
    }
    for (uint64_t window = 0; window < summary.windows && !error; window++) {
        if (window > 0) {
            show_window(team, streams, shown, window);
            error = team_exchange_places(team, shown.place, shown.operand, streams->argument);
        }
        if (!error && fits) {
            error = take(team, streams, window);
        }
    }
    KILL_POINT("stream: taken, not told");
    if (!error && !summary.all_copied) {
        error = team_exchange(team, 0, streams->argument);
    }
    return error ? error : fits ? 0 : DN_ETOOLONG;
}
