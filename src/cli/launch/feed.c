/* Moves bytes from the terminal to a pipe, never more than a buffer ahead of it. */
#include "cli/launch/feed.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int launch_feed_poll_fd(const struct feed *feed, short *events)
{
    if (feed->pipe_fd < 0) {
        return -1;
    }
    if (feed->length > 0) {
        *events = POLLOUT;
        return feed->pipe_fd;
    }
    *events = POLLIN;
    return feed->paused ? -1 : STDIN_FILENO;
}

static void move_in(struct feed *feed)
{
    ssize_t bytes = read(STDIN_FILENO, feed->bytes, sizeof feed->bytes);
    if (bytes > 0) {
        feed->start = 0;
        feed->length = (size_t)bytes;
    } else if (bytes == 0) {
        feed->at_end = true;
    } else if (errno == EIO) {
        /* SIGTTIN is blocked: this is what reading in the background gives. */
        feed->paused = true;
    } else if (errno != EINTR && errno != EAGAIN) {
        feed->at_end = true;
    }
}

void launch_feed_move(struct feed *feed)
{
    if (feed->length == 0) {
        move_in(feed);
    } else {
        ssize_t bytes = write(feed->pipe_fd, feed->bytes + feed->start, feed->length);
        if (bytes >= 0) {
            feed->start += (size_t)bytes;
            feed->length -= (size_t)bytes;
        } else if (errno != EINTR && errno != EAGAIN) {
            launch_feed_close(feed); /* node 0 reads no more */
            return;
        }
    }
    if (feed->at_end && feed->length == 0) {
        launch_feed_close(feed);
    }
}

void launch_feed_close(struct feed *feed)
{
    if (feed->pipe_fd >= 0) {
        (void)close(feed->pipe_fd);
    }
    feed->pipe_fd = -1;
    feed->length = 0;
}
