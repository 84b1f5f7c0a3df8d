/* Nodes that a stranger floods while they are watched.
 *
 *     udp_watched FILE SECONDS
 *
 * Every node's memory is written by its neighbour, each word several times with growing numbers, so
 * that a packet of the past would change it. Then all are quiet, say "quiet R" and make no call
 * until FILE is there; their memory is as it was. Then node 0 sends to node 1 for SECONDS seconds
 * and says "speed MS BYTES" every quarter of a second, by the clock of the day. Last come
 * "unchanged R" from all. */
#include "live/live.h"

enum { ROUNDS = 40, WORDS = 256, BLOCK_AT = 1 << 20, BLOCK_BYTES = 256 * 1024 };

#define TELL_NS (250 * LIVE_MS)

static void write_neighbour(void)
{
    int to = live_neighbour(1);
    struct dn_kick kick;
    expect(dn_kick_map(me.node, live_place(to, 0), WORDS * 8, &kick), 0);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (uint64_t word = 0; word < WORDS; word++) {
            dn_store_u64(&kick, word * 8, round * WORDS + word);
        }
        live_fill(me.bank, BLOCK_BYTES / ROUNDS, round);
        expect(dn_botf(me.node, live_at(to, DN_BANK, BLOCK_AT), me.bank, 4096), 0);
        expect(dn_add_u64(me.node, live_place(to, WORDS * 8), 1), 0);
        expect(dn_quiet(me.node), 0);
    }
    expect(dn_kick_unmap(&kick), 0);
}

static void be_watched(const char *path)
{
    size_t bank_bytes = 2 * BLOCK_AT;
    unsigned char *before = malloc(me.llcm_bytes + bank_bytes);
    require(before && bank_bytes <= me.bank_bytes);
    memcpy(before, me.llcm, me.llcm_bytes);
    memcpy(before + me.llcm_bytes, me.bank, bank_bytes);
    require(*live_u64(WORDS * 8) == ROUNDS && *live_u64(8) == ROUNDS * WORDS + 1);
    (void)dprintf(STDOUT_FILENO, "quiet %d\n", me.rank);
    while (access(path, F_OK) != 0) {
        live_sleep_ns(10 * LIVE_MS);
    }
    require(memcmp(before, me.llcm, me.llcm_bytes) == 0);
    require(memcmp(before + me.llcm_bytes, me.bank, bank_bytes) == 0);
    free(before);
}

static void stream(uint64_t seconds)
{
    uint64_t start_ns = live_now_ns();
    uint64_t told_ns = start_ns;
    uint64_t bytes = 0;
    while (told_ns - start_ns < seconds * LIVE_SECOND) {
        struct timespec day;
        expect(dn_push(me.node, live_at(1, DN_BANK, BLOCK_AT), me.bank, BLOCK_BYTES, NULL), 0);
        expect(dn_quiet(me.node), 0);
        bytes += BLOCK_BYTES;
        uint64_t now_ns = live_now_ns();
        if (now_ns - told_ns >= TELL_NS) {
            clock_gettime(CLOCK_REALTIME, &day);
            (void)dprintf(STDOUT_FILENO, "speed %llu %llu\n",
                          (unsigned long long)day.tv_sec * 1000 + (unsigned)day.tv_nsec / 1000000,
                          (unsigned long long)(bytes * LIVE_SECOND / (now_ns - told_ns)));
            told_ns = now_ns;
            bytes = 0;
        }
    }
}

int main(int argc, char **argv)
{
    require(argc == 3);
    live_attach();
    live_barrier();
    write_neighbour();
    live_barrier();
    be_watched(argv[1]);
    live_barrier();
    if (me.rank == 0) {
        stream(strtoull(argv[2], NULL, 10));
    }
    expect(dn_barrier(dn_team_all(me.node), 300 * LIVE_SECOND), 0);
    (void)dprintf(STDOUT_FILENO, "unchanged %d\n", me.rank);
    live_detach();
    return 0;
}
