/* The world of receive_fuzz.c: two boards of a group of four, a guard, and a network that
 * keeps a few packets. The fuzzer plays the other two nodes.
 *
 * receive() is the point of it all: a packet that is not authentic, not for this node, from a past
 * life of its sender, or numbered as one before leaves every byte of the board's memory as it was,
 * except InfiniSWIF's counters. What a rank sends is never numbered twice under one
 * incarnation, whatever processes it had. In some worlds nodes live once: their incarnations have
 * no order. */
#ifndef FUZZ_RECEIVE_WORLD_H
#define FUZZ_RECEIVE_WORLD_H

#include "base/base.h"
#include "board/board.h"
#include "fuzz.h"

enum {
    NODES = 4,
    BOARDS = 2, /* nodes 0 and 1 */
    PGID = 77,
    PACKET_BYTES_MAX = 640,
    PATH_BYTES_MIN = 256,
    MEMORY_BYTES = 4096,
    AREA_ONE_BYTES = 1000,
    AREA_TWO_AT = 2048,
    AREA_TWO_BYTES = 64,
    STALE_AREA = 3,
    COMPLETIONS = 16,
    SERVICE_USES = 4,
    BUFFER_BYTES = 2048, /* what a completion's transfer reads or writes */
    FLIGHTS = 32,
    TRANSMITS_MAX = 100000, /* at one moment */
    HEARD_MAX = 1024,       /* packets of one sender that are kept in mind */
    LIVES_MAX = 1024,       /* of one rank in a run */
};

#define PEER_TIMEOUT_NS UINT64_C(10000000)

/* A user's operation; `target` says who can end it. */
struct work {
    struct nic_completion completion;
    uint16_t target; /* NODES: all of them (QUIET) */
    unsigned char buffer[BUFFER_BYTES];
};

/* The counters of all packets that came to a board from one sender in one life. */
struct heard {
    uint32_t incarnation;
    uint32_t count;
    uint64_t counters[HEARD_MAX];
};

/* The last counter of a process that had a rank. */
struct used {
    uint32_t incarnation;
    uint64_t counter;
};

struct node {
    struct board board;
    void *space;
    void *snapshot;
    uint64_t space_bytes;
    uint32_t incarnation;
    struct used used[LIVES_MAX]; /* of all processes so far, this one last */
    uint32_t used_count;
    struct heard heard[NODES];
    uint64_t kick_addresses[NODES];
    struct work works[COMPLETIONS];
    struct nic_completion service_completions[SERVICE_USES];
    uint64_t tickets[SERVICE_USES]; /* of locks */
    unsigned char *memory;
    unsigned char memory_snapshot[MEMORY_BYTES];
};

struct flight {
    uint32_t bytes; /* 0: none */
    uint16_t target;
    unsigned char packet[PACKET_BYTES_MAX];
};

static struct world {
    uint64_t now_ns;
    struct board_config config;
    struct node nodes[BOARDS];
    struct flight flights[FLIGHTS]; /* a ring; the oldest is lost when it is full */
    uint32_t flight_next;
    unsigned char pattern[MEMORY_BYTES]; /* what node memory starts with */
    bool lives_once;
    bool has_services; /* teams and contexts are open, and their members watched */
    bool skips_sent;   /* an AOTF with a physical address may write anywhere */
} world;

static void trace_packet(const char *what, const struct wire_header *header)
{
    (void)what;
    (void)header;
    FUZZ_TRACE("%llu %s: kind %d flags %d, %u.%u -> %u.%u, sequence %u after %u, acks %u body %u, "
               "counter %llu\n",
               (unsigned long long)world.now_ns, what, (int)header->kind, header->flags,
               header->source, header->source_incarnation, header->target,
               header->target_incarnation, header->sequence, header->after, header->ack_bytes,
               header->body_bytes, (unsigned long long)header->counter);
}

/* ---- The guard ------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void tag_of(const unsigned char *packet, uint32_t bytes, unsigned char *tag)
{
    uint64_t one = 1;
    uint64_t other = 2;
    uint32_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        one = mix(one, wire_get64(packet + at));
        other = mix(other, one);
    }
    for (; at < bytes; at++) {
        one = mix(one, packet[at]);
        other = mix(other, one);
    }
    wire_put64(tag, mix(one, bytes));
    wire_put64(tag + 8, mix(other, bytes));
}

/* Acknowledgements and body are encrypted, so that code that trusts them too early is found. */
static void crypt(const struct wire_header *header, unsigned char *packet, uint32_t bytes)
{
    uint64_t key = mix(header->counter, header->source);
    for (uint32_t i = WIRE_PREFIX_BYTES; i + WIRE_TAG_BYTES < bytes; i++) {
        packet[i] ^= (unsigned char)(mix(key, i) >> 8);
    }
}

static void seal(void *context, const struct wire_header *header, unsigned char *packet,
                 uint32_t bytes)
{
    (void)context;
    crypt(header, packet, bytes);
    tag_of(packet, bytes - WIRE_TAG_BYTES, packet + bytes - WIRE_TAG_BYTES);
}

static bool is_authentic(const unsigned char *packet, uint32_t bytes)
{
    unsigned char tag[WIRE_TAG_BYTES];
    tag_of(packet, bytes - WIRE_TAG_BYTES, tag);
    return memcmp(tag, packet + bytes - WIRE_TAG_BYTES, sizeof tag) == 0;
}

static bool open_packet(void *context, const struct wire_header *header, unsigned char *packet,
                        uint32_t bytes)
{
    (void)context;
    if (!is_authentic(packet, bytes)) {
        return false;
    }
    crypt(header, packet, bytes);
    return true;
}

/* ---- Boards ---------------------------------------------------------------------------- */

static int find_area(void *context, uint32_t area, struct nic_extent *extent)
{
    (void)context;
    switch (area) {
    case 1: *extent = (struct nic_extent){.bytes = AREA_ONE_BYTES}; return 0;
    case 2: *extent = (struct nic_extent){.offset = AREA_TWO_AT, .bytes = AREA_TWO_BYTES}; return 0;
    case STALE_AREA: return DN_ESTALE;
    default: return DN_EAREA;
    }
}

static void written(void *context, uint64_t offset, uint64_t bytes)
{
    (void)context;
    FUZZ_ASSERT(offset <= MEMORY_BYTES && bytes <= MEMORY_BYTES - offset);
}

static void take_datagram(void *context, uint64_t now_ns, const struct swif_delivery *delivery)
{
    (void)context;
    (void)now_ns;
    FUZZ_ASSERT(delivery->source < NODES && delivery->channel < WIRE_CHANNELS);
    FUZZ_ASSERT(wire_body_check(delivery->body, delivery->bytes, WIRE_REQUEST));
}

static void note_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    const struct node *node = context;
    FUZZ_TRACE("%llu lost %u\n", (unsigned long long)now_ns, peer);
    FUZZ_ASSERT(now_ns == world.now_ns && peer < NODES);
    /* Nothing waits for the dead node any more. */
    for (uint32_t i = 0; i < COMPLETIONS; i++) {
        const struct work *work = &node->works[i];
        FUZZ_ASSERT(work->target != peer || work->completion.state != NIC_PENDING);
    }
}

static void open_services(struct node *node, uint16_t number)
{
    static const uint16_t EVERYBODY[NODES] = {0, 1, 2, 3};
    struct nic_services *services = node->board.services;
    uint32_t flags = number == 0 ? DN_CONTEXT_RESEND_REQUEST : DN_CONTEXT_BACK_OFF;
    FUZZ_ASSERT(nic_packet_barrier_open(services, world.now_ns, 1, EVERYBODY, NODES) == 0);
    const struct nic_message_lists lists = {EVERYBODY, NODES, EVERYBODY, NODES};
    FUZZ_ASSERT(nic_packet_message_open(services, 0, &lists, flags, NULL) == 0);
    FUZZ_ASSERT(nic_packet_message_ask_all(services, 0) == 0);
}

/* The next process in a rank has a number of its own, as all have that choose theirs at random. */
static uint32_t next_incarnation(uint16_t number, uint32_t before)
{
    return world.lives_once ? (uint32_t)mix(before, number) | 1 : before + 1;
}

/* Begins a life of a board, with nothing left of the life before but the numbers that were used. */
static void start_board(uint16_t number)
{
    struct node *node = &world.nodes[number];
    node->incarnation = next_incarnation(number, node->incarnation);
    for (uint32_t i = 0; i < node->used_count; i++) {
        FUZZ_ASSERT(node->used[i].incarnation != node->incarnation);
    }
    FUZZ_ASSERT(node->used_count < LIVES_MAX);
    node->used[node->used_count++] = (struct used){.incarnation = node->incarnation};
    memset(node->heard, 0, sizeof node->heard);
    memset(node->works, 0, sizeof node->works);
    memset(node->service_completions, 0, sizeof node->service_completions);
    memset(node->tickets, 0, sizeof node->tickets);
    memset(node->space, 0, node->space_bytes);
    memcpy(node->memory, world.pattern, MEMORY_BYTES);
    struct board_config config = world.config;
    config.swif.node = number;
    config.swif.incarnation = node->incarnation;
    config.swif.lives_once = world.lives_once;
    struct nic_local_memory memory = {
        .base = node->memory, .bytes = MEMORY_BYTES, .find = find_area, .written = written};
    struct swif_guard guard = {.seal = seal, .open = open_packet};
    struct board_listener listener = {
        .context = node, .peer_lost = note_lost, .datagram = take_datagram};
    FUZZ_ASSERT(board_init(&node->board, &config, &memory, &guard, &listener, world.now_ns,
                           node->space) == 0);
    FUZZ_ASSERT(nic_user_set(node->board.engine, 0, 16) == 0);
    FUZZ_ASSERT(nic_user_set(node->board.engine, 1, 3) == 0);
    for (int rank = 0; rank < NODES; rank++) {
        struct dn_remote page = {rank, 1, 0};
        FUZZ_ASSERT(nic_kick_open(node->board.engine, (uint32_t)rank % 2, page, false,
                                  &node->kick_addresses[rank]) == 0);
    }
    if (world.has_services) {
        open_services(node, number);
    }
}

static void configure(uint32_t choice)
{
    struct board_config *config = &world.config;
    board_config_default(config, NODES);
    nic_services_config_messages(&config->services);
    config->swif.pgid = PGID;
    config->swif.packet_bytes_max = PACKET_BYTES_MAX;
    config->swif.path_bytes_min = choice & 8 ? PATH_BYTES_MIN : 0;
    config->swif.ways = 1;
    config->swif.ltee_count = choice & 1 ? 1 : 4;
    config->swif.rtee_count = choice & 2 ? 1 : 4;
    config->swif.buffer_count[WIRE_REQUEST] = 8;
    config->swif.buffer_count[WIRE_REPLY] = choice & 4 ? 1 : 4;
    config->swif.reorder_count = 4;
    config->swif.queue_max = 6;
    config->swif.window_max = choice & 8 ? 248 : 4;
    config->swif.stage_max = (enum wire_stage)(choice >> 4 & 3) % 3;
    config->swif.congestion_control = (choice & 64) != 0;
    config->swif.peer_timeout_ns = PEER_TIMEOUT_NS;
    config->swif.rto_first_ns = 500000;
    config->engine.kick_page_count = 8;
    config->engine.transfer_count = 4;
    config->engine.outstanding_count = 8;
    config->services.lock_count = 2;
    config->services.lock_waiter_count = 4;
    config->services.lock_request_count = 4;
    config->services.team_count = 2;
    config->services.context_count = 1;
    config->services.context_entry_count = 4;
    config->services.context_send_bytes = 256;
    config->services.context_receive_bytes = 256;
    config->services.message_bytes_max = 64;
}

/* Memory of exactly the size that boards of this choice need; kept from run to run. */
static void give_space(struct node *node, uint32_t choice, uint16_t number)
{
    static struct {
        void *space, *snapshot, *memory;
    } kept[16][BOARDS];
    uint32_t sizes = choice & 15; /* the bits of the choice that make sizes differ */
    uint64_t bytes = board_bytes(&world.config);
    FUZZ_ASSERT(bytes > 0);
    if (kept[sizes][number].space == NULL) {
        kept[sizes][number].space = aligned_alloc(CACHE_LINE_BYTES, bytes);
        kept[sizes][number].snapshot = malloc(bytes);
        kept[sizes][number].memory = aligned_alloc(CACHE_LINE_BYTES, MEMORY_BYTES);
    }
    node->space = kept[sizes][number].space;
    node->snapshot = kept[sizes][number].snapshot;
    node->memory = kept[sizes][number].memory;
    node->space_bytes = bytes;
    FUZZ_ASSERT(node->space && node->snapshot && node->memory);
}

static void make_world(uint32_t choice)
{
    world.now_ns = 1000;
    world.skips_sent = false;
    world.has_services = (choice & 128) != 0;
    world.lives_once = (choice & 512) != 0;
    world.flight_next = 0;
    for (uint32_t i = 0; i < FLIGHTS; i++) {
        world.flights[i].bytes = 0;
    }
    for (uint32_t i = 0; i < MEMORY_BYTES; i++) {
        world.pattern[i] = (unsigned char)(i * 7);
    }
    configure(choice);
    world.config.swif.node = 0;
    world.config.swif.incarnation = 1;
    for (uint16_t i = 0; i < BOARDS; i++) {
        give_space(&world.nodes[i], choice, i);
        world.nodes[i].incarnation = 4;
        world.nodes[i].used_count = 0;
        start_board(i);
    }
}

/* ---- Receiving ------------------------------------------------------------------------- */

/* Whether the packet's number has come before, from that life of its sender. */
static bool was_heard(const struct node *node, const struct wire_header *header)
{
    const struct heard *heard = &node->heard[header->source];
    for (uint32_t i = 0; i < heard->count; i++) {
        if (heard->incarnation == header->source_incarnation &&
            heard->counters[i] == header->counter) {
            return true;
        }
    }
    return false;
}

static void note_heard(struct node *node, const struct wire_header *header)
{
    struct heard *heard = &node->heard[header->source];
    if (heard->incarnation != header->source_incarnation) {
        heard->incarnation = header->source_incarnation;
        heard->count = 0;
    }
    FUZZ_ASSERT(heard->count < HEARD_MAX);
    heard->counters[heard->count++] = header->counter;
}

static bool is_of_known_life(const struct node *node, const struct wire_header *header)
{
    uint32_t known = swif_peer_incarnation(node->board.swif, header->source);
    return world.lives_once ? known == 0 || header->source_incarnation == known
                            : header->source_incarnation >= known;
}

static bool is_believable(uint16_t number, const unsigned char *packet, uint32_t bytes,
                          struct wire_header *header)
{
    struct node *node = &world.nodes[number];
    if (bytes > PACKET_BYTES_MAX || !wire_header_decode(packet, bytes, header)) {
        FUZZ_TRACE("malformed to %u\n", number);
        return false;
    }
    bool believable = header->target == number && header->source < NODES && header->pgid == PGID &&
                      is_authentic(packet, bytes) && is_of_known_life(node, header) &&
                      !was_heard(node, header);
    trace_packet(believable ? "received" : "tampered", header);
    return believable;
}

/* Gives the board an exact copy of the packet. */
static void hand_over(struct node *node, const unsigned char *packet, uint32_t bytes)
{
    unsigned char *copy = fuzz_copy(packet, bytes);
    board_receive(&node->board, world.now_ns, copy, bytes);
    free(copy);
}

static void assert_unchanged(const struct node *node, const struct board *board_before)
{
    const unsigned char *now = node->space;
    const unsigned char *before = node->snapshot;
    const unsigned char *counters = (const void *)swif_counters(node->board.swif);
    size_t counters_at = (size_t)(counters - now);
    size_t behind = counters_at + sizeof(struct swif_counters);
    FUZZ_ASSERT(counters_at < node->space_bytes && behind <= node->space_bytes);
    FUZZ_ASSERT(memcmp(now, before, counters_at) == 0);
    FUZZ_ASSERT(memcmp(now + behind, before + behind, node->space_bytes - behind) == 0);
    FUZZ_ASSERT(memcmp(&node->board, board_before, sizeof *board_before) == 0);
    FUZZ_ASSERT(memcmp(node->memory, node->memory_snapshot, MEMORY_BYTES) == 0);
}

static void receive(uint16_t number, const unsigned char *packet, uint32_t bytes)
{
    struct node *node = &world.nodes[number];
    const struct swif_counters *counters = swif_counters(node->board.swif);
    struct wire_header header;
    if (is_believable(number, packet, bytes, &header)) {
        uint64_t received_before = counters->packets_received;
        hand_over(node, packet, bytes);
        if (counters->packets_received != received_before) {
            note_heard(node, &header); /* or it was malformed inside */
        }
        return;
    }
    /* Any arrival makes the engine run once more; the empty packet does that before the comparison
     * begins. */
    hand_over(node, packet, 0);
    struct board board_before;
    memcpy(&board_before, &node->board, sizeof board_before);
    memcpy(node->snapshot, node->space, node->space_bytes);
    memcpy(node->memory_snapshot, node->memory, MEMORY_BYTES);
    uint64_t delivered_before = counters->bodies_delivered;
    hand_over(node, packet, bytes);
    FUZZ_ASSERT(counters->bodies_delivered == delivered_before);
    assert_unchanged(node, &board_before);
}

/* Memory that no registered area covers stays as it was, unless an address was physical. */
static void check_memory(const struct node *node)
{
    uint32_t behind = AREA_TWO_AT + AREA_TWO_BYTES;
    FUZZ_ASSERT(
        world.skips_sent ||
        (memcmp(node->memory + AREA_ONE_BYTES, world.pattern + AREA_ONE_BYTES,
                AREA_TWO_AT - AREA_ONE_BYTES) == 0 &&
         memcmp(node->memory + behind, world.pattern + behind, MEMORY_BYTES - behind) == 0));
}

/* ---- Sending --------------------------------------------------------------------------- */

/* Checks that what a board sends is well-formed, its own, and newly numbered. Opens the packet. */
static void check_sent(uint16_t number, uint16_t target, unsigned char *packet, uint32_t bytes,
                       struct wire_header *header)
{
    struct node *node = &world.nodes[number];
    FUZZ_ASSERT(bytes <= PACKET_BYTES_MAX && wire_header_decode(packet, bytes, header));
    FUZZ_ASSERT(header->source == number && header->target == target && target < NODES);
    FUZZ_ASSERT(header->source_incarnation == node->incarnation && header->pgid == PGID);
    struct used *used = &node->used[node->used_count - 1];
    FUZZ_ASSERT(header->source_incarnation == used->incarnation && header->counter > used->counter);
    used->counter = header->counter;
    trace_packet("sent", header);
    FUZZ_ASSERT(open_packet(NULL, header, packet, bytes));
    const unsigned char *acks = packet + WIRE_PREFIX_BYTES;
    const unsigned char *body = acks + header->ack_bytes;
    FUZZ_ASSERT(wire_acks_check(acks, header->ack_bytes));
    if (header->kind == WIRE_CONTROL) {
        FUZZ_ASSERT(header->body_bytes == 0 || (body[0] >= 1 && body[0] <= WIRE_CONTROL_LAST));
        FUZZ_ASSERT(wire_control_check(body, header->body_bytes));
    } else if (header->kind == WIRE_PIECE) {
        struct wire_piece piece;
        FUZZ_ASSERT(wire_piece_decode(body, header->body_bytes, &piece));
    } else {
        enum wire_class class = header->flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST;
        FUZZ_ASSERT(wire_body_check(body, header->body_bytes, class));
    }
}

static void put_in_flight(uint16_t target, const unsigned char *packet, uint32_t bytes)
{
    struct flight *flight = &world.flights[world.flight_next++ % FLIGHTS];
    flight->target = target;
    flight->bytes = bytes;
    memcpy(flight->packet, packet, bytes);
}

#endif
