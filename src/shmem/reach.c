/* Addresses: which segment they are in, and what they are elsewhere. */
#include "shmem/failure.h"
#include "shmem/reach.h"

/* The segment that holds all of [address, address + bytes), or SHMEM_SEGMENTS. */
static int segment_of(const void *address, size_t bytes, uintptr_t *offset)
{
    for (int i = 0; i < SHMEM_SEGMENTS; i++) {
        const struct shmem_segment *segment = &shmem_state.segments[i];
        *offset = (uintptr_t)address - segment->base;
        if (*offset < segment->bytes && bytes <= segment->bytes - *offset) {
            return i;
        }
    }
    return SHMEM_SEGMENTS;
}

bool shmem_remote_of(const void *address, size_t bytes, int pe, struct dn_remote *remote)
{
    uintptr_t offset;
    int segment = segment_of(address, bytes, &offset);
    if (segment == SHMEM_SEGMENTS) {
        return false;
    }
    *remote = shmem_state.origins[segment][pe];
    remote->offset += offset;
    return true;
}

/* A program that stores through such a pointer says so to nobody; its fences and waits then
 * look for sleepers at that PE. With DN_RELAX there are no pointers, and none to PEs that only
 * packets reach, nor to the dead where that is no reason to end. */
static void *pointer_to(const void *dest, int pe)
{
    if ((uint32_t)pe >= (uint32_t)shmem_state.n_pes || !inner_reaches(shmem_state.node, pe) ||
        (shmem_state.goes_on && shmem_is_dead(pe))) {
        return NULL;
    }
    uintptr_t offset;
    int segment = segment_of(dest, 1, &offset);
    if (segment == SHMEM_SEGMENTS) {
        return NULL;
    }
    inner_note_pointers(shmem_state.node, pe);
    return shmem_at(&shmem_state.peers[pe], dest, segment);
}

void *pshmem_ptr(const void *dest, int pe)
{
    shmem_require_initialised("shmem_ptr");
    return pointer_to(dest, pe);
}

void *pshmem_team_ptr(shmem_team_t handle, const void *dest, int pe)
{
    shmem_require_initialised("shmem_team_ptr");
    const struct shmem_team *team = shmem_team_of(handle);
    return team && (uint32_t)pe < (uint32_t)team->n_pes ? pointer_to(dest, team->pes[pe]) : NULL;
}

SHMEM_ALIAS(ptr)
SHMEM_ALIAS(team_ptr)

const void *shmem_group_address(const void *address)
{
    uintptr_t offset;
    if (segment_of(address, 1, &offset) != SHMEM_STATIC) {
        return address;
    }
    return (const void *)(shmem_state.static_image + offset);
}
