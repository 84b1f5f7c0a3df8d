/* dimmnet.h: a store is a message.
 *
 * One store instruction puts 1 to 8 bytes into another node's memory. Block transfer, RDMA,
 * atomics, waiting, teams with barriers and reductions, locks and messages are built on that.
 *
 * The words that this header uses:
 *  - A node is a process of a group that was started together; its rank is its number there.
 *  - An area is a piece of a node's memory that other nodes can reach: its LLCM, its bank, its
 *    heap, or memory that it registered.
 *  - LLCM is the papers' low-latency common memory: a small area for flags and counters.
 *  - A kick is a piece of another node's area, mapped so that stores to it become messages.
 *  - AOTF (atomic on the fly) is such a store. BOTF (block on the fly) is a block that is sent
 *    in order with the stores. PUSH and PULL are RDMA: they write to, and read from, another
 *    node's memory in the background.
 *  - A lane is a handle to send on. Order is kept within a lane.
 *
 * The conventions are the same for every call:
 *  - A call returns 0 or a negative DN_E... code; dn_strerror() gives the code's sentence.
 *    Outputs come last and are set only on success.
 *  - A caller's mistake (a NULL, a rank, area, offset or length that does not exist, a
 *    misaligned word) gives a code, and nothing is written.
 *  - No call blocks for ever: a wait ends at its deadline, or with DN_EPEER when a peer dies.
 *  - All calls are thread-safe, and none is a cancellation point. After fork() the child may not
 *    call (DN_ESTATE).
 *  - A call that takes a node takes a lane as well (see dn_lane_open).
 *  - A call that all members of a team make together takes the team.
 *  - Fabrics differ in what carries a store. In place: this CPU reaches the memory of the
 *    other node (`mem`). By packets: a network lies between (`udp`). A comment names the
 *    difference where there is one.
 *
 * dimmnet(7) and doc/memory-model.md say what is ordered and when something is complete.
 */
#ifndef DIMMNET_H
#define DIMMNET_H

#include <stddef.h>
#include <stdint.h>

#define DN_VERSION_MAJOR 0
#define DN_VERSION_MINOR 1
#define DN_VERSION_PATCH 0

/* Calls of a few nanoseconds go straight to the function through its address, without the
 * linker's stub, where the compiler can do that. */
#ifdef __has_attribute
#if __has_attribute(noplt)
#define DN_NO_STUB __attribute__((noplt))
#endif
#endif
#ifndef DN_NO_STUB
#define DN_NO_STUB
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------- */

enum dn_error {
    DN_OK = 0,
    DN_EINVAL = -1,      /* an argument is NULL or has no meaning */
    DN_ESTATE = -2,      /* not attached (detached, a forked child), or attached already */
    DN_ERANK = -3,       /* no such rank in the group */
    DN_EAREA = -4,       /* no such area at that rank */
    DN_ESTALE = -5,      /* the area was deregistered since its name was made */
    DN_ERANGE = -6,      /* offset and length leave the area */
    DN_EALIGN = -7,      /* a word is not aligned to its size */
    DN_EPEER = -8,       /* a peer died or left */
    DN_ETIMEOUT = -9,    /* the deadline passed first */
    DN_ENOMEM = -10,     /* no memory left of the kind asked for */
    DN_EFULL = -11,      /* a table of fixed size is full */
    DN_EMISMATCH = -12,  /* a collective call differs between the nodes */
    DN_EGROUP = -13,     /* the launcher's group cannot be used, or a peer overwrote its words */
    DN_EVERSION = -14,   /* launcher and library do not fit together */
    DN_ESYSTEM = -15,    /* the operating system refused; errno says why */
    DN_EOWNERDEAD = -16, /* the lock is yours, but its last holder died with it */
    DN_EBUSY = -17,      /* somebody else has it */
    DN_ENOTHELD = -18,   /* the lock is not held through this handle */
    DN_ETOOLONG = -19,   /* the message is longer than the buffer; it stays where it is */

    /* Memory that cannot be registered (dn_register). */
    DN_EUNMAPPED = -20, /* part of it is not mapped */
    DN_ESHARED = -21,   /* it is shared already, by another means */
    DN_EREADONLY = -22, /* it cannot be read and written */
    DN_EFILE = -23,     /* it is a mapped file */
    DN_ESTACK = -24,    /* it is a thread's stack */
    DN_ESPECIAL = -25,  /* it is the kernel's, a device's or made of huge pages */
    DN_ETHREADS = -26,  /* the program's other threads could not be stopped meanwhile */

    DN_ENOTSUP = -27, /* this fabric does not offer what was asked for */
    DN_ERIGHTS = -28  /* the area's owner does not let others do that (dn_rights_set) */
};

/* The sentence for an error code, "DN_EPEER: ..."; never NULL. */
const char *dn_strerror(int error);

/* The name of an error code alone, "DN_EPEER"; never NULL. */
const char *dn_errname(int error);

/* "0.1.0", of the library at run time. */
const char *dn_version(void);

/* ---- Joining ------------------------------------------------------------ */

struct dn_node;

/* An option struct begins with its size, so that it can grow. A program that was compiled
 * with a smaller struct gets zeros for the rest. A larger struct is accepted when all that
 * this library does not know of it is zero, and refused with DN_EINVAL otherwise. */

/* How large this node's areas are. Zero takes what the environment says (DN_LLCM_BYTES,
 * DN_BANK_BYTES, DN_HEAP_BYTES), or else the default. In a group that `dimmnet run` started
 * the launcher has set the sizes; dn_attach returns DN_ENOMEM if one of them is smaller than
 * asked for here. */
struct dn_options {
    size_t struct_bytes; /* sizeof(struct dn_options) */
    uint64_t llcm_bytes; /* default 128 KiB */
    uint64_t bank_bytes; /* default 1 GiB, committed when touched */
    uint64_t heap_bytes; /* default 1 GiB, committed when touched */
};

/* Joins the group in which `dimmnet run` started this process, or else makes a group of one.
 * options may be NULL. A process has at most one node at a time (DN_ESTATE). A rank that has
 * left cannot come back (DN_EGROUP). */
int dn_attach(struct dn_node **node, const struct dn_options *options);

/* Leaves the group, after everything that this node sent is in place. The peers' waits do not
 * fail because of it, but a call that still needs this node returns DN_EPEER, and so does an
 * endless wait of the last node left. */
int dn_detach(struct dn_node *node);

int dn_rank(const struct dn_node *node); /* 0 .. size-1, or DN_E... */
int dn_size(const struct dn_node *node); /* nodes in the group, or DN_E... */

/* The clock of all time-outs, in ns: that of the system (CLOCK_MONOTONIC) or, on a simulated
 * machine, its virtual time, which begins with 0 for all nodes at once. 0 if the handle is not
 * open. */
uint64_t dn_time_ns(struct dn_node *node);
/* Says that the program computes for so long. On a simulated machine that much virtual time passes;
 * elsewhere time passes by itself, and this does nothing. DN_ESTATE, DN_EINVAL. */
int dn_compute_ns(struct dn_node *node, uint64_t ns);

/* A lane is one more handle on the same node, with an order of its own: nothing orders what
 * two lanes send. A call that takes a node takes a lane as well. Closing a lane first
 * completes what was sent on it. The next lane that is opened may get the same handle. */
int dn_lane_open(struct dn_node *node, struct dn_node **lane);
int dn_lane_close(struct dn_node *lane);

/* ---- Reachable memory --------------------------------------------------- */

enum dn_area {
    DN_LLCM = 1, /* low-latency common memory, for flags, counters and operands */
    DN_BANK = 2, /* large memory, which the program lays out itself */
    DN_HEAP = 3  /* dn_alloc hands this out, at equal offsets on all nodes */
};

/* A place in some node's memory. */
struct dn_remote {
    int rank;
    uint32_t area; /* DN_LLCM, DN_BANK, DN_HEAP or from dn_register */
    uint64_t offset;
};

/* This node's own memory; NULL if the node is not attached. It starts as zeros. */
void *dn_llcm(struct dn_node *node, size_t *bytes);
void *dn_bank(struct dn_node *node, size_t *bytes);

/* Symmetric memory: all nodes of the group call with the same numbers, and each gets the same
 * offset in its DN_HEAP. The memory is aligned to 64 bytes, or to the alignment given, a power
 * of two up to 2 MiB or, if that is more and addresses suffice, up to the heap's size. It is not
 * cleared. Each of these calls is also a barrier of the group. */
int dn_alloc(struct dn_node *node, size_t bytes, void **pointer);
int dn_alloc_aligned(struct dn_node *node, size_t alignment, size_t bytes, void **pointer);
int dn_free(struct dn_node *node, void *pointer);

/* Turns a pointer into this node's LLCM, bank or heap into the remote address of the same
 * place at a given rank. With this node's own rank the pointer may also lie in registered
 * private memory; if several areas hold it, the one registered last is named. */
int dn_remote_of(struct dn_node *node, const void *pointer, int rank, struct dn_remote *remote);

/* Makes an area of a piece of this node's LLCM, bank or heap, or of the program's own private
 * memory, and gives it a name that peers can use. dn_deregister takes the name back: new uses
 * of it return DN_ESTALE. A kick that was mapped before still reaches LLCM, bank or heap
 * until it is unmapped.
 *
 * Private memory (from malloc or mmap, static variables) keeps its addresses and its
 * content; its whole pages lie on shared memory until they are deregistered. Until then the
 * program must not free or unmap it. Before it is deregistered, other nodes must unmap their
 * kicks to it and complete their transfers. */
int dn_register(struct dn_node *node, void *pointer, size_t bytes, uint32_t *area);
int dn_deregister(struct dn_node *node, uint32_t area);

/* What other nodes may do in an area of this node. All of it, unless its owner says otherwise. */
enum dn_right {
    DN_READ = 1,   /* dn_get, dn_pull, dn_read_* */
    DN_WRITE = 2,  /* kicks and their stores, dn_botf, dn_put, dn_push, dn_put_signal */
    DN_ATOMIC = 4, /* all other atomics, and locks whose words lie there */
    DN_ALL_RIGHTS = 7
};

/* As dn_register, with only these rights for others. */
int dn_register_rights(struct dn_node *node, void *pointer, size_t bytes, unsigned rights,
                       uint32_t *area);

/* Sets the rights that others have in an area of this node: DN_LLCM, DN_BANK, DN_HEAP, or one
 * from dn_register. Where areas overlap, each has its own. When this returns, all nodes know: a
 * call without the right returns DN_ERIGHTS, and nothing is written. What a node sent before may
 * still take effect; by packets, it may also be dropped.
 *
 * By packets, the node that has the area checks every operation. In place, the caller's own
 * call does, and nothing stops a store through a pointer or through a kick that was mapped
 * before (doc/security.md). The owner itself may always do everything. */
int dn_rights_set(struct dn_node *node, uint32_t area, unsigned rights);

/* The rights that others have in an area of that rank. */
int dn_rights_get(struct dn_node *node, int rank, uint32_t area, unsigned *rights);

/* ---- AOTF: one store is one message ------------------------------------- */

/* A kick: a mapped piece of a remote area. Only the inline functions below use its fields. */
struct dn_kick {
    unsigned char *pointer; /* where the bytes are; NULL: packets carry the stores */
    uint64_t bytes;
    struct dn_node *node;
    struct dn_remote remote;
};

int dn_kick_map(struct dn_node *node, struct dn_remote remote, size_t bytes, struct dn_kick *kick);
int dn_kick_unmap(struct dn_kick *kick);

/* The plain pointer where the memory is reached in place, NULL where packets carry the stores.
 * The library does not order stores that the program makes through this pointer. */
inline void *dn_kick_pointer(const struct dn_kick *kick)
{
    return kick->pointer;
}

/* A store that checks its arguments and returns its error. bytes is 1, 2, 4 or 8. */
int dn_kick_store(const struct dn_kick *kick, uint64_t offset, uint64_t value, unsigned bytes);

/* The stores below call this where packets carry them. It is dn_kick_store, but it keeps its
 * error for the lane. */
void dn_kick_store_later(const struct dn_kick *kick, uint64_t offset, uint64_t value,
                         unsigned bytes);

/* Ends the program with a sentence when a store leaves its kick or is misaligned. The stores
 * below call it in programs that are compiled with DN_CHECK (-Dcheck=true). */
void dn_kick_check(const struct dn_kick *kick, uint64_t offset, unsigned bytes);

#ifdef DN_CHECK
#define DN_KICK_CHECK(kick, offset, bytes) dn_kick_check((kick), (offset), (bytes))
#else
#define DN_KICK_CHECK(kick, offset, bytes) ((void)0)
#endif

/* In C the library holds the one outside copy of each inline function, so that other
 * languages can call it by the same name. (C++ treats inline differently.) */
#define DN_DEFINE_STORE(name, type)                                                              \
    inline void name(const struct dn_kick *kick, uint64_t offset, type value)                    \
    {                                                                                            \
        DN_KICK_CHECK(kick, offset, (unsigned)sizeof(type));                                     \
        if (__builtin_expect(kick->pointer != NULL, 1)) {                                        \
            __atomic_store_n((type *)(void *)(kick->pointer + offset), value, __ATOMIC_RELEASE); \
        } else {                                                                                 \
            dn_kick_store_later(kick, offset, value, (unsigned)sizeof(type));                    \
        }                                                                                        \
    }
#define DN_DEFINE_LOAD(name, type)                                    \
    inline type name(const void *word)                                \
    {                                                                 \
        return __atomic_load_n((const type *)word, __ATOMIC_ACQUIRE); \
    }

/* One aligned store of 1, 2, 4 or 8 bytes at kick + offset. It is never torn, and takes effect
 * in program order with the lane's other stores and blocks to that target. In place nothing
 * is checked. By packets an error (DN_ERANGE, DN_EALIGN, DN_ESTALE, DN_EPEER ...) is kept for
 * the lane, and the next dn_fence, dn_quiet or barrier returns it (see there). */
DN_DEFINE_STORE(dn_store_u8, uint8_t)
DN_DEFINE_STORE(dn_store_u16, uint16_t)
DN_DEFINE_STORE(dn_store_u32, uint32_t)
DN_DEFINE_STORE(dn_store_u64, uint64_t)

/* An acquire load from this node's own memory: whoever sees a value also sees everything that
 * was ordered before the store of that value. */
DN_DEFINE_LOAD(dn_load_u8, uint8_t)
DN_DEFINE_LOAD(dn_load_u16, uint16_t)
DN_DEFINE_LOAD(dn_load_u32, uint32_t)
DN_DEFINE_LOAD(dn_load_u64, uint64_t)

/* ---- BOTF and RDMA ------------------------------------------------------ */

/* BOTF: sends a block in program order with the lane's stores to that target. The source may
 * be reused at return. */
DN_NO_STUB int dn_botf(struct dn_node *node, struct dn_remote remote, const void *source,
                       size_t bytes);

/* Sends the body and then the 8-byte flag to the same rank: whoever sees the flag sees the
 * body. */
DN_NO_STUB int dn_put_signal(struct dn_node *node, struct dn_remote remote, const void *source,
                             size_t bytes, struct dn_remote flag, uint64_t value);

/* A transfer under way; only the library uses its words. */
struct dn_op {
    uint64_t words[4];
};

/* Blocking transfers. When dn_put returns 0, the bytes are placed in the target's memory and
 * visible to everyone, as after dn_quiet; what else the lane sent may still be under way. When
 * dn_get returns 0, the bytes are here. By packets: DN_EPEER when the target died or left. */
DN_NO_STUB int dn_put(struct dn_node *node, struct dn_remote remote, const void *source,
                      size_t bytes);
DN_NO_STUB int dn_get(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes);

/* PUSH and PULL: the same in the background, in any order between fences. The local memory
 * belongs to the transfer until it is done; dn_op_test and dn_op_wait tell. With op NULL only
 * dn_quiet tells. By packets both return DN_EPEER when the target died or left first. */
DN_NO_STUB int dn_push(struct dn_node *node, struct dn_remote remote, const void *source,
                       size_t bytes, struct dn_op *op);
DN_NO_STUB int dn_pull(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes,
                       struct dn_op *op);

DN_NO_STUB int dn_op_test(struct dn_op *op, int *done);
DN_NO_STUB int dn_op_wait(struct dn_op *op, uint64_t timeout_ns);

/* dn_fence: what this lane sent to a target before takes effect there before what it sends
 * there after. dn_quiet: what this lane sent is placed and visible to everyone; this is the
 * only call on a lane that orders different targets.
 *
 * Both return the kept error of a dn_store_*, once, after they have done their work: the first
 * error since the last time. By packets dn_quiet returns DN_EPEER when a node is gone to which
 * this lane had sent, by a store or otherwise, since its last dn_quiet; dn_fence does not. */
DN_NO_STUB int dn_fence(struct dn_node *node);
DN_NO_STUB int dn_quiet(struct dn_node *node);

/* ---- Atomics on aligned words of 4 and 8 bytes --------------------------- */

/* Each atomic happens exactly once. The fetching ones are done at return. dn_fence orders the
 * others, and dn_quiet completes them. */
#define DN_DECLARE_ATOMICS(suffix, type)                                                           \
    DN_NO_STUB int dn_fetch_add_##suffix(struct dn_node *node, struct dn_remote remote,            \
                                         type value, type *old);                                   \
    DN_NO_STUB int dn_fetch_and_##suffix(struct dn_node *node, struct dn_remote remote,            \
                                         type value, type *old);                                   \
    DN_NO_STUB int dn_fetch_or_##suffix(struct dn_node *node, struct dn_remote remote, type value, \
                                        type *old);                                                \
    DN_NO_STUB int dn_fetch_xor_##suffix(struct dn_node *node, struct dn_remote remote,            \
                                         type value, type *old);                                   \
    DN_NO_STUB int dn_swap_##suffix(struct dn_node *node, struct dn_remote remote, type value,     \
                                    type *old);                                                    \
    DN_NO_STUB int dn_compare_swap_##suffix(struct dn_node *node, struct dn_remote remote,         \
                                            type expected, type desired, type *old);               \
    DN_NO_STUB int dn_read_##suffix(struct dn_node *node, struct dn_remote remote, type *value);   \
    DN_NO_STUB int dn_add_##suffix(struct dn_node *node, struct dn_remote remote, type value);     \
    DN_NO_STUB int dn_and_##suffix(struct dn_node *node, struct dn_remote remote, type value);     \
    DN_NO_STUB int dn_or_##suffix(struct dn_node *node, struct dn_remote remote, type value);      \
    DN_NO_STUB int dn_xor_##suffix(struct dn_node *node, struct dn_remote remote, type value);     \
    DN_NO_STUB int dn_set_##suffix(struct dn_node *node, struct dn_remote remote, type value);

DN_DECLARE_ATOMICS(u32, uint32_t)
DN_DECLARE_ATOMICS(u64, uint64_t)

/* ---- Waiting ------------------------------------------------------------ */

#define DN_FOREVER UINT64_MAX /* until it happens or a peer dies */

enum dn_comparison { DN_EQ, DN_NE, DN_GT, DN_GE, DN_LT, DN_LE };

/* Waits until the word in this node's memory compares (unsigned) as asked, and returns 0,
 * DN_ETIMEOUT, or DN_EPEER while a death is not acknowledged. With time-out 0 it only looks. A
 * comparison that no value can meet is DN_EINVAL. */
DN_NO_STUB int dn_wait_until_u32(struct dn_node *node, const uint32_t *word,
                                 enum dn_comparison comparison, uint32_t value,
                                 uint64_t timeout_ns);
DN_NO_STUB int dn_wait_until_u64(struct dn_node *node, const uint64_t *word,
                                 enum dn_comparison comparison, uint64_t value,
                                 uint64_t timeout_ns);

struct dn_condition {
    const void *word; /* uint32_t or uint64_t in this node's memory */
    unsigned bytes;   /* 4 or 8 */
    enum dn_comparison comparison;
    uint64_t value;
};

/* Waits until one of several words compares as asked; *index is one that does. */
int dn_wait_until_any(struct dn_node *node, const struct dn_condition *conditions, size_t count,
                      uint64_t timeout_ns, size_t *index);

/* ---- Teams ---------------------------------------------------------------- */

/* A team is some of the group's nodes in an order of their own. A call that all members
 * make together (a collective call) takes the team first, and the team of all nodes is
 * dn_team_all(node). After a member died, calls that need it return DN_EPEER on all others. */
struct dn_team;

/* The team of all nodes; NULL if the node is not attached. It belongs to the node and is
 * not freed. */
struct dn_team *dn_team_all(struct dn_node *node);

/* Makes a team of these nodes. All of them call, with the same list. */
int dn_team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team);

/* Splits a team: members that give the same color form one part, in the order of their keys,
 * and in the order of the team where keys are equal. A member with a color below 0 is in no
 * part, and its *part is NULL. */
int dn_team_split(struct dn_team *team, int color, int key, struct dn_team **part);

/* Makes a team of the members that are still there, and acknowledges the deaths. All
 * survivors call. If a member is gone, the old team is given up first, as by dn_team_revoke:
 * so a survivor that still waits in a call of it is let out, and can come. */
int dn_team_shrink(struct dn_team *team, struct dn_team **survivors);

/* Gives a team up for all its members. Not collective, at any time, again and again. Calls on
 * the team that wait, and all later ones, end with DN_EPEER on all members, except shrinking and
 * freeing it and the questions below. A call that this node has passed returns 0 everywhere. */
int dn_team_revoke(struct dn_team *team);

/* Frees a team, after a barrier of its members. A team with a dead member, or one that was given
 * up, is freed at once. */
int dn_team_free(struct dn_team *team);

int dn_team_rank(const struct dn_team *team); /* this node's place, or DN_E... */
int dn_team_size(const struct dn_team *team);
int dn_team_node_rank(const struct dn_team *team, int rank); /* a member's rank in the group */

/* All members arrive before any leaves; what each sent before, on any lane, is then visible
 * to all. After DN_ETIMEOUT this node has arrived: call again to go on waiting. When a member
 * dies before it arrives, every survivor gets DN_EPEER. A barrier that all have passed returns
 * the kept error of a dn_store_*, of any lane of this node, instead of 0. */
DN_NO_STUB int dn_barrier(struct dn_team *team, uint64_t timeout_ns);

/* The same in two steps, with work between them. dn_barrier_wait returns a kept error as
 * dn_barrier does; dn_barrier_test leaves it. */
int dn_barrier_arrive(struct dn_team *team);
int dn_barrier_test(struct dn_team *team, int *passed);
int dn_barrier_wait(struct dn_team *team, uint64_t timeout_ns);

/* Chooses how a team's barriers work. The default is the fastest for the team and the cores;
 * the papers' two kinds are there to be measured. All members choose the same, between two
 * barriers. All kinds work on all fabrics. */
enum dn_barrier_kind {
    DN_BARRIER_FASTEST,
    DN_BARRIER_HOST, /* paper 000: the hosts move an 8-ary tree of one-byte phase counts */
    DN_BARRIER_NIC   /* paper 004: the NICs run a binary tree */
};

int dn_barrier_kind(struct dn_team *team, enum dn_barrier_kind kind);

enum dn_type {
    DN_INT8,
    DN_INT16,
    DN_INT32,
    DN_INT64,
    DN_UINT8,
    DN_UINT16,
    DN_UINT32,
    DN_UINT64,
    DN_FLOAT,
    DN_DOUBLE,
    DN_LONG_DOUBLE,
    DN_FLOAT_COMPLEX, /* as in C: the real part, then the imaginary one */
    DN_DOUBLE_COMPLEX
};

enum dn_reduction { DN_SUM, DN_PRODUCT, DN_MIN, DN_MAX, DN_AND, DN_OR, DN_XOR };

/* Sets result[i] on every member to the reduction of all members' source[i]. The elements are
 * combined in team order, so floating-point results are the same on all members and in every
 * run. Source and result are the same or do not overlap. Memory from dn_alloc, bank or LLCM is
 * used without a copy. */
int dn_allreduce(struct dn_team *team, const void *source, void *result, size_t count,
                 enum dn_type type, enum dn_reduction reduction);

/* The caller's own operation: combine sets result[i] to result[i] (op) operand[i] for `count`
 * elements. The operation is associative and the same on all members; it need not be
 * commutative. It makes no collective call. */
struct dn_operator {
    void (*combine)(void *result, const void *operand, size_t count, void *context);
    void *context;
    size_t element_bytes; /* 1 .. 8192 */
};

int dn_allreduce_with(struct dn_team *team, const void *source, void *result, size_t count,
                      const struct dn_operator *with);

/* Reduces only over the members before this one, and over this one as well if the kind is
 * DN_INCLUSIVE. The first member's exclusive result is left as it is. */
enum dn_scan_kind { DN_INCLUSIVE, DN_EXCLUSIVE };

int dn_scan(struct dn_team *team, const void *source, void *result, size_t count, enum dn_type type,
            enum dn_reduction reduction, enum dn_scan_kind kind);
int dn_scan_with(struct dn_team *team, const void *source, void *result, size_t count,
                 const struct dn_operator *with, enum dn_scan_kind kind);

/* Copies the root's bytes to all members. */
int dn_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root);

/* Gives every member the bytes of all members, in team order. */
int dn_allgather(struct dn_team *team, const void *source, void *result, size_t bytes);

/* The same where each member gives as many bytes as it likes; they lie one behind the other.
 * sizes, which may be NULL, tells how many each gave. DN_ETOOLONG: there are more bytes than
 * capacity; nothing was written here, and the other members have theirs. */
int dn_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                  size_t capacity, size_t *sizes);

/* Each member's source holds `bytes` bytes for every member, in team order. result gets what
 * every member had for this one. The two do not overlap. */
int dn_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes);

/* The same with sizes[i] bytes for member i; they lie one behind the other at both ends.
 * received_sizes, which may be NULL, tells how many came from each. DN_ETOOLONG as above. */
int dn_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                 size_t capacity, size_t *received_sizes);

/* ---- Locks ------------------------------------------------------------------ */

/* A lock is an 8-byte word in any node's reachable memory; it starts as zero. A handle stands
 * for one requester: one thread at a time uses it, and threads that contend have one each. By
 * packets a lock ends with the node that has its word: the calls below then return DN_EPEER,
 * and nothing is held. */
struct dn_lock;

int dn_lock_open(struct dn_node *node, struct dn_remote word, struct dn_lock **lock);
int dn_lock_close(struct dn_lock *lock);

/* Takes the lock; requesters get it in the order in which they asked. Returns 0, DN_ETIMEOUT,
 * or DN_EOWNERDEAD: this handle holds the lock, but the last holder died, and what the lock
 * guards may be half changed. */
DN_NO_STUB int dn_lock_take(struct dn_lock *lock, uint64_t timeout_ns);

/* Takes the lock if it is free, else returns DN_EBUSY. */
DN_NO_STUB int dn_lock_try(struct dn_lock *lock);

/* Gives the lock back. DN_ENOTHELD: this handle does not hold it. */
DN_NO_STUB int dn_lock_give(struct dn_lock *lock);

/* ---- Messages ----------------------------------------------------------------- */

/* A context is a place to send from and to receive at. It has a channel number, the nodes it
 * may send to, and the nodes it may receive from. Contexts with equal channel numbers talk to
 * each other. A node has one context per channel, and may have many channels. The messages of
 * a sender arrive in order, each exactly once. */
struct dn_context;

#define DN_ANY (-1) /* as a source: any node */

/* With any of these, messages to and from nodes by packets go by Modified ACK/NACK: a message that
 * finds no room at its receiver is refused and sent again, and holds up what the context sends to
 * others as well. The contexts at both ends then have flags, if not the same ones; else sending
 * returns DN_ENOTSUP. dn_context_open returns DN_ENOTSUP if none of its nodes is reached by
 * packets, as on `mem`. */
enum dn_context_flag {
    DN_CONTEXT_BACK_OFF = 1,       /* wait longer before each resending */
    DN_CONTEXT_RESEND_REQUEST = 2, /* the receiver says when it has room again */
    DN_CONTEXT_LOSS_DETECTION = 4, /* send by packets that may get lost, and again if need be */
    DN_CONTEXT_ACK_NACK = 8        /* none of the above */
};

/* Zero in a field takes the default. */
struct dn_context_options {
    size_t struct_bytes;         /* sizeof(struct dn_context_options) */
    uint64_t ring_bytes;         /* receive buffer per source: 1 KiB .. 64 MiB, default 64 KiB */
    uint32_t send_queue_entries; /* sends under way per destination, default 64 */
    uint32_t flags;              /* any of enum dn_context_flag */
};

/* Not collective: a send waits until its destination has opened the channel. options may
 * be NULL; a list may be NULL when its count is 0. DN_EBUSY: this node has the channel
 * open already. */
int dn_context_open(struct dn_node *node, uint32_t channel, const int *destinations,
                    size_t destination_count, const int *sources, size_t source_count,
                    const struct dn_context_options *options, struct dn_context **context);

/* What was sent can still be received; what has not been received here is lost. DN_EBUSY: an
 * operation of the context is under way. */
int dn_context_close(struct dn_context *context);

/* Returns when the data may be reused. A small message then lies in the receiver's buffer, or
 * packets are carrying it there; the receiver has fetched a large one (32 KiB and more) from
 * LLCM, bank or heap. What this node sent before is in place when the message is received.
 * DN_ERANK: the rank is not among the destinations, or this node is not among its sources.
 * DN_EPEER: it died, left or closed the channel. After an error nothing is received. */
int dn_send(struct dn_context *context, int rank, const void *data, size_t bytes,
            uint64_t timeout_ns);

/* Receives the next message of a source, or of DN_ANY, which takes the sources in turn.
 * DN_ETOOLONG: the message is longer than capacity and stays the next one. DN_EPEER: the source
 * is gone, and all that it sent has been received; with DN_ANY, a source's death is not
 * acknowledged, or no source is left. sender and bytes may be NULL. After an error the buffer's
 * content is undefined. */
int dn_recv(struct dn_context *context, int source, void *buffer, size_t capacity,
            uint64_t timeout_ns, int *sender, size_t *bytes);

/* Tells the sender and length of the message that dn_recv would return; it stays the next. */
int dn_probe(struct dn_context *context, int source, uint64_t timeout_ns, int *sender,
             size_t *bytes);

/* A send or receive under way; only the library uses its words. The program keeps the
 * operation and its buffer where they are until it is done. */
struct dn_message_op {
    uint64_t words[12];
};

/* Send and receive without waiting. DN_EBUSY: the send queue is full. Operations go on
 * whenever a call is made on the context. Receives are filled in the order they were made. */
int dn_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
             struct dn_message_op *op);
int dn_irecv(struct dn_context *context, int source, void *buffer, size_t capacity,
             struct dn_message_op *op);

/* Both return the operation's error. sender and bytes are set for a receive and may be NULL.
 * After DN_ETIMEOUT the operation is still under way. */
int dn_message_test(struct dn_message_op *op, int *done, int *sender, size_t *bytes);
int dn_message_wait(struct dn_message_op *op, uint64_t timeout_ns, int *sender, size_t *bytes);

/* Takes an operation back. 0: none of it happened. DN_EBUSY: it is done already. */
int dn_message_cancel(struct dn_message_op *op);

/* Sending without a copy: the first call gives memory to write the message into, the second
 * sends as many bytes or fewer. DN_EBUSY: there is no room now, or sends are under way. Until
 * the message is sent, other sends to that rank return DN_EBUSY. */
int dn_send_buffer_get(struct dn_context *context, int rank, size_t bytes, void **buffer);
int dn_send_buffer_send(struct dn_context *context, int rank, size_t bytes);

/* Receiving without a copy: gives the next message where it lies. The next one of that source
 * comes after dn_recv_release; until then a receive from that source returns DN_EBUSY. */
int dn_recv_in_place(struct dn_context *context, int source, uint64_t timeout_ns, const void **data,
                     int *sender, size_t *bytes);
int dn_recv_release(struct dn_context *context, int source);

/* ---- Peers that die ------------------------------------------------------ */

enum dn_life {
    DN_STARTING = 0, /* not attached yet; in place its memory is there already */
    DN_ATTACHED = 1,
    DN_LEFT = 2, /* detached, or ended well without ever attaching */
    DN_DEAD = 3
};

int dn_peer_life(struct dn_node *node, int rank, enum dn_life *life);

/* Acknowledges the deaths announced so far, so that waits go on without those nodes. ranks,
 * which may be NULL, gets up to capacity of the ranks that were not acknowledged before;
 * *count is how many there were, those beyond capacity included. */
int dn_failure_ack(struct dn_node *node, int *ranks, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif

/* These were for this header alone. */
#undef DN_NO_STUB
#undef DN_KICK_CHECK
#undef DN_DEFINE_STORE
#undef DN_DEFINE_LOAD
#undef DN_DECLARE_ATOMICS

#endif
