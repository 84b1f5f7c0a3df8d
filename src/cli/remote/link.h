/* A launcher's link to one agent: a remote shell as our child, whose standard input and
 * output carry frames and whose standard error is passed on.
 *
 *     GREETING --greeting, order--> ORDERED --bound--> BOUND --peers--> TRACING --paths-->
 *     READY --start--> RUNNING --> ENDING --> CLOSED
 *
 * ENDING when the agent's output has ended, from any state, until the child has ended too. */
#ifndef CLI_REMOTE_LINK_H
#define CLI_REMOTE_LINK_H

#include "cli/remote/hosts.h"
#include "cli/launch/launcher.h"
#include "cli/remote/post.h"
#include "cli/remote/pulse.h"

enum link_state {
    LINK_GREETING,
    LINK_ORDERED,
    LINK_BOUND,
    LINK_TRACING,
    LINK_READY,
    LINK_RUNNING,
    LINK_ENDING,
    LINK_CLOSED,
};

/* Output that the sink has no room for yet: | rank | bytes | the bytes | ... */
struct link_held {
    unsigned char *bytes;
    size_t start;
    size_t end;
};

struct link {
    const struct hosts_entry *host;
    struct fabric_contact contact; /* the host's */
    unsigned char *order;          /* to be sent when it greets */
    size_t order_bytes;
    enum link_state state;
    pid_t pid;        /* the remote shell */
    bool has_ended;   /* the remote shell has */
    bool is_done;     /* the agent has said so */
    bool hung_up;     /* we have closed its input */
    bool had_started; /* its nodes had */
    bool is_told;     /* the user has been told why it ends */
    struct ending ending;
    int to_fd;
    int from_fd;
    struct sink to;
    struct post_inbox inbox;
    struct output err;

    struct link_held held[2];
    uint32_t used_bytes[2]; /* of the window: bytes that came in and got no credit yet */
    uint32_t owed_bytes[2]; /* of those, bytes that have been passed on */

    struct pulse pulse;    /* from its greeting on */
    uint64_t ending_at_ns; /* ENDING waits no longer */
};

/* Starts the command at the guardian's place `index`; the order has been made. False: errno. */
bool remote_link_open(struct link *link, struct launch *launch, uint32_t index, char *const *argv);

/* Sends a frame; one that cannot be sent ends the link. */
void remote_link_say(struct link *link, enum frame_kind kind, const uint32_t *words,
                     const void *tail, size_t tail_bytes);

/* Closes the agent's input, which ends the agent. */
void remote_link_hang_up(struct link *link);
/* The same before nodes have started. We do not wait for an agent that does not end soon. */
void remote_link_call_off(struct link *link, uint64_t now_ns);

/* Reads and writes nothing more: the link is ENDING from now on. */
void remote_link_cut(struct link *link, uint64_t now_ns);

/* Takes output in. False: this agent must not send it. */
bool remote_link_take_output(struct link *link, struct launch *launch, const struct frame *frame);
/* Passes on held output that now finds room, and gives credit for it. */
void remote_link_pass_on(struct link *link, struct launch *launch);
/* Whether all is passed on. */
bool remote_link_is_drained(const struct link *link);

void remote_link_release(struct link *link);

#endif
