/* SET_LOCK, CLEAR_LOCK, TEST_LOCK. Fortran's lock is a default INTEGER of 32 bits; the C library's
 * is a long, which would be off its place or change the next variable.
 *
 * The lock is PE 0's word, in which tickets are drawn: the lower half is the next ticket, the upper
 * half the ticket that may enter. So PEs get it in the order in which they came. Both halves go
 * round, and there are fewer PEs than tickets.
 *
 * The word does not say who holds the lock. So a PE that waits when another one has died cannot
 * know whether its turn will ever come, and ends the job, also where the program goes on after
 * deaths.
 *
 * A list of the locks that this PE has ever held finds those who would wait for themselves, and
 * those who give what they do not have. */
#include "shmem/fortran/fortran.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shmem/above.h"

enum { HOME = 0, HALF_BITS = 16 };

#define HALF UINT32_C(0xffff)

/* ---- The locks of this PE ---------------------------------------------------------------- */

struct known {
    uint32_t *lock;
    bool held;
    struct known *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *list;

/* With the list's lock held; NULL: it is not known. */
static struct known *find(const uint32_t *lock)
{
    struct known *known = list;
    while (known && known->lock != lock) {
        known = known->next;
    }
    return known;
}

static bool is_held(const uint32_t *lock)
{
    pthread_mutex_lock(&list_lock);
    const struct known *known = find(lock);
    bool held = known && known->held;
    pthread_mutex_unlock(&list_lock);
    return held;
}

static void note(uint32_t *lock, bool held)
{
    pthread_mutex_lock(&list_lock);
    struct known *known = find(lock);
    if (!known) {
        known = malloc(sizeof *known);
        if (!known) {
            fortran_fail("SHMEM_SET_LOCK", "no memory is left for the list of locks");
        }
        *known = (struct known){lock, held, list};
        list = known;
    }
    known->held = held;
    pthread_mutex_unlock(&list_lock);
}

void fortran_locks_end(void)
{
    pthread_mutex_lock(&list_lock);
    while (list) {
        struct known *gone = list;
        list = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&list_lock);
}

/* Another thread of this PE may hold what this one waits for. */
static bool has_threads(void)
{
    int level;
    shmem_query_thread(&level);
    return level == SHMEM_THREAD_MULTIPLE;
}

/* ---- The word ------------------------------------------------------------------------------ */

static uint32_t next_of(uint32_t word)
{
    return word & HALF;
}

static uint32_t served_of(uint32_t word)
{
    return word >> HALF_BITS;
}

/* An addition would carry from the lower half into the upper one. */
static uint32_t with_next_drawn(uint32_t word)
{
    return (word & ~HALF) | ((word + 1) & HALF);
}

/* Somebody else has the lock, as it seems: the word does not say who. */
static void look_for_deaths(const uint32_t *lock, const char *call)
{
    int dead = inner_shmem_dead_pe();
    if (dead >= 0) {
        fortran_fail(call, "PE %d has died, perhaps with the lock at %p", dead, (const void *)lock);
    }
}

/* Lets others run before the word is read again. PE 0 sleeps until it has changed, or a PE has
 * died. */
static void pause_for(uint32_t *lock, uint32_t word)
{
    look_for_deaths(lock, "SHMEM_SET_LOCK");
    if (shmem_my_pe() == HOME) {
        shmem_uint32_wait_until(lock, SHMEM_CMP_NE, word);
    } else {
        (void)sched_yield();
    }
}

static void enter(uint32_t *lock, const char *call)
{
    /* What is read there has ones in all bits then, and looks as if the lock were free. */
    if (!shmem_pe_accessible(HOME)) {
        fortran_fail(call, "PE %d has died, where all locks lie", HOME);
    }
    /* What comes after it is not read before the lock is held. */
    atomic_thread_fence(memory_order_seq_cst);
    note(lock, true);
}

static void set_lock(uint32_t *lock)
{
    uint32_t word = shmem_uint32_atomic_fetch(lock, HOME);
    uint32_t seen;
    if (is_held(lock) && !has_threads()) {
        fortran_fail("SHMEM_SET_LOCK", "this PE holds the lock at %p already", (void *)lock);
    }
    while ((seen = shmem_uint32_atomic_compare_swap(lock, word, with_next_drawn(word), HOME)) !=
           word) {
        word = seen;
    }
    uint32_t ticket = next_of(word);
    while (served_of(word) != ticket) {
        pause_for(lock, word);
        word = shmem_uint32_atomic_fetch(lock, HOME);
    }
    enter(lock, "SHMEM_SET_LOCK");
}

static int test_lock(uint32_t *lock)
{
    uint32_t word = shmem_uint32_atomic_fetch(lock, HOME);
    if (served_of(word) != next_of(word) ||
        shmem_uint32_atomic_compare_swap(lock, word, with_next_drawn(word), HOME) != word) {
        look_for_deaths(lock, "SHMEM_TEST_LOCK");
        /* Programs try in a loop, and a test of an own word lets others run. */
        if (shmem_my_pe() == HOME) {
            (void)shmem_uint32_test(lock, SHMEM_CMP_NE, word);
        }
        return 1;
    }
    enter(lock, "SHMEM_TEST_LOCK");
    return 0;
}

/* After all that was sent while it was held. A PE that computes afterwards must not keep the next
 * holder waiting. */
static void let_next_enter(uint32_t *lock)
{
    shmem_quiet();
    shmem_uint32_atomic_add(lock, UINT32_C(1) << HALF_BITS, HOME);
    shmem_quiet();
}

static void clear_lock(uint32_t *lock)
{
    if (!is_held(lock)) {
        fortran_fail("SHMEM_CLEAR_LOCK", "this PE does not hold the lock at %p", (void *)lock);
    }
    note(lock, false);
    let_next_enter(lock);
}

void fortran_locks_give(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct known *known = list; known; known = known->next) {
        if (known->held) {
            known->held = false;
            let_next_enter(known->lock);
        }
    }
    pthread_mutex_unlock(&list_lock);
}

FORTRAN_DEFINE(void, shmem_set_lock, (uint32_t * lock), set_lock(lock))
FORTRAN_DEFINE(void, shmem_clear_lock, (uint32_t * lock), clear_lock(lock))
FORTRAN_DEFINE(int, shmem_test_lock, (uint32_t * lock), return test_lock(lock))
