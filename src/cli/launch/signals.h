/* The signals that the launcher takes for its group, as bytes in its poll loop. A signal that was
 * ignored when the launcher started (nohup, a script's background job) stays ignored. */
#ifndef CLI_LAUNCH_SIGNALS_H
#define CLI_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
    int fd; /* a signalfd; -1: nothing taken */
    sigset_t old_mask;
    struct sigaction old_child;
};

/* False: errno says why. */
bool launch_signals_take(struct signals *signals);
void launch_signals_give_back(struct signals *signals);

/* Unblocks everything in a forked child, before its exec. Signals that were ignored when the
 * launcher started stay ignored after the exec; all others get their default. */
void launch_signals_clear_in_child(void);

/* The next signal that arrived, or 0. */
int launch_signals_next(const struct signals *signals);

/* Signals a child's process group, whose number is the child's own, and the child itself if it has
 * moved to another group. The child has not been reaped, so that no other process can have its
 * number. */
void launch_signals_send(pid_t child, int signal_number);

/* Stops this process as SIGTSTP would have, until it is continued; gives how long that took.
 * Returns at once where nobody could continue it (an orphaned process group). */
uint64_t launch_signals_stop_here(void);

#endif
