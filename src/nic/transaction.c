/* The pool of transactions, its queues as links between entries, credits and turns. */
#include "nic/transaction.h"

#include <stddef.h>

_Static_assert(NIC_USERS == 64, "busy_users has a bit for each user");

void nic_transaction_init(struct nic_transaction_fifo *fifo, struct nic_transaction *entries)
{
    *fifo = (struct nic_transaction_fifo){.last_user = NIC_USERS - 1, .entries = entries};
    base_pool_init(&fifo->pool, entries, sizeof *entries, offsetof(struct nic_transaction, newer),
                   NIC_TRANSACTIONS);
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        fifo->queues[user].oldest = BASE_POOL_NONE;
        fifo->queues[user].newest = BASE_POOL_NONE;
    }
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

int nic_transaction_set_credit(struct nic_transaction_fifo *fifo, uint32_t user, uint32_t credit)
{
    INVARIANT(user < NIC_USERS);
    struct nic_transaction_queue *queue = &fifo->queues[user];
    if (credit > NIC_TRANSACTIONS) {
        return DN_EFULL;
    }
    uint32_t others = fifo->promised - larger(queue->credit, queue->held);
    uint32_t promised = others + larger(credit, queue->held);
    if (promised > NIC_TRANSACTIONS) {
        return DN_EFULL;
    }
    fifo->promised = promised;
    queue->credit = (uint16_t)credit;
    return 0;
}

int nic_transaction_push(struct nic_transaction_fifo *fifo,
                         const struct nic_transaction *transaction)
{
    INVARIANT(transaction->user < NIC_USERS);
    struct nic_transaction_queue *queue = &fifo->queues[transaction->user];
    if (queue->held >= queue->credit) {
        return DN_EFULL;
    }
    uint32_t entry = base_pool_take(&fifo->pool);
    INVARIANT(entry != BASE_POOL_NONE); /* credits promise no more than there are */
    struct nic_transaction *taken = &fifo->entries[entry];
    *taken = *transaction;
    taken->older = queue->newest;
    taken->newer = BASE_POOL_NONE;
    if (queue->newest != BASE_POOL_NONE) {
        fifo->entries[queue->newest].newer = entry;
    } else {
        queue->oldest = entry;
        fifo->busy_users |= UINT64_C(1) << transaction->user;
    }
    queue->newest = entry;
    queue->held++;
    return 0;
}

static struct nic_transaction *entry_at(struct nic_transaction_fifo *fifo, uint32_t entry)
{
    return entry == BASE_POOL_NONE ? NULL : &fifo->entries[entry];
}

struct nic_transaction *nic_transaction_first(struct nic_transaction_fifo *fifo, uint32_t user)
{
    INVARIANT(user < NIC_USERS);
    return entry_at(fifo, fifo->queues[user].oldest);
}

struct nic_transaction *nic_transaction_next(struct nic_transaction_fifo *fifo,
                                             const struct nic_transaction *transaction)
{
    return entry_at(fifo, transaction->newer);
}

/* The neighbours must know the entry; if they do not, it was taken out before. */
static void unlink_entry(struct nic_transaction_fifo *fifo, struct nic_transaction_queue *queue,
                         const struct nic_transaction *transaction)
{
    uint32_t entry = (uint32_t)(transaction - fifo->entries);
    if (transaction->older != BASE_POOL_NONE) {
        INVARIANT(fifo->entries[transaction->older].newer == entry);
        fifo->entries[transaction->older].newer = transaction->newer;
    } else {
        INVARIANT(queue->oldest == entry);
        queue->oldest = transaction->newer;
    }
    if (transaction->newer != BASE_POOL_NONE) {
        fifo->entries[transaction->newer].older = transaction->older;
    } else {
        queue->newest = transaction->older;
    }
}

void nic_transaction_remove(struct nic_transaction_fifo *fifo, struct nic_transaction *transaction)
{
    struct nic_transaction_queue *queue = &fifo->queues[transaction->user];
    INVARIANT(queue->held > 0);
    unlink_entry(fifo, queue, transaction);
    if (queue->held > queue->credit) {
        fifo->promised--;
    }
    queue->held--;
    if (queue->held == 0) {
        fifo->busy_users &= ~(UINT64_C(1) << transaction->user);
    }
    base_pool_give(&fifo->pool, (uint32_t)(transaction - fifo->entries));
}

uint32_t nic_transaction_turn(struct nic_transaction_fifo *fifo, uint64_t passed_over)
{
    uint64_t users = fifo->busy_users & ~passed_over;
    if (users == 0) {
        return NIC_USERS;
    }
    /* The users after the last one or, if there are none, from the first again. The shift has
     * two steps because a shift by 64 has no meaning. */
    uint64_t after = users & (~UINT64_C(0) << fifo->last_user << 1);
    fifo->last_user = (uint32_t)__builtin_ctzll(after ? after : users);
    return fifo->last_user;
}
