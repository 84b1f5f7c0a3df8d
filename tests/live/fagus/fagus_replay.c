/* The random tester's judge: one process that does serially, in the order of grants, what the
 * threads of all nodes did, and compares what they saw.
 *
 *     fagus_replay FOLDER [--spoil N]     --spoil: forgets the N-th grant that
 *                                         wrote a header; the judge must notice
 *
 * Every acquire and release is an event at its time. Between them a writer is alone with its
 * variable, and a reader is without a writer. A thread must see at both ends what the grants
 * before left, and its own changes. */
#include "fagus_random.h"

#include <dirent.h>

#include <fagus.h>

enum { HISTORY = 64, FAULTS_MAX = 8 };

struct entry {
    struct record record;
    const struct seen *seen;
    const struct seen *left;
    const struct written *written;
};

struct event {
    uint64_t ns;
    const struct entry *entry;
    bool is_end;
};

/* What a piece was after a change. */
struct past {
    uint64_t hash;
    const struct entry *by; /* NULL: nobody */
};

static struct plan plan;
static struct preface preface;
static unsigned char *image[PIECES];
static struct past history[PIECES][HISTORY];
static uint64_t changes[PIECES];

static struct {
    uint64_t sequence;
    uint64_t movable;
    const struct entry *writer;
    uint32_t readers;
} state[VARIABLES];

static struct entry *entries;
static size_t entry_count;
static uint64_t faults;
static uint64_t bytes_compared;
static uint64_t change_count;
static uint64_t touch_count;
static uint64_t spoiled; /* the grant to be forgotten; 0: none */

/* ---- Saying what is wrong --------------------------------------------------------------- */

static void say_who(const char *before, const struct entry *entry)
{
    if (!entry) {
        printf("%snobody", before);
        return;
    }
    const struct record *record = &entry->record;
    printf("%snode %u thread %u phase %u step %u%s", before, record->node, record->thread,
           record->phase, record->step,
           record->kind != GRANT                  ? " between barriers"
           : record->mode == (uint32_t)FAGUS_READ ? " for reading"
                                                  : " for writing");
}

__attribute__((format(printf, 2, 3))) static void fault(const struct entry *entry,
                                                        const char *format, ...)
{
    va_list arguments;
    faults++;
    if (faults > FAULTS_MAX) {
        return;
    }
    printf("FAIL replay, seed %llu: variable %u, ", (unsigned long long)plan.seed,
           entry->record.variable);
    say_who("", entry);
    printf(": ");
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* Says what it holds instead, if that was there once. */
static void explain(const struct seen *seen)
{
    uint32_t piece = seen->piece;
    const struct piece *at = &plan.pieces[piece];
    if (faults > FAULTS_MAX) {
        return;
    }
    printf("    piece %u: %u bytes at arena %u + %llu, begins with %llx, should with ", piece,
           at->bytes, at->arena, (unsigned long long)at->at, (unsigned long long)seen->first);
    uint64_t first = 0;
    memcpy(&first, image[piece], at->bytes < 8 ? at->bytes : 8);
    printf("%llx", (unsigned long long)first);
    say_who(", last changed by ", history[piece][(changes[piece] - 1) % HISTORY].by);
    for (uint64_t back = 1; back < HISTORY && back < changes[piece]; back++) {
        const struct past *past = &history[piece][(changes[piece] - 1 - back) % HISTORY];
        if (past->hash == seen->hash) {
            printf("; it is %llu changes old", (unsigned long long)back);
            say_who(", as left by ", past->by);
            break;
        }
    }
    printf("\n");
}

/* ---- The image -------------------------------------------------------------------------- */

static void note_change(uint32_t piece, const struct entry *by)
{
    struct past past = {piece_hash(image[piece], plan.pieces[piece].bytes), by};
    history[piece][changes[piece]++ % HISTORY] = past;
}

static void apply(const struct entry *entry)
{
    const struct record *record = &entry->record;
    touch_count += record->is_touched;
    if (record->is_touched && touch_count == spoiled) {
        return;
    }
    for (uint32_t i = 0; i < record->written_count; i++) {
        const struct written *write = &entry->written[i];
        if (write->is_void) {
            continue;
        }
        change_count++;
        apply_write(image[write->piece], write);
        note_change(write->piece, entry);
    }
    if (record->is_touched) {
        struct header header = header_of(record->variable, record->sequence + 1,
                                         record->movable_after);
        memcpy(image[record->variable], &header, sizeof header);
        note_change(record->variable, entry);
        state[record->variable].sequence = header.sequence;
        state[record->variable].movable = header.movable;
    }
}

static void compare(const struct entry *entry, const struct seen *seen, uint32_t count,
                    const char *when)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = plan.pieces[seen[i].piece].bytes;
        bytes_compared += bytes;
        if (seen[i].hash != piece_hash(image[seen[i].piece], bytes)) {
            fault(entry, "%s piece %u is not what the grants before left", when, seen[i].piece);
            explain(&seen[i]);
        }
    }
}

static void compare_header(const struct entry *entry)
{
    const struct record *record = &entry->record;
    uint32_t variable = record->variable;
    if (record->sequence != state[variable].sequence ||
        record->movable != state[variable].movable) {
        fault(entry, "sequence %llu, pieces %llx; but they are %llu, %llx",
              (unsigned long long)record->sequence, (unsigned long long)record->movable,
              (unsigned long long)state[variable].sequence,
              (unsigned long long)state[variable].movable);
    }
}

/* ---- Events ----------------------------------------------------------------------------- */

static void begin_grant(const struct entry *entry)
{
    const struct record *record = &entry->record;
    uint32_t variable = record->variable;
    if (state[variable].writer) {
        fault(entry, "had it together with a writer");
        say_who("    which was ", state[variable].writer);
        printf("\n");
    }
    if (record->mode == (uint32_t)FAGUS_WRITE) {
        if (state[variable].readers > 0) {
            fault(entry, "had it together with %u readers", state[variable].readers);
        }
        state[variable].writer = entry;
    } else {
        state[variable].readers++;
    }
    compare_header(entry);
    compare(entry, entry->seen, record->seen_count, "after acquire");
}

static void end_grant(const struct entry *entry)
{
    const struct record *record = &entry->record;
    if (record->mode == (uint32_t)FAGUS_WRITE) {
        if (state[record->variable].writer == entry) {
            state[record->variable].writer = NULL;
        }
    } else {
        state[record->variable].readers--;
    }
}

/* In order of time; when several end at once, all changes come before any comparison. */
static void replay_grants(const struct event *events, size_t count)
{
    for (size_t i = 0; i < count;) {
        if (!events[i].is_end) {
            begin_grant(events[i++].entry);
            continue;
        }
        size_t last = i;
        for (; last < count && events[last].is_end && events[last].ns == events[i].ns; last++) {
            apply(events[last].entry);
        }
        for (; i < last; i++) {
            const struct entry *entry = events[i].entry;
            compare(entry, entry->left, entry->record.left_count, "before release");
            end_grant(entry);
        }
    }
}

static int by_time(const void *left, const void *right)
{
    const struct event *a = left;
    const struct event *b = right;
    if (a->ns != b->ns) {
        return a->ns < b->ns ? -1 : 1;
    }
    return (int)b->is_end - (int)a->is_end;
}

static void replay_phase(uint32_t phase, struct event *events)
{
    size_t count = 0;
    for (size_t i = 0; i < entry_count; i++) {
        const struct record *record = &entries[i].record;
        if (record->kind == GRANT && record->phase == phase) {
            events[count++] = (struct event){record->begin_ns, &entries[i], false};
            events[count++] = (struct event){record->end_ns, &entries[i], true};
        }
    }
    qsort(events, count, sizeof *events, by_time);
    replay_grants(events, count);
}

/* Checks what all nodes saw after the barrier with this number, then applies what they wrote. */
static uint32_t replay_barrier(uint32_t phase, uint32_t number)
{
    uint32_t count = 0;
    for (size_t i = 0; i < entry_count; i++) {
        const struct record *record = &entries[i].record;
        if (record->kind == EQUAL && record->phase == phase && record->step == number) {
            count++;
            compare_header(&entries[i]);
            compare(&entries[i], entries[i].seen, record->seen_count, "after a barrier");
        }
    }
    for (size_t i = 0; i < entry_count; i++) {
        const struct record *record = &entries[i].record;
        if (record->kind == WRITTEN && record->phase == phase && record->step == number) {
            apply(&entries[i]);
        }
    }
    return count;
}

/* ---- Reading the logs ------------------------------------------------------------------- */

__attribute__((noreturn)) static void give_up(const char *what)
{
    printf("FAIL replay: %s\n", what);
    exit(1);
}

static unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        give_up("a log cannot be read");
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *content = malloc(*bytes + 1);
    if (!content || fread(content, 1, *bytes, file) != *bytes) {
        give_up("a log cannot be read");
    }
    (void)fclose(file);
    return content;
}

static void read_log(const char *path)
{
    size_t bytes;
    unsigned char *content = read_file(path, &bytes);
    size_t at = sizeof preface;
    if (bytes < sizeof preface) {
        give_up("a log is empty");
    }
    memcpy(&preface, content, sizeof preface);
    while (at + sizeof(struct record) <= bytes) {
        struct entry entry;
        memcpy(&entry.record, content + at, sizeof entry.record);
        at += sizeof entry.record;
        entry.seen = (const struct seen *)(void *)(content + at);
        at += entry.record.seen_count * sizeof *entry.seen;
        entry.left = (const struct seen *)(void *)(content + at);
        at += entry.record.left_count * sizeof *entry.left;
        entry.written = (const struct written *)(void *)(content + at);
        at += entry.record.written_count * sizeof *entry.written;
        if (entry_count % 65536 == 0) {
            entries = realloc(entries, (entry_count + 65536) * sizeof *entries);
            if (!entries) {
                give_up("out of memory");
            }
        }
        entries[entry_count++] = entry;
    }
    if (at != bytes) {
        give_up("a log is cut off");
    }
}

static void read_logs(const char *folder)
{
    DIR *directory = opendir(folder);
    uint32_t count = 0;
    char path[4096];
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, "log.", 4) == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            read_log(path);
            count++;
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    if (count == 0 || count != preface.nodes * (preface.threads + 1)) {
        give_up("a log is missing");
    }
}

static void begin_image(void)
{
    plan_make(&plan, preface.seed);
    for (uint32_t i = 0; i < PIECES; i++) {
        image[i] = calloc(1, plan.pieces[i].bytes);
        if (!image[i]) {
            give_up("out of memory");
        }
        if (i >= TINY && i < VARIABLES) {
            struct header header = header_of(i, 0, plan.movable[i - TINY]);
            memcpy(image[i], &header, sizeof header);
            state[i].movable = header.movable;
        }
        note_change(i, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2 && !(argc == 4 && strcmp(argv[2], "--spoil") == 0)) {
        (void)dprintf(STDERR_FILENO, "usage: fagus_replay FOLDER [--spoil N]\n");
        return 2;
    }
    spoiled = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    read_logs(argv[1]);
    begin_image();
    struct event *events = malloc((2 * entry_count + 1) * sizeof *events);
    if (!events) {
        give_up("out of memory");
    }
    uint32_t barriers = 0;
    for (uint32_t phase = 0; phase < preface.phases; phase++) {
        uint32_t met;
        replay_phase(phase, events);
        for (uint32_t number = 0; (met = replay_barrier(phase, number)) > 0; number++) {
            barriers += met == preface.nodes;
        }
    }
    free(events);
    if (faults > 0) {
        printf("%llu faults\n", (unsigned long long)faults);
        return 1;
    }
    printf("replay is right: seed %llu, %u nodes, %zu records, %llu changes, %u barriers, "
           "%llu bytes compared\n",
           (unsigned long long)plan.seed, preface.nodes, entry_count,
           (unsigned long long)change_count, barriers, (unsigned long long)bytes_compared);
    return 0;
}
