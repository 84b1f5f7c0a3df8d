/* What the OpenSHMEM calls of a process share: who this PE is, where the symmetric memory lies
 * here and at every other PE, the default context and the predefined teams.
 *
 * The ordinary case of a call is inline (src/shmem/reach.h). It needs only one context of all this:
 * in_place_count is the number of PEs that it can address by pointers, and 0 whenever anything
 * else has to be looked at first (not initialised, DN_RELAX, SHMEM_DEBUG, calls that are recorded,
 * PEs that only packets reach). The functions of checked.h do everything else: they check all
 * arguments and use the dn_ calls.
 *
 * Errors end the job: shmem_fail says what, where and what to do. Only a death may be survived, if
 * the program has said so (failure.c). */
#ifndef SHMEM_STATE_H
#define SHMEM_STATE_H

#include <pthread.h>

#include "api/inner.h"
#include "shmem.h"

/* The name of the pshmem_ function in which it stands, without the p: for messages. */
#define SHMEM_CALL_NAME (__func__ + 1)

/* Defines the pshmem_ function's second name. */
#define SHMEM_ALIAS(NAME) \
    extern __typeof(pshmem_##NAME) shmem_##NAME __attribute__((weak, alias("pshmem_" #NAME)));

/* Defines a function under both names: its type, name, parameters in parentheses, and statement. */
#define SHMEM_DEFINE(RETURNS, NAME, PARAMETERS, ...) \
    RETURNS pshmem_##NAME PARAMETERS                 \
    {                                                \
        __VA_ARGS__;                                 \
    }                                                \
    SHMEM_ALIAS(NAME)

/* The same on a context, which the statement finds as `context`. */
#define SHMEM_DEFINE_ON(CONTEXT, RETURNS, NAME, PARAMETERS, ...)                             \
    SHMEM_DEFINE(RETURNS, NAME, PARAMETERS, const struct shmem_context *context = (CONTEXT); \
                 __VA_ARGS__)

/* Two functions: NAME on the default context, and ctx_NAME on any. */
#define SHMEM_DEFINE_BOTH(RETURNS, NAME, PARAMETERS, ...)                         \
    SHMEM_DEFINE_ON(&shmem_state.context, RETURNS, NAME, PARAMETERS, __VA_ARGS__) \
    SHMEM_DEFINE_ON(shmem_context_of(ctx), RETURNS, ctx_##NAME,                   \
                    (shmem_ctx_t ctx, SHMEM_UNPACK PARAMETERS), __VA_ARGS__)
#define SHMEM_UNPACK(...) __VA_ARGS__

/* No PE in particular. */
#define SHMEM_NOBODY (-1)

/* The symmetric segments. */
enum { SHMEM_HEAP, SHMEM_STATIC, SHMEM_SEGMENTS };

struct shmem_segment {
    uintptr_t base; /* here; 0 bytes: there is none */
    uint64_t bytes;
};

/* Another PE (or this one) as a context addresses it. 32 bytes: found by a shift. */
struct shmem_peer {
    /* What to add to an address of this process's segment to get the same object of that
     * PE, mapped here. */
    ptrdiff_t distance[SHMEM_SEGMENTS];
    _Atomic uint64_t *call; /* its call word: a sleeper watches, or the PE is gone */
    int pe;                 /* its number among all PEs */
};

/* What a shmem_ctx_t stands for. */
struct shmem_context {
    uint32_t in_place_count;        /* peers that pointers reach; 0: use checked.h */
    uint32_t read_count;            /* the same, for calls that only read */
    uint32_t peer_count;            /* PEs of the team; 0: the context is not open */
    const struct shmem_peer *peers; /* by their number in the team */
    struct dn_node *lane;
    struct shmem_team *team;
    long options;
    struct shmem_context *next; /* of the team's contexts */
};

/* What a shmem_team_t stands for. */
struct shmem_team {
    struct dn_team *dn;
    int my_pe; /* this PE's number in the team */
    int n_pes;
    int *pes;                 /* n_pes numbers among all PEs */
    struct shmem_peer *peers; /* the same as peers; made with the first context, or NULL */
    shmem_team_config_t config;
    struct shmem_context *contexts; /* guarded by shmem_state.lock */
    struct shmem_team *next;        /* of all teams; guarded likewise */
};

/* With more PEs on one host than these, transfers of the default context go the checked way. */
enum { SHMEM_NEAR_PES = 1024 };

struct shmem_state {
    /* What every transfer reads, in one line. */
    alignas(CACHE_LINE_BYTES) struct shmem_segment segments[SHMEM_SEGMENTS];
    struct shmem_context context; /* the default one */

    int my_pe;
    int n_pes;
    bool initialised;
    bool debug;
    _Atomic bool goes_on;   /* after deaths */
    _Atomic int init_count; /* calls of shmem_init that no shmem_finalize has answered */
    uint64_t epoch;         /* how often the library has been initialised from nothing */
    int thread_level;
    struct dn_node *node; /* stays attached between two lives of the library */

    struct shmem_peer *peers; /* of all PEs */
    uintptr_t static_image;   /* this PE's static variables in the group's memory */

    /* Where each segment lies as a remote address, by segment and PE. */
    struct dn_remote *origins[SHMEM_SEGMENTS];

    struct shmem_team world;
    struct shmem_team shared;

    pthread_mutex_t lock;     /* the lists of contexts and teams */
    struct shmem_team *teams; /* all: those made by splitting, then shared and world */

    /* The default context's peers, if it uses pointers. They lie at a constant address, because a
     * processor delays later loads while it does not know where an earlier store goes: with one
     * load fewer before that is known, puts of 464 bytes one after the other take 5 instead of
     * 8 ns. */
    alignas(CACHE_LINE_BYTES) struct shmem_peer near[SHMEM_NEAR_PES];
};

/* Nothing of what follows is for programs. */
#pragma GCC visibility push(hidden)

extern struct shmem_state shmem_state;

/* Prints "PE 2: shmem_put: ..." and goes on. `call` is the function's name. */
void shmem_say(const char *call, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* ---- Ending the job --------------------------------------------------------------- */

/* Says it and ends the job. */
_Noreturn void shmem_fail(const char *call, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* For the DN_E... code of a call that needed that PE (numbered among all, or SHMEM_NOBODY): ends
 * the job with its sentence. Returns only if the reason is a death that the program goes on after;
 * the thread can then ask for the PE. (failure.c) */
void shmem_on_error(const char *call, int error, int pe) __attribute__((cold));

/* Whether the call went well. If not, and it returns, a death is the reason. */
static inline bool shmem_require_at(const char *call, int error, int pe)
{
    if (UNLIKELY(error)) {
        shmem_on_error(call, error, pe);
    }
    return !error;
}

static inline bool shmem_require(const char *call, int error)
{
    return shmem_require_at(call, error, SHMEM_NOBODY);
}

/* Ends the job unless shmem_init has been called, and shmem_finalize not. */
void shmem_require_initialised(const char *call);

/* ---- Handles ------------------------------------------------------------------------ */

/* The team of a handle; NULL for SHMEM_TEAM_INVALID. */
static inline struct shmem_team *shmem_team_of(shmem_team_t handle)
{
    if (LIKELY(handle == SHMEM_TEAM_WORLD)) {
        return &shmem_state.world;
    }
    return handle == SHMEM_TEAM_SHARED ? &shmem_state.shared : handle;
}

/* The handle of a team. */
static inline shmem_team_t shmem_team_handle(struct shmem_team *team)
{
    return team == &shmem_state.world    ? SHMEM_TEAM_WORLD
           : team == &shmem_state.shared ? SHMEM_TEAM_SHARED
                                         : team;
}

/* The context of a handle; for SHMEM_CTX_INVALID one that reaches nobody. */
extern struct shmem_context shmem_no_context;

static inline struct shmem_context *shmem_context_of(shmem_ctx_t handle)
{
    if (LIKELY((uintptr_t)handle > (uintptr_t)SHMEM_CTX_DEFAULT)) {
        return handle;
    }
    return handle == SHMEM_CTX_DEFAULT ? &shmem_state.context : &shmem_no_context;
}

/* ---- Between the parts --------------------------------------------------------------- */

/* Notes that the job is to end with this status. False: somebody has done so already, and
 * *status becomes that one's. (setup.c) */
bool shmem_want_end(int *status);
/* Ends this process with the status of the job; the launcher ends the others. A PE that was not
 * the first leaves the end to the first one, which may still be saying why. */
_Noreturn void shmem_end(bool first, int status) __attribute__((cold));
/* Whether every other PE has begun to finalize: this PE can wait for nobody any more. */
bool shmem_others_finalize(void);

/* Fills shmem_state.world and shared; the node is attached and `lock` is usable. 0 or
 * DN_E.... Ended after all PEs have arrived in shmem_finalize. (team.c) */
int shmem_teams_start(void);
void shmem_teams_end(void);

/* Opens the default context; the teams are there. (context.c) */
void shmem_contexts_start(void);
/* Completes what this PE sent by any of its contexts. */
void shmem_contexts_quiet(const char *call);
/* Closes all; and those of a team that is about to be destroyed. */
void shmem_contexts_end(void);
void shmem_team_close_contexts(struct shmem_team *team);
/* Whether calls that only read may use pointers, as those that write do. */
void shmem_contexts_read_in_place(bool in_place);
/* In a forked child: no context reaches anybody any more. */
void shmem_contexts_forbid(void);

/* Gives the locks that this PE holds; closes and forgets all locks. (lock.c) */
void shmem_locks_give(void);
void shmem_locks_end(void);

/* SHMEM_DEBUG: ends the job when a part of the heap is used that no allocation holds. (memory.c) */
void shmem_debug_memory(const void *address, size_t bytes, const char *call);
/* Forgets what SHMEM_DEBUG knows of allocations. */
void shmem_memory_end(void);

/* Where the object at an own symmetric address lies at a PE (numbered among all), as a remote
 * address; false when [address, address + bytes) is not within one symmetric segment. (reach.c) */
bool shmem_remote_of(const void *address, size_t bytes, int pe, struct dn_remote *remote);
/* Where an own static variable lies in the group's memory; other addresses as they are. */
const void *shmem_group_address(const void *address);

#pragma GCC visibility pop

#endif
