/* fork(): the child gets the registered pages as private memory, with the content that they had at
 * that moment, and never writes the parent's. */
#ifndef HOST_FORK_H
#define HOST_FORK_H

#include "host/node.h"

/* Watches the process's forks from now on; to be called before the program runs, so that our
 * handler is a child's first. `forget` is called there when the pages are private: the child is no
 * node. False: there is no memory. */
bool host_fork_watch(struct host_process *process, void (*forget)(void));

/* Whether fork() leaves the C library's variables alone that were moved, as those of a program are
 * that is linked statically: it was linked with -Wl,--wrap=_Fork,-u,_Fork, so that pages become
 * private the moment that a child begins to run, and the C library writes nothing before that. */
bool host_fork_spares_variables(void);
/* The last of it, by glibc's version. */
bool host_fork_version_spares(const char *version);

#endif
