/* Several users of one NIC: none stops another, none is taken for another, and their operations
 * happen in the order of time. */
#include "world_by_hand.h"

static struct sim_world *open_users(struct sim_machine *machine, uint32_t nodes,
                                    enum sim_topology topology, uint32_t users)
{
    char error[SIM_ERROR_BYTES] = "";
    const struct sim_world_config config = {
        .machine = machine, .node_count = nodes, .topology = topology, .user_count = users};
    struct sim_world *world = sim_world_open(&config, error);
    assert_string_equal(error, "");
    return world;
}

static uint64_t word_at(struct sim_world *world, uint32_t node, uint64_t offset)
{
    struct sim_host reader = {.world = world, .node = node};
    uint64_t word;
    memcpy(&word, sim_memory(&reader, offset), sizeof word);
    return word;
}

/* ---- Stores --------------------------------------------------------------------------- */

struct storing {
    uint64_t start_ps;
    uint64_t pause_ps; /* behind the first one, which misses */
    uint64_t page, place;
    uint32_t count;
    uint64_t kick;
    uint32_t i;
};

static void store_often(struct sim_host *host)
{
    struct storing *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, mine->page);
    SIM_STEP(host, sim_work(host, mine->start_ps));
    for (mine->i = 1; mine->i <= mine->count; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick + mine->place, mine->i, 8));
        if (mine->i == 1 && mine->pause_ps > 0) {
            SIM_STEP(host, sim_work(host, mine->pause_ps));
        }
    }
    SIM_END(host);
}

struct watching {
    uint64_t place;
    uint64_t wanted;
    uint64_t seen_ps;
};

static void watch(struct sim_host *host)
{
    struct watching *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, mine->place, 8, UINT64_MAX, mine->wanted));
    mine->seen_ps = host->now_ps;
    SIM_END(host);
}

/* One user has more to send than its credit and the link can take; the other sends one thing in the
 * midst of it. */
static void a_user_at_its_limit_does_not_stop_another(void **state)
{
    (void)state;
    enum { MANY = 400, CREDIT = 4 };
    struct sim_machine machine;
    struct storing storing[] = {{.count = MANY, .place = 8},
                                {.start_ps = 10000 * NS, .count = 1, .page = 4096, .place = 8}};
    struct watching watching[] = {{.place = 8, .wanted = MANY}, {.place = 4104, .wanted = 1}};
    fill(&machine);
    machine.fifo_entries = 2 * CREDIT;
    machine.link_mb_per_s = 50000000; /* 640 ns a packet */
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, 2);
    for (uint32_t user = 0; user < 2; user++) {
        sim_world_start(world, 0, user, store_often, &storing[user], 0);
        sim_world_start(world, 1, user, watch, &watching[user], 0);
    }
    ends_well(world);
    sim_world_close(world);
    /* What is in the send buffers goes first; then the two users take turns. */
    uint64_t packet_ps = 640 * NS;
    uint64_t way_ps = 2000 * NS; /* kick, stages, a header miss, wire and reads */
    assert_in_range(watching[1].seen_ps, 10000 * NS, 10000 * NS + 6 * packet_ps + way_ps);
    assert_true(watching[0].seen_ps > (MANY - 1) * packet_ps);
}

/* ---- Multicast beside a store --------------------------------------------------------- */

struct telling {
    uint64_t kick;
};

static void tell_all(struct sim_host *host)
{
    struct telling *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    /* Its header misses, so the next ones meet in the FIFO; it is this user's turn, so the other's
     * comes next. */
    SIM_STEP(host, sim_store(host, mine->kick + 8, 5, 8));
    SIM_STEP(host, sim_store_all(host, mine->kick + 16, 77, 8, 1, 3));
    SIM_END(host);
}

static void tell_one(struct sim_host *host)
{
    struct telling *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 4096);
    SIM_STEP(host, sim_work(host, 60 * NS));
    SIM_STEP(host, sim_store(host, mine->kick + 16, 88, 8));
    SIM_END(host);
}

static void a_store_is_not_taken_for_another_users_multicast(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct telling telling[2] = {{0}};
    fill(&machine);
    machine.send_buffers = 1;
    struct sim_world *world = open_users(&machine, 4, SIM_ONE_SWITCH, 2);
    sim_world_start(world, 0, 0, tell_all, &telling[0], 0);
    sim_world_start(world, 0, 1, tell_one, &telling[1], 0);
    ends_well(world);
    for (uint32_t node = 1; node < 4; node++) {
        assert_int_equal(word_at(world, node, 8), node == 1 ? 5 : 0);
        assert_int_equal(word_at(world, node, 16), 77);
        assert_int_equal(word_at(world, node, 4096 + 16), node == 1 ? 88 : 0);
    }
    sim_world_close(world);
}

/* ---- The order of time ---------------------------------------------------------------- */

struct block {
    unsigned char bytes[464];
};

static void write_block(struct sim_host *host)
{
    struct block *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_block(host, sim_remote(1, 8192), mine->bytes, 464));
    SIM_END(host);
}

/* 61 words of 10 ns: the other's store is at the NIC long before they are written. */
static void a_store_does_not_wait_for_a_block_that_is_being_written(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct block block = {{1}};
    struct storing storing = {.start_ps = 3 * NS, .count = 1};
    struct watching watching = {.wanted = 1};
    fill(&machine);
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, 2);
    sim_world_start(world, 0, 0, write_block, &block, 0);
    sim_world_start(world, 0, 1, store_often, &storing, 0);
    sim_world_start(world, 1, 0, watch, &watching, 0);
    assert_int_equal(sim_world_run(world, 1900 * NS), SIM_END_LIMIT);
    const struct sim_passage *passage = sim_world_passage(world, 1);
    assert_int_equal(passage->kicked_ps, 3 * NS);
    assert_int_equal(passage->from_ps[SIM_STAGE_HOST_WRITE], 110 * NS);
    ends_well(world);
    sim_world_close(world);
}

struct checking {
    uint32_t i;
    uint32_t packets;
    uint64_t last_ps;
};

/* Reads on and on, and checks the way of each packet that has come. */
static void check_ways(struct sim_host *host)
{
    struct checking *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 80; mine->i++) {
        SIM_STEP(host, sim_load(host, 0, 8));
        const struct sim_passage *passage = sim_world_passage(host->world, host->node);
        mine->packets += passage->visible_ps != mine->last_ps;
        mine->last_ps = passage->visible_ps;
        for (unsigned stage = 1; stage < SIM_STAGES; stage++) {
            assert_true(passage->from_ps[stage] >= passage->to_ps[stage - 1]);
            assert_true(passage->to_ps[stage] >= passage->from_ps[stage]);
        }
    }
    SIM_END(host);
}

/* A pump for one of them must not take another out of its queue. */
static void no_packet_enters_a_stage_before_it_has_left_the_last(void **state)
{
    (void)state;
    enum { USERS = 2, STORES = 100 };
    struct sim_machine machine;
    struct storing storing[USERS];
    struct checking checking = {0};
    fill(&machine);
    machine.stages[SIM_STAGE_TRANSACTION_QUEUE].cycles = 5;
    machine.link_mb_per_s = 2000000000;
    machine.send_buffers = 8;
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, USERS);
    for (uint32_t user = 0; user < USERS; user++) {
        storing[user] = (struct storing){.start_ps = user * 17 * NS + 1,
                                         .pause_ps = 5000 * NS,
                                         .count = STORES,
                                         .page = 4096 * (uint64_t)user,
                                         .place = 8};
        sim_world_start(world, 0, user, store_often, &storing[user], 0);
    }
    sim_world_start(world, 1, 0, check_ways, &checking, 0);
    ends_well(world);
    sim_world_close(world);
    assert_true(checking.packets > 20);
}

/* ---- Windows -------------------------------------------------------------------------- */

struct streaming {
    uint64_t start_ps;
    uint32_t target;
    uint32_t i, count;
    uint64_t ended_ps;
    unsigned char bytes[464];
};

static void stream(struct sim_host *host)
{
    struct streaming *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, mine->start_ps));
    for (mine->i = 0; mine->i < mine->count; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(mine->target, 4096), mine->bytes, 464));
    }
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

/* The same place at two nodes. One user has all its windows in the NIC when the other begins. The
 * NIC then drains one of the other's windows in two packets of 976 ns, so it writes 40 blocks, 8
 * more than it has windows, without waiting for one. */
static void windows_go_back_to_their_users(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct streaming streaming[2] = {{.target = 1, .count = 200},
                                     {.target = 2, .count = 40, .start_ps = 100000 * NS}};
    fill(&machine);
    struct sim_world *world = open_users(&machine, 3, SIM_ONE_SWITCH, 2);
    for (uint32_t user = 0; user < 2; user++) {
        sim_world_start(world, 0, user, stream, &streaming[user], 0);
    }
    ends_well(world);
    sim_world_close(world);
    /* And a read of the windows' status, once. */
    assert_in_range(streaming[1].ended_ps - streaming[1].start_ps, 40 * 610 * NS,
                    (40 * 610 + 173) * NS);
}

/* ---- Descriptors ------------------------------------------------------------------------- */

static void pull_word(struct sim_host *host)
{
    uint64_t *word = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_pull(host, sim_remote(1, 4096), word, sizeof *word));
    assert_int_equal(host->result, 0);
    SIM_END(host);
}

/* More operations than a NIC has descriptors: the last ones go when the first get their answers,
 * when the NIC has nothing else to do. */
static void who_waits_for_a_descriptor_gets_one(void **state)
{
    (void)state;
    enum { USERS = 40 };
    struct sim_machine machine;
    uint64_t words[USERS] = {0};
    fill(&machine);
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, USERS);
    struct sim_host writer = {.world = world, .node = 1};
    *(uint64_t *)sim_memory(&writer, 4096) = 42;
    for (uint32_t user = 0; user < USERS; user++) {
        sim_world_start(world, 0, user, pull_word, &words[user], 0);
    }
    ends_well(world);
    for (uint32_t user = 0; user < USERS; user++) {
        assert_int_equal(words[user], 42);
    }
    sim_world_close(world);
}

/* ---- Shares ------------------------------------------------------------------------------ */

/* Credits never promise more than the FIFO has, so no user is left without. */
static void every_user_has_a_credit(void **state)
{
    (void)state;
    enum { USERS = 3 };
    struct sim_machine machine;
    struct storing storing[USERS];
    fill(&machine);
    machine.fifo_entries = 1 << 20;
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, USERS);
    for (uint32_t user = 0; user < USERS; user++) {
        storing[user] = (struct storing){.count = 3, .place = 8 * (uint64_t)user};
        sim_world_start(world, 0, user, store_often, &storing[user], 0);
    }
    ends_well(world);
    for (uint32_t user = 0; user < USERS; user++) {
        assert_int_equal(word_at(world, 1, 8 * (uint64_t)user), 3);
    }
    sim_world_close(world);
}

struct mapping {
    uint32_t i, j;
    uint64_t kick;
};

/* As many pages as the header table has room for: 29 bits of kick addresses. */
static void map_pages(struct sim_host *host)
{
    struct mapping *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < 2000; mine->i++) {
        mine->kick = sim_kick(host, 1, (uint64_t)mine->i % 32 * 4096);
    }
    SIM_STEP(host, sim_store(host, mine->kick, host->user + 1, 8));
    SIM_END(host);
}

static void users_of_two_nodes_can_map_thousands_of_pages(void **state)
{
    (void)state;
    struct sim_machine machine;
    struct mapping mapping = {0};
    fill(&machine);
    struct sim_world *world = open_users(&machine, 2, SIM_BACK_TO_BACK, 1);
    sim_world_start(world, 0, 0, map_pages, &mapping, 0);
    ends_well(world);
    assert_int_equal(word_at(world, 1, 1999 % 32 * 4096), 1);
    sim_world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_at_its_limit_does_not_stop_another),
        cmocka_unit_test(a_store_is_not_taken_for_another_users_multicast),
        cmocka_unit_test(a_store_does_not_wait_for_a_block_that_is_being_written),
        cmocka_unit_test(no_packet_enters_a_stage_before_it_has_left_the_last),
        cmocka_unit_test(windows_go_back_to_their_users),
        cmocka_unit_test(who_waits_for_a_descriptor_gets_one),
        cmocka_unit_test(every_user_has_a_credit),
        cmocka_unit_test(users_of_two_nodes_can_map_thousands_of_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
