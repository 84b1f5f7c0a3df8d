/* Where peers find a member's data: where it lies if they can reach that, else in staging
 * memory of the team, into which it is copied. */
#ifndef TEAM_STAGING_H
#define TEAM_STAGING_H

#include "team/team.h"

enum {
    TEAM_SMALL_BYTES = 4096,       /* up to here every member does all the work: one phase */
    TEAM_CHUNK_BYTES = 256 * 1024, /* beyond, unreachable data goes in pieces of this size */
};

/* "Nowhere": the member has no staging memory left, or no reachable target. */
#define TEAM_NOWHERE UINT64_MAX

/* This member's staging memory: two small buffers by the phase's parity, a chunk for what goes
 * in and one for what comes out. Offsets are from the start of the node's memory. TEAM_NOWHERE:
 * there is no memory. */
uint64_t team_staging_small(struct dn_team *team, uint32_t phase);
uint64_t team_staging_in(struct dn_team *team);
uint64_t team_staging_out(struct dn_team *team);

/* Gives it back, if there is any. Nobody may read or write it any more. */
void team_staging_give(struct dn_team *team);

/* Copies up to TEAM_SMALL_BYTES into the small buffer of the next phase, after which all members
 * can read it. Gives the place, or TEAM_NOWHERE. */
uint64_t team_show_small(struct dn_team *team, const void *data, size_t bytes);

/* Where peers can read these bytes as they lie, or TEAM_NOWHERE; by packets always that. */
uint64_t team_place_of(const struct dn_team *team, const void *pointer, size_t bytes);

/* A member's memory in this address space. */
static inline unsigned char *team_memory(const struct dn_team *team, uint32_t index,
                                         uint64_t offset)
{
    return group_node_memory(team->nic.view, team->nic.ranks[index]) + offset;
}

/* The same for a place that the member itself has told, which may be anything: NULL, unless all of
 * the bytes lie in its memory and begin at a multiple of the alignment. */
static inline unsigned char *team_reach(const struct dn_team *team, uint32_t index, uint64_t offset,
                                        uint64_t bytes, uint64_t alignment)
{
    uint64_t stride = team->nic.view->node_stride_bytes;
    bool is_inside = LIKELY(bytes <= stride && offset <= stride - bytes &&
                            (offset & (alignment - 1)) == 0);
    return is_inside ? team_memory(team, index, offset) : NULL;
}

/* A phase in which every member tells where its data lies, and one word more as the operand.
 * DN_ENOMEM: some member's data is nowhere. */
int team_exchange_places(struct dn_team *team, uint64_t source, uint64_t operand,
                         uint64_t argument);

static inline uint64_t team_source_of(const struct dn_team *team, uint32_t index)
{
    return atomic_load_explicit(group_team_source(&team->nic, index, team->phase),
                                memory_order_relaxed);
}

/* Where a member's data lies here, as it told in the phase just passed; NULL as above: it told
 * what makes no sense, DN_EGROUP. */
static inline unsigned char *team_shown_by(const struct dn_team *team, uint32_t index,
                                           uint64_t bytes, uint64_t alignment)
{
    return team_reach(team, index, team_source_of(team, index), bytes, alignment);
}

/* What a member brought to the last exchange. */
static inline uint64_t team_operand_of(const struct dn_team *team, uint32_t index)
{
    return team->operands[index];
}

#endif
