/* Fagus: memory that all nodes share, kept consistent by synchronisation variables.
 *
 * A program runs on every node (`dimmnet run -n 4 ./program`). Memory from fagus_alloc lies at
 * the same address on all of them. The program binds ranges of it to a synchronisation variable.
 * Whoever has acquired the variable sees in these ranges what the last releaser wrote. What others
 * see there may be old, and they may not write there. This is entry consistency.
 *
 *     struct fagus_sync *sync;
 *     double *row;
 *     fagus_init();
 *     fagus_alloc(1000 * sizeof *row, FAGUS_BLOCK, (void **)&row);
 *     fagus_sync_create(&sync);
 *     fagus_bind(sync, row, 1000 * sizeof *row);
 *     fagus_acquire(sync, FAGUS_WRITE);
 *     row[0] += 1;
 *     fagus_release(sync);
 *     fagus_finalize();
 *
 * On the fabric mem all nodes have the same physical memory and pay no protocol. On udp each node
 * has its own copy, and the data travels with the grant. With FAGUS_FORCE_REMOTE=1 nodes on mem
 * have their own copies, too. All calls are thread-safe. Where nothing else is said, a call
 * returns 0 or a negative FAGUS_E... code, which fagus_strerror explains. fagus(7) and
 * doc/fagus.md say more.
 *
 * All nodes make a collective call, one thread of each, in the same order and with the same
 * numbers. Otherwise each gets FAGUS_EMISMATCH, and nothing has changed. After a death every
 * collective call returns FAGUS_EPEER. */
#ifndef FAGUS_H
#define FAGUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fagus_error {
    FAGUS_OK = 0,
    FAGUS_EINVAL = -1,     /* an argument makes no sense or was freed; fagus_init: a FAGUS_
                             * variable of the environment makes no sense */
    FAGUS_ESTATE = -2,     /* before fagus_init or a second one, after fagus_finalize, or in a
                             * forked child */
    FAGUS_ENOMEM = -3,     /* the shared space or this machine's memory is used up */
    FAGUS_EPEER = -4,      /* a node that is needed has died or left */
    FAGUS_EOWNERDEAD = -5, /* acquired, but the last holder died with it: the ranges hold the
                             * last released version */
    FAGUS_ELOST = -6,      /* acquired, but no living node has the last released version; where
                             * memory is shared: the last holder died writing */
    FAGUS_ETIMEOUT = -7,   /* the time is up */
    FAGUS_EBUSY = -8,      /* somebody else has it */
    FAGUS_ENOTHELD = -9,   /* this thread has not acquired it, or not for writing */
    FAGUS_EHELD = -10,     /* this thread has acquired it already */
    FAGUS_EOVERLAP = -11,  /* the range overlaps one that is bound already */
    FAGUS_ERANGE = -12,    /* the range is not shared memory, or leaves its allocation */
    FAGUS_EMISMATCH = -13, /* the nodes called different things, or with different numbers */
    FAGUS_EFULL = -14,     /* a table of the library is full */
    FAGUS_ESYSTEM = -15    /* the operating system refused; errno says why */
};

const char *fagus_strerror(int error); /* never NULL */

/* ---- Start and end ------------------------------------------------------------------- */

/* Joins the group; collective. A process that no launcher started is a group of one. A process
 * that a launcher started cannot come back after fagus_finalize. FAGUS_EINVAL: the environment
 * sets FAGUS_CHECK, FAGUS_FORCE_REMOTE or FAGUS_STATS to something else than 0, 1 or nothing; a
 * sentence on standard error says which. FAGUS_EMISMATCH: another node's environment does, or the
 * nodes differ in FAGUS_FORCE_REMOTE, FAGUS_STATS, or the size of their heaps or pages. */
int fagus_init(void);
/* Leaves the group; collective, and a barrier. All shared memory, variables, flags and conditions
 * end. Until all nodes have come, a node still gives the others what it has. Once a node has died,
 * this call waits for nobody; by packets, what only a leaving node has is then FAGUS_EPEER or
 * FAGUS_ELOST to the others. After FAGUS_EPEER everything has ended for this node all the same;
 * after FAGUS_EMISMATCH nothing has. */
int fagus_finalize(void);
int fagus_rank(void); /* 0 .. size-1, or FAGUS_ESTATE */
int fagus_size(void); /* or FAGUS_ESTATE */

/* ---- Memory --------------------------------------------------------------------------- */

/* Which node an address belongs to: a rank from 0 to size-1, or one of these. That node has the
 * first content that counts, and manages the variables whose first range begins there: it acquires
 * them most cheaply. */
enum fagus_placement_kind {
    FAGUS_ROUND_ROBIN = -1, /* page by page */
    FAGUS_BLOCK = -2,       /* as many equal pieces as nodes, of whole pages */
    FAGUS_FIRST_TOUCH = -3  /* page by page, to the node that first binds or acquires something of
                             * the page, or asks for its home */
};

/* Collective: all nodes call with the same numbers and get the same address. The memory is
 * zero, aligned to a page, and takes room only where it is touched. */
int fagus_alloc(size_t bytes, int placement, void **pointer);
/* Frees it; collective. FAGUS_EBUSY: part of it is bound. */
int fagus_free(void *pointer);
/* The node an address belongs to, or FAGUS_ERANGE. FAGUS_EPEER: the node that knows has died. */
int fagus_home(const void *pointer);

/* Copies rank 0's bytes of an ordinary variable to every node; collective. */
int fagus_distribute(void *variable, size_t bytes);

/* ---- Entry consistency ------------------------------------------------------------------ */

struct fagus_sync;

enum fagus_mode { FAGUS_READ = 1, FAGUS_WRITE = 2 };

/* Makes the same variable on all nodes, bound to nothing; collective. */
int fagus_sync_create(struct fagus_sync **sync);
/* Frees it; collective. FAGUS_EBUSY: this node holds it. */
int fagus_sync_free(struct fagus_sync *sync);
/* Gives it a name for this node's reports; it is copied, up to 47 letters. */
int fagus_sync_name(struct fagus_sync *sync, const char *name);

/* fagus_bind adds a range, fagus_rebind replaces all ranges by these, and fagus_unbind removes the
 * range that begins at the pointer. A variable may have many ranges. A byte belongs to one variable
 * at most (FAGUS_EOVERLAP).
 *
 * As long as no node has acquired the variable (a barrier does not count), these calls are
 * collective: all nodes make them, with the same ranges. Later the thread that holds it for writing
 * makes them, and the others learn of it when they acquire the variable. A thread that does not
 * hold it then gets FAGUS_ENOTHELD at once. A node that already waited in the collective call when
 * another one acquired the variable gets FAGUS_EMISMATCH, at that node's next collective call or
 * binding. What a holder newly binds counts as written by it. */
struct fagus_range {
    void *pointer;
    size_t bytes;
};
int fagus_bind(struct fagus_sync *sync, void *pointer, size_t bytes);
int fagus_rebind(struct fagus_sync *sync, const struct fagus_range *ranges, size_t count);
int fagus_unbind(struct fagus_sync *sync, void *pointer);

/* Many threads may hold a variable for reading, or one thread of one node for writing. They get it
 * in the order in which they asked. Only fagus_acquire_try returns FAGUS_EBUSY, also when somebody
 * acquires it at that moment.
 *
 * After FAGUS_EOWNERDEAD and FAGUS_ELOST the variable is held as well; after other errors it is
 * not. After FAGUS_EOWNERDEAD the ranges hold a whole version, the last one that was released.
 * After FAGUS_ELOST they hold an older version, a part of one, or, where memory is shared and there
 * is no other copy, what the dead holder had written so far. A lost version stays lost, for readers
 * too, until a thread that holds the variable for writing has corrected the ranges and releases it.
 * If only the dead node knew which ranges were bound, there are none after FAGUS_ELOST until a
 * holder binds some.
 *
 * The thread that acquired a variable releases it. After any result but FAGUS_ENOTHELD,
 * FAGUS_EINVAL and FAGUS_ESTATE it is no longer held. What a thread holds when it ends stays
 * held. */
int fagus_acquire(struct fagus_sync *sync, enum fagus_mode mode);
int fagus_acquire_try(struct fagus_sync *sync, enum fagus_mode mode);
int fagus_acquire_timed(struct fagus_sync *sync, enum fagus_mode mode, uint64_t timeout_ns);
int fagus_release(struct fagus_sync *sync);

/* All nodes arrive before any leaves; collective. With NULL it is a barrier alone, which does not
 * look at what the others call.
 *
 * With a variable, it also makes the variable's ranges the same on all nodes: it merges what every
 * node wrote there since the last such barrier, whether it held the variable or not. Where several
 * nodes wrote the same aligned 8 bytes, all get the values of one of them. Nobody may hold it
 * (FAGUS_EHELD) or acquire it meanwhile. At the first such barrier, a node that has never acquired
 * the variable counts its writes since the binding, and any other node only the writes of its
 * holds; the same applies after a holder has bound the variable anew. If not all nodes can get
 * everything, each gets an error, and the variable's next acquire or barrier brings one whole
 * version, the old or the new one. */
int fagus_barrier(struct fagus_sync *sync);

/* ---- Threads, flags, conditions --------------------------------------------------------- */

/* Plain pthreads work as well: they get what they need at their first call, and these threads get
 * it before they run. A later thread does not inherit what a thread held when it ended.
 * FAGUS_EINVAL: the thread was joined before, or is the caller itself. */
struct fagus_thread;
int fagus_thread_create(struct fagus_thread **thread, void *(*run)(void *), void *argument);
int fagus_thread_join(struct fagus_thread *thread, void **result);

/* A flag is a word of 8 bytes at a node; it starts as 0, and setting it is one store. Making and
 * freeing one is collective. A flag is for signals: seeing it set makes nothing else consistent. */
struct fagus_flag;
int fagus_flag_create(struct fagus_flag **flag, int node);
int fagus_flag_free(struct fagus_flag *flag);
int fagus_flag_set(struct fagus_flag *flag, uint64_t value);
int fagus_flag_add(struct fagus_flag *flag, uint64_t value, uint64_t *old); /* old may be NULL */
int fagus_flag_read(struct fagus_flag *flag, uint64_t *value);
/* Waits until the flag is at least value (unsigned). Any node may wait, but the flag's own is
 * fastest: the others have to ask it again and again. FAGUS_EPEER tells each thread of a death
 * once; the thread may then go on waiting for the living, unless the flag's own node is gone. */
int fagus_flag_wait(struct fagus_flag *flag, uint64_t value, uint64_t timeout_ns);
#define FAGUS_FOREVER UINT64_MAX

/* A thread that holds a variable for writing waits for a condition: the wait releases the variable
 * and acquires it again. It is held after 0, FAGUS_EOWNERDEAD, FAGUS_ELOST, and FAGUS_EPEER, which
 * tells each thread of a death once. If it cannot be acquired any more, fagus_release returns
 * FAGUS_ENOTHELD. The wait does not release it if 1024 threads wait already (FAGUS_EFULL) or memory
 * is short (FAGUS_ENOMEM). A waiter may also wake without a signal, so it looks again. The thread
 * that has waited longest is woken first. A signal does not need the variable. Making and freeing a
 * condition is collective; nobody waits while it is freed. */
struct fagus_condition;
int fagus_condition_create(struct fagus_condition **condition);
int fagus_condition_free(struct fagus_condition *condition);
int fagus_condition_wait(struct fagus_condition *condition, struct fagus_sync *sync);
int fagus_condition_signal(struct fagus_condition *condition);
int fagus_condition_broadcast(struct fagus_condition *condition);

/* ---- What happened ---------------------------------------------------------------------- */

/* Where memory is shared nothing is brought: acquires_local, grants and the bytes stay 0. */
struct fagus_stats {
    uint64_t acquires;
    uint64_t acquires_local;    /* those that found the newest version here */
    uint64_t grants;            /* those that brought data from elsewhere */
    uint64_t bytes_whole;       /* brought as whole ranges */
    uint64_t bytes_differences; /* brought as differences, by barriers as well */
    uint64_t bytes_changed;     /* in what this node released or took to a barrier; all of the
                                 * ranges where it did not compare */
    uint64_t hops;              /* messages between nodes, as the protocol counts them */
    uint64_t wait_ns;           /* in acquires that did not succeed at once; with FAGUS_STATS=1
                                 * in all of them */
    uint64_t held_ns;           /* for writing; counted only with FAGUS_STATS=1 */
};
/* This node's figures for a variable, or with NULL for all its variables together that are not
 * freed. With FAGUS_STATS=1 in the environment fagus_finalize prints a report of the hottest
 * variables. */
int fagus_stats(const struct fagus_sync *sync, struct fagus_stats *stats);

/* ---- Paper 001's port layer ------------------------------------------------------------- */

/* Sends a datagram; none is lost, and they arrive in order. Returns the length, or -1 with errno.
 * ENOTCONN: not between fagus_init and fagus_finalize. ECONNRESET: a node has died. EAGAIN: the
 * datagram is to this node itself, and nobody makes room. Also EINVAL and ENOMEM. Sending may wait
 * for the receiver. */
ssize_t dimmnet_sendto(int node, const void *data, size_t bytes);
struct iovec;
ssize_t dimmnet_sendmsg(int node, const struct iovec *pieces, int count);
/* Receives the next datagram of any node. Returns its length, or -1 with errno as above. EAGAIN:
 * the time is up. EMSGSIZE: it is longer than the buffer, and stays. ECONNRESET tells each thread
 * of a death once. node may be NULL. */
ssize_t dimmnet_recvfrom(void *buffer, size_t bytes, int *node, uint64_t timeout_ns);
/* Chooses what notices an arrival: the receiving call itself (0, the default), or a helper thread
 * that wakes it (1). Returns 0 or FAGUS_E.... */
int dimmnet_detect_thread(int on);
/* The fastest barrier of all nodes, the same as fagus_barrier(NULL); collective. Returns 0 or
 * FAGUS_E.... */
int comm_sync(void);

#ifdef __cplusplus
}
#endif

#endif
