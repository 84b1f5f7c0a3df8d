/* Messages in pieces. */
#include "message/message_pieces.h"

#include <stdlib.h>
#include <string.h>

enum {
    OWN_KEPT_BYTES = 4 << 20,  /* larger memory is freed when its message is delivered */
    FETCH_BYTES_MAX = 1 << 20, /* of pieces side by side, in one transfer */
};

void coll_tell_of_room(struct dn_context *context, const struct coll_source *source)
{
    if (source->mirrored) {
        coll_mirror_give_back(context, source);
    } else {
        fabric_wake(context->view, source->rank);
    }
}

bool coll_pieces_own(struct coll_source *source, uint64_t bytes)
{
    if (source->own_bytes < bytes) {
        free(source->own);
        source->own = malloc(bytes);
        source->own_bytes = source->own ? bytes : 0;
    }
    return source->own != NULL;
}

void coll_pieces_drop_own(struct coll_source *source)
{
    if (source->own_bytes > OWN_KEPT_BYTES) {
        free(source->own);
        source->own = NULL;
        source->own_bytes = 0;
    }
}

void coll_pieces_return_buffer(struct coll_message_op *op)
{
    struct coll_source *source = op->borrower;
    if (source) {
        memcpy(source->own, op->data, source->assembled_bytes);
        source->target = source->own;
        op->borrower = NULL;
    }
}

bool coll_copy_from(struct dn_context *context, const struct coll_source *source, uint64_t place,
                    void *target, uint64_t bytes)
{
    uint64_t stride = context->view->node_stride_bytes;
    INVARIANT(place <= stride && bytes <= stride - place);
    if (source->mirrored) {
        return coll_mirror_fetch(context, source, place, target, bytes) == 0;
    }
    if (bytes) {
        memcpy(target, nic_node_memory(context->view, source->rank) + place, bytes);
    }
    return true;
}

bool coll_pieces_begin(struct coll_source *source, struct coll_message_op *op)
{
    uint64_t total = nic_ring_at_head(&source->ring)->total_bytes;
    if (!coll_pieces_own(source, total)) {
        return false;
    }
    bool borrows = op->kind == COLL_OP_RECV && !op->borrower && total <= op->bytes;
    source->target = borrows ? op->data : source->own;
    op->borrower = borrows ? source : op->borrower;
    source->total_bytes = total;
    source->assembled_bytes = 0;
    source->assembly = COLL_ASSEMBLING;
    return true;
}

void coll_pieces_drop(struct dn_context *context, struct coll_source *source,
                      struct coll_message_op *op)
{
    source->assembly = COLL_NONE;
    op->borrower = op->borrower == source ? NULL : op->borrower;
    for (struct coll_message_op *posted =
             atomic_load_explicit(&context->posted, memory_order_relaxed);
         posted; posted = posted->next) {
        posted->borrower = posted->borrower == source ? NULL : posted->borrower;
    }
}

/* How many pieces of a mirrored sender to fetch at once, because each time costs a round trip:
 * those behind the first that are there and lie side by side; *header is the last one's. */
static uint64_t pieces_in_a_row(const struct nic_ring_in *ring, uint64_t *header, uint64_t *bytes)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t place = nic_ring_at_head(ring)->place;
    uint64_t count = 1;
    while (!(*header & NIC_ENTRY_LAST)) {
        const struct nic_entry *entry = nic_ring_entry(ring->start, ring->unit_count,
                                                       head + count * NIC_PLACE_UNITS);
        /* Acquire: who sees the header sees the rest. */
        uint64_t next = atomic_load_explicit(&entry->header, memory_order_acquire);
        if (!(next & NIC_ENTRY_PLACE) || entry->place != place + *bytes ||
            *bytes + entry->bytes > FETCH_BYTES_MAX) {
            break;
        }
        *header = next;
        *bytes += entry->bytes;
        count++;
    }
    return count;
}

void coll_pieces_take(struct dn_context *context, struct coll_source *source,
                      struct coll_message_op *op, uint64_t header)
{
    const struct nic_entry *entry = nic_ring_at_head(&source->ring);
    bool placed = header & NIC_ENTRY_PLACE;
    uint64_t bytes = placed ? entry->bytes : nic_entry_bytes(header);
    uint64_t units = placed ? NIC_PLACE_UNITS : nic_units_of(NIC_PIECE_HEADER_BYTES + bytes);
    if (placed && source->mirrored) {
        units *= pieces_in_a_row(&source->ring, &header, &bytes);
    }
    INVARIANT(source->assembly == COLL_ASSEMBLING || source->assembly == COLL_LOST);
    if (source->assembly == COLL_ASSEMBLING) {
        unsigned char *target = source->target + source->assembled_bytes;
        INVARIANT(bytes <= source->total_bytes - source->assembled_bytes);
        if (!placed) {
            memcpy(target, &entry->place, bytes);
        } else if (!coll_copy_from(context, source, entry->place, target, bytes)) {
            coll_pieces_drop(context, source, op);
            source->assembly = COLL_LOST;
        }
        source->assembled_bytes += bytes;
    }
    if (header & NIC_ENTRY_LAST) {
        source->assembly = source->assembly == COLL_LOST ? COLL_ENDED : COLL_COMPLETE;
    }
    if (placed) {
        /* The sender fills these stages again as soon as it hears of it. */
        nic_ring_advance(&source->ring, units);
        coll_give_back(context, source);
    } else {
        coll_pass(context, source, units);
    }
}
