/* Needs count down; sends and receives of one source, target and tag are paired by a table of
 * those three. */
#include "sim/goal/goal_flow.h"

#include <stdlib.h>
#include <string.h>

/* ---- Partners ------------------------------------------------------------------------------ */

/* Sends of one source, target and tag that no receive has been found for yet. */
struct channel {
    uint32_t source, target, tag;
    uint32_t first, last; /* in the source's list of partners, which links them meanwhile */
    bool is_used;
};

struct table {
    struct channel *channels; /* open addressing, at most half full */
    uint64_t mask;
};

static struct channel *find(const struct table *table, uint32_t source, uint32_t target,
                            uint32_t tag)
{
    uint64_t hash = ((uint64_t)source << 32 | target) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ tag) * UINT64_C(0xbf58476d1ce4e5b9);
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        struct channel *channel = &table->channels[i & table->mask];
        if (!channel->is_used ||
            (channel->source == source && channel->target == target && channel->tag == tag)) {
            return channel;
        }
    }
}

static uint64_t count_sends(const struct goal *goal)
{
    uint64_t sends = 0;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        for (uint32_t i = 0; i < goal->ranks[rank].count; i++) {
            sends += goal->ranks[rank].operations[i].kind == GOAL_SEND;
        }
    }
    return sends;
}

/* A send's partner is the next send of its channel until its receive is found. */
static void queue_send(const struct goal_flow *flow, const struct table *table, uint32_t rank,
                       uint32_t number)
{
    const struct goal_operation *send = &flow->goal->ranks[rank].operations[number];
    struct channel *channel = find(table, rank, send->peer, send->tag);
    if (!channel->is_used) {
        *channel = (struct channel){rank, send->peer, send->tag, GOAL_NONE, GOAL_NONE, true};
    }
    if (channel->first == GOAL_NONE) {
        channel->first = number;
    } else {
        flow->ranks[rank].partner[channel->last] = number;
    }
    channel->last = number;
}

static void pair_receive(const struct goal_flow *flow, const struct table *table, uint32_t rank,
                         uint32_t number)
{
    const struct goal_operation *receive = &flow->goal->ranks[rank].operations[number];
    struct channel *channel = find(table, receive->peer, rank, receive->tag);
    if (!channel->is_used || channel->first == GOAL_NONE) {
        return;
    }
    uint32_t send = channel->first;
    uint32_t *partners = flow->ranks[receive->peer].partner;
    channel->first = partners[send];
    partners[send] = number;
    flow->ranks[rank].partner[number] = send;
}

static void pair(const struct goal_flow *flow)
{
    const struct goal *goal = flow->goal;
    struct table table = {.mask = 15};
    uint64_t sends = count_sends(goal);
    while (table.mask < 2 * sends) {
        table.mask = 2 * table.mask + 1;
    }
    table.channels = calloc(table.mask + 1, sizeof *table.channels);
    INVARIANT(table.channels);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
            for (uint32_t i = 0; i < goal->ranks[rank].count; i++) {
                enum goal_kind kind = goal->ranks[rank].operations[i].kind;
                if (pass == 0 && kind == GOAL_SEND) {
                    queue_send(flow, &table, rank, i);
                } else if (pass == 1 && kind == GOAL_RECEIVE) {
                    pair_receive(flow, &table, rank, i);
                }
            }
        }
    }
    /* What is left of the lists are sends that nobody receives. */
    for (uint64_t row = 0; row <= table.mask; row++) {
        struct channel *channel = &table.channels[row];
        while (channel->is_used && channel->first != GOAL_NONE) {
            uint32_t *partner = &flow->ranks[channel->source].partner[channel->first];
            channel->first = *partner;
            *partner = GOAL_NONE;
        }
    }
    free(table.channels);
}

/* ---- Needs --------------------------------------------------------------------------------- */

static uint32_t *numbers(uint32_t count)
{
    uint32_t *array = calloc((size_t)count + 2, sizeof *array);
    INVARIANT(array);
    return array;
}

static void open_rank(struct goal_flow_rank *flow, const struct goal_rank *rank)
{
    flow->missing = numbers(rank->count);
    flow->first = numbers(rank->count);
    flow->order = numbers(rank->count);
    flow->partner = numbers(rank->count);
    flow->followers = calloc((size_t)rank->need_count + 1, sizeof *flow->followers);
    INVARIANT(flow->followers);
    memset(flow->partner, 0xff, rank->count * sizeof *flow->partner);
    /* Counted two places on, summed up, and moved one place down as they are filled in. */
    for (uint32_t i = 0; i < rank->need_count; i++) {
        flow->first[rank->needs[i].before + 2]++;
        flow->missing[rank->needs[i].operation]++;
    }
    for (uint32_t i = 0; i < rank->count; i++) {
        flow->first[i + 1] += flow->first[i];
    }
    for (uint32_t i = 0; i < rank->need_count; i++) {
        const struct goal_need *need = &rank->needs[i];
        flow->followers[flow->first[need->before + 1]++] = (struct goal_follower){need->operation,
                                                                                  need->of_start};
    }
    for (uint32_t i = 0; i < rank->count; i++) {
        if (flow->missing[i] == 0) {
            flow->order[flow->order_count++] = i;
        }
    }
}

void goal_flow_open(struct goal_flow *flow, const struct goal *goal)
{
    flow->goal = goal;
    flow->ranks = calloc(goal->rank_count, sizeof *flow->ranks);
    INVARIANT(flow->ranks);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        open_rank(&flow->ranks[i], &goal->ranks[i]);
    }
    pair(flow);
}

void goal_flow_close(struct goal_flow *flow)
{
    for (uint32_t i = 0; i < flow->goal->rank_count; i++) {
        struct goal_flow_rank *rank = &flow->ranks[i];
        free(rank->missing);
        free(rank->first);
        free(rank->order);
        free(rank->partner);
        free(rank->followers);
    }
    free(flow->ranks);
}

bool goal_flow_next(struct goal_flow *flow, uint32_t rank, uint32_t *operation)
{
    struct goal_flow_rank *of = &flow->ranks[rank];
    if (of->order_taken == of->order_count) {
        return false;
    }
    *operation = of->order[of->order_taken++];
    return true;
}

static void fulfil(struct goal_flow_rank *rank, uint32_t operation, bool of_start)
{
    for (uint32_t i = rank->first[operation]; i < rank->first[operation + 1]; i++) {
        const struct goal_follower *follower = &rank->followers[i];
        if (follower->of_start == of_start && --rank->missing[follower->operation] == 0) {
            rank->order[rank->order_count++] = follower->operation;
        }
    }
}

void goal_flow_started(struct goal_flow *flow, uint32_t rank, uint32_t operation)
{
    fulfil(&flow->ranks[rank], operation, true);
}

void goal_flow_finished(struct goal_flow *flow, uint32_t rank, uint32_t operation)
{
    fulfil(&flow->ranks[rank], operation, false);
    flow->ranks[rank].finished++;
}
