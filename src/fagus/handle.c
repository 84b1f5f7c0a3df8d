/* Opening and closing handles. */
#include "fagus/handle.h"

#include <stdlib.h>
#include <string.h>

struct fagus_handle *fagus_handle_open(struct fagus_handles *handles, uint64_t mark)
{
    (void)pthread_mutex_lock(&handles->lock);
    struct fagus_handle *handle = handles->all;
    /* Nobody can use what was opened under another mark. */
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

int fagus_handle_create(struct fagus_handles *handles, bool fits,
                        int (*create)(void *opened, const void *arguments), const void *arguments,
                        void *made)
{
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    fagus_collective_begin();
    struct fagus_handle *handle = fits ? fagus_handle_open(handles, fagus_state.generation) : NULL;
    error = handle ? create(handle, arguments) : fagus_refuse(fits ? FAGUS_ENOMEM : FAGUS_EINVAL);
    if (!error) {
        memcpy(made, &handle, sizeof handle);
    } else {
        (void)fagus_handle_close(handle, fagus_state.generation);
    }
    fagus_collective_end();
    return error;
}

int fagus_handle_free(void *opened, int (*destroy)(void *opened))
{
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    fagus_collective_begin();
    error = fagus_handle_check(opened) ? fagus_refuse(FAGUS_EINVAL) : destroy(opened);
    fagus_collective_end();
    return error;
}
