/* The `dimmnet` command: finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/perf/perf_node.h"
#include "cli/sim/sim.h"
#include "dimmnet.h"

static const struct options_subcommand subcommands[] = {
    {"run", cli_run, NULL, "start a program as a group of nodes"},
    {"perf", cli_perf, NULL, "measure against the physical limit"},
    {"board", cli_board, NULL, "share a UDP port between the nodes of several groups"},
    {"info", cli_info, NULL, "show this machine, the running groups and their counters"},
#ifdef DN_SIM
    {"storm", cli_storm, NULL, "run the protocol on a network that does everything wrong"},
    {"sim", cli_sim, NULL, "simulate the papers' machines, cycle by cycle"},
#endif
    /* Other commands start these; people do not. */
    {"perf-node", cli_perf_node, NULL, NULL},
#ifdef DN_SIM
    {"calibrate-node", cli_calibrate_node, NULL, NULL},
#endif
    {"agent", cli_agent, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

static const char about[] =
    "A store is a message: remote memory, RDMA, atomics and waiting for processes\n"
    "that are started together. `dimmnet --version` gives the version.\n";

/* The status is 0 only if everything that was printed has arrived. */
static int finish_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return CLI_OK;
    }
    return cli_fail("dimmnet", "cannot write standard output");
}

int main(int argc, char **argv)
{
    int status = CLI_OK;
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        printf("dimmnet %s\n", dn_version());
    } else {
        status = options_hand_over("dimmnet", about, subcommands, argc, argv);
    }
    int written = finish_stdout();
    return status ? status : written;
}
