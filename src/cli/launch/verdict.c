#define _GNU_SOURCE
#include "cli/launch/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "cli/launch/launcher.h"
#include "cli/remote/agent.h"
#include "cli/remote/fleet.h"
#include "group/life.h"
#include "host/clock.h"

static uint32_t row_words(const struct launch *launch)
{
    return (launch->request->node_count + 63) / 64;
}

static uint64_t *row_of(const struct launch *launch, uint32_t rank)
{
    return launch->verdict.suspected_by + (size_t)rank * row_words(launch);
}

static uint64_t hearing_ns(const struct launch_request *request)
{
    return group_life_hearing_ns(request->fabric->silence_ns(request->settings));
}

static bool is_gone(const struct launch *launch, uint32_t rank)
{
    return group_life_gone(host_group_life(&launch->group, rank));
}

void launch_verdict_suspect(struct launch *launch, uint32_t by, uint32_t rank)
{
    struct verdict *verdict = &launch->verdict;
    uint32_t count = launch->request->node_count;
    if (by >= count || rank >= count || by == rank || is_gone(launch, by) ||
        is_gone(launch, rank) || !launch->request->fabric->silence_ns) {
        return;
    }
    if (!verdict->suspected_by) {
        verdict->suspected_by = calloc((size_t)count * row_words(launch), sizeof(uint64_t));
        if (!verdict->suspected_by) {
            return; /* the nodes decide by themselves after a while */
        }
    }
    row_of(launch, rank)[by / 64] |= UINT64_C(1) << by % 64;
    if (verdict->due_ns == UINT64_MAX) {
        verdict->due_ns = host_deadline_ns(host_now_ns(), hearing_ns(launch->request));
    }
}

void launch_verdict_collect(struct launch *launch)
{
    uint32_t by;
    for (uint32_t rank = 0; rank < launch->request->node_count; rank++) {
        if (!host_group_take_suspicion(&launch->group, rank, &by) ||
            by - launch->rank_first >= launch->rank_count) {
            continue; /* nodes here speak for themselves only */
        }
        if (launch->agent) {
            remote_agent_tell_suspicion(launch, by, rank);
        } else {
            launch_verdict_suspect(launch, by, rank);
        }
    }
}

/* How many living nodes do not hear this one. Whoever has gone meanwhile counts no more. */
static uint32_t weigh(const struct launch *launch, uint32_t rank)
{
    const uint64_t *row = row_of(launch, rank);
    uint32_t weight = 0;
    for (uint32_t by = 0; by < launch->request->node_count && !is_gone(launch, rank); by++) {
        weight += (row[by / 64] >> by % 64 & 1) && !is_gone(launch, by);
    }
    return weight;
}

/* What was said of this node and by it is settled. Nodes can write the word that says that it is
 * gone, so that does not decide. */
static void forget(const struct launch *launch, uint32_t rank)
{
    memset(row_of(launch, rank), 0, row_words(launch) * sizeof(uint64_t));
    for (uint32_t other = 0; other < launch->request->node_count; other++) {
        row_of(launch, other)[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    }
}

static void condemn(struct launch *launch, uint32_t rank, uint32_t weight)
{
    if (launch->phase == LAUNCH_RUNNING) {
        launch_say(launch, "node %u is held for dead: %u of its peers %s nothing of it any more",
                   rank, weight, weight == 1 ? "hears" : "hear");
    }
    if (launch->fleet) {
        remote_fleet_tell_verdict(launch, rank);
    } else {
        host_group_tell_life(&launch->group, rank, DN_DEAD);
    }
}

/* The rank that most others do not hear, and by how many; 0: there is none. */
static uint32_t find_worst(const struct launch *launch, uint32_t *worst)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < launch->request->node_count; rank++) {
        uint32_t weight = weigh(launch, rank);
        if (weight != 0 && weight >= most) {
            *worst = rank;
            most = weight;
        }
    }
    return most;
}

void launch_verdict_on_time(struct launch *launch, uint64_t now_ns)
{
    uint32_t worst;
    if (now_ns < launch->verdict.due_ns) {
        return;
    }
    for (uint32_t weight; (weight = find_worst(launch, &worst)) != 0;) {
        condemn(launch, worst, weight);
        forget(launch, worst);
    }
    launch->verdict.due_ns = UINT64_MAX;
    memset(launch->verdict.suspected_by, 0,
           (size_t)launch->request->node_count * row_words(launch) * sizeof(uint64_t));
}
