/* Slots for packets: they stay where they are, and come in the same order in every run. */
#include "unit/unit.h"

#include "sim/storm/packets.h"

enum { COUNT = 300 };

static void a_slot_stays_where_it_is(void **state)
{
    (void)state;
    struct sim_slots packets;
    struct sim_packet *places[COUNT];
    uint32_t slots[COUNT];
    sim_slots_init(&packets, sizeof(struct sim_packet));
    for (uint32_t i = 0; i < COUNT; i++) {
        places[i] = sim_slots_take(&packets, &slots[i]);
        places[i]->bytes = i;
    }
    assert_int_equal(packets.taken, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(sim_slots_at(&packets, slots[i]), places[i]);
        assert_int_equal(places[i]->bytes, i);
        sim_slots_give(&packets, slots[i]);
    }
    assert_int_equal(packets.taken, 0);
    sim_slots_free(&packets);
}

static void a_given_slot_is_taken_again(void **state)
{
    (void)state;
    struct sim_slots packets;
    uint32_t slot;
    uint32_t again;
    sim_slots_init(&packets, sizeof(struct sim_packet));
    for (uint32_t i = 0; i < 10 * COUNT; i++) {
        (void)sim_slots_take(&packets, &slot);
        sim_slots_give(&packets, slot);
        (void)sim_slots_take(&packets, &again);
        assert_int_equal(again, slot);
        sim_slots_give(&packets, again);
    }
    assert_int_equal(packets.block_count, 1);
    sim_slots_free(&packets);
}

static void after_clearing_they_come_in_the_same_order(void **state)
{
    (void)state;
    struct sim_slots packets;
    uint32_t slot;
    sim_slots_init(&packets, sizeof(struct sim_packet));
    for (uint32_t i = 0; i < COUNT; i++) {
        (void)sim_slots_take(&packets, &slot);
    }
    sim_slots_clear(&packets);
    assert_int_equal(packets.taken, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        (void)sim_slots_take(&packets, &slot);
        assert_int_equal(slot, i);
    }
    sim_slots_free(&packets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_stays_where_it_is),
        cmocka_unit_test(a_given_slot_is_taken_again),
        cmocka_unit_test(after_clearing_they_come_in_the_same_order),
    };
    return cmocka_run_group_tests_name("sim/packets", tests, NULL, NULL);
}
