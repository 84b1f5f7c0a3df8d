/* Entry points: atomics. One table line gives a call in both widths. */
#include "api/check.h"
#include "api/inner.h"
#include "api/traced.h"
#include "dimmnet.h"

/* The names of calls, by operation: without and with the old value. */
static const char *call_name(enum inner_atomic operation, unsigned bytes, bool fetches)
{
#define WIDTHS(name)             \
    {                            \
        name "_u32", name "_u64" \
    }
    static const char *const plain[][2] = {
        [INNER_ADD] = WIDTHS("dn_add"),  [INNER_AND] = WIDTHS("dn_and"),
        [INNER_OR] = WIDTHS("dn_or"),    [INNER_XOR] = WIDTHS("dn_xor"),
        [INNER_SWAP] = WIDTHS("dn_set"),
    };
    static const char *const fetching[][2] = {
        [INNER_ADD] = WIDTHS("dn_fetch_add"), [INNER_AND] = WIDTHS("dn_fetch_and"),
        [INNER_OR] = WIDTHS("dn_fetch_or"),   [INNER_XOR] = WIDTHS("dn_fetch_xor"),
        [INNER_SWAP] = WIDTHS("dn_swap"),     [INNER_COMPARE_SWAP] = WIDTHS("dn_compare_swap"),
        [INNER_READ] = WIDTHS("dn_read"),
    };
#undef WIDTHS
    return (fetches ? fetching : plain)[operation][bytes == 8];
}

/* The careful way: every check in its order, registered areas, all roads. */
__attribute__((noinline, cold)) int inner_atomic(struct dn_node *node, struct dn_remote remote,
                                                 enum inner_atomic operation, unsigned bytes,
                                                 uint64_t operand, uint64_t expected, uint64_t *old)
{
    enum host_trace_kind kind = operation == INNER_READ ? HOST_TRACE_GET : HOST_TRACE_ATOMIC;
    API_TRACED_AS(call_name(operation, bytes, old != NULL),
                  inner_atomic(node, remote, operation, bytes, operand, expected, old),
                  host_trace_remote(kind, node, remote, bytes));
    int error = api_check(node);
    error = error ? error : api_check_area(node, remote, bytes);
    if (error) {
        return error;
    }
    struct fabric_lane *lane = &node->lane;
    return lane->ops->atomic(lane, remote, (enum wire_atomic)operation, bytes, operand, expected,
                             old);
}

#define DEFINE_CAREFUL(suffix, type)                                                             \
    static __attribute__((noinline, cold)) int careful_##suffix(                                 \
        struct dn_node *node, struct dn_remote remote, enum wire_atomic operation, type operand, \
        type expected, type *old)                                                                \
    {                                                                                            \
        uint64_t value = 0;                                                                      \
        int error = inner_atomic(node, remote, (enum inner_atomic)operation, sizeof(type),       \
                                 operand, expected, old ? &value : NULL);                        \
        if (!error && old) {                                                                     \
            *old = (type)value;                                                                  \
        }                                                                                        \
        return error;                                                                            \
    }

/* The ordinary way: with a constant operation it is the checks, one instruction and a
 * look at the sleeper's bit, all in registers. Anything unusual is a tail call. */
#define DEFINE_RUN(suffix, type)                                                                 \
    static inline __attribute__((always_inline)) int run_##suffix(                               \
        struct dn_node *node, struct dn_remote remote, enum wire_atomic operation, type operand, \
        type expected, type *old)                                                                \
    {                                                                                            \
        struct in_place_target place;                                                            \
        if (UNLIKELY(!api_quick(node, remote, sizeof(type), &place) ||                           \
                     (uintptr_t)place.pointer % sizeof(type) != 0)) {                            \
            return careful_##suffix(node, remote, operation, operand, expected, old);            \
        }                                                                                        \
        KILL_POINT("atomic: before");                                                            \
        type value = nic_apply_##suffix((type *)(void *)place.pointer, operation, operand,       \
                                        expected);                                               \
        KILL_POINT("atomic: done, nobody woken");                                                \
        if (old) {                                                                               \
            *old = value;                                                                        \
        }                                                                                        \
        return operation == WIRE_READ ? 0 : api_finish(node, place, remote.rank, sizeof(type));  \
    }

#define DEFINE_FETCHING(name, operation, suffix, type)                                            \
    int name##_##suffix(struct dn_node *node, struct dn_remote remote, type value, type *old)     \
    {                                                                                             \
        return UNLIKELY(!old) ? DN_EINVAL : run_##suffix(node, remote, operation, value, 0, old); \
    }

#define DEFINE_PLAIN(name, operation, suffix, type)                                \
    int name##_##suffix(struct dn_node *node, struct dn_remote remote, type value) \
    {                                                                              \
        return run_##suffix(node, remote, operation, value, 0, NULL);              \
    }

#define DEFINE_ALL(suffix, type)                                                                  \
    DEFINE_CAREFUL(suffix, type)                                                                  \
    DEFINE_RUN(suffix, type)                                                                      \
    DEFINE_FETCHING(dn_fetch_add, WIRE_ADD, suffix, type)                                         \
    DEFINE_FETCHING(dn_fetch_and, WIRE_AND, suffix, type)                                         \
    DEFINE_FETCHING(dn_fetch_or, WIRE_OR, suffix, type)                                           \
    DEFINE_FETCHING(dn_fetch_xor, WIRE_XOR, suffix, type)                                         \
    DEFINE_FETCHING(dn_swap, WIRE_SWAP, suffix, type)                                             \
    DEFINE_PLAIN(dn_add, WIRE_ADD, suffix, type)                                                  \
    DEFINE_PLAIN(dn_and, WIRE_AND, suffix, type)                                                  \
    DEFINE_PLAIN(dn_or, WIRE_OR, suffix, type)                                                    \
    DEFINE_PLAIN(dn_xor, WIRE_XOR, suffix, type)                                                  \
    DEFINE_PLAIN(dn_set, WIRE_SWAP, suffix, type)                                                 \
    int dn_compare_swap_##suffix(struct dn_node *node, struct dn_remote remote, type expected,    \
                                 type desired, type *old)                                         \
    {                                                                                             \
        return UNLIKELY(!old)                                                                     \
                   ? DN_EINVAL                                                                    \
                   : run_##suffix(node, remote, WIRE_COMPARE_SWAP, desired, expected, old);       \
    }                                                                                             \
    int dn_read_##suffix(struct dn_node *node, struct dn_remote remote, type *value)              \
    {                                                                                             \
        return UNLIKELY(!value) ? DN_EINVAL : run_##suffix(node, remote, WIRE_READ, 0, 0, value); \
    }

DEFINE_ALL(u32, uint32_t)
DEFINE_ALL(u64, uint64_t)
