/* Entry points: locks. */
#include "api/check.h"
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

int dn_lock_take(struct dn_lock *lock, uint64_t timeout_ns)
{
    return LIKELY(lock != NULL) ? lock_take(lock, timeout_ns) : DN_EINVAL;
}

int dn_lock_try(struct dn_lock *lock)
{
    return lock ? lock_try(lock) : DN_EINVAL;
}

int dn_lock_give(struct dn_lock *lock)
{
    return LIKELY(lock != NULL) ? lock_give(lock) : DN_EINVAL;
}
