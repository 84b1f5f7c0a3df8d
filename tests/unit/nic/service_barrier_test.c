/* Barriers by records: no member passes before all have arrived, members open a team when they
 * like, and a death ends every wait. */
#include "services_group.h"

enum { TEAM = 7, PHASES = 12, SEEDS = 1500, STEPS_MAX = 30000 };

struct player {
    bool open;
    bool waiting;
    bool broken;      /* it has been told so */
    uint32_t arrived; /* phases that it arrived at in this life */
    struct nic_completion completion;
};

static struct player players[CLUSTER_NODES_MAX];
static uint32_t most_arrived[CLUSTER_NODES_MAX]; /* in any life */
static uint16_t members[CLUSTER_NODES_MAX];
static uint32_t deaths;
static uint64_t passed;

static void begin(uint64_t seed, uint32_t count)
{
    struct nic_services_config config = cluster_config();
    memset(players, 0, sizeof players);
    memset(most_arrived, 0, sizeof most_arrived);
    deaths = 0;
    passed = 0;
    cluster_begin(seed, count, &config);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = (uint32_t)cluster_below(i + 1);
        members[i] = members[other];
        members[other] = (uint16_t)i;
    }
}

static void open_team(uint32_t node)
{
    cluster_check(nic_packet_barrier_open(group.nodes[node].services, group.now_ns, TEAM, members,
                                          group.count) == 0);
    players[node].open = true;
}

static void arrive(uint32_t node)
{
    struct player *player = &players[node];
    player->arrived++;
    if (most_arrived[node] < player->arrived) {
        most_arrived[node] = player->arrived;
    }
    player->waiting = true;
    cluster_check(nic_packet_barrier_arrive(group.nodes[node].services, group.now_ns, TEAM,
                                            &player->completion) == 0);
}

/* Sees what has completed. */
static void look(uint32_t node)
{
    struct player *player = &players[node];
    if (!player->waiting || player->completion.state != NIC_DONE) {
        return;
    }
    player->waiting = false;
    if (player->completion.result == 0) {
        cluster_check(!player->broken);
        cluster_check(player->completion.value == player->arrived);
        for (uint32_t i = 0; i < group.count; i++) {
            cluster_check(most_arrived[i] >= player->arrived);
        }
        passed++;
    } else {
        cluster_check(player->completion.result == DN_EPEER && deaths > 0);
        player->broken = true;
    }
}

static void host_acts(uint32_t node)
{
    struct player *player = &players[node];
    look(node);
    if (!player->open) {
        open_team(node);
    } else if (!player->waiting && !player->broken && player->arrived < PHASES) {
        arrive(node);
        look(node);
    }
}

/* ---- By hand ------------------------------------------------------------------------- */

static void the_root_waits_for_its_own_host(void **state)
{
    (void)state;
    begin(1, 3);
    for (uint32_t i = 0; i < 3; i++) {
        open_team(members[i]);
    }
    arrive(members[1]);
    arrive(members[2]);
    cluster_settle(NULL);
    assert_int_equal(players[members[1]].completion.state, NIC_PENDING);
    arrive(members[0]);
    assert_int_equal(players[members[0]].completion.state, NIC_DONE);
    cluster_settle(NULL);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(players[i].completion.state, NIC_DONE);
        assert_int_equal(players[i].completion.result, 0);
        assert_int_equal(players[i].completion.value, 1);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

static void an_arrival_before_the_parent_opens_is_not_lost(void **state)
{
    (void)state;
    begin(2, 2);
    open_team(members[1]);
    arrive(members[1]);
    cluster_settle(NULL);
    open_team(members[0]);
    arrive(members[0]);
    cluster_settle(NULL);
    assert_int_equal(players[0].completion.state, NIC_DONE);
    assert_int_equal(players[1].completion.state, NIC_DONE);
    cluster_end();
}

static void a_death_breaks_the_team_for_all_and_for_good(void **state)
{
    (void)state;
    begin(3, 6);
    for (uint32_t i = 0; i < 6; i++) {
        open_team(i);
    }
    for (uint32_t i = 0; i < 5; i++) {
        arrive(members[i]);
    }
    cluster_settle(NULL);
    cluster_kill(members[5]);
    deaths++;
    cluster_settle(NULL);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(players[members[i]].completion.state, NIC_DONE);
        assert_int_equal(players[members[i]].completion.result, DN_EPEER);
        arrive(members[i]);
        assert_int_equal(players[members[i]].completion.state, NIC_DONE);
        assert_int_equal(players[members[i]].completion.result, DN_EPEER);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

/* A member that has not arrived gives up: as a death, but the team can be closed everywhere. */
static void breaking_a_team_ends_it_for_all(void **state)
{
    (void)state;
    begin(5, 6);
    for (uint32_t i = 0; i < 6; i++) {
        open_team(i);
    }
    for (uint32_t i = 0; i < 5; i++) {
        arrive(members[i]);
    }
    cluster_settle(NULL);
    struct nic_services *services = group.nodes[members[5]].services;
    assert_int_equal(nic_packet_barrier_break(services, group.now_ns, TEAM), 0);
    assert_int_equal(nic_packet_barrier_break(services, group.now_ns, TEAM), 0);
    cluster_settle(NULL);
    for (uint32_t i = 0; i < 6; i++) {
        if (i < 5) {
            assert_int_equal(players[members[i]].completion.state, NIC_DONE);
            assert_int_equal(players[members[i]].completion.result, DN_EPEER);
        }
        services = group.nodes[i].services;
        assert_int_equal(nic_packet_barrier_close(services, group.now_ns, TEAM), 0);
        assert_int_equal(nic_packet_barrier_break(services, group.now_ns, TEAM), DN_EINVAL);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

static void callers_mistakes_are_told(void **state)
{
    struct nic_completion completion;
    (void)state;
    begin(4, 3);
    struct nic_services *services = group.nodes[0].services;
    const uint16_t without_us[] = {1, 2};
    const uint16_t nobody[] = {0, 3};
    assert_int_equal(nic_packet_barrier_open(services, 1, 1, without_us, 2), DN_EINVAL);
    assert_int_equal(nic_packet_barrier_open(services, 1, 1, nobody, 2), DN_ERANK);
    assert_int_equal(nic_packet_barrier_arrive(services, 1, 1, &completion), DN_EINVAL);
    assert_int_equal(nic_packet_barrier_open(services, 1, 1, members, 3), 0);
    assert_int_equal(nic_packet_barrier_open(services, 1, 1, members, 3), DN_EBUSY);
    assert_int_equal(nic_packet_barrier_open(services, 1, 2, members, 3), 0);
    assert_int_equal(nic_packet_barrier_open(services, 1, 3, members, 3), DN_EFULL);
    cluster_settle(NULL);
    assert_int_equal(nic_packet_barrier_arrive(services, 1, 1, &completion), 0);
    assert_int_equal(nic_packet_barrier_arrive(services, 1, 1, &completion), DN_EBUSY);
    assert_int_equal(nic_packet_barrier_close(services, 1, 1), DN_EBUSY);
    assert_int_equal(nic_packet_barrier_close(services, 1, 2), 0);
    assert_int_equal(nic_packet_barrier_close(services, 1, 2), DN_EINVAL);
    assert_int_equal(nic_packet_barrier_open(services, 1, 3, members, 3), 0);
    cluster_end();
}

static void a_team_of_one_passes_at_once(void **state)
{
    struct nic_completion completion;
    const uint16_t alone[] = {1};
    (void)state;
    begin(5, 3);
    struct nic_services *services = group.nodes[1].services;
    assert_int_equal(nic_packet_barrier_open(services, 1, 1, alone, 1), 0);
    for (uint64_t phase = 1; phase <= 3; phase++) {
        assert_int_equal(nic_packet_barrier_arrive(services, 1, 1, &completion), 0);
        assert_int_equal(completion.state, NIC_DONE);
        assert_int_equal(completion.result, 0);
        assert_int_equal(completion.value, phase);
    }
    cluster_end();
}

/* ---- At random ----------------------------------------------------------------------- */

static bool is_finished(uint32_t node)
{
    const struct player *player = &players[node];
    return !group.nodes[node].alive ||
           (!player->waiting && (player->broken || player->arrived == PHASES));
}

static void disturb(void)
{
    uint32_t node = (uint32_t)cluster_below(group.count);
    uint32_t other = (uint32_t)cluster_below(group.count);
    deaths++;
    if (!group.nodes[node].alive) {
        players[node] = (struct player){.open = false};
        cluster_restart(node);
    } else if (node != other && group.nodes[other].alive && cluster_percent(30)) {
        cluster_cut(node, other);
    } else {
        cluster_kill(node);
    }
}

static void play(uint64_t seed, bool deadly)
{
    bool done = false;
    uint32_t count = 1 + (uint32_t)(seed % CLUSTER_NODES_MAX);
    begin(seed, count);
    for (uint32_t step = 0; !done; step++) {
        uint32_t node = (uint32_t)cluster_below(count);
        cluster_check(step < STEPS_MAX);
        cluster_step();
        if (group.nodes[node].alive && cluster_percent(node % 3 == 0 ? 3 : 30)) {
            host_acts(node);
        }
        if (deadly && step < 3000 && cluster_below(400) == 0) {
            disturb();
        }
        done = true;
        for (uint32_t i = 0; i < count; i++) {
            if (group.nodes[i].alive) {
                look(i);
            }
            done = done && is_finished(i);
        }
    }
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    cluster_check(deaths > 0 || passed == (uint64_t)count * PHASES);
    cluster_end();
}

static void phases_are_passed_in_any_interleaving(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false);
    }
}

static void nobody_is_left_waiting_when_members_die(void **state)
{
    uint64_t all_passed = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(1000000 + seed, true);
        all_passed += passed;
    }
    assert_true(all_passed > SEEDS);
}

/* Without a list the team is the nodes from 0 on, with the same tree as with a list. */
static void all_nodes_are_a_team_without_a_list(void **state)
{
    (void)state;
    enum { COUNT = CLUSTER_NODES_MAX };
    uint16_t listed[COUNT];
    begin(3, COUNT);
    for (uint16_t i = 0; i < COUNT; i++) {
        listed[i] = i;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        /* Some name the members, or their own place. */
        struct nic_services *services = group.nodes[i].services;
        int error;
        if (i % 3 == 0) {
            error = nic_packet_barrier_open_at(services, 0, TEAM, listed, COUNT, i);
        } else {
            error = nic_packet_barrier_open(services, 0, TEAM, i % 3 == 1 ? listed : NULL, COUNT);
        }
        assert_int_equal(error, 0);
        players[i].open = true;
        arrive(i);
    }
    cluster_settle(look);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(nic_completion_is_done(&players[i].completion));
        assert_int_equal(players[i].completion.result, 0);
    }
    struct nic_services *last = group.nodes[COUNT - 1].services;
    assert_int_equal(nic_packet_barrier_open(last, 0, TEAM + 1, NULL, COUNT + 1), DN_ERANK);
    assert_int_equal(nic_packet_barrier_open(last, 0, TEAM + 1, NULL, COUNT - 1), DN_EINVAL);
    assert_int_equal(nic_packet_barrier_open_at(last, 0, TEAM + 1, listed, COUNT, 0), DN_EINVAL);
    assert_int_equal(nic_packet_barrier_open_at(last, 0, TEAM + 1, listed, COUNT, COUNT),
                     DN_EINVAL);
    listed[(COUNT - 2) / 2] = COUNT;
    assert_int_equal(nic_packet_barrier_open_at(last, 0, TEAM + 1, listed, COUNT, COUNT - 1),
                     DN_ERANK);
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_waits_for_its_own_host),
        cmocka_unit_test(an_arrival_before_the_parent_opens_is_not_lost),
        cmocka_unit_test(a_death_breaks_the_team_for_all_and_for_good),
        cmocka_unit_test(breaking_a_team_ends_it_for_all),
        cmocka_unit_test(callers_mistakes_are_told),
        cmocka_unit_test(a_team_of_one_passes_at_once),
        cmocka_unit_test(all_nodes_are_a_team_without_a_list),
        cmocka_unit_test(phases_are_passed_in_any_interleaving),
        cmocka_unit_test(nobody_is_left_waiting_when_members_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
