/* shmemx.h: what this library offers beyond OpenSHMEM: a program may go on after PEs have died.
 * shmemx_failure_mode(3) says how. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the death of a PE does to a call that needed it. */
#define SHMEMX_END 0      /* ends the job, as in every program that asks for nothing else */
#define SHMEMX_CONTINUE 1 /* makes the call return, without having done its work */

/* Sets that for this PE, and returns what it was; -1: there is no such mode. */
SHMEM_CALL int shmemx_failure_mode(int mode);

/* The PE of SHMEM_TEAM_WORLD whose death made a call of this thread fail since the thread last
 * asked; -1: none did. */
SHMEM_CALL int shmemx_failed_pe(void);

/* Accepts the deaths announced so far, so that waits go on without those PEs. Returns how many
 * this PE had not accepted before, and puts the first `capacity` of their numbers into pes. */
SHMEM_CALL int shmemx_failure_ack(int *pes, int capacity);

/* Whether this PE holds the lock. shmem_set_lock and shmem_test_lock fail, and give it all the
 * same, when a PE has died that held it; they fail without it when the lock itself is lost. */
SHMEM_CALL int shmemx_lock_held(const long *lock);

/* Collective among the members of a team that live: makes a team of them, in the same order.
 * Accepts the deaths as well. Returns zero, or not, and then *survivors is SHMEM_TEAM_INVALID. */
SHMEM_CALL int shmemx_team_shrink(shmem_team_t team, shmem_team_t *survivors);

#ifdef __cplusplus
}
#endif

#endif
