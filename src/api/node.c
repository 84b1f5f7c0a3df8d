/* Entry points: joining, lanes, peers. */
#include <string.h>

#include "api/check.h"
#include "api/traced.h"
#include "base/error.h"
#include "lock/lock.h"
#include "message/message.h"
#include "dimmnet.h"
#include "host/clock.h"
#include "host/wait.h"

/* More than an hour is a mistake, and sums of it must not overflow. */
#define COMPUTE_NS_MAX UINT64_C(3600000000000)

/* The outside copies of the header's inline functions. */
extern inline void *dn_kick_pointer(const struct dn_kick *kick);
extern inline void dn_store_u8(const struct dn_kick *kick, uint64_t offset, uint8_t value);
extern inline void dn_store_u16(const struct dn_kick *kick, uint64_t offset, uint16_t value);
extern inline void dn_store_u32(const struct dn_kick *kick, uint64_t offset, uint32_t value);
extern inline void dn_store_u64(const struct dn_kick *kick, uint64_t offset, uint64_t value);
extern inline uint8_t dn_load_u8(const void *word);
extern inline uint16_t dn_load_u16(const void *word);
extern inline uint32_t dn_load_u32(const void *word);
extern inline uint64_t dn_load_u64(const void *word);

#define TEXT(value) #value
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *dn_version(void)
{
    return VERSION_TEXT(DN_VERSION_MAJOR, DN_VERSION_MINOR, DN_VERSION_PATCH);
}

const char *dn_strerror(int error)
{
    return base_error_sentence(error);
}

const char *dn_errname(int error)
{
    return base_error_name(error);
}

int api_wake(const struct dn_node *node, int rank, const void *written, uint64_t bytes)
{
    fabric_wake_watching(node->lane.view, (uint32_t)rank, written, bytes);
    return 0;
}

int api_options_read(const void *given, void *options, size_t bytes)
{
    enum { BYTES_MAX = 4096 }; /* more is a size that was never set */
    size_t given_bytes = bytes;
    memset(options, 0, bytes);
    if (!given) {
        return 0;
    }
    memcpy(&given_bytes, given, sizeof given_bytes);
    if (given_bytes < sizeof given_bytes || given_bytes > BYTES_MAX) {
        return DN_EINVAL;
    }
    for (size_t i = bytes; i < given_bytes; i++) {
        if (((const unsigned char *)given)[i] != 0) {
            return DN_EINVAL;
        }
    }
    memcpy(options, given, given_bytes < bytes ? given_bytes : bytes);
    return 0;
}

int dn_attach(struct dn_node **node, const struct dn_options *options)
{
    struct dn_options own;
    struct dn_node *made;
    uint64_t begin_ns = host_now_ns();
    int error = node ? api_options_read(options, &own, sizeof own) : DN_EINVAL;
    error = error ? error : host_attach(&made, &own);
    if (error) {
        return error;
    }
    error = team_all_make(made);
    if (error) {
        (void)host_detach(made);
        return error;
    }
    *node = made;
    if (host_trace_is_on) {
        struct host_trace_what what = host_trace_call(HOST_TRACE_OTHER);
        /* Virtual time did not run yet when this began. */
        host_trace_note(__func__, &what, host_fabric_clock ? 0 : begin_ns, host_now_ns(), 0);
    }
    return 0;
}

int dn_detach(struct dn_node *node)
{
    API_TRACED(dn_detach(node), host_trace_call(HOST_TRACE_OTHER));
    if (host_node_open(node) && node->is_default) {
        message_end(node);
        lock_end();
        team_all_end(node);
    }
    return node ? host_detach(node) : DN_EINVAL;
}

/* A call that is never recorded is over. */
static void left_unrecorded(void)
{
    if (UNLIKELY(host_trace_is_on)) {
        host_trace_left();
    }
}

uint64_t dn_time_ns(struct dn_node *node)
{
    uint64_t now_ns = api_check(node) ? 0 : host_now_ns();
    left_unrecorded();
    return now_ns;
}

int dn_compute_ns(struct dn_node *node, uint64_t ns)
{
    int error = api_check(node);
    if (!error && ns > COMPUTE_NS_MAX) {
        error = DN_EINVAL;
    }
    if (!error) {
        fabric_compute(&node->lane, ns);
    }
    left_unrecorded();
    return error;
}

int dn_rank(const struct dn_node *node)
{
    int error = api_check(node);
    return error ? error : (int)node->process->view.rank;
}

int dn_size(const struct dn_node *node)
{
    int error = api_check(node);
    return error ? error : (int)node->process->view.node_count;
}

int dn_lane_open(struct dn_node *node, struct dn_node **lane)
{
    int error = lane ? api_check(node) : DN_EINVAL;
    return error ? error : host_lane_open(lane);
}

int dn_lane_close(struct dn_node *lane)
{
    API_TRACED(dn_lane_close(lane), host_trace_call(HOST_TRACE_ORDER));
    return lane ? host_lane_close(lane) : DN_EINVAL;
}

int dn_peer_life(struct dn_node *node, int rank, enum dn_life *life)
{
    int error = life ? api_check(node) : DN_EINVAL;
    if (!error && (uint32_t)rank >= node->lane.node_count) {
        error = DN_ERANK;
    }
    if (!error) {
        fabric_look(&node->lane);
        *life = group_life(&node->process->view, (uint32_t)rank);
    }
    return error;
}

int dn_failure_ack(struct dn_node *node, int *ranks, size_t capacity, size_t *count)
{
    int error = count ? api_check(node) : DN_EINVAL;
    if (error) {
        return error;
    }
    struct host_process *process = node->process;
    size_t found = 0;
    fabric_look(&node->lane);
    pthread_mutex_lock(&process->acknowledge_lock);
    for (uint32_t rank = 0; rank < process->view.node_count; rank++) {
        uint64_t *known = &process->acknowledged[rank / 64];
        uint64_t bit = UINT64_C(1) << (rank % 64);
        if (group_life(&process->view, rank) == DN_DEAD && !(*known & bit)) {
            *known |= bit;
            if (ranks && found < capacity) {
                ranks[found] = (int)rank;
            }
            found++;
        }
    }
    /* A life may say DEAD a moment before the count does; counting lives, not announcements,
     * acknowledges such a death only once, too. */
    atomic_fetch_add(&process->acknowledged_count, (uint32_t)found);
    pthread_mutex_unlock(&process->acknowledge_lock);
    *count = found;
    return 0;
}
