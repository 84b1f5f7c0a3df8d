/* Atomics, and waiting for words of this PE. */
#include "shmem/fortran/fortran.h"

/* X(name in Fortran, name in C, C type) */
#define INTEGERS(X)          \
    X(int4_, int32, int32_t) \
    X(int8_, int64, int64_t)

#define REALS(X)            \
    X(real4_, float, float) \
    X(real8_, double, double)

/* Those that act on words have a name for the default INTEGER, too. */
#define WORDS(X) \
    INTEGERS(X)  \
    X(, int32, int32_t)

#define DEFINE_SWAP(NAME, C_NAME, TYPE)                                                       \
    FORTRAN_DEFINE(TYPE, shmem_##NAME##swap, (TYPE * dest, const TYPE *value, const int *pe), \
                   return shmem_##C_NAME##_atomic_swap(dest, *value, *pe))

#define DEFINE_FETCH_SET(NAME, C_NAME, TYPE)                                                 \
    FORTRAN_DEFINE(TYPE, shmem_##NAME##fetch, (const TYPE *source, const int *pe),           \
                   return shmem_##C_NAME##_atomic_fetch(source, *pe))                        \
    FORTRAN_DEFINE(void, shmem_##NAME##set, (TYPE * dest, const TYPE *value, const int *pe), \
                   shmem_##C_NAME##_atomic_set(dest, *value, *pe))

#define DEFINE_INTEGER(NAME, C_NAME, TYPE)                                                    \
    FORTRAN_DEFINE(TYPE, shmem_##NAME##cswap,                                                 \
                   (TYPE * dest, const TYPE *cond, const TYPE *value, const int *pe),         \
                   return shmem_##C_NAME##_atomic_compare_swap(dest, *cond, *value, *pe))     \
    FORTRAN_DEFINE(TYPE, shmem_##NAME##fadd, (TYPE * dest, const TYPE *value, const int *pe), \
                   return shmem_##C_NAME##_atomic_fetch_add(dest, *value, *pe))               \
    FORTRAN_DEFINE(TYPE, shmem_##NAME##finc, (TYPE * dest, const int *pe),                    \
                   return shmem_##C_NAME##_atomic_fetch_inc(dest, *pe))                       \
    FORTRAN_DEFINE(void, shmem_##NAME##add, (TYPE * dest, const TYPE *value, const int *pe),  \
                   shmem_##C_NAME##_atomic_add(dest, *value, *pe))                            \
    FORTRAN_DEFINE(void, shmem_##NAME##inc, (TYPE * dest, const int *pe),                     \
                   shmem_##C_NAME##_atomic_inc(dest, *pe))

#define DEFINE_WAIT(NAME, C_NAME, TYPE)                                            \
    FORTRAN_DEFINE(void, shmem_##NAME##wait, (TYPE * ivar, const TYPE *cmp_value), \
                   shmem_##C_NAME##_wait_until(ivar, SHMEM_CMP_NE, *cmp_value))    \
    FORTRAN_DEFINE(void, shmem_##NAME##wait_until,                                 \
                   (TYPE * ivar, const int *cmp, const TYPE *cmp_value),           \
                   shmem_##C_NAME##_wait_until(ivar, *cmp, *cmp_value))

WORDS(DEFINE_SWAP)
REALS(DEFINE_SWAP)
INTEGERS(DEFINE_FETCH_SET)
REALS(DEFINE_FETCH_SET)
INTEGERS(DEFINE_INTEGER)
WORDS(DEFINE_WAIT)
