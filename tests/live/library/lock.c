/* Locks between nodes: one holder at a time, in order, given up, inherited. With an argument it
 * also runs in lock.sh's groups in which a node is killed. */
#include <signal.h>

#include "live/live.h"

/* In node 0's LLCM: the lock, who has it, and what it guards. */
enum {
    LOCK = 0,
    OWNER = 64,
    COUNTER = 128,
    READY = 192,
    ORDER = 256,
    TURN = 512,
    DEATH = 1024,
    FINISHED = 2048, /* by rank */
};

static struct dn_lock *open_at(uint64_t offset)
{
    struct dn_lock *lock;
    expect(dn_lock_open(me.node, live_place(0, offset), &lock), 0);
    return lock;
}

static uint64_t read_at(uint64_t offset)
{
    uint64_t value;
    expect(dn_read_u64(me.node, live_place(0, offset), &value), 0);
    return value;
}

static void write_at(uint64_t offset, uint64_t value)
{
    expect(dn_set_u64(me.node, live_place(0, offset), value), 0);
    expect(dn_quiet(me.node), 0);
}

static void wait_at(uint64_t offset, uint64_t value)
{
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (read_at(offset) < value) {
        require(live_now_ns() < end_ns);
        live_sleep_ns(100 * LIVE_US);
    }
}

/* Under the lock no other node is here, so a read and a separate write are no race. */
static void count_once(struct dn_node *lane, uint64_t who)
{
    uint64_t owner;
    uint64_t value;
    expect(dn_swap_u64(lane, live_place(0, OWNER), who, &owner), 0);
    require_else(owner == 0, "%llu is here as well", (unsigned long long)owner);
    expect(dn_read_u64(lane, live_place(0, COUNTER), &value), 0);
    expect(dn_botf(lane, live_place(0, COUNTER), &(uint64_t){value + 1}, 8), 0);
    expect(dn_quiet(lane), 0);
    expect(dn_swap_u64(lane, live_place(0, OWNER), 0, &owner), 0);
    require_else(owner == who, "%llu came in", (unsigned long long)owner);
}

/* ---- Contention ------------------------------------------------------------------ */

static void counts_under_contention(void)
{
    struct dn_lock *lock = open_at(LOCK);
    uint64_t rounds = 4000 / (uint64_t)me.size;
    for (uint64_t i = 0; i < rounds; i++) {
        expect(dn_lock_take(lock, DN_FOREVER), 0);
        count_once(me.node, (uint64_t)me.rank + 1);
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
    live_barrier();
    require(read_at(COUNTER) == rounds * (uint64_t)me.size);
}

enum { THREADS = 3, THREAD_ROUNDS = 150 };

static void *count_in_a_thread(void *argument)
{
    int number = *(int *)argument;
    struct dn_node *lane;
    struct dn_lock *lock;
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_lock_open(lane, live_place(0, LOCK), &lock), 0);
    for (int i = 0; i < THREAD_ROUNDS; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        count_once(lane, (uint64_t)(me.rank * THREADS + number + 1));
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
    expect(dn_lane_close(lane), 0);
    return NULL;
}

static void threads_have_a_handle_each(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        live_thread_start(&threads[i], count_in_a_thread, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        live_thread_join(threads[i]);
    }
    live_barrier();
    require(read_at(COUNTER) == (uint64_t)(me.size * THREADS * THREAD_ROUNDS));
}

/* What was stored anywhere under the lock is there for the next holder. */
static void what_is_written_under_the_lock_is_seen(void)
{
    struct dn_lock *lock = open_at(LOCK);
    struct dn_remote far = live_place(me.size - 1, 8192);
    unsigned char block[512];
    for (int i = 0; i < 300; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        uint64_t number = read_at(COUNTER);
        expect(dn_pull(me.node, far, block, sizeof block, NULL), 0);
        expect(dn_quiet(me.node), 0);
        require(number == 0 || live_first_other(block, sizeof block, number) == sizeof block);
        live_fill(block, sizeof block, number + 1);
        expect(dn_push(me.node, far, block, sizeof block, NULL), 0);
        expect(dn_add_u64(me.node, live_place(0, COUNTER), 1), 0);
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
}

/* ---- Order --------------------------------------------------------------------- */

/* Node 0 holds it while the others queue one after the other, each once the one before stands in
 * the queue (the word then names it); then each notes its turn. By packets only the manager sees
 * the queue; there unit tests look into it. */
static void first_come_first_served(void)
{
    struct dn_lock *lock = open_at(LOCK);
    if (live_shares_nothing()) {
        expect(dn_lock_close(lock), 0);
        return;
    }
    for (int round = 0; round < 5; round++) {
        uint64_t turn = 0;
        if (me.rank == 0) {
            expect(dn_lock_take(lock, 0), 0);
            write_at(READY, read_at(LOCK));
            for (int rank = 1; rank < me.size; rank++) {
                uint64_t before = read_at(LOCK);
                write_at(TURN, (uint64_t)rank);
                while (read_at(LOCK) == before) {
                    live_sleep_ns(20 * LIVE_US);
                }
            }
            expect(dn_lock_give(lock), 0);
        } else {
            wait_at(TURN, (uint64_t)me.rank);
            expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
            expect(dn_fetch_add_u64(me.node, live_place(0, ORDER), 1, &turn), 0);
            expect(dn_lock_give(lock), 0);
            require_else(turn == (uint64_t)me.rank - 1, "was number %llu",
                         (unsigned long long)turn);
        }
        live_barrier();
        if (me.rank == 0) {
            write_at(TURN, 0);
            write_at(ORDER, 0);
        }
        live_barrier();
    }
    expect(dn_lock_close(lock), 0);
}

/* All go on asking until each has had it often: a node that the others' haste keeps out shows,
 * however little of the machine it gets. */
static void nobody_starves(void)
{
    enum { OFTEN = 20 };
    struct dn_lock *lock = open_at(LOCK);
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    uint64_t taken = 0;
    live_barrier();
    while (read_at(READY) < (uint64_t)me.size) {
        require_else(live_now_ns() < end_ns, "this node got it %llu times, and some never",
                     (unsigned long long)taken);
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        count_once(me.node, (uint64_t)me.rank + 1);
        taken++;
        if (taken == OFTEN) {
            expect(dn_add_u64(me.node, live_place(0, READY), 1), 0);
        }
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
    live_barrier();
}

/* ---- Trying, waiting for a time --------------------------------------------------- */

static void trying_and_timing_out(void)
{
    struct dn_lock *lock = open_at(LOCK);
    if (me.rank == 0) {
        expect(dn_lock_try(lock), 0);
        expect(dn_lock_try(lock), DN_EBUSY);
        expect(dn_lock_take(lock, DN_FOREVER), DN_EBUSY);
        expect(dn_lock_close(lock), DN_EBUSY);
    }
    live_barrier();
    if (me.rank != 0) {
        expect(dn_lock_give(lock), DN_ENOTHELD);
        expect(dn_lock_try(lock), DN_EBUSY);
        expect(dn_lock_take(lock, 0), DN_ETIMEOUT);
        uint64_t start_ns = live_now_ns();
        expect(dn_lock_take(lock, 20 * LIVE_MS), DN_ETIMEOUT);
        uint64_t took_ns = live_now_ns() - start_ns;
        require_else(took_ns >= 20 * LIVE_MS && took_ns < 10 * LIVE_SECOND, "took %llu us",
                     (unsigned long long)(took_ns / 1000));
        expect(dn_lock_take(lock, 1), DN_ETIMEOUT);
        expect(dn_lock_give(lock), DN_ENOTHELD);
    }
    live_barrier();
    if (me.rank == 0) {
        expect(dn_lock_give(lock), 0);
        expect(dn_lock_give(lock), DN_ENOTHELD);
        expect(dn_lock_try(lock), 0); /* those that gave up are out of the way */
        expect(dn_lock_give(lock), 0);
    }
    live_barrier();
    expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
    expect(dn_lock_give(lock), 0);
    expect(dn_lock_close(lock), 0);
}

/* Time-outs of all lengths, so that grants and giving up coincide. */
static void giving_up_and_being_granted_meet(void)
{
    struct dn_lock *lock = open_at(LOCK);
    uint64_t random = me.seed + (uint64_t)me.rank;
    uint64_t taken = 0;
    for (int i = 0; i < 600; i++) {
        int error = live_random(&random, 3) ? dn_lock_take(lock, live_random(&random, 60000))
                                            : dn_lock_try(lock);
        if (error == 0) {
            taken++;
            count_once(me.node, (uint64_t)me.rank + 1);
            expect(dn_lock_give(lock), 0);
        } else {
            require(error == DN_ETIMEOUT || error == DN_EBUSY);
        }
    }
    expect(dn_add_u64(me.node, live_place(0, READY), taken), 0);
    expect(dn_quiet(me.node), 0);
    live_barrier();
    require(read_at(READY) == read_at(COUNTER));
    expect(dn_lock_close(lock), 0);
}

/* A node that only polls, or gives up again and again, uses up no records. */
static void giving_up_often_uses_no_records_up(void)
{
    struct dn_lock *lock = open_at(LOCK);
    if (me.rank == 0) {
        expect(dn_lock_take(lock, 0), 0);
    }
    live_barrier();
    for (int i = 0; me.rank != 0 && i < 70000; i++) {
        expect(dn_lock_take(lock, (uint64_t)i % 2), DN_ETIMEOUT);
    }
    live_barrier();
    if (me.rank == 0) {
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
}

/* A node has 65536 requesters; one more is refused, and closing one makes room. */
static void handles_run_out_and_come_back(void)
{
    enum { MOST = 1 << 16 };
    static struct dn_lock *locks[MOST];
    struct dn_lock *other = NULL;
    for (int i = 0; i < MOST; i++) {
        expect(dn_lock_open(me.node, live_place(0, LOCK), &locks[i]), 0);
    }
    expect(dn_lock_open(me.node, live_place(0, LOCK), &other), DN_EFULL);
    /* One gives up: its record stays in the queue, and no other record is free for it. (By packets
     * there are no records.) */
    expect(dn_lock_take(locks[0], LIVE_PATIENCE_NS), 0);
    expect(dn_lock_take(locks[1], 1), DN_ETIMEOUT);
    expect(dn_lock_take(locks[1], 1), live_is_by_packets() ? DN_ETIMEOUT : DN_EFULL);
    expect(dn_lock_try(locks[1]), live_is_by_packets() ? DN_EBUSY : DN_EFULL);
    expect(dn_lock_give(locks[1]), DN_ENOTHELD);
    expect(dn_lock_give(locks[0]), 0);
    expect(dn_lock_take(locks[2], LIVE_PATIENCE_NS), 0); /* goes past it */
    expect(dn_lock_give(locks[2]), 0);
    expect(dn_lock_try(locks[1]), 0);
    expect(dn_lock_give(locks[1]), 0);
    for (int i = 0; i < MOST; i++) {
        expect(dn_lock_close(locks[i]), 0);
    }
    expect(dn_lock_open(me.node, live_place(0, LOCK), &other), 0);
    expect(dn_lock_close(other), 0);
}

/* ---- Many locks ------------------------------------------------------------------- */

enum { MANY = 5000 };

static void thousands_of_locks(void)
{
    static struct dn_lock *locks[MANY];
    struct {
        uint64_t lock;
        uint64_t value;
    } * cells;
    void *memory;
    expect(dn_alloc(me.node, MANY * sizeof *cells, &memory), 0);
    cells = memory;
    memset(cells, 0, MANY * sizeof *cells);
    live_barrier();
    uint64_t random = me.seed * 7 + (uint64_t)me.rank;
    for (int i = 0; i < MANY; i++) {
        struct dn_remote place;
        expect(dn_remote_of(me.node, &cells[i], i % me.size, &place), 0);
        expect(dn_lock_open(me.node, place, &locks[i]), 0);
    }
    for (int round = 0; round < 4000; round++) {
        int i = (int)live_random(&random, round % 2 ? 10 : MANY);
        struct dn_remote place;
        uint64_t value;
        expect(dn_remote_of(me.node, &cells[i].value, i % me.size, &place), 0);
        expect(dn_lock_take(locks[i], LIVE_PATIENCE_NS), 0);
        expect(dn_read_u64(me.node, place, &value), 0);
        expect(dn_botf(me.node, place, &(uint64_t){value + 1}, 8), 0);
        expect(dn_lock_give(locks[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        expect(dn_lock_close(locks[i]), 0);
    }
    expect(dn_quiet(me.node), 0);
    live_barrier();
    uint64_t sum = 0;
    for (int i = 0; i < MANY; i++) {
        uint64_t value;
        struct dn_remote place;
        expect(dn_remote_of(me.node, &cells[i].value, i % me.size, &place), 0);
        expect(dn_read_u64(me.node, place, &value), 0);
        sum += value;
    }
    require(sum == 4000 * (uint64_t)me.size);
    expect(dn_free(me.node, memory), 0);
}

static void two_locks_at_once(void)
{
    struct dn_lock *one = open_at(LOCK);
    struct dn_lock *other = open_at(LOCK + 8);
    for (int i = 0; i < 300; i++) {
        expect(dn_lock_take(one, LIVE_PATIENCE_NS), 0);
        expect(dn_lock_take(other, LIVE_PATIENCE_NS), 0);
        count_once(me.node, (uint64_t)me.rank + 1);
        expect(dn_lock_give(i % 2 ? one : other), 0);
        expect(dn_lock_give(i % 2 ? other : one), 0);
    }
    expect(dn_lock_close(one), 0);
    expect(dn_lock_close(other), 0);
}

/* ---- Mistakes --------------------------------------------------------------------- */

static void mistakes_have_names(void)
{
    struct dn_lock *lock = NULL;
    expect(dn_lock_open(NULL, live_place(0, LOCK), &lock), DN_EINVAL);
    expect(dn_lock_open(me.node, live_place(0, LOCK), NULL), DN_EINVAL);
    expect(dn_lock_open(me.node, live_place(me.size, LOCK), &lock), DN_ERANK);
    expect(dn_lock_open(me.node, live_place(-1, LOCK), &lock), DN_ERANK);
    expect(dn_lock_open(me.node, live_place(0, 4), &lock), DN_EALIGN);
    expect(dn_lock_open(me.node, live_place(0, me.llcm_bytes), &lock), DN_ERANGE);
    expect(dn_lock_open(me.node, live_at(0, 77, LOCK), &lock), DN_EAREA);
    require(lock == NULL);
    expect(dn_lock_take(NULL, 0), DN_EINVAL);
    expect(dn_lock_try(NULL), DN_EINVAL);
    expect(dn_lock_give(NULL), DN_EINVAL);
    expect(dn_lock_close(NULL), DN_EINVAL);
    lock = open_at(LOCK);
    expect(dn_lock_give(lock), DN_ENOTHELD);
    expect(dn_lock_close(lock), 0);
    expect(dn_lock_take(lock, 0), DN_ESTATE);
    expect(dn_lock_try(lock), DN_ESTATE);
    expect(dn_lock_give(lock), DN_ESTATE);
    expect(dn_lock_close(lock), DN_ESTATE);
    require(me.rank != 0 || *live_u64(LOCK) == 0);
}

/* ---- Killed nodes ------------------------------------------------------------------- */

static void die_now(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

/* Node 1 dies with the lock; the others wait for it. The first to get it is told, and says how long
 * after the death. */
static int run_holder(void)
{
    struct dn_lock *lock = open_at(LOCK);
    if (me.rank == 1) {
        expect(dn_lock_take(lock, 0), 0);
        write_at(READY, 1);
        wait_at(READY, (uint64_t)me.size);
        live_sleep_ns(20 * LIVE_MS); /* the others sleep by now */
        write_at(DEATH, live_now_ns());
        die_now();
    }
    wait_at(READY, me.rank == 0 ? 1 : (uint64_t)me.rank);
    write_at(READY, me.rank == 0 ? 2 : (uint64_t)me.rank + 1);
    int error = dn_lock_take(lock, LIVE_PATIENCE_NS);
    uint64_t took_ns = live_now_ns() - read_at(DEATH);
    uint64_t before;
    expect(dn_fetch_add_u64(me.node, live_place(0, COUNTER), 1, &before), 0);
    expect(error, before == 0 ? DN_EOWNERDEAD : 0);
    if (before == 0) {
        (void)dprintf(STDOUT_FILENO, "inherited after %llu us\n",
                      (unsigned long long)(took_ns / 1000));
        require_else(took_ns < LIVE_SOON_NS, "took %llu ms",
                     (unsigned long long)(took_ns / LIVE_MS));
    }
    expect(dn_lock_give(lock), 0);
    /* After that it is an ordinary lock again. */
    for (int i = 0; i < 50; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        count_once(me.node, (uint64_t)me.rank + 1);
        expect(dn_lock_give(lock), 0);
    }
    return 0;
}

/* Waiters die in the queue, which closes over them. By packets a lock may be given to one whose
 * death is not known yet; then it counts as the holder. */
static int run_waiter(void)
{
    struct dn_lock *lock = open_at(LOCK);
    bool dies = me.rank == 1 || me.rank == me.size - 2;
    if (me.rank == 0) {
        expect(dn_lock_take(lock, 0), 0);
        write_at(READY, 1);
        wait_at(READY, (uint64_t)me.size);
        live_sleep_ns(5 * LIVE_MS);
        for (int rank = 1; rank < me.size; rank++) {
            if (rank == 1 || rank == me.size - 2) {
                (void)kill((pid_t)read_at(ORDER + 8 * (uint64_t)rank), SIGKILL);
            }
        }
        live_sleep_ns(5 * LIVE_MS);
        if (live_shares_nothing()) {
            live_wait_for_life(1, DN_DEAD);
            live_wait_for_life(me.size - 2, DN_DEAD);
        }
        expect(dn_lock_give(lock), 0);
    } else {
        write_at(ORDER + 8 * (uint64_t)me.rank, (uint64_t)getpid());
        wait_at(READY, (uint64_t)me.rank);
        write_at(READY, (uint64_t)me.rank + 1);
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        require(!dies);
        expect(dn_lock_give(lock), 0);
    }
    for (int i = 0; i < 50; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        count_once(me.node, (uint64_t)me.rank + 1);
        expect(dn_lock_give(lock), 0);
    }
    return 0;
}

/* All nodes work; a node other than 0 dies after a while, at any step, by its own alarm. This is
 * also the workload of the kill-point build. The owner word tells whether it was inside. */
static int run_storm(void)
{
    struct dn_lock *lock = open_at(LOCK);
    uint64_t random = me.seed * 31 + (uint64_t)me.rank;
    uint64_t end_ns = live_now_ns() + 120 * LIVE_MS;
    /* With a kill point for others, node 2 dies after some time, so that its lock is inherited. */
    if (getenv("DN_KILL") ? me.rank == 2 : me.rank % 3 == 1) {
        live_die_in(live_random(&random, 100 * LIVE_MS) + 1);
    }
    while (live_now_ns() < end_ns) {
        bool timed = live_random(&random, 4) == 0;
        int error = timed ? dn_lock_take(lock, live_random(&random, 100000))
                          : dn_lock_take(lock, LIVE_PATIENCE_NS);
        if (error == DN_ETIMEOUT) {
            require(timed);
            continue;
        }
        require(error == 0 || error == DN_EOWNERDEAD);
        uint64_t owner;
        expect(dn_swap_u64(me.node, live_place(0, OWNER), (uint64_t)me.rank + 1, &owner), 0);
        if (owner != 0) {
            require_else(error == DN_EOWNERDEAD, "%d is here as well", (int)owner - 1);
            /* By packets the word of it may come with the lock, before the launcher's. */
            live_wait_for_life((int)owner - 1, DN_DEAD);
        }
        expect(dn_swap_u64(me.node, live_place(0, OWNER), 0, &owner), 0);
        require(owner == (uint64_t)me.rank + 1);
        expect(dn_lock_give(lock), 0);
    }
    return 0;
}

/* Node 1, in whose memory the lock is, dies. Where its memory outlives it so does the lock; by
 * packets both end, and nodes that held or wanted the lock are told. */
static int run_manager(void)
{
    struct dn_remote word = live_place(1, LOCK);
    bool outlives = !live_shares_nothing();
    struct dn_lock *lock;
    struct dn_lock *late;
    expect(dn_lock_open(me.node, word, &lock), 0);
    if (me.rank == 1) {
        wait_at(READY, (uint64_t)me.size - 1);
        live_sleep_ns(20 * LIVE_MS); /* the others sleep by now */
        die_now();
    }
    if (me.rank == 2) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        write_at(TURN, 1);
    } else {
        wait_at(TURN, 1);
    }
    expect(dn_add_u64(me.node, live_place(0, READY), 1), 0);
    expect(dn_quiet(me.node), 0);
    if (me.rank != 2) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), outlives ? 0 : DN_EPEER);
        expect(dn_lock_give(lock), outlives ? 0 : DN_ENOTHELD);
    }
    live_wait_for_life(1, DN_DEAD);
    if (me.rank == 2) {
        expect(dn_lock_give(lock), outlives ? 0 : DN_EPEER);
        expect(dn_lock_give(lock), DN_ENOTHELD);
    }
    for (int i = 0; i < 3; i++) {
        expect(dn_lock_take(lock, i == 0 ? LIVE_PATIENCE_NS : DN_FOREVER), outlives ? 0 : DN_EPEER);
        expect(dn_lock_give(lock), outlives ? 0 : DN_ENOTHELD);
    }
    expect(dn_lock_open(me.node, word, &late), DN_EPEER);
    expect(dn_lock_close(lock), 0);
    return 0;
}

/* A survivor's last step. Node 0, whose memory all use, waits for the others. */
static int finish(int status)
{
    write_at(FINISHED + 8 * (uint64_t)me.rank, 1);
    for (int rank = 1; me.rank == 0 && rank < me.size; rank++) {
        enum dn_life life = DN_ATTACHED;
        while (read_at(FINISHED + 8 * (uint64_t)rank) == 0 && life != DN_DEAD) {
            live_sleep_ns(LIVE_MS);
            expect(dn_peer_life(me.node, rank, &life), 0);
        }
    }
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return status ? status : dn_detach(me.node) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, counts_under_contention),
        LIVE_CHECK(1, threads_have_a_handle_each),
        LIVE_CHECK(1, what_is_written_under_the_lock_is_seen),
        LIVE_CHECK(2, first_come_first_served),
        LIVE_CHECK(1, nobody_starves),
        LIVE_CHECK(1, trying_and_timing_out),
        LIVE_CHECK(1, giving_up_and_being_granted_meet),
        LIVE_CHECK_UP_TO(2, 2, giving_up_often_uses_no_records_up),
        LIVE_CHECK_UP_TO(1, 1, handles_run_out_and_come_back),
        LIVE_CHECK_UP_TO(1, 4, thousands_of_locks),
        LIVE_CHECK(1, two_locks_at_once),
        LIVE_CHECK(1, mistakes_have_names),
    };
    static const struct {
        const char *name;
        int (*run)(void);
    } stories[] = {{"--holder", run_holder},
                   {"--waiter", run_waiter},
                   {"--manager", run_manager},
                   {"--storm", run_storm}};
    for (size_t i = 0; argc == 2 && i < LIVE_COUNT(stories); i++) {
        if (strcmp(argv[1], stories[i].name) == 0) {
            me.check = stories[i].name;
            live_attach();
            return finish(stories[i].run());
        }
    }
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
