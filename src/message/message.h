/* A process's side of SEND/RECEIVE: contexts, operations, waiting, waking. The rings are
 * group/message.h's. How a peer is reached, in place or by packets, is its *way*: message_way.h.
 * This is what the interface above calls. */
#ifndef MESSAGE_MESSAGE_H
#define MESSAGE_MESSAGE_H

#include "host/wait.h"
#include "group/message.h"

enum message_kind { MESSAGE_OP_SEND = 1, MESSAGE_OP_RECV, MESSAGE_OP_PROBE, MESSAGE_OP_IN_PLACE };

enum message_state {
    MESSAGE_OP_NONE,       /* not begun */
    MESSAGE_OP_QUEUED = 1, /* in its destination's or the context's list */
    MESSAGE_OP_OFFERED,    /* published; done when the receiver's head has passed it */
    MESSAGE_OP_DONE,       /* `error` says how */
};

#define MESSAGE_OP_MAGIC UINT32_C(0x4d47534d)

/* What the words of a struct dn_message_op are. */
struct message_op {
    uint32_t magic;
    uint8_t kind;
    _Atomic uint8_t state;
    int32_t error;
    int32_t peer; /* the rank sent to or received from; DN_ANY until something is received */
    struct dn_context *context;
    unsigned char *data; /* to send from, to receive into, or (IN_PLACE) received */
    uint64_t bytes;      /* to send, the buffer's, or received */
    uint64_t position;   /* send: bytes published, or (OFFERED) where the head must be */
    struct message_source *borrower; /* receive: the source whose message is put together here */
    struct message_op *next;
    struct message_destination *destination;
};
_Static_assert(sizeof(struct message_op) <= sizeof(struct dn_message_op), "it fits");

/* ---- Contexts: message_context.c ---------------------------------------------------- */

struct message_context_request {
    uint32_t channel;
    const int *destinations;
    size_t destination_count;
    const int *sources;
    size_t source_count;
    struct dn_context_options options; /* defaults filled in */
};

int message_context_open(struct dn_node *node, const struct message_context_request *request,
                         struct dn_context **context);
int message_context_close(struct dn_context *context);

/* The node detaches: forgets all handles, once its receivers have fetched what goes with it. */
void message_end(struct dn_node *node);

/* ---- Sending: message_send.c -------------------------------------------------------- */

int message_send(struct dn_context *context, int rank, const void *data, size_t bytes,
                 uint64_t timeout_ns);
int message_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
                  struct message_op *op);
int message_send_buffer_get(struct dn_context *context, int rank, size_t bytes, void **buffer);
int message_send_buffer_send(struct dn_context *context, int rank, size_t bytes);

/* Goes on with what is pending, if nobody else does. */
void message_send_progress(struct dn_context *context);
bool message_send_is_done(struct message_op *op);
int message_send_wait(struct message_op *op, uint64_t timeout_ns);
int message_send_cancel(struct message_op *op);

/* ---- Receiving: message_receive.c ------------------------------------------------------ */

int message_recv(struct dn_context *context, enum message_kind kind, int source,
                 struct message_op *op, uint64_t timeout_ns);
int message_irecv(struct dn_context *context, int source, struct message_op *op);
int message_recv_release(struct dn_context *context, int source);

bool message_recv_is_done(struct message_op *op);
int message_recv_wait(struct message_op *op, uint64_t timeout_ns);
int message_recv_cancel(struct message_op *op);

#endif
