/* Going on after deaths, an extension (shmemx.h).
 *
 * Ordinarily a call that needs a PE which has died ends the job. With SHMEMX_CONTINUE it returns,
 * and the thread can ask whose death it was. The mode costs nothing until it is set. Then calls
 * that read go the checked way: one that writes sees by the target's call word that it is gone, and
 * one that only reads would go on reading what is left there. */
#include "shmem/failure.h"

#include <string.h>

#include "shmem/above.h"
#include "shmem/collective.h"
#include "shmemx.h"

/* Whose death made a call of this thread fail. */
static _Thread_local int failed_pe = SHMEM_NOBODY;

bool shmem_is_dead(int pe)
{
    enum dn_life life;
    return dn_peer_life(shmem_state.node, pe, &life) == 0 && life == DN_DEAD;
}

/* The first of so many PEs that has died, in their order; SHMEM_NOBODY: none. */
static int first_dead(const int *pes, int count)
{
    for (int i = 0; i < count; i++) {
        if (shmem_is_dead(pes[i])) {
            return pes[i];
        }
    }
    return SHMEM_NOBODY;
}

int shmem_dead_member(const struct shmem_team *team)
{
    return first_dead(team->pes, team->n_pes);
}

int inner_shmem_dead_pe(void)
{
    return shmem_dead_member(&shmem_state.world);
}

static bool has_lost_a_member(void *team)
{
    return shmem_dead_member(team) != SHMEM_NOBODY;
}

/* The news takes a fraction of a second from host to host, unless what brings it is stopped. */
bool shmem_await_death(const struct shmem_team *team)
{
    enum { PATIENCE_S = 10 };
    struct inner_condition condition = {.holds = has_lost_a_member,
                                        .context = (void *)(uintptr_t)team};
    return inner_wait(shmem_state.node, &condition, PATIENCE_S * UINT64_C(1000000000)) == 0;
}

/* Whose death explains an error of a call that needed `pe`: its own; else the first one that is
 * news here, or of which all is known. There is no team of all yet while the library begins
 * again. */
static int explain(int pe)
{
    if (pe != SHMEM_NOBODY) {
        return shmem_is_dead(pe) ? pe : SHMEM_NOBODY;
    }
    int dead = inner_unacknowledged(shmem_state.node);
    for (pe = 0; dead < 0 && pe < shmem_state.n_pes; pe++) {
        dead = shmem_is_dead(pe) ? pe : SHMEM_NOBODY;
    }
    return dead >= 0 ? dead : SHMEM_NOBODY;
}

static _Noreturn void end_job(const char *call, int error, int dead)
{
    switch (error) {
    case DN_EPEER:
        if (dead != SHMEM_NOBODY) {
            shmem_fail(call, "PE %d has died, and the others cannot go on without it", dead);
        }
        shmem_fail(call, "a PE that is needed has finished already: shmem_finalize is for all "
                         "PEs, after their last communication");
    case DN_EMISMATCH:
        shmem_fail(call, "the PEs made different calls: all of them call it in the same order "
                         "and with the same sizes");
    case DN_EOWNERDEAD: shmem_fail(call, "the PE that held the lock has died");
    default: shmem_fail(call, "%s", dn_strerror(error));
    }
}

void shmem_on_error(const char *call, int error, int pe)
{
    bool is_death = error == DN_EPEER || error == DN_EOWNERDEAD;
    int dead = is_death ? explain(pe) : SHMEM_NOBODY;
    if (!shmem_state.goes_on || dead == SHMEM_NOBODY) {
        end_job(call, error, dead);
    }
    failed_pe = dead;
}

void shmem_poison(void *place, size_t bytes)
{
    if (bytes > 0) {
        memset(place, 0xff, bytes);
    }
}

/* ---- The functions --------------------------------------------------------------------- */

int shmemx_failure_mode(int mode)
{
    shmem_require_initialised("shmemx_failure_mode");
    if (mode != SHMEMX_END && mode != SHMEMX_CONTINUE) {
        return -1;
    }
    bool goes_on = mode == SHMEMX_CONTINUE;
    bool did = atomic_exchange(&shmem_state.goes_on, goes_on);
    if (goes_on && !did) {
        inner_go_on(shmem_state.node);
    }
    shmem_contexts_read_in_place(!goes_on);
    return did ? SHMEMX_CONTINUE : SHMEMX_END;
}

int shmemx_failed_pe(void)
{
    int pe = failed_pe;
    failed_pe = SHMEM_NOBODY;
    return pe;
}

int shmemx_failure_ack(int *pes, int capacity)
{
    static const char call[] = "shmemx_failure_ack";
    size_t count = 0;
    shmem_require_initialised(call);
    shmem_require(call, dn_failure_ack(shmem_state.node, pes,
                                       pes && capacity > 0 ? (size_t)capacity : 0, &count));
    return (int)count;
}
