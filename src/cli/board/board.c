/* `dimmnet board`: a UDP port of this host that the nodes of several groups share, and who does. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "fabric/udp/board/entry.h"
#include "fabric/udp/board/server.h"
#include "fabric/udp/launch.h"
#include "fabric/udp/socket.h"

enum { FILES_OF_OUR_OWN = 16 };

#define COMMAND "dimmnet board"

struct board_options {
    uint32_t port;
    uint32_t shown; /* 0: a board is made */
    const char *address;
    bool json;
};

static const struct options_row board_rows[] = {
    {"port", 0, "P", "be the board at this UDP port, until Ctrl-C", OPTIONS_NUMBER,
     OPTIONS_AT(struct board_options, port), 1, UINT16_MAX, 1, "port"},
    {"show", 0, "P", "show who uses the board at this port, and what came for nobody",
     OPTIONS_NUMBER, OPTIONS_AT(struct board_options, shown), 1, UINT16_MAX, 1, "port"},
    {"address", 0, "ADDR", "the board's address, as peers know this host (default 127.0.0.1)",
     OPTIONS_TEXT, OPTIONS_AT(struct board_options, address)},
    {"json", 0, NULL, "with --show: print one JSON object per line", OPTIONS_FLAG,
     OPTIONS_AT(struct board_options, json)},
    {.kind = OPTIONS_END},
};

static const struct options_command board_command = {
    .name = COMMAND,
    .usage = "--port P [--address ADDR] | --show P [--address ADDR] [--json]",
    .about = "A board is one UDP port of this host, which the nodes of several groups of one user\n"
             "share: 64 nodes in all. The kernel gives each packet to the node that its PGID and\n"
             "target name, and what nobody has claimed to the board, which counts it.\n",
    .closing =
        "For example:\n"
        "  dimmnet board --port 7000 &\n"
        "  dimmnet run -n 2 --fabric udp --board 7000 ./one &\n"
        "  dimmnet run -n 4 --fabric udp --board 7000 ./other &\n"
        "  dimmnet board --show 7000\n"
        "\n"
        "Exit status: 0 when the board was ended by a signal, or shown; 1 when the operating\n"
        "system refused, or there is no board to show; 2 for a command line that makes no\n"
        "sense.\n",
};

/* ---- Being one ----------------------------------------------------------------------- */

/* A descriptor that can be read when a signal ends the board; -1 and errno. A signal that is
 * ignored stays so. */
static int take_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t taken;
    (void)sigemptyset(&taken);
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction action;
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            (void)sigaddset(&taken, ends[i]);
        }
    }
    return sigprocmask(SIG_BLOCK, &taken, NULL) == 0 ? signalfd(-1, &taken, SFD_CLOEXEC) : -1;
}

static uint64_t stray_count(const uint64_t strays[UDP_BOARD_STRAYS])
{
    return strays[UDP_BOARD_MALFORMED] + strays[UDP_BOARD_NO_GROUP] + strays[UDP_BOARD_NO_TARGET];
}

/* Whoever is let in needs a descriptor, and all may come. */
static int raise_file_limit(void)
{
    static const rlim_t needed = UDP_BOARD_SOCKETS + UDP_BOARD_CONNECTIONS + FILES_OF_OUR_OWN;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) {
        return CLI_OK;
    }
    rlim_t most = files.rlim_max;
    files.rlim_cur = needed < most ? needed : most;
    if (most < needed || setrlimit(RLIMIT_NOFILE, &files) != 0) {
        return cli_fail(COMMAND, "a board needs %llu open files, the limit is %llu",
                        (unsigned long long)needed, (unsigned long long)most);
    }
    return CLI_OK;
}

static int be_board(const union udp_address *address)
{
    static struct udp_board board;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    char text[UDP_ADDRESS_TEXT_BYTES];
    int refused = raise_file_limit();
    if (refused) {
        return refused;
    }
    int stop_fd = take_signals();
    if (stop_fd < 0) {
        return cli_fail(COMMAND, "cannot wait for signals: %s", strerror(errno));
    }
    if (udp_board_open(&board, address, sentence) != 0) {
        (void)close(stop_fd);
        return cli_fail(COMMAND, "%s", sentence);
    }
    (void)udp_address_text(&board.address, text);
    printf("board %s is ready for %u users; Ctrl-C ends it\n", text, UDP_BOARD_USERS);
    (void)fflush(stdout);
    int error = udp_board_serve(&board, stop_fd);
    int saved = errno;
    uint32_t staying = udp_board_program_count(&board);
    udp_board_close(&board);
    (void)close(stop_fd);
    if (error) {
        return cli_fail(COMMAND, "cannot wait for programs: %s", strerror(saved));
    }
    printf("board %s has ended after %u programs and %" PRIu64 " packets for nobody", text,
           board.entered, stray_count(board.users.strays));
    if (staying > 0) {
        printf("; %u programs go on without it, and keep the port", staying);
    }
    printf("\n");
    return CLI_OK;
}

/* ---- Showing one --------------------------------------------------------------------- */

static void print_json(const char *text, const struct udp_board_answer *answer)
{
    printf("{\"what\":\"board\",\"address\":\"%s\",\"users\":%u,\"users_max\":%u,"
           "\"malformed\":%" PRIu64 ",\"unknown_pgid\":%" PRIu64 ",\"unknown_target\":%" PRIu64
           "}\n",
           text, answer->count, UDP_BOARD_USERS, answer->strays[UDP_BOARD_MALFORMED],
           answer->strays[UDP_BOARD_NO_GROUP], answer->strays[UDP_BOARD_NO_TARGET]);
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct udp_board_seat *seat = &answer->seats[i];
        printf("{\"what\":\"user\",\"user\":%u,\"process\":%u", seat->user, seat->process);
        if (seat->rank != UDP_BOARD_NO_RANK) {
            printf(",\"pgid\":%u,\"rank\":%u", seat->pgid, seat->rank);
        }
        printf("}\n");
    }
}

static void print_text(const char *text, const struct udp_board_answer *answer)
{
    printf("board %s: %u of %u users; packets for nobody: %" PRIu64 " of unknown groups, %" PRIu64
           " for unknown nodes, %" PRIu64 " malformed\n",
           text, answer->count, UDP_BOARD_USERS, answer->strays[UDP_BOARD_NO_GROUP],
           answer->strays[UDP_BOARD_NO_TARGET], answer->strays[UDP_BOARD_MALFORMED]);
    if (answer->count > 0) {
        printf("user      PGID   rank  launcher\n");
    }
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct udp_board_seat *seat = &answer->seats[i];
        if (seat->rank == UDP_BOARD_NO_RANK) {
            printf("%4u         -      -  %8u\n", seat->user, seat->process);
        } else {
            printf("%4u  %08x  %5u  %8u\n", seat->user, seat->pgid, seat->rank, seat->process);
        }
    }
}

static int show_board(const union udp_address *address, bool json)
{
    struct udp_board_answer answer;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    char text[UDP_ADDRESS_TEXT_BYTES];
    if (udp_board_look(address, &answer, sentence) != 0) {
        return cli_fail(COMMAND, "%s", sentence);
    }
    (json ? print_json : print_text)(udp_address_text(address, text), &answer);
    return CLI_OK;
}

int cli_board(int argc, char **argv)
{
    struct board_options options = {.address = "127.0.0.1"};
    struct options_group group = {.rows = board_rows, .target = &options};
    struct fabric_contact contact;
    union udp_address host;
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    int status;
    if (!options_read(&board_command, &group, 1, argc, argv, &status)) {
        return status;
    }
    if ((options.port == 0) == (options.shown == 0)) {
        return cli_refuse(COMMAND, "one of --port and --show is needed");
    }
    if (options.json && options.shown == 0) {
        return cli_refuse(COMMAND, "--json is for --show");
    }
    if (udp_contact_find_host(options.address, &contact, sentence) != 0) {
        return cli_refuse(COMMAND, "%s", sentence);
    }
    (void)udp_contact_take(&contact, &host);
    host = udp_address_with_port(&host, options.shown ? options.shown : options.port);
    return options.shown ? show_board(&host, options.json) : be_board(&host);
}
