/* The shared space, and the memory that the protocol itself uses.
 *
 * All of it lies in the nodes' symmetric heaps (DN_HEAP), so that any node can read it by the
 * primitives, on every fabric. The part that programs get from fagus_alloc is mapped a second
 * time, at an address that is the same on all nodes: on a node of its own (remote) its own
 * heap, where memory is shared the heap of rank 0, by everybody.
 *
 * Offsets below count from the start of the shared space. Every node has a copy of it there
 * (remote), at the same offset. */
#ifndef FAGUS_SPACE_H
#define FAGUS_SPACE_H

#include <stdbool.h>

#include "dimmnet.h"
#include "fagus.h"

/* ---- Set-up: space.c, called by fagus_init and fagus_finalize ------------------------- */

/* Collective: joins the group, agrees on the address and maps the space there. After an error
 * nothing of it is left. */
int fagus_space_open(void);
/* Leaves the group. Every other part of the library has ended before. */
int fagus_space_close(void);

/* The calling thread's own lane, opened when it first asks and closed when it ends. The thread
 * that called fagus_init has the node itself. */
struct dn_node *fagus_lane(void);

/* ---- Shared memory ---------------------------------------------------------------------- */

/* The offset of a range that lies in one living allocation; FAGUS_ERANGE. */
int fagus_offset_of(const void *pointer, size_t bytes, uint64_t *offset);
void *fagus_pointer_at(uint64_t offset);
/* The same place through the mapping that FAGUS_CHECK does not guard. */
void *fagus_unguarded_at(uint64_t offset);

/* Fetches bytes of another node's copy, or of its protocol memory: an offset and a place are
 * the same number. All that a thread has begun is complete after its fagus_fetch_wait, which
 * gives the first error: FAGUS_EPEER. Where pointers reach the memory a fetch is a copy, also
 * from a dead node. FAGUS_EPEER also for a rank, an offset or a length that makes no sense. */
int fagus_fetch_begin(int rank, uint64_t offset, void *into, size_t bytes);
int fagus_fetch_wait(void);
/* Both, for a single piece. */
int fagus_fetch(int rank, uint64_t offset, void *into, size_t bytes);

/* ---- Protocol memory --------------------------------------------------------------------- */

/* Collective: zeros at the same place on all nodes, aligned to a line. Both are barriers, and
 * make sure by themselves that all nodes ask for the same. */
int fagus_control_alloc(size_t bytes, void **pointer);
int fagus_control_free(void *pointer);

/* Not collective: memory of this node that others can read (diffs, long lists of ranges).
 * NULL: used up. */
void *fagus_pool_alloc(size_t bytes);
void fagus_pool_free(void *pointer);

/* Either kind, at a rank: for control memory the same place there, for pool memory the rank that
 * allocated it. The pointer of this node's own mapping names both. */
struct dn_remote fagus_remote_of(int rank, const void *pointer);
/* The same from a number that was passed on: what fagus_place_of gave at that rank. */
uint64_t fagus_place_of(const void *pointer);
struct dn_remote fagus_remote_at(int rank, uint64_t place);
/* The pointer that reaches it: of this node's own memory, and where all nodes are in place of
 * everybody's, the dead included; else NULL. */
void *fagus_reach(int rank, uint64_t place);

/* ---- Small things --------------------------------------------------------------------------- */

int fagus_error_of(int dn_error); /* DN_E... to FAGUS_E... */

/* That all nodes called the same with the same numbers: the first call of every collective.
 * FAGUS_EMISMATCH on all of them otherwise; FAGUS_EPEER. A barrier. */
int fagus_agree(const char *call, const uint64_t *numbers, size_t count);
/* Instead of it where this node's arguments make no sense: gives `error` here and
 * FAGUS_EMISMATCH on the nodes whose arguments did, and nobody waits. */
int fagus_refuse(int error);

/* Collective: whether it is so on all nodes; FAGUS_EPEER. */
int fagus_everywhere(bool is_so, bool *everywhere);
/* Collective: what failed on one node (no memory) has failed on all. This node's error, or
 * FAGUS_ENOMEM for another's. */
int fagus_all_or_none(int error);

/* Collective calls take turns among the threads of a node: what one of them does in several
 * steps is not mixed with another's. Held around agree and what follows it. */
void fagus_collective_begin(void);
void fagus_collective_end(void);

/* Deaths. A thread that waits is told of each death once, by FAGUS_EPEER, and may then go on
 * waiting for the living; when all others are gone it is told every time. 0: nothing new. */
int fagus_death_news(void);

#endif
