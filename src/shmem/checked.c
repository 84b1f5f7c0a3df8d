/* Every check, then the dn_ call. */
#include "shmem/checked.h"

#include "shmem/failure.h"
#include "shmem/reach.h"

/* ---- Checks --------------------------------------------------------------------------- */

void shmem_check_context(const struct shmem_context *context, const char *call)
{
    shmem_require_initialised(call);
    if (context == &shmem_no_context) {
        shmem_fail(call, "the context is SHMEM_CTX_INVALID");
    }
    if (context->peer_count == 0) {
        shmem_fail(call, "the context has been destroyed");
    }
}

void shmem_check_pe(const struct shmem_context *context, int pe, const char *call)
{
    shmem_check_context(context, call);
    if ((uint32_t)pe >= context->peer_count) {
        shmem_fail(call, "there is no PE %d: %s has %u, numbered from 0", pe,
                   context->team == &shmem_state.world ? "the program" : "the team of this context",
                   context->peer_count);
    }
}

/* Ends the job unless [address, address + bytes) of that PE is symmetric and there; else
 * gives it as a remote address. */
static struct dn_remote examine(const struct shmem_context *context, const void *address,
                                size_t bytes, int pe, const char *call)
{
    struct dn_remote remote;
    shmem_check_pe(context, pe, call);
    if (bytes > SHMEM_BYTES_MAX) {
        shmem_fail(call, "a transfer of %zu bytes is longer than any memory", bytes);
    }
    if (!shmem_remote_of(address, bytes, context->peers[pe].pe, &remote)) {
        if (shmem_remote_of(address, 1, 0, &remote)) {
            shmem_fail(call,
                       "%zu bytes from address %p on run beyond the end of the symmetric memory",
                       bytes, address);
        }
        shmem_fail(call,
                   "address %p is not symmetric: it is neither from shmem_malloc nor that of a "
                   "static or global variable of the program",
                   address);
    }
    if (shmem_state.debug) {
        shmem_debug_memory(address, bytes, call);
    }
    return remote;
}

static void check_overlap(const struct shmem_context *context, const void *dest, const void *source,
                          size_t bytes, int pe, const char *call)
{
    uintptr_t apart = (uintptr_t)dest > (uintptr_t)source ? (uintptr_t)dest - (uintptr_t)source
                                                          : (uintptr_t)source - (uintptr_t)dest;
    if (shmem_state.debug && context->peers[pe].pe == shmem_state.my_pe && apart < bytes &&
        apart > 0) {
        shmem_fail(call,
                   "source and target overlap: %p and %p are %zu bytes apart, and %zu are "
                   "copied",
                   source, dest, (size_t)apart, bytes);
    }
}

/* The length of a transfer; ends the job when it makes no sense. */
static size_t bytes_of(size_t count, size_t size, const char *call)
{
    if (count > SHMEM_BYTES_MAX / size) {
        shmem_fail(call, "%zu elements of %zu bytes are more than any memory holds", count, size);
    }
    return count * size;
}

/* ---- Transfers -------------------------------------------------------------------------- */

/* True, and where the remote side is: there is something to transfer. */
static bool begin_transfer(const struct shmem_context *context, void *dest, const void *source,
                           const void *symmetric, size_t bytes, int pe, const char *call,
                           struct dn_remote *remote)
{
    shmem_check_pe(context, pe, call);
    if (bytes == 0) {
        return false;
    }
    *remote = examine(context, symmetric, bytes, pe, call);
    check_overlap(context, dest, source, bytes, pe, call);
    inner_trace_as(context->lane, call);
    return true;
}

/* The result of something that needed a PE of the context. */
static bool require_of(const struct shmem_context *context, int pe, const char *call, int error)
{
    return shmem_require_at(call, error, context->peers[pe].pe);
}

#define DEFINE_PUT(NAME, CALL)                                                                     \
    void shmem_checked_##NAME(const struct shmem_context *context, void *dest, const void *source, \
                              size_t count, size_t size, int pe, const char *call)                 \
    {                                                                                              \
        struct dn_remote remote;                                                                   \
        size_t bytes = bytes_of(count, size, call);                                                \
        if (begin_transfer(context, dest, source, dest, bytes, pe, call, &remote)) {               \
            (void)require_of(context, pe, call, CALL);                                             \
        }                                                                                          \
    }

DEFINE_PUT(put, dn_botf(context->lane, remote, source, bytes))
DEFINE_PUT(put_nbi, dn_push(context->lane, remote, source, bytes, NULL))

void shmem_checked_get(const struct shmem_context *context, void *dest, const void *source,
                       size_t count, size_t size, int pe, const char *call)
{
    struct dn_remote remote;
    size_t bytes = bytes_of(count, size, call);
    if (begin_transfer(context, dest, source, source, bytes, pe, call, &remote) &&
        !require_of(context, pe, call, dn_get(context->lane, remote, dest, bytes))) {
        shmem_poison(dest, bytes);
    }
}

/* Before a fetch from that PE: should it die meanwhile, what it does not send any more is not left
 * as it was. */
static void poison_before(const struct shmem_context *context, int pe, void *dest, size_t bytes)
{
    if (shmem_state.goes_on && context->peers[pe].pe != shmem_state.my_pe) {
        shmem_poison(dest, bytes);
    }
}

void shmem_checked_get_nbi(const struct shmem_context *context, void *dest, const void *source,
                           size_t count, size_t size, int pe, const char *call)
{
    struct dn_remote remote;
    size_t bytes = bytes_of(count, size, call);
    if (begin_transfer(context, dest, source, source, bytes, pe, call, &remote)) {
        poison_before(context, pe, dest, bytes);
        (void)require_of(context, pe, call, dn_pull(context->lane, remote, dest, bytes, NULL));
    }
}

void shmem_checked_p(const struct shmem_context *context, void *dest, uint64_t bits, unsigned bytes,
                     int pe, const char *call)
{
    /* The first bytes of a word are its lowest. */
    shmem_checked_put(context, dest, &bits, 1, bytes, pe, call);
}

uint64_t shmem_checked_g(const struct shmem_context *context, const void *source, unsigned bytes,
                         int pe, const char *call)
{
    uint64_t bits = 0;
    shmem_checked_get(context, &bits, source, 1, bytes, pe, call);
    return bits;
}

static size_t check_stride(ptrdiff_t stride, const struct shmem_strided *strided, const char *call)
{
    size_t bytes = 0;
    if (!shmem_stride_bytes(stride, strided, &bytes)) {
        shmem_fail(call,
                   "%zu blocks of %zu elements %td apart: strides are 1 or more and not less than "
                   "a block, and the blocks must fit the memory",
                   strided->count, strided->block, stride);
    }
    return bytes;
}

void shmem_checked_iput(const struct shmem_context *context, const struct shmem_strided *strided,
                        const char *call)
{
    shmem_check_pe(context, strided->pe, call);
    if (shmem_is_empty(strided)) {
        return;
    }
    size_t bytes = check_stride(strided->dst, strided, call);
    (void)check_stride(strided->sst, strided, call);
    struct dn_remote remote = examine(context, strided->dest, bytes, strided->pe, call);
    const unsigned char *from = strided->source;
    size_t block_bytes = strided->block * strided->size;
    struct inner_trace trace = inner_trace_remote(context->lane, INNER_TRACE_PUT, call, remote,
                                                  bytes);
    for (size_t i = 0; i < strided->count; i++) {
        (void)require_of(context, strided->pe, call,
                         dn_botf(context->lane, remote, from, block_bytes));
        remote.offset += (size_t)strided->dst * strided->size;
        from += (size_t)strided->sst * strided->size;
    }
    inner_trace_end(trace, 0);
}

void shmem_checked_iget(const struct shmem_context *context, const struct shmem_strided *strided,
                        const char *call)
{
    shmem_check_pe(context, strided->pe, call);
    if (shmem_is_empty(strided)) {
        return;
    }
    size_t bytes = check_stride(strided->sst, strided, call);
    (void)check_stride(strided->dst, strided, call);
    struct dn_remote remote = examine(context, strided->source, bytes, strided->pe, call);
    unsigned char *to = strided->dest;
    size_t block_bytes = strided->block * strided->size;
    struct inner_trace trace = inner_trace_remote(context->lane, INNER_TRACE_GET, call, remote,
                                                  bytes);
    for (size_t i = 0; i < strided->count; i++) {
        poison_before(context, strided->pe, to, block_bytes);
        (void)require_of(context, strided->pe, call,
                         dn_pull(context->lane, remote, to, block_bytes, NULL));
        remote.offset += (size_t)strided->sst * strided->size;
        to += (size_t)strided->dst * strided->size;
    }
    /* All blocks at once; waiting for each would take as many times. What fails may also be an
     * earlier put of this lane, to a PE that has died. */
    int pe = context->peers[strided->pe].pe;
    (void)shmem_require_at(call, dn_quiet(context->lane), shmem_is_dead(pe) ? pe : SHMEM_NOBODY);
    inner_trace_end(trace, 0);
}

/* ---- Signals and atomics ------------------------------------------------------------------ */

static void check_aligned(const void *word, unsigned bytes, const char *call)
{
    if ((uintptr_t)word % bytes != 0) {
        shmem_fail(call, "address %p is not aligned to the %u bytes of its word", word, bytes);
    }
}

void shmem_checked_put_signal(const struct shmem_context *context,
                              const struct shmem_signalled *put, const char *call)
{
    size_t bytes = bytes_of(put->count, put->size, call);
    struct dn_node *lane = context->lane;
    check_aligned(put->signal_address, sizeof(uint64_t), call);
    struct dn_remote flag = examine(context, put->signal_address, sizeof(uint64_t), put->pe, call);
    struct dn_remote remote = flag;
    if (bytes > 0) {
        remote = examine(context, put->dest, bytes, put->pe, call);
        check_overlap(context, put->dest, put->source, bytes, put->pe, call);
    }
    struct inner_trace trace = inner_trace_signal(lane, call, remote, bytes, flag);
    switch (put->operation) {
    case SHMEM_SIGNAL_SET:
        (void)require_of(context, put->pe, call,
                         dn_put_signal(lane, remote, put->source, bytes, flag, put->signal));
        break;
    case SHMEM_SIGNAL_ADD:
        if (bytes > 0) {
            (void)require_of(context, put->pe, call, dn_botf(lane, remote, put->source, bytes));
            shmem_require(call, dn_fence(lane));
        }
        (void)require_of(context, put->pe, call, dn_add_u64(lane, flag, put->signal));
        break;
    default:
        shmem_fail(call, "%d is no signal operation: use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
                   put->operation);
    }
    inner_trace_end(trace, 0);
}

uint64_t shmem_checked_atomic(const struct shmem_context *context, const void *dest,
                              uint64_t operand, uint64_t expected, struct shmem_atomic what,
                              const char *call)
{
    uint64_t old = 0;
    check_aligned(dest, what.bytes, call);
    struct dn_remote remote = examine(context, dest, what.bytes, what.pe, call);
    inner_trace_as(context->lane, call);
    int error = inner_atomic(context->lane, remote, (enum inner_atomic)what.operation, what.bytes,
                             operand, expected, what.fetches ? &old : NULL);
    if (!require_of(context, what.pe, call, error)) {
        shmem_poison(&old, sizeof old);
    }
    return old;
}

/* ---- Notice -------------------------------------------------------------------------------- */

/* False: it is gone. */
static bool notice(const struct shmem_peer *peer, const void *written, size_t bytes,
                   const char *call)
{
    if (atomic_load_explicit(peer->call, memory_order_acquire) & INNER_CALL_GONE) {
        shmem_on_error(call, DN_EPEER, peer->pe);
        return false;
    }
    /* Its own static variables a PE reaches where the program has them. */
    inner_wake(shmem_state.node, peer->pe,
               peer->pe == shmem_state.my_pe ? shmem_group_address(written) : written, bytes);
    return true;
}

void shmem_notice(const struct shmem_peer *peer, const void *written, size_t bytes,
                  const char *call)
{
    (void)notice(peer, written, bytes, call);
}

uint64_t shmem_notice_fetching(const struct shmem_peer *peer, const void *written, size_t bytes,
                               const char *call, uint64_t old)
{
    if (!notice(peer, written, bytes, call)) {
        shmem_poison(&old, sizeof old);
    }
    return old;
}
