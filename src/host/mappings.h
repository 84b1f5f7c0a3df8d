/* What this process has mapped where, from the kernel's list: which memory can be
 * registered, why other memory cannot, and which pages are the group's.
 *
 * A list of pieces is made while the program runs (it takes memory, and the loader's
 * lock) and used while its threads are stopped (when neither can be had). */
#ifndef HOST_MAPPINGS_H
#define HOST_MAPPINGS_H

#include "base/base.h"

/* A part of one mapping. */
struct host_piece {
    uintptr_t start;
    uint64_t bytes;
    int protection;       /* PROT_ bits */
    bool anonymous;       /* what was never touched is zeros */
    uint64_t file_offset; /* in the group's file, where it is or will be */
    unsigned char *copy;  /* private memory to take its place, or NULL */
};

struct host_pieces {
    struct host_piece *list;
    size_t count;
    size_t capacity;
};

void host_pieces_free(struct host_pieces *pieces);

/* Cuts pieces, and the memory that takes their place, at addresses that are multiples of part_bytes
 * (whole pages): 0, or DN_ENOMEM and nothing has changed. */
int host_pieces_cut(struct host_pieces *pieces, uint64_t part_bytes);

/* Adds the pieces of [start, end), all of which must be private memory that can be registered;
 * the first goes to file_offset. Else DN_EUNMAPPED, DN_ESHARED, DN_EREADONLY, DN_EFILE,
 * DN_ESTACK or DN_ESPECIAL for the first mapping that cannot; DN_ENOMEM, or DN_ESYSTEM
 * when the list cannot be read. A file's pages can be registered where they are the
 * data of the program or of a library. It knows the stacks of the first thread and of the
 * caller; threads.h tells the others. */
int host_mappings_private(uintptr_t start, uintptr_t end, uint64_t file_offset,
                          struct host_pieces *pieces);

/* Adds those parts of [start, end) that show the group's file `fd` from file_offset on.
 * What the program has unmapped or replaced is left out. DN_ENOMEM or DN_ESYSTEM. */
int host_mappings_of_group(uintptr_t start, uintptr_t end, int fd, uint64_t file_offset,
                           struct host_pieces *pieces);

#endif
