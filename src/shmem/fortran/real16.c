/* Reductions of REAL*16. That is IEEE's 128-bit number, which C has as long double on AArch64 only:
 * x86-64's long double has as many bytes and is another number. So they are made here of calls that
 * move bytes.
 *
 * Each PE reads a piece of all sources and combines it in the order of the set: all have the same
 * sums. Nobody writes a piece of the result before all have read that piece, because the result
 * may be where the source is. */
#include "shmem/fortran/fortran.h"

#include <float.h>
#include <string.h>

#if LDBL_MANT_DIG == 113
typedef long double real16;
#else
typedef __float128 real16;
#endif
_Static_assert(sizeof(real16) == 16, "REAL*16 has 16 bytes");

enum { PIECE = 64 }; /* numbers; two of them are on the stack */

struct set {
    int start;
    int log_stride;
    int size;
    void *sync;
};

typedef real16 combine(real16, real16);

static bool has_this_pe(const struct set *set)
{
    long distance = (long)shmem_my_pe() - set->start;
    return distance >= 0 && distance % (1L << set->log_stride) == 0 &&
           distance >> set->log_stride < set->size;
}

static void meet(const struct set *set)
{
    shmem_sync(set->start, set->log_stride, set->size, set->sync);
}

static void reduce_piece(real16 *result, const real16 *source, size_t count, const struct set *set,
                         combine *of)
{
    real16 other[PIECE];
    shmem_getmem(result, source, count * sizeof *result, set->start);
    for (int i = 1; i < set->size; i++) {
        shmem_getmem(other, source, count * sizeof *other, set->start + (i << set->log_stride));
        for (size_t k = 0; k < count; k++) {
            result[k] = of(result[k], other[k]);
        }
    }
}

/* The first meeting ends the job if there is no such set, and is nothing to a PE outside it. */
static void reduce(void *dest, const void *source, int count, const struct set *set, combine *of,
                   const char *call)
{
    if (count < 0) {
        fortran_fail(call, "%d elements cannot be reduced", count);
    }
    meet(set);
    if (!has_this_pe(set)) {
        return;
    }
    for (size_t at = 0; at < (size_t)count; at += PIECE) {
        real16 result[PIECE];
        size_t length = (size_t)count - at < PIECE ? (size_t)count - at : PIECE;
        reduce_piece(result, (const real16 *)source + at, length, set, of);
        meet(set);
        memcpy((real16 *)dest + at, result, length * sizeof *result);
    }
}

static real16 min(real16 a, real16 b)
{
    return b < a ? b : a;
}

static real16 max(real16 a, real16 b)
{
    return b > a ? b : a;
}

static real16 sum(real16 a, real16 b)
{
    return a + b;
}

static real16 prod(real16 a, real16 b)
{
    return a * b;
}

#define DEFINE(OPERATION, CALL)                                                              \
    FORTRAN_DEFINE(void, shmem_real16_##OPERATION##_to_all,                                  \
                   (void *dest, const void *source, const int *nreduce, const int *PE_start, \
                    const int *logPE_stride, const int *PE_size, void *pWrk, void *pSync),   \
                   (void)pWrk;                                                               \
                   const struct set set = {*PE_start, *logPE_stride, *PE_size, pSync};       \
                   reduce(dest, source, *nreduce, &set, OPERATION, CALL))

DEFINE(min, "SHMEM_REAL16_MIN_TO_ALL")
DEFINE(max, "SHMEM_REAL16_MAX_TO_ALL")
DEFINE(sum, "SHMEM_REAL16_SUM_TO_ALL")
DEFINE(prod, "SHMEM_REAL16_PROD_TO_ALL")
