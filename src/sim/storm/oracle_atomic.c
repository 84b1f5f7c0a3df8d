/* The oracle's rules for atomics. Every operation changes its word in a way of its own (by an
 * operand, a value or a bit that no other has), so the change tells which operation it was; the old
 * value that it brings home must be the one that it found. An operation that changes nothing (a
 * read, a compare-swap in vain) must bring a value that the word has had since it was given. */
#include "sim/storm/oracle.h"

#include <string.h>

enum { WORD_BYTES = 8, NARROW_BYTES = 4 };

/* The last word of each function has 4 bytes. */
static uint32_t width_of(uint32_t word)
{
    return word % STORM_WORDS_EACH == STORM_WORDS_EACH - 1 ? NARROW_BYTES : WORD_BYTES;
}

static uint64_t mask_of(uint32_t word)
{
    return width_of(word) == WORD_BYTES ? UINT64_MAX : UINT32_MAX;
}

static bool is_bitwise(uint32_t function)
{
    return function == WIRE_AND || function == WIRE_OR || function == WIRE_XOR;
}

static void remember(struct storm_word *word, uint64_t value)
{
    word->values = storm_grow(word->values, word->count, &word->room, sizeof *word->values);
    word->values[word->count++] = value;
}

void storm_oracle_born_words(struct storm_oracle *oracle, uint16_t node, unsigned char *memory)
{
    unsigned char *words = memory + oracle->layout.areas[STORM_AREA_WORDS].offset;
    for (uint32_t word = 0; word < STORM_WORDS; word++) {
        /* AND clears a bit, so its words begin with all bits set. */
        uint64_t value = word / STORM_WORDS_EACH == WIRE_AND ? mask_of(word) : 0;
        memcpy(words + word * WORD_BYTES, &value, width_of(word));
        remember(&oracle->targets[node].words[word], value);
    }
}

/* ---- Giving ------------------------------------------------------------------------- */

/* Reads use the words of ADD. */
static uint32_t word_of(const struct storm_gift *gift)
{
    uint32_t function = gift->function == WIRE_READ ? WIRE_ADD : gift->function;
    return function * STORM_WORDS_EACH + gift->word;
}

static uint64_t operand_of(const struct storm_operation *operation, uint32_t index, uint32_t word)
{
    uint64_t bit = UINT64_C(1) << operation->bit;
    bool is_narrow = width_of(word) == NARROW_BYTES;
    switch ((enum wire_atomic)operation->function) {
    case WIRE_ADD: return (uint64_t)(index + 1) << (is_narrow ? 8 : 24) | 1;
    case WIRE_AND: return ~bit & mask_of(word);
    case WIRE_OR:
    case WIRE_XOR: return bit;
    case WIRE_SWAP:
    case WIRE_COMPARE_SWAP: return index + 1;
    case WIRE_READ:
    case WIRE_ATOMICS: break;
    }
    return 0;
}

bool storm_oracle_give_atomic(struct storm_oracle *oracle, const struct storm_gift *gift,
                              uint32_t index)
{
    struct storm_operation *operation = &oracle->operations[index];
    uint32_t number = word_of(gift);
    struct storm_word *word = &oracle->targets[gift->target].words[number];
    if (is_bitwise(gift->function)) {
        if (word->bits_given == 8 * width_of(number)) {
            return false;
        }
        word->operation_of_bit[word->bits_given] = index;
        operation->bit = word->bits_given++;
    }
    operation->bytes = width_of(number);
    operation->offset = (uint64_t)number * WORD_BYTES;
    operation->history = word->count - 1;
    operation->operand = operand_of(operation, index, number);
    return true;
}

void storm_oracle_withdraw_atomic(struct storm_oracle *oracle, uint32_t index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    if (is_bitwise(operation->function)) {
        oracle->targets[operation->target].words[operation->offset / WORD_BYTES].bits_given--;
    }
}

/* ---- Seeing ------------------------------------------------------------------------- */

/* Finds the operation that turned one value into the other; STORM_NONE: none could. */
static uint32_t who_changed(const struct storm_oracle *oracle, uint16_t node, uint32_t number,
                            uint64_t before, uint64_t after)
{
    const struct storm_word *word = &oracle->targets[node].words[number];
    uint64_t index = STORM_NONE;
    uint64_t changed = before ^ after;
    switch (number / STORM_WORDS_EACH) {
    case WIRE_ADD:
        index = ((after - before) & mask_of(number)) >> (width_of(number) == NARROW_BYTES ? 8 : 24);
        index--;
        break;
    case WIRE_AND:
    case WIRE_OR:
    case WIRE_XOR:
        if (is_power_of_two(changed) && (uint32_t)__builtin_ctzll(changed) < word->bits_given) {
            index = word->operation_of_bit[__builtin_ctzll(changed)];
        }
        break;
    default: index = after - 1; break;
    }
    if (index >= oracle->operation_count) {
        return STORM_NONE;
    }
    const struct storm_operation *operation = &oracle->operations[index];
    bool is_it = operation->work == STORM_WORK_ATOMIC && operation->target == node &&
                 operation->offset == (uint64_t)number * WORD_BYTES;
    return is_it ? (uint32_t)index : STORM_NONE;
}

/* What the operation makes of the value it finds. */
static uint64_t result_of(const struct storm_operation *operation, uint64_t before)
{
    switch ((enum wire_atomic)operation->function) {
    case WIRE_ADD: return before + operation->operand;
    case WIRE_AND: return before & operation->operand;
    case WIRE_OR: return before | operation->operand;
    case WIRE_XOR: return before ^ operation->operand;
    case WIRE_SWAP: return operation->operand;
    case WIRE_COMPARE_SWAP: return before == operation->expected ? operation->operand : before;
    case WIRE_READ:
    case WIRE_ATOMICS: break;
    }
    return before;
}

static void see_no_change(struct storm_oracle *oracle, uint16_t node, uint32_t number)
{
    if (is_bitwise(number / STORM_WORDS_EACH)) {
        storm_oracle_fail(oracle,
                          "node %u: an operation on the bits of word %u changed nothing: "
                          "it was carried out twice",
                          node, number);
    }
}

void storm_oracle_see_word(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                           uint64_t offset, uint64_t bytes)
{
    uint64_t in_area = offset - oracle->layout.areas[STORM_AREA_WORDS].offset;
    uint32_t number = (uint32_t)(in_area / WORD_BYTES);
    if (in_area % WORD_BYTES || number >= STORM_WORDS || bytes != width_of(number)) {
        storm_oracle_fail(oracle, "node %u: %llu bytes were written at %llu of its words", node,
                          (unsigned long long)bytes, (unsigned long long)in_area);
        return;
    }
    struct storm_word *word = &oracle->targets[node].words[number];
    uint64_t before = word->values[word->count - 1];
    uint64_t after = 0;
    memcpy(&after, memory + offset, width_of(number));
    if (before == after) {
        see_no_change(oracle, node, number);
        return;
    }
    uint32_t index = who_changed(oracle, node, number, before, after);
    if (index == STORM_NONE) {
        storm_oracle_fail(oracle, "node %u: word %u became %llx from %llx, which nobody asked",
                          node, number, (unsigned long long)after, (unsigned long long)before);
        return;
    }
    struct storm_operation *operation = &oracle->operations[index];
    if (operation->is_seen) {
        storm_operation_fail(oracle, operation, "atomic", "was carried out at node %u twice", node);
        return;
    }
    if ((result_of(operation, before) & mask_of(number)) != after) {
        storm_operation_fail(oracle, operation, "atomic", "made %llx of %llx at node %u",
                             (unsigned long long)after, (unsigned long long)before, node);
        return;
    }
    if (storm_oracle_allows(oracle, index, oracle->life_of[node])) {
        operation->old_value = before;
        remember(word, after);
        storm_oracle_seen(oracle, index, oracle->life_of[node]);
    }
}

/* ---- Ends --------------------------------------------------------------------------- */

/* Whether the word had the value since the operation was given. */
static bool had_value(const struct storm_oracle *oracle, const struct storm_operation *operation,
                      uint64_t value)
{
    const struct storm_word *word =
        &oracle->targets[operation->target].words[operation->offset / WORD_BYTES];
    for (uint32_t i = operation->history; i < word->count; i++) {
        if (word->values[i] == value) {
            return true;
        }
    }
    return false;
}

void storm_oracle_end_atomic(struct storm_oracle *oracle, uint32_t index, uint64_t value)
{
    const struct storm_operation *operation = &oracle->operations[index];
    if (operation->is_seen) {
        if (value != operation->old_value) {
            storm_operation_fail(oracle, operation, "atomic",
                                 "at node %u found %llx and brought %llx", operation->target,
                                 (unsigned long long)operation->old_value,
                                 (unsigned long long)value);
        }
        return;
    }
    bool may_change_nothing = operation->function == WIRE_READ ||
                              (operation->function == WIRE_COMPARE_SWAP &&
                               value != operation->expected);
    if (!may_change_nothing || !had_value(oracle, operation, value)) {
        storm_operation_fail(oracle, operation, "atomic",
                             "at node %u completed with %llx and was not carried out",
                             operation->target, (unsigned long long)value);
        return;
    }
    storm_oracle_seen(oracle, index, oracle->life_of[operation->target]);
}
