/* Lanes into a group in ordinary memory, without the host's side. */
#ifndef UNIT_FABRIC_LANE_H
#define UNIT_FABRIC_LANE_H

#include "unit/group.h"
#include "fabric/fabric.h"

/* What the lanes of one group share. */
struct unit_net {
    struct unit_group made;
    struct fabric_segment segments[UNIT_NODES_MAX * FABRIC_SEGMENTS];
    _Atomic uint64_t stored_to[GROUP_NODES_MAX / 64];
};

static inline void unit_net_make(struct unit_net *net, uint32_t node_count,
                                 struct group_sizes sizes)
{
    memset(net, 0, sizeof *net);
    unit_group_make_sized(&net->made, node_count, 2, sizes);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            net->segments[rank * FABRIC_SEGMENTS + area] = (struct fabric_segment){
                .base = group_segment(&net->made.views[0], rank, area),
                .bytes = group_segment_bytes(&net->made.views[0], area)};
        }
    }
}

static inline void unit_net_free(struct unit_net *net)
{
    unit_group_free(&net->made);
}

/* With ops NULL the lane works directly on memory. */
static inline struct fabric_lane unit_lane(struct unit_net *net, uint32_t rank,
                                           const struct fabric_ops *ops)
{
    const struct group_view *view = &net->made.views[rank];
    return (struct fabric_lane){.open = FABRIC_LANE_OPEN,
                                .node_count = view->node_count,
                                .quick_count = ops ? 0 : view->node_count,
                                .all_in_place = true,
                                .is_prompt = !ops,
                                .segments = net->segments,
                                .ports = view->ports,
                                .ops = ops ? ops : mem_fabric.ops,
                                .stored_to = net->stored_to,
                                .sleeping = view->group->sleeping,
                                .view = view};
}

static inline struct dn_remote unit_at(int rank, uint32_t area, uint64_t offset)
{
    return (struct dn_remote){.rank = rank, .area = area, .offset = offset};
}

static inline unsigned char *unit_memory(struct unit_net *net, int rank, uint32_t area)
{
    return group_segment(&net->made.views[0], (uint32_t)rank, area);
}

#endif
