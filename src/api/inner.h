/* What Fagus and OpenSHMEM use besides dimmnet.h, and all that they know of the layers below.
 *
 * Everything here takes a node or lane that is open, and ranks of its group: nothing is checked.
 * Three kinds of things are here: questions that a library asks once, when it opens (which ranks
 * are in place, where memory lies); what has no public name (agreeing, waiting for a condition,
 * locks that carry a value, the end of the job); and inline steps of OpenSHMEM's ordinary way,
 * where a call would cost as much as the work. Only this file includes lower layers for them. */
#ifndef API_INNER_H
#define API_INNER_H

#include "fabric/in_place.h"
#include "fabric/ladder.h"
#include "host/clock.h"
#include "host/trace.h"
#include "host/wait.h"

/* The most nodes that a group has. */
#define INNER_NODES_MAX GROUP_NODES_MAX

/* ---- Roads ----------------------------------------------------------------------- */

/* Whether that rank's memory is mapped here (in place); else packets carry what is written. */
bool inner_in_place(const struct dn_node *node, int rank);

/* Whether every rank is in place. All nodes get the same answer. */
bool inner_all_in_place(const struct dn_node *node);

/* Whether loads and stores through pointers may stand for transfers to that rank, or to every
 * rank: it is in place, and nothing (DN_RELAX) delays the transfers that they would overtake. */
bool inner_reaches(const struct dn_node *node, int rank);
bool inner_reaches_all(const struct dn_node *node);

/* ---- Where memory lies ----------------------------------------------------------- */

/* A rank's built-in area (DN_HEAP, DN_LLCM, DN_BANK) in this address space: its memory where it
 * is in place, else a mirror of what this node wrote and was told. */
static inline unsigned char *inner_area(const struct dn_node *node, int rank, uint32_t area)
{
    return group_segment(&node->process->view, (uint32_t)rank, area);
}

/* How long it is, at every rank. */
uint64_t inner_area_bytes(const struct dn_node *node, uint32_t area);

/* The largest alignment that dn_alloc_aligned gives, the same at every rank. */
uint64_t inner_heap_alignment(const struct dn_node *node);

/* The file that holds the memory in place, and where `place` lies in it: to map it once more or
 * to give pages back. Closed with the node. */
int inner_file_of(const struct dn_node *node, const void *place, uint64_t *offset);

/* Whether an allocation of dn_alloc begins at this offset of the heap, and then its bytes. */
bool inner_heap_find(const struct dn_node *node, uint64_t offset, uint64_t *bytes);

/* The executable's static and global variables. */
struct inner_program_data {
    uintptr_t base; /* where the program has them */
    uint64_t bytes; /* 0: there are none */
    uint64_t place; /* of base, from inner_registered of every rank */
    uint32_t area;  /* their name at this node, for remote addresses */
};

/* Moves them onto the node's registered memory, where all nodes that run the same executable
 * have them at the same place. 0 or DN_E.... */
int inner_program_data_share(struct dn_node *node, struct inner_program_data *data);

/* The registered memory of a rank in this address space, as inner_area. */
unsigned char *inner_registered(const struct dn_node *node, int rank);

/* ---- Waking and waiting ---------------------------------------------------------- */

/* A rank's call word. After a store through a pointer a sender looks at it: WATCHING calls for
 * inner_wake, GONE says that the rank has left or died. */
#define INNER_CALL_WATCHING GROUP_CALL_WATCHING
#define INNER_CALL_GONE GROUP_CALL_GONE
static inline _Atomic uint64_t *inner_call_word(const struct dn_node *node, int rank)
{
    return &node->process->view.ports[rank].call;
}

/* Wakes whoever sleeps at that rank and watches something of what was written there. */
void inner_wake(const struct dn_node *node, int rank, const void *written, uint64_t bytes);

/* The program has pointers to that rank's memory and stores through them unseen: fences and
 * waits of this node then look whether somebody sleeps there, and wake it. */
void inner_note_pointers(const struct dn_node *node, int rank);
static inline bool inner_stored_to_sleeps(const struct dn_node *lane)
{
    return fabric_stored_to_sleeps(&lane->lane);
}
void inner_wake_stored_to(const struct dn_node *lane);

/* Whether a waiter may poll closely, INNER_CLOSE_POLLS times, before it does anything else: a
 * core is free, and others write this memory by themselves. */
enum { INNER_CLOSE_POLLS = HOST_CLOSE_POLLS };
static inline bool inner_polls_closely(const struct dn_node *node)
{
    return node->process->polls_closely;
}

/* Whether each node has a core, so that spinning takes it from nobody. */
bool inner_core_is_free(const struct dn_node *node);

/* Where a waiter stands that looks by itself; starts as zeros. */
struct inner_ladder {
    struct fabric_ladder steps;
    uint64_t seen; /* as for fabric_nap */
};

/* After looks that found nothing: spins, yields, or naps for at most longest_ns, depending on how
 * long that has lasted. True: it napped. */
bool inner_pause(struct dn_node *node, struct inner_ladder *ladder, uint64_t now_ns,
                 uint64_t longest_ns);

/* Sleeps for less than a second. */
void inner_nap(struct dn_node *node, uint64_t nap_ns);

/* Whether time passes in calls of the library only: threads that wait for each other outside it,
 * for a time, would wait for nothing. */
bool inner_time_is_virtual(const struct dn_node *node);

/* After a look that found nothing: drives the NIC, and gives the core away if others need it. */
void inner_look_again(struct dn_node *node);

/* What inner_wait waits for. */
struct inner_condition {
    bool (*holds)(void *context);
    /* Whether it can never hold any more; the wait then ends with DN_EPEER. NULL: it always can. */
    bool (*hopeless)(const struct dn_node *node, void *context, bool forever);
    void *context;
    /* The first and the last word, in this node's memory, whose stores are worth waking for. */
    const void *first;
    const void *last;
    unsigned bytes; /* of each word; 0: it is not known */
};

/* Spins, yields and sleeps until it holds: 0, DN_ETIMEOUT or DN_EPEER. */
int inner_wait(const struct dn_node *node, const struct inner_condition *condition,
               uint64_t timeout_ns);

/* The `hopeless` of dn_wait_until_...: a death that is not acknowledged, or nobody left. */
bool inner_nobody_left(const struct dn_node *node, void *context, bool forever);

/* The clock of all time-outs, and now + timeout, where DN_FOREVER stays for ever. */
uint64_t inner_now_ns(void);
static inline uint64_t inner_deadline_ns(uint64_t now_ns, uint64_t timeout_ns)
{
    return host_deadline_ns(now_ns, timeout_ns);
}

/* ---- Lives ----------------------------------------------------------------------- */

/* Whether deaths have been announced beyond *known_count, which becomes their number. */
bool inner_deaths_are_news(const struct dn_node *node, uint32_t *known_count);

/* The lowest rank that has died and whose death this node has not acknowledged; -1: none. */
int inner_unacknowledged(struct dn_node *node);

/* Whether every other node has left or died; false for a group of one. */
bool inner_peers_all_gone(const struct dn_node *node);

/* Grows whenever a life of the group changes; acquire: the life is then set. */
uint32_t inner_change_count(const struct dn_node *node);

/* ---- Collective calls ------------------------------------------------------------ */

/* A barrier that returns 0 only if all members give the same name and numbers; else DN_EMISMATCH on
 * all of them, or DN_EPEER. */
int inner_agree(struct dn_team *team, const char *call, const uint64_t *numbers, size_t count);

/* Called instead when this node's arguments make no sense: the others get DN_EMISMATCH. Gives
 * `error`, or DN_EPEER. */
int inner_refuse(struct dn_team *team, int error);

/* As dn_team_create, under a name that the members never use for this list again, so that threads
 * that make teams in a different order on each node do not take each other's place. */
int inner_team_create_named(struct dn_node *node, const int *ranks, size_t count, uint64_t name,
                            struct dn_team **team);

/* As dn_team_free, for a team that no member uses any more, as a barrier has shown: its members
 * need not meet again. */
int inner_team_free_unused(struct dn_team *team);

/* Frees all that dn_alloc gave. Every node does so between two barriers. 0 or DN_ENOMEM. */
int inner_heap_clear(struct dn_node *node);

/* Whether a member has given the team up, as dn_team_shrink and dn_team_revoke do. */
bool inner_team_is_given_up(const struct dn_team *team);

/* Whether a member has come to the barrier at which this node has arrived. */
bool inner_team_has_arrived(const struct dn_team *team, int member);

/* As dn_fence, dn_quiet and an endless dn_barrier, but a kept error of dn_store_* is left to the
 * program's own calls, since the program made that store itself. */
int inner_fence(struct dn_node *lane);
int inner_quiet(struct dn_node *lane);
int inner_barrier(struct dn_team *team);

/* ---- Atomics --------------------------------------------------------------------- */

enum inner_atomic {
    INNER_ADD = WIRE_ADD,
    INNER_AND = WIRE_AND,
    INNER_OR = WIRE_OR,
    INNER_XOR = WIRE_XOR,
    INNER_SWAP = WIRE_SWAP,
    INNER_COMPARE_SWAP = WIRE_COMPARE_SWAP,
    INNER_READ = WIRE_READ,
};

/* One operation on a word of 4 or 8 bytes, on every road. With `old` NULL it may still be under
 * way at return. The errors of dn_fetch_add_u64. */
int inner_atomic(struct dn_node *lane, struct dn_remote remote, enum inner_atomic operation,
                 unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old);

/* The same on an aligned word that a pointer reaches; gives the old value. */
static inline uint32_t inner_apply_u32(uint32_t *word, enum inner_atomic operation,
                                       uint32_t operand, uint32_t expected)
{
    return nic_apply_u32(word, (enum wire_atomic)operation, operand, expected);
}
static inline uint64_t inner_apply_u64(uint64_t *word, enum inner_atomic operation,
                                       uint64_t operand, uint64_t expected)
{
    return nic_apply_u64(word, (enum wire_atomic)operation, operand, expected);
}

/* ---- Locks that carry a value ---------------------------------------------------- */

/* The value of a lock is memory behind its word that only holders change. By packets it travels
 * with the lock: a requester gets what it names with the grant, and a holder's changes go with
 * the release. In place it is at hand, and these calls do as the plain ones. */

/* As dn_lock_open, for a word in the heap of a rank that may be gone. */
int inner_lock_open(struct dn_node *node, int rank, uint64_t heap_offset, struct dn_lock **lock);

struct inner_lock_region {
    uint32_t offset; /* from the lock's word */
    uint32_t bytes;
};

/* Makes every grant from now on bring these two regions (the second may be empty) to the same
 * offsets in `memory`. */
void inner_lock_want_value(struct dn_lock *lock, void *memory,
                           const struct inner_lock_region regions[2]);

/* Whether the lock is one that travels, with its value. */
bool inner_lock_carries_value(const struct dn_lock *lock);

/* After a take or try that gave the lock: whether the value came with it. */
bool inner_lock_has_value(const struct dn_lock *lock);

/* Gives the lock with changes of its value. DN_EFULL: no room for them now, it is still held. */
int inner_lock_give_value(struct dn_lock *lock, const void *changes, uint32_t bytes);

/* Puts a change (bytes stored, or or-ed into a word) behind the others in a buffer that has
 * INNER_CHANGE_ROOM more bytes; gives their new length. */
#define INNER_CHANGE_ROOM(bytes) ((bytes) + 16)
uint32_t inner_change_add(unsigned char *changes, uint32_t length, uint32_t offset,
                          const void *from, uint32_t bytes, bool is_or);

/* Reads the change at *at, which becomes where the next one begins; gives its bytes. */
const void *inner_change_next(const unsigned char *changes, uint32_t length, uint32_t *at,
                              struct inner_lock_region *region, bool *is_or);

/* ---- Threads ----------------------------------------------------------------------- */

/* Starts a thread of the library's own: it takes none of the program's signals, whatever the caller
 * blocks, and stops while memory is registered. 0, or DN_ENOMEM or DN_ESYSTEM and errno. */
int inner_thread_start(const struct dn_node *node, pthread_t *thread, void *(*run)(void *),
                       void *context);

/* Whether a forked child never writes the C library's variables among this process's moved pages;
 * else it has memory of its own only when the first handler of pthread_atfork runs. */
bool inner_fork_spares_variables(void);

/* ---- Traces ------------------------------------------------------------------------ */

/* Whether calls are recorded (`dimmnet run --trace`). The public calls record themselves, unless
 * the thread is in one that is recorded already. Constant while the node is attached. */
static inline bool inner_is_traced(const struct dn_node *node)
{
    return UNLIKELY(node->process->is_traced);
}

/* The next call below that this thread records gets this name, a constant: that of the call by
 * which the program came here. */
void inner_trace_rename(const char *name);
static inline void inner_trace_as(const struct dn_node *node, const char *name)
{
    if (inner_is_traced(node)) {
        inner_trace_rename(name);
    }
}

/* A call of the library above as one record; what it calls below is then not recorded. */
enum inner_trace_kind {
    INNER_TRACE_OTHER = HOST_TRACE_OTHER,
    INNER_TRACE_PUT = HOST_TRACE_PUT,
    INNER_TRACE_PUT_SIGNAL = HOST_TRACE_PUT_SIGNAL,
    INNER_TRACE_GET = HOST_TRACE_GET,
    INNER_TRACE_ATOMIC = HOST_TRACE_ATOMIC,
    INNER_TRACE_WAIT = HOST_TRACE_WAIT,
    INNER_TRACE_BARRIER = HOST_TRACE_BARRIER,
    INNER_TRACE_COLLECTIVE = HOST_TRACE_COLLECTIVE,
    INNER_TRACE_LOCK = HOST_TRACE_LOCK,
};
struct inner_trace {
    struct host_trace_record *record;
    bool is_begun; /* else this thread is in a call that is recorded, or nothing is */
};

/* Each begins a record: of a call, of one that reaches a remote address, of one with a signal
 * behind its body, and of a wait for a word of this node. */
struct inner_trace inner_trace_begin(const struct dn_node *node, enum inner_trace_kind kind,
                                     const char *name, uint64_t bytes);
struct inner_trace inner_trace_remote(const struct dn_node *node, enum inner_trace_kind kind,
                                      const char *name, struct dn_remote remote, uint64_t bytes);
struct inner_trace inner_trace_signal(const struct dn_node *node, const char *name,
                                      struct dn_remote remote, uint64_t bytes,
                                      struct dn_remote flag);
struct inner_trace inner_trace_wait(const struct dn_node *node, const char *name, const void *word,
                                    uint64_t bytes);
void inner_trace_end(struct inner_trace trace, int result);

/* A look at a word that found what it looked for. */
void inner_trace_look(const struct dn_node *node, const char *name, const void *word,
                      uint64_t bytes);

/* ---- The beginning and the end of the job ------------------------------------- */

/* Why dn_attach has just failed, in a sentence. */
const char *inner_attach_reason(int error);

/* Notes that the whole group is to end with *status; false: another node wished so before, and
 * *status becomes its status. */
bool inner_want_end(const struct dn_node *node, int *status);

/* Makes the launcher look at that now; else it does when this process ends. */
void inner_tell_launcher(void);

/* The program goes on after deaths, from now on: the launcher does not end the group for them. */
void inner_go_on(const struct dn_node *node);

/* Shows what this node wrote at `place`, in its own memory, to every other node's mirror of it.
 * In place they see it anyway. */
void inner_show(struct dn_node *node, const void *place, uint64_t bytes);

/* The program is done with its peers for now and may come back: until then a process that ends
 * well counts as one that has left. */
void inner_rest(struct dn_node *node, bool rests);

/* After a dn_detach that could not make registered memory private again: leaves all the same.
 * That memory keeps its content and stays in the group's file until this process ends. */
void inner_leave_with_memory(struct dn_node *node);

#endif
