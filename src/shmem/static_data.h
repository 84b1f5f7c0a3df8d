/* The executable's static and global variables as a symmetric segment. */
#ifndef SHMEM_STATIC_DATA_H
#define SHMEM_STATIC_DATA_H

#include "shmem/state.h"

/* Where this PE's static variables lie. */
struct shmem_static_data {
    uintptr_t base;
    uint64_t bytes;
    uint64_t place; /* of base in the registered memory of every PE */
    uint32_t area;  /* their name at this PE */
};

/* Moves them onto shared memory, where all PEs have them at the same place. 0 or DN_E...;
 * without any static variables, 0 bytes. */
int shmem_static_data_share(struct dn_node *node, struct shmem_static_data *data)
    __attribute__((visibility("hidden")));

#endif
