/* Sizes, and a fabric's words as statuses. */
#define _GNU_SOURCE
#include "cli/launch/fabric_setup.h"

#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch/repeat.h"
#include "host/group.h"

int launch_fabric_conclude(const char *command, int error, const char *sentence)
{
    if (*sentence) {
        cli_say(command, "%s", sentence);
    }
    return !error ? 0 : error == DN_EINVAL ? CLI_USAGE : CLI_FAULT;
}

/* ---- Sizes --------------------------------------------------------------------------- */

/* Whether this process could map that many bytes. Its nodes have the same limits. */
static bool is_mappable(uint64_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return false;
    }
    (void)munmap(room, bytes);
    return true;
}

static bool lay_out(uint32_t node_count, const struct group_sizes *sizes,
                    struct group_geometry *geometry)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return group_geometry(node_count, sizes, page_bytes, geometry) == 0 &&
           is_mappable(geometry->total_bytes);
}

static int refuse_sizes(const char *command, uint32_t node_count)
{
    return cli_refuse(command, "%u nodes of these sizes are too much memory to map", node_count);
}

int launch_fabric_check_room(const char *command, uint32_t node_count,
                             const struct group_sizes *sizes)
{
    struct group_geometry geometry;
    return lay_out(node_count, sizes, &geometry) ? 0 : refuse_sizes(command, node_count);
}

/* Where nodes share no memory, each lays out the whole group's memory for itself. All must do it
 * alike, so every size is decided here. */
int launch_fabric_decide_sizes(const struct launch_request *request, struct group_sizes *sizes)
{
    struct group_geometry geometry;
    *sizes = request->sizes;
    if (request->fabric->shares_memory) {
        return 0;
    }
    bool fits = lay_out(request->node_count, sizes, &geometry);
    if (!fits && sizes->registered_bytes == 0) {
        sizes->registered_bytes = HOST_REGISTERED_BYTES_MODEST;
        fits = lay_out(request->node_count, sizes, &geometry);
    }
    if (!fits) {
        return refuse_sizes(request->command, request->node_count);
    }
    *sizes = geometry.sizes;
    return 0;
}

/* ---- The roster ---------------------------------------------------------------------- */

int launch_fabric_open(struct fabric_roster *roster, const struct launch_request *request,
                       const struct group_sizes *sizes, uint32_t rank_first, uint32_t rank_count)
{
    *roster = (struct fabric_roster){
        .fabric = request->fabric,
        .settings = request->settings,
        .node_count = request->node_count,
        .rank_first = rank_first,
        .rank_count = rank_count,
        .sizes = *sizes,
        .words = request->words,
        .notify_fd = -1,
        .repeat = request->repeat ? &request->repeat->fabric : NULL,
    };
    int error = fabric_roster_open(roster);
    return launch_fabric_conclude(request->command, error, error ? dn_strerror(error) : "");
}

int launch_fabric_make(struct fabric_roster *roster, const struct launch_request *request,
                       int notify_fd)
{
    struct group_sizes sizes;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    int status = launch_fabric_decide_sizes(request, &sizes);
    status = status ? status : launch_fabric_open(roster, request, &sizes, 0, request->node_count);
    if (status || !request->fabric->make) {
        return status;
    }
    roster->notify_fd = notify_fd;
    int error = request->fabric->make(roster, sentence);
    return launch_fabric_conclude(request->command, error, sentence);
}
