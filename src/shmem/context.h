/* Contexts: a context is a lane, and the PEs of a team as it addresses them. */
#ifndef SHMEM_CONTEXT_H
#define SHMEM_CONTEXT_H

#include "shmem/state.h"

/* Opens the default context; the teams are there. */
void shmem_contexts_start(void) __attribute__((visibility("hidden")));

/* Completes what this PE sent by any of its contexts. */
void shmem_contexts_quiet(const char *call) __attribute__((visibility("hidden")));

/* Closes all. */
void shmem_contexts_end(void) __attribute__((visibility("hidden")));

/* In a forked child: no context reaches anybody any more. */
void shmem_contexts_forbid(void) __attribute__((visibility("hidden")));

#endif
