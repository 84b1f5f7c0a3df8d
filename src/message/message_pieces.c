/* Messages in pieces. */
#include "message/message_pieces.h"

#include <stdlib.h>
#include <string.h>

enum { OWN_KEPT_BYTES = 4 << 20 }; /* larger memory is freed when its message is delivered */

bool message_pieces_own(struct message_source *source, uint64_t bytes)
{
    if (source->own_bytes < bytes) {
        free(source->own);
        source->own = malloc(bytes);
        source->own_bytes = source->own ? bytes : 0;
    }
    return source->own != NULL;
}

void message_pieces_drop_own(struct message_source *source)
{
    if (source->own_bytes > OWN_KEPT_BYTES) {
        free(source->own);
        source->own = NULL;
        source->own_bytes = 0;
    }
}

void message_pieces_return_buffer(struct message_op *op)
{
    struct message_source *source = op->borrower;
    if (source) {
        memcpy(source->own, op->data, source->assembled_bytes);
        source->target = source->own;
        op->borrower = NULL;
    }
}

bool message_copy_from(struct dn_context *context, const struct message_source *source,
                       uint64_t place, void *target, uint64_t bytes)
{
    uint64_t stride = context->view->node_stride_bytes;
    INVARIANT(place <= stride && bytes <= stride - place);
    return bytes == 0 || source->way->copy_from(context, source, place, target, bytes);
}

bool message_pieces_begin(struct message_source *source, struct message_op *op)
{
    uint64_t total = group_ring_at_head(&source->ring)->total_bytes;
    if (!message_pieces_own(source, total)) {
        return false;
    }
    bool borrows = op->kind == MESSAGE_OP_RECV && !op->borrower && total <= op->bytes;
    source->target = borrows ? op->data : source->own;
    op->borrower = borrows ? source : op->borrower;
    source->total_bytes = total;
    source->assembled_bytes = 0;
    source->assembly = MESSAGE_ASSEMBLING;
    return true;
}

void message_pieces_drop(struct dn_context *context, struct message_source *source,
                         struct message_op *op)
{
    source->assembly = MESSAGE_NONE;
    op->borrower = op->borrower == source ? NULL : op->borrower;
    for (struct message_op *posted = atomic_load_explicit(&context->posted, memory_order_relaxed);
         posted; posted = posted->next) {
        posted->borrower = posted->borrower == source ? NULL : posted->borrower;
    }
}

/* How many pieces to copy at once: those behind the first that are there and lie side by side;
 * *header is the last one's. */
static uint64_t pieces_in_a_row(const struct message_source *source, uint64_t *header,
                                uint64_t *bytes)
{
    const struct group_ring_in *ring = &source->ring;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t place = group_ring_at_head(ring)->place;
    uint64_t count = 1;
    while (!(*header & GROUP_ENTRY_LAST) && *bytes < source->way->row_bytes_max) {
        const struct group_entry *entry = group_ring_entry(ring->start, ring->unit_count,
                                                           head + count * GROUP_PLACE_UNITS);
        /* Acquire: who sees the header sees the rest. */
        uint64_t next = atomic_load_explicit(&entry->header, memory_order_acquire);
        if (!(next & GROUP_ENTRY_PLACE) || entry->place != place + *bytes ||
            *bytes + entry->bytes > source->way->row_bytes_max) {
            break;
        }
        *header = next;
        *bytes += entry->bytes;
        count++;
    }
    return count;
}

void message_pieces_take(struct dn_context *context, struct message_source *source,
                         struct message_op *op, uint64_t header)
{
    const struct group_entry *entry = group_ring_at_head(&source->ring);
    bool placed = header & GROUP_ENTRY_PLACE;
    uint64_t bytes = placed ? entry->bytes : group_entry_bytes(header);
    uint64_t units = placed ? GROUP_PLACE_UNITS : group_units_of(GROUP_PIECE_HEADER_BYTES + bytes);
    if (placed) {
        units *= pieces_in_a_row(source, &header, &bytes);
    }
    INVARIANT(source->assembly == MESSAGE_ASSEMBLING || source->assembly == MESSAGE_LOST);
    if (source->assembly == MESSAGE_ASSEMBLING) {
        unsigned char *target = source->target + source->assembled_bytes;
        INVARIANT(bytes <= source->total_bytes - source->assembled_bytes);
        if (!placed) {
            memcpy(target, &entry->place, bytes);
        } else if (!message_copy_from(context, source, entry->place, target, bytes)) {
            message_pieces_drop(context, source, op);
            source->assembly = MESSAGE_LOST;
        }
        source->assembled_bytes += bytes;
    }
    if (header & GROUP_ENTRY_LAST) {
        source->assembly = source->assembly == MESSAGE_LOST ? MESSAGE_ENDED : MESSAGE_COMPLETE;
    }
    if (placed) {
        /* The sender fills these stages again as soon as it hears of it. */
        group_ring_advance(&source->ring, units);
        message_give_back(context, source);
    } else {
        message_pass(context, source, units);
    }
}
