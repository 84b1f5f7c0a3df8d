/* Allreduce.
 *
 *   a word    it rides on the phase itself
 *   small     everybody copies its data into staging, and reduces all of it: one phase
 *   larger    each member reduces its slice of everybody's data and hands it round
 *
 * Operands are combined in team order, always, so that floating-point results are the
 * same on every member and in every run. */
#include "team/reduce.h"

#include <string.h>

#include "team/staging.h"
#include "team/team_by_packets.h"

/* The numbers of the call in one word, exactly: counts go up to 2^40. */
static uint64_t pack(enum coll_call_number call, unsigned first, unsigned second, uint64_t count)
{
    return (uint64_t)call << 56 | (uint64_t)first << 48 | (uint64_t)second << 40 | count;
}

int coll_reduction_of(enum dn_type type, enum dn_reduction operation, size_t count,
                      struct coll_reduction *reduction)
{
    size_t bytes = 0;
    coll_operator combine = coll_find_operator(type, operation, &bytes);
    if (!combine || count >= UINT64_C(1) << 40) {
        return DN_EINVAL;
    }
    *reduction = (struct coll_reduction){combine, NULL, bytes, count,
                                         pack(COLL_REDUCE, type, operation, count)};
    return 0;
}

int coll_reduction_with(const struct dn_operator *with, size_t count,
                        struct coll_reduction *reduction)
{
    if (!with || !with->combine || with->element_bytes == 0 ||
        with->element_bytes > COLL_PIECE_BYTES || count >= UINT64_C(1) << 40) {
        return DN_EINVAL;
    }
    /* The address of a function is not the same in all processes; the sizes are. */
    uint64_t digest = coll_digest(COLL_REDUCE, with->element_bytes, count);
    *reduction = (struct coll_reduction){with->combine, with->context, with->element_bytes, count,
                                         (uint64_t)COLL_REDUCE << 56 | digest >> 8};
    return 0;
}

static int reduce_word(struct dn_team *team, const struct coll_reduction *reduction,
                       const void *source, void *result)
{
    uint64_t word = 0;
    memcpy(&word, source, reduction->element_bytes);
    int error = coll_exchange(team, word, reduction->argument);
    if (error) {
        return error;
    }
    uint64_t total = coll_operand_of(team, 0);
    for (uint32_t index = 1; index < team->nic.count; index++) {
        uint64_t operand = coll_operand_of(team, index);
        reduction->combine(&total, &operand, 1, reduction->context);
    }
    memcpy(result, &total, reduction->element_bytes);
    return 0;
}

static int reduce_small(struct dn_team *team, const struct coll_reduction *reduction,
                        const void *source, void *result)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    uint64_t place = coll_show_small(team, source, bytes);
    int error = coll_exchange_places(team, place, 0, reduction->argument);
    if (error) {
        return error;
    }
    memcpy(result, coll_memory(team, 0, coll_source_of(team, 0)), bytes);
    for (uint32_t index = 1; index < team->nic.count; index++) {
        reduction->combine(result, coll_memory(team, index, coll_source_of(team, index)),
                           reduction->count, reduction->context);
    }
    return 0;
}

size_t coll_slice_start(const struct dn_team *team, uint32_t index, size_t count,
                        size_t element_bytes)
{
    size_t line = element_bytes < CACHE_LINE_BYTES ? CACHE_LINE_BYTES / element_bytes : 1;
    size_t start = (count * index / team->nic.count + line - 1) / line * line;
    return index == team->nic.count ? count : start < count ? start : count;
}

/* On a packet fabric each member is given its slice, and no more. */
static void hand_out_slices(const struct dn_team *team, const struct coll_reduction *reduction,
                            uint64_t place, const unsigned char *source, size_t count)
{
    unsigned char *chunk = coll_memory(team, team->nic.index, place);
    size_t element = reduction->element_bytes;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        size_t start = coll_slice_start(team, index, count, element) * element;
        size_t stop = coll_slice_start(team, index + 1, count, element) * element;
        if (index == team->nic.index) {
            memcpy(chunk + start, source + start, stop - start);
        } else {
            coll_hand_to(team, index, chunk + start, source + start, stop - start);
        }
    }
}

uint64_t coll_show_slices(struct dn_team *team, const struct coll_reduction *reduction,
                          const unsigned char *source, size_t count)
{
    size_t bytes = count * reduction->element_bytes;
    uint64_t place = coll_place_of(team, source, bytes);
    if (place == COLL_NOWHERE) {
        place = coll_staging_in(team);
        if (place != COLL_NOWHERE && coll_is_mirrored(team)) {
            hand_out_slices(team, reduction, place, source, count);
        } else if (place != COLL_NOWHERE) {
            memcpy(coll_memory(team, team->nic.index, place), source, bytes);
        }
    }
    return place;
}

/* Reduces elements [from, to) of everybody's chunk, in pieces that stay in the first
 * cache, and writes them to every target that is reachable. */
static void reduce_slice(const struct dn_team *team, const struct coll_reduction *reduction,
                         uint64_t own_target, size_t from, size_t to)
{
    alignas(CACHE_LINE_BYTES) unsigned char piece[COLL_PIECE_BYTES];
    size_t bytes = reduction->element_bytes;
    size_t piece_count = sizeof piece / bytes;
    for (size_t at = from; at < to; at += piece_count) {
        size_t count = to - at < piece_count ? to - at : piece_count;
        memcpy(piece, coll_memory(team, 0, coll_source_of(team, 0)) + at * bytes, count * bytes);
        for (uint32_t index = 1; index < team->nic.count; index++) {
            const unsigned char *from_peer = coll_memory(team, index, coll_source_of(team, index));
            reduction->combine(piece, from_peer + at * bytes, count, reduction->context);
        }
        for (uint32_t index = 0; index < team->nic.count; index++) {
            uint64_t target = index == team->nic.index ? own_target : coll_operand_of(team, index);
            if (target != COLL_NOWHERE) {
                memcpy(coll_memory(team, index, target) + at * bytes, piece, count * bytes);
            }
        }
    }
}

/* One chunk: tell the places, reduce one's slice, tell again, fetch what could not be
 * delivered. `more_readers`: others may still read this member's memory afterwards. */
static int reduce_chunk(struct dn_team *team, const struct coll_reduction *reduction,
                        const unsigned char *source, unsigned char *result, size_t count,
                        bool *more_readers)
{
    uint64_t from = coll_show_slices(team, reduction, source, count);
    uint64_t deliver_to = coll_place_of(team, result, count * reduction->element_bytes);
    uint64_t own_target = deliver_to == COLL_NOWHERE ? coll_staging_out(team) : deliver_to;
    from = own_target == COLL_NOWHERE ? COLL_NOWHERE : from;
    int error = coll_exchange_places(team, from, deliver_to, reduction->argument);
    if (error) {
        return error;
    }
    *more_readers = false;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        *more_readers |= coll_operand_of(team, index) == COLL_NOWHERE;
    }
    size_t element = reduction->element_bytes;
    size_t first = coll_slice_start(team, team->nic.index, count, element);
    size_t end = coll_slice_start(team, team->nic.index + 1, count, element);
    reduce_slice(team, reduction, own_target, first, end);
    if (coll_is_mirrored(team)) {
        unsigned char *slice = coll_memory(team, team->nic.index, own_target) + first * element;
        coll_hand(team, slice, slice, (end - first) * element);
    }
    error = coll_exchange_places(team, own_target, 0, reduction->argument);
    if (error || deliver_to != COLL_NOWHERE) {
        return error;
    }
    for (uint32_t index = 0; index < team->nic.count; index++) {
        size_t start = coll_slice_start(team, index, count, element) * element;
        size_t stop = coll_slice_start(team, index + 1, count, element) * element;
        memcpy(result + start, coll_memory(team, index, coll_source_of(team, index)) + start,
               stop - start);
    }
    return 0;
}

int coll_all_in_place(struct dn_team *team, const struct coll_reduction *reduction,
                      const void *source, const void *result, bool *in_place)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    bool mine = coll_place_of(team, source, bytes) != COLL_NOWHERE &&
                coll_place_of(team, result, bytes) != COLL_NOWHERE;
    int error = coll_exchange(team, mine, reduction->argument);
    *in_place = true;
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        *in_place = *in_place && coll_operand_of(team, index);
    }
    return error;
}

static int reduce_large(struct dn_team *team, const struct coll_reduction *reduction,
                        const unsigned char *source, unsigned char *result)
{
    size_t chunk = COLL_CHUNK_BYTES / reduction->element_bytes;
    bool more_readers = false;
    int error = 0;
    if (reduction->count > chunk && !coll_is_mirrored(team)) {
        bool in_place;
        error = coll_all_in_place(team, reduction, source, result, &in_place);
        chunk = in_place ? reduction->count : chunk;
    }
    for (size_t at = 0; at < reduction->count && !error; at += chunk) {
        size_t left = reduction->count - at;
        error = reduce_chunk(team, reduction, source + at * reduction->element_bytes,
                             result + at * reduction->element_bytes, left < chunk ? left : chunk,
                             &more_readers);
    }
    /* Whoever fetches reads from its peers' results until here. */
    return error || !more_readers ? error : coll_exchange(team, 0, reduction->argument);
}

int coll_allreduce(struct dn_team *team, const void *source, void *result,
                   const struct coll_reduction *reduction)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    if (bytes != 0 && (!source || !result)) {
        return coll_refuse(team, DN_EINVAL);
    }
    int error = coll_turn_take_patiently(team);
    if (error) {
        return error;
    }
    if (reduction->count == 1 && bytes <= sizeof(uint64_t)) {
        error = reduce_word(team, reduction, source, result);
    } else if (bytes == 0) {
        error = coll_exchange(team, 0, reduction->argument);
    } else if (bytes <= COLL_SMALL_BYTES) {
        error = reduce_small(team, reduction, source, result);
    } else {
        error = reduce_large(team, reduction, source, result);
    }
    coll_turn_give(team);
    return error;
}
