/* The storm: whole boards under virtual time on a network that does everything wrong,
 * driven by one seed.
 *
 *     plan      what a seed asks for: nodes, sizes, faults, traffic         plan.c
 *     world     boards, memory, clocks, the event loop                      world.c
 *     network   loss, bursts, duplication, reordering, ... of packets       network.c
 *     fault     what happens to nodes and links over time                   fault.c
 *     trace     every event as a line, and all of them as one hash          trace.c
 *     traffic   programs that use every primitive and service               traffic*.c
 *     oracle    what each effect had to be                                  oracle*.c
 *
 * A run has a safety phase (faults; every effect is checked when it happens) and a liveness phase
 * (no more faults, crashed nodes stay as they are, and everything outstanding must complete
 * within bounded virtual time). The same plan gives the same trace, byte for byte: nothing here
 * reads a clock, an address or an unseeded number. */
#ifndef SIM_STORM_STORM_H
#define SIM_STORM_STORM_H

#include "base/random.h"
#include "board/board.h"
#include "sim/event.h"

enum { STORM_NODES_MAX = 64 };

/* Faults that happen to packets and nodes; each is counted, and can be left out. */
#define STORM_FAULTS(X)                                                      \
    X(LOSS, "loss", "a packet is lost")                                      \
    X(BURST, "burst", "a run of packets is lost")                            \
    X(DUPLICATE, "duplicate", "a packet comes twice, or long after")         \
    X(REORDER, "reorder", "a packet is overtaken")                           \
    X(CORRUPT, "corrupt", "bits of a packet change")                         \
    X(DELAY, "delay", "a packet takes much longer")                          \
    X(PARTITION, "partition", "no packet passes from some nodes to others")  \
    X(PAUSE, "pause", "a node stands still")                                 \
    X(CRASH, "crash", "a node dies")                                         \
    X(RESTART, "restart", "a dead node begins a new life")                   \
    X(EVICT, "evict", "caches of so few contexts that they are always full") \
    X(FULL, "full", "so few buffers that they are often used up")            \
    X(SKEW, "skew", "clocks run fast, slow and jump ahead")                  \
    X(STRANGER, "stranger", "packets of another group, and forged ones")     \
    X(NARROW, "narrow", "from now on a path carries only shorter packets")   \
    X(REPLAY, "replay", "packets that somebody recorded come over and over")

#define STORM_FAULT_ENUM(name, word, text) STORM_##name,
enum storm_fault { STORM_FAULTS(STORM_FAULT_ENUM) STORM_FAULT_COUNT };
#undef STORM_FAULT_ENUM

/* What programs do; each can be left out. */
#define STORM_WORKS(X)                                                 \
    X(AOTF, "aotf", "stores through kicks, in order")                  \
    X(BOTF, "botf", "blocks, in order with the stores")                \
    X(PUSH, "push", "transfers, and fence and flag behind them")       \
    X(PULL, "pull", "fetching transfers")                              \
    X(ATOMIC, "atomic", "fetch-add, compare-swap, swap, and, or, xor") \
    X(QUIET, "quiet", "completion of all before")                      \
    X(LOCK, "lock", "mutual exclusion")                                \
    X(BARRIER, "barrier", "phases of a team")                          \
    X(MESSAGE, "message", "messages in order, with full receivers")    \
    X(DATAGRAM, "datagram", "UD: at most once, right bytes")

#define STORM_WORK_ENUM(name, word, text) STORM_WORK_##name,
enum storm_work { STORM_WORKS(STORM_WORK_ENUM) STORM_WORK_COUNT };
#undef STORM_WORK_ENUM

/* Everything that a run depends on. It is derived from seed and scenario, then changed by the
 * command line. */
struct storm_plan {
    uint64_t seed;
    const char *scenario;
    uint64_t luck;       /* another run of the same plan */
    uint32_t node_count; /* of the group under test */
    uint32_t operations; /* that each node starts, of all kinds */
    bool fault[STORM_FAULT_COUNT];
    bool work[STORM_WORK_COUNT];
    /* Probabilities for each packet, in parts per million. */
    uint32_t loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm, delay_ppm;
    uint32_t burst_ppm, burst_length;
    uint32_t replay_ppm; /* of packets that refuse nothing; those that do are the better booty */
    /* The mean time between two strikes; only for PARTITION, PAUSE, CRASH, SKEW, STRANGER,
     * NARROW. */
    uint64_t gap_ns[STORM_FAULT_COUNT];
    uint64_t safety_ns;   /* how long faults last */
    uint64_t liveness_ns; /* how long completing may then take */
    uint64_t latency_ns;  /* of the network, one way */
    uint64_t link_bits_per_s;
    uint32_t link_queue_bytes; /* that may wait to leave a node; more is dropped */
    uint64_t events_max;       /* a run with more events is going round in circles */
    struct board_config board; /* sizes and times; node numbers are filled in */
};

/* What the command line says about a run; everything else follows from it. Shrinking makes this
 * smaller. */
struct storm_choice {
    uint64_t seed;
    const char *scenario;
    uint64_t luck;       /* another value keeps sizes, times and faults, but moves every moment */
    uint32_t node_count; /* 0: the seed's */
    uint32_t operations; /* 0: the seed's */
    bool without_fault[STORM_FAULT_COUNT];
    bool without_work[STORM_WORK_COUNT];
};

/* What came of a run; in a world, so far. */
struct storm_result {
    bool failed;
    char failure[256]; /* the first one */
    uint64_t events;
    uint64_t virtual_ns;
    uint64_t trace_hash; /* of the whole trace, written or not */
    uint64_t fault_counts[STORM_FAULT_COUNT];
    uint64_t work_counts[STORM_WORK_COUNT]; /* effects checked */
    struct swif_counters swif; /* of all nodes; during a run, of lives that have ended */
    struct nic_engine_counters engine;
};

struct storm_world;

struct storm_node {
    struct storm_world *world;
    uint16_t number;
    uint32_t incarnation;
    bool alive;
    bool paused;
    struct board board;
    unsigned char *memory; /* zeros at the start of each life */
    uint64_t memory_bytes;
    void *space; /* the board's memory */
    int64_t clock_offset_ns;
    int32_t clock_drift_ppm;
    uint64_t jump_ns; /* how far its clock has jumped ahead */

    /* Only the world uses these. */
    uint64_t resume_ns;               /* while paused: when it and its events go on */
    uint32_t waiting;                 /* packets that came during a pause */
    uint64_t timer_ns;                /* when its timer event comes; UINT64_MAX: there is none */
    uint64_t timer_generation;        /* tells that event from older ones */
    uint64_t wake_ns;                 /* the last wake-up time that the traffic asked for */
    uint64_t link_free_ns;            /* when its link will have sent all that it was given */
    uint64_t memory_room, space_room; /* allocated, for this run and later ones */
};

struct storm_world {
    struct storm_plan plan;
    uint64_t now_ns; /* true time; a node's own is storm_node_now */
    bool faults_on;
    uint32_t node_count;
    struct storm_node nodes[STORM_NODES_MAX];
    struct base_random random;         /* of the world: network and faults */
    struct base_random traffic_random; /* of the programs, so that leaving a fault out does
                                          not change what they do */
    struct storm_result result;
    struct sim_events events;
    struct storm_traffic *traffic;
    struct storm_network *network;
    void *trace;             /* a FILE *, or NULL */
    struct swif_guard guard; /* every board's */
};

/* The node's own clock. */
uint64_t storm_node_now(const struct storm_world *world, const struct storm_node *node);

/* Says what was wrong, in one sentence. The first call ends the run. */
void storm_fail(struct storm_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a line of the trace: "time node words". Node NULL: the line is about no node. */
void storm_note(struct storm_world *world, const struct storm_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Asks that storm_traffic_step be called for the node at that (true) time. */
void storm_wake_at(struct storm_world *world, const struct storm_node *node, uint64_t at_ns);

/* ---- What the traffic provides, called by the world ---------------------------------- */

struct storm_traffic *storm_traffic_new(struct storm_world *world);
void storm_traffic_free(struct storm_traffic *traffic);

/* How much memory each node has. */
uint64_t storm_traffic_memory_bytes(const struct storm_plan *plan);

/* A node's life begins (its memory is zeros, its board is new), or has ended. */
void storm_traffic_born(struct storm_traffic *traffic, struct storm_node *node);
void storm_traffic_died(struct storm_traffic *traffic, struct storm_node *node);

/* Called after packets came to the node or went out, and when it asked to be woken: starts new
 * operations, looks at what has completed. */
void storm_traffic_step(struct storm_traffic *traffic, struct storm_node *node);

/* The node's upcalls; the context is the node. */
int storm_traffic_find(void *context, uint32_t area, struct nic_extent *extent);
void storm_traffic_written(void *context, uint64_t offset, uint64_t bytes);
void storm_traffic_peer_lost(void *context, uint64_t now_ns, uint16_t peer);
void storm_traffic_datagram(void *context, uint64_t now_ns, const struct swif_delivery *delivery);

/* No new operations from now on. */
void storm_traffic_stop(struct storm_traffic *traffic);
/* Whether nothing is outstanding at any living node. */
bool storm_traffic_is_done(struct storm_traffic *traffic);
/* Describes what is outstanding, for a person. */
void storm_traffic_describe(struct storm_traffic *traffic, char *text, size_t room);
/* Checks everything a last time, after the liveness phase. */
void storm_traffic_check(struct storm_traffic *traffic);

/* ---- Running ----------------------------------------------------------------------- */

/* What a command line calls a thing, and what it is. A list ends with a NULL name. */
struct storm_name {
    const char *name, *text;
    uint32_t faults; /* that a scenario allows, a bit each */
};
extern const struct storm_name storm_scenarios[];
extern const struct storm_name storm_faults[STORM_FAULT_COUNT + 1];
extern const struct storm_name storm_works[STORM_WORK_COUNT + 1];

/* Fills a plan by all that a command line can say; false: no such scenario. Leaving a fault or a
 * kind of work out changes nothing else in the plan. */
bool storm_plan_choose(struct storm_plan *plan, const struct storm_choice *choice);

/* A world that has run keeps its memory for the next run. */
struct storm_world *storm_world_new(void);
void storm_world_free(struct storm_world *world);

/* Runs a plan. With `trace` not NULL (a FILE *) the trace is written there. */
void storm_world_run(struct storm_world *world, const struct storm_plan *plan, void *trace,
                     struct storm_result *result);

#endif
