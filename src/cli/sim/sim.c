/* `dimmnet sim`: the simulated machines; finds the sub-command and hands over. */
#include "cli/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define COMMAND "dimmnet sim"

static const struct {
    const char *name;
    int (*call)(int argc, char **argv);
    const char *arguments;
    const char *help;
} subcommands[] = {
    {"machines", cli_sim_machines, "", "the machines that come with the program"},
    {"net", cli_sim_net, "CONFIG", "a network of routers, flit by flit"},
    {"papers", cli_sim_papers, "[option...]", "every figure of the papers beside ours"},
    {"show", cli_sim_show, "MACHINE", "every value of a machine, and where it comes from"},
    {"run", cli_sim_run, "PROGRAM", "a program on a simulated machine, and its trace"},
    {"study", cli_sim_study, "NAME", "what the papers only predicted, on all cores"},
};

enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static void print_help(void)
{
    puts("usage: dimmnet sim COMMAND [argument...]\n"
         "\n"
         "Simulates the papers' machines cycle by cycle: the same protocol code, in virtual\n"
         "time. A machine is a name (see dimmnet sim machines) or a file (a path with a slash\n"
         "or ending in .ini).\n"
         "\n"
         "commands:");
    for (unsigned i = 0; i < SUBCOMMANDS; i++) {
        printf("  %-8s %-11s %s\n", subcommands[i].name, subcommands[i].arguments,
               subcommands[i].help);
    }
    puts("\n"
         "`dimmnet sim COMMAND --help` says more.");
}

int cli_sim(int argc, char **argv)
{
    if (argc < 2) {
        return cli_refuse(COMMAND, "no command given; see dimmnet sim --help");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return CLI_OK;
    }
    for (unsigned i = 0; i < SUBCOMMANDS; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            return subcommands[i].call(argc - 1, argv + 1);
        }
    }
    return cli_refuse(COMMAND, "unknown command \"%s\"; see dimmnet sim --help", argv[1]);
}
