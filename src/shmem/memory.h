/* The symmetric heap. */
#ifndef SHMEM_MEMORY_H
#define SHMEM_MEMORY_H

/* Forgets what SHMEM_DEBUG knows of allocations. */
void shmem_memory_end(void) __attribute__((visibility("hidden")));

#endif
