/* Paper 002: packets through InfiniSWIF and an InfiniBand switch. */
#include "sim/papers/measure.h"

#include "sim/model/host.h"

/* After this time a packet has been acknowledged, and nothing is under way. */
#define QUIET_PS (UINT64_C(50) * 1000000)
/* Phases are spread over this time, in which every clock of these machines has several edges. */
#define SPAN_PS UINT64_C(480000)

enum { PACKETS = 64, WARM_UP = 8 };

/* Packets of 4 and 5 words: the difference tells the cost of a word from that of a packet. */
enum { SHORT_BYTES = 8, SHORT_WORDS = 4, LONG_BYTES = 16 };

struct packets {
    uint64_t kick;
    uint32_t i;
    uint32_t first; /* the first packet that counts */
    uint32_t count;
    uint64_t long_data[2];
    uint64_t transit_ps;
    uint64_t stage_ps[2][SIM_STAGES]; /* of short and long packets */
    uint64_t divisor_ps[SIM_STAGES];  /* common to all moments at which the stage began or ended */
};

static uint64_t common_divisor(uint64_t one, uint64_t other)
{
    while (other > 0) {
        uint64_t rest = one % other;
        one = other;
        other = rest;
    }
    return one;
}

static void note_packet(struct packets *mine, const struct sim_passage *passage, bool is_long)
{
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        uint64_t moments[] = {passage->from_ps[stage], passage->to_ps[stage]};
        mine->stage_ps[is_long][stage] += moments[1] - moments[0];
        for (unsigned i = 0; i < 2; i++) {
            mine->divisor_ps[stage] = common_divisor(mine->divisor_ps[stage], moments[i]);
        }
    }
    if (!is_long) {
        mine->transit_ps += passage->to_ps[SIM_STAGE_TRANSPORT_RECEIVE] -
                            passage->from_ps[SIM_STAGE_CORE_SEND];
    }
}

static void packets_program(struct sim_host *host)
{
    struct packets *mine = host->locals;
    SIM_BEGIN(host);
    mine->kick = sim_kick(host, 1, 0);
    for (mine->i = 0; mine->i < mine->first + mine->count; mine->i++) {
        SIM_STEP(host, sim_work(host, papers_spread(mine->i, 0, SPAN_PS)));
        SIM_STEP(host, sim_store(host, mine->kick, mine->i + 1, SHORT_BYTES));
        SIM_STEP(host, sim_work(host, QUIET_PS));
        if (mine->i >= mine->first) {
            note_packet(mine, sim_world_passage(host->world, 1), false);
        }
        if (mine->first > 0) {
            SIM_STEP(host, sim_work(host, papers_spread(mine->i, 1, SPAN_PS)));
            SIM_STEP(host, sim_block(host, sim_remote(1, 64), mine->long_data, LONG_BYTES));
            SIM_STEP(host, sim_work(host, QUIET_PS));
        }
        if (mine->first > 0 && mine->i >= mine->first) {
            note_packet(mine, sim_world_passage(host->world, 1), true);
        }
    }
    SIM_END(host);
}

static bool run_packets(const char *machine, enum sim_carrier carrier, struct packets *packets,
                        uint64_t start_ps, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    if (!papers_bench_load(&bench, machine, error)) {
        return false;
    }
    bench.machine.carrier_kind = carrier;
    bench.start_ps = start_ps;
    return papers_bench_run(&bench, SIM_ONE_SWITCH, packets_program, packets, NULL, NULL, error);
}

/* Clocks of a stage that do not depend on the packet's length, from its time at two lengths. */
static double head_clocks(const struct packets *packets, enum sim_stage_name stage,
                          double clock_mhz)
{
    double shorter = papers_ns(packets->stage_ps[0][stage]) / packets->count;
    double longer = papers_ns(packets->stage_ps[1][stage]) / packets->count;
    double head_ns = shorter - SHORT_WORDS * (longer - shorter);
    return head_ns * clock_mhz / 1000.0;
}

/* Each packet is sent in a world in which nothing was sent before. */
static bool measure_miss(const char *machine, struct packets *total, char error[SIM_ERROR_BYTES])
{
    for (uint32_t i = 0; i < PACKETS; i++) {
        struct packets one = {.count = 1};
        if (!run_packets(machine, SIM_CARRIER_CD, &one, QUIET_PS + papers_spread(i, 0, SPAN_PS),
                         error)) {
            return false;
        }
        total->transit_ps += one.transit_ps;
        for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
            total->stage_ps[0][stage] += one.stage_ps[0][stage];
            total->divisor_ps[stage] = common_divisor(total->divisor_ps[stage],
                                                      one.divisor_ps[stage]);
        }
    }
    return true;
}

bool papers_measure_transit(const char *machine, enum sim_carrier carrier, bool miss,
                            struct papers_transit *transit, char error[SIM_ERROR_BYTES])
{
    struct packets packets = {.first = WARM_UP, .count = PACKETS};
    if (!run_packets(machine, carrier, &packets, 0, error)) {
        return false;
    }
    if (miss) {
        /* The cost of a word is known from packets that hit. */
        uint64_t word_ps[SIM_STAGES];
        for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
            word_ps[stage] = packets.stage_ps[1][stage] - packets.stage_ps[0][stage];
        }
        packets = (struct packets){.count = PACKETS};
        if (!measure_miss(machine, &packets, error)) {
            return false;
        }
        for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
            packets.stage_ps[1][stage] = packets.stage_ps[0][stage] + word_ps[stage];
        }
    }
    static const enum sim_stage_name of_clock[][2] = {
        {SIM_STAGE_CORE_SEND, SIM_STAGE_CORE_SEND},
        {SIM_STAGE_TRANSPORT_SEND, SIM_STAGE_TRANSPORT_RECEIVE},
        {SIM_STAGE_DATA_LINK_SEND, SIM_STAGE_DATA_LINK_RECEIVE},
        {SIM_STAGE_MAC_SEND, SIM_STAGE_MAC_RECEIVE},
    };
    for (unsigned i = 0; i < 4; i++) {
        transit->clock_mhz[i] = 1e6 / (double)common_divisor(packets.divisor_ps[of_clock[i][0]],
                                                             packets.divisor_ps[of_clock[i][1]]);
    }
    transit->ns = papers_ns(packets.transit_ps) / packets.count;
    static const struct {
        enum sim_stage_name stage;
        unsigned clock;
    } overheads[] = {
        {SIM_STAGE_TRANSPORT_SEND, 1},
        {SIM_STAGE_DATA_LINK_SEND, 2},
        {SIM_STAGE_DATA_LINK_RECEIVE, 2},
        {SIM_STAGE_TRANSPORT_RECEIVE, 1},
    };
    for (unsigned i = 0; i < 4; i++) {
        transit->overhead_clocks[i] = head_clocks(&packets, overheads[i].stage,
                                                  transit->clock_mhz[overheads[i].clock]);
    }
    return true;
}

/* ---- Messages ----------------------------------------------------------------------------- */

struct message {
    uint64_t bytes;
    uint32_t i;
    uint64_t start_ps;
    uint64_t lead_ps; /* from a request to its first word into InfiniSWIF */
    uint64_t end_ps;
};

static void message_program(struct sim_host *host)
{
    struct message *mine = host->locals;
    SIM_BEGIN(host);
    /* After the warm-up the contexts are there, and their ARQ is go-back-N. */
    for (mine->i = 0; mine->i < WARM_UP; mine->i++) {
        SIM_STEP(host, sim_work(host, QUIET_PS + papers_until_edge(host, SPAN_PS)));
        mine->start_ps = host->now_ps;
        SIM_STEP(host, sim_push(host, sim_remote_bank(1, 0), sim_bank(host, 0), 8));
    }
    SIM_STEP(host, sim_work(host, QUIET_PS));
    mine->lead_ps = sim_world_passage(host->world, 1)->from_ps[SIM_STAGE_CORE_SEND] -
                    mine->start_ps;
    SIM_STEP(host, sim_work(host, papers_until_edge(host, SPAN_PS)));
    mine->start_ps = host->now_ps;
    SIM_STEP(host, sim_push(host, sim_remote_bank(1, 0), sim_bank(host, 0), mine->bytes));
    SIM_STEP(host, sim_work(host, QUIET_PS));
    mine->end_ps = sim_world_passage(host->world, 1)->to_ps[SIM_STAGE_TRANSPORT_RECEIVE];
    SIM_END(host);
}

bool papers_measure_message(const char *machine, enum sim_carrier carrier, uint64_t bytes,
                            double *ns, char error[SIM_ERROR_BYTES])
{
    struct papers_bench bench;
    if (!papers_bench_load(&bench, machine, error)) {
        return false;
    }
    struct message message = {.bytes = bytes};
    bench.machine.carrier_kind = carrier;
    if (bench.machine.bank_bytes < bytes) {
        bench.machine.bank_bytes = bytes;
    }
    bool ok = papers_bench_run(&bench, SIM_ONE_SWITCH, message_program, &message, NULL, NULL,
                               error);
    *ns = papers_ns(message.end_ps - message.start_ps - message.lead_ps);
    return ok;
}
