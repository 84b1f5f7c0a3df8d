/* SHMEM_DEBUG: what a collective call is looked at for before it begins. */
#include <stdlib.h>
#include <string.h>

#include "shmem/collective.h"

/* How long PEs that do not come are waited for in silence. */
#define PATIENCE_NS UINT64_C(5000000000)

enum { CALL_BYTES = 48 };

/* What every PE tells the others about its call. */
struct told {
    char call[CALL_BYTES];
    uint64_t number;
    int64_t root;
};

static void require_symmetric(const struct shmem_collective *collective, const char *what,
                              const void *address, size_t bytes)
{
    struct dn_remote remote;
    if (bytes != 0 && !shmem_remote_of(address, bytes, shmem_state.my_pe, &remote)) {
        shmem_fail(collective->call,
                   "%s %p with its %zu bytes is not symmetric memory; take it from shmem_malloc "
                   "or make it static",
                   what, address, bytes);
    }
}

static void require_apart(const struct shmem_collective *collective)
{
    uintptr_t dest = (uintptr_t)collective->dest;
    uintptr_t source = (uintptr_t)collective->source;
    bool same = collective->in_place && dest == source;
    if (!same && dest < source + collective->source_bytes &&
        source < dest + collective->dest_bytes) {
        shmem_fail(collective->call, "dest %p and source %p overlap", collective->dest,
                   collective->source);
    }
}

/* Makes the name that another PE told one that can be compared and printed. */
static void make_printable(char name[CALL_BYTES])
{
    name[CALL_BYTES - 1] = '\0';
    for (size_t i = 0; name[i]; i++) {
        name[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    }
}

static void say_who_is_missing(const struct shmem_team *team, const char *call)
{
    for (int i = 0; i < team->n_pes; i++) {
        if (!inner_team_has_arrived(team->dn, i)) {
            shmem_say(call,
                      "waiting for PE %d, which has not made the call; every PE of the team must",
                      team->pes[i]);
        }
    }
}

/* All PEs of the team make some collective call on it. False: one has died. */
static bool wait_for_all(const struct shmem_team *team, const char *call)
{
    int error = dn_barrier_arrive(team->dn);
    error = error ? error : dn_barrier_wait(team->dn, PATIENCE_NS);
    if (error == DN_ETIMEOUT) {
        say_who_is_missing(team, call);
        error = dn_barrier_wait(team->dn, DN_FOREVER);
    }
    return shmem_collective_end(team, call, error) == 0;
}

/* They all make the same one. */
static void require_same(const struct shmem_team *team, const struct shmem_collective *collective)
{
    struct told mine = {.number = collective->number, .root = collective->root};
    struct told *all = malloc((size_t)team->n_pes * sizeof *all);
    if (!all) {
        shmem_fail(collective->call, "no memory to compare the calls of %d PEs", team->n_pes);
    }
    strncpy(mine.call, collective->call, sizeof mine.call - 1);
    int error = dn_allgather(team->dn, &mine, all, sizeof mine);
    bool are_told = shmem_collective_end(team, collective->call, error) == 0;
    for (int i = 0; i < team->n_pes && are_told; i++) {
        make_printable(all[i].call);
        if (strcmp(all[i].call, mine.call) != 0) {
            shmem_fail(collective->call, "PE %d has called %s instead", team->pes[i], all[i].call);
        }
        if (all[i].number != mine.number || all[i].root != mine.root) {
            shmem_fail(collective->call,
                       "PE %d gave other numbers (elements, root or triple) to the same call",
                       team->pes[i]);
        }
    }
    free(all);
}

void shmem_collective_check(const struct shmem_team *team,
                            const struct shmem_collective *collective)
{
    require_symmetric(collective, "dest", collective->dest, collective->dest_bytes);
    require_symmetric(collective, "source", collective->source, collective->source_bytes);
    require_apart(collective);
    if (wait_for_all(team, collective->call)) {
        require_same(team, collective);
    }
}
