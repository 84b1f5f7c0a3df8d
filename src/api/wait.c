/* Entry points: waiting for words. */
#include "api/check.h"
#include "api/traced.h"
#include "base/comparison.h"
#include "dimmnet.h"
#include "host/wait.h"

static inline struct base_word unsigned_word(unsigned bytes)
{
    return (struct base_word){bytes, false};
}

static inline int check_word(const struct dn_node *node, const void *word, unsigned bytes,
                             enum dn_comparison comparison)
{
    if (UNLIKELY(!word || (unsigned)comparison > DN_LE)) {
        return DN_EINVAL;
    }
    if (UNLIKELY((uintptr_t)word % bytes != 0)) {
        return DN_EALIGN;
    }
    return api_check(node);
}

static __attribute__((noinline, cold)) int wait_slowly(struct dn_node *node, const void *word,
                                                       unsigned bytes, struct base_range range,
                                                       uint64_t timeout_ns)
{
    struct base_watched_word watched = {word, bytes, range};
    struct host_condition condition = {base_watched_word_holds, host_nobody_left, &watched,
                                       host_memory_watch_of(node->process, word)};
    return host_wait_word(node, &condition, bytes, timeout_ns);
}

/* Polls closely while a core is free and leaves the rest to wait_slowly, a tail call:
 * saved registers would cost a tenth of a round trip. Before that it wakes sleeping targets of
 * this node's stores, which may be what it waits for. */
static inline __attribute__((always_inline)) int wait_for(struct dn_node *node, const void *word,
                                                          unsigned bytes, struct base_range range,
                                                          uint64_t timeout_ns)
{
    if (LIKELY(!fabric_stored_to_sleeps(&node->lane))) {
        if (base_word_holds(word, bytes, range)) {
            return 0;
        }
        if (LIKELY(host_close_polls_fit(node, timeout_ns))) {
            for (int poll = 0; poll < HOST_CLOSE_POLLS; poll++) {
                cpu_relax_briefly();
                if (base_word_holds(word, bytes, range)) {
                    return 0;
                }
            }
        }
    }
    return wait_slowly(node, word, bytes, range, timeout_ns);
}

/* A look that finds nothing is not recorded: programs look again and again. */
static __attribute__((noinline, cold)) int traced_look(struct dn_node *node, const void *word,
                                                       unsigned bytes, struct base_range range)
{
    uint64_t begin_ns = host_trace_now_ns();
    int error = wait_for(node, word, bytes, range, 0);
    if (error != DN_ETIMEOUT) {
        struct host_trace_what what = host_trace_word(HOST_TRACE_WAIT, node, word, bytes);
        host_trace_note(bytes == 4 ? "dn_wait_until_u32" : "dn_wait_until_u64", &what, begin_ns,
                        host_trace_now_ns(), error);
    } else {
        host_trace_left();
    }
    return error;
}

static __attribute__((noinline, cold)) int traced_wait(struct dn_node *node, const void *word,
                                                       unsigned bytes, struct base_range range,
                                                       uint64_t timeout_ns)
{
    if (timeout_ns == 0) {
        return traced_look(node, word, bytes, range);
    }
    API_TRACED_AS(bytes == 4 ? "dn_wait_until_u32" : "dn_wait_until_u64",
                  wait_for(node, word, bytes, range, timeout_ns),
                  host_trace_word(HOST_TRACE_WAIT, node, word, bytes));
    return wait_for(node, word, bytes, range, timeout_ns);
}

/* For a constant width. */
static inline __attribute__((always_inline)) int wait_until(struct dn_node *node, const void *word,
                                                            unsigned bytes,
                                                            enum dn_comparison comparison,
                                                            uint64_t value, uint64_t timeout_ns)
{
    struct base_range range;
    int error = check_word(node, word, bytes, comparison);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY(!base_range_make(comparison, value, unsigned_word(bytes), &range))) {
        return DN_EINVAL;
    }
    return UNLIKELY(host_trace_is_on) ? traced_wait(node, word, bytes, range, timeout_ns)
                                      : wait_for(node, word, bytes, range, timeout_ns);
}

int dn_wait_until_u32(struct dn_node *node, const uint32_t *word, enum dn_comparison comparison,
                      uint32_t value, uint64_t timeout_ns)
{
    return wait_until(node, word, sizeof *word, comparison, value, timeout_ns);
}

int dn_wait_until_u64(struct dn_node *node, const uint64_t *word, enum dn_comparison comparison,
                      uint64_t value, uint64_t timeout_ns)
{
    return wait_until(node, word, sizeof *word, comparison, value, timeout_ns);
}

struct several {
    const struct dn_condition *conditions;
    size_t count;
    size_t index;
};

static bool any_holds(void *context)
{
    struct several *several = context;
    for (size_t i = 0; i < several->count; i++) {
        const struct dn_condition *condition = &several->conditions[i];
        struct base_range range;
        if (base_range_make(condition->comparison, condition->value,
                            unsigned_word(condition->bytes), &range) &&
            base_word_holds(condition->word, condition->bytes, range)) {
            several->index = i;
            return true;
        }
    }
    return false;
}

static int check_condition(const struct dn_node *node, const struct dn_condition *condition)
{
    if (condition->bytes != 4 && condition->bytes != 8) {
        return DN_EINVAL;
    }
    int error = check_word(node, condition->word, condition->bytes, condition->comparison);
    uint64_t highest = condition->bytes == 8 ? UINT64_MAX : UINT32_MAX;
    struct base_range range;
    if (!error &&
        (condition->value > highest || !base_range_make(condition->comparison, condition->value,
                                                        unsigned_word(condition->bytes), &range))) {
        error = DN_EINVAL;
    }
    return error;
}

static int wait_any(struct dn_node *node, const struct dn_condition *conditions, size_t count,
                    uint64_t timeout_ns, size_t *index)
{
    if (!conditions || count == 0 || !index) {
        return DN_EINVAL;
    }
    uint32_t lines = GROUP_WATCH_NOTHING;
    for (size_t i = 0; i < count; i++) {
        int error = check_condition(node, &conditions[i]);
        if (error) {
            return error;
        }
        lines = group_watch_join(lines, host_memory_watch_of(node->process, conditions[i].word));
    }
    struct several several = {conditions, count, 0};
    struct host_condition condition = {any_holds, host_nobody_left, &several, lines};
    int error = host_wait(node, &condition, timeout_ns);
    if (!error) {
        *index = several.index;
    }
    return error;
}

/* What it waited for is known only when it has come. */
static __attribute__((noinline, cold)) int traced_wait_any(struct dn_node *node,
                                                           const struct dn_condition *conditions,
                                                           size_t count, uint64_t timeout_ns,
                                                           size_t *index)
{
    uint64_t begin_ns = host_trace_now_ns();
    struct host_trace_what what = host_trace_call(HOST_TRACE_WAIT);
    bool is_outermost = timeout_ns > 0 && host_trace_enter();
    struct host_trace_record *record = is_outermost ? host_trace_begin("dn_wait_until_any", &what)
                                                    : NULL;
    int error = wait_any(node, conditions, count, timeout_ns, index);
    if (!error) {
        const struct dn_condition *condition = &conditions[*index];
        what = host_trace_word(HOST_TRACE_WAIT, node, condition->word, condition->bytes);
    }
    if (record) {
        record->place = what.place;
        record->bytes = what.bytes;
    }
    if (is_outermost) {
        host_trace_end(record, error);
    } else if (timeout_ns == 0 && error != DN_ETIMEOUT) {
        host_trace_note("dn_wait_until_any", &what, begin_ns, host_trace_now_ns(), error);
    }
    return error;
}

int dn_wait_until_any(struct dn_node *node, const struct dn_condition *conditions, size_t count,
                      uint64_t timeout_ns, size_t *index)
{
    return UNLIKELY(host_trace_is_on) ? traced_wait_any(node, conditions, count, timeout_ns, index)
                                      : wait_any(node, conditions, count, timeout_ns, index);
}
