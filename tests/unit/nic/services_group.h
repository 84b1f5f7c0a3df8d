/* Several nodes' services over a carrier in memory: order between two nodes is kept,
 * everything else comes as the seed says. Nodes die, and begin new lives, at any step.
 *
 * The carrier does what InfiniSWIF promises and no more. When a node dies, a prefix of what it had
 * under way still arrives. Some time later the nodes that watch the dead node, or have sent to
 * it since, are told of the death, and no others: a node that waits without watching
 * waits for ever. Nothing of a new life arrives before the loss of the old one has
 * been told. */
#ifndef UNIT_NIC_SERVICES_GROUP_H
#define UNIT_NIC_SERVICES_GROUP_H

#include "unit/unit.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/random.h"
#include "nic/services.h"
#include "nic/services_state.h"

enum {
    CLUSTER_NODES_MAX = 6,
    CLUSTER_WIRE_MAX = 8,
    CLUSTER_DATA_MAX = 128,
    CLUSTER_QUIET_STEPS = 200000,
    CLUSTER_DATAGRAMS_PER_LOSS = 8,
    CLUSTER_VALUE_BYTES = 128, /* behind every lock's word, one for all locks of a node */
};

struct cluster_record {
    struct wire_operation operation;
    bool is_datagram;
    unsigned char data[CLUSTER_DATA_MAX];
};

/* What is under way from one node to another, and what the first knows about the other. */
struct cluster_wire {
    struct cluster_record records[CLUSTER_WIRE_MAX];
    uint32_t first;
    uint32_t count;
    uint32_t known_life; /* of the other, as the first knows it; 0: knows that it is dead */
    bool watched;
    bool tried; /* the first has sent into a life that is gone */
    bool cut;   /* the two lives cannot reach each other any more */
};

struct cluster_node {
    bool alive;
    uint32_t life; /* from 1 on */
    void *space;
    struct nic_services *services;
    alignas(8) unsigned char value[CLUSTER_VALUE_BYTES];
};

struct group {
    uint64_t seed;
    struct base_random random;
    uint32_t count;
    uint32_t wire_room; /* records under way between two nodes, at most */
    uint64_t now_ns;
    struct nic_services_config config;
    struct cluster_node nodes[CLUSTER_NODES_MAX];
    struct cluster_wire wires[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX];
};

static struct group group;

#define cluster_check(condition)                                                          \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            print_error("seed %llu, %s:%d: not so: %s\n", (unsigned long long)group.seed, \
                        __FILE__, __LINE__, #condition);                                  \
            fail();                                                                       \
        }                                                                                 \
    } while (0)

static inline uint64_t cluster_below(uint64_t limit)
{
    return base_random_below(&group.random, limit);
}

static inline bool cluster_percent(uint32_t percent)
{
    return cluster_below(100) < percent;
}

/* ---- Lives --------------------------------------------------------------------------- */

static inline void cluster_watch(void *context, uint64_t now_ns, uint16_t peer, bool on)
{
    const struct cluster_node *node = context;
    struct cluster_wire *wire = &group.wires[node - group.nodes][peer];
    (void)now_ns;
    assert_true(wire->watched != on);
    wire->watched = on;
}

static inline bool cluster_value_read(void *context, uint64_t name, uint32_t offset, uint32_t bytes,
                                      void *into)
{
    const struct cluster_node *node = context;
    (void)name;
    bool fits = offset <= CLUSTER_VALUE_BYTES && bytes <= CLUSTER_VALUE_BYTES - offset;
    if (fits) {
        memcpy(into, node->value + offset, bytes);
    }
    return fits;
}

static inline bool cluster_value_change(void *context, uint64_t name, uint32_t offset,
                                        const void *from, uint32_t bytes, bool is_or)
{
    struct cluster_node *node = context;
    (void)name;
    bool fits = offset <= CLUSTER_VALUE_BYTES && bytes <= CLUSTER_VALUE_BYTES - offset;
    for (uint32_t i = 0; fits && i < bytes; i++) {
        unsigned char byte = ((const unsigned char *)from)[i];
        node->value[offset + i] = is_or ? node->value[offset + i] | byte : byte;
    }
    return fits;
}

static inline void cluster_born(uint32_t number)
{
    struct cluster_node *node = &group.nodes[number];
    struct nic_services_config config = group.config;
    struct nic_services_hooks hooks = {.context = node,
                                       .watch = cluster_watch,
                                       .value_read = cluster_value_read,
                                       .value_change = cluster_value_change};
    node->life++;
    config.node = (uint16_t)number;
    config.incarnation = node->life;
    config.node_count = group.count;
    uint64_t bytes = nic_services_bytes(&config);
    assert_true(bytes > 0);
    node->space = aligned_alloc(64, bytes);
    assert_non_null(node->space);
    memset(node->space, 0, bytes);
    node->services = nic_services_init(&config, &hooks, node->space, NULL);
    node->alive = true;
    for (uint32_t peer = 0; peer < group.count; peer++) {
        group.wires[number][peer] = (struct cluster_wire){.known_life = group.nodes[peer].life};
    }
}

static inline void cluster_begin(uint64_t seed, uint32_t count,
                                 const struct nic_services_config *config)
{
    memset(&group, 0, sizeof group);
    group.seed = seed;
    group.random.state = seed;
    group.count = count;
    group.wire_room = 1 + (uint32_t)cluster_below(CLUSTER_WIRE_MAX);
    group.now_ns = 1;
    group.config = *config;
    for (uint32_t i = 0; i < count; i++) {
        cluster_born(i);
    }
    for (uint32_t i = 0; i < count * count; i++) {
        group.wires[i / count][i % count].known_life = 1;
    }
}

static inline void cluster_end(void)
{
    for (uint32_t i = 0; i < group.count; i++) {
        free(group.nodes[i].space);
    }
}

/* A part of what it sent still arrives; nothing that was sent to it does. */
static inline void cluster_kill(uint32_t number)
{
    struct cluster_node *node = &group.nodes[number];
    node->alive = false;
    free(node->space);
    node->space = NULL;
    node->services = NULL;
    for (uint32_t peer = 0; peer < group.count; peer++) {
        struct cluster_wire *out = &group.wires[number][peer];
        struct cluster_wire *in = &group.wires[peer][number];
        out->count = (uint32_t)cluster_below(out->count + 1);
        in->tried = in->tried || in->count > 0;
        in->count = 0;
    }
}

/* Nothing of the lost life arrives any more. */
static inline void cluster_tell_loss(uint32_t at, uint32_t peer)
{
    struct cluster_wire *out = &group.wires[at][peer];
    struct cluster_wire *in = &group.wires[peer][at];
    const struct cluster_node *other = &group.nodes[peer];
    bool is_new_life = other->alive && other->life != out->known_life;
    in->count = is_new_life ? in->count : 0;
    out->count = 0;
    out->tried = false;
    out->known_life = is_new_life ? other->life : 0;
    nic_services_peer_lost(group.nodes[at].services, group.now_ns, (uint16_t)peer);
}

static inline bool cluster_knows(uint32_t at, uint32_t peer)
{
    return group.nodes[peer].alive && group.wires[at][peer].known_life == group.nodes[peer].life;
}

/* Both live on, and lose each other: one now, the other some time later. */
static inline void cluster_cut(uint32_t one, uint32_t other)
{
    struct cluster_wire *out = &group.wires[one][other];
    uint32_t arriving = (uint32_t)cluster_below(out->count + 1);
    if (!cluster_knows(one, other) || !cluster_knows(other, one)) {
        return;
    }
    out->cut = true;
    group.wires[other][one].cut = true;
    cluster_tell_loss(one, other);
    out->count = arriving;
}

/* ---- Steps --------------------------------------------------------------------------- */

static inline int cluster_append(uint32_t from, const struct nic_service_packet *packet)
{
    struct cluster_wire *wire = &group.wires[from][packet->target];
    if (wire->known_life == 0) {
        return DN_EPEER;
    }
    if (!cluster_knows(from, packet->target) || wire->cut) {
        wire->tried = true;
        return 0; /* into the void */
    }
    if (wire->count >= group.wire_room) {
        return DN_EFULL;
    }
    if (packet->may_get_lost && cluster_below(CLUSTER_DATAGRAMS_PER_LOSS) == 0) {
        return 0;
    }
    struct cluster_record *record =
        &wire->records[(wire->first + wire->count++) % CLUSTER_WIRE_MAX];
    assert_true(packet->operation.bytes <= CLUSTER_DATA_MAX);
    record->operation = packet->operation;
    record->is_datagram = packet->may_get_lost;
    if (packet->operation.bytes) {
        memcpy(record->data, packet->operation.data, packet->operation.bytes);
    }
    record->operation.data = record->data;
    return 0;
}

/* A round of sending. */
static inline void cluster_run(uint32_t number)
{
    struct nic_services *services = group.nodes[number].services;
    struct nic_service_packet packet;
    nic_services_begin(services);
    while (nic_services_next(services, group.now_ns, &packet)) {
        assert_true(packet.target < group.count && packet.target != number);
        int error = cluster_append(number, &packet);
        if (!error) {
            nic_services_sent(services, group.now_ns, &packet);
        } else if (error == DN_EPEER) {
            nic_services_peer_lost(services, group.now_ns, packet.target);
        }
    }
}

/* Delivers one record from one node to the other, if there is one. */
static inline void cluster_deliver(uint32_t from, uint32_t to)
{
    struct cluster_wire *wire = &group.wires[from][to];
    if (!group.nodes[to].alive || wire->count == 0) {
        return;
    }
    /* The records are of the sender's last life. */
    struct cluster_wire *back = &group.wires[to][from];
    if (back->known_life != group.nodes[from].life) {
        back->known_life = group.nodes[from].life;
        back->tried = false;
        nic_services_peer_lost(group.nodes[to].services, group.now_ns, (uint16_t)from);
    }
    struct cluster_record record = wire->records[wire->first];
    record.operation.data = record.data;
    wire->first = (wire->first + 1) % CLUSTER_WIRE_MAX;
    wire->count--;
    (record.is_datagram ? nic_services_deliver_datagram : nic_services_deliver)(
        group.nodes[to].services, group.now_ns, (uint16_t)from, &record.operation);
}

static inline bool cluster_is_to_notice(uint32_t at, uint32_t peer)
{
    const struct cluster_wire *wire = &group.wires[at][peer];
    bool is_gone = !cluster_knows(at, peer) && (wire->watched || wire->tried);
    return at != peer && group.nodes[at].alive && wire->known_life != 0 && (is_gone || wire->cut);
}

/* A death is noticed by those that watch or have sent; a new life after a loss by all. */
static inline void cluster_notice(uint32_t at, uint32_t peer)
{
    struct cluster_wire *wire = &group.wires[at][peer];
    if (wire->known_life == 0 && !wire->cut && group.nodes[peer].alive) {
        wire->known_life = group.nodes[peer].life; /* it has greeted us */
    }
    if (cluster_is_to_notice(at, peer)) {
        cluster_tell_loss(at, peer);
    }
}

/* A dead node begins anew. The rest of its old life's records is dropped. */
static inline void cluster_restart(uint32_t number)
{
    for (uint32_t peer = 0; peer < group.count; peer++) {
        group.wires[peer][number].cut = false;
    }
    cluster_born(number);
}

/* Lets something happen somewhere. */
static inline void cluster_step(void)
{
    uint32_t one = (uint32_t)cluster_below(group.count);
    uint32_t other = (uint32_t)cluster_below(group.count);
    group.now_ns += cluster_below(100);
    switch (cluster_below(8)) {
    case 0:
    case 1:
    case 2:
        if (group.nodes[one].alive) {
            cluster_run(one);
        }
        break;
    case 3: cluster_notice(one, other); break;
    default: cluster_deliver(one, other); break;
    }
}

/* Whether nothing is under way, due, or about to be noticed. */
static inline bool cluster_is_quiet(void)
{
    for (uint32_t i = 0; i < group.count * group.count; i++) {
        uint32_t from = i / group.count;
        uint32_t to = i % group.count;
        const struct cluster_wire *wire = &group.wires[from][to];
        if ((wire->count && group.nodes[to].alive) || cluster_is_to_notice(from, to)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < group.count; i++) {
        const struct nic_services *services = group.nodes[i].services;
        if (services && services->due.behind != &services->due) {
            return false;
        }
    }
    return true;
}

/* Lets everything happen that can. `host` acts for each living node; may be NULL. */
static inline void cluster_settle(void (*host)(uint32_t number))
{
    for (uint32_t steps = 0; !cluster_is_quiet(); steps++) {
        cluster_check(steps < CLUSTER_QUIET_STEPS);
        cluster_step();
        uint32_t number = (uint32_t)cluster_below(group.count);
        if (host && group.nodes[number].alive) {
            host(number);
        }
    }
}

static inline void cluster_assert_nobody_watches(void)
{
    for (uint32_t i = 0; i < group.count * group.count; i++) {
        if (group.nodes[i / group.count].alive) {
            cluster_check(!group.wires[i / group.count][i % group.count].watched);
        }
    }
}

/* Small tables, so that they are often full. */
static inline struct nic_services_config cluster_config(void)
{
    return (struct nic_services_config){
        .lock_count = 2,
        .lock_waiter_count = 16,
        .lock_request_count = 4,
        .team_count = 2,
        .messages = &nic_message_service,
        .context_count = 2,
        .context_peer_count = CLUSTER_NODES_MAX,
        .context_entry_count = 4,
        .context_send_bytes = 256,
        .context_receive_bytes = 192,
        .message_bytes_max = 96,
        .message_datagrams = true,
        .message_back_off_ns = 300,
        .message_resend_ns = 30000,
    };
}

#endif
