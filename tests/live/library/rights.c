/* Rights in areas: what a node's peers may do there, on every fabric. Node r works on the areas of
 * the node before it; the node behind works on its own. */
#include "live/live.h"

enum {
    AT = 4096,    /* of LLCM and bank: where it is tried */
    NAME_AT = 64, /* of LLCM: the area that the node behind registered */
    LARGE_BYTES = 100000,
};

static unsigned char own[3 * 4096];
static uint32_t name; /* of the area that the node behind registered */

/* Tells the node before this one a name. */
static void exchange_name(uint32_t area)
{
    expect(dn_set_u32(me.node, live_place(live_neighbour(-1), NAME_AT), area), 0);
    live_barrier();
    name = *live_u32(NAME_AT);
    live_barrier();
}

/* Every call of the library on 8 bytes at the node behind. */
static void try_all(uint32_t area, uint64_t offset, unsigned rights)
{
    const struct dn_remote there = live_at(live_neighbour(1), area, offset);
    const struct dn_remote free_flag = live_at(live_neighbour(1), DN_HEAP, 8);
    int write = rights & DN_WRITE ? 0 : DN_ERIGHTS;
    int read = rights & DN_READ ? 0 : DN_ERIGHTS;
    int atomic = rights & DN_ATOMIC ? 0 : DN_ERIGHTS;
    struct dn_kick kick;
    struct dn_lock *lock;
    struct dn_op op;
    uint64_t word = 7;
    uint64_t old = 77;
    unsigned found = 99;
    expect(dn_rights_get(me.node, there.rank, area, &found), 0);
    require(found == rights);
    expect(dn_put(me.node, there, &word, 8), write);
    expect(dn_botf(me.node, there, &word, 8), write);
    expect(dn_put_signal(me.node, there, &word, 8, free_flag, 1), write);
    expect(dn_put_signal(me.node, free_flag, &word, 8, there, 7), write);
    expect(dn_kick_map(me.node, there, 8, &kick), write);
    if (!write) {
        expect(dn_kick_store(&kick, 0, 7, 8), 0);
        dn_store_u64(&kick, 0, 7);
        expect(dn_kick_unmap(&kick), 0);
    }
    expect(dn_push(me.node, there, &word, 8, &op), write);
    expect(write ? 0 : dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_quiet(me.node), 0);
    expect(dn_fetch_add_u64(me.node, there, 1, &old), atomic);
    expect(dn_add_u64(me.node, there, 1), atomic);
    expect(dn_fence(me.node), 0);
    expect(dn_set_u64(me.node, there, 9), atomic);
    expect(dn_fence(me.node), 0);
    expect(dn_compare_swap_u64(me.node, there, 9, 10, &old), atomic);
    expect(dn_lock_open(me.node, there, &lock), atomic);
    expect(atomic ? 0 : dn_lock_close(lock), 0);
    expect(dn_quiet(me.node), 0);
    word = old = 77;
    expect(dn_get(me.node, there, &word, 8), read);
    expect(dn_read_u64(me.node, there, &old), read);
    require(read ? word == 77 && old == 77 : word == old);
    /* A range that leaves the area is that mistake, whatever the rights. */
    expect(dn_put(me.node, live_at(there.rank, area, UINT64_MAX - 8), &word, 8), DN_ERANGE);
}

/* What the node before this one has left, given what it might do. */
static uint64_t expected_word(uint64_t before, unsigned rights)
{
    uint64_t word = rights & DN_WRITE ? 7 : before;
    return rights & DN_ATOMIC ? 10 : word;
}

static void try_all_rights(uint32_t area, uint64_t offset, uint64_t *mine)
{
    for (unsigned rights = 0; rights <= DN_ALL_RIGHTS; rights++) {
        *mine = 1000 + rights;
        expect(dn_rights_set(me.node, area, rights), 0);
        live_barrier();
        try_all(area == DN_BANK || area == DN_LLCM ? area : name, offset, rights);
        live_barrier();
        require_else(*mine == expected_word(1000 + rights, rights), "rights %u: %llu", rights,
                     (unsigned long long)*mine);
        /* The owner has all rights. */
        expect(dn_add_u64(me.node, live_at(me.rank, area, offset), 1), 0);
        live_barrier();
    }
}

static void each_call_needs_its_right(void)
{
    uint32_t area;
    uint64_t *word = (uint64_t *)(void *)(own + AT);
    try_all_rights(DN_BANK, AT, (uint64_t *)(void *)(me.bank + AT));
    expect(dn_register(me.node, own, sizeof own, &area), 0);
    exchange_name(area);
    try_all_rights(area, AT, word);
    expect(dn_deregister(me.node, area), 0);
    live_barrier();
}

/* The rest of the bank is closed, and one piece of it is open under its own name. */
static void a_window_into_a_closed_area(void)
{
    const int there = live_neighbour(1);
    struct dn_kick kick;
    uint32_t area;
    uint64_t value = 5;
    expect(dn_rights_set(me.node, DN_BANK, 0), 0);
    expect(dn_register_rights(me.node, me.bank + AT, 64, DN_WRITE, &area), 0);
    exchange_name(area);
    expect(dn_put(me.node, live_at(there, DN_BANK, AT), &value, 8), DN_ERIGHTS);
    expect(dn_put(me.node, live_at(there, name, 0), &value, 8), 0);
    expect(dn_get(me.node, live_at(there, name, 0), &value, 8), DN_ERIGHTS);
    expect(dn_put(me.node, live_at(there, name, 60), &value, 8), DN_ERANGE);
    expect(dn_kick_map(me.node, live_at(there, name, 8), 8, &kick), 0);
    dn_store_u64(&kick, 0, 6);
    expect(dn_quiet(me.node), 0);
    live_barrier();
    require(memcmp(me.bank + AT, &(uint64_t[]){5, 6}, 16) == 0);
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_deregister(me.node, area), 0);
    expect(dn_rights_set(me.node, DN_BANK, DN_ALL_RIGHTS), 0);
    live_barrier();
    expect(dn_put(me.node, live_at(there, DN_BANK, AT), &value, 8), 0);
    live_barrier();
}

/* Messages and collective calls move data that its owner gives: rights are not asked for. */
static void messages_and_teams_need_no_rights(void)
{
    const int next = live_neighbour(1);
    const int last = live_neighbour(-1);
    static unsigned char buffer[LARGE_BYTES];
    struct dn_message_op op;
    struct dn_context *context;
    size_t bytes = 0;
    uint64_t *words = (uint64_t *)(void *)me.bank;
    expect(dn_rights_set(me.node, DN_BANK, 0), 0);
    expect(dn_context_open(me.node, 5, &next, 1, &last, 1, NULL, &context), 0);
    live_fill(me.bank, LARGE_BYTES, (uint64_t)me.rank);
    expect(dn_isend(context, next, me.bank, LARGE_BYTES, &op), 0);
    expect(dn_recv(context, last, buffer, sizeof buffer, LIVE_PATIENCE_NS, NULL, &bytes), 0);
    require(bytes == LARGE_BYTES);
    require(live_first_other(buffer, bytes, (uint64_t)last) == bytes);
    expect(dn_message_wait(&op, LIVE_PATIENCE_NS, NULL, NULL), 0);
    expect(dn_context_close(context), 0);
    for (size_t i = 0; i < LARGE_BYTES / 8; i++) {
        words[i] = i + (uint64_t)me.rank;
    }
    expect(dn_allreduce(dn_team_all(me.node), words, words, LARGE_BYTES / 8, DN_UINT64, DN_MAX), 0);
    for (size_t i = 0; i < LARGE_BYTES / 8; i++) {
        require(words[i] == i + (uint64_t)me.size - 1);
    }
    expect(dn_rights_set(me.node, DN_BANK, DN_ALL_RIGHTS), 0);
    live_barrier();
}

/* A store that returns nothing keeps its error for the lane. */
static void a_store_after_the_right_was_taken_is_reported(void)
{
    const struct dn_remote there = live_at(live_neighbour(1), DN_BANK, AT);
    struct dn_kick kick;
    expect(dn_kick_map(me.node, there, 8, &kick), 0);
    live_barrier();
    memset(me.bank + AT, 0, 8);
    expect(dn_rights_set(me.node, DN_BANK, DN_READ | DN_ATOMIC), 0);
    live_barrier();
    dn_store_u64(&kick, 0, 7);
    bool is_checked = dn_kick_pointer(&kick) == NULL; /* in place nothing stops it */
    expect(dn_quiet(me.node), is_checked ? DN_ERIGHTS : 0);
    live_barrier();
    require(me.bank[AT] == (is_checked ? 0 : 7));
    expect(dn_kick_unmap(&kick), 0);
    expect(dn_rights_set(me.node, DN_BANK, DN_ALL_RIGHTS), 0);
    live_barrier();
}

static const struct live_check checks[] = {
    LIVE_CHECK(2, each_call_needs_its_right),
    LIVE_CHECK(2, a_window_into_a_closed_area),
    LIVE_CHECK(2, messages_and_teams_need_no_rights),
    LIVE_CHECK(2, a_store_after_the_right_was_taken_is_reported),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
