/* Active sets, deprecated: (PE_start, logPE_stride, PE_size) names a team that is made when
 * its members first make a call on it, and kept.
 *
 * The triple is what the members meet under, so they find each other in whatever order each
 * of them comes to use its sets. */
#include <stdlib.h>

#include "shmem/collective.h"

struct active_set {
    int start;
    int log_stride;
    int size;
    pthread_mutex_t making;
    _Atomic bool is_made; /* the team may be used */
    struct shmem_team team;
    struct active_set *next;
};

/* Sets are added in front and stay until the end, so that looking needs no lock. */
static struct active_set *_Atomic sets;
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER; /* held to add one */

static struct active_set *find(int start, int log_stride, int size)
{
    /* Acquire pairs with the release that adds a set. */
    struct active_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    while (set && (set->start != start || set->log_stride != log_stride || set->size != size)) {
        set = set->next;
    }
    return set;
}

static void check_triple(int start, int log_stride, int size, const char *call)
{
    shmem_require_initialised(call);
    bool makes_sense = start >= 0 && size >= 1 && log_stride >= 0 && log_stride < 31 &&
                       start + ((size - 1L) << log_stride) < shmem_state.n_pes;
    if (!makes_sense) {
        shmem_fail(call, "PE_start %d, logPE_stride %d, PE_size %d is no set of PEs among %d",
                   start, log_stride, size, shmem_state.n_pes);
    }
}

static bool is_member(int start, int log_stride, int size)
{
    long distance = (long)shmem_state.my_pe - start;
    return distance >= 0 && distance % (1L << log_stride) == 0 && distance >> log_stride < size;
}

/* Programs for other libraries rely on it that such a call does nothing. */
static void pass_over(int start, int log_stride, int size, const char *call)
{
    if (shmem_state.debug) {
        shmem_say(call,
                  "this PE is not in the active set (PE_start %d, logPE_stride %d, PE_size %d) and "
                  "takes no part in the call",
                  start, log_stride, size);
    }
}

static struct active_set *add(int start, int log_stride, int size, const char *call)
{
    pthread_mutex_lock(&sets_lock);
    struct active_set *set = find(start, log_stride, size);
    if (!set) {
        set = calloc(1, sizeof *set);
        int *pes = malloc((size_t)size * sizeof *pes);
        if (!set || !pes) {
            shmem_fail(call, "no memory for an active set of %d PEs", size);
        }
        for (int i = 0; i < size; i++) {
            pes[i] = start + (i << log_stride);
        }
        *set = (struct active_set){.start = start, .log_stride = log_stride, .size = size};
        set->team = (struct shmem_team){
            .my_pe = (shmem_state.my_pe - start) >> log_stride, .n_pes = size, .pes = pes};
        pthread_mutex_init(&set->making, NULL);
        set->next = atomic_load_explicit(&sets, memory_order_relaxed);
        atomic_store_explicit(&sets, set, memory_order_release);
    }
    pthread_mutex_unlock(&sets_lock);
    return set;
}

/* The members meet. Only threads that want the same set wait here for each other. False: a member
 * has died. */
static bool make(struct active_set *set, const char *call)
{
    pthread_mutex_lock(&set->making);
    if (!atomic_load_explicit(&set->is_made, memory_order_relaxed)) {
        uint64_t name = UINT64_C(1) << 63 | shmem_state.epoch << 32 |
                        (uint64_t)(uint32_t)set->log_stride;
        int error = inner_team_create_named(shmem_state.node, set->team.pes, (size_t)set->size,
                                            name, &set->team.dn);
        bool is_made = shmem_collective_end(&set->team, call, error) == 0;
        atomic_store_explicit(&set->is_made, is_made, memory_order_release);
    }
    bool is_made = atomic_load_explicit(&set->is_made, memory_order_relaxed);
    pthread_mutex_unlock(&set->making);
    return is_made;
}

static __attribute__((noinline, cold)) struct shmem_team *make_active_set(int start, int log_stride,
                                                                          int size,
                                                                          const char *call)
{
    check_triple(start, log_stride, size, call);
    if (!is_member(start, log_stride, size)) {
        pass_over(start, log_stride, size, call);
        return NULL;
    }
    struct active_set *set = add(start, log_stride, size, call);
    return make(set, call) ? &set->team : NULL;
}

struct shmem_team *shmem_active_set(int start, int log_stride, int size, const long *sync,
                                    const char *call)
{
    struct dn_remote remote;
    if (UNLIKELY(shmem_state.debug) &&
        !shmem_remote_of(sync, sizeof *sync, shmem_state.my_pe, &remote)) {
        shmem_fail(call, "pSync %p is not symmetric memory", (const void *)sync);
    }
    struct active_set *set = find(start, log_stride, size);
    if (LIKELY(set && atomic_load_explicit(&set->is_made, memory_order_acquire))) {
        return &set->team;
    }
    return make_active_set(start, log_stride, size, call);
}

void shmem_active_sets_end(void)
{
    struct active_set *set = atomic_exchange(&sets, NULL);
    while (set) {
        struct active_set *next = set->next;
        if (atomic_load_explicit(&set->is_made, memory_order_relaxed)) {
            (void)inner_team_free_unused(set->team.dn);
        }
        free(set->team.pes);
        pthread_mutex_destroy(&set->making);
        free(set);
        set = next;
    }
}
