/* Paper 004's SEND/RECEIVE, section 5.4: what to do about a message that finds the receiver full.
 * The paper names back-off and active resend requests and leaves them to be tried; so does it with
 * the detection of losses.
 *
 * Several nodes send 1,024 bytes again and again to one, which works on each message before it
 * reads the next. From one point on, one thing is varied at a time: the senders, the receive buffer
 * RB, the receiver's work, the senders' window (SENDTBL's entries), the load, the packets that get
 * lost. All nodes are at one switch, however many ports that takes. */
#include <stdio.h>

#include "sim/model/clock.h"
#include "sim/studies/parts.h"
#include "sim/trial/messages.h"

enum {
    BYTES = 1024,
    MESSAGES = 3000,
    ROUNDS_MIN = 60,
    SENDERS = 8,
    ROOM = 8,       /* messages in RB */
    WINDOW = 8,     /* messages that a sender keeps */
    WORK_NS = 5000, /* of the receiver on each message */
    SEED = 1,
};

enum sweep { BY_SENDERS, BY_ROOM, BY_WORK, BY_WINDOW, BY_LOAD, BY_LOSS, SWEEPS };

enum { STEPS_MAX = 8 };

/* A step of 0 ends the steps before STEPS_MAX. */
static const struct {
    const char *name;
    uint32_t steps[STEPS_MAX];
} sweeps[SWEEPS] = {
    [BY_SENDERS] = {"senders", {1, 2, 4, 8, 16, 32}},
    [BY_ROOM] = {"receive buffer", {1, 2, 4, 8, 16, 32, 64}},
    [BY_WORK] = {"receiver's work, ns", {500, 1000, 2000, 5000, 10000, 20000, 50000}},
    [BY_WINDOW] = {"window", {1, 2, 4, 8, 16}},
    [BY_LOAD] = {"load, per cent", {50, 70, 80, 90, 100, 120}},
    [BY_LOSS] = {"loss, ppm", {10, 100, 1000, 10000, 50000}},
};

enum column {
    SWEEP,
    VALUE,
    RESEND,
    BANDWIDTH,
    DATA_PACKETS,
    ALL_PACKETS,
    LATENCY,
    LATENCY_MOST,
    CORE,
    REFUSED,
    DROPPED,
    SILENCES,
    LOST,
    COLUMNS,
};

static const struct sim_study_column columns[COLUMNS] = {
    [SWEEP] = {"sweep", 19, -1, "what is varied; RB and window count messages of 1,024 bytes"},
    [VALUE] = {"value", 6, 0, "of that"},
    [RESEND] = {"resend", 12, -1, "when a refused message is sent again: see dimmnet-sim(1)"},
    [BANDWIDTH] = {"mb_per_s", 8, 1, "of messages that the receiver has read"},
    [DATA_PACKETS] = {"data_packets", 12, 2, "sent for each message that was read"},
    [ALL_PACKETS] = {"packets", 7, 2, "the same with ACK, NACK, STOP and RESEND"},
    [LATENCY] = {"latency_us", 10, 1, "mean, from the kick to the end of the read"},
    [LATENCY_MOST] = {"most_us", 8, 1, "the longest"},
    [CORE] = {"core_share", 10, 3, "of the time that the receiver's CorePU was busy"},
    [REFUSED] = {"refused", 7, 0, "messages that found no room"},
    [DROPPED] = {"dropped", 7, 0, "behind a refused or lost one, or known already"},
    [SILENCES] = {"silences", 8, 0, "time-outs of loss detection"},
    [LOST] = {"lost", 5, 0, "packets"},
};

/* ---- Points ------------------------------------------------------------------------------- */

struct place {
    enum sweep sweep;
    uint32_t value;
    unsigned resend;
};

static unsigned variant_of(unsigned sweep, unsigned step, unsigned resend)
{
    return (sweep * STEPS_MAX + step) * SIM_RESENDS + resend;
}

static struct place place_of(unsigned variant)
{
    unsigned step = variant / SIM_RESENDS;
    return (struct place){
        .sweep = (enum sweep)(step / STEPS_MAX),
        .value = sweeps[step / STEPS_MAX].steps[step % STEPS_MAX],
        .resend = variant % SIM_RESENDS,
    };
}

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
        for (unsigned step = 0; step < STEPS_MAX && sweeps[sweep].steps[step] > 0; step++) {
            uint32_t nodes = 1 + (sweep == BY_SENDERS ? sweeps[sweep].steps[step] : SENDERS);
            for (unsigned resend = 0; nodes <= choice->nodes_max && resend < SIM_RESENDS;
                 resend++) {
                points[count++] = (struct sim_study_point){
                    .nodes = nodes, .variant = variant_of(sweep, step, resend)};
            }
        }
    }
    return count;
}

/* How long the receiver needs for a message that is there: the read that finds it, the copy, its
 * work, and the write that frees the room. */
static uint64_t service_ps(const struct sim_machine *machine, uint64_t work_ps)
{
    uint64_t copy_ps = machine->software_copy_mb_per_s
                           ? BYTES * UINT64_C(1000000000000) / machine->software_copy_mb_per_s
                           : BYTES / 8 * machine->host_burst_cycles * machine->clock_dimm;
    uint64_t read_ps = machine->host_fill ? machine->host_fill : machine->host_read;
    return read_ps + copy_ps + machine->host_write + work_ps;
}

static struct sim_messages_wish wish_of(const struct sim_machine *machine,
                                        const struct sim_study_point *point)
{
    struct place place = place_of(point->variant);
    uint32_t senders = point->nodes - 1;
    uint32_t rounds = MESSAGES / senders;
    uint32_t room = place.sweep == BY_ROOM ? place.value : ROOM;
    uint32_t window = place.sweep == BY_WINDOW ? place.value : WINDOW;
    uint64_t work_ns = place.sweep == BY_WORK ? place.value : WORK_NS;
    struct sim_messages_wish wish = {
        .machine = machine,
        .topology = SIM_ONE_SWITCH,
        .node_count = point->nodes,
        .rounds = rounds > ROUNDS_MIN ? rounds : ROUNDS_MIN,
        .bytes = BYTES,
        .read_ps = work_ns * SIM_PS_PER_NS,
        .resend = place.resend,
        .seed = SEED,
        .buffers = {.entries = window,
                    .send_bytes = window * BYTES,
                    .receive_bytes = sim_messages_room(room, BYTES)},
        .limit_ps = SIM_STUDY_LIMIT_PS,
    };
    if (place.sweep == BY_LOSS) {
        wish.detects_loss = true;
        wish.loss_ppm = place.value;
    } else if (place.sweep == BY_LOAD) {
        wish.send_ps = service_ps(machine, wish.read_ps) * senders * 100 / place.value;
    }
    return wish;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct place place = place_of(point->variant);
    struct sim_machine machine = *choice->machine;
    struct sim_messages_result result;
    machine.switch_ports = point->nodes;
    sim_study_set_text(row, SWEEP, sweeps[place.sweep].name);
    sim_study_set_number(row, VALUE, place.value);
    sim_study_set_text(row, RESEND, sim_resend_names[place.resend]);
    struct sim_messages_wish wish = wish_of(&machine, point);
    if (!sim_messages_run(&wish, NULL, &result, row->error)) {
        return;
    }
    double messages = (double)result.pieces;
    double us = (double)(result.last_ps - result.first_ps) / 1e6;
    sim_study_set_number(row, BANDWIDTH, messages * BYTES / us);
    sim_study_set_number(row, DATA_PACKETS, (double)result.packets / messages);
    sim_study_set_number(row, ALL_PACKETS, (double)result.counters.packets / messages);
    sim_study_set_number(row, LATENCY, (double)result.latency_ps / messages / 1e6);
    sim_study_set_number(row, LATENCY_MOST, (double)result.latency_most_ps / 1e6);
    sim_study_set_number(row, CORE, (double)result.core_ps / 1e6 / us);
    sim_study_set_number(row, REFUSED, (double)result.refused);
    sim_study_set_number(row, DROPPED, (double)result.dropped);
    sim_study_set_number(row, SILENCES, (double)result.silences);
    sim_study_set_number(row, LOST, (double)result.counters.lost);
}

const struct sim_study sim_study_message = {
    .name = "message",
    .text = "messages that find the receiver full: sent again at once, later, or when it asks",
    .machine = "rhinet2-ni",
    .columns = columns,
    .column_count = COLUMNS,
    .x = VALUE,
    .series = {RESEND},
    .series_count = 1,
    .y = {BANDWIDTH, DATA_PACKETS, LATENCY},
    .y_count = 3,
    .splits = SIM_STUDY_SPLIT_X,
    .split = SWEEP,
    .list = list,
    .run = run,
};
