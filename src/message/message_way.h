/* The way to one peer: in place, where its memory is mapped here (message_in_place.c), or by
 * packets, where it is mirrored here (message_by_packets.c); by packets in contexts with flags, by
 * records (message_by_records.c). A context picks the way of each peer when it is opened, by the
 * road to it, so it may have peers in place and others. */
#ifndef MESSAGE_MESSAGE_WAY_H
#define MESSAGE_MESSAGE_WAY_H

#include "message/message_context.h"

/* A box that this node holds as a sender. */
struct message_held {
    struct group_message_slot *slot;
    struct group_message_box *box;
    struct group_box_layout layout;
    uint32_t index;            /* of this node among the box's sources */
    _Atomic uint64_t *summary; /* where this node sets its bit; NULL: nowhere */
};

/* NULL for a function: nothing to do. */
struct message_way {
    /* ---- To a destination, with the send turn */

    bool is_quick;        /* small messages take the quick path of message_send.c */
    bool asks_for_room;   /* a sender that waits says so, and is then woken */
    bool lends_to_others; /* what a receiver has still to fetch goes with this process */
    bool is_by_records;   /* no entry names a place in this process's memory */

    /* Finds and holds the destination's box. 0; DN_EBUSY: it is not open yet, as far as is
     * known; DN_ERANK: it does not list this node; DN_EPEER. One thread at a time. */
    int (*hold)(struct dn_context *context, struct message_destination *destination,
                struct message_held *held);
    void (*let_go)(struct dn_context *context, uint32_t rank, struct group_message_slot *slot);
    /* The box is held, and destination->ring is that of the box. */
    int (*connect)(struct dn_context *context, struct message_destination *destination);
    /* Before a connected box is let go: nothing more of this context goes there. */
    void (*disconnect)(struct dn_context *context, struct message_destination *destination);

    /* As group_ring_reserve and group_ring_publish. */
    struct group_entry *(*reserve)(struct dn_context *context,
                                   struct message_destination *destination, uint64_t units);
    void (*publish)(struct dn_context *context, struct message_destination *destination,
                    uint64_t header, uint64_t units);

    /* Takes an offer back; false: the receiver has fetched it. */
    bool (*withdraw)(struct dn_context *context, struct message_destination *destination,
                     struct group_entry *entry);

    /* Whether the receiver has all that was sent; NULL: the ring's head says so. */
    bool (*is_delivered)(struct dn_context *context, struct message_destination *destination);

    /* The context closes before the receiver has passed all that was sent. */
    void (*await_end)(struct dn_context *context, struct message_destination *destination);

    /* ---- From a source, with the receive turn */

    bool sets_summary;      /* the source sets its bit; else the bit is always set */
    uint64_t row_bytes_max; /* as much of pieces side by side is copied at once; 0: one piece */

    /* Before the box is offered: the words of the source's ring. */
    void (*open_ring)(struct dn_context *context, struct message_source *source);

    /* The source hears that the box is open, that it is closed, how far the head has come. What
     * was told of a box is in place after a fabric_settle. */
    void (*tell_of_box)(struct dn_context *context, const struct message_source *source);
    void (*tell_of_close)(struct dn_context *context, const struct message_source *source);
    void (*tell_of_room)(struct dn_context *context, const struct message_source *source);

    /* Copies some bytes from the sender's memory, `place` being from its start. DN_EPEER: the
     * sender is gone, and its memory with it; another error: they are not there to be read. */
    int (*copy_from)(struct dn_context *context, const struct message_source *source,
                     uint64_t place, void *target, uint64_t bytes);
};

extern const struct message_way message_in_place;
extern const struct message_way message_by_packets;
extern const struct message_way message_by_records;

/* ---- What the two ways by packets share: message_by_packets.c */

int message_packets_hold(struct dn_context *context, struct message_destination *destination,
                         struct message_held *held);
void message_packets_let_go(struct dn_context *context, uint32_t rank,
                            struct group_message_slot *slot);
void message_packets_open_ring(struct dn_context *context, struct message_source *source);
void message_packets_tell_of_box(struct dn_context *context, const struct message_source *source);
void message_packets_tell_of_close(struct dn_context *context, const struct message_source *source);

/* ---- A context with flags, which is complete but for its offer: message_by_records.c */

/* DN_ENOTSUP: no peer is reached by packets. */
int message_records_open(struct dn_context *context);
/* Before its memory goes: the services use it. */
void message_records_close(struct dn_context *context);

/* After an entry is published in place. The look may pass our own store; a receiver that finds
 * no bit looks into all rings now and then. */
static inline void message_announce(const struct dn_context *context,
                                    const struct message_destination *destination,
                                    const struct group_entry *entry)
{
    if (UNLIKELY(destination->summary != NULL) &&
        !(atomic_load_explicit(destination->summary, memory_order_relaxed) &
          destination->summary_bit)) {
        atomic_fetch_or(destination->summary, destination->summary_bit);
        KILL_POINT("message: summary bit set");
    }
    if (UNLIKELY(atomic_load_explicit(destination->call, memory_order_relaxed) &
                 GROUP_CALL_WATCHING)) {
        fabric_wake_watching(context->view, destination->rank, entry, sizeof entry->header);
    }
}

#endif
