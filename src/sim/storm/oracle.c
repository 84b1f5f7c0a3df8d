/* The oracle's common part: lives, what was given, what may take effect and when, and
 * completions. */
#include "sim/storm/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 1 << NIC_KICK_PAGE_BITS, WORD_BYTES = 8 };

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    INVARIANT(memory != NULL);
    return memory;
}

void *storm_grow(void *array, uint32_t count, uint32_t *room, size_t bytes)
{
    if (count < *room) {
        return array;
    }
    *room = *room ? 2 * *room : 16;
    void *grown = realloc(array, *room * bytes);
    INVARIANT(grown != NULL);
    return grown;
}

/* ---- Layout, making, failing -------------------------------------------------------- */

void storm_layout_make(struct storm_layout *layout, uint32_t node_count, uint32_t operations)
{
    /* The first page belongs to nobody, so that an address of 0 is a mistake. */
    uint64_t at = PAGE_BYTES;
    uint64_t lanes = (uint64_t)node_count * STORM_LANES;
    const uint64_t bytes[STORM_AREAS] = {
        [STORM_AREA_STORES] = lanes * STORM_STORES_BYTES,
        [STORM_AREA_BLOCKS] = lanes * STORM_BLOCKS_BYTES,
        [STORM_AREA_WORDS] = STORM_WORDS * WORD_BYTES,
        [STORM_AREA_PULLS] = STORM_PULLS_BYTES,
        [STORM_AREA_PUSHES] = 2 * STORM_PUSH_BYTES_MAX + (uint64_t)operations * 512,
    };
    for (uint32_t area = 1; area < STORM_AREAS; area++) {
        uint64_t rounded = 0;
        INVARIANT(round_up(bytes[area], PAGE_BYTES, &rounded));
        layout->areas[area] = (struct nic_extent){.offset = at, .bytes = rounded};
        at += rounded;
    }
    layout->bytes = at;
}

struct storm_oracle *storm_oracle_new(uint32_t node_count, uint32_t group,
                                      const struct storm_layout *layout)
{
    INVARIANT(node_count <= STORM_NODES_MAX);
    struct storm_oracle *oracle = allocate(1, sizeof *oracle);
    oracle->node_count = node_count;
    oracle->group = group;
    oracle->layout = *layout;
    uint32_t streams = node_count * STORM_LANES_ALL * node_count;
    oracle->streams = allocate(streams, sizeof *oracle->streams);
    for (uint32_t i = 0; i < streams; i++) {
        oracle->streams[i] = (struct storm_stream){STORM_NONE, STORM_NONE, STORM_NONE};
    }
    uint64_t push_bytes = layout->areas[STORM_AREA_PUSHES].bytes;
    for (uint32_t node = 0; node < node_count; node++) {
        struct storm_target *target = &oracle->targets[node];
        oracle->life_of[node] = STORM_NONE;
        target->copy = allocate(layout->bytes, 1);
        target->pieces = allocate(push_bytes, 1);
        target->push_at = allocate(push_bytes / STORM_PUSH_ALIGN, sizeof *target->push_at);
    }
    return oracle;
}

void storm_oracle_free(struct storm_oracle *oracle)
{
    for (uint32_t node = 0; node < oracle->node_count; node++) {
        struct storm_target *target = &oracle->targets[node];
        for (uint32_t word = 0; word < STORM_WORDS; word++) {
            free(target->words[word].values);
        }
        free(target->copy);
        free(target->pieces);
        free(target->push_at);
    }
    for (uint32_t i = 0; i < oracle->life_count; i++) {
        for (uint32_t lane = 0; lane < STORM_LANES_ALL; lane++) {
            free(oracle->lives[i]->lanes[lane].unseen);
        }
        free(oracle->lives[i]);
    }
    for (uint32_t lock = 0; lock < STORM_LOCKS; lock++) {
        free(oracle->lock_holders[lock]);
    }
    free(oracle->lives);
    free(oracle->operations);
    free(oracle->streams);
    free(oracle);
}

void storm_oracle_fail(struct storm_oracle *oracle, const char *format, ...)
{
    if (oracle->failed) {
        return;
    }
    oracle->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(oracle->failure, sizeof oracle->failure, format, arguments);
    va_end(arguments);
}

bool storm_operation_fail(struct storm_oracle *oracle, const struct storm_operation *operation,
                          const char *word, const char *format, ...)
{
    char text[sizeof oracle->failure];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    storm_oracle_fail(oracle, "node %u lane %u: %s %u %s", operation->source, operation->lane, word,
                      operation->number, text);
    return false;
}

/* ---- Derived bytes ------------------------------------------------------------------ */

/* Writes the derived bytes from `at` to the end of their word, but not beyond `end`; gives how
 * many. */
static inline uint64_t derive_piece(uint64_t identity, uint64_t at, uint64_t end, unsigned char *to)
{
    uint64_t word = storm_derive(identity, at / WORD_BYTES);
    uint64_t skip = at % WORD_BYTES;
    if (LIKELY(skip == 0 && end - at >= WORD_BYTES)) {
        memcpy(to, &word, WORD_BYTES);
        return WORD_BYTES;
    }
    uint64_t bytes = WORD_BYTES - skip < end - at ? WORD_BYTES - skip : end - at;
    memcpy(to, (const unsigned char *)&word + skip, bytes);
    return bytes;
}

void storm_derive_bytes(uint64_t identity, uint64_t from, uint64_t bytes, unsigned char *to)
{
    for (uint64_t done = 0; done < bytes;) {
        done += derive_piece(identity, from + done, from + bytes, to + done);
    }
}

bool storm_derived_match(uint64_t identity, uint64_t from, uint64_t bytes,
                         const unsigned char *data)
{
    unsigned char piece[WORD_BYTES];
    for (uint64_t done = 0; done < bytes;) {
        uint64_t more = derive_piece(identity, from + done, from + bytes, piece);
        if (memcmp(data + done, piece, more) != 0) {
            return false;
        }
        done += more;
    }
    return true;
}

uint64_t storm_pulls_identity(const struct storm_oracle *oracle, const struct storm_life *life)
{
    return storm_derive((uint64_t)oracle->group << 32 | life->node, life->incarnation);
}

/* ---- Lives -------------------------------------------------------------------------- */

void storm_oracle_born(struct storm_oracle *oracle, uint16_t node, uint32_t incarnation,
                       unsigned char *memory)
{
    struct storm_life *life = allocate(1, sizeof *life);
    uint32_t before = oracle->life_of[node];
    life->node = node;
    life->ordinal = before == STORM_NONE ? 0 : oracle->lives[before]->ordinal + 1;
    life->incarnation = incarnation;
    life->is_alive = true;
    oracle->lives = storm_grow(oracle->lives, oracle->life_count, &oracle->life_room,
                               sizeof *oracle->lives);
    oracle->life_of[node] = oracle->life_count;
    oracle->lives[oracle->life_count++] = life;
    storm_derive_bytes(storm_pulls_identity(oracle, life), 0, STORM_PULLS_BYTES,
                       memory + oracle->layout.areas[STORM_AREA_PULLS].offset);
    storm_oracle_born_words(oracle, node, memory);
    memcpy(oracle->targets[node].copy, memory, oracle->layout.bytes);
}

/* The lane's operations to a node (STORM_NONE: to any) need not take effect any more. */
static void excuse(struct storm_oracle *oracle, struct storm_life *life, uint32_t lane,
                   uint32_t target)
{
    for (uint32_t i = 0; i < life->lanes[lane].unseen_count; i++) {
        struct storm_operation *operation = &oracle->operations[life->lanes[lane].unseen[i]];
        if ((target == STORM_NONE || operation->target == target) && operation->is_required) {
            operation->is_required = false;
            life->required_count--;
        }
    }
}

void storm_oracle_died(struct storm_oracle *oracle, uint16_t node)
{
    struct storm_life *life = storm_oracle_life(oracle, node);
    for (uint32_t lane = 0; lane < STORM_LANES_ALL; lane++) {
        excuse(oracle, life, lane, STORM_NONE);
    }
    INVARIANT(life->required_count == 0);
    life->is_alive = false;
    life->awaited_count = 0;
    oracle->is_team_broken = true;
    /* Messages that had come and were not read died with it; no sender is told. */
    for (uint32_t other = 0; other < oracle->node_count; other++) {
        if (oracle->life_of[other] != STORM_NONE) {
            excuse(oracle, oracle->lives[oracle->life_of[other]], STORM_SERVICE_LANE, node);
        }
    }
}

void storm_oracle_peer_lost(struct storm_oracle *oracle, uint16_t node, uint16_t peer,
                            uint32_t incarnation, bool is_dead)
{
    struct storm_life *life = storm_oracle_life(oracle, node);
    oracle->is_team_broken = true;
    life->losses[peer]++;
    life->loss_count++;
    uint32_t oldest_allowed = is_dead ? incarnation + 1 : incarnation;
    if (oldest_allowed > life->oldest_allowed[peer]) {
        life->oldest_allowed[peer] = oldest_allowed;
    }
    for (uint32_t lane = 0; lane < STORM_LANES_ALL; lane++) {
        excuse(oracle, life, lane, peer);
    }
}

/* ---- Giving ------------------------------------------------------------------------- */

/* Whether the operation belongs to a stream. */
static bool is_ordered(enum storm_work work)
{
    return work == STORM_WORK_AOTF || work == STORM_WORK_BOTF || work == STORM_WORK_MESSAGE;
}

/* Whether the operation has an effect that has to come. */
static bool is_lasting(enum storm_work work)
{
    return is_ordered(work) || work == STORM_WORK_PUSH || work == STORM_WORK_PULL ||
           work == STORM_WORK_ATOMIC;
}

/* Decides where the operation goes and with what. False: there is no room. */
static bool place(struct storm_oracle *oracle, const struct storm_gift *gift, uint32_t operation)
{
    switch (gift->work) {
    case STORM_WORK_AOTF:
    case STORM_WORK_BOTF: storm_oracle_give_ordered(oracle, gift, operation); return true;
    case STORM_WORK_PUSH: return storm_oracle_give_push(oracle, operation);
    case STORM_WORK_ATOMIC: return storm_oracle_give_atomic(oracle, gift, operation);
    case STORM_WORK_MESSAGE: storm_oracle_append(oracle, operation); return true;
    case STORM_WORK_LOCK:
        oracle->operations[operation].manager_losses =
            storm_oracle_life(oracle, gift->target)->losses[gift->source];
        return true;
    case STORM_WORK_BARRIER: oracle->phases[gift->source] = (uint32_t)gift->place; return true;
    default: return true;
    }
}

uint32_t storm_oracle_give(struct storm_oracle *oracle, const struct storm_gift *gift)
{
    struct storm_life *life = storm_oracle_life(oracle, gift->source);
    struct storm_lane *lane = &life->lanes[gift->lane];
    uint32_t index = oracle->operation_count;
    oracle->operations = storm_grow(oracle->operations, index, &oracle->operation_room,
                                    sizeof *oracle->operations);
    struct storm_operation *operation = &oracle->operations[index];
    uint64_t who = (uint64_t)oracle->group << 32 | life->incarnation;
    *operation = (struct storm_operation){
        .work = gift->work,
        .lane = gift->lane,
        .function = gift->function,
        .is_required = is_lasting(gift->work) && !gift->is_dead && !gift->is_trespass,
        .was_dead = gift->is_dead,
        .wants_completion = gift->wants_completion,
        .source = gift->source,
        .target = gift->target,
        .source_life = oracle->life_of[gift->source],
        .seen_life = STORM_NONE,
        .intended = gift->is_dead ? 0 : gift->intended,
        .number = lane->number,
        .fence_number = lane->fence_number,
        .losses = life->losses[gift->target],
        .next = STORM_NONE,
        .previous = STORM_NONE,
        .first_life = oracle->life_of[gift->target],
        .bytes = gift->bytes,
        .offset = gift->place,
        .identity = storm_derive(who, (uint64_t)gift->source << 40 | (uint64_t)gift->lane << 32 |
                                          lane->number),
        .expected = gift->expected,
        .is_trespass = gift->is_trespass,
    };
    if (!place(oracle, gift, index)) {
        return STORM_NONE;
    }
    oracle->operation_count++;
    lane->number++;
    life->required_count += operation->is_required;
    life->awaited_count += operation->wants_completion;
    if (is_lasting(gift->work) && !gift->is_trespass) {
        lane->unseen = storm_grow(lane->unseen, lane->unseen_count, &lane->unseen_room,
                                  sizeof *lane->unseen);
        lane->unseen[lane->unseen_count++] = index;
    }
    return index;
}

void storm_oracle_withdraw(struct storm_oracle *oracle, uint32_t index)
{
    struct storm_operation *operation = &oracle->operations[index];
    struct storm_life *life = oracle->lives[operation->source_life];
    struct storm_lane *lane = &life->lanes[operation->lane];
    INVARIANT(index + 1 == oracle->operation_count && !operation->is_seen);
    if (is_ordered(operation->work)) {
        storm_oracle_withdraw_ordered(oracle, index);
    } else if (operation->work == STORM_WORK_PUSH) {
        storm_oracle_withdraw_push(oracle, index);
    } else if (operation->work == STORM_WORK_ATOMIC) {
        storm_oracle_withdraw_atomic(oracle, index);
    } else if (operation->work == STORM_WORK_BARRIER) {
        oracle->phases[operation->source]--;
    }
    life->required_count -= operation->is_required;
    life->awaited_count -= operation->wants_completion;
    if (lane->unseen_count > 0 && lane->unseen[lane->unseen_count - 1] == index) {
        lane->unseen_count--;
    }
    lane->number--;
    oracle->operation_count--;
}

void storm_oracle_fence(struct storm_oracle *oracle, uint16_t source, uint8_t lane)
{
    struct storm_lane *of = &storm_oracle_life(oracle, source)->lanes[lane];
    of->fence_number = of->number;
}

uint64_t storm_operation_value(const struct storm_oracle *oracle,
                               const struct storm_operation *operation)
{
    if (operation->bytes < WORD_BYTES) {
        return storm_derive(operation->identity, 0) & ((UINT64_C(1) << (8 * operation->bytes)) - 1);
    }
    uint32_t incarnation = oracle->lives[operation->source_life]->incarnation;
    return (uint64_t)(oracle->group & 0xffff) << 48 | (uint64_t)(operation->source & 0xff) << 40 |
           (uint64_t)(incarnation & 0xfff) << 28 | (uint64_t)operation->lane << 24 |
           (operation->number & 0xffffff);
}

/* ---- What may take effect ----------------------------------------------------------- */

bool storm_operation_may_miss(const struct storm_operation *first,
                              const struct storm_operation *second)
{
    return first->source_life != second->source_life || first->was_dead ||
           first->losses < second->losses;
}

/* Whether the memory shows that the operation was carried out. */
static bool is_visible(const struct storm_operation *operation)
{
    return operation->work != STORM_WORK_PULL &&
           !(operation->work == STORM_WORK_ATOMIC &&
             (operation->function == WIRE_COMPARE_SWAP || operation->function == WIRE_READ));
}

static bool follows_its_fence(struct storm_oracle *oracle, const struct storm_operation *operation)
{
    const struct storm_lane *lane = &oracle->lives[operation->source_life]->lanes[operation->lane];
    for (uint32_t i = 0; i < lane->unseen_count; i++) {
        const struct storm_operation *before = &oracle->operations[lane->unseen[i]];
        if (before->number < operation->fence_number && before->target == operation->target &&
            is_visible(before) && !storm_operation_may_miss(before, operation)) {
            return storm_operation_fail(oracle, operation, "operation",
                                        "took effect at node %u before "
                                        "operation %u, which a fence puts before it",
                                        operation->target, before->number);
        }
    }
    return true;
}

bool storm_oracle_allows(struct storm_oracle *oracle, uint32_t index, uint32_t life_index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    const struct storm_life *source = oracle->lives[operation->source_life];
    struct storm_life *life = oracle->lives[life_index];
    if (!life->is_alive) {
        storm_oracle_fail(oracle, "node %u is dead and its memory was written", life->node);
        return false;
    }
    if (operation->seen_life != STORM_NONE && operation->seen_life != life_index) {
        return storm_operation_fail(oracle, operation, "operation",
                                    "took effect in two lives of node %u", life->node);
    }
    if (operation->intended != 0 && operation->intended != life->incarnation) {
        return storm_operation_fail(oracle, operation, "operation",
                                    "was given to incarnation %u of node %u and took effect in %u",
                                    operation->intended, life->node, life->incarnation);
    }
    /* A message may have waited at the target for its reader. */
    if (operation->work != STORM_WORK_MESSAGE &&
        source->incarnation < life->oldest_allowed[operation->source]) {
        return storm_operation_fail(oracle, operation, "operation",
                                    "of incarnation %u took effect at node "
                                    "%u, which was told that this one is lost or knew a newer one",
                                    source->incarnation, life->node);
    }
    if (source->incarnation > life->oldest_allowed[operation->source]) {
        life->oldest_allowed[operation->source] = source->incarnation;
    }
    return operation->work == STORM_WORK_DATAGRAM || follows_its_fence(oracle, operation);
}

void storm_oracle_seen(struct storm_oracle *oracle, uint32_t index, uint32_t life_index)
{
    struct storm_operation *operation = &oracle->operations[index];
    struct storm_life *source = oracle->lives[operation->source_life];
    struct storm_lane *lane = &source->lanes[operation->lane];
    operation->is_seen = true;
    operation->seen_life = life_index;
    if (operation->is_required) {
        operation->is_required = false;
        source->required_count--;
    }
    for (uint32_t i = 0; i < lane->unseen_count; i++) {
        if (lane->unseen[i] == index) {
            lane->unseen[i] = lane->unseen[--lane->unseen_count];
            break;
        }
    }
    oracle->checked[operation->work]++;
}

void storm_oracle_written(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                          uint64_t offset, uint64_t bytes)
{
    void (*const see[STORM_AREAS])(struct storm_oracle *, uint16_t, const unsigned char *, uint64_t,
                                   uint64_t) = {
        [STORM_AREA_STORES] = storm_oracle_see_ordered,
        [STORM_AREA_BLOCKS] = storm_oracle_see_ordered,
        [STORM_AREA_WORDS] = storm_oracle_see_word,
        [STORM_AREA_PUSHES] = storm_oracle_see_push,
    };
    for (uint32_t area = 1; area < STORM_AREAS; area++) {
        const struct nic_extent *extent = &oracle->layout.areas[area];
        if (see[area] && offset - extent->offset < extent->bytes &&
            bytes <= extent->bytes - (offset - extent->offset)) {
            see[area](oracle, node, memory, offset, bytes);
            memcpy(oracle->targets[node].copy + offset, memory + offset, bytes);
            return;
        }
    }
    storm_oracle_fail(oracle, "node %u: %llu bytes were written at %llu, where nothing may write",
                      node, (unsigned long long)bytes, (unsigned long long)offset);
}

/* ---- Ends --------------------------------------------------------------------------- */

static void end_quiet(struct storm_oracle *oracle, const struct storm_operation *quiet)
{
    const struct storm_lane *lane = &oracle->lives[quiet->source_life]->lanes[quiet->lane];
    for (uint32_t i = 0; i < lane->unseen_count; i++) {
        const struct storm_operation *before = &oracle->operations[lane->unseen[i]];
        if (before->number < quiet->number && before->is_required) {
            storm_operation_fail(oracle, quiet, "quiet",
                                 "completed before operation %u took effect at node %u",
                                 before->number, before->target);
            return;
        }
    }
    oracle->checked[STORM_WORK_QUIET]++;
}

/* The operation ended with an error: only DN_EPEER is right, and only if the peer was lost. */
static void end_badly(struct storm_oracle *oracle, struct storm_operation *operation, int result)
{
    struct storm_life *source = oracle->lives[operation->source_life];
    bool was_lost = operation->work == STORM_WORK_QUIET
                        ? source->loss_count > 0
                        : operation->was_dead ||
                              source->losses[operation->target] > operation->losses;
    if (result != DN_EPEER || !was_lost) {
        storm_operation_fail(oracle, operation, "operation",
                             "to node %u ended with %d and the peer was not lost",
                             operation->target, result);
    }
}

void storm_oracle_ended(struct storm_oracle *oracle, uint32_t index, int result, uint64_t value,
                        const unsigned char *data)
{
    struct storm_operation *operation = &oracle->operations[index];
    INVARIANT(operation->wants_completion);
    if (operation->is_ended) {
        storm_operation_fail(oracle, operation, "operation", "completed twice");
        return;
    }
    operation->is_ended = true;
    oracle->lives[operation->source_life]->awaited_count--;
    if (operation->work == STORM_WORK_LOCK) {
        storm_oracle_end_lock(oracle, index, result);
        return;
    }
    if (operation->work == STORM_WORK_BARRIER) {
        storm_oracle_end_barrier(oracle, index, result, value);
        return;
    }
    if (operation->is_trespass && (result == DN_EAREA || result == DN_ERANGE)) {
        oracle->checked[operation->work]++;
        return;
    }
    if (result) {
        end_badly(oracle, operation, result);
        return;
    }
    switch (operation->work) {
    case STORM_WORK_PUSH: storm_oracle_end_push(oracle, index); break;
    case STORM_WORK_PULL: storm_oracle_end_pull(oracle, index, data); break;
    case STORM_WORK_ATOMIC: storm_oracle_end_atomic(oracle, index, value); break;
    case STORM_WORK_QUIET: end_quiet(oracle, operation); break;
    default: INVARIANT(false);
    }
}

void storm_oracle_compare(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory)
{
    const unsigned char *copy = oracle->targets[node].copy;
    if (memcmp(copy, memory, oracle->layout.bytes) == 0) {
        return;
    }
    uint64_t at = 0;
    while (copy[at] == memory[at]) {
        at++;
    }
    storm_oracle_fail(oracle, "node %u: its memory changed at %llu without a word", node,
                      (unsigned long long)at);
}
