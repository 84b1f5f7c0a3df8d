/* Connects engine, services and InfiniSWIF: upcalls go across, and what the services want
 * watched is kept here until InfiniSWIF has a context for it. */
#include "board/board.h"

#include "nic/memory_access.h"

enum {
    KICK_PAGES = 4096,
    TRANSFERS = 256,
    OUTSTANDING = 1024,
    ROUNDS_MAX = 4, /* of the engine in one transmission; the next one goes on */
};

void board_config_default(struct board_config *config, uint32_t node_count)
{
    swif_config_default(&config->swif, node_count);
    config->engine = (struct nic_engine_config){
        .node_count = node_count,
        .kick_page_count = KICK_PAGES,
        .transfer_count = TRANSFERS,
        .outstanding_count = OUTSTANDING,
    };
    nic_services_config_default(&config->services, node_count);
    config->lock_names_offset = 0;
}

/* ---- InfiniSWIF to engine -------------------------------------------------------------- */

/* The services' datagrams have their channel. Those that are late count as lost: the services have
 * seen what was sent after them. */
static void deliver_datagram(struct board *board, uint64_t now_ns,
                             const struct swif_delivery *delivery)
{
    struct wire_operation operation;
    uint32_t at = 0;
    if (delivery->channel != NIC_SERVICE_CHANNEL) {
        if (board->listener.datagram) {
            board->listener.datagram(board->listener.context, now_ns, delivery);
        }
    } else if (!delivery->is_late && wire_operation_decode(delivery->body, delivery->bytes,
                                                           WIRE_REQUEST, &at, &operation)) {
        nic_services_deliver_datagram(board->services, now_ns, delivery->source, &operation);
    }
}

static bool deliver(void *context, uint64_t now_ns, const struct swif_delivery *delivery)
{
    struct board *board = context;
    board->changed = true;
    if (delivery->kind == WIRE_UD) {
        deliver_datagram(board, now_ns, delivery);
        return true;
    }
    return nic_engine_deliver(board->engine, now_ns, delivery->source, delivery->class,
                              delivery->channel, delivery->body, delivery->bytes);
}

static void acknowledged(void *context, uint64_t now_ns, uint16_t peer, uint64_t cookie)
{
    struct board *board = context;
    board->changed = true;
    nic_engine_acknowledged(board->engine, now_ns, peer, cookie);
}

static void peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    struct board *board = context;
    board->changed = true;
    nic_engine_peer_lost(board->engine, now_ns, peer);
    /* The watch ended with the peer's context; whoever still wants one gets it for the peer's
     * next life. */
    nic_target_set_remove(&board->watched, peer);
    board->watches_differ = true;
    if (board->listener.peer_lost) {
        board->listener.peer_lost(board->listener.context, now_ns, peer);
    }
}

static bool peer_suspected(void *context, uint64_t now_ns, uint16_t peer)
{
    const struct board *board = context;
    return board->listener.peer_suspected(board->listener.context, now_ns, peer);
}

/* ---- Engine to InfiniSWIF -------------------------------------------------------------- */

static uint32_t body_bytes(void *context, uint16_t peer)
{
    const struct board *board = context;
    return swif_body_bytes(board->swif, peer);
}

static int append(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room)
{
    const struct board *board = context;
    int error = swif_append(board->swif, now_ns, route, bytes, room);
    if (!error && route->tag != 0 && board->listener.recorded) {
        board->listener.recorded(board->listener.context, route);
    }
    return error;
}

/* CD carries in pieces what some paths do not carry whole. */
static int datagram(void *context, uint64_t now_ns, const struct wire_route *route,
                    const void *body, uint32_t bytes)
{
    const struct board *board = context;
    if (bytes <= swif_datagram_bytes_max(board->swif)) {
        return swif_datagram(board->swif, now_ns, route->target, route->channel, body, bytes);
    }
    unsigned char *room;
    int error = append(context, now_ns, route, bytes, &room);
    if (!error) {
        memcpy(room, body, bytes);
    }
    return error;
}

static bool has_reply_room(void *context, uint64_t now_ns, uint16_t peer)
{
    const struct board *board = context;
    return swif_has_reply_room(board->swif, now_ns, peer);
}

static void fence(void *context, uint16_t target, uint8_t channel)
{
    const struct board *board = context;
    swif_fence(board->swif, target, channel);
}

static uint64_t mark(void *context)
{
    const struct board *board = context;
    return swif_mark(board->swif);
}

static bool mark_is_passed(void *context, uint64_t number)
{
    const struct board *board = context;
    return swif_mark_is_passed(board->swif, number);
}

/* May run inside a handler, so it only notes the wish: InfiniSWIF may be in the middle of the
 * peer's context. */
static void watch(void *context, uint64_t now_ns, uint16_t peer, bool on)
{
    struct board *board = context;
    (void)now_ns;
    if (on) {
        nic_target_set_add(&board->wanted, peer);
    } else {
        nic_target_set_remove(&board->wanted, peer);
    }
    board->watches_differ = true;
}

/* A lock's name is where its word lies in this node's memory; its value lies behind the word, in
 * one of the areas that every node has. NULL: the value leaves them, or others do not have the
 * right there. */
static unsigned char *value_at(const struct board *board, uint64_t name, uint32_t offset,
                               uint32_t bytes, uint32_t right)
{
    const struct nic_local_memory *memory = &board->memory;
    static const uint32_t areas[] = {DN_HEAP, DN_LLCM, DN_BANK};
    uint64_t place = board->lock_names_offset + name;
    for (unsigned i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        struct nic_extent extent;
        if (memory->find && memory->find(memory->context, areas[i], &extent) == 0 &&
            place >= extent.offset && place - extent.offset < extent.bytes) {
            uint64_t left = extent.bytes - (place - extent.offset);
            return offset <= left && bytes <= left - offset && !(extent.denied & right)
                       ? memory->base + place + offset
                       : NULL;
        }
    }
    return NULL;
}

static bool value_read(void *context, uint64_t name, uint32_t offset, uint32_t bytes, void *into)
{
    const unsigned char *place = value_at(context, name, offset, bytes, DN_READ);
    if (!place) {
        return false;
    }
    nic_load_block(into, place, bytes);
    return true;
}

static bool value_change(void *context, uint64_t name, uint32_t offset, const void *from,
                         uint32_t bytes, bool is_or)
{
    const struct board *board = context;
    unsigned char *place = value_at(board, name, offset, bytes, is_or ? DN_ATOMIC : DN_WRITE);
    if (!place || (is_or && (uintptr_t)place % sizeof(uint64_t) != 0)) {
        return false;
    }
    if (is_or) {
        uint64_t bits;
        memcpy(&bits, from, sizeof bits);
        (void)nic_apply_u64((uint64_t *)(void *)place, WIRE_OR, bits, 0);
    } else {
        nic_store_block(place, from, bytes);
    }
    if (board->memory.written) {
        board->memory.written(board->memory.context, (uint64_t)(place - board->memory.base), bytes);
    }
    return true;
}

static void set_watches(struct board *board, uint64_t now_ns)
{
    const struct nic_target_set *sets[] = {&board->wanted, &board->awaited, &board->watched};
    struct nic_target_set *watched = &board->watched;
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
    for (unsigned i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (sets[i]->high != 0) {
            low = sets[i]->low < low ? sets[i]->low : low;
            high = sets[i]->high > high ? sets[i]->high : high;
        }
    }
    board->watches_differ = false;
    for (uint32_t word = low; word < high; word++) {
        uint64_t wanted = board->wanted.words[word] | board->awaited.words[word];
        for (uint64_t differ = wanted ^ watched->words[word]; differ != 0; differ &= differ - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(differ);
            uint16_t peer = (uint16_t)(64 * word + bit);
            if (!(wanted >> bit & 1)) {
                swif_unwatch(board->swif, peer);
                nic_target_set_remove(watched, peer);
            } else if (swif_watch(board->swif, now_ns, peer) == 0) {
                nic_target_set_add(watched, peer);
            } else {
                board->watches_differ = true;
            }
        }
    }
}

/* A reply comes fast or, mostly, not at all: so the peers awaited are looked up now and then, and
 * not entered for each request. */
static void look_after_awaited(struct board *board, uint64_t now_ns)
{
    nic_target_set_empty(&board->awaited);
    nic_engine_awaited(board->engine, &board->awaited);
    board->look_at_ns = now_ns + board->look_every_ns;
    board->watches_differ = true;
}

/* ---- Memory ---------------------------------------------------------------------------- */

struct parts {
    struct nic_engine_config engine;
    struct nic_services_config services;
    uint64_t swif_bytes, engine_bytes, services_bytes, set_bytes;
};

static uint64_t whole_lines(uint64_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* How much of a lock's value a record in such packets has room for. */
static uint32_t value_bytes_max(const struct board_config *config)
{
    uint32_t packet_bytes = swif_packet_bytes(WIRE_OPERATION_BYTES +
                                              NIC_SERVICE_NUMBERS_MAX * NIC_SERVICE_NUMBER_BYTES);
    uint32_t room = config->swif.packet_bytes_max > packet_bytes
                        ? (config->swif.packet_bytes_max - packet_bytes) & ~UINT32_C(7)
                        : 0;
    return room < config->services.lock_value_bytes ? room : config->services.lock_value_bytes;
}

/* False: a part has a config that makes no sense. */
static bool measure(const struct board_config *config, struct parts *parts)
{
    const struct swif_config *swif = &config->swif;
    parts->engine = config->engine;
    parts->engine.node = swif->node;
    parts->engine.pgid = swif->pgid;
    parts->engine.node_count = swif->node_count;
    parts->services = config->services;
    parts->services.node = swif->node;
    parts->services.incarnation = swif->incarnation;
    parts->services.node_count = swif->node_count;
    parts->services.lock_value_bytes = value_bytes_max(config);
    parts->swif_bytes = whole_lines(swif_bytes(swif));
    parts->engine_bytes = whole_lines(nic_engine_bytes(&parts->engine));
    parts->services_bytes = whole_lines(nic_services_bytes(&parts->services));
    parts->set_bytes = whole_lines(nic_target_set_words(swif->node_count) * sizeof(uint64_t));
    return parts->swif_bytes != 0 && parts->engine_bytes != 0 && parts->services_bytes != 0;
}

uint32_t board_packet_bytes_min(const struct board_config *config)
{
    uint32_t message_bytes = WIRE_OPERATION_BYTES + config->services.message_bytes_max;
    return swif_packet_bytes(message_bytes > NIC_BODY_BYTES_MIN ? message_bytes
                                                                : NIC_BODY_BYTES_MIN);
}

uint64_t board_bytes(const struct board_config *config)
{
    struct parts parts;
    return measure(config, &parts)
               ? parts.swif_bytes + parts.engine_bytes + parts.services_bytes + 3 * parts.set_bytes
               : 0;
}

/* Engine, services and sets, from `at` on; the network is there. */
static void init_nic(struct board *board, const struct parts *parts, unsigned char *at)
{
    board->engine = nic_engine_init(&parts->engine, &board->network, &board->memory, at, NULL);
    at += parts->engine_bytes;
    struct nic_services_hooks hooks = {
        .context = board, .watch = watch, .value_read = value_read, .value_change = value_change};
    board->services = nic_services_init(&parts->services, &hooks, at, NULL);
    nic_engine_serve(board->engine, board->services);
    at += parts->services_bytes;
    nic_target_set_init(&board->wanted, (uint64_t *)(void *)at);
    at += parts->set_bytes;
    nic_target_set_init(&board->awaited, (uint64_t *)(void *)at);
    at += parts->set_bytes;
    nic_target_set_init(&board->watched, (uint64_t *)(void *)at);
}

int board_init(struct board *board, const struct board_config *config,
               const struct nic_local_memory *memory, const struct swif_guard *guard,
               const struct board_listener *listener, uint64_t now_ns, void *space)
{
    struct parts parts;
    if (!measure(config, &parts) || (uintptr_t)space % CACHE_LINE_BYTES != 0 ||
        config->swif.packet_bytes_max < board_packet_bytes_min(config)) {
        return DN_EINVAL;
    }
    *board = (struct board){
        .listener = *listener,
        .changed = true,
        .now_ns = now_ns,
        .memory = *memory,
        .lock_names_offset = config->lock_names_offset,
    };
    board->client = (struct swif_client){
        .context = board,
        .deliver = deliver,
        .acknowledged = acknowledged,
        .peer_lost = peer_lost,
        .peer_suspected = peer_suspected,
    };
    unsigned char *at = space;
    if (guard) {
        board->guard = *guard;
    }
    board->swif = swif_init(&config->swif, &board->client, guard ? &board->guard : NULL, now_ns,
                            at);
    board->network = (struct nic_network){
        .context = board,
        .body_bytes_max = swif_body_bytes_max(board->swif),
        .append = append,
        .has_reply_room = has_reply_room,
        .fence = fence,
        .mark = mark,
        .mark_is_passed = mark_is_passed,
        .body_bytes = body_bytes,
        .datagram = datagram,
    };
    init_nic(board, &parts, at + parts.swif_bytes);
    board->look_every_ns = config->swif.peer_timeout_ns / 4;
    board->look_at_ns = now_ns + board->look_every_ns;
    return 0;
}

int board_init_plain(struct board *board, const struct board_config *config,
                     const struct nic_local_memory *memory, const struct nic_network *network,
                     void *space)
{
    struct parts parts;
    if (!measure(config, &parts) || (uintptr_t)space % CACHE_LINE_BYTES != 0 ||
        network->body_bytes_max < NIC_BODY_BYTES_MIN) {
        return DN_EINVAL;
    }
    *board = (struct board){
        .memory = *memory,
        .network = *network,
        .lock_names_offset = config->lock_names_offset,
    };
    init_nic(board, &parts, space);
    return 0;
}

/* ---- What drives it -------------------------------------------------------------------- */

void board_receive(struct board *board, uint64_t now_ns, unsigned char *packet, uint32_t bytes)
{
    /* Acknowledgements free room without an upcall. */
    board->changed = true;
    swif_receive(board->swif, now_ns, packet, bytes);
}

uint32_t board_transmit(struct board *board, uint64_t now_ns, unsigned char *packet,
                        uint16_t *target)
{
    board->now_ns = now_ns;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        board->changed = false;
        if (nic_engine_has_work(board->engine)) {
            nic_engine_run(board->engine, now_ns);
        }
        if (now_ns >= board->look_at_ns) {
            look_after_awaited(board, now_ns);
        }
        if (board->watches_differ) {
            set_watches(board, now_ns);
        }
        uint32_t bytes = swif_transmit(board->swif, now_ns, packet, target);
        if (bytes != 0) {
            return bytes;
        }
        if (!board->changed) {
            break;
        }
        /* A timer has given a peer up: there may be room again. */
    }
    return 0;
}

uint64_t board_deadline_ns(const struct board *board)
{
    if (board->changed) {
        return board->now_ns;
    }
    uint64_t swif_ns = swif_deadline_ns(board->swif);
    uint64_t services_ns = nic_services_deadline_ns(board->services, board->now_ns);
    uint64_t look_ns = nic_engine_awaits_replies(board->engine) ? board->look_at_ns : UINT64_MAX;
    uint64_t first_ns = swif_ns < services_ns ? swif_ns : services_ns;
    return first_ns < look_ns ? first_ns : look_ns;
}
