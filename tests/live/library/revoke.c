/* Giving teams up: a call that waits and every later one end with DN_EPEER on all members, what
 * the one who gave up had passed stays passed, and other teams go on.
 *
 *     revoke                        the checks
 *     revoke --death KIND CALL      node 2 takes part in a call and dies while it waits; node 0
 *                                   waits there for node 1, which hears of the death elsewhere and
 *                                   shrinks the team
 *     revoke --all                  the team of all nodes is given up
 *     revoke --storm VICTIM...      all kinds of calls while nodes give up and the victims die at
 *                                   random moments (also a workload of the kill-point build) */
#include <signal.h>

#include "live/live.h"

/* Places in LLCM. */
enum { NEVER_AT = 0, LOCK_AT = 64, GUARDED_AT = 128 };

/* ---- Calls that wait --------------------------------------------------------------------- */

enum call {
    BARRIER,
    SHORT_BARRIERS,
    TWO_STEPS,
    LOOKS,
    REDUCE_ONE,
    REDUCE_MANY,
    SCAN,
    BROADCAST,
    GATHER,
    ALL_TO_ALL,
    SPLIT,
    KIND,
    CALLS
};

static int call_on(struct dn_team *team, enum call call)
{
    static uint64_t source[64 * 64];
    static uint64_t result[64 * 64];
    struct dn_team *part;
    size_t many = 1500;
    int passed = 0;
    int error = 0;
    switch (call) {
    case BARRIER: return dn_barrier(team, DN_FOREVER);
    case SHORT_BARRIERS: do { error = dn_barrier(team, 200 * LIVE_US);
        } while (error == DN_ETIMEOUT);
        return error;
    case TWO_STEPS:
        error = dn_barrier_arrive(team);
        return error ? error : dn_barrier_wait(team, DN_FOREVER);
    case LOOKS:
        error = dn_barrier_arrive(team);
        while (!error && !passed) {
            error = dn_barrier_test(team, &passed);
        }
        return error;
    case REDUCE_ONE: return dn_allreduce(team, source, result, 1, DN_UINT64, DN_SUM);
    case REDUCE_MANY: return dn_allreduce(team, source, result, many, DN_UINT64, DN_SUM);
    case SCAN: return dn_scan(team, source, result, 40, DN_UINT64, DN_SUM, DN_INCLUSIVE);
    case BROADCAST: return dn_broadcast(team, source, 6000, 0);
    case GATHER: return dn_allgather(team, source, result, 64);
    case ALL_TO_ALL: return dn_alltoall(team, source, result, 64);
    case SPLIT: error = dn_team_split(team, 0, 0, &part); return error ? error : dn_team_free(part);
    default: return dn_barrier_kind(team, DN_BARRIER_HOST);
    }
}

/* Every call on the team ends at once, now and later; questions are answered. */
static void expect_given_up(struct dn_team *team)
{
    int size = dn_team_size(team);
    int passed = 7;
    require(dn_team_node_rank(team, dn_team_rank(team)) == me.rank && size >= 1);
    for (int call = 0; call < CALLS; call++) {
        expect(call_on(team, (enum call)call), DN_EPEER);
    }
    expect(dn_barrier_wait(team, DN_FOREVER), DN_EPEER);
    expect(dn_barrier_test(team, &passed), DN_EPEER);
    require(passed == 7);
    expect(dn_team_revoke(team), 0);
    expect(dn_barrier(team, 0), DN_EPEER);
}

static struct dn_team *copy_of_all(void)
{
    struct dn_team *team;
    expect(dn_team_split(dn_team_all(me.node), 0, 0, &team), 0);
    return team;
}

/* One member gives up while the others wait for it in each kind of call, with each kind of barrier;
 * with and without memory of the team's that lies ready. */
static void giving_up_ends_every_call(void)
{
    for (int call = 0; call < CALLS; call++) {
        for (int kind = 0; kind < (call <= LOOKS ? 3 : 1); kind++) {
            struct dn_team *team = copy_of_all();
            struct dn_team *again;
            int giver = (call + kind) % me.size;
            expect(dn_barrier_kind(team, (enum dn_barrier_kind)kind), 0);
            expect(dn_barrier(team, LIVE_PATIENCE_NS), 0);
            if (me.rank == giver) {
                live_sleep_ns((uint64_t)(call % 3) * 2 * LIVE_MS);
                expect(dn_team_revoke(team), 0);
            } else {
                expect(call_on(team, (enum call)call), DN_EPEER);
            }
            expect_given_up(team);
            /* All are still there. */
            expect(dn_team_shrink(team, &again), 0);
            require(dn_team_size(again) == me.size && dn_team_rank(again) == me.rank);
            expect(dn_barrier(again, LIVE_PATIENCE_NS), 0);
            expect(dn_team_free(team), 0);
            expect(dn_team_free(again), 0);
        }
    }
}

/* What the giver has passed, everybody passes, however late: giving up overtakes no arrival. */
static void what_was_passed_stays_passed(void)
{
    uint64_t common = me.seed;
    for (int round = 0; round < 150; round++) {
        struct dn_team *team = copy_of_all();
        enum dn_barrier_kind kind = (enum dn_barrier_kind)(round % 3);
        int giver = (int)live_random(&common, (uint64_t)me.size);
        int late = (int)live_random(&common, (uint64_t)me.size);
        uint64_t sum = 1;
        expect(dn_barrier_kind(team, kind), 0);
        if (me.rank == late) {
            live_sleep_ns(200 * LIVE_US);
        }
        if (round % 4 == 0) {
            expect(dn_allreduce(team, &sum, &sum, 1, DN_UINT64, DN_SUM), 0);
            require(sum == (uint64_t)me.size);
        } else if (round % 4 == 1) {
            expect(dn_barrier_arrive(team), 0);
            if (me.rank == late) {
                live_sleep_ns(300 * LIVE_US);
            }
            expect(dn_barrier_wait(team, DN_FOREVER), 0);
        } else {
            expect(dn_barrier(team, DN_FOREVER), 0);
        }
        if (me.rank == giver) {
            expect(dn_team_revoke(team), 0);
        }
        expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
        expect(dn_team_free(team), 0);
    }
}

/* A member that has arrived and gives up before it has passed: the barrier may be over for some
 * and not for others, but nobody passes the next one. */
static void an_open_arrival_may_go_either_way(void)
{
    for (int round = 0; round < 60; round++) {
        struct dn_team *team = copy_of_all();
        expect(dn_barrier_kind(team, (enum dn_barrier_kind)(round % 3)), 0);
        if (me.rank == round % me.size) {
            expect(dn_barrier_arrive(team), 0);
            expect(dn_team_revoke(team), 0);
            expect(dn_barrier_wait(team, DN_FOREVER), DN_EPEER);
        } else {
            int error = dn_barrier(team, DN_FOREVER);
            require(error == 0 || error == DN_EPEER);
        }
        expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
        expect(dn_team_free(team), 0);
    }
}

static void *wait_in_barrier(void *team)
{
    expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
    return NULL;
}

/* Node 1 gives the team up while another of its threads waits there for all others. */
static void a_thread_ends_the_wait_of_another(void)
{
    for (int kind = 0; kind < 3; kind++) {
        struct dn_team *team = copy_of_all();
        pthread_t thread;
        expect(dn_barrier_kind(team, (enum dn_barrier_kind)kind), 0);
        if (me.rank == 1) {
            live_thread_start(&thread, wait_in_barrier, team);
            live_sleep_ns(3 * LIVE_MS);
            expect(dn_team_revoke(team), 0);
            expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
            live_thread_join(thread);
        }
        live_barrier();
        expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
        expect(dn_team_free(team), 0);
    }
}

static void mistakes_have_names(void)
{
    struct dn_team *team = copy_of_all();
    expect(dn_team_revoke(NULL), DN_EINVAL);
    expect(dn_team_free(team), 0);
    expect(dn_team_revoke(team), DN_ESTATE);
}

/* ---- The team of all --------------------------------------------------------------------- */

/* It can be given up, too: dn_alloc and dn_free then fail. All else goes on, teams that were made
 * before included, and shrinking makes another team of all. */
static int run_all(void)
{
    struct dn_team *team = copy_of_all();
    struct dn_team *all = dn_team_all(me.node);
    struct dn_team *again;
    struct dn_lock *lock;
    void *pointer;
    uint64_t sum = 1;
    uint64_t old;
    if (me.rank == me.size - 1) {
        expect(dn_team_revoke(all), 0);
    }
    expect(dn_alloc(me.node, 64, &pointer), DN_EPEER);
    expect(dn_free(me.node, me.llcm), DN_EPEER);
    expect_given_up(all);
    expect(dn_allreduce(team, &sum, &sum, 1, DN_UINT64, DN_SUM), 0);
    require(sum == (uint64_t)me.size);
    expect(dn_lock_open(me.node, live_place(0, LOCK_AT), &lock), 0);
    expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
    expect(dn_fetch_add_u64(me.node, live_place(0, GUARDED_AT), 1, &old), 0);
    expect(dn_lock_give(lock), 0);
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, LIVE_MS), DN_ETIMEOUT);
    expect(dn_team_shrink(all, &again), 0);
    expect(dn_barrier(again, LIVE_PATIENCE_NS), 0);
    require(me.rank != 0 || *live_u64(GUARDED_AT) == (uint64_t)me.size);
    expect(dn_team_free(again), 0);
    expect(dn_lock_close(lock), 0);
    expect(dn_team_free(team), 0);
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return dn_detach(me.node) ? 1 : 0;
}

/* ---- A death that not all hear of in the same call ----------------------------------------- */

/* The call waits for node 1, which waits for node 0 in shrinking. */
static int run_death(enum dn_barrier_kind kind, enum call call)
{
    struct dn_team *team = dn_team_all(me.node);
    struct dn_team *survivors;
    expect(dn_barrier_kind(team, kind), 0);
    expect(dn_barrier(team, LIVE_PATIENCE_NS), 0);
    if (me.rank == 1) {
        expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, DN_FOREVER), DN_EPEER);
    } else {
        if (me.rank == 2) {
            live_die_in(30 * LIVE_MS);
        }
        expect(call_on(team, call), DN_EPEER);
    }
    expect(dn_team_shrink(team, &survivors), 0);
    require(dn_team_size(survivors) == me.size - 1);
    expect(dn_barrier(survivors, LIVE_PATIENCE_NS), 0);
    expect_given_up(team);
    expect(dn_team_free(survivors), 0);
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return dn_detach(me.node) ? 1 : 0;
}

/* ---- Everything at once ------------------------------------------------------------------- */

enum { CHANNEL = 5, STORM_MS = 60 };

static struct {
    struct dn_team *team;
    struct dn_context *context;
    struct dn_lock *lock;
    uint64_t random; /* this node's own */
    uint64_t common; /* the same on all members of the team */
    uint64_t passed; /* calls on the team that returned 0 */
    bool was_open;   /* it was given up here between the two steps of a barrier */
    uint64_t teams;  /* how many there have been */
    uint64_t sent[64];
    uint64_t received[64]; /* the number of the last message, by rank */
} storm;

/* Counts a call on the team; gives its error, which only a death or giving up may be. */
static int count_call(int error)
{
    require_else(error == 0 || error == DN_EPEER, "a call gave %s", dn_errname(error));
    storm.passed += error == 0;
    return error;
}

/* A message to the next member, and those of the one before. Nobody waits long: the others may be
 * about to shrink the team. */
static int talk(void)
{
    int place = dn_team_rank(storm.team);
    int size = dn_team_size(storm.team);
    int to = dn_team_node_rank(storm.team, (place + 1) % size);
    int from = dn_team_node_rank(storm.team, (place + size - 1) % size);
    uint64_t number = storm.sent[to] + 1;
    if (size == 1) {
        return 0;
    }
    int error = dn_send(storm.context, to, &number, sizeof number, LIVE_MS);
    storm.sent[to] += error == 0;
    while (!error) {
        uint64_t came;
        error = dn_recv(storm.context, from, &came, sizeof came, 100 * LIVE_US, NULL, NULL);
        require_else(error || came == ++storm.received[from], "message %llu of node %d is lost",
                     (unsigned long long)storm.received[from], from);
    }
    require(error == DN_ETIMEOUT || error == DN_EPEER);
    return error == DN_ETIMEOUT ? 0 : error;
}

/* Two words at node 0 that are equal whenever nobody holds the lock. */
static int count_under_lock(void)
{
    struct dn_remote one = live_place(0, GUARDED_AT);
    struct dn_remote other = live_place(0, GUARDED_AT + 8);
    uint64_t values[2];
    int error = dn_lock_take(storm.lock, 2 * LIVE_MS);
    if (error == DN_ETIMEOUT) {
        return 0;
    }
    require(error == 0 || error == DN_EOWNERDEAD);
    expect(dn_read_u64(me.node, one, &values[0]), 0);
    expect(dn_read_u64(me.node, other, &values[1]), 0);
    require(error == DN_EOWNERDEAD || values[0] == values[1]);
    expect(dn_set_u64(me.node, one, values[0] + 1), 0);
    expect(dn_set_u64(me.node, other, values[0] + 1), 0);
    /* By packets it also tells of what this lane had sent to a node that died. */
    error = dn_lock_give(storm.lock);
    require(error == 0 || (error == DN_EPEER && live_shares_nothing()));
    return 0;
}

static int barrier_in_two_steps(void)
{
    int error = dn_barrier_arrive(storm.team);
    if (error) {
        return count_call(error);
    }
    /* Whoever hears of a death here gives up in the middle of a barrier. */
    if (talk() != 0) {
        storm.was_open = true;
        return DN_EPEER;
    }
    return count_call(dn_barrier_wait(storm.team, DN_FOREVER));
}

/* The bytes tell who is in the team, so that a wrong result shows. */
static int reduce(size_t count)
{
    uint64_t words[1500];
    for (size_t i = 0; i < count; i++) {
        words[i] = i + 1;
    }
    int error = count_call(dn_allreduce(storm.team, words, words, count, DN_UINT64, DN_SUM));
    for (size_t i = 0; i < count && !error; i++) {
        require(words[i] == (i + 1) * (uint64_t)dn_team_size(storm.team));
    }
    return error;
}

static int broadcast(uint64_t root)
{
    uint64_t words[700];
    live_fill(words, sizeof words, (uint64_t)me.rank);
    int error = count_call(dn_broadcast(storm.team, words, sizeof words, (int)root));
    uint64_t owner = (uint64_t)dn_team_node_rank(storm.team, (int)root);
    require(error || live_first_other(words, sizeof words, owner) == sizeof words);
    return error;
}

/* One step that all members draw alike, between things that each does on its own. */
static int one_step(void)
{
    uint64_t size = (uint64_t)dn_team_size(storm.team);
    if (live_random(&storm.random, 40) == 0) {
        expect(dn_team_revoke(storm.team), 0);
        return DN_EPEER;
    }
    if (live_random(&storm.random, 4) == 0 && talk() != 0) {
        return DN_EPEER;
    }
    if (live_random(&storm.random, 8) == 0 && count_under_lock() != 0) {
        return DN_EPEER;
    }
    switch (live_random(&storm.common, 9)) {
    case 0: return count_call(call_on(storm.team, BARRIER));
    case 1: return count_call(call_on(storm.team, SHORT_BARRIERS));
    case 2: return barrier_in_two_steps();
    case 3: return reduce(1);
    case 4: return reduce(live_random(&storm.common, 1500) + 1);
    case 5: return broadcast(live_random(&storm.common, size));
    case 6: return count_call(call_on(storm.team, ALL_TO_ALL));
    case 7: return count_call(call_on(storm.team, SPLIT));
    default:
        return count_call(
            dn_barrier_kind(storm.team, (enum dn_barrier_kind)live_random(&storm.common, 3)));
    }
}

/* The survivors' new team. All of them had passed the same calls on the old one; only if somebody
 * gave it up in the middle of a barrier, some may have passed that one and others not. */
static int renew(void)
{
    struct dn_team *survivors;
    uint64_t views[64][2];
    uint64_t own[2] = {storm.passed, storm.was_open};
    uint64_t start_ns = live_now_ns();
    expect(dn_team_shrink(storm.team, &survivors), 0);
    uint64_t took_ns = live_now_ns() - start_ns;
    require_else(took_ns < LIVE_SOON_NS, "shrinking took %llu ms",
                 (unsigned long long)(took_ns / LIVE_MS));
    int size = dn_team_size(survivors);
    require(size <= dn_team_size(storm.team));
    require(dn_barrier(storm.team, DN_FOREVER) == DN_EPEER);
    expect(dn_team_free(storm.team), 0);
    storm.team = survivors;
    storm.passed = 0;
    storm.was_open = false;
    storm.common = live_mix(me.seed + ++storm.teams);
    int error = count_call(dn_allgather(survivors, own, views, sizeof own));
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    bool may_differ = false;
    for (int i = 0; i < size && !error; i++) {
        least = views[i][0] < least ? views[i][0] : least;
        most = views[i][0] > most ? views[i][0] : most;
        may_differ = may_differ || views[i][1];
    }
    require_else(error || most - least <= may_differ,
                 "%llu calls were passed by one, %llu by another", (unsigned long long)least,
                 (unsigned long long)most);
    return error;
}

static void open_all(void)
{
    int ranks[64];
    for (int rank = 0; rank < me.size; rank++) {
        ranks[rank] = rank;
    }
    expect(dn_context_open(me.node, CHANNEL, ranks, (size_t)me.size, ranks, (size_t)me.size, NULL,
                           &storm.context),
           0);
    expect(dn_lock_open(me.node, live_place(0, LOCK_AT), &storm.lock), 0);
    storm.random = me.seed * 77 + (uint64_t)me.rank;
}

/* The survivors end together, on a team that holds just them. */
static int run_storm(int argc, char **argv)
{
    struct dn_team *all = dn_team_all(me.node);
    uint64_t words[2];
    open_all();
    int error = dn_team_split(all, 0, 0, &storm.team);
    if (error) {
        expect(error, DN_EPEER);
        expect(dn_team_shrink(all, &storm.team), 0);
    }
    storm.common = live_mix(me.seed);
    for (int i = 2; i < argc; i++) {
        if (atoi(argv[i]) == me.rank) {
            live_die_in(live_random(&storm.random, STORM_MS / 2 * LIVE_MS) + 1);
        }
    }
    uint64_t end_ns = live_now_ns() + STORM_MS * LIVE_MS;
    do {
        error = one_step();
        words[0] = 1;
        words[1] = live_now_ns() > end_ns;
        error = error ? error
                      : count_call(dn_allreduce(storm.team, words, words, 2, DN_UINT64, DN_SUM));
        for (int again = error; again; again = renew()) {
            expect(again, DN_EPEER);
        }
    } while (error || words[0] != words[1]);
    require_else(argc == 2 || words[0] == (uint64_t)(me.size - (argc - 2)), "%llu members are left",
                 (unsigned long long)words[0]);
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    expect(dn_team_free(storm.team), 0);
    return dn_detach(me.node) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(2, giving_up_ends_every_call),
        LIVE_CHECK(2, what_was_passed_stays_passed),
        LIVE_CHECK(2, an_open_arrival_may_go_either_way),
        LIVE_CHECK(2, a_thread_ends_the_wait_of_another),
        LIVE_CHECK(1, mistakes_have_names),
    };
    if (argc < 2 || strcmp(argv[1], "--list") == 0 || argv[1][0] != '-') {
        return live_main(argc, argv, checks, LIVE_COUNT(checks));
    }
    me.check = argv[1];
    live_attach();
    if (strcmp(argv[1], "--all") == 0) {
        return run_all();
    }
    if (argc == 4 && strcmp(argv[1], "--death") == 0) {
        return run_death((enum dn_barrier_kind)atoi(argv[2]), (enum call)atoi(argv[3]));
    }
    require(strcmp(argv[1], "--storm") == 0);
    return run_storm(argc, argv);
}
