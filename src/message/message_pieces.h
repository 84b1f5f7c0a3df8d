/* What receiving has inside: giving room back, and messages in pieces, which are put together
 * in the buffer of a receive or in memory of the source's own. All with the receive turn. */
#ifndef MESSAGE_MESSAGE_PIECES_H
#define MESSAGE_MESSAGE_PIECES_H

#include "message/message.h"

/* ---- Room ---------------------------------------------------------------------------- */

/* The sender sleeps until it hears of it, or has but a mirror of the head. */
void coll_tell_of_room(struct dn_context *context, const struct coll_source *source);

static inline void coll_give_back(struct dn_context *context, struct coll_source *source)
{
    if (UNLIKELY(nic_ring_give_back(&source->ring))) {
        coll_tell_of_room(context, source);
    }
}

/* Passes over units; the sender hears of it by quarters of the ring, or when the receiver
 * has nothing to do. */
static inline void coll_pass(struct dn_context *context, struct coll_source *source, uint64_t units)
{
    nic_ring_advance(&source->ring, units);
    uint64_t head = atomic_load_explicit(&source->ring.head, memory_order_relaxed);
    if (UNLIKELY(head - source->ring.published >= source->ring.unit_count / 4)) {
        coll_give_back(context, source);
    } else {
        context->owes_room = true;
    }
}

/* ---- Pieces -------------------------------------------------------------------------- */

/* Memory of the source's own, large enough for the message, before any of it is taken. */
bool coll_pieces_own(struct coll_source *source, uint64_t bytes);
void coll_pieces_drop_own(struct coll_source *source);

/* Gives an operation its buffer back. */
void coll_pieces_return_buffer(struct coll_message_op *op);

/* Copies from the sender's memory; false: the sender is gone, and its memory with it. */
bool coll_copy_from(struct dn_context *context, const struct coll_source *source, uint64_t place,
                    void *target, uint64_t bytes);

/* Starts with a first piece, in the operation's buffer if that is large enough; false: no
 * memory. */
bool coll_pieces_begin(struct coll_source *source, struct coll_message_op *op);

/* The piece at the head, of a message that was begun, and those behind it that come with it.
 * The message is lost with what is in the memory of a sender that is gone. */
void coll_pieces_take(struct dn_context *context, struct coll_source *source,
                      struct coll_message_op *op, uint64_t header);

/* A message that was begun will not come; a buffer it borrowed is its operation's again. */
void coll_pieces_drop(struct dn_context *context, struct coll_source *source,
                      struct coll_message_op *op);

#endif
