/* Barriers and collective calls. Of these a trace has the call alone, not the packets; so they
 * become the usual ways to do them, in rounds:
 *
 *     barrier, reduction, scan   dissemination: in round r each member sends to the one 2^r behind
 *                                it, 8 bytes for a barrier and else the call's
 *     broadcast                  a binomial tree from the root
 *     all-gather, all-to-all     pairwise exchange: in round r with those r before and behind
 *
 * Members of the n-th call of a team are all ranks that made an n-th one and came through it. If
 * one of them came out before another one went in, the trace is not of such a call (its teams are
 * not all known), and it is left out; a broadcast goes from the root to each. */
#include <stdlib.h>

#include "cli/sim/trace_goal.h"

enum { MEETING_BYTES = 8, HALVES_APART = 64 };

/* One rank's call. */
struct call {
    enum host_trace_kind kind;
    uint64_t team;
    uint32_t name; /* of a collective; barriers of a team count together */
    uint32_t rank;
    uint32_t ordinal;   /* among those of its rank */
    size_t entry, exit; /* events: the same, but for a barrier in two halves; or TRACE_NO_EVENT */
    uint32_t done;      /* its last operation */
};

/* Calls of one team, one for each member, in the order of ranks. */
struct meeting {
    struct trace_goal *made;
    struct call *calls;
    uint32_t count;
    uint64_t bytes;
    uint32_t tag;
};

/* ---- Rounds --------------------------------------------------------------------------------- */

static void add(struct meeting *meeting, uint32_t member, enum goal_kind kind, uint32_t other)
{
    struct trace_goal *made = meeting->made;
    struct call *call = &meeting->calls[member];
    const struct goal_operation operation = {
        .kind = kind,
        .peer = meeting->calls[other].rank,
        .amount = meeting->bytes < GOAL_BYTES_MAX ? meeting->bytes : GOAL_BYTES_MAX,
        .tag = meeting->tag,
        .cpu = trace_goal_cpu(made->events->list[call->entry].thread),
    };
    uint32_t number = trace_goal_add(made, call->rank, &operation);
    trace_goal_need(made, call->rank, number, call->done);
    if (made->first[call->entry] == TRACE_GOAL_NONE) {
        made->first[call->entry] = number;
    }
    call->done = number;
}

/* Each sends to the one so far behind it, and hears from the one so far before. */
static void shift(struct meeting *meeting, uint32_t distance)
{
    uint32_t count = meeting->count;
    for (uint32_t i = 0; i < count; i++) {
        add(meeting, i, GOAL_SEND, (i + distance) % count);
    }
    for (uint32_t i = 0; i < count; i++) {
        add(meeting, i, GOAL_RECEIVE, (i + count - distance) % count);
    }
}

static void disseminate(struct meeting *meeting)
{
    for (uint32_t distance = 1; distance < meeting->count; distance *= 2) {
        shift(meeting, distance);
    }
}

static void exchange(struct meeting *meeting)
{
    for (uint32_t distance = 1; distance < meeting->count; distance++) {
        shift(meeting, distance);
    }
}

/* Members are counted from the root; in round r those below 2^r have it and pass it on. */
static void spread_by_tree(struct meeting *meeting, uint32_t root)
{
    uint32_t count = meeting->count;
    for (uint32_t having = 1; having < count; having *= 2) {
        for (uint32_t i = 0; i < having && i + having < count; i++) {
            add(meeting, (root + i) % count, GOAL_SEND, (root + i + having) % count);
            add(meeting, (root + i + having) % count, GOAL_RECEIVE, (root + i) % count);
        }
    }
}

/* To those who came out behind the root's going in. */
static void spread_to_each(struct meeting *meeting, uint32_t root)
{
    const struct trace_event *list = meeting->made->events->list;
    for (uint32_t i = 0; i < meeting->count; i++) {
        if (i != root &&
            list[meeting->calls[i].exit].end_ns >= list[meeting->calls[root].entry].begin_ns) {
            add(meeting, root, GOAL_SEND, i);
            add(meeting, i, GOAL_RECEIVE, root);
        }
    }
}

/* ---- A meeting ------------------------------------------------------------------------------ */

/* Whether all were in it at some moment. */
static bool all_were_there(const struct meeting *meeting)
{
    const struct trace_event *list = meeting->made->events->list;
    uint64_t last_in_ns = 0;
    uint64_t first_out_ns = UINT64_MAX;
    for (uint32_t i = 0; i < meeting->count; i++) {
        const struct call *call = &meeting->calls[i];
        uint64_t in_ns = list[call->entry].begin_ns;
        uint64_t out_ns = call->exit == TRACE_NO_EVENT ? UINT64_MAX : list[call->exit].end_ns;
        last_in_ns = in_ns > last_in_ns ? in_ns : last_in_ns;
        first_out_ns = out_ns < first_out_ns ? out_ns : first_out_ns;
    }
    return last_in_ns <= first_out_ns;
}

static uint32_t root_of(const struct meeting *meeting)
{
    int32_t rank = meeting->made->events->list[meeting->calls[0].entry].peer;
    for (uint32_t i = 0; i < meeting->count; i++) {
        if (rank >= 0 && meeting->calls[i].rank == (uint32_t)rank) {
            return i;
        }
    }
    return 0;
}

static void meet(struct meeting *meeting)
{
    const struct trace_event *event = &meeting->made->events->list[meeting->calls[0].entry];
    enum trace_shape shape = meeting->made->shapes[event->name];
    bool is_together = all_were_there(meeting);
    bool has_bytes = event->kind == HOST_TRACE_COLLECTIVE && shape != TRACE_SHAPE_GATHERS;
    meeting->bytes = has_bytes ? event->bytes : MEETING_BYTES;
    meeting->tag = event->kind;
    if (event->kind == HOST_TRACE_COLLECTIVE && shape == TRACE_SHAPE_SPREADS) {
        if (is_together) {
            spread_by_tree(meeting, root_of(meeting));
        } else {
            spread_to_each(meeting, root_of(meeting));
        }
    } else if (is_together && event->kind == HOST_TRACE_COLLECTIVE && shape == TRACE_SHAPE_SWAPS) {
        exchange(meeting);
    } else if (is_together) {
        disseminate(meeting);
    }
    for (uint32_t i = 0; i < meeting->count; i++) {
        const struct call *call = &meeting->calls[i];
        if (call->exit != TRACE_NO_EVENT) {
            meeting->made->last[call->exit] = call->done;
        }
    }
}

/* ---- Who meets whom ------------------------------------------------------------------------- */

static bool is_group_call(const struct trace_event *event)
{
    return event->kind == HOST_TRACE_BARRIER || event->kind == HOST_TRACE_COLLECTIVE;
}

static bool came_through(const struct trace_event *event)
{
    return event->result == 0 && !event->is_open;
}

/* The second half belongs to the last barrier of its team that has none. */
static void add_exit(struct call *calls, size_t count, const struct trace_event *event, size_t at)
{
    size_t least = count > HALVES_APART ? count - HALVES_APART : 0;
    for (size_t i = count; i > least && calls[i - 1].rank == event->rank; i--) {
        struct call *call = &calls[i - 1];
        if (call->kind == HOST_TRACE_BARRIER && call->team == event->team) {
            if (call->exit == TRACE_NO_EVENT && came_through(event)) {
                call->exit = at;
            }
            return;
        }
    }
}

static size_t list_calls(const struct trace_goal *made, struct call *calls)
{
    size_t count = 0;
    for (size_t i = 0; i < made->events->count; i++) {
        const struct trace_event *event = &made->events->list[i];
        enum trace_shape shape = made->shapes[event->name];
        bool is_barrier = event->kind == HOST_TRACE_BARRIER;
        if (!is_group_call(event)) {
            continue;
        }
        if (is_barrier && shape == TRACE_SHAPE_LEAVES) {
            add_exit(calls, count, event, i);
            continue;
        }
        bool is_half = is_barrier && shape == TRACE_SHAPE_ARRIVES;
        calls[count++] = (struct call){
            .kind = event->kind,
            .team = event->team,
            .name = is_barrier ? 0 : event->name,
            .rank = event->rank,
            .entry = i,
            .exit = is_half ? TRACE_NO_EVENT : i,
            .done = TRACE_GOAL_NONE,
        };
    }
    return count;
}

static int compare_numbers(uint64_t first, uint64_t second)
{
    return (first > second) - (first < second);
}

static int compare_teams(const struct call *first, const struct call *second)
{
    int order = compare_numbers(first->kind, second->kind);
    order = order ? order : compare_numbers(first->team, second->team);
    return order ? order : compare_numbers(first->name, second->name);
}

static int by_rank(const void *left, const void *right)
{
    const struct call *first = left;
    const struct call *second = right;
    int order = compare_teams(first, second);
    order = order ? order : compare_numbers(first->rank, second->rank);
    return order ? order : compare_numbers(first->entry, second->entry);
}

static int by_ordinal(const void *left, const void *right)
{
    const struct call *first = left;
    const struct call *second = right;
    int order = compare_teams(first, second);
    order = order ? order : compare_numbers(first->ordinal, second->ordinal);
    return order ? order : compare_numbers(first->rank, second->rank);
}

/* Calls that belong together are in a row afterwards. */
static void sort_calls(struct call *calls, size_t count)
{
    qsort(calls, count, sizeof *calls, by_rank);
    for (size_t i = 1; i < count; i++) {
        bool goes_on = compare_teams(&calls[i - 1], &calls[i]) == 0 &&
                       calls[i - 1].rank == calls[i].rank;
        calls[i].ordinal = goes_on ? calls[i - 1].ordinal + 1 : 0;
    }
    qsort(calls, count, sizeof *calls, by_ordinal);
}

bool trace_goal_groups(struct trace_goal *made)
{
    size_t room = 1;
    for (size_t i = 0; i < made->events->count; i++) {
        room += is_group_call(&made->events->list[i]);
    }
    struct call *calls = malloc(room * sizeof *calls);
    if (!calls) {
        return false;
    }
    size_t count = list_calls(made, calls);
    sort_calls(calls, count);
    for (size_t from = 0; from < count && !made->is_full;) {
        struct meeting meeting = {.made = made, .calls = &calls[from]};
        size_t to = from;
        for (; to < count && compare_teams(&calls[from], &calls[to]) == 0 &&
               calls[from].ordinal == calls[to].ordinal;
             to++) {
            /* Those who came through stand together at the beginning. */
            if (came_through(&made->events->list[calls[to].entry])) {
                meeting.calls[meeting.count++] = calls[to];
            }
        }
        if (meeting.count > 1) {
            meet(&meeting);
        }
        from = to;
    }
    free(calls);
    return true;
}
