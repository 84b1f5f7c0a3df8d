/* Staging memory and places. */
#include "team/staging.h"

#include "host/arena.h"
#include "host/memory.h"
#include "team/way.h"

/* Two small buffers, a chunk that goes in, a chunk that comes out. */
#define STAGING_OUT (2 * (uint64_t)TEAM_SMALL_BYTES + TEAM_CHUNK_BYTES)
#define STAGING_BYTES (STAGING_OUT + TEAM_CHUNK_BYTES)

/* By packets, members put what a scan is to give into this one's chunk for what comes out. */
static bool grant_staging(const struct dn_team *team, uint64_t start)
{
    const struct fabric_grant grant = {
        .kind = FABRIC_GRANT_STAGING,
        .offset = start + STAGING_OUT,
        .ranks = team->nic.ranks,
        .count = team->nic.count,
        .bytes = TEAM_CHUNK_BYTES,
    };
    return team->way->in_place || fabric_grant(team_lane(team), &grant) == 0;
}

void team_staging_give(struct dn_team *team)
{
    if (team->staging) {
        if (!team->way->in_place) {
            fabric_revoke(team_lane(team), team->staging + STAGING_OUT);
        }
        host_arena_give(team->node->process, team->staging);
        team->staging = 0;
    }
}

/* There is none while an arrival is open: the call is going to be refused, and a slow member may
 * still read what would be overwritten. */
static uint64_t staging(struct dn_team *team)
{
    if (UNLIKELY(team->arrival_is_open)) {
        return TEAM_NOWHERE;
    }
    if (!team->staging) {
        uint64_t offset;
        if (!host_arena_take(team->node->process, STAGING_BYTES, &offset)) {
            return TEAM_NOWHERE;
        }
        if (!grant_staging(team, offset)) {
            host_arena_give(team->node->process, offset);
            return TEAM_NOWHERE;
        }
        team->staging = offset;
    }
    return team->staging;
}

uint64_t team_staging_small(struct dn_team *team, uint32_t phase)
{
    uint64_t start = staging(team);
    return start == TEAM_NOWHERE ? start : start + (phase & 1) * (uint64_t)TEAM_SMALL_BYTES;
}

uint64_t team_show_small(struct dn_team *team, const void *data, size_t bytes)
{
    uint64_t place = team_staging_small(team, team->phase + 1);
    if (place != TEAM_NOWHERE) {
        team->way->give_all(team, team_memory(team, team->nic.index, place), data, bytes);
    }
    return place;
}

uint64_t team_staging_in(struct dn_team *team)
{
    uint64_t start = staging(team);
    return start == TEAM_NOWHERE ? start : start + 2 * (uint64_t)TEAM_SMALL_BYTES;
}

uint64_t team_staging_out(struct dn_team *team)
{
    uint64_t start = staging(team);
    return start == TEAM_NOWHERE ? start : start + STAGING_OUT;
}

uint64_t team_place_of(const struct dn_team *team, const void *pointer, size_t bytes)
{
    const struct group_view *view = team->nic.view;
    if (!team->way->in_place) {
        return TEAM_NOWHERE;
    }
    uintptr_t start = (uintptr_t)group_node_memory(view, view->rank);
    uint64_t offset = (uintptr_t)pointer - start;
    bool inside = (uintptr_t)pointer >= start && offset < view->node_stride_bytes &&
                  bytes <= view->node_stride_bytes - offset;
    /* Registered memory has its own addresses, but also a place in the node's memory. */
    bool reachable = inside || host_memory_offset(team->node->process, pointer, bytes, &offset);
    return reachable ? offset : TEAM_NOWHERE;
}

int team_exchange_places(struct dn_team *team, uint64_t source, uint64_t operand, uint64_t argument)
{
    int error = team_check_closed(team);
    if (UNLIKELY(error)) {
        return error;
    }
    atomic_store_explicit(group_team_source(&team->nic, team->nic.index, team->phase + 1), source,
                          memory_order_relaxed);
    error = team_exchange(team, operand, argument);
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        error = team_source_of(team, index) == TEAM_NOWHERE ? DN_ENOMEM : 0;
    }
    return error;
}
