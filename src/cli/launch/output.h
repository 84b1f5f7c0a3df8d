/* A node's standard output or standard error: a pipe whose bytes are passed on to a sink
 * whole lines at a time. An unfinished line is held back, up to 64 KiB of it. */
#ifndef CLI_LAUNCH_OUTPUT_H
#define CLI_LAUNCH_OUTPUT_H

#include "cli/launch/sink.h"

struct launch_repeat;

enum {
    OUTPUT_ENDED = -1,
    OUTPUT_FED = -2, /* there is no pipe: somebody puts bytes in */
    OUTPUT_READ_BYTES = 16 * 1024,
};

struct output {
    int fd; /* or one of the above */
    uint32_t writer;
    struct sink *sink;
    char label[16];               /* empty: none */
    bool is_ending;               /* a fed one: its last bytes are on their way */
    struct launch_repeat *repeat; /* which looks at the pipe's bytes first; or NULL */
    char *held;                   /* the unfinished line; NULL: none yet */
    size_t held_bytes;
};

/* Takes the pipe's reading end, which does not block. */
void launch_output_open(struct output *output, int fd, uint32_t writer, struct sink *sink);

/* Whether the sink has room for all that one read can bring. */
bool launch_output_may_read(const struct output *output);

/* Puts in what one read brings, up to OUTPUT_READ_BYTES; launch_output_may_read was true. */
void launch_output_put(struct output *output, const char *text, size_t bytes);

/* Reads once; false: nothing was there. Closes at the end of the pipe. */
bool launch_output_read(struct output *output);

/* Passes on the unfinished line, for which the sink has room, and closes. */
void launch_output_close(struct output *output);

/* Closes without passing anything on. */
void launch_output_drop(struct output *output);

#endif
