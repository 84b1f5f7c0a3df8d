/* Set-up, queries, order, barriers of all PEs, and what has nothing to do. */
#include "shmem/fortran/fortran.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "shmem/above.h"

void fortran_fail(const char *call, const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    (void)base_uncancelled_begin();
    (void)dprintf(STDERR_FILENO, "PE %d: %s: %s\n", shmem_my_pe(), call, sentence);
    shmem_global_exit(1);
}

/* ---- Beginning and ending ------------------------------------------------------------- */

static void forget_all(void)
{
    fortran_memory_end();
    fortran_locks_end();
}

/* The program may end without SHMEM_FINALIZE, or by C's. */
static __attribute__((constructor)) void hear_of_the_end(void)
{
    static const struct inner_shmem_ending ending = {fortran_locks_give, forget_all};
    inner_shmem_at_end(&ending);
}

FORTRAN_DEFINE(void, start_pes, (const int *npes), start_pes(*npes))
FORTRAN_DEFINE(void, shmem_init, (void), shmem_init())
FORTRAN_DEFINE(void, shmem_global_exit, (const int *status), shmem_global_exit(*status))
FORTRAN_DEFINE(void, shmem_finalize, (void), shmem_finalize())

/* ---- Queries -------------------------------------------------------------------------- */

FORTRAN_DEFINE(int, my_pe, (void), return shmem_my_pe())
FORTRAN_DEFINE(int, num_pes, (void), return shmem_n_pes())
FORTRAN_DEFINE(int, shmem_my_pe, (void), return shmem_my_pe())
FORTRAN_DEFINE(int, shmem_n_pes, (void), return shmem_n_pes())

/* gfortran's .TRUE. is 1. */
FORTRAN_DEFINE(int, shmem_pe_accessible, (const int *pe), return shmem_pe_accessible(*pe) != 0)
FORTRAN_DEFINE(int, shmem_addr_accessible, (const void *addr, const int *pe),
               return shmem_addr_accessible(addr, *pe) != 0)

/* For a Cray pointer, which is an integer. */
FORTRAN_DEFINE(intptr_t, shmem_ptr, (const void *dest, const int *pe),
               return (intptr_t)shmem_ptr(dest, *pe))

FORTRAN_DEFINE(void, shmem_info_get_version, (int *major, int *minor),
               shmem_info_get_version(major, minor))

/* A Fortran string has blanks at its end. A variable of one character is the first element of an
 * array, as older pages declare the name; it has as many elements as the name has at most. */
static void info_get_name(char *name, size_t length)
{
    char vendor[SHMEM_MAX_NAME_LEN] = "";
    size_t room = length == 1 ? SHMEM_MAX_NAME_LEN : length;
    shmem_info_get_name(vendor);
    size_t used = strlen(vendor);
    memset(name, ' ', room);
    memcpy(name, vendor, used < room ? used : room);
}

FORTRAN_DEFINE(void, shmem_info_get_name, (char *name, size_t length), info_get_name(name, length))

/* ---- Order ---------------------------------------------------------------------------- */

FORTRAN_DEFINE(void, shmem_fence, (void), shmem_fence())
FORTRAN_DEFINE(void, shmem_quiet, (void), shmem_quiet())
FORTRAN_DEFINE(void, shmem_barrier_all, (void), shmem_barrier_all())

/* ---- Cache management: memory is coherent ------------------------------------------------ */

FORTRAN_DEFINE(void, shmem_clear_cache_inv, (void), shmem_clear_cache_inv())
FORTRAN_DEFINE(void, shmem_clear_cache_line_inv, (void *dest), shmem_clear_cache_line_inv(dest))
FORTRAN_DEFINE(void, shmem_set_cache_inv, (void), shmem_set_cache_inv())
FORTRAN_DEFINE(void, shmem_set_cache_line_inv, (void *dest), shmem_set_cache_line_inv(dest))
FORTRAN_DEFINE(void, shmem_udcflush, (void), shmem_udcflush())
FORTRAN_DEFINE(void, shmem_udcflush_line, (void *dest), shmem_udcflush_line(dest))
