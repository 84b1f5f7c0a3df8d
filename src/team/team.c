/* Making, splitting, shrinking and freeing teams.
 *
 * The team's words lie in blocks of service memory: in place one block, of the first member, which
 * leads; by packets one of each member. Whoever has a block offers it under a key, and the others
 * find it there. The key is made of the list and of a name that all members know, or of how often
 * this list has been asked for. A first phase shows that all members have come. */
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

#include "team/barrier.h"
#include "team/staging.h"
#include "team/way.h"
#include "host/arena.h"
#include "group/service_memory.h"

/* What a member without memory offers, so that the others do not wait for it. */
#define NO_BLOCK UINT64_C(0)

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
static uint32_t next_refusal; /* the slot from which on the next one is looked for that is let go */
static struct dn_team team_of_all;

/* ---- Handles ---------------------------------------------------------------- */

static struct dn_team *take_handle(void)
{
    pthread_mutex_lock(&handles_lock);
    struct dn_team *team = handles;
    while (team && (team->open || team->own_block)) {
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
    team->whole = NULL;
    team->key = 0;
    team->own_block = 0;
    team->is_all = false;
    team->kind = DN_BARRIER_FASTEST;
    team->host_stage = GROUP_HOST_GATHERING;
    team->host_phase = 0;
    atomic_store(&team->turn, 0);
    team->phase = 0;
    team->arrival_is_open = false;
    team->arrival_is_tree = false;
    atomic_store(&team->passed, 0);
    team->is_broken = false;
    team->is_given_up = false;
    team->brings_data = false;
    team->tree_phase = 0;
    team->gave_at = 0;
    team->staging = 0;
    team->packets = NULL;
}

static int make_lists(struct dn_team *team, size_t count)
{
    team->ranks = calloc(count, sizeof *team->ranks);
    team->blocks = calloc(count, sizeof *team->blocks);
    team->operands = calloc(count, sizeof *team->operands);
    return team->ranks && team->blocks && team->operands ? 0 : DN_ENOMEM;
}

static void free_lists(struct dn_team *team)
{
    free(team->ranks);
    free(team->blocks);
    free(team->operands);
    team->ranks = NULL;
    team->blocks = NULL;
    team->operands = NULL;
}

/* Makes this member's block of the team's words; by packets the others may write their own in it.
 * NO_BLOCK: there is no memory. */
static uint64_t make_block(const struct dn_team *team, uint32_t count, uint32_t index)
{
    struct host_process *process = team->node->process;
    uint64_t block = NO_BLOCK;
    if (!host_arena_take(process, group_team_bytes(count), &block) || team->way->in_place) {
        return block;
    }
    const struct fabric_grant grant = {.kind = FABRIC_GRANT_TEAM,
                                       .offset = block,
                                       .ranks = team->ranks,
                                       .count = count,
                                       .index = index};
    if (fabric_grant(team_lane(team), &grant) != 0) {
        host_arena_give(process, block);
        block = NO_BLOCK;
    }
    return block;
}

static void give_block_back(const struct dn_team *team, uint64_t block)
{
    if (!team->way->in_place) {
        fabric_revoke(team_lane(team), block);
    }
    host_arena_give(team->node->process, block);
}

/* Gives back this node's blocks of teams that all members have let go. */
static void reclaim_blocks(void)
{
    pthread_mutex_lock(&handles_lock);
    for (struct dn_team *team = handles; team; team = team->next) {
        if (!team->open && team->own_block && group_team_is_over(&team->nic)) {
            give_block_back(team, team->own_block);
            team->own_block = 0;
            free_lists(team);
        }
    }
    pthread_mutex_unlock(&handles_lock);
}

/* The turn ends before the handle is closed, so that the handle's next user finds it free. */
static void close_handle(struct dn_team *team)
{
    pthread_mutex_lock(&handles_lock);
    if (!team->own_block) {
        free_lists(team);
    }
    team_turn_give(team);
    team->open = 0;
    pthread_mutex_unlock(&handles_lock);
}

static void let_go(struct dn_team *team)
{
    team->way->leave(team);
    team_note_left(team);
    team->way->tell_left(team);
    KILL_POINT("team: left");
    close_handle(team);
    reclaim_blocks();
}

static const struct team_way *choose_way(const struct dn_node *node, const uint32_t *ranks,
                                         uint32_t count)
{
    for (uint32_t index = 0; index < count; index++) {
        if (fabric_road(&node->lane, ranks[index]) == FABRIC_BY_PACKETS) {
            return &team_by_packets;
        }
    }
    return &team_in_place;
}

/* Whose block a member reads and writes. */
static uint32_t home_of(const struct dn_team *team, uint32_t index)
{
    return team->way->in_place ? 0 : index;
}

static void make_view(struct dn_team *team, uint32_t count, uint32_t index)
{
    const struct group_view *view = &team->node->process->view;
    uint32_t home = home_of(team, index);
    group_team_make(view, team->ranks, count, index,
                    group_node_memory(view, team->ranks[home]) + team->blocks[home], &team->nic);
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
    struct dn_team *team = &team_of_all;
    int error = make_lists(team, view->node_count);
    if (error) {
        free_lists(team);
        return error;
    }
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        team->ranks[rank] = rank;
        team->blocks[rank] = group_service_team_of_all(view);
    }
    reset_handle(team, node);
    team->is_all = true;
    team->way = choose_way(node, team->ranks, view->node_count);
    make_view(team, view->node_count, view->rank);
    team->open = TEAM_OPEN;
    return 0;
}

/* The others see the life of a node that leaves in peace, and need be told only what they would
 * not think: that it had not passed its last phase. */
static void leave(struct dn_team *team)
{
    team->way->leave(team);
    team_note_left(team);
    if (!team_has_passed(team)) {
        team->way->tell_left(team);
    }
}

void team_all_end(struct dn_node *node)
{
    (void)node;
    pthread_mutex_lock(&handles_lock);
    leave(&team_of_all);
    team_of_all.open = 0;
    free_lists(&team_of_all);
    for (struct dn_team *team = handles; team; team = team->next) {
        if (team->open == TEAM_OPEN) {
            leave(team);
        }
        team->open = 0;
        team->own_block = 0;
        free_lists(team);
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

/* The key of this list's next team, of those with the same origin; 0: no memory. */
static uint64_t next_key(const uint32_t *ranks, size_t count, uint64_t origin)
{
    uint64_t digest = team_digest(TEAM_KEY_OF_LIST, digest_list(ranks, count), origin);
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
    const struct dn_team *team;
    uint32_t count;
    uint32_t offers;   /* how many members offer a block, from the first one on */
    uint32_t found;    /* how many of these have been found */
    bool is_refused;   /* one of them has no memory */
    bool is_senseless; /* one of them offers what is no block */
};

/* Whether a block of words for so many can lie there in the service memory of a node. */
static bool is_block(const struct group_view *view, uint32_t count, uint64_t offset)
{
    uint64_t first = view->facts.geometry.service_offset + group_service_free_offset(view);
    uint64_t end = view->facts.geometry.service_offset + GROUP_SERVICE_BYTES;
    uint64_t bytes = group_team_bytes(count);
    return offset % CACHE_LINE_BYTES == 0 && offset >= first && offset <= end - bytes;
}

static bool all_are_offered(void *context)
{
    struct meeting *meeting = context;
    const struct dn_team *team = meeting->team;
    while (meeting->found < meeting->offers && !meeting->is_refused && !meeting->is_senseless &&
           group_team_find(meeting->view, team->ranks[meeting->found], team->key,
                           &team->blocks[meeting->found])) {
        uint64_t block = team->blocks[meeting->found];
        meeting->is_refused = block == NO_BLOCK;
        meeting->is_senseless = !meeting->is_refused &&
                                !is_block(meeting->view, meeting->count, block);
        meeting->found++;
    }
    return meeting->found == meeting->offers || meeting->is_refused || meeting->is_senseless;
}

/* Whoever has seen that a member has no memory takes its own offer back, perhaps before this member
 * has found that one. The offer without memory stays. */
static bool somebody_refuses(const struct meeting *meeting)
{
    for (uint32_t i = meeting->found; i < meeting->offers; i++) {
        uint64_t block;
        if (group_team_find(meeting->view, meeting->team->ranks[i], meeting->team->key, &block) &&
            block == NO_BLOCK) {
            return true;
        }
    }
    return false;
}

/* Nor does somebody come whom giving up the whole team has kept from splitting it. */
static bool somebody_is_gone(const struct dn_node *node, void *context, bool forever)
{
    struct meeting *meeting = context;
    (void)node;
    (void)forever;
    meeting->is_refused = meeting->is_refused || somebody_refuses(meeting);
    if (meeting->is_refused ||
        (meeting->team->whole && group_team_is_given_up(meeting->team->whole))) {
        return true;
    }
    for (uint32_t i = 0; i < meeting->count; i++) {
        if (group_life_gone(group_life(meeting->view, meeting->team->ranks[i]))) {
            return true;
        }
    }
    return false;
}

/* Tells the others that there is an offer, or none any more: the offset first, then the key. */
static void tell_slot(const struct dn_team *team, uint32_t count,
                      const struct group_team_slot *slot)
{
    const struct group_view *view = &team->node->process->view;
    for (uint32_t i = 0; i < count; i++) {
        if (team->ranks[i] != view->rank) {
            (void)fabric_reflect(team_lane(team), team->ranks[i], &slot->offset,
                                 sizeof slot->offset);
            (void)fabric_reflect(team_lane(team), team->ranks[i], &slot->key, sizeof slot->key);
            fabric_wake(view, team->ranks[i]);
        }
    }
}

/* With handles_lock: lets go of the oldest offer without memory. False: there is none. */
static bool forget_refusal(const struct group_view *view)
{
    const struct group_team_slot *slots = group_service(view, view->rank)->team_slots;
    for (uint32_t i = 0; i < GROUP_TEAM_SLOTS; i++) {
        uint32_t at = (next_refusal + i) % GROUP_TEAM_SLOTS;
        uint64_t key = atomic_load_explicit(&slots[at].key, memory_order_relaxed);
        if (key != 0 && atomic_load_explicit(&slots[at].offset, memory_order_relaxed) == NO_BLOCK) {
            group_team_withdraw(view, key);
            next_refusal = at + 1;
            return true;
        }
    }
    return false;
}

/* Makes this member's block, and offers it. One thread at a time looks for a free slot. The slot of
 * a member without memory stays taken, since nobody tells it when all have seen that, until there
 * is no other: then those of the new team would wait for this member for ever. */
static int offer_block(struct dn_team *team, uint32_t count, uint32_t index)
{
    const struct group_view *view = &team->node->process->view;
    uint64_t block = make_block(team, count, index);
    pthread_mutex_lock(&handles_lock);
    bool offered = group_team_offer(view, team->key, block) ||
                   (forget_refusal(view) && group_team_offer(view, team->key, block));
    if (offered) {
        team->own_block = block;
        tell_slot(team, count, group_team_slot(view, view->rank, team->key));
    }
    pthread_mutex_unlock(&handles_lock);
    if (block == NO_BLOCK) {
        return DN_ENOMEM;
    }
    if (!offered) {
        give_block_back(team, block);
    }
    return offered ? 0 : DN_EFULL;
}

static void withdraw_block(const struct dn_team *team, uint32_t count)
{
    const struct group_view *view = &team->node->process->view;
    pthread_mutex_lock(&handles_lock);
    const struct group_team_slot *slot = group_team_slot(view, view->rank, team->key);
    if (slot) {
        group_team_withdraw(view, team->key);
        tell_slot(team, count, slot);
    }
    pthread_mutex_unlock(&handles_lock);
}

/* Finds the team's words, and shows that all members have. */
static int meet(struct dn_team *team, uint32_t count, uint32_t index)
{
    struct meeting meeting = {
        .view = &team->node->process->view,
        .team = team,
        .count = count,
        .offers = team->way->in_place ? 1 : count,
    };
    struct host_condition condition = {all_are_offered, somebody_is_gone, &meeting,
                                       GROUP_WATCH_NOTHING};
    /* By packets, a member that is gone already can never have arrived, since it had no offer of
     * ours. So nothing is offered that others would have to let go. */
    bool is_hopeless = !team->way->in_place && somebody_is_gone(team->node, &meeting, true);
    int error = is_hopeless ? DN_EPEER : 0;
    error = error || home_of(team, index) != index ? error : offer_block(team, count, index);
    error = error ? error : host_wait(team->node, &condition, DN_FOREVER);
    error = meeting.is_refused ? DN_ENOMEM : error;
    error = error || !meeting.is_senseless ? error : DN_EGROUP;
    if (!error) {
        make_view(team, count, index);
        error = team_first_phase(team);
        withdraw_block(team, count);
        if (error) {
            let_go(team);
        }
        return error;
    }
    if (team->own_block) {
        /* Others may have found the block, and write there until they let go of the team. */
        team->blocks[index] = team->own_block;
        make_view(team, count, index);
        team_note_left(team);
        withdraw_block(team, count);
    }
    close_handle(team);
    return error;
}

/* `whole`: the team that is split, or NULL. `key` 0: there is no memory for one. */
static int create(struct dn_node *node, const struct group_team *whole, const uint32_t *ranks,
                  size_t count, uint64_t key, struct dn_team **made)
{
    uint32_t index = 0;
    int error = check_list(&node->process->view, ranks, count, &index);
    if (error) {
        return error;
    }
    reclaim_blocks();
    struct dn_team *team = key ? take_handle() : NULL;
    if (!team) {
        return DN_ENOMEM;
    }
    reset_handle(team, node);
    error = make_lists(team, count);
    if (error) {
        close_handle(team);
        return error;
    }
    memcpy(team->ranks, ranks, count * sizeof *ranks);
    team->whole = whole;
    team->key = key;
    team->way = choose_way(node, ranks, (uint32_t)count);
    error = meet(team, (uint32_t)count, index);
    if (!error) {
        team->whole = NULL;
        team->open = TEAM_OPEN;
        *made = team;
    }
    return error;
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
    uint64_t key = name ? named_key(list, count, *name) : next_key(list, count, 0);
    int error = create(node, NULL, list, count, key, team);
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
        uint64_t word = team->operands[index];
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
        error = create(team->node, &team->nic, ranks, count, named_key(ranks, count, name), part);
    }
    free(ranks);
    free(candidates);
    return error;
}

int team_shrink(struct dn_team *team, struct dn_team **survivors)
{
    const struct group_view *view = team->nic.view;
    uint32_t *ranks = calloc(team->nic.count, sizeof *ranks);
    /* Named after the team, so that threads that shrink different teams do not meet each other. */
    uint64_t origin = team_digest(TEAM_SHRINK, team->key, 0);
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
        /* Others may wait in a call of this team that the dead member took part in, and for this
         * one, which will not come there: it gives the team up for all. */
        error = count < team->nic.count ? team_revoke(team) : 0;
        error = error ? error
                      : create(team->node, NULL, ranks, count, next_key(ranks, count, origin),
                               survivors);
    }
    free(ranks);
    return error;
}

int team_free_unused(struct dn_team *team)
{
    int error = team_turn_take_patiently(team);
    if (!error) {
        team_staging_give(team);
        let_go(team);
    }
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
    if (!error) {
        team_staging_give(team);
    }
    let_go(team);
    return 0;
}
