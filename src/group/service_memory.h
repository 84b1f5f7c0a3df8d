/* How a node's service memory is divided. */
#ifndef GROUP_SERVICE_MEMORY_H
#define GROUP_SERVICE_MEMORY_H

#include "group/lock.h"
#include "group/message.h"
#include "group/team.h"

struct group_service {
    struct group_lock_record lock_records[GROUP_LOCK_RECORDS];
    alignas(CACHE_LINE_BYTES) struct group_team_slot team_slots[GROUP_TEAM_SLOTS];
    struct group_message_slot message_slots[GROUP_MESSAGE_SLOTS];
};

static inline struct group_service *group_service(const struct group_view *view, uint32_t rank)
{
    return (struct group_service *)(void *)group_service_memory(view, rank);
}

/* Behind the tables of every rank: a block of words for the team of all, from the start of the
 * node's memory. Its length depends on the group; what owners hand out starts behind it. */
static inline uint64_t group_service_team_of_all(const struct group_view *view)
{
    return view->facts.geometry.service_offset + sizeof(struct group_service);
}

static inline uint64_t group_service_free_offset(const struct group_view *view)
{
    uint64_t start = 0;
    (void)round_up(sizeof(struct group_service) + group_team_bytes(view->node_count), 4096, &start);
    return start;
}

#endif
