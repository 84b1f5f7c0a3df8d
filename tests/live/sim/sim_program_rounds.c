/* Rounds that `dimmnet sim run` has as well, by the library: what one takes, in ns of dn_time_ns.
 *
 *     ping      node 0 stores 8 bytes at the node half-way round, which stores 8 bytes back
 *     stream    node 0 sends 46,400 bytes by BOTF first
 *     barrier   all nodes meet in the NICs' binary tree
 *
 * usage: sim_program_rounds ping|stream|barrier. Node 0 says "round_ns X", the mean of all rounds
 * but the first. */
#include "live/live.h"

enum { ROUNDS = 100, PLACE = 64, FIRST_BLOCK = 4096, BYTES = 46400, BLOCK_BYTES = 464 };

static unsigned char block[BLOCK_BYTES];

static void send_blocks(int far)
{
    for (uint64_t at = 0; at < BYTES; at += BLOCK_BYTES) {
        expect(dn_botf(me.node, live_place(far, FIRST_BLOCK + at), block, BLOCK_BYTES), 0);
    }
}

static void answer(const struct dn_kick *kick, uint64_t round, bool streams)
{
    int far = me.size / 2;
    if (me.rank == 0) {
        if (streams) {
            send_blocks(far);
        }
        dn_store_u64(kick, PLACE, round);
    }
    expect(dn_wait_until_u64(me.node, live_u64(PLACE), DN_EQ, round, DN_FOREVER), 0);
    if (me.rank != 0) {
        dn_store_u64(kick, PLACE, round);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ping";
    bool meets = strcmp(what, "barrier") == 0;
    struct dn_kick kick;
    uint64_t start_ns = 0;
    live_attach();
    int far = me.size / 2;
    if (meets) {
        expect(dn_barrier_kind(dn_team_all(me.node), DN_BARRIER_NIC), 0);
    }
    expect(dn_kick_map(me.node, live_place(me.rank == 0 ? far : 0, 0), 4096, &kick), 0);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (meets) {
            live_barrier();
        } else {
            answer(&kick, round, strcmp(what, "stream") == 0);
        }
        start_ns = round == 1 ? dn_time_ns(me.node) : start_ns;
    }
    if (me.rank == 0) {
        printf("round_ns %.3f\n", (double)(dn_time_ns(me.node) - start_ns) / (ROUNDS - 1));
    }
    expect(dn_kick_unmap(&kick), 0);
    live_detach();
    return 0;
}
