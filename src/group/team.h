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
 * A member may give the team up. It says in a word of its own which phase it passed last, takes
 * back an arrival at the next one, and arrives at none afterwards. So nobody who comes later passes
 * a later phase, and whoever waits for one stops; the phase that the word names is complete, and
 * whoever is still in it goes on to its end.
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
    _Atomic uint32_t left;                              /* enum group_team_left */
    struct group_team_contribution contribution[2];     /* by the phase's parity */
    _Atomic uint32_t outcome; /* the first member's: enum group_team_outcome */
    _Atomic uint32_t verdict; /* the same, by packets: what counts when the first member is gone */
};
_Static_assert(sizeof(struct group_team_member) == CACHE_LINE_BYTES, "one line each");

/* Whether a member has freed its handle, and if so, whether it had passed the phase that it arrived
 * at last. A member that leaves the group in peace need not say that it had. */
enum group_team_left { GROUP_TEAM_STAYS, GROUP_TEAM_LEFT, GROUP_TEAM_LEFT_WAITING };

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
    uint64_t operand_stride;   /* in words, from member to member */
    uint64_t parity_stride;    /* in words, from even to odd phases */
    uint64_t argument_offset;  /* in words, from an operand to the argument beside it */
    _Atomic uint64_t *revoked; /* by each member: 0, or GROUP_TEAM_SAID and a phase */
    /* Of each member that is gone, by packets: 0; GROUP_TEAM_ASKED, since somebody doubts how far
     * it came; or GROUP_TEAM_SAID and the phase on which the others agreed as its last one. */
    _Atomic uint64_t *last;
};

/* The shared words of a team of `count`, which start as zeros. Behind the phases' words stand the
 * tree barriers' (group/tree.h), a line for each member, and then those for ends. */
uint64_t group_team_bytes(uint32_t count);
uint64_t group_team_tree_offset(uint32_t count);
uint64_t group_team_revoked_offset(uint32_t count);
uint64_t group_team_last_offset(uint32_t count);

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

/* ---- Giving up --------------------------------------------------------------------- */

/* Tells a word that holds a phase from one that was never written. */
#define GROUP_TEAM_SAID (UINT64_C(1) << 32)
#define GROUP_TEAM_ASKED (UINT64_C(1) << 33)

/* This member gives the team up, and has passed no phase after `passed`. Said again, the later
 * phase counts. With `takes_back` it has arrived at the next one, and now has not; that is for
 * whoever has the turn. Release: pairs with the acquire in group_team_is_revoked, so that whoever
 * sees the word sees the arrivals at that phase, where memory is shared. */
void group_team_revoke(const struct group_team *team, uint32_t passed, bool takes_back);

/* Whether the team was given up, and nobody who gave it up is known to have passed this phase. */
bool group_team_is_revoked(const struct group_team *team, uint32_t phase);

/* Whether somebody who gave the team up counts as not arrived at this phase. */
bool group_team_was_taken_back(const struct group_team *team, uint32_t phase);

/* The same, where another member has passed the phase all the same: then it is complete, and those
 * who are still in it may count the arrivals that were taken back. */
void group_team_restore_arrivals(const struct group_team *team, uint32_t phase);

/* Whether anybody has given the team up, in whatever phase. */
bool group_team_is_given_up(const struct group_team *team);

/* Whether some member is known to have passed this phase, which is then complete: it has arrived
 * at the next one, has given the team up only afterwards, or has left the group after it. */
bool group_team_was_passed(const struct group_team *team, uint32_t phase);

/* ---- New teams --------------------------------------------------------------------- */

/* Whether a new team came about. Survivors who learn of a death at different times ask for
 * different lists: one may wait in a list for a member that is alive, but knows better and will
 * never come. So a new team with a member gone is given up, unless all have arrived; the first
 * member that says so decides.
 *
 * By packets, the other blocks hold what their owners have heard of that word, or UNHEARD: this one
 * had not heard it when another member found the first one gone, and may no longer go by it. */
enum group_team_outcome {
    GROUP_TEAM_OPEN,
    GROUP_TEAM_MADE,
    GROUP_TEAM_GIVEN_UP,
    GROUP_TEAM_UNHEARD,
};

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
