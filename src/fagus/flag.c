/* Flags: a word of control memory at a node.
 *
 * Setting one is a store (AOTF: a signal without a body), ordered with the thread's other sets.
 * At the flag's own node a waiter sleeps until a store touches it; elsewhere a waiter reads,
 * through a pointer or over the network, ever less often. So a flag belongs where it is
 * waited for. */
#include "fagus/handle.h"
#include "fagus/state.h"
#include "fagus/look.h"
#include "fagus/traced.h"

struct fagus_flag {
    struct fagus_handle handle; /* marked with the space's generation */
    int node;
    uint64_t *word; /* of this node's own control memory; the flag's place at `node` */
};

static struct fagus_handles handles = FAGUS_HANDLES(struct fagus_flag);

static struct dn_remote place(const struct fagus_flag *flag)
{
    return fagus_remote_of(flag->node, flag->word);
}

/* ---- Making and freeing --------------------------------------------------------------- */

static int create(void *opened, const void *node)
{
    struct fagus_flag *flag = opened;
    const uint64_t number = (uint64_t) * (const int *)node;
    void *word;
    int error = fagus_agree("fagus_flag_create", &number, 1);
    error = error ? error : fagus_control_alloc(sizeof *flag->word, &word);
    if (!error) {
        flag->node = *(const int *)node;
        flag->word = word;
    }
    return error;
}

int fagus_flag_create(struct fagus_flag **flag, int node)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, 0, fagus_flag_create(flag, node));
    bool fits = flag && node >= 0 && node < fagus_state.size;
    return fagus_handle_create(&handles, fits, create, &node, flag);
}

static int destroy(void *opened)
{
    struct fagus_flag *flag = opened;
    const uint64_t number = fagus_place_of(flag->word);
    int error = fagus_agree("fagus_flag_free", &number, 1);
    if (error) {
        return error;
    }
    (void)fagus_handle_close(&flag->handle, fagus_state.generation);
    return fagus_control_free(flag->word);
}

int fagus_flag_free(struct fagus_flag *flag)
{
    FAGUS_TRACED(INNER_TRACE_COLLECTIVE, 0, fagus_flag_free(flag));
    return fagus_handle_free(flag, destroy);
}

/* ---- Using ------------------------------------------------------------------------------ */

int fagus_flag_set(struct fagus_flag *flag, uint64_t value)
{
    int error = fagus_handle_check(flag);
    if (UNLIKELY(error)) {
        return error;
    }
    FAGUS_TRACED_BY(inner_trace_remote(fagus_state.node, INNER_TRACE_ATOMIC, __func__, place(flag),
                                       sizeof(uint64_t)),
                    fagus_flag_set(flag, value));
    return fagus_error_of(dn_put_signal(fagus_lane(), place(flag), NULL, 0, place(flag), value));
}

/* Atomics and reads may overtake a store that was sent before, but for a fence. */
static int order(struct dn_node *lane)
{
    return LIKELY(fagus_state.reaches_all) ? 0 : inner_fence(lane);
}

int fagus_flag_add(struct fagus_flag *flag, uint64_t value, uint64_t *old)
{
    int error = fagus_handle_check(flag);
    if (UNLIKELY(error)) {
        return error;
    }
    FAGUS_TRACED_BY(inner_trace_remote(fagus_state.node, INNER_TRACE_ATOMIC, __func__, place(flag),
                                       sizeof(uint64_t)),
                    fagus_flag_add(flag, value, old));
    struct dn_node *lane = fagus_lane();
    uint64_t before;
    error = order(lane);
    error = error ? error : dn_fetch_add_u64(lane, place(flag), value, &before);
    if (!error && old) {
        *old = before;
    }
    return fagus_error_of(error);
}

static int read_word(const struct fagus_flag *flag, uint64_t *value)
{
    struct dn_node *lane = fagus_lane();
    int error = order(lane);
    return fagus_error_of(error ? error : dn_read_u64(lane, place(flag), value));
}

int fagus_flag_read(struct fagus_flag *flag, uint64_t *value)
{
    int error = value ? fagus_handle_check(flag) : FAGUS_EINVAL;
    return UNLIKELY(error) ? error : read_word(flag, value);
}

struct expectation {
    const struct fagus_flag *flag;
    const uint64_t *word; /* where it can be reached, else NULL */
    uint64_t value;
};

static int look(void *context)
{
    const struct expectation *expected = context;
    uint64_t value;
    if (expected->word) {
        value = dn_load_u64(expected->word);
    } else {
        int error = read_word(expected->flag, &value);
        if (error) {
            return error;
        }
    }
    if (value >= expected->value) {
        return 1;
    }
    /* Nobody can set a flag at a node that is gone. */
    return fagus_is_gone(expected->flag->node) ? FAGUS_EPEER : 0;
}

int fagus_flag_wait(struct fagus_flag *flag, uint64_t value, uint64_t timeout_ns)
{
    int error = fagus_handle_check(flag);
    if (UNLIKELY(error)) {
        return error;
    }
    FAGUS_TRACED_BY(inner_trace_wait(fagus_state.node, __func__, flag->word, sizeof(uint64_t)),
                    fagus_flag_wait(flag, value, timeout_ns));
    bool is_own = flag->node == fagus_state.rank;
    if (LIKELY(is_own && dn_load_u64(flag->word) >= value)) {
        return 0;
    }
    uint64_t deadline_ns = inner_deadline_ns(inner_now_ns(), timeout_ns);
    if (LIKELY(is_own)) {
        error = dn_wait_until_u64(fagus_lane(), flag->word, DN_GE, value, timeout_ns);
        if (LIKELY(error != DN_EPEER)) {
            return fagus_error_of(error);
        }
        if (fagus_death_news()) {
            /* The node that set it may have left since. */
            return dn_load_u64(flag->word) >= value ? 0 : FAGUS_EPEER;
        }
        /* A death that this thread knows of already: the others may still set it. */
    }
    struct expectation expected = {
        .flag = flag,
        .word = fagus_reach(flag->node, fagus_place_of(flag->word)),
        .value = value,
    };
    return fagus_wait(look, &expected, fagus_left_ns(deadline_ns));
}
