/* The deprecated collective calls on active sets. pSync and pWrk are not needed. */
#include "shmem/collective.h"

#define BYTES(SIZE) shmem_bytes_of(nelems, (SIZE), SHMEM_CALL_NAME)

#define DEFINE_ON_SET(NAME, PARAMETERS, ...)                                                \
    SHMEM_DEFINE(                                                                           \
        void, NAME,                                                                         \
        (SHMEM_UNPACK PARAMETERS int PE_start, int logPE_stride, int PE_size, long *pSync), \
        struct shmem_team *set = shmem_active_set(PE_start, logPE_stride, PE_size, pSync,   \
                                                  SHMEM_CALL_NAME);                         \
        if (set) { __VA_ARGS__; })

DEFINE_ON_SET(barrier, (), shmem_team_barrier(set, SHMEM_CALL_NAME))
DEFINE_ON_SET(sync, (), shmem_team_barrier(set, SHMEM_CALL_NAME))

#define DEFINE(BITS, SIZE)                                                                         \
    DEFINE_ON_SET(                                                                                 \
        broadcast##BITS, (void *dest, const void *source, size_t nelems, int PE_root, ),           \
        shmem_team_broadcast(set, dest, source, BYTES(SIZE), PE_root, false, SHMEM_CALL_NAME))     \
    DEFINE_ON_SET(collect##BITS, (void *dest, const void *source, size_t nelems, ),                \
                  shmem_team_collect(set, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))             \
    DEFINE_ON_SET(fcollect##BITS, (void *dest, const void *source, size_t nelems, ),               \
                  shmem_team_fcollect(set, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))            \
    DEFINE_ON_SET(alltoall##BITS, (void *dest, const void *source, size_t nelems, ),               \
                  shmem_team_alltoall(set, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))            \
    DEFINE_ON_SET(alltoalls##BITS,                                                                 \
                  (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, ), \
                  struct shmem_strided exchange = {dest, source, dst, sst, 1, nelems, (SIZE), 0};  \
                  shmem_team_alltoalls(set, &exchange, SHMEM_CALL_NAME))

DEFINE(32, 4)
DEFINE(64, 8)
