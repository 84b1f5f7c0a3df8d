/* Who may write what, by place. */
#include "fabric/grants.h"

#include <stdlib.h>
#include <string.h>

#include "group/address.h"
#include "group/life.h"
#include "group/service_memory.h"
#include "group/tree.h"

struct held {
    uint64_t start; /* from the start of this node's memory */
    uint64_t bytes;
    struct fabric_grant grant;
    uint32_t *ranks;             /* as the grant's, to be freed */
    struct group_box_layout box; /* BOX */
};

struct fabric_grants {
    const struct group_view *view;
    const struct group_view *control;
    uint64_t own_start; /* of this node's memory, in the group's */
    uint64_t stride;
    uint64_t nodes_start;
    uint64_t ports_start;
    uint64_t service_start; /* from the start of a node's memory */
    struct held *list;      /* in the order of their starts */
    uint32_t count;
    uint32_t capacity;
    uint32_t last; /* the one that was found last: the next is likely to be the same */
};

/* Whether [at, at + bytes) lies in [start, start + length), without a sum that could overflow. */
static bool lies_in(uint64_t at, uint64_t bytes, uint64_t start, uint64_t length)
{
    return at >= start && bytes <= length && at - start <= length - bytes;
}

/* ---- Granting --------------------------------------------------------------------------- */

/* The first one that starts behind a place. */
static uint32_t first_behind(const struct fabric_grants *grants, uint64_t at)
{
    uint32_t low = 0;
    uint32_t high = grants->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (grants->list[middle].start <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool make_room(struct fabric_grants *grants)
{
    if (grants->count < grants->capacity) {
        return true;
    }
    uint32_t capacity = grants->capacity ? 2 * grants->capacity : 16;
    struct held *list = realloc(grants->list, capacity * sizeof *list);
    if (list) {
        grants->list = list;
        grants->capacity = capacity;
    }
    return list != NULL;
}

int fabric_grants_add(struct fabric_grants *grants, const struct fabric_grant *grant)
{
    struct held made = {.start = grant->offset, .grant = *grant};
    made.ranks = malloc(((size_t)grant->count + 1) * sizeof *made.ranks);
    if (!made.ranks || !make_room(grants)) {
        free(made.ranks);
        return DN_ENOMEM;
    }
    memcpy(made.ranks, grant->ranks, grant->count * sizeof *made.ranks);
    made.grant.ranks = made.ranks;
    switch (grant->kind) {
    case FABRIC_GRANT_TEAM: made.bytes = group_team_bytes(grant->count); break;
    case FABRIC_GRANT_BOX:
        made.box = group_box_layout(grant->count, grant->unit_count);
        made.bytes = made.box.bytes;
        break;
    case FABRIC_GRANT_STAGING: made.bytes = grant->bytes; break;
    }
    uint32_t at = first_behind(grants, made.start);
    memmove(&grants->list[at + 1], &grants->list[at], (grants->count - at) * sizeof made);
    grants->list[at] = made;
    grants->count++;
    return 0;
}

void fabric_grants_remove(struct fabric_grants *grants, uint64_t offset)
{
    uint32_t at = first_behind(grants, offset);
    INVARIANT(at > 0 && grants->list[at - 1].start == offset);
    free(grants->list[at - 1].ranks);
    memmove(&grants->list[at - 1], &grants->list[at], (grants->count - at) * sizeof *grants->list);
    grants->count--;
    grants->last = 0;
}

/* Peers may speak of it before this node has made it. */
static int grant_team_of_all(struct fabric_grants *grants)
{
    const struct group_view *view = grants->view;
    uint32_t *ranks = malloc(view->node_count * sizeof *ranks);
    for (uint32_t rank = 0; ranks && rank < view->node_count; rank++) {
        ranks[rank] = rank;
    }
    const struct fabric_grant grant = {
        .kind = FABRIC_GRANT_TEAM,
        .offset = group_service_team_of_all(view),
        .ranks = ranks,
        .count = view->node_count,
        .index = view->rank,
    };
    int error = ranks ? fabric_grants_add(grants, &grant) : DN_ENOMEM;
    free(ranks);
    return error;
}

int fabric_grants_make(const struct group_view *view, const struct group_view *control,
                       struct fabric_grants **made)
{
    const struct group_geometry *geometry = &view->facts.geometry;
    struct fabric_grants *grants = calloc(1, sizeof *grants);
    if (!grants) {
        return DN_ENOMEM;
    }
    *grants = (struct fabric_grants){
        .view = view,
        .control = control,
        .own_start = geometry->nodes_offset + view->rank * geometry->node_stride_bytes,
        .stride = geometry->node_stride_bytes,
        .nodes_start = geometry->nodes_offset,
        .ports_start = geometry->ports_offset,
        .service_start = geometry->service_offset,
    };
    int error = grant_team_of_all(grants);
    if (error) {
        fabric_grants_free(grants);
        return error;
    }
    *made = grants;
    return 0;
}

void fabric_grants_free(struct fabric_grants *grants)
{
    for (uint32_t i = 0; i < grants->count; i++) {
        free(grants->list[i].ranks);
    }
    free(grants->list);
    free(grants);
}

/* ---- Asking ----------------------------------------------------------------------------- */

static bool is_gone(const struct fabric_grants *grants, uint32_t rank)
{
    return group_life_gone(group_life(grants->view, rank)) ||
           group_life_gone(group_life(grants->control, rank));
}

static bool is_read(const struct wire_operation *operation)
{
    return operation->opcode == WIRE_PULL ||
           (operation->opcode == WIRE_ATOMIC && operation->detail == WIRE_READ);
}

static bool is_compare_swap(const struct wire_operation *operation)
{
    return operation->opcode == WIRE_ATOMIC && operation->detail == WIRE_COMPARE_SWAP;
}

static bool is_member(const struct fabric_grant *grant, uint32_t rank)
{
    for (uint32_t i = 0; i < grant->count; i++) {
        if (grant->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* The outcome of a new team, which the first one to say so decides. */
static bool decides_outcome(const struct fabric_grant *grant, uint32_t source, uint64_t at,
                            const struct wire_operation *operation)
{
    bool is_outcome = at == offsetof(struct group_team_member, outcome);
    bool is_verdict = at == offsetof(struct group_team_member, verdict);
    uint64_t said = operation->operand;
    return (is_outcome || is_verdict) && operation->bytes == 4 && is_compare_swap(operation) &&
           operation->expected == GROUP_TEAM_OPEN &&
           (said == GROUP_TEAM_MADE || said == GROUP_TEAM_GIVEN_UP ||
            (is_outcome && said == GROUP_TEAM_UNHEARD)) &&
           is_member(grant, source);
}

/* A byte of this member's line of the 8-ary tree: a child's, or its parent's. */
static bool is_in_tree(const struct fabric_grant *grant, uint32_t source, uint64_t at,
                       const struct wire_operation *operation)
{
    const struct group_team team = {.index = grant->index, .count = grant->count};
    uint64_t line = group_team_tree_offset(grant->count) +
                    grant->index * sizeof(struct group_tree_node);
    uint64_t children_at = line + offsetof(struct group_tree_node, children);
    uint32_t first;
    uint32_t children = group_host_children(&team, &first);
    if (operation->bytes != 1) {
        return false;
    }
    if (at == line + offsetof(struct group_tree_node, release)) {
        return grant->index != 0 && grant->ranks[group_host_parent(&team)] == source;
    }
    return lies_in(at, 1, children_at, children) &&
           grant->ranks[first + (at - children_at)] == source;
}

/* A member's own word of giving the team up. */
static bool gives_up(const struct fabric_grant *grant, uint32_t source, uint64_t at, uint32_t bytes)
{
    uint64_t row = group_team_revoked_offset(grant->count);
    return lies_in(at, bytes, row, grant->count * sizeof(uint64_t)) &&
           (at - row) % sizeof(uint64_t) + bytes <= sizeof(uint64_t) &&
           grant->ranks[(at - row) / sizeof(uint64_t)] == source;
}

/* What is agreed on as the last phase of a member that is gone, by whoever says it first, after
 * somebody has asked. This node may hear of the end later than the one that says it. */
static bool agrees_on_last(const struct fabric_grant *grant, uint32_t source, uint64_t at,
                           const struct wire_operation *operation)
{
    uint64_t row = group_team_last_offset(grant->count);
    bool asks = operation->expected == 0 && operation->operand == GROUP_TEAM_ASKED;
    bool says = operation->expected == GROUP_TEAM_ASKED &&
                operation->operand >> 32 == GROUP_TEAM_SAID >> 32;
    return lies_in(at, sizeof(uint64_t), row, grant->count * sizeof(uint64_t)) &&
           (at - row) % sizeof(uint64_t) == 0 && operation->bytes == sizeof(uint64_t) &&
           is_compare_swap(operation) && (asks || says) && is_member(grant, source);
}

static bool permits_in_team(const struct fabric_grants *grants, const struct fabric_grant *grant,
                            uint32_t source, uint64_t at, const struct wire_operation *operation)
{
    uint64_t index = at / sizeof(struct group_team_member);
    uint64_t within = at % sizeof(struct group_team_member);
    if (UNLIKELY(index >= grant->count)) {
        return is_in_tree(grant, source, at, operation) ||
               gives_up(grant, source, at, operation->bytes) ||
               agrees_on_last(grant, source, at, operation);
    }
    uint32_t writer = grant->ranks[index];
    bool in_words = lies_in(within, operation->bytes, 0,
                            offsetof(struct group_team_member, outcome));
    if (LIKELY(in_words && writer == source)) {
        return true;
    }
    return (in_words && is_gone(grants, writer) && is_member(grant, source)) ||
           decides_outcome(grant, source, at, operation);
}

static bool permits_in_box(const struct held *held, uint32_t source, uint64_t at, uint32_t bytes)
{
    const struct group_box_layout *box = &held->box;
    const struct fabric_grant *grant = &held->grant;
    uint64_t ring_bytes = box->unit_count * GROUP_UNIT_BYTES;
    if (LIKELY(at >= box->rings_offset)) {
        uint64_t in_rings = at - box->rings_offset;
        uint64_t index = in_rings >> __builtin_ctzll(ring_bytes);
        return index < grant->count && grant->ranks[index] == source &&
               bytes <= ring_bytes - (in_rings & (ring_bytes - 1));
    }
    /* The head is the receiver's. */
    const uint64_t senders = offsetof(struct group_ring_words, wants_room);
    uint64_t in_words = at - box->words_offset;
    return at >= box->words_offset &&
           grant->ranks[in_words / sizeof(struct group_ring_words)] == source &&
           lies_in(in_words % sizeof(struct group_ring_words), bytes, senders,
                   sizeof(struct group_ring_words) - senders);
}

/* A peer's own bit among the users of a message slot, set or cleared. */
static bool permits_in_slots(uint32_t source, uint64_t at, const struct wire_operation *operation)
{
    const uint64_t slots = offsetof(struct group_service, message_slots);
    const uint64_t users = offsetof(struct group_message_slot, users);
    uint64_t bit = UINT64_C(1) << (source % 64);
    bool is_own_bit = operation->opcode == WIRE_ATOMIC && operation->bytes == sizeof bit &&
                      ((operation->detail == WIRE_OR && operation->operand == bit) ||
                       (operation->detail == WIRE_AND && operation->operand == ~bit));
    return is_own_bit &&
           lies_in(at, sizeof bit, slots,
                   GROUP_MESSAGE_SLOTS * sizeof(struct group_message_slot)) &&
           (at - slots) % sizeof(struct group_message_slot) == users + source / 64 * sizeof bit;
}

/* A write into this node's memory, from whose start `at` counts. */
static bool permits_here(struct fabric_grants *grants, uint32_t source, uint64_t at,
                         const struct wire_operation *operation)
{
    uint32_t bytes = operation->bytes;
    const struct held *held = &grants->list[grants->last];
    if (at - held->start >= held->bytes) {
        uint32_t behind = first_behind(grants, at);
        if (behind == 0 || at - grants->list[behind - 1].start >= grants->list[behind - 1].bytes) {
            return at >= grants->service_start &&
                   permits_in_slots(source, at - grants->service_start, operation);
        }
        grants->last = behind - 1;
        held = &grants->list[behind - 1];
    }
    uint64_t within = at - held->start;
    if (bytes > held->bytes - within) {
        return false;
    }
    switch (held->grant.kind) {
    case FABRIC_GRANT_TEAM: return permits_in_team(grants, &held->grant, source, within, operation);
    case FABRIC_GRANT_BOX: return permits_in_box(held, source, within, bytes);
    case FABRIC_GRANT_STAGING: return is_member(&held->grant, source);
    }
    return false;
}

/* A read of a node's memory, from whose start `at` counts. */
static bool permits_read(const struct fabric_grants *grants, uint32_t owner, uint64_t at,
                         uint32_t bytes)
{
    const struct group_view *view = grants->view;
    if (lies_in(at, bytes, grants->service_start, GROUP_SERVICE_BYTES)) {
        return true;
    }
    for (uint32_t area = DN_LLCM; area <= DN_HEAP && owner == view->rank; area++) {
        const struct group_area *entry = &view->ports[owner].areas[area];
        if (lies_in(at, bytes, view->facts.geometry.segment_offset[area],
                    group_segment_bytes(view, area))) {
            return !(atomic_load_explicit(&entry->denied, memory_order_relaxed) & DN_READ);
        }
    }
    return false;
}

bool fabric_grants_permit(struct fabric_grants *grants, uint32_t source,
                          const struct wire_operation *operation, uint64_t address)
{
    uint32_t bytes = operation->bytes;
    bool reads = is_read(operation);
    uint64_t stride = grants->stride;
    /* What comes most often comes first, and without a division. */
    if (!reads && lies_in(address, bytes, grants->nodes_start + source * stride, stride)) {
        return true;
    }
    if (!reads && lies_in(address, bytes, grants->own_start, stride)) {
        return permits_here(grants, source, address - grants->own_start, operation);
    }
    if (address < grants->nodes_start) {
        return !reads && lies_in(address, bytes,
                                 grants->ports_start + source * sizeof(struct group_port) +
                                     offsetof(struct group_port, areas),
                                 GROUP_AREAS * sizeof(struct group_area));
    }
    uint32_t owner = (uint32_t)((address - grants->nodes_start) / stride);
    uint64_t at = (address - grants->nodes_start) % stride;
    return reads ? permits_read(grants, owner, at, bytes)
                 : lies_in(at, bytes, grants->service_start, GROUP_SERVICE_BYTES) &&
                       is_gone(grants, owner);
}
