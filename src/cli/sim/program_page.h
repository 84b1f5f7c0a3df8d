/* The report of a run of programs as a page. */
#ifndef CLI_SIM_PROGRAM_PAGE_H
#define CLI_SIM_PROGRAM_PAGE_H

#include "cli/sim/program_report.h"

/* False: it cannot be written; errno says why. */
bool cli_program_page(const struct program_report *report,
                      const struct sim_programs_result *result);

#endif
