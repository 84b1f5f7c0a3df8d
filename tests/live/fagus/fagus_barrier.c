/* Barriers with a variable, right after holders released and bound: a barrier knows all of that,
 * even what the network is still bringing to the variable's manager. */
#include "fagus_live.h"

enum { PAGE = 4096, ROUNDS = 30 };

/* Each node in turn releases a version, and all meet at once at a barrier; then each writes its
 * share without holding the variable. */
static void release_and_meet(size_t bytes)
{
    unsigned char *memory = fagus_get(bytes, FAGUS_ROUND_ROBIN);
    struct fagus_sync *sync = fagus_bound_to(memory, bytes);
    size_t share = bytes / (size_t)me.size / 8 * 8;
    fagus_meet();
    for (int round = 0; round < ROUNDS; round++) {
        if (round % me.size == me.rank) {
            fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
            memset(memory, round + 1, bytes);
            fagus_expect(fagus_release(sync), 0);
        }
        fagus_expect(fagus_barrier(sync), 0);
        require_else(live_all_are(memory, bytes, (unsigned char)(round + 1)),
                     "round %d: %u and others", round, memory[0]);
        fagus_meet();
        if (round % 3 == 2) {
            memset(memory + (size_t)me.rank * share, 100 + round, share);
            fagus_expect(fagus_barrier(sync), 0);
            require(live_all_are(memory, share * (size_t)me.size, (unsigned char)(100 + round)));
            fagus_meet();
        }
    }
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void a_barrier_knows_what_was_just_released(void)
{
    release_and_meet(64);
    release_and_meet(440);
    release_and_meet(3 * PAGE + 40);
}

/* The others already wait in the barrier when a holder binds other ranges. */
static void a_barrier_knows_what_was_just_bound(void)
{
    enum { PIECES = 12, PIECE = 100 };
    unsigned char *memory = fagus_get(PIECES * PIECE, FAGUS_BLOCK);
    struct fagus_sync *sync = fagus_bound_to(memory, PIECE);
    fagus_meet();
    for (int round = 1; round < PIECES; round++) {
        if (round % me.size == me.rank) {
            live_sleep_ns(5 * LIVE_MS);
            fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
            fagus_expect(fagus_bind(sync, memory + round * PIECE, PIECE), 0);
            memset(memory, round, (size_t)(round + 1) * PIECE);
            fagus_expect(fagus_release(sync), 0);
        }
        fagus_expect(fagus_barrier(sync), 0);
        require(live_all_are(memory, (size_t)(round + 1) * PIECE, (unsigned char)round));
        fagus_meet();
    }
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* After barriers alone all nodes may still bind it together: newly bound memory starts as its home
 * has it, as when it is bound before. */
static void what_is_bound_after_a_barrier_comes_from_its_home(void)
{
    static const size_t lengths[] = {64, PAGE};
    for (size_t i = 0; i < LIVE_COUNT(lengths); i++) {
        size_t bytes = lengths[i];
        int home = (int)(i + 1) % me.size;
        unsigned char *memory = fagus_get(4 * PAGE, home);
        struct fagus_sync *sync = fagus_bound_to(memory, bytes);
        if (me.rank == 0) {
            memset(memory, 5, bytes);
        }
        fagus_expect(fagus_barrier(sync), 0);
        require(live_all_are(memory, bytes, 5));
        fagus_meet();
        unsigned char *more = memory + 2 * PAGE;
        if (me.rank == home) {
            memset(more, 7, bytes);
        }
        fagus_expect(fagus_bind(sync, more, bytes), 0);
        fagus_expect(fagus_acquire(sync, FAGUS_READ), 0);
        require(live_all_are(memory, bytes, 5));
        require(live_all_are(more, bytes, 7));
        fagus_expect(fagus_release(sync), 0);
        fagus_meet();
        fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
        memory[me.rank]++;
        fagus_expect(fagus_release(sync), 0);
        fagus_expect(fagus_barrier(sync), 0);
        require(live_all_are(memory, (size_t)me.size, 6));
        require(live_all_are(more, bytes, 7));
        fagus_meet();
        fagus_expect(fagus_sync_free(sync), 0);
        fagus_expect(fagus_free(memory), 0);
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, a_barrier_knows_what_was_just_released),
        LIVE_CHECK(1, a_barrier_knows_what_was_just_bound),
        LIVE_CHECK(1, what_is_bound_after_a_barrier_comes_from_its_home),
    };
    return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
}
