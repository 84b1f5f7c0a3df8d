/* Random operations of several users of three engines, on a network that reorders everything it
 * may and is often full, against a model.
 *
 * Each user of each node has a region of its own in every node's memory. The model keeps
 * what the region has to hold, and for each word whether an unordered operation has
 * touched it since the last fence: an operation that would then race is not drawn. So every
 * value that is read, fetched or found after a quiet is known. */
#include "engine_network.h"

enum {
    USERS = 4,
    WORDS = 256,
    REGION_BYTES = 8 * WORDS,
    PENDING = 12,
    OPERATIONS = 10000,
    COUNTER_OFFSET = NET_AREA_BYTES - 8,
};

static const uint32_t user_numbers[USERS] = {0, 1, 15, 63}; /* 0 and 15 share a channel */

enum touched { CLEAN, ORDERED, UNORDERED };

struct region {
    unsigned char bytes[REGION_BYTES];
    unsigned char touched[WORDS];
    uint64_t kick;
};

enum kind { NOTHING, PUSH, PULL, FETCH, COUNT };

struct pending {
    enum kind kind;
    struct nic_completion completion;
    uint16_t target;
    uint32_t bytes;
    uint64_t old;
    uint64_t deaths; /* of the target, when it was given */
    unsigned char buffer[REGION_BYTES];
    unsigned char expected[REGION_BYTES];
};

struct user {
    struct region regions[NET_NODES];
    struct pending pending[PENDING];
    struct nic_completion quiet;
    bool quieting;
    uint64_t deaths; /* of all, at the last quiet */
};

static struct {
    struct net *net;
    struct base_random random;
    struct user users[NET_NODES][USERS];
    uint64_t counter[NET_NODES]; /* what was added there, done or under way */
    uint64_t deaths[NET_NODES];
    uint64_t all_deaths;
    uint64_t given;
    uint64_t checked;
    uint64_t full;
} game;

static uint32_t draw(uint64_t below)
{
    return (uint32_t)base_random_below(&game.random, below);
}

static uint64_t region_offset(uint32_t node, uint32_t user)
{
    return (uint64_t)(node * USERS + user) * REGION_BYTES;
}

static unsigned char *region_memory(uint16_t target, uint32_t node, uint32_t user)
{
    return net_area(game.net, target) + region_offset(node, user);
}

/* ---- Drawing operations ------------------------------------------------------------------ */

/* A range whose words are touched at worst like this; 0: this try found none. */
static uint32_t draw_range(const struct region *region, enum touched worst, uint32_t bytes_max,
                           uint32_t *offset)
{
    uint32_t bytes = 1 + draw(bytes_max);
    *offset = draw(REGION_BYTES - bytes + 1);
    for (uint32_t word = *offset / 8; word <= (*offset + bytes - 1) / 8; word++) {
        if (region->touched[word] > worst) {
            return 0;
        }
    }
    return bytes;
}

static void touch(struct region *region, uint32_t offset, uint32_t bytes, enum touched how)
{
    for (uint32_t word = offset / 8; word <= (offset + bytes - 1) / 8; word++) {
        region->touched[word] = (unsigned char)how;
    }
}

static struct pending *free_pending(struct user *user)
{
    for (uint32_t i = 0; i < PENDING; i++) {
        if (user->pending[i].kind == NOTHING) {
            return &user->pending[i];
        }
    }
    return NULL;
}

static struct nic_engine *engine_at(uint32_t node)
{
    return game.net->nodes[node].engine;
}

/* Whether the call was taken. */
static bool taken(int error)
{
    assert_true(error == 0 || error == DN_EFULL);
    game.given += error == 0;
    game.full += error != 0;
    return error == 0;
}

static void give_store(uint32_t node, uint32_t number, struct region *region)
{
    uint32_t bytes = 1u << draw(4);
    uint32_t offset = draw(REGION_BYTES / bytes) * bytes;
    uint64_t value = base_random_next(&game.random);
    uint64_t kick = region->kick + region_offset(node, number) % 4096 + offset;
    if (region->touched[offset / 8] != UNORDERED &&
        taken(nic_aotf(engine_at(node), user_numbers[number], kick, value, bytes))) {
        memcpy(region->bytes + offset, &value, bytes); /* little endian */
        touch(region, offset, bytes, ORDERED);
    }
}

static void give_block(uint32_t node, uint32_t number, struct region *region, uint16_t target)
{
    unsigned char block[WIRE_BOTF_BYTES_MAX];
    uint32_t offset;
    uint32_t bytes = draw_range(region, ORDERED, draw(2) ? sizeof block : 8, &offset);
    memset(block, (int)draw(256), sizeof block);
    if (bytes != 0 &&
        taken(nic_botf(engine_at(node), user_numbers[number],
                       net_at(target, region_offset(node, number) + offset), block, bytes))) {
        memcpy(region->bytes + offset, block, bytes);
        touch(region, offset, bytes, ORDERED);
    }
}

static void give_transfer(uint32_t node, uint32_t number, struct region *region, uint16_t target,
                          bool pulls)
{
    struct pending *pending = free_pending(&game.users[node][number]);
    uint32_t offset;
    uint32_t bytes = draw_range(region, CLEAN, draw(2) ? REGION_BYTES : 64, &offset);
    if (bytes == 0 || !pending) {
        return;
    }
    struct dn_remote remote = net_at(target, region_offset(node, number) + offset);
    memset(pending->buffer, (int)draw(256), bytes);
    memcpy(pending->expected, pulls ? region->bytes + offset : pending->buffer, bytes);
    int error = pulls ? nic_pull(engine_at(node), user_numbers[number], remote, pending->buffer,
                                 bytes, &pending->completion)
                      : nic_push(engine_at(node), user_numbers[number], remote, pending->buffer,
                                 bytes, &pending->completion);
    if (!taken(error)) {
        return;
    }
    if (!pulls) {
        memcpy(region->bytes + offset, pending->buffer, bytes);
    }
    touch(region, offset, bytes, UNORDERED);
    pending->kind = pulls ? PULL : PUSH;
    pending->target = target;
    pending->bytes = bytes;
    pending->deaths = game.deaths[target];
}

static uint64_t apply(enum wire_atomic function, uint64_t old, uint64_t operand, uint64_t expected)
{
    switch (function) {
    case WIRE_ADD: return old + operand;
    case WIRE_AND: return old & operand;
    case WIRE_OR: return old | operand;
    case WIRE_XOR: return old ^ operand;
    case WIRE_SWAP: return operand;
    case WIRE_COMPARE_SWAP: return old == expected ? operand : old;
    case WIRE_READ:
    case WIRE_ATOMICS: break;
    }
    return old;
}

static void give_atomic(uint32_t node, uint32_t number, struct region *region, uint16_t target)
{
    struct pending *pending = draw(2) ? free_pending(&game.users[node][number]) : NULL;
    enum wire_atomic function = (enum wire_atomic)draw(pending ? WIRE_ATOMICS : WIRE_READ);
    uint32_t bytes = draw(2) ? 8 : 4;
    uint32_t offset = draw(REGION_BYTES / bytes) * bytes;
    if (region->touched[offset / 8] != CLEAN) {
        return;
    }
    uint64_t mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t old = 0;
    memcpy(&old, region->bytes + offset, bytes);
    uint64_t operand = base_random_next(&game.random);
    uint64_t expected = draw(2) ? old : operand;
    if (!taken(nic_atomic(engine_at(node), user_numbers[number],
                          net_at(target, region_offset(node, number) + offset), function, bytes,
                          operand, expected, pending ? &pending->completion : NULL))) {
        return;
    }
    uint64_t new = apply(function, old, operand & mask, expected & mask);
    memcpy(region->bytes + offset, &new, bytes);
    touch(region, offset, bytes, UNORDERED);
    if (pending) {
        pending->kind = FETCH;
        pending->target = target;
        pending->old = old;
        pending->deaths = game.deaths[target];
    }
}

static void give_count(uint32_t node, uint32_t number, uint16_t target)
{
    struct pending *pending = draw(2) ? free_pending(&game.users[node][number]) : NULL;
    uint64_t amount = 1 + draw(100);
    if (taken(nic_atomic(engine_at(node), user_numbers[number], net_at(target, COUNTER_OFFSET),
                         WIRE_ADD, 8, amount, 0, pending ? &pending->completion : NULL))) {
        game.counter[target] += amount;
        if (pending) {
            pending->kind = COUNT;
            pending->target = target;
            pending->deaths = game.deaths[target];
        }
    }
}

static void clean_regions(struct user *user)
{
    for (uint32_t target = 0; target < NET_NODES; target++) {
        memset(user->regions[target].touched, CLEAN, WORDS);
    }
}

static void give_one(uint32_t node, uint32_t number)
{
    struct user *user = &game.users[node][number];
    uint16_t target = (uint16_t)draw(NET_NODES);
    struct region *region = &user->regions[target];
    if (user->quieting) {
        return;
    }
    switch (draw(16)) {
    case 0:
    case 1:
    case 2:
    case 3: give_store(node, number, region); break;
    case 4:
    case 5:
    case 6: give_block(node, number, region, target); break;
    case 7:
    case 8: give_transfer(node, number, region, target, false); break;
    case 9:
    case 10: give_transfer(node, number, region, target, true); break;
    case 11:
    case 12: give_atomic(node, number, region, target); break;
    case 13: give_count(node, number, target); break;
    case 14:
        if (taken(nic_fence(engine_at(node), user_numbers[number]))) {
            clean_regions(user);
        }
        break;
    default:
        user->quieting = draw(4) == 0 &&
                         taken(nic_quiet(engine_at(node), user_numbers[number], &user->quiet));
        break;
    }
}

/* ---- Looking at what came of them -------------------------------------------------------- */

static void check_pending(struct pending *pending)
{
    if (pending->kind == NOTHING || pending->completion.state != NIC_DONE) {
        return;
    }
    if (pending->deaths != game.deaths[pending->target]) {
        assert_true(pending->completion.result == 0 || pending->completion.result == DN_EPEER);
    } else {
        assert_int_equal(pending->completion.result, 0);
        if (pending->kind == PULL || pending->kind == PUSH) {
            assert_memory_equal(pending->buffer, pending->expected, pending->bytes);
        }
        if (pending->kind == FETCH) {
            assert_true(pending->completion.value == pending->old);
        }
        game.checked++;
    }
    memset(pending->buffer, 0xee, sizeof pending->buffer); /* it is the user's again */
    pending->kind = NOTHING;
}

static void check_user(uint32_t node, uint32_t number)
{
    struct user *user = &game.users[node][number];
    for (uint32_t i = 0; i < PENDING; i++) {
        check_pending(&user->pending[i]);
    }
    if (!user->quieting || user->quiet.state != NIC_DONE) {
        return;
    }
    assert_true(user->quiet.result == 0 ||
                (user->quiet.result == DN_EPEER && user->deaths != game.all_deaths));
    for (uint16_t target = 0; target < NET_NODES; target++) {
        assert_memory_equal(region_memory(target, node, number), user->regions[target].bytes,
                            REGION_BYTES);
        game.checked++;
    }
    for (uint32_t i = 0; i < PENDING; i++) {
        assert_int_equal(user->pending[i].kind, NOTHING);
    }
    clean_regions(user);
    user->deaths = game.all_deaths;
    user->quieting = false;
}

static void check_all(void)
{
    for (uint32_t node = 0; node < NET_NODES; node++) {
        for (uint32_t number = 0; number < USERS; number++) {
            check_user(node, number);
        }
    }
}

/* ---- Lives ------------------------------------------------------------------------------- */

static const struct nic_engine_config tight_sizes = {
    .pgid = NET_PGID,
    .node_count = NET_NODES,
    .kick_page_count = 32,
    .transfer_count = 5,
    .outstanding_count = 6,
};

static void begin_life(uint16_t node)
{
    net_start(game.net, node, &tight_sizes);
    for (uint32_t number = 0; number < USERS; number++) {
        struct user *user = &game.users[node][number];
        memset(user, 0, sizeof *user);
        user->deaths = game.all_deaths;
        assert_int_equal(nic_user_set(engine_at(node), user_numbers[number], 12), 0);
        for (uint16_t target = 0; target < NET_NODES; target++) {
            struct region *region = &user->regions[target];
            uint64_t page = region_offset(node, number) / 4096 * 4096;
            assert_int_equal(nic_kick_open(engine_at(node), user_numbers[number],
                                           net_at(target, page), false, &region->kick),
                             0);
            memset(region_memory(target, node, number), 0, REGION_BYTES);
        }
    }
}

/* The node dies with all that it had under way, and lives again with empty memory. */
static void die(uint16_t node)
{
    game.deaths[node]++;
    game.all_deaths++;
    net_kill(game.net, node);
    check_all();
    memset(game.net->nodes[node].memory, 0, NET_MEMORY_BYTES);
    game.counter[node] = 0;
    for (uint32_t other = 0; other < NET_NODES; other++) {
        for (uint32_t number = 0; other != node && number < USERS; number++) {
            struct region *region = &game.users[other][number].regions[node];
            memset(region->bytes, 0, REGION_BYTES);
            memset(region->touched, CLEAN, WORDS);
            for (uint32_t i = 0; i < PENDING; i++) {
                const struct pending *pending = &game.users[other][number].pending[i];
                assert_false(pending->kind != NOTHING && pending->target == node);
            }
        }
    }
    begin_life(node);
}

static void change_network(void)
{
    struct net *net = game.net;
    net->room = 1 + draw(draw(2) ? 4 : 40);
    net->join = draw(2);
    net->deny_one_in = draw(3);
    net->deny_one_in += net->deny_one_in != 0; /* with 1 it would never end */
    for (uint32_t i = 0; i < NET_NODES; i++) {
        net->full[i] = draw(8) == 0;
    }
}

static void finish(bool deadly)
{
    struct net *net = game.net;
    memset(net->full, 0, sizeof net->full);
    net->deny_one_in = 0;
    net_settle(net);
    check_all();
    for (uint32_t node = 0; node < NET_NODES; node++) {
        for (uint32_t number = 0; number < USERS; number++) {
            struct user *user = &game.users[node][number];
            if (!user->quieting) {
                assert_int_equal(nic_quiet(engine_at(node), user_numbers[number], &user->quiet), 0);
                user->quieting = true;
            }
        }
    }
    net_settle(net);
    check_all();
    for (uint16_t node = 0; node < NET_NODES; node++) {
        uint64_t counter;
        memcpy(&counter, net_area(net, node) + COUNTER_OFFSET, sizeof counter);
        for (uint32_t number = 0; number < USERS; number++) {
            assert_false(game.users[node][number].quieting);
        }
        if (!deadly) {
            assert_true(counter == game.counter[node]);
            assert_int_equal(nic_engine_counters(engine_at(node))->replies_unexpected, 0);
            assert_int_equal(nic_engine_counters(engine_at(node))->refused, 0);
        }
    }
    assert_int_equal(net_count(net, NET_QUEUED) + net_count(net, NET_CARRIED_OUT), 0);
}

static void play(uint64_t seed, bool deadly)
{
    print_message("seed %llu\n", (unsigned long long)seed);
    memset(&game, 0, sizeof game);
    game.random.state = seed;
    game.net = net_new();
    game.net->random.state = seed + 1;
    for (uint16_t node = 0; node < NET_NODES; node++) {
        begin_life(node);
    }
    change_network();
    uint32_t rounds = 0;
    while (game.given < OPERATIONS && rounds++ < 50 * OPERATIONS) {
        give_one(draw(NET_NODES), draw(USERS));
        if (draw(3) == 0) {
            nic_engine_run(engine_at(draw(NET_NODES)), 0);
        }
        for (uint32_t steps = draw(4); steps != 0; steps--) {
            net_step(game.net);
        }
        if (draw(200) == 0) {
            change_network();
        }
        if (deadly && draw(2000) == 0) {
            die((uint16_t)draw(NET_NODES));
        }
        check_all();
    }
    finish(deadly);
    assert_true(game.given >= OPERATIONS);
    print_message("%llu operations, %llu checks, %llu times full, %llu deaths\n",
                  (unsigned long long)game.given, (unsigned long long)game.checked,
                  (unsigned long long)game.full, (unsigned long long)game.all_deaths);
    net_free(game.net);
}

enum { SEEDS = 4 };

static void random_operations_take_effect_as_the_model_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false);
    }
}

static void random_deaths_end_what_they_must_and_nothing_else(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(1000 + seed, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_take_effect_as_the_model_says),
        cmocka_unit_test(random_deaths_end_what_they_must_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
