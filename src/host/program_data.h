/* The program's static and global variables: the writable data of the executable. */
#ifndef HOST_PROGRAM_DATA_H
#define HOST_PROGRAM_DATA_H

#include "base/base.h"

enum { HOST_PROGRAM_RANGES = 16 };

/* Whole pages that hold .data and .bss, all writable: what the loader makes read-only
 * after relocation (RELRO) is left out. */
struct host_program_range {
    uintptr_t start;
    uint64_t bytes;
    /* From the first writable page of the executable, as it was linked: the same in every
     * process that runs it, wherever it is loaded. */
    uint64_t link_offset;
};

/* The ranges, sorted, at most HOST_PROGRAM_RANGES. DN_EFULL when there are more. */
int host_program_data(struct host_program_range ranges[HOST_PROGRAM_RANGES], uint32_t *count);

#endif
