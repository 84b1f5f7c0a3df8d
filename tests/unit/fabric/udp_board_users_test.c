/* Who uses a board: entering, claiming, leaving, and what came for nobody. */
#include "unit/unit.h"

#include "fabric/udp/board/users.h"
#include "wire/packet.h"

static struct udp_board_users users;

static int set_up(void **state)
{
    (void)state;
    udp_board_users_init(&users);
    return 0;
}

static struct udp_board_answer enter(uint32_t program, uint32_t count)
{
    struct udp_board_request request = {.kind = UDP_BOARD_ENTER, .count = count};
    struct udp_board_answer answer;
    udp_board_users_answer(&users, program, 100 + program, &request, &answer);
    return answer;
}

static enum udp_board_verdict claim(uint32_t program, uint32_t pgid, uint16_t rank_first)
{
    struct udp_board_request request = {
        .kind = UDP_BOARD_CLAIM, .pgid = pgid, .rank_first = rank_first};
    struct udp_board_answer answer;
    udp_board_users_answer(&users, program, 100 + program, &request, &answer);
    return answer.verdict;
}

static struct udp_board_answer look(void)
{
    struct udp_board_request request = {.kind = UDP_BOARD_LOOK};
    struct udp_board_answer answer;
    udp_board_users_answer(&users, 999, 1, &request, &answer);
    assert_int_equal(answer.verdict, UDP_BOARD_YES);
    return answer;
}

static void programs_share_a_board(void **state)
{
    (void)state;
    struct udp_board_answer one = enter(1, 2);
    struct udp_board_answer other = enter(2, 3);
    assert_int_equal(one.verdict, UDP_BOARD_YES);
    assert_int_equal(one.count, 2);
    assert_int_equal(other.count, 3);
    assert_int_equal(claim(2, 0xbbbb, 7), UDP_BOARD_YES);
    assert_int_equal(claim(1, 0xaaaa, 0), UDP_BOARD_YES);
    struct udp_board_answer all = look();
    assert_int_equal(all.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        bool is_one = i < 2;
        assert_int_equal(all.seats[i].user, is_one ? one.seats[i].user : other.seats[i - 2].user);
        assert_int_equal(all.seats[i].pgid, is_one ? 0xaaaa : 0xbbbb);
        assert_int_equal(all.seats[i].rank, is_one ? i : 7 + i - 2);
        assert_int_equal(all.seats[i].process, is_one ? 101 : 102);
    }
}

static void the_65th_user_is_refused(void **state)
{
    (void)state;
    assert_int_equal(enter(1, 40).verdict, UDP_BOARD_YES);
    struct udp_board_answer answer = enter(2, 25);
    assert_int_equal(answer.verdict, UDP_BOARD_FULL);
    assert_int_equal(answer.count, 24);
    assert_int_equal(look().count, 40);
    assert_int_equal(enter(2, 24).verdict, UDP_BOARD_YES);
    answer = enter(3, 1);
    assert_int_equal(answer.verdict, UDP_BOARD_FULL);
    assert_int_equal(answer.count, 0);
    (void)udp_board_users_leave(&users, 1);
    assert_int_equal(enter(3, 40).verdict, UDP_BOARD_YES);
}

static void a_pgid_is_claimed_once(void **state)
{
    (void)state;
    (void)enter(1, 1);
    (void)enter(2, 1);
    assert_int_equal(claim(1, 5, 0), UDP_BOARD_YES);
    assert_int_equal(claim(2, 5, 1), UDP_BOARD_TAKEN);
    assert_int_equal(claim(2, 6, 1), UDP_BOARD_YES);
    (void)udp_board_users_leave(&users, 1);
    (void)enter(3, 1);
    assert_int_equal(claim(3, 5, 0), UDP_BOARD_YES);
}

static void the_order_is_kept(void **state)
{
    (void)state;
    assert_int_equal(claim(1, 5, 0), UDP_BOARD_DISORDER);
    assert_int_equal(enter(1, 2).verdict, UDP_BOARD_YES);
    assert_int_equal(enter(1, 2).verdict, UDP_BOARD_DISORDER);
    assert_int_equal(claim(1, 5, WIRE_NODES_MAX - 1), UDP_BOARD_DISORDER);
    assert_int_equal(claim(1, 5, WIRE_NODES_MAX - 2), UDP_BOARD_YES);
    assert_int_equal(claim(1, 6, 0), UDP_BOARD_DISORDER);
    assert_int_equal(enter(1, 2).verdict, UDP_BOARD_DISORDER);
    assert_int_equal(look().count, 2);
}

static void who_left_longest_ago_is_replaced_first(void **state)
{
    (void)state;
    uint32_t first = enter(1, 1).seats[0].user;
    (void)enter(2, UDP_BOARD_USERS - 1);
    assert_int_equal(udp_board_users_leave(&users, 1), UINT64_C(1) << first);
    assert_int_equal(udp_board_users_leave(&users, 2), ~(UINT64_C(1) << first));
    assert_int_equal(udp_board_users_leave(&users, 2), 0);
    assert_int_equal(enter(3, 1).seats[0].user, first);
    assert_int_not_equal(enter(4, 1).seats[0].user, first);
    (void)udp_board_users_leave(&users, 3);
    for (uint32_t program = 5; program < 5 + UDP_BOARD_USERS - 2; program++) {
        assert_int_not_equal(enter(program, 1).seats[0].user, first);
    }
    assert_int_equal(enter(500, 1).seats[0].user, first);
}

static void packets_for_nobody_are_told_apart(void **state)
{
    (void)state;
    unsigned char packet[WIRE_OVERHEAD_BYTES] = {0};
    struct wire_header header = {
        .kind = WIRE_CONTROL, .target = 9, .pgid = 5, .source_incarnation = 1};
    (void)enter(1, 1);
    (void)claim(1, 5, 0);
    wire_header_encode(&header, packet);
    udp_board_users_stray(&users, packet, sizeof packet);
    header.pgid = 6;
    wire_header_encode(&header, packet);
    udp_board_users_stray(&users, packet, sizeof packet);
    udp_board_users_stray(&users, packet, sizeof packet);
    udp_board_users_stray(&users, packet, sizeof packet - 1);
    udp_board_users_stray(&users, packet, 0);
    packet[WIRE_AT_VERSION]++;
    udp_board_users_stray(&users, packet, sizeof packet);
    struct udp_board_answer answer = look();
    assert_int_equal(answer.strays[UDP_BOARD_NO_TARGET], 1);
    assert_int_equal(answer.strays[UDP_BOARD_NO_GROUP], 2);
    assert_int_equal(answer.strays[UDP_BOARD_MALFORMED], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(programs_share_a_board, set_up),
        cmocka_unit_test_setup(the_65th_user_is_refused, set_up),
        cmocka_unit_test_setup(a_pgid_is_claimed_once, set_up),
        cmocka_unit_test_setup(the_order_is_kept, set_up),
        cmocka_unit_test_setup(who_left_longest_ago_is_replaced_first, set_up),
        cmocka_unit_test_setup(packets_for_nobody_are_told_apart, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
