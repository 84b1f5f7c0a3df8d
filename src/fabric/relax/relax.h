/* DN_RELAX=1: a layer over peers in place that delays and reorders everything that
 * the memory model (doc/memory-model.md) allows, so that a program that works on
 * `mem` by luck fails here, on one machine, before it fails on a network. */
#ifndef FABRIC_RELAX_RELAX_H
#define FABRIC_RELAX_RELAX_H

#include "fabric/fabric.h"

extern const struct fabric relax_fabric;
extern const struct fabric_ops relax_ops;

#endif
