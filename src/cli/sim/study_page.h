/* A study as a page: its charts and its table. */
#ifndef CLI_SIM_STUDY_PAGE_H
#define CLI_SIM_STUDY_PAGE_H

#include "sim/studies/study.h"

/* Rows that failed are left out. False: the page cannot be written; errno says why. */
bool sim_study_page(const char *path, const struct sim_study *study, const char *machine,
                    const struct sim_study_row *rows, unsigned count);

#endif
