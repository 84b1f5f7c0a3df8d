/* Paper 003: the network's test bench. It measured nothing; these are its settings. */
#include "sim/papers/tables.h"

#include <stddef.h>

#include "sim/papers/measure.h"

static const struct papers_note no_notes[] = {{0, 0, 0, NULL}};

/* ---- Table 2 ---------------------------------------------------------------------------- */

static const struct papers_column columns_2[] = {{"SW2(A)", NULL}, {"SW2(B)", NULL}, {"OIP", NULL}};
static const struct papers_row rows_2[] = {
    {"supply clock", "MHz", {200, 62.5, 250}, "ttt"},
    {"transfer clock", "MHz", {400, 125, 125}, "ttt"},
    {"frame", "bits", {80, 80, 40}, "ttt"},
    {"frame rate", "MHz", {100, 31.25, 62.5}, "ttt"},
};

const struct papers_table papers_003_2 = PAPERS_TABLE("003", "2", "modes between board and NIC",
                                                      columns_2, rows_2, no_notes);

/* ---- Table 3 ---------------------------------------------------------------------------- */

enum { TRANSIT, PORTS, MTU, FORWARDING, MULTICAST };

static const struct papers_column columns_3[] = {{"Paceline 4100", NULL}};
static const struct papers_row rows_3[] = {
    [TRANSIT] = {"port to port", "ns", {160}, "t"},
    [PORTS] = {"ports, 4X", "", {8}, "t"},
    [MTU] = {"MTU", "B", {2048}, "t"},
    [FORWARDING] = {"linear forwarding table", "", {4096}, "t"},
    [MULTICAST] = {"multicast table", "", {128}, "t"},
};
static bool simulate_3(struct papers_sims *sims, char error[SIM_ERROR_BYTES])
{
    struct sim_machine machine;
    if (!papers_machine_load(&machine, "dimmnet2", error)) {
        return false;
    }
    sims->value[TRANSIT][0] = papers_ns(machine.switch_transit);
    sims->value[PORTS][0] = (double)machine.switch_ports;
    sims->value[MTU][0] = (double)machine.switch_mtu;
    sims->value[FORWARDING][0] = (double)machine.switch_linear_entries;
    sims->value[MULTICAST][0] = (double)machine.switch_multicast_entries;
    sim_machine_free(&machine);
    return true;
}

const struct papers_table papers_003_3 = PAPERS_TABLE(
    "003", "3", "the InfiniBand switch", columns_3, rows_3, no_notes, .simulate = simulate_3);
