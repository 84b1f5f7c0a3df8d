/* Frames over descriptors: a bounded queue (a sink) to the other side, and a buffer for what comes
 * from it. Neither blocks. */
#ifndef CLI_REMOTE_POST_H
#define CLI_REMOTE_POST_H

#include "cli/remote/frame.h"
#include "cli/launch/sink.h"

struct post_inbox {
    unsigned char *bytes;
    size_t start; /* of what has not been taken */
    size_t end;
    size_t capacity;
};

enum {
    POST_CONTROL_BYTES = 1 << 20,   /* more than all frames except output and orders together */
    POST_WINDOW_BYTES = 128 * 1024, /* of each output, and of the input, before credit comes */
    POST_FRAME_CHARGE_BYTES = 16,   /* added for each piece, so that small ones do not pile up */
};

/* Puts a frame into the queue. False: there is no room. To a side that keeps to its credit this
 * happens only if the other side has stopped reading. */
bool remote_post_send(struct sink *to, enum frame_kind kind, const uint32_t *words,
                      const void *tail, size_t tail_bytes);

enum post_news { POST_NEWS, POST_NOTHING, POST_END };

/* Reads once from a descriptor that poll says is ready. POST_END: the other side has closed
 * it, or there is no memory. */
enum post_news remote_post_read(struct post_inbox *inbox, int fd);

/* Gives the next whole frame; it is valid until the next remote_post_read. */
enum frame_verdict remote_post_take(struct post_inbox *inbox, enum frame_sender sender,
                                    struct frame *frame);

/* Wipes the frames that were taken. */
void remote_post_wipe(struct post_inbox *inbox);
/* Wipes everything. */
void remote_post_release(struct post_inbox *inbox);

#endif
