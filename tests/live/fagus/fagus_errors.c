/* Wrong calls and full tables: each has a named error on every node, nothing else changes, and the
 * right calls work afterwards. With --times or --fork it does one thing, which a script judges. */
#include "fagus_live.h"

#include <sys/wait.h>

enum { PAGE = 4096, MANY = 100000 };

/* Whatever went wrong before, this works: every node adds 1 to each byte in turn. */
static void require_soundness(struct fagus_sync *sync, unsigned char *object, size_t bytes)
{
    fagus_meet();
    fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
    for (size_t i = 0; i < bytes; i++) {
        object[i]++;
    }
    fagus_expect(fagus_release(sync), 0);
    fagus_meet();
    fagus_expect(fagus_acquire(sync, FAGUS_READ), 0);
    require(live_all_are(object, bytes, object[0]));
    require(object[0] % me.size == 0);
    fagus_expect(fagus_release(sync), 0);
    fagus_meet();
}

/* ---- Bindings --------------------------------------------------------------------------- */

/* Overlaps by one byte at any end, inside and around; a neighbour does not overlap. */
static void overlaps_are_refused_to_the_byte(void)
{
    unsigned char *memory = fagus_get(4 * PAGE, FAGUS_ROUND_ROBIN);
    struct fagus_sync *sync = fagus_bound_to(memory + 1000, 500);
    struct fagus_sync *other = fagus_bound_to(memory + 1500, 1);
    static const struct {
        size_t at;
        size_t bytes;
    } wrong[] = {{1499, 1},   {1000, 1}, {999, 2},  {1200, 3},  {0, 4000},
                 {1000, 500}, {1500, 1}, {1499, 3}, {1000, 501}};
    struct fagus_sync *third = NULL;
    fagus_expect(fagus_sync_create(&third), 0);
    for (size_t i = 0; i < LIVE_COUNT(wrong); i++) {
        fagus_expect(fagus_bind(third, memory + wrong[i].at, wrong[i].bytes), FAGUS_EOVERLAP);
    }
    fagus_expect(fagus_bind(third, memory + 999, 1), 0);
    fagus_expect(fagus_bind(third, memory + 1501, 1), 0);
    /* A refused list leaves the binding as it was. */
    const struct fagus_range list[] = {{memory, 10}, {memory + 2000, 8}, {memory + 2007, 2}};
    fagus_expect(fagus_rebind(sync, list, 3), FAGUS_EOVERLAP);
    const struct fagus_range taken[] = {{memory, 10}, {memory + 1500, 1}};
    fagus_expect(fagus_rebind(sync, taken, 2), FAGUS_EOVERLAP);
    fagus_expect(fagus_bind(other, memory + 1499, 1), FAGUS_EOVERLAP);
    require_soundness(sync, memory + 1000, 500);
    fagus_expect(fagus_sync_free(sync), 0);
    /* Memory that was bound to a freed variable is free. */
    fagus_expect(fagus_bind(other, memory + 1400, 100), 0);
    fagus_expect(fagus_sync_free(other), 0);
    fagus_expect(fagus_sync_free(third), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void a_holder_is_refused_the_same_way(void)
{
    unsigned char *memory = fagus_get(4 * PAGE, FAGUS_BLOCK);
    struct fagus_sync *sync = fagus_bound_to(memory, 100);
    struct fagus_sync *other = fagus_bound_to(memory + 100, 100);
    const struct fagus_range wrong[] = {{memory, 100}, {memory + 150, 10}};
    unsigned char outside[8];
    fagus_meet();
    fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
    fagus_expect(fagus_bind(sync, memory + 199, 2), FAGUS_EOVERLAP);
    fagus_expect(fagus_rebind(sync, wrong, 2), FAGUS_EOVERLAP);
    fagus_expect(fagus_bind(sync, memory + 4 * PAGE - 1, 2), FAGUS_ERANGE);
    fagus_expect(fagus_bind(sync, outside, sizeof outside), FAGUS_ERANGE);
    fagus_expect(fagus_bind(sync, memory + 300, SIZE_MAX), FAGUS_ERANGE);
    fagus_expect(fagus_bind(sync, NULL, 1), FAGUS_EINVAL);
    fagus_expect(fagus_rebind(sync, NULL, 1), FAGUS_EINVAL);
    fagus_expect(fagus_unbind(sync, memory + 1), FAGUS_ERANGE);
    fagus_expect(fagus_unbind(sync, memory + 100), FAGUS_ERANGE);
    fagus_expect(fagus_release(sync), 0);
    require_soundness(sync, memory, 100);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_sync_free(other), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Holding ---------------------------------------------------------------------------- */

static struct fagus_sync *shared_sync;
static uint64_t *shared_words;

/* A thread that holds nothing. */
static void *meddle(void *argument)
{
    (void)argument;
    fagus_expect(fagus_release(shared_sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_bind(shared_sync, shared_words + 100, 8), FAGUS_ENOTHELD);
    fagus_expect(fagus_unbind(shared_sync, shared_words), FAGUS_ENOTHELD);
    fagus_expect(fagus_rebind(shared_sync, NULL, 0), FAGUS_ENOTHELD);
    return NULL;
}

static void *meddle_with_a_writer(void *argument)
{
    fagus_expect(fagus_acquire_try(shared_sync, FAGUS_WRITE), FAGUS_EBUSY);
    fagus_expect(fagus_acquire_try(shared_sync, FAGUS_READ), FAGUS_EBUSY);
    fagus_expect(fagus_acquire_timed(shared_sync, FAGUS_READ, LIVE_MS), FAGUS_ETIMEOUT);
    return meddle(argument);
}

static void in_a_thread(void *(*run)(void *))
{
    pthread_t thread;
    live_thread_start(&thread, run, NULL);
    live_thread_join(thread);
}

/* No other thread can release or rebind what one thread holds; nor can the thread release it
 * twice. */
static void threads_cannot_use_what_others_hold(void)
{
    static const enum fagus_mode modes[] = {FAGUS_READ, FAGUS_WRITE};
    shared_words = fagus_get(PAGE, 0);
    shared_sync = fagus_bound_to(shared_words, 800);
    fagus_meet();
    for (size_t i = 0; i < LIVE_COUNT(modes); i++) {
        fagus_expect(fagus_acquire(shared_sync, modes[i]), 0);
        for (size_t other = 0; other < LIVE_COUNT(modes); other++) {
            fagus_expect(fagus_acquire(shared_sync, modes[other]), FAGUS_EHELD);
            fagus_expect(fagus_acquire_try(shared_sync, modes[other]), FAGUS_EHELD);
            fagus_expect(fagus_acquire_timed(shared_sync, modes[other], 0), FAGUS_EHELD);
        }
        in_a_thread(modes[i] == FAGUS_WRITE ? meddle_with_a_writer : meddle);
        fagus_expect(fagus_release(shared_sync), 0);
        fagus_expect(fagus_release(shared_sync), FAGUS_ENOTHELD);
    }
    require_soundness(shared_sync, (unsigned char *)shared_words, 800);
    fagus_expect(fagus_sync_free(shared_sync), 0);
    fagus_expect(fagus_free(shared_words), 0);
}

static void *take_and_end(void *argument)
{
    fagus_expect(fagus_acquire(shared_sync, *(const enum fagus_mode *)argument), 0);
    return NULL;
}

static void *inherit_nothing(void *argument)
{
    fagus_expect(fagus_release(shared_sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_bind(shared_sync, shared_words + 100, 8), FAGUS_ENOTHELD);
    fagus_expect(fagus_acquire_try(shared_sync, FAGUS_WRITE), FAGUS_EBUSY);
    return argument;
}

/* The next thread usually has the same stack and the same thread-local memory, but must not own
 * what the one before held. */
static void what_an_ended_thread_held_is_nobodys(void)
{
    static enum fagus_mode modes[] = {FAGUS_READ, FAGUS_WRITE};
    for (size_t i = 0; i < LIVE_COUNT(modes); i++) {
        shared_words = fagus_get(PAGE, 0);
        shared_sync = fagus_bound_to(shared_words, 800);
        if (me.rank == 0) {
            pthread_t thread;
            live_thread_start(&thread, take_and_end, &modes[i]);
            live_thread_join(thread);
            for (int times = 0; times < 3; times++) {
                in_a_thread(inherit_nothing);
            }
        }
        fagus_meet();
        fagus_expect(fagus_sync_free(shared_sync), me.rank == 0 ? FAGUS_EBUSY : FAGUS_EMISMATCH);
    }
}

/* A variable that one node holds is neither freed nor used in a barrier; all nodes are told. */
static void what_is_held_is_not_freed(void)
{
    unsigned char *memory = fagus_get(1000, 0);
    struct fagus_sync *sync = fagus_bound_to(memory, 1000);
    static const enum fagus_mode modes[] = {FAGUS_READ, FAGUS_WRITE};
    for (size_t i = 0; i < LIVE_COUNT(modes); i++) {
        bool holds = me.rank == (int)i % me.size;
        if (holds) {
            fagus_expect(fagus_acquire(sync, modes[i]), 0);
        }
        fagus_meet();
        fagus_expect(fagus_sync_free(sync), holds ? FAGUS_EBUSY : FAGUS_EMISMATCH);
        fagus_expect(fagus_barrier(sync), holds ? FAGUS_EHELD : FAGUS_EMISMATCH);
        if (holds) {
            fagus_expect(fagus_release(sync), 0);
        }
        fagus_meet();
    }
    require_soundness(sync, memory, 1000);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* A freed handle stays invalid, also when there are new ones. */
static void freed_variables_are_known(void)
{
    unsigned char *memory = fagus_get(1000, 0);
    struct fagus_sync *freed = fagus_bound_to(memory, 10);
    fagus_expect(fagus_sync_free(freed), 0);
    fagus_expect(fagus_acquire(freed, FAGUS_WRITE), FAGUS_EINVAL);
    fagus_expect(fagus_release(freed), FAGUS_EINVAL);
    fagus_expect(fagus_bind(freed, memory, 10), FAGUS_EINVAL);
    fagus_expect(fagus_unbind(freed, memory), FAGUS_EINVAL);
    fagus_expect(fagus_rebind(freed, NULL, 0), FAGUS_EINVAL);
    fagus_expect(fagus_barrier(freed), FAGUS_EINVAL);
    fagus_expect(fagus_sync_free(freed), FAGUS_EINVAL);
    fagus_expect(fagus_sync_name(freed, "gone"), FAGUS_EINVAL);
    struct fagus_stats stats;
    fagus_expect(fagus_stats(freed, &stats), FAGUS_EINVAL);
    struct fagus_sync *sync = fagus_bound_to(memory, 10);
    require_soundness(sync, memory, 10);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

static void conditions_want_a_writer(void)
{
    unsigned char *memory = fagus_get(1000, 0);
    struct fagus_sync *sync = fagus_bound_to(memory, 10);
    struct fagus_condition *condition = NULL;
    fagus_expect(fagus_condition_create(&condition), 0);
    fagus_meet();
    fagus_expect(fagus_condition_wait(condition, sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_acquire(sync, FAGUS_READ), 0);
    fagus_expect(fagus_condition_wait(condition, sync), FAGUS_ENOTHELD);
    fagus_expect(fagus_release(sync), 0);
    fagus_expect(fagus_condition_wait(NULL, sync), FAGUS_EINVAL);
    fagus_expect(fagus_condition_wait(condition, NULL), FAGUS_EINVAL);
    fagus_expect(fagus_condition_signal(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_condition_broadcast(NULL), FAGUS_EINVAL);
    require_soundness(sync, memory, 10);
    fagus_expect(fagus_condition_free(condition), 0);
    fagus_expect(fagus_condition_signal(condition), FAGUS_EINVAL);
    fagus_expect(fagus_condition_free(condition), FAGUS_EINVAL);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Different calls -------------------------------------------------------------------- */

/* Node 0 makes one call, the others another; the nodes whose call could not be made are told. The
 * plain barrier is the cheapest call and does not check. */
static void different_collective_calls(void)
{
    unsigned char *memory = fagus_get(2 * PAGE, FAGUS_BLOCK);
    struct fagus_sync *sync = fagus_bound_to(memory, 100);
    struct fagus_sync *other = fagus_bound_to(memory + 100, 1000);
    struct fagus_condition *condition = NULL;
    struct fagus_sync *never = NULL;
    void *pointer = NULL;
    uint64_t word = 0;
    bool first = me.rank == 0;
    fagus_expect(fagus_barrier(first ? sync : other), FAGUS_EMISMATCH);
    fagus_expect(fagus_sync_free(first ? sync : other), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_sync_free(sync) : fagus_barrier(sync), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_barrier(sync) : fagus_alloc(8, 0, &pointer), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_sync_create(&never) : fagus_alloc(8, 0, &pointer), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_bind(sync, memory + 2000, 8) : fagus_bind(other, memory + 2000, 8),
                 FAGUS_EMISMATCH);
    fagus_expect(fagus_bind(sync, memory + 2000, first ? 8 : 9), FAGUS_EMISMATCH);
    fagus_expect(fagus_bind(sync, memory + 2000, first ? 0 : 9),
                 first ? FAGUS_EINVAL : FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_unbind(sync, memory) : fagus_distribute(&word, 8), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_condition_create(&condition) : fagus_sync_create(&never),
                 FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_finalize() : fagus_sync_free(sync), FAGUS_EMISMATCH);
    fagus_expect(first ? fagus_barrier(NULL) : fagus_barrier(sync), first ? 0 : FAGUS_EMISMATCH);
    require(pointer == NULL && never == NULL && condition == NULL);
    require_soundness(sync, memory, 100);
    require_soundness(other, memory + 100, 1000);
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_sync_free(other), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* Requires that all nodes are at the same call, whatever went wrong before. */
static void require_step(void)
{
    static uint64_t step;
    uint64_t of_rank_0 = ++step;
    fagus_expect(fagus_distribute(&of_rank_0, sizeof of_rank_0), 0);
    require_else(of_rank_0 == step, "%llu, not %llu", (unsigned long long)of_rank_0,
                 (unsigned long long)step);
}

/* The others already wait for all nodes when node 0 acquires it: it gives them more and more time
 * for that, until it was enough. Where it was not, all are refused at once. */
static void bind_while_one_acquires(unsigned char *memory)
{
    bool first = me.rank == 0;
    uint64_t others = (uint64_t)me.size - 1;
    uint64_t joined = 0;
    struct fagus_flag *flag;
    fagus_expect(fagus_flag_create(&flag, 0), 0);
    for (uint64_t ms = 20; ms < 4000 && joined == 0; ms *= 2) {
        struct fagus_sync *sync = fagus_bound_to(memory, 100);
        if (first) {
            live_sleep_ns(ms * LIVE_MS);
            fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
            fagus_expect(fagus_release(sync), 0);
        }
        int result = fagus_unbind(sync, memory);
        if (!first && result == FAGUS_EMISMATCH) {
            fagus_expect(fagus_flag_add(flag, 1, NULL), 0);
        } else {
            fagus_expect(result, FAGUS_ENOTHELD);
        }
        require_step();
        fagus_expect(fagus_flag_read(flag, &joined), 0);
        require_else(joined == 0 || joined == others, "only %llu", (unsigned long long)joined);
        require_soundness(sync, memory, 100);
        fagus_expect(fagus_sync_free(sync), 0);
    }
    fagus_expect(fagus_flag_free(flag), 0);
}

/* Some nodes take it for a call of all nodes, and some for a holder's call. */
static void bindings_out_of_turn_keep_the_step(void)
{
    unsigned char *memory = fagus_get(2 * PAGE, FAGUS_BLOCK);
    bool first = me.rank == 0;
    struct fagus_sync *sync = fagus_bound_to(memory, 100);
    if (first) {
        fagus_expect(fagus_acquire(sync, FAGUS_READ), 0);
        fagus_expect(fagus_release(sync), 0);
    }
    fagus_meet();
    /* Node 0 has acquired it, and the others know it: alone, and all together. */
    if (me.rank == 1) {
        fagus_expect(fagus_bind(sync, memory + 2000, 8), FAGUS_ENOTHELD);
    }
    require_step();
    fagus_expect(fagus_bind(sync, memory + 2000, 8), FAGUS_ENOTHELD);
    require_step();
    require_soundness(sync, memory, 100);
    fagus_expect(fagus_sync_free(sync), 0);
    bind_while_one_acquires(memory);
    /* A call that only some make leaves nothing behind. */
    uint64_t word = 0;
    sync = fagus_bound_to(memory, 100);
    fagus_expect(first ? fagus_unbind(sync, memory) : fagus_distribute(&word, 8), FAGUS_EMISMATCH);
    require_step();
    require_soundness(sync, memory, 100);
    if (me.rank == 1) {
        fagus_expect(fagus_rebind(sync, NULL, 0), FAGUS_ENOTHELD);
    }
    require_step();
    /* One node passes something that is no variable. */
    fagus_expect(fagus_barrier(first ? (struct fagus_sync *)(void *)&word : sync),
                 first ? FAGUS_EINVAL : FAGUS_EMISMATCH);
    fagus_expect(fagus_sync_free(first ? NULL : sync), first ? FAGUS_EINVAL : FAGUS_EMISMATCH);
    require_step();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* What a node knows of a variable is old, and something bound lies behind it. */
static void overlaps_behind_old_ranges_are_found(void)
{
    unsigned char *memory = fagus_get(2 * PAGE, FAGUS_BLOCK);
    struct fagus_sync *moved = fagus_bound_to(memory, 10);
    struct fagus_sync *stays = fagus_bound_to(memory + 20, 10);
    struct fagus_sync *grows = fagus_bound_to(memory + 1000, 10);
    fagus_meet();
    if (me.rank == 1) {
        const struct fagus_range elsewhere = {memory + 2000, 10};
        fagus_expect(fagus_acquire(moved, FAGUS_WRITE), 0);
        fagus_expect(fagus_rebind(moved, &elsewhere, 1), 0);
        fagus_expect(fagus_release(moved), 0);
    }
    fagus_meet();
    if (me.rank == 0) {
        fagus_expect(fagus_acquire(grows, FAGUS_WRITE), 0);
        fagus_expect(fagus_bind(grows, memory, 40), FAGUS_EOVERLAP);
        fagus_expect(fagus_bind(grows, memory + 5, 16), FAGUS_EOVERLAP);
        fagus_expect(fagus_bind(grows, memory, 20), 0);
        fagus_expect(fagus_release(grows), 0);
    }
    fagus_meet();
    fagus_expect(fagus_free(memory), FAGUS_EBUSY);
    fagus_expect(fagus_sync_free(moved), 0);
    fagus_expect(fagus_sync_free(grows), 0);
    fagus_expect(fagus_free(memory), FAGUS_EBUSY);
    fagus_expect(fagus_sync_free(stays), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- Out of memory ---------------------------------------------------------------------- */

/* As many variables as there is room for; the script makes the space small. */
static void there_is_room_for_so_many_variables(void)
{
    static struct fagus_sync *syncs[MANY];
    unsigned char *memory = fagus_get(PAGE, 0);
    struct fagus_sync *first = fagus_bound_to(memory, 1000);
    size_t count = 0;
    int error = 0;
    while (count < MANY && (error = fagus_sync_create(&syncs[count])) == 0) {
        count++;
    }
    fagus_expect(error, FAGUS_ENOMEM);
    require(syncs[count] == NULL && count > 100);
    uint64_t same = count;
    fagus_expect(fagus_distribute(&same, sizeof same), 0);
    require(same == count);
    void *pointer = NULL;
    fagus_expect(fagus_alloc(PAGE, 0, &pointer), FAGUS_ENOMEM);
    require_soundness(first, memory, 1000);
    while (count > 0) {
        fagus_expect(fagus_sync_free(syncs[--count]), 0);
    }
    fagus_expect(fagus_alloc(PAGE, 0, &pointer), 0);
    fagus_expect(fagus_free(pointer), 0);
    fagus_expect(fagus_sync_free(first), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* The list has so many ranges that there is no room for it: it is refused as a whole. There is no
 * room for the differences of a large object either, which does without them. */
static void long_lists_and_differences_may_have_no_room(void)
{
    enum { OBJECT = 1 << 20, RANGES = OBJECT / 10 };
    unsigned char *memory = fagus_get(2 * OBJECT, FAGUS_BLOCK);
    struct fagus_range *ranges = calloc(RANGES, sizeof *ranges);
    struct fagus_sync *sync = fagus_bound_to(memory, 2000);
    struct fagus_sync *large = fagus_bound_to(memory + OBJECT, OBJECT);
    require(ranges != NULL);
    for (size_t i = 0; i < RANGES; i++) {
        ranges[i] = (struct fagus_range){memory + 4000 + 8 * i, 4};
    }
    fagus_meet();
    fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
    fagus_expect(fagus_rebind(sync, ranges, RANGES), FAGUS_ENOMEM);
    fagus_expect(fagus_release(sync), 0);
    require_soundness(sync, memory, 2000);
    for (unsigned round = 0; round < 12; round++) {
        fagus_expect(fagus_acquire(large, FAGUS_WRITE), 0);
        for (size_t i = 0; i < OBJECT; i += 64) {
            memory[OBJECT + i]++;
        }
        fagus_expect(fagus_release(large), 0);
    }
    fagus_meet();
    fagus_expect(fagus_acquire(large, FAGUS_READ), 0);
    for (size_t i = 0; i < OBJECT; i++) {
        require(memory[OBJECT + i] == (i % 64 == 0 ? 12 * me.size : 0));
    }
    fagus_expect(fagus_release(large), 0);
    free(ranges);
    fagus_meet();
    fagus_expect(fagus_sync_free(sync), 0);
    fagus_expect(fagus_sync_free(large), 0);
    fagus_expect(fagus_free(memory), 0);
}

/* ---- At the wrong time ------------------------------------------------------------------ */

static struct fagus_sync *old_sync;
static struct fagus_condition *old_condition;

/* Every call on variables says so, and does nothing; true: all do. */
static bool all_say_state(void)
{
    struct fagus_sync *sync = NULL;
    struct fagus_condition *condition = NULL;
    struct fagus_stats stats;
    struct fagus_range range = {&stats, 8};
    const int results[] = {
        fagus_sync_create(&sync),
        fagus_sync_free(old_sync),
        fagus_sync_name(old_sync, "name"),
        fagus_bind(old_sync, &stats, 8),
        fagus_rebind(old_sync, &range, 1),
        fagus_unbind(old_sync, &stats),
        fagus_acquire(old_sync, FAGUS_READ),
        fagus_acquire_try(old_sync, FAGUS_WRITE),
        fagus_acquire_timed(old_sync, FAGUS_WRITE, 1),
        fagus_release(old_sync),
        fagus_barrier(NULL),
        fagus_barrier(old_sync),
        fagus_stats(NULL, &stats),
        fagus_stats(old_sync, &stats),
        fagus_condition_create(&condition),
        fagus_condition_wait(old_condition, old_sync),
        fagus_condition_signal(old_condition),
        fagus_condition_broadcast(old_condition),
        fagus_condition_free(old_condition),
        fagus_finalize(),
    };
    bool is_so = sync == NULL && condition == NULL;
    for (size_t i = 0; i < LIVE_COUNT(results); i++) {
        if (results[i] != FAGUS_ESTATE) {
            (void)dprintf(STDOUT_FILENO, "FAIL call %zu gave \"%s\"\n", i,
                          fagus_strerror(results[i]));
            is_so = false;
        }
    }
    return is_so;
}

static void before_and_after(void)
{
    require(all_say_state());
    fagus_begin();
    old_sync = fagus_bound_to(fagus_get(100, 0), 100);
    fagus_expect(fagus_condition_create(&old_condition), 0);
    fagus_expect(fagus_acquire(old_sync, FAGUS_READ), 0);
    fagus_meet();
    /* A variable held to the end is no reason to stay. */
    fagus_expect(fagus_finalize(), 0);
    require(all_say_state());
}

/* A child has no part in it; what the parent holds stays the parent's. */
static void forked(void)
{
    fagus_begin();
    unsigned char *memory = fagus_get(100, 0);
    old_sync = fagus_bound_to(memory, 100);
    fagus_expect(fagus_condition_create(&old_condition), 0);
    for (int round = 0; round < 3; round++) {
        fagus_meet();
        fagus_expect(fagus_acquire(old_sync, round == 1 ? FAGUS_READ : FAGUS_WRITE), 0);
        pid_t child = fork();
        require(child >= 0);
        if (child == 0) {
            bool is_so = all_say_state();
            if (round == 2) {
                exit(is_so ? 0 : 1); /* with what the library does at the end */
            }
            _exit(is_so ? 0 : 1);
        }
        int status;
        require(waitpid(child, &status, 0) == child);
        require_else(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x",
                     (unsigned)status);
        fagus_expect(fagus_release(old_sync), 0);
        require_soundness(old_sync, memory, 100);
    }
    fagus_expect(fagus_finalize(), 0);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, overlaps_are_refused_to_the_byte),
        LIVE_CHECK(1, a_holder_is_refused_the_same_way),
        LIVE_CHECK(1, threads_cannot_use_what_others_hold),
        LIVE_CHECK(1, what_an_ended_thread_held_is_nobodys),
        LIVE_CHECK(2, what_is_held_is_not_freed),
        LIVE_CHECK(1, freed_variables_are_known),
        LIVE_CHECK(1, conditions_want_a_writer),
        LIVE_CHECK(2, different_collective_calls),
        LIVE_CHECK(2, bindings_out_of_turn_keep_the_step),
        LIVE_CHECK(2, overlaps_behind_old_ranges_are_found),
        LIVE_CHECK(1, there_is_room_for_so_many_variables),
        LIVE_CHECK(2, long_lists_and_differences_may_have_no_room),
    };
    me.check = argc > 1 ? argv[1] : "start";
    if (argc > 1 && strcmp(argv[1], "--times") == 0) {
        before_and_after();
    } else if (argc > 1 && strcmp(argv[1], "--fork") == 0) {
        forked();
    } else {
        return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
    }
    (void)dprintf(STDOUT_FILENO, "well\n");
    return 0;
}
