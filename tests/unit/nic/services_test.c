/* What all services share: memory, rounds of sending, watching, and records that make no
 * sense. */
#include "services_group.h"
#include "touched.h"

static void a_config_that_makes_no_sense_needs_no_memory(void **state)
{
    struct nic_services_config good;
    struct nic_services_config bad;
    (void)state;
    nic_services_config_default(&good, 4);
    nic_services_config_messages(&good);
    good.incarnation = 1;
    assert_true(nic_services_bytes(&good) > 0);
    bad = good;
    bad.node = 4;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.incarnation = 0;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.node_count = WIRE_NODES_MAX + 1;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.context_count = NIC_SERVICE_CHANNELS_MAX + 1;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.messages = NULL;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.context_entry_count = 3;
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.context_receive_bytes = 1024;
    bad.message_bytes_max = 1024; /* no room for its header */
    assert_int_equal(nic_services_bytes(&bad), 0);
    bad = good;
    bad.lock_waiter_count = UINT32_MAX;
    assert_int_equal(nic_services_bytes(&bad), 0);
}

static void services_of_all_nodes_that_can_be_addressed_fit_in_24_mebibytes(void **state)
{
    struct nic_services_config config;
    (void)state;
    nic_services_config_default(&config, WIRE_NODES_MAX);
    nic_services_config_messages(&config);
    config.incarnation = 1;
    assert_true(nic_services_bytes(&config) > 0);
    assert_true(nic_services_bytes(&config) < 24u << 20);
}

/* Most of the memory is tables of locks, of which programs use few. */
static void what_is_not_used_is_not_touched(void **state)
{
    struct nic_services_config config;
    struct nic_services_hooks hooks = {0};
    (void)state;
    nic_services_config_default(&config, 4);
    config.incarnation = 1;
    uint64_t bytes = nic_services_bytes(&config);
    unsigned char *space = touched_new(bytes);
    struct nic_services *services = nic_services_init(&config, &hooks, space, NULL);
    for (uint64_t name = 0; name < 100; name++) {
        struct nic_completion completion;
        struct nic_service_packet packet;
        uint64_t ticket;
        assert_int_equal(
            nic_packet_lock_request(services, 1, 0, name, false, NULL, &completion, &ticket), 0);
        nic_services_begin(services);
        assert_false(nic_services_next(services, 1, &packet));
        assert_true(nic_completion_is_done(&completion));
        assert_int_equal(nic_packet_lock_release(services, 1, ticket), 0);
    }
    assert_true(bytes > 8u << 20);
    assert_true(touched_pages(space, bytes) < 32);
    touched_free(space, bytes);
}

/* ---- Rounds -------------------------------------------------------------------------- */

static void begin(uint32_t count)
{
    struct nic_services_config config = cluster_config();
    cluster_begin(1, count, &config);
    group.wire_room = CLUSTER_WIRE_MAX;
}

static void a_target_without_room_does_not_hold_up_the_others(void **state)
{
    struct nic_completion completions[4];
    uint64_t tickets[4];
    struct nic_service_packet packet;
    uint32_t offered[3] = {0};
    (void)state;
    begin(3);
    struct nic_services *services = group.nodes[0].services;
    for (uint32_t i = 0; i < 4; i++) {
        uint16_t manager = (uint16_t)(1 + i / 2);
        assert_int_equal(nic_packet_lock_request(services, 1, manager, i % 2, false, NULL,
                                                 &completions[i], &tickets[i]),
                         0);
    }
    nic_services_begin(services);
    while (nic_services_next(services, 1, &packet)) {
        offered[packet.target]++;
        if (packet.target == 2) {
            nic_services_sent(services, 1, &packet);
        }
    }
    /* Nothing overtakes a record whose target had no room. */
    assert_int_equal(offered[1], 1);
    assert_int_equal(offered[2], 2);
    nic_services_begin(services);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(nic_services_next(services, 1, &packet));
        assert_int_equal(packet.target, 1);
        assert_int_equal(packet.operation.offset, tickets[i]);
        nic_services_sent(services, 1, &packet);
    }
    assert_false(nic_services_next(services, 1, &packet));
    cluster_end();
}

static void a_peer_may_be_lost_while_its_record_is_offered(void **state)
{
    struct nic_completion completions[2];
    uint64_t ticket;
    struct nic_service_packet packet;
    (void)state;
    begin(3);
    struct nic_services *services = group.nodes[0].services;
    for (uint16_t i = 0; i < 2; i++) {
        assert_int_equal(nic_packet_lock_request(services, 1, (uint16_t)(i + 1), 0, false, NULL,
                                                 &completions[i], &ticket),
                         0);
    }
    nic_services_begin(services);
    assert_true(nic_services_next(services, 1, &packet));
    assert_int_equal(packet.target, 1);
    nic_services_peer_lost(services, 1, 1);
    nic_services_peer_lost(services, 1, 2);
    nic_services_sent(services, 1, &packet);
    assert_false(nic_services_next(services, 1, &packet));
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(completions[i].state, NIC_DONE);
        assert_int_equal(completions[i].result, DN_EPEER);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

static void watches_are_counted(void **state)
{
    struct nic_completion completion;
    uint64_t ticket;
    (void)state;
    begin(2);
    struct nic_services *services = group.nodes[0].services;
    nic_services_watch(services, 1, 1, true);
    nic_services_watch(services, 1, 0, true); /* ourselves: nobody is told */
    assert_true(group.wires[0][1].watched);
    assert_false(group.wires[0][0].watched);
    assert_int_equal(nic_packet_lock_request(services, 1, 1, 0, false, NULL, &completion, &ticket),
                     0);
    nic_services_watch(services, 1, 1, false);
    assert_true(group.wires[0][1].watched);
    cluster_settle(NULL);
    assert_int_equal(nic_packet_lock_release(services, 1, ticket), 0);
    assert_false(group.wires[0][1].watched);
    cluster_end();
}

/* ---- Records that make no sense ------------------------------------------------------ */

static void deliver(uint16_t source, unsigned service, unsigned kind, uint32_t number,
                    uint64_t offset, uint16_t bytes)
{
    static const unsigned char data[64] = {1};
    struct wire_operation operation = {
        .opcode = WIRE_SERVICE,
        .detail = (uint8_t)service,
        .bytes = bytes,
        .area = kind << 24 | number,
        .offset = offset,
        .data = data,
    };
    nic_services_deliver(group.nodes[0].services, group.now_ns, source, &operation);
}

static void malformed_records_are_counted_and_dropped(void **state)
{
    static const struct {
        uint16_t source;
        unsigned service;
        unsigned kind;
        uint32_t number;
        uint64_t offset;
        uint16_t bytes;
    } records[] = {
        {2, WIRE_LOCK, NIC_LOCK_RECORD_REQUEST, 0, 1, 8}, /* no such node */
        {1, 0, 1, 0, 1, 0},
        {1, WIRE_SERVICE_LAST + 1, 1, 0, 1, 0},
        {1, WIRE_LOCK, 0, 0, 1, 8},
        {1, WIRE_LOCK, NIC_LOCK_RECORD_REFUSED + 1, 0, 1, 0},
        {1, WIRE_LOCK, NIC_LOCK_RECORD_REQUEST, 0, 0, 8}, /* no ticket */
        {1, WIRE_LOCK, NIC_LOCK_RECORD_REQUEST, 0, 1, 0}, /* no name */
        {1, WIRE_LOCK, NIC_LOCK_RECORD_TRY, 1, 1, 8},     /* a lock has no number */
        {1, WIRE_LOCK, NIC_LOCK_RECORD_CANCEL, 0, 1, 16},
        {1, WIRE_LOCK, NIC_LOCK_RECORD_RELEASED, 0, 1, 16},
        {1, WIRE_LOCK, NIC_LOCK_RECORD_NEXT, 0, 1, 0},
        {1, WIRE_LOCK, NIC_LOCK_RECORD_REFUSED, 0, 1, 16}, /* with no known reason */
        {1, WIRE_BARRIER, 0, 0, 1, 0},
        {1, WIRE_BARRIER, NIC_BARRIER_RECORD_ASK + 1, 0, 1, 0},
        {1, WIRE_BARRIER, NIC_BARRIER_RECORD_ARRIVE, 0, UINT64_C(1) << 32, 0},
        {1, WIRE_BARRIER, NIC_BARRIER_RECORD_ARRIVE, 0, 1, 8},
        {1, WIRE_MESSAGE, 0, 0, 1, 0},
        {1, WIRE_MESSAGE, NIC_MESSAGE_RECORD_UNDECLARED + 1, 0, 1, 0},
        {1, WIRE_MESSAGE, PX_DATA, 2, 1, 8},          /* no such channel */
        {1, WIRE_MESSAGE, PX_DATA, 0, UINT64_MAX, 8}, /* from no entry */
        {1, WIRE_MESSAGE, PX_DATA, 0, 1, 97},         /* too long */
        {1, WIRE_MESSAGE, PX_ACK, 0, 1, 8},
    };
    const uint64_t count = sizeof records / sizeof records[0];
    (void)state;
    begin(2);
    for (uint64_t i = 0; i < count; i++) {
        deliver(records[i].source, records[i].service, records[i].kind, records[i].number,
                records[i].offset, records[i].bytes);
        assert_int_equal(nic_services_counters(group.nodes[0].services)->malformed, i + 1);
    }
    assert_int_equal(nic_services_counters(group.nodes[0].services)->records, count);
    assert_true(cluster_is_quiet());
    cluster_end();
}

/* Whatever record comes from whatever node, nothing breaks, and every table is whole afterwards. */
static void any_record_may_come_at_any_time(void **state)
{
    enum { SEEDS = 200, STEPS = 2000 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const uint16_t all[] = {0, 1, 2};
        struct nic_services_config config = cluster_config();
        struct nic_completion completions[STEPS];
        uint64_t ticket = 0;
        cluster_begin(seed, 3, &config);
        struct nic_services *services = group.nodes[0].services;
        cluster_check(nic_packet_barrier_open(services, 1, 0, all, 3) == 0);
        const struct nic_message_lists lists = {all, 3, all, 3};
        cluster_check(nic_packet_message_open(services, 0, &lists, seed % 4, NULL) == 0);
        for (uint32_t step = 0; step < STEPS; step++) {
            unsigned char data[NIC_SERVICE_NUMBERS_MAX * NIC_SERVICE_NUMBER_BYTES];
            uint64_t base = cluster_percent(50) ? UINT64_C(1) << 32 : 0;
            wire_put64(data, cluster_percent(50) ? cluster_below(3) : base + cluster_below(8));
            wire_put64(data + 8, cluster_percent(50) ? base + cluster_below(8) : cluster_below(20));
            wire_put64(data + 16, cluster_below(4));
            struct wire_operation operation = {
                .opcode = WIRE_SERVICE,
                .detail = (uint8_t)cluster_below(WIRE_SERVICE_LAST + 2),
                .bytes = (uint16_t)(cluster_below(4) * NIC_SERVICE_NUMBER_BYTES),
                .area = (uint32_t)(cluster_below(10) << 24 |
                                   (cluster_percent(70) ? 0 : cluster_below(3))),
                .offset = base + cluster_below(8),
                .data = data,
            };
            nic_services_deliver(services, group.now_ns, (uint16_t)cluster_below(4), &operation);
            if (cluster_percent(10)) {
                (void)nic_packet_lock_request(services, group.now_ns, (uint16_t)cluster_below(3),
                                              cluster_below(3), cluster_percent(50), NULL,
                                              &completions[step], &ticket);
            } else if (cluster_percent(10)) {
                (void)nic_packet_lock_release(services, group.now_ns, ticket);
            } else if (cluster_percent(10)) {
                (void)nic_packet_barrier_arrive(services, group.now_ns, 0, &completions[step]);
            } else if (cluster_percent(10)) {
                (void)nic_packet_message_send(services, group.now_ns, 0, (uint16_t)cluster_below(3),
                                              data, sizeof data);
            } else if (cluster_percent(1)) {
                nic_services_peer_lost(services, group.now_ns, (uint16_t)cluster_below(3));
            }
            cluster_step();
        }
        nic_services_peer_lost(services, group.now_ns, 1);
        nic_services_peer_lost(services, group.now_ns, 2);
        for (uint32_t i = 0; i < services->waiters.touched; i++) {
            const struct nic_lock_waiter *waiter = base_pool_line(&services->waiters, i);
            cluster_check(waiter->state == NIC_WAITER_FREE || waiter->node == 0);
        }
        cluster_check(!group.wires[0][1].watched && !group.wires[0][2].watched);
        cluster_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_config_that_makes_no_sense_needs_no_memory),
        cmocka_unit_test(services_of_all_nodes_that_can_be_addressed_fit_in_24_mebibytes),
        cmocka_unit_test(what_is_not_used_is_not_touched),
        cmocka_unit_test(a_target_without_room_does_not_hold_up_the_others),
        cmocka_unit_test(a_peer_may_be_lost_while_its_record_is_offered),
        cmocka_unit_test(watches_are_counted),
        cmocka_unit_test(malformed_records_are_counted_and_dropped),
        cmocka_unit_test(any_record_may_come_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
