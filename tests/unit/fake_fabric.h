/* A fabric for tests, the worst one that fabric/fabric.h allows.
 *
 * Each node has its own copy of the group's memory and belongs to a host. Nodes of one host are in
 * place for each other: they share the words in front and each other's memory, and each has its own
 * mirrors of the nodes on other hosts. Nodes on different hosts reach each other by packets: what
 * one sends stands in a queue, one for each pair, and takes effect later. Only the order within a
 * queue is kept. Within one reflection the words come from the last to the first. A push is carried
 * out at the last moment. Packet services (nic/services.h) are the real ones; their records stand
 * in the same queues, also between nodes of one host.
 *
 * Nodes run in one of two ways:
 *
 *   in the test's process   (fake_attach) Whoever waits delivers, a few entries at a time, from and
 *                           to any nodes. A settle delivers what it waits for. While `held`, only
 *                           the test delivers otherwise, one by one.
 *   as processes            (fake_run_nodes) A thread of each node delivers what came to it, in any
 *                           order among the senders and never at once. One node may be killed at
 *                           any of its calls: what it had sent before arrives.
 *
 * The library's own operations by packets are carried out only if their target permits them
 * (fabric/grants.h); else `refused` counts them, which is for the test to look at, and one that
 * has an answer gets DN_ERIGHTS. A node's grants are known in its own process alone, so atomics and
 * pulls at another process are not asked about.
 *
 * There is one such fabric at a time, made before the test forks. */
#ifndef UNIT_FAKE_FABRIC_H
#define UNIT_FAKE_FABRIC_H

#include <unistd.h>

#include "base/random.h"
#include "host/node.h"
#include "nic/services.h"
#include "unit/group.h"

enum {
    FAKE_NODES_MAX = 10,
    FAKE_QUEUE_BYTES = 1 << 18,
    FAKE_PIECE_BYTES = 1024, /* of one entry, at most */
    FAKE_PUSHES = 256,
    FAKE_STEPS_MAX = 256,
};

struct fake_settings {
    uint32_t node_count;
    const uint32_t *hosts;    /* the host of each node; NULL: each has its own */
    struct group_sizes sizes; /* 0: a page */
    uint64_t seed;            /* of deliveries in the test's process */
    /* A pull, a refresh or an atomic by packets finds what any node had sent before to either side,
     * as where all of it has reached the sockets before the answer leaves. Teams need that when a
     * member has died. Otherwise it overtakes all that is under way, as one in place always does,
     * and nothing may rely on an order between them. */
    bool asks_wait;
    const struct nic_services_config *services; /* NULL: no node has any */
};

/* What one node has sent to another, in order. Positions only grow. */
struct fake_queue {
    _Atomic uint64_t head; /* by the receiver */
    _Atomic uint64_t tail; /* by the sender, when an entry is whole */
    _Atomic uint64_t sent; /* entries so far */
    unsigned char bytes[FAKE_QUEUE_BYTES];
};

/* What a node tells the test, step by step; it stays when the node dies. */
struct fake_log {
    _Atomic uint32_t count;
    int results[FAKE_STEPS_MAX];
    uint64_t values[FAKE_STEPS_MAX];
};

/* In memory that all processes share. */
struct fake {
    uint32_t node_count;
    uint32_t hosts[FAKE_NODES_MAX];
    bool asks_wait;
    bool has_services;
    struct nic_services_config services;
    struct group_geometry geometry;
    int memory_fd;                               /* the copies, one behind the other */
    struct group_memory *copies[FAKE_NODES_MAX]; /* by rank, at the same address everywhere */
    _Atomic uint64_t random;
    bool held;                           /* nobody delivers but the test, and settles */
    _Atomic bool silent[FAKE_NODES_MAX]; /* neither sends nor receives any more */
    struct fake_log logs[FAKE_NODES_MAX];
    _Atomic uint32_t met[FAKE_STEPS_MAX]; /* nodes that came to a step of fake_meet */
    _Atomic uint64_t refused; /* the library's operations that their targets did not permit */
    struct fake_queue queues[FAKE_NODES_MAX][FAKE_NODES_MAX]; /* from, to */
};

/* A push under way, which is still where it comes from. */
struct fake_push {
    bool is_library;
    uint32_t rank;
    uint64_t offset;
    const void *source;
    uint64_t bytes;
};

/* A node as its process has it. Locks are taken in the order receive_lock, services_lock,
 * send_lock, grants_lock. */
struct fake_node {
    uint32_t rank;
    struct host_process process;
    struct dn_node node;
    struct fabric_segment segments[FAKE_NODES_MAX * FABRIC_SEGMENTS];
    pthread_mutex_t send_lock; /* guards the tails of queues from this node, and pushes */
    pthread_mutex_t receive_lock; /* guards the heads of queues to it, and what is delivered */
    pthread_mutex_t grants_lock;  /* guards what follows: peers' atomics ask there, too */
    struct fabric_grants *grants;
    struct fake_push pushes[FAKE_PUSHES];
    uint32_t push_count;
    _Atomic bool has_stored;   /* a quiet has something to wait for */
    _Atomic uint64_t requests; /* pulls, refreshes and atomics by packets so far */
    _Atomic uint64_t calls;    /* for other nodes */
    uint64_t dies_at;          /* the call at which the process is killed; 0: none */

    pthread_mutex_t services_lock; /* guards what follows */
    struct nic_services *services;
    void *services_space; /* NULL: there are none */
    uint64_t services_bytes;
    bool watches[FAKE_NODES_MAX];
    bool has_tried[FAKE_NODES_MAX]; /* has sent to a peer that is silent */
    bool has_lost[FAKE_NODES_MAX];  /* knows that the peer is silent */
};

extern struct fake *fake;
extern struct fake_node fake_nodes[FAKE_NODES_MAX]; /* by rank */
/* In a node's process: its node. NULL: all nodes are in this process. */
extern struct fake_node *fake_own;
extern const struct fabric fake_fabric;
extern const struct fabric_ops fake_ops;

void fake_make(const struct fake_settings *settings);
void fake_free(void);

/* ---- Nodes in the test's process ------------------------------------------------------------ */

/* Attaches every node. */
void fake_attach(void);
/* Delivers the next entry of a queue; false: there is none. */
bool fake_deliver(uint32_t from, uint32_t to);
/* Lets everything happen that is under way or due, in any order. */
void fake_deliver_all(void);
bool fake_is_under_way(uint32_t from, uint32_t to);
uint64_t fake_sent(uint32_t from, uint32_t to);
/* Asserts that no living node's services wait for a node that may die. */
void fake_assert_nobody_watches(void);

/* The rank ends, and nobody is told: but the services of a node that watches it, or has sent to it
 * since, hear of it some time later. What it has sent is lost, or, with some_arrives, all behind a
 * prefix of it. */
void fake_silence(uint32_t rank, bool some_arrives);
/* Tells a node's end, as the launcher would, on one host after another; with pauses between them
 * if there is a random number to draw. */
void fake_announce(uint32_t rank, bool well, struct base_random *pauses);
/* The rank dies: nothing that it has sent arrives any more, and the others know. */
void fake_kill(uint32_t rank);

/* ---- Nodes as processes --------------------------------------------------------------------- */

/* Runs a node for each rank to its end; `victim` is killed at its dies_at-th call of the fabric for
 * another node. Gives how many of the others did not end well. */
uint32_t fake_run_nodes(uint64_t seed, uint32_t victim, uint64_t dies_at,
                        void (*run)(struct dn_node *node));

/* In a node's process: tells the test what came out of a step. */
void fake_say(int result, uint64_t value);
/* Waits for other nodes without using the fabric. */
void fake_meet(uint32_t step, uint32_t count);

/* A failure ends its node, which the test sees: cmocka's assertions are for the test. */
#define fake_require(condition)                                                             \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            (void)fprintf(stderr, "node %u, %s:%d: not so: %s\n", fake_own->rank, __FILE__, \
                          __LINE__, #condition);                                            \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)

#endif
