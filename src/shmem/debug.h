/* What SHMEM_DEBUG looks for beyond the ordinary checks. */
#ifndef SHMEM_DEBUG_H
#define SHMEM_DEBUG_H

#include <stddef.h>

/* Ends the job when a part of the heap is used that no allocation holds. */
void shmem_debug_memory(const void *address, size_t bytes, const char *call)
    __attribute__((visibility("hidden")));

#endif
