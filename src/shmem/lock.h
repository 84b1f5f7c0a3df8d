/* Locks by the address of their word. */
#ifndef SHMEM_LOCK_H
#define SHMEM_LOCK_H

/* Closes and forgets all. */
void shmem_locks_end(void) __attribute__((visibility("hidden")));

#endif
