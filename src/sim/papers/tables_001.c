/* Paper 001: Fagus on DIMMnet. */
#include "sim/papers/tables.h"

#include <stddef.h>

#include "sim/papers/measure.h"

#define FAGUS_HOSTS "fagus-p3"

enum { MESSAGE_BITS = 80000, NS_PER_MS = 1000000 };

/* ---- Table 1 ---------------------------------------------------------------------------- */

enum { WITH_THREAD, WITHOUT_THREAD };
enum { MS_PER_SEND, MBPS };

static const struct papers_column columns_1[] = {
    [MS_PER_SEND] = {"per send", "ms"},
    [MBPS] = {"throughput", "Mbps"},
};
static const struct papers_row rows_1[] = {
    [WITH_THREAD] = {"with detect_thread", NULL, {23.590, 0.339}, "fc"},
    [WITHOUT_THREAD] = {"without", NULL, {20.000, 0.400}, "fc"},
};
static const struct papers_note notes_1[] = {
    {WITH_THREAD, MS_PER_SEND, 0, "10,000 bytes as 22 BOTF packets, an AOTF flag, a bank switch"},
    {WITHOUT_THREAD, MS_PER_SEND, 0,
     "10,000 bytes as 22 BOTF packets, an AOTF flag, a bank switch"},
    {WITH_THREAD, MBPS, 3.391, "off by ten: 80,000 bits in 23.590 ms are 3.391 Mbps"},
    {WITHOUT_THREAD, MBPS, 4.0, "off by ten: 80,000 bits in 20.000 ms are 4.0 Mbps"},
    {0, 0, 0, NULL},
};

static bool simulate_1(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    for (unsigned row = 0; row < 2; row++) {
        struct papers_send send;
        if (!papers_measure_send(FAGUS_HOSTS, row == WITH_THREAD, &send, error)) {
            return false;
        }
        sims->value[row][MS_PER_SEND] = send.total_ns / NS_PER_MS;
        sims->value[row][MBPS] = MESSAGE_BITS * 1000.0 / send.total_ns;
    }
    return true;
}

const struct papers_table papers_001_1 = PAPERS_TABLE(
    "001", "1", "Fagus sends 10,000 bytes", columns_1, rows_1, notes_1, .simulate = simulate_1);

/* ---- Table 2, and the text about it ----------------------------------------------------- */

enum { LIBRARY_BARRIER, COMM_SYNC, FAST_ETHERNET, GIGABIT_ETHERNET, SYNC_ROWS };
enum { MICROSECONDS, RATIO, GAIN };

static const struct papers_column columns_2[] = {
    [MICROSECONDS] = {"time", "us"},
    [RATIO] = {"over the first", "ratio"},
    [GAIN] = {"over comm_sync", "ratio"},
};
#define NOT_OURS "not ours: UDP over Ethernet"
static const struct papers_row rows_2[SYNC_ROWS] = {
    [LIBRARY_BARRIER] = {"_expBarrier", NULL, {4.0881, 1.000}, "fct"},
    [COMM_SYNC] = {"dimmnet_comm_sync", NULL, {29.8033, 7.290}, "fct"},
    [FAST_ETHERNET] = {"Fagus, Fast Ethernet", NULL, {179.8826, 44.001, 6}, "ttc"},
    [GIGABIT_ETHERNET] = {"Fagus, Gigabit Ethernet", NULL, {136.6572, 33.428, 4.8}, "ttc"},
};
static const struct papers_note notes_2[] = {
    {FAST_ETHERNET, MICROSECONDS, 0, NOT_OURS},
    {GIGABIT_ETHERNET, MICROSECONDS, 0, NOT_OURS},
    {FAST_ETHERNET, RATIO, 0, NOT_OURS},
    {GIGABIT_ETHERNET, RATIO, 0, NOT_OURS},
    {COMM_SYNC, RATIO, 0, "a quotient of two fitted times"},
    {FAST_ETHERNET, GAIN, 6.036,
     "about 6 in the text, 6.036 by the table; their UDP over our comm_sync, which was fitted"},
    {GIGABIT_ETHERNET, GAIN, 4.585,
     "4.8 in the text, 4.585 by the table; their UDP over our comm_sync, which was fitted"},
    {0, 0, 0, NULL},
};

static bool simulate_2(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    double library_ns;
    double sync_ns;
    if (!papers_measure_library_barrier(FAGUS_HOSTS, &library_ns, error) ||
        !papers_measure_comm_sync(FAGUS_HOSTS, &sync_ns, error)) {
        return false;
    }
    sims->value[LIBRARY_BARRIER][MICROSECONDS] = library_ns / 1000.0;
    sims->value[LIBRARY_BARRIER][RATIO] = 1.0;
    sims->value[COMM_SYNC][MICROSECONDS] = sync_ns / 1000.0;
    sims->value[COMM_SYNC][RATIO] = sync_ns / library_ns;
    for (unsigned row = FAST_ETHERNET; row < SYNC_ROWS; row++) {
        sims->value[row][GAIN] = rows_2[row].printed[MICROSECONDS] * 1000.0 / sync_ns;
    }
    return true;
}

const struct papers_table papers_001_2 = PAPERS_TABLE(
    "001", "2", "one barrier of 2 nodes", columns_2, rows_2, notes_2, .simulate = simulate_2);

/* ---- Table 3 ---------------------------------------------------------------------------- */

enum { BANK_SWITCH, INTERNAL, BLOCKS, REST };

static const struct papers_column columns_3[] = {{"share", "%"}};
static const struct papers_row rows_3[] = {
    [BANK_SWITCH] = {"bank switching", NULL, {99.46}, "f"},
    [INTERNAL] = {"internal processing", NULL, {0.36}, "f"},
    [BLOCKS] = {"BOTF", NULL, {0.11}, "p"},
    [REST] = {"synchronisation and AOTF", NULL, {0.071}, "p"},
};
static const struct papers_note notes_3[] = {
    {REST, 0, 0, "which synchronisation is not said; here it is two barriers of the library"},
    {PAPERS_ALL, 0, 0,
     "of the variant without detect_thread? The text calls it evaluation 2, the caption 1"},
    {0, 0, 0, NULL},
};

static bool simulate_3(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    struct papers_send send;
    if (!papers_measure_send(FAGUS_HOSTS, false, &send, error)) {
        return false;
    }
    sims->value[BANK_SWITCH][0] = 100.0 * send.bank_ns / send.total_ns;
    sims->value[INTERNAL][0] = 100.0 * send.internal_ns / send.total_ns;
    sims->value[BLOCKS][0] = 100.0 * send.block_ns / send.total_ns;
    sims->value[REST][0] = 100.0 * send.rest_ns / send.total_ns;
    return true;
}

const struct papers_table papers_001_3 = PAPERS_TABLE(
    "001", "3", "where a send's time goes", columns_3, rows_3, notes_3, .simulate = simulate_3);
