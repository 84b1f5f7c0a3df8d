/* Making, splitting, shrinking and freeing teams.
 *
 * The first member of a list leads: it takes the team's words from its service memory
 * and offers them under a key, and the others find them there. The key is made of the list and
 * of a name that all members know, or of how often this list has been asked for. A first
 * phase shows that all members have come. */
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

#include "team/barrier.h"
#include "team/way.h"
#include "host/arena.h"
#include "group/service_memory.h"

/* How often this node has asked for each list. It is never forgotten, because the other
 * members do not forget it either. */
struct list_count {
    uint64_t digest;
    uint64_t count;
    struct list_count *next;
};

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct dn_team *handles;
static struct list_count *list_counts;
static struct dn_team team_of_all;
static uint32_t *all_ranks;

/* ---- Handles ---------------------------------------------------------------- */

static struct dn_team *take_handle(void)
{
    pthread_mutex_lock(&handles_lock);
    struct dn_team *team = handles;
    while (team && (team->open || team->block_offset)) {
        team = team->next;
    }
    if (!team) {
        team = calloc(1, sizeof *team);
        if (team) {
            team->next = handles;
            handles = team;
        }
    }
    if (team) {
        team->open = 1; /* taken, not yet to be used */
    }
    pthread_mutex_unlock(&handles_lock);
    return team;
}

static void reset_handle(struct dn_team *team, struct dn_node *node)
{
    team->node = node;
    team->key = 0;
    team->block_offset = 0;
    team->is_all = false;
    team->kind = DN_BARRIER_FASTEST;
    team->host_stage = GROUP_HOST_GATHERING;
    team->host_phase = 0;
    atomic_store(&team->turn, 0);
    team->phase = 0;
    team->arrival_is_open = false;
    team->arrival_is_tree = false;
    team->is_broken = false;
    team->staging = 0;
    team->packets = NULL;
}

/* Gives back the blocks of teams that this node led and that all members have let go. */
static void reclaim_blocks(struct host_process *process)
{
    pthread_mutex_lock(&handles_lock);
    for (struct dn_team *team = handles; team; team = team->next) {
        if (!team->open && team->block_offset && group_team_is_over(&team->nic)) {
            host_arena_give(process, team->block_offset);
            team->block_offset = 0;
            free(team->ranks);
            team->ranks = NULL;
        }
    }
    pthread_mutex_unlock(&handles_lock);
}

/* Lets go of the team's words. The leader may use them again once all members have. */
static void let_go(struct dn_team *team)
{
    _Atomic uint32_t *left = &team->nic.members[team->nic.index].left;
    team->way->leave(team);
    /* After that nothing that this member sent may arrive in the words of others. */
    (void)fabric_settle(team_lane(team));
    /* Release: pairs with the acquire in group_team_is_over. */
    atomic_store_explicit(left, 1, memory_order_release);
    team_reflect_to(team, 0, left, sizeof *left);
    KILL_POINT("team: left");
}

/* The turn ends before the handle is closed, so that the handle's next user finds it free. */
static void close_handle(struct dn_team *team)
{
    struct host_process *process = team->node->process;
    let_go(team);
    pthread_mutex_lock(&handles_lock);
    if (!team->block_offset) {
        free(team->ranks);
        team->ranks = NULL;
    }
    team_turn_give(team);
    team->open = 0;
    pthread_mutex_unlock(&handles_lock);
    reclaim_blocks(process);
}

static const struct team_way *choose_way(const struct dn_team *team)
{
    for (uint32_t index = 0; index < team->nic.count; index++) {
        if (fabric_road(&team->node->lane, team->nic.ranks[index]) == FABRIC_BY_PACKETS) {
            return &team_by_packets;
        }
    }
    return &team_in_place;
}

static void make_view(struct dn_team *team, const uint32_t *ranks, uint32_t count, uint32_t index,
                      void *block)
{
    group_team_make(&team->node->process->view, ranks, count, index, block, &team->nic);
    team->way = choose_way(team);
    /* Also in place there may be more to do: another layer, or nodes outside of the team. */
    team->arrives_by_store = team->way->in_place && team->node->lane.is_prompt;
    if (!team->way->in_place) {
        group_team_use_lines(&team->nic);
    }
}

/* ---- The team of all --------------------------------------------------------- */

int team_all_make(struct dn_node *node)
{
    const struct group_view *view = &node->process->view;
    all_ranks = malloc(view->node_count * sizeof *all_ranks);
    if (!all_ranks) {
        return DN_ENOMEM;
    }
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        all_ranks[rank] = rank;
    }
    reset_handle(&team_of_all, node);
    team_of_all.is_all = true;
    make_view(&team_of_all, all_ranks, view->node_count, view->rank,
              group_service_team_of_all(view));
    team_of_all.open = TEAM_OPEN;
    return 0;
}

void team_all_end(struct dn_node *node)
{
    (void)node;
    pthread_mutex_lock(&handles_lock);
    team_of_all.way->leave(&team_of_all);
    team_of_all.open = 0;
    free(all_ranks);
    all_ranks = NULL;
    for (struct dn_team *team = handles; team; team = team->next) {
        if (team->open == TEAM_OPEN) {
            team->way->leave(team);
            atomic_store_explicit(&team->nic.members[team->nic.index].left, 1,
                                  memory_order_release);
        }
        team->open = 0;
        team->block_offset = 0;
        free(team->ranks);
        team->ranks = NULL;
    }
    while (list_counts) {
        struct list_count *next = list_counts->next;
        free(list_counts);
        list_counts = next;
    }
    pthread_mutex_unlock(&handles_lock);
}

struct dn_team *team_all(struct dn_node *node)
{
    (void)node;
    return &team_of_all;
}

void *team_all_line(uint32_t rank)
{
    const struct group_team *all = &team_of_all.nic;
    bool in_lines = all->arrived == &all->members[0].arrived;
    return in_lines && team_of_all.way->in_place ? &all->members[rank] : NULL;
}

/* ---- Creating ---------------------------------------------------------------- */

/* Checks a list and finds this node in it: DN_EINVAL for an empty one, a rank named
 * twice or this node missing, DN_ERANK. */
static int check_list(const struct group_view *view, const uint32_t *ranks, size_t count,
                      uint32_t *index)
{
    bool *named = calloc(view->node_count, sizeof *named);
    int error = named ? 0 : DN_ENOMEM;
    bool found = false;
    for (size_t i = 0; i < count && !error; i++) {
        if (ranks[i] >= view->node_count) {
            error = DN_ERANK;
        } else if (named[ranks[i]]) {
            error = DN_EINVAL;
        } else {
            named[ranks[i]] = true;
            if (ranks[i] == view->rank) {
                *index = (uint32_t)i;
                found = true;
            }
        }
    }
    free(named);
    return error ? error : found ? 0 : DN_EINVAL;
}

static uint64_t digest_list(const uint32_t *ranks, size_t count)
{
    uint64_t digest = team_digest(TEAM_KEY_OF_LIST, count, 0);
    for (size_t i = 0; i < count; i++) {
        digest = team_digest(TEAM_KEY_OF_LIST, digest, ranks[i]);
    }
    return digest;
}

/* A key from the list and a name that all members know; never 0. */
static uint64_t named_key(const uint32_t *ranks, size_t count, uint64_t name)
{
    uint64_t key = team_digest(TEAM_KEY_OF_NAME, digest_list(ranks, count), name);
    return key ? key : 1;
}

/* The key of this list's next team; 0: no memory. */
static uint64_t next_key(const uint32_t *ranks, size_t count)
{
    uint64_t digest = digest_list(ranks, count);
    uint64_t key = 0;
    pthread_mutex_lock(&handles_lock);
    struct list_count *list = list_counts;
    while (list && list->digest != digest) {
        list = list->next;
    }
    if (!list) {
        list = calloc(1, sizeof *list);
        if (list) {
            *list = (struct list_count){.digest = digest, .next = list_counts};
            list_counts = list;
        }
    }
    if (list) {
        key = team_digest(TEAM_KEY_OF_LIST, digest, ++list->count);
        key = key ? key : 1;
    }
    pthread_mutex_unlock(&handles_lock);
    return key;
}

struct meeting {
    const struct group_view *view;
    const uint32_t *ranks;
    size_t count;
    uint64_t key;
    uint64_t offset;
};

static bool is_offered(void *context)
{
    struct meeting *meeting = context;
    return group_team_find(meeting->view, meeting->ranks[0], meeting->key, &meeting->offset);
}

static bool somebody_is_gone(const struct dn_node *node, void *context, bool forever)
{
    const struct meeting *meeting = context;
    (void)node;
    (void)forever;
    for (size_t i = 0; i < meeting->count; i++) {
        if (group_life_gone(group_life(meeting->view, meeting->ranks[i]))) {
            return true;
        }
    }
    return false;
}

/* Tells the members that there is an offer, or none any more: the offset first, then the key. */
static void reflect_slot(const struct dn_team *team, const struct group_team_slot *slot)
{
    if (slot) {
        team_reflect(team, &slot->offset, sizeof slot->offset);
        team_reflect(team, &slot->key, sizeof slot->key);
    }
}

/* One thread at a time looks for a free slot. */
static bool offer(const struct dn_team *team, uint64_t key, uint64_t offset)
{
    const struct group_view *view = &team->node->process->view;
    pthread_mutex_lock(&handles_lock);
    bool offered = group_team_offer(view, key, offset);
    if (offered) {
        reflect_slot(team, group_team_slot(view, view->rank, key));
    }
    pthread_mutex_unlock(&handles_lock);
    return offered;
}

static void withdraw(const struct dn_team *team, uint64_t key)
{
    const struct group_view *view = &team->node->process->view;
    pthread_mutex_lock(&handles_lock);
    const struct group_team_slot *slot = group_team_slot(view, view->rank, key);
    group_team_withdraw(view, key);
    reflect_slot(team, slot);
    pthread_mutex_unlock(&handles_lock);
}

/* The leader's part of a meeting. */
static int lead(struct dn_team *team, const uint32_t *ranks, size_t count, uint64_t key)
{
    struct host_process *process = team->node->process;
    uint64_t bytes = group_team_bytes((uint32_t)count);
    uint64_t offset;
    void *block = host_arena_take(process, bytes, &offset);
    if (!block) {
        return DN_ENOMEM;
    }
    make_view(team, ranks, (uint32_t)count, 0, block);
    team_reflect(team, block, bytes);
    /* One member's arrival must not come to another before the block's zeros do. */
    (void)fabric_settle(team_lane(team));
    if (!offer(team, key, offset)) {
        host_arena_give(process, offset);
        return DN_EFULL;
    }
    team->block_offset = offset;
    for (size_t i = 1; i < count; i++) {
        fabric_wake(&process->view, ranks[i]);
    }
    return 0;
}

/* The team's words: made and offered by the leader, found by the others. */
static int meet(struct dn_team *team, const uint32_t *ranks, size_t count, uint32_t index,
                uint64_t key)
{
    struct dn_node *node = team->node;
    const struct group_view *view = &node->process->view;
    struct meeting meeting = {view, ranks, count, key, 0};
    if (index == 0) {
        return lead(team, ranks, count, key);
    }
    struct host_condition condition = {is_offered, somebody_is_gone, &meeting, GROUP_WATCH_NOTHING};
    int error = host_wait(node, &condition, DN_FOREVER);
    if (!error) {
        make_view(team, ranks, (uint32_t)count, index,
                  group_node_memory(view, ranks[0]) + meeting.offset);
    }
    return error;
}

/* `key` 0: the list's next one. */
static int create(struct dn_node *node, const uint32_t *ranks, size_t count, uint64_t key,
                  struct dn_team **made)
{
    uint32_t index = 0;
    int error = check_list(&node->process->view, ranks, count, &index);
    if (error) {
        return error;
    }
    reclaim_blocks(node->process);
    key = key ? key : next_key(ranks, count);
    struct dn_team *team = key ? take_handle() : NULL;
    uint32_t *own_ranks = malloc(count * sizeof *own_ranks);
    if (!team || !own_ranks) {
        free(own_ranks);
        if (team) {
            team->open = 0;
        }
        return DN_ENOMEM;
    }
    memcpy(own_ranks, ranks, count * sizeof *own_ranks);
    reset_handle(team, node);
    team->key = key;
    team->ranks = own_ranks;
    error = meet(team, own_ranks, count, index, key);
    if (error) {
        free(own_ranks);
        team->ranks = NULL;
        team->open = 0;
        return error;
    }
    error = team_first_phase(team);
    if (index == 0) {
        withdraw(team, key);
    }
    if (error) {
        close_handle(team);
        return error;
    }
    team->open = TEAM_OPEN;
    *made = team;
    return 0;
}

static int create_list(struct dn_node *node, const int *ranks, size_t count, const uint64_t *name,
                       struct dn_team **team)
{
    if (count == 0 || count > node->process->view.node_count) {
        return DN_EINVAL;
    }
    uint32_t *list = malloc(count * sizeof *list);
    if (!list) {
        return DN_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = (uint32_t)ranks[i]; /* a negative one becomes larger than any */
    }
    int error = create(node, list, count, name ? named_key(list, count, *name) : 0, team);
    free(list);
    return error;
}

int team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team)
{
    return create_list(node, ranks, count, NULL, team);
}

int team_create_named(struct dn_node *node, const int *ranks, size_t count, uint64_t name,
                      struct dn_team **team)
{
    return create_list(node, ranks, count, &name, team);
}

/* ---- Splitting and shrinking --------------------------------------------------- */

struct candidate {
    int key;
    uint32_t index;
    uint32_t rank;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *one = left;
    const struct candidate *other = right;
    if (one->key != other->key) {
        return one->key < other->key ? -1 : 1;
    }
    return one->index < other->index ? -1 : one->index > other->index;
}

/* The members of this colour in the order of their keys, as the phase just passed told them. */
static size_t gather_colour(const struct dn_team *team, int color, struct candidate *candidates)
{
    size_t count = 0;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        uint64_t word = atomic_load_explicit(group_team_operand(&team->nic, index, team->phase),
                                             memory_order_relaxed);
        if ((int)(uint32_t)(word >> 32) == color) {
            candidates[count++] = (struct candidate){(int)(uint32_t)word, index,
                                                     team->nic.ranks[index]};
        }
    }
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    return count;
}

int team_split(struct dn_team *team, int color, int key, struct dn_team **part)
{
    struct candidate *candidates = calloc(team->nic.count, sizeof *candidates);
    uint32_t *ranks = calloc(team->nic.count, sizeof *ranks);
    int error = candidates && ranks ? team_turn_take_patiently(team) : DN_ENOMEM;
    size_t count = 0;
    uint64_t name = 0;
    if (!error) {
        uint64_t word = (uint64_t)(uint32_t)color << 32 | (uint32_t)key;
        error = team_exchange(team, word, team_digest(TEAM_SPLIT, 0, 0));
        count = error || color < 0 ? 0 : gather_colour(team, color, candidates);
        /* The part is named after this phase of this team, so that threads that split different
         * teams into equal lists do not meet each other. */
        name = team_digest(TEAM_SPLIT, team->key, team->phase);
        team_turn_give(team);
    }
    for (size_t i = 0; i < count; i++) {
        ranks[i] = candidates[i].rank;
    }
    if (!error && count == 0) {
        *part = NULL;
    } else if (!error) {
        error = create(team->node, ranks, count, named_key(ranks, count, name), part);
    }
    free(ranks);
    free(candidates);
    return error;
}

int team_shrink(struct dn_team *team, struct dn_team **survivors)
{
    const struct group_view *view = team->nic.view;
    uint32_t *ranks = calloc(team->nic.count, sizeof *ranks);
    int error = ranks ? DN_EPEER : DN_ENOMEM;
    /* Each attempt that fails leaves out one member more. The survivors' lists differ only until
     * all have seen the same deaths, and a list with a dead member fails. */
    while (error == DN_EPEER) {
        size_t count = 0;
        for (uint32_t index = 0; index < team->nic.count; index++) {
            if (!group_life_gone(group_life(view, team->nic.ranks[index]))) {
                ranks[count++] = team->nic.ranks[index];
            }
        }
        error = create(team->node, ranks, count, 0, survivors);
    }
    free(ranks);
    return error;
}

int team_free(struct dn_team *team)
{
    if (team->is_all) {
        return DN_EINVAL;
    }
    int error = team_barrier_wait(team, DN_FOREVER); /* should one be open */
    bool is_whole = error == 0 || error == DN_ESTATE;
    error = team_turn_take_patiently(team);
    if (error) {
        return error;
    }
    /* A slow member may still read this one's staging memory; after a last phase nobody does.
     * A broken team has no such phase, and the memory stays taken. */
    error = is_whole ? team_arrive(team) : DN_EPEER;
    error = error ? error : team_pass(team, DN_FOREVER);
    if (team->staging && !error) {
        host_arena_give(team->node->process, team->staging);
    }
    close_handle(team);
    return 0;
}
