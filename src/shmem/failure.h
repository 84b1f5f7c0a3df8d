/* What a call does when it cannot do its work because a PE has died: src/shmem/failure.c. */
#ifndef SHMEM_FAILURE_H
#define SHMEM_FAILURE_H

#include "shmem/state.h"

#pragma GCC visibility push(hidden)

/* Whether that PE, numbered among all, has died. */
bool shmem_is_dead(int pe);

/* The first member of a team that has died, numbered among all; SHMEM_NOBODY: none. */
int shmem_dead_member(const struct shmem_team *team);

/* For a call out of which another member has called this PE (shmemx_team_shrink): waits until the
 * death of a member is known here, too. The other one may be on another host, and have heard of it
 * before. False: the news does not come. */
bool shmem_await_death(const struct shmem_team *team);

/* What memory of a dead PE reads as: ones in all bits, so -1 and not-a-number. */
void shmem_poison(void *place, size_t bytes);

#pragma GCC visibility pop

#endif
