/* A group of one node, with small areas: room for addresses is scarce in emulators. */
#ifndef UNIT_API_NODE_H
#define UNIT_API_NODE_H

#include "dimmnet.h"
#include "unit/unit.h"

enum { NODE_HEAP_BYTES = 16 << 20, NODE_BANK_BYTES = 1 << 20, NODE_LLCM_BYTES = 1 << 16 };

static struct dn_node *node;

static int node_attach(void **unused)
{
    (void)unused;
    struct dn_options options = {.struct_bytes = sizeof options,
                                 .llcm_bytes = NODE_LLCM_BYTES,
                                 .bank_bytes = NODE_BANK_BYTES,
                                 .heap_bytes = NODE_HEAP_BYTES};
    return dn_attach(&node, &options);
}

static int node_detach(void **unused)
{
    (void)unused;
    return dn_detach(node);
}

/* A place in this node's LLCM. */
static inline struct dn_remote node_llcm(uint64_t offset)
{
    return (struct dn_remote){.rank = 0, .area = DN_LLCM, .offset = offset};
}

#endif
