/* A node's standard output or standard error: a pipe whose bytes are passed on to a sink
 * whole lines at a time. An unfinished line is held back, up to 64 KiB of it. */
#ifndef CLI_LAUNCH_OUTPUT_H
#define CLI_LAUNCH_OUTPUT_H

#include "cli/launch/sink.h"

enum {
    STREAM_ENDED = -1,
    STREAM_FED = -2, /* there is no pipe: somebody puts bytes in */
    STREAM_READ_BYTES = 16 * 1024,
};

struct stream {
    int fd; /* or one of the above */
    uint32_t writer;
    struct sink *sink;
    char label[16]; /* empty: none */
    bool is_ending; /* of a fed one: its last bytes are on their way */
    char *held;     /* the unfinished line; NULL: none yet */
    size_t held_bytes;
};

/* Takes the pipe's reading end, which does not block. */
void launch_stream_open(struct stream *stream, int fd, uint32_t writer, struct sink *sink);

/* Whether the sink has room for all that one read can bring. */
bool launch_stream_may_read(const struct stream *stream);

/* What one read brings, up to STREAM_READ_BYTES; launch_stream_may_read was true. */
void launch_stream_put(struct stream *stream, const char *text, size_t bytes);

/* Reads once; false: nothing was there. At the end of the pipe it closes. */
bool launch_stream_read(struct stream *stream);

/* Passes on the unfinished line, for which the sink has room, and closes. */
void launch_stream_close(struct stream *stream);

/* Closes without passing anything on. */
void launch_stream_drop(struct stream *stream);

#endif
