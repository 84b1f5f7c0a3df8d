/* The board: a file that the driver of the fault run and the nodes of its groups have mapped. On it
 * a node shows what it is doing and what it knows, whatever happens to its fabric, its launcher or
 * its output; and the driver says whom it is about to kill and when the round shall end.
 *
 * board.py reads it by these offsets: change both. */
#ifndef SOAK_BOARD_H
#define SOAK_BOARD_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "live/live.h"

enum { BOARD_NODES_MAX = 16, BOARD_CALL_BYTES = 40 };

/* A wait that is longer is noted in the file of waits. */
#define BOARD_LONG_WAIT_NS (50 * LIVE_MS)

/* Its node alone writes it. */
struct board_slot {
    _Atomic uint64_t pid;
    _Atomic uint64_t steps;                     /* how often it came through something */
    _Atomic uint64_t checks;                    /* results that it compared */
    _Atomic uint64_t since_ns;                  /* in a call since then; 0: in none */
    _Atomic uint64_t ended;                     /* it has done everything */
    _Atomic uint64_t members;                   /* it goes on with so many */
    _Atomic uint64_t known_ns[BOARD_NODES_MAX]; /* when it learnt of a death; 0: it has not */
    char call[BOARD_CALL_BYTES];                /* the call that it is in, or was in last */
};

struct board {
    _Atomic uint64_t finish;                  /* the round shall end */
    _Atomic uint64_t silence;                 /* nodes may be taken for dead that are not */
    _Atomic uint64_t scarce;                  /* memory or descriptors may be missing */
    _Atomic uint64_t doomed[BOARD_NODES_MAX]; /* is killed now, or was */
    struct board_slot slots[BOARD_NODES_MAX];
};

_Static_assert(offsetof(struct board, slots) == 152, "as board.py has it");
_Static_assert(sizeof(struct board_slot) == 216, "as board.py has it");
_Static_assert(offsetof(struct board_slot, known_ns) == 48, "as board.py has it");

static struct board *board;
static int board_waits = -1; /* the file of waits */

/* The environment names both files. Before the first call that may wait. */
static inline void board_open(void)
{
    const char *name = getenv("SOAK_BOARD");
    const char *waits = getenv("SOAK_WAITS");
    require(name && waits);
    int file = open(name, O_RDWR | O_CLOEXEC);
    require(file >= 0);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(board != MAP_FAILED);
    (void)close(file);
    board_waits = open(waits, O_WRONLY | O_APPEND | O_CLOEXEC);
    require(board_waits >= 0);
}

static inline struct board_slot *board_slot(void)
{
    return &board->slots[me.rank];
}

static inline void board_enter(const char *call)
{
    struct board_slot *slot = board_slot();
    (void)snprintf(slot->call, sizeof slot->call, "%s", call);
    atomic_store(&slot->since_ns, live_now_ns());
}

/* A wait is over that began then, or should have ended then. */
static inline void board_note_wait(const char *call, uint64_t since_ns)
{
    uint64_t now_ns = live_now_ns();
    if (now_ns > since_ns + BOARD_LONG_WAIT_NS) {
        (void)dprintf(board_waits, "%d %llu %llu %s\n", me.rank, (unsigned long long)since_ns,
                      (unsigned long long)now_ns, call);
    }
}

static inline void board_leave(void)
{
    struct board_slot *slot = board_slot();
    board_note_wait(slot->call, atomic_exchange(&slot->since_ns, 0));
}

/* The result of a call that may wait, which the board shows meanwhile. The name is the call's. */
#define ON_BOARD(name, call)          \
    ({                                \
        board_enter(name);            \
        __typeof__(call) got_ = call; \
        board_leave();                \
        got_;                         \
    })
#define ON_BOARD_VOID(name, call) \
    do {                          \
        board_enter(name);        \
        call;                     \
        board_leave();            \
    } while (0)

/* This node has come through something, and compared so many results. */
static inline void board_step(uint64_t checks)
{
    atomic_fetch_add(&board_slot()->checks, checks);
    atomic_fetch_add(&board_slot()->steps, 1);
}

static inline void board_note_death(int rank)
{
    uint64_t never = 0;
    (void)atomic_compare_exchange_strong(&board_slot()->known_ns[rank], &never, live_now_ns());
}

static inline bool board_finish_is_wanted(void)
{
    return atomic_load(&board->finish) != 0;
}

static inline void board_ended(void)
{
    atomic_store(&board_slot()->ended, 1);
}

#endif
