/* Opening and closing handles. */
#include "fagus/handle.h"

#include <stdlib.h>
#include <string.h>

struct fagus_handle *fagus_handle_open(struct fagus_handles *handles, uint64_t mark)
{
    (void)pthread_mutex_lock(&handles->lock);
    struct fagus_handle *handle = handles->all;
    /* What another mark opened nobody can use any more. */
    while (handle && atomic_load_explicit(&handle->mark, memory_order_relaxed) == mark) {
        handle = handle->next;
    }
    if (handle) {
        memset(handle + 1, 0, handles->bytes - sizeof *handle);
    } else {
        handle = calloc(1, handles->bytes);
        if (handle) {
            handle->next = handles->all;
            handles->all = handle;
        }
    }
    if (handle) {
        atomic_store_explicit(&handle->mark, mark, memory_order_release);
    }
    (void)pthread_mutex_unlock(&handles->lock);
    return handle;
}

bool fagus_handle_close(struct fagus_handle *handle, uint64_t mark)
{
    return handle && atomic_compare_exchange_strong_explicit(
                         &handle->mark, &mark, 0, memory_order_acq_rel, memory_order_relaxed);
}
