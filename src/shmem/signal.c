/* put_signal: a body, and a word that whoever sees it has seen the body. */
#include "shmem/reach.h"

/* The signal may lie in the other segment than the body. Release: pairs with the acquire of
 * the waits and of shmem_signal_fetch. */
static void put_signal(const struct shmem_context *context, const struct shmem_signalled *put,
                       const char *call)
{
    const struct shmem_peer *peer;
    unsigned char *target;
    unsigned char *flag;
    size_t bytes = put->count * put->size;
    if (UNLIKELY(!shmem_reach(context, put->dest, bytes, put->pe, &peer, &target) ||
                 !shmem_reach_word(context, put->signal_address, put->pe, &peer, &flag) ||
                 put->count > SHMEM_BYTES_MAX / put->size || (uintptr_t)flag % 8 != 0 ||
                 (uint32_t)put->operation > SHMEM_SIGNAL_ADD)) {
        shmem_checked_put_signal(context, put, call);
        return;
    }
    if (!shmem_copy_word(target, put->source, bytes)) {
        memmove(target, put->source, bytes);
    }
    uint64_t *word = (uint64_t *)(void *)flag;
    if (put->operation == SHMEM_SIGNAL_SET) {
        __atomic_store_n(word, put->signal, __ATOMIC_RELEASE);
    } else {
        (void)__atomic_fetch_add(word, put->signal, __ATOMIC_RELEASE);
    }
    /* A sleeper watches the signal. A program that watches the body is rare, and finds it at
     * the end of a nap. */
    if (shmem_peer_calls(peer)) {
        shmem_notice(peer, flag, sizeof *word, call);
    }
}

#define DEFINE(NAME, TYPE, SIZE)                                                                 \
    SHMEM_DEFINE_BOTH(                                                                           \
        void, NAME,                                                                              \
        (TYPE * dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,    \
         int sig_op, int pe),                                                                    \
        struct shmem_signalled put = {dest, source, nelems, SIZE, sig_addr, signal, sig_op, pe}; \
        put_signal(context, &put, SHMEM_CALL_NAME))

#define DEFINE_TYPED(NAME, TYPE, A, B)            \
    DEFINE(NAME##_put_signal, TYPE, sizeof(TYPE)) \
    DEFINE(NAME##_put_signal_nbi, TYPE, sizeof(TYPE))

#define DEFINE_SIZED(SIZE, BYTES, A, B)     \
    DEFINE(put##SIZE##_signal, void, BYTES) \
    DEFINE(put##SIZE##_signal_nbi, void, BYTES)

SHMEM_RMA_TYPES(DEFINE_TYPED, , )
SHMEM_SIZES(DEFINE_SIZED, , )
DEFINE_SIZED(mem, 1, , )

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
    return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

SHMEM_ALIAS(signal_fetch)
