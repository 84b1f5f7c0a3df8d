/* The engine's insides, shared by its four files.
 *
 *     engine.c             memory, users' calls
 *     engine_request.c     FIFO entries and transfers become records
 *     engine_handler.c     records of others are carried out
 *     engine_completion.c  replies, acknowledgements, lost peers: how things end
 *
 * An operation of a user is in exactly one place: the FIFO, a transfer, an outstanding
 * request, or the network's hands. */
#ifndef NIC_ENGINE_STATE_H
#define NIC_ENGINE_STATE_H

#include <stddef.h>

#include "base/pool.h"
#include "nic/address_tlb.h"
#include "nic/engine.h"
#include "nic/header_tlb.h"
#include "nic/target_set.h"
#include "nic/transaction.h"
#include "nic/window.h"

enum {
    NIC_PULL_WINDOW = 16, /* requests of one PULL that may be under way */
    NIC_NONE = UINT32_MAX,
};

/* A PUSH or PULL. FREE -> WAITING (its entry is in the FIFO) -> SENDING (records are still
 * to be appended) -> ENDING (acknowledgements or replies are awaited) -> FREE. A lost peer
 * or a refusal shortens the way. */
enum nic_transfer_state { NIC_TRANSFER_FREE, NIC_WAITING, NIC_SENDING, NIC_ENDING };

struct nic_transfer {
    enum nic_transfer_state state;
    uint32_t generation;     /* changes when it is freed, so that nothing late finds it */
    uint32_t previous, next; /* SENDING: the ring of those; FREE: next is the pool's */
    bool pulls;
    uint8_t user;
    uint16_t target;
    uint32_t area;
    uint64_t offset;
    uint64_t bytes;
    uint64_t sent_bytes; /* records appended so far cover these */
    uint32_t under_way;  /* records appended and not acknowledged or answered */
    int result;
    unsigned char *local; /* a PUSH only reads it */
    struct nic_completion *completion;
};

/* A request whose reply is awaited. Its tag is generation << 32 | index. */
struct nic_outstanding {
    bool in_use;
    uint8_t user;
    uint16_t peer;
    uint32_t generation;  /* 0: never used, so that no tag is WIRE_NO_TAG; changes at each use */
    uint32_t transfer;    /* PULL; NIC_NONE: a fetching atomic, or a read */
    uint32_t bytes;       /* that the reply has to have */
    uint32_t next_free;   /* the pool's */
    unsigned char *local; /* PULL, or a read: where they go; NULL: an atomic */
    struct nic_completion *completion;
};

struct nic_user {
    uint32_t sending;     /* its transfers in SENDING */
    uint32_t transfers;   /* in SENDING and ENDING */
    uint32_t outstanding; /* its atomics whose replies are awaited */
    uint64_t mark;        /* of the network, after the last record of the user's */
    int failed;           /* what the next QUIET has to say */
    uint32_t pgid;        /* 0: the config's */
    uint32_t pages;       /* kick pages that are open */
    /* Targets sent to since the last FENCE or QUIET. The words come with the first credit. */
    struct nic_target_set since_fence;
    struct nic_target_set since_quiet;
};

/* The side that gets room first. */
enum nic_turn { NIC_TURN_USERS, NIC_TURN_TRANSFERS, NIC_TURN_SERVICES, NIC_TURNS };

/* What every operation touches comes first and is small; the tables lie behind it. */
struct nic_engine {
    struct nic_engine_config config;
    struct nic_network network;
    struct nic_local_memory memory;
    struct nic_services *services; /* may be NULL */
    uint32_t chunk_bytes;          /* data of a full PUSH or PULLED record */
    enum nic_turn turn;
    bool running;      /* in nic_engine_run: nothing may call back */
    uint32_t next_tag; /* of the next AOTF or BOTF; 0: none */

    struct base_pool transfer_pool; /* of the transfers */
    struct nic_transfer *transfers;
    uint32_t sending_first; /* of the ring */
    uint32_t sending_count;

    struct base_pool outstanding_pool;
    struct nic_outstanding *outstanding;

    struct nic_target_set blocked; /* targets without room, in one pass */
    uint64_t *user_words;          /* of the users' sets */
    struct nic_engine_counters counters;
    struct nic_windows windows;
    struct nic_address_tlb addresses;
    struct nic_header_tlb headers;
    struct nic_transaction_fifo fifo;
    struct nic_user users[NIC_USERS];
};

static inline uint32_t nic_user_pgid(const struct nic_engine *engine, uint32_t user)
{
    return engine->users[user].pgid ? engine->users[user].pgid : engine->config.pgid;
}

static inline uint8_t nic_user_channel(uint32_t user)
{
    return (uint8_t)(user % NIC_SERVICE_CHANNEL);
}

/* ---- engine_completion.c ----------------------------------------------------------- */

/* The operation is over. Without a completion, a failure is kept for the user's next QUIET. */
void nic_complete(struct nic_engine *engine, uint32_t user, struct nic_completion *completion,
                  int result, uint64_t value);

/* Gives up a record whose peer is lost, and frees all that its kind holds. */
void nic_transaction_lost(struct nic_engine *engine, struct nic_transaction *transaction);

/* The one that nic_transfer_take will give; NIC_NONE: none is free. */
static inline uint32_t nic_transfer_next(const struct nic_engine *engine)
{
    return base_pool_next(&engine->transfer_pool);
}
uint32_t nic_transfer_take(struct nic_engine *engine);
/* FIFO entry -> SENDING, SENDING -> ENDING. The second ends it if nothing is under way. */
void nic_transfer_start(struct nic_engine *engine, uint32_t index);
void nic_transfer_all_sent(struct nic_engine *engine, uint32_t index);
/* Ends it now, whatever is under way. */
void nic_transfer_end(struct nic_engine *engine, uint32_t index, int result);

static inline bool nic_outstanding_is_full(const struct nic_engine *engine)
{
    return base_pool_left(&engine->outstanding_pool) == 0;
}
/* Must not be called when full. The caller fills in the fields. */
struct nic_outstanding *nic_outstanding_take(struct nic_engine *engine, uint64_t *tag);

void nic_reply_received(struct nic_engine *engine, uint16_t source,
                        const struct wire_operation *reply);

#endif
