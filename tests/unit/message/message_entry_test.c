/* Rings and boxes that a peer has filled with what no sender writes: nothing outside a buffer is
 * touched, every call returns, the source is given up, and the others still work. */
#include "contexts.h"

enum { NODES = 3, BUFFER_BYTES = 200000, RING_BYTES = 1024 };

/* Writes an entry `units` behind the head of node 0's ring for node 1. */
static void write_entry(struct dn_context *to, uint64_t units, struct group_entry entry)
{
    const struct group_ring_in *ring = &to->source_of[1]->ring;
    struct group_entry *at = group_ring_entry(ring->start, ring->unit_count,
                                              atomic_load(&ring->head) + units);
    at->total_bytes = entry.total_bytes;
    if (atomic_load(&entry.header) & GROUP_ENTRY_PLACE) {
        at->place = entry.place;
        at->bytes = entry.bytes;
        atomic_store(&at->state, atomic_load(&entry.state));
    }
    atomic_store(&at->header, atomic_load(&entry.header));
}

/* Receives into `capacity` of the buffer, and checks that the rest stays as it is. */
static int receive(struct dn_context *to, int source, size_t capacity)
{
    memset(buffer, 0xee, BUFFER_BYTES);
    int error = dn_recv(to, source, buffer, capacity, UNIT_MS, NULL, NULL);
    for (size_t i = capacity; i < BUFFER_BYTES; i++) {
        assert_int_equal(buffer[i], 0xee);
    }
    return error;
}

/* Asserts that node 1 is given up, now, later, and for other ways to ask; and that node 2 is
 * not. */
static void assert_given_up(struct dn_context *to)
{
    struct dn_context *other = open_at(2, RING_BYTES);
    const void *data;
    size_t bytes;
    int done;
    struct dn_message_op op;
    assert_int_equal(receive(to, 1, 500), DN_EPEER);
    assert_int_equal(receive(to, 1, 500), DN_EPEER);
    assert_int_equal(dn_probe(to, 1, UNIT_MS, NULL, &bytes), DN_EPEER);
    assert_int_equal(dn_recv_in_place(to, 1, UNIT_MS, &data, NULL, &bytes), DN_EPEER);
    assert_int_equal(dn_irecv(to, 1, buffer, 500, &op), 0);
    assert_int_equal(dn_message_test(&op, &done, NULL, NULL), DN_EPEER);
    assert_int_equal(receive(to, DN_ANY, 500), DN_ETIMEOUT);
    assert_int_equal(dn_send(other, 0, "else", 4, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    assert_int_equal(receive(to, DN_ANY, 500), 0);
    assert_memory_equal(buffer, "else", 4);
    close_it(other);
}

/* ---- Entries ------------------------------------------------------------------------------ */

/* Both by a small message's total and by the bytes at a large one's place. */
static void what_is_copied_is_what_was_checked(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, RING_BYTES);
    write_entry(to, 0,
                (struct group_entry){GROUP_ENTRY_WHOLE | GROUP_ENTRY_PLACE, 8, 0, BUFFER_BYTES / 2,
                                     GROUP_OFFERED});
    assert_int_equal(receive(to, 1, 8), DN_ETOOLONG);
    assert_int_equal(receive(to, DN_ANY, 8), DN_ETOOLONG);
    assert_int_equal(receive(to, 1, BUFFER_BYTES / 2), 0);
    close_it(to);
}

struct hostile {
    const char *name;
    struct group_entry first;
    uint64_t units;            /* from the first to the second */
    struct group_entry second; /* header 0: none */
};

#define IN_RING(bytes) ((uint64_t)(bytes) << GROUP_ENTRY_BYTES_SHIFT)
#define PLACED (GROUP_ENTRY_THERE | GROUP_ENTRY_PLACE)
#define PLACED_WHOLE (GROUP_ENTRY_WHOLE | GROUP_ENTRY_PLACE)
#define FIRST (GROUP_ENTRY_THERE | GROUP_ENTRY_FIRST)
#define LAST (GROUP_ENTRY_THERE | GROUP_ENTRY_LAST)

static const struct hostile hostile[] = {
    {"whole, beyond the ring", {GROUP_ENTRY_WHOLE | IN_RING(0xffff), 0, 0, 0, 0}, 0, {0}},
    {"place outside", {PLACED_WHOLE, 8, UINT64_MAX - 4, 8, GROUP_OFFERED}, 0, {0}},
    {"bytes outside", {PLACED_WHOLE, 8, 64, UINT64_MAX - 64, GROUP_OFFERED}, 0, {0}},
    {"no state of an offer", {PLACED_WHOLE, 8, 0, 8, 99}, 0, {0}},
    {"fetched before", {PLACED_WHOLE, 8, 0, 8, GROUP_FETCHED}, 0, {0}},
    {"piece without a first", {GROUP_ENTRY_THERE | IN_RING(8), 100, 0, 0, 0}, 0, {0}},
    {"placed without a first", {PLACED, 100, 0, 8, GROUP_OFFERED}, 0, {0}},
    {"last too early", {FIRST | IN_RING(8), 100, 0, 0, 0}, 2, {LAST | IN_RING(8), 100, 0, 0, 0}},
    {"not the last", {FIRST | IN_RING(8), 16, 0, 0, 0}, 2, {IN_RING(8) | 1, 16, 0, 0, 0}},
    {"more than the total",
     {FIRST | IN_RING(8), 16, 0, 0, 0},
     2,
     {LAST | IN_RING(99), 16, 0, 0, 0}},
    {"placed beyond the total",
     {FIRST | GROUP_ENTRY_PLACE, 16, 0, 8, 0},
     GROUP_PLACE_UNITS,
     {LAST | GROUP_ENTRY_PLACE, 16, 8, 100000, 0}},
    {"first within a message",
     {FIRST | IN_RING(8), 100, 0, 0, 0},
     2,
     {FIRST | IN_RING(8), 9, 0, 0, 0}},
    {"whole within a message",
     {FIRST | IN_RING(8), 100, 0, 0, 0},
     2,
     {GROUP_ENTRY_WHOLE | IN_RING(8), 0, 0, 0, 0}},
    {"piece beyond the ring", {FIRST | IN_RING(0xffff), 0xfffff, 0, 0, 0}, 0, {0}},
};

static void what_no_sender_writes_ends_the_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        const struct hostile *one = &hostile[i];
        struct dn_context *to = open_at(0, RING_BYTES);
        print_message("%s\n", one->name);
        if (atomic_load(&one->second.header)) {
            write_entry(to, one->units, one->second);
        }
        write_entry(to, 0, one->first);
        assert_given_up(to);
        close_it(to);
    }
}

/* An entry of several units cannot start in the last one. */
static void what_reaches_beyond_the_end_ends_the_source(void **state)
{
    static const uint64_t headers[] = {GROUP_ENTRY_WHOLE | IN_RING(9), PLACED_WHOLE,
                                       FIRST | IN_RING(1)};
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct dn_context *to = open_at(0, RING_BYTES);
        struct dn_context *from = open_at(1, RING_BYTES);
        struct group_ring_in *ring = &to->source_of[1]->ring;
        while (group_ring_row(ring, atomic_load(&ring->head)) > 1) {
            assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), 0);
            fake_deliver_all();
            assert_int_equal(receive(to, 1, 500), 0);
        }
        atomic_store(&group_ring_at_head(ring)->header, headers[i]);
        assert_given_up(to);
        close_it(from);
        close_it(to);
    }
}

/* Nothing but pads, aborts, or withdrawn offers, all round. */
static void a_ring_without_a_message_keeps_nobody(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct dn_context *to = open_at(0, RING_BYTES);
        const struct group_ring_in *ring = &to->source_of[1]->ring;
        uint64_t step = kind == 2 ? 4 : 1;
        for (uint64_t i = 0; i < ring->unit_count; i += step) {
            write_entry(to, i,
                        kind == 2
                            ? (struct group_entry){PLACED_WHOLE, 8, 0, 8, GROUP_WITHDRAWN}
                            : (struct group_entry){GROUP_ENTRY_THERE |
                                                       (kind ? GROUP_ENTRY_PAD : GROUP_ENTRY_ABORT),
                                                   0, 0, 0, 0});
        }
        if (kind == 2) {
            /* There is one unit between two offers, so every fourth is a step of its own. */
            for (uint64_t i = 3; i < ring->unit_count; i += 4) {
                write_entry(
                    to, i, (struct group_entry){GROUP_ENTRY_THERE | GROUP_ENTRY_ABORT, 0, 0, 0, 0});
            }
        }
        assert_int_equal(receive(to, 1, 8), DN_ETIMEOUT);
        assert_int_equal(receive(to, DN_ANY, 8), DN_ETIMEOUT);
        close_it(to);
    }
}

/* ---- Boxes -------------------------------------------------------------------------------- */

/* Where the numbers of a box make no sense, neither node 1, which has a mirror of it, nor node 0,
 * which finds it in place, finds a box. */
static void a_box_without_sense_is_none(void **state)
{
    (void)state;
    for (uint32_t sender = 0; sender < 2; sender++) {
        for (int kind = 0; kind < 6; kind++) {
            struct dn_context *to = open_at(0, RING_BYTES);
            struct dn_context *from = sender == 0 ? to : open_at(1, RING_BYTES);
            struct group_service *service = group_service(from->view, 0);
            uint64_t end = from->view->node_stride_bytes - UNIT_PAGE_BYTES;
            struct group_message_slot *slot =
                &service->message_slots[to->slot - group_service(to->view, 0)->message_slots];
            struct group_message_box *box = group_box_at(from->view, 0, to->box_offset);
            switch (kind) {
            case 0: atomic_store(&box->source_count, UINT32_MAX); break;
            case 1: atomic_store(&box->source_count, NODES + 1); break;
            case 2: atomic_store(&box->unit_count, UINT64_C(1) << 60); break;
            case 3: atomic_store(&box->unit_count, 96); break;
            case 4: atomic_store(&slot->offset, UINT64_MAX - 63); break;
            default: /* there is no room for one this large */
                atomic_store(&slot->offset, end);
                atomic_store(&group_box_at(from->view, 0, end)->source_count, NODES);
                atomic_store(&group_box_at(from->view, 0, end)->unit_count, UNIT_PAGE_BYTES);
            }
            assert_int_equal(dn_send(from, 0, "x", 1, UNIT_MS), DN_ETIMEOUT);
            if (from != to) {
                close_it(from);
            }
            close_it(to);
        }
    }
}

/* ---- */

static int setup(void **state)
{
    (void)state;
    return make_nodes(NODES, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, end_nodes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_copied_is_what_was_checked),
        TEST(what_no_sender_writes_ends_the_source),
        TEST(what_reaches_beyond_the_end_ends_the_source),
        TEST(a_ring_without_a_message_keeps_nobody),
        TEST(a_box_without_sense_is_none),
    };
    return cmocka_run_group_tests_name("message/message_entry", tests, NULL, NULL);
}
