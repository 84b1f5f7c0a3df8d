/* Teams on a fabric with mirrors: results are right whatever the order of packets, and a death at
 * any point of a call ends it in the same way for all survivors. */
#include "unit/fake_fabric.h"

#include "team/barrier.h"
#include "team/reduce.h"
#include "team/staging.h"
#include "team/team_by_packets.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    struct base_random random = {a * UINT64_C(0x9e3779b97f4a7c15) + b};
    return base_random_next(&random);
}

/* The same numbers on all nodes, from a seed that all share. */
static uint64_t common_seed;

static int sum_of(struct dn_team *team, const uint64_t *source, uint64_t *result, size_t count)
{
    struct team_reduction reduction;
    fake_require(team_reduction_of(DN_UINT64, DN_SUM, count, &reduction) == 0);
    return team_allreduce(team, source, result, &reduction);
}

static int scan_of(struct dn_team *team, const uint64_t *source, uint64_t *result, size_t count,
                   enum dn_scan_kind kind)
{
    struct team_reduction reduction;
    fake_require(team_reduction_of(DN_UINT64, DN_SUM, count, &reduction) == 0);
    return team_scan(team, source, result, &reduction, kind);
}

/* ---- Nodes -------------------------------------------------------------------------------- */

/* Whether a node finds by asking what had been sent before, as where no packet is late. */
static bool asks_wait = true;

/* With hosts NULL each node has its own. */
static void make_on(uint32_t node_count, const uint32_t *hosts)
{
    struct nic_services_config services;
    nic_services_config_default(&services, node_count);
    services.team_count = 1;
    fake_make(&(struct fake_settings){
        .node_count = node_count, .hosts = hosts, .asks_wait = asks_wait, .services = &services});
}

static void (*run_team)(struct dn_node *node);

/* The services have no line left for a barrier. */
static void run_node(struct dn_node *node)
{
    const uint16_t alone = (uint16_t)fake_own->rank;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(&node->lane, &now_ns);
    int error = nic_packet_barrier_open(services, now_ns, 1, &alone, 1);
    fabric_services_give(&node->lane);
    fake_require(error == 0);
    fake_require(team_all_make(node) == 0);
    run_team(node);
    team_all_end(node);
}

/* As fake_run_nodes, with a team of all. */
static uint32_t run_nodes(uint64_t seed, uint32_t victim, uint64_t dies_at,
                          void (*run)(struct dn_node *node))
{
    run_team = run;
    return fake_run_nodes(seed, victim, dies_at, run_node);
}

/* ---- Results ----------------------------------------------------------------------------- */

/* Around the borders between the ways of each call. */
static const size_t counts[] = {1, 2, 7, 512, 513, 700, 5000, 32768, 40000, 70001};
enum { COUNT_MAX = 70001 };

static void check_reductions(struct dn_team *team, size_t count, uint64_t *source, uint64_t *result)
{
    uint32_t members = team->nic.count;
    uint32_t me = team->nic.index;
    for (size_t i = 0; i < count; i++) {
        source[i] = mix(me, i);
    }
    fake_require(sum_of(team, source, result, count) == 0);
    for (size_t i = 0; i < count; i += 1 + i / 16) {
        uint64_t sum = 0;
        for (uint32_t member = 0; member < members; member++) {
            sum += mix(member, i);
        }
        fake_require(result[i] == sum);
    }
    for (int kind = DN_INCLUSIVE; kind <= DN_EXCLUSIVE; kind++) {
        uint32_t last = kind == DN_INCLUSIVE ? me + 1 : me;
        memset(result, 7, count * sizeof *result);
        fake_require(scan_of(team, source, result, count, (enum dn_scan_kind)kind) == 0);
        for (size_t i = 0; i < count && last > 0; i += 1 + i / 16) {
            uint64_t sum = 0;
            for (uint32_t member = 0; member < last; member++) {
                sum += mix(member, i);
            }
            fake_require(result[i] == sum);
        }
    }
}

static void check_movements(struct dn_team *team, size_t bytes, unsigned char *source,
                            unsigned char *result)
{
    uint32_t members = team->nic.count;
    uint32_t me = team->nic.index;
    uint32_t root = (uint32_t)(bytes % members);
    for (size_t i = 0; i < bytes * members; i++) {
        source[i] = (unsigned char)mix(me + 100, i);
    }
    memcpy(result, source, bytes);
    fake_require(team_broadcast(team, result, bytes, (int)root) == 0);
    for (size_t i = 0; i < bytes; i++) {
        fake_require(result[i] == (unsigned char)mix(root + 100, i));
    }
    fake_require(team_allgather(team, source, result, bytes) == 0);
    for (uint32_t member = 0; member < members; member++) {
        for (size_t i = 0; i < bytes; i++) {
            fake_require(result[member * bytes + i] == (unsigned char)mix(member + 100, i));
        }
    }
    fake_require(team_alltoall(team, source, result, bytes) == 0);
    for (uint32_t member = 0; member < members; member++) {
        for (size_t i = 0; i < bytes; i++) {
            fake_require(result[member * bytes + i] ==
                         (unsigned char)mix(member + 100, me * bytes + i));
        }
    }
    /* Each node contributes another length, the last one nothing. */
    size_t sizes[FAKE_NODES_MAX];
    size_t received[FAKE_NODES_MAX];
    for (uint32_t member = 0; member < members; member++) {
        sizes[member] = bytes * (members - 1 - member) / members;
    }
    fake_require(team_alltoallv(team, source, sizes, result, bytes * members, received) == 0);
    size_t at = 0;
    for (uint32_t member = 0; member < members; member++) {
        size_t before = 0;
        for (uint32_t other = 0; other < me; other++) {
            before += sizes[other];
        }
        fake_require(received[member] == sizes[me]);
        for (size_t i = 0; i < received[member]; i++) {
            fake_require(result[at + i] == (unsigned char)mix(member + 100, before + i));
        }
        at += received[member];
    }
}

static void run_results(struct dn_node *node)
{
    uint64_t *source = calloc(COUNT_MAX * (size_t)FAKE_NODES_MAX, sizeof *source);
    uint64_t *result = calloc(COUNT_MAX * (size_t)FAKE_NODES_MAX, sizeof *result);
    fake_require(source && result);
    struct dn_team *all = team_all(node);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        check_reductions(all, counts[i], source, result);
        check_movements(all, counts[i] * 3, (unsigned char *)source, (unsigned char *)result);
        fake_require(team_barrier(all, DN_FOREVER) == 0);
    }
    free(source);
    free(result);
}

static void results_are_right_in_any_order_of_packets(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= 4; nodes++) {
        make_on(nodes, NULL);
        assert_int_equal(run_nodes(nodes, UINT32_MAX, 0, run_results), 0);
        fake_free();
    }
}

/* ---- Making and freeing -------------------------------------------------------------------- */

/* Whether this node is in a list drawn from the common numbers. */
static bool draw(struct base_random *random, int *ranks, size_t *count)
{
    bool named = false;
    int order[FAKE_NODES_MAX];
    *count = 0;
    for (uint32_t i = 0; i < fake->node_count; i++) {
        uint32_t j = (uint32_t)(base_random_next(random) % (i + 1));
        order[i] = order[j];
        order[j] = (int)i;
    }
    size_t wanted = 1 + base_random_next(random) % fake->node_count;
    for (size_t i = 0; i < wanted; i++) {
        ranks[(*count)++] = order[i];
        named |= order[i] == (int)fake_own->rank;
    }
    return named;
}

/* Others use the blocks and staging memory again at once. */
static void run_making(struct dn_node *node)
{
    struct base_random random = {common_seed};
    uint64_t words[64];
    for (int round = 0; round < 60; round++) {
        int ranks[FAKE_NODES_MAX];
        size_t count;
        struct dn_team *team;
        struct dn_team *part;
        if (!draw(&random, ranks, &count)) {
            continue;
        }
        fake_require(team_create(node, ranks, count, &team) == 0);
        /* No node needs another's next step to get its team. */
        fake_meet((uint32_t)round, (uint32_t)count);
        for (size_t i = 0; i < 64; i++) {
            words[i] = fake_own->rank + i;
        }
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += (uint64_t)ranks[i] + 5;
        }
        fake_require(sum_of(team, words, words, 64) == 0);
        fake_require(words[5] == sum);
        fake_require(team_split(team, (int)(team->nic.index % 2), 0, &part) == 0);
        uint64_t one = 1;
        fake_require(sum_of(part, &one, &one, 1) == 0);
        fake_require(one == part->nic.count);
        enum dn_barrier_kind kind = round % 2 ? DN_BARRIER_HOST : DN_BARRIER_FASTEST;
        fake_require(team_barrier_kind(part, kind) == 0);
        fake_require(team_barrier(part, DN_FOREVER) == 0);
        fake_require(team_free(part) == 0);
        fake_require(team_barrier(team, DN_FOREVER) == 0);
        fake_require(team_free(team) == 0);
    }
    fake_require(team_barrier_kind(team_all(node), DN_BARRIER_NIC) == DN_EFULL);
    fake_require(team_barrier(team_all(node), DN_FOREVER) == 0);
}

static void teams_come_and_go_on_the_same_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        common_seed = seed;
        make_on(4, NULL);
        assert_int_equal(run_nodes(seed, UINT32_MAX, 0, run_making), 0);
        fake_free();
    }
}

/* ---- Calls that are refused ------------------------------------------------------------------ */

/* A call refused because a barrier is open changes nothing that others read. */
static void run_refused(struct dn_node *node)
{
    struct dn_team *all = team_all(node);
    uint64_t words[64];
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 64; i++) {
            words[i] = fake_own->rank;
        }
        fake_require(sum_of(all, words, words, 64) == 0);
        fake_require(words[63] == fake->node_count * (fake->node_count - 1) / 2);
        if (fake_own->rank == 0) {
            uint64_t junk[64];
            memset(junk, 0xff, sizeof junk);
            fake_require(team_barrier_arrive(all) == 0);
            int error = sum_of(all, junk, junk, 64);
            fake_require(error == DN_EMISMATCH);
        }
        fake_require(team_barrier(all, DN_FOREVER) == 0);
        uint64_t words_of_another_kind[2] = {fake_own->rank, 1};
        int error = sum_of(all, words_of_another_kind, words_of_another_kind,
                           1 + fake_own->rank % 2);
        fake_require(error == DN_EMISMATCH);
    }
}

static void a_refused_call_disturbs_nobody(void **state)
{
    (void)state;
    make_on(3, NULL);
    assert_int_equal(run_nodes(5, UINT32_MAX, 0, run_refused), 0);
    fake_free();
}

/* ---- Teams that cannot be made ------------------------------------------------------------- */

static int create_of_all(struct dn_node *node, struct dn_team **team)
{
    int ranks[FAKE_NODES_MAX];
    for (uint32_t i = 0; i < fake->node_count; i++) {
        ranks[i] = (int)i;
    }
    return team_create(node, ranks, fake->node_count, team);
}

/* The first node, which leads in place, has no memory for a while. */
static void run_without_memory(struct dn_node *node)
{
    uint64_t taken[64];
    uint32_t count = 0;
    struct dn_team *team;
    struct base_extents *arena = &node->process->arena;
    for (uint64_t bytes = GROUP_SERVICE_BYTES; fake_own->rank == 0 && bytes >= 64;) {
        fake_require(count < 64);
        bool is_taken = base_extents_take(arena, bytes, 64, &taken[count]);
        count += is_taken;
        bytes = is_taken ? bytes : bytes / 2;
    }
    fake_require(create_of_all(node, &team) == DN_ENOMEM);
    while (count > 0) {
        fake_require(base_extents_give(arena, taken[--count]));
    }
    fake_require(create_of_all(node, &team) == 0);
    fake_require(team_free(team) == 0);
}

static void a_member_without_memory_keeps_nobody_waiting(void **state)
{
    (void)state;
    static const uint32_t together[] = {0, 0, 0};
    static const uint32_t mixed[] = {0, 0, 1};
    const uint32_t *const hosts[] = {NULL, together, mixed};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        make_on(3, hosts[i]);
        assert_int_equal(run_nodes(i + 1, UINT32_MAX, 0, run_without_memory), 0);
        fake_free();
    }
}

/* The last node leaves at once; the others try to make a team with it again and again. */
static void run_with_one_gone(struct dn_node *node)
{
    const struct group_view *view = &node->process->view;
    uint32_t last = fake->node_count - 1;
    struct dn_team *team;
    uint64_t before;
    uint64_t after;
    if (fake_own->rank == last) {
        return;
    }
    while (!group_life_gone(group_life(view, last))) {
        usleep(1000);
    }
    fake_require(base_extents_take(&node->process->arena, 64, 64, &before));
    fake_require(base_extents_give(&node->process->arena, before));
    for (int round = 0; round < 20; round++) {
        fake_require(create_of_all(node, &team) == DN_EPEER);
    }
    fake_require(base_extents_take(&node->process->arena, 64, 64, &after));
    fake_require(after == before);
}

static void a_team_with_a_member_that_is_gone_costs_no_memory(void **state)
{
    (void)state;
    make_on(3, NULL);
    assert_int_equal(run_nodes(1, UINT32_MAX, 0, run_with_one_gone), 0);
    fake_free();
}

/* ---- Deaths ------------------------------------------------------------------------------- */

static void print_log(uint32_t rank)
{
    const struct fake_log *log = &fake->logs[rank];
    for (uint32_t i = 0; i < atomic_load(&log->count); i++) {
        print_error("node %u, step %u: %d %llu\n", rank, i, log->results[i],
                    (unsigned long long)log->values[i]);
    }
}

static bool logs_are_equal(const struct fake_log *one, const struct fake_log *other)
{
    uint32_t count = atomic_load(&one->count);
    bool same = count == atomic_load(&other->count);
    for (uint32_t i = 0; i < count && same; i++) {
        same = one->results[i] == other->results[i] && one->values[i] == other->values[i];
    }
    return same;
}

/* Every survivor's log is the same. */
static bool logs_agree(uint32_t victim)
{
    uint32_t first = victim == 0 ? 1 : 0;
    for (uint32_t rank = first + 1; rank < fake->node_count; rank++) {
        if (rank != victim && !logs_are_equal(&fake->logs[first], &fake->logs[rank])) {
            print_log(first);
            print_log(rank);
            return false;
        }
    }
    return true;
}

enum { ROUND_STEPS = 6 };

/* Makes one call of several kinds; gives what came out. */
static int one_step(struct dn_team *team, int step, uint64_t *value)
{
    static uint64_t source[2000];
    static uint64_t result[2000];
    size_t count = (size_t[]){0, 1, 40, 1500, 1500, 0}[step % ROUND_STEPS];
    for (size_t i = 0; i < count; i++) {
        source[i] = mix((uint64_t)step, i) + team->nic.ranks[team->nic.index];
    }
    int error;
    if (step % ROUND_STEPS == 4) {
        error = scan_of(team, source, result, count, DN_INCLUSIVE);
        uint64_t ranks = 0;
        for (uint32_t index = 0; index <= team->nic.index; index++) {
            ranks += team->nic.ranks[index];
        }
        for (size_t i = 0; i < count && !error; i++) {
            fake_require(result[i] == mix((uint64_t)step, i) * (team->nic.index + 1) + ranks);
        }
        *value = 0;
    } else if (step % ROUND_STEPS == 5) {
        unsigned char *bytes = (unsigned char *)source;
        memset(bytes, (int)team->nic.index + step, 6000);
        error = team_broadcast(team, bytes, 6000, (int)(team->nic.count - 1));
        memcpy(value, bytes + 5000, sizeof *value);
    } else {
        error = count == 0 ? team_barrier(team, DN_FOREVER) : sum_of(team, source, result, count);
        *value = count == 0 ? 0 : result[count - 1];
    }
    *value = error ? 0 : *value;
    return error;
}

/* Works on the team of all until it breaks, then with those who are left. */
static void run_until_broken(struct dn_node *node)
{
    struct dn_team *team = team_all(node);
    struct dn_team *survivors;
    uint64_t value = 0;
    int error = 0;
    for (int step = 0; step < 2 * ROUND_STEPS && !error; step++) {
        error = one_step(team, step, &value);
        fake_say(error, value);
    }
    /* The victim may have died in its last step, or not at all. */
    int again = team_barrier(team, DN_FOREVER);
    fake_say(again, 0);
    fake_require(again == 0 || again == DN_EPEER);
    fake_require(!error || again == error);
    if (again) {
        fake_require(team_shrink(team, &survivors) == 0);
        fake_require(survivors->nic.count == fake->node_count - 1);
        for (int step = 0; step < ROUND_STEPS; step++) {
            error = one_step(survivors, step, &value);
            fake_require(error == 0);
            fake_say(error, value);
        }
        fake_require(team_free(survivors) == 0);
    }
}

/* Kills the victim at one place after another, until it comes to its end alive. */
static void die_everywhere_on(const uint32_t *hosts, uint32_t nodes, uint32_t victim,
                              uint64_t first, uint64_t stride, void (*run)(struct dn_node *node))
{
    bool lived = false;
    for (uint64_t at = first; !lived; at += stride) {
        assert_true(at < 4000);
        common_seed = at;
        make_on(nodes, hosts);
        uint32_t failed = run_nodes(at, victim, at, run);
        bool same = logs_agree(victim);
        if (failed || !same) {
            print_error("%u nodes, node %u dies at %llu\n", nodes, victim, (unsigned long long)at);
        }
        assert_int_equal(failed, 0);
        assert_true(same);
        struct group_view view;
        group_view_make(fake->copies[victim], &(struct group_facts){1, fake->geometry}, victim,
                        &view);
        lived = group_life(&view, victim) == DN_LEFT;
        fake_free();
    }
}

static void die_everywhere(uint32_t nodes, uint32_t victim, uint64_t first, uint64_t stride,
                           void (*run)(struct dn_node *node))
{
    die_everywhere_on(NULL, nodes, victim, first, stride, run);
}

static void survivors_agree_wherever_a_member_dies(void **state)
{
    (void)state;
    die_everywhere(3, 1, 1, 3, run_until_broken);
    die_everywhere(4, 0, 2, 7, run_until_broken);
    die_everywhere(5, 4, 3, 11, run_until_broken);
}

/* All make a team while one dies; the outcome is the same for all, and another team can be made. */
static void run_making_under_death(struct dn_node *node)
{
    int ranks[FAKE_NODES_MAX];
    struct dn_team *team;
    struct dn_team *survivors;
    for (uint32_t i = 0; i < fake->node_count; i++) {
        ranks[i] = (int)((i + common_seed) % fake->node_count);
    }
    for (int round = 0; round < 2; round++) {
        int error = team_create(node, ranks, fake->node_count, &team);
        fake_say(error, 0);
        fake_require(error == 0 || error == DN_EPEER);
        uint64_t one = 1;
        int used = error ? error : sum_of(team, &one, &one, 1);
        fake_say(used, used ? 0 : one);
        if (used) {
            fake_require(team_shrink(error ? team_all(node) : team, &survivors) == 0);
            uint64_t left = 1;
            fake_require(sum_of(survivors, &left, &left, 1) == 0);
            fake_say(0, left);
            fake_require(left == fake->node_count - 1);
            fake_require(team_free(survivors) == 0);
        }
        if (!error) {
            fake_require(team_free(team) == 0);
        }
        if (used) {
            break;
        }
    }
}

static void survivors_agree_whether_a_team_was_made(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++) {
        die_everywhere(4, victim, 1 + victim % 2, 2, run_making_under_death);
    }
}

/* The same with the papers' host-driven barrier, whose news goes from member to member. */
static void run_tree(struct dn_node *node)
{
    struct dn_team *team = team_all(node);
    int error = team_barrier_kind(team, DN_BARRIER_HOST);
    fake_say(error, 0);
    for (int step = 0; step < 4 && !error; step++) {
        error = team_barrier(team, DN_FOREVER);
        fake_say(error, 0);
    }
    int again = team_barrier(team, DN_FOREVER);
    fake_say(again, 0);
    fake_require(again == 0 || again == DN_EPEER);
    fake_require(!error || again == error);
}

static void a_tree_that_a_death_cuts_ends_for_all_alike(void **state)
{
    (void)state;
    die_everywhere(4, 0, 1, 1, run_tree);
    die_everywhere(4, 2, 1, 1, run_tree);
}

/* What a dead node sent before may come after those who live have asked for it. */
static void survivors_agree_however_late_packets_come(void **state)
{
    (void)state;
    asks_wait = false;
    die_everywhere(4, 0, 1, 1, run_tree);
    die_everywhere(4, 2, 1, 1, run_tree);
    die_everywhere(4, 0, 2, 7, run_until_broken);
    die_everywhere(5, 3, 1, 11, run_until_broken);
    asks_wait = true;
}

/* ---- Several nodes on a host ---------------------------------------------------------------- */

static const uint32_t two_and_one[] = {0, 0, 1};
static const uint32_t crossed[] = {0, 1, 0, 1};

static void a_mixed_group_has_the_same_results(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes;
        const uint32_t *hosts;
        void (*run)(struct dn_node *node);
    } cases[] = {
        {3, two_and_one, run_results},
        {4, crossed, run_results},
        {4, crossed, run_making},
        {3, two_and_one, run_refused},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        common_seed = i + 1;
        make_on(cases[i].nodes, cases[i].hosts);
        assert_int_equal(run_nodes(i + 1, UINT32_MAX, 0, cases[i].run), 0);
        fake_free();
    }
}

static void survivors_of_a_mixed_group_agree(void **state)
{
    (void)state;
    die_everywhere_on(two_and_one, 3, 1, 1, 5, run_until_broken);
    die_everywhere_on(two_and_one, 3, 2, 2, 7, run_until_broken);
    die_everywhere_on(crossed, 4, 0, 3, 9, run_until_broken);
    for (uint32_t victim = 0; victim < 4; victim++) {
        die_everywhere_on(crossed, 4, victim, 1 + victim % 2, 2, run_making_under_death);
    }
    die_everywhere_on(two_and_one, 3, 0, 1, 1, run_tree);
    die_everywhere_on(crossed, 4, 1, 1, 1, run_tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right_in_any_order_of_packets),
        cmocka_unit_test(teams_come_and_go_on_the_same_memory),
        cmocka_unit_test(a_refused_call_disturbs_nobody),
        cmocka_unit_test(a_member_without_memory_keeps_nobody_waiting),
        cmocka_unit_test(a_team_with_a_member_that_is_gone_costs_no_memory),
        cmocka_unit_test(survivors_agree_wherever_a_member_dies),
        cmocka_unit_test(survivors_agree_whether_a_team_was_made),
        cmocka_unit_test(a_tree_that_a_death_cuts_ends_for_all_alike),
        cmocka_unit_test(survivors_agree_however_late_packets_come),
        cmocka_unit_test(a_mixed_group_has_the_same_results),
        cmocka_unit_test(survivors_of_a_mixed_group_agree),
    };
    return cmocka_run_group_tests_name("team/team_by_packets", tests, NULL, NULL);
}
