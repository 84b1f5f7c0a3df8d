/* From area names to places in memory; no sum here can overflow. */
#include "nic/address_tlb.h"

void nic_address_tlb_init(struct nic_address_tlb *tlb, struct nic_address_way *ways)
{
    *tlb = (struct nic_address_tlb){.ways = ways};
}

/* Whether [offset, offset + bytes) lies in [0, limit), without a sum that could overflow. */
static bool is_within(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* The slot is in a name's lower bits, so areas that live at the same time spread. */
static struct nic_address_way *set_of(struct nic_address_tlb *tlb, uint32_t area)
{
    return tlb->ways + (uint64_t)area % NIC_ADDRESS_SETS * NIC_ADDRESS_WAYS;
}

static struct nic_address_way *way_of(struct nic_address_tlb *tlb, uint32_t area)
{
    struct nic_address_way *set = set_of(tlb, area);
    for (uint32_t i = 0; i < NIC_ADDRESS_WAYS; i++) {
        if (set[i].used != 0 && set[i].area == area) {
            return &set[i];
        }
    }
    return NULL;
}

bool nic_address_tlb_holds(const struct nic_address_tlb *tlb, uint32_t area)
{
    return way_of((struct nic_address_tlb *)(uintptr_t)tlb, area) != NULL;
}

/* Puts the area over the way that was used longest ago; an empty one has never been used. */
static int refill(struct nic_address_tlb *tlb, const struct nic_local_memory *memory, uint32_t area,
                  struct nic_address_way **way)
{
    struct nic_extent extent;
    int error = memory->find(memory->context, area, &extent);
    if (error) {
        return error;
    }
    INVARIANT(is_within(extent.offset, extent.bytes, memory->bytes));
    struct nic_address_way *set = set_of(tlb, area);
    struct nic_address_way *oldest = set;
    for (uint32_t i = 1; i < NIC_ADDRESS_WAYS; i++) {
        if (set[i].used < oldest->used) {
            oldest = &set[i];
        }
    }
    oldest->extent = extent;
    oldest->area = area;
    *way = oldest;
    return 0;
}

int nic_address_tlb_translate(struct nic_address_tlb *tlb, const struct nic_local_memory *memory,
                              uint32_t area, uint64_t offset, uint64_t bytes,
                              struct nic_access access, uint64_t *address)
{
    struct nic_address_way *way = way_of(tlb, area);
    if (way) {
        tlb->hits++;
    } else {
        tlb->misses++;
        int error = refill(tlb, memory, area, &way);
        if (error) {
            return error;
        }
    }
    way->used = ++tlb->clock;
    if (UNLIKELY(way->extent.pgid != 0 && access.pgid != 0 && way->extent.pgid != access.pgid)) {
        tlb->foreign++;
        return DN_ERIGHTS;
    }
    if (!is_within(offset, bytes, way->extent.bytes)) {
        return DN_ERANGE;
    }
    if (UNLIKELY((way->extent.denied & access.right) != 0)) {
        return DN_ERIGHTS;
    }
    *address = way->extent.offset + offset;
    return 0;
}

int nic_address_tlb_translate_skip(struct nic_address_tlb *tlb,
                                   const struct nic_local_memory *memory, uint64_t offset,
                                   uint64_t bytes, uint64_t *address)
{
    tlb->skips++;
    if (!is_within(offset, bytes, memory->bytes)) {
        return DN_ERANGE;
    }
    *address = offset;
    return 0;
}

void nic_address_tlb_forget(struct nic_address_tlb *tlb, uint32_t area)
{
    struct nic_address_way *way = way_of(tlb, area);
    if (way) {
        way->used = 0;
    }
}
