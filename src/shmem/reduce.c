/* Reductions and scans on teams and, deprecated, reductions on active sets. */
#include <limits.h>
#include <string.h>

#include "shmem/collective.h"

/* The dn_ type of a C type. */
#define NUMBER_OF(TYPE)                                                      \
    _Generic((TYPE)0, char                                                   \
             : CHAR_MIN < 0 ? DN_INT8 : DN_UINT8, signed char                \
             : DN_INT8, short                                                \
             : DN_INT16, int                                                 \
             : DN_INT32, long                                                \
             : sizeof(long) == 8 ? DN_INT64 : DN_INT32, long long            \
             : DN_INT64, unsigned char                                       \
             : DN_UINT8, unsigned short                                      \
             : DN_UINT16, unsigned int                                       \
             : DN_UINT32, unsigned long                                      \
             : sizeof(long) == 8 ? DN_UINT64 : DN_UINT32, unsigned long long \
             : DN_UINT64, float                                              \
             : DN_FLOAT, double                                              \
             : DN_DOUBLE, long double                                        \
             : DN_LONG_DOUBLE, float _Complex                                \
             : DN_FLOAT_COMPLEX, double _Complex                             \
             : DN_DOUBLE_COMPLEX)

struct what {
    enum dn_type type;
    enum dn_reduction operation;
    size_t size;
};

static inline __attribute__((always_inline)) int reduce(struct shmem_team *team, void *dest,
                                                        const void *source, size_t count,
                                                        struct what what, const char *call)
{
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = count, .dest = dest,
                           .dest_bytes = shmem_bytes_of(count, what.size, call), .source = source,
                           .source_bytes = shmem_bytes_of(count, what.size, call),
                           .in_place = true);
    inner_trace_as(shmem_state.node, call);
    int error = dn_allreduce(team->dn, source, dest, count, what.type, what.operation);
    return shmem_collective_end(team, call, error);
}

#define WHAT(TYPE, REDUCTION)                    \
    (struct what)                                \
    {                                            \
        NUMBER_OF(TYPE), REDUCTION, sizeof(TYPE) \
    }

#define DEFINE_REDUCE(NAME, TYPE, REDUCTION, OPERATION)                                     \
    SHMEM_DEFINE(int, NAME##_##OPERATION##_reduce,                                          \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nreduce),      \
                 return reduce(shmem_members(team, SHMEM_CALL_NAME), dest, source, nreduce, \
                               WHAT(TYPE, REDUCTION), SHMEM_CALL_NAME))

SHMEM_REDUCE_BITWISE_TYPES(DEFINE_REDUCE, DN_AND, and)
SHMEM_REDUCE_BITWISE_TYPES(DEFINE_REDUCE, DN_OR, or)
SHMEM_REDUCE_BITWISE_TYPES(DEFINE_REDUCE, DN_XOR, xor)
SHMEM_REDUCE_MINMAX_TYPES(DEFINE_REDUCE, DN_MIN, min)
SHMEM_REDUCE_MINMAX_TYPES(DEFINE_REDUCE, DN_MAX, max)
SHMEM_REDUCE_ARITHMETIC_TYPES(DEFINE_REDUCE, DN_SUM, sum)
SHMEM_REDUCE_ARITHMETIC_TYPES(DEFINE_REDUCE, DN_PRODUCT, prod)

/* The first PE's exclusive sum is of nothing: zero, whose bytes are zeros in every type. */
static int scan(struct shmem_team *team, void *dest, const void *source, size_t count,
                struct what what, enum dn_scan_kind kind, const char *call)
{
    size_t bytes = shmem_bytes_of(count, what.size, call);
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = count, .dest = dest, .dest_bytes = bytes,
                           .source = source, .source_bytes = bytes, .in_place = true);
    inner_trace_as(shmem_state.node, call);
    int error = dn_scan(team->dn, source, dest, count, what.type, what.operation, kind);
    if (!error && kind == DN_EXCLUSIVE && team->my_pe == 0 && bytes > 0) {
        memset(dest, 0, bytes);
    }
    return shmem_collective_end(team, call, error);
}

#define DEFINE_SCANS(NAME, TYPE, A, B)                                                   \
    SHMEM_DEFINE(int, NAME##_sum_inscan,                                                 \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems),    \
                 return scan(shmem_members(team, SHMEM_CALL_NAME), dest, source, nelems, \
                             WHAT(TYPE, DN_SUM), DN_INCLUSIVE, SHMEM_CALL_NAME))         \
    SHMEM_DEFINE(int, NAME##_sum_exscan,                                                 \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems),    \
                 return scan(shmem_members(team, SHMEM_CALL_NAME), dest, source, nelems, \
                             WHAT(TYPE, DN_SUM), DN_EXCLUSIVE, SHMEM_CALL_NAME))

SHMEM_REDUCE_ARITHMETIC_TYPES(DEFINE_SCANS, , )

/* pWrk is not needed. */
static struct shmem_team *set_of(int count, int start, int log_stride, int size, const void *work,
                                 const long *sync, const char *call)
{
    struct dn_remote remote;
    if (UNLIKELY(count < 0)) {
        shmem_fail(call, "%d elements cannot be reduced", count);
    }
    if (UNLIKELY(shmem_state.debug) && !shmem_remote_of(work, 1, shmem_state.my_pe, &remote)) {
        shmem_fail(call, "pWrk %p is not symmetric memory", work);
    }
    return shmem_active_set(start, log_stride, size, sync, call);
}

#define DEFINE_TO_ALL(NAME, TYPE, REDUCTION, OPERATION)                                         \
    SHMEM_DEFINE(                                                                               \
        void, NAME##_##OPERATION##_to_all,                                                      \
        (TYPE * dest, const TYPE *source, int nreduce, int PE_start, int logPE_stride,          \
         int PE_size, TYPE *pWrk, long *pSync),                                                 \
        struct shmem_team *set = set_of(nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync,  \
                                        SHMEM_CALL_NAME);                                       \
        if (set) {                                                                              \
            reduce(set, dest, source, (size_t)nreduce, WHAT(TYPE, REDUCTION), SHMEM_CALL_NAME); \
        })

SHMEM_TO_ALL_BITWISE_TYPES(DEFINE_TO_ALL, DN_AND, and)
SHMEM_TO_ALL_BITWISE_TYPES(DEFINE_TO_ALL, DN_OR, or)
SHMEM_TO_ALL_BITWISE_TYPES(DEFINE_TO_ALL, DN_XOR, xor)
SHMEM_TO_ALL_MINMAX_TYPES(DEFINE_TO_ALL, DN_MIN, min)
SHMEM_TO_ALL_MINMAX_TYPES(DEFINE_TO_ALL, DN_MAX, max)
SHMEM_TO_ALL_ARITHMETIC_TYPES(DEFINE_TO_ALL, DN_SUM, sum)
SHMEM_TO_ALL_ARITHMETIC_TYPES(DEFINE_TO_ALL, DN_PRODUCT, prod)
