/* Paper 000: DIMMnet-1 and AOTF. */
#include "sim/papers/tables.h"

#include <math.h>
#include <stddef.h>

#include "nic/header_tlb.h"
#include "sim/papers/measure.h"

/* Environments of Table 3; Table 6 has fewer columns, and one for the design. */
enum { A, B, C, D, E, F, ENVIRONMENTS };
enum { BIT_A = 1 << A, BIT_D = 1 << D, BIT_E = 1 << E, BITS_ADE = BIT_A | BIT_D | BIT_E };

static const char *const environments[ENVIRONMENTS] = {
    "dimmnet1-A", "dimmnet1-B", "dimmnet1-C", "dimmnet1-D", "dimmnet1-E", "dimmnet1-F",
};
#define DESIGN "dimmnet1-design"

static const struct papers_column environment_columns[ENVIRONMENTS] = {
    {"A", NULL}, {"B", NULL}, {"C", NULL}, {"D", NULL}, {"E", NULL}, {"F", NULL},
};
static const struct papers_column dimmnet1_column[] = {{"DIMMnet-1", NULL}};
static const struct papers_note no_notes[] = {{0, 0, 0, NULL}};

/* ---- Table 1 ---------------------------------------------------------------------------- */

enum { LINK_O2, LINK_O3, LINK_OIP, LINK_RN2, BANK_HOST, BANK_NETWORK, SEND, RECEIVE, LLCM };

static const struct papers_row rows_1[] = {
    [LINK_O2] = {"link, o2", "Gbps", {8}, 0, 1},
    [LINK_O3] = {"link, o3", "Gbps", {10}, 0, 1},
    [LINK_OIP] = {"link, e (OIP)", "Gbps", {2.5}, 0, 1},
    [LINK_RN2] = {"link, e (RN2)", "Gbps", {8}, 0, 1},
    [BANK_HOST] = {"bank memory, host side", "MB/s", {1024}, 0, 0},
    [BANK_NETWORK] = {"bank memory, network side", "MB/s", {1024}, 0, 1},
    [SEND] = {"shortest send, DIMM to link", "ns", {105}, 0, 0},
    [RECEIVE] = {"shortest receive, link to LLCM", "ns", {90}, 0, 0},
    [LLCM] = {"LLCM", "KB", {128}, 0, 1},
};

static const struct papers_note notes_1[] = {
    {LINK_O3, 0, 0, "not simulated: the board was not finished"},
    {LINK_OIP, 0, 2, "with 10 bits for a byte; Table 3 has 250 MB/s, which are 2 Gbps of data"},
    {BANK_HOST, 0, 0, "8 bytes at 128 MHz; PC133's clock gives 1,067"},
    {SEND, 0, 115,
     "105 is 14 clocks at 133 MHz; Table 6 and section 5.2.2 say 115, 4 of the 14 at 100 MHz"},
    {RECEIVE, 0, 77.5, "Table 6 adds to 77.5"},
    {0, 0, 0, NULL},
};

static bool simulate_1(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    static const struct {
        unsigned row;
        const char *machine;
    } links[] = {{LINK_O2, "rhinet2-ni"}, {LINK_OIP, "dimmnet1-A"}, {LINK_RN2, "rhinet2-ni"}};
    for (unsigned i = 0; i < PAPERS_COUNT(links); i++) {
        double mb_per_s;
        if (!papers_measure_link(links[i].machine, &mb_per_s, error)) {
            return false;
        }
        sims->value[links[i].row][0] = mb_per_s * 8 / 1000.0;
    }
    struct papers_way way;
    struct sim_machine machine;
    if (!papers_measure_windows(DESIGN, &sims->value[BANK_HOST][0], error) ||
        !papers_measure_bank(DESIGN, &sims->value[BANK_NETWORK][0], error) ||
        !papers_measure_way(DESIGN, SIM_LOOP_INSIDE, &way, error) ||
        !papers_machine_load(&machine, DESIGN, error)) {
        return false;
    }
    sims->value[SEND][0] = way.send_ns;
    sims->value[RECEIVE][0] = way.receive_ns;
    sims->value[LLCM][0] = (double)machine.llcm_bytes / 1024.0;
    sim_machine_free(&machine);
    return true;
}

const struct papers_table papers_000_1 = PAPERS_TABLE(
    "000", "1", "what the board is", dimmnet1_column, rows_1, notes_1, .simulate = simulate_1);

/* ---- Table 4 ---------------------------------------------------------------------------- */

enum { WRITE, READ };
enum { P3_66, P3_100, P4_MMX, P4_PLAIN, CPUS };

static const struct papers_column columns_4[CPUS] = {
    [P3_66] = {"P3, DIMM 66", NULL},
    [P3_100] = {"P3, DIMM 100", NULL},
    [P4_MMX] = {"P4, MMX", NULL},
    [P4_PLAIN] = {"P4, no MMX", NULL},
};
static const struct papers_row rows_4[] = {
    [WRITE] = {"write", "ns", {53, 53, 59, 54}, 0, 0xf},
    [READ] = {"read", "ns", {204, 173, 276, 469}, 0, 0xf},
};
static const struct papers_note notes_4[] = {
    {READ, P4_PLAIN, 0, "two reads of 4 bytes"},
    {0, 0, 0, NULL},
};

static bool simulate_4(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    static const char *const machines[CPUS] = {"dimmnet1-A", "dimmnet1-D", "dimmnet1-E",
                                               "dimmnet1-E"};
    for (unsigned i = 0; i < CPUS; i++) {
        double ns[PAPERS_ACCESSES];
        if (!papers_measure_access(machines[i], ns, error)) {
            return false;
        }
        sims->value[WRITE][i] = ns[i == P4_PLAIN ? PAPERS_WRITE_PLAIN : PAPERS_WRITE];
        sims->value[READ][i] = ns[i == P4_PLAIN ? PAPERS_READ_PLAIN : PAPERS_READ];
    }
    return true;
}

const struct papers_table papers_000_4 = PAPERS_TABLE(
    "000", "4", "CPU time of 8 bytes of uncached memory", columns_4, rows_4, notes_4,
    .simulate = simulate_4);

/* ---- Table 5 ---------------------------------------------------------------------------- */

enum { BOARDS, OUTSIDE, INSIDE, DIFFERENCE };

static const struct papers_row rows_5[] = {
    [BOARDS] = {"RTT, two boards", "ns", {2340, 1940, 2251, 1840, 2005, 2122}, BITS_ADE, 0},
    [OUTSIDE] = {"external loop", "ns", {1026, 851, 1091, 907, 882, 922}, BITS_ADE, 0},
    [INSIDE] = {"internal loop", "ns", {918, 705, 946, 756, 748, 796}, BITS_ADE, 0},
    [DIFFERENCE] = {"outside the SWIF", "ns", {108, 146, 145, 151, 134, 126}, BITS_ADE, 0},
};

static bool simulate_5(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned i = 0; i < ENVIRONMENTS; i++) {
        struct papers_round round;
        if (!papers_measure_round(environments[i], &round, error)) {
            return false;
        }
        sims->value[BOARDS][i] = round.boards_ns;
        sims->value[OUTSIDE][i] = round.outside_ns;
        sims->value[INSIDE][i] = round.inside_ns;
        sims->value[DIFFERENCE][i] = round.outside_ns - round.inside_ns;
    }
    return true;
}

const struct papers_table papers_000_5 = PAPERS_TABLE("000", "5", "round trip of 4 bytes by AOTF",
                                                      environment_columns, rows_5, no_notes,
                                                      .simulate = simulate_5);

/* ---- Table 6 ---------------------------------------------------------------------------- */

enum { COLUMNS_6 = 5, DESIGN_6 = 4, TAKEN_6 = (1 << COLUMNS_6) - 1 };

static const struct papers_column columns_6[COLUMNS_6] = {
    {"A", NULL}, {"B, F", NULL}, {"C", NULL}, {"D, E", NULL}, {"design", NULL},
};
enum { HOST_WRITE, QUEUE, HEADER, SIZE, BUFFER, SWIF_OUT, SWIF_IN, MEMORY, TOTAL, ROWS_6 };
static const struct papers_row rows_6[ROWS_6] = {
    [HOST_WRITE] = {"write from host", "ns", {45, 30, 45, 30, 21.5}, 0, TAKEN_6},
    [QUEUE] = {"transaction queue", "ns", {30, 20, 30, 20, 15}, 0, TAKEN_6},
    [HEADER] = {"header TLB", "ns", {45, 30, 45, 30, 21.5}, 0, TAKEN_6},
    [SIZE] = {"transfer size decision", "ns", {15, 10, 15, 10, 7.5}, 0, TAKEN_6},
    [BUFFER] = {"send buffer handshake", "ns", {15, 10, 15, 10, 7.5}, 0, TAKEN_6},
    [SWIF_OUT] = {"SWIF, send", "ns", {64, 64, 40, 40, 40}, 0, TAKEN_6},
    [SWIF_IN] = {"SWIF, receive", "ns", {144, 144, 70, 70, 70}, 0, TAKEN_6},
    [MEMORY] = {"write into LLCM", "ns", {15, 10, 15, 10, 7.5}, 0, TAKEN_6},
    [TOTAL] = {"total", "ns", {343, 318, 245, 220, 192.5}, 0, TAKEN_6},
};
static const struct papers_note notes_6[] = {
    {HOST_WRITE, DESIGN_6, 22.5, "3 clocks of 7.5 ns are 22.5; the total has it right"},
    {HEADER, DESIGN_6, 22.5, "3 clocks of 7.5 ns are 22.5; the total has it right"},
    {TOTAL, 0, 373, "its own rows add to 373"},
    {TOTAL, 2, 275, "its own rows add to 275"},
    {0, 0, 0, NULL},
};
static const enum sim_stage_name stages_6[TOTAL] = {
    SIM_STAGE_HOST_WRITE,    SIM_STAGE_TRANSACTION_QUEUE, SIM_STAGE_HEADER_TLB,
    SIM_STAGE_SIZE_DECISION, SIM_STAGE_SEND_BUFFER,       SIM_STAGE_SWIF_SEND,
    SIM_STAGE_SWIF_RECEIVE,  SIM_STAGE_LLCM_WRITE,
};

/* A column that stands for two machines shows the one that is farther from the paper. */
static bool simulate_6(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    static const struct {
        const char *machine;
        unsigned column;
    } runs[] = {{"dimmnet1-A", 0}, {"dimmnet1-B", 1}, {"dimmnet1-F", 1}, {"dimmnet1-C", 2},
                {"dimmnet1-D", 3}, {"dimmnet1-E", 3}, {DESIGN, 4}};
    for (unsigned i = 0; i < PAPERS_COUNT(runs); i++) {
        struct papers_way way;
        if (!papers_measure_way(runs[i].machine, SIM_LOOP_INSIDE, &way, error)) {
            return false;
        }
        double total = 0;
        for (unsigned row = 0; row < ROWS_6; row++) {
            double value = row < TOTAL ? way.stage_ns[stages_6[row]] : total;
            total += value;
            double *cell = &sims->value[row][runs[i].column];
            double right = papers_cell(&papers_000_6, row, runs[i].column, NULL).right;
            if (isnan(*cell) || fabs(value - right) > fabs(*cell - right)) {
                *cell = value;
            }
        }
    }
    return true;
}

const struct papers_table papers_000_6 = PAPERS_TABLE(
    "000", "6", "Martini's pipeline, without clock crossings", columns_6, rows_6, notes_6,
    .simulate = simulate_6);

/* ---- Table 7 ---------------------------------------------------------------------------- */

static const struct papers_row rows_7[] = {
    {"barrier, with MMX", "ns", {2375, 2026, 2255, 2075, 2616, 2765}, BITS_ADE, 0},
    {"barrier, without MMX", "ns", {2569, 2135, 2435, 2275, 2283, 2425}, BITS_ADE, 0},
};

static bool simulate_7(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned i = 0; i < ENVIRONMENTS; i++) {
        if (!papers_measure_barrier(environments[i], true, &sims->value[0][i], error) ||
            !papers_measure_barrier(environments[i], false, &sims->value[1][i], error)) {
            return false;
        }
    }
    return true;
}

static const struct papers_note notes_7[] = {
    {0, E, 0, "with the empirical term for leaving MMX on the Pentium 4"},
    {0, F, 0, "with the empirical term for leaving MMX on the Pentium 4"},
    {0, 0, 0, NULL},
};

const struct papers_table papers_000_7 = PAPERS_TABLE(
    "000", "7", "barrier of 2 nodes", environment_columns, rows_7, notes_7, .simulate = simulate_7);

/* ---- Table 8 ---------------------------------------------------------------------------- */

static const struct papers_row rows_8[PAPERS_TYPES] = {
    [PAPERS_UNSIGNED] = {"unsigned", "ns", {2379, 1958, 2288, 1897, 2101, 2281}, BITS_ADE, 0},
    [PAPERS_LONG] = {"unsigned long long", "ns", {2798, 2246, 2677, 2196, 2651, 2824}, BITS_ADE, 0},
    [PAPERS_FLOAT] = {"float", "ns", {2397, 1975, 2286, 1903, 2165, 2303}, BITS_ADE, 0},
    [PAPERS_DOUBLE] = {"double", "ns", {2377, 2015, 2286, 1912, 2163, 2237}, BITS_ADE, 0},
};
static const struct papers_note notes_8[] = {
    {PAPERS_LONG, PAPERS_ALL, 0, "with the empirical term for unsigned long long: more reads"},
    {0, 0, 0, NULL},
};

static bool simulate_8(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned type = 0; type < PAPERS_TYPES; type++) {
        for (unsigned i = 0; i < ENVIRONMENTS; i++) {
            if (!papers_measure_sum(environments[i], (enum papers_type)type, &sims->value[type][i],
                                    error)) {
                return false;
            }
        }
    }
    return true;
}

const struct papers_table papers_000_8 = PAPERS_TABLE("000", "8", "global sum of 2 nodes, with MMX",
                                                      environment_columns, rows_8, notes_8,
                                                      .simulate = simulate_8);

/* ---- Table 9 ---------------------------------------------------------------------------- */

enum {
    REMOTE_WRITE,
    ROUND_TRIP,
    BARRIER,
    ONE_WAY,
    TWO_WAY,
    LINK,
    AOTF_BYTES,
    BOTF_BYTES,
    TEMPLATE,
    WAYS,
    AOTF_QUEUE,
    BOTF_QUEUE,
    USERS,
    TABLE_9_ROWS,
};
static const struct papers_row rows_9[TABLE_9_ROWS] = {
    [REMOTE_WRITE] = {"remote write", "ns", {270}, 0, 0},
    [ROUND_TRIP] = {"measured round trip", "us", {1.84}, 1, 0},
    [BARRIER] = {"measured barrier, 2 nodes", "us", {2.06}, 1, 0},
    [ONE_WAY] = {"sustained, one way (BOTF)", "MB/s", {1017}, 0, 0},
    [TWO_WAY] = {"sustained, both ways (BOTF)", "MB/s", {2034}, 0, 0},
    [LINK] = {"link, one direction", "MB/s", {1064}, 0, 1},
    [AOTF_BYTES] = {"payload, AOTF", "B", {8}, 0, 1},
    [BOTF_BYTES] = {"payload, BOTF", "B", {464}, 0, 1},
    [TEMPLATE] = {"header template", "B", {32}, 0, 1},
    [WAYS] = {"header TLB, ways", "", {4}, 0, 1},
    [AOTF_QUEUE] = {"queued requests, AOTF", "", {2048}, 0, 1},
    [BOTF_QUEUE] = {"queued requests, BOTF", "", {64}, 0, 1},
    [USERS] = {"users of a NIC", "", {64}, 0, 1},
};
static const struct papers_note notes_9[] = {
    {REMOTE_WRITE, 0, 0, "192.5 + 10 bus clocks, which are an assumption; no clock crossings"},
    {ROUND_TRIP, 0, 0, "environment D; called 8 bytes here and 4 in section 5.2.1"},
    {BARRIER, 0, 2.075, "equals no cell of Table 7, where D has 2,075 ns"},
    {ONE_WAY, 0, 0, "the paper's estimate from copying into a DIMM of 133 MHz"},
    {TWO_WAY, 0, 0, "twice that"},
    {TEMPLATE, 0, 0, "not simulated: the packets' headers are those of the live fabrics"},
    {0, 0, 0, NULL},
};

static bool simulate_9(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    struct papers_way way;
    struct papers_round round;
    struct sim_machine machine;
    double barrier_ns;
    if (!papers_measure_way(DESIGN, SIM_LOOP_INSIDE, &way, error) ||
        !papers_measure_round(environments[D], &round, error) ||
        !papers_measure_barrier(environments[D], true, &barrier_ns, error) ||
        !papers_measure_blocks(DESIGN, false, &sims->value[ONE_WAY][0], error) ||
        !papers_measure_blocks(DESIGN, true, &sims->value[TWO_WAY][0], error) ||
        !papers_measure_link(DESIGN, &sims->value[LINK][0], error) ||
        !papers_machine_load(&machine, DESIGN, error)) {
        return false;
    }
    sims->value[REMOTE_WRITE][0] = way.stored_ns;
    sims->value[ROUND_TRIP][0] = round.boards_ns / 1000.0;
    sims->value[BARRIER][0] = barrier_ns / 1000.0;
    sims->value[AOTF_BYTES][0] = sizeof(uint64_t);
    sims->value[BOTF_BYTES][0] = WIRE_BOTF_BYTES_MAX;
    sims->value[WAYS][0] = NIC_HEADER_WAYS;
    sims->value[AOTF_QUEUE][0] = (double)machine.fifo_entries;
    sims->value[BOTF_QUEUE][0] = NIC_WINDOWS;
    sims->value[USERS][0] = (double)machine.fifo_users;
    sim_machine_free(&machine);
    return true;
}

const struct papers_table papers_000_9 = PAPERS_TABLE(
    "000", "9", "against its rivals", dimmnet1_column, rows_9, notes_9, .simulate = simulate_9);
