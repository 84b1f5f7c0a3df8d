/* Teams: the two predefined ones, and those made by splitting. */
#include <stdlib.h>

#include "shmem/collective.h"
#include "shmem/failure.h"
#include "shmemx.h"

/* ---- The predefined teams ------------------------------------------------------------ */

/* The name under which the PEs meet for SHMEM_TEAM_SHARED, in this life of the library. */
#define SHARED_NAME (shmem_state.epoch << 32 | 1)

/* All PEs, or those whose memory is in place here. */
static bool fill(struct shmem_team *team, bool in_place)
{
    *team = (struct shmem_team){.pes = malloc((size_t)shmem_state.n_pes * sizeof *team->pes)};
    for (int pe = 0; team->pes && pe < shmem_state.n_pes; pe++) {
        if (!in_place || inner_in_place(shmem_state.node, pe)) {
            team->my_pe = pe == shmem_state.my_pe ? team->n_pes : team->my_pe;
            team->pes[team->n_pes++] = pe;
        }
    }
    return team->pes != NULL;
}

/* The PEs of one host share memory. A PE that only packets reach is not among them. The two
 * teams have their own words below, so that threads may use both at a time. */
int shmem_teams_start(void)
{
    struct shmem_team *world = &shmem_state.world;
    struct shmem_team *shared = &shmem_state.shared;
    if (!fill(world, false) || !fill(shared, true)) {
        return DN_ENOMEM;
    }
    shared->next = world;
    shmem_state.teams = shared;
    world->dn = dn_team_all(shmem_state.node);
    return inner_team_create_named(shmem_state.node, shared->pes, (size_t)shared->n_pes,
                                   SHARED_NAME, &shared->dn);
}

static bool is_predefined(const struct shmem_team *team)
{
    return team == &shmem_state.world || team == &shmem_state.shared;
}

static void forget_team(struct shmem_team *team)
{
    free(team->pes);
    free(team->peers);
    if (is_predefined(team)) {
        *team = (struct shmem_team){0};
    } else {
        free(team);
    }
}

void shmem_teams_end(void)
{
    while (shmem_state.teams) {
        struct shmem_team *next = shmem_state.teams->next;
        if (shmem_state.teams != &shmem_state.world) {
            (void)inner_team_free_unused(shmem_state.teams->dn);
        }
        forget_team(shmem_state.teams);
        shmem_state.teams = next;
    }
    shmem_active_sets_end();
}

/* ---- Asking -------------------------------------------------------------------------- */

int pshmem_team_my_pe(shmem_team_t handle)
{
    const struct shmem_team *team = shmem_team_of(handle);
    return team ? team->my_pe : -1;
}
SHMEM_ALIAS(team_my_pe)

int pshmem_team_n_pes(shmem_team_t handle)
{
    const struct shmem_team *team = shmem_team_of(handle);
    return team ? team->n_pes : -1;
}
SHMEM_ALIAS(team_n_pes)

int pshmem_team_get_config(shmem_team_t handle, long config_mask, shmem_team_config_t *config)
{
    const struct shmem_team *team = shmem_team_of(handle);
    if (!team || (config_mask & ~SHMEM_TEAM_NUM_CONTEXTS) != 0 || (config_mask != 0 && !config)) {
        return -1;
    }
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS) {
        config->num_contexts = team->config.num_contexts;
    }
    return 0;
}
SHMEM_ALIAS(team_get_config)

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    const struct shmem_team *from = shmem_team_of(src_team);
    const struct shmem_team *to = shmem_team_of(dest_team);
    if (!from || !to || src_pe < 0 || src_pe >= from->n_pes) {
        return -1;
    }
    int pe = from->pes[src_pe];
    if (to == &shmem_state.world) {
        return pe;
    }
    for (int i = 0; i < to->n_pes; i++) {
        if (to->pes[i] == pe) {
            return i;
        }
    }
    return -1;
}
SHMEM_ALIAS(team_translate_pe)

/* ---- Splitting ----------------------------------------------------------------------- */

/* A team of this many PEs without members yet; its memory is there before the PEs meet. */
static struct shmem_team *new_team(int size, const shmem_team_config_t *config, long config_mask,
                                   const char *call)
{
    struct shmem_team *team = calloc(1, sizeof *team);
    int *pes = malloc((size_t)size * sizeof *pes);
    if (!team || !pes) {
        shmem_fail(call, "no memory for a team of %d PEs", size);
    }
    team->pes = pes;
    team->n_pes = size;
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS) {
        team->config.num_contexts = config->num_contexts;
    }
    return team;
}

/* Fills in the members, all of which have met; then the program has the team. */
static void open_team(struct shmem_team *team, struct dn_team *dn, shmem_team_t *made)
{
    team->dn = dn;
    team->my_pe = dn_team_rank(dn);
    team->n_pes = dn_team_size(dn);
    for (int i = 0; i < team->n_pes; i++) {
        team->pes[i] = dn_team_node_rank(dn, i);
    }
    pthread_mutex_lock(&shmem_state.lock);
    team->next = shmem_state.teams;
    shmem_state.teams = team;
    pthread_mutex_unlock(&shmem_state.lock);
    *made = shmem_team_handle(team);
}

/* Takes part in a split of the parent, with the others of this color, in the order of their keys;
 * without a team it is in none. What the call returns. */
static int split(const struct shmem_team *parent, struct shmem_team *team, int color, int key,
                 shmem_team_t *made, const char *call)
{
    struct dn_team *dn;
    inner_trace_as(shmem_state.node, call);
    int error = dn_team_split(parent->dn, team ? color : -1, key, &dn);
    if (!error && team) {
        open_team(team, dn, made);
    } else if (team) {
        forget_team(team);
    }
    return shmem_collective_end(parent, call, error);
}

/* Whether a configuration can be had, which all PEs see alike. */
static bool config_fits(const shmem_team_config_t *config, long config_mask)
{
    return config_mask == 0 ||
           (config_mask == SHMEM_TEAM_NUM_CONTEXTS && config != NULL && config->num_contexts >= 0);
}

/* With SHMEM_DEBUG: all PEs of the parent ask for the same. */
static void check_split(const struct shmem_team *parent, int first, int second, int third,
                        const char *call)
{
    uint64_t number = (uint64_t)(uint32_t)first << 40 ^ (uint64_t)(uint32_t)second << 20 ^
                      (uint64_t)(uint32_t)third;
    SHMEM_COLLECTIVE_CHECK(parent, .call = call, .number = number);
}

int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *made)
{
    const char *call = SHMEM_CALL_NAME;
    *made = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID) {
        return -1;
    }
    struct shmem_team *parent = shmem_members(parent_team, call);
    check_split(parent, start, stride, size, call);
    long last = start + (long)stride * (size - 1L);
    if (size < 1 || (stride == 0 && size != 1) || start < 0 || start >= parent->n_pes || last < 0 ||
        last >= parent->n_pes || !config_fits(config, config_mask)) {
        return -1;
    }
    long steps = stride == 0 ? 0 : ((long)parent->my_pe - start) / stride;
    bool is_member = steps >= 0 && steps < size && start + steps * stride == parent->my_pe;
    struct shmem_team *team = is_member ? new_team(size, config, config_mask, call) : NULL;
    return split(parent, team, 0, (int)steps, made, call);
}
SHMEM_ALIAS(team_split_strided)

int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
                         const shmem_team_config_t *xaxis_config, long xaxis_mask,
                         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                         long yaxis_mask, shmem_team_t *yaxis_team)
{
    const char *call = SHMEM_CALL_NAME;
    *xaxis_team = SHMEM_TEAM_INVALID;
    *yaxis_team = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID) {
        return -1;
    }
    struct shmem_team *parent = shmem_members(parent_team, call);
    check_split(parent, xrange, 0, 0, call);
    if (xrange < 1) {
        return -1;
    }
    /* Configurations may differ between rows and columns: a PE without one takes part in the
     * meeting, so that the others have theirs. */
    int width = xrange < parent->n_pes ? xrange : parent->n_pes;
    int x = parent->my_pe % width;
    int y = parent->my_pe / width;
    int row = parent->n_pes - y * width < width ? parent->n_pes - y * width : width;
    int column = (parent->n_pes - x + width - 1) / width;
    bool x_fits = config_fits(xaxis_config, xaxis_mask);
    bool y_fits = config_fits(yaxis_config, yaxis_mask);
    struct shmem_team *x_team = x_fits ? new_team(row, xaxis_config, xaxis_mask, call) : NULL;
    struct shmem_team *y_team = y_fits ? new_team(column, yaxis_config, yaxis_mask, call) : NULL;
    int x_error = split(parent, x_team, y, x, xaxis_team, call);
    int y_error = split(parent, y_team, x, y, yaxis_team, call);
    return x_fits && y_fits && !x_error && !y_error ? 0 : -1;
}
SHMEM_ALIAS(team_split_2d)

int shmemx_team_shrink(shmem_team_t handle, shmem_team_t *survivors)
{
    const char *call = __func__;
    struct dn_team *dn;
    *survivors = SHMEM_TEAM_INVALID;
    const struct shmem_team *team = shmem_members(handle, call);
    struct shmem_team *made = new_team(team->n_pes, &team->config, SHMEM_TEAM_NUM_CONTEXTS, call);
    inner_trace_as(shmem_state.node, call);
    int error = dn_team_shrink(team->dn, &dn);
    if (error) {
        forget_team(made);
    } else {
        open_team(made, dn, survivors);
    }
    return shmem_collective_end(team, call, error);
}

/* Takes a team out of the list; false when it is not there. */
static bool remove_team(struct shmem_team *team)
{
    pthread_mutex_lock(&shmem_state.lock);
    struct shmem_team **link = &shmem_state.teams;
    while (*link && *link != team) {
        link = &(*link)->next;
    }
    bool found = *link != NULL;
    if (found) {
        *link = team->next;
    }
    pthread_mutex_unlock(&shmem_state.lock);
    return found;
}

void pshmem_team_destroy(shmem_team_t handle)
{
    const char *call = SHMEM_CALL_NAME;
    if (handle == SHMEM_TEAM_INVALID) {
        return;
    }
    struct shmem_team *team = shmem_members(handle, call);
    if (is_predefined(team)) {
        shmem_fail(call, "a predefined team cannot be destroyed");
    }
    SHMEM_COLLECTIVE_CHECK(team, .call = call);
    if (!remove_team(team)) {
        shmem_fail(call, "the handle is of no team; was it destroyed before?");
    }
    shmem_team_close_contexts(team);
    inner_trace_as(shmem_state.node, call);
    (void)shmem_collective_end(team, call, dn_team_free(team->dn));
    forget_team(team);
}
SHMEM_ALIAS(team_destroy)

int pshmem_team_sync(shmem_team_t team)
{
    return shmem_team_barrier(shmem_members(team, SHMEM_CALL_NAME), SHMEM_CALL_NAME);
}
SHMEM_ALIAS(team_sync)
