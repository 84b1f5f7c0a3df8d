/* The interrupt controller: twenty requests, eight interrupts, routes and masks. */
#include "unit/unit.h"

#include "sim/model/interrupt.h"

static uint32_t bit(unsigned request)
{
    return UINT32_C(1) << request;
}

static void every_request_leads_to_an_interrupt(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    assert_int_equal(sim_interrupts_lines(&interrupts, 0), 0);
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        uint8_t lines = sim_interrupts_lines(&interrupts, bit(request));
        assert_int_equal(__builtin_popcount(lines), 1);
        assert_int_equal(lines, 1u << interrupts.interrupt_of[request]);
    }
}

/* A pipeline stands still until its TLB is refilled; nobody stands still for the alarm. */
static void misses_go_first_and_the_alarm_last(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        assert_true(interrupts.interrupt_of[SIM_REQUEST_HEADER_MISS] >=
                    interrupts.interrupt_of[request]);
        assert_true(interrupts.interrupt_of[SIM_REQUEST_ALARM] <= interrupts.interrupt_of[request]);
    }
}

static void requests_on_one_interrupt_are_folded(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        sim_interrupts_route(&interrupts, (enum sim_request)request, request % SIM_INTERRUPTS);
    }
    assert_int_equal(sim_interrupts_lines(&interrupts, bit(3) | bit(11) | bit(19)), 1u << 3);
    assert_int_equal(sim_interrupts_lines(&interrupts, (UINT32_C(1) << SIM_REQUESTS) - 1), 0xff);
}

static void a_masked_request_raises_nothing(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    uint32_t both = bit(SIM_REQUEST_PACKET) | bit(SIM_REQUEST_KICK);
    uint8_t lines = sim_interrupts_lines(&interrupts, both);
    sim_interrupts_mask(&interrupts, SIM_REQUEST_PACKET, true);
    assert_int_equal(sim_interrupts_lines(&interrupts, bit(SIM_REQUEST_PACKET)), 0);
    assert_int_equal(sim_interrupts_lines(&interrupts, both), lines);
    sim_interrupts_mask(&interrupts, SIM_REQUEST_PACKET, false);
    assert_int_equal(sim_interrupts_lines(&interrupts, bit(SIM_REQUEST_PACKET)), lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_leads_to_an_interrupt),
        cmocka_unit_test(misses_go_first_and_the_alarm_last),
        cmocka_unit_test(requests_on_one_interrupt_are_folded),
        cmocka_unit_test(a_masked_request_raises_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
