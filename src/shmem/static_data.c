/* Sharing the executable's data. It is one window from the first page that programs write
 * to the last one; what the loader made read-only between them is not moved. */
#include "shmem/static_data.h"

#include "fabric/udp/udp.h"
#include "host/memory.h"
#include "host/program_data.h"
#include "group/address.h"

/* A name for the window, for fabrics that reach it by remote addresses. */
static int name_window(struct host_process *process, struct shmem_static_data *data)
{
    uint64_t offset = process->view.group->geometry.registered_offset + data->place;
    pthread_mutex_lock(&process->table_lock);
    int error = group_area_register(&process->view, offset, data->bytes, &data->area);
    pthread_mutex_unlock(&process->table_lock);
    return error ? error : udp_tell_area(data->area);
}

int shmem_static_data_share(struct dn_node *node, struct shmem_static_data *data)
{
    struct host_program_range ranges[HOST_PROGRAM_RANGES];
    uint32_t count;
    *data = (struct shmem_static_data){0};
    int error = host_program_data(ranges, &count);
    if (error || count == 0) {
        return error;
    }
    for (uint32_t i = 0; i < count && !error; i++) {
        error = host_memory_move(node->process, (const void *)ranges[i].start, ranges[i].bytes,
                                 ranges[i].link_offset);
    }
    if (error) {
        return error;
    }
    const struct host_program_range *last = &ranges[count - 1];
    data->base = ranges[0].start;
    data->bytes = last->start + last->bytes - data->base;
    data->place = ranges[0].link_offset;
    return name_window(node->process, data);
}
