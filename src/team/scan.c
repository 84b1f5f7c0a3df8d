/* Prefixes: what allreduce does, but each member gets the result of those before it only.
 *
 *   a word    it rides on the phase itself
 *   small     everybody copies its data into staging, and reduces what is before it
 *   larger    each member goes through its slice of everybody's data once, and leaves with
 *             each member in turn what has come together so far */
#include <string.h>

#include "team/reduce.h"
#include "team/staging.h"
#include "team/team_by_packets.h"

/* How many members' data, from the first one on, a member's result is made of. */
static uint32_t summands(uint32_t index, enum dn_scan_kind kind)
{
    return kind == DN_INCLUSIVE ? index + 1 : index;
}

static int scan_word(struct dn_team *team, const struct team_reduction *reduction,
                     const void *source, void *result, enum dn_scan_kind kind)
{
    uint64_t word = 0;
    memcpy(&word, source, reduction->element_bytes);
    int error = team_exchange(team, word, reduction->argument);
    uint32_t count = summands(team->nic.index, kind);
    if (error || count == 0) {
        return error;
    }
    uint64_t total = team_operand_of(team, 0);
    for (uint32_t index = 1; index < count; index++) {
        uint64_t operand = team_operand_of(team, index);
        reduction->combine(&total, &operand, 1, reduction->context);
    }
    memcpy(result, &total, reduction->element_bytes);
    return 0;
}

static int scan_small(struct dn_team *team, const struct team_reduction *reduction,
                      const void *source, void *result, enum dn_scan_kind kind)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    uint64_t place = team_show_small(team, source, bytes);
    int error = team_exchange_places(team, place, 0, reduction->argument);
    uint32_t count = summands(team->nic.index, kind);
    if (error || count == 0) {
        return error;
    }
    memcpy(result, team_memory(team, 0, team_source_of(team, 0)), bytes);
    for (uint32_t index = 1; index < count; index++) {
        reduction->combine(result, team_memory(team, index, team_source_of(team, index)),
                           reduction->count, reduction->context);
    }
    return 0;
}

/* Elements [at, at + count) of everybody's chunk. A member's result may stand where its
 * data does, so the data is taken in before the result is written. */
static void scan_piece(const struct dn_team *team, const struct team_reduction *reduction,
                       size_t at, size_t count, enum dn_scan_kind kind)
{
    alignas(CACHE_LINE_BYTES) unsigned char total[TEAM_PIECE_BYTES];
    alignas(CACHE_LINE_BYTES) unsigned char before[TEAM_PIECE_BYTES];
    size_t start = at * reduction->element_bytes;
    size_t bytes = count * reduction->element_bytes;
    const unsigned char *from = team_memory(team, 0, team_source_of(team, 0)) + start;
    memcpy(total, from, bytes);
    for (uint32_t index = 0; index < team->nic.count; index++) {
        unsigned char *to = team_memory(team, index, team_operand_of(team, index)) + start;
        if (index > 0) {
            from = team_memory(team, index, team_source_of(team, index)) + start;
            if (kind == DN_EXCLUSIVE) {
                memcpy(before, total, bytes);
            }
            reduction->combine(total, from, count, reduction->context);
        }
        if (kind == DN_INCLUSIVE) {
            memcpy(to, total, bytes);
        } else if (index > 0) {
            memcpy(to, before, bytes);
        }
    }
}

/* On a packet fabric what was left with the others stands in this member's mirrors so far. */
static void hand_back_slices(const struct dn_team *team, size_t start, size_t end,
                             enum dn_scan_kind kind)
{
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (index != team->nic.index && summands(index, kind) > 0) {
            unsigned char *slice = team_memory(team, index, team_operand_of(team, index)) + start;
            team_hand_to(team, index, slice, slice, end - start);
        }
    }
}

/* One chunk: tell the places, work on one's slice, tell that it is done. */
static int scan_chunk(struct dn_team *team, const struct team_reduction *reduction,
                      const unsigned char *source, unsigned char *result, size_t count,
                      enum dn_scan_kind kind)
{
    size_t bytes = count * reduction->element_bytes;
    uint64_t from = team_show_slices(team, reduction, source, count);
    uint64_t in_place = team_place_of(team, result, bytes);
    uint64_t to = in_place == TEAM_NOWHERE ? team_staging_out(team) : in_place;
    from = to == TEAM_NOWHERE ? TEAM_NOWHERE : from;
    int error = team_exchange_places(team, from, to, reduction->argument);
    if (error) {
        return error;
    }
    size_t step = TEAM_PIECE_BYTES / reduction->element_bytes;
    size_t end = team_slice_start(team, team->nic.index + 1, count, reduction->element_bytes);
    size_t start = team_slice_start(team, team->nic.index, count, reduction->element_bytes);
    for (size_t at = start; at < end; at += step) {
        scan_piece(team, reduction, at, end - at < step ? end - at : step, kind);
        KILL_POINT("scan: a piece delivered, not told");
    }
    if (team_is_mirrored(team)) {
        hand_back_slices(team, start * reduction->element_bytes, end * reduction->element_bytes,
                         kind);
    }
    error = team_exchange(team, 0, reduction->argument);
    if (!error && in_place == TEAM_NOWHERE && summands(team->nic.index, kind) > 0) {
        memcpy(result, team_memory(team, team->nic.index, to), bytes);
    }
    return error;
}

static int scan_large(struct dn_team *team, const struct team_reduction *reduction,
                      const unsigned char *source, unsigned char *result, enum dn_scan_kind kind)
{
    size_t chunk = TEAM_CHUNK_BYTES / reduction->element_bytes;
    int error = 0;
    if (reduction->count > chunk && !team_is_mirrored(team)) {
        bool in_place;
        error = team_all_in_place(team, reduction, source, result, &in_place);
        chunk = in_place ? reduction->count : chunk;
    }
    for (size_t at = 0; at < reduction->count && !error; at += chunk) {
        size_t left = reduction->count - at;
        error = scan_chunk(team, reduction, source + at * reduction->element_bytes,
                           result + at * reduction->element_bytes, left < chunk ? left : chunk,
                           kind);
    }
    /* Over packets who died while it handed its last slices round was there for some only. */
    return error || !team_is_mirrored(team) ? error : team_exchange(team, 0, reduction->argument);
}

int team_scan(struct dn_team *team, const void *source, void *result,
              const struct team_reduction *given, enum dn_scan_kind kind)
{
    struct team_reduction reduction = *given;
    size_t bytes = reduction.count * reduction.element_bytes;
    if ((bytes != 0 && (!source || !result)) || (unsigned)kind > DN_EXCLUSIVE) {
        return team_refuse(team, DN_EINVAL);
    }
    reduction.argument = team_digest(TEAM_SCAN, given->argument, kind);
    int error = team_turn_take_patiently(team);
    if (error) {
        return error;
    }
    if (bytes == 0) {
        error = team_exchange(team, 0, reduction.argument);
    } else if (reduction.count == 1 && bytes <= sizeof(uint64_t)) {
        error = scan_word(team, &reduction, source, result, kind);
    } else if (bytes <= TEAM_SMALL_BYTES) {
        error = scan_small(team, &reduction, source, result, kind);
    } else {
        error = scan_large(team, &reduction, source, result, kind);
    }
    team_turn_give(team);
    return error;
}
