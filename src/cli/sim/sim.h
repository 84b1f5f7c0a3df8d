/* The sub-commands of `dimmnet sim`: argv[0] is the sub-command's own name; each returns an
 * exit status. A new one gets a row in the table of sim.c. */
#ifndef CLI_SIM_SIM_H
#define CLI_SIM_SIM_H

int cli_sim_calibrate(int argc, char **argv);
int cli_sim_goal(int argc, char **argv);
int cli_sim_machines(int argc, char **argv);
int cli_sim_net(int argc, char **argv);
int cli_sim_papers(int argc, char **argv);
int cli_sim_show(int argc, char **argv);
int cli_sim_run(int argc, char **argv);
int cli_sim_study(int argc, char **argv);
int cli_sim_subnet(int argc, char **argv);

/* What `calibrate` starts. */
int cli_calibrate_node(int argc, char **argv);

/* The latency map of `dimmnet sim papers --map`; returns an exit status. */
int sim_papers_map(const char *command, const char *machine);

#endif
