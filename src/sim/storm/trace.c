/* Trace lines and their hash. */
#include "sim/storm/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/operation.h"

enum { PACKET_TEXT_BYTES = 320, NOTE_BYTES = 256, OPERATIONS_SHOWN = 4 };

static void mix(struct storm_world *world, uint64_t value)
{
    uint64_t hash = (world->result.trace_hash ^ value) * UINT64_C(0x9fb21c651e98df25);
    world->result.trace_hash = hash ^ (hash >> 32);
}

/* ---- A packet in short words ------------------------------------------------------- */

struct text {
    char *to;
    size_t room;
    size_t used;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->to + text->used, text->room - text->used, format, arguments);
    va_end(arguments);
    size_t wanted = text->used + (size_t)(length > 0 ? length : 0);
    text->used = wanted < text->room ? wanted : text->room - 1;
}

static const char *class_word(enum wire_class class)
{
    return class == WIRE_REPLY ? "reply" : "request";
}

static void add_acks(struct text *text, const unsigned char *acks, uint32_t bytes)
{
    static const char *const stages[] = {"sw", "gbn", "sr"};
    struct wire_ack ack;
    uint32_t at = 0;
    if (!wire_acks_check(acks, bytes)) {
        add(text, " ack ?");
        return;
    }
    while (wire_ack_decode(acks, bytes, &at, &ack)) {
        add(text, " ack %s %" PRIu32 " %s window %u%s%s", class_word(ack.class), ack.next,
            stages[ack.stage], ack.window, ack.gap ? " gap" : "", ack.refused ? " refused" : "");
        for (unsigned i = 0; i < ack.bitmap_words; i++) {
            add(text, "%s%08" PRIx32, i ? "" : " beyond ", ack.bitmap[i]);
        }
    }
}

static void add_operations(struct text *text, const unsigned char *body, uint32_t bytes,
                           enum wire_class class)
{
    static const char *const words[] = {
        [WIRE_AOTF] = "aotf",     [WIRE_BOTF] = "botf",       [WIRE_PUSH] = "push",
        [WIRE_PULL] = "pull",     [WIRE_ATOMIC] = "atomic",   [WIRE_SERVICE] = "service",
        [WIRE_PULLED] = "pulled", [WIRE_FETCHED] = "fetched", [WIRE_REFUSED] = "refused",
        [WIRE_SERVED] = "served",
    };
    struct wire_operation operation;
    uint32_t at = 0;
    uint32_t count = 0;
    add(text, " {");
    while (wire_operation_decode(body, bytes, class, &at, &operation)) {
        if (count++ < OPERATIONS_SHOWN) {
            add(text, "%s%s %u B %" PRIu32 "+%" PRIx64, count > 1 ? ", " : "",
                words[operation.opcode], operation.bytes, operation.area, operation.offset);
        }
    }
    if (count > OPERATIONS_SHOWN) {
        add(text, ", %" PRIu32 " more", count - OPERATIONS_SHOWN);
    }
    add(text, at < bytes ? " ?}" : "}");
}

static void add_packet(struct text *text, const unsigned char *packet, uint32_t bytes)
{
    static const char *const codes[WIRE_CONTROL_LAST + 1] = {
        "?", "hello", "welcome", "probe", "present", "restarted", "dead", "path", "path carries"};
    struct wire_header header;
    if (bytes < WIRE_OVERHEAD_BYTES || !wire_header_decode(packet, bytes, &header)) {
        add(text, "%" PRIu32 " B that are no packet", bytes);
        return;
    }
    enum wire_class class = header.flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST;
    const unsigned char *acks = packet + WIRE_PREFIX_BYTES;
    const unsigned char *body = acks + header.ack_bytes;
    if (header.kind == WIRE_CONTROL) {
        unsigned code = header.body_bytes > 0 ? body[0] : 0;
        add(text, "CONTROL");
        if (code > 0) {
            add(text, " %s", code <= WIRE_CONTROL_LAST ? codes[code] : "?");
        }
    } else if (header.kind == WIRE_CD || header.kind == WIRE_PIECE) {
        add(text, "%s %s %" PRIu32 " vc%u", header.kind == WIRE_CD ? "CD" : "PIECE of",
            class_word(class), header.sequence, header.channel);
        if (header.after) {
            add(text, " after %s%u", header.flags & WIRE_FLAG_AFTER_ALL ? "all to " : "",
                header.after);
        }
    } else {
        add(text, "UD vc%u", header.channel);
    }
    add(text, "%s%s (%" PRIu32 " to %" PRIu32 ", #%" PRIu64 ")",
        header.flags & WIRE_FLAG_AGAIN ? " again" : "",
        header.flags & WIRE_FLAG_ANSWER ? " answer" : "", header.source_incarnation,
        header.target_incarnation, header.counter);
    add_acks(text, acks, header.ack_bytes);
    struct wire_piece piece;
    if (header.kind == WIRE_PIECE) {
        bool is_piece = wire_piece_decode(body, header.body_bytes, &piece);
        add(text, is_piece ? " {%u B at %u of %u}" : " {?}", piece.bytes, piece.offset,
            piece.whole_bytes);
    } else if (header.kind != WIRE_CONTROL) {
        add_operations(text, body, header.body_bytes, class);
    }
}

/* ---- Lines ------------------------------------------------------------------------- */

static void write_time(const struct storm_world *world, FILE *file)
{
    (void)fprintf(file, "%9" PRIu64 ".%03u us ", world->now_ns / 1000,
                  (unsigned)(world->now_ns % 1000));
}

static void write_packet(struct storm_world *world, enum storm_step step, uint16_t who,
                         uint16_t other, const unsigned char *packet, uint32_t bytes)
{
    static const struct {
        const char *verb;
        const char *why;
    } words[] = {
#define STORM_STEP_WORDS(name, verb, why) {verb, why},
        STORM_STEPS(STORM_STEP_WORDS)
#undef STORM_STEP_WORDS
    };
    char line[PACKET_TEXT_BYTES] = "";
    struct text text = {line, sizeof line, 0};
    FILE *file = world->trace;
    add_packet(&text, packet, bytes);
    write_time(world, file);
    (void)fprintf(file, "n%u %s n%u%s: %s\n", who, words[step].verb, other, words[step].why, line);
}

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

void storm_trace_packet(struct storm_world *world, enum storm_step step, uint16_t who,
                        uint16_t other, const unsigned char *packet, uint32_t bytes)
{
    mix(world, world->now_ns);
    mix(world, (uint64_t)step << 56 | (uint64_t)who << 40 | (uint64_t)other << 24 | bytes);
    /* The counter tells packets apart, and the tag depends on every byte. */
    if (bytes >= WIRE_OVERHEAD_BYTES) {
        mix(world, word_at(packet + WIRE_HEADER_BYTES));
        mix(world, word_at(packet + bytes - sizeof(uint64_t)));
    }
    if (world->trace) {
        write_packet(world, step, who, other, packet, bytes);
    }
}

void storm_note(struct storm_world *world, const struct storm_node *node, const char *format, ...)
{
    char line[NOTE_BYTES + sizeof(uint64_t)] = "";
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, NOTE_BYTES, format, arguments);
    va_end(arguments);
    mix(world, world->now_ns);
    mix(world, node ? node->number : WIRE_NOBODY);
    for (int i = 0; i < length && i < NOTE_BYTES; i += (int)sizeof(uint64_t)) {
        mix(world, word_at((const unsigned char *)line + i));
    }
    if (world->trace) {
        write_time(world, world->trace);
        if (node) {
            (void)fprintf(world->trace, "n%u ", node->number);
        }
        (void)fprintf(world->trace, "%s\n", line);
    }
}

/* The plan in two lines, for the head of a trace. */
static void write_plan(const struct storm_plan *plan, void *file)
{
    const struct swif_config *swif = &plan->board.swif;
    const struct nic_engine_config *engine = &plan->board.engine;
    (void)fprintf(file, "# seed %" PRIu64 ", luck %" PRIu64 ", scenario %s", plan->seed, plan->luck,
                  plan->scenario);
    (void)fprintf(file, ", %" PRIu32 " nodes, %" PRIu32 " operations, faults", plan->node_count,
                  plan->operations);
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        if (plan->fault[i]) {
            (void)fprintf(file, " %s", storm_faults[i].name);
        }
    }
    (void)fprintf(file, ", work");
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        if (plan->work[i]) {
            (void)fprintf(file, " %s", storm_works[i].name);
        }
    }
    (void)fprintf(file,
                  "\n# latency %" PRIu64 " ns, faults for %" PRIu64 " us, packets %" PRIu32
                  " B, ltee %" PRIu32 " rtee %" PRIu32 " ways %" PRIu32 ", buffers %" PRIu32
                  " %" PRIu32 ", reorder %" PRIu32 ", queue %" PRIu32 ", window %" PRIu32
                  ", stage %d, rto %" PRIu64 "..%" PRIu64 " us, peer timeout %" PRIu64
                  " us, transfers %" PRIu32 ", outstanding %" PRIu32 "\n",
                  plan->latency_ns, plan->safety_ns / 1000, swif->packet_bytes_max,
                  swif->ltee_count, swif->rtee_count, swif->ways, swif->buffer_count[WIRE_REQUEST],
                  swif->buffer_count[WIRE_REPLY], swif->reorder_count, swif->queue_max,
                  swif->window_max, (int)swif->stage_max, swif->rto_min_ns / 1000,
                  swif->rto_max_ns / 1000, swif->peer_timeout_ns / 1000, engine->transfer_count,
                  engine->outstanding_count);
}

void storm_trace_begin(struct storm_world *world, void *file)
{
    world->trace = file;
    world->result.trace_hash = world->plan.seed;
    if (file) {
        write_plan(&world->plan, file);
    }
}
