/* A network of a few engines in one array: packets are carried out in any order that their routes
 * allow and acknowledged later; the test says what is full, denied or lost. */
#ifndef UNIT_NIC_ENGINE_NETWORK_H
#define UNIT_NIC_ENGINE_NETWORK_H

#include <stdalign.h>
#include <stdlib.h>

#include "unit/unit.h"
#include "base/random.h"
#include "nic/engine.h"

enum {
    NET_NODES = 3,
    NET_PACKETS = 1024,
    NET_BODY_BYTES = 512,
    NET_MEMORY_BYTES = 256 * 1024,
    NET_AREA = DN_BANK,
    NET_AREA_OFFSET = 64 * 1024,
    NET_AREA_BYTES = 128 * 1024,
    NET_PGID = 77,
    NET_CHUNK_BYTES = NET_BODY_BYTES - WIRE_OPERATION_BYTES, /* of a transfer */
    NET_LONG_BYTES = 3 * NET_CHUNK_BYTES + 5,
};

enum net_state { NET_FREE, NET_QUEUED, NET_CARRIED_OUT };

struct net_packet {
    enum net_state state;
    uint16_t source;
    struct wire_route route;
    uint32_t epoch;
    uint32_t bytes;
    uint64_t number;
    alignas(8) unsigned char body[NET_BODY_BYTES];
};

struct net;

struct net_node {
    struct net *net;
    uint16_t number;
    bool dead;
    struct nic_engine *engine;
    void *space;
    alignas(64) unsigned char memory[NET_MEMORY_BYTES];
    uint64_t written_offset, written_bytes, written_count;
    uint32_t find_count;
    uint32_t stale_area;     /* find says DN_ESTALE */
    uint32_t denied;         /* rights that others do not have in NET_AREA */
    uint32_t area_pgid;      /* whose NET_AREA is; 0: everybody's */
    bool hands_over_unknown; /* set before net_start */
    uint32_t unknown_count, unknown_pgid;
    unsigned char unknown[NET_BODY_BYTES]; /* the last packet that was handed over */
    /* What may be done in NIC_AREA_WHOLE, which is not there while this is NULL. */
    bool (*permits)(const struct net_node *node, uint16_t source,
                    const struct wire_operation *operation, uint64_t address);
    uint32_t epoch[NET_NODES][WIRE_CHANNELS];
    uint32_t fence_count[NET_NODES][WIRE_CHANNELS];
};

struct net {
    struct net_node nodes[NET_NODES];
    struct net_packet packets[NET_PACKETS];
    uint64_t next_number;
    uint64_t appended;
    uint32_t room;        /* packets from one node to another that are not acknowledged, at most */
    bool full[NET_NODES]; /* no room to this one at all */
    bool no_reply_room;
    bool join;            /* small records share packets */
    uint32_t deny_one_in; /* random denials of reply room; 0: none */
    struct base_random random;
};

static inline struct net_packet *net_joinable(struct net *net, uint16_t source,
                                              const struct wire_route *route, uint32_t bytes)
{
    struct net_packet *newest = NULL;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        struct net_packet *packet = &net->packets[i];
        if (packet->state == NET_QUEUED && packet->source == source &&
            packet->route.target == route->target && packet->route.class == route->class &&
            packet->route.pgid == route->pgid && (!newest || packet->number > newest->number)) {
            newest = packet;
        }
    }
    bool fits = newest && newest->route.channel == route->channel &&
                newest->route.ordered == route->ordered && newest->route.cookie == 0 &&
                route->cookie == 0 && newest->bytes + bytes <= NET_BODY_BYTES &&
                newest->route.reply_bytes + route->reply_bytes <= NET_BODY_BYTES &&
                newest->epoch == net->nodes[source].epoch[route->target][route->channel];
    return fits ? newest : NULL;
}

static inline int net_append(void *context, uint64_t now_ns, const struct wire_route *route,
                             uint32_t bytes, unsigned char **room)
{
    struct net_node *node = context;
    struct net *net = node->net;
    (void)now_ns;
    assert_true(route->target < NET_NODES && bytes % 8 == 0 && bytes <= NET_BODY_BYTES);
    assert_true(route->class == WIRE_REPLY || route->channel < WIRE_CHANNELS);
    if (net->nodes[route->target].dead) {
        return DN_EPEER;
    }
    struct net_packet *packet = net->join ? net_joinable(net, node->number, route, bytes) : NULL;
    if (packet) {
        *room = packet->body + packet->bytes;
        packet->bytes += bytes;
        packet->route.reply_bytes += route->reply_bytes;
        return 0;
    }
    uint32_t taken = 0;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        if (net->packets[i].state == NET_FREE) {
            packet = &net->packets[i];
        } else if (net->packets[i].source == node->number &&
                   net->packets[i].route.target == route->target &&
                   net->packets[i].route.class == WIRE_REQUEST) {
            taken++;
        }
    }
    if (route->class == WIRE_REQUEST && (net->full[route->target] || taken >= net->room)) {
        return DN_EFULL;
    }
    assert_non_null(packet);
    packet->state = NET_QUEUED;
    packet->source = node->number;
    packet->route = *route;
    packet->epoch = node->epoch[route->target][route->channel];
    packet->bytes = bytes;
    packet->number = ++net->next_number;
    net->appended++;
    *room = packet->body;
    return 0;
}

static inline bool net_has_reply_room(void *context, uint64_t now_ns, uint16_t peer)
{
    struct net *net = ((struct net_node *)context)->net;
    (void)now_ns;
    (void)peer;
    return !net->no_reply_room &&
           (net->deny_one_in == 0 || base_random_below(&net->random, net->deny_one_in) != 0);
}

static inline void net_fence(void *context, uint16_t target, uint8_t channel)
{
    struct net_node *node = context;
    node->epoch[target][channel]++;
    node->fence_count[target][channel]++;
}

static inline uint64_t net_mark(void *context)
{
    return ((struct net_node *)context)->net->next_number;
}

static inline bool net_mark_is_passed(void *context, uint64_t mark)
{
    const struct net_node *node = context;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        const struct net_packet *packet = &node->net->packets[i];
        if (packet->state != NET_FREE && packet->source == node->number &&
            packet->route.class == WIRE_REQUEST && packet->number <= mark) {
            return false;
        }
    }
    return true;
}

static inline int net_find(void *context, uint32_t area, struct nic_extent *extent)
{
    struct net_node *node = context;
    node->find_count++;
    if (area == NIC_AREA_WHOLE && node->permits) {
        *extent = (struct nic_extent){.bytes = NET_MEMORY_BYTES};
        return 0;
    }
    if (area == node->stale_area) {
        return DN_ESTALE;
    }
    if (area != NET_AREA) {
        return DN_EAREA;
    }
    *extent = (struct nic_extent){NET_AREA_OFFSET, NET_AREA_BYTES, node->denied, node->area_pgid};
    return 0;
}

static inline void net_unknown(void *context, uint16_t source, uint32_t pgid,
                               const unsigned char *body, uint32_t bytes)
{
    struct net_node *node = context;
    (void)source;
    node->unknown_count++;
    node->unknown_pgid = pgid;
    memcpy(node->unknown, body, bytes);
}

static inline bool net_permits(void *context, uint16_t source,
                               const struct wire_operation *operation, uint64_t address)
{
    const struct net_node *node = context;
    return !node->permits || node->permits(node, source, operation, address);
}

static inline void net_written(void *context, uint64_t offset, uint64_t bytes)
{
    struct net_node *node = context;
    node->written_offset = offset;
    node->written_bytes = bytes;
    node->written_count++;
}

/* A node's life begins. */
static inline void net_start(struct net *net, uint16_t number,
                             const struct nic_engine_config *sizes)
{
    struct net_node *node = &net->nodes[number];
    struct nic_engine_config config = *sizes;
    config.node = number;
    node->net = net;
    node->number = number;
    node->dead = false;
    struct nic_network network = {
        .context = node,
        .body_bytes_max = NET_BODY_BYTES,
        .append = net_append,
        .has_reply_room = net_has_reply_room,
        .fence = net_fence,
        .mark = net_mark,
        .mark_is_passed = net_mark_is_passed,
    };
    struct nic_local_memory memory = {
        .context = node,
        .base = node->memory,
        .bytes = NET_MEMORY_BYTES,
        .find = net_find,
        .written = net_written,
        .permits = net_permits,
        .unknown = node->hands_over_unknown ? net_unknown : NULL,
    };
    uint64_t bytes = nic_engine_bytes(&config);
    assert_true(bytes != 0 && bytes % 64 == 0);
    free(node->space);
    node->space = aligned_alloc(64, bytes);
    assert_non_null(node->space);
    memset(node->space, 0, bytes);
    node->engine = nic_engine_init(&config, &network, &memory, node->space, NULL);
}

static const struct nic_engine_config net_sizes = {
    .pgid = NET_PGID,
    .node_count = NET_NODES,
    .kick_page_count = 64,
    .transfer_count = 8,
    .outstanding_count = 32,
};

static inline struct net *net_new(void)
{
    /* aligned_alloc takes whole multiples. */
    struct net *net = aligned_alloc(64, (sizeof *net + 63) / 64 * 64);
    assert_non_null(net);
    memset(net, 0, sizeof *net);
    net->room = 64;
    for (uint16_t i = 0; i < NET_NODES; i++) {
        net_start(net, i, &net_sizes);
        assert_int_equal(nic_user_set(net->nodes[i].engine, 0, 64), 0);
    }
    return net;
}

static inline void net_free(struct net *net)
{
    for (uint16_t i = 0; i < NET_NODES; i++) {
        free(net->nodes[i].space);
    }
    free(net);
}

/* Whether nothing that the packet has to wait for is still queued. */
static inline bool net_may_go(const struct net *net, const struct net_packet *packet)
{
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        const struct net_packet *other = &net->packets[i];
        if (other->state != NET_QUEUED || other->source != packet->source ||
            other->route.target != packet->route.target ||
            other->route.class != packet->route.class ||
            other->route.channel != packet->route.channel || other->number >= packet->number) {
            continue;
        }
        if ((int32_t)(other->epoch - packet->epoch) < 0 ||
            (other->route.ordered && packet->route.ordered)) {
            return false;
        }
    }
    return true;
}

/* Carries a packet out; false: its target had no room for the replies. */
static inline bool net_carry_out(struct net *net, struct net_packet *packet)
{
    struct net_node *target = &net->nodes[packet->route.target];
    assert_int_not_equal(packet->route.pgid, 0);
    if (!nic_engine_deliver_of(target->engine, 0, packet->route.pgid, packet->source,
                               packet->route.class, packet->route.channel, packet->body,
                               packet->bytes)) {
        return false;
    }
    packet->state = packet->route.class == WIRE_REPLY ? NET_FREE : NET_CARRIED_OUT;
    return true;
}

static inline void net_acknowledge(struct net *net, struct net_packet *packet)
{
    packet->state = NET_FREE;
    if (packet->route.cookie) {
        nic_engine_acknowledged(net->nodes[packet->source].engine, 0, packet->route.target,
                                packet->route.cookie);
    }
}

/* One random step: a packet is carried out or acknowledged. False: there is none that can. */
static inline bool net_step(struct net *net)
{
    uint32_t start = (uint32_t)base_random_below(&net->random, NET_PACKETS);
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        struct net_packet *packet = &net->packets[(start + i) % NET_PACKETS];
        if (packet->state == NET_CARRIED_OUT) {
            net_acknowledge(net, packet);
            return true;
        }
        if (packet->state == NET_QUEUED && net_may_go(net, packet) && net_carry_out(net, packet)) {
            return true;
        }
    }
    return false;
}

static inline void net_run_engines(struct net *net)
{
    for (uint32_t i = 0; i < NET_NODES; i++) {
        if (!net->nodes[i].dead) {
            nic_engine_run(net->nodes[i].engine, 0);
        }
    }
}

/* Runs until nothing moves any more. */
static inline void net_settle(struct net *net)
{
    do {
        net_run_engines(net);
    } while (net_step(net));
}

static inline void net_kill(struct net *net, uint16_t peer)
{
    net->nodes[peer].dead = true;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        struct net_packet *packet = &net->packets[i];
        if (packet->source == peer || packet->route.target == peer) {
            packet->state = NET_FREE;
        }
    }
    for (uint32_t i = 0; i < NET_NODES; i++) {
        if (!net->nodes[i].dead) {
            nic_engine_peer_lost(net->nodes[i].engine, 0, peer);
        }
    }
}

/* ---- Looking at what is queued --------------------------------------------------------- */

static inline uint32_t net_count(const struct net *net, enum net_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        count += net->packets[i].state == state;
    }
    return count;
}

/* The oldest queued packet and its first record; NULL: none. */
static inline struct net_packet *net_oldest(struct net *net, struct wire_operation *operation)
{
    struct net_packet *oldest = NULL;
    for (uint32_t i = 0; i < NET_PACKETS; i++) {
        struct net_packet *packet = &net->packets[i];
        if (packet->state == NET_QUEUED && (!oldest || packet->number < oldest->number)) {
            oldest = packet;
        }
    }
    if (oldest && operation) {
        uint32_t at = 0;
        assert_true(wire_operation_decode(oldest->body, oldest->bytes, oldest->route.class, &at,
                                          operation));
    }
    return oldest;
}

static inline unsigned char *net_area(struct net *net, uint16_t node)
{
    return net->nodes[node].memory + NET_AREA_OFFSET;
}

static inline struct dn_remote net_at(int rank, uint64_t offset)
{
    return (struct dn_remote){.rank = rank, .area = NET_AREA, .offset = offset};
}

/* ---- What every test of the engine uses ------------------------------------------------- */

static inline int net_make(void **state)
{
    *state = net_new();
    return 0;
}

static inline int net_unmake(void **state)
{
    net_free(*state);
    return 0;
}

static inline struct nic_engine *net_engine(struct net *net, uint16_t node)
{
    return net->nodes[node].engine;
}

static inline const struct nic_engine_counters *net_counters(struct net *net, uint16_t node)
{
    return nic_engine_counters(net_engine(net, node));
}

static inline uint64_t net_word(struct net *net, uint16_t node, uint64_t offset)
{
    uint64_t value;
    memcpy(&value, net_area(net, node) + offset, sizeof value);
    return value;
}

static inline void net_fill(unsigned char *bytes, uint64_t count, uint64_t seed)
{
    struct base_random random = {seed};
    for (uint64_t i = 0; i < count; i++) {
        bytes[i] = (unsigned char)base_random_next(&random);
    }
}

/* Gives node 1 a packet made of these records. */
static inline bool net_hand_over(struct net *net, uint16_t source, enum wire_class class,
                                 const struct wire_operation *records, uint32_t count)
{
    alignas(8) unsigned char body[4096];
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        wire_operation_encode(&records[i], body + bytes);
        bytes += wire_operation_bytes(&records[i]);
    }
    return nic_engine_deliver(net_engine(net, 1), 0, source, class, 3, body, bytes);
}

#define NET_CASE(name) cmocka_unit_test_setup_teardown(name, net_make, net_unmake)

#endif
