/* Paper 000: DIMMnet-1 and AOTF. */
#include "sim/papers/tables.h"

#include <math.h>
#include <stddef.h>

#include "nic/header_tlb.h"
#include "sim/papers/measure.h"

/* Environments of Table 3; Table 6 has fewer columns, and one for the design. */
enum { A, B, C, D, E, F, ENVIRONMENTS };
/* What was fitted was fitted on A, D and E. */
#define FITTED_ON_ADE "fppffp"

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

enum {
    HOST_BUS,
    BANKS,
    CAPACITY,
    LLCM,
    INSTRUCTIONS,
    DATA,
    CORE,
    LINK_O2,
    LINK_O3,
    LINK_OIP,
    LINK_RN2,
    BANK_HOST,
    BANK_NETWORK,
    SEND,
    RECEIVE,
    TECHNOLOGY,
    CHIPSETS,
    ROWS_1,
};

static const struct papers_row rows_1[ROWS_1] = {
    [HOST_BUS] = {"host interface", "", {0}, "t"},
    [BANKS] = {"bank memory, SO-DIMMs of PC133", "", {2}, "t"},
    [CAPACITY] = {"SO-DIMM capacity", "", {0}, "t"},
    [LLCM] = {"LLCM", "KB", {128}, "t"},
    [INSTRUCTIONS] = {"instruction SRAM", "KB", {128}, "t"},
    [DATA] = {"data SRAM", "KB", {128}, "t"},
    [CORE] = {"on-chip CPU", "", {0}, "t"},
    [LINK_O2] = {"link, o2", "Gbps", {8}, "t"},
    [LINK_O3] = {"link, o3", "Gbps", {10}, "t"},
    [LINK_OIP] = {"link, e (OIP)", "Gbps", {2.5}, "t"},
    [LINK_RN2] = {"link, e (RN2)", "Gbps", {8}, "t"},
    [BANK_HOST] = {"bank memory, host side", "MB/s", {1024}, "c"},
    [BANK_NETWORK] = {"bank memory, network side", "MB/s", {1024}, "t"},
    [SEND] = {"shortest send, DIMM to link", "ns", {105}, "c"},
    [RECEIVE] = {"shortest receive, link to LLCM", "ns", {90}, "c"},
    [TECHNOLOGY] = {"technology of the chip, CMOS", "um", {0.14}, "t"},
    [CHIPSETS] = {"chipsets", "", {0}, "t"},
};
static const char *const words_1[ROWS_1][PAPERS_COLUMNS_MAX] = {
    [HOST_BUS] = {"SDR DIMM, PEMM"},
    [CAPACITY] = {"64 MB to 1 GB"},
    [CORE] = {"R3000-like, 32 bits"},
    [CHIPSETS] = {"Pro133, Pro266, P4X266, P4M266, KT133"},
};

static const struct papers_note notes_1[] = {
    {LINK_O3, 0, 0, "as designed: the board was not finished"},
    {LINK_OIP, 0, 2, "with 10 bits for a byte; Table 3 has 250 MB/s, which are 2 Gbps of data"},
    {BANK_HOST, 0, 0, "8 bytes at 128 MHz; ours is 8 bytes a clock of PC133, an assumption"},
    {SEND, 0, 115,
     "105 is 14 clocks at 133 MHz; Table 6 and section 5.2.2 say 115, 4 of the 14 at 100 MHz"},
    {RECEIVE, 0, 77.5, "Table 6 adds to 77.5: 7 clocks of the SWIF and one of the DIMM"},
    {0, 0, 0, NULL},
};

static bool simulate_1(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    static const struct {
        unsigned row;
        const char *machine;
    } links[] = {{LINK_O2, "dimmnet1-o2"},
                 {LINK_O3, "dimmnet1-o3"},
                 {LINK_OIP, "dimmnet1-A"},
                 {LINK_RN2, "dimmnet1-o2"}};
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
    sims->value[INSTRUCTIONS][0] = (double)machine.core_instruction_bytes / 1024.0;
    sims->value[DATA][0] = (double)machine.core_data_bytes / 1024.0;
    sim_machine_free(&machine);
    return true;
}

const struct papers_table papers_000_1 = PAPERS_TABLE("000", "1", "what the board is",
                                                      dimmnet1_column, rows_1, notes_1,
                                                      .words = words_1, .simulate = simulate_1);

/* ---- Tables 2 and 3: the papers' own ------------------------------------------------------ */

enum {
    OPTICAL_PORTS,
    WIRE_PORTS,
    PINS,
    BANDWIDTH,
    FIBRE,
    CABLE,
    RESEND,
    BY_TABLE,
    BY_SOURCE,
    ROWS_2,
};

static const struct papers_column columns_2[] = {
    {"RHiNET-2", NULL}, {"RHiNET-3", NULL}, {"OIP-SW", NULL}};
static const struct papers_row rows_2[ROWS_2] = {
    [OPTICAL_PORTS] = {"optical ports", "", {0, 8, 15}, "ttt"},
    [WIRE_PORTS] = {"electrical ports", "", {0, 0, 1}, "ttt"},
    [PINS] = {"I/O pins", "", {0}, "ttt"},
    [BANDWIDTH] = {"bandwidth", "Gbps", {8, 10, 2.5}, "ttt"},
    [FIBRE] = {"distance, optical", "m", {100, 1000, 100}, "ttt"},
    [CABLE] = {"distance, electrical", "m", {5, 0, 5}, "ttt"},
    [RESEND] = {"retransmission", "", {0}, "ttt"},
    [BY_TABLE] = {"table routing", "", {0}, "ttt"},
    [BY_SOURCE] = {"source routing", "", {0}, "ttt"},
};
static const char *const words_2[ROWS_2][PAPERS_COLUMNS_MAX] = {
    [OPTICAL_PORTS] = {"8 (or 2)"},
    [WIRE_PORTS] = {"0 (or 6)", "0"},
    [PINS] = {"800 Mbps x 10", "1.25 Gbps x 8", "250 Mbps x 9"},
    [CABLE] = {NULL, "-"},
    [RESEND] = {"no", "yes", "no"},
    [BY_TABLE] = {"yes", "yes", "no"},
    [BY_SOURCE] = {"no", "yes", "yes"},
};

const struct papers_table papers_000_2 = PAPERS_TABLE(
    "000", "2", "switches that the board can be connected to", columns_2, rows_2, no_notes,
    .words = words_2);

enum {
    BOARD,
    MODE,
    LINK_MHZ,
    LINK_MB,
    CPU,
    CORE_MHZ,
    BUS_MHZ,
    DIMM_MHZ,
    CHIPSET,
    MEMORY_MB,
    KERNEL,
    COMPILER,
    ROWS_3
};

/* The merged cells are read with the captions of Tables 5 and 6. */
static const struct papers_row rows_3[ROWS_3] = {
    [BOARD] = {"board", "", {0}, "tttttt"},
    [MODE] = {"link mode", "", {0}, "tttttt"},
    [LINK_MHZ] = {"link", "MHz", {125, 125, 250, 250, 250, 125}, "tttttt"},
    [LINK_MB] = {"link, bandwidth", "MB/s", {250, 250, 500, 500, 500, 250}, "tttttt"},
    [CPU] = {"CPU: Pentium", "", {3, 3, 3, 3, 4, 4}, "tttttt"},
    [CORE_MHZ] = {"CPU clock", "MHz", {850, 850, 850, 850, 1500, 1500}, "tttttt"},
    [BUS_MHZ] = {"FSB", "MHz", {100, 100, 100, 100, 400, 400}, "tttttt"},
    [DIMM_MHZ] = {"DIMM", "MHz", {66, 100, 66, 100, 100, 100}, "tttttt"},
    [CHIPSET] = {"chipset, VIA", "", {0}, "tttttt"},
    [MEMORY_MB] = {"memory, PC133", "MB", {256, 256, 256, 256, 256, 256}, "tttttt"},
    [KERNEL] = {"Linux", "", {0}, "tttttt"},
    [COMPILER] = {"compiler, egcs", "", {0}, "tttttt"},
};
static const char *const words_3[ROWS_3][PAPERS_COLUMNS_MAX] = {
    [BOARD] = {"e", "e", "o2", "o2", "o2", "e"},
    [MODE] = {"OIP", "OIP", "RHiNET2", "RHiNET2", "RHiNET2", "OIP"},
    [CHIPSET] = {"Pro133A", "Pro133A", "Pro133A", "Pro133A", "P4X266", "P4X266"},
    [KERNEL] = {"2.4.2", "2.4.2", "2.4.2", "2.4.2", "2.4.2", "2.4.2"},
    [COMPILER] = {"2.91.66", "2.91.66", "2.91.66", "2.91.66", "2.91.66", "2.91.66"},
};
static const struct papers_note notes_3[] = {
    {DIMM_MHZ, A, 0, "66.67 MHz: Table 6 has 15 ns for a clock"},
    {DIMM_MHZ, C, 0, "66.67 MHz: Table 6 has 15 ns for a clock"},
    {0, 0, 0, NULL},
};

static bool simulate_3(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned i = 0; i < ENVIRONMENTS; i++) {
        struct sim_machine machine;
        if (!papers_machine_load(&machine, environments[i], error)) {
            return false;
        }
        sims->value[LINK_MB][i] = (double)machine.link_mb_per_s / 1e6;
        sims->value[DIMM_MHZ][i] = 1e6 / (double)machine.clock_dimm;
        sim_machine_free(&machine);
    }
    return true;
}

const struct papers_table papers_000_3 = PAPERS_TABLE("000", "3", "where the paper measured",
                                                      environment_columns, rows_3, notes_3,
                                                      .words = words_3, .simulate = simulate_3);

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
    [WRITE] = {"write", "ns", {53, 53, 59, 54}, "tttt"},
    [READ] = {"read", "ns", {204, 173, 276, 469}, "tttt"},
};
static const struct papers_note notes_4[] = {
    {READ, P4_PLAIN, 0, "two reads of 4 bytes, half of this each"},
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
    [BOARDS] = {"RTT, two boards", "ns", {2340, 1940, 2251, 1840, 2005, 2122}, FITTED_ON_ADE},
    [OUTSIDE] = {"external loop", "ns", {1026, 851, 1091, 907, 882, 922}, FITTED_ON_ADE},
    [INSIDE] = {"internal loop", "ns", {918, 705, 946, 756, 748, 796}, FITTED_ON_ADE},
    [DIFFERENCE] = {"outside the SWIF", "ns", {108, 146, 145, 151, 134, 126}, FITTED_ON_ADE},
};

static const struct papers_note notes_5[] = {
    {DIFFERENCE, PAPERS_ALL, 0,
     "external loop without internal loop; the same link has 108, 146 and 126 ns in A, B and F"},
    {0, 0, 0, NULL},
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
                                                      environment_columns, rows_5, notes_5,
                                                      .simulate = simulate_5);

/* ---- Table 6 ---------------------------------------------------------------------------- */

enum { COLUMNS_6 = 5, DESIGN_6 = 4 };

static const struct papers_column columns_6[COLUMNS_6] = {
    {"A", NULL}, {"B, F", NULL}, {"C", NULL}, {"D, E", NULL}, {"design", NULL},
};
enum { HOST_WRITE, QUEUE, HEADER, SIZE, BUFFER, SWIF_OUT, SWIF_IN, MEMORY, TOTAL, ROWS_6 };
static const struct papers_row rows_6[ROWS_6] = {
    [HOST_WRITE] = {"write from host", "ns", {45, 30, 45, 30, 21.5}, "ttttt"},
    [QUEUE] = {"transaction queue", "ns", {30, 20, 30, 20, 15}, "ttttt"},
    [HEADER] = {"header TLB", "ns", {45, 30, 45, 30, 21.5}, "ttttt"},
    [SIZE] = {"transfer size decision", "ns", {15, 10, 15, 10, 7.5}, "ttttt"},
    [BUFFER] = {"send buffer handshake", "ns", {15, 10, 15, 10, 7.5}, "ttttt"},
    [SWIF_OUT] = {"SWIF, send", "ns", {64, 64, 40, 40, 40}, "ttttt"},
    [SWIF_IN] = {"SWIF, receive", "ns", {144, 144, 70, 70, 70}, "ttttt"},
    [MEMORY] = {"write into LLCM", "ns", {15, 10, 15, 10, 7.5}, "ttttt"},
    [TOTAL] = {"total", "ns", {343, 318, 245, 220, 192.5}, "ccccc"},
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
    {"barrier, with MMX", "ns", {2375, 2026, 2255, 2075, 2616, 2765}, FITTED_ON_ADE},
    {"barrier, without MMX", "ns", {2569, 2135, 2435, 2275, 2283, 2425}, FITTED_ON_ADE},
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
    [PAPERS_UNSIGNED] = {"unsigned", "ns", {2379, 1958, 2288, 1897, 2101, 2281}, FITTED_ON_ADE},
    [PAPERS_LONG] = {"unsigned long long",
                     "ns",
                     {2798, 2246, 2677, 2196, 2651, 2824},
                     FITTED_ON_ADE},
    [PAPERS_FLOAT] = {"float", "ns", {2397, 1975, 2286, 1903, 2165, 2303}, FITTED_ON_ADE},
    [PAPERS_DOUBLE] = {"double", "ns", {2377, 2015, 2286, 1912, 2163, 2237}, FITTED_ON_ADE},
};
static const struct papers_note notes_8[] = {
    {PAPERS_UNSIGNED, PAPERS_ALL, 0,
     "one figure for unsigned and float: adding takes no time here"},
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

enum { OURS, MEMORY_CHANNEL, PCI_SCI, RIVALS };
enum {
    REMOTE_WRITE,
    ROUND_TRIP,
    BARRIER,
    ONE_WAY,
    TWO_WAY,
    LINK,
    HOST_SIDE,
    SEND_BY,
    PAYLOAD,
    AOTF_BYTES,
    BOTF_BYTES,
    REUSED_BY,
    TEMPLATE,
    WAYS,
    AOTF_QUEUE,
    BOTF_QUEUE,
    QUEUE_LENGTH,
    USERS,
    BEFOREHAND,
    PROTECTION,
    TABLE_9_ROWS,
};
static const struct papers_column columns_9[RIVALS] = {
    [OURS] = {"DIMMnet-1", NULL},
    [MEMORY_CHANNEL] = {"Memory Channel 2", NULL},
    [PCI_SCI] = {"PCI-SCI D330", NULL},
};
static const struct papers_row rows_9[TABLE_9_ROWS] = {
    [REMOTE_WRITE] = {"remote write", "ns", {270, 1760, 1460}, "ctt"},
    [ROUND_TRIP] = {"measured round trip", "us", {1.84, 4.34}, "ftt"},
    [BARRIER] = {"measured barrier, 2 nodes", "us", {2.06, 0, 4.18}, "ftt"},
    [ONE_WAY] = {"sustained, one way (BOTF)", "MB/s", {1017, 100, 200}, "ctt"},
    [TWO_WAY] = {"sustained, both ways (BOTF)", "MB/s", {2034, 0, 304}, "ctt"},
    [LINK] = {"link, one direction", "MB/s", {1064, 133, 667}, "ttt"},
    [HOST_SIDE] = {"host's side", "", {0}, "ttt"},
    [SEND_BY] = {"sends by", "", {0}, "ttt"},
    [PAYLOAD] = {"payload of a packet", "B", {0}, "ttt"},
    [AOTF_BYTES] = {"payload, AOTF", "B", {8}, "ttt"},
    [BOTF_BYTES] = {"payload, BOTF", "B", {464}, "ttt"},
    [REUSED_BY] = {"reuses control data by", "", {0}, "ttt"},
    [TEMPLATE] = {"header template", "B", {32}, "ttt"},
    [WAYS] = {"header TLB, ways", "", {4}, "ttt"},
    [AOTF_QUEUE] = {"queued requests, AOTF", "", {2048}, "ttt"},
    [BOTF_QUEUE] = {"queued requests, BOTF", "", {64}, "ttt"},
    [QUEUE_LENGTH] = {"queued requests", "", {0, 0, 32}, "ttt"},
    [USERS] = {"users of a NIC", "", {64, 0, 1}, "ttt"},
    [BEFOREHAND] = {"to set up beforehand", "", {0}, "ttt"},
    [PROTECTION] = {"the receiver checks", "", {0}, "ttt"},
};
static const char *const words_9[TABLE_9_ROWS][PAPERS_COLUMNS_MAX] = {
    [ROUND_TRIP] = {NULL, NULL, "8.2 (0 B), 12.0 (32 B)"},
    [BARRIER] = {NULL, "unknown"},
    [TWO_WAY] = {NULL, "133 or less"},
    [HOST_SIDE] = {"DIMM, 64 bits, 133 MHz", "PCI, 32 bits, 33 MHz", "PCI, 64 bits, 66 MHz"},
    [SEND_BY] = {"AOTF, BOTF, RDMA", "PIO", "PIO, RDMA"},
    [PAYLOAD] = {NULL, "4 to 256, by 4", "1, 64, 128"},
    [REUSED_BY] = {"header TLB, table in DRAM", "page control table", "ATC, ATT in SRAM"},
    [WAYS] = {NULL, "direct", "direct mapped"},
    [QUEUE_LENGTH] = {NULL, "unknown"},
    [USERS] = {NULL, "unknown"},
    [BEFOREHAND] = {"nothing", "both page tables", "receiver's table"},
    [PROTECTION] = {"group, process, region", "page table's entry", "source node, bounds"},
};
static const struct papers_note notes_9[] = {
    {REMOTE_WRITE, OURS, 0, "Table 6's 192.5 + 10 bus clocks, which are an assumption, rounded"},
    {ROUND_TRIP, OURS, 1.84, "environment D; called 8 bytes here and 4 in section 5.2.1"},
    {BARRIER, OURS, 2.075, "equals no cell of Table 7, where D has 2,075 ns"},
    {ONE_WAY, OURS, 0,
     "the paper's estimate from copying into a DIMM of 133 MHz; ours: a word each clock, assumed"},
    {TWO_WAY, OURS, 0, "the paper doubled its estimate"},
    {TEMPLATE, OURS, 0, "not simulated: the packets' headers are those of the live fabrics"},
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

const struct papers_table papers_000_9 = PAPERS_TABLE("000", "9", "against its rivals", columns_9,
                                                      rows_9, notes_9, .words = words_9,
                                                      .simulate = simulate_9);
