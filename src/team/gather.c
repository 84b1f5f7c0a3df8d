/* Broadcast and allgather.
 *
 *   small     copied into staging memory: one phase
 *   larger    in chunks, where they lie if peers can reach that, else in two chunks of staging
 *             memory in turn: while one is read the other is filled. A last phase tells that
 *             nobody reads any more, and that everybody was there to the end. */
#include "team/reduce.h"
#include "team/staging.h"
#include "team/way.h"

static uint64_t pack(enum team_call_number call, uint64_t root, uint64_t bytes)
{
    return (uint64_t)call << 56 | team_digest(call, root, bytes) >> 8;
}

static uint64_t chunk_in_turn(struct dn_team *team, size_t number)
{
    return number % 2 ? team_staging_out(team) : team_staging_in(team);
}

/* ---- Broadcast ------------------------------------------------------------------ */

/* Where the slice of a chunk begins that the root gives to a member; the slices stand in the
 * order of the members behind the root. */
static size_t slice_start(const struct dn_team *team, uint32_t behind_root, size_t bytes)
{
    size_t lines = (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES;
    size_t start = lines * behind_root / (team->nic.count - 1) * CACHE_LINE_BYTES;
    return start < bytes ? start : bytes;
}

/* The root gives each of the others a slice of its chunk; each of them then gives that slice to
 * the rest, in a chunk of its own, so that nobody sends more than a chunk. */
static void give_slices(struct dn_team *team, uint32_t root, unsigned char *place,
                        const unsigned char *source, size_t bytes)
{
    uint32_t count = team->nic.count;
    for (uint32_t step = 1; step < count; step++) {
        uint32_t to = (team->nic.index + step) % count;
        uint32_t whose = team->nic.index == root ? to : team->nic.index;
        uint32_t behind_root = (whose + count - root - 1) % count;
        if (to != root) {
            size_t start = slice_start(team, behind_root, bytes);
            size_t end = slice_start(team, behind_root + 1, bytes);
            team->way->give(team, to, place + start, source + start, end - start);
        }
    }
}

/* Puts the slices together: this member's came from the root, and the others' from each of them.
 * DN_EGROUP: one of them has told a place that is none. */
static int take_slices(const struct dn_team *team, uint32_t root, unsigned char *buffer,
                       size_t bytes)
{
    uint32_t count = team->nic.count;
    for (uint32_t behind_root = 0; behind_root < count - 1; behind_root++) {
        uint32_t whose = (root + 1 + behind_root) % count;
        uint32_t from = whose == team->nic.index ? root : whose;
        size_t start = slice_start(team, behind_root, bytes);
        size_t end = slice_start(team, behind_root + 1, bytes);
        const unsigned char *shown = team_shown_by(team, from, bytes, 1);
        if (UNLIKELY(!shown)) {
            return DN_EGROUP;
        }
        team_copy(buffer + start, shown + start, end - start);
    }
    return 0;
}

/* The others' part in a broadcast by packets to more than one: they pass slices on. */
static int relay_chunk(struct dn_team *team, unsigned char *buffer, size_t bytes, uint32_t root,
                       uint64_t place, uint64_t argument)
{
    bool is_root = team->nic.index == root;
    const unsigned char *shown = is_root ? buffer : team_shown_by(team, root, bytes, 1);
    if (!is_root && shown) {
        give_slices(team, root, team_memory(team, team->nic.index, place), shown, bytes);
    }
    int error = team_exchange_places(team, place, 0, argument);
    if (!error && !shown) {
        error = DN_EGROUP;
    }
    return error || is_root ? error : take_slices(team, root, buffer, bytes);
}

static int broadcast_chunk(struct dn_team *team, unsigned char *buffer, size_t bytes, uint32_t root,
                           size_t number, uint64_t argument)
{
    bool is_root = team->nic.index == root;
    bool is_relayed = !team->way->in_place && team->nic.count > 2;
    uint64_t place = is_root ? team_place_of(team, buffer, bytes) : is_relayed ? TEAM_NOWHERE : 0;
    if (place == TEAM_NOWHERE) {
        place = chunk_in_turn(team, number);
        if (is_root && place != TEAM_NOWHERE) {
            give_slices(team, root, team_memory(team, root, place), buffer, bytes);
        }
    }
    int error = team_exchange_places(team, place, 0, argument);
    if (!error && is_relayed) {
        return relay_chunk(team, buffer, bytes, root, place, argument);
    }
    if (!error && !is_root) {
        const unsigned char *shown = team_shown_by(team, root, bytes, 1);
        if (UNLIKELY(!shown)) {
            return DN_EGROUP;
        }
        team_copy(buffer, shown, bytes);
    }
    return error;
}

static int broadcast_small(struct dn_team *team, void *buffer, size_t bytes, uint32_t root,
                           uint64_t argument)
{
    bool is_root = team->nic.index == root;
    uint64_t place = is_root ? team_show_small(team, buffer, bytes) : 0;
    int error = team_exchange_places(team, place, 0, argument);
    if (!error && !is_root) {
        const unsigned char *shown = team_shown_by(team, root, bytes, 1);
        if (UNLIKELY(!shown)) {
            return DN_EGROUP;
        }
        team_copy(buffer, shown, bytes);
    }
    return error;
}

static int broadcast_large(struct dn_team *team, unsigned char *buffer, size_t bytes, uint32_t root,
                           uint64_t argument)
{
    int error = 0;
    for (size_t at = 0; at < bytes && !error; at += TEAM_CHUNK_BYTES) {
        size_t piece = bytes - at < TEAM_CHUNK_BYTES ? bytes - at : TEAM_CHUNK_BYTES;
        error = broadcast_chunk(team, buffer + at, piece, root, at / TEAM_CHUNK_BYTES, argument);
    }
    return error ? error : team_exchange(team, 0, argument);
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
    error = bytes <= TEAM_SMALL_BYTES
                ? broadcast_small(team, buffer, bytes, (uint32_t)root, argument)
                : broadcast_large(team, buffer, bytes, (uint32_t)root, argument);
    team_turn_give(team);
    return error;
}

/* ---- Allgather ------------------------------------------------------------------ */

/* Where peers find this member's chunk. */
static uint64_t show_own_chunk(struct dn_team *team, const unsigned char *source, size_t bytes,
                               size_t number)
{
    uint64_t place = team_place_of(team, source, bytes);
    if (place == TEAM_NOWHERE) {
        place = chunk_in_turn(team, number);
        if (place != TEAM_NOWHERE) {
            team->way->give_all(team, team_memory(team, team->nic.index, place), source, bytes);
        }
    }
    return place;
}

/* Tells the place, and takes everybody's bytes. A member may gather in place, so what it copies
 * may stand there already. */
static int gather_piece(struct dn_team *team, uint64_t place, const unsigned char *source,
                        unsigned char *result, size_t stride, size_t bytes, uint64_t argument)
{
    int error = team_exchange_places(team, place, 0, argument);
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        bool is_own = index == team->nic.index;
        const unsigned char *shown = is_own ? source : team_shown_by(team, index, bytes, 1);
        if (UNLIKELY(!shown && bytes != 0)) {
            return DN_EGROUP;
        }
        team_copy(result + index * stride, shown, bytes);
    }
    return error;
}

static int gather_large(struct dn_team *team, const unsigned char *source, unsigned char *result,
                        size_t bytes, uint64_t argument)
{
    int error = 0;
    for (size_t at = 0; at < bytes && !error; at += TEAM_CHUNK_BYTES) {
        size_t piece = bytes - at < TEAM_CHUNK_BYTES ? bytes - at : TEAM_CHUNK_BYTES;
        uint64_t place = show_own_chunk(team, source + at, piece, at / TEAM_CHUNK_BYTES);
        error = gather_piece(team, place, source + at, result + at, bytes, piece, argument);
    }
    return error ? error : team_exchange(team, 0, argument);
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
    error = bytes <= TEAM_SMALL_BYTES ? gather_piece(team, team_show_small(team, source, bytes),
                                                     source, result, bytes, bytes, argument)
                                      : gather_large(team, source, result, bytes, argument);
    team_turn_give(team);
    return error;
}
