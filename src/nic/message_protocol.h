/* SEND/RECEIVE over packets: paper 004's Modified ACK/NACK, as two state machines that do no
 * I/O. Time is an argument; packets to send come out of px_sender_peek and px_receiver_peek,
 * and the caller puts them on the wire.
 *
 * The sender numbers messages per destination (SEQID, from 0) and keeps each in its send
 * buffer SB until it is acknowledged; SENDTBL holds what is needed to send it again. A packet
 * carries the address of its entry in SENDTBL, and the answer brings it back, so the sender
 * need not search.
 *
 *     S_SEQTBL, per destination
 *       FLOWING    new messages go out as they come
 *       RESENDING  a NACK named a SEQID: that one and all behind it go out again, and
 *                  nothing new, until that one is ACKed
 *       PAUSED     the receiver said "stop" (active resend request): as RESENDING, but
 *                  only when it says "resend from n"; if it stays silent, after a time
 *
 *     R_SEQTBL, per source
 *       TAKING     the expected SEQID is stored and ACKed, another one dropped
 *       REFUSING   the expected one was NACKed, for want of room or because it was lost:
 *                  it is expected again, and everything else is dropped silently
 *
 * Messages kicked while a resend is under way are numbered and entered, and wait. On a
 * network that loses packets (loss detection) the receiver NACKs a gap once (REFUSING is
 * the paper's "resending" flag), ACKs again what comes twice, and the sender sends again
 * what was not answered in time. Without the option the network must deliver all, in order
 * per pair of nodes.
 *
 * Nothing here allocates; the tables are the caller's. */
#ifndef NIC_MESSAGE_PROTOCOL_H
#define NIC_MESSAGE_PROTOCOL_H

#include "base/base.h"
#include "dimmnet.h"

enum px_packet_type {
    PX_DATA = 1,
    PX_ACK,
    PX_NACK,
    PX_STOP,   /* a NACK whose sender will ask for the resend itself */
    PX_RESEND, /* "resend from this SEQID": there is room again */
};

/* What travels. An ACK of n says that all before n were taken as well: they are taken in
 * order, so answers that overtake each other do no harm, and one ACK may stand for several. */
struct px_packet {
    enum px_packet_type type;
    uint32_t from;
    uint32_t to;
    uint32_t channel;
    uint32_t seqid;
    uint32_t entry; /* of SENDTBL; PX_NO_ENTRY: an answer to something that never came */
    uint32_t bytes;
    const void *data;  /* in SB until the packet is on the wire */
    bool may_get_lost; /* DATA that came: others like it may not have */
};

#define PX_NO_ENTRY UINT32_MAX

struct px_options {
    uint32_t channel;
    uint32_t flags;             /* of enum dn_context_flag */
    uint64_t pause_ns;          /* before a resend, without back-off */
    uint64_t back_off_ns;       /* with it: the first pause, doubled up to 64-fold */
    uint64_t resend_timeout_ns; /* loss detection: how long an answer may take */
    /* RESEND_REQUEST. Sources that were stopped take turns: the next one is asked as soon as
     * ask_bytes are free, or room for its message if that is more, and is promised as much; who is
     * not asked is stopped while others wait. What is left of a turn when the store is empty is
     * over: nothing more came. With asks_all there are no turns, as where each source has room of
     * its own: each is asked when there is room for it. */
    bool asks_all;
    uint32_t ask_bytes;
};

/* ---- The sender ----------------------------------------------------------------- */

enum px_flow { PX_FLOWING, PX_RESENDING, PX_PAUSED };

/* S_SEQTBL: a line per destination, sorted by rank. */
struct px_destination {
    uint32_t rank;
    enum px_flow flow;
    /* acked <= unsent <= sent <= next, as differences with a sign. */
    uint32_t acked_seqid;   /* the first that is not acknowledged */
    uint32_t unsent_seqid;  /* the first that is to go out, or to go out again */
    uint32_t sent_seqid;    /* the first that has never gone out */
    uint32_t next_seqid;    /* of the next message kicked */
    uint32_t nacked_seqid;  /* RESENDING, PAUSED: until it is ACKed nothing new goes out */
    uint32_t nack_count;    /* in a row, for back-off */
    uint64_t not_before_ns; /* of the resend */
    uint64_t acked_by_ns;   /* loss detection: when to send again; UINT64_MAX: nothing out */
    bool lost;              /* its node is gone: nothing is taken, and all SEQIDs are 0 */
    /* Its entries, in the order of their SEQIDs; PX_NO_ENTRY: none. */
    uint32_t first_entry;  /* of acked_seqid */
    uint32_t unsent_entry; /* of unsent_seqid */
    uint32_t last_entry;   /* of next_seqid - 1, where there is a first one */
};

/* SENDTBL: a ring; entries leave it at its tail, so ACKs may come in any order. */
struct px_entry {
    uint64_t position; /* in SB, not wrapped */
    uint32_t bytes;
    uint32_t destination; /* in S_SEQTBL */
    uint32_t seqid;
    uint32_t next; /* of the same destination, kicked after this one; PX_NO_ENTRY: none yet */
    bool kicked;   /* between get_send_buf and kick it is the caller's */
    bool acked;
};

struct px_sender_counters {
    uint64_t sent;     /* data packets */
    uint64_t repeated; /* of them, not for the first time */
    uint64_t silences; /* loss detection: nothing was heard in time */
};

struct px_sender {
    struct px_options options;
    struct px_sender_counters counters;
    uint32_t rank;
    struct px_destination *destinations;
    uint32_t destination_count;
    struct px_entry *entries;
    uint32_t entry_count; /* a power of two */
    uint64_t entry_head;  /* the next to be taken; not wrapped */
    uint64_t entry_tail;  /* the oldest that is not acknowledged */
    unsigned char *buffer;
    uint64_t buffer_bytes;
    uint64_t buffer_head; /* the next free byte; not wrapped */
    uint64_t buffer_tail;
};

/* The caller fills in options, rank, tables and their sizes, and the ranks of `count` rows, sorted.
 * The same for the receiver. */
void px_sender_init(struct px_sender *sender, uint32_t count);

/* get_send_buf: contiguous room in SB and an entry of SENDTBL. NULL: one of them is full
 * (try again after an ACK), or the destination is lost. */
void *px_get_send_buf(struct px_sender *sender, uint32_t rank, uint32_t bytes, uint32_t *entry);

/* Whether there is room for so many bytes, if entries and bytes were free up to these tails, which
 * may be the sender's own or older copies of them. */
bool px_sender_has_room(const struct px_sender *sender, uint32_t bytes, uint64_t entry_tail,
                        uint64_t buffer_tail);

/* The buffer is filled: numbers the message and hands it over. */
void px_on_kick(struct px_sender *sender, uint32_t entry);

/* An ACK, NACK, STOP or RESEND came. An answer that does not fit the state is ignored. */
void px_on_answer(struct px_sender *sender, uint64_t now_ns, const struct px_packet *packet);

/* The next packet of a line of S_SEQTBL, in two steps: peek gives what goes out next, if there is
 * something now, and sent notes that it has gone out. */
bool px_sender_peek(struct px_sender *sender, uint64_t now_ns, uint32_t index,
                    struct px_packet *packet);
void px_sender_sent(struct px_sender *sender, uint64_t now_ns, uint32_t index);

/* When a line will have something to send even if nothing comes: `now_ns` or before if at once,
 * UINT64_MAX if never. */
uint64_t px_sender_ready_ns(const struct px_sender *sender, uint64_t now_ns, uint32_t index);

/* The node is dead or was restarted: what it had not acknowledged is dropped, and its
 * answers are ignored, until px_sender_reconnect; then SEQIDs start from 0. */
void px_sender_peer_lost(struct px_sender *sender, uint32_t rank);
void px_sender_reconnect(struct px_sender *sender, uint32_t rank);

/* The first SEQID to a node to which nothing was kicked yet. */
void px_sender_connect(struct px_sender *sender, uint32_t rank, uint32_t seqid);

/* Whether all that was kicked has been acknowledged. */
static inline bool px_sender_is_idle(const struct px_sender *sender)
{
    return sender->entry_head == sender->entry_tail;
}

/* ---- The receiver ---------------------------------------------------------------- */

enum px_intake { PX_TAKING, PX_REFUSING };

/* R_SEQTBL: a line per source, sorted by rank. At most one answer of each kind is due to a source,
 * and a later one makes an earlier one needless. */
struct px_source {
    uint32_t rank;
    enum px_intake intake;
    uint32_t expected_seqid;
    uint32_t taken_entry;   /* of the SEQID before that one; PX_NO_ENTRY: none was taken */
    uint32_t refused_entry; /* REFUSING: of the expected one; PX_NO_ENTRY: it never came */
    uint32_t refused_bytes; /* REFUSING for want of room: so much is wanted; else 0 */
    bool ack_due;           /* ACK for the SEQID before expected_seqid */
    bool nack_due;          /* NACK or STOP for expected_seqid */
    bool resend_due;        /* RESEND from expected_seqid */
    bool stopped;           /* the sender waits, or is about to be told to wait, for RESEND */
    bool asked;             /* its turn has begun, but nothing has come yet */
    uint32_t turn_bytes;    /* what is left of its turn: promised room */
};

/* Where messages are stored. The receiver asks in the order in which packets come. */
struct px_store {
    void *context;
    /* Stores the message of the source in that line of R_SEQTBL; false: no room. */
    bool (*take)(void *context, uint32_t index, const struct px_packet *packet);
    bool (*has_room)(void *context, uint32_t index, uint32_t bytes);
    /* Where sources take turns: all that is free, in pieces or not, and all that there is. */
    uint64_t (*free_bytes)(void *context);
    uint64_t total_bytes;
};

struct px_receiver_counters {
    uint64_t taken;
    uint64_t refused; /* for want of room */
    uint64_t dropped; /* behind a refused or lost one, or known already */
};

struct px_receiver {
    struct px_options options;
    struct px_receiver_counters counters;
    uint32_t rank;
    struct px_source *sources;
    uint32_t source_count;
    uint32_t next_asked;    /* the line whose turn is next */
    uint32_t stopped_count; /* of all sources */
    bool has_asked; /* lines that no packet came for have something due; by the caller: not */
    uint64_t promised_bytes; /* of the store: all turns together */
    struct px_store store;
};

void px_receiver_init(struct px_receiver *receiver, uint32_t count);

/* A DATA packet came. */
void px_on_data(struct px_receiver *receiver, const struct px_packet *packet);

/* There is more room in the store. */
void px_on_room(struct px_receiver *receiver);

/* The next answer of a line of R_SEQTBL, in two steps. */
bool px_receiver_peek(const struct px_receiver *receiver, uint32_t index, struct px_packet *packet);
void px_receiver_sent(struct px_receiver *receiver, uint32_t index, const struct px_packet *packet);

/* Asks all sources to start over, since they may have sent before this receiver was there. */
void px_receiver_ask_all(struct px_receiver *receiver);

/* The node is dead or was restarted: SEQIDs start from 0. What it sent stays. If it was promised
 * room there is more now: px_on_room. */
void px_receiver_peer_lost(struct px_receiver *receiver, uint32_t rank);

/* ---- The receive buffer ----------------------------------------------------------- */

/* RB: one ring for all sources, as in the paper. A store for receivers that want it. */
struct px_buffer {
    unsigned char *bytes;
    uint64_t byte_count; /* a multiple of 8 */
    uint64_t head;       /* the next free byte; not wrapped */
    uint64_t tail;
};

/* A message in RB is its header and its bytes, in whole 8-byte words. */
struct px_stored {
    uint32_t from;
    uint32_t bytes;
};

/* The functions of a struct px_store whose context is a buffer. */
bool px_buffer_take(void *buffer, uint32_t index, const struct px_packet *packet);
bool px_buffer_has_room(void *buffer, uint32_t index, uint32_t bytes);
uint64_t px_buffer_free_bytes(void *buffer);

/* The oldest message, of whoever sent it; NULL: none. */
const struct px_stored *px_buffer_first(const struct px_buffer *buffer);

/* The oldest message has been read; its room is free. The receiver is to be told: px_on_room. */
void px_buffer_pass(struct px_buffer *buffer);

/* Where a rank stands in a table sorted by rank, by binary search as in the paper; `count`
 * when it was not declared. A row starts with its rank. */
static inline uint32_t px_find_rank(const void *table, size_t row_bytes, uint32_t count,
                                    uint32_t rank)
{
    const unsigned char *rows = table;
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)(const void *)(rows + middle * row_bytes) < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < count && *(const uint32_t *)(const void *)(rows + low * row_bytes) == rank;
    return found ? low : count;
}
_Static_assert(offsetof(struct px_source, rank) == 0, "a row starts with its rank");
_Static_assert(offsetof(struct px_destination, rank) == 0, "a row starts with its rank");

#endif
