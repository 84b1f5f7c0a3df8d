/* Martini's interrupt controller (paper 004, section 2.2): about 20 requests of the chip's parts,
 * for a core processor that has 8 interrupts. Registers, which the core processor may change at any
 * time, say to which interrupt each request leads, and which requests are masked.
 *
 * Requests on one interrupt are told apart by reading the pending bits, which is part of [core]
 * dispatch_cycles. The paper does not name the requests: those below are the ones that the model
 * makes, and the rest of the 20 never come. */
#ifndef SIM_MODEL_INTERRUPT_H
#define SIM_MODEL_INTERRUPT_H

#include "base/base.h"

enum sim_request {
    SIM_REQUEST_HEADER_MISS,  /* the header TLB; the sending side stands still */
    SIM_REQUEST_ADDRESS_MISS, /* the address TLB; the receiving side stands still */
    SIM_REQUEST_PACKET,       /* a packet of a service has come */
    SIM_REQUEST_UNKNOWN,      /* a packet that the hard-wired part does not know */
    SIM_REQUEST_KICK,         /* the host asks for a service */
    SIM_REQUEST_ALARM,        /* the alarm timer */
    SIM_REQUESTS = 20,
};

enum { SIM_INTERRUPTS = 8 }; /* a higher number goes first */

struct sim_interrupts {
    uint32_t masked; /* a bit for each request */
    uint8_t interrupt_of[SIM_REQUESTS];
};

/* Nothing is masked. Misses go first, since a pipeline stands still meanwhile; packets and kicks
 * share an interrupt, so that they are served as they come; the alarm goes last. */
void sim_interrupts_init(struct sim_interrupts *interrupts);

void sim_interrupts_route(struct sim_interrupts *interrupts, enum sim_request request,
                          unsigned interrupt);
void sim_interrupts_mask(struct sim_interrupts *interrupts, enum sim_request request, bool masked);

/* The 8 lines to the core processor while these requests are pending. */
uint8_t sim_interrupts_lines(const struct sim_interrupts *interrupts, uint32_t pending);

#endif
