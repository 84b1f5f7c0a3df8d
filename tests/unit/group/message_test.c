/* Rings and boxes: another node finds what one publishes, whole and in order; room comes back; a
 * box is held as long as a node may write into it. */
#include "unit/group.h"

#include <stdlib.h>

#include "base/random.h"
#include "group/service_memory.h"

enum { UNITS = 128, STREAM = 30000, CHANNEL = 5 };

static struct unit_group group;

/* A box of node 0 at the free end of its service memory, with these sources. */
static struct group_message_box *make_box(const uint32_t *ranks, uint32_t count, uint64_t units,
                                          uint64_t *offset)
{
    struct group_box_layout layout = group_box_layout(count, units);
    *offset = group.geometry.service_offset + group_service_free_offset(&group.views[0]);
    struct group_message_box *box = group_box_at(&group.views[0], 0, *offset);
    memset((void *)box, 0, layout.bytes);
    atomic_store(&box->source_count, count);
    atomic_store(&box->unit_count, units);
    memcpy(group_box_ranks(box, &layout), ranks, count * sizeof *ranks);
    atomic_store(&box->open, 1);
    return box;
}

static void make_rings(uint64_t units, struct group_ring_out *out, struct group_ring_in *in)
{
    static const uint32_t ranks[] = {1};
    uint64_t offset;
    struct group_message_box *box = make_box(ranks, 1, units, &offset);
    struct group_box_layout layout;
    assert_true(group_box_read(&group.views[0], offset, box, &layout));
    group_message_ring_out(box, &layout, 0, out);
    group_message_ring_in(box, &layout, 0, in);
}

/* Sends words that tell their number, in an entry of the given length. */
static bool put(struct group_ring_out *ring, uint64_t number, uint64_t bytes)
{
    uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes);
    struct group_entry *entry = group_ring_reserve(ring, units);
    if (!entry) {
        return false;
    }
    uint64_t *words = &entry->total_bytes;
    for (uint64_t i = 0; i < bytes / 8; i++) {
        words[i] = number * 1000 + i;
    }
    group_ring_publish(ring, GROUP_ENTRY_WHOLE | bytes << GROUP_ENTRY_BYTES_SHIFT, units);
    return true;
}

static bool take(struct group_ring_in *ring, uint64_t number, uint64_t bytes)
{
    uint64_t header = group_ring_look(ring);
    if (header & GROUP_ENTRY_PAD) {
        uint64_t head = atomic_load(&ring->head);
        group_ring_advance(ring, ring->unit_count - (head & (ring->unit_count - 1)));
        header = group_ring_look(ring);
    }
    if (!header) {
        return false;
    }
    unit_expect((header & GROUP_ENTRY_WHOLE) == GROUP_ENTRY_WHOLE);
    unit_expect(group_entry_bytes(header) == bytes);
    const uint64_t *words = &group_ring_at_head(ring)->total_bytes;
    for (uint64_t i = 0; i < bytes / 8; i++) {
        unit_expect(words[i] == number * 1000 + i);
    }
    group_ring_advance(ring, group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes));
    return true;
}

static uint64_t bytes_of(uint64_t number, uint64_t most)
{
    struct base_random random = {number};
    return base_random_below(&random, most / 8 + 1) * 8;
}

static void everything_comes_through_once_and_in_order(void **state)
{
    (void)state;
    for (uint64_t units = 64; units <= 4096; units *= 2) {
        struct group_ring_out out;
        struct group_ring_in in;
        struct base_random random = {units};
        uint64_t sent = 0;
        uint64_t received = 0;
        make_rings(units, &out, &in);
        uint64_t most = group_ring_payload_max(&out, GROUP_WHOLE_HEADER_BYTES);
        while (received < 2000) {
            if (base_random_below(&random, 2)) {
                sent += put(&out, sent, bytes_of(sent, most));
            } else {
                received += take(&in, received, bytes_of(received, most));
            }
            if (base_random_below(&random, 5) == 0) {
                (void)group_ring_give_back(&in);
            }
            assert_true(sent - received <= units);
        }
        unit_assert_no_faults();
    }
}

/* The worst old payload: every word of it looks like a header. */
static void payload_is_never_taken_for_a_header(void **state)
{
    struct group_ring_out out;
    struct group_ring_in in;
    struct base_random random = {3};
    (void)state;
    make_rings(UNITS, &out, &in);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t bytes = base_random_below(&random, 32) * 8;
        uint64_t units = group_units_of(GROUP_WHOLE_HEADER_BYTES + bytes);
        struct group_entry *entry = group_ring_reserve(&out, units);
        assert_non_null(entry);
        memset(&entry->total_bytes, 0xff, bytes);
        group_ring_publish(&out, GROUP_ENTRY_WHOLE | bytes << GROUP_ENTRY_BYTES_SHIFT, units);
        uint64_t header = group_ring_look(&in);
        if (header & GROUP_ENTRY_PAD) {
            uint64_t head = atomic_load(&in.head);
            group_ring_advance(&in, UNITS - (head & (UNITS - 1)));
            header = group_ring_look(&in);
        }
        assert_int_equal(group_entry_bytes(header), bytes);
        group_ring_advance(&in, units);
        assert_int_equal(group_ring_look(&in), 0);
        (void)group_ring_give_back(&in);
        assert_int_equal(group_ring_look(&in), 0);
    }
}

/* However full a ring is, a message that was begun can be aborted. */
static void room_for_an_abort_is_always_there(void **state)
{
    (void)state;
    for (uint64_t bytes = 0; bytes <= 240; bytes += 8) {
        struct group_ring_out out;
        struct group_ring_in in;
        make_rings(64, &out, &in);
        while (put(&out, 0, bytes)) {
        }
        assert_true(group_ring_has_room(&out, 1 + GROUP_RING_AHEAD));
    }
}

/* The receiver can write anything into its head. The sender's own head never goes back, nor beyond
 * its tail, so the sender loses no room that it had. */
static void a_head_without_sense_takes_no_room(void **state)
{
    static const uint64_t jumps[] = {UINT64_MAX, UINT64_C(1) << 63, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        struct group_ring_out out;
        struct group_ring_in in;
        make_rings(64, &out, &in);
        while (put(&out, 0, 24)) {
        }
        uint64_t head = out.head;
        atomic_store(&out.words->head, head + jumps[i]);
        assert_false(put(&out, 0, 24));
        assert_int_equal(out.head, head);
        assert_true(group_ring_has_room(&out, 1 + GROUP_RING_AHEAD));
    }
}

struct pair {
    struct group_ring_out out;
    struct group_ring_in in;
    uint64_t most;
};

static void stream_end(uint32_t number, void *context)
{
    struct pair *pair = context;
    for (uint64_t i = 0; i < STREAM;) {
        uint64_t bytes = bytes_of(i, pair->most);
        bool moved = number == 0 ? put(&pair->out, i, bytes) : take(&pair->in, i, bytes);
        if (number == 1 && (!moved || i % 7 == 0)) {
            (void)group_ring_give_back(&pair->in);
        }
        if (!moved) {
            (void)sched_yield();
        }
        i += moved;
    }
}

static void two_threads_stream(void **state)
{
    struct pair pair;
    (void)state;
    make_rings(UNITS, &pair.out, &pair.in);
    pair.most = 240;
    unit_run_threads(2, stream_end, &pair);
}

/* ---- Boxes ------------------------------------------------------------------------------ */

static void ranks_are_found(void **state)
{
    static const uint32_t ranks[] = {1, 3, 4, 9};
    (void)state;
    for (uint32_t count = 0; count <= 4; count++) {
        for (uint32_t rank = 0; rank < 12; rank++) {
            uint32_t wanted = 0;
            while (wanted < count && ranks[wanted] != rank) {
                wanted++;
            }
            assert_int_equal(group_message_find_rank(ranks, count, rank), wanted);
        }
    }
}

static void held_until_let_go_or_gone(void **state)
{
    static const uint32_t ranks[] = {1, 2};
    struct group_message_slot *slots = group_service(&group.views[0], 0)->message_slots;
    struct group_message_slot *found;
    struct group_box_layout layout;
    uint64_t offset;
    (void)state;
    struct group_message_box *box = make_box(ranks, 2, 64, &offset);
    assert_null(group_message_hold(&group.views[1], 0, CHANNEL, &found, &layout));
    group_message_offer(&slots[3], 1, CHANNEL, offset);
    assert_null(group_message_hold(&group.views[1], 0, CHANNEL + 1, &found, &layout));
    assert_true(group_message_unused(&group.views[0], &slots[3]));
    for (uint32_t rank = 1; rank <= 2; rank++) {
        assert_ptr_equal(group_message_hold(&group.views[rank], 0, CHANNEL, &found, &layout), box);
        assert_ptr_equal(found, &slots[3]);
    }
    group_message_withdraw(&slots[3]);
    assert_null(group_message_hold(&group.views[1], 0, CHANNEL, &found, &layout));
    assert_false(group_message_unused(&group.views[0], &slots[3]));
    group_message_let_go(&group.views[1], &slots[3]);
    assert_false(group_message_unused(&group.views[0], &slots[3]));
    /* The other one dies with it. */
    assert_true(group_life_attach(&group.views[2]));
    assert_true(group_life_end(&group.views[2], 2, false));
    assert_true(group_message_unused(&group.views[0], &slots[3]));
    /* A bit that stands for no node means nothing. */
    atomic_fetch_or(&slots[3].users[0], UINT64_C(1) << 63);
    assert_true(group_message_unused(&group.views[0], &slots[3]));
}

static int setup(void **state)
{
    (void)state;
    unit_group_make(&group, 3, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unit_group_free(&group);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_comes_through_once_and_in_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(payload_is_never_taken_for_a_header, setup, teardown),
        cmocka_unit_test_setup_teardown(room_for_an_abort_is_always_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_head_without_sense_takes_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(two_threads_stream, setup, teardown),
        cmocka_unit_test(ranks_are_found),
        cmocka_unit_test_setup_teardown(held_until_let_go_or_gone, setup, teardown),
    };
    return cmocka_run_group_tests_name("group/message", tests, NULL, NULL);
}
