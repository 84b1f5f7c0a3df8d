/* The address TLB: finds where an operation from the network lies in this node's memory.
 *
 * It remembers where areas are, in 64 sets of 4 ways, by their full names: a name holds its
 * slot's generation, so an area that got the slot of an older one is never taken for it. A
 * miss asks the node's memory and replaces the way that was used longest ago; refusals are
 * not remembered.
 *
 * A hit asks nobody. So whoever deregisters an area, or changes the rights in it, calls
 * nic_address_tlb_forget after nic_local_memory.find has ceased to know the name or gives the
 * new rights, and before the memory is used for something else. In the other order, a packet in
 * between would bring the name back, or the old rights. */
#ifndef NIC_ADDRESS_TLB_H
#define NIC_ADDRESS_TLB_H

#include "nic/engine.h"

enum {
    NIC_ADDRESS_WAYS = 4,
    NIC_ADDRESS_SETS = 64,
};

struct nic_address_way {
    struct nic_extent extent;
    uint64_t used; /* the clock at its last use; 0: empty */
    uint32_t area;
};

struct nic_address_tlb {
    uint64_t clock; /* counts uses of the TLB */
    uint64_t hits;
    uint64_t misses;
    uint64_t skips;
    uint64_t foreign;             /* refused because the area is another group's */
    struct nic_address_way *ways; /* NIC_ADDRESS_SETS sets of NIC_ADDRESS_WAYS */
};

/* `ways`: NIC_ADDRESS_SETS * NIC_ADDRESS_WAYS of them, all zero. */
void nic_address_tlb_init(struct nic_address_tlb *tlb, struct nic_address_way *ways);

/* What somebody wants to do in an area. */
struct nic_access {
    uint32_t right; /* enum dn_right */
    uint32_t pgid;  /* 0: this node's own kernel, which may go anywhere */
};

/* The address is from the start of the node's memory, all `bytes` behind it are in the area, and
 * others have that right there. DN_EAREA, DN_ESTALE, DN_ERANGE when offset and bytes leave the
 * area, or DN_ERIGHTS, also when the area is another group's. */
int nic_address_tlb_translate(struct nic_address_tlb *tlb, const struct nic_local_memory *memory,
                              uint32_t area, uint64_t offset, uint64_t bytes,
                              struct nic_access access, uint64_t *address);

/* Whether the next translation of the area would hit. */
bool nic_address_tlb_holds(const struct nic_address_tlb *tlb, uint32_t area);

/* For AOTF with the skip flag: the offset is the address, and only the node's memory bounds
 * it. 0 or DN_ERANGE. */
int nic_address_tlb_translate_skip(struct nic_address_tlb *tlb,
                                   const struct nic_local_memory *memory, uint64_t offset,
                                   uint64_t bytes, uint64_t *address);

/* The area was deregistered, or has other rights. Nothing happens if the TLB does not hold it. */
void nic_address_tlb_forget(struct nic_address_tlb *tlb, uint32_t area);

#endif
