/* Between a program and the simulator of its machine: one page of shared memory for each node, of
 * which the two take turns. Whoever has the turn runs, reads what the other side wrote and writes
 * its own part; then it gives the turn away and stands still. So a run depends on nothing but the
 * program and the machine: not on the number of cores, and not on what else they do.
 *
 *     program     records of what it did since it got the turn: steps of its CPU, each followed by
 *                 the packets that its NIC made of it; the last record says what it waits for
 *     simulator   records of what its NIC is to take in: packets, acknowledgements, lives; and why
 *                 the program gets the turn
 *
 * A record is a struct turn_record and its load; both begin at multiples of 8 bytes. The sides do
 * not trust each other: whoever reads a record checks that it lies within what was written. */
#ifndef WIRE_TURN_H
#define WIRE_TURN_H

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"

#define TURN_MAGIC UINT64_C(0x314e5255544e4d44) /* "DMNTURN1" */

enum {
    TURN_VERSION = 2,
    TURN_ROOM_BYTES = 256 << 10, /* of either side's records */
    TURN_SIZES = 4,              /* of a node's memory, as struct group_sizes has them */
};

/* Who has the turn. */
enum turn_side { TURN_PROGRAM, TURN_SIMULATOR };

/* Why the program gets it. */
enum turn_reason {
    TURN_GO_ON, /* its step is done, or what it waits for may have come */
    TURN_SERVE, /* its NIC has work; the program itself stands where it stood */
    TURN_KNOCK, /* another thread of it has knocked */
};

/* In place of a look's bytes: at words of all members of a team, who have met. */
enum { TURN_MET = 0xffff };

/* What the program says. CLOSING ones are the last of a turn. */
enum turn_word {
    TURN_STORE = 1, /* the CPU stores `detail` bytes to the NIC */
    TURN_BLOCK,     /* it writes a block of `value` bytes into a window and kicks */
    TURN_REQUEST,   /* it writes words of a request and kicks; detail: turn_asking, value: bytes */
    TURN_SERVICE,   /* it asks the core processor for a service */
    /* It reads a word of `detail` bytes (0: not known), or TURN_MET; behind a wait: the read that
     * finds what was waited for. If `value` is not 0, it is the word by which the core processor
     * tells that a service is done. */
    TURN_LOOK,
    TURN_COMPUTE, /* it computes for `value` ns */
    TURN_PACKET,  /* a packet of the NIC; load: struct turn_packet and its bytes */
    TURN_WAIT,    /* closing: until something comes, or until `value` ns of virtual time */
    TURN_SYNC,    /* closing: until all steps before are done */
    TURN_SERVED,  /* closing: after TURN_SERVE */
    TURN_ATTACH,  /* closing: it is there; virtual time begins when all are */
    TURN_LEAVE,   /* closing: it has detached, and the NIC serves no more */

    /* What the simulator says. */
    TURN_ARRIVED, /* load: struct turn_packet and its bytes */
    TURN_ACKED,   /* the peer `detail` has carried out packet `value` and all before it; load: the
                   * packet's cookie, 8 bytes */
    TURN_LIFE,    /* the rank `detail` has the life `value` (enum dn_life) from now on */
};

/* What a request asks of the NIC. */
enum turn_asked {
    TURN_ASKS_PUSH,
    TURN_ASKS_PULL,
    TURN_ASKS_ATOMIC,
    TURN_ASKS_FENCE,
    TURN_ASKS_QUIET
};

/* The detail of a request: how many words it has, and what it asks. */
static inline uint16_t turn_asking(unsigned words, enum turn_asked asked)
{
    return (uint16_t)(words | (unsigned)asked << 8);
}

static inline unsigned turn_asking_words(uint16_t detail)
{
    return detail & 0xff;
}

static inline unsigned turn_asking_what(uint16_t detail)
{
    return detail >> 8;
}

enum turn_packet_flag {
    TURN_KICKED = 1,     /* the step before it has set it off; else the NIC did by itself */
    TURN_WANTS_ACK = 2,  /* tell the sender when it has been carried out */
    TURN_IS_CD = 4,      /* a whole packet of InfiniSWIF; else a body */
    TURN_IS_REPEAT = 8,  /* CD: it was sent before */
    TURN_MISSED = 16,    /* CD: its context was not in the cache */
    TURN_IS_FLUSH = 32,  /* it carries nothing, and asks for an acknowledgement */
    TURN_NEEDS_NOW = 64, /* the target must answer it */
};

/* Why a thread knocks while the program waits. */
enum turn_knock {
    TURN_WANTED = 1,     /* it wants the turn */
    TURN_LOOK_AGAIN = 2, /* another one may have written what it waits for */
};

struct turn_record {
    uint32_t bytes; /* with the record itself and the load, a multiple of 8 */
    uint16_t word;  /* enum turn_word */
    uint16_t detail;
    uint64_t value;
};

struct turn_packet {
    uint16_t peer; /* where it goes, or comes from */
    uint8_t class; /* enum wire_class */
    uint8_t channel;
    uint16_t flags; /* enum turn_packet_flag */
    uint16_t header_misses;
    uint32_t bytes;
    uint32_t reserved;
    uint64_t number; /* of all packets of its sender */
    uint64_t cookie; /* given back with its acknowledgement; 0: none */
};

/* What the program has to know of its machine. */
struct turn_terms {
    uint64_t sizes[TURN_SIZES];
    uint32_t is_cd;
    uint32_t body_bytes_max;
    uint32_t step_max;           /* steps of one turn */
    uint32_t context_count;      /* CD: LTEEs and RTEEs; 0: the library's default */
    uint32_t ways;               /* CD: of the caches; 0: the same */
    uint32_t stage_max;          /* CD: enum wire_stage */
    uint32_t compute;            /* enum turn_compute */
    uint32_t read_ns;            /* a read of a word, at least 1 */
    uint32_t is_loop;            /* the link comes back: the one node reaches itself by packets */
    uint32_t is_in_place;        /* the CPUs reach all memory: there is no NIC to ask */
    uint32_t spins;              /* looks for the turn before sleeping */
    uint32_t gap_ns;             /* taken off measured time, since measuring adds it */
    uint32_t resume_ns;          /* the same for the first computation of a turn */
    uint64_t compute_factor_ppm; /* of measured time; of counted instructions: ps for a million */
};

/* What time between calls costs. */
enum turn_compute {
    TURN_COMPUTE_DECLARED,     /* nothing but what the program declares */
    TURN_COMPUTE_MEASURED,     /* CPU time times a factor */
    TURN_COMPUTE_INSTRUCTIONS, /* instructions times a time each */
};

struct turn_page {
    uint64_t magic;
    uint32_t version;
    uint32_t rank;
    uint32_t node_count;
    uint32_t reserved;
    struct turn_terms terms;

    /* Release when the turn is given, acquire when it is found: the other side's part is there. */
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t turn; /* enum turn_side; both sleep on it */
    _Atomic uint32_t sleeps[2]; /* by enum turn_side: it sleeps there, or is about to */

    alignas(CACHE_LINE_BYTES) _Atomic uint32_t process_id; /* 0: nobody has attached yet */
    _Atomic uint32_t is_threaded; /* several threads of the program call the library */
    _Atomic uint32_t knocks;      /* enum turn_knock */

    /* With the turn. */
    alignas(CACHE_LINE_BYTES) uint64_t now_ps;
    uint64_t deadline_ns;  /* the program's NIC has something to do then; UINT64_MAX: never */
    uint32_t others_run;   /* behind TURN_WAIT: threads of the program may call soon */
    uint32_t thread_count; /* the same: that have called, and have not ended */
    uint32_t wants_room;   /* the program's NIC has more to send than its part of the page holds */
    uint32_t reason;       /* enum turn_reason */
    uint32_t from_program_bytes;
    uint32_t from_simulator_bytes;
    alignas(CACHE_LINE_BYTES) unsigned char from_program[TURN_ROOM_BYTES];
    unsigned char from_simulator[TURN_ROOM_BYTES];
};

static inline uint32_t turn_record_bytes(uint32_t load_bytes)
{
    return (uint32_t)sizeof(struct turn_record) + (load_bytes + 7) / 8 * 8;
}

/* Puts a record behind the others; gives where its load goes, or NULL: there is no room. */
static inline unsigned char *turn_put(unsigned char *room, uint32_t *used_bytes,
                                      enum turn_word word, uint16_t detail, uint64_t value,
                                      uint32_t load_bytes)
{
    uint32_t bytes = turn_record_bytes(load_bytes);
    if (load_bytes > TURN_ROOM_BYTES || bytes > TURN_ROOM_BYTES - *used_bytes) {
        return NULL;
    }
    struct turn_record record = {
        .bytes = bytes, .word = (uint16_t)word, .detail = detail, .value = value};
    memcpy(room + *used_bytes, &record, sizeof record);
    unsigned char *load = room + *used_bytes + sizeof record;
    *used_bytes += bytes;
    return load;
}

/* Reads the record at *at, which then is behind it; false: there is none, or it is malformed. */
static inline bool turn_next(const unsigned char *room, uint32_t used_bytes, uint32_t *at,
                             struct turn_record *record, const unsigned char **load)
{
    if (used_bytes > TURN_ROOM_BYTES || *at > used_bytes || used_bytes - *at < sizeof *record) {
        return false;
    }
    memcpy(record, room + *at, sizeof *record);
    if (record->bytes < sizeof *record || record->bytes % 8 != 0 ||
        record->bytes > used_bytes - *at) {
        return false;
    }
    *load = room + *at + sizeof *record;
    *at += record->bytes;
    return true;
}

/* Reads the packet of a record's load; false: malformed. */
static inline bool turn_packet_read(const struct turn_record *record, const unsigned char *load,
                                    struct turn_packet *packet, const unsigned char **data)
{
    uint32_t bytes = record->bytes - (uint32_t)sizeof *record;
    if (bytes < sizeof *packet) {
        return false;
    }
    memcpy(packet, load, sizeof *packet);
    *data = load + sizeof *packet;
    return packet->bytes <= bytes - sizeof *packet;
}

#endif
