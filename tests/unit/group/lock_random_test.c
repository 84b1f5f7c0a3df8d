/* Random requesters of a lock that give up and die.
 *
 * Each requester runs on a stack of its own; at every kill point and poll the test draws which
 * one goes on. One that is killed never goes on; its death is announced some steps
 * later, as the launcher would. Everything comes from one seed, which a failure prints. */
#include <ucontext.h>

#include "lock_group.h"

enum { ROUNDS = 12, RECORDS = 24, STACK_BYTES = 256 * 1024, STEPS_MAX = 400000 };

struct requester {
    ucontext_t context;
    uint32_t rank;
    bool done;
    bool dead;
    bool announced;
    uint32_t announce_in;
    bool inside;             /* knows that it has the lock, and has not begun to give it */
    uint64_t place;          /* in the queue */
    struct group_lock *asks; /* the lock that it asks for */
    struct group_lock records[RECORDS];
    unsigned char *stack;
};

static struct {
    ucontext_t scheduler;
    struct requester all[NODES];
    uint64_t random;
    uint64_t places;  /* given so far */
    uint64_t newest;  /* place of the last one that had it */
    bool died_inside; /* since the last one that had it */
    bool died_at_all;
    const char *wrong;
    uint64_t takes;
    uint64_t inherited;
} game;

static uint64_t draw(uint64_t below)
{
    game.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (game.random ^ game.random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % below;
}

static void *running; /* a requester */

static void yield_step(const char *name)
{
    struct requester *me = running;
    /* Right after the compare-swap: whether it brought us into the queue. */
    if (strcmp(name, "lock: in the queue or not, nobody told") == 0 &&
        atomic_load(word) == me->asks->ticket) {
        me->place = ++game.places;
    }
    swapcontext(&me->context, &game.scheduler);
}

static void found_wrong(const char *what)
{
    game.wrong = game.wrong ? game.wrong : what;
}

static void enter(struct requester *me, enum group_lock_outcome outcome)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (game.all[i].inside && !game.all[i].dead) {
            found_wrong("two have it");
        }
    }
    if (me->place <= game.newest) {
        found_wrong("not in the order of the queue");
    }
    if (game.died_inside && outcome != GROUP_LOCK_OWNER_DEAD) {
        found_wrong("the holder's death is not told");
    }
    if (!game.died_at_all && outcome == GROUP_LOCK_OWNER_DEAD) {
        found_wrong("a death is told that was none");
    }
    game.inherited += outcome == GROUP_LOCK_OWNER_DEAD;
    game.takes++;
    game.died_inside = false;
    game.newest = me->place;
    me->inside = true;
}

static struct group_lock *free_record(struct requester *me)
{
    for (;;) {
        for (uint32_t i = 0; i < RECORDS; i++) {
            if (group_lock_record_is_free(me->records[i].record)) {
                return &me->records[i];
            }
        }
        yield_step("no record");
    }
}

/* Does what lock/lock.c does around the queue; false: it did not get the lock. */
static bool ask(struct requester *me, struct group_lock *lock, enum group_lock_outcome *outcome)
{
    uint32_t seen = atomic_load(&made.group->change_count);
    uint64_t patience = draw(4) ? UINT64_MAX : draw(12);
    if (draw(5) == 0) {
        *outcome = group_lock_try(lock);
        patience = 0;
    } else {
        *outcome = group_lock_take_again(lock) ? GROUP_LOCK_HELD : group_lock_enqueue(lock);
    }
    if (*outcome == GROUP_LOCK_BUSY) {
        return false;
    }
    for (uint64_t poll = 0; *outcome == GROUP_LOCK_QUEUED; poll++) {
        yield_step("poll");
        uint32_t changes = atomic_load(&made.group->change_count);
        if (group_lock_granted(lock)) {
            *outcome = GROUP_LOCK_HELD;
        } else if (changes != seen || lock->went_past) {
            seen = changes;
            *outcome = group_lock_inherit(lock);
        } else if (poll >= patience) {
            *outcome = group_lock_abandon(lock);
            if (*outcome == GROUP_LOCK_QUEUED) {
                return false;
            }
        }
    }
    (void)me;
    return true;
}

static void requester_main(void)
{
    struct requester *me = running;
    for (int round = 0; round < ROUNDS; round++) {
        enum group_lock_outcome outcome;
        me->asks = free_record(me);
        if (ask(me, me->asks, &outcome)) {
            enter(me, outcome);
            for (uint64_t steps = draw(6); steps > 0; steps--) {
                yield_step("inside");
            }
            me->inside = false;
            (void)group_lock_give(me->asks);
        }
    }
    me->done = true;
    swapcontext(&me->context, &game.scheduler);
}

static void kill_requester(struct requester *one)
{
    one->dead = true;
    one->announce_in = (uint32_t)draw(60);
    game.died_inside |= one->inside;
    game.died_at_all = true;
    one->inside = false;
}

/* Lets one requester, drawn at random, take a step; false: none is left. */
static bool play_step(uint32_t deaths_per_10000, uint32_t *deaths_left)
{
    struct requester *able[NODES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        struct requester *one = &game.all[i];
        if (one->dead && !one->announced && one->announce_in-- == 0) {
            one->announced = true;
            (void)group_life_end(&made.views[(i + 1) % NODES], i, false);
        }
        if (!one->dead && !one->done) {
            able[count++] = one;
        }
    }
    if (count == 0) {
        return false;
    }
    struct requester *one = able[draw(count)];
    if (*deaths_left > 0 && draw(10000) < deaths_per_10000) {
        (*deaths_left)--;
        kill_requester(one);
        return true;
    }
    running = one;
    swapcontext(&game.scheduler, &one->context);
    running = NULL;
    return true;
}

static const char *play(uint64_t seed)
{
    memset(&game, 0, sizeof game);
    game.random = seed;
    for (uint32_t i = 0; i < NODES; i++) {
        struct requester *one = &game.all[i];
        one->rank = i;
        for (uint32_t record = 0; record < RECORDS; record++) {
            one->records[record] = make_requester(i, record);
        }
        assert_int_equal(getcontext(&one->context), 0);
        one->stack = malloc(STACK_BYTES);
        assert_non_null(one->stack);
        one->context.uc_stack.ss_sp = one->stack;
        one->context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&one->context, requester_main, 0);
    }
    uint32_t deaths_left = (uint32_t)draw(NODES);
    uint32_t rate = (uint32_t)draw(100);
    uint32_t steps = 0;
    while (!game.wrong && play_step(rate, &deaths_left)) {
        if (++steps > STEPS_MAX) {
            found_wrong("somebody waits for ever");
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        free(game.all[i].stack);
    }
    return game.wrong;
}

static void random_requesters_die(void **state)
{
#if defined(__SANITIZE_THREAD__)
    (void)state;
    skip(); /* it does not follow a thread from stack to stack */
#endif
    const char *given = getenv("DN_TEST_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : unit_now_ns();
    uint64_t takes = 0;
    uint64_t inherited = 0;
    uint64_t end_ns = unit_now_ns() + 1500 * UNIT_MS;
    uint64_t games = 0;
    for (; games < 4000 && unit_now_ns() < end_ns; games++) {
        const char *wrong = play(first + games);
        takes += game.takes;
        inherited += game.inherited;
        if (wrong) {
            fail_msg("%s (DN_TEST_SEED=%llu)", wrong, (unsigned long long)(first + games));
        }
        free_group(state);
        make_group(state);
    }
    print_message("%llu games from seed %llu: taken %llu times, %llu after a death\n",
                  (unsigned long long)games, (unsigned long long)first, (unsigned long long)takes,
                  (unsigned long long)inherited);
    assert_true(takes > 0);
}

static void step(const char *name)
{
    if (running) {
        yield_step(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_requesters_die, make_group, free_group),
    };
    return cmocka_run_group_tests_name("nic/lock at random", tests, NULL, NULL);
}
