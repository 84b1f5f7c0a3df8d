/* The oracle's rules for AOTF and BOTF: one order over both, nothing missing, nothing twice; and
 * for datagrams, which have no order but come at most once. */
#include "sim/storm/oracle.h"

#include <string.h>

enum { WIDTH_BYTES = 64 }; /* of a lane's STORES, for each width of a store */

struct storm_stream *storm_oracle_stream(const struct storm_oracle *oracle, uint32_t source,
                                         uint32_t lane, uint32_t target)
{
    return &oracle->streams[(source * STORM_LANES_ALL + lane) * oracle->node_count + target];
}

/* ---- Giving ------------------------------------------------------------------------- */

/* Successive stores go to successive places of their width, so that a place tells more
 * than a value of one byte does. */
static uint64_t store_offset(const struct storm_operation *operation)
{
    uint32_t width = (uint32_t)__builtin_ctz(operation->bytes);
    uint32_t place = operation->number % (WIDTH_BYTES >> width);
    return (uint64_t)(3 - width) * WIDTH_BYTES + ((uint64_t)place << width);
}

void storm_oracle_give_ordered(struct storm_oracle *oracle, const struct storm_gift *gift,
                               uint32_t index)
{
    struct storm_operation *operation = &oracle->operations[index];
    uint64_t lane = (uint64_t)gift->source * STORM_LANES + gift->lane;
    if (gift->work == STORM_WORK_AOTF) {
        operation->offset = lane * STORM_STORES_BYTES + store_offset(operation);
    } else {
        INVARIANT(gift->place + gift->bytes <= STORM_BLOCKS_BYTES);
        operation->offset = lane * STORM_BLOCKS_BYTES + gift->place;
    }
    storm_oracle_append(oracle, index);
}

void storm_oracle_append(struct storm_oracle *oracle, uint32_t index)
{
    struct storm_operation *operation = &oracle->operations[index];
    struct storm_stream *stream = storm_oracle_stream(oracle, operation->source, operation->lane,
                                                      operation->target);
    operation->previous = stream->last;
    if (stream->last == STORM_NONE) {
        stream->first = index;
    } else {
        oracle->operations[stream->last].next = index;
    }
    stream->last = index;
}

void storm_oracle_withdraw_ordered(struct storm_oracle *oracle, uint32_t index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    struct storm_stream *stream = storm_oracle_stream(oracle, operation->source, operation->lane,
                                                      operation->target);
    stream->last = operation->previous;
    if (stream->last == STORM_NONE) {
        stream->first = STORM_NONE;
    } else {
        oracle->operations[stream->last].next = STORM_NONE;
    }
}

/* ---- Seeing ------------------------------------------------------------------------- */

uint32_t storm_oracle_first(const struct storm_oracle *oracle, const struct storm_stream *stream)
{
    return stream->last_seen == STORM_NONE ? stream->first
                                           : oracle->operations[stream->last_seen].next;
}

/* Whether all operations between the last that was seen and this one may be missing. */
static bool is_next(struct storm_oracle *oracle, const struct storm_stream *stream, uint32_t index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    for (uint32_t at = storm_oracle_first(oracle, stream); at != index;
         at = oracle->operations[at].next) {
        const struct storm_operation *skipped = &oracle->operations[at];
        if (!storm_operation_may_miss(skipped, operation)) {
            return storm_operation_fail(
                oracle, operation, storm_works[operation->work].name,
                "took effect at node %u and %s %u, which is before it, had not", operation->target,
                storm_works[skipped->work].name, skipped->number);
        }
    }
    return true;
}

void storm_oracle_see_next(struct storm_oracle *oracle, struct storm_stream *stream, uint32_t index,
                           uint16_t node)
{
    if (is_next(oracle, stream, index) &&
        storm_oracle_allows(oracle, index, oracle->life_of[node])) {
        stream->last_seen = index;
        storm_oracle_seen(oracle, index, oracle->life_of[node]);
    }
}

static bool matches(const struct storm_oracle *oracle, const struct storm_operation *operation,
                    enum storm_work work, uint64_t offset, uint64_t bytes,
                    const unsigned char *data)
{
    if (operation->work != work || operation->offset != offset || operation->bytes != bytes) {
        return false;
    }
    if (work == STORM_WORK_BOTF) {
        return storm_derived_match(operation->identity, 0, bytes, data);
    }
    uint64_t value = storm_operation_value(oracle, operation);
    return memcmp(&value, data, bytes) == 0;
}

/* Nothing that could come now fits what was written: says why. */
static void explain(struct storm_oracle *oracle, const struct storm_stream *stream, uint32_t source,
                    uint32_t lane, uint16_t node, enum storm_work work, uint64_t offset,
                    uint64_t bytes, const unsigned char *data)
{
    const char *word = work == STORM_WORK_AOTF ? "store" : "block";
    uint32_t index = stream->first;
    while (index != STORM_NONE) {
        const struct storm_operation *operation = &oracle->operations[index];
        if (matches(oracle, operation, work, offset, bytes, data)) {
            storm_operation_fail(oracle, operation, word, "took effect at node %u %s", node,
                                 operation->is_seen ? "twice" : "after a later one");
            return;
        }
        index = operation->next;
    }
    storm_oracle_fail(oracle,
                      "node %u: a %s of %llu bytes appeared at %llu of lane %u of node %u, "
                      "which nobody gave",
                      node, word, (unsigned long long)bytes, (unsigned long long)offset, lane,
                      source);
}

void storm_oracle_see_ordered(struct storm_oracle *oracle, uint16_t node,
                              const unsigned char *memory, uint64_t offset, uint64_t bytes)
{
    const struct nic_extent *stores = &oracle->layout.areas[STORM_AREA_STORES];
    const struct nic_extent *blocks = &oracle->layout.areas[STORM_AREA_BLOCKS];
    bool is_store = offset - stores->offset < stores->bytes;
    enum storm_work work = is_store ? STORM_WORK_AOTF : STORM_WORK_BOTF;
    uint64_t in_area = offset - (is_store ? stores->offset : blocks->offset);
    uint32_t of = (uint32_t)(in_area / (is_store ? STORM_STORES_BYTES : STORM_BLOCKS_BYTES));
    uint32_t source = of / STORM_LANES;
    uint32_t lane = of % STORM_LANES;
    if (source >= oracle->node_count) {
        storm_oracle_fail(oracle, "node %u: written at %llu, which is no node's place", node,
                          (unsigned long long)offset);
        return;
    }
    const unsigned char *data = memory + offset;
    struct storm_stream *stream = storm_oracle_stream(oracle, source, lane, node);
    uint32_t index = storm_oracle_first(oracle, stream);
    while (index != STORM_NONE &&
           !matches(oracle, &oracle->operations[index], work, in_area, bytes, data)) {
        index = oracle->operations[index].next;
    }
    if (index == STORM_NONE) {
        explain(oracle, stream, source, lane, node, work, in_area, bytes, data);
        return;
    }
    storm_oracle_see_next(oracle, stream, index, node);
}

/* ---- Datagrams ---------------------------------------------------------------------- */

uint32_t storm_oracle_datagram_body(const struct storm_oracle *oracle, uint32_t index,
                                    unsigned char *to)
{
    const struct storm_operation *datagram = &oracle->operations[index];
    struct wire_operation operation = {
        .opcode = WIRE_BOTF,
        .bytes = (uint16_t)datagram->bytes,
        .area = oracle->group,
        .offset = index,
    };
    uint32_t bytes = wire_operation_bytes(&operation);
    memset(to, 0, bytes);
    wire_operation_encode(&operation, to);
    storm_derive_bytes(datagram->identity, 0, datagram->bytes, to + WIRE_OPERATION_BYTES);
    return bytes;
}

void storm_oracle_datagram(struct storm_oracle *oracle, uint16_t node,
                           const struct swif_delivery *delivery)
{
    struct wire_operation operation;
    uint32_t at = 0;
    if (!wire_operation_decode(delivery->body, delivery->bytes, WIRE_REQUEST, &at, &operation) ||
        operation.opcode != WIRE_BOTF || operation.area != oracle->group ||
        operation.offset >= oracle->operation_count) {
        storm_oracle_fail(oracle, "node %u: a datagram came that nobody sent", node);
        return;
    }
    uint32_t index = (uint32_t)operation.offset;
    struct storm_operation *datagram = &oracle->operations[index];
    if (datagram->work != STORM_WORK_DATAGRAM || datagram->target != node ||
        datagram->source != delivery->source || datagram->bytes != operation.bytes ||
        oracle->lives[datagram->source_life]->incarnation != delivery->source_incarnation ||
        !storm_derived_match(datagram->identity, 0, operation.bytes, operation.data)) {
        storm_oracle_fail(oracle, "node %u: a datagram from node %u is not what was sent", node,
                          delivery->source);
        return;
    }
    if (datagram->is_seen) {
        storm_oracle_fail(oracle, "node %u: a datagram from node %u came twice", node,
                          delivery->source);
        return;
    }
    if (storm_oracle_allows(oracle, index, oracle->life_of[node])) {
        storm_oracle_seen(oracle, index, oracle->life_of[node]);
    }
}
