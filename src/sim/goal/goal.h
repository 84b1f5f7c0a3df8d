/* A GOAL schedule: what each rank of a parallel program computes, sends and receives, and what has
 * to be done before. LogGOPSim and ATLAHS read the same text:
 *
 *     num_ranks 2
 *     rank 0 {
 *       compute: calc 1000                   ns
 *       out: send 64b to 1 tag 7 cpu 1
 *       out requires compute                 out starts when compute has finished
 *     }
 *     rank 1 {
 *       recv 64b from 0 tag 7                a statement needs no label
 *       next: calc 10
 *       after: calc 20
 *       after irequires next                 after starts when next has started
 *     }
 *
 * Tags, cpus and NICs that are not said are 0. A label may stand before or behind the lines that
 * use it, and means an operation of its own rank. Comments are C's two kinds, and from # to the
 * line's end. The ranks may come in any order; one that does not come does nothing. "from any" is
 * refused: whom such a receive meets would depend on the machine.
 *
 * The k-th send from one rank to another with one tag is what the k-th such receive gets, in the
 * file's order; it is as long as the send says. So a schedule means the same on every machine. */
#ifndef SIM_GOAL_GOAL_H
#define SIM_GOAL_GOAL_H

#include <stdio.h>

#include "base/base.h"

enum {
    GOAL_ERROR_BYTES = 320,
    GOAL_RANKS_MAX = 65534,
    GOAL_CPUS_MAX = 64,
    GOAL_OPERATIONS_MAX = 1 << 26, /* of all ranks; and as many needs */
    GOAL_NAME_BYTES_MAX = 64,
};
#define GOAL_BYTES_MAX (UINT64_C(1) << 32)
#define GOAL_NS_MAX UINT64_C(1000000000000)

enum goal_kind { GOAL_CALC, GOAL_SEND, GOAL_RECEIVE };

struct goal_operation {
    enum goal_kind kind;
    uint32_t peer;   /* SEND, RECEIVE: the other rank */
    uint64_t amount; /* ns, or bytes */
    uint32_t tag;
    uint32_t cpu, nic; /* below GOAL_CPUS_MAX */
    uint32_t line;     /* of the file; 0: it comes from none */
    uint32_t name;     /* of its label in goal.names; 0: it has none */
};

/* An operation waits for another one of its rank. */
struct goal_need {
    uint32_t operation, before;
    bool of_start; /* until that one has started; else until it has finished */
};

struct goal_rank {
    struct goal_operation *operations; /* in the file's order */
    uint32_t count, room;
    struct goal_need *needs;
    uint32_t need_count, need_room;
};

struct goal {
    struct goal_rank *ranks;
    uint32_t rank_count;
    uint64_t operation_count, need_count; /* of all ranks */
    char *names;                          /* texts one behind the other; the first one is empty */
    size_t names_bytes, names_room;
};

/* ---- Making one ---------------------------------------------------------------------------- */

/* 1 to GOAL_RANKS_MAX ranks that do nothing. */
void goal_open(struct goal *goal, uint32_t rank_count);
void goal_close(struct goal *goal);

/* Adds an operation and gives its number in the rank. The name may be NULL, is not that of another
 * operation of the rank, and is what goal_is_name says. False: there are too many. */
bool goal_add(struct goal *goal, uint32_t rank, const struct goal_operation *operation,
              const char *name, uint32_t *number);
/* False: there are too many. */
bool goal_need(struct goal *goal, uint32_t rank, uint32_t operation, uint32_t before,
               bool of_start);

/* A letter or _, then letters, digits, _, . and -. */
bool goal_is_name(const char *text, size_t length);

/* "rank 3, line 12, "out"", as far as it is known. */
const char *goal_describe(const struct goal *goal, uint32_t rank, uint32_t operation,
                          char text[GOAL_ERROR_BYTES]);

/* ---- Files --------------------------------------------------------------------------------- */

/* The schedule is set only on success; else the error is one line that begins with file and
 * line. */
bool goal_read(const char *path, struct goal *goal, char error[GOAL_ERROR_BYTES]);
/* The same from memory; the name is for errors. */
bool goal_read_bytes(const char *name, const void *bytes, size_t length, struct goal *goal,
                     char error[GOAL_ERROR_BYTES]);

/* ---- Whether it can end -------------------------------------------------------------------- */

/* Carries the schedule out without any machine. False: it does not come to its end, whatever
 * machine runs it, and the error says which operation waits for what. Sends that nobody receives
 * are no fault. */
bool goal_check(const struct goal *goal, char error[GOAL_ERROR_BYTES]);

#endif
