/* Dying on request, in the kill-point build. */
#define _GNU_SOURCE
#include "host/killpoint.h"

#ifdef DN_KILLPOINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/killpoint.h"

static char target[128];
static _Atomic int passages_left;

static void die_there(const char *name)
{
    if (strcmp(name, target) == 0 && atomic_fetch_sub(&passages_left, 1) == 1) {
        /* So that a test can tell this death from another. */
        (void)dprintf(STDOUT_FILENO, "killed at %s\n", name);
        (void)kill(getpid(), SIGKILL);
        /* The signal is pending from here on; nothing more may happen. */
        for (;;) {
            (void)pause();
        }
    }
}

void host_killpoint_arm(uint32_t rank)
{
    const char *order = getenv("DN_KILL");
    unsigned order_rank;
    int count;
    if (order && sscanf(order, "%u:%d:%127[^\n]", &order_rank, &count, target) == 3 &&
        order_rank == rank) {
        atomic_store(&passages_left, count);
        base_killpoint_hook = die_there;
    }
}

#else

void host_killpoint_arm(uint32_t rank)
{
    (void)rank;
}

#endif
