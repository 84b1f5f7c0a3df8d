/* An agent: `dimmnet agent`, which a launcher on another host starts through a remote shell
 * and talks to by frames (cli/remote/frame.h) on its standard input and output.
 *
 * It starts the nodes of its host as a launcher would, and passes on what happens to them.
 * When its standard input ends, so do its nodes. */
#ifndef CLI_REMOTE_AGENT_H
#define CLI_REMOTE_AGENT_H

#include "cli/launch/launcher.h"

/* What marks the processes of this host in the group. */
const char *remote_agent_host_id(const struct agent *agent);
/* Where its launcher speaks. */
int remote_agent_lifeline(const struct agent *agent);

/* Tells what has changed in the lives of its nodes. */
void remote_agent_tell_lives(struct launch *launch);
/* One of its nodes hears nothing of that rank. */
void remote_agent_tell_suspicion(struct launch *launch, uint32_t by, uint32_t rank);
void remote_agent_tell_failure(struct launch *launch, uint32_t rank, pid_t pid,
                               const struct ending *ending, bool wanted);
void remote_agent_tell_end(struct launch *launch, uint32_t rank);
void remote_agent_tell_wanted_end(struct launch *launch, int status);
/* Its nodes' program goes on after deaths. */
void remote_agent_tell_going_on(struct launch *launch);
/* Tells that a node could not become its program; `error` is an errno. */
void remote_agent_tell_not_started(struct launch *launch, int error);

/* The words of a greeting, the same on both sides. */
enum { AGENT_GREETING_WORDS = 4 };
void remote_agent_greeting(uint32_t words[AGENT_GREETING_WORDS]);

#endif
