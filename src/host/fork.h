/* fork(): the child gets the registered pages as private memory, with the content that they had at
 * that moment, and never writes the parent's. */
#ifndef HOST_FORK_H
#define HOST_FORK_H

#include "host/node.h"

/* Watches the process's forks from now on; to be called before the program runs, so that our
 * handler is a child's first. `forget` is called there when the pages are private: the child is no
 * node. False: there is no memory. */
bool host_fork_watch(struct host_process *process, void (*forget)(void));

/* Whether the pages become private the moment that a child begins to run, because the program was
 * linked with -Wl,--wrap=_Fork,-u,_Fork. Else the C library writes its own variables before, which
 * matters where those were moved, too: in a program that is linked statically. */
bool host_fork_is_wrapped(void);

#endif
