/* Machines whose CPUs reach the memory of all nodes in place: several cores that share a memory.
 * There is no NIC and no network. A call of the library is CPU time of its caller, as long as
 * [call] of the machine file says; what it wrote is there when it is over. The engines outside
 * still speak by packets: those are carried at once, and only the records between services take
 * time. */
#ifndef SIM_MODEL_IN_PLACE_H
#define SIM_MODEL_IN_PLACE_H

#include "sim/model/outside.h"

/* A step of the program's CPU, as in wire/turn.h: a store, a block, a request, a service. */
void sim_in_place_step(struct sim_host *host, enum turn_word word, uint16_t detail, uint64_t value,
                       struct sim_parcels *parcels);
/* A read that finds what had come before. */
void sim_in_place_look(struct sim_host *host);
/* One that finds what came while the program waited, from that moment on: a word, or something of
 * the library's own (`meets`). */
void sim_in_place_found(struct sim_host *host, uint64_t since_ps, bool meets);

#endif
