/* C-ARQ on a network that loses packets, which paper 002 does not look at: its go-back-N, beside
 * stop-and-wait alone and selective repeat, which this project adds. PUSH by large pieces gives the
 * bandwidth, and 8 bytes there and back give the latency, where nothing follows that could tell of
 * a loss. The time-outs are InfiniSWIF's on `udp`, as the paper has none. */
#include "sim/studies/parts.h"
#include "sim/trial/trial.h"

enum {
    PUSHES = 17, /* the first one is not counted: its context misses */
    PUSH_BYTES = 1 << 20,
    PINGS = 2001,
    PAGE_BYTES = 4096,
};

enum column {
    LOSS,
    ARQ,
    BANDWIDTH,
    SHARE,
    RESENT,
    TIMEOUTS,
    ROUND_TRIP,
    WORST,
    PACKETS,
    EVENTS,
    COLUMNS
};

static const struct sim_study_column columns[COLUMNS] = {
    [LOSS] = {"loss_ppm", 8, 0, "packets that get lost, of a million"},
    [ARQ] = {"arq", 16, -1, "how far C-ARQ climbs"},
    [BANDWIDTH] = {"mb_per_s", 8, 2, "PUSH of 1 MB at a time"},
    [SHARE] = {"share", 7, 4, "of the bandwidth without loss, by go-back-N"},
    [RESENT] = {"resent_per_loss", 15, 2, "packets sent again for each that was lost"},
    [TIMEOUTS] = {"timeouts", 8, 0, "of all these PUSHes"},
    [ROUND_TRIP] = {"round_trip_ns", 13, 1, "8 bytes by AOTF there and back, mean"},
    [WORST] = {"worst_us", 9, 2, "the longest of 2,000"},
    [PACKETS] = {"packets", 8, 0, "of all"},
    [EVENTS] = {"events", 9, 0, "of the simulation"},
};

static const uint32_t losses_ppm[] = {0, 100, 1000, 3000, 10000, 30000, 100000};
static const struct {
    enum sim_arq arq;
    const char *name;
} ways[] = {
    {SIM_ARQ_STOP_AND_WAIT, "stop-and-wait"},
    {SIM_ARQ_GO_BACK_N, "go-back-n"},
    {SIM_ARQ_SELECTIVE_REPEAT, "selective-repeat"},
};
enum { LOSSES = sizeof losses_ppm / sizeof losses_ppm[0], WAYS = sizeof ways / sizeof ways[0] };

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    for (unsigned i = 0; i < LOSSES * WAYS && choice->nodes_max >= 2; i++) {
        points[count++] = (struct sim_study_point){
            .nodes = 2, .variant = i % WAYS, .loss_ppm = losses_ppm[i / WAYS]};
    }
    return count;
}

static bool push(const struct sim_machine *machine, struct sim_trial_result *result,
                 char error[SIM_ERROR_BYTES])
{
    const struct sim_trial_wish wish = {
        .trial = "push",
        .machine = machine,
        .topology = SIM_ONE_SWITCH,
        .bytes = PUSH_BYTES,
        .rounds = PUSHES,
        .limit_ps = SIM_STUDY_LIMIT_PS,
    };
    return sim_trial_run(&wish, result, error);
}

static double mb_per_s(const struct sim_trial_result *result)
{
    return (double)PUSH_BYTES * (PUSHES - 1) * 1e6 / (double)result->total_ps;
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct sim_trial_result without;
    struct sim_trial_result pushes;
    struct sim_trial_result pings;
    struct sim_machine machine = *choice->machine;
    sim_study_set_number(row, LOSS, point->loss_ppm);
    sim_study_set_text(row, ARQ, ways[point->variant].name);
    if (machine.carrier_kind != SIM_CARRIER_CD) {
        (void)snprintf(row->error, sizeof row->error, "%s: [carrier] kind is not cd", machine.name);
        return;
    }
    machine.llcm_bytes = PAGE_BYTES + PUSH_BYTES;
    machine.carrier_arq = SIM_ARQ_GO_BACK_N;
    machine.link_loss_ppm = 0;
    if (!push(&machine, &without, row->error)) {
        return;
    }
    machine.carrier_arq = ways[point->variant].arq;
    machine.link_loss_ppm = point->loss_ppm;
    const struct sim_trial_wish ping = {
        .trial = "ping",
        .machine = &machine,
        .topology = SIM_ONE_SWITCH,
        .rounds = PINGS,
        .limit_ps = SIM_STUDY_LIMIT_PS,
    };
    if (!push(&machine, &pushes, row->error) || !sim_trial_run(&ping, &pings, row->error)) {
        return;
    }
    sim_study_set_number(row, BANDWIDTH, mb_per_s(&pushes));
    sim_study_set_number(row, SHARE, mb_per_s(&pushes) / mb_per_s(&without));
    if (pushes.counters.lost > 0) {
        sim_study_set_number(
            row, RESENT, (double)pushes.counters.retransmissions / (double)pushes.counters.lost);
    }
    sim_study_set_number(row, TIMEOUTS, (double)pushes.counters.timeouts);
    sim_study_set_number(row, ROUND_TRIP, (double)pings.total_ps / (PINGS - 1) / 1e3);
    sim_study_set_number(row, WORST, (double)pings.most_ps / 1e6);
    sim_study_set_number(row, PACKETS, (double)(pushes.counters.packets + pings.counters.packets));
    sim_study_set_number(row, EVENTS, (double)(pushes.counters.events + pings.counters.events));
}

const struct sim_study sim_study_loss = {
    .name = "loss",
    .text = "C-ARQ where packets get lost: stop-and-wait, go-back-N, selective repeat",
    .machine = "dimmnet2",
    .columns = columns,
    .column_count = COLUMNS,
    .x = LOSS,
    .series = {ARQ},
    .series_count = 1,
    .y = {BANDWIDTH, RESENT, ROUND_TRIP},
    .y_count = 3,
    .list = list,
    .run = run,
};
