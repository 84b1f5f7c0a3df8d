/* `dimmnet run --check-determinism`: the same group twice. The first run is like any other; the
 * second one is held against it and shows nothing. What the nodes did is compared by the fabric
 * (struct fabric_repeat), what they wrote and how they ended here. */
#ifndef CLI_LAUNCH_REPEAT_H
#define CLI_LAUNCH_REPEAT_H

#include <stddef.h>

#include "fabric/launch.h"

struct launch_request;

/* What a node wrote to its standard output or standard error. */
struct repeat_stream {
    uint64_t bytes; /* in the first run */
    uint64_t hash;  /* of them */
    uint64_t again; /* bytes that the second run has written so far */
    uint64_t again_hash;
    uint64_t same; /* of these so many are the same, as far as bytes were kept */
    bool differs;
};

struct launch_repeat {
    struct fabric_repeat fabric;
    int output_fd;                 /* a file without a name: each stream has a region of it */
    struct repeat_stream *streams; /* two for each node */
    int *statuses;                 /* one for each node and run: how the node ended */
    bool is_cut;                   /* a signal, time or a closed output has ended the run */
    bool stdin_is_file;
    uint32_t node_count;
};

/* A node has written these bytes; `stream` is 2 * rank, and 1 more for standard error. Gives
 * whether they are to be shown. */
bool launch_repeat_take(struct launch_repeat *repeat, uint32_t stream, const char *bytes,
                        size_t count);

/* A node has ended, with this status or 128 + a signal. */
void launch_repeat_ended(struct launch_repeat *repeat, uint32_t rank, int status);

/* Where the second run's stream differs from the first one's. False: it does not. When both runs
 * have ended. */
bool launch_repeat_stream_differs(const struct repeat_stream *stream, uint64_t *byte,
                                  bool *is_exact);

/* Makes and frees what the two runs need. False: the system refused, see errno. */
bool launch_repeat_open(struct launch_repeat *repeat, uint32_t node_count);
void launch_repeat_close(struct launch_repeat *repeat);

/* Runs the group twice and says what became of that. Gives the first run's status, or CLI_FAULT if
 * the second one differs. */
int launch_twice(const struct launch_request *request);

#endif
