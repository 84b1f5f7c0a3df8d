/* The engine's memory, and the users' calls: each checks its arguments and puts one
 * transaction into the FIFO. */
#include "nic/engine_state.h"

/* ---- Memory -------------------------------------------------------------------------- */

/* Where each table lies behind the engine. */
struct layout {
    uint64_t transfers;
    uint64_t outstanding;
    uint64_t pages;
    uint64_t sets;
    uint64_t bytes;
};

enum { SETS = 2 * NIC_USERS + 1 };

static uint64_t place(uint64_t *end, uint64_t count, uint64_t each_bytes)
{
    uint64_t at = *end;
    *end = (at + count * each_bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    return at;
}

static struct layout layout_of(const struct nic_engine_config *config)
{
    struct layout layout;
    uint64_t end = 0;
    place(&end, 1, sizeof(struct nic_engine));
    layout.transfers = place(&end, config->transfer_count, sizeof(struct nic_transfer));
    layout.outstanding = place(&end, config->outstanding_count, sizeof(struct nic_outstanding));
    layout.pages = place(&end, config->kick_page_count, sizeof(struct nic_header_page));
    layout.sets = place(&end, SETS, nic_target_set_words(config->node_count) * sizeof(uint64_t));
    layout.bytes = end;
    return layout;
}

static bool config_makes_sense(const struct nic_engine_config *config)
{
    return config->node_count != 0 && config->node_count <= WIRE_NODES_MAX &&
           config->node < config->node_count && config->kick_page_count != 0 &&
           config->kick_page_count <= NIC_KICK_PAGES_MAX && config->transfer_count != 0 &&
           config->transfer_count < NIC_NONE && config->outstanding_count != 0 &&
           config->outstanding_count < NIC_NONE;
}

uint64_t nic_engine_bytes(const struct nic_engine_config *config)
{
    return config_makes_sense(config) ? layout_of(config).bytes : 0;
}

static void init_tables(struct nic_engine *engine, unsigned char *space,
                        const struct layout *layout)
{
    uint32_t count = engine->config.transfer_count;
    engine->transfers = (struct nic_transfer *)(void *)(space + layout->transfers);
    for (uint32_t i = 0; i < count; i++) {
        engine->transfers[i] = (struct nic_transfer){.next = i + 1 < count ? i + 1 : NIC_NONE};
    }
    engine->transfer_free = 0;
    engine->sending_first = NIC_NONE;

    count = engine->config.outstanding_count;
    engine->outstanding = (struct nic_outstanding *)(void *)(space + layout->outstanding);
    for (uint32_t i = 0; i < count; i++) {
        engine->outstanding[i] = (struct nic_outstanding){
            .generation = 1, .next_free = i + 1 < count ? i + 1 : NIC_NONE};
    }
    engine->outstanding_free = 0;
    engine->outstanding_used = 0;

    uint64_t *words = (uint64_t *)(void *)(space + layout->sets);
    uint32_t nodes = engine->config.node_count;
    uint32_t each = nic_target_set_words(nodes);
    nic_target_set_init(&engine->blocked, words, nodes);
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        uint64_t *own = words + each * (1 + 2 * (uint64_t)user);
        engine->users[user] = (struct nic_user){0};
        nic_target_set_init(&engine->users[user].since_fence, own, nodes);
        nic_target_set_init(&engine->users[user].since_quiet, own + each, nodes);
    }
}

struct nic_engine *nic_engine_init(const struct nic_engine_config *config,
                                   const struct nic_network *network,
                                   const struct nic_local_memory *memory, void *space)
{
    INVARIANT(config_makes_sense(config) && (uintptr_t)space % CACHE_LINE_BYTES == 0);
    INVARIANT(network->body_bytes_max >= NIC_BODY_BYTES_MIN &&
              network->body_bytes_max <= WIRE_PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES);
    struct nic_engine *engine = space;
    struct layout layout = layout_of(config);
    engine->config = *config;
    engine->network = *network;
    engine->memory = *memory;
    engine->services = NULL;
    /* A full record leaves no room in its packet for another one, so that each packet of a
     * PUSH is acknowledged by itself. */
    engine->chunk_bytes = (network->body_bytes_max - WIRE_OPERATION_BYTES) & ~7u;
    engine->turn = NIC_TURN_USERS;
    engine->running = false;
    engine->sending_count = 0;
    engine->counters = (struct nic_engine_counters){0};
    init_tables(engine, space, &layout);
    nic_window_init(&engine->windows, config->pgid);
    nic_address_tlb_init(&engine->addresses);
    nic_header_tlb_init(&engine->headers,
                        (struct nic_header_page *)(void *)((unsigned char *)space + layout.pages),
                        config->kick_page_count);
    nic_transaction_init(&engine->fifo);
    return engine;
}

void nic_engine_serve(struct nic_engine *engine, struct nic_services *services)
{
    engine->services = services;
}

void nic_engine_forget_area(struct nic_engine *engine, uint32_t area)
{
    nic_address_tlb_forget(&engine->addresses, area);
}

const struct nic_engine_counters *nic_engine_counters(const struct nic_engine *engine)
{
    return &engine->counters;
}

/* ---- Users --------------------------------------------------------------------------- */

int nic_user_set(struct nic_engine *engine, uint32_t user, uint32_t credit)
{
    if (user >= NIC_USERS) {
        return DN_EINVAL;
    }
    return nic_transaction_set_credit(&engine->fifo, user, credit);
}

bool nic_user_is_quiet(const struct nic_engine *engine, uint32_t number)
{
    const struct nic_user *user = &engine->users[number];
    return user->transfers == 0 && user->outstanding == 0 && user->failed == 0 &&
           nic_target_set_is_empty(&user->since_quiet) &&
           nic_transaction_count(&engine->fifo, number) == 0;
}

void nic_engine_forget_done(struct nic_engine *engine)
{
    for (uint32_t number = 0; number < NIC_USERS; number++) {
        struct nic_user *user = &engine->users[number];
        if (user->transfers == 0 && user->outstanding == 0 &&
            nic_transaction_count(&engine->fifo, number) == 0 &&
            engine->network.mark_is_passed(engine->network.context, user->mark)) {
            nic_target_set_empty(&user->since_quiet);
            nic_target_set_empty(&user->since_fence);
        }
    }
}

static int check_remote(const struct nic_engine *engine, uint32_t user, struct dn_remote remote)
{
    if (user >= NIC_USERS) {
        return DN_EINVAL;
    }
    return (uint32_t)remote.rank < engine->config.node_count ? 0 : DN_ERANK;
}

int nic_kick_open(struct nic_engine *engine, uint32_t user, struct dn_remote page, bool skip,
                  uint64_t *kick_address)
{
    int error = check_remote(engine, user, page);
    if (error) {
        return error;
    }
    struct nic_header_seed seed = {
        .offset = page.offset,
        .area = page.area,
        .pgid = engine->config.pgid,
        .target = (uint16_t)page.rank,
        .user = (uint8_t)user,
        .channel = nic_user_channel(user),
        .skip = skip,
    };
    uint32_t number;
    error = nic_header_tlb_install(&engine->headers, &seed, &number);
    if (error) {
        return error;
    }
    *kick_address = (uint64_t)number << NIC_KICK_PAGE_BITS;
    return 0;
}

/* The header table's own line: checking a call is not a use of the TLB. NULL: the page is
 * not open. */
static const struct nic_header_seed *seed_of(const struct nic_engine *engine, uint64_t kick_address)
{
    uint64_t number = kick_address >> NIC_KICK_PAGE_BITS;
    if (number >= engine->headers.touched_count) {
        return NULL;
    }
    const struct nic_header_seed *seed = &engine->headers.pages[number].seed;
    return seed->in_use ? seed : NULL;
}

int nic_kick_close(struct nic_engine *engine, uint64_t kick_address)
{
    const struct nic_header_seed *seed = seed_of(engine, kick_address);
    if (!seed) {
        return DN_EINVAL;
    }
    uint64_t number = kick_address >> NIC_KICK_PAGE_BITS;
    for (const struct nic_transaction *waits = nic_transaction_first(&engine->fifo, seed->user);
         waits; waits = nic_transaction_next(&engine->fifo, waits)) {
        if (waits->kind == NIC_AOTF && waits->offset >> NIC_KICK_PAGE_BITS == number) {
            return DN_EBUSY;
        }
    }
    return nic_header_tlb_remove(&engine->headers, number);
}

static int give(struct nic_engine *engine, const struct nic_transaction *transaction)
{
    int error = nic_transaction_push(&engine->fifo, transaction);
    if (error) {
        return error;
    }
    engine->counters.transactions++;
    if (transaction->completion) {
        transaction->completion->result = 0;
        transaction->completion->value = 0;
        transaction->completion->state = NIC_PENDING;
    }
    return 0;
}

int nic_aotf(struct nic_engine *engine, uint32_t user, uint64_t kick_address, uint64_t value,
             unsigned bytes)
{
    if (user >= NIC_USERS || bytes > 8 || !is_power_of_two(bytes)) {
        return DN_EINVAL;
    }
    const struct nic_header_seed *seed = seed_of(engine, kick_address);
    if (!seed || seed->user != user) {
        return DN_EINVAL;
    }
    if (kick_address % bytes != 0) {
        return DN_EALIGN;
    }
    return give(engine, &(struct nic_transaction){
                            .kind = NIC_AOTF,
                            .user = (uint8_t)user,
                            .target = seed->target,
                            .offset = kick_address,
                            .bytes = bytes,
                            .operand = value,
                        });
}

int nic_botf(struct nic_engine *engine, uint32_t user, struct dn_remote remote, const void *source,
             uint32_t bytes)
{
    int error = check_remote(engine, user, remote);
    if (error) {
        return error;
    }
    if (!source || bytes == 0 || bytes > WIRE_BOTF_BYTES_MAX) {
        return DN_EINVAL;
    }
    uint32_t window;
    error = nic_window_take(&engine->windows, user, &window);
    if (error) {
        return error;
    }
    error = give(engine, &(struct nic_transaction){
                             .kind = NIC_BOTF,
                             .user = (uint8_t)user,
                             .target = (uint16_t)remote.rank,
                             .area = remote.area,
                             .index = window,
                             .offset = remote.offset,
                             .bytes = bytes,
                         });
    if (error) {
        nic_window_give(&engine->windows, window);
        return error;
    }
    memcpy(nic_window_at(&engine->windows, window)->data, source, bytes);
    return 0;
}

static int transfer(struct nic_engine *engine, uint32_t user, struct dn_remote remote,
                    unsigned char *local, uint64_t bytes, struct nic_completion *completion,
                    bool pulls)
{
    int error = check_remote(engine, user, remote);
    if (error) {
        return error;
    }
    uint64_t end;
    if ((!local && bytes != 0) || __builtin_add_overflow(remote.offset, bytes, &end)) {
        return DN_EINVAL;
    }
    if (bytes == 0) {
        if (completion) {
            nic_completion_finish(completion, 0, 0);
        }
        return 0;
    }
    if (engine->transfer_free == NIC_NONE) {
        return DN_EFULL;
    }
    error = give(engine, &(struct nic_transaction){
                             .kind = pulls ? NIC_PULL : NIC_PUSH,
                             .user = (uint8_t)user,
                             .target = (uint16_t)remote.rank,
                             .index = engine->transfer_free,
                             .completion = completion,
                         });
    if (error) {
        return error;
    }
    struct nic_transfer *taken = &engine->transfers[nic_transfer_take(engine)];
    taken->pulls = pulls;
    taken->user = (uint8_t)user;
    taken->target = (uint16_t)remote.rank;
    taken->area = remote.area;
    taken->offset = remote.offset;
    taken->bytes = bytes;
    taken->local = local;
    taken->completion = completion;
    return 0;
}

int nic_push(struct nic_engine *engine, uint32_t user, struct dn_remote remote, const void *source,
             uint64_t bytes, struct nic_completion *completion)
{
    /* The descriptor serves both directions; a PUSH never writes through it. */
    return transfer(engine, user, remote, (unsigned char *)(uintptr_t)source, bytes, completion,
                    false);
}

int nic_pull(struct nic_engine *engine, uint32_t user, struct dn_remote remote, void *target,
             uint64_t bytes, struct nic_completion *completion)
{
    return transfer(engine, user, remote, target, bytes, completion, true);
}

int nic_atomic(struct nic_engine *engine, uint32_t user, struct dn_remote remote,
               enum wire_atomic function, unsigned bytes, uint64_t operand, uint64_t expected,
               struct nic_completion *completion)
{
    int error = check_remote(engine, user, remote);
    if (error) {
        return error;
    }
    if ((unsigned)function >= WIRE_ATOMICS || (bytes != 4 && bytes != 8) ||
        (function == WIRE_READ && !completion)) {
        return DN_EINVAL;
    }
    return give(engine, &(struct nic_transaction){
                            .kind = NIC_ATOMIC,
                            .user = (uint8_t)user,
                            .function = (uint8_t)function,
                            .target = (uint16_t)remote.rank,
                            .area = remote.area,
                            .offset = remote.offset,
                            .bytes = bytes,
                            .operand = operand,
                            .expected = expected,
                            .completion = completion,
                        });
}

int nic_fence(struct nic_engine *engine, uint32_t user)
{
    if (user >= NIC_USERS) {
        return DN_EINVAL;
    }
    return give(engine, &(struct nic_transaction){.kind = NIC_FENCE, .user = (uint8_t)user});
}

int nic_quiet(struct nic_engine *engine, uint32_t user, struct nic_completion *completion)
{
    if (user >= NIC_USERS || !completion) {
        return DN_EINVAL;
    }
    return give(engine, &(struct nic_transaction){
                            .kind = NIC_QUIET, .user = (uint8_t)user, .completion = completion});
}
