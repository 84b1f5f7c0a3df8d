/* The interrupt controller: twenty requests, eight interrupts. */
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

/* Nobody stands still for the alarm. */
static void services_share_an_interrupt_and_the_alarm_goes_last(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    assert_int_equal(interrupts.interrupt_of[SIM_REQUEST_PACKET],
                     interrupts.interrupt_of[SIM_REQUEST_KICK]);
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        assert_true(interrupts.interrupt_of[SIM_REQUEST_ALARM] <= interrupts.interrupt_of[request]);
    }
}

static void requests_on_one_interrupt_are_folded(void **state)
{
    struct sim_interrupts interrupts;
    (void)state;
    sim_interrupts_init(&interrupts);
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        interrupts.interrupt_of[request] = request % SIM_INTERRUPTS;
    }
    assert_int_equal(sim_interrupts_lines(&interrupts, bit(3) | bit(11) | bit(19)), 1u << 3);
    assert_int_equal(sim_interrupts_lines(&interrupts, (UINT32_C(1) << SIM_REQUESTS) - 1), 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_leads_to_an_interrupt),
        cmocka_unit_test(services_share_an_interrupt_and_the_alarm_goes_last),
        cmocka_unit_test(requests_on_one_interrupt_are_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
