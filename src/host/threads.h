/* Stopping the program's other threads for a moment, by a signal.
 *
 * Between stop and go every other thread of the process waits in a signal handler, at a
 * point where its registers hold all that it was about to write. Meanwhile the caller must not
 * do anything that needs a lock which one of them may hold (allocate, print, load), and should
 * be quick. The threads of the fabric stand as well: they write the program's memory, too. The
 * caller then does their work, so that peers get their answers however long it takes. */
#ifndef HOST_THREADS_H
#define HOST_THREADS_H

#include <signal.h>

#include "fabric/fabric.h"

struct host_stop {
    sigset_t blocked_before;
    int cancel_state_before;
    uint32_t thread_count; /* other threads that are stopped */
    bool began;
    struct fabric_lane *served; /* its services are the caller's until go; NULL: none */
};

/* Stops all but the caller, who serves the lane's fabric meanwhile (NULL: none). On 0 the caller
 * takes no signal and no cancellation until host_threads_go. On an error nothing is stopped:
 * DN_ETHREADS when a thread refuses (it blocks the signal for 2 s, or stands still in the kernel
 * for 10 s), or the program handles the signal itself; DN_ENOMEM; DN_ESYSTEM without /proc, or
 * when the kernel takes no more signals. A thread that is merely slow is waited for. One caller
 * at a time. */
int host_threads_stop(int signal_number, struct fabric_lane *lane, struct host_stop *stop);
void host_threads_go(struct host_stop *stop);

/* To be called now and then between the two: answers peers. */
void host_threads_serve(struct host_stop *stop);

/* Whether one of the stopped threads, or the caller, has that part of its stack in use. */
bool host_threads_stack_meets(const struct host_stop *stop, uintptr_t start, uint64_t bytes);

/* For a forked child, which has no other thread. */
void host_threads_forget(void);

#endif
