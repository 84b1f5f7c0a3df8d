/* The worst packet fabric that is allowed: nodes are processes, each with its own copy of the
 * group's memory. What they reflect stands in queues, one for each pair, which a thread of the
 * receiver empties in any order among the senders and never at once.
 *
 * Nodes of one host are in place for each other: they share the words in front and each other's
 * memory, and each has its own mirrors of the nodes on other hosts.
 *
 * Only a death loses anything: a process that is killed has sent a prefix of what it wanted to,
 * and that arrives. Lives change at different times in the copies. A node that asks another
 * finds what had been sent to both before. A push is carried out at the last moment. */
#ifndef UNIT_TEAM_MIRROR_NET_H
#define UNIT_TEAM_MIRROR_NET_H

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/group.h"
#include "base/random.h"
#include "team/team_by_packets.h"
#include "host/clock.h"
#include "nic/memory_access.h"
#include "nic/services.h"
#include "group/service_memory.h"

enum {
    NET_NODES_MAX = 6,
    NET_QUEUE_BYTES = 1 << 18,
    NET_PIECE_BYTES = 1024, /* of one entry */
    NET_PUSHES = 256,
    NET_PATIENCE_S = 60,
    NET_STEPS_MAX = 256,
};

/* What one node has sent to another, in order. Positions only grow. */
struct net_queue {
    _Atomic uint64_t head; /* by the receiver */
    _Atomic uint64_t tail; /* by the sender, when an entry is whole */
    unsigned char bytes[NET_QUEUE_BYTES];
};

struct net_entry {
    uint64_t offset; /* in the group's memory */
    uint64_t bytes;
};

/* What a node tells the test, step by step; it stays when the node dies. */
struct net_log {
    _Atomic uint32_t count;
    int results[NET_STEPS_MAX];
    uint64_t values[NET_STEPS_MAX];
};

struct net {
    uint32_t node_count;
    uint32_t hosts[NET_NODES_MAX];
    int fd; /* the copies, one behind the other */
    struct group_memory *copies[NET_NODES_MAX];
    struct group_geometry geometry;
    struct net_log logs[NET_NODES_MAX];
    _Atomic uint32_t met[NET_STEPS_MAX]; /* nodes that came to a step of their own accord */
    struct net_queue queues[NET_NODES_MAX][NET_NODES_MAX]; /* from, to */
};

/* The test's, made before it forks; at the same address in all processes. */
static struct net *net;

/* A failure ends its node, which the test sees: cmocka's assertions are for the test. */
#define net_require(condition)                                                                  \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            (void)fprintf(stderr, "node %u, %s:%d: not so: %s\n", own.rank, __FILE__, __LINE__, \
                          #condition);                                                          \
            _exit(1);                                                                           \
        }                                                                                       \
    } while (0)

/* ---- Copies ------------------------------------------------------------------------------ */

/* The rank in whose copy a host keeps the words in front. */
static inline uint32_t net_first_of_host(uint32_t rank)
{
    uint32_t first = 0;
    while (net->hosts[first] != net->hosts[rank]) {
        first++;
    }
    return first;
}

/* In whose copy lies what that rank finds at an offset. */
static inline uint32_t net_home(uint32_t rank, uint64_t offset)
{
    if (offset < net->geometry.nodes_offset) {
        return net_first_of_host(rank);
    }
    uint64_t owner = (offset - net->geometry.nodes_offset) / net->geometry.node_stride_bytes;
    return net->hosts[owner] == net->hosts[rank] ? (uint32_t)owner : rank;
}

static inline unsigned char *net_place(uint32_t rank, uint64_t offset)
{
    return (unsigned char *)net->copies[net_home(rank, offset)] + offset;
}

/* In a node's process: its copy shows what it shares with its host. */
static inline bool net_share(uint32_t rank, uint64_t offset, uint64_t bytes)
{
    uint32_t home = net_home(rank, offset);
    void *place = (unsigned char *)net->copies[rank] + offset;
    return home == rank ||
           mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                net->fd, (off_t)(home * net->geometry.total_bytes + offset)) == place;
}

/* ---- A node ----------------------------------------------------------------------------- */

struct net_push {
    uint32_t rank;
    uint64_t offset;
    const void *source;
    uint64_t bytes;
};

static struct {
    uint32_t rank;
    struct host_process process;
    struct dn_node node;
    pthread_mutex_t lock; /* of the queues that this node fills, and of the pushes */
    /* The sender and the deliverer hold this for a moment: TSan sees only one process, and would
     * not know what is ordered by way of another. */
    pthread_mutex_t group_lock;
    struct net_push pushes[NET_PUSHES];
    uint32_t push_count;
    uint64_t sent;    /* reflections and questions so far */
    uint64_t dies_at; /* it is killed instead of sending this one; 0: never */
    struct base_random random;
    struct nic_services *services;
    pthread_t nic;
} own;

static inline void net_send_counts(void)
{
    if (++own.sent == own.dies_at) {
        (void)kill(getpid(), SIGKILL);
    }
}

static inline bool net_gone(uint32_t rank)
{
    return group_life_gone(group_life(&own.process.view, rank));
}

static inline void net_copy_in(struct net_queue *queue, uint64_t at, const void *from,
                               uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        queue->bytes[(at + i) % NET_QUEUE_BYTES] = ((const unsigned char *)from)[i];
    }
}

static inline void net_copy_out(const struct net_queue *queue, uint64_t at, void *to,
                                uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        ((unsigned char *)to)[i] = queue->bytes[(at + i) % NET_QUEUE_BYTES];
    }
}

/* With the lock held. */
static inline void net_enqueue(uint32_t to, uint64_t offset, const void *data, uint64_t bytes)
{
    struct net_queue *queue = &net->queues[own.rank][to];
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    struct net_entry entry = {offset, bytes};
    while (tail + sizeof entry + bytes - atomic_load_explicit(&queue->head, memory_order_acquire) >
               NET_QUEUE_BYTES &&
           !net_gone(to)) {
        sched_yield();
    }
    if (!net_gone(to)) {
        net_copy_in(queue, tail, &entry, sizeof entry);
        net_copy_in(queue, tail + sizeof entry, data, bytes);
        atomic_store_explicit(&queue->tail, tail + sizeof entry + bytes, memory_order_release);
    }
}

static inline void net_deliver(uint32_t from)
{
    struct net_queue *queue = &net->queues[from][own.rank];
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    struct net_entry entry;
    unsigned char data[NET_PIECE_BYTES];
    if (head == atomic_load_explicit(&queue->tail, memory_order_acquire)) {
        return;
    }
    net_copy_out(queue, head, &entry, sizeof entry);
    net_copy_out(queue, head + sizeof entry, data, entry.bytes);
    unsigned char *place = (unsigned char *)net->copies[own.rank] + entry.offset;
    pthread_mutex_lock(&own.group_lock);
    if (entry.bytes == 1) {
        nic_store_word(place, data[0], 1);
    } else {
        nic_store_block(place, data, entry.bytes);
    }
    pthread_mutex_unlock(&own.group_lock);
    atomic_store_explicit(&queue->head, head + sizeof entry + entry.bytes, memory_order_release);
}

/* The receiver's side: one sender's queue moves while another's stands still, now and then for as
 * long as many steps of the others take. */
static inline void *net_run(void *unused)
{
    struct base_random random = {own.random.state + 77};
    uint32_t slow = 0;
    uint64_t slow_until_ns = 0;
    (void)unused;
    for (;;) {
        uint32_t from = (uint32_t)(base_random_next(&random) % net->node_count);
        uint64_t entries = base_random_next(&random) % 8;
        if (base_random_next(&random) % 64 == 0) {
            slow = from;
            slow_until_ns = host_now_ns() + base_random_next(&random) % UNIT_MS;
        }
        if (from == slow && slow_until_ns != 0) {
            slow_until_ns = host_now_ns() < slow_until_ns ? slow_until_ns : 0;
            entries = slow_until_ns ? 0 : entries;
        }
        for (uint64_t i = 0; i < entries; i++) {
            net_deliver(from);
        }
        if (base_random_next(&random) % 4 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

/* Waits until all that had been sent to a node when this began is there, or the node is gone. */
static inline void net_drain(uint32_t to)
{
    for (uint32_t from = 0; from < net->node_count; from++) {
        struct net_queue *queue = &net->queues[from][to];
        uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
        while (atomic_load_explicit(&queue->head, memory_order_acquire) < tail && !net_gone(to)) {
            sched_yield();
        }
    }
}

/* ---- Its fabric --------------------------------------------------------------------------- */

static inline int net_reflect(struct fabric_lane *lane, uint32_t rank, const void *place,
                              uint64_t bytes)
{
    const unsigned char *piece = place;
    uint64_t offset = (uint64_t)(piece - (const unsigned char *)lane->view->group);
    /* A store in place counts as well: a node may die behind it. */
    net_send_counts();
    if (net_home(rank, offset) == net_home(own.rank, offset)) {
        return 0;
    }
    if (net_gone(rank)) {
        return DN_EPEER;
    }
    pthread_mutex_lock(&own.lock);
    for (uint64_t at = 0; at < bytes; at += NET_PIECE_BYTES) {
        uint64_t left = bytes - at;
        net_enqueue(rank, offset + at, piece + at, left < NET_PIECE_BYTES ? left : NET_PIECE_BYTES);
    }
    pthread_mutex_unlock(&own.lock);
    pthread_mutex_lock(&own.group_lock);
    pthread_mutex_unlock(&own.group_lock);
    return 0;
}

/* A question and its answer both go behind what was sent before. */
static inline int net_ask(uint32_t rank)
{
    net_send_counts();
    net_drain(rank);
    net_drain(own.rank);
    return net_gone(rank) ? DN_EPEER : 0;
}

static inline int net_refresh(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes)
{
    unsigned char *base = (unsigned char *)lane->view->group;
    int error = net_ask(rank);
    if (!error) {
        memmove(place, net_place(rank, (uint64_t)((unsigned char *)place - base)), bytes);
    }
    return error;
}

static inline int net_atomic(struct fabric_lane *lane, struct dn_remote remote,
                             enum fabric_atomic operation, unsigned bytes, uint64_t operand,
                             uint64_t expected, uint64_t *old)
{
    (void)lane;
    net_require(remote.area == 0);
    net_require(bytes == 4);
    int error = net_ask((uint32_t)remote.rank);
    if (!error) {
        unsigned char *place = net_place((uint32_t)remote.rank, remote.offset);
        *old = nic_apply_u32((uint32_t *)(void *)place, (enum wire_atomic)operation,
                             (uint32_t)operand, (uint32_t)expected);
    }
    return error;
}

static inline int net_settle(struct fabric_lane *lane)
{
    (void)lane;
    for (uint32_t to = 0; to < net->node_count; to++) {
        struct net_queue *queue = &net->queues[own.rank][to];
        uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
        while (atomic_load_explicit(&queue->head, memory_order_acquire) < tail && !net_gone(to)) {
            sched_yield();
        }
    }
    return 0;
}

static inline int net_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                           size_t bytes, struct dn_op *op)
{
    (void)lane;
    net_require(!op);
    net_require(remote.area == 0);
    net_send_counts();
    pthread_mutex_lock(&own.lock);
    net_require(own.push_count < NET_PUSHES);
    own.pushes[own.push_count++] = (struct net_push){(uint32_t)remote.rank, remote.offset, source,
                                                     bytes};
    pthread_mutex_unlock(&own.lock);
    return 0;
}

static inline int net_quiet(struct fabric_lane *lane)
{
    int error = 0;
    (void)lane;
    pthread_mutex_lock(&own.lock);
    for (uint32_t i = 0; i < own.push_count; i++) {
        const struct net_push *push = &own.pushes[i];
        if (net_gone(push->rank)) {
            error = DN_EPEER;
        } else {
            memcpy(net_place(push->rank, push->offset), push->source, push->bytes);
        }
    }
    own.push_count = 0;
    pthread_mutex_unlock(&own.lock);
    return error;
}

/* Services that have no line left for a barrier. */
static inline struct nic_services *net_services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    (void)lane;
    *now_ns = host_now_ns();
    return own.services;
}

static inline void net_services_give(struct fabric_lane *lane)
{
    (void)lane;
}

static inline void net_services_make(void)
{
    const uint16_t alone = (uint16_t)own.rank;
    struct nic_services_config config;
    nic_services_config_default(&config, net->node_count);
    config.node = alone;
    config.incarnation = 1;
    config.team_count = 1;
    uint64_t bytes = nic_services_bytes(&config);
    void *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    net_require(space != MAP_FAILED);
    own.services = nic_services_init(&config, &(struct nic_services_hooks){0}, space);
    net_require(nic_packet_barrier_open(own.services, 1, 1, &alone, 1) == 0);
}

static inline bool net_progress(struct fabric_lane *lane)
{
    (void)lane;
    sched_yield();
    return false;
}

static inline void net_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)lane;
    (void)timeout_ns;
    (void)seen;
    sched_yield();
}

static const struct fabric_ops net_ops = {
    .push = net_push,
    .atomic = net_atomic,
    .quiet = net_quiet,
    .reflect = net_reflect,
    .refresh = net_refresh,
    .settle = net_settle,
    .services_take = net_services_take,
    .services_give = net_services_give,
    .progress = net_progress,
    .nap = net_nap,
};

/* ---- The test's side ------------------------------------------------------------------------- */

/* With hosts NULL each node has its own. */
static inline void net_make_hosts(uint32_t node_count, const uint32_t *hosts)
{
    struct group_sizes sizes = {UNIT_PAGE_BYTES, UNIT_PAGE_BYTES, UNIT_PAGE_BYTES, UNIT_PAGE_BYTES};
    net = mmap(NULL, sizeof *net, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(net != MAP_FAILED);
    net->node_count = node_count;
    assert_int_equal(group_geometry(node_count, &sizes, UNIT_PAGE_BYTES, &net->geometry), 0);
    net->fd = memfd_create("net", MFD_CLOEXEC);
    assert_true(net->fd >= 0);
    assert_int_equal(ftruncate(net->fd, (off_t)(node_count * net->geometry.total_bytes)), 0);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        net->hosts[rank] = hosts ? hosts[rank] : rank;
        void *copy = mmap(NULL, net->geometry.total_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, net->fd,
                          (off_t)(rank * net->geometry.total_bytes));
        assert_true(copy != MAP_FAILED);
        net->copies[rank] = copy;
        group_group_init(copy, &net->geometry, 1);
    }
}

static inline void net_make(uint32_t node_count)
{
    net_make_hosts(node_count, NULL);
}

static inline void net_free(void)
{
    for (uint32_t rank = 0; rank < net->node_count; rank++) {
        assert_int_equal(munmap(net->copies[rank], net->geometry.total_bytes), 0);
    }
    assert_int_equal(close(net->fd), 0);
    assert_int_equal(munmap(net, sizeof *net), 0);
}

static inline void net_say(int result, uint64_t value)
{
    struct net_log *log = &net->logs[own.rank];
    uint32_t count = atomic_load_explicit(&log->count, memory_order_relaxed);
    if (count < NET_STEPS_MAX) {
        log->results[count] = result;
        log->values[count] = value;
        atomic_store_explicit(&log->count, count + 1, memory_order_release);
    }
}

/* Waits for other nodes without using the fabric. */
static inline void net_meet(uint32_t step, uint32_t count)
{
    atomic_fetch_add(&net->met[step], 1);
    while (atomic_load(&net->met[step]) < count) {
        sched_yield();
    }
}

static inline _Noreturn void net_be_node(uint32_t rank, uint64_t seed, uint64_t dies_at,
                                         void (*run)(struct dn_node *node))
{
    struct host_process *process = &own.process;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_DFL); /* cmocka's would go on with the next test */
    }
    (void)alarm(NET_PATIENCE_S);
    own.rank = rank;
    own.dies_at = dies_at;
    own.random.state = seed * 1000 + rank;
    (void)pthread_mutex_init(&own.lock, NULL);
    (void)pthread_mutex_init(&own.group_lock, NULL);
    group_view_make(net->copies[rank], rank, &process->view);
    process->control = process->view;
    process->all_in_place = true;
    bool shares = net_share(rank, 0, net->geometry.nodes_offset);
    for (uint32_t other = 0; other < net->node_count; other++) {
        uint64_t stride_bytes = net->geometry.node_stride_bytes;
        shares &= net_share(rank, net->geometry.nodes_offset + other * stride_bytes, stride_bytes);
        if (net->hosts[other] != net->hosts[rank]) {
            atomic_fetch_or(&process->view.ports[other].call, GROUP_CALL_BY_PACKETS);
            process->all_in_place = false;
        }
    }
    process->default_lane = &own.node;
    net_services_make();
    (void)pthread_mutex_init(&process->table_lock, NULL);
    (void)pthread_mutex_init(&process->sleep_lock, NULL);
    bool ready = shares &&
                 base_extents_init(&process->arena,
                                   GROUP_SERVICE_BYTES - group_service_free_offset(&process->view));
    own.node = (struct dn_node){
        .lane = {.open = FABRIC_LANE_OPEN,
                 .node_count = net->node_count,
                 .all_in_place = process->all_in_place,
                 .ports = process->view.ports,
                 .ops = &net_ops,
                 .stored_to = process->stored_to,
                 .sleeping = process->view.group->sleeping,
                 .view = &process->view},
        .process = process,
        .is_default = true,
    };
    ready = ready && team_all_make(&own.node) == 0 &&
            pthread_create(&own.nic, NULL, net_run, NULL) == 0;
    if (ready) {
        run(&own.node);
        team_all_end(&own.node);
        (void)net_settle(NULL);
    }
    _exit(ready ? 0 : 1);
}

/* Tells a node's end, as the launcher would, in one copy after another. */
static inline void net_announce(uint32_t rank, bool well, struct base_random *random)
{
    uint32_t first = (uint32_t)(base_random_next(random) % net->node_count);
    for (uint32_t i = 0; i < net->node_count; i++) {
        struct group_view view;
        uint32_t copy = (first + i) % net->node_count;
        if (net_first_of_host(copy) != copy) {
            continue;
        }
        group_view_make(net->copies[copy], rank, &view);
        if (well) {
            group_life_leave(&view);
        } else {
            (void)group_life_end(&view, rank, false);
        }
        if (base_random_next(random) % 2) {
            (void)usleep((useconds_t)(base_random_next(random) % 2000));
        }
    }
}

/* Runs a node for each rank to its end; `victim` is killed when it is about to send its dies_at-th
 * piece. Gives how many of the others did not end well. */
static inline uint32_t net_run_nodes(uint64_t seed, uint32_t victim, uint64_t dies_at,
                                     void (*run)(struct dn_node *node))
{
    pid_t processes[NET_NODES_MAX];
    struct base_random random = {seed};
    uint32_t failed = 0;
    for (uint32_t rank = 0; rank < net->node_count; rank++) {
        for (uint32_t copy = 0; copy < net->node_count; copy++) {
            struct group_view other;
            group_view_make(net->copies[copy], rank, &other);
            assert_true(net_first_of_host(copy) != copy || group_life_attach(&other, rank + 1));
        }
    }
    for (uint32_t rank = 0; rank < net->node_count; rank++) {
        processes[rank] = fork();
        assert_true(processes[rank] >= 0);
        if (processes[rank] == 0) {
            net_be_node(rank, seed, rank == victim ? dies_at : 0, run);
        }
    }
    for (uint32_t ended = 0; ended < net->node_count; ended++) {
        int status;
        pid_t process = wait(&status);
        bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        for (uint32_t rank = 0; rank < net->node_count; rank++) {
            if (processes[rank] == process) {
                bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
                failed += !well && !(rank == victim && was_killed);
                net_announce(rank, well, &random);
            }
        }
    }
    return failed;
}

#endif
