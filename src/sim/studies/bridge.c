/* What paper 003 wanted to find by experiment and never did: how long a frame of its bridges should
 * be. Eight boards are at one switch, and send each other packets of one size. */
#include <stdio.h>

#include "sim/studies/bridged.h"
#include "sim/studies/parts.h"
#include "wire/line.h"

enum {
    LINES,
    BYTES,
    BIT_ERRORS,
    RESEND_US,
    EMPTY_NS,
    MEAN_NS,
    P99_NS,
    MOST_MB_PER_S,
    FRAMES,
    DAMAGED,
    RESENT,
    TIMEOUTS,
    COLUMNS,
};

static const struct sim_study_column columns[COLUMNS] = {
    [LINES] = {"frame_lines", 11, 0, "of a frame, at most"},
    [BYTES] = {"bytes", 6, 0, "of a packet"},
    [BIT_ERRORS] = {"bit_error_rate", 14, -1, "of each cable"},
    [RESEND_US] = {"resend_us", 9, 0, "the sender's timer"},
    [EMPTY_NS] = {"empty_ns", 9, 0, "latency of a packet when there is nothing else"},
    [MEAN_NS] = {"mean_ns", 10, 0, "mean latency when each board sends 120 MB/s"},
    [P99_NS] = {"p99_ns", 10, 0, "what 99 of 100 packets do not exceed then"},
    [MOST_MB_PER_S] = {"most_mb_per_s", 13, 1, "of each board at saturation"},
    [FRAMES] = {"frames", 8, 0, "at 120 MB/s, resent ones included"},
    [DAMAGED] = {"damaged", 8, 0, "of them and of their answers"},
    [RESENT] = {"resent", 8, 0, "frames"},
    [TIMEOUTS] = {"timeouts", 8, 0, "of senders to which nobody answered"},
};

static const uint32_t lengths[] = {1, 2, 4, 8, 16, 32, 64, 128, 254};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], BOARDS = 8, RATE_MB_PER_S = 120 };

/* Each with every length. */
static const struct {
    uint32_t bytes;
    double bit_error_rate;
    uint32_t resend_us;
} rows[] = {
    {64, 0, 200},      {256, 0, 200},     {1024, 0, 200},   {2048, 0, 200},    {256, 1e-8, 200},
    {256, 1e-7, 200},  {256, 1e-6, 200},  {256, 1e-5, 200}, {2048, 1e-8, 200}, {2048, 1e-7, 200},
    {2048, 1e-6, 200}, {2048, 1e-5, 200}, {256, 1e-6, 20},  {256, 1e-5, 20},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* A frame is not longer than its packet: of the lengths beyond, one is enough. */
static bool makes_a_difference(uint32_t length, uint32_t bytes)
{
    return length < 2 * (1 + bytes / WIRE_LINE_DATA_BYTES);
}

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    for (unsigned i = 0; choice->nodes_max >= BOARDS && i < ROWS * LENGTHS; i++) {
        if (makes_a_difference(lengths[i % LENGTHS], rows[i / LENGTHS].bytes)) {
            points[count++] = (struct sim_study_point){.nodes = BOARDS, .variant = i};
        }
    }
    return count;
}

/* Errors are rare: a longer window has more of them. */
static void run_half(const struct bridged *bridged, struct sim_study_row *row)
{
    static struct load_result result;
    struct bridged longer = *bridged;
    longer.load.window_ps *= bridged->flow.bit_error_rate > 0 ? 3 : 1;
    bridged_run(&longer, RATE_MB_PER_S, &result);
    if (result.outcome == LOAD_DONE) {
        sim_study_set_number(row, MEAN_NS, result.mean_ns);
        sim_study_set_number(row, P99_NS, (double)result.p99_ns);
    }
    sim_study_set_number(row, FRAMES, (double)result.bridge.frames);
    sim_study_set_number(row, DAMAGED, (double)result.bridge.frames_seen);
    sim_study_set_number(row, RESENT, (double)result.bridge.frames_resent);
    sim_study_set_number(row, TIMEOUTS, (double)result.bridge.timeouts);
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct bridged bridged;
    unsigned of = point->variant / LENGTHS;
    char text[SIM_STUDY_TEXT_BYTES] = "0";
    (void)choice;
    if (!bridged_open(&bridged, "switch:8", row->error)) {
        return;
    }
    bridged.bridge.frame_lines = lengths[point->variant % LENGTHS];
    bridged.bridge.resend_ps = rows[of].resend_us * UINT64_C(1000000);
    bridged.flow.bit_error_rate = rows[of].bit_error_rate;
    bridged.load.bytes = rows[of].bytes;
    if (rows[of].bit_error_rate > 0) {
        (void)snprintf(text, sizeof text, "%.0e", rows[of].bit_error_rate);
    }
    sim_study_set_number(row, LINES, bridged.bridge.frame_lines);
    sim_study_set_number(row, BYTES, bridged.load.bytes);
    sim_study_set_text(row, BIT_ERRORS, text);
    sim_study_set_number(row, RESEND_US, rows[of].resend_us);
    if (rows[of].bit_error_rate == 0) {
        sim_study_set_number(row, EMPTY_NS, bridged_empty_ns(&bridged, bridged.load.bytes));
    }
    run_half(&bridged, row);
    sim_study_set_number(row, MOST_MB_PER_S, bridged_most(&bridged));
    bridged_close(&bridged);
}

const struct sim_study sim_study_bridge = {
    .name = "bridge",
    .text = "the length of a bridge's frames against latency, throughput and bit errors",
    .machine = "dimmnet1-sw2b",
    .columns = columns,
    .column_count = COLUMNS,
    .x = LINES,
    .series = {BYTES, BIT_ERRORS, RESEND_US},
    .series_count = 3,
    .y = {EMPTY_NS, MEAN_NS, P99_NS, MOST_MB_PER_S},
    .y_count = 4,
    .list = list,
    .run = run,
};
