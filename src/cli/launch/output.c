/* Cutting a pipe's bytes into lines. */
#define _GNU_SOURCE
#include "cli/launch/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STREAM_HELD_BYTES = 64 * 1024,
    /* The held line and a read's worth of empty lines, each with its label. */
    STREAM_ROOM_BYTES = STREAM_HELD_BYTES +
                        STREAM_READ_BYTES * (1 + sizeof(((struct stream *)0)->label)),
};

void launch_stream_open(struct stream *stream, int fd, uint32_t writer, struct sink *sink)
{
    *stream = (struct stream){.fd = fd, .writer = writer, .sink = sink};
}

bool launch_stream_may_read(const struct stream *stream)
{
    return launch_sink_has_room(stream->sink, STREAM_ROOM_BYTES);
}

static void put(struct stream *stream, const char *text, size_t bytes)
{
    launch_sink_put(stream->sink, stream->writer, stream->label, text, bytes);
}

static void put_held(struct stream *stream)
{
    put(stream, stream->held, stream->held_bytes);
    stream->held_bytes = 0;
}

static void hold(struct stream *stream, const char *text, size_t bytes)
{
    if (!stream->held && bytes > 0) {
        stream->held = malloc(STREAM_HELD_BYTES);
    }
    if (!stream->held || stream->held_bytes + bytes > STREAM_HELD_BYTES) {
        put_held(stream);
    }
    if (!stream->held || bytes > STREAM_HELD_BYTES) {
        put(stream, text, bytes);
        return;
    }
    if (bytes > 0) {
        memcpy(stream->held + stream->held_bytes, text, bytes);
        stream->held_bytes += bytes;
    }
}

void launch_stream_put(struct stream *stream, const char *text, size_t bytes)
{
    const char *newline = memrchr(text, '\n', bytes);
    if (newline) {
        size_t whole = (size_t)(newline - text) + 1;
        put_held(stream);
        /* With labels each line goes alone, so that each gets one. */
        while (stream->label[0] != '\0' && whole > 0) {
            const char *end = memchr(text, '\n', whole);
            size_t line = (size_t)(end - text) + 1;
            put(stream, text, line);
            text += line;
            bytes -= line;
            whole -= line;
        }
        put(stream, text, whole);
        text += whole;
        bytes -= whole;
    }
    hold(stream, text, bytes);
}

bool launch_stream_read(struct stream *stream)
{
    char text[STREAM_READ_BYTES];
    ssize_t bytes = read(stream->fd, text, sizeof text);
    if (bytes > 0) {
        launch_stream_put(stream, text, (size_t)bytes);
        return true;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    launch_stream_close(stream);
    return true;
}

void launch_stream_close(struct stream *stream)
{
    if (stream->fd == STREAM_ENDED) {
        return;
    }
    put_held(stream);
    /* End an unfinished line if it has a label. A line without one stays as its node left it,
     * unless another writer's line follows. */
    if (stream->label[0] != '\0' && stream->sink->open_writer == stream->writer) {
        put(stream, "\n", 1);
    }
    launch_stream_drop(stream);
}

void launch_stream_drop(struct stream *stream)
{
    if (stream->fd >= 0) {
        (void)close(stream->fd);
    }
    free(stream->held);
    *stream = (struct stream){.fd = STREAM_ENDED};
}
