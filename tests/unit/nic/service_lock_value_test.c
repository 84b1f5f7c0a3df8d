/* Values of locks: the grant brings what lies behind the word as the last holder left it, and
 * changes go with the release, before the next one has the lock. Node 0 manages. */
#include <stdalign.h>

#include "services_group.h"

enum { NODES = 4, LOCK = 7, VALUE_BYTES = 96, FAR = 40 };

struct use {
    struct nic_completion completion;
    uint64_t ticket;
    alignas(8) unsigned char memory[CLUSTER_VALUE_BYTES];
};

static void begin(uint64_t seed)
{
    struct nic_services_config config = cluster_config();
    config.lock_count = 4;
    config.lock_value_bytes = VALUE_BYTES;
    config.lock_value_count = 2;
    cluster_begin(seed, NODES, &config);
}

static int request(uint32_t node, struct use *use, uint32_t first_bytes, uint32_t second_bytes)
{
    struct nic_lock_value value = {use->memory, {{8, first_bytes}, {FAR, second_bytes}}};
    memset(use->memory, 0xee, sizeof use->memory);
    return nic_packet_lock_request(group.nodes[node].services, group.now_ns, 0, LOCK, false, &value,
                                   &use->completion, &use->ticket);
}

static void ask(uint32_t node, struct use *use)
{
    assert_int_equal(request(node, use, 8, 16), 0);
    cluster_settle(NULL);
}

static int give_with(uint32_t node, const struct use *use, const void *changes, uint32_t bytes)
{
    return nic_packet_lock_release_value(group.nodes[node].services, group.now_ns, use->ticket,
                                         changes, bytes);
}

static uint64_t word_at(const unsigned char *memory, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, memory + offset, sizeof word);
    return word;
}

static void a_grant_brings_what_the_release_before_changed(void **state)
{
    struct use first;
    struct use second;
    unsigned char changes[VALUE_BYTES];
    (void)state;
    begin(1);
    ask(1, &first);
    assert_int_equal(first.completion.result, 0);
    assert_int_equal(first.completion.value, 24);
    assert_int_equal(word_at(first.memory, 8), 0);
    assert_int_equal(first.memory[16], 0xee); /* not asked for */
    ask(2, &second);
    assert_int_equal(second.completion.state, NIC_PENDING);
    uint32_t length = nic_lock_change_add(changes, 0, 8, &(uint64_t){77}, 8, false);
    length = nic_lock_change_add(changes, length, FAR, "abc", 3, false);
    length = nic_lock_change_add(changes, length, FAR + 8, &(uint64_t){6}, 8, true);
    assert_int_equal(length % 8, 0);
    group.nodes[0].value[FAR + 8] = 1;
    assert_int_equal(give_with(1, &first, changes, length), 0);
    cluster_settle(NULL);
    assert_int_equal(second.completion.result, 0);
    assert_int_equal(word_at(second.memory, 8), 77);
    assert_memory_equal(second.memory + FAR, "abc", 4);
    assert_int_equal(word_at(second.memory, FAR + 8), 7);
    assert_int_equal(give_with(2, &second, NULL, 0), 0);
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    cluster_end();
}

/* The manager's own node asks without a value; the lock still goes on with its value. */
static void the_manager_itself_may_hold_it(void **state)
{
    struct use own;
    struct use other;
    (void)state;
    begin(2);
    assert_int_equal(nic_packet_lock_request(group.nodes[0].services, 1, 0, LOCK, false, NULL,
                                             &own.completion, &own.ticket),
                     0);
    cluster_settle(NULL);
    ask(3, &other);
    memcpy(group.nodes[0].value + 8, &(uint64_t){5}, 8);
    assert_int_equal(give_with(0, &own, NULL, 0), 0);
    cluster_settle(NULL);
    assert_int_equal(other.completion.value, 24);
    assert_int_equal(word_at(other.memory, 8), 5);
    cluster_end();
}

static void a_dead_holder_changes_nothing(void **state)
{
    struct use first;
    struct use second;
    unsigned char changes[VALUE_BYTES];
    (void)state;
    begin(3);
    ask(1, &first);
    ask(2, &second);
    uint32_t length = nic_lock_change_add(changes, 0, 8, &(uint64_t){77}, 8, false);
    assert_int_equal(give_with(1, &first, changes, length), 0);
    cluster_kill(1); /* before anything went out */
    cluster_settle(NULL);
    assert_int_equal(second.completion.result, DN_EOWNERDEAD);
    assert_int_equal(word_at(second.memory, 8), 0);
    cluster_end();
}

static void what_does_not_fit_is_refused(void **state)
{
    struct use use;
    struct use other;
    unsigned char changes[VALUE_BYTES + 8] = {0};
    (void)state;
    begin(4);
    assert_int_equal(request(1, &use, VALUE_BYTES, 1), DN_EINVAL);
    assert_int_equal(request(1, &use, UINT32_MAX, 1), DN_EINVAL);
    ask(1, &use);
    assert_int_equal(give_with(1, &use, changes, sizeof changes), DN_EINVAL);
    assert_int_equal(give_with(1, &use, changes, 4), DN_EINVAL);
    assert_int_equal(nic_packet_lock_state(group.nodes[1].services, use.ticket),
                     NIC_PACKET_LOCK_HELD);
    assert_int_equal(give_with(1, &use, NULL, 0), 0);
    cluster_settle(NULL);
    /* The manager does not have this memory: the lock comes without its value. */
    struct nic_lock_value far = {other.memory, {{CLUSTER_VALUE_BYTES, 8}, {0, 0}}};
    assert_int_equal(nic_packet_lock_request(group.nodes[2].services, 1, 0, LOCK, false, &far,
                                             &other.completion, &other.ticket),
                     0);
    cluster_settle(NULL);
    assert_int_equal(other.completion.result, 0);
    assert_int_equal(other.completion.value, 0);
    cluster_end();
}

/* Lines for waiting changes: the third change is refused, and its lock is still held. */
static void changes_wait_in_lines(void **state)
{
    struct use uses[3];
    unsigned char changes[16];
    (void)state;
    begin(5);
    uint32_t length = nic_lock_change_add(changes, 0, 8, &(uint64_t){1}, 8, false);
    for (uint64_t i = 0; i < 3; i++) {
        struct nic_lock_value value = {uses[i].memory, {{8, 8}, {0, 0}}};
        assert_int_equal(nic_packet_lock_request(group.nodes[1].services, 1, 0, LOCK + i, false,
                                                 &value, &uses[i].completion, &uses[i].ticket),
                         0);
    }
    cluster_settle(NULL);
    assert_int_equal(give_with(1, &uses[0], changes, length), 0);
    assert_int_equal(give_with(1, &uses[1], changes, length), 0);
    assert_int_equal(give_with(1, &uses[2], changes, length), DN_EFULL);
    cluster_settle(NULL);
    assert_int_equal(give_with(1, &uses[2], changes, length), 0);
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    cluster_end();
}

static void deliver_raw(unsigned kind, uint64_t ticket, const unsigned char *data, uint16_t bytes)
{
    struct wire_operation operation = {.opcode = WIRE_SERVICE,
                                       .detail = WIRE_LOCK,
                                       .area = (uint32_t)kind << 24,
                                       .offset = ticket,
                                       .data = data,
                                       .bytes = bytes};
    nic_services_deliver(group.nodes[0].services, group.now_ns, 1, &operation);
}

static void malformed_records_change_nothing(void **state)
{
    struct use use;
    unsigned char record[24 + VALUE_BYTES + 8] = {0};
    (void)state;
    begin(6);
    ask(1, &use);
    const struct nic_services_counters *counters = nic_services_counters(group.nodes[0].services);
    uint64_t before = counters->malformed;
    wire_put64(record, LOCK);
    deliver_raw(NIC_LOCK_RECORD_RELEASED, use.ticket, record, 24 + 4);
    wire_put32(record + 24, 8);
    wire_put32(record + 28, 9); /* longer than what follows */
    deliver_raw(NIC_LOCK_RECORD_RELEASED, use.ticket, record, 24 + 16);
    wire_put32(record + 28, UINT32_MAX);
    deliver_raw(NIC_LOCK_RECORD_RELEASED, use.ticket, record, 24 + 16);
    wire_put32(record + 24, 8 | NIC_LOCK_CHANGE_OR);
    wire_put32(record + 28, 4); /* only words are or-ed */
    deliver_raw(NIC_LOCK_RECORD_RELEASED, use.ticket, record, 24 + 16);
    deliver_raw(NIC_LOCK_RECORD_RELEASED, use.ticket, record, sizeof record);
    wire_put64(record + 8, UINT64_C(8) << 32 | (VALUE_BYTES + 1));
    deliver_raw(NIC_LOCK_RECORD_REQUEST, use.ticket + 1, record, 24);
    deliver_raw(NIC_LOCK_RECORD_REQUEST, use.ticket + 1, record, 16);
    assert_int_equal(counters->malformed - before, 7);
    assert_int_equal(nic_packet_lock_state(group.nodes[1].services, use.ticket),
                     NIC_PACKET_LOCK_HELD);
    for (uint32_t i = 0; i < CLUSTER_VALUE_BYTES; i++) {
        assert_int_equal(group.nodes[0].value[i], 0);
    }
    cluster_end();
}

/* ---- In any interleaving ------------------------------------------------------------------ */

static struct use plays[NODES];
static bool is_asking[NODES];
static uint64_t taken;
static uint64_t left_to_take;

/* A counter at two places of the value: each holder finds both as the last holder left them. */
static void play(uint32_t node)
{
    struct use *use = &plays[node];
    if (!is_asking[node]) {
        if (left_to_take > 0 && request(node, use, 8, 16) == 0) {
            left_to_take--;
            is_asking[node] = true;
        }
        return;
    }
    if (use->completion.state == NIC_PENDING || !cluster_percent(50)) {
        return;
    }
    unsigned char changes[VALUE_BYTES];
    cluster_check(use->completion.result == 0 && use->completion.value == 24);
    cluster_check(word_at(use->memory, 8) == taken && word_at(use->memory, FAR + 8) == 3 * taken);
    uint64_t next = taken + 1;
    uint64_t far = 3 * next;
    uint32_t length = nic_lock_change_add(changes, 0, 8, &next, 8, false);
    length = nic_lock_change_add(changes, length, FAR + 8, &far, 8, false);
    if (give_with(node, use, changes, length) == 0) {
        taken = next;
        is_asking[node] = false;
    }
}

static void values_follow_the_lock_in_any_interleaving(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        begin(seed);
        memset(is_asking, 0, sizeof is_asking);
        taken = 0;
        left_to_take = 60;
        for (uint64_t steps = 0; taken < 60; steps++) {
            cluster_check(steps < CLUSTER_QUIET_STEPS);
            play((uint32_t)cluster_below(NODES));
            cluster_step();
        }
        cluster_settle(NULL);
        cluster_assert_nobody_watches();
        assert_int_equal(word_at(group.nodes[0].value, 8), 60);
        cluster_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_brings_what_the_release_before_changed),
        cmocka_unit_test(the_manager_itself_may_hold_it),
        cmocka_unit_test(a_dead_holder_changes_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(changes_wait_in_lines),
        cmocka_unit_test(malformed_records_change_nothing),
        cmocka_unit_test(values_follow_the_lock_in_any_interleaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
