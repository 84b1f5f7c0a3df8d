/* Queueing and gathering frames. */
#include "cli/remote/post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"

enum { READ_BYTES = 64 * 1024 };

bool remote_post_send(struct sink *to, enum frame_kind kind, const uint32_t *words,
                      const void *tail, size_t tail_bytes)
{
    unsigned char head[FRAME_HEADER_BYTES + 4 * FRAME_WORDS_MAX];
    if (!launch_sink_has_room(to, remote_frame_bytes(kind, tail_bytes))) {
        return false;
    }
    /* The tail's length is in the header, its bytes follow. */
    unsigned char *end = remote_frame_put(head, kind, words, NULL, tail_bytes);
    launch_sink_put(to, 0, "", (const char *)head, (size_t)(end - head));
    launch_sink_put(to, 0, "", tail, tail_bytes);
    return true;
}

static bool make_room(struct post_inbox *inbox)
{
    if (inbox->start > 0) {
        size_t held = inbox->end - inbox->start;
        base_secret_copy(inbox->bytes, inbox->bytes + inbox->start, held);
        explicit_bzero(inbox->bytes + held, inbox->end - held);
        inbox->end = held;
        inbox->start = 0;
    }
    if (inbox->capacity - inbox->end >= READ_BYTES) {
        return true;
    }
    /* A frame that is too long is refused by its header, so this ends. */
    size_t capacity = 2 * inbox->capacity + READ_BYTES;
    unsigned char *bytes = malloc(capacity);
    if (!bytes) {
        return false;
    }
    size_t held = inbox->end;
    if (held > 0) {
        base_secret_copy(bytes, inbox->bytes, held);
    }
    remote_post_release(inbox);
    *inbox = (struct post_inbox){.bytes = bytes, .end = held, .capacity = capacity};
    return true;
}

enum post_news remote_post_read(struct post_inbox *inbox, int fd)
{
    if (!make_room(inbox)) {
        return POST_END;
    }
    ssize_t got = read(fd, inbox->bytes + inbox->end, READ_BYTES);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? POST_NOTHING : POST_END;
    }
    inbox->end += (size_t)got;
    return got > 0 ? POST_NEWS : POST_END;
}

enum frame_verdict remote_post_take(struct post_inbox *inbox, enum frame_sender sender,
                                    struct frame *frame)
{
    size_t whole = 0;
    if (inbox->start == inbox->end) {
        return FRAME_IS_CUT;
    }
    enum frame_verdict verdict = remote_frame_take(
        inbox->bytes + inbox->start, inbox->end - inbox->start, sender, frame, &whole);
    inbox->start += whole;
    return verdict;
}

void remote_post_wipe(struct post_inbox *inbox)
{
    explicit_bzero(inbox->bytes, inbox->start);
}

void remote_post_release(struct post_inbox *inbox)
{
    if (inbox->bytes) {
        explicit_bzero(inbox->bytes, inbox->capacity); /* terms hold a secret */
    }
    free(inbox->bytes);
    *inbox = (struct post_inbox){0};
}
