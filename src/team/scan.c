/* Prefixes: an allreduce in which each member gets the result of the members before it only.
 * Words and small data go as they do there. With larger data each member goes through its slice
 * of everybody's data once, and leaves the result so far with each member in turn. */
#include "team/reduce.h"
#include "team/staging.h"
#include "team/way.h"

/* How many members, from the first one on, a member's result is made of. */
static uint32_t summands(uint32_t index, enum dn_scan_kind kind)
{
    return kind == DN_INCLUSIVE ? index + 1 : index;
}

/* Scans elements [at, at + count) of everybody's chunk of `chunk_bytes`. A member's result may
 * stand where its data does, so the data is read before the result is written. DN_EGROUP: a member
 * has told a place that is none. */
static int scan_piece(const struct dn_team *team, const struct team_reduction *reduction,
                      uint64_t chunk_bytes, size_t at, size_t count, enum dn_scan_kind kind)
{
    alignas(CACHE_LINE_BYTES) unsigned char total[TEAM_PIECE_BYTES];
    alignas(CACHE_LINE_BYTES) unsigned char before[TEAM_PIECE_BYTES];
    size_t start = at * reduction->element_bytes;
    size_t bytes = count * reduction->element_bytes;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        const unsigned char *from = team_shown_by(team, index, chunk_bytes, reduction->alignment);
        unsigned char *to = team_reach(team, index, team_operand_of(team, index), chunk_bytes, 1);
        if (UNLIKELY(!from || !to)) {
            return DN_EGROUP;
        }
        if (index == 0) {
            memcpy(total, from + start, bytes);
        } else {
            if (kind == DN_EXCLUSIVE) {
                memcpy(before, total, bytes);
            }
            reduction->combine(total, from + start, count, reduction->context);
        }
        if (kind == DN_INCLUSIVE) {
            memcpy(to + start, total, bytes);
        } else if (index > 0) {
            memcpy(to + start, before, bytes);
        }
    }
    return 0;
}

/* Gives the others what was written at their places. */
static int give_slices_back(struct dn_team *team, uint64_t chunk_bytes, size_t start, size_t end,
                            enum dn_scan_kind kind)
{
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (index != team->nic.index && summands(index, kind) > 0) {
            unsigned char *to = team_reach(team, index, team_operand_of(team, index), chunk_bytes,
                                           1);
            if (UNLIKELY(!to)) {
                return DN_EGROUP;
            }
            team->way->give(team, index, to + start, to + start, end - start);
        }
    }
    return 0;
}

/* One chunk: tells the places, works on this member's slice, and tells that it is done. */
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
    for (size_t at = start; at < end && !error; at += step) {
        error = scan_piece(team, reduction, bytes, at, end - at < step ? end - at : step, kind);
        KILL_POINT("scan: a piece delivered, not told");
    }
    error = error ? error
                  : give_slices_back(team, bytes, start * reduction->element_bytes,
                                     end * reduction->element_bytes, kind);
    error = error ? error : team_exchange(team, 0, reduction->argument);
    if (!error && in_place == TEAM_NOWHERE && summands(team->nic.index, kind) > 0) {
        memcpy(result, team_memory(team, team->nic.index, to), bytes);
    }
    return error;
}

static int scan_large(struct dn_team *team, const struct team_reduction *reduction,
                      const unsigned char *source, unsigned char *result, uint32_t own_summands)
{
    enum dn_scan_kind kind = own_summands > team->nic.index ? DN_INCLUSIVE : DN_EXCLUSIVE;
    size_t chunk;
    int error = team_choose_chunk(team, reduction, source, result, &chunk);
    for (size_t at = 0; at < reduction->count && !error; at += chunk) {
        size_t left = reduction->count - at;
        error = scan_chunk(team, reduction, source + at * reduction->element_bytes,
                           result + at * reduction->element_bytes, left < chunk ? left : chunk,
                           kind);
    }
    /* A member that died while it gave its last slices has given them to some members only: one
     * more phase tells everybody. */
    return error || team->way->in_place ? error : team_exchange(team, 0, reduction->argument);
}

int team_scan(struct dn_team *team, const void *source, void *result,
              const struct team_reduction *given, enum dn_scan_kind kind)
{
    struct team_reduction reduction = *given;
    if ((unsigned)kind > DN_EXCLUSIVE) {
        return team_refuse(team, DN_EINVAL);
    }
    reduction.argument = team_digest(TEAM_SCAN, given->argument, kind);
    return team_reduce_by_size(team, source, result, &reduction, summands(team->nic.index, kind),
                               scan_large);
}
