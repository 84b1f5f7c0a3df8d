/* The `dimmnet` command: finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/perf/node.h"
#include "dimmnet.h"

static const struct {
    const char *name;
    int (*call)(int argc, char **argv);
    const char *help;
} subcommands[] = {
    {"run", cli_run, "start a program as a group of nodes"},
    {"perf", cli_perf, "measure against the physical limit"},
    {"info", cli_info, "show this machine, the running groups and their counters"},
    {"storm", cli_storm, "run the protocol on a network that does everything wrong"},
    {"sim", cli_sim, "simulate the papers' machines, cycle by cycle"},
    /* What others start; not for people. */
    {"perf-node", cli_perf_node, NULL},
    {"agent", cli_agent, NULL},
};

enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static void print_help(void)
{
    puts("usage: dimmnet COMMAND [argument...]\n"
         "\n"
         "A store is a message: remote memory, RDMA, atomics and waiting for processes\n"
         "that are started together.\n"
         "\n"
         "commands:");
    for (unsigned i = 0; i < SUBCOMMANDS; i++) {
        if (subcommands[i].help) {
            printf("  %-6s %s\n", subcommands[i].name, subcommands[i].help);
        }
    }
    puts("\n"
         "`dimmnet COMMAND --help` says more; `dimmnet --version` gives the version.");
}

/* What was printed for the user has to arrive, or the status is not 0. */
static int finish_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return CLI_OK;
    }
    cli_say("dimmnet", "cannot write standard output");
    return CLI_FAULT;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return cli_refuse("dimmnet", "no command given; see dimmnet --help");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return finish_stdout();
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("dimmnet %s\n", dn_version());
        return finish_stdout();
    }
    for (unsigned i = 0; i < SUBCOMMANDS; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            int status = subcommands[i].call(argc - 1, argv + 1);
            int written = finish_stdout();
            return status ? status : written;
        }
    }
    return cli_refuse("dimmnet", "unknown command \"%s\"; see dimmnet --help", argv[1]);
}
