/* Cutting a pipe's bytes into lines. */
#define _GNU_SOURCE
#include "cli/launch/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/launch/repeat.h"

enum {
    OUTPUT_HELD_BYTES = 64 * 1024,
    /* The held line and a read's worth of empty lines, each with its label. */
    OUTPUT_ROOM_BYTES = OUTPUT_HELD_BYTES +
                        OUTPUT_READ_BYTES * (1 + sizeof(((struct output *)0)->label)),
};

void launch_output_open(struct output *output, int fd, uint32_t writer, struct sink *sink)
{
    *output = (struct output){.fd = fd, .writer = writer, .sink = sink};
}

bool launch_output_may_read(const struct output *output)
{
    return launch_sink_has_room(output->sink, OUTPUT_ROOM_BYTES);
}

static void put(struct output *output, const char *text, size_t bytes)
{
    launch_sink_put(output->sink, output->writer, output->label, text, bytes);
}

static void put_held(struct output *output)
{
    put(output, output->held, output->held_bytes);
    output->held_bytes = 0;
}

static void hold(struct output *output, const char *text, size_t bytes)
{
    if (!output->held && bytes > 0) {
        output->held = malloc(OUTPUT_HELD_BYTES);
    }
    if (!output->held || output->held_bytes + bytes > OUTPUT_HELD_BYTES) {
        put_held(output);
    }
    if (!output->held || bytes > OUTPUT_HELD_BYTES) {
        put(output, text, bytes);
        return;
    }
    if (bytes > 0) {
        memcpy(output->held + output->held_bytes, text, bytes);
        output->held_bytes += bytes;
    }
}

void launch_output_put(struct output *output, const char *text, size_t bytes)
{
    const char *newline = memrchr(text, '\n', bytes);
    if (newline) {
        size_t whole = (size_t)(newline - text) + 1;
        put_held(output);
        /* With labels each line goes alone, so that each gets one. */
        while (output->label[0] != '\0' && whole > 0) {
            const char *end = memchr(text, '\n', whole);
            size_t line = (size_t)(end - text) + 1;
            put(output, text, line);
            text += line;
            bytes -= line;
            whole -= line;
        }
        put(output, text, whole);
        text += whole;
        bytes -= whole;
    }
    hold(output, text, bytes);
}

bool launch_output_read(struct output *output)
{
    char text[OUTPUT_READ_BYTES];
    ssize_t bytes = read(output->fd, text, sizeof text);
    if (bytes > 0) {
        if (!output->repeat ||
            launch_repeat_take(output->repeat, output->writer, text, (size_t)bytes)) {
            launch_output_put(output, text, (size_t)bytes);
        }
        return true;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    launch_output_close(output);
    return true;
}

void launch_output_close(struct output *output)
{
    if (output->fd == OUTPUT_ENDED) {
        return;
    }
    put_held(output);
    /* End an unfinished line if it has a label. A line without one stays as its node left it,
     * unless another writer's line follows. */
    if (output->label[0] != '\0' && output->sink->open_writer == output->writer) {
        put(output, "\n", 1);
    }
    launch_output_drop(output);
}

void launch_output_drop(struct output *output)
{
    if (output->fd >= 0) {
        (void)close(output->fd);
    }
    free(output->held);
    *output = (struct output){.fd = OUTPUT_ENDED};
}
