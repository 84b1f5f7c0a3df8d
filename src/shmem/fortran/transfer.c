/* PUT, GET, IPUT, IGET, and PUT and GET without waiting. One table line gives all functions of a
 * type; the elements of each have the size of one of C's functions. */
#include "shmem/fortran/fortran.h"

/* X(what stands before put, what stands behind it, C's size). The 8 of Fortran are bytes, those of
 * C bits. */
#define CONTIGUOUS(X)    \
    X(character_, , mem) \
    X(, mem, mem)        \
    STRIDED(X)

#define STRIDED(X)    \
    X(complex_, , 64) \
    X(double_, , 64)  \
    X(integer_, , 32) \
    X(logical_, , 32) \
    X(real_, , 32)    \
    X(, 4, 32)        \
    X(, 8, 64)        \
    X(, 32, 32)       \
    X(, 64, 64)       \
    X(, 128, 128)

/* A negative number is a very large one in C, and refused as such. */
#define TRANSFER(NAME, C_NAME)                                                                     \
    FORTRAN_DEFINE(void, NAME, (void *dest, const void *source, const int *nelems, const int *pe), \
                   C_NAME(dest, source, (size_t)*nelems, *pe))

#define TRANSFER_STRIDED(NAME, C_NAME)                                              \
    FORTRAN_DEFINE(void, NAME,                                                      \
                   (void *dest, const void *source, const int *dst, const int *sst, \
                    const int *nelems, const int *pe),                              \
                   C_NAME(dest, source, *dst, *sst, (size_t)*nelems, *pe))

#define DEFINE_CONTIGUOUS(BEFORE, BEHIND, SIZE)                        \
    TRANSFER(shmem_##BEFORE##put##BEHIND, shmem_put##SIZE)             \
    TRANSFER(shmem_##BEFORE##get##BEHIND, shmem_get##SIZE)             \
    TRANSFER(shmem_##BEFORE##put##BEHIND##_nbi, shmem_put##SIZE##_nbi) \
    TRANSFER(shmem_##BEFORE##get##BEHIND##_nbi, shmem_get##SIZE##_nbi)

#define DEFINE_STRIDED(BEFORE, BEHIND, SIZE)                         \
    TRANSFER_STRIDED(shmem_##BEFORE##iput##BEHIND, shmem_iput##SIZE) \
    TRANSFER_STRIDED(shmem_##BEFORE##iget##BEHIND, shmem_iget##SIZE)

CONTIGUOUS(DEFINE_CONTIGUOUS)
STRIDED(DEFINE_STRIDED)

/* Names from before OpenSHMEM: words of 64 bits. */
TRANSFER(shmem_put, shmem_put64)
TRANSFER(shmem_get, shmem_get64)
