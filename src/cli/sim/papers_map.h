/* The latency map of `dimmnet sim papers --map`. */
#ifndef CLI_SIM_PAPERS_MAP_H
#define CLI_SIM_PAPERS_MAP_H

/* Returns an exit status. */
int sim_papers_map(const char *command, const char *machine);

#endif
