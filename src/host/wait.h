/* Waiting, by the ladder of fabric/ladder.h. The last rung sleeps in the kernel, at most 2 ms at
 * a time. Where all is in place it sleeps on the call word of this node's port: a sender that looks
 * at the word wakes the sleeper at once; a plain store is found at the end of the nap. Elsewhere
 * the fabric sleeps until something comes.
 *
 * Every stage looks at deaths, so every wait ends. */
#ifndef HOST_WAIT_H
#define HOST_WAIT_H

#include "host/node.h"

struct host_condition {
    bool (*holds)(void *context);
    /* Whether the condition can never hold any more; the wait then ends with DN_EPEER. NULL: it
     * always can, because what is waited for ends by itself. */
    bool (*hopeless)(const struct dn_node *node, void *context, bool forever);
    void *context;
    /* Which stores are worth waking for: group_watch_of, or one of the GROUP_WATCH_ values. */
    uint32_t watch;
};

/* The first polls, a few nanoseconds apart and about 5 us in all, decide latencies;
 * they are inline where the condition is known, and look at nothing else. */
enum { HOST_CLOSE_POLLS = 512 };

/* Whether close polling fits: a free core, memory that others write by themselves, and a
 * time-out long enough not to notice. */
static inline bool host_close_polls_fit(const struct dn_node *node, uint64_t timeout_ns)
{
    return node->process->polls_closely && timeout_ns >= 20000;
}

/* Whether a death is announced that this node has not acknowledged. */
static inline bool host_death_is_news(const struct dn_node *node)
{
    return group_deaths_beyond(
        &node->process->view,
        atomic_load_explicit(&node->process->acknowledged_count, memory_order_relaxed));
}

/* The `hopeless` of ordinary waits: a death is not acknowledged; or, without a deadline, nobody
 * is left who could write. */
bool host_nobody_left(const struct dn_node *node, void *context, bool forever);

/* The whole ladder, the clock watched on each rung: 0, DN_ETIMEOUT or DN_EPEER. A condition that
 * holds wins over everything. */
int host_wait(const struct dn_node *node, const struct host_condition *condition,
              uint64_t timeout_ns);

/* The same for a word of so many bytes, or FABRIC_TOLD or FABRIC_MET (fabric/fabric.h). */
int host_wait_word(const struct dn_node *node, const struct host_condition *condition,
                   unsigned bytes, uint64_t timeout_ns);

/* Makes membarrier reach this process's threads while others sleep on its stores. */
void host_wait_prepare(void);

#endif
