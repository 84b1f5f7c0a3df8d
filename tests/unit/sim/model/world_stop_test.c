/* A router that can take no more says stop, and the NIC's send stages, its windows and at last the
 * program wait. Meanwhile packets to other nodes may pass. */
#include "base/random.h"
#include "world_by_hand.h"

enum { NODES = 8, BLOCKS = 300, BLOCK_BYTES = 464 };

struct sending {
    unsigned char block[BLOCK_BYTES];
    uint32_t i;
    uint64_t done_ps;
};

static void send_blocks(struct sim_host *host)
{
    struct sending *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < BLOCKS; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(0, 4096), mine->block, BLOCK_BYTES));
    }
    mine->done_ps = host->now_ps;
    SIM_END(host);
}

/* When the last of the nodes 1 .. senders has given away its last block for node 0. */
static uint64_t last_block_ps(uint32_t senders)
{
    struct sim_machine machine;
    static struct sending sending[NODES];
    uint64_t last_ps = 0;
    fill(&machine);
    struct sim_world *world = open_world(&machine, NODES, SIM_RING, false);
    for (uint32_t node = 1; node <= senders; node++) {
        sim_world_start(world, node, 0, send_blocks, &sending[node], 0);
    }
    ends_well(world);
    sim_world_close(world);
    for (uint32_t node = 1; node <= senders; node++) {
        last_ps = sending[node].done_ps > last_ps ? sending[node].done_ps : last_ps;
    }
    return last_ps;
}

/* A block and its header are 61 lines, 976 ns in a port of 500 MB/s. The ring, its ports and the
 * windows of the NICs hold some of the blocks; all others are given away no sooner than node 0's
 * port has taken those before them. */
static void programs_wait_until_the_ring_takes_their_blocks(void **state)
{
    (void)state;
    const uint64_t block_ps = 61 * 16 * NS;
    uint64_t alone_ps = last_block_ps(1);
    uint64_t all_ps = last_block_ps(NODES - 1);
    uint64_t all = BLOCKS * (NODES - 1);
    assert_in_range(alone_ps, (BLOCKS - NIC_WINDOWS - 10) * block_ps, BLOCKS * block_ps);
    assert_in_range(all_ps, (all - NIC_WINDOWS - 100) * block_ps, all * block_ps);
}

/* ---- Packets that pass others -------------------------------------------------------------- */

enum { PUSHES = 40, PUSH_USERS = 3, PUSH_NODES = 5 };

struct pushing {
    struct base_random random;
    uint32_t i;
    unsigned char data[9000];
};

/* Long and short ones, so that one user's short packet passes another one's long one. */
static void push_around(struct sim_host *host)
{
    struct pushing *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < PUSHES; mine->i++) {
        SIM_STEP(host,
                 sim_push(host,
                          sim_remote((host->node + 1 +
                                      (uint32_t)base_random_below(&mine->random, PUSH_NODES - 1)) %
                                         PUSH_NODES,
                                     4096),
                          mine->data, base_random_below(&mine->random, 2) ? 9000 : 100));
    }
    SIM_END(host);
}

static void pushes_that_pass_others_complete(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_machine machine;
        char error[SIM_ERROR_BYTES];
        struct pushing *pushing = calloc(PUSH_NODES * PUSH_USERS, sizeof *pushing);
        assert_true(sim_machine_load(&machine, "dimmnet1-D", error));
        const struct sim_world_config config = {.machine = &machine,
                                                .node_count = PUSH_NODES,
                                                .topology = SIM_RING,
                                                .user_count = PUSH_USERS};
        struct sim_world *world = sim_world_open(&config, error);
        assert_non_null(world);
        for (uint32_t i = 0; i < PUSH_NODES * PUSH_USERS; i++) {
            pushing[i].random.state = seed << 32 | i;
            sim_world_start(world, i / PUSH_USERS, i % PUSH_USERS, push_around, &pushing[i], 0);
        }
        ends_well(world);
        sim_world_close(world);
        sim_machine_free(&machine);
        free(pushing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_wait_until_the_ring_takes_their_blocks),
        cmocka_unit_test(pushes_that_pass_others_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
