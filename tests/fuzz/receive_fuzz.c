/* The whole receive path: packets of any kind, time and local operations, as the input
 * says. Some packets carry a valid tag and come from malicious nodes, some are
 * damaged, some are any bytes.
 *
 * Kept true: nothing traps or leaves its memory; a packet that is not authentic or that was
 * numbered before changes nothing (receive_world.h); what a board sends is well-formed; a rank
 * never numbers two packets alike, over all processes that it has; no board asks for ever to be
 * called again at once; when the played nodes fall silent, everything that was asked of them
 * ends. */
#include "receive_world.h"

enum { TAGS = 8, ACTIONS_MAX = 600, BODY_ROOM = PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES };

/* A node that the fuzzer plays; for nodes 0 and 1, what it says in their names. */
struct player {
    uint32_t incarnation;
    uint64_t counter;
    uint32_t sequence[BOARDS][WIRE_CLASSES];      /* of its next packet */
    uint32_t seen_sequence[BOARDS][WIRE_CLASSES]; /* of the board's newest packet to it */
    uint64_t seen_counter[BOARDS];
    uint64_t tags[TAGS]; /* that it may answer with: a ring */
    uint32_t tag_next;
};

static struct {
    const uint8_t *data;
    size_t bytes;
    struct player players[NODES];
    unsigned char last[PACKET_BYTES_MAX]; /* the last forged packet, to be sent again */
    uint32_t last_bytes;
    uint16_t last_target;
    bool boards_forged; /* something was said in a board's name: the boards need not finish */
} play;

static uint8_t take8(void)
{
    if (play.bytes == 0) {
        return 0;
    }
    play.bytes--;
    return *play.data++;
}

static uint64_t take64(void)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | take8();
    }
    return value;
}

/* Mostly the value itself, sometimes one a little off, seldom any. */
static uint64_t take_near(uint64_t value)
{
    uint8_t choice = take8();
    if (choice < 192) {
        return value;
    }
    return choice == 255 ? take64() : value + choice - 223;
}

static uint16_t take_board(void)
{
    return take8() % BOARDS;
}

/* ---- What boards send ------------------------------------------------------------------ */

static void look_into(struct player *player, const unsigned char *body, uint32_t bytes)
{
    struct wire_operation operation;
    uint32_t at = 0;
    while (wire_operation_decode(body, bytes, WIRE_REQUEST, &at, &operation)) {
        if (operation.opcode == WIRE_PULL || operation.opcode == WIRE_ATOMIC) {
            player->tags[player->tag_next++ % TAGS] = operation.tag;
        } else if (operation.opcode == WIRE_SERVICE) {
            player->tags[player->tag_next++ % TAGS] = operation.offset;
        }
    }
}

/* Sends one packet of the board to the network or to a played node. False: it has none. */
static bool transmit(uint16_t number)
{
    unsigned char packet[PACKET_BYTES_MAX];
    unsigned char opened[PACKET_BYTES_MAX];
    uint16_t target = WIRE_NOBODY;
    uint32_t bytes = board_transmit(&world.nodes[number].board, world.now_ns, packet, &target);
    if (bytes == 0) {
        return false;
    }
    FUZZ_ASSERT(bytes <= sizeof packet);
    struct wire_header header;
    memcpy(opened, packet, bytes);
    check_sent(number, target, opened, bytes, &header);
    struct player *player = &play.players[target];
    player->seen_counter[number] = header.counter;
    bool is_reply = (header.flags & WIRE_FLAG_REPLY) != 0;
    if (header.kind == WIRE_PIECE) {
        player->seen_sequence[number][is_reply] = header.sequence;
    } else if (header.kind == WIRE_CD) {
        player->seen_sequence[number][is_reply] = header.sequence;
        look_into(player, opened + WIRE_PREFIX_BYTES + header.ack_bytes, header.body_bytes);
    }
    if (target < BOARDS) {
        put_in_flight(target, packet, bytes);
    }
    return true;
}

static void transmit_all(uint16_t number)
{
    uint32_t count = 0;
    while (transmit(number)) {
        FUZZ_ASSERT(++count < TRANSMITS_MAX);
    }
    FUZZ_ASSERT(board_deadline_ns(&world.nodes[number].board) > world.now_ns);
}

/* ---- Packets that the fuzzer makes -------------------------------------------------------- */

static uint64_t take_offset(void)
{
    uint8_t choice = take8();
    switch (choice >> 6) {
    case 0: return (uint64_t)choice * 8;
    case 1: return AREA_ONE_BYTES - 32 + (uint64_t)(choice & 63);
    case 2: return MEMORY_BYTES - 32 + (uint64_t)(choice & 63);
    default: return take64();
    }
}

static uint64_t take_tag(const struct player *player)
{
    uint8_t choice = take8();
    return choice == 255 ? take64() : take_near(player->tags[choice % TAGS]);
}

/* A well-formed operation that need not make sense. */
static struct wire_operation take_operation(const struct player *player, enum wire_class class)
{
    static const enum wire_opcode REQUESTS[] = {WIRE_AOTF, WIRE_BOTF,   WIRE_PUSH,
                                                WIRE_PULL, WIRE_ATOMIC, WIRE_SERVICE};
    static const uint8_t NUMBERS[] = {1, 3, 2, 2};
    static const enum wire_opcode REPLIES[] = {WIRE_PULLED, WIRE_FETCHED, WIRE_REFUSED,
                                               WIRE_SERVED};
    /* As numbers of a service: the name of a lock in use, a ticket or a node. */
    static const unsigned char data[256] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    struct wire_operation operation = {.data = data};
    uint8_t choice = take8();
    operation.opcode = class == WIRE_REQUEST ? REQUESTS[choice % 6] : REPLIES[choice % 4];
    operation.area = take8() % 5;
    operation.offset = class == WIRE_REQUEST ? take_offset() : take_tag(player);
    uint8_t size = take8();
    switch (operation.opcode) {
    case WIRE_AOTF:
        operation.detail = size >= 240;
        world.skips_sent |= size >= 240;
        operation.bytes = 1 + size % 8;
        operation.operand = take8();
        break;
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_PULLED: operation.bytes = (uint16_t)(1 + size % 200); break;
    case WIRE_PULL:
        operation.bytes = (uint16_t)(size < 128 ? 1 + size : 1 + size * 35);
        operation.tag = take8();
        break;
    case WIRE_ATOMIC:
        operation.detail = size % WIRE_ATOMICS;
        operation.bytes = size & 128 ? 4 : 8;
        operation.operand = 1;
        operation.tag = take8();
        break;
    case WIRE_SERVICE:
        operation.offset = take_tag(player);
        operation.area = (uint32_t)take8() % 10 << 24 | operation.area;
        __attribute__((fallthrough));
    case WIRE_SERVED:
        operation.detail = 1 + size % WIRE_SERVICE_LAST;
        operation.bytes = size & 128 ? NUMBERS[size >> 5 & 3] * 8 : size & 64 ? size & 63 : 0;
        break;
    case WIRE_FETCHED: operation.bytes = size & 128 ? 4 : 8; break;
    case WIRE_REFUSED: operation.detail = size | 1; break;
    }
    return operation;
}

static uint32_t take_acks(const struct player *player, uint16_t board, unsigned char *to)
{
    uint32_t bytes = 0;
    uint8_t which = take8();
    for (uint32_t class = 0; class < WIRE_CLASSES; class ++) {
        if ((which >> class & 1) == 0) {
            continue;
        }
        uint8_t bits = take8();
        uint32_t next = player->seen_sequence[board][class] + 1;
        struct wire_ack ack = {
            .class = (enum wire_class) class,
            .stage = (enum wire_stage)(bits % 3),
            .gap = (bits & 16) != 0,
            .refused = (bits & 32) != 0,
            .bitmap_words = bits & 64 ? take8() % (WIRE_ACK_BITMAP_WORDS_MAX + 1) : 0,
            .window = (uint16_t)(1 + take8()),
            .next = (uint32_t)take_near(next),
            .echo = (uint32_t)take_near(player->seen_counter[board]),
            .delay_ns = bits & 128 ? UINT32_C(1) << take8() % 32 : 0,
        };
        for (uint32_t i = 0; i < ack.bitmap_words; i++) {
            ack.bitmap[i] = (uint32_t)take8() * 0x01010101;
        }
        bytes += wire_ack_encode(&ack, to + bytes);
    }
    return bytes;
}

static uint32_t take_body(const struct player *player, enum wire_class class, unsigned char *to,
                          uint32_t room)
{
    uint8_t choice = take8();
    uint32_t bytes = 0;
    if (choice >= 250) {
        /* Any bytes, but with a length that a header may have. */
        bytes = (uint32_t)take8() % 8 * 8 + 8;
        for (uint32_t i = 0; i < bytes; i++) {
            to[i] = take8();
        }
        return bytes;
    }
    for (uint32_t count = 1 + choice % 4; count > 0; count--) {
        struct wire_operation operation = take_operation(player, class);
        if (wire_operation_bytes(&operation) > room - bytes) {
            break;
        }
        wire_operation_encode(&operation, to + bytes);
        bytes += wire_operation_bytes(&operation);
    }
    return bytes;
}

/* Part of a body of stores, mostly as a sender would cut it; gives its bytes. */
static uint32_t take_piece(unsigned char *to)
{
    enum { WHOLE = 384, OPERATION = 24 };
    unsigned char whole[2 * WHOLE] = {0};
    for (uint32_t at = 0; at < WHOLE; at += OPERATION) {
        struct wire_operation operation = {
            .opcode = WIRE_AOTF, .area = 1, .offset = at, .bytes = 8, .operand = at};
        wire_operation_encode(&operation, whole + at);
    }
    uint8_t choice = take8();
    uint32_t offset = choice % 3 * 128u;
    uint32_t bytes = choice & 128 ? 8 + take8() % 32 * 8u : 128;
    memcpy(to + WIRE_PIECE_BYTES, whole + offset, bytes);
    wire_put16(to, (uint16_t)(choice & 64 ? take_near(offset) : offset));
    wire_put16(to + 2, (uint16_t)(choice & 32 ? take_near(WHOLE) : WHOLE));
    wire_put32(to + 4, choice == 255);
    return WIRE_PIECE_BYTES + bytes;
}

/* A control code with what belongs to it, or nearly; gives its bytes. */
static uint32_t take_control(const struct player *player, uint16_t board, unsigned char *to)
{
    uint8_t choice = take8();
    to[0] = choice % 10;
    if (to[0] == WIRE_PATH) {
        uint32_t padding = take8();
        memset(to + 1, 0, padding);
        to[padding] |= choice & 128;
        return 1 + padding;
    }
    if (to[0] == WIRE_PATH_CARRIES) {
        wire_path_answer_encode(take_near(player->seen_counter[board]), to);
        return choice & 128 ? 1 + take8() % 16 : WIRE_PATH_ANSWER_BYTES;
    }
    return 1;
}

/* A sealed packet from a played node, kept in play.last. Its tag is right; nothing else need be. */
static void forge(void)
{
    uint8_t who = take8();
    uint16_t board = who & 1;
    uint16_t source = who & 2 ? 2 : 3;
    if (who >= 240) {
        source = who & 4;
        source /= 4;
        play.boards_forged = true;
    }
    struct player *player = &play.players[source];
    uint8_t shape = take8();
    struct wire_header header = {
        .kind = shape % 8 == 0   ? WIRE_UD
                : shape % 8 <= 2 ? WIRE_CONTROL
                : shape % 8 == 7 ? WIRE_PIECE
                                 : WIRE_CD,
        .channel = shape >> 3 & 15,
        .source = source,
        .target = board,
        .pgid = who / 16 == 14 ? PGID + 1 : PGID,
        .source_incarnation = (uint32_t)take_near(player->incarnation) | 1,
        .target_incarnation = (uint32_t)take_near(world.nodes[board].incarnation),
        .counter = take_near(player->counter + 1),
    };
    player->counter = header.counter > player->counter ? header.counter : player->counter;
    unsigned char *acks = play.last + WIRE_PREFIX_BYTES;
    header.ack_bytes = (uint16_t)take_acks(player, board, acks);
    unsigned char *body = acks + header.ack_bytes;
    if (header.kind == WIRE_CONTROL) {
        header.body_bytes = (uint16_t)(shape & 128 ? take_control(player, board, body) : 0);
    } else {
        header.target_incarnation |= header.target_incarnation == 0;
        uint8_t flags = take8();
        header.flags = header.kind == WIRE_UD ? flags & WIRE_FLAG_ANSWER : flags & WIRE_FLAGS;
        bool is_reply = (header.flags & WIRE_FLAG_REPLY) != 0;
        if (header.kind != WIRE_UD) {
            uint32_t *sequence = &player->sequence[board][is_reply];
            header.after = flags & 128 ? take8() % (WIRE_AFTER_MAX + 1) : flags >> 4 & 7;
            header.sequence = (uint32_t)take_near(*sequence);
            /* Pieces of one packet have one number. */
            *sequence += header.sequence == *sequence && (header.kind == WIRE_CD || flags & 64);
        }
        uint32_t room = (BODY_ROOM - header.ack_bytes) & ~7u;
        header.body_bytes = (uint16_t)(header.kind == WIRE_PIECE
                                           ? take_piece(body)
                                           : take_body(player, is_reply ? WIRE_REPLY : WIRE_REQUEST,
                                                       body, room));
    }
    wire_header_encode(&header, play.last);
    play.last_bytes = (uint32_t)WIRE_OVERHEAD_BYTES + header.ack_bytes + header.body_bytes;
    play.last_target = board;
    seal(NULL, &header, play.last, play.last_bytes);
}

static void receive_tampered(uint16_t board, const unsigned char *packet, uint32_t bytes)
{
    unsigned char tampered[PACKET_BYTES_MAX];
    uint32_t at = ((uint32_t)take8() << 8 | take8()) % bytes;
    memcpy(tampered, packet, bytes);
    tampered[at] ^= (unsigned char)(take8() | 1);
    receive(board, tampered, bytes);
}

/* Any bytes; as they are, or with a valid tag. */
static void receive_raw(bool is_sealed)
{
    unsigned char packet[256];
    uint16_t board = take_board();
    uint32_t bytes = take8();
    for (uint32_t i = 0; i < bytes; i++) {
        packet[i] = take8();
    }
    struct wire_header header;
    if (is_sealed && wire_header_decode(packet, bytes, &header)) {
        play.boards_forged |= header.source < BOARDS;
        world.skips_sent = true;
        seal(NULL, &header, packet, bytes);
    }
    receive(board, packet, bytes);
}

/* A packet on the network arrives, arrives and stays, is lost or damaged. */
static void fly(void)
{
    uint8_t choice = take8();
    struct flight *flight = &world.flights[choice % FLIGHTS];
    if (flight->bytes == 0) {
        return;
    }
    switch (choice / FLIGHTS % 4) {
    case 0:
    case 1: receive(flight->target, flight->packet, flight->bytes); break;
    case 2: receive_tampered(flight->target, flight->packet, flight->bytes); return;
    default: break;
    }
    if (choice / FLIGHTS % 4 != 1) {
        flight->bytes = 0;
    }
}

/* ---- Local operations ------------------------------------------------------------------- */

static bool is_expected(int error)
{
    return error == 0 || error == DN_EFULL || error == DN_EPEER || error == DN_EBUSY ||
           error == DN_ERANK || error == DN_EINVAL || error == DN_EALIGN || error == DN_ENOTHELD;
}

static void operate(void)
{
    uint16_t number = take_board();
    struct node *node = &world.nodes[number];
    struct nic_engine *engine = node->board.engine;
    uint8_t choice = take8();
    struct dn_remote remote = {take8() % NODES, 1 + take8() % 3, (uint64_t)take8() * 8};
    uint32_t user = choice >> 7;
    uint32_t bytes = 1 + (uint32_t)take8() * 8;
    struct work *work = &node->works[take8() % COMPLETIONS];
    bool is_free = work->completion.state != NIC_PENDING;
    uint16_t target_before = work->target;
    int error = 0;
    work->target = is_free ? (uint16_t)remote.rank : work->target;
    switch (choice % 8) {
    case 0:
        error = nic_aotf(engine, (uint32_t)remote.rank % 2, node->kick_addresses[remote.rank],
                         bytes, 1u << bytes / 8 % 4);
        break;
    case 1: error = nic_botf(engine, user, remote, work->buffer, 1 + bytes % 464); break;
    case 2: error = nic_fence(engine, user); break;
    case 3:
        if (is_free) {
            work->target = NODES;
            error = nic_quiet(engine, user, &work->completion);
        }
        break;
    case 4:
        if (is_free) {
            error = nic_push(engine, user, remote, work->buffer, bytes, &work->completion);
        }
        break;
    case 5:
        if (is_free) {
            error = nic_pull(engine, user, remote, work->buffer, bytes, &work->completion);
        }
        break;
    case 6:
        error = nic_atomic(engine, user, remote, (enum wire_atomic)(bytes / 8 % WIRE_ATOMICS), 8, 1,
                           2, is_free ? &work->completion : NULL);
        break;
    default: error = nic_push(engine, user, remote, node->memory, bytes, NULL); break;
    }
    FUZZ_TRACE("node %u operation %u to %d: %d\n", number, choice % 8, remote.rank, error);
    FUZZ_ASSERT(is_expected(error));
    if (error != 0) {
        work->target = target_before;
    }
}

static void use_services(void)
{
    struct node *node = &world.nodes[take_board()];
    struct nic_services *services = node->board.services;
    uint8_t choice = take8();
    struct nic_completion *completion = &node->service_completions[choice >> 6];
    uint64_t *ticket = &node->tickets[choice >> 6];
    bool is_free = completion->state != NIC_PENDING;
    unsigned char text[64] = {choice};
    uint16_t peer = take8() % NODES;
    uint32_t bytes;
    int error = 0;
    switch (choice % 6) {
    case 0:
        if (is_free) {
            error = nic_packet_lock_request(services, world.now_ns, peer, choice >> 3 & 1,
                                            (choice & 16) != 0, NULL, completion, ticket);
        }
        break;
    case 1: error = nic_packet_lock_release(services, world.now_ns, *ticket); break;
    case 2: error = nic_packet_lock_abandon(services, world.now_ns, *ticket); break;
    case 3:
        if (is_free) {
            error = nic_packet_barrier_arrive(services, world.now_ns, 1, completion);
        }
        break;
    case 4:
        error = nic_packet_message_send(services, world.now_ns, 0, peer, text, choice >> 3);
        break;
    default:
        error = nic_packet_message_receive(services, world.now_ns, 0, text, sizeof text, &peer,
                                           &bytes);
        break;
    }
    FUZZ_TRACE("service %u: %d\n", choice % 6, error);
    FUZZ_ASSERT(is_expected(error));
}

/* What a launcher would tell, datagrams, new lives. */
static void disturb(void)
{
    static const unsigned char body[24] = {WIRE_AOTF, 0, 8};
    uint8_t choice = take8();
    uint16_t number = choice & 1;
    uint16_t peer = choice >> 1 & 3;
    struct swif *swif = world.nodes[number].board.swif;
    switch (peer == number ? 8 : choice >> 3 & 7) {
    case 0: swif_peer_is(swif, world.now_ns, peer, (uint32_t)take_near(5)); break;
    case 1: swif_peer_died(swif, world.now_ns, peer, (uint32_t)take_near(5)); break;
    case 2: start_board(number); break;
    case 3: play.players[peer].incarnation += 2; break;
    case 4: swif_path_refused(swif, world.now_ns, peer, PACKET_BYTES_MAX); break;
    default: (void)swif_datagram(swif, world.now_ns, peer, choice >> 4, body, sizeof body); break;
    }
}

/* ---- The end --------------------------------------------------------------------------- */

static bool is_finished(const struct node *node)
{
    for (uint32_t i = 0; i < COMPLETIONS; i++) {
        bool excused = play.boards_forged && node->works[i].target != 2 &&
                       node->works[i].target != 3;
        if (node->works[i].completion.state == NIC_PENDING && !excused) {
            return false;
        }
    }
    return true;
}

static bool all_finished(void)
{
    return is_finished(&world.nodes[0]) && is_finished(&world.nodes[1]);
}

/* The boards talk on without loss, the played nodes are silent: every user gets an answer. */
static void finish(void)
{
    uint64_t end_ns = world.now_ns + 40 * PEER_TIMEOUT_NS;
    while (!all_finished()) {
        uint64_t next_ns = UINT64_MAX;
        for (uint16_t i = 0; i < BOARDS; i++) {
            transmit_all(i);
            uint64_t deadline_ns = board_deadline_ns(&world.nodes[i].board);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
        bool any = false;
        for (uint32_t i = 0; i < FLIGHTS; i++) {
            struct flight *flight = &world.flights[(world.flight_next + i) % FLIGHTS];
            if (flight->bytes > 0) {
                any = true;
                receive(flight->target, flight->packet, flight->bytes);
                flight->bytes = 0;
            }
        }
        world.now_ns = any ? world.now_ns + 1000 : next_ns;
        FUZZ_ASSERT(all_finished() || world.now_ns < end_ns);
    }
}

static void act(void)
{
    uint8_t choice = take8();
    switch (choice % 12) {
    case 0: world.now_ns += UINT64_C(1) << take8() % 28; break;
    case 1:
    case 2: transmit_all(take_board()); break;
    case 3: (void)transmit(take_board()); break;
    case 4: fly(); break;
    case 5:
    case 6:
        forge();
        receive(play.last_target, play.last, play.last_bytes);
        break;
    case 7:
        forge();
        receive_tampered(play.last_target, play.last, play.last_bytes);
        break;
    case 8: receive_raw(choice >= 192); break;
    case 9: operate(); break;
    case 10: use_services(); break;
    default:
        if (choice >= 128 && play.last_bytes > 0) {
            receive(play.last_target, play.last, play.last_bytes);
        } else {
            disturb();
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    memset(&play, 0, sizeof play);
    play.data = data;
    play.bytes = bytes;
    for (uint32_t i = 0; i < NODES; i++) {
        play.players[i].incarnation = 5;
    }
    uint32_t choice = take8();
    choice |= (uint32_t)take8() << 8;
    make_world(choice);
    for (uint32_t i = 0; i < ACTIONS_MAX && play.bytes > 0; i++) {
        act();
    }
    if ((choice & 256) != 0) {
        finish();
    }
    check_memory(&world.nodes[0]);
    check_memory(&world.nodes[1]);
    return 0;
}
