/* Parts of receiving: giving room back, reading entries, and putting messages together from
 * pieces, in the buffer of a receive or in memory of the source's own. All with the receive
 * turn. */
#ifndef MESSAGE_MESSAGE_PIECES_H
#define MESSAGE_MESSAGE_PIECES_H

#include "message/message_way.h"

/* ---- Room ---------------------------------------------------------------------------- */

static inline void message_give_back(struct dn_context *context, struct message_source *source)
{
    if (UNLIKELY(group_ring_give_back(&source->ring))) {
        source->way->tell_of_room(context, source);
    }
}

/* Passes over units. The sender hears of it when they add up to a quarter of the ring, or when
 * the receiver has nothing to do. */
static inline void message_pass(struct dn_context *context, struct message_source *source,
                                uint64_t units)
{
    group_ring_advance(&source->ring, units);
    uint64_t head = atomic_load_explicit(&source->ring.head, memory_order_relaxed);
    if (UNLIKELY(head - source->ring.published >= source->ring.unit_count / 4)) {
        message_give_back(context, source);
    } else {
        context->owes_room = true;
    }
}

/* ---- Entries ------------------------------------------------------------------------- */

/* What an entry says, read once: the source can write there at any time. */
struct message_entry {
    uint64_t header;
    uint64_t units;
    uint64_t total_bytes; /* of its message */
    uint64_t bytes;       /* of its payload */
    uint64_t place;       /* of its payload in the source's memory; PLACE only */
};

/* Reads the entry at a position; false: no sender writes such a one. */
bool message_entry_read(const struct dn_context *context, const struct message_source *source,
                        uint64_t position, uint64_t header, struct message_entry *entry);

/* ---- Pieces -------------------------------------------------------------------------- */

/* Gets memory of the source's own, large enough for the whole message, before we take any piece
 * of it. */
bool message_pieces_own(struct message_source *source, uint64_t bytes);
void message_pieces_drop_own(struct message_source *source);

/* Gives an operation its buffer back. */
void message_pieces_return_buffer(struct message_op *op);

/* Copies an entry's payload from the sender's memory. DN_EPEER: the sender is gone, and its memory
 * with it; another error: it has offered what others may not read. */
int message_copy_from(struct dn_context *context, const struct message_source *source,
                      const struct message_entry *entry, void *target);

/* Begins a message, in the operation's buffer if that is large enough; false: no memory. */
bool message_pieces_begin(struct message_source *source, struct message_op *op,
                          uint64_t total_bytes);

/* Takes the piece at the head, and maybe some behind it. The message is lost if a piece lies in
 * the memory of a sender that is gone. False: the piece does not belong to the message. */
bool message_pieces_take(struct dn_context *context, struct message_source *source,
                         struct message_op *op, struct message_entry *entry);

/* Drops a message that was begun. A buffer that it borrowed is its operation's again. */
void message_pieces_drop(struct dn_context *context, struct message_source *source,
                         struct message_op *op);

#endif
