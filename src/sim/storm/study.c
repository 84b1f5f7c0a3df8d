/* The list of studies, and those of bandwidth: goodput under loss, and incast. */
#include "sim/storm/study.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/storm/study_net.h"
#include "wire/operation.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { LINK_GBIT_PER_S = 10, LATENCY_US = 10, SENDERS = 64 };

/* ---- Goodput --------------------------------------------------------------------------- */

/* Sends whole packets to the last node, as fast as they are taken. */
static void feed_last(struct study_node *node)
{
    uint16_t last = (uint16_t)(node->net->node_count - 1);
    uint32_t bytes = swif_body_bytes_max(node->swif);
    while (node->number != last && study_append(node, last, bytes, 0) == 0) {
    }
}

static void set_up_bandwidth(struct study_net *net, uint32_t node_count)
{
    study_net_init(net, node_count);
    net->bits_per_s = LINK_GBIT_PER_S * UINT64_C(1000000000);
    net->latency_ns = LATENCY_US * US;
    net->feed = feed_last;
}

/* How much of a body's data a link can carry, in bytes per second. */
static double payload_bytes_per_s(const struct study_net *net, uint32_t body_bytes)
{
    return (double)net->bits_per_s / 8 * (body_bytes - WIRE_OPERATION_BYTES) /
           (body_bytes + WIRE_OVERHEAD_BYTES);
}

static double measure_goodput(uint32_t loss_percent, enum wire_stage stage, double *limit,
                              struct swif_counters *counters)
{
    const uint64_t warm_up_ns = 20 * MS;
    const uint64_t measured_ns = 100 * MS;
    struct study_net net;
    struct swif_config config;
    set_up_bandwidth(&net, 2);
    net.loss_ppm = loss_percent * 10000;
    net.port_bytes = 256 * 1024;
    swif_config_default(&config, 2);
    config.stage_max = stage;
    study_net_add(&net, 0, &config);
    study_net_add(&net, 1, &config);
    study_net_start(&net, 0);
    study_net_run(&net, warm_up_ns);
    uint64_t before = net.nodes[1].delivered_count;
    study_net_run(&net, warm_up_ns + measured_ns);
    uint64_t count = net.nodes[1].delivered_count - before;
    uint32_t body_bytes = swif_body_bytes_max(net.nodes[0].swif);
    *limit = (100 - loss_percent) / 100.0 * payload_bytes_per_s(&net, body_bytes);
    *counters = *swif_counters(net.nodes[0].swif);
    study_net_free(&net);
    return (double)count * (body_bytes - WIRE_OPERATION_BYTES) * 1e9 / (double)measured_ns;
}

static bool run_goodput(const struct storm_printer *printer)
{
    static const struct {
        uint32_t loss_percent;
        enum wire_stage stage;
        double bar; /* 0: none */
        const char *bar_text;
    } cases[] = {
        {0, WIRE_SELECTIVE_REPEAT, 0, ""},         {0, WIRE_GO_BACK_N, 0, ""},
        {1, WIRE_SELECTIVE_REPEAT, 0.9, ">= 0.9"}, {1, WIRE_GO_BACK_N, 0, ""},
        {5, WIRE_SELECTIVE_REPEAT, 0.8, ">= 0.8"}, {5, WIRE_GO_BACK_N, 0, ""},
    };
    bool met = true;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char detail[64];
        double limit;
        struct swif_counters counters;
        double rate = measure_goodput(cases[i].loss_percent, cases[i].stage, &limit, &counters);
        (void)snprintf(detail, sizeof detail, "%u %% loss, %s", cases[i].loss_percent,
                       cases[i].stage == WIRE_GO_BACK_N ? "go-back-N" : "selective repeat");
        struct storm_row row = {
            .study = "goodput",
            .detail = detail,
            .nodes = 2,
            .figures = {{"mb_per_s", rate / 1e6},
                        {"raw_mb_per_s", limit / 1e6},
                        {"retransmissions", (double)counters.retransmissions},
                        {"timeouts", (double)counters.timeouts}},
            .ratio = rate / limit,
            .bar = cases[i].bar_text,
            .missed = rate / limit < cases[i].bar,
        };
        met = met && !row.missed;
        printer->row(printer->context, &row);
    }
    return met;
}

/* ---- Incast ------------------------------------------------------------------------------ */

struct shares {
    double least, mean, most; /* payload bytes per second */
};

/* What each sender got through in that time, from its bytes before and after. */
static struct shares compute_shares(const uint64_t *before, const uint64_t *after, double seconds,
                                    double payload_share)
{
    struct shares shares = {.least = 1e18};
    for (unsigned i = 0; i < SENDERS; i++) {
        double rate = (double)(after[i] - before[i]) * payload_share / seconds;
        shares.least = rate < shares.least ? rate : shares.least;
        shares.most = rate > shares.most ? rate : shares.most;
        shares.mean += rate / SENDERS;
    }
    return shares;
}

static struct shares measure_incast(bool congestion_control, double *limit, uint64_t *drops,
                                    uint64_t *retransmissions)
{
    const uint64_t warm_up_ns = 50 * MS;
    const uint64_t measured_ns = 100 * MS;
    struct study_net net;
    struct swif_config config;
    uint64_t before[SENDERS];
    set_up_bandwidth(&net, SENDERS + 1);
    net.port_bytes = 512 * 1024;
    swif_config_default(&config, SENDERS + 1);
    config.congestion_control = congestion_control;
    config.ltee_count = config.rtee_count = 4 * SENDERS;
    /* Enough for a window and what waits behind it; more would cost memory in 65 nodes. */
    config.buffer_count[WIRE_REQUEST] = config.buffer_count[WIRE_REPLY] = 2 * SWIF_WINDOW_MAX;
    for (uint16_t i = 0; i <= SENDERS; i++) {
        study_net_add(&net, i, &config);
    }
    uint64_t *delivered_from = calloc(SENDERS + 1, sizeof *delivered_from);
    INVARIANT(delivered_from);
    net.nodes[SENDERS].delivered_from = delivered_from;
    for (uint16_t i = 0; i < SENDERS; i++) {
        study_net_start(&net, i);
    }
    study_net_run(&net, warm_up_ns);
    for (unsigned i = 0; i < SENDERS; i++) {
        before[i] = delivered_from[i];
    }
    study_net_run(&net, warm_up_ns + measured_ns);
    uint32_t body_bytes = swif_body_bytes_max(net.nodes[0].swif);
    struct shares shares = compute_shares(before, delivered_from, (double)measured_ns / 1e9,
                                          (double)(body_bytes - WIRE_OPERATION_BYTES) / body_bytes);
    *limit = payload_bytes_per_s(&net, body_bytes);
    *drops = net.port_drops;
    *retransmissions = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        *retransmissions += swif_counters(net.nodes[i].swif)->retransmissions;
    }
    study_net_free(&net);
    return shares;
}

static bool run_incast(const struct storm_printer *printer)
{
    bool met = true;
    for (unsigned control = 1; control < 2; control--) {
        double limit;
        uint64_t drops;
        uint64_t retransmissions;
        struct shares shares = measure_incast(control, &limit, &drops, &retransmissions);
        double unfairness = shares.most - shares.mean > shares.mean - shares.least
                                ? shares.most / shares.mean - 1
                                : 1 - shares.least / shares.mean;
        double total = shares.mean * SENDERS;
        struct storm_row fair = {
            .study = "incast",
            .detail = control ? "fairness" : "fairness, no congestion control",
            .nodes = SENDERS + 1,
            .figures = {{"least_mb_per_s", shares.least / 1e6},
                        {"mean_mb_per_s", shares.mean / 1e6},
                        {"most_mb_per_s", shares.most / 1e6}},
            .ratio = unfairness,
            .bar = control ? "<= 0.2" : "",
            .missed = control && unfairness > 0.2,
        };
        struct storm_row sum = {
            .study = "incast",
            .detail = control ? "total" : "total, no congestion control",
            .nodes = SENDERS + 1,
            .figures = {{"mb_per_s", total / 1e6},
                        {"raw_mb_per_s", limit / 1e6},
                        {"port_drops", (double)drops},
                        {"retransmissions", (double)retransmissions}},
            .ratio = total / limit,
            .bar = control ? ">= 0.9" : "",
            .missed = control && total / limit < 0.9,
        };
        printer->row(printer->context, &fair);
        printer->row(printer->context, &sum);
        met = met && !fair.missed && !sum.missed;
    }
    return met;
}

/* ---- The list ---------------------------------------------------------------------------- */

enum { GOODPUT, INCAST, CACHE, STATE };

const struct storm_name storm_studies[] = {
    [GOODPUT] = {"goodput", "payload through a 10 Gb/s link that loses packets", 0},
    [INCAST] = {"incast", "64 senders to one receiver through one port", 0},
    [CACHE] = {"cache", "4,096 peers through 256 contexts", 0},
    [STATE] = {"state", "bytes of a node that knows 65,534 peers", 0},
    {NULL, NULL, 0},
};

bool storm_study_run(unsigned study, const struct storm_printer *printer)
{
    switch (study) {
    case GOODPUT: return run_goodput(printer);
    case INCAST: return run_incast(printer);
    case CACHE: return storm_study_cache(printer);
    default: INVARIANT(study == STATE); return storm_study_state(printer);
    }
}
