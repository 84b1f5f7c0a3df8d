/* Paper 001's port layer: sendto, sendmsg and recvfrom between nodes.
 *
 * A datagram is a message of a context that all nodes open together. The paper's receiver
 * learnt of an arrival by polling a flag, in the receiving call or in a thread that did nothing
 * else and signalled; both are here. Neither costs a core while nothing comes: a wait for
 * messages polls for some microseconds and then sleeps until a store wakes it. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/uncancelled.h"
#include "fagus/state.h"
#include "fagus/look.h"

#define CHANNEL UINT32_C(0xfa605001)
/* A message to oneself can wait for nobody but another thread. */
#define SELF_PATIENCE_NS UINT64_C(100000000)
/* How often the detection thread looks whether it shall end. */
#define DETECTION_NS UINT64_C(20000000)
#define LOOK_AGAIN_NS UINT64_C(100000)

enum { PIECES_BYTES = 4096 }; /* gathered without asking for memory */

static struct {
    struct dn_node *lane; /* of its own: a send first completes what its lane has sent */
    struct dn_context *context;

    pthread_mutex_t mode_lock; /* guards the detection thread's beginning and end */
    _Atomic bool detects;      /* there is one */
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_ending;
    bool has_arrived; /* the thread has seen something that nobody has looked at yet */
} port = {
    .mode_lock = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- Opening and closing -------------------------------------------------------------- */

static int open_context(void)
{
    size_t count = (size_t)fagus_state.size;
    int *ranks = malloc(count * sizeof *ranks);
    if (!ranks) {
        return DN_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (int)i;
    }
    int error = dn_context_open(port.lane, CHANNEL, ranks, count, ranks, count, NULL,
                                &port.context);
    free(ranks);
    return error;
}

int fagus_port_open(void)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return FAGUS_ENOMEM;
    }
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int refused = pthread_cond_init(&port.changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (refused) {
        return FAGUS_ENOMEM;
    }
    int error = dn_lane_open(fagus_state.node, &port.lane);
    if (!error) {
        error = open_context();
        if (error) {
            (void)dn_lane_close(port.lane);
        }
    }
    if (error) {
        (void)pthread_cond_destroy(&port.changed);
    }
    return fagus_error_of(error);
}

void fagus_port_close(void)
{
    (void)dimmnet_detect_thread(0);
    (void)dn_context_close(port.context);
    (void)dn_lane_close(port.lane);
    (void)pthread_cond_destroy(&port.changed);
    port.context = NULL;
}

/* ---- Sending -------------------------------------------------------------------------- */

/* As sockets say it: -1, and errno. */
static ssize_t fail(int error)
{
    switch (error) {
    case DN_ETIMEOUT: errno = EAGAIN; break;
    case DN_EPEER: errno = ECONNRESET; break;
    case DN_ETOOLONG: errno = EMSGSIZE; break;
    case DN_ENOMEM: errno = ENOMEM; break;
    case DN_ESTATE: errno = ENOTCONN; break;
    default: errno = EINVAL; break;
    }
    return -1;
}

ssize_t dimmnet_sendto(int node, const void *data, size_t bytes)
{
    if (!fagus_state.node) {
        return fail(DN_ESTATE);
    }
    if (bytes > SSIZE_MAX) {
        return fail(DN_EINVAL);
    }
    uint64_t timeout_ns = node == fagus_state.rank ? SELF_PATIENCE_NS : DN_FOREVER;
    int error = dn_send(port.context, node, data, bytes, timeout_ns);
    return error ? fail(error) : (ssize_t)bytes;
}

/* The length of all pieces; false: they make no sense. */
static bool sum_pieces(const struct iovec *pieces, int count, size_t *bytes)
{
    size_t sum = 0;
    if (count < 0 || (!pieces && count > 0)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (__builtin_add_overflow(sum, pieces[i].iov_len, &sum) || sum > SSIZE_MAX ||
            (!pieces[i].iov_base && pieces[i].iov_len > 0)) {
            return false;
        }
    }
    *bytes = sum;
    return true;
}

static void gather(const struct iovec *pieces, int count, unsigned char *all)
{
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_len > 0) {
            memcpy(all, pieces[i].iov_base, pieces[i].iov_len);
            all += pieces[i].iov_len;
        }
    }
}

ssize_t dimmnet_sendmsg(int node, const struct iovec *pieces, int count)
{
    size_t bytes;
    if (!sum_pieces(pieces, count, &bytes)) {
        return fail(DN_EINVAL);
    }
    unsigned char few[PIECES_BYTES];
    few[0] = 0; /* without any piece nothing else is */
    unsigned char *all = bytes <= sizeof few ? few : calloc(1, bytes);
    if (!all) {
        return fail(DN_ENOMEM);
    }
    gather(pieces, count, all);
    ssize_t sent = dimmnet_sendto(node, all, bytes);
    if (all != few) {
        int saved = errno;
        free(all);
        errno = saved;
    }
    return sent;
}

/* ---- Receiving ------------------------------------------------------------------------ */

struct receipt {
    void *buffer;
    size_t capacity;
    int sender;
    size_t bytes;
};

static int receive(struct receipt *receipt, uint64_t timeout_ns)
{
    return dn_recv(port.context, DN_ANY, receipt->buffer, receipt->capacity, timeout_ns,
                   &receipt->sender, &receipt->bytes);
}

/* Any result of dn_recv ends the look, except that nothing is there or that a known death is
 * told. */
struct slow_receipt {
    struct receipt *receipt;
    int error;
};

static int look(void *context)
{
    struct slow_receipt *slow = context;
    slow->error = receive(slow->receipt, 0);
    return slow->error != DN_ETIMEOUT && slow->error != DN_EPEER;
}

/* After a death that this thread has been told of, waits for what the others send. */
static int receive_from_survivors(struct receipt *receipt, uint64_t timeout_ns)
{
    struct slow_receipt slow = {.receipt = receipt};
    switch (fagus_wait(look, &slow, timeout_ns)) {
    case 0: return slow.error;
    case FAGUS_ETIMEOUT: return DN_ETIMEOUT;
    default: return DN_EPEER;
    }
}

/* With news of a death, unless something was sent just before. */
static int receive_or_tell(struct receipt *receipt)
{
    int error = receive(receipt, 0);
    return error == DN_ETIMEOUT ? DN_EPEER : error;
}

static int receive_directly(struct receipt *receipt, uint64_t timeout_ns)
{
    int error = receive(receipt, timeout_ns);
    if (error == DN_EPEER) {
        error = fagus_death_news() ? receive_or_tell(receipt)
                                   : receive_from_survivors(receipt, timeout_ns);
    }
    return error;
}

/* As wait_for_detection, in virtual time. */
static bool look_for_detection(uint64_t deadline_ns)
{
    for (;;) {
        (void)pthread_mutex_lock(&port.lock);
        bool is_there = port.has_arrived || port.is_ending;
        (void)pthread_mutex_unlock(&port.lock);
        uint64_t left_ns = fagus_left_ns(deadline_ns);
        if (is_there || left_ns == 0) {
            return is_there;
        }
        fagus_nap(left_ns < LOOK_AGAIN_NS ? left_ns : LOOK_AGAIN_NS);
    }
}

/* Until the detection thread has seen something, or there is none any more: false when the time
 * is up. */
static bool wait_for_detection(uint64_t deadline_ns)
{
    if (inner_time_is_virtual(fagus_state.node)) {
        return look_for_detection(deadline_ns);
    }
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
    int refused = 0;
    int cancellable = base_uncancelled_begin();
    (void)pthread_mutex_lock(&port.lock);
    while (!port.has_arrived && !port.is_ending && refused != ETIMEDOUT) {
        refused = deadline_ns == UINT64_MAX
                      ? pthread_cond_wait(&port.changed, &port.lock)
                      : pthread_cond_timedwait(&port.changed, &port.lock, &until);
    }
    bool is_there = port.has_arrived || port.is_ending;
    (void)pthread_mutex_unlock(&port.lock);
    base_uncancelled_end(cancellable);
    return is_there;
}

static void have_looked(void)
{
    (void)pthread_mutex_lock(&port.lock);
    port.has_arrived = false;
    (void)pthread_cond_broadcast(&port.changed);
    (void)pthread_mutex_unlock(&port.lock);
}

static int receive_by_detection(struct receipt *receipt, uint64_t deadline_ns)
{
    int error = receive(receipt, 0);
    while (atomic_load(&port.detects)) {
        if (error == DN_EPEER && fagus_death_news()) {
            return receive_or_tell(receipt);
        }
        if (error != DN_ETIMEOUT && error != DN_EPEER) {
            return error;
        }
        if (!wait_for_detection(deadline_ns)) {
            return DN_ETIMEOUT;
        }
        error = receive(receipt, 0);
        have_looked();
    }
    return error == DN_ETIMEOUT || error == DN_EPEER
               ? receive_directly(receipt, fagus_left_ns(deadline_ns))
               : error;
}

ssize_t dimmnet_recvfrom(void *buffer, size_t bytes, int *node, uint64_t timeout_ns)
{
    if (!fagus_state.node) {
        return fail(DN_ESTATE);
    }
    struct receipt receipt = {.buffer = buffer, .capacity = bytes};
    int error = atomic_load_explicit(&port.detects, memory_order_relaxed)
                    ? receive_by_detection(&receipt, inner_deadline_ns(inner_now_ns(), timeout_ns))
                    : receive_directly(&receipt, timeout_ns);
    if (error) {
        return fail(error);
    }
    if (node) {
        *node = receipt.sender;
    }
    return (ssize_t)receipt.bytes;
}

/* ---- The detection thread ------------------------------------------------------------- */

/* Says that something is there, and waits until somebody has looked; false: it shall end. */
static bool announce(bool something)
{
    (void)pthread_mutex_lock(&port.lock);
    if (something) {
        port.has_arrived = true;
        (void)pthread_cond_broadcast(&port.changed);
        while (port.has_arrived && !port.is_ending) {
            (void)pthread_cond_wait(&port.changed, &port.lock);
        }
    }
    bool goes_on = !port.is_ending;
    (void)pthread_mutex_unlock(&port.lock);
    return goes_on;
}

static void *detect(void *unused)
{
    int error;
    (void)unused;
    do {
        error = dn_probe(port.context, DN_ANY, DETECTION_NS, NULL, NULL);
        if (error == DN_EPEER) {
            fagus_nap(1000000); /* it says so at once, until all have died */
        }
    } while (announce(error != DN_ETIMEOUT));
    return NULL;
}

static int start_detection(void)
{
    port.is_ending = false;
    port.has_arrived = false;
    if (inner_thread_start(fagus_state.node, &port.thread, detect, NULL) != 0) {
        return FAGUS_ESYSTEM;
    }
    atomic_store(&port.detects, true);
    return 0;
}

/* Those who wait for the thread go on by themselves. */
static void end_detection(void)
{
    atomic_store(&port.detects, false);
    (void)pthread_mutex_lock(&port.lock);
    port.is_ending = true;
    (void)pthread_cond_broadcast(&port.changed);
    (void)pthread_mutex_unlock(&port.lock);
    int cancellable = base_uncancelled_begin();
    (void)pthread_join(port.thread, NULL);
    base_uncancelled_end(cancellable);
}

int dimmnet_detect_thread(int on)
{
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    (void)pthread_mutex_lock(&port.mode_lock);
    bool detects = atomic_load(&port.detects);
    if (on && !detects) {
        error = start_detection();
    } else if (!on && detects) {
        end_detection();
    }
    (void)pthread_mutex_unlock(&port.mode_lock);
    return error;
}

/* ---- comm_sync ------------------------------------------------------------------------ */

int comm_sync(void)
{
    struct dn_node *node = fagus_state.node;
    if (UNLIKELY(!node)) {
        return FAGUS_ESTATE;
    }
    int error = inner_barrier(dn_team_all(node));
    return LIKELY(error == 0) ? 0 : fagus_error_of(error);
}
