/* Transfers with every check, by the dn_ calls: what the inline ways of reach.h leave.
 * `call` is the name of the OpenSHMEM function, for messages; every error ends the job. */
#ifndef SHMEM_CHECKED_H
#define SHMEM_CHECKED_H

#include "shmem/state.h"

#pragma GCC visibility push(hidden)

#define SHMEM_CHECKED __attribute__((noinline, cold))

/* `count` elements of `size` bytes. */
typedef void shmem_transfer(const struct shmem_context *context, void *dest, const void *source,
                            size_t count, size_t size, int pe, const char *call);
SHMEM_CHECKED shmem_transfer shmem_checked_put, shmem_checked_put_nbi;
SHMEM_CHECKED shmem_transfer shmem_checked_get, shmem_checked_get_nbi;

/* A word given by its bits. */
SHMEM_CHECKED void shmem_checked_p(const struct shmem_context *context, void *dest, uint64_t bits,
                                   unsigned bytes, int pe, const char *call);
SHMEM_CHECKED uint64_t shmem_checked_g(const struct shmem_context *context, const void *source,
                                       unsigned bytes, int pe, const char *call);

/* Elements `dst` and `sst` elements apart. */
struct shmem_strided {
    void *dest;
    const void *source;
    ptrdiff_t dst;
    ptrdiff_t sst;
    size_t count;
    size_t size;
    int pe;
};
SHMEM_CHECKED void shmem_checked_iput(const struct shmem_context *context,
                                      const struct shmem_strided *strided, const char *call);
SHMEM_CHECKED void shmem_checked_iget(const struct shmem_context *context,
                                      const struct shmem_strided *strided, const char *call);

/* Which bytes a strided side touches. False: the numbers make no sense. */
static inline bool shmem_stride_bytes(ptrdiff_t stride, size_t count, size_t size, size_t *bytes)
{
    size_t steps;
    return stride >= 1 && !__builtin_mul_overflow((size_t)stride, size, &steps) &&
           !__builtin_mul_overflow(steps, count - 1, &steps) &&
           !__builtin_add_overflow(steps, size, bytes) && *bytes <= (size_t)PTRDIFF_MAX;
}

struct shmem_signalled {
    void *dest;
    const void *source;
    size_t count;
    size_t size;
    uint64_t *signal_address;
    uint64_t signal;
    int operation; /* SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD */
    int pe;
};
SHMEM_CHECKED void shmem_checked_put_signal(const struct shmem_context *context,
                                            const struct shmem_signalled *put, const char *call);

/* What an atomic does. It travels in one register, so that all arguments of the checked way
 * do, and the inline way needs no stack. */
struct shmem_atomic {
    int pe;
    uint8_t bytes;     /* 4 or 8 */
    uint8_t operation; /* enum inner_atomic */
    bool fetches;
};

/* The old value; of one that does not fetch 0, and it may be under way. */
SHMEM_CHECKED uint64_t shmem_checked_atomic(const struct shmem_context *context, const void *dest,
                                            uint64_t operand, uint64_t expected,
                                            struct shmem_atomic what, const char *call);

/* After a write of the inline way, when the target's call word says something: wakes it, or
 * ends the job because it is gone. */
SHMEM_CHECKED void shmem_notice(const struct shmem_peer *peer, const void *written, size_t bytes,
                                const char *call);

/* The same, and returns `old`: as the last step of a fetching atomic it leaves nothing to
 * save on the stack, which a locked instruction would wait for. */
SHMEM_CHECKED uint64_t shmem_notice_fetching(const struct shmem_peer *peer, const void *written,
                                             size_t bytes, const char *call, uint64_t old);

#pragma GCC visibility pop

#endif
