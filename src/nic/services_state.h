/* What the services' files share: the tables, and the list of what is due.
 *
 * A struct nic_due stands for one possible source of records to one node. It is in the list
 * whenever it may have something to send; nic_services_next asks it what, and takes it out
 * when it has nothing. So the cost of sending depends on what is due, not on the tables' sizes. */
#ifndef NIC_SERVICES_STATE_H
#define NIC_SERVICES_STATE_H

#include <string.h>

#include "base/pool.h"
#include "nic/message_protocol.h"
#include "nic/services.h"

enum nic_lock_record_kind {
    NIC_LOCK_RECORD_REQUEST = 1,
    NIC_LOCK_RECORD_TRY,
    NIC_LOCK_RECORD_CANCEL,
    NIC_LOCK_RECORD_RELEASED,
    NIC_LOCK_RECORD_GRANT,
    NIC_LOCK_RECORD_INHERIT,
    NIC_LOCK_RECORD_NEXT,
    NIC_LOCK_RECORD_REFUSED,
    NIC_LOCK_RECORD_CHAIN_REQUEST, /* paper 004's lock_req */
    NIC_LOCK_RECORD_CHAIN_FORWARD, /* lock_forw */
    NIC_LOCK_RECORD_CHAIN_REPLY,   /* lock_reply */
};

enum nic_barrier_record_kind {
    NIC_BARRIER_RECORD_ARRIVE = 1,
    NIC_BARRIER_RECORD_RELEASE,
    NIC_BARRIER_RECORD_BROKEN,
    NIC_BARRIER_RECORD_ASK,
};

/* In front of a change's bytes: offset 4, length 4. */
enum { NIC_LOCK_CHANGE_HEADER_BYTES = 8 };
#define NIC_LOCK_CHANGE_OR UINT32_C(0x80000000) /* in the offset */

enum { NIC_MESSAGE_CHANNEL_MASK = (1 << NIC_SERVICE_CHANNEL_BITS) - 1 };

/* The others are enum px_packet_type. */
enum { NIC_MESSAGE_RECORD_UNDECLARED = PX_RESEND + 1 };

/* ---- What is due ------------------------------------------------------------------- */

enum nic_due_kind {
    NIC_DUE_REFUSAL = 0,   /* struct nic_refusal: lines that are all zero are valid */
    NIC_DUE_LOCK_WAITER,   /* struct nic_lock_waiter */
    NIC_DUE_LOCK_MANAGER,  /* struct nic_lock_use, to_manager */
    NIC_DUE_LOCK_NEXT,     /* struct nic_lock_use, to_next */
    NIC_DUE_BARRIER,       /* struct nic_barrier_link */
    NIC_DUE_DATA,          /* struct nic_message_line of a destination */
    NIC_DUE_ANSWER,        /* struct nic_message_line of a source */
    NIC_DUE_CHAIN_REQUEST, /* struct nic_chain_member, to_manager */
    NIC_DUE_CHAIN_REPLY,   /* struct nic_chain_member, to_next */
    NIC_DUE_CHAIN_FORWARD, /* struct nic_chain_forward */
};

struct nic_due {
    struct nic_due *before;
    struct nic_due *behind;
    enum nic_due_kind kind;
    bool listed;
};

enum nic_readiness { NIC_READY_NEVER, NIC_READY_LATER, NIC_READY_NOW };

#define NIC_DUE_OWNER(due, type, member) \
    ((type *)(void *)((unsigned char *)(due)-offsetof(type, member)))

/* ---- Tables ------------------------------------------------------------------------ */

/* With the table of locks full to the last line, chains hold 16 of them. */
enum { NIC_LOCK_BUCKETS = 4096 };

/* What every barrier, lock or message asks of a peer. Lines are short, so that those of the few
 * peers that a node has lie close together. */
struct nic_service_peer {
    uint64_t blocked_round; /* the last in which there was no room for it */
    uint32_t watch_count;   /* while hooks.watch is there */
};

/* Refusals that a peer has yet to be told. */
struct nic_refusal {
    struct nic_due due;
    /* All lock requests of this peer from the first to the last of these are refused with
     * DN_EFULL, and so is every one that comes before the peer has been told; 0: none. */
    uint64_t refused_first;
    uint64_t refused_last;
    uint64_t undeclared; /* bits of the channels in which it sent to us but is no source */
};

/* The node that gets the lock after a requester. */
struct nic_lock_next {
    uint64_t ticket; /* 0: nobody known */
    uint16_t node;
};

/* The manager's line for one request. The first in a lock's queue has the lock, as far as
 * the manager knows; it may have passed the lock on already. */
enum nic_lock_waiter_state { NIC_WAITER_FREE, NIC_WAITER_QUEUED, NIC_WAITER_REFUSED };
struct nic_lock_waiter {
    struct nic_due due;
    struct nic_lock_waiter *before; /* in the queue */
    struct nic_lock_waiter *behind;
    struct nic_lock_queue *queue; /* QUEUED: where */
    uint64_t ticket;
    enum nic_lock_waiter_state state;
    uint16_t node;
    bool grant_due;
    bool inherits;                    /* the one before died with the lock */
    bool told_dead;                   /* the next that it was told of has died since */
    int refusal;                      /* REFUSED: why */
    struct nic_lock_region wanted[2]; /* of the value, with the grant; both empty: nothing */
    struct nic_lock_next told;        /* whom the last NEXT named */
};

/* A lock that somebody has or wants, or that a dead holder left. The manager knows nothing of
 * any other lock. */
struct nic_lock_queue {
    struct nic_lock_queue *next; /* in its bucket */
    uint64_t name;
    struct nic_lock_waiter *first;
    struct nic_lock_waiter *last;
    uint16_t watched; /* the first one's node */
    bool is_left;     /* empty, and the last holder died with the lock */
};

/* A requester's line for one use. */
enum nic_lock_use_state {
    NIC_USE_FREE,
    NIC_USE_WAITING,
    NIC_USE_HELD,
    NIC_USE_LOST,       /* held, the manager is gone */
    NIC_USE_CANCELLING, /* over for the host; CANCEL is due */
    NIC_USE_RELEASING,  /* over for the host; RELEASED or the next one's GRANT is due */
};
struct nic_lock_use {
    struct nic_due to_manager;
    struct nic_due to_next;
    struct nic_lock_use *next_use; /* in its bucket */
    enum nic_lock_use_state state;
    bool try;
    bool manager_due; /* REQUEST or TRY, CANCEL, RELEASED: as the state says */
    bool next_due;    /* RELEASING: GRANT to `next` */
    uint16_t manager;
    uint64_t name; /* the lock's */
    uint64_t ticket;
    struct nic_lock_next next;
    struct nic_completion *completion;
    struct nic_lock_value value; /* WAITING: where it goes; its memory NULL: none is wanted */
    unsigned char *changes;      /* RELEASING: a line of `changes`, or NULL */
    uint32_t changes_bytes;
};

/* ---- Paper 004's lock: service_lock_chain.c */

/* A requester's structure, at any node. */
struct nic_chain_name {
    uint16_t node; /* WIRE_NOBODY: nobody */
    uint32_t line;
};

enum nic_chain_condition {
    NIC_CHAIN_NONE,
    NIC_CHAIN_WAIT,
    NIC_CHAIN_LOCK,
    NIC_CHAIN_QUEUED,
    NIC_CHAIN_LAST,
};

struct nic_chain_member {
    struct nic_due to_manager;
    struct nic_due to_next;
    enum nic_chain_condition condition;
    bool here; /* the lock is at this structure: LOCK, LAST, or see service_lock_chain.c */
    bool request_due;
    uint16_t manager;
    uint64_t name;
    struct nic_chain_name next;     /* QUEUED: next_proc */
    struct nic_chain_name reply_to; /* who is to be sent lock_reply */
    struct nic_completion *completion;
};

struct nic_chain_lock {
    uint32_t unused; /* the pool's */
    uint64_t name;
    struct nic_chain_name last; /* last_proc; nobody: never asked for */
};

/* A request that is to be forwarded. */
struct nic_chain_forward {
    struct nic_due due;
    struct nic_chain_name to; /* nobody: the lock itself goes to the requester */
    struct nic_chain_name requester;
};

/* A team's neighbours in the tree. */
enum { NIC_BARRIER_PARENT, NIC_BARRIER_LEFT, NIC_BARRIER_RIGHT, NIC_BARRIER_LINKS };
struct nic_barrier_link {
    struct nic_due due;
    struct nic_barrier *barrier;
    uint16_t node;  /* WIRE_NOBODY: none */
    bool phase_due; /* ARRIVE to the parent, RELEASE to a child */
    bool broken_due;
    bool ask_due;
    uint32_t arrived_phase; /* of a child: the last that it arrived at */
};
struct nic_barrier {
    bool open;
    bool broken;
    bool waiting; /* our host has arrived at released_phase + 1 */
    uint32_t team;
    uint32_t released_phase; /* the last that is over */
    uint32_t told_phase;     /* the last that the parent was, or is to be, told of */
    struct nic_completion *completion;
    struct nic_barrier_link links[NIC_BARRIER_LINKS];
};

/* Beside a line of S_SEQTBL or R_SEQTBL. */
struct nic_message_line {
    struct nic_due due;
    struct nic_message_context *context;
    uint32_t remote_channel; /* of the context at the peer; a source's as its last record said */
    bool may_get_lost;       /* its records; a source's as its last record came */
    bool undeclared;         /* destination: we are not among its sources; the line is lost */
    bool watched;            /* destination: while something is not acknowledged */
};

struct nic_message_context {
    bool open;
    struct px_sender sender;
    struct px_receiver receiver;
    struct px_buffer buffer; /* RB */
    struct nic_message_line *destinations;
    struct nic_message_line *sources;
};

struct nic_services {
    struct nic_services_config config;
    struct nic_services_hooks hooks;
    struct nic_services_counters counters;
    struct nic_due due;     /* the list's head */
    struct nic_due *cursor; /* the next to be asked in this round */
    uint64_t round;
    uint64_t blocked_round; /* the last in which there was no room for somebody */
    uint16_t offered;       /* whose record has been offered and not sent; WIRE_NOBODY: none */
    struct nic_service_peer *peers;        /* by node */
    struct nic_refusal *refusals;          /* by node */
    struct base_pool queues;               /* struct nic_lock_queue */
    struct base_pool waiters;              /* struct nic_lock_waiter */
    struct base_pool uses;                 /* struct nic_lock_use */
    struct base_pool changes;              /* of lock_value_bytes */
    unsigned char *record;                 /* the data of a record with a value */
    struct nic_lock_queue **queue_buckets; /* NIC_LOCK_BUCKETS, by name */
    struct nic_lock_use **use_buckets;     /* NIC_LOCK_BUCKETS, by ticket */
    uint64_t last_ticket;
    struct nic_barrier *barriers;
    struct nic_message_context *contexts;
    struct base_pool chain_members;  /* struct nic_chain_member */
    struct base_pool chain_locks;    /* struct nic_chain_lock */
    struct base_pool chain_forwards; /* struct nic_chain_forward */
};

/* ---- Services to the files (services.c) ---------------------------------------------- */

void nic_due_add(struct nic_services *services, struct nic_due *due);
void nic_due_remove(struct nic_services *services, struct nic_due *due);

/* Somebody begins or ceases to wait for the peer: they are counted, and the hook is told. */
void nic_services_watch(struct nic_services *services, uint64_t now_ns, uint16_t peer, bool on);

/* Fills in a record without data. */
void nic_service_record(struct nic_service_packet *packet, uint16_t target,
                        enum wire_service service, unsigned kind, uint32_t number, uint64_t offset);
/* One number more as data; NIC_SERVICE_NUMBERS_MAX in all. */
void nic_service_record_add(struct nic_service_packet *packet, uint64_t number);

/* ---- What each file provides ----------------------------------------------------------- */

/* deliver: false when the record is malformed. */
struct nic_lock_queue *nic_lock_queue_find(const struct nic_services *services, uint64_t name);
/* Whether a value of these regions may be asked for. */
bool nic_lock_regions_fit(const struct nic_services *services,
                          const struct nic_lock_region *regions);
bool nic_lock_manager_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                              unsigned kind, const struct wire_operation *operation);
void nic_lock_manager_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer);
bool nic_lock_waiter_peek(struct nic_services *services, const struct nic_lock_waiter *waiter,
                          struct nic_service_packet *packet);
void nic_lock_waiter_sent(struct nic_services *services, struct nic_lock_waiter *waiter,
                          const struct nic_service_packet *packet);

bool nic_lock_use_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                          unsigned kind, const struct wire_operation *operation);
void nic_lock_uses_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer);
bool nic_lock_use_peek(struct nic_services *services, struct nic_due *due,
                       struct nic_service_packet *packet);
void nic_lock_use_sent(struct nic_services *services, struct nic_due *due);

bool nic_barrier_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                         unsigned kind, uint32_t team, const struct wire_operation *operation);
void nic_barriers_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer);
bool nic_barrier_peek(const struct nic_barrier_link *link, struct nic_service_packet *packet);
void nic_barrier_sent(struct nic_barrier_link *link);

/* Messages go through a table, so that a library without them holds none of their code. */
struct nic_message_service {
    void (*init)(struct nic_services *services);
    bool (*deliver)(struct nic_services *services, uint64_t now_ns, uint16_t source, unsigned kind,
                    uint32_t channel, const struct wire_operation *operation, bool may_get_lost);
    void (*peer_lost)(struct nic_services *services, uint64_t now_ns, uint16_t peer);
    enum nic_readiness (*peek)(struct nic_services *services, uint64_t now_ns, struct nic_due *due,
                               struct nic_service_packet *packet);
    void (*sent)(uint64_t now_ns, struct nic_due *due, const struct nic_service_packet *packet);
    /* When the line may send; for NIC_DUE_DATA. */
    uint64_t (*ready_ns)(uint64_t now_ns, struct nic_due *due);
};

/* So does paper 004's lock, which only the simulator has. */
struct nic_chain_service {
    bool (*deliver)(struct nic_services *services, uint16_t source, unsigned kind,
                    const struct wire_operation *operation);
    bool (*peek)(const struct nic_services *services, struct nic_due *due,
                 struct nic_service_packet *packet);
    void (*sent)(struct nic_services *services, struct nic_due *due);
};

#endif
