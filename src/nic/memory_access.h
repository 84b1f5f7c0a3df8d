/* How the NIC touches memory: words by single stores and atomics, blocks by one copy.
 *
 * Packet handlers, and fabrics whose CPU reaches the target itself, share this code, so that a
 * reader may see the same on both. Inline, because a call costs as much as the work. */
#ifndef NIC_MEMORY_ACCESS_H
#define NIC_MEMORY_ACCESS_H

#include <stdatomic.h>
#include <string.h>

#include "dimmnet.h"
#include "wire/operation.h"

/* An aligned word of 1, 2, 4 or 8 bytes, never torn. */
static inline void nic_store_word(unsigned char *target, uint64_t value, unsigned bytes)
{
    switch (bytes) {
    case 1: __atomic_store_n(target, (uint8_t)value, __ATOMIC_RELEASE); break;
    case 2: __atomic_store_n((uint16_t *)(void *)target, (uint16_t)value, __ATOMIC_RELEASE); break;
    case 4: __atomic_store_n((uint32_t *)(void *)target, (uint32_t)value, __ATOMIC_RELEASE); break;
    default: __atomic_store_n((uint64_t *)(void *)target, value, __ATOMIC_RELEASE); break;
    }
}

/* A block takes effect after everything before it: the release fence (no instruction on
 * x86). An aligned word goes by one store, so that a reader who polls it never sees half of
 * it. memmove, because a node may send to itself. */
static inline void nic_store_block(unsigned char *target, const void *source, size_t bytes)
{
    if (bytes == 8 && (uintptr_t)target % 8 == 0) {
        uint64_t value;
        memcpy(&value, source, 8);
        nic_store_word(target, value, 8);
    } else if (bytes == 4 && (uintptr_t)target % 4 == 0) {
        uint32_t value;
        memcpy(&value, source, 4);
        nic_store_word(target, value, 4);
    } else if (bytes != 0) {
        atomic_thread_fence(memory_order_release);
        memmove(target, source, bytes);
    }
}

/* No record that nodes read of each other is longer; anything longer is data. */
enum { NIC_WORDS_WHOLE_BYTES = 1024 };

/* Reads a block after everything that was ordered before it. In a short block, aligned words are
 * read whole, by atomics: this node's own threads may be changing them by atomics just now. A long
 * one is read by the fastest copy. */
static inline void nic_load_block(void *into, const unsigned char *source, size_t bytes)
{
    size_t at = 0;
    atomic_thread_fence(memory_order_acquire);
    if ((uintptr_t)source % 8 == 0 && bytes <= NIC_WORDS_WHOLE_BYTES) {
        for (; bytes - at >= 8; at += 8) {
            uint64_t word = __atomic_load_n((const uint64_t *)(const void *)(source + at),
                                            __ATOMIC_RELAXED);
            memcpy((unsigned char *)into + at, &word, sizeof word);
        }
        if (bytes - at >= 4) {
            uint32_t word = __atomic_load_n((const uint32_t *)(const void *)(source + at),
                                            __ATOMIC_RELAXED);
            memcpy((unsigned char *)into + at, &word, sizeof word);
            at += 4;
        }
    }
    memcpy((unsigned char *)into + at, source + at, bytes - at);
}

/* The right that an atomic operation needs. */
static inline uint32_t nic_atomic_right(enum wire_atomic function)
{
    return function == WIRE_READ ? DN_READ : DN_ATOMIC;
}

/* One atomic operation on a word; gives the old value. Acquire and release: a fetch that
 * sees a value acquires what was ordered before it. Inlined with a constant function it is
 * a single instruction. */
#define NIC_DEFINE_APPLY(suffix, type)                                                         \
    static inline type nic_apply_##suffix(type *word, enum wire_atomic function, type operand, \
                                          type expected)                                       \
    {                                                                                          \
        switch (function) {                                                                    \
        case WIRE_ADD: return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);             \
        case WIRE_AND: return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);             \
        case WIRE_OR: return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);               \
        case WIRE_XOR: return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);             \
        case WIRE_SWAP: return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);           \
        case WIRE_COMPARE_SWAP:                                                                \
            (void)__atomic_compare_exchange_n(word, &expected, operand, 0, __ATOMIC_ACQ_REL,   \
                                              __ATOMIC_ACQUIRE);                               \
            return expected;                                                                   \
        case WIRE_READ:                                                                        \
        case WIRE_ATOMICS:                                                                     \
        default: return __atomic_load_n(word, __ATOMIC_ACQUIRE);                               \
        }                                                                                      \
    }

NIC_DEFINE_APPLY(u32, uint32_t)
NIC_DEFINE_APPLY(u64, uint64_t)

/* The same on a word of 4 or 8 bytes. */
static inline uint64_t nic_apply(void *word, enum wire_atomic function, unsigned bytes,
                                 uint64_t operand, uint64_t expected)
{
    return bytes == sizeof(uint32_t)
               ? nic_apply_u32(word, function, (uint32_t)operand, (uint32_t)expected)
               : nic_apply_u64(word, function, operand, expected);
}

#endif
