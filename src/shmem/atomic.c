/* Atomics. A type's operation is that of the unsigned word of its size; the arithmetic of
 * both is the same. */
#include "shmem/reach.h"

/* The old value; `fetches` false leaves the checked way free to return before it is known.
 * With a constant operation the ordinary case is one instruction between the checks. */
#define DEFINE_RUN(SUFFIX, WORD)                                                                  \
    ALWAYS_INLINE WORD run_##SUFFIX(const struct shmem_context *context, const void *dest,        \
                                    enum inner_atomic operation, WORD operand, WORD expected,     \
                                    bool fetches, int pe, const char *call)                       \
    {                                                                                             \
        const struct shmem_peer *peer;                                                            \
        unsigned char *place;                                                                     \
        WORD old = 0;                                                                             \
        uint32_t count = operation == INNER_READ ? context->read_count : context->in_place_count; \
        if (UNLIKELY(!shmem_reach_among(count, context, dest, 0, pe, &peer, &place) ||            \
                     (uintptr_t)place % sizeof(WORD) != 0)) {                                     \
            struct shmem_atomic what = {pe, sizeof(WORD), (uint8_t)operation, fetches};           \
            return (WORD)shmem_checked_atomic(context, dest, operand, expected, what, call);      \
        }                                                                                         \
        WORD *word = (WORD *)(void *)place;                                                       \
        if (operation == INNER_SWAP && !fetches) {                                                \
            __atomic_store_n(word, operand, __ATOMIC_RELEASE);                                    \
        } else {                                                                                  \
            old = inner_apply_##SUFFIX(word, operation, operand, expected);                       \
        }                                                                                         \
        if (operation != INNER_READ && shmem_peer_calls(peer)) {                                  \
            return (WORD)shmem_notice_fetching(peer, place, sizeof(WORD), call, old);             \
        }                                                                                         \
        return old;                                                                               \
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

/* An expression of TYPE, the old value, in a function with `context` and `pe`. */
#define RUN(TYPE, DEST, OPERATION, OPERAND, EXPECTED, FETCHES)                              \
    ({                                                                                      \
        VALUE(TYPE) operand_ = {.value = (OPERAND)};                                        \
        VALUE(TYPE) expected_ = {.value = (EXPECTED)};                                      \
        VALUE(TYPE) old_;                                                                   \
        if (sizeof(TYPE) == 4) {                                                            \
            old_.word4 = run_u32(context, DEST, OPERATION, operand_.word4, expected_.word4, \
                                 FETCHES, pe, SHMEM_CALL_NAME);                             \
        } else {                                                                            \
            old_.word8 = run_u64(context, DEST, OPERATION, operand_.word8, expected_.word8, \
                                 FETCHES, pe, SHMEM_CALL_NAME);                             \
        }                                                                                   \
        old_.value;                                                                         \
    })

/* ---- The functions --------------------------------------------------------------------- */

/* What the arguments give besides `pe`. */
#define READ(TYPE) RUN(TYPE, source, INNER_READ, 0, 0, true)
#define COMPARE_SWAP(TYPE) RUN(TYPE, dest, INNER_COMPARE_SWAP, value, cond, true)
#define FETCH(TYPE, OPERATION, OPERAND) RUN(TYPE, dest, OPERATION, OPERAND, 0, true)
#define DO(TYPE, OPERATION, OPERAND) (void)RUN(TYPE, dest, OPERATION, OPERAND, 0, false)

/* An operation that fetches: returning the old value, and without waiting for it, which is the
 * same here: the value is there at return. */
#define DEFINE_FETCHING(TYPE, NAME, PARAMETERS, OLD)      \
    SHMEM_DEFINE_BOTH(TYPE, NAME, PARAMETERS, return OLD) \
    SHMEM_DEFINE_BOTH(void, NAME##_nbi, (TYPE * fetch, SHMEM_UNPACK PARAMETERS), *fetch = OLD)

/* An operation with a value, which fetches or not. */
#define DEFINE_OPERATION(NAME, TYPE, CALL, OPERATION)                                    \
    DEFINE_FETCHING(TYPE, NAME##_atomic_fetch_##CALL, (TYPE * dest, TYPE value, int pe), \
                    FETCH(TYPE, OPERATION, value))                                       \
    SHMEM_DEFINE_BOTH(void, NAME##_atomic_##CALL, (TYPE * dest, TYPE value, int pe),     \
                      DO(TYPE, OPERATION, value))

#define DEFINE_EXTENDED(NAME, TYPE, A, B)                                                \
    DEFINE_FETCHING(TYPE, NAME##_atomic_fetch, (const TYPE *source, int pe), READ(TYPE)) \
    SHMEM_DEFINE_BOTH(void, NAME##_atomic_set, (TYPE * dest, TYPE value, int pe),        \
                      DO(TYPE, INNER_SWAP, value))                                       \
    DEFINE_FETCHING(TYPE, NAME##_atomic_swap, (TYPE * dest, TYPE value, int pe),         \
                    FETCH(TYPE, INNER_SWAP, value))

#define DEFINE_STANDARD(NAME, TYPE, A, B)                                                     \
    DEFINE_FETCHING(TYPE, NAME##_atomic_compare_swap,                                         \
                    (TYPE * dest, TYPE cond, TYPE value, int pe), COMPARE_SWAP(TYPE))         \
    DEFINE_FETCHING(TYPE, NAME##_atomic_fetch_inc, (TYPE * dest, int pe),                     \
                    FETCH(TYPE, INNER_ADD, 1))                                                \
    SHMEM_DEFINE_BOTH(void, NAME##_atomic_inc, (TYPE * dest, int pe), DO(TYPE, INNER_ADD, 1)) \
    DEFINE_OPERATION(NAME, TYPE, add, INNER_ADD)

#define DEFINE_BITWISE(NAME, TYPE, A, B)         \
    DEFINE_OPERATION(NAME, TYPE, and, INNER_AND) \
    DEFINE_OPERATION(NAME, TYPE, or, INNER_OR)   \
    DEFINE_OPERATION(NAME, TYPE, xor, INNER_XOR)

SHMEM_AMO_EXTENDED_TYPES(DEFINE_EXTENDED, , )
SHMEM_AMO_STANDARD_TYPES(DEFINE_STANDARD, , )
SHMEM_AMO_BITWISE_TYPES(DEFINE_BITWISE, , )

/* ---- Deprecated names -------------------------------------------------------------------- */

#define DEFINE_OLD(RETURNS, NAME, PARAMETERS, STATEMENT) \
    SHMEM_DEFINE_ON(&shmem_state.context, RETURNS, NAME, PARAMETERS, STATEMENT)

#define DEFINE_OLD_EXTENDED(NAME, TYPE, A, B)                                                    \
    DEFINE_OLD(TYPE, NAME##_fetch, (const TYPE *source, int pe), return READ(TYPE))              \
    DEFINE_OLD(void, NAME##_set, (TYPE * dest, TYPE value, int pe), DO(TYPE, INNER_SWAP, value)) \
    DEFINE_OLD(TYPE, NAME##_swap, (TYPE * dest, TYPE value, int pe),                             \
               return FETCH(TYPE, INNER_SWAP, value))

#define DEFINE_OLD_STANDARD(NAME, TYPE, A, B)                                              \
    DEFINE_OLD(TYPE, NAME##_cswap, (TYPE * dest, TYPE cond, TYPE value, int pe),           \
               return COMPARE_SWAP(TYPE))                                                  \
    DEFINE_OLD(TYPE, NAME##_finc, (TYPE * dest, int pe), return FETCH(TYPE, INNER_ADD, 1)) \
    DEFINE_OLD(void, NAME##_inc, (TYPE * dest, int pe), DO(TYPE, INNER_ADD, 1))            \
    DEFINE_OLD(TYPE, NAME##_fadd, (TYPE * dest, TYPE value, int pe),                       \
               return FETCH(TYPE, INNER_ADD, value))                                       \
    DEFINE_OLD(void, NAME##_add, (TYPE * dest, TYPE value, int pe), DO(TYPE, INNER_ADD, value))

SHMEM_AMO_EXTENDED_TYPES(DEFINE_OLD_EXTENDED, , )
SHMEM_AMO_STANDARD_TYPES(DEFINE_OLD_STANDARD, , )
