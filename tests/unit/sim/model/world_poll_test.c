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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_is_reading_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
