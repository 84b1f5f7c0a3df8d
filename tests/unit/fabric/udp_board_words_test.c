/* Requests and answers of a board as bytes: the same after a trip, and nothing else is taken. */
#include "unit/unit.h"

#include "fabric/udp/board/words.h"
#include "wire/packet.h"

static const struct udp_board_request requests[] = {
    {.kind = UDP_BOARD_ENTER, .count = 1},
    {.kind = UDP_BOARD_ENTER, .count = UDP_BOARD_USERS},
    {.kind = UDP_BOARD_CLAIM, .pgid = 0xfeedface, .rank_first = 0},
    {.kind = UDP_BOARD_CLAIM, .pgid = 0, .rank_first = WIRE_NODES_MAX - 1},
    {.kind = UDP_BOARD_LOOK},
};

static void requests_arrive_as_they_were_put(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        unsigned char bytes[UDP_BOARD_REQUEST_BYTES];
        struct udp_board_request taken;
        udp_board_request_put(&requests[i], bytes);
        assert_true(udp_board_request_take(bytes, sizeof bytes, &taken));
        assert_memory_equal(&taken, &requests[i], sizeof taken);
    }
}

static void requests_of_another_length_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[UDP_BOARD_REQUEST_BYTES + 1] = {0};
    struct udp_board_request taken;
    udp_board_request_put(&requests[0], bytes);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        assert_int_equal(udp_board_request_take(bytes, length, &taken),
                         length == UDP_BOARD_REQUEST_BYTES);
    }
}

static void requests_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t words[4];
    } wrong[] = {
        {{0, UDP_BOARD_ENTER, 1, 0}},
        {{UDP_BOARD_VERSION + 1, UDP_BOARD_ENTER, 1, 0}},
        {{UDP_BOARD_VERSION, 0, 1, 0}},
        {{UDP_BOARD_VERSION, 4, 0, 0}},
        {{UDP_BOARD_VERSION, UINT32_MAX, 0, 0}},
        {{UDP_BOARD_VERSION, UDP_BOARD_ENTER, 0, 0}},
        {{UDP_BOARD_VERSION, UDP_BOARD_ENTER, UDP_BOARD_USERS + 1, 0}},
        {{UDP_BOARD_VERSION, UDP_BOARD_ENTER, 1, 1}},
        {{UDP_BOARD_VERSION, UDP_BOARD_CLAIM, 1, WIRE_NODES_MAX}},
        {{UDP_BOARD_VERSION, UDP_BOARD_CLAIM, 1, 0x10000}},
        {{UDP_BOARD_VERSION, UDP_BOARD_LOOK, 1, 0}},
        {{UDP_BOARD_VERSION, UDP_BOARD_LOOK, 0, 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned char bytes[UDP_BOARD_REQUEST_BYTES];
        struct udp_board_request taken;
        for (size_t word = 0; word < 4; word++) {
            wire_put32(bytes + 4 * word, wrong[i].words[word]);
        }
        assert_false(udp_board_request_take(bytes, sizeof bytes, &taken));
    }
}

static struct udp_board_answer an_answer(void)
{
    struct udp_board_answer answer = {.count = 2, .strays = {1, UINT64_MAX, 3}};
    answer.seats[0] = (struct udp_board_seat){63, 1234, 0xfeedface, 7};
    answer.seats[1] = (struct udp_board_seat){0, 0, 0, UDP_BOARD_NO_RANK};
    return answer;
}

static void answers_arrive_as_they_were_put(void **state)
{
    (void)state;
    unsigned char bytes[UDP_BOARD_ANSWER_BYTES];
    struct udp_board_answer answer = an_answer();
    struct udp_board_answer taken;
    udp_board_answer_put(&answer, bytes);
    assert_true(udp_board_answer_take(bytes, sizeof bytes, &taken));
    assert_memory_equal(&taken, &answer, sizeof taken);
    answer = (struct udp_board_answer){.verdict = UDP_BOARD_FULL, .count = 5};
    udp_board_answer_put(&answer, bytes);
    assert_true(udp_board_answer_take(bytes, sizeof bytes, &taken));
    assert_memory_equal(&taken, &answer, sizeof taken);
}

static void answers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    enum { SEATS = 40, SEAT_BYTES = 16 };
    static const struct {
        size_t at;
        uint32_t word;
    } wrong[] = {
        {0, UDP_BOARD_VERSION + 1},
        {4, UDP_BOARD_FAULT + 1},
        {8, UDP_BOARD_USERS + 1},
        {8, 1},                       /* and yet a second seat */
        {8, 3},                       /* the third one is the second user again */
        {12, 1},                      /* where nothing is meant */
        {SEATS, UDP_BOARD_USERS},     /* no user */
        {SEATS, 0},                   /* one twice */
        {SEATS + 12, WIRE_NODES_MAX}, /* no rank */
        {SEATS + SEAT_BYTES + 8, 1},  /* a PGID without a rank */
        {SEATS + SEAT_BYTES * UDP_BOARD_USERS - 4, 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned char bytes[UDP_BOARD_ANSWER_BYTES];
        struct udp_board_answer answer = an_answer();
        struct udp_board_answer taken;
        udp_board_answer_put(&answer, bytes);
        assert_false(udp_board_answer_take(bytes, sizeof bytes - 1, &taken));
        wire_put32(bytes + wrong[i].at, wrong[i].word);
        assert_false(udp_board_answer_take(bytes, sizeof bytes, &taken));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_arrive_as_they_were_put),
        cmocka_unit_test(requests_of_another_length_are_refused),
        cmocka_unit_test(requests_out_of_range_are_refused),
        cmocka_unit_test(answers_arrive_as_they_were_put),
        cmocka_unit_test(answers_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
