/* Streams: every member shows some bytes, and every member takes its part of each.
 *
 * What is small is copied into staging memory, and one phase is enough. Larger streams are
 * read where they lie, or, where peers cannot reach that, window by window from staging
 * memory: a member fills one of its two chunks while its peers read the other, so that each
 * window takes one phase. A last phase tells that nobody reads any more. */
#ifndef TEAM_STREAM_H
#define TEAM_STREAM_H

#include "team/staging.h"

struct team_streams {
    /* This member's stream. */
    const unsigned char *source;
    uint64_t bytes;
    /* Which part of a stream is for a member: member i's are sizes[i] bytes behind those
     * of the members before it; or, with sizes NULL, the same number for each member; or,
     * with both unset, all of it for all. */
    const size_t *sizes;
    bool for_each_the_same;
    uint64_t argument;

    /* What comes in is put here, one behind the other in team order. */
    unsigned char *result;
    uint64_t capacity;
    size_t *received_sizes; /* may be NULL */
};

/* The longest stream. */
#define TEAM_STREAM_BYTES_MAX (UINT64_C(1) << 60)

/* With the turn held: 0, DN_ETOOLONG (of this member alone: all others have theirs) or an
 * error of all members. */
int team_streams_exchange(struct dn_team *team, const struct team_streams *streams);

#endif
