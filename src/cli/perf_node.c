/* A node of a measured group: attaches, runs one test, reports from rank 0. */
#include "cli/perf_node.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    perf_test run;
} tests[] = {
    {"aotf", perf_aotf}, {"rate", perf_rate},       {"botf", perf_botf},
    {"push", perf_push}, {"pull", perf_pull},       {"atomic", perf_atomic},
    {"idle", perf_idle}, {"barrier", perf_barrier}, {"token", perf_token},
    {"lock", perf_lock}, {"reduce", perf_reduce},
    {"sendrecv", perf_sendrecv},
};

void perf_nothing(void *context, uint64_t count)
{
    (void)context;
    (void)count;
}

int perf_map_line(struct perf_world *world, int rank, uint64_t offset, size_t bytes,
                  struct dn_kick *kick)
{
    struct dn_remote line = {rank, DN_LLCM, offset};
    int error = dn_kick_map(world->node, line, bytes, kick);
    if (!error && !dn_kick_pointer(kick)) {
        cli_say("dimmnet perf", "this fabric has no raw stores to compare with (is DN_RELAX set?)");
        error = DN_EGROUP;
    }
    return error;
}

int cli_perf_node(int argc, char **argv)
{
    struct perf_world world = {0};
    const char *format = getenv(PERF_ENV_FORMAT);
    int error = argc == 2 ? dn_attach(&world.node, NULL) : DN_EINVAL;
    if (!error && strcmp(argv[1], "start") == 0) {
        return dn_detach(world.node) ? CLI_FAULT : 0;
    }
    perf_test run = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && !error; i++) {
        run = strcmp(argv[1], tests[i].name) == 0 ? tests[i].run : run;
    }
    if (!error && run) {
        world.rank = dn_rank(world.node);
        world.size = dn_size(world.node);
        world.json = format && strcmp(format, "json") == 0;
        error = run(&world);
        error = error ? error : dn_detach(world.node);
    } else {
        error = error ? error : DN_EINVAL;
    }
    if (error) {
        cli_say("dimmnet perf", "%s", dn_strerror(error));
    }
    return error ? CLI_FAULT : 0;
}
