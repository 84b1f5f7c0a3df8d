/* Messages and leaving: node 0 sends and leaves at once; the others receive when it has gone, or is
 * about to. Node 1 says "ok NAME". */
#include "live/live.h"

enum { SMALL = 100, LARGE = 200000, COUNT = 4 };

/* Sends staged, from a buffer of the library's, in pieces, and whole. */
static void send_and_leave(struct dn_context *context)
{
    unsigned char *data = malloc(LARGE);
    require(data);
    for (int to = 1; to < me.size; to++) {
        void *buffer;
        int error;
        live_fill(data, LARGE, 0);
        expect(dn_send(context, to, data, LARGE, LIVE_PATIENCE_NS), 0);
        expect(dn_send_buffer_get(context, to, LARGE, &buffer), 0);
        live_fill(buffer, LARGE, 1);
        while ((error = dn_send_buffer_send(context, to, LARGE)) == DN_EBUSY) {
            live_sleep_ns(10 * LIVE_US);
        }
        expect(error, 0);
        live_fill(data, LARGE / 10, 2);
        expect(dn_send(context, to, data, LARGE / 10, LIVE_PATIENCE_NS), 0);
        live_fill(data, SMALL, 3);
        expect(dn_send(context, to, data, SMALL, LIVE_PATIENCE_NS), 0);
    }
    memset(data, 0, LARGE);
    free(data);
    expect(dn_context_close(context), 0);
}

static void receive_late(struct dn_context *context)
{
    static const size_t sizes[COUNT] = {LARGE, LARGE, LARGE / 10, SMALL};
    unsigned char *data = malloc(LARGE);
    size_t bytes;
    require(data);
    live_sleep_ns(200 * LIVE_MS);
    for (size_t i = 0; i < COUNT; i++) {
        expect(dn_recv(context, 0, data, LARGE, LIVE_PATIENCE_NS, NULL, &bytes), 0);
        require(bytes == sizes[i] && live_first_other(data, bytes, i) == bytes);
    }
    expect(dn_recv(context, 0, data, LARGE, LIVE_PATIENCE_NS, NULL, &bytes), DN_EPEER);
    free(data);
    expect(dn_context_close(context), 0);
}

int main(void)
{
    int zero = 0;
    int others[16];
    struct dn_context *context;
    struct dn_context_options options = {.struct_bytes = sizeof options,
                                         .flags = live_context_flags()};
    me.check = "what a node sent before it left is received";
    live_attach();
    require(me.size >= 2 && me.size <= 16);
    for (int rank = 1; rank < me.size; rank++) {
        others[rank - 1] = rank;
    }
    expect(dn_context_open(me.node, 1, others, me.rank ? 0 : (size_t)me.size - 1, &zero,
                           me.rank ? 1 : 0, &options, &context),
           0);
    live_barrier();
    (me.rank == 0 ? send_and_leave : receive_late)(context);
    if (me.rank == 1) {
        (void)dprintf(STDOUT_FILENO, "ok %s\n", me.check);
    }
    expect(dn_detach(me.node), 0);
    return 0;
}
