/* A node of a measured group: attaches, runs one test, reports from rank 0. */
#include "cli/perf/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/perf/packets.h"
#include "host/group.h"

/* A test by fabric; NULL: it makes no sense there. */
static const struct {
    const char *name;
    perf_test mem;
    perf_test udp;
} tests[] = {
    {"aotf", perf_aotf, perf_udp_aotf},
    {"rate", perf_rate, perf_udp_rate},
    {"botf", perf_botf, perf_udp_botf},
    {"push", perf_push, perf_udp_push},
    {"pull", perf_pull, perf_udp_pull},
    {"atomic", perf_atomic, perf_udp_atomic},
    {"idle", perf_idle, perf_udp_idle},
    {"barrier", perf_barrier, perf_udp_barrier},
    {"token", perf_token, NULL},
    {"lock", perf_lock, perf_udp_lock},
    {"reduce", perf_reduce, perf_udp_reduce},
    {"sendrecv", perf_sendrecv, perf_udp_sendrecv},
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

/* The roster of a group on udp, from the descriptor that the launcher has handed down; stays
 * mapped to the end of the process. */
static int find_roster(struct perf_world *world)
{
    const char *text = getenv(HOST_ENV_ROSTER_FD);
    static struct udp_roster_file file;
    uint64_t fd;
    if (!text) {
        return 0;
    }
    if (!base_number_parse(text, INT32_MAX, &fd)) {
        return DN_EGROUP;
    }
    int error = udp_roster_map((int)fd, &file);
    world->roster = error ? NULL : file.roster;
    return error;
}

int cli_perf_node(int argc, char **argv)
{
    struct perf_world world = {0};
    const char *format = getenv(PERF_ENV_FORMAT);
    int error = argc == 2 ? find_roster(&world) : DN_EINVAL;
    error = error ? error : dn_attach(&world.node, NULL);
    if (!error && strcmp(argv[1], "start") == 0) {
        return dn_detach(world.node) ? CLI_FAULT : 0;
    }
    perf_test run = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && !error; i++) {
        perf_test test = world.roster ? tests[i].udp : tests[i].mem;
        run = strcmp(argv[1], tests[i].name) == 0 ? test : run;
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
