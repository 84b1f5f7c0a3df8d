/* put_signal: a body, and a word that whoever sees it has seen the body. signal_set, signal_add:
 * the word alone. */
#include "shmem/reach.h"

/* Release: pairs with the acquire of the waits and of shmem_signal_fetch. */
ALWAYS_INLINE void raise_signal(uint64_t *word, uint64_t signal, int operation)
{
    if (operation == SHMEM_SIGNAL_SET) {
        __atomic_store_n(word, signal, __ATOMIC_RELEASE);
    } else {
        (void)__atomic_fetch_add(word, signal, __ATOMIC_RELEASE);
    }
}

/* The signal may lie in the other segment than the body. */
static void put_signal(const struct shmem_context *context, const struct shmem_signalled *put,
                       const char *call)
{
    const struct shmem_peer *peer;
    unsigned char *target;
    unsigned char *flag;
    size_t bytes = put->count * put->size;
    if (UNLIKELY(!shmem_reach(context, put->dest, bytes, put->pe, &peer, &target) ||
                 !shmem_reach_word(context, put->signal_address, put->pe, &peer, &flag) ||
                 shmem_are_too_many(put->count, put->size) || (uintptr_t)flag % 8 != 0 ||
                 (uint32_t)put->operation > SHMEM_SIGNAL_ADD)) {
        shmem_checked_put_signal(context, put, call);
        return;
    }
    if (!shmem_copy_word(target, put->source, bytes)) {
        memmove(target, put->source, bytes);
    }
    raise_signal((uint64_t *)(void *)flag, put->signal, put->operation);
    /* A sleeper watches the signal. A program that watches the body is rare, and finds it at
     * the end of a nap. */
    if (shmem_peer_calls(peer)) {
        shmem_notice(peer, flag, sizeof put->signal, call);
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

/* A signal alone. It orders nothing before it. */
static void signal_word(const struct shmem_context *context, uint64_t *address, uint64_t signal,
                        int operation, int pe, const char *call)
{
    struct shmem_signalled put = {
        .signal_address = address, .size = 1, .signal = signal, .operation = operation, .pe = pe};
    const struct shmem_peer *peer;
    unsigned char *flag;
    if (UNLIKELY(!shmem_reach_word(context, address, pe, &peer, &flag) ||
                 (uintptr_t)flag % sizeof signal != 0)) {
        shmem_checked_put_signal(context, &put, call);
        return;
    }
    raise_signal((uint64_t *)(void *)flag, signal, operation);
    if (shmem_peer_calls(peer)) {
        shmem_notice(peer, flag, sizeof signal, call);
    }
}

#define DEFINE_ALONE(NAME, OPERATION)                                             \
    SHMEM_DEFINE_BOTH(void, NAME, (uint64_t * sig_addr, uint64_t signal, int pe), \
                      signal_word(context, sig_addr, signal, OPERATION, pe, SHMEM_CALL_NAME))

DEFINE_ALONE(signal_set, SHMEM_SIGNAL_SET)
DEFINE_ALONE(signal_add, SHMEM_SIGNAL_ADD)

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
    return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

SHMEM_ALIAS(signal_fetch)
