/* Two nodes across a network that may lose packets: `trips BYTES COUNT`, round trips, or
 * `stream MILLISECONDS`, a stream of 64 KB pushes. Node 0 prints one row as `dimmnet perf
 * --json` does; what arrived is looked at, and what is wrong ends the program with status 1.
 * scripts/bench udp runs it beside kernel TCP and libfabric. */
#include <dimmnet.h>

#include "bench.h"

enum {
    WORD_OFFSET = 0,
    BLOCK_BYTES = 64 * 1024,
    PLACES = 16,      /* of a stream, each with one push under way */
    LOOK_BYTES = 512, /* between two looks at what arrived: less than any packet holds */
};

#define WAIT_NS UINT64_C(60000000000)

struct pair {
    struct dn_node *node;
    int rank;
    struct dn_kick kick; /* onto the peer's word */
    uint64_t *word;
    uint64_t turn;
    unsigned char *bank;
    struct dn_op op; /* of the last push of a round trip */
    bool has_op;
};

static void check(int error, const char *what)
{
    if (error) {
        (void)fprintf(stderr, "loss: %s: %s\n", what, dn_strerror(error));
        exit(1);
    }
}

static void tell(struct pair *pair)
{
    dn_store_u64(&pair->kick, 0, ++pair->turn);
}

static void await(struct pair *pair)
{
    uint64_t turn = ++pair->turn;
    check(dn_wait_until_u64(pair->node, pair->word, DN_EQ, turn, WAIT_NS), "waiting");
}

/* ---- content --------------------------------------------------------------------------- */

static void fill(unsigned char *place, size_t bytes, uint64_t tag)
{
    for (size_t at = 0; at < bytes; at += LOOK_BYTES) {
        place[at] = (unsigned char)(tag + at / LOOK_BYTES);
    }
    place[bytes - 1] = (unsigned char)~tag;
}

static void look(const unsigned char *place, size_t bytes, uint64_t tag)
{
    bool right = place[bytes - 1] == (unsigned char)~tag;
    for (size_t at = 0; at < bytes && right; at += LOOK_BYTES) {
        right = place[at] == (unsigned char)(tag + at / LOOK_BYTES) || at == bytes - 1;
    }
    if (!right) {
        (void)fprintf(stderr, "loss: what arrived is not what was sent\n");
        exit(1);
    }
}

/* ---- round trips ------------------------------------------------------------------------- */

/* 8 bytes are the word itself; more go before it. */
static void send_one_way(struct pair *pair, size_t bytes)
{
    if (bytes > sizeof(uint64_t)) {
        struct dn_remote remote = {1 - pair->rank, DN_BANK, 0};
        unsigned char *source = pair->bank + BLOCK_BYTES;
        check(pair->has_op ? dn_op_wait(&pair->op, WAIT_NS) : 0, "dn_op_wait");
        fill(source, bytes, pair->turn);
        check(dn_push(pair->node, remote, source, bytes, &pair->op), "dn_push");
        pair->has_op = true;
        check(dn_fence(pair->node), "dn_fence");
    }
    tell(pair);
}

static void receive_one_way(struct pair *pair, size_t bytes)
{
    await(pair);
    if (bytes > sizeof(uint64_t)) {
        look(pair->bank, bytes, pair->turn - 1);
    }
}

static void make_trips(struct pair *pair, size_t bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (pair->rank == 0) {
            send_one_way(pair, bytes);
            receive_one_way(pair, bytes);
        } else {
            receive_one_way(pair, bytes);
            send_one_way(pair, bytes);
        }
    }
}

static void measure_trips(struct pair *pair, size_t bytes, uint64_t count)
{
    make_trips(pair, bytes, 1); /* finds the peer and touches memory */
    uint64_t start_ns = bench_now_ns();
    make_trips(pair, bytes, count);
    uint64_t took_ns = bench_now_ns() - start_ns;
    if (pair->rank == 0) {
        printf("{\"test\":\"loss\",\"detail\":\"round trip\",\"nodes\":2,\"bytes\":%zu,"
               "\"rtt_ns\":%.1f}\n",
               bytes, (double)took_ns / (double)count);
    }
}

/* ---- a stream ----------------------------------------------------------------------------- */

static void push_place(struct pair *pair, uint64_t place, struct dn_op *op)
{
    struct dn_remote remote = {1, DN_BANK, place * BLOCK_BYTES};
    check(dn_push(pair->node, remote, pair->bank + place * BLOCK_BYTES, BLOCK_BYTES, op),
          "dn_push");
}

static uint64_t push_for(struct pair *pair, uint64_t milliseconds)
{
    struct dn_op ops[PLACES];
    uint64_t count = 0;
    uint64_t end_ns = bench_now_ns() + milliseconds * 1000000;
    while (bench_now_ns() < end_ns) {
        struct dn_op *op = &ops[count % PLACES];
        if (count >= PLACES) {
            check(dn_op_wait(op, WAIT_NS), "dn_op_wait");
        }
        push_place(pair, count++ % PLACES, op);
    }
    check(dn_quiet(pair->node), "dn_quiet");
    return count;
}

/* The last round has a content of its own, so that nothing old is taken for it. */
static void measure_stream(struct pair *pair, uint64_t milliseconds)
{
    enum { FIRST_TAG = 1, LAST_TAG = 101 };
    if (pair->rank == 1) {
        await(pair);
        for (uint64_t place = 0; place < PLACES; place++) {
            look(pair->bank + place * BLOCK_BYTES, BLOCK_BYTES, LAST_TAG + place);
        }
        tell(pair);
        return;
    }
    for (uint64_t place = 0; place < PLACES; place++) {
        fill(pair->bank + place * BLOCK_BYTES, BLOCK_BYTES, FIRST_TAG + place);
    }
    uint64_t start_ns = bench_now_ns();
    uint64_t count = push_for(pair, milliseconds);
    uint64_t took_ns = bench_now_ns() - start_ns;
    for (uint64_t place = 0; place < PLACES; place++) {
        fill(pair->bank + place * BLOCK_BYTES, BLOCK_BYTES, LAST_TAG + place);
        push_place(pair, place, NULL);
    }
    check(dn_quiet(pair->node), "dn_quiet");
    tell(pair);
    await(pair);
    printf("{\"test\":\"loss\",\"detail\":\"stream\",\"nodes\":2,\"bytes\":%d,"
           "\"mb_per_s\":%.4f}\n",
           BLOCK_BYTES, (double)(count * BLOCK_BYTES) * 1e3 / (double)took_ns);
}

/* ---- the command ---------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    struct pair pair = {.turn = 0};
    bool trips = argc == 4 && strcmp(argv[1], "trips") == 0;
    if (!trips && !(argc == 3 && strcmp(argv[1], "stream") == 0)) {
        (void)fprintf(stderr, "usage: loss trips BYTES COUNT | loss stream MILLISECONDS\n");
        return 2;
    }
    check(dn_attach(&pair.node, NULL), "dn_attach");
    pair.rank = dn_rank(pair.node);
    pair.word = (uint64_t *)((unsigned char *)dn_llcm(pair.node, NULL) + WORD_OFFSET);
    pair.bank = dn_bank(pair.node, NULL);
    check(dn_kick_map(pair.node, (struct dn_remote){1 - pair.rank, DN_LLCM, WORD_OFFSET},
                      sizeof(uint64_t), &pair.kick),
          "dn_kick_map");
    uint64_t number = strtoull(argv[2], NULL, 10);
    if (trips) {
        size_t bytes = number < sizeof(uint64_t) ? sizeof(uint64_t) : (size_t)number;
        measure_trips(&pair, bytes > BLOCK_BYTES ? BLOCK_BYTES : bytes,
                      strtoull(argv[3], NULL, 10));
    } else {
        measure_stream(&pair, number);
    }
    check(dn_detach(pair.node), "dn_detach");
    return 0;
}
