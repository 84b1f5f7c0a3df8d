/* Operations: the bytes are those of doc/wire.md, what is encoded is decoded again, and
 * everything else is refused. Decoders get exact copies on the heap, so that a sanitizer
 * sees a read outside. */
#include <stdlib.h>

#include "base/random.h"
#include "unit/unit.h"
#include "wire/operation.h"

enum { ROUNDS = 20000, BODY_BYTES_MAX = 9160, PULL_BYTES_MAX = BODY_BYTES_MAX - 16 };

static struct base_random source_of_chance;

static const enum wire_opcode REQUESTS[] = {WIRE_AOTF, WIRE_BOTF,   WIRE_PUSH,
                                            WIRE_PULL, WIRE_ATOMIC, WIRE_SERVICE};
static const enum wire_opcode REPLIES[] = {WIRE_PULLED, WIRE_FETCHED, WIRE_REFUSED, WIRE_SERVED};

static uint64_t below(uint64_t limit)
{
    return base_random_below(&source_of_chance, limit);
}

static uint64_t any(void)
{
    return base_random_next(&source_of_chance);
}

/* An exact copy, with nothing behind it. */
static unsigned char *copy_of(const unsigned char *body, uint32_t bytes)
{
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, body, bytes);
    return copy;
}

static bool check_body(const unsigned char *body, uint32_t bytes, enum wire_class class)
{
    unsigned char *copy = copy_of(body, bytes);
    bool fine = wire_body_check(copy, bytes, class);
    free(copy);
    return fine;
}

static enum wire_class class_of(const struct wire_operation *operation)
{
    return operation->opcode >= WIRE_PULLED ? WIRE_REPLY : WIRE_REQUEST;
}

static bool has_block(enum wire_opcode opcode)
{
    return opcode == WIRE_BOTF || opcode == WIRE_PUSH || opcode == WIRE_SERVICE ||
           opcode == WIRE_PULLED || opcode == WIRE_SERVED;
}

static uint64_t value_of(uint32_t bytes)
{
    return any() >> (64 - 8 * bytes);
}

/* Fields that the opcode does not use are 0, as the decoder gives them. */
static struct wire_operation random_operation(enum wire_class class, uint32_t block_bytes_max,
                                              const unsigned char *data)
{
    struct wire_operation operation = {.offset = any()};
    if (class == WIRE_REQUEST) {
        operation.opcode = REQUESTS[below(sizeof REQUESTS / sizeof REQUESTS[0])];
        operation.area = (uint32_t)any();
    } else {
        operation.opcode = REPLIES[below(sizeof REPLIES / sizeof REPLIES[0])];
    }
    uint32_t block_bytes = 1 + (uint32_t)below(block_bytes_max);
    switch (operation.opcode) {
    case WIRE_AOTF:
        operation.detail = (uint8_t)below(2);
        operation.bytes = (uint16_t)(1 + below(8));
        operation.operand = value_of(operation.bytes);
        break;
    case WIRE_BOTF:
        operation.bytes = (uint16_t)(1 + (block_bytes - 1) % WIRE_BOTF_BYTES_MAX);
        break;
    case WIRE_PUSH:
    case WIRE_PULLED: operation.bytes = (uint16_t)block_bytes; break;
    case WIRE_PULL:
        operation.bytes = (uint16_t)(1 + below(PULL_BYTES_MAX));
        operation.tag = any();
        break;
    case WIRE_ATOMIC:
        operation.detail = (uint8_t)below(WIRE_ATOMICS);
        operation.bytes = (uint16_t)(4 << below(2));
        operation.tag = below(3) == 0 ? WIRE_NO_TAG : any();
        operation.operand = operation.detail == WIRE_READ ? 0 : value_of(operation.bytes);
        operation.expected = operation.detail == WIRE_COMPARE_SWAP ? value_of(operation.bytes) : 0;
        break;
    case WIRE_SERVICE:
    case WIRE_SERVED:
        operation.detail = (uint8_t)(1 + below(WIRE_SERVICE_LAST));
        operation.bytes = (uint16_t)(block_bytes - 1);
        operation.area = (uint32_t)any();
        break;
    case WIRE_FETCHED:
        operation.bytes = (uint16_t)(4 << below(2));
        operation.operand = value_of(operation.bytes);
        break;
    case WIRE_REFUSED: operation.detail = (uint8_t)(1 + below(255)); break;
    }
    if (has_block(operation.opcode)) {
        operation.data = data;
    }
    return operation;
}

static void assert_operations_equal(const struct wire_operation *one,
                                    const struct wire_operation *other)
{
    assert_int_equal(one->opcode, other->opcode);
    assert_int_equal(one->detail, other->detail);
    assert_int_equal(one->bytes, other->bytes);
    assert_int_equal(one->area, other->area);
    assert_true(one->offset == other->offset);
    assert_true(one->tag == other->tag);
    assert_true(one->operand == other->operand);
    assert_true(one->expected == other->expected);
    assert_int_equal(one->data == NULL, other->data == NULL);
    if (one->data != NULL && one->bytes > 0) {
        assert_memory_equal(one->data, other->data, one->bytes);
    }
}

static void fill(unsigned char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (unsigned char)any();
    }
}

/* ---- What goes in comes out -------------------------------------------------------- */

static void operations_have_the_documented_bytes(void **state)
{
    (void)state;
    static const unsigned char AOTF[24] = {1,    1,    4,    0,    0x44, 0x33, 0x22, 0x11,
                                           0x88, 0x77, 0x66, 0x55, 0,    0,    0,    0x80,
                                           0xd4, 0xc3, 0xb2, 0xa1, 0,    0,    0,    0};
    static const unsigned char BOTF[24] = {2, 0, 3, 0, 0x44, 0x33, 0x22, 0x11, 16, 0, 0, 0,
                                           0, 0, 0, 0, 'a',  'b',  'c',  0,    0,  0, 0, 0};
    static const unsigned char ATOMIC[40] = {
        5,    5,    8,    0,    7,    0, 0, 0, 8, 0, 0, 0, 0,    0, 0, 0, 0x01, 0x02, 0x03, 0x04,
        0x05, 0x06, 0x07, 0x08, 0x11, 0, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 0,    0,    0,    0,
    };
    unsigned char to[64];
    struct wire_operation aotf = {.opcode = WIRE_AOTF,
                                  .detail = WIRE_SKIP,
                                  .bytes = 4,
                                  .area = 0x11223344,
                                  .offset = UINT64_C(0x8000000055667788),
                                  .operand = 0xa1b2c3d4};
    assert_int_equal(wire_operation_bytes(&aotf), sizeof AOTF);
    wire_operation_encode(&aotf, to);
    assert_memory_equal(to, AOTF, sizeof AOTF);
    struct wire_operation botf = {.opcode = WIRE_BOTF,
                                  .bytes = 3,
                                  .area = 0x11223344,
                                  .offset = 16,
                                  .data = (const unsigned char *)"abc"};
    assert_int_equal(wire_operation_bytes(&botf), sizeof BOTF);
    memset(to, 0xff, sizeof to);
    wire_operation_encode(&botf, to);
    assert_memory_equal(to, BOTF, sizeof BOTF);
    struct wire_operation atomic = {.opcode = WIRE_ATOMIC,
                                    .detail = WIRE_COMPARE_SWAP,
                                    .bytes = 8,
                                    .area = 7,
                                    .offset = 8,
                                    .tag = UINT64_C(0x0807060504030201),
                                    .operand = 0x11,
                                    .expected = 0x22};
    assert_int_equal(wire_operation_bytes(&atomic), sizeof ATOMIC);
    wire_operation_encode(&atomic, to);
    assert_memory_equal(to, ATOMIC, sizeof ATOMIC);
}

static void an_operation_comes_back_as_it_was(void **state)
{
    (void)state;
    static unsigned char data[BODY_BYTES_MAX];
    static unsigned char body[BODY_BYTES_MAX];
    fill(data, sizeof data);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        enum wire_class class = (enum wire_class)below(2);
        struct wire_operation operation = random_operation(
            class, below(8) == 0 ? BODY_BYTES_MAX - 16 : 40, data);
        struct wire_operation decoded;
        uint32_t bytes = wire_operation_bytes(&operation);
        assert_int_equal(bytes % 8, 0);
        memset(body, 0xff, bytes);
        wire_operation_encode(&operation, body);
        unsigned char *copy = copy_of(body, bytes);
        uint32_t at = 0;
        assert_true(wire_operation_decode(copy, bytes, class, &at, &decoded));
        assert_int_equal(at, bytes);
        assert_operations_equal(&decoded, &operation);
        assert_false(wire_operation_decode(copy, bytes, class, &at, &decoded));
        assert_int_equal(at, bytes);
        free(copy);
    }
}

static void what_is_accepted_has_one_encoding(void **state)
{
    (void)state;
    static unsigned char data[64];
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        unsigned char body[128];
        unsigned char again[128];
        enum wire_class class = (enum wire_class)below(2);
        struct wire_operation operation = random_operation(class, sizeof data, data);
        uint32_t bytes = wire_operation_bytes(&operation);
        wire_operation_encode(&operation, body);
        body[below(bytes)] ^= (unsigned char)(1 << below(8));
        unsigned char *copy = copy_of(body, bytes);
        uint32_t at = 0;
        if (wire_operation_decode(copy, bytes, class, &at, &operation)) {
            accepted++;
            assert_int_equal(wire_operation_bytes(&operation), at);
            wire_operation_encode(&operation, again);
            assert_memory_equal(again, body, at);
        }
        free(copy);
    }
    assert_true(accepted > ROUNDS / 4 && accepted < ROUNDS);
}

static void data_may_be_filled_in_later(void **state)
{
    (void)state;
    unsigned char body[32];
    struct wire_operation operation = {.opcode = WIRE_PUSH, .bytes = 13};
    memset(body, 0xff, sizeof body);
    wire_operation_encode(&operation, body);
    memcpy(body + WIRE_OPERATION_BYTES, "thirteen byte", 13);
    uint32_t at = 0;
    assert_true(wire_operation_decode(body, sizeof body, WIRE_REQUEST, &at, &operation));
    assert_memory_equal(operation.data, "thirteen byte", 13);
    assert_ptr_equal(operation.data, body + WIRE_OPERATION_BYTES);
}

static void what_an_opcode_does_not_use_is_not_sent(void **state)
{
    (void)state;
    static const enum wire_opcode ALL[] = {WIRE_AOTF,    WIRE_BOTF,    WIRE_PUSH,   WIRE_PULL,
                                           WIRE_ATOMIC,  WIRE_SERVICE, WIRE_PULLED, WIRE_FETCHED,
                                           WIRE_REFUSED, WIRE_SERVED};
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        unsigned char body[64];
        struct wire_operation operation = {
            .opcode = ALL[i],
            .detail = 1,
            .bytes = 4,
            .area = UINT32_MAX,
            .tag = UINT64_MAX,
            .operand = UINT64_MAX,
            .expected = UINT64_MAX,
            .data = (const unsigned char *)"data",
        };
        wire_operation_encode(&operation, body);
        assert_true(check_body(body, wire_operation_bytes(&operation), class_of(&operation)));
    }
}

/* ---- What is refused --------------------------------------------------------------- */

static void a_truncated_operation_is_refused(void **state)
{
    (void)state;
    static unsigned char data[64];
    for (uint32_t i = 0; i < 200; i++) {
        unsigned char body[128];
        enum wire_class class = (enum wire_class)(i % 2);
        struct wire_operation operation = random_operation(class, sizeof data, data);
        wire_operation_encode(&operation, body);
        for (uint32_t bytes = 0; bytes < wire_operation_bytes(&operation); bytes++) {
            unsigned char *copy = copy_of(body, bytes);
            uint32_t at = 0;
            assert_false(wire_operation_decode(copy, bytes, class, &at, &operation));
            assert_int_equal(at, 0);
            free(copy);
            assert_int_equal(check_body(body, bytes, class), bytes == 0);
        }
    }
}

static void only_operations_of_the_class_are_read(void **state)
{
    (void)state;
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        /* With these fields every opcode except one is well-formed. */
        unsigned char body[40] = {(unsigned char)opcode, 0, 4};
        if (opcode == WIRE_SERVICE || opcode == WIRE_SERVED) {
            body[1] = WIRE_LOCK;
        } else if (opcode == WIRE_REFUSED) {
            body[1] = 4;
            body[2] = 0;
        }
        struct wire_operation operation;
        uint32_t at = 0;
        bool is_request = wire_operation_decode(body, sizeof body, WIRE_REQUEST, &at, &operation);
        at = 0;
        bool is_reply = wire_operation_decode(body, sizeof body, WIRE_REPLY, &at, &operation);
        assert_int_equal(is_request, opcode >= WIRE_AOTF && opcode <= WIRE_SERVICE);
        assert_int_equal(is_reply, opcode >= WIRE_PULLED && opcode <= WIRE_SERVED);
    }
}

struct violation {
    const char *what;
    enum wire_opcode opcode;
    uint8_t detail;
    uint16_t bytes;
    uint32_t at;
    uint32_t value; /* 16 bits wide */
};

static const struct violation VIOLATIONS[] = {
    {"AOTF detail 2", WIRE_AOTF, 0, 4, 0, 0x0201},
    {"AOTF of 0 bytes", WIRE_AOTF, 0, 4, 2, 0},
    {"AOTF of 9 bytes", WIRE_AOTF, 0, 4, 2, 9},
    {"AOTF of 256 bytes", WIRE_AOTF, 0, 4, 2, 256},
    {"AOTF, more value than bytes", WIRE_AOTF, 0, 4, 20, 1},
    {"AOTF, more value than bytes, at its end", WIRE_AOTF, 0, 7, 22, 0x0100},
    {"BOTF detail 1: only AOTF skips", WIRE_BOTF, 0, 4, 0, 0x0102},
    {"BOTF of 0 bytes", WIRE_BOTF, 0, 4, 2, 0},
    {"BOTF of 465 bytes", WIRE_BOTF, 0, 464, 2, 465},
    {"BOTF padding", WIRE_BOTF, 0, 4, 20, 1},
    {"BOTF padding, last byte", WIRE_BOTF, 0, 7, 22, 0x0100},
    {"PUSH detail 1", WIRE_PUSH, 0, 4, 0, 0x0103},
    {"PUSH of 0 bytes", WIRE_PUSH, 0, 4, 2, 0},
    {"PUSH padding", WIRE_PUSH, 0, 9, 26, 0x8000},
    {"PUSH longer than the body", WIRE_PUSH, 0, 8, 2, 9},
    {"PUSH of 65535 bytes", WIRE_PUSH, 0, 8, 2, 65535},
    {"PULL detail 1", WIRE_PULL, 0, 4, 0, 0x0104},
    {"PULL of 0 bytes", WIRE_PULL, 0, 4, 2, 0},
    {"PULL of more than a packet", WIRE_PULL, 0, 4, 2, PULL_BYTES_MAX + 1},
    {"ATOMIC that does not exist", WIRE_ATOMIC, 0, 8, 0, WIRE_ATOMICS << 8 | WIRE_ATOMIC},
    {"ATOMIC of 2 bytes", WIRE_ATOMIC, 0, 8, 2, 2},
    {"ATOMIC of 0 bytes", WIRE_ATOMIC, 0, 8, 2, 0},
    {"ATOMIC of 16 bytes", WIRE_ATOMIC, 0, 8, 2, 16},
    {"ATOMIC, operand longer than bytes", WIRE_ATOMIC, 0, 4, 28, 1},
    {"ATOMIC, expected longer than bytes", WIRE_ATOMIC, WIRE_COMPARE_SWAP, 4, 38, 0x0100},
    {"ATOMIC, expected without use", WIRE_ATOMIC, WIRE_SWAP, 8, 32, 1},
    {"ATOMIC, operand without use", WIRE_ATOMIC, WIRE_READ, 8, 24, 1},
    {"SERVICE 0", WIRE_SERVICE, 1, 8, 0, 0x0006},
    {"SERVICE 4", WIRE_SERVICE, 1, 8, 0, 0x0406},
    {"SERVICE padding", WIRE_SERVICE, 1, 1, 17, 1},
    {"PULLED detail 1", WIRE_PULLED, 0, 8, 0, 0x0110},
    {"PULLED area", WIRE_PULLED, 0, 8, 6, 0x0100},
    {"PULLED of 0 bytes", WIRE_PULLED, 0, 8, 2, 0},
    {"PULLED padding", WIRE_PULLED, 0, 5, 22, 1},
    {"FETCHED detail 1", WIRE_FETCHED, 0, 8, 0, 0x0111},
    {"FETCHED of 1 byte", WIRE_FETCHED, 0, 8, 2, 1},
    {"FETCHED area", WIRE_FETCHED, 0, 8, 4, 1},
    {"FETCHED, more value than bytes", WIRE_FETCHED, 0, 4, 20, 1},
    {"REFUSED without a reason", WIRE_REFUSED, 4, 0, 0, 0x0012},
    {"REFUSED bytes", WIRE_REFUSED, 4, 0, 2, 8},
    {"REFUSED area", WIRE_REFUSED, 4, 0, 4, 1},
    {"SERVED 0", WIRE_SERVED, 1, 8, 0, 0x0013},
    {"SERVED 4", WIRE_SERVED, 1, 8, 0, 0x0413},
    {"SERVED padding", WIRE_SERVED, 1, 2, 18, 1},
};

static void every_broken_field_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof VIOLATIONS / sizeof VIOLATIONS[0]; i++) {
        const struct violation *violation = &VIOLATIONS[i];
        static unsigned char data[512];
        static unsigned char body[512];
        struct wire_operation operation = {.opcode = violation->opcode,
                                           .detail = violation->detail,
                                           .bytes = violation->bytes,
                                           .tag = 1,
                                           .data = data};
        enum wire_class class = class_of(&operation);
        uint32_t bytes = wire_operation_bytes(&operation);
        wire_operation_encode(&operation, body);
        assert_true(check_body(body, bytes, class));
        wire_put16(body + violation->at, (uint16_t)violation->value);
        struct wire_operation decoded = {.tag = 42};
        unsigned char *copy = copy_of(body, bytes);
        uint32_t at = 0;
        if (wire_operation_decode(copy, bytes, class, &at, &decoded)) {
            fail_msg("accepted: %s", violation->what);
        }
        free(copy);
        assert_true(at == 0 && decoded.tag == 42);
    }
}

static void lengths_at_their_limits_are_accepted(void **state)
{
    (void)state;
    static const struct {
        enum wire_opcode opcode;
        uint16_t bytes;
    } LIMITS[] = {
        {WIRE_AOTF, 1},   {WIRE_AOTF, 8},
        {WIRE_BOTF, 1},   {WIRE_BOTF, WIRE_BOTF_BYTES_MAX},
        {WIRE_PUSH, 1},   {WIRE_PUSH, BODY_BYTES_MAX - 16},
        {WIRE_PULL, 1},   {WIRE_PULL, PULL_BYTES_MAX},
        {WIRE_PULLED, 1}, {WIRE_PULLED, PULL_BYTES_MAX},
    };
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        static unsigned char body[BODY_BYTES_MAX];
        struct wire_operation operation = {.opcode = LIMITS[i].opcode, .bytes = LIMITS[i].bytes};
        memset(body, 0, sizeof body);
        wire_operation_encode(&operation, body);
        assert_true(check_body(body, wire_operation_bytes(&operation), class_of(&operation)));
    }
}

static void a_body_is_whole_operations(void **state)
{
    (void)state;
    static unsigned char data[64];
    for (uint32_t i = 0; i < 200; i++) {
        unsigned char body[1024];
        uint32_t ends[16] = {0};
        uint32_t count = 1 + (uint32_t)below(10);
        enum wire_class class = (enum wire_class)below(2);
        for (uint32_t k = 0; k < count; k++) {
            struct wire_operation operation = random_operation(class, sizeof data, data);
            wire_operation_encode(&operation, body + ends[k]);
            ends[k + 1] = ends[k] + wire_operation_bytes(&operation);
        }
        uint32_t end = 0;
        for (uint32_t bytes = 0; bytes <= ends[count]; bytes++) {
            end += bytes > ends[end];
            assert_int_equal(check_body(body, bytes, class), bytes == ends[end]);
        }
        assert_false(
            check_body(body, ends[count], class == WIRE_REPLY ? WIRE_REQUEST : WIRE_REPLY));
        body[ends[count - 1]] = 0;
        assert_false(check_body(body, ends[count], class));
    }
}

static void replies_take_the_room_that_was_told(void **state)
{
    (void)state;
    struct wire_operation pull = {.opcode = WIRE_PULL, .bytes = 13, .tag = 1};
    struct wire_operation pulled = {.opcode = WIRE_PULLED, .bytes = 13, .offset = 1};
    struct wire_operation atomic = {.opcode = WIRE_ATOMIC, .bytes = 4, .tag = 1};
    struct wire_operation fetched = {.opcode = WIRE_FETCHED, .bytes = 4, .offset = 1};
    struct wire_operation refused = {.opcode = WIRE_REFUSED, .detail = 4};
    struct wire_operation aotf = {.opcode = WIRE_AOTF, .bytes = 8};
    assert_int_equal(wire_reply_bytes(&pull), wire_operation_bytes(&pulled));
    assert_int_equal(wire_reply_bytes(&atomic), wire_operation_bytes(&fetched));
    assert_true(wire_reply_bytes(&pull) >= wire_operation_bytes(&refused));
    assert_int_equal(wire_reply_bytes(&aotf), 0);
    atomic.tag = WIRE_NO_TAG;
    assert_int_equal(wire_reply_bytes(&atomic), 0);
    pull.bytes = PULL_BYTES_MAX;
    assert_int_equal(wire_reply_bytes(&pull), BODY_BYTES_MAX);
}

int main(void)
{
    const char *given = getenv("DN_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : unit_now_ns() % 1000000;
    print_message("DN_TEST_SEED=%llu\n", (unsigned long long)seed);
    source_of_chance.state = seed;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_have_the_documented_bytes),
        cmocka_unit_test(an_operation_comes_back_as_it_was),
        cmocka_unit_test(what_is_accepted_has_one_encoding),
        cmocka_unit_test(data_may_be_filled_in_later),
        cmocka_unit_test(what_an_opcode_does_not_use_is_not_sent),
        cmocka_unit_test(a_truncated_operation_is_refused),
        cmocka_unit_test(only_operations_of_the_class_are_read),
        cmocka_unit_test(every_broken_field_is_refused),
        cmocka_unit_test(lengths_at_their_limits_are_accepted),
        cmocka_unit_test(a_body_is_whole_operations),
        cmocka_unit_test(replies_take_the_room_that_was_told),
    };
    return cmocka_run_group_tests_name("wire/operation", tests, NULL, NULL);
}
