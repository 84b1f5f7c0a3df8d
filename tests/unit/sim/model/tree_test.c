/* The shape of trees of switches: every way ends where it should, and as soon as it is said to. */
#include "unit/unit.h"

#include "sim/model/tree.h"

static const struct {
    uint32_t nodes, ports;
    bool is_fat;
} shapes[] = {{1, 8, false},   {8, 8, false},  {9, 8, false},  {50, 4, false},
              {300, 3, false}, {9, 8, true},   {32, 8, true},  {100, 8, true},
              {40, 4, true},   {200, 7, true}, {130, 64, true}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void all_ways_end_at_their_target(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct sim_tree tree;
        sim_tree_init(&tree, shapes[i].nodes);
        sim_tree_lay(&tree, shapes[i].ports, shapes[i].is_fat);
        for (uint32_t way = 0; way < shapes[i].nodes * shapes[i].nodes; way++) {
            uint32_t source = way / shapes[i].nodes;
            uint32_t target = way % shapes[i].nodes;
            uint32_t hops = 0;
            struct sim_tree_hop at = sim_tree_first_hop(&tree, source);
            while (at.level > 0) {
                uint32_t number = tree.levels[at.level].switch_first + at.index;
                uint32_t port = sim_tree_port_to(&tree, at.level, at.index, target);
                assert_true(number < tree.switch_count);
                assert_true(at.port_in < tree.levels[at.level].ports);
                assert_int_equal(sim_tree_level_of(&tree, number), at.level);
                assert_true(sim_tree_leads(&tree, number, target, port));
                at = sim_tree_hop_on(&tree, &at, port);
                hops++;
                assert_true(hops < 2 * SIM_TREE_LEVELS_MAX);
            }
            assert_int_equal(at.index, target);
            assert_int_equal(hops, sim_tree_hops(&tree, source, target));
        }
    }
}

/* A cable has two ends: back from where a port up leads is where it came from. */
static void what_goes_up_comes_down_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct sim_tree tree;
        sim_tree_init(&tree, shapes[i].nodes);
        sim_tree_lay(&tree, shapes[i].ports, shapes[i].is_fat);
        uint32_t top_first = tree.levels[tree.level_count].switch_first;
        for (uint32_t number = 0; number < top_first; number++) {
            uint32_t level = sim_tree_level_of(&tree, number);
            const struct sim_tree_hop from = {level, number - tree.levels[level].switch_first, 0};
            for (uint32_t port = sim_tree_down_ports(&tree); port < tree.ports; port++) {
                struct sim_tree_hop above = sim_tree_hop_on(&tree, &from, port);
                struct sim_tree_hop back = sim_tree_hop_on(&tree, &above, above.port_in);
                assert_int_equal(back.level, level);
                assert_int_equal(back.index, from.index);
                assert_int_equal(back.port_in, port);
            }
        }
    }
}

static void outputs_have_names(void **state)
{
    (void)state;
    struct sim_tree tree;
    char text[64];
    sim_tree_init(&tree, 32);
    sim_tree_lay(&tree, 8, true);
    assert_int_equal(tree.switch_count, 8 + 4);
    assert_int_equal(tree.output_count, 32 + 12 * 8);
    sim_tree_output_name(&tree, 5, text, sizeof text);
    assert_string_equal(text, "node 5, its link");
    sim_tree_output_name(&tree, 32 + 8 + 2, text, sizeof text);
    assert_string_equal(text, "switch 1, port 2, to node 6");
    sim_tree_output_name(&tree, 32 + 8 + 6, text, sizeof text);
    assert_string_equal(text, "switch 1, port 6, up to switch 10");
    sim_tree_output_name(&tree, 32 + 8 * 8 + 3, text, sizeof text);
    assert_string_equal(text, "switch 8, port 3, down to switch 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_end_at_their_target),
        cmocka_unit_test(what_goes_up_comes_down_again),
        cmocka_unit_test(outputs_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
