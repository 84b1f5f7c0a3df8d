/* dimmnet.h: a store is a message.
 *
 * One store instruction puts 1 to 8 bytes into another node's memory; block
 * transfer, RDMA, atomics, waiting, teams with barriers and reductions, locks and
 * messages are built on it.
 *
 * Conventions, the same for every call:
 *  - A call returns 0 or a negative DN_E... code; dn_strerror() gives its
 *    sentence. Outputs come last and are set only on success.
 *  - A caller's mistake (a NULL, a rank, area, offset or length that does not
 *    exist, a misaligned word) is answered by a code, and nothing is written.
 *  - No call blocks for ever: a wait ends at its deadline, or with DN_EPEER when
 *    a peer dies.
 *  - All calls are thread-safe. After fork() the child may not call (DN_ESTATE).
 *  - Wherever a call takes a node it takes a lane as well (see dn_lane_open).
 *
 * What is ordered and when something is complete: dimmnet(7), doc/memory-model.md.
 */
#ifndef DIMMNET_H
#define DIMMNET_H

#include <stddef.h>
#include <stdint.h>

#define DN_VERSION_MAJOR 0
#define DN_VERSION_MINOR 1
#define DN_VERSION_PATCH 0

/* On calls that take a few nanoseconds: straight to the function through its address,
 * without the linker's stub in between, where the compiler can do that. */
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
    DN_EGROUP = -13,     /* the group that the launcher named cannot be used */
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
    DN_ETHREADS = -26   /* the program's other threads could not be stopped meanwhile */
};

/* The sentence for an error code, "DN_EPEER: ..."; never NULL. */
const char *dn_strerror(int error);

/* The name of an error code alone, "DN_EPEER"; never NULL. */
const char *dn_errname(int error);

/* "0.1.0", of the library at run time. */
const char *dn_version(void);

/* ---- Joining ------------------------------------------------------------ */

struct dn_node;

/* Zero in a field takes the environment's word (DN_LLCM_BYTES, DN_BANK_BYTES,
 * DN_HEAP_BYTES) or the default. A group started by `dimmnet run` has its sizes
 * already; there they are ignored. */
struct dn_options {
    size_t struct_bytes; /* sizeof(struct dn_options), so that it can grow */
    uint64_t llcm_bytes; /* default 128 KiB */
    uint64_t bank_bytes; /* default 1 GiB, committed when touched */
    uint64_t heap_bytes; /* default 1 GiB, committed when touched */
};

/* Joins the group that `dimmnet run` started this process in, or else makes a
 * group of one. A process has at most one node at a time (DN_ESTATE); a rank that has
 * left cannot come back (DN_EGROUP). */
int dn_attach(struct dn_node **node, const struct dn_options *options);

/* Leaves. Everything stored before is in place; the peers' waits do not fail
 * because of it, but whoever still needs this node gets DN_EPEER, and so does an
 * endless wait of the last one left. */
int dn_detach(struct dn_node *node);

int dn_rank(const struct dn_node *node); /* 0 .. size-1, or DN_E... */
int dn_size(const struct dn_node *node); /* nodes in the group, or DN_E... */

/* A lane is a second handle on the same node with an order of its own: what two
 * lanes send is not ordered between them. Wherever a call takes a node it takes
 * a lane too. Closing a lane first completes what was sent on it; its handle is then
 * free for the next one that is opened. */
int dn_lane_open(struct dn_node *node, struct dn_node **lane);
int dn_lane_close(struct dn_node *lane);

/* ---- Reachable memory --------------------------------------------------- */

enum dn_area {
    DN_LLCM = 1, /* low-latency common memory: flags, counters, operands */
    DN_BANK = 2, /* large memory, the program's own to lay out */
    DN_HEAP = 3  /* what dn_alloc hands out; equal offsets on all nodes */
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

/* Symmetric memory, collective: every node calls with the same numbers and gets
 * the same offset in DN_HEAP. The memory is aligned to 64 bytes or to the
 * alignment given (a power of two up to 2 MiB). Fresh memory is not cleared.
 * Both calls are barriers. */
int dn_alloc(struct dn_node *node, size_t bytes, void **pointer);
int dn_alloc_aligned(struct dn_node *node, size_t alignment, size_t bytes, void **pointer);
int dn_free(struct dn_node *node, void *pointer);

/* The remote address, at a given rank, of what lies at this pointer in this
 * node's own LLCM, bank or heap; or, with this node's own rank, in private memory that
 * is registered (in several areas: the one registered last). */
int dn_remote_of(struct dn_node *node, const void *pointer, int rank, struct dn_remote *remote);

/* Gives a piece of this node's LLCM, bank or heap, or of the program's own private
 * memory, a name that peers can use and that can be taken back: after dn_deregister new
 * uses of it get DN_ESTALE. A kick mapped before goes on reaching LLCM, bank or heap
 * until it is unmapped.
 *
 * Private memory (from malloc or mmap, static variables) keeps its addresses and its
 * content; its whole pages lie on shared memory until they are deregistered. Meanwhile
 * it must not be freed or unmapped. Others' kicks to it must be unmapped and their
 * transfers complete before it is deregistered. */
int dn_register(struct dn_node *node, void *pointer, size_t bytes, uint32_t *area);
int dn_deregister(struct dn_node *node, uint32_t area);

/* ---- AOTF: one store is one message ------------------------------------- */

/* A mapped piece of a remote area. Its fields are for the inline functions
 * below only. */
struct dn_kick {
    unsigned char *pointer; /* where the bytes are; NULL: stores go through a call */
    uint64_t bytes;
    struct dn_node *node;
    struct dn_remote remote;
};

int dn_kick_map(struct dn_node *node, struct dn_remote remote, size_t bytes, struct dn_kick *kick);
int dn_kick_unmap(struct dn_kick *kick);

/* The plain pointer on a fabric that has one (`mem`), else NULL. Stores through
 * it are for the caller to order. */
inline void *dn_kick_pointer(const struct dn_kick *kick)
{
    return kick->pointer;
}

/* What the stores below call on fabrics without a pointer. bytes is 1, 2, 4 or 8. */
int dn_kick_store(const struct dn_kick *kick, uint64_t offset, uint64_t value, unsigned bytes);

/* Ends the program with a sentence when a store leaves its kick or is misaligned.
 * The stores below call it in programs compiled with DN_CHECK (-Dcheck=true). */
void dn_kick_check(const struct dn_kick *kick, uint64_t offset, unsigned bytes);

#ifdef DN_CHECK
#define DN_KICK_CHECK(kick, offset, bytes) dn_kick_check((kick), (offset), (bytes))
#else
#define DN_KICK_CHECK(kick, offset, bytes) ((void)0)
#endif

/* C's and C++'s inline differ: in C the library holds the one outside copy of
 * each function, so other languages can call it by the same name. */
#define DN_DEFINE_STORE(name, type)                                                              \
    inline void name(const struct dn_kick *kick, uint64_t offset, type value)                    \
    {                                                                                            \
        DN_KICK_CHECK(kick, offset, (unsigned)sizeof(type));                                     \
        if (__builtin_expect(kick->pointer != NULL, 1)) {                                        \
            __atomic_store_n((type *)(void *)(kick->pointer + offset), value, __ATOMIC_RELEASE); \
        } else {                                                                                 \
            (void)dn_kick_store(kick, offset, value, (unsigned)sizeof(type));                    \
        }                                                                                        \
    }
#define DN_DEFINE_LOAD(name, type)                                    \
    inline type name(const void *word)                                \
    {                                                                 \
        return __atomic_load_n((const type *)word, __ATOMIC_ACQUIRE); \
    }

/* One aligned store of 1, 2, 4 or 8 bytes at kick + offset: never torn, in program
 * order with the lane's other stores and blocks to that target. Checks nothing. */
DN_DEFINE_STORE(dn_store_u8, uint8_t)
DN_DEFINE_STORE(dn_store_u16, uint16_t)
DN_DEFINE_STORE(dn_store_u32, uint32_t)
DN_DEFINE_STORE(dn_store_u64, uint64_t)

/* An acquire load from this node's own memory: what was ordered before the store
 * of the value seen is seen too. */
DN_DEFINE_LOAD(dn_load_u8, uint8_t)
DN_DEFINE_LOAD(dn_load_u16, uint16_t)
DN_DEFINE_LOAD(dn_load_u32, uint32_t)
DN_DEFINE_LOAD(dn_load_u64, uint64_t)

/* ---- BOTF and RDMA ------------------------------------------------------ */

/* Blocks on the fly: in program order with the lane's stores to that target; the
 * source may be reused at return. */
DN_NO_STUB int dn_botf(struct dn_node *node, struct dn_remote remote, const void *source,
                       size_t bytes);

/* The body, then the 8-byte flag at the same rank: who sees the flag sees the body. */
DN_NO_STUB int dn_put_signal(struct dn_node *node, struct dn_remote remote, const void *source,
                             size_t bytes, struct dn_remote flag, uint64_t value);

/* A transfer under way; its words are the library's. */
struct dn_op {
    uint64_t words[4];
};

/* Non-blocking transfers in any order between fences. The local memory belongs to
 * the transfer until the operation is done. With op NULL only dn_quiet tells. On a packet
 * fabric (udp) testing and waiting give DN_EPEER when the target died or left first. */
DN_NO_STUB int dn_push(struct dn_node *node, struct dn_remote remote, const void *source,
                       size_t bytes, struct dn_op *op);
DN_NO_STUB int dn_pull(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes,
                       struct dn_op *op);

DN_NO_STUB int dn_op_test(struct dn_op *op, int *done);
DN_NO_STUB int dn_op_wait(struct dn_op *op, uint64_t timeout_ns);

/* dn_fence: what this lane sent to a target before takes effect there before what
 * it sends after. dn_quiet: what this lane sent is placed and visible to everyone;
 * the only call that orders different targets. On a packet fabric it gives DN_EPEER when
 * a node is gone that this lane had sent to since its last one. */
DN_NO_STUB int dn_fence(struct dn_node *node);
DN_NO_STUB int dn_quiet(struct dn_node *node);

/* ---- Atomics on aligned words of 4 and 8 bytes --------------------------- */

/* Each happens exactly once. The fetching ones are done at return; the others are
 * ordered by dn_fence and completed by dn_quiet. */
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

/* Waits until the word in this node's memory compares (unsigned) as asked: 0,
 * DN_ETIMEOUT, or DN_EPEER while a death is not acknowledged. With time-out 0 it
 * only looks. A comparison that no value can meet is DN_EINVAL. */
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

/* A team of these nodes: its members call, all with the same list. */
int dn_team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team);

/* Parts a team by colour, each part in the order of keys, then of ranks. With a colour
 * below 0 a member takes no part, and *part is NULL. */
int dn_team_split(struct dn_team *team, int color, int key, struct dn_team **part);

/* A team of those members that are still there; acknowledges the deaths. The survivors
 * call. */
int dn_team_shrink(struct dn_team *team, struct dn_team **survivors);

/* Collective as well, and a barrier; a team with a dead member is freed at once. */
int dn_team_free(struct dn_team *team);

int dn_team_rank(const struct dn_team *team); /* this node's place, or DN_E... */
int dn_team_size(const struct dn_team *team);
int dn_team_node_rank(const struct dn_team *team, int rank); /* a member's rank in the group */

/* All members arrive before any leaves; what each sent before, on any lane, is then visible
 * to all. After DN_ETIMEOUT this node has arrived: call again to go on waiting. When a member
 * dies before it arrives, every survivor gets DN_EPEER. */
DN_NO_STUB int dn_barrier(struct dn_team *team, uint64_t timeout_ns);

/* The same in two steps, with work between them. */
int dn_barrier_arrive(struct dn_team *team);
int dn_barrier_test(struct dn_team *team, int *passed);
int dn_barrier_wait(struct dn_team *team, uint64_t timeout_ns);

/* How a team's barriers work. The papers' two kinds are there to be measured; the
 * fastest for the team and the cores is the default. All members choose the same, between
 * barriers. */
enum dn_barrier_kind {
    DN_BARRIER_FASTEST,
    DN_BARRIER_HOST, /* paper 000: 8-ary tree, one-byte phase counts, moved on by the hosts */
    DN_BARRIER_NIC   /* paper 004: binary tree run by the NICs */
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
    DN_FLOAT_COMPLEX, /* of C: the real part, then the imaginary one */
    DN_DOUBLE_COMPLEX
};

enum dn_reduction { DN_SUM, DN_PRODUCT, DN_MIN, DN_MAX, DN_AND, DN_OR, DN_XOR };

/* result[i] on every member is the reduction of all members' source[i], in team order:
 * floating-point results are the same on all and in every run. Source and result are
 * the same or do not overlap. Memory from dn_alloc, bank or LLCM is used in place. */
int dn_allreduce(struct dn_team *team, const void *source, void *result, size_t count,
                 enum dn_type type, enum dn_reduction reduction);

/* An operation of one's own: result[i] becomes result[i] (op) operand[i], for `count`
 * elements. It is associative and the same on all members, need not be commutative, and
 * makes no collective call. */
struct dn_operator {
    void (*combine)(void *result, const void *operand, size_t count, void *context);
    void *context;
    size_t element_bytes; /* 1 .. 8192 */
};

int dn_allreduce_with(struct dn_team *team, const void *source, void *result, size_t count,
                      const struct dn_operator *with);

/* A reduction of the members before this one alone, without this one (DN_EXCLUSIVE) or
 * with it (DN_INCLUSIVE). The first member's exclusive result is left as it is. */
enum dn_scan_kind { DN_INCLUSIVE, DN_EXCLUSIVE };

int dn_scan(struct dn_team *team, const void *source, void *result, size_t count, enum dn_type type,
            enum dn_reduction reduction, enum dn_scan_kind kind);
int dn_scan_with(struct dn_team *team, const void *source, void *result, size_t count,
                 const struct dn_operator *with, enum dn_scan_kind kind);

/* The root's bytes to all. */
int dn_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root);

/* Every member's bytes, in team order, on every member. */
int dn_allgather(struct dn_team *team, const void *source, void *result, size_t bytes);

/* The same with as many bytes from each member as it likes, one behind the other. sizes,
 * which may be NULL, tells how many each gave. DN_ETOOLONG: they are more than capacity;
 * nothing was written here, and the other members have theirs. */
int dn_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                  size_t capacity, size_t *sizes);

/* Each member's source holds as many bytes for every member, in team order; result gets
 * what every member had for this one. The two do not overlap. */
int dn_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes);

/* The same with sizes[i] bytes for member i, one behind the other at both ends.
 * received_sizes, which may be NULL, tells how many came from each. DN_ETOOLONG as above. */
int dn_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                 size_t capacity, size_t *received_sizes);

/* ---- Locks ------------------------------------------------------------------ */

/* A lock is an 8-byte word of zeros in anybody's reachable memory. A handle is one
 * requester: one thread at a time uses it, and threads that contend have one each. Where
 * packets carry everything (udp) a lock ends with the node that has its word: the calls
 * below then give DN_EPEER, and nothing is held. */
struct dn_lock;

int dn_lock_open(struct dn_node *node, struct dn_remote word, struct dn_lock **lock);
int dn_lock_close(struct dn_lock *lock);

/* First come, first served. 0; DN_ETIMEOUT; or DN_EOWNERDEAD: the lock is held, and what
 * it guards may be half changed because the last holder died. */
DN_NO_STUB int dn_lock_take(struct dn_lock *lock, uint64_t timeout_ns);

/* DN_EBUSY when somebody has it. */
DN_NO_STUB int dn_lock_try(struct dn_lock *lock);

/* DN_ENOTHELD when this handle does not hold it. */
DN_NO_STUB int dn_lock_give(struct dn_lock *lock);

/* ---- Messages ----------------------------------------------------------------- */

/* A context is a place to send from and to receive at: a logical channel, the nodes it
 * may send to and the nodes it may receive from. Contexts with equal channel numbers
 * talk to each other. A node has one context per channel, and may have many channels.
 * The messages of a sender arrive in order, each exactly once. */
struct dn_context;

#define DN_ANY (-1) /* as a source: whoever sent */

/* What to do when a packet finds no room or is lost, for networks that leave that to messages.
 * `mem` has no packets, and on `udp` InfiniSWIF resends by itself: there they change nothing. */
enum dn_context_flag {
    DN_CONTEXT_BACK_OFF = 1,       /* wait longer and longer before resending */
    DN_CONTEXT_RESEND_REQUEST = 2, /* the receiver says when it has room again */
    DN_CONTEXT_LOSS_DETECTION = 4  /* for networks that lose packets */
};

/* Zero in a field takes the default. */
struct dn_context_options {
    size_t struct_bytes;         /* sizeof(struct dn_context_options), so that it can grow */
    uint64_t ring_bytes;         /* receive buffer per source: 1 KiB .. 64 MiB, default 64 KiB */
    uint32_t send_queue_entries; /* sends under way per destination, default 64 */
    uint32_t flags;              /* of enum dn_context_flag */
};

/* Not collective: a send waits until its destination has opened the channel. options may
 * be NULL; a list may be NULL when its count is 0. DN_EBUSY: this node has the channel
 * open already. */
int dn_context_open(struct dn_node *node, uint32_t channel, const int *destinations,
                    size_t destination_count, const int *sources, size_t source_count,
                    const struct dn_context_options *options, struct dn_context **context);

/* What was sent stays receivable; what has not been received here is lost. DN_EBUSY
 * while an operation of the context is under way. */
int dn_context_close(struct dn_context *context);

/* Returns when the data may be reused: small messages lie in the receiver's buffer then, or
 * on a packet fabric are under way there, large ones (32 KiB and more) from LLCM, bank or heap
 * have been fetched by the receiver.
 * What this node stored before is in place when the message is received. DN_ERANK: the
 * rank is not among the destinations, or we are not among its sources. DN_EPEER: it died,
 * left or closed the channel. After an error nothing is received. */
int dn_send(struct dn_context *context, int rank, const void *data, size_t bytes,
            uint64_t timeout_ns);

/* The next message of a source or of DN_ANY, which takes the sources in turn. DN_ETOOLONG:
 * it is longer than capacity and stays the next one. DN_EPEER: the source is gone and all
 * that it sent has been received; with DN_ANY, a source's death is not acknowledged, or no
 * source is left. sender and bytes may be NULL. After an error the buffer's content is
 * undefined. */
int dn_recv(struct dn_context *context, int source, void *buffer, size_t capacity,
            uint64_t timeout_ns, int *sender, size_t *bytes);

/* The sender and length of what dn_recv would return, which stays the next message. */
int dn_probe(struct dn_context *context, int source, uint64_t timeout_ns, int *sender,
             size_t *bytes);

/* A send or receive under way; its words are the library's. The operation and its buffer
 * stay in place until it is done. */
struct dn_message_op {
    uint64_t words[12];
};

/* The same without waiting. DN_EBUSY: the send queue is full. Operations go on whenever a
 * call is made on the context. Receives are filled in the order they were made. */
int dn_isend(struct dn_context *context, int rank, const void *data, size_t bytes,
             struct dn_message_op *op);
int dn_irecv(struct dn_context *context, int source, void *buffer, size_t capacity,
             struct dn_message_op *op);

/* An operation's error is the call's. sender and bytes, of a receive, may be NULL. After
 * DN_ETIMEOUT the operation is still under way. */
int dn_message_test(struct dn_message_op *op, int *done, int *sender, size_t *bytes);
int dn_message_wait(struct dn_message_op *op, uint64_t timeout_ns, int *sender, size_t *bytes);

/* Takes an operation back: 0, and none of it happened; DN_EBUSY: it is done already. */
int dn_message_cancel(struct dn_message_op *op);

/* Without a copy: memory to write a message into, and its sending (of as many bytes or
 * fewer). DN_EBUSY: no room now, or sends under way. Until it is sent other sends to that
 * rank get DN_EBUSY. */
int dn_send_buffer_get(struct dn_context *context, int rank, size_t bytes, void **buffer);
int dn_send_buffer_send(struct dn_context *context, int rank, size_t bytes);

/* The next message where it lies. Its source's next one comes after dn_recv_release, and
 * until then a receive from that source gets DN_EBUSY. */
int dn_recv_in_place(struct dn_context *context, int source, uint64_t timeout_ns, const void **data,
                     int *sender, size_t *bytes);
int dn_recv_release(struct dn_context *context, int source);

/* ---- Peers that die ------------------------------------------------------ */

enum dn_life {
    DN_STARTING = 0, /* not attached yet; on `mem` its memory is there already */
    DN_ATTACHED = 1,
    DN_LEFT = 2, /* detached, or ended well without ever attaching */
    DN_DEAD = 3
};

int dn_peer_life(struct dn_node *node, int rank, enum dn_life *life);

/* Acknowledges the deaths announced so far, so that waits go on without those
 * nodes, and lists up to capacity of the ranks not acknowledged before (ranks may
 * be NULL); *count is how many there were, the ones beyond capacity too. */
int dn_failure_ack(struct dn_node *node, int *ranks, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
