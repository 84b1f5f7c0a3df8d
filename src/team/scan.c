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

static int scan_word(struct dn_team *team, const struct coll_reduction *reduction,
                     const void *source, void *result, enum dn_scan_kind kind)
{
    uint64_t word = 0;
    memcpy(&word, source, reduction->element_bytes);
    int error = coll_exchange(team, word, reduction->argument);
    uint32_t count = summands(team->nic.index, kind);
    if (error || count == 0) {
        return error;
    }
    uint64_t total = coll_operand_of(team, 0);
    for (uint32_t index = 1; index < count; index++) {
        uint64_t operand = coll_operand_of(team, index);
        reduction->combine(&total, &operand, 1, reduction->context);
    }
    memcpy(result, &total, reduction->element_bytes);
    return 0;
}

static int scan_small(struct dn_team *team, const struct coll_reduction *reduction,
                      const void *source, void *result, enum dn_scan_kind kind)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    uint64_t place = coll_show_small(team, source, bytes);
    int error = coll_exchange_places(team, place, 0, reduction->argument);
    uint32_t count = summands(team->nic.index, kind);
    if (error || count == 0) {
        return error;
    }
    memcpy(result, coll_memory(team, 0, coll_source_of(team, 0)), bytes);
    for (uint32_t index = 1; index < count; index++) {
        reduction->combine(result, coll_memory(team, index, coll_source_of(team, index)),
                           reduction->count, reduction->context);
    }
    return 0;
}

/* Elements [at, at + count) of everybody's chunk. A member's result may stand where its
 * data does, so the data is taken in before the result is written. */
static void scan_piece(const struct dn_team *team, const struct coll_reduction *reduction,
                       size_t at, size_t count, enum dn_scan_kind kind)
{
    alignas(CACHE_LINE_BYTES) unsigned char total[COLL_PIECE_BYTES];
    alignas(CACHE_LINE_BYTES) unsigned char before[COLL_PIECE_BYTES];
    size_t start = at * reduction->element_bytes;
    size_t bytes = count * reduction->element_bytes;
    const unsigned char *from = coll_memory(team, 0, coll_source_of(team, 0)) + start;
    memcpy(total, from, bytes);
    for (uint32_t index = 0; index < team->nic.count; index++) {
        unsigned char *to = coll_memory(team, index, coll_operand_of(team, index)) + start;
        if (index > 0) {
            from = coll_memory(team, index, coll_source_of(team, index)) + start;
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
            unsigned char *slice = coll_memory(team, index, coll_operand_of(team, index)) + start;
            coll_hand_to(team, index, slice, slice, end - start);
        }
    }
}

/* One chunk: tell the places, work on one's slice, tell that it is done. */
static int scan_chunk(struct dn_team *team, const struct coll_reduction *reduction,
                      const unsigned char *source, unsigned char *result, size_t count,
                      enum dn_scan_kind kind)
{
    size_t bytes = count * reduction->element_bytes;
    uint64_t from = coll_show_slices(team, reduction, source, count);
    uint64_t in_place = coll_place_of(team, result, bytes);
    uint64_t to = in_place == COLL_NOWHERE ? coll_staging_out(team) : in_place;
    from = to == COLL_NOWHERE ? COLL_NOWHERE : from;
    int error = coll_exchange_places(team, from, to, reduction->argument);
    if (error) {
        return error;
    }
    size_t step = COLL_PIECE_BYTES / reduction->element_bytes;
    size_t end = coll_slice_start(team, team->nic.index + 1, count, reduction->element_bytes);
    size_t start = coll_slice_start(team, team->nic.index, count, reduction->element_bytes);
    for (size_t at = start; at < end; at += step) {
        scan_piece(team, reduction, at, end - at < step ? end - at : step, kind);
        KILL_POINT("scan: a piece delivered, not told");
    }
    if (coll_is_mirrored(team)) {
        hand_back_slices(team, start * reduction->element_bytes, end * reduction->element_bytes,
                         kind);
    }
    error = coll_exchange(team, 0, reduction->argument);
    if (!error && in_place == COLL_NOWHERE && summands(team->nic.index, kind) > 0) {
        memcpy(result, coll_memory(team, team->nic.index, to), bytes);
    }
    return error;
}

static int scan_large(struct dn_team *team, const struct coll_reduction *reduction,
                      const unsigned char *source, unsigned char *result, enum dn_scan_kind kind)
{
    size_t chunk = COLL_CHUNK_BYTES / reduction->element_bytes;
    int error = 0;
    if (reduction->count > chunk && !coll_is_mirrored(team)) {
        bool in_place;
        error = coll_all_in_place(team, reduction, source, result, &in_place);
        chunk = in_place ? reduction->count : chunk;
    }
    for (size_t at = 0; at < reduction->count && !error; at += chunk) {
        size_t left = reduction->count - at;
        error = scan_chunk(team, reduction, source + at * reduction->element_bytes,
                           result + at * reduction->element_bytes, left < chunk ? left : chunk,
                           kind);
    }
    /* Over packets who died while it handed its last slices round was there for some only. */
    return error || !coll_is_mirrored(team) ? error : coll_exchange(team, 0, reduction->argument);
}

int coll_scan(struct dn_team *team, const void *source, void *result,
              const struct coll_reduction *given, enum dn_scan_kind kind)
{
    struct coll_reduction reduction = *given;
    size_t bytes = reduction.count * reduction.element_bytes;
    if ((bytes != 0 && (!source || !result)) || (unsigned)kind > DN_EXCLUSIVE) {
        return coll_refuse(team, DN_EINVAL);
    }
    reduction.argument = coll_digest(COLL_SCAN, given->argument, kind);
    int error = coll_turn_take_patiently(team);
    if (error) {
        return error;
    }
    if (bytes == 0) {
        error = coll_exchange(team, 0, reduction.argument);
    } else if (reduction.count == 1 && bytes <= sizeof(uint64_t)) {
        error = scan_word(team, &reduction, source, result, kind);
    } else if (bytes <= COLL_SMALL_BYTES) {
        error = scan_small(team, &reduction, source, result, kind);
    } else {
        error = scan_large(team, &reduction, source, result, kind);
    }
    coll_turn_give(team);
    return error;
}
