/* How a node's service memory is divided. */
#ifndef GROUP_SERVICE_MEMORY_H
#define GROUP_SERVICE_MEMORY_H

#include "group/lock.h"
#include "group/message.h"
#include "group/team.h"

struct nic_service {
    struct nic_lock_record lock_records[NIC_LOCK_RECORDS];
    alignas(CACHE_LINE_BYTES) struct nic_team_slot team_slots[NIC_TEAM_SLOTS];
    struct nic_message_slot message_slots[NIC_MESSAGE_SLOTS];
};

static inline struct nic_service *nic_service(const struct nic_view *view, uint32_t rank)
{
    return (struct nic_service *)(void *)nic_service_memory(view, rank);
}

/* In rank 0's service memory behind the tables: the words of the team of all. Its
 * length depends on the group; what owners hand out starts behind it, at every rank. */
static inline void *nic_service_team_of_all(const struct nic_view *view)
{
    return nic_service_memory(view, 0) + sizeof(struct nic_service);
}

static inline uint64_t nic_service_free_offset(const struct nic_view *view)
{
    uint64_t start = 0;
    (void)round_up(sizeof(struct nic_service) + nic_team_bytes(view->node_count), 4096, &start);
    return start;
}

#endif
