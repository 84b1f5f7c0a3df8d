/* The fake fabric keeps the contract of fabric/fabric.h: every operation, on a group in which nodes
 * 0 and 1 are in place for each other and node 2 is away from both. */
#include "unit/fake_fabric.h"

#include "group/address.h"

enum { NODES = 3, OFFSET = 64, BYTES = 300 };

static int make(void **state)
{
    static const uint32_t hosts[NODES] = {0, 0, 1};
    (void)state;
    fake_make(&(struct fake_settings){.node_count = NODES, .hosts = hosts, .seed = 3});
    fake_attach();
    fake->held = true;
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    fake_free();
    return 0;
}

static struct fabric_lane *lane_of(uint32_t rank)
{
    return &fake_nodes[rank].node.lane;
}

static struct dn_remote at(uint32_t rank, uint64_t offset)
{
    return (struct dn_remote){.rank = (int)rank, .area = DN_BANK, .offset = offset};
}

/* What a node sees of a node's bank. */
static unsigned char *bank(uint32_t seen_by, uint32_t rank)
{
    return group_segment(&fake_nodes[seen_by].process.view, rank, DN_BANK);
}

static bool are_apart(uint32_t one, uint32_t other)
{
    return fake->hosts[one] != fake->hosts[other];
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* The target finds these bytes, if it is away only after the sender's quiet. */
static void assert_written(uint32_t from, uint32_t to, const void *data, uint64_t bytes)
{
    unsigned char *target = bank(to, to) + OFFSET;
    if (are_apart(from, to)) {
        assert_memory_not_equal(target, data, bytes);
    }
    assert_int_equal(fake_ops.quiet(lane_of(from)), 0);
    assert_memory_equal(target, data, bytes);
    memset(target, 0, bytes);
}

static void writes_are_in_place_after_a_quiet(void **state)
{
    unsigned char data[BYTES];
    uint64_t word = UINT64_C(0x1122334455667788);
    (void)state;
    memset(data, 0x5a, sizeof data);
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        uint32_t from = i / NODES;
        uint32_t to = i % NODES;
        struct fabric_lane *lane = lane_of(from);
        for (unsigned bytes = 1; bytes <= sizeof word; bytes *= 2) {
            assert_int_equal(fake_ops.store(lane, at(to, OFFSET), word, bytes), 0);
            assert_written(from, to, &word, bytes);
        }
        assert_int_equal(fake_ops.botf(lane, at(to, OFFSET), data, sizeof data), 0);
        assert_written(from, to, data, sizeof data);
        assert_int_equal(fake_ops.push(lane, at(to, OFFSET), data, sizeof data, NULL), 0);
        assert_written(from, to, data, sizeof data);
    }
}

/* The flag comes behind the data, whatever comes in between. */
static void a_signal_comes_behind_its_data(void **state)
{
    unsigned char data[BYTES];
    (void)state;
    memset(data, 0x5a, sizeof data);
    for (uint32_t to = 1; to < NODES; to++) {
        const uint64_t *flag = (const uint64_t *)(void *)bank(to, to);
        assert_int_equal(
            fake_ops.put_signal(lane_of(0), at(to, OFFSET), data, sizeof data, at(to, 0), 7), 0);
        while (are_apart(0, to) && *flag == 0) {
            assert_true(fake_deliver(0, to));
        }
        assert_int_equal(*flag, 7);
        assert_memory_equal(bank(to, to) + OFFSET, data, sizeof data);
    }
}

static void reads_and_atomics_find_the_target_itself(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        uint32_t from = i / NODES;
        uint32_t to = i % NODES;
        uint64_t word = 0;
        uint64_t old = 0;
        uint64_t requests = fake_nodes[from].requests;
        memset(bank(to, to), (int)i, sizeof word);
        assert_int_equal(fake_ops.pull(lane_of(from), at(to, 0), &word, sizeof word, NULL), 0);
        assert_memory_equal(&word, bank(to, to), sizeof word);
        assert_int_equal(fake_ops.atomic(lane_of(from), at(to, 0), WIRE_ADD, 8, 5, 0, &old), 0);
        assert_int_equal(old, word);
        assert_int_equal(*(uint64_t *)(void *)bank(to, to), word + 5);
        assert_int_equal(fake_nodes[from].requests - requests, are_apart(from, to) ? 2 : 0);
    }
}

static void mistakes_are_answered_at_once(void **state)
{
    struct fabric_lane *lane = lane_of(0);
    uint64_t word = 0;
    (void)state;
    for (uint32_t to = 1; to < NODES; to++) {
        assert_int_equal(fake_ops.store(lane, at(NODES, 0), 1, 8), DN_ERANK);
        assert_int_equal(fake_ops.store(lane, at(to, 4), 1, 8), DN_EALIGN);
        assert_int_equal(fake_ops.store(lane, at(to, UNIT_PAGE_BYTES), 1, 8), DN_ERANGE);
        assert_int_equal(fake_ops.put_signal(lane, at(to, 0), &word, 8, at(to, 4), 1), DN_EALIGN);
        assert_int_equal(fake_ops.atomic(lane, at(to, 4), WIRE_ADD, 8, 1, 0, &word), DN_EALIGN);
        fake_kill(to);
        assert_int_equal(fake_ops.store(lane, at(to, 0), 1, 8), DN_EPEER);
        assert_int_equal(fake_ops.push(lane, at(to, 0), &word, 8, NULL), DN_EPEER);
        assert_int_equal(fake_ops.pull(lane, at(to, 0), &word, 8, NULL), DN_EPEER);
        assert_int_equal(fake_sent(0, to), 0);
    }
}

/* ---- Mirrors --------------------------------------------------------------------------------- */

/* For a rank in place only what lies in the memory of a node that is away from both is carried:
 * into that rank's own mirror. Only the owner's word is believed there. */
static void a_reflection_reaches_memory_that_is_not_shared(void **state)
{
    (void)state;
    for (uint32_t owner = 0; owner < NODES; owner++) {
        memset(bank(0, owner), 1, BYTES);
        for (uint32_t to = 1; to < NODES; to++) {
            bool is_shared = !are_apart(0, to) && !are_apart(0, owner);
            assert_int_equal(bank(to, owner)[0], is_shared ? 1 : 0);
            assert_int_equal(fabric_reflect(lane_of(0), to, bank(0, owner), BYTES), 0);
            assert_int_equal(fake_is_under_way(0, to), !is_shared);
            assert_int_equal(fabric_settle(lane_of(0)), 0);
            assert_int_equal(bank(to, owner)[0], is_shared || owner == 0 ? 1 : 0);
            assert_int_equal(atomic_exchange(&fake->refused, 0), !is_shared && owner != 0);
        }
    }
}

/* The words of one reflection come from the last to the first, and a refresh does not wait. */
static void a_reflection_may_be_seen_in_part(void **state)
{
    enum { TWO_PIECES = FAKE_PIECE_BYTES + 8 };
    (void)state;
    memset(bank(0, 0), 1, TWO_PIECES);
    assert_int_equal(fabric_reflect(lane_of(0), 2, bank(0, 0), TWO_PIECES), 0);
    assert_true(fake_deliver(0, 2));
    assert_int_equal(bank(2, 0)[0], 0);
    assert_int_equal(bank(2, 0)[TWO_PIECES - 1], 1);
    assert_int_equal(fabric_refresh(lane_of(2), 0, bank(2, 0), TWO_PIECES), 0);
    assert_memory_equal(bank(2, 0), bank(0, 0), TWO_PIECES);
}

static void an_area_is_known_when_it_was_told(void **state)
{
    const struct group_view *owner = &fake_nodes[1].process.view;
    uint64_t start = fake->geometry.segment_offset[DN_BANK] + 1024;
    uint32_t area = 0;
    uint64_t word = 9;
    (void)state;
    assert_int_equal(group_area_register(owner, start, 256, 0, &area), 0);
    assert_int_equal(fabric_tell_area(lane_of(1), area), 0);
    struct dn_remote remote = {.rank = 1, .area = area, .offset = 8};
    for (uint32_t from = 0; from < NODES; from++) {
        assert_int_equal(fake_ops.store(lane_of(from), remote, ++word, sizeof word), 0);
        assert_int_equal(fake_ops.quiet(lane_of(from)), 0);
        assert_memory_equal(bank(1, 1) + 1024 + 8, &word, sizeof word);
    }
    assert_int_equal(group_area_deregister(owner, area), 0);
    assert_int_equal(fabric_tell_area(lane_of(1), area), 0);
    for (uint32_t from = 0; from < NODES; from++) {
        assert_int_equal(fake_ops.store(lane_of(from), remote, 1, sizeof word), DN_ESTALE);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_are_in_place_after_a_quiet),
        TEST(a_signal_comes_behind_its_data),
        TEST(reads_and_atomics_find_the_target_itself),
        TEST(mistakes_are_answered_at_once),
        TEST(a_reflection_reaches_memory_that_is_not_shared),
        TEST(a_reflection_may_be_seen_in_part),
        TEST(an_area_is_known_when_it_was_told),
    };
    return cmocka_run_group_tests_name("fake_fabric", tests, NULL, NULL);
}
