/* The report of a run of programs as a page. */
#ifndef CLI_SIM_PROGRAM_PAGE_H
#define CLI_SIM_PROGRAM_PAGE_H

#include <stdio.h>

#include "cli/sim/program_sums.h"

enum { CLI_PROGRAM_NODES_SHOWN = 64 }; /* in pictures */

/* False: it cannot be written; errno says why. */
bool cli_program_page(const struct program_report *report, const struct program_sums *sums);

/* What each node did when: a track for each. */
void cli_program_timeline(FILE *page, const struct program_report *report,
                          const struct program_sums *sums);

#endif
