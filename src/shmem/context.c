/* Making and destroying contexts, and sessions on them. */
#include <stdlib.h>

#include "shmem/checked.h"

/* A context may use pointers unless something has to be looked at on every transfer. */
static void open_context(struct shmem_context *context, struct shmem_team *team,
                         const struct shmem_peer *peers, struct dn_node *lane, long options)
{
    uint32_t count = (uint32_t)team->n_pes;
    bool direct = inner_reaches_all(lane) && !shmem_state.debug && !inner_is_traced(lane) &&
                  (context != &shmem_state.context || count <= SHMEM_NEAR_PES);
    *context = (struct shmem_context){
        .in_place_count = direct ? count : 0,
        .read_count = direct && !shmem_state.goes_on ? count : 0,
        .peer_count = count,
        .peers = peers,
        .lane = lane,
        .team = team,
        .options = options,
    };
}

void shmem_contexts_start(void)
{
    open_context(&shmem_state.context, &shmem_state.world, shmem_state.peers, shmem_state.node, 0);
}

/* The team's PEs as contexts address them; NULL: no memory. With the lock held. */
static const struct shmem_peer *peers_of(struct shmem_team *team)
{
    if (team->n_pes == shmem_state.n_pes &&
        (team == &shmem_state.world || team == &shmem_state.shared)) {
        return shmem_state.peers;
    }
    if (!team->peers) {
        struct shmem_peer *peers = malloc((size_t)team->n_pes * sizeof *peers);
        for (int i = 0; peers && i < team->n_pes; i++) {
            peers[i] = shmem_state.peers[team->pes[i]];
        }
        team->peers = peers;
    }
    return team->peers;
}

/* Zero, or not: a context that cannot be made is no error. */
static int create(struct shmem_team *team, long options, shmem_ctx_t *ctx)
{
    struct shmem_context *context = aligned_alloc(CACHE_LINE_BYTES, CACHE_LINE_BYTES);
    _Static_assert(sizeof *context <= CACHE_LINE_BYTES, "a context fills a line of its own");
    struct dn_node *lane;
    *ctx = SHMEM_CTX_INVALID;
    if (!context) {
        return -1;
    }
    pthread_mutex_lock(&shmem_state.lock);
    const struct shmem_peer *peers = peers_of(team);
    int error = peers ? dn_lane_open(shmem_state.node, &lane) : DN_ENOMEM;
    if (!error) {
        open_context(context, team, peers, lane, options);
        context->next = team->contexts;
        team->contexts = context;
        *ctx = context;
    }
    pthread_mutex_unlock(&shmem_state.lock);
    if (error) {
        free(context);
    }
    return error;
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    shmem_require_initialised("shmem_ctx_create");
    return create(&shmem_state.world, options, ctx);
}

int pshmem_team_create_ctx(shmem_team_t handle, long options, shmem_ctx_t *ctx)
{
    shmem_require_initialised("shmem_team_create_ctx");
    struct shmem_team *team = shmem_team_of(handle);
    if (!team) {
        *ctx = SHMEM_CTX_INVALID;
        return -1;
    }
    return create(team, options, ctx);
}

/* It reaches nobody any more. */
static void forbid(struct shmem_context *context)
{
    context->in_place_count = 0;
    context->read_count = 0;
    context->peer_count = 0;
}

/* Closing the lane completes what was sent. Its handle is freed: the context that a program
 * goes on to use is its mistake, and found where memory is checked. */
static void close_context(struct shmem_context *context, const char *call)
{
    inner_trace_as(shmem_state.node, call);
    shmem_require(call, dn_quiet(context->lane));
    inner_trace_as(shmem_state.node, call);
    shmem_require(call, dn_lane_close(context->lane));
    forbid(context);
    free(context);
}

/* With the lock held: whether it was one of the team's. */
static bool take_out(struct shmem_team *team, const struct shmem_context *context)
{
    struct shmem_context **link = &team->contexts;
    while (*link && *link != context) {
        link = &(*link)->next;
    }
    if (!*link) {
        return false;
    }
    *link = context->next;
    return true;
}

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
    static const char call[] = "shmem_ctx_destroy";
    shmem_require_initialised(call);
    if (ctx == SHMEM_CTX_INVALID) {
        return;
    }
    if (ctx == SHMEM_CTX_DEFAULT) {
        shmem_fail(call, "SHMEM_CTX_DEFAULT stays until shmem_finalize and cannot be destroyed");
    }
    pthread_mutex_lock(&shmem_state.lock);
    bool found = ctx->team != NULL && take_out(ctx->team, ctx);
    pthread_mutex_unlock(&shmem_state.lock);
    if (!found) {
        shmem_fail(call, "there is no such context; was it destroyed before?");
    }
    close_context(ctx, call);
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
    struct shmem_context *context = shmem_context_of(ctx);
    if (context->peer_count == 0) {
        *team = SHMEM_TEAM_INVALID;
        return -1;
    }
    *team = shmem_team_handle(context->team);
    return 0;
}

/* A session is a hint, and tells the library nothing: stores in place cost less than any batch,
 * and packets fill themselves from all that is sent before they go. Wrong arguments are found. */
void pshmem_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long config_mask)
{
    static const char call[] = "shmem_ctx_session_start";
    if (ctx == SHMEM_CTX_INVALID) {
        return;
    }
    shmem_check_context(shmem_context_of(ctx), call);
    if (options & ~SHMEM_CTX_SESSION_BATCH || config_mask & ~SHMEM_CTX_SESSION_TOTAL_OPS) {
        shmem_fail(call, "options %#lx or the mask %#lx have bits without a meaning", options,
                   config_mask);
    }
    if (config_mask && !config) {
        shmem_fail(call, "the mask %#lx names fields of a configuration that is a null pointer",
                   config_mask);
    }
}

void pshmem_ctx_session_stop(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_INVALID) {
        shmem_check_context(shmem_context_of(ctx), "shmem_ctx_session_stop");
    }
}

SHMEM_ALIAS(ctx_session_start)
SHMEM_ALIAS(ctx_session_stop)
SHMEM_ALIAS(ctx_create)
SHMEM_ALIAS(ctx_destroy)
SHMEM_ALIAS(ctx_get_team)
SHMEM_ALIAS(team_create_ctx)

void shmem_team_close_contexts(struct shmem_team *team)
{
    pthread_mutex_lock(&shmem_state.lock);
    struct shmem_context *context = team->contexts;
    team->contexts = NULL;
    pthread_mutex_unlock(&shmem_state.lock);
    while (context) {
        struct shmem_context *next = context->next;
        close_context(context, "shmem_team_destroy");
        context = next;
    }
}

void shmem_contexts_quiet(const char *call)
{
    shmem_require(call, dn_quiet(shmem_state.node));
    for (const struct shmem_team *team = shmem_state.teams; team; team = team->next) {
        for (const struct shmem_context *at = team->contexts; at; at = at->next) {
            shmem_require(call, dn_quiet(at->lane));
        }
    }
}

void shmem_contexts_end(void)
{
    for (struct shmem_team *team = shmem_state.teams; team; team = team->next) {
        shmem_team_close_contexts(team);
    }
    shmem_state.context = (struct shmem_context){0};
}

void shmem_contexts_read_in_place(bool in_place)
{
    pthread_mutex_lock(&shmem_state.lock);
    for (const struct shmem_team *team = shmem_state.teams; team; team = team->next) {
        for (struct shmem_context *context = team->contexts; context; context = context->next) {
            context->read_count = in_place ? context->in_place_count : 0;
        }
    }
    struct shmem_context *usual = &shmem_state.context;
    usual->read_count = in_place ? usual->in_place_count : 0;
    pthread_mutex_unlock(&shmem_state.lock);
}

void shmem_contexts_forbid(void)
{
    for (const struct shmem_team *team = shmem_state.teams; team; team = team->next) {
        for (struct shmem_context *context = team->contexts; context; context = context->next) {
            forbid(context);
        }
    }
    forbid(&shmem_state.context);
}
