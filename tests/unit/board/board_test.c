/* Whole boards on a network that loses, doubles and reorders packets, in virtual time. */
#include <stdalign.h>
#include <stdlib.h>

#include "unit/unit.h"
#include "base/random.h"
#include "board/board.h"
#include "nic/services_state.h"

enum {
    NODES = 3,
    MEMORY_BYTES = 64 * 1024,
    FLYING_MAX = 4096,
    PACKET_BYTES = 1472,
};

static const uint64_t latency_ns = 5000;

struct flying {
    uint64_t at_ns;
    uint64_t number; /* breaks ties */
    uint16_t target;
    uint32_t bytes;
    unsigned char packet[PACKET_BYTES];
};

struct node {
    struct board board;
    void *space;
    bool dead;
    alignas(64) unsigned char memory[MEMORY_BYTES];
    uint32_t lost_count;
    uint16_t lost_peer;
    const struct nic_completion *watched; /* its state when the peer's loss was told */
    uint32_t state_then;
    uint32_t datagram_count;
    unsigned char datagram[64];
};

static struct {
    struct node nodes[NODES];
    struct flying flying[FLYING_MAX];
    uint32_t flying_count;
    uint64_t number;
    uint64_t now_ns;
    uint64_t carried;
    uint32_t lose_ppm, double_ppm, reorder_ppm;
    struct base_random random;
} world;

static int find(void *context, uint32_t area, struct nic_extent *extent)
{
    (void)context;
    *extent = (struct nic_extent){.offset = 0, .bytes = MEMORY_BYTES};
    return area == DN_BANK ? 0 : DN_EAREA;
}

static void peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    struct node *node = context;
    (void)now_ns;
    node->lost_count++;
    node->lost_peer = peer;
    node->state_then = node->watched ? node->watched->state : 0;
}

static void datagram(void *context, uint64_t now_ns, const struct swif_delivery *delivery)
{
    struct node *node = context;
    (void)now_ns;
    assert_true(delivery->bytes <= sizeof node->datagram);
    memcpy(node->datagram, delivery->body, delivery->bytes);
    node->datagram_count++;
}

static bool is_tight; /* boards with so few buffers that they are always full */
static bool has_one_context;

static void configure(struct board_config *config, uint16_t node)
{
    board_config_default(config, NODES);
    nic_services_config_messages(&config->services);
    config->services.message_datagrams = true;
    config->swif.node = node;
    config->swif.pgid = 5;
    config->swif.incarnation = 1;
    config->swif.peer_timeout_ns = 50 * UNIT_MS;
    config->swif.packet_bytes_max = PACKET_BYTES;
    config->swif.buffer_count[WIRE_REQUEST] = 64;
    config->swif.buffer_count[WIRE_REPLY] = 64;
    config->swif.reorder_count = 64;
    config->services.lock_count = 64; /* all of it is written to below */
    config->services.lock_waiter_count = 256;
    config->services.lock_request_count = 64;
    if (is_tight) {
        config->swif.peer_timeout_ns = 2000 * UNIT_MS; /* resending takes its time */
        config->swif.buffer_count[WIRE_REQUEST] = 3;
        config->swif.buffer_count[WIRE_REPLY] = 2;
        config->swif.reorder_count = 4;
        config->engine.transfer_count = 2;
    }
    if (has_one_context) {
        config->swif.ways = 1;
        config->swif.ltee_count = 1;
        config->swif.rtee_count = 1;
        config->engine.outstanding_count = 2;
    }
}

static void start(uint16_t number, const struct board_config *config)
{
    struct node *node = &world.nodes[number];
    uint64_t bytes = board_bytes(config);
    assert_true(bytes != 0 && bytes % 64 == 0);
    node->space = aligned_alloc(64, bytes);
    assert_non_null(node->space);
    memset(node->space, 0, bytes);
    struct nic_local_memory memory = {
        .context = node, .base = node->memory, .bytes = MEMORY_BYTES, .find = find};
    struct board_listener listener = {
        .context = node, .peer_lost = peer_lost, .datagram = datagram};
    assert_int_equal(
        board_init(&node->board, config, &memory, NULL, &listener, world.now_ns, node->space), 0);
    assert_int_equal(nic_user_set(node->board.engine, 0, 256), 0);
}

static int make(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    for (uint16_t i = 0; i < NODES; i++) {
        struct board_config config;
        configure(&config, i);
        start(i, &config);
    }
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES; i++) {
        free(world.nodes[i].space);
    }
    return 0;
}

/* ---- The network ----------------------------------------------------------------------- */

static bool happens(uint32_t ppm)
{
    return base_random_below(&world.random, 1000000) < ppm;
}

static void put_in_the_air(uint16_t target, const unsigned char *packet, uint32_t bytes)
{
    assert_true(world.flying_count < FLYING_MAX);
    struct flying *flying = &world.flying[world.flying_count++];
    flying->at_ns = world.now_ns + latency_ns;
    if (happens(world.reorder_ppm)) {
        flying->at_ns += base_random_below(&world.random, 10 * latency_ns);
    }
    flying->number = world.number++;
    flying->target = target;
    flying->bytes = bytes;
    memcpy(flying->packet, packet, bytes);
}

static void send_all(struct node *node)
{
    unsigned char packet[PACKET_BYTES];
    uint16_t target;
    uint32_t bytes;
    uint32_t count = 0;
    while ((bytes = board_transmit(&node->board, world.now_ns, packet, &target)) != 0) {
        assert_true(++count < FLYING_MAX && target < NODES && bytes <= PACKET_BYTES);
        uint32_t copies = happens(world.lose_ppm) ? 0 : happens(world.double_ppm) ? 2 : 1;
        for (; copies != 0; copies--) {
            put_in_the_air(target, packet, bytes);
        }
    }
}

/* Handles one event: a packet arrives, or a board's time has come. False: none before `until`. */
static bool step(uint64_t until_ns)
{
    struct flying *first = NULL;
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < world.flying_count; i++) {
        struct flying *flying = &world.flying[i];
        if (!first || flying->at_ns < first->at_ns ||
            (flying->at_ns == first->at_ns && flying->number < first->number)) {
            first = flying;
            next_ns = flying->at_ns;
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        uint64_t deadline_ns = world.nodes[i].dead ? UINT64_MAX
                                                   : board_deadline_ns(&world.nodes[i].board);
        if (deadline_ns < next_ns) {
            first = NULL;
            next_ns = deadline_ns;
        }
    }
    if (next_ns >= until_ns) {
        return false;
    }
    world.now_ns = next_ns > world.now_ns ? next_ns : world.now_ns;
    if (first) {
        struct flying arrived = *first;
        *first = world.flying[--world.flying_count];
        struct node *node = &world.nodes[arrived.target];
        if (!node->dead) {
            world.carried++;
            board_receive(&node->board, world.now_ns, arrived.packet, arrived.bytes);
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        if (!world.nodes[i].dead) {
            send_all(&world.nodes[i]);
        }
    }
    return true;
}

/* Runs for that long, or until nothing happens any more. */
static void run_ms(uint64_t ms)
{
    uint64_t until_ns = world.now_ns + ms * UNIT_MS;
    for (uint32_t i = 0; i < NODES; i++) {
        if (!world.nodes[i].dead) {
            send_all(&world.nodes[i]);
        }
    }
    while (step(until_ns)) {
    }
    world.now_ns = until_ns;
}

static void run_until_done(const struct nic_completion *completion)
{
    for (uint32_t ms = 0; ms < 10000 && completion->state != NIC_DONE; ms++) {
        run_ms(1);
    }
    assert_int_equal(completion->state, NIC_DONE);
}

static struct nic_engine *engine(uint16_t node)
{
    return world.nodes[node].board.engine;
}

static struct dn_remote at(int rank, uint64_t offset)
{
    return (struct dn_remote){.rank = rank, .area = DN_BANK, .offset = offset};
}

static uint64_t word_at(uint16_t node, uint64_t offset)
{
    uint64_t value;
    memcpy(&value, world.nodes[node].memory + offset, sizeof value);
    return value;
}

/* ---- Tests ----------------------------------------------------------------------------- */

static void every_primitive_goes_from_board_to_board(void **state)
{
    (void)state;
    static unsigned char bytes[20000];
    static unsigned char back[20000];
    struct nic_completion push;
    struct nic_completion pull;
    struct nic_completion atomic;
    struct nic_completion quiet;
    uint64_t kick = 0;
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 7 + 1);
    }
    assert_int_equal(nic_kick_open(engine(0), 0, at(1, 0), false, &kick), 0);
    assert_int_equal(nic_aotf(engine(0), 0, kick + 8, 77, 8), 0);
    assert_int_equal(nic_botf(engine(0), 0, at(1, 16), "a block", 8), 0);
    assert_int_equal(nic_push(engine(0), 0, at(1, 4096), bytes, sizeof bytes, &push), 0);
    assert_int_equal(nic_fence(engine(0), 0), 0);
    assert_int_equal(nic_pull(engine(0), 0, at(1, 4096), back, sizeof back, &pull), 0);
    assert_int_equal(nic_atomic(engine(0), 0, at(1, 8), WIRE_ADD, 8, 3, 0, &atomic), 0);
    assert_int_equal(nic_quiet(engine(0), 0, &quiet), 0);
    run_until_done(&quiet);
    assert_int_equal(push.state, NIC_DONE);
    assert_int_equal(pull.state, NIC_DONE);
    assert_int_equal(atomic.state, NIC_DONE);
    assert_int_equal(atomic.value, 77);
    assert_int_equal(push.result | pull.result | atomic.result | quiet.result, 0);
    assert_int_equal(word_at(1, 8), 80);
    assert_string_equal((const char *)world.nodes[1].memory + 16, "a block");
    assert_memory_equal(world.nodes[1].memory + 4096, bytes, sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
}

static void what_a_user_gives_between_two_packets_is_sent(void **state)
{
    (void)state;
    unsigned char packet[PACKET_BYTES];
    uint16_t target;
    uint64_t value = 1;
    run_ms(1);
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    run_ms(1); /* they know each other now */
    assert_int_equal(word_at(1, 0), 1);
    struct board *board = &world.nodes[0].board;
    assert_int_equal(nic_botf(engine(0), 0, at(1, 8), &value, 8), 0);
    assert_true(board_transmit(board, world.now_ns, packet, &target) != 0);
    put_in_the_air(target, packet, PACKET_BYTES);
    world.flying_count = 0; /* lost; the point is that the next one is not forgotten */
    assert_int_equal(nic_botf(engine(0), 0, at(2, 8), &value, 8), 0);
    assert_true(board_transmit(board, world.now_ns, packet, &target) != 0);
    assert_int_equal(target, 2);
    while (board_transmit(board, world.now_ns, packet, &target) != 0) {
    }
    run_ms(100);
    assert_int_equal(word_at(1, 8), 1);
}

static void a_datagram_goes_to_the_listener_only(void **state)
{
    (void)state;
    uint64_t value = 1;
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    run_ms(5);
    struct wire_operation store = {
        .opcode = WIRE_AOTF, .bytes = 8, .area = DN_BANK, .offset = 512, .operand = 9};
    alignas(8) unsigned char body[64];
    wire_operation_encode(&store, body);
    uint32_t bytes = wire_operation_bytes(&store);
    assert_int_equal(swif_datagram(world.nodes[0].board.swif, world.now_ns, 1, 0, body, bytes), 0);
    run_ms(5);
    assert_int_equal(world.nodes[1].datagram_count, 1);
    assert_memory_equal(world.nodes[1].datagram, body, bytes);
    assert_int_equal(word_at(1, 512), 0);
    world.nodes[1].board.listener.datagram = NULL; /* nobody listens */
    assert_int_equal(swif_datagram(world.nodes[0].board.swif, world.now_ns, 1, 0, body, bytes), 0);
    run_ms(5);
    assert_int_equal(word_at(1, 512), 0);
}

static void a_dead_peer_is_told_after_its_operations_ended(void **state)
{
    (void)state;
    struct nic_completion pull;
    struct nic_completion other;
    unsigned char byte;
    uint64_t value = 1;
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    run_ms(5);
    world.nodes[1].dead = true;
    world.nodes[0].watched = &pull;
    assert_int_equal(nic_pull(engine(0), 0, at(1, 0), &byte, 1, &pull), 0);
    assert_int_equal(nic_atomic(engine(0), 0, at(2, 0), WIRE_ADD, 8, 1, 0, &other), 0);
    run_ms(10);
    assert_int_equal(pull.state, NIC_PENDING);
    assert_int_equal(other.state, NIC_DONE);
    run_ms(200);
    assert_int_equal(pull.state, NIC_DONE);
    assert_int_equal(pull.result, DN_EPEER);
    assert_int_equal(world.nodes[0].lost_count, 1);
    assert_int_equal(world.nodes[0].lost_peer, 1);
    assert_int_equal(world.nodes[0].state_then, NIC_DONE);
}

static void a_restarted_peer_is_a_new_one(void **state)
{
    (void)state;
    uint64_t value = 1;
    struct nic_completion quiet;
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    assert_int_equal(nic_quiet(engine(0), 0, &quiet), 0);
    run_until_done(&quiet);
    free(world.nodes[1].space);
    memset(world.nodes[1].memory, 0, MEMORY_BYTES);
    struct board_config config;
    configure(&config, 1);
    config.swif.incarnation = 2;
    start(1, &config);
    /* The first operation may end with the old life; later ones do not. */
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    assert_int_equal(nic_quiet(engine(0), 0, &quiet), 0);
    run_until_done(&quiet);
    assert_int_equal(world.nodes[0].lost_count, 1);
    assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
    assert_int_equal(nic_quiet(engine(0), 0, &quiet), 0);
    run_until_done(&quiet);
    assert_int_equal(quiet.result, 0);
    assert_int_equal(word_at(1, 0), 1);
}

static void services_work_across_boards(void **state)
{
    (void)state;
    world.lose_ppm = 50000;
    world.double_ppm = 50000;
    static const uint16_t members[NODES] = {0, 1, 2};
    struct nic_completion arrived[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        struct nic_services *services = world.nodes[i].board.services;
        assert_int_equal(nic_packet_barrier_open(services, world.now_ns, 1, members, NODES), 0);
        const struct nic_message_lists lists = {members, NODES, members, NODES};
        assert_int_equal(nic_packet_message_open(services, 0, &lists, DN_CONTEXT_BACK_OFF, NULL),
                         0);
    }
    for (uint32_t phase = 1; phase <= 20; phase++) {
        for (uint32_t i = 0; i < NODES; i++) {
            assert_int_equal(nic_packet_barrier_arrive(world.nodes[i].board.services, world.now_ns,
                                                       1, &arrived[i]),
                             0);
            if (i == 0) {
                run_ms(1);
                assert_int_equal(arrived[0].state, NIC_PENDING);
            }
        }
        for (uint32_t i = 0; i < NODES; i++) {
            run_until_done(&arrived[i]);
            assert_int_equal(arrived[i].result, 0);
            assert_int_equal(arrived[i].value, phase);
        }
    }
    assert_int_equal(
        nic_packet_message_send(world.nodes[0].board.services, world.now_ns, 0, 2, "hello", 6), 0);
    run_ms(100);
    char text[16];
    uint16_t from = 9;
    uint32_t bytes = 0;
    assert_int_equal(nic_packet_message_receive(world.nodes[2].board.services, world.now_ns, 0,
                                                text, sizeof text, &from, &bytes),
                     0);
    assert_int_equal(from, 0);
    assert_string_equal(text, "hello");
}

enum { STREAM = 300 };

/* Nodes 0 and 2 send to node 1, which reads slowly; node 0's messages go by datagrams. */
static void messages_by_datagrams_come_once_and_in_order(void **state)
{
    static const uint16_t members[NODES] = {0, 1, 2};
    static const struct nic_message_lists lists = {members, NODES, members, NODES};
    uint32_t sent[NODES] = {0};
    uint32_t received[NODES] = {0};
    (void)state;
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t flags = i == 0 ? DN_CONTEXT_LOSS_DETECTION : 0;
        assert_int_equal(
            nic_packet_message_open(world.nodes[i].board.services, 0, &lists, flags, NULL), 0);
    }
    world.lose_ppm = 100000;
    world.double_ppm = 100000;
    world.reorder_ppm = 200000;
    for (uint32_t turn = 0; received[0] + received[2] < 2 * STREAM; turn++) {
        assert_true(turn < 100000);
        for (uint16_t from = 0; from < NODES; from += 2) {
            while (sent[from] < STREAM &&
                   nic_packet_message_send(world.nodes[from].board.services, world.now_ns, 0, 1,
                                           &sent[from], sizeof sent[from]) == 0) {
                sent[from]++;
            }
        }
        run_ms(1);
        uint16_t from;
        uint32_t number;
        uint32_t bytes;
        while (nic_packet_message_receive(world.nodes[1].board.services, world.now_ns, 0, &number,
                                          sizeof number, &from, &bytes) == 0) {
            assert_int_equal(number, received[from]++);
        }
    }
    run_ms(100);
    for (uint16_t from = 0; from < NODES; from += 2) {
        const struct node *node = &world.nodes[from];
        const struct px_sender *sender = nic_packet_message_sender(node->board.services, 0);
        assert_true(px_sender_is_idle(sender));
        /* One has InfiniSWIF send again, the other does so itself. */
        assert_true((sender->counters.repeated != 0) == (from == 0));
        assert_true((swif_counters(node->board.swif)->transmissions == 0) == (from == 0));
    }
}

/* A channel that opens anew takes nothing that was meant for the one before. */
static void a_late_datagram_is_lost(void **state)
{
    static const uint16_t members[NODES] = {0, 1, 2};
    static const struct nic_message_lists lists = {members, NODES, members, NODES};
    struct nic_services *sender = world.nodes[0].board.services;
    struct nic_services *receiver = world.nodes[1].board.services;
    unsigned char packet[PACKET_BYTES];
    uint64_t value = 1;
    uint16_t from;
    uint32_t bytes;
    (void)state;
    for (unsigned life = 0; life < 2; life++) {
        assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
        run_ms(5);
        assert_int_equal(
            nic_packet_message_open(sender, 0, &lists, DN_CONTEXT_LOSS_DETECTION, NULL), 0);
        assert_int_equal(nic_packet_message_send(sender, world.now_ns, 0, 1, &value, 8), 0);
        uint32_t packet_bytes = board_transmit(&world.nodes[0].board, world.now_ns, packet, &from);
        assert_true(packet_bytes != 0);
        nic_packet_message_close(sender, world.now_ns, 0);
        if (life == 1) { /* the closer says so, and is heard before the message */
            assert_int_equal(nic_botf(engine(0), 0, at(1, 0), &value, 8), 0);
            run_ms(5);
        }
        assert_int_equal(nic_packet_message_open(receiver, 0, &lists, 0, NULL), 0);
        board_receive(&world.nodes[1].board, world.now_ns, packet, packet_bytes);
        assert_int_equal(
            nic_packet_message_receive(receiver, world.now_ns, 0, &value, 8, &from, &bytes),
            life == 0 ? 0 : DN_EBUSY);
        run_ms(5);
        nic_packet_message_close(receiver, world.now_ns, 0);
    }
}

static void the_death_of_a_silent_holder_is_noticed(void **state)
{
    (void)state;
    struct nic_completion held;
    struct nic_completion waits;
    uint64_t ticket = 0;
    assert_int_equal(nic_packet_lock_request(world.nodes[1].board.services, world.now_ns, 0, 3,
                                             false, NULL, &held, &ticket),
                     0);
    run_until_done(&held);
    assert_int_equal(nic_packet_lock_request(world.nodes[2].board.services, world.now_ns, 0, 3,
                                             false, NULL, &waits, &ticket),
                     0);
    run_ms(500);
    assert_int_equal(waits.state, NIC_PENDING); /* silent, but there */
    world.nodes[1].dead = true;
    run_until_done(&waits);
    assert_int_equal(waits.result, DN_EOWNERDEAD);
}

static void a_watch_waits_for_its_place(void **state)
{
    (void)state;
    struct board_config config;
    configure(&config, 0);
    config.swif.watch_max = 1;
    free(world.nodes[0].space);
    start(0, &config);
    struct nic_services *services = world.nodes[0].board.services;
    run_ms(1);
    nic_services_watch(services, world.now_ns, 1, true);
    run_ms(1);
    nic_services_watch(services, world.now_ns, 2, true);
    run_ms(1);
    world.nodes[2].dead = true;
    run_ms(500);
    assert_int_equal(world.nodes[0].lost_count, 0); /* there was no place for it */
    nic_services_watch(services, world.now_ns, 1, false);
    run_ms(500);
    assert_int_equal(world.nodes[0].lost_count, 1);
    assert_int_equal(world.nodes[0].lost_peer, 2);
    world.nodes[1].dead = true;
    run_ms(500);
    assert_int_equal(world.nodes[0].lost_count, 1); /* nobody watches 1 any more */
}

static void configs_without_sense_are_refused(void **state)
{
    (void)state;
    struct board_config config;
    configure(&config, 0);
    assert_true(board_bytes(&config) != 0);
    config.swif.incarnation = 0;
    assert_int_equal(board_bytes(&config), 0);
    configure(&config, 0);
    config.engine.transfer_count = 0;
    assert_int_equal(board_bytes(&config), 0);
    configure(&config, 0);
    config.services.message_bytes_max = 4096;
    assert_int_equal(board_bytes(&config), 0);

    struct nic_local_memory memory = {.find = find};
    struct board_listener listener = {0};
    configure(&config, 0);
    config.swif.packet_bytes_max = 512; /* too small for BOTF */
    config.services.message_bytes_max = 64;
    void *space = aligned_alloc(64, board_bytes(&config));
    assert_non_null(space);
    struct board board;
    assert_int_equal(board_init(&board, &config, &memory, NULL, &listener, 0, space), DN_EINVAL);
    free(space);
    configure(&config, 0);
    config.swif.packet_bytes_max = 1024; /* too small for messages of 1,024 */
    space = aligned_alloc(64, board_bytes(&config));
    assert_non_null(space);
    assert_int_equal(board_init(&board, &config, &memory, NULL, &listener, 0, space), DN_EINVAL);
    free(space);
}

/* Counters that every node adds to, and rows of stores that must be seen in order. */
static void play(uint64_t seed)
{
    enum { ROUNDS = 300, ADDS = 4 };
    struct nic_completion fetched[NODES][ADDS];
    struct nic_completion quiets[NODES];
    uint64_t kicks[NODES];
    uint64_t seen[NODES] = {0};
    uint64_t total = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    world.random.state = seed;
    world.lose_ppm = (uint32_t)base_random_below(&world.random, 200000);
    world.double_ppm = (uint32_t)base_random_below(&world.random, 200000);
    world.reorder_ppm = (uint32_t)base_random_below(&world.random, 400000);
    memset(fetched, 0, sizeof fetched);
    for (uint16_t i = 0; i < NODES; i++) {
        int next = (i + 1) % NODES;
        assert_int_equal(nic_kick_open(engine(i), 0, at(next, 4096), false, &kicks[i]), 0);
    }
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (uint16_t i = 0; i < NODES; i++) {
            int next = (i + 1) % NODES;
            uint32_t add = (uint32_t)(round % ADDS);
            if (fetched[i][add].state != NIC_PENDING &&
                nic_atomic(engine(i), 0, at(0, 0), WIRE_ADD, 8, 1, 0, &fetched[i][add]) == 0) {
                total++;
            }
            total += nic_atomic(engine(i), 0, at(0, 0), WIRE_ADD, 8, 1, 0, NULL) == 0;
            /* A block, then the store that tells of it. */
            uint64_t block[8];
            for (uint32_t word = 0; word < 8; word++) {
                block[word] = round;
            }
            if (nic_botf(engine(i), 0, at(next, 8192), block, sizeof block) == 0) {
                uint32_t tries = 0;
                while (nic_aotf(engine(i), 0, kicks[i] + 8, round, 8) == DN_EFULL) {
                    assert_true(++tries < 1000);
                    run_ms(1);
                }
            }
        }
        run_ms(round % 10 == 0);
        for (uint16_t i = 0; i < NODES; i++) {
            uint64_t flag = word_at(i, 4096 + 8);
            assert_true(flag >= seen[i]);
            seen[i] = flag;
            for (uint32_t word = 0; word < 8; word++) {
                assert_true(word_at(i, 8192 + 8 * word) >= flag);
            }
        }
    }
    for (uint16_t i = 0; i < NODES; i++) {
        for (uint32_t tries = 0; nic_quiet(engine(i), 0, &quiets[i]) == DN_EFULL; tries++) {
            assert_true(tries < 1000);
            run_ms(1);
        }
    }
    for (uint16_t i = 0; i < NODES; i++) {
        run_until_done(&quiets[i]);
        assert_int_equal(quiets[i].result, 0);
        assert_int_equal(world.nodes[i].lost_count, 0);
    }
    assert_int_equal(word_at(0, 0), total);
    assert_true(total > ROUNDS);
}

static void operations_take_effect_once_and_in_order_on_a_bad_network(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        play(seed);
        unmake(state);
        make(state);
    }
}

static void so_they_do_on_tight_boards(void **state)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        is_tight = true;
        has_one_context = seed % 4 == 0;
        unmake(state);
        make(state);
        is_tight = has_one_context = false;
        play(seed);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_primitive_goes_from_board_to_board),
        CASE(what_a_user_gives_between_two_packets_is_sent),
        CASE(a_datagram_goes_to_the_listener_only),
        CASE(a_dead_peer_is_told_after_its_operations_ended),
        CASE(a_restarted_peer_is_a_new_one),
        CASE(services_work_across_boards),
        CASE(messages_by_datagrams_come_once_and_in_order),
        CASE(a_late_datagram_is_lost),
        CASE(the_death_of_a_silent_holder_is_noticed),
        CASE(a_watch_waits_for_its_place),
        CASE(configs_without_sense_are_refused),
        CASE(operations_take_effect_once_and_in_order_on_a_bad_network),
        CASE(so_they_do_on_tight_boards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
