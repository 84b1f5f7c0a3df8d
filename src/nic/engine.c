/* The engine's memory, and the users' calls: each checks its arguments and puts one
 * transaction into the FIFO. */
#include "nic/engine_state.h"

#include "base/space.h"

/* ---- Memory -------------------------------------------------------------------------- */

enum { SETS_OF_USER = 2 };

/* Gives every part of the engine its piece. The largest table comes last, since mostly only its
 * beginning is used: what is used then lies close together. */
static void lay_out(struct base_space *space, const struct nic_engine_config *config,
                    struct nic_engine *engine)
{
    const uint64_t set_words = nic_target_set_words(config->node_count);
    struct nic_transaction *pool = base_space_take(space, NIC_TRANSACTIONS, sizeof *pool);
    struct nic_header_way *header_ways = base_space_take(space, NIC_HEADER_SETS * NIC_HEADER_WAYS,
                                                         sizeof *header_ways);
    struct nic_address_way *address_ways = base_space_take(
        space, NIC_ADDRESS_SETS * NIC_ADDRESS_WAYS, sizeof *address_ways);
    struct nic_window *windows = base_space_take(space, NIC_WINDOWS, sizeof *windows);
    struct nic_transfer *transfers = base_space_take(space, config->transfer_count,
                                                     sizeof *transfers);
    struct nic_outstanding *outstanding = base_space_take(space, config->outstanding_count,
                                                          sizeof *outstanding);
    uint64_t *user_words = base_space_take(space, SETS_OF_USER * NIC_USERS * set_words,
                                           sizeof *user_words);
    uint64_t *blocked_words = base_space_take(space, set_words, sizeof *blocked_words);
    struct nic_header_page *pages = base_space_take(space, config->kick_page_count, sizeof *pages);
    if (!engine) {
        return;
    }
    nic_header_tlb_init(&engine->headers, header_ways, pages, config->kick_page_count);
    nic_transaction_init(&engine->fifo, pool);
    nic_address_tlb_init(&engine->addresses, address_ways);
    nic_window_init(&engine->windows, windows);
    engine->transfers = transfers;
    engine->outstanding = outstanding;
    engine->user_words = user_words;
    nic_target_set_init(&engine->blocked, blocked_words);
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
    struct base_space space = {0};
    if (!config_makes_sense(config)) {
        return 0;
    }
    (void)base_space_take(&space, 1, sizeof(struct nic_engine));
    lay_out(&space, config, NULL);
    return space.used_bytes;
}

uint64_t nic_engine_near_bytes(void)
{
    struct base_space space = {0};
    (void)base_space_take(&space, 1, sizeof(struct nic_engine));
    return space.used_bytes;
}

struct nic_engine *nic_engine_init(const struct nic_engine_config *config,
                                   const struct nic_network *network,
                                   const struct nic_local_memory *memory, void *near, void *far)
{
    unsigned char *behind = (unsigned char *)near + nic_engine_near_bytes();
    struct base_space space = {.memory = far ? far : behind};
    INVARIANT(config_makes_sense(config) && (uintptr_t)near % CACHE_LINE_BYTES == 0 &&
              (uintptr_t)space.memory % CACHE_LINE_BYTES == 0);
    INVARIANT(network->body_bytes_max >= NIC_BODY_BYTES_MIN &&
              network->body_bytes_max <= WIRE_PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES);
    struct nic_engine *engine = near;
    engine->config = *config;
    lay_out(&space, config, engine);
    /* Everything that is not set here is zero already. This is checked only after something has
     * been written: a page that is read first costs two faults. */
    INVARIANT(engine->counters.transactions == 0 && engine->transfer_pool.touched == 0 &&
              engine->outstanding_pool.touched == 0);
    engine->network = *network;
    engine->memory = *memory;
    /* A full record leaves no room in its packet for another one, so that each packet of a
     * PUSH is acknowledged by itself. */
    engine->chunk_bytes = (network->body_bytes_max - WIRE_OPERATION_BYTES) & ~7u;
    engine->turn = NIC_TURN_USERS;
    base_pool_init(&engine->transfer_pool, engine->transfers, sizeof *engine->transfers,
                   offsetof(struct nic_transfer, next), config->transfer_count);
    engine->sending_first = NIC_NONE;
    base_pool_init(&engine->outstanding_pool, engine->outstanding, sizeof *engine->outstanding,
                   offsetof(struct nic_outstanding, next_free), config->outstanding_count);
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

bool nic_engine_recall_area(struct nic_engine *engine, uint32_t area)
{
    uint64_t address;
    if (nic_address_tlb_holds(&engine->addresses, area)) {
        return false;
    }
    (void)nic_address_tlb_translate(&engine->addresses, &engine->memory, area, 0, 0,
                                    (struct nic_access){0}, &address);
    return true;
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
    struct nic_user *owner = &engine->users[user];
    if (!owner->since_fence.words) {
        uint64_t set_words = nic_target_set_words(engine->config.node_count);
        uint64_t *own = engine->user_words + SETS_OF_USER * user * set_words;
        nic_target_set_init(&owner->since_fence, own);
        nic_target_set_init(&owner->since_quiet, own + set_words);
    }
    return nic_transaction_set_credit(&engine->fifo, user, credit);
}

int nic_user_group(struct nic_engine *engine, uint32_t user, uint32_t pgid)
{
    if (user >= NIC_USERS || pgid == 0) {
        return DN_EINVAL;
    }
    if (engine->users[user].pages != 0 || nic_transaction_count(&engine->fifo, user) != 0) {
        return DN_EBUSY;
    }
    engine->users[user].pgid = pgid;
    return 0;
}

bool nic_user_is_quiet(const struct nic_engine *engine, uint32_t number)
{
    const struct nic_user *user = &engine->users[number];
    return user->transfers == 0 && user->outstanding == 0 && user->failed == 0 &&
           nic_target_set_is_empty(&user->since_quiet) &&
           nic_transaction_count(&engine->fifo, number) == 0;
}

static int check_remote(const struct nic_engine *engine, uint32_t user, struct dn_remote remote)
{
    if (user >= NIC_USERS) {
        return DN_EINVAL;
    }
    return (uint32_t)remote.rank < engine->config.node_count ? 0 : DN_ERANK;
}

/* Installs a seed of the user's for the page; `seed` says the rest. */
static int open_page(struct nic_engine *engine, uint32_t user, struct dn_remote page,
                     struct nic_header_seed seed, uint64_t *kick_address)
{
    int error = check_remote(engine, user, page);
    if (error) {
        return error;
    }
    seed.offset = page.offset;
    seed.area = page.area;
    seed.pgid = nic_user_pgid(engine, user);
    seed.target = (uint16_t)page.rank;
    seed.user = (uint8_t)user;
    seed.channel = nic_user_channel(user);
    uint32_t number;
    error = nic_header_tlb_install(&engine->headers, &seed, &number);
    if (error) {
        return error;
    }
    engine->users[user].pages++;
    *kick_address = (uint64_t)number << NIC_KICK_PAGE_BITS;
    return 0;
}

int nic_kick_open(struct nic_engine *engine, uint32_t user, struct dn_remote page, bool skip,
                  uint64_t *kick_address)
{
    return open_page(engine, user, page, (struct nic_header_seed){.skip = skip}, kick_address);
}

int nic_kick_open_read(struct nic_engine *engine, uint32_t user, struct dn_remote page,
                       uint64_t local, uint64_t *kick_address)
{
    uint64_t page_bytes = UINT64_C(1) << NIC_KICK_PAGE_BITS;
    if (local % page_bytes != 0) {
        return DN_EALIGN;
    }
    if (local >= engine->memory.bytes || page_bytes > engine->memory.bytes - local) {
        return DN_ERANGE;
    }
    return open_page(engine, user, page, (struct nic_header_seed){.reads = true, .local = local},
                     kick_address);
}

/* Reads the header table itself, since checking a call is not a use of the TLB. NULL: the page
 * is not open. */
static const struct nic_header_seed *seed_of(const struct nic_engine *engine, uint64_t kick_address)
{
    uint64_t number = kick_address >> NIC_KICK_PAGE_BITS;
    if (number >= engine->headers.pool.touched) {
        return NULL;
    }
    const struct nic_header_seed *seed = &engine->headers.pages[number].seed;
    return seed->in_use ? seed : NULL;
}

uint16_t nic_kick_target(const struct nic_engine *engine, uint64_t kick_address)
{
    const struct nic_header_seed *seed = seed_of(engine, kick_address);
    INVARIANT(seed);
    return seed->target;
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
        if ((waits->kind == NIC_AOTF || waits->kind == NIC_READ) &&
            waits->offset >> NIC_KICK_PAGE_BITS == number) {
            return DN_EBUSY;
        }
    }
    engine->users[seed->user].pages--;
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

void nic_tag_next(struct nic_engine *engine, uint32_t tag)
{
    INVARIANT(tag != 0);
    engine->next_tag = tag;
}

static uint32_t take_tag(struct nic_engine *engine)
{
    uint32_t tag = engine->next_tag;
    engine->next_tag = 0;
    return tag;
}

int nic_aotf(struct nic_engine *engine, uint32_t user, uint64_t kick_address, uint64_t value,
             unsigned bytes)
{
    if (user >= NIC_USERS || bytes == 0 || bytes > 8) {
        return DN_EINVAL;
    }
    const struct nic_header_seed *seed = seed_of(engine, kick_address);
    if (!seed || seed->user != user) {
        return DN_EINVAL;
    }
    if (is_power_of_two(bytes) ? kick_address % bytes != 0 : kick_address % 8 + bytes > 8) {
        return DN_EALIGN;
    }
    uint64_t within = value & ((UINT64_C(1) << NIC_KICK_PAGE_BITS) - 1);
    if (seed->reads && within + bytes > UINT64_C(1) << NIC_KICK_PAGE_BITS) {
        return DN_ERANGE;
    }
    return give(engine, &(struct nic_transaction){
                            .kind = seed->reads ? NIC_READ : NIC_AOTF,
                            .user = (uint8_t)user,
                            .tag = take_tag(engine),
                            .target = seed->target,
                            .offset = kick_address,
                            .bytes = bytes,
                            .operand = value,
                        });
}

/* Gives a transaction of BOTF, with the source's bytes in a window of its user's. */
static int give_window(struct nic_engine *engine, struct nic_transaction *transaction,
                       const void *source)
{
    uint32_t user = transaction->user;
    int error = nic_window_take(&engine->windows, user, nic_user_pgid(engine, user),
                                &transaction->index);
    if (error) {
        return error;
    }
    transaction->tag = take_tag(engine);
    error = give(engine, transaction);
    if (error) {
        nic_window_give(&engine->windows, transaction->index);
        return error;
    }
    memcpy(nic_window_at(&engine->windows, transaction->index)->data, source, transaction->bytes);
    return 0;
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
    return give_window(engine,
                       &(struct nic_transaction){
                           .kind = NIC_BOTF,
                           .user = (uint8_t)user,
                           .target = (uint16_t)remote.rank,
                           .area = remote.area,
                           .offset = remote.offset,
                           .bytes = bytes,
                       },
                       source);
}

/* Where the answer to a user's own read goes: as the user says, if its group may write there. */
static int find_answer(struct nic_engine *engine, uint32_t user, const struct wire_operation *read,
                       uint64_t *address)
{
    if (read->bytes > engine->chunk_bytes) {
        return DN_ERANGE;
    }
    return nic_address_tlb_translate(
        &engine->addresses, &engine->memory, (uint32_t)(read->tag >> 32), (uint32_t)read->tag,
        read->bytes, (struct nic_access){DN_WRITE, nic_user_pgid(engine, user)}, address);
}

/* Whether a user may send such a packet. The target carries out all records of a packet, so nothing
 * may stand behind one that it knows. */
static int check_packet(struct nic_engine *engine, uint32_t user, const unsigned char *packet,
                        uint32_t bytes, uint64_t *address)
{
    struct wire_operation operation;
    uint32_t at = 0;
    bool is_known = wire_operation_decode(packet, bytes, WIRE_REQUEST, &at, &operation);
    switch (wire_operation_opcode(packet)) {
    case WIRE_AOTF:
    case WIRE_PUSH:
    case WIRE_ATOMIC:
    case WIRE_SERVICE:
    case WIRE_PULLED:
    case WIRE_FETCHED:
    case WIRE_REFUSED:
    case WIRE_SERVED: return DN_ERIGHTS;
    case WIRE_PULL:
        return is_known && at == bytes ? find_answer(engine, user, &operation, address) : DN_EINVAL;
    default: return is_known && at != bytes ? DN_EINVAL : 0;
    }
}

int nic_botf_packet(struct nic_engine *engine, uint32_t user, uint16_t target, const void *packet,
                    uint32_t bytes)
{
    int error = check_remote(engine, user, (struct dn_remote){.rank = target});
    if (error) {
        return error;
    }
    if (!packet || bytes < WIRE_OPERATION_BYTES || bytes > NIC_BODY_BYTES_MIN || bytes % 8 != 0) {
        return DN_EINVAL;
    }
    struct nic_transaction transaction = {
        .kind = NIC_PACKET, .user = (uint8_t)user, .target = target, .bytes = bytes};
    error = check_packet(engine, user, packet, bytes, &transaction.operand);
    return error ? error : give_window(engine, &transaction, packet);
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
    if (nic_transfer_next(engine) == NIC_NONE) {
        return DN_EFULL;
    }
    error = give(engine, &(struct nic_transaction){
                             .kind = pulls ? NIC_PULL : NIC_PUSH,
                             .user = (uint8_t)user,
                             .target = (uint16_t)remote.rank,
                             .index = nic_transfer_next(engine),
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
