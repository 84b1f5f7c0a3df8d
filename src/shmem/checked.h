/* Transfers with every check, by the dn_ calls: what the inline ways of reach.h leave.
 * `call` is the name of the OpenSHMEM function, for messages. An error ends the job, unless a death
 * is the reason and the program goes on after deaths; what was read then has ones in all bits. */
#ifndef SHMEM_CHECKED_H
#define SHMEM_CHECKED_H

#include "shmem/state.h"

#pragma GCC visibility push(hidden)

#define SHMEM_CHECKED __attribute__((noinline, cold))

/* Each ends the job unless the context is open; unless it has that PE as well. */
void shmem_check_context(const struct shmem_context *context, const char *call);
void shmem_check_pe(const struct shmem_context *context, int pe, const char *call);

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

/* Blocks whose starts lie `dst` and `sst` elements apart. */
struct shmem_strided {
    void *dest;
    const void *source;
    ptrdiff_t dst;
    ptrdiff_t sst;
    size_t block; /* elements of each */
    size_t count; /* of blocks */
    size_t size;  /* of an element */
    int pe;
};
SHMEM_CHECKED void shmem_checked_iput(const struct shmem_context *context,
                                      const struct shmem_strided *strided, const char *call);
SHMEM_CHECKED void shmem_checked_iget(const struct shmem_context *context,
                                      const struct shmem_strided *strided, const char *call);

/* Which bytes a side with this stride touches; `strided` has at least one element. False: the
 * numbers make no sense. */
static inline bool shmem_stride_bytes(ptrdiff_t stride, const struct shmem_strided *strided,
                                      size_t *bytes)
{
    size_t steps;
    size_t block;
    return stride >= 1 && (size_t)stride >= strided->block &&
           !__builtin_mul_overflow((size_t)stride, strided->size, &steps) &&
           !__builtin_mul_overflow(steps, strided->count - 1, &steps) &&
           !__builtin_mul_overflow(strided->block, strided->size, &block) &&
           !__builtin_add_overflow(steps, block, bytes) && *bytes <= (size_t)PTRDIFF_MAX;
}

/* Whether there is nothing to transfer. */
static inline bool shmem_is_empty(const struct shmem_strided *strided)
{
    return strided->count == 0 || strided->block == 0;
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
