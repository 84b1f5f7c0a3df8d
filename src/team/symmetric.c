/* dn_alloc and dn_free: agree on the numbers, then take or give the same range. */
#define _GNU_SOURCE
#include "team/symmetric.h"

#include "host/pages.h"
#include "team/barrier.h"

#define GIVE_BACK_BYTES (UINT64_C(1) << 20)

struct request {
    uint64_t bytes;
    uint64_t alignment;
    uint64_t offset;
    void *pointer;
    void **result; /* where the caller wants it */
    bool refused;  /* this node's numbers make no sense, which the others must learn */
};

static uint64_t alloc_argument(struct dn_node *node, void *context)
{
    struct request *request = context;
    uint64_t most = node->process->view.facts.geometry.heap_alignment;
    request->refused = !is_power_of_two(request->alignment) || request->alignment > most ||
                       request->bytes == 0 || !request->result;
    return team_digest(request->refused ? TEAM_REFUSED : TEAM_ALLOC, request->bytes,
                       request->alignment);
}

static int take(struct dn_node *node, void *context)
{
    struct request *request = context;
    if (request->refused) {
        return DN_EINVAL;
    }
    if (!base_extents_take(&node->process->heap, request->bytes, request->alignment,
                           &request->offset)) {
        return DN_ENOMEM;
    }
    const struct group_view *view = &node->process->view;
    request->pointer = group_segment(view, view->rank, DN_HEAP) + request->offset;
    return 0;
}

/* A call refused here is refused everywhere: the node with the wrong numbers gets DN_EINVAL, the
 * others DN_EMISMATCH, and nobody waits for a node that will not come. */
static int agree(struct dn_node *node, const struct team_call *call)
{
    const struct request *request = call->context;
    int error = team_agree(team_all(node), call);
    return error == DN_EMISMATCH && request->refused ? DN_EINVAL : error;
}

int team_heap_alloc(struct dn_node *node, size_t alignment, size_t bytes, void **pointer)
{
    struct request request = {.bytes = bytes, .alignment = alignment, .result = pointer};
    struct team_call call = {alloc_argument, take, &request};
    int error = agree(node, &call);
    if (!error) {
        *pointer = request.pointer;
    }
    return error;
}

/* Gives the pages of a large freed range back to the system. Each node does so for its own
 * memory, before it can arrive at the barrier of the next dn_alloc. */
static void give_pages_back(struct dn_node *node, uint64_t offset, uint64_t bytes)
{
    const struct host_process *process = node->process;
    const unsigned char *file = (const unsigned char *)process->view.group;
    const unsigned char *start = group_segment(&process->view, process->view.rank, DN_HEAP) +
                                 offset;
    if (bytes >= GIVE_BACK_BYTES) {
        host_pages_clear(process->group.fd, (uint64_t)(start - file), bytes);
    }
}

int team_heap_clear(struct dn_node *node)
{
    struct base_extents *heap = &node->process->heap;
    struct base_extents empty;
    uint64_t bytes = group_segment_bytes(&node->process->view, DN_HEAP);
    if (!base_extents_init(&empty, bytes)) {
        return DN_ENOMEM;
    }
    base_extents_release(heap);
    *heap = empty;
    give_pages_back(node, 0, bytes);
    return 0;
}

static uint64_t free_argument(struct dn_node *node, void *context)
{
    struct request *request = context;
    const struct group_view *view = &node->process->view;
    uintptr_t start = (uintptr_t)group_segment(view, view->rank, DN_HEAP);
    request->offset = (uintptr_t)request->pointer - start;
    request->refused = (uintptr_t)request->pointer < start ||
                       !base_extents_find(&node->process->heap, request->offset, &request->bytes);
    return team_digest(request->refused ? TEAM_REFUSED : TEAM_FREE, request->offset, 0);
}

static int give(struct dn_node *node, void *context)
{
    struct request *request = context;
    if (request->refused) {
        return DN_EINVAL;
    }
    give_pages_back(node, request->offset, request->bytes);
    return base_extents_give(&node->process->heap, request->offset) ? 0 : DN_EINVAL;
}

int team_heap_free(struct dn_node *node, void *pointer)
{
    struct request request = {.pointer = pointer};
    struct team_call call = {free_argument, give, &request};
    return agree(node, &call);
}
