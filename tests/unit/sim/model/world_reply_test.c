/* Replies of a world whose boards are joined by routers have a virtual network of their own. */
#include "world_by_hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODES = 4, BYTES = 2000, TRACE_BYTES = 1 << 20 };

struct pulling {
    unsigned char data[BYTES];
    uint32_t is_done;
};

static void pull(struct sim_host *host)
{
    struct pulling *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_pull(host, sim_remote(1, 4096), mine->data, BYTES));
    mine->is_done = 1;
    SIM_END(host);
}

/* The trace of node 0 that pulls from node 1, its neighbour to the right; the caller frees it. */
static char *trace_of_pull(void)
{
    static struct pulling pulling;
    char path[] = "/tmp/dimmnet-reply-XXXXXX";
    char error[SIM_ERROR_BYTES] = "";
    struct sim_machine machine;
    int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    fill(&machine);
    const struct sim_world_config config = {
        .machine = &machine,
        .node_count = NODES,
        .topology = SIM_RING,
        .timeline = sim_timeline_open(path, 0, UINT64_MAX, error),
    };
    struct sim_world *world = sim_world_open(&config, error);
    assert_string_equal(error, "");
    sim_world_start(world, 0, 0, pull, &pulling, 0);
    ends_well(world);
    sim_world_close(world);
    assert_true(sim_timeline_close(config.timeline));
    assert_int_equal(pulling.is_done, 1);
    char *text = calloc(1, TRACE_BYTES);
    FILE *file = fopen(path, "r");
    assert_true(text && file);
    assert_in_range(fread(text, 1, TRACE_BYTES - 1, file), 1, TRACE_BYTES - 2);
    (void)fclose(file);
    assert_int_equal(unlink(path), 0);
    return text;
}

/* Whether packets held a channel of a port (0: the NIC's, 1: right, 2: left) in that virtual
 * network, in any router. */
static bool is_used(const char *trace, unsigned port, unsigned virtual_network)
{
    enum { CHANNELS = 4, NETWORK_CHANNELS = 2 };
    bool found = false;
    for (unsigned i = 0; i < NETWORK_CHANNELS; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "\"port %u\"",
                       port * CHANNELS + virtual_network * NETWORK_CHANNELS + i);
        found = found || strstr(trace, name);
    }
    return found;
}

static void replies_have_their_own_virtual_network(void **state)
{
    (void)state;
    enum { NIC, RIGHT, LEFT };
    char *trace = trace_of_pull();
    /* The request goes right in the first one, and the data comes back in the second. */
    assert_true(is_used(trace, RIGHT, 0));
    assert_false(is_used(trace, RIGHT, 1));
    assert_true(is_used(trace, LEFT, 1));
    assert_false(is_used(trace, LEFT, 0));
    assert_true(is_used(trace, NIC, 0));
    assert_true(is_used(trace, NIC, 1));
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_have_their_own_virtual_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
