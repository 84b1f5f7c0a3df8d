/* `dimmnet sim`: finds the sub-command and hands over. */
#include "cli/sim/sim.h"

#include <stddef.h>

#include "cli/cli.h"
#include "cli/options.h"

static const struct options_subcommand subcommands[] = {
    {"calibrate", cli_sim_calibrate, "[option...]", "measures this machine for --fabric sim:here"},
    {"goal", cli_sim_goal, "FILE", "a GOAL schedule on a simulated machine"},
    {"machines", cli_sim_machines, "", "the machines that come with the program"},
    {"net", cli_sim_net, "CONFIG", "a network of routers, flit by flit"},
    {"papers", cli_sim_papers, "[option...]", "every figure of the papers beside ours"},
    {"show", cli_sim_show, "MACHINE", "every value of a machine, and where it comes from"},
    {"run", cli_sim_run, "PROGRAM", "a program on a simulated machine, and its trace"},
    {"study", cli_sim_study, "NAME", "what the papers only predicted, on all cores"},
    {"subnet", cli_sim_subnet, "TOPOLOGY", "an InfiniBand subnet that OpenSM manages"},
    {NULL, NULL, NULL, NULL},
};

int cli_sim(int argc, char **argv)
{
    return options_hand_over(
        "dimmnet sim",
        "Simulates the papers' machines cycle by cycle: the same protocol code, in virtual\n"
        "time. A machine is a name (see dimmnet sim machines) or a file (a path with a slash\n"
        "or ending in .ini).\n",
        subcommands, argc, argv);
}
