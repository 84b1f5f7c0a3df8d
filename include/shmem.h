/* shmem.h: OpenSHMEM 1.6 on DIMMnet.
 *
 * The tables below declare the typed functions, one line for each type. Every function has a
 * second name, pshmem_..., so that tools can put their own function in front of the shmem_ one.
 * In C11 and later, and in C++, a name without a type chooses the function by the types of its
 * arguments.
 *
 * The OpenSHMEM specification says what each call does and promises; shmem(7) says what is
 * particular to this library. */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

/* Calls take a few nanoseconds, so they go straight to the function, without the linker's stub. */
#ifdef __has_attribute
#if __has_attribute(noplt)
#define SHMEM_CALL __attribute__((noplt))
#endif
#endif
#ifndef SHMEM_CALL
#define SHMEM_CALL
#endif

#if defined(__cplusplus)
#define SHMEM_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEM_NORETURN _Noreturn
#else
#define SHMEM_NORETURN __attribute__((noreturn))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants and handles ------------------------------------------------ */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "DIMMnet"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_GE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_LE 5

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)

/* Of sessions: an option, and a field of the configuration. */
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)

#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

/* Work arrays of the collectives on active sets. They are neither read nor written. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

typedef struct shmem_context *shmem_ctx_t;
typedef struct shmem_team *shmem_team_t;

typedef struct {
    int num_contexts;
} shmem_team_config_t;

typedef struct {
    size_t total_ops; /* SIZE_MAX unless given: not known */
} shmem_ctx_session_config_t;

/* A C++ program has these casts in lines of its own, and may be compiled with warnings of casts in
 * C's style and of 0 as a null pointer. */
#ifdef __cplusplus
#define SHMEM_NO_HANDLE(TYPE) (static_cast<TYPE>(nullptr))
#define SHMEM_HANDLE(TYPE, NUMBER) (reinterpret_cast<TYPE>(static_cast<uintptr_t>(NUMBER)))
#else
#define SHMEM_NO_HANDLE(TYPE) ((TYPE)0)
#define SHMEM_HANDLE(TYPE, NUMBER) ((TYPE)(NUMBER))
#endif

#define SHMEM_CTX_INVALID SHMEM_NO_HANDLE(shmem_ctx_t)
#define SHMEM_CTX_DEFAULT SHMEM_HANDLE(shmem_ctx_t, 1)

#define SHMEM_TEAM_INVALID SHMEM_NO_HANDLE(shmem_team_t)
#define SHMEM_TEAM_WORLD SHMEM_HANDLE(shmem_team_t, 1)
#define SHMEM_TEAM_SHARED SHMEM_HANDLE(shmem_team_t, 2)

/* Names of older specifications. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* ---- The tables of types --------------------------------------------------- */

/* Each calls X(name in function names, C type, A, B); A and B are the caller's own. */

#define SHMEM_RMA_TYPES(X, A, B)      \
    SHMEM_RMA_DISTINCT_TYPES(X, A, B) \
    X(int8, int8_t, A, B)             \
    X(int16, int16_t, A, B)           \
    X(int32, int32_t, A, B)           \
    X(int64, int64_t, A, B)           \
    X(uint8, uint8_t, A, B)           \
    X(uint16, uint16_t, A, B)         \
    X(uint32, uint32_t, A, B)         \
    X(uint64, uint64_t, A, B)         \
    X(size, size_t, A, B)             \
    X(ptrdiff, ptrdiff_t, A, B)

/* The types that C tells apart; a generic name chooses from these. */
#define SHMEM_RMA_DISTINCT_TYPES(X, A, B) \
    X(float, float, A, B)                 \
    X(double, double, A, B)               \
    X(longdouble, long double, A, B)      \
    X(char, char, A, B)                   \
    X(schar, signed char, A, B)           \
    X(short, short, A, B)                 \
    X(int, int, A, B)                     \
    X(long, long, A, B)                   \
    X(longlong, long long, A, B)          \
    X(uchar, unsigned char, A, B)         \
    X(ushort, unsigned short, A, B)       \
    X(uint, unsigned int, A, B)           \
    X(ulong, unsigned long, A, B)         \
    X(ulonglong, unsigned long long, A, B)

/* X(bits, bytes, A, B) */
#define SHMEM_SIZES(X, A, B) \
    X(8, 1, A, B)            \
    X(16, 2, A, B)           \
    X(32, 4, A, B)           \
    X(64, 8, A, B)           \
    X(128, 16, A, B)

#define SHMEM_AMO_STANDARD_TYPES(X, A, B)      \
    SHMEM_AMO_STANDARD_DISTINCT_TYPES(X, A, B) \
    X(int32, int32_t, A, B)                    \
    X(int64, int64_t, A, B)                    \
    X(uint32, uint32_t, A, B)                  \
    X(uint64, uint64_t, A, B)                  \
    X(size, size_t, A, B)                      \
    X(ptrdiff, ptrdiff_t, A, B)

#define SHMEM_AMO_STANDARD_DISTINCT_TYPES(X, A, B) \
    X(int, int, A, B)                              \
    X(long, long, A, B)                            \
    X(longlong, long long, A, B)                   \
    X(uint, unsigned int, A, B)                    \
    X(ulong, unsigned long, A, B)                  \
    X(ulonglong, unsigned long long, A, B)

/* Fetch, set and swap alone. */
#define SHMEM_AMO_REAL_TYPES(X, A, B) \
    X(float, float, A, B)             \
    X(double, double, A, B)

#define SHMEM_AMO_EXTENDED_TYPES(X, A, B) \
    SHMEM_AMO_STANDARD_TYPES(X, A, B)     \
    SHMEM_AMO_REAL_TYPES(X, A, B)

#define SHMEM_AMO_EXTENDED_DISTINCT_TYPES(X, A, B) \
    SHMEM_AMO_STANDARD_DISTINCT_TYPES(X, A, B)     \
    SHMEM_AMO_REAL_TYPES(X, A, B)

#define SHMEM_AMO_BITWISE_TYPES(X, A, B)      \
    SHMEM_AMO_BITWISE_DISTINCT_TYPES(X, A, B) \
    X(uint32, uint32_t, A, B)                 \
    X(uint64, uint64_t, A, B)

#define SHMEM_AMO_BITWISE_DISTINCT_TYPES(X, A, B) \
    X(uint, unsigned int, A, B)                   \
    X(ulong, unsigned long, A, B)                 \
    X(ulonglong, unsigned long long, A, B)        \
    X(int32, int32_t, A, B)                       \
    X(int64, int64_t, A, B)

/* Waiting and testing. */
#define SHMEM_SYNC_TYPES(X, A, B)     \
    SHMEM_AMO_STANDARD_TYPES(X, A, B) \
    SHMEM_SYNC_SHORT_TYPES(X, A, B)

#define SHMEM_SYNC_DISTINCT_TYPES(X, A, B)     \
    SHMEM_AMO_STANDARD_DISTINCT_TYPES(X, A, B) \
    SHMEM_SYNC_SHORT_TYPES(X, A, B)

/* Deprecated. */
#define SHMEM_SYNC_SHORT_TYPES(X, A, B) \
    X(short, short, A, B)               \
    X(ushort, unsigned short, A, B)

/* Deprecated: the types of shmem_wait. */
#define SHMEM_SYNC_OLD_TYPES(X, A, B) \
    X(short, short, A, B)             \
    X(int, int, A, B)                 \
    X(long, long, A, B)               \
    X(longlong, long long, A, B)

/* Reductions on teams, by operation. */
#define SHMEM_REDUCE_BITWISE_TYPES(X, A, B)      \
    SHMEM_REDUCE_BITWISE_DISTINCT_TYPES(X, A, B) \
    X(uint8, uint8_t, A, B)                      \
    X(uint16, uint16_t, A, B)                    \
    X(uint32, uint32_t, A, B)                    \
    X(uint64, uint64_t, A, B)                    \
    X(size, size_t, A, B)

#define SHMEM_REDUCE_BITWISE_DISTINCT_TYPES(X, A, B) \
    X(uchar, unsigned char, A, B)                    \
    X(ushort, unsigned short, A, B)                  \
    X(uint, unsigned int, A, B)                      \
    X(ulong, unsigned long, A, B)                    \
    X(ulonglong, unsigned long long, A, B)           \
    X(int8, int8_t, A, B)                            \
    X(int16, int16_t, A, B)                          \
    X(int32, int32_t, A, B)                          \
    X(int64, int64_t, A, B)

#define SHMEM_REDUCE_MINMAX_TYPES(X, A, B) SHMEM_RMA_TYPES(X, A, B)
#define SHMEM_REDUCE_MINMAX_DISTINCT_TYPES(X, A, B) SHMEM_RMA_DISTINCT_TYPES(X, A, B)

/* C++ has them only as an extension of the compiler. */
#ifndef __cplusplus
#define SHMEM_COMPLEX_TYPES(X, A, B)   \
    X(complexd, double _Complex, A, B) \
    X(complexf, float _Complex, A, B)
#elif defined(__GNUC__)
__extension__ typedef double _Complex shmem_complexd_t;
__extension__ typedef float _Complex shmem_complexf_t;
#define SHMEM_COMPLEX_TYPES(X, A, B)    \
    X(complexd, shmem_complexd_t, A, B) \
    X(complexf, shmem_complexf_t, A, B)
#else
#define SHMEM_COMPLEX_TYPES(X, A, B)
#endif

#define SHMEM_REDUCE_ARITHMETIC_TYPES(X, A, B) \
    SHMEM_RMA_TYPES(X, A, B)                   \
    SHMEM_COMPLEX_TYPES(X, A, B)

#define SHMEM_REDUCE_ARITHMETIC_DISTINCT_TYPES(X, A, B) \
    SHMEM_RMA_DISTINCT_TYPES(X, A, B)                   \
    SHMEM_COMPLEX_TYPES(X, A, B)

/* Deprecated: reductions on active sets. */
#define SHMEM_TO_ALL_BITWISE_TYPES(X, A, B) \
    X(short, short, A, B)                   \
    X(int, int, A, B)                       \
    X(long, long, A, B)                     \
    X(longlong, long long, A, B)

#define SHMEM_TO_ALL_MINMAX_TYPES(X, A, B) \
    SHMEM_TO_ALL_BITWISE_TYPES(X, A, B)    \
    X(float, float, A, B)                  \
    X(double, double, A, B)                \
    X(longdouble, long double, A, B)

#define SHMEM_TO_ALL_ARITHMETIC_TYPES(X, A, B) \
    SHMEM_TO_ALL_MINMAX_TYPES(X, A, B)         \
    SHMEM_COMPLEX_TYPES(X, A, B)

/* ---- The functions --------------------------------------------------------- */

/* P is shmem or pshmem in all that follows. The names of operations that are handed on have more
 * than one word, because and, or and xor are macros of <iso646.h>. */

/* Set-up, memory, contexts, teams, order, locks. */
#define SHMEM_DECLARE_PLAIN(P)                                                                  \
    SHMEM_CALL void P##_init(void);                                                             \
    SHMEM_CALL void P##_finalize(void);                                                         \
    SHMEM_CALL int P##_init_thread(int requested, int *provided);                               \
    SHMEM_CALL void P##_query_thread(int *provided);                                            \
    SHMEM_CALL void P##_query_initialized(int *initialized);                                    \
    SHMEM_CALL int P##_my_pe(void);                                                             \
    SHMEM_CALL int P##_n_pes(void);                                                             \
    SHMEM_CALL int P##_pe_accessible(int pe);                                                   \
    SHMEM_CALL int P##_addr_accessible(const void *addr, int pe);                               \
    SHMEM_CALL void *P##_ptr(const void *dest, int pe);                                         \
    SHMEM_CALL void P##_info_get_version(int *major, int *minor);                               \
    SHMEM_CALL void P##_info_get_name(char *name);                                              \
                                                                                                \
    SHMEM_CALL void *P##_malloc(size_t size);                                                   \
    SHMEM_CALL void *P##_malloc_with_hints(size_t size, long hints);                            \
    SHMEM_CALL void *P##_calloc(size_t count, size_t size);                                     \
    SHMEM_CALL void *P##_align(size_t alignment, size_t size);                                  \
    SHMEM_CALL void *P##_realloc(void *ptr, size_t size);                                       \
    SHMEM_CALL void P##_free(void *ptr);                                                        \
                                                                                                \
    SHMEM_CALL int P##_ctx_create(long options, shmem_ctx_t *ctx);                              \
    SHMEM_CALL void P##_ctx_destroy(shmem_ctx_t ctx);                                           \
    SHMEM_CALL int P##_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);                       \
    SHMEM_CALL int P##_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);      \
    SHMEM_CALL void P##_ctx_session_start(shmem_ctx_t ctx, long options,                        \
                                          const shmem_ctx_session_config_t *config,             \
                                          long config_mask);                                    \
    SHMEM_CALL void P##_ctx_session_stop(shmem_ctx_t ctx);                                      \
                                                                                                \
    SHMEM_CALL int P##_team_my_pe(shmem_team_t team);                                           \
    SHMEM_CALL int P##_team_n_pes(shmem_team_t team);                                           \
    SHMEM_CALL int P##_team_get_config(shmem_team_t team, long config_mask,                     \
                                       shmem_team_config_t *config);                            \
    SHMEM_CALL int P##_team_translate_pe(shmem_team_t src_team, int src_pe,                     \
                                         shmem_team_t dest_team);                               \
    SHMEM_CALL int P##_team_split_strided(shmem_team_t parent_team, int start, int stride,      \
                                          int size, const shmem_team_config_t *config,          \
                                          long config_mask, shmem_team_t *new_team);            \
    SHMEM_CALL int P##_team_split_2d(                                                           \
        shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,          \
        long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,     \
        long yaxis_mask, shmem_team_t *yaxis_team);                                             \
    SHMEM_CALL void P##_team_destroy(shmem_team_t team);                                        \
    SHMEM_CALL void *P##_team_ptr(shmem_team_t team, const void *dest, int pe);                 \
                                                                                                \
    SHMEM_CALL void P##_fence(void);                                                            \
    SHMEM_CALL void P##_ctx_fence(shmem_ctx_t ctx);                                             \
    SHMEM_CALL void P##_quiet(void);                                                            \
    SHMEM_CALL void P##_ctx_quiet(shmem_ctx_t ctx);                                             \
    SHMEM_CALL void P##_pe_quiet(const int *target_pes, size_t npes);                           \
    SHMEM_CALL void P##_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes);      \
                                                                                                \
    SHMEM_CALL void P##_set_lock(long *lock);                                                   \
    SHMEM_CALL void P##_clear_lock(long *lock);                                                 \
    SHMEM_CALL int P##_test_lock(long *lock);                                                   \
                                                                                                \
    SHMEM_CALL uint64_t P##_signal_fetch(const uint64_t *sig_addr);                             \
    SHMEM_CALL void P##_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);                \
    SHMEM_CALL void P##_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal,    \
                                       int pe);                                                 \
    SHMEM_CALL void P##_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);                \
    SHMEM_CALL void P##_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal,    \
                                       int pe);                                                 \
    SHMEM_CALL uint64_t P##_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value); \
                                                                                                \
    SHMEM_CALL void P##_barrier_all(void);                                                      \
    SHMEM_CALL void P##_sync_all(void);                                                         \
    SHMEM_CALL int P##_team_sync(shmem_team_t team);

SHMEM_DECLARE_PLAIN(shmem)
SHMEM_DECLARE_PLAIN(pshmem)

SHMEM_NORETURN void shmem_global_exit(int status);
SHMEM_NORETURN void pshmem_global_exit(int status);

/* For profiling tools that put their own function in front; this one does nothing. */
SHMEM_CALL void shmem_pcontrol(int level, ...);
SHMEM_CALL void pshmem_pcontrol(int level, ...);

/* Transfers of a type. */
#define SHMEM_DECLARE_RMA(NAME, TYPE, P, B)                                                      \
    SHMEM_CALL void P##_##NAME##_put(TYPE *dest, const TYPE *source, size_t nelems, int pe);     \
    SHMEM_CALL void P##_ctx_##NAME##_put(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,        \
                                         size_t nelems, int pe);                                 \
    SHMEM_CALL void P##_##NAME##_get(TYPE *dest, const TYPE *source, size_t nelems, int pe);     \
    SHMEM_CALL void P##_ctx_##NAME##_get(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,        \
                                         size_t nelems, int pe);                                 \
    SHMEM_CALL void P##_##NAME##_put_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe); \
    SHMEM_CALL void P##_ctx_##NAME##_put_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,    \
                                             size_t nelems, int pe);                             \
    SHMEM_CALL void P##_##NAME##_get_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe); \
    SHMEM_CALL void P##_ctx_##NAME##_get_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,    \
                                             size_t nelems, int pe);                             \
    SHMEM_CALL void P##_##NAME##_p(TYPE *dest, TYPE value, int pe);                              \
    SHMEM_CALL void P##_ctx_##NAME##_p(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe);         \
    SHMEM_CALL TYPE P##_##NAME##_g(const TYPE *source, int pe);                                  \
    SHMEM_CALL TYPE P##_ctx_##NAME##_g(shmem_ctx_t ctx, const TYPE *source, int pe);             \
    SHMEM_CALL void P##_##NAME##_iput(TYPE *dest, const TYPE *source, ptrdiff_t dst,             \
                                      ptrdiff_t sst, size_t nelems, int pe);                     \
    SHMEM_CALL void P##_ctx_##NAME##_iput(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,       \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);  \
    SHMEM_CALL void P##_##NAME##_iget(TYPE *dest, const TYPE *source, ptrdiff_t dst,             \
                                      ptrdiff_t sst, size_t nelems, int pe);                     \
    SHMEM_CALL void P##_ctx_##NAME##_iget(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,       \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);  \
    SHMEM_CALL void P##_##NAME##_ibput(TYPE *dest, const TYPE *source, ptrdiff_t dst,            \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);     \
    SHMEM_CALL void P##_ctx_##NAME##_ibput(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,      \
                                           ptrdiff_t dst, ptrdiff_t sst, size_t bsize,           \
                                           size_t nblocks, int pe);                              \
    SHMEM_CALL void P##_##NAME##_ibget(TYPE *dest, const TYPE *source, ptrdiff_t dst,            \
                                       ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);     \
    SHMEM_CALL void P##_ctx_##NAME##_ibget(shmem_ctx_t ctx, TYPE *dest, const TYPE *source,      \
                                           ptrdiff_t dst, ptrdiff_t sst, size_t bsize,           \
                                           size_t nblocks, int pe);                              \
    SHMEM_CALL void P##_##NAME##_put_signal(TYPE *dest, const TYPE *source, size_t nelems,       \
                                            uint64_t *sig_addr, uint64_t signal, int sig_op,     \
                                            int pe);                                             \
    SHMEM_CALL void P##_ctx_##NAME##_put_signal(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, \
                                                size_t nelems, uint64_t *sig_addr,               \
                                                uint64_t signal, int sig_op, int pe);            \
    SHMEM_CALL void P##_##NAME##_put_signal_nbi(TYPE *dest, const TYPE *source, size_t nelems,   \
                                                uint64_t *sig_addr, uint64_t signal, int sig_op, \
                                                int pe);                                         \
    SHMEM_CALL void P##_ctx_##NAME##_put_signal_nbi(                                             \
        shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,      \
        uint64_t signal, int sig_op, int pe);

SHMEM_RMA_TYPES(SHMEM_DECLARE_RMA, shmem, )
SHMEM_RMA_TYPES(SHMEM_DECLARE_RMA, pshmem, )

/* Transfers of elements of a size, and of bytes (SIZE is then mem). */
#define SHMEM_DECLARE_CONTIGUOUS(SIZE, P)                                                          \
    SHMEM_CALL void P##_put##SIZE(void *dest, const void *source, size_t nelems, int pe);          \
    SHMEM_CALL void P##_ctx_put##SIZE(shmem_ctx_t ctx, void *dest, const void *source,             \
                                      size_t nelems, int pe);                                      \
    SHMEM_CALL void P##_get##SIZE(void *dest, const void *source, size_t nelems, int pe);          \
    SHMEM_CALL void P##_ctx_get##SIZE(shmem_ctx_t ctx, void *dest, const void *source,             \
                                      size_t nelems, int pe);                                      \
    SHMEM_CALL void P##_put##SIZE##_nbi(void *dest, const void *source, size_t nelems, int pe);    \
    SHMEM_CALL void P##_ctx_put##SIZE##_nbi(shmem_ctx_t ctx, void *dest, const void *source,       \
                                            size_t nelems, int pe);                                \
    SHMEM_CALL void P##_get##SIZE##_nbi(void *dest, const void *source, size_t nelems, int pe);    \
    SHMEM_CALL void P##_ctx_get##SIZE##_nbi(shmem_ctx_t ctx, void *dest, const void *source,       \
                                            size_t nelems, int pe);                                \
    SHMEM_CALL void P##_put##SIZE##_signal(void *dest, const void *source, size_t nelems,          \
                                           uint64_t *sig_addr, uint64_t signal, int sig_op,        \
                                           int pe);                                                \
    SHMEM_CALL void P##_ctx_put##SIZE##_signal(shmem_ctx_t ctx, void *dest, const void *source,    \
                                               size_t nelems, uint64_t *sig_addr, uint64_t signal, \
                                               int sig_op, int pe);                                \
    SHMEM_CALL void P##_put##SIZE##_signal_nbi(void *dest, const void *source, size_t nelems,      \
                                               uint64_t *sig_addr, uint64_t signal, int sig_op,    \
                                               int pe);                                            \
    SHMEM_CALL void P##_ctx_put##SIZE##_signal_nbi(                                                \
        shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,        \
        uint64_t signal, int sig_op, int pe);

#define SHMEM_DECLARE_SIZED(SIZE, BYTES, P, B)                                                    \
    SHMEM_DECLARE_CONTIGUOUS(SIZE, P)                                                             \
    SHMEM_CALL void P##_iput##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                   size_t nelems, int pe);                                        \
    SHMEM_CALL void P##_ctx_iput##SIZE(shmem_ctx_t ctx, void *dest, const void *source,           \
                                       ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);      \
    SHMEM_CALL void P##_iget##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,  \
                                   size_t nelems, int pe);                                        \
    SHMEM_CALL void P##_ctx_iget##SIZE(shmem_ctx_t ctx, void *dest, const void *source,           \
                                       ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);      \
    SHMEM_CALL void P##_ibput##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                                    size_t bsize, size_t nblocks, int pe);                        \
    SHMEM_CALL void P##_ctx_ibput##SIZE(shmem_ctx_t ctx, void *dest, const void *source,          \
                                        ptrdiff_t dst, ptrdiff_t sst, size_t bsize,               \
                                        size_t nblocks, int pe);                                  \
    SHMEM_CALL void P##_ibget##SIZE(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                                    size_t bsize, size_t nblocks, int pe);                        \
    SHMEM_CALL void P##_ctx_ibget##SIZE(shmem_ctx_t ctx, void *dest, const void *source,          \
                                        ptrdiff_t dst, ptrdiff_t sst, size_t bsize,               \
                                        size_t nblocks, int pe);

SHMEM_SIZES(SHMEM_DECLARE_SIZED, shmem, )
SHMEM_SIZES(SHMEM_DECLARE_SIZED, pshmem, )
SHMEM_DECLARE_CONTIGUOUS(mem, shmem)
SHMEM_DECLARE_CONTIGUOUS(mem, pshmem)

/* Atomics. */
#define SHMEM_DECLARE_AMO_EXTENDED(NAME, TYPE, P, B)                                              \
    SHMEM_CALL TYPE P##_##NAME##_atomic_fetch(const TYPE *source, int pe);                        \
    SHMEM_CALL TYPE P##_ctx_##NAME##_atomic_fetch(shmem_ctx_t ctx, const TYPE *source, int pe);   \
    SHMEM_CALL void P##_##NAME##_atomic_fetch_nbi(TYPE *fetch, const TYPE *source, int pe);       \
    SHMEM_CALL void P##_ctx_##NAME##_atomic_fetch_nbi(shmem_ctx_t ctx, TYPE *fetch,               \
                                                      const TYPE *source, int pe);                \
    SHMEM_CALL void P##_##NAME##_atomic_set(TYPE *dest, TYPE value, int pe);                      \
    SHMEM_CALL void P##_ctx_##NAME##_atomic_set(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe); \
    SHMEM_DECLARE_FETCHING(NAME, TYPE, P, atomic_swap)

/* A fetching operation with an operand, and the same without waiting for its value. */
#define SHMEM_DECLARE_FETCHING(NAME, TYPE, P, OPERATION)                                           \
    SHMEM_CALL TYPE P##_##NAME##_##OPERATION(TYPE *dest, TYPE value, int pe);                      \
    SHMEM_CALL TYPE P##_ctx_##NAME##_##OPERATION(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe); \
    SHMEM_CALL void P##_##NAME##_##OPERATION##_nbi(TYPE *fetch, TYPE *dest, TYPE value, int pe);   \
    SHMEM_CALL void P##_ctx_##NAME##_##OPERATION##_nbi(shmem_ctx_t ctx, TYPE *fetch, TYPE *dest,   \
                                                       TYPE value, int pe);

#define SHMEM_DECLARE_UPDATING(NAME, TYPE, P, OPERATION, FETCHING)            \
    SHMEM_DECLARE_FETCHING(NAME, TYPE, P, FETCHING)                           \
    SHMEM_CALL void P##_##NAME##_##OPERATION(TYPE *dest, TYPE value, int pe); \
    SHMEM_CALL void P##_ctx_##NAME##_##OPERATION(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe);

#define SHMEM_DECLARE_AMO_STANDARD(NAME, TYPE, P, B)                                             \
    SHMEM_CALL TYPE P##_##NAME##_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe); \
    SHMEM_CALL TYPE P##_ctx_##NAME##_atomic_compare_swap(shmem_ctx_t ctx, TYPE *dest, TYPE cond, \
                                                         TYPE value, int pe);                    \
    SHMEM_CALL void P##_##NAME##_atomic_compare_swap_nbi(TYPE *fetch, TYPE *dest, TYPE cond,     \
                                                         TYPE value, int pe);                    \
    SHMEM_CALL void P##_ctx_##NAME##_atomic_compare_swap_nbi(                                    \
        shmem_ctx_t ctx, TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe);                \
    SHMEM_CALL TYPE P##_##NAME##_atomic_fetch_inc(TYPE *dest, int pe);                           \
    SHMEM_CALL TYPE P##_ctx_##NAME##_atomic_fetch_inc(shmem_ctx_t ctx, TYPE *dest, int pe);      \
    SHMEM_CALL void P##_##NAME##_atomic_fetch_inc_nbi(TYPE *fetch, TYPE *dest, int pe);          \
    SHMEM_CALL void P##_ctx_##NAME##_atomic_fetch_inc_nbi(shmem_ctx_t ctx, TYPE *fetch,          \
                                                          TYPE *dest, int pe);                   \
    SHMEM_CALL void P##_##NAME##_atomic_inc(TYPE *dest, int pe);                                 \
    SHMEM_CALL void P##_ctx_##NAME##_atomic_inc(shmem_ctx_t ctx, TYPE *dest, int pe);            \
    SHMEM_DECLARE_UPDATING(NAME, TYPE, P, atomic_add, atomic_fetch_add)

#define SHMEM_DECLARE_AMO_BITWISE(NAME, TYPE, P, B)                     \
    SHMEM_DECLARE_UPDATING(NAME, TYPE, P, atomic_and, atomic_fetch_and) \
    SHMEM_DECLARE_UPDATING(NAME, TYPE, P, atomic_or, atomic_fetch_or)   \
    SHMEM_DECLARE_UPDATING(NAME, TYPE, P, atomic_xor, atomic_fetch_xor)

SHMEM_AMO_EXTENDED_TYPES(SHMEM_DECLARE_AMO_EXTENDED, shmem, )
SHMEM_AMO_EXTENDED_TYPES(SHMEM_DECLARE_AMO_EXTENDED, pshmem, )
SHMEM_AMO_STANDARD_TYPES(SHMEM_DECLARE_AMO_STANDARD, shmem, )
SHMEM_AMO_STANDARD_TYPES(SHMEM_DECLARE_AMO_STANDARD, pshmem, )
SHMEM_AMO_BITWISE_TYPES(SHMEM_DECLARE_AMO_BITWISE, shmem, )
SHMEM_AMO_BITWISE_TYPES(SHMEM_DECLARE_AMO_BITWISE, pshmem, )

/* Waiting for words of this PE, and looking at them. */
#define SHMEM_DECLARE_WAIT(NAME, TYPE, P, B)                                                      \
    SHMEM_CALL void P##_##NAME##_wait_until(TYPE *ivar, int cmp, TYPE cmp_value);                 \
    SHMEM_CALL int P##_##NAME##_test(TYPE *ivar, int cmp, TYPE cmp_value);                        \
    SHMEM_CALL void P##_##NAME##_wait_until_all(TYPE *ivars, size_t nelems, const int *status,    \
                                                int cmp, TYPE cmp_value);                         \
    SHMEM_CALL size_t P##_##NAME##_wait_until_any(TYPE *ivars, size_t nelems, const int *status,  \
                                                  int cmp, TYPE cmp_value);                       \
    SHMEM_CALL size_t P##_##NAME##_wait_until_some(TYPE *ivars, size_t nelems, size_t *indices,   \
                                                   const int *status, int cmp, TYPE cmp_value);   \
    SHMEM_CALL void P##_##NAME##_wait_until_all_vector(                                           \
        TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values);          \
    SHMEM_CALL size_t P##_##NAME##_wait_until_any_vector(                                         \
        TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values);          \
    SHMEM_CALL size_t P##_##NAME##_wait_until_some_vector(TYPE *ivars, size_t nelems,             \
                                                          size_t *indices, const int *status,     \
                                                          int cmp, const TYPE *cmp_values);       \
    SHMEM_CALL int P##_##NAME##_test_all(TYPE *ivars, size_t nelems, const int *status, int cmp,  \
                                         TYPE cmp_value);                                         \
    SHMEM_CALL size_t P##_##NAME##_test_any(TYPE *ivars, size_t nelems, const int *status,        \
                                            int cmp, TYPE cmp_value);                             \
    SHMEM_CALL size_t P##_##NAME##_test_some(TYPE *ivars, size_t nelems, size_t *indices,         \
                                             const int *status, int cmp, TYPE cmp_value);         \
    SHMEM_CALL int P##_##NAME##_test_all_vector(TYPE *ivars, size_t nelems, const int *status,    \
                                                int cmp, const TYPE *cmp_values);                 \
    SHMEM_CALL size_t P##_##NAME##_test_any_vector(TYPE *ivars, size_t nelems, const int *status, \
                                                   int cmp, const TYPE *cmp_values);              \
    SHMEM_CALL size_t P##_##NAME##_test_some_vector(TYPE *ivars, size_t nelems, size_t *indices,  \
                                                    const int *status, int cmp,                   \
                                                    const TYPE *cmp_values);

SHMEM_SYNC_TYPES(SHMEM_DECLARE_WAIT, shmem, )
SHMEM_SYNC_TYPES(SHMEM_DECLARE_WAIT, pshmem, )

/* Collectives on teams. */
#define SHMEM_DECLARE_COLLECTIVES(NAME, TYPE, P, B)                                          \
    SHMEM_CALL int P##_##NAME##_broadcast(shmem_team_t team, TYPE *dest, const TYPE *source, \
                                          size_t nelems, int PE_root);                       \
    SHMEM_CALL int P##_##NAME##_collect(shmem_team_t team, TYPE *dest, const TYPE *source,   \
                                        size_t nelems);                                      \
    SHMEM_CALL int P##_##NAME##_fcollect(shmem_team_t team, TYPE *dest, const TYPE *source,  \
                                         size_t nelems);                                     \
    SHMEM_CALL int P##_##NAME##_alltoall(shmem_team_t team, TYPE *dest, const TYPE *source,  \
                                         size_t nelems);                                     \
    SHMEM_CALL int P##_##NAME##_alltoalls(shmem_team_t team, TYPE *dest, const TYPE *source, \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t nelems);

SHMEM_RMA_TYPES(SHMEM_DECLARE_COLLECTIVES, shmem, )
SHMEM_RMA_TYPES(SHMEM_DECLARE_COLLECTIVES, pshmem, )

#define SHMEM_DECLARE_COLLECTIVES_OF_BYTES(P)                                          \
    SHMEM_CALL int P##_broadcastmem(shmem_team_t team, void *dest, const void *source, \
                                    size_t nelems, int PE_root);                       \
    SHMEM_CALL int P##_collectmem(shmem_team_t team, void *dest, const void *source,   \
                                  size_t nelems);                                      \
    SHMEM_CALL int P##_fcollectmem(shmem_team_t team, void *dest, const void *source,  \
                                   size_t nelems);                                     \
    SHMEM_CALL int P##_alltoallmem(shmem_team_t team, void *dest, const void *source,  \
                                   size_t nelems);                                     \
    SHMEM_CALL int P##_alltoallsmem(shmem_team_t team, void *dest, const void *source, \
                                    ptrdiff_t dst, ptrdiff_t sst, size_t nelems);

SHMEM_DECLARE_COLLECTIVES_OF_BYTES(shmem)
SHMEM_DECLARE_COLLECTIVES_OF_BYTES(pshmem)

#define SHMEM_DECLARE_REDUCE(NAME, TYPE, P, OPERATION)                                         \
    SHMEM_CALL int P##_##NAME##_##OPERATION(shmem_team_t team, TYPE *dest, const TYPE *source, \
                                            size_t nreduce);

#define SHMEM_DECLARE_REDUCTIONS(P)                                    \
    SHMEM_REDUCE_BITWISE_TYPES(SHMEM_DECLARE_REDUCE, P, and_reduce)    \
    SHMEM_REDUCE_BITWISE_TYPES(SHMEM_DECLARE_REDUCE, P, or_reduce)     \
    SHMEM_REDUCE_BITWISE_TYPES(SHMEM_DECLARE_REDUCE, P, xor_reduce)    \
    SHMEM_REDUCE_MINMAX_TYPES(SHMEM_DECLARE_REDUCE, P, min_reduce)     \
    SHMEM_REDUCE_MINMAX_TYPES(SHMEM_DECLARE_REDUCE, P, max_reduce)     \
    SHMEM_REDUCE_ARITHMETIC_TYPES(SHMEM_DECLARE_REDUCE, P, sum_reduce) \
    SHMEM_REDUCE_ARITHMETIC_TYPES(SHMEM_DECLARE_REDUCE, P, prod_reduce)

SHMEM_DECLARE_REDUCTIONS(shmem)
SHMEM_DECLARE_REDUCTIONS(pshmem)

#define SHMEM_DECLARE_SCANS(NAME, TYPE, P, B)                                                 \
    SHMEM_CALL int P##_##NAME##_sum_inscan(shmem_team_t team, TYPE *dest, const TYPE *source, \
                                           size_t nelems);                                    \
    SHMEM_CALL int P##_##NAME##_sum_exscan(shmem_team_t team, TYPE *dest, const TYPE *source, \
                                           size_t nelems);

SHMEM_REDUCE_ARITHMETIC_TYPES(SHMEM_DECLARE_SCANS, shmem, )
SHMEM_REDUCE_ARITHMETIC_TYPES(SHMEM_DECLARE_SCANS, pshmem, )

/* ---- Deprecated functions ---------------------------------------------------- */

void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
void *shrealloc(void *ptr, size_t size);
void shfree(void *ptr);

#define SHMEM_DECLARE_OLD(P)                                                               \
    SHMEM_CALL void P##_clear_cache_inv(void);                                             \
    SHMEM_CALL void P##_clear_cache_line_inv(void *dest);                                  \
    SHMEM_CALL void P##_set_cache_inv(void);                                               \
    SHMEM_CALL void P##_set_cache_line_inv(void *dest);                                    \
    SHMEM_CALL void P##_udcflush(void);                                                    \
    SHMEM_CALL void P##_udcflush_line(void *dest);                                         \
    SHMEM_CALL void P##_wait(long *ivar, long cmp_value);                                  \
    SHMEM_CALL void P##_wait_until(long *ivar, int cmp, long cmp_value);                   \
    SHMEM_CALL void P##_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync); \
    SHMEM_CALL void P##_sync(int PE_start, int logPE_stride, int PE_size, long *pSync);    \
    SHMEM_DECLARE_OLD_COLLECTIVES(P, 32)                                                   \
    SHMEM_DECLARE_OLD_COLLECTIVES(P, 64)

#define SHMEM_DECLARE_OLD_COLLECTIVES(P, SIZE)                                                     \
    SHMEM_CALL void P##_broadcast##SIZE(void *dest, const void *source, size_t nelems,             \
                                        int PE_root, int PE_start, int logPE_stride, int PE_size,  \
                                        long *pSync);                                              \
    SHMEM_CALL void P##_collect##SIZE(void *dest, const void *source, size_t nelems, int PE_start, \
                                      int logPE_stride, int PE_size, long *pSync);                 \
    SHMEM_CALL void P##_fcollect##SIZE(void *dest, const void *source, size_t nelems,              \
                                       int PE_start, int logPE_stride, int PE_size, long *pSync);  \
    SHMEM_CALL void P##_alltoall##SIZE(void *dest, const void *source, size_t nelems,              \
                                       int PE_start, int logPE_stride, int PE_size, long *pSync);  \
    SHMEM_CALL void P##_alltoalls##SIZE(void *dest, const void *source, ptrdiff_t dst,             \
                                        ptrdiff_t sst, size_t nelems, int PE_start,                \
                                        int logPE_stride, int PE_size, long *pSync);

SHMEM_DECLARE_OLD(shmem)
SHMEM_DECLARE_OLD(pshmem)

#define SHMEM_DECLARE_OLD_WAIT(NAME, TYPE, P, B) \
    SHMEM_CALL void P##_##NAME##_wait(TYPE *ivar, TYPE cmp_value);

SHMEM_SYNC_OLD_TYPES(SHMEM_DECLARE_OLD_WAIT, shmem, )
SHMEM_SYNC_OLD_TYPES(SHMEM_DECLARE_OLD_WAIT, pshmem, )

#define SHMEM_DECLARE_AMO_OLD_EXTENDED(NAME, TYPE, P, B)              \
    SHMEM_CALL TYPE P##_##NAME##_fetch(const TYPE *source, int pe);   \
    SHMEM_CALL void P##_##NAME##_set(TYPE *dest, TYPE value, int pe); \
    SHMEM_CALL TYPE P##_##NAME##_swap(TYPE *dest, TYPE value, int pe);

#define SHMEM_DECLARE_AMO_OLD_STANDARD(NAME, TYPE, P, B)                           \
    SHMEM_CALL TYPE P##_##NAME##_cswap(TYPE *dest, TYPE cond, TYPE value, int pe); \
    SHMEM_CALL TYPE P##_##NAME##_finc(TYPE *dest, int pe);                         \
    SHMEM_CALL void P##_##NAME##_inc(TYPE *dest, int pe);                          \
    SHMEM_CALL TYPE P##_##NAME##_fadd(TYPE *dest, TYPE value, int pe);             \
    SHMEM_CALL void P##_##NAME##_add(TYPE *dest, TYPE value, int pe);

/* The specification has these for int, long and long long (and float and double); programs for
 * other libraries use the other types, too. */
SHMEM_AMO_EXTENDED_TYPES(SHMEM_DECLARE_AMO_OLD_EXTENDED, shmem, )
SHMEM_AMO_EXTENDED_TYPES(SHMEM_DECLARE_AMO_OLD_EXTENDED, pshmem, )
SHMEM_AMO_STANDARD_TYPES(SHMEM_DECLARE_AMO_OLD_STANDARD, shmem, )
SHMEM_AMO_STANDARD_TYPES(SHMEM_DECLARE_AMO_OLD_STANDARD, pshmem, )

#define SHMEM_DECLARE_TO_ALL(NAME, TYPE, P, OPERATION)                                    \
    SHMEM_CALL void P##_##NAME##_##OPERATION(TYPE *dest, const TYPE *source, int nreduce, \
                                             int PE_start, int logPE_stride, int PE_size, \
                                             TYPE *pWrk, long *pSync);

#define SHMEM_DECLARE_ALL_TO_ALL(P)                                    \
    SHMEM_TO_ALL_BITWISE_TYPES(SHMEM_DECLARE_TO_ALL, P, and_to_all)    \
    SHMEM_TO_ALL_BITWISE_TYPES(SHMEM_DECLARE_TO_ALL, P, or_to_all)     \
    SHMEM_TO_ALL_BITWISE_TYPES(SHMEM_DECLARE_TO_ALL, P, xor_to_all)    \
    SHMEM_TO_ALL_MINMAX_TYPES(SHMEM_DECLARE_TO_ALL, P, min_to_all)     \
    SHMEM_TO_ALL_MINMAX_TYPES(SHMEM_DECLARE_TO_ALL, P, max_to_all)     \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(SHMEM_DECLARE_TO_ALL, P, sum_to_all) \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(SHMEM_DECLARE_TO_ALL, P, prod_to_all)

SHMEM_DECLARE_ALL_TO_ALL(shmem)
SHMEM_DECLARE_ALL_TO_ALL(pshmem)

#ifdef __cplusplus
}
#endif

/* The names without a type. */
#ifdef __cplusplus
#include "shmem_cxx.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif

#endif
