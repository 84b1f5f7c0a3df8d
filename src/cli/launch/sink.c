/* The queue and the writing. */
#define _GNU_SOURCE
#include "cli/launch/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/secret.h"

enum {
    /* What a pipe that poll calls writable takes without blocking (PIPE_BUF). */
    SINK_SHARED_WRITE_BYTES = 4096,
};

/* A pipe or terminal opened a second time has flags of its own. */
static int open_anew(int fd)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool launch_sink_open(struct sink *sink, int fd, size_t capacity)
{
    struct stat status;
    *sink = (struct sink){
        .fd = fd, .kind = SINK_SHARED, .open_writer = SINK_NO_WRITER, .capacity = capacity};
    sink->bytes = malloc(sink->capacity);
    if (!sink->bytes) {
        sink->fd = -1;
        return false;
    }
    if (fstat(fd, &status) != 0) {
        return true; /* the first write will say why */
    }
    if (S_ISSOCK(status.st_mode)) {
        sink->kind = SINK_SOCKET;
    } else if (S_ISREG(status.st_mode)) {
        sink->kind = SINK_FILE;
    } else if (S_ISFIFO(status.st_mode) || isatty(fd)) {
        int own = open_anew(fd);
        if (own >= 0) {
            sink->fd = own;
            sink->kind = SINK_OWN;
        }
    }
    return true;
}

void launch_sink_close(struct sink *sink)
{
    if (sink->fd >= 0 && sink->kind == SINK_OWN) {
        (void)close(sink->fd);
    }
    if (sink->bytes && sink->is_secret) {
        explicit_bzero(sink->bytes, sink->capacity);
    }
    free(sink->bytes);
    *sink = (struct sink){.fd = -1};
}

bool launch_sink_has_room(const struct sink *sink, size_t bytes)
{
    return sink->error || sink->capacity - sink->length >= bytes;
}

static void append(struct sink *sink, const char *text, size_t bytes)
{
    INVARIANT(sink->capacity - sink->length >= bytes);
    if (bytes == 0) {
        return;
    }
    size_t tail = (sink->head + sink->length) % sink->capacity;
    size_t first = bytes < sink->capacity - tail ? bytes : sink->capacity - tail;
    if (sink->is_secret) {
        base_secret_copy(sink->bytes + tail, text, first);
        base_secret_copy(sink->bytes, text + first, bytes - first);
    } else {
        memcpy(sink->bytes + tail, text, first);
        memcpy(sink->bytes, text + first, bytes - first);
    }
    sink->length += bytes;
}

void launch_sink_put(struct sink *sink, uint32_t writer, const char *label, const char *text,
                     size_t bytes)
{
    if (sink->error || bytes == 0) {
        return;
    }
    if (sink->open_writer != writer) {
        if (sink->open_writer != SINK_NO_WRITER) {
            append(sink, "\n", 1);
        }
        append(sink, label, strlen(label));
    }
    append(sink, text, bytes);
    sink->open_writer = text[bytes - 1] == '\n' ? SINK_NO_WRITER : writer;
}

bool launch_sink_is_waiting(const struct sink *sink)
{
    return sink->fd >= 0 && !sink->error && sink->length > 0;
}

void launch_sink_write(struct sink *sink)
{
    size_t bytes = sink->length;
    bytes = bytes < sink->capacity - sink->head ? bytes : sink->capacity - sink->head;
    if (sink->kind == SINK_SHARED && bytes > SINK_SHARED_WRITE_BYTES) {
        bytes = SINK_SHARED_WRITE_BYTES;
    }
    const char *from = sink->bytes + sink->head;
    ssize_t written = sink->kind == SINK_SOCKET
                          ? send(sink->fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : write(sink->fd, from, bytes);
    if (written < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            sink->error = errno;
            sink->length = 0;
        }
        return;
    }
    if (sink->is_secret) {
        explicit_bzero(sink->bytes + sink->head, (size_t)written);
    }
    sink->length -= (size_t)written;
    /* Starting over when empty keeps to pages that are touched already. */
    sink->head = sink->length == 0 ? 0 : (sink->head + (size_t)written) % sink->capacity;
}
