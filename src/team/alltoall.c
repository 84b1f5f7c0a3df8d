/* All-to-all, where every member has data for every member, and the allgather of data that differs
 * in length. Both are streams (stream.h). */
#include "team/reduce.h"
#include "team/stream.h"

static int exchange(struct dn_team *team, const struct team_streams *streams)
{
    int error = team_turn_take_patiently(team);
    if (!error) {
        error = team_streams_exchange(team, streams);
        team_turn_give(team);
    }
    return error;
}

int team_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    uint64_t total;
    bool too_long = __builtin_mul_overflow(bytes, team->nic.count, &total) ||
                    total > TEAM_STREAM_BYTES_MAX;
    if (too_long || (bytes != 0 && (!source || !result))) {
        return team_refuse(team, DN_EINVAL);
    }
    struct team_streams streams = {
        .source = source,
        .bytes = total,
        .for_each_the_same = true,
        .argument = team_digest(TEAM_ALLTOALL, bytes, 0),
        .result = result,
        .capacity = total,
    };
    return exchange(team, &streams);
}

/* Adds up what all members are to get from this one. False: it is more than a stream holds. */
static bool add_up(const struct dn_team *team, const size_t *sizes, uint64_t *total)
{
    *total = 0;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (__builtin_add_overflow(*total, sizes[index], total)) {
            return false;
        }
    }
    return *total <= TEAM_STREAM_BYTES_MAX;
}

int team_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                   size_t capacity, size_t *received_sizes)
{
    uint64_t total;
    if (!sizes || !add_up(team, sizes, &total) || (total != 0 && !source) ||
        (capacity != 0 && !result)) {
        return team_refuse(team, DN_EINVAL);
    }
    struct team_streams streams = {
        .source = source,
        .bytes = total,
        .sizes = sizes,
        .argument = team_digest(TEAM_ALLTOALLV, 0, 0),
        .result = result,
        .capacity = capacity,
        .received_sizes = received_sizes,
    };
    return exchange(team, &streams);
}

int team_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                    size_t capacity, size_t *sizes)
{
    if (bytes > TEAM_STREAM_BYTES_MAX || (bytes != 0 && !source) || (capacity != 0 && !result)) {
        return team_refuse(team, DN_EINVAL);
    }
    struct team_streams streams = {
        .source = source,
        .bytes = bytes,
        .argument = team_digest(TEAM_ALLGATHERV, 0, 0),
        .result = result,
        .capacity = capacity,
        .received_sizes = sizes,
    };
    return exchange(team, &streams);
}
