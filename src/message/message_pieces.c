/* Reading entries, and putting messages together from their pieces. */
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

bool message_entry_read(const struct dn_context *context, const struct message_source *source,
                        uint64_t position, uint64_t header, struct message_entry *entry)
{
    const struct group_ring_in *ring = &source->ring;
    const struct group_entry *there = group_ring_entry(ring->start, ring->unit_count, position);
    uint64_t row = group_ring_row(ring, position);
    uint64_t stride = context->view->node_stride_bytes;
    bool is_whole = (header & GROUP_ENTRY_WHOLE) == GROUP_ENTRY_WHOLE;
    *entry = (struct message_entry){.header = header, .bytes = group_entry_bytes(header)};
    if (header & (GROUP_ENTRY_PAD | GROUP_ENTRY_ABORT)) {
        entry->units = header & GROUP_ENTRY_PAD ? row : 1;
        return true;
    }
    if (header & GROUP_ENTRY_PLACE) {
        entry->units = GROUP_PLACE_UNITS;
        if (entry->units > row) {
            return false;
        }
        entry->place = __atomic_load_n(&there->place, __ATOMIC_RELAXED);
        entry->bytes = __atomic_load_n(&there->bytes, __ATOMIC_RELAXED);
    } else {
        entry->units = group_units_of(
            (is_whole ? GROUP_WHOLE_HEADER_BYTES : GROUP_PIECE_HEADER_BYTES) + entry->bytes);
    }
    entry->total_bytes = is_whole ? entry->bytes
                                  : __atomic_load_n(&there->total_bytes, __ATOMIC_RELAXED);
    return entry->units <= row && entry->place <= stride && entry->bytes <= stride - entry->place;
}

int message_copy_from(struct dn_context *context, const struct message_source *source,
                      const struct message_entry *entry, void *target)
{
    return entry->bytes == 0
               ? 0
               : source->way->copy_from(context, source, entry->place, target, entry->bytes);
}

bool message_pieces_begin(struct message_source *source, struct message_op *op,
                          uint64_t total_bytes)
{
    if (!message_pieces_own(source, total_bytes)) {
        return false;
    }
    bool borrows = op->kind == MESSAGE_OP_RECV && !op->borrower && total_bytes <= op->bytes;
    source->target = borrows ? op->data : source->own;
    op->borrower = borrows ? source : op->borrower;
    source->total_bytes = total_bytes;
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

/* Adds the pieces behind this one that have come and lie beside it, to copy them all at once. */
static void add_row(const struct dn_context *context, const struct message_source *source,
                    struct message_entry *entry)
{
    const struct group_ring_in *ring = &source->ring;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    while (!(entry->header & GROUP_ENTRY_LAST) && entry->bytes < source->way->row_bytes_max) {
        uint64_t position = head + entry->units;
        struct message_entry next;
        /* Acquire: pairs with the release of the header; the rest of the entry is there. */
        uint64_t header = atomic_load_explicit(
            &group_ring_entry(ring->start, ring->unit_count, position)->header,
            memory_order_acquire);
        if (!(header & GROUP_ENTRY_PLACE) || (header & GROUP_ENTRY_FIRST) ||
            !message_entry_read(context, source, position, header, &next) ||
            next.place != entry->place + entry->bytes ||
            entry->bytes + next.bytes > source->way->row_bytes_max) {
            break;
        }
        entry->header = header;
        entry->bytes += next.bytes;
        entry->units += next.units;
    }
}

bool message_pieces_take(struct dn_context *context, struct message_source *source,
                         struct message_op *op, struct message_entry *entry)
{
    bool placed = entry->header & GROUP_ENTRY_PLACE;
    bool is_last;
    if (placed) {
        add_row(context, source, entry);
    }
    is_last = entry->header & GROUP_ENTRY_LAST;
    if (source->assembly == MESSAGE_ASSEMBLING) {
        uint64_t left = source->total_bytes - source->assembled_bytes;
        unsigned char *target = source->target + source->assembled_bytes;
        if (entry->bytes > left || is_last != (entry->bytes == left)) {
            return false;
        }
        int error = 0;
        if (!placed) {
            const struct group_entry *there = group_ring_at_head(&source->ring);
            memcpy(target, &there->place, entry->bytes);
        } else {
            error = message_copy_from(context, source, entry, target);
        }
        if (error == DN_EPEER) {
            message_pieces_drop(context, source, op);
            source->assembly = MESSAGE_LOST;
        } else if (error) {
            return false;
        }
        source->assembled_bytes += entry->bytes;
    } else if (source->assembly != MESSAGE_LOST) {
        return false;
    }
    if (is_last) {
        source->assembly = source->assembly == MESSAGE_LOST ? MESSAGE_ENDED : MESSAGE_COMPLETE;
    }
    if (placed) {
        /* Tell the sender at once: it waits to fill these stages again. */
        group_ring_advance(&source->ring, entry->units);
        message_give_back(context, source);
    } else {
        message_pass(context, source, entry->units);
    }
    return true;
}
