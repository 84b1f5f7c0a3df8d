/* Node 0's standard input when the launcher's is a terminal. Each node is a process group of its
 * own, and the terminal would stop it if it read; so the launcher reads for node 0. */
#ifndef CLI_LAUNCH_FEED_H
#define CLI_LAUNCH_FEED_H

#include <stdbool.h>
#include <stddef.h>

enum { FEED_BYTES = 4096 };

struct feed {
    int pipe_fd;   /* the writing end, which does not block; -1: nothing to feed */
    bool paused;   /* the terminal is not ours to read until we are continued */
    bool at_end;   /* the user ended the input; the bytes held here still go out */
    size_t start;  /* of the bytes held */
    size_t length; /* of the bytes held */
    char bytes[FEED_BYTES];
};

/* What to poll for: a descriptor and its events, or -1. */
int launch_feed_poll_fd(const struct feed *feed, short *events);

/* Moves bytes on, after poll has said that it can. */
void launch_feed_move(struct feed *feed);

void launch_feed_close(struct feed *feed);

#endif
