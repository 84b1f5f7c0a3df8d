/* What the nodes of a run did, step by step, so that a second run can be held against it: the first
 * run writes the journal, the second one compares and finds the first step that differs.
 *
 * It is a file without a name: a head, and an entry of 24 bytes for each step. Only the first
 * JOURNAL_ENTRIES_MAX are kept; beyond them the hashes of the whole runs decide. */
#ifndef SIM_PROGRAM_JOURNAL_H
#define SIM_PROGRAM_JOURNAL_H

#include "base/base.h"

enum {
    JOURNAL_SENTENCE_BYTES = 512,
    JOURNAL_ENTRIES_MAX = 1 << 26, /* 1.5 GiB */
};

/* A step of a node. */
struct journal_entry {
    uint64_t at_ps;
    uint64_t amount; /* bytes or ns; above them the peer, see journal_amount */
    uint32_t print;  /* of all that it says and sends */
    uint16_t rank;
    uint16_t word; /* enum turn_word; TURN_LIFE: the node has left or died, as its amount says */
};

#define JOURNAL_NOBODY UINT32_MAX

/* Bytes or ns together with the peer they are for, or JOURNAL_NOBODY. What is too large is cut:
 * the print still tells it apart. */
static inline uint64_t journal_amount(uint64_t amount, uint32_t peer)
{
    const uint64_t most = (UINT64_C(1) << 48) - 1;
    uint64_t place = peer < UINT16_MAX ? (uint64_t)(peer + 1) << 48 : 0;
    return place | (amount < most ? amount : most);
}

struct journal;

/* The second run reads what the first one wrote to the same file. NULL: no memory, or the file
 * holds no journal. The file stays the caller's. */
struct journal *journal_open(int fd, bool is_second);
void journal_close(struct journal *journal);

/* The next step. False: it is not what the first run did then. */
bool journal_add(struct journal *journal, const struct journal_entry *entry);
/* The run has come to its end. `is_threaded`: several threads of a node called the library.
 * False: the first run went on, or was not the same in all. */
bool journal_end(struct journal *journal, uint64_t at_ps, uint64_t hash, bool is_threaded);

/* After the first false: what differs, and what may help. */
void journal_explain(const struct journal *journal, bool is_threaded,
                     char sentence[JOURNAL_SENTENCE_BYTES]);

#endif
