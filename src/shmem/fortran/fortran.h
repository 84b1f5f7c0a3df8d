/* What the functions for Fortran have in common.
 *
 * gfortran calls SHMEM_PUT4 by the name shmem_put4_ and passes the address of every argument; the
 * lengths of CHARACTER arguments come behind all others, and most calls have no use for them.
 * INTEGER and LOGICAL have 32 bits.
 *
 * The functions call the shmem_ functions of the C library and not their pshmem_ names, so that a
 * tool that stands in front of these sees the calls of Fortran programs, too. */
#ifndef SHMEM_FORTRAN_FORTRAN_H
#define SHMEM_FORTRAN_FORTRAN_H

#include <stdbool.h>

#include "shmem.h"

/* Defines a function that only Fortran programs declare: its type, its name without the trailing
 * underscore, parameters in parentheses, and statement. */
#define FORTRAN_DEFINE(RETURNS, NAME, PARAMETERS, ...) \
    RETURNS NAME##_ PARAMETERS;                        \
    RETURNS NAME##_ PARAMETERS                         \
    {                                                  \
        __VA_ARGS__;                                   \
    }

/* Nothing of what follows is for programs. */
#pragma GCC visibility push(hidden)

/* Says "PE 2: SHPALLOC: ..." and ends the job. (setup.c) */
_Noreturn void fortran_fail(const char *call, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Forget the blocks of the heap, which has ended, and the locks. (memory.c, lock.c) */
void fortran_memory_end(void);
void fortran_locks_end(void);
/* Gives the locks that this PE holds. */
void fortran_locks_give(void);

#pragma GCC visibility pop

#endif
