/* Entry points: reachable memory, areas, kicks. */
#include <stdio.h>
#include <stdlib.h>

#include "api/check.h"
#include "api/traced.h"
#include "team/symmetric.h"
#include "dimmnet.h"
#include "fabric/in_place.h"

static void *own_segment(struct dn_node *node, uint32_t area, size_t *bytes)
{
    if (api_check(node)) {
        return NULL;
    }
    const struct group_view *view = &node->process->view;
    if (bytes) {
        *bytes = group_segment_bytes(view, area);
    }
    return group_segment(view, view->rank, area);
}

void *dn_llcm(struct dn_node *node, size_t *bytes)
{
    return own_segment(node, DN_LLCM, bytes);
}

void *dn_bank(struct dn_node *node, size_t *bytes)
{
    return own_segment(node, DN_BANK, bytes);
}

/* The team of all nodes makes these calls together. */
static struct host_trace_what heap_call(size_t bytes)
{
    struct host_trace_what what = host_trace_call(HOST_TRACE_COLLECTIVE);
    what.bytes = bytes;
    return what;
}

int dn_alloc(struct dn_node *node, size_t bytes, void **pointer)
{
    API_TRACED(dn_alloc(node, bytes, pointer), heap_call(bytes));
    return dn_alloc_aligned(node, CACHE_LINE_BYTES, bytes, pointer);
}

int dn_alloc_aligned(struct dn_node *node, size_t alignment, size_t bytes, void **pointer)
{
    API_TRACED(dn_alloc_aligned(node, alignment, bytes, pointer), heap_call(bytes));
    int error = api_check(node);
    return error ? error : team_heap_alloc(node, alignment, bytes, pointer);
}

int dn_free(struct dn_node *node, void *pointer)
{
    API_TRACED(dn_free(node, pointer), heap_call(0));
    int error = api_check(node);
    return error ? error : team_heap_free(node, pointer);
}

int dn_remote_of(struct dn_node *node, const void *pointer, int rank, struct dn_remote *remote)
{
    int error = pointer && remote ? api_check(node) : DN_EINVAL;
    if (error) {
        return error;
    }
    if ((uint32_t)rank >= node->lane.node_count) {
        return DN_ERANK;
    }
    uint64_t offset;
    uint32_t area = group_area_holding(&node->process->view, pointer, 1, &offset);
    if (area == 0) {
        if (!host_memory_area_holding(node->process, pointer, &area, &offset)) {
            return DN_ERANGE;
        }
        /* A registered area's name is its owner's alone. */
        if ((uint32_t)rank != node->process->view.rank) {
            return DN_EAREA;
        }
    }
    *remote = (struct dn_remote){.rank = rank, .area = area, .offset = offset};
    return 0;
}

/* What others are denied, given their rights; false: these are none. */
static bool denied_by(unsigned rights, uint32_t *denied)
{
    *denied = DN_ALL_RIGHTS & ~rights;
    return (rights & ~(unsigned)DN_ALL_RIGHTS) == 0;
}

int dn_register(struct dn_node *node, void *pointer, size_t bytes, uint32_t *area)
{
    API_TRACED(dn_register(node, pointer, bytes, area), host_trace_call(HOST_TRACE_OTHER));
    return dn_register_rights(node, pointer, bytes, DN_ALL_RIGHTS, area);
}

int dn_register_rights(struct dn_node *node, void *pointer, size_t bytes, unsigned rights,
                       uint32_t *area)
{
    uint32_t denied;
    API_TRACED(dn_register_rights(node, pointer, bytes, rights, area),
               host_trace_call(HOST_TRACE_OTHER));
    int error = pointer && bytes && area && denied_by(rights, &denied) ? api_check(node)
                                                                       : DN_EINVAL;
    if (error) {
        return error;
    }
    struct host_process *process = node->process;
    uint64_t offset;
    uint32_t segment = group_area_holding(&process->view, pointer, bytes, &offset);
    if (segment == 0) {
        error = host_memory_register(process, pointer, bytes, denied, area);
    } else {
        offset += process->view.facts.geometry.segment_offset[segment];
        pthread_mutex_lock(&process->table_lock);
        error = group_area_register(&process->view, offset, bytes, denied, area);
        pthread_mutex_unlock(&process->table_lock);
    }
    return error ? error : fabric_tell_area(&node->lane, *area);
}

int dn_deregister(struct dn_node *node, uint32_t area)
{
    API_TRACED(dn_deregister(node, area), host_trace_call(HOST_TRACE_OTHER));
    int error = api_check(node);
    error = error ? error : host_memory_deregister(node->process, area);
    return error ? error : fabric_tell_area(&node->lane, area);
}

int dn_rights_set(struct dn_node *node, uint32_t area, unsigned rights)
{
    uint32_t denied;
    API_TRACED(dn_rights_set(node, area, rights), host_trace_call(HOST_TRACE_OTHER));
    int error = denied_by(rights, &denied) ? api_check(node) : DN_EINVAL;
    if (error) {
        return error;
    }
    struct host_process *process = node->process;
    pthread_mutex_lock(&process->table_lock);
    error = group_area_restrict(&process->view, area, denied);
    pthread_mutex_unlock(&process->table_lock);
    return error ? error : fabric_tell_area(&node->lane, area);
}

int dn_rights_get(struct dn_node *node, int rank, uint32_t area, unsigned *rights)
{
    int error = rights ? api_check(node) : DN_EINVAL;
    if (error) {
        return error;
    }
    if ((uint32_t)rank >= node->lane.node_count) {
        return DN_ERANK;
    }
    const struct group_view *view = &node->process->view;
    struct group_area_extent extent = {0};
    if (group_area_is_built_in(area)) {
        extent.denied = atomic_load_explicit(&view->ports[rank].areas[area].denied,
                                             memory_order_relaxed);
    } else {
        error = group_area_look(view, (uint32_t)rank, area, &extent);
    }
    if (!error) {
        *rights = DN_ALL_RIGHTS & ~extent.denied;
    }
    return error;
}

/* The built-in area in which a reached place lies. As an address it outlives the registered
 * area by which the place was found, and it has the place's alignment. Registered private
 * memory lies in no built-in area, and in a built-in area others may have no right to write:
 * there the name is all there is. */
static struct dn_remote lasting_address(const struct group_view *view, struct dn_remote remote,
                                        const unsigned char *pointer)
{
    const struct group_geometry *geometry = &view->facts.geometry;
    const uint64_t *start = geometry->segment_offset;
    int rank = remote.rank;
    uint64_t offset = (uint64_t)(pointer - group_node_memory(view, (uint32_t)rank));
    if (offset >= geometry->registered_offset) {
        return remote;
    }
    uint32_t area = offset >= start[DN_HEAP]   ? DN_HEAP
                    : offset >= start[DN_BANK] ? DN_BANK
                                               : DN_LLCM;
    return group_area_denies(view, (uint32_t)rank, area, DN_WRITE)
               ? remote
               : (struct dn_remote){.rank = rank, .area = area, .offset = offset - start[area]};
}

int dn_kick_map(struct dn_node *node, struct dn_remote remote, size_t bytes, struct dn_kick *kick)
{
    int error = kick && bytes ? api_check(node) : DN_EINVAL;
    unsigned char *pointer;
    error = error ? error : in_place_reach(&node->lane, remote, bytes, DN_WRITE, &pointer);
    if (error) {
        return error;
    }
    atomic_fetch_or_explicit(&node->lane.stored_to[remote.rank / 64],
                             UINT64_C(1) << (remote.rank % 64), memory_order_relaxed);
    *kick = (struct dn_kick){
        .pointer = fabric_is_quick(&node->lane, (uint32_t)remote.rank) ? pointer : NULL,
        .bytes = bytes,
        .node = node,
        .remote = lasting_address(node->lane.view, remote, pointer),
    };
    return 0;
}

int dn_kick_unmap(struct dn_kick *kick)
{
    if (!kick || !kick->node) {
        return DN_EINVAL;
    }
    *kick = (struct dn_kick){0};
    return 0;
}

static int store(const struct dn_kick *kick, uint64_t offset, uint64_t value, unsigned bytes)
{
    if (!kick || !is_power_of_two(bytes) || bytes > 8) {
        return DN_EINVAL;
    }
    int error = api_check(kick->node);
    if (error) {
        return error;
    }
    if (bytes > kick->bytes || offset > kick->bytes - bytes) {
        return DN_ERANGE;
    }
    struct fabric_lane *lane = &kick->node->lane;
    if (kick->pointer) {
        if ((uintptr_t)(kick->pointer + offset) % bytes != 0) {
            return DN_EALIGN;
        }
        nic_store_word(kick->pointer + offset, value, bytes);
        return 0;
    }
    struct dn_remote remote = kick->remote;
    remote.offset += offset;
    return lane->ops->store(lane, remote, value, bytes);
}

/* A store has one time, that before it: it is over as soon as it is begun, and reading the clock
 * costs more than the store. Where time is virtual, reading it costs none, and a store has its
 * end. */
static __attribute__((noinline, cold)) int traced_store(const struct dn_kick *kick, uint64_t offset,
                                                        uint64_t value, unsigned bytes,
                                                        const char *name)
{
    uint64_t now_ns = host_trace_now_ns();
    int error = store(kick, offset, value, bytes);
    struct dn_remote remote = kick ? kick->remote : (struct dn_remote){.rank = HOST_TRACE_NOBODY};
    remote.offset += offset;
    struct host_trace_what what = host_trace_remote(HOST_TRACE_STORE, kick ? kick->node : NULL,
                                                    remote, bytes);
    host_trace_note(name, &what, now_ns, host_fabric_clock ? host_now_ns() : now_ns, error);
    return error;
}

int dn_kick_store(const struct dn_kick *kick, uint64_t offset, uint64_t value, unsigned bytes)
{
    return UNLIKELY(host_trace_is_on) ? traced_store(kick, offset, value, bytes, __func__)
                                      : store(kick, offset, value, bytes);
}

/* ---- Errors of stores, which return nothing ---------------------------------------- */

/* The first error is kept. DN_EPEER, which says no more than dn_peer_life, makes room for another
 * one. */
static __attribute__((noinline, cold)) void keep_error(struct dn_node *node, int error)
{
    _Atomic int *kept = &node->lane.store_error;
    int found = atomic_load(kept);
    while ((found == 0 || found == DN_EPEER) &&
           !atomic_compare_exchange_weak(kept, &found, error)) {
    }
    /* Set after the error: a barrier that clears this then finds the error, or this set again. */
    atomic_store(&node->process->has_store_error, true);
}

void dn_kick_store_later(const struct dn_kick *kick, uint64_t offset, uint64_t value,
                         unsigned bytes)
{
    /* By the number of bytes. */
    static const char *const names[] = {
        [1] = "dn_store_u8", [2] = "dn_store_u16", [4] = "dn_store_u32", [8] = "dn_store_u64"};
    int error = UNLIKELY(host_trace_is_on && bytes <= 8 && names[bytes])
                    ? traced_store(kick, offset, value, bytes, names[bytes])
                    : store(kick, offset, value, bytes);
    if (UNLIKELY(error) && kick && host_node_open(kick->node)) {
        keep_error(kick->node, error);
    }
}

int api_store_error_at_fence(struct dn_node *node)
{
    int error = atomic_load(&node->lane.store_error);
    return error != 0 && error != DN_EPEER &&
                   atomic_compare_exchange_strong(&node->lane.store_error, &error, 0)
               ? error
               : 0;
}

int api_store_error_at_quiet(struct dn_node *node)
{
    return atomic_exchange(&node->lane.store_error, 0);
}

static int take_mistake(struct dn_node *node)
{
    int error = host_node_open(node) ? api_store_error_at_quiet(node) : 0;
    return error == DN_EPEER ? 0 : error;
}

int api_store_error_at_barrier(struct host_process *process)
{
    atomic_store(&process->has_store_error, false);
    pthread_mutex_lock(&process->table_lock);
    int error = take_mistake(process->default_lane);
    for (struct dn_node *lane = process->lanes; lane && !error; lane = lane->next) {
        error = take_mistake(lane);
    }
    pthread_mutex_unlock(&process->table_lock);
    if (error) {
        atomic_store(&process->has_store_error, true); /* other lanes' errors come next time */
    }
    return error;
}

/* Whether a store at this offset of a kick is aligned, as far as can be known. */
static bool is_aligned(const struct dn_kick *kick, uint64_t offset, unsigned bytes)
{
    unsigned char *pointer = kick->pointer;
    return (!pointer && in_place_reach(&kick->node->lane, kick->remote, 1, 0, &pointer) != 0) ||
           ((uintptr_t)pointer + offset) % bytes == 0;
}

void dn_kick_check(const struct dn_kick *kick, uint64_t offset, unsigned bytes)
{
    const char *what = NULL;
    if (!kick || !kick->node) {
        what = "through a kick that is not mapped";
    } else if (bytes > kick->bytes || offset > kick->bytes - bytes) {
        what = "outside its kick";
    } else if (!is_aligned(kick, offset, bytes)) {
        what = "that is misaligned";
    }
    if (what) {
        (void)fprintf(stderr,
                      "dimmnet: a store of %u bytes at offset %llu %s (rank %d, area %#x, offset "
                      "%llu, %llu bytes)\n",
                      bytes, (unsigned long long)offset, what, kick ? kick->remote.rank : -1,
                      kick ? kick->remote.area : 0,
                      (unsigned long long)(kick ? kick->remote.offset : 0),
                      (unsigned long long)(kick ? kick->bytes : 0));
        abort();
    }
}
