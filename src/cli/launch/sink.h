/* Where output goes: one of the launcher's own standard descriptors behind a bounded
 * queue. Writing never blocks, whatever the reader does, and never changes the inherited
 * descriptor's flags, which other processes share.
 *
 * A line that one writer left unfinished is ended before another's begins. */
#ifndef CLI_LAUNCH_SINK_H
#define CLI_LAUNCH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sink_kind {
    SINK_OWN,    /* opened anew for itself, without blocking */
    SINK_SOCKET, /* told with each write not to block */
    SINK_FILE,   /* never blocks */
    SINK_SHARED, /* poll says whether it takes bytes; then we trust it with a few at a time */
};

#define SINK_NO_WRITER UINT32_MAX
#define SINK_LAUNCHER (UINT32_MAX - 1)

struct sink {
    int fd; /* -1: not in use */
    enum sink_kind kind;
    bool is_secret;       /* what was written is wiped, and leaves no trace elsewhere */
    int error;            /* 0, or the errno that ended it: what is put from then on is dropped */
    uint32_t open_writer; /* whose unfinished line the queue's last byte belongs to */
    char *bytes;          /* a ring */
    size_t capacity;
    size_t head;
    size_t length;
};

enum { SINK_OUTPUT_BYTES = 512 * 1024 }; /* for what nodes write */

/* False: no memory. */
bool launch_sink_open(struct sink *sink, int fd, size_t capacity);
void launch_sink_close(struct sink *sink);

/* Whether that many bytes fit. */
bool launch_sink_has_room(const struct sink *sink, size_t bytes);

/* Puts in part of a writer's line, or several lines. The label goes before it if the writer is at a
 * line's start. There must be room for label, text and one byte. */
void launch_sink_put(struct sink *sink, uint32_t writer, const char *label, const char *text,
                     size_t bytes);

/* Whether there is something to write and somebody to write to. */
bool launch_sink_is_waiting(const struct sink *sink);

/* After poll said that the descriptor takes bytes: writes some. */
void launch_sink_write(struct sink *sink);

#endif
