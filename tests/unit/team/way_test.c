/* Which way a team picks, and that members in place are served in a team that goes by packets. */
#include "unit/group.h"

#include "team/barrier.h"
#include "team/staging.h"
#include "team/way.h"

enum { NODES = 4, LARGE_BYTES = 2 * TEAM_SMALL_BYTES };

/* What the fabric was asked to carry. */
static struct {
    int pushes[NODES];
    int reflections[NODES];
    uint64_t offset; /* of the last push */
} carried;

static int count_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                      size_t bytes, struct dn_op *op)
{
    (void)lane;
    (void)source;
    (void)bytes;
    (void)op;
    carried.pushes[remote.rank]++;
    carried.offset = remote.offset;
    return 0;
}

static int count_reflection(struct fabric_lane *lane, uint32_t rank, const void *place,
                            uint64_t bytes)
{
    (void)lane;
    (void)place;
    (void)bytes;
    carried.reflections[rank]++;
    return 0;
}

static int do_nothing(struct fabric_lane *lane)
{
    (void)lane;
    return 0;
}

static const struct fabric_ops ops = {
    .push = count_push,
    .quiet = do_nothing,
    .reflect = count_reflection,
    .settle = do_nothing,
};

static struct unit_group made;
static struct host_process process;
static struct dn_node node;

/* Rank 0 of a group whose ranks from `first_away` on are reached by packets. */
static struct dn_team *make_team(uint32_t first_away, bool is_prompt)
{
    memset(&carried, 0, sizeof carried);
    memset(&process, 0, sizeof process);
    unit_group_make(&made, NODES, NODES);
    process.view = made.views[0];
    process.default_lane = &node;
    (void)pthread_mutex_init(&process.table_lock, NULL);
    for (uint32_t rank = first_away; rank < NODES; rank++) {
        atomic_fetch_or(&process.view.ports[rank].call, GROUP_CALL_BY_PACKETS);
    }
    node = (struct dn_node){
        .lane = {.open = FABRIC_LANE_OPEN,
                 .node_count = NODES,
                 .all_in_place = first_away == NODES,
                 .is_prompt = is_prompt,
                 .ports = process.view.ports,
                 .ops = &ops,
                 .stored_to = process.stored_to,
                 .sleeping = process.view.group->sleeping,
                 .view = &process.view},
        .process = &process,
        .is_default = true,
    };
    assert_int_equal(team_all_make(&node), 0);
    return team_all(&node);
}

static void end_team(void)
{
    team_all_end(&node);
    unit_group_free(&made);
}

static void one_member_by_packets_is_enough(void **state)
{
    (void)state;
    for (uint32_t first_away = 1; first_away < NODES; first_away++) {
        struct dn_team *team = make_team(first_away, false);
        assert_ptr_equal(team->way, &team_by_packets);
        assert_false(team->arrives_by_store);
        assert_null(team_all_line(0));
        end_team();
    }
}

static void an_arrival_in_place_is_a_store_unless_a_layer_stands_between(void **state)
{
    (void)state;
    for (int is_prompt = 0; is_prompt < 2; is_prompt++) {
        struct dn_team *team = make_team(NODES, is_prompt);
        assert_ptr_equal(team->way, &team_in_place);
        assert_int_equal(team->arrives_by_store, is_prompt);
        assert_int_equal(team_arrive(team), 0);
        assert_true(group_team_has_arrived(&team->nic, 0, 1));
        end_team();
    }
}

/* Members 0 and 1 are in place for each other, 2 and 3 are away. */
static void a_member_in_place_is_given_data_where_it_looks(void **state)
{
    (void)state;
    static unsigned char data[LARGE_BYTES];
    struct dn_team *team = make_team(2, false);
    unsigned char *place = group_segment(&process.view, 0, DN_BANK);
    memset(data, 0x5a, sizeof data);
    team->way->give(team, 1, place, data, LARGE_BYTES / 2 + 1);
    assert_memory_equal(place, data, LARGE_BYTES / 2 + 1);
    assert_int_equal(carried.pushes[1], 0);
    team->way->give(team, 3, place, data, LARGE_BYTES);
    assert_int_equal(carried.pushes[3], 1);
    assert_int_equal(carried.offset, place - (unsigned char *)process.view.group);
    memset(place, 0, TEAM_SMALL_BYTES);
    team->way->give_all(team, place, data, TEAM_SMALL_BYTES);
    assert_memory_equal(place, data, TEAM_SMALL_BYTES);
    assert_int_equal(carried.reflections[2], 1);
    assert_int_equal(carried.reflections[3], 1);
    assert_int_equal(carried.reflections[0], 0);
    end_team();
}

static void a_member_in_place_is_woken_by_a_tree(void **state)
{
    (void)state;
    struct dn_team *team = make_team(2, false);
    uint32_t value = group_call_publish(&made.views[1], GROUP_WATCH_NOTHING);
    team->kind = DN_BARRIER_HOST;
    assert_int_equal(team_barrier_arrive(team), 0);
    assert_int_not_equal(atomic_load(group_call_lower(&made.views[1], 1)), value);
    end_team();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member_by_packets_is_enough),
        cmocka_unit_test(an_arrival_in_place_is_a_store_unless_a_layer_stands_between),
        cmocka_unit_test(a_member_in_place_is_given_data_where_it_looks),
        cmocka_unit_test(a_member_in_place_is_woken_by_a_tree),
    };
    return cmocka_run_group_tests_name("team/way", tests, NULL, NULL);
}
