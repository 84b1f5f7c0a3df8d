/* Nodes that wait for something that never comes, while the test does something to the network
 * or to one of them. A node that hears DN_EPEER says so, and goes on with those that are left.
 *
 *     udp_peer SETTLE_MS
 *
 * Peers fall silent together, but each is missed at a slightly different time: SETTLE_MS after
 * the first DN_EPEER all that are gone are known to be. A node stays as long before it
 * leaves, so that none is taken for one that left in peace.
 *
 * Each node says "node R pid P", "waiting R", then "epeer R US" (when it heard, by the clock of
 * the day), "dead R: Q ..." (who is gone, in its view), and "team R: N" (how many it goes on
 * with). Its last word is "survived R". Run with --keep-going. */
#include "live/live.h"

enum { NEVER_AT = 0, NODES_MAX = 64 };

static uint64_t day_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* One write, so that lines of several nodes do not mix. */
static void say_dead(void)
{
    char line[512];
    int at = snprintf(line, sizeof line, "dead %d:", me.rank);
    for (int rank = 0; rank < me.size; rank++) {
        enum dn_life life;
        expect(dn_peer_life(me.node, rank, &life), 0);
        if (life == DN_DEAD) {
            at += snprintf(line + at, sizeof line - (size_t)at, " %d", rank);
        }
    }
    (void)dprintf(STDOUT_FILENO, "%s\n", line);
}

/* A node that is dead or has left is out of reach. */
static bool is_gone(int rank)
{
    enum dn_life life;
    expect(dn_peer_life(me.node, rank, &life), 0);
    return life == DN_DEAD || life == DN_LEFT;
}

/* Those that are left go on: their team works, and it cannot reach the others. */
static void go_on(struct dn_team *all)
{
    struct dn_team *left;
    uint64_t one = 1;
    uint64_t sum = 0;
    expect(dn_team_shrink(all, &left), 0);
    expect(dn_allreduce(left, &one, &sum, 1, DN_UINT64, DN_SUM), 0);
    require((int)sum == dn_team_size(left));
    for (int rank = 0; rank < me.size; rank++) {
        uint64_t value;
        expect(dn_read_u64(me.node, live_place(rank, NEVER_AT), &value),
               is_gone(rank) ? DN_EPEER : 0);
    }
    expect(dn_barrier(left, LIVE_PATIENCE_NS), 0);
    (void)dprintf(STDOUT_FILENO, "team %d: %d\n", me.rank, dn_team_size(left));
    expect(dn_team_free(left), 0);
}

int main(int argc, char **argv)
{
    struct dn_team *all;
    require(argc > 1);
    uint64_t settle_ns = strtoull(argv[1], NULL, 10) * LIVE_MS;
    live_attach();
    require(me.size <= NODES_MAX);
    all = dn_team_all(me.node);
    (void)dprintf(STDOUT_FILENO, "node %d pid %d\n", me.rank, (int)getpid());
    me.check = "waiting";
    live_barrier();
    (void)dprintf(STDOUT_FILENO, "waiting %d\n", me.rank);
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, DN_FOREVER), DN_EPEER);
    (void)dprintf(STDOUT_FILENO, "epeer %d %llu\n", me.rank, (unsigned long long)day_us());
    me.check = "going on";
    live_sleep_ns(settle_ns);
    say_dead();
    go_on(all);
    live_sleep_ns(settle_ns);
    me.check = "end";
    expect(dn_detach(me.node), 0);
    (void)dprintf(STDOUT_FILENO, "survived %d\n", me.rank);
    return 0;
}
