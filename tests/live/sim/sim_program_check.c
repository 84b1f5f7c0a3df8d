/* A node for sim_program_check.sh: a ring of stores, in which one node does something that depends
 * on nothing but itself, or something else.
 * usage: sim_program_check WAY; the ways are in `main`. */
#include "live/live.h"

enum { ROUNDS = 20, ODD_ROUND = 10, CALLS = 200 };

static struct dn_kick kick;

/* Round after round each node stores to the next one what it got from the one before. */
static void go_round(const char *way)
{
    uint64_t value = 1;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        bool is_odd = me.rank == 2 && round == ODD_ROUND;
        expect(dn_compute_ns(me.node, 100 + (uint64_t)me.rank), 0);
        if (is_odd && strcmp(way, "pid") == 0) {
            value = (uint64_t)getpid();
        }
        if (is_odd && strcmp(way, "time") == 0) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            expect(dn_compute_ns(me.node, (uint64_t)now.tv_nsec % 1000003), 0);
        }
        dn_store_u64(&kick, 8 * round, value);
        live_wait_u64(8 * round, DN_NE, 0);
        value = *live_u64(8 * round) + 1;
    }
}

static void *call(void *unused)
{
    struct dn_node *lane;
    (void)unused;
    expect(dn_lane_open(me.node, &lane), 0);
    for (int i = 0; i < CALLS; i++) {
        expect(dn_add_u64(lane, live_place(live_neighbour(1), 1024), 1), 0);
        expect(dn_quiet(lane), 0);
    }
    expect(dn_lane_close(lane), 0);
    return NULL;
}

static void call_from_two_threads(void)
{
    pthread_t thread;
    live_thread_start(&thread, call, NULL);
    (void)call(NULL);
    live_thread_join(thread);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "same";
    live_attach();
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 0), 1024, &kick), 0);
    live_barrier();
    go_round(way);
    if (strcmp(way, "threads") == 0) {
        call_from_two_threads();
    }
    live_barrier();
    printf("node %d has %llu\n", me.rank, (unsigned long long)*live_u64(8 * ROUNDS));
    if (strcmp(way, "output") == 0 && me.rank == 1) {
        printf("%d\n", (int)getpid());
    }
    if (strcmp(way, "input") == 0 && me.rank == 0) {
        char text[64];
        printf("input %s", fgets(text, sizeof text, stdin) ? text : "is empty\n");
    }
    expect(dn_kick_unmap(&kick), 0);
    live_detach();
    if (strcmp(way, "status") == 0 && me.rank == 1) {
        /* The first run makes the file. */
        bool is_second = access(argv[2], F_OK) == 0;
        if (!is_second) {
            require(fclose(fopen(argv[2], "w")) == 0);
        }
        return is_second ? 4 : 3;
    }
    return strcmp(way, "fails") == 0 && me.rank == 1 ? 5 : 0;
}
