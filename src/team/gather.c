/* Broadcast and allgather: data in place or by staging, one phase for small ones, two
 * for each chunk of larger ones.
 *
 * On packet fabrics the members are given their data before the phase, in two chunks of staging
 * memory in turn: while one is read the other is filled. Another phase at the end tells that
 * nobody reads any more, and that everybody was there to the last. */
#include <string.h>

#include "team/reduce.h"
#include "team/staging.h"
#include "team/team_by_packets.h"

/* Nothing may be copied from nowhere; and a member may gather in place, so what it copies
 * may stand there already. */
static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes != 0) {
        memmove(to, from, bytes);
    }
}

static uint64_t pack(enum team_call_number call, uint64_t root, uint64_t bytes)
{
    return (uint64_t)call << 56 | team_digest(call, root, bytes) >> 8;
}

/* Puts a piece of this member's data where peers can read it. */
static uint64_t show_piece(struct dn_team *team, const unsigned char *source, size_t bytes,
                           uint64_t staging)
{
    uint64_t place = team_place_of(team, source, bytes);
    if (place == TEAM_NOWHERE && staging != TEAM_NOWHERE) {
        place = staging;
        copy(team_memory(team, team->nic.index, place), source, bytes);
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
        place = team_show_small(team, buffer, bytes);
    } else if (is_root) {
        place = show_piece(team, buffer, bytes, team_staging_in(team));
    }
    int error = team_exchange_places(team, place, 0, argument);
    if (!error && !is_root) {
        copy(buffer, team_memory(team, root, team_source_of(team, root)), bytes);
    }
    return error || small ? error : team_exchange(team, 0, argument);
}

static uint64_t chunk_in_turn(struct dn_team *team, size_t number)
{
    return number % 2 ? team_staging_out(team) : team_staging_in(team);
}

/* Where the slice of a chunk begins that the root hands to a member; they stand in the order
 * of the members behind the root. */
static size_t slice_start(const struct dn_team *team, uint32_t behind_root, size_t bytes)
{
    size_t lines = (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES;
    size_t start = lines * behind_root / (team->nic.count - 1) * CACHE_LINE_BYTES;
    return start < bytes ? start : bytes;
}

/* Hands a slice of the root's chunk, which stands at `source` here, to one member. */
static void hand_slice(const struct dn_team *team, uint32_t root, uint64_t place, size_t bytes,
                       uint32_t behind_root, uint32_t to, const unsigned char *source)
{
    size_t start = slice_start(team, behind_root, bytes);
    size_t end = slice_start(team, behind_root + 1, bytes);
    team_hand_to(team, to, team_memory(team, root, place) + start, source + start, end - start);
}

/* A chunk over packets: the root hands a slice to each of the others, and they hand theirs to
 * each other, so that nobody sends more than a chunk. */
static int broadcast_chunk(struct dn_team *team, unsigned char *buffer, size_t bytes, uint32_t root,
                           size_t number, uint64_t argument)
{
    uint32_t count = team->nic.count;
    uint32_t behind_root = (team->nic.index + count - root - 1) % count;
    bool is_root = team->nic.index == root;
    uint64_t place = is_root ? chunk_in_turn(team, number) : 0;
    for (uint32_t step = 1; step < count && is_root && place != TEAM_NOWHERE; step++) {
        hand_slice(team, root, place, bytes, step - 1, (root + step) % count, buffer);
    }
    int error = team_exchange_places(team, place, 0, argument);
    if (error) {
        return error;
    }
    place = team_source_of(team, root);
    const unsigned char *chunk = team_memory(team, root, place);
    if (count > 2) {
        for (uint32_t step = 1; step < count && !is_root; step++) {
            uint32_t to = (team->nic.index + step) % count;
            if (to != root) {
                hand_slice(team, root, place, bytes, behind_root, to, chunk);
            }
        }
        error = team_exchange(team, 0, argument);
    }
    if (!error && !is_root) {
        copy(buffer, chunk, bytes);
    }
    return error;
}

int team_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root)
{
    if (root < 0 || (uint32_t)root >= team->nic.count || (!buffer && bytes != 0)) {
        return team_refuse(team, !buffer && bytes != 0 ? DN_EINVAL : DN_ERANK);
    }
    int error = team_turn_take_patiently(team);
    if (error) {
        return error;
    }
    uint64_t argument = pack(TEAM_BROADCAST, (uint64_t)root, bytes);
    bool small = bytes <= TEAM_SMALL_BYTES;
    bool by_hand = !small && team_is_mirrored(team);
    size_t at = 0;
    do {
        unsigned char *to = (unsigned char *)buffer + at;
        size_t piece = bytes - at < TEAM_CHUNK_BYTES ? bytes - at : TEAM_CHUNK_BYTES;
        error = by_hand ? broadcast_chunk(team, to, piece, (uint32_t)root, at / TEAM_CHUNK_BYTES,
                                          argument)
                        : broadcast_piece(team, to, piece, (uint32_t)root, small, argument);
        at += piece;
    } while (at < bytes && !error);
    if (by_hand && !error) {
        error = team_exchange(team, 0, argument);
    }
    team_turn_give(team);
    return error;
}

static int gather_piece(struct dn_team *team, const unsigned char *source, unsigned char *result,
                        size_t stride, size_t bytes, bool small, uint64_t argument)
{
    uint64_t place = small ? team_show_small(team, source, bytes)
                           : show_piece(team, source, bytes, team_staging_in(team));
    int error = team_exchange_places(team, place, 0, argument);
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        copy(result + index * stride, team_memory(team, index, team_source_of(team, index)), bytes);
    }
    return error || small ? error : team_exchange(team, 0, argument);
}

static int gather_chunk(struct dn_team *team, const unsigned char *source, unsigned char *result,
                        size_t stride, size_t bytes, size_t number, uint64_t argument)
{
    uint64_t place = chunk_in_turn(team, number);
    if (place != TEAM_NOWHERE) {
        team_hand(team, team_memory(team, team->nic.index, place), source, bytes);
    }
    int error = team_exchange_places(team, place, 0, argument);
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        bool is_own = index == team->nic.index;
        copy(result + index * stride,
             is_own ? source : team_memory(team, index, team_source_of(team, index)), bytes);
    }
    return error;
}

int team_allgather(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    if (bytes != 0 && (!source || !result)) {
        return team_refuse(team, DN_EINVAL);
    }
    int error = team_turn_take_patiently(team);
    if (error) {
        return error;
    }
    uint64_t argument = pack(TEAM_ALLGATHER, 0, bytes);
    bool small = bytes <= TEAM_SMALL_BYTES;
    bool by_hand = !small && team_is_mirrored(team);
    size_t at = 0;
    do {
        const unsigned char *from = (const unsigned char *)source + at;
        unsigned char *to = (unsigned char *)result + at;
        size_t piece = bytes - at < TEAM_CHUNK_BYTES ? bytes - at : TEAM_CHUNK_BYTES;
        error = by_hand
                    ? gather_chunk(team, from, to, bytes, piece, at / TEAM_CHUNK_BYTES, argument)
                    : gather_piece(team, from, to, bytes, piece, small, argument);
        at += piece;
    } while (at < bytes && !error);
    if (by_hand && !error) {
        error = team_exchange(team, 0, argument);
    }
    team_turn_give(team);
    return error;
}
