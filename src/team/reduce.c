/* Allreduce.
 *
 *   a word    it rides on the phase itself
 *   small     everybody copies its data into staging, and reduces all of it: one phase
 *   larger    each member reduces its slice of everybody's data and hands it round
 *
 * Operands are combined in team order, always, so that floating-point results are the
 * same on every member and in every run. */
#include "team/reduce.h"

#include "team/staging.h"
#include "team/way.h"

int team_reduction_with(const struct dn_operator *with, size_t count,
                        struct team_reduction *reduction)
{
    if (!with || !with->combine || with->element_bytes == 0 ||
        with->element_bytes > TEAM_PIECE_BYTES || count >= UINT64_C(1) << 40) {
        return DN_EINVAL;
    }
    /* A function's address differs between processes; the sizes do not. */
    uint64_t digest = team_digest(TEAM_REDUCE, with->element_bytes, count);
    *reduction = (struct team_reduction){with->combine,
                                         with->context,
                                         with->element_bytes,
                                         count,
                                         (uint64_t)TEAM_REDUCE << 56 | digest >> 8,
                                         1};
    return 0;
}

/* An element of at most a word. memcpy of a size that is not known would be a call. */
static inline void copy_element(void *to, const void *from, size_t bytes)
{
    if (LIKELY(bytes == sizeof(uint64_t))) {
        memcpy(to, from, sizeof(uint64_t));
    } else if (bytes == sizeof(uint32_t)) {
        memcpy(to, from, sizeof(uint32_t));
    } else {
        memcpy(to, from, bytes);
    }
}

static inline int reduce_word(struct dn_team *team, const struct team_reduction *reduction,
                              const void *source, void *result, uint32_t summands)
{
    uint64_t word = 0;
    copy_element(&word, source, reduction->element_bytes);
    int error = team_exchange(team, word, reduction->argument);
    if (error || summands == 0) {
        return error;
    }
    uint64_t total = team_operand_of(team, 0);
    for (uint32_t index = 1; index < summands; index++) {
        uint64_t operand = team_operand_of(team, index);
        reduction->combine(&total, &operand, 1, reduction->context);
    }
    copy_element(result, &total, reduction->element_bytes);
    return 0;
}

static int reduce_small(struct dn_team *team, const struct team_reduction *reduction,
                        const void *source, void *result, uint32_t summands)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    uint64_t place = team_show_small(team, source, bytes);
    int error = team_exchange_places(team, place, 0, reduction->argument);
    if (error || summands == 0) {
        return error;
    }
    for (uint32_t index = 0; index < summands; index++) {
        const unsigned char *shown = team_shown_by(team, index, bytes, reduction->alignment);
        if (UNLIKELY(!shown)) {
            return DN_EGROUP;
        }
        if (index == 0) {
            memcpy(result, shown, bytes);
        } else {
            reduction->combine(result, shown, reduction->count, reduction->context);
        }
    }
    return 0;
}

size_t team_slice_start(const struct dn_team *team, uint32_t index, size_t count,
                        size_t element_bytes)
{
    size_t line = element_bytes < CACHE_LINE_BYTES ? CACHE_LINE_BYTES / element_bytes : 1;
    size_t start = (count * index / team->nic.count + line - 1) / line * line;
    return index == team->nic.count ? count : start < count ? start : count;
}

uint64_t team_show_slices(struct dn_team *team, const struct team_reduction *reduction,
                          const unsigned char *source, size_t count)
{
    size_t element = reduction->element_bytes;
    uint64_t place = team_place_of(team, source, count * element);
    if (place != TEAM_NOWHERE) {
        return place;
    }
    place = team_staging_in(team);
    for (uint32_t index = 0; index < team->nic.count && place != TEAM_NOWHERE; index++) {
        unsigned char *chunk = team_memory(team, team->nic.index, place);
        size_t start = team_slice_start(team, index, count, element) * element;
        size_t stop = team_slice_start(team, index + 1, count, element) * element;
        if (index == team->nic.index) {
            memcpy(chunk + start, source + start, stop - start);
        } else {
            team->way->give(team, index, chunk + start, source + start, stop - start);
        }
    }
    return place;
}

/* Reduces elements [from, to) of everybody's chunk of `chunk_bytes`, in pieces that stay in the
 * first cache, and writes them to every target that can be reached. DN_EGROUP: a member has told a
 * place that is none. */
static int reduce_slice(const struct dn_team *team, const struct team_reduction *reduction,
                        uint64_t own_target, uint64_t chunk_bytes, size_t from, size_t to)
{
    alignas(CACHE_LINE_BYTES) unsigned char piece[TEAM_PIECE_BYTES];
    size_t bytes = reduction->element_bytes;
    size_t piece_count = sizeof piece / bytes;
    for (size_t at = from; at < to; at += piece_count) {
        size_t count = to - at < piece_count ? to - at : piece_count;
        for (uint32_t index = 0; index < team->nic.count; index++) {
            const unsigned char *shown = team_shown_by(team, index, chunk_bytes,
                                                       reduction->alignment);
            if (UNLIKELY(!shown)) {
                return DN_EGROUP;
            }
            if (index == 0) {
                memcpy(piece, shown + at * bytes, count * bytes);
            } else {
                reduction->combine(piece, shown + at * bytes, count, reduction->context);
            }
        }
        for (uint32_t index = 0; index < team->nic.count; index++) {
            uint64_t target = index == team->nic.index ? own_target : team_operand_of(team, index);
            unsigned char *reached = team_reach(team, index, target, chunk_bytes, 1);
            if (LIKELY(reached != NULL)) {
                memcpy(reached + at * bytes, piece, count * bytes);
            } else if (target != TEAM_NOWHERE) {
                return DN_EGROUP;
            }
        }
    }
    return 0;
}

/* One chunk: tells the places, reduces this member's slice, tells again, and fetches what could
 * not be delivered. `more_readers`: others may still read this member's memory afterwards. */
static int reduce_chunk(struct dn_team *team, const struct team_reduction *reduction,
                        const unsigned char *source, unsigned char *result, size_t count,
                        bool *more_readers)
{
    size_t element = reduction->element_bytes;
    uint64_t from = team_show_slices(team, reduction, source, count);
    uint64_t deliver_to = team_place_of(team, result, count * element);
    uint64_t own_target = deliver_to == TEAM_NOWHERE ? team_staging_out(team) : deliver_to;
    from = own_target == TEAM_NOWHERE ? TEAM_NOWHERE : from;
    int error = team_exchange_places(team, from, deliver_to, reduction->argument);
    if (error) {
        return error;
    }
    *more_readers = false;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        *more_readers |= team_operand_of(team, index) == TEAM_NOWHERE;
    }
    size_t first = team_slice_start(team, team->nic.index, count, element);
    size_t end = team_slice_start(team, team->nic.index + 1, count, element);
    error = reduce_slice(team, reduction, own_target, count * element, first, end);
    if (error) {
        return error;
    }
    unsigned char *slice = team_memory(team, team->nic.index, own_target) + first * element;
    team->way->give_all(team, slice, slice, (end - first) * element);
    error = team_exchange_places(team, own_target, 0, reduction->argument);
    if (error || deliver_to != TEAM_NOWHERE) {
        return error;
    }
    for (uint32_t index = 0; index < team->nic.count; index++) {
        size_t start = team_slice_start(team, index, count, element) * element;
        size_t stop = team_slice_start(team, index + 1, count, element) * element;
        const unsigned char *shown = team_shown_by(team, index, count * element, 1);
        if (UNLIKELY(!shown)) {
            return DN_EGROUP;
        }
        memcpy(result + start, shown + start, stop - start);
    }
    return 0;
}

int team_choose_chunk(struct dn_team *team, const struct team_reduction *reduction,
                      const void *source, const void *result, size_t *chunk)
{
    *chunk = TEAM_CHUNK_BYTES / reduction->element_bytes;
    if (reduction->count <= *chunk || !team->way->in_place) {
        return 0;
    }
    size_t bytes = reduction->count * reduction->element_bytes;
    bool mine = team_place_of(team, source, bytes) != TEAM_NOWHERE &&
                team_place_of(team, result, bytes) != TEAM_NOWHERE;
    int error = team_exchange(team, mine, reduction->argument);
    bool all = true;
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        all = all && team_operand_of(team, index);
    }
    *chunk = all ? reduction->count : *chunk;
    return error;
}

static int reduce_large(struct dn_team *team, const struct team_reduction *reduction,
                        const unsigned char *source, unsigned char *result, uint32_t summands)
{
    (void)summands;
    size_t chunk;
    bool more_readers = false;
    int error = team_choose_chunk(team, reduction, source, result, &chunk);
    for (size_t at = 0; at < reduction->count && !error; at += chunk) {
        size_t left = reduction->count - at;
        error = reduce_chunk(team, reduction, source + at * reduction->element_bytes,
                             result + at * reduction->element_bytes, left < chunk ? left : chunk,
                             &more_readers);
    }
    /* A member that fetches reads its peers' results until here. */
    return error || !more_readers ? error : team_exchange(team, 0, reduction->argument);
}

static inline bool is_word(const struct team_reduction *reduction)
{
    return reduction->count == 1 && reduction->element_bytes <= sizeof(uint64_t);
}

__attribute__((noinline)) int team_reduce_by_size(struct dn_team *team, const void *source,
                                                  void *result,
                                                  const struct team_reduction *reduction,
                                                  uint32_t summands, team_reduce_large large)
{
    size_t bytes = reduction->count * reduction->element_bytes;
    if (bytes != 0 && (!source || !result)) {
        return team_refuse(team, DN_EINVAL);
    }
    int error = team_turn_take_patiently(team);
    if (error) {
        return error;
    }
    if (is_word(reduction)) {
        error = reduce_word(team, reduction, source, result, summands);
    } else if (bytes == 0) {
        error = team_exchange(team, 0, reduction->argument);
    } else if (bytes <= TEAM_SMALL_BYTES) {
        error = reduce_small(team, reduction, source, result, summands);
    } else {
        error = large(team, reduction, source, result, summands);
    }
    team_turn_give(team);
    return error;
}

/* A word is as quick as a barrier, where a frame with room for the large ones shows. */
int team_allreduce(struct dn_team *team, const void *source, void *result,
                   const struct team_reduction *reduction)
{
    if (LIKELY(is_word(reduction) && source && result && base_turn_try(&team->turn))) {
        int error = reduce_word(team, reduction, source, result, team->nic.count);
        team_turn_give(team);
        return error;
    }
    return team_reduce_by_size(team, source, result, reduction, team->nic.count, reduce_large);
}
