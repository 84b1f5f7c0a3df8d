/* A context, from inside.
 *
 * Each direction of it has a turn, which one thread at a time takes for as long as it works,
 * never while it waits: a thread that sends and one that receives do not meet, and a receive
 * that waits for one source keeps nobody from another. */
#ifndef MESSAGE_MESSAGE_CONTEXT_H
#define MESSAGE_MESSAGE_CONTEXT_H

#include "base/turn.h"
#include "message/message.h"

/* What a receiver cannot reach goes through memory that it can, so many pieces at a time. */
enum { MESSAGE_STAGES = 32, MESSAGE_STAGE_BYTES = 32 * 1024 };

/* One node that we send to. With the send turn. */
struct message_destination {
    uint32_t rank;
    /* Fewer bytes than this may take the quick path: 0 unless connected, nothing pending
     * and nothing lent. */
    uint64_t quick_bytes;
    struct group_ring_out ring;
    struct group_message_box *box; /* NULL: not found yet */
    const _Atomic uint64_t *call;  /* of its port */
    struct group_message_slot *slot;
    _Atomic uint64_t *summary; /* NULL: none needed */
    uint64_t summary_bit;
    struct message_op *first; /* sends that are not published whole, in order */
    struct message_op *last;
    uint32_t pending_count;

    uint64_t stages;                         /* in our service memory; 0: none yet */
    uint64_t stage_position[MESSAGE_STAGES]; /* where the head must be before it is free */
    uint32_t next_stage;
    uint64_t place_position; /* where it must be before nothing of ours is to be fetched */

    struct group_entry *lent; /* a send buffer, in the ring or beside it */
    uint64_t lent_bytes;
    uint64_t lent_units; /* 0: beside the ring, at large */
    uint64_t large;      /* a large send buffer in our service memory; 0: none yet */
    uint64_t large_bytes;
    uint64_t large_position; /* where the head must be before it is free */

    const struct message_way *way;
    /* By packets only. */
    bool unreachable;      /* it was gone when something was sent to it */
    uint64_t ask_at_ns;    /* without a box: when to ask for it again */
    uint64_t ask_pause_ns; /* and how long not to after that; 0: not asked yet */
    /* By records only; ring.tail is then the next SEQID. */
    struct group_entry *reserved; /* room in SB; NULL: none */
    uint32_t record;              /* its entry of SENDTBL */
    bool owes_abort;              /* the receiver does not know that a message has ended */
    struct message_op large_op;   /* of the large send buffer; NONE: not begun */
};

enum message_assembly {
    MESSAGE_NONE,
    MESSAGE_ASSEMBLING,
    MESSAGE_COMPLETE,
    MESSAGE_LOST,   /* the sender died with a piece of it, but may have taken it back before */
    MESSAGE_ENDED,  /* the sender died with a whole message: we receive none of those behind it */
    MESSAGE_BROKEN, /* the ring holds what no sender writes: we receive nothing more from it */
};

/* One node that we receive from. With the receive turn. */
struct message_source {
    struct group_ring_in ring;
    uint32_t rank;
    bool lent;           /* received in place, not released */
    uint64_t lent_units; /* 0: from `own` */
    enum message_assembly assembly;
    uint64_t total_bytes;
    uint64_t assembled_bytes;
    unsigned char *target; /* `own`, or the borrowed buffer of an operation */
    unsigned char *own;    /* large enough for what is being put together */
    uint64_t own_bytes;
    const struct message_way *way;
    struct group_ring_out writer; /* by records: with the services */
};

struct dn_context {
    uint32_t open; /* MESSAGE_CONTEXT_OPEN while it may be used */
    uint32_t channel;
    struct dn_node *node;
    const struct group_view *view;
    struct group_message_slot *slot; /* NULL: the handle is free */
    struct group_message_box *box;
    uint64_t box_offset;
    uint32_t destination_count;
    uint32_t source_count;
    uint32_t node_count; /* of the group */
    uint32_t queue_entries;
    uint32_t flags; /* enum dn_context_flag; not 0: peers by packets are reached by records */
    struct message_destination **destination_of; /* by rank; NULL: none */
    struct message_source **source_of;
    struct message_destination *destinations; /* by rank, as the sources */
    struct message_source *sources;
    struct message_source **by_records; /* those of the sources, by rank */
    _Atomic uint64_t *summary;          /* of the box, a bit per source; NULL: none needed */
    struct dn_context *next;            /* every handle ever made, closed ones for reuse */
    struct fabric_lane *lane;           /* the node's default one: it outlives the context */

    alignas(CACHE_LINE_BYTES) _Atomic uint32_t send_turn;
    _Atomic uint32_t pending_count; /* sends that are queued or offered, to all together */

    alignas(CACHE_LINE_BYTES) _Atomic uint32_t recv_turn;
    /* Receives not done, in order; changed with the turn, looked at without. */
    struct message_op *_Atomic posted;
    uint32_t next_source; /* where DN_ANY goes on */
    uint32_t scan_count;
    bool owes_room; /* some units were passed over and not given back */
};

#define MESSAGE_CONTEXT_OPEN UINT32_C(0x54585443)

static inline int message_context_check(const struct dn_context *context)
{
    if (LIKELY(context && context->open == MESSAGE_CONTEXT_OPEN && host_node_open(context->node))) {
        return 0;
    }
    return context ? DN_ESTATE : DN_EINVAL;
}

/* Takes a turn that is only ever held for a moment. */
void message_turn_get(struct dn_context *context, _Atomic uint32_t *turn);

/* ---- What the others share: message_context.c ------------------------------------------ */

/* With the send turn: finds the destination's box. 0; DN_EBUSY: not open yet; DN_ERANK:
 * it does not list us. */
int message_destination_connect(struct dn_context *context,
                                struct message_destination *destination);

/* With the handles' lock: whether a closed context of this node with the same channel has sent
 * something to the rank that is not delivered yet. */
bool message_is_owed_by_another(const struct dn_context *context, uint32_t rank);

/* Whether the receiver's head has passed a position. Acquire: pairs with the release in
 * group_ring_give_back; the receiver has read what lay before it. */
static inline bool message_is_passed(const struct message_destination *destination,
                                     uint64_t position)
{
    return atomic_load_explicit(&destination->ring.words->head, memory_order_acquire) >= position;
}

static inline void message_op_finish(struct message_op *op, int error)
{
    op->error = error;
    /* Release: who sees DONE sees how it ended, and the message. */
    atomic_store_explicit(&op->state, MESSAGE_OP_DONE, memory_order_release);
}

#endif
