/* Martini's interrupt controller (paper 004, section 2.2): about 20 requests of the chip's parts,
 * for a core processor that has 8 interrupts. Registers say to which interrupt each request leads.
 * The paper's core processor may change them and mask requests at any time; no program here does,
 * so they stay as they are set at the start.
 *
 * Requests on one interrupt are told apart by reading the pending bits, which is part of [core]
 * dispatch_cycles. The paper does not name the requests: those below are the ones that the model
 * makes, and the rest of the 20 never come. TLB misses are not among them (core.c). */
#ifndef SIM_MODEL_INTERRUPT_H
#define SIM_MODEL_INTERRUPT_H

#include "base/base.h"

enum sim_request {
    SIM_REQUEST_PACKET,  /* a packet of a service has come */
    SIM_REQUEST_UNKNOWN, /* a packet that the hard-wired part does not know */
    SIM_REQUEST_KICK,    /* the host asks for a service */
    SIM_REQUEST_ALARM,   /* the alarm timer */
    SIM_REQUESTS = 20,
};

enum { SIM_INTERRUPTS = 8 }; /* a higher number goes first */

struct sim_interrupts {
    uint8_t interrupt_of[SIM_REQUESTS];
};

/* Packets and kicks share an interrupt, so that they are served as they come; the alarm goes
 * last. */
void sim_interrupts_init(struct sim_interrupts *interrupts);

/* The 8 lines to the core processor while these requests are pending. */
uint8_t sim_interrupts_lines(const struct sim_interrupts *interrupts, uint32_t pending);

#endif
