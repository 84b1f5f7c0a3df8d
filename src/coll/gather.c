/* Broadcast and allgather: data in place or by staging, one phase for small ones, two
 * for each chunk of larger ones. */
#include <string.h>

#include "coll/reduce.h"
#include "coll/staging.h"

/* Nothing may be copied from nowhere; and a member may gather in place, so what it copies
 * may stand there already. */
static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes != 0) {
        memmove(to, from, bytes);
    }
}

static uint64_t pack(enum coll_call_number call, uint64_t root, uint64_t bytes)
{
    return (uint64_t)call << 56 | coll_digest(call, root, bytes) >> 8;
}

/* Puts a piece of this member's data where peers can read it. */
static uint64_t show_piece(struct dn_team *team, const unsigned char *source, size_t bytes,
                           uint64_t staging)
{
    uint64_t place = coll_place_of(team, source, bytes);
    if (place == COLL_NOWHERE && staging != COLL_NOWHERE) {
        place = staging;
        copy(coll_memory(team, team->nic.index, place), source, bytes);
    }
    return place;
}

/* One piece: the small ones are always copied, so that the source may be reused. */
static int broadcast_piece(struct dn_team *team, unsigned char *buffer, size_t bytes, uint32_t root,
                           bool small, uint64_t argument)
{
    bool is_root = team->nic.index == root;
    uint64_t place = 0;
    if (is_root && small) {
        place = coll_staging_small(team, team->phase + 1);
        if (place != COLL_NOWHERE) {
            copy(coll_memory(team, root, place), buffer, bytes);
        }
    } else if (is_root) {
        place = show_piece(team, buffer, bytes, coll_staging_in(team));
    }
    int error = coll_exchange_places(team, place, 0, argument);
    if (!error && !is_root) {
        copy(buffer, coll_memory(team, root, coll_source_of(team, root)), bytes);
    }
    return error || small ? error : coll_exchange(team, 0, argument);
}

int coll_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root)
{
    if (root < 0 || (uint32_t)root >= team->nic.count || (!buffer && bytes != 0)) {
        return coll_refuse(team, !buffer && bytes != 0 ? DN_EINVAL : DN_ERANK);
    }
    int error = coll_turn_take_patiently(team);
    if (error) {
        return error;
    }
    uint64_t argument = pack(COLL_BROADCAST, (uint64_t)root, bytes);
    bool small = bytes <= COLL_SMALL_BYTES;
    size_t at = 0;
    do {
        size_t piece = bytes - at < COLL_CHUNK_BYTES ? bytes - at : COLL_CHUNK_BYTES;
        error = broadcast_piece(team, (unsigned char *)buffer + at, piece, (uint32_t)root, small,
                                argument);
        at += piece;
    } while (at < bytes && !error);
    coll_turn_give(team);
    return error;
}

static int gather_piece(struct dn_team *team, const unsigned char *source, unsigned char *result,
                        size_t stride, size_t bytes, bool small, uint64_t argument)
{
    uint64_t place;
    if (small) {
        place = coll_staging_small(team, team->phase + 1);
        if (place != COLL_NOWHERE) {
            copy(coll_memory(team, team->nic.index, place), source, bytes);
        }
    } else {
        place = show_piece(team, source, bytes, coll_staging_in(team));
    }
    int error = coll_exchange_places(team, place, 0, argument);
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        copy(result + index * stride, coll_memory(team, index, coll_source_of(team, index)), bytes);
    }
    return error || small ? error : coll_exchange(team, 0, argument);
}

int coll_allgather(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    if (bytes != 0 && (!source || !result)) {
        return coll_refuse(team, DN_EINVAL);
    }
    int error = coll_turn_take_patiently(team);
    if (error) {
        return error;
    }
    uint64_t argument = pack(COLL_ALLGATHER, 0, bytes);
    bool small = bytes <= COLL_SMALL_BYTES;
    size_t at = 0;
    do {
        size_t piece = bytes - at < COLL_CHUNK_BYTES ? bytes - at : COLL_CHUNK_BYTES;
        error = gather_piece(team, (const unsigned char *)source + at, (unsigned char *)result + at,
                             bytes, piece, small, argument);
        at += piece;
    } while (at < bytes && !error);
    coll_turn_give(team);
    return error;
}
