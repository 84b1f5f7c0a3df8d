/* A node of a measured group: attaches, runs one test, reports from rank 0. */
#include "cli/perf/perf_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/perf/packets.h"
#include "fabric/launch.h"

/* A test for each road between nodes; NULL: it makes no sense there. */
static const struct {
    const char *name;
    perf_test in_place;
    perf_test by_packets;
} tests[] = {
    {"aotf", perf_aotf, perf_packets_aotf},
    {"rate", perf_rate, perf_packets_rate},
    {"botf", perf_botf, perf_packets_botf},
    {"push", perf_push, perf_packets_push},
    {"pull", perf_pull, perf_packets_pull},
    {"atomic", perf_atomic, perf_packets_atomic},
    {"idle", perf_idle, perf_packets_idle},
    {"barrier", perf_barrier, perf_packets_barrier},
    {"token", perf_token, NULL},
    {"lock", perf_lock, perf_packets_lock},
    {"reduce", perf_reduce, perf_packets_reduce},
    {"sendrecv", perf_sendrecv, perf_packets_sendrecv},
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

static void note_fact(void *context, const struct fabric_fact *fact)
{
    struct perf_world *world = context;
    if (fact->name && strcmp(fact->name, "packet_bytes") == 0) {
        world->packet_bytes = (uint32_t)fact->number;
    } else if (fact->name && strcmp(fact->name, "protection") == 0) {
        (void)snprintf(world->protection, sizeof world->protection, "%s", fact->text);
    }
}

/* Reads facts about the fabric from a descriptor that the launcher handed down; its file stays
 * mapped until the process ends. */
static int look_at_fabric(struct perf_world *world)
{
    int error = 0;
    for (const struct fabric_launch *const *each = fabric_launches; *each && !error; each++) {
        const struct fabric_launch *fabric = *each;
        const char *text = fabric->file_name ? getenv(fabric->variables[0]) : NULL;
        struct fabric_look look;
        uint64_t fd;
        if (text) {
            error = base_number_parse(text, INT32_MAX, &fd) ? fabric->look((int)fd, &look)
                                                            : DN_EGROUP;
        }
        if (text && !error) {
            (void)snprintf(world->fabric, sizeof world->fabric, "%s", fabric->name);
            fabric->tell_group(&look, note_fact, world);
        }
    }
    return error;
}

int cli_perf_node(int argc, char **argv)
{
    struct perf_world world = {0};
    const char *format = getenv(PERF_ENV_FORMAT);
    int error = argc == 2 ? look_at_fabric(&world) : DN_EINVAL;
    error = error ? error : dn_attach(&world.node, NULL);
    if (!error && strcmp(argv[1], "start") == 0) {
        return dn_detach(world.node) ? CLI_FAULT : 0;
    }
    perf_test run = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && !error; i++) {
        perf_test test = world.packet_bytes > 0 ? tests[i].by_packets : tests[i].in_place;
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
