/* Teams: any list, made and freed while others run, split, barriers in two steps. With --storm it
 * also runs in team.sh's groups in which members are killed. */
#include <signal.h>

#include "live/live.h"

/* Checks the sum of all members' ranks in the group, which tells who is in a team. */
static void expect_members(struct dn_team *team, uint64_t sum)
{
    uint64_t mine = (uint64_t)me.rank + 1;
    uint64_t total = 0;
    expect(dn_allreduce(team, &mine, &total, 1, DN_UINT64, DN_SUM), 0);
    require_else(total == sum, "the sum is %llu, not %llu", (unsigned long long)total,
                 (unsigned long long)sum);
}

/* Draws a list, in random order, from a state that is the same on all nodes; gives whether this
 * node is in it. */
static bool draw_list(uint64_t *state, int *ranks, size_t *count, uint64_t *sum)
{
    bool named = false;
    int order[64];
    *count = 0;
    *sum = 0;
    for (int i = 0; i < me.size; i++) {
        int j = (int)live_random(state, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    size_t wanted = (size_t)live_random(state, (uint64_t)me.size) + 1;
    for (size_t i = 0; i < wanted; i++) {
        ranks[(*count)++] = order[i];
        *sum += (uint64_t)order[i] + 1;
        named |= order[i] == me.rank;
    }
    return named;
}

/* ---- Making ---------------------------------------------------------------------- */

static void the_team_of_all(void)
{
    struct dn_team *all;
    struct dn_team *again;
    all = dn_team_all(me.node);
    again = dn_team_all(me.node);
    require(all == again);
    require(dn_team_rank(all) == me.rank && dn_team_size(all) == me.size);
    for (int rank = 0; rank < me.size; rank++) {
        require(dn_team_node_rank(all, rank) == rank);
    }
    expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
    expect(dn_team_free(all), DN_EINVAL);
    expect_members(all, (uint64_t)(me.size * (me.size + 1) / 2));
}

static void any_list_makes_a_team(void)
{
    uint64_t state = me.seed;
    for (int round = 0; round < 40; round++) {
        int ranks[64];
        size_t count;
        uint64_t sum;
        if (draw_list(&state, ranks, &count, &sum)) {
            struct dn_team *team;
            expect(dn_team_create(me.node, ranks, count, &team), 0);
            require(dn_team_size(team) == (int)count);
            require(ranks[dn_team_rank(team)] == me.rank);
            for (int i = 0; i < (int)count; i++) {
                require(dn_team_node_rank(team, i) == ranks[i]);
            }
            expect(dn_team_node_rank(team, (int)count), DN_ERANK);
            expect(dn_team_node_rank(team, -1), DN_ERANK);
            expect_members(team, sum);
            expect(dn_team_free(team), 0);
            expect(dn_team_rank(team), DN_ESTATE);
            expect(dn_team_free(team), DN_ESTATE);
            expect(dn_barrier(team, 0), DN_ESTATE);
        }
    }
}

/* The same list twice gives two teams. */
static void teams_of_one_list_are_apart(void)
{
    struct dn_team *teams[3];
    int ranks[64];
    for (int i = 0; i < me.size; i++) {
        ranks[i] = me.size - 1 - i;
    }
    for (int i = 0; i < 3; i++) {
        expect(dn_team_create(me.node, ranks, (size_t)me.size, &teams[i]), 0);
    }
    /* Arrive in all of them at once; no arrival counts for another team. */
    for (int i = 0; i < 3; i++) {
        int passed = 1;
        if (me.size > 1 && me.rank == 0) {
            live_sleep_ns(LIVE_MS);
        }
        expect(dn_barrier_arrive(teams[i]), 0);
        expect(dn_barrier_test(teams[i], &passed), 0);
        if (!passed) {
            expect(dn_barrier_wait(teams[i], LIVE_PATIENCE_NS), 0);
        }
    }
    for (int i = 0; i < 3; i++) {
        expect(dn_team_free(teams[i]), 0);
    }
}

/* Rows and columns of a table of nodes, at work in turn. */
static void overlapping_teams_work_in_turn(void)
{
    int width = me.size >= 6 ? 3 : 2;
    int row[64];
    int column[64];
    size_t row_count = 0;
    size_t column_count = 0;
    uint64_t row_sum = 0;
    uint64_t column_sum = 0;
    for (int rank = 0; rank < me.size; rank++) {
        if (rank / width == me.rank / width) {
            row[row_count++] = rank;
            row_sum += (uint64_t)rank + 1;
        }
        if (rank % width == me.rank % width) {
            column[column_count++] = rank;
            column_sum += (uint64_t)rank + 1;
        }
    }
    struct dn_team *rows;
    struct dn_team *columns;
    expect(dn_team_create(me.node, row, row_count, &rows), 0);
    expect(dn_team_create(me.node, column, column_count, &columns), 0);
    for (int i = 0; i < 200; i++) {
        expect_members(rows, row_sum);
        expect_members(columns, column_sum);
        if (i % 50 == 0) {
            live_barrier();
        }
    }
    expect(dn_team_free(rows), 0);
    expect(dn_team_free(columns), 0);
}

enum { OPEN_MAX = 6 };

/* Several teams at a time, each used a little, freed in another order than made. */
static void teams_come_and_go_while_others_work(void)
{
    struct {
        struct dn_team *team;
        bool is_open;
        bool mine;
        uint64_t sum;
    } open[OPEN_MAX] = {0};
    uint64_t state = me.seed * 3;
    for (int step = 0; step < 300; step++) {
        uint64_t at = live_random(&state, OPEN_MAX);
        if (!open[at].is_open) {
            int ranks[64];
            size_t count;
            open[at].mine = draw_list(&state, ranks, &count, &open[at].sum);
            open[at].is_open = true;
            if (open[at].mine) {
                expect(dn_team_create(me.node, ranks, count, &open[at].team), 0);
            }
        } else if (live_random(&state, 3) == 0) {
            open[at].is_open = false;
            if (open[at].mine) {
                expect(dn_team_free(open[at].team), 0);
            }
        } else if (open[at].mine) {
            expect_members(open[at].team, open[at].sum);
        }
    }
    for (int at = 0; at < OPEN_MAX; at++) {
        if (open[at].is_open && open[at].mine) {
            expect(dn_team_free(open[at].team), 0);
        }
    }
}

/* Far more teams than there are slots or service memory at a time. */
static void thousands_of_teams_leave_nothing(void)
{
    int ranks[64];
    for (int i = 0; i < me.size; i++) {
        ranks[i] = i;
    }
    for (int i = 0; i < 3000 / me.size; i++) {
        struct dn_team *team;
        uint64_t words[64];
        expect(dn_team_create(me.node, ranks, (size_t)me.size, &team), 0);
        /* This one takes staging memory of half a megabyte: 2000 of them would be 1 GB. */
        for (uint64_t word = 0; word < 64; word++) {
            words[word] = word * 1000 + (uint64_t)i + (uint64_t)me.rank;
        }
        expect(dn_allreduce(team, words, words, 64, DN_UINT64, DN_MAX), 0);
        for (uint64_t word = 0; word < 64; word++) {
            require(words[word] == word * 1000 + (uint64_t)i + (uint64_t)me.size - 1);
        }
        expect(dn_team_free(team), 0);
    }
}

static void *make_teams_in_a_thread(void *argument)
{
    int turn = *(int *)argument;
    int ranks[64];
    for (int i = 0; i < me.size; i++) {
        ranks[i] = (i + turn) % me.size;
    }
    for (int i = 0; i < 60; i++) {
        struct dn_team *team;
        expect(dn_team_create(me.node, ranks, (size_t)me.size, &team), 0);
        expect_members(team, (uint64_t)(me.size * (me.size + 1) / 2));
        expect(dn_team_free(team), 0);
    }
    return NULL;
}

/* Lists with different first members; in small groups several threads also make lists with the same
 * first member, each its own. */
static void threads_make_teams_at_once(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    int turns[THREADS];
    int count = me.size < THREADS ? me.size : THREADS;
    for (int i = 0; i < count; i++) {
        turns[i] = i;
        live_thread_start(&threads[i], make_teams_in_a_thread, &turns[i]);
    }
    for (int i = 0; i < count; i++) {
        live_thread_join(threads[i]);
    }
}

struct pair_of {
    int first;
    int second;
};

static void *make_pairs_in_a_thread(void *argument)
{
    const struct pair_of *pair = argument;
    int ranks[2] = {pair->first, pair->second};
    for (int i = 0; i < 100; i++) {
        struct dn_team *team;
        expect(dn_team_create(me.node, ranks, 2, &team), 0);
        expect_members(team, (uint64_t)(pair->first + pair->second + 2));
        expect(dn_team_free(team), 0);
    }
    return NULL;
}

/* Node 0 leads a pair with every other node, all of them at once. */
static void one_leads_many_teams_at_once(void)
{
    pthread_t threads[64];
    struct pair_of pairs[64];
    for (int rank = 1; rank < me.size; rank++) {
        pairs[rank] = (struct pair_of){0, rank};
        if (me.rank == 0 || me.rank == rank) {
            live_thread_start(&threads[rank], make_pairs_in_a_thread, &pairs[rank]);
        }
    }
    for (int rank = 1; rank < me.size; rank++) {
        if (me.rank == 0 || me.rank == rank) {
            live_thread_join(threads[rank]);
        }
    }
}

static void bad_lists_have_names(void)
{
    struct dn_team *team = NULL;
    int ranks[65];
    for (int i = 0; i < 65; i++) {
        ranks[i] = i;
    }
    expect(dn_team_create(NULL, ranks, 1, &team), DN_EINVAL);
    expect(dn_team_create(me.node, NULL, 1, &team), DN_EINVAL);
    expect(dn_team_create(me.node, ranks, 1, NULL), DN_EINVAL);
    expect(dn_team_create(me.node, ranks, 0, &team), DN_EINVAL);
    expect(dn_team_create(me.node, ranks, (size_t)me.size + 1, &team), DN_EINVAL);
    expect(dn_team_create(me.node, ranks, SIZE_MAX, &team), DN_EINVAL);
    int outside[2] = {me.rank, me.size};
    int negative[2] = {-1, me.rank};
    int twice[2] = {me.rank, me.rank};
    int without[1] = {(me.rank + 1) % me.size};
    if (me.size > 1) {
        expect(dn_team_create(me.node, outside, 2, &team), DN_ERANK);
        expect(dn_team_create(me.node, negative, 2, &team), DN_ERANK);
        expect(dn_team_create(me.node, twice, 2, &team), DN_EINVAL);
        expect(dn_team_create(me.node, without, 1, &team), DN_EINVAL);
    }
    require(team == NULL && !dn_team_all(NULL));
    expect(dn_team_rank(NULL), DN_EINVAL);
    expect(dn_team_size(NULL), DN_EINVAL);
    expect(dn_team_free(NULL), DN_EINVAL);
    expect(dn_barrier(NULL, 0), DN_EINVAL);
    expect(dn_barrier_arrive(NULL), DN_EINVAL);
    expect(dn_barrier_wait(NULL, 0), DN_EINVAL);
    expect(dn_team_shrink(NULL, &team), DN_EINVAL);
    expect(dn_team_split(NULL, 0, 0, &team), DN_EINVAL);
    /* None of that has put the nodes out of step. */
    expect(dn_team_create(me.node, ranks, (size_t)me.size, &team), 0);
    expect_members(team, (uint64_t)(me.size * (me.size + 1) / 2));
    expect(dn_team_free(team), 0);
}

/* ---- Splitting ---------------------------------------------------------------------- */

static void splits_by_colour_and_key(void)
{
    struct dn_team *all;
    struct dn_team *part;
    all = dn_team_all(me.node);
    /* Every third colour; the keys reverse the order. */
    expect(dn_team_split(all, me.rank % 3, -me.rank, &part), 0);
    int members = 0;
    uint64_t sum = 0;
    for (int rank = me.size - 1; rank >= 0; rank--) {
        if (rank % 3 == me.rank % 3) {
            require(dn_team_node_rank(part, members) == rank);
            members++;
            sum += (uint64_t)rank + 1;
        }
    }
    require(dn_team_size(part) == members);
    expect_members(part, sum);
    /* A part of a part; equal keys keep the order. */
    struct dn_team *half;
    int place = dn_team_rank(part);
    expect(dn_team_split(part, place % 2 ? INT32_MAX : 0, 5, &half), 0);
    require(dn_team_size(half) == (place % 2 ? members / 2 : (members + 1) / 2));
    require(dn_team_rank(half) == place / 2);
    expect(dn_team_free(half), 0);
    expect(dn_team_free(part), 0);
    /* Some take no part. */
    part = all;
    expect(dn_team_split(all, me.rank == 0 ? -1 : 7, 0, &part), 0);
    require(me.rank == 0 ? part == NULL : dn_team_size(part) == me.size - 1);
    if (part) {
        expect(dn_team_free(part), 0);
    }
    expect(dn_team_split(all, 0, 0, NULL), DN_EINVAL);
}

static void shrinking_a_whole_team_copies_it(void)
{
    struct dn_team *all;
    struct dn_team *copy;
    all = dn_team_all(me.node);
    expect(dn_team_shrink(all, &copy), 0);
    require(dn_team_size(copy) == me.size && dn_team_rank(copy) == me.rank);
    expect_members(copy, (uint64_t)(me.size * (me.size + 1) / 2));
    expect(dn_team_free(copy), 0);
}

/* ---- Barriers ----------------------------------------------------------------------- */

static void barriers_in_two_steps(void)
{
    static const enum dn_barrier_kind kinds[] = {DN_BARRIER_FASTEST, DN_BARRIER_HOST,
                                                 DN_BARRIER_NIC};
    struct dn_team *team;
    struct dn_team *all;
    uint64_t round = 0;
    all = dn_team_all(me.node);
    expect(dn_team_shrink(all, &team), 0);
    for (int kind = 0; kind < 3; kind++) {
        expect(dn_barrier_kind(team, kinds[kind]), 0);
        /* More than 256, because of one-byte counts. */
        for (int i = 0; i < 300; i++) {
            int passed = 0;
            round++;
            if (i % 40 == me.rank) {
                live_sleep_ns(200 * LIVE_US);
            }
            expect(dn_set_u64(me.node, live_place(live_neighbour(1), 0), round), 0);
            switch (i % 3) {
            case 0: expect(dn_barrier(team, LIVE_PATIENCE_NS), 0); break;
            case 1:
                expect(dn_barrier_arrive(team), 0);
                expect(dn_barrier_arrive(team), DN_ESTATE);
                expect(dn_barrier_wait(team, LIVE_PATIENCE_NS), 0);
                break;
            default:
                expect(dn_barrier_arrive(team), 0);
                while (!passed) {
                    expect(dn_barrier_test(team, &passed), 0);
                    if (!passed) {
                        live_sleep_ns(10 * LIVE_US);
                    }
                }
            }
            /* Every node told its neighbour the round before the barrier. */
            require_else(dn_load_u64(live_u64(0)) >= round, "the neighbour has not come");
            expect(dn_barrier_wait(team, 0), DN_ESTATE);
            expect(dn_barrier_test(team, &passed), DN_ESTATE);
        }
    }
    expect(dn_team_free(team), 0);
}

/* Between two host-driven barriers, make as many other calls as give a one-byte count of phases the
 * same value again. */
static void old_counts_are_not_taken_for_new(void)
{
    struct dn_team *team;
    struct dn_team *all = dn_team_all(me.node);
    expect(dn_team_shrink(all, &team), 0);
    expect(dn_barrier_kind(team, DN_BARRIER_HOST), 0);
    expect(dn_barrier(team, LIVE_PATIENCE_NS), 0);
    for (int i = 0; i < 255; i++) {
        expect_members(team, (uint64_t)(me.size * (me.size + 1) / 2));
    }
    if (me.rank == me.size - 1) {
        live_sleep_ns(5 * LIVE_MS);
        for (int rank = 0; rank < me.size; rank++) {
            expect(dn_set_u64(me.node, live_place(rank, 0), 99), 0);
        }
    }
    expect(dn_barrier(team, LIVE_PATIENCE_NS), 0);
    require(dn_load_u64(live_u64(0)) == 99);
    expect(dn_team_free(team), 0);
}

static void a_barrier_that_timed_out_goes_on(void)
{
    struct dn_team *all;
    struct dn_team *team;
    all = dn_team_all(me.node);
    expect(dn_team_shrink(all, &team), 0);
    for (int kind = 0; kind < 3; kind++) {
        expect(dn_barrier_kind(team, (enum dn_barrier_kind)kind), 0);
        if (me.rank == 0) {
            live_sleep_ns(10 * LIVE_MS);
            expect(dn_barrier(team, LIVE_PATIENCE_NS), 0);
        } else {
            int error = dn_barrier(team, 100 * LIVE_US);
            if (error) {
                expect(error, DN_ETIMEOUT);
                expect(dn_barrier_arrive(team), DN_ESTATE);
                expect(dn_barrier_wait(team, LIVE_PATIENCE_NS), 0);
            }
        }
    }
    expect(dn_team_free(team), 0);
}

/* Freeing a team passes a barrier that is still open. */
static void freeing_ends_an_open_barrier(void)
{
    struct dn_team *all = dn_team_all(me.node);
    for (int kind = 0; kind < 3; kind++) {
        struct dn_team *team;
        expect(dn_team_shrink(all, &team), 0);
        expect(dn_barrier_kind(team, (enum dn_barrier_kind)kind), 0);
        expect(dn_barrier_arrive(team), 0);
        if (me.rank % 2) {
            expect(dn_barrier_wait(team, LIVE_PATIENCE_NS), 0);
        }
        expect(dn_team_free(team), 0);
    }
}

/* ---- Killed members -------------------------------------------------------------------- */

static void expect_broken(struct dn_team *team)
{
    uint64_t word = 1;
    int passed;
    uint64_t block[64] = {0};
    expect(dn_allreduce(team, &word, &word, 1, DN_UINT64, DN_SUM), DN_EPEER);
    expect(dn_allreduce(team, block, block, 64, DN_UINT64, DN_SUM), DN_EPEER);
    expect(dn_broadcast(team, block, sizeof block, 0), DN_EPEER);
    expect(dn_allgather(team, &word, block, 1), DN_EPEER);
    expect(dn_barrier(team, DN_FOREVER), DN_EPEER);
    expect(dn_barrier_arrive(team), DN_EPEER);
    expect(dn_barrier_wait(team, DN_FOREVER), DN_EPEER);
    expect(dn_barrier_test(team, &passed), DN_EPEER);
}

static void die_within(uint64_t ns, uint64_t *random)
{
    live_die_in(live_random(random, ns) + 1);
}

/* Uses the team once more; gives how many members there are and how many want to end. */
static int use(struct dn_team *team, uint64_t *random, bool ends, uint64_t *count, uint64_t *ending)
{
    uint64_t words[600] = {1, ends};
    /* One word, a few or more; all members draw the same. */
    size_t length = (size_t[]){2, 60, 600}[live_random(random, 3)];
    int error = dn_allreduce(team, words, words, length, DN_UINT64, DN_SUM);
    if (!error && live_random(random, 2)) {
        error = dn_barrier(team, DN_FOREVER);
    }
    if (!error && live_random(random, 5) == 0) {
        error = dn_barrier_kind(team, (enum dn_barrier_kind)live_random(random, 3));
    }
    if (!error && live_random(random, 8) == 0) {
        struct dn_team *part;
        error = dn_team_split(team, 1, 0, &part);
        error = error ? error : dn_team_free(part);
    }
    *count = words[0];
    *ending = words[1];
    return error;
}

/* All work on a team; the nodes that the command line names die somewhere within 15 ms. The
 * survivors shrink the team as often as it breaks, and end together on one that holds just them.
 * This is also the workload of the kill-point build. */
static int run_storm(int argc, char **argv)
{
    int ranks[64];
    struct dn_team *team;
    uint64_t random = me.seed * 77 + (uint64_t)me.rank;
    uint64_t drawn = me.seed;
    uint64_t count = 0;
    uint64_t ending = 0;
    int victims = argc - 2;
    for (int i = 0; i < me.size; i++) {
        ranks[i] = me.size - 1 - i;
    }
    int error = dn_team_create(me.node, ranks, (size_t)me.size, &team);
    if (error == DN_EPEER) {
        struct dn_team *all = dn_team_all(me.node);
        expect(dn_team_shrink(all, &team), 0);
    } else {
        expect(error, 0);
    }
    for (int i = 2; i < argc; i++) {
        if (atoi(argv[i]) == me.rank) {
            die_within(15 * LIVE_MS, &random);
        }
    }
    uint64_t end_ns = live_now_ns() + 30 * LIVE_MS;
    do {
        error = use(team, &drawn, live_now_ns() > end_ns, &count, &ending);
        if (error) {
            struct dn_team *survivors;
            expect(error, DN_EPEER);
            expect_broken(team);
            uint64_t start_ns = live_now_ns();
            expect(dn_team_shrink(team, &survivors), 0);
            uint64_t took_ns = live_now_ns() - start_ns;
            require_else(took_ns < LIVE_SOON_NS, "shrinking took %llu ms",
                         (unsigned long long)(took_ns / LIVE_MS));
            require(dn_team_size(survivors) < dn_team_size(team));
            expect(dn_team_free(team), 0);
            team = survivors;
            drawn = me.seed + (uint64_t)dn_team_size(team);
        }
    } while (error || ending != count);
    require_else(victims == 0 || count == (uint64_t)(me.size - victims), "%llu members are left",
                 (unsigned long long)count);
    expect(dn_team_free(team), 0);
    /* No node is killed behind this line: where few calls fit into the time, the last one may be
     * the first to come to a kill point. */
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return dn_detach(me.node) ? 1 : 0;
}

/* The last node dies. One of the survivors dies while the team shrinks, after it has come there,
 * and node 1 comes only then: it asks for another list than those that wait. */
static int run_late(void)
{
    struct dn_team *all;
    struct dn_team *survivors;
    uint64_t random = me.seed;
    all = dn_team_all(me.node);
    expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
    if (me.rank == me.size - 1) {
        (void)raise(SIGKILL);
    }
    expect(dn_barrier(all, LIVE_PATIENCE_NS), DN_EPEER);
    if (me.rank == me.size - 2) {
        die_within(20 * LIVE_MS, &random);
    } else if (me.rank == 1) {
        live_wait_for_life(me.size - 2, DN_DEAD);
    }
    expect(dn_team_shrink(all, &survivors), 0);
    require(dn_team_size(survivors) == me.size - 2);
    expect(dn_barrier(survivors, LIVE_PATIENCE_NS), 0);
    expect(dn_team_free(survivors), 0);
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return dn_detach(me.node) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, the_team_of_all),
        LIVE_CHECK(1, any_list_makes_a_team),
        LIVE_CHECK(1, teams_of_one_list_are_apart),
        LIVE_CHECK(2, overlapping_teams_work_in_turn),
        LIVE_CHECK(1, teams_come_and_go_while_others_work),
        LIVE_CHECK_UP_TO(1, 3, thousands_of_teams_leave_nothing),
        LIVE_CHECK(1, threads_make_teams_at_once),
        LIVE_CHECK(2, one_leads_many_teams_at_once),
        LIVE_CHECK(1, bad_lists_have_names),
        LIVE_CHECK(1, splits_by_colour_and_key),
        LIVE_CHECK(1, shrinking_a_whole_team_copies_it),
        LIVE_CHECK(1, barriers_in_two_steps),
        LIVE_CHECK(1, old_counts_are_not_taken_for_new),
        LIVE_CHECK(1, a_barrier_that_timed_out_goes_on),
        LIVE_CHECK(1, freeing_ends_an_open_barrier),
    };
    if (argc >= 2 && strcmp(argv[1], "--storm") == 0) {
        me.check = argv[1];
        live_attach();
        return run_storm(argc, argv);
    }
    if (argc == 2 && strcmp(argv[1], "--late") == 0) {
        me.check = argv[1];
        live_attach();
        return run_late();
    }
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
