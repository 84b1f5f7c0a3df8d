/* InfiniSWIF's state, for the files of this folder.
 *
 *     stubs     32 bytes for each peer, for good          peer.c
 *     LTEE      what is under way to one peer             sender.c
 *     RTEE      what came from one peer ahead of time     receiver.c
 *     window    which counters of one peer have come      replay.h
 *     copies    of what time-outs send again              copies.h
 *
 * Sequence numbers are compared by their signed difference; no two that are compared lie
 * half the numbers apart. A ring place or a bit of a context is a sequence modulo 256. */
#ifndef SWIF_STATE_H
#define SWIF_STATE_H

#include <stddef.h>

#include "base/mutant.h"
#include "base/pool.h"
#include "dimmnet.h"
#include "swif/cache.h"
#include "swif/congestion.h"
#include "swif/copies.h"
#include "swif/replay.h"
#include "swif/swif.h"
#include "swif/timers.h"

enum {
    SWIF_RING = 256,
    SWIF_DATAGRAMS = 8,
    SWIF_NOTES = 1024,         /* control packets and acknowledgements without RTEE that wait */
    SWIF_LOOKS = 16,           /* at a watched peer, in a peer time-out */
    SWIF_LOOKS_AT_SILENT = 32, /* the same when it has not spoken: some probes may get lost */
    SWIF_PATIENCE = 8,         /* peer time-outs without progress at a peer that does answer */
    SWIF_GAP_PATIENCE = 2,     /* peer time-outs of silence in the midst of a sequence */
    SWIF_OVERTAKEN_MAX = 4,    /* losses of one packet among others: its length is to blame */
    SWIF_PATH_STEPS = 8,       /* lengths of packets that are tried */
    SWIF_ASSEMBLIES = 64,      /* packets in pieces, of all peers */
    SWIF_PIECES_MAX = 128,     /* units in which pieces are counted, in one packet */
};

#define SWIF_NO_BUFFER UINT32_MAX

/* How much older than our newest packet one may be that is still echoed. */
#define SWIF_COUNTER_HORIZON (UINT64_C(1) << 30)

/* What we keep about a peer for good; contexts come and go. */
struct swif_stub {
    uint32_t incarnation;                     /* 0: never heard of */
    uint32_t send_next[WIRE_CLASSES];         /* the next new packet's sequence */
    uint32_t receive_next[WIRE_CLASSES];      /* all before it have been carried out */
    uint32_t dead : 1;                        /* this incarnation is, for good */
    uint32_t heard : 1;                       /* since a watch last looked */
    uint32_t suspected : 1;                   /* the client knows, and nothing was heard since */
    uint32_t replay : SWIF_REPLAY_SHORT_BITS; /* without a wide window: a short one */
    uint64_t newest_counter;                  /* that has come */
};
_Static_assert(sizeof(struct swif_stub) == 32, "a stub is small");

/* A packet that may be needed again: of an LTEE until it is acknowledged, or of an RTEE
 * until its turn has come. */
struct swif_buffer {
    uint32_t next;  /* of the free ones, or of those that an RTEE holds */
    uint32_t older; /* requests by age, for marks */
    uint32_t newer;
    uint32_t sequence;
    uint64_t ordinal; /* of requests, by age */
    uint64_t cookie;
    uint64_t counter; /* of the last transmission */
    struct swif_sent sent;
    uint32_t transmissions;
    uint16_t body_bytes;
    uint16_t reply_bytes;
    uint8_t flags; /* WIRE_FLAG_AFTER_ALL */
    uint8_t after;
    uint8_t channel;
    uint8_t overtaken; /* times that it was lost while later ones arrived */
    bool ordered;
    bool closed;                 /* nothing more is joined to it */
    uint32_t source_incarnation; /* held by an RTEE */
    unsigned char body[];
};

static inline struct swif_buffer *swif_buffer(const struct base_pool *pool, uint32_t index)
{
    return base_pool_line(pool, index);
}

/* 256 bits, one for each sequence number of a window. */
struct swif_bits {
    uint64_t word[SWIF_RING / 64];
};

static inline bool swif_bit(const struct swif_bits *bits, uint32_t sequence)
{
    return bits->word[sequence / 64 % 4] >> sequence % 64 & 1;
}

static inline void swif_bit_set(struct swif_bits *bits, uint32_t sequence)
{
    bits->word[sequence / 64 % 4] |= UINT64_C(1) << sequence % 64;
}

static inline void swif_bit_clear(struct swif_bits *bits, uint32_t sequence)
{
    bits->word[sequence / 64 % 4] &= ~(UINT64_C(1) << sequence % 64);
}

/* Membership in a list of contexts that want something; lists are in order of entry. */
struct swif_link {
    struct swif_link *next;
    struct swif_link *previous; /* NULL: in no list */
};

struct swif_context_name {
    uint16_t peer;
    enum wire_class class;
};

/* The search for what a narrow path carries, step by step from the longest packet down. */
struct swif_search {
    uint64_t at_ns;   /* when to try, or to try again */
    uint64_t counter; /* of the packet that is to be answered; 0: none */
    uint8_t step;
    uint8_t tries; /* of this step */
};

/* A packet of which pieces have come. */
struct swif_assembly {
    uint16_t peer;
    uint16_t whole_bytes; /* of its body; 0: the place is free */
    enum wire_class class;
    uint32_t sequence;
    uint32_t incarnation;
    uint64_t touched_ns;                 /* when a piece came last */
    uint64_t here[SWIF_PIECES_MAX / 64]; /* a bit for each WIRE_PIECE_UNIT_BYTES */
};

/* To send by. sequences: oldest <= unsent <= the stub's send_next.
 *
 *     oldest                 unsent            send_next
 *     | under way, lost or here | never sent yet  |
 *
 * A context climbs STOP_AND_WAIT -> GO_BACK_N -> SELECTIVE_REPEAT when the receiver says
 * what it has room for, and drops back when it says that it has no more. */
struct swif_ltee {
    struct swif_timer timer; /* first: the timer's address is the context's */
    struct swif_link ready;  /* may have something to send now */
    struct swif_context_name name;
    enum wire_stage stage;
    uint32_t oldest; /* the first that is not acknowledged */
    uint32_t unsent;
    uint32_t under_way;    /* sent, and neither acknowledged nor held for lost */
    uint32_t lost_count;   /* to be sent again */
    uint32_t granted;      /* packets from `oldest` on that the receiver takes */
    uint32_t silences;     /* time-outs since something came back */
    uint32_t refusals;     /* since something was carried out */
    bool greeting;         /* what is queued waits for the peer's incarnation */
    bool limited;          /* congestion control held packets back since the last ack */
    struct swif_bits here; /* acknowledged out of turn */
    struct swif_bits lost;
    uint32_t slots[SWIF_RING]; /* buffers by sequence */
    /* By channel: the last ordered packet, and the last before the last fence. */
    uint32_t ordered_last[WIRE_CHANNELS];
    uint32_t fence_last[WIRE_CHANNELS];
    uint16_t has_ordered; /* bits by channel: the number above means something */
    uint16_t has_fence;
    uint64_t ack_counter;      /* of the newest packet with an acknowledgement for us */
    uint64_t newest_arrived;   /* counter of our newest transmission known to have come */
    uint64_t newest_rtt_ns;    /* and its round trip */
    uint64_t go_back_counter;  /* a gap is believed again when a later packet came */
    uint64_t resend_at_ns;     /* time-out, SWIF_NEVER when nothing is under way */
    uint64_t reorder_at_ns;    /* when an overtaken packet counts as lost */
    uint64_t waiting_since_ns; /* for an answer */
    uint64_t progress_ns;      /* something was acknowledged, or waiting began */
    uint64_t slept_before_ns;  /* slept_ns at that time */
    uint64_t heard_ns;
    uint64_t doubted; /* the newest packet when three copies had gone; 0: not yet */
    uint64_t carried; /* the newest PATH packet that was answered */
    struct swif_congestion congestion;
    uint32_t piece_sequence; /* the packet that is going out in pieces */
    uint32_t piece_at;       /* where in its body the next one begins; 0: there is none */
    struct swif_search search;
    struct swif_link trying;   /* it is to try a longer packet */
    struct swif_copies copies; /* of what is sent again, since the first time-out in a row */
};

/* To receive by: what is known beyond the stub's receive_next. */
struct swif_rtee {
    struct swif_timer timer;  /* first: the timer's address is the context's */
    struct swif_link ack_due; /* an acknowledgement is to go out now */
    struct swif_context_name name;
    struct swif_bits done;   /* carried out ahead of turn */
    struct swif_bits held;   /* in the reorder buffers */
    uint32_t held_first;     /* a list by sequence */
    uint32_t ahead;          /* bits set in both */
    uint32_t highest;        /* the highest sequence among them, when there are any */
    uint32_t unacknowledged; /* packets since the last acknowledgement */
    uint32_t epoch;          /* when it was last counted as active */
    bool gap;
    bool refused;
    uint32_t echo;
    uint64_t echo_counter;
    uint64_t arrival_ns;
    uint64_t ack_at_ns;   /* at the latest; SWIF_NEVER: nothing waits for company */
    uint64_t retry_at_ns; /* for what is held only because the client had no room */
    uint64_t heard_ns;    /* when anything of this class came last */
};

/* A peer that somebody waits for though nothing is under way to it. */
struct swif_watch {
    struct swif_timer timer;
    uint16_t peer;
    uint32_t count;    /* of those who wait; 0: the entry is free */
    bool silent;       /* the last look found nothing heard */
    uint64_t heard_ns; /* the last look that did, or the beginning */
};

/* A packet of few words that waits to go out. */
enum swif_note_kind { SWIF_NOTE_CONTROL, SWIF_NOTE_ACK };
struct swif_note {
    enum swif_note_kind kind;
    uint16_t peer;
    uint8_t code;          /* CONTROL */
    uint32_t incarnation;  /* CONTROL: the target's, as its packet said */
    uint64_t counter;      /* PATH_CARRIES: that of the packet that came */
    enum wire_class class; /* ACK, without an RTEE */
    bool gap;
    bool refused;
    uint32_t echo;
    uint64_t arrival_ns;
};

struct swif_datagram_buffer {
    uint16_t target;
    uint8_t channel;
    uint16_t bytes;
    unsigned char *body;
};

struct swif {
    struct swif_config config;
    const struct swif_client *client;
    const struct swif_guard *guard;
    struct swif_counters counters;
    uint32_t body_bytes_max;
    uint64_t counter;  /* of the last packet sent */
    uint64_t grace_ns; /* before this nothing is held against silent peers: we slept */
    uint64_t slept_ns; /* for so long in all */

    struct swif_stub *stubs;
    uint8_t *path_steps;                  /* by peer: which length; NULL: all paths stay wide */
    uint16_t path_bytes[SWIF_PATH_STEPS]; /* the lengths, the longest first */
    uint32_t path_step_last;              /* path_bytes_min */
    struct swif_assembly *assemblies;     /* NULL: there are no pieces */
    unsigned char *assembly_bodies;
    struct swif_cache ltee_cache[WIRE_CLASSES];
    struct swif_cache rtee_cache[WIRE_CLASSES];
    struct swif_ltee *ltees[WIRE_CLASSES];
    struct swif_rtee *rtees[WIRE_CLASSES];
    struct swif_cache replay_cache;
    struct swif_replay *replays;
    struct base_pool pools[WIRE_CLASSES];
    struct base_pool reorder;
    struct swif_timers timers;
    struct swif_watch *watches;
    uint32_t watch_used;    /* entries behind it are free */
    struct swif_link tries; /* list heads */
    struct swif_link ready;
    struct swif_link ack_due;

    /* Requests by age. */
    uint64_t ordinal_next;
    uint32_t oldest_request;
    uint32_t newest_request;

    /* Senders active lately, who share the budget. */
    uint64_t epoch_at_ns;
    uint32_t epoch;
    uint32_t active_now;
    uint32_t active_before;

    struct swif_note notes[SWIF_NOTES]; /* a ring */
    uint32_t note_head, note_tail;
    struct swif_datagram_buffer datagrams[SWIF_DATAGRAMS]; /* a ring */
    uint32_t datagram_head, datagram_tail;
};

/* ---- Lists -------------------------------------------------------------------------- */

static inline void swif_list_init(struct swif_link *head)
{
    head->next = head;
    head->previous = head;
}

static inline bool swif_is_listed(const struct swif_link *link)
{
    return link->previous != NULL;
}

static inline void swif_list_add(struct swif_link *head, struct swif_link *link)
{
    if (!swif_is_listed(link)) {
        link->next = head;
        link->previous = head->previous;
        head->previous->next = link;
        head->previous = link;
    }
}

static inline void swif_list_remove(struct swif_link *link)
{
    if (swif_is_listed(link)) {
        link->previous->next = link->next;
        link->next->previous = link->previous;
        link->previous = NULL;
    }
}

#define SWIF_OWNER(pointer, type, member) \
    ((type *)(void *)((unsigned char *)(pointer)-offsetof(type, member)))

static inline int32_t swif_distance(uint32_t from, uint32_t to)
{
    return (int32_t)(to - from);
}

static inline uint64_t swif_least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static inline uint64_t swif_most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* ---- Contexts -------------------------------------------------------------------------- */

/* Whose context it is that a cache wants to evict. */
struct swif_eviction {
    struct swif *swif;
    enum wire_class class;
};

/* A peer's context, or NULL; the order in the cache stays as it is. */
static inline struct swif_ltee *swif_ltee_peek(const struct swif *swif, uint16_t peer,
                                               unsigned class)
{
    uint32_t index = swif_cache_peek(&swif->ltee_cache[class], peer);
    return index == SWIF_NO_CONTEXT ? NULL : &swif->ltees[class][index];
}

static inline struct swif_stub *swif_stub_of(const struct swif *swif, const struct swif_ltee *ltee)
{
    return &swif->stubs[ltee->name.peer];
}

static inline struct swif_buffer *swif_buffer_at(const struct swif *swif,
                                                 const struct swif_ltee *ltee, uint32_t sequence)
{
    return swif_buffer(&swif->pools[ltee->name.class], ltee->slots[sequence % SWIF_RING]);
}

static inline struct swif_rtee *swif_rtee_peek(const struct swif *swif, uint16_t peer,
                                               unsigned class)
{
    uint32_t index = swif_cache_peek(&swif->rtee_cache[class], peer);
    return index == SWIF_NO_CONTEXT ? NULL : &swif->rtees[class][index];
}

/* ---- path.c: how long packets may be ------------------------------------------------------ */

/* Both classes' acknowledgements fit beside a full body. */
enum { SWIF_BESIDES_BODY_BYTES = WIRE_OVERHEAD_BYTES + 2 * WIRE_ACK_BYTES };

static inline uint32_t swif_body_bytes_in(uint32_t packet_bytes)
{
    return (packet_bytes - SWIF_BESIDES_BODY_BYTES) & ~7u;
}

/* The longest packet that the path to the peer carries, as far as is known. */
static inline uint32_t swif_path_bytes(const struct swif *swif, uint16_t peer)
{
    return swif->path_bytes[swif->path_steps ? swif->path_steps[peer] : 0];
}

/* Whether longer ones are worth trying. */
static inline bool swif_path_is_narrow(const struct swif *swif, uint16_t peer)
{
    return swif->path_steps && swif->path_steps[peer] != 0;
}

void swif_path_init(struct swif *swif);
static inline void swif_count_overtaken(struct swif_buffer *buffer)
{
    buffer->overtaken = (uint8_t)(buffer->overtaken + (buffer->overtaken < SWIF_OVERTAKEN_MAX));
}

/* Whether a packet with such a body goes whole, and on a narrower path would go in pieces. */
bool swif_path_is_tight(const struct swif *swif, uint16_t peer, uint32_t body_bytes);
/* Packets longer than path_bytes_min do not arrive any more. */
void swif_path_narrow(struct swif *swif, uint64_t now_ns, uint16_t peer);
/* A time-out: `lost` is to be sent again (NULL: all has arrived). Whether the path is to blame,
 * which is narrow then. */
bool swif_path_blame(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                     const struct swif_buffer *lost);
/* The context sends to a narrow path: it may be time to try whether that carries more. */
void swif_path_sends(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee);
/* A packet that tries a longer one; 0: there is none to try. To be sent when nothing else is. */
uint32_t swif_path_try(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint16_t *target);
/* The peer says that it got the packet with that counter. */
void swif_path_carries(struct swif *swif, uint64_t now_ns, uint16_t peer, uint64_t counter);

/* ---- pieces.c: packets that travel in pieces ------------------------------------------------ */

/* Whether a packet of which some pieces are under way wants its next one sent. */
static inline bool swif_is_in_pieces(const struct swif_ltee *ltee)
{
    uint32_t sequence = ltee->piece_sequence;
    return ltee->piece_at != 0 && swif_distance(ltee->oldest, sequence) >= 0 &&
           !swif_bit(&ltee->here, sequence) && !swif_bit(&ltee->lost, sequence);
}

/* Chooses the piece that begins at piece_at and moves that on: to 0 after the last one. Gives the
 * bytes of its data. */
uint32_t swif_cut_piece(struct swif *swif, struct swif_ltee *ltee, const struct swif_buffer *buffer,
                        uint32_t path_bytes, struct wire_piece *piece);

void swif_receive_piece(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                        const unsigned char *body);

/* ---- sender.c: LTEEs ------------------------------------------------------------------ */

/* The peer's context, now the last one used, or NULL. */
struct swif_ltee *swif_ltee_find(struct swif *swif, uint16_t peer, enum wire_class class);
/* An authentic packet came from the peer. */
void swif_sender_heard(struct swif *swif, uint64_t now_ns, uint16_t peer);
/* The peer lives, somebody else says. */
void swif_sender_vouched(struct swif *swif, uint64_t now_ns, uint16_t peer);
/* The peer's incarnation is known now. */
void swif_sender_greeted(struct swif *swif, uint64_t now_ns, uint16_t peer);
/* `counter` is that of the packet that carried it. */
void swif_sender_ack(struct swif *swif, uint64_t now_ns, uint16_t peer, const struct wire_ack *ack,
                     uint64_t counter);
void swif_sender_timer(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee);
/* How long an answer is waited for. */
uint64_t swif_time_out_ns(const struct swif *swif, const struct swif_ltee *ltee);
/* The bytes of a packet for this context, or 0: nothing to send now. */
uint32_t swif_sender_transmit(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                              unsigned char *packet);
/* Drops all that is queued or under way. */
void swif_sender_forget(struct swif *swif, uint16_t peer);

/* ---- silence.c: losses, and time-outs without an answer ------------------------------------ */

/* What is under way is to be sent again. */
void swif_hold_for_lost(struct swif_ltee *ltee, uint32_t sequence);
void swif_hold_all_for_lost(struct swif_ltee *ltee);

/* The first that is to be sent again; there is one. */
static inline uint32_t swif_first_lost(const struct swif_ltee *ltee)
{
    uint32_t sequence = ltee->oldest;
    while (!swif_bit(&ltee->lost, sequence)) {
        sequence++;
    }
    return sequence;
}

/* What an acknowledgement says of arrivals. */
struct swif_reading {
    const struct wire_ack *ack;
    struct swif_feedback feedback;
    bool anything;
};

/* The echo is of a packet that was sent so. */
static inline void swif_measure(uint64_t now_ns, struct swif_ltee *ltee,
                                const struct swif_sent *sent, struct swif_reading *reading)
{
    uint64_t elapsed_ns = now_ns - sent->at_ns;
    uint64_t delay_ns = reading->ack->delay_ns;
    reading->feedback.rtt_ns = elapsed_ns > delay_ns ? elapsed_ns - delay_ns : 1;
    reading->feedback.sent = *sent;
    ltee->newest_rtt_ns = reading->feedback.rtt_ns;
}

/* Nothing has come back for a time-out: ltee->silences of them in a row. */
void swif_silence(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee);
/* Something has. */
void swif_silence_is_over(const struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                          struct swif_reading *reading);

/* ---- receiver.c: RTEEs ------------------------------------------------------------------ */

/* Body NULL: it is known that the packet is not carried out, only answered. */
void swif_receiver_data(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                        const unsigned char *body);
void swif_receiver_timer(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee);
/* Writes the acknowledgements that are due to the peer, as far as they fit; gives their
 * bytes. */
uint32_t swif_receiver_acks(struct swif *swif, uint64_t now_ns, uint16_t peer, unsigned char *to,
                            uint32_t room);
/* The same for an acknowledgement that no RTEE stands behind. */
uint32_t swif_receiver_note_ack(struct swif *swif, uint64_t now_ns, const struct swif_note *note,
                                unsigned char *to);
void swif_receiver_forget(struct swif *swif, uint16_t peer);

/* ---- peer.c: incarnations, life and death -------------------------------------------------- */

/* Whether the sender of this packet has numbered another one so, and that one has come. Nothing of
 * the packet need be true: it is not opened then. */
bool swif_peer_is_replay(const struct swif *swif, const struct wire_header *header);
/* Whether an authentic packet, which is no replay, may be believed: learns of new lives on the
 * way. `code` is a CONTROL packet's, or 0. */
bool swif_peer_admit(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                     uint8_t code);
void swif_peer_control(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                       const unsigned char *body);
/* A watch's time has come. */
void swif_peer_look(struct swif *swif, uint64_t now_ns, struct swif_watch *watch);
/* The peer should have spoken until then. It is suspected now, and given up when the time for a
 * verdict is over, too: true then. */
bool swif_peer_doubt(struct swif *swif, uint64_t now_ns, uint16_t peer, uint64_t due_ns);
/* When to look at that again: due_ns itself, or when the verdict is due. */
static inline uint64_t swif_peer_doubt_at_ns(const struct swif *swif, uint64_t now_ns,
                                             uint64_t due_ns)
{
    return due_ns == SWIF_NEVER || due_ns > now_ns ? due_ns : due_ns + swif->config.verdict_ns;
}
/* The peer is held for dead from now on. */
void swif_peer_give_up(struct swif *swif, uint64_t now_ns, uint16_t peer);

/* ---- swif.c --------------------------------------------------------------------------------- */

void swif_note_control(struct swif *swif, uint16_t peer, uint8_t code, uint32_t incarnation);
void swif_note_add(struct swif *swif, const struct swif_note *note);
/* Fills in and seals; gives the packet's bytes. */
uint32_t swif_seal(struct swif *swif, struct wire_header *header, unsigned char *packet);

#endif
