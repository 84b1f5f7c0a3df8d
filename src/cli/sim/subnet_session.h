/* A subnet at work in `dimmnet sim subnet`: its devices, their agents, whoever manages them, and
 * the programs that are attached. Whatever else runs on it, a simulation of traffic, gets its turn
 * between the server's steps. */
#ifndef CLI_SIM_SUBNET_SESSION_H
#define CLI_SIM_SUBNET_SESSION_H

#include "cli/sim/subnet_server.h"
#include "sim/subnet/manager.h"

struct subnet_session {
    struct subnet *subnet;
    struct agent *agent;
    struct manager *manager;      /* NULL: managed from outside */
    struct subnet_server *server; /* NULL: nobody can attach */

    /* Called after each step; NULL: nothing else runs. Returns how long the server may wait for
     * clients before the next call, in milliseconds. */
    int (*turn)(void *context, struct subnet_session *session);
    void *turn_context;
};

/* To be called after cables or nodes died or came back: agents get to know, and the manager
 * inside, if it is the one, sweeps. False: the sweep failed and has said why. */
bool subnet_session_changed(struct subnet_session *session);

/* Takes a line of the console: "cut NODE PORT", "join NODE PORT", "kill NODE", "revive NODE",
 * "way FROM TO", "sweep", "quit". Answers on stdout, with one line. False: it was "quit". */
bool subnet_session_order(struct subnet_session *session, char *line);

/* Prints the way from a board to another as the tables have it: a name and the port by which it is
 * left, for each hop; or why there is none. False: there is none. */
bool subnet_session_print_way(const struct subnet_session *session, uint32_t from, uint32_t to);

#endif
