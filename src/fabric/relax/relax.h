/* DN_RELAX=1: a layer over peers in place that delays and reorders everything that
 * the memory model (doc/memory-model.md) allows, so that a program that works on
 * `mem` by luck fails here, on one machine, before it fails on a network. */
#ifndef FABRIC_RELAX_RELAX_H
#define FABRIC_RELAX_RELAX_H

#include "fabric/fabric.h"

extern const struct fabric relax_fabric;
extern const struct fabric_ops relax_ops;

/* Starts the thread that carries out delayed operations; one per process. seed makes its
 * choices repeatable (as far as threads are). The thread takes no signal but stop_signal
 * (0: none), by which the host stops whoever may write the program's memory.
 * 0 or DN_ENOMEM, DN_ESYSTEM. */
int relax_start(uint64_t seed, int stop_signal);

/* Ends the thread, if there is one. Every lane has been closed. */
void relax_stop(void);

#endif
