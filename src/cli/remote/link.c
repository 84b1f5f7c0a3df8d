/* One remote shell. */
#define _GNU_SOURCE
#include "cli/remote/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/clock.h"

#define ENDING_NS UINT64_C(1000000000)

_Static_assert((int)FRAME_DATA_BYTES_MAX <= (int)OUTPUT_READ_BYTES,
               "a output takes a frame at once");

/* ---- Beginning and end ------------------------------------------------------------- */

_Noreturn static void become_shell(const struct launch *launch, uint32_t index, char *const *argv,
                                   const int *ends)
{
    /* A session of its own: we pass the terminal's signals on by frames ourselves, and a remote
     * shell that wants to ask for a password fails instead of waiting. */
    (void)setsid();
    atomic_store(&launch->guardian.process_groups[index], (int32_t)getpid());
    if (dup2(ends[0], STDIN_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0 ||
        dup2(ends[2], STDERR_FILENO) < 0) {
        _exit(127);
    }
    if (launch->plan.files_were_raised) {
        (void)setrlimit(RLIMIT_NOFILE, &launch->plan.old_files);
    }
    char *mark = strdup(launch->guardian.mark);
    if (mark) {
        (void)putenv(mark);
    }
    launch_signals_clear_in_child();
    (void)execvp(argv[0], argv);
    (void)dprintf(STDERR_FILENO, "%s: cannot start \"%s\": %s\n", launch->request->command, argv[0],
                  strerror(errno));
    _exit(127);
}

/* The child's ends are [0], [1] and [2]; ours [3], [4] and [5]. */
static bool open_pipes(int *ends)
{
    int pipes[3][2];
    for (unsigned i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            return false;
        }
        ends[i] = pipes[i][i == 0 ? 0 : 1];
        ends[3 + i] = pipes[i][i == 0 ? 1 : 0];
        if (fcntl(ends[3 + i], F_SETFL, O_NONBLOCK) != 0) {
            return false;
        }
    }
    return true;
}

bool remote_link_open(struct link *link, struct launch *launch, uint32_t index, char *const *argv)
{
    int ends[6] = {-1, -1, -1, -1, -1, -1};
    uint32_t writer = 2 * launch->request->node_count + index;
    bool opened = open_pipes(ends);
    pid_t pid = -1;
    for (unsigned i = 0; i < 2 && opened; i++) {
        link->held[i].bytes = malloc(POST_WINDOW_BYTES + 8 * (size_t)link->host->rank_count);
        opened = link->held[i].bytes != NULL;
    }
    opened = opened && launch_sink_open(&link->to, ends[3], POST_CONTROL_BYTES + link->order_bytes);
    link->to.is_secret = true; /* terms go through it */
    if (opened) {
        pid = fork();
        if (pid == 0) {
            become_shell(launch, index, argv, ends);
        }
    }
    int error = errno;
    for (unsigned i = 0; i < 3; i++) {
        launch_close_fd(&ends[i]);
    }
    link->to_fd = ends[3];
    link->from_fd = ends[4];
    launch_output_open(&link->err, ends[5], writer, launch->err);
    errno = error;
    if (pid > 0) {
        atomic_store(&launch->guardian.process_groups[index], (int32_t)pid);
        link->pid = pid;
        link->state = LINK_GREETING;
    }
    return pid > 0;
}

void remote_link_say(struct link *link, enum frame_kind kind, const uint32_t *words,
                     const void *tail, size_t tail_bytes)
{
    if (link->state < LINK_ENDING && !link->hung_up &&
        !remote_post_send(&link->to, kind, words, tail, tail_bytes)) {
        remote_link_cut(link, host_now_ns()); /* it has read nothing for a megabyte */
    }
}

void remote_link_hang_up(struct link *link)
{
    if (!link->hung_up) {
        launch_sink_close(&link->to);
        launch_close_fd(&link->to_fd);
    }
    link->hung_up = true;
}

void remote_link_call_off(struct link *link, uint64_t now_ns)
{
    remote_link_hang_up(link);
    if (link->ending_at_ns == UINT64_MAX) {
        link->ending_at_ns = now_ns + ENDING_NS;
    }
}

void remote_link_cut(struct link *link, uint64_t now_ns)
{
    if (link->state < LINK_ENDING) {
        remote_link_hang_up(link);
        launch_close_fd(&link->from_fd);
        link->state = LINK_ENDING;
        link->ending_at_ns = now_ns + ENDING_NS;
        remote_pulse_init(&link->pulse);
    }
}

void remote_link_release(struct link *link)
{
    remote_link_hang_up(link);
    launch_close_fd(&link->from_fd);
    launch_output_drop(&link->err);
    remote_post_release(&link->inbox);
    free(link->order);
    free(link->held[0].bytes);
    free(link->held[1].bytes);
}

/* ---- Output ------------------------------------------------------------------------ */

static void hold(struct link_held *held, const struct frame *frame)
{
    if (held->start > 0) {
        memmove(held->bytes, held->bytes + held->start, held->end - held->start);
        held->end -= held->start;
        held->start = 0;
    }
    const uint32_t head[2] = {frame->words[0], frame->tail_bytes};
    memcpy(held->bytes + held->end, head, sizeof head);
    memcpy(held->bytes + held->end + sizeof head, frame->tail, frame->tail_bytes);
    held->end += sizeof head + frame->tail_bytes;
}

bool remote_link_take_output(struct link *link, struct launch *launch, const struct frame *frame)
{
    uint32_t rank = frame->words[0];
    uint32_t which = frame->words[1];
    if (which > 1 || rank - link->host->rank_first >= link->host->rank_count ||
        launch->outputs[2 * rank + which].fd != OUTPUT_FED ||
        launch->outputs[2 * rank + which].is_ending) {
        return false;
    }
    /* An end is told once, and uses no credit. */
    uint32_t charge = frame->tail_bytes ? frame->tail_bytes + POST_FRAME_CHARGE_BYTES : 0;
    if (charge > POST_WINDOW_BYTES - link->used_bytes[which]) {
        return false;
    }
    link->used_bytes[which] += charge;
    if (frame->tail_bytes == 0) {
        launch->outputs[2 * rank + which].is_ending = true;
    }
    hold(&link->held[which], frame);
    return true;
}

/* False: the sink has no room. */
static bool pass_one_on(struct link *link, struct launch *launch, unsigned which)
{
    struct link_held *held = &link->held[which];
    uint32_t head[2];
    memcpy(head, held->bytes + held->start, sizeof head);
    struct output *output = &launch->outputs[2 * head[0] + which];
    if (!launch_output_may_read(output)) {
        return false;
    }
    held->start += sizeof head;
    if (head[1] > 0) {
        launch_output_put(output, (const char *)held->bytes + held->start, head[1]);
        held->start += head[1];
        link->owed_bytes[which] += head[1] + POST_FRAME_CHARGE_BYTES;
    } else {
        launch_output_close(output);
    }
    return true;
}

void remote_link_pass_on(struct link *link, struct launch *launch)
{
    for (unsigned which = 0; which < 2; which++) {
        struct link_held *held = &link->held[which];
        while (held->start < held->end && pass_one_on(link, launch, which)) {
        }
        if (link->owed_bytes[which] >= POST_WINDOW_BYTES / 4) {
            const uint32_t words[] = {which, link->owed_bytes[which]};
            link->used_bytes[which] -= link->owed_bytes[which];
            link->owed_bytes[which] = 0;
            remote_link_say(link, FRAME_CREDIT, words, NULL, 0);
        }
    }
}

bool remote_link_is_drained(const struct link *link)
{
    return link->held[0].start == link->held[0].end && link->held[1].start == link->held[1].end;
}
