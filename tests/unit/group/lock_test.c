/* The lock's queue: order, giving up, dying. */
#include "lock_group.h"

#include <unistd.h>

static void die(uint32_t rank)
{
    assert_true(group_life_end(&made.views[(rank + 1) % NODES], rank, false));
}

/* ---- Stepping in --------------------------------------------------------------- */

static struct {
    const char *at; /* the kill point where something happens, once */
    void (*happens)(void);
    jmp_buf out; /* happens NULL: the caller goes no further, it is dead */
} event;

static void step(const char *name)
{
    if (event.at && strcmp(event.at, name) == 0) {
        event.at = NULL;
        if (!event.happens) {
            longjmp(event.out, 1);
        }
        event.happens();
    }
}

/* Runs a statement until it comes to the kill point, and no further. */
#define UP_TO(point, statement)                  \
    do {                                         \
        event.happens = NULL;                    \
        if (setjmp(event.out) == 0) {            \
            event.at = (point);                  \
            (void)(statement);                   \
            fail_msg("never came to %s", point); \
        }                                        \
    } while (0)

static bool take_free(struct group_lock *lock)
{
    return group_lock_try(lock) == GROUP_LOCK_HELD;
}

static void hold_and_queue(uint32_t waiters)
{
    assert_true(take_free(&locks[0]));
    for (uint32_t i = 1; i <= waiters; i++) {
        assert_false(take_free(&locks[i]));
        assert_int_equal(group_lock_enqueue(&locks[i]), GROUP_LOCK_QUEUED);
        group_lock_tell(&locks[i]);
    }
}

/* Asserts that nobody has it or waits for it: a visitor takes it for a moment. */
static void expect_free(void)
{
    struct group_lock visitor = make_requester(NODES - 1, 1000);
    static uint32_t visits;
    visitor.sequence = visits; /* the record's uses go on */
    assert_int_equal(group_lock_try(&visitor), GROUP_LOCK_HELD);
    assert_int_equal(group_lock_give(&visitor), GROUP_LOCK_NOBODY);
    visits = group_lock_sequence(&visitor);
}

/* ---- Order ----------------------------------------------------------------------- */

static void a_free_lock_is_taken_and_given(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < NODES; i++) {
            assert_true(take_free(&locks[i]));
            assert_false(take_free(&locks[(i + 1) % NODES]));
            assert_int_equal(group_lock_give(&locks[i]), GROUP_LOCK_NOBODY);
            expect_free();
            assert_int_equal(group_lock_enqueue(&locks[i]), GROUP_LOCK_HELD);
            assert_int_equal(group_lock_give(&locks[i]), GROUP_LOCK_NOBODY);
            expect_free();
        }
    }
}

static void who_gave_it_takes_it_again(void **state)
{
    (void)state;
    assert_false(group_lock_take_again(&locks[1])); /* it never had the lock */
    assert_true(take_free(&locks[1]));
    for (int i = 0; i < 10; i++) {
        assert_false(group_lock_take_again(&locks[2]));
        assert_int_equal(group_lock_give(&locks[1]), GROUP_LOCK_NOBODY);
        assert_true(group_lock_take_again(&locks[1]));
        assert_int_equal(group_lock_try(&locks[2]), GROUP_LOCK_BUSY);
    }
    assert_int_equal(group_lock_enqueue(&locks[2]), GROUP_LOCK_QUEUED);
    (void)group_lock_give(&locks[1]);
    assert_false(group_lock_take_again(&locks[1])); /* 2 is behind it */
    assert_true(group_lock_granted(&locks[2]));
}

static void waiters_get_it_in_their_order(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        hold_and_queue(5);
        for (uint32_t i = 0; i < 5; i++) {
            for (uint32_t j = i + 1; j <= 5; j++) {
                assert_false(group_lock_granted(&locks[j]));
                assert_int_equal(group_lock_inherit(&locks[j]), GROUP_LOCK_QUEUED);
            }
            assert_int_equal(group_lock_give(&locks[i]), i + 1); /* the one to wake */
            for (uint32_t j = 5; j > i + 1; j--) {
                assert_false(group_lock_granted(&locks[j]));
            }
            assert_true(group_lock_granted(&locks[i + 1]));
        }
        assert_int_equal(group_lock_give(&locks[5]), GROUP_LOCK_NOBODY);
        expect_free();
    }
}

/* Gives the lock, and asserts that `to` then has it. */
static void pass_on(uint32_t from, uint32_t to)
{
    (void)group_lock_give(&locks[from]);
    assert_true(group_lock_granted(&locks[to]));
}

static void who_gives_can_queue_again(void **state)
{
    (void)state;
    hold_and_queue(1);
    for (uint32_t turn = 0; turn < 20; turn++) {
        uint32_t holder = turn % 2;
        assert_int_equal(group_lock_give(&locks[holder]), 1 - holder);
        /* At once, before the other has looked. */
        assert_false(group_lock_take_again(&locks[holder]));
        assert_int_equal(group_lock_enqueue(&locks[holder]), GROUP_LOCK_QUEUED);
        group_lock_tell(&locks[holder]);
        assert_true(group_lock_granted(&locks[1 - holder]));
    }
}

/* The use that the next one watches ends, and its record serves another lock. */
static void a_use_that_is_over_counts_as_given(void **state)
{
    (void)state;
    _Atomic uint64_t *other = word + 8;
    hold_and_queue(2);
    (void)group_lock_give(&locks[0]);
    locks[0].last_proc = other;
    assert_true(take_free(&locks[0]));
    assert_false(group_lock_granted(&locks[2]));
    assert_true(group_lock_granted(&locks[1]));
    (void)group_lock_give(&locks[0]);
    pass_on(1, 2);
}

static void sequences_go_on_and_skip_zero(void **state)
{
    (void)state;
    locks[1].sequence = UINT32_MAX - 1;
    assert_true(take_free(&locks[1]));
    assert_int_equal(group_lock_sequence(&locks[1]), UINT32_MAX);
    assert_int_equal(group_lock_give(&locks[1]), GROUP_LOCK_NOBODY);
    assert_false(group_lock_take_again(&locks[1]));
    assert_true(take_free(&locks[1]));
    assert_int_equal(group_lock_sequence(&locks[1]), 1);
    assert_int_equal(group_lock_give(&locks[1]), GROUP_LOCK_NOBODY);
    assert_true(group_lock_take_again(&locks[1]));
    assert_int_equal(group_lock_sequence(&locks[1]), 2);
    assert_int_equal(group_lock_enqueue(&locks[2]), GROUP_LOCK_QUEUED);
    pass_on(1, 2);
}

/* ---- Trying and giving up -------------------------------------------------------- */

static void trying_does_not_queue(void **state)
{
    (void)state;
    assert_int_equal(group_lock_try(&locks[0]), GROUP_LOCK_HELD);
    uint64_t before = atomic_load(word);
    assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_BUSY);
    assert_int_equal(atomic_load(word), before);
    assert_int_equal(group_lock_enqueue(&locks[2]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_BUSY);
    (void)group_lock_give(&locks[0]);
    assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_BUSY); /* 2 may have it now */
    assert_true(group_lock_granted(&locks[2]));
    assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_BUSY);
    (void)group_lock_give(&locks[2]);
    assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_HELD);
}

static void trying_takes_it_from_the_dead(void **state)
{
    (void)state;
    hold_and_queue(2);
    die(0);
    assert_int_equal(group_lock_try(&locks[3]), GROUP_LOCK_BUSY); /* 1 and 2 come first */
    die(2);
    die(1);
    assert_int_equal(group_lock_try(&locks[3]), GROUP_LOCK_OWNER_DEAD);
    assert_int_equal(group_lock_try(&locks[4]), GROUP_LOCK_BUSY);
    (void)group_lock_give(&locks[3]);
    expect_free();
}

static void trying_goes_past_those_who_gave_up(void **state)
{
    (void)state;
    hold_and_queue(2);
    assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_abandon(&locks[2]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_try(&locks[3]), GROUP_LOCK_BUSY);
    (void)group_lock_give(&locks[0]);
    assert_int_equal(group_lock_try(&locks[3]), GROUP_LOCK_HELD);
    assert_true(group_lock_record_is_free(locks[1].record));
    assert_true(group_lock_record_is_free(locks[2].record));
}

static void one_in_the_middle_gives_up(void **state)
{
    (void)state;
    hold_and_queue(4);
    assert_int_equal(group_lock_abandon(&locks[2]), GROUP_LOCK_QUEUED);
    assert_false(group_lock_record_is_free(locks[2].record));
    /* The one behind it releases the record as soon as it looks. */
    assert_false(group_lock_granted(&locks[3]));
    assert_true(group_lock_record_is_free(locks[2].record));
    pass_on(0, 1);
    assert_false(group_lock_granted(&locks[3]));
    assert_int_equal(group_lock_give(&locks[1]), 3);
    assert_true(group_lock_granted(&locks[3]));
    pass_on(3, 4);
    (void)group_lock_give(&locks[4]);
    expect_free();
}

static void all_behind_give_up(void **state)
{
    (void)state;
    hold_and_queue(3);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(group_lock_abandon(&locks[i]), GROUP_LOCK_QUEUED);
    }
    assert_int_equal(group_lock_try(&locks[4]), GROUP_LOCK_BUSY);
    (void)group_lock_give(&locks[0]);
    expect_free();
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(group_lock_record_is_free(locks[i].record));
    }
}

static void giving_up_too_late_is_having_it(void **state)
{
    (void)state;
    hold_and_queue(1);
    (void)group_lock_give(&locks[0]);
    assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_HELD);
    (void)group_lock_give(&locks[1]);
    expect_free();
}

/* The lock comes to a waiter that is just giving up: the next one gets it. */
static void give_zero(void)
{
    (void)group_lock_give(&locks[0]);
}

static void a_lock_given_to_one_who_gives_up_goes_on(void **state)
{
    (void)state;
    hold_and_queue(2);
    event.happens = give_zero;
    event.at = "lock: about to abandon";
    assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_QUEUED);
    assert_true(group_lock_granted(&locks[2]));
}

/* Another record of the same owner, in the queue behind the former one. */
static void an_owner_goes_on_with_another_record(void **state)
{
    (void)state;
    struct group_lock other = make_requester(2, 40);
    hold_and_queue(2);
    assert_int_equal(group_lock_abandon(&locks[2]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_enqueue(&other), GROUP_LOCK_QUEUED);
    assert_true(group_lock_record_is_free(locks[2].record));
    pass_on(0, 1);
    assert_int_equal(group_lock_enqueue(&locks[2]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_give(&locks[1]), 2);
    assert_false(group_lock_granted(&locks[2]));
    assert_true(group_lock_granted(&other));
    (void)group_lock_give(&other);
    assert_true(group_lock_granted(&locks[2]));
}

/* ---- Dying ---------------------------------------------------------------------- */

static void a_dead_holders_lock_falls_to_the_next(void **state)
{
    (void)state;
    hold_and_queue(3);
    die(0);
    assert_int_equal(group_lock_inherit(&locks[3]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_QUEUED);
    assert_false(group_lock_granted(&locks[1]));
    assert_int_equal(group_lock_inherit(&locks[1]), GROUP_LOCK_OWNER_DEAD);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_QUEUED);
    (void)group_lock_give(&locks[1]);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_HELD);
}

static void it_falls_past_the_dead_and_those_who_gave_up(void **state)
{
    (void)state;
    hold_and_queue(5);
    assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_QUEUED);
    die(2);
    die(0);
    assert_int_equal(group_lock_abandon(&locks[3]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_inherit(&locks[5]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_inherit(&locks[4]), GROUP_LOCK_OWNER_DEAD);
    assert_true(group_lock_record_is_free(locks[1].record));
    assert_true(group_lock_record_is_free(locks[3].record));
    pass_on(4, 5);
}

static void a_live_holder_is_reached_past_dead_waiters(void **state)
{
    (void)state;
    hold_and_queue(4);
    die(1);
    die(2);
    assert_int_equal(group_lock_inherit(&locks[3]), GROUP_LOCK_QUEUED);
    assert_false(group_lock_granted(&locks[3]));
    assert_int_equal(group_lock_give(&locks[0]), 3); /* the one to wake */
    assert_true(group_lock_granted(&locks[3]));
    die(4);
    (void)group_lock_give(&locks[3]);
    expect_free();
}

static void who_left_counts_as_gone(void **state)
{
    (void)state;
    hold_and_queue(2);
    group_life_leave(&made.views[1]);
    group_life_leave(&made.views[0]);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_OWNER_DEAD);
}

static void a_queue_of_the_dead_is_no_hindrance(void **state)
{
    (void)state;
    hold_and_queue(2);
    die(0);
    die(1);
    die(2);
    assert_int_equal(group_lock_enqueue(&locks[3]), GROUP_LOCK_OWNER_DEAD);
    assert_int_equal(group_lock_enqueue(&locks[4]), GROUP_LOCK_QUEUED);
    pass_on(3, 4);
}

/* Before the store the dead one has the lock; after it, it no longer has. */
static void a_holder_dies_while_giving(void **state)
{
    (void)state;
    hold_and_queue(2);
    UP_TO("lock: held, about to give", group_lock_give(&locks[0]));
    die(0);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_inherit(&locks[1]), GROUP_LOCK_OWNER_DEAD);
    UP_TO("lock: given, nobody woken", group_lock_give(&locks[1]));
    die(1);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_HELD);
    (void)group_lock_give(&locks[2]);
    expect_free();
}

static void a_requester_dies_while_queueing(void **state)
{
    (void)state;
    hold_and_queue(0);
    UP_TO("lock: own record written, not in the queue", group_lock_enqueue(&locks[1]));
    assert_int_equal(group_lock_enqueue(&locks[2]), GROUP_LOCK_QUEUED);
    UP_TO("lock: in the queue or not, nobody told", group_lock_enqueue(&locks[3]));
    assert_int_equal(group_lock_enqueue(&locks[4]), GROUP_LOCK_QUEUED);
    die(1);
    die(3);
    pass_on(0, 2);
    assert_int_equal(group_lock_inherit(&locks[4]), GROUP_LOCK_QUEUED);
    (void)group_lock_give(&locks[2]);
    assert_int_equal(group_lock_inherit(&locks[4]), GROUP_LOCK_HELD);
    (void)group_lock_give(&locks[4]);
    expect_free();
}

static void a_taker_dies_around_the_free_lock(void **state)
{
    (void)state;
    UP_TO("lock: own record written, not in the queue", take_free(&locks[1]));
    die(1);
    expect_free();
    assert_true(take_free(&locks[2]));
    assert_int_equal(group_lock_give(&locks[2]), GROUP_LOCK_NOBODY);
    UP_TO("lock: in the queue or not, nobody told", group_lock_take_again(&locks[2]));
    assert_int_equal(group_lock_enqueue(&locks[3]), GROUP_LOCK_QUEUED);
    die(2);
    assert_int_equal(group_lock_inherit(&locks[3]), GROUP_LOCK_OWNER_DEAD);
}

static void an_heir_dies_around_inheriting(void **state)
{
    (void)state;
    hold_and_queue(4);
    die(0);
    UP_TO("lock: inherited", group_lock_inherit(&locks[1]));
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_QUEUED);
    die(1);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_OWNER_DEAD);
    (void)group_lock_give(&locks[2]);
    UP_TO("lock: taken", group_lock_granted(&locks[3]));
    die(3);
    assert_int_equal(group_lock_inherit(&locks[4]), GROUP_LOCK_OWNER_DEAD);
}

/* A waiter dies while it goes past another, with its own link changed, before or after the record
 * that it went past is used again. */
static void a_waiter_dies_while_going_past(void **state)
{
    (void)state;
    static const char *const points[] = {"lock: link taken over", "lock: record let go"};
    for (int i = 0; i < 2; i++) {
        hold_and_queue(3);
        assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_QUEUED);
        UP_TO(points[i], group_lock_granted(&locks[2]));
        if (i == 1) {
            assert_true(group_lock_record_is_free(locks[1].record));
            assert_int_equal(group_lock_enqueue(&locks[1]), GROUP_LOCK_QUEUED);
        }
        die(2);
        assert_int_equal(group_lock_inherit(&locks[3]), GROUP_LOCK_QUEUED);
        pass_on(0, 3);
        free_group(state);
        make_group(state);
    }
}

/* The holder dies, the last in the queue looks, and only then the one between gives up: the last
 * one now stands behind a death that it will not hear of again. */
static void giving_up_under_a_dead_holder_makes_the_next_look(void **state)
{
    (void)state;
    hold_and_queue(2);
    die(0);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_QUEUED);
    assert_false(locks[2].went_past);
    assert_int_equal(group_lock_abandon(&locks[1]), GROUP_LOCK_QUEUED);
    assert_false(group_lock_granted(&locks[2]));
    assert_true(locks[2].went_past);
    assert_int_equal(group_lock_inherit(&locks[2]), GROUP_LOCK_OWNER_DEAD);
    /* If somebody alive is there, one look is enough. */
    assert_int_equal(group_lock_enqueue(&locks[3]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_enqueue(&locks[4]), GROUP_LOCK_QUEUED);
    assert_int_equal(group_lock_abandon(&locks[3]), GROUP_LOCK_QUEUED);
    assert_false(group_lock_granted(&locks[4]));
    assert_true(locks[4].went_past);
    assert_int_equal(group_lock_inherit(&locks[4]), GROUP_LOCK_QUEUED);
    assert_false(locks[4].went_past);
}

/* Programs can write the word: nonsense in it counts as a free lock, never as an address. */
static void a_word_written_over_holds_nobody_up(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {0,
                                     1,
                                     UINT64_MAX,
                                     UINT64_C(0xfff) << 52 | 1,
                                     UINT64_C(1) << 52,
                                     0x123456789abcdef,
                                     UINT64_C(0xfffff) << 32 | 1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(group_lock_try(&locks[0]), GROUP_LOCK_HELD);
        assert_int_equal(group_lock_enqueue(&locks[1]), GROUP_LOCK_QUEUED);
        atomic_store(word, wrong[i]);
        (void)group_lock_give(&locks[0]);
        assert_true(group_lock_granted(&locks[1]));
        assert_int_equal(group_lock_try(&locks[2]), GROUP_LOCK_HELD);
        (void)group_lock_give(&locks[1]);
        (void)group_lock_give(&locks[2]);
        atomic_store(word, wrong[i]);
        assert_int_equal(group_lock_enqueue(&locks[3]), GROUP_LOCK_HELD);
        (void)group_lock_give(&locks[3]);
    }
}

/* ---- Threads ---------------------------------------------------------------------- */

struct crowd {
    uint32_t rounds;
    uint64_t counter; /* plain: only the lock guards it */
    uint32_t owner;   /* likewise */
};

static void take_patiently(struct group_lock *lock)
{
    if (!group_lock_take_again(lock) && group_lock_enqueue(lock) == GROUP_LOCK_QUEUED) {
        while (!group_lock_granted(lock)) {
            sched_yield();
        }
    }
}

static void crowd_run(uint32_t number, void *context)
{
    struct crowd *crowd = context;
    struct group_lock lock = make_requester(number % NODES, 100 + number);
    for (uint32_t round = 0; round < crowd->rounds; round++) {
        take_patiently(&lock);
        crowd->owner = number;
        crowd->counter++;
        if (round % 32 == number) {
            sched_yield();
        }
        unit_expect(crowd->owner == number);
        (void)group_lock_give(&lock);
    }
}

static void one_at_a_time(void **state)
{
    (void)state;
    for (uint32_t threads = 2; threads <= 16; threads *= 2) {
        struct crowd crowd = {.rounds = 8000 / threads};
        unit_run_threads(threads, crowd_run, &crowd);
        assert_int_equal(crowd.counter, crowd.rounds * threads);
        expect_free();
    }
}

/* Some wait with little patience, and go on with another record. */
static void impatient_run(uint32_t number, void *context)
{
    struct crowd *crowd = context;
    struct group_lock requesters[8];
    for (uint32_t i = 0; i < 8; i++) {
        requesters[i] = make_requester(number, 200 + i);
    }
    uint32_t at = 0;
    for (uint32_t round = 0; round < crowd->rounds; round++) {
        while (!group_lock_record_is_free(requesters[at].record)) {
            at = (at + 1) % 8;
            sched_yield();
        }
        struct group_lock *lock = &requesters[at];
        enum group_lock_outcome outcome = round % 3 ? group_lock_enqueue(lock)
                                                    : group_lock_try(lock);
        for (uint32_t poll = 0; outcome == GROUP_LOCK_QUEUED && !group_lock_granted(lock); poll++) {
            sched_yield();
            if (poll > round % 4 && group_lock_abandon(lock) == GROUP_LOCK_QUEUED) {
                outcome = GROUP_LOCK_BUSY;
            }
        }
        if (outcome != GROUP_LOCK_BUSY) {
            crowd->owner = number;
            crowd->counter++;
            if (round % 5 == 0) {
                sched_yield();
            }
            unit_expect(crowd->owner == number);
            (void)group_lock_give(lock);
        }
    }
}

static void giving_up_never_lets_two_in(void **state)
{
    (void)state;
    struct crowd crowd = {.rounds = 4000};
    unit_run_threads(NODES, impatient_run, &crowd);
    expect_free();
}

/* ---- Words that others wrote over ------------------------------------------------ */

static uint64_t ticket_of(uint32_t rank, uint32_t index, uint32_t sequence)
{
    return (uint64_t)rank << RANK_SHIFT | (uint64_t)index << INDEX_SHIFT | sequence;
}

/* Gives a record this state and link, and the ticket that names it. */
static uint64_t forge(uint32_t rank, uint32_t index, uint32_t state, uint64_t prev)
{
    struct group_lock_record *record = group_lock_record(&made.views[0], rank, index);
    atomic_store(&record->state, UINT64_C(7) << 32 | state);
    atomic_store(&record->prev, prev);
    return ticket_of(rank, index, 7);
}

/* The test ends, one way or the other: a loop would not. */
static void links_in_a_circle_hold_nobody_up(void **state)
{
    (void)state;
    static const uint32_t states[] = {GROUP_LOCK_WAIT, GROUP_LOCK_ABANDONED};
    (void)alarm(20);
    die(4);
    die(5);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        for (uint32_t length = 1; length <= 40; length++) {
            /* 4 -> 5 -> 4 -> ... and back to the first. */
            uint64_t first = ticket_of(4, 10, 7);
            for (uint32_t n = 0; n < length; n++) {
                bool is_last = n + 1 == length;
                (void)forge(4 + n % 2, 10 + n, states[i],
                            is_last ? first : ticket_of(4 + (n + 1) % 2, 11 + n, 7));
            }
            atomic_store(word, first);
            assert_int_equal(group_lock_try(&locks[0]), GROUP_LOCK_BUSY);
            enum group_lock_outcome outcome = group_lock_enqueue(&locks[0]);
            assert_true(outcome == GROUP_LOCK_OWNER_DEAD || outcome == GROUP_LOCK_HELD);
            assert_int_equal(group_lock_give(&locks[0]), GROUP_LOCK_NOBODY);
        }
    }
    (void)alarm(0);
}

static void a_state_that_is_none_holds_nobody_up(void **state)
{
    (void)state;
    static const uint32_t states[] = {GROUP_LOCK_REMOVED, 5, 77, UINT32_MAX};
    (void)alarm(20);
    die(5);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        uint64_t prevs[] = {0, UINT64_MAX, ticket_of(NODES, 0, 1), ticket_of(4095, 65535, 9)};
        for (size_t j = 0; j < sizeof prevs / sizeof prevs[0]; j++) {
            atomic_store(word, forge(5, 9, states[i], prevs[j]));
            assert_int_equal(group_lock_try(&locks[1]), GROUP_LOCK_BUSY);
            assert_int_equal(group_lock_enqueue(&locks[1]), GROUP_LOCK_OWNER_DEAD);
            assert_int_equal(group_lock_give(&locks[1]), GROUP_LOCK_NOBODY);
        }
    }
    (void)alarm(0);
}

/* Its links lead to ranks and records that are none. */
static void a_link_that_is_none_is_not_followed(void **state)
{
    (void)state;
    static const uint64_t links[] = {UINT64_MAX, UINT64_C(1) << 63, UINT64_C(6) << RANK_SHIFT | 1,
                                     UINT64_C(0xfffff) << INDEX_SHIFT | 1};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        hold_and_queue(1);
        atomic_store(&locks[1].record->prev, links[i]);
        group_lock_tell(&locks[1]);
        assert_int_equal(group_lock_inherit(&locks[1]), GROUP_LOCK_HELD);
        assert_int_equal(group_lock_give(&locks[1]), GROUP_LOCK_NOBODY);
        /* Whom to wake is the same kind of word. */
        atomic_store(&locks[0].record->next, links[i]);
        uint32_t rank = group_lock_give(&locks[0]);
        assert_true(rank == GROUP_LOCK_NOBODY || rank < NODES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_group, free_group)
        TEST(a_free_lock_is_taken_and_given),
        TEST(who_gave_it_takes_it_again),
        TEST(waiters_get_it_in_their_order),
        TEST(who_gives_can_queue_again),
        TEST(a_use_that_is_over_counts_as_given),
        TEST(sequences_go_on_and_skip_zero),
        TEST(trying_does_not_queue),
        TEST(trying_takes_it_from_the_dead),
        TEST(trying_goes_past_those_who_gave_up),
        TEST(one_in_the_middle_gives_up),
        TEST(all_behind_give_up),
        TEST(giving_up_too_late_is_having_it),
        TEST(a_lock_given_to_one_who_gives_up_goes_on),
        TEST(an_owner_goes_on_with_another_record),
        TEST(a_dead_holders_lock_falls_to_the_next),
        TEST(it_falls_past_the_dead_and_those_who_gave_up),
        TEST(a_live_holder_is_reached_past_dead_waiters),
        TEST(who_left_counts_as_gone),
        TEST(a_queue_of_the_dead_is_no_hindrance),
        TEST(a_holder_dies_while_giving),
        TEST(a_requester_dies_while_queueing),
        TEST(a_taker_dies_around_the_free_lock),
        TEST(an_heir_dies_around_inheriting),
        TEST(a_waiter_dies_while_going_past),
        TEST(giving_up_under_a_dead_holder_makes_the_next_look),
        TEST(a_word_written_over_holds_nobody_up),
        TEST(links_in_a_circle_hold_nobody_up),
        TEST(a_state_that_is_none_holds_nobody_up),
        TEST(a_link_that_is_none_is_not_followed),
        TEST(one_at_a_time),
        TEST(giving_up_never_lets_two_in),
    };
    return cmocka_run_group_tests_name("nic/lock", tests, NULL, NULL);
}
