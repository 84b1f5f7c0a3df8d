/* The road by packets, for fabrics whose nodes each have a board (board/board.h): the operations
 * of lanes, mirrors, grants and services, as transactions of the board's engine. How packets get
 * from board to board, and who drives the board, is the fabric's own (struct by_packets_carrier).
 *
 * A lane is a user of the engine. The library's own operations (reflections) belong to one more
 * user, BY_PACKETS_SYSTEM_USER. */
#ifndef FABRIC_BY_PACKETS_H
#define FABRIC_BY_PACKETS_H

#include "board/board.h"
#include "fabric/fabric.h"
#include "fabric/mutex.h"

enum {
    BY_PACKETS_SYSTEM_USER = NIC_USERS - 1, /* reflections; the other users are lanes */
    BY_PACKETS_SYSTEM_CREDIT = 256,
};

/* What an operation asks of the engine. */
enum packet_request_kind {
    PACKET_STORE,
    PACKET_BLOCK,
    PACKET_PUSH,
    PACKET_PULL,
    PACKET_ATOMIC,
    PACKET_FENCE,
    PACKET_QUIET,
};

/* One transaction, given as often as it takes. */
struct packet_request {
    enum packet_request_kind kind;
    uint32_t user;
    bool more; /* something of the same operation follows, which goes out with it */
    struct dn_remote remote;
    void *local; /* BLOCK and PUSH only read it */
    uint64_t bytes;
    uint64_t operand; /* STORE: the value */
    uint64_t expected;
    enum wire_atomic function;
    uint64_t kick_address;
    struct nic_completion *completion;
};

struct by_packets;

struct by_packets_carrier {
    uint64_t (*now_ns)(struct by_packets *packets);
    /* With the lock held. The engine has taken a request; it goes out now, or soon. */
    void (*given)(struct by_packets *packets, const struct packet_request *request);
    /* With the lock held, which it may give up meanwhile: the engine has no room for a request.
     * *seen as for fabric_nap. */
    void (*make_room)(struct by_packets *packets, uint64_t *seen);
    /* Without the lock: until the completion is done. Ends, because lost peers complete all that
     * waits for them. */
    void (*wait_done)(struct by_packets *packets, const struct nic_completion *completion);
    /* With the lock held: before a call on the services, and after it. */
    void (*services_taken)(struct by_packets *packets);
    void (*services_used)(struct by_packets *packets);
};

struct by_packets {
    const struct by_packets_carrier *carrier;
    /* Stores to LLCM, bank and heap name their place at the target, as the papers' kick pages do,
     * and the target looks up nothing. Only where nodes trust each other. */
    bool kicks_are_physical;
    /* Guards everything below, and what the carrier says. */
    struct fabric_mutex lock;
    struct board board;
    struct fabric_grants *grants;
    uint32_t lanes_of_user[NIC_USERS];
};

/* The operations of a lane; the fabric adds what drives (progress, nap, serve). */
#define BY_PACKETS_OPS                                                                         \
    .lane_close = by_packets_lane_close, .store = by_packets_store, .botf = by_packets_botf,   \
    .put_signal = by_packets_put_signal, .push = by_packets_push, .pull = by_packets_pull,     \
    .atomic = by_packets_atomic, .fence = by_packets_fence, .quiet = by_packets_quiet,         \
    .reflect = by_packets_reflect, .refresh = by_packets_refresh, .settle = by_packets_settle, \
    .tell_area = by_packets_tell_area, .grant = by_packets_grant, .revoke = by_packets_revoke, \
    .services_take = by_packets_services_take, .services_give = by_packets_services_give

/* Opens a lane on that board; the fabric's lane_open calls it. DN_ENOMEM. */
int by_packets_lane_open(struct by_packets *packets, struct fabric_lane *lane);
void by_packets_lane_close(struct fabric_lane *lane);
int by_packets_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                     unsigned bytes);
int by_packets_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes);
int by_packets_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                          size_t bytes, struct dn_remote flag, uint64_t value);
int by_packets_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes, struct dn_op *op);
int by_packets_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                    struct dn_op *op);
int by_packets_atomic(struct fabric_lane *lane, struct dn_remote remote, enum wire_atomic operation,
                      unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old);
int by_packets_fence(struct fabric_lane *lane);
int by_packets_quiet(struct fabric_lane *lane);
int by_packets_reflect(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes);
int by_packets_refresh(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes);
int by_packets_settle(struct fabric_lane *lane);
int by_packets_tell_area(struct fabric_lane *lane, uint32_t area);
int by_packets_grant(struct fabric_lane *lane, const struct fabric_grant *grant);
void by_packets_revoke(struct fabric_lane *lane, uint64_t offset);
struct nic_services *by_packets_services_take(struct fabric_lane *lane, uint64_t *now_ns);
void by_packets_services_give(struct fabric_lane *lane);

/* Waits until the library's own operations so far are in place, or their ranks gone. */
void by_packets_settle_all(struct by_packets *packets);

/* For the board's nic_local_memory: where an area of this node lies in the group's memory. The
 * context is the view. */
int by_packets_find_area(const struct group_view *view, uint32_t area, struct nic_extent *extent);

/* Marks every port as reached by packets; this node's own only if packets to it come back. */
void by_packets_mark_roads(const struct group_view *view, bool is_loop);

#endif
