/* Service memory, by the same allocator as the symmetric heap, for this node alone. */
#include "host/arena.h"

#include <string.h>

#include "group/service_memory.h"

void *host_arena_take(struct host_process *process, uint64_t bytes, uint64_t *offset)
{
    uint64_t start;
    pthread_mutex_lock(&process->table_lock);
    bool taken = base_extents_take(&process->arena, bytes, CACHE_LINE_BYTES, &start);
    pthread_mutex_unlock(&process->table_lock);
    if (!taken) {
        return NULL;
    }
    const struct group_view *view = &process->view;
    uint64_t service_offset = view->facts.geometry.service_offset;
    *offset = service_offset + group_service_free_offset(view) + start;
    void *memory = group_node_memory(view, view->rank) + *offset;
    memset(memory, 0, bytes);
    return memory;
}

void host_arena_give(struct host_process *process, uint64_t offset)
{
    const struct group_view *view = &process->view;
    uint64_t service_offset = view->facts.geometry.service_offset;
    pthread_mutex_lock(&process->table_lock);
    bool given = base_extents_give(&process->arena,
                                   offset - service_offset - group_service_free_offset(view));
    pthread_mutex_unlock(&process->table_lock);
    INVARIANT(given);
}
