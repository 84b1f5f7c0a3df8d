/* The transaction FIFO: operations that users gave and that are not packets yet.
 *
 * One pool of entries, and a queue per user in the order given: a user whose target is slow
 * does not stop the others, and within a queue an entry may leave before an older one, as
 * the engine decides. Each user has a credit, the number of entries that it may hold.
 * Credits never promise more entries than there are, so a user within its credit is never
 * refused, whatever the others do. */
#ifndef NIC_TRANSACTION_H
#define NIC_TRANSACTION_H

#include "base/pool.h"
#include "nic/engine.h"

enum nic_transaction_kind {
    NIC_AOTF = 1,
    NIC_READ, /* a store to a page for reads */
    NIC_BOTF,
    NIC_PACKET, /* BOTF with the user's own packet */
    NIC_PUSH,
    NIC_PULL,
    NIC_ATOMIC,
    NIC_FENCE,
    NIC_QUIET,
};

/* A kind uses only the fields said to be for it or for all; the queue looks only at the user. */
struct nic_transaction {
    enum nic_transaction_kind kind;
    uint8_t user;
    uint8_t function; /* ATOMIC: enum wire_atomic */
    uint16_t target;
    uint32_t area;
    uint32_t index;  /* BOTF, PACKET: the window; PUSH, PULL: the transfer */
    uint64_t offset; /* in the area; AOTF, READ: the kick address */
    uint64_t bytes;
    uint32_t tag;                      /* AOTF, READ, BOTF, PACKET: as nic_tag_next gave it */
    uint64_t operand;                  /* AOTF: the value; READ, PACKET: where an answer goes */
    uint64_t expected;                 /* of a compare-and-swap */
    struct nic_completion *completion; /* may be NULL */
    uint32_t older, newer; /* the queue's: neighbours in the pool, BASE_POOL_NONE at ends */
};

struct nic_transaction_queue {
    uint32_t oldest, newest; /* BASE_POOL_NONE: empty */
    uint16_t held;
    uint16_t credit;
};

struct nic_transaction_fifo {
    uint64_t busy_users; /* bit u: user u has entries */
    uint32_t last_user;  /* whose turn it was */
    uint32_t promised;   /* sum of each user's credit, or what it holds if that is more */
    struct nic_transaction_queue queues[NIC_USERS];
    struct nic_transaction *entries; /* NIC_TRANSACTIONS */
    struct base_pool pool;           /* of them, linked by `newer` */
};

/* No user has credit. There are NIC_TRANSACTIONS entries; one is written before it is read. */
void nic_transaction_init(struct nic_transaction_fifo *fifo, struct nic_transaction *entries);

/* A credit may be lowered below what the user holds: it gets no new entries until it holds
 * less, and the entries above its credit count as promised until they leave. DN_EFULL: more
 * would be promised than there is; nothing changed. */
int nic_transaction_set_credit(struct nic_transaction_fifo *fifo, uint32_t user, uint32_t credit);

/* Copies the transaction to the end of its user's queue. DN_EFULL: no credit left. */
int nic_transaction_push(struct nic_transaction_fifo *fifo,
                         const struct nic_transaction *transaction);

/* A user's queue from its oldest entry on; NULL at the end. */
struct nic_transaction *nic_transaction_first(struct nic_transaction_fifo *fifo, uint32_t user);
struct nic_transaction *nic_transaction_next(struct nic_transaction_fifo *fifo,
                                             const struct nic_transaction *transaction);

/* Takes an entry out, wherever it stands. Get the next one first. */
void nic_transaction_remove(struct nic_transaction_fifo *fifo, struct nic_transaction *transaction);

/* Whose turn it is, round robin among the users that have entries and are not in the map
 * `passed_over` (users with nothing that can move now); NIC_USERS: nobody's. */
uint32_t nic_transaction_turn(struct nic_transaction_fifo *fifo, uint64_t passed_over);

static inline uint32_t nic_transaction_count(const struct nic_transaction_fifo *fifo, uint32_t user)
{
    return fifo->queues[user].held;
}

#endif
