/* A group on several hosts: links to the agents there, and how the launcher acts on what they
 * say. Its phases are the same as with nodes of its own. */
#ifndef CLI_REMOTE_FLEET_H
#define CLI_REMOTE_FLEET_H

#include "cli/launch/launcher.h"

/* Sees the group through to its end; gives the exit status. */
int remote_fleet_launch(struct launch *launch);

/* What the loop asks the fleet, and what it tells the fleet. */
nfds_t remote_fleet_fill_polls(struct launch *launch, struct pollfd *polls);
/* Where node 0's input comes from, if it may have more; else -1. */
int remote_fleet_input_poll_fd(const struct launch *launch, short *events);
uint64_t remote_fleet_deadline_ns(const struct launch *launch);
void remote_fleet_on_ready(struct launch *launch, const struct pollfd *polls, bool has_input);
void remote_fleet_on_time(struct launch *launch, uint64_t now_ns);
/* A process of ours has ended; false: it does not belong to the fleet. */
bool remote_fleet_on_process_end(struct launch *launch, pid_t pid, const struct ending *ending);
/* Whether every link is closed and all output passed on. */
bool remote_fleet_is_done(const struct launch *launch);

/* Tells all hosts that a node is held for dead (cli/launch/verdict.h). */
void remote_fleet_tell_verdict(struct launch *launch, uint32_t rank);

/* Before this process stops: a child beats for it, so that agents do not hold it for dead. Gives
 * the child; 0: there is none. */
pid_t remote_fleet_beat_apart(struct launch *launch);
/* It goes on. */
void remote_fleet_beat_again(pid_t child);

/* Sends a signal to all nodes. If it is one that ends them, hosts whose nodes have not started
 * are told not to start them. */
void remote_fleet_signal(struct launch *launch, int signal_number);

#endif
