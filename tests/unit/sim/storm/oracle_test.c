/* The storm's oracle notices: it must accept the right effects that it is fed, and complain about
 * each wrong one in the words that fit. */
#include "unit/unit.h"

#include <stdlib.h>

#include "sim/storm/oracle.h"

enum { NODES = 3, GROUP = 0x5eed1234, OPERATIONS = 40 };

struct world {
    struct storm_layout layout;
    struct storm_oracle *oracle;
    unsigned char *memory[NODES];
    uint32_t incarnation[NODES];
};

static void be_born(struct world *world, uint16_t node)
{
    memset(world->memory[node], 0, world->layout.bytes);
    world->incarnation[node] += 3;
    storm_oracle_born(world->oracle, node, world->incarnation[node], world->memory[node]);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    storm_layout_make(&world->layout, NODES, OPERATIONS);
    world->oracle = storm_oracle_new(NODES, GROUP, &world->layout);
    for (uint16_t node = 0; node < NODES; node++) {
        world->memory[node] = malloc(world->layout.bytes);
        assert_non_null(world->memory[node]);
        be_born(world, node);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    storm_oracle_free(world->oracle);
    for (uint16_t node = 0; node < NODES; node++) {
        free(world->memory[node]);
    }
    free(world);
    return 0;
}

#define assert_content(world)                              \
    do {                                                   \
        if ((world)->oracle->failed) {                     \
            print_error("%s\n", (world)->oracle->failure); \
        }                                                  \
        assert_false((world)->oracle->failed);             \
    } while (0)

/* Asserts that it complained, with these words in its sentence. */
static void assert_complains(struct world *world, const char *words)
{
    assert_true(world->oracle->failed);
    if (!strstr(world->oracle->failure, words)) {
        print_error("said: %s\n", world->oracle->failure);
    }
    assert_non_null(strstr(world->oracle->failure, words));
}

static const struct storm_operation *operation(const struct world *world, uint32_t index)
{
    assert_true(index < world->oracle->operation_count);
    return &world->oracle->operations[index];
}

/* Gives from node 0, lane 1, to node 1, unless the gift says otherwise. */
static uint32_t give(struct world *world, struct storm_gift gift)
{
    gift.target = gift.target ? gift.target : 1;
    gift.lane = gift.lane ? gift.lane : 1;
    gift.intended = gift.intended ? gift.intended : world->incarnation[gift.target];
    return storm_oracle_give(world->oracle, &gift);
}

static uint32_t give_store(struct world *world, uint32_t bytes)
{
    return give(world, (struct storm_gift){.work = STORM_WORK_AOTF, .bytes = bytes});
}

static uint32_t give_push(struct world *world, uint32_t bytes)
{
    return give(world, (struct storm_gift){
                           .work = STORM_WORK_PUSH, .bytes = bytes, .wants_completion = true});
}

static void write_at(struct world *world, uint16_t node, uint32_t area, uint64_t offset,
                     const void *data, uint64_t bytes)
{
    uint64_t at = world->layout.areas[area].offset + offset;
    memcpy(world->memory[node] + at, data, bytes);
    storm_oracle_written(world->oracle, node, world->memory[node], at, bytes);
}

/* The operation takes effect at its target, `bytes` of it from `from` on. */
static void take_effect_in_part(struct world *world, uint32_t index, uint32_t from, uint32_t bytes)
{
    const struct storm_operation *taken = operation(world, index);
    unsigned char data[STORM_PUSH_BYTES_MAX];
    uint32_t area = taken->work == STORM_WORK_AOTF   ? STORM_AREA_STORES
                    : taken->work == STORM_WORK_BOTF ? STORM_AREA_BLOCKS
                                                     : STORM_AREA_PUSHES;
    if (taken->work == STORM_WORK_AOTF) {
        uint64_t value = storm_operation_value(world->oracle, taken);
        memcpy(data, &value, sizeof value);
    } else {
        storm_derive_bytes(taken->identity, from, bytes, data);
    }
    write_at(world, taken->target, area, taken->offset + from, data, bytes);
}

static void take_effect(struct world *world, uint32_t index)
{
    take_effect_in_part(world, index, 0, operation(world, index)->bytes);
}

/* ---- Stores and blocks ---------------------------------------------------------------- */

static void stores_and_blocks_in_order_are_right(void **state)
{
    struct world *world = *state;
    uint32_t indexes[OPERATIONS];
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        indexes[i] = i % 5 == 4 ? give(world, (struct storm_gift){.work = STORM_WORK_BOTF,
                                                                  .bytes = 1 + 11 * i,
                                                                  .place = i})
                                : give_store(world, 1u << (i % 5));
    }
    assert_int_equal(world->oracle->lives[0]->required_count, OPERATIONS);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        take_effect(world, indexes[i]);
    }
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
    assert_int_equal(world->oracle->checked[STORM_WORK_AOTF], OPERATIONS * 4 / 5);
    storm_oracle_compare(world->oracle, 1, world->memory[1]);
    assert_content(world);
}

static void a_store_that_comes_twice_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 8);
    take_effect(world, store);
    assert_content(world);
    take_effect(world, store);
    assert_complains(world, "twice");
}

static void a_narrow_store_that_comes_twice_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 1);
    give_store(world, 1);
    take_effect(world, store);
    take_effect(world, store);
    assert_complains(world, "twice");
}

static void a_store_before_its_block_is_noticed(void **state)
{
    struct world *world = *state;
    give(world, (struct storm_gift){.work = STORM_WORK_BOTF, .bytes = 100});
    take_effect(world, give_store(world, 8));
    assert_complains(world, "before it, had not");
}

static void lanes_have_no_order_between_them(void **state)
{
    struct world *world = *state;
    give(world, (struct storm_gift){.work = STORM_WORK_AOTF, .bytes = 8, .lane = 2});
    take_effect(world, give_store(world, 8));
    assert_content(world);
}

static void a_changed_byte_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t block = give(world, (struct storm_gift){.work = STORM_WORK_BOTF, .bytes = 464});
    unsigned char data[464];
    storm_derive_bytes(operation(world, block)->identity, 0, sizeof data, data);
    data[463] ^= 1;
    write_at(world, 1, STORM_AREA_BLOCKS, operation(world, block)->offset, data, sizeof data);
    assert_complains(world, "nobody gave");
}

static void another_groups_store_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 8);
    uint64_t value = storm_operation_value(world->oracle, operation(world, store));
    value ^= UINT64_C(1) << 50;
    write_at(world, 1, STORM_AREA_STORES, operation(world, store)->offset, &value, sizeof value);
    assert_complains(world, "nobody gave");
}

static void what_is_in_doubt_may_be_missing(void **state)
{
    struct world *world = *state;
    uint32_t before = give_store(world, 8);
    give_store(world, 8);
    take_effect(world, before);
    storm_oracle_peer_lost(world->oracle, 0, 1, world->incarnation[1], true);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
    take_effect(world, give_store(world, 8));
    assert_content(world);
}

static void a_gap_among_those_in_doubt_is_noticed(void **state)
{
    struct world *world = *state;
    give_store(world, 8);
    uint32_t second = give_store(world, 8);
    storm_oracle_peer_lost(world->oracle, 0, 1, world->incarnation[1], true);
    take_effect(world, second);
    assert_complains(world, "before it, had not");
}

static void a_store_to_a_life_that_is_gone_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 8);
    storm_oracle_died(world->oracle, 1);
    be_born(world, 1);
    take_effect(world, store);
    assert_complains(world, "was given to incarnation");
}

static void a_store_in_two_lives_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 4);
    take_effect(world, store);
    storm_oracle_died(world->oracle, 1);
    be_born(world, 1);
    take_effect(world, store);
    assert_complains(world, "twice");
}

static void an_old_life_after_a_new_one_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t of_old = give(world,
                           (struct storm_gift){.work = STORM_WORK_AOTF, .bytes = 8, .lane = 2});
    storm_oracle_died(world->oracle, 0);
    be_born(world, 0);
    take_effect(world, give_store(world, 8));
    assert_content(world);
    take_effect(world, of_old);
    assert_complains(world, "knew a newer one");
}

static void an_effect_from_who_was_lost_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 8);
    storm_oracle_peer_lost(world->oracle, 1, 0, world->incarnation[0], true);
    take_effect(world, store);
    assert_complains(world, "is lost");
}

/* ---- Transfers, fence, quiet ---------------------------------------------------------- */

static void a_push_may_come_in_any_order(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 1000);
    take_effect_in_part(world, push, 700, 300);
    take_effect_in_part(world, push, 0, 333);
    take_effect_in_part(world, push, 333, 367);
    storm_oracle_ended(world->oracle, push, 0, 0, NULL);
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->awaited_count, 0);
}

static void a_byte_pushed_twice_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 1000);
    take_effect_in_part(world, push, 0, 500);
    take_effect_in_part(world, push, 499, 501);
    assert_complains(world, "twice");
}

static void a_push_that_completes_too_early_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 1000);
    take_effect_in_part(world, push, 0, 999);
    storm_oracle_ended(world->oracle, push, 0, 0, NULL);
    assert_complains(world, "999 of 1000 bytes");
}

static void a_completion_that_comes_twice_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 10);
    take_effect(world, push);
    storm_oracle_ended(world->oracle, push, 0, 0, NULL);
    storm_oracle_ended(world->oracle, push, 0, 0, NULL);
    assert_complains(world, "completed twice");
}

static void a_loss_that_nobody_reported_is_noticed(void **state)
{
    struct world *world = *state;
    storm_oracle_ended(world->oracle, give_push(world, 10), DN_EPEER, 0, NULL);
    assert_complains(world, "was not lost");
}

static void a_flag_before_its_push_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 1000);
    storm_oracle_fence(world->oracle, 0, 1);
    uint32_t flag = give_store(world, 8);
    take_effect_in_part(world, push, 1, 999);
    take_effect(world, flag);
    assert_complains(world, "fence");
}

static void without_a_fence_a_flag_may_overtake(void **state)
{
    struct world *world = *state;
    uint32_t push = give_push(world, 1000);
    take_effect(world, give_store(world, 8));
    take_effect(world, push);
    assert_content(world);
}

static void a_push_before_what_a_fence_puts_first_is_noticed(void **state)
{
    struct world *world = *state;
    give_store(world, 2);
    storm_oracle_fence(world->oracle, 0, 1);
    take_effect(world, give_push(world, 10));
    assert_complains(world, "fence");
}

static void a_quiet_that_is_too_early_is_noticed(void **state)
{
    struct world *world = *state;
    give_store(world, 8);
    uint32_t quiet = give(world,
                          (struct storm_gift){.work = STORM_WORK_QUIET, .wants_completion = true});
    storm_oracle_ended(world->oracle, quiet, 0, 0, NULL);
    assert_complains(world, "quiet");
}

static void a_quiet_stands_for_what_was_before_it_alone(void **state)
{
    struct world *world = *state;
    uint32_t store = give_store(world, 8);
    uint32_t quiet = give(world,
                          (struct storm_gift){.work = STORM_WORK_QUIET, .wants_completion = true});
    give_store(world, 8);
    take_effect(world, store);
    storm_oracle_ended(world->oracle, quiet, 0, 0, NULL);
    assert_content(world);
    assert_int_equal(world->oracle->checked[STORM_WORK_QUIET], 1);
}

static uint32_t give_pull(struct world *world, uint32_t bytes, uint64_t place)
{
    return give(world, (struct storm_gift){.work = STORM_WORK_PULL,
                                           .bytes = bytes,
                                           .place = place,
                                           .wants_completion = true});
}

static void a_pull_brings_what_is_there(void **state)
{
    struct world *world = *state;
    const unsigned char *there = world->memory[1] + world->layout.areas[STORM_AREA_PULLS].offset +
                                 77;
    storm_oracle_ended(world->oracle, give_pull(world, 500, 77), 0, 0, there);
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
    storm_oracle_ended(world->oracle, give_pull(world, 500, 78), 0, 0, there);
    assert_complains(world, "wrong bytes");
}

static void a_pull_from_a_life_that_was_over_is_noticed(void **state)
{
    struct world *world = *state;
    unsigned char old[100];
    memcpy(old, world->memory[1] + world->layout.areas[STORM_AREA_PULLS].offset, sizeof old);
    storm_oracle_died(world->oracle, 1);
    be_born(world, 1);
    storm_oracle_ended(world->oracle, give_pull(world, sizeof old, 0), 0, 0, old);
    assert_complains(world, "wrong bytes");
}

static void a_trespass_has_to_be_refused(void **state)
{
    struct world *world = *state;
    struct storm_gift gift = {
        .work = STORM_WORK_PULL, .bytes = 8, .wants_completion = true, .is_trespass = true};
    storm_oracle_ended(world->oracle, give(world, gift), DN_EAREA, 0, NULL);
    assert_content(world);
    unsigned char data[8] = {0};
    storm_oracle_ended(world->oracle, give(world, gift), 0, 0, data);
    assert_complains(world, "wrong bytes");
}

/* ---- Atomics -------------------------------------------------------------------------- */

static uint32_t give_atomic(struct world *world, enum wire_atomic function, uint8_t word,
                            uint64_t expected)
{
    return give(world, (struct storm_gift){.work = STORM_WORK_ATOMIC,
                                           .function = (uint8_t)function,
                                           .word = word,
                                           .expected = expected,
                                           .wants_completion = true});
}

/* Carries it out as a NIC would and gives the old value. */
static uint64_t carry_out(struct world *world, uint32_t index)
{
    const struct storm_operation *atomic = operation(world, index);
    uint64_t at = world->layout.areas[STORM_AREA_WORDS].offset + atomic->offset;
    uint64_t old = 0;
    memcpy(&old, world->memory[1] + at, atomic->bytes);
    uint64_t new = old;
    switch ((enum wire_atomic)atomic->function) {
    case WIRE_ADD: new = old + atomic->operand; break;
    case WIRE_AND: new = old & atomic->operand; break;
    case WIRE_OR: new = old | atomic->operand; break;
    case WIRE_XOR: new = old ^ atomic->operand; break;
    case WIRE_SWAP: new = atomic->operand; break;
    case WIRE_COMPARE_SWAP: new = old == atomic->expected ? atomic->operand : old; break;
    default: break;
    }
    write_at(world, 1, STORM_AREA_WORDS, atomic->offset, &new, atomic->bytes);
    return old;
}

static void every_atomic_carried_out_once_is_right(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 200; i++) {
        enum wire_atomic function = (enum wire_atomic)(i % WIRE_ATOMICS);
        uint32_t atomic = give_atomic(world, function, (uint8_t)(i % 3), 0);
        if (atomic != STORM_NONE) {
            storm_oracle_ended(world->oracle, atomic, 0, carry_out(world, atomic), NULL);
        }
    }
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
    assert_true(world->oracle->checked[STORM_WORK_ATOMIC] >= 180);
}

static void an_atomic_carried_out_twice_is_noticed(void **state)
{
    static const enum wire_atomic functions[] = {WIRE_ADD, WIRE_AND, WIRE_OR, WIRE_XOR, WIRE_SWAP};
    for (uint32_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *fresh = NULL;
        set_up(&fresh);
        struct world *world = fresh;
        uint32_t atomic = give_atomic(world, functions[i], 0, 0);
        carry_out(world, atomic);
        if (functions[i] == WIRE_SWAP) {
            carry_out(world, give_atomic(world, WIRE_SWAP, 0, 0));
        }
        assert_content(world);
        carry_out(world, atomic);
        assert_complains(world, "twice");
        tear_down(&fresh);
    }
    (void)state;
}

static void a_wrong_old_value_is_noticed(void **state)
{
    struct world *world = *state;
    carry_out(world, give_atomic(world, WIRE_ADD, 0, 0));
    uint32_t atomic = give_atomic(world, WIRE_ADD, 0, 0);
    uint64_t old = carry_out(world, atomic);
    storm_oracle_ended(world->oracle, atomic, 0, old + 1, NULL);
    assert_complains(world, "brought");
}

static void an_atomic_that_ended_without_an_effect_is_noticed(void **state)
{
    struct world *world = *state;
    storm_oracle_ended(world->oracle, give_atomic(world, WIRE_XOR, 1, 0), 0, 0, NULL);
    assert_complains(world, "was not carried out");
}

static void a_compare_swap_in_vain_is_right(void **state)
{
    struct world *world = *state;
    uint32_t atomic = give_atomic(world, WIRE_COMPARE_SWAP, 2, 99);
    storm_oracle_ended(world->oracle, atomic, 0, 0, NULL);
    assert_content(world);
}

static void a_value_that_a_word_never_had_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t atomic = give_atomic(world, WIRE_READ, 0, 0);
    storm_oracle_ended(world->oracle, atomic, 0, 17, NULL);
    assert_complains(world, "was not carried out");
}

/* ---- Memory --------------------------------------------------------------------------- */

static void a_write_without_a_word_is_noticed(void **state)
{
    struct world *world = *state;
    world->memory[2][world->layout.areas[STORM_AREA_PUSHES].offset + 5] ^= 1;
    storm_oracle_compare(world->oracle, 2, world->memory[2]);
    assert_complains(world, "without a word");
}

static void a_write_where_nothing_may_write_is_noticed(void **state)
{
    struct world *world = *state;
    write_at(world, 1, STORM_AREA_PULLS, 100, "x", 1);
    assert_complains(world, "where nothing may write");
}

static void a_push_that_nobody_asked_for_is_noticed(void **state)
{
    struct world *world = *state;
    write_at(world, 1, STORM_AREA_PUSHES, 0, "x", 1);
    assert_complains(world, "nobody asked");
}

/* ---- Datagrams ------------------------------------------------------------------------ */

static void deliver(struct world *world, uint32_t index, uint16_t node, uint32_t change)
{
    unsigned char body[256];
    struct swif_delivery delivery = {
        .kind = WIRE_UD,
        .source = operation(world, index)->source,
        .source_incarnation =
            world->oracle->lives[operation(world, index)->source_life]->incarnation,
        .body = body,
        .bytes = storm_oracle_datagram_body(world->oracle, index, body),
    };
    body[WIRE_OPERATION_BYTES] ^= (unsigned char)change;
    storm_oracle_datagram(world->oracle, node, &delivery);
}

static void a_datagram_comes_once_or_never(void **state)
{
    struct world *world = *state;
    struct storm_gift gift = {.work = STORM_WORK_DATAGRAM, .bytes = 99};
    give(world, gift);
    uint32_t datagram = give(world, gift);
    deliver(world, datagram, 1, 0);
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
    deliver(world, datagram, 1, 0);
    assert_complains(world, "came twice");
}

static void a_datagram_with_wrong_bytes_is_noticed(void **state)
{
    struct world *world = *state;
    deliver(world, give(world, (struct storm_gift){.work = STORM_WORK_DATAGRAM, .bytes = 1}), 1, 1);
    assert_complains(world, "not what was sent");
}

static void a_datagram_for_somebody_else_is_noticed(void **state)
{
    struct world *world = *state;
    deliver(world, give(world, (struct storm_gift){.work = STORM_WORK_DATAGRAM, .bytes = 1}), 2, 0);
    assert_complains(world, "not what was sent");
}

/* ---- Services ------------------------------------------------------------------------- */

static uint32_t give_service(struct world *world, enum storm_work work, uint16_t source,
                             uint16_t target, uint64_t place, uint32_t bytes)
{
    struct storm_gift gift = {.work = work,
                              .source = source,
                              .target = target,
                              .lane = STORM_SERVICE_LANE,
                              .place = place,
                              .bytes = bytes,
                              .intended = world->incarnation[target],
                              .wants_completion = work != STORM_WORK_MESSAGE};
    return storm_oracle_give(world->oracle, &gift);
}

static void a_lock_passes_from_one_to_the_next(void **state)
{
    struct world *world = *state;
    uint32_t one = give_service(world, STORM_WORK_LOCK, 0, 2, 1, 0);
    uint32_t other = give_service(world, STORM_WORK_LOCK, 1, 2, 1, 0);
    storm_oracle_ended(world->oracle, one, 0, 0, NULL);
    storm_oracle_lock_over(world->oracle, one);
    storm_oracle_ended(world->oracle, other, 0, 0, NULL);
    assert_content(world);
}

static void a_lock_with_two_holders_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t one = give_service(world, STORM_WORK_LOCK, 0, 2, 1, 0);
    uint32_t other = give_service(world, STORM_WORK_LOCK, 1, 2, 1, 0);
    storm_oracle_ended(world->oracle, one, 0, 0, NULL);
    storm_oracle_ended(world->oracle, other, 0, 0, NULL);
    assert_complains(world, "while");
}

static void a_lock_may_be_inherited_from_who_was_lost(void **state)
{
    struct world *world = *state;
    uint32_t one = give_service(world, STORM_WORK_LOCK, 0, 2, 1, 0);
    uint32_t other = give_service(world, STORM_WORK_LOCK, 1, 2, 1, 0);
    storm_oracle_ended(world->oracle, one, 0, 0, NULL);
    storm_oracle_peer_lost(world->oracle, 2, 0, world->incarnation[0], true);
    storm_oracle_ended(world->oracle, other, DN_EOWNERDEAD, 0, NULL);
    assert_content(world);
}

static void a_request_that_ends_without_a_reason_is_noticed(void **state)
{
    struct world *world = *state;
    storm_oracle_ended(world->oracle, give_service(world, STORM_WORK_LOCK, 0, 2, 1, 0), DN_EBUSY, 0,
                       NULL);
    assert_complains(world, "ended with");
}

static void a_barrier_passed_too_early_is_noticed(void **state)
{
    struct world *world = *state;
    uint32_t arrivals[NODES];
    for (uint16_t node = 0; node < NODES; node++) {
        arrivals[node] = give_service(world, STORM_WORK_BARRIER, node, node, 1, 0);
    }
    for (uint16_t node = 0; node < NODES; node++) {
        storm_oracle_ended(world->oracle, arrivals[node], 0, 1, NULL);
    }
    assert_content(world);
    assert_int_equal(world->oracle->checked[STORM_WORK_BARRIER], NODES);
    give_service(world, STORM_WORK_BARRIER, 0, 0, 2, 0);
    storm_oracle_ended(world->oracle, give_service(world, STORM_WORK_BARRIER, 1, 1, 2, 0), 0, 2,
                       NULL);
    assert_complains(world, "node 2 had not arrived");
}

static void a_barrier_that_fails_without_a_death_is_noticed(void **state)
{
    struct world *world = *state;
    storm_oracle_ended(world->oracle, give_service(world, STORM_WORK_BARRIER, 0, 0, 1, 0), DN_EPEER,
                       0, NULL);
    assert_complains(world, "phase 1 of the barrier ended with");
}

static void receive(struct world *world, uint32_t index)
{
    const struct storm_operation *message = operation(world, index);
    unsigned char data[2048];
    storm_derive_bytes(message->identity, 0, message->bytes, data);
    storm_oracle_message(world->oracle, message->target, message->source, data, message->bytes);
}

static void messages_in_order_are_right_and_others_noticed(void **state)
{
    struct world *world = *state;
    uint32_t first = give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 8);
    uint32_t second = give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 1000);
    uint32_t third = give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 8);
    receive(world, first);
    receive(world, second);
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 1);
    receive(world, second);
    assert_complains(world, "twice");
    world->oracle->failed = false;
    give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 8);
    receive(world, third);
    assert_content(world);
}

static void a_message_left_out_is_noticed(void **state)
{
    struct world *world = *state;
    give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 8);
    receive(world, give_service(world, STORM_WORK_MESSAGE, 0, 1, 0, 8));
    assert_complains(world, "before it, had not");
}

static void what_was_withdrawn_leaves_no_trace(void **state)
{
    struct world *world = *state;
    storm_oracle_withdraw(world->oracle, give_store(world, 8));
    storm_oracle_withdraw(world->oracle, give_push(world, 300));
    storm_oracle_withdraw(world->oracle, give_atomic(world, WIRE_XOR, 0, 0));
    uint32_t store = give_store(world, 8);
    uint32_t push = give_push(world, 8);
    uint32_t atomic = give_atomic(world, WIRE_XOR, 0, 0);
    assert_int_equal(world->oracle->operation_count, 3);
    assert_int_equal(world->oracle->lives[0]->required_count, 3);
    assert_int_equal(operation(world, push)->offset, 0);
    take_effect(world, push);
    carry_out(world, atomic);
    take_effect(world, store);
    assert_content(world);
    assert_int_equal(world->oracle->lives[0]->required_count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(stores_and_blocks_in_order_are_right),
        CASE(a_store_that_comes_twice_is_noticed),
        CASE(a_narrow_store_that_comes_twice_is_noticed),
        CASE(a_store_before_its_block_is_noticed),
        CASE(lanes_have_no_order_between_them),
        CASE(a_changed_byte_is_noticed),
        CASE(another_groups_store_is_noticed),
        CASE(what_is_in_doubt_may_be_missing),
        CASE(a_gap_among_those_in_doubt_is_noticed),
        CASE(a_store_to_a_life_that_is_gone_is_noticed),
        CASE(a_store_in_two_lives_is_noticed),
        CASE(an_old_life_after_a_new_one_is_noticed),
        CASE(an_effect_from_who_was_lost_is_noticed),
        CASE(a_push_may_come_in_any_order),
        CASE(a_byte_pushed_twice_is_noticed),
        CASE(a_push_that_completes_too_early_is_noticed),
        CASE(a_completion_that_comes_twice_is_noticed),
        CASE(a_loss_that_nobody_reported_is_noticed),
        CASE(a_flag_before_its_push_is_noticed),
        CASE(without_a_fence_a_flag_may_overtake),
        CASE(a_push_before_what_a_fence_puts_first_is_noticed),
        CASE(a_quiet_that_is_too_early_is_noticed),
        CASE(a_quiet_stands_for_what_was_before_it_alone),
        CASE(a_pull_brings_what_is_there),
        CASE(a_pull_from_a_life_that_was_over_is_noticed),
        CASE(a_trespass_has_to_be_refused),
        CASE(every_atomic_carried_out_once_is_right),
        cmocka_unit_test(an_atomic_carried_out_twice_is_noticed),
        CASE(a_wrong_old_value_is_noticed),
        CASE(an_atomic_that_ended_without_an_effect_is_noticed),
        CASE(a_compare_swap_in_vain_is_right),
        CASE(a_value_that_a_word_never_had_is_noticed),
        CASE(a_write_without_a_word_is_noticed),
        CASE(a_write_where_nothing_may_write_is_noticed),
        CASE(a_push_that_nobody_asked_for_is_noticed),
        CASE(a_datagram_comes_once_or_never),
        CASE(a_datagram_with_wrong_bytes_is_noticed),
        CASE(a_datagram_for_somebody_else_is_noticed),
        CASE(a_lock_passes_from_one_to_the_next),
        CASE(a_lock_with_two_holders_is_noticed),
        CASE(a_lock_may_be_inherited_from_who_was_lost),
        CASE(a_request_that_ends_without_a_reason_is_noticed),
        CASE(a_barrier_passed_too_early_is_noticed),
        CASE(a_barrier_that_fails_without_a_death_is_noticed),
        CASE(messages_in_order_are_right_and_others_noticed),
        CASE(a_message_left_out_is_noticed),
        CASE(what_was_withdrawn_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
