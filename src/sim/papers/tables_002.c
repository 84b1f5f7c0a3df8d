/* Paper 002: InfiniSWIF. */
#include "sim/papers/tables.h"

#include <stddef.h>

#include "sim/papers/measure.h"

enum { BDAIS, DIMMNET2, NICS };

static const char *const machines[NICS] = {"dimmnet1-bdais", "dimmnet2"};
static const struct papers_column nic_columns[NICS] = {
    {"DIMMnet-1/bDais", NULL},
    {"DIMMnet-2", NULL},
};
static const struct papers_note no_notes[] = {{0, 0, 0, NULL}};

/* Columns of a service on a NIC. */
enum { SERVICES = 2 };
static const struct papers_column service_columns[NICS * SERVICES] = {
    {"bDais UD", NULL},
    {"bDais CD", NULL},
    {"DIMMnet-2 UD", NULL},
    {"DIMMnet-2 CD", NULL},
};

static enum sim_carrier carrier_of(enum papers_service service)
{
    return service == PAPERS_UD ? SIM_CARRIER_UD : SIM_CARRIER_CD;
}

/* ---- Its equations ---------------------------------------------------------------------- */

enum { NIC, TP, DL, MAC, CLOCKS };
enum { OVERHEAD_BYTES = 24, PACKET_DATA_BYTES = 2048, WORD_BYTES = 8 };
/* MAC clocks of C. The paper does not say; 84.9 to 85.6 gives both its latencies. */
#define C_CLOCKS 85.0
static const double clock_mhz[CLOCKS][NICS] = {
    [NIC] = {31.25, 100}, [TP] = {62.5, 100}, [DL] = {125, 125}, [MAC] = {125, 125}};
static const unsigned overhead_a[] = {[PAPERS_UD] = 6, [PAPERS_CD_HIT] = 11, [PAPERS_CD_MISS] = 15};
static const unsigned overhead_e[] = {[PAPERS_UD] = 2, [PAPERS_CD_HIT] = 7, [PAPERS_CD_MISS] = 7};
static const unsigned gap_clocks[] = {[PAPERS_UD] = 7, [PAPERS_CD_HIT] = 18, [PAPERS_CD_MISS] = 18};
enum { OVERHEAD_B = 4, OVERHEAD_D = 7 };

static double words_of(uint64_t data_bytes)
{
    return (double)((data_bytes + OVERHEAD_BYTES + WORD_BYTES - 1) / WORD_BYTES);
}

static double clocks_ns(unsigned clock, unsigned machine, double count)
{
    return count * 1000.0 / clock_mhz[clock][machine];
}

double papers_002_transit_ns(unsigned machine, enum papers_service service, unsigned data_bytes)
{
    double words = words_of(data_bytes);
    return clocks_ns(NIC, machine, words) +
           clocks_ns(TP, machine, overhead_a[service] + overhead_e[service]) +
           clocks_ns(DL, machine, OVERHEAD_B + OVERHEAD_D + words) +
           clocks_ns(MAC, machine, C_CLOCKS);
}

double papers_002_message_ns(unsigned machine, enum papers_service service, uint64_t data_bytes,
                             bool first_once)
{
    uint64_t first = data_bytes < PACKET_DATA_BYTES ? data_bytes : PACKET_DATA_BYTES;
    double packets = (double)((data_bytes + PACKET_DATA_BYTES - 1) / PACKET_DATA_BYTES);
    double words = (double)(data_bytes / PACKET_DATA_BYTES) * words_of(PACKET_DATA_BYTES);
    if (data_bytes % PACKET_DATA_BYTES) {
        words += words_of(data_bytes % PACKET_DATA_BYTES);
    }
    if (first_once) {
        packets -= 1;
        words -= words_of(first);
    }
    return papers_002_transit_ns(machine, service, (unsigned)first) +
           clocks_ns(NIC, machine, gap_clocks[service] * packets + words);
}

/* ---- Table 1 ---------------------------------------------------------------------------- */

static const struct papers_row rows_1[CLOCKS] = {
    [NIC] = {"NIC clock", "MHz", {31.25, 100}, "tt"},
    [TP] = {"TP clock", "MHz", {62.5, 100}, "tt"},
    [DL] = {"DL clock", "MHz", {125, 125}, "tt"},
    [MAC] = {"MAC clock", "MHz", {125, 125}, "tt"},
};

static bool simulate_1(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned nic = 0; nic < NICS; nic++) {
        struct papers_transit transit;
        if (!papers_measure_transit(machines[nic], SIM_CARRIER_UD, false, &transit, error)) {
            return false;
        }
        for (unsigned clock = 0; clock < CLOCKS; clock++) {
            sims->value[clock][nic] = transit.clock_mhz[clock];
        }
    }
    return true;
}

const struct papers_table papers_002_1 = PAPERS_TABLE(
    "002", "1", "InfiniSWIF's clocks, by the moments of its stages", nic_columns, rows_1, no_notes,
    .simulate = simulate_1);

/* ---- Table 2 ---------------------------------------------------------------------------- */

static const struct papers_column columns_2[] = {
    [PAPERS_UD] = {"UD", NULL},
    [PAPERS_CD_HIT] = {"CD hit", NULL},
    [PAPERS_CD_MISS] = {"CD miss", NULL},
};
static const struct papers_row rows_2[] = {
    {"A, transport, send", "clocks", {6, 11, 15}, "ttt"},
    {"B, data link, send", "clocks", {4, 4, 4}, "ttt"},
    {"D, data link, receive", "clocks", {7, 7, 7}, "ttt"},
    {"E, transport, receive", "clocks", {2, 7, 7}, "ttt"},
};

static bool simulate_2(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned service = PAPERS_UD; service <= PAPERS_CD_MISS; service++) {
        struct papers_transit transit;
        if (!papers_measure_transit(machines[DIMMNET2], carrier_of(service),
                                    service == PAPERS_CD_MISS, &transit, error)) {
            return false;
        }
        for (unsigned row = 0; row < 4; row++) {
            sims->value[row][service] = transit.overhead_clocks[row];
        }
    }
    return true;
}

const struct papers_table papers_002_2 = PAPERS_TABLE("002", "2", "overhead clocks", columns_2,
                                                      rows_2, no_notes, .simulate = simulate_2);

/* ---- Latencies and their ratios (section 5.1) ------------------------------------------- */

static const struct papers_column columns_latency[] = {
    {"DIMMnet-1/bDais", NULL},
    {"DIMMnet-2", NULL},
    {"InfiniBand HCA", NULL},
};
static const struct papers_row rows_latency[] = {
    {"8 bytes", "us", {1.22, 1.02, 3.39}, "fft"},
};
static const struct papers_note notes_latency[] = {
    {0, NICS, 0, "not ours: the hardware's share, by RC"},
    {0, 0, 0, NULL},
};

static bool simulate_latency(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned nic = 0; nic < NICS; nic++) {
        struct papers_transit transit;
        if (!papers_measure_transit(machines[nic], SIM_CARRIER_CD, false, &transit, error)) {
            return false;
        }
        sims->value[0][nic] = transit.ns / 1000.0;
    }
    return true;
}

const struct papers_table papers_002_latency = PAPERS_TABLE(
    "002", "latency", "transit of 8 bytes by CD, hit", columns_latency, rows_latency, notes_latency,
    .simulate = simulate_latency);

enum { CD_OVER_UD, MISS_OVER_HIT };

static const struct papers_row rows_ratios[] = {
    [CD_OVER_UD] = {"CD over UD", "%", {10, 10}, "cc"},
    [MISS_OVER_HIT] = {"miss over hit", "%", {5, 5}, "cc"},
};
static const struct papers_note notes_ratios[] = {
    {CD_OVER_UD, PAPERS_ALL, 0, "10 for both in the text; the paper's own equation 1 gives this"},
    {MISS_OVER_HIT, PAPERS_ALL, 0, "5 for both in the text; the paper's own equation 1 gives this"},
    {0, 0, 0, NULL},
};

static double more_pct(double value, double base)
{
    return 100.0 * (value - base) / base;
}

static double right_ratio(unsigned row, unsigned column)
{
    double hit = papers_002_transit_ns(column, PAPERS_CD_HIT, 8);
    return row == CD_OVER_UD ? more_pct(hit, papers_002_transit_ns(column, PAPERS_UD, 8))
                             : more_pct(papers_002_transit_ns(column, PAPERS_CD_MISS, 8), hit);
}

static bool simulate_ratios(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned nic = 0; nic < NICS; nic++) {
        double ns[3];
        for (unsigned service = PAPERS_UD; service <= PAPERS_CD_MISS; service++) {
            struct papers_transit transit;
            if (!papers_measure_transit(machines[nic], carrier_of(service),
                                        service == PAPERS_CD_MISS, &transit, error)) {
                return false;
            }
            ns[service] = transit.ns;
        }
        sims->value[CD_OVER_UD][nic] = more_pct(ns[PAPERS_CD_HIT], ns[PAPERS_UD]);
        sims->value[MISS_OVER_HIT][nic] = more_pct(ns[PAPERS_CD_MISS], ns[PAPERS_CD_HIT]);
    }
    return true;
}

const struct papers_table papers_002_ratios = PAPERS_TABLE(
    "002", "ratios", "what CD and its misses cost", nic_columns, rows_ratios, notes_ratios,
    .right = right_ratio, .simulate = simulate_ratios);

/* ---- Sustained bandwidth and the curve (section 5.2, figure 6) --------------------------- */

/* Words and gaps on the NIC's clock decide all of it, as in the last row of the curve. Where the
 * paper's gap does not give the paper's own figure, a note says so. */
static const struct papers_row rows_bandwidth[] = {
    {"sustained", "MB/s", {240, 234, 769, 749}, "cccc"},
    {"CD below UD", "%", {0, 2.5, 0, 2.6}, "tctc"},
};
static const struct papers_note notes_bandwidth[] = {
    {0, 0, 0, "words and gaps on the NIC's clock: equation 2 without its first packet"},
    {0, 1, 234, "its gap of 18 clocks gives 231.0, one of 14 would give 234.3"},
    {0, 2, 0, "words and gaps on the NIC's clock: equation 2 without its first packet"},
    {0, 3, 749, "its gap of 18 clocks gives 739.4, one of 14 would give 749.9"},
    {1, 1, 2.5, "its gap of 18 clocks gives 4.0, one of 14 would give 2.6"},
    {1, 3, 2.6, "its gap of 18 clocks gives 4.0, one of 14 would give 2.6"},
    {0, 0, 0, NULL},
};

enum { CURVE_ROWS = 10 };
/* Sizes from 8 bytes to 1 MB, each four times the one before, except for the last. */
uint64_t papers_002_curve_bytes(unsigned row)
{
    return row + 1 < CURVE_ROWS ? UINT64_C(8) << (2 * row) : UINT64_C(1) << 20;
}

static bool simulate_message(unsigned column, uint64_t bytes, double *mb_per_s,
                             char error[SIM_ERROR_BYTES])
{
    double ns;
    if (!papers_measure_message(machines[column / SERVICES],
                                column % SERVICES ? SIM_CARRIER_CD : SIM_CARRIER_UD, bytes, &ns,
                                error)) {
        return false;
    }
    *mb_per_s = (double)bytes * 1000.0 / ns;
    return true;
}

static bool simulate_bandwidth(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned column = 0; column < NICS * SERVICES; column++) {
        if (!simulate_message(column, UINT64_C(1) << 20, &sims->value[0][column], error)) {
            return false;
        }
    }
    for (unsigned column = 1; column < NICS * SERVICES; column += SERVICES) {
        sims->value[1][column] = -more_pct(sims->value[0][column], sims->value[0][column - 1]);
    }
    return true;
}

const struct papers_table papers_002_bandwidth = PAPERS_TABLE(
    "002", "bandwidth", "sustained bandwidth", service_columns, rows_bandwidth, notes_bandwidth,
    .simulate = simulate_bandwidth);

static const struct papers_row rows_curve[CURVE_ROWS] = {
    {"8 B", "MB/s", {0}, "cccc"},    {"32 B", "MB/s", {0}, "cccc"},
    {"128 B", "MB/s", {0}, "cccc"},  {"512 B", "MB/s", {0}, "cccc"},
    {"2 KB", "MB/s", {0}, "cccc"},   {"8 KB", "MB/s", {0}, "cccc"},
    {"32 KB", "MB/s", {0}, "cccc"},  {"128 KB", "MB/s", {0}, "cccc"},
    {"512 KB", "MB/s", {0}, "cccc"}, {"1024 KB", "MB/s", {0}, "cccc"},
};
static const struct papers_note notes_curve[] = {
    {PAPERS_ALL, PAPERS_ALL, 0,
     "equation 2, as the figure is lost; it counts the first packet twice, in TL and in N"},
    {0, 0, 0, NULL},
};

static double curve_mb_per_s(unsigned row, unsigned column, bool first_once)
{
    uint64_t bytes = papers_002_curve_bytes(row);
    enum papers_service service = column % SERVICES ? PAPERS_CD_HIT : PAPERS_UD;
    return (double)bytes * 1000.0 /
           papers_002_message_ns(column / SERVICES, service, bytes, first_once);
}

static double printed_curve(unsigned row, unsigned column)
{
    return curve_mb_per_s(row, column, false);
}

static double right_curve(unsigned row, unsigned column)
{
    return curve_mb_per_s(row, column, true);
}

static bool simulate_curve(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned row = 0; row < CURVE_ROWS; row++) {
        for (unsigned column = 0; column < NICS * SERVICES; column++) {
            if (!simulate_message(column, papers_002_curve_bytes(row), &sims->value[row][column],
                                  error)) {
                return false;
            }
        }
    }
    return true;
}

const struct papers_table papers_002_curve = PAPERS_TABLE(
    "002", "throughput", "throughput by message length", service_columns, rows_curve, notes_curve,
    .printed = printed_curve, .right = right_curve, .simulate = simulate_curve);
