/* Entry points: locks. */
#include "api/check.h"
#include "api/traced.h"
#include "lock/lock.h"
#include "dimmnet.h"

int dn_lock_open(struct dn_node *node, struct dn_remote word, struct dn_lock **lock)
{
    void *place;
    int error = lock ? api_check(node) : DN_EINVAL;
    error = error ? error
                  : in_place_reach_word(&node->lane, word, sizeof(uint64_t), DN_ATOMIC, &place);
    return error ? error : lock_open(node, (uint32_t)word.rank, place, lock);
}

int dn_lock_close(struct dn_lock *lock)
{
    return lock ? lock_close(lock) : DN_EINVAL;
}

/* ---- Recorded: apart, so that the ordinary take and give need no stack --------------------- */

static struct host_trace_what lock_call(const struct dn_lock *lock)
{
    struct host_trace_what what = host_trace_call(HOST_TRACE_LOCK);
    uint32_t rank;
    lock_word(lock, &rank, &what.place);
    what.peer = (int)rank;
    what.bytes = sizeof(uint64_t);
    return what;
}

static __attribute__((noinline, cold)) int traced_take(struct dn_lock *lock, uint64_t timeout_ns)
{
    API_TRACED_AS("dn_lock_take", lock_take(lock, timeout_ns), lock_call(lock));
    return lock_take(lock, timeout_ns);
}

static __attribute__((noinline, cold)) int traced_try(struct dn_lock *lock)
{
    uint64_t begin_ns = host_trace_now_ns();
    int error = lock_try(lock);
    if (error != DN_EBUSY) {
        struct host_trace_what what = lock_call(lock);
        host_trace_note("dn_lock_try", &what, begin_ns, host_trace_now_ns(), error);
    }
    return error;
}

static __attribute__((noinline, cold)) int traced_give(struct dn_lock *lock)
{
    API_TRACED_AS("dn_lock_give", lock_give(lock), lock_call(lock));
    return lock_give(lock);
}

/* Whether a call on this lock is recorded. */
static inline bool is_traced(const struct dn_lock *lock)
{
    return UNLIKELY(host_trace_is_on) && lock;
}

int dn_lock_take(struct dn_lock *lock, uint64_t timeout_ns)
{
    if (is_traced(lock)) {
        return traced_take(lock, timeout_ns);
    }
    return LIKELY(lock != NULL) ? lock_take(lock, timeout_ns) : DN_EINVAL;
}

int dn_lock_try(struct dn_lock *lock)
{
    if (is_traced(lock)) {
        return traced_try(lock);
    }
    return lock ? lock_try(lock) : DN_EINVAL;
}

int dn_lock_give(struct dn_lock *lock)
{
    if (is_traced(lock)) {
        return traced_give(lock);
    }
    return LIKELY(lock != NULL) ? lock_give(lock) : DN_EINVAL;
}
