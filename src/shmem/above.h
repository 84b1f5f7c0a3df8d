/* What the library for Fortran programs asks of this one beside shmem.h; for no one else. */
#ifndef SHMEM_ABOVE_H
#define SHMEM_ABOVE_H

/* Whenever the library ends, whoever ends it, it calls the first function before the PEs meet, and
 * the second one when nothing of OpenSHMEM is left. */
struct inner_shmem_ending {
    void (*give_locks)(void);
    void (*forget)(void);
};
void inner_shmem_at_end(const struct inner_shmem_ending *ending);

/* The first PE that has died, whether or not the program goes on after deaths; -1: none. */
int inner_shmem_dead_pe(void);

#endif
