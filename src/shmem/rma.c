/* put, get, p, g, iput, iget, ibput, ibget: of types, of sizes, of bytes; on the default context
 * and on others; blocking and not. One table line gives all functions of a type. */
#include "shmem/reach.h"

/* memmove, because a PE may send to itself; not for nothing, which may come from a null
 * pointer. A function of its own, so that words need no stack. */
static __attribute__((noinline)) void put_block(unsigned char *target, const void *source,
                                                size_t bytes, const struct shmem_peer *peer,
                                                const char *call)
{
    if (bytes == 0) {
        return;
    }
    memmove(target, source, bytes);
    if (shmem_peer_calls(peer)) {
        shmem_notice(peer, target, bytes, call);
    }
}

/* On memory that this CPU reaches, a blocking and a non-blocking transfer are the same. */
ALWAYS_INLINE void put(const struct shmem_context *context, void *dest, const void *source,
                       size_t count, size_t size, int pe, shmem_transfer *checked, const char *call)
{
    const struct shmem_peer *peer;
    unsigned char *target;
    size_t bytes = count * size;
    if (UNLIKELY(!shmem_reach(context, dest, bytes, pe, &peer, &target) ||
                 shmem_are_too_many(count, size))) {
        checked(context, dest, source, count, size, pe, call);
        return;
    }
    if (!shmem_copy_word(target, source, bytes)) {
        put_block(target, source, bytes, peer, call);
    } else if (shmem_peer_calls(peer)) {
        shmem_notice(peer, target, bytes, call);
    }
}

ALWAYS_INLINE void get(const struct shmem_context *context, void *dest, const void *source,
                       size_t count, size_t size, int pe, shmem_transfer *checked, const char *call)
{
    unsigned char *origin;
    size_t bytes = count * size;
    if (UNLIKELY(!shmem_reach_to_read(context, source, bytes, pe, &origin) ||
                 shmem_are_too_many(count, size))) {
        checked(context, dest, source, count, size, pe, call);
        return;
    }
    if (!shmem_copy_word(dest, origin, bytes) && bytes != 0) {
        memmove(dest, origin, bytes);
    }
}

/* One element. A word is one store or load, and travels in a register also on the checked
 * way; acquire, because programs poll by it. */
#define DEFINE_WORD(WORD)                                                                          \
    ALWAYS_INLINE void put_##WORD(const struct shmem_context *context, void *dest, WORD value,     \
                                  int pe, const char *call)                                        \
    {                                                                                              \
        const struct shmem_peer *peer;                                                             \
        unsigned char *target;                                                                     \
        if (UNLIKELY(!shmem_reach_word(context, dest, pe, &peer, &target))) {                      \
            shmem_checked_p(context, dest, value, sizeof value, pe, call);                         \
            return;                                                                                \
        }                                                                                          \
        __atomic_store_n((WORD *)(void *)target, value, __ATOMIC_RELAXED);                         \
        if (shmem_peer_calls(peer)) {                                                              \
            shmem_notice(peer, target, sizeof value, call);                                        \
        }                                                                                          \
    }                                                                                              \
    ALWAYS_INLINE WORD get_##WORD(const struct shmem_context *context, const void *source, int pe, \
                                  const char *call)                                                \
    {                                                                                              \
        unsigned char *origin;                                                                     \
        if (UNLIKELY(!shmem_reach_word_to_read(context, source, pe, &origin))) {                   \
            return (WORD)shmem_checked_g(context, source, sizeof(WORD), pe, call);                 \
        }                                                                                          \
        return __atomic_load_n((WORD *)(void *)origin, __ATOMIC_ACQUIRE);                          \
    }

DEFINE_WORD(uint8_t)
DEFINE_WORD(uint16_t)
DEFINE_WORD(uint32_t)
DEFINE_WORD(uint64_t)

/* An element of any type, as the word of its size. */
#define ELEMENT(TYPE)   \
    union {             \
        TYPE value;     \
        uint8_t word1;  \
        uint16_t word2; \
        uint32_t word4; \
        uint64_t word8; \
    }

/* What a function with `context` and `pe` does with an element. */
#define PUT_ELEMENT(TYPE, DEST, VALUE)                                                         \
    ELEMENT(TYPE) element = {.value = (VALUE)};                                                \
    switch (sizeof(TYPE)) {                                                                    \
    case 1: put_uint8_t(context, DEST, element.word1, pe, SHMEM_CALL_NAME); break;             \
    case 2: put_uint16_t(context, DEST, element.word2, pe, SHMEM_CALL_NAME); break;            \
    case 4: put_uint32_t(context, DEST, element.word4, pe, SHMEM_CALL_NAME); break;            \
    case 8: put_uint64_t(context, DEST, element.word8, pe, SHMEM_CALL_NAME); break;            \
    default:                                                                                   \
        put(context, DEST, &element, 1, sizeof(TYPE), pe, shmem_checked_put, SHMEM_CALL_NAME); \
    }

#define GET_ELEMENT(TYPE, SOURCE)                                                                \
    ELEMENT(TYPE) element;                                                                       \
    switch (sizeof(TYPE)) {                                                                      \
    case 1: element.word1 = get_uint8_t(context, SOURCE, pe, SHMEM_CALL_NAME); break;            \
    case 2: element.word2 = get_uint16_t(context, SOURCE, pe, SHMEM_CALL_NAME); break;           \
    case 4: element.word4 = get_uint32_t(context, SOURCE, pe, SHMEM_CALL_NAME); break;           \
    case 8: element.word8 = get_uint64_t(context, SOURCE, pe, SHMEM_CALL_NAME); break;           \
    default:                                                                                     \
        get(context, &element, SOURCE, 1, sizeof(TYPE), pe, shmem_checked_get, SHMEM_CALL_NAME); \
    }                                                                                            \
    return element.value

/* Blocks of a constant size, `to_step` and `from_step` bytes apart. */
ALWAYS_INLINE void copy_strided(unsigned char *to, const unsigned char *from, size_t to_step,
                                size_t from_step, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        memmove(to, from, size);
        to += to_step;
        from += from_step;
    }
}

/* Single elements are the ordinary case. */
static void copy_blocks(unsigned char *to, const unsigned char *from,
                        const struct shmem_strided *strided)
{
    size_t bytes = strided->block * strided->size;
    size_t to_step = (size_t)strided->dst * strided->size;
    size_t from_step = (size_t)strided->sst * strided->size;
    switch (bytes) {
    case 1: copy_strided(to, from, to_step, from_step, strided->count, 1); break;
    case 2: copy_strided(to, from, to_step, from_step, strided->count, 2); break;
    case 4: copy_strided(to, from, to_step, from_step, strided->count, 4); break;
    case 8: copy_strided(to, from, to_step, from_step, strided->count, 8); break;
    case 16: copy_strided(to, from, to_step, from_step, strided->count, 16); break;
    default: copy_strided(to, from, to_step, from_step, strided->count, bytes); break;
    }
}

static void iput(const struct shmem_context *context, const struct shmem_strided *strided,
                 const char *call)
{
    const struct shmem_peer *peer;
    size_t bytes;
    unsigned char *target;
    if (UNLIKELY(shmem_is_empty(strided) || strided->sst < (ptrdiff_t)strided->block ||
                 !shmem_stride_bytes(strided->dst, strided, &bytes) ||
                 !shmem_reach(context, strided->dest, bytes, strided->pe, &peer, &target))) {
        shmem_checked_iput(context, strided, call);
        return;
    }
    copy_blocks(target, strided->source, strided);
    if (shmem_peer_calls(peer)) {
        shmem_notice(peer, target, bytes, call);
    }
}

static void iget(const struct shmem_context *context, const struct shmem_strided *strided,
                 const char *call)
{
    size_t bytes;
    unsigned char *origin;
    if (UNLIKELY(shmem_is_empty(strided) || strided->dst < (ptrdiff_t)strided->block ||
                 !shmem_stride_bytes(strided->sst, strided, &bytes) ||
                 !shmem_reach_to_read(context, strided->source, bytes, strided->pe, &origin))) {
        shmem_checked_iget(context, strided, call);
        return;
    }
    copy_blocks(strided->dest, origin, strided);
}

/* ---- The functions ------------------------------------------------------------------- */

#define DEFINE_TRANSFER(WAY, NAME, CAREFUL, TYPE, SIZE)                                     \
    SHMEM_DEFINE_BOTH(void, NAME, (TYPE * dest, const TYPE *source, size_t nelems, int pe), \
                      WAY(context, dest, source, nelems, SIZE, pe, CAREFUL, SHMEM_CALL_NAME))

#define DEFINE_STRIDED(WAY, NAME, BLOCKS, TYPE, SIZE)                                           \
    SHMEM_DEFINE_BOTH(                                                                          \
        void, NAME,                                                                             \
        (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
        struct shmem_strided strided = {dest, source, dst, sst, 1, nelems, SIZE, pe};           \
        WAY(context, &strided, SHMEM_CALL_NAME))                                                \
    DEFINE_BLOCKS(WAY, BLOCKS, TYPE, SIZE)

#define DEFINE_BLOCKS(WAY, NAME, TYPE, SIZE)                                               \
    SHMEM_DEFINE_BOTH(                                                                     \
        void, NAME,                                                                        \
        (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,      \
         size_t nblocks, int pe),                                                          \
        struct shmem_strided strided = {dest, source, dst, sst, bsize, nblocks, SIZE, pe}; \
        WAY(context, &strided, SHMEM_CALL_NAME))

#define DEFINE_TYPED(NAME, TYPE, A, B)                                              \
    DEFINE_TRANSFER(put, NAME##_put, shmem_checked_put, TYPE, sizeof(TYPE))         \
    DEFINE_TRANSFER(get, NAME##_get, shmem_checked_get, TYPE, sizeof(TYPE))         \
    DEFINE_TRANSFER(put, NAME##_put_nbi, shmem_checked_put_nbi, TYPE, sizeof(TYPE)) \
    DEFINE_TRANSFER(get, NAME##_get_nbi, shmem_checked_get_nbi, TYPE, sizeof(TYPE)) \
    DEFINE_STRIDED(iput, NAME##_iput, NAME##_ibput, TYPE, sizeof(TYPE))             \
    DEFINE_STRIDED(iget, NAME##_iget, NAME##_ibget, TYPE, sizeof(TYPE))             \
    SHMEM_DEFINE_BOTH(void, NAME##_p, (TYPE * dest, TYPE value, int pe),            \
                      PUT_ELEMENT(TYPE, dest, value))                               \
    SHMEM_DEFINE_BOTH(TYPE, NAME##_g, (const TYPE *source, int pe), GET_ELEMENT(TYPE, source))

#define DEFINE_CONTIGUOUS(SIZE, BYTES)                                        \
    DEFINE_TRANSFER(put, put##SIZE, shmem_checked_put, void, BYTES)           \
    DEFINE_TRANSFER(get, get##SIZE, shmem_checked_get, void, BYTES)           \
    DEFINE_TRANSFER(put, put##SIZE##_nbi, shmem_checked_put_nbi, void, BYTES) \
    DEFINE_TRANSFER(get, get##SIZE##_nbi, shmem_checked_get_nbi, void, BYTES)

#define DEFINE_SIZED(SIZE, BYTES, A, B)                        \
    DEFINE_CONTIGUOUS(SIZE, BYTES)                             \
    DEFINE_STRIDED(iput, iput##SIZE, ibput##SIZE, void, BYTES) \
    DEFINE_STRIDED(iget, iget##SIZE, ibget##SIZE, void, BYTES)

SHMEM_RMA_TYPES(DEFINE_TYPED, , )
SHMEM_SIZES(DEFINE_SIZED, , )
DEFINE_CONTIGUOUS(mem, 1)
