/* Ways back by pairs of nodes: the last one of each, whatever their number. */
#include "unit/unit.h"

#include <string.h>

#include "sim/model/ways_back.h"

enum { NODES = 300 };

static void fill(unsigned char header[WIRE_LINE_DATA_BYTES], uint32_t value)
{
    memset(header, 0, WIRE_LINE_DATA_BYTES);
    memcpy(header, &value, sizeof value);
}

static void each_pair_has_its_last_one(void **state)
{
    (void)state;
    struct sim_ways_back back = {.node_count = NODES};
    unsigned char header[WIRE_LINE_DATA_BYTES];
    assert_null(sim_ways_back_find(&back, 1, 2));
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < NODES * NODES; i += 7) {
            fill(header, i + round);
            sim_ways_back_keep(&back, i / NODES, i % NODES, header);
        }
    }
    for (uint32_t i = 0; i < NODES * NODES; i++) {
        const unsigned char *found = sim_ways_back_find(&back, i / NODES, i % NODES);
        fill(header, i + 1);
        assert_int_equal(found != NULL, i % 7 == 0);
        if (found) {
            assert_memory_equal(found, header, sizeof header);
        }
    }
    assert_int_equal(back.count, (NODES * NODES + 6) / 7);
    sim_ways_back_free(&back);
    assert_null(sim_ways_back_find(&back, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_has_its_last_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
