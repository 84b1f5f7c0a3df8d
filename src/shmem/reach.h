/* The ordinary case of a transfer: two range checks, an addition, the access itself, and a
 * look at the target's call word. Inline, because a call costs as much as the work.
 *
 * Whatever is not ordinary goes to a function of checked.h as the last thing that a call
 * does, so that the ordinary case needs neither stack nor saved registers. */
#ifndef SHMEM_REACH_H
#define SHMEM_REACH_H

#include <string.h>

#include "shmem/checked.h"
#include "shmem/state.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The longest transfer that can be asked for; more is a negative number by mistake. */
#define SHMEM_BYTES_MAX ((size_t)PTRDIFF_MAX)

/* Whether so many elements are asked for; of bytes no segment has as many. */
ALWAYS_INLINE bool shmem_are_too_many(size_t count, size_t size)
{
    return size > 1 && count > SHMEM_BYTES_MAX / size;
}

/* Where an address of a segment lies at a peer. */
ALWAYS_INLINE unsigned char *shmem_at(const struct shmem_peer *peer, const void *address,
                                      int segment)
{
    return (unsigned char *)((uintptr_t)address + (uintptr_t)peer->distance[segment]);
}

/* A peer of a context that uses pointers. */
ALWAYS_INLINE const struct shmem_peer *shmem_peer_of(const struct shmem_context *context, int pe)
{
    const struct shmem_peer *peer = &context->peers[pe];
    if (context == &shmem_state.context) {
        peer = &shmem_state.near[pe];
        /* Kept in one register: the compiler would make it anew for each use, out of three. */
        __asm__("" : "+r"(peer));
    }
    return peer;
}

/* Where the object at `address` lies at that PE of the context, one of the first `count`; false
 * when there is anything to say. */
ALWAYS_INLINE bool shmem_reach_among(uint32_t count, const struct shmem_context *context,
                                     const void *address, size_t bytes, int pe,
                                     const struct shmem_peer **peer, unsigned char **place)
{
    const struct shmem_segment *heap = &shmem_state.segments[SHMEM_HEAP];
    const struct shmem_segment *statics = &shmem_state.segments[SHMEM_STATIC];
    if (UNLIKELY((uint32_t)pe >= count)) {
        return false;
    }
    *peer = shmem_peer_of(context, pe);
    uintptr_t offset = (uintptr_t)address - heap->base;
    if (LIKELY(offset < heap->bytes)) {
        *place = shmem_at(*peer, address, SHMEM_HEAP);
        return LIKELY(bytes <= heap->bytes - offset);
    }
    offset = (uintptr_t)address - statics->base;
    *place = shmem_at(*peer, address, SHMEM_STATIC);
    return LIKELY(offset < statics->bytes && bytes <= statics->bytes - offset);
}

/* For a call that writes, and looks at the peer's call word afterwards; for one that only reads. */
ALWAYS_INLINE bool shmem_reach(const struct shmem_context *context, const void *address,
                               size_t bytes, int pe, const struct shmem_peer **peer,
                               unsigned char **place)
{
    return shmem_reach_among(context->in_place_count, context, address, bytes, pe, peer, place);
}

ALWAYS_INLINE bool shmem_reach_to_read(const struct shmem_context *context, const void *address,
                                       size_t bytes, int pe, unsigned char **place)
{
    const struct shmem_peer *peer;
    return shmem_reach_among(context->read_count, context, address, bytes, pe, &peer, place);
}

/* The same for a word. Segments end with whole pages, so that an aligned word does not
 * cross their end. */
ALWAYS_INLINE bool shmem_reach_word(const struct shmem_context *context, const void *word, int pe,
                                    const struct shmem_peer **peer, unsigned char **place)
{
    return shmem_reach(context, word, 0, pe, peer, place);
}

ALWAYS_INLINE bool shmem_reach_word_to_read(const struct shmem_context *context, const void *word,
                                            int pe, unsigned char **place)
{
    return shmem_reach_to_read(context, word, 0, pe, place);
}

/* After a write: whether the target wants to be woken, or is gone. */
ALWAYS_INLINE bool shmem_peer_calls(const struct shmem_peer *peer)
{
    return UNLIKELY(atomic_load_explicit(peer->call, memory_order_relaxed) &
                    (INNER_CALL_WATCHING | INNER_CALL_GONE));
}

/* Words at any address, by one access each. */
typedef uint64_t __attribute__((may_alias, aligned(1))) shmem_word64;
typedef uint32_t __attribute__((may_alias, aligned(1))) shmem_word32;

/* A word goes by one store, so that whoever polls it never sees half of it; false when it
 * is something else. */
ALWAYS_INLINE bool shmem_copy_word(void *target, const void *source, size_t bytes)
{
    if (bytes == 8) {
        *(volatile shmem_word64 *)target = *(const volatile shmem_word64 *)source;
    } else if (bytes == 4) {
        *(volatile shmem_word32 *)target = *(const volatile shmem_word32 *)source;
    } else {
        return false;
    }
    return true;
}

#endif
