/* Barriers: no node leaves before all have come, whatever the delays, time-outs, threads and
 * allocations between. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "live/live.h"

static uint64_t rounds(uint64_t many)
{
    return live_is_relaxed() || me.size > sysconf(_SC_NPROCESSORS_ONLN) ? many / 10 : many;
}

/* Nothing, a moment, or long enough for the others to sleep. */
static void random_delay(uint64_t *random)
{
    switch (live_random(random, 8)) {
    case 0: live_sleep_ns(live_random(random, 200 * LIVE_US)); break;
    case 1: (void)sched_yield(); break;
    case 2: live_sleep_ns(live_random(random, 40) == 0 ? 4 * LIVE_MS : 1); break;
    default: break;
    }
}

/* ---- In step ----------------------------------------------------------------- */

/* A node's own count of what it has done: it writes it before it arrives, and the others read it
 * after they have left. No count is one behind or two ahead. */
enum { COUNT_AT = 0, FROM_ALL_AT = 4096 };

static void require_step(uint64_t round)
{
    for (int rank = 0; rank < me.size; rank++) {
        uint64_t count;
        expect(dn_read_u64(me.node, live_place(rank, COUNT_AT), &count), 0);
        require_else(count == round || count == round + 1,
                     "node %d had come %llu times when barrier %llu opened", rank,
                     (unsigned long long)count, (unsigned long long)round);
    }
}

static void in_step(void)
{
    uint64_t random = me.seed + 1000 * (uint64_t)me.rank;
    for (uint64_t round = 1; round <= rounds(800); round++) {
        random_delay(&random);
        __atomic_store_n(live_u64(COUNT_AT), round, __ATOMIC_RELAXED);
        live_barrier();
        require_step(round);
    }
}

/* What was sent to all nodes before the barrier is there after it, however it was sent. */
static void everything_sent_before_is_there(void)
{
    uint64_t random = me.seed + 1000 * (uint64_t)me.rank;
    uint64_t own = FROM_ALL_AT + 64 * (uint64_t)me.rank;
    for (uint64_t round = 1; round <= rounds(200); round++) {
        uint64_t values[2] = {live_mix(round), live_mix(round + 1)};
        for (int rank = 0; rank < me.size; rank++) {
            expect(dn_push(me.node, live_place(rank, own), &values[0], 8, NULL), 0);
            expect(dn_botf(me.node, live_place(rank, own + 8), &values[1], 8), 0);
            expect(dn_add_u64(me.node, live_place(rank, own + 16), round), 0);
        }
        random_delay(&random);
        live_barrier();
        for (uint64_t rank = 0; rank < (uint64_t)me.size; rank++) {
            const uint64_t *from = live_u64(FROM_ALL_AT + 64 * rank);
            require_else(from[0] == values[0] && from[1] == values[1] &&
                             from[2] == round * (round + 1) / 2,
                         "barrier %llu opened before node %llu's data were there",
                         (unsigned long long)round, (unsigned long long)rank);
        }
        live_barrier();
    }
}

/* ---- Time-outs --------------------------------------------------------------- */

/* Time-outs of all lengths; a call that timed out has arrived, and the next one goes on. */
static void timed_out_and_called_again(void)
{
    uint64_t random = me.seed + 1000 * (uint64_t)me.rank;
    uint64_t times = 0;
    for (uint64_t round = 1; round <= rounds(200); round++) {
        if (round % (uint64_t)me.size == (uint64_t)me.rank) {
            live_sleep_ns(live_random(&random, 3 * LIVE_MS));
        }
        __atomic_store_n(live_u64(COUNT_AT), round, __ATOMIC_RELAXED);
        for (;;) {
            static const uint64_t timeouts_ns[] = {0, 1, 10 * LIVE_US, 30 * LIVE_US, LIVE_MS};
            uint64_t timeout_ns = timeouts_ns[live_random(&random, LIVE_COUNT(timeouts_ns))];
            uint64_t began_ns = live_now_ns();
            int error = dn_barrier(dn_team_all(me.node), timeout_ns);
            if (error == 0) {
                break;
            }
            expect(error, DN_ETIMEOUT);
            require(live_now_ns() - began_ns >= timeout_ns);
            times++;
        }
        require_step(round);
    }
    /* In a few rounds of many nodes one of them may be last every time. */
    require(me.size == 1 || me.size > 16 || times > 0);
}

/* An arrival that is still open does not count for another call. */
static void open_arrival_refuses_allocation(void)
{
    void *block = me.llcm;
    if (me.rank == 0) {
        live_wait_u64(64, DN_EQ, (uint64_t)me.size - 1);
        live_barrier();
    } else {
        expect(dn_barrier(dn_team_all(me.node), 0), DN_ETIMEOUT);
        expect(dn_alloc(me.node, 64, &block), DN_EMISMATCH);
        expect(dn_free(me.node, block), DN_EMISMATCH);
        expect(dn_barrier(dn_team_all(me.node), 100 * LIVE_US), DN_ETIMEOUT);
        expect(dn_add_u64(me.node, live_place(0, 64), 1), 0);
        expect(dn_quiet(me.node), 0);
        live_barrier();
    }
    require(block == me.llcm);
    expect(dn_alloc(me.node, 64, &block), 0);
    expect(dn_free(me.node, block), 0);
}

/* ---- Allocations between ----------------------------------------------------- */

enum { BLOCKS = 24, BLOCK_BYTES_MAX = 100000 };

struct block {
    unsigned char *pointer; /* NULL: free */
    size_t bytes;
    uint64_t seed;
};

/* The same random choices everywhere, so the same calls; delays differ. */
static void change_block(struct block *block, uint64_t *common)
{
    if (block->pointer) {
        require_else(live_first_other(block->pointer, block->bytes, block->seed) == block->bytes,
                     "a block of %zu bytes was written to by another", block->bytes);
        expect(dn_free(me.node, block->pointer), 0);
        block->pointer = NULL;
        return;
    }
    void *pointer;
    size_t alignment = (size_t)64 << live_random(common, 8);
    block->bytes = 1 + live_random(common, live_random(common, 4) ? 300 : BLOCK_BYTES_MAX);
    block->seed = live_random(common, UINT64_MAX);
    expect(dn_alloc_aligned(me.node, alignment, block->bytes, &pointer), 0);
    require((uintptr_t)pointer % alignment == 0);
    block->pointer = pointer;
    live_fill(pointer, block->bytes, block->seed);
}

static void require_equal_places(const struct block *block)
{
    struct dn_remote place = {0};
    if (block->pointer) {
        expect(dn_remote_of(me.node, block->pointer, 0, &place), 0);
    }
    expect(dn_set_u64(me.node, live_place(live_neighbour(1), COUNT_AT), place.offset + 1), 0);
    live_barrier();
    require_else(*live_u64(COUNT_AT) == place.offset + 1, "%#llx here, %#llx at the node before",
                 (unsigned long long)place.offset, (unsigned long long)*live_u64(COUNT_AT) - 1);
    live_barrier();
}

static void allocations_between_barriers(void)
{
    struct block blocks[BLOCKS] = {0};
    uint64_t common = me.seed;
    uint64_t random = me.seed + 1000 * (uint64_t)me.rank;
    for (uint64_t round = 0; round < rounds(600); round++) {
        struct block *block = &blocks[live_random(&common, BLOCKS)];
        change_block(block, &common);
        random_delay(&random);
        if (live_random(&common, 3) == 0) {
            live_barrier();
        }
        if (live_random(&common, 10) == 0) {
            require_equal_places(block);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].pointer) {
            change_block(&blocks[i], &common);
        }
    }
    /* All of it came back. */
    void *whole;
    expect(dn_alloc(me.node, (size_t)1 << 30, &whole), 0);
    expect(dn_free(me.node, whole), 0);
}

/* ---- Threads ----------------------------------------------------------------- */

enum { THREADS = 2, BARRIERS_OF_A_THREAD = 100 };

static _Atomic uint64_t passed_here;

/* Every barrier of every thread is one of the node's; which thread meets which thread of another
 * node is open. */
static void *call_barriers(void *argument)
{
    uint64_t random = me.seed + 1000 * (uint64_t)me.rank + *(const uint64_t *)argument;
    for (uint64_t i = 0; i < BARRIERS_OF_A_THREAD; i++) {
        random_delay(&random);
        if (live_random(&random, 4)) {
            live_barrier();
        } else {
            int error;
            do {
                error = dn_barrier(dn_team_all(me.node), live_random(&random, 200 * LIVE_US));
            } while (error == DN_ETIMEOUT);
            expect(error, 0);
        }
        atomic_fetch_add(&passed_here, 1);
    }
    return NULL;
}

static void threads_call_barriers(void)
{
    pthread_t threads[THREADS];
    uint64_t numbers[THREADS];
    atomic_store(&passed_here, 0);
    for (uint64_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        live_thread_start(&threads[i], call_barriers, &numbers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        live_thread_join(threads[i]);
    }
    require(atomic_load(&passed_here) == THREADS * BARRIERS_OF_A_THREAD);
    in_step();
}

static void *come_late(void *argument)
{
    (void)argument;
    live_wait_u64(0, DN_EQ, 1);
    live_barrier();
    return NULL;
}

/* A second thread's call waits for the first one's. Its time-out counts from its start, and if it
 * passes, the call has not arrived. */
static void timed_out_behind_another_thread(void)
{
    pthread_t threads[2];
    if (me.rank != 0) {
        live_thread_start(&threads[0], come_late, NULL);
        live_thread_start(&threads[1], come_late, NULL);
        for (int i = 0; i < 2; i++) {
            live_thread_join(threads[i]);
        }
        return;
    }
    pthread_t thread;
    live_thread_start(&thread, come_late, NULL);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_set_u64(me.node, live_place(rank, 0), 1), 0);
    }
    expect(dn_quiet(me.node), 0);
    int error;
    do {
        uint64_t began_ns = live_now_ns();
        error = dn_barrier(dn_team_all(me.node), 3 * LIVE_MS);
        uint64_t took_ns = live_now_ns() - began_ns;
        require(error == 0 || took_ns >= 3 * LIVE_MS);
        require(took_ns < 10 * LIVE_SECOND);
    } while (error == DN_ETIMEOUT);
    expect(error, 0);
    live_thread_join(thread);
}

/* While one thread waits in a barrier, the node's other threads are free. */
static void *wait_in_barrier(void *argument)
{
    (void)argument;
    live_barrier();
    return NULL;
}

static void other_threads_go_on(void)
{
    pthread_t thread;
    int to = live_neighbour(1);
    uint64_t count = rounds(500);
    if (me.rank == 0) {
        live_thread_start(&thread, wait_in_barrier, NULL);
    }
    for (uint64_t number = 1; number <= count; number++) {
        uint64_t old;
        expect(dn_fetch_add_u64(me.node, live_place(to, 64), 1, &old), 0);
        live_wait_u64(64, DN_GE, number);
    }
    if (me.rank == 0) {
        live_thread_join(thread);
    } else {
        live_barrier();
    }
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, in_step),
    LIVE_CHECK(1, everything_sent_before_is_there),
    LIVE_CHECK(1, timed_out_and_called_again),
    LIVE_CHECK(2, open_arrival_refuses_allocation),
    LIVE_CHECK(1, allocations_between_barriers),
    LIVE_CHECK(1, threads_call_barriers),
    LIVE_CHECK(1, timed_out_behind_another_thread),
    LIVE_CHECK(1, other_threads_go_on),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
