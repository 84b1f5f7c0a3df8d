/* Which keys are in a small memory of 4 ways, of which the least recently used one goes: a CPU's
 * TLB, contexts on a chip. */
#ifndef SIM_LRU_H
#define SIM_LRU_H

#include "base/base.h"

enum { SIM_LRU_WAYS = 4 };

struct sim_lru;

/* Room for at least that many keys, a multiple of SIM_LRU_WAYS. */
struct sim_lru *sim_lru_open(uint64_t keys);
void sim_lru_close(struct sim_lru *lru);

/* Whether the key was in it; it is now. */
bool sim_lru_use(struct sim_lru *lru, uint64_t key);

#endif
