/* Streams: every member shows some bytes, and every member takes its part of each.
 *
 * A small stream is copied into staging memory, and one phase is enough. A larger one is read
 * where it lies or, if peers cannot reach that, window by window from staging memory: a member
 * fills one of its two chunks while its peers read the other, so that each window takes one
 * phase. A last phase tells that nobody reads any more. */
#ifndef TEAM_STREAM_H
#define TEAM_STREAM_H

#include "team/staging.h"

struct team_streams {
    /* This member's stream. */
    const unsigned char *source;
    uint64_t bytes;
    /* Which part of a stream is for a member. With sizes: sizes[i] bytes for member i, behind
     * those for the members before it. With for_each_the_same: as many for each member. With
     * neither: all of it for all. */
    const size_t *sizes;
    bool for_each_the_same;
    uint64_t argument;

    /* Where the parts go, one behind the other in team order. */
    unsigned char *result;
    uint64_t capacity;
    size_t *received_sizes; /* may be NULL */
};

/* The longest stream. */
#define TEAM_STREAM_BYTES_MAX (UINT64_C(1) << 60)

/* With the turn held: 0, DN_ETOOLONG (at this member alone: all others have theirs) or an
 * error at all members. */
int team_streams_exchange(struct dn_team *team, const struct team_streams *streams);

#endif
