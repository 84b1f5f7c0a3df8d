/* The core processor's services on a packet network: LOCK, BARRIER and SEND/RECEIVE of paper 004,
 * as handlers of WIRE_SERVICE records. What group/lock.h, group/tree.h and group/message.h do in
 * place on shared memory, these do by records between nodes.
 *
 * They do no I/O: time is an argument, memory is given. Records come in through
 * nic_services_deliver and go out through nic_services_next and nic_services_sent. One
 * caller at a time. The carrier (InfiniSWIF's CD) delivers each record once, in order
 * between two nodes, or says that the peer is lost; after that nothing more comes from the
 * peer's old life. Records that may get lost (messages with loss detection) may go by another
 * (UD), which delivers them at most once, and none after a record that was sent later. Records to
 * this node itself never leave it.
 *
 * Handlers never refuse and never wait. What one has to send is a state in a bounded table
 * ("due") and goes out when there is room. No request needs more than its line of a table
 * at its receiver; a full table is answered with DN_EFULL.
 *
 * Records. `area` is kind << 24 | number; numbers are little endian. A record whose length
 * differs from the table, or with a number out of range, is dropped and counted.
 *
 *  detail   kind          number   from -> to            offset            data
 *  LOCK     1 REQUEST     0        requester -> manager  ticket            name 8, or that and
 *                                                                         two regions 8
 *           2 TRY         0        requester -> manager  ticket            the same
 *           3 CANCEL      0        requester -> manager  ticket            name 8
 *           4 RELEASED    0        holder -> manager     ticket            name 8, next ticket
 *                                                                         8 (0: none), its
 *                                                                         node 8; changes
 *           5 GRANT       0        manager, holder       ticket of the     what the regions hold,
 *                                  -> requester          requester         or nothing
 *           6 INHERIT     0        manager -> requester  the same; the     the same
 *                                                        holder died
 *           7 NEXT        0        manager -> requester  ticket of the     next ticket 8 (0:
 *                                                        requester         none), its node 8
 *           8 REFUSED     0        manager -> requester  first ticket      last ticket 8,
 *                                                                         DN_E... negated 8
 *           9 lock_req    0        requester -> manager  its structure     name 8
 *          10 lock_forw   0        manager -> last_proc  its structure     requester's node 8,
 *                                                                         its structure 8
 *          11 lock_reply  0        holder, manager       its structure     -
 *                                  -> requester
 *  BARRIER  1 ARRIVE      team     child -> parent       phase             -
 *           2 RELEASE     team     parent -> child       phase             -
 *           3 BROKEN      team     neighbour             0                 -
 *           4 ASK         team     parent -> child       0                 -
 *  MESSAGE  1 DATA        channel  sender -> receiver    entry << 32 |     the message
 *                                                        SEQID
 *           2 ACK         channel  receiver -> sender    the same          -
 *           3 NACK        channel  receiver -> sender    the same          -
 *           4 STOP        channel  receiver -> sender    the same          -
 *           5 RESEND      channel  receiver -> sender    the same          -
 *           6 UNDECLARED  channel  receiver -> sender    0                 -
 *
 * The number of a message's record is the channel at its target and, above 12 bits, that at its
 * source: the two may differ (nic_packet_message_connect).
 *
 * An entry is the message's place in its sender's SENDTBL, which answers bring back; all ones in
 * an answer to something that never came.
 *
 * A ticket names one use of a lock by one node: incarnation << 32 | use, never 0. A lock's
 * name is any number, at its manager; fabrics take the place of the lock's word there.
 *
 * A region is offset << 32 | bytes, of the memory from the lock's word on; a change is its offset
 * 4 (the highest bit: the word there is or-ed), its length 4 and the bytes, filled up to 8. */
#ifndef NIC_SERVICES_H
#define NIC_SERVICES_H

#include "nic/engine.h"

enum {
    NIC_SERVICE_NUMBER_MAX = (1 << 24) - 1, /* of a team or channel */
    NIC_SERVICE_CHANNELS_MAX = 64,          /* message channels are 0..63 */
    NIC_SERVICE_CHANNEL_BITS = 12,          /* of one in a record's number */
    NIC_MESSAGE_BYTES_MAX = 2048,           /* the paper's MTU */
};

struct nic_services_config {
    uint16_t node;
    uint32_t incarnation; /* of this node; as InfiniSWIF's */
    uint32_t node_count;

    uint32_t lock_count;         /* locks of this node that are held, or left by the dead */
    uint32_t lock_waiter_count;  /* requests that the manager holds, of all its locks */
    uint32_t lock_request_count; /* this node's own requests, held locks among them */
    uint32_t lock_value_bytes;   /* that a GRANT or a RELEASED carries at most; 0: none do */
    uint32_t lock_value_count;   /* changes of this node that wait to be sent */

    /* Paper 004's own locks beside these: &nic_chain_service, or NULL with no lines. */
    const struct nic_chain_service *chain;
    uint32_t chain_count;         /* locks of this node, and locks that it asks for */
    uint32_t chain_forward_count; /* requests that it has to forward at a time */

    uint32_t team_count; /* barriers that this node may be in */

    /* A node may do without paper 004's messages (the library's own messages go through rings in
     * memory): &nic_message_service, or NULL with no channel. */
    const struct nic_message_service *messages;
    uint32_t context_count;         /* message channels: 0..context_count-1 */
    uint32_t context_peer_count;    /* destinations, and sources, of one context */
    uint32_t context_entry_count;   /* messages in SENDTBL; a power of two */
    uint32_t context_send_bytes;    /* SB, a multiple of 8 */
    uint32_t context_receive_bytes; /* RB, a multiple of 8; 0: contexts have their own stores */
    uint32_t message_bytes_max;   /* at most NIC_MESSAGE_BYTES_MAX, and what one record may hold */
    uint64_t message_back_off_ns; /* the first pause after a NACK */
    uint64_t message_pause_ns;    /* the pause after a NACK, without back-off */
    uint64_t message_resend_ns;   /* loss detection: how long an answer may take */
    bool message_datagrams;       /* with loss detection, records may go by datagrams */
    bool message_asks_all;        /* as in struct px_options */
    uint32_t message_ask_bytes;   /* likewise */
};

/* What the services ask of their caller. */
struct nic_services_hooks {
    void *context;
    /* Somebody here begins, or ceases, to wait for something that only the peer can send,
     * perhaps while nothing is under way to it: the peer's death must be noticed. Called when
     * the number of such waits becomes 1 and when it becomes 0. May be NULL. */
    void (*watch)(void *context, uint64_t now_ns, uint16_t peer, bool on);
    /* The memory behind a lock's word, at its manager. False: no memory of ours, nothing was done.
     * With both NULL locks have no values. */
    bool (*value_read)(void *context, uint64_t name, uint32_t offset, uint32_t bytes, void *into);
    bool (*value_change)(void *context, uint64_t name, uint32_t offset, const void *from,
                         uint32_t bytes, bool is_or);
};

struct nic_services;
struct px_store;
struct px_sender;
struct px_receiver;

extern const struct nic_message_service nic_message_service;
extern const struct nic_chain_service nic_chain_service;

/* Sensible sizes, and no messages; the caller sets node and incarnation. */
void nic_services_config_default(struct nic_services_config *config, uint32_t node_count);
/* Adds four message channels of sensible sizes. */
void nic_services_config_messages(struct nic_services_config *config);

/* How much memory nic_services_init needs (aligned to 64), or 0 for a config that makes no
 * sense. The memory must be all zero, as fresh memory is; parts that are never used are never
 * touched. It may be given in two pieces, like that of nic_engine_init. */
uint64_t nic_services_bytes(const struct nic_services_config *config);
uint64_t nic_services_near_bytes(const struct nic_services_config *config);
struct nic_services *nic_services_init(const struct nic_services_config *config,
                                       const struct nic_services_hooks *hooks, void *near,
                                       void *far);

/* ---- What drives them ------------------------------------------------------------- */

/* A WIRE_SERVICE record came. */
void nic_services_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                          const struct wire_operation *operation);
/* An operation came by a carrier that loses records; only messages do. */
void nic_services_deliver_datagram(struct nic_services *services, uint64_t now_ns, uint16_t source,
                                   const struct wire_operation *operation);

enum { NIC_SERVICE_NUMBERS_MAX = 3, NIC_SERVICE_NUMBER_BYTES = 8 };

/* A record to send, as a request on NIC_SERVICE_CHANNEL, ordered. Its data lie in `small`
 * or in the services' memory until the next call, so the struct must not be copied. */
struct nic_service_packet {
    uint16_t target;
    bool may_get_lost; /* a carrier that knows datagrams may send it by one */
    struct wire_operation operation;
    unsigned char small[NIC_SERVICE_NUMBERS_MAX * NIC_SERVICE_NUMBER_BYTES];
    void *due; /* private */
};

/* Begins a round, which offers everything that is due. When a record is not sent, there is no
 * room for its target, and the round offers nothing more for that target.
 *
 *     nic_services_begin(services);
 *     while (nic_services_next(services, now_ns, &packet)) {
 *         int error = append(...);
 *         if (!error)                  nic_services_sent(services, now_ns, &packet);
 *         else if (error == DN_EPEER)  nic_services_peer_lost(services, now_ns, packet.target);
 *     }
 */
void nic_services_begin(struct nic_services *services);
/* Whether a round would find anything. */
bool nic_services_have_due(const struct nic_services *services);
bool nic_services_next(struct nic_services *services, uint64_t now_ns,
                       struct nic_service_packet *packet);
void nic_services_sent(struct nic_services *services, uint64_t now_ns,
                       const struct nic_service_packet *packet);

/* The peer is dead, unreachable or was restarted. Saying so twice does no harm. */
void nic_services_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer);

/* When nic_services_next may have something more even if nothing comes; UINT64_MAX: never.
 * Records that only wait for room do not count. */
uint64_t nic_services_deadline_ns(const struct nic_services *services, uint64_t now_ns);

struct nic_services_counters {
    uint64_t records;       /* that came */
    uint64_t malformed;     /* of them, dropped as such */
    uint64_t grants_direct; /* locks given to the next without the manager */
    uint64_t refused;       /* requests of others, for want of a line */
    uint64_t arrivals;      /* of this node's hosts, at barriers */
};
const struct nic_services_counters *nic_services_counters(const struct nic_services *services);

/* After each call below that may have made something due, nic_engine_run sends it. */

/* ---- Locks ------------------------------------------------------------------------- */

/* A lock is (manager node, name). Nobody makes it: its manager has a line for it only while
 * somebody has it or wants it, or after its holder's death. First come, first served, as the
 * manager saw them.
 *
 * The promise ends with the manager: when it dies its waiters get DN_EPEER, its holders find
 * their lock LOST, and a restarted manager knows nothing of them. Likewise, the manager may give
 * up for dead a holder that lives beyond a broken network. That holder may for a while believe
 * that it holds a lock that somebody else has inherited; it finds the lock LOST as soon as it
 * misses the manager. (To exclude even that would take a lease.) INHERIT may also come to a
 * requester that would have been given the lock anyway: when the holder died just after giving
 * it, the holder's word may be lost. */
enum nic_packet_lock_state {
    NIC_PACKET_LOCK_OVER,    /* released, refused, abandoned, never asked for */
    NIC_PACKET_LOCK_WAITING, /* asked for */
    NIC_PACKET_LOCK_HELD,
    NIC_PACKET_LOCK_LOST, /* was held; the manager is gone */
};

/* The value of a lock: memory that lies behind its word, and that only holders change. It rides on
 * the lock's records: a requester gets what it names with the grant, and a holder's changes go
 * with its release, so that neither costs a round trip. */
struct nic_lock_region {
    uint32_t offset; /* from the lock's word */
    uint32_t bytes;
};
struct nic_lock_value {
    unsigned char *memory;             /* of the requester: as from the lock's word on */
    struct nic_lock_region regions[2]; /* the second may be empty */
};

/* Asks for a lock; with `try` only if nobody has it. Completion: 0 or DN_EOWNERDEAD (it is
 * held), DN_EBUSY (try), DN_EFULL (the manager's tables), DN_EPEER (the manager is gone).
 * The ticket names this use from now on. DN_EFULL: no line free here. DN_ERANK: no such
 * node.
 *
 * With a value (or NULL) the completion's value is how many bytes of it came: all, or 0 if the
 * manager could not read it. Its memory belongs to the request until completion. DN_EINVAL: it is
 * longer than lock_value_bytes. */
int nic_packet_lock_request(struct nic_services *services, uint64_t now_ns, uint16_t manager,
                            uint64_t name, bool try, const struct nic_lock_value *value,
                            struct nic_completion *completion, uint64_t *ticket);

/* Stops waiting at once. 0: it did, and the completion is DN_ETIMEOUT. DN_EBUSY: the lock is
 * held or lost, and must be released. DN_ENOTHELD: that use is over. */
int nic_packet_lock_abandon(struct nic_services *services, uint64_t now_ns, uint64_t ticket);

/* Gives the lock to the next. DN_ENOTHELD: it is not held by that ticket. DN_EPEER: it was
 * LOST; it is over now. */
int nic_packet_lock_release(struct nic_services *services, uint64_t now_ns, uint64_t ticket);

/* The same, by way of the manager: it first makes these changes (of the form above) and then grants
 * the lock, with its value, to the next one. DN_EFULL: no line for the changes; the lock is still
 * held. DN_EINVAL: they are longer than lock_value_bytes. */
int nic_packet_lock_release_value(struct nic_services *services, uint64_t now_ns, uint64_t ticket,
                                  const void *changes, uint32_t bytes);

/* Puts a change behind others; gives their new length, a multiple of 8. */
uint32_t nic_lock_change_add(unsigned char *changes, uint32_t length, uint32_t offset,
                             const void *from, uint32_t bytes, bool is_or);
/* Reads the change at *at, which then is where its bytes are; the next one is behind them, filled
 * up to 8. False: malformed. */
bool nic_lock_change_next(const unsigned char *changes, uint32_t length, uint32_t *at,
                          struct nic_lock_region *region, bool *is_or);

enum nic_packet_lock_state nic_packet_lock_state(const struct nic_services *services,
                                                 uint64_t ticket);

/* Whether nothing remains to be sent of uses that are over. */
bool nic_packet_locks_are_told(const struct nic_services *services);

/* Paper 004's own lock: a lock is (manager, name) here, too, but another one. A node takes part in
 * it once. Completion: 0. DN_EBUSY: this node has asked for it, or has it. DN_EFULL: no line free.
 * DN_ERANK. The ticket is the same each time. */
int nic_chain_lock_request(struct nic_services *services, uint16_t manager, uint64_t name,
                           struct nic_completion *completion, uint64_t *ticket);
/* DN_ENOTHELD: this node does not have it. */
int nic_chain_lock_release(struct nic_services *services, uint64_t ticket);

/* ---- Barriers ----------------------------------------------------------------------- */

/* A team's members form a binary tree in the order given. All members give the same list, with
 * this node in it and nobody twice; NULL stands for the nodes 0..count-1. Arrivals go up, the
 * release comes down. A member that loses a neighbour in the tree breaks the team: the word
 * travels along the tree, and all outstanding and later arrivals complete with DN_EPEER.
 *
 * Members may open a team at different times. A member that closes it must know that nobody
 * will arrive any more: an arrival at a team that is not open just waits. Before it arrives, a
 * member must know which life of its neighbours is meant (swif_peer_is): if it first hears of a
 * neighbour after that was restarted, it has lost nobody, and would wait for ever.
 * DN_EBUSY: open already. DN_EFULL: no line free. DN_EINVAL, DN_ERANK. */
int nic_packet_barrier_open(struct nic_services *services, uint64_t now_ns, uint32_t team,
                            const uint16_t *members, uint32_t count);
/* The same for a node that knows its place in the list: in a large team, only its neighbours are
 * looked at. */
int nic_packet_barrier_open_at(struct nic_services *services, uint64_t now_ns, uint32_t team,
                               const uint16_t *members, uint32_t count, uint32_t place);

/* Ends the team's barriers for all members, as a death does: an arrival here that is outstanding
 * ends with DN_EPEER, and the neighbours are told. DN_EINVAL: not open. */
int nic_packet_barrier_break(struct nic_services *services, uint64_t now_ns, uint32_t team);

/* DN_EBUSY: an arrival is outstanding, or something is still to be sent. DN_EINVAL: not
 * open. */
int nic_packet_barrier_close(struct nic_services *services, uint64_t now_ns, uint32_t team);

/* Completion: 0 when all have arrived, or DN_EPEER; its value is the phase, from 1 on.
 * DN_EBUSY: the last arrival is still outstanding. DN_EINVAL: not open. */
int nic_packet_barrier_arrive(struct nic_services *services, uint64_t now_ns, uint32_t team,
                              struct nic_completion *completion);

/* ---- Messages ------------------------------------------------------------------------ */

/* Opens a channel. Both lists, whom we send to and who may send, are sorted and
 * name nobody twice; this node may be in them. Flags: enum dn_context_flag; with loss detection
 * what this node sends may get lost, and so may the answers to it (message_datagrams). Messages go
 * into the store (message_protocol.h), or NULL: into RB. Nodes may open at different times.
 * DN_EBUSY: open already. DN_EFULL: too many peers. DN_EINVAL, DN_ERANK. */
struct nic_message_lists {
    const uint16_t *destinations;
    uint32_t destination_count;
    const uint16_t *sources;
    uint32_t source_count;
};
int nic_packet_message_open(struct nic_services *services, uint32_t channel,
                            const struct nic_message_lists *lists, uint32_t flags,
                            const struct px_store *store);

/* The same in two steps, without a copy: gives room in SB, which the caller fills before it kicks,
 * with as many bytes or fewer. Errors as below. */
int nic_packet_message_get(struct nic_services *services, uint32_t channel, uint16_t to,
                           uint32_t bytes, void **room, uint32_t *entry);
void nic_packet_message_kick(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                             uint32_t entry, uint32_t bytes);

/* Copies a message of at most message_bytes_max into SB. It is received once, in order with
 * the others to that node, unless the node dies. DN_EFULL: no room now. DN_EPEER: the node died
 * or was restarted; what it had not acknowledged is lost, and nothing is accepted for it until
 * nic_packet_message_reconnect. DN_ERANK: not a destination, or we are not among its
 * sources. DN_EINVAL, DN_ETOOLONG. */
int nic_packet_message_send(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                            uint16_t to, const void *data, uint32_t bytes);

/* The oldest message in RB, whoever sent it. DN_EBUSY: none. DN_ETOOLONG: longer than capacity; it
 * stays, and *bytes is set. DN_EINVAL. */
int nic_packet_message_receive(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                               void *buffer, uint32_t capacity, uint16_t *from, uint32_t *bytes);

/* Asks all sources to start over: they may have sent before the channel was open. DN_EINVAL. */
int nic_packet_message_ask_all(struct nic_services *services, uint32_t channel);

/* The destination has this context as another channel, and the next message to it has this SEQID:
 * another context has sent those before. Nothing was sent to it yet. DN_ERANK, DN_EINVAL. */
int nic_packet_message_connect(struct nic_services *services, uint32_t channel, uint16_t to,
                               uint32_t remote_channel, uint32_t seqid);

/* What the destination has not acknowledged is forgotten, and nothing more is accepted for it.
 * DN_ERANK, DN_EINVAL. */
int nic_packet_message_disconnect(struct nic_services *services, uint64_t now_ns, uint32_t channel,
                                  uint16_t to);

/* Closes a channel: what it has sent and received is forgotten, and what comes for it is dropped.
 * Nothing happens if it is not open. */
void nic_packet_message_close(struct nic_services *services, uint64_t now_ns, uint32_t channel);

uint32_t nic_packet_message_bytes_max(const struct nic_services *services);

/* There is more room in the channel's own store. DN_EINVAL. */
int nic_packet_message_room(struct nic_services *services, uint32_t channel);

/* The two state machines of an open channel, to be looked at; NULL: it is not open. */
const struct px_sender *nic_packet_message_sender(const struct nic_services *services,
                                                  uint32_t channel);
const struct px_receiver *nic_packet_message_receiver(const struct nic_services *services,
                                                      uint32_t channel);

/* How many messages to a destination are not acknowledged yet; DN_EPEER, DN_ERANK, DN_EINVAL
 * as nic_packet_message_send. */
int nic_packet_message_outstanding(const struct nic_services *services, uint32_t channel,
                                   uint16_t to, uint32_t *count);

/* The host has noted the death of a destination: messages are accepted again, for the life that
 * it has now or will have. Nothing happens if it was not lost. DN_ERANK, DN_EINVAL. */
int nic_packet_message_reconnect(struct nic_services *services, uint32_t channel, uint16_t to);

#endif
