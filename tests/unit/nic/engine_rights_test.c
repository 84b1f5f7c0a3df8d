/* Rights: what the engine lets others do in an area, and in the whole memory. */
#include "engine_network.h"

#include "nic/memory_access.h"

enum { WORDS = 64, TAG = 7 };

/* One of each kind of operation on a word. */
struct attempt {
    const char *name;
    uint32_t right;
    struct wire_operation operation;
};

static const unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static const struct attempt attempts[] = {
    {"AOTF", DN_WRITE, {.opcode = WIRE_AOTF, .bytes = 8, .operand = 99}},
    {"AOTF, 3 bytes", DN_WRITE, {.opcode = WIRE_AOTF, .bytes = 3, .operand = 99}},
    {"BOTF", DN_WRITE, {.opcode = WIRE_BOTF, .bytes = 8, .data = data}},
    {"PUSH", DN_WRITE, {.opcode = WIRE_PUSH, .bytes = 8, .data = data}},
    {"PULL", DN_READ, {.opcode = WIRE_PULL, .bytes = 8, .tag = TAG}},
    {"read", DN_READ, {.opcode = WIRE_ATOMIC, .detail = WIRE_READ, .bytes = 8, .tag = TAG}},
    {"add", DN_ATOMIC, {.opcode = WIRE_ATOMIC, .detail = WIRE_ADD, .bytes = 8, .operand = 1}},
    {"fetch and add",
     DN_ATOMIC,
     {.opcode = WIRE_ATOMIC, .detail = WIRE_ADD, .bytes = 4, .tag = TAG, .operand = 1}},
    {"swap",
     DN_ATOMIC,
     {.opcode = WIRE_ATOMIC, .detail = WIRE_SWAP, .bytes = 8, .tag = TAG, .operand = 99}},
    {"compare and swap",
     DN_ATOMIC,
     {.opcode = WIRE_ATOMIC, .detail = WIRE_COMPARE_SWAP, .bytes = 8, .tag = TAG, .operand = 99}},
};

enum { ATTEMPTS = sizeof attempts / sizeof attempts[0] };

/* Makes an attempt at node 1. Nothing but the 8 bytes there may change, and those only if it is
 * carried out; a refusal that is answered names its error. */
static void attempt(struct net *net, const struct attempt *made, uint32_t area, uint64_t offset,
                    int expected)
{
    static unsigned char before[NET_MEMORY_BYTES];
    unsigned char *memory = net->nodes[1].memory;
    uint64_t at = (area == NET_AREA ? NET_AREA_OFFSET : 0) + offset;
    struct wire_operation operation = made->operation;
    struct wire_operation answer;
    uint64_t refused = net_counters(net, 1)->refused;
    uint64_t written = net->nodes[1].written_count;
    operation.area = area;
    operation.offset = offset;
    if (at <= NET_MEMORY_BYTES - 8) {
        memset(memory + at, 0, 8);
    }
    memcpy(before, memory, sizeof before);
    assert_true(net_hand_over(net, 2, WIRE_REQUEST, &operation, 1));
    assert_int_equal(net_counters(net, 1)->refused - refused, expected != 0);
    if (expected == 0) {
        memcpy(before + at, memory + at, 8);
    } else {
        assert_int_equal(net->nodes[1].written_count, written);
    }
    assert_memory_equal(before, memory, sizeof before);
    struct net_packet *reply = net_oldest(net, &answer);
    assert_int_equal(reply != NULL, operation.tag != WIRE_NO_TAG);
    if (reply) {
        assert_int_equal(reply->route.target, 2);
        assert_int_equal(answer.offset, TAG);
        assert_int_equal(answer.opcode == WIRE_REFUSED, expected != 0);
        assert_int_equal(answer.opcode == WIRE_REFUSED ? -answer.detail : 0, expected);
        reply->state = NET_FREE;
    }
}

static void each_operation_needs_its_right(void **state)
{
    struct net *net = *state;
    for (uint32_t denied = 0; denied <= DN_ALL_RIGHTS; denied++) {
        net->nodes[1].denied = denied;
        nic_engine_forget_area(net_engine(net, 1), NET_AREA);
        for (uint32_t i = 0; i < ATTEMPTS; i++) {
            int expected = denied & attempts[i].right ? DN_ERIGHTS : 0;
            attempt(net, &attempts[i], NET_AREA, 0, expected);
            attempt(net, &attempts[i], NET_AREA, NET_AREA_BYTES - 8, expected);
        }
    }
}

/* A range that leaves the area is that mistake, whatever the rights. */
static void borders_come_before_rights(void **state)
{
    struct net *net = *state;
    for (uint32_t denied = 0; denied <= DN_ALL_RIGHTS; denied += DN_ALL_RIGHTS) {
        net->nodes[1].denied = denied;
        nic_engine_forget_area(net_engine(net, 1), NET_AREA);
        for (uint32_t i = 0; i < ATTEMPTS; i++) {
            attempt(net, &attempts[i], NET_AREA, NET_AREA_BYTES, DN_ERANGE);
            attempt(net, &attempts[i], NET_AREA, UINT64_MAX - 7, DN_ERANGE);
        }
    }
}

static void a_change_of_rights_counts_from_the_next_record(void **state)
{
    struct net *net = *state;
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        attempt(net, &attempts[i], NET_AREA, 64, 0);
        net->nodes[1].denied = attempts[i].right;
        nic_engine_forget_area(net_engine(net, 1), NET_AREA);
        attempt(net, &attempts[i], NET_AREA, 64, DN_ERIGHTS);
        net->nodes[1].denied = DN_ALL_RIGHTS & ~attempts[i].right;
        nic_engine_forget_area(net_engine(net, 1), NET_AREA);
        attempt(net, &attempts[i], NET_AREA, 64, 0);
        net->nodes[1].denied = 0;
        nic_engine_forget_area(net_engine(net, 1), NET_AREA);
    }
}

/* The error gets to whoever asked. */
static void a_refusal_ends_the_operation_with_its_error(void **state)
{
    struct net *net = *state;
    struct nic_completion atomic;
    struct nic_completion pull;
    struct nic_completion quiet;
    unsigned char into[NET_LONG_BYTES];
    memset(into, 0xee, sizeof into);
    net->nodes[1].denied = DN_ATOMIC | DN_READ;
    assert_int_equal(nic_atomic(net_engine(net, 0), 0, net_at(1, 0), WIRE_ADD, 8, 1, 0, &atomic),
                     0);
    assert_int_equal(nic_pull(net_engine(net, 0), 0, net_at(1, 0), into, sizeof into, &pull), 0);
    net_settle(net);
    assert_true(nic_completion_is_done(&atomic) && nic_completion_is_done(&pull));
    assert_int_equal(atomic.result, DN_ERIGHTS);
    assert_int_equal(pull.result, DN_ERIGHTS);
    for (uint32_t i = 0; i < sizeof into; i++) {
        assert_int_equal(into[i], 0xee);
    }
    /* Without a completion of its own, the next quiet says so. */
    assert_int_equal(nic_pull(net_engine(net, 0), 0, net_at(1, 0), into, 8, NULL), 0);
    assert_int_equal(nic_quiet(net_engine(net, 0), 0, &quiet), 0);
    net_settle(net);
    assert_true(nic_completion_is_done(&quiet));
    assert_int_equal(quiet.result, DN_ERIGHTS);
    assert_int_equal(net_word(net, 1, 0), 0);
}

/* ---- The whole memory ------------------------------------------------------------------- */

static uint16_t asked_source;
static uint64_t asked_address;
static struct wire_operation asked;
static uint32_t ask_count;
static bool answer_is_yes;

static bool ask(const struct net_node *node, uint16_t source,
                const struct wire_operation *operation, uint64_t address)
{
    (void)node;
    asked_source = source;
    asked_address = address;
    asked = *operation;
    ask_count++;
    return answer_is_yes;
}

static void whole_memory_is_asked_about_each_time(void **state)
{
    struct net *net = *state;
    net->nodes[1].permits = ask;
    ask_count = 0;
    for (uint32_t round = 0; round < 3; round++) {
        answer_is_yes = round != 1;
        for (uint32_t i = 0; i < ATTEMPTS; i++) {
            uint32_t before = ask_count;
            attempt(net, &attempts[i], NIC_AREA_WHOLE, 4096 + 8 * i,
                    answer_is_yes ? 0 : DN_ERIGHTS);
            assert_int_equal(ask_count, before + 1);
            assert_int_equal(asked_source, 2);
            assert_int_equal(asked_address, 4096 + 8 * i);
            assert_int_equal(asked.opcode, attempts[i].operation.opcode);
            assert_int_equal(asked.bytes, attempts[i].operation.bytes);
            attempt(net, &attempts[i], NIC_AREA_WHOLE, NET_MEMORY_BYTES, DN_ERANGE);
            assert_int_equal(ask_count, before + 1);
        }
    }
    /* Nobody asks about an area that has rights of its own. */
    uint32_t before = ask_count;
    attempt(net, &attempts[0], NET_AREA, 0, 0);
    assert_int_equal(ask_count, before);
}

/* The skip flag goes round the TLB, and round no rule. */
static void a_store_that_skips_translation_is_asked_about(void **state)
{
    struct net *net = *state;
    struct attempt store = attempts[0];
    store.operation.detail = WIRE_SKIP;
    net->nodes[1].permits = ask;
    net->nodes[1].denied = DN_ALL_RIGHTS;
    answer_is_yes = false;
    attempt(net, &store, NIC_AREA_WHOLE, NET_AREA_OFFSET, DN_ERIGHTS);
    answer_is_yes = true;
    attempt(net, &store, NIC_AREA_WHOLE, NET_AREA_OFFSET, 0);
    attempt(net, &store, NIC_AREA_WHOLE, NET_MEMORY_BYTES - 7, DN_ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_CASE(each_operation_needs_its_right),
        NET_CASE(borders_come_before_rights),
        NET_CASE(a_change_of_rights_counts_from_the_next_record),
        NET_CASE(a_refusal_ends_the_operation_with_its_error),
        NET_CASE(whole_memory_is_asked_about_each_time),
        NET_CASE(a_store_that_skips_translation_is_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
