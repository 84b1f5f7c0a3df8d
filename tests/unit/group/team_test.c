/* Phases of a team, seen by threads that are its members; and how members meet. */
#include "unit/group.h"

#include "group/service_memory.h"

static struct unit_group made;
static void *block;
static struct group_team teams[UNIT_NODES_MAX];
static uint32_t ranks[UNIT_NODES_MAX];

/* A team of `count` nodes of a group of `nodes`, in falling order of their ranks. */
static void make_team(uint32_t nodes, uint32_t cores, uint32_t count)
{
    unit_group_make(&made, nodes, cores);
    block = group_service_memory(&made.views[0], 0) + group_service_free_offset(&made.views[0]);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = nodes - 1 - i;
    }
    for (uint32_t i = 0; i < count; i++) {
        group_team_make(&made.views[ranks[i]], ranks, count, i, block, &teams[i]);
        assert_true(group_life_attach(&made.views[ranks[i]]));
    }
}

static void end_team(void)
{
    unit_group_free(&made);
}

static bool all_arrived(uint32_t index, uint32_t phase)
{
    uint32_t next = 0;
    return group_team_passed(&teams[index], phase, &next);
}

static void a_phase_is_complete_when_all_arrived(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores <= 4; cores += 3) {
        make_team(5, cores, 3);
        for (uint32_t phase = 1; phase < 6; phase++) {
            for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t j = 0; j < 3; j++) {
                    assert_false(all_arrived(j, phase));
                    assert_int_equal(group_team_has_arrived(&teams[j], i, phase), false);
                }
                group_team_arrive(&teams[i], phase);
                assert_true(group_team_has_arrived(&teams[0], i, phase));
            }
            for (uint32_t j = 0; j < 3; j++) {
                assert_true(all_arrived(j, phase));
            }
        }
        end_team();
    }
}

/* The look goes on where it stopped, and tells how far it came. */
static void a_look_goes_on_where_it_stopped(void **state)
{
    (void)state;
    make_team(4, 4, 4);
    uint32_t next = 0;
    group_team_arrive(&teams[0], 1);
    group_team_arrive(&teams[1], 1);
    assert_false(group_team_passed(&teams[0], 1, &next));
    assert_int_equal(next, 2);
    group_team_arrive(&teams[3], 1);
    assert_false(group_team_passed(&teams[0], 1, &next));
    assert_int_equal(next, 2);
    group_team_arrive(&teams[2], 1);
    assert_true(group_team_passed(&teams[0], 1, &next));
    end_team();
}

static void phases_may_wrap(void **state)
{
    (void)state;
    make_team(3, 2, 3);
    for (uint32_t phase = UINT32_MAX - 2; phase != 4; phase++) {
        for (uint32_t i = 0; i < 3; i++) {
            /* Where the phase before left it. */
            atomic_store(group_team_arrived_word(&teams[0], i), phase - 1);
        }
        for (uint32_t i = 0; i < 3; i++) {
            assert_false(all_arrived(i, phase));
            group_team_arrive(&teams[i], phase);
        }
        assert_true(all_arrived(0, phase));
        /* Nobody need wait for a member that is one phase ahead. */
        group_team_arrive(&teams[1], phase + 1);
        assert_true(all_arrived(0, phase));
        assert_false(all_arrived(0, phase + 1));
    }
    end_team();
}

/* Two teams of the same nodes share nothing, and every word of a team lies in its block. */
static void teams_do_not_touch_each_other(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores <= 32; cores += 31) {
        for (uint32_t count = 1; count <= 20; count += 19) {
            make_team(20, cores, count);
            uint64_t bytes = group_team_bytes(count);
            unsigned char *start = block;
            memset(start + bytes, 0x5a, 256);
            for (uint32_t i = 0; i < count; i++) {
                group_team_arrive(&teams[i], UINT32_MAX);
                for (uint32_t phase = 0; phase < 2; phase++) {
                    atomic_store(group_team_operand(&teams[i], i, phase), UINT64_MAX);
                    atomic_store(group_team_argument(&teams[i], i, phase), UINT64_MAX);
                    atomic_store(group_team_source(&teams[i], i, phase), UINT64_MAX);
                }
                atomic_store(&teams[i].members[i].left, 1);
            }
            for (int i = 0; i < 256; i++) {
                assert_int_equal(start[bytes + (uint64_t)i], 0x5a);
            }
            end_team();
        }
    }
}

/* Every member has a different word for each parity. */
static void contributions_have_places_of_their_own(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores <= 32; cores += 31) {
        make_team(9, cores, 9);
        for (uint32_t phase = 0; phase < 2; phase++) {
            for (uint32_t i = 0; i < 9; i++) {
                atomic_store(group_team_operand(&teams[i], i, phase), phase * 100 + i);
                atomic_store(group_team_argument(&teams[i], i, phase), phase * 100 + 50 + i);
            }
        }
        for (uint32_t phase = 0; phase < 2; phase++) {
            for (uint32_t i = 0; i < 9; i++) {
                assert_int_equal(atomic_load(group_team_operand(&teams[0], i, phase + 2)),
                                 phase * 100 + i);
                assert_int_equal(atomic_load(group_team_argument(&teams[0], i, phase + 2)),
                                 phase * 100 + 50 + i);
                assert_int_equal(atomic_load(group_team_arrived_word(&teams[0], i)), 0);
            }
        }
        end_team();
    }
}

/* ---- Members that are gone --------------------------------------------------- */

static void a_member_that_died_before_arriving_breaks_the_phase(void **state)
{
    (void)state;
    make_team(5, 2, 3);
    group_team_arrive(&teams[0], 1);
    group_team_arrive(&teams[1], 1);
    assert_false(group_team_broken(&teams[0], 1));
    assert_false(group_team_lacks(&teams[0]));
    /* A node that is no member does not matter. */
    assert_true(group_life_end(&made.views[0], 0, false));
    assert_false(group_team_broken(&teams[0], 1));
    assert_true(group_life_end(&made.views[0], ranks[2], false));
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(group_team_broken(&teams[i], 1));
        assert_false(all_arrived(i, 1));
    }
    end_team();
}

static void a_member_that_died_after_arriving_breaks_the_next(void **state)
{
    (void)state;
    make_team(3, 2, 3);
    group_team_arrive(&teams[2], 1);
    assert_true(group_life_end(&made.views[0], ranks[2], false));
    assert_true(group_team_lacks(&teams[0]));
    assert_false(group_team_broken(&teams[0], 1));
    group_team_arrive(&teams[0], 1);
    group_team_arrive(&teams[1], 1);
    assert_true(all_arrived(0, 1));
    assert_false(group_team_broken(&teams[0], 1));
    assert_true(group_team_broken(&teams[0], 2));
    end_team();
}

static void a_member_that_left_breaks_it_as_well(void **state)
{
    (void)state;
    make_team(3, 2, 3);
    group_life_leave(&made.views[ranks[1]]);
    assert_true(group_team_broken(&teams[0], 1));
    assert_true(group_team_lacks(&teams[0]));
    end_team();
}

/* Member 2 gives up after phase 7, member 0 has passed phase 8. */
static void giving_up_ends_what_nobody_passed(void **state)
{
    (void)state;
    for (uint32_t first = 7; first != 7 + 2 * (UINT32_MAX - 6); first += UINT32_MAX - 6) {
        make_team(3, 3, 3);
        for (uint32_t i = 0; i < 3; i++) {
            group_team_arrive(&teams[i], first + 1);
        }
        assert_false(group_team_is_given_up(&teams[1]));
        assert_false(group_team_was_passed(&teams[1], first + 1));
        group_team_revoke(&teams[2], first - 1, false);
        group_team_revoke(&teams[2], first, true);
        assert_true(group_team_is_given_up(&teams[1]));
        assert_false(group_team_is_revoked(&teams[1], first));
        assert_true(group_team_was_passed(&teams[1], first));
        assert_true(group_team_is_revoked(&teams[1], first + 1));
        assert_true(group_team_was_taken_back(&teams[1], first + 1));
        assert_false(all_arrived(1, first + 1));
        group_team_restore_arrivals(&teams[1], first + 1);
        assert_false(all_arrived(1, first + 1));
        /* What somebody has passed, all can. */
        group_team_revoke(&teams[0], first + 1, false);
        assert_false(group_team_is_revoked(&teams[1], first + 1));
        assert_true(group_team_was_passed(&teams[1], first + 1));
        group_team_restore_arrivals(&teams[1], first + 1);
        assert_true(all_arrived(1, first + 1));
        assert_false(group_team_was_taken_back(&teams[1], first + 1));
        assert_true(group_team_is_revoked(&teams[1], first + 2));
        /* Said again with an earlier phase, the later one counts. */
        group_team_revoke(&teams[0], first, false);
        assert_false(group_team_is_revoked(&teams[1], first + 1));
        end_team();
    }
}

static void who_left_in_peace_had_passed(void **state)
{
    (void)state;
    make_team(3, 3, 3);
    group_team_arrive(&teams[1], 4);
    assert_false(group_team_was_passed(&teams[0], 4));
    assert_true(group_team_was_passed(&teams[0], 3));
    group_life_conclude(teams[1].view, teams[1].ranks[1], DN_LEFT);
    assert_true(group_team_was_passed(&teams[0], 4));
    assert_false(group_team_was_passed(&teams[0], 5));
    atomic_store(&teams[0].members[1].left, GROUP_TEAM_LEFT_WAITING);
    assert_false(group_team_was_passed(&teams[0], 4));
    end_team();
}

static void what_is_said_first_about_a_new_team_counts(void **state)
{
    (void)state;
    make_team(3, 2, 3);
    assert_true(group_team_decide(&teams[2], true));
    assert_true(group_team_decide(&teams[0], false));
    end_team();
    make_team(3, 2, 3);
    assert_false(group_team_decide(&teams[1], false));
    assert_false(group_team_decide(&teams[0], true));
    assert_false(group_team_decide(&teams[2], true));
    end_team();
}

static void a_team_is_over_when_all_let_go_or_are_gone(void **state)
{
    (void)state;
    make_team(4, 2, 3);
    for (uint32_t i = 0; i < 2; i++) {
        assert_false(group_team_is_over(&teams[0]));
        atomic_store(&teams[i].members[i].left, 1);
    }
    assert_false(group_team_is_over(&teams[0]));
    assert_true(group_life_end(&made.views[0], ranks[2], false));
    assert_true(group_team_is_over(&teams[0]));
    end_team();
}

/* ---- Threads -------------------------------------------------------------------- */

enum { ROUNDS = 2000 };

struct crowd {
    uint32_t count;
    uint64_t plain[UNIT_NODES_MAX]; /* by member; only the phases order them */
};

static void wait_for(const struct group_team *team, uint32_t phase)
{
    uint32_t next = 0;
    while (!group_team_passed(team, phase, &next)) {
        sched_yield();
    }
}

/* Everybody writes its plain word, arrives, and after the phase reads all others'. */
static void crowd_run(uint32_t number, void *context)
{
    struct crowd *crowd = context;
    const struct group_team *team = &teams[number];
    uint32_t rounds = crowd->count > 8 ? ROUNDS / 10 : ROUNDS;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t phase = 2 * round + 1;
        crowd->plain[number] = round;
        atomic_store_explicit(group_team_operand(team, number, phase), round * 100 + number,
                              memory_order_relaxed);
        group_team_arrive(team, phase);
        wait_for(team, phase);
        for (uint32_t i = 0; i < crowd->count; i++) {
            unit_expect(crowd->plain[i] == round);
            unit_expect(atomic_load_explicit(group_team_operand(team, i, phase),
                                             memory_order_relaxed) == round * 100 + i);
        }
        group_team_arrive(team, phase + 1);
        wait_for(team, phase + 1);
    }
}

static void phases_order_what_members_do(void **state)
{
    (void)state;
    static const uint32_t counts[] = {2, 3, 8, 20};
    for (int i = 0; i < 4; i++) {
        /* With a core for each member, and with fewer. */
        for (uint32_t cores = 1; cores <= 20; cores += 19) {
            struct crowd crowd = {.count = counts[i]};
            make_team(counts[i], cores, counts[i]);
            unit_run_threads(counts[i], crowd_run, &crowd);
            end_team();
        }
    }
}

/* Operands of one phase stay while the fastest member is in the next. */
static void fast_run(uint32_t number, void *context)
{
    struct crowd *crowd = context;
    const struct group_team *team = &teams[number];
    for (uint32_t phase = 1; phase < ROUNDS; phase++) {
        atomic_store_explicit(group_team_operand(team, number, phase), phase, memory_order_relaxed);
        group_team_arrive(team, phase);
        wait_for(team, phase);
        if (number == 0 && phase % 64 == 0) {
            sched_yield();
        }
        for (uint32_t i = 0; i < crowd->count; i++) {
            unit_expect(atomic_load_explicit(group_team_operand(team, i, phase),
                                             memory_order_relaxed) == phase);
        }
    }
}

static void operands_outlive_the_next_phase_of_the_fastest(void **state)
{
    (void)state;
    struct crowd crowd = {.count = 3};
    make_team(3, 3, 3);
    unit_run_threads(3, fast_run, &crowd);
    end_team();
}

/* A member dies somewhere in the middle; all survivors see the same outcome of its last phase, and
 * none waits for ever. */
struct breakage {
    uint32_t count;
    uint32_t dies_in;
    bool arrives_first;
    _Atomic uint32_t last_passed[8];
};

static void breakage_run(uint32_t number, void *context)
{
    struct breakage *breakage = context;
    const struct group_team *team = &teams[number];
    for (uint32_t phase = 1;; phase++) {
        bool dies = number == 0 && phase == breakage->dies_in;
        if (!dies || breakage->arrives_first) {
            group_team_arrive(team, phase);
        }
        if (dies) {
            (void)group_life_end(team->view, ranks[number], false);
            return;
        }
        uint32_t next = 0;
        while (!group_team_passed(team, phase, &next)) {
            /* Look whether it is broken first, then at the words again: a member that arrived and
             * then died counts. */
            if (group_team_broken(team, phase) && !group_team_passed(team, phase, &next)) {
                atomic_store(&breakage->last_passed[number], phase - 1);
                return;
            }
            sched_yield();
        }
    }
}

static void survivors_agree_on_the_last_phase(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        struct breakage breakage = {
            .count = 4, .dies_in = 1 + round % 7, .arrives_first = round % 2};
        make_team(4, round % 3 ? 1 : 4, 4);
        unit_run_threads(4, breakage_run, &breakage);
        for (uint32_t i = 1; i < 4; i++) {
            assert_int_equal(atomic_load(&breakage.last_passed[i]),
                             breakage.dies_in - !breakage.arrives_first);
        }
        end_team();
    }
}

/* ---- Meeting ---------------------------------------------------------------------- */

static void an_offer_is_found_until_it_is_withdrawn(void **state)
{
    (void)state;
    make_team(2, 2, 2);
    const struct group_view *leader = &made.views[1];
    const struct group_view *other = &made.views[0];
    uint64_t offset = 99;
    assert_false(group_team_find(other, 1, 7, &offset));
    assert_int_equal(offset, 99);
    assert_true(group_team_offer(leader, 7, 4096));
    assert_true(group_team_offer(leader, 8, 8192));
    assert_true(group_team_find(other, 1, 7, &offset));
    assert_int_equal(offset, 4096);
    assert_true(group_team_find(other, 1, 8, &offset));
    assert_int_equal(offset, 8192);
    /* Each leader has slots of its own. */
    assert_false(group_team_find(other, 0, 7, &offset));
    group_team_withdraw(leader, 7);
    assert_false(group_team_find(other, 1, 7, &offset));
    assert_true(group_team_find(other, 1, 8, &offset));
    end_team();
}

static void offers_fill_the_slots_and_withdrawing_frees_them(void **state)
{
    (void)state;
    make_team(2, 2, 2);
    const struct group_view *leader = &made.views[1];
    uint64_t offset;
    for (uint64_t key = 1; key <= GROUP_TEAM_SLOTS; key++) {
        assert_true(group_team_offer(leader, key, key * 64));
    }
    assert_false(group_team_offer(leader, 5000, 64));
    group_team_withdraw(leader, 17);
    assert_true(group_team_offer(leader, 5000, 320000));
    assert_true(group_team_find(&made.views[0], 1, 5000, &offset));
    assert_int_equal(offset, 320000);
    assert_false(group_team_offer(leader, 5001, 64));
    end_team();
}

/* The leader uses one slot for key after key; a member that finds a key gets that key's offset. */
struct meeting {
    _Atomic uint64_t current; /* the key that is worth looking for */
    _Atomic bool over;
};

static void meeting_run(uint32_t number, void *context)
{
    struct meeting *meeting = context;
    if (number == 0) {
        for (uint64_t key = 1; key <= 20000; key++) {
            unit_expect(group_team_offer(&made.views[1], key, key * 64));
            atomic_store_explicit(&meeting->current, key, memory_order_relaxed);
            if (key % 16 == 0) {
                sched_yield();
            }
            group_team_withdraw(&made.views[1], key);
        }
        atomic_store(&meeting->over, true);
        return;
    }
    uint64_t found = 0;
    while (!atomic_load(&meeting->over)) {
        uint64_t key = atomic_load_explicit(&meeting->current, memory_order_relaxed) + number % 2;
        uint64_t offset = 0;
        /* 0 is no key: it marks a free slot. */
        if (key != 0 && group_team_find(&made.views[0], 1, key, &offset)) {
            unit_expect(offset == key * 64);
            found++;
        }
    }
    (void)found;
}

static void a_slot_used_again_never_gives_the_wrong_offset(void **state)
{
    (void)state;
    struct meeting meeting = {0};
    make_team(2, 2, 2);
    unit_run_threads(4, meeting_run, &meeting);
    end_team();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_is_complete_when_all_arrived),
        cmocka_unit_test(a_look_goes_on_where_it_stopped),
        cmocka_unit_test(phases_may_wrap),
        cmocka_unit_test(teams_do_not_touch_each_other),
        cmocka_unit_test(contributions_have_places_of_their_own),
        cmocka_unit_test(a_member_that_died_before_arriving_breaks_the_phase),
        cmocka_unit_test(a_member_that_died_after_arriving_breaks_the_next),
        cmocka_unit_test(a_member_that_left_breaks_it_as_well),
        cmocka_unit_test(giving_up_ends_what_nobody_passed),
        cmocka_unit_test(who_left_in_peace_had_passed),
        cmocka_unit_test(what_is_said_first_about_a_new_team_counts),
        cmocka_unit_test(a_team_is_over_when_all_let_go_or_are_gone),
        cmocka_unit_test(phases_order_what_members_do),
        cmocka_unit_test(operands_outlive_the_next_phase_of_the_fastest),
        cmocka_unit_test(survivors_agree_on_the_last_phase),
        cmocka_unit_test(an_offer_is_found_until_it_is_withdrawn),
        cmocka_unit_test(offers_fill_the_slots_and_withdrawing_frees_them),
        cmocka_unit_test(a_slot_used_again_never_gives_the_wrong_offset),
    };
    return cmocka_run_group_tests_name("nic/team", tests, NULL, NULL);
}
