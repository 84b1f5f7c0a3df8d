/* Allocates from this node's own service memory: team words, staging, rings. */
#ifndef HOST_ARENA_H
#define HOST_ARENA_H

#include "host/node.h"

/* Zeroed memory in whole lines; its offset from the start of the node's memory is what
 * peers are told. NULL: none left. Thread-safe. */
void *host_arena_take(struct host_process *process, uint64_t bytes, uint64_t *offset);
void host_arena_give(struct host_process *process, uint64_t offset);

#endif
