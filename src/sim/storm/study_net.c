/* The studies' network. */
#include "sim/storm/study_net.h"

#include <stdlib.h>
#include <string.h>

#include "wire/operation.h"

enum event { ARRIVAL, LINK_FREE, TIMER, START };

enum { GROUP = 7, INCARNATION = 1, MILLION = 1000000 };

void study_net_init(struct study_net *net, uint32_t node_count)
{
    *net = (struct study_net){.node_count = node_count, .random = {node_count}};
    net->nodes = calloc(node_count, sizeof *net->nodes);
    INVARIANT(net->nodes);
    sim_slots_init(&net->packets, sizeof(struct sim_packet));
}

void study_net_free(struct study_net *net)
{
    for (uint32_t i = 0; i < net->node_count; i++) {
        free(net->nodes[i].memory);
        free(net->nodes[i].delivered_from);
    }
    free(net->nodes);
    sim_events_free(&net->events);
    sim_slots_free(&net->packets);
}

/* ---- Upcalls --------------------------------------------------------------------------- */

static bool deliver(void *context, uint64_t now_ns, const struct swif_delivery *delivery)
{
    (void)now_ns;
    struct study_node *node = context;
    node->delivered_count++;
    if (node->delivered_from) {
        node->delivered_from[delivery->source] += delivery->bytes;
    }
    return true;
}

static void acknowledged(void *context, uint64_t now_ns, uint16_t peer, uint64_t cookie)
{
    (void)now_ns;
    (void)peer;
    (void)cookie;
    struct study_node *node = context;
    node->acknowledged_count++;
}

static void peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)context;
    (void)now_ns;
    (void)peer;
}

void study_net_add(struct study_net *net, uint16_t number, const struct swif_config *config)
{
    struct study_node *node = &net->nodes[number];
    struct swif_config own = *config;
    own.node = number;
    own.pgid = GROUP;
    own.incarnation = INCARNATION;
    uint64_t bytes = swif_bytes(&own);
    INVARIANT(bytes > 0 && own.packet_bytes_max <= SIM_PACKET_BYTES_MAX);
    node->net = net;
    node->number = number;
    node->memory = aligned_alloc(CACHE_LINE_BYTES, bytes);
    INVARIANT(node->memory);
    memset(node->memory, 0, bytes);
    node->client = (struct swif_client){
        .context = node,
        .deliver = deliver,
        .acknowledged = acknowledged,
        .peer_lost = peer_lost,
    };
    node->swif = swif_init(&own, &node->client, NULL, net->now_ns, node->memory);
    node->timer_ns = UINT64_MAX;
}

/* ---- The way of a packet ------------------------------------------------------------------ */

/* Rounded up, so that no link is faster than its rate. */
static uint64_t duration_ns(const struct study_net *net, uint64_t bytes)
{
    return (bytes * UINT64_C(8000000000) + net->bits_per_s - 1) / net->bits_per_s;
}

/* The packet has left its node: the switch passes it on, or it is lost. */
static void forward(struct study_net *net, uint32_t slot)
{
    struct sim_packet *packet = sim_slots_at(&net->packets, slot);
    struct study_node *target = &net->nodes[packet->target];
    uint64_t at_ns = net->now_ns + net->latency_ns / 2;
    uint64_t free_ns = target->port_free_ns > at_ns ? target->port_free_ns : at_ns;
    uint64_t waiting_bytes = (free_ns - at_ns) * net->bits_per_s / UINT64_C(8000000000);
    bool fits = waiting_bytes + packet->bytes <= net->port_bytes;
    bool lost = net->loss_ppm && base_random_below(&net->random, MILLION) < net->loss_ppm;
    net->port_drops += !fits;
    if (!fits || lost || !target->swif) {
        sim_slots_give(&net->packets, slot);
        return;
    }
    target->port_free_ns = free_ns + duration_ns(net, packet->bytes);
    sim_events_put(&net->events, target->port_free_ns + net->latency_ns / 2, ARRIVAL,
                   target->number, slot);
}

static void set_timer(struct study_node *node)
{
    uint64_t deadline_ns = swif_deadline_ns(node->swif);
    uint64_t at_ns = deadline_ns > node->net->now_ns ? deadline_ns : node->net->now_ns + 1;
    if (deadline_ns != UINT64_MAX && at_ns < node->timer_ns) {
        node->timer_ns = at_ns;
        sim_events_put(&node->net->events, at_ns, TIMER, node->number, ++node->timer_generation);
    }
}

/* Something happened at the node. */
static void visit(struct study_node *node)
{
    struct study_net *net = node->net;
    if (net->feed) {
        net->feed(node);
    }
    if (!node->link_is_busy) {
        uint32_t slot;
        struct sim_packet *packet = sim_slots_take(&net->packets, &slot);
        packet->bytes = swif_transmit(node->swif, net->now_ns, packet->data, &packet->target);
        packet->source = node->number;
        if (packet->bytes > 0) {
            node->link_is_busy = true;
            node->leaving = slot;
            sim_events_put(&net->events, net->now_ns + duration_ns(net, packet->bytes), LINK_FREE,
                           node->number, 0);
        } else {
            sim_slots_give(&net->packets, slot);
        }
    }
    set_timer(node);
}

static void handle(struct study_net *net, const struct sim_event *event)
{
    struct study_node *node = &net->nodes[event->subject];
    uint32_t slot = (uint32_t)event->value;
    struct sim_packet *packet;
    switch ((enum event)event->kind) {
    case ARRIVAL:
        packet = sim_slots_at(&net->packets, slot);
        swif_receive(node->swif, net->now_ns, packet->data, packet->bytes);
        sim_slots_give(&net->packets, slot);
        visit(node);
        break;
    case LINK_FREE:
        node->link_is_busy = false;
        forward(net, node->leaving);
        visit(node);
        break;
    case TIMER:
        if (event->value == node->timer_generation) {
            node->timer_ns = UINT64_MAX;
            /* While the link is busy, the node is visited anyway when it becomes free. */
            if (!node->link_is_busy) {
                visit(node);
            }
        }
        break;
    case START: visit(node); break;
    default: INVARIANT(false);
    }
}

void study_net_start(struct study_net *net, uint16_t number)
{
    sim_events_put(&net->events, net->now_ns, START, number, 0);
}

void study_net_run(struct study_net *net, uint64_t until_ns)
{
    struct sim_event event;
    while (sim_events_next(&net->events) <= until_ns) {
        (void)sim_events_take(&net->events, &event);
        net->now_ns = event.at;
        handle(net, &event);
    }
    net->now_ns = until_ns;
}

void study_net_run_operations(struct study_net *net, const struct study_node *node, uint64_t count)
{
    struct sim_event event;
    uint64_t until = node->acknowledged_count + count;
    while (node->acknowledged_count < until && sim_events_take(&net->events, &event)) {
        net->now_ns = event.at;
        handle(net, &event);
    }
}

void study_net_introduce(struct study_net *net, uint16_t one, uint16_t other)
{
    swif_peer_is(net->nodes[one].swif, net->now_ns, other, INCARNATION);
    swif_peer_is(net->nodes[other].swif, net->now_ns, one, INCARNATION);
}

int study_append(struct study_node *node, uint16_t target, uint32_t bytes, uint64_t cookie)
{
    const struct wire_route route = {.target = target, .class = WIRE_REQUEST, .cookie = cookie};
    const struct wire_operation operation = {
        .opcode = WIRE_PUSH, .bytes = (uint16_t)(bytes - WIRE_OPERATION_BYTES), .area = 1};
    unsigned char *room;
    int error = swif_append(node->swif, node->net->now_ns, &route, bytes, &room);
    if (!error) {
        wire_operation_encode(&operation, room);
        memset(room + WIRE_OPERATION_BYTES, 0, operation.bytes);
        node->appended_count += cookie != 0;
    }
    return error;
}
