/* What the tests of messages by packets start with: nodes in one process, a channel between all of
 * them, and a buffer to receive into. */
#ifndef UNIT_MESSAGE_CONTEXTS_H
#define UNIT_MESSAGE_CONTEXTS_H

#include "unit/fake_fabric.h"

#include "group/service_memory.h"
#include "message/message_context.h"

enum { CHANNEL = 7, BANK_BYTES = 4 << 20, MESSAGE_MAX = 300000 };

static unsigned char *buffer; /* of MESSAGE_MAX */

static inline struct dn_node *node_of(uint32_t rank)
{
    return &fake_nodes[rank].node;
}

static inline const struct group_view *view_of(uint32_t rank)
{
    return &fake_nodes[rank].process.view;
}

static inline unsigned char *bank_of(uint32_t rank)
{
    return group_segment(view_of(rank), rank, DN_BANK);
}

/* Opens a context with all nodes; ring_bytes 0: the usual ones. */
static inline struct dn_context *open_at(uint32_t rank, uint64_t ring_bytes)
{
    int ranks[FAKE_NODES_MAX];
    struct dn_context_options options = {.struct_bytes = sizeof options, .ring_bytes = ring_bytes};
    struct dn_context *context = NULL;
    for (uint32_t i = 0; i < fake->node_count; i++) {
        ranks[i] = (int)i;
    }
    assert_int_equal(dn_context_open(node_of(rank), CHANNEL, ranks, fake->node_count, ranks,
                                     fake->node_count, &options, &context),
                     0);
    return context;
}

static inline void close_it(struct dn_context *context)
{
    assert_int_equal(dn_context_close(context), 0);
}

/* The bytes of a message with that number. */
static inline unsigned char byte_of(uint64_t number, uint64_t at)
{
    return (unsigned char)(number * 31 + at * 7 + (at >> 8));
}

static inline void fill(unsigned char *data, uint64_t bytes, uint64_t number)
{
    for (uint64_t i = 0; i < bytes; i++) {
        data[i] = byte_of(number, i);
    }
}

static inline bool is_number(const unsigned char *data, uint64_t bytes, uint64_t number)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (data[i] != byte_of(number, i)) {
            return false;
        }
    }
    return true;
}

/* Attaches nodes on these hosts; with hosts NULL each has its own. */
static inline int make_nodes(uint32_t node_count, const uint32_t *hosts)
{
    fake_make(&(struct fake_settings){
        .node_count = node_count, .hosts = hosts, .sizes = {.bank_bytes = BANK_BYTES}, .seed = 11});
    fake_attach();
    buffer = malloc(MESSAGE_MAX);
    return buffer ? 0 : -1;
}

static inline int end_nodes(void **state)
{
    (void)state;
    fake_deliver_all();
    message_end(node_of(0));
    fake_free();
    free(buffer);
    return 0;
}

#endif
