/* Operations run in place: addresses, effects, wake-ups, and threads as nodes. */
#include "lane.h"

#include "fabric/in_place.h"
#include "group/life.h"

enum { NODES = 3, SEGMENT_BYTES = 8192 };

static struct unit_net net;
static struct fabric_lane lane; /* of rank 0 */

static int make_net(void **state)
{
    (void)state;
    struct group_sizes sizes = {SEGMENT_BYTES, SEGMENT_BYTES, SEGMENT_BYTES, 0};
    unit_net_make(&net, NODES, sizes);
    lane = unit_lane(&net, 0, NULL);
    return 0;
}

static int free_net(void **state)
{
    (void)state;
    unit_net_free(&net);
    return 0;
}

static bool is_quick(struct dn_remote remote, uint64_t bytes)
{
    struct in_place_target place;
    return in_place_quick(&lane, remote, bytes, &place);
}

/* Every operation of the table on 8 bytes of an area of rank 1, given what its owner denies. */
static void expect_rights(uint32_t area, uint32_t denied)
{
    const struct fabric_ops *ops = &in_place_ops;
    const struct dn_remote remote = unit_at(1, area, 64);
    const struct dn_remote free_flag = unit_at(1, DN_HEAP, 0);
    int write = denied & DN_WRITE ? DN_ERIGHTS : 0;
    int read = denied & DN_READ ? DN_ERIGHTS : 0;
    int atomic = denied & DN_ATOMIC ? DN_ERIGHTS : 0;
    unsigned char *memory = NULL;
    uint64_t value = 3;
    uint64_t old = 77;
    assert_int_equal(in_place_reach(&lane, remote, 8, 0, &memory), 0);
    memset(memory, 0, 8);
    assert_int_equal(ops->store(&lane, remote, 3, 8), write);
    assert_int_equal(ops->botf(&lane, remote, &value, 8), write);
    assert_int_equal(ops->push(&lane, remote, &value, 8, NULL), write);
    assert_int_equal(ops->put_signal(&lane, remote, &value, 8, free_flag, 9), write);
    assert_int_equal(ops->put_signal(&lane, free_flag, &value, 8, remote, 3), write);
    assert_int_equal(memory[0], write ? 0 : 3);
    memset(memory, 0, 8);
    assert_int_equal(ops->atomic(&lane, remote, WIRE_ADD, 8, 5, 0, &old), atomic);
    assert_int_equal(ops->atomic(&lane, remote, WIRE_COMPARE_SWAP, 8, 6, 5, &old), atomic);
    assert_int_equal(memory[0], atomic ? 0 : 6);
    old = 77;
    assert_int_equal(ops->atomic(&lane, remote, WIRE_READ, 8, 0, 0, &old), read);
    assert_int_equal(ops->pull(&lane, remote, &value, 8, NULL), read);
    assert_true(read ? old == 77 && value == 3 : old == memory[0] && value == memory[0]);
}

static void each_operation_needs_its_right(void **state)
{
    (void)state;
    const struct group_view *owner = &net.made.views[1];
    struct fabric_lane own = unit_lane(&net, 1, NULL);
    uint32_t areas[] = {DN_LLCM, DN_BANK, 0};
    uint64_t start = net.made.geometry.segment_offset[DN_BANK];
    assert_int_equal(group_area_register(owner, start, 256, 0, &areas[2]), 0);
    for (uint32_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        for (uint32_t denied = 0; denied <= DN_ALL_RIGHTS; denied++) {
            assert_int_equal(group_area_restrict(owner, areas[i], denied), 0);
            expect_rights(areas[i], denied);
            /* Without a look at the rights nothing is quick; the others' memory still is. */
            if (group_area_is_built_in(areas[i])) {
                assert_int_equal(is_quick(unit_at(1, areas[i], 0), 8), denied == 0);
            }
            assert_true(is_quick(unit_at(2, DN_LLCM, 0), 8));
            /* The owner has all rights. */
            uint64_t old;
            assert_int_equal(
                in_place_ops.atomic(&own, unit_at(1, areas[i], 64), WIRE_ADD, 8, 1, 0, &old), 0);
        }
        assert_int_equal(group_area_restrict(owner, areas[i], 0), 0);
    }
}

/* ---- Addresses --------------------------------------------------------------- */

static void built_in_areas_are_reached(void **state)
{
    (void)state;
    for (int rank = 0; rank < NODES; rank++) {
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            unsigned char *pointer = NULL;
            assert_int_equal(in_place_reach(&lane, unit_at(rank, area, 40), 8, 0, &pointer), 0);
            assert_ptr_equal(pointer, unit_memory(&net, rank, area) + 40);
            struct in_place_target place = {0};
            assert_true(in_place_quick(&lane, unit_at(rank, area, 40), 8, &place));
            assert_ptr_equal(place.pointer, pointer);
            assert_ptr_equal(place.port, &lane.ports[rank]);
        }
    }
}

static void registered_areas_are_reached(void **state)
{
    (void)state;
    uint32_t area = 0;
    unsigned char *pointer = NULL;
    const struct group_view *owner = &net.made.views[1];
    uint64_t start = net.made.geometry.segment_offset[DN_BANK] + 1024;
    assert_int_equal(group_area_register(owner, start, 256, 0, &area), 0);
    assert_int_equal(in_place_reach(&lane, unit_at(1, area, 8), 248, 0, &pointer), 0);
    assert_ptr_equal(pointer, unit_memory(&net, 1, DN_BANK) + 1032);
    assert_int_equal(in_place_reach(&lane, unit_at(1, area, 8), 249, 0, &pointer), DN_ERANGE);
    assert_int_equal(in_place_reach(&lane, unit_at(2, area, 0), 1, 0, &pointer), DN_EAREA);
    assert_int_equal(group_area_deregister(owner, area), 0);
    assert_int_equal(in_place_reach(&lane, unit_at(1, area, 0), 1, 0, &pointer), DN_ESTALE);
    assert_false(is_quick(unit_at(1, area, 0), 8));
}

static const struct {
    struct dn_remote remote;
    uint64_t bytes;
    int error;
} mistakes[] = {
    {{-1, DN_BANK, 0}, 8, DN_ERANK},
    {{NODES, DN_BANK, 0}, 8, DN_ERANK},
    {{INT32_MAX, DN_BANK, 0}, 8, DN_ERANK},
    {{INT32_MIN, DN_BANK, 0}, 8, DN_ERANK},
    {{1, 0, 0}, 8, DN_EAREA},
    {{1, 0, 0}, 0, DN_EAREA},
    {{1, 4, 0}, 8, DN_EAREA},
    {{1, UINT32_MAX, 0}, 8, DN_EAREA},
    {{1, 1 << GROUP_AREA_SLOT_BITS | 4, 0}, 8, DN_EAREA},
    {{1, DN_BANK, SEGMENT_BYTES - 7}, 8, DN_ERANGE},
    {{1, DN_BANK, SEGMENT_BYTES}, 8, DN_ERANGE},
    {{1, DN_BANK, SEGMENT_BYTES + 1}, 0, DN_ERANGE},
    {{1, DN_BANK, UINT64_MAX}, 8, DN_ERANGE},
    {{1, DN_BANK, UINT64_MAX - 7}, 8, DN_ERANGE},
    {{1, DN_BANK, 8}, UINT64_MAX, DN_ERANGE},
    {{1, DN_BANK, 0}, SEGMENT_BYTES + 1, DN_ERANGE},
};

static void mistakes_have_names_and_no_effect(void **state)
{
    (void)state;
    unsigned char source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char zeros[SEGMENT_BYTES] = {0};
    struct dn_remote good = unit_at(1, DN_BANK, 64);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct dn_remote bad = mistakes[i].remote;
        uint64_t bytes = mistakes[i].bytes;
        int error = mistakes[i].error;
        unsigned char *pointer = source;
        assert_int_equal(in_place_reach(&lane, bad, bytes, 0, &pointer), error);
        assert_ptr_equal(pointer, source);
        assert_false(is_quick(bad, bytes));
        /* The library itself may name the group's memory. */
        if (bad.area != FABRIC_AREA_GROUP) {
            assert_int_equal(in_place_ops.botf(&lane, bad, source, bytes), error);
            assert_int_equal(in_place_ops.push(&lane, bad, source, bytes, NULL), error);
            assert_int_equal(in_place_ops.pull(&lane, bad, source, bytes, NULL), error);
        }
        assert_int_equal(in_place_put_signal(&lane, bad, source, bytes, good, 1), error);
        if (bytes == 8) {
            void *word;
            assert_int_equal(in_place_put_signal(&lane, good, source, 8, bad, 1), error);
            assert_int_equal(in_place_reach_word(&lane, bad, 8, 0, &word), error);
        }
    }
    for (int rank = 0; rank < NODES; rank++) {
        assert_memory_equal(unit_memory(&net, rank, DN_BANK), zeros, SEGMENT_BYTES);
    }
}

static void words_must_be_aligned(void **state)
{
    (void)state;
    unsigned char zeros[64] = {0};
    void *word = NULL;
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        for (unsigned offset = 0; offset < 16; offset++) {
            int expected = offset % bytes ? DN_EALIGN : 0;
            assert_int_equal(
                in_place_reach_word(&lane, unit_at(1, DN_LLCM, offset), bytes, 0, &word), expected);
        }
    }
    assert_int_equal(
        in_place_put_signal(&lane, unit_at(1, DN_LLCM, 0), "abc", 3, unit_at(1, DN_LLCM, 36), 1),
        DN_EALIGN);
    assert_memory_equal(unit_memory(&net, 1, DN_LLCM), zeros, sizeof zeros);
}

static void a_peer_that_is_gone_is_not_written(void **state)
{
    (void)state;
    unsigned char *pointer;
    struct dn_remote remote = unit_at(1, DN_LLCM, 0);
    assert_int_equal(in_place_reach(&lane, remote, 8, 0, &pointer), 0);
    assert_true(group_life_end(&net.made.views[0], 1, false));
    assert_int_equal(in_place_reach(&lane, remote, 8, 0, &pointer), DN_EPEER);
    assert_false(is_quick(remote, 8));
    assert_int_equal(in_place_ops.botf(&lane, remote, "abcdefgh", 8), DN_EPEER);
    assert_int_equal(unit_memory(&net, 1, DN_LLCM)[0], 0);
    /* The caller's mistakes come first: they do not depend on which nodes live. */
    assert_int_equal(in_place_reach(&lane, unit_at(1, DN_LLCM, SEGMENT_BYTES), 1, 0, &pointer),
                     DN_ERANGE);
    assert_int_equal(in_place_reach(&lane, unit_at(2, DN_LLCM, 0), 8, 0, &pointer), 0);
}

/* ---- Effects ------------------------------------------------------------------ */

static void transfers_move_exactly_their_bytes(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 4096};
    static unsigned char source[4096];
    static unsigned char expected[SEGMENT_BYTES];
    static unsigned char back[4096];
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (unsigned char)(i * 7 + 1);
    }
    unsigned char *bank = unit_memory(&net, 1, DN_BANK);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t offset = 64; offset < 80; offset += 3) {
            size_t bytes = lengths[i];
            struct dn_remote remote = unit_at(1, DN_BANK, offset);
            memset(expected, 0, sizeof expected);
            memcpy(expected + offset, source, bytes);
            memset(bank, 0, SEGMENT_BYTES);
            assert_int_equal(in_place_ops.botf(&lane, remote, bytes ? source : NULL, bytes), 0);
            assert_memory_equal(bank, expected, SEGMENT_BYTES);
            memset(bank, 0, SEGMENT_BYTES);
            assert_int_equal(in_place_ops.push(&lane, remote, bytes ? source : NULL, bytes, NULL),
                             0);
            assert_memory_equal(bank, expected, SEGMENT_BYTES);
            memset(back, 0, sizeof back);
            assert_int_equal(in_place_ops.pull(&lane, remote, bytes ? back : NULL, bytes, NULL), 0);
            assert_memory_equal(back, source, bytes);
            assert_true(bytes == sizeof back || back[bytes] == 0);
        }
    }
    /* To itself, over itself. */
    memcpy(unit_memory(&net, 0, DN_BANK), "0123456789", 10);
    assert_int_equal(
        in_place_ops.botf(&lane, unit_at(0, DN_BANK, 2), unit_memory(&net, 0, DN_BANK), 10), 0);
    assert_memory_equal(unit_memory(&net, 0, DN_BANK), "010123456789", 12);
}

static void stores_write_exactly_their_bytes(void **state)
{
    (void)state;
    alignas(8) unsigned char memory[16];
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        memset(memory, 0xaa, sizeof memory);
        nic_store_word(memory + 8, UINT64_C(0x1122334455667788), bytes);
        for (unsigned i = 0; i < sizeof memory; i++) {
            unsigned expected = i >= 8 && i < 8 + bytes ? 0x88 - (i - 8) * 0x11 : 0xaa;
            assert_int_equal(memory[i], expected);
        }
    }
}

static const struct {
    enum wire_atomic operation;
    uint64_t before;
    uint64_t operand;
    uint64_t expected;
    uint64_t after;
} atomics[] = {
    {WIRE_ADD, 5, 7, 0, 12},
    {WIRE_ADD, UINT64_MAX, 2, 0, 1},
    {WIRE_AND, 0xff0f, 0x0ff0, 0, 0x0f00},
    {WIRE_OR, 0xf00f, 0x0ff0, 0, 0xffff},
    {WIRE_XOR, 0xff0f, 0x0ff0, 0, 0xf0ff},
    {WIRE_SWAP, 1, 2, 0, 2},
    {WIRE_COMPARE_SWAP, 1, 2, 1, 2},
    {WIRE_COMPARE_SWAP, 1, 2, 3, 1},
    {WIRE_READ, 9, 2, 0, 9},
};

static void atomics_do_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof atomics / sizeof atomics[0]; i++) {
        uint64_t wide = atomics[i].before;
        uint32_t narrow[2] = {(uint32_t)atomics[i].before, 77};
        assert_true(nic_apply_u64(&wide, atomics[i].operation, atomics[i].operand,
                                  atomics[i].expected) == atomics[i].before);
        assert_true(wide == atomics[i].after);
        assert_true(nic_apply_u32(narrow, atomics[i].operation, (uint32_t)atomics[i].operand,
                                  (uint32_t)atomics[i].expected) == (uint32_t)atomics[i].before);
        assert_true(narrow[0] == (uint32_t)atomics[i].after);
        assert_true(narrow[1] == 77);
    }
}

/* ---- Wake-ups ------------------------------------------------------------------ */

enum transfer { BOTF, PUT_SIGNAL, PUSH, PULL };

static bool wakes(enum transfer transfer, const void *watched)
{
    unsigned char data[8] = {0};
    struct dn_remote remote = unit_at(1, DN_LLCM, 128);
    const struct group_view *sleeper = &net.made.views[1];
    uint32_t lower = group_call_publish(sleeper, group_watch_of(sleeper, watched));
    switch (transfer) {
    case BOTF: assert_int_equal(in_place_ops.botf(&lane, remote, data, 8), 0); break;
    case PUSH: assert_int_equal(in_place_ops.push(&lane, remote, data, 8, NULL), 0); break;
    case PULL: assert_int_equal(in_place_ops.pull(&lane, remote, data, 8, NULL), 0); break;
    case PUT_SIGNAL:
        assert_int_equal(in_place_put_signal(&lane, unit_at(1, DN_BANK, 0), data, 8, remote, 1), 0);
        break;
    }
    return atomic_load(group_call_lower(sleeper, 1)) != lower;
}

static void writers_wake_who_watches(void **state)
{
    (void)state;
    const unsigned char *llcm = unit_memory(&net, 1, DN_LLCM);
    assert_true(wakes(BOTF, llcm + 128));
    assert_true(wakes(BOTF, llcm + 191));
    assert_true(wakes(PUSH, llcm + 128));
    assert_true(wakes(PUT_SIGNAL, llcm + 128));
    assert_false(wakes(BOTF, llcm + 192));
    assert_false(wakes(PUSH, llcm + 127));
    assert_false(wakes(PUT_SIGNAL, llcm + 256));
    assert_false(wakes(PULL, llcm + 128));
    /* No store can reach this word: only deaths and barriers matter there. */
    assert_false(wakes(BOTF, &lane));
}

static void stored_to_wakes_only_its_ranks(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        group_call_publish(&net.made.views[rank], 1);
    }
    fabric_wake_stored_to(&lane);
    assert_int_equal(atomic_load(lane.sleeping), 7);
    atomic_store(&net.stored_to[0], 4);
    fabric_wake_stored_to(&lane);
    assert_int_equal(atomic_load(lane.sleeping), 3);
    assert_false(group_call_claim(lane.view, 2));
    assert_true(group_call_claim(lane.view, 1));
    /* A node that waits for a barrier is not woken by stores. */
    group_call_publish(&net.made.views[2], GROUP_WATCH_NOTHING);
    fabric_wake_stored_to(&lane);
    assert_true(group_call_claim(lane.view, 2));
}

static void operations_tell_their_state(void **state)
{
    (void)state;
    struct dn_op op = {{0}};
    bool done = true;
    assert_int_equal(fabric_op_state(&op, &done), DN_EINVAL);
    assert_true(done);
    fabric_op_begin(&op, &lane);
    assert_int_equal(fabric_op_state(&op, &done), 0);
    assert_false(done);
    assert_ptr_equal(fabric_op_lane(&op), &lane);
    fabric_op_finish(&op);
    assert_int_equal(fabric_op_state(&op, &done), 0);
    assert_true(done);
}

/* ---- Threads as nodes ----------------------------------------------------------- */

enum { ROUNDS = 20000, BODY_BYTES = 200 };

struct exchange {
    struct fabric_lane lanes[2];
    bool by_signal;
};

/* Two nodes send each other numbered bodies, in two places by turns; a flag announces each. The
 * body is plain memory, so a missing release or acquire is a race. */
static void exchange_run(uint32_t number, void *context)
{
    struct exchange *exchange = context;
    struct fabric_lane *own = &exchange->lanes[number];
    int peer = 1 - (int)number;
    uint64_t *flag = (uint64_t *)(void *)unit_memory(&net, (int)number, DN_LLCM);
    unsigned char *peer_flag = unit_memory(&net, peer, DN_LLCM);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        unsigned char data[BODY_BYTES];
        struct dn_remote remote = unit_at(peer, DN_BANK, 1 + round % 2 * 1024);
        memset(data, (int)(round % 251), sizeof data);
        if (exchange->by_signal) {
            unit_expect(in_place_put_signal(own, remote, data, sizeof data,
                                            unit_at(peer, DN_LLCM, 0), round) == 0);
        } else {
            unit_expect(in_place_ops.botf(own, remote, data, sizeof data) == 0);
            nic_store_word(peer_flag, round, 8);
        }
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < round) {
            sched_yield();
        }
        unsigned char *body = unit_memory(&net, (int)number, DN_BANK) + remote.offset;
        unit_expect(body[0] == round % 251 && body[BODY_BYTES - 1] == round % 251);
        body[0] = 0;
    }
}

static void who_sees_the_flag_sees_the_body(void **state)
{
    (void)state;
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        struct exchange exchange = {{unit_lane(&net, 0, NULL), unit_lane(&net, 1, NULL)},
                                    by_signal};
        memset(unit_memory(&net, 0, DN_LLCM), 0, 8);
        memset(unit_memory(&net, 1, DN_LLCM), 0, 8);
        unit_run_threads(2, exchange_run, &exchange);
    }
}

enum { ADDERS = 3 };

/* Every thread changes each of the words in a way that shows a lost or doubled change. */
static void adders_run(uint32_t number, void *context)
{
    (void)context;
    uint64_t *words = (uint64_t *)(void *)unit_memory(&net, 1, DN_LLCM);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        nic_apply_u64(&words[0], WIRE_ADD, round, 0);
        nic_apply_u32((uint32_t *)(void *)&words[1], WIRE_ADD, 1, 0);
        nic_apply_u64(&words[2], WIRE_XOR, UINT64_C(1) << (number * 16 + round % 16), 0);
        uint64_t seen = nic_apply_u64(&words[3], WIRE_READ, 0, 0);
        for (;;) {
            uint64_t old = nic_apply_u64(&words[3], WIRE_COMPARE_SWAP, seen + 1, seen);
            if (old == seen) {
                break;
            }
            seen = old;
        }
    }
}

static void atomics_happen_exactly_once(void **state)
{
    (void)state;
    unit_run_threads(ADDERS, adders_run, NULL);
    const uint64_t *words = (const uint64_t *)(const void *)unit_memory(&net, 1, DN_LLCM);
    uint64_t sum = (uint64_t)ROUNDS * (ROUNDS + 1) / 2;
    assert_true(words[0] == ADDERS * sum);
    assert_true(words[1] == ADDERS * ROUNDS);
    uint64_t flips = 0;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        flips ^= UINT64_C(1) << round % 16;
    }
    assert_true(words[2] == (flips | flips << 16 | flips << 32));
    assert_true(words[3] == ADDERS * ROUNDS);
}

static _Atomic bool tear_over;

static void tear_run(uint32_t number, void *context)
{
    (void)context;
    unsigned char *llcm = unit_memory(&net, 1, DN_LLCM);
    uint64_t ones = UINT64_MAX;
    uint64_t zeros = 0;
    if (number == 0) {
        for (uint32_t round = 0; round < 5 * ROUNDS; round++) {
            (void)in_place_ops.botf(&lane, unit_at(1, DN_LLCM, 0), round % 2 ? &ones : &zeros, 8);
            (void)in_place_ops.botf(&lane, unit_at(1, DN_LLCM, 12), round % 2 ? &ones : &zeros, 4);
            nic_store_word(llcm + 18, round % 2 ? ones : zeros, 2);
        }
        atomic_store(&tear_over, true);
        return;
    }
    while (!atomic_load(&tear_over)) {
        uint64_t eight = __atomic_load_n((uint64_t *)(void *)llcm, __ATOMIC_ACQUIRE);
        uint32_t four = __atomic_load_n((uint32_t *)(void *)(llcm + 12), __ATOMIC_ACQUIRE);
        uint16_t two = __atomic_load_n((uint16_t *)(void *)(llcm + 18), __ATOMIC_ACQUIRE);
        unit_expect(eight == 0 || eight == UINT64_MAX);
        unit_expect(four == 0 || four == UINT32_MAX);
        unit_expect(two == 0 || two == UINT16_MAX);
    }
}

static void aligned_words_are_never_torn(void **state)
{
    (void)state;
    atomic_store(&tear_over, false);
    unit_run_threads(2, tear_run, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_operation_needs_its_right, make_net, free_net),
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_net, free_net)
        TEST(built_in_areas_are_reached),
        TEST(registered_areas_are_reached),
        TEST(mistakes_have_names_and_no_effect),
        TEST(words_must_be_aligned),
        TEST(a_peer_that_is_gone_is_not_written),
        TEST(transfers_move_exactly_their_bytes),
        TEST(stores_write_exactly_their_bytes),
        TEST(atomics_do_what_they_say),
        TEST(writers_wake_who_watches),
        TEST(stored_to_wakes_only_its_ranks),
        TEST(operations_tell_their_state),
        TEST(who_sees_the_flag_sees_the_body),
        TEST(atomics_happen_exactly_once),
        TEST(aligned_words_are_never_torn),
    };
    return cmocka_run_group_tests_name("fabric/in_place", tests, NULL, NULL);
}
