/* What one node of the largest machine costs: the pages that its engine and its services have
 * touched, before it does anything and after it took part in a store and in a barrier. */
#include "unit/unit.h"

#include "nic/engine.h"
#include "nic/services.h"
#include "touched.h"

enum { NODE = 1000, PARENT = 499, MEMORY_BYTES = 4096, LIMIT_PAGES = 10, TEAM = 1 };

/* The last record that the node under test sent, and a place for its bytes. */
static unsigned char sent[NIC_BODY_BYTES_MIN];
static uint32_t sent_bytes;
static uint32_t sent_count;
static unsigned char memory[MEMORY_BYTES];

static int append(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room)
{
    (void)context;
    (void)now_ns;
    (void)route;
    assert_true(bytes <= sizeof sent);
    *room = sent;
    sent_bytes = bytes;
    sent_count++;
    return 0;
}

static bool has_reply_room(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)context;
    (void)now_ns;
    (void)peer;
    return true;
}

static void fence(void *context, uint16_t target, uint8_t channel)
{
    (void)context;
    (void)target;
    (void)channel;
}

static uint64_t mark(void *context)
{
    (void)context;
    return 0;
}

static bool mark_is_passed(void *context, uint64_t passed)
{
    (void)context;
    (void)passed;
    return true;
}

static int find(void *context, uint32_t area, struct nic_extent *extent)
{
    (void)context;
    (void)area;
    *extent = (struct nic_extent){.bytes = MEMORY_BYTES};
    return 0;
}

struct node {
    unsigned char *space;
    uint64_t engine_bytes, services_bytes;
    struct nic_engine *engine;
    struct nic_services *services;
};

static struct node start(void)
{
    struct nic_engine_config config = {.node = NODE,
                                       .pgid = 1,
                                       .node_count = WIRE_NODES_MAX,
                                       .kick_page_count = 64,
                                       .transfer_count = 64,
                                       .outstanding_count = 64};
    struct nic_services_config sizes;
    nic_services_config_default(&sizes, WIRE_NODES_MAX);
    sizes.node = NODE;
    sizes.incarnation = 1;
    sizes.context_count = 0;
    struct nic_network network = {
        .body_bytes_max = NIC_BODY_BYTES_MIN,
        .append = append,
        .has_reply_room = has_reply_room,
        .fence = fence,
        .mark = mark,
        .mark_is_passed = mark_is_passed,
    };
    struct nic_local_memory local = {.base = memory, .bytes = MEMORY_BYTES, .find = find};
    struct nic_services_hooks hooks = {0};
    struct node node = {.engine_bytes = nic_engine_bytes(&config),
                        .services_bytes = nic_services_bytes(&sizes)};
    node.space = touched_new(node.engine_bytes + node.services_bytes);
    node.engine = nic_engine_init(&config, &network, &local, node.space, NULL);
    node.services = nic_services_init(&sizes, &hooks, node.space + node.engine_bytes, NULL);
    nic_engine_serve(node.engine, node.services);
    sent_count = 0;
    return node;
}

static uint64_t cost(const struct node *node)
{
    return touched_pages(node->space, node->engine_bytes + node->services_bytes);
}

static void end(const struct node *node)
{
    touched_free(node->space, node->engine_bytes + node->services_bytes);
}

static void a_node_that_does_nothing_costs_a_few_pages(void **state)
{
    (void)state;
    struct node node = start();
    assert_true(node.engine_bytes + node.services_bytes > 4u << 20);
    assert_true(cost(&node) <= LIMIT_PAGES / 2);
    end(&node);
}

static void stores_to_and_from_neighbours_cost_a_few_pages(void **state)
{
    (void)state;
    const uint16_t targets[] = {PARENT, 8 * NODE + 1, 8 * NODE + 8};
    struct node node = start();
    assert_int_equal(nic_user_set(node.engine, 0, 16), 0);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        uint64_t kick;
        struct dn_remote page = {.rank = targets[i]};
        assert_int_equal(nic_kick_open(node.engine, 0, page, true, &kick), 0);
        assert_int_equal(nic_aotf(node.engine, 0, kick + 8, i + 1, 8), 0);
        nic_engine_run(node.engine, 0);
        assert_int_equal(sent_count, i + 1);
        assert_true(
            nic_engine_deliver(node.engine, 0, targets[i], WIRE_REQUEST, 0, sent, sent_bytes));
    }
    assert_int_equal(memory[8], 3);
    assert_true(cost(&node) <= LIMIT_PAGES);
    end(&node);
}

static void a_barrier_costs_a_few_pages(void **state)
{
    (void)state;
    static uint16_t members[WIRE_NODES_MAX];
    struct nic_completion completion;
    struct node node = start();
    for (uint32_t i = 0; i < WIRE_NODES_MAX; i++) {
        members[i] = (uint16_t)i;
    }
    assert_int_equal(nic_packet_barrier_open(node.services, 0, TEAM, members, WIRE_NODES_MAX), 0);
    assert_int_equal(nic_packet_barrier_arrive(node.services, 0, TEAM, &completion), 0);
    nic_engine_run(node.engine, 0);
    assert_int_equal(sent_count, 2); /* asks its children */
    assert_true(cost(&node) <= LIMIT_PAGES);
    end(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_does_nothing_costs_a_few_pages),
        cmocka_unit_test(stores_to_and_from_neighbours_cost_a_few_pages),
        cmocka_unit_test(a_barrier_costs_a_few_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
