/* Collective calls on active sets, reductions of 128-bit reals excepted (real16.c). The work arrays
 * are neither read nor written; one of INTEGER need not be aligned as C's long is. */
#include "shmem/fortran/fortran.h"

#define SET const int *PE_start, const int *logPE_stride, const int *PE_size
#define SET_VALUES *PE_start, *logPE_stride, *PE_size

FORTRAN_DEFINE(void, shmem_barrier, (SET, void *pSync), shmem_barrier(SET_VALUES, pSync))

/* X(bits or bytes of an element in the name, C's bits) */
#define SIZES(X) \
    X(4, 32)     \
    X(8, 64)     \
    X(32, 32)    \
    X(64, 64)

#define EXCHANGE_SIZES(X) \
    X(32, 32)             \
    X(64, 64)

#define DEFINE_GATHERING(NAME, C_NAME)                                                    \
    FORTRAN_DEFINE(void, NAME,                                                            \
                   (void *dest, const void *source, const int *nelems, SET, void *pSync), \
                   C_NAME(dest, source, (size_t)*nelems, SET_VALUES, pSync))

#define DEFINE_SIZED(SIZE, BITS)                                                                   \
    FORTRAN_DEFINE(                                                                                \
        void, shmem_broadcast##SIZE,                                                               \
        (void *dest, const void *source, const int *nelems, const int *PE_root, SET, void *pSync), \
        shmem_broadcast##BITS(dest, source, (size_t)*nelems, *PE_root, SET_VALUES, pSync))         \
    DEFINE_GATHERING(shmem_collect##SIZE, shmem_collect##BITS)                                     \
    DEFINE_GATHERING(shmem_fcollect##SIZE, shmem_fcollect##BITS)

#define DEFINE_EXCHANGE(SIZE, BITS)                                                              \
    DEFINE_GATHERING(shmem_alltoall##SIZE, shmem_alltoall##BITS)                                 \
    FORTRAN_DEFINE(                                                                              \
        void, shmem_alltoalls##SIZE,                                                             \
        (void *dest, const void *source, const int *dst, const int *sst, const int *nelems, SET, \
         void *pSync),                                                                           \
        shmem_alltoalls##BITS(dest, source, *dst, *sst, (size_t)*nelems, SET_VALUES, pSync))

SIZES(DEFINE_SIZED)
EXCHANGE_SIZES(DEFINE_EXCHANGE)

/* ---- Reductions ------------------------------------------------------------------------ */

/* X(name in Fortran, name in C, C type, operation). INT2 is from before OpenSHMEM. */
#define INTEGERS(X, OPERATION)       \
    X(int2, short, short, OPERATION) \
    X(int4, int, int, OPERATION)     \
    X(int8, long, long, OPERATION)

#define NUMBERS(X, OPERATION)         \
    INTEGERS(X, OPERATION)            \
    X(real4, float, float, OPERATION) \
    X(real8, double, double, OPERATION)

#define ARITHMETIC(X, OPERATION)                  \
    NUMBERS(X, OPERATION)                         \
    X(comp4, complexf, float _Complex, OPERATION) \
    X(comp8, complexd, double _Complex, OPERATION)

#define DEFINE_REDUCTION(NAME, C_NAME, TYPE, OPERATION)                                      \
    FORTRAN_DEFINE(                                                                          \
        void, shmem_##NAME##_##OPERATION##_to_all,                                           \
        (TYPE * dest, const TYPE *source, const int *nreduce, SET, TYPE *pWrk, void *pSync), \
        shmem_##C_NAME##_##OPERATION##_to_all(dest, source, *nreduce, SET_VALUES, pWrk, pSync))

INTEGERS(DEFINE_REDUCTION, and)
INTEGERS(DEFINE_REDUCTION, or)
INTEGERS(DEFINE_REDUCTION, xor)
NUMBERS(DEFINE_REDUCTION, min)
NUMBERS(DEFINE_REDUCTION, max)
ARITHMETIC(DEFINE_REDUCTION, sum)
ARITHMETIC(DEFINE_REDUCTION, prod)
