/* A network in memory with virtual time: two or more swifs, and between them packets that
 * are lost, doubled and overtaken as a test wants it.
 *
 * All nodes share the network's clock. A node is called when a packet comes and at the time it
 * asked for (plus `late_ns`), and then sends until it has nothing more to say. Operations
 * are AOTF stores of a number (requests) and FETCHED numbers (replies); deliveries
 * are recorded number by number. */
#ifndef UNIT_SWIF_PAIR_H
#define UNIT_SWIF_PAIR_H

#include "unit/unit.h"

#include <stdlib.h>

#include "base/random.h"
#include "dimmnet.h"
#include "swif/state.h"
#include "wire/operation.h"

enum {
    PAIR_NODES_MAX = 16,
    PAIR_RECORDS_MAX = 1 << 16,
    PAIR_FLIGHTS_MAX = 1 << 14,
    PAIR_OPERATION_BYTES = 24,
    PAIR_PGID = 7,
};

#define PAIR_US UINT64_C(1000)
#define PAIR_MS UINT64_C(1000000)
#define PAIR_S UINT64_C(1000000000)

/* One operation that was carried out. */
struct pair_record {
    uint64_t at_ns;
    uint64_t value;
    uint32_t packet; /* which delivery it was part of */
    uint16_t source;
    uint32_t source_incarnation;
    enum wire_kind kind;
    enum wire_class class;
    uint8_t channel;
    bool is_late;
};

struct pair;

struct pair_node {
    struct pair *pair;
    struct swif_config config;
    struct swif_client client;
    struct swif_guard guard;
    bool guarded;
    struct swif *swif; /* NULL: not running */
    void *memory;
    bool paused;      /* it is not called, and packets to it wait */
    uint64_t late_ns; /* how long after its deadline it is called */
    uint64_t called_ns;

    /* Whether a delivery is carried out; NULL: yes. */
    bool (*accept)(struct pair_node *node, const struct swif_delivery *delivery);
    uint32_t refuse; /* this many requests are refused first */
    uint32_t refused;

    struct pair_record *records;
    uint32_t record_count;
    uint32_t packet_count;
    uint64_t *cookies;
    uint32_t cookie_count;
    uint32_t lost_count[PAIR_NODES_MAX];
    uint32_t suspected_count[PAIR_NODES_MAX];
    uint32_t deaf; /* to so many suspicions */
};

struct pair_flight {
    uint64_t at_ns;
    uint64_t number; /* order of entry */
    uint16_t target;
    uint32_t bytes;
    unsigned char *packet;
};

/* A packet as a test sees it on its way. */
struct pair_packet {
    struct wire_header header;
    const unsigned char *body;
    uint32_t ack_count;
    struct wire_ack acks[WIRE_CLASSES];
    unsigned char *packet;
    uint32_t bytes;
};

struct pair {
    uint64_t now_ns;
    uint32_t count;
    struct base_random random;
    uint64_t delay_ns;
    uint64_t jitter_ns;
    uint32_t loss_permille;
    uint32_t double_permille;
    bool cut[PAIR_NODES_MAX][PAIR_NODES_MAX]; /* from, to */
    uint32_t width_bytes;                     /* longer packets vanish; 0: none do */
    /* Looks at everything that is sent; false: lost. */
    bool (*watch)(struct pair *pair, const struct pair_packet *packet);
    void *context; /* the test's */
    struct pair_flight *flights;
    uint32_t flight_count;
    uint64_t flight_number;
    struct pair_node nodes[PAIR_NODES_MAX];
};

/* ---- The client ------------------------------------------------------------------------- */

static inline bool pair_deliver(void *context, uint64_t now_ns,
                                const struct swif_delivery *delivery)
{
    struct pair_node *node = context;
    if (delivery->kind == WIRE_CD && delivery->class == WIRE_REQUEST && node->refuse) {
        node->refuse--;
        node->refused++;
        return false;
    }
    if (node->accept && !node->accept(node, delivery)) {
        node->refused++;
        return false;
    }
    struct wire_operation operation;
    uint32_t at = 0;
    while (
        wire_operation_decode(delivery->body, delivery->bytes, delivery->class, &at, &operation)) {
        assert_true(node->record_count < PAIR_RECORDS_MAX);
        node->records[node->record_count++] = (struct pair_record){
            .at_ns = now_ns,
            .value = operation.operand,
            .packet = node->packet_count,
            .source = delivery->source,
            .source_incarnation = delivery->source_incarnation,
            .kind = delivery->kind,
            .class = delivery->class,
            .channel = delivery->channel,
            .is_late = delivery->is_late,
        };
    }
    assert_int_equal(at, delivery->bytes);
    node->packet_count++;
    return true;
}

static inline bool pair_peer_suspected(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)now_ns;
    struct pair_node *node = context;
    node->suspected_count[peer]++;
    return node->deaf == 0 || node->deaf-- == 0;
}

static inline void pair_acknowledged(void *context, uint64_t now_ns, uint16_t peer, uint64_t cookie)
{
    (void)now_ns;
    (void)peer;
    struct pair_node *node = context;
    assert_true(node->cookie_count < PAIR_RECORDS_MAX);
    node->cookies[node->cookie_count++] = cookie;
}

static inline void pair_peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)now_ns;
    struct pair_node *node = context;
    node->lost_count[peer]++;
}

/* A guard whose tag is the sum of the packet's bytes and a key. */
static inline uint64_t pair_sum(const void *key, const unsigned char *packet, uint32_t bytes)
{
    uint64_t sum = (uint64_t)(uintptr_t)key + 99;
    for (uint32_t i = 0; i < bytes - WIRE_TAG_BYTES; i++) {
        sum = (sum ^ packet[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static inline void pair_guard_seal(void *context, const struct wire_header *header,
                                   unsigned char *packet, uint32_t bytes)
{
    (void)header;
    memset(packet + bytes - WIRE_TAG_BYTES, 0, WIRE_TAG_BYTES);
    wire_put64(packet + bytes - WIRE_TAG_BYTES, pair_sum(context, packet, bytes));
}

static inline bool pair_guard_open(void *context, const struct wire_header *header,
                                   unsigned char *packet, uint32_t bytes)
{
    (void)header;
    return wire_get64(packet + bytes - WIRE_TAG_BYTES) == pair_sum(context, packet, bytes);
}

/* ---- Nodes -------------------------------------------------------------------------------- */

/* Starts a node, or starts it again in another incarnation. */
static inline void pair_start(struct pair *pair, uint16_t number, uint32_t incarnation)
{
    struct pair_node *node = &pair->nodes[number];
    free(node->memory);
    node->config.incarnation = incarnation;
    uint64_t bytes = swif_bytes(&node->config);
    assert_true(bytes > 0);
    uint64_t whole;
    assert_true(round_up(bytes, CACHE_LINE_BYTES, &whole));
    node->memory = aligned_alloc(CACHE_LINE_BYTES, whole);
    assert_non_null(node->memory);
    memset(node->memory, 0, whole);
    node->swif = swif_init(&node->config, &node->client, node->guarded ? &node->guard : NULL,
                           pair->now_ns, node->memory);
    node->called_ns = pair->now_ns;
}

static inline void pair_crash(struct pair *pair, uint16_t number)
{
    free(pair->nodes[number].memory);
    pair->nodes[number].memory = NULL;
    pair->nodes[number].swif = NULL;
}

/* What tests start from: small, and quick to give up. */
static inline void pair_config(struct swif_config *config, uint32_t count)
{
    swif_config_default(config, count);
    config->buffer_count[WIRE_REQUEST] = 1024;
    config->buffer_count[WIRE_REPLY] = 512;
    config->reorder_count = 512;
    config->peer_timeout_ns = 2000 * PAIR_MS;
    config->rto_max_ns = 100 * PAIR_MS;
    config->pgid = PAIR_PGID;
}

/* `config` NULL: that of pair_config. */
static inline void pair_make(struct pair *pair, uint32_t count, const struct swif_config *config)
{
    struct swif_config usual;
    if (!config) {
        pair_config(&usual, count);
        config = &usual;
    }
    assert_true(count <= PAIR_NODES_MAX);
    memset(pair, 0, sizeof *pair);
    pair->now_ns = PAIR_S;
    pair->count = count;
    pair->random.state = 1;
    pair->delay_ns = 20 * PAIR_US;
    pair->flights = calloc(PAIR_FLIGHTS_MAX, sizeof *pair->flights);
    assert_non_null(pair->flights);
    for (uint16_t i = 0; i < count; i++) {
        struct pair_node *node = &pair->nodes[i];
        node->pair = pair;
        node->config = *config;
        node->config.node = i;
        node->client = (struct swif_client){node, pair_deliver, pair_acknowledged, pair_peer_lost,
                                            pair_peer_suspected};
        node->guard = (struct swif_guard){NULL, pair_guard_seal, pair_guard_open};
        node->records = calloc(PAIR_RECORDS_MAX, sizeof *node->records);
        node->cookies = calloc(PAIR_RECORDS_MAX, sizeof *node->cookies);
        assert_true(node->records && node->cookies);
        pair_start(pair, i, 1);
    }
}

static inline void pair_free(struct pair *pair)
{
    for (uint32_t i = 0; i < pair->flight_count; i++) {
        free(pair->flights[i].packet);
    }
    free(pair->flights);
    for (uint32_t i = 0; i < pair->count; i++) {
        free(pair->nodes[i].memory);
        free(pair->nodes[i].records);
        free(pair->nodes[i].cookies);
    }
}

/* ---- The network -------------------------------------------------------------------------- */

static inline void pair_fly(struct pair *pair, uint64_t at_ns, uint16_t target,
                            const unsigned char *packet, uint32_t bytes)
{
    assert_true(pair->flight_count < PAIR_FLIGHTS_MAX);
    struct pair_flight *flight = &pair->flights[pair->flight_count++];
    *flight = (struct pair_flight){at_ns, pair->flight_number++, target, bytes, malloc(bytes)};
    assert_non_null(flight->packet);
    memcpy(flight->packet, packet, bytes);
}

static inline void pair_look(struct pair_packet *seen, unsigned char *packet, uint32_t bytes)
{
    *seen = (struct pair_packet){.packet = packet, .bytes = bytes};
    assert_true(wire_header_decode(packet, bytes, &seen->header));
    const unsigned char *acks = packet + WIRE_PREFIX_BYTES;
    assert_true(wire_acks_check(acks, seen->header.ack_bytes));
    uint32_t at = 0;
    while (seen->ack_count < WIRE_CLASSES &&
           wire_ack_decode(acks, seen->header.ack_bytes, &at, &seen->acks[seen->ack_count])) {
        seen->ack_count++;
    }
    seen->body = acks + seen->header.ack_bytes;
}

static inline void pair_enter(struct pair *pair, uint16_t source, uint16_t target,
                              unsigned char *packet, uint32_t bytes)
{
    struct pair_packet seen;
    pair_look(&seen, packet, bytes);
    assert_int_equal(seen.header.source, source);
    assert_int_equal(seen.header.target, target);
    assert_true(bytes <= pair->nodes[source].config.packet_bytes_max);
    if (pair->watch && !pair->watch(pair, &seen)) {
        return;
    }
    uint32_t copies = 1 + (base_random_below(&pair->random, 1000) < pair->double_permille);
    for (uint32_t i = 0; i < copies; i++) {
        bool lost = base_random_below(&pair->random, 1000) < pair->loss_permille;
        uint64_t jitter_ns = pair->jitter_ns ? base_random_below(&pair->random, pair->jitter_ns)
                                             : 0;
        bool fits = pair->width_bytes == 0 || bytes <= pair->width_bytes;
        if (!lost && fits && !pair->cut[source][target]) {
            pair_fly(pair, pair->now_ns + pair->delay_ns + jitter_ns, target, packet, bytes);
        }
    }
}

/* Lets a node say all that it has to say now. */
static inline void pair_call(struct pair *pair, uint16_t number)
{
    struct pair_node *node = &pair->nodes[number];
    unsigned char packet[WIRE_PACKET_BYTES_MAX];
    uint16_t target;
    uint32_t bytes;
    uint32_t said = 0;
    node->called_ns = pair->now_ns;
    while ((bytes = swif_transmit(node->swif, pair->now_ns, packet, &target)) != 0) {
        pair_enter(pair, number, target, packet, bytes);
        assert_true(++said < 100000); /* or it never ends */
    }
}

static inline void pair_call_all(struct pair *pair)
{
    for (uint16_t i = 0; i < pair->count; i++) {
        if (pair->nodes[i].swif && !pair->nodes[i].paused) {
            pair_call(pair, i);
        }
    }
}

/* When the node wants to be called. */
static inline uint64_t pair_wake_ns(const struct pair *pair, const struct pair_node *node)
{
    if (!node->swif || node->paused) {
        return UINT64_MAX;
    }
    uint64_t at_ns = swif_deadline_ns(node->swif);
    if (at_ns == UINT64_MAX) {
        return at_ns;
    }
    return swif_most(at_ns ? at_ns + node->late_ns : 0, pair->now_ns);
}

/* The first flight whose target takes packets, or flight_count. */
static inline uint32_t pair_first_flight(const struct pair *pair)
{
    uint32_t first = pair->flight_count;
    for (uint32_t i = 0; i < pair->flight_count; i++) {
        const struct pair_flight *flight = &pair->flights[i];
        if (pair->nodes[flight->target].paused) {
            continue;
        }
        if (first == pair->flight_count || flight->at_ns < pair->flights[first].at_ns ||
            (flight->at_ns == pair->flights[first].at_ns &&
             flight->number < pair->flights[first].number)) {
            first = i;
        }
    }
    return first;
}

static inline void pair_land(struct pair *pair, uint32_t index)
{
    struct pair_flight flight = pair->flights[index];
    pair->flights[index] = pair->flights[--pair->flight_count];
    struct pair_node *node = &pair->nodes[flight.target];
    if (node->swif) {
        swif_receive(node->swif, pair->now_ns, flight.packet, flight.bytes);
        pair_call(pair, flight.target);
    }
    free(flight.packet);
}

/* Lets the next thing happen, not after `end_ns`; false: nothing does. */
static inline bool pair_step(struct pair *pair, uint64_t end_ns)
{
    uint32_t flight = pair_first_flight(pair);
    uint64_t first_ns = UINT64_MAX;
    uint16_t waker = 0;
    for (uint16_t i = 0; i < pair->count; i++) {
        uint64_t at_ns = pair_wake_ns(pair, &pair->nodes[i]);
        if (at_ns < first_ns) {
            first_ns = at_ns;
            waker = i;
        }
    }
    bool lands = flight < pair->flight_count && pair->flights[flight].at_ns <= first_ns;
    if (lands) {
        first_ns = pair->flights[flight].at_ns;
    }
    if (first_ns > end_ns || first_ns == UINT64_MAX) {
        return false;
    }
    pair->now_ns = swif_most(pair->now_ns, first_ns);
    if (lands) {
        pair_land(pair, flight);
    } else {
        pair_call(pair, waker);
    }
    return true;
}

static inline void pair_run(struct pair *pair, uint64_t span_ns)
{
    uint64_t end_ns = pair->now_ns + span_ns;
    while (pair_step(pair, end_ns)) {
    }
    pair->now_ns = end_ns;
}

/* Runs until nothing is under way and nobody waits for anything. */
static inline void pair_settle(struct pair *pair)
{
    uint64_t end_ns = pair->now_ns + 100 * PAIR_S;
    uint32_t steps = 0;
    while (pair_step(pair, end_ns)) {
        assert_true(++steps < 4000000);
    }
    assert_int_equal(pair->flight_count, 0);
}

/* ---- Sending -------------------------------------------------------------------------------- */

static inline int pair_append(struct pair *pair, uint16_t from, const struct wire_route *route,
                              uint64_t value)
{
    struct wire_operation operation = {
        .opcode = route->class == WIRE_REPLY ? WIRE_FETCHED : WIRE_AOTF,
        .bytes = 8,
        .operand = value,
    };
    unsigned char *room;
    int error = swif_append(pair->nodes[from].swif, pair->now_ns, route, PAIR_OPERATION_BYTES,
                            &room);
    if (error == 0) {
        wire_operation_encode(&operation, room);
    }
    return error;
}

/* One ordered request on channel 0, in a packet of its own. */
static inline void pair_send(struct pair *pair, uint16_t from, uint16_t to, uint64_t value)
{
    struct wire_route route = {.target = to, .ordered = true, .cookie = value + 1};
    assert_int_equal(pair_append(pair, from, &route, value), 0);
}

static inline int pair_datagram(struct pair *pair, uint16_t from, uint16_t to, uint64_t value)
{
    struct wire_operation operation = {.opcode = WIRE_AOTF, .bytes = 8, .operand = value};
    unsigned char body[PAIR_OPERATION_BYTES];
    wire_operation_encode(&operation, body);
    return swif_datagram(pair->nodes[from].swif, pair->now_ns, to, 3, body, sizeof body);
}

/* Makes both know each other's incarnation, with no more contexts than that takes. */
static inline void pair_acquaint(struct pair *pair)
{
    for (uint16_t i = 0; i < pair->count; i++) {
        for (uint16_t j = 0; j < pair->count; j++) {
            swif_peer_is(pair->nodes[i].swif, pair->now_ns, j, pair->nodes[j].config.incarnation);
        }
    }
}

/* Asserts that the node's records are these numbers in this order. */
static inline void pair_assert_numbers(const struct pair_node *node, uint64_t first, uint32_t count)
{
    assert_int_equal(node->record_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(node->records[i].value, first + i);
    }
}

#endif
