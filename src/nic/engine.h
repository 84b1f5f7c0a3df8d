/* Martini on a packet network: operations of up to 64 users become packets, and arriving
 * packets are carried out on this node's memory.
 *
 *     user -> window, kick -> transaction FIFO -> header TLB -> record -> network
 *     network -> record -> address TLB -> memory, reply
 *
 * It does no I/O: time is an argument, memory is given, packets go out through nic_network
 * and come in through nic_engine_deliver. One caller at a time.
 *
 * Order (decision 6 of the memory model): AOTF stores and BOTF blocks of one user take
 * effect at a target in the order they were given; PUSH, PULL and atomics in any order
 * until nic_fence. An operation is never lost silently: it completes, or its completion
 * says DN_EPEER. Handlers never wait; what a handler has to send is its record's state
 * until there is room. */
#ifndef NIC_ENGINE_H
#define NIC_ENGINE_H

#include "dimmnet.h"
#include "nic/target_set.h"
#include "wire/operation.h"
#include "wire/route.h"

enum {
    NIC_USERS = 64,
    NIC_TRANSACTIONS = 2048, /* entries of the FIFO */
    NIC_WINDOWS = 64,        /* of BOTF */
    NIC_KICK_PAGE_BITS = 12,
    NIC_SERVICE_CHANNEL = 15, /* users have channels 0..14: user % 15 */
    NIC_BODY_BYTES_MIN = WIRE_OPERATION_BYTES + WIRE_BOTF_BYTES_MAX,
};

/* How the engine sends. The board makes one from a swif, a test from two arrays. None of these
 * calls back into the engine. */
struct nic_network {
    void *context;
    uint32_t body_bytes_max; /* at least NIC_BODY_BYTES_MIN */
    /* As swif_append: 0, DN_EFULL or DN_EPEER. */
    int (*append)(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room);
    bool (*has_reply_room)(void *context, uint64_t now_ns, uint16_t peer);
    void (*fence)(void *context, uint16_t target, uint8_t channel);
    uint64_t (*mark)(void *context);
    bool (*mark_is_passed)(void *context, uint64_t mark);
    /* How long bodies to that peer should be. May be NULL: body_bytes_max. */
    uint32_t (*body_bytes)(void *context, uint16_t peer);
    /* Sends an operation in a packet of its own, which may get lost, before whatever is appended
     * after it: 0, DN_EFULL or DN_EPEER. May be NULL: all are appended. */
    int (*datagram)(void *context, uint64_t now_ns, const struct wire_route *route,
                    const void *body, uint32_t bytes);
};

/* Where an area lies in this node's memory, and what others may not do there. */
struct nic_extent {
    uint64_t offset;
    uint64_t bytes;
    uint32_t denied; /* enum dn_right */
    uint32_t pgid;   /* the group whose area it is, where a NIC serves several; 0: everybody's */
};

/* The area that is all of this node's memory. Stores with the skip flag are to it as well. */
#define NIC_AREA_WHOLE 0

/* This node's memory, where its areas lie, and whom to tell of writes. */
struct nic_local_memory {
    void *context;
    unsigned char *base;
    uint64_t bytes;
    /* The address TLB's refill: 0, DN_EAREA or DN_ESTALE. */
    int (*find)(void *context, uint32_t area, struct nic_extent *extent);
    /* Called after a write, to wake whoever watches these bytes. May be NULL. */
    void (*written)(void *context, uint64_t offset, uint64_t bytes);
    /* Whether a node may do this in NIC_AREA_WHOLE, at this address. May be NULL: everybody may do
     * everything there. */
    bool (*permits)(void *context, uint16_t source, const struct wire_operation *operation,
                    uint64_t address);
    /* A packet that the hard-wired part does not know: Martini hands it to its core processor. May
     * be NULL: it is refused. */
    void (*unknown)(void *context, uint16_t source, uint32_t pgid, const unsigned char *body,
                    uint32_t bytes);
};

enum nic_completion_state { NIC_PENDING = 1, NIC_DONE = 2 };

/* How an operation ended. The caller owns this memory, and keeps it until the operation is done. */
struct nic_completion {
    uint32_t state; /* enum nic_completion_state */
    int result;     /* 0, DN_EPEER, or what the target refused it with */
    uint64_t value; /* a fetching atomic's old value */
};

/* The last access to a completion: its owner, perhaps another thread, may then reuse it. */
static inline void nic_completion_finish(struct nic_completion *completion, int result,
                                         uint64_t value)
{
    completion->result = result;
    completion->value = value;
    /* Release: pairs with the acquire in nic_completion_is_done. */
    __atomic_store_n(&completion->state, NIC_DONE, __ATOMIC_RELEASE);
}

/* For a thread that polls while others drive the NIC: once this is true, it also sees what a
 * PULL brought and all that was done here before. */
static inline bool nic_completion_is_done(const struct nic_completion *completion)
{
    return __atomic_load_n(&completion->state, __ATOMIC_ACQUIRE) == NIC_DONE;
}

struct nic_engine_config {
    uint16_t node;
    uint32_t pgid;
    uint32_t node_count;        /* targets are 0..node_count-1; at most WIRE_NODES_MAX */
    uint32_t kick_page_count;   /* the header table behind the TLB; at most 2^17 (29-bit kicks) */
    uint32_t transfer_count;    /* PUSH and PULL descriptors */
    uint32_t outstanding_count; /* requests whose replies are awaited, of all users */
};

struct nic_engine;

/* How much memory nic_engine_init needs (aligned to 64), or 0 for a config that makes no sense.
 * The memory must be all zero, as fresh memory is. Parts that are never used are never touched: a
 * node that only sends a few stores costs some pages, whatever the tables' sizes.
 *
 * A caller that has very many engines may give the memory in two pieces: `near`, of so many bytes,
 * is what nearly everything touches, and may lie close to that of other engines; `far` holds the
 * tables, which are large and mostly empty. NULL for `far`: it lies behind `near`. */
uint64_t nic_engine_bytes(const struct nic_engine_config *config);
uint64_t nic_engine_near_bytes(void);
struct nic_engine *nic_engine_init(const struct nic_engine_config *config,
                                   const struct nic_network *network,
                                   const struct nic_local_memory *memory, void *near, void *far);

/* ---- Users ------------------------------------------------------------------------- */

/* A user's credit: how many FIFO entries it may hold. 0 takes the user away; what it gave
 * before still goes out. DN_EFULL: the credits given out would exceed the FIFO. */
int nic_user_set(struct nic_engine *engine, uint32_t user, uint32_t credit);

/* The group that the user's packets name, from now on; without it that of the config. Only the
 * kernel's side of a node may say so. DN_EBUSY: the user has something in the FIFO, or a page. */
int nic_user_group(struct nic_engine *engine, uint32_t user, uint32_t pgid);

/* Maps a page of a remote area: a header seed in the header table. With `skip` the offset
 * is physical (from the start of the target's node memory), and the target does not
 * translate it; only the kernel's side of a node may ask for that. */
int nic_kick_open(struct nic_engine *engine, uint32_t user, struct dn_remote page, bool skip,
                  uint64_t *kick_address);
/* The same for remote reads. A store to the page reads as many bytes as it stores from that place
 * of the remote area; its value says where in this node's page at `local`, which is a multiple of
 * 4,096, they go. There they are polled for; a refusal is the user's next nic_quiet's to tell. */
int nic_kick_open_read(struct nic_engine *engine, uint32_t user, struct dn_remote page,
                       uint64_t local, uint64_t *kick_address);
/* DN_EBUSY: a store to it waits in the FIFO. */
int nic_kick_close(struct nic_engine *engine, uint64_t kick_address);

/* All calls below return DN_EFULL when the user's credit (or windows, descriptors) is used up: try
 * again after nic_engine_run. DN_EINVAL, DN_ERANK, DN_EALIGN are the caller's mistakes. */

/* One store of 1 to 8 bytes to a kick address. 1, 2, 4 and 8 bytes lie on a multiple of their
 * number; 3, 5, 6 and 7 within 8 such bytes, as the bus' byte enables can name them. */
int nic_aotf(struct nic_engine *engine, uint32_t user, uint64_t kick_address, uint64_t value,
             unsigned bytes);
/* A block of 1..464 bytes; the source may be reused at once. */
int nic_botf(struct nic_engine *engine, uint32_t user, struct dn_remote remote, const void *source,
             uint32_t bytes);
/* BOTF with a packet that the user made itself: a record (wire/operation.h) of WIRE_BOTF, or of
 * WIRE_PULL, a remote read whose tag holds area << 32 | offset of this node's memory for the
 * answer, or of a type that only the target's core processor knows; up to 464 bytes of data, and
 * whole 8 bytes. The NIC stamps the group on it and replaces a read's tag by its own. DN_ERIGHTS:
 * all other types are the NIC's own to send. */
int nic_botf_packet(struct nic_engine *engine, uint32_t user, uint16_t target, const void *packet,
                    uint32_t bytes);
/* The source must stay until completion. Completion NULL: only nic_quiet tells. A push that
 * names no memory of the target's completes as well; the target counts it. */
int nic_push(struct nic_engine *engine, uint32_t user, struct dn_remote remote, const void *source,
             uint64_t bytes, struct nic_completion *completion);
int nic_pull(struct nic_engine *engine, uint32_t user, struct dn_remote remote, void *target,
             uint64_t bytes, struct nic_completion *completion);
/* Completion NULL: nobody wants the old value. */
int nic_atomic(struct nic_engine *engine, uint32_t user, struct dn_remote remote,
               enum wire_atomic function, unsigned bytes, uint64_t operand, uint64_t expected,
               struct nic_completion *completion);
int nic_fence(struct nic_engine *engine, uint32_t user);
/* Completes when everything that the user gave before has taken effect. The result is the error of
 * the first operation since the last quiet that failed without a completion of its own. It is also
 * DN_EPEER when a peer was lost that had been sent to since: nobody knows what arrived. */
int nic_quiet(struct nic_engine *engine, uint32_t user, struct nic_completion *completion);

/* Whether nothing of the user's is waiting or under way, and no failure is unreported: a quiet
 * would complete at once, with 0. */
bool nic_user_is_quiet(const struct nic_engine *engine, uint32_t user);

/* ---- What drives it ---------------------------------------------------------------- */

/* Turns waiting transactions, transfers and service packets into records, as far as there
 * is room; completes quiets. Call it after any of the calls above and below. */
void nic_engine_run(struct nic_engine *engine, uint64_t now_ns);

/* Whether it has anything to turn into records or to complete, if there is room. */
bool nic_engine_has_work(const struct nic_engine *engine);

/* A packet's body has come, of the engine's own group. False: there is no room for its replies,
 * and nothing was done. */
bool nic_engine_deliver(struct nic_engine *engine, uint64_t now_ns, uint16_t source,
                        enum wire_class class, uint8_t channel, const unsigned char *body,
                        uint32_t bytes);
/* The same from a network that says of which group it is. */
bool nic_engine_deliver_of(struct nic_engine *engine, uint64_t now_ns, uint32_t pgid,
                           uint16_t source, enum wire_class class, uint8_t channel,
                           const unsigned char *body, uint32_t bytes);
void nic_engine_acknowledged(struct nic_engine *engine, uint64_t now_ns, uint16_t peer,
                             uint64_t cookie);
/* Call this before giving up a peer that has left, when the network has nothing under way to it:
 * then what it acknowledged and answered does not end with DN_EPEER. False: something has not been
 * sent yet, or its answer is awaited; nothing was done. */
bool nic_engine_forget_peer(struct nic_engine *engine, uint16_t peer);
/* Completes all that waits for the peer with DN_EPEER. */
void nic_engine_peer_lost(struct nic_engine *engine, uint64_t now_ns, uint16_t peer);
/* The area was deregistered, or others have other rights in it: nic_local_memory.find no longer
 * knows its name, or says so. */
void nic_engine_forget_area(struct nic_engine *engine, uint32_t area);

/* For simulators, which model time. The node to which stores to an open kick page go. */
uint16_t nic_kick_target(const struct nic_engine *engine, uint64_t kick_address);
/* The next nic_aotf, nic_botf or nic_botf_packet carries this tag, which is not 0, into its
 * record's route (wire/route.h), so that a simulator knows which store a packet was made from. */
void nic_tag_next(struct nic_engine *engine, uint32_t tag);
/* Refills the address TLB for the area if it has to be; whether it had to. So there is one refill,
 * however many packets that name the area are between there and memory. */
bool nic_engine_recall_area(struct nic_engine *engine, uint32_t area);

/* The peers whose replies are awaited. A peer that dies after carrying out a request and before
 * replying leaves nothing under way to it, so somebody has to check that it still lives. */
bool nic_engine_awaits_replies(const struct nic_engine *engine);
void nic_engine_awaited(const struct nic_engine *engine, struct nic_target_set *peers);

struct nic_services;
/* The lock, barrier and message services of this node (nic/services.h). */
void nic_engine_serve(struct nic_engine *engine, struct nic_services *services);

struct nic_engine_counters {
    uint64_t transactions;
    uint64_t header_hits, header_misses;
    uint64_t address_hits, address_misses, address_skips;
    uint64_t carried_out; /* operations of others on this memory */
    uint64_t refused;     /* operations of others that named no memory of ours, or had no right */
    uint64_t foreign;     /* of these: the area was another group's */
    uint64_t unknown;     /* packets handed to the core processor */
    uint64_t replies_unexpected;
    uint64_t lost_operations; /* of our users: dropped for a lost peer, without completion */
};
const struct nic_engine_counters *nic_engine_counters(const struct nic_engine *engine);

#endif
