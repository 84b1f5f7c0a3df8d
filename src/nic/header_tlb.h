/* The header TLB: what a kick page stands for.
 *
 * A kick address is a page number and 12 bits within the page. The page's header seed,
 * installed by the kernel's side, says where a store goes and in whose name; the user that
 * stores gives only the 12 bits, the length and the data, so it can forge neither the PGID
 * nor the rest of the remote address.
 *
 * All seeds are in the header table, which may be large. The TLB holds copies of 1,024 of
 * them in 256 sets of 4 ways; a miss replaces the way of its set that was used longest ago.
 * It never holds a copy of a seed that was removed. */
#ifndef NIC_HEADER_TLB_H
#define NIC_HEADER_TLB_H

#include "base/pool.h"
#include "nic/engine.h"

enum {
    NIC_HEADER_WAYS = 4,
    NIC_HEADER_SET_BITS = 8,
    NIC_HEADER_SETS = 1 << NIC_HEADER_SET_BITS,
    NIC_HEADER_TAG_BITS = 9,
    NIC_KICK_PAGES_MAX = 1 << (NIC_HEADER_SET_BITS + NIC_HEADER_TAG_BITS),
};

struct nic_header_seed {
    uint64_t offset; /* of the page: in the area, or with skip in the target's memory */
    uint32_t area;
    uint32_t pgid;
    uint16_t target;
    uint8_t user; /* that may store to the page */
    uint8_t channel;
    bool skip;  /* the offset is physical, the target does not translate */
    bool reads; /* a store asks for as many bytes of the target, to go to this node's page: */
    uint64_t local;
    bool in_use; /* set by the table; a seed that lookup gives has it */
};

/* A line of the header table. */
struct nic_header_page {
    struct nic_header_seed seed;
    uint32_t next_free; /* the pool's */
};

struct nic_header_way {
    struct nic_header_seed seed;
    uint64_t used; /* the clock at its last use; 0: empty */
    uint16_t tag;
};

struct nic_header_tlb {
    struct nic_header_page *pages;
    struct base_pool pool; /* of the pages; those that were never in use are raw memory */
    uint64_t clock;        /* counts uses of the TLB */
    uint64_t hits;
    uint64_t misses;
    struct nic_header_way *ways; /* NIC_HEADER_SETS sets of NIC_HEADER_WAYS */
};

/* `ways`: NIC_HEADER_SETS * NIC_HEADER_WAYS of them, all zero. `pages` has page_count lines,
 * at most NIC_KICK_PAGES_MAX; one is written before it is read. */
void nic_header_tlb_init(struct nic_header_tlb *tlb, struct nic_header_way *ways,
                         struct nic_header_page *pages, uint32_t page_count);

/* The kernel's side. Install takes a free page: DN_EFULL when there is none. DN_EALIGN:
 * the seed's offset is not that of a page. DN_EINVAL: the page is not in use. */
int nic_header_tlb_install(struct nic_header_tlb *tlb, const struct nic_header_seed *seed,
                           uint32_t *page);
int nic_header_tlb_remove(struct nic_header_tlb *tlb, uint64_t page);

/* The page's seed, good until the next call; NULL: the page is not in use. */
const struct nic_header_seed *nic_header_tlb_lookup(struct nic_header_tlb *tlb, uint64_t page);

#endif
