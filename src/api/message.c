/* Entry points: messages. */
#include <string.h>

#include "api/check.h"
#include "message/message_context.h"
#include "dimmnet.h"

#define RING_BYTES_DEFAULT (UINT64_C(64) << 10)
#define QUEUE_ENTRIES_DEFAULT 64

#define FLAGS                                                                                \
    ((uint32_t)DN_CONTEXT_BACK_OFF | DN_CONTEXT_RESEND_REQUEST | DN_CONTEXT_LOSS_DETECTION | \
     DN_CONTEXT_ACK_NACK)

static inline struct message_op *op_of(struct dn_message_op *op)
{
    return (struct message_op *)(void *)op->words;
}

static int check_op(struct dn_message_op *op)
{
    if (!op || op_of(op)->magic != MESSAGE_OP_MAGIC) {
        return DN_EINVAL;
    }
    return message_context_check(op_of(op)->context);
}

static int fill_options(const struct dn_context_options *given, struct dn_context_options *options)
{
    int error = api_options_read(given, options, sizeof *options);
    if (error) {
        return error;
    }
    options->ring_bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES_DEFAULT;
    options->send_queue_entries = options->send_queue_entries ? options->send_queue_entries
                                                              : QUEUE_ENTRIES_DEFAULT;
    bool fits = options->ring_bytes >= GROUP_RING_BYTES_MIN &&
                options->ring_bytes <= GROUP_RING_BYTES_MAX && !(options->flags & ~FLAGS);
    return fits ? 0 : DN_EINVAL;
}

int dn_context_open(struct dn_node *node, uint32_t channel, const int *destinations,
                    size_t destination_count, const int *sources, size_t source_count,
                    const struct dn_context_options *options, struct dn_context **context)
{
    bool lists = (destinations || !destination_count) && (sources || !source_count);
    struct message_context_request request = {
        .channel = channel,
        .destinations = destinations,
        .destination_count = destination_count,
        .sources = sources,
        .source_count = source_count,
    };
    int error = context && lists ? api_check(node) : DN_EINVAL;
    error = error ? error : fill_options(options, &request.options);
    return error ? error : message_context_open(node, &request, context);
}

int dn_context_close(struct dn_context *context)
{
    int error = message_context_check(context);
    return error ? error : message_context_close(context);
}

int dn_send(struct dn_context *context, int rank, const void *data, size_t bytes,
            uint64_t timeout_ns)
{
    int error = LIKELY(data || !bytes) ? message_context_check(context) : DN_EINVAL;
    return UNLIKELY(error) ? error : message_send(context, rank, data, bytes, timeout_ns);
}

int dn_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
             struct dn_message_op *op)
{
    int error = op && (data || !bytes) ? message_context_check(context) : DN_EINVAL;
    return error ? error : message_isend(context, rank, data, bytes, op_of(op));
}

static void tell(const struct message_op *op, int *sender, size_t *bytes)
{
    if (sender) {
        *sender = op->peer;
    }
    if (bytes) {
        *bytes = op->bytes;
    }
}

/* The operation has its buffer; message_recv fills in the rest. */
static inline __attribute__((always_inline)) int receive(struct dn_context *context,
                                                         enum message_kind kind, int source,
                                                         struct message_op *op, uint64_t timeout_ns,
                                                         int *sender, size_t *bytes)
{
    int error = message_context_check(context);
    if (UNLIKELY(error)) {
        return error;
    }
    error = message_recv(context, kind, source, op, timeout_ns);
    if (LIKELY(!error)) {
        tell(op, sender, bytes);
    }
    return error;
}

int dn_recv(struct dn_context *context, int source, void *buffer, size_t capacity,
            uint64_t timeout_ns, int *sender, size_t *bytes)
{
    struct message_op op;
    op.data = buffer;
    op.bytes = capacity;
    return LIKELY(buffer || !capacity)
               ? receive(context, MESSAGE_OP_RECV, source, &op, timeout_ns, sender, bytes)
               : DN_EINVAL;
}

int dn_irecv(struct dn_context *context, int source, void *buffer, size_t capacity,
             struct dn_message_op *op)
{
    int error = op && (buffer || !capacity) ? message_context_check(context) : DN_EINVAL;
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    own->data = buffer;
    own->bytes = capacity;
    return message_irecv(context, source, own);
}

int dn_probe(struct dn_context *context, int source, uint64_t timeout_ns, int *sender,
             size_t *bytes)
{
    struct message_op op;
    op.data = NULL;
    op.bytes = 0;
    return receive(context, MESSAGE_OP_PROBE, source, &op, timeout_ns, sender, bytes);
}

int dn_message_test(struct dn_message_op *op, int *done, int *sender, size_t *bytes)
{
    int error = done ? check_op(op) : DN_EINVAL;
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    fabric_progress(own->context->lane);
    bool is_done = own->kind == MESSAGE_OP_SEND ? message_send_is_done(own)
                                                : message_recv_is_done(own);
    if (is_done && own->error) {
        return own->error;
    }
    if (is_done) {
        tell(own, sender, bytes);
    }
    *done = is_done;
    return 0;
}

int dn_message_wait(struct dn_message_op *op, uint64_t timeout_ns, int *sender, size_t *bytes)
{
    int error = check_op(op);
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    error = own->kind == MESSAGE_OP_SEND ? message_send_wait(own, timeout_ns)
                                         : message_recv_wait(own, timeout_ns);
    if (!error) {
        tell(own, sender, bytes);
    }
    return error;
}

int dn_message_cancel(struct dn_message_op *op)
{
    int error = check_op(op);
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    return own->kind == MESSAGE_OP_SEND ? message_send_cancel(own) : message_recv_cancel(own);
}

int dn_send_buffer_get(struct dn_context *context, int rank, size_t bytes, void **buffer)
{
    int error = buffer ? message_context_check(context) : DN_EINVAL;
    return error ? error : message_send_buffer_get(context, rank, bytes, buffer);
}

int dn_send_buffer_send(struct dn_context *context, int rank, size_t bytes)
{
    int error = message_context_check(context);
    return error ? error : message_send_buffer_send(context, rank, bytes);
}

int dn_recv_in_place(struct dn_context *context, int source, uint64_t timeout_ns, const void **data,
                     int *sender, size_t *bytes)
{
    struct message_op op;
    op.data = NULL;
    op.bytes = 0;
    int error = data ? receive(context, MESSAGE_OP_IN_PLACE, source, &op, timeout_ns, sender, bytes)
                     : DN_EINVAL;
    if (!error) {
        *data = op.data;
    }
    return error;
}

int dn_recv_release(struct dn_context *context, int source)
{
    int error = message_context_check(context);
    return error ? error : message_recv_release(context, source);
}
