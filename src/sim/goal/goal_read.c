/* Reading schedules: words one after the other, wherever lines end. A word is a run of letters,
 * digits, _, . and -, or any other single byte. What follows a word tells a label from a keyword,
 * so an operation may be called "send". Needs are collected, and looked up when their rank ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/goal/goal.h"

enum { FILE_BYTES_MAX = 1 << 30, ROWS_LEAST = 64 };

/* Some bytes of the file; length 0: its end. */
struct word {
    const char *at;
    size_t length;
    uint32_t line;
};

struct scan {
    const char *at, *end;
    uint32_t line;
};

/* The operations of a rank by their labels: open addressing, at most half full. */
struct row {
    struct word label;
    uint32_t operation;
    uint64_t stamp; /* of the rank; that of another one: the row is free */
};

struct wanted {
    struct word operation, before;
    bool of_start;
};

struct reader {
    struct goal goal;
    struct scan scan;
    const char *name;
    char *error;
    uint32_t rank;
    bool *is_said; /* by rank */
    struct row *rows;
    uint32_t row_count, label_count; /* rows: a power of two */
    uint64_t stamp;
    struct wanted *wanted;
    uint32_t wanted_count, wanted_room;
};

static bool fault(struct reader *reader, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fault(struct reader *reader, uint32_t line, const char *format, ...)
{
    int at = snprintf(reader->error, GOAL_ERROR_BYTES, "%.120s:%" PRIu32 ": ", reader->name, line);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->error + at, GOAL_ERROR_BYTES - (size_t)at, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Words --------------------------------------------------------------------------------- */

static bool is_of_a_run(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

static void skip_line(struct scan *scan)
{
    const char *end = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
    scan->at = end ? end : scan->end;
}

/* False: the comment does not end, and the scan stays at its beginning. */
static bool skip_comment(struct scan *scan)
{
    struct scan inside = *scan;
    for (inside.at += 2; inside.end - inside.at >= 2; inside.at++) {
        if (inside.at[0] == '*' && inside.at[1] == '/') {
            inside.at += 2;
            *scan = inside;
            return true;
        }
        inside.line += *inside.at == '\n';
    }
    return false;
}

/* Skips blanks and comments. */
static void skip(struct scan *scan)
{
    while (scan->at < scan->end) {
        char next = scan->end - scan->at > 1 ? scan->at[1] : '\0';
        if (*scan->at == '#' || (*scan->at == '/' && next == '/')) {
            skip_line(scan);
        } else if (*scan->at == '/' && next == '*') {
            if (!skip_comment(scan)) {
                return;
            }
        } else if (*scan->at == '\n' || *scan->at == ' ' || *scan->at == '\t' ||
                   *scan->at == '\r') {
            scan->line += *scan->at == '\n';
            scan->at++;
        } else {
            return;
        }
    }
}

static struct word take(struct scan *scan)
{
    skip(scan);
    struct word word = {scan->at, 0, scan->line};
    while (scan->at < scan->end && is_of_a_run(*scan->at)) {
        scan->at++;
    }
    if (scan->at == word.at && scan->at < scan->end) {
        scan->at++;
    }
    word.length = (size_t)(scan->at - word.at);
    return word;
}

static struct word peek(struct scan scan)
{
    return take(&scan);
}

static bool is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

static bool is_need(struct word word)
{
    return is(word, "requires") || is(word, "irequires");
}

/* Says what stands there instead of what should. */
static bool fault_at(struct reader *reader, struct word word, const char *expected)
{
    if (word.length == 0) {
        return fault(reader, word.line, "the file ends where %s should stand", expected);
    }
    if (is_of_a_run(*word.at)) {
        return fault(reader, word.line, "\"%.*s\" stands where %s should stand",
                     word.length < 60 ? (int)word.length : 60, word.at, expected);
    }
    if (*word.at == '/') {
        return fault(reader, word.line, "a comment does not end, or a / belongs to none");
    }
    if (*word.at < ' ' || *word.at > '~') {
        return fault(reader, word.line, "this is no text: byte 0x%02x", (unsigned char)*word.at);
    }
    return fault(reader, word.line, "\"%c\" stands where %s should stand", *word.at, expected);
}

static bool expect(struct reader *reader, const char *text)
{
    char expected[GOAL_NAME_BYTES_MAX];
    struct word word = take(&reader->scan);
    (void)snprintf(expected, sizeof expected, "\"%s\"", text);
    return is(word, text) || fault_at(reader, word, expected);
}

static bool digits(const char *text, size_t length, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = 10 * value + (uint64_t)(text[i] - '0');
    }
    *number = value;
    return length > 0 && value <= most;
}

/* With a suffix the digits end with it. */
static bool number(struct reader *reader, const char *what, const char *suffix, uint64_t most,
                   uint64_t *value)
{
    char expected[160];
    struct word word = take(&reader->scan);
    size_t behind = strlen(suffix);
    if (word.length > behind && memcmp(word.at + word.length - behind, suffix, behind) == 0 &&
        digits(word.at, word.length - behind, most, value)) {
        return true;
    }
    (void)snprintf(expected, sizeof expected, "%s, from 0%s to %" PRIu64 "%s,", what, suffix, most,
                   suffix);
    return fault_at(reader, word, expected);
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* The row of this label, or the free one where it belongs. */
static struct row *find_row(const struct reader *reader, struct word label)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < label.length; i++) {
        hash = (hash ^ (unsigned char)label.at[i]) * 16777619u;
    }
    for (uint32_t i = hash ^ hash >> 16;; i++) {
        struct row *row = &reader->rows[i & (reader->row_count - 1)];
        if (row->stamp != reader->stamp || (row->label.length == label.length &&
                                            memcmp(row->label.at, label.at, label.length) == 0)) {
            return row;
        }
    }
}

static void grow_rows(struct reader *reader)
{
    struct row *old = reader->rows;
    uint32_t old_count = reader->row_count;
    reader->row_count = old_count ? 2 * old_count : ROWS_LEAST;
    reader->rows = calloc(reader->row_count, sizeof *reader->rows);
    INVARIANT(reader->rows);
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].stamp == reader->stamp) {
            *find_row(reader, old[i].label) = old[i];
        }
    }
    free(old);
}

/* Of the operation that comes next. */
static bool take_label(struct reader *reader, struct word label)
{
    if (!goal_is_name(label.at, label.length)) {
        return fault_at(reader, label, "a label of at most 64 letters, digits, _, . and -");
    }
    if (2 * reader->label_count >= reader->row_count) {
        grow_rows(reader);
    }
    struct row *row = find_row(reader, label);
    if (row->stamp == reader->stamp) {
        return fault(reader, label.line, "\"%.*s\" is a label of line %" PRIu32 " already",
                     (int)label.length, label.at, row->label.line);
    }
    *row = (struct row){label, reader->goal.ranks[reader->rank].count, reader->stamp};
    reader->label_count++;
    return true;
}

static bool find_operation(struct reader *reader, struct word label, uint32_t *operation)
{
    const struct row *row = reader->row_count ? find_row(reader, label) : NULL;
    if (!row || row->stamp != reader->stamp) {
        return fault(reader, label.line, "rank %" PRIu32 " has no label \"%.*s\"", reader->rank,
                     label.length < 60 ? (int)label.length : 60, label.at);
    }
    *operation = row->operation;
    return true;
}

/* ---- Statements ---------------------------------------------------------------------------- */

static bool too_many(struct reader *reader, uint32_t line)
{
    return fault(reader, line, "%d operations, and as many requirements, are the most",
                 GOAL_OPERATIONS_MAX);
}

/* tag, cpu and nic, in any order. A label of the next statement may be called so, too. */
static bool take_options(struct reader *reader, struct goal_operation *operation)
{
    const struct {
        const char *name, *what;
        uint64_t most;
        uint32_t *place;
    } options[] = {
        {"tag", "a tag", UINT32_MAX, &operation->tag},
        {"cpu", "a cpu", GOAL_CPUS_MAX - 1, &operation->cpu},
        {"nic", "a NIC", GOAL_CPUS_MAX - 1, &operation->nic},
    };
    bool is_given[3] = {false};
    for (unsigned i = operation->kind == GOAL_CALC ? 1 : 0; i < 3;) {
        struct scan behind = reader->scan;
        struct word word = take(&behind);
        struct word next = peek(behind);
        if (!is(word, options[i].name) || is(next, ":") || is_need(next)) {
            i++;
            continue;
        }
        uint64_t value;
        if (is_given[i]) {
            return fault(reader, word.line, "%s is said twice", options[i].what);
        }
        reader->scan = behind;
        if (!number(reader, options[i].what, "", options[i].most, &value)) {
            return false;
        }
        is_given[i] = true;
        *options[i].place = (uint32_t)value;
        i = operation->kind == GOAL_CALC ? 1 : 0;
    }
    return true;
}

static bool take_peer(struct reader *reader, struct goal_operation *operation)
{
    uint64_t peer;
    bool sends = operation->kind == GOAL_SEND;
    if (!number(reader, "a length in bytes", "b", GOAL_BYTES_MAX, &operation->amount) ||
        !expect(reader, sends ? "to" : "from")) {
        return false;
    }
    struct word word = peek(reader->scan);
    if (is(word, "any") || is(word, "ANY") || is(word, "-1")) {
        return fault(reader, word.line,
                     "\"any\" is not supported: the schedule has to say whom it receives from");
    }
    if (!number(reader, "a rank", "", reader->goal.rank_count - 1, &peer)) {
        return false;
    }
    operation->peer = (uint32_t)peer;
    return true;
}

static bool take_operation(struct reader *reader, struct word label)
{
    struct word word = take(&reader->scan);
    struct goal_operation operation = {.line = word.line};
    char name[GOAL_NAME_BYTES_MAX + 1] = "";
    uint32_t ignored;
    bool good;
    if (is(word, "calc")) {
        operation.kind = GOAL_CALC;
        good = number(reader, "a time in ns", "", GOAL_NS_MAX, &operation.amount);
    } else if (is(word, "send") || is(word, "recv")) {
        operation.kind = is(word, "send") ? GOAL_SEND : GOAL_RECEIVE;
        good = take_peer(reader, &operation);
    } else {
        return fault_at(reader, word,
                        label.length > 0 ? "calc, send or recv"
                                         : "calc, send, recv, a label or the rank's }");
    }
    if (!good || !take_options(reader, &operation)) {
        return false;
    }
    memcpy(name, label.at, label.length);
    return goal_add(&reader->goal, reader->rank, &operation, label.length ? name : NULL,
                    &ignored) ||
           too_many(reader, word.line);
}

static bool take_need(struct reader *reader)
{
    struct word operation = take(&reader->scan);
    bool of_start = is(take(&reader->scan), "irequires");
    struct word before = take(&reader->scan);
    if (!goal_is_name(operation.at, operation.length)) {
        return fault_at(reader, operation, "a label");
    }
    if (!goal_is_name(before.at, before.length)) {
        return fault_at(reader, before, "a label");
    }
    if (reader->wanted_count == GOAL_OPERATIONS_MAX) {
        return too_many(reader, operation.line);
    }
    if (reader->wanted_count == reader->wanted_room) {
        reader->wanted_room = 2 * reader->wanted_room + 64;
        reader->wanted = realloc(reader->wanted, reader->wanted_room * sizeof *reader->wanted);
        INVARIANT(reader->wanted);
    }
    reader->wanted[reader->wanted_count++] = (struct wanted){operation, before, of_start};
    return true;
}

/* ---- Ranks --------------------------------------------------------------------------------- */

static bool resolve_needs(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->wanted_count; i++) {
        const struct wanted *wanted = &reader->wanted[i];
        uint32_t operation;
        uint32_t before;
        if (!find_operation(reader, wanted->operation, &operation) ||
            !find_operation(reader, wanted->before, &before)) {
            return false;
        }
        if (!goal_need(&reader->goal, reader->rank, operation, before, wanted->of_start)) {
            return too_many(reader, wanted->operation.line);
        }
    }
    return true;
}

static bool take_rank(struct reader *reader)
{
    uint64_t rank;
    uint32_t line = reader->scan.line;
    if (!expect(reader, "rank") ||
        !number(reader, "a rank", "", reader->goal.rank_count - 1, &rank) || !expect(reader, "{")) {
        return false;
    }
    if (reader->is_said[rank]) {
        return fault(reader, line, "rank %" PRIu64 " is there already", rank);
    }
    reader->is_said[rank] = true;
    reader->rank = (uint32_t)rank;
    reader->stamp++;
    reader->label_count = 0;
    reader->wanted_count = 0;
    while (!is(peek(reader->scan), "}")) {
        struct scan behind = reader->scan;
        struct word first = take(&behind);
        struct word next = peek(behind);
        struct word label = {first.at, 0, first.line};
        if (first.length > 0 && is_need(next)) {
            if (!take_need(reader)) {
                return false;
            }
            continue;
        }
        if (is(next, ":")) {
            label = first;
            if (!take_label(reader, label)) {
                return false;
            }
            (void)take(&behind);
            reader->scan = behind;
        }
        if (!take_operation(reader, label)) {
            return false;
        }
    }
    (void)take(&reader->scan);
    return resolve_needs(reader);
}

static bool take_all(struct reader *reader)
{
    uint64_t ranks;
    if (!expect(reader, "num_ranks") ||
        !number(reader, "the number of ranks", "", GOAL_RANKS_MAX, &ranks)) {
        return false;
    }
    if (ranks == 0) {
        return fault(reader, reader->scan.line, "there are no ranks");
    }
    goal_open(&reader->goal, (uint32_t)ranks);
    reader->is_said = calloc(ranks, sizeof *reader->is_said);
    INVARIANT(reader->is_said);
    while (peek(reader->scan).length > 0) {
        skip(&reader->scan);
        if (!take_rank(reader)) {
            return false;
        }
    }
    return true;
}

bool goal_read_bytes(const char *name, const void *bytes, size_t length, struct goal *goal,
                     char error[GOAL_ERROR_BYTES])
{
    struct reader reader = {.name = name, .error = error};
    reader.scan = (struct scan){bytes, (const char *)bytes + length, 1};
    bool good = take_all(&reader);
    free(reader.is_said);
    free(reader.rows);
    free(reader.wanted);
    if (good) {
        *goal = reader.goal;
    } else {
        goal_close(&reader.goal);
    }
    return good;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* NULL: errno says why. */
static char *fetch(const char *path, size_t *length)
{
    size_t room = 1 << 16;
    FILE *file = fopen(path, "rbe");
    char *bytes = file ? malloc(room) : NULL;
    *length = 0;
    while (bytes) {
        *length += fread(bytes + *length, 1, room - *length, file);
        if (*length < room) {
            break;
        }
        room *= 2;
        char *more = room <= FILE_BYTES_MAX ? realloc(bytes, room) : NULL;
        if (!more) {
            free(bytes);
            errno = EFBIG;
        }
        bytes = more;
    }
    if (bytes && ferror(file)) {
        int why = errno;
        free(bytes);
        bytes = NULL;
        errno = why;
    }
    if (file) {
        int why = errno;
        (void)fclose(file);
        errno = why;
    }
    return bytes;
}

bool goal_read(const char *path, struct goal *goal, char error[GOAL_ERROR_BYTES])
{
    size_t length;
    char *bytes = fetch(path, &length);
    if (!bytes) {
        (void)snprintf(error, GOAL_ERROR_BYTES, "cannot read %.200s: %s", path, strerror(errno));
        return false;
    }
    bool good = goal_read_bytes(path, bytes, length, goal, error);
    free(bytes);
    return good;
}
