/* A node that does everything that changes shared memory, round after round, until one of
 * its peers is killed; and then shows that nothing was left half done.
 *
 *     killpoint_node --list     the names of all kill points in the library
 *     killpoint_node VICTIM     runs; DN_KILL says where the node VICTIM dies
 *
 * When a node hears of a death, it still makes the collective calls of its round until one
 * of them says so, too: then all survivors have ended at the same one. */
#define _GNU_SOURCE
#include "live/live.h"

#ifdef DN_KILLPOINTS

/* As in src/base/killpoint.h, which is not for users. */
struct base_killpoint {
    const char *name;
};
extern const struct base_killpoint *const base_killpoints_first;
extern const struct base_killpoint *const base_killpoints_end;

enum {
    ROUNDS = 24,
    BODY_BYTES = 256,
    STREAM_BYTES = 1024, /* two bodies and a flag */
    STREAMS = 3,
    /* Places in LLCM; a piece for each sender. */
    NEVER_AT = 0,
    ALARM_AT = 64, /* a round's number wakes the sleepers */
    NAMES_AT = 256,
    PASSED_AT = 512,
    ADDED_AT = 1024,
    STREAMS_AT = 8192,
};

static int victim;
static bool heard;      /* of a death, by any call */
static uint64_t passed; /* collective calls */
static uint64_t places; /* where the allocations were, mixed */
static uint64_t private_words[501];

/* ---- One round --------------------------------------------------------------- */

/* Gives 0, or DN_EPEER, which it remembers. */
static int try_call(int error)
{
    require_else(error == 0 || error == DN_EPEER, "a call gave %s", dn_errname(error));
    heard = heard || error == DN_EPEER;
    return error;
}

static uint64_t stream_at(int sender, uint64_t stream)
{
    return STREAMS_AT + ((uint64_t)sender * STREAMS + stream) * STREAM_BYTES;
}

static uint64_t body_seed(int sender, uint64_t stream, uint64_t round)
{
    return live_mix((uint64_t)sender * 1000 + stream) + round * 4096;
}

/* Sends a message to a node, in three ways: body first, then the flag. */
static void send_to(int to, uint64_t round)
{
    static unsigned char body[STREAMS][BODY_BYTES];
    struct dn_remote places_of[STREAMS];
    struct dn_remote flags[STREAMS];
    struct dn_kick kick;
    for (uint64_t i = 0; i < STREAMS; i++) {
        live_fill(body[i], BODY_BYTES, body_seed(me.rank, i, round));
        places_of[i] = live_place(to, stream_at(me.rank, i) + round % 2 * BODY_BYTES);
        flags[i] = live_place(to, stream_at(me.rank, i) + 2 * BODY_BYTES);
    }
    try_call(dn_put_signal(me.node, places_of[0], body[0], BODY_BYTES, flags[0], round));
    if (try_call(dn_kick_map(me.node, flags[1], 8, &kick)) == 0) {
        try_call(dn_botf(me.node, places_of[1], body[1], BODY_BYTES));
        dn_store_u64(&kick, 0, round);
    }
    try_call(dn_push(me.node, places_of[2], body[2], BODY_BYTES, NULL));
    try_call(dn_fence(me.node));
    try_call(dn_botf(me.node, flags[2], &round, 8));
    uint64_t old;
    try_call(dn_fetch_add_u64(me.node, live_place(to, ADDED_AT + 64 * (uint64_t)me.rank), 1, &old));
    try_call(dn_quiet(me.node));
}

static void receive_from(int from, uint64_t round)
{
    for (uint64_t i = 0; i < STREAMS; i++) {
        const unsigned char *piece = me.llcm + stream_at(from, i);
        const uint64_t *flag = (const uint64_t *)(const void *)(piece + 2 * BODY_BYTES);
        if (try_call(dn_wait_until_u64(me.node, flag, DN_GE, round, DN_FOREVER)) == 0) {
            const unsigned char *body = piece + round % 2 * BODY_BYTES;
            require_else(live_first_other(body, BODY_BYTES, body_seed(from, i, round)) ==
                             BODY_BYTES,
                         "the body of message %llu of stream %llu is not whole",
                         (unsigned long long)round, (unsigned long long)i);
        }
    }
}

/* All sleep but one, which wakes them; each has a turn. */
static void sleep_and_wake(uint64_t round)
{
    int waker = (int)(round / 2 % (uint64_t)me.size);
    if (me.rank == waker) {
        /* Long enough that this node sleeps, too. */
        int error = dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, 5 * LIVE_MS);
        try_call(error == DN_ETIMEOUT ? 0 : error);
        for (int rank = 0; rank < me.size; rank++) {
            try_call(dn_botf(me.node, live_place(rank, ALARM_AT), &round, 8));
        }
    }
    try_call(dn_wait_until_u64(me.node, live_u64(ALARM_AT), DN_GE, round, DN_FOREVER));
}

/* Names a piece of memory, and tells the next node, which uses it; then takes the name back. */
static void lend_area(void *piece, uint64_t round)
{
    uint32_t area;
    uint32_t theirs;
    uint64_t read;
    int before = live_neighbour(-1);
    expect(dn_register(me.node, piece, 64 + round, &area), 0);
    /* Nobody uses this right. */
    expect(dn_rights_set(me.node, area, DN_READ | DN_WRITE), 0);
    try_call(dn_set_u32(me.node, live_place(live_neighbour(1), NAMES_AT), area));
    try_call(dn_quiet(me.node));
    if (try_call(dn_barrier(dn_team_all(me.node), DN_FOREVER)) == 0) {
        passed++;
        theirs = *live_u32(NAMES_AT);
        int error = dn_read_u64(me.node, live_at(before, theirs, 8), &read);
        require(error == 0 || error == DN_EPEER || error == DN_ESTALE);
    }
    expect(dn_deregister(me.node, area), 0);
}

/* The collective calls of a round, in which every survivor ends the same way. */
static bool allocate_and_free(uint64_t round)
{
    void *block;
    if (try_call(dn_alloc(me.node, 64 * (1 + round % 5), &block)) != 0) {
        return false;
    }
    struct dn_remote place;
    expect(dn_remote_of(me.node, block, 0, &place), 0);
    places = live_mix(places + place.offset);
    passed++;
    if (try_call(dn_free(me.node, block)) != 0) {
        return false;
    }
    passed++;
    return true;
}

static bool one_round(uint64_t round)
{
    if (try_call(dn_barrier(dn_team_all(me.node), DN_FOREVER)) != 0) {
        return false;
    }
    passed++;
    for (int steps = 0; steps < me.size; steps++) {
        send_to(live_neighbour(steps), round);
    }
    for (int steps = 0; steps < me.size; steps++) {
        receive_from(live_neighbour(steps), round);
    }
    if (round % 2 == 0) {
        sleep_and_wake(round);
    }
    lend_area(me.llcm + STREAMS_AT, round);
    lend_area(private_words, round);
    require(private_words[0] == private_words[500] && private_words[0] == (uint64_t)me.rank);
    return allocate_and_free(round);
}

/* ---- After a death ----------------------------------------------------------- */

/* Requires that each flag that the victim wrote has its whole body, and the right count. */
static void require_whole_messages(void)
{
    for (uint64_t i = 0; i < STREAMS; i++) {
        const unsigned char *piece = me.llcm + stream_at(victim, i);
        uint64_t round = dn_load_u64(piece + 2 * BODY_BYTES);
        const unsigned char *body = piece + round % 2 * BODY_BYTES;
        require_else(round == 0 || live_first_other(body, BODY_BYTES,
                                                    body_seed(victim, i, round)) == BODY_BYTES,
                     "stream %llu: flag %llu of the dead without its body", (unsigned long long)i,
                     (unsigned long long)round);
    }
    uint64_t round = dn_load_u64(me.llcm + stream_at(victim, 2) + 2 * BODY_BYTES);
    uint64_t added = dn_load_u64(me.llcm + ADDED_AT + 64 * (uint64_t)victim);
    require_else(added == round || added + 1 == round, "%llu additions in %llu rounds",
                 (unsigned long long)added, (unsigned long long)round);
}

/* The survivors tell each other how far they came. */
static void require_equal_ends(void)
{
    uint64_t mine[2] = {passed, places};
    for (int rank = 0; rank < me.size; rank++) {
        uint64_t at = PASSED_AT + 64 * (uint64_t)me.rank;
        if (rank != victim) {
            expect(dn_put_signal(me.node, live_place(rank, at), mine, sizeof mine,
                                 live_place(rank, at + 16), 1),
                   0);
        }
    }
    for (int rank = 0; rank < me.size; rank++) {
        const uint64_t *theirs = live_u64(PASSED_AT + 64 * (uint64_t)rank);
        if (rank != victim) {
            expect(dn_wait_until_u64(me.node, theirs + 2, DN_EQ, 1, DN_FOREVER), 0);
            require_else(theirs[0] == passed && theirs[1] == places,
                         "%llu collective calls here, %llu at node %d", (unsigned long long)passed,
                         (unsigned long long)theirs[0], rank);
        }
    }
}

static void survive_death(void)
{
    int ranks[2] = {-1, -1};
    size_t count = 0;
    enum dn_life life;
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, DN_FOREVER), DN_EPEER);
    expect(dn_failure_ack(me.node, ranks, 2, &count), 0);
    require(count == 1 && ranks[0] == victim);
    expect(dn_peer_life(me.node, victim, &life), 0);
    require(life == DN_DEAD);
    require_whole_messages();
    require_equal_ends();
    expect(dn_barrier(dn_team_all(me.node), DN_FOREVER), DN_EPEER);
    expect(dn_alloc(me.node, 64, &(void *){NULL}), DN_EPEER);
    expect(dn_botf(me.node, live_place(victim, 0), &life, 4), DN_EPEER);
}

/* It may have died while it left: then it has either left or died. */
static void survive_leaving(void)
{
    enum dn_life life = DN_ATTACHED;
    uint64_t deadline_ns = live_now_ns() + 20 * LIVE_SECOND;
    int error;
    do {
        require(live_now_ns() < deadline_ns);
        live_sleep_ns(200 * LIVE_US);
        expect(dn_peer_life(me.node, victim, &life), 0);
        error = dn_botf(me.node, live_place(victim, 0), &life, 4);
    } while (error == 0 || life == DN_ATTACHED);
    expect(error, DN_EPEER);
    if (life == DN_DEAD) {
        survive_death();
        return;
    }
    size_t count = 77;
    require(life == DN_LEFT);
    expect(dn_failure_ack(me.node, NULL, 0, &count), 0);
    require(count == 0);
    require_whole_messages();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (const struct base_killpoint *point = base_killpoints_first;
             point != base_killpoints_end; point++) {
            puts(point->name);
        }
        return 0;
    }
    const char *order = getenv("DN_KILL");
    me.check = order ? order : "no death";
    victim = argc > 1 ? atoi(argv[1]) : -1;
    live_attach();
    private_words[0] = private_words[500] = (uint64_t)me.rank;
    bool goes_on = true;
    for (uint64_t round = 1; round <= ROUNDS && goes_on; round++) {
        goes_on = one_round(round);
    }
    if (!goes_on) {
        survive_death();
    } else if (me.rank != victim && victim >= 0) {
        survive_leaving();
    }
    expect(dn_detach(me.node), 0);
    puts("survived");
    return 0;
}

#else

int main(void)
{
    puts("only in a build with -Dkillpoints=true");
    return 77;
}

#endif
