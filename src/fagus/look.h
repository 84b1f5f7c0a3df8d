/* Waiting for what no store of another node announces here. */
#ifndef FAGUS_LOOK_H
#define FAGUS_LOOK_H

#include <stdint.h>

/* A look at what is waited for: 1: it is there; 0: not yet; FAGUS_E...: it will not be. */
typedef int (*fagus_look)(void *context);

/* Looks closely at first, then gives the core away, then sleeps between two looks for up to a
 * millisecond. 0, the look's error, FAGUS_ETIMEOUT, or FAGUS_EPEER by fagus_death_news. */
int fagus_wait(fagus_look look, void *context, uint64_t timeout_ns);

/* Sleeps for less than a second. */
void fagus_nap(uint64_t nap_ns);

/* What is left of a time-out that began with this deadline (inner_deadline_ns). */
uint64_t fagus_left_ns(uint64_t deadline_ns);

#endif
