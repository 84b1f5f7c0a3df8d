/* What each thread has of its own: a lane, the transfers it has begun, the deaths it knows. */
#include <stdlib.h>
#include <string.h>

#include "fagus/state.h"

enum { FETCHES = 64 }; /* under way at a time; the next one waits for the oldest */

struct thread {
    uint64_t generation; /* that `lane` belongs to */
    struct dn_node *lane;
    struct dn_op fetches[FETCHES]; /* of them [first, last), modulo FETCHES, are under way */
    uint32_t first;
    uint32_t last;
    int fetch_error; /* the first one since fagus_fetch_wait */
    uint32_t known_deaths;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* A copy of what the key holds, without the call. */
static _Thread_local struct thread *current;

static void close_lane(struct thread *thread)
{
    if (thread->generation == fagus_state.generation && thread->lane != fagus_state.node) {
        (void)dn_lane_close(thread->lane);
    }
}

static void end_thread(void *argument)
{
    struct thread *thread = argument;
    close_lane(thread);
    current = NULL;
    free(thread);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

/* NULL: no memory. Its lane may be one of before. */
static struct thread *find_thread(void)
{
    if (LIKELY(current != NULL)) {
        return current;
    }
    (void)pthread_once(&once, make_key);
    struct thread *made = has_key ? calloc(1, sizeof *made) : NULL;
    if (made && pthread_setspecific(key, made) != 0) {
        free(made);
        made = NULL;
    }
    current = made;
    return made;
}

static void take_lane(struct thread *thread, struct dn_node *lane)
{
    thread->lane = lane;
    thread->first = 0;
    thread->last = 0;
    thread->fetch_error = 0;
    thread->known_deaths = 0;
    thread->generation = fagus_state.generation;
}

/* Without memory for one of its own a thread sends on the node's: nothing that the library
 * promises needs more order than that. */
static __attribute__((noinline, cold)) struct thread *open_thread(void)
{
    struct thread *thread = fagus_state.node ? find_thread() : NULL;
    struct dn_node *lane;
    if (thread && thread->generation != fagus_state.generation) {
        take_lane(thread, dn_lane_open(fagus_state.node, &lane) == 0 ? lane : fagus_state.node);
    }
    return thread;
}

static inline struct thread *this_thread(void)
{
    struct thread *thread = current;
    return LIKELY(thread != NULL && thread->generation == fagus_state.generation) ? thread
                                                                                  : open_thread();
}

int fagus_lanes_open(void)
{
    struct thread *thread = find_thread();
    if (!thread) {
        return FAGUS_ENOMEM;
    }
    take_lane(thread, fagus_state.node);
    return 0;
}

struct dn_node *fagus_lane(void)
{
    struct thread *thread = this_thread();
    return LIKELY(thread != NULL) ? thread->lane : fagus_state.node;
}

/* ---- Fetching --------------------------------------------------------------------------- */

static void finish_oldest(struct thread *thread)
{
    int error = dn_op_wait(&thread->fetches[thread->first++ % FETCHES], DN_FOREVER);
    if (error && !thread->fetch_error) {
        thread->fetch_error = fagus_error_of(error);
    }
}

static int fetch_by_transfer(int rank, uint64_t offset, void *into, size_t bytes)
{
    struct thread *thread = this_thread();
    if (!thread) {
        return FAGUS_ENOMEM;
    }
    if (thread->last - thread->first == FETCHES) {
        finish_oldest(thread);
    }
    int error = dn_pull(thread->lane, fagus_remote_at(rank, offset), into, bytes,
                        &thread->fetches[thread->last % FETCHES]);
    if (!error) {
        thread->last++;
    }
    return fagus_error_of(error);
}

int fagus_fetch_begin(int rank, uint64_t offset, void *into, size_t bytes)
{
    /* Rank, place and length are often what another node has told. */
    if (UNLIKELY((unsigned)rank >= (unsigned)fagus_state.size || bytes > fagus_state.bytes ||
                 offset > fagus_state.bytes - bytes)) {
        return FAGUS_EPEER;
    }
    const void *from = fagus_reach(rank, offset);
    if (LIKELY(from != NULL)) {
        memcpy(into, from, bytes);
        return 0;
    }
    return fetch_by_transfer(rank, offset, into, bytes);
}

int fagus_fetch_wait(void)
{
    struct thread *thread = current;
    if (!thread || thread->generation != fagus_state.generation) {
        return 0; /* nothing was begun */
    }
    while (thread->first != thread->last) {
        finish_oldest(thread);
    }
    int error = thread->fetch_error;
    thread->fetch_error = 0;
    return error;
}

int fagus_fetch(int rank, uint64_t offset, void *into, size_t bytes)
{
    int error = fagus_fetch_begin(rank, offset, into, bytes);
    int failed = fagus_fetch_wait();
    return error ? error : failed;
}

/* ---- Deaths --------------------------------------------------------------------------------- */

int fagus_death_news(void)
{
    struct thread *thread = this_thread();
    bool are_news = thread && inner_deaths_are_news(fagus_state.node, &thread->known_deaths);
    return are_news || inner_peers_all_gone(fagus_state.node) ? FAGUS_EPEER : 0;
}
