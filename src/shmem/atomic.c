/* Atomics. A type's operation is that of the unsigned word of its size; the arithmetic of
 * both is the same. */
#include "shmem/reach.h"

/* The old value; `fetches` false leaves the checked way free to return before it is known.
 * With a constant operation the ordinary case is one instruction between the checks. */
#define DEFINE_RUN(SUFFIX, WORD)                                                              \
    ALWAYS_INLINE WORD run_##SUFFIX(const struct shmem_context *context, const void *dest,    \
                                    enum inner_atomic operation, WORD operand, WORD expected, \
                                    bool fetches, int pe, const char *call)                   \
    {                                                                                         \
        const struct shmem_peer *peer;                                                        \
        unsigned char *place;                                                                 \
        WORD old = 0;                                                                         \
        if (UNLIKELY(!shmem_reach_word(context, dest, pe, &peer, &place) ||                   \
                     (uintptr_t)place % sizeof(WORD) != 0)) {                                 \
            struct shmem_atomic what = {pe, sizeof(WORD), (uint8_t)operation, fetches};       \
            return (WORD)shmem_checked_atomic(context, dest, operand, expected, what, call);  \
        }                                                                                     \
        WORD *word = (WORD *)(void *)place;                                                   \
        if (operation == INNER_SWAP && !fetches) {                                            \
            __atomic_store_n(word, operand, __ATOMIC_RELEASE);                                \
        } else {                                                                              \
            old = inner_apply_##SUFFIX(word, operation, operand, expected);                   \
        }                                                                                     \
        if (operation != INNER_READ && shmem_peer_calls(peer)) {                              \
            return (WORD)shmem_notice_fetching(peer, place, sizeof(WORD), call, old);         \
        }                                                                                     \
        return old;                                                                           \
    }

DEFINE_RUN(u32, uint32_t)
DEFINE_RUN(u64, uint64_t)

/* A value as the word of its size. */
#define VALUE(TYPE)     \
    union {             \
        TYPE value;     \
        uint32_t word4; \
        uint64_t word8; \
    }

/* An expression of TYPE: the old value. */
#define RUN(TYPE, CONTEXT, DEST, OPERATION, OPERAND, EXPECTED, FETCHES, PE)                 \
    ({                                                                                      \
        VALUE(TYPE) operand_ = {.value = (OPERAND)};                                        \
        VALUE(TYPE) expected_ = {.value = (EXPECTED)};                                      \
        VALUE(TYPE) old_;                                                                   \
        if (sizeof(TYPE) == 4) {                                                            \
            old_.word4 = run_u32(CONTEXT, DEST, OPERATION, operand_.word4, expected_.word4, \
                                 FETCHES, PE, SHMEM_CALL_NAME);                             \
        } else {                                                                            \
            old_.word8 = run_u64(CONTEXT, DEST, OPERATION, operand_.word8, expected_.word8, \
                                 FETCHES, PE, SHMEM_CALL_NAME);                             \
        }                                                                                   \
        old_.value;                                                                         \
    })

/* ---- The functions --------------------------------------------------------------------- */

/* An operation with an operand: fetching, and fetching without waiting, which is the same
 * here: the value is there at return. */
#define DEFINE_FETCHING(NAME, TYPE, CALL, OPERATION)                                            \
    TYPE pshmem_##NAME##_##CALL(TYPE *dest, TYPE value, int pe)                                 \
    {                                                                                           \
        return RUN(TYPE, &shmem_state.context, dest, OPERATION, value, 0, true, pe);            \
    }                                                                                           \
    TYPE pshmem_ctx_##NAME##_##CALL(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)            \
    {                                                                                           \
        return RUN(TYPE, shmem_context_of(ctx), dest, OPERATION, value, 0, true, pe);           \
    }                                                                                           \
    void pshmem_##NAME##_##CALL##_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe)              \
    {                                                                                           \
        *fetch = RUN(TYPE, &shmem_state.context, dest, OPERATION, value, 0, true, pe);          \
    }                                                                                           \
    void pshmem_ctx_##NAME##_##CALL##_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE value, \
                                          int pe)                                               \
    {                                                                                           \
        *fetch = RUN(TYPE, shmem_context_of(ctx), dest, OPERATION, value, 0, true, pe);         \
    }                                                                                           \
    SHMEM_ALIAS(NAME##_##CALL)                                                                  \
    SHMEM_ALIAS(ctx_##NAME##_##CALL)                                                            \
    SHMEM_ALIAS(NAME##_##CALL##_nbi)                                                            \
    SHMEM_ALIAS(ctx_##NAME##_##CALL##_nbi)

/* The same that returns nothing. */
#define DEFINE_SETTING(NAME, TYPE, CALL, OPERATION)                                   \
    void pshmem_##NAME##_##CALL(TYPE *dest, TYPE value, int pe)                       \
    {                                                                                 \
        (void)RUN(TYPE, &shmem_state.context, dest, OPERATION, value, 0, false, pe);  \
    }                                                                                 \
    void pshmem_ctx_##NAME##_##CALL(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)  \
    {                                                                                 \
        (void)RUN(TYPE, shmem_context_of(ctx), dest, OPERATION, value, 0, false, pe); \
    }                                                                                 \
    SHMEM_ALIAS(NAME##_##CALL)                                                        \
    SHMEM_ALIAS(ctx_##NAME##_##CALL)

#define DEFINE_EXTENDED(NAME, TYPE, A, B)                                                       \
    TYPE pshmem_##NAME##_atomic_fetch(const TYPE *source, int pe)                               \
    {                                                                                           \
        return RUN(TYPE, &shmem_state.context, source, INNER_READ, 0, 0, true, pe);             \
    }                                                                                           \
    TYPE pshmem_ctx_##NAME##_atomic_fetch(shmem_ctx_t ctx, const TYPE *source, int pe)          \
    {                                                                                           \
        return RUN(TYPE, shmem_context_of(ctx), source, INNER_READ, 0, 0, true, pe);            \
    }                                                                                           \
    void pshmem_##NAME##_atomic_fetch_nbi(TYPE *fetch, const TYPE *source, int pe)              \
    {                                                                                           \
        *fetch = RUN(TYPE, &shmem_state.context, source, INNER_READ, 0, 0, true, pe);           \
    }                                                                                           \
    void pshmem_ctx_##NAME##_atomic_fetch_nbi(shmem_ctx_t ctx, TYPE *fetch, const TYPE *source, \
                                              int pe)                                           \
    {                                                                                           \
        *fetch = RUN(TYPE, shmem_context_of(ctx), source, INNER_READ, 0, 0, true, pe);          \
    }                                                                                           \
    SHMEM_ALIAS(NAME##_atomic_fetch)                                                            \
    SHMEM_ALIAS(ctx_##NAME##_atomic_fetch)                                                      \
    SHMEM_ALIAS(NAME##_atomic_fetch_nbi)                                                        \
    SHMEM_ALIAS(ctx_##NAME##_atomic_fetch_nbi)                                                  \
    DEFINE_SETTING(NAME, TYPE, atomic_set, INNER_SWAP)                                          \
    DEFINE_FETCHING(NAME, TYPE, atomic_swap, INNER_SWAP)

#define DEFINE_COMPARE_SWAP(NAME, TYPE)                                                            \
    TYPE pshmem_##NAME##_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe)            \
    {                                                                                              \
        return RUN(TYPE, &shmem_state.context, dest, INNER_COMPARE_SWAP, value, cond, true, pe);   \
    }                                                                                              \
    TYPE pshmem_ctx_##NAME##_atomic_compare_swap(shmem_ctx_t ctx, TYPE *dest, TYPE cond,           \
                                                 TYPE value, int pe)                               \
    {                                                                                              \
        return RUN(TYPE, shmem_context_of(ctx), dest, INNER_COMPARE_SWAP, value, cond, true, pe);  \
    }                                                                                              \
    void pshmem_##NAME##_atomic_compare_swap_nbi(TYPE *fetch, TYPE *dest, TYPE cond, TYPE value,   \
                                                 int pe)                                           \
    {                                                                                              \
        *fetch = RUN(TYPE, &shmem_state.context, dest, INNER_COMPARE_SWAP, value, cond, true, pe); \
    }                                                                                              \
    void pshmem_ctx_##NAME##_atomic_compare_swap_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest,     \
                                                     TYPE cond, TYPE value, int pe)                \
    {                                                                                              \
        *fetch = RUN(TYPE, shmem_context_of(ctx), dest, INNER_COMPARE_SWAP, value, cond, true,     \
                     pe);                                                                          \
    }                                                                                              \
    SHMEM_ALIAS(NAME##_atomic_compare_swap)                                                        \
    SHMEM_ALIAS(ctx_##NAME##_atomic_compare_swap)                                                  \
    SHMEM_ALIAS(NAME##_atomic_compare_swap_nbi)                                                    \
    SHMEM_ALIAS(ctx_##NAME##_atomic_compare_swap_nbi)

#define DEFINE_INCREMENT(NAME, TYPE)                                                        \
    TYPE pshmem_##NAME##_atomic_fetch_inc(TYPE *dest, int pe)                               \
    {                                                                                       \
        return RUN(TYPE, &shmem_state.context, dest, INNER_ADD, 1, 0, true, pe);            \
    }                                                                                       \
    TYPE pshmem_ctx_##NAME##_atomic_fetch_inc(shmem_ctx_t ctx, TYPE *dest, int pe)          \
    {                                                                                       \
        return RUN(TYPE, shmem_context_of(ctx), dest, INNER_ADD, 1, 0, true, pe);           \
    }                                                                                       \
    void pshmem_##NAME##_atomic_fetch_inc_nbi(TYPE *fetch, TYPE *dest, int pe)              \
    {                                                                                       \
        *fetch = RUN(TYPE, &shmem_state.context, dest, INNER_ADD, 1, 0, true, pe);          \
    }                                                                                       \
    void pshmem_ctx_##NAME##_atomic_fetch_inc_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, \
                                                  int pe)                                   \
    {                                                                                       \
        *fetch = RUN(TYPE, shmem_context_of(ctx), dest, INNER_ADD, 1, 0, true, pe);         \
    }                                                                                       \
    void pshmem_##NAME##_atomic_inc(TYPE *dest, int pe)                                     \
    {                                                                                       \
        (void)RUN(TYPE, &shmem_state.context, dest, INNER_ADD, 1, 0, false, pe);            \
    }                                                                                       \
    void pshmem_ctx_##NAME##_atomic_inc(shmem_ctx_t ctx, TYPE *dest, int pe)                \
    {                                                                                       \
        (void)RUN(TYPE, shmem_context_of(ctx), dest, INNER_ADD, 1, 0, false, pe);           \
    }                                                                                       \
    SHMEM_ALIAS(NAME##_atomic_fetch_inc)                                                    \
    SHMEM_ALIAS(ctx_##NAME##_atomic_fetch_inc)                                              \
    SHMEM_ALIAS(NAME##_atomic_fetch_inc_nbi)                                                \
    SHMEM_ALIAS(ctx_##NAME##_atomic_fetch_inc_nbi)                                          \
    SHMEM_ALIAS(NAME##_atomic_inc)                                                          \
    SHMEM_ALIAS(ctx_##NAME##_atomic_inc)

#define DEFINE_STANDARD(NAME, TYPE, A, B)                    \
    DEFINE_COMPARE_SWAP(NAME, TYPE)                          \
    DEFINE_INCREMENT(NAME, TYPE)                             \
    DEFINE_FETCHING(NAME, TYPE, atomic_fetch_add, INNER_ADD) \
    DEFINE_SETTING(NAME, TYPE, atomic_add, INNER_ADD)

#define DEFINE_BITWISE(NAME, TYPE, A, B)                     \
    DEFINE_FETCHING(NAME, TYPE, atomic_fetch_and, INNER_AND) \
    DEFINE_SETTING(NAME, TYPE, atomic_and, INNER_AND)        \
    DEFINE_FETCHING(NAME, TYPE, atomic_fetch_or, INNER_OR)   \
    DEFINE_SETTING(NAME, TYPE, atomic_or, INNER_OR)          \
    DEFINE_FETCHING(NAME, TYPE, atomic_fetch_xor, INNER_XOR) \
    DEFINE_SETTING(NAME, TYPE, atomic_xor, INNER_XOR)

SHMEM_AMO_EXTENDED_TYPES(DEFINE_EXTENDED, , )
SHMEM_AMO_STANDARD_TYPES(DEFINE_STANDARD, , )
SHMEM_AMO_BITWISE_TYPES(DEFINE_BITWISE, , )

/* ---- Deprecated names -------------------------------------------------------------------- */

#define DEFINE_OLD_EXTENDED(NAME, TYPE, A, B)                                         \
    TYPE pshmem_##NAME##_fetch(const TYPE *source, int pe)                            \
    {                                                                                 \
        return RUN(TYPE, &shmem_state.context, source, INNER_READ, 0, 0, true, pe);   \
    }                                                                                 \
    void pshmem_##NAME##_set(TYPE *dest, TYPE value, int pe)                          \
    {                                                                                 \
        (void)RUN(TYPE, &shmem_state.context, dest, INNER_SWAP, value, 0, false, pe); \
    }                                                                                 \
    TYPE pshmem_##NAME##_swap(TYPE *dest, TYPE value, int pe)                         \
    {                                                                                 \
        return RUN(TYPE, &shmem_state.context, dest, INNER_SWAP, value, 0, true, pe); \
    }                                                                                 \
    SHMEM_ALIAS(NAME##_fetch)                                                         \
    SHMEM_ALIAS(NAME##_set)                                                           \
    SHMEM_ALIAS(NAME##_swap)

#define DEFINE_OLD_STANDARD(NAME, TYPE, A, B)                                                    \
    TYPE pshmem_##NAME##_cswap(TYPE *dest, TYPE cond, TYPE value, int pe)                        \
    {                                                                                            \
        return RUN(TYPE, &shmem_state.context, dest, INNER_COMPARE_SWAP, value, cond, true, pe); \
    }                                                                                            \
    TYPE pshmem_##NAME##_finc(TYPE *dest, int pe)                                                \
    {                                                                                            \
        return RUN(TYPE, &shmem_state.context, dest, INNER_ADD, 1, 0, true, pe);                 \
    }                                                                                            \
    void pshmem_##NAME##_inc(TYPE *dest, int pe)                                                 \
    {                                                                                            \
        (void)RUN(TYPE, &shmem_state.context, dest, INNER_ADD, 1, 0, false, pe);                 \
    }                                                                                            \
    TYPE pshmem_##NAME##_fadd(TYPE *dest, TYPE value, int pe)                                    \
    {                                                                                            \
        return RUN(TYPE, &shmem_state.context, dest, INNER_ADD, value, 0, true, pe);             \
    }                                                                                            \
    void pshmem_##NAME##_add(TYPE *dest, TYPE value, int pe)                                     \
    {                                                                                            \
        (void)RUN(TYPE, &shmem_state.context, dest, INNER_ADD, value, 0, false, pe);             \
    }                                                                                            \
    SHMEM_ALIAS(NAME##_cswap)                                                                    \
    SHMEM_ALIAS(NAME##_finc)                                                                     \
    SHMEM_ALIAS(NAME##_inc)                                                                      \
    SHMEM_ALIAS(NAME##_fadd)                                                                     \
    SHMEM_ALIAS(NAME##_add)

SHMEM_AMO_OLD_EXTENDED_TYPES(DEFINE_OLD_EXTENDED, , )
SHMEM_AMO_OLD_STANDARD_TYPES(DEFINE_OLD_STANDARD, , )
