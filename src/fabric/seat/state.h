/* The fabric of a simulated machine, as a program sees it: a seat at one of its nodes.
 *
 * The program's board (engine, services and, on machines that have it, InfiniSWIF) is here, in its
 * own process. What it sends goes to the simulator, which decides when each packet is where, and
 * brings back what arrives. Program and simulator take turns (wire/turn.h): while a program
 * computes, virtual time stands still; while it stands in a call, the others go on.
 *
 *     seat.c      joining, starting, stopping
 *     turn.c      turns: what is said to the simulator, and what it says
 *     compute.c   what the program computes between two calls
 *     threads.c   the program's threads, and who is about to call
 *     carrier.c   the packets of a machine without InfiniSWIF, and who has carried them out
 *     lane.c      steps of the CPU that operations take (seat_ops)
 *     lives.c     who is there, from the simulator's words
 *     launch.c    the launcher's side
 */
#ifndef FABRIC_SEAT_STATE_H
#define FABRIC_SEAT_STATE_H

#include "fabric/by_packets.h"
#include "wire/turn.h"

#define SEAT_ENV_PAGE_FD "DIMMNET_SEAT_FD"

/* What is known of the packets to a peer, on a machine without InfiniSWIF. Numbers are of all
 * packets of this node; 0: none. */
struct seat_way {
    uint64_t sent;    /* the last one */
    uint64_t asked;   /* the last one whose acknowledgement is asked for */
    uint64_t carried; /* this one and all before have been carried out */
};

/* What is known of a thread of the program: see threads.c. */
enum seat_doing {
    SEAT_RUNS,
    SEAT_WANTS,
    SEAT_DOUBTED,
    SEAT_AWAY,
    SEAT_NAPS,
    SEAT_WAKES,
    SEAT_GONE, /* it has ended */
};

struct seat_thread {
    int32_t id; /* as the kernel counts */
    enum seat_doing doing;
    uint64_t doubted_ns;     /* real time; since when it is DOUBTED */
    uint64_t deadline_ns;    /* virtual time; of its nap, also when that has just ended */
    uint32_t written;        /* what seat_threads_written gave before it looked last */
    uint64_t computing_from; /* the time, or instructions, when it left a call; 0: it is in one */
    uint64_t computing_from_cpu_ns;
    uint64_t computed_ns; /* before this call, and not said yet */
};

enum { SEAT_THREADS = 256 };

/* The last short computations behind one kind of step. */
enum { SEAT_GAPS_KEPT = 16, SEAT_GAP_KINDS = TURN_COMPUTE + 1 };
struct seat_gaps {
    uint32_t last_ns[SEAT_GAPS_KEPT];
    uint32_t count;
};

/* How long a thread's next call is waited for, in real time. */
#define SEAT_LINGER_NS UINT64_C(500000)

struct seat_state {
    struct by_packets packets;
    bool running;
    struct turn_page *page; /* from joining to stopping */
    struct group_sizes sizes;
    const struct group_view *view;
    const struct group_view *control;
    void *space; /* the board's memory */
    uint64_t space_bytes;

    /* With the lock. */
    bool turn_is_here;    /* nobody writes the page without it */
    uint64_t now_ns;      /* virtual time when the turn came last */
    bool is_kicked;       /* packets belong to the step that was said last */
    uint32_t step_count;  /* said in this turn */
    uint32_t vain_looks;  /* one behind the other, with nothing between them */
    uint32_t clock_reads; /* the same */
    uint64_t packet_count;
    unsigned char *last_packet; /* of this turn, in the page; NULL: none */
    struct seat_way *ways;      /* one for each node; NULL with InfiniSWIF */
    uint64_t *parting_ns;       /* one for each node: it has left, and is given up then; 0: no */
    uint32_t parting_count;     /* of them */
    uint64_t header_misses;     /* that packets have been charged with */
    uint64_t context_misses;    /* the same */
    uint64_t retransmissions;
    uint64_t arrivals;                     /* at barriers, that were said */
    unsigned char *packet;                 /* room for one of InfiniSWIF's */
    uint64_t clock_ns;                     /* what looking at the clock takes */
    enum turn_word last_step;              /* that was said */
    struct seat_gaps gaps[SEAT_GAP_KINDS]; /* by the step before */
    bool is_resumed; /* the program has computed nothing since it got the turn */
    int counter_fd;  /* of instructions; -1: they are not counted */
    struct seat_thread threads[SEAT_THREADS];
    uint32_t thread_count;     /* entries that were ever used */
    bool has_more_threads;     /* than entries */
    bool is_watched;           /* a thread waits for the turn on the page, without the lock */
    uint32_t sleepers;         /* on news */
    uint64_t told_deadline_ns; /* when the turn was given away last: of all nappers */
    _Atomic uint32_t news;     /* how often it has come to a program that gave the lock up */

    _Atomic uint64_t generation; /* raised whenever something came in */
};

extern struct seat_state seat_state;
extern const struct fabric_ops seat_ops;
extern const struct by_packets_carrier seat_carrier;

/* ---- turn.c ---------------------------------------------------------------------- */

/* With the lock, which it gives up meanwhile: until the turn is here. */
void seat_want_turn(struct seat_state *seat);

/* All of these with the lock, and with the turn, for which they wait if need be. */

/* Says a step of the CPU; the packets that follow belong to it. */
void seat_step(struct seat_state *seat, enum turn_word word, uint16_t detail, uint64_t value);
/* Whether a packet of so many bytes fits into this turn. If not, the simulator asks for it when it
 * has sent what it has. */
bool seat_has_room(struct seat_state *seat, uint32_t bytes);
/* Says a packet, and gives the room for its bytes. */
unsigned char *seat_packet(struct seat_state *seat, const struct turn_packet *packet);
/* Runs the board, so that it sends what it can. */
void seat_send(struct seat_state *seat);
/* Sends the acknowledgements that wait for company, before this node leaves. */
void seat_send_last(struct seat_state *seat);
/* Gives the turn away until all steps are done. */
void seat_sync(struct seat_state *seat);
/* The same with another closing word. */
void seat_close_turn(struct seat_state *seat, enum turn_word word, uint64_t value);
/* If this turn has lasted long: seat_sync. */
void seat_sync_now_and_then(struct seat_state *seat);

/* With the lock: a program looks at what it waits for, and has not found it. That takes a read. If
 * it does nothing else again and again, the reads that find nothing new are done at once, until
 * something comes or there are many. Whether anything came. */
bool seat_look_again(struct seat_state *seat);

/* Without the lock. Waits until something comes, at most that long in virtual time. */
void seat_nap(struct seat_state *seat, uint64_t timeout_ns, uint64_t *seen);
/* The virtual time; all steps so far are done. */
uint64_t seat_now_ns(struct seat_state *seat);
/* The same with the lock, and without their being done: no later than that. */
uint64_t seat_time_ns(const struct seat_state *seat);

/* ---- threads.c, all with the lock ------------------------------------------------ */

/* The entry of the calling thread, which RUNS. */
struct seat_thread *seat_thread_enter(struct seat_state *seat);
/* Whether nobody is about to call. If not, whoever asks again after SEAT_LINGER_NS learns it. */
bool seat_threads_stand(struct seat_state *seat);
/* Whether any are away: they may still call. And how many there are at all. */
bool seat_threads_are_away(struct seat_state *seat, uint32_t *count);
/* When the first nap ends, in virtual time; UINT64_MAX: never. */
uint64_t seat_threads_deadline_ns(const struct seat_state *seat);
/* Counts what threads write into this node's memory in place, and so without the turn. Those that
 * plain stores of the program write are not among them. */
uint32_t seat_threads_written(const struct seat_state *seat);
/* Whether all who nap have looked after the last of it. */
bool seat_threads_have_seen(const struct seat_state *seat, uint32_t written);
/* The turn is here: whoever naps looks again, and so is about to call. */
void seat_threads_wake(struct seat_state *seat);

/* ---- compute.c ------------------------------------------------------------------- */

/* With the lock and the turn: the program enters the library, and says how long it has computed. */
void seat_end_computing(struct seat_state *seat, struct seat_thread *own);
/* Without the lock: whether what the program computes between calls counts; it does so from now. */
bool seat_meters(void);
void seat_left_call(void);
/* Without the lock: what it has computed passes before the call does anything, so that a call that
 * reaches this node's own memory finds what the others have done meanwhile. */
void seat_entered_call(void);

/* ---- carrier.c ------------------------------------------------------------------- */

/* How the engine of a machine without InfiniSWIF sends. */
struct nic_network seat_plain_network(struct seat_state *seat);
/* The peer has carried out that packet, and all before it. */
void seat_plain_acked(struct seat_state *seat, uint16_t peer, uint64_t number);
/* Nobody waits for the peer's acknowledgements any more. */
void seat_plain_forget(struct seat_state *seat, uint16_t peer);

/* ---- lives.c --------------------------------------------------------------------- */

/* With the lock: the simulator says that a rank has this life now. */
void seat_take_in_life(struct seat_state *seat, uint32_t rank, uint64_t life);
/* With the lock: peers that have left are given up once nothing is under way to them. */
void seat_end_partings(struct seat_state *seat);
/* When seat_end_partings has something to do at the latest; UINT64_MAX: never. */
uint64_t seat_parting_deadline_ns(const struct seat_state *seat);

#endif
