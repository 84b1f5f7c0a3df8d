/* The symmetric heap (dn_alloc, dn_free): every node runs the same allocator on its own, in
 * step with the others. */
#ifndef TEAM_SYMMETRIC_H
#define TEAM_SYMMETRIC_H

#include "host/node.h"

int team_heap_alloc(struct dn_node *node, size_t alignment, size_t bytes, void **pointer);
int team_heap_free(struct dn_node *node, void *pointer);
/* Frees all of it. Every node does so between two barriers, after which nobody uses the heap. */
int team_heap_clear(struct dn_node *node);

#endif
