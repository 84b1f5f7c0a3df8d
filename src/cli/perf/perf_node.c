/* A node of a measured group: attaches, runs one test, reports from rank 0. */
#include "cli/perf/perf_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/perf/packets.h"
#include "fabric/launch.h"
#include "host/clock.h"

const struct perf_entry perf_entries[] = {
    {"aotf", "8-byte round trip by stores", {2}, false, perf_aotf, perf_packets_aotf},
    {"rate", "8-byte stores per second", {2}, false, perf_rate, perf_packets_rate},
    {"botf", "blocks in order, 464 B to 64 MB", {2}, false, perf_botf, perf_packets_botf},
    {"push", "RDMA writes, 464 B to 64 MB", {2}, false, perf_push, perf_packets_push},
    {"pull", "RDMA reads, 464 B to 64 MB", {2}, false, perf_pull, perf_packets_pull},
    {"atomic",
     "fetch-add and compare-swap on a remote word",
     {2},
     false,
     perf_atomic,
     perf_packets_atomic},
    {"barrier", "barrier of all nodes", {2, 4, 8}, true, perf_barrier, perf_packets_barrier},
    {"sendrecv",
     "messages: 8-byte round trip and stream, 1 MB",
     {2},
     false,
     perf_sendrecv,
     perf_packets_sendrecv},
    {"reduce",
     "allreduce of a double, 64 KB, 1 MB",
     {2, 4, 8, 16},
     true,
     perf_reduce,
     perf_packets_reduce},
    {"lock", "a lock alone, and with two contending", {2}, false, perf_lock, perf_packets_lock},
    {"token", "a token passed round, per hop", {8}, true, perf_token, NULL},
    {"idle", "CPU time of a node that waits", {2}, false, perf_idle, perf_packets_idle},
    {"start", "start and end of a group", {8}, true, NULL, NULL},
    {.name = NULL},
};

const struct perf_entry *perf_find_entry(const char *name)
{
    const struct perf_entry *entry = perf_entries;
    while (entry->name && strcmp(entry->name, name) != 0) {
        entry++;
    }
    return entry->name ? entry : NULL;
}

/* A block that does nothing, for nodes that only look on. */
static void do_nothing(void *context, uint64_t count)
{
    (void)context;
    (void)count;
}

int perf_measure_row(const struct perf_world *world, const struct perf_row *row, void *context,
                     struct perf_figure *figure)
{
    bool works = world->rank == 0 || !row->rank_0_only;
    struct perf_pair pair = {
        .raw = works ? row->raw : do_nothing,
        .ours = works ? row->ours : do_nothing,
        .context = context,
        .count = row->count,
        /* By packets a round trip takes some microseconds. */
        .block_ns = world->packet_bytes > 0 ? 1.0e6 : 3.0e5,
        .apart_ns = row->apart_ns,
    };
    return perf_measure(world->node, &pair, figure);
}

int perf_run(const struct perf_world *world, const struct perf_row *rows, size_t count,
             void *context)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        struct perf_figure figure;
        struct perf_row row = rows[i];
        error = perf_measure_row(world, &row, context, &figure);
        error = error || !row.check ? error : row.check(context, &row);
        if (!error && world->rank == 0) {
            perf_report_row(world, &row, &figure);
        }
    }
    return error;
}

/* ---- What several tests share --------------------------------------------------------- */

struct perf_usage perf_usage_now(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct perf_usage){
        .cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
        .start_ns = host_now_ns(),
    };
}

double perf_usage_share(const struct perf_usage *since)
{
    struct perf_usage now = perf_usage_now();
    return (now.cpu_seconds - since->cpu_seconds) /
           ((double)(now.start_ns - since->start_ns) * 1e-9);
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

uint64_t *perf_own_word(const struct perf_world *world)
{
    return (uint64_t *)((unsigned char *)dn_llcm(world->node, NULL) + PERF_WORD_OFFSET);
}

/* ---- The node ------------------------------------------------------------------------- */

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

static int run(struct perf_world *world, const struct perf_entry *entry)
{
    struct perf_packets link;
    if (world->packet_bytes == 0) {
        return entry->in_place ? entry->in_place(world) : DN_EINVAL;
    }
    int error = entry->by_packets ? perf_packets_open(world, &link) : DN_EINVAL;
    if (!error) {
        error = entry->by_packets(&link);
        raw_udp_close(&link.raw);
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
    const struct perf_entry *entry = error ? NULL : perf_find_entry(argv[1]);
    error = error ? error : entry ? 0 : DN_EINVAL;
    if (!error) {
        world.test = entry->name;
        world.rank = dn_rank(world.node);
        world.size = dn_size(world.node);
        world.json = format && strcmp(format, "json") == 0;
        error = run(&world, entry);
        error = error ? error : dn_detach(world.node);
    }
    if (error) {
        cli_say("dimmnet perf", "%s", dn_strerror(error));
    }
    return error ? CLI_FAULT : 0;
}
