/* The papers' figures as a page. */
#ifndef CLI_SIM_PAPERS_PAGE_H
#define CLI_SIM_PAPERS_PAGE_H

#include "sim/papers/papers.h"

/* The tables (the last one NULL) and, by their numbers, what was simulated. False: the page cannot
 * be written; errno says why. */
bool sim_papers_page(const char *path, const struct papers_table *const *tables,
                     const struct papers_sims *all);

#endif
