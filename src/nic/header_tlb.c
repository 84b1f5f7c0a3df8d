/* The header table with its free list, and the TLB of copies in front of it. */
#include "nic/header_tlb.h"

#include <stddef.h>

static const uint64_t page_mask = (UINT64_C(1) << NIC_KICK_PAGE_BITS) - 1;

void nic_header_tlb_init(struct nic_header_tlb *tlb, struct nic_header_way *ways,
                         struct nic_header_page *pages, uint32_t page_count)
{
    INVARIANT(page_count <= NIC_KICK_PAGES_MAX);
    *tlb = (struct nic_header_tlb){.pages = pages, .ways = ways};
    base_pool_init(&tlb->pool, pages, sizeof *pages, offsetof(struct nic_header_page, next_free),
                   page_count);
}

static struct nic_header_way *set_of(struct nic_header_tlb *tlb, uint64_t page)
{
    return tlb->ways + page % NIC_HEADER_SETS * NIC_HEADER_WAYS;
}

static uint16_t tag_of(uint64_t page)
{
    return (uint16_t)(page >> NIC_HEADER_SET_BITS);
}

/* The way that holds a page's seed, or NULL. The page is below page_count, so that its tag
 * is its own. */
static struct nic_header_way *way_of(struct nic_header_tlb *tlb, uint64_t page)
{
    struct nic_header_way *set = set_of(tlb, page);
    for (uint32_t i = 0; i < NIC_HEADER_WAYS; i++) {
        if (set[i].used != 0 && set[i].tag == tag_of(page)) {
            return &set[i];
        }
    }
    return NULL;
}

static bool page_is_in_use(const struct nic_header_tlb *tlb, uint64_t page)
{
    return page < tlb->pool.touched && tlb->pages[page].seed.in_use;
}

int nic_header_tlb_install(struct nic_header_tlb *tlb, const struct nic_header_seed *seed,
                           uint32_t *page)
{
    INVARIANT(seed->user < NIC_USERS && seed->channel < WIRE_CHANNELS);
    if (seed->offset & page_mask) {
        return DN_EALIGN;
    }
    uint32_t taken = base_pool_take(&tlb->pool);
    if (taken == BASE_POOL_NONE) {
        return DN_EFULL;
    }
    tlb->pages[taken].seed = *seed;
    tlb->pages[taken].seed.in_use = true;
    *page = taken;
    return 0;
}

int nic_header_tlb_remove(struct nic_header_tlb *tlb, uint64_t page)
{
    if (!page_is_in_use(tlb, page)) {
        return DN_EINVAL;
    }
    tlb->pages[page].seed.in_use = false;
    base_pool_give(&tlb->pool, (uint32_t)page);
    struct nic_header_way *way = way_of(tlb, page);
    if (way) {
        way->used = 0;
    }
    return 0;
}

/* Copies a seed from the table over the way that was used longest ago; an empty one has
 * never been used. */
static struct nic_header_way *refill(struct nic_header_tlb *tlb, uint64_t page)
{
    struct nic_header_way *set = set_of(tlb, page);
    struct nic_header_way *oldest = set;
    for (uint32_t i = 1; i < NIC_HEADER_WAYS; i++) {
        if (set[i].used < oldest->used) {
            oldest = &set[i];
        }
    }
    oldest->seed = tlb->pages[page].seed;
    oldest->tag = tag_of(page);
    return oldest;
}

const struct nic_header_seed *nic_header_tlb_lookup(struct nic_header_tlb *tlb, uint64_t page)
{
    if (page >= tlb->pool.capacity) {
        tlb->misses++;
        return NULL;
    }
    struct nic_header_way *way = way_of(tlb, page);
    if (way) {
        tlb->hits++;
    } else {
        tlb->misses++;
        if (!page_is_in_use(tlb, page)) {
            return NULL;
        }
        way = refill(tlb, page);
    }
    way->used = ++tlb->clock;
    return &way->seed;
}
