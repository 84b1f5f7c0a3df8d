/* Clients, their control requests and datagrams. */
#define _GNU_SOURCE
#include "cli/sim/subnet_server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/sim/subnet_words.h"
#include "host/clock.h"

enum {
    QUEUE = 128,   /* answers that wait until a client fetches them */
    PENDING = 256, /* requests that programs are to answer */
    AT_ONCE = 64,  /* datagrams of a client in a step */
    CONTROLS_AT_ONCE = 64,
    WORDS_EACH_SECOND = 10,
    SLOT_SHIFT = 48, /* a request's TID holds its client's slot in its highest bits */
    INSIDE = SUBNET_SERVER_CLIENTS_MAX, /* the slot of who asks from inside */
};

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS (3 * SECOND_NS) /* with a program that is to answer */

struct address {
    struct sockaddr_un name;
    socklen_t bytes;
};

struct client {
    bool is_used, is_sm;
    pid_t process;
    int socket;
    uint32_t port; /* where it is: a board's, or a switch's port 0 */
    struct address control;
    unsigned char queue[QUEUE][SUBNET_WORDS_DATAGRAM_BYTES];
    uint32_t first, count; /* of the queue */
};

/* A request on its way to a program, or being answered there. */
struct pending {
    bool is_used;
    uint32_t from, to; /* slots */
    uint64_t deadline_ns;
    struct subnet_words_datagram request;
    uint32_t port;                  /* where who asks is */
    subnet_server_answer *answered; /* of INSIDE */
    void *context;
};

struct subnet_server {
    struct agent *agent;
    struct subnet *subnet;
    const char *command;
    char name[SUBNET_SERVER_NAME_BYTES];
    int control;
    struct client clients[SUBNET_SERVER_CLIENTS_MAX];
    struct pending pending[PENDING];
    struct subnet_server_counters counters;
    uint64_t looked_ns; /* for clients that have ended */
    uint64_t second_ns; /* this second's reports */
    uint32_t words, words_kept;
};

/* ---- Reports ------------------------------------------------------------------------------ */

static void report(struct subnet_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(struct subnet_server *server, const char *format, ...)
{
    char text[512];
    uint64_t now_ns = host_now_ns();
    server->counters.nonsense++;
    if (now_ns - server->second_ns >= SECOND_NS) {
        if (server->words_kept) {
            cli_say(server->command, "(%" PRIu32 " more like this)", server->words_kept);
        }
        server->second_ns = now_ns;
        server->words = 0;
        server->words_kept = 0;
    }
    if (server->words >= WORDS_EACH_SECOND) {
        server->words_kept++;
        return;
    }
    server->words++;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_say(server->command, "%s", text);
}

/* ---- Sockets ------------------------------------------------------------------------------ */

/* "\0NAME\0": the NUL at the end belongs to the name. */
static bool make_address(struct address *address, const char *base, const char *kind, int number)
{
    *address = (struct address){.name.sun_family = AF_UNIX};
    char *path = address->name.sun_path;
    size_t room = sizeof address->name.sun_path - 1;
    int chars = number < 0 ? snprintf(path + 1, room, "%s:%s", base, kind)
                           : snprintf(path + 1, room, "%s:%s%d", base, kind, number);
    if (chars < 0 || (size_t)chars >= room) {
        return false;
    }
    address->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)chars);
    return true;
}

/* -1: errno says why. */
static int open_socket(const struct address *address)
{
    int opened = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened >= 0 && bind(opened, (const struct sockaddr *)&address->name, address->bytes) != 0) {
        int why = errno;
        (void)close(opened);
        errno = why;
        return -1;
    }
    return opened;
}

struct subnet_server *subnet_server_open(struct agent *agent, const char *name, const char *command)
{
    struct address address;
    struct subnet_server *server = calloc(1, sizeof *server);
    INVARIANT(server);
    server->agent = agent;
    server->subnet = agent_subnet(agent);
    server->command = command;
    if (strlen(name) >= sizeof server->name || !make_address(&address, name, "ctl", -1)) {
        cli_say(command, "the socket's name \"%s\" is too long", name);
        free(server);
        return NULL;
    }
    (void)strcpy(server->name, name);
    server->control = open_socket(&address);
    if (server->control < 0) {
        cli_say(command,
                errno == EADDRINUSE ? "another server has the socket's name \"%s\" (%s)"
                                    : "cannot have the socket's name \"%s\": %s",
                name, strerror(errno));
        free(server);
        return NULL;
    }
    return server;
}

static void pending_drop_of(struct subnet_server *server, uint32_t slot);

static void client_end(struct subnet_server *server, uint32_t slot)
{
    struct client *client = &server->clients[slot];
    client->is_used = false;
    (void)close(client->socket);
    if (client->is_sm) {
        agent_sm_set(server->agent, client->port, false, NULL);
    }
    pending_drop_of(server, slot);
}

void subnet_server_close(struct subnet_server *server)
{
    if (!server) {
        return;
    }
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        if (server->clients[i].is_used) {
            client_end(server, i);
        }
    }
    (void)close(server->control);
    free(server);
}

void subnet_server_counters(const struct subnet_server *server,
                            struct subnet_server_counters *counters)
{
    *counters = server->counters;
}

uint32_t subnet_server_clients(const struct subnet_server *server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        count += server->clients[i].is_used;
    }
    return count;
}

/* ---- To clients --------------------------------------------------------------------------- */

/* Whether the client's place is still its own: false after it turned out to have ended. */
static bool client_push(struct subnet_server *server, uint32_t slot)
{
    struct client *client = &server->clients[slot];
    while (client->count > 0) {
        ssize_t sent = send(client->socket, client->queue[client->first],
                            SUBNET_WORDS_DATAGRAM_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) {
            return true;
        }
        if (sent < 0) {
            client_end(server, slot);
            return false;
        }
        client->first = (client->first + 1) % QUEUE;
        client->count--;
    }
    return true;
}

static void client_send(struct subnet_server *server, uint32_t slot,
                        const struct subnet_words_datagram *datagram)
{
    struct client *client = &server->clients[slot];
    if (client->count == QUEUE) {
        report(server, "process %d does not fetch its datagrams: one is lost",
               (int)client->process);
        return;
    }
    subnet_words_encode(datagram, client->queue[(client->first + client->count) % QUEUE]);
    client->count++;
    (void)client_push(server, slot);
}

/* Nothing below the client's program counts time: it hears now that nobody will answer. */
static void return_lost(struct subnet_server *server, uint32_t slot,
                        struct subnet_words_datagram *datagram)
{
    server->counters.lost++;
    datagram->status = ETIMEDOUT;
    client_send(server, slot, datagram);
}

/* ---- Requests that programs answer -------------------------------------------------------- */

/* The answer, or NULL if none will come, goes to who asked. */
static void end_pending(struct subnet_server *server, struct pending *pending,
                        const struct subnet_words_datagram *answer)
{
    pending->is_used = false;
    if (pending->answered) {
        pending->answered(pending->context, answer ? answer->mad : NULL);
    } else if (answer) {
        client_send(server, pending->from, answer);
    } else {
        return_lost(server, pending->from, &pending->request);
    }
}

static void pending_drop_of(struct subnet_server *server, uint32_t slot)
{
    for (uint32_t i = 0; i < PENDING; i++) {
        struct pending *pending = &server->pending[i];
        if (!pending->is_used || (pending->from != slot && pending->to != slot)) {
            continue;
        }
        if (pending->from != slot &&
            (pending->answered || server->clients[pending->from].is_used)) {
            end_pending(server, pending, NULL);
        }
        pending->is_used = false;
    }
}

static void pending_expire(struct subnet_server *server, uint64_t now_ns)
{
    for (uint32_t i = 0; i < PENDING; i++) {
        struct pending *pending = &server->pending[i];
        if (pending->is_used && now_ns >= pending->deadline_ns) {
            end_pending(server, pending, NULL);
        }
    }
}

/* The client that is the subnet manager at a port. */
static uint32_t manager_at(const struct subnet_server *server, uint32_t port)
{
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        const struct client *client = &server->clients[i];
        if (client->is_used && client->is_sm && client->port == port) {
            return i;
        }
    }
    return SUBNET_NONE;
}

/* The port whose LID a node's inner port has. */
static uint32_t end_port(const struct subnet_server *server, uint32_t port)
{
    uint32_t node = server->subnet->ports[port].node;
    return subnet_is_switch(server->subnet, node) ? subnet_port_index(server->subnet, node, 0)
                                                  : port;
}

/* A place for a request to the manager at a port; NULL: there is none, or no manager. */
static struct pending *take_pending(struct subnet_server *server, uint32_t at,
                                    const struct subnet_words_datagram *request)
{
    uint32_t to = manager_at(server, end_port(server, at));
    struct pending *pending = NULL;
    for (uint32_t i = 0; i < PENDING && !pending; i++) {
        pending = server->pending[i].is_used ? NULL : &server->pending[i];
    }
    if (!pending) {
        report(server, "%d requests wait for managers: one is lost", PENDING);
    }
    if (to == SUBNET_NONE || !pending) {
        return NULL;
    }
    *pending = (struct pending){
        .is_used = true,
        .to = to,
        .deadline_ns = host_now_ns() + PATIENCE_NS,
        .request = *request,
    };
    server->counters.passed_on++;
    return pending;
}

/* `came` has the way back in it; `request` is as the client sent it. */
static void pass_on(struct subnet_server *server, uint32_t slot, uint32_t at,
                    struct subnet_words_datagram *request, const struct subnet_words_datagram *came)
{
    struct pending *pending = take_pending(server, at, request);
    if (!pending) {
        return_lost(server, slot, request);
        return;
    }
    pending->from = slot;
    pending->port = server->clients[slot].port;
    client_send(server, pending->to, came);
}

bool subnet_server_ask(struct subnet_server *server, uint32_t port, const unsigned char *mad,
                       subnet_server_answer *answered, void *context)
{
    enum { GENERAL_QP = 1 };
    const struct subnet_port *of = &server->subnet->ports[port];
    struct subnet_words_datagram request = {
        .dlid = of->sm_lid,
        .slid = of->lid,
        .dqp = GENERAL_QP,
        .sqp = GENERAL_QP,
        .length = WIRE_MAD_BYTES,
    };
    uint32_t at;
    memcpy(request.mad, mad, WIRE_MAD_BYTES);
    uint64_t tid = wire_mad_tid(mad) & ((UINT64_C(1) << SLOT_SHIFT) - 1);
    wire_mad_tid_set(request.mad, tid | (uint64_t)INSIDE << SLOT_SHIFT);
    struct subnet_words_datagram came = request;
    if (agent_send(server->agent, port, came.dlid, came.mad, &at) != AGENT_FOR_PROGRAM) {
        return false;
    }
    struct pending *pending = take_pending(server, at, &request);
    if (!pending) {
        return false;
    }
    pending->from = INSIDE;
    pending->port = port;
    pending->answered = answered;
    pending->context = context;
    client_send(server, pending->to, &came);
    return true;
}

/* A program's answer goes to who asked, if its packet gets there. */
static void take_answer(struct subnet_server *server, uint32_t slot,
                        struct subnet_words_datagram *datagram)
{
    uint64_t tid = wire_mad_tid(datagram->mad);
    uint8_t class = datagram->mad[1];
    for (uint32_t i = 0; i < PENDING; i++) {
        struct pending *pending = &server->pending[i];
        if (!pending->is_used || pending->to != slot || wire_mad_tid(pending->request.mad) != tid ||
            pending->request.mad[1] != class) {
            continue;
        }
        uint16_t lid = server->subnet->ports[pending->port].lid;
        bool gets_back = class == WIRE_MAD_SUBNET_DIRECTED ||
                         agent_reaches(server->agent, server->clients[slot].port, lid,
                                       wire_mad_is_smp(class));
        end_pending(server, pending, gets_back ? datagram : NULL);
        return;
    }
    report(server, "process %d answers what nobody asked (TID 0x%" PRIx64 ")",
           (int)server->clients[slot].process, tid);
}

/* ---- From clients ------------------------------------------------------------------------- */

static void answer_back(struct subnet_words_datagram *datagram)
{
    uint16_t lid = datagram->slid;
    uint32_t qp = datagram->sqp;
    datagram->slid = datagram->dlid;
    datagram->dlid = lid;
    datagram->sqp = datagram->dqp;
    datagram->dqp = qp;
    datagram->status = 0;
}

static void take_request(struct subnet_server *server, uint32_t slot,
                         struct subnet_words_datagram *request)
{
    const struct client *client = &server->clients[slot];
    uint64_t tid = wire_mad_tid(request->mad) & ((UINT64_C(1) << SLOT_SHIFT) - 1);
    uint32_t at;
    wire_mad_tid_set(request->mad, tid | (uint64_t)slot << SLOT_SHIFT);
    struct subnet_words_datagram datagram = *request;
    server->counters.requests++;
    switch (agent_send(server->agent, client->port, datagram.dlid, datagram.mad, &at)) {
    case AGENT_ANSWERED:
        server->counters.answers++;
        answer_back(&datagram);
        client_send(server, slot, &datagram);
        break;
    case AGENT_LOST: return_lost(server, slot, request); break;
    case AGENT_SILENT: break;
    case AGENT_FOR_PROGRAM: pass_on(server, slot, at, request, &datagram); break;
    }
}

static void take_datagram(struct subnet_server *server, uint32_t slot, const unsigned char *bytes,
                          ssize_t count)
{
    const struct client *client = &server->clients[slot];
    struct subnet_words_datagram datagram;
    if (count != SUBNET_WORDS_DATAGRAM_BYTES) {
        report(server, "a datagram of %zd bytes, not %d, from process %d", count,
               SUBNET_WORDS_DATAGRAM_BYTES, (int)client->process);
        return;
    }
    subnet_words_decode(bytes, &datagram);
    /* Answers of the administration may be shorter. */
    if (datagram.length < WIRE_MAD_AT_MKEY || datagram.length > WIRE_MAD_BYTES) {
        report(server, "a MAD of %" PRIu64 " bytes from process %d", datagram.length,
               (int)client->process);
        return;
    }
    if (datagram.slid == 0) {
        datagram.slid = server->subnet->ports[client->port].lid;
    }
    uint8_t method = datagram.mad[3];
    if (method == WIRE_MAD_TRAP_REPRESS) {
        return; /* traps are sent once */
    }
    if (method & WIRE_MAD_RESPONSE) {
        take_answer(server, slot, &datagram);
    } else {
        take_request(server, slot, &datagram);
    }
}

/* Reads what a client has sent, as long as its answers have room. */
static void client_read(struct subnet_server *server, uint32_t slot)
{
    struct client *client = &server->clients[slot];
    unsigned char bytes[SUBNET_WORDS_DATAGRAM_BYTES + 1];
    for (uint32_t i = 0; i < AT_ONCE && client->is_used && client->count < QUEUE / 2; i++) {
        ssize_t count = recv(client->socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
        if (count < 0) {
            return;
        }
        take_datagram(server, slot, bytes, count);
    }
}

static void send_traps(struct subnet_server *server)
{
    struct subnet_words_datagram datagram = {.length = WIRE_MAD_BYTES};
    uint32_t from;
    uint32_t to;
    while (agent_trap_next(server->agent, &from, &to, datagram.mad)) {
        uint32_t slot = manager_at(server, to);
        datagram.slid = server->subnet->ports[from].lid;
        datagram.dlid = server->subnet->ports[to].lid;
        if (slot != SUBNET_NONE) {
            server->counters.traps++;
            client_send(server, slot, &datagram);
        }
    }
}

/* ---- Control ------------------------------------------------------------------------------ */

/* The node with a client's name; names longer than the client can say are known by their
 * beginning. */
static uint32_t find_host(const struct subnet_server *server, const char *host)
{
    const struct topology *topology = &server->subnet->topology;
    bool may_be_cut = strlen(host) == SUBNET_WORDS_HOST_BYTES - 1;
    for (uint32_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        bool is_it = host[0] ? strcmp(node->name, host) == 0 : node->kind == TOPOLOGY_BOARD;
        if (is_it || (may_be_cut && strncmp(node->name, host, SUBNET_WORDS_HOST_BYTES - 1) == 0)) {
            return i;
        }
    }
    return SUBNET_NONE;
}

/* A board's port for management: the first with a living cable, or its first. */
static uint32_t port_of(const struct subnet_server *server, uint32_t node)
{
    const struct subnet_node *of = &server->subnet->nodes[node];
    if (subnet_is_switch(server->subnet, node)) {
        return of->port_first;
    }
    for (uint32_t i = 1; i <= of->port_count; i++) {
        const struct subnet_port *port = &server->subnet->ports[of->port_first + i];
        if (port->peer != SUBNET_NONE && !port->is_cut) {
            return of->port_first + i;
        }
    }
    return of->port_first + 1;
}

static bool has_ended(const struct client *client)
{
    return kill(client->process, 0) != 0 && errno == ESRCH;
}

static uint32_t free_slot(struct subnet_server *server, pid_t process)
{
    uint32_t found = SUBNET_NONE;
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        struct client *client = &server->clients[i];
        if (client->is_used && (client->process == process || has_ended(client))) {
            client_end(server, i);
        }
        if (!client->is_used && found == SUBNET_NONE) {
            found = i;
        }
    }
    return found;
}

static bool set_sm(struct subnet_server *server, uint32_t slot, bool is_sm)
{
    struct client *client = &server->clients[slot];
    uint32_t other = manager_at(server, client->port);
    if (is_sm && ((other != SUBNET_NONE && other != slot) ||
                  (other == SUBNET_NONE && agent_is_sm(server->agent, client->port)))) {
        char name[TOPOLOGY_NAME_BYTES + 16];
        report(server, "process %d cannot be a subnet manager at %s: another is at work there",
               (int)client->process,
               subnet_port_name(server->subnet, client->port, name, sizeof name));
        return false;
    }
    if (client->is_sm != is_sm) {
        client->is_sm = is_sm;
        agent_sm_set(server->agent, client->port, is_sm, NULL);
    }
    return true;
}

static bool connect_client(struct subnet_server *server, const struct address *from,
                           struct subnet_words_control *control)
{
    struct subnet_words_client info;
    struct address own;
    struct address peer;
    memcpy(&info, control->data, sizeof info);
    info.host[sizeof info.host - 1] = '\0';
    uint32_t node = find_host(server, info.host);
    if (node == SUBNET_NONE) {
        report(server, "process %u wants to be \"%s\", which is no node of this subnet (SIM_HOST)",
               info.id, info.host);
        return false;
    }
    uint32_t slot = free_slot(server, (pid_t)info.id);
    if (slot == SUBNET_NONE) {
        report(server, "process %u is one too many: %d are here", info.id,
               SUBNET_SERVER_CLIENTS_MAX);
        return false;
    }
    struct client *client = &server->clients[slot];
    if ((pid_t)info.id <= 0 || !make_address(&own, server->name, "out", (int)slot) ||
        !make_address(&peer, server->name, "in", (int)info.id)) {
        report(server, "process %u cannot be", info.id);
        return false;
    }
    int opened = open_socket(&own);
    if (opened < 0 || connect(opened, (const struct sockaddr *)&peer.name, peer.bytes) != 0) {
        report(server, "process %u cannot be answered: %s", info.id, strerror(errno));
        if (opened >= 0) {
            (void)close(opened);
        }
        return false;
    }
    client->is_used = true;
    client->is_sm = false;
    client->process = (pid_t)info.id;
    client->socket = opened;
    client->port = port_of(server, node);
    client->control = *from;
    client->first = client->count = 0;
    server->counters.clients++;
    if (info.is_sm) {
        (void)set_sm(server, slot, true);
    }
    info.id = slot;
    memcpy(control->data, &info, sizeof info);
    return true;
}

static void tell_attribute(const struct subnet_server *server, const struct client *client,
                           struct subnet_words_control *control)
{
    struct wire_ib_node_info node;
    struct wire_ib_port_info port;
    uint32_t number = control->data[0];
    uint32_t of = client->port;
    const struct subnet_node *own = &server->subnet->nodes[server->subnet->ports[of].node];
    switch ((enum subnet_control)control->type) {
    case SUBNET_CONTROL_NODE_INFO:
        agent_node_info(server->agent, of, &node);
        wire_ib_node_info_encode(&node, control->data);
        break;
    case SUBNET_CONTROL_PORT_INFO:
        of = number > 0 && number <= own->port_count ? own->port_first + number : of;
        agent_port_info(server->agent, of, &port);
        wire_ib_port_info_encode(&port, control->data);
        break;
    default: wire_ib_words_encode(agent_pkeys(server->agent, of), control->data); break;
    }
}

static void tell_short(const struct subnet_server *server, const struct client *client,
                       struct subnet_words_control *control)
{
    struct wire_ib_node_info node;
    struct wire_ib_port_info port;
    agent_node_info(server->agent, client->port, &node);
    agent_port_info(server->agent, client->port, &port);
    const struct subnet_words_vendor vendor = {
        .vendor_id = AGENT_VENDOR_ID,
        .part_id = AGENT_DEVICE_ID,
        .hardware_version = AGENT_REVISION,
        .firmware_version = 1,
    };
    const struct subnet_words_port shown = {.lid = port.lid, .state = port.state};
    memset(control->data, 0, sizeof control->data);
    switch ((enum subnet_control)control->type) {
    case SUBNET_CONTROL_VENDOR: memcpy(control->data, &vendor, sizeof vendor); break;
    case SUBNET_CONTROL_PORT: memcpy(control->data, &shown, sizeof shown); break;
    case SUBNET_CONTROL_GID:
        base_big_put(control->data, 8, port.gid_prefix);
        base_big_put(control->data + 8, 8, node.port_guid);
        break;
    default: base_big_put(control->data, 8, node.port_guid); break;
    }
}

/* False: the request is refused. */
static bool answer_client(struct subnet_server *server, uint32_t slot,
                          struct subnet_words_control *control)
{
    int32_t is_sm;
    switch ((enum subnet_control)control->type) {
    case SUBNET_CONTROL_DISCONNECT: client_end(server, slot); return true;
    case SUBNET_CONTROL_PORT:
    case SUBNET_CONTROL_VENDOR:
    case SUBNET_CONTROL_GID:
    case SUBNET_CONTROL_GUID: tell_short(server, &server->clients[slot], control); return true;
    case SUBNET_CONTROL_NODE_INFO:
    case SUBNET_CONTROL_PORT_INFO:
    case SUBNET_CONTROL_PKEYS: tell_attribute(server, &server->clients[slot], control); return true;
    case SUBNET_CONTROL_SET_SM:
        memcpy(&is_sm, control->data, sizeof is_sm);
        return set_sm(server, slot, is_sm != 0);
    case SUBNET_CONTROL_ERROR:
    case SUBNET_CONTROL_CONNECT: break;
    }
    return false;
}

static bool is_from(const struct client *client, const struct address *from)
{
    return client->control.bytes == from->bytes &&
           memcmp(&client->control.name, &from->name, from->bytes) == 0;
}

/* False: the request is refused, and why is reported. */
static bool answer_control(struct subnet_server *server, const struct address *from,
                           struct subnet_words_control *control)
{
    if (control->type == SUBNET_CONTROL_CONNECT) {
        return connect_client(server, from, control);
    }
    if (control->client >= SUBNET_SERVER_CLIENTS_MAX || !server->clients[control->client].is_used ||
        !is_from(&server->clients[control->client], from)) {
        report(server, "a control request of type %u from nobody's client %u", control->type,
               control->client);
        return false;
    }
    if (control->type == SUBNET_CONTROL_ERROR || control->type > SUBNET_CONTROL_PKEYS) {
        report(server, "a control request of unknown type %u from process %d", control->type,
               (int)server->clients[control->client].process);
        return false;
    }
    return answer_client(server, control->client, control);
}

static void control_read(struct subnet_server *server)
{
    for (uint32_t i = 0; i < CONTROLS_AT_ONCE; i++) {
        struct subnet_words_control control;
        unsigned char bytes[sizeof control + 1];
        struct address from = {.bytes = sizeof from.name};
        ssize_t count = recvfrom(server->control, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC,
                                 (struct sockaddr *)&from.name, &from.bytes);
        if (count < 0) {
            return;
        }
        if (count != (ssize_t)sizeof control) {
            report(server, "a control request of %zd bytes, not %zu", count, sizeof control);
            continue;
        }
        memcpy(&control, bytes, sizeof control);
        if (control.magic != SUBNET_WORDS_MAGIC || control.length > sizeof control.data) {
            report(server, "a control request with magic 0x%08x and length %u", control.magic,
                   control.length);
            continue;
        }
        if (!answer_control(server, &from, &control)) {
            control.type = SUBNET_CONTROL_ERROR;
        }
        if (sendto(server->control, &control, sizeof control, MSG_DONTWAIT | MSG_NOSIGNAL,
                   (const struct sockaddr *)&from.name, from.bytes) < 0) {
            report(server, "who sent a control request cannot be answered: %s", strerror(errno));
        }
    }
}

/* ---- Steps -------------------------------------------------------------------------------- */

static void end_the_dead(struct subnet_server *server, uint64_t now_ns)
{
    if (now_ns - server->looked_ns < SECOND_NS / 2) {
        return;
    }
    server->looked_ns = now_ns;
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        if (server->clients[i].is_used && has_ended(&server->clients[i])) {
            client_end(server, i);
        }
    }
}

void subnet_server_step(struct subnet_server *server, int timeout_ms)
{
    struct pollfd fds[1 + SUBNET_SERVER_CLIENTS_MAX];
    uint32_t slots[1 + SUBNET_SERVER_CLIENTS_MAX];
    nfds_t count = 1;
    fds[0] = (struct pollfd){.fd = server->control, .events = POLLIN};
    for (uint32_t i = 0; i < SUBNET_SERVER_CLIENTS_MAX; i++) {
        const struct client *client = &server->clients[i];
        if (client->is_used) {
            int events = (client->count < QUEUE / 2 ? POLLIN : 0) | (client->count ? POLLOUT : 0);
            slots[count] = i;
            fds[count++] = (struct pollfd){.fd = client->socket, .events = (short)events};
        }
    }
    int ready = poll(fds, count, timeout_ms);
    for (nfds_t i = 1; i < count && ready > 0; i++) {
        struct client *client = &server->clients[slots[i]];
        /* A place may have been given up, or to another, since. */
        bool is_same = client->is_used && client->socket == fds[i].fd;
        if (is_same && (fds[i].revents & POLLOUT) && !client_push(server, slots[i])) {
            continue;
        }
        if (is_same && (fds[i].revents & POLLIN)) {
            client_read(server, slots[i]);
        }
    }
    if (ready > 0 && (fds[0].revents & POLLIN)) {
        control_read(server);
    }
    uint64_t now_ns = host_now_ns();
    pending_expire(server, now_ns);
    end_the_dead(server, now_ns);
    send_traps(server);
}
