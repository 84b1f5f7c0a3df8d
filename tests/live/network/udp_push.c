/* Two nodes that send each other 64 KiB again and again, checked to the last byte, while the test
 * changes the path between them.
 *
 *     udp_push SECONDS
 *
 * In a round node 0 pushes to node 1, which checks what came, pulls as much and pushes it back.
 * Node 0 says "ok round N" after each of the first few; at the end it says
 * "pushes are right: N rounds, longest M ms". */
#include "live/live.h"

enum {
    BYTES = 64 * 1024,
    PUSHED_AT = 0,    /* LLCM, at node 1: the last round that was pushed; LAST: there are no more */
    BACK_AT = 64,     /* at node 0: the last round that came back */
    HERE_AT = 0,      /* in the bank: where pushes arrive */
    BODY_AT = 1 << 20 /* and from where they are sent and pulled */
};

#define LAST UINT64_MAX

static uint64_t seed_of(uint64_t round)
{
    return live_mix(me.seed + round) & ~UINT64_C(7);
}

static void check_bytes(const unsigned char *found, uint64_t round, const char *what)
{
    size_t other = live_first_other(found, BYTES, seed_of(round));
    require_else(other == BYTES, "round %llu, %s: byte %zu is wrong", (unsigned long long)round,
                 what, other);
}

/* Pushes the body to the other node and then tells it so. */
static void push(int to, uint64_t flag_at, uint64_t round)
{
    struct dn_op op = {{0}};
    struct dn_kick kick;
    expect(dn_push(me.node, live_at(to, DN_BANK, HERE_AT), me.bank + BODY_AT, BYTES, &op), 0);
    expect(dn_fence(me.node), 0);
    expect(dn_kick_map(me.node, live_place(to, flag_at), 8, &kick), 0);
    dn_store_u64(&kick, 0, round);
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_quiet(me.node), 0);
}

static void begin(uint64_t seconds)
{
    uint64_t end_ns = live_now_ns() + seconds * LIVE_SECOND;
    uint64_t longest_ns = 0;
    uint64_t round = 0;
    for (uint64_t now_ns = live_now_ns(); now_ns < end_ns;) {
        round++;
        live_fill(me.bank + BODY_AT, BYTES, seed_of(round));
        push(1, PUSHED_AT, round);
        live_wait_u64(BACK_AT, DN_EQ, round);
        check_bytes(me.bank + HERE_AT, round, "what came back");
        uint64_t before_ns = now_ns;
        now_ns = live_now_ns();
        longest_ns = now_ns - before_ns > longest_ns ? now_ns - before_ns : longest_ns;
        if (round < 8) {
            (void)dprintf(STDOUT_FILENO, "ok round %llu\n", (unsigned long long)round);
        }
    }
    push(1, PUSHED_AT, LAST);
    live_barrier();
    (void)dprintf(STDOUT_FILENO, "pushes are right: %llu rounds, longest %llu ms\n",
                  (unsigned long long)round, (unsigned long long)(longest_ns / LIVE_MS));
}

static void answer(void)
{
    for (uint64_t round = 1;; round++) {
        live_wait_u64(PUSHED_AT, DN_GE, round);
        if (*live_u64(PUSHED_AT) == LAST) {
            break;
        }
        struct dn_op op = {{0}};
        check_bytes(me.bank + HERE_AT, round, "what was pushed");
        expect(dn_pull(me.node, live_at(0, DN_BANK, BODY_AT), me.bank + BODY_AT, BYTES, &op), 0);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
        check_bytes(me.bank + BODY_AT, round, "what was pulled");
        push(0, BACK_AT, round);
    }
    live_barrier();
}

int main(int argc, char **argv)
{
    require(argc == 2);
    live_attach();
    require(me.size == 2);
    me.check = "pushes";
    live_barrier();
    if (me.rank == 0) {
        begin(strtoull(argv[1], NULL, 10));
    } else {
        answer();
    }
    expect(dn_detach(me.node), 0);
    return 0;
}
