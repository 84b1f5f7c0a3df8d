/* The report of a run of programs as JSON: one object on one line. */
#ifndef CLI_SIM_PROGRAM_JSON_H
#define CLI_SIM_PROGRAM_JSON_H

#include "cli/sim/program_sums.h"

/* False: it cannot be written; errno says why. */
bool cli_program_json(const struct program_report *report, const struct program_sums *sums);

#endif
