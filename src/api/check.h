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

/* Gives the kept errors of dn_store_*, each once: a lane's for a fence, which leaves DN_EPEER to
 * the next quiet as it does for packets that were lost, and for a quiet; any lane's for a barrier,
 * which says itself what a death means and drops DN_EPEER. 0: none. */
int api_store_error_at_fence(struct dn_node *node);
int api_store_error_at_quiet(struct dn_node *node);
int api_store_error_at_barrier(struct host_process *process);

/* The ordinary case of a remote address on a direct fabric; false when the careful
 * path has to look. */
static inline bool api_quick(const struct dn_node *node, struct dn_remote remote, uint64_t bytes,
                             struct in_place_target *place)
{
    return LIKELY(node != NULL) && in_place_quick(&node->lane, remote, bytes, place);
}

/* Whether a remote address names no area at all: on packet fabrics that number is the
 * library's own. What is to be said then, in_place_reach says. */
static inline bool api_area_is_none(struct dn_remote remote)
{
    return UNLIKELY(remote.area == 0);
}

static inline int api_refuse_area(const struct dn_node *node, struct dn_remote remote,
                                  uint64_t bytes)
{
    unsigned char *pointer;
    return in_place_reach(&node->lane, remote, bytes, &pointer);
}

/* The end of a quick operation, a tail call when somebody sleeps. */
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
