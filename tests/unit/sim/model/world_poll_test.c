/* Polls: only those reads of a poll happen as events that can see something new. The result is the
 * same as reading again and again, to the picosecond. */
#include "world_by_hand.h"

struct sending {
    uint64_t start_ps;
    uint64_t pause_ps; /* between them */
    uint64_t kick;
    uint32_t i, count;
};

/* The word takes all values from 1 on; some may be gone before they are seen. */
static void send_values(struct sim_host *host)
{
    struct sending *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    SIM_STEP(host, sim_work(host, mine->start_ps));
    for (mine->i = 1; mine->i <= mine->count; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick + 8, mine->i, 8));
        SIM_STEP(host, sim_work(host, mine->pause_ps));
    }
    SIM_END(host);
}

struct reading {
    bool polls;
    uint64_t start_ps;
    uint64_t mask, wanted;
    uint64_t value;
    uint64_t ended_ps;
};

static void read_until(struct sim_host *host)
{
    struct reading *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, mine->start_ps));
    if (mine->polls) {
        SIM_STEP(host, sim_poll(host, 8, 8, mine->mask, mine->wanted));
    } else {
        do {
            SIM_STEP(host, sim_load(host, 8, 8));
        } while ((host->value & mine->mask) != mine->wanted);
    }
    mine->value = host->value;
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void run(struct sim_machine *machine, uint64_t pause_ps, struct reading *reading)
{
    struct sending sending = {.start_ps = 500 * NS, .pause_ps = pause_ps, .count = 40};
    struct sim_world *world = open_world(machine, 2, SIM_BACK_TO_BACK, false);
    sim_world_start(world, 0, 0, send_values, &sending, 0);
    sim_world_start(world, 1, 0, read_until, reading, 0);
    ends_well(world);
    sim_world_close(world);
}

/* The condition begins to hold, and ceases to, several times between two reads. */
static void same_in_all_phases(struct sim_machine *machine, uint64_t pause_ps)
{
    for (uint64_t phase = 0; phase < 400; phase += 7) {
        struct reading lazy = {
            .polls = true, .start_ps = phase * NS + phase, .mask = 0x24, .wanted = 0x24};
        struct reading eager = lazy;
        eager.polls = false;
        run(machine, pause_ps, &lazy);
        run(machine, pause_ps, &eager);
        assert_int_equal(lazy.ended_ps, eager.ended_ps);
        assert_int_equal(lazy.value, eager.value);
    }
}

static void a_poll_is_reading_again_and_again(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    same_in_all_phases(&machine, 0);
    machine.host_read8 = 77777; /* in no relation to any clock */
    same_in_all_phases(&machine, 0);
}

/* ---- Polls of several words ---------------------------------------------------------------- */

enum { WORDS = 5, CHANGES = 40 };

struct storing {
    uint64_t kick;
    uint32_t i;
    uint64_t pause_ps;
};

/* Words change in an order that has nothing to do with that of the reads. */
static void store_words(struct sim_host *host)
{
    struct storing *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->i = 0; mine->i < CHANGES; mine->i++) {
        SIM_STEP(host, sim_store(host, mine->kick + 8 * (mine->i * 7 / 2 % WORDS), mine->i + 1, 8));
        SIM_STEP(host, sim_work(host, mine->pause_ps * (mine->i % 5)));
    }
    SIM_END(host);
}

struct watching {
    bool polls;
    uint64_t start_ps;
    struct sim_poll_word words[WORDS];
    uint32_t i, found;
    uint64_t ended_ps[CHANGES]; /* of each change that was seen */
    uint32_t numbers[CHANGES];
};

/* Until the last value is seen, wherever it comes. */
static bool has_seen_all(const struct watching *mine)
{
    return mine->found > 0 && mine->words[mine->numbers[mine->found - 1]].seen == CHANGES;
}

static void note_change(struct sim_host *host, struct watching *mine, uint32_t number)
{
    mine->ended_ps[mine->found] = host->now_ps;
    mine->numbers[mine->found++] = number;
}

static void watch_words(struct sim_host *host)
{
    struct watching *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_work(host, mine->start_ps));
    while (!has_seen_all(mine)) {
        if (mine->polls) {
            SIM_STEP(host, sim_poll_any(host, mine->words, WORDS));
            note_change(host, mine, (uint32_t)host->value);
            continue;
        }
        for (mine->i = 0;; mine->i = (mine->i + 1) % WORDS) {
            SIM_STEP(host, sim_load(host, mine->words[mine->i].offset, 8));
            if (host->value != mine->words[mine->i].seen) {
                break;
            }
        }
        mine->words[mine->i].seen = host->value;
        note_change(host, mine, mine->i);
    }
    SIM_END(host);
}

static void watch(struct sim_machine *machine, uint64_t pause_ps, struct watching *watching)
{
    struct storing storing = {.pause_ps = pause_ps};
    struct sim_world *world = open_world(machine, 2, SIM_BACK_TO_BACK, false);
    for (uint32_t i = 0; i < WORDS; i++) {
        watching->words[i].offset = 8 * i;
    }
    sim_world_start(world, 0, 0, store_words, &storing, 0);
    sim_world_start(world, 1, 0, watch_words, watching, 0);
    ends_well(world);
    sim_world_close(world);
}

static void a_poll_of_several_words_is_reading_them_in_turn(void **state)
{
    (void)state;
    struct sim_machine machine;
    fill(&machine);
    for (uint64_t phase = 0; phase < 400; phase += 7) {
        struct watching lazy = {.polls = true, .start_ps = phase * NS + phase};
        struct watching eager = {.start_ps = lazy.start_ps};
        machine.host_read8 = phase % 2 ? 77777 : 173 * NS;
        watch(&machine, phase % 3 * 211 * NS, &lazy);
        watch(&machine, phase % 3 * 211 * NS, &eager);
        assert_int_equal(lazy.found, eager.found);
        assert_memory_equal(lazy.numbers, eager.numbers, sizeof lazy.numbers);
        assert_memory_equal(lazy.ended_ps, eager.ended_ps, sizeof lazy.ended_ps);
        assert_memory_equal(lazy.words, eager.words, sizeof lazy.words);
    }
}

struct ending {
    struct sim_poll_word word;
    uint32_t count; /* of words */
    uint64_t value, ended_ps;
    uint64_t busy_ps;
};

static void wait_for_end(struct sim_host *host)
{
    struct ending *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll_any(host, &mine->word, mine->count));
    mine->value = host->value;
    mine->ended_ps = host->now_ps;
    mine->busy_ps = host->busy_ps;
    SIM_END(host);
}

static void end_others_poll(struct sim_host *host)
{
    SIM_BEGIN(host);
    SIM_STEP(host, sim_compute(host, 1000 * NS));
    sim_poll_end(sim_world_host(host->world, 0, 1));
    sim_poll_end(sim_world_host(host->world, 0, 0)); /* it polls nothing */
    SIM_END(host);
}

static void another_cpu_ends_a_poll_behind_its_read(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 2; count++) {
        struct sim_machine machine;
        char error[SIM_ERROR_BYTES];
        struct ending ending = {.count = count};
        fill(&machine);
        const struct sim_world_config config = {
            .machine = &machine, .node_count = 1, .topology = SIM_LOOP_OUTSIDE, .user_count = 2};
        struct sim_world *world = sim_world_open(&config, error);
        assert_non_null(world);
        sim_world_start(world, 0, 0, end_others_poll, NULL, 0);
        sim_world_start(world, 0, 1, wait_for_end, &ending, 0);
        ends_well(world);
        assert_int_equal(ending.value, count);
        /* 1,000 ns are in the sixth read of 173 ns. */
        assert_int_equal(ending.ended_ps, count == 0 ? 1000 * NS : 6 * 173 * NS);
        assert_int_equal(ending.busy_ps, 0);
        sim_world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_is_reading_again_and_again),
        cmocka_unit_test(a_poll_of_several_words_is_reading_them_in_turn),
        cmocka_unit_test(another_cpu_ends_a_poll_behind_its_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
