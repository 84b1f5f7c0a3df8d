#define _GNU_SOURCE
#include "cli/sim/subnet_opensm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "cli/sim/subnet_administration.h"
#include "host/clock.h"

#define MS_NS UINT64_C(1000000)

enum {
    STEP_MS = 20,
    QUIET_MS = 300,       /* nothing has changed for so long: it is done */
    PATIENCE_MS = 120000, /* with all of a large subnet */
    END_MS = 5000,
};

bool subnet_opensm_runs(struct subnet_opensm *opensm, const char *command)
{
    int status;
    if (opensm->process == 0) {
        return false;
    }
    if (waitpid(opensm->process, &status, WNOHANG) == 0) {
        return true;
    }
    opensm->process = 0;
    cli_say(command, "opensm has ended (%s %d)", WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return false;
}

static bool is_up(const struct subnet *subnet)
{
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        const struct subnet_port *port = &subnet->ports[i];
        bool has_link = port->number > 0 && port->peer != SUBNET_NONE && !port->is_cut;
        if (has_link && port->state != SUBNET_ACTIVE) {
            return false;
        }
    }
    return true;
}

/* updn's root: a file with the GUID of the first switch. */
static bool write_root(const struct subnet *subnet, const char *path)
{
    FILE *file = fopen(path, "we");
    for (uint32_t node = 0; file && node < subnet->node_count; node++) {
        if (subnet_is_switch(subnet, node)) {
            (void)fprintf(file, "0x%016llx\n",
                          (unsigned long long)subnet->topology.nodes[node].guid);
            break;
        }
    }
    return file && fclose(file) == 0;
}

/* The last engine that its log says has filled the tables. */
static void find_engine(struct subnet_opensm *opensm, const char *log)
{
    char line[512];
    FILE *file = fopen(log, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *end = strstr(line, " tables configured");
        char *begin = end;
        while (begin && begin > line && begin[-1] != ' ') {
            begin--;
        }
        if (begin && (size_t)(end - begin) < sizeof opensm->engine) {
            memcpy(opensm->engine, begin, (size_t)(end - begin));
            opensm->engine[end - begin] = '\0';
        }
    }
    if (file) {
        (void)fclose(file);
    }
}

/* Waits until it is done; false after saying why. */
static bool wait_until_up(struct subnet_opensm *opensm, struct subnet_session *session,
                          const char *command)
{
    uint64_t began_ns = host_now_ns();
    uint64_t changed_ns = began_ns;
    uint64_t version = session->subnet->version;
    for (;;) {
        subnet_server_step(session->server, STEP_MS);
        uint64_t now_ns = host_now_ns();
        if (version != session->subnet->version) {
            version = session->subnet->version;
            changed_ns = now_ns;
        }
        if (!subnet_opensm_runs(opensm, command)) {
            return false;
        }
        if (is_up(session->subnet) && now_ns - changed_ns >= QUIET_MS * MS_NS) {
            return true;
        }
        if (now_ns - began_ns >= PATIENCE_MS * MS_NS) {
            cli_say(command, "opensm has not brought the subnet up within %d s",
                    PATIENCE_MS / 1000);
            return false;
        }
    }
}

static bool start(struct subnet_opensm *opensm, struct subnet_session *session,
                  struct subnet_attach *attach, const char *engine, const char *root,
                  const char *command)
{
    char log[sizeof attach->folder + 16];
    char output[sizeof attach->folder + 16];
    (void)snprintf(log, sizeof log, "%s/opensm.log", attach->folder);
    (void)snprintf(output, sizeof output, "%s/output", attach->folder);
    /* -s 0: no sweeps but for traps; -d 2: the log is written at once; -e: it begins anew. */
    const char *const argv[] = {
        "opensm",           "-R", engine, "-f", log, "-s", "0", "-d", "2", "-e",
        root ? "-a" : NULL, root, NULL,
    };
    attach->output = output;
    pid_t process = subnet_attach_start(attach, (char *const *)(uintptr_t)argv);
    attach->output = NULL;
    if (process < 0) {
        cli_say(command, "cannot start opensm: %s (Debian: package opensm)", strerror(errno));
        return false;
    }
    opensm->process = process;
    if (!wait_until_up(opensm, session, command)) {
        return false;
    }
    find_engine(opensm, log);
    return true;
}

bool subnet_opensm_start(struct subnet_opensm *opensm, struct subnet_session *session,
                         struct subnet_attach *attach, const char *engine, const char *command)
{
    char root[sizeof attach->folder + 16];
    if (!subnet_attach_folder(attach)) {
        cli_say(command, "cannot make a folder for opensm's files: %s", strerror(errno));
        return false;
    }
    if (!start(opensm, session, attach, engine ? engine : "minhop", NULL, command)) {
        return false;
    }
    /* Where there are circles, it finds no root by itself. */
    (void)snprintf(root, sizeof root, "%s/root", attach->folder);
    if (engine && strcmp(engine, "updn") == 0 && strcmp(opensm->engine, engine) != 0 &&
        write_root(session->subnet, root)) {
        subnet_opensm_end(opensm, session);
        return start(opensm, session, attach, engine, root, command);
    }
    return true;
}

/* ---- Questions to its administration
 * ----------------------------------------------------------------------- */

enum { ASKED_AT_ONCE = 64 };

struct questions {
    struct subnet_session *session;
    uint32_t open, answered, failed;
};

/* `take` keeps what the answer says. */
struct question {
    struct questions *all;
    void (*take)(void *to, const unsigned char *mad);
    void *to;
};

static void answered(void *context, const unsigned char *mad)
{
    struct question *question = context;
    struct questions *all = question->all;
    all->open--;
    if (mad && administration_is_good(mad)) {
        question->take(question->to, mad);
        all->answered++;
    } else {
        all->failed++;
    }
    free(question);
}

static void ask(struct questions *all, uint32_t port, const unsigned char *mad,
                void (*take)(void *to, const unsigned char *mad), void *to)
{
    struct question *question = malloc(sizeof *question);
    INVARIANT(question);
    *question = (struct question){all, take, to};
    if (subnet_server_ask(all->session->server, port, mad, answered, question)) {
        all->open++;
    } else {
        all->failed++;
        free(question);
    }
    while (all->open >= ASKED_AT_ONCE) {
        subnet_server_step(all->session->server, STEP_MS);
    }
}

/* The server itself gives up those that get no answer. */
static void wait_for_answers(struct questions *all)
{
    while (all->open > 0) {
        subnet_server_step(all->session->server, STEP_MS);
    }
}

static void take_level(void *to, const unsigned char *mad)
{
    *(uint8_t *)to = administration_path_level(mad);
}

static void take_group(void *to, const unsigned char *mad)
{
    *(uint16_t *)to = administration_group_lid(mad);
}

static uint32_t list_boards(const struct subnet *subnet, uint32_t *ports)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (!subnet_is_switch(subnet, node)) {
            ports[count++] = subnet_port_index(subnet, node, 1);
        }
    }
    return count;
}

bool subnet_opensm_levels(struct subnet_opensm *opensm, struct subnet_session *session,
                          const char *command)
{
    struct questions all = {.session = session};
    const struct subnet *subnet = session->subnet;
    uint32_t boards = subnet->topology.board_count;
    uint32_t *ports = calloc(boards, sizeof *ports);
    unsigned char mad[WIRE_MAD_BYTES];
    free(opensm->levels);
    opensm->board_count = boards;
    opensm->levels = calloc((size_t)boards * boards, 1);
    INVARIANT(ports && opensm->levels);
    (void)list_boards(subnet, ports);
    for (uint32_t from = 0; from < boards; from++) {
        for (uint32_t to = 0; to < boards; to++) {
            if (from != to) {
                administration_path(mad, (uint64_t)from * boards + to + 1,
                                    subnet->ports[ports[from]].lid, subnet->ports[ports[to]].lid);
                ask(&all, ports[from], mad, take_level,
                    &opensm->levels[(size_t)from * boards + to]);
            }
        }
    }
    wait_for_answers(&all);
    free(ports);
    if (all.failed > 0) {
        cli_say(command, "opensm gave no path for %u of %u pairs of boards", all.failed,
                all.failed + all.answered);
    }
    return all.failed == 0;
}

uint16_t subnet_opensm_group(struct subnet_opensm *opensm, struct subnet_session *session,
                             const char *command)
{
    struct questions all = {.session = session};
    const struct subnet *subnet = session->subnet;
    uint32_t boards = subnet->topology.board_count;
    uint32_t *ports = calloc(boards, sizeof *ports);
    unsigned char mad[WIRE_MAD_BYTES];
    uint16_t lid = 0;
    INVARIANT(ports);
    (void)list_boards(subnet, ports);
    for (uint32_t i = 0; i < boards; i++) {
        const struct subnet_port *port = &subnet->ports[ports[i]];
        administration_join(mad, i + 1, subnet->topology.nodes[port->node].guid + port->number);
        ask(&all, ports[i], mad, take_group, &lid);
    }
    wait_for_answers(&all);
    free(ports);
    if (all.failed > 0) {
        cli_say(command, "opensm let %u of %u boards not into the group", all.failed, boards);
        return 0;
    }
    /* It answers before it writes the switches' tables. */
    return wait_until_up(opensm, session, command) ? lid : 0;
}

void subnet_opensm_end(struct subnet_opensm *opensm, struct subnet_session *session)
{
    int status;
    uint64_t began_ns = host_now_ns();
    free(opensm->levels);
    opensm->levels = NULL;
    if (opensm->process == 0) {
        return;
    }
    (void)kill(opensm->process, SIGTERM);
    while (waitpid(opensm->process, &status, WNOHANG) == 0) {
        if (host_now_ns() - began_ns >= END_MS * MS_NS) {
            (void)kill(opensm->process, SIGKILL);
        }
        subnet_server_step(session->server, STEP_MS);
    }
    opensm->process = 0;
}
