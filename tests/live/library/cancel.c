/* Threads that are cancelled in the middle of calls: a call is never cut short, so it leaves no
 * lock and nothing else behind, and everybody goes on. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "live/live.h"

enum {
    COUNT_AT = 64,  /* added to by all threads of the node before */
    STILL_AT = 128, /* never changes */
    LOCK_AT = 192,
    BODY_AT = 4096,
    BODY_BYTES = 3000,
    PAGE_BYTES = 4096,
    THREADS = 3,
    ROUNDS = 40,
};

/* A thread, and what it is doing. */
struct victim {
    pthread_t thread;
    uint64_t seed;
    struct dn_node *lane;
    struct dn_lock *lock;
    unsigned char *own; /* a page to register */
    atomic_bool is_in_a_call;
    atomic_bool was_cut_short;
    atomic_uint_fast64_t calls;
};

static void add_one(struct victim *victim)
{
    uint64_t old;
    expect(dn_fetch_add_u64(victim->lane, live_place(live_neighbour(1), COUNT_AT), 1, &old), 0);
}

static void send_and_fetch(struct victim *victim)
{
    unsigned char body[BODY_BYTES] = {1};
    struct dn_op op;
    struct dn_remote there = live_place(live_neighbour(1), BODY_AT);
    expect(dn_botf(victim->lane, there, body, 64), 0);
    expect(dn_push(victim->lane, there, body, sizeof body, NULL), 0);
    expect(dn_quiet(victim->lane), 0);
    expect(dn_pull(victim->lane, there, body, sizeof body, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
}

/* Long enough to fall asleep. */
static void wait_in_vain(struct victim *victim)
{
    expect(dn_wait_until_u64(victim->lane, live_u64(STILL_AT), DN_NE, 0, 3 * LIVE_MS), DN_ETIMEOUT);
}

static void take_a_lock(struct victim *victim)
{
    expect(dn_lock_take(victim->lock, LIVE_PATIENCE_NS), 0);
    expect(dn_lock_give(victim->lock), 0);
}

static void register_a_page(struct victim *victim)
{
    uint32_t area;
    expect(dn_register(victim->lane, victim->own, PAGE_BYTES, &area), 0);
    expect(dn_deregister(victim->lane, area), 0);
}

static void use_another_lane(struct victim *victim)
{
    struct dn_node *lane;
    expect(dn_lane_open(victim->lane, &lane), 0);
    expect(dn_set_u64(lane, live_place(live_neighbour(1), BODY_AT), 1), 0);
    expect(dn_lane_close(lane), 0);
}

static void note_where(void *context)
{
    struct victim *victim = context;
    atomic_store(&victim->was_cut_short, atomic_load(&victim->is_in_a_call));
}

/* The cancellation takes effect between two calls, where the thread asks for it. */
static void *make_calls(void *context)
{
    static void (*const calls[])(struct victim *) = {
        add_one,     send_and_fetch, wait_in_vain,    take_a_lock,
        take_a_lock, send_and_fetch, register_a_page, use_another_lane,
    };
    struct victim *victim = context;
    pthread_cleanup_push(note_where, victim);
    for (;;) {
        atomic_store(&victim->is_in_a_call, true);
        calls[live_random(&victim->seed, LIVE_COUNT(calls))](victim);
        atomic_store(&victim->is_in_a_call, false);
        atomic_fetch_add(&victim->calls, 1);
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled_in_any_call(void)
{
    static struct victim victims[THREADS];
    uint64_t seed = me.seed + (uint64_t)me.rank;
    for (size_t i = 0; i < THREADS; i++) {
        struct victim *victim = &victims[i];
        victim->own = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
        require(victim->own != NULL);
        expect(dn_lane_open(me.node, &victim->lane), 0);
        expect(dn_lock_open(me.node, live_place(0, LOCK_AT), &victim->lock), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < THREADS; i++) {
            victims[i].seed = seed = live_mix(seed);
            atomic_store(&victims[i].calls, 0);
            live_thread_start(&victims[i].thread, make_calls, &victims[i]);
        }
        live_sleep_ns(live_random(&seed, 5 * LIVE_MS));
        for (size_t i = 0; i < THREADS; i++) {
            void *result;
            require(pthread_cancel(victims[i].thread) == 0);
            require(pthread_join(victims[i].thread, &result) == 0);
            require(result == PTHREAD_CANCELED && !atomic_load(&victims[i].was_cut_short));
            require(atomic_load(&victims[i].calls) > 0);
        }
        /* The library works as before, in this thread and at the peers. */
        add_one(&victims[0]);
        live_barrier();
    }
    for (size_t i = 0; i < THREADS; i++) {
        expect(dn_lock_close(victims[i].lock), 0);
        expect(dn_lane_close(victims[i].lane), 0);
        free(victims[i].own);
    }
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, cancelled_in_any_call),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
