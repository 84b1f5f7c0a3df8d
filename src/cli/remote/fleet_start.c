/* A fleet's beginning: addresses, remote shells, and the conversation until nodes run.
 *
 * All agents must be bound before any can be told where the others are, and all paths must be
 * known before the size of packets is. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/remote/agent.h"
#include "cli/cli.h"
#include "cli/remote/fleet_state.h"
#include "cli/remote/order.h"
#include "cli/launch/program.h"
#include "host/clock.h"

extern char **environ;

#define NS_PER_SECOND UINT64_C(1000000000)

enum { FILES_BY_LINK = 4, HOST_ID_BYTES = GUARDIAN_ID_BYTES + 8 };

/* ---- Hosts ------------------------------------------------------------------------- */

/* Where a host's peers reach it. */
static int resolve(const struct launch_request *request, struct link *link)
{
    const struct hosts_entry *host = link->host;
    const char *user_end = strchr(host->name, '@');
    const char *name = host->address ? host->address : user_end ? user_end + 1 : host->name;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    if (request->fabric->find_host(name, &link->contact, sentence) != 0) {
        return cli_refuse(request->command, "host %s: %s; address=A in the file gives one",
                          host->name, sentence);
    }
    return 0;
}

static int resolve_all(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    struct link *links = launch->fleet->links;
    int status = 0;
    for (uint32_t i = 0; i < launch->fleet->count && !status; i++) {
        char sentence[FABRIC_SENTENCE_BYTES] = "";
        status = resolve(request, &links[i]);
        if (!status) {
            const struct fabric_host one = {links[0].host->name, links[0].contact};
            const struct fabric_host other = {links[i].host->name, links[i].contact};
            int error = request->fabric->match_hosts(&one, &other, sentence);
            status = launch_fabric_conclude(request->command, error, sentence);
        }
    }
    return status;
}

/* ---- What agents are told ---------------------------------------------------------- */

static bool is_for_nodes(const char *variable)
{
    static const char *const prefixes[] = {"DN_", "FAGUS_", "SHMEM_", "SMA_"};
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The library's variables, then those that the user names: the later one counts. */
static bool make_environment(struct fleet *fleet, const struct launch_request *request)
{
    size_t count = 0;
    size_t given = launch_list_length(request->environment);
    size_t ours = launch_list_length((const char *const *)environ);
    fleet->environment = calloc(ours + given + 1, sizeof *fleet->environment);
    if (!fleet->environment) {
        return false;
    }
    for (size_t i = 0; i < ours; i++) {
        if (is_for_nodes(environ[i])) {
            fleet->environment[count++] = environ[i];
        }
    }
    for (size_t i = 0; i < given; i++) {
        fleet->environment[count++] = (char *)(uintptr_t)request->environment[i];
    }
    return true;
}

/* False: errno. */
static bool make_order(struct launch *launch, struct link *link)
{
    const struct launch_request *request = launch->request;
    struct fleet *fleet = launch->fleet;
    char command[256];
    char host_id[HOST_ID_BYTES];
    char *folder = getcwd(NULL, 0);
    if (!folder) {
        return false;
    }
    (void)snprintf(command, sizeof command, "%s on %s", request->command, link->host->name);
    (void)snprintf(host_id, sizeof host_id, "%s.%05u", launch->group_id,
                   (unsigned)(link - fleet->links));
    struct order order = {
        .node_count = request->node_count,
        .rank_first = link->host->rank_first,
        .rank_count = link->host->rank_count,
        .sizes = launch->roster.sizes,
        .no_pin = request->no_pin,
        .contact = link->contact,
        .fabric = request->fabric->name,
        .command = command,
        .group_id = launch->group_id,
        .host_id = host_id,
        .folder = folder,
        .argv = request->argv,
        .environment = fleet->environment,
    };
    for (unsigned i = 0; request->fabric->options[i].name; i++) {
        order.settings[i] = request->settings[i];
    }
    link->order_bytes = remote_order_bytes(&order);
    errno = E2BIG;
    link->order = link->order_bytes <= FRAME_ORDER_BYTES_MAX ? malloc(link->order_bytes) : NULL;
    if (link->order) {
        remote_order_put(link->order, &order);
    }
    free(folder);
    return link->order != NULL;
}

/* ---- The conversation -------------------------------------------------------------- */

static bool all_are(const struct fleet *fleet, enum link_state state)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->links[i].state != state) {
            return false;
        }
    }
    return true;
}

static bool on_greeting(struct launch *launch, struct link *link, const struct frame *frame)
{
    uint32_t ours[AGENT_GREETING_WORDS];
    remote_agent_greeting(ours);
    if (memcmp(frame->words, ours, sizeof ours) != 0) {
        launch_say(
            launch, "host %s has another version of dimmnet, %.*s, or other page sizes; this is %s",
            link->host->name, (int)frame->tail_bytes, (const char *)frame->tail, dn_version());
        launch_phase_on_start_failure(launch, CLI_FAULT);
        return true;
    }
    link->state = LINK_ORDERED;
    remote_pulse_begin(&link->pulse, launch->request->fabric->silence_ns(launch->request->settings),
                       host_now_ns());
    remote_link_say(link, FRAME_ORDER, NULL, link->order, link->order_bytes);
    return true;
}

static void tell_peers(struct launch *launch)
{
    struct fleet *fleet = launch->fleet;
    size_t bytes = launch->request->node_count * sizeof *launch->roster.contacts;
    for (uint32_t i = 0; i < fleet->count; i++) {
        fleet->links[i].state = LINK_TRACING;
        remote_link_say(&fleet->links[i], FRAME_PEERS, NULL, launch->roster.contacts, bytes);
    }
}

static bool on_bound(struct launch *launch, struct link *link, const struct frame *frame)
{
    const struct hosts_entry *host = link->host;
    struct fabric_contact *contacts = &launch->roster.contacts[host->rank_first];
    if (frame->tail_bytes != host->rank_count * sizeof *contacts) {
        return false;
    }
    memcpy(contacts, frame->tail, frame->tail_bytes);
    for (uint32_t i = 0; i < host->rank_count; i++) {
        if (!launch->request->fabric->contact_is_sound(&contacts[i])) {
            return false;
        }
    }
    link->state = LINK_BOUND;
    if (all_are(launch->fleet, LINK_BOUND)) {
        tell_peers(launch);
    }
    return true;
}

static const struct link *link_of(const struct fleet *fleet, uint32_t rank)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct hosts_entry *host = fleet->links[i].host;
        if (rank - host->rank_first < host->rank_count) {
            return &fleet->links[i];
        }
    }
    return NULL;
}

static void start_all(struct launch *launch)
{
    struct fleet *fleet = launch->fleet;
    const struct fabric_launch *fabric = launch->request->fabric;
    struct fabric_terms terms;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    int error = fabric->agree(&launch->roster, &fleet->finding, &terms, sentence);
    error = error ? error : fabric->seal(&launch->roster, &terms, sentence);
    int status = launch_fabric_conclude(launch->request->command, error, sentence);
    uint64_t now_ns = host_now_ns();
    if (status) {
        launch_phase_on_start_failure(launch, status);
    } else {
        fleet->start_deadline_ns = UINT64_MAX;
    }
    for (uint32_t i = 0; i < fleet->count && !status; i++) {
        fleet->links[i].state = LINK_RUNNING;
        fleet->links[i].had_started = true;
        remote_pulse_heard(&fleet->links[i].pulse, now_ns);
        remote_link_say(&fleet->links[i], FRAME_START, NULL, terms.bytes, sizeof terms.bytes);
    }
    explicit_bzero(&terms, sizeof terms);
}

static bool on_paths(struct launch *launch, struct link *link, const struct frame *frame)
{
    struct fleet *fleet = launch->fleet;
    const struct fabric_launch *fabric = launch->request->fabric;
    struct fabric_finding finding;
    if (frame->words[0] != 0) {
        const struct link *target = link_of(fleet, frame->words[1]);
        char text[FABRIC_CONTACT_TEXT_BYTES];
        if (!target) {
            return false;
        }
        launch_say(launch, "host %s cannot reach host %s at %s: %s", link->host->name,
                   target->host->name,
                   fabric->contact_text(&launch->roster.contacts[frame->words[1]], text),
                   strerror((int)(frame->words[0] & 0xffff)));
        launch_phase_on_start_failure(launch, CLI_FAULT);
        return true;
    }
    if (frame->tail_bytes != sizeof finding.bytes) {
        return false;
    }
    memcpy(finding.bytes, frame->tail, sizeof finding.bytes);
    if (fleet->has_finding) {
        fabric->merge(&fleet->finding, &finding);
    } else {
        fleet->finding = finding;
        fleet->has_finding = true;
    }
    link->state = LINK_READY;
    if (all_are(fleet, LINK_READY)) {
        start_all(launch);
    }
    return true;
}

bool remote_fleet_on_starting_frame(struct launch *launch, struct link *link,
                                    const struct frame *frame)
{
    if (launch->phase != LAUNCH_RUNNING) {
        return true; /* nothing will start any more */
    }
    if (link->state == LINK_GREETING && frame->kind == FRAME_GREETING) {
        return on_greeting(launch, link, frame);
    }
    if (link->state == LINK_ORDERED && frame->kind == FRAME_BOUND) {
        return on_bound(launch, link, frame);
    }
    if (link->state == LINK_TRACING && frame->kind == FRAME_PATHS) {
        return on_paths(launch, link, frame);
    }
    return frame->kind == FRAME_BEAT;
}

/* ---- Beginning and end ------------------------------------------------------------- */

/* The remote shell's words, a place for the host, and "dimmnet agent". */
static int make_command(struct launch *launch)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_./+@%:,=-~";
    const struct launch_hosts *hosts = launch->request->hosts;
    struct fleet *fleet = launch->fleet;
    char path[4096];
    char *rest;
    fleet->words = strdup(hosts->rsh);
    fleet->rsh = calloc(strlen(hosts->rsh) + 4, sizeof *fleet->rsh);
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    if (bytes > 0) {
        path[bytes] = '\0';
    }
    fleet->remote_dimmnet = strdup(hosts->remote_dimmnet ? hosts->remote_dimmnet
                                   : bytes > 0           ? path
                                                         : "dimmnet");
    if (!fleet->words || !fleet->rsh || !fleet->remote_dimmnet) {
        return cli_fail(launch->request->command, "no memory");
    }
    if (fleet->remote_dimmnet[strspn(fleet->remote_dimmnet, harmless)] != '\0') {
        return cli_refuse(launch->request->command,
                          "\"%s\" holds what a remote shell would not "
                          "take as it is; see --remote-dimmnet",
                          fleet->remote_dimmnet);
    }
    size_t count = 0;
    for (char *word = strtok_r(fleet->words, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        fleet->rsh[count++] = word;
    }
    char *found = NULL;
    int error = count == 0 ? EINVAL : launch_program_find(fleet->rsh[0], &found);
    free(found);
    if (error) {
        return cli_refuse(launch->request->command, "cannot start \"%s\": %s", hosts->rsh,
                          strerror(error));
    }
    return 0;
}

static int open_link(struct launch *launch, uint32_t index)
{
    static char agent[] = "agent";
    struct fleet *fleet = launch->fleet;
    struct link *link = &fleet->links[index];
    size_t count = launch_list_length((const char *const *)fleet->rsh);
    fleet->rsh[count] = link->host->name;
    fleet->rsh[count + 1] = fleet->remote_dimmnet;
    fleet->rsh[count + 2] = agent;
    bool opened = make_order(launch, link) && remote_link_open(link, launch, index, fleet->rsh);
    if (!opened) {
        cli_say(launch->request->command, "cannot start \"%s\" for host %s: %s", fleet->rsh[0],
                link->host->name, strerror(errno));
    }
    memset(&fleet->rsh[count], 0, 3 * sizeof *fleet->rsh);
    return opened ? 0 : CLI_FAULT;
}

static bool make_links(struct launch *launch)
{
    const struct hosts *hosts = &launch->request->hosts->hosts;
    struct fleet *fleet = launch->fleet;
    fleet->links = calloc(hosts->count, sizeof *fleet->links);
    for (uint32_t i = 0; fleet->links && i < hosts->count; i++) {
        if (hosts->entries[i].rank_count > 0) {
            struct link *link = &fleet->links[fleet->count++];
            *link = (struct link){
                .host = &hosts->entries[i],
                .state = LINK_CLOSED, /* until it is open */
                .to_fd = -1,
                .from_fd = -1,
                .to = {.fd = -1},
                .err = {.fd = OUTPUT_ENDED},
                .ending_at_ns = UINT64_MAX,
            };
            remote_pulse_init(&link->pulse);
        }
    }
    return fleet->links != NULL;
}

static bool make_nodes(struct launch *launch)
{
    /* Nodes on other hosts have no descriptors here: their places in the poll table stay unused. */
    if (!launch_allocate(launch, FILES_BY_LINK * launch->fleet->count + 16) ||
        !launch_open_sinks(launch)) {
        return false;
    }
    for (uint32_t i = 0; i < 2 * launch->rank_count; i++) {
        launch_open_output(launch, i, OUTPUT_FED);
        launch->nodes[i / 2].state = NODE_RUNNING;
    }
    launch->live_count = launch->rank_count;
    return true;
}

static int prepare(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    struct fleet *fleet = launch->fleet;
    struct group_sizes sizes;
    if (!launch_fill_standard_descriptors() || !make_links(launch) ||
        !make_environment(fleet, request)) {
        return cli_fail(request->command, "cannot prepare the hosts: %s", strerror(errno));
    }
    int status = make_command(launch);
    status = status ? status : resolve_all(launch);
    uint64_t files = FILES_BY_LINK * (uint64_t)fleet->count;
    status = status ? status : launch_raise_file_limit(launch, files, files);
    status = status ? status : launch_take_charge(launch, fleet->count);
    status = status ? status : launch_make_group(launch);
    status = status ? status : launch_fabric_decide_sizes(request, &sizes);
    status = status ? status : launch_fabric_open(&launch->roster, request, &sizes, 0, 0);
    if (!status && !make_nodes(launch)) {
        status = cli_fail(request->command, "cannot prepare the hosts: %s", strerror(errno));
    }
    return status;
}

static void release(struct launch *launch)
{
    struct fleet *fleet = launch->fleet;
    for (uint32_t i = 0; i < fleet->count; i++) {
        remote_link_release(&fleet->links[i]);
    }
    launch_sweep(launch);
    free(fleet->links);
    free(fleet->rsh);
    free(fleet->words);
    free(fleet->remote_dimmnet);
    free(fleet->environment);
}

int remote_fleet_launch(struct launch *launch)
{
    struct fleet fleet = {
        .input_credit_bytes = POST_WINDOW_BYTES,
        .start_deadline_ns = host_deadline_ns(host_now_ns(), FLEET_START_S * NS_PER_SECOND),
        .kill_deadline_ns = UINT64_MAX,
    };
    launch->fleet = &fleet;
    int status = prepare(launch);
    for (uint32_t i = 0; i < fleet.count && !status; i++) {
        status = open_link(launch, i);
    }
    if (!status) {
        launch_loop_run(launch);
        status = launch->status;
    }
    release(launch);
    launch->fleet = NULL;
    return status;
}
