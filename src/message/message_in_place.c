/* The way to a peer whose memory is mapped here: each side reads and writes the rings where they
 * lie, and wakes a peer that sleeps by its port. */
#include <string.h>

#include "message/message_way.h"

/* ---- To a destination ---------------------------------------------------------------------- */

static void let_go(struct dn_context *context, uint32_t rank, struct group_message_slot *slot)
{
    (void)rank;
    group_message_let_go(context->view, slot);
}

static int hold(struct dn_context *context, struct message_destination *destination,
                struct message_held *held)
{
    held->box = group_message_hold(context->view, destination->rank, context->channel, &held->slot,
                                   &held->layout);
    if (!held->box) {
        return DN_EBUSY;
    }
    uint32_t sources = held->layout.source_count;
    held->index = group_message_find_rank(group_box_ranks(held->box, &held->layout), sources,
                                          context->view->rank);
    held->summary = group_message_has_summary(sources) ? group_box_summary(held->box, &held->layout)
                                                       : NULL;
    return held->index < sources ? 0 : DN_ERANK;
}

static struct group_entry *reserve(struct dn_context *context,
                                   struct message_destination *destination, uint64_t units)
{
    (void)context;
    return group_ring_reserve(&destination->ring, units);
}

static void publish(struct dn_context *context, struct message_destination *destination,
                    uint64_t header, uint64_t units)
{
    struct group_ring_out *ring = &destination->ring;
    const struct group_entry *entry = group_ring_entry(ring->start, ring->unit_count, ring->tail);
    group_ring_publish(ring, header, units);
    message_announce(context, destination, entry);
}

static bool withdraw(struct dn_context *context, struct message_destination *destination,
                     struct group_entry *entry)
{
    uint64_t offered = GROUP_OFFERED;
    (void)context;
    (void)destination;
    KILL_POINT("message: about to withdraw");
    bool withdrawn = atomic_compare_exchange_strong(&entry->state, &offered, GROUP_WITHDRAWN);
    KILL_POINT("message: withdrawn or fetched");
    return withdrawn;
}

/* ---- From a source ------------------------------------------------------------------------- */

static void wake(struct dn_context *context, const struct message_source *source)
{
    fabric_wake(context->view, source->rank);
}

static int copy_from(struct dn_context *context, const struct message_source *source,
                     uint64_t place, void *target, uint64_t bytes)
{
    memcpy(target, group_node_memory(context->view, source->rank) + place, bytes);
    return 0;
}

const struct message_way message_in_place = {
    .is_quick = true,
    .asks_for_room = true,
    .hold = hold,
    .let_go = let_go,
    .reserve = reserve,
    .publish = publish,
    .withdraw = withdraw,
    .sets_summary = true,
    .tell_of_box = wake,
    .tell_of_close = wake,
    .tell_of_room = wake,
    .copy_from = copy_from,
};
