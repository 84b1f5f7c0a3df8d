/* Order and completion: every rule of the memory model (dimmnet(7)), as messages that must not be
 * seen without what was ordered before them. The rules hold on every fabric, and under DN_RELAX=1,
 * which breaks whatever is not promised. */
#define _GNU_SOURCE
#include "live/live.h"

/* Fewer rounds where each takes longer: with more nodes than this machine has cores, when
 * every message is held back, or when a simulator takes it through a machine. */
static uint64_t rounds(uint64_t many)
{
    bool crowded = me.size > sysconf(_SC_NPROCESSORS_ONLN);
    return live_is_relaxed() || live_is_virtual() ? many / 20 : crowded ? many / 10 : many;
}

/* ---- One sender, one receiver ---------------------------------------------------
 *
 * Every node streams to the next one. A message is 256 bytes in one of a few slots, and
 * then its number in the flag. Whoever sees the number sees the bytes. The slot is free
 * again when the receiver says so. */

enum {
    SLOTS = 4,
    SLOT_BYTES = 256,
    SLOT_WORDS = SLOT_BYTES / 8,
    STREAM_BYTES = 2048,
    /* Places in a stream's piece of LLCM, slots from 0. */
    FLAG_AT = SLOTS * SLOT_BYTES,
    OTHER_FLAG_AT = FLAG_AT + 64,
    ACKNOWLEDGED_AT = FLAG_AT + 128,
};

struct stream {
    struct dn_node *lane;
    uint64_t base;         /* of its piece of LLCM, the same on all nodes */
    struct dn_kick kick;   /* of that piece at the next node */
    struct dn_kick answer; /* at the node before */
    uint64_t round;        /* of the message under way */
};

/* A message to fill the slot with, and where it goes. */
struct message {
    uint64_t words[SLOT_WORDS];
    uint64_t number;
    uint64_t slot_at; /* in the stream's piece */
    struct dn_remote slot;
    struct dn_remote flag;
    struct dn_remote other_flag;
};

typedef void (*send_function)(struct stream *stream, const struct message *message);

static uint64_t word_of(uint64_t number, uint64_t index)
{
    return live_mix(number * SLOT_WORDS + index);
}

static void stream_open(struct stream *stream, struct dn_node *lane, uint64_t base)
{
    *stream = (struct stream){.lane = lane, .base = base};
    struct dn_remote there = live_place(live_neighbour(1), base);
    struct dn_remote back = live_place(live_neighbour(-1), base);
    expect(dn_kick_map(lane, there, STREAM_BYTES, &stream->kick), 0);
    expect(dn_kick_map(lane, back, STREAM_BYTES, &stream->answer), 0);
}

static void stream_close(struct stream *stream)
{
    expect(dn_kick_unmap(&stream->kick), 0);
    expect(dn_kick_unmap(&stream->answer), 0);
}

static void stream_send(struct stream *stream, uint64_t number, send_function send)
{
    struct message message = {.number = number, .slot_at = number % SLOTS * SLOT_BYTES};
    int to = live_neighbour(1);
    if (number > SLOTS) {
        live_wait_u64(stream->base + ACKNOWLEDGED_AT, DN_GE, number - SLOTS);
    }
    message.slot = live_place(to, stream->base + message.slot_at);
    message.flag = live_place(to, stream->base + FLAG_AT);
    message.other_flag = live_place(to, stream->base + OTHER_FLAG_AT);
    for (uint64_t i = 0; i < SLOT_WORDS; i++) {
        message.words[i] = word_of(number, i);
    }
    send(stream, &message);
}

static void stream_receive(struct stream *stream, uint64_t number)
{
    live_wait_u64(stream->base + FLAG_AT, DN_GE, number);
    const uint64_t *slot = live_u64(stream->base + number % SLOTS * SLOT_BYTES);
    for (uint64_t i = 0; i < SLOT_WORDS; i++) {
        require_else(slot[i] == word_of(number, i), "message %llu came before its word %llu",
                     (unsigned long long)number, (unsigned long long)i);
    }
    dn_store_u64(&stream->answer, ACKNOWLEDGED_AT, number);
}

static void run_stream(send_function send)
{
    struct stream stream;
    uint64_t count = rounds(3000);
    stream_open(&stream, me.node, 0);
    for (uint64_t number = 1; number <= count; number++) {
        stream_send(&stream, number, send);
        stream_receive(&stream, number);
    }
    live_barrier();
    stream_close(&stream);
}

/* ---- Ways to send a message -------------------------------------------------- */

static void store_words(struct stream *stream, const struct message *message, uint64_t from,
                        uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        uint64_t at = message->slot_at + 8 * i;
        uint64_t word = message->words[i];
        switch (i % 4) {
        case 0: dn_store_u64(&stream->kick, at, word); break;
        case 1:
            dn_store_u32(&stream->kick, at, (uint32_t)word);
            dn_store_u32(&stream->kick, at + 4, (uint32_t)(word >> 32));
            break;
        case 2:
            for (unsigned part = 0; part < 4; part++) {
                dn_store_u16(&stream->kick, at + 2 * part, (uint16_t)(word >> 16 * part));
            }
            break;
        default:
            for (unsigned part = 0; part < 8; part++) {
                dn_store_u8(&stream->kick, at + part, (uint8_t)(word >> 8 * part));
            }
            break;
        }
    }
}

static void store_flag(struct stream *stream, const struct message *message)
{
    dn_store_u64(&stream->kick, FLAG_AT, message->number);
}

static void send_store_store(struct stream *stream, const struct message *message)
{
    store_words(stream, message, 0, SLOT_WORDS);
    store_flag(stream, message);
}

static void send_botf_store(struct stream *stream, const struct message *message)
{
    expect(dn_botf(stream->lane, message->slot, message->words, SLOT_BYTES), 0);
    store_flag(stream, message);
}

static void send_store_botf(struct stream *stream, const struct message *message)
{
    store_words(stream, message, 0, SLOT_WORDS);
    expect(dn_botf(stream->lane, message->flag, &message->number, 8), 0);
}

static void send_botf_botf(struct stream *stream, const struct message *message)
{
    expect(dn_botf(stream->lane, message->slot, message->words, SLOT_BYTES), 0);
    expect(dn_botf(stream->lane, message->flag, &message->number, 8), 0);
}

static void send_put_signal(struct stream *stream, const struct message *message)
{
    expect(dn_put_signal(stream->lane, message->slot, message->words, SLOT_BYTES, message->flag,
                         message->number),
           0);
}

/* The flag of a signal is ordered with the stores and blocks before it. */
static void send_store_botf_signal(struct stream *stream, const struct message *message)
{
    struct dn_remote second = message->slot;
    struct dn_remote third = message->slot;
    second.offset += 64;
    third.offset += 128;
    store_words(stream, message, 0, 8);
    expect(dn_botf(stream->lane, second, message->words + 8, 64), 0);
    expect(dn_put_signal(stream->lane, third, message->words + 16, 128, message->flag,
                         message->number),
           0);
}

/* A store after a signal's flag comes after it, and so after the body. */
static void send_signal_store(struct stream *stream, const struct message *message)
{
    expect(dn_put_signal(stream->lane, message->slot, message->words, SLOT_BYTES,
                         message->other_flag, message->number),
           0);
    store_flag(stream, message);
}

/* Pushes in pieces, so that there is something to reorder. */
static void push_words(struct stream *stream, const struct message *message)
{
    for (uint64_t i = 0; i < SLOT_WORDS; i += 8) {
        struct dn_remote place = message->slot;
        place.offset += 8 * i;
        expect(dn_push(stream->lane, place, message->words + i, 64, NULL), 0);
    }
}

static void send_push_fence_store(struct stream *stream, const struct message *message)
{
    push_words(stream, message);
    expect(dn_fence(stream->lane), 0);
    store_flag(stream, message);
    /* The words are on the stack, and a push may still read them. */
    expect(dn_quiet(stream->lane), 0);
}

static void send_push_fence_signal(struct stream *stream, const struct message *message)
{
    push_words(stream, message);
    expect(dn_fence(stream->lane), 0);
    expect(dn_put_signal(stream->lane, message->slot, NULL, 0, message->flag, message->number), 0);
    expect(dn_quiet(stream->lane), 0);
}

static void send_push_wait_store(struct stream *stream, const struct message *message)
{
    struct dn_op ops[4];
    for (uint64_t i = 0; i < 4; i++) {
        struct dn_remote place = message->slot;
        place.offset += 64 * i;
        expect(dn_push(stream->lane, place, message->words + 8 * i, 64, &ops[i]), 0);
    }
    for (uint64_t i = 0; i < 4; i++) {
        expect(dn_op_wait(&ops[3 - i], LIVE_PATIENCE_NS), 0);
    }
    store_flag(stream, message);
}

static void send_push_quiet_store(struct stream *stream, const struct message *message)
{
    push_words(stream, message);
    expect(dn_quiet(stream->lane), 0);
    store_flag(stream, message);
}

static void send_set_fence_store(struct stream *stream, const struct message *message)
{
    for (uint64_t i = 0; i < SLOT_WORDS; i++) {
        struct dn_remote place = message->slot;
        place.offset += 8 * i;
        expect(dn_set_u64(stream->lane, place, message->words[i]), 0);
    }
    expect(dn_fence(stream->lane), 0);
    store_flag(stream, message);
}

/* Fetching atomics are complete when they return. */
static void send_swap_store(struct stream *stream, const struct message *message)
{
    for (uint64_t i = 0; i < SLOT_WORDS; i++) {
        struct dn_remote place = message->slot;
        uint64_t old;
        place.offset += 8 * i;
        expect(dn_swap_u64(stream->lane, place, message->words[i], &old), 0);
    }
    store_flag(stream, message);
}

/* An atomic as the flag: a fence orders it after the data, and before the next message. */
static void send_store_fence_set(struct stream *stream, const struct message *message)
{
    store_words(stream, message, 0, SLOT_WORDS);
    expect(dn_fence(stream->lane), 0);
    expect(dn_set_u64(stream->lane, message->flag, message->number), 0);
    expect(dn_fence(stream->lane), 0);
}

static const send_function ways[] = {
    send_store_store,       send_botf_store,        send_store_botf,       send_botf_botf,
    send_put_signal,        send_store_botf_signal, send_signal_store,     send_push_fence_store,
    send_push_fence_signal, send_push_wait_store,   send_push_quiet_store, send_set_fence_store,
    send_swap_store,        send_store_fence_set,
};

#define DEFINE_STREAM_CHECK(name) \
    static void name(void)        \
    {                             \
        run_stream(send_##name);  \
    }

DEFINE_STREAM_CHECK(store_store)
DEFINE_STREAM_CHECK(botf_store)
DEFINE_STREAM_CHECK(store_botf)
DEFINE_STREAM_CHECK(botf_botf)
DEFINE_STREAM_CHECK(put_signal)
DEFINE_STREAM_CHECK(store_botf_signal)
DEFINE_STREAM_CHECK(signal_store)
DEFINE_STREAM_CHECK(push_fence_store)
DEFINE_STREAM_CHECK(push_fence_signal)
DEFINE_STREAM_CHECK(push_wait_store)
DEFINE_STREAM_CHECK(push_quiet_store)
DEFINE_STREAM_CHECK(set_fence_store)
DEFINE_STREAM_CHECK(swap_store)
DEFINE_STREAM_CHECK(store_fence_set)

/* Several lanes, each in its own order, and each message sent in another way. */
static void lanes(void)
{
    enum { LANES = 3 };
    struct stream streams[LANES];
    struct dn_node *handles[LANES] = {me.node};
    uint64_t random = me.seed + (uint64_t)me.rank;
    uint64_t count = rounds(3000);
    for (uint64_t i = 0; i < LANES; i++) {
        if (i > 0) {
            expect(dn_lane_open(me.node, &handles[i]), 0);
        }
        stream_open(&streams[i], handles[i], i * STREAM_BYTES);
    }
    for (uint64_t number = 1; number <= count; number++) {
        for (size_t i = 0; i < LANES; i++) {
            stream_send(&streams[i], number, ways[live_random(&random, LIVE_COUNT(ways))]);
        }
        for (size_t i = 0; i < LANES; i++) {
            stream_receive(&streams[LANES - 1 - i], number);
        }
    }
    live_barrier();
    for (size_t i = 0; i < LANES; i++) {
        stream_close(&streams[i]);
        if (i > 0) {
            expect(dn_lane_close(handles[i]), 0);
        }
    }
}

/* Bodies that take a while to write: the flag must not overtake their end. */
enum { LARGE_BYTES = 200000 };

static void send_large(struct stream *stream, const unsigned char *body, uint64_t number)
{
    struct dn_remote place = live_at(live_neighbour(1), DN_BANK, 0);
    struct dn_remote flag = live_place(live_neighbour(1), FLAG_AT);
    switch (number % 3) {
    case 0: expect(dn_put_signal(me.node, place, body, LARGE_BYTES, flag, number), 0); break;
    case 1:
        expect(dn_botf(me.node, place, body, LARGE_BYTES), 0);
        dn_store_u64(&stream->kick, FLAG_AT, number);
        break;
    default:
        expect(dn_push(me.node, place, body, LARGE_BYTES, NULL), 0);
        expect(dn_fence(me.node), 0);
        dn_store_u64(&stream->kick, FLAG_AT, number);
        expect(dn_quiet(me.node), 0);
        break;
    }
}

static void large_bodies(void)
{
    static unsigned char body[LARGE_BYTES];
    struct stream stream;
    uint64_t count = rounds(200) + 9;
    stream_open(&stream, me.node, 0);
    for (uint64_t number = 1; number <= count; number++) {
        /* Each byte differs from that of the message before. */
        memset(body, (int)number, sizeof body);
        live_wait_u64(ACKNOWLEDGED_AT, DN_EQ, number - 1);
        send_large(&stream, body, number);
        live_wait_u64(FLAG_AT, DN_EQ, number);
        require_else(me.bank[LARGE_BYTES - 1] == (unsigned char)number,
                     "message %llu came before its end", (unsigned long long)number);
        require(live_all_are(me.bank, LARGE_BYTES, (unsigned char)number));
        dn_store_u64(&stream.answer, ACKNOWLEDGED_AT, number);
    }
    live_barrier();
    stream_close(&stream);
}

/* ---- Several targets ------------------------------------------------------------
 *
 * The data goes to the next node and the flag to the one after that, who looks at the
 * data over there. Only completion orders the two. */

enum { DATA_AT = 0, DATA_WORDS = 8, NEWS_AT = 4096, SEEN_AT = 4160, RELAY_AT = 4224 };

static void send_data(struct dn_node *lane, uint64_t number)
{
    int to = live_neighbour(1);
    /* A push reads its source until it is done, which may be after this function returns. */
    static uint64_t words[2];
    struct dn_kick kick;
    words[0] = word_of(number, 3);
    words[1] = word_of(number, 4);
    expect(dn_kick_map(lane, live_place(to, DATA_AT), 64, &kick), 0);
    dn_store_u64(&kick, 0, word_of(number, 0));
    dn_store_u64(&kick, 8, word_of(number, 1));
    expect(dn_set_u64(lane, live_place(to, DATA_AT + 16), word_of(number, 2)), 0);
    expect(dn_botf(lane, live_place(to, DATA_AT + 24), words, 8), 0);
    expect(dn_push(lane, live_place(to, DATA_AT + 32), words + 1, 8, NULL), 0);
    expect(dn_add_u64(lane, live_place(to, DATA_AT + 40), 1), 0);
    expect(dn_xor_u64(lane, live_place(to, DATA_AT + 48), number), 0);
    expect(
        dn_put_signal(lane, live_place(to, DATA_AT), NULL, 0, live_place(to, DATA_AT + 56), number),
        0);
    expect(dn_kick_unmap(&kick), 0);
}

/* What node `rank` holds after `number` messages of the node before it. */
static void require_data(int rank, uint64_t number)
{
    uint64_t words[DATA_WORDS];
    uint64_t xored = 0;
    struct dn_op op;
    expect(dn_pull(me.node, live_place(rank, DATA_AT), words, sizeof words, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    for (uint64_t i = 1; i <= number; i++) {
        xored ^= i;
    }
    for (uint64_t i = 0; i < 5; i++) {
        require_else(words[i] == word_of(number, i), "the news of %llu came before its word %llu",
                     (unsigned long long)number, (unsigned long long)i);
    }
    require(words[5] == number && words[6] == xored && words[7] == number);
    uint64_t read;
    expect(dn_read_u64(me.node, live_place(rank, DATA_AT), &read), 0);
    require(read == word_of(number, 0));
}

static void quiet_orders_targets(void)
{
    struct dn_kick news;
    struct dn_kick seen;
    uint64_t count = rounds(1500);
    expect(dn_kick_map(me.node, live_place(live_neighbour(2), NEWS_AT), 8, &news), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(-2), SEEN_AT), 8, &seen), 0);
    for (uint64_t number = 1; number <= count; number++) {
        send_data(me.node, number);
        expect(dn_quiet(me.node), 0);
        dn_store_u64(&news, 0, number);
        live_wait_u64(NEWS_AT, DN_EQ, number);
        require_data(live_neighbour(-1), number);
        dn_store_u64(&seen, 0, number);
        live_wait_u64(SEEN_AT, DN_EQ, number);
    }
}

/* As above, but each message is the last of a lane. */
static void closing_a_lane_completes(void)
{
    struct dn_kick news;
    struct dn_kick seen;
    uint64_t count = rounds(400);
    expect(dn_kick_map(me.node, live_place(live_neighbour(2), NEWS_AT), 8, &news), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(-2), SEEN_AT), 8, &seen), 0);
    for (uint64_t number = 1; number <= count; number++) {
        struct dn_node *lane;
        expect(dn_lane_open(me.node, &lane), 0);
        send_data(lane, number);
        expect(dn_lane_close(lane), 0);
        dn_store_u64(&news, 0, number);
        live_wait_u64(NEWS_AT, DN_EQ, number);
        require_data(live_neighbour(-1), number);
        dn_store_u64(&seen, 0, number);
        live_wait_u64(SEEN_AT, DN_EQ, number);
    }
}

/* Only the barrier is between sending on any lane and looking, whichever lane the barrier is called
 * on. */
static void barrier_completes(void)
{
    struct dn_node *lanes_of[2] = {me.node};
    uint64_t count = rounds(1000);
    expect(dn_lane_open(me.node, &lanes_of[1]), 0);
    for (uint64_t number = 1; number <= count; number++) {
        send_data(lanes_of[number % 2], number);
        expect(dn_barrier(dn_team_all(lanes_of[number / 2 % 2]), LIVE_PATIENCE_NS), 0);
        require_data(me.rank, number);
        require_data(live_neighbour(1), number);
        live_barrier();
    }
    expect(dn_lane_close(lanes_of[1]), 0);
}

/* All nodes see a placed push, and a fetched word. */
static void completed_operations_order_targets(void)
{
    struct dn_kick news;
    struct dn_kick seen;
    uint64_t count = rounds(1500);
    int to = live_neighbour(1);
    expect(dn_kick_map(me.node, live_place(live_neighbour(2), NEWS_AT), 8, &news), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(-2), SEEN_AT), 8, &seen), 0);
    for (uint64_t number = 1; number <= count; number++) {
        struct dn_op op;
        uint64_t old;
        expect(dn_push(me.node, live_place(to, DATA_AT), &number, 8, &op), 0);
        expect(dn_fetch_add_u64(me.node, live_place(to, DATA_AT + 8), 1, &old), 0);
        require(old == number - 1);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
        dn_store_u64(&news, 0, number);
        live_wait_u64(NEWS_AT, DN_EQ, number);
        expect(dn_read_u64(me.node, live_place(live_neighbour(-1), DATA_AT), &old), 0);
        require_else(old == number, "a placed push of %llu was seen as %llu",
                     (unsigned long long)number, (unsigned long long)old);
        expect(dn_read_u64(me.node, live_place(live_neighbour(-1), DATA_AT + 8), &old), 0);
        require(old == number);
        dn_store_u64(&seen, 0, number);
        live_wait_u64(SEEN_AT, DN_EQ, number);
    }
}

/* A node that is told something sees what the teller has seen: data goes to the node after next,
 * news to the next, which tells the node after next. */
static void news_is_passed_on(void)
{
    struct dn_kick data;
    struct dn_kick news;
    struct dn_kick relay;
    struct dn_kick seen;
    uint64_t count = rounds(1500);
    expect(dn_kick_map(me.node, live_place(live_neighbour(2), DATA_AT), 64, &data), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), NEWS_AT), 8, &news), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), RELAY_AT), 8, &relay), 0);
    expect(dn_kick_map(me.node, live_place(live_neighbour(-2), SEEN_AT), 8, &seen), 0);
    for (uint64_t number = 1; number <= count; number++) {
        for (uint64_t i = 0; i < DATA_WORDS; i++) {
            dn_store_u64(&data, 8 * i, word_of(number, i));
        }
        expect(dn_quiet(me.node), 0);
        dn_store_u64(&news, 0, number);
        live_wait_u64(NEWS_AT, DN_EQ, number);
        dn_store_u64(&relay, 0, number);
        live_wait_u64(RELAY_AT, DN_EQ, number);
        for (uint64_t i = 0; i < DATA_WORDS; i++) {
            require(*live_u64(DATA_AT + 8 * i) == word_of(number, i));
        }
        dn_store_u64(&seen, 0, number);
        live_wait_u64(SEEN_AT, DN_EQ, number);
    }
}

/* Two nodes store to each other, call quiet, and look: at least one sees the other's store. */
static void quiet_is_a_full_fence(void)
{
    int peer = me.rank ^ 1;
    bool has_peer = peer < me.size;
    struct dn_kick kick;
    uint64_t count = rounds(20000);
    uint64_t missed = 0;
    expect(dn_kick_map(me.node, live_place(has_peer ? peer : me.rank, 0), 128, &kick), 0);
    for (uint64_t number = 1; number <= count; number++) {
        live_barrier();
        dn_store_u64(&kick, 0, number);
        expect(dn_quiet(me.node), 0);
        uint64_t seen = dn_load_u64(live_u64(0));
        /* Each tells the other what it saw, and the sum cannot be none. */
        dn_store_u64(&kick, 64, number << 1 | (seen == number));
        live_wait_u64(64, DN_GE, number << 1);
        missed += seen != number && !(*live_u64(64) & 1);
    }
    require_else(missed == 0, "neither node saw the other's store, %llu times of %llu",
                 (unsigned long long)missed, (unsigned long long)count);
}

/* ---- Atomics happen once ----------------------------------------------------- */

/* Old values never repeat: each is a ticket, and its bit is set once. */
#define DEFINE_TICKETS(suffix, type)                                                     \
    static void tickets_##suffix(void)                                                   \
    {                                                                                    \
        uint64_t count = rounds(5000);                                                   \
        uint64_t total = count * (uint64_t)me.size;                                      \
        if (me.rank == 0) {                                                              \
            memset(me.bank, 0, total / 8 + 8);                                           \
        }                                                                                \
        live_barrier();                                                                  \
        for (uint64_t i = 0; i < count; i++) {                                           \
            type ticket;                                                                 \
            uint64_t old;                                                                \
            expect(dn_fetch_add_##suffix(me.node, live_place(0, 0), 1, &ticket), 0);     \
            require(ticket < total);                                                     \
            struct dn_remote bits = live_at(0, DN_BANK, ticket / 64 * 8);                \
            expect(dn_fetch_or_u64(me.node, bits, UINT64_C(1) << ticket % 64, &old), 0); \
            require_else(!(old >> ticket % 64 & 1), "ticket %llu was given twice",       \
                         (unsigned long long)ticket);                                    \
        }                                                                                \
        live_barrier();                                                                  \
        type end;                                                                        \
        expect(dn_read_##suffix(me.node, live_place(0, 0), &end), 0);                    \
        require(end == total);                                                           \
    }

DEFINE_TICKETS(u32, uint32_t)
DEFINE_TICKETS(u64, uint64_t)

/* Non-fetching ones are all there after quiet, from all nodes, on all lanes. */
static void sums(void)
{
    struct dn_node *lane;
    uint64_t count = rounds(5000);
    uint64_t size = (uint64_t)me.size;
    int target = me.size - 1;
    expect(dn_lane_open(me.node, &lane), 0);
    for (uint64_t i = 0; i < count; i++) {
        struct dn_node *node = i % 3 ? me.node : lane;
        expect(dn_add_u64(node, live_place(target, 0), i + 1), 0);
        expect(dn_add_u32(node, live_place(target, 8), UINT32_MAX), 0);
        expect(dn_xor_u64(node, live_place(target, 16), live_mix(i)), 0);
        expect(dn_or_u64(node, live_place(target, 24), UINT64_C(1) << i % 64), 0);
    }
    expect(dn_quiet(me.node), 0);
    expect(dn_quiet(lane), 0);
    uint64_t old;
    expect(dn_fetch_add_u64(me.node, live_place(target, 64), 1, &old), 0);
    if (me.rank == target) {
        live_wait_u64(64, DN_EQ, size);
        uint64_t xored = 0;
        for (uint64_t i = 0; i < count; i++) {
            xored ^= live_mix(i);
        }
        require(*live_u64(0) == size * count * (count + 1) / 2);
        require(*live_u32(8) == (uint32_t) - (int32_t)(size * count) && *live_u32(12) == 0);
        require(*live_u64(16) == (size % 2 ? xored : 0));
        require(*live_u64(24) == (count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX));
    }
    expect(dn_lane_close(lane), 0);
}

static void compare_swap_counter(void)
{
    uint64_t count = rounds(3000);
    uint64_t seen = 0;
    for (uint64_t done = 0; done < count;) {
        uint64_t old;
        expect(dn_compare_swap_u64(me.node, live_place(0, 0), seen, seen + 1, &old), 0);
        done += old == seen;
        seen = old == seen ? seen + 1 : old;
    }
    live_barrier();
    expect(dn_read_u64(me.node, live_place(0, 0), &seen), 0);
    require(seen == count * (uint64_t)me.size);
}

/* Each value that a swap puts in comes out once: the sums agree. */
static void swapped_values(void)
{
    uint64_t count = rounds(3000);
    uint64_t put = 0;
    uint64_t got = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = live_mix((uint64_t)me.rank << 32 | i);
        uint64_t old;
        expect(dn_swap_u64(me.node, live_place(0, 0), value, &old), 0);
        put += value;
        got += old;
    }
    expect(dn_add_u64(me.node, live_place(0, 8), put), 0);
    expect(dn_add_u64(me.node, live_place(0, 16), got), 0);
    live_barrier();
    if (me.rank == 0) {
        require(*live_u64(8) == *live_u64(16) + *live_u64(0));
    }
}

/* ---- Words are never torn ---------------------------------------------------- */

/* All bytes of a value are the same, so half of another shows. */
static void stores_are_not_torn(void)
{
    struct dn_kick kick;
    uint64_t count = rounds(60000);
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 0), 128, &kick), 0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = (i % 255 + 1) * UINT64_C(0x0101010101010101);
        uint64_t block = value;
        dn_store_u64(&kick, 0, value);
        dn_store_u32(&kick, 8, (uint32_t)value);
        dn_store_u16(&kick, 12, (uint16_t)value);
        expect(dn_botf(me.node, live_place(live_neighbour(1), 16), &block, 8), 0);
        uint64_t large = dn_load_u64(me.llcm);
        uint32_t small = dn_load_u32(me.llcm + 8);
        uint16_t tiny = dn_load_u16(me.llcm + 12);
        uint64_t word = dn_load_u64(me.llcm + 16);
        require(large == (large & 0xff) * UINT64_C(0x0101010101010101));
        require(small == (small & 0xff) * 0x01010101);
        require(tiny == (tiny & 0xff) * 0x0101);
        require(word == (word & 0xff) * UINT64_C(0x0101010101010101));
    }
    live_barrier();
    require(*live_u64(0) == ((count - 1) % 255 + 1) * UINT64_C(0x0101010101010101));
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, store_store),
    LIVE_CHECK(1, botf_store),
    LIVE_CHECK(1, store_botf),
    LIVE_CHECK(1, botf_botf),
    LIVE_CHECK(1, put_signal),
    LIVE_CHECK(1, store_botf_signal),
    LIVE_CHECK(1, signal_store),
    LIVE_CHECK(1, push_fence_store),
    LIVE_CHECK(1, push_fence_signal),
    LIVE_CHECK(1, push_wait_store),
    LIVE_CHECK(1, push_quiet_store),
    LIVE_CHECK(1, set_fence_store),
    LIVE_CHECK(1, swap_store),
    LIVE_CHECK(1, store_fence_set),
    LIVE_CHECK(1, lanes),
    LIVE_CHECK(1, large_bodies),
    LIVE_CHECK(2, quiet_orders_targets),
    LIVE_CHECK(2, closing_a_lane_completes),
    LIVE_CHECK(1, barrier_completes),
    LIVE_CHECK(2, completed_operations_order_targets),
    LIVE_CHECK(2, news_is_passed_on),
    LIVE_CHECK(2, quiet_is_a_full_fence),
    LIVE_CHECK(1, tickets_u32),
    LIVE_CHECK(1, tickets_u64),
    LIVE_CHECK(1, sums),
    LIVE_CHECK(1, compare_swap_counter),
    LIVE_CHECK(1, swapped_values),
    LIVE_CHECK(1, stores_are_not_torn),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
