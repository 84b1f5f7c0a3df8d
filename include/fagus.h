/* Fagus: memory that all nodes share, kept consistent by synchronisation variables.
 *
 * A program runs on every node (`dimmnet run -n 4 ./program`). What it gets from fagus_alloc
 * lies at the same address everywhere. Ranges of it are bound to a synchronisation variable.
 * Whoever has acquired the variable sees in them what the last releaser wrote; what others see
 * in them may be old, and they may not write there. This is entry consistency.
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
 * On the fabric mem all nodes have the same physical memory and pay no protocol. On udp each has
 * a copy of its own, and the data rides on the grant. FAGUS_FORCE_REMOTE=1 makes it so on mem,
 * too. All calls are thread-safe. Calls give 0 or a negative FAGUS_E... that fagus_strerror
 * explains, where nothing else is said. fagus(7) and doc/fagus.md say more.
 *
 * A collective call is made by all nodes, by one thread of each, in the same order and with the
 * same numbers, else each gets FAGUS_EMISMATCH and nothing has changed. After a death it gives
 * FAGUS_EPEER, for ever. */
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
    FAGUS_EINVAL = -1,      /* an argument makes no sense, or names what was freed; fagus_init:
                             * a FAGUS_ variable of the environment makes none */
    FAGUS_ESTATE = -2,      /* before fagus_init or a second one, after fagus_finalize, or in a
                             * forked child */
    FAGUS_ENOMEM = -3,      /* the shared space or this machine's memory is used up */
    FAGUS_EPEER = -4,       /* a node that is needed has died or left */
    FAGUS_EOWNERDEAD = -5,  /* acquired, but the last holder died with it: the ranges hold the
                             * last released version */
    FAGUS_ELOST = -6,       /* acquired, but no living node has the last released version; where
                             * memory is shared: the last holder died writing */
    FAGUS_ETIMEOUT = -7,    /* the time is up */
    FAGUS_EBUSY = -8,       /* somebody else has it */
    FAGUS_ENOTHELD = -9,    /* this thread has not acquired it, or not for writing */
    FAGUS_EHELD = -10,      /* this thread has acquired it already */
    FAGUS_EOVERLAP = -11,   /* the range overlaps one that is bound already */
    FAGUS_ERANGE = -12,     /* the range is not shared memory, or leaves its allocation */
    FAGUS_EMISMATCH = -13,  /* the nodes called different things, or with different numbers */
    FAGUS_EFULL = -14,      /* a table of the library is full */
    FAGUS_ESYSTEM = -15     /* the operating system refused; errno says why */
};

const char *fagus_strerror(int error); /* never NULL */

/* ---- Start and end ------------------------------------------------------------------- */

/* Collective. A process that no launcher started is a group of one. One that a launcher started
 * cannot come back after fagus_finalize. FAGUS_EINVAL: FAGUS_CHECK, FAGUS_FORCE_REMOTE or
 * FAGUS_STATS is set in the environment, and neither 0, 1 nor empty; a sentence on standard error
 * says which. FAGUS_EMISMATCH: so it is on another node, or the nodes have different
 * FAGUS_FORCE_REMOTE or FAGUS_STATS, sizes of heap or of pages. */
int fagus_init(void);
/* Collective, and a barrier: all shared memory, variables, flags and conditions end. Until all are
 * there a node still gives the others what it has. Once a node has died it waits for nobody, and
 * over packets what only a node that leaves has is then FAGUS_EPEER or FAGUS_ELOST to the others.
 * After FAGUS_EPEER all has ended for this node all the same, after FAGUS_EMISMATCH not. */
int fagus_finalize(void);
int fagus_rank(void); /* 0 .. size-1, or FAGUS_ESTATE */
int fagus_size(void); /* or FAGUS_ESTATE */

/* ---- Memory --------------------------------------------------------------------------- */

/* Which node an address belongs to. That node has what counts as its first content, and manages
 * the variables whose first range begins there: acquiring them is cheapest for it. */
enum fagus_placement_kind {
    FAGUS_ROUND_ROBIN = -1, /* page by page */
    FAGUS_BLOCK = -2,       /* as many equal pieces as nodes, of whole pages */
    FAGUS_FIRST_TOUCH = -3  /* page by page, to who first binds or acquires something of it, or
                             * asks for its home */
};
/* Or the rank of a node, 0 .. size-1. */

/* Collective: all nodes call with the same numbers and get the same address. The memory is
 * zero, aligned to a page, and takes room only where it is touched. */
int fagus_alloc(size_t bytes, int placement, void **pointer);
/* Collective. FAGUS_EBUSY: something of it is bound. */
int fagus_free(void *pointer);
/* The node an address belongs to, or FAGUS_ERANGE; FAGUS_EPEER: who knows it has died. */
int fagus_home(const void *pointer);

/* Collective: rank 0's bytes of an ordinary variable, on every node. */
int fagus_distribute(void *variable, size_t bytes);

/* ---- Entry consistency ------------------------------------------------------------------ */

struct fagus_sync;

enum fagus_mode { FAGUS_READ = 1, FAGUS_WRITE = 2 };

/* Collective: the same variable on all nodes, bound to nothing. */
int fagus_sync_create(struct fagus_sync **sync);
/* Collective. FAGUS_EBUSY: this node holds it. */
int fagus_sync_free(struct fagus_sync *sync);
/* A name for reports, on this node; copied, of at most 47 letters. */
int fagus_sync_name(struct fagus_sync *sync, const char *name);

/* Bindings. Of a variable that no node has ever acquired: collective (all nodes, the same
 * ranges); barriers do not count. Later: by the thread that holds it for writing; the others learn
 * of it when they acquire it. Who binds it then without holding it gets FAGUS_ENOTHELD, at once.
 * Only those who waited in the collective call already when another acquired it wait for that one's
 * next collective call, or for its call to bind it, and get FAGUS_EMISMATCH. What a holder newly
 * binds counts as written by it. A variable may have many ranges, a byte belongs to one variable at
 * most: FAGUS_EOVERLAP. fagus_bind adds a range, fagus_rebind puts these in the place of all,
 * fagus_unbind takes the range out that begins at the pointer. */
struct fagus_range {
    void *pointer;
    size_t bytes;
};
int fagus_bind(struct fagus_sync *sync, void *pointer, size_t bytes);
int fagus_rebind(struct fagus_sync *sync, const struct fagus_range *ranges, size_t count);
int fagus_unbind(struct fagus_sync *sync, void *pointer);

/* Many threads may have it for reading, or one thread of one node for writing; first come, first
 * served. FAGUS_EBUSY is of trying alone, which finds busy also what somebody just then acquires.
 * After FAGUS_EOWNERDEAD and FAGUS_ELOST it is held as well, after other errors not.
 * FAGUS_EOWNERDEAD always means a whole version, the last that was released. A lost version stays
 * lost, for readers too, until somebody who holds it for writing has made the ranges right and
 * releases them; what is in them before is an older version, a part of one or, where memory is
 * shared and there is no other copy, just what the holder who died had written so far. If only
 * the dead knew which ranges were bound there are none after FAGUS_ELOST, until a holder binds it
 * again.
 * The thread that acquired it releases it; after any result but FAGUS_ENOTHELD, FAGUS_EINVAL and
 * FAGUS_ESTATE it is not held any more. What a thread holds when it ends stays held. */
int fagus_acquire(struct fagus_sync *sync, enum fagus_mode mode);
int fagus_acquire_try(struct fagus_sync *sync, enum fagus_mode mode);
int fagus_acquire_timed(struct fagus_sync *sync, enum fagus_mode mode, uint64_t timeout_ns);
int fagus_release(struct fagus_sync *sync);

/* Collective: all arrive before any leaves. With a variable, which nobody holds (FAGUS_EHELD) or
 * acquires meanwhile, what any node wrote in its ranges since the last such barrier, held or
 * not, is then the same on all; where several wrote the same aligned 8 bytes, all have the values
 * of one of them. At the first such barrier a node's writes count from the binding if it has never
 * acquired the variable; else only those of its holds, as also when a holder has bound it anew
 * since the last one. If not all nodes can have all of it, each gets an error, and the variable's
 * next acquire or barrier brings one whole version, that of before or the new one.
 * NULL: a barrier alone, which does not look at what the others call. */
int fagus_barrier(struct fagus_sync *sync);

/* ---- Threads, flags, conditions --------------------------------------------------------- */

/* Plain pthreads work as well; each gets what it needs when it first makes a call, these before
 * they run. What a thread held when it ended is no later one's. FAGUS_EINVAL: the thread was joined
 * before, or is the caller itself. */
struct fagus_thread;
int fagus_thread_create(struct fagus_thread **thread, void *(*run)(void *), void *argument);
int fagus_thread_join(struct fagus_thread *thread, void **result);

/* Words of 8 bytes at a node, 0 at first; setting one is one store. Collective to make and to
 * free. A flag that is seen to be set does not make anything else consistent: it is for
 * signals. */
struct fagus_flag;
int fagus_flag_create(struct fagus_flag **flag, int node);
int fagus_flag_free(struct fagus_flag *flag);
int fagus_flag_set(struct fagus_flag *flag, uint64_t value);
int fagus_flag_add(struct fagus_flag *flag, uint64_t value, uint64_t *old); /* old may be NULL */
int fagus_flag_read(struct fagus_flag *flag, uint64_t *value);
/* Until it is at least value (unsigned). By any node, but fastest at the flag's: elsewhere it is
 * looked at again and again. FAGUS_EPEER tells each thread of a death once; it may then go on
 * waiting for those who live, unless the flag's own node is gone. */
int fagus_flag_wait(struct fagus_flag *flag, uint64_t value, uint64_t timeout_ns);
#define FAGUS_FOREVER UINT64_MAX

/* Conditions of a variable that is held for writing: it is released while waiting, and held again
 * after 0, FAGUS_EOWNERDEAD, FAGUS_ELOST and after FAGUS_EPEER, which tells each thread of a death
 * once; unless it cannot be acquired any more, of which fagus_release then tells
 * (FAGUS_ENOTHELD). It was not released where 1024 threads wait already (FAGUS_EFULL) or there is
 * no memory to wait with (FAGUS_ENOMEM). A waiter may also wake without a signal: look again. Who
 * has waited longest is woken first; to signal, the variable need not be held. Collective to make
 * and to free; nobody waits while one is freed. */
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
    uint64_t acquires_local;    /* of them, found the newest version here */
    uint64_t grants;            /* of them, brought data from elsewhere */
    uint64_t bytes_whole;       /* brought as whole ranges */
    uint64_t bytes_differences; /* brought as differences, by barriers as well */
    uint64_t bytes_changed;     /* in what this node released or took to a barrier; all of the
                                 * ranges where it did not compare */
    uint64_t hops;              /* messages between nodes, as the protocol counts them */
    uint64_t wait_ns;           /* in acquires that were not had at once; with FAGUS_STATS=1 in
                                 * all */
    uint64_t held_ns;           /* for writing; with FAGUS_STATS=1 */
};
/* Of this node; sync NULL: of all its variables together that are not freed. With FAGUS_STATS=1
 * in the environment fagus_finalize prints a report of the hottest variables. */
int fagus_stats(const struct fagus_sync *sync, struct fagus_stats *stats);

/* ---- Paper 001's port layer ------------------------------------------------------------- */

/* Datagrams between nodes, in order and not lost. The length, or -1 with errno: ENOTCONN: not
 * between fagus_init and fagus_finalize; ECONNRESET: a node has died; EAGAIN, to oneself: nobody
 * makes room; EINVAL, ENOMEM. Sending may wait for the receiver. */
ssize_t dimmnet_sendto(int node, const void *data, size_t bytes);
struct iovec;
ssize_t dimmnet_sendmsg(int node, const struct iovec *pieces, int count);
/* The next one of whoever sent; its length, or -1 with errno as above (EAGAIN: the time is up;
 * EMSGSIZE: longer than the buffer, it stays; ECONNRESET tells each thread of a death once). The
 * node may be NULL. */
ssize_t dimmnet_recvfrom(void *buffer, size_t bytes, int *node, uint64_t timeout_ns);
/* Who notices an arrival: the receiving call itself (0, at first), or a helper thread that wakes
 * it (1). 0 or FAGUS_E.... */
int dimmnet_detect_thread(int on);
/* Collective: a barrier of all nodes, the fastest, the same as fagus_barrier(NULL). 0 or
 * FAGUS_E.... */
int comm_sync(void);

#ifdef __cplusplus
}
#endif

#endif
