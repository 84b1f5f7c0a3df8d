/* Generators of shapes: degrees, distances, ways, the same shape from the same text, and requests
 * that nothing can fulfil. */
#include "unit/unit.h"

#include "sim/subnet/topology_make.h"

static void make(struct topology *topology, const char *text)
{
    char error[TOPOLOGY_ERROR_BYTES] = "";
    char objection[TOPOLOGY_ERROR_BYTES];
    *topology = (struct topology){0};
    bool good = topology_make(text, topology, error);
    assert_string_equal(error, "");
    assert_true(good);
    assert_null(topology_objection(topology, objection));
    assert_int_equal(topology_parts(topology), 1);
    char name[TOPOLOGY_NAME_BYTES];
    for (uint32_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        bool is_board = i < topology->board_count;
        uint32_t number = is_board ? i : i - topology->board_count;
        assert_int_equal(node->kind, is_board ? TOPOLOGY_BOARD : TOPOLOGY_SWITCH);
        (void)sprintf(name, is_board ? "board-%u" : "switch-%u", (unsigned)number);
        assert_string_equal(node->name, name);
        assert_true(node->guid == topology_guid(node->kind, number));
    }
}

static void expect_error(const char *text, const char *expected)
{
    struct topology topology = {0};
    char error[TOPOLOGY_ERROR_BYTES] = "";
    assert_false(topology_make(text, &topology, error));
    assert_string_equal(error, expected);
    assert_null(topology.nodes);
}

/* How many of a node's cables lead to nodes of that kind. */
static uint32_t degree(const struct topology *topology, uint32_t node, enum topology_kind kind)
{
    uint32_t count = 0;
    for (uint32_t port = 1; port <= topology->nodes[node].port_count; port++) {
        uint32_t peer = topology_port(topology, node, port)->peer_node;
        count += peer != TOPOLOGY_NONE && topology->nodes[peer].kind == kind;
    }
    return count;
}

/* The most cables between a node and any other. */
static uint32_t farthest(const struct topology *topology, uint32_t from)
{
    uint32_t *distance = calloc(topology->node_count, sizeof *distance);
    uint32_t *queue = calloc(topology->node_count, sizeof *queue);
    assert_true(distance && queue);
    uint32_t tail = 0;
    uint32_t most = 0;
    queue[tail++] = from;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t node = queue[head];
        most = distance[node];
        for (uint32_t port = 1; port <= topology->nodes[node].port_count; port++) {
            uint32_t peer = topology_port(topology, node, port)->peer_node;
            if (peer != TOPOLOGY_NONE && peer != from && distance[peer] == 0) {
                distance[peer] = distance[node] + 1;
                queue[tail++] = peer;
            }
        }
    }
    assert_int_equal(tail, topology->node_count);
    free(distance);
    free(queue);
    return most;
}

static void expect_degrees(const char *text, uint32_t boards, uint32_t switches,
                           uint32_t to_switches, uint32_t to_boards, uint32_t ports,
                           uint32_t cables_apart)
{
    struct topology topology;
    make(&topology, text);
    assert_int_equal(topology.board_count, boards);
    assert_int_equal(topology.switch_count, switches);
    for (uint32_t i = 0; i < topology.node_count; i++) {
        bool is_switch = i >= boards;
        assert_int_equal(topology.nodes[i].port_count, is_switch ? ports : 1);
        assert_int_equal(degree(&topology, i, TOPOLOGY_SWITCH), is_switch ? to_switches : 1);
        assert_int_equal(degree(&topology, i, TOPOLOGY_BOARD), is_switch ? to_boards : 0);
    }
    assert_int_equal(farthest(&topology, 0), cables_apart);
    topology_free(&topology);
}

static void regular_shapes_have_the_degrees_of_theirs(void **state)
{
    (void)state;
    expect_degrees("switch:8", 8, 1, 0, 8, 8, 2);
    expect_degrees("switch:3,ports=24", 3, 1, 0, 3, 24, 2);
    expect_degrees("ring:8", 8, 8, 2, 1, 3, 6);
    expect_degrees("ring:8x2", 16, 8, 2, 2, 4, 6);
    expect_degrees("ring:9,boards=3,ports=8", 27, 9, 2, 3, 8, 6);
    expect_degrees("ring:2", 2, 2, 2, 1, 3, 3);
    expect_degrees("torus:4x4", 16, 16, 4, 1, 5, 6);
    expect_degrees("torus:3x3x3", 27, 27, 6, 1, 7, 5);
    expect_degrees("torus:2x2,boards=2", 8, 4, 4, 2, 6, 4);
    expect_degrees("mesh:2x2x2", 8, 8, 3, 1, 7, 5);
    expect_degrees("torus:1", 1, 1, 0, 1, 3, 1);
}

static void ports_of_a_torus_tell_the_direction(void **state)
{
    (void)state;
    struct topology topology;
    make(&topology, "torus:4x3");
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t x = i % 4;
        uint32_t y = i / 4;
        const struct topology_port *right = topology_port(&topology, 12 + i, 1);
        const struct topology_port *down = topology_port(&topology, 12 + i, 3);
        assert_int_equal(right->peer_node, 12 + y * 4 + (x + 1) % 4);
        assert_int_equal(right->peer_port, 2);
        assert_int_equal(down->peer_node, 12 + (y + 1) % 3 * 4 + x);
        assert_int_equal(down->peer_port, 4);
        assert_int_equal(topology_port(&topology, 12 + i, 5)->peer_node, i);
    }
    topology_free(&topology);
}

static void a_mesh_has_no_wraps(void **state)
{
    (void)state;
    struct topology topology;
    make(&topology, "mesh:4x3,width=12");
    uint32_t cables = 0;
    for (uint32_t i = 0; i < topology.port_count; i++) {
        cables += topology.ports[i].peer_node != TOPOLOGY_NONE;
        assert_int_equal(topology.ports[i].width, 12);
    }
    assert_int_equal(cables / 2, 3 * 3 + 4 * 2 + 12);
    assert_int_equal(topology_port(&topology, 12, 2)->peer_node, TOPOLOGY_NONE);
    assert_int_equal(farthest(&topology, 0), 3 + 2 + 2);
    topology_free(&topology);
}

/* Follows ports up by the copy's number and counts the highest switches that a board reaches so:
 * in a tree of full bisection as many as boards of a full group. */
static uint32_t count_tops(const struct topology *topology, uint32_t board, uint32_t half)
{
    bool *seen = calloc(topology->node_count, sizeof *seen);
    uint32_t *queue = calloc(topology->node_count, sizeof *queue);
    assert_true(seen && queue);
    uint32_t tail = 0;
    uint32_t tops = 0;
    queue[tail++] = topology_port(topology, board, 1)->peer_node;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t ups = 0;
        for (uint32_t port = half + 1; port <= 2 * half; port++) {
            const struct topology_port *of = topology_port(topology, queue[head], port);
            /* Ports up lead to switches with higher numbers. */
            if (of->peer_node != TOPOLOGY_NONE && of->peer_node > queue[head]) {
                ups++;
                if (!seen[of->peer_node]) {
                    seen[of->peer_node] = true;
                    queue[tail++] = of->peer_node;
                }
            }
        }
        assert_true(ups == 0 || ups == half);
        tops += ups == 0;
    }
    free(seen);
    free(queue);
    return tops;
}

static void expect_tree(const char *text, uint32_t half, uint32_t levels, uint32_t switches)
{
    struct topology topology;
    make(&topology, text);
    assert_int_equal(topology.switch_count, switches);
    uint32_t tops = 1;
    for (uint32_t i = 1; i < levels; i++) {
        tops *= half;
    }
    for (uint32_t i = 0; i < topology.board_count; i++) {
        assert_int_equal(count_tops(&topology, i, half), tops);
    }
    assert_int_equal(farthest(&topology, 0), 2 * levels);
    /* Full bisection: as many cables go up to the highest level as a full tree below it has
     * boards; for each group all of its copies' ports up. */
    uint32_t up = 0;
    for (uint32_t i = topology.node_count - tops; i < topology.node_count; i++) {
        up += degree(&topology, i, levels == 1 ? TOPOLOGY_BOARD : TOPOLOGY_SWITCH);
    }
    assert_true(up >= topology.board_count);
    topology_free(&topology);
}

static void a_fat_tree_has_as_many_ways_as_boards(void **state)
{
    (void)state;
    expect_tree("fat-tree:8", 4, 1, 1);
    expect_tree("fat-tree:9", 4, 2, 3 + 4);
    expect_tree("fat-tree:32", 4, 2, 8 + 4);
    expect_tree("fat-tree:33", 4, 3, 9 + 3 * 4 + 16);
    expect_tree("fat-tree:64", 4, 3, 48);
    expect_tree("fat-tree:16,ports=4", 2, 3, 8 + 4 * 2 + 4);
    expect_tree("fat-tree:72,ports=24", 12, 2, 6 + 12);
}

static void a_small_tree_takes_odd_switches(void **state)
{
    (void)state;
    expect_degrees("fat-tree:3,ports=3", 3, 1, 0, 3, 3, 2);
}

static bool are_equal(const struct topology *one, const struct topology *other)
{
    if (one->node_count != other->node_count || one->port_count != other->port_count) {
        return false;
    }
    for (uint32_t i = 0; i < one->port_count; i++) {
        if (one->ports[i].peer_node != other->ports[i].peer_node ||
            one->ports[i].peer_port != other->ports[i].peer_port) {
            return false;
        }
    }
    return true;
}

static void chance_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct topology first;
    struct topology again;
    struct topology other;
    make(&first, "random:20,switches=8,ports=8,seed=1");
    make(&again, "random:20,ports=8,switches=8");
    make(&other, "random:20,switches=8,ports=8,seed=2");
    assert_true(are_equal(&first, &again));
    assert_false(are_equal(&first, &other));
    topology_free(&first);
    topology_free(&again);
    topology_free(&other);
}

/* Every seed gives one part, boards spread evenly, no cable twice, and few ports left over. */
static void chance_leaves_nobody_out(void **state)
{
    (void)state;
    char text[80];
    static const struct {
        uint32_t boards, switches, ports;
    } sizes[] = {{20, 8, 8}, {1, 1, 1}, {2, 2, 2}, {7, 5, 3}, {12, 10, 3}, {4, 3, 3}, {40, 6, 12}};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned seed = 0; seed < 50; seed++) {
            struct topology topology;
            (void)sprintf(text, "random:%u,switches=%u,ports=%u,seed=%u", sizes[i].boards,
                          sizes[i].switches, sizes[i].ports, seed);
            make(&topology, text);
            assert_int_equal(topology.board_count, sizes[i].boards);
            assert_int_equal(topology.switch_count, sizes[i].switches);
            for (uint32_t node = sizes[i].boards; node < topology.node_count; node++) {
                uint32_t boards = degree(&topology, node, TOPOLOGY_BOARD);
                assert_in_range(boards, sizes[i].boards / sizes[i].switches,
                                (sizes[i].boards + sizes[i].switches - 1) / sizes[i].switches);
                bool *seen = calloc(topology.node_count, sizeof *seen);
                assert_non_null(seen);
                for (uint32_t port = 1; port <= sizes[i].ports; port++) {
                    uint32_t peer = topology_port(&topology, node, port)->peer_node;
                    assert_true(peer == TOPOLOGY_NONE || (peer != node && !seen[peer]));
                    if (peer != TOPOLOGY_NONE) {
                        seen[peer] = true;
                    }
                }
                free(seen);
            }
            topology_free(&topology);
        }
    }
}

static void large_shapes_are_made_at_once(void **state)
{
    (void)state;
    static const char *const texts[] = {"random:1000",
                                        "fat-tree:1024",
                                        "random:32000",
                                        "fat-tree:16384,ports=24",
                                        "torus:150x150",
                                        "ring:20000",
                                        "torus:11x11x11x11,boards=2"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct topology topology;
        uint64_t begin_ns = unit_now_ns();
        make(&topology, texts[i]);
        assert_true(unit_now_ns() - begin_ns < UNIT_PATIENCE_NS);
        topology_free(&topology);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    expect_error("star:8",
                 "star:8: begins with switch:, ring:, torus:, mesh:, fat-tree: or random:");
    expect_error("ring:", "ring:: its size is missing");
    expect_error("ring:8x", "ring:8x: its size is missing");
    expect_error("ring:8x2x2", "ring:8x2x2: it has too many sizes");
    expect_error("ring:0", "ring:0: a size is a number from 1 to 49151");
    expect_error("ring:1", "ring:1: a ring has 2 switches at least");
    expect_error("ring:-1", "ring:-1: a size is a number from 1 to 49151");
    expect_error("ring:8x2,boards=2", "ring:8x2,boards=2: boards is said twice");
    expect_error("ring:8,ports=3,ports=3", "ring:8,ports=3,ports=3: ports is said twice");
    expect_error("ring:8,ports=2", "ring:8,ports=2: a switch needs 3 ports at least");
    expect_error("ring:8,width=2", "ring:8,width=2: width is 1, 4 or 12");
    expect_error("ring:8,seed=2", "ring:8,seed=2: ring has no setting \"seed=2\"");
    expect_error("ring:8,,ports=3", "ring:8,,ports=3: ring has no setting \"\"");
    expect_error("ring:8,boards=255", "ring:8,boards=255: boards is a number from 0 to 254");
    expect_error("ring:8,boards=253",
                 "ring:8,boards=253: a switch needs 255 ports; 254 are the most");
    expect_error("switch:255", "switch:255: a switch needs 255 ports; 254 are the most");
    expect_error("torus:200x200",
                 "torus:200x200: 40000 boards and 40000 switches; 49151 nodes are the most");
    expect_error("torus:9999x9999x9999x9999x9999x9999,boards=0",
                 "torus:9999x9999x9999x9999x9999x9999,boards=0: 0 boards and 99980001 switches; "
                 "49151 nodes are the most");
    expect_error("fat-tree:9,ports=2", "fat-tree:9,ports=2: ports is not an even number from 4 "
                                       "to 254");
    expect_error("fat-tree:40000", "fat-tree:40000: 40000 boards and 89200 switches; 49151 nodes "
                                   "are the most");
    expect_error("random:9,ports=1", "random:9,ports=1: the switches have too few ports: there "
                                     "are 9");
    expect_error("random:8,switches=2,ports=4",
                 "random:8,switches=2,ports=4: the switches have too few ports: there are 8");
    expect_error("random:1,switches=9,ports=1",
                 "random:1,switches=9,ports=1: the switches have too few ports: there are 9");
    char text[400] = "ring:8,ports=";
    memset(text + strlen(text), '0', 300);
    struct topology topology;
    char error[TOPOLOGY_ERROR_BYTES];
    assert_false(topology_make(text, &topology, error));
    assert_non_null(strstr(error, ": it is too long"));
}

static void a_text_is_a_shape_or_a_path(void **state)
{
    (void)state;
    struct topology topology;
    char error[TOPOLOGY_ERROR_BYTES];
    assert_true(topology_is_made("ring:"));
    assert_false(topology_is_made("ring"));
    assert_false(topology_is_made("./ring:8"));
    assert_true(topology_open("ring:8", &topology, error));
    assert_int_equal(topology.node_count, 16);
    topology_free(&topology);
    assert_false(topology_open("rings:8", &topology, error));
    assert_string_equal(error, "cannot read rings:8: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_shapes_have_the_degrees_of_theirs),
        cmocka_unit_test(ports_of_a_torus_tell_the_direction),
        cmocka_unit_test(a_mesh_has_no_wraps),
        cmocka_unit_test(a_fat_tree_has_as_many_ways_as_boards),
        cmocka_unit_test(a_small_tree_takes_odd_switches),
        cmocka_unit_test(chance_depends_on_the_seed_alone),
        cmocka_unit_test(chance_leaves_nobody_out),
        cmocka_unit_test(large_shapes_are_made_at_once),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_text_is_a_shape_or_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
