/* The storm's oracle: outside all nodes it remembers what was given and what was seen, and checks
 * that every effect keeps these rules:
 *
 *   - An operation takes effect at most once, in one life of its target, with the right
 *     bytes at the right place. No operation from an older life of its source takes effect after
 *     one from a newer life, and none from a life that the target was told is lost.
 *   - Stores and blocks of one lane take effect at a target in the order they were given,
 *     none left out; only when a loss of the peer was reported between two of them may those
 *     before it be missing.
 *   - What follows a fence takes effect after what was before it, at each target.
 *   - An operation that completed with 0 has taken effect; the completion of a quiet says so of
 *     all that its lane gave before.
 *   - DN_EPEER is said only when the peer was reported lost.
 *
 * An operation is "required" from when it is given until it has taken effect or its peer
 * is reported lost; a run is not over while a living node has required ones. The bytes of an
 * operation are derived from its identity, which includes the group, so a stranger's bytes match
 * nothing.
 *
 * A node's memory is laid out for the oracle: a place that was written tells which operations may
 * write there. The oracle keeps a copy of each memory, so that it finds at the end what was
 * written without notice. */
#ifndef SIM_STORM_ORACLE_H
#define SIM_STORM_ORACLE_H

#include "sim/storm/storm.h"

enum {
    STORM_LANES = 3,
    STORM_SERVICE_LANE = STORM_LANES, /* of messages, locks and barriers */
    STORM_LANES_ALL,
    STORM_LOCKS = 4,
    STORM_NONE = UINT32_MAX, /* no such operation, no such life */

    /* The parts of a node's memory, which are also its areas. */
    STORM_AREA_STORES = 1, /* by source and lane, 8, 4, 2 and 1 bytes wide */
    STORM_AREA_BLOCKS = 2, /* by source and lane */
    STORM_AREA_WORDS = 3,  /* for atomics */
    STORM_AREA_PULLS = 4,  /* constant in each life */
    STORM_AREA_PUSHES = 5, /* by transfer, never used twice */
    STORM_AREAS = 6,

    STORM_STORES_BYTES = 256, /* a lane's: 64 for each width */
    STORM_BLOCKS_BYTES = 768,
    STORM_PULLS_BYTES = 8192,
    STORM_PUSH_ALIGN = 64,
    STORM_PUSH_BYTES_MAX = 8192,

    STORM_WORDS_EACH = 3, /* of each function */
    STORM_WORDS = WIRE_COMPARE_SWAP * STORM_WORDS_EACH + STORM_WORDS_EACH,
};

struct storm_layout {
    struct nic_extent areas[STORM_AREAS]; /* [0] is not used */
    uint64_t bytes;
};

void storm_layout_make(struct storm_layout *layout, uint32_t node_count, uint32_t operations);

/* ---- What is remembered ------------------------------------------------------------- */

struct storm_operation {
    enum storm_work work;
    uint8_t lane;
    uint8_t function;      /* of an atomic, enum wire_atomic */
    bool is_required;      /* has to take effect */
    bool was_dead;         /* the source thought the target dead when it gave this */
    bool is_seen;          /* has taken effect, whole */
    bool is_ended;         /* its completion came */
    bool wants_completion; /* its completion has to come */
    uint16_t source;
    uint16_t target;
    uint32_t source_life;
    uint32_t seen_life;      /* the target's life in which it took effect, in part or whole */
    uint32_t intended;       /* the target's incarnation that the source knew; 0: unknown */
    uint32_t number;         /* among those of its source life and lane, from 0 */
    uint32_t fence_number;   /* operations below this number are before the last fence */
    uint32_t losses;         /* of the target, as many as the source had been told */
    uint32_t next, previous; /* in its stream, for stores and blocks */
    uint32_t first_life;     /* the target's newest life when this was given */
    uint32_t bytes;
    uint32_t bytes_seen; /* PUSH */
    uint64_t offset;     /* in its area; ATOMIC: the word */
    uint64_t identity;   /* from which its bytes are derived */
    uint64_t operand, expected;
    uint64_t old_value;      /* ATOMIC that was seen: what it found */
    uint32_t history;        /* ATOMIC: index of its word's value when this was given */
    uint32_t bit;            /* AND, OR, XOR: the bit that is its own */
    bool is_trespass;        /* PULL: outside all areas, and has to be refused */
    bool is_held;            /* LOCK: from its grant until its release or loss */
    uint32_t manager_losses; /* LOCK: of this node, as many as its manager had been told */
};

/* What a life of a node knows about one of its lanes. */
struct storm_lane {
    uint32_t number; /* of the next operation */
    uint32_t fence_number;
    uint32_t *unseen; /* operations that have not taken effect, or not whole */
    uint32_t unseen_count, unseen_room;
};

struct storm_life {
    uint16_t node;
    uint32_t ordinal; /* among this node's lives, from 0 */
    uint32_t incarnation;
    bool is_alive;
    uint32_t required_count;
    uint32_t awaited_count; /* completions */
    uint32_t loss_count;    /* of all peers */
    struct storm_lane lanes[STORM_LANES_ALL];
    uint32_t losses[STORM_NODES_MAX]; /* of each peer, as many as this life was told */
    /* As a target: nothing from a source's incarnation below this may take effect. */
    uint32_t oldest_allowed[STORM_NODES_MAX];
};

/* Stores and blocks from one lane to one target, or messages, in the order they were given. */
struct storm_stream {
    uint32_t first, last;
    uint32_t last_seen;
};

/* All values that a word has had, in all lives. */
struct storm_word {
    uint64_t *values;
    uint32_t count, room;
    uint32_t bits_given;
    uint32_t operation_of_bit[64];
};

struct storm_target {
    unsigned char *copy;   /* the node's memory as it must be */
    unsigned char *pieces; /* a byte for each of PUSHES: 1 once written */
    uint32_t *push_at;     /* the operation, by STORM_PUSH_ALIGN of PUSHES */
    uint64_t pushes_end;   /* the first byte of PUSHES not given to a transfer */
    struct storm_word words[STORM_WORDS];
};

struct storm_oracle {
    uint32_t node_count;
    uint32_t group;
    struct storm_layout layout;
    struct storm_operation *operations;
    uint32_t operation_count, operation_room;
    struct storm_life **lives;
    uint32_t life_count, life_room;
    uint32_t life_of[STORM_NODES_MAX];   /* the newest, or STORM_NONE */
    struct storm_stream *streams;        /* by source, lane (the services' too), target */
    uint32_t *lock_holders[STORM_LOCKS]; /* operations that hold it, or did */
    uint32_t holder_count[STORM_LOCKS], holder_room[STORM_LOCKS];
    uint32_t phases[STORM_NODES_MAX]; /* the last one in which each node arrived at the barrier */
    bool is_team_broken;              /* a member died or was thought dead */
    struct storm_target targets[STORM_NODES_MAX];
    uint64_t checked[STORM_WORK_COUNT];
    bool failed;
    char failure[256]; /* the first one */
};

struct storm_oracle *storm_oracle_new(uint32_t node_count, uint32_t group,
                                      const struct storm_layout *layout);
void storm_oracle_free(struct storm_oracle *oracle);

void storm_oracle_fail(struct storm_oracle *oracle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "node N lane L: WORD NUMBER ..." of an operation that did what it may not; returns false. */
bool storm_operation_fail(struct storm_oracle *oracle, const struct storm_operation *operation,
                          const char *word, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Lives -------------------------------------------------------------------------- */

/* Fills the node's memory, zeros so far, with what a life begins with. */
void storm_oracle_born(struct storm_oracle *oracle, uint16_t node, uint32_t incarnation,
                       unsigned char *memory);
void storm_oracle_died(struct storm_oracle *oracle, uint16_t node);
/* The node was told that the peer is lost. The rest is what it knows now: the peer's incarnation,
 * and whether it thinks the peer dead. */
void storm_oracle_peer_lost(struct storm_oracle *oracle, uint16_t node, uint16_t peer,
                            uint32_t incarnation, bool is_dead);

/* The node's newest life. */
static inline struct storm_life *storm_oracle_life(const struct storm_oracle *oracle, uint16_t node)
{
    uint32_t life = oracle->life_of[node];
    INVARIANT(life != STORM_NONE);
    return oracle->lives[life];
}

/* ---- Giving ------------------------------------------------------------------------- */

/* What a program is about to give. */
struct storm_gift {
    enum storm_work work;
    uint16_t source;
    uint16_t target;
    uint8_t lane;
    uint8_t function;  /* ATOMIC; LOCK: 1 to try only */
    uint8_t word;      /* ATOMIC: which of the function's words */
    uint32_t bytes;    /* AOTF: 1, 2, 4, 8; ATOMIC: 4 or 8; else a length */
    uint64_t place;    /* BOTF, PULL: the offset; LOCK: which lock; BARRIER: the phase */
    uint64_t expected; /* COMPARE_SWAP */
    bool wants_completion;
    bool is_trespass;
    bool is_dead;      /* the source thinks the target dead */
    uint32_t intended; /* the target's incarnation that the source knows; 0: unknown */
};

/* Notes the operation, fills in where it goes and with what, and gives its index; STORM_NONE: there
 * is no room for it (any more). Call this before the operation itself: an effect may come while it
 * is being given. */
uint32_t storm_oracle_give(struct storm_oracle *oracle, const struct storm_gift *gift);
/* The newest operation was not taken after all. */
void storm_oracle_withdraw(struct storm_oracle *oracle, uint32_t operation);
/* The lane's newest life gave a fence. */
void storm_oracle_fence(struct storm_oracle *oracle, uint16_t source, uint8_t lane);

/* The value of a store; the bytes of every other operation are derived from its identity. */
uint64_t storm_operation_value(const struct storm_oracle *oracle,
                               const struct storm_operation *operation);

/* ---- Seeing ------------------------------------------------------------------------- */

/* The node's memory has just been written there. */
void storm_oracle_written(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                          uint64_t offset, uint64_t bytes);
/* An operation's completion; `data` is what a PULL brought. */
void storm_oracle_ended(struct storm_oracle *oracle, uint32_t operation, int result, uint64_t value,
                        const unsigned char *data);
void storm_oracle_datagram(struct storm_oracle *oracle, uint16_t node,
                           const struct swif_delivery *delivery);
/* Writes the body of a DATAGRAM operation, at most WIRE_OPERATION_BYTES + its bytes rounded up to
 * 8; gives how many. */
uint32_t storm_oracle_datagram_body(const struct storm_oracle *oracle, uint32_t operation,
                                    unsigned char *to);

/* A program received a message. */
void storm_oracle_message(struct storm_oracle *oracle, uint16_t node, uint16_t from,
                          const unsigned char *data, uint32_t bytes);
/* That operation no longer holds the lock: it was released, or found to be lost. */
void storm_oracle_lock_over(struct storm_oracle *oracle, uint32_t operation);

/* Checks that a life's memory is as the oracle knows it. */
void storm_oracle_compare(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory);

/* ---- Among the oracle's files ------------------------------------------------------- */

/* Whether the operation, or a part of it, may now take effect in that life. */
bool storm_oracle_allows(struct storm_oracle *oracle, uint32_t operation, uint32_t life);
/* The operation has taken effect, whole. */
void storm_oracle_seen(struct storm_oracle *oracle, uint32_t operation, uint32_t life);
/* Whether the first may be missing though the second, given after it, took effect. */
bool storm_operation_may_miss(const struct storm_operation *first,
                              const struct storm_operation *second);

void storm_oracle_give_ordered(struct storm_oracle *oracle, const struct storm_gift *gift,
                               uint32_t operation);
void storm_oracle_withdraw_ordered(struct storm_oracle *oracle, uint32_t operation);
void storm_oracle_see_ordered(struct storm_oracle *oracle, uint16_t node,
                              const unsigned char *memory, uint64_t offset, uint64_t bytes);

bool storm_oracle_give_push(struct storm_oracle *oracle, uint32_t operation);
void storm_oracle_withdraw_push(struct storm_oracle *oracle, uint32_t operation);
void storm_oracle_see_push(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                           uint64_t offset, uint64_t bytes);
void storm_oracle_end_push(struct storm_oracle *oracle, uint32_t operation);
void storm_oracle_end_pull(struct storm_oracle *oracle, uint32_t operation,
                           const unsigned char *data);

void storm_oracle_born_words(struct storm_oracle *oracle, uint16_t node, unsigned char *memory);
bool storm_oracle_give_atomic(struct storm_oracle *oracle, const struct storm_gift *gift,
                              uint32_t operation);
void storm_oracle_withdraw_atomic(struct storm_oracle *oracle, uint32_t operation);
void storm_oracle_see_word(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                           uint64_t offset, uint64_t bytes);
void storm_oracle_end_atomic(struct storm_oracle *oracle, uint32_t operation, uint64_t value);

void storm_oracle_end_lock(struct storm_oracle *oracle, uint32_t operation, int result);
void storm_oracle_end_barrier(struct storm_oracle *oracle, uint32_t operation, int result,
                              uint64_t phase);

struct storm_stream *storm_oracle_stream(const struct storm_oracle *oracle, uint32_t source,
                                         uint32_t lane, uint32_t target);
void storm_oracle_append(struct storm_oracle *oracle, uint32_t operation);
/* The operation of the stream has come to the node: it takes effect if it may, and if all between
 * the last that was seen and this one may be missing. */
void storm_oracle_see_next(struct storm_oracle *oracle, struct storm_stream *stream,
                           uint32_t operation, uint16_t node);
/* The first operation of the stream that may still come. */
uint32_t storm_oracle_first(const struct storm_oracle *oracle, const struct storm_stream *stream);

/* Room for one more in an array that grows. */
void *storm_grow(void *array, uint32_t count, uint32_t *room, size_t bytes);

/* Derived bytes: word `index` of those of an identity. */
static inline uint64_t storm_derive(uint64_t identity, uint64_t index)
{
    struct base_random random = {identity + index * UINT64_C(0xd1342543de82ef95)};
    return base_random_next(&random);
}
void storm_derive_bytes(uint64_t identity, uint64_t from, uint64_t bytes, unsigned char *to);
bool storm_derived_match(uint64_t identity, uint64_t from, uint64_t bytes,
                         const unsigned char *data);

/* The identity of the constant content of a life's PULLS. */
uint64_t storm_pulls_identity(const struct storm_oracle *oracle, const struct storm_life *life);

#endif
