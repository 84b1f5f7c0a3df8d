/* Lays out a team's words, finds who is missing, and lets members meet. */
#include "group/team.h"

#include "group/service_memory.h"
#include "group/tree.h"

/* The members' lines come first. Behind them stand, side by side, all arrivals, and all
 * operands and arguments by parity. */
static uint64_t arrivals_offset(uint32_t count)
{
    return count * sizeof(struct group_team_member);
}

static uint64_t operands_offset(uint32_t count)
{
    uint64_t end;
    (void)round_up(arrivals_offset(count) + count * sizeof(uint32_t), CACHE_LINE_BYTES, &end);
    return end;
}

/* A row of 8-byte words, one for each member, in whole lines. */
static uint64_t row_bytes(uint32_t count)
{
    uint64_t bytes;
    (void)round_up(count * sizeof(uint64_t), CACHE_LINE_BYTES, &bytes);
    return bytes;
}

uint64_t group_team_tree_offset(uint32_t count)
{
    return operands_offset(count) + 4 * row_bytes(count);
}

uint64_t group_team_revoked_offset(uint32_t count)
{
    return group_team_tree_offset(count) + count * sizeof(struct group_tree_node);
}

uint64_t group_team_last_offset(uint32_t count)
{
    return group_team_revoked_offset(count) + row_bytes(count);
}

uint64_t group_team_bytes(uint32_t count)
{
    return group_team_last_offset(count) + row_bytes(count);
}

void group_team_make(const struct group_view *view, const uint32_t *ranks, uint32_t count,
                     uint32_t index, void *block, struct group_team *team)
{
    unsigned char *bytes = block;
    INVARIANT(index < count);
    *team = (struct group_team){
        .view = view,
        .ranks = ranks,
        .count = count,
        .index = index,
        .members = block,
        .revoked = (_Atomic uint64_t *)(void *)(bytes + group_team_revoked_offset(count)),
        .last = (_Atomic uint64_t *)(void *)(bytes + group_team_last_offset(count)),
    };
    if (count <= view->facts.core_count) {
        group_team_use_lines(team);
    } else {
        team->arrived = (_Atomic uint32_t *)(void *)(bytes + arrivals_offset(count));
        team->arrived_stride = 1;
        team->operands = (_Atomic uint64_t *)(void *)(bytes + operands_offset(count));
        team->operand_stride = 1;
        team->parity_stride = row_bytes(count) / sizeof(uint64_t);
        team->argument_offset = 2 * team->parity_stride;
    }
}

void group_team_use_lines(struct group_team *team)
{
    team->arrived = &team->members[0].arrived;
    team->arrived_stride = sizeof(struct group_team_member) / sizeof(uint32_t);
    team->operands = &team->members[0].contribution[0].operand;
    team->operand_stride = sizeof(struct group_team_member) / sizeof(uint64_t);
    team->parity_stride = sizeof(struct group_team_contribution) / sizeof(uint64_t);
    team->argument_offset = 1;
}

bool group_team_broken(const struct group_team *team, uint32_t phase)
{
    for (uint32_t index = 0; index < team->count; index++) {
        /* The life first, then the word: a member that arrived and then died has arrived, and
         * the acquire of its life makes its last store visible. */
        if (group_life_gone(group_life(team->view, team->ranks[index])) &&
            !group_team_has_arrived(team, index, phase)) {
            return true;
        }
    }
    return false;
}

bool group_team_lacks(const struct group_team *team)
{
    for (uint32_t index = 0; index < team->count; index++) {
        if (group_life_gone(group_life(team->view, team->ranks[index]))) {
            return true;
        }
    }
    return false;
}

void group_team_revoke(const struct group_team *team, uint32_t passed, bool takes_back)
{
    _Atomic uint64_t *word = &team->revoked[team->index];
    uint64_t known = atomic_load_explicit(word, memory_order_relaxed);
    if (takes_back) {
        atomic_store_explicit(group_team_arrived_word(team, team->index), passed,
                              memory_order_release);
        KILL_POINT("team: arrival taken back");
    }
    /* Threads of one node may give up at the same time. */
    while ((known == 0 || (int32_t)(passed - (uint32_t)known) > 0) &&
           !atomic_compare_exchange_weak_explicit(word, &known, GROUP_TEAM_SAID | passed,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    KILL_POINT("team: given up");
}

/* The latest phase that those who gave the team up have passed. False: nobody has given it up. */
static bool last_passed(const struct group_team *team, uint32_t *phase)
{
    bool found = false;
    for (uint32_t index = 0; index < team->count; index++) {
        uint64_t word = atomic_load_explicit(&team->revoked[index], memory_order_acquire);
        if (word != 0 && (!found || (int32_t)((uint32_t)word - *phase) > 0)) {
            *phase = (uint32_t)word;
            found = true;
        }
    }
    return found;
}

bool group_team_is_revoked(const struct group_team *team, uint32_t phase)
{
    uint32_t passed = 0;
    return last_passed(team, &passed) && (int32_t)(passed - phase) < 0;
}

static bool has_taken_back(const struct group_team *team, uint32_t index, uint32_t phase)
{
    uint64_t word = atomic_load_explicit(&team->revoked[index], memory_order_acquire);
    return word != 0 && (int32_t)((uint32_t)word - phase) < 0 &&
           !group_team_has_arrived(team, index, phase);
}

bool group_team_was_taken_back(const struct group_team *team, uint32_t phase)
{
    for (uint32_t index = 0; index < team->count; index++) {
        if (has_taken_back(team, index, phase)) {
            return true;
        }
    }
    return false;
}

void group_team_restore_arrivals(const struct group_team *team, uint32_t phase)
{
    uint32_t passed = 0;
    if (!last_passed(team, &passed) || (int32_t)(passed - phase) < 0) {
        return;
    }
    for (uint32_t index = 0; index < team->count; index++) {
        if (has_taken_back(team, index, phase)) {
            /* Its owner writes it no more. */
            atomic_store_explicit(group_team_arrived_word(team, index), phase,
                                  memory_order_release);
        }
    }
}

bool group_team_is_given_up(const struct group_team *team)
{
    uint32_t passed = 0;
    return last_passed(team, &passed);
}

bool group_team_was_passed(const struct group_team *team, uint32_t phase)
{
    uint32_t passed = 0;
    for (uint32_t index = 0; index < team->count; index++) {
        /* The life first: what a member said before it left is then here. */
        bool has_left = group_life(team->view, team->ranks[index]) == DN_LEFT;
        uint32_t left = atomic_load_explicit(&team->members[index].left, memory_order_acquire);
        if (group_team_has_arrived(team, index, phase + 1) ||
            (has_left && left != GROUP_TEAM_LEFT_WAITING &&
             group_team_has_arrived(team, index, phase))) {
            return true;
        }
    }
    return last_passed(team, &passed) && (int32_t)(passed - phase) >= 0;
}

bool group_team_decide(const struct group_team *team, bool made)
{
    uint32_t outcome = GROUP_TEAM_OPEN;
    KILL_POINT("team: not decided");
    bool first = atomic_compare_exchange_strong(&team->members[0].outcome, &outcome,
                                                made ? GROUP_TEAM_MADE : GROUP_TEAM_GIVEN_UP);
    KILL_POINT("team: decided");
    return first ? made : outcome == GROUP_TEAM_MADE;
}

bool group_team_offer(const struct group_view *view, uint64_t key, uint64_t offset)
{
    struct group_team_slot *slots = group_service(view, view->rank)->team_slots;
    for (uint32_t i = 0; i < GROUP_TEAM_SLOTS; i++) {
        if (atomic_load_explicit(&slots[i].key, memory_order_relaxed) == 0) {
            /* Pairs with the fence in group_team_find: a reader of this offset finds the
             * former key gone. */
            atomic_thread_fence(memory_order_release);
            atomic_store_explicit(&slots[i].offset, offset, memory_order_relaxed);
            KILL_POINT("team: block made, not offered");
            /* Release: pairs with the acquire in group_team_slot; the block is zeros. */
            atomic_store_explicit(&slots[i].key, key, memory_order_release);
            KILL_POINT("team: offered");
            return true;
        }
    }
    return false;
}

struct group_team_slot *group_team_slot(const struct group_view *view, uint32_t rank, uint64_t key)
{
    struct group_team_slot *slots = group_service(view, rank)->team_slots;
    for (uint32_t i = 0; i < GROUP_TEAM_SLOTS; i++) {
        if (atomic_load_explicit(&slots[i].key, memory_order_acquire) == key) {
            return &slots[i];
        }
    }
    return NULL;
}

void group_team_withdraw(const struct group_view *view, uint64_t key)
{
    struct group_team_slot *slot = group_team_slot(view, view->rank, key);
    if (slot) {
        atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
        KILL_POINT("team: withdrawn");
    }
}

bool group_team_find(const struct group_view *view, uint32_t rank, uint64_t key, uint64_t *offset)
{
    const struct group_team_slot *slot = group_team_slot(view, rank, key);
    if (!slot) {
        return false;
    }
    uint64_t found = atomic_load_explicit(&slot->offset, memory_order_relaxed);
    /* Keys are never given twice, so the same key after the offset means the right offset. */
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&slot->key, memory_order_relaxed) != key) {
        return false;
    }
    *offset = found;
    return true;
}

bool group_team_is_over(const struct group_team *team)
{
    for (uint32_t index = 0; index < team->count; index++) {
        if (!atomic_load_explicit(&team->members[index].left, memory_order_acquire) &&
            !group_life_gone(group_life(team->view, team->ranks[index]))) {
            return false;
        }
    }
    return true;
}
