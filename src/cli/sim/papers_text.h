/* The text of `dimmnet sim papers`. */
#ifndef CLI_SIM_PAPERS_TEXT_H
#define CLI_SIM_PAPERS_TEXT_H

#include "sim/papers/papers.h"

/* What the marks behind figures mean. */
void sim_papers_legend(void);
void sim_papers_table(const struct papers_table *table, const struct papers_sims *sims);
/* Errors of these tables (the last one NULL) by kind, those of all their predictions, their bars,
 * and the predictions that have none. `all` has what was simulated, by the tables' numbers. */
void sim_papers_summary(const struct papers_table *const *tables, const struct papers_sims *all);

/* Lines that the text and the page have in common. */
enum { SIM_PAPERS_LINE_BYTES = 240 };

/* How many there are (one at least), their mean error and the worst. */
void sim_papers_put_predictions(char text[SIM_PAPERS_LINE_BYTES],
                                const struct papers_predictions *predictions);
/* How many of them have no bar. */
void sim_papers_put_without_bar(char text[SIM_PAPERS_LINE_BYTES],
                                const struct papers_predictions *predictions);
/* How large errors may be. */
void sim_papers_put_limit(char text[SIM_PAPERS_LINE_BYTES], const struct papers_bar *bar);

#endif
