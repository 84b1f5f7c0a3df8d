/* Teams: the nodes that take part in a collective call, and the phase that the call is in. */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H

#include "base/turn.h"
#include "host/wait.h"
#include "group/tree.h"

struct team_packet_barrier;
struct team_way;

struct dn_team {
    uint32_t open; /* TEAM_OPEN while it may be used */
    struct dn_node *node;
    const struct team_way *way; /* how its members reach each other (way.h) */
    struct group_team nic;
    uint32_t *ranks;
    /* Where the members' blocks of words lie, each from the start of its node's memory: the
     * leader's in place, one for each member by packets. */
    uint64_t *blocks;
    const struct group_team *whole; /* while it is made as a part of another: that one; or NULL */
    uint64_t key;                   /* under which its members met; 0 for the team of all */
    uint64_t own_block;             /* what this node took from its arena for it; 0: nothing */
    bool is_all;
    enum dn_barrier_kind kind;
    enum group_host_stage host_stage; /* of the open arrival, with DN_BARRIER_HOST */
    /* The number of host-driven barriers so far. Their one-byte counts follow this and not the
     * phase, which other calls also raise: 256 phases later an old byte would look new. */
    uint32_t host_phase;

    /* Collective calls of one node on one team take turns: 1 while one runs. The fields below
     * belong to whoever has the turn. */
    _Atomic uint32_t turn;
    uint32_t phase;       /* of the last arrival */
    bool arrival_is_tree; /* the open arrival is one of a tree barrier, and passes as such */
    bool arrival_is_open; /* arrived at `phase`, not passed: a time-out or a split barrier */
    /* The last phase that this member passed; also for a thread that gives the team up beside a
     * call of another one. */
    _Atomic uint32_t passed;
    bool is_broken;   /* a phase was found broken: that stays said */
    bool is_given_up; /* this member has given it up; an arrival counts as open from then on */
    /* Of the last exchange: what each member brought, read as soon as it was seen to arrive. Later
     * the line may have gone back to its member, which writes the next phase's words. */
    uint64_t *operands;
    uint64_t argument;   /* this member's */
    bool differs;        /* some member's argument does */
    bool brings_data;    /* the last arrival brought a contribution; by packets only */
    uint32_t tree_phase; /* the last one that a tree barrier passed; by packets only */
    uint32_t gave_at;    /* the last one for which data was given that needs settling; the same */
    /* One store is the whole arrival: it completes what was sent before, and all see it. */
    bool arrives_by_store;
    uint64_t staging; /* this member's, from the start of its node's memory; 0: none yet */
    struct team_packet_barrier *packets; /* of DN_BARRIER_NIC by packets; NULL: none yet */

    struct dn_team *next; /* every handle ever made, closed ones for reuse */
};

#define TEAM_OPEN UINT32_C(0x4d414554)

static inline bool team_open(const struct dn_team *team)
{
    return LIKELY(team != NULL && team->open == TEAM_OPEN);
}

/* The team of all nodes; made with the node, ends with it. */
int team_all_make(struct dn_node *node);
void team_all_end(struct dn_node *node);
struct dn_team *team_all(struct dn_node *node);

/* The cache line of a rank in the team of all, for measuring on the same line: its last 8 bytes
 * are unused. NULL when the words of several nodes share lines. */
void *team_all_line(uint32_t rank);

int team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team);

/* The same under a name that its members know and never use for this list again. Several
 * threads may then ask for equal lists in another order on each node without a mix-up. */
int team_create_named(struct dn_node *node, const int *ranks, size_t count, uint64_t name,
                      struct dn_team **team);
int team_split(struct dn_team *team, int color, int key, struct dn_team **part);
int team_shrink(struct dn_team *team, struct dn_team **survivors);
int team_free(struct dn_team *team);
/* The same for a team that no member uses any more, as a barrier of all its members has shown: the
 * members need not meet again. */
int team_free_unused(struct dn_team *team);

/* Gives the team up for all members: their calls on it, pending and later ones, end with
 * DN_EPEER. Waits for no other member's call, only for those of this node's own threads. */
int team_revoke(struct dn_team *team);

/* ---- For the collective calls -------------------------------------------------- */

/* Takes this node's turn on the team, and gives it back; *timeout_ns becomes what is left. */
int team_turn_await(struct dn_team *team, uint64_t *timeout_ns);

static inline int team_turn_take(struct dn_team *team, uint64_t *timeout_ns)
{
    return LIKELY(base_turn_try(&team->turn)) ? 0 : team_turn_await(team, timeout_ns);
}

static inline int team_turn_take_patiently(struct dn_team *team)
{
    uint64_t forever_ns = DN_FOREVER;
    return team_turn_take(team, &forever_ns);
}

static inline void team_turn_give(struct dn_team *team)
{
    base_turn_end(&team->turn);
}

/* The tree barriers' words. */
static inline struct group_tree_node *team_tree(const struct dn_team *team)
{
    unsigned char *block = (unsigned char *)team->nic.members;
    return (struct group_tree_node *)(void *)(block + group_team_tree_offset(team->nic.count));
}

/* Wakes those members who sleep in a phase of this team. */
void team_wake_members(const struct dn_team *team);

/* With the turn held: arrives at the next phase. What was sent before is complete first. */
int team_arrive(struct dn_team *team);

/* The same for a barrier whose news a tree carries: nobody else is told. */
int team_arrive_in_tree(struct dn_team *team);

/* With the turn held, after team_arrive: waits for the others. 0, DN_ETIMEOUT (arrived, not
 * passed) or DN_EPEER. */
int team_pass(struct dn_team *team, uint64_t timeout_ns);

/* A new team's first phase, which needs no turn: 0, or DN_EPEER on all members. */
int team_first_phase(struct dn_team *team);

/* This member's operand and argument for the phase that team_arrive begins. */
static inline void team_contribute(struct dn_team *team, uint64_t operand, uint64_t argument)
{
    _Atomic uint64_t *place = group_team_operand(&team->nic, team->nic.index, team->phase + 1);
    atomic_store_explicit(place, operand, memory_order_relaxed);
    atomic_store_explicit(place + team->nic.argument_offset, argument, memory_order_relaxed);
}

/* With the turn held: gives the team up. */
void team_give_up(struct dn_team *team);

/* Whether this member has passed the phase that it arrived at last. */
bool team_has_passed(const struct dn_team *team);

/* Whether the phase last arrived at can never be passed, by a death or because the team was given
 * up. After a death all members get the same answer. */
bool team_is_broken(struct dn_team *team);

/* With the turn held: 0 when no arrival is open, else DN_EMISMATCH or DN_EPEER. */
int team_check_closed(struct dn_team *team);

/* A whole phase: contribute, arrive, and pass, without a time-out. */
int team_exchange(struct dn_team *team, uint64_t operand, uint64_t argument);

/* Refuses a call whose arguments make no sense: takes part in its phase, so that the other
 * members get DN_EMISMATCH instead of waiting, and returns `error`. */
int team_refuse(struct dn_team *team, int error);

/* One word that differs when the call or one of its numbers differs. */
uint64_t team_digest(uint32_t call, uint64_t first, uint64_t second);

/* The calls that a digest can stand for. */
enum team_call_number {
    TEAM_REFUSED,
    TEAM_ALLOC,
    TEAM_FREE,
    TEAM_REDUCE,
    TEAM_BROADCAST,
    TEAM_ALLGATHER,
    TEAM_SPLIT,
    TEAM_KEY_OF_LIST,
    TEAM_KEY_OF_NAME,
    TEAM_KIND,
    TEAM_SCAN,
    TEAM_ALLTOALL,
    TEAM_ALLTOALLV,
    TEAM_ALLGATHERV,
    TEAM_FAGUS, /* Fagus's own collective calls, by their names */
    TEAM_SHRINK,
};

#endif
