/* Every call of dimmnet.h refuses what makes no sense with the right code, and then writes nothing:
 * neither at a node nor through its outputs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "live/live.h"

enum { GUARD = 0x5a };

/* ---- All calls, by number, where they take the same arguments ---------------- */

enum { ATOMICS = 12 };

/* One macro for both widths, so that each number stands for the same in both. */
#define DEFINE_ATOMIC(suffix, type)                                                      \
    static int atomic_##suffix(int which, struct dn_node *node, struct dn_remote remote, \
                               type *old)                                                \
    {                                                                                    \
        switch (which) {                                                                 \
        case 0: return dn_fetch_add_##suffix(node, remote, 1, old);                      \
        case 1: return dn_fetch_and_##suffix(node, remote, 1, old);                      \
        case 2: return dn_fetch_or_##suffix(node, remote, 1, old);                       \
        case 3: return dn_fetch_xor_##suffix(node, remote, 1, old);                      \
        case 4: return dn_swap_##suffix(node, remote, 1, old);                           \
        case 5: return dn_compare_swap_##suffix(node, remote, 0, 1, old);                \
        case 6: return dn_read_##suffix(node, remote, old);                              \
        case 7: return dn_add_##suffix(node, remote, 1);                                 \
        case 8: return dn_and_##suffix(node, remote, 1);                                 \
        case 9: return dn_or_##suffix(node, remote, 1);                                  \
        case 10: return dn_xor_##suffix(node, remote, 1);                                \
        default: return dn_set_##suffix(node, remote, 1);                                \
        }                                                                                \
    }

DEFINE_ATOMIC(u32, uint32_t)
DEFINE_ATOMIC(u64, uint64_t)

enum { FETCHING = 7 };

enum transfer { BOTF, SIGNALLED_BODY, PUSH, PUSH_OP, PULL, PULL_OP, KICK, TRANSFERS };

/* A transfer of this size at this place. The local side is guarded, and so are the operation and
 * the kick, which only a success may set. */
static int transfer(enum transfer which, struct dn_node *node, struct dn_remote remote,
                    size_t bytes)
{
    unsigned char local[64];
    struct dn_op op;
    struct dn_kick kick;
    memset(local, GUARD, sizeof local);
    memset(&op, GUARD, sizeof op);
    memset(&kick, GUARD, sizeof kick);
    int error;
    switch (which) {
    case BOTF: error = dn_botf(node, remote, local, bytes); break;
    case SIGNALLED_BODY:
        error = dn_put_signal(node, remote, local, bytes, live_place(remote.rank, 0), 1);
        break;
    case PUSH: error = dn_push(node, remote, local, bytes, NULL); break;
    case PUSH_OP: error = dn_push(node, remote, local, bytes, &op); break;
    case PULL: error = dn_pull(node, remote, local, bytes, NULL); break;
    case PULL_OP: error = dn_pull(node, remote, local, bytes, &op); break;
    default: error = dn_kick_map(node, remote, bytes, &kick); break;
    }
    require(error != 0);
    require(live_all_are(local, sizeof local, GUARD));
    require(live_all_are(&op, sizeof op, GUARD));
    require(live_all_are(&kick, sizeof kick, GUARD));
    return error;
}

/* ---- Handles ----------------------------------------------------------------- */

static void refuses_addressed_calls(struct dn_node *handle, int wanted)
{
    struct dn_remote word = live_place(0, 64);
    for (enum transfer which = 0; which < TRANSFERS; which++) {
        require_else(transfer(which, handle, word, 8) == wanted, "transfer %d is not refused so",
                     (int)which);
    }
    for (int which = 0; which < ATOMICS; which++) {
        uint32_t small = 77;
        uint64_t large = 77;
        require_else(atomic_u32(which, handle, word, &small) == wanted && small == 77,
                     "atomic %d on 4 bytes is not refused so", which);
        require_else(atomic_u64(which, handle, word, &large) == wanted && large == 77,
                     "atomic %d on 8 bytes is not refused so", which);
    }
}

/* Checks that each call that takes a handle gives `wanted` and touches none of its outputs. */
static void refuses_all_calls(struct dn_node *handle, int wanted)
{
    unsigned char own[16] = {0};
    void *pointer = own;
    size_t count = 77;
    uint32_t area = 77;
    enum dn_life life = DN_DEAD;
    struct dn_node *lane = me.node;
    struct dn_remote remote = live_place(77, 77);
    struct dn_kick kick = {.node = handle, .pointer = own, .bytes = sizeof own};
    struct dn_condition condition = {live_u64(0), 8, DN_EQ, 0};
    uint64_t word = 0;
    uint32_t small = 0;

    expect(dn_rank(handle), wanted);
    expect(dn_size(handle), wanted);
    expect(dn_lane_open(handle, &lane), wanted);
    expect(dn_lane_close(handle), wanted);
    expect(dn_detach(handle), wanted);
    require(!dn_llcm(handle, &count) && !dn_bank(handle, &count));
    expect(dn_alloc(handle, 64, &pointer), wanted);
    expect(dn_alloc_aligned(handle, 64, 64, &pointer), wanted);
    expect(dn_free(handle, me.llcm), wanted);
    expect(dn_remote_of(handle, me.llcm, 0, &remote), wanted);
    expect(dn_register(handle, me.llcm, 64, &area), wanted);
    expect(dn_deregister(handle, DN_LLCM), wanted);
    expect(dn_kick_store(&kick, 0, 1, 8), wanted);
    expect(dn_fence(handle), wanted);
    expect(dn_quiet(handle), wanted);
    expect(dn_wait_until_u32(handle, &small, DN_EQ, 0, DN_FOREVER), wanted);
    expect(dn_wait_until_u64(handle, &word, DN_EQ, 0, DN_FOREVER), wanted);
    condition.word = &word;
    expect(dn_wait_until_any(handle, &condition, 1, DN_FOREVER, &count), wanted);
    require(!dn_team_all(handle));
    expect(dn_peer_life(handle, 0, &life), wanted);
    expect(dn_failure_ack(handle, NULL, 0, &count), wanted);
    refuses_addressed_calls(handle, wanted);

    require(pointer == own && count == 77 && area == 77 && life == DN_DEAD && lane == me.node);
    require(remote.rank == 77 && remote.offset == 77 && live_all_are(own, sizeof own, 0));
}

static void no_handle(void)
{
    refuses_all_calls(NULL, DN_EINVAL);
    expect(dn_attach(NULL, NULL), DN_EINVAL);
    expect(dn_kick_unmap(NULL), DN_EINVAL);
    expect(dn_kick_store(NULL, 0, 1, 8), DN_EINVAL);
}

static void closed_lane(void)
{
    struct dn_node *lane;
    struct dn_node *other;
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_lane_open(lane, &other), 0);
    require(lane != me.node && other != lane);
    expect(dn_rank(lane), me.rank);
    expect(dn_size(other), me.size);
    expect(dn_lane_close(lane), 0);
    refuses_all_calls(lane, DN_ESTATE);
    expect(dn_rank(other), me.rank);
    expect(dn_lane_close(other), 0);
    refuses_all_calls(other, DN_ESTATE);
}

static void lane_and_node_are_not_confused(void)
{
    struct dn_node *lane = NULL;
    expect(dn_lane_open(me.node, NULL), DN_EINVAL);
    expect(dn_lane_close(me.node), DN_EINVAL);
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_detach(lane), DN_EINVAL);
    expect(dn_rank(me.node), me.rank);
    expect(dn_lane_close(lane), 0);
}

static void second_attach(void)
{
    struct dn_node *second = me.node;
    struct dn_options options = {.struct_bytes = sizeof options};
    expect(dn_attach(&second, NULL), DN_ESTATE);
    expect(dn_attach(&second, &options), DN_ESTATE);
    options.struct_bytes = 0;
    expect(dn_attach(&second, &options), DN_EINVAL);
    require(second == me.node);
}

/* Programs with an older and with a newer header: what a struct lacks is zero, and what it has
 * beyond ours must be zero. */
static void options_grow(void)
{
    struct {
        struct dn_context_options known;
        uint64_t unknown[2];
    } options = {.known = {.send_queue_entries = 77}};
    const size_t known = sizeof options.known;
    const struct {
        size_t bytes;
        uint64_t unknown;
        int wanted;
    } cases[] = {
        {known, 0, 0},
        {known, 1, 0}, /* not in the struct */
        {offsetof(struct dn_context_options, send_queue_entries), 0, 0},
        {sizeof(size_t), 0, 0},
        {sizeof options, 0, 0},
        {sizeof options, 1, DN_EINVAL},
        {sizeof options - 7, 1, DN_EINVAL},
        {sizeof options - 8, 1, 0},
        {sizeof(size_t) - 1, 0, DN_EINVAL},
        {0, 0, DN_EINVAL},
        {SIZE_MAX, 0, DN_EINVAL}, /* the program forgot to set it */
    };
    for (size_t i = 0; i < LIVE_COUNT(cases); i++) {
        struct dn_context *context;
        options.known.struct_bytes = cases[i].bytes;
        options.unknown[1] = cases[i].unknown;
        expect(dn_context_open(me.node, 20, &me.rank, 1, &me.rank, 1, &options.known, &context),
               cases[i].wanted);
        if (cases[i].wanted == 0) {
            expect(dn_context_close(context), 0);
        }
        /* The same rule for the other struct; there is a node already. */
        struct {
            struct dn_options known;
            uint64_t unknown;
        } attach = {.known.struct_bytes = sizeof attach, .unknown = cases[i].unknown};
        struct dn_node *second;
        expect(dn_attach(&second, &attach.known), cases[i].unknown ? DN_EINVAL : DN_ESTATE);
    }
}

/* Flags are refused where no node is reached by packets, as no node reaches itself by them; an
 * unknown one is a mistake. */
static void flags_are_not_ignored(void)
{
    static const uint32_t others[] = {DN_CONTEXT_BACK_OFF, DN_CONTEXT_RESEND_REQUEST,
                                      DN_CONTEXT_LOSS_DETECTION, DN_CONTEXT_ACK_NACK};
    struct dn_context_options options = {.struct_bytes = sizeof options};
    struct dn_context *context;
    for (size_t i = 0; i < LIVE_COUNT(others); i++) {
        options.flags = others[i];
        expect(dn_context_open(me.node, 20, &me.rank, 1, &me.rank, 1, &options, &context),
               DN_ENOTSUP);
    }
    options.flags = 16;
    expect(dn_context_open(me.node, 20, &me.rank, 1, &me.rank, 1, &options, &context), DN_EINVAL);
}

/* ---- Errors of stores, which return nothing ------------------------------------ */

static struct dn_kick kick_of(struct dn_node *lane)
{
    struct dn_kick kick;
    expect(dn_kick_map(lane, live_place(live_neighbour(1), 512), 64, &kick), 0);
    return kick;
}

static void store_errors_come_once(void)
{
    struct dn_node *lane;
    expect(dn_lane_open(me.node, &lane), 0);
    struct dn_kick kick = kick_of(me.node);
    struct dn_kick lane_kick = kick_of(lane);
    struct dn_team *all = dn_team_all(me.node);
    if (!dn_kick_pointer(&kick)) { /* in place a store is one instruction and checks nothing */
        dn_store_u64(&kick, 64, 1);
        dn_store_u64(&kick, 4, 1); /* the first error is kept */
        expect(dn_fence(me.node), DN_ERANGE);
        expect(dn_fence(me.node), 0);
        expect(dn_quiet(me.node), 0);

        dn_store_u32(&kick, 2, 1);
        expect(dn_quiet(lane), 0); /* another lane's */
        expect(dn_quiet(me.node), DN_EALIGN);
        expect(dn_quiet(me.node), 0);

        expect(dn_kick_store(&kick, 64, 1, 8), DN_ERANGE); /* the call itself has said it */
        expect(dn_quiet(me.node), 0);

        /* A barrier reports errors of any lane, one at a time, and completes all the same. */
        dn_store_u64(&lane_kick, 100, 1);
        dn_store_u64(&kick, 1, 1);
        expect(dn_barrier(all, LIVE_PATIENCE_NS), DN_EALIGN);
        expect(dn_barrier(all, LIVE_PATIENCE_NS), DN_ERANGE);
        expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
        expect(dn_quiet(lane), 0);

        /* In two steps: waiting reports the error, testing leaves it. */
        int passed = 0;
        dn_store_u64(&lane_kick, 64, 1);
        expect(dn_barrier_arrive(all), 0);
        while (!passed) {
            expect(dn_barrier_test(all, &passed), 0);
        }
        expect(dn_barrier_arrive(all), 0);
        expect(dn_barrier_wait(all, LIVE_PATIENCE_NS), DN_ERANGE);

        /* A lane that is opened again has no errors of the one before. */
        dn_store_u64(&lane_kick, 64, 1);
    }
    expect(dn_lane_close(lane), 0);
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_quiet(lane), 0);
    expect(dn_lane_close(lane), 0);
    live_barrier();
    require(live_all_are(me.llcm + 512, 64, 0)); /* nothing was written */
}

/* The child of a fork, in the middle of the parent's transfers. */
static void forked_child(void)
{
    struct dn_node *lane;
    struct dn_op op;
    uint64_t value = 7;
    struct dn_team *all = dn_team_all(me.node);
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_push(lane, live_place(live_neighbour(1), 128), &value, sizeof value, &op), 0);
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        (void)alarm(10); /* a call that hangs must not outlive the test */
        refuses_all_calls(me.node, DN_ESTATE);
        refuses_all_calls(lane, DN_ESTATE);
        expect(dn_barrier(all, DN_FOREVER), DN_ESTATE);
        expect(dn_team_size(all), DN_ESTATE);
        struct dn_node *second = NULL;
        expect(dn_attach(&second, NULL), DN_ESTATE);
        /* It was done before the fork, or never is: here no thread can do it. */
        int error = dn_op_wait(&op, DN_FOREVER);
        require(error == 0 || error == DN_ESTATE);
        _exit(0);
    }
    int status;
    require(waitpid(child, &status, 0) == child);
    require_else(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended by %#x", status);
    /* It has done the parent no harm. */
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_lane_close(lane), 0);
    live_barrier();
    require(*live_u64(128) == 7);
}

static _Atomic bool lanes_end;

static void *open_and_close_lanes(void *argument)
{
    (void)argument;
    while (!atomic_load(&lanes_end)) {
        struct dn_node *lane;
        expect(dn_lane_open(me.node, &lane), 0);
        expect(dn_lane_close(lane), 0);
    }
    return NULL;
}

/* Whatever lock another thread held at the fork, calls of the child return. */
static void forked_child_of_busy_threads(void)
{
    pthread_t thread;
    atomic_store(&lanes_end, false);
    live_thread_start(&thread, open_and_close_lanes, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        require(child >= 0);
        if (child == 0) {
            (void)alarm(10);
            expect(dn_detach(me.node), DN_ESTATE);
            expect(dn_lane_close(me.node), DN_ESTATE);
            expect(dn_attach(&(struct dn_node *){NULL}, NULL), DN_ESTATE);
            _exit(0);
        }
        int status;
        require(waitpid(child, &status, 0) == child);
        require_else(status == 0, "child %d ended by %#x", i, status);
    }
    atomic_store(&lanes_end, true);
    live_thread_join(thread);
}

/* ---- Addresses --------------------------------------------------------------- */

/* Fills everything within reach that a wrong address could hit first. */
static void guard_memory(void)
{
    live_fill(me.llcm, me.llcm_bytes, (uint64_t)me.rank);
    live_fill(me.bank, 4096, (uint64_t)me.rank);
    live_fill(me.bank + me.bank_bytes - 4096, 4096, (uint64_t)me.rank);
    live_barrier();
}

static void require_guards(void)
{
    live_barrier();
    require(live_first_other(me.llcm, me.llcm_bytes, (uint64_t)me.rank) == me.llcm_bytes);
    require(live_first_other(me.bank, 4096, (uint64_t)me.rank) == 4096);
    require(live_first_other(me.bank + me.bank_bytes - 4096, 4096, (uint64_t)me.rank) == 4096);
    live_barrier();
}

struct bad_address {
    struct dn_remote remote;
    size_t bytes;
    int error;
};

static void refused_everywhere(struct dn_node *node, const struct bad_address *bad)
{
    for (enum transfer which = 0; which < TRANSFERS; which++) {
        int error = transfer(which, node, bad->remote, bad->bytes);
        require_else(
            error == bad->error, "transfer %d of %zu bytes to %d:%#x:%#llx gave %s, not %s",
            (int)which, bad->bytes, bad->remote.rank, bad->remote.area,
            (unsigned long long)bad->remote.offset, dn_errname(error), dn_errname(bad->error));
    }
}

static void bad_transfer_addresses(void)
{
    const struct dn_remote good = live_place(live_neighbour(1), 64);
    const struct bad_address bad[] = {
        {live_at(-1, DN_LLCM, 0), 8, DN_ERANK},
        {live_at(me.size, DN_LLCM, 0), 8, DN_ERANK},
        {live_at(INT_MAX, DN_BANK, 0), 8, DN_ERANK},
        {live_at(INT_MIN, DN_HEAP, 0), 8, DN_ERANK},
        {live_at(-1, 0, UINT64_MAX), SIZE_MAX, DN_ERANK},
        {live_at(good.rank, 0, 0), 8, DN_EAREA},
        {live_at(good.rank, 4, 0), 8, DN_EAREA},
        {live_at(good.rank, 255, 0), 8, DN_EAREA},
        {live_at(good.rank, 256, 0), 8, DN_EAREA},
        {live_at(good.rank, 256 + DN_LLCM, 0), 8, DN_EAREA},
        {live_at(good.rank, 256 + 4, 0), 8, DN_EAREA},
        {live_at(good.rank, UINT32_MAX, 0), 8, DN_EAREA},
        {live_at(good.rank, DN_LLCM, me.llcm_bytes), 1, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, me.llcm_bytes - 7), 8, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, 1), me.llcm_bytes, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, 0), me.llcm_bytes + 1, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, 0), SIZE_MAX, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, 8), SIZE_MAX - 7, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, 64), SIZE_MAX - 32, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, UINT64_MAX), 1, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, UINT64_MAX), 2, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, UINT64_MAX - 7), 8, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, UINT64_MAX - 63), 128, DN_ERANGE},
        {live_at(good.rank, DN_LLCM, INT64_MAX), 8, DN_ERANGE},
        {live_at(good.rank, DN_BANK, me.bank_bytes), 1, DN_ERANGE},
        {live_at(good.rank, DN_BANK, me.bank_bytes - 1), 2, DN_ERANGE},
        {live_at(good.rank, DN_BANK, UINT64_MAX - 3), 4, DN_ERANGE},
        {live_at(good.rank, DN_BANK, 4096), SIZE_MAX - 4095, DN_ERANGE},
        {live_at(good.rank, DN_HEAP, UINT64_MAX), 1, DN_ERANGE},
        {live_at(good.rank, DN_HEAP, UINT64_MAX / 2), UINT64_MAX / 2 + 2, DN_ERANGE},
    };
    struct dn_node *lane;
    expect(dn_lane_open(me.node, &lane), 0);
    guard_memory();
    for (size_t i = 0; i < LIVE_COUNT(bad); i++) {
        refused_everywhere(me.node, &bad[i]);
        refused_everywhere(lane, &bad[i]);
    }
    require_guards();
    expect(dn_lane_close(lane), 0);
}

/* One word at a bad address, with every atomic and as the flag of a signal. */
static void refused_as_word(struct dn_remote remote, unsigned bytes, int wanted)
{
    for (int which = 0; which < ATOMICS; which++) {
        uint32_t small = 77;
        uint64_t large = 77;
        int error = bytes == 4 ? atomic_u32(which, me.node, remote, &small)
                               : atomic_u64(which, me.node, remote, &large);
        require_else(error == wanted, "atomic %d on %u bytes at %d:%#x:%#llx gave %s, not %s",
                     which, bytes, remote.rank, remote.area, (unsigned long long)remote.offset,
                     dn_errname(error), dn_errname(wanted));
        require(small == 77 && large == 77);
    }
    uint64_t body = 77;
    if (bytes == 8) {
        struct dn_remote place = live_place(remote.rank, 256);
        expect(dn_put_signal(me.node, place, &body, sizeof body, remote, 1), wanted);
    }
}

static void bad_word_addresses(void)
{
    int peer = live_neighbour(1);
    guard_memory();
    for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
        refused_as_word(live_at(-1, DN_LLCM, 0), bytes, DN_ERANK);
        refused_as_word(live_at(me.size, DN_LLCM, 0), bytes, DN_ERANK);
        refused_as_word(live_at(peer, 0, 0), bytes, DN_EAREA);
        refused_as_word(live_at(peer, 77, 0), bytes, DN_EAREA);
        refused_as_word(live_at(peer, DN_LLCM, me.llcm_bytes), bytes, DN_ERANGE);
        refused_as_word(live_at(peer, DN_LLCM, me.llcm_bytes - bytes + 1), bytes, DN_ERANGE);
        refused_as_word(live_at(peer, DN_BANK, UINT64_MAX), bytes, DN_ERANGE);
        refused_as_word(live_at(peer, DN_BANK, UINT64_MAX - bytes + 1), bytes, DN_ERANGE);
        for (uint64_t shift = 1; shift < bytes; shift++) {
            refused_as_word(live_at(peer, DN_LLCM, 64 + shift), bytes, DN_EALIGN);
            refused_as_word(live_at(peer, DN_BANK, shift), bytes, DN_EALIGN);
        }
    }
    /* 8 bytes at a multiple of 4 is not aligned; 4 bytes are. */
    uint32_t old;
    expect(dn_read_u32(me.node, live_place(peer, 68), &old), 0);
    require_guards();
}

static void put_signal_needs_one_target(void)
{
    uint64_t body = 77;
    guard_memory();
    for (int rank = 0; rank < me.size; rank++) {
        if (rank != me.rank) {
            expect(
                dn_put_signal(me.node, live_place(me.rank, 64), &body, 8, live_place(rank, 0), 1),
                DN_EINVAL);
        }
    }
    require_guards();
}

/* ---- Other arguments --------------------------------------------------------- */

static void missing_pointers(void)
{
    struct dn_remote place = live_place(live_neighbour(1), 64);
    struct dn_op op;
    int done = 77;
    guard_memory();
    memset(&op, GUARD, sizeof op);
    expect(dn_botf(me.node, place, NULL, 1), DN_EINVAL);
    expect(dn_put_signal(me.node, place, NULL, 1, place, 1), DN_EINVAL);
    expect(dn_push(me.node, place, NULL, 8, &op), DN_EINVAL);
    expect(dn_pull(me.node, place, NULL, 8, &op), DN_EINVAL);
    expect(dn_push(me.node, place, NULL, SIZE_MAX, NULL), DN_EINVAL);
    expect(dn_kick_map(me.node, place, 8, NULL), DN_EINVAL);
    expect(dn_alloc(me.node, 64, NULL), DN_EINVAL);
    expect(dn_alloc_aligned(me.node, 64, 64, NULL), DN_EINVAL);
    expect(dn_register(me.node, NULL, 64, &(uint32_t){0}), DN_EINVAL);
    expect(dn_register(me.node, me.llcm, 64, NULL), DN_EINVAL);
    expect(dn_remote_of(me.node, NULL, 0, &place), DN_EINVAL);
    expect(dn_remote_of(me.node, me.llcm, 0, NULL), DN_EINVAL);
    expect(dn_peer_life(me.node, 0, NULL), DN_EINVAL);
    expect(dn_failure_ack(me.node, NULL, 0, NULL), DN_EINVAL);
    for (int which = 0; which < FETCHING; which++) {
        require(atomic_u32(which, me.node, place, NULL) == DN_EINVAL);
        require(atomic_u64(which, me.node, place, NULL) == DN_EINVAL);
    }
    expect(dn_op_test(NULL, &done), DN_EINVAL);
    expect(dn_op_test(&op, NULL), DN_EINVAL);
    expect(dn_op_wait(NULL, 0), DN_EINVAL);
    /* Words that belong to no transfer. */
    expect(dn_op_test(&op, &done), DN_EINVAL);
    expect(dn_op_wait(&op, DN_FOREVER), DN_EINVAL);
    memset(&op, 0, sizeof op);
    expect(dn_op_test(&op, &done), DN_EINVAL);
    expect(dn_op_wait(&op, DN_FOREVER), DN_EINVAL);
    require(done == 77);
    require_guards();
}

static void bad_waits(void)
{
    const uint32_t *small = live_u32(0);
    const uint64_t *large = live_u64(0);
    const uint64_t ever = DN_FOREVER;
    const void *shifted[] = {me.llcm + 1, me.llcm + 2, me.llcm + 4};
    expect(dn_wait_until_u32(me.node, NULL, DN_EQ, 0, ever), DN_EINVAL);
    expect(dn_wait_until_u64(me.node, NULL, DN_EQ, 0, ever), DN_EINVAL);
    for (int comparison = -1; comparison <= 6; comparison += 7) {
        expect(dn_wait_until_u32(me.node, small, (enum dn_comparison)comparison, 0, ever),
               DN_EINVAL);
        expect(dn_wait_until_u64(me.node, large, (enum dn_comparison)comparison, 0, ever),
               DN_EINVAL);
    }
    expect(dn_wait_until_u32(me.node, shifted[0], DN_EQ, 0, ever), DN_EALIGN);
    expect(dn_wait_until_u32(me.node, shifted[1], DN_EQ, 0, ever), DN_EALIGN);
    expect(dn_wait_until_u64(me.node, shifted[2], DN_EQ, 0, ever), DN_EALIGN);
    /* No value can meet this. */
    expect(dn_wait_until_u32(me.node, small, DN_LT, 0, ever), DN_EINVAL);
    expect(dn_wait_until_u64(me.node, large, DN_LT, 0, ever), DN_EINVAL);
    expect(dn_wait_until_u32(me.node, small, DN_GT, UINT32_MAX, ever), DN_EINVAL);
    expect(dn_wait_until_u64(me.node, large, DN_GT, UINT64_MAX, ever), DN_EINVAL);
}

static void bad_waits_for_any(void)
{
    const struct dn_condition good = {live_u64(0), 8, DN_EQ, 0};
    const struct {
        struct dn_condition condition;
        int error;
    } bad[] = {
        {{NULL, 8, DN_EQ, 0}, DN_EINVAL},
        {{me.llcm, 0, DN_EQ, 0}, DN_EINVAL},
        {{me.llcm, 2, DN_EQ, 0}, DN_EINVAL},
        {{me.llcm, 16, DN_EQ, 0}, DN_EINVAL},
        {{me.llcm, 8, (enum dn_comparison)6, 0}, DN_EINVAL},
        {{me.llcm + 2, 4, DN_EQ, 0}, DN_EALIGN},
        {{me.llcm + 4, 8, DN_EQ, 0}, DN_EALIGN},
        /* No value can meet this. */
        {{me.llcm, 8, DN_LT, 0}, DN_EINVAL},
        {{me.llcm, 4, DN_LT, 0}, DN_EINVAL},
        {{me.llcm, 8, DN_GT, UINT64_MAX}, DN_EINVAL},
        {{me.llcm, 4, DN_GT, UINT32_MAX}, DN_EINVAL},
        {{me.llcm, 4, DN_EQ, UINT64_C(1) << 32}, DN_EINVAL},
        {{me.llcm, 4, DN_GE, UINT64_C(1) << 32}, DN_EINVAL},
    };
    size_t index = 77;
    expect(dn_wait_until_any(me.node, NULL, 1, DN_FOREVER, &index), DN_EINVAL);
    expect(dn_wait_until_any(me.node, &good, 0, DN_FOREVER, &index), DN_EINVAL);
    expect(dn_wait_until_any(me.node, &good, 1, DN_FOREVER, NULL), DN_EINVAL);
    for (size_t i = 0; i < LIVE_COUNT(bad); i++) {
        /* Behind one that holds, and alone. */
        struct dn_condition conditions[] = {good, bad[i].condition};
        int error = dn_wait_until_any(me.node, conditions, 2, 0, &index);
        require_else(error == bad[i].error, "bad condition %zu gave %s", i, dn_errname(error));
        error = dn_wait_until_any(me.node, conditions + 1, 1, 0, &index);
        require_else(error == bad[i].error, "bad condition %zu alone gave %s", i,
                     dn_errname(error));
    }
    require(index == 77);
}

static void bad_kick_stores(void)
{
    struct dn_kick kick;
    guard_memory();
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 64), 64, &kick), 0);
    const unsigned widths[] = {0, 3, 5, 6, 7, 9, 16, 64, UINT_MAX};
    for (size_t i = 0; i < LIVE_COUNT(widths); i++) {
        expect(dn_kick_store(&kick, 0, 0, widths[i]), DN_EINVAL);
    }
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        expect(dn_kick_store(&kick, 64, 0, bytes), DN_ERANGE);
        expect(dn_kick_store(&kick, 64 - bytes + 1, 0, bytes), DN_ERANGE);
        expect(dn_kick_store(&kick, UINT64_MAX, 0, bytes), DN_ERANGE);
        expect(dn_kick_store(&kick, UINT64_MAX - bytes + 1, 0, bytes), DN_ERANGE);
        if (bytes > 1) {
            expect(dn_kick_store(&kick, 1, 0, bytes), DN_EALIGN);
        }
    }
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_kick_unmap(&kick), DN_EINVAL);
    expect(dn_kick_store(&kick, 0, 0, 8), DN_EINVAL);
    expect(dn_kick_map(me.node, live_place(0, 0), 0, &kick), DN_EINVAL);
    require_guards();
}

static void peers_and_deaths(void)
{
    enum dn_life life = DN_DEAD;
    size_t count = 77;
    int ranks[2] = {77, 77};
    expect(dn_peer_life(me.node, -1, &life), DN_ERANK);
    expect(dn_peer_life(me.node, me.size, &life), DN_ERANK);
    require(life == DN_DEAD);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_peer_life(me.node, rank, &life), 0);
        require(life == DN_ATTACHED);
    }
    expect(dn_failure_ack(me.node, ranks, 2, &count), 0);
    require(count == 0 && ranks[0] == 77 && ranks[1] == 77);
    expect(dn_failure_ack(me.node, NULL, 0, &count), 0);
}

static void names(void)
{
    for (int code = DN_OK; code >= DN_ESYSTEM; code--) {
        const char *name = dn_errname(code);
        const char *sentence = dn_strerror(code);
        size_t length = strlen(name);
        require(strncmp(name, "DN_", 3) == 0);
        require(strncmp(sentence, name, length) == 0 && strncmp(sentence + length, ": ", 2) == 0);
    }
    require(dn_strerror(1) && dn_strerror(DN_ESYSTEM - 1) && dn_errname(INT_MIN));
    char version[32];
    (void)snprintf(version, sizeof version, "%d.%d.%d", DN_VERSION_MAJOR, DN_VERSION_MINOR,
                   DN_VERSION_PATCH);
    require(strcmp(dn_version(), version) == 0);
    const char *rank = getenv("DIMMNET_RANK");
    require(!rank || atoi(rank) == me.rank);
    require(me.rank >= 0 && me.rank < me.size);
}

/* ---- The end ----------------------------------------------------------------- */

/* Leaves; nothing works afterwards, and a rank is not given twice. */
static void detached(void)
{
    struct dn_node *lane;
    struct dn_node *again = NULL;
    expect(dn_lane_open(me.node, &lane), 0);
    live_barrier();
    me.check = "detached";
    expect(dn_detach(me.node), 0);
    expect(dn_detach(me.node), DN_ESTATE);
    refuses_all_calls(me.node, DN_ESTATE);
    refuses_all_calls(lane, DN_ESTATE);
    const char *group = getenv("DIMMNET_GROUP_FD");
    if (group) {
        /* The number may be another file's by now, which is left alone. */
        int fd = atoi(group);
        require(dup2(STDOUT_FILENO, fd) == fd && fcntl(fd, F_GETFD) == 0);
        expect(dn_attach(&again, NULL), DN_EGROUP);
        require(!again && fcntl(fd, F_GETFD) == 0);
    }
    live_say_ok();
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, names),
    LIVE_CHECK(1, no_handle),
    LIVE_CHECK(1, closed_lane),
    LIVE_CHECK(1, lane_and_node_are_not_confused),
    LIVE_CHECK(1, second_attach),
    LIVE_CHECK(1, options_grow),
    LIVE_CHECK(1, flags_are_not_ignored),
    LIVE_CHECK(1, store_errors_come_once),
    LIVE_CHECK(1, forked_child),
    LIVE_CHECK(1, forked_child_of_busy_threads),
    LIVE_CHECK(1, bad_transfer_addresses),
    LIVE_CHECK(1, bad_word_addresses),
    LIVE_CHECK(2, put_signal_needs_one_target),
    LIVE_CHECK(1, missing_pointers),
    LIVE_CHECK(1, bad_waits),
    LIVE_CHECK(1, bad_waits_for_any),
    LIVE_CHECK(1, bad_kick_stores),
    LIVE_CHECK(1, peers_and_deaths),
};

int main(int argc, char **argv)
{
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        puts("detached");
        return 0;
    }
    live_attach();
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    detached();
    return 0;
}
