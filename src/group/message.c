/* Laying out boxes, and finding them. */
#include "group/message.h"

#include "group/service_memory.h"

struct group_box_layout group_box_layout(uint32_t source_count, uint64_t unit_count)
{
    struct group_box_layout layout = {
        .source_count = source_count,
        .unit_count = unit_count,
        .summary_offset = sizeof(struct group_message_box),
    };
    INVARIANT(is_power_of_two(unit_count));
    /* Nothing here overflows: at most 2^12 sources with rings of at most 2^26 bytes. */
    uint64_t summary_bytes = (uint64_t)(source_count + 63) / 64 * sizeof(uint64_t);
    (void)round_up(layout.summary_offset + summary_bytes, CACHE_LINE_BYTES, &layout.ranks_offset);
    (void)round_up(layout.ranks_offset + source_count * sizeof(uint32_t), CACHE_LINE_BYTES,
                   &layout.words_offset);
    layout.rings_offset = layout.words_offset + source_count * sizeof(struct group_ring_words);
    layout.bytes = layout.rings_offset + source_count * unit_count * GROUP_UNIT_BYTES;
    return layout;
}

bool group_box_read(const struct group_view *view, uint64_t offset,
                    const struct group_message_box *box, struct group_box_layout *layout)
{
    uint64_t stride = view->node_stride_bytes;
    if (offset % CACHE_LINE_BYTES != 0 || offset > stride - sizeof *box) {
        return false;
    }
    uint32_t source_count = atomic_load_explicit(&box->source_count, memory_order_relaxed);
    uint64_t unit_count = atomic_load_explicit(&box->unit_count, memory_order_relaxed);
    if (source_count > view->node_count || !is_power_of_two(unit_count) ||
        unit_count < GROUP_RING_BYTES_MIN / GROUP_UNIT_BYTES ||
        unit_count > GROUP_RING_BYTES_MAX / GROUP_UNIT_BYTES) {
        return false;
    }
    *layout = group_box_layout(source_count, unit_count);
    return layout->bytes <= stride - offset;
}

uint32_t group_message_find_rank(const uint32_t *ranks, uint32_t count, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranks[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ranks[low] == rank ? low : count;
}

static struct group_ring_words *ring_words(struct group_message_box *box,
                                           const struct group_box_layout *layout, uint32_t index)
{
    unsigned char *start = (unsigned char *)box + layout->words_offset;
    return (struct group_ring_words *)(void *)start + index;
}

static unsigned char *ring_start(struct group_message_box *box,
                                 const struct group_box_layout *layout, uint32_t index)
{
    return (unsigned char *)box + layout->rings_offset +
           index * layout->unit_count * GROUP_UNIT_BYTES;
}

void group_message_ring_in(struct group_message_box *box, const struct group_box_layout *layout,
                           uint32_t index, struct group_ring_in *ring)
{
    ring->start = ring_start(box, layout, index);
    ring->words = ring_words(box, layout, index);
    ring->unit_count = layout->unit_count;
    ring->published = 0;
    atomic_init(&ring->head, 0);
}

void group_message_ring_out(struct group_message_box *box, const struct group_box_layout *layout,
                            uint32_t index, struct group_ring_out *ring)
{
    ring->start = ring_start(box, layout, index);
    ring->words = ring_words(box, layout, index);
    ring->unit_count = layout->unit_count;
    ring->entry_units_max = group_ring_entry_units_max(layout->unit_count);
    ring->tail = atomic_load_explicit(&ring->words->tail, memory_order_relaxed);
    ring->head = atomic_load_explicit(&ring->words->head, memory_order_acquire);
    /* Words that make no sense stand for a full ring. */
    ring->head = ring->tail - ring->head <= ring->unit_count ? ring->head
                                                             : ring->tail - ring->unit_count;
}

void group_message_offer(struct group_message_slot *slot, uint32_t generation, uint32_t channel,
                         uint64_t offset)
{
    atomic_store_explicit(&slot->offset, offset, memory_order_relaxed);
    KILL_POINT("message: box made, not offered");
    /* Release: who finds the key finds the box. */
    atomic_store_explicit(&slot->key, (uint64_t)generation << 32 | channel, memory_order_release);
    KILL_POINT("message: box offered");
}

void group_message_withdraw(struct group_message_slot *slot)
{
    atomic_store(&slot->key, 0);
    KILL_POINT("message: box withdrawn");
}

bool group_message_unused(const struct group_view *view, const struct group_message_slot *slot)
{
    for (uint32_t first = 0; first < view->node_count; first += 64) {
        uint64_t bits = atomic_load(&slot->users[first / 64]);
        for (; bits != 0; bits &= bits - 1) {
            uint32_t rank = first + (uint32_t)__builtin_ctzll(bits);
            if (rank < view->node_count && !group_life_gone(group_life(view, rank))) {
                return false;
            }
        }
    }
    return true;
}

void group_message_let_go(const struct group_view *view, struct group_message_slot *slot)
{
    atomic_fetch_and(&slot->users[view->rank / 64], ~(UINT64_C(1) << (view->rank % 64)));
    KILL_POINT("message: box let go");
}

struct group_message_box *group_message_hold(const struct group_view *view, uint32_t rank,
                                             uint32_t channel, struct group_message_slot **found,
                                             struct group_box_layout *layout)
{
    struct group_service *service = group_service(view, rank);
    for (uint32_t i = 0; i < GROUP_MESSAGE_SLOTS; i++) {
        struct group_message_slot *slot = &service->message_slots[i];
        uint64_t key = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (key == 0 || (uint32_t)key != channel) {
            continue;
        }
        uint64_t offset = atomic_load_explicit(&slot->offset, memory_order_relaxed);
        uint64_t bit = UINT64_C(1) << (view->rank % 64);
        uint64_t before = atomic_fetch_or(&slot->users[view->rank / 64], bit);
        KILL_POINT("message: box held, not looked at again");
        /* Either the owner, which withdraws first and looks then, sees the bit, or we see
         * that it has withdrawn. */
        struct group_message_box *box = group_box_at(view, rank, offset);
        if (atomic_load(&slot->key) == key && group_box_read(view, offset, box, layout)) {
            *found = slot;
            return box;
        }
        /* Held already for what a closed context of ours has sent: that one lets go. */
        if (!(before & bit)) {
            group_message_let_go(view, slot);
        }
    }
    return NULL;
}
