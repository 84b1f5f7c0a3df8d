/* Packets that wait for each other in a circle.
 *
 * A lane of an output goes on if its first packet has credit, if credits are on their way, or if
 * the lane of the input behind the cable goes on, since that will free places. A lane of an input
 * goes on if all outputs for which its first packet waits go on. The search begins with what goes
 * on by itself and adds what follows, until nothing does; all lanes that are left wait for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/flow_state.h"

struct search {
    const struct flow *flow;
    bool *goes_on;      /* by lane of an input */
    uint32_t *waits_at; /* by lane of an input: a lane of an output that does not go on */
};

static bool output_goes_on(const struct search *search, uint32_t index, uint32_t number)
{
    const struct flow *flow = search->flow;
    const struct flow_port *port = &flow->ports[index];
    const struct flow_lane *lane = flow_lane(flow, index, number);
    if (lane->requests.first == FLOW_NONE || flow_is_management(flow, number) || !port->carries) {
        return true;
    }
    const struct flow_stay *first = flow_stay(flow, lane->requests.first);
    const struct flow_lane *behind = flow_lane(flow, port->peer, number);
    return flow_has_credit(lane, wire_ib_blocks(flow_body(flow, first->body)->bytes)) ||
           behind->told != lane->limit || flow->ports[port->peer].owed >> number & 1 ||
           search->goes_on[(size_t)port->peer * flow->lane_count + number];
}

/* A lane whose first packet is being sent waits for nothing; only requests wait. */
static void mark_waiting(struct search *search)
{
    const struct flow *flow = search->flow;
    size_t lanes = (size_t)flow->port_count * flow->lane_count;
    bool *goes_on = malloc(lanes * sizeof *goes_on);
    INVARIANT(goes_on);
    memset(goes_on, true, lanes * sizeof *goes_on);
    for (uint32_t i = 0; i < flow->port_count; i++) {
        for (uint32_t number = 0; number < flow->lane_count; number++) {
            if (output_goes_on(search, i, number)) {
                continue;
            }
            uint32_t slot = flow_lane(flow, i, number)->requests.first;
            for (; slot != FLOW_NONE; slot = flow_stay(flow, slot)->request_next) {
                const struct flow_stay *owner = flow_stay(flow, flow_stay(flow, slot)->owner);
                if (owner->port_in != FLOW_NONE) {
                    size_t lane = (size_t)owner->port_in * flow->lane_count + owner->lane_in;
                    goes_on[lane] = false;
                    search->waits_at[lane] = i * flow->lane_count + number;
                }
            }
        }
    }
    memcpy(search->goes_on, goes_on, lanes * sizeof *goes_on);
    free(goes_on);
}

static void describe(const struct search *search, size_t lane, char *text, size_t bytes)
{
    const struct flow *flow = search->flow;
    size_t length = 0;
    size_t steps = 0;
    size_t lanes = (size_t)flow->port_count * flow->lane_count;
    /* After as many steps as there are lanes it is in the circle for sure. */
    for (; steps < lanes; steps++) {
        uint32_t out = search->waits_at[lane];
        lane = (size_t)flow->ports[out / flow->lane_count].peer * flow->lane_count +
               out % flow->lane_count;
    }
    size_t begin = lane;
    do {
        char name[2 * TOPOLOGY_NAME_BYTES];
        uint32_t out = search->waits_at[lane];
        uint32_t index = out / flow->lane_count;
        const struct flow_stay *stay = flow_stay(flow, flow->lanes[out].requests.first);
        if (length < bytes) {
            length += (size_t)snprintf(text + length, bytes - length, "%s%s VL %u (to LID %u)",
                                       length > 0 ? " waits for " : "",
                                       subnet_port_name(flow->subnet, index, name, sizeof name),
                                       out % flow->lane_count, flow_body(flow, stay->body)->dlid);
        }
        lane = (size_t)flow->ports[index].peer * flow->lane_count + out % flow->lane_count;
    } while (lane != begin);
    if (length < bytes) {
        (void)snprintf(text + length, bytes - length, " waits for the first");
    }
}

bool flow_is_deadlocked(const struct flow *flow, char *text, size_t bytes)
{
    size_t lanes = (size_t)flow->port_count * flow->lane_count;
    struct search search = {.flow = flow,
                            .goes_on = calloc(lanes, sizeof(bool)),
                            .waits_at = calloc(lanes, sizeof(uint32_t))};
    bool is_deadlocked = false;
    size_t count = SIZE_MAX;
    size_t first = 0;
    INVARIANT(search.goes_on && search.waits_at);
    for (size_t i = 0; i < lanes; i++) {
        search.goes_on[i] = flow->lanes[i].buffer.first == FLOW_NONE;
    }
    for (;;) {
        size_t waiting = 0;
        mark_waiting(&search);
        for (size_t i = 0; i < lanes; i++) {
            if (!search.goes_on[i]) {
                first = i;
                waiting++;
            }
        }
        if (waiting == 0 || waiting == count) {
            is_deadlocked = waiting > 0;
            break;
        }
        count = waiting;
    }
    if (is_deadlocked) {
        describe(&search, first, text, bytes);
    }
    free(search.goes_on);
    free(search.waits_at);
    return is_deadlocked;
}
