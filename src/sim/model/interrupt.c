/* The interrupt controller's registers, and how it folds requests. */
#include "sim/model/interrupt.h"

void sim_interrupts_init(struct sim_interrupts *interrupts)
{
    enum { ALARM = 1, OTHERS = 2, SERVICES = 4 };
    for (unsigned request = 0; request < SIM_REQUESTS; request++) {
        interrupts->interrupt_of[request] = OTHERS;
    }
    interrupts->interrupt_of[SIM_REQUEST_PACKET] = SERVICES;
    interrupts->interrupt_of[SIM_REQUEST_UNKNOWN] = SERVICES;
    interrupts->interrupt_of[SIM_REQUEST_KICK] = SERVICES;
    interrupts->interrupt_of[SIM_REQUEST_ALARM] = ALARM;
}

uint8_t sim_interrupts_lines(const struct sim_interrupts *interrupts, uint32_t pending)
{
    unsigned lines = 0;
    for (uint32_t left = pending; left != 0; left &= left - 1) {
        unsigned request = (unsigned)__builtin_ctz(left);
        INVARIANT(request < SIM_REQUESTS);
        lines |= 1u << interrupts->interrupt_of[request];
    }
    return (uint8_t)lines;
}
