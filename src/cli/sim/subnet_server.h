/* Lets programs that manage InfiniBand work on a simulated subnet: OpenSM, ibnetdiscover and all
 * others that use libumad, each as it is, with Debian's umad2sim preloaded. It and the server speak
 * by datagrams between Unix sockets with abstract names.
 *
 * A program is at the board that its SIM_HOST names, or at the first one. The agents of the devices
 * (sim/subnet/agent.h) answer it. What is for a subnet manager goes to the program that has said
 * that it is one, and its answer back to who asked.
 *
 * The server never waits for a program: what one does not fetch is kept, up to a limit, and no more
 * is read from it then. A program that ends loses its place within a second. Whatever comes that
 * makes no sense is reported on stderr, a few lines each second, and otherwise ignored. */
#ifndef CLI_SIM_SUBNET_SERVER_H
#define CLI_SIM_SUBNET_SERVER_H

#include "sim/subnet/agent.h"

enum { SUBNET_SERVER_NAME_BYTES = 64, SUBNET_SERVER_CLIENTS_MAX = 64 };

struct subnet_server;

/* The name is what IBSIM_SOCKNAME says to the clients. NULL: it failed, and has said why. */
struct subnet_server *subnet_server_open(struct agent *agent, const char *name,
                                         const char *command);
void subnet_server_close(struct subnet_server *server);

/* Handles what has come and sends traps that are due; if nothing has come, waits for it. Comes
 * back earlier if a signal was caught. */
void subnet_server_step(struct subnet_server *server, int timeout_ms);

/* Asks the subnet manager something on behalf of a port: a datagram to its administration or to
 * itself. `answered` is called in a later step, with NULL if no answer comes. False: there is no
 * manager that could be reached. */
typedef void subnet_server_answer(void *context, const unsigned char *mad);
bool subnet_server_ask(struct subnet_server *server, uint32_t port, const unsigned char *mad,
                       subnet_server_answer *answered, void *context);

struct subnet_server_counters {
    uint64_t clients; /* ever */
    uint64_t requests, answers, lost, passed_on, traps;
    uint64_t nonsense; /* what was reported, also what the limit kept off stderr */
};
void subnet_server_counters(const struct subnet_server *server,
                            struct subnet_server_counters *counters);
uint32_t subnet_server_clients(const struct subnet_server *server);

#endif
