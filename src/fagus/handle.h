/* Handles that programs hold. They are never freed but used again, so that one that is closed
 * is still readable, and using it has a name (FAGUS_EINVAL) instead of a crash. */
#ifndef FAGUS_HANDLE_H
#define FAGUS_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fagus/state.h"

/* The first member of what a handle points to. */
struct fagus_handle {
    _Atomic uint64_t mark; /* what it was opened under, while it is open; else 0 */
    struct fagus_handle *next;
};

struct fagus_handles {
    pthread_mutex_t lock;
    struct fagus_handle *all; /* ever made, guarded by lock */
    size_t bytes;             /* of each */
};

#define FAGUS_HANDLES(type)                                      \
    {                                                            \
        .lock = PTHREAD_MUTEX_INITIALIZER, .bytes = sizeof(type) \
    }

/* One that is not open under this mark, all zeros behind its first member; NULL: no memory. */
struct fagus_handle *fagus_handle_open(struct fagus_handles *handles, uint64_t mark);

/* Whether it is open under this mark. Acquire pairs with the release in fagus_handle_open: a
 * thread that sees the mark sees nothing of the handle's use before. */
static inline bool fagus_handle_is_open(const struct fagus_handle *handle, uint64_t mark)
{
    return handle && atomic_load_explicit(&handle->mark, memory_order_acquire) == mark;
}

/* 0, FAGUS_ESTATE or FAGUS_EINVAL: the first check of every call on what begins with a handle that
 * is marked with the space's generation. */
static inline int fagus_handle_check(const void *opened)
{
    if (UNLIKELY(!fagus_state.node)) {
        return FAGUS_ESTATE;
    }
    return LIKELY(fagus_handle_is_open(opened, fagus_state.generation)) ? 0 : FAGUS_EINVAL;
}

/* Closes it; false: somebody else just has, or it was not open. */
bool fagus_handle_close(struct fagus_handle *handle, uint64_t mark);

/* ---- What all nodes make and free together ------------------------------------------------- */

/* Collective: a handle marked with the space's generation, and behind it what `create` makes of
 * the arguments, alone among this node's collective calls. `create` agrees with the other nodes
 * and gives 0 or FAGUS_E.... `made` points to a pointer of any type, which is set on success. With
 * `fits` false the arguments make no sense: the others are told, and this gives FAGUS_EINVAL. */
int fagus_handle_create(struct fagus_handles *handles, bool fits,
                        int (*create)(void *opened, const void *arguments), const void *arguments,
                        void *made);

/* Collective: the end of it. `destroy` agrees with the other nodes, closes the handle and frees
 * what is behind it. FAGUS_EINVAL, and the others are told: the handle is not open. */
int fagus_handle_free(void *opened, int (*destroy)(void *opened));

#endif
