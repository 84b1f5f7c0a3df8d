/* The deprecated collective calls on active sets. pSync and pWrk are not needed. */
#include "shmem/collective.h"

#define SET shmem_active_set(PE_start, logPE_stride, PE_size, pSync, SHMEM_COLLECTIVE_NAME)
#define BYTES(SIZE) shmem_bytes_of(nelems, (SIZE), SHMEM_COLLECTIVE_NAME)

void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    shmem_team_barrier(SET, SHMEM_COLLECTIVE_NAME);
}
SHMEM_ALIAS(barrier)

void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    shmem_team_barrier(SET, SHMEM_COLLECTIVE_NAME);
}
SHMEM_ALIAS(sync)

#define DEFINE(BITS, SIZE)                                                                    \
    void pshmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root,   \
                                int PE_start, int logPE_stride, int PE_size, long *pSync)     \
    {                                                                                         \
        shmem_team_broadcast(SET, dest, source, BYTES(SIZE), PE_root, false,                  \
                             SHMEM_COLLECTIVE_NAME);                                          \
    }                                                                                         \
    SHMEM_ALIAS(broadcast##BITS)                                                              \
    void pshmem_collect##BITS(void *dest, const void *source, size_t nelems, int PE_start,    \
                              int logPE_stride, int PE_size, long *pSync)                     \
    {                                                                                         \
        shmem_team_collect(SET, dest, source, BYTES(SIZE), SHMEM_COLLECTIVE_NAME);            \
    }                                                                                         \
    SHMEM_ALIAS(collect##BITS)                                                                \
    void pshmem_fcollect##BITS(void *dest, const void *source, size_t nelems, int PE_start,   \
                               int logPE_stride, int PE_size, long *pSync)                    \
    {                                                                                         \
        shmem_team_fcollect(SET, dest, source, BYTES(SIZE), SHMEM_COLLECTIVE_NAME);           \
    }                                                                                         \
    SHMEM_ALIAS(fcollect##BITS)                                                               \
    void pshmem_alltoall##BITS(void *dest, const void *source, size_t nelems, int PE_start,   \
                               int logPE_stride, int PE_size, long *pSync)                    \
    {                                                                                         \
        shmem_team_alltoall(SET, dest, source, BYTES(SIZE), SHMEM_COLLECTIVE_NAME);           \
    }                                                                                         \
    SHMEM_ALIAS(alltoall##BITS)                                                               \
    void pshmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                                size_t nelems, int PE_start, int logPE_stride, int PE_size,   \
                                long *pSync)                                                  \
    {                                                                                         \
        struct shmem_alltoalls exchange = {dest, source, dst, sst, nelems, (SIZE)};           \
        shmem_team_alltoalls(SET, &exchange, SHMEM_COLLECTIVE_NAME);                          \
    }                                                                                         \
    SHMEM_ALIAS(alltoalls##BITS)

DEFINE(32, 4)
DEFINE(64, 8)
