/* The check that every entry point starts with. */
#ifndef API_CHECK_H
#define API_CHECK_H

#include "team/barrier.h"
#include "fabric/in_place.h"
#include "host/node.h"

/* 0, DN_EINVAL for NULL, DN_ESTATE for a handle that is closed. */
static inline int api_check(const struct dn_node *node)
{
    if (LIKELY(host_node_open(node))) {
        return 0;
    }
    return node ? DN_ESTATE : DN_EINVAL;
}

/* Copies an option struct, which begins with its size, into `options` of this library's size. A
 * smaller one leaves the rest zero; in a larger one the rest must be zero; NULL is all zeros.
 * 0 or DN_EINVAL. */
int api_options_read(const void *given, void *options, size_t bytes);

/* Each gives a kept error of dn_store_* once; 0: none. A fence gives its lane's, but leaves
 * DN_EPEER to the next quiet, as it does for packets that were lost; a quiet gives its lane's; a
 * barrier gives any lane's, but drops DN_EPEER, since it says itself what a death means. */
int api_store_error_at_fence(struct dn_node *node);
int api_store_error_at_quiet(struct dn_node *node);
int api_store_error_at_barrier(struct host_process *process);

/* The ordinary case of a remote address in place; false when the careful path has to look. */
static inline bool api_quick(const struct dn_node *node, struct dn_remote remote, uint64_t bytes,
                             struct in_place_target *place)
{
    return LIKELY(node != NULL) && in_place_quick(&node->lane, remote, bytes, place);
}

/* 0, or the error of a remote address that names no area at all: by packets, that number is the
 * library's own. */
static inline int api_check_area(const struct dn_node *node, struct dn_remote remote,
                                 uint64_t bytes)
{
    unsigned char *pointer;
    return UNLIKELY(remote.area == 0) ? in_place_reach(&node->lane, remote, bytes, 0, &pointer) : 0;
}

/* Ends a quick operation: a tail call when somebody sleeps. */
int api_wake(const struct dn_node *node, int rank, const void *written, uint64_t bytes);

static inline int api_finish(const struct dn_node *node, struct in_place_target place, int rank,
                             uint64_t bytes)
{
    if (UNLIKELY(atomic_load_explicit(&place.port->call, memory_order_relaxed) &
                 GROUP_CALL_WATCHING)) {
        return api_wake(node, rank, place.pointer, bytes);
    }
    return 0;
}

#endif
