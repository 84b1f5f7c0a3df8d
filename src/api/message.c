/* Entry points: messages. */
#include <string.h>

#include "api/check.h"
#include "api/traced.h"
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
    API_TRACED(dn_context_open(node, channel, destinations, destination_count, sources,
                               source_count, options, context),
               host_trace_call(HOST_TRACE_OTHER));
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
    API_TRACED(dn_context_close(context), host_trace_call(HOST_TRACE_OTHER));
    int error = message_context_check(context);
    return error ? error : message_context_close(context);
}

static inline int send_message(struct dn_context *context, int rank, const void *data, size_t bytes,
                               uint64_t timeout_ns)
{
    int error = LIKELY(data || !bytes) ? message_context_check(context) : DN_EINVAL;
    return UNLIKELY(error) ? error : message_send(context, rank, data, bytes, timeout_ns);
}

API_TRACED_TWIN(traced_send,
                (struct dn_context * context, int rank, const void *data, size_t bytes,
                 uint64_t timeout_ns),
                "dn_send", send_message(context, rank, data, bytes, timeout_ns),
                api_trace_message(HOST_TRACE_SEND, context, rank, bytes))

int dn_send(struct dn_context *context, int rank, const void *data, size_t bytes,
            uint64_t timeout_ns)
{
    return UNLIKELY(host_trace_is_on) ? traced_send(context, rank, data, bytes, timeout_ns)
                                      : send_message(context, rank, data, bytes, timeout_ns);
}

int dn_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
             struct dn_message_op *op)
{
    API_TRACED(dn_isend(context, rank, data, bytes, op),
               api_trace_message(HOST_TRACE_SEND, context, rank, bytes));
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

/* Tells a record what came, which is known only at the end. */
static void fill_record(struct host_trace_what *what, const struct message_op *op)
{
    what->peer = op->peer >= 0 ? op->peer : HOST_TRACE_NOBODY;
    what->bytes = op->bytes;
}

/* A call that waits for a message or an operation, recorded; `op` says what came. A look that finds
 * nothing is not recorded: programs look again and again. */
static __attribute__((noinline, cold)) int traced_wait(const char *name, enum host_trace_kind kind,
                                                       struct message_op *op,
                                                       int (*wait)(void *call), void *call,
                                                       struct dn_context *context, int source,
                                                       uint64_t timeout_ns)
{
    uint64_t begin_ns = host_trace_now_ns();
    struct host_trace_what what = api_trace_message(kind, context, source, 0);
    bool is_outermost = timeout_ns > 0 && host_trace_enter();
    struct host_trace_record *record = is_outermost ? host_trace_begin(name, &what) : NULL;
    int error = wait(call);
    if (!error) {
        fill_record(&what, op);
    }
    if (record) {
        record->peer = what.peer;
        record->bytes = what.bytes;
    }
    if (is_outermost) {
        host_trace_end(record, error);
    } else if (timeout_ns == 0 && error != DN_ETIMEOUT) {
        host_trace_note(name, &what, begin_ns, host_trace_now_ns(), error);
    }
    return error;
}

struct receive_call {
    struct dn_context *context;
    enum message_kind kind;
    int source;
    struct message_op *op;
    uint64_t timeout_ns;
};

static int receive_call(void *argument)
{
    struct receive_call *call = argument;
    return message_recv(call->context, call->kind, call->source, call->op, call->timeout_ns);
}

static __attribute__((noinline, cold)) int traced_recv(struct dn_context *context,
                                                       enum message_kind kind, int source,
                                                       struct message_op *op, uint64_t timeout_ns)
{
    struct receive_call call = {context, kind, source, op, timeout_ns};
    const char *name = kind == MESSAGE_OP_PROBE  ? "dn_probe"
                       : kind == MESSAGE_OP_RECV ? "dn_recv"
                                                 : "dn_recv_in_place";
    return traced_wait(name, kind == MESSAGE_OP_PROBE ? HOST_TRACE_OTHER : HOST_TRACE_RECEIVE, op,
                       receive_call, &call, context, source, timeout_ns);
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
    error = UNLIKELY(host_trace_is_on) ? traced_recv(context, kind, source, op, timeout_ns)
                                       : message_recv(context, kind, source, op, timeout_ns);
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
    API_TRACED(dn_irecv(context, source, buffer, capacity, op),
               api_trace_message(HOST_TRACE_OTHER, context, source, 0));
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

/* What the completion of an operation is to a reader of traces. */
static enum host_trace_kind completion_kind(const struct message_op *op)
{
    return op->kind == MESSAGE_OP_SEND ? HOST_TRACE_ORDER : HOST_TRACE_RECEIVE;
}

int dn_message_test(struct dn_message_op *op, int *done, int *sender, size_t *bytes)
{
    uint64_t begin_ns = UNLIKELY(host_trace_is_on) ? host_trace_now_ns() : 0;
    int error = done ? check_op(op) : DN_EINVAL;
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    fabric_progress(own->context->lane);
    bool is_done = own->kind == MESSAGE_OP_SEND ? message_send_is_done(own)
                                                : message_recv_is_done(own);
    if (UNLIKELY(host_trace_is_on) && is_done) {
        struct host_trace_what what = api_trace_message(completion_kind(own), own->context,
                                                        own->peer, own->bytes);
        host_trace_note(__func__, &what, begin_ns, host_trace_now_ns(), own->error);
    }
    if (is_done && own->error) {
        return own->error;
    }
    if (is_done) {
        tell(own, sender, bytes);
    }
    *done = is_done;
    return 0;
}

struct wait_call {
    struct message_op *op;
    uint64_t timeout_ns;
};

static int wait_call(void *argument)
{
    struct wait_call *call = argument;
    return call->op->kind == MESSAGE_OP_SEND ? message_send_wait(call->op, call->timeout_ns)
                                             : message_recv_wait(call->op, call->timeout_ns);
}

int dn_message_wait(struct dn_message_op *op, uint64_t timeout_ns, int *sender, size_t *bytes)
{
    int error = check_op(op);
    if (error) {
        return error;
    }
    struct message_op *own = op_of(op);
    struct wait_call call = {own, timeout_ns};
    error = UNLIKELY(host_trace_is_on) ? traced_wait(__func__, completion_kind(own), own, wait_call,
                                                     &call, own->context, own->peer, timeout_ns)
                                       : wait_call(&call);
    if (!error) {
        tell(own, sender, bytes);
    }
    return error;
}

int dn_message_cancel(struct dn_message_op *op)
{
    API_TRACED(dn_message_cancel(op), host_trace_call(HOST_TRACE_OTHER));
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
    API_TRACED(dn_send_buffer_send(context, rank, bytes),
               api_trace_message(HOST_TRACE_SEND, context, rank, bytes));
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
