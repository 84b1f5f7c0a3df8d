/* What every folder uses: branch hints, alignment arithmetic, assertions that stay
 * on in release builds. No policy, no I/O. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The unit of memory that cores exchange. 64 on x86; some ARM cores use 128, where two of our
 * lines share one of theirs, which is merely slower. */
#define CACHE_LINE_BYTES 64

/* A broken invariant: a bug of this library, never of its caller. */
#define INVARIANT(condition)       \
    do {                           \
        if (UNLIKELY(!(condition))) { \
            __builtin_trap();      \
        }                          \
    } while (0)

/* For a function that reads or changes what another thread may be using at this moment, and whose
 * callers take what it sees for a hint at most: the race is meant, so TSan must not report it. */
#define MEANT_TO_RACE __attribute__((no_sanitize("thread")))

static inline bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Rounds up to a multiple of a power of two; false when that does not fit. */
static inline bool round_up(uint64_t value, uint64_t multiple, uint64_t *rounded)
{
    uint64_t sum;
    if (__builtin_add_overflow(value, multiple - 1, &sum)) {
        return false;
    }
    *rounded = sum & ~(multiple - 1);
    return true;
}

/* Fetches a line that is going to be written: a load would first get it shared, and the
 * write would travel once more. */
static inline void prefetch_to_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Tells the core that this is a spin loop; costs about 25 ns on Zen 4. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* A gap of a few nanoseconds between two polls. Without any, the core has loads of the
 * polled line in flight when it changes, and throws them all away; with a pause, the
 * change is seen up to 25 ns late, which is a good part of a round trip. */
static inline void cpu_relax_briefly(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("lfence; lfence; lfence; lfence" ::: "memory");
#else
    cpu_relax();
#endif
}

#endif
