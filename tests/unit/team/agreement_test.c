/* What members agree on by packets, step by step: the test delivers what they send, and lets them
 * die, at the worst moments. */
#define _GNU_SOURCE
#include "unit/fake_fabric.h"

#include "group/service_memory.h"
#include "team/team.h"

static void *create_named(void *node)
{
    static const int ranks[] = {0, 1, 2};
    struct dn_team *team;
    return (void *)(intptr_t)team_create_named(node, ranks, 3, 1, &team);
}

/* Node 2 has no memory. Node 0 has seen that, and has taken its own offer back before node 1 found
 * it. */
static void who_misses_an_offer_hears_of_the_refusal(void **state)
{
    (void)state;
    fake_make(&(struct fake_settings){.node_count = 3});
    fake_attach();
    const struct group_view *view = &fake_nodes[1].process.view;
    struct group_team_slot *own = group_service(view, 1)->team_slots;
    struct group_team_slot *refusal = group_service(view, 2)->team_slots;
    struct timespec patience;
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, create_named, &fake_nodes[1].node), 0);
    while (atomic_load(&own->key) == 0) {
        sched_yield();
    }
    atomic_store(&refusal->key, atomic_load(&own->key));
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &patience), 0);
    patience.tv_sec += 30;
    assert_int_equal(pthread_timedjoin_np(thread, &result, &patience), 0);
    assert_int_equal((intptr_t)result, DN_ENOMEM);
    fake_free();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_misses_an_offer_hears_of_the_refusal),
    };
    return cmocka_run_group_tests_name("team/agreement", tests, NULL, NULL);
}
