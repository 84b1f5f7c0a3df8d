/* A team's shared words, and the phases that all its collective calls go through.
 *
 * Each member has a line that only it writes. An arrival is one store of the phase, so
 * a member killed anywhere has either arrived or not. Before that it writes what it contributes
 * to the phase: an operand, and where its data lies. The phase is complete when every
 * word has reached it. Each member sees that for itself, and no member in the middle can
 * die and stop the others. The outcome is the same for all survivors: a dead member's word
 * never moves again, so either nobody can complete the phase or everybody can.
 *
 * With a core for each member the words stand in lines of their own, which travel at the
 * same time. With fewer cores the arrivals of sixteen members share a line, so that a member
 * that has a core for a moment looks at one line.
 *
 * Contributions have two places, by the phase's parity: a fast member writes the next phase's
 * while a slow one still reads this one's. No member can be two phases ahead.
 *
 * By packets, fabric/grants.c lets each member write its own words of a block and no others: a
 * new word here needs a rule there. */
#ifndef GROUP_TEAM_H
#define GROUP_TEAM_H

#include "group/life.h"

/* What a member brings to a phase. It is one piece, because by packets it travels. */
struct group_team_contribution {
    _Atomic uint64_t operand;
    _Atomic uint64_t argument; /* what must be the same on all members */
    _Atomic uint64_t source;   /* where its data lies, from the start of its node's memory */
};

struct group_team_member {
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t arrived; /* the last phase */
    _Atomic uint32_t left;                              /* has freed its handle */
    struct group_team_contribution contribution[2];     /* by the phase's parity */
    _Atomic uint32_t outcome; /* the first member's: enum group_team_outcome */
};
_Static_assert(sizeof(struct group_team_member) == CACHE_LINE_BYTES, "one line each");

/* A member's view. Private. */
struct group_team {
    const struct group_view *view;
    const uint32_t *ranks; /* of the members, in team order */
    uint32_t count;
    uint32_t index; /* this member */
    struct group_team_member *members;
    /* The words that every phase reads, in the members' lines or side by side. */
    _Atomic uint32_t *arrived;
    _Atomic uint64_t *operands;
    uint64_t arrived_stride;
    uint64_t operand_stride;  /* in words, from member to member */
    uint64_t parity_stride;   /* in words, from even to odd phases */
    uint64_t argument_offset; /* in words, from an operand to the argument beside it */
};

/* The shared words of a team of `count`, which start as zeros. The last of them are the tree
 * barriers' (group/tree.h), a line for each member. */
uint64_t group_team_bytes(uint32_t count);
uint64_t group_team_tree_offset(uint32_t count);

/* The view of the member `index`; `block` holds group_team_bytes. */
void group_team_make(const struct group_view *view, const uint32_t *ranks, uint32_t count,
                     uint32_t index, void *block, struct group_team *team);

/* Puts every member's words into its own line, whatever the number of cores: by packets, where
 * lines travel. All members do so, or none. */
void group_team_use_lines(struct group_team *team);

static inline _Atomic uint32_t *group_team_arrived_word(const struct group_team *team,
                                                        uint32_t index)
{
    return team->arrived + index * team->arrived_stride;
}

static inline _Atomic uint64_t *group_team_operand(const struct group_team *team, uint32_t index,
                                                   uint32_t phase)
{
    return team->operands + index * team->operand_stride + (phase & 1) * team->parity_stride;
}

static inline _Atomic uint64_t *group_team_argument(const struct group_team *team, uint32_t index,
                                                    uint32_t phase)
{
    return group_team_operand(team, index, phase) + team->argument_offset;
}

static inline _Atomic uint64_t *group_team_source(const struct group_team *team, uint32_t index,
                                                  uint32_t phase)
{
    return &team->members[index].contribution[phase & 1].source;
}

/* Release: pairs with the acquire in group_team_has_arrived, so that whoever sees the arrival
 * sees what this member did before. */
static inline void group_team_arrive(const struct group_team *team, uint32_t phase)
{
    KILL_POINT("team: not arrived");
    atomic_store_explicit(group_team_arrived_word(team, team->index), phase, memory_order_release);
    KILL_POINT("team: arrived");
}

/* Members are never more than one phase apart, so the sign of the difference tells. */
static inline bool group_team_has_arrived(const struct group_team *team, uint32_t index,
                                          uint32_t phase)
{
    uint32_t word = atomic_load_explicit(group_team_arrived_word(team, index),
                                         memory_order_acquire);
    return (int32_t)(word - phase) >= 0;
}

/* Whether all have arrived. It goes on at *next, the first member not yet seen there. */
static inline bool group_team_passed(const struct group_team *team, uint32_t phase, uint32_t *next)
{
    while (*next < team->count) {
        if (!group_team_has_arrived(team, *next, phase)) {
            return false;
        }
        (*next)++;
    }
    return true;
}

/* Whether some member can never arrive because it is gone. */
bool group_team_broken(const struct group_team *team, uint32_t phase);

/* Whether some member is gone, arrived or not. */
bool group_team_lacks(const struct group_team *team);

/* Whether a new team came about. Survivors who learn of a death at different times ask for
 * different lists: one may wait in a list for a member that is alive, but knows better and will
 * never come. So a new team with a member gone is given up, unless all have arrived; the first
 * member that says so decides. */
enum group_team_outcome { GROUP_TEAM_OPEN, GROUP_TEAM_MADE, GROUP_TEAM_GIVEN_UP };

/* This member's word on it. True when the team came about. For memory that all share. */
bool group_team_decide(const struct group_team *team, bool made);

/* ---- Meeting: how the members of a new team find its words ------------------- */

/* A member offers a block under a key that all members know. Only that member writes the slot,
 * and the key last. */
struct group_team_slot {
    _Atomic uint64_t key;    /* 0: free */
    _Atomic uint64_t offset; /* from the start of the member's node memory */
};

/* The slot of a key among a rank's, or NULL. */
struct group_team_slot *group_team_slot(const struct group_view *view, uint32_t rank, uint64_t key);

/* This node's offer. False: all slots are taken. */
bool group_team_offer(const struct group_view *view, uint64_t key, uint64_t offset);
void group_team_withdraw(const struct group_view *view, uint64_t key);

/* Whether a rank offers a block under the key, and where. */
bool group_team_find(const struct group_view *view, uint32_t rank, uint64_t key, uint64_t *offset);

/* Whether every member has freed its handle or is gone: the block may be used again. */
bool group_team_is_over(const struct group_team *team);

#endif
